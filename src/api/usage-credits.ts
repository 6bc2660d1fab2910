import { z } from 'zod';
import { grantUsageCredit, takeBackUsageCredit } from '../billing/grant-by-hand.ts';
import { route } from '../http/route.ts';
import { amountInput } from '../kernel/json.ts';
import { createdFilters, customerFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { PoolAmount } from '../pricing/credit-pool.ts';
import { getUsageCredit, listUsageCredits } from '../usage/actions-credits.ts';
import { NewUsageCredit, UsageCredit, UsageCreditId } from '../usage/usage-credit.ts';

const tag = 'Usage credits';

const returns = z.object({ usageCredit: UsageCredit });

export const usageCreditRoutes = [
  route({
    method: 'POST',
    path: '/usage-credits',
    cell: 'customer',
    needs: 'usage-credits:money',
    summary: 'Grant usage credits',
    description:
      'Grants credits to a subscription or a customer by hand, for use from now on. Usage before the grant stays as it ' +
      'is. A customer without a subscription keeps them for the next one. Credits of a pool are of a customer, and usage ' +
      'of any of its subscriptions draws from them. A ' +
      'repeat with the same `transactionId` grants nothing and returns the first grant.',
    tag,
    body: z.object({ usageCredit: NewUsageCredit }),
    returns,
    refuses: [
      'tooManyRecords',
      'subscriptionNotFound',
      'subscriptionTerminal',
      'customerNotFound',
      'externalIdAmbiguous',
      'customerArchived',
      'usageMeterNotFound',
      'creditPoolNotFound',
      'transactionIdTaken',
    ],
    handle: async (work, { body }) => ({ usageCredit: await grantUsageCredit(work, body.usageCredit) }),
  }),
  route({
    method: 'POST',
    path: '/usage-credits/{id}/take-back',
    cell: 'id',
    needs: 'usage-credits:money',
    summary: 'Take back usage credits',
    description:
      'Takes back all unused credits of a grant, or `amount` of them. More than is left is refused with 400, ' +
      'and so is what open holds have reserved.',
    tag,
    params: z.object({ id: UsageCreditId }),
    body: z.object({
      amount: z
        .union([amountInput(1), PoolAmount])
        .nullish()
        .meta({
          description: 'The number of units, or the amount of a credit pool, by default all that is left.',
        }),
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
    cell: 'id',
    needs: 'usage-credits:read',
    summary: 'Get a usage credit',
    description: 'Returns one grant of usage credits and what is left of it.',
    tag,
    params: z.object({ id: UsageCreditId }),
    returns: z.object({ usageCredit: UsageCredit }),
    refuses: ['usageCreditNotFound'],
    handle: async (work, { params }) => ({ usageCredit: await getUsageCredit(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/usage-credits',
    cell: 'all',
    merged: 'asc',
    needs: 'usage-credits:read',
    summary: 'List usage credits',
    description: 'Returns the usage credits of the environment, optionally of one subscription, usage meter or source.',
    tag,
    query: pageQuery({
      ...customerFilters,
      subscriptionId: textFilter,
      usageMeterId: textFilter,
      creditPoolId: textFilter,
      source: textFilter,
      ...createdFilters,
    }),
    returns: pageOf(UsageCredit),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listUsageCredits(work, pageRequest(query)),
  }),
];
