import type { Work } from '../database/work.ts';
import { maxLongPageLimit, page, pageRequest } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { accessOf } from '../organizations/setting.ts';
import { findSubscription, lockSubscription } from '../subscriptions/store.ts';
import { hasAccess, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { lockLivingSubscription } from './actions.ts';
import {
  type ClaimsQuery,
  type ClaimsToRelease,
  checkClaim,
  checkRelease,
  claimTerm,
  type Holding,
  isAskedFor,
  type NewClaims,
  type OneResource,
  type ResourceClaim,
  type ResourceUsage,
  type SeveralResources,
  type StoredClaim,
  temporaryOf,
  toUsage,
} from './resource-claim.ts';
import * as store from './store-claims.ts';

/** A resource's usage and its claims. */
interface UsageWithClaims {
  readonly usage: ResourceUsage;
  /** The oldest ones. */
  readonly claims: ResourceClaim[];
  readonly hasMore: boolean;
}

function render(work: Work, claim: StoredClaim, subscriptionItemFeatureId: string | null): ResourceClaim {
  const { livemode, organizationId } = work;
  return { ...claim, livemode, organizationId, subscriptionItemFeatureId };
}

function renderAll(work: Work, claims: readonly StoredClaim[], holding: Holding): ResourceClaim[] {
  return claims.map((claim) => render(work, claim, holding.subscriptionItemFeatureId));
}

/** The distinct names in a request; null if it asks for a number of unnamed claims. */
function namesOf({ externalId, externalIds }: NewClaims | ClaimsToRelease): string[] | null {
  const names = externalIds ?? (typeof externalId === 'string' ? [externalId] : null);
  return names === null ? null : [...new Set(names)];
}

async function requireHolding(work: Work, subscription: store.Holder, slug: string): Promise<Holding> {
  const holding = await store.findHoldingBySlug(work, subscription, slug);
  if (holding === null) throw new Problem('resourceNotFound', { id: slug });
  return holding;
}

/**
 * Claims units of a resource, all or none. An already claimed name is returned as it is, even at full capacity.
 *
 * Every change of a subscription's claims locks its row, so that counting and inserting are one step. The row instead
 * of an advisory lock per resource, because cancel, uncancel and adjust lock it too. A claim therefore neither slips in
 * behind a cancellation nor misses the end that it sets, and there is only one lock order.
 */
export async function claimResource(work: Work, subscriptionId: string, request: NewClaims) {
  const subscription = await lockLivingSubscription(work, subscriptionId);
  if (subscription.status === 'paused') throw new Problem('subscriptionPaused', { id: subscriptionId });
  if (!hasAccess(subscription, accessOf(work))) throw new Problem('subscriptionUnpaid', { id: subscriptionId });
  const slug = request.resourceSlug;
  const holding = await requireHolding(work, subscription, slug);
  if (holding.subscriptionItemFeatureId === null)
    throw new Problem('resourceFeatureMissing', { id: subscription.id, slug });
  const names = namesOf(request);
  const existing = names === null ? [] : await store.findNamedClaims(work, subscription.id, holding.resourceId, names);
  const held = new Map(existing.map((claim) => [claim.externalId, claim]));
  const missing = names?.filter((name) => !held.has(name)) ?? null;
  const requested = missing?.length ?? request.quantity ?? 0;
  checkClaim(holding, requested, work.now);
  const made = await makeClaims(work, subscription, holding, request, missing ?? Array<null>(requested).fill(null));
  for (const claim of made) held.set(claim.externalId, claim);
  const claims = names === null ? made : names.flatMap((name) => held.get(name) ?? []);
  return {
    claims: renderAll(work, claims, holding),
    usage: toUsage(holding, made.length),
    temporaryClaims: temporaryOf(claims, subscription),
  };
}

async function makeClaims(
  work: Work,
  subscription: SubscriptionRow,
  holding: Holding,
  { metadata }: NewClaims,
  externalIds: readonly (string | null)[],
): Promise<StoredClaim[]> {
  if (externalIds.length === 0) return [];
  if (holding.expired > 0) await store.releaseEndedClaims(work, subscription.id, holding.resourceId);
  const { lasting, end } = claimTerm(holding, subscription, externalIds.length, work.now);
  const terms = { resourceId: holding.resourceId, metadata: metadata ?? null };
  const claims = externalIds.map((externalId, index) => ({
    externalId,
    expiredAt: index < lasting ? null : (end?.at ?? null),
  }));
  return store.insertClaims(work, subscription, terms, claims);
}

/** Releases claims of a resource, all or none. */
export async function releaseResource(work: Work, subscriptionId: string, request: ClaimsToRelease) {
  const subscription = await lockSubscription(work, subscriptionId);
  if (subscription === null) throw new Problem('subscriptionNotFound', { id: subscriptionId });
  const holding = await requireHolding(work, subscription, request.resourceSlug);
  const released = await releaseAsked(work, subscription.id, holding, request);
  return { releasedClaims: renderAll(work, released, holding), usage: toUsage(holding, -released.length) };
}

async function releaseAsked(
  work: Work,
  subscriptionId: string,
  holding: Holding,
  request: ClaimsToRelease,
): Promise<StoredClaim[]> {
  const { resourceId, resourceSlug: slug } = holding;
  const names = namesOf(request);
  const ids = request.claimIds ? [...new Set(request.claimIds)] : null;
  if (names === null && ids === null) {
    const count = request.quantity ?? 0;
    checkRelease(holding, count);
    return store.releaseAnonymousClaims(work, subscriptionId, resourceId, count);
  }
  const by = names === null ? 'id' : 'externalId';
  const requested = names ?? ids ?? [];
  const released = await store.releaseChosenClaims(work, subscriptionId, resourceId, by, requested);
  // The refusal rolls back the releases.
  const found = new Set(released.map((claim) => claim[by]));
  const unknown = requested.find((value) => !found.has(value));
  if (unknown !== undefined) throw new Problem('resourceClaimNotFound', { id: unknown, slug });
  return released;
}

async function requireSubscription(work: Work, id: string): Promise<SubscriptionRow> {
  const subscription = await findSubscription(work, id);
  if (subscription === null) throw new Problem('subscriptionNotFound', { id });
  return subscription;
}

/** The active claims of a subscription, of one resource or all, a page at a time. */
export async function listClaims(work: Work, subscriptionId: string, { resourceSlug, ...asked }: ClaimsQuery) {
  const subscription = await requireSubscription(work, subscriptionId);
  // The slug is a filter of the cursor.
  const request = pageRequest({ ...asked, resourceSlug, limit: asked.limit ?? maxLongPageLimit });
  const holdings =
    resourceSlug === undefined
      ? await store.listHoldings(work, [subscription])
      : [await requireHolding(work, subscription, resourceSlug)];
  const features = new Map(holdings.map((each) => [each.resourceId, each.subscriptionItemFeatureId]));
  const resourceId = resourceSlug === undefined ? null : (holdings[0]?.resourceId ?? null);
  const rows = await store.pageOfActiveClaims(work, subscription.id, resourceId, request);
  const { data, hasMore, nextCursor } = page(request, rows, 0);
  return {
    claims: data.map((claim) => render(work, claim, features.get(claim.resourceId) ?? null)),
    hasMore,
    ...(nextCursor === undefined ? {} : { nextCursor }),
  };
}

/** `found` are the oldest claims, and one more than `limit` if there are more. */
function withUsage(work: Work, holding: Holding, found: readonly StoredClaim[], limit: number): UsageWithClaims {
  const hasMore = found.length > limit;
  // The claims are read after the holding; counting them keeps the two consistent.
  const claimed = hasMore ? holding.claimed : found.length;
  return { usage: toUsage({ ...holding, claimed }), claims: renderAll(work, found.slice(0, limit), holding), hasMore };
}

/** A subscription's capacity and its oldest claims of one resource. */
export async function getUsage(
  work: Work,
  subscriptionId: string,
  { resourceSlug, resourceId = '' }: OneResource,
): Promise<UsageWithClaims> {
  const subscription = await requireSubscription(work, subscriptionId);
  const holding =
    resourceSlug === undefined
      ? await store.findHoldingById(work, subscription, resourceId)
      : await store.findHoldingBySlug(work, subscription, resourceSlug);
  if (holding === null) throw new Problem('resourceNotFound', { id: resourceSlug ?? resourceId });
  const found = await store.listOldestClaims(work, [holding], maxLongPageLimit + 1);
  return withUsage(work, holding, found, maxLongPageLimit);
}

/**
 * The same for each resource of the subscription's present and past features, or the requested ones of them. The
 * resources share the number of claims that an answer may hold.
 */
export async function listUsages(
  work: Work,
  subscriptionId: string,
  query: SeveralResources,
): Promise<UsageWithClaims[]> {
  const subscription = await requireSubscription(work, subscriptionId);
  const holdings = (await store.listHoldings(work, [subscription])).filter((holding) => isAskedFor(holding, query));
  const limit = Math.max(1, Math.floor(maxLongPageLimit / Math.max(holdings.length, 1)));
  const claims = Map.groupBy(await store.listOldestClaims(work, holdings, limit + 1), (claim) => claim.resourceId);
  return holdings.map((holding) => withUsage(work, holding, claims.get(holding.resourceId) ?? [], limit));
}
