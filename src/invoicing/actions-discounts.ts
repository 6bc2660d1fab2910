import type { CustomerRow } from '../customers/customer.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { chargedStep } from '../kernel/currency.ts';
import { homeSlot, slotOf } from '../kernel/id.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { allowsRepeatedDiscounts } from '../organizations/setting.ts';
import { isOneOfCells } from '../organizations/store-cells.ts';
import { only } from '../pricing/actions.ts';
import { renderDiscount, updateDiscount } from '../pricing/actions-discounts.ts';
import {
  type Discount,
  type DiscountChange,
  type DiscountRow,
  decideRefusal,
  type GivenDiscount,
  hasEnded,
  normalizeCode,
  type Ordered,
  type RedeemedDiscount,
  type SubscriptionDiscount,
} from '../pricing/discount.ts';
import { amountOf } from '../pricing/pricing.ts';
import { findDiscount, findDiscountByCode, pageOfDiscounts } from '../pricing/store-discounts.ts';
import { listPricesByIds } from '../pricing/store-prices.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { findSubscription } from '../subscriptions/store.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { isTerminal, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { askForAllowance } from './actions-allowances.ts';
import type { InvoiceDiscount } from './invoice.ts';
import type { InvoiceRow } from './store.ts';
import { countRedemptionsLeft } from './store-allowances.ts';
import {
  countRedemptions,
  countRedemptionsOfDiscounts,
  countUsesOfCustomer,
  hasBought,
  insertRedemption,
  listPricesOfProducts,
  listRedemptionsOn,
  nextUseOfCustomer,
  type RedemptionRow,
  removeRedemption,
} from './store-redemptions.ts';

/**
 * Counts one more use of the discounts on invoices that have just been paid. Invoices of a start or a renewal count,
 * even with a total of 0. Leftover usage does not count, nor does a plan change, unless it replaces an invoice that
 * does. Idempotent.
 */
export async function countDiscounts(
  work: Work,
  paid: readonly Pick<InvoiceRow, 'id' | 'discountCount'>[],
): Promise<void> {
  await countRedemptions(
    work,
    paid.flatMap(({ id, discountCount }) => (discountCount > 0 ? id : [])),
  );
}

/** Returns a discount with the number of its redemptions. */
export async function getDiscount(work: Work, id: string): Promise<RedeemedDiscount> {
  const row = await findDiscount(work, id);
  if (row === null) throw new Problem('discountNotFound', { id });
  return only(await renderRedeemed(work, [row]));
}

/** Lists discounts, inactive ones included. */
export async function listDiscounts(work: Work, request: PageRequest) {
  const { rows, total } = await pageOfDiscounts(work, request);
  return page(request, await renderRedeemed(work, rows), total);
}

async function renderRedeemed(work: Work, rows: readonly DiscountRow[]): Promise<RedeemedDiscount[]> {
  const ids = rows.map(({ id }) => id);
  const counts = await countRedemptionsOfDiscounts(work, ids);
  return rows.map((row) => ({ ...renderDiscount(work, row), redemptionCount: counts.get(row.id) ?? 0 }));
}

/** Changes a discount for future redemptions. The cells have to count for a lower maximum: they do from the first one on. */
export async function changeDiscount(work: Work, id: string, change: DiscountChange): Promise<Discount> {
  const { environmentId } = work;
  const { maximumRedemptions: after } = change;
  const before = (await findDiscount(work, id))?.maximumRedemptions ?? null;
  const isLower = after != null && (before === null || after < before);
  if (isLower && !work.told.has(id) && (await isOneOfCells(work)))
    throw askForAllowance({ environmentId, discountId: id, slot: null, isKept: false });
  return updateDiscount(work, id, change);
}

/** The discount to redeem, from the customer's pricing model. */
export async function findGivenDiscount(
  work: Work,
  { pricingModelId }: Pick<CustomerRow, 'pricingModelId'>,
  { discountCode }: { readonly discountCode?: string | null | undefined },
): Promise<DiscountRow | null> {
  if (discountCode === null || discountCode === undefined) return null;
  const discount = await findDiscountByCode(work, pricingModelId, normalizeCode(discountCode));
  if (!discount?.active) throw invalid(['discountCode'], 'must be the code of an active discount of the pricing model');
  return discount;
}

/** The redeemer of a discount: a subscription, a single-payment purchase or, with neither, an invoice that names it. */
type Redeemer =
  | { readonly subscriptionId: string; readonly position?: number }
  | { readonly purchaseId: string }
  | { readonly invoice: 'own' };

/** An order that is to redeem a discount. */
interface Redeeming {
  readonly discount: DiscountRow;
  /** The field of the request that names the discount. Absent: `discountCode`. */
  readonly path?: readonly string[];
  /** Null: a customer to come. */
  readonly customerId: string | null;
  readonly ordered: readonly Ordered[];
}

/**
 * Copies the current discount for its redeemer, and returns the discount of the next invoice. Refuses with
 * `discountAlreadyUsed` one that the customer has used, and with `discountNotApplicable` one that the order cannot have.
 * The caller has locked the customer.
 */
export async function redeem(
  work: Work,
  order: Redeeming & { readonly customerId: string },
  redeemer: Redeemer,
): Promise<InvoiceDiscount> {
  const { discount, customerId } = order;
  const { id: discountId, pricingModelId, name, code, amountType, amount, duration, numberOfPayments } = discount;
  const purchaseId = 'purchaseId' in redeemer ? redeemer.purchaseId : null;
  const redeemed = await quoteRedemption(work, order, purchaseId);
  const allowed = usesAllowed(work, discount);
  const id = redeemed.redemptionId;
  await insertRedemption(work, {
    id,
    pricingModelId,
    discountId,
    customerId,
    useOfCustomer: allowed === null ? null : await nextUseOfCustomer(work, { customerId, discountId }),
    usesAllowed: allowed,
    productIds: discount.productIds,
    subscriptionId: null,
    purchaseId: null,
    position: 1,
    ...('invoice' in redeemer ? {} : redeemer),
    ...{ name, code, amountType, amount, duration, numberOfPayments },
    createdAt: work.now,
    updatedAt: work.now,
  });
  return redeemed;
}

/**
 * The discount of the next invoice, as `redeem` returns it. Refuses what that refuses, and stores nothing. The purchase is
 * the one that redeems it.
 */
export async function quoteRedemption(
  work: Work,
  order: Redeeming,
  purchaseId: string | null = null,
): Promise<InvoiceDiscount> {
  const refusal = await refusalOf(work, order, { purchaseId, ...(order.path && { path: order.path }) });
  if (refusal !== null) throw refusal;
  const { code, amountType: kind, amount, productIds } = order.discount;
  const priceIds = await listPricesOfProducts(work, productIds);
  const redemptionId = newId('discountRedemption', order.customerId ?? homeSlot);
  return { redemptionId, code, kind, amount, priceIds };
}

/** The times that a customer may redeem the discount, by its own limit or by the setting; null: any number. */
function usesAllowed(work: Work, { maximumRedemptionsPerCustomer: own }: DiscountRow): number | null {
  return own ?? (allowsRepeatedDiscounts(work) ? null : 1);
}

interface RefusalOptions {
  /** The field of the request that names the code. Absent: `discountCode`. */
  readonly path?: readonly string[];
  readonly purchaseId?: string | null;
}

/** The refusal of a discount for an order, naming the field and the reason; null: the order can redeem it. */
export async function refusalOf(
  work: Work,
  { discount, customerId, ordered }: Redeeming,
  { path = ['discountCode'], purchaseId = null }: RefusalOptions = {},
): Promise<Problem | null> {
  const { id: discountId, code, firstPurchaseOnly } = discount;
  const allowed = usesAllowed(work, discount);
  if (customerId !== null && allowed !== null) {
    const uses = await countUsesOfCustomer(work, { customerId, discountId });
    if (uses >= allowed) return usedUp(code, allowed, path);
  }
  const reason = decideRefusal(discount, {
    now: work.now,
    currency: work.currency,
    ordered,
    isUsedUp: await isUsedUp(work, discount, customerId),
    hasBought: firstPurchaseOnly && customerId !== null && (await hasBought(work, customerId, purchaseId)),
  });
  return reason === null ? null : notApplicable(code, reason, path);
}

function usedUp(code: string, allowed: number, path: readonly string[]): Problem {
  const message = 'has already been used';
  if (allowed === 1) return new Problem('discountAlreadyUsed', { code }, [{ path, message, code: 'custom' }]);
  return notApplicable(code, `has already been used ${allowed} times by this customer`, path);
}

function notApplicable(code: string, reason: string, path: readonly string[]): Problem {
  return new Problem('discountNotApplicable', { code, reason }, [{ path, message: reason, code: 'custom' }]);
}

/** A subscription that its caller has locked with its customer, with nothing due. */
interface LockedSubscription {
  readonly customer: CustomerRow;
  readonly subscription: SubscriptionRow;
}

/** The discounts that a subscription has, in order. Refuses with `subscriptionNotFound`. */
export async function listSubscriptionDiscounts(work: Work, id: string): Promise<SubscriptionDiscount[]> {
  if ((await findSubscription(work, id)) === null) throw new Problem('subscriptionNotFound', { id });
  return (await listRedemptionsOn(work, id)).map((row) => renderRedemption(work, row));
}

/**
 * Puts a discount on a subscription, behind those that it has. Its invoices from now on carry it, and those that are there
 * stay as they are. Its limits count as for any other redemption.
 */
export async function putOnDiscount(
  work: Work,
  { subscription, customer }: LockedSubscription,
  given: GivenDiscount,
): Promise<SubscriptionDiscount> {
  refuseUnchangeable(subscription);
  if (subscription.doNotCharge) throw new Problem('subscriptionNotCharged', { id: subscription.id });
  const path = ['discount', given.code === undefined ? 'discountId' : 'code'];
  const discount = await findNamedDiscount(work, subscription, given, path);
  const { id: subscriptionId } = subscription;
  const found = await listRedemptionsOn(work, subscriptionId);
  if (found.some(({ discountId }) => discountId === discount.id))
    throw notApplicable(discount.code, 'is on this subscription already', path);
  const position = 1 + Math.max(0, ...found.map((each) => each.position));
  const order = { discount, customerId: customer.id, ordered: await orderedBy(work, subscription), path };
  const { redemptionId } = await redeem(work, order, { subscriptionId, position });
  await publishSubscription(work, 'subscription.updated', subscription, customer);
  return findOn(work, subscriptionId, redemptionId);
}

/** Takes a discount off a subscription. Invoices that are there keep it. */
export async function takeOffDiscount(
  work: Work,
  { subscription, customer }: LockedSubscription,
  redemptionId: string,
): Promise<SubscriptionDiscount> {
  refuseUnchangeable(subscription);
  const found = await findOn(work, subscription.id, redemptionId);
  await removeRedemption(work, redemptionId);
  await publishSubscription(work, 'subscription.updated', subscription, customer);
  return { ...found, updatedAt: work.now, removedAt: work.now };
}

// The amount of a first payment that is in flight is fixed.
function refuseUnchangeable({ id, status }: SubscriptionRow): void {
  if (isTerminal(status)) throw new Problem('subscriptionTerminal', { id, status });
  if (status === 'incomplete')
    throw new Problem('subscriptionNotAdjustable', { id, reason: 'it waits for its first payment' });
}

async function findOn(work: Work, subscriptionId: string, id: string): Promise<SubscriptionDiscount> {
  const row = (await listRedemptionsOn(work, subscriptionId)).find((each) => each.id === id);
  if (row === undefined) throw new Problem('subscriptionDiscountNotFound', { id });
  return renderRedemption(work, row);
}

async function findNamedDiscount(
  work: Work,
  { pricingModelId }: Pick<SubscriptionRow, 'pricingModelId'>,
  { discountId, code }: GivenDiscount,
  path: readonly string[],
): Promise<DiscountRow> {
  const discount =
    discountId === undefined
      ? await findDiscountByCode(work, pricingModelId, code ?? '')
      : await findDiscount(work, discountId);
  if (!discount?.active || discount.pricingModelId !== pricingModelId)
    throw invalid(path, 'must name an active discount of the pricing model of the subscription');
  return discount;
}

/** The items of a subscription as an order: each for a whole period, and no setup fee. */
async function orderedBy(work: Work, { id: subscriptionId }: SubscriptionRow): Promise<Ordered[]> {
  const items = await listActiveItems(work, [{ subscriptionId, at: work.now }]);
  const prices = await listPricesByIds(
    work,
    items.flatMap(({ priceId }) => priceId ?? []),
  );
  const products = new Map(prices.map(({ id, productId }) => [id, productId]));
  return items.map((item) => ({
    productId: products.get(item.priceId ?? '') ?? null,
    amount: amountOf(item, item.quantity, chargedStep(work.currency)),
  }));
}

function renderRedemption(work: Work, { productIds, removedAt, ...row }: RedemptionRow): SubscriptionDiscount {
  return {
    ...row,
    ...(productIds === null ? {} : { productIds }),
    ...(removedAt === null ? {} : { removedAt }),
    livemode: work.livemode,
  };
}

/** Whether a customer cannot redeem the discount any more, because nobody can. Null: a customer to come. */
export async function isOver(work: Work, discount: DiscountRow, customerId: string | null): Promise<boolean> {
  return hasEnded(discount, { now: work.now, isUsedUp: await isUsedUp(work, discount, customerId) });
}

/** Whether the discount has been redeemed as often as it may be, in all cells. */
async function isUsedUp(work: Work, { id: discountId }: DiscountRow, customerId: string | null): Promise<boolean> {
  const { environmentId } = work;
  const slot = customerId === null ? homeSlot : slotOf(customerId);
  const left = await countRedemptionsLeft(work.db, { environmentId, discountId, slot });
  if (left === null || left > 0) return false;
  if (!work.told.has(discountId) && (await isOneOfCells(work)))
    throw askForAllowance({ environmentId, discountId, slot, isKept: !work.dryRun });
  return true;
}
