import { requestChecks } from '../payments/actions-charge.ts';
import { claimPaymentsToCheck } from '../payments/store.ts';
import { assumePaid } from './charge-invoice.ts';
import type { DueStep } from './due-step.ts';

/**
 * Queries slow charges at their processors after the commit. The response sets the next query, at the earliest a minute
 * later; a charge that the processor calls pending never counts as failed.
 */
export const checkStep: DueStep = {
  name: 'check',
  claim: claimPaymentsToCheck,
  perform: (work, ids) => requestChecks(work, ids, assumePaid),
};
