import { z } from 'zod';
import { textFilter } from '../kernel/page.ts';
import { gatheredRoute } from '../platform/route.ts';
import { balancesTogether, textOfBalances, toUsageMeterBalance } from './actions-balances.ts';
import { UsageMeterBalance } from './ledger.ts';

export const ledgerRoutes = [
  gatheredRoute({
    method: 'GET',
    path: '/customers/{externalId}/usage-balances',
    summary: 'Get the usage balances of a customer',
    description:
      'One row for each usage meter of each current subscription, or of the subscription that subscriptionId names, in any status.',
    tag: 'Customers',
    params: z.object({ externalId: z.string().min(1).max(255) }),
    query: z.object({ subscriptionId: textFilter, pricingModelId: textFilter }),
    returns: z.object({ usageMeterBalances: z.array(UsageMeterBalance) }),
    refuses: ['customerNotFound', 'subscriptionNotFound', 'externalIdAmbiguous'],
    together: balancesTogether,
    ask: ({ params, query }) => ({ ...query, externalId: params.externalId }),
    tell: (balances) => ({ usageMeterBalances: balances.map(toUsageMeterBalance) }),
    text: textOfBalances,
  }),
];
