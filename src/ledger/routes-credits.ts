import { z } from 'zod';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { getUsageCredit, listUsageCredits } from './actions-credits.ts';
import { UsageCredit, UsageCreditId } from './usage-credit.ts';

const tag = 'Usage credits';

export const creditRoutes = [
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
