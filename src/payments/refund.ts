import type { Instant } from '../kernel/calendar.ts';

/** `pending` until the processor has responded; the other statuses are final. */
export type RefundStatus = 'pending' | 'succeeded' | 'failed';

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
  /** In minor units. */
  readonly amount: bigint;
  readonly status: RefundStatus;
  readonly processorReference: string | null;
  readonly failureMessage: string | null;
}
