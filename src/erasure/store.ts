import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import type { Copies, PersonalRecords } from './erasure.ts';

// An exact number of a customer's events is not worth its cost.
const mostCounted = 10_000;

/** Erases the records of a locked customer, in this transaction. */
export async function eraseRecords(work: Work, customerId: string, externalIdMac: string): Promise<void> {
  await sql`select erase_records(${customerId}, ${work.now}, ${externalIdMac})`.execute(work.db);
}

/** Erases copies in the audit log and in events of the next `limit` records. Returns the last one; null at the end. */
export async function eraseHistory(
  work: Work,
  customerId: string,
  after: string,
  limit: number,
): Promise<string | null> {
  const { rows } = await sql<{ last: string | null }>`
    select erase_history(${customerId}, ${after}, ${limit}::integer) as last`.execute(work.db);
  return rows[0]?.last ?? null;
}

/** A place among the usage events of a customer. */
interface UsagePlace {
  readonly series: number;
  readonly event: string;
}

/** Erases the properties of the next `limit` usage events. Returns the place of the next ones; null at the end. */
export async function eraseUsageProperties(
  work: Work,
  customerId: string,
  { series, event }: UsagePlace,
  limit: number,
): Promise<UsagePlace | null> {
  const { rows } = await sql<UsagePlace>`
    select next_series as series, next_event as event
      from erase_usage_properties(${customerId}, ${series}::bigint, ${event}, ${limit}::integer)`.execute(work.db);
  return rows[0] ?? null;
}

/** Something of a customer that has not ended: a debt, or money on its way. */
interface Unfinished {
  readonly record: 'invoice' | 'invoice item' | 'payment' | 'refund' | 'payment method';
  readonly id: string;
}

/** The first thing of the customer that has not ended; null if nothing is owed and nothing is in progress. */
export async function findUnfinished(work: Work, customerId: string): Promise<Unfinished | null> {
  const { environmentId } = work;
  const { rows } = await sql<Unfinished>`
    select 'invoice' as record, id from invoices
     where environment_id = ${environmentId} and customer_id = ${customerId}
       and status in ('draft', 'open', 'awaiting_payment_confirmation')
    union all
    select 'invoice item', id from invoice_items
     where environment_id = ${environmentId} and customer_id = ${customerId} and invoice_id is null
    union all
    select 'payment', id from payments
     where environment_id = ${environmentId} and customer_id = ${customerId}
       and status in ('processing', 'requires_confirmation', 'requires_action')
    union all
    select 'refund', r.id
      from payments p join refunds r on r.environment_id = p.environment_id and r.payment_id = p.id
     where p.environment_id = ${environmentId} and p.customer_id = ${customerId} and r.status = 'pending'
    union all
    select 'payment method', id from payment_method_attachments
     where environment_id = ${environmentId} and customer_id = ${customerId} and status = 'pending'
     limit 1`.execute(work.db);
  return rows[0] ?? null;
}

/** The ids of a customer and its subscriptions: an answer about the customer names one of them. */
export async function listNames(work: Work, customerId: string): Promise<string[]> {
  const { rows } = await sql<{ recordId: string }>`
    select record_id from records_of_customer(${work.environmentId}, ${customerId})
     where table_name in ('customers', 'subscriptions')`.execute(work.db);
  return rows.map(({ recordId }) => recordId);
}

/** The records with personal data, by type. */
export async function countRecords(work: Work, customerId: string): Promise<PersonalRecords[]> {
  const { rows } = await sql<PersonalRecords>`
    select audited_record(p.table_name) as record, p.columns, p.is_document, count(r.record_id) as count
      from (select table_name, coalesce(array_agg(column_name) filter (where erased is not null), array_agg(column_name)) as columns,
                   bool_and(erased is null) as is_document
              from personal_columns() group by table_name) p
      left join records_of_customer(${work.environmentId}, ${customerId}) r on r.table_name = p.table_name
     group by p.table_name, p.columns, p.is_document
     order by p.table_name collate "C"`.execute(work.db);
  return rows;
}

export async function countCopies(work: Work, customerId: string): Promise<Copies> {
  const { environmentId } = work;
  const { rows } = await sql<Copies>`
    with owned as (select record_id from told_records_of_customer(${environmentId}, ${customerId}))
    select (select count(*) from (
              select from owned join events e on e.environment_id = ${environmentId} and e.object_id = owned.record_id
               limit ${mostCounted}) found) as events,
           (select count(*) from (
              select from owned join audit_log a on a.environment_id = ${environmentId} and a.record_id = owned.record_id
               limit ${mostCounted}) found) as audit_log_entries,
           (select count(*) from (
              select from usage_series s join usage_events e on e.series_id = s.id
               where s.environment_id = ${environmentId} and s.customer_id = ${customerId}
               limit ${mostCounted}) found) as usage_events,
           (select count(*) from processor_customers
             where environment_id = ${environmentId} and customer_id = ${customerId}) as processor_customers`.execute(
    work.db,
  );
  return rows[0] ?? { events: 0, auditLogEntries: 0, usageEvents: 0, processorCustomers: 0 };
}
