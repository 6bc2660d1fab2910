import { z } from 'zod';
import {
  mostToLookAt,
  readAttention,
  readHealth,
  reportChurn,
  reportMrr,
  reportPayments,
  reportRetention,
  reportRevenue,
  reportUsage,
} from '../analytics/actions.ts';
import { Attention, Health } from '../analytics/health.ts';
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
import type { Work } from '../database/work.ts';
import { route } from '../http/route.ts';
import { version } from '../http/version.ts';
import { invariants } from '../invariants/check-invariants.ts';
import { listInvariantCounts } from '../invariants/store-checks.ts';
import { countUndelivered } from '../webhooks/store-deliveries.ts';

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
  route({
    method: 'GET',
    path: '/analytics/mrr',
    cell: 'all',
    homeOnly: true,
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
    cell: 'all',
    homeOnly: true,
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
    cell: 'all',
    homeOnly: true,
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
    cell: 'all',
    homeOnly: true,
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
    cell: 'all',
    homeOnly: true,
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
    cell: 'all',
    homeOnly: true,
    needs: 'analytics:read',
    summary: 'Report usage',
    description: 'Returns the units and events of every usage meter over time, from the roll-ups of whole hours.',
    tag,
    query: z.object(rangeQuery),
    returns: z.object({ usage: UsageReport }),
    refuses: [],
    handle: async (work, { query }) => ({ usage: await reportUsage(work, query) }),
  }),
  route({
    method: 'GET',
    path: '/analytics/attention',
    cell: 'all',
    homeOnly: true,
    needs: 'analytics:read',
    summary: 'Count what needs attention',
    description: 'Returns the numbers of records that somebody should look at, each up to 1,000.',
    tag,
    returns: z.object({ attention: Attention }),
    refuses: [],
    handle: async (work) => {
      const { failingWebhooks } = await countUndelivered(work, mostToLookAt);
      const attention = { ...(await readAttention(work)), failingWebhooks };
      const checks = await readChecks(work);
      const brokenInvariants = checks?.invariants.filter(({ holds }) => !holds).length ?? null;
      return { attention: { ...attention, brokenInvariants } };
    },
  }),
  route({
    method: 'GET',
    path: '/analytics/health',
    cell: 'all',
    homeOnly: true,
    needs: 'analytics:read',
    summary: 'Report the health of the service',
    description:
      'Returns the versions, the work of the environment that is due, and the last check of all invariants. It tells ' +
      'nothing about other environments.',
    tag,
    returns: z.object({ health: Health }),
    refuses: [],
    handle: async (work) => {
      const { database, work: due } = await readHealth(work);
      const { messagesPending, oldestMessageAt } = await countUndelivered(work, mostToLookAt);
      const all = { ...due, messagesPending, oldestMessageAt };
      return { health: { version, database, work: all, checks: await readChecks(work) } };
    },
  }),
];
