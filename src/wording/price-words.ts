import { localFineMoney } from '../kernel/language.ts';
import { decimalText } from '../kernel/money-text.ts';
import { fineDigits, type PriceModel, type Tier } from '../rating/price-model.ts';
import type { Wording } from './wording.ts';

/** A price in words: `first 1,000 free, then $0.02 each`. */
export function modelText(model: PriceModel, currency: string, wording: Wording): string {
  const { words, language, count, say } = wording;
  const { firstFreeThen, atLeast, atMost } = words.prices;
  const money = (amount: bigint) => localFineMoney(amount, currency, language, fineDigits);
  const { freeUnits, minimumAmount, maximumAmount } = model;
  const plain = unboundedText(model, money, wording);
  const text = freeUnits === 0n ? plain : say(firstFreeThen, { count: count(freeUnits), rest: plain });
  const least = minimumAmount === null ? '' : say(atLeast, { amount: money(minimumAmount) });
  return text + least + (maximumAmount === null ? '' : say(atMost, { amount: money(maximumAmount) }));
}

type MoneyText = (amount: bigint) => string;

function unboundedText(model: PriceModel, money: MoneyText, wording: Wording): string {
  const { words, count, say } = wording;
  switch (model.kind) {
    case 'dynamic':
      return words.prices.ownPrice;
    case 'package':
      return say(words.prices.package, { amount: money(model.packageAmount), size: count(model.packageSize) });
    case 'volume':
      return tiersText(model.tiers, (tier, before) => volumeText(tier, before, money, wording), wording);
    case 'graduated': {
      const tiers = tiersText(model.tiers, (tier, before) => graduatedText(tier, before, money, wording), wording);
      if (model.amountPerEvent === 0n) return tiers;
      return say(words.prices.andEvents, { tiers, amount: money(model.amountPerEvent) });
    }
    default:
      return model satisfies never;
  }
}

type TierText = (tier: Tier, before: Tier | undefined) => string;

function tiersText(tiers: readonly Tier[], textOf: TierText, { language }: Wording): string {
  return tiers.map((tier, index) => textOf(tier, tiers[index - 1])).join(language === 'ja' ? '、' : ', ');
}

/** All units cost the amount of the tier that they reach. */
function volumeText(tier: Tier, before: Tier | undefined, money: MoneyText, wording: Wording): string {
  const { words, count, say } = wording;
  const rate = rateText(tier, money, wording) ?? words.prices.free;
  if (tier.upTo !== null) return say(words.prices.upTo, { rate, count: count(tier.upTo) });
  return before === undefined ? rate : say(words.prices.above, { rate });
}

function graduatedText(tier: Tier, before: Tier | undefined, money: MoneyText, wording: Wording): string {
  const { prices } = wording.words;
  const rate = rateText(tier, money, wording);
  if (tier.upTo === null)
    return before === undefined ? (rate ?? prices.free) : wording.say(prices.afterwards, { rate: rate ?? prices.free });
  const count = wording.count(tier.upTo - (before?.upTo ?? 0n));
  if (rate === null) return wording.say(before === undefined ? prices.firstFree : prices.nextFree, { count });
  return wording.say(before === undefined ? prices.first : prices.next, { count, rate });
}

/** The price of a unit of the tier; null: free. */
function rateText({ unitAmount, rate, flatAmount }: Tier, money: MoneyText, { words, say }: Wording): string | null {
  const each = unitAmount === 0n ? [] : [say(words.prices.each, { amount: money(unitAmount) })];
  const percent = rate === 0n ? [] : [`${decimalText(rate, fineDigits).replace(/\.?0+$/, '')}%`];
  const flat = flatAmount === 0n ? [] : [money(flatAmount)];
  const texts = [...each, ...percent, ...flat];
  return texts.length === 0 ? null : texts.join(` ${words.prices.and} `);
}
