import type { Instant } from '../kernel/calendar.ts';
import type { PaymentMethodData, PaymentMethodType } from './payment-method.ts';

/** How a charge ended, or how far it is. The references are the processor's own names for it. */
export type ChargeOutcome =
  | {
      readonly result: 'succeeded';
      readonly reference: string;
      readonly settledAt: Instant;
      readonly receiptNumber: string | null;
      /** Where the customer finds the processor's receipt. */
      readonly receiptUrl?: string | null;
    }
  /** No money moved, and none will under this idempotency key. */
  | { readonly result: 'failed'; readonly reference: string | null; readonly code: string; readonly message: string }
  /** Called off before any money moved. */
  | { readonly result: 'canceled'; readonly reference: string }
  /** Under way: ask again from `checkAt` on. */
  | { readonly result: 'processing'; readonly reference: string; readonly checkAt: Instant }
  /** The customer has to do something first, which `nextAction` says in the processor's words: ask again from `checkAt` on. */
  | {
      readonly result: 'requires_action';
      readonly reference: string;
      /** As it goes into JSON. */
      readonly nextAction: unknown;
      readonly checkAt: Instant;
    }
  /** It had succeeded, and all of the money that was not refunded has been taken back since: a returned debit, a lost dispute. */
  | { readonly result: 'reversed'; readonly code: string; readonly message: string }
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
  /** Whose payment it is. A processor outside keeps it beside the charge, and says it in what it tells by itself. */
  readonly environmentId: number;
  /** Who pays, as the processor calls it; null where it keeps no customers. */
  readonly customerReference: string | null;
  /** Whether the customer waits in a browser, where it can confirm a card's charge to its bank. */
  readonly customerPresent: boolean;
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

/** A refund as the processor knows it, whoever asked for it. */
export interface KnownRefund {
  readonly reference: string;
  /** The key under which we asked for it; null when somebody else did. */
  readonly idempotencyKey: string | null;
  /** In minor units. */
  readonly amount: bigint;
}

export interface AttachRequest {
  /** What the caller calls the payment method. */
  readonly token: string;
  /** What the caller says that it is. */
  readonly type: PaymentMethodType | null;
  /** One key is one payment method, however often it is asked for. */
  readonly idempotencyKey: string;
  readonly environmentId: number;
  readonly customer: { readonly id: string; readonly name: string; readonly email: string };
  /** Who the customer is at the processor, as far as we know. */
  readonly customerReference: string | null;
}

/** What the customer has to confirm to its bank before a payment method can be kept. */
export interface CardConfirmation {
  /** What the processor's script in the browser does it with. */
  readonly clientSecret: string;
  /** What to attach once that has succeeded. */
  readonly token: string;
}

export type AttachOutcome =
  | {
      readonly result: 'attached';
      readonly type: PaymentMethodType;
      readonly data: PaymentMethodData;
      /** Where it was issued. */
      readonly country: string;
      /** What it is charged by from now on, where that is another name than the caller's. */
      readonly token?: string;
    }
  | {
      readonly result: 'declined';
      readonly code: string;
      readonly message: string;
      /** What the customer has to confirm in a browser first, where that is all that is missing. */
      readonly nextAction?: CardConfirmation;
    }
  /** The processor knows no such token; these are the ones that it tells everybody. */
  | { readonly result: 'unknown'; readonly known: readonly string[] };

/**
 * Who moves the money: the edge of the outside world. Its calls may fail by throwing, which says nothing about
 * whether money moved; asking again under the same key finds out. None is made while a transaction is open, except
 * `attachPaymentMethod` of a processor that keeps no customers: it looks tokens up without asking anyone.
 */
export interface PaymentProcessor {
  readonly name: string;
  /** What its own card form in a browser is opened with, where it has one. */
  readonly publishableKey?: string | null;
  /** Who the customer is there, made when nobody is yet. Only of a processor outside, which keeps customers of its own. */
  identifyCustomer?(request: AttachRequest): Promise<string>;
  attachPaymentMethod(request: AttachRequest): Promise<AttachOutcome>;
  charge(request: ChargeRequest): Promise<ChargeOutcome>;
  /** Many charges at once, answered in the order of the requests. For a processor that is as fast with many as with one. */
  chargeAll?(requests: readonly ChargeRequest[]): Promise<readonly ChargeOutcome[]>;
  /** How a charge stands at the instant `now`. */
  retrieve(reference: string, now: Instant): Promise<ChargeOutcome>;
  refund(request: RefundRequest): Promise<RefundOutcome>;
  /** The refunds of a charge that gave money back or are about to, by whomever they were asked for. */
  listRefunds?(reference: string, currency: string): Promise<readonly KnownRefund[]>;
}

/** The processors that there are. */
export interface Processors {
  /** The one that a payment or a payment method names. Refuses with `processorNotConfigured` when there is none now. */
  named(name: string): PaymentProcessor;
  /** The one that new payment methods of an environment belong to. */
  defaultIn(environment: { readonly livemode: boolean }): PaymentProcessor;
}
