import { type Html, html } from '../kernel/html.ts';
import { maxSafeInteger } from '../kernel/json.ts';
import { decimalText, minorUnitDigits } from '../kernel/money-text.ts';
import { smallestUnitsOf } from '../pricing/credit-pool.ts';
import type { Included } from '../pricing/store-features.ts';
import { savedPercent } from '../rating/interval-change.ts';
import { poolText, smallestPerUnit } from '../rating/pool-units.ts';
import type { Wording } from '../wording/wording.ts';
import { hiddenHtml } from './page-form.ts';
import type { CreditSubject, PortalPlan } from './portal-view.ts';

/** The common data of the pages of one visit. */
export interface Visited {
  /** Proves that a form comes from a page of this visit. */
  readonly formToken: string;
  readonly returnUrl: string | null;
}

interface ButtonOptions {
  /** The name for screen readers; absent: the label. */
  readonly name?: string;
  readonly isPlain?: boolean;
  readonly more?: Readonly<Record<string, string>>;
}

/** A form that consists of a button. */
export function buttonForm(visit: Visited, action: string, label: string, options: ButtonOptions = {}): Html {
  const { name, isPlain = false, more = {} } = options;
  return html`<form method="post" action="${action}">${hiddenHtml({ formToken: visit.formToken, ...more })}
<button${isPlain && html` class="plain small"`}${name !== undefined && html` aria-label="${name}"`}>${label}</button></form>`;
}

const barWidth = 100n;

/** The extent of a part in a bar, which is never shorter than nothing nor longer than the bar. */
function widthOf(part: bigint, whole: bigint): bigint {
  if (whole <= 0n || part <= 0n) return 0n;
  return part >= whole ? barWidth : (part * barWidth) / whole;
}

/** A bar that is full as far as the part is of the whole, with a faint second part. The text beside it says the same. */
export function barHtml(part: bigint, whole: bigint, { faint = 0n, isFull = false } = {}): Html {
  const rest = faint > 0n && html`<rect class="faint" width="${widthOf(part + faint, whole)}" height="8"/>`;
  return html`<svg class="bar${isFull && ' full'}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="8"/>${rest}<rect width="${widthOf(part, whole)}" height="8"/></svg>\n`;
}

/** An amount of credits: units of a usage meter, or credits or money of a pool. */
export function creditText(amount: bigint, { unit }: Pick<CreditSubject, 'unit'>, wording: Wording): string {
  return unit === null ? wording.count(amount) : wording.pooled(poolText(amount), unit === 'credit' ? null : unit);
}

/** A whole number of units that a person has written, with or without marks between thousands; null: it is none. */
export function unitsIn(text: string): bigint | null {
  return minorIn(text, 0);
}

/**
 * An amount of money in minor units that a person has written: `1,234.50`, `1.234,5` and `1234` are amounts with two
 * digits. Null: it is none above 0.
 */
export function moneyIn(text: string, currency: string): bigint | null {
  return minorIn(text, minorUnitDigits(currency));
}

const spaces = /[\s'\u2019]/g;

function minorIn(text: string, digits: number): bigint | null {
  // With three digits, a mark before three others may be either. Before a zero it is that of decimals.
  const whole = digits === 3 ? '\\d+' : '[1-9]\\d{0,2}(?:,\\d{3})+|[1-9]\\d{0,2}(?:\\.\\d{3})+|\\d+';
  const pattern = new RegExp(`^(${whole})${digits === 0 ? '' : `(?:[.,](\\d{1,${digits}}))?`}$`);
  const found = text.length > maxAmountLength ? null : pattern.exec(text.replaceAll(spaces, ''));
  if (found === null) return null;
  const [, before = '', after = ''] = found;
  const amount = BigInt(before.replaceAll(/[.,]/g, '') + after.padEnd(digits, '0'));
  return amount > 0n && amount <= maxSafeInteger ? amount : null;
}

/** The most characters of an amount in a form. */
export const maxAmountLength = 30;

// More are of no use to a person, and a mark before three digits is one between thousands.
const poolDigits = 2;
const smallestPerHundredth = smallestPerUnit / 100n;

/** Credits in units of the ledger that a person has written: whole units of a meter, or up to two decimals of a pool. */
export function creditIn(text: string, unit: CreditSubject['unit']): bigint | null {
  if (unit === null) return unitsIn(text);
  const hundredths = minorIn(text, poolDigits);
  return hundredths === null ? null : hundredths * smallestPerHundredth;
}

/** Credits as a form shows them for a change, cut off after the decimals that it takes. */
export function creditEntered(amount: bigint | string, unit: CreditSubject['unit']): string {
  const units = ledgerUnitsOf(amount, { unit });
  return unit === null ? String(units) : decimalText(units / smallestPerHundredth, poolDigits);
}

/** An amount of credits of the API in units of the ledger. */
export function ledgerUnitsOf(amount: bigint | string, { unit }: Pick<CreditSubject, 'unit'>): bigint {
  return unit === null ? BigInt(amount) : smallestUnitsOf(amount);
}

/** An amount of money as a form shows it for a change: `1234.50`. */
export function moneyEntered(amount: bigint, currency: string): string {
  return decimalText(amount, minorUnitDigits(currency));
}

const monthsOf: ReadonlyMap<string | null, bigint> = new Map([
  ['month', 1n],
  ['year', 12n],
]);

/** The price of a plan for its months; null: the interval or the price is none that can be compared. */
function intervalAmount({ unitPrice, pricing, minimumCommitment, intervalUnit, intervalCount }: ComparedPlan) {
  const months = monthsOf.get(intervalUnit);
  if (months === undefined || pricing !== null || minimumCommitment) return null;
  return { amount: unitPrice, months: months * BigInt(intervalCount ?? 1) };
}

type ComparedPlan = Pick<
  PortalPlan,
  'name' | 'unitPrice' | 'pricing' | 'minimumCommitment' | 'intervalUnit' | 'intervalCount' | 'included'
>;

/** The features of a plan, with credits of each period as those of a year, so that plans of two intervals compare. */
function gives({ included }: ComparedPlan, months: bigint): string {
  const feature = ({ type, name, amount, renewalFrequency, grantInterval, poolUnit, value }: Included) => {
    const isOfPeriod = renewalFrequency !== null && renewalFrequency !== 'once' && grantInterval === null;
    const perYear = isOfPeriod && amount !== null ? (amount * 12n) / months : amount;
    return JSON.stringify([type, name, String(perYear), isOfPeriod, renewalFrequency, grantInterval, poolUnit, value]);
  };
  return included.map(feature).sort().join();
}

/**
 * The whole percent that a plan saves against one of a shorter interval that gives the same; null: there is none, or it
 * saves none. Products have one price, so plans that give nothing are the same by the beginning of their names.
 */
export function savingIn(offered: readonly ComparedPlan[], plan: ComparedPlan): bigint | null {
  const own = intervalAmount(plan);
  if (own === null) return null;
  const given = gives(plan, own.months);
  const savings = offered.flatMap((other) => {
    const amount = intervalAmount(other);
    if (amount === null || amount.months >= own.months || gives(other, amount.months) !== given) return [];
    if (given === '' && !plan.name.startsWith(other.name)) return [];
    return [savedPercent(amount, own) ?? 0n];
  });
  // Among several the least is promised.
  const least = savings.reduce<bigint | null>((one, next) => (one === null || next < one ? next : one), null);
  return least || null;
}
