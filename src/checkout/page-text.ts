import { perText } from '../invoicing/line-text.ts';
import type { IntervalUnit } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { type Html, html } from '../kernel/html.ts';
import { moneyText } from '../kernel/money-text.ts';
import { amountOf, type Priced, priceModelOf } from '../pricing/pricing.ts';
import { conditionsText } from '../rating/conditions.ts';
import { priceText as modelText } from '../rating/price-text.ts';
import type { PlanTerms, UsageTerms } from './checkout-view.ts';

/** The payment interval: `per month`, `every 3 months`; `once` without one. */
export function intervalText(unit: IntervalUnit | null, count: number | null): string {
  if (unit === null) return 'once';
  return count === null || count === 1 ? `per ${unit}` : `every ${count} ${unit}s`;
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

/** The terms of a plan, after its price: `, at least USD 100.00 with usage, charged at the end of each period`. */
export function planTermsText({ minimumCommitment, billingTiming }: PlanTerms, currency: string): string {
  const least = minimumCommitment ? `, at least ${moneyText(minimumCommitment, currency)} with usage` : '';
  return billingTiming === 'in_arrears' ? `${least}, charged at the end of each period` : least;
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

/** The prices of usage below that of a plan; nothing if there are none. */
export function usageHtml(usage: readonly UsageTerms[], currency: string): Html | false {
  return (
    usage.length > 0 &&
    html`<p class="soft">Usage beyond what is included is billed afterwards.${usage.map((each) => html`<br>${usageText(each, currency)}`)}</p>\n`
  );
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
