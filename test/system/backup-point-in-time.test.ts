import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { copyFile, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findEmbeddedPostgres } from '../../src/embedded-postgres/start.ts';
import { commandsUnder, guideDirectory, run, serve, succeed } from '../support/backup-guide.ts';
import { addCustomer, begin, contents, until, use, view } from '../support/backup-life.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const archiving = commandsUnder('Archive the journal');
const restoring = commandsUnder('Restore to an instant');
const looking = commandsUnder('Before a restored database works');

async function urlIn(dataDirectory: string): Promise<string> {
  const server = await findEmbeddedPostgres(dataDirectory);
  assert(server !== null);
  return server.url;
}

test('a lost machine comes back as it was at the asked instant, and tells and charges nothing before it is let', async () => {
  const { root, variables } = await guideDirectory();
  const receiver = await startReceiver();
  const first = await serve(archiving, variables);
  const life = await begin(first.address, receiver.url);
  await use(first.address, life, 'before', 300);
  await succeed(commandsUnder('Take a base backup'), variables);
  await use(first.address, life, 'between', 300);
  const seen = await view(first.address);
  await until(() => receiver.received.length === 6, 'customers and subscriptions are told');
  const kept = await contents(await urlIn(variables.TOLLKEEPER_DATA_DIR));
  const instant = Date.now();
  while (Date.now() <= instant) await sleep(1);
  await use(first.address, life, 'after', 300);
  await addCustomer(first.address, 'late');
  await first.stop();
  const all = join(root, 'lost');
  await rename(variables.TOLLKEEPER_DATA_DIR, all);

  const requested = { ...variables, UNTIL: new Date(instant).toISOString() };
  const output = await succeed(restoring, requested);
  assert.match(output, /\d+ invariants checked, 0 broken\./);
  assert.equal(existsSync(join(variables.RESTORED, 'postgres', 'recovery.signal')), false);

  // It looks like it did, and rests.
  const told = receiver.received.length;
  const restored = { ...variables, TOLLKEEPER_DATA_DIR: variables.RESTORED };
  const resting = await serve(looking, restored);
  assert.match(resting.output(), /TOLLKEEPER_WORK is off/);
  const found = await contents(await urlIn(variables.RESTORED));
  assert.equal(found.transactionIds.length, 600);
  assert.deepEqual(found.transactionIds, kept.transactionIds);
  assert.deepEqual(found.counts, kept.counts);
  assert.deepEqual(await view(resting.address), seen);
  await addCustomer(resting.address, 'new');
  await resting.stop();
  assert.equal(receiver.received.length, told);

  // Let to work, it goes on: what waited is told.
  const going = await serve('npx tollkeeper serve', restored);
  await until(() => receiver.received.length >= told + 2, 'what waited is told');
  assert.deepEqual(receiver.types().slice(told).sort(), ['customer.created', 'subscription.created']);
  await use(going.address, life, 'later', 30);
  await going.stop();
  assert.match(await succeed('npx tollkeeper check', restored), /, 0 broken\./);

  await refusals({ ...requested, TOLLKEEPER_DATA_DIR: join(root, 'other') });
});

/** What a restore refuses leaves nothing behind. */
async function refusals(variables: Record<string, string>): Promise<void> {
  const dataDirectory = String(variables.TOLLKEEPER_DATA_DIR);
  const restore = 'npx tollkeeper restore "$BACKUPS/base"';
  const refused = async (commands: string, reason: RegExp) => {
    const { code, output } = await run(commands, variables);
    assert.equal(code, 1, output);
    assert.match(output, reason);
    const left = existsSync(dataDirectory) ? await readdir(dataDirectory) : [];
    assert.deepEqual(
      left.filter((name) => name !== 'postgres.log'),
      [],
    );
  };
  await refused(`${restore} --until "$UNTIL"`, /^--until requires the WAL archive/);
  await refused(`${restore} --wal "$BACKUPS/wal" --until 2026-01-01T00:00:00Z`, /^--until: this backup ends at .+\./);
  await refused(`${restore} --wal "$BACKUPS/wal" --until yesterday`, /^--until: yesterday is not a date-time/);
  await refused(`${restore} --wal "$BACKUPS/none"`, /^--wal: .+ is not a directory/);
  await refused('npx tollkeeper restore "$BACKUPS/wal"', /is not a backup/);
  const beyond = /recovery ended before configured recovery target was reached/;
  await refused(`${restore} --wal "$BACKUPS/wal" --until 2036-01-01T00:00:00Z`, beyond);
  await refuseGap(join(String(variables.BACKUPS), 'wal'), refused, restore);

  // By itself, without an archive, it leads to the moment when it was taken.
  await succeed(restore, variables);
  const { code, output } = await run('npx tollkeeper restore "$BACKUPS/base"', variables);
  assert.equal(code, 1, output);
  assert.match(output, /already exists: restore into an empty data directory/);
}

/** A file of the archive that is missing is named, where it is not asked for an instant before. */
async function refuseGap(wal: string, refused: (commands: string, reason: RegExp) => Promise<void>, restore: string) {
  assert.deepEqual(
    (await readdir(wal)).filter((name) => name.endsWith('.part')),
    [],
  );
  const last = (await readdir(wal))
    .filter((name) => /^00000001[0-9A-F]{16}$/.test(name))
    .sort()
    .at(-1);
  assert(last !== undefined);
  const named = (more: number) =>
    `${last.slice(0, 16)}${(Number.parseInt(last.slice(16), 16) + more).toString(16).toUpperCase().padStart(8, '0')}`;
  await copyFile(join(wal, last), join(wal, named(2)));
  await refused(`${restore} --wal "$BACKUPS/wal"`, new RegExp(`^--wal: ${named(1)} is missing, but later files exist`));
}
