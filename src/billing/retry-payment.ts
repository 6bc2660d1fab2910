import type { Work } from '../database/work.ts';
import { findOldestOwed } from '../invoicing/store-collecting.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { findPayment, findPaymentMethod, listChargeableMethods } from '../payments/actions.ts';
import type { PaymentRow } from '../payments/store.ts';
import { isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { holdCurrent } from './catch-up.ts';
import { chargeInvoice } from './charge-invoice.ts';
import { reread } from './subscribe.ts';

/** A subscription and the payment requested for it. */
export interface RetriedPayment {
  readonly subscription: SubscriptionRow;
  readonly payment: PaymentRow;
}

/**
 * Charges the oldest unpaid period invoice of the subscription after the commit: to the given payment method, else to
 * the subscription's. Refuses a subscription that owes nothing, has ended or is not charged, and one without a payment
 * method.
 */
export async function retryPayment(work: Work, id: string, paymentMethodId: string | null): Promise<RetriedPayment> {
  const { subscription } = await holdCurrent(work, id);
  const { status, doNotCharge } = subscription;
  if (isTerminal(status)) throw new Problem('subscriptionTerminal', { id, status });
  if (doNotCharge) throw new Problem('subscriptionNotCharged', { id });
  const invoice = await findOldestOwed(work, id);
  if (invoice === null) throw new Problem('nothingOwed', { id });
  const payment = await chargeInvoice(work, invoice, await methodFor(work, subscription, paymentMethodId));
  return { subscription: await reread(work, subscription), payment };
}

async function methodFor(work: Work, subscription: SubscriptionRow, given: string | null): Promise<string> {
  const { id, customerId } = subscription;
  if (given !== null) {
    if ((await findPaymentMethod(work, given))?.customerId === customerId) return given;
    throw invalid(['paymentMethodId'], `must be a payment method of customer ${customerId}`);
  }
  const stored = (await listChargeableMethods(work, [subscription])).get(id);
  if (stored === undefined) throw new Problem('paymentMethodRequired', { id });
  return stored;
}

/** The outcome of the charge. Refuses with `paymentFailed` if it failed. */
export async function reportRetry(
  work: Work,
  asked: { readonly subscription: { readonly id: string }; readonly payment: { readonly id: string } },
): Promise<RetriedPayment> {
  const payment = await findPayment(work, asked.payment.id);
  if (payment === null) throw new Problem('paymentNotFound', { id: asked.payment.id });
  const { status, failureCode, failureMessage } = payment;
  if (status === 'failed' || status === 'canceled')
    throw new Problem('paymentFailed', { code: failureCode ?? status, reason: failureMessage ?? 'No money moved.' });
  return { subscription: await reread(work, asked.subscription), payment };
}
