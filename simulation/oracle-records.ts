import type { Discount, Place, Plan } from './catalogue.ts';
import type { Span } from './oracle-arithmetic.ts';

/** What the oracle writes down. Money in minor units, instants in epoch milliseconds. */

export type Status =
  | 'trialing'
  | 'active'
  | 'past_due'
  | 'unpaid'
  | 'cancellation_scheduled'
  | 'incomplete'
  | 'incomplete_expired'
  | 'canceled'
  | 'paused';

export interface Method {
  readonly token: string;
  /** Whether the network takes money from it, as long as its holder has any. */
  readonly isGood: boolean;
  /** Whether the bank says only later, after days, whether the money came. */
  readonly takesDays: boolean;
}

export interface Customer {
  readonly name: string;
  readonly methods: Method[];
  defaultMethod: Method | null;
  place: Place | null;
  isExempt: boolean;
  /** While it is broke every charge is declined. */
  isBroke: boolean;
  readonly subscriptions: Subscription[];
  readonly invoices: Invoice[];
  /** The oldest first. */
  readonly holds: Hold[];
}

export interface Period extends Span {
  /** Where the interval begins that it is the rest of; its own start where it is whole. */
  readonly wholeStart: number;
  readonly isTrial: boolean;
  /** What changes added to its worth that nobody is asked for, by the list. */
  waived: number;
}

export interface Credit {
  readonly issued: number;
  /** Neither used, nor taken back, nor ended and written down as such. */
  left: number;
  applied: number;
  takenBack: number;
  /** Null: it never ends. */
  readonly expiresAt: number | null;
  /** What a period brings, and ends with it; once; by hand; what went over into a later period. */
  readonly kind: 'recurring' | 'once' | 'by_hand' | 'rollover';
  /** The plan that brought it. */
  readonly plan: Plan | null;
  /** The lowest number is used first. */
  readonly priority: number;
  readonly transactionId: string | null;
}

/** Units of a subscription that are set aside for a job. */
export interface Hold {
  readonly subscription: Subscription;
  readonly amount: number;
  readonly expiresAt: number;
  /** An open one has expired once its end has come. */
  status: 'open' | 'settled' | 'released';
  /** What was used after all. */
  settled: number | null;
}

/** What the plan was worth for a whole interval from one instant on, until another or now. */
export interface Holding {
  readonly value: number;
  readonly start: number;
  end: number | null;
}

/** What a subscription has, or is to have after a change. */
export interface Terms {
  readonly plan: Plan;
  readonly quantity: number;
}

export interface Subscription {
  readonly customer: Customer;
  plan: Plan;
  status: Status;
  readonly isFree: boolean;
  readonly createdAt: number;
  anchor: number;
  readonly trialEnd: number | null;
  /** Null while it waits for a first payment. */
  period: Period | null;
  quantity: number;
  readonly holdings: Holding[];
  /** What it is charged on, where that is its own. */
  method: Method | null;
  readonly discount: Discount | null;
  everPaid: boolean;
  /** It began with an invoice to be paid within the terms, and its credits with it. */
  readonly isInvoiced: boolean;
  canceledAt: number | null;
  cancelAt: number | null;
  reason: string | null;
  /** The free one whose place it took. */
  readonly replaced: Subscription | null;
  readonly credits: Credit[];
  /** The plans whose credits of the first period it has had. */
  readonly hadOnce: Set<Plan>;
  /** By transactionId. */
  readonly events: Map<string, number>;
  used: number;
  covered: number;
  settled: number;
  /** Used, not covered and on no invoice. */
  unbilled: number;
  readonly claims: Set<string>;
  /** Those of them that end by themselves. */
  readonly temporaryClaims: Set<string>;
  readonly users: Users;
  /** What it is changed to at the end of the period. */
  scheduled: Terms | null;
  resumesAt: number | null;
  /** Paid for paused time and not used up. */
  kept: number;
}

/** What a subscription has of the meter of distinct properties. Only what credits cover is used of it, so nothing is billed. */
export interface Users {
  readonly credits: Credit[];
  /** By transactionId. */
  readonly events: Set<string>;
  /** Of each period, by its start, the properties that were told in it. */
  readonly counted: Set<string>;
  used: number;
}

export interface Line {
  readonly kind: 'item' | 'usage' | 'change' | 'paused_time';
  readonly amount: number;
  /** Of usage. */
  readonly units: number;
}

export interface Payment {
  readonly amount: number;
  status: 'succeeded' | 'failed' | 'processing';
  refunded: number;
  /** What was charged; null where the money came outside of the network. */
  readonly method: Method | null;
}

export type Reason = 'subscription_start' | 'renewal' | 'final_usage' | 'adjustment';

export interface Invoice {
  readonly customer: Customer;
  readonly subscription: Subscription;
  /** The period that it was made for; null: none. */
  readonly period: Period | null;
  readonly reason: Reason;
  readonly at: number;
  /** Until when it is to be paid. */
  readonly dueAt: number;
  readonly lines: readonly Line[];
  readonly discount: Discount | null;
  readonly discountAmount: number;
  readonly tax: number;
  readonly total: number;
  status:
    | 'open'
    | 'awaiting_payment_confirmation'
    | 'paid'
    | 'void'
    | 'partially_refunded'
    | 'refunded'
    | 'uncollectible';
  attempts: number;
  nextAt: number | null;
  readonly payments: Payment[];
}

/** Money that is to be asked for when what asks for it is written down. */
export interface Order {
  readonly invoice: Invoice;
  readonly method: Method;
  /** What happens once it is paid; null: what always does. */
  readonly change: Terms | null;
}

export interface Books {
  now: number;
  /** Days to pay in, where there is nothing to charge. */
  netTerms: number;
  readonly customers: Customer[];
  readonly orders: Order[];
}

export const paidOf = ({ payments }: Invoice): number =>
  payments.reduce((sum, { status, amount }) => sum + (status === 'succeeded' ? amount : 0), 0);
export const refundedOf = ({ payments }: Invoice): number => payments.reduce((sum, { refunded }) => sum + refunded, 0);
export const isForPeriod = ({ reason }: Invoice): boolean => reason === 'subscription_start' || reason === 'renewal';
/** Whether somebody still expects money for it. */
export const isOwed = ({ status }: Invoice): boolean => status === 'open' || status === 'awaiting_payment_confirmation';
export const isTerminal = ({ status }: Subscription): boolean =>
  status === 'canceled' || status === 'incomplete_expired';

const currentStatuses: readonly Status[] = ['trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled'];
/** Whether the customer has it now. */
export const isCurrent = ({ status }: Subscription): boolean => currentStatuses.includes(status);
/** Whether it is in the way of another one. */
export const isInTheWay = (each: Subscription): boolean =>
  isCurrent(each) || each.status === 'paused' || (each.status === 'incomplete' && each.period !== null);

export const invoicesOf = (subscription: Subscription): Invoice[] =>
  subscription.customer.invoices.filter((invoice) => invoice.subscription === subscription);
/** Whether an invoice of a period is open after a failed attempt. */
export const isInArrears = (subscription: Subscription): boolean =>
  invoicesOf(subscription).some((each) => isForPeriod(each) && isOwed(each) && each.attempts > 0);
export const seatsOf = ({ plan, quantity }: Terms): number => plan.seats * quantity;
