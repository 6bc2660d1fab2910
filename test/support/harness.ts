import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { after } from 'node:test';
import pg from 'pg';
import { withScratchPostgres } from '../../scripts/scratch-postgres.ts';
import type { ExternalServices } from '../../src/app.ts';
import { createApp, tasks } from '../../src/app.ts';
import { foundOrganization } from '../../src/billing/create-organization.ts';
import { createDatabase, createPool, type Database, patienceOfRequests } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrate.ts';
import { runInEnvironment, type Work } from '../../src/database/work.ts';
import { loopback } from '../../src/jobs/address-guard.ts';
import { createEncryption, keyBytes } from '../../src/jobs/encryption.ts';
import { createOutbound } from '../../src/jobs/outbound.ts';
import { type JobContext, runTask, type TaskList } from '../../src/jobs/queue.ts';
import type { WebhookServices } from '../../src/webhooks/actions.ts';
import { Dispatcher } from '../../src/webhooks/jobs-sending.ts';

/** An answer of the API: its status, headers and parsed body. */
// biome-ignore lint/suspicious/noExplicitAny: tests read answers of every shape.
export type Body = any;
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface RequestOptions {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestOrganization {
  readonly id: string;
  readonly testKey: string;
  readonly liveKey: string;
  readonly testEnvironmentId: number;
  readonly liveEnvironmentId: number;
}

/** The service on a database of its own, reached over real HTTP. */
export interface TestApp extends TestOrganization {
  readonly url: string;
  readonly databaseUrl: string;
  /** Bound by row-level security, as the service is. */
  readonly database: Database;
  /** The owner's connection: sees every environment. */
  readonly owner: Database;
  /** Everything that runs in the background: with the database, what a job is given. */
  readonly tasks: TaskList;
  /** What the service was started with to reach others. */
  readonly services: ExternalServices;
  request(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Answer>;
  get(path: string, options?: RequestOptions): Promise<Body>;
  post(path: string, body?: unknown, options?: RequestOptions): Promise<Body>;
  put(path: string, body?: unknown, options?: RequestOptions): Promise<Body>;
  newOrganization(): Promise<TestOrganization>;
  /** Freezes the test environment's clock. */
  setClock(at: number): Promise<void>;
  /** Runs every queued job that is due (or, with `all`, every one), until none is left. */
  runJobs(options?: { all?: boolean }): Promise<number>;
  /** Sends what webhooks are due (or, with `all`, also what waits for another attempt), and answers the number of attempts. */
  sendWebhooks(options?: { all?: boolean }): Promise<number>;
  inEnvironment<Answer>(act: (work: Work) => Promise<Answer>): Promise<Answer>;
  close(): Promise<void>;
}

/** What is open, in the order it was opened: closed in the reverse order when the test file ends. */
const closers: (() => Promise<void>)[] = [];
after(async () => {
  for (let close = closers.pop(); close !== undefined; close = closers.pop()) await close();
});

const serverUrl = await findServer();

/** The PostgreSQL server that the tests share: the one of `npm test`, or one of this process's own. */
async function findServer(): Promise<string> {
  const given = process.env.TOLLKEEPER_TEST_POSTGRES;
  if (given) return given;
  return new Promise((resolve, reject) => {
    const ended = withScratchPostgres((url) => {
      resolve(url);
      return new Promise<void>((end) => {
        closers.push(async () => {
          end();
          await ended;
        });
      });
    });
    ended.catch(reject);
  });
}

function databaseUrl(name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function asAdministrator<Answer>(act: (client: pg.Client) => Promise<Answer>): Promise<Answer> {
  const client = new pg.Client({ connectionString: databaseUrl('postgres') });
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end();
  }
}

const migrationsDirectory = new URL('../../migrations/', import.meta.url);

/** The name of a migrated database to copy; it changes with the migrations. Made when it is missing. */
async function templateDatabase(client: pg.Client): Promise<string> {
  const hash = createHash('sha256');
  for (const file of (await readdir(migrationsDirectory)).sort())
    hash.update(await readFile(new URL(file, migrationsDirectory)));
  const name = `template_${hash.digest('hex').slice(0, 16)}`;
  await client.query('select pg_advisory_lock(7001)');
  const existing = await client.query('select from pg_database where datname = $1', [name]);
  if (existing.rowCount === 0) {
    await client.query(`create database ${name}_new template template0 encoding 'UTF8'`);
    const pool = createPool({ url: databaseUrl(`${name}_new`), size: 2, as: 'owner' });
    await migrate(pool);
    await pool.end();
    await client.query(`alter database ${name}_new rename to ${name}`);
  }
  await client.query('select pg_advisory_unlock(7001)');
  return name;
}

// A slow machine must not turn a storm of requests into refusals: tests of the limits set their own.
const patience = { ...patienceOfRequests(60_000), lockMs: 60_000, connectionMs: 60_000 };

/** Starts the service on a fresh database, with one organization. Closed by itself when the test file ends. */
export async function startTestApp({ services: given = {} }: { services?: ExternalServices } = {}): Promise<TestApp> {
  const webhooks = given.webhooks ?? testWebhookServices();
  const services = { encryption: webhooks.encryption, ...given, webhooks };
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await asAdministrator(async (client) =>
    client.query(`create database ${name} template ${await templateDatabase(client)}`),
  );
  const url = databaseUrl(name);
  const database = createDatabase(createPool({ url, size: 20, as: 'service', patience }));
  const owner = createDatabase(createPool({ url, size: 4, as: 'owner' }));
  const logLevel = process.env.TEST_LOG ?? 'silent';
  const server = await createApp({ database, logLevel, services, migrated: async () => true });
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  const newOrganization = async (): Promise<TestOrganization> => {
    const founded = await foundOrganization(owner, { name: 'Acme' }, Date.now());
    return {
      id: founded.organization.id,
      testKey: founded.testKey.token,
      liveKey: founded.liveKey.token,
      testEnvironmentId: founded.organization.testEnvironmentId,
      liveEnvironmentId: founded.organization.liveEnvironmentId,
    };
  };
  const organization = await newOrganization();
  const request = (method: string, path: string, body?: unknown, options: RequestOptions = {}) =>
    send(address, method, path, body, { key: organization.testKey, ...options });
  const expectOk = async (method: string, path: string, body?: unknown, options?: RequestOptions) => {
    const answer = await request(method, path, body, options);
    assert.equal(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  let closed = false;
  const app: TestApp = {
    ...organization,
    url: address,
    databaseUrl: url,
    database,
    owner,
    tasks,
    services,
    request,
    get: (path, options) => expectOk('GET', path, undefined, options),
    post: (path, body, options) => expectOk('POST', path, body, options),
    put: (path, body, options) => expectOk('PUT', path, body, options),
    newOrganization,
    async setClock(at) {
      await owner
        .updateTable('environments')
        .set({ clockNow: at })
        .where('id', '=', organization.testEnvironmentId)
        .execute();
    },
    runJobs: ({ all = false } = {}) => runJobs(owner, { database, tasks, services }, all),
    sendWebhooks: ({ all = false } = {}) => {
      const onError = (error: unknown) => {
        throw error;
      };
      const now = all ? () => endOfTime : Date.now;
      return new Dispatcher({ database: owner, services: webhooks, onError, now }).drain();
    },
    async inEnvironment(act) {
      const outcome = await runInEnvironment(database, { environmentId: organization.testEnvironmentId }, act);
      assert(outcome);
      return outcome.answer;
    },
    async close() {
      if (closed) return;
      closed = true;
      await server.close();
      if (given.webhooks === undefined) await webhooks.outbound.close();
      await Promise.all([database.destroy(), owner.destroy()]);
      await asAdministrator((client) => client.query(`drop database ${name} with (force)`));
    },
  };
  closers.push(() => app.close());
  return app;
}

// The last instant that a Date can hold.
const endOfTime = 8_640_000_000_000_000;

/** What webhooks of tests are sealed with, and a way out that leads to this machine only in test mode. */
export function testWebhookServices(): WebhookServices {
  return {
    encryption: createEncryption([Buffer.alloc(keyBytes, 1)]),
    outbound: createOutbound({ allow: [], allowInTestMode: loopback }),
  };
}

/** One request over real HTTP; a path that does not begin with /api stands under /api/v1. */
export async function send(
  address: string,
  method: string,
  path: string,
  body: unknown,
  options: RequestOptions,
): Promise<Answer> {
  const isText = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(address + (path.startsWith('/api/') ? path : `/api/v1${path}`), {
    method,
    headers: {
      ...(options.key ? { authorization: `Bearer ${options.key}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body: isText ? (body as string) : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text,
  };
}

/** Does what the worker does, one job at a time, so that a test knows when it is done. */
async function runJobs(owner: Database, context: JobContext, all: boolean): Promise<number> {
  const { sql } = await import('kysely');
  for (let done = 0; ; done++) {
    const { rows } = await sql<{ id: number; task: string; payload: Record<string, unknown> }>`
      select j.id, t.identifier as task, j.payload from graphile_worker._private_jobs j
        join graphile_worker._private_tasks t on t.id = j.task_id
       where ${all} or j.run_at <= now() order by j.run_at, j.id limit 1`.execute(owner);
    const job = rows[0];
    if (job === undefined) return done;
    await sql`delete from graphile_worker._private_jobs where id = ${job.id}`.execute(owner);
    await runTask(context, job.task, job.payload);
  }
}
