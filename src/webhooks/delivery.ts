import assert from 'node:assert/strict';
import { Webhook as Signer } from 'standardwebhooks';
import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { Timestamp } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';

export const DeliveryStatus = z.enum(['pending', 'succeeded', 'failed']).meta({ id: 'WebhookDeliveryStatus' });
export type DeliveryStatus = z.infer<typeof DeliveryStatus>;

/** One event on its way to one webhook. Its instants are real time, whatever the test clock says. */
export const WebhookDelivery = z
  .object({
    id: idSchema('webhookDelivery'),
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    webhookId: z.string(),
    eventId: z.string(),
    status: DeliveryStatus,
    attempts: z.int().meta({ description: 'How often the event was sent.' }),
    nextAttemptAt: Timestamp.nullable(),
    lastAttemptAt: Timestamp.nullable(),
    lastStatusCode: z.int().nullable().meta({ description: 'What the endpoint answered; null when it did not.' }),
    lastError: z.string().nullable().meta({ description: 'Why the last attempt failed.' }),
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;

const seconds = 1000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

// Standard Webhooks' own schedule: a restart is bridged in seconds, a weekend's outage in three days.
export const retryDelaysMs = [
  5 * seconds,
  5 * minutes,
  30 * minutes,
  2 * hours,
  5 * hours,
  10 * hours,
  14 * hours,
  20 * hours,
  24 * hours,
] as const;
/** The first attempt and its repetitions. */
export const maxAttempts = 1 + retryDelaysMs.length;

/** How an endpoint took a message: the status that it answered, or why there is no answer. */
export type EndpointAnswer = { readonly statusCode: number } | { readonly failure: string };

/** What an attempt leaves behind in its delivery. */
export interface AttemptOutcome {
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly nextAttemptAt: Instant | null;
  readonly lastAttemptAt: Instant;
  readonly lastStatusCode: number | null;
  readonly lastError: string | null;
}

/** After attempt number `attempt` (1 is the first), made at `at`: done, once more later, or given up. */
export function decideAfterAttempt(attempt: number, answer: EndpointAnswer, at: Instant): AttemptOutcome {
  assert(attempt >= 1 && attempt <= maxAttempts);
  const lastStatusCode = 'statusCode' in answer ? answer.statusCode : null;
  const made = { attempts: attempt, lastAttemptAt: at, lastStatusCode };
  const lastError = errorOf(answer);
  if (lastError === null) return { ...made, status: 'succeeded', nextAttemptAt: null, lastError };
  const delayMs = retryDelaysMs[attempt - 1];
  if (delayMs === undefined) return { ...made, status: 'failed', nextAttemptAt: null, lastError };
  return { ...made, status: 'pending', nextAttemptAt: at + delayMs, lastError };
}

/** A redirect is a failure too: the address that was registered is the only one that may receive the event. */
function errorOf(answer: EndpointAnswer): string | null {
  if ('failure' in answer) return answer.failure;
  const accepted = answer.statusCode >= 200 && answer.statusCode < 300;
  return accepted ? null : `The endpoint answered ${answer.statusCode}.`;
}

/**
 * The headers that let a receiver know the sender: id, time and signature of Standard Webhooks, and the same under
 * Svix's names. `messageId` is the same for every attempt, so that a receiver can tell a repetition.
 */
export function signedHeaders(secret: string, messageId: string, body: string, at: Instant): Record<string, string> {
  const signature = new Signer(secret).sign(messageId, new Date(at), body);
  const timestamp = String(Math.floor(at / seconds));
  return {
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
    'svix-id': messageId,
    'svix-timestamp': timestamp,
    'svix-signature': signature,
  };
}
