import type { Work } from '../database/work.ts';
import type { TestClock } from './clock.ts';
import { readClock } from './store-clock.ts';

/** The environment's time, and whether the clock is frozen. */
export async function getTestClock(work: Work): Promise<TestClock> {
  const { now } = await readClock(work);
  return { now: now ?? work.now, frozen: now !== null };
}
