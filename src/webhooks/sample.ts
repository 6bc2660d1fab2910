import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { type EventObject, type EventPayload, EventType, eventMeanings } from './event.ts';

/** What of a sample message can be chosen. */
export const SampleRequest = z.object({
  type: EventType.default('customer.created').meta({ description: 'The event type of the sample.' }),
});

// Nobody takes these for ids of records: real ones end in 21 characters of chance and time.
const sampleIds: Readonly<Record<EventObject, string>> = {
  customer: 'cust_sample',
  payment: 'pym_sample',
  purchase: 'purchase_sample',
  subscription: 'sub_sample',
};

/** What makes one sample differ from another. */
export interface SampleMaking {
  readonly type: EventType;
  /** A new id of an event; the sample's says of itself that it is none. */
  readonly eventId: string;
  readonly pricingModelId: string;
  readonly occurredAt: Instant;
  readonly livemode: boolean;
}

/** The payload of an event of that type that did not happen, to records that do not exist. */
export function samplePayload({
  type,
  eventId,
  pricingModelId,
  occurredAt,
  livemode,
}: SampleMaking): z.infer<typeof EventPayload> {
  const { object } = eventMeanings[type];
  return {
    id: sampleIds[object],
    object,
    ...(type === 'usage_balance.low' ? { usageMeterId: 'usage_meter_sample' } : {}),
    customer: { id: sampleIds.customer, externalId: 'sample' },
    pricingModelId,
    type,
    eventId: eventId.replace(/^event_/, 'event_sample_'),
    occurredAt,
    livemode,
  };
}
