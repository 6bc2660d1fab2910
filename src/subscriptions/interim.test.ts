import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { boundary, calendarStart, type Interval, instant, intervalUnits } from '../kernel/calendar.ts';
import { grantSpans, type InterimSchedule, intervalsEndingAt, nextInterim, openPeriodStart } from './interim.ts';

const month: Interval = { unit: 'month', count: 1 };
const quarter: Interval = { unit: 'month', count: 3 };
const year = (start: string, change: Partial<InterimSchedule> = {}): InterimSchedule => ({
  startDate: instant(start),
  billingAnchor: 'anniversary',
  firstPeriod: 'short',
  trialEnd: null,
  intervalUnit: 'year',
  intervalCount: 1,
  billingCycleAnchorDate: instant(start),
  currentBillingPeriodStart: instant(start),
  currentBillingPeriodEnd: boundary(instant(start), { unit: 'year', count: 1 }, 1),
  interimAt: null,
  ...change,
});

/** All interims of the current period, in order. */
function interimsOf(schedule: InterimSchedule, intervals: readonly Interval[]): number[] {
  const found: number[] = [];
  let at = nextInterim(schedule, { ofUsage: intervals }, schedule.currentBillingPeriodStart ?? 0);
  for (; at !== null; at = nextInterim(schedule, { ofUsage: intervals }, at)) found.push(at);
  return found;
}

test('the months of a year from 31 January end on the last days of short months, and not with the year', () => {
  const days = ['2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31', '2026-06-30', '2026-07-31', '2026-08-31'];
  const more = ['2026-09-30', '2026-10-31', '2026-11-30', '2026-12-31'];
  assert.deepEqual(interimsOf(year('2026-01-31'), [month]), [...days, ...more].map(instant));
});

test('a trial, the interval of the plan itself and a plan that does not renew have no interims', () => {
  const trial = year('2026-01-31', { trialEnd: instant('2026-04-15'), currentBillingPeriodEnd: instant('2026-04-15') });
  assert.deepEqual(interimsOf(trial, [month]), []);
  assert.deepEqual(interimsOf(year('2026-01-31'), [{ unit: 'year', count: 1 }]), []);
  assert.deepEqual(interimsOf(year('2026-01-31', { intervalUnit: null, intervalCount: null }), [month]), []);
});

test('months and quarters end together each third month', () => {
  const schedule = year('2026-01-15');
  assert.deepEqual(intervalsEndingAt(schedule, [month, quarter], instant('2026-03-15')), [month]);
  assert.deepEqual(intervalsEndingAt(schedule, [month, quarter], instant('2026-04-15')), [month, quarter]);
  assert.deepEqual(intervalsEndingAt(schedule, [month, quarter], instant('2026-04-16')), []);
});

test('the open month is the one before the next boundary, until that is done', () => {
  const schedule = year('2026-01-31', { interimAt: instant('2026-03-31') });
  assert.equal(openPeriodStart(schedule, month), instant('2026-02-28'));
  assert.equal(openPeriodStart({ ...schedule, interimAt: null }, month), instant('2026-12-31'));
  // Half of the quarter is over, and the next boundary is of a month.
  assert.equal(openPeriodStart(schedule, quarter), instant('2026-01-31'));
});

test('usage before the first boundary belongs to a period that begins with the subscription', () => {
  const trial = { trialEnd: instant('2026-02-14'), currentBillingPeriodEnd: instant('2026-02-14') };
  assert.equal(openPeriodStart(year('2026-01-31', trial), month), instant('2026-01-31'));
});

test('credits by the interval of the plan come twice in a long first period, and its usage is billed once', () => {
  const long = year('2026-01-10', {
    intervalUnit: 'month',
    billingAnchor: 'calendar',
    firstPeriod: 'long',
    billingCycleAnchorDate: instant('2026-01-01'),
    currentBillingPeriodEnd: instant('2026-03-01'),
  });
  assert.equal(nextInterim(long, { ofUsage: [month] }, instant('2026-01-10')), null);
  assert.equal(nextInterim(long, { ofUsage: [], ofCredits: [month] }, instant('2026-01-10')), instant('2026-02-01'));
});

test('the parts for which credits are granted tile the billing period, each within its interval', () => {
  const intervals = fc.record({ unit: fc.constantFrom(...intervalUnits), count: fc.integer({ min: 1, max: 20 }) });
  const begins = fc.integer({ min: instant('2020-01-01'), max: instant('2030-12-31') });
  fc.assert(
    fc.property(begins, fc.nat(300), intervals, (anchor, days, interval) => {
      const schedule = year(new Date(anchor).toISOString());
      const period = { startAt: anchor + days * 86_400_000, endAt: anchor + (days + 400) * 86_400_000 };
      const spans = grantSpans(schedule, period, interval, { from: calendarStart, upTo: period.endAt });
      assert.deepEqual(
        spans.map(({ start }) => start),
        [period.startAt, ...spans.slice(0, -1).map(({ end }) => end)],
      );
      assert.equal(spans.at(-1)?.end, period.endAt);
      for (const { start, end, whole } of spans) assert.ok(whole.start <= start && start < end && end <= whole.end);
    }),
    { numRuns: 60 },
  );
});

test('the usage periods of any interval tile the billing period', () => {
  const intervals = fc.record({ unit: fc.constantFrom(...intervalUnits), count: fc.integer({ min: 1, max: 20 }) });
  const begins = fc.integer({ min: instant('2020-01-01'), max: instant('2030-12-31') });
  fc.assert(
    fc.property(begins, intervals, (start, interval) => {
      const schedule = year(new Date(start).toISOString());
      const ends = [...interimsOf(schedule, [interval]), schedule.currentBillingPeriodEnd ?? 0];
      const starts = ends.map((end) => openPeriodStart({ ...schedule, interimAt: end }, interval));
      assert.deepEqual(starts, [start, ...ends.slice(0, -1)]);
      for (const at of ends.slice(0, -1)) assert.deepEqual(intervalsEndingAt(schedule, [interval], at), [interval]);
    }),
    { numRuns: 60 },
  );
});
