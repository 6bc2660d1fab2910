import { type RawBuilder, sql } from 'kysely';
import { metadataKeyOf, type PageRequest } from '../kernel/pagination.ts';
import type { Work } from './work.ts';

/** The filters that a list supports, and the column or expression that each compares. */
type FilterColumns = Readonly<Record<string, string | RawBuilder<string>>>;

/**
 * A page of this environment's rows of a table in order of creation, plus one row when there are more, and the total
 * number of matching rows. The `table` and the filter columns are constants, never input. Columns are camelCase, in the
 * request and in the result.
 */
export async function selectPage<Row>(
  work: Work,
  table: string,
  columns: readonly string[],
  request: PageRequest,
  filterColumns: FilterColumns,
): Promise<{ rows: Row[]; total: number }> {
  const conditions = [sql`environment_id = ${work.environmentId}`];
  for (const [filter, column] of Object.entries(filterColumns)) {
    const value = request.filters[filter];
    const compared = typeof column === 'string' ? sql.ref(column) : column;
    if (value !== undefined) conditions.push(sql`${compared} = ${value}`);
  }
  for (const [filter, text] of Object.entries(request.filters)) {
    const key = metadataKeyOf(filter);
    if (key !== null)
      conditions.push(sql`id in (select ids_by_metadata(${table}, ${metadataObjects(key, text)}::jsonb[]))`);
  }
  const matches = sql.join(conditions, sql` and `);
  const forward = request.direction === 'forward';
  const beyond = request.after === null ? sql`` : sql` and id ${forward ? sql`>` : sql`<`} ${request.after}`;
  const selected = sql.join(columns.map((column) => sql.ref(column)));
  const result = await sql<Row>`
    select ${selected} from ${sql.table(table)} where ${matches}${beyond}
     order by id ${forward ? sql`asc` : sql`desc`} limit ${request.limit + 1}`.execute(work.db);
  const counted = await sql<{
    total: number;
  }>`select count(*) as total from ${sql.table(table)} where ${matches}`.execute(work.db);
  return { rows: result.rows, total: counted.rows[0]?.total ?? 0 };
}

/** The objects that a row's metadata may contain for this filter: a query has only text for numbers and booleans. */
function metadataObjects(key: string, text: string | boolean): string[] {
  const values: unknown[] = [text];
  if (text === 'true' || text === 'false') values.push(text === 'true');
  else if (text !== '' && String(Number(text)) === text) values.push(Number(text));
  return values.map((value) => JSON.stringify({ [key]: value }));
}
