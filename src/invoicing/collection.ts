import assert from 'node:assert/strict';
import { addDays, type Instant } from '../kernel/calendar.ts';
import { decidePaid, type InvoiceMoney, type InvoiceReason, type InvoiceStatus, nextInvoiceStatus } from './invoice.ts';

/** The fields of an invoice that collection uses. */
export interface Collection extends InvoiceMoney {
  /** Failed attempts. */
  readonly attemptCount: number;
  /** The next automatic retry; null if there is none. */
  readonly nextAttemptAt: Instant | null;
}

/** Reasons of invoices for a period. */
const periodReasons = ['subscription_start', 'renewal'] as const satisfies readonly InvoiceReason[];

/** Reasons of invoices that nobody has asked for, so that each is retried. */
export const dunnedReasons = [...periodReasons, 'usage', 'usage_threshold'] as const satisfies readonly InvoiceReason[];

/** Whether the invoice is for a period, not for a change within it. */
export function isForPeriod({ reason }: { readonly reason: InvoiceReason }): boolean {
  return periodReasons.some((each) => each === reason);
}

/** The fields that decide whether an invoice is dunned. */
export interface Dunnable {
  readonly reason: InvoiceReason;
  readonly invoiceDate: Instant;
  readonly dueDate: Instant | null;
}

/**
 * Whether the invoice is retried after a failed attempt, and makes its subscription past due: the invoices of periods,
 * of usage, and of changes under net terms. A change that is paid first is due on its date. One that is due later has
 * been made.
 */
export function isDunned({ reason, invoiceDate, dueDate }: Dunnable): boolean {
  return (
    dunnedReasons.some((each) => each === reason) ||
    (reason === 'adjustment' && dueDate !== null && dueDate > invoiceDate)
  );
}

/** Whether payment of the invoice is still expected. */
export function isOwed({ status }: { readonly status: InvoiceStatus }): boolean {
  return status === 'open' || status === 'awaiting_payment_confirmation';
}

/** An invoice that is no longer owed is not retried. */
function inOrder<State extends Collection>(state: State): State {
  return isOwed(state) ? state : { ...state, nextAttemptAt: null };
}

/** The invoice when an attempt begins: no other is made until it has ended. */
export function attemptBegun<State extends Collection>(invoice: State): State {
  return { ...invoice, nextAttemptAt: null };
}

/** The invoice while an attempt is in progress. */
export function attemptInFlight<State extends Collection>(invoice: State): State {
  return { ...invoice, status: nextInvoiceStatus(invoice.status, 'payment_begun') ?? invoice.status };
}

/** The invoice after a failed attempt. A final status stays. */
export function attemptFailed<State extends Collection>(invoice: State): State {
  if (!isOwed(invoice)) return invoice;
  const status = nextInvoiceStatus(invoice.status, 'payment_failed') ?? invoice.status;
  return { ...invoice, status, attemptCount: invoice.attemptCount + 1 };
}

/** An invoice with its due date. */
interface Dated extends Collection, Dunnable {}

/** Whether collection of the invoice begins later. */
export function isEarly({ attemptCount, dueDate }: Pick<Dated, 'attemptCount' | 'dueDate'>, now: Instant): boolean {
  return attemptCount === 0 && dueDate !== null && dueDate > now;
}

/** The invoice after a declined payment on request before its due date. It does not count: collection begins then. */
export function earlyAttemptFailed<State extends Dated>(invoice: State): State {
  const { status, attemptCount } = attemptFailed(invoice);
  if (attemptCount === invoice.attemptCount) return invoice;
  return { ...invoice, status, nextAttemptAt: isDunned(invoice) ? invoice.dueDate : null };
}

/** The invoice after a payment of `paid` minor units. It stays open after a partial payment. */
export function moneyArrived<State extends Collection>(invoice: State, paid: bigint): State {
  const { amountPaid, status } = decidePaid(invoice, paid);
  const isPart = status === 'awaiting_payment_confirmation';
  return inOrder({ ...invoice, amountPaid, status: isPart ? 'open' : status });
}

/**
 * The invoice after a payment of `amount` minor units was reversed, of which `refundedAmount` had been refunded. The
 * payment counts as failed, so the invoice is owed again, less what credit notes took back of it. Earlier attempts led to the payment, so attempts are counted
 * again from this failure. A void or written-off invoice stays so.
 */
export function moneyTakenBack<State extends Collection>(
  invoice: State,
  {
    amount,
    refundedAmount,
    creditedAmount = 0n,
  }: {
    readonly amount: bigint;
    readonly refundedAmount: bigint;
    /** The part of the refunds that credit notes asked for. */
    readonly creditedAmount?: bigint;
  },
): State {
  const amountPaid = invoice.amountPaid - amount;
  const amountRefunded = invoice.amountRefunded - refundedAmount;
  const offsetAmount = invoice.offsetAmount + creditedAmount;
  assert(amountRefunded >= 0n && amountPaid >= amountRefunded, 'the payment was counted');
  const status = nextInvoiceStatus(invoice.status, 'payment_reversed') ?? invoice.status;
  const attemptCount = isOwed({ status }) ? 1 : invoice.attemptCount;
  return { ...invoice, amountPaid, amountRefunded, offsetAmount, status, attemptCount };
}

/** The time of the last retry of an invoice whose attempts fail immediately, from its due date or a later first failure on. */
export function lastRetryOf(
  { dueDate, invoiceDate }: Pick<Dunnable, 'dueDate' | 'invoiceDate'>,
  firstFailureAt: Instant | null,
  retryDays: readonly number[],
): Instant {
  const due = dueDate ?? invoiceDate;
  return addDays(
    Math.max(due, firstFailureAt ?? due),
    retryDays.reduce((sum, days) => sum + days, 0),
  );
}

/**
 * The next retry after the `failures`-th attempt has failed at `now`: as many days of 24 hours later as `retryDays`
 * says; null after the last. With 3, 5 and 5 days, attempts that fail immediately are made at 0, +3, +8 and +13 days.
 */
export function nextAttempt(failures: number, retryDays: readonly number[], now: Instant): Instant | null {
  assert(failures > 0, 'an attempt has failed');
  const days = retryDays[failures - 1];
  return days === undefined ? null : addDays(now, days);
}
