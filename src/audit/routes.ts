import { pageOf, pageQuery, pageRequest } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { listAuditLog } from './actions.ts';
import { AuditLogEntry, auditFilters } from './audit-entry.ts';

export const auditRoutes = [
  route({
    method: 'GET',
    path: '/audit-log',
    summary: 'List what was changed, by whom',
    description:
      'Newest first. One entry for each record that a request, a page, a task or a command has changed; usage and the ledger are logs themselves. `total` counts up to 10,000.',
    tag: 'Audit log',
    query: pageQuery(auditFilters),
    returns: pageOf(AuditLogEntry),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listAuditLog(work, pageRequest(query)),
  }),
];
