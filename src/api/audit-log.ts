import { listAuditLog } from '../audit/actions.ts';
import { AuditLogEntry, auditFilters } from '../audit/audit-entry.ts';
import { route } from '../http/route.ts';
import { pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';

export const auditLogRoutes = [
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
