import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { breakCard, callerOf } from '../support/years.ts';

const app = await startTestApp();
after(() => assertSound(app));
const organization = await app.newOrganization();
const caller = callerOf(app, organization);
let today = '2026-01-31';
const moveTo = (at: string) => {
  today = at;
  return caller.moveTo(instant(at));
};

const withSubscription = { intervalUnit: undefined, intervalCount: undefined };
const firstTierFree = {
  model: 'graduated',
  tiers: [
    { upTo: 100, unitAmount: '0' },
    { upTo: null, unitAmount: '2' },
  ],
};
const structure = {
  name: 'Rhythms',
  isDefault: true,
  features: [],
  products: [
    plan('free', 0),
    plan('year', 120_000, [], { intervalUnit: 'year' }),
    plan('month', 3000),
    plan('unbilled', 120_000, [], { intervalUnit: 'year', overage: 'none' }),
    plan('committed', 120_000, [], { intervalUnit: 'year', minimumCommitment: 121_000 }),
    plan('trial', 120_000, [], { intervalUnit: 'year', trialPeriodDays: 45 }),
  ],
  usageMeters: [
    meter('calls', 'Calls', { slug: 'call', unitPrice: 50, usageEventsPerUnit: 100 }),
    meter('jobs', 'Jobs', { slug: 'job', unitPrice: 0, pricing: firstTierFree }),
    meter('pages', 'Pages', { slug: 'page', unitPrice: 10, ...withSubscription }),
    meter('peak', 'Peak', { slug: 'peak', unitPrice: 100 }, { aggregationType: 'max' }),
    meter(
      'quarter-peak',
      'Quarter peak',
      { slug: 'quarter', unitPrice: 1000, intervalCount: 3 },
      { aggregationType: 'max' },
    ),
    meter('machines', 'Machines', { slug: 'machine', unitPrice: 100 }, { recurring: true, proration: 'second' }),
    meter('disks', 'Disks', { slug: 'disk', unitPrice: 0, pricing: firstTierFree, intervalCount: 3 }),
  ],
};
await moveTo(today);
await caller.post('/pricing-models/setup', structure);

async function subscriber(externalId: string, slug: string, more: Body = {}) {
  const { token = 'pm_card_visa', ...terms } = more;
  const customer = await newCustomer(caller, externalId, { token });
  const { customerId } = customer;
  const { subscription } = await caller.post('/subscriptions', { customerId, priceSlug: `${slug}-monthly`, ...terms });
  const subscriptionId: string = subscription.id;
  let count = 0;
  const use = (priceSlug: string, amount: number) => {
    count += 1;
    const usageEvent = { subscriptionId, priceSlug, amount, transactionId: `${externalId}-${count}` };
    return caller.post('/usage-events', { usageEvent });
  };
  /** Its invoices, oldest first: date, status and total. */
  const invoices = async () => {
    const { data } = await caller.get(`/invoices?subscriptionId=${subscriptionId}&limit=100`);
    return data.map(({ invoiceDate, status, total }: Body) => [dayOf(invoiceDate), status, total].join(' '));
  };
  const get = async () => (await caller.get(`/subscriptions/${subscriptionId}`)).subscription;
  return { ...customer, subscriptionId, use, invoices, get };
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

test('monthly usage on a yearly plan is invoiced each month, and with the renewal where both fall together', async () => {
  await moveTo('2026-01-31');
  const ada = await subscriber('ada', 'year');
  await moveTo('2026-02-10');
  await ada.use('call', 200);
  await moveTo('2026-02-27');
  assert.deepEqual(await ada.invoices(), ['2026-01-31 paid 120000']);
  const { invoice } = await caller.get(`/invoices/upcoming?subscriptionId=${ada.subscriptionId}`);
  assert.deepEqual([dayOf(invoice.invoiceDate), invoice.total], ['2026-02-28', 100]);
  await moveTo('2026-02-28');
  await ada.use('call', 400);
  // Nothing is used in April, and so nothing is invoiced.
  await moveTo('2026-05-15');
  await ada.use('call', 600);
  await moveTo('2027-01-30');
  await ada.use('call', 800);
  await moveTo('2027-01-31');
  assert.deepEqual(await ada.invoices(), [
    '2026-01-31 paid 120000',
    '2026-02-28 paid 100',
    '2026-03-31 paid 200',
    '2026-05-31 paid 300',
    '2027-01-31 paid 120400',
  ]);
});

test('tiers of a month begin again with each month, however long the plan is', async () => {
  await moveTo('2027-01-31');
  const ben = await subscriber('ben', 'year');
  await ben.use('job', 150);
  await moveTo('2027-02-28');
  await ben.use('job', 90);
  await moveTo('2027-03-31');
  await ben.use('job', 110);
  await moveTo('2027-04-30');
  assert.deepEqual(await ben.invoices(), [
    '2027-01-31 paid 120000',
    '2027-02-28 paid 100',
    '2027-03-31 paid 0',
    '2027-04-30 paid 20',
  ]);
});

test('usage of a quarter on a monthly plan accumulates over three renewals', async () => {
  await moveTo('2027-05-01');
  const cleo = await subscriber('cleo', 'month');
  for (const at of ['2027-06-01', '2027-07-01', '2027-08-01']) {
    await cleo.use('disk', 60);
    await moveTo(at);
  }
  assert.deepEqual(await cleo.invoices(), [
    '2027-05-01 paid 3000',
    '2027-06-01 paid 3000',
    '2027-07-01 paid 3000',
    // 180 disks, of which 100 are free.
    '2027-08-01 paid 3160',
  ]);
});

test('a price that names no interval is billed with the subscription', async () => {
  const dora = await subscriber('dora', 'year');
  await dora.use('page', 7);
  await moveTo('2028-07-31');
  assert.deepEqual(await dora.invoices(), ['2027-08-01 paid 120000']);
  await moveTo('2028-08-01');
  assert.deepEqual((await dora.invoices()).at(-1), '2028-08-01 paid 120070');
  const page = await caller.get('/prices?slug=page');
  const { intervalUnit, intervalCount, usageInterval } = page.data[0];
  assert.deepEqual([intervalUnit, intervalCount, usageInterval], ['month', 1, 'subscription']);
});

test('a plan that bills no usage, and a trial, have no invoices of usage', async () => {
  const eve = await subscriber('eve', 'unbilled');
  const finn = await subscriber('finn', 'trial');
  await eve.use('call', 500);
  await finn.use('call', 500);
  // The trial ends after 45 days, and the months count from there.
  await moveTo('2028-09-15');
  await finn.use('call', 200);
  await moveTo('2028-10-15');
  assert.deepEqual(await eve.invoices(), ['2028-08-01 paid 120000']);
  assert.deepEqual((await finn.invoices()).slice(-2), ['2028-09-15 paid 120250', '2028-10-15 paid 100']);
});

test('a usage invoice that cannot be paid is dunned, and its payment makes all well', async () => {
  const gus = await subscriber('gus', 'year');
  await gus.use('call', 200);
  await breakCard(app, gus);
  await moveTo('2028-11-15');
  assert.equal((await gus.get()).status, 'past_due');
  assert.deepEqual((await gus.invoices()).at(-1), '2028-11-15 open 100');
  await newCard(caller, gus.customerId, 'pm_card_visa', { default: true });
  await moveTo('2028-11-18');
  assert.equal((await gus.get()).status, 'active');
  assert.deepEqual((await gus.invoices()).at(-1), '2028-11-15 paid 100');
});

test('a cancellation within the month bills what is left of it, and a pause leaves the month open', async () => {
  const hal = await subscriber('hal', 'year');
  const ida = await subscriber('ida', 'year');
  await hal.use('job', 60);
  await ida.use('job', 60);
  await moveTo('2028-11-20');
  await caller.post(`/subscriptions/${ida.subscriptionId}/pause`, {});
  await hal.use('job', 60);
  await caller.post(`/subscriptions/${hal.subscriptionId}/cancel`, { cancellation: { timing: 'immediately' } });
  assert.deepEqual((await hal.invoices()).at(-1), '2028-11-20 paid 40');
  await moveTo('2029-01-05');
  await caller.post(`/subscriptions/${ida.subscriptionId}/resume`, {});
  // Its 60 jobs are free, and its plan is paid.
  assert.deepEqual((await ida.invoices()).length, 1 + 1);
});

test('a price with a new interval is billed by it on subscriptions that are there already', async () => {
  const jan = await subscriber('jan', 'year');
  const { usageMeterId, pricingModelId } = (await caller.get('/prices?slug=call')).data[0];
  const { price } = await caller.post('/prices', {
    price: { type: 'usage', usageMeterId, pricingModelId, slug: 'weekly', unitPrice: 5, intervalUnit: 'week' },
  });
  assert.equal(price.usageInterval, 'own');
  // As where its subscriptions are so many that a job schedules them, which comes late.
  await sql`update subscriptions set interim_at = null where id = ${jan.subscriptionId}`.execute(app.owner);
  const late = JSON.stringify({ environmentId: organization.testEnvironmentId, pricingModelId, after: '' });
  await sql`select enqueue_job('schedule_interims', ${late}, 'late', now() + interval '1 hour', 1)`.execute(app.owner);
  await jan.use('weekly', 10);
  await moveTo('2029-01-12');
  assert.deepEqual(await jan.invoices(), ['2029-01-05 paid 120000', '2029-01-12 paid 50']);
});

test('usage that was invoiced within the year counts towards the commitment of the year', async () => {
  const kim = await subscriber('kim', 'committed');
  await kim.use('call', 400);
  await moveTo('2030-01-12');
  assert.deepEqual(await kim.invoices(), [
    '2029-01-12 paid 120000',
    '2029-02-12 paid 200',
    // 1210.00 less 1200.00 and 2.00 are missing.
    '2030-01-12 paid 120800',
  ]);
});

test('an end at the end of a month bills that month once', async () => {
  const lou = await subscriber('lou', 'year');
  await lou.use('job', 130);
  const end = { timing: 'at_future_date', endDate: instant('2030-02-12') };
  await caller.post(`/subscriptions/${lou.subscriptionId}/cancel`, { cancellation: end });
  await moveTo('2030-02-12');
  assert.deepEqual(await lou.invoices(), ['2030-01-12 paid 120000', '2030-02-12 paid 60']);
});

test('the peak of each month is billed with the month on a yearly plan, and that of each quarter with the quarter', async () => {
  const mia = await subscriber('mia', 'year');
  const measure = async (usageMeterSlug: string, amount: number) => {
    const transactionId = `mia-${usageMeterSlug}-${amount}`;
    const usageEvent = { subscriptionId: mia.subscriptionId, usageMeterSlug, amount, transactionId };
    await caller.post('/usage-events', { usageEvent });
  };
  const since = (await mia.invoices()).length;
  const billed = async () => (await mia.invoices()).slice(since);
  await mia.use('call', 200);
  await measure('peak', 5);
  await measure('quarter-peak', 4);
  await moveTo('2030-03-11');
  const { invoice } = await caller.get(`/invoices/upcoming?subscriptionId=${mia.subscriptionId}`);
  assert.deepEqual([dayOf(invoice.invoiceDate), invoice.total], ['2030-03-12', 600]);
  await moveTo('2030-03-12');
  await measure('peak', 2);
  await measure('quarter-peak', 9);
  await moveTo('2030-04-12');
  await measure('quarter-peak', 7);
  await moveTo('2030-08-12');
  // April's 2 at 1.00, and with the end of the quarter its 9 at 10.00. A month without events has no peak.
  assert.deepEqual(await billed(), ['2030-03-12 paid 600', '2030-04-12 paid 200', '2030-05-12 paid 9000']);
});

test('machines by the second at a monthly price are billed each month, on plans of a year and of a month alike', async () => {
  const [ora, pam] = [await subscriber('ora', 'year'), await subscriber('pam', 'month')];
  const add = (who: typeof ora, amount: number, transactionId: string) => {
    const { subscriptionId } = who;
    const usageEvent = {
      subscriptionId,
      usageMeterSlug: 'machines',
      amount,
      transactionId: `${subscriptionId} ${transactionId}`,
    };
    return caller.post('/usage-events', { usageEvent });
  };
  for (const who of [ora, pam]) await add(who, 10, 'first');
  await moveTo('2030-08-31');
  for (const who of [ora, pam]) await add(who, -10, 'away');
  for (const who of [ora, pam]) await add(who, 31, 'last');
  await moveTo('2030-11-12');
  // 10 for 19 of 31 days and 31 for 12 of them; then 31 for all of each month, at 1.00.
  const usage = [10 * 19 + 31 * 12, 31 * 31, 31 * 31].map((days) => Math.round((days / 31) * 100));
  assert.deepEqual(
    (await ora.invoices()).slice(1).map((told: string) => Number(told.split(' ').at(-1))),
    usage,
  );
  assert.deepEqual(
    (await pam.invoices()).slice(1).map((told: string) => Number(told.split(' ').at(-1)) - 3000),
    usage,
  );
});

test('a change to another interval at the end of a period bills the usage of longer intervals by its own tiers', async () => {
  await moveTo('2031-02-12');
  const sue = await subscriber('sue', 'month');
  await sue.use('disk', 150);
  const adjustment = {
    timing: 'at_end_of_current_billing_period',
    newSubscriptionItems: [{ priceSlug: 'year-monthly' }],
  };
  await caller.post(`/subscriptions/${sue.subscriptionId}/adjust`, { adjustment });
  const { invoice } = await caller.get(`/invoices/upcoming?subscriptionId=${sue.subscriptionId}`);
  assert.equal(invoice.total, 120_100);
  await moveTo('2031-03-12');
  // 50 disks behind the free ones of a quarter that has ended early, and 50 of the next one.
  assert.deepEqual(await sue.invoices(), ['2031-02-12 paid 3000', '2031-03-12 paid 120100']);
  await sue.use('disk', 150);
  await moveTo('2031-06-12');
  assert.deepEqual((await sue.invoices()).at(-1), '2031-06-12 paid 100');
});

test('usage that falls due some seconds apart is billed at one stop of the clock, each as of its own instant', async () => {
  const begin = instant('2031-07-01');
  const names = ['ned', 'oda', 'pia'];
  const ids: string[] = [];
  for (const [index, name] of names.entries()) {
    await caller.moveTo(begin + index * 20_000);
    const each = await subscriber(name, 'year');
    await each.use('call', 200);
    ids.push(each.subscriptionId);
  }
  await moveTo('2031-08-02');
  const told: [string, number][] = [];
  for (const id of ids) {
    const { data } = await caller.get(`/invoices?subscriptionId=${id}&limit=10`);
    const { invoiceDate, createdAt } = data.at(-1);
    told.push([new Date(invoiceDate).toISOString(), createdAt - invoiceDate]);
  }
  assert.deepEqual(told, [
    ['2031-08-01T00:00:00.000Z', 0],
    ['2031-08-01T00:00:20.000Z', 0],
    ['2031-08-01T00:00:40.000Z', 0],
  ]);
});

test('the upcoming invoice is the one that comes next: of a quarter of usage, or of a scheduled end', async () => {
  const upcoming = async ({ subscriptionId }: { subscriptionId: string }) => {
    const { invoice } = await caller.get(`/invoices/upcoming?subscriptionId=${subscriptionId}`);
    return [dayOf(invoice.invoiceDate), invoice.total].join(' ');
  };
  const kim = await subscriber('next-quarter', 'year');
  assert.equal(await upcoming(kim), '2032-08-02 120000');
  // Calls would be invoiced each month, and disks are invoiced each quarter. 100 of 150 disks are free.
  await kim.use('disk', 150);
  assert.equal(await upcoming(kim), '2031-11-02 100');
  const max = await subscriber('next-end', 'month');
  await max.use('disk', 150);
  assert.equal(await upcoming(max), '2031-09-02 3000');
  await caller.post(`/subscriptions/${max.subscriptionId}/cancel`, {
    cancellation: { timing: 'at_end_of_current_billing_period' },
  });
  assert.equal(await upcoming(max), '2031-09-02 100');
  await moveTo('2031-11-02');
  assert.deepEqual(await max.invoices(), ['2031-08-02 paid 3000', '2031-09-02 paid 100']);
  assert.deepEqual(await kim.invoices(), ['2031-08-02 paid 120000', '2031-11-02 paid 100']);
});

test('the interval of a usage price comes through export, setup and clone, and cannot change', async () => {
  const [call] = (await caller.get('/prices?slug=call')).data;
  const { pricingModel: exported } = await caller.get(`/pricing-models/${call.pricingModelId}/export`);
  const told = (model: Body) =>
    model.usageMeters.flatMap(({ prices }: Body) =>
      prices.map(({ slug, usageInterval = 'own' }: Body) => [slug, usageInterval]),
    );
  assert.deepEqual(told(exported), [
    ['call', 'own'],
    ['weekly', 'own'],
    ['job', 'own'],
    ['page', 'subscription'],
    ['peak', 'own'],
    ['quarter', 'own'],
    ['machine', 'own'],
    ['disk', 'own'],
  ]);
  const again = await caller.post('/pricing-models/setup', { ...exported, name: 'Again', isDefault: false });
  const { pricingModel: second } = await caller.get(`/pricing-models/${again.pricingModel.id}/export`);
  assert.deepEqual(told(second), told(exported));
  const answer = await app.request(
    'PUT',
    `/prices/${call.id}`,
    { price: { usageInterval: 'subscription' } },
    { key: organization.testKey },
  );
  assert.equal(answer.status, 400);
  assert.match(answer.body.message, /usageInterval: must stay as it is/);
});
