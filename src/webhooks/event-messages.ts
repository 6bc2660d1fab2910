import { z } from 'zod';
import { CheckoutSession } from '../checkout/checkout.ts';
import { CreditNote } from '../credit-notes/credit-note.ts';
import { Customer } from '../customers/customer.ts';
import type { OutgoingMessage } from '../http/openapi.ts';
import { Invoice } from '../invoicing/invoice.ts';
import { Payment } from '../payments/payment.ts';
import { PaymentMethod } from '../payments/payment-method.ts';
import { Purchase } from '../purchases/purchase.ts';
import { Subscription } from '../subscriptions/subscription.ts';
import { maxAttempts } from './delivery.ts';
import { EventPayload, type EventType, eventMeanings, eventTypes, recordDescription } from './event.ts';

const header = (name: string, description: string) => z.string().meta({ description, param: { id: name } });
const sameAs = (name: string, other: string) => header(name, `The same as ${other}.`);

/** The headers of a message, beside those of HTTP. */
const MessageHeaders = z.object({
  'webhook-id': header('webhook-id', 'The id of the event, the same in each attempt: process each id once.'),
  'webhook-timestamp': z
    .string()
    .regex(/^\d+$/)
    .meta({ description: 'The time of the signature, in epoch seconds.', param: { id: 'webhook-timestamp' } }),
  'webhook-signature': header(
    'webhook-signature',
    'One or more signatures, separated by spaces. Each is `v1,` and the base64 of HMAC-SHA256 over ' +
      '`<id>.<timestamp>.<body>`. While a secret is being replaced there are two: accept the message if either is valid.',
  ),
  'svix-id': sameAs('svix-id', 'webhook-id'),
  'svix-timestamp': sameAs('svix-timestamp', 'webhook-timestamp'),
  'svix-signature': sameAs('svix-signature', 'webhook-signature'),
});

/** The effect of a receiver's answer on a delivery. */
const answers: OutgoingMessage['answers'] = [
  {
    status: '2XX',
    name: 'MessageReceived',
    description: 'The receiver has the message, and it is not sent again. Answer within 15 seconds.',
  },
  {
    status: '3XX',
    name: 'MessageRedirected',
    description: 'The attempt has failed, because redirects are not followed. The message is sent again.',
  },
  { status: '410', name: 'ReceiverGone', description: 'The receiver no longer exists. The webhook is disabled.' },
  {
    status: 'default',
    name: 'MessageFailed',
    description:
      `The attempt has failed. The message is sent again, up to ${maxAttempts} times in total over three days. ` +
      'A `Retry-After` header delays the next attempt.',
  },
];

/** The record in the payload, by its kind: the same schema as in answers of the API. */
const records = {
  customer: Customer,
  payment: Payment,
  purchase: Purchase,
  subscription: Subscription,
  checkoutSession: CheckoutSession,
  creditNote: CreditNote,
  invoice: Invoice,
  paymentMethod: PaymentMethod,
};

/** The message of an event of this type. */
function payloadOf(type: EventType): z.ZodType {
  const { object } = eventMeanings[type];
  const id = `${type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Payload`;
  const { usageMeterId, creditPool, ...fields } = EventPayload.shape;
  const about = (kind: z.ZodType, record: z.ZodType, more: z.ZodRawShape = {}) => {
    const data = record.nullable().meta({ description: recordDescription });
    return EventPayload.extend({ type: z.literal(type), object: kind, ...more, data });
  };
  if (type === 'usage_balance.low')
    return z
      .union([
        about(z.literal(object), records[object], { usageMeterId: usageMeterId.unwrap() }),
        about(z.literal('customer'), Customer, { creditPool: creditPool.unwrap() }),
      ])
      .meta({ id });
  const isOfLimit = type === 'usage_threshold.reached' || type === 'spend_limit.reached';
  const spendLimit = isOfLimit ? { spendLimit: fields.spendLimit.unwrap() } : {};
  const refund = type === 'refund.created' ? { refund: fields.refund.unwrap() } : {};
  // Attempts outside of a checkout session are those of a customer.
  if (type === 'attempts.limit_reached') {
    const kind = z.enum([object, 'customer']);
    return about(kind, z.union([records[object], Customer]), { attempts: fields.attempts.unwrap() }).meta({ id });
  }
  return about(z.literal(object), records[object], { ...refund, ...spendLimit }).meta({ id });
}

/** Every message that a webhook may receive. */
export const eventMessages: readonly OutgoingMessage[] = eventTypes.map((type) => ({
  name: type,
  summary: type,
  description: eventMeanings[type].description,
  tag: 'Webhooks',
  headers: MessageHeaders,
  body: payloadOf(type),
  answers,
}));
