import type { FastifyRequest } from 'fastify';
import { Problem } from '../kernel/problem.ts';

/** How long a connection may do nothing that is of use, in milliseconds, and how many there may be. */
export interface ConnectionLimits {
  /** From the first byte, or from the connection where none comes, until the headers are whole. */
  readonly headersMs: number;
  /** Until the body is whole too. */
  readonly requestMs: number;
  /** Between an answer and the next request. */
  readonly keepAliveMs: number;
  /** Without a byte in either direction: a request that waits for its answer, an answer that nobody reads. */
  readonly silentMs: number;
  /** How often the first two are looked at. */
  readonly checkMs: number;
  /** More are closed as soon as they are opened. */
  readonly connections: number;
}

/** What holds where nothing else is said. */
export const connectionLimits: ConnectionLimits = {
  // Headers fit into a packet or a few; whoever drips them holds a connection and wants nothing else.
  headersMs: 20_000,
  // Room for a slow link, too short for a body that is dripped to hold a connection.
  requestMs: 60_000,
  // Longer than load balancers keep theirs, 60 s mostly: who closes first must not be we, or a request gets lost.
  keepAliveMs: 72_000,
  // Moving the clock may take four minutes before there is anything to say.
  silentMs: 5 * 60_000,
  checkMs: 5_000,
  // A connection that waits costs some kilobytes: these are bounded well before the memory is.
  connections: 10_000,
};

/** The limits as the server's own options. */
export function connectionOptions({ headersMs, requestMs, keepAliveMs, silentMs, checkMs }: ConnectionLimits) {
  return {
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    connectionTimeout: silentMs,
    http: {
      headersTimeout: Math.min(headersMs, requestMs),
      connectionsCheckingInterval: checkMs,
      // We look at it ourselves, and say what is missing.
      requireHostHeader: false,
    },
  };
}

// A name, an IPv4 address or an IPv6 address in brackets, and a port. Length is bounded by that of the headers.
const hostPattern = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?$/i;
const largestPort = 65_535;

/**
 * Why a Host cannot be taken, or undefined when it can: it stands in links that we answer, so an address must come of it.
 * Only HTTP/1.0 may leave it out, as health checks do.
 */
export function hostProblem({ headers: { host }, raw }: FastifyRequest): Problem | undefined {
  if (host === undefined && raw.httpVersion === '1.0') return undefined;
  const [whole, port = '0'] = hostPattern.exec(host ?? '') ?? [];
  if (whole !== undefined && Number(port) <= largestPort) return undefined;
  return new Problem('invalidRequest', { reason: 'Host: must be a name or an address, with or without a port.' });
}

/** The address that a request was sent to, without a path. */
export function addressAsked({ protocol, host }: FastifyRequest): string {
  return `${protocol}://${host || 'localhost'}`;
}
