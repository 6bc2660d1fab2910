import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { credits, meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { breakCard, callerOf } from '../support/years.ts';

const app = await startTestApp();
after(() => assertSound(app));

const each = (unit: string, count = 1) => ({ renewalFrequency: 'every_interval', grantInterval: { unit, count } });
const yearly = { intervalUnit: 'year' };
const structure = {
  name: 'Rhythms of credits',
  isDefault: true,
  features: [
    credits('monthly', 1000, 'calls', each('month')),
    credits('double', 2000, 'calls', each('month')),
    credits('weekly', 100, 'calls', each('week')),
    credits('upfront', 12_000, 'calls'),
    credits('kept', 1000, 'calls', { ...each('month'), rolloverMaximum: 300, rolloverPeriods: 2 }),
  ],
  products: [
    plan('free', 0),
    plan('year', 120_000, ['monthly'], yearly),
    plan('more', 240_000, ['double'], yearly),
    plan('upfront', 120_000, ['upfront'], yearly),
    plan('kept', 120_000, ['kept'], yearly),
    plan('month', 12_000, ['weekly']),
    plan('plain', 200_000),
    plan('bare', 100_000, [], yearly),
    plan('pack', 1000, ['kept'], { type: 'single_payment', intervalUnit: undefined, intervalCount: undefined }),
    plan('trial', 120_000, ['monthly'], { ...yearly, trialPeriodDays: 45 }),
  ],
  usageMeters: [meter('calls', 'Calls', { slug: 'call', unitPrice: 1 })],
};
const dayOf = (at: number | null) => (at === null ? null : new Date(at).toISOString().slice(0, 10));

/** A seller with the plans, whose time is moved by the month or at once. */
async function seller(start: string) {
  const organization = await app.newOrganization();
  const caller = callerOf(app, organization);
  const moveTo = (at: string) => caller.moveTo(instant(at));
  await moveTo(start);
  const { pricingModel } = await caller.post('/pricing-models/setup', structure);
  let uses = 0;
  return {
    ...caller,
    organization,
    moveTo,
    pricingModelId: pricingModel.id as string,
    async subscribe(externalId: string, slug: string, more: object = {}) {
      const customer = await newCustomer(caller, externalId, { token: 'pm_card_visa' });
      const { customerId } = customer;
      const { subscription } = await caller.post('/subscriptions', {
        customerId,
        priceSlug: `${slug}-monthly`,
        ...more,
      });
      const id: string = subscription.id;
      return {
        ...customer,
        id,
        subscriptionId: id,
        use(amount: number) {
          uses += 1;
          const usageEvent = { subscriptionId: id, priceSlug: 'call', amount, transactionId: `use-${uses}` };
          return caller.post('/usage-events', { usageEvent });
        },
        async balance(): Promise<number> {
          const { usageMeterBalances } = await caller.get(
            `/customers/${externalId}/usage-balances?subscriptionId=${id}`,
          );
          return usageMeterBalances[0].availableBalance;
        },
        /** Its credits, the oldest first: the day of the grant, the units and the day of their end. */
        async granted(): Promise<string[]> {
          const { data } = await caller.get(`/usage-credits?limit=100&subscriptionId=${id}`);
          return data.map(({ createdAt, issuedAmount, expiresAt }: Body) =>
            [dayOf(createdAt), issuedAmount, dayOf(expiresAt)].join(' '),
          );
        },
        end: () => caller.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } }),
        adjustTo: (priceSlug: string, change: object = {}) =>
          caller.post(`/subscriptions/${id}/adjust`, {
            adjustment: {
              timing: 'immediately',
              newSubscriptionItems: [{ priceSlug: `${priceSlug}-monthly`, quantity: 1 }],
              ...change,
            },
          }),
      };
    },
  };
}

const shop = await seller('2026-01-31');

test('a yearly plan grants 1,000 credits each month, and they expire with the month', async () => {
  const ada = await shop.subscribe('ada', 'year');
  await ada.use(400);
  assert.equal(await ada.balance(), 600);
  await shop.moveTo('2026-02-28');
  assert.equal(await ada.balance(), 1000);
  await ada.use(1100);
  await shop.moveTo('2026-04-01');
  assert.deepEqual(await ada.granted(), [
    '2026-01-31 1000 2026-02-28',
    '2026-02-28 1000 2026-03-31',
    '2026-03-31 1000 2026-04-30',
  ]);
  await shop.moveTo('2027-01-31');
  const all = await ada.granted();
  assert.equal(all.length, 13, 'twelve of the year, and the first of the next');
  assert.equal(all.at(-1), '2027-01-31 1000 2027-02-28');
  await ada.end();
});

test('a week that the end of a billing period cuts is granted in two parts, which add up to it', async () => {
  await shop.moveTo('2027-02-01');
  const ben = await shop.subscribe('ben', 'month');
  await shop.moveTo('2027-03-08');
  // February 2027 has four whole weeks; March begins with one, and its last has three days.
  await shop.moveTo('2027-04-05');
  assert.deepEqual(await ben.granted(), [
    '2027-02-01 100 2027-02-08',
    '2027-02-08 100 2027-02-15',
    '2027-02-15 100 2027-02-22',
    '2027-02-22 100 2027-03-01',
    '2027-03-01 100 2027-03-08',
    '2027-03-08 100 2027-03-15',
    '2027-03-15 100 2027-03-22',
    '2027-03-22 100 2027-03-29',
    '2027-03-29 43 2027-04-01',
    '2027-04-01 57 2027-04-05',
    '2027-04-05 100 2027-04-12',
  ]);
  await ben.end();
});

test('unused credits of a month roll over for the number of months that the feature says', async () => {
  const cleo = await shop.subscribe('cleo', 'kept');
  await cleo.use(800);
  await shop.moveTo('2027-05-05');
  assert.deepEqual(await cleo.granted(), [
    '2027-04-05 1000 2027-05-05',
    '2027-05-05 200 2027-07-05',
    '2027-05-05 1000 2027-06-05',
  ]);
  assert.equal(await cleo.balance(), 1200);
});

test('a trial grants the credits of an interval once, and the months count from its end', async () => {
  const dora = await shop.subscribe('dora', 'trial');
  await shop.moveTo('2027-07-19');
  assert.deepEqual(await dora.granted(), [
    '2027-05-05 1000 2027-06-19',
    '2027-06-19 1000 2027-07-19',
    '2027-07-19 1000 2027-08-19',
  ]);
});

test('an upgrade grants what is missing to the rest of the month, and then each month of the new plan', async () => {
  await shop.moveTo('2027-09-01');
  const eve = await shop.subscribe('eve', 'year');
  // 20 of 30 days are left: 1,333 of 2,000, of which 1,000 are there.
  await shop.moveTo('2027-09-11');
  await eve.adjustTo('more');
  await shop.moveTo('2027-10-01');
  assert.deepEqual(await eve.granted(), [
    '2027-09-01 1000 2027-10-01',
    '2027-09-11 333 2027-10-01',
    '2027-10-01 2000 2027-11-01',
  ]);
});

test('more seats grant more from the next month on, and to and fro in a month grants nothing more', async () => {
  const finn = await shop.subscribe('finn', 'year');
  await shop.moveTo('2027-10-16');
  await finn.adjustTo('year', { newSubscriptionItems: [{ priceSlug: 'year-monthly', quantity: 3 }] });
  await finn.adjustTo('year');
  await finn.adjustTo('year', { newSubscriptionItems: [{ priceSlug: 'year-monthly', quantity: 3 }] });
  await shop.moveTo('2027-11-01');
  assert.deepEqual(await finn.granted(), [
    '2027-10-01 1000 2027-11-01',
    // 16 of 31 days of 3,000 are 1,548.
    '2027-10-16 548 2027-11-01',
    '2027-11-01 3000 2027-12-01',
  ]);
});

test('credits of a year that a plan granted before count against the months of the next plan', async () => {
  const gus = await shop.subscribe('gus', 'upfront');
  await shop.moveTo('2027-11-11');
  await gus.adjustTo('more');
  await shop.moveTo('2027-12-01');
  const months = (await gus.granted()).slice(1);
  // 30 of 366 days of 12,000 are 984. Of 2,000 for 20 of 30 days, 349 are missing; of December, 2,000 less 31 days of it.
  assert.deepEqual(months, ['2027-11-11 349 2027-12-01', '2027-12-01 984 2028-01-01']);
});

test('a pause takes the rest of the month, and gives back what was not paused; months that begin in it are granted in part', async () => {
  const hal = await shop.subscribe('hal', 'year');
  const ida = await shop.subscribe('ida', 'year');
  await shop.moveTo('2027-12-11');
  for (const { id } of [hal, ida]) await shop.post(`/subscriptions/${id}/pause`, {});
  await shop.moveTo('2027-12-21');
  await shop.post(`/subscriptions/${hal.id}/resume`, {});
  // 21 of 31 days are 677 of 1,000, less 323 for ten days.
  assert.deepEqual(await hal.granted(), ['2027-12-01 1000 2028-01-01', '2027-12-21 354 2028-01-01']);
  await shop.moveTo('2028-01-11');
  await shop.post(`/subscriptions/${ida.id}/resume`, {});
  await shop.moveTo('2028-02-01');
  assert.deepEqual(await ida.granted(), [
    '2027-12-01 1000 2028-01-01',
    // 21 of 31 days.
    '2028-01-11 677 2028-02-01',
    '2028-02-01 1000 2028-03-01',
  ]);
  assert.equal((await hal.granted()).at(-1), '2028-02-01 1000 2028-03-01');
});

test('a month that was used up lowers the unused value of its year by the worth of that month', async () => {
  const early = await seller('2027-01-01');
  const uma = await early.subscribe('uma', 'year');
  await early.moveTo('2027-03-15');
  await uma.use(1000);
  await uma.adjustTo('plain');
  // 292 of 365 days are unused: 960.00 of 1,200.00. All units of 17 of these days were used, so 275 / 292 are left: 904.11.
  const { data } = await early.get(`/invoices?subscriptionId=${uma.id}&limit=100`);
  assert.deepEqual(data.map(({ total }: Body) => total).sort(), [109_589, 120_000]);
});

test('a month that was used up after a pause lowers the value of its year by what is left of that month', async () => {
  const early = await seller('2027-01-01');
  const vic = await early.subscribe('vic', 'year');
  await early.moveTo('2027-03-11');
  await early.post(`/subscriptions/${vic.id}/pause`, {});
  await early.moveTo('2027-03-21');
  await early.post(`/subscriptions/${vic.id}/resume`, {});
  // The pause kept 296 days, 973.15, and the rest of the year takes 286 of them, 940.27: 32.88 stay.
  assert.equal((await vic.granted()).at(-1), '2027-03-21 354 2027-04-01');
  // 323 of the first ten days are there too, and are used first.
  await vic.use(323 + 354);
  await early.moveTo('2027-03-26');
  await vic.adjustTo('plain');
  // 281 days are unused, 923.83. The month gives 194 in six of them, and 9,086 in all; 193 were there, and used. So 8,892
  // of 9,085 are left: 904.20. They and 32.88 are taken off 2,000.00.
  const { data } = await early.get(`/invoices?subscriptionId=${vic.id}&limit=100`);
  assert.deepEqual(data.map(({ total }: Body) => total).sort(), [0, 106_292, 120_000]);
});

test('a year that was used up leaves no value, also by way of a plan that grants each month', async () => {
  const early = await seller('2027-01-01');
  const wes = await early.subscribe('wes', 'upfront');
  await early.moveTo('2027-03-15');
  await wes.use(12_000);
  await wes.adjustTo('year');
  assert.equal((await wes.granted()).length, 1, 'the year has granted more than its months would');
  await wes.adjustTo('plain');
  const { data } = await early.get(`/invoices?subscriptionId=${wes.id}&limit=100`);
  assert.deepEqual(data.map(({ total }: Body) => total).sort(), [120_000, 200_000]);
});

test('a change in the instant in which a month began gives up all of it', async () => {
  const early = await seller('2027-01-01');
  const abe = await early.subscribe('abe', 'year');
  await early.moveTo('2027-02-01');
  await abe.adjustTo('plain');
  assert.deepEqual(await abe.granted(), ['2027-01-01 1000 2027-02-01', '2027-02-01 1000 2027-02-01']);
  assert.equal(await abe.balance(), 0);
  // 334 of 365 days of 1,200.00 are taken off 2,000.00.
  const { data } = await early.get(`/invoices?subscriptionId=${abe.id}&limit=100`);
  assert.deepEqual(data.map(({ total }: Body) => total).sort(), [120_000, 90_192]);
});

test('months that begin in a pause count what the year before them gave', async () => {
  const early = await seller('2027-01-01');
  const xia = await early.subscribe('xia', 'upfront');
  await early.moveTo('2027-01-11');
  await xia.adjustTo('more');
  await early.moveTo('2027-01-21');
  await early.post(`/subscriptions/${xia.id}/pause`, {});
  await early.moveTo('2027-02-08');
  await early.post(`/subscriptions/${xia.id}/resume`, {});
  await early.moveTo('2027-03-01');
  assert.deepEqual(await xia.granted(), [
    '2027-01-01 12000 2028-01-01',
    // 21 of 31 days of 2,000 are 1,355, and the year gives January 1,019.
    '2027-01-11 336 2027-02-01',
    // 345 days of the year less 18 days of the pause.
    '2027-02-08 10750 2028-01-01',
    // 21 of 28 days are 1,500, and 21 of the 327 days of the year that are left are 690.
    '2027-02-08 810 2027-03-01',
    '2027-03-01 981 2027-04-01',
  ]);
});

test('an anchor at the end of the month begins a period at once where it would cut a week of credits', async () => {
  const early = await seller('2027-02-01');
  const [yan, zoe] = [await early.subscribe('yan', 'month'), await early.subscribe('zoe', 'year')];
  await early.moveTo('2027-03-03');
  const move = ({ id }: { id: string }, at: string) =>
    early.put(`/subscriptions/${id}`, { subscription: { billingCycleAnchorDate: instant(at) } });
  // Weeks from 1 February end on 8 March, and from 1 April on 4 March.
  assert.equal((await move(yan, '2027-04-01')).adjustment.status, 'applied');
  assert.equal((await move(zoe, '2028-02-01')).adjustment, undefined);
  await early.moveTo('2027-03-05');
  assert.deepEqual((await yan.granted()).slice(-3), [
    '2027-03-01 100 2027-03-03',
    // One of seven days.
    '2027-03-03 14 2027-03-04',
    '2027-03-04 100 2027-03-11',
  ]);
});

test('an end stops the months, and a change of interval begins them anew', async () => {
  const kim = await shop.subscribe('kim', 'year');
  const lou = await shop.subscribe('lou', 'year');
  await shop.moveTo('2028-02-16');
  await lou.use(900);
  await lou.adjustTo('month');
  const end = { timing: 'at_future_date', endDate: instant('2028-03-01') };
  await shop.post(`/subscriptions/${kim.id}/cancel`, { cancellation: end });
  await shop.moveTo('2028-03-15');
  assert.deepEqual(await kim.granted(), ['2028-02-01 1000 2028-03-01']);
  const weeks = (await lou.granted()).slice(1, 3);
  assert.deepEqual(weeks, ['2028-02-16 100 2028-02-23', '2028-02-23 100 2028-03-01']);
});

test('a year that is not paid grants its months when it is', async () => {
  const late = await seller('2028-02-01');
  const jan = await late.subscribe('jan', 'year');
  await late.moveTo('2028-12-31');
  await jan.use(1100);
  await breakCard(app, jan);
  // The usage of December is not paid, so there is no access when the second year begins.
  await late.moveTo('2029-03-15');
  assert.equal((await jan.granted()).length, 12, 'nothing of the second year');
  await newCard(late, jan.customerId, 'pm_card_visa', { default: true });
  const { data } = await late.get(`/invoices?subscriptionId=${jan.id}&status=open&limit=100`);
  for (const { id } of data) await late.post(`/invoices/${id}/pay`, {});
  assert.deepEqual((await jan.granted()).slice(12), ['2029-03-15 1000 2029-03-01', '2029-03-15 1000 2029-04-01']);
  assert.equal(await jan.balance(), 1000);
  await late.moveTo('2029-04-01');
  assert.equal(await jan.balance(), 1000);
});

test('the interval of credits comes through export, setup and clone, and an item may have another', async () => {
  const told = (model: Body) => model.features.map(({ slug, grantInterval }: Body) => [slug, grantInterval]);
  const { pricingModel: exported } = await shop.get(`/pricing-models/${shop.pricingModelId}/export`);
  const month = { unit: 'month', count: 1 };
  assert.deepEqual(told(exported), [
    ['monthly', month],
    ['double', month],
    ['weekly', { unit: 'week', count: 1 }],
    ['upfront', undefined],
    ['kept', month],
  ]);
  const again = await shop.post('/pricing-models/setup', { ...exported, name: 'Again', isDefault: false });
  assert.deepEqual(
    told((await shop.get(`/pricing-models/${again.pricingModel.id}/export`)).pricingModel),
    told(exported),
  );
  const { pricingModel: clone } = await shop.post(`/pricing-models/${shop.pricingModelId}/clone`, { name: 'Clone' });
  assert.deepEqual(told((await shop.get(`/pricing-models/${clone.id}/export`)).pricingModel), told(exported));

  const pia = await shop.subscribe('pia', 'year');
  const start = (await shop.get(`/subscriptions/${pia.id}`)).subscription.currentBillingPeriodStart;
  const billing = await shop.get('/customers/pia/billing');
  const [feature] = billing.currentSubscriptions.find(({ id }: Body) => id === pia.id).experimental.featureItems;
  assert.deepEqual([feature.renewalFrequency, feature.grantInterval], ['every_interval', month]);
  const change = (subscriptionItemFeature: Body) =>
    shop.put(`/subscription-item-features/${feature.id}`, { subscriptionItemFeature });
  assert.deepEqual(
    (await change({ grantInterval: { unit: 'day', count: 10 } })).subscriptionItemFeature.grantInterval,
    {
      unit: 'day',
      count: 10,
    },
  );
  await shop.moveTo(new Date(start + 11 * 86_400_000).toISOString());
  assert.deepEqual((await pia.granted()).slice(1), [
    [start + 10 * 86_400_000, start + 20 * 86_400_000].map(dayOf).join(' 1000 '),
  ]);
  await change({ renewalFrequency: 'once', grantInterval: null });
  await shop.moveTo(new Date(start + 40 * 86_400_000).toISOString());
  assert.equal((await pia.granted()).length, 2);
});

test('lists are filtered by the terms of prices, products, features, meters and subscriptions', async () => {
  const sold = await seller('2026-01-10');
  const { pricingModelId } = sold;
  await sold.post('/usage-meters', { usageMeter: { name: 'Disks', slug: 'disks', pricingModelId, recurring: true } });
  const { id: usageMeterId } = (await sold.get('/usage-meters?slug=calls')).data[0];
  await sold.post('/prices', {
    price: { type: 'usage', usageMeterId, slug: 'weekly', unitPrice: 1, intervalUnit: 'week', isDefault: false },
  });
  const ada = await sold.subscribe('ada', 'month', { billingAnchor: 'calendar' });
  const ben = await sold.subscribe('ben', 'month', { billingAnchor: { day: 20 } });
  const cleo = await sold.subscribe('cleo', 'year');
  const found = async (path: string) =>
    (await sold.get(`${path}&limit=100`)).data.map(({ slug, id }: Body) => slug ?? id);
  assert.deepEqual(await found(`/features?usageMeterId=${usageMeterId}&renewalFrequency=every_billing_period`), [
    'upfront',
  ]);
  assert.deepEqual(await found('/features?resourceId=resource_of_nobody'), []);
  assert.deepEqual(await found('/usage-meters?recurring=true'), ['disks']);
  assert.deepEqual(await found('/products?addOn=true'), []);
  assert.ok((await found('/products?addOn=false')).includes('kept'));
  assert.deepEqual(await found('/prices?billingTiming=in_arrears'), []);
  const own = await found(`/prices?usageInterval=own&pricingModelId=${pricingModelId}`);
  assert.ok(own.includes('weekly') && !own.includes('year-monthly'), String(own));
  assert.ok(!(await found('/prices?usageInterval=subscription')).includes('weekly'));
  assert.deepEqual(await found('/subscriptions?billingAnchor=calendar'), [ada.id]);
  assert.deepEqual(await found('/subscriptions?billingAnchor=day'), [ben.id]);
  assert.ok((await found('/subscriptions?billingAnchor=anniversary')).includes(cleo.id));
});

test('credits of a month that are added by hand roll over by months, and count against those of the next plan', async () => {
  const other = await seller('2026-01-01');
  const byHand = async (externalId: string, featureSlug: string) => {
    const user = await other.subscribe(externalId, 'bare');
    await other.post(`/subscriptions/${user.id}/add-feature`, { featureSlug, grantCreditsImmediately: true });
    return user;
  };
  const una = await byHand('una', 'kept');
  const vic = await byHand('vic', 'monthly');
  await other.moveTo('2026-01-11');
  await vic.adjustTo('year');
  await other.moveTo('2026-02-01');
  assert.deepEqual(await una.granted(), [
    '2026-01-01 1000 2026-02-01',
    // For two months, and not for two years.
    '2026-02-01 300 2026-04-01',
    '2026-02-01 1000 2026-03-01',
  ]);
  assert.deepEqual(await vic.granted(), ['2026-01-01 1000 2026-02-01', '2026-02-01 1000 2026-03-01']);
});

test('credits that are added by hand in a pause last as long as without it, and those of a week that began in it come after it', async () => {
  const other = await seller('2026-06-01');
  const [wim, xia] = [await other.subscribe('wim', 'plain'), await other.subscribe('xia', 'plain')];
  const add = ({ id }: { id: string }, featureSlug: string) =>
    other.post(`/subscriptions/${id}/add-feature`, { featureSlug, grantCreditsImmediately: true });
  await other.moveTo('2026-06-10');
  for (const { id } of [wim, xia]) await other.post(`/subscriptions/${id}/pause`);
  await other.moveTo('2026-06-12');
  await add(wim, 'upfront');
  await add(wim, 'weekly');
  assert.deepEqual(await wim.granted(), ['2026-06-12 12000 2026-07-01', '2026-06-12 100 2026-06-15']);
  assert.equal(await wim.balance(), 12_100);
  await other.moveTo('2026-06-16');
  await add(xia, 'weekly');
  assert.deepEqual(await xia.granted(), []);
  await other.moveTo('2026-06-18');
  for (const { id } of [wim, xia]) await other.post(`/subscriptions/${id}/resume`);
  assert.deepEqual(await xia.granted(), ['2026-06-18 57 2026-06-22']);
  assert.equal(await wim.balance(), 12_057);
  await other.post(`/subscriptions/${xia.id}/pause`);
  await other.moveTo('2026-07-02');
  await add(xia, 'upfront');
  await other.post(`/subscriptions/${xia.id}/resume`);
  assert.deepEqual((await xia.granted()).slice(1), ['2026-07-02 57 2026-07-06', '2026-07-02 11613 2026-08-01']);
});

test('bought credits of a month end with it, also in the instant of a renewal', async () => {
  const other = await seller('2026-01-01');
  const yan = await other.subscribe('yan', 'plain');
  await other.post('/purchases', { purchase: { customerId: yan.customerId, priceSlug: 'pack-monthly' } });
  assert.equal(await yan.balance(), 1000);
  await other.moveTo('2026-02-01');
  assert.deepEqual([await yan.granted(), await yan.balance()], [['2026-01-01 1000 2026-02-01'], 0]);
});

test('a jump of the clock grants what steps grant', async () => {
  const [jumper, stepper] = [await seller('2026-01-31'), await seller('2026-01-31')];
  const ran: string[][] = [];
  for (const { steps, by } of [
    { steps: [] as string[], by: jumper },
    { steps: ['2026-02-10', '2026-02-28', '2026-03-30', '2026-03-31'], by: stepper },
  ]) {
    const [mia, ned, ola] = [
      await by.subscribe('mia', 'kept'),
      await by.subscribe('ned', 'month'),
      await by.subscribe('ola', 'trial'),
    ];
    await mia.use(500);
    for (const at of steps) await by.moveTo(at);
    await by.moveTo('2026-04-20');
    ran.push([...(await mia.granted()), ...(await ned.granted()), ...(await ola.granted())]);
  }
  assert.deepEqual(ran[0], ran[1]);
  assert.equal(ran[0]?.length, 4 + 13 + 3);
});
