import type { Instant } from '../kernel/calendar.ts';

/** Whether an endpoint is being sent to. Closed: it is. Open: it waits until `openUntil`, then one message tries it. */
export interface Circuit {
  /** Attempts that failed since the last that succeeded. */
  readonly failuresInARow: number;
  readonly openUntil: Instant | null;
}

export const closedCircuit: Circuit = { failuresInARow: 0, openUntil: null };

// A few failures may be those of a few messages. An endpoint that takes none is left in peace for longer and longer.
const failuresToOpen = 5;
const shortestPauseMs = 5_000;
const longestPauseMs = 5 * 60_000;

/** The circuit after an attempt that ended at `at`. An endpoint may ask to be left alone for `askedMs`. */
export function circuitAfter(circuit: Circuit, succeeded: boolean, at: Instant, askedMs = 0): Circuit {
  if (succeeded) return closedCircuit;
  const { failuresInARow, openUntil } = afterFailure(circuit, at);
  const askedUntil = askedMs === 0 ? 0 : at + Math.min(askedMs, longestPauseMs);
  return { failuresInARow, openUntil: Math.max(openUntil ?? 0, askedUntil) || null };
}

function afterFailure(circuit: Circuit, at: Instant): Circuit {
  const { failuresInARow, openUntil } = circuit;
  // Those that were under way when it opened say nothing new.
  if (openUntil !== null && at < openUntil) return circuit;
  const failures = failuresInARow + 1;
  if (failures < failuresToOpen) return { failuresInARow: failures, openUntil: null };
  const pauseMs = Math.min(shortestPauseMs * 2 ** Math.min(failures - failuresToOpen, 16), longestPauseMs);
  return { failuresInARow: failures, openUntil: at + pauseMs };
}

/** How many messages may be under way to an endpoint at `now`, of at most `most`. */
export function slotsOf({ failuresInARow, openUntil }: Circuit, now: Instant, most: number): number {
  if (openUntil !== null && now < openUntil) return 0;
  return failuresInARow >= failuresToOpen ? 1 : most;
}
