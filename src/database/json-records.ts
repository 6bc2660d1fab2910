import { type RawBuilder, sql } from 'kysely';

/**
 * Rows as JSON text whose keys are the names of the columns, for `json_populate_recordset`: many rows in one parameter.
 * What a JSON column holds stays as it is.
 */
export function jsonRecords<Row>(rows: readonly Row[], columns: readonly (keyof Row & string)[]): string {
  const names = columns.map((column) => [column, column.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]);
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(names.map(([column, name]) => [name, row[column as keyof Row]]))),
  );
}

/** A value as a jsonb column takes it, null for none. By itself the driver would send a list as an array of PostgreSQL's. */
export function jsonb(value: object): RawBuilder<never>;
export function jsonb(value: object | null): RawBuilder<never> | null;
export function jsonb(value: object | null) {
  return value === null ? null : sql<never>`${JSON.stringify(value)}::jsonb`;
}
