import type { Instant } from '../kernel/calendar.ts';
import type { PaymentMethodData, PaymentMethodType } from './payment-method.ts';

/** How a charge ended, or how far it is. The references are the processor's own names for it. */
export type ChargeOutcome =
  | {
      readonly result: 'succeeded';
      readonly reference: string;
      readonly settledAt: Instant;
      readonly receiptNumber: string | null;
    }
  /** No money moved, and none will under this idempotency key. */
  | { readonly result: 'failed'; readonly reference: string | null; readonly code: string; readonly message: string }
  /** Called off before any money moved. */
  | { readonly result: 'canceled'; readonly reference: string }
  /** Under way: ask again from `checkAt` on. */
  | { readonly result: 'processing'; readonly reference: string; readonly checkAt: Instant }
  /** Open until somebody says that the money came: there is nobody to ask. */
  | { readonly result: 'awaiting' };

export interface ChargeRequest {
  /** One key is one charge, however often it is asked for. */
  readonly idempotencyKey: string;
  /** In minor units. */
  readonly amount: bigint;
  readonly currency: string;
  /** What is charged. */
  readonly token: string | null;
  readonly description: string | null;
  readonly now: Instant;
}

export type RefundOutcome =
  | { readonly result: 'succeeded'; readonly reference: string }
  | { readonly result: 'failed'; readonly code: string; readonly message: string };

export interface RefundRequest {
  /** One key is one refund, however often it is asked for. */
  readonly idempotencyKey: string;
  /** The charge that is refunded. */
  readonly reference: string | null;
  /** In minor units. */
  readonly amount: bigint;
  readonly currency: string;
  readonly now: Instant;
}

export type AttachOutcome =
  | {
      readonly result: 'attached';
      readonly type: PaymentMethodType;
      readonly data: PaymentMethodData;
      /** Where it was issued. */
      readonly country: string;
    }
  | { readonly result: 'declined'; readonly code: string; readonly message: string }
  /** The processor knows no such token; these are the ones that it tells everybody. */
  | { readonly result: 'unknown'; readonly known: readonly string[] };

/**
 * Who moves the money: the edge of the outside world. Its calls may fail by throwing, which says nothing about
 * whether money moved; asking again under the same key finds out. None is made while a transaction is open, except
 * `attachPaymentMethod` of a processor that looks tokens up without asking anyone.
 */
export interface PaymentProcessor {
  readonly name: string;
  attachPaymentMethod(token: string): Promise<AttachOutcome>;
  charge(request: ChargeRequest): Promise<ChargeOutcome>;
  /** How a charge stands at the instant `now`. */
  retrieve(reference: string, now: Instant): Promise<ChargeOutcome>;
  refund(request: RefundRequest): Promise<RefundOutcome>;
}

/** The processors that there are. */
export interface Processors {
  /** The one that a payment or a payment method names. A name that nobody has is a bug. */
  named(name: string): PaymentProcessor;
  /** The one that new payment methods of an environment belong to. */
  defaultIn(environment: { readonly livemode: boolean }): PaymentProcessor;
}
