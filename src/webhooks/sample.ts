import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { type EventObject, type EventPayload, EventType, eventMeanings } from './event.ts';

/** The options of a sample message. */
export const SampleRequest = z.object({
  type: EventType.default('customer.created').meta({ description: 'The event type of the sample.' }),
});

// Recognizable as samples: real ids end in 21 random characters.
const sampleIds: Readonly<Record<EventObject, string>> = {
  customer: 'cust_sample',
  payment: 'pym_sample',
  purchase: 'purchase_sample',
  subscription: 'sub_sample',
  checkoutSession: 'chckt_session_sample',
  creditNote: 'cn_sample',
  invoice: 'inv_sample',
  paymentMethod: 'pm_sample',
};

const sampleLimit = {
  id: 'spend_limit_sample',
  setBy: 'seller',
  subscriptionId: null,
  usageMeterId: null,
  label: null,
  period: 'day',
  unit: 'units',
  amount: 100,
  action: 'block',
  threshold: 100,
  usedAmount: 100,
  resetsAt: null,
} as const;

/** The varying parts of a sample. */
interface SampleMaking {
  readonly type: EventType;
  /** A new event id; the sample's id is marked as a sample. */
  readonly eventId: string;
  readonly pricingModelId: string;
  readonly occurredAt: Instant;
  readonly livemode: boolean;
}

/** The payload of a fictitious event of this type, about records that do not exist. */
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
    ...(type === 'attempts.limit_reached' ? { attempts: { kind: 'payment', scope: 'link' } as const } : {}),
    ...(type === 'refund.created' ? { refund: { id: 'refund_sample', amount: 100 } } : {}),
    ...(type === 'usage_threshold.reached' ? { spendLimit: { ...sampleLimit, threshold: 80, usedAmount: 80 } } : {}),
    ...(type === 'spend_limit.reached' ? { spendLimit: sampleLimit } : {}),
    customer: { id: sampleIds.customer, externalId: 'sample' },
    pricingModelId,
    type,
    eventId: eventId.replace(/^event_/, 'event_sample_'),
    occurredAt,
    livemode,
    data: null,
  };
}
