import assert from 'node:assert/strict';
import { CamelCasePlugin, Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import type { DB } from './database-types.ts';
import { PreparingClient } from './prepared-statements.ts';

/** A connection to the database, or the transaction of a unit of work. */
export type Database = Kysely<DB>;
export type DatabaseTransaction = Transaction<DB>;

/** The role that the service works as: it owns nothing, so row-level security binds it. */
export const serviceRole = 'tollkeeper_service';

// A statement that runs longer than this is stopped: no request waits longer for its answer.
const statementTimeoutMs = 60_000;

const int8Oid = 20;
const numericOid = 1700;

/** int8 holds instants and counts, all within 2^53-1: a JS number. numeric holds money and balances: a bigint. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === int8Oid) return parseSafeInteger;
    if (oid === numericOid) return BigInt;
    return pg.types.getTypeParser(oid, format as 'text');
  },
};

function parseSafeInteger(text: string): number {
  const value = Number(text);
  assert(Number.isSafeInteger(value), `int8 ${text} is beyond 2^53-1`);
  return value;
}

export interface PoolOptions {
  readonly url: string;
  /** Connections at the most. */
  readonly size: number;
  /** `service` is bound by row-level security; `owner` migrates and looks across environments. */
  readonly as: 'service' | 'owner';
}

/** A pool of connections. Each is bound to its role from its first statement on. */
export function createPool({ url, size, as }: PoolOptions): pg.Pool {
  const role = as === 'service' ? `-c role=${serviceRole} -c statement_timeout=${statementTimeoutMs}` : '';
  const pool = new pg.Pool({
    // Statements are sent without waiting for those before them; the database keeps their order.
    ...(as === 'service' ? { Client: PreparingClient, pipeline: true } : {}),
    connectionString: url,
    max: size,
    types,
    application_name: `tollkeeper-${as}`,
    // A statement here takes milliseconds, to compile it first takes longer; and a prepared plan that was made while a table
    // was empty would read all of it when it is full.
    options: `-c search_path=public -c timezone=UTC -c jit=off -c enable_seqscan=off ${role}`,
  });
  pool.on('error', ignoreBrokenConnection);
  pool.on('connect', (client) => client.on('error', ignoreBrokenConnection));
  return pool;
}

function ignoreBrokenConnection(): void {
  // The next checkout replaces it, and a query on it fails by itself; without a listener it would end the process.
}

/** Typed SQL over a pool. To close it, end the pool: Kysely's own way leaves a pool open that it has not used yet. */
export function createDatabase(pool: pg.Pool): Database {
  return new Kysely<DB>({
    dialect: new PostgresDialect({ pool }),
    // Keys inside JSON columns are the customer's own and stay as they are.
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  });
}
