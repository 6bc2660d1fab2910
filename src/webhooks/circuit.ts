import type { Instant } from '../kernel/calendar.ts';

/**
 * The circuit breaker of an endpoint. Closed: messages are sent. Open: it waits until `openUntil`, then one message
 * probes the endpoint.
 */
export interface Circuit {
  /** Consecutive failures. */
  readonly failuresInARow: number;
  readonly openUntil: Instant | null;
}

export const closedCircuit: Circuit = { failuresInARow: 0, openUntil: null };

// A few failures may be caused by a few messages. An endpoint that accepts none gets longer and longer pauses.
const failuresToOpen = 5;
const shortestPauseMs = 5_000;
const longestPauseMs = 5 * 60_000;

/** The circuit after an attempt that ended at `at`. `askedMs` is a pause requested by the endpoint. */
export function circuitAfter(circuit: Circuit, succeeded: boolean, at: Instant, askedMs = 0): Circuit {
  if (succeeded) return closedCircuit;
  const { failuresInARow, openUntil } = afterFailure(circuit, at);
  const askedUntil = askedMs === 0 ? 0 : at + Math.min(askedMs, longestPauseMs);
  return { failuresInARow, openUntil: Math.max(openUntil ?? 0, askedUntil) || null };
}

function afterFailure(circuit: Circuit, at: Instant): Circuit {
  const { failuresInARow, openUntil } = circuit;
  // Attempts that were in flight when it opened add no information.
  if (openUntil !== null && at < openUntil) return circuit;
  const failures = failuresInARow + 1;
  if (failures < failuresToOpen) return { failuresInARow: failures, openUntil: null };
  const pauseMs = Math.min(shortestPauseMs * 2 ** Math.min(failures - failuresToOpen, 16), longestPauseMs);
  return { failuresInARow: failures, openUntil: at + pauseMs };
}

/** The number of messages that may be in flight to an endpoint at `now`, up to `most`. */
export function slotsOf({ failuresInARow, openUntil }: Circuit, now: Instant, most: number): number {
  if (openUntil !== null && now < openUntil) return 0;
  return failuresInARow >= failuresToOpen ? 1 : most;
}
