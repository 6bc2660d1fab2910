import { type RawBuilder, sql } from 'kysely';
import type { DB } from './database-types.ts';
import type { Work } from './work.ts';

/**
 * Rows as JSON text with column names as keys, for `json_populate_recordset`: many rows in one parameter. Values of
 * JSON columns are kept as they are.
 */
export function jsonRecords<Row>(rows: readonly Row[], columns: readonly (keyof Row & string)[]): string {
  const names = columns.map((column) => [column, column.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]);
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(names.map(([column, name]) => [name, row[column as keyof Row]]))),
  );
}

/** Inserts rows of the environment, with these columns, in one statement and one parameter; none without rows. */
export async function insertRecords<Row>(
  work: Work,
  table: keyof DB,
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return;
  const names = sql.join(columns.map((column) => sql.ref(column)));
  await sql`
    insert into ${sql.table(table)} (environment_id, ${names})
    select ${work.environmentId}, ${names}
      from one_row, json_populate_recordset(null::${sql.table(table)}, ${jsonRecords(rows, columns)}::json)`.execute(
    work.db,
  );
}

/** A value for a jsonb column; null stays null. The driver would otherwise send a list as a PostgreSQL array. */
export function jsonb(value: object | string | number): RawBuilder<never>;
export function jsonb(value: object | string | number | null): RawBuilder<never> | null;
export function jsonb(value: object | string | number | null) {
  return value === null ? null : sql<never>`${JSON.stringify(value)}::jsonb`;
}
