import { LRUCache } from 'lru-cache';
import { nameOfHash } from '../database/api-key.ts';
import { Problem } from '../kernel/problem.ts';

// A caller may do at once what it may do in this many seconds.
const burstSeconds = 2;
// Keys and addresses that are remembered; who is forgotten begins with a full allowance.
const mostRemembered = 10_000;
// Nobody types that fast; a client with an old key is told quickly what is wrong, and guessing gets nowhere.
const wrongKeysPerSecond = 100;

/** What is left of an allowance that fills up again with time. */
interface Allowance {
  left: number;
  countedAt: number;
}

/** Who asks, by the hash of the key, from where; `allowance` is null until the key has proven good. */
export interface Caller {
  readonly apiKeyHash: Buffer;
  readonly address: string;
  readonly allowance: Allowance | null;
}

export interface RateLimitOptions {
  /** Requests a second of one key, 0 for any number. */
  readonly perKey: number;
  /** Milliseconds that only go forward. */
  readonly now?: () => number;
}

/**
 * How often a key may ask this process, and how often an address may ask with keys that are not valid. Only keys that were
 * good before are remembered by name: who guesses cannot push others out.
 */
export class RateLimit {
  readonly perKey: number;
  readonly #now: () => number;
  readonly #keys = new LRUCache<string, Allowance>({ max: mostRemembered });
  readonly #addresses = new LRUCache<string, Allowance>({ max: mostRemembered });

  constructor({ perKey, now = () => performance.now() }: RateLimitOptions) {
    this.perKey = perKey;
    this.#now = now;
  }

  /** Lets a request in. Refuses with `rateLimited` or, where the key is not known yet, `tooManyWrongKeys`. */
  admit(apiKeyHash: Buffer, remoteAddress: string): Caller {
    const allowance = this.#keys.get(nameOfHash(apiKeyHash)) ?? null;
    const address = networkOf(remoteAddress);
    if (allowance !== null) {
      if (this.perKey > 0 && !this.#take(allowance, this.perKey))
        throw new Problem('rateLimited', { limit: this.perKey });
    } else {
      const wrong = this.#addresses.get(address);
      if (wrong !== undefined && this.#fill(wrong, wrongKeysPerSecond) < 1) throw new Problem('tooManyWrongKeys');
    }
    return { apiKeyHash, address, allowance };
  }

  /** The key was good. */
  accept({ apiKeyHash, allowance }: Caller): void {
    if (allowance === null) this.#keys.set(nameOfHash(apiKeyHash), this.#full(this.perKey));
  }

  /** The key is not valid, or is no longer. */
  reject({ apiKeyHash, address }: Caller): void {
    this.#keys.delete(nameOfHash(apiKeyHash));
    const wrong = this.#addresses.get(address) ?? this.#full(wrongKeysPerSecond);
    this.#take(wrong, wrongKeysPerSecond);
    this.#addresses.set(address, wrong);
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

/** Whoever has one IPv6 address has a network of them, 64 bits long; an IPv4 address is one. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  if (tail === undefined) return groups.slice(0, 4).join(':');
  const missing = 8 - groups.length - tail.split(':').length;
  return [...groups, ...Array.from({ length: missing }, () => '0'), ...tail.split(':')].slice(0, 4).join(':');
}
