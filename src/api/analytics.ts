import { z } from 'zod';
import {
  readAttention,
  readHealth,
  readMovements,
  readPayments,
  readRetention,
  readRevenue,
  readUsage,
} from '../analytics/actions.ts';
import { Attention, Health, mostToLookAt, toAttention, toHealth } from '../analytics/health.ts';
import {
  PaymentsReport,
  paymentGroupings,
  RetentionReport,
  RevenueReport,
  revenueGroupings,
  toPaymentsReport,
  toRetentionReport,
  toRevenueReport,
  toUsageReport,
  UsageReport,
} from '../analytics/money-report.ts';
import { ChurnReport, MrrReport, mrrGroupings, toChurnReport, toMrrReport } from '../analytics/mrr-report.ts';
import { rangeQuery } from '../analytics/report-range.ts';
import type { Work } from '../database/work.ts';
import { gatheredRoute } from '../http/route.ts';
import { version } from '../http/version.ts';
import { invariants } from '../invariants/check-invariants.ts';
import { listInvariantCounts } from '../invariants/store-checks.ts';
import { findUndelivered } from '../webhooks/store-deliveries.ts';

const tag = 'Analytics';

const mrrQuery = z.object({
  ...rangeQuery,
  groupBy: z.enum(mrrGroupings).optional().meta({ description: 'By default there is one group for each currency.' }),
});

const sentences = new Map(invariants.map(({ name, sentence }) => [name, sentence]));

/** The last check. It spans all tenants, so it names neither rows nor their numbers. */
async function readChecks(work: Work): Promise<Health['checks']> {
  const counts = await listInvariantCounts(work.db);
  const [first] = counts;
  if (first === undefined) return null;
  const { checkedAt, durationMs } = first;
  const known = counts.flatMap(({ name, violations }) => {
    const sentence = sentences.get(name);
    return sentence === undefined ? [] : { name, sentence, holds: violations === 0 };
  });
  return { checkedAt, durationMs, invariants: known };
}

export const analyticsRoutes = [
  gatheredRoute({
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
    read: (work, { query }) => readMovements(work, query),
    join: (parts) => ({ mrr: toMrrReport(parts) }),
  }),
  gatheredRoute({
    path: '/analytics/churn',
    needs: 'analytics:read',
    summary: 'Report churn',
    description: 'Returns the customers and the recurring revenue that were lost over time, and their rates.',
    tag,
    query: mrrQuery,
    returns: z.object({ churn: ChurnReport }),
    refuses: [],
    read: (work, { query }) => readMovements(work, query),
    join: (parts) => ({ churn: toChurnReport(parts) }),
  }),
  gatheredRoute({
    path: '/analytics/retention',
    needs: 'analytics:read',
    summary: 'Report retention',
    description:
      'Returns the part of the recurring revenue that was kept at each point, and that of the customers of each point since. In the currency of the environment, with at most 60 points.',
    tag,
    query: z.object(rangeQuery),
    returns: z.object({ retention: RetentionReport }),
    refuses: [],
    read: (work, { query }) => readRetention(work, query),
    join: (parts) => ({ retention: toRetentionReport(parts) }),
  }),
  gatheredRoute({
    path: '/analytics/revenue',
    needs: 'analytics:read',
    summary: 'Report revenue',
    description:
      'Returns the net amounts of invoices and credit notes over time, with tax apart, and the money that was collected and refunded.',
    tag,
    query: z.object({ ...rangeQuery, groupBy: z.enum(revenueGroupings).optional() }),
    returns: z.object({ revenue: RevenueReport }),
    refuses: [],
    read: (work, { query }) => readRevenue(work, query),
    join: (parts, { query }) => ({ revenue: toRevenueReport(parts, query.groupBy) }),
  }),
  gatheredRoute({
    path: '/analytics/payments',
    needs: 'analytics:read',
    summary: 'Report payments',
    description: 'Returns the payments that succeeded and failed over time, and those that a later attempt recovered.',
    tag,
    query: z.object({ ...rangeQuery, groupBy: z.enum(paymentGroupings).optional() }),
    returns: z.object({ payments: PaymentsReport }),
    refuses: [],
    read: (work, { query }) => readPayments(work, query),
    join: (parts, { query }) => ({ payments: toPaymentsReport(parts, query.groupBy) }),
  }),
  gatheredRoute({
    path: '/analytics/usage',
    needs: 'analytics:read',
    summary: 'Report usage',
    description: 'Returns the units and events of every usage meter over time, from the roll-ups of whole hours.',
    tag,
    query: z.object(rangeQuery),
    returns: z.object({ usage: UsageReport }),
    refuses: [],
    read: (work, { query }) => readUsage(work, query),
    join: (parts) => ({ usage: toUsageReport(parts) }),
  }),
  gatheredRoute({
    path: '/analytics/attention',
    needs: 'analytics:read',
    summary: 'Count what needs attention',
    description: 'Returns the numbers of records that somebody should look at, each up to 1,000.',
    tag,
    returns: z.object({ attention: Attention }),
    refuses: [],
    read: async (work) => {
      const { failingWebhooks } = await findUndelivered(work, mostToLookAt);
      return { ...(await readAttention(work)), failingWebhooks, checks: await readChecks(work) };
    },
    join: (parts) => ({ attention: toAttention(parts) }),
  }),
  gatheredRoute({
    path: '/analytics/health',
    needs: 'analytics:read',
    summary: 'Report the health of the service',
    description:
      'Returns the versions, the work of the environment that is due, and the last check of all invariants. It tells ' +
      'nothing about other environments.',
    tag,
    returns: z.object({ health: Health }),
    refuses: [],
    read: async (work) => {
      const { database, work: due } = await readHealth(work);
      const { messagesPending, oldestMessageAt } = await findUndelivered(work, mostToLookAt);
      const all = { ...due, messagesPending, oldestMessageAt };
      return { version, database, work: all, checks: await readChecks(work) };
    },
    join: (parts) => ({ health: toHealth(parts) }),
  }),
];
