import type { InvoiceStatus } from '../invoicing/invoice.ts';
import type { Instant, IntervalUnit } from '../kernel/calendar.ts';
import type { PaymentMethod } from '../payments/payment-method.ts';
import type { Priced } from '../pricing/pricing.ts';
import type { Included } from '../pricing/store-features.ts';
import type { AutoTopUp } from '../purchases/auto-top-up.ts';
import type { SpendControls } from '../spend-controls/spend-limit.ts';
import type { PriceOverride } from '../subscriptions/price-override.ts';
import type { SubscriptionStatus } from '../subscriptions/subscription.ts';
import type { PageLook, PageProcessor, PaymentToConfirm, PlanTerms, UsageBilling } from './checkout-view.ts';
import type { Known } from './portal-details.ts';

/** The portal data of a customer. Amounts are minor units of `currency`. */
export interface PortalView extends PageLook {
  readonly currency: string;
  readonly customer: Known;
  /** The running subscriptions, newest first. */
  readonly subscriptions: readonly PortalSubscription[];
  /** The default first. */
  readonly paymentMethods: readonly Pick<PaymentMethod, 'id' | 'type' | 'default' | 'paymentMethodData'>[];
  /** Newest first. */
  readonly invoices: readonly PortalInvoice[];
  readonly processor: PageProcessor;
  /** The pending charge that the customer must confirm with its bank; null without one. */
  readonly paymentToConfirm: PaymentToConfirm | null;
}

/** The data of its overview. */
export interface PortalOverview extends PortalView {
  /** Products with credits that the customer can buy; none if nothing of it holds credits. */
  readonly topUps: readonly PortalTopUp[];
  /** The credits that the customer has had, of usage meters and of credit pools. */
  readonly credits: readonly PortalCredits[];
  /** The usage meters that the customer has ever used, and the credit pools that paid for usage lately. */
  readonly usage: readonly PortalUsage[];
  readonly days: ChartDays;
  readonly controls: PortalControls;
}

/** A usage meter or credit pool. Its amounts count units of the meter, or smallest units of the pool. */
export interface CreditSubject {
  readonly name: string;
  /** Null: units of a usage meter. Else `credit`, or the currency of a pool. */
  readonly unit: string | null;
}

export interface PortalCredits extends CreditSubject {
  readonly available: bigint;
  readonly held: bigint;
  /** The unused part that a plan or the seller gave, and the one that was bought. */
  readonly granted: bigint;
  readonly paid: bigint;
  /** All units of the credits of which some are left, and no less than the plans give for a period. */
  readonly whole: bigint;
  readonly expiring: { readonly amount: bigint; readonly at: Instant } | null;
}

/** The days that charts may show, the last of which is today. */
export const chartDays = [7, 30, 90] as const;
export type ChartDays = (typeof chartDays)[number];

/** The use of a meter or pool on days that follow each other. */
export interface PortalUsage extends CreditSubject {
  readonly days: readonly {
    readonly start: Instant;
    readonly units: bigint;
    /** The meters whose usage drew from a pool. */
    readonly parts: readonly { readonly name: string; readonly units: bigint }[];
  }[];
}

/** The limits of the customer and its automatic top-up, with what it may choose there. */
export interface PortalControls {
  readonly limits: SpendControls['limits'];
  /** The usage meters and credit pools of the customer's pricing model. */
  readonly subjects: readonly NamedSubject[];
  readonly topUp: AutoTopUp | null;
  /** The products that an automatic top-up can buy. */
  readonly automatic: readonly AutomaticChoice[];
}

/** A usage meter or credit pool as forms name it. */
export interface NamedSubject extends CreditSubject {
  readonly id: string;
  readonly slug: string;
}

/** A price that an automatic top-up can buy, and what the credits that it gives are of. */
export interface AutomaticChoice {
  readonly priceId: string;
  readonly slug: string;
  readonly name: string;
  readonly unitPrice: bigint;
  readonly subject: NamedSubject;
}

/** A product that is paid once and gives credits. */
export interface PortalTopUp extends Priced {
  readonly priceId: string;
  readonly slug: string | null;
  readonly name: string;
  readonly description: string | null;
  readonly included: readonly Included[];
}

export interface PortalSubscription extends PlanTerms, UsageBilling {
  readonly id: string;
  readonly name: string;
  readonly status: SubscriptionStatus;
  readonly items: readonly PortalItem[];
  /** The features of its plan, for each unit of the quantity. */
  readonly included: readonly Included[];
  readonly quantity: number;
  readonly intervalUnit: IntervalUnit | null;
  readonly intervalCount: number | null;
  readonly renews: boolean;
  readonly doNotCharge: boolean;
  /** Own prices of the customer. */
  readonly priceOverrides: readonly PriceOverride[];
  readonly isDefaultPlan: boolean;
  readonly trialEnd: Instant | null;
  /** The start for which it is booked; null: it has started. */
  readonly startsAt: Instant | null;
  /** Whether the next subscription is booked, so that its end stays. */
  readonly hasNext: boolean;
  readonly periodEnd: Instant | null;
  /** When usage is billed within the period; null: only at its end. */
  readonly nextUsageAt: Instant | null;
  readonly cancelScheduledAt: Instant | null;
  readonly scheduledAdjustmentAt: Instant | null;
  readonly scheduledByCustomer: boolean;
  /** The resources of the plan, with the first of their holders. The page of one change shows none. */
  readonly seats: readonly PortalSeats[];
}

/** A resource of a subscription, such as seats. */
interface PortalSeats {
  readonly slug: string;
  readonly name: string;
  readonly capacity: number;
  readonly claimed: number;
  readonly holders: readonly { readonly id: string; readonly externalId: string | null }[];
}

/** A paid item; manually added items are free and not listed. */
interface PortalItem extends Priced {
  readonly id: string;
  readonly priceId: string | null;
  readonly addOn: boolean;
  readonly name: string;
  readonly quantity: number;
}

export interface PortalInvoice {
  readonly id: string;
  readonly number: string;
  readonly date: Instant;
  readonly status: InvoiceStatus;
  readonly total: bigint;
  readonly due: bigint;
  readonly currency: string;
  /** Its page to pay, if it should have been paid by now; else null. */
  readonly url: string | null;
}

/** A plan that the customer could change to, or an add-on that it could have beside its plan. */
export interface PortalPlan extends Priced, PlanTerms, UsageBilling {
  readonly priceId: string;
  readonly name: string;
  readonly description: string | null;
  readonly intervalUnit: IntervalUnit | null;
  readonly intervalCount: number | null;
  /** The quantities that the seller lets buyers choose; null: none. */
  readonly minimumQuantity: number | null;
  readonly maximumQuantity: number | null;
  /** The features of the product, for each unit of its quantity. */
  readonly included: readonly Included[];
  readonly addOn: boolean;
  /** Whether the customer has it. */
  readonly isOwn: boolean;
}

/** The quantities that the customer may choose. */
export interface QuantityRange {
  readonly present: number;
  readonly least: number;
  readonly most: number;
}

/**
 * The quantities that the customer may choose of a plan: the present one only, if the product has no limits. A trial has
 * not been paid, so it is raised to the least of the plan and no further.
 */
export function quantitiesOf({ items, status }: PortalSubscription, plan: PortalPlan): QuantityRange {
  const item = items.find((each) => (plan.addOn ? each.priceId === plan.priceId : !each.addOn));
  const present = item?.quantity ?? 1;
  const { minimumQuantity: least, maximumQuantity: most } = plan;
  if (least === null || most === null) return { present, least: present, most: present };
  return { present, least, most: status === 'trialing' ? Math.max(least, Math.min(most, present)) : most };
}

/** Whether the customer may choose the plan: another one, or its own at another quantity. */
export function isChoosable(subscription: PortalSubscription, plan: PortalPlan): boolean {
  const { least, most } = quantitiesOf(subscription, plan);
  return !plan.isOwn || (least < most && !subscription.isDefaultPlan);
}

/** Whether the customer can make a missing payment itself. */
export function mayPay({ status, doNotCharge }: PortalSubscription): boolean {
  return (status === 'past_due' || status === 'unpaid') && !doNotCharge;
}

/** Whether the customer may cancel it: not the default plan, nor one that does not renew or has not started. */
export function mayCancel(subscription: PortalSubscription): boolean {
  const { status, renews, isDefaultPlan, scheduledAdjustmentAt, startsAt } = subscription;
  const isLiving = status === 'trialing' || status === 'active' || status === 'past_due' || status === 'unpaid';
  return isLiving && renews && !isDefaultPlan && scheduledAdjustmentAt === null && startsAt === null;
}

/** Whether the customer can undo the scheduled cancellation: its own, and not the seller's. A booked plan keeps the end. */
export function mayUncancel({ status, scheduledByCustomer, hasNext }: PortalSubscription): boolean {
  return status === 'cancellation_scheduled' && scheduledByCustomer && !hasNext;
}

/** Whether the customer can call off the scheduled change: its own, and not the seller's. */
export function mayKeep({ scheduledAdjustmentAt, scheduledByCustomer }: PortalSubscription): boolean {
  return scheduledAdjustmentAt !== null && scheduledByCustomer;
}

/** Whether the customer may change its plan or add-ons: with several plans, only the seller knows the intent. */
export function mayChange(subscription: PortalSubscription): boolean {
  return (
    subscription.isDefaultPlan ||
    (mayCancel(subscription) &&
      !subscription.doNotCharge &&
      subscription.items.filter(({ addOn }) => !addOn).length === 1)
  );
}
