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
  /** Null: the environment's time is real time. */
  readonly now: Instant | null;
  /** Where it is being moved to; null when it is not. */
  readonly target: Instant | null;
  /** When the last move began, in real time. */
  readonly movedAt: Instant | null;
}

/** Who asks for the clock to be moved. */
export interface ClockAsker {
  readonly livemode: boolean;
  readonly pinnedPricingModelId: string | null;
  /** The environment's time. */
  readonly now: Instant;
}

/**
 * What asking for an instant comes to: the clock is `set`, because there is nothing that could come due on the way, or
 * it begins to `move`, or a move that is under way goes on (`extend`), to the later instant. Refuses live mode, whose
 * time is real, a key that sees a part of the environment only, instants that cannot be reckoned with, and going back.
 */
export function decideClock(
  clock: StoredClock,
  to: Instant,
  { livemode, pinnedPricingModelId, now }: ClockAsker,
  hasSubscriptions: boolean,
): 'set' | 'move' | 'extend' {
  if (livemode) throw new Problem('testClockInLiveMode');
  if (pinnedPricingModelId !== null) throw new Problem('outsidePinnedPricingModel');
  if (!Number.isSafeInteger(to) || to < calendarStart || to >= calendarEnd)
    throw invalid(['testClock', 'now'], 'must lie in the years -271820 to 275759');
  if (!hasSubscriptions) return 'set';
  const earliest = Math.max(now, clock.target ?? now);
  if (to < earliest) throw new Problem('testClockBackwards', { now: earliest });
  return clock.target === null ? 'move' : 'extend';
}
