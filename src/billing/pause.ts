import assert from 'node:assert/strict';
import type { CustomerRow } from '../customers/customer.ts';
import type { Work } from '../database/work.ts';
import { listOwedInvoices } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { decidePause, type Pause } from '../subscriptions/pause.ts';
import { type SubscriptionChange, saveSubscription } from '../subscriptions/store.ts';
import { endPeriodInPause, findCurrentBillingPeriod, saveKeptValue } from '../subscriptions/store-billing-periods.ts';
import { requireStatusAfter, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { takeBackPausedCredits } from '../usage/actions-paused-credits.ts';
import { lockCurrent } from './catch-up.ts';
import type { LockedSubscription } from './end-subscription.ts';
import { keptValueOf } from './paused-time.ts';

/**
 * Pauses a subscription on request: it grants nothing and costs nothing until it resumes. The amount really paid for
 * the rest of its period is kept. Usage recorded meanwhile is accepted, and billed with the first invoice after the pause.
 */
export async function pauseSubscription(work: Work, id: string, pause: Pause): Promise<SubscriptionRow> {
  const locked = await lockCurrent(work, id);
  const owes = (await listOwedInvoices(work, [id])).length > 0;
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
