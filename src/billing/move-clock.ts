import { setTimeout as sleep } from 'node:timers/promises';
import type { Work } from '../database/work.ts';
import { type JobContext, requestEffect, runInJob } from '../jobs/queue.ts';
import type { Instant } from '../kernel/calendar.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { getTestClock } from '../organizations/actions-clock.ts';
import { decideClock, type TestClock } from '../organizations/clock.ts';
import { lockClock, readClock, saveClock } from '../organizations/store-clock.ts';
import { hasSubscriptions, takeUpAgain } from '../subscriptions/store-due.ts';
import { doDueWork, doDueWorkAt } from './do-due-work.ts';
import { insideDryRun } from './due-work-runner.ts';
import { type ClockWork, countWorkSince } from './store-clock-work.ts';

/** The task that does the work which the clock has to pass. */
export const moveClockTask = 'move_clock';

// A request waits no longer: many clients give up after five minutes. Years of thousands of subscriptions take less.
const longestMoveMs = 4 * 60_000;

/** The clock after it was set, and what was done on the way. */
export interface MovedClock {
  readonly testClock: TestClock;
  readonly work: ClockWork;
}

/**
 * Freezes the environment's time at an instant, or moves it there. What comes due on the way is done after the commit,
 * in many transactions, and the request waits for it. Who asks while the clock is being moved waits for that work too,
 * which counts as his. Refuses what `decideClock` refuses.
 */
export async function setTestClock(work: Work, to: Instant): Promise<MovedClock> {
  const clock = await lockClock(work);
  const now = clock.now ?? work.now;
  const { livemode, pinnedPricingModelId } = work;
  const decision = decideClock(clock, to, { livemode, pinnedPricingModelId, now }, await hasSubscriptions(work));
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
  // Who moves the clock wants to know what fails, so it is tried again.
  await takeUpAgain(work);
  await requestEffect(work, {
    task: moveClockTask,
    payload: {},
    key: `${moveClockTask}:${work.environmentId}`,
    assume: moveClockInDryRun,
  });
  return readMovedClock(work);
}

/** What is made from the next millisecond on has an id that says so: older records are none of the move. */
function nextMillisecond(): number {
  return Date.now() + 1;
}

async function untilBegun(movedAt: number | null): Promise<void> {
  while (movedAt !== null && Date.now() <= movedAt) await sleep(1);
}

/** The clock, and what was done since it was last set. */
export async function readMovedClock(work: Work): Promise<MovedClock> {
  const { movedAt } = await readClock(work);
  return { testClock: await getTestClock(work), work: await countWorkSince(work, movedAt ?? Date.now()) };
}

/**
 * Takes the clock of an environment where it is being moved to, with all the work that is due on the way. Nothing to do
 * where it is there. Refuses with `testClockMoving` when the time for it is up: the queue goes on with it.
 */
export async function moveClock(context: JobContext, environmentId: number): Promise<void> {
  const before = await runInJob(context, environmentId, readClock);
  if (before === null || before.target === null) return;
  await untilBegun(before.movedAt);
  const { finished } = await doDueWork(context, environmentId, { forMs: longestMoveMs });
  if (finished) return;
  const { now, target } = (await runInJob(context, environmentId, readClock)) ?? before;
  throw new Problem('testClockMoving', { now: now ?? before.target, target: target ?? before.target });
}

async function moveClockInDryRun(work: Work): Promise<void> {
  const { movedAt } = await readClock(work);
  await untilBegun(movedAt);
  const { finished } = await doDueWorkAt(insideDryRun(work), work.environmentId, { forMs: longestMoveMs });
  if (!finished)
    throw invalid(['testClock', 'now'], 'is too far in the future for a dry run, which does all the work at once');
}
