import type { Instant } from '../kernel/calendar.ts';
import type { MandateAcceptance, PaymentMethodData, PaymentMethodType } from './payment-method.ts';

/** The outcome or progress of a charge. References are the processor's ids. */
export type ChargeOutcome =
  | {
      readonly result: 'succeeded';
      readonly reference: string;
      readonly settledAt: Instant;
      readonly receiptNumber: string | null;
      /** The address of the processor's receipt. */
      readonly receiptUrl?: string | null;
    }
  /** No money moved, and none will under this idempotency key. */
  | { readonly result: 'failed'; readonly reference: string | null; readonly code: string; readonly message: string }
  /** Canceled before any money moved. */
  | { readonly result: 'canceled'; readonly reference: string }
  /** In progress: query again from `checkAt` on. */
  | { readonly result: 'processing'; readonly reference: string; readonly checkAt: Instant }
  /** The customer must act first, as `nextAction` says in the processor's terms: query again from `checkAt` on. */
  | {
      readonly result: 'requires_action';
      readonly reference: string;
      /** JSON-serializable. */
      readonly nextAction: unknown;
      readonly checkAt: Instant;
    }
  /** It had succeeded, and the whole unrefunded amount has been reversed since: a returned debit, a lost dispute. */
  | { readonly result: 'reversed'; readonly code: string; readonly message: string }
  /** Pending until somebody records the money: there is no processor to query. */
  | { readonly result: 'awaiting' };

export interface ChargeRequest {
  /** Each key makes one charge, however often it is requested. */
  readonly idempotencyKey: string;
  /** In minor units. */
  readonly amount: bigint;
  readonly currency: string;
  /** The payment method to charge. */
  readonly token: string | null;
  readonly description: string | null;
  /** The payment's environment. An external processor stores it with the charge and repeats it in its events. */
  readonly environmentId: number;
  /** The payer's id at the processor; null if the processor has no customers. */
  readonly customerReference: string | null;
  /** Whether the customer is present in a browser, where it can confirm a card charge. */
  readonly customerPresent: boolean;
  readonly now: Instant;
}

export type RefundOutcome =
  | { readonly result: 'succeeded'; readonly reference: string }
  | { readonly result: 'failed'; readonly code: string; readonly message: string };

export interface RefundRequest {
  /** Each key makes one refund, however often it is requested. */
  readonly idempotencyKey: string;
  /** The charge to refund. */
  readonly reference: string | null;
  /** In minor units. */
  readonly amount: bigint;
  readonly currency: string;
  readonly now: Instant;
}

/** A refund known to the processor, including one that this service did not request. */
export interface KnownRefund {
  readonly reference: string;
  /** Our idempotency key; null if somebody else requested it. */
  readonly idempotencyKey: string | null;
  /** In minor units. */
  readonly amount: bigint;
}

export interface AttachRequest {
  /** The caller's token of the payment method. */
  readonly token: string;
  /** The type that the caller expects. */
  readonly type: PaymentMethodType | null;
  /** The agreement to a mandate on a page; null: the caller has the mandate. */
  readonly acceptance: MandateAcceptance | null;
  /** Whether the token came from a browser, which may name the payment method of somebody else. */
  readonly isOnPage: boolean;
  /** Each key makes one payment method, however often it is requested. */
  readonly idempotencyKey: string;
  readonly environmentId: number;
  readonly customer: { readonly id: string; readonly name: string; readonly email: string };
  /** The customer's known id at the processor. */
  readonly customerReference: string | null;
}

/** A confirmation by the customer that is required before a payment method can be stored. */
export interface CardConfirmation {
  /** The secret for the processor's script in the browser. */
  readonly clientSecret: string;
  /** The token to attach after the confirmation. */
  readonly token: string;
}

export type AttachOutcome =
  | {
      readonly result: 'attached';
      readonly type: PaymentMethodType;
      readonly data: PaymentMethodData;
      /** The issuing country. */
      readonly country: string;
      /** The token for future charges, if it differs from the caller's. */
      readonly token?: string;
      /** The same for each token of one card or account; null or absent: the processor cannot tell. */
      readonly fingerprint?: string | null;
    }
  | {
      readonly result: 'declined';
      readonly code: string;
      readonly message: string;
      /** The confirmation in a browser, if nothing else is missing. */
      readonly nextAction?: CardConfirmation;
    }
  /** The processor does not know the token; these are its published ones. */
  | { readonly result: 'unknown'; readonly known: readonly string[] };

/**
 * A payment processor, the boundary to the outside. A call that throws leaves open whether money moved; repeating it
 * with the same key clarifies that. No call is made within a transaction, except `attachPaymentMethod` of a processor
 * without customers, which looks tokens up locally.
 */
export interface PaymentProcessor {
  readonly name: string;
  /** The key of its card form in a browser, if it has one. */
  readonly publishableKey?: string | null;
  /**
   * The customer's id at the processor, created if there is none. Only for an external processor, which has customers.
   */
  identifyCustomer?(request: AttachRequest): Promise<string>;
  attachPaymentMethod(request: AttachRequest): Promise<AttachOutcome>;
  /** Removes the payment method from its customer. One that is removed already stays so. */
  detachPaymentMethod?(token: string): Promise<void>;
  /** Deletes a customer with its payment methods. One that is deleted already stays so. */
  deleteCustomer?(reference: string): Promise<void>;
  charge(request: ChargeRequest): Promise<ChargeOutcome>;
  /**
   * Several charges at once, with outcomes in the order of the requests. For a processor that handles many as fast as
   * one.
   */
  chargeAll?(requests: readonly ChargeRequest[]): Promise<readonly ChargeOutcome[]>;
  /** The answer of a customer to its bank, at a network whose bank asks on our pages. The first one counts. */
  answerBank?(reference: string, confirms: boolean, now: Instant): Promise<void>;
  /** The status of a charge at the instant `now`. */
  retrieve(reference: string, now: Instant): Promise<ChargeOutcome>;
  refund(request: RefundRequest): Promise<RefundOutcome>;
  /** The completed and pending refunds of a charge, including those that this service did not request. */
  listRefunds?(reference: string, currency: string): Promise<readonly KnownRefund[]>;
}

/** The available processors. */
export interface Processors {
  /** The processor of a payment or payment method. Refuses with `processorNotConfigured` if it is not available now. */
  named(name: string): PaymentProcessor;
  /** The processor of new payment methods in an environment. */
  defaultIn(environment: { readonly livemode: boolean }): PaymentProcessor;
}
