import { z } from 'zod';
import type { OutgoingMessage } from '../http/openapi.ts';
import { maxAttempts } from './delivery.ts';
import { EventPayload, type EventType, eventMeanings, eventTypes } from './event.ts';

const id = z.string().meta({ description: "The event's id, the same at every attempt: handle each id once." });
const timestamp = z.string().regex(/^\d+$/).meta({ description: 'When this attempt was signed: epoch seconds.' });
const signature = z.string().meta({
  description:
    'For each valid secret `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`, divided by blanks. While a ' +
    'secret is being replaced there are two: accept the message when one of them is right.',
});
const sameAs = (name: string) => z.string().meta({ description: `The same as ${name}.` });

/** The headers of a message, beside those of HTTP. */
const MessageHeaders = z.object({
  'webhook-id': id,
  'webhook-timestamp': timestamp,
  'webhook-signature': signature,
  'svix-id': sameAs('webhook-id'),
  'svix-timestamp': sameAs('webhook-timestamp'),
  'svix-signature': sameAs('webhook-signature'),
});

/** The effect of a receiver's response on the delivery. */
const answers: OutgoingMessage['answers'] = [
  { status: '2XX', description: 'The message was received: it is not sent again. Answer within 15 seconds.' },
  { status: '3XX', description: 'A failure: redirects are not followed. The message is sent again.' },
  { status: '410', description: 'The receiver is gone for good: the webhook is switched off.' },
  {
    status: 'default',
    description:
      `A failure: the message is sent again, ${maxAttempts} times in all over three days, and not sooner than ` +
      '`Retry-After` says, where it does.',
  },
];

const promise =
  'The payload is thin: read the record for more. It belongs to version 1 of the API, in which fields are only ever added ' +
  'to it; none is renamed, removed or given another meaning. So ignore those that you do not know.';

/** The payload of an event of this type. */
export function payloadOf(type: EventType) {
  const { object } = eventMeanings[type];
  const name = type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const meter = type === 'usage_balance.low' ? { usageMeterId: EventPayload.shape.usageMeterId.unwrap() } : {};
  return EventPayload.extend({ type: z.literal(type), object: z.literal(object), ...meter }).meta({
    id: `${name}Payload`,
  });
}

/** Every message that a webhook may receive. */
export const eventMessages: readonly OutgoingMessage[] = eventTypes.map((type) => ({
  name: type,
  summary: type,
  description: `${eventMeanings[type].told} ${promise}`,
  tag: 'Webhooks',
  headers: MessageHeaders,
  body: payloadOf(type),
  answers,
}));
