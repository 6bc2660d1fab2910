import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Work } from '../../src/database/work.ts';
import {
  clonePricingModel,
  exportPricingModel,
  setUpPricingModel,
  updatePricingModel,
} from '../../src/pricing/actions-models.ts';
import { loadPricingModelDetails } from '../../src/pricing/store-pricing-models.ts';
import { SetupInput, UpdateInput } from '../../src/pricing/structure.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { acme } from '../support/pricing-models.ts';
import { countStatements } from '../support/statements.ts';

const app = await startTestApp();

/** A pricing model with so many products and features, and a sixth as many usage meters. */
function sized(count: number): Body {
  const range = (length: number) => Array.from({ length }, (_, index) => index);
  const meters = Math.ceil(count / 6);
  return {
    name: `Of ${count}`,
    features: range(count).map((index) => ({
      type: 'usage_credit_grant',
      slug: `feature-${index}`,
      name: `Feature ${index}`,
      amount: index + 1,
      renewalFrequency: 'once',
      usageMeterSlug: `meter-${index % meters}`,
    })),
    products: range(count).map((index) => ({
      product: { name: `Product ${index}`, slug: `product-${index}` },
      price: { type: 'subscription', intervalUnit: 'month', unitPrice: index, slug: `price-${index}` },
      features: [`feature-${index}`, `feature-${(index + 1) % count}`],
    })),
    usageMeters: range(meters).map((index) => ({
      usageMeter: { name: `Meter ${index}`, slug: `meter-${index}` },
      prices: [{ unitPrice: index, slug: `usage-${index}`, isDefault: true }],
    })),
  };
}

/** Acts in the test environment, and answers how many statements that took too. */
function counted<Answer>(act: (work: Work) => Promise<Answer>): Promise<{ answer: Answer; count: number }> {
  return app.inEnvironment((work) => countStatements(work, act));
}

test('300 products, 300 features and 50 meters take as many statements as 6, 6 and 1', async () => {
  const statements: number[][] = [];
  for (const count of [6, 300]) {
    const body = sized(count);
    const made = await counted((work) => setUpPricingModel(work, SetupInput.parse(body)));
    const { id, products, usageMeters } = made.answer.pricingModel;
    assert.equal(products.length, count + 1);
    assert.equal(usageMeters.length, count / 6);
    assert(products.slice(0, count).every(({ features }) => features.length === 2));
    for (const each of [...body.products, ...body.usageMeters.flatMap(({ prices }: Body) => prices)])
      Object.assign(each.price ?? each, { unitPrice: 7 });
    const update = UpdateInput.parse({ ...body, resources: [] });
    const updated = await counted((work) => updatePricingModel(work, id, update));
    const copied = await counted((work) =>
      clonePricingModel(work, id, { name: 'Copy', destinationEnvironment: 'livemode' }),
    );
    assert.equal(copied.answer.products.length, count + 1);
    const exported = await counted((work) => exportPricingModel(work, id));
    assert.equal(exported.answer.pricingModel.products[3]?.price.unitPrice, 7n);
    statements.push([made, updated, copied, exported].map((each) => each.count));
  }
  assert.deepEqual(statements[1], statements[0]);
  assert(Math.max(...statements.flat()) < 30, `${statements}`);
});

test('the details of many pricing models take as many statements as those of one', async () => {
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) {
    ids.push((await app.post('/pricing-models/setup', { ...acme(), name: `Model ${count}` })).pricingModel.id);
  }
  const wanted = [...ids].reverse();
  const all = await counted((work) => loadPricingModelDetails(work, [...wanted, 'pricing_model_unknown']));
  assert.deepEqual(
    all.answer.map(({ id }) => id),
    wanted,
  );
  for (const details of all.answer) {
    const one = await counted((work) => loadPricingModelDetails(work, [details.id]));
    assert.deepEqual(one.answer, [details]);
    assert.equal(one.count, all.count);
  }
  assert.deepEqual((await counted((work) => loadPricingModelDetails(work, []))).answer, []);
});

test('parallel setups of the default pricing model all succeed, and one of them is the default', async () => {
  const all = await Promise.all(
    Array.from({ length: 8 }, () => app.request('POST', '/pricing-models/setup', { ...acme(), isDefault: true })),
  );
  assert.deepEqual(
    all.map(({ status }) => status),
    all.map(() => 200),
  );
  const { data } = await app.get('/pricing-models?isDefault=true');
  assert.equal(data.length, 1);
});

test('parallel updates that each want to be the default all succeed, and one of them is', async () => {
  const { data } = await app.get('/pricing-models?limit=8');
  const all = await Promise.all(
    data.map(({ id }: Body) => app.request('PUT', `/pricing-models/${id}`, { pricingModel: { isDefault: true } })),
  );
  assert.deepEqual(
    all.map(({ status }) => status),
    all.map(() => 200),
  );
  assert.equal((await app.get('/pricing-models?isDefault=true')).total, 1);
});

test('parallel updates of one pricing model happen one after the other', async () => {
  const { id } = (await app.post('/pricing-models/setup', acme())).pricingModel;
  const { pricingModel: body } = await app.get(`/pricing-models/${id}/export`);
  const wanted = Array.from({ length: 8 }, (_, index) => {
    const products = structuredClone(body.products);
    products[0].price.unitPrice = index;
    const fresh = {
      product: { name: 'New', slug: `new-${index}` },
      price: { type: 'single_payment', unitPrice: index },
    };
    return { ...body, products: [...products, fresh] };
  });
  const all = await Promise.all(
    wanted.map((pricingModel) => app.request('PUT', `/pricing-models/${id}`, { pricingModel })),
  );
  assert.deepEqual(
    all.map(({ status }) => status),
    all.map(() => 200),
  );
  const { products } = (await app.get(`/pricing-models/${id}`)).pricingModel;
  // The last one to come left one new product, with the price that it sent along.
  assert.equal(products.length, 3);
  const added = products.find(({ slug }: Body) => slug.startsWith('new-'));
  assert.equal(products[0].defaultPrice.unitPrice, added.defaultPrice.unitPrice);
});
