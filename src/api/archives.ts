import { z } from 'zod';
import { archivesOf, listArchives } from '../archives/actions.ts';
import { Archive } from '../archives/archive.ts';
import { route } from '../http/route.ts';
import { Timestamp } from '../kernel/json.ts';
import { pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';

const Days = z.int().nullable();

export const archiveRoutes = [
  route({
    method: 'GET',
    path: '/archives',
    cell: 'all',
    homeOnly: true,
    needs: 'archives:read',
    summary: 'List archives of usage events',
    description:
      'Returns the archives that hold usage events of the environment, the newest first. Archived events are in every ' +
      'balance, bill and sum of whole hours, but not in lists. The operator of the service restores an archive.',
    tag: 'Usage events',
    query: pageQuery({}),
    returns: pageOf(Archive).extend({
      keptSince: Timestamp.nullable().meta({
        description: 'All events that arrived since this instant are in lists. Null: all there ever were.',
      }),
      deduplicationDays: Days.meta({
        description: 'A `transactionId` counts once for at least so many days; null: without a limit of time.',
      }),
      retentionDays: Days.meta({ description: 'Events are in lists for at least so many days; null: for ever.' }),
    }),
    refuses: ['invalidCursor'],
    handle: async (work, { query }, { services }) => {
      const { deduplicationDays, retentionDays } = archivesOf(services)?.settings ?? {
        deduplicationDays: null,
        retentionDays: null,
      };
      return { ...(await listArchives(work, pageRequest(query, 'desc'))), deduplicationDays, retentionDays };
    },
  }),
];
