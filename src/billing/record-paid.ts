import assert from 'node:assert/strict';
import { settleOffsets } from '../credit-notes/actions.ts';
import type { Work } from '../database/work.ts';
import { expireItemFeatures, releaseClaims } from '../entitlements/actions.ts';
import { countDiscounts } from '../invoicing/actions-discounts.ts';
import type { InvoiceStatus } from '../invoicing/invoice.ts';
import type { NewLine } from '../invoicing/invoice-line-item.ts';
import { type InvoiceRow, withParts } from '../invoicing/store.ts';
import {
  listBilledUsage,
  listInArrears,
  listOwedPeriods,
  lockDraftsOf,
  startAttempts,
} from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { defaultPaymentMethod } from '../payments/actions.ts';
import { type ChargeOrder, requestCharges } from '../payments/actions-charge.ts';
import { applyChargeOutcomes, assumedSuccess } from '../payments/actions-settle.ts';
import type { PaymentRow } from '../payments/store.ts';
import { carryToHolders } from '../purchases/actions-auto-top-ups.ts';
import { publishSubscriptions } from '../subscriptions/actions.ts';
import { wholeOf } from '../subscriptions/adjustment.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import {
  findSubscriptions,
  lockLivingSubscriptions,
  saveSubscription,
  saveSubscriptions,
} from '../subscriptions/store.ts';
import { cancelPendingAdjustments } from '../subscriptions/store-adjustments.ts';
import {
  completePaidPeriods,
  endBillingPeriods,
  findCurrentBillingPeriod,
} from '../subscriptions/store-billing-periods.ts';
import { expireItemsOfSubscriptions } from '../subscriptions/store-items.ts';
import {
  type CancellationReason,
  isCurrent,
  isInTheWay,
  requireStatusAfter,
  type SubscriptionRow,
  statusAfter,
  statusOfPayments,
  withStatusOfPayments,
} from '../subscriptions/subscription.ts';
import { endUseOf, settleUsage } from '../usage/actions-ledger.ts';
import { applyPaidAdjustments } from './apply-adjustment.ts';
import { type Bill, issueBills, periodEndLines, takeUsageLines } from './bill-subscription.ts';
import { completePurchasesOf } from './complete-purchases.ts';
import { finalBy, finalizeRenewals } from './finalize-renewals.ts';
import { grantAwaitedCredits } from './grant-period-credits.ts';
import { takeOffPausedTime } from './paused-time.ts';

// A payment can end a free plan, whose last usage is charged and, in a dry run, paid at once. So payments, charges and
// the end of a plan are in one file.

/** A fully paid invoice. */
interface PaidInvoice {
  readonly invoice: InvoiceRow;
  /** The payment method charged; null if none was. */
  readonly paymentMethodId: string | null;
}

// A part payment may be refunded before an offset settles the rest.
const settledStatuses: ReadonlySet<InvoiceStatus> = new Set(['paid', 'partially_refunded', 'refunded']);

/**
 * Applies the consequences of paid invoices, and of the parts of consolidated ones:
 * - credit notes that offset them are settled;
 * - plan changes awaiting the payment are applied;
 * - their discounts are counted;
 * - their usage is settled;
 * - periods that are over are completed;
 * - subscriptions awaiting the payment become active;
 * - the credits of periods awaiting the payment are granted;
 * - a free plan that waited for the first payment of a paid one is replaced;
 * - their purchases are published, and grant their credits, less those of money that was refunded before.
 *
 * Called once per invoice; invoices that are not paid are ignored. The caller has locked customers and subscriptions.
 * The number of statements does not depend on the number of invoices, except for free plans that are replaced.
 */
export async function recordPaid(work: Work, changed: readonly PaidInvoice[]): Promise<void> {
  const whole = changed.filter(({ invoice }) => settledStatuses.has(invoice.status));
  if (whole.length === 0) return;
  const methods = new Map(whole.map(({ invoice, paymentMethodId }) => [invoice.id, paymentMethodId]));
  const paid = (
    await withParts(
      work,
      whole.map(({ invoice }) => invoice),
    )
  ).map((invoice) => ({ invoice, paymentMethodId: methods.get(invoice.consolidatedInto ?? invoice.id) ?? null }));
  const invoices = paid.map(({ invoice }) => invoice);
  await settleOffsets(work, invoices);
  const adjustments = invoices.filter(({ reason }) => reason === 'adjustment');
  if (adjustments.length > 0) await applyPaidAdjustments(work, adjustments);
  // Only now is the invoice of a change of interval that of its period.
  await countDiscounts(work, invoices);
  // Only now does no replaced invoice own their usage any more.
  await settleUsage(work, await listBilledUsage(work, idsOf(invoices)));
  await completePeriods(work, invoices);
  const subscriptions = await activate(work, paid);
  const starts = invoices.filter(({ reason }) => reason === 'subscription_start');
  await grantAwaitedCredits(work, subscriptions);
  await replaceFreePlans(work, subscriptions, starts);
  await completePurchasesOf(work, invoices);
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
  return afterMove(subscriptions, await movePaidSubscriptions(work, subscriptions, methods));
}

/**
 * Recovers subscriptions after some of their invoices were voided or written off. A subscription without remaining debts
 * after a failed attempt recovers as if it had paid, and gets the credits that waited. The caller has locked customers and
 * subscriptions.
 */
export async function recoverSubscriptions(work: Work, subscriptionIds: readonly string[]): Promise<void> {
  const subscriptions = await findSubscriptions(work, subscriptionIds);
  const owing = subscriptions.filter(({ arrears }) => arrears !== 'none');
  const moved = await movePaidSubscriptions(work, owing, new Map());
  await grantAwaitedCredits(work, afterMove(subscriptions, moved));
}

function afterMove(subscriptions: readonly SubscriptionRow[], moved: readonly SubscriptionRow[]): SubscriptionRow[] {
  const changed = new Map(moved.map((each) => [each.id, each]));
  return subscriptions.map((subscription) => changed.get(subscription.id) ?? subscription);
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
    const before = statusOfPayments(subscription);
    const status = inArrears.has(id) ? null : statusAfter(before, 'paid');
    if (status === null || status === before) return [];
    // A later payment on another method does not change the default.
    const charged = before === 'incomplete' ? (methods.get(id) ?? null) : null;
    const defaultPaymentMethodId = subscription.defaultPaymentMethodId ?? charged;
    const setupFee = before === 'incomplete' ? 0n : subscription.setupFee;
    return { ...withStatusOfPayments(subscription, status), defaultPaymentMethodId, setupFee };
  });
  const saved = await saveSubscriptions(work, moved);
  await publishSubscriptions(work, 'subscription.updated', saved);
  const wereUnpaid = subscriptions.filter(({ id, arrears }) => arrears === 'unpaid' && !inArrears.has(id));
  await startAttempts(work, idsOf(wereUnpaid));
  return saved;
}

/** Until its first payment, a paid subscription leaves the free plan of its customer alone. */
async function replaceFreePlans(
  work: Work,
  subscriptions: readonly SubscriptionRow[],
  starts: readonly InvoiceRow[],
): Promise<void> {
  const paid = new Set(starts.map(({ subscriptionId }) => subscriptionId));
  for (const subscription of subscriptions)
    if (paid.has(subscription.id) && !subscription.isFreePlan && isCurrent(subscription.status))
      await replaceFreePlan(work, subscription, work.now);
}

/**
 * Requests the charges of open invoices after the commit. A dry run commits nothing, so it assumes success and applies
 * the consequences at once.
 */
export function chargeInvoices(work: Work, orders: readonly ChargeOrder[]): Promise<PaymentRow[]> {
  return requestCharges(work, orders, assumePaid);
}

/** The same for one. */
export async function chargeInvoice(
  work: Work,
  invoice: ChargeOrder['invoice'],
  paymentMethodId: string,
  { onRequest = false }: Pick<ChargeOrder, 'onRequest'> = {},
): Promise<PaymentRow> {
  const [payment] = await chargeInvoices(work, [{ invoice, paymentMethodId, onRequest }]);
  assert(payment, 'a charge that was asked for has its payment');
  return payment;
}

/** The assumed result in a dry run: the charges of invoices succeed, with all consequences. */
export async function assumePaid(work: Work, payments: readonly { readonly id: string }[]): Promise<void> {
  const changed = await applyChargeOutcomes(
    work,
    payments.map(({ id }) => assumedSuccess(work, id)),
  );
  await recordPaid(
    work,
    changed.flatMap(({ invoice, payment }) => (invoice ? { invoice, paymentMethodId: payment.paymentMethodId } : [])),
  );
}

/**
 * Ends the plan that a paid subscription replaces: the customer's free one, with its unbilled usage. Nothing happens if
 * there is none.
 */
export async function replaceFreePlan(
  work: Work,
  { id, customerId }: Pick<SubscriptionRow, 'id' | 'customerId'>,
  at: Instant,
): Promise<void> {
  const living = await lockLivingSubscriptions(work, customerId);
  const free = living.find((each) => each.isFreePlan && each.id !== id && isInTheWay(each));
  if (free !== undefined) await closeSubscription(work, free, { at, reason: 'upgraded_to_paid', replacedBy: id });
  await carryToHolders(work, [customerId]);
}

/** The way a subscription ends. */
export interface Ending {
  readonly at: Instant;
  /** `expired`: the first payment did not arrive in time. */
  readonly trigger?: 'canceled' | 'expired';
  readonly reason?: CancellationReason;
  /** It was never paid: the default plan continues with its earlier periods. */
  readonly neverWas?: boolean;
  /** The subscription that replaces it. */
  readonly replacedBy?: string;
}

/**
 * Ends a subscription with its periods, items, features and claims, and bills its last usage. The caller has locked the
 * customer and the subscription.
 */
export async function closeSubscription(
  work: Work,
  subscription: SubscriptionRow,
  { at, trigger = 'canceled', reason, neverWas = false, replacedBy }: Ending,
): Promise<SubscriptionRow> {
  const { id } = subscription;
  const period = await findCurrentBillingPeriod(work, subscription);
  const drafts = await lockDraftsOf(work, [id]);
  const reviewed = await finalizeRenewals(
    work,
    drafts.map((draft) => finalBy(draft, at)),
  );
  const ended = await saveSubscription(work, id, {
    status: requireStatusAfter(subscription.status, trigger),
    canceledAt: trigger === 'canceled' ? at : null,
    cancelScheduledAt: trigger === 'canceled' ? at : null,
    // The customer gave its reason when it scheduled the end.
    cancellationReason: reason ?? subscription.cancellationReason,
    cancellationComment: subscription.cancellationComment,
    replacedBySubscriptionId: replacedBy ?? null,
    scheduledAdjustmentAt: null,
    pausedAt: null,
    resumesAt: null,
    pausedCredit: 0n,
    interimAt: null,
    ...(period === null || period.startAt > at ? {} : { currentBillingPeriodEnd: Math.min(period.endAt, at) }),
  });
  await cancelPendingAdjustments(work, [id]);
  await endBillingPeriods(work, id, at);
  await expireItemsOfSubscriptions(work, [id], at);
  await expireItemFeatures(work, [id], at);
  await releaseClaims(work, [id], at, 'subscription_canceled');
  await endUseOf(work, id, at);
  // One that never began, or was never paid, owes no commitment.
  const owed = neverWas || trigger === 'expired' || period === null || period.startAt >= at ? null : period;
  await billFinalUsage(work, { ended, before: subscription, period: owed, reviewed }, at, reason);
  return ended;
}

/** A subscription that has ended, as it was before, and the period for whose time it owes; null: none. */
interface Ended {
  readonly ended: SubscriptionRow;
  readonly before: SubscriptionRow;
  readonly period: BillingPeriodRow | null;
  /** The invoices whose review the end cut short. */
  readonly reviewed: readonly InvoiceRow[];
}

/** The last usage of a subscription that ends, and the period for whose time it owes; null: none. */
interface FinalUsage extends Pick<Bill, 'subscription' | 'period' | 'at'> {
  readonly over: BillingPeriodRow | null;
  readonly usage: readonly NewLine[];
}

/** The last bill of a subscription: its usage, and what is missing to the commitment, minus paid paused time. */
export async function finalBill(work: Work, { subscription, period, over, usage, at }: FinalUsage): Promise<Bill> {
  // The time that nobody used is not kept, so the whole plan counts, and the commitment of the time until the end.
  const cut = over && { period: { ...over, endAt: Math.min(over.endAt, at) }, whole: wholeOf(over) };
  const missing = cut && (await periodEndLines(work, [{ subscription, usage, ...cut }])).get(subscription.id);
  const bill: Bill = { subscription, period, reason: 'final_usage', lines: [...usage, ...(missing ?? [])], at };
  const [reduced = bill] = await takeOffPausedTime(work, [bill]);
  return reduced;
}

/**
 * Invoices the unbilled usage and what is missing to the commitment of the period, and charges it, minus paid paused
 * time, whose rest is lost with the subscription. The invoice stays open without a payment method, and after a failed
 * first payment, because the same method would fail again.
 */
async function billFinalUsage(
  work: Work,
  { ended: subscription, before, period: over, reviewed }: Ended,
  at: Instant,
  reason: CancellationReason | undefined,
): Promise<void> {
  // Usage periods are those that were open before the end.
  const usage = (await takeUsageLines(work, [before])).get(subscription.id) ?? [];
  const period = await findCurrentBillingPeriod(work, subscription);
  const keeping = { ...subscription, pausedCredit: before.pausedCredit };
  const bill = await finalBill(work, { subscription: keeping, period, over, usage, at });
  const [invoice] = await issueBills(work, [bill]);
  const last = [...reviewed, ...(invoice ? [invoice] : [])];
  if (last.length === 0) return;
  await recordPaid(
    work,
    last.map((each) => ({ invoice: each, paymentMethodId: null })),
  );
  const due = last.filter(({ status }) => status === 'open');
  if (reason === 'non_payment' || due.length === 0) return;
  const stored = subscription.defaultPaymentMethodId ?? (await defaultPaymentMethod(work, subscription.customerId))?.id;
  if (stored === undefined) return;
  await chargeInvoices(
    work,
    due.map((each) => ({ invoice: each, paymentMethodId: stored })),
  );
}
