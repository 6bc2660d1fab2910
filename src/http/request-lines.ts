import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { LRUCache } from 'lru-cache';
import { keyHashOf, nameOfHash } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';
import { runInEnvironment } from '../database/work.ts';
import { Repeats } from './trouble-log.ts';

/** The key of a request, and its organization. */
interface KeyHolder {
  readonly organizationId: string;
  readonly apiKeyId: string | null;
}

// A cached holder takes about 200 bytes.
const maxCachedKeys = 10_000;
const levelsWithRequests = new Set(['trace', 'debug', 'info']);

/**
 * Writes one line for each answered request of a valid key, at level `info`. It names the organization and the key.
 * Anybody can send other requests, and hang up on any: of these each kind has one line every ten seconds, with their
 * number.
 */
export class RequestLines extends LogController {
  readonly #database: Database;
  // The id and the organization of a key never change.
  readonly #repeats = new Repeats();
  readonly #holders = new LRUCache<string, KeyHolder>({ max: maxCachedKeys });

  constructor(database: Database) {
    super({ requestIdLogLabel: 'requestId' });
    this.#database = database;
  }

  override incomingRequest(): void {
    // The line follows when the request was answered.
  }

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    if (error) this.#logHangUp(error, request, reply);
    else if (levelsWithRequests.has(request.log.level)) void this.#log(request, aboutRequest(request, reply));
  }

  override streamError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    this.#logHangUp(error, request, reply);
  }

  #logHangUp(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    const count = this.#repeats.count(`hung up: ${routeOf(request)}`);
    if (count === null) return;
    request.log.error({ err: error, ...aboutRequest(request, reply), count }, 'the answer could not be sent');
  }

  async #log(request: FastifyRequest, about: ReturnType<typeof aboutRequest>): Promise<void> {
    const holder = await this.#holderOf(request, about.status).catch(() => null);
    if (holder !== null) return request.log.info({ ...about, ...holder }, 'request');
    const count = this.#repeats.count(`${request.method} ${routeOf(request)} ${about.status}`);
    if (count !== null) request.log.info({ ...about, count }, 'request');
  }

  async #holderOf({ headers }: FastifyRequest, status: number): Promise<KeyHolder | null> {
    const apiKeyHash = keyHashOf(headers.authorization);
    // A key that was refused belongs to nobody.
    if (apiKeyHash === null || status === 401) return null;
    const name = nameOfHash(apiKeyHash);
    const known = this.#holders.get(name);
    // A request that was refused for its load must not cost a query.
    if (known !== undefined || status === 429 || status === 503) return known ?? null;
    const entry = { apiKeyHash, sufficient: null };
    const outcome = await runInEnvironment(this.#database, entry, async ({ organizationId, apiKeyId }) => ({
      organizationId,
      apiKeyId,
    }));
    if (outcome === null) return null;
    this.#holders.set(name, outcome.answer);
    return outcome.answer;
  }
}

/** The pattern of the route: there are few, while addresses are the caller's. */
function routeOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.url ?? 'unknown';
}

function aboutRequest({ method, url, ip }: FastifyRequest, { statusCode, elapsedTime }: FastifyReply) {
  return { method, url: withoutKey(url), status: statusCode, ms: Math.round(elapsedTime), remoteAddress: ip };
}

/** The address for the log: a key in it would grant access to the page. */
function withoutKey(url: string): string {
  return url.replace(/([?&]key=)[^&]*/g, '$1...');
}
