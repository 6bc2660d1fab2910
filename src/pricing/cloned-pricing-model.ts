import { z } from 'zod';
import { CurrencyCode } from '../kernel/currency.ts';
import { isoText } from '../kernel/iso-text.ts';
import { Metadata, TimestampText, WholeNumber } from '../kernel/json.ts';
import {
  FeatureId,
  FeatureType,
  FeatureValue,
  LimitTerms,
  RenewalFrequency,
  rolloverFields,
  StoredGrantInterval,
} from './feature.ts';
import { BillingTiming, IntervalUnit, Overage, type Price, PriceId, PriceType, UsageInterval } from './price.ts';
import { Pricing } from './pricing.ts';
import {
  type PricingModel,
  type PricingModelDetails,
  PricingModelId,
  type ProductWithPrices,
} from './pricing-model.ts';
import { Product, type ProductUsagePrice } from './product.ts';
import { UsageMeter, Where } from './usage-meter.ts';

/** The environment of the organization that a pricing model is copied into. */
export const DestinationEnvironment = z.enum(['livemode', 'testmode']).meta({ id: 'DestinationEnvironment' });
export type DestinationEnvironment = z.infer<typeof DestinationEnvironment>;

// The two clone operations are older than the rest of the API: their instants are texts, and some fields are always
// null.
const textStamps = { createdAt: TimestampText, updatedAt: TimestampText };
const commits = { createdByCommit: z.string().nullable(), updatedByCommit: z.string().nullable() };
const stamps = { ...textStamps, ...commits };

const ClonedPrice = z
  .object({
    id: PriceId,
    ...stamps,
    livemode: z.boolean(),
    pricingModelId: z.string(),
    type: PriceType,
    productId: z.string().nullable(),
    usageMeterId: z.string().nullable(),
    name: z.string().nullable(),
    slug: z.string().nullable(),
    unitPrice: WholeNumber,
    intervalUnit: IntervalUnit.nullable(),
    intervalCount: z.int().nullable(),
    trialPeriodDays: z.int().nullable(),
    usageEventsPerUnit: z.int().nullable(),
    overage: Overage.nullable(),
    pricing: Pricing.nullable(),
    currency: CurrencyCode,
    isDefault: z.boolean(),
    active: z.boolean(),
    metadata: Metadata.nullable(),
    setupFeeAmount: WholeNumber.nullable(),
    minimumCommitment: WholeNumber.nullable(),
    usageInterval: UsageInterval.nullable(),
    billingTiming: BillingTiming.nullable(),
    overagePriceId: z.string().nullable(),
    startsWithCreditTrial: z.boolean().nullable(),
    where: Where.nullable(),
  })
  .meta({ id: 'ClonedPrice' });

const { createdAt: _createdAt, updatedAt: _updatedAt, pricingModelId: _productModel, ...productFields } = Product.shape;
const { createdAt: _created, updatedAt: _updated, pricingModelId: _meterModel, ...meterFields } = UsageMeter.shape;
const displayFeatures = z
  .array(z.object({ enabled: z.boolean(), label: z.string(), details: z.string().optional() }))
  .nullable();
const model = {
  id: PricingModelId,
  ...stamps,
  livemode: z.boolean(),
  organizationId: z.string(),
  isDefault: z.boolean(),
  name: z.string(),
};

const ClonedFeature = z
  .object({
    id: FeatureId,
    ...textStamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    type: FeatureType,
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    active: z.boolean(),
    amount: WholeNumber.nullable(),
    usageMeterId: z.string().nullable(),
    renewalFrequency: RenewalFrequency.nullable(),
    grantInterval: StoredGrantInterval,
    resourceId: z.string().nullable(),
    ...rolloverFields,
    value: FeatureValue.optional(),
    spendLimit: LimitTerms.optional(),
  })
  .meta({ id: 'ClonedFeature' });
const ClonedProduct = z
  .object({
    ...productFields,
    ...stamps,
    pricingModelId: z.string(),
    displayFeatures,
    prices: z.array(ClonedPrice),
    defaultPrice: ClonedPrice,
    features: z.array(ClonedFeature),
  })
  .meta({ id: 'ClonedProduct' });
const ClonedUsageMeter = z
  .object({
    ...meterFields,
    ...stamps,
    pricingModelId: z.string(),
    prices: z.array(ClonedPrice),
    defaultPrice: ClonedPrice.optional(),
  })
  .meta({ id: 'ClonedUsageMeter' });

/** The response of a clone. */
export const ClonedPricingModel = z
  .object({
    ...model,
    products: z.array(ClonedProduct),
    usageMeters: z.array(ClonedUsageMeter),
    defaultProduct: ClonedProduct.optional(),
  })
  .meta({ id: 'ClonedPricingModel' });
export type ClonedPricingModel = z.infer<typeof ClonedPricingModel>;

const CatalogProduct = z
  .object({
    ...productFields,
    ...stamps,
    catalogId: z.string(),
    displayFeatures,
    prices: z.array(ClonedPrice),
    defaultPrice: ClonedPrice,
  })
  .meta({ id: 'CatalogProduct' });

/** A pricing model under its former name, without its contents. */
export const CatalogRecord = z.object(model).meta({ id: 'CatalogRecord' });
export type CatalogRecord = z.infer<typeof CatalogRecord>;

/** A pricing model under its former name. */
export const Catalog = z
  .object({
    ...model,
    products: z.array(CatalogProduct),
    usageMeters: z.array(
      z.object({ ...meterFields, ...stamps, catalogId: z.string() }).meta({ id: 'CatalogUsageMeter' }),
    ),
    defaultProduct: CatalogProduct.optional(),
  })
  .meta({ id: 'Catalog' });
export type Catalog = z.infer<typeof Catalog>;

interface Stamped {
  readonly createdAt: number;
  readonly updatedAt: number;
}

function withTextStamps<Row extends Stamped>(row: Row) {
  return { ...row, createdAt: isoText(row.createdAt), updatedAt: isoText(row.updatedAt) };
}

function withCommits<Row extends Stamped>(row: Row) {
  return { ...withTextStamps(row), createdByCommit: null, updatedByCommit: null };
}

/** `overagePriceId` is the price of usage of a plan with one rate. */
function toClonedPrice(price: Price, usagePrices: readonly ProductUsagePrice[] = []) {
  const [rate, ...others] = usagePrices;
  const overagePriceId = rate !== undefined && others.length === 0 ? rate.priceId : null;
  return { ...withCommits(price), overagePriceId, startsWithCreditTrial: null };
}

/** Renders a pricing model in the form of the clone operation. */
export function toClonedPricingModel(details: PricingModelDetails): ClonedPricingModel {
  const { defaultProduct, ...rest } = details;
  const toClonedProduct = (product: ProductWithPrices) => ({
    ...withCommits(product),
    displayFeatures: null,
    prices: product.prices.map((price) => toClonedPrice(price, product.usagePrices)),
    defaultPrice: toClonedPrice(product.defaultPrice, product.usagePrices),
    features: product.features.map(withTextStamps),
  });
  return {
    ...withCommits(rest),
    products: details.products.map(toClonedProduct),
    usageMeters: details.usageMeters.map(({ defaultPrice, ...meter }) => ({
      ...withCommits(meter),
      prices: meter.prices.map((price) => toClonedPrice(price)),
      ...(defaultPrice ? { defaultPrice: toClonedPrice(defaultPrice) } : {}),
    })),
    ...(defaultProduct ? { defaultProduct: toClonedProduct(defaultProduct) } : {}),
  };
}

/** Renders a pricing model as a catalog without its contents. */
export function toCatalogRecord(pricingModel: PricingModel): CatalogRecord {
  return withCommits(pricingModel);
}

/** Renders a pricing model as a catalog: its products without features, its usage meters without prices. */
export function toCatalog(details: PricingModelDetails): Catalog {
  const { defaultProduct, ...rest } = details;
  const toCatalogProduct = ({ pricingModelId, features: _, ...product }: ProductWithPrices) => ({
    ...withCommits(product),
    catalogId: pricingModelId,
    displayFeatures: null,
    prices: product.prices.map((price) => toClonedPrice(price, product.usagePrices)),
    defaultPrice: toClonedPrice(product.defaultPrice, product.usagePrices),
  });
  return {
    ...withCommits(rest),
    products: details.products.map(toCatalogProduct),
    usageMeters: details.usageMeters.map(({ pricingModelId, prices: _, defaultPrice: __, ...meter }) => ({
      ...withCommits(meter),
      catalogId: pricingModelId,
    })),
    ...(defaultProduct ? { defaultProduct: toCatalogProduct(defaultProduct) } : {}),
  };
}
