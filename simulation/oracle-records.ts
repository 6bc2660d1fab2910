import type { Discount, Plan } from './catalogue.ts';
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
}

export interface Customer {
  readonly name: string;
  readonly methods: Method[];
  defaultMethod: Method | null;
  /** While it is broke every charge is declined. */
  isBroke: boolean;
  readonly subscriptions: Subscription[];
  readonly invoices: Invoice[];
}

export interface Period extends Span {
  /** Where the interval begins that it is the rest of; its own start where it is whole. */
  readonly wholeStart: number;
  readonly isTrial: boolean;
}

export interface Credit {
  readonly issued: number;
  left: number;
  /** Null: it never ends. */
  readonly expiresAt: number | null;
  /** What a period brings, and ends with it; once; by hand. */
  readonly kind: 'recurring' | 'once' | 'by_hand';
}

/** So many units of the plan from one instant on, until another or now. */
export interface Holding {
  readonly quantity: number;
  readonly start: number;
  end: number | null;
}

export interface Subscription {
  readonly customer: Customer;
  readonly plan: Plan;
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
  canceledAt: number | null;
  cancelAt: number | null;
  reason: string | null;
  /** The free one whose place it took. */
  readonly replaced: Subscription | null;
  readonly credits: Credit[];
  /** By transactionId. */
  readonly events: Map<string, number>;
  used: number;
  covered: number;
  settled: number;
  /** Used, not covered and on no invoice. */
  unbilled: number;
  readonly claims: Set<string>;
  /** Changes so many units of the plan at the end of the period. */
  scheduledQuantity: number | null;
  resumesAt: number | null;
  /** Paid for paused time and not used up. */
  kept: number;
}

export interface Line {
  readonly kind: 'item' | 'usage' | 'change' | 'paused_time';
  readonly amount: number;
  /** Of usage. */
  readonly units: number;
}

export interface Payment {
  readonly amount: number;
  readonly status: 'succeeded' | 'failed';
  refunded: number;
  /** False where the money came outside of the network. */
  readonly isCharge: boolean;
}

export type Reason = 'subscription_start' | 'renewal' | 'final_usage' | 'adjustment';

export interface Invoice {
  readonly customer: Customer;
  readonly subscription: Subscription;
  /** The period that it was made for; null: none. */
  readonly period: Period | null;
  readonly reason: Reason;
  readonly at: number;
  readonly lines: readonly Line[];
  readonly discount: Discount | null;
  readonly discountAmount: number;
  readonly total: number;
  status: 'open' | 'paid' | 'void' | 'partially_refunded' | 'refunded';
  attempts: number;
  nextAt: number | null;
  readonly payments: Payment[];
}

/** Money that is to be asked for when what asks for it is written down. */
export interface Order {
  readonly invoice: Invoice;
  readonly method: Method;
  /** What happens once it is paid; null: what always does. */
  readonly change: number | null;
}

export interface Books {
  now: number;
  readonly customers: Customer[];
  readonly orders: Order[];
}

export const paidOf = ({ payments }: Invoice): number =>
  payments.reduce((sum, { status, amount }) => sum + (status === 'succeeded' ? amount : 0), 0);
export const refundedOf = ({ payments }: Invoice): number => payments.reduce((sum, { refunded }) => sum + refunded, 0);
export const isForPeriod = ({ reason }: Invoice): boolean => reason === 'subscription_start' || reason === 'renewal';
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
  invoicesOf(subscription).some((each) => isForPeriod(each) && each.status === 'open' && each.attempts > 0);
export const seatsOf = ({ plan, quantity }: Subscription): number => plan.seats * quantity;
