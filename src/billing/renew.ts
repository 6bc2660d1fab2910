import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { releaseLapsedClaims } from '../entitlements/actions.ts';
import { listOwedPeriods } from '../invoicing/store-owed.ts';
import type { Instant } from '../kernel/calendar.ts';
import { newBillingPeriod, publishSubscriptions } from '../subscriptions/actions.ts';
import { findSubscriptions } from '../subscriptions/store.ts';
import { closeBillingPeriods } from '../subscriptions/store-billing-periods.ts';
import { claimRenewals } from '../subscriptions/store-renewals.ts';
import {
  isTerminal,
  isWaitingForStart,
  requireStatusAfter,
  type SubscriptionRow,
} from '../subscriptions/subscription.ts';
import { expireCredits } from '../usage/actions-ledger.ts';
import { tellingLowBalances } from '../usage/actions-low-balance.ts';
import { applyScheduledAdjustments } from './apply-adjustment.ts';
import { beginPeriods } from './begin-periods.ts';
import { draftRenewalBills } from './draft-renewal.ts';
import type { DueStep } from './due-step.ts';
import { startSubscriptions } from './start-subscriptions.ts';

/** Begins the next period of each subscription whose period is over, and the first of each whose start has come. */
export const renewStep: DueStep = {
  name: 'renew',
  claim: claimRenewals,
  async perform(work, ids) {
    const due = await findSubscriptions(work, ids);
    const waiting = due.filter(isWaitingForStart);
    if (waiting.length === 0) return renew(work, due);
    await startSubscriptions(work, waiting);
    // A free plan that is replaced now is not renewed.
    const others = due.filter((subscription) => !isWaitingForStart(subscription)).map(({ id }) => id);
    const living = (await findSubscriptions(work, others)).filter(({ status }) => !isTerminal(status));
    await renew(work, living);
  },
};

/** A subscription whose period has been over since `at`. */
interface Due {
  readonly subscription: SubscriptionRow;
  readonly at: Instant;
}

/**
 * Begins one period of each subscription at the end of the previous one. Applies its scheduled change, ends claims and
 * credits that end with the period except for rollovers, and bills it. Grants the credits of the new period, even when
 * past due. Charges come after the commit. The number of statements does not depend on the number of subscriptions.
 */
async function renew(work: Work, over: readonly SubscriptionRow[]): Promise<void> {
  if (over.length === 0) return;
  const ids = over.map(({ id }) => id);
  const renewed = await tellingLowBalances(work, ids, () => beginNext(work, over));
  await publishSubscriptions(work, 'subscription.updated', renewed);
}

async function beginNext(work: Work, over: readonly SubscriptionRow[]): Promise<SubscriptionRow[]> {
  const due = await endPeriods(work, over);
  const bills = await draftRenewalBills(work, due, { claim: true });
  assert(bills.length === due.length, 'what is due has a next period');
  return beginPeriods(
    work,
    bills.map((bill) => {
      const { id, startAt: start, endAt: end } = bill.period;
      const period = newBillingPeriod(work, bill.subscription, { id, start, end });
      return {
        subscription: afterRenewal(bill.subscription),
        period,
        lines: bill.lines,
        isFirst: false,
        grantsCredits: true,
      };
    }),
  );
}

/** Closes ended periods, and returns the updated subscriptions, longest due first. */
async function endPeriods(work: Work, subscriptions: readonly SubscriptionRow[]): Promise<SubscriptionRow[]> {
  const due = subscriptions.map(toDue).sort((one, other) => one.at - other.at);
  const changed = await applyChanges(work, due);
  const ends = changed.map(({ subscription, at }) => ({ subscriptionId: subscription.id, at, goesOn: subscription }));
  await releaseLapsedClaims(work, ends);
  await expireCredits(work, ends);
  const over = due.map(({ subscription: { id, currentBillingPeriodStart: startAt } }) => {
    assert(startAt !== null, 'what ends has begun');
    return { subscriptionId: id, startAt };
  });
  await closeBillingPeriods(
    work,
    over,
    await listOwedPeriods(
      work,
      subscriptions.map(({ id }) => id),
    ),
  );
  return changed.map(({ subscription }) => subscription);
}

function toDue(subscription: SubscriptionRow): Due {
  const at = subscription.currentBillingPeriodEnd;
  assert(at !== null, 'what renews is in a period');
  return { subscription, at };
}

/** Applies the changes scheduled for now. Most subscriptions have none, which costs no query. */
async function applyChanges(work: Work, due: readonly Due[]): Promise<readonly Due[]> {
  const changing = due.filter(({ subscription }) => subscription.scheduledAdjustmentAt !== null);
  if (changing.length === 0) return due;
  const changed = new Map((await applyScheduledAdjustments(work, changing)).map((row) => [row.id, row]));
  return due.map(({ subscription, at }) => ({ subscription: changed.get(subscription.id) ?? subscription, at }));
}

/** Ends the trial, if it was in one. */
function afterRenewal(subscription: SubscriptionRow): SubscriptionRow {
  const { status } = subscription;
  return status === 'trialing' ? { ...subscription, status: requireStatusAfter(status, 'trial_ended') } : subscription;
}
