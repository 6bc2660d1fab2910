import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { Webhook as Verifier } from 'standardwebhooks';
import { z } from 'zod';
import type { Config } from './config.ts';
import { ask, refusalOf, type Service, serviceOf, unreachable } from './main-request.ts';
import { eventTypes } from './webhooks/event.ts';

interface ListenOptions {
  /** The port to receive on; any free one when absent. */
  readonly port?: string;
  /** The address of the service; this machine at PORT when absent. */
  readonly url?: string;
  readonly key?: string;
  readonly types?: string;
  readonly pricingModel?: string;
  readonly json?: boolean;
}

// The record in a message has at most 256 KiB.
const maxMessageBytes = 1024 * 1024;

const Made = z.object({ webhook: z.object({ id: z.string(), pricingModelId: z.string() }), secret: z.string() });
type Made = z.infer<typeof Made>;
// The fields to print. A newer service may send more.
const Payload = z.looseObject({ id: z.string(), type: z.string(), eventId: z.string(), occurredAt: z.number() });

/**
 * Registers a webhook at a running service, prints its messages until the process is stopped, and deletes it. Messages
 * go to stdout, everything else to stderr. Throws an Error whose message is for the user.
 */
export async function listen(config: Config, options: ListenOptions): Promise<void> {
  const service = serviceOf(config, options);
  const port = portOf(options.port);
  const stopped = untilStopped();
  // A killed listener leaves its webhook behind. The random path tells its messages from ours.
  const path = `/${randomUUID()}`;
  // A message may arrive before the response with the secret.
  const { promise: secret, resolve: tellSecret } = Promise.withResolvers<string>();
  const server = createServer((request, response) => {
    receive(request, response, { path, secret, json: options.json === true }).catch(() => request.destroy());
  });
  const receiverPort = await bind(server, port);
  try {
    const url = `http://127.0.0.1:${receiverPort}${path}`;
    const made = await register(service, url, options);
    tellSecret(made.secret);
    try {
      say(
        `Listening at ${url} for events of ${made.webhook.pricingModelId} from ${service.address}. Press Ctrl-C to stop.`,
      );
      await stopped;
    } finally {
      await unregister(service, made.webhook.id);
    }
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

function say(text: string): void {
  console.error(text);
}

function portOf(text = '0'): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new Error(`--port: ${text} is not a number from 0 to 65535`);
  return port;
}

/** Resolves when the process gets a signal to stop, or when its output is closed. */
function untilStopped(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => resolve());
  return promise;
}

function bind(server: ReturnType<typeof createServer>, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE' ? new Error(`--port: ${port} is in use; omit it to use any free port`) : error,
      ),
    );
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

async function register(service: Service, url: string, { types, pricingModel }: ListenOptions): Promise<Made> {
  const named = (types ?? '').split(',').map((type) => type.trim());
  const filterTypes = types === undefined ? eventTypes : named.filter((type) => type !== '');
  const webhook = { name: 'tollkeeper listen', url, filterTypes, pricingModelId: pricingModel };
  const answer = await ask(service, 'POST', '/webhooks', { webhook }).catch(unreachable);
  if (answer.status === 200) {
    const made = Made.safeParse(answer.body);
    if (made.success) return made.data;
  }
  const message = refusalOf(service, answer);
  const isAboutUrl = answer.status === 400 && message.includes('webhook.url');
  throw new Error(`${service.address} refused the webhook: ${message}${isAboutUrl ? `\n${addressAdvice}` : ''}`);
}

const addressAdvice =
  'This command receives webhooks on this machine without TLS. Use a test mode key. If the service has a DATABASE_URL, ' +
  'start it with TOLLKEEPER_WEBHOOK_ALLOW=127.0.0.0/8.';

async function unregister(service: Service, id: string): Promise<void> {
  const left = (reason: string) => {
    say(`The webhook ${id} could not be deleted: ${reason} Delete it with DELETE /api/v1/webhooks/${id}.`);
    process.exitCode = 1;
  };
  try {
    const { status } = await ask(service, 'DELETE', `/webhooks/${id}`);
    // Somebody else may have deleted it.
    if (status === 200 || status === 404) say('Stopped and deleted the webhook.');
    else left(`the service responded with ${status}.`);
  } catch (error) {
    left((error as Error).message);
  }
}

interface Reception {
  readonly path: string;
  readonly secret: Promise<string>;
  readonly json: boolean;
}

/** Responds to one request, and prints it if it is one of our messages. */
async function receive(request: IncomingMessage, response: ServerResponse, reception: Reception): Promise<void> {
  const { path, secret, json } = reception;
  const answer = (status: number, text: string) => response.writeHead(status).end(`${text}\n`);
  if (request.url !== path) {
    say(`${request.method} ${printable(request.url)} is not for this listener. Responded with 410.`);
    // A 410 makes the service deactivate the endpoint.
    return void answer(410, 'This listener has stopped.');
  }
  const body = await bodyOf(request);
  const verified = verify(body, request.headers as Record<string, string>, await secret);
  if ('problem' in verified) {
    say(`NOT VERIFIED: ${verified.problem} Responded with 400; the message is not shown.`);
    return void answer(400, verified.problem);
  }
  const { occurredAt, type, id, eventId } = verified.payload;
  console.log(
    json ? JSON.stringify(verified.payload) : [new Date(occurredAt).toISOString(), type, id, eventId].join('  '),
  );
  answer(200, 'ok');
}

/** Reads the body. Throws if it is larger than any message. */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > maxMessageBytes) throw new Error('larger than any message');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

type Verified = { readonly payload: z.infer<typeof Payload> } | { readonly problem: string };

function verify(body: Buffer, headers: Record<string, string>, secret: string): Verified {
  let signed: unknown;
  try {
    signed = new Verifier(secret).verify(body, headers);
  } catch (error) {
    return { problem: `the signature does not verify (${(error as Error).message}).` };
  }
  const payload = Payload.safeParse(signed);
  return payload.success ? { payload: payload.data } : { problem: 'it is signed but is not an event.' };
}

/** Foreign text, made safe for a terminal. */
function printable(text = ''): string {
  return text.slice(0, 100).replaceAll(/[^\x21-\x7e]/g, '?');
}
