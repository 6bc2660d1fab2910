import type { Work } from '../database/work.ts';
import { addFeatureToItem, lockLivingSubscription } from '../entitlements/actions.ts';
import type { SubscriptionItemFeature } from '../entitlements/subscription-item-feature.ts';
import { Problem } from '../kernel/problem.ts';
import type { Feature } from '../pricing/feature.ts';
import { findActiveFeatureBySlug, findFeature } from '../pricing/store-features.ts';
import { findCurrentBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { findOrCreateManualItem } from '../subscriptions/store-items.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { getUsageCredit, grantByHand, takeBack } from '../usage/actions-credits.ts';
import { grantCredits } from '../usage/actions-ledger.ts';
import type { NewUsageCredit, UsageCredit } from '../usage/usage-credit.ts';
import { catchUp, lockCurrent } from './catch-up.ts';

interface AddFeatureRequest {
  /** Exactly one of the two is given. */
  readonly featureId?: string | null | undefined;
  readonly featureSlug?: string | null | undefined;
  readonly grantCreditsImmediately?: boolean | undefined;
}

/**
 * Manually adds a feature to a subscription. On repetition a toggle stays, and credits and capacity add up. With
 * `grantCreditsImmediately` its credits are available now, not only from the next billing period.
 */
export async function addFeature(
  work: Work,
  subscriptionId: string,
  request: AddFeatureRequest,
): Promise<SubscriptionItemFeature> {
  await lockCurrent(work, subscriptionId);
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
 * Grants the feature's credits once per billing period, or once in total without one. Recurring credits expire with the
 * period, because the next one grants its own. A subscription that awaits the payment of its period gets the credits
 * of all features with that payment: granting them here would double them.
 */
async function grantNow(
  work: Work,
  subscription: SubscriptionRow,
  feature: Extract<Feature, { type: 'usage_credit_grant' }>,
): Promise<void> {
  if (subscription.status === 'incomplete') return;
  const period = await findCurrentBillingPeriod(work, subscription);
  if (period?.creditsAwaitPayment) return;
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

/** Grants credits manually to a subscription after catching up. */
export async function grantUsageCredit(work: Work, requested: NewUsageCredit): Promise<UsageCredit> {
  await catchUp(work, requested.subscriptionId);
  return grantByHand(work, requested);
}

/** Takes back the remainder of a credit, or `amount` of it, after catching up its subscription. */
export async function takeBackUsageCredit(work: Work, id: string, amount: bigint | null): Promise<UsageCredit> {
  const { subscriptionId } = await getUsageCredit(work, id);
  await catchUp(work, subscriptionId);
  return takeBack(work, id, amount);
}
