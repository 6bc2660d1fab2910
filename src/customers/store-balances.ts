import { type Selectable, sql } from 'kysely';
import type { CustomerBalanceEntries, CustomerBalances } from '../database/database-types.ts';
import { jsonRecords } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import { instantOfColumn, type Work } from '../database/work.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { BalanceEntrySource } from './customer-balance.ts';
import { ofCustomerNamed } from './store.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'customerId',
  'currency',
  'credited',
  'debited',
] as const;

/** A stored balance: money in minor units. */
export interface CustomerBalanceRow extends Pick<Selectable<CustomerBalances>, (typeof columns)[number]> {
  currency: CurrencyCode;
}

const entryColumns = [
  'id',
  'createdAt',
  'pricingModelId',
  'customerId',
  'customerBalanceId',
  'source',
  'amount',
  'balanceAfter',
  'invoiceId',
  'creditNoteId',
  'description',
] as const;

export interface BalanceEntryRow extends Pick<Selectable<CustomerBalanceEntries>, (typeof entryColumns)[number]> {
  source: BalanceEntrySource;
}

function select(work: Work) {
  return work.db
    .selectFrom('customerBalances')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .$castTo<CustomerBalanceRow>();
}

export async function findBalance(work: Work, id: string): Promise<CustomerBalanceRow | null> {
  return (await select(work).where('id', '=', id).executeTakeFirst()) ?? null;
}

/** Locks the balances of these customers until the work ends. The caller has locked the customers. */
export function lockBalances(work: Work, customerIds: readonly string[]): Promise<CustomerBalanceRow[]> {
  return select(work)
    .where('customerId', '=', sql<string>`any(${customerIds}::text[])`)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
}

export async function findBalanceIn(
  work: Work,
  customerId: string,
  currency: string,
): Promise<CustomerBalanceRow | null> {
  const found = select(work).where('customerId', '=', customerId).where('currency', '=', currency);
  return (await found.executeTakeFirst()) ?? null;
}

/** Makes the balance of a customer unless there is one. */
export async function insertBalance(work: Work, row: CustomerBalanceRow): Promise<void> {
  await work.db
    .insertInto('customerBalances')
    .values({ environmentId: work.environmentId, ...row })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Books entries on their balances, which the caller has locked. A check refuses a balance below zero. */
export async function bookEntries(work: Work, entries: readonly BalanceEntryRow[]): Promise<void> {
  if (entries.length === 0) return;
  const names = sql.join(entryColumns.map((column) => sql.ref(column)));
  await sql`
    with made as (
      insert into customer_balance_entries as entry (environment_id, ${names})
      select ${work.environmentId}, ${names}
        from one_row, json_populate_recordset(null::customer_balance_entries, ${jsonRecords(entries, entryColumns)}::json)
      returning entry.customer_balance_id, entry.amount
    ), moved as (
      select customer_balance_id as id, coalesce(sum(amount) filter (where amount > 0), 0) as credited,
             coalesce(-sum(amount) filter (where amount < 0), 0) as debited
        from made group by customer_balance_id
    )
    update customer_balances b
       set credited = b.credited + moved.credited, debited = b.debited + moved.debited,
           updated_at = ${instantOfColumn(work, 'b.customer_id')}
      from moved where b.environment_id = ${work.environmentId} and b.id = moved.id`.execute(work.db);
}

export function pageOfBalances(
  work: Work,
  request: PageRequest,
): Promise<{ rows: CustomerBalanceRow[]; total: number }> {
  return selectPage<CustomerBalanceRow>(work, 'customer_balances', columns, request, {
    customerId: 'customer_id',
    customerExternalId: (externalId) => ofCustomerNamed(work, sql.ref('customer_id'), externalId),
  });
}

export function pageOfEntries(work: Work, request: PageRequest): Promise<{ rows: BalanceEntryRow[]; total: number }> {
  return selectPage<BalanceEntryRow>(work, 'customer_balance_entries', entryColumns, request, {
    customerBalanceId: 'customer_balance_id',
    source: 'source',
    invoiceId: 'invoice_id',
  });
}
