import { z } from 'zod';
import { archivesOf, listArchives } from '../archives/actions.ts';
import { Archive } from '../archives/archive.ts';
import { mergePages } from '../http/cells.ts';
import { gatheredRoute } from '../http/route.ts';
import { Timestamp } from '../kernel/json.ts';
import { pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';

const Days = z.int().nullable();

export const archiveRoutes = [
  gatheredRoute({
    path: '/archives',
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
    read: async (work, { query }, { services }) => {
      const { deduplicationDays, retentionDays } = archivesOf(services)?.settings ?? {
        deduplicationDays: null,
        retentionDays: null,
      };
      return { ...(await listArchives(work, pageRequest(query, 'desc'))), deduplicationDays, retentionDays };
    },
    join: (parts, { query: { order = 'desc', limit } }) => {
      const kept = parts.flatMap(({ keptSince }) => keptSince ?? []);
      const keptSince = kept.length === 0 ? null : Math.max(...kept);
      return { ...parts[0], ...mergePages(parts, { order, limit }), keptSince };
    },
  }),
];
