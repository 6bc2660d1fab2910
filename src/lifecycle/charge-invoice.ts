import type { InvoiceRow } from '../invoicing/store.ts';
import { applyChargeOutcome, assumedSuccess, requestCharge } from '../payments/actions.ts';
import type { Work } from '../platform/work.ts';
import { recordPaid } from './record-paid.ts';

/**
 * Asks for the charge of an open invoice after the commit. A dry run commits nothing, so there the charge is taken to
 * succeed and what follows from it is done at once.
 */
export async function chargeInvoice(
  work: Work,
  invoice: InvoiceRow,
  paymentMethodId: string,
  attemptNumber = 1,
): Promise<void> {
  await requestCharge(work, { invoice, paymentMethodId, attemptNumber, assume: assumePaid });
}

async function assumePaid(work: Work, paymentId: string): Promise<void> {
  const { payment, invoice } = await applyChargeOutcome(work, paymentId, assumedSuccess(work));
  await recordPaid(work, invoice, payment.paymentMethodId);
}
