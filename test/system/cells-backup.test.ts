import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { assignSlots } from '../../src/main-cells.ts';
import { check } from '../../src/main-check.ts';
import { commandsUnder, guideDirectory, succeed } from '../support/backup-guide.ts';
import { dumpTools } from '../support/dump-tools.ts';
import type { Body } from '../support/harness.ts';
import { OverCells } from '../support/over-cells.ts';
import { PressedService } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';

// Cells in several databases are dumped one by one (docs/backup.md).
const { skip, server, path } = dumpTools;

test('cells that are dumped before home are restored one by one or as a whole', { skip }, async () => {
  const cells = await OverCells.start(server);
  after(() => cells.stop());
  const { settings } = cells;
  const addressOf = (database: string, of = settings.TOLLKEEPER_MIGRATE_URL) =>
    Object.assign(new URL(of ?? ''), { pathname: `/${database}` }).href;
  const { variables: given } = await guideDirectory();
  const variables = { ...given, ...settings, PATH: path };

  const price = (slug: string) => {
    const term = { intervalUnit: 'month', intervalCount: 1, isDefault: true };
    return { type: 'subscription', name: slug, slug, unitPrice: 1000, ...term };
  };
  await cells.ok('POST', '/products', { product: { name: 'Plan', slug: 'plan' }, price: price('plan-price') });
  const buy = (customerExternalId: string, priceSlug: string) =>
    cells.ok('POST', '/subscriptions', { customerExternalId, priceSlug, doNotCharge: true });
  const kept: string[] = [];
  for (const cell of [null, 'cell_a', 'cell_b']) {
    const externalId = await cells.newCustomer(cell);
    kept.push(externalId);
    await buy(externalId, 'plan-price');
  }
  const { port } = new URL(String(settings.TOLLKEEPER_MIGRATE_URL));
  const addresses = {
    DATABASE_URL: String(settings.TOLLKEEPER_MIGRATE_URL),
    CELL_DATABASE_URL: addressOf('elsewhere'),
    NEW_CELL_ADDRESS: `postgres://127.0.0.1:${port}/cell_b_again`,
    CELL_SLOTS: '1280',
    PGOPTIONS: '-c search_path=home',
  };
  const runBlock = (block: number) => succeed(commandsUnder('Cells', block), { ...variables, ...addresses });
  const [whole, moved, ofSchemas, backOfSchemas] = [0, 1, 2, 3];
  await runBlock(ofSchemas);
  await runBlock(whole);

  // What happens after the dumps: cell_b loses its customer, and its copy has to follow the catalog.
  const lost = await cells.newCustomer('cell_b');
  await cells.ok('POST', '/products', { product: { name: 'New', slug: 'new' }, price: price('new-price') });
  const restore = async (database: string, dump: string) => {
    await cells.admin.query(`create database ${database}`);
    const target = { ...variables, NEW_DATABASE_URL: addressOf(database) };
    await succeed(
      `pg_restore --no-owner --single-transaction --exit-on-error --dbname="$NEW_DATABASE_URL" "$BACKUPS/${dump}.dump"`,
      target,
    );
  };
  const isSound = (config: object) =>
    printed(async () => assert.equal(await check(readConfig({ ...settings, ...config }), { json: true }), true));
  const namesIn = async (ask: (path: string) => Promise<Body>) =>
    (await ask('/customers?limit=100')).data.map(({ externalId }: Body) => externalId).sort();

  await restore('cell_b_again', 'cell_b');
  assert.match(await runBlock(moved), /\d+ invariants checked, 0 broken\./);
  assert.deepEqual(await namesIn((where) => cells.ok('GET', where)), kept.toSorted());
  assert.equal((await cells.ask('GET', `/customers/${lost}`)).status, 404);
  const newer = await cells.newCustomer('cell_b');
  await buy(newer, 'new-price');
  await isSound({});

  await cells.newCustomer('cell_a');
  await runBlock(backOfSchemas);
  await printed(() => assignSlots(readConfig(settings), 'cell_a', { slots: '1280', json: true }));
  await isSound({});
  assert.deepEqual(await namesIn((where) => cells.ok('GET', where)), [...kept, newer].sort());
  await buy(await cells.newCustomer('cell_a'), 'new-price');
  await isSound({});

  // As a whole: home has what came until its dump.
  await restore('home_again', 'tollkeeper');
  await restore('cell_b_whole', 'cell_b');
  const home = new pg.Client({ connectionString: addressOf('home_again') });
  await home.connect();
  await home.query(`update home.cells set address = $1 where name = 'cell_b'`, [
    `postgres://127.0.0.1:${port}/cell_b_whole`,
  ]);
  await home.end();
  const again = {
    DATABASE_URL: addressOf('home_again', settings.DATABASE_URL),
    TOLLKEEPER_MIGRATE_URL: addressOf('home_again'),
  };
  await isSound(again);
  const service = await PressedService.start({ ...settings, ...again });
  try {
    const ask = async (where: string) =>
      (await service.request('GET', where, undefined, { key: String(settings.TOLLKEEPER_TEST_KEY) })).body;
    assert.deepEqual(await namesIn(ask), kept.toSorted());
  } finally {
    await service.remove();
  }
});
