import { type Selectable, sql } from 'kysely';
import type { Instant } from '../kernel/calendar.ts';
import type { BillingPeriods } from '../platform/database-types.ts';
import type { Work } from '../platform/work.ts';
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

export async function insertBillingPeriod(work: Work, period: BillingPeriodRow): Promise<void> {
  await work.db
    .insertInto('billingPeriods')
    .values({ ...period, environmentId: work.environmentId })
    .execute();
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
