import assert from 'node:assert/strict';
import { addDays, type Instant } from '../kernel/calendar.ts';
import { decidePaid, type InvoiceMoney, type InvoiceReason, type InvoiceStatus, nextInvoiceStatus } from './invoice.ts';

/** An invoice as far as collecting its money is concerned. */
export interface Collection extends InvoiceMoney {
  /** Attempts that have ended without money. */
  readonly attemptCount: number;
  /** When to try again; null when nobody does by itself. */
  readonly nextAttemptAt: Instant | null;
}

/** What an invoice for a period is made for. Only such an invoice is tried again by itself, and makes a subscription past due. */
export const periodReasons = ['subscription_start', 'renewal'] as const satisfies readonly InvoiceReason[];

/** Whether the invoice is tried again when it could not be collected. */
export function isDunned({ reason }: { readonly reason: InvoiceReason }): boolean {
  return periodReasons.some((each) => each === reason);
}

/** Whether somebody still expects money for it. */
export function isOwed({ status }: { readonly status: InvoiceStatus }): boolean {
  return status === 'open' || status === 'awaiting_payment_confirmation';
}

/** What is owed no more is not tried again. */
function inOrder<State extends Collection>(state: State): State {
  return isOwed(state) ? state : { ...state, nextAttemptAt: null };
}

/** The invoice when an attempt has begun: nothing else is tried until it has ended. */
export function attemptBegun<State extends Collection>(invoice: State): State {
  return { ...invoice, nextAttemptAt: null };
}

/** The invoice while an attempt takes its time. */
export function attemptUnderWay<State extends Collection>(invoice: State): State {
  return { ...invoice, status: nextInvoiceStatus(invoice.status, 'payment_begun') ?? invoice.status };
}

/** The invoice after an attempt that brought no money. What ended meanwhile stays as it is. */
export function attemptFailed<State extends Collection>(invoice: State): State {
  if (!isOwed(invoice)) return invoice;
  const status = nextInvoiceStatus(invoice.status, 'payment_failed') ?? invoice.status;
  return { ...invoice, status, attemptCount: invoice.attemptCount + 1 };
}

/** The invoice after `paid` minor units have arrived. With a part of what is due it is open. */
export function moneyArrived<State extends Collection>(invoice: State, paid: bigint): State {
  const { amountPaid, status } = decidePaid(invoice, paid);
  const isPart = status === 'awaiting_payment_confirmation';
  return inOrder({ ...invoice, amountPaid, status: isPart ? 'open' : status });
}

/**
 * The invoice when a payment of `amount` minor units has been taken back, of which `refundedAmount` had been refunded:
 * as though that payment had failed, so it is owed again. The attempts before it had led to money, so the attempts are
 * counted anew from this failure. What is void or was given up stays so.
 */
export function moneyTakenBack<State extends Collection>(
  invoice: State,
  { amount, refundedAmount }: { readonly amount: bigint; readonly refundedAmount: bigint },
): State {
  const amountPaid = invoice.amountPaid - amount;
  const amountRefunded = invoice.amountRefunded - refundedAmount;
  assert(amountRefunded >= 0n && amountPaid >= amountRefunded, 'the payment was counted');
  const status = nextInvoiceStatus(invoice.status, 'payment_reversed') ?? invoice.status;
  const attemptCount = isOwed({ status }) ? 1 : invoice.attemptCount;
  return { ...invoice, amountPaid, amountRefunded, status, attemptCount };
}

/**
 * When to try again after the `failures`-th attempt has failed at `now`: so many days of 24 hours later as `retryDays`
 * says of it; null after the last. With 3, 5 and 5 days, attempts that fail at once are made at 0, +3, +8 and +13 days.
 */
export function nextAttempt(failures: number, retryDays: readonly number[], now: Instant): Instant | null {
  assert(failures > 0, 'an attempt has failed');
  const days = retryDays[failures - 1];
  return days === undefined ? null : addDays(now, days);
}
