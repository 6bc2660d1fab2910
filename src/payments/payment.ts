import assert from 'node:assert/strict';
import { z } from 'zod';
import { maxInvoiceTotal, taxFields } from '../invoicing/invoice.ts';
import type { Instant } from '../kernel/calendar.ts';
import { CurrencyCode, refuseFineAmount } from '../kernel/currency.ts';
import { idSchema } from '../kernel/id.ts';
import { Timestamp, WholeNumber } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { stamps } from '../kernel/record.ts';
import { PaymentMethodType } from './payment-method.ts';
import type { ChargeOutcome } from './processor.ts';

export const PaymentId = idSchema('payment');

export const PaymentStatus = z
  .enum(['processing', 'requires_confirmation', 'requires_action', 'succeeded', 'failed', 'canceled', 'refunded'])
  .meta({ id: 'PaymentStatus' });
export type PaymentStatus = z.infer<typeof PaymentStatus>;

/** Events of a payment: outcomes of its charge, and refunds. */
type PaymentTrigger = ChargeOutcome['result'] | 'refunded_in_part' | 'refunded';

/** The life cycle of a payment. Missing entries are impossible. */
export const paymentTransitions: Readonly<
  Record<PaymentStatus, Readonly<Partial<Record<PaymentTrigger, PaymentStatus>>>>
> = {
  processing: {
    processing: 'processing',
    awaiting: 'requires_confirmation',
    requires_action: 'requires_action',
    succeeded: 'succeeded',
    failed: 'failed',
    canceled: 'canceled',
  },
  requires_confirmation: {
    processing: 'processing',
    awaiting: 'requires_confirmation',
    requires_action: 'requires_action',
    succeeded: 'succeeded',
    failed: 'failed',
    canceled: 'canceled',
  },
  requires_action: {
    processing: 'processing',
    requires_action: 'requires_action',
    succeeded: 'succeeded',
    failed: 'failed',
    canceled: 'canceled',
  },
  // A bank may reverse a payment. A late report of a failure before the success is ignored.
  succeeded: { reversed: 'failed', refunded_in_part: 'succeeded', refunded: 'refunded' },
  failed: {},
  canceled: {},
  refunded: {},
};

/** The status after the event, or null if it is impossible in this status. */
export function nextPaymentStatus(status: PaymentStatus, trigger: PaymentTrigger): PaymentStatus | null {
  return paymentTransitions[status][trigger] ?? null;
}

/** Statuses of a payment that may still succeed: an invoice has at most one such payment. */
export const livePaymentStatuses = [
  'processing',
  'requires_confirmation',
  'requires_action',
] as const satisfies readonly PaymentStatus[];

/** One attempt to collect an invoice, or to pay for a purchase before it has one. */
export const Payment = z
  .object({
    id: PaymentId,
    ...stamps,
    livemode: z.boolean(),
    organizationId: z.string(),
    pricingModelId: z.string(),
    customerId: z.string(),
    invoiceId: z
      .string()
      .nullable()
      .meta({
        description:
          'Null for the first payment of a purchase until the money has arrived or is on its way: a declined one has no ' +
          'invoice, and names its purchase.',
      }),
    subscriptionId: z.string().nullable(),
    billingPeriodId: z.string().nullable(),
    purchaseId: z.string().nullable(),
    paymentMethodId: z.string().nullable(),
    paymentMethod: PaymentMethodType,
    amount: WholeNumber.meta({
      description: 'The amount in the smallest unit of the currency.',
      minimum: 1,
      maximum: Number(maxInvoiceTotal),
    }),
    currency: CurrencyCode,
    ...taxFields,
    status: PaymentStatus,
    chargeDate: Timestamp,
    settlementDate: Timestamp.nullable(),
    description: z.string().nullable(),
    receiptNumber: z.string().nullable(),
    receiptURL: z.string().nullable(),
    nextAction: z.unknown().meta({
      description:
        'The step that the customer must take before the charge can continue, in the form of the processor. Otherwise null.',
    }),
    failureCode: z.string().nullable(),
    failureMessage: z.string().nullable(),
    refunded: z.boolean().meta({ description: 'True if the whole payment was refunded.' }),
    refundedAmount: WholeNumber.nullable().meta({ description: 'The amount refunded so far. Null before any refund.' }),
    refundedAt: Timestamp.nullable().meta({ description: 'The time of the last refund.' }),
  })
  .meta({ id: 'Payment' });
export type Payment = z.infer<typeof Payment>;

// The minimum interval between queries, so that a frozen test clock does not cause endless queries.
const shortestWaitMs = 60_000;

/** The fields of a payment that its charge determines. */
export interface ChargeState {
  readonly id: string;
  readonly status: PaymentStatus;
  readonly processorReference: string | null;
  /** The next status query; null if there is none. */
  readonly checkAt: Instant | null;
  readonly settlementDate: Instant | null;
  readonly receiptNumber: string | null;
  readonly receiptUrl: string | null;
  readonly nextAction: unknown;
  readonly failureCode: string | null;
  readonly failureMessage: string | null;
  readonly refundingAmount: bigint;
}

/**
 * The outcome for a payment in this status. Money that came and was taken back before anybody asked has never arrived: the
 * charge of a payment in flight has failed then.
 */
export function outcomeSeen({ status }: Pick<ChargeState, 'status'>, outcome: ChargeOutcome): ChargeOutcome {
  if (outcome.result !== 'reversed' || !livePaymentStatuses.some((each) => each === status)) return outcome;
  return { result: 'failed', reference: null, code: outcome.code, message: outcome.message };
}

/**
 * The payment after an outcome of its charge at `now`; null if a repeated or late report changes nothing. Refuses with
 * `refundInFlight` a reversal while a refund is pending: the processor reports it again.
 */
export function decideCharge<State extends ChargeState>(
  payment: State,
  outcome: ChargeOutcome,
  now: Instant,
): State | null {
  const status = nextPaymentStatus(payment.status, outcome.result);
  if (status === null) return null;
  const changed: State = { ...payment, status, checkAt: null, nextAction: null };
  switch (outcome.result) {
    case 'succeeded': {
      const { reference, settledAt, receiptNumber, receiptUrl = null } = outcome;
      return { ...changed, processorReference: reference, settlementDate: settledAt, receiptNumber, receiptUrl };
    }
    case 'failed': {
      const processorReference = outcome.reference ?? payment.processorReference;
      return { ...changed, processorReference, failureCode: outcome.code, failureMessage: outcome.message };
    }
    case 'reversed':
      if (payment.refundingAmount > 0n) throw new Problem('refundInFlight', { id: payment.id });
      return { ...changed, failureCode: outcome.code, failureMessage: outcome.message };
    case 'canceled':
      return { ...changed, processorReference: outcome.reference };
    case 'processing':
      return { ...changed, processorReference: outcome.reference, checkAt: checkAfter(outcome.checkAt, now) };
    case 'requires_action': {
      const { reference, nextAction, checkAt } = outcome;
      return { ...changed, processorReference: reference, nextAction, checkAt: checkAfter(checkAt, now) };
    }
    case 'awaiting':
      return changed;
    default:
      assert.fail(`unknown outcome: ${outcome satisfies never}`);
  }
}

function checkAfter(checkAt: Instant, now: Instant): Instant {
  return Math.max(checkAt, now + shortestWaitMs);
}

/** The amounts of a payment, in minor units: 0 <= refunded + being refunded <= amount. */
export interface PaymentMoney {
  readonly id: string;
  readonly status: PaymentStatus;
  readonly amount: bigint;
  readonly currency: CurrencyCode;
  readonly refundedAmount: bigint;
  readonly refundingAmount: bigint;
}

/** The refundable amount in minor units: neither refunded nor being refunded. */
export function refundable(payment: PaymentMoney): bigint {
  return payment.amount - payment.refundedAmount - payment.refundingAmount;
}

/**
 * The amount to refund in minor units: the requested one, or the whole remainder (null). Refuses a payment that cannot
 * be refunded, and an amount that is not whole, not positive or more than the remainder.
 */
export function decideRefund(payment: PaymentMoney, partialAmount: number | null): bigint {
  const { id, status } = payment;
  if (status === 'refunded') throw new Problem('paymentAlreadyRefunded', { id });
  if (status !== 'succeeded') throw new Problem('paymentNotRefundable', { id, status });
  const remaining = refundable(payment);
  if (remaining === 0n) throw new Problem('refundInFlight', { id });
  if (partialAmount === null) return remaining;
  const isAmount = Number.isSafeInteger(partialAmount) && partialAmount > 0 && BigInt(partialAmount) <= remaining;
  if (!isAmount) {
    throw invalid(
      ['partialAmount'],
      `must be a whole number from 1 to ${remaining}, the unrefunded part of ${payment.amount}`,
    );
  }
  refuseFineAmount(['partialAmount'], BigInt(partialAmount), payment.currency);
  return BigInt(partialAmount);
}

/** The payment after a pending refund of `amount` minor units has succeeded or failed. */
export function decideRefunded(
  payment: PaymentMoney,
  amount: bigint,
  result: 'succeeded' | 'failed',
): Pick<PaymentMoney, 'status' | 'refundedAmount' | 'refundingAmount'> {
  const refundingAmount = payment.refundingAmount - amount;
  assert(refundingAmount >= 0n, 'the refund was reserved');
  if (result === 'failed') return { status: payment.status, refundedAmount: payment.refundedAmount, refundingAmount };
  const refundedAmount = payment.refundedAmount + amount;
  const status = nextPaymentStatus(payment.status, refundedAmount === payment.amount ? 'refunded' : 'refunded_in_part');
  assert(status, 'only a payment that succeeded is refunded');
  return { status, refundedAmount, refundingAmount };
}

/** `pending` until the processor has responded; the other statuses are final. */
type RefundStatus = 'pending' | 'succeeded' | 'failed';

/**
 * A return of a payment's money. Its amount is reserved on the payment from the start, so that nothing is refunded
 * twice.
 */
export interface Refund {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly paymentId: string;
  /** The credit note that it settles. Null if nothing was left to credit of its invoice. */
  readonly creditNoteId: string | null;
  /** In minor units. */
  readonly amount: bigint;
  readonly status: RefundStatus;
  readonly processorReference: string | null;
  readonly failureMessage: string | null;
}
