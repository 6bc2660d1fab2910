import assert from 'node:assert/strict';
import { type Selectable, sql } from 'kysely';
import type { BillingPeriods } from '../database/database-types.ts';
import type { Work } from '../database/work.ts';
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
  'prorationWaived',
  'creditsAwaitPayment',
] as const;

type StoredPeriod = Pick<Selectable<BillingPeriods>, (typeof columns)[number]>;

function toRow(row: StoredPeriod): BillingPeriodRow {
  // The constraint billing_periods_status allows these statuses only.
  return row as BillingPeriodRow;
}

function select(work: Work) {
  return work.db.selectFrom('billingPeriods').select(columns).where('environmentId', '=', work.environmentId);
}

export async function findBillingPeriod(work: Work, id: string): Promise<BillingPeriodRow | null> {
  const row = await select(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** The periods with these ids, in no particular order. */
export async function findBillingPeriods(work: Work, ids: readonly string[]): Promise<BillingPeriodRow[]> {
  if (ids.length === 0) return [];
  const rows = await select(work).where('id', '=', sql<string>`any(${ids}::text[])`).execute();
  return rows.map(toRow);
}

/** The period that the subscription says it is in; null when it has none. */
export async function findCurrentBillingPeriod(
  work: Work,
  subscription: Pick<SubscriptionRow, 'id' | 'currentBillingPeriodStart'>,
): Promise<BillingPeriodRow | null> {
  if (subscription.currentBillingPeriodStart === null) return null;
  const row = await select(work)
    .where('subscriptionId', '=', subscription.id)
    .where('startAt', '=', subscription.currentBillingPeriodStart)
    .executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** The period that each subscription says it is in, of those that have one. */
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
       and p.subscription_id = asked.subscription_id and p.start_at = asked.start_at`.execute(work.db);
  return rows.map(toRow);
}

export async function insertBillingPeriod(work: Work, period: BillingPeriodRow): Promise<void> {
  await insertBillingPeriods(work, [period]);
}

/** A second period with the start of another of the subscription fails: nothing begins twice. */
export async function insertBillingPeriods(work: Work, periods: readonly BillingPeriodRow[]): Promise<void> {
  if (periods.length === 0) return;
  const all = <Key extends keyof BillingPeriodRow>(key: Key) => periods.map((period) => period[key]);
  await sql`
    insert into billing_periods (environment_id, id, pricing_model_id, subscription_id, start_at, end_at, status,
           trial_period, whole_start_at, proration_waived, credits_await_payment, created_at, updated_at)
    select ${work.environmentId}, new.*
      from unnest(
             ${all('id')}::text[], ${all('pricingModelId')}::text[], ${all('subscriptionId')}::text[],
             ${all('startAt')}::bigint[], ${all('endAt')}::bigint[], ${all('status')}::text[],
             ${all('trialPeriod')}::boolean[], ${all('wholeStartAt')}::bigint[], ${all('prorationWaived')}::numeric[],
             ${all('creditsAwaitPayment')}::boolean[], ${all('createdAt')}::bigint[], ${all('updatedAt')}::bigint[]) as new`.execute(
    work.db,
  );
}

/** The credits of these periods have come. */
export async function noteCreditsGranted(work: Work, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await work.db
    .updateTable('billingPeriods')
    .set({ creditsAwaitPayment: false, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .execute();
}

/**
 * Begins a period that was canceled before it was paid for, as though it had not begun before. Answers null when the
 * subscription has none with this start. The caller holds it.
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
    .returning(columns)
    .executeTakeFirst();
  return row === undefined ? null : toRow(row);
}

/** Takes a period back that was never paid for and gave nothing. */
export async function cancelBillingPeriod(work: Work, id: string): Promise<void> {
  await work.db
    .updateTable('billingPeriods')
    .set({ status: 'canceled', updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** Ends a period because its subscription is paused: the next one begins when that goes on. The caller holds it. */
export async function endPeriodInPause(work: Work, id: string, at: Instant): Promise<void> {
  await savePeriodEnd(work, id, { status: 'completed', endAt: at, endsInPause: true });
}

/** Takes that back, and answers the period as it is then. */
export function reopenPausedPeriod(work: Work, id: string, endAt: Instant): Promise<BillingPeriodRow> {
  return savePeriodEnd(work, id, { status: 'active', endAt, endsInPause: false });
}

async function savePeriodEnd(
  work: Work,
  id: string,
  change: Pick<BillingPeriodRow, 'status' | 'endAt'> & { readonly endsInPause: boolean },
): Promise<BillingPeriodRow> {
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

/** Which period of which subscription: the one that begins there. */
export interface PeriodKey {
  readonly subscriptionId: string;
  readonly startAt: Instant;
}

/**
 * Closes periods that are over: one of which something is owed (`owedPeriodIds`) is past due, any other is completed.
 * A period that has ended otherwise stays as it is.
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
           updated_at = ${work.now}
      from unnest(
             ${periods.map((period) => period.subscriptionId)}::text[],
             ${periods.map((period) => period.startAt)}::bigint[]) as over (subscription_id, start_at)
     where p.environment_id = ${work.environmentId} and p.subscription_id = over.subscription_id
       and p.start_at = over.start_at and p.status not in ('completed', 'canceled')`.execute(work.db);
}

/** Of these periods those that are past due are completed: what they cost has been paid, or is not expected any more. */
export async function completePaidPeriods(work: Work, ids: readonly string[]): Promise<void> {
  await movePeriods(work, ids, { from: 'past_due', to: 'completed' });
}

/** Of these periods those that were completed are past due: what paid for them has been taken back. */
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
    update billing_periods set status = ${to}, updated_at = ${work.now}
     where environment_id = ${work.environmentId} and id = any(${ids}::text[]) and status = ${from}`.execute(work.db);
}

/**
 * Ends the periods of a subscription that ends at the instant: one that has begun is completed, and ends then at the
 * latest; one that lies ahead, or was never paid, is canceled. A period that had ended before stays as it is.
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

/** Marks the periods that begin at or after the end of a scheduled cancel, or takes the mark away again. */
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
