import assert from 'node:assert/strict';
import type { Selectable } from 'kysely';
import type { Instant } from '../kernel/calendar.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { PageRequest } from '../kernel/page.ts';
import type { Payments } from '../platform/database-types.ts';
import { selectPage } from '../platform/select-page.ts';
import type { Work } from '../platform/work.ts';
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
  'paymentMethodId',
  'paymentMethod',
  'processor',
  'processorToken',
  'processorReference',
  'checkAt',
  'amount',
  'subtotal',
  'taxAmount',
  'currency',
  'status',
  'attemptNumber',
  'chargeDate',
  'settlementDate',
  'description',
  'receiptNumber',
  'failureCode',
  'failureMessage',
  'refundedAmount',
  'refundingAmount',
  'refundedAt',
] as const;

/** A payment as it is kept: money in minor units. The table's check constraints hold what the types say. */
export interface PaymentRow extends Pick<Selectable<Payments>, (typeof columns)[number]> {
  status: PaymentStatus;
  paymentMethod: PaymentMethodType;
  currency: CurrencyCode;
}

export async function insertPayment(work: Work, payment: PaymentRow): Promise<void> {
  await work.db
    .insertInto('payments')
    .values({ environmentId: work.environmentId, ...payment })
    .execute();
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

/** Holds the payment until the work ends. Who locks its invoice too takes the invoice first. */
export async function lockPayment(work: Work, id: string): Promise<PaymentRow | null> {
  return (await select(work).where('id', '=', id).forNoKeyUpdate().executeTakeFirst()) ?? null;
}

/** The payment that has paid the invoice or may still do so. There is one at the most. */
export async function findLivePayment(work: Work, invoiceId: string): Promise<PaymentRow | null> {
  const query = select(work).where('invoiceId', '=', invoiceId).where('status', 'in', livePaymentStatuses);
  return (await query.executeTakeFirst()) ?? null;
}

/** Payments whose processor is to be asked again at `until` or before, the longest due first. */
export async function listPaymentsToCheck(work: Work, until: Instant, limit: number): Promise<PaymentRow[]> {
  return select(work).where('checkAt', '<=', until).orderBy('checkAt').orderBy('id').limit(limit).execute();
}

export async function updatePayment(work: Work, id: string, change: Partial<PaymentRow>): Promise<PaymentRow> {
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

export function pageOfPayments(work: Work, request: PageRequest): Promise<{ rows: PaymentRow[]; total: number }> {
  return selectPage<PaymentRow>(work, 'payments', columns, request, {
    status: 'status',
    customerId: 'customer_id',
    subscriptionId: 'subscription_id',
    invoiceId: 'invoice_id',
    paymentMethodId: 'payment_method_id',
  });
}
