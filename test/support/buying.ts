import assert from 'node:assert/strict';
import { type Bought, buy, type Order } from '../../src/billing/buy.ts';
import { type Quote, quote } from '../../src/billing/quote.ts';
import { findCustomer } from '../../src/customers/store.ts';
import type { Work } from '../../src/database/work.ts';
import { findDiscountByCode } from '../../src/pricing/store-discounts.ts';
import { findDefaultPriceOfProduct } from '../../src/pricing/store-prices.ts';
import { findProduct } from '../../src/pricing/store-products.ts';

/** What somebody buys: one of the product's default price where nothing else is said. */
export interface Wish extends Partial<Omit<Order, 'customer' | 'price' | 'product' | 'discount'>> {
  readonly customerId: string;
  readonly productId: string;
  readonly discountCode?: string;
}

export async function orderOf(work: Work, { customerId, productId, discountCode, ...said }: Wish): Promise<Order> {
  const customer = await findCustomer(work, customerId);
  const price = await findDefaultPriceOfProduct(work, productId);
  const product = await findProduct(work, productId);
  assert(customer && price && product);
  const discount =
    discountCode === undefined ? null : await findDiscountByCode(work, customer.pricingModelId, discountCode);
  return {
    customer,
    price,
    product,
    discount,
    quantity: 1,
    paymentMethodId: null,
    name: null,
    metadata: null,
    billingAddress: null,
    checkoutSessionId: null,
    preserveBillingCycleAnchor: false,
    ...said,
  };
}

/** Buys; what is asked for outside is left to whoever runs the jobs. */
export async function buyNow(work: Work, wish: Wish): Promise<Bought> {
  return buy(work, await orderOf(work, wish));
}

export async function quoteNow(work: Work, wish: Wish): Promise<Quote> {
  const order = await orderOf(work, wish);
  return quote(work, order, { customer: order.customer, isNew: false });
}
