import type { Work } from '../database/work.ts';
import { amountDue } from '../invoicing/invoice.ts';
import { findInvoice, type InvoiceRow } from '../invoicing/store.ts';
import type { Instant } from '../kernel/calendar.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { findPayment } from '../payments/actions.ts';
import { insertManualPayment } from '../payments/actions-charge.ts';
import type { PaymentMethodType } from '../payments/payment-method.ts';
import type { PaymentRow } from '../payments/store.ts';
import { holdInvoice } from './close-invoice.ts';
import { settleCharges } from './settle-payment.ts';

/** A payment received by bank transfer, in cash or in any other way outside the processors. */
export interface MoneyReceived {
  /** In minor units; the whole amount due when absent. */
  readonly amount?: bigint | null | undefined;
  /** Now when absent. */
  readonly paidAt?: Instant | null | undefined;
  readonly paymentMethodType?: PaymentMethodType | null | undefined;
  readonly description?: string | null | undefined;
  /** The payer's or bank's reference. */
  readonly reference?: string | null | undefined;
}

export interface RecordedPayment {
  readonly payment: PaymentRow;
  readonly invoice: InvoiceRow;
}

// Most payments outside a processor are bank transfers.
const usualMethod: PaymentMethodType = 'us_bank_account';

/**
 * Records a full or partial payment of an open invoice, with all consequences of a payment. Worked example I7: of 5000
 * due, 2000 are recorded, so 3000 are charged next.
 */
export async function recordPayment(work: Work, invoiceId: string, received: MoneyReceived): Promise<RecordedPayment> {
  const invoice = await holdInvoice(work, invoiceId);
  if (invoice.status !== 'open') throw new Problem('invoiceNotOpen', { id: invoiceId, status: invoice.status });
  const due = amountDue(invoice);
  const { description, reference } = received;
  const amount = received.amount ?? due;
  const paidAt = received.paidAt ?? work.now;
  if (amount > due) throw invalid(['payment', 'amount'], `must be at most ${due}, the amount due`);
  if (paidAt > work.now) throw invalid(['payment', 'paidAt'], `must not be in the future: it is now ${work.now}`);
  const { id } = await insertManualPayment(work, invoice, {
    amount,
    paidAt,
    paymentMethod: received.paymentMethodType ?? usualMethod,
    description: description ?? null,
  });
  await settleCharges(work, [
    {
      paymentId: id,
      outcome: {
        result: 'succeeded',
        reference: reference ?? `manual_${id}`,
        settledAt: paidAt,
        receiptNumber: null,
      },
    },
  ]);
  const payment = await findPayment(work, id);
  const paid = await findInvoice(work, invoiceId);
  if (payment === null || paid === null) throw new Problem('paymentNotFound', { id });
  return { payment, invoice: paid };
}
