import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { meter, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();
after(() => assertSound(app));
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
// Ten seats cost 10.00 each, and all seats of more than ten cost 8.00 each. 30 days make shares easy to compute.
const thirtyDays = { intervalUnit: 'day', intervalCount: 30 };
const seatTiers = [
  { upTo: 10, unitAmount: '1000' },
  { upTo: null, unitAmount: '800' },
];
const seatPricings: Record<string, Body> = {
  seats: { ...thirtyDays, pricing: { model: 'volume', tiers: seatTiers } },
  crew: { ...thirtyDays, pricing: { model: 'graduated', tiers: seatTiers } },
  year: {
    intervalUnit: 'year',
    pricing: {
      model: 'stairstep',
      tiers: [
        { upTo: 10, flatAmount: '100000' },
        { upTo: null, flatAmount: '200000' },
      ],
    },
  },
  packs: { ...thirtyDays, pricing: { model: 'package', packageSize: 5, packageAmount: '3333.5' } },
  starter: { ...thirtyDays, pricing: { model: 'per_unit', unitAmount: '500', freeUnits: 3, maximumAmount: '2000' } },
};
const [first, ...others] = Object.entries(pricings).map(([slug, pricing]) =>
  meter(slug, slug, { slug: `${slug}-price`, unitPrice: 0, pricing }),
);
const structure = {
  name: 'Models',
  isDefault: true,
  features: [],
  products: [
    plan('free', 0),
    plan('pro', 3000),
    plan('flat', 3000, [], { overage: 'none' }),
    ...Object.entries(seatPricings).map(([slug, { pricing, ...terms }]) => plan(slug, 0, [], { ...terms, pricing })),
  ],
  usageMeters: [first, ...others],
};

await moveTo(today);
const { pricingModel } = await caller.post('/pricing-models/setup', structure);

async function subscriber(
  externalId: string,
  priceSlug = 'pro-monthly',
  { token = 'pm_card_visa', ...terms }: { token?: string; discountCode?: string } = {},
) {
  const customer = await newCustomer(caller, externalId, { token });
  const { subscription } = await caller.post('/subscriptions', {
    customerId: customer.customerId,
    priceSlug,
    ...terms,
  });
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
  const plans = exported.products.flatMap(({ product, price }: Body) =>
    price.pricing ? [[product.slug, price.pricing]] : [],
  );
  assert.deepEqual(
    Object.fromEntries(plans),
    Object.fromEntries(Object.entries(seatPricings).map(([slug, { pricing }]) => [slug, pricing])),
  );
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
  assert.deepEqual([third.usageMeters, third.products], [exported.usageMeters, exported.products]);
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
  for (const text of ['10,001 tiered', '1,000 at free', '9,000 at $0.02 each', '1 at $0.005 each', '$180.00'])
    assert.ok(String(page.body).includes(text.replace('at free', 'free')), text);
  const pdf = await app.request('GET', `/invoices/${invoice.id}/pdf`, undefined, { key: organization.testKey });
  assert.equal(pdf.status, 200);
  await ada.use('tiered', 1000);
  const { invoice: next } = await caller.get(`/invoices/upcoming?subscriptionId=${ada.id}`);
  assert.equal(next.total, 3000);
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
      [999, 20],
      [1000, 20],
      [1001, 20],
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
});

test('a unit that makes all units cheaper is paid back by the next invoice, net of the discount of the dearer ones', async () => {
  const code = { code: 'DEARER', amountType: 'percent', amount: 20, duration: 'forever' };
  await caller.post('/discounts', { discount: { name: 'A fifth off', ...code } });
  const cleo = await subscriber('cleo');
  const zoe = await subscriber('zoe', 'pro-monthly', { discountCode: 'DEARER' });
  for (const { id, use } of [cleo, zoe]) {
    await use('volume', 100);
    for (const priceSlug of ['flat-monthly', 'pro-monthly'])
      await caller.post(`/subscriptions/${id}/adjust`, {
        adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceSlug, quantity: 1 }] },
      });
    await use('volume', 1);
  }
  assert.equal((await lastInvoice(zoe.id)).total, 300 - 60);
  const { invoice: upcoming } = await caller.get(`/invoices/upcoming?subscriptionId=${zoe.id}`);
  await moveTo('2026-04-01');
  // 101 at 2 and 10 are 212, and 300 were billed.
  assert.deepEqual(await usageLines(cleo.id), ['1 volume: -88', '100 volume: 300']);
  // One bill of 212 has 42 off. So 170 of 240 stay, and 70 go back.
  assert.deepEqual(await usageLines(zoe.id), ['1 volume: -70', '100 volume: 300']);
  const renewal = await lastInvoice(zoe.id);
  assert.deepEqual([renewal.total, upcoming.total], [3000 - 600 - 70, 3000 - 600 - 70]);
  const { lines } = await caller.get(`/invoices/${renewal.id}/explain`);
  const { amount, billedBefore, discountTakenBack, discountShare, rounding } = lines.at(-1);
  assert.deepEqual([amount, rounding.rounded, billedBefore, discountTakenBack, discountShare], [-70, 212, 300, 18, 0]);
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
});

const june = instant('2026-06-01');
const toDay = (days: number) => caller.moveTo(june + days * 86_400_000);

/** A customer with a plan of seats, and what its invoices were for. */
async function seatsOf(externalId: string, slug: string, quantity: number, more: Body = {}) {
  const { token = 'pm_card_visa', ...terms } = more;
  const { customerId } = await newCustomer(caller, externalId, { token });
  const priceSlug = `${slug}-monthly`;
  const { subscription } = await caller.post('/subscriptions', { customerId, priceSlug, quantity, ...terms });
  const id: string = subscription.id;
  const adjustment = (items: Body | Body[], terms: Body = {}) => ({
    adjustment: { timing: 'immediately', newSubscriptionItems: [items].flat(), ...terms },
  });
  return {
    id,
    subscription,
    change: (items: Body | Body[], terms?: Body) =>
      send('POST', `/subscriptions/${id}/adjust`, adjustment(items, terms)),
    preview: (items: Body | Body[], terms?: Body) =>
      caller.post(`/subscriptions/${id}/preview-adjust`, adjustment(items, terms)),
    upcoming: async () => (await caller.get(`/invoices/upcoming?subscriptionId=${id}`)).invoice.total as number,
    totals: async () => {
      const { data } = await caller.get(`/invoices?subscriptionId=${id}&limit=100`);
      const rows = data.toSorted((a: Body, b: Body) => (a.id < b.id ? -1 : 1));
      return rows.map(({ total }: Body) => total as number);
    },
  };
}

test('seats in volume tiers: a change in mid-period, a renewal, a pause and a year each bill what a person computes', async () => {
  await toDay(0);
  const { id, change, preview, upcoming, totals } = await seatsOf('fay', 'seats', 10);
  const seats = (quantity: number) => ({ priceSlug: 'seats-monthly', quantity });
  assert.deepEqual([await totals(), await upcoming()], [[10_000], 10_000]);
  await toDay(15);
  // All of 12 seats cost less than ten did, and nothing is given back.
  const { prorationAmount, currentPlanTotal, newPlanTotal, newSubscriptionItems } = await preview(seats(12));
  assert.deepEqual([prorationAmount, currentPlanTotal, newPlanTotal], [0, 10_000, 9600]);
  assert.deepEqual([newSubscriptionItems[0].unitPrice, newSubscriptionItems[0].pricing.model], [0, 'volume']);
  // Half of the time at 100.00, half at 160.00, of which 100.00 are paid.
  assert.equal((await preview(seats(20))).totalDue, 3000);
  assert.equal((await change(seats(20))).status, 200);
  assert.deepEqual([await totals(), await upcoming()], [[10_000, 3000], 16_000]);
  const changed = await lastInvoice(id);
  const { lines } = await caller.get(`/invoices/${changed.id}/explain`);
  assert.deepEqual(
    lines[0].segments.map(({ value, items }: Body) => [value, items[0].quantity, items[0].value]),
    [
      [10_000, 10, 10_000],
      [16_000, 20, 16_000],
    ],
  );
  const page = await app.request('GET', `/invoices/${changed.id}/html`, undefined, { key: organization.testKey });
  for (const text of ['10 for $100.00', '20 for $160.00', '$80.00', 'Billed before', '-$100.00'])
    assert.ok(String(page.body).includes(text), text);

  await toDay(30);
  const renewal = await lastInvoice(id);
  const [line] = (await caller.get(`/invoices/${renewal.id}/explain`)).lines;
  const { kind, quantity, price, amount, itemQuantity, value, tiers } = line;
  assert.deepEqual(
    [kind, quantity, price, amount, itemQuantity, value],
    ['priced_item', 1, 16_000, 16_000, 20, 16_000],
  );
  assert.deepEqual([tiers.length, tiers[0].units, tiers[0].amount], [1, 20, 16_000]);
  const printed = await app.request('GET', `/invoices/${renewal.id}/html`, undefined, { key: organization.testKey });
  for (const text of ['seats x 20', '20 at $8.00 each']) assert.ok(String(printed.body).includes(text), text);
  assert.equal(
    (await app.request('GET', `/invoices/${renewal.id}/pdf`, undefined, { key: organization.testKey })).status,
    200,
  );

  // 20 of 30 days are kept, and the 15 that are left after the pause cost half.
  await toDay(40);
  await caller.post(`/subscriptions/${id}/pause`, { pause: {} });
  await toDay(45);
  await caller.post(`/subscriptions/${id}/resume`);
  const resumed = await lastInvoice(id);
  const { lines: rest } = await caller.get(`/invoices/${resumed.id}/explain`);
  assert.deepEqual(
    rest.map((each: Body) => [each.kind, each.value, each.amount]),
    [
      ['priced_item', 16_000, 8000],
      ['paused_time', null, -8000],
    ],
  );
  await toDay(60);
  assert.equal((await lastInvoice(id)).total, 16_000 - (10_667 - 8000));
  await toDay(75);
  // Half of what is paid for the period comes off the price of the year.
  const year = { priceSlug: 'year-monthly', quantity: 20 };
  assert.equal((await preview(year)).totalDue, 200_000 - 8000);
  assert.equal((await change(year)).status, 200);
  assert.equal((await lastInvoice(id)).total, 192_000);
});

test('each model of seats bills at its boundaries, after a trial, with a discount, and in a scheduled change', async () => {
  const rows: [slug: string, [quantity: number, total: number][]][] = [
    [
      'seats',
      [
        [10, 10_000],
        [11, 8800],
      ],
    ],
    [
      'crew',
      [
        [10, 10_000],
        [11, 10_800],
      ],
    ],
    [
      'packs',
      [
        [5, 3334],
        [6, 6667],
      ],
    ],
    [
      'starter',
      [
        [4, 500],
        [8, 2000],
        [1_000_000, 2000],
      ],
    ],
  ];
  for (const [slug, steps] of rows)
    for (const [quantity, total] of steps) {
      const { totals } = await seatsOf(`${slug} ${quantity}`, slug, quantity);
      assert.deepEqual(await totals(), [total], `${quantity} ${slug}`);
      const lines = [{ priceSlug: `${slug}-monthly`, units: quantity }];
      assert.equal((await caller.post('/prices/quote', { quote: { lines } })).quote.total, total);
    }
  await caller.post('/discounts', {
    discount: { name: 'Half', code: 'HALF', amountType: 'percent', amount: 50, duration: 'forever', active: true },
  });
  const gus = await seatsOf('gus', 'seats', 12, { discountCode: 'HALF' });
  const trial = await seatsOf('hal', 'crew', 12, { trialEnd: june + 90 * 86_400_000 });
  assert.deepEqual([await trial.totals(), await trial.upcoming()], [[], 11_600]);
  await toDay(90);
  // Half of the time at 96.00 and half at 160.00, of which 96.00 are paid: 32.00, less a half.
  assert.equal((await gus.change({ priceSlug: 'seats-monthly', quantity: 20 })).status, 200);
  assert.deepEqual([await gus.totals(), await trial.totals()], [[4800, 1600], [11_600]]);
  const atEnd = { timing: 'at_end_of_current_billing_period' };
  assert.equal((await gus.change({ priceSlug: 'crew-monthly', quantity: 11 }, atEnd)).status, 200);
  assert.equal(await gus.upcoming(), 5400);
  await toDay(105);
  assert.deepEqual(await gus.totals(), [4800, 1600, 5400]);
});

test('an item that is sent back as it was read keeps its pricing, and a unit price of its own takes its place', async () => {
  const { id, change, preview, upcoming } = await seatsOf('ida', 'seats', 10);
  const { subscriptionItems } = (await change({ priceSlug: 'seats-monthly', quantity: 11 })).body;
  const [item] = subscriptionItems;
  assert.deepEqual([item.unitPrice, item.pricing, item.quantity], [0, seatPricings.seats?.pricing, 11]);
  assert.equal((await change({ ...item, quantity: 12 })).status, 200);
  assert.equal(await upcoming(), 9600);
  assert.equal((await preview({ id: item.id, unitPrice: 0, quantity: 12 })).newPlanTotal, 9600);
  const refusals: [item: Body, field: string][] = [
    [{ id: item.id, pricing: pricings.pack }, 'pricing'],
    [{ ...item, unitPrice: 500 }, 'unitPrice'],
    [{ id: item.id, pricing: null }, 'unitPrice'],
  ];
  for (const [given, field] of refusals) {
    const { status, body } = await change(given);
    assert.deepEqual([status, body.issues[0].path.at(-1)], [400, field], JSON.stringify(body));
  }
  assert.equal((await change({ id: item.id, unitPrice: 900 })).status, 200);
  assert.equal(await upcoming(), 10_800);
  const [own] = (await change({ id: item.id, quantity: 13 })).body.subscriptionItems;
  assert.deepEqual([own.unitPrice, own.pricing, await upcoming()], [900, null, 11_700]);
  assert.equal((await caller.get(`/subscriptions/${id}`)).subscription.isFreePlan, false);
});

test('a plan whose first seats are free needs a card as soon as a seat costs something, and is never charged without', async () => {
  const { change, totals, subscription, upcoming } = await seatsOf('jon', 'starter', 3, { token: null });
  assert.deepEqual(
    [subscription.status, subscription.isFreePlan, await totals(), await upcoming()],
    ['active', false, [0], 0],
  );
  const dear = await change({ priceSlug: 'starter-monthly', quantity: 4 });
  assert.deepEqual([dear.status, dear.body.reason], [400, 'payment_method_required']);
  const free = await seatsOf('kim', 'starter', 4, { doNotCharge: true });
  assert.deepEqual([free.subscription.status, await free.totals()], ['active', []]);
});

test('a price of a quantity is none of events or money, and the default product has no pricing', async () => {
  const refused = async (pricing: Body) => {
    const price = { type: 'subscription', intervalUnit: 'month', slug: 'x', pricing };
    const { status, body } = await send('POST', '/products', { product: { name: 'X', slug: 'x' }, price });
    return [status, body.issues[0].path.join('.'), body.issues[0].message];
  };
  const message = 'must be one of per_unit, package, graduated, volume, stairstep for a subscription price';
  for (const pricing of [pricings.share, pricings.shares, { model: 'dynamic' }])
    assert.deepEqual(await refused(pricing as Body), [400, 'price.pricing.model', message]);
  const { pricingModel: exported } = await caller.get(`/pricing-models/${pricingModel.id}/export`);
  const products = exported.products.map(({ price, ...rest }: Body) =>
    rest.product.default ? { ...rest, price: { ...price, pricing: pricings.pack } } : { ...rest, price },
  );
  const { status, body } = await send('POST', '/pricing-models/setup', { ...exported, name: 'Other', products });
  assert.deepEqual([status, body.issues[0].path.slice(-2)], [400, ['price', 'pricing']]);
});
