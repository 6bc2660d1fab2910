import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import type { Effect, Work } from '../database/work.ts';
import type { JobContext, TaskList } from '../jobs/queue.ts';
import { invalid, Problem } from '../kernel/problem.ts';

/** How long a response is kept for its key. */
export const idempotencyLifetimeMs = 24 * 60 * 60 * 1000;
const maxKeyLength = 255;
// The stored response of a request whose response was erased.
const erased = '';

/** A request that may be repeated under the same key, and the hash that identifies it. */
export interface IdempotentRequest {
  readonly key: string;
  readonly requestHash: Buffer;
}

export function hasIdempotencyKey({ headers }: FastifyRequest): boolean {
  return headers['idempotency-key'] !== undefined;
}

/**
 * The request's `Idempotency-Key`, or null when it has none. Refuses a key that is empty or too long. `identity` tells its
 * body from others.
 */
export function readIdempotencyKey(request: FastifyRequest, identity: () => string): IdempotentRequest | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || key.length === 0 || key.length > maxKeyLength) {
    throw invalid(['Idempotency-Key'], `must have 1 to ${maxKeyLength} characters`);
  }
  const hash = createHash('sha256').update(`${request.method} ${request.url}\n`).update(identity());
  return { key, requestHash: hash.digest() };
}

/** The same request with another API key is a different request. */
export function withKey({ apiKeyId, userId }: Work, { key, requestHash }: IdempotentRequest): IdempotentRequest {
  return {
    key,
    requestHash: createHash('sha256')
      .update(requestHash)
      .update(apiKeyId ?? userId ?? '')
      .digest(),
  };
}

/** The same request as it is stored in parts: its text is no whole answer. */
export function storedInParts({ key, requestHash }: IdempotentRequest): IdempotentRequest {
  return { key, requestHash: createHash('sha256').update(requestHash).update('in parts').digest() };
}

/** A stored response, and the effects that are still pending because its request died before they finished. */
interface StoredAnswer {
  readonly text: string;
  readonly effects: readonly Effect[];
}

/**
 * The stored response of an earlier request with this key, or null for the first. The key stays locked until the
 * transaction ends: of two concurrent requests one runs and the other is refused.
 */
export async function beginIdempotent(
  work: Work,
  { key, requestHash }: IdempotentRequest,
): Promise<StoredAnswer | null> {
  const lock = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(current_schema(), ${lockNumber(work, key)}::bigint)) as locked`.execute(
    work.db,
  );
  if (!lock.rows[0]?.locked) throw new Problem('idempotencyKeyInUse');
  const stored = await work.db
    .selectFrom('idempotencyKeys')
    .select(['requestHash', 'response', 'effects'])
    .where('environmentId', '=', work.environmentId)
    .where('key', '=', key)
    .where('createdAt', '>', Date.now() - idempotencyLifetimeMs)
    .executeTakeFirst();
  if (stored === undefined) return null;
  if (!stored.requestHash.equals(scopedHash(work, requestHash))) throw new Problem('idempotencyKeyReused');
  if (stored.response === erased) throw new Problem('answerErased');
  // Written by `storeAnswer`.
  return { text: stored.response, effects: (stored.effects as Effect[] | null) ?? [] };
}

/** The number of a key's lock. It is cryptographic, so that no caller can choose a key with the number of another lock. */
function lockNumber({ environmentId }: Work, key: string): bigint {
  return createHash('sha256').update(`${environmentId}\n${key}`).digest().readBigInt64BE();
}

/** The same request with a key that sees another pricing model is a different request. */
function scopedHash(work: Work, requestHash: Buffer): Buffer {
  const scope = work.pinnedTo;
  return scope === null ? requestHash : createHash('sha256').update(requestHash).update(scope).digest();
}

/** Stores the response in the same commit as its changes; it moves with the slot to another cell. Replaces an expired row of the same key. */
export async function storeAnswer(
  work: Work,
  { key, requestHash }: IdempotentRequest,
  response: string,
  slot: string | null,
): Promise<void> {
  const effects = work.effects.length === 0 ? null : JSON.stringify(work.effects);
  const row = { requestHash: scopedHash(work, requestHash), response, effects, slot, createdAt: Date.now() };
  await work.db
    .insertInto('idempotencyKeys')
    .values({ environmentId: work.environmentId, key, ...row })
    .onConflict((conflict) => conflict.columns(['environmentId', 'key']).doUpdateSet(row))
    .execute();
}

/**
 * The final response, if a request that was sent at the same time has stored it; null: it is this one's to find. Locks the
 * row until the work ends, so that the effects of a request are answered, and their attempt ended, once.
 */
export async function lockFinalAnswer(work: Work, { key }: IdempotentRequest): Promise<string | null> {
  const row = await work.db
    .selectFrom('idempotencyKeys')
    .select(['response', 'effects'])
    .where('environmentId', '=', work.environmentId)
    .where('key', '=', key)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row === undefined || row.effects !== null || row.response === erased ? null : row.response;
}

/** Replaces the stored response by the final one once no effects are pending. */
export async function renewAnswer(work: Work, { key }: IdempotentRequest, response: string): Promise<void> {
  await work.db
    .updateTable('idempotencyKeys')
    .set({ response, effects: null })
    .where('environmentId', '=', work.environmentId)
    .where('key', '=', key)
    .where('response', '<>', erased)
    .execute();
}

/** Deletes a stored response: the request was refused after all, so a repeat may try again. */
export async function forgetAnswer(work: Work, { key }: IdempotentRequest): Promise<void> {
  await work.db
    .deleteFrom('idempotencyKeys')
    .where('environmentId', '=', work.environmentId)
    .where('key', '=', key)
    .execute();
}

/**
 * Erases stored responses that contain one of these texts, among the next `limit` after the key `after`. Their requests
 * stay done: a repeat is refused, and nothing happens twice. Returns the last key, or null at the end.
 */
export async function eraseAnswers(
  work: Work,
  { texts, except, after, limit }: { texts: readonly string[]; except: string; after: string; limit: number },
): Promise<string | null> {
  const { rows } = await sql<{ last: string | null }>`
    with batch as materialized (
      select key, response from idempotency_keys
       where environment_id = ${work.environmentId} and key > ${after} order by key limit ${limit}
    ), changed as (
      update idempotency_keys k set response = ${erased}, effects = null from batch
       where k.environment_id = ${work.environmentId} and k.key = batch.key and not starts_with(batch.response, ${except})
         and exists (select from unnest(${texts}::text[]) as texts (text) where strpos(batch.response, texts.text) > 0)
    )
    select max(key) as last from batch`.execute(work.db);
  return rows[0]?.last ?? null;
}

// A batch size at which the daily responses of a busy service are deleted without holding locks for long.
const forgetAtOnce = 10_000;

/** Deletes a batch of expired responses over all environments. Returns their number. */
export async function deleteOldAnswersOnce({ database }: JobContext): Promise<number> {
  const before = Date.now() - idempotencyLifetimeMs;
  const { rows } = await sql<{ count: number }>`
    select forget_old_answers(${before}, ${forgetAtOnce}) as count`.execute(database);
  return rows[0]?.count ?? 0;
}

/** Housekeeping jobs of this folder, by name. */
export const idempotencyTasks: TaskList = {
  async forget_old_answers(context) {
    await deleteOldAnswersOnce(context);
  },
};
