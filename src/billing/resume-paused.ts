import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { releaseEndedClaims } from '../entitlements/actions.ts';
import type { Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { accessOf } from '../organizations/setting.ts';
import { newBillingPeriod, publishSubscriptions } from '../subscriptions/actions.ts';
import type { PartPeriod } from '../subscriptions/billing-anchor.ts';
import { type BillingPeriodRow, discountIntervalOf, longStartOf } from '../subscriptions/billing-period.ts';
import { resumedPeriod } from '../subscriptions/pause.ts';
import { findSubscriptions } from '../subscriptions/store.ts';
import { findCurrentBillingPeriods } from '../subscriptions/store-billing-periods.ts';
import { takeResumeDue } from '../subscriptions/store-due.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { type Arrears, hasAccess, requireStatusAfter, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { expireCredits } from '../usage/actions-ledger.ts';
import { tellingLowBalances } from '../usage/actions-low-balance.ts';
import { giveBackPausedCredits, type ResumedCredits } from '../usage/actions-paused-credits.ts';
import { paidInAdvance, periodEndLines, periodLines, takeUsageLines } from './bill-subscription.ts';
import { readArrears } from './collect-invoices.ts';
import type { DueWorkHandler } from './due-work-runner.ts';
import { grantPeriodCredits } from './grant-period-credits.ts';
import { beginPeriods } from './renew.ts';

/** Resumes paused subscriptions whose resume date has come, each as of that date. */
export const resumeHandler: DueWorkHandler = {
  name: 'resume',
  take: takeResumeDue,
  async perform(work, ids) {
    const paused = await findSubscriptions(work, ids);
    const due = paused.flatMap((subscription) => {
      const at = subscription.resumesAt;
      return at !== null && at <= work.now ? { subscription, at } : [];
    });
    await resumeAll(work, due);
  },
};

/** A paused subscription that resumes at an instant after its pause began. */
interface Resuming {
  readonly subscription: SubscriptionRow;
  readonly at: Instant;
}

/**
 * Begins the period of each resumed subscription. It lasts to the next boundary, and bills its share of the interval
 * and unbilled usage, minus kept paused time. Credits that expired in the pause roll over into this period.
 */
export async function resumeAll(work: Work, resuming: readonly Resuming[]): Promise<SubscriptionRow[]> {
  const ids = resuming.map(({ subscription }) => subscription.id);
  const resumed = await tellingLowBalances(work, ids, () => beginAgain(work, resuming));
  await publishSubscriptions(work, 'subscription.updated', resumed);
  return resumed;
}

async function beginAgain(work: Work, resuming: readonly Resuming[]): Promise<SubscriptionRow[]> {
  const ends = resuming.map(({ subscription, at }) => ({ subscriptionId: subscription.id, at, goesOn: subscription }));
  await releaseEndedClaims(work, ends);
  await expireCredits(work, ends);
  const active = await paidInAdvance(work, await listActiveItems(work, ends));
  const items = Map.groupBy(active, (item) => item.subscriptionId);
  const usage = await takeUsageLines(
    work,
    resuming.map(({ subscription }) => subscription),
  );
  const missing = await periodEndLines(
    work,
    resuming.map(({ subscription }) => ({ subscription, usage: usage.get(subscription.id) ?? [] })),
  );
  const arrearsOf = await readArrears(
    work,
    resuming.map(({ subscription }) => subscription.id),
  );
  const step = chargedStep(work.currency);
  const access = accessOf(work);
  const paused = await findCurrentBillingPeriods(
    work,
    resuming.map(({ subscription }) => subscription),
  );
  const pausedPeriods = new Map(paused.map((period) => [period.subscriptionId, period]));
  const resumed: ResumedCredits[] = [];
  const begun = await beginPeriods(
    work,
    resuming.map(({ subscription, at }) => {
      const pausedPeriod = pausedPeriods.get(subscription.id);
      assert(pausedPeriod, 'what was paused was in a period');
      const { isRestOfPaused, ...part } = resumedPeriod(subscription, pausedPeriod, at);
      const lines = periodLines(
        subscription,
        part,
        items.get(subscription.id) ?? [],
        [...(usage.get(subscription.id) ?? []), ...(missing.get(subscription.id) ?? [])],
        step,
      );
      const arrears = arrearsOf(subscription.id);
      const creditsAwaitPayment = !hasAccess({ arrears }, access);
      const rested = isRestOfPaused ? pausedPeriod : null;
      const pausedPeriodId = rested?.id ?? null;
      const carriesOn = rested === null ? {} : discountIntervalOf(rested);
      const period = newBillingPeriod(work, subscription, { ...part, creditsAwaitPayment, ...carriesOn });
      if (pausedPeriodId !== null && !creditsAwaitPayment)
        resumed.push({ pausedPeriodId, pausedAt: subscription.pausedAt ?? at, at, billingPeriodId: period.id });
      return {
        subscription: { ...subscription, ...activeAgain(subscription, arrears) },
        period,
        lines,
        resumption: {
          whole: { start: wholeStart(part, rested), end: part.end },
          pausedPeriodId,
        },
        isFirst: false,
        grantsCredits: !isRestOfPaused,
      };
    }),
  );
  // The rest of an interval gets its credits back instead of new ones, but for intervals that began in the pause.
  await giveBackPausedCredits(work, resumed);
  await grantSincePause(work, begun, resumed);
  return begun;
}

async function grantSincePause(
  work: Work,
  begun: readonly SubscriptionRow[],
  resumed: readonly ResumedCredits[],
): Promise<void> {
  if (resumed.length === 0) return;
  const rests = new Map(resumed.map((each) => [each.billingPeriodId, each]));
  const subscriptions = new Map(begun.map((subscription) => [subscription.id, subscription]));
  const periods = await findCurrentBillingPeriods(work, begun);
  await grantPeriodCredits(
    work,
    periods.flatMap((period) => {
      const [subscription, rest] = [subscriptions.get(period.subscriptionId), rests.get(period.id)];
      if (subscription === undefined || rest === undefined) return [];
      return { subscription, period, isFirst: false, at: rest.at, intervalsFrom: rest.pausedAt + 1 };
    }),
  );
}

/** The status after a pause. It owes something if a payment was reversed during the pause. */
export function activeAgain({ status: paused }: SubscriptionRow, arrears: Arrears) {
  const resumed = requireStatusAfter(paused, 'resumed');
  const owing = arrears === 'none' ? resumed : requireStatusAfter(resumed, 'payment_failed');
  const status = arrears === 'unpaid' ? requireStatusAfter(owing, 'retries_exhausted') : owing;
  return { status, pausedAt: null, resumesAt: null };
}

/** The start of the time that the discount of its interval covers: a long first period has one for all of it. */
function wholeStart({ start, wholeStartAt }: PartPeriod, rested: BillingPeriodRow | null): Instant {
  return (rested === null ? null : longStartOf(rested)) ?? wholeStartAt ?? start;
}
