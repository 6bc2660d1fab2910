import { calendarStart, intervalAt, isSameInterval, least, most, rounded, total } from './oracle-arithmetic.ts';
import { changeTerms, draft, issue, leaveUnmade, methodOf, order, withPausedTime } from './oracle-billing.ts';
import { type Changed, unusedOf } from './oracle-changes.ts';
import { itemLines } from './oracle-clock.ts';
import { carryOut, endReview } from './oracle-collecting.ts';
import { owedOf, unitsIn } from './oracle-credits.ts';
import { bookEnds } from './oracle-falls.ts';
import { endingMeters, endMeasured, takeMeasured } from './oracle-measured.ts';
import { allUntil, usageLines } from './oracle-metering.ts';
import { periodEndLines } from './oracle-period-end.ts';
import { anchorOf } from './oracle-periods.ts';
import { accountsOf, seenWith } from './oracle-pools.ts';
import {
  type Books,
  type Credit,
  discountKeyOf,
  type Invoice,
  invoicesOf,
  isOwed,
  type Period,
  pausedTimeOf,
  reach,
  type Subscription,
  type Terms,
} from './oracle-records.ts';
import { partAround, restOf, unitsOfPart } from './oracle-rhythm.ts';
import { noteFreeTime } from './oracle-titles.ts';
import { giveOnce, grantPeriod, partOf, takenByHandOf } from './oracle-usage.ts';

/** Changes to another interval or anchor, now: a period ends and one begins. */

/** The instant from which boundaries are counted after the change. */
export type BillingAnchor = 'now' | 'unchanged';

/** Whether a change now begins a period. A trial goes on. */
export function beginsPeriod({ plan, period }: Subscription, terms: Terms): boolean {
  return !isSameInterval(plan, terms.plan) && period !== null && !period.isTrial;
}

/** Charges the period that begins, and open usage, less the unused paid value of the present period. */
export function changeInterval(
  books: Books,
  subscription: Subscription,
  terms: Terms,
  anchorIs: BillingAnchor,
): Changed | 'owes' {
  const { now } = books;
  const { isByCalendar, day, trialEnd } = subscription;
  const unchanged = isByCalendar ? calendarStart(terms.plan, now) : subscription.anchor;
  const anchor = anchorIs === 'now' ? now : Math.max(unchanged, trialEnd ?? 0);
  const next = anchorIs === 'now' ? now : unchanged;
  const known = {
    terms,
    anchor,
    next,
    isByCalendar: isByCalendar && anchorIs === 'unchanged',
    day: anchorIs === 'unchanged' ? day : null,
  };
  return charge(books, subscription, { ...known, name: `change of interval, anchor ${anchorIs}` });
}

/**
 * Moves the anchor ahead: the period that begins ends there, and carries the discount on. The end of the present period
 * is only another count of the later ones, unless it would cut an interval of credits.
 */
export function moveAnchor(books: Books, subscription: Subscription, anchor: number): Changed | 'owes' {
  const { period, plan, quantity, addOns } = subscription;
  const terms = { plan, quantity, addOns };
  if (period?.end !== anchor || cutsInterval(subscription, anchor, books.now))
    return charge(books, subscription, { terms, anchor, next: anchor, carriesOn: period, name: 'move of an anchor' });
  reach(books, 'anchor at the end of the period', subscription.customer);
  subscription.anchor = anchor;
  subscription.isByCalendar = false;
  subscription.day = null;
  return 'made';
}

/** Whether another count gives the credits of the interval that runs another end. */
export function cutsInterval(subscription: Subscription, anchor: number, now: number): boolean {
  const { grantInterval } = subscription.plan;
  if (grantInterval === undefined) return false;
  return intervalAt(anchorOf(subscription), grantInterval, now).end !== intervalAt(anchor, grantInterval, now).end;
}

/** Whether an invoice is owed or under review. */
export function isOwing(subscription: Subscription): boolean {
  return invoicesOf(subscription).some((each) => isOwed(each) || (each.status === 'draft' && each.total > 0));
}

interface NewCount {
  readonly terms: Terms;
  /** The instant from which the boundaries of the period are counted, and the anchor of the subscription afterwards. */
  readonly anchor: number;
  readonly next: number;
  /** Whether it stays one of the calendar. Absent: it does not. */
  readonly isByCalendar?: boolean;
  readonly day?: number | null;
  readonly carriesOn?: Period | null;
  readonly name: string;
}

function charge(books: Books, subscription: Subscription, count: NewCount): Changed | 'owes' {
  const { terms, anchor, next, carriesOn = null, name } = count;
  const { period: old } = subscription;
  const { now } = books;
  if (old === null || isOwing(subscription)) return 'owes';
  endReview(books, subscription, now);
  const whole = intervalAt(anchor, terms.plan, now);
  const { kept, carried } = unusedOf(subscription, old, now);
  const discount = carriesOn === null ? {} : { discountKey: discountKeyOf(carriesOn) };
  const known = { isTrial: false, waived: 0, returned: 0, carried, ...discount };
  const period: Period = { start: now, end: whole.end, wholeStart: whole.start, ...known };
  const unused = lessMissing(subscription, terms, { now, old, period, next }, kept);
  const usage = usageLines(subscription, allUntil(now));
  const missing = periodEndLines(subscription, { period: old, at: now, keepsRest: true, usage });
  const lines = [...itemLines({ ...subscription, ...terms }, period), ...usage, ...missing];
  const asked = { reason: 'adjustment', at: now, period, lines, beginsPeriod: true, carriesOn } as const;
  const bill = withPausedTime(subscription, asked, subscription.kept + unused);
  const method = methodOf(subscription);
  if (method === null && draft(subscription, bill).total > 0) return 'lacks_method';
  if (subscription.kept > 0) reach(books, 'change of interval with kept value of a pause', subscription.customer);
  if (unused > 0) reach(books, 'change of interval with unused value', subscription.customer);
  if (draft(subscription, bill).discountAmount > 0)
    reach(books, 'change of interval with a discount', subscription.customer);
  const begins = {
    terms,
    period,
    anchor: next,
    isByCalendar: count.isByCalendar ?? false,
    day: count.day ?? null,
    unused,
  };
  const change = (paid: Invoice) => beginInterval(books, paid, begins);
  takeMeasured(subscription, allUntil(now));
  const invoice = issue(books, subscription, bill, { change });
  // A plan that costs nothing has no invoice.
  if (invoice === null) begin(books, subscription, null, begins);
  if (invoice?.status === 'open' && method !== null) order(books, invoice, method, { change });
  carryOut(books);
  leaveUnmade(invoice);
  const isMade = invoice === null || invoice.status === 'paid';
  reach(books, isMade ? name : 'change of interval not paid', subscription.customer);
  return isMade ? 'made' : 'not_paid';
}

/**
 * The credits of the time that is given up: unused ones go, and used ones were used ahead of time. Nobody used those
 * that the seller took back by hand.
 */
function givenUp(subscription: Subscription, period: Period, now: number) {
  const ofPeriod = subscription.credits.filter((each) => isOfPeriod(each, period.start, now));
  const { soon, later, granted, grantedLater } = restOf(subscription, period, now, ofPeriod);
  const ahead = least(soon, granted);
  const all = ahead + least(later, grantedLater);
  const takenBack = least(
    all,
    total(ofPeriod, ({ left }) => left),
  );
  const byHand = total(ofPeriod, (each) => takenByHandOf(each, (before) => !ofPeriod.includes(before)));
  return { inRest: ahead + later, takenBack, usedAhead: most(0n, all - takenBack - byHand) };
}

function isOfPeriod({ kind, periodStart, expiresAt }: Credit, start: number, now: number): boolean {
  return kind === 'recurring' && periodStart === start && expiresAt !== null && expiresAt > now;
}

interface Left {
  readonly now: number;
  readonly old: Period;
  readonly period: Period;
  readonly next: number;
}

/** Credits used ahead that the next grant cannot repay lower the value in proportion. The strictest of several accounts counts. */
function lessMissing(subscription: Subscription, terms: Terms, left: Left, unused: number): number {
  return Math.min(...accountsOf(subscription).map((each) => lessMissingOn(each, seenWith(each, terms), left, unused)));
}

function lessMissingOn(
  subscription: Subscription,
  terms: Terms,
  { now, old, period, next }: Left,
  unused: number,
): number {
  const { inRest, usedAhead } = givenUp(subscription, old, now);
  const after = { ...subscription, ...terms, anchor: next };
  const { grantInterval, recurring } = terms.plan;
  const first =
    grantInterval === undefined
      ? partOf(unitsIn(subscription, recurring * terms.quantity), now, period)
      : unitsOfPart(after, partAround(after, period, now));
  // Units that are owed for a pause are paid back first.
  const granted = most(0n, first - owedOf(subscription));
  const missing = usedAhead - least(usedAhead, granted);
  return missing === 0n ? unused : Math.min(unused, rounded(BigInt(unused) * (inRest - missing), inRest));
}

interface IntervalStart {
  readonly terms: Terms;
  readonly period: Period;
  /** The instant from which boundaries are counted. */
  readonly anchor: number;
  readonly isByCalendar: boolean;
  readonly day: number | null;
  /** The unused paid value of the period that ends. */
  readonly unused: number;
}

/** Ends the period and begins the other one: its invoice has been paid. */
function beginInterval(books: Books, invoice: Invoice, begins: IntervalStart): void {
  begin(books, invoice.subscription, invoice, begins);
}

function begin(
  books: Books,
  subscription: Subscription,
  invoice: Invoice | null,
  { terms, period, anchor, isByCalendar, day, unused }: IntervalStart,
): void {
  const { period: old } = subscription;
  const { now } = books;
  if (old === null) return;
  const left = accountsOf(subscription).map((each) => givenUp(each, old, now));
  if (left.some(({ usedAhead }) => usedAhead > 0n))
    reach(books, 'change of interval with credits used ahead', subscription.customer);
  const changesPlan = terms.plan !== subscription.plan || terms.quantity !== subscription.quantity;
  if (changesPlan || (terms.addOns ?? 0) !== subscription.addOns) changeTerms(books, subscription, terms, now);
  endMeasured(subscription, endingMeters(subscription, allUntil(now)), now);
  subscription.pausedParts.push({ period: old, at: now, kept: unused });
  subscription.kept = Math.max(0, subscription.kept + unused - (invoice === null ? 0 : pausedTimeOf(invoice)));
  if (subscription.kept > 0) reach(books, 'change of interval that keeps value', subscription.customer);
  if (invoice !== null) invoice.reason = 'renewal';
  subscription.period = period;
  if (subscription.isFree) noteFreeTime(subscription.customer, period, true);
  subscription.isByCalendar = isByCalendar;
  subscription.day = day;
  subscription.anchor = anchor;
  for (const [index, { credits }] of accountsOf(subscription).entries()) {
    const ending = credits.filter((each) => isOfPeriod(each, old.start, now));
    takeFrom(ending, left[index]?.takenBack ?? 0n);
    for (const credit of ending) credit.expiresAt = now;
  }
  for (const each of accountsOf(subscription)) bookEnds(books, each, now);
  grantPeriod(subscription, period, false);
  for (const [index, each] of accountsOf(subscription).entries()) {
    takeFrom(
      each.credits.filter((credit) => isOfPeriod(credit, now, now)),
      left[index]?.usedAhead ?? 0n,
    );
    if (changesPlan && !each.hadOnce.has(each.plan)) giveOnce(each);
  }
  // Each period counts distinct properties from the start.
  subscription.users.counted.clear();
}

function takeFrom(credits: readonly Credit[], amount: bigint): void {
  let left = amount;
  for (const credit of credits) {
    const taken = least(credit.left, left);
    credit.left -= taken;
    credit.takenBack += taken;
    left -= taken;
  }
}
