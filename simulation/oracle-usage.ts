import { rateOf } from './catalogue-pools.ts';
import {
  isMeasured,
  type Meter,
  meterSlug,
  meters,
  type Properties,
  type UsagePrice,
  usersSlug,
} from './catalogue-usage.ts';
import { least, most, nearest, shareOfUnits, total } from './oracle-arithmetic.ts';
import { creditLine, draw, give, hasEnded, liveCredits, unitsIn, withhold } from './oracle-credits.ts';
import { bookedBalance, noteFallOfMeter } from './oracle-falls.ts';
import { heldOf } from './oracle-holds.ts';
import { count, type Drawn, type Spend, spendOf } from './oracle-limits.ts';
import { meter, noteLate } from './oracle-metering.ts';
import { accountsOf, balance, beside, drawnFor, type Paid, type Payable, payByPools, usedOf } from './oracle-pools.ts';
import { nothing } from './oracle-pricing.ts';
import {
  askForThreshold,
  type Books,
  type Credit,
  type Customer,
  type Hold,
  isTerminal,
  type Period,
  type PoolHolder,
  type Subscription,
} from './oracle-records.ts';
import type { MeterAccount } from './oracle-records-usage.ts';
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
  for (const each of accountsOf(subscription)) grantPeriodOn(each, period, isFirst, at);
}

function grantPeriodOn(subscription: Subscription, period: Period, isFirst: boolean, at: number): void {
  const { plan, quantity } = subscription;
  if (isFirst) giveOnce(subscription);
  if (plan.grantInterval !== undefined) {
    grantParts(subscription, period, { at });
    return;
  }
  const units = unitsIn(subscription, plan.recurring * quantity);
  const share = partOf(units, period.start, period);
  const isRunning = ({ expiresAt }: Credit) => expiresAt !== null && expiresAt > period.start;
  const used = isFirst && subscription.isFree ? usedBefore(subscription, 'recurring', isRunning) : 0n;
  // A long first period gives more than an interval.
  const issued = most(0n, least(share, most(share, units) - used));
  const { start } = period;
  give(subscription, { issued, expiresAt: period.end, kind: 'recurring', plan, from: start, periodStart: start });
}

/** One-time credits come once for a customer: those that were not used on a subscription that has ended come again. */
export function giveOnce(subscription: Subscription): void {
  const { plan, quantity } = subscription;
  const issued = most(0n, unitsIn(subscription, plan.once * quantity) - usedBefore(subscription, 'once', () => true));
  give(subscription, { issued, expiresAt: null, kind: 'once', plan });
  if (issued > 0n) subscription.hadOnce.add(plan);
}

/** The units of its plan's credits that the customer used on ended subscriptions, and all of those on running ones. */
function usedBefore(subscription: Subscription, kind: Credit['kind'], counts: (credit: Credit) => boolean): bigint {
  const { customer, plan, pool, claims } = subscription;
  // A view of a pool is the same subscription.
  const others = customer.subscriptions.filter((each) => each.claims !== claims);
  const granted = others
    .flatMap((each) => {
      const credits = pool === null ? each.credits : (each.inPools.get(pool.slug)?.credits ?? []);
      return credits.map((credit) => ({ credit, hasEnded: isTerminal(each) }));
    })
    .filter(({ credit }) => credit.kind === kind && credit.plan === plan && counts(credit));
  return total(granted, ({ credit, hasEnded: isOver }) => (isOver ? credit.applied : credit.issued));
}

/**
 * Grants the credits of a change for the rest of its period, minus those already granted, and the plan's one-time
 * credits if it never did.
 */
export function grantChange(subscription: Subscription, now: number): void {
  for (const each of accountsOf(subscription)) grantChangeOn(each, now);
}

function grantChangeOn(subscription: Subscription, now: number): void {
  const { plan, quantity, period, hadOnce } = subscription;
  if (period === null) return;
  const part = partAround(subscription, period, now);
  const units = unitsIn(subscription, plan.recurring * quantity);
  const due = shareOfUnits(units, part.end - now, part.whole.end - part.whole.start);
  // All credits that run to the end of a period count. To an interval those count that are for its time.
  const isOfInterval = plan.grantInterval !== undefined;
  const time = { start: isOfInterval ? part.whole.start : Number.NEGATIVE_INFINITY, end: part.end };
  const had = total(grantedFor(subscription, period, time, now), (each) => each.units);
  const times = { from: now, periodStart: period.start, expiresAt: part.end };
  give(subscription, { issued: most(0n, due - had), kind: 'recurring', plan, ...times });
  if (!hadOnce.has(plan)) giveOnce(subscription);
}

export function partOf(units: bigint, from: number, { wholeStart, end }: Period): bigint {
  return nearest(units * BigInt(end - from), BigInt(end - wholeStart));
}

/** The units of its time: those taken back by hand before a pause did not come back after it. */
function offeredOf({ issued, resumedFrom }: Credit): bigint {
  return issued + (resumedFrom?.pausedByHand ?? 0n);
}

/** The units taken back by hand of a credit, and of those whose rest it is, as far as they count. */
export function takenByHandOf(credit: Credit, counts: (before: Credit) => boolean = () => true): bigint {
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
  for (const each of accountsOf(subscription)) takePausedBackOn(books, each, period);
}

function takePausedBackOn(books: Books, subscription: Subscription, period: Period): void {
  const { now } = books;
  const live = subscription.credits.filter((credit) => !hasEnded(credit, now));
  let free = beside(books, subscription) ?? total(live, ({ left }) => left);
  let owed = 0n;
  const paused: Credit[] = [];
  for (const credit of live) {
    const { from, expiresAt, periodStart } = credit;
    if (from === null || expiresAt === null || periodStart !== period.start || from >= expiresAt) continue;
    paused.push(credit);
    const ended = credit.pausedBack + credit.pausedOwed + credit.pausedByHand;
    const rest = shareOfUnits(offeredOf(credit), expiresAt - Math.max(now, from), expiresAt - from);
    const due = most(0n, rest - ended);
    const amount = most(0n, least(credit.left, due, free));
    credit.left -= amount;
    credit.takenBack += amount;
    credit.pausedBack += amount;
    const ahead = most(0n, due - amount - takenByHandOf(credit));
    credit.pausedOwed += ahead;
    credit.pausedByHand += due - amount - ahead;
    owed += ahead;
    free -= amount;
  }
  owed = least(owed, free);
  for (const credit of paused) owed -= withhold(credit, owed);
}

/** Gives back what a pause took or left owing, less the share of the paused time, rounded up. */
export function givePausedBack(subscription: Subscription, paused: Period, at: number): void {
  for (const each of accountsOf(subscription)) givePausedBackOn(each, paused, at);
}

function givePausedBackOn(subscription: Subscription, paused: Period, at: number): void {
  for (const credit of [...subscription.credits]) {
    const { from, expiresAt, periodStart, plan, priority, isResumed } = credit;
    if (from === null || expiresAt === null || periodStart !== paused.start || from >= expiresAt || isResumed) continue;
    const span = BigInt(expiresAt - from);
    const lost = (offeredOf(credit) * BigInt(at - paused.end) + span - 1n) / span;
    const ended = credit.pausedBack + credit.pausedOwed;
    credit.isResumed = ended > 0n;
    const issued = most(0n, ended - lost);
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
  readonly properties: Properties;
  /** Null: it happens now. */
  readonly date: number | null;
  readonly label: string | null;
}

/**
 * Records uses of one request. A repeat is the same use. In their order a pool pays for what credits leave. Then credits
 * cover the rest in that order, but all at one price as its first.
 */
export function use(books: Books, uses: readonly Use[], isChecked = false): void {
  const fresh = uses.filter(({ subscription, transactionId, amount }) => {
    if (subscription.events.has(transactionId)) return false;
    subscription.events.set(transactionId, amount);
    return true;
  });
  for (const { subscription, price, amount, date } of fresh)
    if (isLate(subscription, date)) noteLate(subscription, price, { ...nothing, units: BigInt(amount) });
  const paid = payByPools(books, fresh.map(payableOf));
  for (const [index, each] of fresh.entries())
    count(books, spendOfUse(books, each, paid[index]?.units ?? 0n), isChecked);
  const rests = fresh.map((each, index) => ({ ...each, pooled: Number(paid[index]?.units ?? 0n) }));
  for (const ofSubscription of Map.groupBy(rests, ({ subscription }) => subscription).values())
    for (const [price, each] of Map.groupBy(ofSubscription, (one) => one.price)) {
      const [first] = each;
      const sumOf = (key: 'amount' | 'pooled') => each.reduce((sum, one) => sum + one[key], 0);
      if (first !== undefined) cover(books, first.subscription, price, sumOf('amount'), sumOf('pooled'));
    }
}

/** `pooled`: the units for which a pool pays. */
export function spendOfUse(books: Books, use: UseOfCalls, pooled: bigint): Spend {
  const { subscription, price, label, amount } = use;
  const drawn = drawnFor(payableOf(use), pooled);
  return spendOf(books, subscription, { meter: meterSlug, price, label, drawn, units: BigInt(amount) });
}

/** Records what a hold was used for, at the rate of events without properties. */
export function useHeld(books: Books, hold: Hold, amount: number): void {
  const { subscription, price, label } = hold;
  const other = meters.find(({ slug }) => slug === price.meter);
  if (other !== undefined) {
    const transactionId = `hold ${subscription.customer.holds.indexOf(hold)}`;
    const event = { subscription, meter: other, price, label, transactionId, units: amount, properties: {} };
    if (amount > 0) recordOthers(books, [{ ...event, own: 0n, told: null, date: null }]);
    return;
  }
  const use = { subscription, price, label, amount, properties: {} };
  const [paid] = payByPools(books, [payableOf(use)]);
  const pooled = paid?.units ?? 0n;
  if (amount > 0) count(books, spendOfUse(books, use, pooled));
  cover(books, subscription, price, amount, Number(pooled));
}

type UseOfCalls = Pick<Use, 'subscription' | 'price' | 'label' | 'amount' | 'properties'>;

export function payableOf({ subscription, price, properties, amount }: UseOfCalls): Payable {
  return { subscription, meter: meterSlug, price, properties, units: BigInt(amount) };
}

/** An event of a meter without credits. */
export interface Other {
  readonly subscription: Subscription;
  readonly meter: Meter;
  readonly transactionId: string;
  readonly units: number;
  readonly price: UsagePrice;
  /** Its own price, in 10^-12 of a minor unit. */
  readonly own: bigint;
  readonly properties: Properties;
  readonly told: unknown;
  readonly date: number | null;
  readonly label: string | null;
}

function isLate({ period }: Subscription, date: number | null): boolean {
  return date !== null && period !== null && date < period.start;
}

/** The state of a meter without credits, which its first event or hold opens. */
export function openMeter({ meters: known }: Subscription, slug: string): MeterAccount {
  const account = known.get(slug) ?? { events: new Map(), used: 0, settled: 0, pooled: 0 };
  known.set(slug, account);
  return account;
}

/**
 * Records events of a request, each once: returns the new ones. Units that are measured later count here for nothing.
 * `isChecked`: they had to fit into limits.
 */
export function recordOthers(books: Books, events: readonly Other[], isChecked = false): Other[] {
  const fresh = events.filter(({ subscription, meter: of, transactionId, units, told }) => {
    const account = openMeter(subscription, of.slug);
    if (account.events.has(transactionId)) return false;
    account.events.set(transactionId, { units, told });
    return true;
  });
  const counted = fresh.filter((each) => !isMeasured(each.meter));
  const paid = payByPools(books, counted.map(payableOfOther));
  for (const [index, each] of counted.entries()) countOther(books, each, paid[index], isChecked);
  return fresh;
}

/** Events are counted where the price has an amount for each, or none of its own. */
export function payableOfOther({ subscription, meter: { slug }, price, units, own, properties }: Other): Payable {
  const pricing = 'pricing' in price.terms ? price.terms.pricing : null;
  const countsEvents = pricing?.fixedAmountPerEvent !== undefined || pricing?.model === 'dynamic';
  const use = { subscription, meter: slug, price, properties, units: BigInt(units) };
  return { ...use, events: countsEvents ? 1n : 0n, own };
}

function countOther(books: Books, other: Other, paid: Paid = { units: 0n, drawn: null }, isChecked = false): void {
  const { subscription, meter: of, units, price, properties, date } = other;
  const account = subscription.meters.get(of.slug);
  if (account === undefined) return;
  account.used += units;
  account.pooled += Number(paid.units);
  askForThreshold(books, subscription);
  const used = usedOf(payableOfOther(other), BigInt(units));
  count(books, spendOfOther(books, other, paid.drawn), isChecked);
  if (isLate(subscription, date)) noteLate(subscription, price, used);
  // A pool that pays at the price pays for the event too.
  const isAtPrice = paid.units > 0n && rateOf(of.slug, properties) === null;
  const left = { ...used, units: used.units - paid.units };
  meter(subscription, price, isAtPrice ? { ...left, events: 0n, own: 0n } : left);
}

export function spendOfOther(books: Books, other: Other, drawn: Drawn | null): Spend {
  const { subscription, meter: of, units, price, label } = other;
  const used = usedOf(payableOfOther(other), BigInt(units));
  return spendOf(books, subscription, { ...used, meter: of.slug, price, label, drawn });
}

/** Covers usage with credits, as far as they go, but for the part that a pool has paid for. */
function cover(books: Books, subscription: Subscription, price: UsagePrice, amount: number, pooled: number): void {
  askForThreshold(books, subscription);
  const before = bookedBalance(books, subscription);
  const uncovered = Number(draw(books, subscription, BigInt(amount - pooled)));
  subscription.used += amount;
  subscription.pooled += pooled;
  subscription.covered += amount - pooled - uncovered;
  if (pooled < amount) noteFallOfMeter(books, subscription, before);
  if (uncovered > 0) meter(subscription, price, { ...nothing, units: BigInt(uncovered) });
}

/** The credits of calls of a customer: of subscriptions that have not ended, and those that wait for one. */
export function creditsOf(books: Books, customer: Customer) {
  const living = customer.subscriptions.filter((each) => !isTerminal(each));
  const waiting = [...customer.subscriptions.filter(isTerminal), customer.waiting]
    .flatMap((account) => liveCredits(books, account))
    .filter(({ kind }) => kind === 'by_hand' || kind === 'bought');
  const sumOf = (credits: readonly Credit[]) => Number(total(credits, ({ left }) => left));
  const credits = [...waiting, ...living.flatMap((each) => liveCredits(books, each))];
  return {
    availableBalance: living.reduce((sum, each) => sum + balance(books, each), sumOf(waiting)),
    granted: sumOf(credits.filter(({ kind }) => kind !== 'bought')),
    paid: sumOf(credits.filter(({ kind }) => kind === 'bought')),
    held: Number(total(living, (each) => heldOf(books, each))),
  };
}

/** The amount that may be taken back of a credit, given its remainder and open holds; null: `requested` is refused. */
export function takeBackOf(books: Books, account: Subscription | PoolHolder, credit: Credit, requested: bigint | null) {
  const rest = hasEnded(credit, books.now) ? 0n : credit.left;
  const amount = requested ?? rest;
  return rest === 0n || amount > rest || amount > (beside(books, account) ?? rest) ? null : amount;
}

export function usersLeft(books: Books, subscription: Subscription): number {
  return Number(total(liveCredits(books, subscription.users), ({ left }) => left));
}

/** The first with its properties in a period counts; all are stored. */
export function doesCount(subscription: Subscription, user: number): boolean {
  return !subscription.users.counted.has(`${subscription.period?.start} ${user}`);
}

export function useDistinct(
  books: Books,
  subscription: Subscription,
  { transactionId, user, amount }: { readonly transactionId: string; readonly user: number; readonly amount: number },
  isChecked: boolean,
): void {
  const account = subscription.users;
  if (account.events.has(transactionId)) return;
  account.events.add(transactionId);
  if (!doesCount(subscription, user)) return;
  account.counted.add(`${subscription.period?.start} ${user}`);
  account.used += amount;
  count(
    books,
    spendOf(books, subscription, { meter: usersSlug, price: null, label: null, drawn: null, units: BigInt(amount) }),
    isChecked,
  );
  draw(books, account, BigInt(amount));
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
