import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../src/platform/database.ts';

// What changes by being read, or holds what was answered rather than what is.
const left = new Set(['idempotency_keys', 'kysely_migration', 'kysely_migration_lock']);

/** A digest of every row of every table: equal digests mean that nothing was stored in between. */
export async function databaseDigest(owner: Database): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`
    select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 1`.execute(
    owner,
  );
  const hash = createHash('sha256');
  for (const { name } of tables.filter((table) => !left.has(table.name))) {
    const { rows } = await sql<{ digest: string | null }>`
      select md5(string_agg(line, '|' order by line)) as digest
        from (select (to_jsonb(t) - 'last_used_at')::text as line from ${sql.table(name)} t) as lines`.execute(owner);
    hash.update(`${name}:${rows[0]?.digest ?? ''};`);
  }
  const { rows: jobs } = await sql<{
    count: number;
  }>`select count(*) as count from graphile_worker._private_jobs`.execute(owner);
  return hash.update(`jobs:${jobs[0]?.count}`).digest('hex');
}
