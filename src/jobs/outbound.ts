import { lookup as lookupName } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { mayReach, type Network, urlIssue } from './address-guard.ts';

/** What is sent to an address that a customer of ours has given us. */
export interface OutboundMessage {
  readonly url: string;
  readonly livemode: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How it was taken: the status and the first bytes of the answer, or why there is none. */
export type OutboundAnswer = { readonly durationMs: number } & (
  | {
      readonly statusCode: number;
      /** The header, as it was sent. */
      readonly retryAfter: string | null;
      /** The first 2 KiB of the body, as text that can be stored. */
      readonly body: string;
    }
  | { readonly failure: string }
);

/** A way to addresses that others choose, which leads to none of our own network. */
export interface Outbound {
  /** Why this address may not be sent to, as far as it shows without looking its name up; null when it may. */
  issueOf(url: string, livemode: boolean): string | null;
  /** One POST. Never throws: what goes wrong is an answer. Follows no redirect. */
  post(message: OutboundMessage): Promise<OutboundAnswer>;
  close(): Promise<void>;
}

/** What a name stands for. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}
type Lookup = (host: string) => Promise<readonly ResolvedAddress[]>;

/** Where messages may go: to public addresses, and to these networks. */
export interface OutboundPolicy {
  /** In live mode and in test mode. */
  readonly allow: readonly Network[];
  readonly allowInTestMode: readonly Network[];
  /** How names are looked up; as every program of this machine does it when absent. */
  readonly lookup?: Lookup;
  /** How long one message may take, from looking the name up to the end of the answer; 15 seconds when absent. */
  readonly timeoutMs?: number;
}

// Long enough for an endpoint that wakes up first, short enough that a dead one holds nothing for long.
const defaultTimeoutMs = 15_000;
// Enough to see what an endpoint complains about.
const maxAnswerBytes = 2048;
const maxHeaderKiB = 16;
// Endpoints of many customers share an origin where a platform receives for them: a slow one leaves room for the others.
const maxConnectionsPerOrigin = 256;
// Shorter than the five seconds that many servers keep an idle connection, so that none is used while it is being closed.
const idleConnectionMs = 4_000;
// A server may ask for more, but a name that has moved is noticed soon.
const longestIdleConnectionMs = 30_000;
const maxFailureLength = 500;

/**
 * A way out that judges the address of each connection: a name is looked up once, every address it has must be allowed,
 * and the connection goes to one of those and nowhere else. Each mode has connections of its own, so none of test mode
 * is ever used for a message of live mode.
 */
export function createOutbound(policy: OutboundPolicy): Outbound {
  const { allow, allowInTestMode, timeoutMs = defaultTimeoutMs } = policy;
  const lookup = sharedWhileRunning(policy.lookup ?? systemLookup);
  const modeOf = (allowed: readonly Network[]) => ({ allowed, agent: createAgent(allowed, lookup, timeoutMs) });
  const live = modeOf(allow);
  const test = modeOf([...allow, ...allowInTestMode]);
  return {
    issueOf: (url, livemode) => urlIssue(url, livemode, (livemode ? live : test).allowed),
    async post(message) {
      const startedAt = performance.now();
      const { allowed, agent } = message.livemode ? live : test;
      const issue = urlIssue(message.url, message.livemode, allowed);
      const outcome =
        issue === null ? await send(agent, message, timeoutMs) : { failure: `Not sent: the URL ${issue}.` };
      const durationMs = Math.round(performance.now() - startedAt);
      return 'failure' in outcome ? { durationMs, failure: storable(outcome.failure) } : { durationMs, ...outcome };
    },
    async close() {
      await Promise.all([live.agent.close(), test.agent.close()]);
    },
  };
}

const systemLookup: Lookup = (host) => lookupName(host, { all: true, order: 'verbatim' });

/** Connections to one host that are opened at the same moment need its addresses once. */
function sharedWhileRunning(lookup: Lookup): Lookup {
  const running = new Map<string, ReturnType<Lookup>>();
  return (host) => {
    const found = running.get(host) ?? lookup(host).finally(() => running.delete(host));
    running.set(host, found);
    return found;
  };
}

function createAgent(allowed: readonly Network[], lookup: Lookup, timeoutMs: number): Agent {
  const open = buildConnector({
    allowH2: false,
    timeout: timeoutMs,
    // Said here, so that no setting of the process can turn it off.
    rejectUnauthorized: true,
    // Where a name has several addresses, all of them judged, the next one is tried when one does not answer.
    autoSelectFamily: true,
    lookup: guardedLookup(allowed, lookup),
  });
  return new Agent({
    // An address that stands in the URL is not looked up, and whatever was looked up: what counts is where we have arrived.
    connect: (target, callback) =>
      open(target, (error, socket) => {
        if (error !== null) return callback(error, null);
        const address = socket.remoteAddress ?? '';
        if (mayReach(address, allowed)) return callback(null, socket);
        socket.destroy();
        callback(new ForbiddenAddress(address, target.hostname), null);
      }),
    allowH2: false,
    connections: maxConnectionsPerOrigin,
    pipelining: 1,
    keepAliveTimeout: idleConnectionMs,
    keepAliveMaxTimeout: longestIdleConnectionMs,
    maxHeaderSize: maxHeaderKiB * 1024,
    // One limit for all of it stands in `send`.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** Looks a name up for one connection, which gets the addresses only if all of them may be reached. */
function guardedLookup(allowed: readonly Network[], lookup: Lookup): LookupFunction {
  return (host, options, callback) => {
    const judge = async () => {
      const found = await lookup(host);
      const forbidden = found.find(({ address }) => !mayReach(address, allowed));
      if (forbidden !== undefined) throw new ForbiddenAddress(forbidden.address, host);
      const [first] = found;
      if (first === undefined) throw Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' });
      return { all: [...found], first };
    };
    judge().then(
      ({ all, first }) => (options.all ? callback(null, all) : callback(null, first.address, first.family)),
      (error) => callback(error, []),
    );
  };
}

class ForbiddenAddress extends Error {
  constructor(address: string, host: string) {
    super(address === host ? `The address ${host} is not public.` : `The address ${address} of ${host} is not public.`);
  }
}

type Outcome = { statusCode: number; retryAfter: string | null; body: string } | { failure: string };

async function send(agent: Agent, { url, headers, body }: OutboundMessage, timeoutMs: number): Promise<Outcome> {
  const { origin, pathname, search, hostname } = new URL(url);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  try {
    const path = pathname + search;
    const answer = await agent.request({ origin, path, method: 'POST', headers, body, signal: limit.signal });
    const retryAfter = [answer.headers['retry-after'] ?? null].flat()[0] ?? null;
    return { statusCode: answer.statusCode, retryAfter, body: await beginningOf(answer.body) };
  } catch (error) {
    const isLate = limit.signal.aborted || codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT';
    return { failure: isLate ? `No response within ${timeoutMs / 1000} seconds.` : failureOf(error, hostname) };
  } finally {
    clearTimeout(timer);
  }
}

/** The first bytes of a body as text. What comes after them is not read: the connection is closed instead. */
async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > maxAnswerBytes) break;
    }
  } catch {
    // The status is the answer. Whatever becomes of the body after it does not change it.
  }
  const bytes = Buffer.concat(chunks).subarray(0, maxAnswerBytes);
  // As a stream: half of a character at the end is left out.
  return withoutNul(new TextDecoder().decode(bytes, { stream: true }));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** What went wrong, in words for the people who run the endpoint. */
function failureOf(error: unknown, host: string): string {
  if (!(error instanceof Error)) return 'The request failed.';
  if (error instanceof ForbiddenAddress) return error.message;
  const code = codeOf(error);
  if (code === 'ENOTFOUND' || code === 'ENODATA') return `The host name ${host} has no address.`;
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return `The response headers are larger than ${maxHeaderKiB} KiB.`;
  if (code === 'UND_ERR_SOCKET') return 'No response: the connection was closed.';
  if (error.name === 'HTTPParserError') return 'The response is not HTTP.';
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return `No secure connection: ${error.message}`;
  if (/CERT|UNABLE_TO_|CRL|HOSTNAME/.test(code))
    // What follows a semicolon is advice to whoever runs us.
    return `The certificate of ${host} was rejected: ${error.message.split(';')[0]} (${code}).`;
  return `No response: ${code || error.message}`;
}

function withoutNul(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** A text that the database can hold, and a person read. */
function storable(text: string): string {
  return withoutNul(text.slice(0, maxFailureLength));
}
