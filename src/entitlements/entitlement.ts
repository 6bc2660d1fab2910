import assert from 'node:assert/strict';
import { z } from 'zod';
import { WholeNumber } from '../kernel/json.ts';
import { saturated } from '../kernel/money.ts';
import { type FeatureType, FeatureValue, grantSubject, kindOfFeature, LimitTerms } from '../pricing/feature.ts';
import { entitledValue, type GivenValue } from './entitled-value.ts';

const featureFields = {
  featureId: z.string(),
  slug: z.string(),
  name: z.string(),
  subscriptionIds: z.array(z.string()).meta({ description: 'The current subscriptions that grant it, newest first.' }),
};
const Amount = WholeNumber.meta({
  description: 'The sum of the grants of these subscriptions: credits in each grant, or places.',
});

/** A feature that a customer has, through one or several subscriptions. */
const EntitledFeature = z
  .discriminatedUnion('type', [
    z.object({
      ...featureFields,
      type: z.literal('toggle'),
      amount: z.null(),
      usageMeterId: z.null(),
      resourceId: z.null(),
    }),
    z.object({
      ...featureFields,
      type: z.literal('usage_credit_grant'),
      amount: Amount,
      usageMeterId: z.string().nullable().meta({ description: 'The usage meter. Null for credits of a pool.' }),
      creditPoolId: z.string().optional().meta({ description: 'The credit pool, in place of a usage meter.' }),
      resourceId: z.null(),
    }),
    z.object({
      ...featureFields,
      type: z.literal('resource'),
      amount: Amount,
      usageMeterId: z.null(),
      resourceId: z.string(),
    }),
    z.object({
      ...featureFields,
      type: z.literal('value'),
      amount: z.null(),
      usageMeterId: z.null(),
      resourceId: z.null(),
      value: FeatureValue.meta({
        description:
          'A value that was added by hand replaces those of products in its subscription. Of several others: the ' +
          'highest number, the texts of all lists, or the text of the newest subscription.',
      }),
    }),
    z.object({
      ...featureFields,
      type: z.literal('spend_limit'),
      amount: WholeNumber.meta({
        description: 'The sum of the limits of these subscriptions. Each limits the use of its own.',
      }),
      usageMeterId: z.null(),
      resourceId: z.null(),
      spendLimit: LimitTerms,
    }),
  ])
  .meta({ id: 'EntitledFeature' });
type EntitledFeature = z.infer<typeof EntitledFeature>;

/** The remaining balance of a meter on one subscription. */
export const EntitledBalance = z
  .object({
    usageMeterId: z.string(),
    slug: z.string(),
    subscriptionId: z.string(),
    availableBalance: WholeNumber.meta({
      description: 'The usable credits that are not held, minus usage that no credit covered.',
    }),
    held: WholeNumber.meta({
      description: 'The units reserved by open holds. They are not part of `availableBalance`.',
    }),
    usableCredits: WholeNumber.meta({
      description: 'The usable credits that are not held, whatever usage is owed.',
    }),
    pooledUnits: WholeNumber.meta({
      description:
        'The units that a credit pool pays for behind `usableCredits`: at its rate without conditions, or at the price. The ' +
        'same credits of the pool count for all meters and subscriptions.',
    }),
  })
  .meta({ id: 'EntitledBalance' });
export type EntitledBalance = z.infer<typeof EntitledBalance>;

/** The balance of a credit pool, which a customer has whichever its subscriptions are. */
const EntitledPoolBalance = z
  .object({
    creditPoolId: z.string(),
    slug: z.string(),
    availableBalance: z.string().meta({
      description: 'The credits that are not held, as a decimal text in units of the pool.',
      example: '12.5',
    }),
    held: z.string().meta({
      description: 'The amount reserved by open holds, as a decimal text. It is not part of `availableBalance`.',
      example: '0',
    }),
  })
  .meta({ id: 'EntitledPoolBalance' });

/** The capacity and claims of a resource on one subscription. */
export const EntitledResource = z
  .object({
    resourceId: z.string(),
    slug: z.string(),
    subscriptionId: z.string(),
    capacity: z.int().min(0),
    claimed: z.int().min(0),
    available: z
      .int()
      .meta({ description: 'Capacity less claims. Negative if the capacity was lowered below the claims.' }),
    active: z.boolean().meta({ description: 'Whether the resource takes claims.' }),
  })
  .meta({ id: 'EntitledResource' });
export type EntitledResource = z.infer<typeof EntitledResource>;

/** Everything that a customer's current subscriptions grant. */
export const Entitlements = z
  .object({
    customerId: z.string(),
    externalId: z.string(),
    pricingModelId: z.string(),
    features: z.array(EntitledFeature).meta({ description: 'One feature for each slug, in order of creation.' }),
    usageMeterBalances: z
      .array(EntitledBalance)
      .meta({ description: 'One balance for each usage meter of each subscription, newest subscription first.' }),
    creditPoolBalances: z
      .array(EntitledPoolBalance)
      .meta({ description: 'One balance for each credit pool of the pricing model, oldest pool first.' }),
    resources: z.array(EntitledResource).meta({
      description:
        'One row for each resource that a feature of a subscription grants or has granted, newest subscription first.',
    }),
    unpaidSubscriptionIds: z.array(z.string()).meta({
      description:
        'The current subscriptions that grant nothing because of unpaid invoices (setting `access`), newest first.',
    }),
  })
  .meta({ id: 'Entitlements' });
export type Entitlements = z.infer<typeof Entitlements>;

/** A feature as granted by one item of a current subscription. */
export interface Grant {
  readonly subscriptionId: string;
  readonly featureId: string;
  readonly type: FeatureType;
  /** Whether the feature is active; the slug of an inactive one can be reused. */
  readonly active: boolean;
  /** The usage meter or credit pool, the resource or the kind of the value; null for a toggle. */
  readonly about: string | null;
}

/** The kind of a value, with which a grant of it can be compared; null without one. */
export function kindAbout(value: FeatureValue | null): string | null {
  return value === null ? null : kindOfFeature({ type: 'value', value });
}

function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function leadingFirst(one: Grant, other: Grant): number {
  if (one.active !== other.active) return one.active ? -1 : 1;
  return compareTexts(other.featureId, one.featureId) || compareTexts(other.subscriptionId, one.subscriptionId);
}

/**
 * Resolves a slug that several features have used over time, newest grant first. The active feature leads, else the
 * newest one. Grants of the same type for the same meter or resource are included, because a customer's grant may point
 * to another meter or resource than the feature.
 */
export function grantsMeant<Given extends Grant>(grants: readonly Given[]): readonly Given[] {
  if (grants.length === 1) return grants;
  const sorted = grants.toSorted(leadingFirst);
  const [lead] = sorted;
  if (lead === undefined) return [];
  return sorted.filter((each) => each.type === lead.type && each.about === lead.about);
}

/** The distinct subscriptions of the grants, newest first. */
export function subscriptionsOf(grants: readonly Pick<Grant, 'subscriptionId'>[]): string[] {
  const [only, other] = grants;
  if (only && other === undefined) return [only.subscriptionId];
  const ids = new Set(grants.map(({ subscriptionId }) => subscriptionId));
  return [...ids].sort((one, other) => compareTexts(other, one));
}

/** A grant with the fields shown in the list of features. */
export interface NamedGrant extends Grant {
  readonly slug: string;
  readonly name: string;
  readonly amount: bigint | null;
  /** Null unless it is a value. */
  readonly given: GivenValue | null;
  /** Null unless it is a spend limit. */
  readonly spendLimit: LimitTerms | null;
}

/** One row for each slug, in order of creation of the features. */
export function toEntitledFeatures(grants: readonly NamedGrant[]): EntitledFeature[] {
  const rows = [...Map.groupBy(grants, ({ slug }) => slug).values()].map(toEntitledFeature);
  return rows.sort((one, other) => compareTexts(one.featureId, other.featureId));
}

function toEntitledFeature(grants: readonly NamedGrant[]): EntitledFeature {
  const meant = grantsMeant(grants);
  const [lead] = meant;
  assert(lead, 'a slug is there because something is given under it');
  const { featureId, slug, name, type, about } = lead;
  const row = { featureId, slug, name, subscriptionIds: subscriptionsOf(meant) };
  if (type === 'toggle') return { ...row, type, amount: null, usageMeterId: null, resourceId: null };
  if (type === 'value') {
    const value = entitledValue(meant.flatMap(({ given }) => given ?? []));
    return { ...row, type, amount: null, usageMeterId: null, resourceId: null, value };
  }
  const amount = saturated(meant.reduce((sum, each) => sum + (each.amount ?? 0n), 0n));
  if (type === 'spend_limit') {
    assert(lead.spendLimit, 'a spend limit has terms');
    return { ...row, type, amount, usageMeterId: null, resourceId: null, spendLimit: lead.spendLimit };
  }
  assert(about, 'credits are of a meter and places of a resource');
  return type === 'resource'
    ? { ...row, type, amount, usageMeterId: null, resourceId: about }
    : { ...row, type, amount, ...grantSubject(about), resourceId: null };
}
