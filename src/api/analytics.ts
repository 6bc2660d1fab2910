import { z } from 'zod';
import { reportChurn, reportMrr } from '../analytics/actions.ts';
import { ChurnReport, MrrReport, mrrGroupings } from '../analytics/mrr-report.ts';
import { rangeQuery } from '../analytics/report-range.ts';
import { route } from '../http/route.ts';

const tag = 'Analytics';

const mrrQuery = z.object({
  ...rangeQuery,
  groupBy: z.enum(mrrGroupings).optional().meta({ description: 'By default there is one group for each currency.' }),
});

export const analyticsRoutes = [
  route({
    method: 'GET',
    path: '/analytics/mrr',
    needs: 'analytics:read',
    summary: 'Report the monthly recurring revenue',
    description:
      'Returns the monthly recurring revenue (MRR) and its movements over time, at each past instant as it was then. ' +
      'Trials, pauses, unpaid subscriptions, setup fees, usage and tax count nothing.',
    tag,
    query: mrrQuery,
    returns: z.object({ mrr: MrrReport }),
    refuses: [],
    handle: async (work, { query }) => ({ mrr: await reportMrr(work, query) }),
  }),
  route({
    method: 'GET',
    path: '/analytics/churn',
    needs: 'analytics:read',
    summary: 'Report churn',
    description: 'Returns the customers and the recurring revenue that were lost over time, and their rates.',
    tag,
    query: mrrQuery,
    returns: z.object({ churn: ChurnReport }),
    refuses: [],
    handle: async (work, { query }) => ({ churn: await reportChurn(work, query) }),
  }),
];
