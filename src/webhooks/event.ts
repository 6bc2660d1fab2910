import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { Timestamp } from '../kernel/json.ts';

export const EventId = idSchema('event');

/** The types of events that a webhook receives that names none. */
export const defaultEventTypes = [
  'customer.created',
  'customer.updated',
  'purchase.completed',
  'payment.failed',
  'payment.succeeded',
  'subscription.created',
  'subscription.updated',
  'subscription.canceled',
] as const;
/**
 * Every type of event that is told. What came later is sent only where it is named, so that it surprises nobody who knows
 * the others.
 */
export const eventTypes = [...defaultEventTypes, 'usage_balance.low'] as const;
export const EventType = z.enum(eventTypes).meta({ id: 'EventType' });
export type EventType = z.infer<typeof EventType>;

/** What a webhook receives and signs for: thin, so a receiver that needs more reads the record. */
export const EventPayload = z
  .object({
    id: z.string().meta({ description: 'The id of the record that the event is about.' }),
    object: z.string().meta({ description: 'The kind of that record.' }),
    usageMeterId: z.string().optional().meta({ description: 'The meter of it that the event is about, if it is.' }),
    customer: z.object({ id: z.string(), externalId: z.string() }),
    pricingModelId: z.string(),
    type: EventType,
    eventId: EventId,
    occurredAt: Timestamp,
    livemode: z.boolean(),
  })
  .meta({ id: 'EventPayload' });

/** Something that happened to a record. Each occurrence is an event of its own. */
export const Event = z
  .object({
    id: EventId,
    createdAt: Timestamp,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    type: EventType,
    object: z.string(),
    objectId: z.string(),
    occurredAt: Timestamp,
    payload: EventPayload,
  })
  .meta({ id: 'Event' });
export type Event = z.infer<typeof Event>;
