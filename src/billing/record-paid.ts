import type { Work } from '../database/work.ts';
import { countDiscounts } from '../invoicing/actions-discounts.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { listBilledUsage, listInArrears, listOwedPeriods, startAttempts } from '../invoicing/store-collecting.ts';
import { publishSubscriptions } from '../subscriptions/actions.ts';
import { findSubscriptions, saveSubscriptions } from '../subscriptions/store.ts';
import { completePaidPeriods, findBillingPeriods, noteCreditsGranted } from '../subscriptions/store-billing-periods.ts';
import { isTerminal, type SubscriptionRow, statusAfter } from '../subscriptions/subscription.ts';
import { settleUsage } from '../usage/actions-ledger.ts';
import { applyPaidAdjustments } from './apply-adjustment.ts';
import { completePurchasesOf } from './complete-purchases.ts';
import { grantPeriodCredits } from './grant-period-credits.ts';

/** A fully paid invoice. */
interface PaidInvoice {
  readonly invoice: InvoiceRow;
  /** The payment method charged; null if none was. */
  readonly paymentMethodId: string | null;
}

/**
 * Applies the consequences of paid invoices:
 * - their discounts are counted;
 * - plan changes awaiting the payment are applied;
 * - their usage is settled;
 * - periods that are over are completed;
 * - subscriptions awaiting the payment become active;
 * - the credits of a first period awaiting the payment are granted;
 * - their purchases are published, and grant their credits.
 *
 * Called once per invoice; invoices that are not paid are ignored. The caller has locked customers and subscriptions.
 * The number of statements does not depend on the number of invoices.
 */
export async function recordPaid(work: Work, changed: readonly PaidInvoice[]): Promise<void> {
  const paid = changed.filter(({ invoice }) => invoice.status === 'paid' || invoice.status === 'partially_refunded');
  if (paid.length === 0) return;
  const invoices = paid.map(({ invoice }) => invoice);
  await countDiscounts(work, invoices);
  const adjustments = invoices.filter(({ reason }) => reason === 'adjustment');
  if (adjustments.length > 0) await applyPaidAdjustments(work, adjustments);
  // Only now does no replaced invoice own their usage any more.
  await settleUsage(work, await listBilledUsage(work, idsOf(invoices)));
  await completePeriods(work, invoices);
  const subscriptions = await activate(work, paid);
  await grantFirstCredits(
    work,
    subscriptions,
    invoices.filter(({ reason }) => reason === 'subscription_start'),
  );
  await completePurchasesOf(work, idsOf(invoices));
}

/** Completes the ended periods of these invoices without remaining debts. */
export async function completePeriods(work: Work, invoices: readonly InvoiceRow[]): Promise<void> {
  const subscriptionIds = [...new Set(invoices.flatMap(({ subscriptionId }) => subscriptionId ?? []))];
  const periodIds = [...new Set(invoices.flatMap(({ billingPeriodId }) => billingPeriodId ?? []))];
  if (periodIds.length === 0) return;
  const owed = await listOwedPeriods(work, subscriptionIds);
  await completePaidPeriods(
    work,
    periodIds.filter((id) => !owed.has(id)),
  );
}

function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map((row) => row.id);
}

/**
 * Activates the subscriptions of paid invoices. One that started without a payment method keeps the first one charged.
 */
async function activate(work: Work, paid: readonly PaidInvoice[]): Promise<SubscriptionRow[]> {
  const methods = new Map(
    paid.flatMap(({ invoice, paymentMethodId }) =>
      invoice.subscriptionId === null ? [] : [[invoice.subscriptionId, paymentMethodId]],
    ),
  );
  const subscriptions = methods.size === 0 ? [] : await findSubscriptions(work, [...methods.keys()]);
  const moved = new Map((await movePaidSubscriptions(work, subscriptions, methods)).map((each) => [each.id, each]));
  return subscriptions.map((subscription) => moved.get(subscription.id) ?? subscription);
}

/**
 * Recovers subscriptions after some of their invoices were voided or written off: those without remaining debts after a
 * failed attempt recover as if they had paid. The caller has locked customers and subscriptions.
 */
export async function recoverSubscriptions(work: Work, subscriptionIds: readonly string[]): Promise<void> {
  const owing = (await findSubscriptions(work, subscriptionIds)).filter(
    ({ status }) => status === 'past_due' || status === 'unpaid',
  );
  await movePaidSubscriptions(work, owing, new Map());
}

/**
 * Updates the status of subscriptions without remaining debts, publishes each change, and returns the changed ones.
 * Invoices billed while they were unpaid, which nobody tried to collect, are attempted now.
 */
async function movePaidSubscriptions(
  work: Work,
  subscriptions: readonly SubscriptionRow[],
  methods: ReadonlyMap<string, string | null>,
): Promise<SubscriptionRow[]> {
  if (subscriptions.length === 0) return [];
  const inArrears = await listInArrears(work, idsOf(subscriptions));
  const moved = subscriptions.flatMap((subscription) => {
    const { id } = subscription;
    const status = inArrears.has(id) ? null : statusAfter(subscription.status, 'paid');
    if (status === null || status === subscription.status) return [];
    // A later payment on another method does not change the default.
    const charged = subscription.status === 'incomplete' ? (methods.get(id) ?? null) : null;
    return { ...subscription, status, defaultPaymentMethodId: subscription.defaultPaymentMethodId ?? charged };
  });
  const saved = await saveSubscriptions(work, moved);
  await publishSubscriptions(work, 'subscription.updated', saved);
  const wereUnpaid = subscriptions.filter(({ id, status }) => status === 'unpaid' && !inArrears.has(id));
  await startAttempts(work, idsOf(wereUnpaid));
  return saved;
}

async function grantFirstCredits(
  work: Work,
  subscriptions: readonly SubscriptionRow[],
  starts: readonly InvoiceRow[],
): Promise<void> {
  const periodIds = starts.flatMap(({ billingPeriodId }) => billingPeriodId ?? []);
  const living = new Map(subscriptions.flatMap((each) => (isTerminal(each.status) ? [] : [[each.id, each]])));
  const begun = (await findBillingPeriods(work, periodIds)).flatMap((period) => {
    const subscription = living.get(period.subscriptionId);
    // Credits granted before the payment must not be granted again after changes.
    if (subscription === undefined || !period.creditsAwaitPayment) return [];
    // A future start grants nothing yet, but is paid for now.
    return { subscription, period, isFirst: true, at: Math.max(work.now, subscription.startDate) };
  });
  await grantPeriodCredits(work, begun);
  await noteCreditsGranted(work, idsOf(begun.map(({ period }) => period)));
}
