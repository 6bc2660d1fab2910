import assert from 'node:assert/strict';
import type pg from 'pg';
import type { ExternalServices } from '../../src/app.ts';
import { createApp, tasks } from '../../src/app.ts';
import { createOrganization } from '../../src/billing/create-organization.ts';
import type { Database } from '../../src/database/database.ts';
import { runInEnvironment, type Work } from '../../src/database/work.ts';
import { createLog } from '../../src/http/log.ts';
import { loopback } from '../../src/jobs/address-guard.ts';
import { createEncryption, keyBytes } from '../../src/jobs/encryption.ts';
import { createOutbound } from '../../src/jobs/outbound.ts';
import { type JobContext, runTask, type TaskList } from '../../src/jobs/queue.ts';
import { openSmtp } from '../../src/jobs/smtp.ts';
import type { WebhookServices } from '../../src/webhooks/actions.ts';
import { Dispatcher } from '../../src/webhooks/jobs-sending.ts';
import { dropDatabase, returnDatabase, type Service, type TestDatabase, takeDatabase } from './databases.ts';
import { atFileEnd } from './process-end.ts';

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
  /** The same connections without Kysely, for statements that are prepared under a name. */
  readonly ownerPool: pg.Pool;
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

/** Starts the service on a fresh database, with one organization. Closed by itself when the test file ends. */
export async function startTestApp({ services: given = {} }: { services?: ExternalServices } = {}): Promise<TestApp> {
  const taken = await takeDatabase();
  const { url, database, owner, ownerPool } = taken;
  // The service that reaches nobody in particular is the same for all, and is kept with its database.
  const isOwn = Object.keys(given).length > 0;
  const { server, address, webhooks } = isOwn ? await startService(taken, given) : await ordinaryService(taken);
  const services = { encryption: webhooks.encryption, mail: unreachableMail, ...given, webhooks };
  const newOrganization = async (): Promise<TestOrganization> => {
    const founded = await createOrganization(owner, { name: 'Acme' }, Date.now());
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
  const leave = async (how: (taken: TestDatabase) => Promise<void>) => {
    if (closed) return;
    closed = true;
    if (isOwn) {
      await server.close();
      if (given.webhooks === undefined) await webhooks.outbound.close();
    }
    await how(taken);
  };
  const app: TestApp = {
    ...organization,
    url: address,
    databaseUrl: url,
    database,
    owner,
    ownerPool,
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
    close: () => leave(dropDatabase),
  };
  atFileEnd(() => leave(returnDatabase));
  return app;
}

async function ordinaryService(taken: TestDatabase): Promise<Service> {
  taken.service ??= await startService(taken, {});
  return taken.service;
}

async function startService({ database, owner }: TestDatabase, given: ExternalServices): Promise<Service> {
  const webhooks = given.webhooks ?? testWebhookServices();
  const services = { encryption: webhooks.encryption, mail: unreachableMail, ...given, webhooks };
  const { log } = createLog(process.env.TEST_LOG ?? 'silent');
  const server = await createApp({ database, people: owner, log, services, migrated: async () => true });
  return { server, webhooks, address: await server.listen({ host: '127.0.0.1', port: 0 }) };
}

// Emails can be enabled, and none leaves: in test mode nobody is on the list of those who get any.
const unreachableMail = {
  smtp: openSmtp({ url: 'smtp://127.0.0.1:9', from: 'billing@acme.test' }),
  publicUrl: 'https://billing.acme.test',
};

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
      select j.id, t.identifier as task, j.payload from _private_jobs j
        join _private_tasks t on t.id = j.task_id
       where ${all} or j.run_at <= now() order by j.run_at, j.id limit 1`.execute(owner);
    const job = rows[0];
    if (job === undefined) return done;
    await sql`delete from _private_jobs where id = ${job.id}`.execute(owner);
    await runTask(context, job.task, job.payload);
  }
}
