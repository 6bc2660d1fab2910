import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { planItemFeatures } from '../entitlements/actions.ts';
import { capacitiesOf, featuresAfter } from '../entitlements/plan-change.ts';
import { checkCapacities } from '../entitlements/resource-claim.ts';
import { countClaims } from '../entitlements/store-claims.ts';
import { listItemFeatures } from '../entitlements/store-item-features.ts';
import type { InvoiceDraft } from '../invoicing/new-invoice.ts';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { defaultPaymentMethod } from '../payments/actions.ts';
import { listPrices } from '../pricing/store-prices.ts';
import { listProducts } from '../pricing/store-products.ts';
import {
  decideItemChanges,
  decideTiming,
  headOf,
  type PlanItem,
  planTotal,
  refuseUnadjustable,
} from '../subscriptions/adjustment.ts';
import type { NewAdjustment, ResolvedTiming } from '../subscriptions/adjustment-input.ts';
import { type Catalog, resolveItems } from '../subscriptions/adjustment-items.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { findPendingAdjustment } from '../subscriptions/store-adjustments.ts';
import { findCurrentBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import type { SubscriptionItemRow } from '../subscriptions/subscription-item.ts';
import { type PlanCharge, priceChange } from './adjustment-charge.ts';
import { type Bill, composeBills } from './bill-subscription.ts';

/** A fully decided plan change, not yet written. Money in minor units. */
export interface AdjustmentPlan {
  readonly subscription: SubscriptionRow;
  readonly period: BillingPeriodRow;
  /** The current items of the plan, and the complete new set. */
  readonly current: readonly SubscriptionItemRow[];
  readonly items: readonly PlanItem[];
  /** The price of each for a whole period. */
  readonly currentTotal: bigint;
  readonly newTotal: bigint;
  readonly isUpgrade: boolean;
  readonly timing: ResolvedTiming;
  readonly effectiveAt: Instant;
  /** The capacity of each resource after the change, by id. */
  readonly capacities: Readonly<Record<string, number>>;
  readonly charge: PlanCharge;
  /** The bill and draft that must be paid before the change; null: none. */
  readonly bill: Bill | null;
  readonly draft: InvoiceDraft | null;
  /** The payment method to charge. */
  readonly paymentMethodId: string | null;
}

const nothingToPay: PlanCharge = { amount: 0n, waived: 0n, lines: [], carriedOver: 0n, replacedInvoiceId: null };

/**
 * Decides a plan change: the new items, their effective date, and the amount to pay first. A preview stops here.
 * Refuses in this order: an unchangeable subscription, unknown items and prices, values out of range, capacity below
 * claims, an unsuitable timing, and a charge without a payment method.
 */
export async function planAdjustment(
  work: Work,
  subscription: SubscriptionRow,
  asked: NewAdjustment,
): Promise<AdjustmentPlan> {
  refuseUnadjustable(subscription, await findPendingAdjustment(work, subscription.id), work.now);
  const period = await findCurrentBillingPeriod(work, subscription);
  assert(period, 'a subscription in a period has its row');
  const active = await listActiveItems(work, [{ subscriptionId: subscription.id, at: work.now }]);
  const catalog = await readCatalog(work, subscription);
  const items = resolveItems(asked.newSubscriptionItems, { subscription, current: active, catalog });
  const current = active.filter((item) => !item.manuallyCreated);
  const capacities = await planCapacities(work, { subscription, active, items, catalog });
  checkCapacities(capacities, await countClaims(work, subscription.id));
  const [currentTotal, newTotal] = [planTotal(current), planTotal(items)];
  const takesInterval = headOf(items).interval !== null;
  const timing = decideTiming(asked.timing, { currentTotal, newTotal, takesInterval });
  const isNow = timing === 'immediately';
  const prorates = asked.prorateCurrentBillingPeriod !== false;
  const charge = isNow ? await priceChange(work, { period, items, prorates, at: work.now }) : nothingToPay;
  return {
    subscription,
    period,
    current,
    items,
    currentTotal,
    newTotal,
    isUpgrade: newTotal > currentTotal,
    timing,
    effectiveAt: isNow ? work.now : period.endAt,
    capacities,
    charge,
    ...(await planPayment(work, subscription, period, charge)),
  };
}

async function readCatalog(work: Work, { pricingModelId }: SubscriptionRow): Promise<Catalog> {
  const prices = await listPrices(work, [pricingModelId]);
  const products = await listProducts(work, [pricingModelId]);
  return { prices, products: new Map(products.map((product) => [product.id, product])) };
}

interface CapacityQuestion {
  readonly subscription: SubscriptionRow;
  readonly active: readonly SubscriptionItemRow[];
  readonly items: readonly PlanItem[];
  readonly catalog: Catalog;
}

/** The capacity of each resource with the new set. */
async function planCapacities(work: Work, question: CapacityQuestion): Promise<Record<string, number>> {
  const { subscription, active, items, catalog } = question;
  const { added, changed, ended } = decideItemChanges(
    active.filter((item) => !item.manuallyCreated),
    items,
  );
  const productOf = new Map(catalog.prices.map((price) => [price.id, price.productId]));
  const { id: subscriptionId, pricingModelId } = subscription;
  const common = { subscriptionId, pricingModelId, addedDate: work.now };
  const staysWithProduct = ({ before, item }: (typeof changed)[number]) =>
    productOf.get(before.priceId ?? '') === item.productId;
  const granted = await planItemFeatures(work, [
    // A new item has no id yet; its list position identifies it.
    ...added.map((item, index) => ({ ...item, ...common, id: `new ${index}` })),
    ...changed.map((each) => ({ ...each.item, ...common, id: each.before.id, keepsEnds: staysWithProduct(each) })),
  ]);
  const moved = changed.filter((each) => !staysWithProduct(each));
  const features = featuresAfter(await listItemFeatures(work, [subscriptionId], work.now), {
    endingItemIds: new Set([...ended.map(({ id }) => id), ...moved.map(({ before }) => before.id)]),
    manualItemIds: new Set(active.filter((item) => item.manuallyCreated).map(({ id }) => id)),
    granted,
    at: work.now,
  });
  return capacitiesOf(features);
}

async function planPayment(
  work: Work,
  subscription: SubscriptionRow,
  period: BillingPeriodRow,
  { lines, replacedInvoiceId }: PlanCharge,
): Promise<Pick<AdjustmentPlan, 'bill' | 'draft' | 'paymentMethodId'>> {
  const paymentMethodId = await chargedMethod(work, subscription);
  if (lines.length === 0) return { bill: null, draft: null, paymentMethodId };
  const bill: Bill = { subscription, period, reason: 'adjustment', lines, at: work.now, replacedInvoiceId };
  const [draft] = await composeBills(work, [bill]);
  assert(draft, 'each bill has its draft');
  if (draft.total > 0n && paymentMethodId === null) throw new Problem('paymentMethodRequired', { id: subscription.id });
  return { bill, draft, paymentMethodId };
}

/** The payment method of a change: the subscription's own, else its backup, else its customer's. */
export async function chargedMethod(work: Work, subscription: SubscriptionRow): Promise<string | null> {
  const own = subscription.defaultPaymentMethodId ?? subscription.backupPaymentMethodId;
  return own ?? (await defaultPaymentMethod(work, subscription.customerId))?.id ?? null;
}
