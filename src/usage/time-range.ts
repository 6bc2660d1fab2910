import type { Instant } from '../kernel/calendar.ts';

export const hourMs = 3_600_000;

/** The instant at which the hour of an instant begins. */
export function hourOf(at: Instant): Instant {
  return Math.floor(at / hourMs) * hourMs;
}

/** From `from` (in it) to `to` (not in it); null is an end that is open. */
export interface TimeRange {
  readonly from: Instant | null;
  readonly to: Instant | null;
}

/** A range as roll-ups can answer it: whole hours, and what is left of it at its ends. */
export interface SplitRange {
  /** Null where the range holds no whole hour. */
  readonly hours: TimeRange | null;
  /** Two at most, each in one hour. */
  readonly edges: readonly { readonly from: Instant; readonly to: Instant }[];
}

/** Splits a range that is not empty into its whole hours and its ends. Together they tile it. */
export function splitAtHours({ from, to }: TimeRange): SplitRange {
  const first = from === null ? null : hourOf(from + hourMs - 1);
  const last = to === null ? null : hourOf(to);
  // Both ends in one hour: nothing of it is whole.
  if (from !== null && to !== null && first !== null && last !== null && first > last)
    return { hours: null, edges: [{ from, to }] };
  const edges: { from: Instant; to: Instant }[] = [];
  if (from !== null && first !== null && from < first) edges.push({ from, to: first });
  if (to !== null && last !== null && last < to) edges.push({ from: last, to });
  const hasHours = first === null || last === null || first < last;
  return { hours: hasHours ? { from: first, to: last } : null, edges };
}
