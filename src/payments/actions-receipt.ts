import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import type { PrintedDocument } from '../documents/document.ts';
import { type DocumentServices, getDocument } from '../invoicing/actions-document.ts';
import { findInvoice } from '../invoicing/store.ts';
import { Problem } from '../kernel/problem.ts';
import { receiptDocument } from './receipt-document.ts';
import { findLastPaid, findPayment, type PaymentRow } from './store.ts';
import { findPaymentMethods } from './store-payment-methods.ts';

/** The receipt of a payment as a document; null before its money has arrived, and after it was taken back. */
export async function findReceipt(
  work: Work,
  { id, status, invoiceId, ...payment }: PaymentRow,
  services: DocumentServices,
): Promise<PrintedDocument | null> {
  if (status !== 'succeeded' && status !== 'refunded') return null;
  assert(invoiceId, 'a payment that brought money has its invoice');
  const invoice = await findInvoice(work, invoiceId);
  assert(invoice, 'invoices are never deleted');
  const { paymentMethodId, settlementDate, chargeDate } = payment;
  const methods = paymentMethodId === null ? [] : await findPaymentMethods(work, [paymentMethodId]);
  return receiptDocument(
    {
      ...payment,
      refundedAmount: payment.refundedAmount ?? 0n,
      paidAt: settlementDate ?? chargeDate,
      method: methods[0]?.paymentMethodData ?? null,
    },
    await getDocument(work, invoiceId, services),
    {
      invoiceNumber: invoice.invoiceNumber ?? '',
      total: invoice.total,
      timeZone: invoice.buyer?.terms?.timeZone ?? 'UTC',
    },
  );
}

/**
 * The receipt of the last payment of an invoice. Refuses with `invoiceNotFound`, and with `invoiceHasNoReceipt` one that
 * no money has come for.
 */
export async function getReceiptOfInvoice(
  work: Work,
  id: string,
  services: DocumentServices,
): Promise<PrintedDocument> {
  if ((await findInvoice(work, id)) === null) throw new Problem('invoiceNotFound', { id });
  const payment = await findLastPaid(work, id);
  const receipt = payment && (await findReceipt(work, payment, services));
  if (receipt === null) throw new Problem('invoiceHasNoReceipt', { id });
  return receipt;
}

/** The receipt of a payment. Refuses with `paymentNotFound`, and with `paymentHasNoReceipt` one without its money. */
export async function getReceipt(work: Work, id: string, services: DocumentServices): Promise<PrintedDocument> {
  const payment = await findPayment(work, id);
  if (payment === null) throw new Problem('paymentNotFound', { id });
  const receipt = await findReceipt(work, payment, services);
  if (receipt === null) throw new Problem('paymentHasNoReceipt', { id, status: payment.status });
  return receipt;
}
