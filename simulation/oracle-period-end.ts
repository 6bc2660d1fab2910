import { rounded } from './oracle-arithmetic.ts';
import { settledForPlan } from './oracle-billing.ts';
import { type Holding, invoicesOf, type Line, type Period, type Subscription } from './oracle-records.ts';

/** The lines with which a period ends: a plan that is billed then, and what is missing to its commitment. */

interface End {
  readonly period: Period;
  readonly at: number;
  /** Whether the rest of the period is kept for later invoices. */
  readonly keepsRest: boolean;
  /** The usage on the bill of the end. */
  readonly usage: readonly Line[];
}

export function periodEndLines(subscription: Subscription, { period, at, keepsRest, usage }: End): Line[] {
  if (period.isTrial) return [];
  const { holdings } = subscription;
  const whole = BigInt(period.end - period.wholeStart);
  const sumOver = (amountOf: (holding: Holding) => number) => {
    const times = holdings.map((each) => {
      const time = Math.min(each.end ?? at, at) - Math.max(each.start, period.start);
      return BigInt(amountOf(each)) * BigInt(Math.max(0, time));
    });
    return rounded(
      times.reduce((sum, one) => sum + one, 0n),
      whole,
    );
  };
  const plan = sumOver(({ atEnd }) => atEnd);
  const commitment = sumOver((each) => each.plan.commitment ?? 0);
  const present = holdings.findLast(({ start }) => start <= at)?.value ?? 0;
  const rest = keepsRest ? rounded(BigInt(present) * BigInt(period.end - at), whole) : 0;
  const paid = Math.max(0, settledForPlan(subscription, period) - rest);
  const missing = commitment - paid - plan - listOfUsage(usage) - usageWithin(subscription, period, at);
  return [
    ...(plan === 0 ? [] : [{ kind: 'at_end', amount: plan } as const]),
    ...(missing <= 0 ? [] : [{ kind: 'commitment', amount: missing } as const]),
  ];
}

/** Usage on invoices within the period. A void one bills nothing. */
function usageWithin(subscription: Subscription, period: Period, at: number): number {
  const within = invoicesOf(subscription).filter((each) => {
    if (each.status === 'void') return false;
    if (each.reason === 'usage_threshold') return each.period?.start === period.start;
    return each.period === null && each.at > period.start && each.at <= at;
  });
  return within.reduce((sum, { lines }) => sum + listOfUsage(lines), 0);
}

/** Usage before its discount. */
function listOfUsage(lines: readonly Line[]): number {
  const usage = lines.filter(({ kind }) => kind === 'usage');
  return usage.reduce((sum, { amount, takenBack = 0 }) => sum + amount - takenBack, 0);
}
