import { nameOfHash } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';
import { problemOfOutage } from '../database/database-problem.ts';
import { type Gathering, Lane, type Turn, type Waiting } from '../database/lane.ts';
import { createLine } from '../database/line.ts';
import { refreshStatistics } from '../database/statistics.ts';
import {
  createScopeMemory,
  type Doing,
  finish,
  runInEnvironment,
  type ScopeMemory,
  type Work,
} from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { type JobContext, runEffects } from './queue.ts';

/**
 * Something that several callers who wait at the same time are answered in one transaction, at the cost of one: what a
 * commit, a round trip and the lock of a busy row cost is shared by all of them.
 */
export interface Together<Ask, Answer> extends Gathering<Ask> {
  readonly name: string;
  /**
   * Answers each ask, in order. What is wrong with one is its own answer and touches no other; where that shows only once
   * something of it was written, throw `RefusedAfterAll`.
   */
  readonly answer: (work: Work, asks: readonly Ask[]) => Promise<readonly (Answer | Problem)[]>;
  /** How much of a transaction an ask takes, in the unit of `most`. */
  readonly weigh: (ask: Ask) => number;
  /** How much may wait in all; who comes then is refused with `tooBusy`. */
  readonly mostWaiting: number;
  /** Whether nothing is written, so that whoever waits is answered before the transaction ends. */
  readonly reads?: boolean;
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

/** What the groups of one process share. */
interface Meeting extends JobContext {
  readonly scopes: ScopeMemory;
  readonly onError: (error: unknown) => void;
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

/** Callers with one key share a lane. */
export function createMeetingPoint(given: JobContext, onError: (error: unknown) => void): MeetingPoint {
  const context: Meeting = { ...given, scopes: createScopeMemory(), onError };
  // By the name of what they do, then by that of the key: to put both together for each caller would take longer.
  const lanes = new Map<string, Map<string, Lane>>();
  const waiting = new Map<string, number>();

  const laneOf = (together: Together<never, unknown>, apiKeyHash: Buffer): Lane => {
    const key = nameOfHash(apiKeyHash);
    const ofKeys = lanes.get(together.name) ?? new Map<string, Lane>();
    const known = ofKeys.get(key);
    if (known !== undefined) return known;
    // A lane is looked up by the name of what it does, so its asks are of that kind.
    const entrance: Entrance = { together: together as never, apiKeyHash, line: createLine(context.database) };
    const run = async (group: readonly Waiting[], turn: Turn) => {
      const weight = weightOf(group);
      waiting.set(together.name, (waiting.get(together.name) ?? 0) - weight);
      await answerGroup(context, entrance, group, turn);
      // Plans that were made for empty tables are slow on full ones, long before the database looks by itself.
      refreshStatistics(context.database).catch(onError);
    };
    const lane = new Lane(together, run, () => ofKeys.delete(key));
    lanes.set(together.name, ofKeys.set(key, lane));
    return lane;
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
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      laneOf(together, apiKeyHash).add({ ask, action, weight, resolve: resolve as (answer: unknown) => void, reject });
      return promise;
    },
  };
}

/** What a lane leads to. */
interface Entrance {
  readonly together: Together<unknown, unknown>;
  readonly apiKeyHash: Buffer;
  /** The database for groups that follow one another. */
  readonly line: Database;
}

function weightOf(group: readonly Waiting[]): number {
  return group.reduce((sum, each) => sum + each.weight, 0);
}

// By how much a group may weigh while making a plan for it would cost more than a plan that is not the best.
const mostForOnePlan = 500;

/** Answers a group in its turn. What is to be answered is known once what changes is on its way. */
async function answerGroup(context: Meeting, entrance: Entrance, group: readonly Waiting[], turn: Turn): Promise<void> {
  if (group.length === 0) return;
  const { together, apiKeyHash, line } = entrance;
  const act = async (work: Work) => {
    const asks = group.map(({ ask }) => ask);
    const answers = await together.answer(work, asks);
    turn.answered();
    if (together.reads) {
      await finish(work);
      tell(group, answers);
    }
    return answers;
  };
  try {
    const onePlanForAll = weightOf(group) <= mostForOnePlan;
    const readsOnly = together.reads === true;
    const options = { onePlanForAll, readsOnly, doing: doingOf(group), scopes: context.scopes };
    const database = turn.isInLine ? line : context.database;
    const outcome = await runInEnvironment(database, { apiKeyHash }, act, options);
    if (outcome === null) throw new Problem('unauthorized');
    tell(group, outcome.answer);
    // What is done outside concerns what was due before, not what was asked for: nobody waits for it.
    if (outcome.effects.length > 0) runEffects(context, outcome.effects).catch(context.onError);
  } catch (error) {
    await answerOthers(context, { ...entrance, group, error, turn });
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
  failed: Entrance & { group: readonly Waiting[]; error: unknown; turn: Turn },
): Promise<void> {
  const { group, error, turn } = failed;
  if (error instanceof RefusedAfterAll) {
    for (const [index, problem] of error.refusals) group[index]?.reject(problem);
    await answerGroup(
      context,
      failed,
      group.filter((_, index) => !error.refusals.has(index)),
      turn,
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
  await answerGroup(context, failed, group.slice(0, middle), turn);
  await answerGroup(context, failed, group.slice(middle), turn);
}

/** True where trying again by halves would end the same: the key, or a database that does not answer. */
function concernsAll(error: unknown): boolean {
  if (error instanceof Problem) return error.problem === 'unauthorized' || error.code === 'SERVICE_UNAVAILABLE';
  return typeof (error as { code?: unknown }).code !== 'string' || problemOfOutage(error) !== null;
}
