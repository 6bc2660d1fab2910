import { instantOf, type Work } from '../database/work.ts';
import { attemptBegun, attemptFailed, isDunned } from '../invoicing/collection.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { listOwedInvoices, lockDraftsOf, lockInvoices, saveCollections } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { listChargeableMethods } from '../payments/actions.ts';
import { listInvoicesBeingPaid } from '../payments/store.ts';
import { arrearsOf } from '../subscriptions/cancellation.ts';
import { findSubscriptions } from '../subscriptions/store.ts';
import { type Arrears, isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import type { DueWorkHandler } from './due-work-runner.ts';
import { type FinalDraft, finalBy, finalizeRenewals } from './finalize-renewals.ts';
import { type FailedAttempt, recordFailed } from './record-failed.ts';
import { chargeInvoices, recordPaid } from './record-paid.ts';
import { takeAttempts, takeFinalizations } from './store-due.ts';

/** An invoice of a subscription that the caller has locked. */
interface Collectable {
  readonly invoice: InvoiceRow;
  readonly subscription: SubscriptionRow;
}

// From this attempt on the backup payment method is used, if there is one.
const firstAttemptOnBackup = 3;

/**
 * Starts collecting new invoices: charges the subscription's payment method (else the customer's default) after the
 * commit. Without one, the first attempt is made on the due date and fails. An invoice that is paid from the start has
 * its consequences; one of an unpaid subscription waits for a manual retry. The number of statements does not depend on
 * the number of invoices.
 */
export async function collectInvoices(work: Work, collectables: readonly Collectable[]): Promise<void> {
  await recordPaid(
    work,
    collectables.map(({ invoice }) => ({ invoice, paymentMethodId: null })),
  );
  const due = collectables.filter(
    ({ invoice, subscription }) =>
      invoice.status === 'open' && !(isDunned(invoice) && subscription.status === 'unpaid'),
  );
  const { lacking } = await chargeWherePossible(work, due);
  const dunned = lacking.filter(({ invoice }) => isDunned(invoice));
  const isLater = ({ invoice: { dueDate, customerId } }: Collectable) =>
    dueDate !== null && dueDate > instantOf(work, customerId);
  const later = dunned.filter(isLater).map(({ invoice }) => ({ ...invoice, nextAttemptAt: invoice.dueDate }));
  await saveCollections(work, later);
  await failForLackOfMethod(
    work,
    dunned.filter((each) => !isLater(each)),
  );
}

/** Retries open invoices: charges them after the commit. An attempt without a payment method fails immediately. */
async function retryInvoices(work: Work, collectables: readonly Collectable[]): Promise<void> {
  const { lacking } = await chargeWherePossible(work, collectables);
  await failForLackOfMethod(work, lacking);
}

/** Charges the invoices that have a payment method after the commit, and returns those without one. */
async function chargeWherePossible(
  work: Work,
  collectables: readonly Collectable[],
): Promise<{ lacking: Collectable[] }> {
  if (collectables.length === 0) return { lacking: [] };
  const methods = await listChargeableMethods(
    work,
    collectables.map(({ subscription }) => subscription),
  );
  const orders = collectables.flatMap(({ invoice, subscription }) => {
    const isLate = invoice.attemptCount + 1 >= firstAttemptOnBackup;
    const backup = isLate ? subscription.backupPaymentMethodId : null;
    const paymentMethodId = backup ?? methods.get(subscription.id);
    return paymentMethodId === undefined ? [] : { invoice, paymentMethodId };
  });
  await chargeInvoices(work, orders);
  const charged = new Set(orders.map(({ invoice }) => invoice.id));
  return { lacking: collectables.filter(({ invoice }) => !charged.has(invoice.id)) };
}

async function failForLackOfMethod(work: Work, lacking: readonly Collectable[]): Promise<void> {
  const failed = lacking.map(({ invoice }): FailedAttempt => {
    return { invoice: attemptFailed(invoice), cause: 'method_missing', isOnRequest: false, code: null, message: null };
  });
  for (const [now, some] of Map.groupBy(failed, ({ invoice }) => instantOf(work, invoice.customerId)))
    await recordFailed({ ...work, now }, some);
}

/** The state of collecting dunned invoices for each of these subscriptions, by subscription id. */
export async function readArrears(work: Work, subscriptionIds: readonly string[]): Promise<(id: string) => Arrears> {
  const owed = (await listOwedInvoices(work, subscriptionIds)).filter(isDunned);
  if (owed.length === 0) return () => 'none';
  const open = Map.groupBy(owed, ({ subscriptionId }) => subscriptionId);
  const { retryDays, terminalAction } = (await readSettings(work)).dunning;
  return (id) => arrearsOf(open.get(id) ?? [], { retries: retryDays.length, terminalAction });
}

/** Finalizes the drafts of renewals whose review is over, each as of its end. */
export const finalizeHandler: DueWorkHandler = {
  name: 'finalize',
  take: takeFinalizations,
  async perform(work, ids) {
    const due = (await lockInvoices(work, ids)).flatMap((draft) => {
      const { finalizesAt: at } = draft;
      return at === null || at > work.now ? [] : { draft, at };
    });
    await finalizeAndCollect(work, due);
  },
};

/** A subscription that is billed or changed at an instant, which ends the review of its draft. */
interface ReviewEnd {
  readonly subscriptionId: string;
  readonly at: Instant;
}

/**
 * Finalizes the drafts of these subscriptions. The caller has locked the subscriptions with their customers. Without drafts
 * this is one statement.
 */
export async function endReviews(work: Work, ends: readonly ReviewEnd[]): Promise<void> {
  const drafts = await lockDraftsOf(
    work,
    ends.map(({ subscriptionId }) => subscriptionId),
  );
  const bySubscription = new Map(drafts.map((draft) => [draft.subscriptionId, draft]));
  await finalizeAndCollect(
    work,
    ends.flatMap(({ subscriptionId, at }) => {
      const draft = bySubscription.get(subscriptionId);
      return draft === undefined ? [] : finalBy(draft, at);
    }),
  );
}

/** Finalizes drafts of renewals, and begins to collect their invoices. */
export async function finalizeAndCollect(work: Work, finals: readonly FinalDraft[]): Promise<void> {
  const invoices = await finalizeRenewals(work, finals);
  const ids = invoices.flatMap(({ subscriptionId }) => subscriptionId ?? []);
  const subscriptions = new Map((await findSubscriptions(work, ids)).map((each) => [each.id, each]));
  await collectInvoices(
    work,
    invoices.flatMap((invoice) => {
      const subscription = subscriptions.get(invoice.subscriptionId ?? '');
      return subscription === undefined ? [] : { invoice, subscription };
    }),
  );
}

/** Retries uncollected invoices, and makes the first attempt for those whose due date has come. */
export const dunHandler: DueWorkHandler = { name: 'dun', take: takeAttempts, perform: dun };

async function dun(work: Work, ids: readonly string[]): Promise<void> {
  const invoices = (await lockInvoices(work, ids)).filter(
    ({ nextAttemptAt }) => nextAttemptAt !== null && nextAttemptAt <= work.now,
  );
  const subscriptionIds = [...new Set(invoices.flatMap(({ subscriptionId }) => subscriptionId ?? []))];
  const subscriptions = new Map((await findSubscriptions(work, subscriptionIds)).map((each) => [each.id, each]));
  const beingPaid = await listInvoicesBeingPaid(work, ids);
  const due: Collectable[] = [];
  const given: InvoiceRow[] = [];
  for (const invoice of invoices) {
    const subscription = invoice.subscriptionId === null ? undefined : subscriptions.get(invoice.subscriptionId);
    if (subscription && isToTry(invoice, subscription) && !beingPaid.has(invoice.id))
      due.push({ invoice, subscription });
    else given.push(invoice);
  }
  // These are not retried automatically; the invoice of a plan change has a single attempt.
  const last = due.map(({ invoice }) => invoice).filter((invoice) => !isDunned(invoice));
  await saveCollections(work, [...given, ...last].map(attemptBegun));
  await retryInvoices(work, due);
}

/** An ended subscription, or one unpaid after its last attempt, is charged on request only. */
function isToTry(invoice: InvoiceRow, { status }: SubscriptionRow): boolean {
  // The invoice of a change, or of the usage before it, is tried once.
  const isTried = isDunned(invoice) || invoice.reason === 'adjustment' || invoice.reason === 'final_usage';
  return invoice.status === 'open' && isTried && !isTerminal(status) && status !== 'unpaid';
}
