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
  const { words, language, money, say } = wording;
  const name = (where === null ? meterName : `${meterName} (${conditionsText(where)})`) + words.common.colon;
  if (pricing !== null) return name + modelText(priceModelOf(pricing), currency, wording);
  const rate = { amount: money(unitPrice, currency), per: localPer(usageEventsPerUnit, language) };
  return name + say(words.prices.usageRate, rate);
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
  const { colon } = wording.words.common;
  if (value !== null) return name + colon + valueText(value, wording);
  if (type === 'toggle' || type === 'spend_limit' || amount === null) return name;
  const isMoney = poolUnit !== null && poolUnit !== 'credit';
  const count = name + colon + (isMoney ? wording.pooled(String(amount), poolUnit) : wording.count(amount));
  if (type === 'resource' || every.unit === null) return count;
  const isOnce = renewalFrequency === 'once';
  return `${count} ${isOnce ? wording.words.prices.once : eachText(grantInterval ?? every, wording)}`;
}

/** A list of texts is the seller's, and reads the same in each language. */
function valueText(value: FeatureValue, { language }: Wording): string {
  if (typeof value === 'number') return value.toLocaleString(language, { maximumFractionDigits: 20 });
  return [value].flat().join(', ');
}

/** The signs of brands, in a card of 34 by 22. */
const brandSigns: ReadonlyMap<string, Html> = new Map([
  [
    'visa',
    html`<text x="17" y="15" text-anchor="middle" font-size="10.5" font-weight="700" font-style="italic" fill="#1a1f71">VISA</text>`,
  ],
  [
    'mastercard',
    html`<circle cx="13.4" cy="11" r="6.4" fill="#eb001b"/><circle cx="20.6" cy="11" r="6.4" fill="#f79e1b"/><path d="M17 5.7a6.4 6.4 0 0 1 0 10.6 6.4 6.4 0 0 1 0-10.6z" fill="#ff5f00"/>`,
  ],
  [
    'amex',
    html`<rect x="1" y="1" width="32" height="20" rx="3" fill="#1f72cd"/><text x="17" y="14.2" text-anchor="middle" font-size="8" font-weight="700" fill="#fff">AMEX</text>`,
  ],
]);
const bankSign = html`<path d="M9 9.5l8-4.5 8 4.5zM10.5 11.5v4M15 11.5v4M19 11.5v4M23.5 11.5v4M9 17.5h16" fill="none" stroke="#475467" stroke-width="1.4" stroke-linejoin="round"/>`;
const cardSign = html`<path d="M1 7h32v3.5H1z" fill="#475467"/><path d="M5 15.5h8" stroke="#475467" stroke-width="1.6"/>`;

/** The sign of a payment method. `name` is for screen readers; absent: the text beside it says the same. */
function signHtml(sign: Html, name?: string): Html {
  const role = name === undefined ? html` aria-hidden="true"` : html` role="img" aria-label="${name}"`;
  return html`<svg class="sign" viewBox="0 0 34 22"${role}><rect x=".5" y=".5" width="33" height="21" rx="3.5" fill="#fff" stroke="#d0d5dd"/>${sign}</svg>`;
}

/** The sign of a saved payment method, which stands before its name. */
export function methodSign(type: string, { brand }: MethodData): Html {
  return signHtml(brandSigns.get(String(brand)) ?? (kinds.get(type) === 'bankAccount' ? bankSign : cardSign));
}

/** The signs of the cards that a form takes. */
export function acceptedMarks(): Html {
  const signs = [...brandSigns].map(([brand, sign]) => signHtml(sign, brands.get(brand)));
  return html`<span class="signs">${signs}</span>`;
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

const walletSigns: ReadonlyMap<string, Html> = new Map([
  [
    'apple_pay',
    html`<path fill="currentColor" d="M12 7.2c-1.5-1.1-4.6-1.5-6 1.3-1.5 3 .1 7.6 2.2 9.7 1.4 1.4 2.3.5 3.8.5s2.4.9 3.8-.5c1-1 1.7-2.3 2.1-3.6-2.7-1.1-2.9-4.9-.2-6.3-1.3-2-4.2-2.2-5.7-1.1zM12.1 6.1c0-2.1 1.4-3.7 3.3-3.9.1 2.2-1.4 3.9-3.3 3.9z"/>`,
  ],
  [
    'google_pay',
    html`<g fill="none" stroke-width="3.3"><path stroke="#ea4335" d="M5.76 8.82A7 7 0 0 1 17.2 7.32"/><path stroke="#fbbc05" d="M5.76 15.18a7 7 0 0 1 0-6.36"/><path stroke="#34a853" d="M16.5 17.36a7 7 0 0 1-10.74-2.18"/><path stroke="#4285f4" d="M12 12h7a7 7 0 0 1-2.5 5.36"/></g>`,
  ],
]);

/** The face of the button of a wallet, whose name is the label of the button. */
export function walletMark(wallet: string): Html {
  return html`<span aria-hidden="true"><svg viewBox="0 0 24 24" width="22" height="22">${walletSigns.get(wallet)}</svg> Pay</span>`;
}

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
