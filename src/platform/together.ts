import { setImmediate } from 'node:timers/promises';
import { Problem } from '../kernel/problem.ts';
import { nameOfHash } from './api-key.ts';
import { problemOfOutage } from './database-problem.ts';
import { type JobContext, runEffects } from './jobs.ts';
import { refreshStatistics } from './statistics.ts';
import { createScopeMemory, type Doing, runInEnvironment, type ScopeMemory, type Work } from './work.ts';

/**
 * Something that several callers who wait at the same time are answered in one transaction, at the cost of one: what a
 * commit, a round trip and the lock of a busy row cost is shared by all of them.
 */
export interface Together<Ask, Answer> {
  readonly name: string;
  /**
   * Answers each ask, in order. What is wrong with one is its own answer and touches no other; where that shows only once
   * something of it was written, throw `RefusedAfterAll`.
   */
  readonly answer: (work: Work, asks: readonly Ask[]) => Promise<readonly (Answer | Problem)[]>;
  /** How much of a transaction an ask takes, in the unit of `most`. */
  readonly weigh: (ask: Ask) => number;
  /** About how much one transaction takes. An ask that weighs more is alone in its own. */
  readonly most: number;
  /** How much may wait in all; who comes then is refused with `tooBusy`. */
  readonly mostWaiting: number;
  /** Whether nothing is written, so that whoever waits is answered before the transaction ends. */
  readonly reads?: boolean;
  /** Transactions at a time of one key. */
  readonly atOnce: number;
  /**
   * How many asks, or half of `most`, must wait for a transaction to begin beside another: many small groups cost more than
   * few large ones.
   */
  readonly enough: number;
}

/** Some asks cannot be answered, by their index, and have left traces: the transaction begins anew without them. */
export class RefusedAfterAll extends Error {
  readonly refusals: ReadonlyMap<number, Problem>;
  constructor(refusals: ReadonlyMap<number, Problem>) {
    super('refused after all');
    this.refusals = refusals;
  }
}

/** What runs alone, in a transaction that is open already. Throws the refusal. */
export async function answerAlone<Ask, Answer>(together: Together<Ask, Answer>, work: Work, ask: Ask): Promise<Answer> {
  const [answer] = await together.answer(work, [ask]).catch((error: unknown) => {
    throw error instanceof RefusedAfterAll ? error.refusals.get(0) : error;
  });
  if (answer === undefined || answer instanceof Problem) throw answer;
  return answer;
}

/** An ask in line, and whom to tell. */
interface Waiting {
  readonly ask: unknown;
  readonly action: string | null;
  readonly weight: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** What waits for one key, and how many transactions are under way for it. */
interface Lane {
  readonly together: Together<unknown, unknown>;
  readonly apiKeyHash: Buffer;
  readonly waiting: Waiting[];
  weight: number;
  running: number;
  answeredLast: number;
  /** Transactions that are gathering, and are told when enough wait. */
  readonly gathering: Set<() => void>;
}

/** What the groups of one process share. */
interface Meeting extends JobContext {
  readonly scopes: ScopeMemory;
}

/** Where callers of one process meet. */
export interface MeetingPoint {
  /**
   * The answer to `ask`, once it is committed. Refuses with the ask's own problem, `unauthorized` or `tooBusy`. `action`
   * is what the audit log calls it; null for what only reads.
   */
  join<Ask, Answer>(
    together: Together<Ask, Answer>,
    apiKeyHash: Buffer,
    ask: Ask,
    action?: string | null,
  ): Promise<Answer>;
}

/**
 * Whoever comes while nothing is under way is served at once; whoever comes meanwhile waits for the next transaction, so
 * groups are as large as the load makes them. Callers with one key share a line.
 */
export function createMeetingPoint(given: JobContext, onError: (error: unknown) => void): MeetingPoint {
  const context: Meeting = { ...given, scopes: createScopeMemory() };
  const lanes = new Map<string, Lane>();
  const waiting = new Map<string, number>();

  const runGroup = async (lane: Lane, group: readonly Waiting[]): Promise<void> => {
    try {
      await answerGroup(context, lane, group, onError);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  };

  const run = async (key: string, lane: Lane): Promise<void> => {
    for (;;) {
      await gather(lane);
      if (lane.waiting.length === 0) break;
      const before = lane.weight;
      const group = takeGroup(lane);
      waiting.set(lane.together.name, (waiting.get(lane.together.name) ?? 0) - (before - lane.weight));
      lane.answeredLast = group.length;
      await runGroup(lane, group);
      // Plans that were made for empty tables are slow on full ones, long before the database looks by itself.
      refreshStatistics(context.database).catch(onError);
    }
    lane.running -= 1;
    if (lane.running === 0) lanes.delete(key);
  };

  return {
    join<Ask, Answer>(
      together: Together<Ask, Answer>,
      apiKeyHash: Buffer,
      ask: Ask,
      action: string | null = null,
    ): Promise<Answer> {
      const weight = together.weigh(ask);
      const inLine = waiting.get(together.name) ?? 0;
      if (inLine > 0 && inLine + weight > together.mostWaiting) return Promise.reject(new Problem('tooBusy'));
      waiting.set(together.name, inLine + weight);
      const key = `${together.name} ${nameOfHash(apiKeyHash)}`;
      // A lane is looked up by the name of what it does, so its asks are of that kind.
      const lane: Lane = lanes.get(key) ?? {
        together: together as never,
        apiKeyHash,
        waiting: [],
        weight: 0,
        running: 0,
        answeredLast: 0,
        gathering: new Set(),
      };
      lanes.set(key, lane);
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      lane.waiting.push({ ask, action, weight, resolve: resolve as (answer: unknown) => void, reject });
      lane.weight += weight;
      if (lane.gathering.size > 0 && areBack(lane)) for (const begin of lane.gathering) begin();
      if (lane.running === 0 || (lane.running < together.atOnce && isEnough(lane))) {
        lane.running += 1;
        void run(key, lane);
      }
      return promise;
    },
  };
}

// Who was just answered is likely to ask again, and takes about as long to do so.
const mostWaitMs = 2;
const fewAsks = 8;
// All but the slowest: a group of half as many costs nearly as much.
const mostOf = 0.9;

/**
 * After a large group, waits a moment for others: until nearly as many wait as were answered last, who are likely to ask
 * again. Who comes alone or with a few does not wait.
 */
async function gather(lane: Lane): Promise<void> {
  // After what has already arrived on other connections was read.
  await setImmediate();
  if (lane.answeredLast < fewAsks || areBack(lane)) return;
  await new Promise<void>((resolve) => {
    const begin = () => {
      clearTimeout(timer);
      lane.gathering.delete(begin);
      resolve();
    };
    const timer = setTimeout(begin, mostWaitMs);
    lane.gathering.add(begin);
  });
  await setImmediate();
}

function areBack({ waiting, answeredLast }: Lane): boolean {
  return waiting.length >= answeredLast * mostOf;
}

function isEnough({ together, waiting, weight }: Lane): boolean {
  return waiting.length >= together.enough || weight * 2 >= together.most;
}

function takeGroup(lane: Lane): Waiting[] {
  let weight = 0;
  let count = 0;
  for (const each of lane.waiting) {
    if (count > 0 && weight + each.weight > lane.together.most) break;
    weight += each.weight;
    count += 1;
  }
  lane.weight -= weight;
  return lane.waiting.splice(0, count);
}

// By how much a group may weigh while making a plan for it would cost more than a plan that is not the best.
const mostForOnePlan = 500;

async function answerGroup(
  context: Meeting,
  { together, apiKeyHash }: Pick<Lane, 'together' | 'apiKeyHash'>,
  group: readonly Waiting[],
  onError: (error: unknown) => void,
): Promise<void> {
  if (group.length === 0) return;
  const act = async (work: Work) => {
    const asks = group.map(({ ask }) => ask);
    const answers = await together.answer(work, asks);
    if (together.reads) {
      await Promise.all(work.assumptions);
      tell(group, answers);
    }
    return answers;
  };
  try {
    const weight = group.reduce((sum, each) => sum + each.weight, 0);
    const onePlanForAll = weight <= mostForOnePlan;
    const readsOnly = together.reads === true;
    const options = { onePlanForAll, readsOnly, doing: doingOf(group), scopes: context.scopes };
    const outcome = await runInEnvironment(context.database, { apiKeyHash }, act, options);
    if (outcome === null) throw new Problem('unauthorized');
    tell(group, outcome.answer);
    // What is done outside concerns what was due before, not what was asked for: nobody waits for it.
    if (outcome.effects.length > 0) runEffects(context, outcome.effects).catch(onError);
  } catch (error) {
    await answerOthers(context, { together, apiKeyHash, group, error, onError });
  }
}

/** Tells each its answer. Who has been told already hears nothing new. */
function tell(group: readonly Waiting[], answers: readonly unknown[]): void {
  for (const [index, { resolve, reject }] of group.entries()) {
    const answer = answers[index];
    if (answer instanceof Problem) reject(answer);
    else resolve(answer);
  }
}

/** What the callers of a group do: what their one transaction changes is put down to all of them, and to no request. */
function doingOf(group: readonly Waiting[]): Doing | undefined {
  const actions = new Set(group.flatMap(({ action }) => action ?? []));
  return actions.size === 0 ? undefined : { action: [...actions].join(', ') };
}

/** A group that failed: each of those who are not to blame is answered in another one. */
async function answerOthers(
  context: Meeting,
  failed: {
    together: Together<unknown, unknown>;
    apiKeyHash: Buffer;
    group: readonly Waiting[];
    error: unknown;
    onError: (error: unknown) => void;
  },
): Promise<void> {
  const { group, error, onError } = failed;
  if (error instanceof RefusedAfterAll) {
    for (const [index, problem] of error.refusals) group[index]?.reject(problem);
    await answerGroup(
      context,
      failed,
      group.filter((_, index) => !error.refusals.has(index)),
      onError,
    );
    return;
  }
  const [first] = group;
  if (group.length === 1 || concernsAll(error)) {
    for (const { reject } of group) reject(error);
    return;
  }
  if (first === undefined) return;
  // Whose fault it is shows when each half is tried by itself.
  const middle = Math.ceil(group.length / 2);
  await answerGroup(context, failed, group.slice(0, middle), onError);
  await answerGroup(context, failed, group.slice(middle), onError);
}

/** True where trying again by halves would end the same: the key, or a database that does not answer. */
function concernsAll(error: unknown): boolean {
  if (error instanceof Problem) return error.problem === 'unauthorized' || error.code === 'SERVICE_UNAVAILABLE';
  return typeof (error as { code?: unknown }).code !== 'string' || problemOfOutage(error) !== null;
}
