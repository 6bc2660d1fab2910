import assert from 'node:assert/strict';
import { adjustSubscription } from '../billing/adjust.ts';
import { activateSubscription, type Bought, buy, type Order } from '../billing/buy.ts';
import { lockCurrent } from '../billing/catch-up.ts';
import { createCustomer } from '../billing/customer-billing.ts';
import {
  type Billed,
  type Quote,
  quote,
  quoteActivation,
  quoteChange,
  quoteOf,
  quoteOfDraft,
} from '../billing/quote.ts';
import { lockUpToDate } from '../billing/subscribe.ts';
import { newCustomer, saveChangedCustomer } from '../customers/actions.ts';
import { type CustomerRow, decideChange, withTaxId } from '../customers/customer.ts';
import { findCustomer, lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { isOver, refusalOf } from '../invoicing/actions-discounts.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { allowsMultipleSubscriptions } from '../organizations/setting.ts';
import { type DiscountRow, normalizeCode, orderedOf } from '../pricing/discount.ts';
import type { Price } from '../pricing/price.ts';
import type { Product } from '../pricing/product.ts';
import { findDiscount, findDiscountByCode } from '../pricing/store-discounts.ts';
import { listPricesByIds } from '../pricing/store-prices.ts';
import { findProducts } from '../pricing/store-products.ts';
import { listLivingSubscriptions } from '../subscriptions/store.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { isInTheWay, isWaitingForStart, type SubscriptionRow } from '../subscriptions/subscription.ts';
import type { AddOn } from '../subscriptions/subscription-start.ts';
import {
  type AddOnChoice,
  addOnField,
  type CheckoutSessionRow,
  decideAddOns,
  decideQuantity,
  statusAt,
} from './checkout.ts';
import type { CheckoutDraft, PlanChange } from './checkout-view.ts';
import { saveSession } from './store.ts';

/** A price and its product. */
export interface Offer {
  readonly price: Price;
  readonly product: Product;
}

/** The price and product of a session, and those of its add-ons, in order. */
export interface Sold extends Offer {
  readonly addOns: readonly Offer[];
}

/** The price and product of the session; null if nothing is bought. */
export async function findSold(work: Work, { type, priceId, addOns }: CheckoutSessionRow): Promise<Sold | null> {
  if (type === 'add_payment_method' || priceId === null) return null;
  const ids = [priceId, ...addOns.map((addOn) => addOn.priceId)];
  const prices = await listPricesByIds(work, ids);
  const products = await findProducts(
    work,
    prices.flatMap(({ productId }) => productId ?? []),
  );
  const [plan, ...others] = ids.map((id): Offer => {
    const price = prices.find((each) => each.id === id);
    const product = products.find((each) => each.id === price?.productId);
    assert(price && product, 'what a session sells has its price and product');
    return { price, product };
  });
  assert(plan, 'the first is that of the session');
  return { ...plan, addOns: others };
}

/** The add-ons that are taken, with their prices. */
export function addOnsOf({ addOns }: Pick<Sold, 'addOns'>, chosen: readonly AddOnChoice[]): AddOn[] {
  return chosen.flatMap(({ priceId, quantity }) => {
    const offer = addOns.find(({ price }) => price.id === priceId);
    assert(offer, 'a choice is of an add-on of the session');
    return quantity === 0 ? [] : [{ ...offer, quantity }];
  });
}

/** The items of the order: that of the plan, and the add-ons that are taken. */
export function itemsOf(
  session: CheckoutSessionRow,
  sold: Sold,
  { quantity, addOns }: CheckoutDraft,
): Pick<AddOn, 'price' | 'quantity'>[] {
  const head = { price: sold.price, quantity: decideQuantity(session, quantity) };
  return [head, ...addOnsOf(sold, decideAddOns(session, addOns))];
}

/**
 * The effective discount: the one whose code was entered, else the session's; null for none. Refuses with
 * `invalidRequest` a code that nobody can redeem. A guesser does not learn whether there ever was such a code.
 */
export async function chosenDiscount(
  work: Work,
  session: CheckoutSessionRow,
  sold: Sold | null,
  draft: CheckoutDraft,
): Promise<DiscountRow | null> {
  const { pricingModelId } = session;
  const { discountCode } = draft;
  if (discountCode === null) return null;
  if (discountCode === undefined) return discountOfSession(work, session, sold, draft);
  const discount = await findDiscountByCode(work, pricingModelId, normalizeCode(discountCode));
  if (discount === null || (await isOver(work, discount, redeemerOf(session))))
    throw invalid(['discountCode'], 'is not valid');
  return discount;
}

/** The session's own discount, unless the order cannot redeem it: it has ended, or the customer has used it elsewhere. */
async function discountOfSession(
  work: Work,
  session: CheckoutSessionRow,
  sold: Sold | null,
  draft: CheckoutDraft,
): Promise<DiscountRow | null> {
  const { discountId } = session;
  if (discountId === null) return null;
  const discount = await findDiscount(work, discountId);
  if (!discount?.active) return null;
  if (sold === null || statusAt(session, work.now) !== 'open') return discount;
  const ordered = orderedOf(itemsOf(session, sold, draft));
  return (await refusalOf(work, { discount, customerId: redeemerOf(session), ordered })) === null ? discount : null;
}

/** The one who redeems. A buyer to come has redeemed nothing yet, and will be in the slot of the session. */
function redeemerOf({ id, customerId }: CheckoutSessionRow): string {
  return customerId ?? id;
}

/** The buyer's details as entered. */
interface BuyerDetails extends Pick<CheckoutDraft, 'billingAddress' | 'taxId'> {
  readonly name?: string;
  readonly email?: string;
}

/**
 * The customer of the session, locked, with the entered address, which determines tax. For an anonymous session it is
 * created at the first confirmation, and its external id is the session's id. Refuses with `customerArchived`.
 */
export async function prepareBuyer(
  work: Work,
  session: CheckoutSessionRow,
  { name, email, billingAddress, taxId }: BuyerDetails,
): Promise<CustomerRow> {
  const { customerId, pricingModelId } = session;
  if (customerId === null) {
    assert(name !== undefined && email !== undefined, 'an anonymous buyer has said who it is');
    const { customer } = await createCustomer(work, {
      externalId: session.id,
      name,
      email,
      pricingModelId,
      billingAddress,
      ...(taxId ? { billingTerms: { taxId } } : {}),
    });
    return customer;
  }
  const customer = await lockCustomer(work, customerId);
  assert(customer, 'customers are never deleted');
  if (customer.archived) throw new Problem('customerArchived', { id: customerId });
  // A link must not allow renaming an existing customer.
  const said = session.anonymous ? { name, email } : {};
  const terms = withTaxId(customer, { taxId, country: billingAddress?.address.country });
  const changed = decideChange(customer, { ...said, ...terms, billingAddress: billingAddress ?? undefined });
  return changed === null ? customer : saveChangedCustomer(work, changed);
}

/** The customer as `prepareBuyer` would leave it. Stores nothing. Refuses with `customerArchived`. */
export async function findBuyer(
  work: Work,
  { id: externalId, customerId, pricingModelId }: CheckoutSessionRow,
  { billingAddress, taxId }: CheckoutDraft,
): Promise<CustomerRow> {
  // An anonymous buyer has not said yet who it is, and no amount depends on that.
  if (customerId === null)
    return newCustomer(work, pricingModelId, {
      externalId,
      name: '',
      email: '',
      billingAddress: billingAddress ?? null,
    });
  const customer = await findCustomer(work, customerId);
  assert(customer, 'customers are never deleted');
  if (customer.archived) throw new Problem('customerArchived', { id: customerId });
  const terms = withTaxId(customer, { taxId, country: billingAddress?.address.country });
  return decideChange(customer, { ...terms, billingAddress: billingAddress ?? undefined }) ?? customer;
}

/**
 * Does the overdue work of the customer on which the order depends, so that its amounts are those of the present. The
 * caller has locked the customer.
 */
export async function catchUpBuyer(work: Work, session: CheckoutSessionRow, sold: Sold | null): Promise<void> {
  if (session.customerId === null || sold?.price.type !== 'subscription') return;
  await lockUpToDate(work, session.customerId);
  const plan = await findPlanToChange(work, session, sold);
  if (plan !== null) await lockCurrent(work, plan.id);
}

/**
 * The plan that the customer has, which the session changes instead of selling a second one; null without such a plan,
 * or where customers may have several.
 */
export async function findPlanToChange(
  work: Work,
  { type, customerId }: CheckoutSessionRow,
  sold: Sold | null,
): Promise<SubscriptionRow | null> {
  if (type !== 'product' || sold?.price.type !== 'subscription') return null;
  if (customerId === null || allowsMultipleSubscriptions(work)) return null;
  const subscriptions = await listLivingSubscriptions(work, customerId);
  const paid = subscriptions.filter((row) => !row.isFreePlan && isInTheWay(row));
  return paid.find((row) => !isWaitingForStart(row)) ?? paid[0] ?? null;
}

/**
 * The new items: the plan gives way to the session's price, the add-ons that are taken get their quantities, and everything
 * else of the subscription stays.
 */
async function adjustmentTo(work: Work, plan: SubscriptionRow, { sold, quantity, addOns }: CheckoutOrder) {
  const active = await listActiveItems(work, [{ subscriptionId: plan.id, at: work.now }]);
  const items = active.filter((item) => !item.manuallyCreated && item.priceId !== null);
  const head = items.find(({ priceId }) => priceId === plan.priceId) ?? items[0];
  const { id: priceId } = sold.price;
  // The same item at another quantity keeps its own terms.
  const kept = head?.priceId === priceId ? { id: head.id } : {};
  const taken = addOns.map(({ price, quantity: count }) => {
    const own = items.find((item) => item.priceId === price.id);
    const added = { priceId: price.id, quantity: count };
    return own === undefined ? { ...added, isSame: false } : { ...added, id: own.id, isSame: own.quantity === count };
  });
  const sent = new Set([priceId, ...taken.map((each) => each.priceId)]);
  const others = items.filter((item) => item !== head && !sent.has(item.priceId ?? ''));
  return {
    keepsPlan: head?.priceId === priceId,
    isSame: head?.priceId === priceId && head.quantity === quantity && taken.every((each) => each.isSame),
    timing: 'auto' as const,
    newSubscriptionItems: [
      { ...kept, priceId, quantity },
      ...taken.map(({ isSame: _, ...item }) => item),
      ...others.map(({ id }) => ({ id })),
    ],
  };
}

/** An order of a session. */
interface CheckoutOrder {
  readonly session: CheckoutSessionRow;
  readonly sold: Sold;
  readonly customer: CustomerRow;
  readonly quantity: number;
  /** The add-ons that the buyer takes. */
  readonly addOns: readonly AddOn[];
  readonly discount: DiscountRow | null;
  /** The plan to change. */
  readonly plan: SubscriptionRow | null;
}

/** The amounts that `carryOut` would bill now, and the change of plan, if it is one. */
export async function quoteOrder(
  work: Work,
  order: CheckoutOrder,
): Promise<{ quoted: Quote; change: PlanChange | null }> {
  const { session, plan, discount, customer } = order;
  if (session.type === 'activate_subscription')
    return { quoted: await quoteActivation(work, activationOf(session), customer), change: null };
  const buyer = { customer, isNew: session.customerId === null };
  if (plan === null) {
    const quoted = await quote(work, orderOf(order, null), buyer);
    refuseMoreInTrial(work, order, quoted);
    return { quoted, change: null };
  }
  if (discount !== null) throw invalid(['discountCode'], 'is for new subscriptions only, not for a change of plan');
  const requested = await adjustmentTo(work, plan, order);
  if (requested.isSame) throw new Problem('currentSubscriptionExists');
  const quoted = await quoteChange(work, plan.id, requested, customer);
  refuseMoreInTrial(work, order, quoted);
  const { currentTotal, newTotal, isNow, effectiveAt } = quoted;
  const { keepsPlan } = requested;
  const known = { subscriptionId: plan.id, currentName: plan.name ?? '', keepsPlan };
  return { quoted, change: { ...known, currentTotal, newTotal, isNow, effectiveAt } };
}

/**
 * Buys, activates, or changes the plan. A trigger updates the session, and the amount due is charged after the commit.
 * Returns the amounts that were billed.
 */
export async function carryOut(work: Work, order: CheckoutOrder, paymentMethodId: string | null): Promise<Quote> {
  const quoted = await billOrder(work, order, paymentMethodId);
  refuseMoreInTrial(work, order, quoted);
  return quoted;
}

/**
 * Refuses with `invalidRequest` more in a free trial than the quantity of the session. A trial grants credits and seats
 * before anything is paid, so only the seller multiplies them.
 */
function refuseMoreInTrial({ now }: Work, order: CheckoutOrder, { trialEnd }: Quote): void {
  const { session, quantity, addOns, plan } = order;
  if (plan?.status !== 'trialing' && (trialEnd === null || trialEnd <= now)) return;
  if (quantity > session.quantity) throw invalid(['quantity'], `must be at most ${session.quantity} in a free trial`);
  for (const [index, { priceId, quantity: most }] of session.addOns.entries()) {
    const taken = addOns.find(({ price }) => price.id === priceId)?.quantity ?? 0;
    if (taken > most) throw invalid([addOnField(index)], `must be at most ${most} in a free trial`);
  }
}

async function billOrder(work: Work, order: CheckoutOrder, paymentMethodId: string | null): Promise<Quote> {
  const { session, plan } = order;
  if (plan !== null) return quoteOf(work, await changePlan(work, plan, order, paymentMethodId));
  if (session.type !== 'activate_subscription') return billed(work, await buy(work, orderOf(order, paymentMethodId)));
  assert(paymentMethodId !== null, 'an activation asks for a card');
  const activation = { ...activationOf(session), paymentMethodId, checkoutSessionId: session.id };
  return billed(work, await activateSubscription(work, activation));
}

/** The amounts that were billed, or will be with the first payment: then there is no trial. */
async function billed(work: Work, { purchase, draft }: Bought): Promise<Quote> {
  return draft === null ? quoteOf(work, purchase) : quoteOfDraft(work, draft, null);
}

async function changePlan(
  work: Work,
  plan: SubscriptionRow,
  order: CheckoutOrder,
  paymentMethodId: string | null,
): Promise<Billed> {
  const requested = await adjustmentTo(work, plan, order);
  if (requested.isSame) throw new Problem('currentSubscriptionExists');
  const { adjustment } = await adjustSubscription(work, plan.id, requested, {
    chargeWith: paymentMethodId,
    byCustomer: true,
  });
  const status = adjustment.status === 'awaiting_payment' ? 'pending' : 'succeeded';
  await saveSession(work, order.session.id, { adjustmentId: adjustment.id, status });
  return adjustment;
}

function activationOf({ targetSubscriptionId, preserveBillingCycleAnchor }: CheckoutSessionRow) {
  assert(targetSubscriptionId !== null, 'an activation has its subscription');
  return { subscriptionId: targetSubscriptionId, preserveBillingCycleAnchor };
}

function orderOf(
  { session, sold, customer, quantity, addOns, discount }: CheckoutOrder,
  paymentMethodId: string | null,
): Order {
  return {
    price: sold.price,
    product: sold.product,
    customer,
    quantity,
    addOns,
    discount,
    paymentMethodId,
    name: session.outputName,
    metadata: session.outputMetadata,
    billingAddress: customer.billingAddress,
    checkoutSessionId: session.id,
    preserveBillingCycleAnchor: session.preserveBillingCycleAnchor,
    anchorRequest: { billingAnchor: session.billingAnchor, firstPeriod: session.firstPeriod },
    trialPeriodDays: session.trialPeriodDays,
  };
}
