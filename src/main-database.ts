import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Config } from './config.ts';
import { isPlacedHere } from './database/citus.ts';
import { createDatabase, createPool, type Database, type Patience, workerRole } from './database/database.ts';
import { mayComeBack } from './database/database-problem.ts';
import { type Login, listMissingMigrations, migrate } from './database/migrate.ts';
import { findCluster } from './embedded-postgres/cluster.ts';
import { acquireServiceLock } from './embedded-postgres/process-lock.ts';
import { findEmbeddedPostgres, keepPostgresRunning, startEmbeddedPostgres } from './embedded-postgres/start.ts';
import type { Log } from './http/log.ts';
import { type Cell, findIdentity, listCells } from './organizations/store-cells.ts';

/** A schema of a database server. */
export interface SchemaOfServer {
  /** The address that the service works with. */
  readonly url: string;
  /** The address of the owner, who migrates; null if it is the same. */
  readonly migrateUrl: string | null;
  readonly schema: string;
}

/** The database server of a command with the schema of the home cell, and a function that releases it. */
export interface Server extends SchemaOfServer {
  readonly stop: () => Promise<void>;
}

/** Cleanup steps, run in reverse order. */
export type Undo = (() => Promise<void>)[];

/** Runs the steps that were not run yet. One that fails keeps no other from running. */
export async function runUndo(undo: Undo, log: Pick<Log, 'error'>): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    await step().catch((error: unknown) => log.error({ err: error }, 'stopping failed'));
  }
}

/** A pool that row-level security binds. */
interface ServicePool {
  readonly pool: pg.Pool;
  readonly database: Database;
}

export function openServicePool(
  { url, schema }: Pick<SchemaOfServer, 'url' | 'schema'>,
  options: { readonly size: number; readonly patience: Patience; readonly isPooled?: boolean },
  undo: Undo,
): ServicePool {
  const pool = createPool({ url, schema, as: 'service', ...options });
  undo.push(() => pool.end());
  return { pool, database: createDatabase(pool) };
}

/** Callbacks of a long-running command about its database. */
interface Watching {
  readonly log: (message: string) => void;
  /** The database is running, but this process can no longer use it. */
  readonly onLost: (error: Error) => void;
}

/**
 * The server of a service: that of DATABASE_URL, or the embedded one, which stops with the service. With `watching`,
 * the embedded server is restarted whenever it exits.
 */
export async function openServerToServe(
  config: Config,
  log: (message: string) => void,
  watching: Watching | null = null,
): Promise<Server> {
  const { schema } = config;
  if (config.databaseUrl !== null)
    return { url: config.databaseUrl, migrateUrl: config.migrateUrl, schema, stop: async () => undefined };
  const lock = await acquireServiceLock(config.dataDirectory);
  try {
    const { dataDirectory, walArchive } = config;
    const start = (say: typeof log) => startEmbeddedPostgres({ dataDirectory, walArchive, log: say });
    const embedded = await start(log);
    const kept =
      watching &&
      keepPostgresRunning({
        dataDirectory,
        url: embedded.url,
        start: () => start(() => undefined),
        log: watching.log,
        onMoved: watching.onLost,
      });
    return {
      url: embedded.serviceUrl,
      migrateUrl: embedded.ownerUrl,
      schema,
      async stop() {
        await kept?.stop();
        await embedded.stop();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

function noDatabase(where: string): string {
  return `There is no database of Tollkeeper ${where} yet. Start the service, or run: tollkeeper organizations create`;
}

/**
 * The server of a command: that of the running service, or one started for the command. Without `creates`, refuses a
 * data directory that has no database yet.
 */
export async function openServer(
  config: Config,
  watching: Watching | null = null,
  { creates = true }: { readonly creates?: boolean } = {},
): Promise<Server> {
  if (config.databaseUrl === null) {
    const running = await findEmbeddedPostgres(config.dataDirectory);
    if (running !== null)
      return {
        url: running.serviceUrl,
        migrateUrl: running.ownerUrl,
        schema: config.schema,
        stop: async () => undefined,
      };
    if (!creates && (await findCluster(resolve(config.dataDirectory))) === null)
      throw new Error(noDatabase(`in ${config.dataDirectory}`));
  }
  return openServerToServe(config, () => undefined, watching);
}

/** Connections of the worker: the command line, the checks and the sender of webhooks need few. */
const workerPoolSize = 12;
// A migration takes one, and the lock around it another.
const ownerPoolSize = 3;

/** Access to the rows of every environment in a migrated database. */
export interface WorkerAccess {
  readonly worker: Database;
  readonly workerPool: pg.Pool;
  readonly migrations: readonly string[];
}

// The retry interval for an unavailable server, and the interval of log lines about it.
const [askAgainMs, sayAgainMs] = [500, 10_000];

/** Waits until the server accepts connections, which it does not while it starts. Throws the reason after `waitMs`. */
async function untilConnected(pool: pg.Pool, { waitMs = 0, log = () => undefined }: Waiting): Promise<void> {
  const begunAt = performance.now();
  for (let saidAt = Number.NEGATIVE_INFINITY; ; await sleep(askAgainMs)) {
    try {
      (await pool.connect()).release();
      return;
    } catch (error) {
      const now = performance.now();
      // Waiting does not fix a wrong password or name.
      if (!mayComeBack(error) || now - begunAt > waitMs) throw error;
      if (now - saidAt < sayAgainMs) continue;
      saidAt = now;
      const seconds = Math.ceil((waitMs - (now - begunAt)) / 1000);
      log(`PostgreSQL is not responding yet (${reasonOf(error)}). Waiting for up to ${seconds} s.`);
    }
  }
}

/**
 * The reason of a failed connection. For a name with several addresses the message may be empty, but the code is set.
 */
export function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}

/** The schema of a cell, and the worker's access to it. */
export interface OpenedCell {
  readonly server: SchemaOfServer;
  readonly access: WorkerAccess;
}

interface Waiting {
  /** The maximum wait for an unavailable server. */
  readonly waitMs?: number;
  readonly log?: (message: string) => void;
}

/**
 * `create`: migrates any database, also an empty one. `change`: migrates one that Tollkeeper has created. `read`: changes
 * nothing.
 */
type Access = 'create' | 'change' | 'read';

interface ConnectOptions extends Waiting {
  readonly access?: Access;
  /** The installation of which the schema must be a cell. When absent, it must be a home cell. */
  readonly cellOf?: string;
  /** The actor and action for the audit log. */
  readonly auditContext?: { readonly actor: 'operator' | 'system'; readonly action: string };
}

/** Migrates the database if the command may, and connects as the worker. */
export async function connectWorker(
  server: SchemaOfServer,
  { access = 'create', auditContext, cellOf, ...waiting }: ConnectOptions = {},
): Promise<WorkerAccess> {
  const migrations = await prepareDatabase(server, access, waiting);
  const workerPool = createPool({
    url: server.url,
    schema: server.schema,
    size: workerPoolSize,
    as: 'worker',
    ...(auditContext && { auditContext }),
  });
  try {
    await untilConnected(workerPool, waiting);
    const worker = createDatabase(workerPool);
    await refuseOtherCell(worker, server.schema, cellOf);
    return { worker, workerPool, migrations };
  } catch (error) {
    await workerPool.end();
    throw mayNotWork(error, server.url) ?? error;
  }
}

async function refuseOtherCell(worker: Database, schema: string, cellOf: string | undefined): Promise<void> {
  const { installation, isHome } = await findIdentity(worker);
  if (cellOf === undefined && !isHome)
    throw new Error(`DATABASE_SCHEMA: ${schema} is a cell of another schema. Set it to the schema of the home cell.`);
  if (cellOf !== undefined && (isHome || installation !== cellOf))
    throw new Error('The schema at this address belongs to another installation.');
}

/** Looks at the database with the address that may change it, and returns the migrations that ran. */
async function prepareDatabase(server: SchemaOfServer, access: Access, waiting: Waiting): Promise<readonly string[]> {
  const { url, schema } = server;
  if (access !== 'read')
    return withOwner(
      server,
      async (pool, login) => {
        if (access === 'change') await refuseForeign(pool, access);
        return migrate(pool, schema, login);
      },
      waiting,
    );
  return withOwner(
    { url, migrateUrl: null, schema },
    async (pool) => {
      await isPlacedHere(pool, schema);
      await refuseForeign(pool, access);
      return [];
    },
    waiting,
  );
}

/** Connections of the owner, and the login of the service if that is another. */
export async function withOwner<Answer>(
  { url, migrateUrl, schema }: SchemaOfServer,
  act: (pool: pg.Pool, login: Login | null) => Promise<Answer>,
  waiting: Waiting = {},
): Promise<Answer> {
  const pool = createPool({ url: migrateUrl ?? url, schema, size: ownerPoolSize, as: 'owner' });
  try {
    await untilConnected(pool, waiting);
    return await act(pool, migrateUrl === null ? null : loginOf(url));
  } finally {
    await pool.end();
  }
}

/** The user and password of an address, as a connection would use them. */
function loginOf(url: string): Login {
  const { user, password } = new pg.Client({ connectionString: url });
  assert(user !== undefined, 'a connection has a user');
  return { name: user, password: password ?? null };
}

// PostgreSQL's codes: the role does not exist, and the user may not set it.
const roleIsMissing = '22023';
const roleIsDenied = '42501';

/** The reason for which a login cannot work here, with the remedy; null for another reason. */
function mayNotWork(error: unknown, url: string): Error | null {
  const { code } = error as { code?: string };
  if (code !== roleIsMissing && code !== roleIsDenied) return null;
  const { name } = loginOf(url);
  return new Error(
    `${name}, the user of DATABASE_URL, may not work on this database. Run tollkeeper migrate with TOLLKEEPER_MIGRATE_URL, ` +
      `or as its owner: grant ${workerRole} to ${name};`,
    { cause: error },
  );
}

/** Refuses a database that Tollkeeper has not created; for a command that reads, also one that lacks migrations. */
async function refuseForeign(pool: pg.Pool, access: Access): Promise<void> {
  const missing = await listMissingMigrations(pool);
  if (missing === null) throw new Error(noDatabase('at this address'));
  if (access === 'read' && missing.length > 0)
    throw new Error('The database is older than this version. Run: tollkeeper migrate');
}

/** Runs a command on the database, by default a migrated one, and releases everything afterwards. */
export async function withWorker<Answer>(
  config: Config,
  act: (access: WorkerAccess, server: SchemaOfServer) => Promise<Answer>,
  options: ConnectOptions = {},
): Promise<Answer> {
  const server = await openServer(config, null, { creates: (options.access ?? 'create') === 'create' });
  try {
    const access = await connectWorker(server, options);
    try {
      return await act(access, server);
    } finally {
      await access.workerPool.end();
    }
  } finally {
    await server.stop();
  }
}

/** The schema of a cell. Its server has the logins of the home cell's. */
export function schemaOf({ url, migrateUrl }: SchemaOfServer, { name, address }: Cell): SchemaOfServer {
  const at = (home: string) => (address === null ? home : withLoginOf(home, address));
  return { url: at(url), migrateUrl: migrateUrl === null ? null : at(migrateUrl), schema: name };
}

/** The settings of the archives of a cell: the files of two cells have the same names. */
export function archivesOfCell(config: Config, cell: string): Config {
  return { ...config, archive: config.archive && `${config.archive}/${cell}` };
}

/** Connects to a cell besides the home cell, by its name. */
export async function connectCell(
  worker: Database,
  home: SchemaOfServer,
  name: string,
  options: Omit<ConnectOptions, 'cellOf'>,
): Promise<WorkerAccess> {
  const cell = (await listCells(worker)).find((each) => each.name === name);
  if (cell === undefined) throw new Error(`There is no cell ${name}. List them with: tollkeeper cells list`);
  const { installation } = await findIdentity(worker);
  return connectWorker(schemaOf(home, cell), { access: 'read', ...options, cellOf: installation });
}

function withLoginOf(home: string, address: string): string {
  const { name, password } = loginOf(home);
  const url = new URL(address);
  url.username = encodeURIComponent(name);
  url.password = encodeURIComponent(password ?? '');
  return url.href;
}

interface OfCell<Answer> {
  readonly cell: string;
  readonly answer: Answer;
}

interface CellOptions extends Omit<ConnectOptions, 'cellOf'> {
  /** Called for a cell whose server does not respond, which is then left out. When absent, that is an error. */
  readonly onUnreachable?: (cell: string, reason: string) => void;
}

/** Acts in each cell besides the home cell, one after the other. An error names the cell. */
export async function eachCell<Answer>(
  worker: Database,
  home: SchemaOfServer,
  act: (access: WorkerAccess) => Promise<Answer>,
  { onUnreachable, ...options }: CellOptions = {},
): Promise<OfCell<Answer>[]> {
  const { installation } = await findIdentity(worker);
  const answers: OfCell<Answer>[] = [];
  for (const cell of await listCells(worker)) {
    try {
      const access = await connectWorker(schemaOf(home, cell), { ...options, cellOf: installation });
      try {
        answers.push({ cell: cell.name, answer: await act(access) });
      } finally {
        await access.workerPool.end();
      }
    } catch (error) {
      if (onUnreachable !== undefined && mayComeBack(error)) onUnreachable(cell.name, reasonOf(error));
      else throw new Error(`Cell ${cell.name}: ${reasonOf(error)}`, { cause: error });
    }
  }
  return answers;
}
