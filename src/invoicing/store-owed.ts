import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { InvoiceReason } from './invoice.ts';

/** The billing periods of these subscriptions with an unpaid invoice. */
export async function listOwedPeriods(work: Work, subscriptionIds: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ billingPeriodId: string }>`
    select distinct billing_period_id from invoices
     where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds}::text[])
       and status in ('open', 'awaiting_payment_confirmation') and billing_period_id is not null`.execute(work.db);
  return new Set(rows.map((row) => row.billingPeriodId));
}

/** An unpaid invoice. */
export interface OwedInvoice {
  readonly id: string;
  readonly subscriptionId: string;
  readonly reason: InvoiceReason;
  /** Failed attempts to collect it. */
  readonly attemptCount: number;
}

/** The open and pending invoices of these subscriptions, oldest first. */
export async function listOwedInvoices(work: Work, subscriptionIds: readonly string[]): Promise<OwedInvoice[]> {
  const { rows } = await sql<OwedInvoice>`
    select id, subscription_id, reason, attempt_count from invoices
     where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds}::text[])
       and status in ('open', 'awaiting_payment_confirmation')
     order by id`.execute(work.db);
  return rows;
}
