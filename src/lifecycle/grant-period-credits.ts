import { listItemFeatures } from '../entitlements/store-item-features.ts';
import { grantCredits } from '../ledger/actions.ts';
import type { Work } from '../platform/work.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';

/**
 * Grants the credits that come with a period: those of `every_billing_period` until the period ends, and with the
 * first period those of `once`, which never expire. A subscription that does not renew has no period and gets both
 * once, for good. Granting the same period again changes nothing.
 */
export async function grantPeriodCredits(
  work: Work,
  subscription: SubscriptionRow,
  period: BillingPeriodRow | null,
  { isFirst }: { isFirst: boolean },
): Promise<void> {
  // What begins later gives nothing yet, but it is paid for now, so its credits are granted as of its start.
  const features = await listItemFeatures(work, [subscription.id], Math.max(work.now, subscription.startDate));
  const grants = features.flatMap(({ id, featureId, type, amount, usageMeterId, renewalFrequency }) => {
    if (type !== 'usage_credit_grant' || amount === null || usageMeterId === null) return [];
    // An amount may be set below zero, which grants nothing.
    if (amount <= 0n) return [];
    const isRecurring = renewalFrequency === 'every_billing_period';
    if (!isFirst && !isRecurring) return [];
    return {
      subscriptionId: subscription.id,
      pricingModelId: subscription.pricingModelId,
      usageMeterId,
      featureId,
      billingPeriodId: period?.id ?? null,
      amount,
      expiresAt: isRecurring && period !== null ? period.endAt : null,
      source: 'billing_period_transition' as const,
      // What makes the grant one: this feature of this item, in this period.
      sourceId: `${period?.id ?? subscription.id}:${id}`,
    };
  });
  await grantCredits(work, grants);
}
