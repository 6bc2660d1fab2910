import assert from 'node:assert/strict';
import { tentatively } from '../database/tentative.ts';
import type { Work } from '../database/work.ts';
import { renderDraft, type UpcomingInvoiceWithLines } from '../invoicing/actions.ts';
import { Problem } from '../kernel/problem.ts';
import { listOwnIntervals } from '../pricing/store-prices.ts';
import { nextInterim } from '../subscriptions/interim.ts';
import { findSubscription } from '../subscriptions/store.ts';
import { findCurrentBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { isCurrent, isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { applyScheduledAdjustments } from './apply-adjustment.ts';
import { type Bill, composeBills, draftUsageLines, withItems } from './bill-subscription.ts';
import { takeOffPausedTime } from './paused-time.ts';
import { finalBill } from './record-paid.ts';
import { draftRenewalBills, interimBill, type RenewalBill } from './renew.ts';

/**
 * Previews the next invoice as if it came now. It is that of usage whose interval ends before the period, else that of a
 * scheduled end, else that of the renewal with the scheduled change. Uses the functions of these invoices themselves, and stores nothing.
 * Refuses with `subscriptionNotFound` and `noUpcomingInvoice`.
 */
export async function previewUpcomingInvoice(work: Work, subscriptionId: string): Promise<UpcomingInvoiceWithLines> {
  const subscription = await findSubscription(work, subscriptionId);
  if (subscription === null) throw new Problem('subscriptionNotFound', { id: subscriptionId });
  const reason = whyNoneFollows(subscription);
  const bill =
    (await nextInterimBill(work, subscription)) ??
    (await scheduledEndBill(work, subscription)) ??
    (reason === null ? await nextBill(work, subscription) : undefined);
  if (bill === undefined)
    throw new Problem('noUpcomingInvoice', {
      id: subscriptionId,
      reason: reason ?? 'its next period ends after the last supported date',
    });
  const [draft] = await composeBills(work, [bill]);
  assert(draft, 'a bill is reckoned');
  return renderDraft(work, draft);
}

/** The next invoice; null if none follows or it cannot be computed now. */
export async function findUpcomingInvoice(
  work: Work,
  subscriptionId: string,
): Promise<UpcomingInvoiceWithLines | null> {
  try {
    return await previewUpcomingInvoice(work, subscriptionId);
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}

/**
 * The invoice of usage before the end of the period: that of the first boundary at which something is to be billed. Null
 * if there is none.
 */
async function nextInterimBill(work: Work, subscription: SubscriptionRow): Promise<Bill | null> {
  const { id, status, pricingModelId, interimAt, cancelScheduledAt } = subscription;
  if (interimAt === null || !isCurrent(status)) return null;
  const intervals = (await listOwnIntervals(work, [pricingModelId])).get(pricingModelId) ?? [];
  // An interim may be one of credits only, or of an interval without usage. Each interval bills at its own next boundary.
  const boundaries = intervals.flatMap((each) => nextInterim(subscription, { ofUsage: [each] }, interimAt - 1) ?? []);
  for (const at of [...new Set(boundaries)].sort((one, other) => one - other)) {
    if (cancelScheduledAt !== null && cancelScheduledAt <= at) return null;
    const then = { ...subscription, interimAt: at };
    const lines = (await draftUsageLines(work, [then], 'interim')).get(id) ?? [];
    if (lines.length > 0) return interimBill(then, lines);
  }
  return null;
}

/** The last invoice of a subscription that is to end within its period; null if nothing is left to bill. */
async function scheduledEndBill(work: Work, subscription: SubscriptionRow): Promise<Bill | null> {
  const { id, status, cancelScheduledAt: at, currentBillingPeriodEnd: end } = subscription;
  if (at === null || end === null || at > end || !isCurrent(status)) return null;
  const period = await findCurrentBillingPeriod(work, subscription);
  const usage = (await draftUsageLines(work, [subscription])).get(id) ?? [];
  const over = period === null || period.startAt >= at ? null : period;
  const cut = period && { ...period, endAt: Math.min(period.endAt, at) };
  const bill = await finalBill(work, { subscription, period: cut, over, usage, at });
  const [taking = bill] = await withItems(work, [bill]);
  return taking.lines.length === 0 ? null : bill;
}

async function nextBill(work: Work, subscription: SubscriptionRow): Promise<RenewalBill | undefined> {
  const at = subscription.currentBillingPeriodEnd;
  if (at === null || subscription.scheduledAdjustmentAt === null) return draftNext(work, subscription);
  // The change is applied to compute its price, then rolled back.
  return tentatively(work, async (tentative) => {
    const [changed = subscription] = await applyScheduledAdjustments(tentative, [{ subscription, at }]);
    return draftNext(tentative, changed, subscription);
  });
}

async function draftNext(
  work: Work,
  subscription: SubscriptionRow,
  before: SubscriptionRow = subscription,
): Promise<RenewalBill | undefined> {
  const bills = await draftRenewalBills(work, [subscription], { takesUsage: false, before: [before] });
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
