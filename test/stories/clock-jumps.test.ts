import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { environmentLines } from '../support/digest.ts';
import { startTestApp, type TestOrganization } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';
import { beginYears, breakCard, type Caller, callerOf, day, hour, minute, subscribeFor } from '../support/years.ts';

const app = await startTestApp();
const start = Date.UTC(2026, 0, 31, 10);
// A year, and the first days of the next.
const end = Date.UTC(2027, 1, 10, 10);

interface Kinds {
  /** Cards that fail, and trials that nobody pays for. */
  readonly failing?: boolean;
  /** A card whose charges take an hour. */
  readonly slow?: boolean;
}

// When everything has happened to them more than once, most customers leave: from then on their renewals are all alike.
const lastDay = start + 95 * day;

/** Customers of every kind, who came within half a day. */
async function settle(caller: Caller, { failing = true, slow = true }: Kinds): Promise<void> {
  const token = 'pm_card_visa';
  await subscribeFor(caller, 'visa-month', { plan: 'month', token });
  const passing: string[] = [];
  const pass = async (externalId: string, more: Parameters<typeof subscribeFor>[2]) => {
    passing.push((await subscribeFor(caller, externalId, more)).subscriptionId);
  };
  for (const plan of ['trial', 'two-weeks', 'ten-days']) await pass(`visa-${plan}`, { plan, token });
  const leaving = await subscribeFor(caller, 'leaving', { plan: 'month', token });
  const three = { amount: 10, amountType: 'percent', duration: 'number_of_payments', numberOfPayments: 3 };
  await caller.post('/discounts', { discount: { name: 'Three', code: 'THREE', ...three } });
  await pass('discounted', { plan: 'month', token, discountCode: 'THREE' });
  if (slow) await pass('slow', { plan: 'month', token: 'pm_card_processing' });
  if (failing) {
    await subscribeFor(caller, 'trial-fails', { plan: 'trial', token: 'pm_card_chargeCustomerFail' });
    await subscribeFor(caller, 'trial-without', { plan: 'trial' });
    for (const plan of ['month', 'ten-days'])
      await breakCard(app, await subscribeFor(caller, `failing-${plan}`, { plan, token }));
  }
  // A draft of its renewals waits for more than a day, beside what is due in that time.
  await caller.put('/customers/visa-month', { customer: { reviewHours: 30 } });
  await caller.moveTo(start + 5 * hour);
  for (const plan of ['quarter', 'year']) await subscribeFor(caller, `visa-${plan}`, { plan, token });
  await subscribeFor(caller, 'without a card', { plan: 'month' });
  const pausing = await subscribeFor(caller, 'pausing', { plan: 'month', token });
  const shrinking = await subscribeFor(caller, 'shrinking', { plan: 'month', token, quantity: 2 });
  await caller.moveTo(start + 3 * day);
  for (const id of passing)
    await caller.post(`/subscriptions/${id}/cancel`, {
      cancellation: { timing: 'at_future_date', endDate: lastDay },
    });
  await caller.post(`/subscriptions/${leaving.subscriptionId}/cancel`, {
    cancellation: { timing: 'at_end_of_current_billing_period' },
  });
  await caller.post(`/subscriptions/${pausing.subscriptionId}/pause`, { pause: { resumesAt: start + 75 * day } });
  await caller.post(`/subscriptions/${shrinking.subscriptionId}/adjust`, {
    adjustment: {
      timing: 'at_end_of_current_billing_period',
      newSubscriptionItems: [{ priceSlug: 'month-price', quantity: 1 }],
    },
  });
}

async function newEnvironment(kinds: Kinds = {}): Promise<TestOrganization & { caller: Caller }> {
  const organization = await app.newOrganization();
  const caller = callerOf(app, organization);
  await beginYears(app, organization, caller, start);
  await settle(caller, kinds);
  return { ...organization, caller };
}

// What is granted at one instant in one cell is one transaction of the ledger, and environments place customers differently.
const ofOneCell = app.cells.length > 1 ? ['ledger_transactions', 'ledger_transaction_id'] : [];

const linesOf = (environment: TestOrganization, left: readonly string[] = ofOneCell) =>
  environmentLines(app.owner, environment.testEnvironmentId, left);

/** Says in a few lines what differs. */
function assertSame(actual: readonly string[], expected: readonly string[], what: string): void {
  const [some, others] = [new Set(actual), new Set(expected)];
  const only = [...actual.filter((line) => !others.has(line)), '---', ...expected.filter((line) => !some.has(line))];
  assert.equal(actual.length, expected.length, `${what}\n${only.slice(0, 12).join('\n')}`);
  assert(only.length === 1, `${what}\n${only.slice(0, 12).join('\n')}`);
}

const half = Date.UTC(2026, 6, 31, 12);
const months = Array.from({ length: 12 }, (_, index) => Date.UTC(2026, 1 + index, 15)).concat(end);
// A day at a time while everything happens for the first time, and where the second year begins.
const isLookedAtDaily = (at: number) => at < start + 50 * day || Math.abs(at - Date.UTC(2027, 0, 31)) < 5 * day;
const days = Array.from({ length: Math.ceil((end - start) / day) }, (_, index) => start + index * day)
  .filter(isLookedAtDaily)
  .concat(months.filter((at) => !isLookedAtDaily(at)))
  .sort((a, b) => a - b);
// Most of the days, so that some steps pass several, and instants in between.
const [mostDays = []] = fc.sample(fc.subarray(days, { minLength: 35 }), 1);
const between = fc.sample(fc.integer({ min: start + 3 * day, max: end }), 12);
const steps = [...mostDays, ...between, end].filter((at) => at > start + 3 * day).sort((a, b) => a - b);

test('running every job again, or beside each other, changes nothing', async () => {
  const environment = await newEnvironment();
  for (const at of [Date.UTC(2026, 2, 5), Date.UTC(2026, 5, 1)]) {
    await environment.caller.moveTo(at);
    const before = await linesOf(environment);
    const again = () => [
      app.doDueWork(environment.testEnvironmentId),
      app.tasks.move_clock?.(app, { environmentId: environment.testEnvironmentId }),
    ];
    await Promise.all([...again(), ...again()]);
    await app.runJobs({ all: true });
    assertSame(await linesOf(environment), before, 'again');
  }
});

test('a year at once, and by days and random steps and then months, ends in the same state', async () => {
  const once = await newEnvironment();
  const moved = await once.caller.moveTo(end);
  const expected = await linesOf(once);
  assert.deepEqual(moved.testClock, { now: end, frozen: true });
  // 12 months, 6 times two weeks and 9 times ten days, to name three.
  assert(moved.work.periodsRenewed > 12 + 6 + 9, JSON.stringify(moved.work));
  const other = await newEnvironment();
  const sums: Record<string, number> = {};
  for (const step of steps) {
    const { work } = await other.caller.moveTo(step);
    for (const [key, count] of Object.entries(work)) sums[key] = (sums[key] ?? 0) + Number(count);
  }
  assertSame(await linesOf(other), expected, 'by steps');
  assert.deepEqual(sums, moved.work);
  await assertSound(app);
});

test('a dry run of half a year answers what they would bring if every card paid, and stores nothing', async () => {
  const environment = await newEnvironment({ failing: false });
  const before = await linesOf(environment);
  const dry = await app.put('/test-clock?dryRun=true', { testClock: { now: half } }, { key: environment.testKey });
  assertSame(await linesOf(environment), before, 'dry run');
  assert.deepEqual(dry, await environment.caller.moveTo(half));
});

// When it was written down, which is late, with what else in one commit, and, of what ends and begins at one instant, what
// a worker came to first: the balance in between is another then.
const whenItWasDone = [
  'available_after',
  ...['created_at', 'updated_at', 'occurred_at', 'granted_at', 'charge_date', 'settlement_date', 'payload'],
  ...['moved_at', 'cohort_at'],
  ...['ledger_transactions', 'ledger_transaction_id'],
];

test('work that is done late, by three workers at once, ends in the same state as work on time', async () => {
  const onTime = await newEnvironment({ failing: false, slow: false });
  await onTime.caller.moveTo(half);
  const late = await newEnvironment({ failing: false, slow: false });
  await app.owner
    .updateTable('environments')
    .set({ clockNow: half })
    .where('id', '=', late.testEnvironmentId)
    .execute();
  for (let round = 0; round < 3; round++) await Promise.all([1, 2, 3].map(() => app.doDueWork(late.testEnvironmentId)));
  assertSame(await linesOf(late, whenItWasDone), await linesOf(onTime, whenItWasDone), 'late');
});

/** Customers who came some minutes apart, so that their renewals follow one another within hours. */
async function scatter(caller: Caller): Promise<void> {
  const visa = 'pm_card_visa';
  let at = start;
  const subscribe = async (externalId: string, more: Parameters<typeof subscribeFor>[2]) => {
    at += 7 * minute;
    await caller.moveTo(at);
    return subscribeFor(caller, externalId, more);
  };
  await caller.put('/settings', { settings: { allowMultipleSubscriptions: true } });
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await subscribe(name, { plan: 'month', token: visa });
  await breakCard(app, await subscribe('failing', { plan: 'month', token: visa }));
  await subscribe('without a card', { plan: 'month' });
  await subscribe('slow', { plan: 'month', token: 'pm_card_processing' });
  const changing = await subscribe('changing', { plan: 'month', token: visa, quantity: 2 });
  const twice = await subscribe('twice', { plan: 'ten-days', token: visa });
  await subscribe('g', { plan: 'ten-days', token: visa });
  const h = await subscribe('h', { plan: 'ten-days', token: visa });
  for (const name of ['k', 'l', 'm']) await subscribe(name, { plan: 'weekly', token: visa });
  const three = { amount: 10, amountType: 'percent', duration: 'number_of_payments', numberOfPayments: 3 };
  await caller.post('/discounts', { discount: { name: 'Three', code: 'THREE', ...three } });
  await subscribe('discounted', { plan: 'ten-days', token: visa, discountCode: 'THREE' });
  at += 7 * minute;
  await caller.moveTo(at);
  await caller.post('/subscriptions', { customerId: twice.customerId, priceSlug: 'month-price' });
  // What it has used ahead of the pause is withheld from the credits of its renewals.
  const pausing = await subscribe('pausing', { plan: 'month', token: visa });
  await caller.post(`/subscriptions/${pausing.subscriptionId}/pause`, { pause: { resumesAt: start + 5 * day } });
  await subscribe('reviewed', { plan: 'month', token: visa });
  await caller.put('/customers/reviewed', { customer: { reviewHours: 1 } });
  for (const name of ['i', 'j']) await subscribe(name, { plan: 'month', token: visa });
  await caller.post('/customer-balances/adjust', {
    adjustment: { customerExternalId: 'g', amount: 700, description: 'Sorry' },
  });
  await caller.post('/invoice-items', {
    invoiceItem: { customerId: h.customerId, description: 'Set-up', unitAmount: 900 },
  });
  await caller.post(`/subscriptions/${changing.subscriptionId}/adjust`, {
    adjustment: {
      timing: 'at_end_of_current_billing_period',
      newSubscriptionItems: [{ priceSlug: 'month-price', quantity: 1 }],
    },
  });
}

test('renewals some minutes apart are done together, each as of its own instant', async () => {
  const [once, stepwise] = [await newScattered(), await newScattered()];
  const last = start + 41 * day;
  await once.caller.moveTo(last);
  // To each renewal, so that each is a stop of its own.
  for (let at = await nextRenewal(stepwise); at < last; at = await nextRenewal(stepwise))
    await stepwise.caller.moveTo(at);
  await stepwise.caller.moveTo(last);
  assertSame(await linesOf(once), await linesOf(stepwise), 'scattered');
  const transactions = await sql<{ invoices: number; commits: number }>`
    select count(*) as invoices, count(distinct xmin::text) as commits from invoices
     where environment_id = ${once.testEnvironmentId} and reason = 'renewal'`.execute(app.owner);
  const { invoices, commits } = transactions.rows[0] ?? { invoices: 0, commits: 0 };
  assert(commits < invoices * 0.75, JSON.stringify({ invoices, commits }));
  await assertSound(app);
});

/** The end of a period that the test clock comes to next. */
async function nextRenewal({ testEnvironmentId }: TestOrganization): Promise<number> {
  const { rows } = await sql<{ at: number | null }>`
    select min(s.current_billing_period_end) as at from subscriptions s join environments e on e.id = s.environment_id
     where e.id = ${testEnvironmentId} and s.current_billing_period_end > e.clock_now`.execute(app.owner);
  return rows[0]?.at ?? Number.POSITIVE_INFINITY;
}

async function newScattered(): Promise<TestOrganization & { caller: Caller }> {
  const organization = await app.newOrganization();
  const environment = { ...organization, caller: callerOf(app, organization) };
  await beginYears(app, organization, environment.caller, start);
  await scatter(environment.caller);
  return environment;
}
