import assert from 'node:assert/strict';
import { lockNamedCustomer, readNetTerms, saveChangedCustomer } from '../customers/actions.ts';
import { type BillingAddress, type CustomerRow, decideChange } from '../customers/customer.ts';
import { findCustomer, lockCustomer } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { createInvoices } from '../invoicing/actions.ts';
import { findGivenDiscount, quoteRedemption, redeem } from '../invoicing/actions-discounts.ts';
import { draftInvoice, type InvoiceDraft } from '../invoicing/new-invoice.ts';
import { findInvoice } from '../invoicing/store.ts';
import { addDays } from '../kernel/calendar.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { allowsMultipleSubscriptions, anchorSettings } from '../organizations/setting.ts';
import { defaultPaymentMethod, findPaymentMethod } from '../payments/actions.ts';
import { requestFirstCharge } from '../payments/actions-charge.ts';
import { findLastPaymentOf } from '../payments/store.ts';
import { isCreditPool } from '../pricing/credit-pool.ts';
import { type DiscountRow, orderedOf } from '../pricing/discount.ts';
import { amountAt, type Price } from '../pricing/price.ts';
import { maxQuantity, type Product } from '../pricing/product.ts';
import { getPurchase } from '../purchases/actions.ts';
import { creditsOfProduct, publishTopUp, recordTopUpFailure } from '../purchases/actions-auto-top-ups.ts';
import type { AutoTopUpRow } from '../purchases/auto-top-up.ts';
import { type NewPurchase, type Purchase, type PurchaseRow, toPurchase } from '../purchases/purchase.ts';
import {
  findPurchase,
  findPurchaseOfSession,
  findPurchaseToTryAgain,
  insertPurchase,
  replacePurchase,
  savePurchase,
} from '../purchases/store.ts';
import {
  endCheck,
  findAutoTopUp,
  putCheck,
  putPurchase,
  readMonth,
  takeChecks,
} from '../purchases/store-auto-top-ups.ts';
import { smallerQuantity, topUpQuantity } from '../rating/auto-top-up.ts';
import { calendarPeriod } from '../rating/spending.ts';
import { type AnchorRequest, anchorTermsOf } from '../subscriptions/billing-anchor.ts';
import { lockLivingSubscriptions, saveSubscription } from '../subscriptions/store.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { type AddOn, refuseSecond, refuseTooDear } from '../subscriptions/subscription-start.ts';
import { listCreditHolders } from '../usage/actions-transfer.ts';
import { findAvailable, listPoolAccounts, lockAccountsOfSubscriptions, lockBalances } from '../usage/store-accounts.ts';
import { composeBills } from './bill-subscription.ts';
import { recordBought, requireHolder } from './complete-purchases.ts';
import type { DueWorkHandler } from './due-work-runner.ts';
import { lockWithCustomer } from './end-subscription.ts';
import {
  assumeMade,
  type Beginning,
  begin,
  beginningOf,
  composeActivation,
  composePurchase,
  findAddOns,
  findSold,
} from './make-bought.ts';
import { composeOpening, type Opened } from './open-subscription.ts';
import { recordPaid } from './record-paid.ts';
import {
  anchorOfFreePlan,
  coversAll,
  decidePlan,
  findItems,
  findOffer,
  openDecided,
  type PlanOrder,
  refuseWhileBuying,
} from './subscribe.ts';

/** An order. */
export interface Order {
  readonly customer: CustomerRow;
  /** The price, from the customer's pricing model: for a subscription or a single payment. */
  readonly price: Price;
  readonly product: Product;
  readonly quantity: number;
  /** Add-ons beside a plan. Absent: none. */
  readonly addOns?: readonly AddOn[];
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
  /** The count of the periods of a subscription. Absent or null: that of the settings. */
  readonly anchorRequest?: AnchorRequest;
}

export interface Bought {
  readonly purchase: PurchaseRow;
  readonly subscriptionId: string | null;
  /** The invoice that the first payment will make; null: what is billed is billed already. */
  readonly draft: InvoiceDraft | null;
}

/**
 * Buys. The amount due is charged after the commit, and only then, in `makeBought`, is there a subscription and an
 * invoice: a declined card leaves its failed payment. If nothing is due (free, in trial, or fully discounted), it is paid
 * from the start. A checkout session buys once: a repeat returns its purchase that has not failed. Refuses prices that
 * are not for sale, and with `invalidRequest` on `paymentMethodId` an order that cannot be charged.
 */
export async function buy(work: Work, order: Order): Promise<Bought> {
  const customer = await lockBuyer(work, order);
  const earlier = order.checkoutSessionId && (await findPurchaseOfSession(work, order.checkoutSessionId));
  if (earlier) return { purchase: earlier, subscriptionId: earlier.subscriptionId, draft: null };
  refuseUnsold(order);
  const paymentMethodId = await methodFor(work, customer, order.paymentMethodId);
  const locked = { ...order, customer, paymentMethodId };
  const isPlan = order.price.type === 'subscription';
  const { id, draft } = isPlan ? await buyPlan(work, locked) : await buyOnce(work, locked);
  const purchase = await findPurchase(work, id);
  if (purchase === null) throw new Problem('purchaseNotFound', { id });
  return { purchase, subscriptionId: purchase.subscriptionId, draft };
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
  if (product.addOn) throw new Problem('priceNotSold', { id, reason: 'it is an add-on, which is sold beside a plan' });
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

/** The id of a purchase, and the invoice that its first payment will make. */
type Wanted = Pick<Bought, 'draft'> & Pick<PurchaseRow, 'id'>;

async function buyPlan(work: Work, order: Order): Promise<Wanted> {
  const plan = planOf(work, order);
  const opening = await decidePlan(work, plan);
  const { discount } = order;
  const sold = { ...order, price: plan.price };
  const { chargeWith } = opening.start;
  if (chargeWith !== null) {
    const { subscription, bill } = composeOpening(work, opening);
    const redeemed = discount && (await quoteRedemption(work, { discount, ...redeemerOf(order) }));
    const [draft] = bill === null ? [] : await composeBills(work, [{ ...bill, redeemed }]);
    const terms = { subscriptionName: opening.name, exclusive: subscription.exclusive };
    const wanted = { ...planPurchase(work, sold, subscription), ...terms };
    if (draft !== undefined && draft.total > 0n)
      return payFirst(work, { ...order, wanted: { ...wanted, subscriptionId: null }, draft, chargeWith });
  }
  const opened = await openDecided(work, opening);
  if (opened.subscription.status === 'incomplete' && opened.invoice === null) refuseUnpayable();
  return { ...(await insertPlanPurchase(work, sold, opened)), draft: null };
}

/** A purchase to pay for before anything of it is made. */
interface FirstPayment extends Pick<Order, 'customer' | 'discount' | 'price' | 'quantity' | 'addOns'> {
  readonly product: Pick<Product, 'name'>;
  readonly wanted: PurchaseRow;
  readonly draft: InvoiceDraft;
  readonly chargeWith: string;
}

/**
 * Requests the first payment of a purchase, which keeps the terms until the payment is there. After a declined one the same
 * purchase is tried again. The discount is redeemed, so that nothing else of the customer can use it meanwhile.
 */
async function payFirst(work: Work, first: FirstPayment): Promise<Wanted> {
  const { discount, product, wanted, draft, chargeWith } = first;
  const again = await findPurchaseToTryAgain(work, wanted);
  const purchase: PurchaseRow = {
    ...wanted,
    ...(again === null ? {} : { id: again.id, createdAt: again.createdAt }),
    status: 'pending',
    firstInvoiceValue: draft.total,
    taxInclusive: draft.request.tax?.inclusive ?? false,
  };
  await (again === null ? insertPurchase : replacePurchase)(work, purchase);
  const { id: purchaseId, subscriptionId } = purchase;
  if (discount !== null) await redeem(work, { discount, ...redeemerOf(first) }, { purchaseId });
  const paid = { purchaseId, adjustmentId: null, subscriptionId };
  const charge = { ...paid, paymentMethodId: chargeWith, description: product.name, draft };
  await requestFirstCharge(work, charge, assumeMade);
  return { id: purchaseId, draft };
}

/** The plan of an order for a subscription. */
export function planOf(work: Work, order: Order): PlanOrder {
  const { customer, product, discount, quantity, addOns = [], name, metadata, paymentMethodId } = order;
  const items = [order, ...addOns];
  const trialPeriodDays = order.trialPeriodDays ?? order.price.trialPeriodDays;
  const price = { ...order.price, trialPeriodDays } as Price;
  return {
    customer,
    price,
    product,
    addOns,
    discount,
    given: {
      quantity,
      ...order.anchorRequest,
      // Days that the seller has set for this order count whatever the customer had before.
      ...(order.trialPeriodDays ? { trialEnd: addDays(work.now, order.trialPeriodDays) } : {}),
      ...(name === null ? {} : { name }),
      ...(metadata === null ? {} : { metadata }),
      ...(paymentMethodId === null ? {} : { defaultPaymentMethodId: paymentMethodId }),
    },
    keepsAnchor: order.preserveBillingCycleAnchor,
    payerField: 'paymentMethodId',
    isCovered: coversAll(discount, orderedOf(items)),
  };
}

/** The customer of an order and its items, as a redemption judges them. */
export function redeemerOf({
  customer,
  price,
  quantity,
  addOns = [],
}: Pick<Order, 'customer' | 'price' | 'quantity' | 'addOns'>) {
  return { customerId: customer.id, ordered: orderedOf([{ price, quantity }, ...addOns]) };
}

function totalOf(
  items: readonly Pick<AddOn, 'price' | 'quantity'>[],
  amount: (price: Price, quantity: number) => bigint,
): bigint {
  return items.reduce((sum, { price, quantity }) => sum + amount(price, quantity), 0n);
}

/** The part of an order that is known for a subscription, both at its start and at its activation. */
type PlanPurchase = Pick<
  Order,
  | 'customer'
  | 'price'
  | 'quantity'
  | 'addOns'
  | 'name'
  | 'metadata'
  | 'billingAddress'
  | 'checkoutSessionId'
  | 'paymentMethodId'
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
    ...planPurchase(work, order, subscription),
    invoiceId: invoice?.id ?? null,
    status: order.paymentMethodId === null ? 'open' : 'pending',
    firstInvoiceValue: invoice?.total ?? 0n,
  };
  await insertPurchase(work, purchase);
  if (invoice === null || invoice.status === 'paid') await recordBought(work, [purchase]);
  return purchase;
}

function planPurchase(work: Work, order: PlanPurchase, subscription: SubscriptionRow): PurchaseRow {
  return {
    ...newPurchase(work, order),
    priceType: 'subscription',
    subscriptionId: subscription.id,
    trialPeriodDays: order.price.trialPeriodDays ?? 0,
    pricePerBillingCycle: totalOf([order, ...(order.addOns ?? [])], amountAt),
    intervalUnit: subscription.intervalUnit,
    intervalCount: subscription.intervalCount,
    billingCycleAnchor: subscription.billingCycleAnchorDate,
    billingAnchor: subscription.billingAnchor,
    firstPeriod: subscription.firstPeriod,
  };
}

function newPurchase(work: Work, order: PlanPurchase): PurchaseRow {
  const { customer, price, product, quantity, addOns = [], name, metadata, billingAddress, checkoutSessionId } = order;
  return {
    id: newId('purchase', customer.id),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: customer.pricingModelId,
    customerId: customer.id,
    priceId: price.id,
    priceType: 'single_payment',
    quantity,
    addOns: addOns.map((each) => ({ priceId: each.price.id, quantity: each.quantity })),
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
    billingAnchor: null,
    firstPeriod: null,
    firstInvoiceValue: 0n,
    totalPurchaseValue: null,
    purchaseDate: null,
    billingAddress: billingAddress ?? customer.billingAddress,
    metadata,
    subscriptionName: null,
    exclusive: false,
    taxInclusive: false,
  };
}

async function buyOnce(work: Work, order: Order): Promise<Wanted> {
  const { customer, price, product, paymentMethodId } = order;
  await requireHolder(work, product.id, customer, await lockLivingSubscriptions(work, customer.id));
  const purchase: PurchaseRow = { ...newPurchase(work, order), totalPurchaseValue: 0n };
  const isCharged = paymentMethodId !== null;
  const sold = { customer, purchaseId: purchase.id, quantity: purchase.quantity, price, product, isCharged };
  if (paymentMethodId !== null) {
    const { discount: given } = order;
    const redeemed = given && (await quoteRedemption(work, { discount: given, ...redeemerOf(order) }));
    const draft = draftInvoice(await composePurchase(work, { ...sold, discount: redeemed }));
    const wanted = { ...purchase, totalPurchaseValue: draft.total };
    if (draft.total > 0n) return payFirst(work, { ...order, wanted, draft, chargeWith: paymentMethodId });
  }
  await insertPurchase(work, purchase);
  const { discount: given } = order;
  const redeemer = { purchaseId: purchase.id };
  const discount = given && (await redeem(work, { discount: given, ...redeemerOf(order) }, redeemer));
  const bill = { ...sold, discount };
  const [invoice] = await createInvoices(work, [await composePurchase(work, bill)]);
  assert(invoice, 'each request has its invoice');
  const invoiced = await savePurchase(work, purchase.id, {
    invoiceId: invoice.id,
    firstInvoiceValue: invoice.total,
    totalPurchaseValue: invoice.total,
    status: isCharged ? 'pending' : 'open',
  });
  if (invoice.status === 'paid') await recordPaid(work, [{ invoice, paymentMethodId }]);
  else if ((await readNetTerms(work, purchase.customerId)) === 0) refuseUnpayable();
  return { ...invoiced, draft: null };
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
 * Starts a subscription that awaits its first payment, which is charged after the commit. With the money come its first
 * period and its invoice; after a declined card it waits again, and another attempt may follow. A checkout session
 * activates once: a repeat returns its purchase that has not failed. Refuses with `subscriptionNotActivatable` a subscription
 * that is not waiting.
 */
export async function activateSubscription(work: Work, activation: Activation): Promise<Bought> {
  const { subscriptionId: id, paymentMethodId, checkoutSessionId } = activation;
  const { customer, subscription } = await lockWithCustomer(work, id);
  const earlier = checkoutSessionId && (await findPurchaseOfSession(work, checkoutSessionId));
  if (earlier) return { purchase: earlier, subscriptionId: id, draft: null };
  refuseActivation(subscription);
  if ((await findPaymentMethod(work, paymentMethodId))?.customerId !== customer.id)
    throw invalid(['paymentMethodId'], `must be a payment method of customer ${customer.id}`);
  const living = await lockLivingSubscriptions(work, customer.id);
  const beginning = await decideBeginning(work, subscription, living, activation);
  const { bill, quantity, addOns } = await composeActivation(work, subscription, beginning.period);
  const [draft] = await composeBills(work, [bill], [customer]);
  assert(draft, 'each bill has its draft');
  const { name, metadata } = subscription;
  const terms = {
    quantity,
    addOns: await findAddOns(work, { addOns }),
    name,
    metadata,
    billingAddress: customer.billingAddress,
    checkoutSessionId,
    paymentMethodId,
  };
  const order = { customer, ...(await findSold(work, subscription)), ...terms };
  const isPaidFirst = draft.total > 0n;
  const { id: purchaseId } = isPaidFirst
    ? await activateFirst(work, order, { subscription, beginning, draft, chargeWith: paymentMethodId })
    : await insertPlanPurchase(work, order, await beginFree(work, subscription, beginning));
  const purchase = await findPurchase(work, purchaseId);
  assert(purchase, 'it has just been written');
  return { purchase, subscriptionId: id, draft: isPaidFirst ? draft : null };
}

/** Nothing is due for the first period. */
async function beginFree(work: Work, waiting: SubscriptionRow, beginning: Beginning) {
  const { subscription, invoice } = await begin(work, waiting, beginning);
  await recordPaid(work, [{ invoice, paymentMethodId: null }]);
  return { subscription, invoice };
}

interface FirstActivation extends Pick<FirstPayment, 'draft' | 'chargeWith'> {
  readonly subscription: SubscriptionRow;
  readonly beginning: Beginning;
}

/** Until its payment has ended, the subscription has the span of its first period, and no other plan can be bought. */
async function activateFirst(
  work: Work,
  order: PlanPurchase,
  { subscription, beginning, draft, chargeWith }: FirstActivation,
): Promise<Wanted> {
  const { anchor: billingCycleAnchorDate, billingAnchor, period } = beginning;
  await saveSubscription(work, subscription.id, {
    currentBillingPeriodStart: period.startAt,
    currentBillingPeriodEnd: period.endAt,
  });
  const wanted = planPurchase(work, order, { ...subscription, billingCycleAnchorDate, billingAnchor });
  return payFirst(work, { ...order, discount: null, wanted, draft, chargeWith });
}

/** The first period of a subscription that waits, and its anchor. Refuses what cannot be activated now. */
export async function decideBeginning(
  work: Work,
  subscription: SubscriptionRow,
  living: readonly SubscriptionRow[],
  { preserveBillingCycleAnchor = false }: Pick<Activation, 'preserveBillingCycleAnchor'>,
): Promise<Beginning> {
  const allowMultiple = allowsMultipleSubscriptions(work);
  refuseSecond(living, { isFreePlan: false, allowMultiple, startsAt: work.now });
  if (!allowMultiple) await refuseWhileBuying(work, subscription.customerId, living);
  const kept = preserveBillingCycleAnchor ? anchorOfFreePlan(living) : null;
  return beginningOf(work, subscription, { anchor: kept, at: work.now });
}

/** Refuses a subscription that does not wait for its first payment. */
export function refuseActivation({ id, status, currentBillingPeriodStart }: SubscriptionRow): void {
  if (status !== 'incomplete')
    throw new Problem('subscriptionNotActivatable', { id, reason: `its status is ${status}` });
  if (currentBillingPeriodStart !== null)
    throw new Problem('subscriptionNotActivatable', { id, reason: 'its first payment is in progress' });
}

/**
 * Sells something to a customer on a saved payment method, as a checkout does. The amount due is charged after the
 * commit; `readSold` returns the outcome.
 */
export async function sell(work: Work, given: NewPurchase, pricingModelId: string | undefined): Promise<Purchase> {
  const customer = await lockNamedCustomer(work, given, pricingModelId);
  const [{ price, product, quantity }, ...addOns] = await findOrdered(work, customer, given);
  anchorTermsOf(given, anchorSettings(work), price);
  const { purchase } = await buy(work, {
    customer,
    price,
    product,
    quantity,
    addOns,
    discount: await findGivenDiscount(work, customer, given),
    paymentMethodId: given.paymentMethodId ?? null,
    name: given.name ?? null,
    metadata: given.metadata ?? null,
    billingAddress: null,
    checkoutSessionId: null,
    preserveBillingCycleAnchor: false,
    anchorRequest: given,
  });
  return toPurchase(work, purchase);
}

/** The plan and its add-ons, or the one price that is named. */
async function findOrdered(
  work: Work,
  customer: CustomerRow,
  given: NewPurchase,
): Promise<readonly [AddOn & Pick<Order, 'product'>, ...AddOn[]]> {
  const { items, quantity = 1 } = given;
  if (items !== undefined) return (await findItems(work, customer, given)).sold;
  return [{ ...(await findOffer(work, customer, given)), quantity }];
}

/** The purchase after its charge. Refuses with `purchaseNotPaid`, and the failed purchase, one that was declined. */
export async function readSold(work: Work, { id }: Pick<Purchase, 'id'>): Promise<Purchase> {
  const purchase = await getPurchase(work, id);
  if (purchase.status !== 'failed') return purchase;
  const payment = await findLastPaymentOf(work, { purchaseId: id, invoiceId: purchase.invoiceId }, 'failed');
  const details = { code: payment?.failureCode ?? 'declined', reason: payment?.failureMessage ?? '' };
  throw new Problem('purchaseNotPaid', details, [], { purchase });
}

/** Buys credits for customers whose balance may be below the line of their automatic top-up. */
export const topUpHandler: DueWorkHandler = {
  name: 'topUp',
  take: takeChecks,
  async perform(work, ids) {
    for (const id of ids) await topUp(work, id);
  },
};

/**
 * Buys the credits that a customer's automatic top-up asks for, if the balance is still below its line and no purchase is
 * pending. Usage that is booked meanwhile waits for the locks of the accounts and notes another crossing, so each is
 * looked at. The charge is made after the commit, and the credits come with its money. The caller has locked the customer.
 */
async function topUp(work: Work, customerId: string): Promise<void> {
  const row = await findAutoTopUp(work, customerId);
  const balance = row && (await lockRefilled(work, row));
  await endCheck(work, customerId);
  const customer = await findCustomer(work, customerId);
  if (row === null || row.stoppedAt !== null || balance === null || customer === null || customer.archived) return;
  const month = calendarPeriod('month', work.now);
  const { amount: spent, openPurchaseId } = await readMonth(work, customerId, month.start);
  if (openPurchaseId !== null || balance >= row.below) return;
  const sold = await findSold(work, row);
  const creditsPerUnit = (await creditsOfProduct(work, sold.product.id)).get(row.usageMeterId);
  const method = await defaultPaymentMethod(work, customerId);
  if (creditsPerUnit === undefined || !sold.price.active || !sold.product.active || method === null)
    return recordTopUpFailure(work, row);
  const quantity = topUpQuantity({ ...row, balance, creditsPerUnit, maxQuantity });
  const fitting = await fittingQuantity(
    work,
    { customer, ...sold },
    { quantity, rest: row.maximumAmountPerMonth - spent },
  );
  if (fitting === 0) {
    await putCheck(work, customerId, month.end);
    return publishTopUp(work, customerId, 'auto_top_up.limit_reached', `${month.start}`);
  }
  const { purchase } = await buy(work, {
    ...{ customer, ...sold, quantity: fitting, discount: null, paymentMethodId: method.id, name: null, metadata: null },
    ...{ billingAddress: null, checkoutSessionId: null, preserveBillingCycleAnchor: false },
  });
  await putPurchase(work, {
    ...{ purchaseId: purchase.id, customerId, pricingModelId: row.pricingModelId, usageMeterId: row.usageMeterId },
    ...{ amount: purchase.totalPurchaseValue ?? 0n, monthStart: month.start },
    status: purchase.status === 'paid' ? 'paid' : 'open',
  });
}

/** Locks the account that gets the credits of a top-up, and reads its balance. Null: no subscription gets them. */
async function lockRefilled(work: Work, { customerId, usageMeterId }: AutoTopUpRow): Promise<bigint | null> {
  if (isCreditPool(usageMeterId)) {
    const of = { customerIds: [customerId], creditPoolIds: [usageMeterId] };
    const ids = (await listPoolAccounts(work, of)).map(({ id }) => id);
    return (await lockBalances(work, ids)).get(ids[0] ?? '')?.balance ?? 0n;
  }
  const holder = (await listCreditHolders(work, [customerId])).get(customerId);
  if (holder === undefined) return null;
  await lockAccountsOfSubscriptions(work, [holder.id]);
  return findAvailable(work, holder.id, usageMeterId);
}

/** The largest quantity up to the wanted one whose total, with tax, is within the rest of the month. */
async function fittingQuantity(
  work: Work,
  sold: Pick<Order, 'customer' | 'price' | 'product'>,
  { quantity: wanted, rest }: { readonly quantity: number; readonly rest: bigint },
): Promise<number> {
  for (let quantity = wanted; quantity > 0; ) {
    const bill = { ...sold, purchaseId: '', quantity, discount: null, isCharged: true };
    const { total } = draftInvoice(await composePurchase(work, bill));
    if (total <= rest) return quantity;
    quantity = smallerQuantity(quantity, total, rest);
  }
  return 0;
}
