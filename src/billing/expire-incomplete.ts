import { claimIncomplete } from '../subscriptions/store-due.ts';
import type { DueStep } from './due-step.ts';
import { endSubscription, holdSubscription } from './end-subscription.ts';

/** The maximum time that a subscription awaits its first payment: by the next day it is gone. */
export const incompleteLifetimeMs = 23 * 60 * 60 * 1000;

/**
 * Ends subscriptions that have been incomplete for 23 hours, each as of that time. Skips those with a first payment in
 * flight.
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
