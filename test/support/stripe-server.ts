import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import Stripe from 'stripe';
import type { ExternalServices } from '../../src/app.ts';
import { createStripeProcessor } from '../../src/payments/processor-stripe.ts';
import { type Answer, answerOf, errorAnswer, paramsOf, reply } from './stripe-api.ts';
import { type StripeObject, StripeObjects } from './stripe-objects.ts';

/** What goes wrong with a request: before anything is done, or after it was done and before it was answered. */
export type Trouble = 'none' | 'rate_limit' | 'server_error' | 'key_in_use' | 'breaks_after' | 'hangs_after';

export interface StripeCall {
  readonly method: string;
  readonly path: string;
  readonly key: string | null;
}

/** A stand-in for Stripe on this machine, which speaks its shapes over HTTP. */
export interface StripeServer {
  readonly objects: StripeObjects;
  /** What it was asked for, in order. */
  readonly calls: StripeCall[];
  /** What a service is started with to reach it, for the test environment. */
  readonly services: ExternalServices;
  /** The same for a service in a process of its own. */
  readonly settings: Readonly<Record<string, string>>;
  /** What goes wrong with the next requests that write, one each. */
  trouble(...troubles: Trouble[]): void;
  /** Stripe keeps idempotency keys for a day. */
  forgetKeys(): void;
  /** Sends an event to a service, signed, and answers the status. `secret` and `at` are for wrong ones. */
  send(to: string, event: { id: string }, signing?: { secret?: string; at?: number; body?: string }): Promise<number>;
}

export const secretKey = 'sk_test_standin';
const webhookSecret = 'whsec_standin';

/** An event about an object, as it is now: its later changes do not show in it. */
export function stripeEvent(type: string, object: StripeObject, id: string = crypto.randomUUID()) {
  const created = Math.floor(Date.now() / 1000);
  const data = { object: structuredClone(object) };
  return { id: `evt_${id}`, object: 'event', type, created, livemode: false, api_version: null, data };
}

/** Starts it; it ends with the test file. */
export async function startStripeServer(): Promise<StripeServer> {
  const objects = new StripeObjects();
  const calls: StripeCall[] = [];
  const troubles: Trouble[] = [];
  const answered: Answered = new Map();
  const server = createServer(async (request, response) => {
    const said = await textOf(request);
    const { method = 'GET', url = '/' } = request;
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const header = request.headers['idempotency-key'];
    const key = typeof header === 'string' ? header : null;
    calls.push({ method, path: pathname, key });
    const trouble = method === 'POST' ? troubles.shift() : undefined;
    const refusal = before(trouble, request);
    if (refusal !== null) return reply(response, refusal);
    const params = paramsOf(method === 'GET' ? searchParams : new URLSearchParams(said));
    const answer = once(answered, key, pathname + said, () => answerOf(objects, method, pathname, params));
    if (trouble === 'breaks_after') return request.socket.destroy();
    if (trouble === 'hangs_after') return;
    reply(response, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const apiBase = `http://127.0.0.1:${port}`;
  const account = createStripeProcessor({
    livemode: false,
    secretKey,
    publishableKey: 'pk_test_standin',
    webhookSecret,
    apiBase,
    timeoutMs: 500,
  });
  return {
    objects,
    calls,
    services: { stripe: [account] },
    settings: {
      STRIPE_TEST_SECRET_KEY: secretKey,
      STRIPE_TEST_PUBLISHABLE_KEY: 'pk_test_standin',
      STRIPE_TEST_WEBHOOK_SECRET: webhookSecret,
      STRIPE_API_BASE: apiBase,
    },
    trouble: (...next) => void troubles.push(...next),
    forgetKeys: () => answered.clear(),
    async send(to, event, { secret = webhookSecret, at = Date.now(), body } = {}) {
      const payload = JSON.stringify(event);
      const timestamp = Math.floor(at / 1000);
      const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });
      const headers = { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature };
      const answer = await fetch(`${to}/processor-events/stripe`, { method: 'POST', headers, body: body ?? payload });
      await answer.arrayBuffer();
      return answer.status;
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

function before(trouble: Trouble | undefined, { headers }: IncomingMessage): Answer | null {
  const type = 'invalid_request_error';
  if (headers.authorization !== `Bearer ${secretKey}`)
    return errorAnswer(401, { type, message: 'Invalid API Key provided' });
  switch (trouble) {
    case 'rate_limit':
      return errorAnswer(429, { type, code: 'rate_limit', message: 'Request rate limit exceeded.' });
    case 'key_in_use':
      return errorAnswer(409, {
        type: 'idempotency_error',
        code: 'idempotency_key_in_use',
        message: 'The key is in use.',
      });
    case 'server_error':
      return errorAnswer(500, { type: 'api_error', message: 'Something went wrong on our end.' });
    default:
      return null;
  }
}

type Answered = Map<string, { said: string; answer: Answer }>;

/** The answer that was given under the key, else a new one. What was refused before it was begun is not remembered. */
function once(answered: Answered, key: string | null, said: string, perform: () => Answer): Answer {
  const known = answered.get(key ?? '');
  if (known !== undefined) return known.said === said ? known.answer : keyReused(key ?? '');
  const answer = perform();
  if (key !== null && (answer.status < 400 || answer.status === 402)) answered.set(key, { said, answer });
  return answer;
}

function keyReused(key: string): Answer {
  const message = `Keys for idempotent requests can only be used with the same parameters: '${key}'.`;
  return errorAnswer(400, { type: 'idempotency_error', message });
}
