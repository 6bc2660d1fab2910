import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import { isAscending, mostCounted, type PageRequest } from '../kernel/pagination.ts';
import { isAtHome } from '../organizations/store-cells.ts';
import type { AuditLogRow, IdRange } from './audit-entry.ts';
import type { Change } from './change-feed.ts';

const filterColumns = {
  recordId: 'record_id',
  record: 'record',
  action: 'action',
  apiKeyId: 'api_key_id',
  userId: 'user_id',
  requestId: 'request_id',
} as const;

// Each cell besides home logs its copies of the catalog. Home has the changes that were made.
const isNoCopy = sql`action is distinct from 'copy_catalog'`;

/**
 * A page of the log, newest first, plus one row when there are more, and the number of matching rows up to
 * `mostCounted`.
 */
export async function pageOfAuditLog(
  work: Work,
  request: PageRequest,
  { from, to }: IdRange,
): Promise<{ rows: AuditLogRow[]; total: number }> {
  const conditions = [sql`environment_id = ${work.environmentId}`];
  for (const [filter, column] of Object.entries(filterColumns)) {
    const value = request.filters[filter];
    if (value !== undefined) conditions.push(sql`${sql.ref(column)} = ${value}`);
  }
  // A count at home needs no more than an index.
  if (!(await isAtHome(work))) conditions.push(isNoCopy);
  if (from !== null) conditions.push(sql`id >= ${from}`);
  if (to !== null) conditions.push(sql`id < ${to}`);
  const matches = sql.join(conditions, sql` and `);
  const upwards = isAscending(request);
  const beyond = request.after === null ? sql`` : sql` and id ${upwards ? sql`>` : sql`<`} ${request.after}`;
  const { rows } = await sql<AuditLogRow>`
    select id, pricing_model_id, occurred_at, actor_type, api_key_id, user_id, action, request_id, record, record_id, operation,
           before::text as before, after::text as after
      from audit_log where ${matches}${beyond}
     order by id ${upwards ? sql`asc` : sql`desc`} limit ${request.limit + 1}`.execute(work.db);
  const counted = await sql<{ total: number }>`
    select count(*) as total from (select from audit_log where ${matches} limit ${mostCounted}) found`.execute(work.db);
  return { rows, total: counted.rows[0]?.total ?? 0 };
}

/** Deletes the oldest of the entries older than `days` days, in every environment. Returns their number. */
export async function forgetAuditLog(database: Database, days: number, atMost: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select forget_audit_log(${days}, ${atMost}) as count`.execute(database);
  return rows[0]?.count ?? 0;
}

/** The newest changes after an entry's id, newest first. */
export async function recentChanges(work: Work, after: string, atMost: number): Promise<Change[]> {
  const { rows } = await sql<Change>`
    select id, record from audit_log where environment_id = ${work.environmentId} and id > ${after} and ${isNoCopy}
     order by id desc limit ${atMost}`.execute(work.db);
  return rows;
}

/** The types of those changes that the caller may see. */
export async function visibleChanges(work: Work, ids: readonly string[]): Promise<Pick<Change, 'record'>[]> {
  const { rows } = await sql<Pick<Change, 'record'>>`
    select distinct record from audit_log where environment_id = ${work.environmentId} and id = any (${ids})`.execute(
    work.db,
  );
  return rows;
}
