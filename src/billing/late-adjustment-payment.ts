import type { Work } from '../database/work.ts';
import { saveCollections } from '../invoicing/store-collecting.ts';
import { refundPayment } from '../payments/actions-refund.ts';
import { listPaymentsKept } from '../payments/store.ts';
import type { AdjustmentRow, PlanItem } from '../subscriptions/adjustment.ts';
import { findSubscriptions } from '../subscriptions/store.ts';
import { findCurrentBillingPeriods } from '../subscriptions/store-billing-periods.ts';
import { priceChange } from './adjustment-charge.ts';
import { type Bill, issueBills } from './bill-subscription.ts';

/**
 * Bills the price difference of the current period after changes that were applied late: the period was billed for the
 * old items before the payment for the change arrived. Tried once; on failure the invoice stays open. Without a
 * difference nothing is billed. The changes have been applied.
 */
export async function billLateChanges(
  work: Work,
  late: readonly { readonly subscriptionId: string; readonly items: readonly PlanItem[] }[],
): Promise<void> {
  if (late.length === 0) return;
  const items = new Map(late.map((change) => [change.subscriptionId, change.items]));
  const subscriptions = await findSubscriptions(work, [...items.keys()]);
  const periods = new Map(
    (await findCurrentBillingPeriods(work, subscriptions)).map((period) => [period.subscriptionId, period]),
  );
  const bills: Bill[] = [];
  for (const subscription of subscriptions) {
    const period = periods.get(subscription.id);
    if (period === undefined) continue;
    const change = { period, items: items.get(subscription.id) ?? [], prorates: true, replaces: false };
    const { lines } = await priceChange(work, { ...change, at: period.startAt });
    bills.push({ subscription, period, reason: 'adjustment', lines, at: work.now });
  }
  const invoices = (await issueBills(work, bills)).filter((invoice) => invoice?.status === 'open');
  await saveCollections(
    work,
    invoices.flatMap((invoice) => (invoice === null ? [] : { ...invoice, nextAttemptAt: work.now })),
  );
}

/**
 * Refunds payments for plan changes that are no longer applied, because their subscriptions have ended. A payment that
 * replaced an unpaid invoice is kept: it covers the period and its usage.
 */
export async function giveBackCalledOff(work: Work, calledOff: readonly AdjustmentRow[]): Promise<void> {
  const invoiceIds = calledOff.flatMap(({ invoiceId, replacedInvoiceId }) =>
    invoiceId === null || replacedInvoiceId !== null ? [] : invoiceId,
  );
  if (invoiceIds.length === 0) return;
  for (const { id } of await listPaymentsKept(work, invoiceIds)) await refundPayment(work, id, null);
}
