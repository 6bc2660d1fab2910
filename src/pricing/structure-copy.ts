import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import type { SharedIdKind } from '../kernel/id.ts';
import { isSameJson, Metadata, Timestamp, WholeNumber } from '../kernel/json.ts';
import type { CreditPool } from './credit-pool.ts';
import {
  ExportedLimitTerms,
  FeatureValue,
  grantSubject,
  type NewFeature,
  RenewalFrequency,
  StoredGrantInterval,
  subjectIdOf,
} from './feature.ts';
import { BillingTiming, IntervalUnit, type NewPrice, Overage, UsageInterval } from './price.ts';
import { Pricing } from './pricing.ts';
import { isLinkActive } from './product-change.ts';
import type {
  ProductPriceStructure,
  ProductStructure,
  Structure,
  UsageMeterStructure,
  UsagePriceStructure,
} from './structure.ts';
import type { PricingModelContents, StructureChanges } from './structure-contents.ts';
import { AggregationType, MeterProration, Where } from './usage-meter.ts';

interface CopyContext {
  readonly pricingModelId: string;
  readonly now: Instant;
  readonly newId: (kind: SharedIdKind) => string;
}

/**
 * Copies every record of a pricing model in the same order, with new ids and references to the copies. Inactive records
 * are copied too; expired links are not, because they do not affect the future.
 */
export function copyContents(contents: PricingModelContents, context: CopyContext): StructureChanges {
  const { pricingModelId, newId } = context;
  const ids = new Map<string, string>();
  const copied = <Row extends { id: string }>(kind: SharedIdKind, { id, ...row }: Row) => {
    const copy = newId(kind);
    ids.set(id, copy);
    return { ...row, id: copy, pricingModelId };
  };
  const idOf = (id: string) => {
    const copy = ids.get(id);
    assert(copy !== undefined, 'a record refers to its own pricing model only');
    return copy;
  };
  const ratesOf = copyingRates(contents, idOf);
  const products = contents.products.map((row) => copied('product', row));
  const changes: StructureChanges = {
    resources: made(contents.resources.map((row) => copied('resource', row))),
    usageMeters: made(contents.usageMeters.map((row) => copied('usageMeter', row))),
    creditPools: made(contents.creditPools.map((row) => ({ ...copied('creditPool', row), rates: ratesOf(row) }))),
    features: made(
      contents.features.map((row): NewFeature => {
        switch (row.type) {
          case 'toggle':
            return copied('feature', row);
          case 'value':
            return copied('feature', row);
          case 'spend_limit': {
            const id = subjectIdOf(row.spendLimit);
            return { ...copied('feature', row), spendLimit: { ...row.spendLimit, ...grantSubject(id && idOf(id)) } };
          }
          case 'usage_credit_grant':
            return { ...copied('feature', row), ...grantSubject(idOf(subjectIdOf(row) ?? '')) };
          case 'resource':
            return { ...copied('feature', row), resourceId: idOf(row.resourceId) };
          default:
            return row satisfies never;
        }
      }),
    ),
    products: made(products),
    prices: {
      ...made(
        contents.prices.map((row): NewPrice => {
          if (row.type === 'usage') return { ...copied('price', row), usageMeterId: idOf(row.usageMeterId) };
          if (row.type === 'subscription') return { ...copied('price', row), productId: idOf(row.productId) };
          return { ...copied('price', row), productId: idOf(row.productId) };
        }),
      ),
      renamed: [],
    },
    productFeatures: {
      linked: contents.productFeatures
        .filter((row) => isLinkActive(row, context.now))
        .map((row) => ({
          ...copied('productFeature', row),
          productId: idOf(row.productId),
          featureId: idOf(row.featureId),
        })),
      expired: [],
    },
  };
  // A rate names a price that is copied after its product.
  const withRates = products.map((product) => ({
    ...product,
    usagePrices: product.usagePrices.map((rate) => {
      return { ...rate, usageMeterId: idOf(rate.usageMeterId), priceId: idOf(rate.priceId) };
    }),
  }));
  return { ...changes, products: made(withRates) };
}

/** The rates of a credit pool on the copies of their usage meters. */
function copyingRates({ usageMeters }: PricingModelContents, idOf: (id: string) => string) {
  const meterIds = new Map(usageMeters.map(({ id, slug }) => [slug, id]));
  return ({ rates }: CreditPool) =>
    rates.map((rate) => ({ ...rate, usageMeterId: idOf(meterIds.get(rate.usageMeterSlug) ?? '') }));
}

function made<Made>(rows: Made[]) {
  return { made: rows, changed: [] };
}

const featureText = { slug: z.string(), name: z.string(), description: z.string(), active: z.boolean() };
const ExportedFeature = z.discriminatedUnion('type', [
  z.object({ type: z.literal('toggle'), ...featureText }),
  z.object({
    type: z.literal('usage_credit_grant'),
    ...featureText,
    amount: WholeNumber,
    renewalFrequency: RenewalFrequency,
    grantInterval: StoredGrantInterval.unwrap().optional(),
    usageMeterSlug: z.string().optional(),
    creditPoolSlug: z.string().optional(),
    rolloverMaximum: WholeNumber.optional(),
    rolloverPeriods: z.int().optional(),
  }),
  z.object({ type: z.literal('resource'), ...featureText, amount: WholeNumber, resourceSlug: z.string() }),
  z.object({ type: z.literal('value'), ...featureText, value: FeatureValue }),
  z.object({
    type: z.literal('spend_limit'),
    ...featureText,
    amount: WholeNumber,
    spendLimit: ExportedLimitTerms,
  }),
]);

const priceText = {
  name: z.string().optional(),
  slug: z.string().optional(),
  unitPrice: WholeNumber,
  pricing: Pricing.optional(),
  metadata: Metadata.optional(),
};
/** These keys of a product's price are there even when they are null, as in the API that we are compatible with. */
const productPriceText = {
  ...priceText,
  isDefault: z.literal(true),
  active: z.literal(true),
  usageMeterId: z.null(),
  usageEventsPerUnit: z.null(),
};
const ExportedProductPrice = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('subscription'),
    ...productPriceText,
    intervalUnit: IntervalUnit,
    intervalCount: z.int(),
    trialPeriodDays: z.int().nullable(),
    overage: Overage,
    setupFeeAmount: WholeNumber.optional(),
    minimumCommitment: WholeNumber.optional(),
    billingTiming: BillingTiming.optional(),
  }),
  z.object({ type: z.literal('single_payment'), ...productPriceText, trialPeriodDays: z.null() }),
]);
const ExportedProduct = z.object({
  product: z.object({
    name: z.string(),
    slug: z.string(),
    description: z.string().optional(),
    imageURL: z.string().optional(),
    singularQuantityLabel: z.string().optional(),
    pluralQuantityLabel: z.string().optional(),
    minimumQuantity: z.int().optional(),
    maximumQuantity: z.int().optional(),
    usagePrices: z.array(z.object({ usageMeterSlug: z.string(), priceSlug: z.string() })).optional(),
    addOn: z.boolean().optional(),
    default: z.boolean(),
    active: z.boolean(),
    metadata: Metadata.optional(),
  }),
  price: ExportedProductPrice,
  features: z.array(z.union([z.string(), z.object({ slug: z.string(), value: FeatureValue })])).meta({
    description:
      'The slugs of the features that the product grants, each with its value where the product has its own.',
  }),
});

const ExportedUsageMeter = z.object({
  usageMeter: z.object({
    name: z.string(),
    slug: z.string(),
    aggregationType: AggregationType,
    recurring: z.boolean().optional(),
    proration: MeterProration.optional(),
    lowBalanceThreshold: WholeNumber.optional(),
    eventName: z.string().optional(),
    where: Where.optional(),
    valueProperty: z.string().optional(),
  }),
  prices: z.array(
    z.object({
      type: z.literal('usage'),
      ...priceText,
      intervalUnit: IntervalUnit,
      intervalCount: z.int(),
      usageInterval: UsageInterval.optional(),
      usageEventsPerUnit: z.int(),
      where: Where.optional(),
      trialPeriodDays: z.null(),
      isDefault: z.boolean(),
      active: z.boolean(),
    }),
  ),
});

/** A pricing model as a setup body. As an update of its own pricing model it changes nothing. */
export const PricingModelExport = z
  .object({
    pricingModel: z.object({
      name: z.string(),
      isDefault: z.boolean(),
      features: z.array(ExportedFeature),
      products: z.array(ExportedProduct),
      usageMeters: z.array(ExportedUsageMeter),
      resources: z.array(z.object({ slug: z.string(), name: z.string(), active: z.boolean() })),
      creditPools: z
        .array(
          z.object({
            slug: z.string(),
            name: z.string(),
            unit: z.string(),
            lowBalanceThreshold: z.string().optional(),
            drawAtPrice: z.literal(true).optional(),
            rates: z.array(
              z.object({ usageMeterSlug: z.string(), where: Where.optional(), per: z.int(), cost: z.string() }),
            ),
          }),
        )
        .optional()
        .meta({ description: 'Absent where there is none.' }),
    }),
    updatedAt: Timestamp.meta({ description: 'The time of the last change of the pricing model or its contents.' }),
  })
  .meta({ id: 'PricingModelExport' });
export type PricingModelExport = z.infer<typeof PricingModelExport>;

/**
 * A structure as exported: most nulls are omitted, and prices have the form that setup requires. The no-charge prices of
 * usage meters are omitted, because setup creates them and refuses to be given them.
 */
export function exportStructure(
  { name, isDefault }: { readonly name: string; readonly isDefault: boolean },
  { features, products, usageMeters, resources, creditPools }: Structure,
): PricingModelExport['pricingModel'] {
  return {
    name,
    isDefault,
    features: features.map((feature) => withoutNulls(feature)),
    products: products.map(({ product, price, features: given }) => ({
      product: exportProduct(product),
      price: exportProductPrice(price),
      features: given.map(({ slug, value }) => (value === null ? slug : { slug, value })),
    })),
    usageMeters: usageMeters.map(({ usageMeter, prices }) => ({
      usageMeter: exportUsageMeter(usageMeter),
      prices: prices.map(exportUsagePrice),
    })),
    resources: [...resources],
    ...(creditPools.length === 0 ? {} : { creditPools: creditPools.map(exportCreditPool) }),
  };
}

function exportCreditPool({ rates, drawAtPrice, ...pool }: Structure['creditPools'][number]) {
  return { ...withoutNulls(pool), ...(drawAtPrice ? { drawAtPrice } : {}), rates: rates.map(withoutNulls) };
}

function exportProduct({ usagePrices, addOn, ...product }: ProductStructure['product']) {
  const rates = usagePrices.length === 0 ? {} : { usagePrices: [...usagePrices] };
  return { ...withoutNulls(product), ...rates, ...(addOn ? { addOn } : {}) };
}

/** An interval of its own is what a price that names one has, so it goes without saying. */
function exportUsagePrice({ usageInterval, ...price }: UsagePriceStructure) {
  const said = usageInterval === 'own' ? {} : { usageInterval };
  return { type: 'usage', ...withoutNulls(price), ...said, trialPeriodDays: null } as const;
}

function exportUsageMeter({ recurring, proration, ...meter }: UsageMeterStructure['usageMeter']) {
  return { ...withoutNulls(meter), ...(recurring ? { recurring, proration } : {}) };
}

function exportProductPrice(price: ProductPriceStructure): z.infer<typeof ExportedProductPrice> {
  const fixed = { isDefault: true, active: true, usageMeterId: null, usageEventsPerUnit: null } as const;
  if (price.type === 'single_payment') return { ...withoutNulls(price), ...fixed, trialPeriodDays: null };
  const { billingTiming, ...terms } = withoutNulls(price);
  // A plan is billed in advance unless it says otherwise.
  const timing = billingTiming === 'in_advance' ? {} : { billingTiming };
  return { ...terms, ...fixed, ...timing, trialPeriodDays: price.trialPeriodDays };
}

type WithoutNulls<Given> = Given extends unknown
  ? { [Key in keyof Given as null extends Given[Key] ? never : Key]: Given[Key] } & {
      [Key in keyof Given as null extends Given[Key] ? Key : never]?: NonNullable<Given[Key]>;
    }
  : never;

function withoutNulls<Given extends object>(given: Given): WithoutNulls<Given> {
  const kept = Object.entries(given).filter(([, value]) => value !== null);
  // The type matches the filter: nullable keys may be missing.
  return Object.fromEntries(kept) as WithoutNulls<Given>;
}

const recordNames = [
  'pricingModel',
  'feature',
  'product',
  'price',
  'usageMeter',
  'usagePrice',
  'resource',
  'creditPool',
] as const;

/** A difference between two states of a pricing model. */
const PricingDifference = z.object({
  operation: z.enum(['create', 'update', 'remove']),
  record: z.enum(recordNames),
  slug: z
    .string()
    .nullable()
    .meta({ description: 'Its slug. For a `price` the slug of its product; null for the pricing model itself.' }),
  usageMeterSlug: z.string().nullable().meta({ description: 'The usage meter of a `usagePrice`.' }),
  fields: z
    .array(z.object({ name: z.string(), before: z.unknown().nullable(), after: z.unknown().nullable() }))
    .meta({ description: 'The fields that differ, with their values; null where there is none.' }),
});
export type PricingDifference = z.infer<typeof PricingDifference>;

/** A difference that an apply makes, and the customers who have the record. */
export const PricingChange = PricingDifference.extend({
  subscriptions: z.int().meta({
    description:
      'The current subscriptions that have the record: by its product, by its feature, or by usage on its meter. A ' +
      'lower bound from 10,000 on.',
  }),
  customers: z.int().meta({ description: 'The customers of these subscriptions.' }),
}).meta({ id: 'PricingChange' });
export type PricingChange = z.infer<typeof PricingChange>;

type Exported = PricingModelExport['pricingModel'];
type GivenFeature = Exported['products'][number]['features'][number];

interface ExportedRecord extends Pick<PricingDifference, 'record' | 'slug' | 'usageMeterSlug'> {
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The records of an export by a key that stays the same while a record is the same. */
function recordsOf({
  name,
  isDefault,
  features,
  products,
  usageMeters,
  resources,
  creditPools = [],
}: Exported): Map<string, ExportedRecord> {
  const records: ExportedRecord[] = [
    { record: 'pricingModel', slug: null, usageMeterSlug: null, fields: { name, isDefault } },
    ...features.map((fields) => named('feature', fields)),
    ...resources.map((fields) => named('resource', fields)),
    ...creditPools.map((fields) => named('creditPool', fields)),
    ...usageMeters.flatMap(({ usageMeter, prices }) => [
      named('usageMeter', usageMeter),
      ...prices.map((fields) => ({ ...named('usagePrice', fields), usageMeterSlug: usageMeter.slug })),
    ]),
    ...products.flatMap(({ product, price, features: granted }) => [
      named('product', { ...product, features: granted.toSorted(bySlug) }),
      { ...named('price', price), slug: product.slug },
    ]),
  ];
  const seen = new Map<string, number>();
  return new Map(
    records.map((each) => {
      // A usage price without a slug is only its terms, of which there may be several.
      const terms = each.record === 'pricingModel' ? null : each.fields;
      const key = JSON.stringify([each.record, each.usageMeterSlug, each.slug ?? terms]);
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      return [`${key} ${count}`, each];
    }),
  );
}

/** Features of a product are a set, so their order says nothing. */
function bySlug(one: GivenFeature, other: GivenFeature): number {
  const [a, b] = [one, other].map((each) => (typeof each === 'string' ? each : each.slug));
  return (a ?? '') < (b ?? '') ? -1 : 1;
}

function named<Fields extends { readonly slug?: string | undefined }>(
  record: ExportedRecord['record'],
  fields: Fields,
): ExportedRecord {
  return { record, slug: fields.slug ?? null, usageMeterSlug: null, fields: { ...fields } };
}

/** The differences between two exports; null: there was no pricing model before. */
export function pricingChanges(before: Exported | null, after: Exported): PricingDifference[] {
  const [old, now] = [before === null ? new Map<string, ExportedRecord>() : recordsOf(before), recordsOf(after)];
  const changes = [...now].flatMap(([key, each]): PricingDifference[] => {
    const former = old.get(key);
    const fields = differences(former?.fields ?? {}, each.fields);
    return fields.length === 0 ? [] : [{ ...each, operation: former === undefined ? 'create' : 'update', fields }];
  });
  const removed = [...old].filter(([key]) => !now.has(key));
  return [
    ...changes,
    ...removed.map(
      ([, each]): PricingDifference => ({ ...each, operation: 'remove', fields: differences(each.fields, {}) }),
    ),
  ];
}

function differences(before: ExportedRecord['fields'], after: ExportedRecord['fields']): PricingDifference['fields'] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isSameJson(before[name], after[name]))
    .map((name) => ({ name, before: before[name] ?? null, after: after[name] ?? null }));
}
