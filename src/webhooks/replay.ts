import { z } from 'zod';
import { TimestampInput } from '../kernel/json.ts';
import { EventType, eventTypes } from './event.ts';

/** The most events that one request sends again: what an endpoint takes in minutes, and one commit writes in a second. */
export const maxReplayed = 10_000;

/** Which events are to be sent again. */
export const ReplayRequest = z.object({
  since: TimestampInput.meta({
    description: 'The first instant of the range, in epoch milliseconds or ISO 8601.',
  }),
  until: TimestampInput.optional().meta({
    description: 'The end of the range, which is not part of it. By default now.',
  }),
  types: z
    .array(EventType)
    .min(1, 'must name a type, or be left out: then all that the webhook wants are sent')
    .max(eventTypes.length * 2)
    .optional()
    .meta({ description: 'The event types to send, by default those of the webhook.' }),
  onlyFailed: z
    .boolean()
    .default(false)
    .meta({ description: 'If true, only events are sent whose delivery to this webhook has failed for good.' }),
});
export type ReplayRequest = z.output<typeof ReplayRequest>;
