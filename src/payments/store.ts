import assert from 'node:assert/strict';
import { type Selectable, sql } from 'kysely';
import { ofCustomerNamed } from '../customers/store.ts';
import type { Payments } from '../database/database-types.ts';
import { insertRecords, jsonRecords } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import { instantOfColumn, type Work } from '../database/work.ts';
import type { TaxType } from '../invoicing/invoice.ts';
import type { Instant } from '../kernel/calendar.ts';
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
  'adjustmentId',
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
  'onRequest',
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

/** The columns that a charge's outcome determines. */
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

/** A stored payment: money in minor units. Check constraints guarantee the types. */
export interface PaymentRow extends Omit<Pick<Selectable<Payments>, (typeof columns)[number]>, 'nextAction'> {
  status: PaymentStatus;
  paymentMethod: PaymentMethodType;
  currency: CurrencyCode;
  taxType: TaxType | null;
  taxCountry: CountryCode | null;
  nextAction: unknown;
}

/** Whether it may still bring money. */
export function isInFlight({ status }: Pick<PaymentRow, 'status'>): boolean {
  return livePaymentStatuses.some((each) => each === status);
}

/** Inserts payments in one statement. A second payment in flight for an invoice fails. */
export async function insertPayments(work: Work, payments: readonly PaymentRow[]): Promise<void> {
  await insertRecords(work, 'payments', columns, payments);
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

/** Locks the payment until the work ends. To lock its invoice too, lock that first. */
export async function lockPayment(work: Work, id: string): Promise<PaymentRow | null> {
  const [row] = await lockPayments(work, [id]);
  return row ?? null;
}

/** The same for several, in order of id. */
export async function lockPayments(work: Work, ids: readonly string[]): Promise<PaymentRow[]> {
  return select(work).where('id', '=', sql<string>`any(${ids}::text[])`).orderBy('id').forNoKeyUpdate().execute();
}

/**
 * The invoices with a payment in flight; each has at most one. An invoice being replaced by a plan change counts as
 * being paid with the replacement.
 */
export async function listInvoicesBeingPaid(work: Work, invoiceIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ invoiceId: string }>`
    select invoice_id from payments
     where environment_id = ${work.environmentId} and invoice_id = any(${invoiceIds}::text[])
       and status = any(${[...livePaymentStatuses]}::text[])
     union
    select a.replaced_invoice_id
      from subscription_adjustments a
      left join invoices i on i.environment_id = a.environment_id and i.id = a.invoice_id
     where a.environment_id = ${work.environmentId} and a.replaced_invoice_id = any(${invoiceIds}::text[])
       and a.replaced_invoice_id is not null
       and (a.bill is not null or i.status in ('open', 'awaiting_payment_confirmation'))`.execute(work.db);
  return new Set(rows.map((row) => row.invoiceId));
}

/** A payment in flight that charges this payment method; null without one. The caller has locked the customer. */
export async function findUnderWayOn(work: Work, paymentMethodId: string): Promise<string | null> {
  const row = await work.db
    .selectFrom('payments')
    .select('id')
    .where('environmentId', '=', work.environmentId)
    .where('paymentMethodId', '=', paymentMethodId)
    .where('status', 'in', livePaymentStatuses)
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? null;
}

/** The newest failed payment of a subscription; null if none failed. */
export async function findLastFailure(work: Work, subscriptionId: string): Promise<PaymentRow | null> {
  const row = await select(work)
    .where('subscriptionId', '=', subscriptionId)
    .where('status', '=', 'failed')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/** A purchase or a change of plan, and its invoice; null: that is not made. */
type PaidFirst = { readonly invoiceId: string | null } & (
  | { readonly purchaseId: string }
  | { readonly adjustmentId: string }
);

/** The last payment of a purchase or a change of plan: of its invoice or, where that is not made, of itself. */
export async function findLastPaymentOf(
  work: Work,
  { invoiceId, ...of }: PaidFirst,
  status: PaymentStatus | null = null,
): Promise<PaymentRow | null> {
  const first = select(work).where('invoiceId', 'is', null);
  const ofFirst =
    'purchaseId' in of
      ? first.where('purchaseId', '=', of.purchaseId)
      : first.where('adjustmentId', '=', of.adjustmentId);
  const own = invoiceId === null ? ofFirst : select(work).where('invoiceId', '=', invoiceId);
  const wanted = status === null ? own : own.where('status', '=', status);
  return (await wanted.orderBy('id', 'desc').limit(1).executeTakeFirst()) ?? null;
}

/** The last payment that brought money to an invoice; null without one. */
export async function findLastPaid(work: Work, invoiceId: string): Promise<PaymentRow | null> {
  const row = await select(work)
    .where('invoiceId', '=', invoiceId)
    .where('status', 'in', ['succeeded', 'refunded'])
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * The instant of the first of the last `failures` failed payments of an invoice; null: there is none. A reversal counts as a failure,
 * and failures before it do not count. `failures` includes attempts without a payment method, which have no payment.
 */
export async function findFirstFailure(work: Work, invoiceId: string, failures: number): Promise<Instant | null> {
  const { rows } = await sql<{ first: Instant | null }>`
    select min(updated_at) as first from (
      select updated_at from payments
       where environment_id = ${work.environmentId} and invoice_id = ${invoiceId} and status = 'failed'
         and updated_at >= coalesce((
           select max(updated_at) from payments
            where environment_id = ${work.environmentId} and invoice_id = ${invoiceId} and status = 'failed'
              and settlement_date is not null), 0)
       order by updated_at desc limit ${failures}) last`.execute(work.db);
  return rows[0]?.first ?? null;
}

/**
 * The subscriptions that ever received a payment, even if it was returned later. A plan in arrears that has begun or was
 * billed counts too: its time has been used.
 */
export async function listEverPaid(work: Work, subscriptionIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ subscriptionId: string }>`
    select distinct subscription_id from payments
     where environment_id = ${work.environmentId} and subscription_id = any(${subscriptionIds}::text[])
       and (settlement_date is not null or status in ('succeeded', 'refunded'))
     union
    select i.subscription_id from invoices i
      join invoice_line_items l on l.environment_id = i.environment_id and l.invoice_id = i.id
     where i.environment_id = ${work.environmentId} and i.subscription_id = any(${subscriptionIds}::text[])
       and l.explanation ->> 'kind' = 'arrears'
     union
    select i.subscription_id from invoices i
     where i.environment_id = ${work.environmentId} and i.subscription_id = any(${subscriptionIds}::text[])
       and i.consolidated_into is not null and i.amount_paid > 0
     union
    select s.id from subscriptions s join prices p on p.environment_id = s.environment_id and p.id = s.price_id
     where s.environment_id = ${work.environmentId} and s.id = any(${subscriptionIds}::text[])
       and p.billing_timing = 'in_arrears' and s.status not in ('incomplete', 'canceled', 'incomplete_expired')`.execute(
    work.db,
  );
  return new Set(rows.map((row) => row.subscriptionId));
}

/**
 * Locks up to `limit` payments due for a status query: longest due first, skipping locked ones and subscriptions with
 * recent failures. With `only`: just these, waiting for their locks.
 */
export async function takePaymentsToCheck(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
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

/** Saves the charge fields of each payment in one statement. The caller has locked them. */
export async function savePayments(work: Work, payments: readonly PaymentRow[]): Promise<void> {
  if (payments.length === 0) return;
  const reported = ['id', ...chargeColumns] as const;
  await sql`
    update payments p
       set ${sql.join(chargeColumns.map((column) => sql`${sql.ref(column)} = reported.${sql.ref(column)}`))},
           updated_at = ${instantOfColumn(work, 'p.customer_id')}
      from json_populate_recordset(null::payments, ${jsonRecords(payments, reported)}::json) as reported
     where p.environment_id = ${work.environmentId} and p.id = reported.id`.execute(work.db);
}

export async function updatePayment(
  work: Work,
  id: string,
  change: Partial<
    Pick<
      PaymentRow,
      | 'status'
      | 'refundedAmount'
      | 'refundingAmount'
      | 'refundedAt'
      | 'invoiceId'
      | 'subscriptionId'
      | 'billingPeriodId'
      | 'purchaseId'
      | 'description'
    >
  >,
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
 * Reserves `amount` minor units of the payment for a refund. Returns false if less remains: the condition is part of
 * the update, so concurrent requests never reserve more than was paid.
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

/** The payments of these invoices with money that was not returned, oldest first. */
export async function listPaymentsKept(
  work: Work,
  invoiceIds: readonly string[],
): Promise<(PaymentRow & { readonly invoiceId: string })[]> {
  return select(work)
    .where('invoiceId', '=', sql<string>`any(${invoiceIds}::text[])`)
    .where('status', '=', 'succeeded')
    .whereRef('amount', '>', (where) => where('refundedAmount', '+', where.ref('refundingAmount')))
    .orderBy('id')
    .$castTo<PaymentRow & { readonly invoiceId: string }>()
    .execute();
}

/** The amount of refunds in flight of an invoice, which the caller has locked. */
export async function refundingOf(work: Work, invoiceId: string): Promise<bigint> {
  const { rows } = await sql<{ refunding: bigint }>`
    select coalesce(sum(refunding_amount), 0)::numeric(38, 0) as refunding from payments
     where environment_id = ${work.environmentId} and invoice_id = ${invoiceId}`.execute(work.db);
  return rows[0]?.refunding ?? 0n;
}

/** Makes payments those of a billing period that has begun with their invoices. */
export async function attachPayments(
  work: Work,
  invoiceIds: readonly string[],
  billingPeriodId: string,
): Promise<void> {
  await work.db
    .updateTable('payments')
    .set({ billingPeriodId, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('invoiceId', '=', sql<string>`any(${invoiceIds}::text[])`)
    .execute();
}

export function pageOfPayments(work: Work, request: PageRequest): Promise<{ rows: PaymentRow[]; total: number }> {
  return selectPage<PaymentRow>(work, 'payments', columns, request, {
    status: 'status',
    customerId: 'customer_id',
    customerExternalId: (externalId) => ofCustomerNamed(work, sql.ref('customer_id'), externalId),
    // Also the payments of a consolidated invoice, of which one part is the subscription's.
    subscriptionId: (id) => sql`id in (
      select o.id from payments o where o.environment_id = ${work.environmentId} and o.subscription_id = ${id}
       union all
      select o.id from invoices i join payments o on o.environment_id = i.environment_id and o.invoice_id = i.consolidated_into
       where i.environment_id = ${work.environmentId} and i.subscription_id = ${id})`,
    invoiceId: 'invoice_id',
    purchaseId: 'purchase_id',
    adjustmentId: 'adjustment_id',
    paymentMethodId: 'payment_method_id',
  });
}
