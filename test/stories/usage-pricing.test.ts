import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { meter, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();
const organization = await app.newOrganization();
const caller = callerOf(app, organization);
const send = (method: string, path: string, body: Body) =>
  app.request(method, path, body, { key: organization.testKey });
let today = '2026-01-01';
const moveTo = (at: string) => {
  today = at;
  return caller.moveTo(instant(at));
};

// 1,000 calls are free, the next 9,000 cost 2 cents, and then half a cent.
const tiers = [
  { upTo: 1000, unitAmount: '0' },
  { upTo: 10_000, unitAmount: '2' },
  { upTo: null, unitAmount: '0.5' },
];
const volume = [
  { upTo: 100, unitAmount: '3' },
  { upTo: null, unitAmount: '2', flatAmount: '10' },
];
const pricings: Record<string, Body> = {
  each: { model: 'per_unit', unitAmount: '0.25', freeUnits: 10, minimumAmount: '100', maximumAmount: '5000' },
  pack: { model: 'package', packageSize: 100, packageAmount: '250' },
  tiered: { model: 'graduated', tiers },
  volume: { model: 'volume', tiers: volume },
  stairs: {
    model: 'stairstep',
    tiers: [
      { upTo: 5, flatAmount: '500' },
      { upTo: null, flatAmount: '900' },
    ],
  },
  share: { model: 'percentage', rate: '2.9' },
  shares: {
    model: 'graduated_percentage',
    tiers: [
      { upTo: 1000, rate: '2' },
      { upTo: null, rate: '1' },
    ],
  },
};
const [first, ...others] = Object.entries(pricings).map(([slug, pricing]) =>
  meter(slug, slug, { slug: `${slug}-price`, unitPrice: 0, pricing }),
);
const structure = {
  name: 'Models',
  isDefault: true,
  features: [],
  products: [plan('free', 0), plan('pro', 3000), plan('flat', 3000, [], { overage: 'none' })],
  usageMeters: [first, ...others],
};

await moveTo(today);
const { pricingModel } = await caller.post('/pricing-models/setup', structure);

async function subscriber(externalId: string, priceSlug = 'pro-monthly', token = 'pm_card_visa') {
  const customer = await newCustomer(caller, externalId, { token });
  const { subscription } = await caller.post('/subscriptions', { customerId: customer.customerId, priceSlug });
  let count = 0;
  const use = (slug: string, amount: number) => {
    count += 1;
    const usageEvent = { subscriptionId: subscription.id, priceSlug: `${slug}-price`, amount };
    return caller.post('/usage-events', { usageEvent: { ...usageEvent, transactionId: `${externalId}-${count}` } });
  };
  return { ...customer, id: subscription.id as string, use };
}

async function lastInvoice(subscriptionId: string): Promise<Body> {
  const { data } = await caller.get(`/invoices?subscriptionId=${subscriptionId}&limit=100`);
  return data.toSorted((a: Body, b: Body) => (a.id < b.id ? -1 : 1)).at(-1);
}

/** The usage lines of a subscription's invoices that stand, oldest first: units and amount. */
async function usageLines(subscriptionId: string): Promise<string[]> {
  const { data } = await caller.get(`/invoices?subscriptionId=${subscriptionId}&limit=100`);
  const told: string[] = [];
  for (const { id, status } of data.toReversed()) {
    if (status === 'void') continue;
    const { invoiceLineItems } = await caller.get(`/invoices/${id}`);
    for (const { type, description, amount } of invoiceLineItems)
      if (type === 'usage') told.push(`${description}: ${amount}`);
  }
  return told.sort();
}

test('every model comes through setup, export, setup and clone unchanged', async () => {
  const { pricingModel: exported } = await caller.get(`/pricing-models/${pricingModel.id}/export`);
  const found = Object.fromEntries(
    exported.usageMeters.map(({ usageMeter, prices }: Body) => [usageMeter.slug, prices[0].pricing]),
  );
  assert.deepEqual(found, pricings);
  const { pricingModel: again } = await caller.post('/pricing-models/setup', {
    ...exported,
    name: 'Again',
    isDefault: false,
  });
  const { pricingModel: second } = await caller.get(`/pricing-models/${again.id}/export`);
  assert.deepEqual(second, { ...exported, name: 'Again', isDefault: false });
  const { pricingModel: cloned } = await caller.post(`/pricing-models/${again.id}/clone`, {
    name: 'Cloned',
  });
  const { pricingModel: third } = await caller.get(`/pricing-models/${cloned.id}/export`);
  assert.deepEqual(third.usageMeters, exported.usageMeters);
  const same = await caller.put(`/pricing-models/${pricingModel.id}`, { pricingModel: exported });
  assert.ok(same);
  const { data } = await caller.get('/prices?slug=tiered-price&active=true');
  assert.deepEqual([data[0].pricing, data[0].unitPrice], [pricings.tiered, 0]);
});

test('a pricing is one of the terms of a price: another one makes another price, and it cannot be rewritten', async () => {
  const { usageMeter } = await caller.post('/usage-meters', {
    usageMeter: { name: 'Jobs', slug: 'jobs' },
    price: { pricing: { model: 'per_unit', unitAmount: '0.50' } },
  });
  const { data } = await caller.get(`/prices?usageMeterId=${usageMeter.id}&isDefault=true`);
  const [price] = data;
  // Trailing zeros are no other amount.
  assert.deepEqual(price.pricing, { model: 'per_unit', unitAmount: '0.5' });
  assert.equal((await send('PUT', `/prices/${price.id}`, { price: { pricing: price.pricing } })).status, 200);
  const refusals: [path: string, body: Body, field: string[]][] = [
    [`/prices/${price.id}`, { price: { pricing: null } }, ['price', 'pricing']],
    [`/prices/${price.id}`, { price: { pricing: pricings.pack } }, ['price', 'pricing']],
  ];
  for (const [path, body, field] of refusals) {
    const refused = await send('PUT', path, body);
    assert.deepEqual([refused.status, refused.body.issues[0].path], [400, field]);
  }
  const usage = { type: 'usage', usageMeterId: usageMeter.id };
  const bad: [price: Body, field: string[]][] = [
    [{}, ['price', 'unitPrice']],
    [{ unitPrice: 1, pricing: pricings.pack }, ['price', 'unitPrice']],
    [{ usageEventsPerUnit: 100, pricing: pricings.pack }, ['price', 'usageEventsPerUnit']],
    [
      { pricing: { model: 'graduated', tiers: [{ upTo: 5, unitAmount: '1' }] } },
      ['price', 'pricing', 'tiers', 0 as never, 'upTo'],
    ],
  ];
  for (const [terms, field] of bad) {
    const refused = await send('POST', '/prices', { price: { ...usage, ...terms } });
    assert.deepEqual([refused.status, refused.body.issues[0].path], [400, field], JSON.stringify(refused.body));
  }
});

test('10,001 calls in tiers cost 180.01: on the upcoming invoice, the invoice, its explanation and its page', async () => {
  const ada = await subscriber('ada');
  await ada.use('tiered', 10_000);
  await ada.use('tiered', 1);
  const { quote } = await caller.post('/prices/quote', {
    quote: { lines: [{ priceSlug: 'tiered-price', units: 10_001 }] },
  });
  assert.equal(quote.total, 18_001);
  const { invoice: upcoming } = await caller.get(`/invoices/upcoming?subscriptionId=${ada.id}`);
  assert.equal(upcoming.total, 3000 + 18_001);
  await moveTo('2026-02-01');
  const invoice = await lastInvoice(ada.id);
  assert.deepEqual([invoice.status, invoice.total], ['paid', 21_001]);
  const explanation = await caller.get(`/invoices/${invoice.id}/explain`);
  const line = explanation.lines.find((each: Body) => each.kind === 'priced_usage');
  assert.deepEqual(
    [line.units, line.unitsSoFar, line.billedBefore, line.rounding.rounded, line.amount],
    [10_001, 10_001, 0, 18_001, 18_001],
  );
  // 18,000.5 cents, rounded once.
  assert.equal(Number(line.rounding.numerator) / Number(line.rounding.denominator), 18_000.5);
  assert.deepEqual(
    line.tiers.map(({ units, amount }: Body) => [units, amount]),
    [
      [1000, 0],
      [9000, 18_000],
      [1, 1],
    ],
  );
  const page = await app.request('GET', `/invoices/${invoice.id}/html`, undefined, { key: organization.testKey });
  for (const text of ['10,001 tiered', '1,000 at free', '9,000 at USD 0.02 each', '1 at USD 0.005 each', 'USD 180.00'])
    assert.ok(String(page.body).includes(text.replace('at free', 'free')), text);
  const pdf = await app.request('GET', `/invoices/${invoice.id}/pdf`, undefined, { key: organization.testKey });
  assert.equal(pdf.status, 200);
  await ada.use('tiered', 1000);
  const { invoice: next } = await caller.get(`/invoices/upcoming?subscriptionId=${ada.id}`);
  assert.equal(next.total, 3000);
  await assertSound(app);
});

test('each model bills at and around its boundaries what a person computes in the head', async () => {
  const rows: Record<string, [units: number, amount: number][]> = {
    each: [
      [10, 100],
      [410, 100],
      [414, 101],
      [100_000, 5000],
    ],
    pack: [
      [99, 250],
      [100, 250],
      [101, 500],
    ],
    tiered: [
      [999, 0],
      [1000, 0],
      [1001, 2],
      [10_000, 18_000],
      [10_002, 18_001],
    ],
    volume: [
      [99, 297],
      [100, 300],
      [101, 212],
    ],
    stairs: [
      [4, 500],
      [5, 500],
      [6, 900],
    ],
    share: [[10_000, 290]],
    shares: [
      [1000, 20],
      [1500, 25],
    ],
  };
  const { id, use } = await subscriber('eve');
  const found: Record<string, [number, number][]> = {};
  for (let round = 0; round < 5; round++) {
    for (const [slug, steps] of Object.entries(rows)) {
      const step = steps[round];
      if (step) await use(slug, step[0] - (steps[round - 1]?.[0] ?? 0));
    }
    const { invoiceLineItems } = await caller.get(`/invoices/upcoming?subscriptionId=${id}`);
    for (const { type, amount, description, ledgerAccountCredit: units } of invoiceLineItems) {
      const slug = String(description).split(' ').at(-1) ?? '';
      if (type === 'usage' && rows[slug]?.[round]) found[slug] = [...(found[slug] ?? []), [units, amount]];
    }
  }
  assert.deepEqual(found, rows);
});

test('usage billed in parts adds up: 80 calls at a change of the plan and 50 at the end cost what 130 cost', async () => {
  const bob = await subscriber('bob');
  await bob.use('volume', 80);
  const change = (priceSlug: string) =>
    caller.post(`/subscriptions/${bob.id}/adjust`, {
      adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug, quantity: 1 }] },
    });
  await change('flat-monthly');
  assert.deepEqual(await usageLines(bob.id), ['80 volume: 240']);
  await bob.use('volume', 30);
  await change('pro-monthly');
  // The 30 under the plan that bills none are in no tier.
  assert.deepEqual(await usageLines(bob.id), ['30 volume, not billed: 0', '80 volume: 240']);
  await bob.use('volume', 50);
  const { invoice } = await caller.get(`/invoices/upcoming?subscriptionId=${bob.id}`);
  // 130 at 2 and 10 are 270.
  assert.equal(invoice.total, 3000 + 270 - 240);
  await moveTo('2026-03-01');
  assert.deepEqual(await usageLines(bob.id), ['30 volume, not billed: 0', '50 volume: 30', '80 volume: 240']);
  await assertSound(app);
});

test('a unit that makes all units cheaper is paid back by the next invoice', async () => {
  const cleo = await subscriber('cleo');
  await cleo.use('volume', 100);
  const change = (priceSlug: string) =>
    caller.post(`/subscriptions/${cleo.id}/adjust`, {
      adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug, quantity: 1 }] },
    });
  await change('flat-monthly');
  await change('pro-monthly');
  await cleo.use('volume', 1);
  // 101 at 2 and 10 are 212, and 300 were billed.
  await moveTo('2026-04-01');
  assert.deepEqual(await usageLines(cleo.id), ['1 volume: -88', '100 volume: 300']);
  await assertSound(app);
});

test('usage of a voided invoice is billed again by the tiers of its own usage period', async () => {
  const dan = await subscriber('dan');
  await dan.use('tiered', 1500);
  await app.owner
    .updateTable('paymentMethods')
    .set({ processorToken: 'pm_card_chargeCustomerFail' })
    .where('id', '=', dan.paymentMethodId ?? '')
    .execute();
  await moveTo('2026-05-01');
  const invoice = await lastInvoice(dan.id);
  assert.deepEqual([invoice.status, invoice.total], ['open', 4000]);
  await caller.post(`/invoices/${invoice.id}/void`);
  await dan.use('tiered', 1100);
  const { invoiceLineItems } = await caller.get(`/invoices/upcoming?subscriptionId=${dan.id}`);
  const told = invoiceLineItems.flatMap(({ type, amount }: Body) => (type === 'usage' ? [amount] : []));
  assert.deepEqual(told, [1000, 200]);
  await caller.post(`/subscriptions/${dan.id}/cancel`, { cancellation: { timing: 'immediately' } });
  assert.deepEqual(await usageLines(dan.id), ['1,100 tiered: 200', '1,500 tiered: 1000']);
  await assertSound(app);
});
