import assert from 'node:assert/strict';
import type { CustomerRow } from '../customers/customer.ts';
import { findCustomer, termsOf } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { createInvoices } from '../invoicing/actions.ts';
import { quoteTaxes } from '../invoicing/actions-tax.ts';
import type { InvoiceDiscount, TaxQuote } from '../invoicing/invoice.ts';
import { itemLine } from '../invoicing/invoice-line-item.ts';
import { type NewInvoice, readNewInvoice } from '../invoicing/new-invoice.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import {
  deleteRedemptionsOfPurchases,
  findRedemptionOfPurchase,
  giveRedemption,
} from '../invoicing/store-redemptions.ts';
import { addDays, type Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { anchorSettings } from '../organizations/setting.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { describePayment } from '../payments/actions-charge.ts';
import { assumedSuccess, type ReportedCharge } from '../payments/actions-settle.ts';
import type { ChargeOutcome } from '../payments/processor.ts';
import { findPayment, findPayments, isInFlight, type PaymentRow, updatePayment } from '../payments/store.ts';
import type { Price } from '../pricing/price.ts';
import type { Product } from '../pricing/product.ts';
import { findPrice, listPricesByIds } from '../pricing/store-prices.ts';
import { findProduct, findProducts } from '../pricing/store-products.ts';
import { failUnmade } from '../purchases/actions.ts';
import { carryToHolders } from '../purchases/actions-auto-top-ups.ts';
import type { PurchaseRow } from '../purchases/purchase.ts';
import { findPurchase, savePurchase } from '../purchases/store.ts';
import { newBillingPeriod } from '../subscriptions/actions.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import {
  findSubscription,
  findSubscriptions,
  lockLivingSubscriptions,
  saveSubscription,
  saveSubscriptions,
} from '../subscriptions/store.ts';
import { findAdjustment, invoiceAdjustment } from '../subscriptions/store-adjustments.ts';
import { insertBillingPeriod, reviveBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { listActiveItems, listItemsOf } from '../subscriptions/store-items.ts';
import { isInTheWay, isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { itemName } from '../subscriptions/subscription-item.ts';
import { type AddOn, decideActivation, decideStart } from '../subscriptions/subscription-start.ts';
import { type Bill, issueBills, paidInAdvance, setupFeeLines, withInterims } from './bill-subscription.ts';
import { endSubscription } from './end-subscription.ts';
import { type BoughtTerms, firstLines, openSubscription } from './open-subscription.ts';
import { assumePaid } from './record-paid.ts';

/** The result that a dry run assumes: first payments succeed, and what they paid for is made. */
export async function assumeMade(work: Work, payments: readonly { readonly id: string }[]): Promise<void> {
  const ids = payments.map(({ id }) => id);
  const assumed = ids.map((id) => assumedSuccess(work, id));
  await makePaidFor(work, assumed, await findPayments(work, ids));
  await assumePaid(work, payments);
}

/**
 * Makes what first payments pay for that have arrived or are on their way. For a purchase that is the subscription with
 * its invoice, or the invoice of what is paid once; for a change of plan its invoice. The terms are those of the
 * payment, whatever has changed since. `payments` are those that were reported; the caller has locked their payers.
 */
export async function makePaidFor(
  work: Work,
  reported: readonly ReportedCharge[],
  payments: readonly PaymentRow[],
): Promise<void> {
  const first = new Set(payments.filter(({ invoiceId }) => invoiceId === null).map(({ id }) => id));
  for (const { paymentId, outcome } of reported) {
    if (!first.has(paymentId) || !isBought(outcome)) continue;
    // An earlier report may have made it, before its payer was locked.
    const payment = await findPayment(work, paymentId);
    if (payment?.invoiceId !== null || !isInFlight(payment)) continue;
    await attach(work, payment, await (payment.adjustmentId === null ? makeBought : invoiceChange)(work, payment));
  }
}

/** A bank that wants to be asked first has promised nothing. */
function isBought({ result }: ChargeOutcome): boolean {
  return result === 'succeeded' || result === 'processing' || result === 'awaiting';
}

/** The payment is from now on that of the invoice which it has made. */
async function attach(work: Work, payment: PaymentRow, made: InvoiceRow): Promise<void> {
  const { id: invoiceId, subscriptionId, billingPeriodId, purchaseId } = made;
  assert(made.total === payment.amount, `invoice ${invoiceId} is of ${made.total}, its payment of ${payment.amount}`);
  const description = describePayment(made);
  await updatePayment(work, payment.id, { invoiceId, subscriptionId, billingPeriodId, purchaseId, description });
}

/** The invoice of a change, as it was when the payment was requested. */
async function invoiceChange(work: Work, { adjustmentId }: PaymentRow): Promise<InvoiceRow> {
  const adjustment = await findAdjustment(work, adjustmentId ?? '');
  assert(adjustment?.bill, 'a first payment of a change has its bill');
  const [invoice] = await createInvoices(work, [readNewInvoice(adjustment.bill)]);
  assert(invoice, 'each request has its invoice');
  await invoiceAdjustment(work, adjustment.id, invoice.id);
  return invoice;
}

async function makeBought(work: Work, payment: PaymentRow): Promise<InvoiceRow> {
  const purchase = await findPurchase(work, payment.purchaseId ?? '');
  const customer = purchase && (await findCustomer(work, purchase.customerId));
  assert(purchase && customer, 'a first payment has its purchase and customer');
  const known = { ...(await findSold(work, purchase)), customer, purchase, payment };
  const terms: BoughtTerms = {
    discount: await findRedemptionOfPurchase(work, purchase.id),
    tax: taxOf(payment, purchase),
    exclusive: purchase.exclusive,
  };
  const made = await make(work, known, terms);
  await savePurchase(work, purchase.id, { invoiceId: made.id, subscriptionId: made.subscriptionId });
  return made;
}

function taxOf(
  { taxType: type, taxCountry: country, taxState: state, taxRatePercentage: percentage }: PaymentRow,
  { taxInclusive: inclusive }: PurchaseRow,
): TaxQuote | null {
  return type === null || country === null || percentage === null
    ? null
    : { type, country, state, percentage, inclusive };
}

/** A purchase whose first payment has arrived or is on its way. */
interface PaidFor {
  readonly purchase: PurchaseRow;
  readonly payment: PaymentRow;
  readonly customer: CustomerRow;
  readonly price: Price;
  readonly product: Product;
}

async function make(work: Work, paid: PaidFor, terms: BoughtTerms): Promise<InvoiceRow> {
  const { purchase, payment } = paid;
  if (purchase.priceType === 'single_payment') return invoiceOnce(work, paid, terms);
  if (purchase.subscriptionId === null) return makePlan(work, paid, terms);
  const waiting = await findSubscription(work, purchase.subscriptionId);
  assert(waiting, 'subscriptions are never deleted');
  // An anchor in the calendar is found again at the same instant.
  const at = { anchor: keptAnchor(purchase), at: payment.chargeDate };
  return (await begin(work, waiting, beginningOf(work, waiting, at), { tax: terms.tax })).invoice;
}

async function invoiceOnce(work: Work, paid: PaidFor, { discount, tax }: BoughtTerms): Promise<InvoiceRow> {
  const { customer, price, product, purchase } = paid;
  const { id: purchaseId, quantity } = purchase;
  const sold = { customer, price, product, purchaseId, quantity, discount, isCharged: true };
  const [invoice] = await createInvoices(work, [{ ...(await composePurchase(work, sold)), tax }]);
  assert(invoice, 'each request has its invoice');
  return invoice;
}

/** The subscription starts when the payment was requested. One of a customer who has left meanwhile ends at once. */
async function makePlan(work: Work, { customer, ...paid }: PaidFor, terms: BoughtTerms): Promise<InvoiceRow> {
  const { purchase, payment, price, product } = paid;
  const { id: customerId } = customer;
  const startDate = payment.chargeDate;
  const addOns = await findAddOns(work, purchase);
  const living = await lockLivingSubscriptions(work, customerId);
  // A customer who has paid for a plan gets it, although another one has come meanwhile.
  const isOnly = terms.exclusive && !living.some((each) => !each.isFreePlan && isInTheWay(each));
  const { quantity, metadata, intervalUnit, intervalCount, subscriptionName } = purchase;
  const start = decideStart({
    price: { ...price, active: true },
    product: { ...product, active: true },
    addOns,
    ...{ quantity, startDate, now: work.now, intervalUnit, intervalCount, anchor: keptAnchor(purchase) },
    ...{ anchorRequest: purchase, anchorSettings: anchorSettings(work) },
    ...{ trialEnd: null, hadTrial: true, doNotCharge: false, hasNetTerms: false },
    ...{ givenPaymentMethodId: payment.paymentMethodId, storedPaymentMethodId: null },
  });
  const { subscription, invoice } = await openSubscription(work, {
    ...{ customer, product, price, addOns, start, startDate, quantity, metadata },
    ...{ discount: null, doNotCharge: false, backupPaymentMethodId: null, billingThresholdAmount: null },
    name: subscriptionName ?? purchase.name,
    defaultPaymentMethodId: payment.paymentMethodId,
    bought: { ...terms, exclusive: isOnly },
  });
  assert(invoice, 'what is paid for has its invoice');
  if (terms.discount !== null) await giveRedemption(work, terms.discount.redemptionId, subscription.id);
  await carryToHolders(work, [customerId]);
  if (customer.archived)
    await endSubscription(work, { customer, subscription }, { at: work.now, reason: 'customer_archived' });
  return invoice;
}

/** The anchor of a purchase that is kept, and not one in the calendar. */
function keptAnchor({ billingAnchor, billingCycleAnchor }: PurchaseRow): Instant | null {
  return billingAnchor === 'anniversary' ? billingCycleAnchor : null;
}

/** Leaves purchases as they were before these first payments, which have brought no money: others may follow. */
export async function leaveUnbought(work: Work, payments: readonly PaymentRow[]): Promise<void> {
  const first = payments.filter(({ purchaseId }) => purchaseId !== null);
  const ids = first.flatMap(({ purchaseId }) => purchaseId ?? []);
  if (ids.length === 0) return;
  const unconfirmed = first.filter(({ failureCode }) => failureCode?.includes('authentication_required'));
  await failUnmade(
    work,
    ids,
    unconfirmed.flatMap(({ purchaseId }) => purchaseId ?? []),
  );
  await deleteRedemptionsOfPurchases(work, ids);
  const subscriptions = await findSubscriptions(
    work,
    first.flatMap(({ subscriptionId }) => subscriptionId ?? []),
  );
  const waiting = subscriptions.filter(({ status }) => status === 'incomplete');
  const unbegun = { currentBillingPeriodStart: null, currentBillingPeriodEnd: null, interimAt: null };
  await saveSubscriptions(
    work,
    waiting.map((subscription) => ({ ...subscription, ...unbegun })),
  );
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
    dueDate: isCharged ? work.now : addDays(work.now, termsOf(customer.billingTerms, settings).netTermsDays),
    discounts: discount === null ? [] : [discount],
    tax: taxes.get(customerId) ?? null,
    seller: settings.seller,
  };
}

/** The price and product of a purchase or a subscription. */
export async function findSold(
  work: Work,
  { priceId }: Pick<PurchaseRow, 'priceId'>,
): Promise<{ price: Price; product: Product }> {
  const price = await findPrice(work, priceId);
  const product = price === null || price.productId === null ? null : await findProduct(work, price.productId);
  assert(price && product, 'what is sold has its price and product');
  return { price, product };
}

/** The add-ons of a purchase. One that is no longer for sale was bought before. */
export async function findAddOns(work: Work, { addOns }: Pick<PurchaseRow, 'addOns'>): Promise<AddOn[]> {
  if (addOns.length === 0) return [];
  const prices = await listPricesByIds(
    work,
    addOns.map(({ priceId }) => priceId),
  );
  const products = await findProducts(
    work,
    prices.flatMap(({ productId }) => productId ?? []),
  );
  return addOns.map(({ priceId, quantity }) => {
    const price = prices.find(({ id }) => id === priceId);
    const product = products.find(({ id }) => id === price?.productId);
    assert(price && product, 'what is sold has its price and product');
    return { price: { ...price, active: true }, product: { ...product, active: true }, quantity };
  });
}

/** The bill of the first period of a subscription that waits, the quantity that it sells, and the add-ons beside it. */
export async function composeActivation(
  work: Work,
  subscription: SubscriptionRow,
  period: BillingPeriodRow,
): Promise<{ bill: Bill } & Pick<PurchaseRow, 'quantity' | 'addOns'>> {
  // It may have ended since the payment was requested, and its items with it. While it waited, none of them changed.
  const items = isTerminal(subscription.status)
    ? await listItemsOf(work, subscription.id)
    : await listActiveItems(work, [{ subscriptionId: subscription.id, at: period.startAt }]);
  const sold = items.filter(({ priceId, quantity }) => priceId !== null && quantity > 0);
  const plan = firstLines(await paidInAdvance(work, sold), period, chargedStep(work.currency));
  const lines = [...plan, ...setupFeeLines(subscription)];
  const bill = { subscription, period, reason: 'subscription_start', lines, at: work.now } as const;
  const isPlan = ({ priceId }: { readonly priceId: string | null }) => priceId === subscription.priceId;
  const addOns = sold.flatMap(({ priceId, quantity }) =>
    priceId === null || isPlan({ priceId }) ? [] : { priceId, quantity },
  );
  return { bill, quantity: sold.find(isPlan)?.quantity ?? 1, addOns };
}

/** The first period of a subscription that has waited, and its anchor. */
export interface Beginning extends Pick<SubscriptionRow, 'billingAnchor'> {
  readonly anchor: Instant;
  readonly period: BillingPeriodRow;
}

/** The beginning at an instant, with the anchor of the free plan if one is kept. */
export function beginningOf(
  work: Work,
  subscription: SubscriptionRow,
  { anchor: kept, at }: { readonly anchor: Instant | null; readonly at: Instant },
): Beginning {
  const { period: span, ...counted } = decideActivation(subscription, { anchor: kept, now: at });
  const period = newBillingPeriod(work, subscription, { ...span, creditsAwaitPayment: true });
  return { ...counted, period };
}

/** Begins a subscription that has waited, and invoices its first period. One that has ended is invoiced for it only. */
export async function begin(
  work: Work,
  waiting: SubscriptionRow,
  { anchor, billingAnchor, period: fresh }: Beginning,
  terms: Partial<Pick<BoughtTerms, 'tax'>> = {},
): Promise<{ subscription: SubscriptionRow; invoice: InvoiceRow }> {
  const isOver = isTerminal(waiting.status);
  // An earlier attempt at the same instant may have failed: a period begins only once.
  const revived = isOver ? null : await reviveBillingPeriod(work, fresh);
  if (!isOver && revived === null) await insertBillingPeriod(work, fresh);
  const period = revived ?? fresh;
  const begun = {
    billingCycleAnchorDate: anchor,
    billingAnchor,
    currentBillingPeriodStart: period.startAt,
    currentBillingPeriodEnd: period.endAt,
  };
  const [next] = await withInterims(work, [{ ...waiting, ...begun }], () => period.startAt);
  const { interimAt = null } = next ?? {};
  const subscription = isOver ? waiting : await saveSubscription(work, waiting.id, { ...begun, interimAt });
  const { bill } = await composeActivation(work, subscription, period);
  const [invoice] = await issueBills(work, [{ ...bill, ...terms, period: isOver ? { ...period, id: null } : period }]);
  assert(invoice, 'what waits for money costs something');
  return { subscription, invoice };
}
