import type { CustomerRow } from '../customers/customer.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { grantItemFeatures } from '../entitlements/actions.ts';
import { redeem } from '../invoicing/actions-discounts.ts';
import type { InvoiceDiscount, TaxQuote } from '../invoicing/invoice.ts';
import { itemLine, type NewLine } from '../invoicing/invoice-line-item.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { saveCollections } from '../invoicing/store-collecting.ts';
import { calendarStart, type Instant, type Interval, type Period } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { allowsMultipleSubscriptions, allowsRepeatedTrials, anchorSettings } from '../organizations/setting.ts';
import { type DiscountRow, orderedOf } from '../pricing/discount.ts';
import type { Price } from '../pricing/price.ts';
import { amountOf } from '../pricing/pricing.ts';
import { findDefaultProduct } from '../pricing/store-products.ts';
import { newBillingPeriod, newSubscriptionItem, publishSubscription } from '../subscriptions/actions.ts';
import { type BillingPeriodRow, billingAnchor } from '../subscriptions/billing-period.ts';
import { type OverrideChange, overridesAfter } from '../subscriptions/price-override.ts';
import { findReplacedDefaultPlan, hasUsedTrial, insertSubscription, saveSubscription } from '../subscriptions/store.ts';
import { insertBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { insertSubscriptionItems } from '../subscriptions/store-items.ts';
import { changePriceOverrides } from '../subscriptions/store-price-overrides.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { itemName, type SubscriptionItemRow } from '../subscriptions/subscription-item.ts';
import {
  type AddOn,
  decideStart,
  defaultPlanName,
  type Start,
  setupFeesOf,
} from '../subscriptions/subscription-start.ts';
import { type Bill, issueBills, setupFeeLines, withInterims } from './bill-subscription.ts';
import { grantPeriodCredits } from './grant-period-credits.ts';
import { chargeInvoice, recordPaid } from './record-paid.ts';

/** A fully decided subscription to create. */
export interface Opening {
  readonly customer: CustomerRow;
  readonly product: { readonly id: string; readonly name: string; readonly default: boolean };
  readonly price: Price;
  /** The discount that the subscription redeems. */
  readonly discount: DiscountRow | null;
  readonly start: Start;
  readonly startDate: Instant;
  readonly quantity: number;
  /** Items beside that of the plan. Absent: none. */
  readonly addOns?: readonly AddOn[];
  readonly name: string;
  readonly doNotCharge: boolean;
  readonly defaultPaymentMethodId: string | null;
  readonly backupPaymentMethodId: string | null;
  readonly billingThresholdAmount: bigint | null;
  readonly metadata: SubscriptionRow['metadata'];
  /** Own prices of the customer; `start` has that of the item. Absent: none. */
  readonly priceOverrides?: readonly OverrideChange[];
  /** The terms of the purchase whose first payment is in flight. Absent: the first invoice is yet to be charged. */
  readonly bought?: BoughtTerms;
}

/** The terms of a purchase that hold from its first payment on, whatever has changed since. */
export interface BoughtTerms {
  readonly discount: InvoiceDiscount | null;
  readonly tax: TaxQuote | null;
  readonly exclusive: boolean;
}

export interface Opened {
  readonly subscription: SubscriptionRow;
  readonly items: readonly SubscriptionItemRow[];
  /** The invoice of its first period as created; null without anything to bill. */
  readonly invoice: InvoiceRow | null;
}

/**
 * Creates a subscription: its row, its items, the features of their products, and its first period with credits, or an
 * invoice and a charge after the commit. A future start has no period until then. Publishes its creation.
 */
export async function openSubscription(work: Work, opening: Opening): Promise<Opened> {
  const known = composeOpening(work, opening);
  const start = known.subscription.currentBillingPeriodStart ?? opening.startDate;
  const [subscription = known.subscription] = await withInterims(work, [known.subscription], () => start);
  const composed = { ...known, subscription };
  const items = composed.items.map(({ productId: _, ...item }): SubscriptionItemRow => item);
  const { discount, customer, bought, priceOverrides = [] } = opening;
  await insertSubscription(work, subscription);
  const { id: subscriptionId, pricingModelId } = subscription;
  // A usage period may begin before the subscription, where periods are counted in the calendar.
  await changePriceOverrides(
    work,
    priceOverrides.map((change) => ({ ...change, subscriptionId, pricingModelId, startAt: calendarStart })),
  );
  // Before the first invoice, which carries it.
  const order = { customerId: customer.id, ordered: orderedOf([opening, ...(opening.addOns ?? [])]) };
  const redeemed = discount && (await redeem(work, { ...order, discount }, { subscriptionId }));
  const discounted = bought === undefined ? redeemed : bought.discount;
  await insertSubscriptionItems(work, items);
  const features = await grantItemFeatures(work, composed.items);
  if (features.some(({ grantInterval }) => grantInterval !== null)) {
    const [{ interimAt } = subscription] = await withInterims(work, [subscription], () => start);
    await saveSubscription(work, subscription.id, { interimAt });
  }
  await publishSubscription(work, 'subscription.created', subscription, customer);
  const invoice = await beginFirstPeriod(work, opening, composed, discounted);
  return { subscription, items, invoice };
}

/** An item with the product whose features it grants. */
type SoldItem = SubscriptionItemRow & { readonly productId: string };

/** A subscription that opens, before anything of it is stored. */
interface ComposedOpening {
  readonly subscription: SubscriptionRow;
  readonly items: readonly SoldItem[];
  readonly period: BillingPeriodRow | null;
  /** The bill of the first period, without its discount; null: nothing is billed now. */
  readonly bill: Bill | null;
}

/** Composes all that the decision determines: the same for a quote and for the subscription that it quotes. */
export function composeOpening(work: Work, opening: Opening): ComposedOpening {
  const { start } = opening;
  const subscription = newSubscription(work, opening);
  const items = newItems(work, opening, subscription);
  if (start.startsLater) return { subscription, items, period: null, bill: null };
  const { wholeStartAt } = start;
  const known = {
    trialPeriod: subscription.trialEnd !== null,
    wholeStartAt,
    creditsAwaitPayment: awaitsPayment(start),
  };
  const period = start.period && newBillingPeriod(work, subscription, { ...start.period, ...known });
  if (start.chargeWith === null && !start.isInvoiced) return { subscription, items, period, bill: null };
  const inArrears = opening.price.billingTiming === 'in_arrears';
  const plan = inArrears ? [] : firstLines(items, period, chargedStep(work.currency));
  const lines = [...plan, ...setupFeeLines(subscription)];
  // One that awaits its first payment owes the fee until then.
  const setupFee = subscription.status === 'incomplete' ? subscription.setupFee : 0n;
  const billed = { ...subscription, setupFee };
  const bill: Bill = { subscription: billed, period, reason: 'subscription_start', lines, at: work.now };
  return { subscription: billed, items, period, bill };
}

/** Free, trial, uncharged and invoiced subscriptions await no payment, so their credits are granted from the start. */
function awaitsPayment({ chargeWith, status }: Start): boolean {
  return chargeWith !== null || status === 'incomplete';
}

function newSubscription(work: Work, opening: Opening): SubscriptionRow {
  const { customer, product, price, start, startDate } = opening;
  return {
    id: newId('subscription', customer.id),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: customer.pricingModelId,
    customerId: customer.id,
    priceId: price.id,
    name: opening.name,
    status: start.status,
    arrears: 'none',
    renews: start.interval !== null,
    isFreePlan: start.isFreePlan,
    isDefaultPlan: product.default,
    doNotCharge: opening.doNotCharge,
    runBillingAtPeriodStart: price.type === 'subscription',
    exclusive: opening.bought?.exclusive ?? !allowsMultipleSubscriptions(work),
    isOnlyTrial: start.hasTrialOfPrice && !allowsRepeatedTrials(work),
    startDate,
    trialEnd: start.trialEnd,
    ...scheduleOf(start.interval, start.period, start.anchor ?? startDate),
    ...start.count,
    defaultPaymentMethodId: opening.defaultPaymentMethodId,
    backupPaymentMethodId: opening.backupPaymentMethodId,
    canceledAt: null,
    cancelScheduledAt: null,
    cancellationReason: null,
    cancellationComment: null,
    replacedBySubscriptionId: null,
    scheduledAdjustmentAt: null,
    scheduledByCustomer: false,
    interimAt: null,
    pausedAt: null,
    resumesAt: null,
    pausedCredit: 0n,
    setupFee: opening.doNotCharge ? 0n : setupFeesOf(opening),
    priceOverrides: overridesAfter([], opening.priceOverrides ?? [], { at: calendarStart, periodStart: null }),
    billingThresholdAmount: opening.billingThresholdAmount,
    metadata: opening.metadata,
  };
}

function scheduleOf(interval: Interval | null, period: Period | null, anchor: Instant) {
  return {
    intervalUnit: interval?.unit ?? null,
    intervalCount: interval?.count ?? null,
    billingCycleAnchorDate: interval === null ? null : anchor,
    currentBillingPeriodStart: period?.start ?? null,
    currentBillingPeriodEnd: period?.end ?? null,
  };
}

/** The item of the plan, and those of its add-ons. */
function newItems(work: Work, opening: Opening, subscription: SubscriptionRow): SoldItem[] {
  const { addOns = [], doNotCharge } = opening;
  return [opening, ...addOns].map(({ price, product, quantity }) => {
    const item = newSubscriptionItem(work, subscription, {
      name: itemName(price.name ?? product.name, quantity),
      priceId: price.id,
      unitPrice: doNotCharge ? 0n : price.unitPrice,
      pricing: doNotCharge ? null : price.pricing,
      quantity,
      addedDate: subscription.startDate,
    });
    return { ...item, productId: product.id };
  });
}

async function beginFirstPeriod(
  work: Work,
  { start, bought }: Opening,
  { subscription, period, bill }: ComposedOpening,
  redeemed: InvoiceDiscount | null,
): Promise<InvoiceRow | null> {
  if (start.startsLater) return null;
  if (period !== null) await insertBillingPeriod(work, period);
  if (!awaitsPayment(start)) await grantPeriodCredits(work, [{ subscription, period, isFirst: true, at: work.now }]);
  if (bill === null) return null;
  const [invoice] = await issueBills(work, [{ ...bill, redeemed, ...(bought && { tax: bought.tax }) }]);
  if (!invoice || bought !== undefined) return invoice ?? null;
  // A discount covered the full amount, so no payment is pending.
  if (invoice.status === 'paid') await recordPaid(work, [{ invoice, paymentMethodId: start.chargeWith }]);
  else if (start.chargeWith !== null) await chargeInvoice(work, invoice, start.chargeWith);
  // The customer has net terms. If no payment arrives by then, collection begins.
  else await saveCollections(work, [{ ...invoice, nextAttemptAt: invoice.dueDate }]);
  return invoice;
}

/** The lines of the first period: those of items that cost something, or of the plan. */
export function firstLines(
  items: readonly SubscriptionItemRow[],
  period: BillingPeriodRow | null,
  step: bigint,
): NewLine[] {
  const costly = items.filter((item) => amountOf(item, item.quantity, step) > 0n);
  return (costly.length === 0 ? items.slice(0, 1) : costly).map((item) => firstLine(item, period, step));
}

/** The line of an item, prorated if the first period is the rest of an interval. */
function firstLine(item: SubscriptionItemRow, period: BillingPeriodRow | null, step: bigint): NewLine {
  if (period === null) return itemLine(item, null, null, step);
  const { startAt: start, endAt: end, wholeStartAt } = period;
  return itemLine(item, { start, end }, { start: wholeStartAt ?? start, end }, step);
}

/**
 * Subscribes the customer to the default product of its pricing model from `startDate`, with an optional `anchor` for
 * its periods. Returns null if the pricing model has none for sale.
 */
export async function startDefaultPlan(
  work: Work,
  customer: CustomerRow,
  startDate: Instant,
  anchor: Instant | null = null,
): Promise<Opened | null> {
  const hadTrial = await hasUsedTrial(work, customer.id);
  const opening = await decideDefaultPlan(work, customer, { startDate, anchor, hadTrial });
  return opening === null ? null : openSubscription(work, opening);
}

interface DefaultStart {
  readonly startDate: Instant;
  readonly anchor: Instant | null;
  readonly hadTrial: boolean;
}

/** The default plan that the customer would get; null if the pricing model has none for sale. */
export async function decideDefaultPlan(
  work: Work,
  customer: CustomerRow,
  { startDate, anchor, hadTrial }: DefaultStart,
): Promise<Opening | null> {
  const plan = await findDefaultProduct(work, customer.pricingModelId);
  if (plan === null || !plan.price.active) return null;
  const { product, price } = plan;
  const terms = {
    price,
    product,
    startDate,
    now: work.now,
    quantity: 1,
    trialEnd: null,
    intervalUnit: null,
    intervalCount: null,
    doNotCharge: false,
    hadTrial,
    givenPaymentMethodId: null,
    storedPaymentMethodId: null,
    hasNetTerms: false,
    anchor,
    anchorSettings: anchorSettings(work),
  };
  return {
    customer,
    product,
    price,
    discount: null,
    startDate,
    start: decideStart(terms),
    quantity: 1,
    name: defaultPlanName(product),
    doNotCharge: false,
    defaultPaymentMethodId: null,
    backupPaymentMethodId: null,
    billingThresholdAmount: null,
    metadata: null,
  };
}

/**
 * Restores the customer's default plan with its earlier periods, because the paid subscription that replaced it was
 * never paid.
 */
export async function restoreDefaultPlan(work: Work, customer: CustomerRow, subscriptionId: string): Promise<void> {
  const replaced = await findReplacedDefaultPlan(work, subscriptionId);
  const anchor = replaced === null || !replaced.renews ? null : billingAnchor(replaced);
  await startDefaultPlan(work, customer, work.now, anchor);
}
