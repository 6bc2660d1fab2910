import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { day, setUpChanges } from '../support/adjust-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const { subscribe, adjust, preview, refused, attach, calls, invoices, items, subscription, moveTo, use } =
  await setUpChanges(app);
await app.put('/settings', { settings: { netTermsDays: 14 } });

// Pro gives 360 calls a month, mega 900. A change on day 5 of 30 leaves 25: of mega that is 900 x 25 / 30 = 750.
describe('a plan that is invoiced and not paid yet gave its credits at its start; a change of it gives the difference', () => {
  const begin = async () => {
    await app.setClock(day(0));
    const subscription = await subscribe('pro', { token: null });
    assert.equal(await calls(subscription.externalId, subscription.id), 360);
    await app.setClock(day(5));
    return subscription;
  };
  const pay = async (subscriptionId: string) => {
    const { data } = await app.get(`/invoices?subscriptionId=${subscriptionId}`);
    await app.post(`/invoices/${data[0].id}/record-payment`, { payment: {} });
  };

  test('a change to another plan, without proration, gives 750, and nothing again with the money', async () => {
    const { id, externalId } = await begin();
    await adjust(id, 'mega', { prorateCurrentBillingPeriod: false });
    assert.equal(await calls(externalId, id), 750);
    await pay(id);
    assert.equal(await calls(externalId, id), 750);
    assert.deepEqual(await invoices(id), [['paid', 3000]]);
  });

  test('a change to two of it, without proration, gives 720 x 25 / 30 = 600', async () => {
    const { id, externalId } = await begin();
    await adjust(id, 'pro x 2', { prorateCurrentBillingPeriod: false });
    assert.equal(await calls(externalId, id), 600);
    await pay(id);
    assert.equal(await calls(externalId, id), 600);
  });

  test('a change that is paid for in place of the invoice gives 750', async () => {
    const { id, externalId, customerId } = await begin();
    await attach(customerId, 'pm_card_visa');
    await adjust(id, 'mega');
    assert.deepEqual(await invoices(id), [
      ['void', 3000],
      ['paid', 8000],
    ]);
    assert.equal(await calls(externalId, id), 750);
  });
});

// 3000 a month, paid by transfer. Half-way, the rest at 6000 costs (6000 - 3000) x 15 / 30 = 1500.
describe('a change without a card, under net terms of 30 days', () => {
  const halfWay = async () => {
    await app.put('/settings', { settings: { netTermsDays: 30 } });
    const plan = await subscribe('p3000', { token: null });
    await pay(plan.id, 0);
    await moveTo(day(15));
    return plan;
  };
  const list = async (subscriptionId: string): Promise<Body[]> =>
    (await app.get(`/invoices?subscriptionId=${subscriptionId}`)).data;
  const pay = async (subscriptionId: string, index: number) =>
    app.post(`/invoices/${(await list(subscriptionId))[index]?.id}/record-payment`, { payment: {} });

  test('is made at once, and its invoice of 15.00 is due in 30 days, as the preview says', async () => {
    const { id, externalId } = await halfWay();
    const { totalDue, dueDate, paymentMethod } = await preview(id, 'p6000');
    assert.deepEqual([totalDue, dueDate, paymentMethod], [1500, day(45), undefined]);
    await adjust(id, 'p6000');
    assert.deepEqual(await items(externalId), [[6000, 1]]);
    const invoice = (await list(id))[1];
    assert.deepEqual([invoice?.status, invoice?.total, invoice?.dueDate], ['open', 1500, day(45)]);
    // Another change owes only its own difference: (9000 - 6000) x 15 / 30.
    await adjust(id, 'p9000');
    assert.deepEqual(await invoices(id), [
      ['paid', 3000],
      ['open', 1500],
      ['open', 1500],
    ]);
  });

  test('that is not paid is past due from its due date on, unpaid after 13 days of retries, and active once it is', async () => {
    const { id, externalId } = await halfWay();
    await adjust(id, 'p6000');
    await moveTo(day(30));
    await pay(id, 2);
    await moveTo(day(45) - 1);
    assert.equal((await subscription(id)).status, 'active');
    await moveTo(day(45));
    assert.equal((await subscription(id)).status, 'past_due');
    await refused(id, 'p9000', 400);
    await moveTo(day(58));
    assert.equal((await subscription(id)).status, 'unpaid');
    await pay(id, 1);
    assert.equal((await subscription(id)).status, 'active');
    assert.deepEqual(await items(externalId), [[6000, 1]]);
    assert.deepEqual(await invoices(id), [
      ['paid', 3000],
      ['paid', 1500],
      ['paid', 6000],
    ]);
  });

  test('is charged on its due date to a card that was added since, and a declined card is retried, not undone', async () => {
    const { id, customerId, externalId } = await halfWay();
    await adjust(id, 'p6000');
    await moveTo(day(30));
    await pay(id, 2);
    await attach(customerId, 'pm_card_chargeCustomerFail');
    await moveTo(day(45));
    assert.equal((await subscription(id)).status, 'past_due');
    assert.deepEqual(await items(externalId), [[6000, 1]]);
    await attach(customerId, 'pm_card_visa');
    await moveTo(day(48));
    assert.equal((await subscription(id)).status, 'active');
    assert.deepEqual((await invoices(id))[1], ['paid', 1500]);
  });

  test('leaves an unpaid invoice of the period with its own due date', async () => {
    const { id } = await subscribe('p3000', { token: null });
    await moveTo(day(15));
    await adjust(id, 'p6000');
    assert.deepEqual(
      (await list(id)).map(({ status, total, dueDate }) => [status, total, dueDate]),
      [
        ['open', 3000, day(30)],
        ['open', 1500, day(45)],
      ],
    );
  });

  const card = (customerId: string) => attach(customerId, 'pm_card_visa');
  const payOnRequest = async (invoiceId: string) => (await app.post(`/invoices/${invoiceId}/pay`)).invoice.status;

  test('that is open is paid on request with a card, and a declined card before the due date undoes nothing', async () => {
    const { id, customerId, externalId } = await halfWay();
    await adjust(id, 'p6000');
    const invoiceId = (await list(id))[1]?.id;
    await attach(customerId, 'pm_card_chargeCustomerFail');
    assert.equal((await app.request('POST', `/invoices/${invoiceId}/pay`, {})).status, 402);
    assert.deepEqual((await invoices(id))[1], ['open', 1500]);
    assert.deepEqual(await items(externalId), [[6000, 1]]);
    await card(customerId);
    assert.equal(await payOnRequest(invoiceId), 'paid');
  });

  test('and to another interval needs a card, unless what was paid covers it', async () => {
    const { id, externalId } = await halfWay();
    await refused(id, 'yearly', 400);
    assert.deepEqual(await items(externalId), [[3000, 1]]);
    const year = await subscribe('yearly', { token: null });
    await pay(year.id, 0);
    await moveTo(day(15));
    await adjust(year.id, 'p3000');
    assert.deepEqual(await invoices(year.id), [
      ['paid', 30_000],
      ['paid', 0],
    ]);
  });

  test('is not needed to pay the last usage of a canceled plan on request', async () => {
    const { id, customerId } = await halfWay();
    await use(id, 200);
    await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
    assert.deepEqual((await invoices(id))[1], ['open', 100]);
    await card(customerId);
    assert.equal(await payOnRequest((await list(id))[1]?.id), 'paid');
    assert.equal((await subscription(id)).status, 'canceled');
  });

  test('is not needed to pay a purchase on request either: it is paid, and stays so', async () => {
    const { customerId } = await halfWay();
    const product = { name: 'Workshop', slug: 'workshop' };
    await app.post('/products', { product, price: { type: 'single_payment', slug: 'workshop', unitPrice: 500 } });
    const { purchase } = await app.post('/purchases', { purchase: { customerId, priceSlug: 'workshop' } });
    const { data } = await app.get(`/invoices?customerId=${customerId}&status=open`);
    await attach(customerId, 'pm_card_chargeCustomerFail');
    assert.equal((await app.request('POST', `/invoices/${data[0].id}/pay`, {})).status, 402);
    assert.equal((await app.get(`/purchases/${purchase.id}`)).purchase.status, purchase.status);
    await card(customerId);
    assert.equal(await payOnRequest(data[0].id), 'paid');
    assert.equal((await app.get(`/purchases/${purchase.id}`)).purchase.status, 'paid');
  });

  test('is refused without net terms: nothing changes', async () => {
    const { id, externalId } = await halfWay();
    await app.put('/settings', { settings: { netTermsDays: 0 } });
    await refused(id, 'p6000', 400);
    assert.deepEqual(await items(externalId), [[3000, 1]]);
    await assertSound(app);
  });
});
