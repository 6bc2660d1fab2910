import type { Work } from '../database/work.ts';
import { moveClaimsEnd } from '../entitlements/actions.ts';
import type { Instant } from '../kernel/calendar.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { type Cancellation, decideCancel } from '../subscriptions/cancellation.ts';
import { saveSubscription } from '../subscriptions/store.ts';
import { markScheduledToCancel } from '../subscriptions/store-billing-periods.ts';
import { requireStatusAfter, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { holdCurrent } from './catch-up.ts';
import { endSubscription, type Held } from './end-subscription.ts';

/** Cancels a subscription on request: now, at the end of its current period, or at a date. */
export async function cancelSubscription(work: Work, id: string, cancellation: Cancellation): Promise<SubscriptionRow> {
  const held = await holdCurrent(work, id);
  const decision = decideCancel(held.subscription, cancellation, work.now);
  switch (decision.does) {
    case 'nothing':
      return held.subscription;
    case 'schedule':
      return scheduleEnd(work, held, decision.at);
    case 'end':
      return endSubscription(work, held, { at: decision.at });
    default:
      return decision satisfies never;
  }
}

async function scheduleEnd(work: Work, { subscription, customer }: Held, at: Instant): Promise<SubscriptionRow> {
  const saved = await saveSubscription(work, subscription.id, {
    status: requireStatusAfter(subscription.status, 'cancel_scheduled'),
    cancelScheduledAt: at,
  });
  const from = subscription.cancelScheduledAt;
  if (from !== null) await moveClaimsEnd(work, saved.id, { from, to: at });
  await markScheduledToCancel(work, saved.id, true);
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return saved;
}
