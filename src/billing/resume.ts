import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { smallerOf } from '../kernel/money.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { saveSubscription } from '../subscriptions/store.ts';
import { findCurrentBillingPeriod, reopenPausedPeriod } from '../subscriptions/store-billing-periods.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { giveBackPausedCredits } from '../usage/actions-paused-credits.ts';
import { lockCurrent } from './catch-up.ts';
import { readArrears } from './collect-invoices.ts';
import type { LockedSubscription } from './end-subscription.ts';
import { refundTakenOff } from './paused-time.ts';
import { activeAgain, resumeAll } from './resume-paused.ts';

/** Resumes a subscription now, on request. One that is not paused is returned as it is. */
export async function resumeSubscription(work: Work, id: string): Promise<SubscriptionRow> {
  const locked = await lockCurrent(work, id);
  const { subscription } = locked;
  if (subscription.status !== 'paused') return subscription;
  const pausedAt = sinceWhen(subscription);
  // Real time may have been set back slightly since.
  const at = Math.max(work.now, pausedAt);
  if (at === pausedAt) return undoPause(work, locked);
  const [resumed] = await resumeAll(work, [{ subscription, at }]);
  assert(resumed, 'one for one');
  return resumed;
}

/** Undoes a pause of zero duration: its period continues, and the kept value is used for it. */
async function undoPause(work: Work, { subscription, customer }: LockedSubscription): Promise<SubscriptionRow> {
  const period = await findCurrentBillingPeriod(work, subscription);
  assert(period, 'what was paused was in a period');
  const reopened = await reopenPausedPeriod(work, period);
  const kept = smallerOf(period.keptValue, subscription.pausedCredit);
  // The rest of what was kept has been refunded meanwhile.
  await refundTakenOff(work, reopened, period.keptValue - kept);
  const { id } = period;
  await giveBackPausedCredits(work, [
    { pausedPeriodId: id, pausedAt: period.endAt, at: period.endAt, billingPeriodId: id },
  ]);
  const saved = await saveSubscription(work, subscription.id, {
    ...activeAgain(subscription, (await readArrears(work, [subscription.id]))(subscription.id)),
    currentBillingPeriodEnd: reopened.endAt,
    pausedCredit: subscription.pausedCredit - kept,
  });
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return saved;
}

function sinceWhen({ pausedAt }: SubscriptionRow): Instant {
  assert(pausedAt !== null, 'what is paused is so since some time');
  return pausedAt;
}
