import { LRUCache } from 'lru-cache';
import { nameOfHash } from '../database/api-key.ts';
import { Problem } from '../kernel/problem.ts';

// Burst size: the number of seconds whose allowance may be used at once.
const burstSeconds = 2;
// Cached keys and addresses; an evicted caller restarts with a full allowance.
const mostCached = 10_000;
// No person types that fast. A client with an old key gets a clear error, and guessing keys gets nowhere.
const wrongKeysPerSecond = 100;
// A monitor asks every few seconds, and a reader reloads by hand.
const documentsPerSecond = 10;

/** A token bucket, which refills over time. */
interface Allowance {
  left: number;
  countedAt: number;
}

/** The caller: key hash and address. `allowance` is null until the key has proven valid. */
export interface Caller {
  readonly apiKeyHash: Buffer;
  readonly address: string;
  readonly allowance: Allowance | null;
}

// A buyer opens a page in a second, and its form follows later. A browser that restores its tabs opens several.
const pagesPerSecond = { link: 5, visitor: 10 } as const;

/** The origin of a request for a page. */
type PageOrigin = 'address' | keyof typeof pagesPerSecond;

interface RateLimitOptions {
  /** Requests per second of one key, 0 for no limit. */
  readonly perKey: number;
  /** Requests for pages per second of one address, 0 for no limit. */
  readonly pagesPerAddress?: number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

/**
 * Limits the requests of each key, of each address that sends invalid keys, and for pages, in this process. Only valid
 * keys are cached by hash, so guesses cannot evict others.
 */
export class RateLimit {
  readonly perKey: number;
  readonly #now: () => number;
  readonly #keys = new LRUCache<string, Allowance>({ max: mostCached });
  readonly #addresses = new LRUCache<string, Allowance>({ max: mostCached });
  readonly #readers = new LRUCache<string, Allowance>({ max: mostCached });
  readonly #pagesPerSecond: Readonly<Record<PageOrigin, number>>;
  // Only valid links are cached, so guesses cannot evict others.
  readonly #pages: Readonly<Record<PageOrigin, LRUCache<string, Allowance>>> = {
    address: new LRUCache({ max: mostCached }),
    link: new LRUCache({ max: mostCached }),
    visitor: new LRUCache({ max: mostCached }),
  };

  constructor({ perKey, pagesPerAddress = 0, now = () => performance.now() }: RateLimitOptions) {
    this.perKey = perKey;
    this.#pagesPerSecond = { ...pagesPerSecond, address: pagesPerAddress };
    this.#now = now;
  }

  /**
   * Admits a request. Refuses with `rateLimited` or, for an unknown key, `tooManyWrongKeys`. An unknown key counts as
   * wrong until it has proven valid, so that guesses over many connections at once are no more than over one.
   */
  admit(apiKeyHash: Buffer, remoteAddress: string): Caller {
    const allowance = this.#keys.get(nameOfHash(apiKeyHash)) ?? null;
    const address = networkOf(remoteAddress);
    if (allowance !== null) {
      if (this.perKey > 0 && !this.#take(allowance, this.perKey))
        throw new Problem('rateLimited', { limit: this.perKey });
    } else {
      const wrong = this.#of(this.#addresses, address, wrongKeysPerSecond);
      if (!this.#take(wrong, wrongKeysPerSecond)) throw new Problem('tooManyWrongKeys');
    }
    return { apiKeyHash, address, allowance };
  }

  /** Records that the key was valid. */
  accept(caller: Caller): void {
    if (caller.allowance !== null) return;
    this.forget(caller);
    const name = nameOfHash(caller.apiKeyHash);
    if (!this.#keys.has(name)) this.#keys.set(name, this.#full(this.perKey));
  }

  /** Records that nobody found out whether the key is valid. */
  forget({ address, allowance }: Caller): void {
    if (allowance !== null) return;
    this.#of(this.#addresses, address, wrongKeysPerSecond).left += 1;
  }

  /** Records that the key is not, or no longer, valid. */
  reject({ apiKeyHash, address, allowance }: Caller): void {
    this.#keys.delete(nameOfHash(apiKeyHash));
    if (allowance !== null) this.#take(this.#of(this.#addresses, address, wrongKeysPerSecond), wrongKeysPerSecond);
  }

  /** Admits a request for a document that needs no key. Refuses with `tooManyReads`. */
  admitReader(remoteAddress: string): void {
    const reader = this.#of(this.#readers, networkOf(remoteAddress), documentsPerSecond);
    if (!this.#take(reader, documentsPerSecond)) throw new Problem('tooManyReads', { limit: documentsPerSecond });
  }

  /** Admits a request for a page. `name` identifies its origin. Refuses with `tooManyPages`. */
  admitPage(of: PageOrigin, name: string): void {
    const limit = this.#pagesPerSecond[of];
    if (limit === 0) return;
    const allowance = this.#of(this.#pages[of], of === 'address' ? networkOf(name) : name, limit);
    if (!this.#take(allowance, limit)) throw new Problem('tooManyPages', { of, limit });
  }

  #of(allowances: LRUCache<string, Allowance>, address: string, perSecond: number): Allowance {
    const allowance = allowances.get(address) ?? this.#full(perSecond);
    allowances.set(address, allowance);
    return allowance;
  }

  #full(perSecond: number): Allowance {
    return { left: perSecond * burstSeconds, countedAt: this.#now() };
  }

  #fill(allowance: Allowance, perSecond: number): number {
    const now = this.#now();
    const come = ((now - allowance.countedAt) / 1000) * perSecond;
    allowance.left = Math.min(perSecond * burstSeconds, allowance.left + come);
    allowance.countedAt = now;
    return allowance.left;
  }

  #take(allowance: Allowance, perSecond: number): boolean {
    if (this.#fill(allowance, perSecond) < 1) return false;
    allowance.left -= 1;
    return true;
  }
}

/**
 * The network of an address: the /64 of an IPv6 address, because its owner controls all of it, or the IPv4 address
 * itself.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  if (tail === undefined) return groups.slice(0, 4).join(':');
  const missing = 8 - groups.length - tail.split(':').length;
  return [...groups, ...Array.from({ length: missing }, () => '0'), ...tail.split(':')].slice(0, 4).join(':');
}
