import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { check } from '../../src/main-check.ts';
import type { Answer, Body } from '../support/harness.ts';
import { OverCells } from '../support/over-cells.ts';
import { until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';

// Deletions of products and pricing models, whose customers are in a home cell and in two others.
const cells = await OverCells.start();
const ok = cells.ok.bind(cells);
const places = [null, 'cell_a', 'cell_b'] as const;

after(() => cells.stop());

let names = 0;
async function newProduct(): Promise<Body> {
  names += 1;
  const term = { intervalUnit: 'month', intervalCount: 1, isDefault: true };
  const price = { type: 'subscription', name: 'Monthly', slug: `monthly-${names}`, unitPrice: 1000, ...term };
  return (await ok('POST', '/products', { product: { name: 'Plan', slug: `plan-${names}` }, price })).product;
}

const slugOf = ({ slug }: Body): string => slug.replace('plan', 'monthly');

async function subscribe(product: Body, cell: string | null): Promise<Answer> {
  const customerExternalId = await cells.newCustomer(cell);
  return cells.ask('POST', '/subscriptions', { customerExternalId, priceSlug: slugOf(product), doNotCharge: true });
}

const remove = (path: string): Promise<Answer> => cells.ask('DELETE', path);
const rehearse = (path: string): Promise<Answer> => remove(`${path}?dryRun=true`);

/** In how many cells besides home the product is. */
async function copiesOf({ id }: Body): Promise<number> {
  const a = await cells.admin.query('select from cell_a.products where id = $1', [id]);
  const b = await cells.elsewhere.query('select from cell_b.products where id = $1', [id]);
  return (a.rowCount ?? 0) + (b.rowCount ?? 0);
}

/** Leaves a product as a kill between the first and the last commit of its deletion does. */
async function interrupt({ id }: Body, removingUntil: number): Promise<void> {
  await cells.admin.query('update home.products set removing_until = $2 where id = $1', [id, removingUntil]);
  // Any change is copied.
  await newProduct();
}

test('a product in use in any cell is not deleted, and the refusal names its uses in all of them', async () => {
  const product = await newProduct();
  const path = `/products/${product.id}`;
  const ids: string[] = [];
  for (const cell of places) ids.push((await subscribe(product, cell)).body.subscription.id);
  for (const answer of [await rehearse(path), await remove(path)]) {
    assert.deepEqual([answer.status, answer.body.reason], [409, 'product_in_use'], JSON.stringify(answer.body));
    for (const id of ids) assert(answer.body.message.includes(id), answer.body.message);
    assert.match(answer.body.message, /subscriptions: 3 /);
  }
  const used = await newProduct();
  await subscribe(used, 'cell_b');
  assert.equal((await remove(`/products/${used.id}`)).status, 409);
  for (const cell of places) assert.equal((await subscribe(used, cell)).status, 200);
});

test('a product that nobody uses is deleted in every cell, and a dry run leaves it everywhere', async () => {
  const product = await newProduct();
  const path = `/products/${product.id}`;
  const dry = await rehearse(path);
  assert.equal(dry.status, 200, JSON.stringify(dry.body));
  assert.equal(await copiesOf(product), 2);
  const { status, body } = await remove(path);
  assert.deepEqual([status, body], [200, dry.body]);
  assert.equal(await copiesOf(product), 0);
  for (const cell of places) assert.equal((await subscribe(product, cell)).status, 404);
  assert.equal((await remove(path)).status, 404);
});

test('a pricing model goes with its contents in every cell, unless a customer of one is in it', async () => {
  for (const cell of places) {
    const { pricingModel } = await ok('POST', '/pricing-models', { pricingModel: { name: 'Another' } });
    const path = `/pricing-models/${pricingModel.id}`;
    const externalId = await cells.newName(cell);
    const customer = { externalId, name: 'Ada', email: 'a@acme.test', pricingModelId: pricingModel.id };
    await ok('POST', '/customers', { customer });
    const used = await remove(path);
    assert.deepEqual([used.status, used.body.reason], [409, 'pricing_model_in_use'], JSON.stringify(used.body));
    assert.match(used.body.message, /customers: 1 \(cust_/);
  }
  const { pricingModel } = await ok('POST', '/pricing-models', { pricingModel: { name: 'Unused' } });
  await ok('DELETE', `/pricing-models/${pricingModel.id}`);
  for (const [client, schema] of [
    [cells.admin, 'cell_a'],
    [cells.elsewhere, 'cell_b'],
  ] as const) {
    const { rowCount } = await client.query(`select from ${schema}.pricing_models where id = $1`, [pricingModel.id]);
    assert.equal(rowCount, 0);
  }
});

test('an interrupted deletion is repeated, or the product comes back to every cell', async () => {
  const repeated = await newProduct();
  await interrupt(repeated, Date.now() + 60_000);
  assert.equal(await copiesOf(repeated), 0);
  assert.equal((await subscribe(repeated, 'cell_a')).status, 404);
  assert.equal((await remove(`/products/${repeated.id}`)).status, 200);
  const kept = await newProduct();
  await interrupt(kept, Date.now() + 60_000);
  assert.equal(await copiesOf(kept), 0);
  await interrupt(kept, Date.now() - 1);
  for (const cell of places) assert.equal((await subscribe(kept, cell)).status, 200);
});

test('of a deletion and customers of all cells who begin to use the product, one side wins', async () => {
  for (let round = 0; round < 4; round++) {
    const product = await newProduct();
    const customers: string[] = [];
    for (const cell of places) customers.push(await cells.newCustomer(cell));
    const orders = customers.map((customerExternalId) => ({
      customerExternalId,
      priceSlug: slugOf(product),
      doNotCharge: true,
    }));
    const [deleted, ...answers] = await Promise.all([
      remove(`/products/${product.id}`),
      ...orders.map((order) => cells.ask('POST', '/subscriptions', order)),
    ]);
    const used = answers.filter(({ status }) => status === 200).length;
    assert(
      answers.every(({ status }) => [200, 404, 503].includes(status)),
      JSON.stringify(answers),
    );
    if (deleted?.status === 200) assert.deepEqual([used, await copiesOf(product)], [0, 0]);
    else {
      assert([409, 503].includes(deleted?.status ?? 0), JSON.stringify(deleted));
      await until('the cells have it again', async () => (await copiesOf(product)) === 2);
    }
  }
  const report = await printed(async () => assert.equal(await check(readConfig(cells.settings), { json: true }), true));
  assert.deepEqual(report.broken, []);
});
