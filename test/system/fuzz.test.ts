import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { findChanges, runFuzz, tellFailures } from '../../fuzz/run.ts';
import { databaseDigest } from '../support/digest.ts';
import { startTestApp } from '../support/harness.ts';
import { testSeed } from '../support/seed.ts';
import { assertSound } from '../support/sound.ts';

// A bounded run; `npm run fuzz` is the long one.
const requests = Number(process.env.FUZZ_REQUESTS ?? 1200);

const app = await startTestApp();
const target = { address: app.url, owner: app.owner, database: app.database };

test('hostile requests to every route: each is answered as documented, none fails', async () => {
  const options = { seed: testSeed, requests, connections: 6, tenants: 2, requestsPerTenant: 300 };
  const { sent, resets, statuses, failures } = await runFuzz(target, options);
  assert.equal(failures.length, 0, tellFailures(testSeed, failures));
  assert.equal(sent + resets, requests);
  // If hardly anything succeeds, nothing behind the first check was reached.
  assert((statuses.get(200) ?? 0) > requests / 5, JSON.stringify([...statuses]));
});

test('every invariant holds after it, and no transaction was left open', async () => {
  await assertSound(app);
  const { rows } = await sql`
    select pid from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'
       and state_change < now() - interval '1 second'`.execute(app.owner);
  assert.deepEqual(rows, []);
});

test('a dry run and a refused request change nothing', async () => {
  const digest = () => databaseDigest(app);
  const changes = await findChanges(target, {
    seed: testSeed,
    requests: 200,
    from: 1_000_000,
    dryRunsAtATime: 10,
    digest,
  });
  assert.deepEqual(changes, []);
});
