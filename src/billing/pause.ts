import assert from 'node:assert/strict';
import type { CustomerRow } from '../customers/customer.ts';
import type { Work } from '../database/work.ts';
import { listOwedInvoices, lockDraftsOf } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { smallerOf } from '../kernel/money.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { decidePause, type Pause } from '../subscriptions/pause.ts';
import { type SubscriptionChange, saveSubscription } from '../subscriptions/store.ts';
import { findPendingAdjustment } from '../subscriptions/store-adjustments.ts';
import {
  endPeriodInPause,
  findCurrentBillingPeriod,
  reopenPausedPeriod,
  saveKeptValue,
} from '../subscriptions/store-billing-periods.ts';
import { requireStatusAfter, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { giveBackPausedCredits, takeBackPausedCredits } from '../usage/actions-paused-credits.ts';
import { withInterims } from './bill-subscription.ts';
import { lockCurrent } from './catch-up.ts';
import { readArrears } from './collect-invoices.ts';
import type { LockedSubscription } from './end-subscription.ts';
import { keptValueOf, refundTakenOff } from './paused-time.ts';
import { activeAgain, resumeAll } from './resume-paused.ts';

/**
 * Pauses a subscription on request: it grants nothing and costs nothing until it resumes. The amount really paid for
 * the rest of its period is kept. Usage recorded meanwhile is accepted, and billed with the first invoice after the pause.
 */
export async function pauseSubscription(work: Work, id: string, pause: Pause): Promise<SubscriptionRow> {
  const locked = await lockCurrent(work, id);
  // A draft is to be paid for too, once its review is over, and a change whose payment is yet to make its invoice.
  const owes =
    (await listOwedInvoices(work, [id])).length > 0 ||
    (await lockDraftsOf(work, [id])).length > 0 ||
    (await findPendingAdjustment(work, id))?.status === 'awaiting_payment';
  const decision = decidePause(locked.subscription, pause, { owes, now: work.now });
  switch (decision.does) {
    case 'nothing':
      return locked.subscription;
    case 'reschedule':
      return save(work, locked.customer, id, { resumesAt: decision.resumesAt });
    case 'pause':
      return beginPause(work, locked, decision.resumesAt);
    default:
      return decision satisfies never;
  }
}

async function beginPause(
  work: Work,
  { customer, subscription }: LockedSubscription,
  resumesAt: Instant | null,
): Promise<SubscriptionRow> {
  const period = await findCurrentBillingPeriod(work, subscription);
  assert(period, 'what can be paused is in a period');
  const paused = await endPeriodInPause(work, period, work.now);
  const kept = await keptValueOf(work, paused);
  await saveKeptValue(work, paused.id, { keptValue: kept });
  await takeBackPausedCredits(work, paused);
  return save(work, customer, subscription.id, {
    status: requireStatusAfter(subscription.status, 'paused'),
    pausedAt: work.now,
    resumesAt,
    pausedCredit: subscription.pausedCredit + kept,
    currentBillingPeriodEnd: work.now,
    // The usage periods that are open stay so until it resumes.
    interimAt: subscription.interimAt ?? subscription.currentBillingPeriodEnd,
  });
}

async function save(
  work: Work,
  customer: CustomerRow,
  id: string,
  change: SubscriptionChange,
): Promise<SubscriptionRow> {
  const saved = await saveSubscription(work, id, change);
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return saved;
}

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
  const [reopening] = await withInterims(
    work,
    [{ ...subscription, currentBillingPeriodEnd: reopened.endAt }],
    () => work.now,
  );
  const saved = await saveSubscription(work, subscription.id, {
    interimAt: reopening?.interimAt ?? null,
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
