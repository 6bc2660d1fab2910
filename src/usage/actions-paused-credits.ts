import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { smallerOf } from '../kernel/money.ts';
import { givenBackOnResume, lessTakenByHand, shareOfRest, withheldOf } from '../rating/credits.ts';
import { grantCredits } from './actions-ledger.ts';
import { lockBalances } from './store-accounts.ts';
import {
  addPaused,
  countTakenBack,
  listPlanCredits,
  takeBackCredits,
  writePendingApplication,
} from './store-credits.ts';

/**
 * Takes back the plan credits of the paused rest of a period, as far as they are neither used nor held. The others are
 * owed, unless the seller took them back by hand. Credits of the period that are left on the account pay back first, and
 * then the next ones of the plan. Credits that belong to the customer, and those that rolled over from earlier periods,
 * stay.
 */
export async function takeBackPausedCredits(
  work: Work,
  { id: periodId, endAt }: { readonly id: string; readonly endAt: Instant },
): Promise<void> {
  const accountIds = [...new Set((await listPlanCredits(work, [periodId])).map((credit) => credit.ledgerAccountId))];
  if (accountIds.length === 0) return;
  const balances = await lockBalances(work, accountIds);
  await writePendingApplication(work, accountIds);
  const free = new Map(
    [...balances].flatMap(([id, { balance, held }]) => (held > 0n ? [[id, balance > 0n ? balance : 0n]] : [])),
  );
  // Credits of intervals before have ended.
  const running = (await listPlanCredits(work, [periodId])).filter(({ expiresAt }) => expiresAt > endAt);
  const paused = running.map((credit) => {
    const { id, pricingModelId, ledgerAccountId, rest, pausedBack, pausedOwed, pausedByHand, takenByHand } = credit;
    const share = shareOfRest(credit, endAt) - pausedBack - pausedOwed - pausedByHand;
    const due = share > 0n ? share : 0n;
    const unheld = free.get(ledgerAccountId) ?? due;
    const amount = smallerOf(smallerOf(due, rest), unheld);
    if (free.has(ledgerAccountId)) free.set(ledgerAccountId, unheld - amount);
    const owed = lessTakenByHand(due - amount, takenByHand);
    return { id, pricingModelId, ledgerAccountId, amount, owed, byHand: due - amount - owed, left: rest - amount };
  });
  await takeBackCredits(
    work,
    paused.filter(({ amount }) => amount > 0n),
  );
  await addPaused(work, paused);
  const paidBack = [...Map.groupBy(paused, ({ ledgerAccountId }) => ledgerAccountId)].flatMap(
    ([accountId, credits]) => {
      const owed = credits.reduce((sum, credit) => sum + credit.owed, 0n);
      const amounts = withheldOf(
        credits.map(({ left }) => left),
        smallerOf(owed, free.get(accountId) ?? owed),
      );
      return credits.map(({ id, pricingModelId }, index) => ({ id, pricingModelId, amount: amounts[index] ?? 0n }));
    },
  );
  const withheld = paidBack.filter(({ amount }) => amount > 0n);
  await takeBackCredits(work, withheld);
  await countTakenBack(work, 'withheld', withheld);
}

/** A subscription that resumes at `at`, within the interval of its paused period. */
export interface ResumedCredits {
  readonly pausedPeriodId: string;
  readonly pausedAt: Instant;
  readonly at: Instant;
  /** The period that begins, or goes on after a pause of no time. */
  readonly billingPeriodId: string;
}

/** Gives back the credits of a pause, less the share of the paused time and what is owed. Each is given back once. */
export async function giveBackPausedCredits(work: Work, resumed: readonly ResumedCredits[]): Promise<void> {
  if (resumed.length === 0) return;
  const byPeriod = new Map(resumed.map((each) => [each.pausedPeriodId, each]));
  const credits = await listPlanCredits(work, [...byPeriod.keys()]);
  await grantCredits(
    work,
    credits.flatMap((credit) => {
      const each = byPeriod.get(credit.billingPeriodId);
      if (each === undefined || credit.pausedBack + credit.pausedOwed === 0n) return [];
      const { pausedAt: start, at: end, billingPeriodId } = each;
      const { id, subscriptionId, pricingModelId, usageMeterId, featureId, priority, expiresAt } = credit;
      return {
        ...{ subscriptionId, pricingModelId, usageMeterId, featureId, priority, expiresAt, billingPeriodId },
        intervalStartAt: credit.intervalStartAt === null ? null : end,
        amount: givenBackOnResume(credit, { start, end }),
        source: 'billing_period_transition' as const,
        sourceId: `${id}:resumed`,
      };
    }),
  );
}
