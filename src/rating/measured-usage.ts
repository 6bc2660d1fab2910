import assert from 'node:assert/strict';
import { type Instant, msPerDay, type Period } from '../kernel/calendar.ts';
import { divHalfAway } from '../kernel/money.ts';

/** The share of its interval for which a unit counts that is held over periods. */
export type Proration = 'none' | 'day' | 'second';

/**
 * How the events of a usage period become its units. `max` and `latest` take one event. In the others a value is held
 * over time: an event of `unit_hours` sets it. One of `standing` adds to it. `whole` is the interval that the price is
 * for.
 */
type Measure =
  | { readonly kind: 'max' | 'latest' | 'unit_hours' }
  | { readonly kind: 'standing'; readonly proration: Proration; readonly whole: Period };

/** An event, and the instant in the usage period from which it counts. */
export interface MeasuredEvent {
  readonly at: Instant;
  readonly amount: bigint;
}

/** A usage period so far. `opening` is the value at its start. Events come in order of their instants. */
export interface MeasuredPeriod extends Period {
  readonly opening: bigint;
  readonly events: readonly MeasuredEvent[];
}

/** `units / per` units, in lowest terms. */
export interface MeasuredUnits {
  readonly units: bigint;
  readonly per: bigint;
}

/** A value that is held from `start` (in it) to `end` (not in it). */
interface HeldValue extends Period {
  readonly value: bigint;
}

const msPerHour = 3_600_000n;

/**
 * The exact units of a usage period so far. Worked examples: 100 GB held for 240 hours and then 200 GB for 480 are
 * 120,000 unit-hours. 10 seats, and 5 more for the last 15 of 30 days, are 12.5 seats by the day.
 */
export function measureUsage(measure: Measure, period: MeasuredPeriod): MeasuredUnits {
  switch (measure.kind) {
    case 'max':
      return whole(period.events.reduce((most, { amount }) => (amount > most ? amount : most), 0n));
    case 'latest':
      return whole(period.events.at(-1)?.amount ?? 0n);
    case 'unit_hours':
      return lowest(sumOf(heldValues(period, 'set'), lengthOf), msPerHour);
    case 'standing':
      return standingUnits(measure, heldValues(period, 'add'), period);
    default:
      return measure satisfies never;
  }
}

function standingUnits(
  { proration, whole: interval }: Extract<Measure, { kind: 'standing' }>,
  held: readonly HeldValue[],
  { opening, events }: MeasuredPeriod,
): MeasuredUnits {
  switch (proration) {
    case 'none':
      return whole(events.reduce((value, { amount }) => value + amount, opening));
    case 'second':
      return lowest(sumOf(held, lengthOf), lengthOf(interval));
    case 'day':
      return lowest(
        sumOf(held, ({ start, end }) => daysEnded(interval, end) - daysEnded(interval, start)),
        daysEnded(interval, interval.end),
      );
    default:
      return proration satisfies never;
  }
}

/**
 * The values that are held in a usage period, one after the other. Events of one instant leave the value of the last.
 */
function heldValues({ start, end, opening, events }: MeasuredPeriod, how: 'set' | 'add'): HeldValue[] {
  const held: HeldValue[] = [];
  let [value, since] = [opening, start];
  for (const { at, amount } of events) {
    assert(at >= since && at <= end, 'events are in the period, in order');
    held.push({ start: since, end: at, value });
    value = how === 'set' ? amount : value + amount;
    since = at;
  }
  return [...held, { start: since, end, value }];
}

/**
 * The days of an interval that have ended by an instant. A day counts with the value at its end. The last may be short.
 */
function daysEnded({ start, end }: Period, at: Instant): bigint {
  const days = at >= end ? Math.ceil((end - start) / msPerDay) : Math.floor((at - start) / msPerDay);
  return BigInt(days);
}

function sumOf(held: readonly HeldValue[], share: (period: Period) => bigint): bigint {
  return held.reduce((sum, each) => sum + each.value * share(each), 0n);
}

function lengthOf({ start, end }: Period): bigint {
  return BigInt(end - start);
}

function whole(units: bigint): MeasuredUnits {
  return lowest(units, 1n);
}

/** Units are never below 0: those that were taken away before they were added are no debt. */
function lowest(units: bigint, per: bigint): MeasuredUnits {
  if (units <= 0n || per === 0n) return { units: 0n, per: 1n };
  const divisor = greatestDivisor(units, per);
  return { units: units / divisor, per: per / divisor };
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestDivisor(b, a % b);
}

/** The bill of one usage period whose units are measured, so far. Amounts in minor units. */
export interface MeasuredCharge extends MeasuredUnits {
  readonly periodStart: Instant;
  readonly amount: bigint;
  /** The price of usage that its plan did not bill. */
  readonly waived: bigint;
  /** Whether an invoice of the period is not to be paid any more: the next bill takes its amount. */
  readonly reopened: boolean;
}

/** A part of such a period to bill now: the price of its units less what was billed or waived. */
export interface MeasuredPart extends MeasuredUnits {
  readonly periodStart: Instant;
  readonly billedBefore: bigint;
  readonly amount: bigint;
}

/**
 * Decides the parts to bill now, and the charges after them. The present period is worth the price of its units so far,
 * and may have become cheaper. A plan that does not bill usage waives that price.
 */
export function billMeasured(
  present: (MeasuredUnits & { readonly periodStart: Instant }) | null,
  charges: readonly MeasuredCharge[],
  {
    priceOf,
    isBilled,
  }: {
    readonly priceOf: (period: MeasuredUnits & { readonly periodStart: Instant }) => bigint;
    readonly isBilled: boolean;
  },
): { readonly parts: readonly MeasuredPart[]; readonly charges: readonly MeasuredCharge[] } {
  const known = charges.find((charge) => charge.periodStart === present?.periodStart);
  const open: readonly MeasuredCharge[] = charges.filter((charge) => charge !== known && charge.reopened);
  const all = present === null ? open : [...open, { amount: 0n, waived: 0n, ...known, ...present, reopened: false }];
  const billed = all.map((charge) => {
    const { amount, waived } = charge;
    const due = priceOf(charge) - amount - waived;
    const after = { ...charge, reopened: false };
    if (!isBilled) return { part: null, charge: { ...after, waived: waived + due } };
    const part = { ...unitsOf(charge), periodStart: charge.periodStart, billedBefore: amount + waived, amount: due };
    return { part: due === 0n ? null : part, charge: { ...after, amount: amount + due } };
  });
  return {
    parts: billed.flatMap(({ part }) => part ?? []),
    charges: billed.map(({ charge }) => charge),
  };
}

function unitsOf({ units, per }: MeasuredUnits): MeasuredUnits {
  return { units, per };
}

/** The units in words, rounded to three decimals: `1,234.5`. */
export function measuredText({ units, per }: MeasuredUnits): string {
  const thousandths = divHalfAway(units * 1000n, per);
  const rest = Number(thousandths % 1000n) / 1000;
  return `${(thousandths / 1000n).toLocaleString('en-US')}${String(Math.abs(rest)).slice(1)}`;
}
