import { digitsOf } from './currency.ts';

/** Amounts, instants and words, as people read them. */

const locale = navigator.language;

/** An amount in the smallest unit of its currency: 4900 USD -> $49.00. */
export function moneyText(amount: number, currency: string): string {
  const digits = digitsOf(currency);
  const decimals = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(locale, { style: 'currency', currency, ...decimals }).format(amount / 10 ** digits);
}

/** An amount as the axis of a chart has room for it: $12M. */
export function shortMoneyText(amount: number, currency: string): string {
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency, notation: 'compact' });
  return format.format(amount / 10 ** digitsOf(currency));
}

/** A price with fractions of the smallest unit, as a decimal text: 0.25 USD cents -> $0.0025. */
export function exactMoneyText(amount: string | number, currency: string): string {
  const digits = digitsOf(currency);
  const decimals = { minimumFractionDigits: digits, maximumFractionDigits: 12 };
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency, ...decimals });
  return format.format(Number(amount) / 10 ** digits);
}

/** The number of smallest units in one unit of a currency: 100 for USD. */
export function unitsOf(currency: string): number {
  return 10 ** digitsOf(currency);
}

export function countText(count: number | string): string {
  // An amount of a credit pool is a decimal text.
  if (typeof count === 'string') return count;
  return new Intl.NumberFormat(locale).format(count);
}

/** The value of a feature: 12,000, or eu, us. */
export function valueText(value: number | string | readonly string[]): string {
  if (typeof value === 'number') return new Intl.NumberFormat(locale, { maximumFractionDigits: 20 }).format(value);
  return typeof value === 'string' ? value : value.length === 0 ? 'none' : value.join(', ');
}

/** A feature that somebody has, with its value if it has one. */
export function featureText(feature: {
  readonly name: string;
  readonly value?: number | string | readonly string[];
}): string {
  return feature.value === undefined ? feature.name : `${feature.name}: ${valueText(feature.value)}`;
}

// The service counts the rows of a list up to this many.
const mostCounted = 100_000;

/** The number of rows of a list. */
export function totalText(total: number): string {
  return total < mostCounted ? countText(total) : `${countText(mostCounted)} or more`;
}

/** A count as the axis of a chart has room for it: 1.2M. */
export function shortCountText(count: number): string {
  return new Intl.NumberFormat(locale, { notation: 'compact' }).format(count);
}

/** Dates are those of UTC, in which billing periods count. */
export function dateText(instant: number | null | undefined): string {
  if (instant === null || instant === undefined) return '–';
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' }).format(instant);
}

export function instantText(instant: number | null | undefined): string {
  if (instant === null || instant === undefined) return '–';
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
  return `${format.format(instant)} UTC`;
}

/** The month of an instant: Jan 26. */
export function monthText(instant: number): string {
  return new Intl.DateTimeFormat(locale, { month: 'short', year: '2-digit', timeZone: 'UTC' }).format(instant);
}

/** The month of an instant, where it could be taken for a day: January 2026. */
export function wholeMonthText(instant: number): string {
  return new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(instant);
}

/** A part of a whole: 0.956 -> 95.6%. */
export function percentText(part: number | string | null): string {
  if (part === null) return '–';
  return new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 }).format(Number(part));
}

/** `past_due` -> Past due, `productFeature` -> Product feature */
export function words(name: string): string {
  const apart = name.replaceAll(/([a-z])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`);
  const text = apart.replaceAll(/[_.-]/g, ' ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** `1 seat`, `3 seats` */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** `month` and 3 -> every 3 months */
export function intervalText(unit: string, count: number): string {
  return count === 1 ? `per ${unit}` : `every ${count} ${unit}s`;
}

/** The metadata of a record as facts. */
export function metadataFacts(
  metadata: Readonly<Record<string, string | number | boolean>> | null | undefined,
): (readonly [string, string])[] {
  return Object.entries(metadata ?? {}).map(([name, value]) => [name, String(value)]);
}
