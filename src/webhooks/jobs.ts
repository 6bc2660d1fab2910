import { z } from 'zod';
import { type JobContext, payloadEnvironment, type TaskList } from '../platform/jobs.ts';
import { relayTask } from '../platform/outbox.ts';
import { version } from '../platform/version.ts';
import { runInEnvironment } from '../platform/work.ts';
import { beginAttempt, deliverTask, endAttempt, type Message, relayEvents } from './actions.ts';
import { type EndpointAnswer, signedHeaders } from './delivery.ts';

// Long enough for an endpoint that wakes up first, short enough that a dead one holds no worker for long.
const answerTimeoutMs = 15_000;
// The body of an answer says nothing to us. A short one is read, so that the connection can be used again.
const maxAnswerBytes = 2048;
const maxFailureLength = 500;

type Payload = Readonly<Record<string, unknown>>;
const RelayPayload = z.object({ eventIds: z.array(z.string()) });
const DeliverPayload = z.object({ deliveryId: z.string(), attempt: z.int().min(1) });

/** Addresses the events of one commit to the webhooks that want them. */
async function relay({ database }: JobContext, payload: Payload): Promise<void> {
  const { eventIds } = RelayPayload.parse(payload);
  await runInEnvironment(database, { environmentId: payloadEnvironment(payload) }, (work) =>
    relayEvents(work, eventIds, Date.now()),
  );
}

/** Makes one attempt: reads what is to be sent, sends it with no transaction open, notes how it ended. */
async function deliver({ database }: JobContext, payload: Payload): Promise<void> {
  const environment = { environmentId: payloadEnvironment(payload) };
  const { deliveryId, attempt } = DeliverPayload.parse(payload);
  const begun = await runInEnvironment(database, environment, (work) =>
    beginAttempt(work, deliveryId, attempt, Date.now()),
  );
  if (begun === null || begun.answer === null) return;
  const answer = await send(begun.answer);
  await runInEnvironment(database, environment, (work) => endAttempt(work, deliveryId, attempt, answer, Date.now()));
}

async function send({ id, body, url, secret }: Message): Promise<EndpointAnswer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': `Tollkeeper/${version}`,
        ...signedHeaders(secret, id, body, Date.now()),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
    // The status is the answer. Whatever becomes of the body after it does not change it.
    await passOver(response.body).catch(() => undefined);
    return { statusCode: response.status };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

async function passOver(body: ReadableStream<Uint8Array> | null): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  for (let bytes = 0; bytes < maxAnswerBytes; ) {
    const { done, value } = await reader.read();
    if (done) return;
    bytes += value.byteLength;
  }
  await reader.cancel();
}

/** `fetch failed` says nothing; its cause does. */
function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return 'The request failed.';
  if (error.name === 'TimeoutError') return `No answer within ${answerTimeoutMs / 1000} seconds.`;
  const cause: { code?: unknown; message?: unknown } = error.cause instanceof Error ? error.cause : error;
  const reason = typeof cause.code === 'string' ? cause.code : String(cause.message);
  return `No answer: ${reason}`.replaceAll('\0', '').slice(0, maxFailureLength).toWellFormed();
}

export const webhookTasks: TaskList = { [relayTask]: relay, [deliverTask]: deliver };
