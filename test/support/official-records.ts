import { z } from 'zod';
import {
  BillingAddress,
  common,
  count,
  currency,
  inModel,
  instant,
  instantOrNull,
  interval,
  metadata,
  nothing,
  positive,
  slug,
  text,
  textOrNull,
} from './official-values.ts';

/**
 * What the official clients were promised to find in the answers: every key of every record, with its type. Nothing
 * of ours is used here, so that a change of ours cannot change the promise with it. Further keys may stand beside.
 */

export const PricingModel = z.object({
  ...common,
  organizationId: text,
  isDefault: z.boolean(),
  name: text,
});

const product = {
  ...inModel,
  name: text,
  description: textOrNull,
  imageURL: textOrNull,
  organizationId: text,
  active: z.boolean(),
  singularQuantityLabel: textOrNull,
  pluralQuantityLabel: textOrNull,
  default: z.boolean(),
  slug,
};
export const Product = z.object(product);

const price = {
  ...inModel,
  name: textOrNull,
  isDefault: z.boolean(),
  unitPrice: count,
  active: z.boolean(),
  currency,
  slug: textOrNull,
};
const recurring = { intervalUnit: interval, intervalCount: positive };
const UsagePrice = z.object({
  ...price,
  ...recurring,
  type: z.literal('usage'),
  trialPeriodDays: nothing,
  usageEventsPerUnit: positive,
  productId: nothing,
  usageMeterId: text,
});
const ofProduct = { ...price, usageEventsPerUnit: nothing, productId: text, usageMeterId: nothing };
export const Price = z.discriminatedUnion('type', [
  z.object({ ...ofProduct, ...recurring, type: z.literal('subscription'), trialPeriodDays: count.nullable() }),
  z.object({
    ...ofProduct,
    type: z.literal('single_payment'),
    intervalUnit: nothing,
    intervalCount: nothing,
    trialPeriodDays: nothing,
  }),
  UsagePrice,
]);

const feature = { ...inModel, organizationId: text, slug, name: text, description: text, active: z.boolean() };
const frequency = z.enum(['once', 'every_billing_period']);
export const Feature = z.discriminatedUnion('type', [
  z.object({
    ...feature,
    type: z.literal('toggle'),
    amount: nothing,
    usageMeterId: nothing,
    renewalFrequency: nothing,
    resourceId: nothing,
  }),
  z.object({
    ...feature,
    type: z.literal('usage_credit_grant'),
    amount: positive,
    usageMeterId: text,
    renewalFrequency: frequency,
    resourceId: nothing,
  }),
  z.object({
    ...feature,
    type: z.literal('resource'),
    amount: positive,
    usageMeterId: nothing,
    renewalFrequency: nothing,
    resourceId: text,
  }),
]);

export const ProductFeature = z.object({
  ...inModel,
  productId: text,
  featureId: text,
  organizationId: text,
  expiredAt: instantOrNull,
});

const usageMeter = {
  ...inModel,
  organizationId: text,
  name: slug,
  slug,
  aggregationType: z.enum(['sum', 'count_distinct_properties']),
};
export const UsageMeter = z.object(usageMeter);
export const UsageMeterBalance = z.object({ ...usageMeter, availableBalance: z.number(), subscriptionId: text });

export const ProductWithPrices = z.object({
  ...product,
  prices: z.array(Price),
  defaultPrice: Price,
  features: z.array(Feature),
});
export const PricingModelDetails = z.object({
  ...PricingModel.shape,
  products: z.array(ProductWithPrices),
  usageMeters: z.array(z.object({ ...usageMeter, prices: z.array(UsagePrice), defaultPrice: UsagePrice.optional() })),
  defaultProduct: ProductWithPrices.optional(),
});

export const UsageEvent = z.object({
  ...inModel,
  customerId: text,
  subscriptionId: text,
  usageMeterId: text,
  billingPeriodId: textOrNull,
  amount: positive,
  usageDate: instant,
  transactionId: text,
  priceId: text,
  properties: z.record(text, z.unknown()).nullable(),
});

export const Customer = z.object({
  ...inModel,
  organizationId: text,
  email: text,
  name: text,
  invoiceNumberBase: textOrNull,
  archived: z.boolean(),
  logoURL: textOrNull,
  iconURL: textOrNull,
  domain: textOrNull,
  billingAddress: BillingAddress.nullable(),
  externalId: text,
  userId: textOrNull,
});

const subscription = {
  ...inModel,
  startDate: instant,
  customerId: text,
  organizationId: text,
  defaultPaymentMethodId: textOrNull,
  backupPaymentMethodId: textOrNull,
  metadata,
  canceledAt: instantOrNull,
  cancelScheduledAt: instantOrNull,
  cancellationReason: textOrNull,
  replacedBySubscriptionId: textOrNull,
  isFreePlan: z.boolean().nullable(),
  doNotCharge: z.boolean().nullable(),
  priceId: text,
  runBillingAtPeriodStart: z.boolean().nullable(),
  name: textOrNull,
  scheduledAdjustmentAt: instantOrNull,
  current: z.boolean(),
};
const renewing = {
  ...subscription,
  status: z.enum([
    'trialing',
    'active',
    'past_due',
    'unpaid',
    'cancellation_scheduled',
    'incomplete',
    'incomplete_expired',
    'canceled',
    'paused',
  ]),
  trialEnd: instantOrNull,
  currentBillingPeriodStart: instantOrNull,
  currentBillingPeriodEnd: instantOrNull,
  interval,
  intervalCount: positive,
  billingCycleAnchorDate: instantOrNull,
  renews: z.literal(true),
};
const notRenewing = {
  ...subscription,
  status: z.enum(['active', 'canceled', 'credit_trial']),
  trialEnd: nothing,
  currentBillingPeriodStart: nothing,
  currentBillingPeriodEnd: nothing,
  interval: nothing,
  intervalCount: nothing,
  billingCycleAnchorDate: nothing,
  renews: z.literal(false),
};
export const Subscription = z.discriminatedUnion('renews', [z.object(renewing), z.object(notRenewing)]);

const subscriptionItem = {
  ...inModel,
  subscriptionId: text,
  name: textOrNull,
  addedDate: instant,
  priceId: textOrNull,
  unitPrice: count,
  quantity: count,
  metadata,
  type: z.literal('static'),
  externalId: textOrNull,
  expiredAt: instantOrNull,
  manuallyCreated: z.boolean(),
};
export const SubscriptionItem = z.object(subscriptionItem);

const itemFeature = {
  ...inModel,
  subscriptionItemId: text,
  featureId: text,
  productFeatureId: textOrNull,
  expiredAt: instantOrNull,
  detachedAt: instantOrNull,
  detachedReason: textOrNull,
  manuallyCreated: z.boolean(),
  name: text,
  slug: text,
};
export const SubscriptionItemFeature = z.discriminatedUnion('type', [
  z.object({
    ...itemFeature,
    type: z.literal('toggle'),
    amount: nothing,
    usageMeterId: nothing,
    renewalFrequency: nothing,
    resourceId: nothing,
  }),
  z.object({
    ...itemFeature,
    type: z.literal('usage_credit_grant'),
    amount: z.int(),
    usageMeterId: text,
    renewalFrequency: frequency,
    resourceId: nothing,
  }),
  z.object({
    ...itemFeature,
    type: z.literal('resource'),
    amount: z.int(),
    usageMeterId: nothing,
    renewalFrequency: nothing,
    resourceId: text,
  }),
]);

const details = {
  subscriptionItems: z.array(z.object({ ...subscriptionItem, price: Price })),
  experimental: z.object({
    featureItems: z.array(SubscriptionItemFeature),
    usageMeterBalances: z.array(UsageMeterBalance),
  }),
};
export const SubscriptionDetails = z.discriminatedUnion('renews', [
  z.object({ ...renewing, ...details }),
  z.object({ ...notRenewing, ...details }),
]);

export const Resource = z.object({ ...inModel, organizationId: text, slug: text, name: text, active: z.boolean() });
export const ResourceClaim = z.object({
  ...inModel,
  organizationId: text,
  resourceId: text,
  subscriptionId: text,
  externalId: textOrNull,
  claimedAt: instant,
  releasedAt: instantOrNull,
  releaseReason: textOrNull,
  expiredAt: instantOrNull,
  metadata,
});
export const ResourceUsage = z.object({
  resourceSlug: text,
  resourceId: text,
  capacity: z.int(),
  claimed: z.int(),
  available: z.int(),
});
export const UsageAndClaims = z.object({ usage: ResourceUsage, claims: z.array(ResourceClaim) });
