import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { toEntry, toIdRange } from './audit-entry.ts';
import * as store from './store.ts';

/** The environment's audit log, newest first. Refuses an empty time range. */
export async function listAuditLog(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfAuditLog(work, request, toIdRange(request.filters));
  const { data, ...rest } = page(
    request,
    rows.map((row) => ({ ...row, createdAt: row.occurredAt })),
    total,
  );
  return { data: data.map(toEntry), ...rest };
}

// Batches that hold no lock for long, and the maximum number of batches per job.
const forgetAtOnce = 10_000;
const mostPortions = 100;

/** Deletes entries older than `days` days in batches. Returns their number. */
export async function forgetAuditLogOnce(database: Database, days: number): Promise<number> {
  let forgotten = 0;
  for (let portion = 0; portion < mostPortions; portion++) {
    const count = await store.forgetAuditLog(database, days, forgetAtOnce);
    forgotten += count;
    if (count < forgetAtOnce) break;
  }
  return forgotten;
}
