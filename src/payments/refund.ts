import type { Instant } from '../kernel/calendar.ts';

/** `pending` until the processor has answered; then it has ended, one way or the other. */
export type RefundStatus = 'pending' | 'succeeded' | 'failed';

/** Money of a payment that goes back. It is reserved on the payment from the start, so that nothing goes back twice. */
export interface Refund {
  readonly id: string;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly pricingModelId: string;
  readonly paymentId: string;
  /** In minor units. */
  readonly amount: bigint;
  readonly status: RefundStatus;
  readonly processorReference: string | null;
  readonly failureMessage: string | null;
}
