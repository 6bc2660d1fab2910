import { sql } from 'kysely';
import { instantOfColumn, type Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { BilledSoFar } from '../rating/discount.ts';
import type { Quantities } from '../rating/usage-parts.ts';
import { type Collection, type Dunnable, dunnedReasons } from './collection.ts';
import type { InvoiceReason } from './invoice.ts';
import { findInvoice, type InvoiceRow, invoiceColumns, selectInvoices } from './store.ts';

/** The same rule as `isDunned`. */
const isDunnedRow = sql<boolean>`(reason in (${sql.join(dunnedReasons.map((reason) => sql.lit(reason)))})
  or reason = ${sql.lit('adjustment' satisfies InvoiceReason)} and due_date > invoice_date)`;

/** Locks the invoices until the work ends, in order of id. */
export async function lockInvoices(work: Work, ids: readonly string[]): Promise<InvoiceRow[]> {
  return selectInvoices(work)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
}

/** The drafts of these subscriptions, locked until the work ends: at most one each. */
export async function lockDraftsOf(work: Work, subscriptionIds: readonly string[]): Promise<InvoiceRow[]> {
  return selectDraftsOf(work, subscriptionIds).forNoKeyUpdate().execute();
}

/** The same as they are, for a quote too, which locks nothing. */
export async function listDraftsOf(work: Work, subscriptionIds: readonly string[]): Promise<InvoiceRow[]> {
  return selectDraftsOf(work, subscriptionIds).execute();
}

function selectDraftsOf(work: Work, subscriptionIds: readonly string[]) {
  return selectInvoices(work)
    .where('subscriptionId', '=', sql<string>`any(${subscriptionIds}::text[])`)
    .where('status', '=', 'draft')
    .orderBy('id');
}

/**
 * The other drafts that become one invoice with these, because their customer consolidates and they end at the same instant.
 * Locked with their subscriptions until the work ends; the caller has locked the customers.
 */
export async function lockDraftsBeside(work: Work, drafts: readonly InvoiceRow[]): Promise<InvoiceRow[]> {
  if (drafts.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select o.id
      from unnest(${drafts.map(({ customerId }) => customerId)}::text[], ${drafts.map(({ finalizesAt }) => finalizesAt)}::bigint[])
             as ending (customer_id, finalizes_at)
      join customers c on c.environment_id = ${work.environmentId} and c.id = ending.customer_id and c.consolidate_invoices
      join invoices o on o.environment_id = c.environment_id and o.customer_id = c.id and o.finalizes_at = ending.finalizes_at
      join subscriptions s on s.environment_id = o.environment_id and s.id = o.subscription_id
     where o.id <> all(${drafts.map(({ id }) => id)}::text[])
     order by s.id, o.id
       for no key update of s, o`.execute(work.db);
  return rows.length === 0 ? [] : lockInvoices(work, [...new Set(rows.map(({ id }) => id))]);
}

/** Saves the collection fields of each invoice in one statement. The caller has locked them. */
export async function saveCollections(
  work: Work,
  invoices: readonly (Collection & { readonly id: string })[],
): Promise<void> {
  if (invoices.length === 0) return;
  const all = <Key extends keyof Collection | 'id'>(key: Key) => invoices.map((invoice) => invoice[key]);
  await sql`
    update invoices i
       set status = new.status, amount_paid = new.amount_paid, amount_refunded = new.amount_refunded,
           offset_amount = new.offset_amount, attempt_count = new.attempt_count, next_attempt_at = new.next_attempt_at,
           updated_at = ${instantOfColumn(work, 'i.customer_id')}
      from unnest(
             ${all('id')}::text[], ${all('status')}::text[], ${all('amountPaid')}::numeric[],
             ${all('amountRefunded')}::numeric[], ${all('offsetAmount')}::numeric[], ${all('attemptCount')}::integer[], ${all('nextAttemptAt')}::bigint[]
           ) as new (id, status, amount_paid, amount_refunded, offset_amount, attempt_count, next_attempt_at)
     where i.environment_id = ${work.environmentId} and i.id = new.id`.execute(work.db);
}

/** Notes that these invoices were published as overdue, and returns them. The caller has locked them. */
export async function endNotices(work: Work, ids: readonly string[]): Promise<InvoiceRow[]> {
  if (ids.length === 0) return [];
  return work.db
    .updateTable('invoices')
    .set({ noticeAt: null })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .returning(invoiceColumns)
    .$castTo<InvoiceRow>()
    .execute();
}

/** The subscriptions with an unpaid dunned invoice after a failed attempt. */
export async function listInArrears(work: Work, subscriptionIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ subscriptionId: string }>`
    select distinct subscription_id from invoices
     where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds}::text[])
       and status in ('open', 'awaiting_payment_confirmation') and attempt_count > 0
       and ${isDunnedRow}`.execute(work.db);
  return new Set(rows.map((row) => row.subscriptionId));
}

/** The subscriptions whose last invoice at a threshold is open. */
export async function listOpenThresholds(work: Work, subscriptionIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ subscriptionId: string }>`
    select subscription_id from invoices
     where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds}::text[]) and is_open_threshold`.execute(
    work.db,
  );
  return new Set(rows.map((row) => row.subscriptionId));
}

/** Schedules an immediate attempt for open dunned invoices of these subscriptions without a scheduled retry. */
export async function startAttempts(work: Work, subscriptionIds: readonly string[]): Promise<void> {
  if (subscriptionIds.length === 0) return;
  await sql`
    update invoices set next_attempt_at = ${instantOfColumn(work, 'customer_id')}, updated_at = ${instantOfColumn(work, 'customer_id')}
     where environment_id = ${work.environmentId} and status = 'open' and next_attempt_at is null
       and id = any(array(
         select coalesce(consolidated_into, id) from invoices
          where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds}::text[])
            and status = 'open' and ${isDunnedRow}))`.execute(work.db);
}

/** The oldest unpaid dunned invoice of the subscription, or the one of which it has a part; null if there is none. */
export async function findOldestOwed(work: Work, subscriptionId: string): Promise<InvoiceRow | null> {
  const row = await selectInvoices(work)
    .where('subscriptionId', '=', subscriptionId)
    .where('status', 'in', ['open', 'awaiting_payment_confirmation'])
    .where(isDunnedRow)
    .orderBy('invoiceDate')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row?.consolidatedInto ? findInvoice(work, row.consolidatedInto) : (row ?? null);
}

/** The amount of a line before discount: `listAmount` in SQL. */
export const listAmountOf = (line: string) =>
  sql`(${sql.ref(`${line}.amount`)} - coalesce((${sql.ref(`${line}.explanation`)} ->> 'discountTakenBack')::numeric, 0))`;

/** The usage billed by an invoice: units and amount by account, price and usage period (null: without a pricing). */
interface BilledUnits extends Quantities {
  readonly invoiceId: string;
  readonly ledgerAccountId: string;
  readonly priceId: string;
  readonly periodStart: Instant | null;
  readonly amount: bigint;
}

export async function listBilledUsage(work: Work, invoiceIds: readonly string[]): Promise<BilledUnits[]> {
  const { rows } = await sql<BilledUnits>`
    select invoice_id, ledger_account_id, price_id, (explanation ->> 'periodStart')::bigint as period_start,
           sum(ledger_account_credit) as units, sum(${listAmountOf('l')}) as amount,
           coalesce(sum((explanation ->> 'events')::numeric), 0) as events,
           coalesce(sum((explanation ->> 'ownAmount')::numeric), 0) as own_amount
      from invoice_line_items l
     where environment_id = ${work.environmentId} and invoice_id = any(${invoiceIds}::text[]) and type = 'usage'
     group by invoice_id, ledger_account_id, price_id, period_start
     order by invoice_id, ledger_account_id, price_id`.execute(work.db);
  return rows;
}

/** A usage period, at one price. */
interface PeriodOfUsage {
  readonly subscriptionId: string;
  readonly ledgerAccountId: string;
  readonly priceId: string;
  readonly periodStart: Instant;
}

/** The bills so far of these usage periods, by invoices that stand and are not to be replaced by another one. */
export async function listBilledSoFar(
  work: Work,
  periods: readonly PeriodOfUsage[],
): Promise<(PeriodOfUsage & BilledSoFar)[]> {
  if (periods.length === 0) return [];
  const { rows } = await sql<PeriodOfUsage & BilledSoFar>`
    select asked.*, sum(${listAmountOf('l')}) as listed,
           sum(${listAmountOf('l')} - l.amount + coalesce(round(l.discount_amount * percent.of_percents / percent.of_all), 0)) as percent_off,
           case when count(distinct coalesce(percent.taken, -1)) filter (where l.amount > 0) = 1
             then max(percent.taken) filter (where l.amount > 0) end as percentage,
           sum(l.amount - l.discount_amount - l.credited_amount + l.credited_discount) as net
      from unnest(
             ${periods.map(({ subscriptionId }) => subscriptionId)}::text[],
             ${periods.map(({ ledgerAccountId }) => ledgerAccountId)}::text[],
             ${periods.map(({ priceId }) => priceId)}::text[], ${periods.map(({ periodStart }) => periodStart)}::bigint[]
           ) as asked (subscription_id, ledger_account_id, price_id, period_start)
      join invoices i on i.environment_id = ${work.environmentId} and i.subscription_id = asked.subscription_id
       and i.status <> 'void' and i.invoice_date >= asked.period_start
      join invoice_line_items l on l.environment_id = i.environment_id and l.invoice_id = i.id and l.type = 'usage'
       and l.ledger_account_id = asked.ledger_account_id and l.price_id = asked.price_id
       and (l.explanation ->> 'periodStart')::bigint = asked.period_start
     cross join lateral (
        -- Usage belongs to no product. Of several discounts, percentages have the part of a line that they have of the invoice.
        select case when count(*) > 1 then null else coalesce(max(case when r.amount_type = 'percent' then least(r.amount, 100) end), 0) end as taken,
               sum(o.amount) filter (where r.amount_type = 'percent') as of_percents, nullif(sum(o.amount), 0) as of_all
          from invoice_discounts o
          join discount_redemptions r on r.environment_id = o.environment_id and r.id = o.discount_redemption_id
         where i.discount_count > 0 and o.environment_id = i.environment_id and o.invoice_id = i.id and r.product_ids is null) percent
     where not exists (
       select from subscription_adjustments a
         join invoices taking on taking.environment_id = a.environment_id and taking.id = a.invoice_id
        where a.environment_id = i.environment_id and a.replaced_invoice_id = i.id
          and taking.status in ('open', 'awaiting_payment_confirmation'))
     group by asked.subscription_id, asked.ledger_account_id, asked.price_id, asked.period_start`.execute(work.db);
  return rows;
}

/** The amounts of usage on these invoices, with discount and tax. In minor units, by invoice. */
export async function listUsageAmounts(work: Work, invoiceIds: readonly string[]): Promise<Map<string, bigint>> {
  if (invoiceIds.length === 0) return new Map();
  const { rows } = await sql<{ invoiceId: string; amount: bigint }>`
    select l.invoice_id,
           sum(l.amount - l.discount_amount + case when i.tax_inclusive then 0 else l.tax_amount end) as amount
      from invoices i
      join invoice_line_items l on l.environment_id = i.environment_id and l.invoice_id = i.id and l.type = 'usage'
     where i.environment_id = ${work.environmentId} and i.id = any(${invoiceIds}::text[])
     group by l.invoice_id`.execute(work.db);
  return new Map(rows.map(({ invoiceId, amount }) => [invoiceId, amount]));
}

/** Paid time of pauses that invoices took off and was not refunded since, by subscription. In minor units. */
interface PausedTime {
  readonly subscriptionId: string;
  readonly amount: bigint;
}

export async function listPausedTime(work: Work, invoiceIds: readonly string[]): Promise<PausedTime[]> {
  if (invoiceIds.length === 0) return [];
  const { rows } = await sql<PausedTime>`
    select i.subscription_id, greatest(0, -sum(l.amount) - coalesce(max(p.paused_time_refunded), 0)) as amount
      from invoices i
      join invoice_line_items l on l.environment_id = i.environment_id and l.invoice_id = i.id
      left join billing_periods p on p.environment_id = i.environment_id and p.id = i.billing_period_id
     where i.environment_id = ${work.environmentId} and i.id = any(${invoiceIds}::text[])
       and l.explanation ->> 'kind' = 'paused_time'
     group by i.subscription_id
     order by i.subscription_id`.execute(work.db);
  return rows;
}

/** The billing periods of these subscriptions with an unpaid invoice. */
export async function listOwedPeriods(work: Work, subscriptionIds: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ billingPeriodId: string }>`
    select distinct billing_period_id from invoices
     where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds}::text[])
       and status in ('open', 'awaiting_payment_confirmation') and billing_period_id is not null`.execute(work.db);
  return new Set(rows.map((row) => row.billingPeriodId));
}

/** An unpaid invoice. */
interface OwedInvoice extends Dunnable {
  readonly id: string;
  readonly subscriptionId: string;
  /** Failed attempts to collect it. */
  readonly attemptCount: number;
}

/** The open and pending invoices of these subscriptions, oldest first. */
export async function listOwedInvoices(work: Work, subscriptionIds: readonly string[]): Promise<OwedInvoice[]> {
  const { rows } = await sql<OwedInvoice>`
    select id, subscription_id, reason, invoice_date, due_date, attempt_count from invoices
     where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds}::text[])
       and status in ('open', 'awaiting_payment_confirmation')
     order by id`.execute(work.db);
  return rows;
}
