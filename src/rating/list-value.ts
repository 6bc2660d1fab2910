import { mulDiv } from '../kernel/money.ts';

/** The fields of an invoice that show how much it pays for the plan of its period. Money in minor units. */
export interface PlanInvoice {
  readonly status: string;
  readonly total: bigint;
  readonly amountPaid: bigint;
  readonly amountRefunded: bigint;
  /** The sum of its plan lines before discount and tax, without usage and paused time. */
  readonly listAmount: bigint;
  /** Whether a payment of it is in flight. */
  readonly isBeingPaid: boolean;
  /** Void because another invoice replaced it, or because its change was not made. */
  readonly isWithdrawn: boolean;
}

/**
 * The list value of the plan that nothing collects again: all of it, also if it was refunded, voided, written off, or is
 * still owed. A withdrawn invoice counts for nothing. Worked example: 3000 with 1500 of them refunded are 3000.
 */
export function listValueSettled({ listAmount, isWithdrawn }: Pick<PlanInvoice, 'listAmount' | 'isWithdrawn'>): bigint {
  return isWithdrawn ? 0n : listAmount;
}

/**
 * The list value of the plan that an invoice has paid for: the plan lines' share of the paid and not refunded amount.
 * Payments in flight count as paid. A fully discounted invoice has paid for its lines. Worked examples A10 and A11:
 * 3000 in flight count as 3000, and with 1000 of them refunded as 2000.
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
