import { type Language, localCount, localFineMoney } from '../kernel/language.ts';
import { decimalText, fineMoneyText } from '../kernel/money-text.ts';
import { measuredText } from './measured-usage.ts';
import { fineDigits, type PriceModel, priceUsage, type Tier } from './price-model.ts';
import type { Quantities } from './usage-parts.ts';

/** A price in words: `first 1,000 free, then USD 0.02 each`. */
export function priceText(model: PriceModel, currency: string): string {
  const money = (amount: bigint) => fineMoneyText(amount, currency, fineDigits);
  const free = model.freeUnits === 0n ? '' : `first ${countText(model.freeUnits)} free, then `;
  const bounds = [
    model.minimumAmount === null ? '' : `, at least ${money(model.minimumAmount)}`,
    model.maximumAmount === null ? '' : `, at most ${money(model.maximumAmount)}`,
  ];
  return `${free}${unboundedText(model, money)}${bounds.join('')}`;
}

type MoneyText = (amount: bigint) => string;

function unboundedText(model: PriceModel, money: MoneyText): string {
  switch (model.kind) {
    case 'dynamic':
      return 'each event at its own price';
    case 'package':
      return `${money(model.packageAmount)} for each ${countText(model.packageSize)} begun`;
    case 'volume':
      return model.tiers.map((tier, index) => volumeText(tier, model.tiers[index - 1], money)).join(', ');
    case 'graduated': {
      const perEvent = model.amountPerEvent === 0n ? '' : ` and ${money(model.amountPerEvent)} for each event`;
      return `${model.tiers.map((tier, index) => graduatedText(tier, model.tiers[index - 1], money)).join(', ')}${perEvent}`;
    }
    default:
      return model satisfies never;
  }
}

/** All units cost the amount of the tier that they reach. */
function volumeText(tier: Tier, before: Tier | undefined, money: MoneyText): string {
  const text = rateText(tier, money);
  if (tier.upTo !== null) return `${text} up to ${countText(tier.upTo)}`;
  return before === undefined ? text : `${text} above`;
}

function graduatedText(tier: Tier, before: Tier | undefined, money: MoneyText): string {
  const text = rateText(tier, money);
  if (tier.upTo === null) return before === undefined ? text : `then ${text}`;
  const count = countText(tier.upTo - (before?.upTo ?? 0n));
  return `${before === undefined ? 'first' : 'next'} ${count} ${text === 'free' ? text : `at ${text}`}`;
}

function rateText({ unitAmount, rate, flatAmount }: Tier, money: MoneyText): string {
  const each = unitAmount === 0n ? [] : [`${money(unitAmount)} each`];
  const percent = rate === 0n ? [] : [`${decimalText(rate, fineDigits).replace(/\.?0+$/, '')}%`];
  const flat = flatAmount === 0n ? [] : [money(flatAmount)];
  const texts = [...each, ...percent, ...flat];
  return texts.length === 0 ? 'free' : texts.join(' and ');
}

/** A part of a price, as a row of an invoice. The amount is in minor units. */
export interface PriceRow {
  readonly text: string;
  readonly amount: bigint;
}

/** How the parts of a price are said in a language. The texts have placeholders in braces. */
export interface PriceWords {
  readonly language: Language;
  readonly texts: Readonly<Record<PriceText, string>>;
}

type PriceText =
  | 'freeUnits'
  | 'unitsAt'
  | 'each'
  | 'flat'
  | 'and'
  | 'package'
  | 'event'
  | 'events'
  | 'ownPrices'
  | 'perEvent'
  | 'minimum'
  | 'maximum';

/** The parts of the price of usage: free units, tiers, packages, events, and what a minimum or maximum changes. */
export function priceRows(
  model: PriceModel,
  usage: Quantities & { readonly per?: bigint },
  { currency, step }: { readonly currency: string; readonly step: bigint },
  words: PriceWords,
): PriceRow[] {
  const { language, texts } = words;
  const say = sayer(words, currency);
  const { units, events, per = 1n } = usage;
  const textOf = (parts: bigint) => measuredText({ units: parts, per }, language);
  const priced = priceUsage(model, { ...usage, per }, step);
  const unbounded = priceUsage({ ...model, minimumAmount: null, maximumAmount: null }, { ...usage, per }, step);
  const free = units < model.freeUnits * per ? units : model.freeUnits * per;
  const rows: PriceRow[] = free === 0n ? [] : [{ text: say('freeUnits', { units: textOf(free) }), amount: 0n }];
  for (const { tier, units: within, amount } of priced.tiers) {
    const rate = rateOf(tier, say, texts);
    const name = rate === null ? 'freeUnits' : 'unitsAt';
    rows.push({ text: say(name, { units: textOf(within), rate: rate ?? '' }), amount });
  }
  if (unbounded.otherAmount !== 0n)
    rows.push({ text: otherText(model, events, say, language), amount: unbounded.otherAmount });
  const bound = priced.amount - unbounded.amount;
  if (bound > 0n) rows.push({ text: say('minimum', { amount: model.minimumAmount ?? 0n }), amount: bound });
  if (bound < 0n) rows.push({ text: say('maximum', { amount: model.maximumAmount ?? 0n }), amount: bound });
  return rows;
}

type Say = (name: PriceText, values: Readonly<Record<string, string | bigint>>) => string;

/** Fills in a text. A number is an amount of money. */
function sayer({ language, texts }: PriceWords, currency: string): Say {
  return (name, values) =>
    texts[name].replaceAll(/\{(\w+)\}/g, (_, key: string) => {
      const value = values[key] ?? '';
      return typeof value === 'string' ? value : localFineMoney(value, currency, language, fineDigits);
    });
}

/** The price of a unit of the tier; null: free. */
function rateOf({ unitAmount, rate, flatAmount }: Tier, say: Say, { and }: PriceWords['texts']): string | null {
  const each = unitAmount === 0n ? [] : [say('each', { amount: unitAmount })];
  const percent = rate === 0n ? [] : [`${decimalText(rate, fineDigits).replace(/\.?0+$/, '')}%`];
  const flat = flatAmount === 0n ? [] : [say('flat', { amount: flatAmount })];
  const parts = [...each, ...percent, ...flat];
  return parts.length === 0 ? null : parts.join(` ${and} `);
}

/** The part of a price that is in no tier. */
function otherText(model: PriceModel, events: bigint, say: Say, language: Language): string {
  if (model.kind === 'package')
    return say('package', { amount: model.packageAmount, size: localCount(model.packageSize, language) });
  const count = say(events === 1n ? 'event' : 'events', { count: localCount(events, language) });
  if (model.kind === 'dynamic') return say('ownPrices', { events: count });
  return say('perEvent', { events: count, amount: model.amountPerEvent });
}

function countText(count: bigint): string {
  return count.toLocaleString('en-US');
}
