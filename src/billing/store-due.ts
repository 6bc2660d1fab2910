import assert from 'node:assert/strict';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Work } from '../database/work.ts';
import { calendarEnd, type Instant } from '../kernel/calendar.ts';
import { formatId, type IdKind } from '../kernel/id.ts';
import { hasInterim, isNext } from '../subscriptions/store-renewals.ts';
import { currentStatuses } from '../subscriptions/subscription.ts';
import { endsByItself } from '../usage/store-balances.ts';

/** All kinds of due work, in order of execution at one instant. */
const dueKinds = [
  'notice',
  'check',
  'cancel',
  'expire',
  'resume',
  'finalize',
  'threshold',
  'interim',
  'renew',
  'dun',
  'creditsEnd',
  'topUp',
] as const;
export type DueKind = (typeof dueKinds)[number];

/** The next due work of an environment. */
interface Agenda {
  /** The earliest due time of each kind; null if none will ever be due. */
  readonly dueAt: Readonly<Record<DueKind, Instant | null>>;
  /** The move of the test clock; null if it is not moving. */
  readonly move: { readonly from: Instant; readonly target: Instant } | null;
  /** While the clock moves: requested charges that were not made yet, newest first. */
  readonly unsent: readonly string[];
}

// Literals that match the partial indexes: a prepared statement could not match parameters.
const renewing = sql.join(currentStatuses.map((status) => sql.lit(status)));
// More than a round can settle is not worth reading.
const unsentAtOnce = 100;

const isToRenew = sql`s.renews and s.status in (${renewing}) and s.current_billing_period_end < ${sql.lit(calendarEnd)}
  and (s.cancel_scheduled_at is null or s.cancel_scheduled_at > s.current_billing_period_end) and ${isNext}`;

/** True for a subscription `s`, or none, unless work on it failed recently. */
function isReady() {
  return sql`(s.work_retry_at is null or s.work_retry_at <= ${Date.now()}::bigint)`;
}

/**
 * True for an invoice `i` whose subscription has no other charge that is still to be made. A declined charge may end
 * the subscription, so its other invoices wait for the outcome, also while the processor does not respond.
 */
const isNextToCharge = sql`not exists (
  select from payments p where p.environment_id = i.environment_id and p.subscription_id = i.subscription_id
     and p.status = 'processing' and p.processor_reference is null and p.invoice_id is distinct from i.id)`;

/**
 * The next due time of every kind in the environment `e`, each from the first row of an index. `ready` holds for the
 * subscriptions `s` that count.
 */
function dueTimes(ready: RawBuilder<unknown>, incompleteLifetimeMs: number): RawBuilder<unknown> {
  const ofSubscriptions = sql`from subscriptions s where s.environment_id = e.id and ${ready}`;
  return sql`
      (select p.check_at from payments p
         left join subscriptions s on s.environment_id = p.environment_id and s.id = p.subscription_id
        where p.environment_id = e.id and p.check_at is not null and ${ready} order by p.check_at limit 1) as "check",
      (select s.cancel_scheduled_at ${ofSubscriptions} and s.status = 'cancellation_scheduled'
          and (s.current_billing_period_end is null or not s.renews or s.cancel_scheduled_at <= s.current_billing_period_end)
        order by s.cancel_scheduled_at limit 1) as cancel,
      (select s.created_at ${ofSubscriptions} and s.status = 'incomplete' and s.current_billing_period_start is null
        order by s.created_at limit 1) + ${incompleteLifetimeMs}::bigint as expire,
      (select s.resumes_at ${ofSubscriptions} and s.resumes_at is not null order by s.resumes_at limit 1) as resume,
      (select i.finalizes_at from invoices i
         join subscriptions s on s.environment_id = i.environment_id and s.id = i.subscription_id
        where i.environment_id = e.id and i.finalizes_at is not null and ${ready}
        order by i.finalizes_at limit 1) as finalize,
      (select t.due_at from usage_threshold_checks t
         join subscriptions s on s.environment_id = t.environment_id and s.id = t.subscription_id
        where t.environment_id = e.id and ${ready} order by t.due_at limit 1) as threshold,
      (select s.interim_at ${ofSubscriptions} and ${hasInterim} order by s.interim_at limit 1) as interim,
      (select s.current_billing_period_end ${ofSubscriptions} and ${isToRenew}
        order by s.current_billing_period_end limit 1) as renew,
      (select i.next_attempt_at from invoices i
         left join subscriptions s on s.environment_id = i.environment_id and s.id = i.subscription_id
        where i.environment_id = e.id and i.next_attempt_at is not null and (s.id is not null or i.reason = 'renewal') and ${ready} and ${isNextToCharge}
        order by i.next_attempt_at limit 1) as dun,
      (select c.expires_at from usage_credits c where c.environment_id = e.id and ${endsByItself} order by c.expires_at limit 1) as credits_end,
      (select t.due_at from auto_top_up_checks t where t.environment_id = e.id order by t.due_at limit 1) as top_up,
      least(${sql.join(
        notices.map(
          ({ table, isAwaited }) => sql`
        (select r.notice_at from ${sql.table(table)} r
          where r.environment_id = e.id and r.notice_at is not null and ${isAwaited} order by r.notice_at limit 1)`,
        ),
      )}) as notice`;
}

/** The records with a date of which an event tells, and whether it still concerns them. */
const notices: readonly { readonly table: string; readonly isAwaited: RawBuilder<boolean> }[] = [
  {
    table: 'invoices',
    // A payment that is in flight, or an attempt that is due by then, may still be in time.
    isAwaited: sql<boolean>`r.status = 'open' and (r.next_attempt_at is null or r.next_attempt_at > r.notice_at) and not exists (
      select from payments p where p.environment_id = r.environment_id and p.invoice_id = r.id
         and p.status in ('processing', 'requires_confirmation', 'requires_action'))`,
  },
  { table: 'subscriptions', isAwaited: sql<boolean>`r.status = 'trialing'` },
  { table: 'payment_methods', isAwaited: sql<boolean>`r.detached_at is null` },
];

/**
 * Locks up to `limit` records of which an event tells by now, skipping locked ones; with `only`, just these, waiting for
 * their locks. Returns the ids.
 */
export async function takeNotices(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const { table, isAwaited } of notices) {
    if (ids.length >= limit) break;
    const { rows } = await sql<{ id: string }>`
      select r.id from ${sql.table(table)} r
       where r.environment_id = ${work.environmentId} and r.notice_at <= ${work.now}::bigint and ${isAwaited}
         ${only === undefined ? sql`` : sql`and r.id = any(${only}::text[])`}
       order by r.notice_at, r.id limit ${limit - ids.length}
         for no key update of r ${only === undefined ? sql`skip locked` : sql``}`.execute(work.db);
    ids.push(...rows.map(({ id }) => id));
  }
  return ids;
}

/**
 * The next due time of every kind in one statement. Excludes recent failures, as the locking queries do. `passedOver`
 * are charges that could not be made in this run.
 */
export async function readAgenda(
  work: Work,
  incompleteLifetimeMs: number,
  passedOver: readonly string[],
): Promise<Agenda> {
  const { rows } = await sql<
    Record<DueKind, Instant | null> & { clockFrom: Instant; target: Instant | null; unsent: string[] | null }
  >`
    select e.clock_from, e.clock_target as target,
      ${dueTimes(isReady(), incompleteLifetimeMs)},
      case when e.clock_target is not null then array(select p.id from payments p
        where p.environment_id = e.id and p.status = 'processing' and p.processor_reference is null
          and p.id <> all(${passedOver}::text[]) order by p.id desc limit ${unsentAtOnce}) end as unsent
      from environments e where e.id = ${work.environmentId}`.execute(work.db);
  const [row] = rows;
  if (row === undefined) throw new Error('the environment of the work exists');
  const { clockFrom: from, target, unsent, ...dueAt } = row;
  return { dueAt, move: target === null ? null : { from, target }, unsent: unsent ?? [] };
}

/**
 * Locks invoices due for a retry, longest due first, but those with a charge still to be made: `takeDueInvoices`. Consolidated
 * ones follow, with their customers, whose subscriptions nobody changes without that lock.
 */
export async function takeAttempts(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  const due = { dueAt: sql.ref('i.next_attempt_at'), also: sql`and ${isNextToCharge}`, limit, only };
  const ids = await takeDueInvoices(work, due);
  if (ids.length >= limit) return ids;
  const { rows } = await sql<{ id: string }>`
    select i.id
      from invoices i join customers c on c.environment_id = i.environment_id and c.id = i.customer_id
     where i.environment_id = ${work.environmentId} and c.environment_id = ${work.environmentId}
       and i.next_attempt_at <= ${work.now}::bigint and i.subscription_id is null and i.reason = 'renewal'
       ${only === undefined ? sql`` : sql`and i.id = any(${only}::text[])`}
     order by ${only === undefined ? sql`i.next_attempt_at, i.id` : sql`c.id, i.id`}
     limit ${limit - ids.length}
       for no key update of c, i ${only === undefined ? sql`skip locked` : sql``}`.execute(work.db);
  return [...ids, ...rows.map(({ id }) => id)];
}

/** Locks drafts whose review is over, longest due first: `takeDueInvoices`. */
export function takeFinalizations(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  return takeDueInvoices(work, { dueAt: sql.ref('i.finalizes_at'), also: sql``, limit, only });
}

interface DueInvoices {
  /** The column with the instant at which they come due. */
  readonly dueAt: RawBuilder<unknown>;
  /** A further condition. */
  readonly also: RawBuilder<unknown>;
  readonly limit: number;
  readonly only: readonly string[] | undefined;
}

/**
 * Locks up to `limit` due invoices with their subscriptions and customers. Skips locked ones, and subscriptions with recent
 * failures. With `only`: just these, waiting for their locks. Returns the ids.
 */
async function takeDueInvoices(work: Work, { dueAt, also, limit, only }: DueInvoices): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select i.id
      from customers c
      join invoices i on i.environment_id = c.environment_id and i.customer_id = c.id
      join subscriptions s on s.environment_id = i.environment_id and s.id = i.subscription_id
     where c.environment_id = ${work.environmentId} and i.environment_id = ${work.environmentId}
       and ${dueAt} <= ${work.now}::bigint and (s.work_retry_at is null or s.work_retry_at <= ${Date.now()}::bigint)
       ${also}
       ${only === undefined ? sql`` : sql`and i.id = any(${only}::text[])`}
     order by ${only === undefined ? sql`${dueAt}, i.id` : sql`c.id, s.id, i.id`}
     limit ${limit}
       for no key update of c, s, i ${only === undefined ? sql`skip locked` : sql``}`.execute(work.db);
  return rows.map((row) => row.id);
}

/** The kinds of due work of which one transaction can do pieces of several instants, each as of its own. */
type StretchKind = 'renew' | 'interim';

// Matches the number of pieces of a transaction.
const stretchLimit = 500;

/**
 * The columns of a piece of this kind, which is a subscription `s`. One that an automatic top-up may follow is not plain: the
 * purchase is of the instant at which its credits end.
 */
function pieceColumns(kind: StretchKind): RawBuilder<unknown> {
  const dueAt = sql.ref(kind === 'renew' ? 's.current_billing_period_end' : 's.interim_at');
  return sql`s.id, s.customer_id, ${dueAt} as at,
    s.current_billing_period_start < s.current_billing_period_end and s.scheduled_adjustment_at is null and not exists (
      select from invoices draft where draft.environment_id = s.environment_id and draft.subscription_id = s.id
         and draft.finalizes_at is not null) and not exists (
      select from auto_top_ups t where t.environment_id = s.environment_id and t.customer_id = s.customer_id
         and t.stopped_at is null) as is_plain`;
}

/**
 * The end of the stretch of instants that begins with the earliest piece of this kind, at most `upTo`. A stretch has plain
 * pieces only, and one for each customer, so each customer keeps its order. Null: the first piece is not plain.
 */
export async function findStretchEnd(work: Work, kind: StretchKind, upTo: Instant): Promise<Instant | null> {
  const isDue =
    kind === 'renew' ? sql`${isToRenew} and s.current_billing_period_end` : sql`${hasInterim} and s.interim_at`;
  const { rows } = await sql<{ at: Instant | null }>`
    with piece as (
      select ${pieceColumns(kind)} from subscriptions s
       where s.environment_id = ${work.environmentId} and ${isReady()} and ${isDue} <= ${upTo}::bigint
       order by at limit ${stretchLimit}
    ), counted as (
      select at, is_plain, row_number() over (partition by customer_id order by at) as ordinal from piece
    ), beyond as (
      select min(at) as at from counted where not is_plain or ordinal > 1
    )
    select max(counted.at) as at from counted, beyond where beyond.at is null or counted.at < beyond.at`.execute(
    work.db,
  );
  return rows[0]?.at ?? null;
}

/** A piece of due work of a stretch. */
interface StretchPiece {
  readonly id: string;
  readonly customerId: string;
  readonly at: Instant;
  readonly isPlain: boolean;
}

/** These pieces, longest due first. */
export async function listStretchPieces(
  work: Work,
  kind: StretchKind,
  ids: readonly string[],
): Promise<StretchPiece[]> {
  const { rows } = await sql<StretchPiece>`
    select ${pieceColumns(kind)} from subscriptions s
     where s.environment_id = ${work.environmentId} and s.id = any(${ids}::text[]) order by at, s.id`.execute(work.db);
  return rows;
}

/** The subscription of a piece of due work: itself, or that of the payment or invoice; null without one. */
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
 * The milliseconds for which the oldest undone piece of due work has been due at `realNow`, over all environments
 * without a test clock. Pieces that failed recently count. With the worker's connection.
 */
export async function readDueLag(worker: Database, realNow: Instant, incompleteLifetimeMs: number): Promise<number> {
  const { rows } = await sql<{ lag: number }>`
    select greatest(max(${realNow}::bigint - least("check", cancel, expire, resume, finalize, threshold, interim, renew, dun, credits_end, top_up, notice)), 0)::bigint as lag
      from environments e cross join lateral (select ${dueTimes(sql`true`, incompleteLifetimeMs)}) as due
     where e.clock_now is null`.execute(worker);
  return rows[0]?.lag ?? 0;
}

/**
 * Enqueues a job for each environment with due work, in one statement. An already waiting job is not duplicated.
 * `realNow` is the time of environments without a test clock.
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

// The next minute enqueues again, so a failing job need not retry for days.
const jobAttempts = 5;

/** The work done while the test clock moved. */
export interface ClockWork {
  readonly periodsRenewed: number;
  readonly subscriptionsCanceled: number;
  readonly invoicesCreated: number;
  readonly paymentsSucceeded: number;
  readonly paymentsFailed: number;
  /** Credits that expired with a remainder. */
  readonly creditsExpired: number;
  readonly eventsCreated: number;
}

/** Counts records created since an instant of real time, by id: a range at the end of each primary key. */
export async function countWorkSince(work: Work, movedAt: number): Promise<ClockWork> {
  const since = (kind: IdKind) =>
    sql`environment_id = ${work.environmentId} and id >= ${formatId(kind, movedAt, 0, 0)}`;
  const events = (type: string) => sql`(select count(*) from events where ${since('event')} and type = ${type})`;
  const { rows } = await sql<ClockWork>`
    select
      (select count(*) from billing_periods p where ${since('billingPeriod')} and exists (
         select from billing_periods before where before.environment_id = p.environment_id
            and before.subscription_id = p.subscription_id and before.id < p.id and before.end_at = p.start_at)) as periods_renewed,
      ${events('subscription.canceled')} as subscriptions_canceled,
      (select count(*) from invoices where ${since('invoice')}) as invoices_created,
      ${events('payment.succeeded')} as payments_succeeded,
      ${events('payment.failed')} as payments_failed,
      (select count(*) from ledger_entries where ${since('ledgerEntry')} and credit_side = 'expired') as credits_expired,
      (select count(*) from events where ${since('event')}) as events_created`.execute(work.db);
  assert(rows[0]);
  return rows[0];
}
