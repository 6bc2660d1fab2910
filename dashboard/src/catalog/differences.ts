import type { PricingChange } from '../../../client/src/generated-entry.ts';
import { counted, valueText as featureValueText, words } from '../parts/format.ts';
import { type PriceTerms, priceText, termsText } from '../parts/price-text.ts';
import {
  type Catalog,
  type CatalogPool,
  type FeatureValue,
  find,
  type GivenFeature,
  givenOf,
  type PlanPrice,
  type UsagePrice,
} from './draft.ts';

/** A difference in words: its subject, and each value before and after. */
export interface Difference {
  readonly key: string;
  readonly operation: PricingChange['operation'];
  readonly subject: string;
  readonly values: readonly {
    readonly name: string | null;
    readonly before: string | null;
    readonly after: string | null;
  }[];
  /** The customers who have the record, and whether the change reaches them. */
  readonly reach: string | null;
}

interface Catalogs {
  readonly before: Catalog;
  readonly after: Catalog;
  readonly currency: string;
}

/** A price of a catalog, which has no currency of its own. */
export function termsOf(price: PlanPrice | UsagePrice, currency: string): PriceTerms {
  return { ...price, currency };
}

/** A price with all its terms: `$49.00 per month, 14 days of trial`. */
function wholePriceText(price: PlanPrice | UsagePrice | undefined, currency: string, unit?: string): string | null {
  if (price === undefined) return null;
  const terms = termsOf(price, currency);
  return [priceText(terms, unit), ...termsText(terms)].join(', ');
}

/** `model is gpt-5 or gpt-5-mini` */
export function whereText(where: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(where)
    .map(([name, values]) => `${name} is ${values.join(' or ')}`)
    .join(' and ');
}

type RateTerms = Pick<CatalogPool['rates'][number], 'usageMeterSlug' | 'per' | 'cost'> & {
  readonly where?: Readonly<Record<string, readonly string[]>> | null;
};

/** `1,000 units of Tokens cost 0.5, where model is gpt-5` */
export function rateText({ usageMeterSlug, per, cost, where }: RateTerms, catalog: Catalog): string {
  const name = find(catalog, 'usageMeters', usageMeterSlug)?.usageMeter.name ?? usageMeterSlug;
  const condition = where ? `, where ${whereText(where)}` : '';
  return `${counted(per, 'unit')} of ${name} ${per === 1 ? 'costs' : 'cost'} ${cost}${condition}`;
}

const kinds: Readonly<Record<PricingChange['record'], string>> = {
  pricingModel: 'Pricing model',
  feature: 'Feature',
  product: 'Product',
  price: 'Price',
  usageMeter: 'Usage meter',
  usagePrice: 'Price of usage',
  resource: 'Resource',
  creditPool: 'Credit pool',
};

const unsaid = new Set(['type', 'default', 'isDefault', 'usageMeterId', 'usageEventsPerUnit', 'trialPeriodDays']);

/** A difference of the service in the words of people who sell. */
export function differenceOf(change: PricingChange, catalogs: Catalogs): Difference {
  const { record, slug, usageMeterSlug, operation } = change;
  const key = [record, usageMeterSlug, slug].join(' ');
  return {
    key,
    operation,
    subject: subjectOf(change, catalogs),
    values: valuesOf(change, catalogs),
    reach: reachOf(change),
  };
}

function subjectOf({ record, slug, usageMeterSlug }: PricingChange, { before, after }: Catalogs): string {
  switch (record) {
    case 'pricingModel':
      return 'The pricing model';
    case 'price':
    case 'product':
      return (find(after, 'products', slug) ?? find(before, 'products', slug))?.product.name ?? slug ?? '';
    case 'creditPool':
      return (find(after, 'creditPools', slug) ?? find(before, 'creditPools', slug))?.name ?? slug ?? '';
    case 'feature':
    case 'resource': {
      const list = record === 'feature' ? 'features' : 'resources';
      return (find(after, list, slug) ?? find(before, list, slug))?.name ?? slug ?? '';
    }
    case 'usageMeter':
      return (find(after, 'usageMeters', slug) ?? find(before, 'usageMeters', slug))?.usageMeter.name ?? slug ?? '';
    case 'usagePrice': {
      const meter = find(after, 'usageMeters', usageMeterSlug) ?? find(before, 'usageMeters', usageMeterSlug);
      const price = usagePriceOf(after, usageMeterSlug, slug) ?? usagePriceOf(before, usageMeterSlug, slug);
      const name = price?.name ?? (slug === usageMeterSlug ? null : slug);
      return [meter?.usageMeter.name ?? usageMeterSlug, name].filter(Boolean).join(', ');
    }
    default:
      return record satisfies never;
  }
}

function usagePriceOf(catalog: Catalog, meterSlug: string | null, slug: string | null): UsagePrice | undefined {
  return find(catalog, 'usageMeters', meterSlug)?.prices.find((price) => (price.slug ?? null) === slug);
}

function valuesOf(change: PricingChange, catalogs: Catalogs): Difference['values'] {
  const { record, slug, usageMeterSlug, operation, fields } = change;
  const { before, after, currency } = catalogs;
  if (record === 'price' || record === 'usagePrice') {
    const [old, next] = [before, after].map((catalog) => {
      if (record === 'usagePrice') return wholePriceText(usagePriceOf(catalog, usageMeterSlug, slug), currency);
      const product = find(catalog, 'products', slug);
      return wholePriceText(product?.price, currency, product?.product.singularQuantityLabel);
    });
    if (old !== next)
      return [{ name: null, before: old ?? null, after: operation === 'remove' ? null : (next ?? null) }];
  }
  if (operation === 'create') return [{ name: null, before: null, after: `New ${kinds[record].toLowerCase()}` }];
  if (operation === 'remove') return [];
  return fields.map(({ name, before: old, after: next }) => ({
    name: words(name),
    before: valueText(name, old, catalogs),
    after: valueText(name, next, catalogs),
  }));
}

function valueText(name: string, value: unknown, { before, after }: Catalogs): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (name === 'where') return whereText(value as Record<string, string[]>);
  if (name === 'features' && Array.isArray(value)) {
    const names = (value as GivenFeature[]).map((given) => {
      const { slug, value: own } = givenOf(given);
      const named = (find(after, 'features', slug) ?? find(before, 'features', slug))?.name ?? slug;
      return own === undefined ? named : `${named}: ${featureValueText(own)}`;
    });
    return names.length === 0 ? 'none' : names.join(', ');
  }
  if (name === 'value') return featureValueText(value as FeatureValue);
  if (name === 'spendLimit') {
    const { action, thresholds } = value as { action: string; thresholds: readonly number[] };
    return `${action === 'block' ? 'refuses more use' : 'only notifies'}, tells at ${thresholds.join(', ') || 100} %`;
  }
  if (name === 'rates' && Array.isArray(value)) {
    const rates = (value as RateTerms[]).map((rate) => rateText(rate, after));
    return rates.length === 0 ? 'none' : rates.join('; ');
  }
  if (name === 'grantInterval') {
    const { unit, count } = value as { unit: string; count: number };
    return count === 1 ? `each ${unit}` : `every ${counted(count, unit)}`;
  }
  return typeof value === 'object' ? JSON.stringify(value) : typeof value === 'string' ? words(value) : String(value);
}

/** The customers that a change reaches, or that keep their own terms. */
function reachOf({ record, operation, subscriptions, customers, fields }: PricingChange): string | null {
  if (operation === 'create' || subscriptions === 0) return null;
  const isOne = subscriptions === 1;
  const [keep, have] = isOne ? ['keeps', 'has'] : ['keep', 'have'];
  const who = `${counted(subscriptions, 'subscription')} of ${counted(customers, 'customer')}`;
  const ends = operation === 'remove' || fields.some(({ name, after }) => name === 'active' && after === false);
  switch (record) {
    case 'price':
      return fields.every(({ name }) => unsaid.has(name) || name === 'name' || name === 'slug')
        ? `${who} ${have} it.`
        : `${who} ${keep} ${isOne ? 'its' : 'their'} price. The new one is for those who come.`;
    case 'product':
      if (ends) return `${who} ${keep} it. Nobody else can buy it.`;
      return fields.some(({ name }) => name === 'usagePrices') ? `It reaches ${who} at once.` : `${who} ${have} it.`;
    case 'feature':
      return ends ? `${who} ${keep} it.` : `${who} ${keep} it as it is. Those who come get the new one.`;
    case 'usageMeter':
    case 'usagePrice':
      return `It reaches the usage of ${who} from now on.`;
    default:
      return null;
  }
}
