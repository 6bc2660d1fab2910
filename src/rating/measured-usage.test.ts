import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Instant, instant, msPerDay } from '../kernel/calendar.ts';
import {
  addMeasured,
  billMeasured,
  compareDated,
  type Measure,
  type MeasuredCharge,
  type MeasuredEnd,
  type MeasuredEvent,
  type MeasuredSoFar,
  type MeasuredUnits,
  measuredText,
  measureUsage,
  openMeasured,
  type Proration,
} from './measured-usage.ts';

// April has 30 days, and so 720 hours.
const april = { start: instant('2026-04-01'), end: instant('2026-05-01') };
const msPerHour = 3_600_000;
let count = 0;
const at = (date: Instant, amount: number): MeasuredEvent => {
  count += 1;
  return { date, id: String(count).padStart(9, '0'), amount: BigInt(amount) };
};
const on = (day: number, amount: number): MeasuredEvent => at(april.start + (day - 1) * msPerDay, amount);
const standing = (proration: Proration) => ({ kind: 'standing', proration }) as const;

/** A period, the value that it opens with and all of its events. */
interface Events extends MeasuredEnd {
  readonly start: Instant;
  readonly opening: bigint;
  readonly events: readonly MeasuredEvent[];
}
const during = (opening: number, ...events: MeasuredEvent[]): Events => {
  return { ...april, whole: april, opening: BigInt(opening), events };
};

/** The events around one, found among all that arrived before. */
function aroundIn(known: readonly MeasuredEvent[], event: MeasuredEvent) {
  const ordered = known.toSorted(compareDated);
  const before = ordered.findLast((each) => compareDated(each, event) < 0) ?? null;
  const after = ordered.find((each) => compareDated(each, event) > 0);
  assert(after, 'a late event has one after it');
  return { before, after };
}

/** The units of a period whose events are added in these batches. */
function addAll(measure: Measure, period: Events, batches: readonly (readonly MeasuredEvent[])[]): MeasuredSoFar {
  const opening = measure.kind === 'max' || measure.kind === 'latest' ? 0n : period.opening;
  const known: MeasuredEvent[] = [];
  let soFar: MeasuredSoFar = { ...openMeasured(period.start), opening, value: opening };
  for (const batch of batches) {
    const before = [...known];
    soFar = addMeasured(measure, soFar, batch, { ...period, around: (event) => aroundIn(before, event) });
    known.push(...batch);
  }
  return soFar;
}

const unitsOf = (measure: Measure, period: Events) =>
  measureUsage(measure, addAll(measure, period, [period.events]), period);

/** The units by all events, held value by held value. */
function unitsByHand(measure: Measure, { start, end, whole, opening, events }: Events): [units: bigint, per: bigint] {
  const ordered = events.toSorted(compareDated);
  if (measure.kind === 'max') return [ordered.reduce((most, { amount }) => (amount > most ? amount : most), 0n), 1n];
  if (measure.kind === 'latest') return [ordered.at(-1)?.amount ?? 0n, 1n];
  const daysEnded = (date: Instant) => (date >= whole.end ? 30 : Math.floor((date - whole.start) / msPerDay));
  const isDaily = measure.kind === 'standing' && measure.proration === 'day';
  let [value, since, sum] = [opening, start, 0n];
  const hold = (until: Instant) => {
    sum += value * BigInt(isDaily ? daysEnded(until) - daysEnded(since) : until - since);
    since = until;
  };
  for (const { date, amount } of ordered) {
    hold(Math.max(start, date));
    value = measure.kind === 'unit_hours' ? amount : value + amount;
  }
  hold(end);
  if (measure.kind === 'unit_hours') return [sum, 3_600_000n];
  if (measure.kind === 'standing' && measure.proration === 'none') return [value, 1n];
  return [sum, isDaily ? 30n : BigInt(whole.end - whole.start)];
}

test('the units of max are the largest amount, and those of latest the last one, whatever was held before', () => {
  const period = during(99, on(2, 3), on(5, 8), on(9, 5));
  assert.deepEqual(unitsOf({ kind: 'max' }, period), { units: 8n, per: 1n });
  assert.deepEqual(unitsOf({ kind: 'latest' }, period), { units: 5n, per: 1n });
  assert.deepEqual(unitsOf({ kind: 'max' }, during(99)), { units: 0n, per: 1n });
  assert.deepEqual(unitsOf({ kind: 'latest' }, during(99)), { units: 0n, per: 1n });
});

test('100 GB for 10 days and then 200 GB for 20 are 120,000 unit-hours', () => {
  const kind = 'unit_hours';
  assert.deepEqual(unitsOf({ kind }, during(0, on(1, 100), on(11, 200))), { units: 120_000n, per: 1n });
  // The value of the month before is held on.
  assert.deepEqual(unitsOf({ kind }, during(100, on(11, 200))), { units: 120_000n, per: 1n });
  assert.deepEqual(unitsOf({ kind }, during(1)), { units: 720n, per: 1n });
  // A third of an hour stays a third.
  const minutes = during(1, at(april.start + 20 * 60_000, 0));
  assert.deepEqual(unitsOf({ kind }, minutes), { units: 1n, per: 3n });
});

test('10 seats, and 5 more for the last 15 of 30 days, are 15 seats, or 12.5 when they are prorated', () => {
  const period = during(10, on(16, 5));
  assert.deepEqual(unitsOf(standing('none'), period), { units: 15n, per: 1n });
  assert.deepEqual(unitsOf(standing('day'), period), { units: 25n, per: 2n });
  assert.deepEqual(unitsOf(standing('second'), period), { units: 25n, per: 2n });
});

test('a day counts with the value at its end, and a second for its time', () => {
  const noon = (day: number, amount: number) => at(on(day, 0).date + msPerDay / 2, amount);
  // Added at noon of the 16th, and taken away at noon of the 19th: the ends of the 16th, 17th and 18th.
  const period = during(0, noon(16, 30), noon(19, -30));
  assert.deepEqual(unitsOf(standing('day'), period), { units: 3n, per: 1n });
  assert.deepEqual(unitsOf(standing('second'), period), { units: 3n, per: 1n });
  const sameDay = during(0, on(16, 30), noon(16, -30));
  assert.deepEqual(unitsOf(standing('day'), sameDay), { units: 0n, per: 1n });
  assert.deepEqual(unitsOf(standing('second'), sameDay), { units: 1n, per: 2n });
});

test('10 seats of a long first period, half of March and all of April, are 15 by the day', () => {
  // April is the interval of the price, and 15 of its 30 days come before it.
  const long = { ...during(10), start: instant('2026-03-17') };
  assert.deepEqual(unitsOf(standing('day'), long), { units: 15n, per: 1n });
  assert.deepEqual(unitsOf(standing('second'), long), { units: 15n, per: 1n });
});

test('what was taken away before it was added is no debt', () => {
  for (const proration of ['none', 'day', 'second'] as const)
    assert.deepEqual(unitsOf(standing(proration), during(0, on(3, -4))), { units: 0n, per: 1n });
});

const kinds = [
  { kind: 'max' },
  { kind: 'latest' },
  { kind: 'unit_hours' },
  standing('none'),
  standing('day'),
  standing('second'),
] as const;
// Two days of events before the period, by the hour so that many fall together.
const arriving = fc.array(
  fc.record({
    hour: fc.integer({ min: -48, max: 719 }),
    amount: fc.integer({ min: -50, max: 100 }),
    again: fc.boolean(),
  }),
  { maxLength: 40 },
);

test('property: the sums that are kept tell the units of all events, in whatever order and batches these arrive', () => {
  fc.assert(
    fc.property(fc.constantFrom(...kinds), arriving, fc.integer({ min: 0, max: 9 }), (measure, given, opening) => {
      const isStanding = measure.kind === 'standing';
      const events = given.map(({ hour, amount }) =>
        at(april.start + hour * msPerHour, isStanding ? amount : Math.abs(amount)),
      );
      const batches: MeasuredEvent[][] = [];
      for (const [index, event] of events.entries()) {
        const last = batches.at(-1);
        if (last !== undefined && given[index]?.again) last.push(event);
        else batches.push([event]);
      }
      const period = during(opening, ...events);
      const kept = measureUsage(measure, addAll(measure, period, batches), period);
      const [units, per] = unitsByHand(measure, period);
      assert.equal(kept.units * per, units <= 0n ? 0n : units * kept.per);
    }),
  );
});

const dates = fc.array(fc.record({ day: fc.integer({ min: 1, max: 30 }), amount: fc.integer({ min: 0, max: 100 }) }));

test('property: a period that is cut anywhere, its value carried over the cut, is worth the whole', () => {
  const heldKinds = [{ kind: 'unit_hours' } as const, standing('day'), standing('second')];
  fc.assert(
    fc.property(fc.constantFrom(...heldKinds), dates, fc.integer({ min: 1, max: 30 }), (measure, given, cutDay) => {
      const events = given.map(({ day, amount }) => on(day, amount));
      const cut = on(cutDay, 0).date;
      const [before, after] = [events.filter(({ date }) => date < cut), events.filter(({ date }) => date >= cut)];
      const first = { ...during(0, ...before), end: cut };
      const { value } = addAll(measure, first, [before]);
      const one = unitsOf(measure, first);
      const other = unitsOf(measure, { ...during(0, ...after), start: cut, opening: value });
      const all = unitsOf(measure, during(0, ...events));
      const sum = one.units * other.per + other.units * one.per;
      assert.equal(sum * all.per, all.units * one.per * other.per);
    }),
  );
});

const twice = ({ units, per }: MeasuredUnits) => (2n * units) / per;
const present = (units: bigint) => ({ units, per: 1n, periodStart: april.start });
const billing = { priceOf: twice, isBilled: true };

/** Bills a period part by part. Answers the amounts and the charge after them. */
function billAll(units: readonly bigint[]): { amounts: bigint[]; charges: readonly MeasuredCharge[] } {
  let charges: readonly MeasuredCharge[] = [];
  const amounts: bigint[] = [];
  for (const each of units) {
    const billed = billMeasured(present(each), charges, billing);
    amounts.push(...billed.parts.map(({ amount }) => amount));
    charges = billed.charges;
  }
  return { amounts, charges };
}

test('5 units, then 8 and then 3 at 2 each are billed 10, 6 and -10', () => {
  const { amounts, charges } = billAll([5n, 8n, 8n, 3n]);
  assert.deepEqual(amounts, [10n, 6n, -10n]);
  assert.equal(charges[0]?.amount, 6n);
});

test('property: the parts of a period add up to its price', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: 0n, max: 1000n }), { minLength: 1 }), (units) => {
      const { amounts } = billAll(units);
      assert.equal(
        amounts.reduce((sum, amount) => sum + amount, 0n),
        2n * (units.at(-1) ?? 0n),
      );
    }),
  );
});

test('a period whose invoice is void is billed again at its own units; what a plan does not bill is waived', () => {
  const march: Instant = instant('2026-03-01');
  const reopened = { periodStart: march, units: 7n, per: 2n, amount: 0n, waived: 1n, reopened: true };
  const again = billMeasured(present(4n), [reopened], billing);
  assert.deepEqual(again.parts, [
    { units: 7n, per: 2n, periodStart: march, billedBefore: 1n, amount: 6n },
    { units: 4n, per: 1n, periodStart: april.start, billedBefore: 0n, amount: 8n },
  ]);
  const free = billMeasured(present(4n), [], { ...billing, isBilled: false });
  assert.deepEqual([free.parts, free.charges[0]?.waived], [[], 8n]);
  // Only what comes after the change to a plan that bills is billed.
  assert.deepEqual(
    billMeasured(present(9n), free.charges, billing).parts.map(({ amount }) => amount),
    [10n],
  );
});

test('units are told to three decimals', () => {
  assert.equal(measuredText({ units: 25n, per: 2n }), '12.5');
  assert.equal(measuredText({ units: 120_000n, per: 1n }), '120,000');
  assert.equal(measuredText({ units: 1n, per: 3n }), '0.333');
});
