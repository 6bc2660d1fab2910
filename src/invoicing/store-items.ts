import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { ofCustomerNamed } from '../customers/store.ts';
import { insertRecords, jsonb } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import { instantOfColumn, type Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import { terminalStatuses } from '../subscriptions/subscription.ts';
import type { InvoiceItemRow, PendingItem } from './invoice-item.ts';
import { readExplanation } from './invoice-line-item.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'customerId',
  'subscriptionId',
  'invoiceId',
  'priceId',
  'description',
  'quantity',
  'price',
  'taxable',
  'serviceStartAt',
  'serviceEndAt',
] as const;

/** An item without the inputs of its amount. */
export type ListedItem = Omit<InvoiceItemRow, 'explanation'>;

export async function insertItem(work: Work, item: InvoiceItemRow): Promise<void> {
  await insertRecords(work, 'invoiceItems', [...columns, 'explanation'], [item]);
}

export async function findItem(work: Work, id: string): Promise<ListedItem | null> {
  return (await select(work).where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Locks the item until the work ends. */
export async function lockItem(work: Work, id: string): Promise<ListedItem | null> {
  return (await select(work).where('id', '=', id).forNoKeyUpdate().executeTakeFirst()) ?? null;
}

function select(work: Work) {
  return work.db
    .selectFrom('invoiceItems')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .$castTo<ListedItem>();
}

/** Saves the line of a pending item. */
export async function saveItem(work: Work, item: Omit<InvoiceItemRow, 'createdAt'>): Promise<void> {
  const { quantity, price, priceId, description, taxable, serviceStartAt, serviceEndAt, explanation, updatedAt } = item;
  const line = { quantity, price, priceId, description, taxable, serviceStartAt, serviceEndAt, updatedAt };
  const result = await work.db
    .updateTable('invoiceItems')
    .set({ ...line, explanation: jsonb(explanation) })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', item.id)
    .where('invoiceId', 'is', null)
    .executeTakeFirst();
  assert(result.numUpdatedRows === 1n, 'an item that is changed is pending');
}

/** Deletes a pending item. */
export async function deleteItem(work: Work, id: string): Promise<void> {
  await work.db
    .deleteFrom('invoiceItems')
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .where('invoiceId', 'is', null)
    .execute();
}

export function pageOfItems(work: Work, request: PageRequest): Promise<{ rows: ListedItem[]; total: number }> {
  return selectPage<ListedItem>(work, 'invoice_items', columns, request, {
    status: (status) => (status === 'pending' ? sql`invoice_id is null` : sql`invoice_id is not null`),
    customerId: 'customer_id',
    customerExternalId: (externalId) => ofCustomerNamed(work, sql.ref('customer_id'), externalId),
    subscriptionId: 'subscription_id',
    invoiceId: 'invoice_id',
  });
}

/**
 * The pending items of these customers, in order. The caller has locked the customers if it is going to take some.
 */
export async function listPendingItems(work: Work, customerIds: readonly string[]): Promise<PendingItem[]> {
  const { rows } = await sql<Omit<PendingItem, 'explanation'> & { explanation: string }>`
    select ${sql.join(columns.map((column) => sql.ref(`i.${column}`)))}, s.id is not null as has_ended, i.explanation::text
      from invoice_items i
      left join subscriptions s on s.environment_id = i.environment_id and s.id = i.subscription_id
       and s.status in (${sql.join(terminalStatuses.map((status) => sql.lit(status)))})
     where i.environment_id = ${work.environmentId} and i.customer_id = any(${customerIds}::text[]) and i.invoice_id is null
     order by i.id`.execute(work.db);
  return rows.map((row) => ({ ...row, explanation: readExplanation(row.explanation) }));
}

/** Puts items onto their invoices. Each was pending: a second invoice of one fails here. */
export async function takeItems(
  work: Work,
  taken: readonly { readonly itemId: string; readonly invoiceId: string }[],
): Promise<void> {
  if (taken.length === 0) return;
  const { numAffectedRows } = await sql`
    update invoice_items i set invoice_id = taken.invoice_id, updated_at = ${instantOfColumn(work, 'i.customer_id')}
      from unnest(${taken.map(({ itemId }) => itemId)}::text[], ${taken.map(({ invoiceId }) => invoiceId)}::text[])
        as taken (item_id, invoice_id)
     where i.environment_id = ${work.environmentId} and i.id = taken.item_id and i.invoice_id is null`.execute(work.db);
  assert(numAffectedRows === BigInt(taken.length), 'an item is on one invoice at most');
}

/** Gives back the items of an invoice, or these of them, for the next one. */
export async function releaseItems(work: Work, invoiceId: string, ids: readonly string[] | null = null): Promise<void> {
  await sql`
    update invoice_items set invoice_id = null, updated_at = ${work.now}
     where environment_id = ${work.environmentId} and invoice_id = ${invoiceId}
       ${ids === null ? sql`` : sql`and id = any(${ids}::text[])`}`.execute(work.db);
}
