import { Webhook as Signer } from 'standardwebhooks';
import { z } from 'zod';
import type { Instant } from '../kernel/calendar.ts';
import { idSchema } from '../kernel/id.ts';
import { Timestamp, TimestampInput } from '../kernel/json.ts';
import { stamps } from '../kernel/record.ts';
import { EventType, eventTypes } from './event.ts';

export const DeliveryStatus = z.enum(['pending', 'succeeded', 'failed']).meta({ id: 'WebhookDeliveryStatus' });
export type DeliveryStatus = z.infer<typeof DeliveryStatus>;

/** The delivery of one event to one webhook. Its instants are real time, whatever the test clock says. */
export const WebhookDelivery = z
  .object({
    id: idSchema('webhookDelivery'),
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    webhookId: z.string(),
    eventId: z.string().nullable().meta({ description: 'Null for a sample, which stands for no event.' }),
    eventType: EventType,
    objectId: z.string(),
    status: DeliveryStatus,
    attempts: z.int().meta({ description: 'The number of attempts.' }),
    nextAttemptAt: Timestamp.nullable(),
    lastAttemptAt: Timestamp.nullable(),
    lastStatusCode: z
      .int()
      .nullable()
      .meta({ description: "The status code of the endpoint's answer. Null if there was none." }),
    lastError: z.string().nullable().meta({ description: 'The reason why the last attempt failed.' }),
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;

/** One attempt at a delivery. */
export const WebhookAttempt = z
  .object({
    number: z.int().meta({ description: 'The number of the attempt, counted from 1.' }),
    startedAt: Timestamp,
    durationMs: z.int(),
    statusCode: z
      .int()
      .nullable()
      .meta({ description: "The status code of the endpoint's answer. Null if there was none." }),
    error: z.string().nullable().meta({ description: 'The reason why the attempt failed. Null if it succeeded.' }),
    answer: z.string().nullable().meta({
      description:
        "The first 2 KiB of the endpoint's answer; only its length where the address was allowed by default.",
    }),
  })
  .meta({ id: 'WebhookAttempt' });
export type WebhookAttempt = z.infer<typeof WebhookAttempt>;

const seconds = 1000;
const minutes = 60 * seconds;
const hours = 60 * minutes;

// The schedule of Standard Webhooks: it bridges a restart in seconds, and a weekend's outage in three days.
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
/** The first attempt and its retries. */
export const maxAttempts = 1 + retryDelaysMs.length;

// Random jitter of up to a tenth of the delay: messages that failed together are not retried together.
const jitterShare = 0.1;
// The maximum delay that an endpoint may request with Retry-After.
const longestRetryAfterMs = 24 * hours;

/** The state of a delivery before an attempt. */
interface DeliveryProgress {
  /** Attempts ever made. */
  readonly attempts: number;
  /** Failed attempts since the delivery was last started. */
  readonly failures: number;
  /** A sample is sent once. */
  readonly isSample: boolean;
}

/** The endpoint's response: its status, or the reason why there is none. */
export type EndpointAnswer =
  | { readonly statusCode: number; readonly retryAfter: string | null }
  | { readonly failure: string };

/** The state of a delivery after an attempt. */
export interface AttemptOutcome {
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly failures: number;
  readonly nextAttemptAt: Instant | null;
  readonly lastAttemptAt: Instant;
  readonly lastStatusCode: number | null;
  readonly lastError: string | null;
}

/**
 * Decides the state after an attempt that ended at `at`: succeeded, retry, or failed. `random` is in [0, 1). A
 * Retry-After header (RFC 9110, 10.2.3) is followed up to a day, but never shortens the schedule.
 */
export function decideAfterAttempt(
  { attempts, failures, isSample }: DeliveryProgress,
  answer: EndpointAnswer,
  at: Instant,
  random: number,
): AttemptOutcome {
  const lastStatusCode = 'statusCode' in answer ? answer.statusCode : null;
  const made = { attempts: attempts + 1, lastAttemptAt: at, lastStatusCode };
  const lastError = errorOf(answer);
  if (lastError === null) return { ...made, status: 'succeeded', failures, nextAttemptAt: null, lastError };
  const failed = { ...made, failures: failures + 1, lastError };
  const delayMs = retryDelaysMs[failures];
  if (isSample || isGone(answer) || delayMs === undefined) return { ...failed, status: 'failed', nextAttemptAt: null };
  const scheduledMs = Math.ceil(delayMs * (1 + random * jitterShare));
  const askedMs = 'retryAfter' in answer ? retryAfterMs(answer.retryAfter, at) : 0;
  return { ...failed, status: 'pending', nextAttemptAt: at + Math.max(scheduledMs, askedMs) };
}

/** The delay in a Retry-After header in ms from `at`: seconds or a date. 0 if it is invalid. */
function retryAfterMs(header: string | null, at: Instant): number {
  if (header === null) return 0;
  const requested = /^\d{1,9}$/.test(header) ? Number(header) * seconds : Date.parse(header) - at;
  return Number.isNaN(requested) ? 0 : Math.min(Math.max(requested, 0), longestRetryAfterMs);
}

/** The pause that a rate-limited or unavailable endpoint requests for all messages. */
export function pauseAskedMs(answer: EndpointAnswer, at: Instant): number {
  const isAboutAll = 'statusCode' in answer && (answer.statusCode === 429 || answer.statusCode === 503);
  return isAboutAll ? retryAfterMs(answer.retryAfter, at) : 0;
}

/** 410 Gone: the endpoint no longer exists and wants no more messages. */
function isGone(answer: EndpointAnswer): boolean {
  return 'statusCode' in answer && answer.statusCode === 410;
}

/**
 * The reason why an attempt failed, or null. A redirect is a failure too: only the registered address may receive the
 * event.
 */
export function errorOf(answer: EndpointAnswer): string | null {
  if ('failure' in answer) return answer.failure;
  const accepted = answer.statusCode >= 200 && answer.statusCode < 300;
  return accepted ? null : `The endpoint responded with ${answer.statusCode}.`;
}

/** The encryption context of a webhook's secret: it cannot be moved to another row. */
export function secretContext(environmentId: number, webhookId: string): string {
  return `webhook ${environmentId} ${webhookId}`;
}

/** The duration of uninterrupted failure after which an endpoint is deactivated. */
const longestFailureMs = 5 * 24 * hours;

/**
 * The reason to deactivate an endpoint after this response, or null. `failingSince` is the time of the first failed
 * attempt in a row.
 */
export function disablingReason(answer: EndpointAnswer, failingSince: Instant, at: Instant): string | null {
  if (errorOf(answer) === null) return null;
  if (isGone(answer)) return 'The endpoint responded with 410: it is permanently gone.';
  if (at - failingSince < longestFailureMs) return null;
  return `Every attempt has failed for five days. Last error: ${errorOf(answer)}`;
}

/**
 * The headers that authenticate a message: id, timestamp and signature of Standard Webhooks, also under Svix's names.
 * `messageId` is the same for every attempt, so that a receiver can deduplicate. One signature per secret: a receiver
 * that knows one of them accepts the message.
 */
export function signedHeaders(
  secrets: readonly string[],
  messageId: string,
  body: string,
  at: Instant,
): Record<string, string> {
  const signature = secrets.map((secret) => new Signer(secret).sign(messageId, new Date(at), body)).join(' ');
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
