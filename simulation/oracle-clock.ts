import { addOn, incompleteHours } from './catalogue.ts';
import { usagePrices } from './catalogue-usage.ts';
import { hourMs, intervalAt, isSameInterval, share } from './oracle-arithmetic.ts';
import { changeTerms, feeLines, issue, methodOf, sumOf, withPausedTime } from './oracle-billing.ts';
import { endClaims, letClaimsLast } from './oracle-claims.ts';
import { attempt, carryOut, collect, endReview, payerOf } from './oracle-collecting.ts';
import { carryCredits, endSubscription, nextEnd, replaceFree } from './oracle-ending.ts';
import { bookEnds } from './oracle-falls.ts';
import { endingMeters, endMeasured, type Taking, takeMeasured } from './oracle-measured.ts';
import { allUntil, changeOwnTerms, usageLines } from './oracle-metering.ts';
import { periodEndLines } from './oracle-period-end.ts';
import { anchorOf, endsUsage, interimAt, openUsageStart } from './oracle-periods.ts';
import { accountsOf } from './oracle-pools.ts';
import {
  type Books,
  discountKeyOf,
  draftOf,
  hasAccess,
  type Invoice,
  invoicesOf,
  isBooked,
  isCurrent,
  isDunned,
  isInArrears,
  isOwed,
  isTerminal,
  type Line,
  netTermsOf,
  type Period,
  reach,
  type Subscription,
  worthOfPlan,
} from './oracle-records.ts';
import { isLookDue, lookAtBalances, refillsAt, whileCreditsEnd } from './oracle-refills.ts';
import { beginInterval, grantParts } from './oracle-rhythm.ts';
import { noteFreeTime } from './oracle-titles.ts';
import { noteHolder } from './oracle-top-ups.ts';
import { givePausedBack, grantPeriod } from './oracle-usage.ts';

/** Work that becomes due with time: at each instant in this order, ends first, collection attempts last. */

/** The instants at which anything is due, by kind. */
function dueAt(books: Books): number[] {
  return books.customers
    .flatMap((customer) => [
      ...customer.subscriptions.flatMap((each) => [
        endAt(each),
        expiryAt(each),
        each.resumesAt,
        reviewEndOf(each),
        each.asksAt,
        interimAt(each),
        renewalAt(each),
      ]),
      ...customer.invoices.map(attemptAt),
      ...refillsAt(customer, books.now),
    ])
    .filter((at) => at !== null);
}

function endAt(each: Subscription): number | null {
  return each.status === 'cancellation_scheduled' ? each.cancelAt : null;
}

function expiryAt(each: Subscription): number | null {
  return each.status === 'incomplete' && each.period === null ? each.createdAt + incompleteHours * hourMs : null;
}

/** The end of its period, or the start for which it is booked. */
function renewalAt(each: Subscription): number | null {
  return isCurrent(each) || isBooked(each) ? (each.period?.end ?? null) : null;
}

function reviewEndOf(each: Subscription): number | null {
  return draftOf(each)?.finalizesAt ?? null;
}

function attemptAt({ status, nextAt }: Invoice): number | null {
  return status === 'open' ? nextAt : null;
}

/** The next due instant; null: none. */
export function nextDue(books: Books): number | null {
  const all = dueAt(books);
  return all.length === 0 ? null : Math.min(...all);
}

/** Moves the clock, performing due work on the way. */
export function moveTo(books: Books, target: number): void {
  for (let at = nextDue(books); at !== null && at <= target; at = nextDue(books)) {
    books.now = Math.max(books.now, at);
    // A fall that is noted on the way waits for all else that is due then.
    const looks = isLookDue(books);
    whileCreditsEnd(books, () => doDue(books));
    if (looks) lookAtBalances(books);
  }
  books.now = target;
  letClaimsLast(books);
}

function doDue(books: Books): void {
  const { now } = books;
  const isDue = (at: number | null): at is number => at !== null && at <= now;
  const steps: [(each: Subscription) => number | null, (each: Subscription) => void][] = [
    [endAt, (each) => endSubscription(books, each, { at: each.cancelAt ?? now, reason: null })],
    [expiryAt, (each) => endSubscription(books, each, { at: expiryAt(each) ?? now, reason: null, isExpired: true })],
    [({ resumesAt }) => resumesAt, (each) => resume(books, each, each.resumesAt ?? now)],
    [reviewEndOf, (each) => endReview(books, each, now)],
    [({ asksAt }) => asksAt, (each) => lookAtThreshold(books, each)],
    [interimAt, (each) => billInterim(books, each, interimAt(each) ?? now)],
    [renewalAt, (each) => (isBooked(each) ? start(books, each) : renew(books, each))],
  ];
  for (const [when, perform] of steps) {
    const due = books.customers.flatMap(({ subscriptions }) => subscriptions.filter((each) => isDue(when(each))));
    // Starts come before renewals.
    for (const subscription of due.toSorted((a, b) => Number(isBooked(b)) - Number(isBooked(a)))) perform(subscription);
    carryOut(books);
  }
  const invoices = books.customers.flatMap((customer) => customer.invoices.filter((each) => isDue(attemptAt(each))));
  // All that are due at once are tried, whatever the first failure among them makes of the subscription.
  for (const invoice of invoices.filter(isToTry)) attempt(books, invoice);
  carryOut(books);
}

/** Takes a retry off the calendar, and answers whether it is made: while the subscription runs and is not unpaid. */
function isToTry(invoice: Invoice): boolean {
  const subscription = payerOf(invoice);
  invoice.nextAt = null;
  const isTried = isDunned(invoice) || invoice.reason === 'final_usage';
  return isTried && !isTerminal(subscription) && subscription.status !== 'unpaid';
}

/**
 * Begins a booked subscription. Its credits, and the end of a free plan in its place, come with its first payment, or at
 * once where nothing can be charged under net terms.
 */
function start(books: Books, subscription: Subscription): void {
  const { anchor: at, customer } = subscription;
  const period: Period = {
    start: at,
    end: nextEnd(subscription, at),
    wholeStart: at,
    isTrial: false,
    waived: 0,
    returned: 0,
  };
  subscription.period = period;
  subscription.isInvoiced = methodOf(subscription) === null && netTermsOf(books, customer) > 0;
  if (subscription.isInvoiced) {
    replaceFree(books, subscription);
    grantPeriod(subscription, period, true);
  }
  const lines = [...itemLines(subscription, period), ...feeLines(subscription)];
  collect(books, issue(books, subscription, { reason: 'subscription_start', at, period, lines }));
  carryCredits(books, customer);
  noteHolder(books, customer);
}

/**
 * Invoices all unbilled usage that is worth the threshold. An open invoice is settled first, and so is what is owed. A
 * trial and a pause are left alone.
 */
function lookAtThreshold(books: Books, subscription: Subscription): void {
  const { period } = subscription;
  const threshold = subscription.threshold ?? books.threshold ?? 0;
  subscription.asksAt = null;
  const isBilled = () =>
    (subscription.status === 'active' || subscription.status === 'cancellation_scheduled') &&
    subscription.arrears === 'none';
  if (threshold === 0 || !isBilled() || isBooked(subscription) || period === null || period.isTrial) return;
  if (invoicesOf(subscription).some((each) => each.reason === 'usage_threshold' && isOwed(each))) return;
  const linesOf = () => usageLines(subscription, allUntil(books.now));
  if (sumOf(linesOf()) < threshold) return;
  endReview(books, subscription, books.now);
  const lines = linesOf();
  // The draft took late usage, and without a payment method something is owed now.
  if (!isBilled() || sumOf(lines) < threshold) return;
  takeMeasured(subscription, allUntil(books.now));
  reach(books, 'usage at a threshold', subscription.customer);
  const bill = { reason: 'usage_threshold', at: books.now, period, lines } as const;
  collect(books, issue(books, subscription, withPausedTime(subscription, bill)));
}

/** Bills usage within a period, and grants credits. Plans that do not bill usage show it with the renewal. */
function billInterim(books: Books, subscription: Subscription, at: number): void {
  endReview(books, subscription, at);
  const taking: Taking = { takes: (price) => endsUsage(subscription, price, at), at };
  const lines = usageLines(subscription, taking);
  takeMeasured(subscription, taking);
  endMeasured(subscription, endingMeters(subscription, taking), at);
  subscription.interimDone = at;
  if (lines.length > 0) reach(books, 'usage billed within a period', subscription.customer);
  collect(books, issue(books, subscription, { reason: 'usage', at, period: null, lines }));
  beginInterval(books, subscription, at);
}

function renew(books: Books, subscription: Subscription): void {
  const { period, scheduled, plan } = subscription;
  if (period === null) return;
  const start = period.end;
  endReview(books, subscription, start);
  // Another interval or anchor ends every usage period.
  const endsAll = scheduled !== null && !isSameInterval(plan, scheduled.plan);
  const billsBefore = scheduled !== null && scheduled.plan.billsOverage !== plan.billsOverage;
  const taking: Taking = { takes: (price) => endsAll || endsUsage(subscription, price, start), at: start };
  const ended = usagePrices
    .filter(taking.takes)
    .map((price) => [price.slug, openUsageStart(subscription, price)] as const);
  const usage = billsBefore ? [] : usageLines(subscription, taking);
  if (!billsBefore) takeMeasured(subscription, taking);
  const ending = endingMeters(subscription, taking);
  if (scheduled !== null) {
    endClaims(subscription);
    changeTerms(books, subscription, scheduled, start);
    changeOwnTerms(subscription, scheduled.agreed ?? [], start);
    // Boundaries of a new interval are counted from here.
    if (!isSameInterval(plan, scheduled.plan)) {
      subscription.anchor = start;
      subscription.isByCalendar = false;
      subscription.day = null;
    }
  }
  endMeasured(subscription, ending, start);
  subscription.scheduled = null;
  for (const each of accountsOf(subscription)) bookEnds(books, each, start);
  const end = nextEnd(subscription, start);
  const next: Period = { start, end, wholeStart: start, isTrial: false, waived: 0, returned: 0 };
  const missing = periodEndLines(subscription, { period, at: start, keepsRest: false, usage });
  const lines = [...itemLines(subscription, next), ...usage, ...missing, ...feeLines(subscription)];
  const renewal = { reason: 'renewal', at: start, period: next, lines, usageStarts: new Map(ended) } as const;
  const bill = withPausedTime(subscription, renewal);
  if (subscription.status === 'trialing') subscription.status = 'active';
  subscription.period = next;
  if (subscription.isFree) noteFreeTime(subscription.customer, next);
  const grants = hasAccess(books, subscription);
  if (!grants) subscription.awaiting.push(next);
  collect(books, issue(books, subscription, bill));
  if (grants) grantPeriod(subscription, next, false);
}

/** The plan in advance, prorated if the period is the rest of an interval. */
export function itemLines({ plan, quantity, addOns }: Subscription, { start, end, wholeStart }: Period): Line[] {
  const partOf = (amount: number) => share(amount, end - start, end - wholeStart);
  const ofAddOns = addOns === 0 ? [] : [{ kind: 'item', amount: partOf(addOn.unitPrice * addOns) } as const];
  if (plan.unitPrice === 0 || plan.billsAtEnd || quantity === 0) return ofAddOns;
  return [{ kind: 'item', amount: partOf(worthOfPlan({ plan, quantity })) }, ...ofAddOns];
}

/**
 * Resumes until the next boundary, or to the end of a long first period, at the prorated price minus kept paused time.
 */
export function resume(books: Books, subscription: Subscription, at: number): void {
  const { plan, pausedParts, period: paused } = subscription;
  const from = anchorOf(subscription);
  const whole = intervalAt(from, plan, at);
  // A change may have begun another period at the same instant.
  const long = pausedParts.findLast(({ period }) => period.start === paused?.start)?.period;
  const goesOn = paused !== null && long !== undefined && long.wholeStart > long.start && at < long.end;
  if (goesOn) reach(books, 'resumption of a long first period', subscription.customer);
  const isRestOfPaused = goesOn || (paused !== null && intervalAt(from, plan, paused.start).index === whole.index);
  const { wholeStart, end } = goesOn ? long : { wholeStart: whole.start, end: whole.end };
  const carriesOn = isRestOfPaused ? (pausedParts.at(-1)?.period ?? null) : null;
  const known = {
    ...(carriesOn === null ? {} : { discountKey: discountKeyOf(carriesOn) }),
    ...(goesOn ? { discountStart: long.discountStart ?? long.start } : {}),
    ...(carriesOn?.end === end && carriesOn.discountStart !== undefined && !goesOn
      ? { discountStart: carriesOn.discountStart }
      : {}),
  };
  const period: Period = { start: at, end, wholeStart, isTrial: false, waived: 0, returned: 0, ...known };
  const taking = allUntil(paused?.end ?? at);
  const usage = usageLines(subscription, taking);
  takeMeasured(subscription, taking);
  endMeasured(subscription, endingMeters(subscription, taking), at);
  const before = pausedParts.at(-1)?.period;
  const ended = paused && before && { period: before, at: paused.end, keepsRest: true, usage };
  const missing = ended ? periodEndLines(subscription, ended) : [];
  const lines = [...itemLines(subscription, period), ...usage, ...missing];
  const bill = withPausedTime(subscription, { reason: 'renewal', at, period, lines, carriesOn });
  subscription.status = isInArrears(subscription) ? 'past_due' : 'active';
  subscription.resumesAt = null;
  subscription.period = period;
  collect(books, issue(books, subscription, bill));
  for (const each of accountsOf(subscription)) bookEnds(books, each, at);
  if (isRestOfPaused) {
    givePausedBack(subscription, paused, at);
    const count = subscription.credits.length;
    // Credits of intervals that began in the pause come in part.
    for (const each of accountsOf(subscription))
      grantParts(each, period, { isGranted: ({ whole }) => whole.start > paused.end, at, lessBefore: true });
    if (subscription.credits.length > count)
      reach(books, 'credits of an interval that began in a pause', subscription.customer);
  } else grantPeriod(subscription, period, false);
}
