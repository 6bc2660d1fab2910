import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calendarEnd, instant } from '../../src/kernel/calendar.ts';
import { startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { day, periodsOf, renewDue, renewUntil } from '../support/renewing.ts';

const app = await startTestApp({ isSound: false });
const plans = await setUpPlans(app);

/** Subscribes on the day, without money, and lives until `until`. Answers the first days of the periods that followed. */
async function boundaries(start: string, intervalUnit: string, intervalCount: number, until: string) {
  await app.setClock(instant(start));
  const { customerId } = await plans.newCustomer();
  const { id } = await plans.subscribe({
    customerId,
    priceSlug: 'pro-monthly',
    doNotCharge: true,
    interval: intervalUnit,
    intervalCount,
  });
  await renewUntil(app, instant(until));
  const periods = await periodsOf(app, id);
  assert.deepEqual(
    periods.slice(1).map((period) => period.startAt),
    periods.slice(0, -1).map((period) => period.endAt),
    'each period begins where the one before ends',
  );
  return periods.slice(1).map((period) => day(period.startAt));
}

/** Where the boundaries lie: counted from the first day, never from the boundary before. */
const table: readonly (readonly [string, string, number, string[]])[] = [
  ['2024-01-31', 'month', 1, ['2024-02-29', '2024-03-31', '2024-04-30', '2024-05-31']],
  ['2023-01-30', 'month', 1, ['2023-02-28', '2023-03-30', '2023-04-30']],
  ['2023-08-31', 'month', 3, ['2023-11-30', '2024-02-29']],
  ['2024-02-29', 'year', 1, ['2025-02-28', '2026-02-28', '2027-02-28', '2028-02-29']],
  ['2024-02-29', 'month', 12, ['2025-02-28']],
  ['2025-03-30T01:30:00', 'day', 1, ['2025-03-31']],
  ['2024-12-31', 'month', 2, ['2025-02-28']],
  ['2025-01-01', 'week', 2, ['2025-01-15', '2025-01-29']],
];

for (const [start, unit, count, expected] of table) {
  test(`every ${count} ${unit} from ${start}: ${expected.join(', ')}`, async () => {
    const last = expected.at(-1);
    assert(last !== undefined);
    assert.deepEqual(await boundaries(start, unit, count, `${last}T23:00:00`), expected);
  });
}

test('the time of day stays to the millisecond', async () => {
  await app.setClock(instant('2025-03-30T01:30:00.250'));
  const { freeId } = await plans.newCustomer();
  await renewUntil(app, instant('2025-05-01'));
  const ends = (await periodsOf(app, freeId)).map((period) => new Date(period.endAt).toISOString());
  assert.deepEqual(ends, ['2025-04-30T01:30:00.250Z', '2025-05-30T01:30:00.250Z']);
});

test('at the end of the calendar nothing is due any more, so nothing is tried again and again', async () => {
  await app.setClock(instant('2025-01-01'));
  const { freeId } = await plans.newCustomer();
  await renewDue(app);
  await app.owner
    .updateTable('subscriptions')
    .set({ currentBillingPeriodEnd: calendarEnd, interimAt: null })
    .where('renews', '=', true)
    .execute();
  await app.setClock(calendarEnd);
  assert.equal(await renewDue(app), 0);
  assert.equal((await periodsOf(app, freeId)).length, 1);
});
