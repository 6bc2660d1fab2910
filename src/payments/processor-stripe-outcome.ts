import Stripe from 'stripe';
import type { Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { minorUnitDigits } from '../kernel/money-text.ts';
import { Problem } from '../kernel/problem.ts';
import { type BankDebit, type PaymentMethodData, PaymentMethodType } from './payment-method.ts';
import type { AttachOutcome, ChargeOutcome } from './processor.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Fallback intervals for the case that no event arrives. A card responds within minutes, a bank within days. */
const cardCheckMs = 10 * minuteMs;
const bankCheckMs = dayMs;
const actionCheckMs = 60 * minuteMs;

/** Payment methods that take days and require a mandate. */
export const bankDebits: ReadonlySet<string> = new Set([
  'us_bank_account',
  'sepa_debit',
  'bacs_debit',
] satisfies BankDebit[]);

/** The outcome at `now` of a payment intent with its latest charge. */
export function outcomeOfIntent(intent: Stripe.PaymentIntent, now: Instant): ChargeOutcome {
  const { id: reference, status } = intent;
  const charge = expandedCharge(intent);
  switch (status) {
    case 'succeeded': {
      const receiptNumber = charge?.receipt_number ?? null;
      // The environment's time: Stripe does not report when the money arrived, and a test clock differs from real time
      // anyway.
      return { result: 'succeeded', reference, settledAt: now, receiptNumber, receiptUrl: charge?.receipt_url ?? null };
    }
    case 'canceled':
      return { result: 'canceled', reference };
    case 'requires_payment_method':
      return { result: 'failed', reference, ...lastFailure(intent) };
    case 'requires_action':
      return { result: 'requires_action', reference, nextAction: nextActionOf(intent), checkAt: now + actionCheckMs };
    default: {
      const type = charge?.payment_method_details?.type ?? intent.payment_method_types[0] ?? '';
      return { result: 'processing', reference, checkAt: now + (bankDebits.has(type) ? bankCheckMs : cardCheckMs) };
    }
  }
}

function expandedCharge({ latest_charge: charge }: Stripe.PaymentIntent): Stripe.Charge | null {
  return typeof charge === 'object' ? charge : null;
}

function lastFailure({ last_payment_error: error }: Stripe.PaymentIntent) {
  return {
    code: codeOf({ code: error?.code, decline_code: error?.decline_code }),
    message: error?.message ?? 'The payment failed.',
  };
}

/** The customer's next step: a redirect, or data for Stripe's script on the seller's page. */
function nextActionOf({ next_action: action, client_secret: clientSecret }: Stripe.PaymentIntent) {
  return { type: action?.type ?? 'unknown', url: action?.redirect_to_url?.url ?? null, clientSecret };
}

/** Stripe's code with the bank's own reason, if any: `card_declined (insufficient_funds)`. */
function codeOf(error: { readonly code?: string | undefined; readonly decline_code?: string | undefined }): string {
  const { code = 'payment_failed', decline_code: reason } = error;
  return reason === undefined || reason === code ? code : `${code} (${reason})`;
}

/** The outcome of a charge whose whole amount was lost in disputes; otherwise null. */
export function reversalOf(intent: Stripe.PaymentIntent, disputes: readonly Stripe.Dispute[]): ChargeOutcome | null {
  const lost = disputes.filter((dispute) => dispute.status === 'lost');
  const lostAmount = lost.reduce((sum, dispute) => sum + dispute.amount, 0);
  const refunded = expandedCharge(intent)?.amount_refunded ?? 0;
  const [first] = lost;
  if (first === undefined || lostAmount + refunded < intent.amount_received) return null;
  const message = `The customer's bank took the money back: ${first.reason}.`;
  return { result: 'reversed', code: `dispute_lost (${first.reason})`, message };
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
  /** The invalid parameter, if Stripe names it. */
  readonly param: string | null;
  /** The payment intent, if one was created anyway. */
  readonly reference: string | null;
}

// Values from callers rather than from us: a refusal of these is about the payment.
const namedByCallers = new Set(['payment_method', 'customer', 'amount', 'currency']);
const aboutThem = /^(payment_method|payment_intent|bank_account|customer|amount)_/;

/**
 * A permanent refusal by Stripe that a retry would not change: a declined card, a deleted payment method, an amount
 * that is too small. Null for every other error.
 */
export function refusalOf(error: unknown): Refusal | null {
  const isDecline = error instanceof Stripe.errors.StripeCardError;
  if (!isDecline && !(error instanceof Stripe.errors.StripeInvalidRequestError)) return null;
  const { code, decline_code, message, param = null, payment_intent } = error;
  const reference = payment_intent?.id ?? null;
  const isAboutPayment = reference !== null || namedByCallers.has(param ?? '') || aboutThem.test(code ?? '');
  if (!isDecline && !isAboutPayment) return null;
  return { code: codeOf({ code, decline_code }), message, param, reference };
}

/**
 * Calls Stripe. An error after which the same request may succeed with the same key becomes `processorUnavailable`: no
 * connection, rate limiting, a concurrent request with the key, an internal error of Stripe.
 */
export async function ask<Answer>(processor: string, call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    const { errors } = Stripe;
    const isPassing =
      error instanceof errors.StripeConnectionError ||
      error instanceof errors.StripeRateLimitError ||
      error instanceof errors.StripeAPIError;
    if (!isPassing) throw error;
    throw new Problem('processorUnavailable', { processor, reason: error.code ?? error.type });
  }
}

/** Converts a Stripe payment method. Refuses a type that cannot be charged. */
export function attachedMethod(method: Stripe.PaymentMethod): AttachOutcome {
  const type = PaymentMethodType.safeParse(method.type);
  if (!type.success) {
    const message = `Payment methods of type ${method.type} cannot be charged here.`;
    return { result: 'declined', code: 'payment_method_type_unsupported', message };
  }
  const bacsCountry = method.bacs_debit ? 'GB' : undefined;
  const country =
    bacsCountry ?? method.card?.country ?? method.sepa_debit?.country ?? method.billing_details.address?.country;
  const { fingerprint = null } = method.card ?? method.us_bank_account ?? method.sepa_debit ?? method.bacs_debit ?? {};
  const known = { type: type.data, data: dataOf(method), country: country ?? 'US', token: method.id };
  return { result: 'attached', ...known, fingerprint };
}

function dataOf(method: Stripe.PaymentMethod): PaymentMethodData {
  const { card, us_bank_account: usAccount, sepa_debit: sepa, bacs_debit: bacs, link } = method;
  const data = {
    ...(card && { brand: card.brand, last4: card.last4, expMonth: card.exp_month, expYear: card.exp_year }),
    ...(card?.wallet && { wallet: card.wallet.type }),
    ...(usAccount && { bankName: usAccount.bank_name, last4: usAccount.last4 }),
    ...(sepa && { bankCode: sepa.bank_code, last4: sepa.last4 }),
    ...(bacs && { sortCode: bacs.sort_code, last4: bacs.last4 }),
    ...(link && { email: link.email }),
  };
  const known = Object.entries(data).flatMap(([key, value]) => (value == null ? [] : [[key, value] as const]));
  return Object.fromEntries(known);
}

/**
 * Decimal places at Stripe where they differ from ISO 4217, from Stripe's page on currencies. ISK and UGX have no smaller
 * unit any more and are still sent with two zeros; MGA is sent in whole units.
 */
const otherDigits: Readonly<Record<string, number>> = { ISK: 2, UGX: 2, MGA: 0 };

/** The power of ten by which Stripe's unit is smaller than ours. */
function shiftAtStripe(currency: string): number {
  const digits = minorUnitDigits(currency);
  return (otherDigits[currency] ?? digits) - digits;
}

/**
 * Converts an amount to Stripe's unit, with the same value as on invoices. Null if Stripe cannot charge it, because it
 * is finer than the networks take. No billed amount is.
 */
export function toStripeAmount(amount: bigint, currency: string): number | null {
  if (amount % chargedStep(currency) !== 0n) return null;
  const shift = shiftAtStripe(currency);
  return Number(shift >= 0 ? amount * 10n ** BigInt(shift) : amount / 10n ** BigInt(-shift));
}

/** Converts an amount from Stripe's unit to ours, rounding down where Stripe's is finer. */
export function fromStripeAmount(amount: number, currency: string): bigint {
  const shift = shiftAtStripe(currency);
  return shift >= 0 ? BigInt(amount) / 10n ** BigInt(shift) : BigInt(amount) * 10n ** BigInt(-shift);
}
