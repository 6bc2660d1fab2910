import type { Work } from '../database/work.ts';
import { addFeatureToItem, lockLivingSubscription } from '../entitlements/actions.ts';
import type { SubscriptionItemFeature } from '../entitlements/subscription-item-feature.ts';
import { Problem } from '../kernel/problem.ts';
import type { Feature } from '../pricing/feature.ts';
import { findActiveFeatureBySlug, findFeature } from '../pricing/store-features.ts';
import { findCurrentBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { findOrCreateManualItem } from '../subscriptions/store-items.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { grantCredits } from '../usage/actions-ledger.ts';
import { holdCurrent } from './catch-up.ts';

export interface AddFeatureRequest {
  /** Exactly one of the two is given. */
  readonly featureId?: string | null | undefined;
  readonly featureSlug?: string | null | undefined;
  readonly grantCreditsImmediately?: boolean | undefined;
}

/**
 * Adds a feature to a subscription by hand. Again: a toggle stays as it is, credits and capacity add up. With
 * `grantCreditsImmediately` its credits are there now, and not only with the next billing period.
 */
export async function addFeature(
  work: Work,
  subscriptionId: string,
  request: AddFeatureRequest,
): Promise<SubscriptionItemFeature> {
  await holdCurrent(work, subscriptionId);
  const subscription = await lockLivingSubscription(work, subscriptionId);
  const feature = await requireFeature(work, subscription.pricingModelId, request);
  const grantsNow = request.grantCreditsImmediately === true;
  if (grantsNow && feature.type !== 'usage_credit_grant')
    throw new Problem('creditsNotGrantable', { id: feature.id, type: feature.type });
  const item = await findOrCreateManualItem(work, subscription);
  const itemFeature = await addFeatureToItem(work, item, feature);
  if (grantsNow && feature.type === 'usage_credit_grant') await grantNow(work, subscription, feature);
  return itemFeature;
}

async function requireFeature(work: Work, pricingModelId: string, request: AddFeatureRequest): Promise<Feature> {
  const { featureId, featureSlug } = request;
  const feature = featureId
    ? await findFeature(work, featureId)
    : await findActiveFeatureBySlug(work, pricingModelId, featureSlug ?? '');
  if (feature === null || feature.pricingModelId !== pricingModelId)
    throw new Problem('featureNotFound', { id: featureId ?? featureSlug ?? '' });
  if (!feature.active) throw new Problem('featureInactive', { id: feature.id });
  return feature;
}

/**
 * The feature's credits, once for each billing period of the subscription, or once for ever where it has none.
 * Recurring ones end with the period, because the next one brings its own. A subscription that waits for its first
 * payment gets the credits of all its features with that payment: giving them here too would give them twice.
 */
async function grantNow(
  work: Work,
  subscription: SubscriptionRow,
  feature: Extract<Feature, { type: 'usage_credit_grant' }>,
): Promise<void> {
  if (subscription.status === 'incomplete') return;
  const period = await findCurrentBillingPeriod(work, subscription);
  const isRecurring = feature.renewalFrequency === 'every_billing_period';
  const grant = {
    subscriptionId: subscription.id,
    pricingModelId: subscription.pricingModelId,
    usageMeterId: feature.usageMeterId,
    featureId: feature.id,
    billingPeriodId: period?.id ?? null,
    amount: feature.amount,
    expiresAt: isRecurring && period !== null ? period.endAt : null,
    source: 'manual_adjustment' as const,
    sourceId: `${feature.id}:${period?.id ?? subscription.id}`,
  };
  await grantCredits(work, [grant]);
}
