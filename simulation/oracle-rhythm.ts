import { intervalAt, rounded } from './oracle-arithmetic.ts';
import { endCredits, give } from './oracle-credits.ts';
import { anchorOf, type Part, partsOf } from './oracle-periods.ts';
import { type Books, type Period, reach, type Subscription } from './oracle-records.ts';

/** Credits that come by an interval of their own. */

/** Grants the credits of parts that have begun, each once: what is due by its end less what was due by its start. */
export function grantParts(
  subscription: Subscription,
  period: Period,
  { isGranted = () => true, at }: { readonly isGranted?: (part: Part) => boolean; readonly at: number },
): void {
  const { plan, quantity, credits } = subscription;
  if (plan.grantInterval === undefined) return;
  const { start: periodStart } = period;
  const begun = partsOf(subscription, period, plan.grantInterval).filter(({ start }) => start <= at);
  for (const part of begun.filter(isGranted)) {
    const { start: from, end: expiresAt, whole } = part;
    const has = credits.some((each) => each.plan === plan && each.periodStart === periodStart && each.from === from);
    if (has) continue;
    const dueBy = (until: number) =>
      rounded(BigInt(plan.recurring * quantity) * BigInt(until - whole.start), BigInt(whole.end - whole.start));
    const issued = dueBy(expiresAt) - dueBy(from);
    give(subscription, { issued, expiresAt, kind: 'recurring', plan, from, periodStart });
  }
}

/** Ends the credits of an interval within the period and grants the next ones, unless the period awaits its payment. */
export function beginInterval(books: Books, subscription: Subscription, at: number): void {
  const { plan, period, awaiting } = subscription;
  if (plan.grantInterval === undefined || period === null || awaiting.includes(period)) return;
  if (intervalAt(anchorOf(subscription), plan.grantInterval, at).start !== at) return;
  reach(books, 'credits of an interval', subscription.customer);
  endCredits(subscription, at);
  grantParts(subscription, period, { isGranted: ({ start }) => start === at, at });
}
