import assert from 'node:assert/strict';
import { lockNamedCustomer } from '../customers/actions.ts';
import { lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import * as entitlements from '../entitlements/actions.ts';
import type {
  ExpiredItemFeature,
  ItemFeatureChange,
  NewItemFeature,
  SubscriptionItemFeature,
} from '../entitlements/subscription-item-feature.ts';
import type { Instant } from '../kernel/calendar.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { ledgerUnits } from '../pricing/credit-pool.ts';
import { type Feature, type FeatureValue, subjectIdOf, valueIssue } from '../pricing/feature.ts';
import { findActiveFeatureBySlug, findFeature } from '../pricing/store-features.ts';
import type { IntervalSpan } from '../rating/credits.ts';
import { wholeOf } from '../subscriptions/adjustment.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { grantSpanAt } from '../subscriptions/interim.ts';
import { lockLivingSubscriptions, lockSubscription, saveSubscription } from '../subscriptions/store.ts';
import { findCurrentBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { findOrCreateManualItem } from '../subscriptions/store-items.ts';
import { isCurrent, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { getUsageCredit, grantByHand, grantToCustomer, takeBack } from '../usage/actions-credits.ts';
import { grantCredits } from '../usage/actions-ledger.ts';
import type { NewUsageCredit, UsageCredit } from '../usage/usage-credit.ts';
import { rescheduled } from './bill-subscription.ts';
import { catchUp, catchUpAll, lockCurrent } from './catch-up.ts';
import { renewPlannedCapacities } from './plan-adjustment.ts';

interface AddFeatureRequest {
  /** Exactly one of the two is given. */
  readonly featureId?: string | null | undefined;
  readonly featureSlug?: string | null | undefined;
  readonly grantCreditsImmediately?: boolean | undefined;
  /** For a feature of type `value`; absent or null: that of the feature. */
  readonly value?: FeatureValue | null | undefined;
}

/**
 * Manually adds a feature to a subscription. On repetition a toggle stays, a value is replaced, and credits and capacity add up. With
 * `grantCreditsImmediately` its credits are available now, not only from the next billing period.
 */
export async function addFeature(
  work: Work,
  subscriptionId: string,
  request: AddFeatureRequest,
): Promise<SubscriptionItemFeature> {
  await lockCurrent(work, subscriptionId);
  const subscription = await entitlements.lockLivingSubscription(work, subscriptionId);
  const feature = await requireFeature(work, subscription.pricingModelId, request);
  const grantsNow = request.grantCreditsImmediately === true;
  if (grantsNow && feature.type !== 'usage_credit_grant')
    throw new Problem('creditsNotGrantable', { id: feature.id, type: feature.type });
  const issue = valueIssue(feature, request.value);
  if (issue) throw invalid(['value'], issue);
  const item = await findOrCreateManualItem(work, subscription);
  const given = feature.type === 'value' ? { ...feature, value: request.value ?? feature.value } : feature;
  const itemFeature = await entitlements.addFeatureToItem(work, item, given);
  await followUp(work, itemFeature);
  if (grantsNow && feature.type === 'usage_credit_grant') await grantNow(work, subscription, feature);
  return itemFeature;
}

/** Follows a feature that was added, changed or ended: what is next due, and the places after a pending change of plan. */
async function followUp(
  work: Work,
  {
    subscriptionId,
    grantInterval,
    resourceId,
  }: Pick<SubscriptionItemFeature, 'subscriptionId' | 'grantInterval' | 'resourceId'>,
): Promise<void> {
  if (grantInterval !== null) await reschedule(work, subscriptionId);
  if (resourceId === null) return;
  const subscription = await lockSubscription(work, subscriptionId);
  if (subscription !== null) await renewPlannedCapacities(work, subscription);
}

/** Computes what is next due for a subscription whose features have changed. */
async function reschedule(work: Work, subscriptionId: string): Promise<void> {
  const subscription = await lockSubscription(work, subscriptionId);
  if (subscription === null || !isCurrent(subscription.status)) return;
  const [next = subscription] = await rescheduled(work, [subscription]);
  if (next.interimAt !== subscription.interimAt)
    await saveSubscription(work, subscriptionId, { interimAt: next.interimAt });
}

/** Grants a feature through an item. Its credits come from its next interval on. */
export async function createItemFeature(work: Work, sent: NewItemFeature): Promise<SubscriptionItemFeature> {
  const created = await entitlements.createItemFeature(work, sent);
  await followUp(work, created);
  return created;
}

/** Changes the sent fields of a feature of an item. Credits that were granted stay as they are. */
export async function updateItemFeature(
  work: Work,
  id: string,
  sent: ItemFeatureChange,
): Promise<SubscriptionItemFeature> {
  const { subscriptionId, grantInterval, resourceId } = await entitlements.getItemFeature(work, id);
  // Before the feature, in the order of changes of plan.
  if (grantInterval !== null || sent.grantInterval || resourceId !== null) await lockSubscription(work, subscriptionId);
  const changed = await entitlements.updateItemFeature(work, id, sent);
  await followUp(work, { ...changed, grantInterval: grantInterval ?? changed.grantInterval });
  return changed;
}

/** Ends a feature at the given instant, or now. Its claims and credits stay. */
export async function expireItemFeature(work: Work, id: string, expiredAt?: Instant): Promise<ExpiredItemFeature> {
  const { subscriptionId, resourceId } = await entitlements.getItemFeature(work, id);
  if (resourceId !== null) await lockSubscription(work, subscriptionId);
  const ended = await entitlements.expireItemFeature(work, id, expiredAt);
  await followUp(work, { subscriptionId, resourceId, grantInterval: null });
  return ended;
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
 * Grants the feature's credits once per billing period or interval, or once in total without one. Recurring credits expire
 * with it, because the next one grants its own. A subscription that awaits the payment of its period gets the credits
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
  const usageMeterId = subjectIdOf(feature);
  assert(usageMeterId, 'a credit grant has a meter or a pool');
  const isRecurring = feature.renewalFrequency !== 'once';
  const { grantInterval } = feature;
  // A pause has cut the period. Credits that are added in it last as long as they would without it.
  const whole = period && { startAt: period.startAt, endAt: wholeOf(period).end };
  const span =
    whole === null || grantInterval === null ? null : grantSpanAt(subscription, whole, grantInterval, work.now);
  if (isRecurring && period !== null && comesWithResumption(period, span, work.now)) return;
  const part = span === null ? '' : `:${span.start}`;
  const grant = {
    subscriptionId: subscription.id,
    pricingModelId: subscription.pricingModelId,
    usageMeterId,
    featureId: feature.id,
    billingPeriodId: period?.id ?? null,
    amount: ledgerUnits(usageMeterId, feature.amount),
    expiresAt: isRecurring && whole !== null ? (span?.end ?? whole.endAt) : null,
    intervalStartAt: isRecurring && span !== null ? work.now : null,
    source: 'manual_adjustment' as const,
    sourceId: `${feature.id}:${period?.id ?? subscription.id}${part}`,
  };
  await grantCredits(work, [grant]);
}

/** Whether the resumption of a paused period grants these credits: those of a time that began in the pause. */
function comesWithResumption(period: BillingPeriodRow, span: IntervalSpan | null, now: Instant): boolean {
  return wholeOf(period).end <= now || (span !== null && span.start > period.endAt);
}

/** Grants credits manually to a subscription, or to a customer, after catching up. */
export async function grantUsageCredit(work: Work, requested: NewUsageCredit): Promise<UsageCredit> {
  const { subscriptionId } = requested;
  if (typeof subscriptionId === 'string') {
    await catchUp(work, subscriptionId);
    return grantByHand(work, subscriptionId, requested);
  }
  const customerId = requested.customerId ?? undefined;
  const customerExternalId = requested.customerExternalId ?? undefined;
  const customer = await lockNamedCustomer(work, { customerId, customerExternalId }, undefined);
  const living = await lockLivingSubscriptions(work, customer.id);
  await catchUpAll(
    work,
    living.map(({ id }) => id),
  );
  return grantToCustomer(work, customer, requested);
}

/** Takes back the remainder of a credit, or `amount` of it, after catching up its subscription. */
export async function takeBackUsageCredit(
  work: Work,
  id: string,
  amount: bigint | string | null,
): Promise<UsageCredit> {
  const { subscriptionId, customerId } = await getUsageCredit(work, id);
  // The credits of a customer are transferred by who has locked it.
  if (subscriptionId === null) await lockCustomer(work, customerId);
  else await catchUp(work, subscriptionId);
  return takeBack(work, id, amount);
}
