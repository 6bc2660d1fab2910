import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { Problem } from '../kernel/problem.ts';
import { type CreditRefund, lockRefunded, publishRefund, recordRefunded } from './actions-refund.ts';
import { decideRefunded, type Refund, refundable } from './payment.ts';
import type { KnownRefund } from './processor.ts';
import * as payments from './store.ts';
import * as refunds from './store-refunds.ts';

/**
 * Records refunds made directly at the processor, with the same consequences as ours. Returns the invoice; null if
 * nothing is new. Idempotent. The caller has locked the customer and the subscription. Refuses with
 * `refundInFlight` while our own pending refunds leave less than the processor has refunded: the processor will refuse
 * those, which frees the amount.
 */
export async function recordOutsideRefunds(
  work: Work,
  paymentId: string,
  known: readonly KnownRefund[],
  credit: CreditRefund,
): Promise<InvoiceRow | null> {
  const madeThere = known.filter((each) => each.idempotencyKey === null);
  if (madeThere.length === 0) return null;
  const { payment, invoice } = await lockRefunded(work, paymentId);
  const kept = new Set(await refunds.listRefundReferences(work, paymentId));
  const fresh = madeThere.filter((each) => !kept.has(each.reference));
  const amount = fresh.reduce((sum, each) => sum + each.amount, 0n);
  if (fresh.length === 0 || payment.status !== 'succeeded') return null;
  if (amount > refundable(payment)) throw new Problem('refundInFlight', { id: paymentId });
  const reserved = { ...payment, refundingAmount: payment.refundingAmount + amount };
  await payments.updatePayment(work, paymentId, {
    ...decideRefunded(reserved, amount, 'succeeded'),
    refundedAt: work.now,
  });
  for (const { reference, amount: part } of fresh) {
    const refund: Refund = {
      id: newId('refund', paymentId),
      createdAt: work.now,
      updatedAt: work.now,
      pricingModelId: payment.pricingModelId,
      paymentId,
      creditNoteId: await credit(work, { invoiceId: invoice.id, paymentId, amount: part }),
      amount: part,
      status: 'succeeded',
      processorReference: reference,
      failureMessage: null,
    };
    await refunds.insertRefund(work, refund);
    await recordRefunded(work, refund.id, { payment, amount: part });
    await publishRefund(work, refund);
  }
  return invoice;
}
