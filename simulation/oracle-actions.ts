import { type Discount, freePlan, type Pack, type Plan, smallestCharge } from './catalogue.ts';
import { boundary, calendarStart, dayAnchor, dayMs, intervalAt } from './oracle-arithmetic.ts';
import { byProgram, endAttempt, takeAttempt } from './oracle-attempts.ts';
import {
  feeLines,
  grantAwaited,
  issue,
  noteEverPaid,
  order,
  pay,
  recover,
  takeBack,
  takeBackPacks,
} from './oracle-billing.ts';
import { recountKept } from './oracle-changes.ts';
import { itemLines } from './oracle-clock.ts';
import { carryOut, collect, conclude } from './oracle-collecting.ts';
import { carryCredits, endSubscription, newSubscription, replaceFree, startFree } from './oracle-ending.ts';
import { changeOwnTerms, hasOpenUsage } from './oracle-metering.ts';
import { newPools } from './oracle-pools.ts';
import { sellPacks } from './oracle-purchases.ts';
import {
  askForThreshold,
  type Books,
  type Customer,
  dueOf,
  holderOf,
  type Invoice,
  invoicesOf,
  isDunned,
  isInArrears,
  isOwed,
  isTerminal,
  type Method,
  netTermsOf,
  type OwnTermsChange,
  type Payment,
  type Period,
  paidOf,
  partsOfInvoice,
  reach,
  refundedOf,
  type Subscription,
  type Terms,
  worthOf,
} from './oracle-records.ts';
import { holdingOf } from './oracle-subscription.ts';
import { takeBackLines } from './oracle-tax.ts';
import { noteRefund } from './oracle-titles.ts';
import { newRefills } from './oracle-top-ups.ts';
import { grantPeriod } from './oracle-usage.ts';

/** Requests of callers. Refused ones never get here. */

export function createCustomer(books: Books, name: string, taxedBy: Pick<Customer, 'place' | 'isExempt'>): Customer {
  const customer: Customer = {
    name,
    ...taxedBy,
    methods: [],
    defaultMethod: null,
    isBroke: false,
    subscriptions: [],
    waiting: { credits: [] },
    pools: newPools(),
    refills: newRefills(),
    limits: [],
    spends: [],
    reached: { limits: 0, thresholds: 0 },
    invoices: [],
    drafts: [],
    items: [],
    netTerms: null,
    reviewHours: null,
    consolidates: false,
    balance: null,
    declined: 0,
    holds: [],
    freeTimes: [],
  };
  books.customers.push(customer);
  startFree(books, customer, books.now);
  return customer;
}

/** Whether nothing but the free plan goes on, and no money is owed or on its way. */
export function isErasable({ subscriptions, invoices, drafts, items }: Customer): boolean {
  const payments = invoices.flatMap((invoice) => invoice.payments);
  return (
    !invoices.some(({ status }) => status === 'draft') &&
    subscriptions.every((each) => isTerminal(each) || isDefaultPlan(each)) &&
    drafts.length === 0 &&
    items.every(({ isInvoiced }) => isInvoiced) &&
    !invoices.some(isOwed) &&
    !payments.some(({ status }) => status === 'processing')
  );
}

/** Takes an erased customer out of the books. */
export function eraseCustomer({ customers }: Books, customer: Customer): void {
  customers.splice(customers.indexOf(customer), 1);
}

/** A card that the customer has already stays one method. A bank account here has no fingerprint to know it by. */
export function attach(customer: Customer, method: Method, isDefault: boolean): Method {
  const same = customer.methods.find(({ token, takesDays }) => token === method.token && !takesDays);
  if (same === undefined) customer.methods.push(method);
  if (isDefault || customer.defaultMethod === null) customer.defaultMethod = same ?? method;
  return same ?? method;
}

/** The plan to subscribe to, and the payment method, if named. */
export interface Wish {
  readonly plan: Plan;
  readonly quantity: number;
  /** The units of the add-on beside it; none when absent. */
  readonly addOns?: number;
  readonly discount: Discount | null;
  /** On a page: the quantity that the seller has set, and the method that the buyer chooses. */
  readonly offered?: number;
  readonly ownMethod?: Method | null;
  /** Whether the periods are those of the calendar. Without a trial. */
  readonly isByCalendar?: boolean;
  /** The day of the month on which they begin. */
  readonly day?: number | null;
  /** Whether the first one lasts through the next interval. */
  readonly isLong?: boolean;
  readonly threshold?: number | null;
  readonly ownTerms?: readonly OwnTermsChange[];
}

export function firstWorth(wish: Terms): number {
  return worthOf(wish) + (wish.plan.setupFee ?? 0);
}

/** Whether its first payment is charged at once. */
export function isChargedAtOnce({ subscriptions, defaultMethod }: Customer, { discount, ...terms }: Wish): boolean {
  const { plan } = terms;
  const hasTrial = plan.trialDays > 0 && subscriptions.every(({ trialEnd }) => trialEnd === null);
  return !hasTrial && !plan.billsAtEnd && defaultMethod !== null && !coversAll(discount, firstWorth(terms));
}

/** Whether somebody could be charged for a plan that is billed at its end. */
export function isChargeable(books: Books, customer: Customer, { discount, ...terms }: Wish) {
  if (!terms.plan.billsAtEnd || customer.defaultMethod !== null || netTermsOf(books, customer) > 0) return true;
  return coversAll(discount, firstWorth(terms));
}

/** Returns the subscription: it has ended if the first payment failed. */
export function subscribe(books: Books, customer: Customer, wish: Wish): Subscription {
  const {
    plan,
    quantity,
    addOns = 0,
    discount,
    offered = null,
    ownMethod = null,
    isByCalendar = false,
    day = null,
    isLong = false,
    threshold = null,
    ownTerms = [],
  } = wish;
  const { now } = books;
  const hadTrial = customer.subscriptions.some(({ trialEnd }) => trialEnd !== null);
  const trialEnd = plan.trialDays > 0 && !hadTrial ? now + plan.trialDays * dayMs : null;
  if (plan.trialDays > 0 && hadTrial) reach(books, 'second trial asked for', customer);
  const method = trialEnd === null ? (ownMethod ?? customer.defaultMethod) : null;
  const ofDay = day === null ? now : dayAnchor(plan, day, now);
  const anchor = isByCalendar ? calendarStart(plan, now) : ofDay;
  const whole = intervalAt(anchor, plan, now);
  if (whole.start < now) reach(books, 'first period by the calendar', customer);
  const lasts = isLong && whole.start < now;
  if (lasts) reach(books, 'long first period', customer);
  const end = trialEnd ?? (lasts ? boundary(anchor, plan, whole.index + 2) : whole.end);
  const isInvoiced =
    trialEnd === null &&
    (plan.billsAtEnd === true ||
      (method === null &&
        (netTermsOf(books, customer) > 0 || coversAll(discount, firstWorth({ plan, quantity, addOns })))));
  const waits = trialEnd === null && method === null && !isInvoiced;
  const period: Period | null = waits
    ? null
    : {
        start: now,
        end,
        wholeStart: lasts ? whole.end : whole.start,
        isTrial: trialEnd !== null,
        waived: 0,
        returned: 0,
      };
  const status = trialEnd !== null ? 'trialing' : isInvoiced ? 'active' : 'incomplete';
  const known = {
    customer,
    plan,
    quantity,
    addOns,
    discounts: discount === null ? [] : [{ discount, isOff: false }],
    trialEnd,
    period,
    isInvoiced,
    offered,
    method: ownMethod,
  };
  const subscription = newSubscription(books, { ...known, status, anchor, isByCalendar, day, threshold });
  changeOwnTerms(subscription, ownTerms, now);
  if (period !== null && (method === null || plan.billsAtEnd)) grantPeriod(subscription, period, true);
  if (period !== null && trialEnd === null) {
    const lines = [...itemLines(subscription, period), ...feeLines(subscription)];
    const bill = { reason: 'subscription_start', at: now, period, lines } as const;
    const invoice = issue(books, subscription, bill, { method });
    if (invoice?.status === 'open') collect(books, invoice);
    if (invoice?.status === 'paid') replaceFree(books, subscription);
  }
  if (period !== null && (method === null || plan.billsAtEnd)) replaceFree(books, subscription);
  else carryCredits(books, customer);
  carryOut(books);
  return subscription;
}

/** Books the plan that follows one with a scheduled end. */
export function book(
  books: Books,
  customer: Customer,
  { plan, quantity, addOns = 0, at }: Omit<Wish, 'discount'> & { at: number },
) {
  const period: Period = { start: at, end: at, wholeStart: at, isTrial: false, waived: 0, returned: 0 };
  const holdings = [holdingOf({ plan, quantity, addOns }, at)];
  newSubscription(books, { customer, plan, quantity, addOns, anchor: at, startsAt: at, period, holdings });
}

/** Sells packs by the API: charged at once, or invoiced within net terms. Calls need a plan that holds them. */
export function buyPacks(
  books: Books,
  customer: Customer,
  quantity: number,
  of: Pack,
): 'made' | 'refused' | 'not_paid' {
  const method = customer.defaultMethod;
  if ((of.calls > 0 && holderOf(customer) === undefined) || (method === null && netTermsOf(books, customer) === 0))
    return 'refused';
  const attempt = byProgram(customer);
  if (method !== null && !takeAttempt(books, attempt)) return 'refused';
  const status = sellPacks(books, customer, { quantity, method, of });
  if (status === 'void') return 'not_paid';
  if (method !== null) endAttempt(books, attempt, status === 'paid' ? 'paid' : 'passed');
  return 'made';
}

/** A discount that leaves nothing to pay needs no payment method. */
function coversAll(discount: Discount | null, listed: number): boolean {
  if (discount === null) return false;
  return discount.amount >= (discount.type === 'percent' ? 100 : listed);
}

export function cancelNow(books: Books, subscription: Subscription): void {
  endSubscription(books, subscription, { at: books.now, reason: null });
  carryOut(books);
}

export function cancelAtEnd(subscription: Subscription): void {
  subscription.status = 'cancellation_scheduled';
  subscription.cancelAt = subscription.period?.end ?? null;
}

/** Undoes a scheduled cancellation: the status without it. */
export function uncancel({ now }: Books, subscription: Subscription): void {
  const { trialEnd } = subscription;
  const attempts = invoicesOf(subscription)
    .filter((each) => isDunned(each) && isOwed(each))
    .map((each) => each.attempts);
  const most = Math.max(0, ...attempts);
  const owing = most > 3 ? 'unpaid' : 'past_due';
  const isInTrial = trialEnd !== null && trialEnd > now;
  subscription.status = isInTrial ? 'trialing' : most === 0 ? 'active' : owing;
  subscription.arrears = isInTrial || most === 0 ? 'none' : owing;
  subscription.cancelAt = null;
}

/** The oldest unpaid dunned invoice. */
export function oldestOwed(subscription: Subscription): Invoice | null {
  const oldest = invoicesOf(subscription).find((each) => isDunned(each) && isOwed(each));
  return oldest?.whole ?? oldest ?? null;
}

/** Charges the oldest debt. Returns whether the payment succeeded or is pending. */
export function retry(books: Books, invoice: Invoice, method: Method): boolean {
  order(books, invoice, method);
  carryOut(books);
  return invoice.payments.at(-1)?.status !== 'failed';
}

/** Charges an open invoice, also of an ended subscription. Returns whether the payment succeeded or is pending. */
export function payOnRequest(books: Books, invoice: Invoice, method: Method): boolean {
  const { reason, subscription } = invoice;
  reach(
    books,
    `payment on request of ${reason}${isTerminal(subscription) ? ' after the end' : ''}`,
    subscription.customer,
  );
  order(books, invoice, method, { isOnRequest: true });
  carryOut(books);
  return invoice.payments.at(-1)?.status !== 'failed';
}

export function voidInvoice(books: Books, invoice: Invoice): void {
  takeBack(books, invoice);
  for (const part of partsOfInvoice(invoice)) {
    const { subscription, lines, period } = part;
    // An ended subscription keeps nothing.
    if (subscription.canceledAt === null && subscription.status !== 'incomplete_expired')
      for (const line of lines)
        if (line.kind === 'paused_time') subscription.kept += Math.max(0, -line.amount - (period?.returned ?? 0));
    recountKept(books, subscription, part);
  }
  for (const { subscription } of partsOfInvoice(invoice)) recoverFrom(books, subscription);
}

/** Another threshold of the settings: all usage that waits is looked at. */
export function changeThreshold(books: Books, threshold: number | null): void {
  if (books.threshold === threshold) return;
  books.threshold = threshold;
  for (const each of books.customers.flatMap(({ subscriptions }) => subscriptions))
    if (!isTerminal(each) && each.threshold === null && hasOpenUsage(each)) askForThreshold(books, each);
}

/** Writes off an invoice; its items stay billed. */
export function writeOff(books: Books, invoice: Invoice): void {
  invoice.status = 'uncollectible';
  invoice.nextAt = null;
  if (invoice.reason === 'usage_threshold') askForThreshold(books, invoice.subscription);
  for (const part of partsOfInvoice(invoice)) recountKept(books, part.subscription, part);
  for (const { subscription } of partsOfInvoice(invoice)) recoverFrom(books, subscription);
}

function recoverFrom(books: Books, subscription: Subscription): void {
  if (subscription.arrears !== 'none' && !isInArrears(subscription)) recover(books, subscription, null);
  grantAwaited(books, subscription);
}

/** Records a payment outside the network. */
export function recordMoney(books: Books, invoice: Invoice, amount: number): void {
  invoice.payments.push({ amount, status: 'succeeded', refunded: 0, method: null, isOnRequest: false });
  noteEverPaid(invoice);
  if (dueOf(invoice) > 0) return;
  pay(books, invoice, null, null);
  if (invoice.reason === 'subscription_start') replaceFree(books, invoice.subscription);
}

/** Receives the bank's outcome of a slow charge. */
export function hearFromBank(books: Books, invoice: Invoice, payment: Payment, takes: boolean): void {
  conclude(books, invoice, payment, takes);
  carryOut(books);
}

export function refund(books: Books, invoice: Invoice, payment: Payment, amount: number): void {
  noteRefund(books, invoice, amount);
  if (invoice.usedBeforeRefund > 0) reach(books, 'refund of a pack after use', invoice.customer);
  payment.refunded += amount;
  takeBackLines(invoice, amount);
  // One that is paid in part stays open.
  if (!isOwed(invoice)) invoice.status = refundedOf(invoice) === paidOf(invoice) ? 'refunded' : 'partially_refunded';
  else reach(books, 'refund of a pack before it is paid', invoice.customer);
  recountKept(books, invoice.subscription, invoice);
  takeBackPacks(books, invoice);
}

/** Whether the network would accept this amount. */
export function isCharged(customer: Customer, method: Method, amount: number): boolean {
  return method.isGood && !customer.isBroke && amount >= smallestCharge;
}

/** Whether it is the default plan of every customer. */
export function isDefaultPlan({ plan }: Subscription): boolean {
  return plan === freePlan;
}
