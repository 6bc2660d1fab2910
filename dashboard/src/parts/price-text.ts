import type { Pricing } from '../../../client/src/generated-entry.ts';
import { countText, exactMoneyText, intervalText, moneyText } from './format.ts';

type Tiers = readonly { readonly upTo: number | null }[];

/** A pricing in words, as a product manager says it. */
export function pricingText(pricing: Pricing, currency: string, unit = 'unit'): string {
  return [baseText(pricing, currency, unit), ...limitsText(pricing, currency)].join('; ');
}

function baseText(pricing: Pricing, currency: string, unit: string): string {
  const money = (amount: string) => exactMoneyText(amount, currency);
  switch (pricing.model) {
    case 'per_unit':
      return `${money(pricing.unitAmount)} per ${unit}`;
    case 'package':
      return `${money(pricing.packageAmount)} for each ${countText(pricing.packageSize)} ${unit}s, begun ones too`;
    case 'graduated':
      return `Each ${unit} at the price of its tier: ${tierTexts(pricing.tiers, ({ unitAmount, flatAmount }) => withFlat(money(unitAmount), flatAmount, money))}`;
    case 'volume':
      return `All ${unit}s at the price of the tier that is reached: ${tierTexts(pricing.tiers, ({ unitAmount, flatAmount }) => withFlat(money(unitAmount), flatAmount, money))}`;
    case 'stairstep':
      return `One amount by the tier that is reached: ${tierTexts(pricing.tiers, ({ flatAmount }) => money(flatAmount))}`;
    case 'percentage':
      return `${pricing.rate}% of the value${pricing.fixedAmountPerEvent ? ` and ${money(pricing.fixedAmountPerEvent)} per event` : ''}`;
    case 'graduated_percentage':
      return `A percentage by tier: ${tierTexts(pricing.tiers, ({ rate, flatAmount }) => withFlat(`${rate}%`, flatAmount, money))}`;
    case 'dynamic':
      return 'The price that comes with each event';
    default:
      return pricing satisfies never;
  }
}

function withFlat(each: string, flat: string | undefined, money: (amount: string) => string): string {
  return flat === undefined || Number(flat) === 0 ? each : `${each} and ${money(flat)}`;
}

function tierTexts<Tier extends Tiers[number]>(tiers: readonly Tier[], text: (tier: Tier) => string): string {
  const named = tiers.map((tier, index) => {
    const before = tiers[index - 1]?.upTo ?? 0;
    const range = tier.upTo === null ? `from ${countText((before ?? 0) + 1)} on` : `up to ${countText(tier.upTo)}`;
    return `${range} ${text(tier)}`;
  });
  return named.join(', ');
}

function limitsText(
  {
    freeUnits,
    minimumAmount,
    maximumAmount,
  }: Pick<Pricing, 'minimumAmount' | 'maximumAmount'> & { freeUnits?: number },
  currency: string,
): string[] {
  return [
    ...(freeUnits ? [`the first ${countText(freeUnits)} are free`] : []),
    ...(minimumAmount ? [`at least ${exactMoneyText(minimumAmount, currency)}`] : []),
    ...(maximumAmount ? [`at most ${exactMoneyText(maximumAmount, currency)}`] : []),
  ];
}

/** The terms of a price, stored or only written down. */
export interface PriceTerms {
  readonly type: 'subscription' | 'single_payment' | 'usage';
  readonly currency: string;
  readonly unitPrice: number;
  readonly pricing?: Pricing | null;
  readonly intervalUnit?: string | null;
  readonly intervalCount?: number | null;
  readonly usageEventsPerUnit?: number | null;
  readonly trialPeriodDays?: number | null;
  readonly setupFeeAmount?: number | null;
  readonly minimumCommitment?: number | null;
  readonly billingTiming?: string | null;
}

/** A price in words: `$49.00 per month`. */
export function priceText(price: PriceTerms, unit = 'unit'): string {
  const { currency, unitPrice } = price;
  switch (price.type) {
    case 'single_payment':
      return unitPrice === 0 ? 'Free' : `${moneyText(unitPrice, currency)} once`;
    case 'subscription': {
      const rhythm = intervalText(price.intervalUnit ?? '', price.intervalCount ?? 1);
      if (price.pricing) return `${pricingText(price.pricing, currency, unit)}, ${rhythm}`;
      return unitPrice === 0 ? 'Free' : `${moneyText(unitPrice, currency)} ${rhythm}`;
    }
    case 'usage': {
      if (price.pricing) return pricingText(price.pricing, currency, unit);
      if (unitPrice === 0) return 'No charge';
      const events = price.usageEventsPerUnit ?? 1;
      const per = events === 1 ? unit : `${countText(events)} ${unit}s`;
      return `${moneyText(unitPrice, currency)} per ${per}`;
    }
    default:
      return price.type satisfies never;
  }
}

/** The terms of a price besides its amount. */
export function termsText(price: PriceTerms): string[] {
  const { currency } = price;
  const terms: string[] = [];
  if (price.trialPeriodDays) terms.push(`${price.trialPeriodDays} days of trial`);
  if (price.setupFeeAmount) terms.push(`${moneyText(price.setupFeeAmount, currency)} setup fee`);
  if (price.minimumCommitment) terms.push(`at least ${moneyText(price.minimumCommitment, currency)} a period`);
  if (price.billingTiming === 'in_arrears') terms.push('billed at the end of the period');
  return terms;
}
