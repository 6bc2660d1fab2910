import { z } from 'zod';
import { grantUsageCredit, takeBackUsageCredit } from '../billing/change-credits.ts';
import { route } from '../http/route.ts';
import { amountInput } from '../kernel/json.ts';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { getUsageCredit, listUsageCredits } from '../usage/actions-credits.ts';
import { NewUsageCredit, UsageCredit, UsageCreditId } from '../usage/usage-credit.ts';

const tag = 'Usage credits';

const returns = z.object({ usageCredit: UsageCredit });

export const usageCreditRoutes = [
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
  route({
    method: 'GET',
    path: '/usage-credits/{id}',
    summary: 'Get a usage credit',
    tag,
    params: z.object({ id: UsageCreditId }),
    returns: z.object({ usageCredit: UsageCredit }),
    refuses: ['usageCreditNotFound'],
    handle: async (work, { params }) => ({ usageCredit: await getUsageCredit(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/usage-credits',
    summary: 'List the usage credits',
    tag,
    query: pageQuery({ subscriptionId: textFilter, usageMeterId: textFilter, source: textFilter }),
    returns: pageOf(UsageCredit),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listUsageCredits(work, pageRequest(query)),
  }),
];
