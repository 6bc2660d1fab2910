import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { amountInput, maxSafeInteger, WholeNumber } from '../kernel/json.ts';
import { FeatureType, FeatureValue } from '../pricing/feature.ts';
import { entitledValue, type GivenValue } from './entitled-value.ts';
import { type Grant, grantsMeant, kindAbout } from './entitlement.ts';
import { claimableCapacity } from './resource-claim.ts';

// A lookup of this size takes about ten milliseconds. Callers split larger checks.
export const maxChecksPerRequest = 1_000;

/** A check whether a customer may use a feature, or an amount of it. */
export const EntitlementCheck = z
  .object({
    customerExternalId: z.string().min(1).max(255),
    featureSlug: z.string().min(1).max(255),
    amount: amountInput(1)
      .nullable()
      .optional()
      .meta({
        description:
          'The number of units of the meter or credit pool, or places of the resource, or the number that a value has to reach, by ' +
          'default 1. A toggle has no amount.',
      }),
    value: z.string().min(1).max(255).nullable().optional().meta({
      description: 'The text that a value has to be or to contain. Only for a value that is a text or a list.',
    }),
  })
  .meta({ id: 'EntitlementCheck' });
export type EntitlementCheck = z.output<typeof EntitlementCheck>;

const CheckReason = z
  .enum([
    'customer_not_found',
    'feature_not_found',
    'not_granted',
    'unpaid',
    'insufficient_balance',
    'insufficient_capacity',
    'resource_inactive',
    'value_too_low',
    'value_not_included',
  ])
  .meta({ id: 'EntitlementCheckReason' });
type CheckReason = z.infer<typeof CheckReason>;

/** The result of one check. */
export const EntitlementCheckResult = z
  .object({
    customerExternalId: z.string(),
    featureSlug: z.string(),
    allowed: z.boolean(),
    reason: CheckReason.nullable().meta({ description: 'The reason why it is not allowed. Null if it is.' }),
    type: FeatureType.nullable().meta({ description: 'The type of the feature. Null if there is no such feature.' }),
    availableBalance: WholeNumber.nullable().meta({
      description:
        'The balance of the meter in all subscriptions that grant the feature, and the units that a credit pool pays for. Of a credit pool, its whole units. Null if none grants credits.',
    }),
    capacity: z
      .int()
      .nullable()
      .meta({ description: 'The places of the resource in all subscriptions that grant it. Null if none does.' }),
    claimed: z
      .int()
      .nullable()
      .meta({ description: 'The places of the resource that are claimed in these subscriptions.' }),
    value: FeatureValue.optional().meta({ description: 'The value that the customer has. Absent for other types.' }),
  })
  .meta({ id: 'EntitlementCheckResult' });
export type EntitlementCheckResult = z.infer<typeof EntitlementCheckResult>;

/** Deduplicated checks for the store: each customer, slug and pair once. Positions count from 1. */
export interface Asked {
  readonly externalIds: readonly string[];
  readonly slugs: readonly string[];
  /** The positions of its customer and slug. */
  readonly pairs: readonly AskedPair[];
  /** For each check the position of its pair. */
  readonly pairOf: readonly number[];
  /** Distinct sets of slugs that customers are checked for, as positions. There are usually few. */
  readonly groups: readonly (readonly number[])[];
  /** For each customer the position of its group. */
  readonly groupOf: readonly number[];
}
type AskedPair = readonly [customer: number, slug: number];

/** The stored data for the checks, unordered. Rows are arrays because there are many small ones. */
export interface Found {
  readonly customers: readonly (readonly [customer: number, pricingModelId: string])[];
  readonly features: readonly FoundFeature[];
  /** How many current subscriptions the customers have. */
  readonly subscriptionsRead: number;
  /** The current subscriptions that grant any of it. */
  readonly subscriptions: readonly FoundSubscription[];
  readonly inactiveResources: readonly string[];
  /** The units of meters that credit pools of a customer pay for, and those of the pools themselves, as texts. */
  readonly pools: readonly (readonly [customer: number, usageMeterId: string, units: string])[];
  /** The units of meters that a pool pays for at their price, through a subscription. */
  readonly pooled: readonly PooledUnits[];
}
export interface PooledUnits {
  readonly subscriptionId: string;
  readonly usageMeterId: string;
  readonly units: bigint;
}
type FoundFeature = readonly [
  slug: number,
  featureId: string,
  pricingModelId: string,
  type: FeatureType,
  active: boolean,
];
export type FoundSubscription = readonly [
  customer: number,
  subscriptionId: string,
  /** Its features, with their usage meter or resource, or with their value; null for a toggle. */
  features: readonly (readonly [featureId: string, about: string | null, valued: FoundValue | null])[],
  /** Texts, because they may exceed JSON's exact numbers. Missing without an account. `free`: whatever usage is owed. */
  balances: readonly (readonly [usageMeterId: string, available: string, free: string])[],
  capacities: readonly (readonly [resourceId: string, capacity: number])[],
  /** Active claims, if there are any. */
  claims: readonly (readonly [resourceId: string, claimed: number])[],
  /** The effective date of a scheduled plan change, and the remaining capacity by resource id; else null. */
  plannedAt: Instant | null,
  planned: Readonly<Record<string, number>> | null,
  /** Whether the customer may use it: unpaid invoices may withhold that. */
  hasAccess: boolean,
];

/** A value that a subscription item feature gives. */
export type FoundValue = readonly [id: string, manuallyCreated: boolean, value: FeatureValue];

export function toGivenValue(subscriptionId: string, valued: FoundValue | null): GivenValue | null {
  if (valued === null) return null;
  const [id, manuallyCreated, value] = valued;
  return { id, subscriptionId, manuallyCreated, value };
}

/** Deduplicates the customers, slugs and pairs of checks. */
export function askedOf(checks: readonly EntitlementCheck[]): Asked {
  const customers = new Map<string, number>();
  const slugs = new Map<string, number>();
  const places = new Map<number, number>();
  const pairs: AskedPair[] = [];
  const pairOf = checks.map(({ customerExternalId, featureSlug }) => {
    const customer = placeIn(customers, customerExternalId);
    const slug = placeIn(slugs, featureSlug);
    const place = placeIn(places, keyOf(customer, slug));
    if (place > pairs.length) pairs.push([customer, slug]);
    return place;
  });
  return { externalIds: [...customers.keys()], slugs: [...slugs.keys()], pairs, pairOf, ...groupsOf(pairs) };
}

function groupsOf(pairs: readonly AskedPair[]): Pick<Asked, 'groups' | 'groupOf'> {
  // Customers are numbered in order of first appearance, which is the order here.
  const slugsOf = new Map<number, number[]>();
  for (const [customer, slug] of pairs) {
    const slugs = slugsOf.get(customer);
    if (slugs) slugs.push(slug);
    else slugsOf.set(customer, [slug]);
  }
  const places = new Map<string, number>();
  const groups: number[][] = [];
  const groupOf = [...slugsOf.values()].map((slugs) => {
    const place = placeIn(places, slugs.join());
    if (place > groups.length) groups.push(slugs);
    return place;
  });
  return { groups, groupOf };
}

/** The position of a key, from 1; new keys get the next one. */
function placeIn<Key>(places: Map<Key, number>, key: Key): number {
  const known = places.get(key);
  if (known !== undefined) return known;
  places.set(key, places.size + 1);
  return places.size;
}

// A number for each pair: a request has fewer slugs than the factor.
function keyOf(customer: number, slug: number): number {
  return customer * (maxChecksPerRequest + 1) + slug;
}

/** The positions in `asked.externalIds` that more than one customer has. */
export function ambiguousCustomers({ customers }: Pick<Found, 'customers'>): Set<number> {
  const seen = new Set<number>();
  const ambiguous = new Set<number>();
  for (const [customer] of customers) (seen.has(customer) ? ambiguous : seen).add(customer);
  return ambiguous;
}

/** A customer's state for a feature, from which any check of it is decided. */
interface Standing
  extends Pick<EntitlementCheckResult, 'type' | 'availableBalance' | 'capacity' | 'claimed' | 'value'> {
  /** The reason to refuse any amount. */
  readonly refusal: CheckReason | null;
  /** The maximum allowed amount; null: any. */
  readonly left: bigint | number | null;
}

function refused(refusal: CheckReason, type: FeatureType | null = null): Standing {
  return { type, availableBalance: null, capacity: null, claimed: null, refusal, left: 0 };
}

const withoutLimit: Standing = {
  type: 'toggle',
  availableBalance: null,
  capacity: null,
  claimed: null,
  refusal: null,
  left: null,
};

/**
 * Decides checks in order from the data found for `requested`, their `askedOf`. Credits and capacity are summed over all
 * subscriptions that grant the feature; a single one may have less.
 */
export function decideChecks(
  checks: readonly EntitlementCheck[],
  requested: Asked,
  found: Found,
  now: Instant,
): EntitlementCheckResult[] {
  const standings = standingsOf(requested, found, now);
  return checks.map((check, index) => {
    const standing = standings[(requested.pairOf[index] ?? 0) - 1];
    assert(standing, 'each check has a pair');
    return answer(check, standing);
  });
}

function answer(
  { customerExternalId, featureSlug, amount, value: text }: EntitlementCheck,
  standing: Standing,
): EntitlementCheckResult {
  const { type, availableBalance, capacity, claimed, refusal, left, value } = standing;
  const isShort = left !== null && (amount ?? 1n) > left;
  const reason =
    refusal ?? (isShort ? shortage(type) : null) ?? (isIncluded(value, text) ? null : 'value_not_included');
  const allowed = reason === null;
  const amounts = { availableBalance, capacity, claimed, ...(value === undefined ? {} : { value }) };
  return { customerExternalId, featureSlug, allowed, reason, type, ...amounts };
}

function shortage(type: FeatureType | null): CheckReason {
  if (type === 'value') return 'value_too_low';
  return type === 'resource' ? 'insufficient_capacity' : 'insufficient_balance';
}

/** Whether the value is or contains the text, if both are there; a number is no text. */
function isIncluded(value: FeatureValue | undefined, text: string | null | undefined): boolean {
  if (value === undefined || typeof value === 'number' || text === null || text === undefined) return true;
  return typeof value === 'string' ? value === text : value.includes(text);
}

/** One for each pair. */
function standingsOf({ pairs }: Asked, found: Found, now: Instant): Standing[] {
  const models = new Map(found.customers);
  const features = Map.groupBy(found.features, ([slug]) => slug);
  const grants = grantsByPair(found);
  const inactive = new Set(found.inactiveResources);
  return pairs.map(([customer, slug]) => {
    const granted = grants.get(keyOf(customer, slug));
    if (granted) return standingWithAccess(granted, inactive, now);
    const pricingModelId = models.get(customer);
    if (pricingModelId === undefined) return refused('customer_not_found');
    const type = typeUnder((features.get(slug) ?? []).filter((feature) => feature[2] === pricingModelId));
    return type === null ? refused('feature_not_found') : refused('not_granted', type);
  });
}

/** The type of a slug's feature when the customer has no grant under it. */
function typeUnder(features: readonly FoundFeature[]): FeatureType | null {
  const [lead] = grantsMeant(
    features.map(([, featureId, , type, active]) => ({ featureId, type, active, subscriptionId: '', about: null })),
  );
  return lead?.type ?? null;
}

interface CheckedGrant extends Grant {
  readonly subscription: FoundAmounts;
  readonly hasAccess: boolean;
  readonly given: GivenValue | null;
}

/** A subscription's remaining amounts, by meter and by resource. */
interface FoundAmounts {
  readonly balances: ReadonlyMap<string, { readonly available: bigint; readonly free: bigint }>;
  /** The units that credit pools of the customer pay for. */
  readonly pooled: ReadonlyMap<string, bigint>;
  readonly capacities: ReadonlyMap<string, number>;
  readonly claims: ReadonlyMap<string, number>;
  readonly plannedAt: Instant | null;
  readonly planned: Readonly<Record<string, number>> | null;
}

function grantsByPair(found: Found): Map<number, CheckedGrant[]> {
  const asked = new Map(found.features.map((feature) => [feature[1], feature]));
  const grants = new Map<number, CheckedGrant[]>();
  const pools = Map.groupBy(found.pools, ([customer]) => customer);
  const atPrices = Map.groupBy(found.pooled, ({ subscriptionId }) => subscriptionId);
  for (const [
    customer,
    subscriptionId,
    features,
    balances,
    capacities,
    claims,
    plannedAt,
    planned,
    hasAccess,
  ] of found.subscriptions) {
    const subscription = {
      balances: new Map(
        balances.map(([id, available, free]) => [id, { available: BigInt(available), free: BigInt(free) }]),
      ),
      // Its price counts for a meter without a rate only.
      pooled: new Map([
        ...(pools.get(customer) ?? []).map(([, id, units]) => [id, BigInt(units)] as const),
        ...(atPrices.get(subscriptionId) ?? []).map(({ usageMeterId, units }) => [usageMeterId, units] as const),
      ]),
      ...{ capacities: new Map(capacities), claims: new Map(claims), plannedAt, planned },
    };
    for (const [featureId, meant, valued] of features) {
      const feature = asked.get(featureId);
      assert(feature, 'what is given is a feature that was asked for');
      const [slug, , , type, active] = feature;
      const key = keyOf(customer, slug);
      const given = toGivenValue(subscriptionId, valued);
      const about = meant ?? kindAbout(given?.value ?? null);
      const grant = { subscriptionId, featureId, type, active, about, subscription, hasAccess, given };
      const others = grants.get(key);
      if (others) others.push(grant);
      else grants.set(key, [grant]);
    }
  }
  return grants;
}

/** The state for a customer's grants under one slug. Withheld ones count only to say so. */
function standingWithAccess(grants: readonly CheckedGrant[], inactive: ReadonlySet<string>, now: Instant): Standing {
  const usable = grants.filter(({ hasAccess }) => hasAccess);
  if (usable.length > 0) return standingWith(grantsMeant(usable), inactive, now);
  return { ...standingWith(grantsMeant(grants), inactive, now), refusal: 'unpaid' };
}

/** The state for a customer's grants under one slug: at least one, all for the same meter or resource. */
function standingWith(grants: readonly CheckedGrant[], inactive: ReadonlySet<string>, now: Instant): Standing {
  const [lead] = grants;
  assert(lead, 'there is something to decide about');
  const { type, about } = lead;
  if (type === 'toggle') return withoutLimit;
  // Whether a use fits into a limit is decided with the use: consume asks all limits.
  if (type === 'spend_limit') return { ...withoutLimit, type };
  if (type === 'value') return standingOfValue(grants.flatMap(({ given }) => given ?? []));
  assert(about, 'credits are of a meter and places of a resource');
  const subscriptions = [...new Set(grants.map(({ subscription }) => subscription))];
  return type === 'resource'
    ? standingOfPlaces(subscriptions, about, inactive.has(about), now)
    : standingOfCredits(subscriptions, about);
}

function standingOfValue(given: readonly GivenValue[]): Standing {
  const value = entitledValue(given);
  return { ...withoutLimit, type: 'value', value, left: typeof value === 'number' ? value : null };
}

/** As `consume` decides: where a pool pays, it pays behind the credits of the meter, whatever usage is owed. */
function standingOfCredits(subscriptions: readonly FoundAmounts[], usageMeterId: string): Standing {
  const nothing = { available: 0n, free: 0n };
  const balances = subscriptions.map((subscription) => subscription.balances.get(usageMeterId) ?? nothing);
  // The pool is the same for all of them, so it pays once.
  const pooled = largestOf(subscriptions.map((subscription) => subscription.pooled.get(usageMeterId) ?? 0n));
  const sumOf = (kind: keyof typeof nothing) => balances.reduce((sum, each) => sum + each[kind], 0n);
  const availableBalance = pooled > 0n ? sumOf('free') + pooled : sumOf('available');
  const none = { capacity: null, claimed: null, refusal: null };
  return { type: 'usage_credit_grant', availableBalance, ...none, left: availableBalance };
}

function largestOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((largest, each) => (each > largest ? each : largest), 0n);
}

function standingOfPlaces(
  subscriptions: readonly FoundAmounts[],
  resourceId: string,
  isInactive: boolean,
  now: Instant,
): Standing {
  let capacity = 0;
  let claimed = 0;
  for (const { capacities, claims, plannedAt, planned } of subscriptions) {
    const holding = {
      capacity: capacities.get(resourceId) ?? 0,
      plannedAt,
      plannedCapacity: planned === null ? null : (planned[resourceId] ?? 0),
    };
    capacity += claimableCapacity(holding, now);
    claimed += claims.get(resourceId) ?? 0;
  }
  const refusal = isInactive ? 'resource_inactive' : null;
  const left = capacity - claimed;
  // Unlimited plus unlimited stays unlimited.
  return {
    type: 'resource',
    availableBalance: null,
    capacity: Math.min(capacity, maxSafeInteger),
    claimed,
    refusal,
    left,
  };
}
