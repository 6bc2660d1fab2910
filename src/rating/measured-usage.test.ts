import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Instant, instant, msPerDay } from '../kernel/calendar.ts';
import {
  billMeasured,
  type MeasuredCharge,
  type MeasuredEvent,
  type MeasuredUnits,
  measuredText,
  measureUsage,
  type Proration,
} from './measured-usage.ts';

// April has 30 days, and so 720 hours.
const april = { start: instant('2026-04-01'), end: instant('2026-05-01') };
const on = (day: number, amount: number): MeasuredEvent => ({
  at: april.start + (day - 1) * msPerDay,
  amount: BigInt(amount),
});
const during = (opening: number, ...events: MeasuredEvent[]) => ({ ...april, opening: BigInt(opening), events });
const standing = (proration: Proration) => ({ kind: 'standing', proration, whole: april }) as const;

test('the units of max are the largest amount, and those of latest the last one, whatever was held before', () => {
  const period = during(99, on(2, 3), on(5, 8), on(9, 5));
  assert.deepEqual(measureUsage({ kind: 'max' }, period), { units: 8n, per: 1n });
  assert.deepEqual(measureUsage({ kind: 'latest' }, period), { units: 5n, per: 1n });
  assert.deepEqual(measureUsage({ kind: 'max' }, during(99)), { units: 0n, per: 1n });
  assert.deepEqual(measureUsage({ kind: 'latest' }, during(99)), { units: 0n, per: 1n });
});

test('100 GB for 10 days and then 200 GB for 20 are 120,000 unit-hours', () => {
  const kind = 'unit_hours';
  assert.deepEqual(measureUsage({ kind }, during(0, on(1, 100), on(11, 200))), { units: 120_000n, per: 1n });
  // The value of the month before is held on.
  assert.deepEqual(measureUsage({ kind }, during(100, on(11, 200))), { units: 120_000n, per: 1n });
  assert.deepEqual(measureUsage({ kind }, during(1)), { units: 720n, per: 1n });
  // A third of an hour stays a third.
  const minutes = { ...during(1, { at: april.start + 20 * 60_000, amount: 0n }) };
  assert.deepEqual(measureUsage({ kind }, minutes), { units: 1n, per: 3n });
});

test('10 seats, and 5 more for the last 15 of 30 days, are 15 seats, or 12.5 when they are prorated', () => {
  const period = during(10, on(16, 5));
  assert.deepEqual(measureUsage(standing('none'), period), { units: 15n, per: 1n });
  assert.deepEqual(measureUsage(standing('day'), period), { units: 25n, per: 2n });
  assert.deepEqual(measureUsage(standing('second'), period), { units: 25n, per: 2n });
});

test('a day counts with the value at its end, and a second for its time', () => {
  const noon = (day: number, amount: number) => ({ at: on(day, 0).at + msPerDay / 2, amount: BigInt(amount) });
  // Added at noon of the 16th, and taken away at noon of the 19th: the ends of the 16th, 17th and 18th.
  const period = during(0, noon(16, 30), noon(19, -30));
  assert.deepEqual(measureUsage(standing('day'), period), { units: 3n, per: 1n });
  assert.deepEqual(measureUsage(standing('second'), period), { units: 3n, per: 1n });
  const sameDay = during(0, on(16, 30), noon(16, -30));
  assert.deepEqual(measureUsage(standing('day'), sameDay), { units: 0n, per: 1n });
  assert.deepEqual(measureUsage(standing('second'), sameDay), { units: 1n, per: 2n });
});

test('10 seats of a long first period, half of March and all of April, are 15 by the day', () => {
  // April is the interval of the price, and 15 of its 30 days come before it.
  const long = { start: instant('2026-03-17'), end: april.end, opening: 10n, events: [] };
  assert.deepEqual(measureUsage(standing('day'), long), { units: 15n, per: 1n });
  assert.deepEqual(measureUsage(standing('second'), long), { units: 15n, per: 1n });
});

test('what was taken away before it was added is no debt', () => {
  for (const proration of ['none', 'day', 'second'] as const)
    assert.deepEqual(measureUsage(standing(proration), during(0, on(3, -4))), { units: 0n, per: 1n });
});

const dates = fc.array(fc.record({ day: fc.integer({ min: 1, max: 30 }), amount: fc.integer({ min: 0, max: 100 }) }));
const ordered = (events: readonly { day: number; amount: number }[]) =>
  events.toSorted((one, other) => one.day - other.day).map(({ day, amount }) => on(day, amount));

test('property: a period that is cut anywhere, its value carried over the cut, is worth the whole', () => {
  const kinds = [{ kind: 'unit_hours' } as const, standing('day'), standing('second')];
  fc.assert(
    fc.property(fc.constantFrom(...kinds), dates, fc.integer({ min: 1, max: 30 }), (measure, given, cutDay) => {
      const events = ordered(given);
      const cut = on(cutDay, 0).at;
      const [before, after] = [events.filter(({ at }) => at < cut), events.filter(({ at }) => at >= cut)];
      const sets = measure.kind === 'unit_hours';
      const amounts = before.map(({ amount }) => amount);
      const closing = sets ? (amounts.at(-1) ?? 0n) : amounts.reduce((sum, amount) => sum + amount, 0n);
      const one = measureUsage(measure, { start: april.start, end: cut, opening: 0n, events: before });
      const other = measureUsage(measure, { start: cut, end: april.end, opening: closing, events: after });
      const whole = measureUsage(measure, { ...april, opening: 0n, events });
      const sum = one.units * other.per + other.units * one.per;
      assert.equal(sum * whole.per, whole.units * one.per * other.per);
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
