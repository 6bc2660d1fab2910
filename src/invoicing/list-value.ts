import { mulDiv } from '../kernel/money.ts';
import type { InvoiceMoney } from './invoice.ts';

/** An invoice as far as it pays for the plan of its period. Money in minor units. */
export interface PlanInvoice extends InvoiceMoney {
  /** What its plan lines come to before discount and tax; usage and what was taken off for paused time are no part. */
  readonly listAmount: bigint;
  /** Whether a payment of it is under way. */
  readonly isBeingPaid: boolean;
}

/**
 * How much of the plan, at its list price, an invoice has paid for or is being paid for: the plan lines' share of what
 * was paid and not refunded. What is being paid counts as paid. An invoice of nothing, all of it discounted, has paid
 * for its lines. Worked examples A10 and A11: 3000 being paid count as 3000, and with 1000 of them refunded as 2000.
 */
export function listValuePaid({
  status,
  total,
  amountPaid,
  amountRefunded,
  listAmount,
  isBeingPaid,
}: PlanInvoice): bigint {
  if (status === 'void') return 0n;
  if (total === 0n) return listAmount;
  const covered = isBeingPaid ? total : amountPaid;
  return mulDiv(listAmount, covered - amountRefunded, total);
}
