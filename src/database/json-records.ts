import { type RawBuilder, sql } from 'kysely';

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

/** A value for a jsonb column; null stays null. The driver would otherwise send a list as a PostgreSQL array. */
export function jsonb(value: object | string): RawBuilder<never>;
export function jsonb(value: object | string | null): RawBuilder<never> | null;
export function jsonb(value: object | string | null) {
  return value === null ? null : sql<never>`${JSON.stringify(value)}::jsonb`;
}
