import assert from 'node:assert/strict';
import { readNetTerms } from '../customers/actions.ts';
import type { CustomerRow } from '../customers/customer.ts';
import type { Work } from '../database/work.ts';
import { planItemFeatures } from '../entitlements/actions.ts';
import { checkCapacities } from '../entitlements/resource-claim.ts';
import { countClaims } from '../entitlements/store-claims.ts';
import { listCreditFeatures, listGrantIntervals, listItemFeatures } from '../entitlements/store-item-features.ts';
import { isForPeriod } from '../invoicing/collection.ts';
import { amountDue } from '../invoicing/invoice.ts';
import { type NewLine, partsOfPlan, priceLine } from '../invoicing/invoice-line-item.ts';
import { withPeriod } from '../invoicing/line-text.ts';
import type { InvoiceDraft } from '../invoicing/new-invoice.ts';
import { listExplainedLines } from '../invoicing/store.ts';
import { addDays, type Instant, type Period } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { defaultPaymentMethod } from '../payments/actions.ts';
import { listPeriodInvoices, type PeriodInvoice } from '../payments/store-period-invoices.ts';
import { inLedgerUnits } from '../pricing/credit-pool.ts';
import { mayCost } from '../pricing/pricing.ts';
import { listPrices } from '../pricing/store-prices.ts';
import { listProducts } from '../pricing/store-products.ts';
import { awaitsOnlyPlan } from '../purchases/store.ts';
import type { LinePart } from '../rating/discount.ts';
import { listValuePaid, listValueSettled } from '../rating/list-value.ts';
import { capacitiesOf, featuresAfter, type GivenFeature } from '../rating/plan-change.ts';
import { fairValue, prorationCharge } from '../rating/proration.ts';
import {
  type AnchorMove,
  changeSegments,
  decideAnchor,
  decideAnchorMove,
  decideItemChanges,
  decideTiming,
  headOf,
  isRevalued,
  type PlanItem,
  partsOfChange,
  planTotal,
  pricesOfChange,
  refuseUnadjustable,
  wholeOf,
} from '../subscriptions/adjustment.ts';
import type { NewAdjustment, ResolvedTiming } from '../subscriptions/adjustment-input.ts';
import { type Catalog, resolveItems } from '../subscriptions/adjustment-items.ts';
import { type BillingPeriodRow, billingInterval } from '../subscriptions/billing-period.ts';
import {
  decideOverrides,
  type OverrideChange,
  refuseStrayOverrides,
  resolveOverrides,
} from '../subscriptions/price-override.ts';
import { listLivingSubscriptions } from '../subscriptions/store.ts';
import { findPendingAdjustment, saveCapacities } from '../subscriptions/store-adjustments.ts';
import { findCurrentBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { listItemSpans } from '../subscriptions/store-item-versions.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import type { SubscriptionItemRow } from '../subscriptions/subscription-item.ts';
import { refuseSecond } from '../subscriptions/subscription-start.ts';
import { type Bill, composeBills, paidInAdvance, setupFeeLines, staticLine } from './bill-subscription.ts';
import { type IntervalStart, isOwing, priceInterval, refuseOwing } from './change-interval.ts';

/** A fully decided plan change, not yet written. Money in minor units. */
export interface AdjustmentPlan {
  readonly subscription: SubscriptionRow;
  readonly period: BillingPeriodRow;
  /** The current items of the plan, and the complete new set. */
  readonly current: readonly SubscriptionItemRow[];
  readonly items: readonly PlanItem[];
  readonly priceOverrides: readonly OverrideChange[];
  /** The price of each for a whole period. */
  readonly currentTotal: bigint;
  readonly newTotal: bigint;
  readonly isUpgrade: boolean;
  readonly timing: ResolvedTiming;
  readonly effectiveAt: Instant;
  /** The capacity of each resource after the change, by id. */
  readonly capacities: Readonly<Record<string, number>>;
  readonly charge: PlanCharge;
  /** The bill and draft of the change; null: none. */
  readonly bill: Bill | null;
  readonly draft: InvoiceDraft | null;
  /** When the bill is due, if the change is made before its payment; null: it is paid first, or costs nothing. */
  readonly dueDate: Instant | null;
  /** The payment method to charge. */
  readonly paymentMethodId: string | null;
}

const nothingToPay: PlanCharge = {
  amount: 0n,
  waived: 0n,
  lines: [],
  carriedOver: 0n,
  replacedInvoiceId: null,
  begins: null,
  takenOff: 0n,
  kept: 0n,
};

interface PlanOptions {
  /** Whether the usage that the charge bills is marked as invoiced: the caller then issues the bill. */
  readonly takesUsage: boolean;
  /** The payment method of the charge; null: the subscription's. */
  readonly chargeWith?: string | null;
  /** The customer with an address that is not stored yet. Absent: as it is stored. */
  readonly customer?: CustomerRow | undefined;
}

/**
 * Decides a plan change: the new items, their effective date, and the amount to pay first. A preview stops here.
 * Refuses in this order: an unchangeable subscription, unknown items and prices, values out of range, capacity below
 * claims, an unsuitable timing, and a charge that nothing pays.
 */
export async function planAdjustment(
  work: Work,
  subscription: SubscriptionRow,
  requested: NewAdjustment,
  { takesUsage, chargeWith = null, customer }: PlanOptions,
): Promise<AdjustmentPlan> {
  refuseUnadjustable(subscription, await findPendingAdjustment(work, subscription.id), work.now);
  const period = await findCurrentBillingPeriod(work, subscription);
  assert(period, 'a subscription in a period has its row');
  const active = await listActiveItems(work, [{ subscriptionId: subscription.id, at: work.now }]);
  const catalog = await readCatalog(work, subscription);
  const at = requested.timing === 'at_end_of_current_billing_period' ? period.endAt : work.now;
  const current = active.filter((item) => !item.manuallyCreated);
  const { items, priceOverrides } = resolvePlan(requested, { subscription, active, current, catalog, at });
  const features = await planFeatures(work, { subscription, active, items, catalog });
  const capacities = capacitiesOf(features);
  checkCapacities(capacities, await countClaims(work, subscription.id));
  const step = chargedStep(work.currency);
  const [currentTotal, newTotal] = [planTotal(current, step), planTotal(items, step)];
  const { interval } = headOf(items);
  const takesInterval = interval !== null;
  const inAdvance = {
    currentTotal: planTotal(await paidInAdvance(work, current), step),
    newTotal: planTotal(await paidInAdvance(work, items), step),
  };
  const arrears = { currentTotal: currentTotal - inAdvance.currentTotal, newTotal: newTotal - inAdvance.newTotal };
  const movesToArrears =
    !period.trialPeriod &&
    !takesInterval &&
    inAdvance.newTotal < inAdvance.currentTotal &&
    arrears.newTotal > arrears.currentTotal;
  const becomesPaid = subscription.isFreePlan && items.some(mayCost);
  const timing = decideTiming(requested.timing, { currentTotal, newTotal, becomesPaid, movesToArrears });
  const anchor = decideAnchor(requested, { takesInterval, timing, isTrial: period.trialPeriod });
  const isNow = timing === 'immediately';
  if (isNow) await refuseSecondPlan(work, subscription, items);
  const prorates = requested.prorateCurrentBillingPeriod !== false;
  if (!prorates && isNow) refuseUnprorated(arrears);
  const { collectRefunded } = requested;
  const paymentMethodId = chargeWith ?? (await chargedMethod(work, subscription));
  if (isNow && !period.trialPeriod && paymentMethodId === null) await refuseUnpayable(work, subscription, arrears);
  if (anchor !== null) await refuseOwing(work, subscription);
  const begun =
    interval === null || anchor === null
      ? null
      : await priceInterval(work, { subscription, period, items, interval, anchor, features, takesUsage });
  const termsDays = begun === null && paymentMethodId === null ? await termsOf(work, subscription) : 0;
  // Under net terms the period's own invoice keeps its due date, so a change never puts off what is owed.
  const replaces = termsDays === 0;
  const within = { period, items, prorates, replaces, collectRefunded, at: work.now };
  const isPriced = isNow && concernsPlan(requested, current, items);
  const charge = begun ?? (isPriced ? await priceChange(work, within) : nothingToPay);
  return {
    subscription,
    period,
    current,
    items,
    priceOverrides,
    currentTotal,
    newTotal,
    isUpgrade: newTotal > currentTotal,
    timing,
    effectiveAt: isNow ? work.now : period.endAt,
    capacities,
    charge,
    paymentMethodId,
    ...(await planPayment(work, subscription, period, { ...charge, paymentMethodId, termsDays, customer })),
  };
}

/** The price of the plan in arrears for a whole period, before and after a change. */
interface ArrearsTotals {
  readonly currentTotal: bigint;
  readonly newTotal: bigint;
}

function refuseUnprorated({ currentTotal, newTotal }: ArrearsTotals): void {
  if (currentTotal + newTotal === 0n) return;
  throw invalid(
    ['adjustment', 'prorateCurrentBillingPeriod'],
    'must be true or absent: a plan in arrears costs each quantity for its share of the time',
  );
}

/** A free plan that becomes one in arrears costs nothing now, so nothing else asks for a way to pay at its end. */
async function refuseUnpayable(work: Work, subscription: SubscriptionRow, { newTotal }: ArrearsTotals): Promise<void> {
  if (!subscription.isFreePlan || newTotal === 0n || (await termsOf(work, subscription)) > 0) return;
  throw new Problem('paymentMethodRequired', { id: subscription.id });
}

/**
 * Refuses to make a free plan a paid one, or the other way round, while another one of that kind is there, booked, or
 * being bought. The customer may have only one: both could be charged, and only one be made.
 */
async function refuseSecondPlan(work: Work, subscription: SubscriptionRow, items: readonly PlanItem[]): Promise<void> {
  const { id, customerId, exclusive } = subscription;
  const isFreePlan = !items.some(mayCost);
  if (!exclusive || isFreePlan === subscription.isFreePlan) return;
  const others = (await listLivingSubscriptions(work, customerId)).filter(
    (each) => each.id !== id && each.exclusive && each.isFreePlan === isFreePlan,
  );
  refuseSecond(others, { isFreePlan, allowMultiple: false, startsAt: work.now });
  if (!isFreePlan && (await awaitsOnlyPlan(work, customerId))) throw new Problem('currentSubscriptionExists');
}

/**
 * Whether a change has an effect on what a period in advance is worth. Own prices of usage have none, so that they collect
 * neither an unpaid invoice nor the cents that the lines of a period were rounded by.
 */
function concernsPlan(
  { newSubscriptionItems, collectRefunded = false }: NewAdjustment,
  current: readonly SubscriptionItemRow[],
  items: readonly PlanItem[],
): boolean {
  const { changed } = decideItemChanges(current, items);
  return (
    newSubscriptionItems !== undefined ||
    collectRefunded ||
    changed.some(({ before, item }) => isRevalued(before, item))
  );
}

interface PlanQuestion {
  readonly subscription: SubscriptionRow;
  readonly active: readonly SubscriptionItemRow[];
  readonly current: readonly SubscriptionItemRow[];
  readonly catalog: Catalog;
  readonly at: Instant;
}

/**
 * The new items at the own prices of the customer, and the changes of these. Without new items the present ones stay.
 */
function resolvePlan(
  { newSubscriptionItems, priceOverrides = [] }: NewAdjustment,
  { subscription, active, current, catalog, at }: PlanQuestion,
): Pick<AdjustmentPlan, 'items' | 'priceOverrides'> {
  const path = ['adjustment', 'priceOverrides'];
  const requested = resolveOverrides(priceOverrides, catalog.prices, path);
  const named = new Set(requested.map(({ priceId }) => priceId));
  const kept = subscription.priceOverrides.filter(({ priceId }) => !named.has(priceId));
  const given = newSubscriptionItems ?? current.map(({ id }) => ({ id }));
  const context = { subscription, current: active, catalog, at, overrides: [...kept, ...requested] };
  const items = resolveItems(given, context);
  const itemPriceIds = new Set(items.map(({ priceId }) => priceId));
  refuseStrayOverrides(requested, itemPriceIds, path);
  const usage = new Set(catalog.prices.filter(({ type }) => type === 'usage').map(({ id }) => id));
  const inForce = subscription.priceOverrides.map((each) => ({ ...each, isUsage: usage.has(each.priceId) }));
  return { items, priceOverrides: decideOverrides(requested, inForce, itemPriceIds) };
}

/**
 * Decides a move of the billing anchor that begins a period: the plan stays, and the period ends at the anchor. Refuses
 * with `paymentMethodRequired` a charge that nothing pays. The usage of the charge is marked as invoiced, so the caller
 * issues the bill.
 */
export async function planAnchorMove(
  work: Work,
  subscription: SubscriptionRow,
  anchor: Instant,
): Promise<AdjustmentPlan> {
  const asOf = { subscriptionId: subscription.id, at: work.now };
  const period = await findCurrentBillingPeriod(work, subscription);
  assert(period, 'a subscription in a period has its row');
  const active = await listActiveItems(work, [asOf]);
  const current = active.filter((item) => !item.manuallyCreated);
  const items = keptItems(current, subscription, await readCatalog(work, subscription));
  const requested = { interval: billingInterval(subscription), anchor, takesUsage: true };
  const features = await listCreditFeatures(work, [asOf]);
  const charge = await priceInterval(work, { subscription, period, items: active, features, ...requested });
  const paymentMethodId = await chargedMethod(work, subscription);
  const payer = { paymentMethodId, termsDays: 0, customer: undefined };
  const total = planTotal(current, chargedStep(work.currency));
  return {
    subscription,
    period,
    current,
    items,
    priceOverrides: [],
    currentTotal: total,
    newTotal: total,
    isUpgrade: false,
    timing: 'immediately',
    effectiveAt: work.now,
    capacities: capacitiesOf(await listItemFeatures(work, [subscription.id], work.now)),
    charge,
    paymentMethodId,
    ...(await planPayment(work, subscription, period, { ...charge, ...payer })),
  };
}

/** The effect of a requested billing anchor on a locked subscription. Refuses with `billingAnchorFixed`. */
export async function judgeAnchorMove(
  work: Work,
  subscription: SubscriptionRow,
  anchor: Instant | undefined,
): Promise<AnchorMove> {
  if (anchor === undefined) return 'none';
  const asOfNow = { subscriptionId: subscription.id, at: work.now };
  return decideAnchorMove(subscription, anchor, {
    now: work.now,
    hasPendingChange: (await findPendingAdjustment(work, subscription.id)) !== null,
    isOwing: await isOwing(work, subscription.id),
    grantIntervals: (await listGrantIntervals(work, [asOfNow])).get(subscription.id) ?? [],
  });
}

/** The items of a plan that stays, as those of a change. */
function keptItems(
  items: readonly SubscriptionItemRow[],
  { name: planName }: SubscriptionRow,
  { prices, products }: Catalog,
): PlanItem[] {
  return items.map(({ id, priceId, unitPrice, pricing, quantity, name, externalId, metadata }) => {
    const price = prices.find((each) => each.id === priceId);
    assert(price?.productId, 'an item of a plan has a price of a product');
    const { productId } = price;
    const addOn = products.get(productId)?.addOn ?? false;
    const known = { id, priceId: price.id, productId, addOn, unitPrice, pricing, quantity, name, externalId, metadata };
    return { ...known, planName: planName ?? '', interval: null };
  });
}

async function readCatalog(work: Work, { pricingModelId }: SubscriptionRow): Promise<Catalog> {
  const prices = await listPrices(work, [pricingModelId]);
  const products = await listProducts(work, [pricingModelId]);
  return { prices, products: new Map(products.map((product) => [product.id, product])) };
}

interface FeatureQuestion {
  readonly subscription: SubscriptionRow;
  readonly active: readonly SubscriptionItemRow[];
  readonly items: readonly PlanItem[];
  readonly catalog: Catalog;
}

/** The features with the new set, their credits in units of the ledger. */
async function planFeatures(work: Work, question: FeatureQuestion): Promise<GivenFeature[]> {
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
    ...changed.map((each) => {
      const { before, item } = each;
      const { id, quantity: quantityBefore } = before;
      return { ...item, ...common, id, quantityBefore, keepsEnds: staysWithProduct(each) };
    }),
  ]);
  const moved = changed.filter((each) => !staysWithProduct(each));
  const after = featuresAfter(await listItemFeatures(work, [subscriptionId], work.now), {
    endingItemIds: new Set([...ended.map(({ id }) => id), ...moved.map(({ before }) => before.id)]),
    manualItemIds: new Set(active.filter((item) => item.manuallyCreated).map(({ id }) => id)),
    granted,
    at: work.now,
  });
  return inLedgerUnits(after);
}

/**
 * Computes the capacities after a pending change again, because a feature beside it was added, changed or ended. The
 * caller has locked the subscription.
 */
export async function renewPlannedCapacities(work: Work, subscription: SubscriptionRow): Promise<void> {
  const pending = await findPendingAdjustment(work, subscription.id);
  if (pending === null) return;
  const active = await listActiveItems(work, [{ subscriptionId: subscription.id, at: work.now }]);
  const catalog = await readCatalog(work, subscription);
  const features = await planFeatures(work, { subscription, active, items: pending.items, catalog });
  await saveCapacities(work, { id: pending.id, capacities: capacitiesOf(features) });
}

async function planPayment(
  work: Work,
  subscription: SubscriptionRow,
  period: BillingPeriodRow,
  { lines, replacedInvoiceId, begins, paymentMethodId, termsDays, customer }: PlanCharge & Payer,
): Promise<Pick<AdjustmentPlan, 'bill' | 'draft' | 'dueDate'>> {
  if (lines.length === 0) return { bill: null, draft: null, dueDate: null };
  const bill: Bill = {
    subscription,
    period: begins === null ? period : { id: null, startAt: begins.period.start, endAt: begins.period.end },
    reason: 'adjustment',
    lines,
    at: work.now,
    replacedInvoiceId,
    beginsPeriod: begins !== null,
    ...(begins === null ? {} : { resumption: begins.resumption }),
    isPaidFirst: termsDays === 0,
  };
  const [draft] = await composeBills(work, [bill], customer ? [customer] : []);
  assert(draft, 'each bill has its draft');
  if (draft.total === 0n || paymentMethodId !== null) return { bill, draft, dueDate: null };
  if (termsDays === 0) throw new Problem('paymentMethodRequired', { id: subscription.id });
  return { bill, draft, dueDate: addDays(work.now, termsDays) };
}

/** The way in which a change is paid. */
interface Payer {
  readonly paymentMethodId: string | null;
  /** The days until its invoice is due, if the change is made before its payment; 0: it is paid first. */
  readonly termsDays: number;
  readonly customer: CustomerRow | undefined;
}

/** The net terms of a change without a payment method. A subscription in arrears gets nothing more before it pays. */
async function termsOf(work: Work, { arrears, customerId }: SubscriptionRow): Promise<number> {
  return arrears === 'none' ? readNetTerms(work, customerId) : 0;
}

/** The payment method of a change: the subscription's own, else its backup, else its customer's. */
async function chargedMethod(work: Work, subscription: SubscriptionRow): Promise<string | null> {
  const own = subscription.defaultPaymentMethodId ?? subscription.backupPaymentMethodId;
  return own ?? (await defaultPaymentMethod(work, subscription.customerId))?.id ?? null;
}

/** The price of a change. Money in minor units at list value: before discount and tax. */
interface PlanCharge {
  /** For the change itself. */
  readonly amount: bigint;
  /** Value that the change adds to the period without a charge. */
  readonly waived: bigint;
  /** The billed lines: the change, and usage and setup fee of the replaced invoice. */
  readonly lines: readonly NewLine[];
  /** The part of it that is of the replaced invoice. */
  readonly carriedOver: bigint;
  readonly replacedInvoiceId: string | null;
  /** The period that begins with the change; null: it is made within the present one. */
  readonly begins: IntervalStart | null;
  /** The unused paid value that is taken off, and the rest that stays for later invoices. */
  readonly takenOff: bigint;
  readonly kept: bigint;
}

/** A change of items in a period. */
interface PeriodChange {
  readonly period: BillingPeriodRow;
  readonly items: readonly PlanItem[];
  /** False: the change is not charged. */
  readonly prorates: boolean;
  /** Whether the charge may replace the period's own invoice. True when absent. */
  readonly replaces?: boolean;
  /** Whether refunded and voided value is charged again. False when absent. */
  readonly collectRefunded?: boolean | undefined;
  readonly at: Instant;
}

/**
 * Prices a change: the value of the period with it, minus the value that is settled for the period, but at least 0.
 * Refunded and voided value is settled, unless the caller collects it again.
 * If the period's own invoice was never paid, the change bills the whole value of the period, and the usage and setup fee
 * on that invoice, and replaces it. A trial is worth nothing. Worked examples A1 to A11.
 */
export async function priceChange(work: Work, change: PeriodChange): Promise<PlanCharge> {
  const { period, items, prorates, replaces = true, collectRefunded = false, at } = change;
  const invoices = await listPeriodInvoices(work, [period]);
  const replaced = prorates && replaces ? (invoices.find(isNeverPaid) ?? null) : null;
  const counted = invoices.filter((invoice) => invoice !== replaced);
  const spans = period.trialPeriod ? [] : await listItemSpans(work, period.subscriptionId, period.startAt);
  const [history, next] = [await paidInAdvance(work, spans), await paidInAdvance(work, items)];
  // A plan in arrears is billed at the end of its period, with this change in it.
  if (spans.length > 0 && history.length + next.length === 0) return nothingToPay;
  const whole = wholeOf(period);
  const step = chargedStep(work.currency);
  const segments = period.trialPeriod ? [] : changeSegments(history, next, period, at, step);
  const settledBy = (invoice: PeriodInvoice) =>
    collectRefunded ? listValuePaid(asExpected(invoice)) : listValueSettled(invoice);
  const paid = counted.reduce((sum, invoice) => sum + settledBy(invoice), 0n);
  const amount = prorationCharge(segments, whole, paid + period.prorationWaived, step);
  if (!prorates) return { ...nothingToPay, waived: amount };
  const carried = replaced === null ? [] : await linesBesidePlan(work, replaced.id);
  const billedParts =
    amount !== 0n && pricesOfChange({ history, next }).length > 1 ? await listBilledParts(work, counted) : null;
  const parts = billedParts && partsOfChange({ history, next, period, at, amount, items }, billedParts, step);
  const explanation = {
    kind: 'proration',
    segments,
    whole,
    fairValue: fairValue(segments, whole, step),
    paid,
    waived: period.prorationWaived,
    ...(parts ? { parts } : {}),
  } as const;
  const billed = { start: replaced === null ? at : period.startAt, end: period.endAt };
  const lines = amount === 0n ? carried : [lineOf(items, amount, explanation, billed), ...carried];
  return {
    ...nothingToPay,
    amount,
    lines,
    carriedOver: carried.reduce((sum, line) => sum + priceLine(line).amount, 0n),
    replacedInvoiceId: replaced?.id ?? null,
  };
}

/**
 * The period's own invoice without any received or pending payment, credit note or balance (worked example A4). One of
 * which a balance was credited is not voided after its payment was taken back.
 */
function isNeverPaid(invoice: PeriodInvoice): boolean {
  const isUntouched = amountDue(invoice) === invoice.total && invoice.balanceCredited === 0n;
  return isForPeriod(invoice) && invoice.status === 'open' && !invoice.isBeingPaid && isUntouched;
}

/**
 * Open and written-off amounts count as expected: otherwise the former would be billed twice and the latter after all.
 * An invoice of a change is open only if the change was applied.
 */
function asExpected(invoice: PeriodInvoice): PeriodInvoice {
  const { status } = invoice;
  return status === 'open' || status === 'uncollectible' ? { ...invoice, isBeingPaid: true } : invoice;
}

function lineOf(
  items: readonly PlanItem[],
  amount: bigint,
  explanation: Extract<NewLine['explanation'], { kind: 'proration' }>,
  billed: Period,
): NewLine {
  const { planName, priceId } = headOf(items);
  return {
    type: 'static',
    explanation,
    quantity: 1,
    price: amount,
    priceId,
    subscriptionItemId: null,
    description: withPeriod(`Change to ${planName}`, billed),
  };
}

/** The usage, commitment and setup fee of an invoice, to be billed by another one. */
async function linesBesidePlan(work: Work, invoiceId: string): Promise<NewLine[]> {
  const lines = await listExplainedLines(work, [invoiceId]);
  return lines.flatMap(({ type, amount, priceId, ledgerAccountId, ledgerAccountCredit: units, ...line }): NewLine[] => {
    if (line.explanation?.kind === 'setup_fee' && priceId !== null)
      return setupFeeLines({ setupFee: line.explanation.unitPrice, priceId });
    if (line.explanation?.kind === 'minimum_commitment' || line.explanation?.kind === 'arrears')
      return [staticLine(line.explanation, { amount, priceId, description: line.description })];
    if (type !== 'usage' || priceId === null || ledgerAccountId === null || units === null) return [];
    // A line from before explanations is billed as its own sum.
    const asOne = { kind: 'usage', units, unitPrice: amount, usageEventsPerUnit: Number(units) } as const;
    const explanation = line.explanation ?? asOne;
    return [{ type, units, amount, priceId, ledgerAccountId, description: line.description, explanation }];
  });
}

/** The parts of the plan that these invoices billed for each price. */
async function listBilledParts(work: Work, invoices: readonly PeriodInvoice[]): Promise<LinePart[]> {
  const standing = invoices.filter(({ isWithdrawn }) => !isWithdrawn);
  const lines = await listExplainedLines(
    work,
    standing.map(({ id }) => id),
  );
  return lines.flatMap(partsOfPlan);
}
