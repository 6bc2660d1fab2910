import { z } from 'zod';
import { amountInput } from '../kernel/json.ts';
import { NewUsageCredit, UsageCredit, UsageCreditId } from '../ledger/usage-credit.ts';
import { route } from '../platform/route.ts';
import { grantUsageCredit, takeBackUsageCredit } from './change-credits.ts';

const tag = 'Usage credits';
const returns = z.object({ usageCredit: UsageCredit });

export const creditLifecycleRoutes = [
  route({
    method: 'POST',
    path: '/usage-credits',
    summary: 'Grant usage credits by hand',
    description:
      'They can be used from now on; usage that was recorded before stays as it is. With a transactionId a repeat grants ' +
      'nothing and is answered with the first.',
    tag,
    body: z.object({ usageCredit: NewUsageCredit }),
    returns,
    refuses: [
      'subscriptionNotFound',
      'subscriptionTerminal',
      'customerArchived',
      'usageMeterNotFound',
      'transactionIdTaken',
    ],
    handle: async (work, { body }) => ({ usageCredit: await grantUsageCredit(work, body.usageCredit) }),
  }),
  route({
    method: 'POST',
    path: '/usage-credits/{id}/take-back',
    summary: 'Take back what is left of usage credits',
    description:
      'All that is left, or so much of it; what was used stays used. While holds are open, no more can be taken back than ' +
      'they leave of the balance.',
    tag,
    params: z.object({ id: UsageCreditId }),
    body: z.object({
      amount: amountInput(1).nullish().meta({ description: 'At most what is left, which it is when absent.' }),
    }),
    returns,
    refuses: ['usageCreditNotFound', 'usageCreditSpent', 'usageCreditTooSmall', 'usageCreditHeld'],
    handle: async (work, { params, body }) => ({
      usageCredit: await takeBackUsageCredit(work, params.id, body.amount ?? null),
    }),
  }),
];
