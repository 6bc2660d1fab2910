import { z } from 'zod';
import { gatheredRoute, route } from '../http/route.ts';
import { booleanFilter, createdFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { createUsageMeter, getUsageMeter, listUsageMeters, updateUsageMeter } from '../pricing/actions-usage-meters.ts';
import {
  AggregationType,
  FirstUsagePrice,
  UsageMeter,
  UsageMeterChange,
  UsageMeterId,
  UsageMeterInput,
} from '../pricing/usage-meter.ts';
import { summarizeUsage } from '../usage/actions.ts';
import { joinSummaries, SummaryQuery, toSummaryRequest, UsageMeterSummary } from '../usage/usage-summary.ts';

const tag = 'Usage meters';

export const usageMeterRoutes = [
  route({
    method: 'POST',
    path: '/usage-meters',
    cell: 'home',
    needs: 'usage-meters:catalog',
    summary: 'Create a usage meter',
    description:
      'Creates a usage meter with a no-charge price, so that usage always has a price. With `unitPrice` or ' +
      '`usageEventsPerUnit` it also gets a monthly price, which becomes the default.',
    tag,
    body: z.object({ usageMeter: UsageMeterInput, price: FirstUsagePrice.optional() }),
    returns: z.object({ usageMeter: UsageMeter }),
    refuses: ['tooManyRecords', 'pricingModelNotFound', 'defaultPricingModelNotFound', 'slugTaken'],
    handle: async (work, { body }) => ({ usageMeter: await createUsageMeter(work, body) }),
  }),
  route({
    method: 'GET',
    path: '/usage-meters',
    cell: 'home',
    needs: 'usage-meters:read',
    summary: 'List usage meters',
    description: 'Returns the usage meters of the environment.',
    tag,
    query: pageQuery({
      pricingModelId: textFilter,
      slug: textFilter,
      aggregationType: AggregationType.optional(),
      eventName: textFilter,
      recurring: booleanFilter,
      ...createdFilters,
    }),
    returns: pageOf(UsageMeter),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listUsageMeters(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/usage-meters/{id}',
    cell: 'home',
    needs: 'usage-meters:read',
    summary: 'Get a usage meter',
    description: 'Returns one usage meter with its slug and its way of counting.',
    tag,
    params: z.object({ id: UsageMeterId }),
    returns: z.object({ usageMeter: UsageMeter }),
    refuses: ['usageMeterNotFound'],
    handle: async (work, { params }) => ({ usageMeter: await getUsageMeter(work, params.id) }),
  }),
  route({
    method: 'PUT',
    path: '/usage-meters/{id}',
    cell: 'home',
    needs: 'usage-meters:catalog',
    summary: 'Update a usage meter',
    description:
      'Changes the fields that are sent. A new slug renames the no-charge price too; other prices keep their ' +
      'slugs.',
    tag,
    params: z.object({ id: UsageMeterId }),
    body: z.object({ usageMeter: UsageMeterChange }),
    returns: z.object({ usageMeter: UsageMeter }),
    refuses: ['tooManyRecords', 'usageMeterNotFound', 'idMismatch', 'slugTaken'],
    handle: async (work, { params, body }) => ({
      usageMeter: await updateUsageMeter(work, params.id, body.usageMeter),
    }),
  }),
  gatheredRoute({
    path: '/usage-meters/{id}/summary',
    needs: 'usage-meters:read',
    summary: 'Summarize the usage of a meter',
    description:
      'Returns the units and the number of events with a `usageDate` in a range of time. `groupBy` splits them ' +
      'by hour, day or month (UTC), by customer, or by a property of the events.',
    tag,
    params: z.object({ id: UsageMeterId }),
    query: SummaryQuery,
    returns: z.object({ usageMeterSummary: UsageMeterSummary }),
    refuses: ['usageMeterNotFound'],
    read: (work, { params, query }) => summarizeUsage(work, params.id, toSummaryRequest(query, work.now)),
    join: (parts) => ({ usageMeterSummary: joinSummaries(parts) }),
  }),
];
