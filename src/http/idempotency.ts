import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import type { Effect, Work } from '../database/work.ts';
import type { JobContext, TaskList } from '../jobs/queue.ts';
import { invalid, Problem } from '../kernel/problem.ts';

/** How long an answer is kept for its key. */
export const idempotencyLifetimeMs = 24 * 60 * 60 * 1000;
const maxKeyLength = 255;

/** A request that may be sent again under the same key, and what makes it the same. */
export interface IdempotentRequest {
  readonly key: string;
  readonly requestHash: Buffer;
}

/** The request's `Idempotency-Key`, or null when it has none. Refuses a key that is empty or too long. */
export function readIdempotencyKey(request: FastifyRequest): IdempotentRequest | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || key.length === 0 || key.length > maxKeyLength) {
    throw invalid(['Idempotency-Key'], `must have 1 to ${maxKeyLength} characters`);
  }
  const hash = createHash('sha256')
    .update(`${request.method} ${request.url}\n`)
    .update(JSON.stringify(request.body ?? {}));
  return { key, requestHash: hash.digest() };
}

/** An answer that was given before, and the steps that it waits for when its request died before they were done. */
export interface StoredAnswer {
  readonly text: string;
  readonly effects: readonly Effect[];
}

/**
 * The stored answer of an earlier request with this key, or null when this is the first. The key stays locked until
 * the transaction ends, so of two at once one runs and the other is refused.
 */
export async function beginIdempotent(
  work: Work,
  { key, requestHash }: IdempotentRequest,
): Promise<StoredAnswer | null> {
  const lock = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${key}, ${work.environmentId})) as locked`.execute(work.db);
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
  // What we wrote there ourselves.
  return { text: stored.response, effects: (stored.effects as Effect[] | null) ?? [] };
}

/** The same words of a key that sees another part of the environment are another request. */
function scopedHash(work: Work, requestHash: Buffer): Buffer {
  const scope = work.pinnedPricingModelId;
  return scope === null ? requestHash : createHash('sha256').update(requestHash).update(scope).digest();
}

/** Stores the answer in the commit of what it answers. An outlived row of the same key is replaced. */
export async function rememberAnswer(
  work: Work,
  { key, requestHash }: IdempotentRequest,
  response: string,
): Promise<void> {
  const effects = work.effects.length === 0 ? null : JSON.stringify(work.effects);
  const row = { requestHash: scopedHash(work, requestHash), response, effects, createdAt: Date.now() };
  await work.db
    .insertInto('idempotencyKeys')
    .values({ environmentId: work.environmentId, key, ...row })
    .onConflict((conflict) => conflict.columns(['environmentId', 'key']).doUpdateSet(row))
    .execute();
}

/** Replaces the stored answer by the one that was given in the end, when nothing is left to wait for. */
export async function renewAnswer(work: Work, { key }: IdempotentRequest, response: string): Promise<void> {
  await work.db
    .updateTable('idempotencyKeys')
    .set({ response, effects: null })
    .where('environmentId', '=', work.environmentId)
    .where('key', '=', key)
    .execute();
}

/** Takes a stored answer back: the request was refused in the end, so a repeat is to try again. */
export async function forgetAnswer(work: Work, { key }: IdempotentRequest): Promise<void> {
  await work.db
    .deleteFrom('idempotencyKeys')
    .where('environmentId', '=', work.environmentId)
    .where('key', '=', key)
    .execute();
}

// A day's answers of a busy service, in portions that hold no lock for long.
const forgetAtOnce = 10_000;

/** Deletes answers that are too old to be replayed, in every environment, a portion at a time. Answers how many. */
export async function forgetOldAnswersOnce({ database }: JobContext): Promise<number> {
  const before = Date.now() - idempotencyLifetimeMs;
  const { rows } = await sql<{ count: number }>`
    select forget_old_answers(${before}, ${forgetAtOnce}) as count`.execute(database);
  return rows[0]?.count ?? 0;
}

/** Housekeeping of this folder, by the name of its job. */
export const idempotencyTasks: TaskList = {
  async forget_old_answers(context) {
    await forgetOldAnswersOnce(context);
  },
};
