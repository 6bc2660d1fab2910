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
  /**
   * How many asks must wait for a transaction to begin while another one of the key is still being answered. Without it, the
   * next begins once what answered the one before is on its way to the disk, or half of `most` waits.
   */
  readonly enoughBeside?: number;
  /** What an ask waits for in the database while another one has it. Nothing where it is left out. */
  readonly subjectOf?: (ask: Ask) => string;
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

/** What waits for one key, and what is under way for it. */
interface Lane {
  readonly key: string;
  readonly together: Together<unknown, unknown>;
  readonly apiKeyHash: Buffer;
  readonly waiting: Waiting[];
  weight: number;
  /** Transactions that are under way. */
  running: number;
  /** Those of them that are not answered yet. The others are on their way to the disk. */
  answering: number;
  /** Asks in those that are under way. */
  asked: number;
  /** About how many ask again and again: as many as waited or were under way at once of late. */
  callers: number;
  /** Whether most of those who waited last had to do with the same. */
  isCrowded: boolean;
  /** Since when the first who waits does, or nobody was answered who would ask again. */
  waitsSince: number;
  isLookedAt: boolean;
  timer: NodeJS.Timeout | null;
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
    lane.running += 1;
    lane.answering += 1;
    lane.asked += group.length;
    let isAnswering = true;
    const answered = () => {
      if (!isAnswering) return;
      isAnswering = false;
      lane.answering -= 1;
      begin(lane);
    };
    try {
      await answerGroup(context, lane, group, { answered, onError });
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    lane.running -= 1;
    lane.asked -= group.length;
    lane.waitsSince = performance.now();
    answered();
    begin(lane);
    // Plans that were made for empty tables are slow on full ones, long before the database looks by itself.
    refreshStatistics(context.database).catch(onError);
  };

  /** Begins what can begin now, and looks again when the time of the others is up. */
  const begin = (lane: Lane): void => {
    lane.callers = Math.max(lane.callers, lane.waiting.length + lane.asked);
    while (isReady(lane)) {
      const before = lane.weight;
      const group = takeGroup(lane);
      lane.waitsSince = performance.now();
      waiting.set(lane.together.name, (waiting.get(lane.together.name) ?? 0) - (before - lane.weight));
      void runGroup(lane, group);
    }
    clearTimeout(lane.timer ?? undefined);
    lane.timer = null;
    if (lane.waiting.length > 0) {
      if (mayBegin(lane)) lane.timer = setTimeout(() => begin(lane), mostWaitMs);
    } else if (lane.running === 0) lane.timer = setTimeout(() => lanes.delete(lane.key), rememberedMs).unref();
  };

  /** After what has already arrived on other connections was read. */
  const lookAt = (lane: Lane): void => {
    if (lane.isLookedAt) return;
    lane.isLookedAt = true;
    setImmediate(() => {
      lane.isLookedAt = false;
      begin(lane);
    });
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
        key,
        together: together as never,
        apiKeyHash,
        waiting: [],
        weight: 0,
        running: 0,
        answering: 0,
        asked: 0,
        callers: 0,
        isCrowded: false,
        waitsSince: 0,
        isLookedAt: false,
        timer: null,
      };
      lanes.set(key, lane);
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      if (lane.waiting.length === 0) lane.waitsSince = performance.now();
      lane.waiting.push({ ask, action, weight, resolve: resolve as (answer: unknown) => void, reject });
      lane.weight += weight;
      lookAt(lane);
      return promise;
    },
  };
}

// One that is answered and one that is on its way to the disk, so that neither this process nor the database waits.
const mostRunning = 2;
const mostWaitMs = 3;
const fewCallers = 8;
// All but the slowest: a group of half as many costs nearly as much.
const mostOf = 0.9;
// Groups that are smaller cost more by themselves than is won by one being answered while another is written.
const smallestShare = 32;
// How long it is remembered how many asked.
const rememberedMs = 1_000;

/**
 * About how many asks are in a group: half of those who ask again and again are answered while the others are written.
 * All where they would wait for one another anyway.
 */
function shareOf({ callers, isCrowded }: Lane): number {
  return isCrowded ? callers : Math.max(smallestShare, Math.ceil(callers / 2));
}

/** Whether most of those who wait have to do with the same. */
function isCrowd({ together: { subjectOf }, waiting }: Lane): boolean {
  if (subjectOf === undefined) return false;
  return new Set(waiting.map(({ ask }) => subjectOf(ask))).size * 2 <= waiting.length;
}

function mayBegin({ together, waiting, weight, running, answering }: Lane): boolean {
  if (running >= mostRunning) return false;
  return answering === 0 || weight * 2 >= together.most || waiting.length >= (together.enoughBeside ?? Infinity);
}

/**
 * Whether a group begins: as soon as nearly all wait who are likely to ask soon, or have had their time. Who comes alone or
 * with a few does not wait.
 */
function isReady(lane: Lane): boolean {
  const { together, waiting, weight, asked, callers, waitsSince } = lane;
  if (waiting.length === 0 || !mayBegin(lane)) return false;
  if (callers < fewCallers || weight * 2 >= together.most) return true;
  if (waiting.length >= Math.min(shareOf(lane), callers - asked) * mostOf) return true;
  if (performance.now() - waitsSince < mostWaitMs) return false;
  // There are fewer than there were.
  lane.callers = waiting.length + asked;
  return true;
}

function takeGroup(lane: Lane): Waiting[] {
  const isHeavy = lane.weight * 2 >= lane.together.most;
  lane.isCrowded = !isHeavy && isCrowd(lane);
  const mostAsks = isHeavy ? lane.waiting.length : shareOf(lane);
  let weight = 0;
  let count = 0;
  for (const each of lane.waiting) {
    if (count >= mostAsks || (count > 0 && weight + each.weight > lane.together.most)) break;
    weight += each.weight;
    count += 1;
  }
  lane.weight -= weight;
  return lane.waiting.splice(0, count);
}

// By how much a group may weigh while making a plan for it would cost more than a plan that is not the best.
const mostForOnePlan = 500;

/** Who hears how it goes on with a group. */
interface Told {
  /** What is to be answered is known, and what changes is on its way. */
  readonly answered: () => void;
  readonly onError: (error: unknown) => void;
}

async function answerGroup(
  context: Meeting,
  { together, apiKeyHash }: Pick<Lane, 'together' | 'apiKeyHash'>,
  group: readonly Waiting[],
  told: Told,
): Promise<void> {
  if (group.length === 0) return;
  const act = async (work: Work) => {
    const asks = group.map(({ ask }) => ask);
    const answers = await together.answer(work, asks);
    told.answered();
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
    if (outcome.effects.length > 0) runEffects(context, outcome.effects).catch(told.onError);
  } catch (error) {
    await answerOthers(context, { together, apiKeyHash, group, error, told });
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
    told: Told;
  },
): Promise<void> {
  const { group, error, told } = failed;
  if (error instanceof RefusedAfterAll) {
    for (const [index, problem] of error.refusals) group[index]?.reject(problem);
    await answerGroup(
      context,
      failed,
      group.filter((_, index) => !error.refusals.has(index)),
      told,
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
  await answerGroup(context, failed, group.slice(0, middle), told);
  await answerGroup(context, failed, group.slice(middle), told);
}

/** True where trying again by halves would end the same: the key, or a database that does not answer. */
function concernsAll(error: unknown): boolean {
  if (error instanceof Problem) return error.problem === 'unauthorized' || error.code === 'SERVICE_UNAVAILABLE';
  return typeof (error as { code?: unknown }).code !== 'string' || problemOfOutage(error) !== null;
}
