import { lookup as lookupName, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { loopback, mayReach, type Network, urlIssue } from './address-guard.ts';

/** A message to an address that a user has registered. */
interface OutboundMessage {
  readonly url: string;
  readonly livemode: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The result: the status and the start of the response, or the reason why there is none. */
export type OutboundAnswer = { readonly durationMs: number } & (
  | {
      readonly statusCode: number;
      /** The header as sent. */
      readonly retryAfter: string | null;
      /** The first 2 KiB of the body, as text that can be stored; or only its length, see `allowInTestMode`. */
      readonly body: string;
    }
  | { readonly failure: string }
);

/** A request whose whole response is read. */
interface OutboundRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface OutboundResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** An HTTP client for user-supplied addresses that cannot reach the internal network. */
export interface Outbound {
  /** The problem with this address that shows without a DNS lookup, or null. */
  issueOf(url: string, livemode: boolean): string | null;
  /** Sends one POST. Never throws: a failure is a result. Does not follow redirects. */
  post(message: OutboundMessage): Promise<OutboundAnswer>;
  /** The problem with an address to `fetch` from, or null. It is https, but on this machine if that is allowed. */
  fetchIssueOf(url: string): string | null;
  /** Sends one request in live mode. Throws when there is no response, or one of more than 256 KiB. Follows no redirects. */
  fetch(request: OutboundRequest): Promise<OutboundResponse>;
  /** The TXT records of a DNS name; none when there is no such name. */
  textRecords(name: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** An address that a host name resolves to. */
interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}
type Lookup = (host: string) => Promise<readonly ResolvedAddress[]>;

/** Allowed destinations: public addresses and these networks. */
export interface OutboundPolicy {
  /** Allowed in live mode and in test mode. */
  readonly allow: readonly Network[];
  /** Answers from here are not shown: a key of test mode must not read the services of this machine. */
  readonly allowInTestMode: readonly Network[];
  /** The DNS lookup; the system resolver when absent. */
  readonly lookup?: Lookup;
  /** The lookup of TXT records; the system resolver when absent. */
  readonly lookupText?: (name: string) => Promise<readonly (readonly string[])[]>;
  /** The limit for one message, from the DNS lookup to the end of the response; 15 seconds when absent. */
  readonly timeoutMs?: number;
}

// Long enough for a cold start of an endpoint, short enough that a dead endpoint does not tie up resources.
const defaultTimeoutMs = 15_000;
// Enough to read an endpoint's error message.
const maxAnswerBytes = 2048;
// The keys of a sign-in provider with many of them.
const maxFetchedBytes = 256 * 1024;
const maxHeaderKiB = 16;
// Endpoints of several customers share an origin on a hosting platform: a slow one leaves room for the others.
const maxConnectionsPerOrigin = 256;
// Shorter than the five-second keep-alive of many servers, so that no connection is used while the server closes it.
const idleConnectionMs = 4_000;
// A server may ask for a longer keep-alive; the bound ensures that DNS changes take effect soon.
const longestIdleConnectionMs = 30_000;
const maxFailureLength = 500;

/**
 * An HTTP client that checks the address of each connection. A name is resolved once, all of its addresses must be
 * allowed, and the connection goes to one of them. Each mode has its own connections, so a connection of test mode
 * never carries a message of live mode.
 */
export function createOutbound(policy: OutboundPolicy): Outbound {
  const { allow, allowInTestMode, lookupText = systemTextLookup, timeoutMs = defaultTimeoutMs } = policy;
  const lookup = sharedWhileRunning(policy.lookup ?? systemLookup);
  const modeOf = (allowed: readonly Network[]) => ({ allowed, agent: createAgent(allowed, lookup, timeoutMs) });
  const live = modeOf(allow);
  const test = modeOf(allow);
  const hidden = allowInTestMode.length === 0 ? null : modeOf([...allow, ...allowInTestMode]);
  const allowedIn = (livemode: boolean) => (livemode ? allow : (hidden ?? test).allowed);
  /** Tries the addresses whose answers are shown first: the connection decides, whatever a name leads to. */
  const sendAsAllowed = async (message: OutboundMessage): Promise<Outcome> => {
    if (message.livemode) return send(live.agent, message, timeoutMs);
    const host = new URL(message.url).hostname.replace(/^\[|\]$/g, '');
    // An address in the URL needs no try: it is connected before it is judged.
    if (hidden === null || isIP(host) === 0 || mayReach(host, allow)) {
      const shown = await send(test.agent, message, timeoutMs);
      if (hidden === null || !('isForbidden' in shown)) return shown;
    }
    const outcome = await send(hidden.agent, message, timeoutMs);
    return 'failure' in outcome ? outcome : { ...outcome, body: lengthOf(outcome.body) };
  };
  const fetchIssueOf = (url: string) => urlIssue(url, !isOnThisMachine(url), allow);
  return {
    issueOf: (url, livemode) => urlIssue(url, livemode, allowedIn(livemode)),
    fetchIssueOf,
    async fetch(request) {
      const issue = fetchIssueOf(request.url);
      if (issue !== null) throw new Error(`Not sent: the URL ${request.url.slice(0, maxFailureLength)} ${issue}.`);
      return fetchWhole(live.agent, request, timeoutMs);
    },
    async textRecords(name) {
      const parts = await lookupText(name).catch((error: unknown) => {
        if (['ENOTFOUND', 'ENODATA'].includes(codeOf(error))) return [];
        throw error;
      });
      return parts.map((texts) => texts.join(''));
    },
    async post(message) {
      const startedAt = performance.now();
      const issue = urlIssue(message.url, message.livemode, allowedIn(message.livemode));
      const outcome = issue === null ? await sendAsAllowed(message) : { failure: `Not sent: the URL ${issue}.` };
      const durationMs = Math.round(performance.now() - startedAt);
      return 'failure' in outcome ? { durationMs, failure: storable(outcome.failure) } : { durationMs, ...outcome };
    },
    async close() {
      await Promise.all([live, test, hidden].map((mode) => mode?.agent.close()));
    },
  };
}

const systemLookup: Lookup = (host) => lookupName(host, { all: true, order: 'verbatim' });
const systemTextLookup = (name: string) => new Resolver({ timeout: 5_000, tries: 2 }).resolveTxt(name);

/** Whether an address names this machine: loopback addresses are reached without encryption, where that is allowed. */
function isOnThisMachine(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : '';
  return host === 'localhost' || loopback.some((network) => mayReach(host, [network]) && !mayReach(host, []));
}

/** Connections to one host that open at the same time share one lookup. */
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
    // Explicit, so that no setting of the process can turn it off.
    rejectUnauthorized: true,
    // If a name has several addresses, all of them checked, the next one is tried when one does not respond.
    autoSelectFamily: true,
    lookup: guardedLookup(allowed, lookup),
  });
  return new Agent({
    // IP addresses in a URL skip the lookup, so the address of the established connection is checked too.
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
    // `send` has one timeout for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/** Resolves a name for one connection. Fails unless all of its addresses are allowed. */
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

type Outcome =
  | { statusCode: number; retryAfter: string | null; body: string }
  /** `isForbidden` if the address was refused, so that nothing was sent. */
  | { failure: string; isForbidden?: true };

/** A text in place of a body that is not shown. */
function lengthOf(body: string): string {
  const bytes = Buffer.byteLength(body);
  const size = bytes < maxAnswerBytes ? `${bytes} bytes` : `${maxAnswerBytes} bytes or more`;
  return `Not shown: ${size} from an address of this machine. With TOLLKEEPER_WEBHOOK_ALLOW they are.`;
}

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
    if (error instanceof ForbiddenAddress) return { failure: error.message, isForbidden: true };
    const isLate = limit.signal.aborted || codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT';
    return { failure: isLate ? `No response within ${timeoutMs / 1000} seconds.` : failureOf(error, hostname) };
  } finally {
    clearTimeout(timer);
  }
}

async function fetchWhole(agent: Agent, request: OutboundRequest, timeoutMs: number): Promise<OutboundResponse> {
  const { origin, pathname, search } = new URL(request.url);
  const { method, headers, body = null } = request;
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await agent.request({ origin, path: pathname + search, method, headers, body, signal });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxFetchedBytes) throw new Error(`The response of ${origin} has more than ${maxFetchedBytes} bytes.`);
    chunks.push(chunk);
  }
  return { statusCode: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) };
}

/** The start of a body as text. The rest is not read: the connection is closed instead. */
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
    // The status is known; an error in the body does not change the result.
  }
  const bytes = Buffer.concat(chunks).subarray(0, maxAnswerBytes);
  // Stream mode drops an incomplete character at the end.
  return withoutNul(new TextDecoder().decode(bytes, { stream: true }));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The failure in words for the people who run the endpoint. */
function failureOf(error: unknown, host: string): string {
  if (!(error instanceof Error)) return 'The request failed.';
  const code = codeOf(error);
  if (code === 'ENOTFOUND' || code === 'ENODATA') return `The host name ${host} has no address.`;
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return `The response headers are larger than ${maxHeaderKiB} KiB.`;
  if (code === 'UND_ERR_SOCKET') return 'No response: the connection was closed.';
  if (error.name === 'HTTPParserError') return 'The response is not HTTP.';
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return `No secure connection: ${error.message}`;
  if (/CERT|UNABLE_TO_|CRL|HOSTNAME/.test(code))
    // Text after the semicolon is Node's advice to the operator.
    return `The certificate of ${host} was rejected: ${error.message.split(';')[0]} (${code}).`;
  return `No response: ${code || error.message}`;
}

function withoutNul(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** Text that the database can store, at a readable length. */
function storable(text: string): string {
  return withoutNul(text.slice(0, maxFailureLength));
}
