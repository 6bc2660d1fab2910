import { findCustomer } from '../customers/store.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { listLinesOfInvoices } from '../invoicing/store.ts';
import { settleUsage } from '../ledger/actions.ts';
import type { Work } from '../platform/work.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { findSubscription, saveSubscription } from '../subscriptions/store.ts';
import { findBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { isTerminal, type SubscriptionRow, statusAfter } from '../subscriptions/subscription.ts';
import { grantPeriodCredits } from './grant-period-credits.ts';

/**
 * What follows when an invoice has been paid: its usage is no longer owed, the subscription that waited for the money
 * is active, and the credits of a first period that had to be paid for are granted. Safe to tell twice. The caller
 * holds the customer and the subscription.
 */
export async function recordPaid(work: Work, invoice: InvoiceRow, paymentMethodId: string | null): Promise<void> {
  await settleInvoiceUsage(work, invoice.id);
  if (invoice.subscriptionId === null) return;
  const subscription = await findSubscription(work, invoice.subscriptionId);
  if (subscription === null || isTerminal(subscription.status)) return;
  const paid = await activate(work, subscription, paymentMethodId);
  if (invoice.reason === 'subscription_start' && invoice.billingPeriodId !== null) {
    const period = await findBillingPeriod(work, invoice.billingPeriodId);
    await grantPeriodCredits(work, paid, period, { isFirst: true });
  }
}

/** Books that the units which a paid invoice bills are paid for. */
export async function settleInvoiceUsage(work: Work, invoiceId: string): Promise<void> {
  const lines = await listLinesOfInvoices(work, [invoiceId]);
  const settled = lines.flatMap(({ ledgerAccountId, ledgerAccountCredit }) =>
    ledgerAccountId === null || ledgerAccountCredit === null ? [] : { ledgerAccountId, units: ledgerAccountCredit },
  );
  await settleUsage(work, invoiceId, settled);
}

/** The subscription after a payment. One that was started without a payment method keeps the one that was charged. */
async function activate(
  work: Work,
  subscription: SubscriptionRow,
  paymentMethodId: string | null,
): Promise<SubscriptionRow> {
  const status = statusAfter(subscription.status, 'paid') ?? subscription.status;
  if (status === subscription.status) return subscription;
  const saved = await saveSubscription(work, subscription.id, {
    status,
    defaultPaymentMethodId: subscription.defaultPaymentMethodId ?? paymentMethodId,
  });
  const customer = await findCustomer(work, saved.customerId);
  if (customer !== null) await publishSubscription(work, 'subscription.updated', saved, customer);
  return saved;
}
