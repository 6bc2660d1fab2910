import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { amountInput, maxSafeInteger, WholeNumber } from '../kernel/json.ts';
import { FeatureType } from '../pricing/feature.ts';
import { byPlace, type Grant, grantsMeant, subscriptionsOf } from './entitlement.ts';
import { claimableCapacity } from './resource-claim.ts';

// As many as are looked up in some ten milliseconds. Who asks about more sends several requests.
export const maxChecksPerRequest = 1_000;

/** May this customer use (so much of) this feature? */
export const EntitlementCheck = z
  .object({
    customerExternalId: z.string().min(1).max(255),
    featureSlug: z.string().min(1).max(255),
    amount: amountInput(1)
      .nullable()
      .optional()
      .meta({ description: 'Units of the meter, or places of the resource. 1 when absent; a toggle has no amount.' }),
  })
  .meta({ id: 'EntitlementCheck' });
export type EntitlementCheck = z.output<typeof EntitlementCheck>;

const CheckReason = z
  .enum([
    'customer_not_found',
    'feature_not_found',
    'not_granted',
    'insufficient_balance',
    'insufficient_capacity',
    'resource_inactive',
  ])
  .meta({ id: 'EntitlementCheckReason' });
type CheckReason = z.infer<typeof CheckReason>;

/** The answer to one check. */
export const EntitlementCheckResult = z
  .object({
    customerExternalId: z.string(),
    featureSlug: z.string(),
    allowed: z.boolean(),
    reason: CheckReason.nullable().meta({ description: 'Why it is not allowed; null when it is.' }),
    type: FeatureType.nullable().meta({ description: 'That of the feature; null where there is none.' }),
    availableBalance: WholeNumber.nullable().meta({
      description:
        "What is left of the feature's meter, in the subscriptions that give it; null where none gives credits.",
    }),
    capacity: z
      .int()
      .nullable()
      .meta({ description: 'Places of the resource in the subscriptions that give it; null where none gives any.' }),
    claimed: z.int().nullable().meta({ description: 'Places of the resource that are taken in them.' }),
  })
  .meta({ id: 'EntitlementCheckResult' });
export type EntitlementCheckResult = z.infer<typeof EntitlementCheckResult>;

/** Checks as the store is asked about them: each customer, slug and pair once. */
export interface Asked {
  readonly externalIds: readonly string[];
  readonly slugs: readonly string[];
  /** The places of its customer and its slug in these lists, from 1. */
  readonly pairs: readonly AskedPair[];
  /** For each check the place of its pair among `pairs`, from 0. */
  readonly pairOf: readonly number[];
}
type AskedPair = readonly [customer: number, slug: number];

/** What there is of what was asked for, in no particular order. Rows are lists because there are many small ones. */
export interface Found {
  readonly customers: readonly (readonly [customer: number, pricingModelId: string])[];
  readonly features: readonly FoundFeature[];
  /** What a subscription gives: the usage meter or the resource with each feature, null with a toggle. */
  readonly grants: readonly (readonly [
    customer: number,
    subscriptionId: string,
    given: readonly (readonly [featureId: string, about: string | null])[],
  ])[];
  /** Balances are texts: they may be beyond what JSON carries exactly. Without an account there is none. */
  readonly balances: readonly (readonly [subscriptionId: string, usageMeterId: string, available: string])[];
  readonly holdings: readonly FoundHolding[];
  /** How many active claims there are, where there are any. */
  readonly claims: readonly (readonly [subscriptionId: string, resourceId: string, claimed: number])[];
}
type FoundFeature = readonly [
  slug: number,
  featureId: string,
  pricingModelId: string,
  type: FeatureType,
  active: boolean,
];
/** What a subscription has of a resource, and what a change of plan that is due leaves of the capacity, else null. */
export type FoundHolding = readonly [
  subscriptionId: string,
  resourceId: string,
  capacity: number,
  resourceActive: boolean,
  plannedAt: Instant | null,
  plannedCapacity: number | null,
];

/** Each customer, slug and pair of the checks once. */
export function askedOf(checks: readonly EntitlementCheck[]): Asked {
  const customers = new Map<string, number>();
  const slugs = new Map<string, number>();
  const places = new Map<number, number>();
  const pairs: AskedPair[] = [];
  const pairOf = checks.map(({ customerExternalId, featureSlug }) => {
    const pair = [placeIn(customers, customerExternalId), placeIn(slugs, featureSlug)] as const;
    const place = placeIn(places, keyOf(...pair)) - 1;
    if (place === pairs.length) pairs.push(pair);
    return place;
  });
  return { externalIds: [...customers.keys()], slugs: [...slugs.keys()], pairs, pairOf };
}

/** The place of a key among those that were asked for, from 1. */
function placeIn<Key>(places: Map<Key, number>, key: Key): number {
  const known = places.get(key);
  if (known !== undefined) return known;
  places.set(key, places.size + 1);
  return places.size;
}

// A number for each pair: there are fewer slugs than this in one request.
function keyOf(customer: number, slug: number): number {
  return customer * (maxChecksPerRequest + 1) + slug;
}

/** The places in `asked.externalIds` of those that more than one customer has. */
export function ambiguousCustomers({ customers }: Found): Set<number> {
  const seen = new Set<number>();
  const ambiguous = new Set<number>();
  for (const [customer] of customers) (seen.has(customer) ? ambiguous : seen).add(customer);
  return ambiguous;
}

/** Where a customer stands with a feature: what any check of it is answered from. */
interface Standing extends Pick<EntitlementCheckResult, 'type' | 'availableBalance' | 'capacity' | 'claimed'> {
  /** Why nothing is allowed, whatever the amount. */
  readonly refusal: CheckReason | null;
  /** What an amount must not be above; null: any will do. */
  readonly left: bigint | number | null;
}

function refused(refusal: CheckReason, type: FeatureType | null = null): Standing {
  return { type, availableBalance: null, capacity: null, claimed: null, refusal, left: 0 };
}

const withoutLimit: Standing = {
  ...{ type: 'toggle', availableBalance: null, capacity: null, claimed: null },
  ...{ refusal: null, left: null },
};

/**
 * The answers to checks, in their order, from what was found of `asked`, which is `askedOf` them. Credits and places are
 * those of all subscriptions that give the feature, together; where several give it, one alone may have less.
 */
export function decideChecks(
  checks: readonly EntitlementCheck[],
  asked: Asked,
  found: Found,
  now: Instant,
): EntitlementCheckResult[] {
  const standings = standingsOf(asked, found, now);
  return checks.map((check, index) => {
    const standing = standings[asked.pairOf[index] ?? -1];
    assert(standing, 'each check has a pair');
    return answer(check, standing);
  });
}

function answer(
  { customerExternalId, featureSlug, amount }: EntitlementCheck,
  standing: Standing,
): EntitlementCheckResult {
  const { type, availableBalance, capacity, claimed, refusal, left } = standing;
  const short = type === 'resource' ? 'insufficient_capacity' : 'insufficient_balance';
  const reason = refusal ?? (left === null || (amount ?? 1n) <= left ? null : short);
  const allowed = reason === null;
  return { customerExternalId, featureSlug, allowed, reason, type, availableBalance, capacity, claimed };
}

/** One for each pair. */
function standingsOf({ pairs }: Asked, found: Found, now: Instant): Standing[] {
  const models = new Map(found.customers);
  const features = Map.groupBy(found.features, ([slug]) => slug);
  const grants = grantsByPair(found);
  const standingWith = standingByGrants(found, now);
  return pairs.map(([customer, slug]) => {
    const granted = grants.get(keyOf(customer, slug));
    if (granted) return standingWith(grantsMeant(granted));
    const pricingModelId = models.get(customer);
    if (pricingModelId === undefined) return refused('customer_not_found');
    const type = typeUnder((features.get(slug) ?? []).filter((feature) => feature[2] === pricingModelId));
    return type === null ? refused('feature_not_found') : refused('not_granted', type);
  });
}

/** The type of the feature that a slug stands for where nothing is given under it. */
function typeUnder(features: readonly FoundFeature[]): FeatureType | null {
  const [lead] = grantsMeant(
    features.map(([, featureId, , type, active]) => ({ featureId, type, active, subscriptionId: '', about: null })),
  );
  return lead?.type ?? null;
}

function grantsByPair(found: Found): Map<number, Grant[]> {
  const features = new Map(found.features.map((feature) => [feature[1], feature]));
  const grants = new Map<number, Grant[]>();
  for (const [customer, subscriptionId, given] of found.grants) {
    for (const [featureId, about] of given) {
      const feature = features.get(featureId);
      assert(feature, 'what is given is a feature that was asked for');
      const [slug, , , type, active] = feature;
      const key = keyOf(customer, slug);
      const grant = { subscriptionId, featureId, type, active, about };
      const others = grants.get(key);
      if (others) others.push(grant);
      else grants.set(key, [grant]);
    }
  }
  return grants;
}

/** Of grants of one customer under one slug, of which there is at least one. */
function standingByGrants(found: Found, now: Instant): (grants: readonly Grant[]) => Standing {
  const balanceOf = byPlace(found.balances);
  const holdingOf = byPlace(found.holdings);
  const claimsOf = byPlace(found.claims);
  return (grants) => {
    const [lead] = grants;
    assert(lead, 'there is something to decide about');
    const { type, about } = lead;
    if (type === 'toggle') return withoutLimit;
    assert(about, 'credits are of a meter and places of a resource');
    const ids = subscriptionsOf(grants);
    if (type === 'usage_credit_grant') return standingOfCredits(ids.map((id) => balanceOf(id, about)?.[2]));
    return standingOfPlaces(
      ids.map((id) => ({ holding: holdingOf(id, about), claimed: claimsOf(id, about)?.[2] ?? 0 })),
      now,
    );
  };
}

function standingOfCredits(balances: readonly (string | undefined)[]): Standing {
  const availableBalance = balances.reduce((sum, each) => sum + BigInt(each ?? 0), 0n);
  return {
    ...{ type: 'usage_credit_grant', availableBalance, capacity: null, claimed: null },
    ...{ refusal: null, left: availableBalance },
  };
}

function standingOfPlaces(
  holdings: readonly { readonly holding: FoundHolding | undefined; readonly claimed: number }[],
  now: Instant,
): Standing {
  let capacity = 0;
  let claimed = 0;
  let active = true;
  for (const each of holdings) {
    assert(each.holding, 'a resource that a feature gives is held');
    const [, , own, resourceActive, plannedAt, plannedCapacity] = each.holding;
    capacity += claimableCapacity({ capacity: own, plannedAt, plannedCapacity }, now);
    claimed += each.claimed;
    active &&= resourceActive;
  }
  return {
    // Two times without limit is without limit.
    ...{ type: 'resource', availableBalance: null, capacity: Math.min(capacity, maxSafeInteger), claimed },
    ...{ refusal: active ? null : 'resource_inactive', left: capacity - claimed },
  };
}
