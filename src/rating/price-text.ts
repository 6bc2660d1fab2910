import { type Language, localCount, localFineMoney } from '../kernel/language.ts';
import { decimalText } from '../kernel/money-text.ts';
import { measuredText } from './measured-usage.ts';
import { fineDigits, type PriceModel, priceUsage, type Tier } from './price-model.ts';
import type { Quantities } from './usage-parts.ts';

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
