import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addDays, instant } from '../kernel/calendar.ts';
import { fairValue } from '../rating/proration.ts';
import { changeSegments, decideAnchor, decideTiming, headOf, type ItemSpan, wholeOf } from './adjustment.ts';

// April has 30 days, so 3000 a month is 100 a day.
const april = {
  startAt: instant('2026-04-01'),
  endAt: instant('2026-05-01'),
  wholeStartAt: null as number | null,
};
const day = (elapsed: number) => addDays(april.startAt, elapsed);
const span = (unitPrice: bigint, from: number, to: number | null, quantity = 1): ItemSpan => ({
  subscriptionId: 'sub',
  unitPrice,
  quantity,
  startAt: day(from),
  endAt: to === null ? null : day(to),
});
const item = (unitPrice: bigint, quantity = 1) => ({ unitPrice, quantity });
const worth = (history: ItemSpan[], items: ReturnType<typeof item>[], at: number, period = april) =>
  fairValue(changeSegments(history, items, period, day(at)), wholeOf({ ...period, wholeEndAt: null }));

test('worked examples A1 to A5, A8, A9 and A11: what a period with a change is worth', () => {
  assert.equal(worth([span(3000n, 0, null)], [item(6000n)], 10), 5000n, 'A1');
  assert.equal(worth([span(3000n, 0, null)], [item(6000n)], 25), 3500n, 'A2');
  assert.equal(worth([span(6000n, 0, null)], [item(3000n)], 10), 4000n, 'A3');
  assert.equal(worth([span(100n, 0, null)], [item(200n)], 15), 150n, 'A4');
  assert.equal(worth([span(3000n, 0, 10), span(6000n, 10, null)], [item(9000n)], 20), 6000n, 'A5');
  assert.equal(worth([span(999n, 0, null)], [item(1999n)], 10), 1666n, 'A8');
  assert.equal(worth([span(1000n, 0, null, 2)], [item(1000n, 5)], 15), 3500n, 'A9');
  assert.equal(worth([span(3000n, 0, null)], [item(6000n)], 15), 4500n, 'A11');
});

test('a stretch in which nothing changes is one segment, and nothing at all is none', () => {
  const history = [span(1000n, -30, null), span(2000n, 5, 10), span(500n, 0, 0)];
  assert.deepEqual(changeSegments(history, [item(1000n), item(500n, 2)], april, day(20)), [
    { start: day(0), end: day(5), value: 1000n },
    { start: day(5), end: day(10), value: 3000n },
    { start: day(10), end: day(20), value: 1000n },
    { start: day(20), end: day(30), value: 2000n },
  ]);
  assert.deepEqual(changeSegments([], [item(0n)], april, day(10)), []);
});

test('the rest of an interval is worth its share of the whole price', () => {
  const rest = { ...april, startAt: day(15), wholeStartAt: day(0) };
  assert.equal(worth([span(3000n, 0, null)], [item(6000n)], 20, rest), 500n + 2000n);
});

test('segments lie in their period and do not overlap, whatever the history was', () => {
  const days = fc.integer({ min: -40, max: 29 });
  const anySpan = fc.tuple(fc.bigInt({ min: 0n, max: 9n }), days, fc.nat(40)).map(([price, from, length]) => ({
    ...span(price, from, from + length),
  }));
  fc.assert(
    fc.property(fc.array(anySpan), fc.integer({ min: 0, max: 30 }), (history, at) => {
      const past = history.filter((each) => each.startAt <= day(at));
      const segments = changeSegments(past, [item(5n)], april, day(at));
      let end = april.startAt;
      for (const segment of segments) {
        assert.ok(segment.start >= end && segment.end > segment.start && segment.end <= april.endAt);
        end = segment.end;
      }
    }),
  );
});

test('auto makes a dearer or equal plan now, and a cheaper one at the end of the period; a named time is obeyed', () => {
  const timing = (currentTotal: bigint, newTotal: bigint) => decideTiming('auto', { currentTotal, newTotal });
  const atEnd = 'at_end_of_current_billing_period';
  assert.deepEqual([timing(1n, 2n), timing(2n, 2n), timing(2n, 1n)], ['immediately', 'immediately', atEnd]);
  assert.equal(decideTiming(atEnd, { currentTotal: 1n, newTotal: 2n }), atEnd);
  assert.throws(() => decideTiming(atEnd, { currentTotal: 0n, newTotal: 1n }), /must be made immediately/);
  assert.equal(decideTiming('immediately', { currentTotal: 2n, newTotal: 1n }), 'immediately');
});

test('another interval begins a period at once, except in a trial, and is charged', () => {
  const now = { takesInterval: true, timing: 'immediately', isTrial: false } as const;
  assert.equal(decideAnchor({}, now), 'now');
  assert.equal(decideAnchor({ billingAnchor: 'unchanged' }, now), 'unchanged');
  assert.equal(decideAnchor({ billingAnchor: 'unchanged' }, { ...now, isTrial: true }), null);
  assert.equal(decideAnchor({}, { ...now, takesInterval: false }), null);
  assert.equal(decideAnchor({ billingAnchor: 'now' }, { ...now, timing: 'at_end_of_current_billing_period' }), null);
  const within = { ...now, takesInterval: false };
  assert.throws(() => decideAnchor({ billingAnchor: 'now' }, within), /leave it out/);
  assert.throws(() => decideAnchor({ prorateCurrentBillingPeriod: false }, now), /begins a new period now/);
});

test('the item that costs most heads a plan, and of equal ones the newest', () => {
  const items = [
    { name: 'old', ...item(3000n) },
    { name: 'many', ...item(1000n, 4) },
    { name: 'new', ...item(2000n, 2) },
  ];
  assert.equal(headOf(items).name, 'new');
  assert.equal(headOf(items.slice(0, 2)).name, 'many');
});
