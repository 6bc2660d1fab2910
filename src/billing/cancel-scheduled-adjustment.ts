import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { clearTemporaryClaims } from '../entitlements/actions.ts';
import { Problem } from '../kernel/problem.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { decideItemChanges } from '../subscriptions/adjustment.ts';
import { saveSubscription } from '../subscriptions/store.ts';
import { cancelPendingAdjustments, findPendingAdjustment } from '../subscriptions/store-adjustments.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { holdCurrent } from './catch-up.ts';

/**
 * Cancels a scheduled change and makes the claims that were to end with it permanent. Returns the number of items that
 * the change would have added or changed. Refuses with `noAdjustmentScheduled`.
 */
export async function cancelScheduledAdjustment(
  work: Work,
  id: string,
): Promise<{ subscription: SubscriptionRow; canceledItemCount: number }> {
  const { customer, subscription } = await holdCurrent(work, id);
  if (subscription.scheduledAdjustmentAt === null) throw new Problem('noAdjustmentScheduled', { id });
  const adjustment = await findPendingAdjustment(work, id);
  assert(adjustment, 'what is scheduled has its row');
  const items = await listActiveItems(work, [{ subscriptionId: id, at: work.now }]);
  const { added, changed } = decideItemChanges(
    items.filter((item) => !item.manuallyCreated),
    adjustment.items,
  );
  await cancelPendingAdjustments(work, [id]);
  await clearTemporaryClaims(work, id);
  const saved = await saveSubscription(work, id, { scheduledAdjustmentAt: null });
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return { subscription: saved, canceledItemCount: added.length + changed.length };
}
