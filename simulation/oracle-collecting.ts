import { retryDays, smallestCharge } from './catalogue.ts';
import { dayMs } from './oracle-arithmetic.ts';
import { isTopUp, methodOf, noteEverPaid, order, pay, takeBack, unitsOf } from './oracle-billing.ts';
import { endSubscription, replaceFree } from './oracle-ending.ts';
import {
  type Books,
  draftOf,
  dueOf,
  type Invoice,
  invoicesOf,
  isDunned,
  isTerminal,
  type Method,
  type Order,
  type Payment,
  reach,
  type Subscription,
} from './oracle-records.ts';
import { finalizeTogether } from './oracle-reviews.ts';
import { topUpFailed } from './oracle-top-ups.ts';

/** Collection of payments, and the consequences of failures. */

/** Sends every order to the network, and applies the consequences. */
export function carryOut(books: Books): void {
  for (let next = books.orders.shift(); next !== undefined; next = books.orders.shift()) charge(books, next);
}

function charge(books: Books, { invoice, method, change, isOnRequest }: Order): void {
  const amount = dueOf(invoice);
  const takes = method.isGood && !invoice.customer.isBroke && amount >= smallestCharge;
  const payment: Payment = { amount, status: 'processing', refunded: 0, method, isOnRequest };
  invoice.payments.push(payment);
  if (takes && method.takesDays) invoice.status = 'awaiting_payment_confirmation';
  else conclude(books, invoice, payment, takes, change);
}

/** The outcome of a charge, immediate or days later. */
export function conclude(
  books: Books,
  invoice: Invoice,
  payment: Payment,
  takes: boolean,
  change: Order['change'] = null,
): void {
  payment.status = takes ? 'succeeded' : 'failed';
  invoice.status = 'open';
  if (takes) {
    noteEverPaid(invoice);
    pay(books, invoice, payment.method, change);
    if (invoice.reason === 'subscription_start') replaceFree(books, invoice.subscription);
    return;
  }
  const { isOnRequest } = payment;
  const isEarly = invoice.attempts === 0 && invoice.dueAt > books.now;
  if (isOnRequest)
    reach(books, `payment on request declined ${isEarly ? 'before' : 'after'} the due date`, invoice.customer);
  if (isOnRequest && isEarly) {
    invoice.nextAt = isDunned(invoice) ? invoice.dueAt : null;
    return;
  }
  invoice.attempts += 1;
  fail(books, invoice, isOnRequest ? 'declined_on_request' : 'declined');
}

/** The subscription whose method is charged: of a consolidated invoice the first that is tried. */
export function payerOf({ subscription, parts = [] }: Invoice): Subscription {
  const of = parts.map((part) => part.subscription);
  return of.find((each) => !isTerminal(each) && each.status !== 'unpaid') ?? of[0] ?? subscription;
}

/** The method that is charged: for a consolidated invoice the default of its customer before that of one subscription. */
function methodFor(invoice: Invoice): Method | null {
  const { customer, parts } = invoice;
  return parts === undefined ? methodOf(invoice.subscription) : (customer.defaultMethod ?? payerOf(invoice).method);
}

/** Applies the consequences of a failed, counted attempt. */
export function fail(
  books: Books,
  invoice: Invoice,
  cause: 'declined' | 'declined_on_request' | 'method_missing',
): void {
  const { subscription, reason } = invoice;
  const isOnRequest = cause === 'declined_on_request';
  if (reason === 'purchase' && !isOnRequest) reach(books, 'pack not paid', invoice.customer);
  if (!isOnRequest && ((reason === 'adjustment' && !isDunned(invoice)) || reason === 'purchase'))
    takeBack(books, invoice);
  if (isTopUp(invoice) && invoice.status === 'void') topUpFailed(books, invoice.customer);
  if (!isDunned(invoice)) return;
  if (invoice.parts !== undefined) {
    // No subscription takes back what others owe with it.
    const owing = invoice.parts.map((part) => part.subscription).filter((each) => !isTerminal(each));
    if (owing.length === 0) return;
    reach(books, 'consolidated invoice not paid', invoice.customer);
    for (const each of owing) tryAgain(books, invoice, each, cause);
    return;
  }
  if (isTerminal(subscription)) {
    const neverWas = reason === 'subscription_start' || subscription.reason === 'non_payment';
    if (!isOnRequest && !subscription.everPaid && neverWas && unitsOf(invoice) === 0) takeBack(books, invoice);
    return;
  }
  if (cause === 'declined' && !subscription.isFree && !subscription.everPaid && !hasUsedTime(subscription)) {
    reach(books, 'first payment failed', invoice.customer);
    takeBack(books, invoice);
    endSubscription(books, subscription, { at: books.now, reason: 'non_payment', neverWas: true });
    return;
  }
  tryAgain(books, invoice, subscription, cause);
}

/** Schedules the next attempt, and lets a subscription be past due until then or, after the last one, unpaid. */
function tryAgain(books: Books, invoice: Invoice, subscription: Subscription, cause: Parameters<typeof fail>[2]): void {
  const days = retryDays[invoice.attempts - 1];
  invoice.nextAt = days === undefined ? null : books.now + days * dayMs;
  const isScheduled = subscription.status === 'cancellation_scheduled';
  const before = isScheduled ? subscription.arrears : subscription.status;
  if (!['none', 'active', 'past_due'].includes(before) && !(before === 'trialing' && cause === 'method_missing'))
    return;
  subscription.arrears = days === undefined ? 'unpaid' : 'past_due';
  reach(books, subscription.arrears, invoice.customer);
  if (!isScheduled) subscription.status = subscription.arrears;
}

/** Whether time was used before it is paid. Only a first payment in advance ends a subscription. */
function hasUsedTime(subscription: Subscription): boolean {
  const { plan } = subscription;
  return plan.billsAtEnd || invoicesOf(subscription).some(({ lines }) => lines.some(({ kind }) => kind === 'at_end'));
}

/** Starts collecting a new invoice; without a payment method, on its due date. */
export function collect(books: Books, invoice: Invoice | null): void {
  if (invoice === null || invoice.status !== 'open') return;
  const isRetried = isDunned(invoice);
  if (isRetried && payerOf(invoice).status === 'unpaid') return;
  if (isRetried && methodFor(invoice) === null && invoice.dueAt > books.now) invoice.nextAt = invoice.dueAt;
  else attempt(books, invoice);
}

/** Ends the review of a subscription's draft, which is billed or changed at an instant. Its charge is requested. */
export function endReview(books: Books, subscription: Subscription, at: number): void {
  const draft = draftOf(subscription);
  if (draft === undefined) return;
  for (const invoice of finalizeTogether(books, draft, at)) collect(books, invoice);
}

/** Charges it, or counts an attempt without a payment method. */
export function attempt(books: Books, invoice: Invoice): void {
  const method = methodFor(invoice);
  if (method !== null) {
    order(books, invoice, method);
    return;
  }
  if (!isDunned(invoice)) return;
  invoice.attempts += 1;
  fail(books, invoice, 'method_missing');
}
