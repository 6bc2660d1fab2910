import { type Discount, freePlan, type Plan, smallestCharge } from './catalogue.ts';
import { boundary, dayMs, rounded } from './oracle-arithmetic.ts';
import { applyChange, issue, methodOf, order, pay, recover, sumOf, takeBack } from './oracle-billing.ts';
import { itemLines } from './oracle-clock.ts';
import { carryOut } from './oracle-collecting.ts';
import { endSubscription, newSubscription, startFree } from './oracle-ending.ts';
import {
  type Books,
  type Customer,
  type Invoice,
  invoicesOf,
  isForPeriod,
  isInArrears,
  isInTheWay,
  type Method,
  type Payment,
  type Period,
  paidOf,
  refundedOf,
  type Subscription,
} from './oracle-records.ts';
import { grantPeriod } from './oracle-usage.ts';

/** What callers ask for. What is refused is not brought here. */

export function createCustomer(books: Books, name: string): Customer {
  const customer: Customer = {
    name,
    methods: [],
    defaultMethod: null,
    isBroke: false,
    subscriptions: [],
    invoices: [],
  };
  books.customers.push(customer);
  startFree(books, customer, books.now);
  return customer;
}

export function attach(customer: Customer, method: Method, isDefault: boolean): void {
  customer.methods.push(method);
  if (isDefault || customer.defaultMethod === null) customer.defaultMethod = method;
}

/** What a customer is subscribed to, and pays with where it names that. */
export interface Wish {
  readonly plan: Plan;
  readonly quantity: number;
  readonly discount: Discount | null;
}

export function subscribe(books: Books, customer: Customer, { plan, quantity, discount }: Wish): void {
  const { now } = books;
  const replaced = customer.subscriptions.find((each) => each.isFree && isInTheWay(each)) ?? null;
  const hadTrial = customer.subscriptions.some(({ trialEnd }) => trialEnd !== null);
  const trialEnd = plan.trialDays > 0 && !hadTrial ? now + plan.trialDays * dayMs : null;
  const method = trialEnd === null ? customer.defaultMethod : null;
  const end = trialEnd ?? boundary(now, plan, 1);
  const waits = trialEnd === null && method === null;
  const period: Period | null = waits ? null : { start: now, end, wholeStart: now, isTrial: trialEnd !== null };
  const status = trialEnd === null ? 'incomplete' : 'trialing';
  const known = { customer, plan, quantity, discount, trialEnd, period, replaced };
  const subscription = newSubscription(books, { ...known, status });
  if (period !== null && trialEnd !== null) grantPeriod(subscription, period, true);
  if (period !== null && method !== null) {
    const lines = itemLines(subscription, period);
    const bill = { reason: 'subscription_start', at: now, period, lines } as const;
    const invoice = issue(books, subscription, bill, { method });
    if (invoice?.status === 'open') order(books, invoice, method);
  }
  if (replaced !== null) endSubscription(books, replaced, { at: now, reason: 'upgraded_to_paid' });
  carryOut(books);
}

export function cancelNow(books: Books, subscription: Subscription): void {
  endSubscription(books, subscription, { at: books.now, reason: null });
  carryOut(books);
}

export function cancelAtEnd(subscription: Subscription): void {
  subscription.status = 'cancellation_scheduled';
  subscription.cancelAt = subscription.period?.end ?? null;
}

/** Takes a scheduled end back: what it would be without. */
export function uncancel({ now }: Books, subscription: Subscription): void {
  const { trialEnd } = subscription;
  const attempts = invoicesOf(subscription)
    .filter((each) => isForPeriod(each) && each.status === 'open')
    .map((each) => each.attempts);
  const most = Math.max(0, ...attempts);
  const owing = most > 3 ? 'unpaid' : 'past_due';
  const isInTrial = trialEnd !== null && trialEnd > now;
  subscription.status = isInTrial ? 'trialing' : most === 0 ? 'active' : owing;
  subscription.cancelAt = null;
}

/** How a change now ends. `lacks_method`: there is nothing to charge, and nothing has been tried. */
export type Changed = 'made' | 'lacks_method' | 'not_paid';

/** Another quantity of the same plan, now: paid first. */
export function changeNow(books: Books, subscription: Subscription, quantity: number): Changed {
  const { period } = subscription;
  if (period === null) return 'not_paid';
  const amount = Math.max(0, worthWith(books, subscription, period, quantity) - paidForPlan(subscription, period));
  if (amount === 0) {
    applyChange(books, subscription, quantity);
    return 'made';
  }
  const method = methodOf(subscription);
  // A discount of all of it leaves nothing to charge, which the generator does not come to without a method.
  if (method === null) return 'lacks_method';
  const lines = [{ kind: 'change', amount, units: 0 }] as const;
  const bill = { reason: 'adjustment', at: books.now, period, lines } as const;
  const invoice = issue(books, subscription, bill, { change: quantity });
  if (invoice?.status === 'open') order(books, invoice, method, quantity);
  carryOut(books);
  return invoice?.status === 'paid' ? 'made' : 'not_paid';
}

/** What the period is worth: of each stretch its share, rounded once. */
function worthWith({ now }: Books, subscription: Subscription, period: Period, quantity: number): number {
  const { unitPrice } = subscription.plan;
  const whole = BigInt(period.end - period.wholeStart);
  const past = subscription.holdings.map(({ quantity: count, start, end }) => {
    const time = Math.min(end ?? now, now) - Math.max(start, period.start);
    return BigInt(count * unitPrice) * BigInt(Math.max(0, time));
  });
  const rest = BigInt(quantity * unitPrice) * BigInt(period.end - now);
  return rounded(
    past.reduce((sum, each) => sum + each, rest),
    whole,
  );
}

/** What was paid for the plan by the list: before discount, without usage, less what went back. */
function paidForPlan(subscription: Subscription, period: Period): number {
  return invoicesOf(subscription)
    .filter((each) => each.period === period && each.status !== 'void' && each.reason !== 'final_usage')
    .reduce((sum, invoice) => {
      const list = sumOf(invoice.lines.filter(({ kind }) => kind === 'item' || kind === 'change'));
      if (invoice.total === 0) return sum + list;
      return sum + rounded(BigInt(list) * BigInt(paidOf(invoice) - refundedOf(invoice)), BigInt(invoice.total));
    }, 0);
}

/** What was paid and is not used up is kept, but no more than the rest is worth now. */
export function pause(books: Books, subscription: Subscription, resumesAt: number | null): void {
  const { period, quantity, plan } = subscription;
  if (period === null) return;
  const { now } = books;
  const whole = BigInt(period.end - period.wholeStart);
  const rest = rounded(BigInt(quantity * plan.unitPrice) * BigInt(period.end - now), whole);
  const unused = paidForPlan(subscription, period) - worthUntil(subscription, period, now);
  subscription.kept += Math.max(0, Math.min(unused, rest));
  subscription.status = 'paused';
  subscription.resumesAt = resumesAt;
  subscription.period = { ...period, end: now };
}

function worthUntil({ holdings, plan }: Subscription, period: Period, now: number): number {
  const sum = holdings.reduce((total, { quantity, start, end }) => {
    const time = Math.min(end ?? now, now) - Math.max(start, period.start);
    return total + BigInt(quantity * plan.unitPrice) * BigInt(Math.max(0, time));
  }, 0n);
  return rounded(sum, BigInt(period.end - period.wholeStart));
}

/** The oldest invoice of a period that is owed. */
export function oldestOwed(subscription: Subscription): Invoice | null {
  return invoicesOf(subscription).find((each) => isForPeriod(each) && each.status === 'open') ?? null;
}

/** Charges what is owed longest. Answers whether the money came. */
export function retry(books: Books, invoice: Invoice, method: Method): boolean {
  order(books, invoice, method);
  carryOut(books);
  return invoice.payments.at(-1)?.status === 'succeeded';
}

export function voidInvoice(books: Books, invoice: Invoice): void {
  const { subscription } = invoice;
  takeBack(invoice);
  // What has ended keeps nothing.
  if (subscription.canceledAt === null && subscription.status !== 'incomplete_expired')
    for (const line of invoice.lines) if (line.kind === 'paused_time') subscription.kept -= line.amount;
  if (['past_due', 'unpaid'].includes(subscription.status) && !isInArrears(subscription))
    recover(books, subscription, null);
}

/** Money that came outside of the network. */
export function recordMoney(books: Books, invoice: Invoice, amount: number): void {
  invoice.payments.push({ amount, status: 'succeeded', refunded: 0, isCharge: false });
  invoice.subscription.everPaid = true;
  if (paidOf(invoice) === invoice.total) pay(books, invoice, null, null);
}

export function refund(invoice: Invoice, payment: Payment, amount: number): void {
  payment.refunded += amount;
  invoice.status = refundedOf(invoice) === paidOf(invoice) ? 'refunded' : 'partially_refunded';
}

/** Whether the network would take so much. */
export function isCharged(customer: Customer, method: Method, amount: number): boolean {
  return method.isGood && !customer.isBroke && amount >= smallestCharge;
}

/** Whether it is the plan that every customer stands on. */
export function isDefaultPlan({ plan }: Subscription): boolean {
  return plan === freePlan;
}
