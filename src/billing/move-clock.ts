import { setTimeout as sleep } from 'node:timers/promises';
import type { Work } from '../database/work.ts';
import { type JobContext, requestEffect, runInJob } from '../jobs/queue.ts';
import type { Instant } from '../kernel/calendar.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { getTestClock } from '../organizations/actions.ts';
import { decideClock, type TestClock } from '../organizations/clock.ts';
import { lockClock, readClock, saveClock } from '../organizations/store-clock.ts';
import { hasSubscriptions, takeUpAgain } from '../subscriptions/store-due.ts';
import { doDueWork, doDueWorkAt } from './do-due-work.ts';
import { insideDryRun } from './due-work-runner.ts';
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

/**
 * Freezes the environment's time at an instant, or moves it there. Work due on the way is done after the commit in many
 * transactions, and the request waits for it. A concurrent request waits for that work too and reports it. Refuses what
 * `decideClock` refuses.
 */
export async function setTestClock(work: Work, to: Instant): Promise<MovedClock> {
  const clock = await lockClock(work);
  const now = clock.now ?? work.now;
  const { livemode, pinnedTo } = work;
  const decision = decideClock(clock, to, { livemode, pinnedTo, now }, await hasSubscriptions(work));
  const begun = { clockFrom: decision === 'set' ? to : now, clockMovedAt: nextMillisecond() };
  switch (decision) {
    case 'set':
      await saveClock(work, { ...begun, clockNow: to, clockTarget: null });
      return readMovedClock(work);
    case 'move':
      await saveClock(work, { ...begun, clockNow: now, clockTarget: to });
      break;
    case 'extend':
      await saveClock(work, { clockTarget: to });
      break;
    default:
      decision satisfies never;
  }
  // The caller wants to see failures, so deferred work is retried.
  await takeUpAgain(work);
  await requestEffect(work, {
    task: moveClockTask,
    payload: {},
    key: `${moveClockTask}:${work.environmentId}`,
    assume: moveClockInDryRun,
  });
  return readMovedClock(work);
}

/** Ids from the next millisecond on sort after this move began: older records do not belong to it. */
function nextMillisecond(): number {
  return Date.now() + 1;
}

async function untilBegun(movedAt: number | null): Promise<void> {
  while (movedAt !== null && Date.now() <= movedAt) await sleep(1);
}

/** The clock, and the work done since it was last set. */
export async function readMovedClock(work: Work): Promise<MovedClock> {
  const { movedAt } = await readClock(work);
  return { testClock: await getTestClock(work), work: await countWorkSince(work, movedAt ?? Date.now()) };
}

/**
 * Moves the clock of an environment to its target with all work due on the way. Does nothing if it has arrived. Refuses
 * with `testClockMoving` when the time is up: the queue continues it.
 */
export async function moveClock(context: JobContext, environmentId: number): Promise<void> {
  const before = await runInJob(context, environmentId, readClock);
  if (before === null || before.target === null) return;
  await untilBegun(before.movedAt);
  const { finished } = await doDueWork(context, environmentId, { forMs: longestMoveMs }).catch((error: unknown) => {
    throw onlyProblem(error) ?? error;
  });
  if (finished) return;
  const { now, target } = (await runInJob(context, environmentId, readClock)) ?? before;
  throw new Problem('testClockMoving', { now: now ?? before.target, target: target ?? before.target });
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
  const { finished } = await doDueWorkAt(insideDryRun(work), work.environmentId, { forMs: longestMoveMs });
  if (!finished)
    throw invalid(['testClock', 'now'], 'is too far in the future for a dry run, which does all the work at once');
}
