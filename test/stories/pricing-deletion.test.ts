import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, startTestApp } from '../support/harness.ts';
import { newModel, newProduct, newToggle, unique } from '../support/pricing-fixture.ts';
import { acme } from '../support/pricing-models.ts';
import { meet } from '../support/race.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();

const remove = (path: string): Promise<Answer> => app.request('DELETE', path);

function refused({ status, body }: Answer, reason: string, message: RegExp): void {
  assert.deepEqual([status, body.reason], [409, reason], JSON.stringify(body));
  assert.match(body.message, message);
}

const customerOf = (pricingModelId: string, externalId = unique('user')): Promise<Answer> =>
  app.request('POST', '/customers', {
    customer: { externalId, email: 'a@acme.test', name: 'Ada', pricingModelId },
  });

async function newCustomer(pricingModelId: string, externalId?: string): Promise<string> {
  return (await customerOf(pricingModelId, externalId)).body.data.customer.id;
}

const subscribe = (customerId: string, priceId: string): Promise<Answer> =>
  app.request('POST', '/subscriptions', { customerId, priceId, trialEnd: Date.now() + 86_400_000 });

test('a pricing model that nothing uses is deleted with its contents, and a dry run says how many', async () => {
  const { id, products } = (await app.post('/pricing-models/setup', acme())).pricingModel;
  await app.post('/discounts', {
    discount: { name: 'Ten', code: 'TEN', amount: 10, amountType: 'percent', duration: 'once', pricingModelId: id },
  });
  const count = async (list: string) => (await app.get(`/${list}?pricingModelId=${id}`)).total;
  const lists = ['products', 'prices', 'features', 'product-features', 'usage-meters'];
  const before = await Promise.all(lists.map(count));
  const dry = await app.request('DELETE', `/pricing-models/${id}?dryRun=true`);
  assert.deepEqual(await Promise.all(lists.map(count)), before);
  const answer = await remove(`/pricing-models/${id}`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(answer.body, dry.body);
  const { deleted, pricingModel } = answer.body;
  assert.equal(pricingModel.id, id);
  const { products: ofProducts, prices, features, productFeatures, usageMeters } = deleted;
  assert.deepEqual([ofProducts, prices, features, productFeatures, usageMeters], before);
  const left = await app.owner.selectFrom('discounts').select('id').where('pricingModelId', '=', id).execute();
  assert.deepEqual(left, []);
  const paths = [`/pricing-models/${id}`, `/products/${products[0].id}`];
  for (const path of paths) assert.equal((await app.request('GET', path)).status, 404);
  assert.equal((await remove(`/pricing-models/${id}`)).status, 404);
  const { data } = await app.get(`/audit-log?recordId=${id}`);
  assert.deepEqual([data[0].operation, data[0].before.name], ['delete', pricingModel.name]);
});

test('the default pricing model and a default product are not deleted', async () => {
  const { id } = (await app.get('/pricing-models/default')).pricingModel;
  refused(await remove(`/pricing-models/${id}`), 'default_pricing_model_not_deletable', /another pricing model/);
  const other = (await app.get(`/pricing-models/${await newModel(app)}`)).pricingModel;
  refused(await remove(`/products/${other.defaultProduct.id}`), 'default_product_not_deletable', /default plan/);
});

test('a pricing model in use is refused, and its users are counted and named', async () => {
  const id = await newModel(app);
  const customerExternalId = unique('user');
  const customers = [await newCustomer(id, customerExternalId)];
  for (let count = 0; count < 3; count++) customers.push(await newCustomer(id));
  const { price } = await newProduct(app, id);
  const returns = { successUrl: 'https://app.test/a', cancelUrl: 'https://app.test/b' };
  const { checkoutSession } = await app.post('/checkout-sessions', {
    checkoutSession: { type: 'product', customerExternalId, priceId: price.id, ...returns },
  });
  const names = `checkout sessions: 1 \\(${checkoutSession.id}\\); customers: 4 \\(${customers.slice(0, 3).join(', ')} \\.\\.\\.\\)`;
  refused(await remove(`/pricing-models/${id}`), 'pricing_model_in_use', new RegExp(names));
});

test('a product is deleted with its prices and links until somebody has it, or will have it', async () => {
  const id = await newModel(app);
  const toggle = await newToggle(app, id);
  const unused = await newProduct(app, id, { featureIds: [toggle.id] });
  const { product, deleted } = (await remove(`/products/${unused.product.id}`)).body;
  assert.deepEqual([product.id, deleted], [unused.product.id, { prices: 1, productFeatures: 1 }]);
  assert.equal((await app.get(`/features/${toggle.id}`)).feature.id, toggle.id);

  const [sold, next] = [await newProduct(app, id, { featureIds: [toggle.id] }), await newProduct(app, id)];
  const { body } = await subscribe(await newCustomer(id), sold.price.id);
  const ofSold = new RegExp(`subscription items: 1 .*; subscriptions: 1 \\(${body.subscription.id}\\)`);
  refused(await remove(`/products/${sold.product.id}`), 'product_in_use', ofSold);
  const items = [{ priceId: next.price.id }];
  const timing = 'at_end_of_current_billing_period';
  await app.post(`/subscriptions/${body.subscription.id}/adjust`, {
    adjustment: { timing, newSubscriptionItems: items },
  });
  refused(await remove(`/products/${next.product.id}`), 'product_in_use', /subscription adjustments: 1/);
  assert.equal((await app.put(`/products/${sold.product.id}`, { product: { active: false } })).product.active, false);
});

test('race: of a deletion and a new user of the same record, the first one wins', async () => {
  const both = async (
    first: () => Promise<Answer>,
    table: string,
    on: 'insert' | 'delete',
    second: () => Promise<Answer>,
  ) =>
    (await meet<Answer, Answer>(app, { table, on }, first, second)).map(({ status, body }) => [
      status,
      body.reason ?? null,
    ]);
  const used = await newModel(app);
  const answers = await both(
    () => customerOf(used),
    'subscriptions',
    'insert',
    () => remove(`/pricing-models/${used}`),
  );
  assert.deepEqual(answers, [
    [200, null],
    [409, 'pricing_model_in_use'],
  ]);
  const gone = await newModel(app);
  assert.deepEqual(
    await both(
      () => remove(`/pricing-models/${gone}`),
      'pricing_models',
      'delete',
      () => customerOf(gone),
    ),
    [
      [200, null],
      [404, 'pricing_model_not_found'],
    ],
  );

  const id = await newModel(app);
  const [first, second, third] = [await newProduct(app, id), await newProduct(app, id), await newProduct(app, id)];
  const customerId = await newCustomer(id);
  assert.deepEqual(
    await both(
      () => remove(`/products/${first.product.id}`),
      'products',
      'delete',
      () => subscribe(customerId, first.price.id),
    ),
    [
      [200, null],
      [404, 'price_not_found'],
    ],
  );
  const made = await subscribe(customerId, second.price.id);
  assert.equal(made.status, 200, JSON.stringify(made.body));
  const adjustment = {
    timing: 'at_end_of_current_billing_period',
    newSubscriptionItems: [{ priceId: third.price.id }],
  };
  const answersOfChange = await both(
    () => remove(`/products/${third.product.id}`),
    'products',
    'delete',
    () => app.request('POST', `/subscriptions/${made.body.subscription.id}/adjust`, { adjustment }),
  );
  assert.deepEqual(answersOfChange, [
    [200, null],
    [404, 'active_price_not_found'],
  ]);
  await assertSound(app);
});
