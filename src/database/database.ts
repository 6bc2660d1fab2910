import assert from 'node:assert/strict';
import {
  CamelCasePlugin,
  Kysely,
  type KyselyPlugin,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  sql,
  type Transaction,
} from 'kysely';
import pg from 'pg';
import { Problem } from '../kernel/problem.ts';
import { noConnection } from './database-problem.ts';
import type { DB } from './database-types.ts';
import { StatementNames } from './prepared-statements.ts';
import { QueueClient, waitOutOutages } from './queue-connections.ts';
import { endSilentConnections } from './silent-connections.ts';

/** A connection to the database, or the transaction of a unit of work. */
export type Database = Kysely<DB>;
export type DatabaseTransaction = Transaction<DB>;

/** The role that requests and jobs work as: it owns nothing, so row-level security binds it. */
export const serviceRole = 'tollkeeper_service';

/**
 * The role for work across environments: the queue, the sender of webhooks, the checks, the command line. It has the
 * rights of the other role in every environment, and owns nothing.
 */
export const workerRole = 'tollkeeper_worker';

/** The limits of statements and connections that take too long. */
export interface Patience {
  /** A statement that runs longer is stopped. */
  readonly statementMs: number;
  /** A statement that waits longer for a lock of somebody else is stopped. */
  readonly lockMs: number;
  /** A transaction in which nothing happens for longer is undone, and its connection closed. */
  readonly idleMs: number;
  /** A request that has waited so long for a connection is refused. */
  readonly connectionMs: number;
  /** A request is refused when so many wait for each connection. */
  readonly mostWaitingEach: number;
}

/** For requests: somebody waits for the answer. */
export function patienceOfRequests(statementMs = 30_000): Patience {
  return {
    statementMs,
    lockMs: Math.min(10_000, statementMs),
    idleMs: 60_000,
    connectionMs: 5_000,
    mostWaitingEach: 25,
  };
}

/** For work that nobody waits for: many rows may take minutes, and what fails is tried again. */
export const patienceOfJobs: Patience = {
  statementMs: 600_000,
  lockMs: 60_000,
  idleMs: 300_000,
  connectionMs: 60_000,
  mostWaitingEach: 1_000,
};

// A statement that the database would have stopped by then, and of which nothing is heard: the connection is gone.
const silenceAfterTimeoutMs = 10_000;
// How soon a network that takes everything and answers nothing is noticed on a quiet connection.
const keepAliveMs = 10_000;
// A new connection has every statement to plan again. The default of ten seconds is shorter than many a calm.
const keptIdleMs = 60_000;

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

/** The schema of an installation that names none. */
export const defaultSchema = 'public';

/** The schema of the queue of jobs, whose tables a library makes. */
export function queueSchemaOf(schema: string): string {
  return schema === defaultSchema ? 'graphile_worker' : `${schema}_graphile_worker`;
}

interface PoolOptions {
  readonly url: string;
  /** The schema of the installation: several may share a database. */
  readonly schema: string;
  /** Connections at the most. */
  readonly size: number;
  /**
   * `service` is bound by row-level security; `worker` looks across environments; `queue` is the worker for the queue of
   * jobs, whose outages it waits out; `owner` migrates.
   */
  readonly as: 'service' | 'worker' | 'queue' | 'owner';
  /** The patience of requests when absent. The others have as long as it takes. */
  readonly patience?: Patience;
  /** The audit context of changes, where a transaction sets none itself. */
  readonly auditContext?: { readonly actor: 'operator' | 'system'; readonly action: string };
  /**
   * The address is that of a pooler, which gives each transaction any of its sessions. So nothing is set or prepared in
   * a session: its login has the settings of `sessionSettings`.
   */
  readonly isPooled?: boolean;
  /** More settings of each session. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The settings of a session of the service, by the names of PostgreSQL. Its role is set as well. */
export function sessionSettings(
  schema: string,
  { statementMs, lockMs, idleMs }: Patience,
): Readonly<Record<string, string>> {
  return {
    search_path: schema,
    ...commonSettings,
    statement_timeout: String(statementMs),
    lock_timeout: String(lockMs),
    idle_in_transaction_session_timeout: String(idleMs),
  };
}

// A statement here takes milliseconds. To compile it first takes longer.
const commonSettings = { TimeZone: 'UTC', jit: 'off' };

function settingsOf({ as, schema, patience = patienceOfRequests() }: PoolOptions): Readonly<Record<string, string>> {
  if (as === 'service') return { ...sessionSettings(schema, patience), role: serviceRole };
  // The tables of the queue are found beside ours. Requests may not see them.
  const settings = { search_path: `${schema},${queueSchemaOf(schema)}`, ...commonSettings };
  return as === 'owner' ? settings : { ...settings, role: workerRole };
}

/** A pool of connections. Each is bound to its role from its first statement on. */
export function createPool(options: PoolOptions): pg.Pool {
  const { url, size, as, patience = patienceOfRequests(), auditContext, isPooled = false } = options;
  const said = auditContext && {
    'tollkeeper.actor_type': auditContext.actor,
    'tollkeeper.action': auditContext.action.replaceAll(' ', '\\ '),
  };
  const settings = Object.entries({ ...settingsOf(options), ...said, ...options.settings });
  const pool = new pg.Pool({
    connectionTimeoutMillis: as === 'service' ? patience.connectionMs : patienceOfJobs.connectionMs,
    ...(as === 'queue' ? { Client: QueueClient } : {}),
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    idleTimeoutMillis: keptIdleMs,
    connectionString: url,
    max: size,
    types,
    application_name: `tollkeeper-${as}`,
    ...(isPooled ? {} : { options: settings.map(([name, value]) => `-c ${name}=${value}`).join(' ') }),
  });
  optionsOfPool.set(pool, options);
  if (isPooled) namesOfPool.set(pool, null);
  pool.on('error', ignoreBrokenConnection);
  pool.on('connect', (client) => client.on('error', ignoreBrokenConnection));
  if (as === 'queue') waitOutOutages(pool);
  if (as === 'service') {
    maxWaitingOf.set(pool, size * patience.mostWaitingEach);
    endSilentConnections(pool, patience.statementMs + silenceAfterTimeoutMs);
  }
  return pool;
}

const optionsOfPool = new WeakMap<pg.Pool, PoolOptions>();

/** Few connections as those of a pool, with the same logins and database, to another server. */
export function createPoolAt(pool: pg.Pool, atServer: (url: string) => string, settings: PoolOptions['settings']) {
  const options = optionsOfPool.get(pool);
  assert(options, 'createPool has made every pool');
  return createPool({
    ...options,
    url: atServer(options.url),
    size: 2,
    settings: { ...options.settings, ...settings },
  });
}

function ignoreBrokenConnection(): void {
  // The next checkout replaces it, and a query on it fails by itself; without a listener it would end the process.
}

// How many may wait for a connection of a pool. A constant of the pool, which has no place for it.
const maxWaitingOf = new WeakMap<pg.Pool, number>();

// One for each pool, because the names of its statements are known to its connections. Null: sessions prepare nothing.
const namesOfPool = new WeakMap<pg.Pool, StatementNames | null>();

/** A pool as Kysely uses it. It prepares statements that come again, and refuses a request when too many wait. */
function poolForKysely(pool: pg.Pool, takePlace: DatabaseOptions['takePlace']): PostgresPool {
  const known = namesOfPool.get(pool);
  const names = known === undefined ? new StatementNames() : known;
  namesOfPool.set(pool, names);
  const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  const wrap = (client: pg.PoolClient, giveBack?: () => void): PostgresPoolClient => {
    const wrappedBefore = giveBack === undefined ? clients.get(client) : undefined;
    if (wrappedBefore !== undefined) return wrappedBefore;
    const query = (text: string, values: unknown[]) =>
      client.query({ text, values, ...nameOption(names?.nameOf(text, values)) });
    const release = (destroy?: boolean) => {
      client.release(destroy);
      giveBack?.();
    };
    // Nothing here uses a cursor, the other form of a query.
    const wrapped = { query, release } as unknown as PostgresPoolClient;
    if (giveBack === undefined) clients.set(client, wrapped);
    return wrapped;
  };
  return {
    async connect() {
      const giveBack = await takePlace?.();
      try {
        return wrap(await connect(pool), giveBack);
      } catch (error) {
        giveBack?.();
        throw error;
      }
    },
    end: () => pool.end(),
    options: pool.options,
  };
}

function nameOption(name: string | undefined) {
  return name === undefined ? {} : { name };
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  if (pool.waitingCount >= (maxWaitingOf.get(pool) ?? Number.POSITIVE_INFINITY)) throw new Problem('overloaded');
  try {
    return await pool.connect();
  } catch (error) {
    if (!maxWaitingOf.has(pool)) throw error;
    // The pool's words for a request whose time is up while all connections are in use.
    const isOutOfTime = (error as Error).message === 'timeout exceeded when trying to connect';
    throw isOutOfTime ? new Problem('overloaded') : noConnection(error);
  }
}

interface DatabaseOptions {
  /** Waits until there may be one connection more, and returns a function that is called when it is released. */
  readonly takePlace?: () => Promise<() => void>;
  readonly plugins?: readonly KyselyPlugin[];
}

// Keys inside JSON columns are the customer's own and stay as they are.
const camelCase = new CamelCasePlugin({ maintainNestedObjectKeys: true });

/** Typed SQL over a pool. To close it, end the pool. */
export function createDatabase(pool: pg.Pool, { takePlace, plugins = [] }: DatabaseOptions = {}): Database {
  return new Kysely<DB>({
    dialect: new PostgresDialect({ pool: poolForKysely(pool, takePlace) }),
    plugins: [camelCase, ...plugins],
  });
}

// About a megabyte, which does not fit into the least memory of a statement and so goes to the disk of the data.
const probedRows = 20_000;

/**
 * Whether the database responds, and has room on its disk: it spills rows that it counts into a file of its own, and
 * drops it. Nothing is stored or written to the WAL, so a standby can be asked as well.
 */
export async function canStore(database: Database): Promise<boolean> {
  const probe = database.transaction().execute(async (transaction) => {
    await sql`set local work_mem = '64kB'`.execute(transaction);
    await sql`select count(*) from generate_series(1, ${sql.lit(probedRows)})`.execute(transaction);
  });
  return probe.then(
    () => true,
    () => false,
  );
}
