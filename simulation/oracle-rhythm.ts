import { intervalAt, most, nearest, type Span, shareOfUnits, total } from './oracle-arithmetic.ts';
import { give, unitsIn } from './oracle-credits.ts';
import { bookEnds } from './oracle-falls.ts';
import { anchorOf, type Part, partsOf } from './oracle-periods.ts';
import { accountsOf } from './oracle-pools.ts';
import { type Books, type Credit, type Period, reach, type Subscription } from './oracle-records.ts';

/** Credits that come by an interval of their own. */

/** The part of a period around an instant, for which the plan grants credits: one of its intervals, or all of it. */
export function partAround(subscription: Subscription, period: Period, at: number): Part {
  const { start, end, wholeStart } = period;
  const { grantInterval } = subscription.plan;
  const parts = grantInterval === undefined ? [] : partsOf(subscription, period, grantInterval);
  const around = parts.find((part) => part.start <= at && at < part.end);
  return around ?? { start, end, whole: { start: wholeStart, end } };
}

/** The units of a part of an interval: what is due by its end less what was due by its start. */
export function unitsOfPart(subscription: Pick<Subscription, 'plan' | 'quantity' | 'pool'>, part: Part): bigint {
  const { plan, quantity } = subscription;
  const { start, end, whole } = part;
  const units = unitsIn(subscription, plan.recurring * quantity);
  const dueBy = (at: number) => nearest(units * BigInt(at - whole.start), BigInt(whole.end - whole.start));
  return dueBy(end) - dueBy(start);
}

/** Grants the credits of parts that have begun, each once. Credits for the same time, of plans before, count if asked for. */
export function grantParts(
  subscription: Subscription,
  period: Period,
  {
    isGranted = () => true,
    at,
    lessBefore = false,
  }: { readonly isGranted?: (part: Part) => boolean; readonly at: number; readonly lessBefore?: boolean },
): void {
  const { plan, credits } = subscription;
  if (plan.grantInterval === undefined) return;
  const { start: periodStart } = period;
  const begun = partsOf(subscription, period, plan.grantInterval).filter(({ start }) => start <= at);
  for (const part of begun.filter(isGranted)) {
    const { start: from, end: expiresAt } = part;
    // A period that was given up as soon as it had begun has left no time of its own.
    const has = credits.some(
      (each) =>
        each.plan === plan &&
        each.periodStart === periodStart &&
        each.from === from &&
        (each.expiresAt === null || each.expiresAt > from),
    );
    if (has) continue;
    const before = lessBefore ? grantedFor(subscription, period, { start: from, end: expiresAt }, at) : [];
    const had = total(before, ({ units }) => units);
    const issued = most(0n, unitsOfPart(subscription, part) - had);
    give(subscription, { issued, expiresAt, kind: 'recurring', plan, from, periodStart });
  }
}

/**
 * The units that plans have granted for a time of the period, by plan and time of the grant. Credits of a period last to its
 * end, and those of an interval count while they run. A period before that was left for another interval had them for
 * another time.
 */
export function grantedFor(
  { credits, pausedParts }: Subscription,
  { start, end, wholeStart, discountStart = wholeStart }: Period,
  time: Span,
  now: number,
): { readonly units: bigint }[] {
  const since = Math.min(start, discountStart);
  const ofPlans = credits.flatMap((credit) => {
    const { kind, plan, from, expiresAt, periodStart, issued, pausedBack, pausedOwed } = credit;
    if (kind !== 'recurring' || plan === null || from === null || expiresAt === null) return [];
    const runs = expiresAt === end || (plan.grantInterval !== undefined && expiresAt > now);
    if ((periodStart ?? 0) < since || from >= expiresAt || !runs) return [];
    // The units that a pause left of a credit are for the time until then.
    const paused = pausedParts.find((part) => part.period.start === periodStart && part.at > from);
    const until = Math.min(expiresAt, paused?.at ?? expiresAt);
    return [{ plan, from, until, units: issued - pausedBack - pausedOwed }];
  });
  const alike = Map.groupBy(ofPlans, ({ plan, from, until }) => `${plan.slug} ${from} ${until}`);
  return [...alike.values()].flatMap((each) => {
    const [first] = each;
    if (first === undefined || first.from >= first.until) return [];
    const units = total(each, (credit) => credit.units);
    const length = Math.min(first.until, time.end) - Math.max(first.from, time.start);
    return length <= 0 ? [] : [{ units: shareOfUnits(units, length, first.until - first.from) }];
  });
}

/** The units for the rest of the period that the plan gives, and that were granted, until an instant and after it. */
export function restOf(subscription: Subscription, period: Period, now: number, ofPeriod: readonly Credit[]) {
  const { plan, quantity } = subscription;
  const part = partAround(subscription, period, now);
  const units = unitsIn(subscription, plan.recurring * quantity);
  const whole = plan.grantInterval === undefined ? units : unitsOfPart(subscription, part);
  const of = plan.grantInterval === undefined ? part.whole : part;
  const soon = shareOfUnits(whole, part.end - now, of.end - of.start);
  const later = shareOfUnits(soon, period.end - now, part.end - now) - soon;
  const grantedUntil = (until: number) =>
    total(ofPeriod, ({ issued, resumedFrom, from, expiresAt }) => {
      if (from === null || expiresAt === null) return 0n;
      const length = Math.min(expiresAt, until) - Math.max(from, now);
      // The units of its time: those taken back by hand before a pause did not come back after it.
      const offered = issued + (resumedFrom?.pausedByHand ?? 0n);
      return length <= 0 ? 0n : shareOfUnits(offered, length, expiresAt - from);
    });
  const granted = grantedUntil(part.end);
  return { soon, later, granted, grantedLater: grantedUntil(period.end) - granted };
}

/** Ends the credits of an interval within the period and grants the next ones, unless the period awaits its payment. */
export function beginInterval(books: Books, subscription: Subscription, at: number): void {
  const { plan, period, awaiting } = subscription;
  if (plan.grantInterval === undefined || period === null || awaiting.includes(period)) return;
  if (intervalAt(anchorOf(subscription), plan.grantInterval, at).start !== at) return;
  reach(books, 'credits of an interval', subscription.customer);
  for (const each of accountsOf(subscription)) {
    bookEnds(books, each, at);
    grantParts(each, period, { isGranted: ({ start }) => start === at, at, lessBefore: true });
  }
}
