import { mulDiv } from '../kernel/money.ts';

/** The fields of an invoice that show how much it pays for the plan of its period. Money in minor units. */
export interface PlanInvoice {
  readonly status: string;
  readonly total: bigint;
  readonly amountPaid: bigint;
  readonly amountRefunded: bigint;
  /** The part of the total that credit notes took off the amount due. */
  readonly offsetAmount: bigint;
  /** The part of the total that the customer's balance paid. */
  readonly balanceApplied: bigint;
  /** The part of the total that credit notes returned to that balance. */
  readonly balanceCredited: bigint;
  /** The sum of its plan lines before discount and tax, without usage and paused time. */
  readonly listAmount: bigint;
  /** The discount on these lines. */
  readonly planDiscount: bigint;
  /** All of its lines after discount, before paused time and tax. */
  readonly netAmount: bigint;
  /** Paid paused time that it takes off. */
  readonly pausedTime: bigint;
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
export function listValuePaid(invoice: PlanInvoice): bigint {
  return paidPartOf(invoice, invoice.listAmount);
}

/** The plan lines of an invoice after discount. Void invoices bill nothing. */
export function planBilled({ status, listAmount, planDiscount }: PlanInvoice): bigint {
  return status === 'void' ? 0n : listAmount - planDiscount;
}

/** The part of it that was really paid and not refunded, paused time included, which was paid before. */
export function planPaid(invoice: PlanInvoice): bigint {
  return paidPartOf(invoice, planBilled(invoice));
}

/** The paid part of an amount that is on the invoice. Rounded once. */
function paidPartOf(invoice: PlanInvoice, amount: bigint): bigint {
  const { status, total, amountPaid, amountRefunded, offsetAmount } = invoice;
  const { netAmount, pausedTime, isBeingPaid, balanceApplied, balanceCredited } = invoice;
  if (status === 'void') return 0n;
  if (total === 0n) return amount;
  const given = (isBeingPaid ? total - offsetAmount : amountPaid + balanceApplied) - amountRefunded;
  // After a reversed payment more may have gone to the balance than was received.
  const received = given > balanceCredited ? given - balanceCredited : 0n;
  return mulDiv(amount, pausedTime * total + (netAmount - pausedTime) * received, netAmount * total);
}
