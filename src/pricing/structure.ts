import { z } from 'zod';
import type { IntervalUnit as IntervalUnitName } from '../kernel/calendar.ts';
import { CurrencyCode } from '../kernel/currency.ts';
import { amountInput, countInput, freeText, Metadata, SafeString } from '../kernel/json.ts';
import { maxCreditPools, type PoolRateInput, poolFields } from './credit-pool.ts';
import {
  type FeatureValue,
  FeatureValueInput,
  GrantIntervalInput,
  type GrantRhythm,
  isTooMuch,
  type LimitTermsStructure,
  LimitTermsStructureInput,
  RenewalFrequency,
  type Rollover,
  RolloverMaximum,
  RolloverPeriods,
  refineSubject,
  tooMuchOfPool,
} from './feature.ts';
import {
  BillingTiming,
  IntervalUnit,
  maxTrialPeriodDays,
  Overage,
  type UsageInterval,
  usageIntervalInput,
  usageIntervalOf,
  usualOverage,
} from './price.ts';
import { maxUnitPrice, Pricing, refinePricing } from './pricing.ts';
import { addOnPriceIssue, byMeter, maxQuantity, quantityLimitIssue } from './product.ts';
import {
  type AggregationType,
  type MeterProration,
  maxUsageMeters,
  meterFields,
  refineMeter,
  Where,
} from './usage-meter.ts';

/**
 * The structure of a pricing model: all its contents, with slugs instead of ids. It can be written by hand, stored in a
 * file, compared, and set up elsewhere. Complete: fields that a request may omit have their defaults here.
 */
export interface Structure {
  readonly features: readonly FeatureStructure[];
  readonly products: readonly ProductStructure[];
  readonly usageMeters: readonly UsageMeterStructure[];
  readonly resources: readonly ResourceStructure[];
  readonly creditPools: readonly CreditPoolStructure[];
}
/** A structure for an update. Without credit pools (null), those that are there stay as they are. */
export type UpdatedStructure = Omit<Structure, 'creditPools'> & {
  readonly creditPools: Structure['creditPools'] | null;
};

interface FeatureText {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly active: boolean;
}
interface ToggleStructure extends FeatureText {
  readonly type: 'toggle';
}
interface CreditGrantStructure extends FeatureText, GrantRhythm, Rollover {
  readonly type: 'usage_credit_grant';
  readonly amount: bigint;
  /** Exactly one of the two is there. */
  readonly usageMeterSlug: string | null;
  readonly creditPoolSlug: string | null;
}
interface ResourceFeatureStructure extends FeatureText {
  readonly type: 'resource';
  readonly amount: bigint;
  readonly resourceSlug: string;
}
interface ValueStructure extends FeatureText {
  readonly type: 'value';
  readonly value: FeatureValue;
}
interface SpendLimitStructure extends FeatureText {
  readonly type: 'spend_limit';
  readonly amount: bigint;
  readonly spendLimit: LimitTermsStructure;
}
export type FeatureStructure =
  | ToggleStructure
  | CreditGrantStructure
  | ResourceFeatureStructure
  | ValueStructure
  | SpendLimitStructure;

interface ProductText {
  readonly name: string;
  readonly slug: string;
  readonly description: string | null;
  readonly imageURL: string | null;
  readonly singularQuantityLabel: string | null;
  readonly pluralQuantityLabel: string | null;
  readonly minimumQuantity: number | null;
  readonly maximumQuantity: number | null;
  /** The rates of the plan, in order of the meters' slugs. */
  readonly usagePrices: readonly { readonly usageMeterSlug: string; readonly priceSlug: string }[];
  readonly addOn: boolean;
  readonly default: boolean;
  /** False when the product is not for sale; its price is inactive then too. */
  readonly active: boolean;
  readonly metadata: Metadata | null;
}
interface PriceText {
  readonly name: string | null;
  readonly slug: string | null;
  readonly unitPrice: bigint;
  /** Checked only: prices have the currency of the environment. */
  readonly currency?: CurrencyCode | undefined;
  readonly metadata: Metadata | null;
}
interface SubscriptionPriceStructure extends PriceText {
  readonly type: 'subscription';
  readonly intervalUnit: IntervalUnitName;
  readonly intervalCount: number;
  readonly trialPeriodDays: number | null;
  readonly overage: Overage;
  /** The function from units to money, in place of `unitPrice`, which is then 0. */
  readonly pricing: Pricing | null;
  readonly setupFeeAmount: bigint | null;
  readonly minimumCommitment: bigint | null;
  readonly usageInterval: null;
  readonly billingTiming: BillingTiming;
}
interface SinglePaymentPriceStructure extends PriceText {
  readonly type: 'single_payment';
  readonly intervalUnit: null;
  readonly intervalCount: null;
  readonly trialPeriodDays: null;
  readonly overage: null;
  readonly pricing: null;
  readonly setupFeeAmount: null;
  readonly minimumCommitment: null;
  readonly usageInterval: null;
  readonly billingTiming: null;
}
export type ProductPriceStructure = SubscriptionPriceStructure | SinglePaymentPriceStructure;
/** A feature of a product by its slug. The value is that which the product gives; null: that of the feature. */
interface GivenStructure {
  readonly slug: string;
  readonly value: FeatureValue | null;
}
/** A product, its one price, and its features. */
export interface ProductStructure {
  readonly product: ProductText;
  readonly price: ProductPriceStructure;
  readonly features: readonly GivenStructure[];
}

export interface UsagePriceStructure extends PriceText {
  readonly intervalUnit: IntervalUnitName;
  readonly intervalCount: number;
  readonly usageInterval: UsageInterval;
  readonly usageEventsPerUnit: number;
  readonly pricing: Pricing | null;
  /** The events that it rates; null: the rest. */
  readonly where: Where | null;
  readonly isDefault: boolean;
  readonly active: boolean;
}
/** A usage meter and its prices, without the no-charge price that every meter has. */
export interface UsageMeterStructure {
  readonly usageMeter: {
    readonly name: string;
    readonly slug: string;
    readonly aggregationType: z.infer<typeof AggregationType>;
    readonly recurring: boolean;
    readonly proration: z.infer<typeof MeterProration>;
    readonly lowBalanceThreshold: bigint | null;
    readonly eventName: string | null;
    readonly where: Where | null;
    readonly valueProperty: string | null;
  };
  readonly prices: readonly UsagePriceStructure[];
}

export interface CreditPoolStructure {
  readonly slug: string;
  readonly name: string;
  readonly unit: string;
  readonly lowBalanceThreshold: string | null;
  readonly drawAtPrice: boolean;
  readonly rates: readonly PoolRateInput[];
}

export interface ResourceStructure {
  readonly slug: string;
  readonly name: string;
  readonly active: boolean;
}

// Limits of one request: far above any real price list, yet written in one transaction within seconds, with all rows in
// memory once.
export const maxProducts = 1000;
const maxFeatures = 1000;
const maxResources = 1000;
const maxPricesPerUsageMeter = 100;
// A thousand products with a thousand features each would be a million rows; real ones have a few dozen each.
export const maxProductFeatures = 20_000;

const OptionalLabel = freeText('name').nullable().default(null);
/** Must be absent or null: this variant has no such field. */
const Nothing = z.null().default(null);
const active = z.boolean().default(true);
const metadata = Metadata.nullable().default(null);

const featureText = { slug: SafeString, name: SafeString, description: freeText('description').default(''), active };
/** The fields of which each type of feature uses some. */
const unusedFields = {
  amount: Nothing,
  renewalFrequency: Nothing,
  grantInterval: Nothing,
  usageMeterSlug: Nothing,
  creditPoolSlug: Nothing,
  resourceSlug: Nothing,
  rolloverMaximum: Nothing,
  rolloverPeriods: Nothing,
  value: Nothing,
  spendLimit: Nothing,
};
const anyFeature = { ...featureText, ...unusedFields };
const FeatureInput = z
  .discriminatedUnion('type', [
    z.object({ ...anyFeature, type: z.literal('toggle') }),
    z
      .object({
        ...anyFeature,
        type: z.literal('usage_credit_grant'),
        amount: amountInput(1),
        renewalFrequency: RenewalFrequency,
        grantInterval: GrantIntervalInput.default(null),
        usageMeterSlug: SafeString.nullable().default(null),
        creditPoolSlug: SafeString.nullable().default(null),
        rolloverMaximum: RolloverMaximum.default(null),
        rolloverPeriods: RolloverPeriods.default(null),
      })
      .superRefine((given, context) => refineSubject('Slug', given, context)),
    z.object({ ...anyFeature, type: z.literal('resource'), amount: amountInput(1), resourceSlug: SafeString }),
    z.object({ ...anyFeature, type: z.literal('value'), value: FeatureValueInput }),
    z
      .object({
        ...anyFeature,
        type: z.literal('spend_limit'),
        amount: amountInput(1),
        spendLimit: LimitTermsStructureInput,
      })
      .refine(({ amount, spendLimit }) => !isTooMuch(spendLimit.creditPoolSlug, amount), { ...tooMuchOfPool }),
  ])
  .transform((given): FeatureStructure => {
    const { slug, name, description, active } = given;
    const text = { slug, name, description, active };
    switch (given.type) {
      case 'toggle':
        return { type: given.type, ...text };
      case 'usage_credit_grant': {
        const { type, amount, renewalFrequency, grantInterval, usageMeterSlug, creditPoolSlug } = given;
        const { rolloverMaximum, rolloverPeriods } = given;
        const rhythm = { renewalFrequency, grantInterval, rolloverMaximum, rolloverPeriods };
        return { type, ...text, amount, usageMeterSlug, creditPoolSlug, ...rhythm };
      }
      case 'resource':
        return { type: given.type, ...text, amount: given.amount, resourceSlug: given.resourceSlug };
      case 'value':
        return { type: given.type, ...text, value: given.value };
      case 'spend_limit':
        return { type: given.type, ...text, amount: given.amount, spendLimit: given.spendLimit };
      default:
        return given satisfies never;
    }
  });

const priceText = {
  name: SafeString.nullable().default(null),
  slug: SafeString.nullable().default(null),
  currency: CurrencyCode.optional().meta({ description: 'That of the environment, or absent.' }),
  metadata,
};
// A product has one price here, which is its default and active while the product is.
const amount = { unitPrice: amountInput(0, maxUnitPrice).optional(), pricing: Pricing.nullable().default(null) };
const onlyPrice = { isDefault: z.literal(true).default(true), active: z.literal(true).default(true) };
const ProductPriceInput = z
  .discriminatedUnion('type', [
    z
      .object({
        type: z.literal('subscription'),
        ...priceText,
        ...amount,
        ...onlyPrice,
        intervalUnit: IntervalUnit,
        intervalCount: countInput(1).default(1),
        trialPeriodDays: countInput(0, maxTrialPeriodDays).nullable().default(null),
        overage: Overage.nullable().default(null).meta({
          description: 'By default `none` for the default product, else `bill`.',
        }),
        setupFeeAmount: amountInput(0, maxUnitPrice).nullable().default(null),
        minimumCommitment: amountInput(0, maxUnitPrice).nullable().default(null),
        usageInterval: Nothing,
        billingTiming: BillingTiming.default('in_advance'),
        usageEventsPerUnit: Nothing,
        usageMeterId: Nothing,
      })
      .superRefine(refinePricing),
    z.object({
      type: z.literal('single_payment'),
      ...priceText,
      unitPrice: amountInput(0, maxUnitPrice),
      pricing: Nothing,
      ...onlyPrice,
      intervalUnit: Nothing,
      intervalCount: Nothing,
      trialPeriodDays: Nothing,
      overage: Nothing,
      setupFeeAmount: Nothing,
      minimumCommitment: Nothing,
      usageInterval: Nothing,
      billingTiming: Nothing,
      usageEventsPerUnit: Nothing,
      usageMeterId: Nothing,
    }),
  ])
  .transform((given) => {
    const { isDefault: _isDefault, active: _active, usageEventsPerUnit: _per, usageMeterId: _id, ...price } = given;
    return { ...price, unitPrice: price.unitPrice ?? 0n };
  });

const QuantityLimit = countInput(1, maxQuantity).nullable().default(null);

const GivenFeatureInput = z
  .union([SafeString, z.object({ slug: SafeString, value: FeatureValueInput.nullable().default(null) })], {
    error: 'must be the slug of a feature, or an object of slug and value',
  })
  .meta({ description: 'The slug of a feature, or its slug and the value that the product gives.' })
  .transform((given): GivenStructure => (typeof given === 'string' ? { slug: given, value: null } : given));

const GivenProduct = z.object({
  product: z
    .object({
      name: SafeString,
      slug: SafeString,
      description: freeText('description').nullable().default(null),
      imageURL: freeText('url').nullable().default(null),
      singularQuantityLabel: OptionalLabel,
      pluralQuantityLabel: OptionalLabel,
      minimumQuantity: QuantityLimit,
      maximumQuantity: QuantityLimit,
      usagePrices: z
        .array(z.object({ usageMeterSlug: SafeString, priceSlug: freeText('longName').trim().min(1) }))
        .max(maxUsageMeters)
        .default([])
        .transform((rates) => rates.sort(byMeter)),
      addOn: z.boolean().default(false),
      default: z.boolean().default(false),
      active,
      metadata,
    })
    .superRefine((product, context) => {
      const message = quantityLimitIssue(product);
      if (message !== null) context.addIssue({ code: 'custom', path: ['maximumQuantity'], message });
    })
    .refine((product) => !product.default || product.maximumQuantity === null, {
      path: ['maximumQuantity'],
      message: 'must be absent or null for the default product',
    })
    .refine((product) => !product.default || !product.addOn, {
      path: ['addOn'],
      message: 'must be false for the default product',
    }),
  price: ProductPriceInput,
  // A set: the same slug without a value of its own counts once.
  features: z.array(GivenFeatureInput).max(maxFeatures).default([]),
});
const ProductInput = GivenProduct.refine(({ product, price }) => !product.addOn || price.type === 'subscription', {
  path: ['price', 'type'],
  message: addOnPriceIssue,
}).transform(({ product: given, price, features }): ProductStructure => {
  const least = given.maximumQuantity === null ? null : (given.minimumQuantity ?? 1);
  const product = { ...given, minimumQuantity: least };
  if (price.type === 'single_payment') return { product, price, features };
  return { product, price: { ...price, overage: price.overage ?? usualOverage(product) }, features };
});

const UsagePriceInput = z
  .object({
    type: z.literal('usage').default('usage'),
    ...priceText,
    ...amount,
    ...usageIntervalInput,
    usageEventsPerUnit: countInput(1).default(1),
    where: Where.nullable().default(null),
    isDefault: z.boolean().default(false),
    active,
    trialPeriodDays: Nothing,
    overage: Nothing,
  })
  .superRefine(refinePricing)
  .transform(({ type: _type, trialPeriodDays: _days, overage: _overage, ...price }): UsagePriceStructure => {
    return { ...price, ...usageIntervalOf(price), unitPrice: price.unitPrice ?? 0n };
  });

const UsageMeterInput = z.object({
  usageMeter: z.object({ name: SafeString, slug: SafeString, ...meterFields }).superRefine(refineMeter),
  prices: z.array(UsagePriceInput).max(maxPricesPerUsageMeter).default([]),
});

const ResourceInput = z.object({ slug: SafeString, name: SafeString, active });

const lists = {
  features: z.array(FeatureInput.meta({ id: 'FeatureStructure' })).max(maxFeatures),
  products: z.array(ProductInput.meta({ id: 'ProductStructure' })).max(maxProducts),
  usageMeters: z.array(UsageMeterInput.meta({ id: 'UsageMeterStructure' })).max(maxUsageMeters),
  resources: z.array(ResourceInput.meta({ id: 'ResourceStructure' })).max(maxResources),
  creditPools: z.array(z.object(poolFields).meta({ id: 'CreditPoolStructure' })).max(maxCreditPools),
};
const listNames = ['features', 'products', 'usageMeters', 'resources'] as const;

/** The body of a setup: a name and a whole structure. */
export const SetupInput = z
  .object({
    name: SafeString,
    isDefault: z.boolean().default(false).meta({ description: 'If true, this becomes the default pricing model.' }),
    features: lists.features.default([]),
    products: lists.products.default([]),
    usageMeters: lists.usageMeters.default([]),
    resources: lists.resources.default([]),
    creditPools: lists.creditPools.default([]),
  })
  .transform(({ name, isDefault, ...structure }) => ({ name, isDefault, structure }));
export type SetupInput = z.output<typeof SetupInput>;

/**
 * The body of an update: the name and default flag alone, or with all four lists, which then replace all contents. Only
 * some of the lists are refused, because omission means removal.
 */
export const UpdateInput = z
  .object({
    id: z.string().max(255).optional(),
    name: SafeString.optional(),
    isDefault: z.boolean().optional(),
    features: lists.features.optional(),
    products: lists.products.optional(),
    usageMeters: lists.usageMeters.optional(),
    resources: lists.resources.optional(),
    creditPools: lists.creditPools.optional().meta({ description: 'Absent: they stay as they are.' }),
  })
  .transform((given, context) => {
    const { id, name, isDefault, features, products, usageMeters, resources, creditPools } = given;
    const attributes = { id, name, isDefault };
    if (features && products && usageMeters && resources) {
      const structure: UpdatedStructure = {
        features,
        products,
        usageMeters,
        resources,
        creditPools: creditPools ?? null,
      };
      return { ...attributes, structure };
    }
    const missing = listNames.filter((list) => given[list] === undefined);
    if (missing.length < listNames.length || creditPools !== undefined) {
      for (const list of missing) {
        const message = `is missing: send all of ${listNames.join(', ')}, or none of them`;
        context.addIssue({ code: 'custom', path: [list], message });
      }
    }
    return { ...attributes, structure: null };
  });
export type UpdateInput = z.output<typeof UpdateInput>;
