import { claimCancelDue } from '../subscriptions/store-due.ts';
import { cancelIfDue } from './cancel.ts';
import type { DueStep } from './due-step.ts';

/** Carries out the cancellations whose date has come, each as of that date. */
export const cancelStep: DueStep = {
  name: 'cancel',
  claim: claimCancelDue,
  async perform(work, ids) {
    for (const id of ids) await cancelIfDue(work, id);
  },
};
