import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { Timestamp } from '../kernel/json.ts';
import { customerFilters, instantFilter, textFilter } from '../kernel/pagination.ts';
import { ReachedSpendLimit } from '../spend-controls/spend-limit.ts';

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
 * Every type of event. A later type is sent only to webhooks that name it, so that it surprises no existing receiver.
 */
export const eventTypes = [
  ...defaultEventTypes,
  'usage_balance.low',
  'usage_threshold.reached',
  'spend_limit.reached',
  'auto_top_up.action_required',
  'auto_top_up.stopped',
  'auto_top_up.limit_reached',
  'customer.erased',
  'attempts.limit_reached',
  'credit_note.created',
  'credit_note.settled',
  'credit_note.voided',
  'invoice.sent',
  'invoice.created',
  'invoice.finalized',
  'invoice.paid',
  'invoice.payment_failed',
  'invoice.overdue',
  'invoice.voided',
  'invoice.uncollectible',
  'refund.created',
  'subscription.trial_will_end',
  'payment_method.expiring',
  'payment.action_required',
] as const;
export const EventType = z.enum(eventTypes).meta({ id: 'EventType' });
export type EventType = z.infer<typeof EventType>;

export const EventObject = z
  .enum([
    'customer',
    'payment',
    'purchase',
    'subscription',
    'checkoutSession',
    'creditNote',
    'invoice',
    'paymentMethod',
  ])
  .meta({ id: 'EventObject' });
export type EventObject = z.infer<typeof EventObject>;

interface EventMeaning {
  /** The kind of the record that events of the type are about. */
  readonly object: EventObject;
  /** The occasion on which it is sent, for the document. */
  readonly description: string;
}

/** The meaning of each type of event. */
export const eventMeanings: Readonly<Record<EventType, EventMeaning>> = {
  'customer.created': { object: 'customer', description: 'Sent when a customer is created.' },
  'customer.updated': {
    object: 'customer',
    description: 'Sent when a field of a customer changes, and when the customer is archived.',
  },
  'purchase.completed': { object: 'purchase', description: 'Sent when a purchase is paid.' },
  'payment.failed': {
    object: 'payment',
    description:
      'Sent when a charge fails or is canceled, or when its money is taken back. Each attempt is a payment of its own.',
  },
  'payment.succeeded': {
    object: 'payment',
    description: 'Sent when a charge succeeds, and when a payment is recorded by hand.',
  },
  'subscription.created': {
    object: 'subscription',
    description: 'Sent when a subscription is created. A default plan is a subscription too.',
  },
  'subscription.updated': {
    object: 'subscription',
    description:
      'Sent when a field or item of a subscription changes. Creation and cancellation have their own events.',
  },
  'subscription.canceled': {
    object: 'subscription',
    description:
      'Sent when a subscription ends, whatever the cause. A free plan that a paid plan replaces causes no such event: the ' +
      'paid plan causes `subscription.created`.',
  },
  'usage_balance.low': {
    object: 'subscription',
    description:
      'Sent when the balance of a usage meter or credit pool falls below its threshold. It is about the subscription, with ' +
      '`usageMeterId`, or about the customer, with `creditPool`. Only webhooks that name the type receive it.',
  },
  'usage_threshold.reached': {
    object: 'customer',
    description:
      'Sent when the usage of a customer reaches a threshold of a spend limit: once for each threshold in each period of the ' +
      'limit, as long as its amount stays. `spendLimit` says which one. Only webhooks that name the type receive it.',
  },
  'spend_limit.reached': {
    object: 'customer',
    description:
      'Sent when the usage of a customer reaches the amount of a spend limit: once in each period of the limit, as long as ' +
      'its amount stays. `spendLimit` says which one. Only webhooks that name the type receive it.',
  },
  'auto_top_up.action_required': {
    object: 'customer',
    description:
      'Sent when the bank declines an automatic top-up because the customer has to confirm it: once for each purchase. The ' +
      'customer saves its card again in its portal. The purchase is tried again as after any failure. Only webhooks that name ' +
      'the type receive it.',
  },
  'auto_top_up.stopped': {
    object: 'customer',
    description:
      'Sent when the automatic top-up of a customer stops after three failed purchases. Only webhooks that name the type ' +
      'receive it.',
  },
  'auto_top_up.limit_reached': {
    object: 'customer',
    description:
      'Sent when the automatic top-up of a customer waits for the next month, because its maximum of this month allows no ' +
      'purchase: once in a month. Only webhooks that name the type receive it.',
  },
  'customer.erased': {
    object: 'customer',
    description:
      'Sent when the personal data of a customer is erased, so that receivers erase their copies. It names the customer ' +
      'by its `id`, which is its external id from then on. Only webhooks that name the type receive it.',
  },
  'attempts.limit_reached': {
    object: 'checkoutSession',
    description:
      'Sent when the last failed attempt that is allowed is made, to pay or to enter a discount code: of a link, a ' +
      'customer, an address or the environment, as `attempts` says. It is about the checkout session or, outside of ' +
      'one, about the customer. Only webhooks that name the type receive it.',
  },
  'credit_note.created': {
    object: 'creditNote',
    description: 'Sent when part of an invoice is credited. Only webhooks that name the type receive it.',
  },
  'credit_note.settled': {
    object: 'creditNote',
    description:
      'Sent when the refund of a credit note has succeeded, or the invoice that it offsets is paid. Only webhooks that ' +
      'name the type receive it.',
  },
  'credit_note.voided': {
    object: 'creditNote',
    description:
      'Sent when a credit note is voided, also with its invoice or because its refund failed. Only webhooks that name ' +
      'the type receive it.',
  },
  'invoice.sent': {
    object: 'invoice',
    description:
      'Sent each time an invoice is sent to its customer on request. Only webhooks that name the type receive it.',
  },
  'invoice.created': {
    object: 'invoice',
    description: 'Sent when an invoice is made, as a draft or open. Only webhooks that name the type receive it.',
  },
  'invoice.finalized': {
    object: 'invoice',
    description:
      'Sent when an invoice gets its number: after `invoice.created`, or when its draft is finalized. Only webhooks that ' +
      'name the type receive it.',
  },
  'invoice.paid': {
    object: 'invoice',
    description:
      'Sent when nothing of an invoice is due any more: by payments, the balance of the customer or credit notes, or ' +
      'because its total is 0. One whose payment was taken back may be paid again. Only webhooks that name the type ' +
      'receive it.',
  },
  'invoice.payment_failed': {
    object: 'invoice',
    description:
      'Sent for each payment of an invoice that fails, is canceled, or is taken back. Only webhooks that name the type ' +
      'receive it.',
  },
  'invoice.overdue': {
    object: 'invoice',
    description:
      'Sent once, when an invoice is open at its due date, but no earlier than a day after its date: one that is due ' +
      'at once is charged first. Only webhooks that name the type receive it.',
  },
  'invoice.voided': {
    object: 'invoice',
    description: 'Sent when an invoice is voided. Only webhooks that name the type receive it.',
  },
  'invoice.uncollectible': {
    object: 'invoice',
    description: 'Sent when an invoice is written off. Only webhooks that name the type receive it.',
  },
  'refund.created': {
    object: 'payment',
    description:
      'Sent when a payment is refunded in full or in part, by a request, a credit note, or at the processor. It is about ' +
      'the payment; `refund` names the refund. Only webhooks that name the type receive it.',
  },
  'subscription.trial_will_end': {
    object: 'subscription',
    description:
      'Sent three days before a trial ends, or at its start if it is shorter; once for each date on which it ends. Only ' +
      'webhooks that name the type receive it.',
  },
  'payment_method.expiring': {
    object: 'paymentMethod',
    description:
      'Sent once for a card, when the month begins at whose end it expires, in UTC. Only webhooks that name the type ' +
      'receive it.',
  },
  'payment.action_required': {
    object: 'payment',
    description:
      'Sent once for a payment that still waits an hour after it was requested: its customer has not confirmed it to ' +
      'the bank. Only webhooks that name the type receive it.',
  },
};

/** The documentation of the record in a payload. */
export const recordDescription =
  'The record after the change, as the API answered it then. It may have changed since. Null in samples, for a ' +
  'record above 256 KiB, and after the customer was erased.';

/** The signed payload of a webhook. */
export const EventPayload = z
  // Fields may be added later.
  .looseObject({
    id: z.string().meta({ description: 'The id of the record that the event is about.' }),
    object: z.string().meta({ description: 'The type of that record.' }),
    usageMeterId: z.string().optional().meta({ description: 'The usage meter, in events about a balance.' }),
    creditPool: z.object({ id: z.string(), availableBalance: z.string() }).optional().meta({
      description: 'The credit pool and its balance then, a decimal text, in events about a balance of a pool.',
    }),
    attempts: z
      .object({
        kind: z.enum(['payment', 'discount_code']),
        scope: z.enum(['link', 'customer', 'network', 'environment']),
      })
      .optional()
      .meta({ description: 'The attempts whose limit was reached, in events about attempts.' }),
    refund: z
      .object({ id: z.string(), amount: z.int() })
      .optional()
      .meta({ description: 'The refund of the payment, in events about a refund.' }),
    spendLimit: ReachedSpendLimit.optional().meta({
      description: 'The limit and its threshold that was reached, in events about a spend limit.',
    }),
    customer: z.object({ id: z.string(), externalId: z.string() }).meta({
      description: 'The customer. For a checkout session without one, both are the id of the session.',
    }),
    pricingModelId: z.string(),
    type: EventType,
    eventId: EventId,
    occurredAt: Timestamp,
    livemode: z.boolean(),
    data: z.looseObject({ id: z.string() }).nullable().meta({ description: recordDescription }),
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

/** The filters of an event list. */
export const eventFilters = {
  ...customerFilters,
  type: EventType.optional(),
  object: EventObject.optional(),
  objectId: textFilter,
  occurredAtFrom: instantFilter.meta({ description: 'Events that occurred at this instant or later.' }),
  occurredAtTo: instantFilter.meta({ description: 'Events that occurred before this instant.' }),
};
