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
    description: 'The first instant of the range, in epoch milliseconds or ISO 8601.',
  }),
  until: TimestampInput.optional().meta({
    description: 'The end of the range, which is not part of it. By default now.',
  }),
  types: z
    .array(EventType)
    .min(1, 'must contain a type, or be omitted to send all types that the webhook subscribes to')
    .max(eventTypes.length * 2)
    .optional()
    .meta({ description: 'The event types to send, by default those of the webhook.' }),
  onlyFailed: z
    .boolean()
    .default(false)
    .meta({ description: 'If true, only events are sent whose delivery to this webhook has failed for good.' }),
});
export type ReplayRequest = z.output<typeof ReplayRequest>;
