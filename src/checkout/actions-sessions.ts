import assert from 'node:assert/strict';
import { findOffers } from '../billing/subscribe.ts';
import { requireCustomerByExternalId } from '../customers/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { lockCustomer } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { refusalOf } from '../invoicing/actions-discounts.ts';
import type { DocumentServices } from '../invoicing/actions-document.ts';
import type { Encryption } from '../jobs/encryption.ts';
import { homeSlot } from '../kernel/id.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { anchorSettings } from '../organizations/setting.ts';
import { findSlotHere } from '../organizations/store-cells.ts';
import type { PaymentRow } from '../payments/store.ts';
import { resolvePricingModel } from '../pricing/actions.ts';
import { normalizeCode } from '../pricing/discount.ts';
import type { Price } from '../pricing/price.ts';
import { maxQuantity, type QuantityLimits } from '../pricing/product.ts';
import { findDiscountByCode } from '../pricing/store-discounts.ts';
import { findActivePriceBySlug, findPrice } from '../pricing/store-prices.ts';
import { findProduct } from '../pricing/store-products.ts';
import { anchorTermsOf } from '../subscriptions/billing-anchor.ts';
import { findSubscription } from '../subscriptions/store.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { maxPeriodAmount, refuseBadAddOns, refuseTooDear } from '../subscriptions/subscription-start.ts';
import type { Offer } from './actions-order.ts';
import {
  type CheckoutSession,
  type CheckoutSessionRow,
  checkoutUrl,
  expiryOf,
  type SessionAddOn,
  statusAt,
  withSessionId,
} from './checkout.ts';
import type { NewCheckoutSession } from './checkout-input.ts';
import { findSession, findSessionOfPayment, insertSession, pageOfSessions } from './store.ts';

/** A session and the address of its page. */
interface LinkedSession {
  readonly checkoutSession: CheckoutSession;
  readonly url: string;
}

type Kind<Type extends NewCheckoutSession['type']> = Extract<NewCheckoutSession, { type: Type }>;

/**
 * Creates a session. `pricingModelId` resolves an external id that several pricing models have. Static problems of the
 * order are refused now; those that depend on the time (such as another plan of the customer) are shown on its page.
 */
export async function createCheckoutSession(
  work: Work,
  encryption: Encryption,
  requested: NewCheckoutSession,
  pricingModelId?: string,
): Promise<LinkedSession> {
  const session = await decideSession(work, requested, pricingModelId);
  // An erasure at the same time must not miss a session with the customer's details.
  const customer = session.customerId === null ? null : await lockCustomer(work, session.customerId);
  if (customer?.archived) throw new Problem('customerArchived', { id: customer.id });
  await insertSession(work, session);
  const place = { environmentId: work.environmentId, sessionId: session.id };
  const shown = session.type === 'add_payment_method' ? 'add-payment-method' : 'checkout';
  return {
    checkoutSession: renderSession(work, session),
    url: checkoutUrl(work.publicUrl, encryption, place, shown),
  };
}

/** Returns a session. Refuses with `checkoutSessionNotFound`. */
export async function requireSession(work: Work, id: string): Promise<CheckoutSessionRow> {
  const session = await findSession(work, id);
  if (session === null) throw new Problem('checkoutSessionNotFound', { id });
  return session;
}

/** The page on which a payment of a purchase or change of plan is confirmed; null if none of ours began it. */
export async function findPageOfPayment(
  work: Work,
  { publicUrl, encryption }: DocumentServices,
  payment: Pick<PaymentRow, 'customerId' | 'purchaseId' | 'adjustmentId'>,
): Promise<string | null> {
  const sessionId = await findSessionOfPayment(work, payment);
  return sessionId && checkoutUrl(publicUrl, encryption, { environmentId: work.environmentId, sessionId });
}

export async function getCheckoutSession(work: Work, encryption: Encryption, id: string): Promise<LinkedSession> {
  const session = await requireSession(work, id);
  const url = checkoutUrl(work.publicUrl, encryption, { environmentId: work.environmentId, sessionId: id });
  return { checkoutSession: renderSession(work, session), url };
}

export async function listCheckoutSessions(work: Work, request: PageRequest) {
  const { rows, total } = await pageOfSessions(work, request);
  const sessions = rows.map((row) => renderSession(work, row));
  return page(request, sessions, total);
}

/** A session as returned by the API. */
export function renderSession(work: Work, row: CheckoutSessionRow): CheckoutSession {
  const { anonymous: _, paymentMethodId: _method, paymentToken: _token, expiresAt, ...shown } = row;
  const isActivation = row.type === 'activate_subscription';
  return {
    ...shown,
    livemode: work.livemode,
    organizationId: work.organizationId,
    status: statusAt(row, work.now),
    invoiceId: null,
    // An activation pays for the subscription; its API form has never had a purchase.
    purchaseId: isActivation ? null : row.purchaseId,
    expires: expiresAt,
    // Table constraints guarantee the fields of each type.
  } as CheckoutSession;
}

function decideSession(
  work: Work,
  requested: NewCheckoutSession,
  pricingModelId: string | undefined,
): Promise<CheckoutSessionRow> {
  switch (requested.type) {
    case 'product':
      return sellProduct(work, requested, pricingModelId);
    case 'activate_subscription':
      return activate(work, requested, pricingModelId);
    case 'add_payment_method':
      return addPaymentMethod(work, requested, pricingModelId);
    default:
      return requested satisfies never;
  }
}

async function sellProduct(
  work: Work,
  requested: Kind<'product'>,
  pricingModelId: string | undefined,
): Promise<CheckoutSessionRow> {
  const externalId = requested.customerExternalId ?? null;
  const customer = externalId === null ? null : await requireCustomerByExternalId(work, externalId, pricingModelId);
  const { price, quantities, addOns, addOnPrices } = await findOrder(work, requested, customer);
  const { quantity, maximumQuantity } = quantities;
  const field = maximumQuantity === null ? 'quantity' : 'maximumQuantity';
  refuseTooDear(price, maximumQuantity ?? quantity, ['checkoutSession', field]);
  const trialPeriodDays = requested.trialPeriodDays ?? null;
  if (trialPeriodDays !== null && price.type !== 'subscription')
    throw invalid(['checkoutSession', 'trialPeriodDays'], 'must be absent: this price is paid once and has no trial');
  anchorTermsOf(requested, anchorSettings(work), price, ['checkoutSession']);
  // An anonymous buyer becomes a customer of the cell that has the session.
  const like = customer?.id ?? (await findSlotHere(work));
  return {
    ...newSession(work, requested, customer, price.pricingModelId, like),
    ...quantities,
    addOns,
    priceId: price.id,
    discountId: await findDiscountId(work, [price, ...addOnPrices], requested.discountCode ?? null, customer),
    customerEmail: customer?.email ?? requested.customerEmail ?? null,
    trialPeriodDays,
    anonymous: customer === null,
    preserveBillingCycleAnchor: requested.preserveBillingCycleAnchor ?? false,
    billingAnchor: requested.billingAnchor ?? null,
    firstPeriod: requested.firstPeriod ?? null,
  };
}

/** The plan or product of a session, its quantity, and the add-ons beside it. */
interface SessionOrder extends Offer {
  readonly quantities: Quantities;
  readonly addOns: readonly SessionAddOn[];
  readonly addOnPrices: readonly Price[];
}

type SessionItem = NonNullable<Kind<'product'>['items']>[number];

async function findOrder(work: Work, requested: Kind<'product'>, customer: CustomerRow | null): Promise<SessionOrder> {
  const { items, optionalItems = [] } = requested;
  if (items === undefined && optionalItems.length === 0) {
    const offer = await findOffered(work, requested, customer);
    return { ...offer, quantities: quantitiesOf(requested, offer.product, offer.price), addOns: [], addOnPrices: [] };
  }
  const [first] = items ?? [requested];
  const named = first?.priceId === undefined ? null : await findPrice(work, first.priceId);
  const pricingModelId = customer?.pricingModelId ?? named?.pricingModelId ?? (await resolvePricingModel(work));
  const given: readonly SessionItem[] = [...(items ?? [requested]), ...optionalItems];
  const offers = await findOffers(work, { pricingModelId }, given);
  const required = items?.length ?? 1;
  const path = (index: number) =>
    index >= required
      ? ['checkoutSession', 'optionalItems', index - required]
      : ['checkoutSession', ...(items === undefined ? [] : ['items', index])];
  const offered = offers.map((offer, index) => {
    const item = given[index] ?? {};
    return { ...offer, quantities: quantitiesOf(item, offer.product, offer.price), optional: index >= required };
  });
  const plan = offered.find(({ product, optional }) => !product.addOn && !optional);
  if (plan === undefined)
    throw invalid(
      [...path(0), first?.priceId === undefined ? 'priceSlug' : 'priceId'],
      'must be a plan: add-ons are sold beside one',
    );
  refuseUnsold(plan, path(offered.indexOf(plan)));
  const ids = offered.map(({ price }) => price.id);
  for (const [index, each] of offered.entries()) {
    if (each === plan) continue;
    if (!each.product.addOn) throw invalid(path(index), 'must be an add-on (addOn: true): a session sells one plan');
    if (ids.indexOf(each.price.id) < index) throw invalid(path(index), 'must name a price that no other item names');
  }
  const others = offered.filter((each) => each !== plan);
  const most = ({ quantities: { quantity, maximumQuantity } }: (typeof others)[number]) => maximumQuantity ?? quantity;
  const largest = others.map((each) => ({ ...each, quantity: most(each) }));
  if (largest.length > 0 && plan.price.type !== 'subscription')
    throw invalid(path(offered.indexOf(plan)), 'must be a plan that renews: add-ons are billed with it');
  refuseBadAddOns({ price: plan.price, quantity: most(plan), addOns: largest }, ['checkoutSession', 'items']);
  return {
    ...plan,
    addOnPrices: others.map(({ price }) => price),
    addOns: others.map(({ price, quantities, optional }) => {
      return { priceId: price.id, optional, ...quantities, selectedQuantity: null };
    }),
  };
}

type Quantities = Pick<CheckoutSessionRow, 'quantity' | 'minimumQuantity' | 'maximumQuantity'>;

/** The session's own quantity and limits. One without any has the limits of the product, as far as a payment reaches. */
function quantitiesOf(
  { quantity, minimumQuantity, maximumQuantity }: Pick<SessionItem, keyof Quantities>,
  product: QuantityLimits,
  { unitPrice }: Price,
): Quantities {
  if (!quantity && !maximumQuantity && product.maximumQuantity !== null && product.minimumQuantity !== null) {
    const payable = unitPrice === 0n ? maxQuantity : Number(maxPeriodAmount / unitPrice);
    const least = product.minimumQuantity;
    const most = Math.max(least, Math.min(product.maximumQuantity, payable));
    return { quantity: least, minimumQuantity: least, maximumQuantity: most };
  }
  const most = maximumQuantity ?? null;
  const least = most === null ? null : (minimumQuantity ?? 1);
  return { quantity: quantity ?? least ?? 1, minimumQuantity: least, maximumQuantity: most };
}

async function findDiscountId(
  work: Work,
  prices: readonly [Price, ...Price[]],
  code: string | null,
  customer: CustomerRow | null,
): Promise<string | null> {
  const [{ pricingModelId }] = prices;
  if (code === null) return null;
  const discount = await findDiscountByCode(work, pricingModelId, normalizeCode(code));
  const path = ['checkoutSession', 'discountCode'];
  if (!discount?.active) throw invalid(path, 'must be the code of an active discount of the pricing model');
  // The buyer decides quantities and add-ons, so the minimum is judged later.
  const ordered = prices.map(({ productId }) => ({ productId: productId ?? null, amount: null }));
  const refusal = await refusalOf(work, { discount, customerId: customer?.id ?? null, ordered }, { path });
  if (refusal !== null) throw refusal;
  return discount.id;
}

/** The price, from the customer's pricing model, which must be sellable on a page. */
async function findOffered(
  work: Work,
  { priceId, priceSlug }: Kind<'product'>,
  customer: CustomerRow | null,
): Promise<Offer> {
  const price =
    priceId === undefined
      ? await findActivePriceBySlug(
          work,
          customer?.pricingModelId ?? (await resolvePricingModel(work)),
          priceSlug ?? '',
        )
      : await findPrice(work, priceId);
  const isSeen = price !== null && (customer === null || price.pricingModelId === customer.pricingModelId);
  if (!isSeen) throw new Problem('priceNotFound', { id: priceId ?? priceSlug ?? '' });
  const path = ['checkoutSession', priceId === undefined ? 'priceSlug' : 'priceId'];
  if (price.productId === null)
    throw invalid(path, 'must be the price of a product: metered usage is billed with its plan');
  const product = await findProduct(work, price.productId);
  assert(product, 'a price of a product has it');
  refuseUnsold({ price, product }, path);
  return { price, product };
}

/** Refuses a price that no session sells by itself. */
function refuseUnsold({ price, product }: Offer, path: readonly (string | number)[]): void {
  if (product.default)
    throw invalid(path, 'must not be the price of the default product, on which every customer starts');
  if (product.addOn) throw invalid(path, 'must not be the price of an add-on, which is sold beside a plan');
  if (!price.active || !product.active) throw new Problem('priceInactive', { id: price.id });
}

async function activate(
  work: Work,
  requested: Kind<'activate_subscription'>,
  pricingModelId: string | undefined,
): Promise<CheckoutSessionRow> {
  const customer = await requireCustomerByExternalId(work, requested.customerExternalId, pricingModelId);
  const subscription = await requireTarget(work, customer, requested.targetSubscriptionId);
  if (subscription.status !== 'incomplete')
    throw invalid(
      ['checkoutSession', 'targetSubscriptionId'],
      `must be a subscription with status incomplete, not ${subscription.status}`,
    );
  const items = await listActiveItems(work, [{ subscriptionId: subscription.id, at: work.now }]);
  return {
    ...newSession(work, requested, customer, customer.pricingModelId),
    priceId: subscription.priceId,
    quantity: items.find((item) => item.priceId === subscription.priceId)?.quantity ?? 1,
    targetSubscriptionId: subscription.id,
    preserveBillingCycleAnchor: requested.preserveBillingCycleAnchor ?? false,
  };
}

async function addPaymentMethod(
  work: Work,
  requested: Kind<'add_payment_method'>,
  pricingModelId: string | undefined,
): Promise<CheckoutSessionRow> {
  const customer = await requireCustomerByExternalId(work, requested.customerExternalId, pricingModelId);
  const targetId = requested.targetSubscriptionId ?? null;
  const target = targetId === null ? null : await requireTarget(work, customer, targetId);
  if (target !== null && (isTerminal(target.status) || target.doNotCharge))
    throw invalid(['checkoutSession', 'targetSubscriptionId'], 'must be a subscription that is still being charged');
  return {
    ...newSession(work, requested, customer, customer.pricingModelId),
    targetSubscriptionId: targetId,
    automaticallyUpdateSubscriptions: requested.automaticallyUpdateSubscriptions ?? null,
  };
}

async function requireTarget(work: Work, customer: CustomerRow, id: string): Promise<SubscriptionRow> {
  const subscription = await findSubscription(work, id);
  if (subscription?.customerId !== customer.id) throw new Problem('subscriptionNotFound', { id });
  return subscription;
}

function newSession(
  work: Work,
  { type, successUrl, cancelUrl, outputName, outputMetadata, metadata }: NewCheckoutSession,
  customer: CustomerRow | null,
  pricingModelId: string,
  like = customer?.id ?? homeSlot,
): CheckoutSessionRow {
  const id = newId('checkoutSession', like);
  return {
    id,
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId,
    type,
    status: 'open',
    customerId: customer?.id ?? null,
    anonymous: false,
    customerName: customer?.name ?? null,
    customerEmail: customer?.email ?? null,
    billingAddress: customer?.billingAddress ?? null,
    priceId: null,
    quantity: 1,
    addOns: [],
    minimumQuantity: null,
    maximumQuantity: null,
    trialPeriodDays: null,
    discountId: null,
    purchaseId: null,
    adjustmentId: null,
    paymentMethodId: null,
    paymentMethodType: null,
    paymentToken: null,
    preserveBillingCycleAnchor: false,
    billingAnchor: null,
    firstPeriod: null,
    targetSubscriptionId: null,
    automaticallyUpdateSubscriptions: null,
    outputName: outputName ?? null,
    outputMetadata: outputMetadata ?? null,
    metadata: metadata ?? null,
    successUrl: withSessionId(successUrl, id),
    cancelUrl: withSessionId(cancelUrl, id),
    expiresAt: expiryOf(work.now),
  };
}
