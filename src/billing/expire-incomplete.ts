import { claimIncomplete } from '../subscriptions/store-due.ts';
import type { DueStep } from './due-step.ts';
import { endSubscription, holdSubscription } from './end-subscription.ts';

/** How long a subscription waits for its first payment: the next day finds it gone. */
export const incompleteLifetimeMs = 23 * 60 * 60 * 1000;

/**
 * Ends subscriptions that have waited 23 hours for a first payment, each as of the end of its 23 hours. One whose first
 * payment is under way is left alone.
 */
export const expireStep: DueStep = {
  name: 'expire',
  claim: (work, limit, only) => claimIncomplete(work, work.now - incompleteLifetimeMs, limit, only),
  async perform(work, ids) {
    for (const id of ids) {
      const held = await holdSubscription(work, id);
      const at = held.subscription.createdAt + incompleteLifetimeMs;
      await endSubscription(work, held, { at, happening: 'expired' });
    }
  },
};
