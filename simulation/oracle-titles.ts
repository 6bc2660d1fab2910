import { freePlan, packOf } from './catalogue.ts';
import { rounded, type Span, share, total } from './oracle-arithmetic.ts';
import { heldOf } from './oracle-holds.ts';
import { partsOf } from './oracle-periods.ts';
import {
  type Books,
  type Customer,
  type Holding,
  type Invoice,
  invoicesOf,
  isForPeriod,
  isOwed,
  notedOf,
  type Period,
  pausedTimeOf,
  refundedOf,
  type Subscription,
} from './oracle-records.ts';

/**
 * The units to which a customer has a title: paid for, or owed, or freely given once. They follow from what was sold and
 * for what money, and not from any credit, so that no mistake in the rules of credits is in both.
 */

/** The title of a customer to units of the meter for calls: an upper bound, because shares are rounded up. */
export function titleOf(customer: Customer): number {
  const given = customer.subscriptions.filter(isGiven);
  const plans = given.filter(({ isFree }) => !isFree).reduce((sum, each) => sum + paidTitle(each), 0);
  return (
    plans + trialTitle(customer) + onceTitle(given) + freeTitle(customer) + handTitle(customer) + packTitle(customer)
  );
}

/** The title to users: the seller's grants only. */
export function usersTitleOf({ subscriptions }: Customer): number {
  const credits = subscriptions.flatMap(({ users }) => users.credits);
  return Number(
    total(credits, ({ transactionId, issued, takenByHand }) => (transactionId === null ? 0n : issued) - takenByHand),
  );
}

const settled: readonly Invoice['status'][] = ['paid', 'partially_refunded', 'refunded'];

/** Whether anything was given with it: not before its first payment, unless the seller waits for that. */
function isGiven(subscription: Subscription): boolean {
  const { isFree, trialEnd, isInvoiced, holdings } = subscription;
  if (isFree || trialEnd !== null || isInvoiced) return true;
  const starts = invoicesOf(subscription).filter(({ reason }) => reason === 'subscription_start');
  // A change under net terms is made before the payment.
  return starts.some((each) => settled.includes(each.status) || (isOwed(each) && holdings.length > 1));
}

/**
 * Each period that was billed, in full. Its rest that a pause or a change of interval gave up was paid too, until its
 * value pays for something else.
 */
function paidTitle(subscription: Subscription): number {
  const invoices = invoicesOf(subscription);
  const begun = invoices.filter((invoice) => isForPeriod(invoice) && isBegun(subscription, invoice));
  // A plan that is billed at the end has no invoice at the start of its period, and a change within it may have one.
  const ofPlan = invoices.filter((each) => isForPeriod(each) || each.reason === 'adjustment');
  const changes = ofPlan.filter(({ reason, period, status }, index) => {
    const isFirst = ofPlan.findIndex((each) => each.period === period) === index;
    return reason === 'adjustment' && isFirst && settled.includes(status);
  });
  const billed = [...begun, ...changes];
  const units = billed.reduce((sum, invoice) => sum + unitsOfPeriod(subscription, invoice), 0);
  const valid = invoices.filter((each) => each.status !== 'void' && (!isForPeriod(each) || begun.includes(each)));
  const spent = valid.reduce((sum, each) => sum + pausedTimeOf(each), 0);
  return units - Math.min(units, worthInUnits(subscription, spent)) + roundings(subscription, billed.length);
}

/** Whether the credits of the invoice's period came: not while it waits for payment without access. */
function isBegun({ awaiting, isInvoiced, holdings }: Subscription, invoice: Invoice): boolean {
  const { reason, status, period } = invoice;
  if (period === null || awaiting.includes(period)) return false;
  if (reason === 'renewal' || isInvoiced || settled.includes(status)) return true;
  return isOwed(invoice) && holdings.length > 1;
}

/**
 * The most that any plan within the period gives from then until its end: a dearer plan adds, a cheaper one takes nothing.
 * A period whose rest is given up is worth at least what its plans give for their times, because that was paid.
 */
function unitsOfPeriod(subscription: Subscription, { period, lines }: Invoice): number {
  if (period === null) return 0;
  const { holdings, pausedParts } = subscription;
  const begun = lines.reduce((sum, { kind, amount }) => sum + (kind === 'item' ? amount : 0), 0);
  const { start, end, wholeStart } = period;
  const within = holdings.filter((each) => {
    if (each.start >= start) return each.start < end;
    // One that was replaced at the very start counts if the period was billed for it.
    if (each.end === start) return share(each.value, end - start, end - wholeStart) === begun;
    return each.end === null || each.end > start;
  });
  const most = within.reduce((units, holding) => {
    return Math.max(units, Math.ceil(unitsIn(subscription, holding, period, { start: holding.start, end })));
  }, 0);
  if (within.some(({ plan }) => plan.grantInterval !== undefined))
    return Math.max(most, unitsOfTimes(subscription, within, period));
  if (!pausedParts.some((part) => part.period === period)) return most;
  const byTime = within.reduce((sum, holding) => {
    return sum + unitsIn(subscription, holding, period, { start: holding.start, end: holding.end ?? end });
  }, 0);
  return Math.max(most, Math.ceil(byTime));
}

/**
 * The units of a period in which a plan gave them by an interval of its own. The time of each plan gives the most of it
 * and of those before it that last as long as the period. An interval that has begun is given in full. Shares round up.
 */
function unitsOfTimes(subscription: Subscription, within: readonly Holding[], period: Period): number {
  const times = within.map((holding, index) => {
    const { grantInterval } = holding.plan;
    const left = holding.end ?? period.end;
    const parts = grantInterval === undefined ? [] : partsOf(subscription, period, grantInterval);
    const end = parts.find((part) => part.start < left && left <= part.end)?.end ?? left;
    const before = within.slice(0, index).filter(({ plan }) => plan.grantInterval === undefined);
    return [holding, ...before].map((each) => unitsIn(subscription, each, period, { start: holding.start, end }));
  });
  return times.reduce((sum, units) => sum + Math.ceil(Math.max(...units)) + 1, 0);
}

/** The units that a plan gives in a period for a time of it: of the period, or of each interval of its credits. */
function unitsIn(subscription: Subscription, { plan, recurring }: Holding, period: Period, time: Span): number {
  const { grantInterval } = plan;
  const own = [{ start: period.start, end: period.end, whole: { start: period.wholeStart, end: period.end } }];
  const parts = grantInterval === undefined ? own : partsOf(subscription, period, grantInterval);
  return parts.reduce((sum, { start, end, whole }) => {
    const length = Math.max(0, Math.min(time.end, end) - Math.max(time.start, start));
    return sum + (recurring * length) / (whole.end - whole.start);
  }, 0);
}

const leastDays = { day: 1, week: 7, month: 28, year: 365 } as const;
const mostDays = { day: 1, week: 7, month: 31, year: 366 } as const;

/** The units that an amount of paid time is worth at least, by the plans of the subscription. */
function worthInUnits({ holdings }: Subscription, amount: number): number {
  const rates = holdings.map(({ plan, recurring, value }) => {
    const { grantInterval = plan } = plan;
    const intervals = (leastDays[plan.unit] * plan.count) / (mostDays[grantInterval.unit] * grantInterval.count);
    return value === 0 ? 0 : (recurring * (grantInterval === plan ? 1 : intervals)) / value;
  });
  return Math.floor(amount * Math.min(...rates));
}

/** Each period and each pause may round a share up. */
function roundings({ pausedParts }: Subscription, periods: number): number {
  return periods + 2 * pausedParts.length;
}

/** One trial in a life, of the quantity that the seller has set. */
function trialTitle({ subscriptions }: Customer): number {
  const first = subscriptions.find(({ trialEnd }) => trialEnd !== null);
  if (first?.trialEnd == null) return 0;
  const { trialEnd, holdings, offered } = first;
  // The buyer may have asked for more on the page. Later changes are the seller's.
  const units = holdings.map(({ recurring, plan }, index) =>
    index === 0 && offered !== null ? Math.min(recurring, plan.recurring * offered) : recurring,
  );
  return holdings.reduce((most, { start }, index) => (start < trialEnd ? Math.max(most, units[index] ?? 0) : most), 0);
}

/** One-time units of a plan come once in a life, at its largest quantity. */
function onceTitle(given: readonly Subscription[]): number {
  const byPlan = new Map<string, number>();
  for (const { plan, once } of given.flatMap(({ holdings }) => holdings))
    byPlan.set(plan.slug, Math.max(byPlan.get(plan.slug) ?? 0, once));
  return [...byPlan.values()].reduce((sum, once) => sum + once, 0);
}

function freeTitle({ freeTimes }: Customer): number {
  return freeTimes.length * freePlan.recurring;
}

/**
 * Notes that a period of the free plan begins. One that begins within the time of another one gives nothing of its own,
 * unless the seller has moved the anchor.
 */
export function noteFreeTime({ freeTimes }: Customer, { start, end }: Pick<Period, 'start' | 'end'>, isMoved = false) {
  const last = freeTimes.at(-1);
  if (isMoved || last === undefined || start >= last.end) freeTimes.push({ start, end });
}

function handTitle({ subscriptions }: Customer): number {
  const credits = subscriptions.flatMap((each) => each.credits);
  const byHand = credits.filter(({ kind }) => kind === 'by_hand');
  return Number(
    total(byHand, ({ transactionId, issued, takenByHand }) => (transactionId === null ? 0n : issued) - takenByHand),
  );
}

/** Packs that were paid, less what was refunded and not used before. */
function packTitle({ invoices, subscriptions }: Customer): number {
  const credits = subscriptions.flatMap((each) => each.credits);
  const sold = invoices.filter(({ reason, status }) => reason === 'purchase' && settled.includes(status));
  return sold.reduce((sum, invoice) => {
    const byHand = Number(total(credits, (each) => (each.invoice === invoice ? each.takenByHand : 0n)));
    const lost = Math.max(byHand, refundedUnits(invoice, refundedOf(invoice)) - invoice.usedBeforeRefund);
    return sum + unitsOfPacks(invoice) - lost;
  }, 0);
}

function unitsOfPacks(invoice: Invoice): number {
  const { unitPrice, calls } = packOf(invoice);
  return (invoice.lines.reduce((sum, { amount }) => sum + amount, 0) / unitPrice) * calls;
}

function refundedUnits(invoice: Invoice, refunded: number): number {
  const price = invoice.total - notedOf(invoice, 'offset');
  return price === 0 ? 0 : rounded(BigInt(unitsOfPacks(invoice)) * BigInt(refunded), BigInt(price));
}

/** Notes a refund: the seller gives back money for as much as the customer has used or holds already. */
export function noteRefund(books: Books, invoice: Invoice, amount: number): void {
  if (invoice.reason !== 'purchase') return;
  const { subscriptions } = invoice.customer;
  const used = total(subscriptions, (each) => heldOf(books, each) + total(each.credits, ({ applied }) => applied));
  invoice.usedBeforeRefund += Math.min(Number(used), refundedUnits(invoice, amount) + 1);
}
