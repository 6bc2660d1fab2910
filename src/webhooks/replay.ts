import { z } from 'zod';
import { TimestampInput } from '../kernel/json.ts';
import { EventType, eventTypes } from './event.ts';

/**
 * The maximum number of events per replay: an endpoint accepts them within minutes, and one commit writes them within a
 * second.
 */
export const maxReplayed = 10_000;

/** The selection of events to send again. */
export const ReplayRequest = z.object({
  since: TimestampInput.meta({
    description: 'Events that happened at this instant or later. Epoch milliseconds or ISO 8601.',
  }),
  until: TimestampInput.optional().meta({
    description: 'Events that happened before this instant; until now when absent.',
  }),
  types: z
    .array(EventType)
    .min(1, 'must contain a type, or be omitted to send all types that the webhook subscribes to')
    .max(eventTypes.length * 2)
    .optional()
    .meta({ description: "Events of these types; those that the webhook's filter lets through when absent." }),
  onlyFailed: z
    .boolean()
    .default(false)
    .meta({ description: 'Only those whose delivery to this webhook was given up.' }),
});
export type ReplayRequest = z.output<typeof ReplayRequest>;
