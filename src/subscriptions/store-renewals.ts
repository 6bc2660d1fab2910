import { type RawBuilder, sql } from 'kysely';
import type { Work } from '../database/work.ts';
import { calendarEnd, type Instant } from '../kernel/calendar.ts';
import { currentStatuses } from './subscription.ts';

// Matches the predicate of the partial index of due work; literals, because a prepared plan could not match parameters.
const isRenewing = sql<boolean>`s.renews and s.status in (${sql.join(currentStatuses.map((status) => sql.lit(status)))})`;

// A subscription that ends by the end of its period is not renewed.
const goesOn = sql<boolean>`${isRenewing}
    and (s.cancel_scheduled_at is null or s.cancel_scheduled_at > s.current_billing_period_end)`;

/** True for a subscription `s` that waits for its start, and one `before` whose scheduled end must come first. */
export const follows = sql<boolean>`s.current_billing_period_start = s.current_billing_period_end
    and before.environment_id = s.environment_id and before.customer_id = s.customer_id and before.id <> s.id
    and before.is_free_plan = s.is_free_plan and before.exclusive and s.exclusive
    and before.status = 'cancellation_scheduled' and before.cancel_scheduled_at <= s.current_billing_period_start`;

/** True for a subscription `s` unless it must wait for the end of the one before it. Cheap for all that have started. */
export const isNext = sql<boolean>`not (s.current_billing_period_start = s.current_billing_period_end
    and exists (select from subscriptions before where ${follows}))`;

// No period begins at the end of the calendar.
const lastRenewal = calendarEnd - 1;

/** True for a subscription `s` whose current period is over and has no interim left, so that the next must begin. */
function isRenewalDue(now: Instant): RawBuilder<boolean> {
  return sql<boolean>`${goesOn} and s.interim_at is null and s.current_billing_period_end <= ${Math.min(now, lastRenewal)}::bigint and ${isNext}`;
}

/** True for a subscription `s` with an interim that comes before its end, if it ever comes due. */
export const hasInterim = sql<boolean>`s.interim_at is not null
    and s.status in (${sql.join(currentStatuses.map((status) => sql.lit(status)))})
    and (s.cancel_scheduled_at is null or s.cancel_scheduled_at > s.interim_at)`;

/**
 * The next due time of a subscription `s`: its end, its resumption, an interim or its renewal. Null if there is none.
 */
export const dueAt = sql<Instant | null>`
  least(case when s.status = 'cancellation_scheduled' then s.cancel_scheduled_at end, s.resumes_at,
        case when ${hasInterim} then s.interim_at end,
        case when ${goesOn} and s.current_billing_period_end <= ${sql.lit(lastRenewal)} then s.current_billing_period_end end)`;

/** True unless due work failed recently: failures are deferred in real time. */
function mayBeWorkedOn(): RawBuilder<boolean> {
  return sql<boolean>`(s.work_retry_at is null or s.work_retry_at <= ${Date.now()}::bigint)`;
}

/** True for a subscription `s` with overdue work. Otherwise false, never null. */
export function isBehind(now: Instant): RawBuilder<boolean> {
  return sql<boolean>`coalesce(${dueAt} <= ${now}::bigint and ${mayBeWorkedOn()}, false)`;
}

/** The subscriptions with overdue work, and those that must end before one of these starts. Takes no locks. */
export async function findBehind(work: Work, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select s.id from subscriptions s
     where s.environment_id = ${work.environmentId} and ${isBehind(work.now)}
       and s.id = any(${ids}::text[] || array(
         select before.id from subscriptions s, subscriptions before
          where s.environment_id = ${work.environmentId} and s.id = any(${ids}::text[]) and ${follows}))
     order by s.id`.execute(work.db);
  return rows.map((row) => row.id);
}

/** Locks up to `limit` current subscriptions of a pricing model with an id after this one, in order of id. */
export async function lockCurrentOfModel(
  work: Work,
  { pricingModelId, after, limit }: { readonly pricingModelId: string; readonly after: string; readonly limit: number },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select s.id from subscriptions s
     where s.environment_id = ${work.environmentId} and s.id > ${after} and s.pricing_model_id = ${pricingModelId} and ${isRenewing}
     order by s.id limit ${limit} for no key update`.execute(work.db);
  return rows.map(({ id }) => id);
}

// Starts come first: one may replace a free plan whose period is over at the same instant.
const hasBegun = sql<boolean>`s.current_billing_period_start < s.current_billing_period_end`;

/**
 * Locks up to `limit` subscriptions whose period is over, and their customers: longest due first, skipping locked ones.
 * With `only`: just these, waiting for their locks. Returns the ids.
 */
export async function takeRenewals(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
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
