import { claimCancelDue } from '../subscriptions/store-due.ts';
import { lockAccountsOfSubscriptions } from '../usage/store-accounts.ts';
import type { DueStep } from './due-step.ts';
import { cancelIfDue } from './end-subscription.ts';

/** Carries out due cancellations, each as of its date. */
export const cancelStep: DueStep = {
  name: 'cancel',
  claim: claimCancelDue,
  async perform(work, ids) {
    // Locks the accounts of all of them in the order that usage uses, before they end one by one.
    await lockAccountsOfSubscriptions(work, ids);
    for (const id of ids) await cancelIfDue(work, id);
  },
};
