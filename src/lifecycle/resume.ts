import assert from 'node:assert/strict';
import { releaseLapsedClaims } from '../entitlements/actions.ts';
import { itemLine, type NewLine } from '../invoicing/invoice-line-item.ts';
import type { Instant } from '../kernel/calendar.ts';
import { expireCredits } from '../ledger/actions.ts';
import { newId } from '../platform/new-id.ts';
import type { Work } from '../platform/work.ts';
import { publishSubscriptions } from '../subscriptions/actions.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import type { Arrears } from '../subscriptions/cancellation.ts';
import { type ResumedPeriod, resumedPeriod } from '../subscriptions/pause.ts';
import { findSubscriptions } from '../subscriptions/store.ts';
import { claimResumeDue } from '../subscriptions/store-due.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { requireStatusAfter, type SubscriptionRow } from '../subscriptions/subscription.ts';
import type { SubscriptionItemRow } from '../subscriptions/subscription-item.ts';
import { readArrears } from './arrears.ts';
import { type Beginning, beginPeriods } from './begin-periods.ts';
import { takeUsageLines } from './bill-usage.ts';
import type { DueStep } from './due-step.ts';
import { pausedCreditLeft, pausedTimeLine } from './paused-time-line.ts';

/** Lets paused subscriptions go on whose pause is over, each as of its date. */
export const resumeStep: DueStep = {
  name: 'resume',
  claim: claimResumeDue,
  async perform(work, ids) {
    const paused = await findSubscriptions(work, ids);
    const due = paused.flatMap((subscription) => {
      const at = subscription.resumesAt;
      return at !== null && at <= work.now ? { subscription, at } : [];
    });
    await resumeAll(work, due);
  },
};

/** A paused subscription that goes on at an instant after its pause began. */
export interface Resuming {
  readonly subscription: SubscriptionRow;
  readonly at: Instant;
}

/**
 * Begins the period of each subscription that goes on: it lasts to the next boundary, and is billed its share of the
 * interval, with the usage until now, less what was kept for paused time.
 */
export async function resumeAll(work: Work, resuming: readonly Resuming[]): Promise<SubscriptionRow[]> {
  const ends = resuming.map(({ subscription, at }) => ({ subscriptionId: subscription.id, at }));
  await releaseLapsedClaims(work, ends);
  await expireCredits(work, ends);
  const items = Map.groupBy(await listActiveItems(work, ends), (item) => item.subscriptionId);
  const usage = await takeUsageLines(
    work,
    resuming.map(({ subscription }) => subscription),
  );
  const arrearsOf = await readArrears(
    work,
    resuming.map(({ subscription }) => subscription.id),
  );
  const resumed = await beginPeriods(
    work,
    resuming.map(({ subscription, at }) => {
      const part = resumedPeriod(subscription, startOfPeriod(subscription), at);
      const owed = [
        ...itemLines(subscription, items.get(subscription.id) ?? [], part),
        ...(usage.get(subscription.id) ?? []),
      ];
      return toBeginning(
        work,
        { ...subscription, ...activeAgain(subscription, arrearsOf(subscription.id)) },
        part,
        owed,
      );
    }),
  );
  await publishSubscriptions(work, 'subscription.updated', resumed);
  return resumed;
}

function itemLines(
  { doNotCharge }: SubscriptionRow,
  items: readonly SubscriptionItemRow[],
  { start, end, wholeStartAt }: ResumedPeriod,
): NewLine[] {
  if (doNotCharge) return [];
  const priced = items.filter(({ quantity, unitPrice }) => quantity > 0 && unitPrice > 0n);
  return priced.map((item) => itemLine(item, { start, end }, { start: wholeStartAt ?? start, end }));
}

function toBeginning(
  work: Work,
  subscription: SubscriptionRow,
  part: ResumedPeriod,
  owed: readonly NewLine[],
): Beginning {
  const pausedTime = pausedTimeLine(owed, subscription.pausedCredit);
  const lines = pausedTime === null ? owed : [...owed, pausedTime];
  const resumed: SubscriptionRow = {
    ...subscription,
    currentBillingPeriodStart: part.start,
    currentBillingPeriodEnd: part.end,
    pausedCredit: pausedCreditLeft(lines, subscription.pausedCredit),
  };
  const period: BillingPeriodRow = {
    id: newId('billingPeriod'),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: subscription.pricingModelId,
    subscriptionId: subscription.id,
    startAt: part.start,
    endAt: part.end,
    status: 'active',
    trialPeriod: false,
    wholeStartAt: part.wholeStartAt,
    prorationWaived: 0n,
  };
  return { subscription: resumed, period, lines, isFirst: false, grantsCredits: !part.isRestOfPaused };
}

/** What a subscription that was paused is again. It owes something where money was taken back during the pause. */
export function activeAgain({ status: paused }: SubscriptionRow, arrears: Arrears) {
  const resumed = requireStatusAfter(paused, 'resumed');
  const owing = arrears === 'none' ? resumed : requireStatusAfter(resumed, 'payment_failed');
  const status = arrears === 'unpaid' ? requireStatusAfter(owing, 'retries_exhausted') : owing;
  return { status, pausedAt: null, resumesAt: null };
}

function startOfPeriod({ currentBillingPeriodStart }: SubscriptionRow): Instant {
  assert(currentBillingPeriodStart !== null, 'what was paused was in a period');
  return currentBillingPeriodStart;
}
