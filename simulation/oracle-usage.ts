import { isMeasured, type Meter, type UsagePrice, usersSlug } from './catalogue-usage.ts';
import { share } from './oracle-arithmetic.ts';
import { creditLine, draw, give, hasEnded, liveCredits, withhold } from './oracle-credits.ts';
import { heldOf } from './oracle-holds.ts';
import { meter, noteLate } from './oracle-metering.ts';
import { nothing } from './oracle-pricing.ts';
import {
  askForThreshold,
  type Books,
  type Credit,
  type Customer,
  isTerminal,
  type Period,
  type Subscription,
} from './oracle-records.ts';
import { grantedFor, grantParts, partAround } from './oracle-rhythm.ts';

/** Credits of a period, and their use. */

/**
 * Grants a period's credits: the one-time ones with the first, and a prorated share if it is the rest of an interval. A
 * return to the free plan grants what was not used in a period of it that would still run. Credits with an interval of
 * their own come for the intervals that have begun by an instant.
 */
export function grantPeriod(
  subscription: Subscription,
  period: Period,
  isFirst: boolean,
  at: number = period.start,
): void {
  const { plan, quantity } = subscription;
  if (isFirst) giveOnce(subscription);
  if (plan.grantInterval !== undefined) {
    grantParts(subscription, period, { at });
    return;
  }
  const share = partOf(plan.recurring * quantity, period.start, period);
  const isRunning = ({ expiresAt }: Credit) => expiresAt !== null && expiresAt > period.start;
  const used = isFirst && subscription.isFree ? usedBefore(subscription, 'recurring', isRunning) : 0;
  // A long first period gives more than an interval.
  const most = Math.max(share, plan.recurring * quantity);
  const issued = Math.max(0, Math.min(share, most - used));
  const { start } = period;
  give(subscription, { issued, expiresAt: period.end, kind: 'recurring', plan, from: start, periodStart: start });
}

/** One-time credits come once for a customer: those that were not used on a subscription that has ended come again. */
export function giveOnce(subscription: Subscription): void {
  const { plan, quantity } = subscription;
  const issued = Math.max(0, plan.once * quantity - usedBefore(subscription, 'once', () => true));
  give(subscription, { issued, expiresAt: null, kind: 'once', plan });
  if (issued > 0) subscription.hadOnce.add(plan);
}

/** The units of its plan's credits that the customer used on ended subscriptions, and all of those on running ones. */
function usedBefore(subscription: Subscription, kind: Credit['kind'], counts: (credit: Credit) => boolean): number {
  const { customer, plan } = subscription;
  const others = customer.subscriptions.filter((each) => each !== subscription);
  return others
    .flatMap((each) => each.credits.map((credit) => ({ credit, hasEnded: isTerminal(each) })))
    .filter(({ credit }) => credit.kind === kind && credit.plan === plan && counts(credit))
    .reduce((sum, { credit, hasEnded: isOver }) => sum + (isOver ? credit.applied : credit.issued), 0);
}

/**
 * Grants the credits of a change for the rest of its period, minus those already granted, and the plan's one-time
 * credits if it never did.
 */
export function grantChange(subscription: Subscription, now: number): void {
  const { plan, quantity, period, hadOnce } = subscription;
  if (period === null) return;
  const part = partAround(subscription, period, now);
  const due = share(plan.recurring * quantity, part.end - now, part.whole.end - part.whole.start);
  // All credits that run to the end of a period count. To an interval those count that are for its time.
  const isOfInterval = plan.grantInterval !== undefined;
  const time = { start: isOfInterval ? part.whole.start : Number.NEGATIVE_INFINITY, end: part.end };
  const had = grantedFor(subscription, period, time, now).reduce((sum, { units }) => sum + units, 0);
  const times = { from: now, periodStart: period.start, expiresAt: part.end };
  give(subscription, { issued: Math.max(0, due - had), kind: 'recurring', plan, ...times });
  if (!hadOnce.has(plan)) giveOnce(subscription);
}

export function partOf(amount: number, from: number, { wholeStart, end }: Period): number {
  const [part, whole] = [BigInt(end - from), BigInt(end - wholeStart)];
  return Number((BigInt(amount) * part * 2n + whole) / (whole * 2n));
}

/** The units of its time: those taken back by hand before a pause did not come back after it. */
function offeredOf({ issued, resumedFrom }: Credit): number {
  return issued + (resumedFrom?.pausedByHand ?? 0);
}

/** The units taken back by hand of a credit, and of those whose rest it is, as far as they count. */
export function takenByHandOf(credit: Credit, counts: (before: Credit) => boolean = () => true): number {
  let sum = credit.takenByHand;
  for (let before = credit.resumedFrom; before !== null; before = before.resumedFrom)
    if (counts(before)) sum += before.takenByHand;
  return sum;
}

/**
 * Takes back the credits of a paused rest, as far as they are neither used nor held. The others are owed, but for those
 * that the seller took back by hand.
 */
export function takePausedBack(books: Books, subscription: Subscription, period: Period): void {
  const { now } = books;
  const isHeld = heldOf(books, subscription) > 0;
  let free = isHeld ? Math.max(0, balance(books, subscription)) : Number.MAX_SAFE_INTEGER;
  let owed = 0;
  const paused: Credit[] = [];
  for (const credit of subscription.credits) {
    const { from, expiresAt, periodStart } = credit;
    if (from === null || expiresAt === null || periodStart !== period.start || from >= expiresAt) continue;
    paused.push(credit);
    const ended = credit.pausedBack + credit.pausedOwed + credit.pausedByHand;
    const due = Math.max(0, share(offeredOf(credit), expiresAt - Math.max(now, from), expiresAt - from) - ended);
    const amount = Math.max(0, Math.min(credit.left, due, free));
    credit.left -= amount;
    credit.takenBack += amount;
    credit.pausedBack += amount;
    const ahead = Math.max(0, due - amount - takenByHandOf(credit));
    credit.pausedOwed += ahead;
    credit.pausedByHand += due - amount - ahead;
    owed += ahead;
    free -= amount;
  }
  owed = Math.min(owed, free);
  for (const credit of paused) owed -= withhold(credit, owed);
}

/** Gives back what a pause took or left owing, less the share of the paused time, rounded up. */
export function givePausedBack(subscription: Subscription, paused: Period, at: number): void {
  for (const credit of [...subscription.credits]) {
    const { from, expiresAt, periodStart, plan, priority, isResumed } = credit;
    if (from === null || expiresAt === null || periodStart !== paused.start || from >= expiresAt || isResumed) continue;
    const span = BigInt(expiresAt - from);
    const lost = Number((BigInt(offeredOf(credit)) * BigInt(at - paused.end) + span - 1n) / span);
    const ended = credit.pausedBack + credit.pausedOwed;
    credit.isResumed = ended > 0;
    const issued = Math.max(0, ended - lost);
    const times = { expiresAt, from: at, periodStart: at };
    give(subscription, { issued, kind: 'recurring', plan, priority, resumedFrom: credit, ...times });
  }
}

/** A use of the meter with credits, with an id. */
export interface Use {
  readonly subscription: Subscription;
  readonly transactionId: string;
  readonly amount: number;
  /** The price that the event names, or by which it is rated. */
  readonly price: UsagePrice;
  /** Null: it happens now. */
  readonly date: number | null;
}

/**
 * Records uses of one request. A repeat is the same use. Credits cover them in their order, but all at one price as its
 * first.
 */
export function use(books: Books, uses: readonly Use[]): void {
  const fresh = uses.filter(({ subscription, transactionId, amount }) => {
    if (subscription.events.has(transactionId)) return false;
    subscription.events.set(transactionId, amount);
    return true;
  });
  for (const { subscription, price, amount, date } of fresh)
    if (isLate(subscription, date)) noteLate(subscription, price, { ...nothing, units: BigInt(amount) });
  for (const ofSubscription of Map.groupBy(fresh, ({ subscription }) => subscription).values())
    for (const [price, each] of Map.groupBy(ofSubscription, (one) => one.price)) {
      const [first] = each;
      const sum = each.reduce((total, { amount }) => total + amount, 0);
      if (first !== undefined) cover(books, first.subscription, sum, price);
    }
}

/** An event of a meter without credits. */
interface Other {
  readonly meter: Meter;
  readonly transactionId: string;
  readonly units: number;
  readonly price: UsagePrice;
  /** Its own price, in 10^-12 of a minor unit. */
  readonly own: bigint;
  readonly told: unknown;
  readonly date: number | null;
}

function isLate({ period }: Subscription, date: number | null): boolean {
  return date !== null && period !== null && date < period.start;
}

/** Records an event once: answers whether it is new. Units that are measured later count here for nothing. Events are counted where the price has an amount for each, or none of its own. */
export function recordOther(
  books: Books,
  subscription: Subscription,
  { meter: of, transactionId, units, ...event }: Other,
): boolean {
  const { slug } = of;
  const account = subscription.meters.get(slug) ?? { events: new Map(), used: 0, settled: 0 };
  subscription.meters.set(slug, account);
  if (account.events.has(transactionId)) return false;
  account.events.set(transactionId, { units, told: event.told });
  if (isMeasured(of)) return true;
  account.used += units;
  askForThreshold(books, subscription);
  const { price, own } = event;
  const pricing = 'pricing' in price.terms ? price.terms.pricing : null;
  const countsEvents = pricing?.fixedAmountPerEvent !== undefined || pricing?.model === 'dynamic';
  const used = { units: BigInt(units), per: 1n, events: countsEvents ? 1n : 0n, own };
  if (isLate(subscription, event.date)) noteLate(subscription, price, used);
  meter(subscription, price, used);
  return true;
}

/** Covers usage with credits, as far as they go. */
export function cover(books: Books, subscription: Subscription, amount: number, price: UsagePrice): void {
  askForThreshold(books, subscription);
  const uncovered = draw(books, subscription, amount);
  subscription.used += amount;
  subscription.covered += amount - uncovered;
  if (uncovered > 0) meter(subscription, price, { ...nothing, units: BigInt(uncovered) });
}

/** The usable amount, not held; negative: overage that nobody has paid. */
export function balance(books: Books, subscription: Subscription): number {
  const left = liveCredits(books, subscription).reduce((sum, credit) => sum + credit.left, 0);
  const { covered, settled, used } = subscription;
  return left + covered + settled - used - heldOf(books, subscription);
}

/** The credits of calls of a customer: of subscriptions that have not ended, and those that wait for one. */
export function creditsOf(books: Books, customer: Customer) {
  const living = customer.subscriptions.filter((each) => !isTerminal(each));
  const waiting = [...customer.subscriptions.filter(isTerminal), customer.waiting]
    .flatMap((account) => liveCredits(books, account))
    .filter(({ kind }) => kind === 'by_hand' || kind === 'bought');
  const sumOf = (credits: readonly Credit[]) => credits.reduce((sum, { left }) => sum + left, 0);
  const credits = [...waiting, ...living.flatMap((each) => liveCredits(books, each))];
  return {
    availableBalance: living.reduce((sum, each) => sum + balance(books, each), sumOf(waiting)),
    granted: sumOf(credits.filter(({ kind }) => kind !== 'bought')),
    paid: sumOf(credits.filter(({ kind }) => kind === 'bought')),
    held: living.reduce((sum, each) => sum + heldOf(books, each), 0),
  };
}

/** The amount that may be taken back of a credit, given its remainder and open holds; null: `requested` is refused. */
export function takeBackOf(books: Books, subscription: Subscription, credit: Credit, requested: number | null) {
  const rest = hasEnded(credit, books.now) ? 0 : credit.left;
  const amount = requested ?? rest;
  const isHeld = heldOf(books, subscription) > 0 && amount > balance(books, subscription);
  return rest === 0 || amount > rest || isHeld ? null : amount;
}

export function usersLeft(books: Books, subscription: Subscription): number {
  return liveCredits(books, subscription.users).reduce((sum, { left }) => sum + left, 0);
}

/** The first with its properties in a period counts; all are stored. */
export function doesCount(subscription: Subscription, user: number): boolean {
  return !subscription.users.counted.has(`${subscription.period?.start} ${user}`);
}

export function useDistinct(
  books: Books,
  subscription: Subscription,
  { transactionId, user, amount }: { readonly transactionId: string; readonly user: number; readonly amount: number },
): void {
  const account = subscription.users;
  if (account.events.has(transactionId)) return;
  account.events.add(transactionId);
  if (!doesCount(subscription, user)) return;
  account.counted.add(`${subscription.period?.start} ${user}`);
  account.used += amount;
  draw(books, account, amount);
}

/** In the form of reality's lines, for subscriptions that were ever granted any. */
export function usersLines({ now }: Books, subscription: Subscription): object[] {
  const { credits, used, events } = subscription.users;
  const of = subscription.customer.subscriptions.indexOf(subscription);
  if (credits.length === 0) return [];
  return [
    { users: used, of, events: events.size },
    ...credits.map((each) => creditLine(subscription, each, now, usersSlug)),
  ];
}
