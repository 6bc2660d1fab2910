import { type RawBuilder, sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { follows, hasInterim } from './store-renewals.ts';

/** Selects due subscriptions `s`: the condition, the time since when they are due, and the requested ids. */
interface Claim {
  readonly isDue: RawBuilder<boolean>;
  readonly dueSince: RawBuilder<Instant>;
  readonly limit: number;
  readonly only: readonly string[] | undefined;
}

/**
 * Locks due subscriptions and their customers, longest due first, skipping locked ones. With `only`: just these,
 * waiting for their locks. Skips recent failures. Returns the ids.
 */
export async function claimSubscriptions(work: Work, { isDue, dueSince, limit, only }: Claim): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select s.id
      from customers c join subscriptions s on s.environment_id = c.environment_id and s.customer_id = c.id
     where c.environment_id = ${work.environmentId} and s.environment_id = ${work.environmentId} and ${isDue}
       and (s.work_retry_at is null or s.work_retry_at <= ${Date.now()}::bigint)
       ${only === undefined ? sql`` : sql`and s.id = any(${only}::text[])`}
     order by ${only === undefined ? sql`${dueSince}, s.id` : sql`c.id, s.id`}
     limit ${limit}
       for no key update of c, s ${only === undefined ? sql`skip locked` : sql``}`.execute(work.db);
  return rows.map((row) => row.id);
}

/**
 * Locks subscriptions whose scheduled end has come. One whose period ends before that is renewed first: its end is due
 * once it lies in the current period.
 */
export function takeCancelDue(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  const isDue = sql<boolean>`s.status = 'cancellation_scheduled' and s.cancel_scheduled_at <= ${work.now}::bigint
    and (s.current_billing_period_end is null or not s.renews or s.cancel_scheduled_at <= s.current_billing_period_end)
    and (s.interim_at is null or s.cancel_scheduled_at <= s.interim_at)`;
  return claimSubscriptions(work, { isDue, dueSince: sql`s.cancel_scheduled_at`, limit, only });
}

/** Locks subscriptions that have been incomplete since `before` or longer and have no payment in flight. */
export function takeIncomplete(
  work: Work,
  before: Instant,
  limit: number,
  only?: readonly string[],
): Promise<string[]> {
  const isDue = sql<boolean>`s.status = 'incomplete' and s.current_billing_period_start is null
    and s.created_at <= ${before}::bigint`;
  return claimSubscriptions(work, { isDue, dueSince: sql`s.created_at`, limit, only });
}

/** Locks subscriptions with an interim that has come before the end of their period. */
export function takeInterims(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  const isDue = sql<boolean>`${hasInterim} and s.interim_at <= ${work.now}::bigint`;
  return claimSubscriptions(work, { isDue, dueSince: sql`s.interim_at`, limit, only });
}

/** Locks paused subscriptions whose resume date has come. */
export function takeResumeDue(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  const isDue = sql<boolean>`s.resumes_at <= ${work.now}::bigint`;
  return claimSubscriptions(work, { isDue, dueSince: sql`s.resumes_at`, limit, only });
}

/**
 * Defers work on a subscription until an instant of real time, because it failed, and the start of one that must wait for
 * its end.
 */
export async function setAside(work: Work, id: string, until: Instant): Promise<void> {
  await sql`
    update subscriptions set work_retry_at = ${until}
     where environment_id = ${work.environmentId} and id = any(array_append(array(
       select s.id from subscriptions before, subscriptions s
        where before.environment_id = ${work.environmentId} and before.id = ${id} and ${follows}), ${id}))`.execute(
    work.db,
  );
}

/** Clears all deferrals. */
export async function takeUpAgain(work: Work): Promise<void> {
  await work.db
    .updateTable('subscriptions')
    .set({ workRetryAt: null })
    .where('environmentId', '=', work.environmentId)
    .where('workRetryAt', 'is not', null)
    .execute();
}

/** Notes that the end of these trials was published. The caller has locked them. */
export async function endTrialNotices(work: Work, ids: readonly string[]): Promise<void> {
  await work.db
    .updateTable('subscriptions')
    .set({ noticeAt: null })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .execute();
}

/** Whether the environment has any subscription, in any status. */
export async function hasSubscriptions(work: Work): Promise<boolean> {
  const row = await work.db
    .selectFrom('subscriptions')
    .select('id')
    .where('environmentId', '=', work.environmentId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
