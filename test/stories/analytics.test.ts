import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mergeSumsOnce, takeBalancesOnce } from '../../src/analytics/actions.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type AnalyticsShop, analyticsShops } from '../support/analytics-shop.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertPlainSums } from '../support/plain-sums.ts';
import { newCustomer } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();

const begin = analyticsShops(app);

test('a price counts for a month: a twelfth of a year, a sixth of half a year, and days as parts of 30.4375', async () => {
  const shop = await begin('2026-01-01');
  const counted: [string, number][] = [];
  let before = 0;
  for (const slug of ['pro', 'year', 'half', 'week', 'day']) {
    await shop.subscribe(slug);
    await shop.moveTo(`2026-01-0${counted.length + 2}`);
    const moved = (await shop.movements()).reduce((sum, [, , amount]) => sum + amount, 0);
    counted.push([slug, Math.round((moved - before) * 1e6) / 1e6]);
    before = moved;
  }
  // 10000 / 12; 6000 / 6; 700 x 30.4375 / 7; 100 x 30.4375.
  assert.deepEqual(counted, [
    ['pro', 3000],
    ['year', 833.333333],
    ['half', 1000],
    ['week', 3043.75],
    ['day', 3043.75],
  ]);
});

test('twelve times the MRR of annual plans is their price, however many there are', async () => {
  const shop = await begin('2026-01-01');
  for (let count = 0; count < 3; count++) await shop.subscribe('year');
  const { groups } = await shop.report('mrr', 'from=2025-12-01&to=2026-02-01');
  const { mrr, arr, customers: paying } = groups[0].points.at(-1);
  assert.deepEqual([mrr, arr, paying], [2500, 30_000, 3]);
});

test('quantities, tiers and add-ons count, and a setup fee does not', async () => {
  const shop = await begin('2026-01-01');
  await shop.subscribe('setup');
  assert.equal(await shop.mrr(), 3000);
  // 12 seats are above the first tier, so each is at 8.00.
  await shop.subscribe('seats', { quantity: 12 });
  assert.equal(await shop.mrr(), 3000 + 9600);
  await shop.subscribe('pro', {
    priceSlug: undefined,
    items: [{ priceSlug: 'pro-monthly' }, { priceSlug: 'support-monthly', quantity: 2 }],
  });
  assert.equal(await shop.mrr(), 12_600 + 3000 + 1000);
});

test('an upgrade in the middle of a month is an expansion on its day, and a change of quantity a contraction', async () => {
  const shop = await begin('2026-01-01');
  const id = await shop.subscribe('pro', { quantity: 2 });
  await shop.moveTo('2026-01-16');
  await shop.adjust(id, [{ priceSlug: 'team-monthly', quantity: 2 }]);
  await shop.moveTo('2026-03-10');
  await shop.adjust(id, [{ priceSlug: 'team-monthly', quantity: 1 }]);
  await shop.moveTo('2026-04-15');
  const { groups } = await shop.report('mrr', 'from=2026-01-01&to=2026-04-01');
  assert.deepEqual(
    groups[0].points.map((point: Body) => [point.new, point.expansion, point.contraction, point.mrr]),
    [
      [6000, 6000, 0, 12_000],
      [0, 0, 0, 12_000],
      [0, 0, -6000, 6000],
    ],
  );
  // Each product for itself: what the one lost, the other won.
  const { groups: products } = await shop.report('mrr', 'from=2026-01-01&to=2026-02-01&groupBy=product');
  assert.deepEqual(
    products.map(({ name, points }: Body) => [name, points[0].new, points[0].expansion, points[0].mrr]),
    [
      ['team', 0, 12_000, 12_000],
      ['pro', 6000, -6000, 0],
    ],
  );
});

test('a trial counts from its first paid period on, and one that is canceled never', async () => {
  const shop = await begin('2026-01-01');
  await shop.subscribe('trial');
  const second = await shop.subscribe('trial');
  await shop.cancel(second, 'immediately');
  await shop.moveTo('2026-02-01');
  assert.deepEqual(await shop.movements(), [['2026-01-15', 'new', 3000]]);
});

test('a pause takes the revenue, a resumption brings it back, and an end at the end of a period is churn on that day', async () => {
  const shop = await begin('2026-01-01');
  const id = await shop.subscribe('pro');
  await shop.moveTo('2026-02-10');
  await shop.post(`/subscriptions/${id}/pause`, { pause: {} });
  await shop.moveTo('2026-03-05');
  await shop.post(`/subscriptions/${id}/resume`);
  await shop.cancel(id, 'at_end_of_current_billing_period');
  await shop.moveTo('2026-05-01');
  const told = await shop.movements();
  assert.deepEqual(
    told.map(([, type, amount]) => [type, amount]),
    [
      ['new', 3000],
      ['churn', -3000],
      ['reactivation', 3000],
      ['churn', -3000],
    ],
  );
  assert.deepEqual(told.map(([day]) => day).slice(0, 3), ['2026-01-01', '2026-02-10', '2026-03-05']);
});

test('work that is done two months late moves revenue at the instants at which it fell due', async () => {
  const shop = await begin('2026-01-01');
  const leaves = await shop.subscribe('pro');
  await shop.cancel(leaves, 'at_end_of_current_billing_period');
  await shop.subscribe('trial');
  const shrinks = await shop.subscribe('team');
  await shop.adjust(shrinks, [{ priceSlug: 'pro-monthly' }], { timing: 'at_end_of_current_billing_period' });
  const resumes = await shop.subscribe('team');
  await shop.post(`/subscriptions/${resumes}/pause`, { pause: { resumesAt: '2026-01-20T00:00:00Z' } });
  const late = { clockNow: instant('2026-03-10') };
  await app.owner.updateTable('environments').set(late).where('id', '=', shop.environmentId).execute();
  await app.doDueWork(shop.environmentId);
  const told = (await shop.movements()).filter(([day]) => day !== '2026-01-01');
  assert.deepEqual(told.toSorted(), [
    ['2026-01-15', 'new', 3000],
    ['2026-01-20', 'reactivation', 6000],
    ['2026-02-01', 'churn', -3000],
    // A line for each plan.
    ['2026-02-01', 'contraction', -6000],
    ['2026-02-01', 'contraction', 3000],
  ]);
  // One that is written down afterwards counts from then on.
  await shop.subscribe('pro', { startDate: '2026-02-20T00:00:00Z' });
  assert.deepEqual((await shop.movements()).at(-1), ['2026-03-10', 'new', 3000]);
});

test('a discount for three payments counts for three periods, one for ever always, and one for a single payment never', async () => {
  const shop = await begin('2026-01-01');
  const discount = (code: string, more: Body) =>
    shop.post('/discounts', { discount: { name: code, code, amountType: 'percent', amount: 50, ...more } });
  await discount('THREE', { duration: 'number_of_payments', numberOfPayments: 3 });
  await discount('EVER', { duration: 'forever', amountType: 'fixed', amount: 1000 });
  await discount('ONCE', { duration: 'once' });
  await discount('ONE', { duration: 'number_of_payments', numberOfPayments: 1 });
  await shop.subscribe('pro', { discountCode: 'THREE' });
  await shop.moveTo('2026-01-02');
  await shop.subscribe('team', { discountCode: 'EVER' });
  await shop.moveTo('2026-01-03');
  for (const discountCode of ['ONCE', 'ONE']) await shop.subscribe('pro', { discountCode });
  await shop.moveTo('2026-06-20');
  assert.deepEqual(await shop.movements(), [
    ['2026-01-01', 'new', 1500],
    ['2026-01-02', 'new', 5000],
    ['2026-01-03', 'new', 3000],
    ['2026-01-03', 'new', 3000],
    ['2026-04-01', 'expansion', 1500],
  ]);
});

test('a customer that does not pay is churn after the last attempt, and a reactivation when the money comes', async () => {
  const shop = await begin('2026-01-01');
  const buyer = await newCustomer(shop, 'debtor', { token: 'pm_card_visa' });
  await shop.subscribe('pro', { customerId: buyer.customerId, defaultPaymentMethodId: buyer.paymentMethodId });
  const paymentMethod = {
    customerId: buyer.customerId,
    type: 'card',
    token: 'pm_card_chargeCustomerFail',
    default: true,
  };
  await shop.post('/payment-methods', { paymentMethod: { ...paymentMethod, automaticallyUpdateSubscriptions: true } });
  await shop.moveTo('2026-02-02');
  assert.equal(await shop.mrr(), 3000);
  await shop.moveTo('2026-02-27');
  assert.equal(await shop.mrr(), 0);
});

test('a second subscription of a customer is an expansion, and the end of one of two a contraction', async () => {
  const shop = await begin('2026-01-01', { allowMultipleSubscriptions: true });
  const { customerId } = await newCustomer(shop, 'two-plans', { token: 'pm_card_visa' });
  const first = await shop.subscribe('pro', { customerId });
  await shop.subscribe('team', { customerId });
  await shop.cancel(first, 'immediately');
  assert.deepEqual(
    (await shop.movements()).map(([, type, amount]) => [type, amount]),
    [
      ['new', 3000],
      ['expansion', 6000],
      ['contraction', -3000],
    ],
  );
});

test('churn is told by customers and by revenue, as a part of those at the start of each month', async () => {
  const shop = await begin('2026-01-01');
  const ids = [await shop.subscribe('pro'), await shop.subscribe('pro'), await shop.subscribe('team')];
  await shop.moveTo('2026-02-15');
  await shop.cancel(ids[0] ?? '', 'immediately');
  await shop.adjust(ids[2] ?? '', [{ priceSlug: 'pro-monthly' }]);
  const { groups } = await shop.report('churn', 'from=2026-01-01&to=2026-03-01');
  const [january, february] = groups[0].points;
  assert.deepEqual([january.openingCustomers, january.customerChurnRate, january.revenueChurnRate], [0, null, null]);
  assert.deepEqual(
    [february.openingCustomers, february.churnedCustomers, february.customerChurnRate],
    [3, 1, '0.333333'],
  );
  // 3000 went, and 3000 of the other plan, of 12000.
  assert.deepEqual(
    [february.openingMrr, february.churn, february.contraction, february.revenueChurnRate],
    [12_000, -3000, -3000, '0.500000'],
  );
});

test('balances of past months change no report, and nothing can be written into a month whose balance was taken', async () => {
  const shop = await begin('2026-01-10');
  const kept = await shop.subscribe('year');
  await shop.moveTo('2026-02-10');
  const gone = await shop.subscribe('pro');
  await shop.moveTo('2026-05-20');
  await shop.cancel(gone, 'immediately');
  await shop.adjust(kept, [{ priceSlug: 'year-monthly', quantity: 3 }]);
  await shop.moveTo('2026-07-03');
  const queries = [
    'from=2026-01-01&to=2026-07-01',
    'from=2026-03-01&to=2026-08-01&groupBy=price',
    'from=2026-01-05&to=2026-06-15&interval=week',
    'from=2026-02-10&to=2026-07-02&interval=quarter&groupBy=interval',
    'from=2026-05-01&to=2026-06-01&interval=day',
    'from=2027-01-01&to=2028-01-01',
  ];
  const reports = async () =>
    Promise.all(queries.flatMap((query) => [shop.report('mrr', query), shop.report('churn', query)]));
  const before = await reports();
  assert((await takeBalancesOnce(app.owner)) >= 3);
  assert.equal(await takeBalancesOnce(app.owner), 0);
  assert.deepEqual(await reports(), before);
  const [environment] = await app.owner
    .selectFrom('mrrBalances')
    .select(({ fn }) => ['environmentId', fn.max('untilAt').as('untilAt')])
    .where('environmentId', '=', shop.environmentId)
    .groupBy('environmentId')
    .execute();
  assert.equal(environment?.untilAt, instant('2026-06-01'));
  // A change by a clock that stands before the end of a month whose balance was taken.
  await app.owner
    .updateTable('subscriptionItems')
    .set({ quantity: 4, updatedAt: instant('2026-03-01') })
    .where('subscriptionId', '=', kept)
    .execute();
  assert.deepEqual((await shop.movements()).at(-1)?.slice(0, 2), ['2026-06-01', 'expansion']);
  await assertSound(app);
});

test('retention is what the customers of the start have at the end, and what each cohort has left', async () => {
  const shop = await begin('2026-01-01');
  const [grows, leaves] = [await shop.subscribe('pro'), await shop.subscribe('pro')];
  await shop.moveTo('2026-02-10');
  await shop.subscribe('team');
  await shop.adjust(grows ?? '', [{ priceSlug: 'team-monthly' }]);
  await shop.cancel(leaves ?? '', 'immediately');
  await shop.moveTo('2026-03-20');
  const { points, cohorts } = await shop.report('retention', 'from=2026-01-01&to=2026-04-01');
  // Of 6000 in February, 3000 went and 3000 came; the new customer does not count.
  assert.deepEqual(
    points.map((point: Body) => [point.opening, point.netRetention, point.grossRetention]),
    [
      [0, null, null],
      [6000, '1.000000', '0.500000'],
      [12_000, '1.000000', '1.000000'],
    ],
  );
  const told = cohorts.map(({ customers: made, points: later }: Body) => [
    made,
    ...later.map((point: Body) => [point.customers, point.mrr, point.netRetention]),
  ]);
  assert.deepEqual(told, [
    [2, [2, 6000, '1.000000'], [1, 6000, '1.000000'], [1, 6000, '1.000000']],
    [1, [1, 6000, '1.000000'], [1, 6000, '1.000000']],
    [0, [0, 0, null]],
  ]);
  await shop.refused('retention', 'from=2020-01-01&to=2026-01-01', /72 points, more than the maximum of 60/);
});

test('retention is exact between any instants: the first point may begin, and the last one end, within its interval', async () => {
  const shop = await begin('2026-01-10');
  const id = await shop.subscribe('pro');
  await shop.moveTo('2026-01-20');
  await shop.adjust(id, [{ priceSlug: 'team-monthly' }]);
  await shop.moveTo('2026-02-05T08:00:00Z');
  await shop.adjust(id, [{ priceSlug: 'pro-monthly' }]);
  await shop.moveTo('2026-02-05T16:00:00Z');
  await shop.cancel(id, 'immediately');
  await shop.moveTo('2026-04-20');
  const told = async (query: string) => {
    const { points } = await shop.report('retention', query);
    return points.map((point: Body) => [point.opening, point.netRetention, point.grossRetention]);
  };
  // 30.00 become 60.00 in January, 30.00 in the morning of 5 February, and nothing in its afternoon.
  const january = [3000, '2.000000', '1.000000'];
  const nothing = [0, null, null];
  const queries = ['from=2026-01-15&to=2026-02-05T12:00:00Z', 'from=2026-01-15&to=2026-03-01'];
  const months = [
    [january, [6000, '0.500000', '0.500000']],
    [january, [6000, '0.000000', '0.000000']],
  ];
  assert.deepEqual(await Promise.all(queries.map(told)), months);
  assert.deepEqual(await told('from=2026-01-01&to=2026-04-15&interval=quarter'), [nothing, nothing]);
  assert.deepEqual(await told('from=2026-01-12&to=2026-02-05T12:00:00Z&interval=week'), [
    [3000, '1.000000', '1.000000'],
    january,
    [6000, '1.000000', '1.000000'],
    [6000, '0.500000', '0.500000'],
  ]);
  await mergeSumsOnce(app.owner);
  assert.deepEqual(await Promise.all(queries.map(told)), months);
});

test('revenue is invoiced net of tax and credit notes, and collected is what arrived less refunds', async () => {
  const shop = await begin('2026-01-01', { taxProvider: 'rates' });
  await shop.post('/tax-rates', { taxRate: { country: 'DE', percentage: '20', type: 'vat', inclusive: false } });
  const address = { address: { line1: 'Street 1', city: 'Berlin', postal_code: '10115', country: 'DE' } };
  const { customerId, paymentMethodId } = await newCustomer(shop, 'taxed', {
    token: 'pm_card_visa',
    billingAddress: address,
  });
  await shop.subscribe('pro', { customerId, defaultPaymentMethodId: paymentMethodId });
  await shop.moveTo('2026-02-10');
  const { data } = await shop.get('/payments');
  await shop.post(`/payments/${data[0].id}/refund`, { partialAmount: 600 });
  const { groups } = await shop.report('revenue', 'from=2026-01-01&to=2026-03-01');
  assert.deepEqual(
    groups[0].points.map((point: Body) => [point.invoiced, point.tax, point.collected, point.refunded]),
    [
      [3000, 600, 3600, 0],
      [3000, 600, 3600, 600],
    ],
  );
  const { groups: reasons } = await shop.report('revenue', 'from=2026-01-01&to=2026-03-01&groupBy=reason');
  assert.deepEqual(reasons.map(({ key, points }: Body) => [key, points.map((point: Body) => point.invoiced)]).sort(), [
    ['renewal', [0, 3000]],
    ['subscription_start', [3000, 0]],
  ]);
});

test('a credit note counts while its invoice stands: one that is voided after a refund leaves no revenue, not less than none', async () => {
  const shop = await begin('2026-01-01');
  const { customerId } = await newCustomer(shop, 'workshop');
  const lines = [{ description: 'Workshop', unitAmount: 10_000 }];
  const { invoice } = await shop.post('/invoices', { invoice: { customerId, lines } });
  await shop.post(`/invoices/${invoice.id}/finalize`);
  const { payment } = await shop.post(`/invoices/${invoice.id}/record-payment`, { payment: { amount: 3000 } });
  await shop.post(`/payments/${payment.id}/refund`);
  const revenue = async (query = '') => {
    const { groups } = await shop.report('revenue', `from=2026-01-01&to=2026-02-01${query}`);
    return groups.map(({ key, points: [point] }: Body) => [key, point.invoiced, point.credited, point.net]);
  };
  assert.deepEqual(await revenue(), [[null, 10_000, 3000, 7000]]);
  await shop.post(`/invoices/${invoice.id}/void`);
  assert.deepEqual(await revenue(), [[null, 0, 0, 0]]);
  assert.deepEqual(await revenue('&groupBy=reason'), [['one_off', 0, 0, 0]]);
});

test('a payment fails on its day, and is recovered when a later attempt brings the money', async () => {
  const shop = await begin('2026-01-01');
  const buyer = await newCustomer(shop, 'late', { token: 'pm_card_visa' });
  await shop.subscribe('pro', { customerId: buyer.customerId, defaultPaymentMethodId: buyer.paymentMethodId });
  const card = (token: string) =>
    shop.post('/payment-methods', {
      paymentMethod: {
        customerId: buyer.customerId,
        type: 'card',
        token,
        default: true,
        automaticallyUpdateSubscriptions: true,
      },
    });
  await card('pm_card_chargeCustomerFail');
  await shop.moveTo('2026-02-02');
  await card('pm_card_visa');
  await shop.moveTo('2026-02-20');
  const { groups } = await shop.report('payments', 'from=2026-01-01&to=2026-03-01');
  assert.deepEqual(
    groups[0].points.map((point: Body) => [point.succeeded, point.failed, point.recovered, point.recoveredAmount]),
    [
      [1, 0, 0, 0],
      [1, 1, 1, 3000],
    ],
  );
});

test('usage is told for each meter and day, from its roll-ups', async () => {
  const shop = await begin('2026-01-01');
  const subscriptionId = await shop.subscribe('pro');
  const use = (day: string, amount: number) =>
    shop.post('/usage-events', {
      usageEvent: {
        subscriptionId,
        priceSlug: 'call',
        transactionId: `${day} ${amount}`,
        amount,
        usageDate: `${day}T10:30:00Z`,
      },
    });
  await use('2026-01-01', 5);
  await shop.moveTo('2026-01-05');
  await use('2026-01-03', 7);
  await use('2026-01-03', 8);
  const { meters } = await shop.report('usage', 'from=2026-01-01&to=2026-01-05&interval=day');
  assert.deepEqual(
    [meters[0].slug, meters[0].units, meters[0].events, meters[0].points.map(({ units }: Body) => units)],
    ['calls', 20, 3, [5, 0, 15, 0]],
  );
});

const start = instant('2026-01-01');
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
let uses = 0;

/** What happens in a random history, at `now`. */
const happen = {
  async use(shop: AnalyticsShop, subscriptionId: string, usageDate: number) {
    uses += 1;
    await shop.post('/usage-events', {
      usageEvent: {
        subscriptionId,
        priceSlug: 'call',
        transactionId: `use ${uses}`,
        amount: (uses % 7) + 1,
        usageDate,
      },
    });
  },
  async card(shop: AnalyticsShop, customerId: string, token: string) {
    const card = { customerId, type: 'card', token, default: true, automaticallyUpdateSubscriptions: true };
    await shop.post('/payment-methods', { paymentMethod: card });
  },
  async refund(shop: AnalyticsShop) {
    const [payment] = (await shop.get('/payments?status=succeeded&limit=1')).data;
    if (payment !== undefined) await shop.post(`/payments/${payment.id}/refund`, { partialAmount: 100 });
  },
  async void(shop: AnalyticsShop) {
    const [invoice] = (await shop.get('/invoices?status=open&limit=1')).data;
    if (invoice !== undefined) await shop.post(`/invoices/${invoice.id}/void`);
  },
};

const happenings = fc.constantFrom(
  'weekly',
  'change',
  'change',
  'broken card',
  'card',
  'pass',
  'pass',
  'use',
  'use',
  'refund',
  'void',
  'merge',
);
const history = fc.array(fc.tuple(happenings, fc.nat(40 * 24 * 60)), { minLength: 14, maxLength: 18 });
// Any instant, or the noon of a day on which the first subscription is renewed.
const noons = fc.nat(8).map((week) => (7 * week + 0.5) * dayMs);
const instants = fc.oneof(fc.integer({ min: -3 * dayMs, max: 60 * dayMs }), noons);
const ranges = fc.array(fc.tuple(instants, instants, fc.constantFrom('day', 'week', 'month', 'quarter', 'year')), {
  minLength: 5,
  maxLength: 5,
});

/** Lets a random history happen in an environment of its own. Each happening comes with a number of minutes. */
async function live(steps: readonly [happening: string, minutes: number][]): Promise<AnalyticsShop> {
  const shop = await begin('2026-01-01');
  let now = start;
  const buyer = await newCustomer(shop, 'buyer', { token: 'pm_card_visa' });
  const ofBuyer = { customerId: buyer.customerId, defaultPaymentMethodId: buyer.paymentMethodId };
  const subscriptions = [await shop.subscribe('week', ofBuyer)];
  const doings: Readonly<Record<string, (minutes: number) => Promise<unknown>>> = {
    weekly: async () => subscriptions.push(await shop.subscribe('week')),
    async change(minutes) {
      const id = subscriptions[minutes % subscriptions.length] ?? '';
      const { status } = (await shop.get(`/subscriptions/${id}`)).subscription;
      const items = [{ priceSlug: 'week-monthly', quantity: (minutes % 3) + 1 }];
      // The card may be broken.
      if (status === 'active') await shop.adjust(id, items).catch((error) => assert.match(String(error), /declined/));
    },
    'broken card': () => happen.card(shop, buyer.customerId, 'pm_card_chargeCustomerFail'),
    card: () => happen.card(shop, buyer.customerId, 'pm_card_visa'),
    async pass(minutes) {
      now += Math.floor(minutes / 2) * minuteMs;
      await shop.moveTo(new Date(now).toISOString());
    },
    use: (minutes) => happen.use(shop, subscriptions[minutes % subscriptions.length] ?? '', now - minutes * minuteMs),
    refund: () => happen.refund(shop),
    void: () => happen.void(shop),
    merge: () => mergeSumsOnce(app.owner),
  };
  for (const [happening, minutes] of steps) await doings[happening]?.(minutes);
  return shop;
}

test('reports are the plain sums of the records, whatever happened and whichever instants they lie between', async () => {
  await fc.assert(
    fc.asyncProperty(history, ranges, async (steps, asked) => {
      const shop = await live(steps);
      for (const [one, other, interval] of asked) {
        const [from, to] = [Math.min(one, other), Math.max(one, other) + 1];
        await assertPlainSums(app, shop, { from: start + from, to: start + to, interval });
      }
      await mergeSumsOnce(app.owner);
      await assertPlainSums(app, shop, { from: start, to: start + 100 * dayMs, interval: 'month' });
    }),
    { numRuns: 2, endOnFailure: true },
  );
});

const refusals: readonly [query: string, field: string, message: RegExp][] = [
  ['from=2026-02-01&to=2026-02-01', 'from', /before `to`/],
  ['from=2020-01-01&to=2026-01-01&interval=day', 'interval', /2192 points, more than the maximum of 400/],
  ['to=8640000000000000', 'to', /after the last supported date/],
  ['to=-8640000000000000', 'to', /must be before/],
  ['interval=hour', 'interval', /day/],
  ['groupBy=customer', 'groupBy', /product/],
  ['from=yesterday', 'from', /ISO 8601/],
];

test('a report is of the last twelve months and the present one, by whole months, where nothing else is said', async () => {
  const shop = await begin('2026-05-20');
  const { from, to, interval, groups } = await shop.report('mrr');
  assert.deepEqual(
    [from, to, interval, groups[0].points.length],
    [instant('2025-05-01'), instant('2026-05-20') + 1, 'month', 13],
  );
  assert.deepEqual([groups[0].currency, groups[0].opening, groups[0].points.at(-1).mrr], ['USD', 0, 0]);
});

test('a report is refused by the name of the field that is wrong', async () => {
  for (const [query, field, message] of refusals) {
    const { status, body } = await app.request('GET', `/analytics/mrr?${query}`);
    assert.equal(status, 400, query);
    assert.deepEqual(body.issues[0].path, [field]);
    assert.match(body.message, message);
  }
});
