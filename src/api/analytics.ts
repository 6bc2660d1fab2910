import { z } from 'zod';
import {
  reportChurn,
  reportMrr,
  reportPayments,
  reportRetention,
  reportRevenue,
  reportUsage,
} from '../analytics/actions.ts';
import {
  PaymentsReport,
  paymentGroupings,
  RetentionReport,
  RevenueReport,
  revenueGroupings,
  UsageReport,
} from '../analytics/money-report.ts';
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
  route({
    method: 'GET',
    path: '/analytics/retention',
    needs: 'analytics:read',
    summary: 'Report retention',
    description:
      'Returns the part of the recurring revenue that was kept at each point, and that of the customers of each point since. In the currency of the environment, with at most 60 points.',
    tag,
    query: z.object(rangeQuery),
    returns: z.object({ retention: RetentionReport }),
    refuses: [],
    handle: async (work, { query }) => ({ retention: await reportRetention(work, query) }),
  }),
  route({
    method: 'GET',
    path: '/analytics/revenue',
    needs: 'analytics:read',
    summary: 'Report revenue',
    description:
      'Returns the net amounts of invoices and credit notes over time, with tax apart, and the money that was collected and refunded.',
    tag,
    query: z.object({ ...rangeQuery, groupBy: z.enum(revenueGroupings).optional() }),
    returns: z.object({ revenue: RevenueReport }),
    refuses: [],
    handle: async (work, { query }) => ({ revenue: await reportRevenue(work, query) }),
  }),
  route({
    method: 'GET',
    path: '/analytics/payments',
    needs: 'analytics:read',
    summary: 'Report payments',
    description: 'Returns the payments that succeeded and failed over time, and those that a later attempt recovered.',
    tag,
    query: z.object({ ...rangeQuery, groupBy: z.enum(paymentGroupings).optional() }),
    returns: z.object({ payments: PaymentsReport }),
    refuses: [],
    handle: async (work, { query }) => ({ payments: await reportPayments(work, query) }),
  }),
  route({
    method: 'GET',
    path: '/analytics/usage',
    needs: 'analytics:read',
    summary: 'Report usage',
    description: 'Returns the units and events of every usage meter over time, from the roll-ups of whole hours.',
    tag,
    query: z.object(rangeQuery),
    returns: z.object({ usage: UsageReport }),
    refuses: [],
    handle: async (work, { query }) => ({ usage: await reportUsage(work, query) }),
  }),
];
