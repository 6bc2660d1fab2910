import assert from 'node:assert/strict';
import { lockNamedCustomer } from '../customers/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import { termsOf } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { findGivenDiscount } from '../invoicing/actions-discounts.ts';
import { priceLine } from '../invoicing/invoice-line-item.ts';
import type { Instant } from '../kernel/calendar.ts';
import { isSameJson } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { allowsMultipleSubscriptions, anchorSettings } from '../organizations/setting.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { defaultPaymentMethod, findPaymentMethod } from '../payments/actions.ts';
import { findLastFailure } from '../payments/store.ts';
import { type DiscountRow, orderedOf } from '../pricing/discount.ts';
import type { Price } from '../pricing/price.ts';
import { mayCost } from '../pricing/pricing.ts';
import type { Product } from '../pricing/product.ts';
import { listActivePricesBySlug, listPrices, listPricesByIds } from '../pricing/store-prices.ts';
import { findProducts } from '../pricing/store-products.ts';
import { carryToHolders } from '../purchases/actions-auto-top-ups.ts';
import { awaitsOnlyPlan } from '../purchases/store.ts';
import { discountLines } from '../rating/discount.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { anchorOf } from '../subscriptions/billing-anchor.ts';
import { billingAnchor, billingInterval } from '../subscriptions/billing-period.ts';
import {
  type OverrideChange,
  refuseStrayOverrides,
  resolveOverrides,
  withOverride,
} from '../subscriptions/price-override.ts';
import { findSubscription, hasUsedTrial, lockLivingSubscriptions, saveSubscription } from '../subscriptions/store.ts';
import { findPendingAdjustment } from '../subscriptions/store-adjustments.ts';
import { findCurrentBillingPeriod, moveTrialPeriodEnd } from '../subscriptions/store-billing-periods.ts';
import {
  isCurrent,
  isTerminal,
  isWaitingForStart,
  type SubscriptionRow,
  toSubscription,
} from '../subscriptions/subscription.ts';
import {
  type AddOn,
  decideStart,
  decideTrialMove,
  type NewSubscription,
  refuseFarStart,
  refuseSecond,
  type Start,
  type SubscriptionUpdate,
  subscriptionName,
} from '../subscriptions/subscription-start.ts';
import { movePlanCreditsEnd } from '../usage/actions-ledger.ts';
import { carryCredits } from '../usage/actions-transfer.ts';
import { catchUpAll, lockCurrent } from './catch-up.ts';
import { composeOpening, type Opened, type Opening, openSubscription } from './open-subscription.ts';
import { replaceFreePlan } from './record-paid.ts';

/**
 * Subscribes a customer to a price. A paid subscription replaces the customer's free one. The amount due is charged
 * after the commit; `reread` returns the outcome.
 */
export async function subscribe(
  work: Work,
  given: NewSubscription,
  pricingModelId: string | undefined,
): Promise<SubscriptionRow> {
  const customer = await lockNamedCustomer(work, given, pricingModelId);
  const { sold, priceOverrides } = await findItems(work, customer, given);
  const [{ price, product, quantity }, ...addOns] = sold;
  await checkPaymentMethods(work, customer, given);
  const discount = await findGivenDiscount(work, customer, given);
  const isCovered = coversAll(discount, orderedOf(sold));
  const terms = { ...given, quantity };
  const order = {
    customer,
    price,
    product,
    addOns,
    discount,
    given: terms,
    priceOverrides,
    keepsAnchor: false,
    isCovered,
  };
  const { subscription } = await openPlan(work, order);
  return reread(work, subscription);
}

/** Whether nothing is left to pay of an order, so that no payment method is required. */
export function coversAll(discount: DiscountRow | null, ordered: ReturnType<typeof orderedOf>): boolean {
  const priceIds = discount?.productIds ?? null;
  // A product is compared as if it were its price.
  const lines = ordered.map(({ productId, amount }) => ({ priceId: productId, amount }));
  const terms = discount && { kind: discount.amountType, amount: discount.amount, priceIds };
  const listed = lines.reduce((sum, { amount }) => sum + amount, 0n);
  return discountLines(terms, lines).amount === listed;
}

/** The subscription after its charge. */
export async function reread(work: Work, subscription: { id: string }): Promise<SubscriptionRow> {
  const row = await findSubscription(work, subscription.id);
  if (row === null) throw new Problem('subscriptionNotFound', { id: subscription.id });
  return row;
}

/**
 * The new subscription after its charge. Refuses with `subscriptionNotPaid`, and the subscription, one whose first
 * payment failed: it is canceled, and the plan that it was to replace goes on.
 */
export async function readSubscribed(work: Work, subscription: { id: string }): Promise<SubscriptionRow> {
  const row = await reread(work, subscription);
  if (row.status !== 'canceled' || row.cancellationReason !== 'non_payment') return row;
  const { failureCode, failureMessage } = (await findLastFailure(work, row.id)) ?? {};
  const details = { code: failureCode ?? 'declined', reason: failureMessage ?? '' };
  throw new Problem('subscriptionNotPaid', details, [], { subscription: toSubscription(work, row) });
}

type Reference = Pick<NewSubscription, 'priceId' | 'priceSlug'>;

/** The price, from the customer's pricing model, and its product. */
export async function findOffer(
  work: Work,
  customer: CustomerRow,
  given: Reference,
): Promise<{ price: Price; product: Product }> {
  const [offer] = await findOffers(work, customer, [given]);
  assert(offer, 'each reference has its offer');
  return offer;
}

/** The same for several. */
export async function findOffers<Given extends Reference>(
  work: Work,
  { pricingModelId }: Pick<CustomerRow, 'pricingModelId'>,
  given: readonly Given[],
) {
  const slugs = given.flatMap(({ priceId, priceSlug }) => (priceId === undefined ? (priceSlug ?? '') : []));
  const named = await listActivePricesBySlug(work, pricingModelId, slugs);
  const known = await listPricesByIds(
    work,
    given.flatMap(({ priceId }) => priceId ?? []),
  );
  const prices = given.map(({ priceId, priceSlug }) => {
    const price =
      priceId === undefined ? named.find(({ slug }) => slug === priceSlug) : known.find(({ id }) => id === priceId);
    if (price?.pricingModelId !== pricingModelId)
      throw new Problem('priceNotFound', { id: priceId ?? priceSlug ?? '' });
    return price;
  });
  const products = await findProducts(
    work,
    prices.flatMap(({ productId }) => productId ?? []),
  );
  return prices.map((price) => {
    // A usage price belongs to no product and cannot be subscribed to.
    const product = products.find(({ id }) => id === price.productId);
    if (product === undefined) throw new Problem('priceNotSubscribable', { id: price.id, type: price.type });
    return { price, product };
  });
}

interface Sold extends AddOn {
  readonly product: Product;
}

/** The plan and its add-ons, at the own prices of the customer, and these. */
export async function findItems(
  work: Work,
  customer: CustomerRow,
  given: Pick<NewSubscription, 'priceId' | 'priceSlug' | 'quantity' | 'items' | 'priceOverrides'>,
): Promise<{ readonly sold: readonly [Sold, ...Sold[]]; readonly priceOverrides: readonly OverrideChange[] }> {
  const { items, quantity = 1 } = given;
  const wanted = items ?? [{ ...given, quantity }];
  const offers = await findOffers(work, customer, wanted);
  const offered = offers.map((offer, index): Sold => ({ ...offer, quantity: wanted[index]?.quantity ?? 1 }));
  const [plan, ...others] = offered.filter(({ product }) => !product.addOn);
  const path = items !== undefined ? 'items' : given.priceId === undefined ? 'priceSlug' : 'priceId';
  if (plan === undefined) throw invalid([path], 'must name a plan: add-ons are sold beside one');
  if (others.length > 0) throw invalid([path], 'must name one plan: all other items must be add-ons (addOn: true)');
  const ids = offered.map(({ price }) => price.id);
  const again = ids.findIndex((id, index) => ids.indexOf(id) < index);
  if (again >= 0) throw invalid([path, again], 'must name a price that no other item names');
  const addOns = offered.filter((each) => each !== plan);
  const priceOverrides = await findOverrides(work, customer, given, offered);
  const atOwnPrice = (each: Sold) => ({ ...each, price: withOverride(each.price, priceOverrides) });
  return { sold: [atOwnPrice(plan), ...addOns.map(atOwnPrice)], priceOverrides };
}

/** The own prices that a request asks for. The default plan has none: its customers agreed to no price. */
async function findOverrides(
  work: Work,
  { pricingModelId }: CustomerRow,
  { priceOverrides }: Pick<NewSubscription, 'priceOverrides'>,
  sold: readonly Sold[],
): Promise<OverrideChange[]> {
  if (!priceOverrides?.length) return [];
  const path = ['priceOverrides'];
  if (sold.some(({ price, product }) => product.default || price.type !== 'subscription'))
    throw invalid(path, 'must be omitted for the default plan');
  const overrides = resolveOverrides(priceOverrides, await listPrices(work, [pricingModelId]), path);
  refuseStrayOverrides(overrides, new Set(sold.map(({ price }) => price.id)), path);
  return overrides;
}

const paymentMethodFields = ['defaultPaymentMethodId', 'backupPaymentMethodId'] as const;

async function checkPaymentMethods(
  work: Work,
  customer: CustomerRow,
  given: Pick<NewSubscription, (typeof paymentMethodFields)[number]>,
  path: readonly string[] = [],
): Promise<void> {
  for (const field of paymentMethodFields) {
    const id = given[field];
    if (id === null || id === undefined) continue;
    const method = await findPaymentMethod(work, id);
    if (method?.customerId !== customer.id)
      throw invalid([...path, field], `must be a payment method of customer ${customer.id}`);
  }
}

/** A plan to subscribe to, with all references resolved. The customer is locked. */
export interface PlanOrder {
  readonly customer: CustomerRow;
  readonly price: Price;
  readonly product: Product;
  readonly discount: DiscountRow | null;
  readonly given: Omit<
    NewSubscription,
    'customerId' | 'customerExternalId' | 'priceId' | 'priceSlug' | 'items' | 'discountCode' | 'priceOverrides'
  >;
  /** Items beside that of the plan. Absent: none. */
  readonly addOns?: readonly AddOn[];
  /** Own prices of the customer. The price has those terms already. Absent: none. */
  readonly priceOverrides?: readonly OverrideChange[];
  /** Whether a paid plan keeps the anchor of the free one: its first period is then the rest of an interval. */
  readonly keepsAnchor: boolean;
  /** The field of the request that names a payment method. Absent: `defaultPaymentMethodId`. */
  readonly payerField?: string;
  /** Whether a discount covers the full amount for now, so that no payment method is required. */
  readonly isCovered?: boolean;
}

/**
 * Subscribes a customer; every subscription takes this path. A paid subscription replaces the customer's free one. The
 * amount due is charged after the commit. Worked example U1: with a kept anchor, 20 of 30 days of 3000 are 2000.
 */
async function openPlan(work: Work, order: PlanOrder): Promise<Opened> {
  return openDecided(work, await decidePlan(work, order));
}

/** Decides how a plan opens, on the present state of its customer, whose subscriptions are locked. */
export async function decidePlan(work: Work, order: PlanOrder): Promise<Opening> {
  const { id } = order.customer;
  const living = await lockUpToDate(work, id);
  return decideOpening(work, order, { living, hadTrial: await hasUsedTrial(work, id) });
}

/** Opens a plan as decided. */
export async function openDecided(work: Work, opening: Opening): Promise<Opened> {
  const { customer } = opening;
  const { isFreePlan } = opening.start;
  const opened = await openSubscription(work, opening);
  const { startsLater, chargeWith, status } = opening.start;
  // A future start replaces the free plan then, and a plan that is to be paid now when the money has arrived.
  const replacesNow = !startsLater && chargeWith === null && status !== 'incomplete';
  if (replacesNow && !isFreePlan) await replaceFreePlan(work, opened.subscription, work.now);
  else if (replacesNow) await carryToHolders(work, [customer.id]);
  else await carryCredits(work, [customer.id]);
  return opened;
}

/** The customer's living subscriptions, locked. A scheduled end that has come has taken effect. */
export async function lockUpToDate(work: Work, customerId: string): Promise<SubscriptionRow[]> {
  const living = await lockLivingSubscriptions(work, customerId);
  const ended = living.filter(({ cancelScheduledAt: at }) => at !== null && at <= work.now);
  if (ended.length === 0) return living;
  await catchUpAll(
    work,
    ended.map(({ id }) => id),
  );
  return lockLivingSubscriptions(work, customerId);
}

/** The anchor of the customer's free plan; null if it has none that has begun. */
export function anchorOfFreePlan(living: readonly SubscriptionRow[]): Instant | null {
  const free = living.find((each) => each.isFreePlan && each.renews && isCurrent(each.status));
  if (free === undefined || free.status === 'trialing' || isWaitingForStart(free)) return null;
  return billingAnchor(free);
}

/** The part of a customer's past and present that decides how a plan opens. */
export interface PlanHistory {
  /** The subscriptions that have not ended. */
  readonly living: readonly SubscriptionRow[];
  readonly hadTrial: boolean;
}

/** Decides how a plan opens, and stores nothing. Refuses what `openPlan` refuses. */
export async function decideOpening(
  work: Work,
  {
    customer,
    price,
    product,
    addOns = [],
    discount,
    given,
    keepsAnchor,
    payerField,
    priceOverrides = [],
    isCovered = false,
  }: PlanOrder,
  { living, hadTrial }: PlanHistory,
): Promise<Opening> {
  const startDate = given.startDate ?? work.now;
  const quantity = given.quantity ?? 1;
  const doNotCharge = given.doNotCharge ?? false;
  const stored = await defaultPaymentMethod(work, customer.id);
  const { netTermsDays } = termsOf(customer.billingTerms, await readSettings(work));
  const terms = {
    price,
    product,
    quantity,
    addOns,
    startDate,
    now: work.now,
    trialEnd: given.trialEnd ?? null,
    intervalUnit: given.interval ?? null,
    intervalCount: given.intervalCount ?? null,
    doNotCharge,
    hadTrial,
    givenPaymentMethodId: given.defaultPaymentMethodId ?? null,
    storedPaymentMethodId: stored?.id ?? null,
    anchor: keepsAnchor ? anchorOfFreePlan(living) : null,
    anchorRequest: given,
    ...(payerField === undefined ? {} : { payerField }),
    anchorSettings: anchorSettings(work),
  };
  // The invoice of a covered one has a total of 0 and is paid from the start.
  const start: Start = decideStart({ ...terms, hasNetTerms: netTermsDays > 0 || isCovered });
  refuseFarStart(start, { startDate, now: work.now });
  const startsAt = Math.max(startDate, work.now);
  const { isFreePlan } = start;
  const allowMultiple = allowsMultipleSubscriptions(work);
  refuseSecond(living, { isFreePlan, allowMultiple, startsAt });
  if (!isFreePlan && !allowMultiple) await refuseWhileBuying(work, customer.id, living);
  const opening: Opening = {
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
    billingThresholdAmount: given.billingThresholdAmount ?? null,
    metadata: given.metadata ?? null,
    priceOverrides,
    addOns,
  };
  if (netTermsDays > 0 || !start.isInvoiced || coversFirst(work, opening)) return opening;
  return { ...opening, start: decideStart({ ...terms, hasNetTerms: false }) };
}

/** Whether the discount leaves nothing of the first invoice: a long first period costs more than an interval. */
function coversFirst(work: Work, opening: Opening): boolean {
  const { discount, addOns = [] } = opening;
  const productOf = new Map([opening, ...addOns].map(({ price, product }) => [price.id, product.id]));
  const lines = composeOpening(work, opening).bill?.lines ?? [];
  return coversAll(
    discount,
    lines.map((line) => ({
      productId: productOf.get(line.priceId ?? '') ?? null,
      amount: priceLine(line).amount,
    })),
  );
}

/**
 * Refuses with `currentSubscriptionExists` another plan while the first payment of one is in flight. The payment
 * is that of a purchase, or of the change of a free plan. The customer has the subscriptions `living`.
 */
export async function refuseWhileBuying(
  work: Work,
  customerId: string,
  living: readonly SubscriptionRow[],
): Promise<void> {
  if (await awaitsOnlyPlan(work, customerId)) throw new Problem('currentSubscriptionExists');
  for (const { id } of living.filter(({ isFreePlan, exclusive }) => isFreePlan && exclusive)) {
    const change = await findPendingAdjustment(work, id);
    if (change?.status === 'awaiting_payment' && change.items.some(mayCost))
      throw new Problem('currentSubscriptionExists');
  }
}

/**
 * Changes the name, the metadata, the threshold, the payment methods and the end of the trial of a subscription.
 * Publishes the event if anything changed. One that has ended keeps its payment methods, which nothing will charge.
 */
export async function updateSubscription(
  work: Work,
  id: string,
  { id: bodyId, ...change }: Omit<SubscriptionUpdate, 'billingCycleAnchorDate'>,
): Promise<SubscriptionRow> {
  if (bodyId !== undefined && bodyId !== id) throw new Problem('idMismatch', { pathId: id, bodyId });
  const { customer, subscription } = await lockCurrent(work, id);
  // An erased customer takes no personal data again.
  if (customer.erasedAt !== null) throw new Problem('customerArchived', { id: customer.id });
  const {
    name,
    metadata,
    billingThresholdAmount: threshold,
    defaultPaymentMethodId,
    backupPaymentMethodId,
  } = subscription;
  const stored = { name, metadata, defaultPaymentMethodId, backupPaymentMethodId, billingThresholdAmount: threshold };
  const changed = {
    name: change.name === undefined ? name : change.name,
    metadata: change.metadata === undefined ? metadata : change.metadata,
    billingThresholdAmount: change.billingThresholdAmount === undefined ? threshold : change.billingThresholdAmount,
    defaultPaymentMethodId:
      change.defaultPaymentMethodId === undefined ? defaultPaymentMethodId : change.defaultPaymentMethodId,
    backupPaymentMethodId:
      change.backupPaymentMethodId === undefined ? backupPaymentMethodId : change.backupPaymentMethodId,
  };
  const hasPendingChange = change.trialEnd !== undefined && (await findPendingAdjustment(work, id)) !== null;
  const movesTrial = decideTrialMove(subscription, change.trialEnd, { now: work.now, hasPendingChange });
  if (isSameJson(changed, stored) && !movesTrial) return subscription;
  const methods = paymentMethodFields.filter((field) => changed[field] !== stored[field]);
  if (methods.length > 0 && isTerminal(subscription.status))
    throw new Problem('subscriptionTerminal', { id, status: subscription.status });
  await checkPaymentMethods(work, customer, change, ['subscription']);
  const { trialEnd } = change;
  const ends = movesTrial && trialEnd !== undefined ? await moveTrialEnd(work, subscription, trialEnd) : {};
  const saved = await saveSubscription(work, id, { ...changed, ...ends });
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return saved;
}

/** Moves the end of the trial period, and of its credits. Returns the ends of the subscription. */
async function moveTrialEnd(work: Work, subscription: SubscriptionRow, trialEnd: Instant) {
  const period = await findCurrentBillingPeriod(work, subscription);
  assert(period, 'a trial that runs has a period');
  await movePlanCreditsEnd(work, { subscriptionId: subscription.id, billingPeriodId: period.id }, trialEnd);
  await moveTrialPeriodEnd(work, period.id, trialEnd);
  const anchor = anchorOf(subscription.billingAnchor, billingInterval(subscription), trialEnd);
  return {
    trialEnd,
    currentBillingPeriodEnd: trialEnd,
    billingCycleAnchorDate: anchor ?? subscription.billingCycleAnchorDate,
  };
}
