import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { voidInvoice } from '../invoicing/actions.ts';
import { type Collection, isDunned, nextAttempt } from '../invoicing/collection.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { listBilledUsage, saveCollections } from '../invoicing/store-collecting.ts';
import type { Settings } from '../organizations/setting.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { listEverPaid } from '../payments/store.ts';
import { findPurchasesOfInvoices } from '../purchases/store.ts';
import { publishSubscriptions } from '../subscriptions/actions.ts';
import {
  findSubscriptions,
  hasOtherSubscriptionInTheWay,
  saveSubscription,
  saveSubscriptions,
} from '../subscriptions/store.ts';
import { listInvoicesOfUnmade } from '../subscriptions/store-adjustments.ts';
import { cancelBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import {
  type CancellationReason,
  isTerminal,
  type SubscriptionRow,
  type SubscriptionStatus,
  statusAfter,
} from '../subscriptions/subscription.ts';
import { releaseOverage } from '../usage/actions-ledger.ts';
import { failAdjustments } from './apply-adjustment.ts';
import { restoreDefaultPlan } from './default-plan.ts';
import { type Ending, endSubscription, holdSubscription } from './end-subscription.ts';
import { failPurchases } from './fail-purchases.ts';

/** An attempt to collect an invoice that ended without money. */
export interface FailedAttempt {
  /** As it is since: the attempt has been counted. */
  readonly invoice: InvoiceRow;
  /** `method_missing`: there was nothing to charge. `reversed`: the money had arrived, and was taken back. */
  readonly cause: 'declined' | 'method_missing' | 'reversed';
  readonly code: string | null;
  readonly message: string | null;
}

/**
 * What follows when invoices could not be collected. A change of plan that was to be paid for is not made, and what was
 * bought has not been. A subscription for which no money ever arrived ends with its first payment that fails, and nobody
 * owes its invoice; one that was to be activated waits for another. Any other is past due, and its invoice is tried again as the settings say; after the last attempt they say what becomes of
 * the subscription. An invoice of final usage stays open. The caller holds customers and subscriptions. As many
 * statements for a thousand as for one, those apart that end something.
 */
export async function recordFailed(work: Work, failures: readonly FailedAttempt[]): Promise<void> {
  if (failures.length === 0) return;
  await failChanges(work, failures);
  const purchases = await findPurchasesOfInvoices(
    work,
    failures.map(({ invoice }) => invoice.id),
  );
  const bought = new Set(purchases.flatMap(({ invoiceId }) => invoiceId ?? []));
  await collectAgain(work, failures, bought);
  await failPurchases(work, failures, purchases);
}

async function collectAgain(
  work: Work,
  failures: readonly FailedAttempt[],
  bought: ReadonlySet<string>,
): Promise<void> {
  const owing = failures.filter(({ invoice }) => isDunned(invoice) && invoice.subscriptionId !== null);
  if (owing.length === 0) return;
  const subscriptionIds = [...new Set(owing.map(({ invoice }) => subscriptionOf(invoice)))];
  const subscriptions = new Map((await findSubscriptions(work, subscriptionIds)).map((each) => [each.id, each]));
  const everPaid = await listEverPaid(work, subscriptionIds);
  const retried: FailedAttempt[] = [];
  for (const failure of owing) {
    const { invoice, cause } = failure;
    const subscription = subscriptions.get(subscriptionOf(invoice));
    assert(subscription, 'an invoice has its subscription');
    if (isTerminal(subscription.status)) await voidNeverOwed(work, invoice, subscription, everPaid);
    else if (cause === 'declined' && !subscription.isFreePlan && !everPaid.has(subscription.id)) {
      // What is bought begins at once, so one that is incomplete was there before it was bought.
      const waits = subscription.status === 'incomplete' && bought.has(invoice.id);
      const unpaid = waits ? await waitAgain(work, invoice, subscription) : await endUnpaid(work, invoice);
      subscriptions.set(subscription.id, unpaid);
    } else retried.push(failure);
  }
  await scheduleRetries(
    work,
    retried.filter(({ invoice }) => !isTerminal(statusOf(subscriptions, invoice))),
    subscriptions,
  );
}

function subscriptionOf({ subscriptionId }: InvoiceRow): string {
  assert(subscriptionId !== null, 'what is tried again belongs to a subscription');
  return subscriptionId;
}

function statusOf(subscriptions: ReadonlyMap<string, SubscriptionRow>, invoice: InvoiceRow): SubscriptionStatus {
  const subscription = subscriptions.get(subscriptionOf(invoice));
  assert(subscription, 'an invoice has its subscription');
  return subscription.status;
}

/** What was to be paid for has not been done, so there is nothing to take back. What has been done is owed. */
async function failChanges(work: Work, failures: readonly FailedAttempt[]): Promise<void> {
  const ofChanges = failures.filter(({ invoice, cause }) => invoice.reason === 'adjustment' && cause !== 'reversed');
  if (ofChanges.length === 0) return;
  const unmade = await listInvoicesOfUnmade(
    work,
    ofChanges.map(({ invoice }) => invoice.id),
  );
  const changes = ofChanges.filter(({ invoice }) => unmade.has(invoice.id));
  for (const { invoice } of changes) if (invoice.status === 'open') await voidInvoice(work, invoice.id);
  await failAdjustments(work, changes);
}

/**
 * It ended while this payment was under way, and none ever arrived: nobody owes periods that never were. That is the
 * first one, and where the first payment failed late, those that had begun by then. What bills usage is owed.
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
  if ((await listBilledUsage(work, [invoice.id])).length === 0) await voidInvoice(work, invoice.id);
}

async function endUnpaid(work: Work, invoice: InvoiceRow): Promise<SubscriptionRow> {
  await takeBack(work, invoice);
  return end(work, subscriptionOf(invoice), { neverWas: true });
}

/** Nobody owes it. Usage before the first payment is owed all the same, and billed later. */
async function takeBack(work: Work, invoice: InvoiceRow): Promise<void> {
  if (invoice.status === 'open') await voidInvoice(work, invoice.id);
  await releaseOverage(work, await listBilledUsage(work, [invoice.id]));
}

/** It waits for its first payment as before, its customer on the default plan. */
async function waitAgain(work: Work, invoice: InvoiceRow, { id }: SubscriptionRow): Promise<SubscriptionRow> {
  await takeBack(work, invoice);
  if (invoice.billingPeriodId !== null) await cancelBillingPeriod(work, invoice.billingPeriodId);
  const waiting = await saveSubscription(work, id, { currentBillingPeriodStart: null, currentBillingPeriodEnd: null });
  await publishSubscriptions(work, 'subscription.updated', [waiting]);
  const { customer } = await holdSubscription(work, id);
  if (!(await hasOtherSubscriptionInTheWay(work, customer.id, id))) await restoreDefaultPlan(work, customer, id);
  return waiting;
}

async function end(work: Work, subscriptionId: string, how: Pick<Ending, 'neverWas'> = {}): Promise<SubscriptionRow> {
  const held = await holdSubscription(work, subscriptionId);
  return endSubscription(work, held, { at: work.now, reason: 'non_payment', ...how });
}

/** Says when each invoice is tried again, and what its subscription is until then or, after the last attempt, for good. */
async function scheduleRetries(
  work: Work,
  failures: readonly FailedAttempt[],
  subscriptions: ReadonlyMap<string, SubscriptionRow>,
): Promise<void> {
  if (failures.length === 0) return;
  const { dunning } = await readSettings(work);
  const scheduled = failures.map(({ invoice, cause }) => {
    const nextAttemptAt = nextAttempt(invoice.attemptCount, dunning.retryDays, work.now);
    return { invoice: { ...invoice, nextAttemptAt }, cause };
  });
  await saveCollections(
    work,
    scheduled.map(({ invoice }) => invoice),
  );
  const statuses = new Map<string, SubscriptionStatus>();
  for (const { invoice, cause } of scheduled) {
    const id = subscriptionOf(invoice);
    const before = statuses.get(id) ?? statusOf(subscriptions, invoice);
    // The default plan is what every customer stands on: it is never canceled.
    const isKept = dunning.terminalAction === 'canceled' && subscriptions.get(id)?.isDefaultPlan === true;
    const terminalAction = isKept ? 'unpaid' : dunning.terminalAction;
    statuses.set(id, statusAfterFailure(before, { invoice, cause }, terminalAction));
  }
  const changed = [...statuses].flatMap(([id, status]) => {
    const subscription = subscriptions.get(id);
    return subscription && subscription.status !== status ? { ...subscription, status } : [];
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
  const happening = cause === 'method_missing' ? 'payment_method_missing' : 'payment_failed';
  const failed = statusAfter(status, happening) ?? status;
  if (invoice.nextAttemptAt !== null || terminalAction !== 'unpaid') return failed;
  return statusAfter(failed, 'retries_exhausted') ?? failed;
}
