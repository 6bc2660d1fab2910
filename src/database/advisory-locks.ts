import { sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * The first number of each advisory lock of the service, across all processes on one database. The second one is a hash
 * of the schema, which keeps installations apart, or of an id that the service made. PostgreSQL keeps locks of two
 * numbers apart from locks of one number. Only the latter come from a caller's text.
 */
export const advisoryLocks = {
  /** Liveness of workers, by the worker's id. */
  workers: 7002,
  /** The process that sends webhooks. */
  sender: 7003,
  /** The process that checks the invariants. */
  checks: 7004,
  /** A charge of the simulated payment network while it is refunded, by the payment's id. */
  testCharges: 7005,
  /** Balances of recurring revenue, by the environment: movements share it. Migrations know the number. */
  mrrBalances: 7006,
  /** The open partition of a table, which those who add rows share. Migrations know the number. */
  openPartition: 7007,
  /** The process that moves rows to and from archives. */
  archives: 7008,
  /** The command that places the schema on a node of Citus. */
  placing: 7009,
  /** A move of slots, while which no job works in the cell. Migrations know the number. */
  moves: 7010,
  /** The transactions about slots of a cell. Nobody waits for it: a mover looks who holds it. Migrations know the number. */
  inSlots: 7011,
  /** The command that moves slots. */
  mover: 7012,
} as const;

/**
 * Releases a lock of this schema that the connection holds. A lost connection has released it already, and the error
 * that lost it is the one to report.
 */
export async function releaseLock(connection: Database, lock: number): Promise<void> {
  await sql`select pg_advisory_unlock(${lock}, hashtext(current_schema()))`.execute(connection).catch(() => undefined);
}
