import { type RawBuilder, sql } from 'kysely';
import type { Work } from '../database/work.ts';
import { calendarEnd, type Instant } from '../kernel/calendar.ts';
import { currentStatuses } from './subscription.ts';

// In the words of the index of what is due, so that it is used; as literals, or a prepared plan could not know it.
const isRenewing = sql<boolean>`s.renews and s.status in (${sql.join(currentStatuses.map((status) => sql.lit(status)))})`;

// One that is to end by the end of its period ends instead of going into the next.
const goesOn = sql<boolean>`${isRenewing}
    and (s.cancel_scheduled_at is null or s.cancel_scheduled_at > s.current_billing_period_end)`;

// At the end of the calendar nothing begins any more.
const lastRenewal = calendarEnd - 1;

/** True for a subscription `s` whose current period is over: the next one has to begin. */
function isRenewalDue(now: Instant): RawBuilder<boolean> {
  return sql<boolean>`${goesOn} and s.current_billing_period_end <= ${Math.min(now, lastRenewal)}::bigint`;
}

/** When something is due for a subscription `s`: its end, its going on after a pause, or its renewal. Null where nothing is. */
export const dueAt = sql<Instant | null>`
  least(case when s.status = 'cancellation_scheduled' then s.cancel_scheduled_at end, s.resumes_at,
        case when ${goesOn} and s.current_billing_period_end <= ${sql.lit(lastRenewal)} then s.current_billing_period_end end)`;

/** True where no due work failed lately: what failed is left alone for a while, in real time. */
function mayBeWorkedOn(): RawBuilder<boolean> {
  return sql<boolean>`(s.work_retry_at is null or s.work_retry_at <= ${Date.now()}::bigint)`;
}

/** True for a subscription `s` for which something is due by now and has not been done. Else false, never null. */
export function isBehind(now: Instant): RawBuilder<boolean> {
  return sql<boolean>`coalesce(${dueAt} <= ${now}::bigint and ${mayBeWorkedOn()}, false)`;
}

/** Those of the subscriptions for which something is due. Nothing is held. */
export async function findBehind(work: Work, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select s.id from subscriptions s
     where s.environment_id = ${work.environmentId} and s.id = any(${ids}::text[]) and ${isBehind(work.now)}
     order by s.id`.execute(work.db);
  return rows.map((row) => row.id);
}

// What starts comes first: it may take the place of a free plan whose period is over at the same instant.
const hasBegun = sql<boolean>`s.current_billing_period_start < s.current_billing_period_end`;

/**
 * Holds up to `limit` subscriptions whose period is over, and their customers: the longest due first, stepping over what
 * somebody else holds. With `only`: of these, waiting for whoever holds them. Answers their ids.
 */
export async function claimRenewals(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select s.id
      from customers c join subscriptions s on s.environment_id = c.environment_id and s.customer_id = c.id
     where c.environment_id = ${work.environmentId} and s.environment_id = ${work.environmentId}
       and ${isRenewalDue(work.now)} and ${mayBeWorkedOn()}
       ${only === undefined ? sql`` : sql`and s.id = any(${only}::text[])`}
     order by ${only === undefined ? sql`s.current_billing_period_end, ${hasBegun}, s.id` : sql`c.id, s.id`}
     limit ${limit}
       for no key update of c, s ${only === undefined ? sql`skip locked` : sql``}`.execute(work.db);
  return rows.map((row) => row.id);
}
