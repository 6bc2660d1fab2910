import { instantFilter, textFilter } from '../kernel/pagination.ts';
import { EventObject, EventType } from './event.ts';

/** The filters of an event list. */
export const eventFilters = {
  type: EventType.optional(),
  object: EventObject.optional(),
  objectId: textFilter,
  occurredAtFrom: instantFilter.meta({ description: 'Events that occurred at this instant or later.' }),
  occurredAtTo: instantFilter.meta({ description: 'Events that occurred before this instant.' }),
};
