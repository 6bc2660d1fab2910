import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { isoText } from '../kernel/iso-text.ts';
import {
  amountInput,
  freeText,
  maxSafeInteger,
  SafeString,
  Timestamp,
  TimestampInput,
  TimestampText,
} from '../kernel/json.ts';
import { mulDiv, saturated } from '../kernel/money.ts';
import { invalid } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import {
  creditGrantFields,
  FeatureId,
  FeatureType,
  type FeatureValue,
  FeatureValueInput,
  GrantIntervalInput,
  type GrantRhythm,
  grantSubject,
  type LimitTerms,
  RenewalFrequency,
  resourceFields,
  rhythmIssue,
  spendLimitFields,
  subjectIdOf,
  toggleFields,
  valueFields,
  valueIssue,
} from '../pricing/feature.ts';

export const SubscriptionItemFeatureId = idSchema('subscriptionItemFeature');

/** The reason for a feature's detachment: its product no longer includes it. */
export const productFeatureExpired = 'product_feature_expired';

/** A union of the feature types around shared fields. */
function byType<Shared extends z.ZodRawShape>(shared: Shared) {
  return z.discriminatedUnion('type', [
    z.object({ ...shared, ...toggleFields }),
    z.object({ ...shared, ...creditGrantFields }),
    z.object({ ...shared, ...resourceFields }),
    z.object({ ...shared, ...valueFields }),
    z.object({ ...shared, ...spendLimitFields }),
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

/** A customer's copy of a feature, granted through an item of a subscription. */
export const SubscriptionItemFeature = byType({
  ...identity,
  ...stamps,
  expiredAt: Timestamp.nullable(),
  detachedAt: Timestamp.nullable(),
}).meta({ id: 'SubscriptionItemFeature' });
export type SubscriptionItemFeature = z.infer<typeof SubscriptionItemFeature>;

/** The form that the expire operation returns: instants are ISO 8601 texts, and the fields of commits are included. */
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

/** The fields that a request may set; the type decides which of them apply. */
const choosable = {
  productFeatureId: Reference,
  usageMeterId: Reference,
  creditPoolId: Reference.meta({ description: 'The credit pool, in place of a usage meter.' }),
  renewalFrequency: RenewalFrequency.nullable().optional(),
  grantInterval: GrantIntervalInput.optional(),
  resourceId: Reference,
  value: FeatureValueInput.nullable().optional().meta({ description: 'By default the value of the feature.' }),
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
    id: freeText('name').optional(),
    type: FeatureType.optional().meta({ description: 'The type cannot change.' }),
    featureId: freeText('name').optional().meta({ description: 'The type cannot change.' }),
    subscriptionItemId: freeText('name').optional().meta({ description: 'The type cannot change.' }),
    subscriptionId: freeText('name').optional().meta({ description: 'The type cannot change.' }),
    amount: amountInput(-maxSafeInteger).nullable().optional(),
  })
  .meta({ id: 'SubscriptionItemFeatureChange' });
export type ItemFeatureChange = z.output<typeof ItemFeatureChange>;

/** The fields that depend on the type. */
interface TypeFields {
  readonly amount: bigint | null;
  /** The usage meter or credit pool. */
  readonly usageMeterId: string | null;
  readonly renewalFrequency: RenewalFrequency | null;
  readonly grantInterval: GrantRhythm['grantInterval'];
  readonly resourceId: string | null;
  readonly value: FeatureValue | null;
}

/** The feature that a subscription item feature copies. */
export interface GrantableFeature extends Omit<TypeFields, 'value'> {
  readonly value?: FeatureValue;
  readonly creditPoolId?: string | undefined;
  readonly id: string;
  readonly pricingModelId: string;
  readonly type: FeatureType;
  readonly name: string;
  readonly slug: string;
  readonly active: boolean;
}

/** The values of a subscription item feature that a request may set. */
export interface ItemFeatureValues extends TypeFields {
  readonly productFeatureId: string | null;
  readonly expiredAt: Instant | null;
  readonly detachedAt: Instant | null;
  readonly detachedReason: string | null;
  readonly manuallyCreated: boolean;
}

/** A stored subscription item feature, with the name and slug of its feature. */
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
  /** The terms of the feature; null unless it is a spend limit. */
  readonly spendLimit: LimitTerms | null;
}

/** A stored row as returned by the API. */
export function toItemFeature(row: StoredItemFeature, livemode: boolean): SubscriptionItemFeature {
  const { value, spendLimit, usageMeterId, ...rest } = row;
  const subject = grantSubject(usageMeterId);
  // A table constraint ensures the fields of the type.
  const own = { ...(value === null ? {} : { value }), ...(spendLimit === null ? {} : { spendLimit }) };
  return { ...rest, ...subject, ...own, livemode } as SubscriptionItemFeature;
}

/** A row in the form of the expire operation: instants are texts. */
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
 * The amount of a feature on an item: its amount times the quantity, in credits or units of capacity. Null for a
 * toggle and a value.
 */
export function amountFor(amount: bigint | null, quantity: number): bigint | null {
  return amount === null ? null : saturated(amount * BigInt(quantity));
}

/** The amount of a feature for another quantity of its item. Worked example: 1000 credits of 10 seats are 300 of 3. */
export function amountForOther(
  amount: bigint | null,
  { quantity, quantityBefore }: { readonly quantity: number; readonly quantityBefore: number },
): bigint | null {
  return amount === null ? null : saturated(mulDiv(amount, BigInt(quantity), BigInt(quantityBefore)));
}

/** The amount after another manual addition: amounts add up, and null stays. */
export function amountAdded(amount: bigint | null, added: bigint | null): bigint | null {
  return amount === null || added === null ? null : saturated(amount + added);
}

const usedFields: Readonly<Record<FeatureType, readonly (keyof TypeFields)[]>> = {
  toggle: [],
  usage_credit_grant: ['amount', 'usageMeterId', 'renewalFrequency'],
  resource: ['amount', 'resourceId'],
  value: ['value'],
  spend_limit: ['amount'],
};
const typeFields = ['amount', 'usageMeterId', 'renewalFrequency', 'resourceId', 'value'] as const;

/** Refuses inconsistent values: fields of another type, or an incomplete detachment. */
function checkValues(
  { type, value }: { readonly type: FeatureType; readonly value?: FeatureValue | null },
  values: ItemFeatureValues,
): void {
  for (const field of typeFields) {
    const isUsed = usedFields[type].includes(field);
    if (isUsed && values[field] === null) throw refused(field, `is required for a ${type} feature`);
    if (!isUsed && values[field] !== null) throw refused(field, `must be null for a ${type} feature`);
  }
  const otherKind = valueIssue({ type, value: value ?? null }, values.value);
  if (otherKind) throw refused('value', otherKind);
  const { renewalFrequency, grantInterval } = values;
  if (renewalFrequency === null && grantInterval !== null)
    throw refused('grantInterval', `must be null for a ${type} feature`);
  const issue = renewalFrequency === null ? null : rhythmIssue({ renewalFrequency, grantInterval });
  if (issue) throw refused(issue.field, issue.message);
  if ((values.detachedAt === null) !== (values.detachedReason === null))
    throw refused('detachedReason', 'detachedAt and detachedReason belong together: send both, or null for both');
}

function refused(field: string, message: string) {
  return invalid(['subscriptionItemFeature', field], message);
}

function chosen<Value>(sent: Value | undefined, kept: Value): Value {
  return sent === undefined ? kept : sent;
}

function withChoices(kept: ItemFeatureValues, sent: NewItemFeature | ItemFeatureChange): ItemFeatureValues {
  if (sent.creditPoolId && sent.usageMeterId)
    throw refused('creditPoolId', 'must be absent or null beside usageMeterId');
  return {
    amount: chosen(sent.amount, kept.amount),
    usageMeterId: sent.creditPoolId ?? chosen(sent.usageMeterId, kept.usageMeterId),
    renewalFrequency: chosen(sent.renewalFrequency, kept.renewalFrequency),
    grantInterval: chosen(sent.grantInterval, kept.grantInterval),
    resourceId: chosen(sent.resourceId, kept.resourceId),
    value: chosen(sent.value, kept.value),
    productFeatureId: chosen(sent.productFeatureId, kept.productFeatureId),
    expiredAt: chosen(sent.expiredAt, kept.expiredAt),
    detachedAt: chosen(sent.detachedAt, kept.detachedAt),
    detachedReason: chosen(sent.detachedReason, kept.detachedReason),
    manuallyCreated: chosen(sent.manuallyCreated, kept.manuallyCreated),
  };
}

/**
 * The values of a new subscription item feature; absent fields default to the feature's. On the item of manually added
 * features it counts as manual by default.
 */
export function decideNew(
  feature: GrantableFeature,
  item: { readonly manuallyCreated: boolean },
  sent: NewItemFeature,
): ItemFeatureValues {
  if (sent.type !== undefined && sent.type !== feature.type)
    throw refused('type', `must be ${feature.type}, the type of the feature`);
  const { amount, renewalFrequency, grantInterval, resourceId, value = null } = feature;
  const usageMeterId = subjectIdOf(feature);
  const unlinked = { productFeatureId: null, expiredAt: null, detachedAt: null, detachedReason: null };
  const own = { amount, usageMeterId, renewalFrequency, grantInterval, resourceId, value, ...unlinked };
  const values = withChoices({ ...own, manuallyCreated: item.manuallyCreated }, sent);
  checkValues(feature, values);
  return values;
}

const fixedFields = ['type', 'featureId', 'subscriptionItemId', 'subscriptionId'] as const;

/** The row after a change: only sent fields change, and its identity is fixed. */
export function decideChange(current: StoredItemFeature, sent: ItemFeatureChange): StoredItemFeature {
  for (const field of fixedFields) {
    if (sent[field] !== undefined && sent[field] !== current[field])
      throw refused(field, `cannot be changed: it is ${current[field]}`);
  }
  const values = withChoices(current, sent);
  checkValues(current, values);
  return { ...current, ...values };
}
