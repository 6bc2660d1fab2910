import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();
after(() => assertSound(app));
const organization = await app.newOrganization();
const caller = callerOf(app, organization);
const send = (method: string, path: string, body: Body) =>
  app.request(method, path, body, { key: organization.testKey });

// A payments platform takes 2.9 % and 30 cents of each payment, at least 10.00 in a period with payments.
const fee = { model: 'percentage', rate: '2.9', fixedAmountPerEvent: '30' };
const pricings: Record<string, Body> = {
  payments: { ...fee, minimumAmount: '1000' },
  transfers: fee,
  models: { model: 'dynamic' },
  tiny: { model: 'per_unit', unitAmount: '0.000000000001' },
};
const [first, ...others] = Object.entries(pricings).map(([slug, pricing]) =>
  meter(slug, slug, { slug: `${slug}-price`, unitPrice: 0, pricing }),
);
await caller.moveTo(instant('2026-01-01'));
const { pricingModel } = await caller.post('/pricing-models/setup', {
  name: 'Events',
  isDefault: true,
  features: [credits('included', 5000, 'transfers')],
  products: [
    plan('free', 0),
    plan('pro', 3000),
    plan('flat', 3000, [], { overage: 'none' }),
    plan('rich', 3000, ['included']),
  ],
  usageMeters: [first, ...others],
});

async function subscriber(externalId: string, slug = 'pro') {
  const { customerId } = await newCustomer(caller, externalId, { token: 'pm_card_visa' });
  const { subscription } = await caller.post('/subscriptions', { customerId, priceSlug: `${slug}-monthly` });
  const id: string = subscription.id;
  let count = 0;
  const event = (meterSlug: string, amount: number, price?: string) => {
    count += 1;
    const given = {
      subscriptionId: id,
      priceSlug: `${meterSlug}-price`,
      amount,
      transactionId: `${externalId}-${count}`,
    };
    return { ...given, ...(price === undefined ? {} : { price }) };
  };
  return {
    id,
    event,
    use: (meterSlug: string, amount: number, price?: string) =>
      send('POST', '/usage-events', { usageEvent: event(meterSlug, amount, price) }),
    bulk: (usageEvents: Body[]) => caller.post('/usage-events/bulk', { usageEvents }),
    change: (to: string) =>
      caller.post(`/subscriptions/${id}/adjust`, {
        adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug: `${to}-monthly` }] },
      }),
    /** The usage lines that the next invoice would have. */
    upcoming: async (): Promise<string[]> => {
      const { invoiceLineItems } = await caller.get(`/invoices/upcoming?subscriptionId=${id}`);
      return invoiceLineItems.flatMap(({ type, description, amount }: Body) =>
        type === 'usage' ? [`${description}: ${amount}`] : [],
      );
    },
    last: async (): Promise<Body> => {
      const { data } = await caller.get(`/invoices?subscriptionId=${id}&limit=100`);
      return data.toSorted((a: Body, b: Body) => (a.id < b.id ? -1 : 1)).at(-1);
    },
  };
}

test('a payments platform bills 2.9 % and 30 cents of each payment, at least 10.00, and each payment once', async () => {
  const ada = await subscriber('ada');
  assert.deepEqual(await ada.upcoming(), []);
  // 290 and 30 are less than the minimum.
  assert.equal((await ada.use('payments', 10_000)).status, 200);
  assert.deepEqual(await ada.upcoming(), ['10,000 payments: 1000']);
  await ada.bulk(Array.from({ length: 12 }, () => ada.event('payments', 10_000)));
  const repeated = ada.event('payments', 10_000);
  await caller.post('/usage-events', { usageEvent: repeated });
  await caller.post('/usage-events', { usageEvent: repeated });
  // 14 payments of 100.00: 4060 and 420.
  assert.deepEqual(await ada.upcoming(), ['140,000 payments: 4480']);
  // The plan flat bills no overage, so its events cost no fee either.
  await ada.change('flat');
  assert.equal((await ada.last()).total, 4480);
  await ada.use('payments', 10_000);
  await ada.change('pro');
  await ada.use('payments', 10_000);
  assert.deepEqual(await ada.upcoming(), ['10,000 payments: 320']);
  await caller.moveTo(instant('2026-02-01'));
  const invoice = await ada.last();
  assert.equal(invoice.total, 3000 + 320);
  const { lines } = await caller.get(`/invoices/${invoice.id}/explain`);
  const { events, eventsSoFar, eventsAmount, unitsSoFar, billedBefore } = lines.find(
    (each: Body) => each.kind === 'priced_usage',
  );
  assert.deepEqual([events, eventsSoFar, eventsAmount, unitsSoFar, billedBefore], [1, 15, null, 150_000, 4480]);
  const page = await app.request('GET', `/invoices/${invoice.id}/html`, undefined, { key: organization.testKey });
  for (const text of ['150,000 at 2.9%', '15 events at $0.30 each', '$4.50', '140,000 of them billed before'])
    assert.ok(String(page.body).includes(text), text);
});

test('payments of a voided invoice are billed again with their fees, in their own period', async () => {
  const bob = await subscriber('bob');
  await bob.bulk([bob.event('transfers', 1000), bob.event('transfers', 1000)]);
  await app.owner.updateTable('paymentMethods').set({ processorToken: 'pm_card_chargeCustomerFail' }).execute();
  await caller.moveTo(instant('2026-03-01'));
  const invoice = await bob.last();
  assert.deepEqual([invoice.status, invoice.total], ['open', 3000 + 118]);
  await caller.post(`/invoices/${invoice.id}/void`);
  await bob.use('transfers', 1000);
  assert.deepEqual((await bob.upcoming()).sort(), ['1,000 transfers: 59', '2,000 transfers: 118']);
  await app.owner.updateTable('paymentMethods').set({ processorToken: 'pm_card_visa' }).execute();
});

test('credits cover the amounts of transfers, and the fee of each is owed beside them', async () => {
  const cleo = await subscriber('cleo', 'rich');
  await cleo.use('transfers', 4000);
  assert.deepEqual(await cleo.upcoming(), ['1 event of transfers: 30']);
  // 5,000 are covered, and 2.9 % of 2,000 are 58.
  await cleo.bulk([cleo.event('transfers', 1500), cleo.event('transfers', 1500)]);
  assert.deepEqual(await cleo.upcoming(), ['2,000 transfers: 148']);
  await caller.moveTo(instant('2026-04-01'));
  assert.equal((await cleo.last()).total, 3148);
  await cleo.use('transfers', 100);
  await caller.moveTo(instant('2026-05-01'));
  const invoice = await cleo.last();
  assert.deepEqual([invoice.status, invoice.total], ['paid', 3030]);
});

test('events bring their own prices, which are added up exactly and rounded once', async () => {
  const dan = await subscriber('dan');
  const { status, body } = await dan.use('models', 7, '0.10');
  assert.deepEqual([status, body.usageEvent.price], [200, '0.1']);
  const { usageEvent } = await caller.get(`/usage-events/${body.usageEvent.id}`);
  assert.deepEqual([usageEvent.price, usageEvent.amount], ['0.1', 7]);
  const event = dan.event('models', 3, '0.200000000001');
  const { usageEvents } = await dan.bulk([event, dan.event('models', 1, '1.199999999999')]);
  assert.deepEqual(
    usageEvents.map(({ price }: Body) => price),
    ['0.200000000001', '1.199999999999'],
  );
  const again = await caller.post('/usage-events', { usageEvent: { ...event, price: '9' } });
  assert.equal(again.usageEvent.price, '0.200000000001');
  // Exactly one and a half cents.
  assert.deepEqual(await dan.upcoming(), ['11 models: 2']);
  await dan.use('tiny', 9_007_199_254_740_991);
  await dan.use('tiny', 1);
  assert.deepEqual(await dan.upcoming(), ['11 models: 2', '9,007,199,254,740,992 tiny: 9007']);
  await caller.moveTo(instant('2026-06-01'));
  const invoice = await dan.last();
  assert.equal(invoice.total, 3000 + 2 + 9007);
  const { lines } = await caller.get(`/invoices/${invoice.id}/explain`);
  const line = lines.find((each: Body) => each.pricing?.model === 'dynamic');
  assert.deepEqual([line.eventsSoFar, line.eventsAmount, line.amount, line.tiers], [3, '1.5', 2, []]);
  const page = await app.request('GET', `/invoices/${invoice.id}/html`, undefined, { key: organization.testKey });
  assert.ok(String(page.body).includes('3 events at their own prices'));
});

test('an event without its own price, with one that its price does not take, and a hold of own prices are refused', async () => {
  const eve = await subscriber('eve');
  const rows: [usageEvent: Body, message: RegExp][] = [
    [eve.event('models', 1), /must be given/],
    [eve.event('models', 1, '-1'), /decimal text/],
    [eve.event('models', 1, '0.0000000000001'), /decimal text/],
    [eve.event('payments', 1, '1'), /must be absent/],
    [eve.event('tiny', 1, '1'), /must be absent/],
  ];
  for (const [usageEvent, message] of rows) {
    const { status, body } = await send('POST', '/usage-events/bulk', {
      usageEvents: [eve.event('tiny', 1), usageEvent],
    });
    assert.deepEqual([status, body.issues[0].path], [400, ['usageEvents', 1, 'price']], JSON.stringify(body));
    assert.match(body.issues[0].message, message);
  }
  const expiresAt = instant('2026-06-02');
  const hold = await send('POST', '/holds', {
    hold: { subscriptionId: eve.id, priceSlug: 'models-price', amount: 1, expiresAt },
  });
  assert.deepEqual([hold.status, hold.body.issues?.[0].path], [400, ['hold', 'priceSlug']], JSON.stringify(hold.body));
  assert.deepEqual(await eve.upcoming(), []);
});

test('prices of events come through export and setup unchanged', async () => {
  const { pricingModel: exported } = await caller.get(`/pricing-models/${pricingModel.id}/export`);
  const { pricingModel: again } = await caller.post('/pricing-models/setup', {
    ...exported,
    name: 'Again',
    isDefault: false,
  });
  const { pricingModel: second } = await caller.get(`/pricing-models/${again.id}/export`);
  assert.deepEqual(second, { ...exported, name: 'Again', isDefault: false });
  const found = second.usageMeters.map(({ usageMeter, prices }: Body) => [usageMeter.slug, prices[0].pricing]);
  assert.deepEqual(Object.fromEntries(found), pricings);
});
