import type { BillingAddress } from '../customers/customer.ts';
import type { Instant, IntervalUnit } from '../kernel/calendar.ts';
import type { Branding } from '../organizations/branding.ts';
import type { MandateAcceptance, PaymentMethodData, PaymentMethodType } from '../payments/payment-method.ts';
import type { CardConfirmation } from '../payments/processor.ts';
import type { BillingTiming } from '../pricing/price.ts';
import type { Priced, Pricing } from '../pricing/pricing.ts';
import type { Included } from '../pricing/store-features.ts';
import type { Where } from '../pricing/usage-meter.ts';
import type { Wording } from '../wording/wording.ts';
import type { AddOnChoice, CheckoutStatus, CheckoutType } from './checkout.ts';

/** The look that all pages of a seller share, in the language of the visitor. */
export interface PageLook {
  /** The name of the selling organization. */
  readonly seller: string;
  readonly branding: Pick<Branding, 'logo' | 'icon' | 'primaryColor' | 'legalFooter'>;
  readonly livemode: boolean;
  readonly wording: Wording;
}

/** The processor as pages show it. */
export interface PageProcessor {
  /** 'test', 'stripe', 'stripe_test' or 'manual', which accepts no cards. */
  readonly name: string;
  /** The key of Stripe's form; null if not configured. */
  readonly publishableKey: string | null;
  /** Whether the seller takes bank debits beside cards. */
  readonly takesDebits: boolean;
}

/** The processor that takes the payment method. */
export interface CardTaker extends PageProcessor {
  readonly currency: string;
  readonly seller: string;
}

/** A charge that awaits confirmation by the customer's bank. */
export interface PaymentToConfirm {
  readonly id: string;
  /** The secret for the processor's script in the browser. */
  readonly clientSecret: string;
}

/** A change of plan instead of a purchase. Amounts are those of a whole period. */
export interface PlanChange {
  readonly subscriptionId: string;
  readonly currentName: string;
  /** Whether the plan stays, at another quantity or with other add-ons. */
  readonly keepsPlan: boolean;
  readonly currentTotal: bigint;
  readonly newTotal: bigint;
  readonly isNow: boolean;
  readonly effectiveAt: Instant;
}

/** A payment method of the customer that can be charged. */
export interface SavedMethod {
  readonly id: string;
  readonly type: PaymentMethodType;
  readonly data: PaymentMethodData;
}

/** The price of the usage of a meter, which is billed after it was used. */
export interface UsageTerms extends Priced {
  readonly priceId: string;
  readonly meterName: string;
  /** The units that cost `unitPrice` together. */
  readonly usageEventsPerUnit: number;
  /** The events of the meter that it is for; null: the rest. */
  readonly where: Where | null;
  /** The interval after which it is billed; null: with the plan. */
  readonly ownInterval: { readonly unit: IntervalUnit; readonly count: number } | null;
}

/** The prices of usage of a plan, and its billing. */
export interface UsageBilling {
  /** The prices of usage that the plan does not include; empty if it bills none. */
  readonly usage: readonly UsageTerms[];
  /** The worth at which unbilled usage is invoiced before; null: it is not. */
  readonly usageThreshold: bigint | null;
}

/** The terms of a plan beside its price; null: nothing is bought, or it has none. */
export interface PlanTerms {
  /** The least that plan and usage of a billing period cost. */
  readonly minimumCommitment: bigint | null;
  readonly billingTiming: BillingTiming | null;
}

/** An add-on that the session sells or offers. */
export interface CheckoutAddOn extends Priced, PlanTerms {
  readonly priceId: string;
  readonly name: string;
  readonly description: string | null;
  readonly setupFee: bigint | null;
  /** The quantity that is chosen at present; 0: it is left out. */
  readonly quantity: number;
  /** The quantities that the buyer may choose, beside 0 if it is optional. */
  readonly minimumQuantity: number;
  readonly maximumQuantity: number;
  /** Whether the buyer may leave it out. */
  readonly optional: boolean;
}

/** As many as a page shows. */
export const maxUsageTerms = 20;
export const maxIncluded = 20;

/** A line of the order. `amount` is before discount and tax, in minor units. */
interface CheckoutLine {
  readonly description: string;
  readonly quantity: number;
  readonly amount: bigint;
}

/**
 * The data of a checkout page. Amounts are whole minor units of `currency`, and exactly those that confirming would
 * bill now.
 */
export interface CheckoutView extends PageLook, PlanTerms, UsageBilling {
  readonly id: string;
  readonly type: CheckoutType;
  /** `pending` until the payment arrives; `open` again after a decline. */
  readonly status: CheckoutStatus;
  /** The last purchase attempt; null without one. */
  readonly purchaseId: string | null;
  readonly expiresAt: Instant;
  /** Null if a card is added and nothing is bought. */
  readonly productName: string | null;
  readonly description: string | null;
  /** The price of one unit; null if nothing is bought. */
  readonly unitPrice: bigint | null;
  /** How a quantity becomes money in its place; null: it does not. */
  readonly pricing: Pricing | null;
  /** Billed once, with the first invoice; null if there is none. */
  readonly setupFee: bigint | null;
  /** The billing interval; null if it is paid once, or nothing is bought. */
  readonly intervalUnit: IntervalUnit | null;
  readonly intervalCount: number | null;
  readonly quantity: number;
  /** The features of the product, for each unit of its quantity. */
  readonly included: readonly Included[];
  /** The add-ons beside the plan, in the seller's order. */
  readonly addOns: readonly CheckoutAddOn[];
  /** Whether the buyer may change the quantity. */
  readonly mayChangeQuantity: boolean;
  /** Its limits then. */
  readonly minimumQuantity: number | null;
  readonly maximumQuantity: number | null;
  /** Whether tax is computed, so that the amounts depend on the address. */
  readonly isTaxed: boolean;
  /** Whether a discount code may be entered. */
  readonly mayDiscount: boolean;
  /** The change of the plan that the customer has; null if something new is bought. */
  readonly change: PlanChange | null;
  /** The date of the first charge, if there is a free trial now. */
  readonly trialEnd: Instant | null;
  /** The end of the period that confirming would begin or keep, with its next charge; null: nothing renews. */
  readonly nextChargeAt: Instant | null;
  /** The lines billed on confirmation; empty during a trial. */
  readonly lines: readonly CheckoutLine[];
  /** The sum of the lines, before discount. */
  readonly subtotal: bigint;
  /** The effective discount code, in upper case. */
  readonly discountCode: string | null;
  readonly discountAmount: bigint;
  readonly taxAmount: bigint;
  /** Whether the lines include the tax; otherwise it is added. */
  readonly taxIncluded: boolean;
  readonly total: bigint;
  /** The amount charged on confirmation: the total, which is 0 during a trial. */
  readonly dueNow: bigint;
  readonly currency: string;
  readonly customer: {
    readonly name: string | null;
    readonly email: string | null;
    readonly billingAddress: BillingAddress | null;
    readonly taxId: string | null;
  };
  /** Whether the session has no customer yet: name and email are requested then, otherwise only shown. */
  readonly isAnonymous: boolean;
  /** Whether a payment method is required: something is due now or later, or the session adds a card. */
  readonly needsCard: boolean;
  /** The customer's payment methods to choose from, the default first, instead of entering a card. */
  readonly savedMethods: readonly SavedMethod[];
  readonly processor: PageProcessor;
  readonly successUrl: string | null;
  readonly cancelUrl: string | null;
  /** The processor's reason why the last payment failed; null without one. */
  readonly failure: string | null;
  /** The card that the buyer must confirm with its bank before it can be stored; null without one. */
  readonly cardToConfirm: CardConfirmation | null;
  /** The pending charge that the buyer must confirm with its bank; null without one. */
  readonly paymentToConfirm: PaymentToConfirm | null;
  /**
   * The reason why an open session cannot be confirmed at present, whatever is entered: its price is no longer for
   * sale, or the customer has another plan. Amounts are 0 then. Null if it can be confirmed.
   */
  readonly refusal: string | null;
}

/** The buyer's input so far that changes amounts. Absent fields come from the session. */
export interface CheckoutDraft {
  readonly quantity?: number;
  /** The quantities of add-ons; those that are not named stay as they are. */
  readonly addOns?: readonly AddOnChoice[];
  /** Null removes the code. */
  readonly discountCode?: string | null;
  readonly billingAddress?: BillingAddress | null;
  /** The tax id of the buyer; absent: it stays, null removes it. */
  readonly taxId?: string | null;
}

/** The buyer's final input. */
export interface CheckoutConfirmation extends CheckoutDraft {
  /** Required in an anonymous session, ignored in others. */
  readonly name?: string | null;
  readonly email?: string | null;
  /** The processor's token of the card; required if the view says `needsCard`, unless a saved method is chosen. */
  readonly token: string | null;
  /** How the buyer has agreed to the mandate of a bank debit. */
  readonly acceptance?: MandateAcceptance;
  /** The id of a saved method to charge. */
  readonly paymentMethodId?: string | null;
  /** The amount due that was shown. A higher amount is refused as an issue of this field. */
  readonly dueNow?: bigint;
  /** The plan whose change was shown, null for a purchase. Another one is refused as an issue of this field. */
  readonly changedPlanId?: string | null;
}
