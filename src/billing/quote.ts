import assert from 'node:assert/strict';
import type { CustomerRow } from '../customers/customer.ts';
import { newId } from '../database/new-id.ts';
import { tentatively } from '../database/tentative.ts';
import type { Work } from '../database/work.ts';
import { findInvoice, listLinesOfInvoices } from '../invoicing/store.ts';
import type { Instant } from '../kernel/calendar.ts';
import { defaultPaymentMethod } from '../payments/actions.ts';
import { billingDetailsOf } from '../payments/payment-method.ts';
import { manualProcessor } from '../payments/processor-manual.ts';
import { insertPaymentMethod } from '../payments/store-payment-methods.ts';
import type { NewAdjustment } from '../subscriptions/adjustment-input.ts';
import { findSubscription } from '../subscriptions/store.ts';
import { type Activation, activateSubscription, type Bought, buy, type Order } from './buy.ts';
import { lockCurrent } from './catch-up.ts';
import { lockWithCustomer } from './end-subscription.ts';
import { planAdjustment } from './plan-adjustment.ts';

/** The amounts that a purchase would bill now. Money in minor units. */
export interface Quote {
  readonly lines: readonly {
    readonly description: string | null;
    readonly quantity: number;
    readonly price: bigint;
    readonly amount: bigint;
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
  readonly currency: string;
}

/**
 * The amounts that `buy` would bill now, on the customer's present or future payment method. Computed by buying and
 * rolling back, so the two cannot differ. Refuses what `buy` refuses.
 */
export function quote(work: Work, order: Order): Promise<Quote> {
  return tentatively(work, async (given) => {
    // Effects are never carried out here, so no outcome needs to be assumed.
    const tentative = { ...given, dryRun: false };
    const paymentMethodId = order.paymentMethodId ?? (await methodToCome(tentative, order.customer));
    return quoteOf(tentative, billedFor(await buy(tentative, { ...order, paymentMethodId, checkoutSessionId: null })));
  });
}

/** The amounts that `activateSubscription` would bill now, in the same way. */
export function quoteActivation(
  work: Work,
  activation: Omit<Activation, 'paymentMethodId' | 'checkoutSessionId'>,
): Promise<Quote> {
  return tentatively(work, async (given) => {
    const tentative = { ...given, dryRun: false };
    const { customer } = await lockWithCustomer(tentative, activation.subscriptionId);
    const paymentMethodId = await methodToCome(tentative, customer);
    const requested = { ...activation, paymentMethodId, checkoutSessionId: null };
    return quoteOf(tentative, billedFor(await activateSubscription(tentative, requested)));
  });
}

/** A change of plan as it would be now. */
interface ChangeQuote extends Quote {
  readonly isNow: boolean;
  readonly effectiveAt: Instant;
  /** The price of a whole period before and after the change. */
  readonly currentTotal: bigint;
  readonly newTotal: bigint;
}

/** The amounts that `adjustSubscription` would bill now, by the same decision. Refuses what that refuses. */
export function quoteChange(work: Work, subscriptionId: string, requested: NewAdjustment): Promise<ChangeQuote> {
  return tentatively(work, async (given) => {
    const tentative = { ...given, dryRun: false };
    const { customer, subscription } = await lockCurrent(tentative, subscriptionId);
    const chargeWith = await methodToCome(tentative, customer);
    const plan = await planAdjustment(tentative, subscription, requested, { takesUsage: false, chargeWith });
    const { subtotal, discountAmount, taxAmount, total } = plan.draft ?? nothing;
    return {
      lines: plan.draft?.lines ?? [],
      ...{ subtotal, discountAmount, taxAmount, total },
      dueNow: total,
      trialEnd: null,
      currency: work.currency,
      isNow: plan.timing === 'immediately',
      effectiveAt: plan.effectiveAt,
      currentTotal: plan.currentTotal,
      newTotal: plan.newTotal,
    };
  });
}

/** The customer's payment method, else a placeholder for the one that it will enter. */
async function methodToCome(work: Work, customer: CustomerRow): Promise<string> {
  const stored = await defaultPaymentMethod(work, customer.id);
  if (stored !== null) return stored.id;
  const id = newId('paymentMethod');
  await insertPaymentMethod(work, {
    id,
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: customer.pricingModelId,
    customerId: customer.id,
    type: 'card',
    isDefault: false,
    billingDetails: billingDetailsOf(customer, ''),
    paymentMethodData: {},
    metadata: null,
    processor: manualProcessor.name,
    processorToken: 'to_come',
    fingerprint: null,
  });
  return id;
}

/** An invoice and its subscription; null where there is none. */
export interface Billed {
  readonly invoiceId: string | null;
  readonly subscriptionId: string | null;
}

function billedFor({ purchase: { invoiceId }, subscriptionId }: Bought): Billed {
  return { invoiceId, subscriptionId };
}

/** The amounts billed for a purchase or a change that was made. */
export async function quoteOf(work: Work, { invoiceId, subscriptionId }: Billed): Promise<Quote> {
  const invoice = invoiceId === null ? null : await findInvoice(work, invoiceId);
  assert((invoice === null) === (invoiceId === null), 'an invoice that is named is there');
  const lines = invoiceId === null ? [] : await listLinesOfInvoices(work, [invoiceId]);
  const subscription = subscriptionId === null ? null : await findSubscription(work, subscriptionId);
  const { subtotal, discountAmount, taxAmount, total } = invoice ?? nothing;
  return {
    lines: lines.map(({ description, quantity, price, amount }) => ({ description, quantity, price, amount })),
    subtotal,
    discountAmount,
    taxAmount,
    total,
    dueNow: total,
    trialEnd: subscription?.trialEnd ?? null,
    currency: work.currency,
  };
}

const nothing = { subtotal: 0n, discountAmount: 0n, taxAmount: 0n, total: 0n } as const;
