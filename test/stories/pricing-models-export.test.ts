import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SetupInput, type Structure } from '../../src/pricing/structure.ts';
import { completeStructure } from '../../src/pricing/structure-check.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { acme, allRows, pinnedKey } from '../support/pricing-models.ts';
import { offered, structureBodies } from '../support/pricing-structures.ts';

const app = await startTestApp();

const setUp = async (body: object) => (await app.post('/pricing-models/setup', body)).pricingModel;
const exportOf = async (id: string) => (await app.get(`/pricing-models/${id}/export`)).pricingModel;
const structureOf = (body: object): Structure => SetupInput.parse({ name: 'Any', ...body }).structure;

/** What a body offers besides the default product, of which an update keeps the most. */
function withoutDefault(body: object) {
  const { products, ...rest } = offered(structureOf(body));
  return { ...rest, products: products.filter(({ product }) => !product.default) };
}

test('an export is the body of the setup, completed, with the nulls of prices that the reference has', async () => {
  const { id } = await setUp(acme());
  const expected = acme();
  for (const record of [...expected.features, ...expected.resources, expected.usageMeters[0].prices[0]])
    record.active = true;
  const noUsage = { usageMeterId: null, usageEventsPerUnit: null };
  Object.assign(expected.products[0].price, { ...noUsage, overage: 'bill' });
  expected.usageMeters[0].prices[0].trialPeriodDays = null;
  expected.products[0].product.default = false;
  expected.usageMeters[0].usageMeter.aggregationType = 'sum';
  expected.products.push({
    product: { name: 'Free Plan', slug: 'free', default: true, active: true },
    price: {
      type: 'subscription',
      name: 'Free Plan',
      slug: 'free',
      unitPrice: 0,
      intervalUnit: 'month',
      intervalCount: 1,
      trialPeriodDays: null,
      overage: 'none',
      isDefault: true,
      active: true,
      ...noUsage,
    },
    features: [],
  });
  assert.deepEqual(await exportOf(id), { ...expected, isDefault: false });
});

test('setting up an export makes a pricing model with the same export, which changes nothing when it is put', async () => {
  await fc.assert(
    fc.asyncProperty(structureBodies, async (body) => {
      const { id } = await setUp({ name: 'Any', ...body });
      const exported = await exportOf(id);
      assert.deepEqual(offered(structureOf(exported)), offered(completeStructure(structureOf(body), [])));
      const second = await setUp(exported);
      assert.deepEqual(await exportOf(second.id), exported);

      const before = await allRows(app, id);
      const { pricingModel } = await app.put(`/pricing-models/${id}`, { pricingModel: exported });
      assert.equal(pricingModel.id, id);
      assert.deepEqual(await allRows(app, id), before);
      const applied = await app.post(`/pricing-models/${id}/apply`, { pricingModel: exported, base: exported });
      assert.deepEqual(applied.changes, []);
      assert.deepEqual(await allRows(app, id), before);
    }),
    { numRuns: 25 },
  );
});

test('after an update the export offers what was put, and changes nothing either', async () => {
  await fc.assert(
    fc.asyncProperty(structureBodies, structureBodies, async (body, next) => {
      const { id } = await setUp({ name: 'Any', ...body });
      // Usage meters cannot be removed, so those that the next structure leaves out stay without prices.
      const left = (await exportOf(id)).usageMeters.filter(
        (stored: Body) => !next.usageMeters.some((each: Body) => each.usageMeter.slug === stored.usageMeter.slug),
      );
      const kept = left.map(({ usageMeter }: Body) => ({ usageMeter, prices: [] }));
      const wanted = { ...next, usageMeters: [...next.usageMeters, ...kept] };
      const answer = await app.request('PUT', `/pricing-models/${id}`, { pricingModel: wanted });
      // A feature of another type or a second default product.
      fc.pre(answer.status !== 400);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const exported = await exportOf(id);
      assert.deepEqual(withoutDefault(exported), withoutDefault(wanted));
      const before = await allRows(app, id);
      await app.put(`/pricing-models/${id}`, { pricingModel: exported });
      assert.deepEqual(await allRows(app, id), before);
    }),
    { numRuns: 30 },
  );
});

test('an export shows one record for each slug: the active one, else the newest', async () => {
  const { id } = await setUp({ name: 'Twice' });
  const resource = async (name: string) =>
    (await app.post('/resources', { resource: { slug: 'seat', name, pricingModelId: id } })).resource;
  const first = await resource('First');
  await app.put(`/resources/${first.id}`, { resource: { active: false } });
  const second = await resource('Second');
  assert.deepEqual((await exportOf(id)).resources, [{ slug: 'seat', name: 'Second', active: true }]);
  await app.put(`/resources/${second.id}`, { resource: { active: false } });
  await app.put(`/resources/${first.id}`, { resource: { name: 'Old' } });
  assert.deepEqual((await exportOf(id)).resources, [{ slug: 'seat', name: 'Second', active: false }]);
  await app.put(`/resources/${first.id}`, { resource: { active: true } });
  assert.deepEqual((await exportOf(id)).resources, [{ slug: 'seat', name: 'Old', active: true }]);
});

test('a product whose price was deactivated alone is exported as inactive, and the export changes nothing', async () => {
  const { id, products } = await setUp(acme());
  await app.put(`/prices/${products[0].defaultPrice.id}`, { price: { active: false } });
  const exported = await exportOf(id);
  assert.equal(exported.products[0].product.active, false);
  const before = await allRows(app, id);
  await app.put(`/pricing-models/${id}`, { pricingModel: exported });
  assert.deepEqual(await allRows(app, id), before);
  exported.products[0].product.active = true;
  await app.put(`/pricing-models/${id}`, { pricingModel: exported });
  const { pricingModel } = await app.get(`/pricing-models/${id}`);
  assert.deepEqual(
    pricingModel.products.map(({ slug }: Body) => slug),
    ['team', 'free'],
  );
});

test('updatedAt of an export is when anything of the pricing model changed last', async () => {
  await app.setClock(Date.UTC(2026, 0, 1));
  const { id, products } = await setUp(acme());
  await app.setClock(Date.UTC(2026, 0, 2));
  await app.put(`/prices/${products[0].defaultPrice.id}`, { price: { name: 'Monthly' } });
  await app.setClock(Date.UTC(2026, 0, 3));
  assert.equal((await app.get(`/pricing-models/${id}/export`)).updatedAt, Date.UTC(2026, 0, 2));
});

test('a pricing model of another organization, another mode, or outside of a pinned key is not found', async () => {
  const { id } = await setUp({ name: 'Mine' });
  const other = await app.newOrganization();
  const pinned = await pinnedKey(app, (await setUp({ name: 'Pinned' })).id);
  for (const key of [app.liveKey, other.testKey, pinned]) {
    const answer = await app.request('GET', `/pricing-models/${id}/export`, undefined, { key });
    assert.equal(answer.status, 404);
  }
});
