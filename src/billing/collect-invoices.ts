import { instantOf, type Work } from '../database/work.ts';
import { attemptBegun, attemptFailed, isDunned } from '../invoicing/collection.ts';
import { isConsolidated } from '../invoicing/consolidation.ts';
import { type InvoiceRow, withParts } from '../invoicing/store.ts';
import {
  listOwedInvoices,
  lockDraftsBeside,
  lockDraftsOf,
  lockInvoices,
  saveCollections,
} from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { listChargeableMethods } from '../payments/actions.ts';
import { listInvoicesBeingPaid } from '../payments/store.ts';
import { listDefaultMethods } from '../payments/store-payment-methods.ts';
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
 * this is one statement. Answers whether there was any: then a subscription may be past due, so the caller reads it again.
 */
export async function endReviews(work: Work, ends: readonly ReviewEnd[]): Promise<boolean> {
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
  return drafts.length > 0;
}

/** Finalizes the draft of a locked subscription that is changed now, and returns the subscription as it is then. */
export async function endReview(work: Work, subscription: SubscriptionRow): Promise<SubscriptionRow> {
  const { id } = subscription;
  if (!(await endReviews(work, [{ subscriptionId: id, at: work.now }]))) return subscription;
  return (await findSubscriptions(work, [id]))[0] ?? subscription;
}

/**
 * Finalizes drafts of renewals, and begins to collect their invoices. A draft whose review is over brings those that become
 * one invoice with it.
 */
export async function finalizeAndCollect(work: Work, finals: readonly FinalDraft[]): Promise<void> {
  const over = finals.flatMap(({ draft, at }) => (at === draft.finalizesAt ? draft : []));
  const beside = (await lockDraftsBeside(work, over)).map((draft) => finalBy(draft, work.now));
  const invoices = await finalizeRenewals(work, [...finals, ...beside]);
  await collectInvoices(work, await withSubscriptions(work, invoices));
}

/**
 * The invoices of subscriptions, each with its own. A consolidated one has the first that may be charged, and the default
 * payment method of the customer pays it before that of one subscription.
 */
async function withSubscriptions(work: Work, invoices: readonly InvoiceRow[]): Promise<Collectable[]> {
  const each = await withParts(work, invoices);
  const ids = each.flatMap(({ subscriptionId }) => subscriptionId ?? []);
  const subscriptions = new Map((await findSubscriptions(work, ids)).map((found) => [found.id, found]));
  const ofParts = Map.groupBy(each, ({ consolidatedInto }) => consolidatedInto);
  const wholes = invoices.filter(isConsolidated);
  const methods =
    wholes.length === 0
      ? new Map()
      : await listDefaultMethods(
          work,
          wholes.map(({ customerId }) => customerId),
        );
  return invoices.flatMap((invoice): Collectable | Collectable[] => {
    const own = subscriptions.get(invoice.subscriptionId ?? '');
    if (own !== undefined) return { invoice, subscription: own };
    const paying = (ofParts.get(invoice.id) ?? []).flatMap(({ subscriptionId }) => {
      return subscriptions.get(subscriptionId ?? '') ?? [];
    });
    const first = paying.find(({ status }) => !isTerminal(status) && status !== 'unpaid') ?? paying[0];
    if (first === undefined) return [];
    const method = methods.get(invoice.customerId);
    const ofCustomer = method === undefined ? {} : { defaultPaymentMethodId: method, backupPaymentMethodId: null };
    return { invoice, subscription: { ...first, ...ofCustomer } };
  });
}

/** Retries uncollected invoices, and makes the first attempt for those whose due date has come. */
export const dunHandler: DueWorkHandler = { name: 'dun', take: takeAttempts, perform: dun };

async function dun(work: Work, ids: readonly string[]): Promise<void> {
  const invoices = (await lockInvoices(work, ids)).filter(
    ({ nextAttemptAt }) => nextAttemptAt !== null && nextAttemptAt <= work.now,
  );
  const collectables = new Map((await withSubscriptions(work, invoices)).map((each) => [each.invoice.id, each]));
  const beingPaid = await listInvoicesBeingPaid(work, ids);
  const due: Collectable[] = [];
  const given: InvoiceRow[] = [];
  for (const invoice of invoices) {
    const subscription = collectables.get(invoice.id)?.subscription;
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
