import assert from 'node:assert/strict';
import { saveChangedCustomer } from '../customers/actions.ts';
import { type BillingAddress, type CustomerRow, decideChange } from '../customers/customer.ts';
import { lockCustomer } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { createInvoices } from '../invoicing/actions.ts';
import { quoteTaxes } from '../invoicing/actions-tax.ts';
import type { InvoiceDiscount } from '../invoicing/invoice.ts';
import { itemLine } from '../invoicing/invoice-line-item.ts';
import type { NewInvoice } from '../invoicing/new-invoice.ts';
import { findInvoice, type InvoiceRow } from '../invoicing/store.ts';
import { addDays, type Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { allowsMultipleSubscriptions } from '../organizations/setting.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { defaultPaymentMethod, findPaymentMethod } from '../payments/actions.ts';
import { findLastFailureOfInvoice } from '../payments/store.ts';
import type { DiscountRow } from '../pricing/discount.ts';
import { amountAt, type Price } from '../pricing/price.ts';
import type { Product } from '../pricing/product.ts';
import { findPrice } from '../pricing/store-prices.ts';
import { findProduct } from '../pricing/store-products.ts';
import { getPurchase } from '../purchases/actions.ts';
import { type NewPurchase, type Purchase, type PurchaseRow, toPurchase } from '../purchases/purchase.ts';
import { findPurchase, findPurchaseOfSession, insertPurchase, savePurchase } from '../purchases/store.ts';
import { newBillingPeriod } from '../subscriptions/actions.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { lockLivingSubscriptions, saveSubscription } from '../subscriptions/store.ts';
import { insertBillingPeriod, reviveBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { itemName } from '../subscriptions/subscription-item.ts';
import { decideActivation, refuseSecond, refuseTooDear } from '../subscriptions/subscription-start.ts';
import { type Bill, issueBills, setupFeeLines } from './bill-subscription.ts';
import { recordBought, requireHolder } from './complete-purchases.ts';
import { lockWithCustomer } from './end-subscription.ts';
import { firstLine, type Opened, redeem } from './open-subscription.ts';
import { chargeInvoice, recordPaid } from './record-paid.ts';
import {
  anchorOfFreePlan,
  coversAll,
  findGivenDiscount,
  findOffer,
  lockSubscriber,
  openPlan,
  type PlanOrder,
} from './subscribe.ts';

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
  /** The days of the trial in place of the price's; 0: none; null or absent: the price's. */
  readonly trialPeriodDays?: number | null;
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
  const customer = await lockBuyer(work, order);
  const earlier = order.checkoutSessionId && (await findPurchaseOfSession(work, order.checkoutSessionId));
  if (earlier) return { purchase: earlier, subscriptionId: earlier.subscriptionId };
  refuseUnsold(order);
  const paymentMethodId = await methodFor(work, customer, order.paymentMethodId);
  const locked = { ...order, customer, paymentMethodId };
  const { id } = order.price.type === 'subscription' ? await buyPlan(work, locked) : await buyOnce(work, locked);
  const purchase = await findPurchase(work, id);
  if (purchase === null) throw new Problem('purchaseNotFound', { id });
  return { purchase, subscriptionId: purchase.subscriptionId };
}

/** The customer, locked, with the address of the order. */
async function lockBuyer(work: Work, { customer: { id }, billingAddress }: Order): Promise<CustomerRow> {
  const customer = await lockCustomer(work, id);
  if (customer === null) throw new Problem('customerNotFound', { id });
  if (customer.archived) throw new Problem('customerArchived', { id });
  const changed = billingAddress === null ? null : decideChange(customer, { billingAddress });
  return changed === null ? customer : saveChangedCustomer(work, changed);
}

/** Refuses a price that is not for sale. */
export function refuseUnsold({ customer, price, product, quantity }: Order): void {
  const { id } = price;
  if (price.pricingModelId !== customer.pricingModelId) throw new Problem('priceNotFound', { id });
  if (price.type === 'usage') throw new Problem('priceNotSold', { id, reason: 'usage is billed in arrears' });
  if (product.default)
    throw new Problem('priceNotSold', { id, reason: 'it belongs to the default plan, on which every customer starts' });
  if (!price.active || !product.active) throw new Problem('priceInactive', { id });
  refuseTooDear(price, quantity);
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
  const plan = planOf(work, order);
  const opened = await openPlan(work, plan);
  if (opened.subscription.status === 'incomplete' && opened.invoice === null) refuseUnpayable();
  return insertPlanPurchase(work, { ...order, price: plan.price }, opened);
}

/** The plan of an order for a subscription. */
export function planOf(work: Work, order: Order): PlanOrder {
  const { customer, product, discount, quantity, name, metadata, paymentMethodId } = order;
  const trialPeriodDays = order.trialPeriodDays ?? order.price.trialPeriodDays;
  const price = { ...order.price, trialPeriodDays } as Price;
  return {
    customer,
    price,
    product,
    discount,
    given: {
      quantity,
      // Days that the seller has set for this order count whatever the customer had before.
      ...(order.trialPeriodDays ? { trialEnd: addDays(work.now, order.trialPeriodDays) } : {}),
      ...(name === null ? {} : { name }),
      ...(metadata === null ? {} : { metadata }),
      ...(paymentMethodId === null ? {} : { defaultPaymentMethodId: paymentMethodId }),
    },
    keepsAnchor: order.preserveBillingCycleAnchor,
    isCovered: coversAll(discount, amountAt(price, quantity) + (price.setupFeeAmount ?? 0n)),
  };
}

/** The part of an order that is known for a subscription, both at its start and at its activation. */
type PlanPurchase = Pick<
  Order,
  'customer' | 'price' | 'quantity' | 'name' | 'metadata' | 'billingAddress' | 'checkoutSessionId' | 'paymentMethodId'
> & { readonly product: Pick<Product, 'name'> };

/** Records the purchase of a subscription whose first invoice was created, and the consequences if that is paid. */
async function insertPlanPurchase(
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
    pricePerBillingCycle: amountAt(order.price, order.quantity),
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
  await requireHolder(work, product.id, customer, await lockLivingSubscriptions(work, customer.id));
  const purchase: PurchaseRow = { ...newPurchase(work, order), totalPurchaseValue: 0n };
  await insertPurchase(work, purchase);
  const discount = order.discount && (await redeem(work, order.discount, customer, { purchaseId: purchase.id }));
  const isCharged = paymentMethodId !== null;
  const bill = { customer, purchaseId: purchase.id, quantity: purchase.quantity, price, product, discount, isCharged };
  const [invoice] = await createInvoices(work, [await composePurchase(work, bill)]);
  assert(invoice, 'each request has its invoice');
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

/** A single-payment purchase to bill. */
interface PurchaseBill {
  readonly customer: CustomerRow;
  readonly purchaseId: string;
  readonly quantity: number;
  readonly price: Price;
  readonly product: Product;
  readonly discount: InvoiceDiscount | null;
  /** Whether it is charged immediately, so that net terms do not apply. */
  readonly isCharged: boolean;
}

/** The invoice of a single-payment purchase, with discount, tax and due date, before it is created. */
export async function composePurchase(
  work: Work,
  { customer, purchaseId, quantity, price, product, discount, isCharged }: PurchaseBill,
): Promise<NewInvoice> {
  const { id: customerId, pricingModelId } = customer;
  const settings = await readSettings(work);
  const taxes = await quoteTaxes(work, settings, [customerId], [customer]);
  return {
    customerId,
    pricingModelId,
    subscriptionId: null,
    purchaseId,
    billingPeriod: null,
    reason: 'purchase',
    currency: work.currency as NewInvoice['currency'],
    lines: [
      itemLine({ ...price, id: null, priceId: price.id, name: itemName(product.name, quantity), quantity }, null),
    ],
    invoiceDate: work.now,
    dueDate: isCharged ? work.now : addDays(work.now, settings.netTermsDays),
    discount,
    tax: taxes.get(customerId) ?? null,
    seller: settings.seller,
  };
}

/** The activation of a subscription that awaits its first payment, and the payment method to charge. */
export interface Activation {
  readonly subscriptionId: string;
  readonly paymentMethodId: string;
  readonly checkoutSessionId: string | null;
  /** Whether it keeps the periods of the free plan that it replaces. */
  readonly preserveBillingCycleAnchor?: boolean;
}

/**
 * Starts a subscription that awaits its first payment: its first period, its invoice, and the charge after the commit.
 * Success makes it active; after a failure it waits again, and another attempt may follow. A checkout session activates
 * once: a repeat returns its purchase that has not failed. Refuses with `subscriptionNotActivatable` a subscription
 * that is not waiting.
 */
export async function activateSubscription(work: Work, activation: Activation): Promise<Bought> {
  const { subscriptionId: id, paymentMethodId, checkoutSessionId } = activation;
  const { customer, subscription } = await lockWithCustomer(work, id);
  const earlier = checkoutSessionId && (await findPurchaseOfSession(work, checkoutSessionId));
  if (earlier) return { purchase: earlier, subscriptionId: id };
  refuseActivation(subscription);
  if ((await findPaymentMethod(work, paymentMethodId))?.customerId !== customer.id)
    throw invalid(['paymentMethodId'], `must be a payment method of customer ${customer.id}`);
  const living = await lockLivingSubscriptions(work, customer.id);
  const begun = await beginNow(work, subscription, decideBeginning(work, subscription, living, activation));
  if (begun.invoice.status === 'paid') await recordPaid(work, [{ invoice: begun.invoice, paymentMethodId }]);
  else await chargeInvoice(work, begun.invoice, paymentMethodId);
  const { price, product } = await findSold(work, subscription);
  const { id: purchaseId } = await insertPlanPurchase(
    work,
    {
      customer,
      price,
      product,
      quantity: begun.quantity,
      name: subscription.name,
      metadata: subscription.metadata,
      billingAddress: customer.billingAddress,
      checkoutSessionId,
      paymentMethodId,
    },
    begun,
  );
  const purchase = await findPurchase(work, purchaseId);
  assert(purchase, 'it has just been written');
  return { purchase, subscriptionId: id };
}

/** The first period of a subscription that waits, and its anchor. Refuses what cannot be activated now. */
export function decideBeginning(
  work: Work,
  subscription: SubscriptionRow,
  living: readonly SubscriptionRow[],
  { preserveBillingCycleAnchor = false }: Pick<Activation, 'preserveBillingCycleAnchor'>,
): Beginning {
  refuseSecond(living, { isFreePlan: false, allowMultiple: allowsMultipleSubscriptions(work), startsAt: work.now });
  const kept = preserveBillingCycleAnchor ? anchorOfFreePlan(living) : null;
  const { period: span, anchor, wholeStartAt } = decideActivation(subscription, { anchor: kept, now: work.now });
  return { anchor, period: newBillingPeriod(work, subscription, { ...span, wholeStartAt, creditsAwaitPayment: true }) };
}

interface Beginning {
  readonly anchor: Instant;
  readonly period: BillingPeriodRow;
}

/** The bill of the first period of a subscription that waits, and the quantity that it sells. */
export async function composeActivation(
  work: Work,
  subscription: SubscriptionRow,
  period: BillingPeriodRow,
): Promise<{ bill: Bill; quantity: number }> {
  const items = await listActiveItems(work, [{ subscriptionId: subscription.id, at: work.now }]);
  const sold = items.filter(({ priceId, quantity }) => priceId !== null && quantity > 0);
  const plan = sold.map((item) => firstLine(item, period, chargedStep(work.currency)));
  const lines = [...plan, ...setupFeeLines(subscription)];
  const bill = { subscription, period, reason: 'subscription_start', lines, at: work.now } as const;
  return { bill, quantity: sold[0]?.quantity ?? 1 };
}

/** Refuses a subscription that does not wait for its first payment. */
export function refuseActivation({ id, status, currentBillingPeriodStart }: SubscriptionRow): void {
  if (status !== 'incomplete')
    throw new Problem('subscriptionNotActivatable', { id, reason: `its status is ${status}` });
  if (currentBillingPeriodStart !== null)
    throw new Problem('subscriptionNotActivatable', { id, reason: 'its first payment is in progress' });
}

interface Begun {
  readonly subscription: SubscriptionRow;
  readonly invoice: InvoiceRow;
  readonly quantity: number;
}

/** The subscription in its first period, and the invoice of that period. */
async function beginNow(work: Work, waiting: SubscriptionRow, { anchor, period: fresh }: Beginning): Promise<Begun> {
  // An earlier attempt at the same instant may have failed: a period begins only once.
  const revived = await reviveBillingPeriod(work, fresh);
  if (revived === null) await insertBillingPeriod(work, fresh);
  const period = revived ?? fresh;
  const subscription = await saveSubscription(work, waiting.id, {
    billingCycleAnchorDate: anchor,
    currentBillingPeriodStart: period.startAt,
    currentBillingPeriodEnd: period.endAt,
  });
  const { bill, quantity } = await composeActivation(work, subscription, period);
  const [invoice] = await issueBills(work, [bill]);
  assert(invoice, 'what waits for money costs something');
  return { subscription, invoice, quantity };
}

async function findSold(work: Work, { priceId }: SubscriptionRow): Promise<{ price: Price; product: Product }> {
  const price = await findPrice(work, priceId);
  const product = price === null || price.productId === null ? null : await findProduct(work, price.productId);
  assert(price && product, 'a subscription has its price and product');
  return { price, product };
}

/**
 * Sells something to a customer on a saved payment method, as a checkout does. The amount due is charged after the
 * commit; `readSold` returns the outcome.
 */
export async function sell(work: Work, given: NewPurchase, pricingModelId: string | undefined): Promise<Purchase> {
  const customer = await lockSubscriber(work, given, pricingModelId);
  const { price, product } = await findOffer(work, customer, given);
  const { purchase } = await buy(work, {
    customer,
    price,
    product,
    quantity: given.quantity ?? 1,
    discount: await findGivenDiscount(work, customer, given),
    paymentMethodId: given.paymentMethodId ?? null,
    name: given.name ?? null,
    metadata: given.metadata ?? null,
    billingAddress: null,
    checkoutSessionId: null,
    preserveBillingCycleAnchor: false,
  });
  return toPurchase(work, purchase);
}

/** The purchase after its charge. Refuses with `purchaseNotPaid`, and the failed purchase, one that was declined. */
export async function readSold(work: Work, { id }: Pick<Purchase, 'id'>): Promise<Purchase> {
  const purchase = await getPurchase(work, id);
  if (purchase.status !== 'failed') return purchase;
  const { invoiceId } = purchase;
  const payment = invoiceId === null ? null : await findLastFailureOfInvoice(work, invoiceId);
  const details = { code: payment?.failureCode ?? 'declined', reason: payment?.failureMessage ?? '' };
  throw new Problem('purchaseNotPaid', details, [], { purchase });
}
