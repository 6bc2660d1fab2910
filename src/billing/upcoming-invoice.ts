import assert from 'node:assert/strict';
import { tentatively } from '../database/tentative.ts';
import type { Work } from '../database/work.ts';
import { renderDraft, type UpcomingInvoiceWithLines } from '../invoicing/actions.ts';
import { Problem } from '../kernel/problem.ts';
import { findSubscription } from '../subscriptions/store.ts';
import { isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { applyScheduledAdjustments } from './apply-adjustment.ts';
import { composeBills } from './bill-subscription.ts';
import { takeOffPausedTime } from './paused-time.ts';
import { draftRenewalBills, type RenewalBill } from './renew.ts';

/**
 * Previews the next renewal invoice as if it came now, with the scheduled change applied, by the functions of the
 * renewal itself. Stores nothing. Refuses with `subscriptionNotFound` and `noUpcomingInvoice`.
 */
export async function previewUpcomingInvoice(work: Work, subscriptionId: string): Promise<UpcomingInvoiceWithLines> {
  const subscription = await findSubscription(work, subscriptionId);
  if (subscription === null) throw new Problem('subscriptionNotFound', { id: subscriptionId });
  const reason = whyNoneFollows(subscription);
  const bill = reason === null ? await nextBill(work, subscription) : undefined;
  if (bill === undefined)
    throw new Problem('noUpcomingInvoice', {
      id: subscriptionId,
      reason: reason ?? 'its next period ends after the last supported date',
    });
  const [draft] = await composeBills(work, [bill]);
  assert(draft, 'a bill is reckoned');
  return renderDraft(work, draft);
}

async function nextBill(work: Work, subscription: SubscriptionRow): Promise<RenewalBill | undefined> {
  const at = subscription.currentBillingPeriodEnd;
  if (at === null || subscription.scheduledAdjustmentAt === null) return draftNext(work, subscription);
  // The change is applied to compute its price, then rolled back.
  return tentatively(work, async (tentative) => {
    const [changed = subscription] = await applyScheduledAdjustments(tentative, [{ subscription, at }]);
    return draftNext(tentative, changed);
  });
}

async function draftNext(work: Work, subscription: SubscriptionRow): Promise<RenewalBill | undefined> {
  const bills = await draftRenewalBills(work, [subscription], { takesUsage: false });
  const [bill] = await takeOffPausedTime(work, bills);
  return bill;
}

/** The reason why no period and invoice follows the current one; null if one does. */
function whyNoneFollows(subscription: SubscriptionRow): string | null {
  const { status, renews, currentBillingPeriodEnd, cancelScheduledAt } = subscription;
  if (isTerminal(status)) return 'it has ended';
  if (!renews) return 'it does not renew';
  if (status === 'paused') return 'it is paused';
  if (status === 'incomplete' || currentBillingPeriodEnd === null) return 'it is waiting for its first payment';
  if (cancelScheduledAt !== null && cancelScheduledAt <= currentBillingPeriodEnd)
    return 'it ends with its current period';
  return null;
}
