import type { Instant } from '../kernel/calendar.ts';
import { TimestampQuery } from '../kernel/json.ts';
import { instantFilter, textFilter } from '../kernel/page.ts';
import { invalid } from '../kernel/problem.ts';
import { EventObject, EventType } from './event.ts';

/** What a list of events may be narrowed by. */
export const eventFilters = {
  type: EventType.optional(),
  object: EventObject.optional(),
  objectId: textFilter,
  occurredAtFrom: instantFilter.meta({ description: 'Events that occurred at this instant or later.' }),
  occurredAtTo: instantFilter.meta({ description: 'Events that occurred before this instant.' }),
};

/** From `from` (in it) to `to` (not in it); null is an end that is open. */
export interface OccurredRange {
  readonly from: Instant | null;
  readonly to: Instant | null;
}

/** The range that the filters of a page request name, or null where any time will do. Refuses a range that is empty. */
export function toOccurredRange(filters: Readonly<Record<string, string | boolean>>): OccurredRange | null {
  const from = instantOf(filters.occurredAtFrom);
  const to = instantOf(filters.occurredAtTo);
  if (from !== null && to !== null && from >= to) throw invalid(['occurredAtTo'], 'must lie after occurredAtFrom');
  return from === null && to === null ? null : { from, to };
}

function instantOf(value: string | boolean | undefined): Instant | null {
  return typeof value === 'string' ? TimestampQuery.parse(value) : null;
}
