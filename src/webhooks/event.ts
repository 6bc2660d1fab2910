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

export const EventObject = z.enum(['customer', 'payment', 'purchase', 'subscription']).meta({ id: 'EventObject' });
export type EventObject = z.infer<typeof EventObject>;

interface EventMeaning {
  /** The kind of the record that events of the type are about. */
  readonly object: EventObject;
  /** When they are told, in a sentence. */
  readonly told: string;
}

/** What each type of event says. */
export const eventMeanings: Readonly<Record<EventType, EventMeaning>> = {
  'customer.created': { object: 'customer', told: 'A customer was created.' },
  'customer.updated': {
    object: 'customer',
    told: 'Something that is answered of a customer changed; archiving is one.',
  },
  'purchase.completed': { object: 'purchase', told: 'A purchase was paid for.' },
  'payment.failed': {
    object: 'payment',
    told: 'A charge failed, was called off, or its money was taken back. Each attempt is a payment of its own.',
  },
  'payment.succeeded': { object: 'payment', told: 'Money arrived: by a charge, or recorded by hand.' },
  'subscription.created': { object: 'subscription', told: 'A subscription was created; a default plan is one.' },
  'subscription.updated': {
    object: 'subscription',
    told: 'Something that is answered of a subscription changed, or its items did. Neither its creation nor its end is told so.',
  },
  'subscription.canceled': {
    object: 'subscription',
    told:
      'A subscription ended, whoever ended it. A free plan that a paid one takes the place of is not told of: the creation ' +
      'of the paid one is.',
  },
  'usage_balance.low': {
    object: 'subscription',
    told: 'The balance of a meter fell below its threshold. Sent only to webhooks that name it.',
  },
};

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
