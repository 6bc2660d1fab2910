import assert from 'node:assert/strict';
import { type CustomerRow, decideChange } from '../customers/customer.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { quoteRedemption } from '../invoicing/actions-discounts.ts';
import type { LineExplanation } from '../invoicing/invoice-line-item.ts';
import { draftInvoice, type InvoiceDraft, readNewInvoice } from '../invoicing/new-invoice.ts';
import { findInvoice, listExplainedLines } from '../invoicing/store.ts';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { allowsRepeatedTrials } from '../organizations/setting.ts';
import { defaultPaymentMethod } from '../payments/actions.ts';
import type { NewAdjustment } from '../subscriptions/adjustment-input.ts';
import { findSubscription, hasUsedTrial, listLivingSubscriptions } from '../subscriptions/store.ts';
import { composeBills } from './bill-subscription.ts';
import {
  type Activation,
  decideBeginning,
  type Order,
  planOf,
  redeemerOf,
  refuseActivation,
  refuseUnsold,
} from './buy.ts';
import { findUpToDate } from './catch-up.ts';
import { requireHolder } from './complete-purchases.ts';
import { composeActivation, composePurchase } from './make-bought.ts';
import { composeOpening, decideDefaultPlan } from './open-subscription.ts';
import { planAdjustment } from './plan-adjustment.ts';
import { decideOpening, type PlanHistory } from './subscribe.ts';

/** The amounts that a purchase would bill now. Money in minor units. */
export interface Quote {
  readonly lines: readonly {
    readonly description: string | null;
    readonly quantity: number;
    readonly price: bigint;
    readonly amount: bigint;
    readonly explanation: LineExplanation;
  }[];
  /** The sum of the lines minus the discount, without tax. */
  readonly subtotal: bigint;
  readonly discountAmount: bigint;
  readonly taxAmount: bigint;
  readonly total: bigint;
  /** The amount that would be charged now. */
  readonly dueNow: bigint;
  /** The end of a trial that would begin now; null: none. */
  readonly trialEnd: Instant | null;
  /** The end of the billing period, and so the next charge of a plan; null: none is known yet. */
  readonly nextChargeAt: Instant | null;
  readonly currency: string;
}

/** A buyer as it would be when it buys: neither a new customer nor a new address has to be stored. */
interface Buyer {
  readonly customer: CustomerRow;
  /** Whether the purchase would create the customer, which then starts on the default plan. */
  readonly isNew: boolean;
}

/**
 * The amounts that `buy` would bill now, on the customer's present or future payment method. It decides and composes by
 * the functions of `buy`, and writes nothing. Refuses what `buy` refuses, and with `subscriptionBehind` a customer with
 * a plan whose end is overdue.
 */
export async function quote(work: Work, given: Omit<Order, 'customer'>, buyer: Buyer): Promise<Quote> {
  const { billingAddress } = given;
  const moved = billingAddress === null ? null : decideChange(buyer.customer, { billingAddress });
  return quoteFor(work, given, { ...buyer, customer: moved ?? buyer.customer });
}

async function quoteFor(work: Work, given: Omit<Order, 'customer'>, buyer: Buyer): Promise<Quote> {
  const { customer } = buyer;
  const paymentMethodId = given.paymentMethodId ?? (await methodToCome(work, buyer));
  const order = { ...given, customer, paymentMethodId };
  refuseUnsold(order);
  return order.price.type === 'subscription' ? quotePlan(work, order, buyer) : quoteOnce(work, order, buyer);
}

async function quotePlan(work: Work, order: Order, buyer: Buyer): Promise<Quote> {
  const { customer, discount } = order;
  const history = await historyOf(work, buyer);
  const late = history.living.find(({ cancelScheduledAt: at }) => at !== null && at <= work.now);
  if (late !== undefined) throw new Problem('subscriptionBehind', { id: late.id });
  const opening = await decideOpening(work, planOf(work, order), history);
  const redeemed = discount && (await quoteRedemption(work, { discount, ...redeemerOf(order) }));
  const { subscription, bill } = composeOpening(work, opening);
  const [draft] = bill === null ? [] : await composeBills(work, [{ ...bill, redeemed }], [customer]);
  return quoteOfDraft(work, draft, subscription.trialEnd, subscription.currentBillingPeriodEnd);
}

async function quoteOnce(work: Work, order: Order, buyer: Buyer): Promise<Quote> {
  const { customer, product, price, quantity, discount: given } = order;
  await requireHolder(work, product.id, customer, (await historyOf(work, buyer)).living);
  const discount = given && (await quoteRedemption(work, { discount: given, ...redeemerOf(order) }));
  const bill = {
    customer,
    purchaseId: newId('purchase', customer.id),
    quantity,
    price,
    product,
    discount,
    isCharged: true,
  };
  return quoteOfDraft(work, draftInvoice(await composePurchase(work, bill)), null);
}

/** A new customer has the default plan, which may be a trial. */
async function historyOf(work: Work, { customer, isNew }: Buyer): Promise<PlanHistory> {
  if (!isNew) {
    const living = await listLivingSubscriptions(work, customer.id);
    return { living, hadTrial: await hasUsedTrial(work, customer.id) };
  }
  const opening = await decideDefaultPlan(work, customer, { startDate: work.now, anchor: null, hadTrial: false });
  const living = opening === null ? [] : [composeOpening(work, opening).subscription];
  return { living, hadTrial: !allowsRepeatedTrials(work) && living.some(({ trialEnd }) => trialEnd !== null) };
}

/** The amounts that `activateSubscription` would bill the customer now, in the same way. */
export async function quoteActivation(
  work: Work,
  { subscriptionId: id, ...terms }: Omit<Activation, 'paymentMethodId' | 'checkoutSessionId'>,
  customer: CustomerRow,
): Promise<Quote> {
  const subscription = await findSubscription(work, id);
  if (subscription === null) throw new Problem('subscriptionNotFound', { id });
  refuseActivation(subscription);
  const living = await listLivingSubscriptions(work, customer.id);
  const { period } = await decideBeginning(work, subscription, living, terms);
  const { bill } = await composeActivation(work, subscription, period);
  const [draft] = await composeBills(work, [bill], [customer]);
  return quoteOfDraft(work, draft, subscription.trialEnd, period.endAt);
}

/** A change of plan as it would be now. */
interface ChangeQuote extends Quote {
  readonly isNow: boolean;
  readonly effectiveAt: Instant;
  /** The price of a whole period before and after the change. */
  readonly currentTotal: bigint;
  readonly newTotal: bigint;
}

/**
 * The amounts that `adjustSubscription` would bill the customer now, by the same decision. Refuses what that refuses, and
 * with `subscriptionBehind` a plan with overdue work.
 */
export async function quoteChange(
  work: Work,
  subscriptionId: string,
  requested: NewAdjustment,
  customer: CustomerRow,
): Promise<ChangeQuote> {
  const subscription = await findUpToDate(work, subscriptionId);
  const chargeWith = await methodToCome(work, { customer, isNew: false });
  const plan = await planAdjustment(work, subscription, requested, { takesUsage: false, chargeWith, customer });
  return {
    ...quoteOfDraft(work, plan.draft ?? undefined, null, plan.charge.begins?.period.end ?? plan.period.endAt),
    isNow: plan.timing === 'immediately',
    effectiveAt: plan.effectiveAt,
    currentTotal: plan.currentTotal,
    newTotal: plan.newTotal,
  };
}

/** The customer's payment method, else a name for the one that it will enter. */
async function methodToCome(work: Work, { customer, isNew }: Buyer): Promise<string> {
  const stored = isNew ? null : await defaultPaymentMethod(work, customer.id);
  return stored?.id ?? newId('paymentMethod', customer.id);
}

/** The amounts of an invoice that is to come. Nothing is billed without one. */
export function quoteOfDraft(
  work: Work,
  draft: InvoiceDraft | undefined,
  trialEnd: Instant | null,
  nextChargeAt: Instant | null = null,
): Quote {
  const { subtotal, discountAmount, taxAmount, total } = draft ?? nothing;
  const lines = (draft?.lines ?? []).map(({ description, quantity, price, amount, explanation }) => ({
    description,
    quantity,
    price,
    amount,
    explanation,
  }));
  const amounts = { lines, subtotal, discountAmount, taxAmount, total, dueNow: total };
  return { ...amounts, trialEnd, nextChargeAt, currency: work.currency };
}

/** An invoice and its subscription; null where there is none. */
export interface Billed {
  readonly invoiceId: string | null;
  readonly subscriptionId: string | null;
  /** The request for the invoice of a change that waits for its first payment. Null or absent: none. */
  readonly bill?: string | null;
}

/** The amounts billed for a purchase or a change, or to be billed with the first payment of the change. */
export async function quoteOf(work: Work, { invoiceId, subscriptionId, bill = null }: Billed): Promise<Quote> {
  if (bill !== null) return quoteOfDraft(work, draftInvoice(readNewInvoice(bill)), null);
  const invoice = invoiceId === null ? null : await findInvoice(work, invoiceId);
  assert((invoice === null) === (invoiceId === null), 'an invoice that is named is there');
  const lines = invoiceId === null ? [] : await listExplainedLines(work, [invoiceId]);
  const subscription = subscriptionId === null ? null : await findSubscription(work, subscriptionId);
  const { subtotal, discountAmount, taxAmount, total } = invoice ?? nothing;
  return {
    lines: lines.map(({ description, quantity, price, amount, explanation }) => ({
      description,
      quantity,
      price,
      amount,
      explanation,
    })),
    subtotal,
    discountAmount,
    taxAmount,
    total,
    dueNow: total,
    trialEnd: subscription?.trialEnd ?? null,
    nextChargeAt: subscription?.currentBillingPeriodEnd ?? null,
    currency: work.currency,
  };
}

const nothing = { subtotal: 0n, discountAmount: 0n, taxAmount: 0n, total: 0n } as const;
