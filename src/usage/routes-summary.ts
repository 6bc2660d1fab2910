import { z } from 'zod';
import { route } from '../platform/route.ts';
import { UsageMeterId } from '../pricing/usage-meter.ts';
import { summarizeUsage } from './actions-summary.ts';
import { SummaryQuery, toSummaryAsk, UsageMeterSummary } from './usage-summary.ts';

export const usageSummaryRoutes = [
  route({
    method: 'GET',
    path: '/usage-meters/{id}/summary',
    summary: 'Sum up the usage of a usage meter',
    description:
      'The units and events with a usageDate from `from` to `to`, grouped by hour, day or month (UTC), by customer, or by a property of the events.',
    tag: 'Usage meters',
    params: z.object({ id: UsageMeterId }),
    query: SummaryQuery,
    returns: z.object({ usageMeterSummary: UsageMeterSummary }),
    refuses: ['usageMeterNotFound'],
    handle: async (work, { params, query }) => ({
      usageMeterSummary: await summarizeUsage(work, params.id, toSummaryAsk(query, work.now)),
    }),
  }),
];
