import { saveChangedCustomer } from '../customers/actions.ts';
import { type BillingAddress, type CustomerRow, decideChange } from '../customers/customer.ts';
import { lockCustomer } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { findInvoice, type InvoiceRow } from '../invoicing/store.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { defaultPaymentMethod, findPaymentMethod } from '../payments/actions.ts';
import type { DiscountRow } from '../pricing/discount.ts';
import type { Price } from '../pricing/price.ts';
import type { Product } from '../pricing/product.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchase, findPurchaseOfSession, insertPurchase, savePurchase } from '../purchases/store.ts';
import { discountAmount } from '../rating/discount.ts';
import { maxPeriodAmount } from '../subscriptions/subscription-start.ts';
import { issuePurchaseInvoice } from './bill-purchase.ts';
import { chargeInvoice } from './charge-invoice.ts';
import { recordBought } from './complete-purchases.ts';
import { openPlan } from './open-plan.ts';
import type { Opened } from './open-subscription.ts';
import { recordPaid } from './record-paid.ts';
import { redeem } from './redeem.ts';
import { requireHolder } from './top-up.ts';

/** An order. */
export interface Order {
  readonly customer: CustomerRow;
  /** The price, from the customer's pricing model: for a subscription or a single payment. */
  readonly price: Price;
  readonly product: Product;
  readonly quantity: number;
  readonly discount: DiscountRow | null;
  /** The payment method to charge; null: the customer's, if any. */
  readonly paymentMethodId: string | null;
  readonly name: string | null;
  readonly metadata: PurchaseRow['metadata'];
  /** Replaces the customer's address, because it determines tax; null: the customer's own. */
  readonly billingAddress: BillingAddress | null;
  readonly checkoutSessionId: string | null;
  /** Whether a subscription keeps the periods of the free plan that it replaces. */
  readonly preserveBillingCycleAnchor: boolean;
}

export interface Bought {
  readonly purchase: PurchaseRow;
  readonly subscriptionId: string | null;
}

/**
 * Buys. The amount due is charged after the commit; `recordPaid` and `recordFailed` handle the outcome. If nothing is
 * due (free, in trial, or fully discounted), it is paid from the start. A checkout session buys once: a repeat returns
 * its purchase that has not failed. Refuses prices that are not for sale, and with `invalidRequest` on
 * `paymentMethodId` an order that cannot be charged.
 */
export async function buy(work: Work, order: Order): Promise<Bought> {
  const customer = await holdBuyer(work, order);
  const earlier = order.checkoutSessionId && (await findPurchaseOfSession(work, order.checkoutSessionId));
  if (earlier) return { purchase: earlier, subscriptionId: earlier.subscriptionId };
  refuseUnsold(order);
  const paymentMethodId = await methodFor(work, customer, order.paymentMethodId);
  const held = { ...order, customer, paymentMethodId };
  const { id } = order.price.type === 'subscription' ? await buyPlan(work, held) : await buyOnce(work, held);
  const purchase = await findPurchase(work, id);
  if (purchase === null) throw new Problem('purchaseNotFound', { id });
  return { purchase, subscriptionId: purchase.subscriptionId };
}

/** The customer, locked, with the address of the order. */
async function holdBuyer(work: Work, { customer: { id }, billingAddress }: Order): Promise<CustomerRow> {
  const customer = await lockCustomer(work, id);
  if (customer === null) throw new Problem('customerNotFound', { id });
  if (customer.archived) throw new Problem('customerArchived', { id });
  const changed = billingAddress === null ? null : decideChange(customer, { billingAddress });
  return changed === null ? customer : saveChangedCustomer(work, changed);
}

function refuseUnsold({ customer, price, product, quantity }: Order): void {
  const { id } = price;
  if (price.pricingModelId !== customer.pricingModelId) throw new Problem('priceNotFound', { id });
  if (price.type === 'usage') throw new Problem('priceNotSold', { id, reason: 'usage is billed in arrears' });
  if (product.default)
    throw new Problem('priceNotSold', { id, reason: 'it belongs to the default plan, on which every customer starts' });
  if (!price.active || !product.active) throw new Problem('priceInactive', { id });
  if (price.unitPrice * BigInt(quantity) <= maxPeriodAmount) return;
  const most = maxPeriodAmount / price.unitPrice;
  throw invalid(['quantity'], `must be at most ${most} at a unit price of ${price.unitPrice}`);
}

async function methodFor(work: Work, { id }: CustomerRow, given: string | null): Promise<string | null> {
  if (given === null) return (await defaultPaymentMethod(work, id))?.id ?? null;
  if ((await findPaymentMethod(work, given))?.customerId === id) return given;
  throw invalid(['paymentMethodId'], `must be a payment method of customer ${id}`);
}

function refuseUnpayable(): never {
  throw invalid(['paymentMethodId'], 'is required: an amount is due and the customer has no payment method');
}

async function buyPlan(work: Work, order: Order): Promise<PurchaseRow> {
  const { customer, price, product, discount, quantity, name, metadata, paymentMethodId } = order;
  const opened = await openPlan(work, {
    customer,
    price,
    product,
    discount,
    given: {
      quantity,
      ...(name === null ? {} : { name }),
      ...(metadata === null ? {} : { metadata }),
      ...(paymentMethodId === null ? {} : { defaultPaymentMethodId: paymentMethodId }),
    },
    keepsAnchor: order.preserveBillingCycleAnchor,
    isCovered: isCovered(order),
  });
  if (opened.subscription.status === 'incomplete' && opened.invoice === null) refuseUnpayable();
  return insertPlanPurchase(work, order, opened);
}

function isCovered({ price: { unitPrice }, quantity, discount }: Order): boolean {
  const listed = unitPrice * BigInt(quantity);
  if (discount === null) return listed === 0n;
  return discountAmount({ kind: discount.amountType, amount: discount.amount }, listed) === listed;
}

/** The part of an order that is known for a subscription, both at its start and at its activation. */
export type PlanPurchase = Pick<
  Order,
  'customer' | 'price' | 'quantity' | 'name' | 'metadata' | 'billingAddress' | 'checkoutSessionId' | 'paymentMethodId'
> & { readonly product: Pick<Product, 'name'> };

/** Records the purchase of a subscription whose first invoice was created, and the consequences if that is paid. */
export async function insertPlanPurchase(
  work: Work,
  order: PlanPurchase,
  { subscription, invoice: made }: Pick<Opened, 'subscription' | 'invoice'>,
): Promise<PurchaseRow> {
  // A dry run has already charged it.
  const invoice = made && (await findInvoice(work, made.id));
  const purchase: PurchaseRow = {
    ...newPurchase(work, order),
    priceType: 'subscription',
    subscriptionId: subscription.id,
    invoiceId: invoice?.id ?? null,
    status: order.paymentMethodId === null ? 'open' : 'pending',
    trialPeriodDays: order.price.trialPeriodDays ?? 0,
    pricePerBillingCycle: order.price.unitPrice * BigInt(order.quantity),
    intervalUnit: subscription.intervalUnit,
    intervalCount: subscription.intervalCount,
    billingCycleAnchor: subscription.billingCycleAnchorDate,
    firstInvoiceValue: invoice?.total ?? 0n,
  };
  await insertPurchase(work, purchase);
  if (invoice === null || invoice.status === 'paid') await recordBought(work, [purchase]);
  return purchase;
}

function newPurchase(work: Work, order: PlanPurchase): PurchaseRow {
  const { customer, price, product, quantity, name, metadata, billingAddress, checkoutSessionId } = order;
  return {
    id: newId('purchase'),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: customer.pricingModelId,
    customerId: customer.id,
    priceId: price.id,
    priceType: 'single_payment',
    quantity,
    subscriptionId: null,
    invoiceId: null,
    checkoutSessionId,
    name: name ?? product.name,
    status: 'open',
    trialPeriodDays: null,
    pricePerBillingCycle: null,
    intervalUnit: null,
    intervalCount: null,
    billingCycleAnchor: null,
    firstInvoiceValue: 0n,
    totalPurchaseValue: null,
    purchaseDate: null,
    billingAddress: billingAddress ?? customer.billingAddress,
    metadata,
  };
}

async function buyOnce(work: Work, order: Order): Promise<PurchaseRow> {
  const { customer, price, product, paymentMethodId } = order;
  await requireHolder(work, product.id, customer);
  const purchase: PurchaseRow = { ...newPurchase(work, order), totalPurchaseValue: 0n };
  await insertPurchase(work, purchase);
  const discount = order.discount && (await redeem(work, order.discount, { purchaseId: purchase.id }));
  const isCharged = paymentMethodId !== null;
  const invoice = await issuePurchaseInvoice(work, { purchase, price, product, discount, isCharged });
  const invoiced = await savePurchase(work, purchase.id, {
    invoiceId: invoice.id,
    firstInvoiceValue: invoice.total,
    totalPurchaseValue: invoice.total,
    status: isCharged ? 'pending' : 'open',
  });
  await collect(work, invoice, paymentMethodId);
  return invoiced;
}

async function collect(work: Work, invoice: InvoiceRow, paymentMethodId: string | null): Promise<void> {
  if (invoice.status === 'paid') return recordPaid(work, [{ invoice, paymentMethodId }]);
  if (paymentMethodId !== null) await chargeInvoice(work, invoice, paymentMethodId);
  else if ((await readSettings(work)).netTermsDays === 0) refuseUnpayable();
}
