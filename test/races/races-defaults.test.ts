import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeDefaultPaymentMethod } from '../../src/payments/actions-attach.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { monthly, newMeter, newModel, newProduct } from '../support/pricing-fixture.ts';
import { assertStatuses, ended, meet, rounds } from '../support/race.ts';
import { assertSound } from '../support/sound.ts';
import { atOnce } from '../support/spending.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);

const put = (path: string, body: Body): Promise<Answer> => app.request('PUT', path, body);

describe('race: default switched by two writers', () => {
  /** A customer on a paid plan, with so many cards. */
  async function withCards(count: number) {
    const { customerId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
    const priceId = plans.priceOf('pro-monthly').id;
    const { id } = await plans.subscribe({ customerId, priceId, defaultPaymentMethodId: paymentMethodId });
    const cards = [paymentMethodId ?? assert.fail('the first card')];
    const tokens = ['pm_card_mastercard', 'pm_card_amex', 'pm_card_refundFail'].slice(0, count - 1);
    for (const token of tokens) cards.push((await attach(customerId, { token })).body.paymentMethod.id);
    return { id, customerId, cards };
  }
  const attach = (customerId: string, more: Body = {}): Promise<Answer> =>
    app.request('POST', '/payment-methods', { paymentMethod: { customerId, token: 'pm_card_visa', ...more } });
  const makeDefault = (customerId: string, id: string) =>
    app.inEnvironment((work) => makeDefaultPaymentMethod(work, customerId, id));

  async function assertOneCard(customerId: string, subscriptionId: string): Promise<void> {
    const { data } = await app.get(`/payment-methods?customerId=${customerId}&limit=100`);
    const defaults = data.filter((each: Body) => each.default);
    assert.equal(defaults.length, 1);
    assert.equal((await plans.subscription(subscriptionId)).defaultPaymentMethodId, defaults[0].id);
  }

  test('of two cards that become the default at the same moment, the later one is, and it is charged', async () => {
    const { id, customerId, cards } = await withCards(3);
    const [, second = '', third = ''] = cards;
    const place = { table: 'payment_methods', on: 'update', when: 'new.is_default' } as const;
    const wanted = { default: true, automaticallyUpdateSubscriptions: true };
    await meet<unknown, unknown>(
      app,
      place,
      () => makeDefault(customerId, second),
      () => makeDefault(customerId, third),
      () => attach(customerId, wanted),
    );
    await assertOneCard(customerId, id);
  });

  test('32 who choose or attach the default card at once: there is one at the end, and it is charged', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, customerId, cards } = await withCards(4);
      const wanted = { default: true, automaticallyUpdateSubscriptions: true };
      const attached = atOnce(8, () => attach(customerId, wanted));
      await atOnce(24, (index) => makeDefault(customerId, cards[index % 4] ?? ''));
      assertStatuses(await attached, [200]);
      await assertOneCard(customerId, id);
    }
    await assertSound(app);
  });

  test('of prices of a product that become the default at once, one is', async () => {
    const modelId = await newModel(app);
    const { product } = await newProduct(app, modelId);
    const place = { table: 'prices', on: 'insert' } as const;
    const make = (unitPrice: number) =>
      app.request('POST', '/prices', { price: { ...monthly, unitPrice, productId: product.id } });
    const answers = await meet(
      app,
      place,
      () => make(1),
      () => make(2),
      () => make(3),
    );
    answers.push(...(await ended(app, atOnce(32, make), '32 who make a default')));
    assertStatuses(answers, [200]);
    const { data } = await app.get(`/prices?productId=${product.id}&limit=100`);
    assert.equal(data.length, 36);
    const inForce = data.filter(({ active, isDefault }: Body) => active && isDefault);
    assert.deepEqual([inForce.length, data.filter(({ isDefault }: Body) => isDefault).length], [1, 1]);
  });

  test('of prices of a meter that are made the default and not, by two at a time, one is at any time', async () => {
    const modelId = await newModel(app);
    const meter = await newMeter(app, modelId, { unitPrice: 5 });
    const usage = { type: 'usage', usageEventsPerUnit: 1, usageMeterId: meter.id };
    const prices: string[] = [];
    for (const unitPrice of [1, 2, 3])
      prices.push((await app.post('/prices', { price: { ...usage, unitPrice, isDefault: false } })).price.id);
    const place = { table: 'prices', on: 'update', when: 'new.is_default and not old.is_default' } as const;
    const choose = (index: number, isDefault = true) => put(`/prices/${prices[index % 3]}`, { price: { isDefault } });
    const answers = await meet(
      app,
      place,
      () => choose(0),
      () => choose(1),
      () => choose(2),
    );
    const storm = atOnce(32, (index) => choose(index, index % 4 !== 3));
    answers.push(...(await ended(app, storm, '32 who choose a default')));
    assertStatuses(answers, [200]);
    const { data } = await app.get(`/prices?usageMeterId=${meter.id}&limit=100`);
    assert.equal(data.filter(({ active, isDefault }: Body) => active && isDefault).length, 1);
  });

  test('of pricing models that become the default at once, one is, and new customers come to it', async () => {
    const models = [plans.pricingModelId, await newModel(app), await newModel(app)];
    const place = { table: 'pricing_models', on: 'update', when: 'new.is_default and not old.is_default' } as const;
    const choose = (index: number) =>
      put(`/pricing-models/${models[index % 3]}`, { pricingModel: { isDefault: true } });
    const answers = await meet(
      app,
      place,
      () => choose(1),
      () => choose(2),
      () => choose(0),
    );
    assertStatuses(answers, [200]);
    for (let round = 0; round < rounds; round++)
      assertStatuses(await ended(app, atOnce(32, choose), '32 who choose a default'), [200]);
    const { data } = await app.get('/pricing-models?limit=100');
    assert.equal(data.filter(({ isDefault }: Body) => isDefault).length, 1);
    assert.equal((await put(`/pricing-models/${models[0]}`, { pricingModel: { isDefault: true } })).status, 200);
    await assertSound(app);
  });
});
