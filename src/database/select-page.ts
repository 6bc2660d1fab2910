import { type RawBuilder, sql } from 'kysely';
import {
  type InstantRange,
  instantRange,
  isAscending,
  metadataKeyOf,
  mostCounted,
  type PageRequest,
} from '../kernel/pagination.ts';
import type { Work } from './work.ts';

/** The filters that a list supports: the column or expression that each compares, or the condition that it sets. */
type FilterColumns = Readonly<Record<string, string | RawBuilder<string> | ((value: string) => RawBuilder<unknown>)>>;

/** A filter on whether a column has a value. The planner has statistics of that, and none of an expression. */
export function hasValue(column: string): (value: string) => RawBuilder<unknown> {
  return (value) => sql`${sql.ref(column)} is ${value === 'true' ? sql`not null` : sql`null`}`;
}

/** The ranges of time that a list may be filtered by: `createdAtFrom`, `createdAtTo`. */
const rangeColumns = { createdAt: 'created_at', occurredAt: 'occurred_at' } as const;

/**
 * A page of this environment's rows of a table in order of creation, plus one row when there are more, and the
 * number of matching rows up to `mostCounted`. An export counts nothing. The `table` and the filter columns are constants, never input. Columns are camelCase, in the
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
    if (value === undefined) continue;
    if (typeof column === 'function') conditions.push(column(String(value)));
    else conditions.push(sql`${typeof column === 'string' ? sql.ref(column) : column} = ${value}`);
  }
  for (const [filter, text] of Object.entries(request.filters)) {
    const key = metadataKeyOf(filter);
    if (key !== null)
      conditions.push(sql`id = any (array(select ids_by_metadata(${table}, ${metadataObjects(key, text)}::jsonb[])))`);
  }
  const ranges = Object.entries(rangeColumns).flatMap(([name, column]) => {
    const range = instantRange(request.filters, `${name}From`, `${name}To`);
    return range === null ? [] : [within(sql.ref(column), range)];
  });
  const matches = sql.join([...conditions, ...ranges], sql` and `);
  const upwards = isAscending(request);
  const beyond = request.after === null ? sql`true` : sql`id ${upwards ? sql`>` : sql`<`} ${request.after}`;
  // Reads a whole range, as the total needs it anyway: a scan of the ids in order would begin far outside of it.
  const source =
    ranges.length === 0 || (request.isExport && request.after !== null)
      ? sql`${sql.table(table)} where ${matches} and ${beyond}`
      : sql`(select * from ${sql.table(table)} where ${matches} offset 0) in_range where ${beyond}`;
  const selected = sql.join(columns.map((column) => sql.ref(column)));
  const result = await sql<Row>`
    select ${selected} from ${source}
     order by id ${upwards ? sql`asc` : sql`desc`} limit ${request.limit + 1}`.execute(work.db);
  if (request.isExport) return { rows: result.rows, total: 0 };
  const counted = await sql<{
    total: number;
  }>`select count(*) as total from (select from ${sql.table(table)} where ${matches} limit ${mostCounted}) found`.execute(
    work.db,
  );
  return { rows: result.rows, total: counted.rows[0]?.total ?? 0 };
}

/** The objects that a row's metadata may contain for this filter: a query has only text for numbers and booleans. */
function metadataObjects(key: string, text: string | boolean): string[] {
  const values: unknown[] = [text];
  if (text === 'true' || text === 'false') values.push(text === 'true');
  else if (text !== '' && String(Number(text)) === text) values.push(Number(text));
  return values.map((value) => JSON.stringify({ [key]: value }));
}

/** Whether the instant `at` lies in a range. */
export function within(at: RawBuilder<unknown>, { from, to }: InstantRange): RawBuilder<unknown> {
  const since = from === null ? sql`true` : sql`${at} >= ${from}::bigint`;
  return to === null ? since : sql`${since} and ${at} < ${to}::bigint`;
}
