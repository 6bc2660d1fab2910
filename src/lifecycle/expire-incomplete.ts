import type { Work } from '../platform/work.ts';
import { listIncompleteBefore } from '../subscriptions/store.ts';
import { endSubscription, holdSubscription } from './cancel.ts';

/** How long a subscription waits for its first payment: the next day finds it gone. */
export const incompleteLifetimeMs = 23 * 60 * 60 * 1000;

/**
 * Ends subscriptions that have waited 23 hours for a first payment, the oldest first, each as of the end of its 23
 * hours. One whose first payment is under way is left alone. Answers how many ended.
 */
export async function expireIncompleteOnce(work: Work, { limit }: { limit: number }): Promise<{ expired: number }> {
  let expired = 0;
  for (const { id, createdAt } of await listIncompleteBefore(work, work.now - incompleteLifetimeMs, limit)) {
    const held = await holdSubscription(work, id);
    // Somebody else may have ended it while we waited for the lock.
    if (held.subscription.status !== 'incomplete') continue;
    await endSubscription(work, held, { at: createdAt + incompleteLifetimeMs, happening: 'expired' });
    expired += 1;
  }
  return { expired };
}
