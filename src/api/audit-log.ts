import { listAuditLog } from '../audit/actions.ts';
import { AuditLogEntry, auditFilters } from '../audit/audit-entry.ts';
import { route } from '../http/route.ts';
import { pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';

export const auditLogRoutes = [
  route({
    method: 'GET',
    path: '/audit-log',
    cell: 'all',
    merged: 'desc',
    needs: 'audit-log:read',
    summary: 'List the audit log',
    description:
      'Returns who changed which record and how, newest first. Each record that a request, page, task or ' +
      'command changed has an entry. Usage and ledger entries are not repeated here.',
    tag: 'Audit log',
    query: pageQuery(auditFilters),
    returns: pageOf(AuditLogEntry),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listAuditLog(work, pageRequest(query, 'desc')),
  }),
];
