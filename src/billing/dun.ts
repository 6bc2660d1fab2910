import type { Work } from '../database/work.ts';
import { attemptBegun, isDunned } from '../invoicing/collection.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { claimAttempts, lockInvoices, saveCollections } from '../invoicing/store-collecting.ts';
import { listInvoicesBeingPaid } from '../payments/store.ts';
import { findSubscriptions } from '../subscriptions/store.ts';
import { isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { type Collectable, retryInvoices } from './collect-invoices.ts';
import type { DueStep } from './due-step.ts';

/** Retries uncollected invoices, and makes the first attempt for those whose due date has come. */
export const dunStep: DueStep = { name: 'dun', claim: claimAttempts, perform: dun };

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
  const isTried = isDunned(invoice) || invoice.reason === 'adjustment';
  return invoice.status === 'open' && isTried && !isTerminal(status) && status !== 'unpaid';
}
