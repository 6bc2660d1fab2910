import { createJudge, type Finding, type FuzzAnswer, type Judge } from './answers.ts';
import { rememberAll } from './mutations.ts';
import { type OpenApi, type Operation, readOperations } from './operations.ts';
import { Random } from './random.ts';
import { asCurl, type FuzzRequest, makeRequest, type Tenant } from './requests.ts';
import { createSend, type Send } from './send.ts';
import { makeTenant, type Target } from './tenants.ts';

export interface FuzzOptions {
  readonly seed: number;
  readonly requests: number;
  /** Requests in flight at a time. */
  readonly connections: number;
  /** Tenants at a time: connections of the same one compete for the same records. */
  readonly tenants: number;
  /** Requests per tenant before a new one with intact records replaces it. */
  readonly requestsPerTenant: number;
  /** A filter of operation names; all when absent. */
  readonly only?: RegExp | undefined;
  /** The first request's number, to continue an earlier run. */
  readonly from?: number;
  /** Ends the run early. */
  readonly until?: () => boolean;
}

/** A problem with its first occurrence and its count. */
export interface Failure extends Finding {
  readonly where: string;
  readonly status: number | null;
  readonly number: number;
  readonly requestId: string;
  readonly curl: string;
  times: number;
}

export interface FuzzReport {
  readonly sent: number;
  /** The requests whose connection the client has reset. */
  readonly resets: number;
  /** The number of responses by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** The same by operation. */
  readonly reached: ReadonlyMap<string, ReadonlyMap<number, number>>;
  readonly failures: readonly Failure[];
}

/** Sends all requests, and returns the problems of their responses, each kind once. */
export async function runFuzz(target: Target, options: FuzzOptions): Promise<FuzzReport> {
  const document = (await (await fetch(`${target.address}/openapi.json`)).json()) as OpenApi;
  const run = new FuzzRun(target, document, options);
  return run.finish();
}

interface Lane {
  tenant: Promise<Tenant>;
  left: number;
}

/** A change of the database by requests that must not change anything. */
export interface Change {
  /** The requests since the previous comparison, with their responses. */
  readonly sent: readonly string[];
}

export interface AloneOptions {
  readonly seed: number;
  readonly requests: number;
  /** The first request's number. */
  readonly from: number;
  /** Requests between two comparisons of the database: dry runs only, or a single real one. */
  readonly dryRunsAtATime: number;
  readonly digest: () => Promise<string>;
}

// A failed charge is refused and leaves its failed payment behind, as it must.
const leavesTraces: ReadonlySet<number> = new Set([402]);

/**
 * Sends requests in sequence without other activity, and finds dry runs and refused requests that changed something.
 */
export async function findChanges(target: Target, options: AloneOptions): Promise<Change[]> {
  const document = (await (await fetch(`${target.address}/openapi.json`)).json()) as OpenApi;
  const operations = readOperations(document);
  const tenant = await makeTenant(target, `alone${options.seed}`);
  const { send, close } = createSend(target.address);
  const changes: Change[] = [];
  let before = await options.digest();
  let next = options.from;
  try {
    while (next < options.from + options.requests) {
      const dryRun = Random.of(options.seed, next).chance(0.25);
      const sent: string[] = [];
      let mayChange = false;
      for (let left = dryRun ? options.dryRunsAtATime : 1; left > 0; left--, next++) {
        const made = { document, operations, tenant, now: Date.now(), dryRun };
        const request = makeRequest(Random.of(options.seed, next), next, made);
        const answer = await send({ ...request, resetAfterMs: null });
        if (answer === null) continue;
        const { status, body } = answer;
        sent.push(`${status} ${body.toString('utf8').slice(0, 200)} ${asCurl(target.address, request)}`);
        mayChange ||= (!dryRun && status < 400) || leavesTraces.has(status);
      }
      const after = await options.digest();
      if (after !== before && !mayChange) changes.push({ sent });
      before = after;
    }
  } finally {
    close();
  }
  return changes;
}

class FuzzRun {
  readonly #target: Target;
  readonly #document: OpenApi;
  readonly #options: FuzzOptions;
  readonly #operations: readonly Operation[];
  readonly #judge: Judge;
  readonly #statuses = new Map<number, number>();
  readonly #reached = new Map<string, Map<number, number>>();
  readonly #failures = new Map<string, Failure>();
  #next: number;
  #tenants = 0;
  #resets = 0;

  constructor(target: Target, document: OpenApi, options: FuzzOptions) {
    this.#target = target;
    this.#document = document;
    this.#options = options;
    this.#operations = readOperations(document).filter(({ name }) => options.only?.test(name) ?? true);
    if (this.#operations.length === 0) throw new Error('no operation is of that name');
    this.#judge = createJudge(document);
    this.#next = options.from ?? 0;
  }

  async finish(): Promise<FuzzReport> {
    const { connections, tenants } = this.#options;
    const lanes = Array.from({ length: tenants }, () => this.#newLane());
    const { send, close } = createSend(this.#target.address);
    const workers = Array.from({ length: connections }, (_, index) => this.#work(lanes[index % tenants] as Lane, send));
    try {
      await Promise.all(workers);
    } finally {
      close();
    }
    const sent = [...this.#statuses.values()].reduce((sum, count) => sum + count, 0);
    return {
      sent,
      resets: this.#resets,
      statuses: this.#statuses,
      reached: this.#reached,
      failures: [...this.#failures.values()],
    };
  }

  #newLane(): Lane {
    const { requestsPerTenant, seed } = this.#options;
    return { tenant: makeTenant(this.#target, `s${seed}t${this.#tenants++}`), left: requestsPerTenant };
  }

  async #work(lane: Lane, send: Send): Promise<void> {
    const { seed, requests, from = 0, until } = this.#options;
    while (this.#next < from + requests && !until?.()) {
      const number = this.#next++;
      if (lane.left-- <= 0) Object.assign(lane, this.#newLane());
      const tenant = await lane.tenant;
      const request = makeRequest(Random.of(seed, number), number, {
        document: this.#document,
        operations: this.#operations,
        tenant,
        now: Date.now(),
        dryRun: false,
      });
      await this.#ask(request, tenant, send);
    }
  }

  async #ask(request: FuzzRequest, tenant: Tenant, send: Send): Promise<void> {
    let answer: FuzzAnswer | null;
    try {
      answer = await send(request);
    } catch (error) {
      this.#fail(request, null, { kind: 'no answer', detail: `${(error as Error).name}: ${(error as Error).message}` });
      return;
    }
    if (answer === null) {
      this.#resets++;
      return;
    }
    this.#count(request, answer.status);
    const finding = this.#judge(request, answer);
    if (finding !== null) this.#fail(request, answer, finding);
    if (answer.status === 200 && answer.body.length < 20_000) rememberAll(tenant.pool, readJson(answer.body));
  }

  #count({ operation }: FuzzRequest, status: number): void {
    addOne(this.#statuses, status);
    if (operation === null) return;
    const reached = this.#reached.get(operation.name) ?? new Map<number, number>();
    addOne(reached, status);
    this.#reached.set(operation.name, reached);
  }

  #fail(request: FuzzRequest, answer: FuzzAnswer | null, { kind, detail }: Finding): void {
    const where = request.operation?.name ?? `${request.method} elsewhere`;
    const status = answer?.status ?? null;
    // Variable parts do not distinguish kinds of failures.
    const same = `${where} ${status} ${kind} ${detail.replaceAll(/[a-z_]+_[0-9A-Za-z]{21}|"request_id":"\w+"|\d+|"[^"]{20,}"/g, '#').slice(0, 160)}`;
    const known = this.#failures.get(same);
    if (known) {
      known.times++;
      return;
    }
    const requestId = String(answer?.headers['x-request-id'] ?? '');
    const curl = asCurl(this.#target.address, request);
    this.#failures.set(same, { kind, detail, where, status, number: request.number, requestId, curl, times: 1 });
  }
}

function addOne(counts: Map<number, number>, status: number): void {
  counts.set(status, (counts.get(status) ?? 0) + 1);
}

function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

/** The failures as text, each with a command that repeats its request. */
export function tellFailures(seed: number, failures: readonly Failure[]): string {
  return failures
    .map(
      ({ kind, detail, where, status, number, requestId, curl, times }) =>
        `${kind}: ${where} -> ${status ?? 'nothing'} (seed ${seed}, request ${number}, ${times} times, request id ${requestId})\n  ${detail}\n  ${curl}`,
    )
    .join('\n\n');
}
