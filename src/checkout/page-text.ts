import { localPer } from '../invoicing/line-text.ts';
import type { Instant, IntervalUnit } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { type Html, html } from '../kernel/html.ts';
import type { FeatureValue } from '../pricing/feature.ts';
import { amountOf, type Priced, priceModelOf } from '../pricing/pricing.ts';
import type { Included } from '../pricing/store-features.ts';
import { conditionsText } from '../rating/conditions.ts';
import { modelText } from '../wording/price-words.ts';
import type { Wording } from '../wording/wording.ts';
import type { PlanTerms, UsageBilling, UsageTerms } from './checkout-view.ts';

export interface Every {
  readonly unit: IntervalUnit | null;
  readonly count: number | null;
}

const unitNames = { day: 'Day', week: 'Week', month: 'Month', year: 'Year' } as const;

/** `every 3 months`; null if the interval is a single unit. */
function severalText({ unit, count }: Every, { words, say }: Wording): string | null {
  if (unit === null || count === null || count === 1) return null;
  return say(words.prices[`every${unitNames[unit]}s`], { count: String(count) });
}

/** The payment interval: `per month`, `every 3 months`; `once` without one. */
export function intervalText(every: Every, wording: Wording): string {
  const { prices } = wording.words;
  if (every.unit === null) return prices.once;
  return severalText(every, wording) ?? prices[`per${unitNames[every.unit]}`];
}

/** The rhythm of charges: `each month`, `every 3 months`. */
function eachText(every: Every, wording: Wording): string {
  const { prices } = wording.words;
  if (every.unit === null) return prices.once;
  return severalText(every, wording) ?? prices[`each${unitNames[every.unit]}`];
}

/** The end of each interval: `at the end of each month`, `after every 3 months`. */
function endText(every: Every, wording: Wording): string {
  const { prices } = wording.words;
  if (every.unit === null) return prices.once;
  const several = severalText(every, wording);
  if (several !== null) return wording.say(prices.afterEvery, { every: several });
  return prices[`atEndOf${unitNames[every.unit]}`];
}

/** `$30.00 per month`, or in words: `$10.00 each up to 10, $8.00 each above, per month`. */
export function priceText({ unitPrice, pricing }: Priced, currency: string, every: Every, wording: Wording): string {
  const interval = intervalText(every, wording);
  if (pricing !== null) return `${modelText(priceModelOf(pricing), currency, wording)}, ${interval}`;
  return `${wording.money(unitPrice, currency)} ${interval}`;
}

/** Something that is bought some times. Its unit is what one of it gives, such as `Seats`. */
interface Counted extends Priced {
  readonly quantity: number;
  readonly unit?: string | null;
}

/** `3 Seats × $30.00 per month`. In words, what the quantity costs comes first: `12 for $96.00 per month (...)`. */
export function quantityText(priced: Counted, currency: string, every: Every, wording: Wording): string {
  const { pricing, quantity, unit = null } = priced;
  const { words, money, count, say } = wording;
  if (pricing === null) {
    const times = quantity > 1 ? `${count(quantity)}${unit === null ? '' : ` ${unit}`} × ` : '';
    return times + priceText(priced, currency, every, wording);
  }
  return say(words.prices.quantityFor, {
    quantity: count(quantity),
    amount: money(amountOf(priced, quantity, chargedStep(currency)), currency),
    interval: intervalText(every, wording),
    words: modelText(priceModelOf(pricing), currency, wording),
  });
}

/** The name of what one unit of a plan gives: the only resource that it includes once. */
export function unitOf(included: readonly Included[]): string | null {
  const units = included.filter(({ type, amount }) => type === 'resource' && amount === 1n);
  return units.length === 1 ? (units[0]?.name ?? null) : null;
}

// Longer terms, such as those of tiers, are no headline.
const longTerms = 40;

/** The price of a plan as a headline. */
export function termsHtml(terms: string): Html {
  return html`<p class="terms${terms.length > longTerms && ' long'}">${terms}</p>\n`;
}

/**
 * The terms of a plan, after its price: `, billed at the end of each month, with a minimum of $100.00 per month including
 * usage`.
 */
export function planTermsText(
  { minimumCommitment, billingTiming }: PlanTerms,
  currency: string,
  every: Every,
  wording: Wording,
): string {
  const { words, money, say } = wording;
  const timing = billingTiming === 'in_arrears' ? say(words.prices.billed, { end: endText(every, wording) }) : '';
  if (!minimumCommitment) return timing;
  const amount = `${money(minimumCommitment, currency)} ${intervalText(every, wording)}`;
  return timing + say(words.prices.minimum, { amount });
}

/** A fee of the first invoice, after the price: `, plus a one-time setup fee of $50.00`. */
export function setupFeeText(fee: bigint | null, currency: string, { words, money, say }: Wording): string {
  return fee ? say(words.prices.setupFee, { amount: money(fee, currency) }) : '';
}

/** The agreement to recurring charges, from an instant on or from now on. */
export function agreementText(
  { seller, every, isOfUsage }: { readonly seller: string; readonly every: Every; readonly isOfUsage: boolean },
  startsAt: Instant | null,
  wording: Wording,
): string {
  const { words, day, say } = wording;
  const { agreement, agreementStart, agreementUsage } = words.checkout;
  const start = startsAt === null ? '' : say(agreementStart, { date: day(startsAt) });
  const each = eachText(every, wording);
  return say(agreement, { seller, each, start, usage: isOfUsage ? agreementUsage : '' });
}

/**
 * `API calls: first 1,000 free, then $0.02 each`. Conditions stand behind the name: `Tokens (gpt-5): $0.10 per
 * thousand`.
 */
export function usageText(terms: UsageTerms, currency: string, wording: Wording): string {
  const { meterName, unitPrice, usageEventsPerUnit, pricing, where } = terms;
  const name = where === null ? meterName : `${meterName} (${conditionsText(where)})`;
  if (pricing !== null) return `${name}: ${modelText(priceModelOf(pricing), currency, wording)}`;
  return `${name}: ${wording.money(unitPrice, currency)} ${localPer(usageEventsPerUnit, wording.language)}`;
}

/** Whether usage has an interval other than that of the plan. */
export function hasOwnRhythm({ usage }: Pick<UsageBilling, 'usage'>, { unit, count }: Every): boolean {
  return usage.some(({ ownInterval: own }) => own !== null && (own.unit !== unit || own.count !== count));
}

/** The prices of usage below that of a plan, and when it is billed; nothing if there are none. */
export function usageHtml(
  { usage, usageThreshold }: UsageBilling,
  currency: string,
  every: Every,
  wording: Wording,
): Html | false {
  if (usage.length === 0) return false;
  const { words, money, say } = wording;
  const ends = usage.map(({ ownInterval }) => endText(ownInterval ?? every, wording));
  const [end = ''] = ends;
  const isSame = ends.every((each) => each === end);
  const sooner = usageThreshold === null ? '' : say(words.prices.sooner, { amount: money(usageThreshold, currency) });
  const line = (each: UsageTerms, index: number) => {
    const ending = isSame ? '' : say(words.prices.billed, { end: ends[index] ?? '' });
    return html`<li><bdi>${usageText(each, currency, wording)}</bdi>${ending}</li>\n`;
  };
  const text = say(isSame ? words.prices.usage : words.prices.usageSeparately, { end, sooner });
  return html`<p class="soft">${text}</p>\n<ul class="soft plain-list">${usage.map(line)}</ul>\n`;
}

/** The features of a plan whose periods come `every` so often, each on its line. */
export function includedHtml(
  included: readonly Included[],
  quantity: number,
  every: Every,
  wording: Wording,
): Html | false {
  if (included.length === 0) return false;
  const { includes, includesEach } = wording.words.prices;
  const line = (each: Included) => html`<li><bdi>${includedText(each, every, wording)}</bdi></li>\n`;
  return html`<p class="soft">${quantity > 1 ? includesEach : includes}</p>\n<ul class="included">${included.map(line)}</ul>\n`;
}

/** `API calls: 1,000 each month`, `Prepaid: $10.00`, `Seats: 5`, `Regions: eu, us`, or the name alone. */
export function includedText(feature: Included, every: Every, wording: Wording): string {
  const { type, name, amount, poolUnit, renewalFrequency, grantInterval, value } = feature;
  if (value !== null) return `${name}: ${valueText(value, wording)}`;
  if (type === 'toggle' || type === 'spend_limit' || amount === null) return name;
  const isMoney = poolUnit !== null && poolUnit !== 'credit';
  const count = `${name}: ${isMoney ? wording.pooled(String(amount), poolUnit) : wording.count(amount)}`;
  if (type === 'resource' || every.unit === null) return count;
  const isOnce = renewalFrequency === 'once';
  return `${count} ${isOnce ? wording.words.prices.once : eachText(grantInterval ?? every, wording)}`;
}

/** A list of texts is the seller's, and reads the same in each language. */
function valueText(value: FeatureValue, { language }: Wording): string {
  if (typeof value === 'number') return value.toLocaleString(language, { maximumFractionDigits: 20 });
  return [value].flat().join(', ');
}

const brands = new Map([
  ['visa', 'Visa'],
  ['mastercard', 'Mastercard'],
  ['amex', 'American Express'],
]);
const kinds: ReadonlyMap<string, 'card' | 'bankAccount'> = new Map([
  ['card', 'card'],
  ['us_bank_account', 'bankAccount'],
  ['sepa_debit', 'bankAccount'],
  ['bacs_debit', 'bankAccount'],
]);

type MethodData = Readonly<Record<string, string | number>>;

/** The display name of a payment method: `Visa ending in 4242`. */
export function methodText(type: string, data: MethodData, { words, say }: Wording): string {
  const brand = String(data.brand ?? '');
  const name = brand === '' ? words.card[kinds.get(type) ?? 'other'] : (brands.get(brand) ?? brand);
  const text = data.last4 === undefined ? name : say(words.card.endingIn, { name, last4: String(data.last4) });
  const wallet = walletNames.get(String(data.wallet));
  return wallet === undefined ? text : `${text} (${wallet})`;
}

/** The wallets of telephones, by their names at Stripe. Names of brands are not translated. */
export const walletNames: ReadonlyMap<string, string> = new Map([
  ['apple_pay', 'Apple Pay'],
  ['google_pay', 'Google Pay'],
]);

/** A saved payment method in a list: `Visa ending in 4242, expires 12/2030`. */
export function savedText(type: string, data: MethodData, wording: Wording): string {
  const card = methodText(type, data, wording);
  if (data.expMonth === undefined) return card;
  return wording.say(wording.words.card.expires, { card, date: `${data.expMonth}/${data.expYear}` });
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
