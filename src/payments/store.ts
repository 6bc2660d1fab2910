import assert from 'node:assert/strict';
import { type Selectable, sql } from 'kysely';
import type { Payments } from '../database/database-types.ts';
import { jsonRecords } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { TaxType } from '../invoicing/invoice.ts';
import type { CountryCode } from '../kernel/country.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import { livePaymentStatuses, type PaymentStatus } from './payment.ts';
import type { PaymentMethodType } from './payment-method.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'customerId',
  'invoiceId',
  'subscriptionId',
  'billingPeriodId',
  'purchaseId',
  'paymentMethodId',
  'paymentMethod',
  'processor',
  'processorToken',
  'processorReference',
  'checkAt',
  'amount',
  'subtotal',
  'taxAmount',
  'taxType',
  'taxCountry',
  'taxState',
  'taxRatePercentage',
  'currency',
  'status',
  'attemptNumber',
  'customerPresent',
  'chargeDate',
  'settlementDate',
  'description',
  'receiptNumber',
  'receiptUrl',
  'nextAction',
  'failureCode',
  'failureMessage',
  'refundedAmount',
  'refundingAmount',
  'refundedAt',
] as const;

/** What the processor tells of a charge. */
const chargeColumns = [
  'status',
  'processorReference',
  'checkAt',
  'settlementDate',
  'receiptNumber',
  'receiptUrl',
  'nextAction',
  'failureCode',
  'failureMessage',
] as const;

/** A payment as it is kept: money in minor units. The table's check constraints hold what the types say. */
export interface PaymentRow extends Omit<Pick<Selectable<Payments>, (typeof columns)[number]>, 'nextAction'> {
  status: PaymentStatus;
  paymentMethod: PaymentMethodType;
  currency: CurrencyCode;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  nextAction: unknown;
}

/** Writes many payments in one statement. An invoice may have one under way: a second fails. */
export async function insertPayments(work: Work, payments: readonly PaymentRow[]): Promise<void> {
  if (payments.length === 0) return;
  const names = sql.join(columns.map((column) => sql.ref(column)));
  await sql`
    insert into payments (environment_id, ${names})
    select ${work.environmentId}, ${names}
      from json_populate_recordset(null::payments, ${jsonRecords(payments, columns)}::json)`.execute(work.db);
}

function select(work: Work) {
  return work.db
    .selectFrom('payments')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .$castTo<PaymentRow>();
}

export async function findPayment(work: Work, id: string): Promise<PaymentRow | null> {
  return (await select(work).where('id', '=', id).executeTakeFirst()) ?? null;
}

export async function findPayments(work: Work, ids: readonly string[]): Promise<PaymentRow[]> {
  return select(work).where('id', '=', sql<string>`any(${ids}::text[])`).orderBy('id').execute();
}

/** Holds the payment until the work ends. Who locks its invoice too takes the invoice first. */
export async function lockPayment(work: Work, id: string): Promise<PaymentRow | null> {
  const [row] = await lockPayments(work, [id]);
  return row ?? null;
}

/** The same for many, in order of id. */
export async function lockPayments(work: Work, ids: readonly string[]): Promise<PaymentRow[]> {
  return select(work).where('id', '=', sql<string>`any(${ids}::text[])`).orderBy('id').forNoKeyUpdate().execute();
}

/**
 * Those of the invoices that have a payment under way; an invoice has one such payment at the most. One whose place the
 * invoice of a change of plan is to take is being paid with that.
 */
export async function listInvoicesBeingPaid(work: Work, invoiceIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ invoiceId: string }>`
    select invoice_id from payments
     where environment_id = ${work.environmentId} and invoice_id = any(${invoiceIds}::text[])
       and status = any(${[...livePaymentStatuses]}::text[])
     union
    select a.replaced_invoice_id
      from subscription_adjustments a
      join invoices i on i.environment_id = a.environment_id and i.id = a.invoice_id
     where a.environment_id = ${work.environmentId} and a.replaced_invoice_id = any(${invoiceIds}::text[])
       and a.replaced_invoice_id is not null
       and i.status in ('open', 'awaiting_payment_confirmation')`.execute(work.db);
  return new Set(rows.map((row) => row.invoiceId));
}

/** Those of the subscriptions for which money ever arrived, whatever became of it later. */
export async function listEverPaid(work: Work, subscriptionIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ subscriptionId: string }>`
    select distinct subscription_id from payments
     where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds}::text[])
       and (settlement_date is not null or status in ('succeeded', 'refunded'))`.execute(work.db);
  return new Set(rows.map((row) => row.subscriptionId));
}

/**
 * Holds up to `limit` payments whose processor is to be asked again, the longest due first, stepping over what somebody
 * else holds and over subscriptions on which work failed lately. With `only`: of these, waiting for whoever holds them.
 */
export async function claimPaymentsToCheck(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select p.id from payments p
     where p.environment_id = ${work.environmentId} and p.check_at <= ${work.now}::bigint
       and not exists (select from subscriptions s where s.environment_id = p.environment_id and s.id = p.subscription_id
                          and s.work_retry_at > ${Date.now()}::bigint)
       ${only === undefined ? sql`` : sql`and p.id = any(${only}::text[])`}
     order by ${only === undefined ? sql`p.check_at, p.id` : sql`p.id`}
     limit ${limit}
       for no key update of p ${only === undefined ? sql`skip locked` : sql``}`.execute(work.db);
  return rows.map((row) => row.id);
}

/** Writes what a charge changes of each payment, as its row says it, in one statement. The caller holds them. */
export async function savePayments(work: Work, payments: readonly PaymentRow[]): Promise<void> {
  if (payments.length === 0) return;
  const told = ['id', ...chargeColumns] as const;
  await sql`
    update payments p
       set ${sql.join(chargeColumns.map((column) => sql`${sql.ref(column)} = told.${sql.ref(column)}`))}, updated_at = ${work.now}
      from json_populate_recordset(null::payments, ${jsonRecords(payments, told)}::json) as told
     where p.environment_id = ${work.environmentId} and p.id = told.id`.execute(work.db);
}

export async function updatePayment(
  work: Work,
  id: string,
  change: Partial<Pick<PaymentRow, 'status' | 'refundedAmount' | 'refundingAmount' | 'refundedAt'>>,
): Promise<PaymentRow> {
  const row = await work.db
    .updateTable('payments')
    .set({ ...change, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .returning(columns)
    .$castTo<PaymentRow>()
    .executeTakeFirst();
  assert(row, `no payment ${id}`);
  return row;
}

/**
 * Reserves `amount` minor units of the payment for a refund. Answers false when as much does not remain: the condition
 * stands in the update, so however many ask at once, no more is reserved than was paid.
 */
export async function reserveRefund(work: Work, id: string, amount: bigint): Promise<boolean> {
  const result = await work.db
    .updateTable('payments')
    .set((update) => ({ refundingAmount: update('refundingAmount', '+', amount), updatedAt: work.now }))
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .where('status', '=', 'succeeded')
    .where((where) =>
      where(where('refundedAmount', '+', where('refundingAmount', '+', amount)), '<=', where.ref('amount')),
    )
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** The payments of these invoices that brought money of which some is still there, oldest first. */
export async function listPaymentsKept(work: Work, invoiceIds: readonly string[]): Promise<PaymentRow[]> {
  return select(work)
    .where('invoiceId', '=', sql<string>`any(${invoiceIds}::text[])`)
    .where('status', '=', 'succeeded')
    .whereRef('amount', '>', (where) => where('refundedAmount', '+', where.ref('refundingAmount')))
    .orderBy('id')
    .execute();
}

export function pageOfPayments(work: Work, request: PageRequest): Promise<{ rows: PaymentRow[]; total: number }> {
  return selectPage<PaymentRow>(work, 'payments', columns, request, {
    status: 'status',
    customerId: 'customer_id',
    subscriptionId: 'subscription_id',
    invoiceId: 'invoice_id',
    paymentMethodId: 'payment_method_id',
  });
}
