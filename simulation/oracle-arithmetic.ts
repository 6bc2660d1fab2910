import type { Plan } from './catalogue.ts';

/** The oracle's own arithmetic: dates counted from an anchor, and whole minor units. */

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** n / d to the nearest whole number, halves away from zero. */
export function nearest(n: bigint, d: bigint): bigint {
  const [size, sign] = n < 0n ? [-n, -1n] : [n, 1n];
  return sign * ((size * 2n + d) / (d * 2n));
}

export function rounded(n: bigint, d: bigint): number {
  return Number(nearest(n, d));
}

/** An amount prorated by time. */
export function share(amount: number, part: number, whole: number): number {
  return rounded(BigInt(amount) * BigInt(part), BigInt(whole));
}

/** Units prorated by time. */
export function shareOfUnits(units: bigint, part: number, whole: number): bigint {
  return nearest(units * BigInt(part), BigInt(whole));
}

export const least = (...amounts: readonly bigint[]): bigint => amounts.reduce((a, b) => (a < b ? a : b));
export const most = (...amounts: readonly bigint[]): bigint => amounts.reduce((a, b) => (a > b ? a : b));

export function total<Each>(all: readonly Each[], amountOf: (each: Each) => bigint): bigint {
  return all.reduce((sum, each) => sum + amountOf(each), 0n);
}

/** The n-th boundary from the anchor; a day that a month lacks becomes its last. */
export function boundary(anchor: number, { unit, count }: Interval, n: number): number {
  if (unit === 'day') return anchor + n * count * dayMs;
  if (unit === 'week') return anchor + n * count * 7 * dayMs;
  const date = new Date(anchor);
  const month = date.getUTCMonth() + n * count * (unit === 'year' ? 12 : 1);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const midnight = Date.UTC(date.getUTCFullYear(), month, Math.min(date.getUTCDate(), lastDay));
  return midnight + (anchor - Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()));
}

type Interval = Pick<Plan, 'unit' | 'count'>;

/** The first instant of the day, the week (Monday), the month or the year; several months count from January. */
export function calendarStart({ unit, count }: Interval, at: number): number {
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (unit === 'year') return Date.UTC(year, 0);
  if (unit === 'month') return Date.UTC(year, month - (month % count));
  const days = unit === 'week' ? (date.getUTCDay() + 6) % 7 : 0;
  return Date.UTC(year, month, date.getUTCDate() - days);
}

/**
 * The anchor of periods that begin on a day of the month: the next such day. It is counted from a month that has the
 * day, so that a shorter month does not replace it.
 */
export function dayAnchor({ unit, count }: Interval, day: number, at: number): number {
  const date = new Date(at);
  const months = unit === 'year' ? 12 * count : count;
  const lastOf = (month: number) => new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const dayIn = (month: number) => Date.UTC(date.getUTCFullYear(), month, Math.min(day, lastOf(month)));
  let month = date.getUTCMonth();
  if (dayIn(month) < at) month += 1;
  while (lastOf(month) < day) month -= months;
  return dayIn(month);
}

export function isSameInterval(one: Interval, other: Interval): boolean {
  return one.unit === other.unit && one.count === other.count;
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The interval, counted from the anchor, that contains an instant. An anchor may lie ahead by some intervals. */
export function intervalAt(anchor: number, plan: Interval, at: number): Span & { index: number } {
  let first = 0;
  while (boundary(anchor, plan, first) > at) first -= 1;
  for (let index = first; ; index++) {
    const [start, end] = [boundary(anchor, plan, index), boundary(anchor, plan, index + 1)];
    if (at < end) return { start, end, index };
  }
}
