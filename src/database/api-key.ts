import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

// A few keys send nearly every request, so the hashes of recent keys are cached.
const hashes = new LRUCache<string, Buffer>({ max: 1_000 });
const names = new WeakMap<Buffer, string>();

/** The hash that the database stores for a key. */
export function hashApiKey(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/**
 * The hash of the request's key (`Bearer <key>` or the bare key), or null without one. The buffer is shared: do not
 * modify it.
 */
export function keyHashOf(authorization: string | undefined): Buffer | null {
  if (authorization === undefined) return null;
  const known = hashes.get(authorization);
  if (known !== undefined) return known;
  const key = authorization.trim().replace(/^bearer +/i, '');
  if (!/^[\x20-\x7e]{1,200}$/.test(key)) return null;
  const hashed = hashApiKey(key);
  hashes.set(authorization, hashed);
  return hashed;
}

/** The hash as text, for map keys. */
export function nameOfHash(apiKeyHash: Buffer): string {
  const known = names.get(apiKeyHash);
  if (known !== undefined) return known;
  const name = apiKeyHash.toString('latin1');
  names.set(apiKeyHash, name);
  return name;
}
