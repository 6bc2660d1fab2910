import { requestChecks } from '../payments/actions-charge.ts';
import { claimPaymentsToCheck } from '../payments/store.ts';
import { assumePaid } from './charge-invoice.ts';
import type { DueStep } from './due-step.ts';

/**
 * Asks the processors again how charges stand that take their time, after the commit. What they answer says when to ask
 * next, at the earliest a minute later; a charge that they call under way is never taken for failed.
 */
export const checkStep: DueStep = {
  name: 'check',
  claim: claimPaymentsToCheck,
  perform: (work, ids) => requestChecks(work, ids, assumePaid),
};
