import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { InvoiceMoney, InvoiceReason } from '../invoicing/invoice.ts';
import { listAmountOf } from '../invoicing/store-collecting.ts';
import type { PlanInvoice } from '../rating/list-value.ts';
import { heldUsageLines } from '../subscriptions/store-adjustments.ts';

/** The fields of a period's invoice that a plan change needs. */
export interface PeriodInvoice extends InvoiceMoney, Omit<PlanInvoice, keyof InvoiceMoney> {
  readonly id: string;
  readonly billingPeriodId: string;
  readonly reason: InvoiceReason;
}

/** The invoices of these billing periods, oldest first. */
export async function listPeriodInvoices(
  work: Work,
  periods: readonly { readonly id: string; readonly subscriptionId: string }[],
): Promise<PeriodInvoice[]> {
  if (periods.length === 0) return [];
  const { rows } = await sql<PeriodInvoice>`
    select i.id, i.billing_period_id, i.reason, i.status, i.total, i.amount_paid, i.amount_refunded, i.credited_amount, i.offset_amount, i.balance_applied, i.balance_credited,
           lines.list_amount, lines.plan_discount, lines.net_amount, lines.paused_time,
           -- A change never takes the place of a part of an invoice.
           i.status in ('draft', 'awaiting_payment_confirmation') or (i.consolidated_into is not null and i.status = 'open') or exists (
             select from payments p
              where p.environment_id = i.environment_id and p.invoice_id = i.id
                and p.status in ('processing', 'requires_confirmation', 'requires_action')) as is_being_paid,
           i.status = 'void' and exists (
             select from subscription_adjustments a
              where a.environment_id = i.environment_id and a.subscription_id = i.subscription_id
                and case when a.status = 'applied' then a.replaced_invoice_id else a.invoice_id end = i.id) as is_withdrawn
      from invoices i
      cross join lateral (
        select coalesce(sum(l.amount) filter (where is_of_plan), 0) as list_amount,
               coalesce(sum(l.discount_amount) filter (where is_of_plan), 0) as plan_discount,
               coalesce(sum(l.amount - l.discount_amount) filter (where not is_paused_time), 0) as net_amount,
               coalesce(-sum(l.amount) filter (where is_paused_time), 0) as paused_time
          from invoice_line_items l
         cross join lateral (
           select l.explanation ->> 'kind' is not distinct from 'paused_time' as is_paused_time,
                  l.type = 'static' and coalesce(l.explanation ->> 'kind' not in ('paused_time', 'setup_fee', 'minimum_commitment', 'arrears'), true) and l.explanation ->> 'written' is null as is_of_plan) kind
         where l.environment_id = i.environment_id and l.invoice_id = i.id) lines
     where i.environment_id = ${work.environmentId}
       and i.subscription_id = any(${periods.map(({ subscriptionId }) => subscriptionId)}::text[])
       and i.billing_period_id = any(${periods.map(({ id }) => id)}::text[])
     order by i.id`.execute(work.db);
  return rows;
}

/**
 * The usage that invoices within each of these periods bill, by period: neither that of the period before, which the
 * period begins with, nor that of the next bill. At list value, in minor units. Void invoices bill nothing.
 */
export async function sumUsageWithin(
  work: Work,
  periods: readonly {
    readonly id: string;
    readonly subscriptionId: string;
    readonly startAt: number;
    readonly endAt: number;
  }[],
): Promise<Map<string, bigint>> {
  if (periods.length === 0) return new Map();
  // An interim, and a change of plan, bill usage without a period; one of interval or anchor bills it before it is
  // made.
  const { rows } = await sql<{ id: string; amount: bigint }>`
    select asked.id, sum(l.amount) as amount
      from unnest(
             ${periods.map(({ id }) => id)}::text[], ${periods.map(({ subscriptionId }) => subscriptionId)}::text[],
             ${periods.map(({ startAt }) => startAt)}::bigint[], ${periods.map(({ endAt }) => endAt)}::bigint[]
           ) as asked (id, subscription_id, start_at, end_at)
     cross join lateral (
       select ${listAmountOf('line')} as amount
         from invoices i
         join invoice_line_items line on line.environment_id = i.environment_id and line.invoice_id = i.id and line.type = 'usage'
        where i.environment_id = ${work.environmentId} and i.subscription_id = asked.subscription_id
          and i.status <> 'void' and case when i.billing_period_id is null then i.reason in ('usage', 'final_usage', 'adjustment')
                and i.invoice_date > asked.start_at and i.invoice_date <= asked.end_at
              else i.billing_period_id = asked.id and i.reason = 'usage_threshold' end
       union all
       select ${listAmountOf('held')} from ${heldUsageLines}
        where held.environment_id = ${work.environmentId} and held.subscription_id = asked.subscription_id
          and held.effective_at > asked.start_at and held.effective_at <= asked.end_at) l
     group by asked.id`.execute(work.db);
  return new Map(rows.map(({ id, amount }) => [id, amount]));
}

/** The unpaid ones of these invoices without a payment in flight. */
export async function listReplaceable(work: Work, invoiceIds: readonly string[]): Promise<string[]> {
  if (invoiceIds.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select i.id from invoices i
     where i.environment_id = ${work.environmentId} and i.id = any(${invoiceIds}::text[]) and i.status = 'open'
       and i.consolidated_into is null
       and not exists (
         select from payments p
          where p.environment_id = i.environment_id and p.invoice_id = i.id
            and p.status in ('processing', 'requires_confirmation', 'requires_action'))
     order by i.id`.execute(work.db);
  return rows.map(({ id }) => id);
}
