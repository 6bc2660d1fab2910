import assert from 'node:assert/strict';
import { creditRefund, voidWithCreditNotes } from '../credit-notes/actions.ts';
import type { Work } from '../database/work.ts';
import { expireFeaturesOfItems, expireManualFeatures, grantItemFeatures } from '../entitlements/actions.ts';
import { listItemFeatures } from '../entitlements/store-item-features.ts';
import { isOwed } from '../invoicing/collection.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { listBilledUsage, listUsageAmounts, lockInvoices, saveCollections } from '../invoicing/store-collecting.ts';
import type { Instant, Interval } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { divHalfAway, smallerOf } from '../kernel/money.ts';
import { applyRefundOutcome, refundPayment } from '../payments/actions-refund.ts';
import { listPaymentsKept } from '../payments/store.ts';
import { listReplaceable } from '../payments/store-period-invoices.ts';
import { inLedgerUnits } from '../pricing/credit-pool.ts';
import { listPricesByIds } from '../pricing/store-prices.ts';
import { findPurchasesOfInvoices } from '../purchases/store.ts';
import { creditsOfChange } from '../rating/plan-change.ts';
import { newSubscriptionItem, publishSubscriptions } from '../subscriptions/actions.ts';
import {
  type AdjustmentRow,
  beginsPeriod,
  decideItemChanges,
  type ItemChanges,
  isRevalued,
  overrideTime,
  type PlanItem,
  subscriptionAfter,
  wholeOf,
} from '../subscriptions/adjustment.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { grantSpanAt } from '../subscriptions/interim.ts';
import { overrideStart } from '../subscriptions/price-override.ts';
import { findSubscriptions, saveSubscriptions } from '../subscriptions/store.ts';
import {
  addProrationWaived,
  cancelPendingAdjustments,
  dropBill,
  listAdjustmentsAwaiting,
  listAdjustmentsCalledOff,
  listAdjustmentsScheduled,
  markAdjustmentFailed,
  markAdjustmentsApplied,
} from '../subscriptions/store-adjustments.ts';
import { findCurrentBillingPeriods } from '../subscriptions/store-billing-periods.ts';
import { keepItemVersions } from '../subscriptions/store-item-versions.ts';
import { changeItems, expireItems, insertSubscriptionItems, listActiveItems } from '../subscriptions/store-items.ts';
import { changePriceOverrides, type DatedOverride } from '../subscriptions/store-price-overrides.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import type { SubscriptionItemRow } from '../subscriptions/subscription-item.ts';
import { grantCredits, settleUsage, undoSettlements } from '../usage/actions-ledger.ts';
import { listGrantedCredits } from '../usage/store-granted.ts';
import { type Bill, issueBills, rescheduled, takeUsageLines } from './bill-subscription.ts';
import { beginInterval, type LeavingChange, leavePlan } from './change-interval.ts';
import { recordBought } from './complete-purchases.ts';
import { grantAwaitedCredits, grantedIn, leftOf } from './grant-period-credits.ts';
import { giveBackPausedTime } from './paused-time.ts';
import { priceChange } from './plan-adjustment.ts';

/** A change to apply as of `at`. The caller has locked the subscription. */
interface Change {
  readonly adjustment: AdjustmentRow;
  readonly subscription: SubscriptionRow;
  readonly at: Instant;
}

/**
 * Applies the plan changes of these paid invoices (of reason `adjustment`), or refunds them if the subscription has
 * ended meanwhile. Idempotent.
 */
export async function applyPaidAdjustments(work: Work, invoices: readonly InvoiceRow[]): Promise<void> {
  const invoiceIds = invoices.map(({ id }) => id);
  const calledOff = await listAdjustmentsCalledOff(work, invoiceIds);
  await voidReplaced(work, calledOff);
  await giveBackCalledOff(work, calledOff);
  const adjustments = await listAdjustmentsAwaiting(work, invoiceIds);
  if (adjustments.length === 0) return;
  const ids = adjustments.map((adjustment) => adjustment.subscriptionId);
  const subscriptions = new Map((await findSubscriptions(work, ids)).map((row) => [row.id, row]));
  const changes = adjustments.map((adjustment) => {
    const subscription = subscriptions.get(adjustment.subscriptionId);
    assert(subscription, 'a change is of a subscription');
    // The payment covers the time since the request. If a new period has begun meanwhile, the new items apply from its
    // start, and the difference is billed now.
    const at = Math.max(adjustment.effectiveAt, subscription.currentBillingPeriodStart ?? adjustment.effectiveAt);
    return { adjustment, subscription, at };
  });
  const isLate = ({ adjustment, at }: Change) => at > adjustment.effectiveAt;
  const isTooLate = (change: Change) => isBeginning(change) && (isLate(change) || isEnding(change));
  await callOff(work, changes.filter(isTooLate));
  const made = changes.filter((change) => !isTooLate(change));
  await applyNow(work, made);
  const late = made.filter(isLate);
  await billLateChanges(
    work,
    late.map(({ adjustment: { subscriptionId, items } }) => ({ subscriptionId, items })),
  );
}

/** Whether the change begins a period at once. */
function isBeginning({ adjustment }: { readonly adjustment: AdjustmentRow }): boolean {
  return beginsPeriod(adjustment);
}

/** Whether an end was scheduled meanwhile. It may cut off a period that begins now, of which all would be paid. */
function isEnding({ subscription }: Change): boolean {
  return subscription.status === 'cancellation_scheduled';
}

/**
 * Calls off paid changes of interval or anchor, because a period of the old one has begun and been billed meanwhile, or
 * an end was scheduled. Their payments are refunded.
 */
async function callOff(work: Work, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  await cancelPendingAdjustments(
    work,
    changes.map(({ subscription }) => subscription.id),
  );
  await giveBackCalledOff(
    work,
    changes.map(({ adjustment }) => adjustment),
  );
}

/**
 * Applies changes now, grants their credits, and publishes the events. A change of interval or anchor ends its period
 * and begins one; the number of statements depends on the number of those.
 */
export async function applyNow(work: Work, changes: readonly Change[]): Promise<SubscriptionRow[]> {
  const leaving: LeavingChange[] = [];
  for (const change of changes) if (isBeginning(change)) leaving.push(await leavePlan(work, change));
  const moves = await applyMoves(work, changes.filter(movesAnchor));
  const applied = [
    ...(await applyChanges(
      work,
      changes.filter((change) => !movesAnchor(change)),
    )),
    ...moves,
  ];
  const voided = await voidReplaced(
    work,
    changes.map(({ adjustment }) => adjustment),
  );
  // The replacing invoices pay for the purchases of the replaced ones.
  await recordBought(work, await findPurchasesOfInvoices(work, voided));
  // Paused time taken off a replaced invoice did not move to the replacing one.
  await giveBackPausedTime(work, voided);
  await addProrationWaived(
    work,
    changes.map(({ adjustment, subscription: { id, currentBillingPeriodStart } }) => {
      assert(currentBillingPeriodStart !== null, 'a change now is made in a period');
      return { subscriptionId: id, startAt: currentBillingPeriodStart, amount: adjustment.prorationWaived };
    }),
  );
  await grantChangedCredits(
    work,
    applied.filter((change) => !isBeginning(change)),
  );
  const begun = await beginIntervals(work, leaving, applied);
  const subscriptions = applied.map(({ subscription }) => begun.get(subscription.id) ?? subscription);
  await publishSubscriptions(work, 'subscription.updated', subscriptions);
  return subscriptions;
}

/** Whether the change moves the billing anchor. Its items stay. */
function movesAnchor({ adjustment }: Change): boolean {
  return adjustment.billingCycleAnchorDate !== null;
}

/** Applies moves of the billing anchor. The period that begins with each one saves its subscription. */
async function applyMoves(work: Work, moves: readonly Change[]): Promise<AppliedChange[]> {
  await markAdjustmentsApplied(
    work,
    moves.map(({ adjustment }) => adjustment.id),
  );
  return moves.map((change) => {
    const { billingCycleAnchorDate } = change.adjustment;
    const subscription = { ...change.subscription, billingCycleAnchorDate, billingAnchor: 'anniversary' as const };
    return { ...change, subscription, changedItemIds: new Set() };
  });
}

/** Begins the periods of changes to another interval or anchor. Returns their subscriptions, by id. */
async function beginIntervals(
  work: Work,
  leaving: readonly LeavingChange[],
  applied: readonly AppliedChange[],
): Promise<Map<string, SubscriptionRow>> {
  const begun: InPeriod[] = [];
  for (const leave of leaving) {
    const change = applied.find(({ adjustment }) => adjustment.id === leave.adjustment.id);
    assert(change, 'each change was applied');
    begun.push({ ...change, ...(await beginInterval(work, leave, change.subscription)) });
  }
  // Credits that are granted once are no matter of the period.
  await grantRest(work, begun, { onlyOnce: true });
  return new Map(begun.map(({ subscription }) => [subscription.id, subscription]));
}

/**
 * Voids the invoices that paid ones replaced. One that was paid after all stays. Returns the ids of the voided ones.
 */
async function voidReplaced(work: Work, adjustments: readonly AdjustmentRow[]): Promise<string[]> {
  const replaced = adjustments.flatMap(({ replacedInvoiceId }) => replacedInvoiceId ?? []);
  const replaceable = await listReplaceable(work, replaced);
  for (const id of replaceable) await voidWithCreditNotes(work, id);
  // Their usage moved to the replacing invoices. If it had been settled, those settle it now.
  await undoSettlements(work, await listBilledUsage(work, replaceable));
  return replaceable;
}

/**
 * Marks plan changes as failed because their payment failed: nothing changes, and another change may be requested. An
 * invoice that was to be replaced gets its retry date back. The caller has voided the invoices of the changes.
 */
export async function failAdjustments(
  work: Work,
  failures: readonly { readonly invoice: InvoiceRow; readonly code: string | null; readonly message: string | null }[],
): Promise<void> {
  const waiting = await listAdjustmentsAwaiting(
    work,
    failures.map(({ invoice }) => invoice.id),
  );
  for (const adjustment of waiting) {
    const failure = failures.find(({ invoice }) => invoice.id === adjustment.invoiceId);
    assert(failure, 'what waits was asked for by its invoice');
    await markAdjustmentFailed(work, adjustment.id, failure);
  }
  await resumeReplaced(work, waiting);
}

/** The same for a change without an invoice. One that was called off meanwhile stays so. */
export async function failUninvoiced(
  work: Work,
  adjustment: AdjustmentRow,
  failure: { readonly code: string | null; readonly message: string | null },
): Promise<void> {
  if (adjustment.status === 'canceled') return dropBill(work, adjustment.id);
  await markAdjustmentFailed(work, adjustment.id, failure);
  await resumeReplaced(work, [adjustment]);
}

async function resumeReplaced(work: Work, failed: readonly AdjustmentRow[]): Promise<void> {
  const attempts = new Map(
    failed.flatMap(({ replacedInvoiceId: id, replacedNextAttemptAt }) => (id ? [[id, replacedNextAttemptAt]] : [])),
  );
  if (attempts.size === 0) return;
  const invoices = (await lockInvoices(work, [...attempts.keys()])).filter(isOwed);
  await saveCollections(
    work,
    invoices.map((invoice) => ({ ...invoice, nextAttemptAt: attempts.get(invoice.id) ?? null })),
  );
}

/**
 * Applies the scheduled changes due at the end of each subscription's current period (`at`), and returns all
 * subscriptions afterwards, in order. Credits come with the next period, whose start publishes the events.
 */
export async function applyScheduledAdjustments(
  work: Work,
  due: readonly { readonly subscription: SubscriptionRow; readonly at: Instant }[],
): Promise<SubscriptionRow[]> {
  const ids = due.map(({ subscription }) => subscription.id);
  const adjustments = new Map((await listAdjustmentsScheduled(work, ids)).map((row) => [row.subscriptionId, row]));
  const changes = due.flatMap(({ subscription, at }) => {
    const adjustment = adjustments.get(subscription.id);
    return adjustment !== undefined && adjustment.effectiveAt <= at ? { adjustment, subscription, at } : [];
  });
  const applied = await applyChanges(work, changes);
  const changed = new Map(applied.map(({ subscription }) => [subscription.id, subscription]));
  return due.map(({ subscription }) => changed.get(subscription.id) ?? subscription);
}

/** An applied change, with the ids of new and changed items. */
interface AppliedChange extends Change {
  readonly changedItemIds: ReadonlySet<string>;
}

/** A new or changed item, with the product whose features it grants. */
type Renewed = SubscriptionItemRow & { readonly productId: string };

interface Decided {
  readonly change: Change;
  readonly changes: ItemChanges;
  readonly added: readonly Renewed[];
}

/**
 * Writes changes: items, their features and the subscriptions, each as of its instant. The number of statements does
 * not depend on the number of changes.
 */
async function applyChanges(work: Work, changes: readonly Change[]): Promise<AppliedChange[]> {
  if (changes.length === 0) return [];
  await billUsageSoFar(work, changes);
  const requested = changes.map(({ subscription, at }) => ({ subscriptionId: subscription.id, at }));
  const items = Map.groupBy(await listActiveItems(work, requested), (item) => item.subscriptionId);
  const decided = changes.map((change): Decided => {
    const current = (items.get(change.subscription.id) ?? []).filter((item) => !item.manuallyCreated);
    const itemChanges = decideItemChanges(current, change.adjustment.items);
    return { change, changes: itemChanges, added: itemChanges.added.map((item) => newItem(work, change, item)) };
  });
  await writeItems(work, decided);
  await changePriceOverrides(work, changes.flatMap(datedOverrides));
  await changeFeatures(work, decided);
  await markAdjustmentsApplied(
    work,
    changes.map(({ adjustment }) => adjustment.id),
  );
  const next = changes.map(({ adjustment, subscription, at }) => subscriptionAfter(subscription, adjustment, at));
  const saved = await saveSubscriptions(work, await rescheduled(work, next));
  return decided.map(({ change, changes: { changed }, added }, index) => {
    const subscription = saved[index];
    assert(subscription, 'each subscription was saved');
    const revalued = changed.filter(({ before, item }) => isRevalued(before, item)).map(({ before }) => before.id);
    return { ...change, subscription, changedItemIds: new Set([...added.map(({ id }) => id), ...revalued]) };
  });
}

/** The changes of own prices, each from its instant on. */
function datedOverrides({ adjustment, subscription, at }: Change): DatedOverride[] {
  const { id: subscriptionId, pricingModelId } = subscription;
  const time = overrideTime(subscription, adjustment, at);
  return adjustment.priceOverrides.map((change) => {
    return { ...change, subscriptionId, pricingModelId, startAt: overrideStart(change, time) };
  });
}

/**
 * Invoices the usage before changes between a plan that bills overage and one that does not, so that each plan's usage
 * has its own terms. Nothing is invoiced where the terms stay. The invoice is charged by the next due work.
 */
async function billUsageSoFar(work: Work, changes: readonly Change[]): Promise<void> {
  const moves = changes.map((change) => {
    const { adjustment, subscription, at } = change;
    return {
      ...change,
      priceIds: [subscription.priceId, subscriptionAfter(subscription, adjustment, at).priceId],
    };
  });
  const moved = moves.filter(({ priceIds: [before, after] }) => before !== after);
  if (moved.length === 0) return;
  const prices = await listPricesByIds(work, [...new Set(moved.flatMap(({ priceIds }) => priceIds))]);
  const overages = new Map(prices.map(({ id, overage }) => [id, overage]));
  await invoiceUsage(
    work,
    moved.filter(({ priceIds }) => new Set(priceIds.map((id) => overages.get(id))).size > 1),
  );
}

/** Invoices the unbilled usage of subscriptions at an instant, beside the invoices of their periods. */
export async function invoiceUsage(work: Work, ending: readonly Pick<Change, 'subscription' | 'at'>[]): Promise<void> {
  if (ending.length === 0) return;
  const usage = await takeUsageLines(
    work,
    ending.map(({ subscription }) => subscription),
  );
  // A period has one invoice of its last usage, and this is not the last of the period.
  const bills = ending.map(({ subscription, at }): Bill => {
    return { subscription, period: null, reason: 'final_usage', lines: usage.get(subscription.id) ?? [], at };
  });
  const invoices = (await issueBills(work, bills)).filter((invoice) => invoice !== null);
  const free = invoices.filter(({ status }) => status === 'paid').map(({ id }) => id);
  await settleUsage(work, await listBilledUsage(work, free));
  const due = invoices.filter(({ status }) => status === 'open');
  await saveCollections(
    work,
    due.map((invoice) => ({ ...invoice, nextAttemptAt: work.now })),
  );
}

function newItem(work: Work, { subscription, at }: Change, item: PlanItem): Renewed {
  const { priceId, productId, unitPrice, pricing, quantity, name, externalId, metadata } = item;
  const known = { priceId, unitPrice, pricing, quantity, name, externalId, metadata, addedDate: at };
  return { ...newSubscriptionItem(work, subscription, known), productId };
}

async function writeItems(work: Work, decided: readonly Decided[]): Promise<void> {
  const changed = decided.flatMap(({ change, changes }) => changes.changed.map((each) => ({ ...each, at: change.at })));
  const revalued = changed.filter(({ before, item }) => isRevalued(before, item));
  await keepItemVersions(
    work,
    revalued.map(({ before, at }) => ({ id: before.id, at })),
  );
  await changeItems(
    work,
    changed.map(({ before, item, at }) => ({
      ...item,
      id: before.id,
      effectiveFrom: isRevalued(before, item) ? at : null,
    })),
  );
  await expireItems(work, endedItems(decided));
  await insertSubscriptionItems(
    work,
    decided.flatMap(({ added }) => added.map(({ productId: _, ...item }) => item)),
  );
}

function endedItems(decided: readonly Decided[]) {
  return decided.flatMap(({ change: { at }, changes }) => changes.ended.map(({ id }) => ({ id, at })));
}

/** Grants the features of new and changed items, and ends those of ended items. */
async function changeFeatures(work: Work, decided: readonly Decided[]): Promise<void> {
  const changed = decided.flatMap(({ change, changes }) =>
    changes.changed
      .filter(({ before, item }) => isRevalued(before, item))
      .map(({ before, item }) => ({ before, item, at: change.at })),
  );
  const products = await productsOf(
    work,
    changed.map(({ before }) => before.priceId),
  );
  const staysWithProduct = ({ before, item }: (typeof changed)[number]) =>
    products.get(before.priceId ?? '') === item.productId;
  const moved = changed.filter((each) => !staysWithProduct(each));
  await expireFeaturesOfItems(work, [
    ...endedItems(decided),
    ...moved.map(({ before, at }) => ({ id: before.id, at })),
  ]);
  await grantItemFeatures(work, [
    ...decided.flatMap(({ added }) => added),
    ...changed.map((each) => {
      const { before, item, at } = each;
      const { id, quantity: quantityBefore } = before;
      return { ...before, ...item, id, quantityBefore, addedDate: at, keepsEnds: staysWithProduct(each) };
    }),
  ]);
  await expireManualFeatures(
    work,
    decided.map(({ change }) => ({ id: change.subscription.id, at: change.at })),
  );
}

async function productsOf(work: Work, priceIds: readonly (string | null)[]): Promise<Map<string, string | null>> {
  const ids = [...new Set(priceIds.filter((id) => id !== null))];
  if (ids.length === 0) return new Map();
  return new Map((await listPricesByIds(work, ids)).map((price) => [price.id, price.productId]));
}

/** A change with its period. */
interface InPeriod extends AppliedChange {
  readonly period: BillingPeriodRow;
}

/**
 * Grants the credits of plan changes within periods: those of new and changed items, for the rest of the period. If the
 * credits of a period await its payment, they are all granted with that; the change may have been that payment.
 */
async function grantChangedCredits(work: Work, changes: readonly AppliedChange[]): Promise<void> {
  const subscriptions = changes.map(({ subscription }) => subscription);
  const periods = new Map(
    (await findCurrentBillingPeriods(work, subscriptions)).map((period) => [period.subscriptionId, period]),
  );
  await grantAwaitedCredits(work, subscriptions);
  const running = changes.flatMap((change): InPeriod[] => {
    const period = periods.get(change.subscription.id);
    return period === undefined || period.creditsAwaitPayment ? [] : [{ ...change, period }];
  });
  await grantRest(work, running);
}

async function grantRest(
  work: Work,
  changes: readonly InPeriod[],
  { onlyOnce = false }: { readonly onlyOnce?: boolean } = {},
): Promise<void> {
  if (changes.length === 0) return;
  const ids = changes.map(({ subscription }) => subscription.id);
  const given = inLedgerUnits(await listItemFeatures(work, ids, work.now));
  const features = Map.groupBy(given, (feature) => feature.subscriptionId);
  const requested = changes.map(({ subscription, period }) => ({
    subscriptionId: subscription.id,
    interval: grantedIn(period),
    at: work.now,
  }));
  const granted = Map.groupBy(await listGrantedCredits(work, requested), (row) => row.subscriptionId);
  const decided = changes.flatMap((change) => {
    const { subscription, period, at, changedItemIds } = change;
    // The payment may come when the interval of the change is over.
    const until = Math.min(Math.max(at, work.now), period.endAt - 1);
    const spanOf = (interval: Interval) => grantSpanAt(subscription, period, interval, until);
    const of = { at, whole: wholeOf(period), spanOf };
    const known = granted.get(subscription.id) ?? [];
    const extras = creditsOfChange(features.get(subscription.id) ?? [], changedItemIds, known, of);
    return extras
      .filter(({ expiresAt }) => !onlyOnce || expiresAt === null)
      .map((extra) => ({
        ...extra,
        change,
      }));
  });
  const once = decided.filter(({ expiresAt }) => expiresAt === null);
  const left = await leftOf(
    work,
    once.map(({ change: { subscription, at }, feature: { featureId }, amount }) => {
      return { subscription, at, featureId, amount, isOnce: true };
    }),
  );
  const grants = decided.map((extra) => {
    const { change, feature, usageMeterId, expiresAt, intervalStartAt } = extra;
    const { adjustment, subscription, period } = change;
    const amount = expiresAt === null ? (left[once.indexOf(extra)] ?? 0n) : extra.amount;
    return {
      subscriptionId: subscription.id,
      pricingModelId: subscription.pricingModelId,
      usageMeterId,
      featureId: feature.featureId,
      billingPeriodId: period.id,
      amount,
      expiresAt,
      intervalStartAt,
      source: 'manual_adjustment' as const,
      // Identifies the grant: this feature of this item, with this change.
      sourceId: `${adjustment.id}:${feature.id}`,
    };
  });
  await grantCredits(work, grants);
}

/**
 * Bills the price difference of the current period after changes that were applied late: the period was billed for the
 * old items before the payment for the change arrived. Tried once when it is due; on failure the invoice stays open, and
 * under net terms it is dunned. Without a difference nothing is billed. The changes have been applied.
 */
async function billLateChanges(
  work: Work,
  late: readonly { readonly subscriptionId: string; readonly items: readonly PlanItem[] }[],
): Promise<void> {
  if (late.length === 0) return;
  const items = new Map(late.map((change) => [change.subscriptionId, change.items]));
  const subscriptions = await findSubscriptions(work, [...items.keys()]);
  const periods = new Map(
    (await findCurrentBillingPeriods(work, subscriptions)).map((period) => [period.subscriptionId, period]),
  );
  const bills: Bill[] = [];
  for (const subscription of subscriptions) {
    const period = periods.get(subscription.id);
    if (period === undefined) continue;
    const change = { period, items: items.get(subscription.id) ?? [], prorates: true, replaces: false };
    const { lines } = await priceChange(work, { ...change, at: period.startAt });
    bills.push({ subscription, period, reason: 'adjustment', lines, at: work.now });
  }
  const invoices = (await issueBills(work, bills)).filter((invoice) => invoice?.status === 'open');
  await saveCollections(
    work,
    invoices.flatMap((invoice) => (invoice === null ? [] : { ...invoice, nextAttemptAt: invoice.dueDate ?? work.now })),
  );
}

/**
 * Refunds payments for plan changes that are no longer applied. The part of a payment that is for usage is kept. So is
 * the total of an unpaid invoice that it replaced, because that covers the period and its usage.
 */
async function giveBackCalledOff(work: Work, calledOff: readonly AdjustmentRow[]): Promise<void> {
  const invoiceIds = calledOff.flatMap(({ invoiceId }) => invoiceId ?? []);
  if (invoiceIds.length === 0) return;
  // Nothing of paused time follows from these refunds: an ended subscription keeps none, and a change that was not made
  // took none.
  const step = chargedStep(work.currency);
  // The share of the tax may be finer than what can be refunded.
  const usage = [...(await listUsageAmounts(work, invoiceIds))];
  const kept = new Map(usage.map(([id, sum]) => [id, divHalfAway(sum, 1n, step)]));
  const replaced = await lockInvoices(
    work,
    calledOff.flatMap(({ replacedInvoiceId }) => replacedInvoiceId ?? []),
  );
  for (const { invoiceId, replacedInvoiceId } of calledOff) {
    const own = replaced.find(({ id }) => id === replacedInvoiceId);
    if (invoiceId !== null && own !== undefined) kept.set(invoiceId, own.total);
  }
  for (const { id, invoiceId, amount, refundedAmount, refundingAmount } of await listPaymentsKept(work, invoiceIds)) {
    const paid = amount - refundedAmount - refundingAmount;
    const stays = smallerOf(paid, kept.get(invoiceId) ?? 0n);
    kept.set(invoiceId, (kept.get(invoiceId) ?? 0n) - stays);
    const how = { partialAmount: Number(paid - stays), assume: applyRefundOutcome, credit: creditRefund } as const;
    if (stays < paid) await refundPayment(work, id, how);
  }
}
