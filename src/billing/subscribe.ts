import type { CustomerRow } from '../customers/customer.ts';
import { findCustomer, findCustomerEvenArchived, lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { findPaymentMethod } from '../payments/actions.ts';
import { type DiscountRow, normalizeCode } from '../pricing/discount.ts';
import type { Price } from '../pricing/price.ts';
import type { Product } from '../pricing/product.ts';
import { findDiscountByCode } from '../pricing/store-discounts.ts';
import { findActivePriceBySlug, findPrice } from '../pricing/store-prices.ts';
import { findProduct } from '../pricing/store-products.ts';
import { findSubscription } from '../subscriptions/store.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import type { NewSubscription } from '../subscriptions/subscription-start.ts';
import { openPlan } from './open-plan.ts';

/**
 * Subscribes a customer to a price. A paid subscription replaces the customer's free one. The amount due is charged
 * after the commit; `reread` returns the outcome.
 */
export async function subscribe(
  work: Work,
  given: NewSubscription,
  pricingModelId: string | undefined,
): Promise<SubscriptionRow> {
  const customer = await holdCustomer(work, given, pricingModelId);
  const { price, product } = await findOffer(work, customer, given);
  await checkPaymentMethods(work, customer, given);
  const discount = await findDiscount(work, customer, given);
  const { subscription } = await openPlan(work, { customer, price, product, discount, given, keepsAnchor: false });
  return reread(work, subscription);
}

/** The subscription after its charge. */
export async function reread(work: Work, subscription: { id: string }): Promise<SubscriptionRow> {
  const row = await findSubscription(work, subscription.id);
  if (row === null) throw new Problem('subscriptionNotFound', { id: subscription.id });
  return row;
}

async function holdCustomer(
  work: Work,
  { customerId, customerExternalId }: NewSubscription,
  pricingModelId: string | undefined,
): Promise<CustomerRow> {
  const found =
    customerId === undefined
      ? await findCustomerEvenArchived(work, customerExternalId ?? '', pricingModelId)
      : await findCustomer(work, customerId);
  const customer = found === null ? null : await lockCustomer(work, found.id);
  if (customer === null) throw new Problem('customerNotFound', { id: customerId ?? customerExternalId ?? '' });
  if (customer.archived) throw new Problem('customerArchived', { id: customer.id });
  return customer;
}

/** The price, from the customer's pricing model, and its product. */
async function findOffer(
  work: Work,
  { pricingModelId }: CustomerRow,
  { priceId, priceSlug }: NewSubscription,
): Promise<{ price: Price; product: Product }> {
  const price =
    priceId === undefined
      ? await findActivePriceBySlug(work, pricingModelId, priceSlug ?? '')
      : await findPrice(work, priceId);
  if (price?.pricingModelId !== pricingModelId) throw new Problem('priceNotFound', { id: priceId ?? priceSlug ?? '' });
  // A usage price belongs to no product and cannot be subscribed to.
  const product = price.productId === null ? null : await findProduct(work, price.productId);
  if (product === null) throw new Problem('priceNotSubscribable', { id: price.id, type: price.type });
  return { price, product };
}

/** The discount to redeem, from the customer's pricing model. */
async function findDiscount(
  work: Work,
  { pricingModelId }: CustomerRow,
  { discountCode }: NewSubscription,
): Promise<DiscountRow | null> {
  if (discountCode === null || discountCode === undefined) return null;
  const discount = await findDiscountByCode(work, pricingModelId, normalizeCode(discountCode));
  if (!discount?.active) throw invalid(['discountCode'], 'must be the code of an active discount of the pricing model');
  return discount;
}

async function checkPaymentMethods(work: Work, customer: CustomerRow, given: NewSubscription): Promise<void> {
  for (const field of ['defaultPaymentMethodId', 'backupPaymentMethodId'] as const) {
    const id = given[field];
    if (id === null || id === undefined) continue;
    const method = await findPaymentMethod(work, id);
    if (method?.customerId !== customer.id)
      throw invalid([field], `must be a payment method of customer ${customer.id}`);
  }
}
