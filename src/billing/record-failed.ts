import assert from 'node:assert/strict';
import { voidWithCreditNotes } from '../credit-notes/actions.ts';
import type { Work } from '../database/work.ts';
import { type Collection, isDunned, isOwed, lastRetryOf, nextAttempt } from '../invoicing/collection.ts';
import { usageOf } from '../invoicing/fitting-lines.ts';
import { readNewInvoice } from '../invoicing/new-invoice.ts';
import { findInvoice, type InvoiceRow, listParts } from '../invoicing/store.ts';
import { listBilledUsage, saveCollections } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { Settings } from '../organizations/setting.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { findFirstFailure, listEverPaid, type PaymentRow } from '../payments/store.ts';
import { movePurchase } from '../purchases/actions.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchasesOfInvoices } from '../purchases/store.ts';
import { publishSubscriptions } from '../subscriptions/actions.ts';
import { beginsPeriod } from '../subscriptions/adjustment.ts';
import {
  findSubscriptions,
  hasOtherSubscriptionInTheWay,
  saveSubscription,
  saveSubscriptions,
} from '../subscriptions/store.ts';
import { findAdjustment, listInvoicesOfUnmade } from '../subscriptions/store-adjustments.ts';
import { cancelBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import {
  type CancellationReason,
  isTerminal,
  type SubscriptionRow,
  type SubscriptionStatus,
  statusAfter,
  statusOfPayments,
  withStatusOfPayments,
} from '../subscriptions/subscription.ts';
import { releaseOverage } from '../usage/actions-ledger.ts';
import { failAdjustments, failUninvoiced, invoiceUsage } from './apply-adjustment.ts';
import { endSubscription, lockWithCustomer } from './end-subscription.ts';
import { restoreDefaultPlan } from './open-subscription.ts';
import type { Ending } from './record-paid.ts';

/** A failed attempt to collect an invoice. */
export interface FailedAttempt {
  /** Its state afterwards: the attempt has been counted. */
  readonly invoice: InvoiceRow;
  /** `method_missing`: no payment method. `reversed`: the payment had succeeded and was reversed. */
  readonly cause: 'declined' | 'method_missing' | 'reversed';
  /** Whether somebody asked to pay the invoice. Its decline takes nothing back. */
  readonly isOnRequest: boolean;
  readonly code: string | null;
  readonly message: string | null;
}

/**
 * Applies the consequences of failed invoices:
 * - plan changes awaiting the payment are not applied, and purchases fail;
 * - a subscription that never received a payment ends with its first failed one, and its invoice is no longer owed;
 * - one that was being activated waits for another attempt;
 * - any other becomes past due and its invoice is retried by the settings, which also decide its state after the last
 *   attempt;
 * - an invoice of final usage stays open;
 * - a declined payment on request voids and ends nothing, and does not count before the due date.
 *
 * The caller has locked customers and subscriptions. The number of statements does not depend on the number of
 * invoices, except for subscriptions that end.
 */
export async function recordFailed(work: Work, failures: readonly FailedAttempt[]): Promise<void> {
  if (failures.length === 0) return;
  const onItsOwn = failures.filter(({ isOnRequest }) => !isOnRequest);
  await failChanges(work, onItsOwn);
  const purchases = await findPurchasesOfInvoices(
    work,
    failures.map(({ invoice }) => invoice.id),
  );
  const bought = new Set(purchases.flatMap(({ invoiceId }) => invoiceId ?? []));
  await collectAgain(work, failures, bought);
  await failPurchases(work, onItsOwn, purchases);
}

async function collectAgain(
  work: Work,
  failures: readonly FailedAttempt[],
  bought: ReadonlySet<string>,
): Promise<void> {
  // A decline before the due date has not been counted.
  const isEarly = ({ invoice, isOnRequest }: FailedAttempt) => isOnRequest && invoice.attemptCount === 0;
  const dunned = failures.filter((failure) => isDunned(failure.invoice) && !isEarly(failure));
  const owing = await ofSubscriptions(work, dunned);
  if (owing.length === 0) return;
  const subscriptionIds = [...new Set(owing.map(({ invoice }) => subscriptionOf(invoice)))];
  const subscriptions = new Map((await findSubscriptions(work, subscriptionIds)).map((each) => [each.id, each]));
  const everPaid = await listEverPaid(work, subscriptionIds);
  const retried: OwedAttempt[] = [];
  for (const failure of owing) {
    const { invoice, cause, isOnRequest, whole } = failure;
    const subscription = requireOf(subscriptions, invoice);
    // No subscription takes back what others owe with it.
    if (isOnRequest || whole !== undefined) retried.push(failure);
    else if (isTerminal(subscription.status)) await voidNeverOwed(work, invoice, subscription, everPaid);
    else if (cause === 'declined' && !subscription.isFreePlan && !everPaid.has(subscription.id)) {
      // A purchase begins immediately, so an incomplete subscription existed before it.
      const waits = subscription.status === 'incomplete' && bought.has(invoice.id);
      const unpaid = waits ? await waitAgain(work, invoice, subscription) : await endUnpaid(work, invoice);
      subscriptions.set(subscription.id, unpaid);
    } else retried.push(failure);
  }
  await scheduleRetries(
    work,
    retried.filter(({ invoice }) => !isTerminal(requireOf(subscriptions, invoice).status)),
    subscriptions,
  );
}

/** A failed attempt to collect the invoice of a subscription. */
interface OwedAttempt extends FailedAttempt {
  /** The consolidated invoice that the attempt was for, of which `invoice` is a part. Absent: it was for the invoice itself. */
  readonly whole?: InvoiceRow;
}

/** The attempts for invoices of subscriptions, and for each part of consolidated ones. */
async function ofSubscriptions(work: Work, failures: readonly FailedAttempt[]): Promise<OwedAttempt[]> {
  const parts = await listParts(
    work,
    failures.map(({ invoice }) => invoice),
  );
  return failures.flatMap((failure): OwedAttempt | OwedAttempt[] => {
    const { invoice: whole } = failure;
    if (whole.subscriptionId !== null) return failure;
    const { status, attemptCount } = whole;
    return parts
      .filter(({ consolidatedInto }) => consolidatedInto === whole.id)
      .map((part) => ({ ...failure, invoice: { ...part, status, attemptCount }, whole }));
  });
}

function subscriptionOf({ subscriptionId }: InvoiceRow): string {
  assert(subscriptionId !== null, 'what is tried again belongs to a subscription');
  return subscriptionId;
}

function requireOf(subscriptions: ReadonlyMap<string, SubscriptionRow>, invoice: InvoiceRow): SubscriptionRow {
  const subscription = subscriptions.get(subscriptionOf(invoice));
  assert(subscription, 'an invoice has its subscription');
  return subscription;
}

/** Unapplied changes need no undoing. Applied changes are still owed. */
async function failChanges(work: Work, failures: readonly FailedAttempt[]): Promise<void> {
  const ofChanges = failures.filter(({ invoice, cause }) => invoice.reason === 'adjustment' && cause !== 'reversed');
  if (ofChanges.length === 0) return;
  const unmade = await listInvoicesOfUnmade(
    work,
    ofChanges.map(({ invoice }) => invoice.id),
  );
  const changes = ofChanges.filter(({ invoice }) => unmade.has(invoice.id));
  for (const { invoice } of changes) if (invoice.status === 'open') await voidWithCreditNotes(work, invoice.id);
  // An invoice that was to begin a period bills usage of its own, which the next one bills now.
  const own = changes.filter(({ invoice }) => {
    const change = unmade.get(invoice.id);
    return change !== undefined && beginsPeriod(change);
  });
  const billed = await listBilledUsage(
    work,
    own.map(({ invoice }) => invoice.id),
  );
  await releaseOverage(work, billed);
  await failAdjustments(work, changes);
  await billReleased(
    work,
    own.map(({ invoice }) => subscriptionOf(invoice)),
  );
}

/**
 * Leaves changes unmade whose first payment has brought no money. They have no invoice, so that payment is all that is
 * left of the attempt.
 */
export async function leaveUnchanged(work: Work, payments: readonly PaymentRow[]): Promise<void> {
  for (const { adjustmentId, failureCode: code, failureMessage: message } of payments) {
    const adjustment = adjustmentId === null ? null : await findAdjustment(work, adjustmentId);
    if (adjustment?.bill == null) continue;
    const held = beginsPeriod(adjustment) ? usageOf(readNewInvoice(adjustment.bill)) : [];
    await releaseOverage(work, held);
    await failUninvoiced(work, adjustment, { code, message });
    if (held.length > 0) await billReleased(work, [adjustment.subscriptionId]);
  }
}

/** Invoices the released usage of subscriptions that have ended meanwhile: they have no next invoice. */
async function billReleased(work: Work, subscriptionIds: readonly string[]): Promise<void> {
  const subscriptions = await findSubscriptions(work, subscriptionIds);
  const ended = subscriptions.filter(({ status }) => isTerminal(status));
  await invoiceUsage(
    work,
    ended.map((subscription) => ({ subscription, at: work.now })),
  );
}

/**
 * The subscription ended while this payment was in flight, and it never received one: periods that were never paid are
 * not owed. The unpaid periods are the first and, if its payment failed late, those begun by then. Invoices with usage
 * are owed.
 */
async function voidNeverOwed(
  work: Work,
  invoice: InvoiceRow,
  { id, cancellationReason }: SubscriptionRow,
  everPaid: ReadonlySet<string>,
): Promise<void> {
  const reason: CancellationReason = 'non_payment';
  const neverWas = invoice.reason === 'subscription_start' || cancellationReason === reason;
  if (invoice.status !== 'open' || everPaid.has(id) || !neverWas) return;
  if ((await listBilledUsage(work, [invoice.id])).length === 0) await voidWithCreditNotes(work, invoice.id);
}

async function endUnpaid(work: Work, invoice: InvoiceRow): Promise<SubscriptionRow> {
  await takeBack(work, invoice);
  return end(work, subscriptionOf(invoice), { neverWas: true });
}

/** Voids an invoice that is no longer owed. Usage before the first payment is still owed, and billed later. */
async function takeBack(work: Work, invoice: InvoiceRow): Promise<void> {
  if (invoice.status === 'open') await voidWithCreditNotes(work, invoice.id);
  await releaseOverage(work, await listBilledUsage(work, [invoice.id]));
}

/** Makes the subscription await its first payment again, with its customer on the default plan. */
async function waitAgain(work: Work, invoice: InvoiceRow, { id }: SubscriptionRow): Promise<SubscriptionRow> {
  await takeBack(work, invoice);
  if (invoice.billingPeriodId !== null) await cancelBillingPeriod(work, invoice.billingPeriodId);
  const waiting = await saveSubscription(work, id, {
    currentBillingPeriodStart: null,
    currentBillingPeriodEnd: null,
    interimAt: null,
  });
  await publishSubscriptions(work, 'subscription.updated', [waiting]);
  const { customer } = await lockWithCustomer(work, id);
  if (!(await hasOtherSubscriptionInTheWay(work, customer.id, id, work.now)))
    await restoreDefaultPlan(work, customer, id);
  return waiting;
}

async function end(work: Work, subscriptionId: string, how: Pick<Ending, 'neverWas'> = {}): Promise<SubscriptionRow> {
  const locked = await lockWithCustomer(work, subscriptionId);
  return endSubscription(work, locked, { at: work.now, reason: 'non_payment', ...how });
}

/** The time of the last retry, counted from the first failure of this collection, which a reversal may begin late. */
async function lastAttempt(work: Work, invoice: InvoiceRow, retryDays: readonly number[]): Promise<Instant> {
  const first = await findFirstFailure(work, invoice.id, invoice.attemptCount);
  return Math.max(lastRetryOf(invoice, first, retryDays), work.now);
}

/**
 * Schedules the next retry of each invoice, and sets the status of its subscription until then or, after the last
 * attempt, permanently.
 */
async function scheduleRetries(
  work: Work,
  failures: readonly OwedAttempt[],
  subscriptions: ReadonlyMap<string, SubscriptionRow>,
): Promise<void> {
  if (failures.length === 0) return;
  const { dunning } = await readSettings(work);
  const { retryDays, terminalAction: action } = dunning;
  const scheduled: (Pick<OwedAttempt, 'invoice' | 'cause'> & { readonly collected: InvoiceRow })[] = [];
  for (const { invoice, cause, isOnRequest, whole = invoice } of failures) {
    // A declined payment on request ends nothing. An attempt of our own follows at the time of the last retry, and may.
    const isToFollow = isOnRequest && action === 'canceled';
    const next = nextAttempt(invoice.attemptCount, retryDays, work.now);
    const nextAttemptAt = next ?? (isToFollow ? await lastAttempt(work, whole, retryDays) : null);
    scheduled.push({ invoice: { ...invoice, nextAttemptAt }, cause, collected: { ...whole, nextAttemptAt } });
  }
  await saveCollections(work, [...new Map(scheduled.map(({ collected }) => [collected.id, collected])).values()]);
  const owing = new Map<string, SubscriptionRow>();
  for (const { invoice, cause } of scheduled) {
    const subscription = owing.get(subscriptionOf(invoice)) ?? requireOf(subscriptions, invoice);
    // The default plan, which every customer has, is never canceled.
    const isKept = dunning.terminalAction === 'canceled' && subscription.isDefaultPlan;
    const terminalAction = isKept ? 'unpaid' : dunning.terminalAction;
    const status = statusAfterFailure(statusOfPayments(subscription), { invoice, cause }, terminalAction);
    owing.set(subscription.id, withStatusOfPayments(subscription, status));
  }
  const changed = [...owing.values()].filter(({ id, status, arrears }) => {
    const before = subscriptions.get(id);
    return before?.status !== status || before.arrears !== arrears;
  });
  await publishSubscriptions(work, 'subscription.updated', await saveSubscriptions(work, changed));
  if (dunning.terminalAction !== 'canceled') return;
  const exhausted = scheduled.filter(
    ({ invoice }) => invoice.nextAttemptAt === null && !subscriptions.get(subscriptionOf(invoice))?.isDefaultPlan,
  );
  for (const id of new Set(exhausted.map(({ invoice }) => subscriptionOf(invoice)))) await end(work, id);
}

function statusAfterFailure(
  status: SubscriptionStatus,
  { invoice, cause }: { invoice: Collection; cause: FailedAttempt['cause'] },
  terminalAction: Settings['dunning']['terminalAction'],
): SubscriptionStatus {
  const trigger = cause === 'method_missing' ? 'payment_method_missing' : 'payment_failed';
  const failed = statusAfter(status, trigger) ?? status;
  if (invoice.nextAttemptAt !== null || terminalAction !== 'unpaid') return failed;
  return statusAfter(failed, 'retries_exhausted') ?? failed;
}

/**
 * Updates purchases whose invoices could not be collected. A single-payment purchase has failed, and its invoice is no
 * longer owed; after a reversed payment it is owed, but not collected automatically. The first invoice of a
 * subscription fails with the subscription; while it is retried, its purchase is pending.
 */
async function failPurchases(
  work: Work,
  failures: readonly FailedAttempt[],
  purchases: readonly PurchaseRow[],
): Promise<void> {
  for (const purchase of purchases) {
    const failure = failures.find(({ invoice }) => invoice.id === purchase.invoiceId);
    const invoice = failure === undefined ? null : await findInvoice(work, failure.invoice.id);
    if (failure === undefined || invoice === null) continue;
    const isOnce = invoice.reason === 'purchase';
    if (failure.cause === 'reversed') await movePurchase(work, purchase, isOnce ? 'taken_back' : 'owed_again');
    else if (isOnce && invoice.status === 'open') await voidWithCreditNotes(work, invoice.id);
    if (failure.cause !== 'reversed' && (isOnce || !isOwed(invoice))) await movePurchase(work, purchase, 'failed');
  }
}

/** Marks the purchase of an invoice that nobody will pay as failed. */
export async function giveUpPurchases(work: Work, invoiceId: string): Promise<void> {
  for (const purchase of await findPurchasesOfInvoices(work, [invoiceId])) await movePurchase(work, purchase, 'failed');
}
