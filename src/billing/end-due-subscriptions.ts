import { claimCancelDue } from '../subscriptions/store-due.ts';
import { lockAccountsOfSubscriptions } from '../usage/store-accounts.ts';
import type { DueStep } from './due-step.ts';
import { cancelIfDue } from './end-subscription.ts';

/** Carries out the cancellations whose date has come, each as of that date. */
export const cancelStep: DueStep = {
  name: 'cancel',
  claim: claimCancelDue,
  async perform(work, ids) {
    // Of all of them, in the order in which usage takes them, before one after the other ends.
    await lockAccountsOfSubscriptions(work, ids);
    for (const id of ids) await cancelIfDue(work, id);
  },
};
