import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Body, startTestApp } from '../support/harness.ts';
import { acme, allRows } from '../support/pricing-models.ts';

const app = await startTestApp();

const setUp = async (body: object) => (await app.post('/pricing-models/setup', body)).pricingModel;
const exportOf = async (id: string) => (await app.get(`/pricing-models/${id}/export`)).pricingModel;
const get = async (id: string) => (await app.get(`/pricing-models/${id}`)).pricingModel;
const request = (id: string, pricingModel: object) => app.request('PUT', `/pricing-models/${id}`, { pricingModel });
const put = async (id: string, pricingModel: object) => {
  const answer = await request(id, pricingModel);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return get(id);
};

/** Asks for what was stored with a change, is refused, and finds everything as it was; answers the paths of the issues. */
async function refused(id: string, change: (body: Body) => unknown, status = 400): Promise<string[]> {
  const before = await allRows(app, id);
  const body = await exportOf(id);
  change(body);
  const answer = await request(id, body);
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert.deepEqual(await allRows(app, id), before);
  return answer.body.issues.map(({ path }: Body) => path.join('.'));
}

const { id: acmeId } = await setUp(acme());

test('some lists without the others are refused, and those that are missing are named', async () => {
  const paths = await refused(acmeId, (body) => {
    delete body.products;
    delete body.resources;
  });
  assert.deepEqual(paths, ['pricingModel.products', 'pricingModel.resources']);
});

test('a usage meter cannot be removed', async () => {
  const paths = await refused(acmeId, (body) => {
    body.usageMeters = [];
    body.features.splice(1, 1);
    body.products[0].features.splice(1, 1);
  });
  assert.deepEqual(paths, ['pricingModel.usageMeters']);
});

test('the type of a feature and that of the price of a product cannot change', async () => {
  const paths = await refused(acmeId, (body) => {
    body.features[2] = { type: 'toggle', slug: 'seats-5', name: 'Seats' };
    body.products[0].price = { type: 'single_payment', unitPrice: 1 };
    body.products[0].features = [];
  });
  assert.deepEqual(paths, ['pricingModel.features.2.type', 'pricingModel.products.0.price.type']);
});

test('everything that a setup refuses is refused, at its place in the body', async () => {
  const paths = await refused(acmeId, (body) => {
    body.name = '';
    body.products[0].price.unitPrice = -1;
  });
  assert.deepEqual(paths, ['pricingModel.name', 'pricingModel.products.0.price.unitPrice']);
  const crossed = await refused(acmeId, (body) => {
    body.resources.push(body.resources[0]);
    body.products[0].price.slug = 'free';
    body.products[0].product.slug = 'Free';
  });
  const expected = ['resources.1.slug', 'products.1.price.slug', 'products.0.product.slug'];
  assert.deepEqual(
    crossed,
    expected.map((path) => `pricingModel.${path}`),
  );
  const unknown = await refused(acmeId, (body) => body.products[0].features.push('nowhere'), 404);
  assert.deepEqual(unknown, ['pricingModel.products.0.features.3']);
});

test('a second default product is refused, whether new or stored', async () => {
  const start = {
    product: { name: 'Start', slug: 'start', default: true },
    price: { type: 'single_payment', unitPrice: 0 },
  };
  assert.deepEqual(await refused(acmeId, (body) => body.products.unshift(start)), [
    'pricingModel.products.0.product.default',
  ]);
  const moved = await refused(acmeId, (body) => {
    body.products.pop();
    Object.assign(body.products[0].product, { default: true });
  });
  assert.deepEqual(moved, ['pricingModel.products.0.product.default']);
});

test('the default product stays as it is in silence, but for its name, its words and its features', async () => {
  const { id, defaultProduct: before } = await setUp(acme());
  const body = await exportOf(id);
  body.products[1] = {
    product: {
      name: 'Start here',
      slug: 'free',
      description: 'Costs nothing',
      imageURL: 'https://acme.test/free.png',
      singularQuantityLabel: 'seat',
      active: false,
    },
    price: { type: 'single_payment', unitPrice: 500, slug: 'paid' },
    features: ['sso'],
  };
  const { defaultProduct: after } = await put(id, body);
  assert.deepEqual(after, {
    ...before,
    name: 'Start here',
    description: 'Costs nothing',
    imageURL: 'https://acme.test/free.png',
    updatedAt: after.updatedAt,
    features: after.features,
  });
  assert.deepEqual(
    after.features.map(({ slug }: Body) => slug),
    ['sso'],
  );
});

test('a default product that is left out, or has another slug, is the one that there was', async () => {
  const { id, defaultProduct } = await setUp(acme());
  const body = await exportOf(id);
  const [team, free] = body.products;
  const before = await allRows(app, id);
  await put(id, { ...body, products: [team] });
  assert.deepEqual(await allRows(app, id), before);
  const renamed = { ...free, product: { ...free.product, name: 'Begin', slug: 'begin' } };
  const { defaultProduct: after } = await put(id, { ...body, products: [renamed, team] });
  assert.deepEqual([after.id, after.slug, after.name], [defaultProduct.id, 'free', 'Begin']);
});

test('a slug that was deactivated can come back as another type of feature, or be sold in another way', async () => {
  const { id, products } = await setUp(acme());
  const body = await exportOf(id);
  const empty = { ...body, features: [], products: [] };
  await put(id, empty);
  const toggle = { type: 'toggle', slug: 'seats-5', name: 'Seats' };
  const once = { product: { name: 'Team', slug: 'team' }, price: { type: 'single_payment', unitPrice: 1 } };
  const other = await put(id, { ...empty, features: [toggle], products: [once] });
  const team = other.products.find(({ slug }: Body) => slug === 'team');
  assert.notEqual(team.id, products[0].id);
  await put(id, empty);
  // The first ones are older, but only they are of the wanted type.
  const back = await put(id, body);
  assert.equal(back.products.find(({ slug }: Body) => slug === 'team').id, products[0].id);
  const seats = (record: Body) => record.products[0].features.find(({ slug }: Body) => slug === 'seats-5');
  assert.equal(seats(back).id, products[0].features[2].id);
});

test('the slug of a price that somebody else uses cannot be seen in the body, and is a conflict', async () => {
  const { id, products } = await setUp(acme());
  const price = { type: 'subscription', productId: products[0].id, intervalUnit: 'year', unitPrice: 9, slug: 'yearly' };
  await app.post('/prices', { price });
  await app.put(`/prices/${products[0].defaultPrice.id}`, { price: { active: true } });
  const body = await exportOf(id);
  body.usageMeters[0].prices.push({ slug: 'team-monthly', unitPrice: 1 });
  const answer = await request(id, body);
  assert.equal(answer.status, 409);
  assert.equal(answer.body.code, 'CONFLICT');
});

test('the id in the body must be that of the path', async () => {
  const answer = await request(acmeId, { id: 'pricing_model_other', name: 'Other' });
  assert.equal(answer.status, 400);
});

test('a pricing model of another organization or mode is not found, and stays as it is', async () => {
  const before = await allRows(app, acmeId);
  const other = await app.newOrganization();
  for (const key of [app.liveKey, other.testKey]) {
    const body = { pricingModel: { ...acme(), name: 'Mine' } };
    const answer = await app.request('PUT', `/pricing-models/${acmeId}`, body, { key });
    assert.equal(answer.status, 404);
    assert.equal(answer.body.code, 'NOT_FOUND');
  }
  assert.deepEqual(await allRows(app, acmeId), before);
});

test('a dry run of an update answers and changes nothing', async () => {
  const before = await allRows(app, acmeId);
  const body = await exportOf(acmeId);
  const pricingModel = { ...body, name: 'Dry', products: [] };
  const answer = await app.put(`/pricing-models/${acmeId}?dryRun=true`, { pricingModel });
  assert.equal(answer.pricingModel.name, 'Dry');
  assert.deepEqual(await allRows(app, acmeId), before);
});
