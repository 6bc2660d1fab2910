import type { FastifyRequest } from 'fastify';
import { Problem } from '../kernel/problem.ts';

/** Limits on idle connections, in milliseconds, and on the number of connections. */
export interface ConnectionLimits {
  /** From the first byte (or from the connection, if none comes) to complete headers. */
  readonly headersMs: number;
  /** To a complete body. */
  readonly requestMs: number;
  /** Between a response and the next request. */
  readonly keepAliveMs: number;
  /** The same while more than half of the connections are taken. */
  readonly crowdedKeepAliveMs: number;
  /**
   * Without a byte in either direction: a request that awaits its response, or a response that the client does not
   * read.
   */
  readonly silentMs: number;
  /** Interval at which the first two limits are checked. */
  readonly checkMs: number;
  /** Further connections are closed immediately. */
  readonly connections: number;
  /** Connections of one network, beside the reserve; 0 for no limit. */
  readonly perAddress: number;
  /** The last of the connections, on which only the operator's paths are answered. */
  readonly reserved: number;
  /** Connections of one network in the reserve. */
  readonly reservedPerAddress: number;
  /** From the connection to complete headers, in the reserve. */
  readonly reservedMs: number;
}

/** The default limits. */
export const connectionLimits: ConnectionLimits = {
  // Headers fit into a few packets; a client that sends them byte by byte only holds a connection.
  headersMs: 10_000,
  // Enough for a slow link, too short to hold a connection by dripping the body.
  requestMs: 60_000,
  // Longer than the keep-alive of load balancers, mostly 60 s: if the server closed first, a request could be lost.
  keepAliveMs: 72_000,
  // A client that loses a request by this can repeat it; one that finds no connection cannot.
  crowdedKeepAliveMs: 5_000,
  // Moving the test clock may take four minutes before the first byte of the response.
  silentMs: 5 * 60_000,
  checkMs: 5_000,
  // An idle connection costs some kilobytes, so this bounds them well before memory runs out.
  connections: 10_000,
  // As many requests as can wait for the database by default. A load balancer is one address and needs no more.
  perAddress: 1_000,
  // Enough for the health checks and metrics of every load balancer and monitor.
  reserved: 100,
  // One address cannot take the whole reserve.
  reservedPerAddress: 10,
  // A health check sends its headers at once.
  reservedMs: 2_000,
};

/** The limits as options of the Node server. */
export function connectionOptions({ headersMs, requestMs, keepAliveMs, silentMs, checkMs }: ConnectionLimits) {
  return {
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    connectionTimeout: silentMs,
    http: {
      headersTimeout: Math.min(headersMs, requestMs),
      connectionsCheckingInterval: checkMs,
      // `hostProblem` checks the header and returns a better message.
      requireHostHeader: false,
    },
  };
}

// A name, an IPv4 address or an IPv6 address in brackets, and an optional port. The header limit bounds the length.
const hostPattern = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?$/i;
const largestPort = 65_535;

/**
 * The problem with the Host header, or undefined. The host appears in returned links, so it must form a valid URL. Only
 * HTTP/1.0 may omit it, as health checks do.
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

/**
 * Whether a request was sent by one of our pages. Browsers send `Sec-Fetch-Site` on secure connections, and the page's
 * origin otherwise. A proxy may change the protocol, so only the hosts are compared.
 */
export function isFromOurPages({ headers, host }: FastifyRequest, publicUrl: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const origin = headers.origin;
  if (origin === undefined || !URL.canParse(origin)) return false;
  return [host, new URL(publicUrl).host].includes(new URL(origin).host);
}
