import { z } from 'zod';
import { calendarEnd, calendarStart, type Instant } from '../kernel/calendar.ts';
import { Timestamp } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';

/** The time of an environment as clients see it. */
export const TestClock = z
  .object({
    now: Timestamp.meta({ description: "The environment's time, in epoch milliseconds." }),
    frozen: z.boolean().meta({ description: 'True once the clock was set: time stands still until it is moved.' }),
  })
  .meta({ id: 'TestClock' });
export type TestClock = z.infer<typeof TestClock>;

/** The test clock as it is stored. */
export interface StoredClock {
  /** Null: the environment uses real time. */
  readonly now: Instant | null;
  /** The target of a move; null when the clock is not moving. */
  readonly target: Instant | null;
  /** The instant at which the last move began. */
  readonly from: Instant | null;
  /** The real time at which the last move began. */
  readonly movedAt: Instant | null;
}

/** The caller that wants to move the clock. */
interface ClockCaller {
  readonly livemode: boolean;
  readonly pinnedTo: string | null;
  /** The environment's time. */
  readonly now: Instant;
}

/**
 * Decides a request to move the clock to an instant:
 * - `set` it directly, when nothing can become due in between;
 * - start to `move` it;
 * - `extend` a move in progress to the later instant.
 *
 * Refuses live mode, a key that is pinned to a pricing model, unsupported instants, and moving back.
 */
export function decideClock(
  clock: StoredClock,
  to: Instant,
  { livemode, pinnedTo, now }: ClockCaller,
  hasSubscriptions: boolean,
): 'set' | 'move' | 'extend' {
  if (livemode) throw new Problem('testClockInLiveMode');
  if (pinnedTo !== null) throw new Problem('outsidePinnedPricingModel');
  if (!Number.isSafeInteger(to) || to < calendarStart || to >= calendarEnd)
    throw invalid(['testClock', 'now'], 'must be in the years -271820 to 275759');
  if (!hasSubscriptions) return 'set';
  const earliest = Math.max(now, clock.target ?? now);
  if (to < earliest) throw new Problem('testClockBackwards', { now: earliest });
  return clock.target === null ? 'move' : 'extend';
}
