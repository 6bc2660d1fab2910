import { addOn, type Discount, type Pack, type Place, type Plan } from './catalogue.ts';
import type { Terms as CostTerms, UsagePrice } from './catalogue-usage.ts';
import type { PriceDraw } from './oracle-draws.ts';
import type { Limit, Spend } from './oracle-limits.ts';
import type { Measured, MeterAccount, Metered, MeteredLine, OwnTerms, Users } from './oracle-records-usage.ts';
import type { Refills } from './oracle-top-ups.ts';

/** The oracle's records. Money in minor units, instants in epoch milliseconds. */

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
  /** Whether charges succeed, as long as its holder has money. */
  readonly isGood: boolean;
  /** Whether the bank reports the outcome only after days. */
  readonly takesDays: boolean;
}

export interface Customer {
  readonly name: string;
  readonly methods: Method[];
  defaultMethod: Method | null;
  place: Place | null;
  isExempt: boolean;
  /** While the customer is broke every charge is declined. */
  isBroke: boolean;
  readonly subscriptions: Subscription[];
  /** Credits that were granted by hand while no subscription could hold them. */
  readonly waiting: { readonly credits: Credit[] };
  readonly pools: readonly PoolAccount[];
  readonly refills: Refills;
  limits: Limit[];
  /** All that spend limits may count. */
  readonly spends: Spend[];
  /** The events of limits that were reached, in full and in part. */
  readonly reached: { limits: number; thresholds: number };
  readonly invoices: Invoice[];
  /** One-off invoices that have no number yet. */
  readonly drafts: Invoice[];
  /** Lines for its next invoices, the oldest first. */
  readonly items: InvoiceItem[];
  /** Its own net terms in days; null: those of the settings. */
  netTerms: number | null;
  /** Whether its renewals of one day become one invoice. */
  consolidates: boolean;
  /** The hours that its renewals wait as drafts; null: those of the settings, which are none. */
  reviewHours: number | null;
  /** Its money with the seller, and the movements of it; null: it never had any. */
  balance: { credited: number; debited: number; readonly entries: [source: string, amount: number][] } | null;
  /** Declined first payments of purchases: nothing else is left of them. */
  declined: number;
  /** The oldest first. */
  readonly holds: Hold[];
  /** The times for which the free plan gave credits: none within another one. */
  readonly freeTimes: { readonly start: number; readonly end: number }[];
}

export interface Period {
  readonly start: number;
  /** The end of a trial may move. */
  end: number;
  /** The start of the interval of which it is the rest; its own start if it is whole. */
  readonly wholeStart: number;
  readonly isTrial: boolean;
  /** List value that changes added without a charge. */
  waived: number;
  /** Paused time that its invoices took off, and that was refunded afterwards. */
  returned: number;
  /** The value of the periods before it that rounding left out, in trillionths; none when absent. */
  readonly carried?: bigint;
  /** The start of the time that a discount covers, where that is a long first period that goes on; else `wholeStart`. */
  readonly discountStart?: number;
  /** The interval whose discount it carries on; its own when absent. */
  readonly discountKey?: string;
  /** Its own sign, where limits count in it. */
  mark?: symbol;
}

/** The interval whose discount a period carries: its start and its end. */
export const discountKeyOf = ({ discountKey, wholeStart, end }: Period): string =>
  discountKey ?? `${wholeStart} ${end}`;

/** A period whose rest was paused from an instant on, and what was really paid for that rest. */
export interface PausedPart {
  readonly period: Period;
  readonly at: number;
  kept: number;
}

export interface Credit {
  /** Amounts are units of the meter, or smallest units of the pool. */
  readonly issued: bigint;
  /** Neither used, nor taken back, nor recorded as expired. */
  left: bigint;
  applied: bigint;
  takenBack: bigint;
  /** The part of that which the seller took back by hand. */
  takenByHand: bigint;
  /** Null: no expiry. */
  expiresAt: number | null;
  /** Granted by a period and expiring with it; once; manually; bought; rolled over into a later period. */
  readonly kind: 'recurring' | 'once' | 'by_hand' | 'bought' | 'rollover';
  /** The plan that granted it. */
  readonly plan: Plan | null;
  /** The lowest number is used first. */
  readonly priority: number;
  readonly transactionId: string | null;
  /** The invoice that bought it, also after transfers. */
  readonly invoice: Invoice | null;
  /** The start of the time that a plan granted it for, and of its period. Null: it was not granted for a time. */
  readonly from: number | null;
  readonly periodStart: number | null;
  /** Taken back by a pause. */
  pausedBack: bigint;
  /** Used or held when a pause was to take it back: the next credits of the plan pay it back. */
  pausedOwed: bigint;
  /** Taken back by hand before a pause was to take it back: nobody used it, so it is not owed. */
  pausedByHand: bigint;
  /** The credit that a pause took back, and of which this one is the rest. */
  readonly resumedFrom: Credit | null;
  /** Taken back to pay for that. */
  withheld: bigint;
  /** Its pause has ended and gave back what was due. */
  isResumed: boolean;
}

/** The credits of a customer in a pool, in the order of their grants: its own, and those of its plans. */
export interface PoolAccount {
  readonly slug: string;
  readonly credits: Credit[];
}

/** A customer, for what it has in a pool. */
export interface PoolHolder {
  readonly customer: Customer;
  readonly pool: PoolAccount;
  readonly credits: Credit[];
}

/** Units of a subscription reserved for a job. */
export interface Hold {
  readonly subscription: Subscription;
  readonly price: UsagePrice;
  readonly label: string | null;
  readonly amount: number;
  /** The units of these that a pool is to pay for, and what is set aside there. */
  readonly pooled: number;
  readonly pool: PoolAccount | null;
  readonly poolAmount: bigint;
  readonly expiresAt: number;
  /** An open one has expired once its expiry has come. */
  status: 'open' | 'settled' | 'released';
  /** The settled amount. */
  settled: number | null;
}

/** The plan's value and credits for a whole interval, and its one-time credits, from one instant until another or now. */
export interface Holding {
  readonly plan: Plan;
  /** The value that is paid in advance, and the one that is billed at the end. */
  readonly value: number;
  readonly atEnd: number;
  readonly recurring: number;
  readonly once: number;
  readonly start: number;
  end: number | null;
}

/** The current terms of a subscription, or those after a change. */
export interface Terms {
  readonly plan: Plan;
  readonly quantity: number;
  /** The units of the add-on beside it; none when absent. */
  readonly addOns?: number;
  /** Changes of own terms of usage prices; null: the price has its own again. */
  readonly agreed?: readonly OwnTermsChange[];
}

export interface OwnTermsChange {
  readonly slug: string;
  readonly terms: CostTerms | null;
}

/** A line that waits for a renewal of its customer, or for one subscription. */
export interface InvoiceItem {
  readonly line: Line;
  readonly subscription: Subscription | null;
  isInvoiced: boolean;
}

/** A discount that was put on a subscription, from its start or later. */
export interface Redemption {
  readonly discount: Discount;
  /** It was taken off again. */
  isOff: boolean;
}

/** Unpaid invoices after a failed attempt, or after the last one. */
export type Arrears = 'none' | 'past_due' | 'unpaid';

export interface Subscription {
  readonly customer: Customer;
  plan: Plan;
  status: Status;
  /** As the status says, unless a scheduled cancellation hides them. */
  arrears: Arrears;
  /** Periods that began without access: their credits await their payment. */
  awaiting: Period[];
  readonly isFree: boolean;
  readonly createdAt: number;
  /** The start for which it was booked; null: its creation. */
  readonly startsAt: number | null;
  anchor: number;
  /** Whether its boundaries are those of the calendar. */
  isByCalendar: boolean;
  /** The day of the month on which its periods begin; null: another count. */
  day: number | null;
  trialEnd: number | null;
  /** Null while it awaits its first payment. */
  period: Period | null;
  quantity: number;
  addOns: number;
  /** The quantity that the seller has set on the page where it was bought. Null: it was not bought on a page. */
  readonly offered: number | null;
  readonly holdings: Holding[];
  /** Its own payment method, if any. */
  method: Method | null;
  /** In the order in which they lower its invoices, those that were taken off included. */
  readonly discounts: Redemption[];
  everPaid: boolean;
  /** It began with an invoice under net terms, and its credits with it. */
  isInvoiced: boolean;
  canceledAt: number | null;
  cancelAt: number | null;
  reason: string | null;
  /** The free subscription that it replaced. */
  replaced: Subscription | null;
  readonly credits: Credit[];
  /** The plans whose first-period credits it has had. */
  readonly hadOnce: Set<Plan>;
  /** The same of pools, by slug: what its plans grant there. */
  readonly inPools: Map<string, Pick<Subscription, 'credits' | 'hadOnce'>>;
  /** The pool, where credits and plan are those of a pool (`seenIn`). */
  readonly pool: PoolAccount | null;
  /** By transactionId. */
  readonly events: Map<string, number>;
  used: number;
  covered: number;
  settled: number;
  /** Paid for by pools. */
  pooled: number;
  /** The events beyond a limit. */
  beyond: number;
  /** The last instant within a period at which usage was billed. */
  interimDone: number;
  /** The amount of unbilled usage that is invoiced at once; null: that of the settings. */
  readonly threshold: number | null;
  /** The instant at which a look at its unbilled usage was asked for; null: none. */
  asksAt: number | null;
  /** Its own terms of usage prices, by slug. */
  readonly ownTerms: Map<string, OwnTerms[]>;
  /** Usage that no credit covers, by the slug of its price. */
  readonly metered: Map<string, Metered>;
  /** The accounts of meters without credits, by slug. */
  readonly meters: Map<string, MeterAccount>;
  /** The usage that a pool paid for at prices, by price and usage period. */
  readonly draws: Map<string, PriceDraw>;
  /** Measured usage, by the slug of its meter. */
  readonly measured: Map<string, Measured>;
  /** The limit that was added by hand, in place of that of the plan; null: none. */
  ownLimit: number | null;
  readonly claims: Set<string>;
  /** The temporary ones of them. */
  readonly temporaryClaims: Set<string>;
  readonly users: Users;
  /** The scheduled terms for the end of the period. */
  scheduled: Terms | null;
  resumesAt: number | null;
  /** Paid, unused paused time. */
  kept: number;
  /** The setup fee that its first invoice will bill. */
  setupFee: number;
  /** The oldest first. */
  readonly pausedParts: PausedPart[];
}

/** Attempts of one kind in one scope. */
export interface AttemptCount {
  failures: number;
  countedFrom: number;
  /** When the next attempt may be made. */
  nextAt: number;
  /** Whether the limit was reached since then. */
  isReached: boolean;
}

export interface Line {
  readonly kind:
    | 'item'
    | 'at_end'
    | 'commitment'
    | 'setup_fee'
    | 'usage'
    | 'change'
    | 'paused_time'
    | 'pack'
    | 'written';
  readonly amount: number;
  readonly usage?: MeteredLine;
  /** It bears no tax. */
  readonly isUntaxed?: boolean;
  readonly pack?: Pack;
  /** Whether an automatic top-up has asked for the pack. False when absent. */
  readonly isTopUp?: boolean;
  /** The discount of usage that has become cheaper, which it does not pay back. None when absent. */
  readonly takenBack?: number;
}

export interface Payment {
  readonly amount: number;
  status: 'succeeded' | 'failed' | 'processing';
  refunded: number;
  /** The payment method charged; null for a payment outside the network. */
  readonly method: Method | null;
  /** Somebody asked to pay the invoice: a decline takes nothing back. */
  readonly isOnRequest: boolean;
}

export type Reason =
  | 'subscription_start'
  | 'renewal'
  | 'usage'
  | 'usage_threshold'
  | 'final_usage'
  | 'adjustment'
  | 'purchase'
  | 'one_off';

/** A credit note by hand, over one line of its invoice. */
export interface Note {
  readonly settle: 'refund' | 'offset' | 'balance';
  /** The place of the line. */
  readonly line: number;
  readonly amount: number;
  readonly discount: number;
  readonly tax: number;
  readonly total: number;
  status: 'issued' | 'settled' | 'void';
}

export interface Invoice {
  readonly customer: Customer;
  /** A purchase is billed to an account of its own, which is none of the customer's subscriptions. */
  readonly subscription: Subscription;
  /** Its period; null: none. */
  readonly period: Period | null;
  /** An invoice of a change of interval becomes a renewal when it is paid. */
  reason: Reason;
  readonly at: number;
  /** Its due date. */
  readonly dueAt: number;
  /** The end of the review of a draft; null: it is none of a renewal. */
  readonly finalizesAt: number | null;
  /** Drafts have no number, also after they are voided. */
  readonly hasNumber: boolean;
  /** The usage periods that ended with the period before a renewal: their starts, by price. */
  readonly usageStarts?: ReadonlyMap<string, number>;
  readonly lines: readonly Line[];
  /** In their order, each with what it takes off. */
  readonly discounts: readonly { readonly redemption: Redemption; readonly amount: number }[];
  readonly discountAmount: number;
  readonly tax: number;
  readonly total: number;
  status:
    | 'draft'
    | 'open'
    | 'awaiting_payment_confirmation'
    | 'paid'
    | 'void'
    | 'partially_refunded'
    | 'refunded'
    | 'uncollectible';
  attempts: number;
  nextAt: number | null;
  /** The units of a purchase that were used or held before their price was refunded. */
  usedBeforeRefund: number;
  /** The money of each line that refunds took back, tax included. */
  moneyBack: readonly number[];
  /** The part that the balance of the customer paid. */
  applied: number;
  readonly notes: Note[];
  readonly isCollected?: boolean;
  readonly payments: Payment[];
  /** A consolidated invoice: the invoices of subscriptions that it collects. */
  readonly parts?: readonly Invoice[];
  /** The consolidated invoice that collects it: it has the number, the money and the status. */
  readonly whole?: Invoice;
}

/** A charge to request once the current action is recorded. */
export interface Order {
  readonly invoice: Invoice;
  readonly method: Method;
  /** Makes the change on payment; null: only the usual consequences. */
  readonly change: ((invoice: Invoice) => void) | null;
  readonly isOnRequest: boolean;
}

export interface Books {
  now: number;
  /** Net terms in days, without a payment method. */
  netTerms: number;
  /** The amount of unbilled usage that is invoiced at once; null: none. */
  threshold: number | null;
  /** The arrears in which nothing may be used. */
  withheld: readonly Arrears[];
  /** Whether a customer may have several paid subscriptions. */
  readonly allowsSeveral: boolean;
  readonly customers: Customer[];
  readonly orders: Order[];
  /** By kind, scope and subject. */
  readonly attempts: Map<string, AttemptCount>;
  /** How often each notable situation has occurred. */
  readonly reached: Map<string, number>;
}

/** Counts a notable situation, and whether its customer has bought credits at the time. */
export function reach({ reached }: Books, situation: string, { subscriptions }: Customer): void {
  const credits = subscriptions.flatMap((each) => each.credits);
  const hasPack = credits.some(({ kind, left }) => kind === 'bought' && left > 0n);
  for (const each of hasPack ? [situation, `${situation} (with a pack)`] : [situation])
    reached.set(each, (reached.get(each) ?? 0) + 1);
}

export const paidOf = (invoice: Invoice): number =>
  invoice.whole === undefined
    ? invoice.payments.reduce((sum, { status, amount }) => sum + (status === 'succeeded' ? amount : 0), 0)
    : paidOfPart(invoice.whole, invoice);

/** Money of a consolidated invoice fills its parts in order. */
function paidOfPart(whole: Invoice, part: Invoice): number {
  const parts = whole.parts ?? [];
  const before = parts.slice(0, parts.indexOf(part)).reduce((sum, { total }) => sum + total, 0);
  return Math.min(part.total, Math.max(0, paidOf(whole) + whole.applied - before));
}

/** The invoices of subscriptions of which it consists. */
export const partsOfInvoice = (invoice: Invoice): readonly Invoice[] => invoice.parts ?? [invoice];
/** The amount that credit notes by hand take back of it. */
export const notedOf = ({ notes }: Pick<Invoice, 'notes'>, settle?: Note['settle']): number =>
  notes.reduce((sum, note) => {
    const counts = note.status !== 'void' && (settle === undefined || note.settle === settle);
    return sum + (counts ? note.total : 0);
  }, 0);
/** The amount that is left to pay. */
export const dueOf = (invoice: Invoice): number =>
  invoice.total - invoice.applied - notedOf(invoice, 'offset') - paidOf(invoice);
/** The days that a customer without a payment method has to pay. */
export const netTermsOf = ({ netTerms }: Pick<Books, 'netTerms'>, customer: Customer): number =>
  customer.netTerms ?? netTerms;
export const refundedOf = ({ payments }: Invoice): number => payments.reduce((sum, { refunded }) => sum + refunded, 0);
/** The paid paused time that it takes off. */
export const pausedTimeOf = ({ lines }: Invoice): number =>
  lines.reduce((sum, { kind, amount }) => sum - (kind === 'paused_time' ? amount : 0), 0);
export const isForPeriod = ({ reason }: Invoice): boolean => reason === 'subscription_start' || reason === 'renewal';
/** Whether it is retried: that of a period, of usage within one, and that of a change which was made before its payment. */
export const isDunned = (invoice: Invoice): boolean =>
  isForPeriod(invoice) ||
  ['usage', 'usage_threshold'].includes(invoice.reason) ||
  (invoice.reason === 'adjustment' && invoice.dueAt > invoice.at);
/** Asks for a look at the unbilled usage, which may have reached the threshold. */
export function askForThreshold({ now, threshold }: Books, subscription: Subscription): void {
  if ((subscription.threshold ?? threshold ?? 0) > 0) subscription.asksAt ??= now;
}
/** Whether payment is still expected. */
export const isOwed = ({ status }: Invoice): boolean => status === 'open' || status === 'awaiting_payment_confirmation';
export const isTerminal = ({ status }: Subscription): boolean =>
  status === 'canceled' || status === 'incomplete_expired';

const currentStatuses: readonly Status[] = ['trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled'];
/** Whether it is booked: its period is empty until its start. */
export const isBooked = ({ status, period }: Subscription): boolean =>
  currentStatuses.includes(status) && period !== null && period.start === period.end;
/** Whether it is current. */
export const isCurrent = (each: Subscription): boolean => currentStatuses.includes(each.status) && !isBooked(each);
/** Whether it prevents another one. */
export const isInTheWay = (each: Subscription): boolean =>
  isCurrent(each) ||
  isBooked(each) ||
  each.status === 'paused' ||
  (each.status === 'incomplete' && each.period !== null);

/** The subscription that gets the credits of its customer: the newest current one, else the newest paused one. */
export const holderOf = ({ subscriptions }: Customer): Subscription | undefined =>
  subscriptions.findLast(isCurrent) ?? subscriptions.findLast(({ status }) => status === 'paused');

export const invoicesOf = (subscription: Subscription): Invoice[] =>
  subscription.customer.invoices.filter((invoice) => invoice.subscription === subscription);
/** Whether the customer cannot use the code again: subscriptions with it go on, or have valid invoices with it. */
export const hasUsed = ({ subscriptions, invoices }: Customer, { code, perCustomer = 1 }: Discount): boolean =>
  subscriptions.flatMap((each) =>
    each.discounts.filter((redemption) => {
      const goesOn = !redemption.isOff && !isTerminal(each);
      const isOn = (of: Invoice) => of.discounts.some((taken) => taken.redemption === redemption);
      return redemption.discount.code === code && (goesOn || invoices.some((of) => of.status !== 'void' && isOn(of)));
    }),
  ).length >= perCustomer;
/** Whether the order of a customer cannot have the discount, whose first invoice is worth so much. */
export const isNotFor = (
  { invoices }: Customer,
  { minimum = 0, isFirstOnly = false }: Discount,
  worth: number,
): boolean =>
  worth < minimum ||
  (isFirstOnly && invoices.some(({ total, status }) => total > 0 && status !== 'void' && status !== 'draft'));
/** The draft of a renewal that is under review; absent: none. */
export const draftOf = (subscription: Subscription): Invoice | undefined =>
  invoicesOf(subscription).find(({ status }) => status === 'draft');
/** Whether a dunned invoice is open after a failed attempt. */
export const isInArrears = (subscription: Subscription): boolean =>
  invoicesOf(subscription).some((each) => isDunned(each) && isOwed(each) && each.attempts > 0);
/** Whether the customer may use it, by the settings. */
export const hasAccess = ({ withheld }: Books, { arrears }: Subscription): boolean => !withheld.includes(arrears);
export const seatsOf = ({ plan, quantity }: Terms): number => plan.seats * quantity;

/** The part of it that is paid in advance. */
export function advanceOf(terms: Terms): number {
  return terms.plan.billsAtEnd ? 0 : worthOf(terms);
}

/** For a whole interval. */
export function worthOf({ addOns = 0, ...terms }: Terms): number {
  return worthOfPlan(terms) + addOn.unitPrice * addOns;
}

/** The same without add-ons. */
export function worthOfPlan({ plan: { unitPrice, many }, quantity }: Terms): number {
  return many !== undefined && quantity > many.above ? Math.round(many.unitPrice * quantity) : unitPrice * quantity;
}
