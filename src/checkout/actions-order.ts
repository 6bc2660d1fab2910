import assert from 'node:assert/strict';
import { activateSubscription, buy, type Order } from '../billing/buy.ts';
import { createCustomer } from '../billing/change-customer.ts';
import { type Quote, quote, quoteActivation } from '../billing/quote.ts';
import { saveChangedCustomer } from '../customers/actions.ts';
import { type CustomerRow, decideChange } from '../customers/customer.ts';
import { lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { type DiscountRow, normalizeCode } from '../pricing/discount.ts';
import type { Price } from '../pricing/price.ts';
import type { Product } from '../pricing/product.ts';
import { findDiscount, findDiscountByCode } from '../pricing/store-discounts.ts';
import { findPrice } from '../pricing/store-prices.ts';
import { findProduct } from '../pricing/store-products.ts';
import type { CheckoutSessionRow } from './checkout.ts';
import type { CheckoutDraft } from './checkout-view.ts';

/** The price and product of a session. */
export interface Sold {
  readonly price: Price;
  readonly product: Product;
}

/** The price and product of the session; null if nothing is bought. */
export async function findSold(work: Work, { type, priceId }: CheckoutSessionRow): Promise<Sold | null> {
  if (type === 'add_payment_method' || priceId === null) return null;
  const price = await findPrice(work, priceId);
  const product = price?.productId ? await findProduct(work, price.productId) : null;
  assert(price && product, 'what a session sells has its price and product');
  return { price, product };
}

/**
 * The effective discount: the one whose code was entered, else the session's; null for none. Refuses with
 * `invalidRequest` a code that is not active in the pricing model.
 */
export async function chosenDiscount(
  work: Work,
  { pricingModelId, discountId }: CheckoutSessionRow,
  { discountCode }: CheckoutDraft,
): Promise<DiscountRow | null> {
  if (discountCode === null) return null;
  if (discountCode === undefined) return discountId === null ? null : findDiscount(work, discountId);
  const discount = await findDiscountByCode(work, pricingModelId, normalizeCode(discountCode));
  if (!discount?.active) throw invalid(['discountCode'], 'is not valid');
  return discount;
}

/** The buyer's details as entered. */
interface BuyerDetails extends Pick<CheckoutDraft, 'billingAddress'> {
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
  { name, email, billingAddress }: BuyerDetails,
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
    });
    return customer;
  }
  const customer = await lockCustomer(work, customerId);
  assert(customer, 'customers are never deleted');
  if (customer.archived) throw new Problem('customerArchived', { id: customerId });
  // A link must not allow renaming an existing customer.
  const said = session.anonymous ? { name, email } : {};
  const changed = decideChange(customer, { ...said, billingAddress: billingAddress ?? undefined });
  return changed === null ? customer : saveChangedCustomer(work, changed);
}

/** An order of a session. */
interface CheckoutOrder {
  readonly session: CheckoutSessionRow;
  readonly sold: Sold;
  readonly customer: CustomerRow;
  readonly quantity: number;
  readonly discount: DiscountRow | null;
}

/** The amounts that `carryOut` would bill now. */
export function quoteOrder(work: Work, order: CheckoutOrder): Promise<Quote> {
  const { session } = order;
  return session.type === 'activate_subscription'
    ? quoteActivation(work, activationOf(session))
    : quote(work, orderOf(order, null));
}

/** Buys or activates. A trigger updates the session, and the amount due is charged after the commit. */
export async function carryOut(work: Work, order: CheckoutOrder, paymentMethodId: string | null): Promise<void> {
  const { session } = order;
  if (session.type !== 'activate_subscription') {
    await buy(work, orderOf(order, paymentMethodId));
    return;
  }
  assert(paymentMethodId !== null, 'an activation asks for a card');
  await activateSubscription(work, {
    ...activationOf(session),
    paymentMethodId,
    checkoutSessionId: session.id,
  });
}

function activationOf({ targetSubscriptionId, preserveBillingCycleAnchor }: CheckoutSessionRow) {
  assert(targetSubscriptionId !== null, 'an activation has its subscription');
  return { subscriptionId: targetSubscriptionId, preserveBillingCycleAnchor };
}

function orderOf(
  { session, sold, customer, quantity, discount }: CheckoutOrder,
  paymentMethodId: string | null,
): Order {
  return {
    ...sold,
    customer,
    quantity,
    discount,
    paymentMethodId,
    name: session.outputName,
    metadata: session.outputMetadata,
    billingAddress: customer.billingAddress,
    checkoutSessionId: session.id,
    preserveBillingCycleAnchor: session.preserveBillingCycleAnchor,
  };
}
