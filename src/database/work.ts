import assert from 'node:assert/strict';
import process from 'node:process';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Instant } from '../kernel/calendar.ts';
import { nameOfHash } from './api-key.ts';
import type { Database, DatabaseTransaction } from './database.ts';
import { pipelined } from './pipelined.ts';

/** The tenant that a transaction is bound to, as the database's own functions answer it. */
export interface Scope {
  readonly environmentId: number;
  readonly organizationId: string;
  readonly livemode: boolean;
  readonly currency: string;
  readonly allowMultipleSubscriptions: boolean;
  /** The key that asked, or null for work of our own. */
  readonly apiKeyId: string | null;
  /** The one pricing model that the key may see, or null for all of the environment. */
  readonly pinnedPricingModelId: string | null;
}

/** A step outside of the database that the commit asks for, and that the request waits for when it can. */
export interface Effect {
  readonly task: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** One unit of work: one transaction in one environment, at one instant. */
export interface Work extends Scope {
  readonly db: DatabaseTransaction;
  /** The environment's time, read once: the test clock where one is set, else real time. */
  readonly now: Instant;
  /** Where the service is reached from outside, without a path. */
  readonly publicUrl: string;
  readonly dryRun: boolean;
  /** Whether the customer itself asks, in a browser, and can confirm to its bank what is charged. */
  readonly customerPresent: boolean;
  readonly effects: Effect[];
  /** Statements that nothing in the unit of work waits for: see `sentWithCommit`. */
  readonly unfinished: Promise<unknown>[];
}

interface ScopeRow {
  environmentId: number | null;
  organizationId: string;
  livemode: boolean;
  currency: string;
  allowMultipleSubscriptions: boolean;
  clockNow: number | null;
  apiKeyId: string | null;
  pricingModelId: string | null;
}

/** How a transaction finds its environment: by the hash of an API key, or by its number for work of our own. */
export type Entry = { readonly apiKeyHash: Buffer } | { readonly environmentId: number };

/** What the audit log says of a change besides the key that asked for it. */
export interface Doing {
  /** The operation, the page or the task. */
  readonly action: string;
  readonly requestId?: string | null;
  /** Where no key asks, it is work of our own, unless a customer asks on a page. */
  readonly actor?: 'customer' | undefined;
}

// One for all: to note where each was thrown takes longer than to throw it.
const rollBack = new Error('rolled back on purpose');

/** What this unit of work has read is out of date before it was done: undo it and begin anew. */
export class RunAgain extends Error {
  readonly code = '40001';
}

export interface RunOptions {
  /** Everything is done and answered, then rolled back. */
  readonly dryRun?: boolean;
  /** Nothing is written, so there is no commit to wait for. */
  readonly readsOnly?: boolean;
  /** Where the service is reached from outside; work that no request asked for shows it to nobody. */
  readonly publicUrl?: string;
  readonly customerPresent?: boolean;
  /** Needed by what changes something. */
  readonly doing?: Doing | undefined;
  /**
   * The statements come again and again with lists of any length, and are written so that one plan is right for all: the
   * database is not to make another for each.
   */
  readonly onePlanForAll?: boolean;
  /** Where scopes of keys are remembered. What a key opened before is taken for granted, and the database sees to it. */
  readonly scopes?: ScopeMemory;
}

/** What keys opened when they were last used, by their hash. */
export type ScopeMemory = LRUCache<string, RememberedScope>;

/** A scope, and its text as the database writes it, by which it tells whether that is still so. */
interface RememberedScope {
  readonly row: ScopeRow;
  readonly text: string;
}

export function createScopeMemory(): ScopeMemory {
  return new LRUCache({ max: 10_000 });
}

/**
 * Sends a statement and leaves it to be answered together with the commit, which is sent right behind it. Where it fails,
 * the database undoes the transaction in place of committing it, and the unit of work fails with what it says. `onFailure`
 * hears it before, and may throw something else; it also hears it of a statement that failed because one before it did.
 */
export function sentWithCommit(
  work: Work,
  statement: RawBuilder<unknown>,
  onFailure: (error: unknown) => void = () => undefined,
): void {
  // Nothing of what it answers is looked at, so no names are to be turned into ours.
  const answered = statement.execute(work.db.withoutPlugins()).catch((error: unknown) => {
    onFailure(error);
    throw error;
  });
  work.unfinished.push(guarded(answered));
}

/**
 * Waits until the connection has everything that was to be sent, so that what could not even be sent has failed by now. What
 * is sent next goes the same way, in one write.
 */
export function untilTaken(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Waits until everything that was to be sent is on its way: the connection writes once those who waited for it have gone on. */
export async function untilSent(): Promise<void> {
  await untilTaken();
  await untilTaken();
}

/** What one of them has failed with by now. */
export async function failureSoFar(promises: readonly Promise<unknown>[]): Promise<unknown> {
  const pending = Promise.resolve();
  const outcomes = await Promise.allSettled(promises.map((promise) => Promise.race([promise, pending])));
  return outcomes.find((outcome) => outcome.status === 'rejected')?.reason;
}

/** What is waited for later must not count as forgotten when it fails before. */
function guarded<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined);
  return promise;
}

/** What the first of them failed with, once all have ended; undefined when none did. */
async function firstFailure(promises: readonly Promise<unknown>[]): Promise<unknown> {
  const outcomes = await Promise.allSettled(promises);
  return outcomes.find((outcome) => outcome.status === 'rejected')?.reason;
}

/** Waits until all statements of the unit of work have ended, and throws what the first of them failed with. */
export async function finish({ unfinished }: Pick<Work, 'unfinished'>): Promise<void> {
  const failure = await firstFailure(unfinished);
  if (failure !== undefined) throw failure;
}

// A deadlock or a serialization failure undoes the whole transaction, so it can be run again from its start.
const maxAttempts = 4;
const retryableStates = new Set([
  '40P01',
  '40001',
  // The transaction that it followed on one connection failed: see `createLine`.
  '25P02',
]);

/**
 * Runs `act` in one transaction of the environment that `entry` names; answers null when it names none.
 * Nothing outside of the database may be called in `act`: add an effect instead.
 */
export async function runInEnvironment<Answer>(
  database: Database,
  entry: Entry,
  act: (work: Work) => Promise<Answer>,
  options: RunOptions = {},
): Promise<{ answer: Answer; effects: readonly Effect[] } | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(database, entry, act, options);
    } catch (error) {
      const state = (error as { code?: unknown }).code;
      if (attempt >= maxAttempts || typeof state !== 'string' || !retryableStates.has(state)) throw error;
    }
  }
}

async function runOnce<Answer>(
  database: Database,
  entry: Entry,
  act: (work: Work) => Promise<Answer>,
  options: RunOptions,
) {
  let entered: Work | null = null;
  let answer: Answer | undefined;
  try {
    const outcome = await database.transaction().execute(async (db) => {
      const work = await enter(await pipelined(db), entry, options);
      if (work === null) return null;
      entered = work;
      answer = await act(work);
      if (options.dryRun || options.readsOnly) {
        await finish(work);
        throw rollBack;
      }
      if (work.unfinished.length > 0) {
        await untilTaken();
        const failure = await failureSoFar(work.unfinished);
        if (failure !== undefined) throw failure;
      }
      return { answer, effects: work.effects };
    });
    if (entered !== null) await finish(entered);
    return outcome;
  } catch (error) {
    if (error === rollBack) return { answer: answer as Answer, effects: [] };
    // What was not waited for failed first: the rest is what came of it.
    if (entered !== null) await finish(entered);
    throw error;
  }
}

/** Puts a transaction that is open into an environment; answers null when there is none. Its effects are the caller's to run. */
export async function enter(db: DatabaseTransaction, entry: Entry, options: RunOptions = {}): Promise<Work | null> {
  const { onePlanForAll = false, scopes, doing } = options;
  const realNow = Date.now();
  const scope =
    'apiKeyHash' in entry
      ? sql`authenticate(${entry.apiKeyHash}, ${realNow})`
      : sql`enter_environment(${entry.environmentId})`;
  const plans = onePlanForAll ? sql`, set_config('plan_cache_mode', 'force_generic_plan', true)` : sql``;
  const said = doing === undefined ? sql`` : say(doing);
  const key = 'apiKeyHash' in entry ? nameOfHash(entry.apiKeyHash) : null;
  const remembered = key === null ? undefined : scopes?.get(key);
  if (key !== null && remembered !== undefined) {
    const confirmed = sql`
      select require_unchanged(scope::text = ${remembered.text}) from ${scope} as scope ${plans} ${said}`.execute(
      db.withoutPlugins(),
    );
    const forgotten = confirmed.catch((error) => {
      scopes?.delete(key);
      throw error;
    });
    return workIn(db, remembered.row, realNow, options, [guarded(forgotten)]);
  }
  const opened = await sql<ScopeRow & { text: string }>`
    select scope.*, scope::text as text from ${scope} as scope ${plans} ${said}`.execute(db);
  const [found] = opened.rows;
  if (found === undefined || found.environmentId === null) return null;
  const { text, ...row } = found;
  if (key !== null) scopes?.set(key, { row, text });
  return workIn(db, row, realNow, options, []);
}

function workIn(
  db: DatabaseTransaction,
  row: ScopeRow,
  realNow: Instant,
  { dryRun = false, publicUrl = 'http://localhost', customerPresent = false }: RunOptions,
  unfinished: Promise<unknown>[],
): Work {
  assert(row.environmentId !== null, 'a scope has its environment');
  return {
    db,
    now: row.clockNow ?? realNow,
    publicUrl,
    dryRun,
    customerPresent,
    effects: [],
    unfinished,
    environmentId: row.environmentId,
    organizationId: row.organizationId,
    livemode: row.livemode,
    currency: row.currency,
    allowMultipleSubscriptions: row.allowMultipleSubscriptions,
    apiKeyId: row.apiKeyId,
    pinnedPricingModelId: row.pricingModelId,
  };
}

/** Tells the transaction what is being done, for the triggers that write the audit log: a part of the statement that opens it. */
function say({ action, requestId = null, actor }: Doing) {
  const byWhom = actor === undefined ? sql`` : sql`, set_config('tollkeeper.actor_type', ${actor}, true) as said_actor`;
  return sql`, set_config('tollkeeper.action', ${action}, true) as said_action,
    set_config('tollkeeper.request_id', ${requestId}, true) as said_request ${byWhom}`;
}
