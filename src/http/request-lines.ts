import { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import { LRUCache } from 'lru-cache';
import { keyHashOf, nameOfHash } from '../database/api-key.ts';
import type { Database } from '../database/database.ts';
import { runInEnvironment } from '../database/work.ts';

/** The key of a request, and its organization. */
interface KeyHolder {
  readonly organizationId: string;
  readonly apiKeyId: string | null;
}

// A cached holder takes about 200 bytes.
const maxCachedKeys = 10_000;
const levelsWithRequests = new Set(['trace', 'debug', 'info']);

/** Writes one line for each answered request, at level `info`. It names the organization and the key. */
export class RequestLines extends LogController {
  readonly #database: Database;
  // The id and the organization of a key never change.
  readonly #holders = new LRUCache<string, KeyHolder>({ max: maxCachedKeys });

  constructor(database: Database) {
    super({ requestIdLogLabel: 'requestId' });
    this.#database = database;
  }

  override incomingRequest(): void {
    // The line follows when the request was answered.
  }

  override requestCompleted(error: Error | null | undefined, request: FastifyRequest, reply: FastifyReply): void {
    if (error) request.log.error({ err: error, ...aboutRequest(request, reply) }, 'the answer could not be sent');
    else if (levelsWithRequests.has(request.log.level)) void this.#log(request, aboutRequest(request, reply));
  }

  async #log(request: FastifyRequest, about: ReturnType<typeof aboutRequest>): Promise<void> {
    // A key that was refused belongs to nobody.
    const holder = about.status === 401 ? null : await this.#holderOf(request).catch(() => null);
    request.log.info({ ...about, ...holder }, 'request');
  }

  async #holderOf({ headers }: FastifyRequest): Promise<KeyHolder | null> {
    const apiKeyHash = keyHashOf(headers.authorization);
    if (apiKeyHash === null) return null;
    const name = nameOfHash(apiKeyHash);
    const known = this.#holders.get(name);
    if (known !== undefined) return known;
    const outcome = await runInEnvironment(this.#database, { apiKeyHash }, async ({ organizationId, apiKeyId }) => ({
      organizationId,
      apiKeyId,
    }));
    if (outcome === null) return null;
    this.#holders.set(name, outcome.answer);
    return outcome.answer;
  }
}

function aboutRequest({ method, url, ip }: FastifyRequest, { statusCode, elapsedTime }: FastifyReply) {
  return { method, url: withoutKey(url), status: statusCode, ms: Math.round(elapsedTime), remoteAddress: ip };
}

/** The address for the log: a key in it would grant access to the page. */
function withoutKey(url: string): string {
  return url.replace(/([?&]key=)[^&]*/g, '$1...');
}
