import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type AttemptKind, type AttemptScope, attemptDayMs, attemptDelays, hasDelays } from './attempt.ts';

/** A scope of an attempt, with the name of its subject and its limit. */
export interface CountedScope {
  readonly scope: AttemptScope;
  readonly subject: string;
  readonly limit: number;
}

interface TakenScope {
  readonly scope: AttemptScope;
  readonly isRefused: boolean;
  /** When the next attempt may be made. */
  readonly until: Instant;
  /** Whether this attempt has reached the limit. */
  readonly isLast: boolean;
}

/** Takes one attempt of each scope. If one of them has none left, its answer is the last, and the caller rolls back. */
export async function takeAttempt(
  work: Work,
  kind: AttemptKind,
  scopes: readonly CountedScope[],
): Promise<readonly TakenScope[]> {
  const { rows } = await sql<TakenScope>`
    select scope, is_refused, until, is_last
      from take_attempt(${kind}, ${scopes.map(({ scope }) => scope)}::text[],
        ${scopes.map(({ subject }) => subject)}::text[], ${scopes.map(({ limit }) => limit)}::integer[],
        ${attemptDayMs}::bigint, ${work.now}::bigint)`.execute(work.db);
  return rows;
}

/** Whether one of the scopes would refuse an attempt now, and until when; null if none. Locks nothing. */
export async function findRefusal(
  work: Work,
  kind: AttemptKind,
  scopes: readonly CountedScope[],
): Promise<Pick<TakenScope, 'scope' | 'until'> | null> {
  const { rows } = await sql<Pick<TakenScope, 'scope' | 'until'>>`
    select c.scope, case when c.failures >= asked.most then c.counted_from + ${attemptDayMs}::bigint else c.next_at end as until
      from unnest(${idsOf(kind, scopes)}::text[], ${scopes.map(({ limit }) => limit)}::integer[]) as asked (id, most)
      join attempt_counts c on c.environment_id = ${work.environmentId} and c.id = asked.id
     where c.counted_from between ${work.now - attemptDayMs + 1}::bigint and ${work.now}::bigint
       and (c.failures >= asked.most or c.next_at > ${work.now}::bigint)
     order by until desc limit 1`.execute(work.db);
  return rows[0] ?? null;
}

function idsOf(kind: AttemptKind, scopes: readonly Omit<CountedScope, 'limit'>[]): string[] {
  return scopes.map(({ scope, subject }) => `${kind} ${scope} ${subject}`);
}

/**
 * Takes `count` failures off each scope, at most as many as there are. A count without failures is deleted. One
 * statement locks the counts in the order of the scopes.
 */
export async function giveBackAttempt(
  work: Work,
  kind: AttemptKind,
  scopes: readonly Omit<CountedScope, 'limit'>[],
  { count, endsWait }: { readonly count: number; readonly endsWait: boolean },
): Promise<void> {
  await sql`
    with held as (
      select c.id, c.failures <= ${count}::integer and c.reached_at is null as is_unused
        from unnest(${idsOf(kind, scopes)}::text[]) with ordinality as named (id, place)
        join attempt_counts c on c.environment_id = ${work.environmentId} and c.id = named.id
       order by named.place for no key update of c
    ), unused as (
      delete from attempt_counts c using held
       where c.environment_id = ${work.environmentId} and c.id = held.id and held.is_unused
    )
    update attempt_counts c
       set failures = greatest(0, c.failures - ${count}::integer),
           next_at = case when ${endsWait}::boolean then least(c.next_at, ${work.now}::bigint) else c.next_at end
      from held
     where c.environment_id = ${work.environmentId} and c.id = held.id and not held.is_unused`.execute(work.db);
}

/** Makes the next attempt wait after one that failed. */
export async function delayNextAttempt(
  work: Work,
  kind: AttemptKind,
  scopes: readonly Omit<CountedScope, 'limit'>[],
): Promise<void> {
  const delayed = scopes.filter(({ scope }) => hasDelays(scope));
  await sql`
    with held as (
      select c.id from unnest(${idsOf(kind, delayed)}::text[]) with ordinality as named (id, place)
        join attempt_counts c on c.environment_id = ${work.environmentId} and c.id = named.id
       order by named.place for no key update of c
    )
    update attempt_counts c
       set next_at = greatest(c.next_at, ${work.now}::bigint
             + coalesce((${attemptDelays}::bigint[])[least(c.failures, ${attemptDelays.length}::integer)], 0))
      from held
     where c.environment_id = ${work.environmentId} and c.id = held.id`.execute(work.db);
}

/** Whether all attempts of the scope are used up. */
export async function isUsedUp(work: Work, kind: AttemptKind, scope: CountedScope): Promise<boolean> {
  const row = await work.db
    .selectFrom('attemptCounts')
    .select('failures')
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${idsOf(kind, [scope])}::text[])`)
    .executeTakeFirst();
  return scope.limit > 0 && (row?.failures ?? 0) >= scope.limit;
}

/** Deletes up to `limit` counts that nobody needs any more, in every environment. Returns their number. */
export async function forgetAttempts(database: Database, before: number, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select forget_attempts(${before}::bigint, ${limit}::integer) as count`.execute(database);
  return rows[0]?.count ?? 0;
}
