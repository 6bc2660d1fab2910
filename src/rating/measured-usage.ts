import assert from 'node:assert/strict';
import { type Instant, msPerDay, type Period } from '../kernel/calendar.ts';
import { type Language, localThousandths } from '../kernel/language.ts';
import { divHalfAway } from '../kernel/money.ts';

/** The share of its interval for which a unit counts that is held over periods. */
export type Proration = 'none' | 'day' | 'second';

/**
 * How the events of a usage period become its units. `max` and `latest` take one event. In the others a value is held
 * over time: an event of `unit_hours` sets it. One of `standing` adds to it.
 */
export type Measure =
  | { readonly kind: 'max' | 'latest' | 'unit_hours' }
  | { readonly kind: 'standing'; readonly proration: Proration };

/** An event, by its date. One of an earlier period counts from the start of the period in which it arrives. */
export interface MeasuredEvent {
  readonly date: Instant;
  readonly id: string;
  readonly amount: bigint;
}

/**
 * The running totals of a usage period. Its value was `opening` at the start, and is `value` since `at`, the latest
 * instant from which an event counts. The sum of value x time until then is `valueTime`. It is in days, counted from
 * `daysFrom`, where the value is prorated by the day, and else in milliseconds.
 */
export interface MeasuredSoFar {
  readonly periodStart: Instant;
  readonly opening: bigint;
  readonly value: bigint;
  readonly at: Instant;
  readonly latest: Pick<MeasuredEvent, 'date' | 'id'> | null;
  readonly valueTime: bigint;
  readonly daysFrom: Instant | null;
}

/** The events of the period, stored before, around one that arrives late; `before` null: it is the first by its date. */
export interface Around {
  readonly before: MeasuredEvent | null;
  readonly after: Pick<MeasuredEvent, 'date'>;
}

/** The end of the period so far, and the interval that its price is for. */
export interface MeasuredEnd {
  readonly end: Instant;
  readonly whole: Period;
}

/** `units / per` units, in lowest terms. */
export interface MeasuredUnits {
  readonly units: bigint;
  readonly per: bigint;
}

const msPerHour = 3_600_000n;

/** A first usage period, without events and value. */
export function openMeasured(periodStart: Instant): MeasuredSoFar {
  return { periodStart, opening: 0n, value: 0n, at: periodStart, latest: null, valueTime: 0n, daysFrom: null };
}

/**
 * Adds events that arrive together to the running totals of the earlier ones. The result does not depend on the order of
 * arrival: it is that of all events in order of their dates. No earlier event is read. A late event of `unit_hours` changes the
 * value until the next one: `around` finds these two.
 */
export function addMeasured(
  measure: Measure,
  before: MeasuredSoFar,
  events: readonly MeasuredEvent[],
  { end, whole: interval, around }: MeasuredEnd & { readonly around: (event: MeasuredEvent) => Around },
): MeasuredSoFar {
  const startOf = ({ date }: Pick<MeasuredEvent, 'date'>) => Math.max(before.periodStart, Math.min(date, end));
  const ordered = events.toSorted(compareDated);
  switch (measure.kind) {
    case 'max':
      return { ...before, value: ordered.reduce((most, { amount }) => (amount > most ? amount : most), before.value) };
    case 'latest': {
      const last = ordered.at(-1);
      if (last === undefined || !isAfter(last, before.latest)) return before;
      return { ...before, value: last.amount, latest: { date: last.date, id: last.id } };
    }
    case 'unit_hours':
      return setValues(before, ordered, startOf, around);
    case 'standing':
      return addValues(measure, { ...before, daysFrom: before.daysFrom ?? interval.start }, ordered, startOf);
    default:
      return measure satisfies never;
  }
}

function setValues(
  before: MeasuredSoFar,
  ordered: readonly MeasuredEvent[],
  startOf: (event: Pick<MeasuredEvent, 'date'>) => Instant,
  around: (event: MeasuredEvent) => Around,
): MeasuredSoFar {
  let soFar = before;
  let previous: MeasuredEvent | null = null;
  for (const event of ordered) {
    const { date, id, amount } = event;
    const at = startOf(event);
    if (isAfter(event, soFar.latest)) {
      const valueTime = soFar.valueTime + soFar.value * BigInt(at - soFar.at);
      soFar = { ...soFar, value: amount, at, latest: { date, id }, valueTime };
    } else {
      const found = around(event);
      const last: MeasuredEvent | null = isAfter(previous, found.before) ? previous : found.before;
      const changed = amount - (last?.amount ?? soFar.opening);
      soFar = { ...soFar, valueTime: soFar.valueTime + changed * BigInt(startOf(found.after) - at) };
      previous = event;
    }
  }
  return soFar;
}

/** A sum has no order: each event adds its amount for the time since it, and that until the last one. */
function addValues(
  { proration }: Extract<Measure, { kind: 'standing' }>,
  before: MeasuredSoFar,
  ordered: readonly MeasuredEvent[],
  startOf: (event: MeasuredEvent) => Instant,
): MeasuredSoFar {
  const at = ordered.reduce((last, event) => Math.max(last, startOf(event)), before.at);
  const timeSince = (since: Instant) =>
    proration === 'day' ? daysUntil(before.daysFrom, at) - daysUntil(before.daysFrom, since) : BigInt(at - since);
  const held = ordered.reduce((sum, event) => sum + event.amount * timeSince(startOf(event)), 0n);
  const value = ordered.reduce((sum, { amount }) => sum + amount, before.value);
  return { ...before, value, at, valueTime: before.valueTime + before.value * timeSince(before.at) + held };
}

/** The whole days of 24 hours until an instant. */
function daysUntil(from: Instant | null, at: Instant): bigint {
  assert(from !== null, 'days are counted from the start of an interval');
  return BigInt(Math.floor((at - from) / msPerDay));
}

/** Whether an event comes after another one by its date, and then by its id. Any comes after none. */
function isAfter(
  event: Pick<MeasuredEvent, 'date' | 'id'> | null,
  other: Pick<MeasuredEvent, 'date' | 'id'> | null,
): boolean {
  return event !== null && (other === null || compareDated(event, other) > 0);
}

export function compareDated(
  one: Pick<MeasuredEvent, 'date' | 'id'>,
  other: Pick<MeasuredEvent, 'date' | 'id'>,
): number {
  if (one.date !== other.date) return one.date - other.date;
  return one.id < other.id ? -1 : Number(one.id > other.id);
}

/**
 * The exact units of a usage period so far. Worked examples: 100 GB held for 240 hours and then 200 GB for 480 are
 * 120,000 unit-hours. 10 seats, and 5 more for the last 15 of 30 days, are 12.5 seats by the day.
 */
export function measureUsage(
  measure: Measure,
  soFar: MeasuredSoFar,
  { end, whole: interval }: MeasuredEnd,
): MeasuredUnits {
  const { value, at, valueTime } = soFar;
  const timeUntil = valueTime + value * BigInt(Math.max(end, at) - at);
  switch (measure.kind) {
    case 'max':
    case 'latest':
      return whole(value);
    case 'unit_hours':
      return lowest(timeUntil, msPerHour);
    case 'standing':
      if (measure.proration === 'none') return whole(value);
      if (measure.proration === 'second') return lowest(timeUntil, BigInt(interval.end - interval.start));
      return dailyUnits(soFar, end, interval);
    default:
      return measure satisfies never;
  }
}

/** A day counts with the value at its end. The last day of an interval may be short. */
function dailyUnits({ value, at, valueTime, daysFrom }: MeasuredSoFar, end: Instant, interval: Period): MeasuredUnits {
  const from = daysFrom ?? interval.start;
  const last = Math.max(end, at);
  const days = last >= interval.end ? daysAtLeast(from, interval.end) : daysUntil(from, last);
  return lowest(valueTime + value * (days - daysUntil(from, at)), daysAtLeast(interval.start, interval.end));
}

function daysAtLeast(from: Instant, at: Instant): bigint {
  return BigInt(Math.ceil((at - from) / msPerDay));
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
export function measuredText({ units, per }: MeasuredUnits, language: Language = 'en'): string {
  return localThousandths(divHalfAway(units * 1000n, per), language);
}
