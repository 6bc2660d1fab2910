import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { type ChargeOrder, requestCharges, requestChecks } from '../payments/actions-charge.ts';
import { applyChargeOutcomes, assumedSuccess } from '../payments/actions-settle.ts';
import { type PaymentRow, takePaymentsToCheck } from '../payments/store.ts';
import type { DueWorkHandler } from './due-work-runner.ts';
import { recordPaid } from './record-paid.ts';

/**
 * Requests the charges of open invoices after the commit. A dry run commits nothing, so it assumes success and applies
 * the consequences at once.
 */
export function chargeInvoices(work: Work, orders: readonly ChargeOrder[]): Promise<PaymentRow[]> {
  return requestCharges(work, orders, assumePaid);
}

/** The same for one. */
export async function chargeInvoice(
  work: Work,
  invoice: ChargeOrder['invoice'],
  paymentMethodId: string,
): Promise<PaymentRow> {
  const [payment] = await chargeInvoices(work, [{ invoice, paymentMethodId }]);
  assert(payment, 'a charge that was asked for has its payment');
  return payment;
}

/** The assumed result in a dry run: the charges succeed, with all consequences. */
async function assumePaid(work: Work, payments: readonly { readonly id: string }[]): Promise<void> {
  const changed = await applyChargeOutcomes(
    work,
    payments.map(({ id }) => assumedSuccess(work, id)),
  );
  await recordPaid(
    work,
    changed.map(({ invoice, payment }) => ({ invoice, paymentMethodId: payment.paymentMethodId })),
  );
}

/**
 * Queries slow charges at their processors after the commit. The response sets the next query, at the earliest a minute
 * later; a charge that the processor calls pending never counts as failed.
 */
export const checkHandler: DueWorkHandler = {
  name: 'check',
  take: takePaymentsToCheck,
  perform: (work, ids) => requestChecks(work, ids, assumePaid),
};
