import type { Opening } from '../http/event-stream.ts';
import type { AuditLogRow } from './audit-entry.ts';

/** A change in the audit log: its entry, and the type of the record. */
export type Change = Pick<AuditLogRow, 'id' | 'record'>;

/** The part of a stream in one cell, as its request begins it. */
export interface Following extends Opening {
  readonly environmentId: number;
  /** The changes of the last minute, which are not news. */
  readonly recent: readonly string[];
  /** The types of records that changed since the last stream of the caller; null when they are not known. */
  readonly missed: readonly string[] | null;
}

/** The time that each look goes back. A change of a longer transaction waits for the next refresh. */
export const windowMs = 60_000;
/** The newest changes of an environment that one look reads. */
export const mostRecent = 2_000;
/** A change may be older than the position after which it is read, by the time of its transaction and of two clocks. */
export const overlapMs = 10_000;

/** The changes of one look that no look before has seen; null when some may have been missed. */
export function unseenOf(
  changes: readonly Change[],
  { seen, sinceLookMs }: { readonly seen: ReadonlySet<string>; readonly sinceLookMs: number },
): readonly Change[] | null {
  const unseen = changes.filter(({ id }) => !seen.has(id));
  const isMissing = sinceLookMs > windowMs - overlapMs || unseen.length >= mostRecent;
  return isMissing ? null : unseen;
}

/** Each type of record once, in alphabetical order. */
export function typesOf(changes: readonly Pick<Change, 'record'>[]): readonly string[] {
  return [...new Set(changes.map(({ record }) => record))].sort();
}

/**
 * A message of the stream. `records` are the types of records that changed; null when they are not known. Without either,
 * it only moves the position.
 */
export function messageOf(position: number, records?: readonly string[] | null): string {
  if (records === undefined) return `id: ${position}\n\n`;
  const event = records === null ? 'refresh' : 'changed';
  return `id: ${position}\nevent: ${event}\ndata: ${JSON.stringify(records === null ? {} : { records })}\n\n`;
}
