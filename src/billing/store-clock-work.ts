import assert from 'node:assert/strict';
import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import { formatId, type IdKind } from '../kernel/id.ts';

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
