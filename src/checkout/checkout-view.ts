import type { BillingAddress } from '../customers/customer.ts';
import type { Instant, IntervalUnit } from '../kernel/calendar.ts';
import type { CardConfirmation } from '../payments/processor.ts';
import type { CheckoutStatus, CheckoutType } from './checkout.ts';

/** A charge that waits until its customer has confirmed it to its bank. */
export interface PaymentToConfirm {
  readonly id: string;
  /** What the processor's script in the browser does it with. */
  readonly clientSecret: string;
}

/** One position of what is bought. `amount` is before discount and tax, in minor units. */
export interface CheckoutLine {
  readonly description: string;
  readonly quantity: number;
  readonly amount: bigint;
}

/**
 * Everything that the page of a checkout session shows. Amounts are whole minor units of `currency`, and exactly what
 * confirming would bill now.
 */
export interface CheckoutView {
  readonly id: string;
  readonly type: CheckoutType;
  /** `pending` until the money has arrived; `open` again after it was declined. */
  readonly status: CheckoutStatus;
  readonly livemode: boolean;
  /** The last attempt to buy; null without one. */
  readonly purchaseId: string | null;
  readonly expiresAt: Instant;
  /** The organization that sells. */
  readonly seller: string;
  /** Null where nothing is bought: a card is added. */
  readonly productName: string | null;
  readonly description: string | null;
  /** Of one unit; null where nothing is bought. */
  readonly unitPrice: bigint | null;
  /** How often it is paid; null where it is paid once, or nothing is bought. */
  readonly intervalUnit: IntervalUnit | null;
  readonly intervalCount: number | null;
  readonly quantity: number;
  /** Whether the buyer may say how many: a purchase of a product, while the session is open. */
  readonly mayChangeQuantity: boolean;
  /** Whether a discount code may be entered. */
  readonly mayDiscount: boolean;
  /** When the first charge comes, where there is a free trial now. */
  readonly trialEnd: Instant | null;
  /** What is billed on confirming; empty during a trial. */
  readonly lines: readonly CheckoutLine[];
  /** The sum of the lines, before discount. */
  readonly subtotal: bigint;
  /** The code that counts now, in upper case. */
  readonly discountCode: string | null;
  readonly discountAmount: bigint;
  readonly taxAmount: bigint;
  /** Whether the tax is part of the lines already: where it is not, it comes on top. */
  readonly taxIncluded: boolean;
  readonly total: bigint;
  /** What is charged on confirming: the total, which is 0 during a trial. */
  readonly dueNow: bigint;
  readonly currency: string;
  readonly customer: {
    readonly name: string | null;
    readonly email: string | null;
    readonly billingAddress: BillingAddress | null;
  };
  /** Whether the session is for nobody yet: name and e-mail are asked for then, and else only shown. */
  readonly isAnonymous: boolean;
  /** Whether a card (a token) is asked for: something is to be paid now or later, or a card is what this is about. */
  readonly needsCard: boolean;
  readonly processor: {
    /** 'test', 'stripe', 'stripe_test' or 'manual'. Where it is 'manual' nobody takes cards. */
    readonly name: string;
    /** What Stripe's card form is opened with; null where nobody has said. */
    readonly publishableKey: string | null;
  };
  readonly successUrl: string | null;
  readonly cancelUrl: string | null;
  /** Why the last attempt to pay failed, in the processor's words; null without one. */
  readonly failure: string | null;
  /** The card that the buyer has to confirm to its bank before it can be kept; null without one. */
  readonly cardToConfirm: CardConfirmation | null;
  /** The charge under way that the buyer has to confirm to its bank; null without one. */
  readonly paymentToConfirm: PaymentToConfirm | null;
  /**
   * Why an open session cannot be confirmed as things are, whatever is entered: its price is no longer sold, the
   * customer has another plan by now. Amounts are 0 then. Null where it can be.
   */
  readonly refusal: string | null;
}

/** What the buyer has entered so far and that changes amounts. What is absent is as the session has it. */
export interface CheckoutDraft {
  readonly quantity?: number;
  /** Null takes a code away again. */
  readonly discountCode?: string | null;
  readonly billingAddress?: BillingAddress | null;
}

/** What the buyer has entered in the end. */
export interface CheckoutConfirmation extends CheckoutDraft {
  /** Needed in an anonymous session, and not looked at in others. */
  readonly name?: string | null;
  readonly email?: string | null;
  /** What the processor calls the card; needed where the view says `needsCard`. */
  readonly token: string | null;
  /** What the buyer was shown as due now. More than that is not charged: it is refused as an issue of this field. */
  readonly dueNow?: bigint;
}
