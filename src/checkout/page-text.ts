import { perText } from '../invoicing/line-text.ts';
import type { Instant, IntervalUnit } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { type Html, html } from '../kernel/html.ts';
import { dayText } from '../kernel/iso-text.ts';
import { moneyText } from '../kernel/money-text.ts';
import { amountOf, type Priced, priceModelOf } from '../pricing/pricing.ts';
import type { Included } from '../pricing/store-features.ts';
import { conditionsText } from '../rating/conditions.ts';
import { priceText as modelText } from '../rating/price-text.ts';
import type { PlanTerms, UsageBilling, UsageTerms } from './checkout-view.ts';

/** The payment interval: `per month`, `every 3 months`; `once` without one. */
export function intervalText(unit: IntervalUnit | null, count: number | null): string {
  if (unit === null) return 'once';
  return count === null || count === 1 ? `per ${unit}` : `every ${count} ${unit}s`;
}

/** The rhythm of charges: `each month`, `every 3 months`. */
function eachText({ unit, count }: Every): string {
  if (unit === null) return 'once';
  return count === null || count === 1 ? `each ${unit}` : `every ${count} ${unit}s`;
}

/** The end of each interval: `at the end of each month`, `after every 3 months`. */
function endText(every: Every): string {
  return every.count === null || every.count === 1 ? `at the end of ${eachText(every)}` : `after ${eachText(every)}`;
}

interface Every {
  readonly unit: IntervalUnit | null;
  readonly count: number | null;
}

/** `USD 30.00 per month`, or in words: `USD 10.00 each up to 10, USD 8.00 each above, per month`. */
export function priceText({ unitPrice, pricing }: Priced, currency: string, { unit, count }: Every): string {
  if (pricing !== null) return `${modelText(priceModelOf(pricing), currency)}, ${intervalText(unit, count)}`;
  return `${moneyText(unitPrice, currency)} ${intervalText(unit, count)}`;
}

/** `3 x USD 30.00 per month`. In words, what the quantity costs comes first: `12 for USD 96.00 per month (...)`. */
export function quantityText(priced: Priced & { readonly quantity: number }, currency: string, every: Every): string {
  const { pricing, quantity } = priced;
  if (pricing === null) return `${quantity > 1 ? `${quantity} x ` : ''}${priceText(priced, currency, every)}`;
  const amount = moneyText(amountOf(priced, quantity, chargedStep(currency)), currency);
  const words = modelText(priceModelOf(pricing), currency);
  return `${quantity} for ${amount} ${intervalText(every.unit, every.count)} (${words})`;
}

/**
 * The terms of a plan, after its price: `, billed at the end of each month, with a minimum of USD 100.00 per month including
 * usage`.
 */
export function planTermsText({ minimumCommitment, billingTiming }: PlanTerms, currency: string, every: Every): string {
  const timing = billingTiming === 'in_arrears' ? `, billed ${endText(every)}` : '';
  if (!minimumCommitment) return timing;
  const least = `${moneyText(minimumCommitment, currency)} ${intervalText(every.unit, every.count)}`;
  return `${timing}, with a minimum of ${least} including usage`;
}

/** A fee of the first invoice, after the price: `, plus a one-time setup fee of USD 50.00`. */
export function setupFeeText(fee: bigint | null, currency: string): string {
  return fee ? `, plus a one-time setup fee of ${moneyText(fee, currency)}` : '';
}

/** The agreement to recurring charges: `to charge you each month, starting on 5 December 2026`. */
export function recurringText(every: Every, startsAt: Instant | null): string {
  return `to charge you ${eachText(every)}${startsAt === null ? '' : `, starting on ${dayText(startsAt)}`}`;
}

/**
 * `API calls: first 1,000 free, then USD 0.02 each`. Conditions stand behind the name: `Tokens (gpt-5): USD 0.10 per
 * thousand`.
 */
export function usageText(terms: UsageTerms, currency: string): string {
  const { meterName, unitPrice, usageEventsPerUnit, pricing, where } = terms;
  const plain = `${moneyText(unitPrice, currency)} ${perText(usageEventsPerUnit)}`;
  return `${meterName}${where === null ? '' : ` (${conditionsText(where)})`}: ${pricing === null ? plain : modelText(priceModelOf(pricing), currency)}`;
}

/** Whether usage has an interval other than that of the plan. */
export function hasOwnRhythm({ usage }: Pick<UsageBilling, 'usage'>, { unit, count }: Every): boolean {
  return usage.some(({ ownInterval: own }) => own !== null && (own.unit !== unit || own.count !== count));
}

/** The prices of usage below that of a plan, and when it is billed; nothing if there are none. */
export function usageHtml({ usage, usageThreshold }: UsageBilling, currency: string, every: Every): Html | false {
  if (usage.length === 0) return false;
  const ends = usage.map(({ ownInterval }) => endText(ownInterval ?? every));
  const [end] = ends;
  const isSame = ends.every((each) => each === end);
  const sooner = usageThreshold === null ? '' : `, or sooner once it reaches ${moneyText(usageThreshold, currency)}`;
  const line = (each: UsageTerms, index: number) =>
    html`<br>${usageText(each, currency)}${!isSame && `, billed ${ends[index]}`}`;
  return html`<p class="soft">Usage beyond what is included is billed ${isSame ? end : 'separately'}${sooner}.${usage.map(line)}</p>\n`;
}

/** The features of a plan whose periods come `every` so often, each on its line. */
export function includedHtml(included: readonly Included[], quantity: number, every: Every): Html | false {
  if (included.length === 0) return false;
  const line = (each: Included) => html`<br>${includedText(each, every)}`;
  return html`<p class="soft">Includes${quantity > 1 && ', for each unit'}:${included.map(line)}</p>\n`;
}

/** `API calls: 1,000 each month`, `Seats: 5`, or the name alone. */
export function includedText({ type, name, amount, renewalFrequency, grantInterval }: Included, every: Every): string {
  if (type === 'toggle' || amount === null) return name;
  const count = `${name}: ${amount.toLocaleString('en-US')}`;
  if (type === 'resource' || every.unit === null) return count;
  return `${count} ${renewalFrequency === 'once' ? 'once' : eachText(grantInterval ?? every)}`;
}

const brands = new Map([
  ['visa', 'Visa'],
  ['mastercard', 'Mastercard'],
  ['amex', 'American Express'],
]);
const kinds = new Map([
  ['card', 'Card'],
  ['us_bank_account', 'Bank account'],
  ['sepa_debit', 'Bank account'],
]);

/** The display name of a payment method: `Visa ending in 4242`. */
export function methodText(type: string, data: Readonly<Record<string, string | number>>): string {
  const brand = String(data.brand ?? '');
  const name = brand === '' ? (kinds.get(type) ?? 'Payment method') : (brands.get(brand) ?? brand);
  return data.last4 === undefined ? name : `${name} ending in ${data.last4}`;
}

/** A saved payment method in a list: `Visa ending in 4242, expires 12/2030`. */
export function savedText(type: string, data: Readonly<Record<string, string | number>>): string {
  const until = data.expMonth === undefined ? '' : `, expires ${data.expMonth}/${data.expYear}`;
  return methodText(type, data) + until;
}

const unsafe = new Set(['javascript:', 'data:', 'vbscript:', 'blob:', 'file:']);

/** An address that a page may link to, or null if it could run as a script. */
export function safeAddress(address: string | null): string | null {
  if (address === null || !URL.canParse(address)) return null;
  return unsafe.has(new URL(address).protocol) ? null : address;
}

/** The message of a refusal without the processor's code, which is for programs. */
export function withoutCode(message: string): string {
  return message.replace(/(^|\. )[a-z_]+(?: \([a-z_]+\))?: /, '$1');
}
