import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import { calendarEnd, type Instant } from '../kernel/calendar.ts';
import { currentStatuses } from '../subscriptions/subscription.ts';

/** What can come due, in the order in which it is done where several things are due at one instant. */
export const dueKinds = ['check', 'cancel', 'expire', 'resume', 'renew', 'dun'] as const;
export type DueKind = (typeof dueKinds)[number];

/** What an environment has to do next. */
export interface Agenda {
  /** The earliest instant at which something of the kind is due, done by nobody yet; null when nothing ever will be. */
  readonly dueAt: Readonly<Record<DueKind, Instant | null>>;
  /** Where the test clock is being moved to; null when it is not. */
  readonly target: Instant | null;
  /** While the clock is being moved: charges that were asked for and have not been made, the newest first. */
  readonly unsent: readonly string[];
}

// As literals in the words of the partial indexes: a prepared statement could not know them otherwise.
const renewing = sql.join(currentStatuses.map((status) => sql.lit(status)));
// More than one round settles at a time are not worth carrying over.
const unsentAtOnce = 100;

const isToRenew = sql`s.renews and s.status in (${renewing}) and s.current_billing_period_end < ${sql.lit(calendarEnd)}
  and (s.cancel_scheduled_at is null or s.cancel_scheduled_at > s.current_billing_period_end)`;

/** True for a subscription `s`, or for none, unless work on it failed lately. */
function isReady() {
  return sql`(s.work_retry_at is null or s.work_retry_at <= ${Date.now()}::bigint)`;
}

/**
 * When something is due next, of every kind in one statement: each the first row of an index. What failed lately is left
 * out, as the claims leave it out. `passedOver` are charges that could not be made in this run.
 */
export async function readAgenda(
  work: Work,
  incompleteLifetimeMs: number,
  passedOver: readonly string[],
): Promise<Agenda> {
  const ready = isReady();
  const ofSubscriptions = sql`from subscriptions s where s.environment_id = e.id and ${ready}`;
  const { rows } = await sql<Record<DueKind, Instant | null> & { target: Instant | null; unsent: string[] | null }>`
    select e.clock_target as target,
      (select p.check_at from payments p
         left join subscriptions s on s.environment_id = p.environment_id and s.id = p.subscription_id
        where p.environment_id = e.id and p.check_at is not null and ${ready} order by p.check_at limit 1) as "check",
      (select s.cancel_scheduled_at ${ofSubscriptions} and s.status = 'cancellation_scheduled'
          and (s.current_billing_period_end is null or not s.renews or s.cancel_scheduled_at <= s.current_billing_period_end)
        order by s.cancel_scheduled_at limit 1) as cancel,
      (select s.created_at ${ofSubscriptions} and s.status = 'incomplete' and s.current_billing_period_start is null
        order by s.created_at limit 1) + ${incompleteLifetimeMs}::bigint as expire,
      (select s.resumes_at ${ofSubscriptions} and s.resumes_at is not null order by s.resumes_at limit 1) as resume,
      (select s.current_billing_period_end ${ofSubscriptions} and ${isToRenew}
        order by s.current_billing_period_end limit 1) as renew,
      (select i.next_attempt_at from invoices i
         join subscriptions s on s.environment_id = i.environment_id and s.id = i.subscription_id
        where i.environment_id = e.id and i.next_attempt_at is not null and ${ready}
        order by i.next_attempt_at limit 1) as dun,
      case when e.clock_target is not null then array(select p.id from payments p
        where p.environment_id = e.id and p.status = 'processing' and p.processor_reference is null
          and p.id <> all(${passedOver}::text[]) order by p.id desc limit ${unsentAtOnce}) end as unsent
      from environments e where e.id = ${work.environmentId}`.execute(work.db);
  const [row] = rows;
  if (row === undefined) throw new Error('the environment of the work exists');
  const { target, unsent, ...dueAt } = row;
  return { dueAt, target, unsent: unsent ?? [] };
}

/** The last instant up to `upTo` at which a renewal is due; null when none is. */
export async function findLastRenewal(work: Work, upTo: Instant): Promise<Instant | null> {
  const { rows } = await sql<{ at: Instant }>`
    select s.current_billing_period_end as at from subscriptions s
     where s.environment_id = ${work.environmentId} and ${isReady()} and ${isToRenew}
       and s.current_billing_period_end <= ${upTo}::bigint
     order by s.current_billing_period_end desc limit 1`.execute(work.db);
  return rows[0]?.at ?? null;
}

/** The subscription that a piece of due work is about: itself, or that of the payment or invoice; null without one. */
export async function findSubscriptionOfPiece(work: Work, id: string): Promise<string | null> {
  const { rows } = await sql<{ id: string | null }>`
    select id from subscriptions where environment_id = ${work.environmentId} and id = ${id}
    union all select subscription_id from payments where environment_id = ${work.environmentId} and id = ${id}
    union all select subscription_id from invoices where environment_id = ${work.environmentId} and id = ${id}`.execute(
    work.db,
  );
  return rows[0]?.id ?? null;
}

/**
 * Asks for a job in each environment in which something is due by its own time, all in one statement. One that waits
 * for a worker already is not asked for twice. `realNow` is the time of the environments without a test clock.
 */
export async function enqueueInDueEnvironments(
  database: Database,
  task: string,
  realNow: Instant,
  incompleteLifetimeMs: number,
): Promise<void> {
  await sql`
    select enqueue_job(${task}, json_build_object('environmentId', id), ${task} || ':' || id, null, ${jobAttempts}::integer)
      from environments_with_work_due(${realNow}, ${incompleteLifetimeMs}) as id`.execute(database);
}

// The next minute asks again, so a job that fails need not come back for days by itself.
const jobAttempts = 5;
