import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addDays, instant } from '../kernel/calendar.ts';
import { amountOf, type Pricing } from '../pricing/pricing.ts';
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
  priceId: 'price',
  unitPrice,
  pricing: null,
  quantity,
  startAt: day(from),
  endAt: to === null ? null : day(to),
});
const item = (unitPrice: bigint, quantity = 1) => ({ priceId: 'price', unitPrice, pricing: null, quantity });
const worth = (history: ItemSpan[], items: ReturnType<typeof item>[], at: number, period = april) =>
  fairValue(changeSegments(history, items, period, day(at), 1n), wholeOf({ ...period, wholeEndAt: null }));

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
  assert.deepEqual(changeSegments(history, [item(1000n), item(500n, 2)], april, day(20), 1n), [
    { start: day(0), end: day(5), value: 1000n },
    { start: day(5), end: day(10), value: 3000n },
    { start: day(10), end: day(20), value: 1000n },
    { start: day(20), end: day(30), value: 2000n },
  ]);
  assert.deepEqual(changeSegments([], [item(0n)], april, day(10), 1n), []);
});

test('a quantity in tiers is worth its price for its share of the time, and its segments tell of what they are made', () => {
  // Up to 10 seats cost 10.00 each, and all of more than 10 cost 8.00 each.
  const pricing: Pricing = {
    model: 'volume',
    tiers: [
      { upTo: 10, unitAmount: '1000' },
      { upTo: null, unitAmount: '800' },
    ],
  };
  const seats = { priceId: 'seats', unitPrice: 0n, pricing };
  const history = [{ ...span(0n, 0, null), ...seats, quantity: 10 }];
  const segments = changeSegments(history, [{ ...seats, quantity: 12 }, item(300n)], april, day(15), 1n);
  const itemOf = (quantity: number, value: bigint) => ({ priceId: 'seats', unitPrice: 0n, quantity, value });
  assert.deepEqual(segments, [
    { start: day(0), end: day(15), value: 10_000n, items: [itemOf(10, 10_000n)] },
    {
      ...{ start: day(15), end: day(30), value: 9900n },
      items: [itemOf(12, 9600n), { priceId: 'price', unitPrice: 300n, quantity: 1, value: 300n }],
    },
  ]);
  assert.equal(fairValue(segments, wholeOf({ ...april, wholeEndAt: null })), 5000n + 4950n);
});

test('a price by a pricing is rounded once, to what its currency is charged in', () => {
  const third = { unitPrice: 0n, pricing: { model: 'per_unit', unitAmount: '33.333333333333' } as const };
  assert.deepEqual(
    [0, 1, 3, 1_000_000].map((quantity) => amountOf(third, quantity, 1n)),
    [0n, 33n, 100n, 33_333_333n],
  );
  assert.deepEqual([amountOf(third, 1, 10n), amountOf({ unitPrice: 33n, pricing: null }, 3, 10n)], [30n, 99n]);
  // A fee counts also where all of the quantity is free.
  const fee = {
    model: 'per_unit',
    unitAmount: '100',
    freeUnits: 3,
    minimumAmount: '50',
    maximumAmount: '250',
  } as const;
  assert.deepEqual(
    [1, 3, 4, 5, 6].map((quantity) => amountOf({ unitPrice: 0n, pricing: fee }, quantity, 1n)),
    [50n, 50n, 100n, 200n, 250n],
  );
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
      const segments = changeSegments(past, [item(5n)], april, day(at), 1n);
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

test('the item that costs most heads a plan, and of equal ones the newest; an add-on never does', () => {
  const items = [
    { name: 'old', addOn: false, ...item(3000n) },
    { name: 'many', addOn: false, ...item(1000n, 4) },
    { name: 'new', addOn: false, ...item(2000n, 2) },
    { name: 'support', addOn: true, ...item(9000n) },
  ];
  assert.equal(headOf(items).name, 'new');
  assert.equal(headOf(items.slice(0, 2)).name, 'many');
});
