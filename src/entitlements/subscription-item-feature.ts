import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { isoText } from '../kernel/iso-text.ts';
import { amountInput, maxSafeInteger, SafeString, Timestamp, TimestampInput, TimestampText } from '../kernel/json.ts';
import { maxSafeAmount, smallerOf } from '../kernel/money.ts';
import { invalid } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import {
  creditGrantFields,
  FeatureId,
  FeatureType,
  RenewalFrequency,
  resourceFields,
  toggleFields,
} from '../pricing/feature.ts';

export const SubscriptionItemFeatureId = idSchema('subscriptionItemFeature');

/** Why a feature that a customer has no longer hangs on its product: the product stopped giving it. */
export const productFeatureExpired = 'product_feature_expired';

/** One of the three shapes that a feature has, by its type, around fields that all of them share. */
function byType<Shared extends z.ZodRawShape>(shared: Shared) {
  return z.discriminatedUnion('type', [
    z.object({ ...shared, ...toggleFields }),
    z.object({ ...shared, ...creditGrantFields }),
    z.object({ ...shared, ...resourceFields }),
  ]);
}

const identity = {
  id: SubscriptionItemFeatureId,
  livemode: z.boolean(),
  pricingModelId: z.string(),
  subscriptionId: z.string(),
  subscriptionItemId: z.string(),
  featureId: z.string(),
  productFeatureId: z
    .string()
    .nullable()
    .meta({ description: 'The product feature that it came from. Null if it was added by hand.' }),
  name: z.string().meta({ description: 'The name of the feature.' }),
  slug: z.string().meta({ description: 'The slug of the feature.' }),
  detachedReason: z.string().nullable(),
  manuallyCreated: z.boolean(),
};

/** What a customer really has of a feature, through one item of a subscription. */
export const SubscriptionItemFeature = byType({
  ...identity,
  ...stamps,
  expiredAt: Timestamp.nullable(),
  detachedAt: Timestamp.nullable(),
}).meta({ id: 'SubscriptionItemFeature' });
export type SubscriptionItemFeature = z.infer<typeof SubscriptionItemFeature>;

/** The same as the answer to its expiry spells it: instants are ISO 8601 texts, and the fields of commits are there. */
export const ExpiredItemFeature = byType({
  ...identity,
  createdAt: TimestampText,
  updatedAt: TimestampText,
  expiredAt: TimestampText.nullable(),
  detachedAt: TimestampText.nullable(),
  createdByCommit: z.null(),
  updatedByCommit: z.null(),
}).meta({ id: 'ExpiredSubscriptionItemFeature' });
export type ExpiredItemFeature = z.infer<typeof ExpiredItemFeature>;

const Reference = z.string().min(1).max(255).nullable().optional();

/** The fields that a request may choose; which of them a feature uses depends on its type. */
const choosable = {
  productFeatureId: Reference,
  usageMeterId: Reference,
  renewalFrequency: RenewalFrequency.nullable().optional(),
  resourceId: Reference,
  expiredAt: TimestampInput.nullable().optional(),
  detachedAt: TimestampInput.nullable().optional(),
  detachedReason: SafeString.nullable().optional(),
  manuallyCreated: z.boolean().optional(),
};

export const NewItemFeature = z
  .object({
    ...choosable,
    subscriptionItemId: z.string().min(1).max(255),
    featureId: FeatureId,
    type: FeatureType.optional().meta({ description: 'The type of the feature.' }),
    amount: amountInput(1).nullable().optional().meta({ description: 'By default the amount of the feature.' }),
  })
  .meta({ id: 'NewSubscriptionItemFeature' });
export type NewItemFeature = z.output<typeof NewItemFeature>;

export const ItemFeatureChange = z
  .object({
    ...choosable,
    id: z.string().optional(),
    type: FeatureType.optional().meta({ description: 'The type cannot change.' }),
    featureId: z.string().optional().meta({ description: 'The type cannot change.' }),
    subscriptionItemId: z.string().optional().meta({ description: 'The type cannot change.' }),
    subscriptionId: z.string().optional().meta({ description: 'The type cannot change.' }),
    amount: amountInput(-maxSafeInteger).nullable().optional(),
  })
  .meta({ id: 'SubscriptionItemFeatureChange' });
export type ItemFeatureChange = z.output<typeof ItemFeatureChange>;

/** What of a feature depends on its type. */
interface TypeFields {
  readonly amount: bigint | null;
  readonly usageMeterId: string | null;
  readonly renewalFrequency: z.infer<typeof RenewalFrequency> | null;
  readonly resourceId: string | null;
}

/** The definition that a subscription item feature is a copy of. */
export interface GrantableFeature extends TypeFields {
  readonly id: string;
  readonly pricingModelId: string;
  readonly type: FeatureType;
  readonly name: string;
  readonly slug: string;
  readonly active: boolean;
}

/** The values of a subscription item feature that a request may choose. */
export interface ItemFeatureValues extends TypeFields {
  readonly productFeatureId: string | null;
  readonly expiredAt: Instant | null;
  readonly detachedAt: Instant | null;
  readonly detachedReason: string | null;
  readonly manuallyCreated: boolean;
}

/** A subscription item feature as it is kept, with the name and slug of its feature. */
export interface StoredItemFeature extends ItemFeatureValues {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly subscriptionId: string;
  readonly subscriptionItemId: string;
  readonly featureId: string;
  readonly type: FeatureType;
  readonly name: string;
  readonly slug: string;
}

/** The answer for a stored row. */
export function toItemFeature(row: StoredItemFeature, livemode: boolean): SubscriptionItemFeature {
  // The table's own check makes sure that the fields are those of the type.
  return { ...row, livemode } as SubscriptionItemFeature;
}

/** The answer to an expiry: instants as texts. */
export function toExpiredItemFeature(row: StoredItemFeature, livemode: boolean): ExpiredItemFeature {
  return {
    ...toItemFeature(row, livemode),
    createdAt: isoText(row.createdAt),
    updatedAt: isoText(row.updatedAt),
    expiredAt: row.expiredAt === null ? null : isoText(row.expiredAt),
    detachedAt: row.detachedAt === null ? null : isoText(row.detachedAt),
    createdByCommit: null,
    updatedByCommit: null,
  };
}

/**
 * An amount of credits or capacity that the wire can carry. It stops at 2^53-1 instead of being refused: whoever
 * grants that much means "without limit", and twice without limit is the same.
 */
export function saturated(amount: bigint): bigint {
  return smallerOf(amount, maxSafeAmount);
}

/** What a feature gives with an item: its amount times the quantity, in credits or places. Null for a toggle. */
export function amountFor(amount: bigint | null, quantity: number): bigint | null {
  return amount === null ? null : saturated(amount * BigInt(quantity));
}

/** The same feature added by hand once more: amounts add up, and a toggle stays as it is. */
export function amountAdded(amount: bigint | null, added: bigint | null): bigint | null {
  return amount === null || added === null ? null : saturated(amount + added);
}

const usedFields: Readonly<Record<FeatureType, readonly (keyof TypeFields)[]>> = {
  toggle: [],
  usage_credit_grant: ['amount', 'usageMeterId', 'renewalFrequency'],
  resource: ['amount', 'resourceId'],
};
const typeFields = ['amount', 'usageMeterId', 'renewalFrequency', 'resourceId'] as const;

/** Refuses values that do not belong together: fields of another type, or half of what a detachment says. */
function checkValues(type: FeatureType, values: ItemFeatureValues): void {
  for (const field of typeFields) {
    const isUsed = usedFields[type].includes(field);
    if (isUsed && values[field] === null) throw refused(field, `a ${type} feature needs one`);
    if (!isUsed && values[field] !== null) throw refused(field, `must be null, because a ${type} feature has none`);
  }
  if ((values.detachedAt === null) !== (values.detachedReason === null))
    throw refused('detachedReason', 'detachedAt and detachedReason go together: give both, or null for both');
}

function refused(field: string, message: string) {
  return invalid(['subscriptionItemFeature', field], message);
}

function chosen<Value>(sent: Value | undefined, kept: Value): Value {
  return sent === undefined ? kept : sent;
}

function withChoices(kept: ItemFeatureValues, sent: NewItemFeature | ItemFeatureChange): ItemFeatureValues {
  return {
    amount: chosen(sent.amount, kept.amount),
    usageMeterId: chosen(sent.usageMeterId, kept.usageMeterId),
    renewalFrequency: chosen(sent.renewalFrequency, kept.renewalFrequency),
    resourceId: chosen(sent.resourceId, kept.resourceId),
    productFeatureId: chosen(sent.productFeatureId, kept.productFeatureId),
    expiredAt: chosen(sent.expiredAt, kept.expiredAt),
    detachedAt: chosen(sent.detachedAt, kept.detachedAt),
    detachedReason: chosen(sent.detachedReason, kept.detachedReason),
    manuallyCreated: chosen(sent.manuallyCreated, kept.manuallyCreated),
  };
}

/**
 * The values of a new subscription item feature: what the request leaves out is the feature's own. One on the item
 * for features added by hand is made by hand unless the request says otherwise.
 */
export function decideNew(
  feature: GrantableFeature,
  item: { readonly manuallyCreated: boolean },
  sent: NewItemFeature,
): ItemFeatureValues {
  if (sent.type !== undefined && sent.type !== feature.type)
    throw refused('type', `must be that of the feature, ${feature.type}`);
  const { amount, usageMeterId, renewalFrequency, resourceId } = feature;
  const unlinked = { productFeatureId: null, expiredAt: null, detachedAt: null, detachedReason: null };
  const own = { amount, usageMeterId, renewalFrequency, resourceId, ...unlinked };
  const values = withChoices({ ...own, manuallyCreated: item.manuallyCreated }, sent);
  checkValues(feature.type, values);
  return values;
}

const fixedFields = ['type', 'featureId', 'subscriptionItemId', 'subscriptionId'] as const;

/** The row after a change: only what was sent changes, and what it is and whose it is never does. */
export function decideChange(current: StoredItemFeature, sent: ItemFeatureChange): StoredItemFeature {
  for (const field of fixedFields) {
    if (sent[field] !== undefined && sent[field] !== current[field])
      throw refused(field, `cannot be changed: it is ${current[field]}`);
  }
  const values = withChoices(current, sent);
  checkValues(current.type, values);
  return { ...current, ...values };
}
