import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { isCreditPool } from '../pricing/credit-pool.ts';
import { type FeatureType, subjectIdOf } from '../pricing/feature.ts';
import { findCreditPool } from '../pricing/store-credit-pools.ts';
import { findFeature, findFeatures } from '../pricing/store-features.ts';
import { findProductFeature } from '../pricing/store-products.ts';
import { findResource } from '../pricing/store-resources.ts';
import { findUsageMeter } from '../pricing/store-usage-meters.ts';
import { isMeasured, noCreditsOfMeasured } from '../pricing/usage-meter.ts';
import { openPlanLimits } from '../spend-controls/store.ts';
import { lockSubscription } from '../subscriptions/store.ts';
import { isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import type { ReleaseReason } from './resource-claim.ts';
import * as claims from './store-claims.ts';
import * as store from './store-item-features.ts';
import {
  amountAdded,
  amountFor,
  amountForOther,
  decideChange,
  decideNew,
  type ExpiredItemFeature,
  type GrantableFeature,
  type ItemFeatureChange,
  type NewItemFeature,
  type StoredItemFeature,
  type SubscriptionItemFeature,
  toExpiredItemFeature,
  toItemFeature,
} from './subscription-item-feature.ts';

export async function getItemFeature(work: Work, id: string): Promise<SubscriptionItemFeature> {
  const row = await store.findItemFeature(work, id);
  if (row === null) throw new Problem('subscriptionItemFeatureNotFound', { id });
  return toItemFeature(row, work.livemode);
}

/** The subscription, locked until the work ends. Refuses one that does not exist or has ended. */
export async function lockLivingSubscription(work: Work, id: string): Promise<SubscriptionRow> {
  const subscription = await lockSubscription(work, id);
  if (subscription === null) throw new Problem('subscriptionNotFound', { id });
  if (isTerminal(subscription.status)) {
    throw new Problem('subscriptionTerminal', { id, status: subscription.status });
  }
  return subscription;
}

/** Grants a feature through an item. Absent fields default to the feature's. */
export async function createItemFeature(work: Work, sent: NewItemFeature): Promise<SubscriptionItemFeature> {
  const item = await store.findItem(work, sent.subscriptionItemId);
  if (item === null) throw new Problem('subscriptionItemNotFound', { id: sent.subscriptionItemId });
  await lockLivingSubscription(work, item.subscriptionId);
  if (item.expiredAt !== null && item.expiredAt <= work.now)
    throw new Problem('subscriptionItemExpired', { id: item.id });
  const feature = await findFeature(work, sent.featureId);
  if (feature === null || feature.pricingModelId !== item.pricingModelId)
    throw new Problem('featureNotFound', { id: sent.featureId });
  if (!feature.active) throw new Problem('featureInactive', { id: feature.id });
  const values = decideNew(feature, item, sent);
  await checkReferences(work, item.pricingModelId, feature.id, values);
  const { pricingModelId, subscriptionId } = item;
  const owner = { pricingModelId, subscriptionId, subscriptionItemId: item.id };
  const row = { ...owner, featureId: feature.id, type: feature.type, ...values };
  const id = await store.insertItemFeature(work, row);
  await openLimits(work, [row]);
  return getItemFeature(work, id);
}

/** Changes the sent fields only. An `expiredAt` of null restores the feature. */
export async function updateItemFeature(
  work: Work,
  id: string,
  sent: ItemFeatureChange,
): Promise<SubscriptionItemFeature> {
  if (sent.id !== undefined && sent.id !== id) throw new Problem('idMismatch', { bodyId: sent.id, pathId: id });
  const current = await store.lockItemFeature(work, id);
  if (current === null) throw new Problem('subscriptionItemFeatureNotFound', { id });
  const changed = decideChange(current, sent);
  const usageMeterId = sent.creditPoolId ?? sent.usageMeterId;
  await checkReferences(work, current.pricingModelId, current.featureId, { ...sent, usageMeterId });
  await store.saveItemFeature(work, changed);
  return getItemFeature(work, id);
}

/** Expires the feature at the given instant, or now. Its claims and credits stay. */
export async function expireItemFeature(
  work: Work,
  id: string,
  expiredAt: Instant = work.now,
): Promise<ExpiredItemFeature> {
  const current = await store.lockItemFeature(work, id);
  if (current === null) throw new Problem('subscriptionItemFeatureNotFound', { id });
  const expired = { ...current, expiredAt, updatedAt: work.now };
  await store.saveItemFeature(work, expired);
  return toExpiredItemFeature(expired, work.livemode);
}

/** Refuses a usage meter, credit pool, resource or link of another pricing model, or a link of another feature. */
async function checkReferences(
  work: Work,
  pricingModelId: string,
  featureId: string,
  {
    usageMeterId,
    resourceId,
    productFeatureId,
  }: { readonly [Field in 'usageMeterId' | 'resourceId' | 'productFeatureId']?: string | null | undefined },
): Promise<void> {
  if (usageMeterId && isCreditPool(usageMeterId)) {
    const pool = await findCreditPool(work, usageMeterId);
    if (pool?.pricingModelId !== pricingModelId) throw new Problem('creditPoolNotFound', { id: usageMeterId });
  } else if (usageMeterId) {
    const meter = await findUsageMeter(work, usageMeterId);
    if (meter?.pricingModelId !== pricingModelId) throw new Problem('usageMeterNotFound', { id: usageMeterId });
    if (isMeasured(meter)) throw invalid(['subscriptionItemFeature', 'usageMeterId'], noCreditsOfMeasured);
  }
  if (resourceId) {
    const resource = await findResource(work, resourceId);
    if (resource?.pricingModelId !== pricingModelId) throw new Problem('resourceNotFound', { id: resourceId });
  }
  if (productFeatureId) {
    const link = await findProductFeature(work, productFeatureId);
    if (link?.pricingModelId !== pricingModelId) throw new Problem('productFeatureNotFound', { id: productFeatureId });
    if (link.featureId !== featureId)
      throw invalid(
        ['subscriptionItemFeature', 'productFeatureId'],
        `must be a product feature of feature ${featureId}`,
      );
  }
}

/** A new grant has no end. */
const lasting = { expiredAt: null, detachedAt: null, detachedReason: null } as const;

/** An item to grant its product's features to. */
export interface GrantedItem {
  readonly id: string;
  readonly subscriptionId: string;
  readonly pricingModelId: string;
  readonly productId: string;
  readonly quantity: number;
  readonly addedDate: Instant;
  /**
   * True for an item that had features of this product before: features that were ended individually keep their end.
   */
  readonly keepsEnds?: boolean;
  /** Its quantity before, with `keepsEnds`. Absent: its features have no other amounts. */
  readonly quantityBefore?: number;
}

/** A feature that an item is to have: a new row, or the stored one with another amount. */
type PlannedFeature = store.NewRow | StoredItemFeature;

/** A granted feature; `amount` in credits or units of capacity, already multiplied by the item's quantity. */
interface GrantedFeature {
  readonly id: string;
  readonly subscriptionId: string;
  readonly subscriptionItemId: string;
  readonly featureId: string;
  readonly type: FeatureType;
  readonly amount: bigint | null;
  readonly usageMeterId: string | null;
  readonly renewalFrequency: store.NewRow['renewalFrequency'];
  readonly grantInterval: store.NewRow['grantInterval'];
  readonly resourceId: string | null;
}

/**
 * Grants each item the features of its product: every active feature whose link is unexpired when the item begins,
 * multiplied by the quantity. Only the newest of several features of one product for the same resource counts. An
 * existing feature of the item gets the new amount and, with `keepsEnds`, keeps its end. One that the product does not give any
 * more gets its amount for the new quantity.
 */
export async function grantItemFeatures(work: Work, items: readonly GrantedItem[]): Promise<GrantedFeature[]> {
  const rows = await planItemFeatures(work, items);
  if (rows.length === 0) return [];
  const kept = rows.filter((row) => 'id' in row);
  const given = rows.filter((row) => !('id' in row));
  await store.saveAmounts(work, kept);
  const ids = new Map([
    ...kept.map((row) => [store.pairOf(row), row.id] as const),
    ...(await store.upsertItemFeatures(
      work,
      given.filter((row) => row.expiredAt === null),
    )),
    ...(await store.changeEndingItemFeatures(
      work,
      given.filter((row) => row.expiredAt !== null),
    )),
  ]);
  await openLimits(work, rows);
  return rows.map((row) => toGrantedFeature(row, ids.get(store.pairOf(row))));
}

/** Opens the spend limits among granted features. The caller has locked the subscriptions. */
async function openLimits(work: Work, granted: readonly store.NewRow[]): Promise<void> {
  const limits = granted.filter(({ type }) => type === 'spend_limit');
  if (limits.length === 0) return;
  const features = await findFeatures(work, [...new Set(limits.map(({ featureId }) => featureId))]);
  const terms = new Map(features.map((each) => [each.id, each.type === 'spend_limit' ? each.spendLimit : null]));
  await openPlanLimits(
    work,
    limits.map(({ subscriptionId, featureId }) => {
      const given = terms.get(featureId);
      assert(given, 'a spend limit has terms');
      return { subscriptionId, ...given, usageMeterId: subjectIdOf(given) };
    }),
  );
}

/** The grants that `grantItemFeatures` would make now, without writing. */
export async function planItemFeatures(work: Work, items: readonly GrantedItem[]): Promise<PlannedFeature[]> {
  if (items.length === 0) return [];
  const links = await store.listProductLinks(work, [...new Set(items.map((item) => item.productId))]);
  const linksOfProduct = Map.groupBy(links, (link) => link.productId);
  const keeping = items.filter(({ keepsEnds }) => keepsEnds).map(({ id }) => id);
  const ends = await store.listItemFeatureEnds(work, keeping);
  const given = items.flatMap((item) => {
    const begins = Math.max(work.now, item.addedDate);
    const open = (linksOfProduct.get(item.productId) ?? []).filter(
      ({ linkExpiredAt }) => linkExpiredAt === null || linkExpiredAt > begins,
    );
    return newestOfEachResource(open).flatMap((link) => {
      const row = toGrantedRow(item, link);
      const end = ends.get(store.pairOf(row)) ?? null;
      return end !== null && end <= begins ? [] : { ...row, expiredAt: end };
    });
  });
  return [...given, ...(await planKept(work, items, given))];
}

/** The features of items with another quantity that their products do not give any more, with their new amounts. */
async function planKept(
  work: Work,
  items: readonly GrantedItem[],
  given: readonly store.NewRow[],
): Promise<StoredItemFeature[]> {
  const changed = new Map(
    items.flatMap(({ id, quantity, quantityBefore = quantity, keepsEnds, addedDate }) =>
      keepsEnds && quantityBefore !== quantity ? [[id, { quantity, quantityBefore, addedDate }] as const] : [],
    ),
  );
  const again = new Set(given.map(store.pairOf));
  return (await store.listAmountsOfItems(work, [...changed.keys()])).flatMap((row) => {
    const item = changed.get(row.subscriptionItemId);
    const isOver = row.expiredAt !== null && row.expiredAt <= Math.max(work.now, item?.addedDate ?? 0);
    if (item === undefined || isOver || again.has(store.pairOf(row))) return [];
    return { ...row, amount: amountForOther(row.amount, item) };
  });
}

function toGrantedFeature(row: store.NewRow, id: string | undefined): GrantedFeature {
  assert(id, 'each row has an id');
  return {
    id,
    subscriptionId: row.subscriptionId,
    subscriptionItemId: row.subscriptionItemId,
    featureId: row.featureId,
    type: row.type,
    amount: row.amount,
    usageMeterId: row.usageMeterId,
    renewalFrequency: row.renewalFrequency,
    grantInterval: row.grantInterval,
    resourceId: row.resourceId,
  };
}

/** Removes links whose resource has a newer link of the same product, which comes first. */
function newestOfEachResource(links: readonly store.ProductLink[]): store.ProductLink[] {
  const seen = new Set<string>();
  return links.filter(({ resourceId }) => {
    if (resourceId === null) return true;
    const isNewest = !seen.has(resourceId);
    seen.add(resourceId);
    return isNewest;
  });
}

function toGrantedRow(item: GrantedItem, link: store.ProductLink): store.NewRow {
  return {
    pricingModelId: item.pricingModelId,
    subscriptionId: item.subscriptionId,
    subscriptionItemId: item.id,
    featureId: link.featureId,
    productFeatureId: link.productFeatureId,
    type: link.type,
    amount: amountFor(link.amount, item.quantity),
    usageMeterId: link.usageMeterId,
    renewalFrequency: link.renewalFrequency,
    grantInterval: link.grantInterval,
    resourceId: link.resourceId,
    value: link.value,
    ...lasting,
    manuallyCreated: false,
  };
}

/**
 * Manually adds a feature to the item for such features. Repeated additions sum up amounts and replace a value, and a
 * toggle stays. The caller has locked the subscription.
 */
export async function addFeatureToItem(
  work: Work,
  item: { readonly id: string; readonly subscriptionId: string; readonly pricingModelId: string },
  feature: GrantableFeature,
): Promise<SubscriptionItemFeature> {
  const { value = null } = feature;
  const existing = await store.lockLastingItemFeature(work, item.id, feature.id);
  if (existing !== null) {
    if (feature.type === 'toggle') return toItemFeature(existing, work.livemode);
    await store.saveItemFeature(work, { ...existing, amount: amountAdded(existing.amount, feature.amount), value });
    return getItemFeature(work, existing.id);
  }
  const row = {
    pricingModelId: item.pricingModelId,
    subscriptionId: item.subscriptionId,
    subscriptionItemId: item.id,
    featureId: feature.id,
    productFeatureId: null,
    type: feature.type,
    amount: feature.amount,
    usageMeterId: subjectIdOf(feature),
    renewalFrequency: feature.renewalFrequency,
    grantInterval: feature.grantInterval,
    resourceId: feature.resourceId,
    value,
    ...lasting,
    manuallyCreated: true,
  };
  const id = await store.insertItemFeature(work, row);
  await openLimits(work, [row]);
  return getItemFeature(work, id);
}

/** The features of these subscriptions that grant access now, oldest first. */
export async function listActiveItemFeatures(
  work: Work,
  subscriptionIds: readonly string[],
): Promise<SubscriptionItemFeature[]> {
  if (subscriptionIds.length === 0) return [];
  const rows = await store.listItemFeatures(work, subscriptionIds, work.now);
  return rows.map((row) => toItemFeature(row, work.livemode));
}

/** Ends every feature of these subscriptions at the instant; an earlier end stays. */
export async function expireItemFeatures(work: Work, subscriptionIds: readonly string[], at: Instant): Promise<void> {
  if (subscriptionIds.length > 0) await store.endItemFeatures(work, subscriptionIds, at);
}

/** Ends the features of these items, each at its instant; an earlier end stays. */
export async function expireFeaturesOfItems(
  work: Work,
  items: readonly { readonly id: string; readonly at: Instant }[],
): Promise<void> {
  if (items.length > 0) await store.endFeaturesOfItems(work, items);
}

/**
 * Ends manually added features that the subscription's plan also grants, each at its instant: the plan takes
 * precedence.
 */
export async function expireManualFeatures(
  work: Work,
  subscriptions: readonly { readonly id: string; readonly at: Instant }[],
): Promise<void> {
  if (subscriptions.length > 0) await store.endManualFeaturesOfPlan(work, subscriptions);
}

/** Detaches customers' features from expired links: they keep the features, but no longer through the product. */
export async function detachItemFeatures(work: Work, productFeatureIds: readonly string[]): Promise<void> {
  if (productFeatureIds.length > 0) await store.detachFromProducts(work, productFeatureIds);
}

/** Releases every claim of these subscriptions. The caller has locked them. */
export async function releaseClaims(
  work: Work,
  subscriptionIds: readonly string[],
  at: Instant,
  reason: ReleaseReason,
): Promise<void> {
  if (subscriptionIds.length > 0) await claims.releaseAllClaims(work, subscriptionIds, at, reason);
}

/** Releases the expired claims of each subscription at its instant. The caller has locked them. */
export async function releaseEndedClaims(
  work: Work,
  requested: readonly { readonly subscriptionId: string; readonly at: Instant }[],
): Promise<void> {
  if (requested.length > 0) await claims.releaseClaimsEndedBy(work, requested);
}

/**
 * Removes the end that a scheduled cancellation or change gave to claims, when it is undone. Nothing else gives claims
 * an end, so every unexpired one belongs to it. The caller has locked the subscription.
 */
export async function clearTemporaryClaims(work: Work, subscriptionId: string): Promise<void> {
  await claims.keepTemporaryClaims(work, subscriptionId);
}

/**
 * Moves the end of temporary claims when a scheduled cancellation is moved: they end with the subscription. The caller
 * has locked the subscription.
 */
export async function moveClaimsEnd(
  work: Work,
  subscriptionId: string,
  move: { readonly from: Instant; readonly to: Instant },
): Promise<void> {
  await claims.moveTemporaryClaims(work, subscriptionId, move);
}
