import type { CustomerRow } from '../customers/customer.ts';
import { findCustomer, findCustomerEvenArchived, lockCustomer } from '../customers/store.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { defaultPaymentMethod, findPaymentMethod } from '../payments/actions.ts';
import type { Work } from '../platform/work.ts';
import { type DiscountRow, normalizeCode } from '../pricing/discount.ts';
import type { Price } from '../pricing/price.ts';
import type { Product } from '../pricing/product.ts';
import { findDiscountByCode } from '../pricing/store-discounts.ts';
import { findActivePriceBySlug, findPrice } from '../pricing/store-prices.ts';
import { findProduct } from '../pricing/store-products.ts';
import { findSubscription, hasHadTrial, lockLivingSubscriptions } from '../subscriptions/store.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import {
  decideReplaced,
  decideStart,
  type NewSubscription,
  refuseFarStart,
  type Start,
  subscriptionName,
} from '../subscriptions/subscription-start.ts';
import { endSubscription } from './cancel.ts';
import { type Opening, openSubscription } from './open-subscription.ts';

/**
 * Subscribes a customer to a price. A paid subscription takes the place of the customer's free one. What is to be paid
 * now is charged after the commit; `reread` says how that ended.
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
  const opening = await decideOpening(work, { customer, price, product, discount, given });
  const living = await lockLivingSubscriptions(work, customer.id);
  const { isFreePlan } = opening.start;
  const replaced = decideReplaced(living, { isFreePlan, allowMultiple: work.allowMultipleSubscriptions });
  const { subscription } = await openSubscription(work, opening);
  // What starts later takes its place then.
  if (replaced !== null && !opening.start.startsLater) {
    const ending = { at: work.now, reason: 'upgraded_to_paid', replacedBy: subscription.id } as const;
    await endSubscription(work, { customer, subscription: replaced }, ending);
  }
  return reread(work, subscription);
}

/** The subscription as it is now: a charge may have changed it since. */
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

/** The price, of the customer's pricing model, and its product. */
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
  // A price of metered usage belongs to no product, and nobody subscribes to it alone.
  const product = price.productId === null ? null : await findProduct(work, price.productId);
  if (product === null) throw new Problem('priceNotSubscribable', { id: price.id, type: price.type });
  return { price, product };
}

/** The discount to redeem, of the customer's pricing model. */
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

interface Offer {
  readonly customer: CustomerRow;
  readonly price: Price;
  readonly product: Product;
  readonly discount: DiscountRow | null;
  readonly given: NewSubscription;
}

async function decideOpening(work: Work, { customer, price, product, discount, given }: Offer): Promise<Opening> {
  const startDate = given.startDate ?? work.now;
  const quantity = given.quantity ?? 1;
  const doNotCharge = given.doNotCharge ?? false;
  const stored = await defaultPaymentMethod(work, customer.id);
  const { netTermsDays } = await readSettings(work);
  const start: Start = decideStart({
    price,
    product,
    quantity,
    startDate,
    now: work.now,
    trialEnd: given.trialEnd ?? null,
    intervalUnit: given.interval ?? null,
    intervalCount: given.intervalCount ?? null,
    doNotCharge,
    hadTrial: await hasHadTrial(work, customer.id),
    givenPaymentMethodId: given.defaultPaymentMethodId ?? null,
    storedPaymentMethodId: stored?.id ?? null,
    hasNetTerms: netTermsDays > 0,
  });
  refuseFarStart(start, { startDate, now: work.now });
  return {
    customer,
    product,
    price,
    discount,
    start,
    startDate,
    quantity,
    name: given.name ?? subscriptionName(product, price),
    doNotCharge,
    defaultPaymentMethodId: given.defaultPaymentMethodId ?? null,
    backupPaymentMethodId: given.backupPaymentMethodId ?? null,
    metadata: given.metadata ?? null,
  };
}
