import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { calendarEnd, type Instant, type Interval, instant, msPerDay } from '../kernel/calendar.ts';
import type { Problem } from '../kernel/problem.ts';
import type { AnchorRule, FirstPeriod } from '../organizations/setting.ts';
import { anchorOf, anchorTerms, periodFrom } from './billing-anchor.ts';
import { nextPeriod, type PeriodSchedule, periodsEnd } from './billing-period.ts';

const month: Interval = { unit: 'month', count: 1 };
const quarter: Interval = { unit: 'month', count: 3 };
const week: Interval = { unit: 'week', count: 1 };
const year: Interval = { unit: 'year', count: 1 };
const text = (at: Instant | null) => at && new Date(at).toISOString().slice(0, 10);

const schedule = (rule: AnchorRule, interval: Interval, start: Instant, firstPeriod: FirstPeriod): PeriodSchedule => ({
  startDate: start,
  trialEnd: null,
  billingAnchor: rule,
  firstPeriod,
  billingCycleAnchorDate: anchorOf(rule, interval, start) ?? start,
  intervalUnit: interval.unit,
  intervalCount: interval.count,
});

/** The first days of the first `count` periods, and the end of the last. */
function boundaries(rule: AnchorRule, interval: Interval, startText: string, firstPeriod: FirstPeriod = 'short') {
  const start = instant(startText);
  const terms = schedule(rule, interval, start, firstPeriod);
  const found = [start];
  for (let end = start; found.length < 5; found.push(end)) {
    const next = nextPeriod({ ...terms, currentBillingPeriodEnd: end });
    assert(next);
    end = next.end;
  }
  return found.map(text).join(' ');
}

const table: readonly (readonly [string, AnchorRule, Interval, string])[] = [
  ['the first of the month', 'calendar', month, '2026-11-10 2026-12-01 2027-01-01 2027-02-01 2027-03-01'],
  ['the first of the quarter', 'calendar', quarter, '2026-11-10 2027-01-01 2027-04-01 2027-07-01 2027-10-01'],
  ['Monday', 'calendar', week, '2026-11-10 2026-11-16 2026-11-23 2026-11-30 2026-12-07'],
  ['1 January', 'calendar', year, '2026-11-10 2027-01-01 2028-01-01 2029-01-01 2030-01-01'],
  ['the 15th', { day: 15 }, month, '2026-11-10 2026-11-15 2026-12-15 2027-01-15 2027-02-15'],
  ['the 5th, by the quarter', { day: 5 }, quarter, '2026-11-10 2026-12-05 2027-03-05 2027-06-05 2027-09-05'],
  ['the 31st', { day: 31 }, month, '2026-11-10 2026-11-30 2026-12-31 2027-01-31 2027-02-28'],
  ['the 31st of February', { day: 31 }, year, '2027-02-10 2027-02-28 2028-02-29 2029-02-28 2030-02-28'],
  ['the 30th, of February too', { day: 30 }, month, '2027-01-31 2027-02-28 2027-03-30 2027-04-30 2027-05-30'],
];

for (const [name, rule, interval, expected] of table) {
  test(`periods that are counted from ${name} begin on ${expected}`, () => {
    assert.equal(boundaries(rule, interval, expected.slice(0, 10)), expected);
  });
}

test('a start on the boundary has a whole first period, whether it would be short or long', () => {
  for (const firstPeriod of ['short', 'long'] as const) {
    assert.equal(boundaries('calendar', month, '2026-11-01', firstPeriod).slice(0, 21), '2026-11-01 2026-12-01');
    assert.equal(boundaries({ day: 15 }, month, '2026-11-15', firstPeriod).slice(0, 21), '2026-11-15 2026-12-15');
  }
});

test('a long first period lasts to the boundary after the next, and later ones are as long as any other', () => {
  const days = boundaries('calendar', month, '2026-11-10', 'long');
  assert.equal(days, '2026-11-10 2027-01-01 2027-02-01 2027-03-01 2027-04-01');
  const first = periodFrom(instant('2026-11-10'), instant('2026-11-01'), month, 'long');
  // 52 days at the price of 31.
  assert.deepEqual([text(first.wholeStartAt), (first.end - first.start) / msPerDay], ['2026-12-01', 52]);
});

test('after a trial until 20 November the first paid period is the rest of the month, or that and the next month', () => {
  const trialEnd = instant('2026-11-20');
  const paid = (firstPeriod: FirstPeriod) => {
    const terms = { ...schedule('calendar', month, trialEnd, firstPeriod), startDate: instant('2026-11-06'), trialEnd };
    const tried = nextPeriod({ ...terms, currentBillingPeriodEnd: terms.startDate });
    assert.deepEqual(tried, { start: terms.startDate, end: trialEnd, wholeStartAt: null });
    const next = nextPeriod({ ...terms, currentBillingPeriodEnd: trialEnd });
    return [text(next?.wholeStartAt ?? null), text(next?.end ?? null), text(periodsEnd(terms, terms.startDate, 3))];
  };
  assert.deepEqual(paid('short'), ['2026-11-01', '2026-12-01', '2027-01-01']);
  assert.deepEqual(paid('long'), ['2026-12-01', '2027-01-01', '2027-02-01']);
});

test('a day is for months and years: one that is asked for is refused by the week, and that of the settings does not count', () => {
  const settings = { billingAnchor: { day: 5 }, firstPeriod: 'long' } as const;
  const refusedAs = (path: string) => (error: Problem) => error.issues[0]?.path.join('.') === path;
  assert.throws(() => anchorTerms({ billingAnchor: { day: 5 } }, settings, week), refusedAs('billingAnchor.day'));
  assert.throws(() => anchorTerms({ firstPeriod: 'long' }, settings, null), refusedAs('firstPeriod'));
  assert.deepEqual(anchorTerms({}, settings, week), { billingAnchor: 'anniversary', firstPeriod: 'long' });
  assert.deepEqual(anchorTerms({ firstPeriod: 'short' }, settings, year), { ...settings, firstPeriod: 'short' });
});

const instants = fc.integer({ min: instant('1890-01-01'), max: instant('2200-01-01') });
const rules = fc.oneof(
  fc.constantFrom('anniversary' as const, 'calendar' as const),
  fc.record({ day: fc.integer({ min: 1, max: 31 }) }),
);
const intervals = fc.record({
  unit: fc.constantFrom('day' as const, 'week' as const, 'month' as const, 'year' as const),
  count: fc.integer({ min: 1, max: 40 }),
});

test('periods follow each other without a gap, each begins on its day, and none is longer than two intervals', () => {
  fc.assert(
    fc.property(rules, intervals, instants, fc.constantFrom('short', 'long'), (rule, interval, start, first) => {
      const terms = schedule(rule, interval, start, first);
      let end = start;
      for (let index = 0; index < 4; index += 1) {
        const next = nextPeriod({ ...terms, currentBillingPeriodEnd: end });
        assert(next);
        assert(next.start === end && next.end > end);
        // Only the first one is a part.
        assert(index === 0 || next.wholeStartAt === null);
        end = next.end;
        assert.equal(periodsEnd(terms, start, index + 1), end);
        if (rule === 'anniversary') continue;
        const date = Temporal.Instant.fromEpochMilliseconds(end).toZonedDateTimeISO('UTC');
        if (typeof rule === 'object' && (interval.unit === 'month' || interval.unit === 'year'))
          assert.equal(date.day, Math.min(rule.day, date.daysInMonth));
        if (rule !== 'calendar') continue;
        assert(end % msPerDay === 0);
        if (interval.unit === 'week') assert.equal(date.dayOfWeek, 1);
        if (interval.unit === 'month' || interval.unit === 'year') assert.equal(date.day, 1);
        if (interval.unit === 'year') assert.equal(date.month, 1);
      }
    }),
  );
});

test('an anchor lies in the calendar, also for a start at its end', () => {
  for (const rule of ['calendar', { day: 31 }] as const) {
    const last = anchorOf(rule, { unit: 'year', count: 1_000_000 }, calendarEnd - 1);
    assert(last !== null && last < calendarEnd);
    const trialEnd = anchorOf(rule, month, calendarEnd);
    assert(trialEnd !== null && trialEnd < calendarEnd);
  }
});
