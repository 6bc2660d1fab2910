import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { withScratchPostgres } from '../../scripts/scratch-postgres.ts';
import { commandsUnder, guideDirectory, run, serve, succeed, type Variables } from '../support/backup-guide.ts';
import { addCustomer, begin, contents, until, use, view } from '../support/backup-life.ts';
import { dumpTools } from '../support/dump-tools.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const { skip, server, path } = dumpTools;

/** How many invariants were looked at; all of them hold. */
async function countChecked(variables: Variables): Promise<number> {
  const [, checked, broken] =
    /(\d+) invariants checked, (\d+) broken\./.exec(await succeed('npx tollkeeper check', variables)) ?? [];
  assert.equal(broken, '0');
  return Number(checked);
}

test('a dump that is restored on another server is the same database, once it has its key', { skip }, async () => {
  const { root, variables: given } = await guideDirectory();
  const variables = { ...given, PATH: path, TOLLKEEPER_WEBHOOK_ALLOW: '127.0.0.0/8' };
  const receiver = await startReceiver();
  const source = await withScratchPostgres(async (url) => {
    const service = await serve('npx tollkeeper serve', { ...variables, DATABASE_URL: url });
    const life = await begin(service.address, receiver.url);
    await use(service.address, life, 'event', 500);
    await until(() => receiver.received.length === 6, 'customers and subscriptions are told');
    await succeed(commandsUnder('Dump'), { ...variables, DATABASE_URL: url });
    const seen = await view(service.address);
    const kept = await contents(url);
    await service.stop();
    const checked = await countChecked({ ...variables, DATABASE_URL: url });
    return { life, seen, kept, checked };
  }, server);

  await withScratchPostgres(async (url) => {
    const target = { ...variables, NEW_DATABASE_URL: url };
    const output = await succeed(commandsUnder('Restore a dump'), target);
    assert.match(output, /\d+ invariants checked, 0 broken\./);
    const found = await contents(url);
    assert.equal(found.transactionIds.length, 500);
    assert.deepEqual(found.transactionIds, source.kept.transactionIds);
    assert.deepEqual(found.counts, source.kept.counts);
    assert.equal(await countChecked({ ...variables, DATABASE_URL: url }), source.checked);

    // On another machine without the key nothing starts; with it, all is as it was, and nothing is told a second time.
    const elsewhere = { ...variables, DATABASE_URL: url, TOLLKEEPER_DATA_DIR: join(root, 'elsewhere') };
    const looking = commandsUnder('Before a restored database works');
    const refused = await run(looking, elsewhere);
    assert.equal(refused.code, 1, refused.output);
    assert.match(
      refused.output,
      /This database contains secrets that only the encryption key [0-9a-f]{32} can decrypt/,
    );
    const key = join(variables.TOLLKEEPER_DATA_DIR, 'encryption.key');
    const keyed = { ...elsewhere, TOLLKEEPER_ENCRYPTION_KEY: (await readFile(key, 'utf8')).trim() };
    const resting = await serve(looking, keyed);
    assert.deepEqual(await view(resting.address), source.seen);
    await use(resting.address, source.life, 'event', 500);
    assert.deepEqual(await view(resting.address), source.seen, 'events that were kept count once');
    await addCustomer(resting.address, 'new');
    await resting.stop();
    assert.equal(receiver.received.length, 6);

    const refusedWork = await run('TOLLKEEPER_WORK=off npx tollkeeper work', keyed);
    assert.equal(refusedWork.code, 1, refusedWork.output);
    assert.match(refusedWork.output, /^TOLLKEEPER_WORK is off/);
    await succeed('npx tollkeeper check', keyed);
  }, server);
});
