import { freePlan } from './catalogue.ts';
import { boundary, intervalAt } from './oracle-arithmetic.ts';
import { issue, methodOf, order, withPausedTime } from './oracle-billing.ts';
import { give, liveCredits } from './oracle-credits.ts';
import { openPlanLimits } from './oracle-limits.ts';
import { takeMeasured } from './oracle-measured.ts';
import { allUntil, usageLines } from './oracle-metering.ts';
import { periodEndLines } from './oracle-period-end.ts';
import { endInPools } from './oracle-pools.ts';
import {
  type Books,
  type Customer,
  draftOf,
  holderOf,
  type Invoice,
  isBooked,
  isInTheWay,
  isTerminal,
  type Line,
  reach,
  type Subscription,
} from './oracle-records.ts';
import { finalizeReview } from './oracle-reviews.ts';
import { type Beginning, holdingOf, subscriptionWith } from './oracle-subscription.ts';
import { noteFreeTime } from './oracle-titles.ts';
import { noteHolder } from './oracle-top-ups.ts';
import { grantPeriod } from './oracle-usage.ts';

/** The start and end of subscriptions. */

export interface Ending {
  readonly at: number;
  readonly reason: 'upgraded_to_paid' | 'non_payment' | null;
  /** It was never paid. */
  readonly neverWas?: boolean;
  /** The first payment did not arrive in time. */
  readonly isExpired?: boolean;
}

/** A new subscription of its customer. */
export function newSubscription(books: Books, beginning: Beginning): Subscription {
  const subscription = subscriptionWith(books, beginning);
  subscription.customer.subscriptions.push(subscription);
  openPlanLimits(subscription);
  return subscription;
}

/** The free plan of every customer, with periods counted from `anchor` if one is kept. */
export function startFree(books: Books, customer: Customer, at: number, anchor: number = at): void {
  const whole = intervalAt(anchor, freePlan, at);
  const period = { start: at, end: whole.end, wholeStart: whole.start, isTrial: false, waived: 0, returned: 0 };
  const holdings = [holdingOf({ plan: freePlan, quantity: 1 }, at)];
  const free = newSubscription(books, { customer, plan: freePlan, anchor, period, holdings });
  noteFreeTime(customer, period);
  grantPeriod(free, period, true);
}

/** Ends a subscription; every end takes this path. Unbilled usage is billed. */
export function endSubscription(books: Books, subscription: Subscription, ending: Ending): void {
  const { at, reason, neverWas = false, isExpired = false } = ending;
  const { customer, period, kept } = subscription;
  const draft = draftOf(subscription);
  const reviewed = draft === undefined ? null : finalizeReview(books, draft, at);
  const usage = usageLines(subscription, allUntil(at));
  takeMeasured(subscription, allUntil(at));
  const paused = subscription.status === 'paused' ? subscription.pausedParts.at(-1) : undefined;
  const over = paused?.period ?? period;
  subscription.status = isExpired ? 'incomplete_expired' : 'canceled';
  subscription.arrears = 'none';
  subscription.canceledAt = isExpired ? null : at;
  subscription.cancelAt = isExpired ? null : at;
  subscription.reason = reason;
  subscription.scheduled = null;
  subscription.resumesAt = null;
  subscription.kept = 0;
  subscription.claims.clear();
  endInPools(books, subscription);
  const last = subscription.holdings.at(-1);
  if (last !== undefined) last.end = at;
  if (period !== null && period.start <= at) subscription.period = { ...period, end: Math.min(period.end, at) };
  const end = over && {
    period: over,
    at: paused?.at ?? Math.min(over.end, at),
    // A pause of no time keeps nothing.
    keepsRest: paused !== undefined && paused.at < at,
    usage,
  };
  const lines = [...usage, ...(end && !isBooked(subscription) ? periodEndLines(subscription, end) : [])];
  billFinalUsage(books, subscription, { kept, lines, reviewed }, ending);
  const isLeft = subscription.plan !== freePlan && reason !== 'upgraded_to_paid';
  const { replaced } = subscription;
  // The free plan fills the gap before a booked plan.
  const isGap = (each: Subscription) => isBooked(each) && each.anchor > at;
  if (isLeft && !customer.subscriptions.some((each) => each !== subscription && isInTheWay(each) && !isGap(each))) {
    reach(books, 'return to the free plan', customer);
    startFree(books, customer, at, neverWas && replaced !== null ? replaced.anchor : at);
  }
  carryCredits(books, customer);
  noteHolder(books, customer);
}

/** A paid subscription replaces the free one when nothing is left to pay for its start. */
export function replaceFree(books: Books, subscription: Subscription): void {
  const { customer } = subscription;
  if (subscription.isFree || isTerminal(subscription)) return;
  const free = customer.subscriptions.find((each) => each.isFree && isInTheWay(each)) ?? null;
  subscription.replaced ??= free;
  if (free !== null) endSubscription(books, free, { at: books.now, reason: 'upgraded_to_paid' });
  if (subscription.status !== 'paused') noteHolder(books, customer);
}

/** Credits that were bought or granted by hand leave ended subscriptions for the one that holds credits now. */
export function carryCredits(books: Books, customer: Customer): void {
  const { subscriptions } = customer;
  const holder = holderOf(customer);
  if (holder === undefined) return;
  const ended = subscriptions.filter(isTerminal);
  for (const [accounts, to] of [
    [[...ended, customer.waiting], holder],
    [ended.map(({ users }) => users), holder.users],
  ] as const)
    for (const from of accounts)
      for (const credit of liveCredits(books, from).filter(({ kind }) => kind === 'by_hand' || kind === 'bought')) {
        const { left, expiresAt, priority, kind, invoice } = credit;
        give(to, { issued: left, expiresAt, priority, kind, invoice });
        credit.takenBack += left;
        credit.left = 0n;
      }
}

function billFinalUsage(
  books: Books,
  subscription: Subscription,
  {
    kept,
    lines,
    reviewed,
  }: { readonly kept: number; readonly lines: readonly Line[]; readonly reviewed: Invoice | null },
  { at, reason }: Ending,
): void {
  const { period } = subscription;
  const bill = { reason: 'final_usage', at, period, lines } as const;
  const invoice = issue(books, subscription, withPausedTime(subscription, bill, kept));
  subscription.kept = 0;
  const method = methodOf(subscription);
  for (const each of [reviewed, invoice])
    if (each?.status === 'open' && reason !== 'non_payment' && method !== null) order(books, each, method);
}

/** The end of the next period that begins at an instant. */
export function nextEnd({ anchor, trialEnd, plan }: Subscription, start: number): number {
  const from = Math.max(anchor, trialEnd ?? anchor);
  return boundary(from, plan, intervalAt(from, plan, start).index + 1);
}
