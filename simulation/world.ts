import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { attemptLimits } from './catalogue.ts';
import { type Answer, type Ask, sendOnce } from './client.ts';
import { CuttingProxy } from './cutting-proxy.ts';
import { DatabaseServer } from './database-server.ts';
import { Inbox } from './inbox.ts';
import { ServiceProcess } from './killable-process.ts';
import { networkKey, networkSecret, PaymentNetwork } from './payment-network.ts';
import type { Random } from './random.ts';
import type { Form, Pages, PortalVisit } from './step.ts';

// Not a performance limit: what has not happened by then is a defect.
const longestWaitMs = 90_000;
const pauseMs = 25;
// From then on a new worker frees the jobs of a dead one, as an operator would.
const patienceMs = 1_500;
const isPeriodic = sql`identifier like 'forget%' or identifier like 'check%'`;

export type Crash = 'serve' | 'work' | 'backend' | 'postgres';

/** Counters for the summary. */
export interface Deeds {
  requests: number;
  repeats: number;
  notices: number;
  readonly kills: Record<Crash, number>;
}

/** A failure without a planted fault. */
export class Defect extends Error {}

/** The real service on a real PostgreSQL, with everything around it: reached through proxies, killed and restarted. */
export class World implements Pages {
  readonly key = 'sk_test_simulation';
  readonly deeds: Deeds = {
    requests: 0,
    repeats: 0,
    notices: 0,
    kills: { serve: 0, work: 0, backend: 0, postgres: 0 },
  };
  readonly #directory: string;
  readonly database: DatabaseServer;
  readonly network: PaymentNetwork;
  readonly inbox: Inbox;
  readonly databaseProxy: CuttingProxy;
  readonly #serves: { readonly process: ServiceProcess; readonly proxy: CuttingProxy }[] = [];
  #worker: ServiceProcess | null = null;
  #turn = 0;

  private constructor(parts: Pick<World, 'database' | 'network' | 'inbox' | 'databaseProxy'>, directory: string) {
    this.database = parts.database;
    this.network = parts.network;
    this.inbox = parts.inbox;
    this.databaseProxy = parts.databaseProxy;
    this.#directory = directory;
  }

  /** Starts everything: PostgreSQL, the given number of serving processes, and a worker. */
  static async create(random: Random, { serves }: { readonly serves: number }): Promise<World> {
    const directory = await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-simulation-'));
    const database = new DatabaseServer(join(directory, 'database'));
    await database.start();
    const network = await PaymentNetwork.start(random.fork());
    const inbox = await Inbox.start(random.fork());
    const databaseProxy = await CuttingProxy.start(database.port);
    const world = new World({ database, network, inbox, databaseProxy }, directory);
    try {
      await world.#startService(serves);
      return world;
    } catch (error) {
      await world.remove();
      throw error;
    }
  }

  async #startService(serves: number): Promise<void> {
    const url = new URL(this.database.url);
    url.port = String(this.databaseProxy.port);
    const environment = {
      PORT: '0',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'error',
      DATABASE_URL: url.href,
      TOLLKEEPER_DATA_DIR: join(this.#directory, 'service'),
      TOLLKEEPER_TEST_KEY: this.key,
      TOLLKEEPER_WEBHOOK_ALLOW: '127.0.0.0/8',
      STRIPE_TEST_SECRET_KEY: networkKey,
      STRIPE_TEST_WEBHOOK_SECRET: networkSecret,
      STRIPE_API_BASE: this.network.url,
      TOLLKEEPER_ATTEMPTS_PER_LINK: String(attemptLimits.link),
      TOLLKEEPER_ATTEMPTS_PER_CUSTOMER: String(attemptLimits.customer),
      TOLLKEEPER_ATTEMPTS_PER_ENVIRONMENT: String(attemptLimits.environment),
    };
    for (let count = 0; count < serves; count++) {
      const process = new ServiceProcess('serve', environment);
      await process.start();
      this.#serves.push({ process, proxy: await CuttingProxy.start(process.port) });
    }
    this.#worker = new ServiceProcess('work', environment);
    await this.#worker.start();
  }

  /** The proxy for the next request. */
  get nextProxy(): CuttingProxy {
    return this.#next().proxy;
  }

  #next() {
    const next = this.#serves[this.#turn % this.#serves.length];
    if (next === undefined) throw new Error('nothing serves');
    return next;
  }

  get cuts(): number {
    return this.databaseProxy.cuts + this.#serves.reduce((sum, { proxy }) => sum + proxy.cuts, 0);
  }

  /**
   * Sends a request until it is answered, like a client without a response: with its Idempotency-Key, to another
   * process. When it `isCalm`, no fault is planned, so a 5xx response is a defect.
   */
  async ask(ask: Ask, { isCalm = false }: { readonly isCalm?: boolean } = {}): Promise<Answer> {
    for (const end = Date.now() + longestWaitMs; ; await sleep(pauseMs)) {
      const { proxy } = this.#next();
      this.#turn += 1;
      this.deeds.requests += 1;
      const answer = await sendOnce(proxy.port, this.key, ask);
      if (answer !== null && !isToRepeat(answer)) return answer;
      if (isCalm && answer !== null && answer.status >= 500) throw new Defect(this.#told(ask, answer));
      if (Date.now() > end) throw new Defect(`No answer within ${longestWaitMs} ms. ${this.#told(ask, answer)}`);
      this.deeds.repeats += 1;
      await this.raise();
    }
  }

  /** Submits a form of a page. Returns the status of the answer. */
  async submit(path: string, form: Form, cookie = ''): Promise<number> {
    const origin = `http://127.0.0.1:${this.nextProxy.port}`;
    this.#turn += 1;
    this.deeds.requests += 1;
    const body = new URLSearchParams(form);
    const answer = await fetch(`${origin}${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin, cookie },
      body,
    });
    const text = await answer.text();
    if (answer.status >= 500)
      throw new Defect(this.#told({ method: 'POST', path, body: form }, { status: answer.status, body: text }));
    return answer.status;
  }

  /** Opens the portal by its link. */
  async enterPortal(link: string): Promise<PortalVisit> {
    const origin = `http://127.0.0.1:${this.nextProxy.port}`;
    const { pathname, search } = new URL(link);
    this.deeds.requests += 2;
    const entered = await fetch(origin + pathname + search, { redirect: 'manual' });
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
    const page = await (await fetch(`${origin}/portal`, { headers: { cookie } })).text();
    return { cookie, formToken: /name="formToken" value="([^"]+)"/.exec(page)?.[1] ?? '' };
  }

  #told({ method, path, body }: Ask, answer: Answer | null): string {
    const logs = [...this.#serves.map(({ process }) => process), this.#worker].map((each) => each?.output).join('\n');
    return `${method} ${path} ${JSON.stringify(body)}: ${answer?.status} ${JSON.stringify(answer?.body)}\n${logs.slice(-6000)}`;
  }

  /** kill -9 of one part. The next user of it restarts it. */
  async crash(what: Crash): Promise<void> {
    this.deeds.kills[what] += 1;
    switch (what) {
      case 'serve':
        return this.#next().process.kill();
      case 'work':
        return this.#worker?.kill();
      case 'backend':
        if (!(await this.database.killBackend())) this.deeds.kills.backend -= 1;
        return;
      case 'postgres':
        return this.database.kill();
      default:
        what satisfies never;
    }
  }

  #raising: Promise<void> | null = null;

  /** Restarts everything that has ended, like an operator's supervisor. */
  raise(): Promise<void> {
    this.#raising ??= this.#raise().finally(() => {
      this.#raising = null;
    });
    return this.#raising;
  }

  async #raise(): Promise<void> {
    await this.database.start();
    this.databaseProxy.leadTo(this.database.port);
    await this.database.untilReady();
    for (const { process, proxy } of this.#serves) {
      if (process.isRunning) continue;
      await process.start();
      proxy.leadTo(process.port);
    }
    if (this.#worker !== null && !this.#worker.isRunning) await this.#worker.start();
  }

  /** Waits until all requested work is done: due work at the clock's time, the queue, and every payment. */
  async settle(now: number): Promise<void> {
    await this.raise();
    await this.setClock(now);
    await this.#untilIdle();
  }

  async #untilIdle(): Promise<void> {
    let idleSince = Date.now();
    for (const end = Date.now() + longestWaitMs; ; await sleep(pauseMs)) {
      const left = await this.#hurryJobs();
      if (left.length === 0) return;
      if (Date.now() > end) throw new Defect(`the queue is not done: ${JSON.stringify(left)}`);
      if (Date.now() - idleSince < patienceMs || left.every(({ held }) => !held)) continue;
      // Their worker is dead or lost its connection: a new process frees the jobs of dead ones.
      await this.#worker?.kill();
      await this.raise();
      idleSince = Date.now();
    }
  }

  /** Moves the test clock, repeating the request as needed. */
  async setClock(now: number): Promise<void> {
    const answer = await this.ask({ method: 'PUT', path: '/test-clock', body: { testClock: { now } } });
    if (answer.status !== 200) throw new Defect(`the clock does not move: ${JSON.stringify(answer.body)}`);
  }

  /** Makes deferred jobs run now, except periodic ones, and returns the remaining ones. A check would draw most faults to itself. */
  async #hurryJobs(): Promise<{ readonly task: string; readonly held: boolean }[]> {
    const { owner } = this.database;
    const { rows } = await sql<{ task: string; held: boolean }>`
      with hurried as (
        update _private_jobs set run_at = now()
         where run_at > now() and locked_at is null and task_id not in (select id from _private_tasks where ${isPeriodic}))
      select t.identifier as task, j.locked_at is not null as held
        from _private_jobs j join _private_tasks t on t.id = j.task_id where not (${isPeriodic})`.execute(owner);
    // Workers look for scheduled jobs once a second, or when notified. Each of that count is a look.
    const count = rows.filter(({ held }) => !held).length;
    if (count > 0) await sql`select pg_notify('jobs:insert', ${JSON.stringify({ count })})`.execute(owner);
    return rows;
  }

  /** Sends the network's events until they are accepted and processed. */
  async sendNotices(): Promise<void> {
    let isTold = false;
    for (const end = Date.now() + longestWaitMs; ; await sleep(pauseMs)) {
      const { sent, lost } = await this.network.sendNotices(`http://127.0.0.1:${this.nextProxy.port}`);
      this.deeds.notices += sent;
      isTold ||= sent > 0;
      if (lost === 0) break;
      if (Date.now() > end) throw new Defect(`${lost} notices of the network are not taken`);
      await this.raise();
    }
    if (!isTold) return;
    await this.raise();
    // The consequences may already be due: the next move of the clock performs them.
    await this.#untilIdle();
  }

  /** Removes all processes and files, in any state. */
  async remove(): Promise<void> {
    for (const { process, proxy } of this.#serves) {
      await process.kill();
      await proxy.close();
    }
    await this.#worker?.kill();
    await this.databaseProxy.close();
    await this.database.stop();
    await Promise.all([this.network.close(), this.inbox.close()]);
    // Processes without their postmaster end by themselves, and may write until then.
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

/** Whether a client learns nothing from it: the server failed, is busy, or is still processing the same request. */
function isToRepeat({ status, body }: Answer): boolean {
  if (body?.reason === 'too_many_attempts') return false;
  return status >= 500 || status === 429 || (status === 409 && /is still in progress/.test(String(body?.message)));
}
