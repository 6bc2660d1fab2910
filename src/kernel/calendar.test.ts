import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Interval, IntervalUnit } from './calendar.ts';
import {
  addDays,
  boundary,
  calendarEnd,
  calendarStart,
  instant,
  intervalUnits,
  msPerDay,
  periodAt,
} from './calendar.ts';

const every = (count: number, unit: IntervalUnit): Interval => ({ unit, count });

const anchors = fc.integer({ min: instant('1890-01-01'), max: instant('2190-01-01') });
const intervals = fc.record({ unit: fc.constantFrom(...intervalUnits), count: fc.integer({ min: 1, max: 40 }) });
const indexes = fc.integer({ min: -500, max: 500 });

test('boundaries count from the anchor: the month end comes back, 29 February too', () => {
  const rows: [anchor: string, interval: Interval, boundaries: string[]][] = [
    ['2024-01-31', every(1, 'month'), ['2024-02-29', '2024-03-31', '2024-04-30', '2024-05-31']],
    ['2023-01-30', every(1, 'month'), ['2023-02-28', '2023-03-30', '2023-04-30']],
    ['2023-08-31', every(3, 'month'), ['2023-11-30', '2024-02-29']],
    ['2024-02-29', every(1, 'year'), ['2025-02-28', '2026-02-28', '2027-02-28', '2028-02-29']],
    ['2024-02-29', every(12, 'month'), ['2025-02-28']],
    ['2025-03-30T01:30', every(1, 'day'), ['2025-03-31T01:30']],
    ['2024-12-31', every(2, 'month'), ['2025-02-28']],
    ['2025-01-01', every(1, 'week'), ['2025-01-08', '2025-01-15']],
  ];
  for (const [anchor, interval, expected] of rows) {
    const found = expected.map((_, index) => boundary(instant(anchor), interval, index + 1));
    assert.deepEqual(found, expected.map(instant), `${anchor} every ${interval.count} ${interval.unit}`);
  }
});

test('boundary 0 is the anchor, and boundaries before it clamp as those after it', () => {
  const anchor = instant('2024-03-31');
  const found = [0, -1, -2, -3].map((n) => boundary(anchor, every(1, 'month'), n));
  assert.deepEqual(found, ['2024-03-31', '2024-02-29', '2024-01-31', '2023-12-31'].map(instant));
  assert.equal(boundary(instant('2024-02-29'), every(1, 'year'), -4), instant('2020-02-29'));
  assert.equal(boundary(instant('2024-03-02'), every(2, 'day'), -1), instant('2024-02-29'));
});

test('the time of day is kept to the millisecond', () => {
  const anchor = instant('2024-01-31T23:59:59.999Z');
  assert.equal(boundary(anchor, every(1, 'month'), 1), instant('2024-02-29T23:59:59.999Z'));
  assert.equal(boundary(anchor, every(1, 'week'), 1), instant('2024-02-07T23:59:59.999Z'));
});

test('2100 is no leap year', () => {
  const anchor = instant('2096-02-29');
  const found = [4, 8].map((n) => boundary(anchor, every(1, 'year'), n));
  assert.deepEqual(found, ['2100-02-28', '2104-02-29'].map(instant));
});

test('a period holds its start and not its end', () => {
  const anchor = instant('2026-01-31');
  const monthly = every(1, 'month');
  const february = { index: 1, start: instant('2026-02-28'), end: instant('2026-03-31') };
  assert.deepEqual(periodAt(anchor, monthly, february.start), february);
  assert.deepEqual(periodAt(anchor, monthly, instant('2026-03-30')), february);
  assert.deepEqual(periodAt(anchor, monthly, february.end - 1), february);
  assert.equal(periodAt(anchor, monthly, february.end).index, 2);
  assert.equal(periodAt(anchor, monthly, february.start - 1).index, 0);
});

test('before the anchor the index is negative', () => {
  const found = periodAt(instant('2026-01-31'), every(1, 'month'), instant('2026-01-30'));
  assert.deepEqual(found, { index: -1, start: instant('2025-12-31'), end: instant('2026-01-31') });
  const week = periodAt(instant('2026-01-08'), every(1, 'week'), instant('2025-12-31'));
  assert.deepEqual(week, { index: -2, start: instant('2025-12-25'), end: instant('2026-01-01') });
});

test('a day is found after ten thousand years as after one', () => {
  const found = periodAt(0, every(1, 'day'), 3_652_425 * msPerDay + 1);
  assert.deepEqual(found, { index: 3_652_425, start: 3_652_425 * msPerDay, end: 3_652_426 * msPerDay });
});

test('addDays moves by days of 24 hours, both ways', () => {
  assert.equal(addDays(instant('2024-02-28T10:00Z'), 2), instant('2024-03-01T10:00Z'));
  assert.equal(addDays(instant('2024-03-01'), -1), instant('2024-02-29'));
  assert.equal(addDays(instant('2024-03-01'), 0), instant('2024-03-01'));
});

test('beyond the end of the calendar lies the end, so that every legal count has an answer', () => {
  const anchor = instant('2026-01-31');
  assert.equal(addDays(anchor, 4_503_599_627_370_495), calendarEnd);
  assert.equal(addDays(anchor, -4_503_599_627_370_495), calendarStart);
  for (const unit of intervalUnits) {
    const interval = every(Number.MAX_SAFE_INTEGER, unit);
    assert.deepEqual(periodAt(anchor, interval, anchor), { index: 0, start: anchor, end: calendarEnd });
    assert.deepEqual(periodAt(anchor, interval, anchor - 1), { index: -1, start: calendarStart, end: anchor });
  }
});

test('the calendar can be used up to its last millisecond', () => {
  // Counted from the 2nd of a month, the last month and the first reach over the ends.
  const anchor = instant('1970-01-02');
  for (const unit of intervalUnits) {
    assert.equal(periodAt(anchor, every(1, unit), calendarEnd - 1).end, calendarEnd);
    assert.equal(periodAt(anchor, every(1, unit), calendarStart).start, calendarStart);
  }
});

test('an interval of nothing, a fraction of a millisecond and an instant outside the calendar are bugs', () => {
  for (const count of [0, -1, 1.5, Number.NaN]) {
    assert.throws(() => boundary(0, every(count, 'month'), 1), assert.AssertionError);
  }
  assert.throws(() => boundary(0, every(1, 'month'), 0.5), assert.AssertionError);
  assert.throws(() => boundary(0.5, every(1, 'month'), 1), assert.AssertionError);
  assert.throws(() => boundary(calendarEnd, every(1, 'month'), 1), assert.AssertionError);
  assert.throws(() => periodAt(0, every(1, 'day'), calendarEnd), assert.AssertionError);
  assert.throws(() => periodAt(calendarStart - 1, every(1, 'month'), 0), assert.AssertionError);
  assert.throws(() => addDays(0, 0.5), assert.AssertionError);
});

test('text without an offset is UTC, and an offset counts', () => {
  assert.equal(instant('1970-01-02'), msPerDay);
  assert.equal(instant('1970-01-01T00:00:00.001'), 1);
  assert.equal(instant('1970-01-01T02:00:00+02:00'), 0);
  assert.equal(instant('1969-12-31T19:00-0500'), 0);
  assert.equal(instant('1970-01-02T00:00:00.000Z'), msPerDay);
});

test('an unreadable text or a day that does not exist is a bug', () => {
  for (const text of ['', 'tomorrow', '2026-02-31', '2026-13-01', '2026-01-31T25:00Z', '1769817600000']) {
    assert.throws(() => instant(text), assert.AssertionError, text);
  }
});

test('an instant printed and read again is the same', () => {
  fc.assert(fc.property(anchors, (at) => assert.equal(instant(new Date(at).toISOString()), at)));
});

test('periods tile time: each ends where the next starts, and runs forward', () => {
  fc.assert(
    fc.property(anchors, intervals, indexes, (anchor, interval, n) => {
      const [start, end] = [boundary(anchor, interval, n), boundary(anchor, interval, n + 1)];
      assert(start < end);
      assert.deepEqual(periodAt(anchor, interval, start), { index: n, start, end });
      assert.equal(periodAt(anchor, interval, end - 1).index, n);
      assert.equal(periodAt(anchor, interval, end).index, n + 1);
    }),
  );
});

test('every instant lies in the period that is found for it', () => {
  fc.assert(
    fc.property(anchors, intervals, anchors, (anchor, interval, at) => {
      const { index, start, end } = periodAt(anchor, interval, at);
      assert(start <= at && at < end);
      assert.deepEqual([start, end], [boundary(anchor, interval, index), boundary(anchor, interval, index + 1)]);
    }),
  );
});

test('a month boundary falls on the day of the anchor or, where that is missing, on the last of the month', () => {
  fc.assert(
    fc.property(anchors, fc.constantFrom('month', 'year'), indexes, (anchor, unit, n) => {
      const from = new Date(anchor);
      const found = new Date(boundary(anchor, every(1, unit), n));
      const months = from.getUTCMonth() + (unit === 'year' ? 12 * n : n);
      // Day 0 of the following month is the last day of the wanted one.
      const lastOfMonth = new Date(Date.UTC(from.getUTCFullYear(), months + 1, 0));
      assert.equal(found.getUTCFullYear(), lastOfMonth.getUTCFullYear());
      assert.equal(found.getUTCMonth(), lastOfMonth.getUTCMonth());
      assert.equal(found.getUTCDate(), Math.min(from.getUTCDate(), lastOfMonth.getUTCDate()));
      assert.equal(found.toISOString().slice(-13), from.toISOString().slice(-13));
    }),
  );
});

test('twelve months are a year and seven days a week', () => {
  fc.assert(
    fc.property(anchors, indexes, fc.integer({ min: 1, max: 20 }), (anchor, n, count) => {
      assert.equal(boundary(anchor, every(12 * count, 'month'), n), boundary(anchor, every(count, 'year'), n));
      assert.equal(boundary(anchor, every(7 * count, 'day'), n), boundary(anchor, every(count, 'week'), n));
    }),
  );
});
