import assert from 'node:assert/strict';
import { after } from 'node:test';
import { sql } from 'kysely';
import type pg from 'pg';
import { request as sendRequest } from 'undici';
import type { ExternalServices } from '../../src/app.ts';
import { createApp, tasks } from '../../src/app.ts';
import { createOrganization } from '../../src/billing/create-organization.ts';
import { type DueWorkDone, doDueWork } from '../../src/billing/do-due-work.ts';
import { slotOfCustomer } from '../../src/customers/actions-slots.ts';
import type { NamesOfRequest } from '../../src/database/cells.ts';
import type { Database } from '../../src/database/database.ts';
import { runInEnvironment, type Work } from '../../src/database/work.ts';
import { createLog } from '../../src/http/log.ts';
import { loopback } from '../../src/jobs/address-guard.ts';
import { createEncryption, keyBytes } from '../../src/jobs/encryption.ts';
import { createOutbound } from '../../src/jobs/outbound.ts';
import { type JobContext, runTask, type TaskList } from '../../src/jobs/queue.ts';
import { openSmtp } from '../../src/jobs/smtp.ts';
import { homeSlot, slotOf } from '../../src/kernel/id.ts';
import { startCellsOfRequests } from '../../src/main-slots.ts';
import type { WebhookServices } from '../../src/webhooks/actions.ts';
import { Dispatcher } from '../../src/webhooks/jobs-sending.ts';
import { useSlot } from './any-id.ts';
import {
  dropDatabase,
  patienceOfTests,
  returnDatabase,
  type Service,
  type TestCell,
  type TestDatabase,
  takeDatabase,
  testSchema,
} from './databases.ts';
import { usualCells } from './many-cells.ts';
import { atFileEnd } from './process-end.ts';
import { assertSound } from './sound.ts';

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
  /** The cell in which `inEnvironment` acts. */
  readonly cell: TestCell;
  /** Bound by row-level security, as the service is. That of this cell. */
  readonly database: Database;
  /** The owner's connection: sees every environment, and the customers of all cells. */
  readonly owner: Database;
  /** The same connections without Kysely, for statements that are prepared under a name. */
  readonly ownerPool: pg.Pool;
  /** The cells of the service, the home cell first: one, unless a test or `npm test -- --cells` asks for more. */
  readonly cells: readonly TestCell[];
  /** Everything that runs in the background: with the database, what a job is given. */
  readonly tasks: TaskList;
  /** What the service was started with to reach others. */
  readonly services: ExternalServices;
  request(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Answer>;
  get(path: string, options?: RequestOptions): Promise<Body>;
  post(path: string, body?: unknown, options?: RequestOptions): Promise<Body>;
  put(path: string, body?: unknown, options?: RequestOptions): Promise<Body>;
  newOrganization(): Promise<TestOrganization>;
  /** Starts another service on the database, which remembers nothing of the first one. */
  startOther(): Promise<{ readonly url: string; close(): Promise<void> }>;
  /** Freezes the clock of a test environment, without doing what is due by then. */
  setClock(at: number, environmentId?: number): Promise<void>;
  /** Does what is due in an environment, in each cell, and answers how much it was. */
  doDueWork(environmentId?: number): Promise<DueWorkDone>;
  /** Runs every queued job that is due (or, with `all`, every one), until none is left. */
  runJobs(options?: { all?: boolean }): Promise<number>;
  /** Sends what webhooks are due (or, with `all`, also what waits for another attempt), and answers the number of attempts. */
  sendWebhooks(options?: { all?: boolean }): Promise<number>;
  /** Acts in the cell of the customer that a request has named last, or that of the last call of `actFor`. */
  inEnvironment<Answer>(act: (work: Work) => Promise<Answer>): Promise<Answer>;
  /** Acts in the cell of a record, by its id. */
  inCellOf<Answer>(id: string, act: (work: Work) => Promise<Answer>): Promise<Answer>;
  /** Acts in each cell, and answers what it answered in each. */
  inEachCell<Answer>(act: (work: Work) => Promise<Answer>): Promise<Answer[]>;
  /** Writes a customer past the service: lets `inEnvironment` act in its cell from now on, and answers its slot. */
  actFor(externalId: string, environmentId?: number): string;
  /** The connection to the cell of a slot, as the service has it. */
  databaseOf(slot: string): Database;
  /** Has a catalog that a test changed by SQL reach each cell. */
  copyCatalogs(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the service on a fresh database, with one organization. Closed by itself when the test file ends. */
export async function startTestApp({
  services: given = {},
  cells: count = usualCells,
  isSound = true,
}: {
  services?: ExternalServices;
  cells?: number;
  /** False: the test writes rows that are not sound as a whole. */
  isSound?: boolean;
} = {}): Promise<TestApp> {
  const taken = await takeDatabase(count);
  const { url, home, cells, owner, ownerPool } = taken;
  // The service that reaches nobody in particular is the same for all, and is kept with its database.
  const isOwn = Object.keys(given).length > 0;
  const service = isOwn ? await startService(taken, given) : await ordinaryService(taken);
  const { server, address, webhooks } = service;
  const services = { encryption: webhooks.encryption, mail: unreachableMail, ...given, webhooks, cells: service.cells };
  const copyCatalogs = async () => service.cells?.copyCatalogs(null);
  const cellOf = (slot: string) => cells.find(({ name }) => name === service.cells?.cellOf(slot)) ?? home;
  // The queue of the service does this, a moment later. A request waits for what another one copies.
  let copying = Promise.resolve();
  const copyWhatSqlChanged = (): Promise<void> => {
    if (cells.length === 1) return copying;
    const copy = async () => {
      if (await takeCopyOfAll(home.owner)) await copyCatalogs();
    };
    copying = copying.then(copy, copy);
    return copying;
  };
  let acting = home;
  let isWritten = false;
  useSlot(homeSlot);
  const actIn = async <Given>(cell: TestCell, act: (work: Work) => Promise<Given>) => {
    await copyWhatSqlChanged();
    const outcome = await runInEnvironment(cell.database, { environmentId: organization.testEnvironmentId }, act);
    assert(outcome);
    return outcome.answer;
  };
  const environmentOf = new Map<string, number>();
  const newOrganization = async (): Promise<TestOrganization> => {
    const founded = await createOrganization(home.owner, { name: 'Acme' }, Date.now());
    await copyCatalogs();
    const { id, testEnvironmentId, liveEnvironmentId } = founded.organization;
    const [testKey, liveKey] = [founded.testKey.token, founded.liveKey.token];
    environmentOf.set(testKey, testEnvironmentId).set(liveKey, liveEnvironmentId);
    return { id, testKey, liveKey, testEnvironmentId, liveEnvironmentId };
  };
  const organization = await newOrganization();
  const request = async (method: string, path: string, body?: unknown, options: RequestOptions = {}) => {
    await copyWhatSqlChanged();
    const { key = organization.testKey } = options;
    const environmentId = environmentOf.get(key ?? '') ?? organization.testEnvironmentId;
    const slot = service.cells?.slotsOf(namesOf(path, body), environmentId).at(-1) ?? homeSlot;
    if (!isWritten && slot !== homeSlot) acting = cellOf(slot);
    return send(address, method, path, body, { ...options, key });
  };
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
    get cell() {
      return acting;
    },
    get database() {
      return acting.database;
    },
    owner,
    ownerPool,
    cells,
    tasks,
    services,
    request,
    get: (path, options) => expectOk('GET', path, undefined, options),
    post: (path, body, options) => expectOk('POST', path, body, options),
    put: (path, body, options) => expectOk('PUT', path, body, options),
    newOrganization,
    async startOther() {
      const other = { database: home.database, people: home.owner, services, migrated: async () => true };
      const started = await createApp(service.cells === undefined ? other : { ...other, cells: service.cells });
      return { url: await started.listen({ host: '127.0.0.1', port: 0 }), close: () => started.close() };
    },
    async setClock(at, environmentId = organization.testEnvironmentId) {
      for (const cell of cells)
        await cell.owner.updateTable('environments').set({ clockNow: at }).where('id', '=', environmentId).execute();
    },
    async doDueWork(environmentId = organization.testEnvironmentId) {
      const work = ({ database }: TestCell) =>
        doDueWork({ database, tasks, services }, environmentId, { forMs: patienceOfTests.lockMs });
      const done = await Promise.allSettled(cells.map(work));
      for (const each of done) if (each.status === 'rejected') throw each.reason;
      return sumOfWork(done.flatMap((each) => (each.status === 'fulfilled' ? each.value : [])));
    },
    async runJobs({ all = false } = {}) {
      let done = 0;
      for (const cell of cells) done += await runJobs(cell.owner, { database: cell.database, tasks, services }, all);
      return done;
    },
    async sendWebhooks({ all = false } = {}) {
      const onError = (error: unknown) => {
        throw error;
      };
      const now = all ? () => endOfTime : Date.now;
      let attempts = 0;
      for (const cell of cells)
        attempts += await new Dispatcher({ database: cell.owner, services: webhooks, onError, now }).drain();
      return attempts;
    },
    inEnvironment: (act) => actIn(acting, act),
    inCellOf: (id, act) => actIn(cellOf(slotOf(id)), act),
    async inEachCell<Given>(act: (work: Work) => Promise<Given>) {
      const answers: Given[] = [];
      for (const cell of cells) answers.push(await actIn(cell, act));
      return answers;
    },
    actFor(externalId, environmentId = organization.testEnvironmentId) {
      const slot = slotOfCustomer(environmentId, externalId);
      acting = cellOf(slot);
      isWritten = true;
      if (cells.length > 1) useSlot(slot);
      return slot;
    },
    databaseOf: (slot) => cellOf(slot).database,
    copyCatalogs: copyWhatSqlChanged,
    close: () => leave(dropDatabase),
  };
  // Rows that a test writes itself are those that it needs, and not sound as a whole.
  if (isSound && cells.length > 1) after(() => closed || isWritten || assertSound(app));
  atFileEnd(() => leave(returnDatabase));
  return app;
}

async function ordinaryService(taken: TestDatabase): Promise<Service> {
  taken.service ??= await startService(taken, {});
  return taken.service;
}

async function startService(taken: TestDatabase, given: ExternalServices): Promise<Service> {
  const { url, home } = taken;
  const { database, owner, ownerPool } = home;
  const webhooks = given.webhooks ?? testWebhookServices();
  const { log } = createLog(process.env.TEST_LOG ?? 'silent');
  const opened = {
    server: { url, migrateUrl: null, schema: testSchema },
    access: { worker: owner, workerPool: ownerPool, migrations: [] },
  };
  const cells =
    taken.cells.length > 1
      ? await startCellsOfRequests(opened, { size: 20, patience: patienceOfTests, log })
      : undefined;
  const services = { encryption: webhooks.encryption, mail: unreachableMail, ...given, webhooks, cells };
  const app = { database, people: owner, log, services, migrated: async () => true };
  const server = await createApp(cells === undefined ? app : { ...app, cells });
  server.addHook('onClose', async () => cells?.stop());
  return { server, webhooks, cells, address: await server.listen({ host: '127.0.0.1', port: 0 }) };
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
  // fetch takes several times the processor time.
  const response = await sendRequest(address + (path.startsWith('/api/') ? path : `/api/v1${path}`), {
    method,
    headers: {
      ...(options.key ? { authorization: `Bearer ${options.key}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    body: body === undefined ? null : isText ? body : JSON.stringify(body),
  });
  const text = await response.body.text();
  return {
    status: response.statusCode,
    headers: new Headers(
      Object.entries(response.headers).flatMap(([name, values]) =>
        [values ?? []].flat().map((value): [string, string] => [name, value]),
      ),
    ),
    body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text,
  };
}

/** The customers and records that a request names. */
function namesOf(path: string, body: unknown): NamesOfRequest {
  const [, family, id = ''] = path.replace(/\?.*/, '').split('/');
  const externalId = family === 'customers' && id !== '' ? { externalId: decodeURIComponent(id) } : {};
  return { params: /_[0-9A-Za-z]{21}$/.test(id) ? { id } : externalId, query: null, body };
}

/** Takes the job that follows SQL of no environment, such as that of a test. */
async function takeCopyOfAll(owner: Database): Promise<boolean> {
  const { rows } = await sql`
    delete from _private_jobs j using _private_tasks t
     where t.id = j.task_id and t.identifier = 'copy_catalog' and j.payload ->> 'environmentId' is null returning j.id`.execute(
    owner,
  );
  return rows.length > 0;
}

/** The sum of what was done in several cells. */
export function sumOfWork(all: readonly DueWorkDone[]): DueWorkDone {
  const sums: Record<string, number> = {};
  for (const { done } of all) for (const [kind, count] of Object.entries(done)) sums[kind] = (sums[kind] ?? 0) + count;
  return { done: sums as DueWorkDone['done'], finished: all.every(({ finished }) => finished) };
}

/** Does what the worker does, one job at a time, so that a test knows when it is done. */
async function runJobs(owner: Database, context: JobContext, all: boolean): Promise<number> {
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
