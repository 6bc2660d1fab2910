import assert from 'node:assert/strict';
import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { BillingPeriods } from '../database/database-types.ts';
import { instantOfColumn, type Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { BillingPeriodRow, BillingPeriodStatus } from './billing-period.ts';
import type { SubscriptionRow } from './subscription.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'subscriptionId',
  'startAt',
  'endAt',
  'status',
  'trialPeriod',
  'wholeStartAt',
  'wholeEndAt',
  'keptValue',
  'pausedTimeRefunded',
  'prorationWaived',
  'creditsAwaitPayment',
  'discountStartAt',
  'discountEndAt',
  'roundingCarried',
] as const;

type StoredPeriod = Pick<Selectable<BillingPeriods>, (typeof columns)[number]>;

function toRow(row: StoredPeriod): BillingPeriodRow {
  // The constraint billing_periods_status allows these statuses only.
  return row as BillingPeriodRow;
}

function select(work: Work) {
  return work.db.selectFrom('billingPeriods').select(columns).where('environmentId', '=', work.environmentId);
}

/**
 * False for a period that was left at its own start: another one has that start. Matches the predicate of the unique
 * index.
 */
export function holdsItsStart(table: string): RawBuilder<boolean> {
  const [status, endAt, startAt] = ['status', 'end_at', 'start_at'].map((column) => sql.ref(`${table}.${column}`));
  return sql<boolean>`not (${status} = 'canceled' and ${endAt} = ${startAt})`;
}

/** Null if there is none with this id. */
export async function findBillingPeriod(work: Work, id: string): Promise<BillingPeriodRow | null> {
  const row = await select(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** The subscription's current period; null if it has none. */
export async function findCurrentBillingPeriod(
  work: Work,
  subscription: Pick<SubscriptionRow, 'id' | 'currentBillingPeriodStart'>,
): Promise<BillingPeriodRow | null> {
  if (subscription.currentBillingPeriodStart === null) return null;
  const row = await select(work)
    .where('subscriptionId', '=', subscription.id)
    .where('startAt', '=', subscription.currentBillingPeriodStart)
    .where(holdsItsStart('billingPeriods'))
    .executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** The current period of each subscription that has one. */
export async function findCurrentBillingPeriods(
  work: Work,
  subscriptions: readonly Pick<SubscriptionRow, 'id' | 'currentBillingPeriodStart'>[],
): Promise<BillingPeriodRow[]> {
  if (subscriptions.length === 0) return [];
  const { rows } = await sql<StoredPeriod>`
    select ${sql.join(columns.map((column) => sql.ref(`p.${column}`)))}
      from unnest(
             ${subscriptions.map(({ id }) => id)}::text[],
             ${subscriptions.map(({ currentBillingPeriodStart }) => currentBillingPeriodStart)}::bigint[]
           ) as asked (subscription_id, start_at)
      join billing_periods p on p.environment_id = ${work.environmentId}
       and p.subscription_id = asked.subscription_id and p.start_at = asked.start_at and ${holdsItsStart('p')}`.execute(
    work.db,
  );
  return rows.map(toRow);
}

/** The periods that ended where these began. */
export async function listPeriodsBefore(work: Work, ids: readonly string[]): Promise<BillingPeriodRow[]> {
  const { rows } = await sql<BillingPeriodRow>`
    select before.* from billing_periods p
     cross join lateral (
       select b.* from billing_periods b
        where b.environment_id = p.environment_id and b.subscription_id = p.subscription_id and b.start_at < p.start_at
          and b.status <> 'canceled' order by b.start_at desc limit 1) before
     where p.environment_id = ${work.environmentId} and p.id = any(${ids}::text[])`.execute(work.db);
  return rows.map(toRow);
}

/** The last period of each subscription that began before an instant. */
export async function listPeriodsBegunBefore(
  work: Work,
  subscriptionIds: readonly string[],
  before: Instant,
): Promise<BillingPeriodRow[]> {
  const { rows } = await sql<StoredPeriod>`
    select last.* from unnest(${subscriptionIds}::text[]) asked (id)
     cross join lateral (
       select ${sql.join(columns.map((column) => sql.ref(`p.${column}`)))} from billing_periods p
        where p.environment_id = ${work.environmentId} and p.subscription_id = asked.id
          and p.start_at < ${before}::bigint and ${holdsItsStart('p')}
        order by p.start_at desc limit 1) last`.execute(work.db);
  return rows.map(toRow);
}

export async function insertBillingPeriod(work: Work, period: BillingPeriodRow): Promise<void> {
  await insertBillingPeriods(work, [period]);
}

/** A second period of a subscription with the same start fails: nothing begins twice. */
export async function insertBillingPeriods(work: Work, periods: readonly BillingPeriodRow[]): Promise<void> {
  if (periods.length === 0) return;
  const all = <Key extends keyof BillingPeriodRow>(key: Key) => periods.map((period) => period[key]);
  await sql`
    insert into billing_periods (environment_id, id, pricing_model_id, subscription_id, start_at, end_at, status,
           trial_period, whole_start_at, proration_waived, credits_await_payment, discount_start_at, discount_end_at,
           rounding_carried, created_at, updated_at)
    select ${work.environmentId}, new.*
      from one_row, unnest(
             ${all('id')}::text[], ${all('pricingModelId')}::text[], ${all('subscriptionId')}::text[],
             ${all('startAt')}::bigint[], ${all('endAt')}::bigint[], ${all('status')}::text[],
             ${all('trialPeriod')}::boolean[], ${all('wholeStartAt')}::bigint[], ${all('prorationWaived')}::numeric[],
             ${all('creditsAwaitPayment')}::boolean[], ${all('discountStartAt')}::bigint[], ${all('discountEndAt')}::bigint[],
             ${all('roundingCarried')}::numeric[], ${all('createdAt')}::bigint[], ${all('updatedAt')}::bigint[]) as new`.execute(
    work.db,
  );
}

/** A period whose credits await its payment. `isFirst`: its subscription had no period before it. */
type AwaitingPeriod = BillingPeriodRow & { readonly isFirst: boolean };

/** The periods of these subscriptions whose credits await their payment. */
export async function listPeriodsAwaitingCredits(
  work: Work,
  subscriptionIds: readonly string[],
): Promise<AwaitingPeriod[]> {
  if (subscriptionIds.length === 0) return [];
  const rows = await select(work)
    .select(
      sql<boolean>`not exists (select from billing_periods earlier
        where earlier.environment_id = billing_periods.environment_id
          and earlier.subscription_id = billing_periods.subscription_id
          and earlier.start_at < billing_periods.start_at and earlier.status <> 'canceled')`.as('isFirst'),
    )
    .where('subscriptionId', '=', sql<string>`any(${subscriptionIds}::text[])`)
    .where('creditsAwaitPayment', '=', true)
    .where('status', '!=', 'canceled')
    .orderBy('startAt')
    .execute();
  return rows.map(({ isFirst, ...row }) => ({ ...toRow(row), isFirst }));
}

/** A period that is the rest of the interval of a paused one. */
interface ResumedRest {
  readonly billingPeriodId: string;
  readonly at: Instant;
  readonly pausedPeriodId: string;
  readonly pausedAt: Instant;
}

/** The periods among these that go on with the interval of the paused period before them. */
export async function listResumedRests(work: Work, ids: readonly string[]): Promise<ResumedRest[]> {
  const { rows } = await sql<ResumedRest>`
    select p.id as billing_period_id, p.start_at as at, paused.id as paused_period_id, paused.end_at as paused_at
      from billing_periods p
     cross join lateral (
       select earlier.id, earlier.end_at, earlier.whole_end_at from billing_periods earlier
        where earlier.environment_id = p.environment_id and earlier.subscription_id = p.subscription_id
          and earlier.start_at < p.start_at
        order by earlier.start_at desc limit 1) paused
     where p.environment_id = ${work.environmentId} and p.id = any(${ids}::text[]) and paused.whole_end_at = p.end_at`.execute(
    work.db,
  );
  return rows;
}

/** Records that the credits of these periods have been granted. */
export async function noteCreditsGranted(work: Work, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await work.db
    .updateTable('billingPeriods')
    .set({ creditsAwaitPayment: false, updatedAt: instantOfColumn(work, 'subscription_id') })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .execute();
}

/**
 * Restarts a period that was canceled before it was paid. Returns null if the subscription has none with this start.
 * The caller has locked the subscription.
 */
export async function reviveBillingPeriod(
  work: Work,
  { subscriptionId, startAt, endAt, wholeStartAt }: BillingPeriodRow,
): Promise<BillingPeriodRow | null> {
  const row = await work.db
    .updateTable('billingPeriods')
    .set({ status: 'active', endAt, wholeStartAt, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', subscriptionId)
    .where('startAt', '=', startAt)
    .where('status', '=', 'canceled')
    .where(holdsItsStart('billingPeriods'))
    .returning(columns)
    .executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** Cancels a period that was never paid and granted nothing. */
export async function cancelBillingPeriod(work: Work, id: string): Promise<void> {
  await work.db
    .updateTable('billingPeriods')
    .set({ status: 'canceled', updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/**
 * Ends a period because its subscription is paused; the next one begins on resume. The caller has locked the
 * subscription.
 */
export function endPeriodInPause(
  work: Work,
  { id, endAt: wholeEndAt }: BillingPeriodRow,
  endAt: Instant,
): Promise<BillingPeriodRow> {
  return savePeriod(work, id, { status: 'completed', endAt, wholeEndAt });
}

/** Undoes that, and returns the reopened period. */
export function reopenPausedPeriod(work: Work, { id, wholeEndAt }: BillingPeriodRow): Promise<BillingPeriodRow> {
  assert(wholeEndAt !== null, 'a pause has cut the period short');
  return savePeriod(work, id, { status: 'active', endAt: wholeEndAt, wholeEndAt: null, keptValue: 0n });
}

/**
 * Ends a period at `endAt` because another one begins there. One of no duration is canceled, and leaves its start to the
 * other one.
 */
export async function endPeriodEarly(
  work: Work,
  { id, startAt, endAt: wholeEndAt }: BillingPeriodRow,
  endAt: Instant,
  keptValue: bigint,
): Promise<void> {
  await savePeriod(work, id, { status: endAt === startAt ? 'canceled' : 'completed', endAt, wholeEndAt, keptValue });
}

/** Moves the end of a trial period. */
export async function moveTrialPeriodEnd(work: Work, id: string, endAt: Instant): Promise<void> {
  await savePeriod(work, id, { endAt });
}

/** Saves what is kept of a paused period, or what was refunded of the paused time on its invoices. */
export async function saveKeptValue(
  work: Work,
  id: string,
  change: Partial<Pick<BillingPeriodRow, 'keptValue' | 'pausedTimeRefunded'>>,
): Promise<void> {
  await savePeriod(work, id, change);
}

async function savePeriod(work: Work, id: string, change: Partial<BillingPeriodRow>): Promise<BillingPeriodRow> {
  const row = await work.db
    .updateTable('billingPeriods')
    .set({ ...change, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirst();
  assert(row, `no billing period ${id}`);
  return toRow(row);
}

/** Identifies a period by its subscription and start. */
interface PeriodKey {
  readonly subscriptionId: string;
  readonly startAt: Instant;
}

/**
 * Closes periods that are over: unpaid ones (`owedPeriodIds`) become past due, others completed. Periods closed
 * otherwise stay as they are.
 */
export async function closeBillingPeriods(
  work: Work,
  periods: readonly PeriodKey[],
  owedPeriodIds: ReadonlySet<string>,
): Promise<void> {
  if (periods.length === 0) return;
  await sql`
    update billing_periods p
       set status = case when p.id = any(${[...owedPeriodIds]}::text[]) then 'past_due' else 'completed' end,
           updated_at = ${instantOfColumn(work, 'p.subscription_id')}
      from unnest(
             ${periods.map((period) => period.subscriptionId)}::text[],
             ${periods.map((period) => period.startAt)}::bigint[]) as over (subscription_id, start_at)
     where p.environment_id = ${work.environmentId} and p.subscription_id = over.subscription_id
       and p.start_at = over.start_at and p.status not in ('completed', 'canceled')`.execute(work.db);
}

/** Completes the past due ones of these periods: they have been paid or written off. */
export async function completePaidPeriods(work: Work, ids: readonly string[]): Promise<void> {
  await movePeriods(work, ids, { from: 'past_due', to: 'completed' });
}

/** Makes the completed ones of these periods past due: their payment has been reversed. */
export async function reopenPaidPeriods(work: Work, ids: readonly string[]): Promise<void> {
  await movePeriods(work, ids, { from: 'completed', to: 'past_due' });
}

async function movePeriods(
  work: Work,
  ids: readonly string[],
  { from, to }: { from: BillingPeriodStatus; to: BillingPeriodStatus },
): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    update billing_periods set status = ${to}, updated_at = ${instantOfColumn(work, 'subscription_id')}
     where environment_id = ${work.environmentId} and id = any(${ids}::text[]) and status = ${from}`.execute(work.db);
}

/**
 * Ends the periods of a subscription that ends at `at`. A started one is completed and ends then at the latest; a
 * future or unpaid one is canceled. Periods that ended before stay as they are.
 */
export async function endBillingPeriods(work: Work, subscriptionId: string, at: Instant): Promise<void> {
  await sql`
    update billing_periods
       set status = case when start_at > ${at} or status = 'past_due' then 'canceled' else 'completed' end,
           end_at = case when start_at > ${at} then end_at else least(end_at, ${at}) end,
           updated_at = ${work.now}
     where environment_id = ${work.environmentId} and subscription_id = ${subscriptionId}
       and status not in ('completed', 'canceled')`.execute(work.db);
}

/** Marks the periods from the end of a scheduled cancellation on, or removes the mark. */
export async function markScheduledToCancel(work: Work, subscriptionId: string, scheduled: boolean): Promise<void> {
  const from: BillingPeriodStatus = scheduled ? 'upcoming' : 'scheduled_to_cancel';
  const to: BillingPeriodStatus = scheduled ? 'scheduled_to_cancel' : 'upcoming';
  await work.db
    .updateTable('billingPeriods')
    .set({ status: to, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('subscriptionId', '=', subscriptionId)
    .where('status', '=', from)
    .execute();
}
