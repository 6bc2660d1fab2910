import { setTimeout as sleep } from 'node:timers/promises';
import type { Cells, WithCells } from '../database/cells.ts';
import type { Work } from '../database/work.ts';
import { type JobContext, requestEffect, runInJob } from '../jobs/queue.ts';
import type { Instant } from '../kernel/calendar.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { getTestClock } from '../organizations/actions.ts';
import { decideClock, type StoredClock, type TestClock } from '../organizations/clock.ts';
import { isAtHome } from '../organizations/store-cells.ts';
import { lockClock, readClock, saveClock } from '../organizations/store-clock.ts';
import { listModelsToSchedule } from '../pricing/store-prices.ts';
import { hasSubscriptions, takeUpAgain } from '../subscriptions/store-due.ts';
import { doDueWork, doDueWorkAt } from './do-due-work.ts';
import { type DueWorkRunner, insideDryRun, inTransactions } from './due-work-runner.ts';
import { scheduleInterims } from './renew.ts';
import { type ClockWork, countWorkSince } from './store-due.ts';

/** The task that performs the work which the clock must pass. */
export const moveClockTask = 'move_clock';

// The maximum duration of a request: many clients time out after five minutes. Years of thousands of subscriptions take
// less.
const longestMoveMs = 4 * 60_000;

/** The clock after the request, and the work done on the way. */
interface MovedClock {
  readonly testClock: TestClock;
  readonly work: ClockWork;
}

/** The answer of another cell before and after a move of the clock. */
interface ClockOfCell {
  readonly hasSubscriptions: boolean;
  /** The work there since the clock was last set. */
  readonly work: ClockWork;
}

/**
 * Freezes the environment's time at an instant, or moves it there. Work due on the way is done after the commit in many
 * transactions, and the request waits for it. A concurrent request waits for that work too and reports it. Other cells follow when
 * home has arrived. Refuses what `decideClock` refuses.
 */
export async function setTestClock(work: Work, to: Instant, others: readonly ClockOfCell[]): Promise<MovedClock> {
  const clock = await lockClock(work);
  const hasAny = (await hasSubscriptions(work)) || others.some((other) => other.hasSubscriptions);
  const decision = await saveTarget(work, { clock, to, hasSubscriptions: hasAny, movedAt: momentAfter(clock) });
  if (decision !== 'set' || others.length > 0) await requestMove(work);
  return readMovedClock(work, others);
}

/** Another cell's part of a move of the clock. In a dry run it does the work that would follow. */
export async function askForClock(
  work: Work,
  to: Instant,
  { dryRun }: { readonly dryRun: boolean },
): Promise<ClockOfCell> {
  if (dryRun) await followHome(work, { to, movedAt: momentAfter(await readClock(work)) });
  const { movedAt } = await readClock(work);
  return { hasSubscriptions: await hasSubscriptions(work), work: await countWorkSince(work, movedAt ?? Date.now()) };
}

/** Has another cell move to the instant at which home was when it had moved. A repeat, and one that is late, changes nothing. */
async function followHome(
  work: Work,
  { to, movedAt }: { readonly to: Instant; readonly movedAt: number },
): Promise<void> {
  const clock = await lockClock(work);
  const isLater = clock.movedAt !== null && clock.movedAt > movedAt;
  if (isLater || (clock.movedAt === movedAt && clock.now === to && clock.target === null)) return;
  await saveTarget(work, { clock, to, hasSubscriptions: await hasSubscriptions(work), movedAt });
  await requestMove(work);
}

interface Target {
  /** The clock, which is locked. */
  readonly clock: StoredClock;
  readonly to: Instant;
  readonly hasSubscriptions: boolean;
  readonly movedAt: number;
}

async function saveTarget(work: Work, { clock, to, hasSubscriptions: hasAny, movedAt }: Target) {
  const now = clock.now ?? work.now;
  const { livemode, pinnedTo } = work;
  const decision = decideClock(clock, to, { livemode, pinnedTo, now }, hasAny);
  const begun = { clockFrom: decision === 'set' ? to : now, clockMovedAt: movedAt };
  switch (decision) {
    case 'set':
      await saveClock(work, { ...begun, clockNow: to, clockTarget: null });
      break;
    case 'move':
      await saveClock(work, { ...begun, clockNow: now, clockTarget: to });
      break;
    case 'extend':
      await saveClock(work, { clockTarget: to });
      break;
    default:
      decision satisfies never;
  }
  return decision;
}

async function requestMove(work: Work): Promise<void> {
  // The caller wants to see failures, so deferred work is retried.
  await takeUpAgain(work);
  await requestEffect(work, {
    task: moveClockTask,
    payload: {},
    key: `${moveClockTask}:${work.environmentId}`,
    assume: moveClockInDryRun,
  });
}

/** Ids from the next millisecond on sort after this move began: older records do not belong to it. Each move begins later. */
function momentAfter({ movedAt }: StoredClock): number {
  return Math.max(Date.now(), movedAt ?? 0) + 1;
}

async function untilBegun(movedAt: number | null): Promise<void> {
  while (movedAt !== null && Date.now() <= movedAt) await sleep(1);
}

/** The clock, and the work done since it was last set. */
export async function readMovedClock(work: Work, others: readonly ClockOfCell[]): Promise<MovedClock> {
  const { movedAt } = await readClock(work);
  const here = await countWorkSince(work, movedAt ?? Date.now());
  const addUp = (sum: ClockWork, { work: there }: ClockOfCell): ClockWork => ({
    periodsRenewed: sum.periodsRenewed + there.periodsRenewed,
    subscriptionsCanceled: sum.subscriptionsCanceled + there.subscriptionsCanceled,
    invoicesCreated: sum.invoicesCreated + there.invoicesCreated,
    paymentsSucceeded: sum.paymentsSucceeded + there.paymentsSucceeded,
    paymentsFailed: sum.paymentsFailed + there.paymentsFailed,
    creditsExpired: sum.creditsExpired + there.creditsExpired,
    eventsCreated: sum.eventsCreated + there.eventsCreated,
  });
  return { testClock: await getTestClock(work), work: others.reduce(addUp, here) };
}

/**
 * Moves the clock of an environment to its target with all work due on the way. Does nothing if it has arrived. Refuses
 * with `testClockMoving` when the time is up: the queue continues it. Home then has the other cells follow, so none is ahead of it.
 */
export async function moveClock(context: JobContext, environmentId: number): Promise<void> {
  const failure = await moveClockHere(context, environmentId).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  const { cells } = (context.services ?? {}) as WithCells;
  const isDone = cells === undefined || (await haveOthersFollow(context, cells, environmentId));
  if (failure !== null) throw failure.error;
  if (!isDone) await moveClock(context, environmentId);
}

async function moveClockHere(context: JobContext, environmentId: number): Promise<void> {
  const before = await runInJob(context, environmentId, readClock);
  if (before === null || before.target === null) return;
  await untilBegun(before.movedAt);
  await scheduleAddedIntervals(inTransactions(context, environmentId));
  const { finished } = await doDueWork(context, environmentId, { forMs: longestMoveMs }).catch((error: unknown) => {
    throw onlyProblem(error) ?? error;
  });
  if (finished) return;
  const { now, target } = (await runInJob(context, environmentId, readClock)) ?? before;
  throw new Problem('testClockMoving', { now: now ?? before.target, target: target ?? before.target });
}

/**
 * Has the other cells follow, if this is home. Each moves with a job of its own, so one that does not respond delays none of the others.
 * Returns whether it had arrived.
 */
async function haveOthersFollow(context: JobContext, cells: Cells, environmentId: number): Promise<boolean> {
  await cells.refresh();
  const others = cells.others() ?? [];
  const read = async (work: Work) => ((await isAtHome(work)) ? readClock(work) : null);
  const clock = others.length === 0 ? null : await runInJob(context, environmentId, read);
  if (clock?.now == null || clock.movedAt === null) return true;
  if (clock.target !== null) return false;
  const { now: to, movedAt } = clock;
  const follow = async (name: string) => {
    const database = await cells.open(name);
    await runInJob({ ...context, database }, environmentId, (work) => followHome(work, { to, movedAt }));
  };
  const followed = await Promise.allSettled(others.map(follow));
  for (const each of followed) if (each.status === 'rejected') throw onlyProblem(each.reason) ?? each.reason;
  return true;
}

/** Jobs that schedule subscriptions by intervals that were added may not have run. They are done, so that the clock passes no bill. */
async function scheduleAddedIntervals(runner: DueWorkRunner): Promise<void> {
  const { answer: models } = await runner.act(listModelsToSchedule);
  for (const pricingModelId of models)
    for (let after: string | null = ''; after !== null; ) {
      const from: string = after;
      after = (await runner.act((work) => scheduleInterims(work, pricingModelId, from))).answer;
    }
}

/** The first of the failures if the caller can act on each: a payment processor that does not respond, for example. */
function onlyProblem(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  const problems = error instanceof AggregateError ? error.errors.map(onlyProblem) : [];
  return problems.includes(null) ? null : (problems[0] ?? null);
}

async function moveClockInDryRun(work: Work): Promise<void> {
  const { movedAt } = await readClock(work);
  await untilBegun(movedAt);
  const runner = insideDryRun(work);
  await scheduleAddedIntervals(runner);
  const { finished } = await doDueWorkAt(runner, work.environmentId, { forMs: longestMoveMs });
  if (!finished)
    throw invalid(['testClock', 'now'], 'is too far in the future for a dry run, which does all the work at once');
}
