import { sql } from 'kysely';
import { nameOfHash } from '../database/api-key.ts';
import { refusedSlots } from '../database/cells.ts';
import type { Database } from '../database/database.ts';
import { problemOfOutage } from '../database/database-problem.ts';
import { refreshStatistics } from '../database/statistics.ts';
import { type AuditContext, enterSlots, type KeyEntry, runInEnvironment, type Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { type JobContext, runEffects } from './queue.ts';

/**
 * An operation whose requests are answered in batches: the requests of a batch share one transaction. They share the
 * cost of its round trips, its commit and its row locks: group commit.
 */
export interface BatchedOperation<Request, Answer, Cache = undefined> {
  readonly name: string;
  /** How much of a batch a request takes, in the unit of `maxBatchWeight`. */
  readonly weigh: (request: Request) => number;
  /** A request that weighs more than this is a batch of its own. */
  readonly maxBatchWeight: number;
  /** Requests beyond this in the queues of one process are refused with `tooBusy`. */
  readonly maxQueuedWeight: number;
  /** The row that a request locks. Batches that lock the same row do not run side by side. */
  readonly subjectOf?: (request: Request) => string;
  /** Creates what the batches of one process share, or what one request of that weight needs. */
  readonly createCache: (weight?: number) => Cache;
  /**
   * Answers each request of a batch, in order, in a transaction that is open. A refusal is the answer of its own request.
   * Throws `PartialRejection` for a refusal that shows only after something of the request was written.
   */
  readonly answer: (work: Work, requests: readonly Request[], cache: Cache) => Promise<readonly (Answer | Problem)[]>;
  /** Answers a batch by one statement that is a transaction by itself. Null: the batch needs `answer`. */
  readonly answerAtOnce?: (batch: Batch<Request, Cache>) => Promise<readonly (Answer | Problem)[] | null>;
}

export interface Batch<Request, Cache> {
  readonly database: Database;
  readonly entry: KeyEntry;
  readonly requests: readonly Request[];
  readonly cache: Cache;
}

/** Some requests of a batch, by their index, are refused after something was written. The batch is retried without them. */
export class PartialRejection extends Error {
  readonly refusals: ReadonlyMap<number, Problem>;
  constructor(refusals: ReadonlyMap<number, Problem>) {
    super('some requests of the batch are refused');
    this.refusals = refusals;
  }
}

/** Answers one request in a transaction that is open already. Throws its refusal. */
export async function answerAlone<Request, Answer, Cache>(
  operation: BatchedOperation<Request, Answer, Cache>,
  work: Work,
  request: Request,
): Promise<Answer> {
  const cache = operation.createCache(operation.weigh(request));
  const [answer] = await operation.answer(work, [request], cache).catch((error: unknown) => {
    throw error instanceof PartialRejection ? error.refusals.get(0) : error;
  });
  if (answer === undefined || answer instanceof Problem) throw answer;
  return answer;
}

type AnyOperation = BatchedOperation<unknown, unknown, unknown>;

/** A request in a queue. */
interface Queued {
  readonly request: unknown;
  readonly action: string | null;
  readonly slots: readonly string[];
  readonly weight: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Collects the requests of one process into batches. */
export interface RequestBatcher {
  /**
   * The answer to a request, after its batch is committed. Refuses with the request's own problem, `unauthorized`,
   * `permissionMissing` or `tooBusy`. `action` names it in the audit log; null for a request that only reads. Customers of
   * `slots` may be in several cells.
   */
  submit<Request, Answer, Cache>(
    operation: BatchedOperation<Request, Answer, Cache>,
    entry: KeyEntry,
    request: Request,
    action?: string | null,
    slots?: readonly string[],
  ): Promise<Answer>;
}

/** One queue for each operation, API key and permission. */
export function createRequestBatcher(context: JobContext, onError: (error: unknown) => void): RequestBatcher {
  const shared = new Map<
    AnyOperation,
    { readonly cache: unknown; readonly queues: Map<string, BatchQueue>; queued: number }
  >();
  const sharedBy = (operation: AnyOperation) => {
    const known = shared.get(operation);
    if (known !== undefined) return known;
    const created = { cache: operation.createCache(), queues: new Map<string, BatchQueue>(), queued: 0 };
    shared.set(operation, created);
    return created;
  };
  return {
    submit<Request, Answer, Cache>(
      given: BatchedOperation<Request, Answer, Cache>,
      entry: KeyEntry,
      request: Request,
      action: string | null = null,
      slots: readonly string[] = [],
    ): Promise<Answer> {
      // A queue belongs to one operation, so all its requests are of that operation's type.
      const operation = given as unknown as AnyOperation;
      const state = sharedBy(operation);
      const weight = given.weigh(request);
      if (state.queued > 0 && state.queued + weight > given.maxQueuedWeight)
        return Promise.reject(new Problem('tooBusy'));
      state.queued += weight;
      const key = nameOfHash(entry.apiKeyHash) + (entry.sufficient?.[0] ?? '');
      let queue = state.queues.get(key);
      if (queue === undefined) {
        const runner = { context, onError, operation, entry, cache: state.cache };
        const run = async (batch: readonly Queued[]) => {
          state.queued -= weightOf(batch);
          await answerBatch(runner, batch);
          // A plan that was made for empty tables is slow on full ones long before autovacuum notices.
          refreshStatistics(context.database).catch(onError);
        };
        queue = new BatchQueue(operation, run, () => state.queues.delete(key));
        state.queues.set(key, queue);
      }
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      queue.add({ request, action, slots, weight, resolve: resolve as (answer: unknown) => void, reject });
      return promise;
    },
  };
}

function weightOf(batch: readonly Queued[]): number {
  return batch.reduce((sum, each) => sum + each.weight, 0);
}

// One batch in the database and one in this process, so that neither of the two waits. Three are slower.
const maxInFlight = 2;
// A batch that takes longer waits for a lock. Up to so many no longer count, so that others do not wait with them.
const slowMs = 100;
const slowMsPerWeight = 0.1;
const maxSlow = 4;
const lingerMs = 3;
// With fewer callers, a larger batch saves less than the wait for it costs.
const fewCallers = 8;
// Waiting for the slowest callers costs more than they add.
const shareOfCallers = 0.9;
// A smaller batch costs nearly as much as one of this size.
const fullBatch = 32;
const idleMs = 1_000;

/**
 * The requests of one operation and API key that wait for a batch. An idle queue flushes at once. Callers that were just
 * answered are likely to send their next request, so under load a batch waits until most callers that can be in it are
 * back, or `lingerMs`.
 */
class BatchQueue {
  readonly #operation: Pick<AnyOperation, 'maxBatchWeight' | 'subjectOf'>;
  readonly #run: (batch: readonly Queued[]) => Promise<void>;
  readonly #onIdle: () => void;
  readonly #waiting: Queued[] = [];
  #weight = 0;
  /** When each batch in flight becomes slow. */
  readonly #inFlight = new Set<{ readonly slowFrom: number }>();
  #requestsInFlight = 0;
  /** How many callers there are: the most requests that were waiting or in flight at once, until fewer come back. */
  #callers = 0;
  /** Most of the last batch locks the same row. */
  #isOneSubject = false;
  #lingersSince = 0;
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    operation: Pick<AnyOperation, 'maxBatchWeight' | 'subjectOf'>,
    run: (batch: readonly Queued[]) => Promise<void>,
    onIdle: () => void,
  ) {
    this.#operation = operation;
    this.#run = run;
    this.#onIdle = onIdle;
  }

  add(queued: Queued): void {
    if (this.#waiting.length === 0) this.#lingersSince = performance.now();
    this.#waiting.push(queued);
    this.#weight += queued.weight;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After the requests that have already arrived on other connections are read.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    this.#callers = Math.max(this.#callers, this.#waiting.length + this.#requestsInFlight);
    while (this.#isReady()) void this.#send(this.#take());
    clearTimeout(this.#timer);
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.#flush(), this.#hasRoom() ? lingerMs : slowMs);
    else if (this.#inFlight.size === 0)
      this.#timer = setTimeout(() => this.#waiting.length === 0 && this.#onIdle(), idleMs).unref();
  }

  async #send(batch: readonly Queued[]): Promise<void> {
    const flight = { slowFrom: performance.now() + slowMs + weightOf(batch) * slowMsPerWeight };
    this.#inFlight.add(flight);
    this.#requestsInFlight += batch.length;
    try {
      await this.#run(batch);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    this.#inFlight.delete(flight);
    this.#requestsInFlight -= batch.length;
    this.#lingersSince = performance.now();
    this.#flush();
  }

  #limit(): number {
    return this.#isOneSubject ? 1 : maxInFlight;
  }

  #hasRoom(): boolean {
    const limit = this.#limit();
    if (this.#inFlight.size < limit) return true;
    const now = performance.now();
    const slow = [...this.#inFlight].filter(({ slowFrom }) => slowFrom < now).length;
    return this.#inFlight.size - Math.min(slow, maxSlow) < limit;
  }

  #isReady(): boolean {
    const count = this.#waiting.length;
    if (count === 0 || !this.#hasRoom()) return false;
    if (this.#callers < fewCallers || this.#weight * 2 >= this.#operation.maxBatchWeight) return true;
    const expected = Math.min(this.#share(), this.#callers - this.#requestsInFlight);
    if (count >= expected * shareOfCallers) return true;
    if (performance.now() - this.#lingersSince < lingerMs) return false;
    // Some callers are gone.
    this.#callers = count + this.#requestsInFlight;
    return true;
  }

  /** How many of the callers one batch is for. */
  #share(): number {
    return Math.max(fullBatch, Math.ceil(this.#callers / this.#limit()));
  }

  #take(): Queued[] {
    this.#isOneSubject = this.#isMostlyOneSubject();
    const isHeavy = this.#weight * 2 >= this.#operation.maxBatchWeight;
    const maxCount = isHeavy ? this.#waiting.length : this.#share();
    let weight = 0;
    let count = 0;
    for (const each of this.#waiting) {
      if (count >= maxCount || (count > 0 && weight + each.weight > this.#operation.maxBatchWeight)) break;
      weight += each.weight;
      count += 1;
    }
    this.#weight -= weight;
    return this.#waiting.splice(0, count);
  }

  #isMostlyOneSubject(): boolean {
    const { subjectOf } = this.#operation;
    if (subjectOf === undefined) return false;
    const subjects = new Set<string>();
    for (const { request } of this.#waiting) {
      subjects.add(subjectOf(request));
      if (subjects.size * 2 > this.#waiting.length) return false;
    }
    return true;
  }
}

/** The operation and the context of the batches of a queue. */
interface Runner {
  readonly context: JobContext;
  readonly onError: (error: unknown) => void;
  readonly operation: AnyOperation;
  readonly entry: KeyEntry;
  readonly cache: unknown;
}

async function answerBatch(runner: Runner, batch: readonly Queued[]): Promise<void> {
  const { context, operation, entry, cache } = runner;
  if (batch.length === 0) return;
  const requests = batch.map(({ request }) => request);
  const slots = [...new Set(batch.flatMap((each) => each.slots))];
  try {
    const { database } = context;
    const answerAtOnce = async (db: Database) =>
      (await operation.answerAtOnce?.({ database: db, entry, requests, cache })) ?? null;
    const atOnce = slots.length === 0 ? await answerAtOnce(database) : await inSlots(database, slots, answerAtOnce);
    if (atOnce !== null) return settle(batch, atOnce);
    const act = (work: Work) => operation.answer(work, requests, cache);
    const outcome = await runInEnvironment(database, entry, act, { auditContext: auditContextOf(batch), slots });
    if (outcome === null) throw new Problem('unauthorized');
    settle(batch, outcome.answer);
    // Effects come from work that was due before. The requests of the batch do not wait for them.
    if (outcome.effects.length > 0) runEffects(context, outcome.effects).catch(runner.onError);
  } catch (error) {
    await answerOthers(runner, batch, error);
  }
}

/** A statement that is a transaction by itself cannot look at slots before it reads, so it shares one with the look. */
async function inSlots<Answer>(
  database: Database,
  slots: readonly string[],
  act: (db: Database) => Promise<Answer | null>,
): Promise<Answer | null> {
  try {
    return await database.transaction().execute(async (db) => {
      await sql`select ${enterSlots(slots)}`.execute(db);
      const answer = await act(db);
      // The statement failed, and its transaction with it.
      if (answer === null) throw needsTransaction;
      return answer;
    });
  } catch (error) {
    if (error === needsTransaction) return null;
    throw error;
  }
}

const needsTransaction = new Error('the batch needs a transaction of its own');

function settle(batch: readonly Queued[], answers: readonly unknown[]): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const answer = answers[index];
    if (answer instanceof Problem) reject(answer);
    else resolve(answer);
  }
}

/** The changes of a batch are attributed to the actions of all its requests, and to no single request. */
function auditContextOf(batch: readonly Queued[]): AuditContext | undefined {
  const actions = new Set(batch.flatMap(({ action }) => action ?? []));
  return actions.size === 0 ? undefined : { action: [...actions].join(', ') };
}

/** A batch that failed: the requests that are not to blame are answered in other batches. */
async function answerOthers(runner: Runner, batch: readonly Queued[], error: unknown): Promise<void> {
  if (error instanceof PartialRejection) {
    for (const [index, problem] of error.refusals) batch[index]?.reject(problem);
    const others = batch.filter((_, index) => !error.refusals.has(index));
    return answerBatch(runner, others);
  }
  const refused = refusedSlots(error);
  const isRefused = ({ slots }: Queued) => refused !== null && slots.some((slot) => refused.has(slot));
  if (batch.some(isRefused)) {
    for (const each of batch) if (isRefused(each)) each.reject(error);
    return answerBatch(
      runner,
      batch.filter((each) => !isRefused(each)),
    );
  }
  if (batch.length === 1 || concernsAll(error)) {
    for (const { reject } of batch) reject(error);
    return;
  }
  // Each half by itself shows which request is to blame.
  const middle = Math.ceil(batch.length / 2);
  await answerBatch(runner, batch.slice(0, middle));
  await answerBatch(runner, batch.slice(middle));
}

/** Whether every half would fail the same way: the API key does not suffice, or the database does not answer. */
function concernsAll(error: unknown): boolean {
  if (error instanceof Problem)
    return ['UNAUTHORIZED', 'SERVICE_UNAVAILABLE'].includes(error.code) || error.problem === 'permissionMissing';
  return typeof (error as { code?: unknown }).code !== 'string' || problemOfOutage(error) !== null;
}
