import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundary, calendarEnd, type Instant, type Interval, instant, type Period } from '../kernel/calendar.ts';
import { intervalPeriod, nextPeriod, periodsEnd } from './billing-period.ts';

const month: Interval = { unit: 'month', count: 1 };
const days = ({ start, end }: Period) => [start, end].map((at) => new Date(at).toISOString().slice(0, 10));

const anniversary = { startDate: 0, billingAnchor: 'anniversary', firstPeriod: 'short' } as const;

/** The first period: the trial, or one interval from the start. */
function firstPeriod(start: Instant, trialEnd: Instant | null, interval: Interval): Period {
  return { start, end: trialEnd ?? boundary(start, interval, 1) };
}

/** The first `count` periods, each made from the one before it, as renewals do. */
function periods(startText: string, interval: Interval, count: number, trialEnd: Instant | null = null): string[][] {
  const start = instant(startText);
  const found = [firstPeriod(start, trialEnd, interval)];
  while (found.length < count) {
    const next = nextPeriod({
      ...anniversary,
      trialEnd,
      billingCycleAnchorDate: start,
      intervalUnit: interval.unit,
      intervalCount: interval.count,
      currentBillingPeriodEnd: found.at(-1)?.end ?? null,
    });
    assert(next);
    found.push(next);
  }
  return found.map(days);
}

test('a plan begun on 31 January ends its months on the last day, and on the 31st where there is one', () => {
  assert.deepEqual(periods('2026-01-31', month, 4), [
    ['2026-01-31', '2026-02-28'],
    ['2026-02-28', '2026-03-31'],
    ['2026-03-31', '2026-04-30'],
    ['2026-04-30', '2026-05-31'],
  ]);
});

test('worked example T1: after a trial of 14 days the months count from its end', () => {
  assert.deepEqual(periods('2025-01-01', month, 3, instant('2025-01-15')), [
    ['2025-01-01', '2025-01-15'],
    ['2025-01-15', '2025-02-15'],
    ['2025-02-15', '2025-03-15'],
  ]);
});

test('every interval unit works, with any count', () => {
  assert.deepEqual(periods('2025-01-01', { unit: 'week', count: 1 }, 2), [
    ['2025-01-01', '2025-01-08'],
    ['2025-01-08', '2025-01-15'],
  ]);
  assert.deepEqual(periods('2024-12-31', { unit: 'day', count: 10 }, 1), [['2024-12-31', '2025-01-10']]);
  assert.deepEqual(periods('2024-02-29', { unit: 'year', count: 2 }, 2), [
    ['2024-02-29', '2026-02-28'],
    ['2026-02-28', '2028-02-29'],
  ]);
});

test('nothing follows the end of the calendar, and nothing that does not renew', () => {
  const endless = firstPeriod(instant('2026-01-01'), null, { unit: 'year', count: Number.MAX_SAFE_INTEGER });
  assert.equal(endless.end, calendarEnd);
  const schedule = {
    ...anniversary,
    trialEnd: null,
    billingCycleAnchorDate: 0,
    intervalUnit: 'year',
    intervalCount: 1,
  } as const;
  assert.equal(nextPeriod({ ...schedule, currentBillingPeriodEnd: calendarEnd }), null);
  assert.equal(nextPeriod({ ...schedule, currentBillingPeriodEnd: null }), null);
  assert.equal(nextPeriod({ ...schedule, intervalUnit: null, intervalCount: null, currentBillingPeriodEnd: 5 }), null);
});

test('the end of so many periods is where as many renewals lead, also from within an interval and through a trial', () => {
  const start = instant('2026-01-31');
  const monthly = {
    ...anniversary,
    trialEnd: null,
    billingCycleAnchorDate: start,
    intervalUnit: 'month',
    intervalCount: 1,
  } as const;
  const end = (from: string, count: number, trialEnd: Instant | null = null) =>
    days({ start: 0, end: periodsEnd({ ...monthly, trialEnd }, instant(from), count) })[1];
  assert.equal(end('2026-01-31', 1), '2026-02-28');
  assert.equal(end('2026-01-31', 3), '2026-04-30');
  // The rest of an interval is the first period.
  assert.equal(end('2026-02-10', 1), '2026-02-28');
  assert.equal(end('2026-02-10', 2), '2026-03-31');
  // A trial until 10 February is one; then come those of its end.
  assert.equal(end('2026-01-31', 1, instant('2026-02-10')), '2026-02-10');
  assert.equal(end('2026-01-31', 2, instant('2026-02-10')), '2026-03-10');
  assert.equal(end('2026-02-10', 1, instant('2026-02-10')), '2026-03-10');
  const millennia = { ...monthly, intervalUnit: 'year', intervalCount: 10_000 } as const;
  assert.equal(periodsEnd(millennia, start, 100), calendarEnd);
  assert.equal(periodsEnd(monthly, calendarEnd, 1), calendarEnd);
});

const monthly = {
  ...anniversary,
  billingCycleAnchorDate: instant('2026-04-01'),
  trialEnd: null,
  intervalUnit: 'month',
  intervalCount: 1,
} as const;
const year: Interval = { unit: 'year', count: 1 };
const change = instant('2026-04-16');

test('the new period is whole from the change, or the rest of the interval of the present anchor', () => {
  const whole = { start: change, end: instant('2027-04-16'), wholeStartAt: null };
  assert.deepEqual(intervalPeriod(monthly, year, { anchor: 'now', at: change }), whole);
  const rest = { start: change, end: instant('2027-04-01'), wholeStartAt: instant('2026-04-01') };
  assert.deepEqual(intervalPeriod(monthly, year, { anchor: 'unchanged', at: change }), rest);
});

test('a change on a boundary of the present anchor begins a whole period', () => {
  const start = instant('2027-04-01');
  const period = { start, end: instant('2028-04-01'), wholeStartAt: null };
  assert.deepEqual(intervalPeriod(monthly, year, { anchor: 'unchanged', at: start }), period);
});

test('after a trial the count begins at its end', () => {
  const tried = { ...monthly, trialEnd: instant('2026-04-10') };
  const { end, wholeStartAt } = intervalPeriod(tried, year, { anchor: 'unchanged', at: change });
  assert.deepEqual([end, wholeStartAt], [instant('2027-04-10'), instant('2026-04-10')]);
});
