import type { Work } from '../database/work.ts';
import { countDiscounts } from '../invoicing/actions-discounts.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { listBilledUsage, listInArrears, startAttempts } from '../invoicing/store-collecting.ts';
import { listOwedPeriods } from '../invoicing/store-owed.ts';
import { publishSubscriptions } from '../subscriptions/actions.ts';
import { findSubscriptions, saveSubscriptions } from '../subscriptions/store.ts';
import { completePaidPeriods, findBillingPeriods, noteCreditsGranted } from '../subscriptions/store-billing-periods.ts';
import { isTerminal, type SubscriptionRow, statusAfter } from '../subscriptions/subscription.ts';
import { settleUsage } from '../usage/actions-ledger.ts';
import { applyPaidAdjustments } from './apply-adjustment.ts';
import { completePurchasesOf } from './complete-purchases.ts';
import { grantPeriodCredits } from './grant-period-credits.ts';

/** An invoice of which nothing is due any more. */
export interface PaidInvoice {
  readonly invoice: InvoiceRow;
  /** What it was charged on; null where nothing was. */
  readonly paymentMethodId: string | null;
}

/**
 * What follows when invoices have been paid: their usage is no longer owed, their discounts have counted, the changes
 * that they were made for are carried out, subscriptions that waited for the money are active, their periods that are
 * over are completed, the credits of a first period that had to be paid for are granted, and what was bought is told of and
 * gives its credits. Told once for each invoice;
 * those that are not paid are left alone. The caller holds customers and subscriptions. As many statements for five
 * hundred as for one.
 */
export async function recordPaid(work: Work, told: readonly PaidInvoice[]): Promise<void> {
  const paid = told.filter(({ invoice }) => invoice.status === 'paid' || invoice.status === 'partially_refunded');
  if (paid.length === 0) return;
  const invoices = paid.map(({ invoice }) => invoice);
  await countDiscounts(work, invoices);
  const adjustments = invoices.filter(({ reason }) => reason === 'adjustment');
  if (adjustments.length > 0) await applyPaidAdjustments(work, adjustments);
  // Only now is the usage on an invoice whose place one of these took owed to nobody else.
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

/** Completes the periods of these invoices that are over and of which nothing is owed any more. */
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

/** The subscriptions after the payments. One that was started without a payment method keeps the one that was charged first. */
async function activate(work: Work, paid: readonly PaidInvoice[]): Promise<SubscriptionRow[]> {
  const methods = new Map(
    paid.flatMap(({ invoice, paymentMethodId }) =>
      invoice.subscriptionId === null ? [] : [[invoice.subscriptionId, paymentMethodId]],
    ),
  );
  const subscriptions = methods.size === 0 ? [] : await findSubscriptions(work, [...methods.keys()]);
  const moved = new Map((await moveWhatIsPaid(work, subscriptions, methods)).map((each) => [each.id, each]));
  return subscriptions.map((subscription) => moved.get(subscription.id) ?? subscription);
}

/**
 * What follows when nobody is to pay some invoices of these subscriptions any more: those that owe nothing else after a
 * failed attempt have recovered, as though they had been paid. The caller holds customers and subscriptions.
 */
export async function recoverSubscriptions(work: Work, subscriptionIds: readonly string[]): Promise<void> {
  const lapsed = (await findSubscriptions(work, subscriptionIds)).filter(
    ({ status }) => status === 'past_due' || status === 'unpaid',
  );
  await moveWhatIsPaid(work, lapsed, new Map());
}

/**
 * Moves those that owe nothing after a failed attempt, tells of each whose status changes, and answers these. What they
 * were billed while they were unpaid, and nobody tried to collect, is tried now.
 */
async function moveWhatIsPaid(
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
    // Later it may be paid on any method, which does not make that the usual one.
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
    // Those that came before the money are not to come again with what has changed since.
    if (subscription === undefined || !period.creditsAwaitPayment) return [];
    // What begins later gives nothing yet, but it is paid for now.
    return { subscription, period, isFirst: true, at: Math.max(work.now, subscription.startDate) };
  });
  await grantPeriodCredits(work, begun);
  await noteCreditsGranted(work, idsOf(begun.map(({ period }) => period)));
}
