import assert from 'node:assert/strict';
import { z } from 'zod';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { clearTemporaryClaims } from '../entitlements/actions.ts';
import { attemptBegun } from '../invoicing/collection.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { lockDraftsOf, lockInvoices, saveCollections } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { Timestamp, WholeNumber } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { findPaymentMethod } from '../payments/actions.ts';
import { requestFirstCharge } from '../payments/actions-charge.ts';
import { PaymentMethodType } from '../payments/payment-method.ts';
import { Pricing } from '../pricing/pricing.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { type AdjustmentRow, decideItemChanges, type PlanItem } from '../subscriptions/adjustment.ts';
import { type NewAdjustment, ResolvedTiming } from '../subscriptions/adjustment-input.ts';
import { saveSubscription } from '../subscriptions/store.ts';
import {
  cancelPendingAdjustments,
  findAdjustment,
  findAdjustmentToTryAgain,
  findPendingAdjustment,
  insertAdjustment,
  replaceAdjustment,
} from '../subscriptions/store-adjustments.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import type { SubscriptionItemRow } from '../subscriptions/subscription-item.ts';
import type { SubscriptionUpdate } from '../subscriptions/subscription-start.ts';
import { applyNow } from './apply-adjustment.ts';
import { type Bill, holdBill, issueBills, rescheduled } from './bill-subscription.ts';
import { findUpToDate, lockCurrent } from './catch-up.ts';
import { collectInvoices, endReview } from './collect-invoices.ts';
import type { LockedSubscription } from './end-subscription.ts';
import { assumeMade } from './make-bought.ts';
import { type AdjustmentPlan, judgeAnchorMove, planAdjustment, planAnchorMove } from './plan-adjustment.ts';
import { recordPaid } from './record-paid.ts';
import { reread, updateSubscription } from './subscribe.ts';

/** A requested plan change, with its subscription. */
export interface Adjusted {
  readonly subscription: SubscriptionRow;
  /** The current items of the plan. */
  readonly subscriptionItems: readonly SubscriptionItemRow[];
  readonly resolvedTiming: ResolvedTiming;
  readonly isUpgrade: boolean;
  readonly adjustment: AdjustmentRow;
}

/**
 * Changes the items of a subscription, now or at the end of its period. The price of an immediate change is charged
 * after the commit, and the items change when the payment succeeds; `readAdjusted` returns the outcome. Under net terms
 * and without a payment method the items change at once, and the invoice is collected from its due date on. The
 * charge is made on `chargeWith`, else on the subscription's payment method, which stays what it is. A change that is
 * `byCustomer` and waits can be undone in the portal.
 */
export async function adjustSubscription(
  work: Work,
  id: string,
  requested: NewAdjustment,
  { chargeWith = null, byCustomer = false }: { chargeWith?: string | null; byCustomer?: boolean } = {},
): Promise<Adjusted> {
  const locked = await lockCurrent(work, id);
  const isNow = await isMadeNow(work, locked.subscription, requested);
  const subscription = isNow ? await endReview(work, locked.subscription) : locked.subscription;
  const plan = await planAdjustment(work, subscription, requested, { takesUsage: true, chargeWith });
  const adjustmentId = await (plan.timing === 'immediately'
    ? changeNow(work, plan)
    : schedule(work, locked, plan, byCustomer));
  return read(work, adjustmentId, { resolvedTiming: plan.timing, isUpgrade: plan.isUpgrade });
}

/** Whether a change is made now, as far as that matters: one that waits leaves the draft of a renewal to its review. */
async function isMadeNow(work: Work, subscription: SubscriptionRow, requested: NewAdjustment): Promise<boolean> {
  const { timing } = requested;
  if (timing !== 'auto' || (await lockDraftsOf(work, [subscription.id])).length === 0)
    return timing !== 'at_end_of_current_billing_period';
  return (await planAdjustment(work, subscription, requested, { takesUsage: false })).timing === 'immediately';
}

async function schedule(
  work: Work,
  { customer, subscription }: LockedSubscription,
  plan: AdjustmentPlan,
  scheduledByCustomer: boolean,
): Promise<string> {
  const adjustment = newAdjustment(work, plan, null);
  await insertAdjustment(work, adjustment);
  const saved = await saveSubscription(work, subscription.id, {
    scheduledAdjustmentAt: plan.effectiveAt,
    scheduledByCustomer,
  });
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return adjustment.id;
}

async function changeNow(work: Work, plan: AdjustmentPlan): Promise<string> {
  const { subscription, effectiveAt: at, bill, draft, dueDate } = plan;
  if (bill !== null && draft !== null && draft.total > 0n && dueDate === null) return payFirst(work, plan, bill);
  const [invoice] = bill === null ? [] : await issueBills(work, [bill]);
  const nextAttemptAt = await restReplaced(work, plan);
  const adjustment = { ...newAdjustment(work, plan, invoice ?? null), replacedNextAttemptAt: nextAttemptAt };
  await insertAdjustment(work, adjustment);
  if (!invoice) await applyNow(work, [{ adjustment, subscription, at }]);
  else if (dueDate !== null) {
    const [changed] = await applyNow(work, [{ adjustment, subscription, at }]);
    assert(changed, 'the change was applied');
    await collectInvoices(work, [{ invoice, subscription: changed }]);
  } else await recordPaid(work, [{ invoice, paymentMethodId: null }]);
  return adjustment.id;
}

/**
 * Requests the first payment of a change, which keeps its bill until the payment is there: a declined card leaves that
 * payment, and nothing else of the attempt. The next attempt is the same change.
 */
async function payFirst(work: Work, plan: AdjustmentPlan, bill: Bill): Promise<string> {
  const { subscription, paymentMethodId } = plan;
  assert(paymentMethodId !== null, 'a charge has something to charge');
  const draft = await holdBill(work, bill);
  const again = await findAdjustmentToTryAgain(work, subscription.id);
  const adjustment: AdjustmentRow = {
    ...newAdjustment(work, plan, null),
    ...(again === null ? {} : { id: again.id, createdAt: again.createdAt }),
    status: 'awaiting_payment',
    replacedNextAttemptAt: await restReplaced(work, plan),
    bill: JSON.stringify(draft.request),
  };
  await (again === null ? insertAdjustment : replaceAdjustment)(work, adjustment);
  const paid = { purchaseId: null, adjustmentId: adjustment.id, subscriptionId: subscription.id, paymentMethodId };
  const description = draft.lines[0]?.description ?? `Change of ${subscription.name ?? 'the plan'}`;
  await requestFirstCharge(work, { ...paid, description, draft }, assumeMade);
  return adjustment.id;
}

/** Suspends retries of the invoice that the change replaces. Returns its retry date. */
async function restReplaced(work: Work, { charge: { replacedInvoiceId } }: AdjustmentPlan): Promise<Instant | null> {
  if (replacedInvoiceId === null) return null;
  const invoices = await lockInvoices(work, [replacedInvoiceId]);
  await saveCollections(work, invoices.map(attemptBegun));
  return invoices[0]?.nextAttemptAt ?? null;
}

function newAdjustment(work: Work, plan: AdjustmentPlan, invoice: InvoiceRow | null): AdjustmentRow {
  const { subscription, charge, timing, dueDate } = plan;
  const statusNow = invoice === null || dueDate !== null ? 'applied' : 'awaiting_payment';
  return {
    id: newId('subscriptionAdjustment', subscription.id),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: subscription.pricingModelId,
    subscriptionId: subscription.id,
    status: timing === 'immediately' ? statusNow : 'scheduled',
    effectiveAt: plan.effectiveAt,
    items: plan.items,
    priceOverrides: plan.priceOverrides,
    capacities: plan.capacities,
    invoiceId: invoice?.id ?? null,
    bill: null,
    replacedInvoiceId: charge.replacedInvoiceId,
    replacedNextAttemptAt: null,
    billingAnchor: null,
    billingCycleAnchorDate: null,
    ...charge.begins?.anchor,
    prorationWaived: charge.waived,
    failureCode: null,
    failureMessage: null,
  };
}

/** A subscription after an update. `move`: its billing anchor moves, and a period begins with that. */
export interface UpdatedSubscription {
  readonly subscription: SubscriptionRow;
  readonly move: { readonly adjustment: AdjustmentRow; readonly amounts: MoveAmounts } | null;
}

/**
 * Updates a subscription, or moves its billing anchor. A move is charged after the commit, and made when it is paid, as a
 * change of plan; `readAdjusted` returns the outcome. A request that moves the anchor changes nothing else, because a
 * failed charge changes nothing.
 */
export async function changeSubscription(
  work: Work,
  id: string,
  { billingCycleAnchorDate: anchor, ...update }: SubscriptionUpdate,
): Promise<UpdatedSubscription> {
  const { customer, subscription } = await lockCurrent(work, id);
  const effect = await judgeAnchorMove(work, subscription, anchor);
  if (anchor === undefined || effect === 'none')
    return { subscription: await updateSubscription(work, id, update), move: null };
  const { id: bodyId, ...others } = update;
  if (bodyId !== undefined && bodyId !== id) throw new Problem('idMismatch', { pathId: id, bodyId });
  if (Object.values(others).some((value) => value !== undefined))
    throw invalid(['subscription', 'billingCycleAnchorDate'], 'must be changed alone, because it may be charged');
  if (effect === 'counts_on') {
    const count = { billingCycleAnchorDate: anchor, billingAnchor: 'anniversary' } as const;
    const [next = subscription] = await rescheduled(work, [{ ...subscription, ...count }]);
    const saved = await saveSubscription(work, id, { ...count, interimAt: next.interimAt });
    await publishSubscription(work, 'subscription.updated', saved, customer);
    return { subscription: saved, move: null };
  }
  const reviewed = await endReview(work, subscription);
  // Late usage may have made an invoice of a draft of nothing.
  if (reviewed !== subscription) await judgeAnchorMove(work, reviewed, anchor);
  const plan = await planAnchorMove(work, reviewed, anchor);
  const amounts = MoveAmounts.parse(amountsOf(plan));
  const adjustment = await findAdjustment(work, await changeNow(work, plan));
  assert(adjustment, 'changes are never deleted');
  return { subscription: await reread(work, { id }), move: { adjustment, amounts } };
}

/**
 * The state of a change after its charge: applied, or awaiting a slow payment. Refuses with `adjustmentNotPaid` a
 * change whose charge failed: nothing has changed.
 */
export async function readAdjusted(
  work: Work,
  answered: Pick<Adjusted, 'resolvedTiming' | 'isUpgrade'> & { readonly adjustment: { readonly id: string } },
): Promise<Adjusted> {
  const adjusted = await read(work, answered.adjustment.id, answered);
  const { status, failureCode, failureMessage } = adjusted.adjustment;
  if (status === 'failed') {
    throw new Problem('adjustmentNotPaid', { code: failureCode ?? 'declined', reason: failureMessage ?? '' });
  }
  return adjusted;
}

async function read(
  work: Work,
  adjustmentId: string,
  { resolvedTiming, isUpgrade }: Pick<Adjusted, 'resolvedTiming' | 'isUpgrade'>,
): Promise<Adjusted> {
  const adjustment = await findAdjustment(work, adjustmentId);
  assert(adjustment, 'changes are never deleted');
  const subscription = await reread(work, { id: adjustment.subscriptionId });
  const items = await listActiveItems(work, [{ subscriptionId: subscription.id, at: work.now }]);
  const subscriptionItems = items.filter((item) => !item.manuallyCreated);
  return { subscription, subscriptionItems, resolvedTiming, isUpgrade, adjustment };
}

const PreviewItem = z.object({
  name: z.string(),
  unitPrice: WholeNumber,
  pricing: Pricing.nullable(),
  quantity: z.int(),
  priceId: z.string().nullable(),
});

/** The amounts of a change that begins a period. */
export const MoveAmounts = z.object({
  prorationAmount: WholeNumber.meta({ description: 'The amount for the change, before discount and tax.' }),
  carriedOverAmount: WholeNumber.meta({
    description:
      'Usage, commitment and setup fee that the invoice of the change bills too: of an unpaid invoice which it replaces, and with another ' +
      'interval or billing anchor all open usage.',
  }),
  takenOffAmount: WholeNumber.meta({
    description:
      'With another interval or billing anchor: the unused paid value of the present period that is taken off.',
  }),
  keptAmount: WholeNumber.meta({
    description: 'With another interval or billing anchor: the rest of that value, which is taken off later invoices.',
  }),
  newBillingPeriodEnd: Timestamp.meta({
    description: 'With another interval or billing anchor: the end of the period that begins with the change.',
  }),
  discountAmount: WholeNumber,
  taxAmount: WholeNumber,
  totalDue: WholeNumber.meta({
    description: 'The amount that would be charged now or, with `dueDate`, invoiced.',
  }),
});
type MoveAmounts = z.infer<typeof MoveAmounts>;

/** A preview of a plan change. All but the first two keys are present only if it is possible, `reason` only if not. */
export const AdjustmentPreview = z
  .object({
    canAdjust: z.boolean(),
    previewGeneratedAt: Timestamp,
    reason: z.string().optional().meta({ description: 'The reason why the change would be refused.' }),
    ...MoveAmounts.partial().shape,
    dueDate: Timestamp.optional().meta({
      description:
        'When the invoice would be due: under net terms and without a payment method the change is made before its payment.',
    }),
    currentPlanTotal: WholeNumber.optional().meta({ description: 'The price of a whole period before the change.' }),
    newPlanTotal: WholeNumber.optional(),
    resolvedTiming: ResolvedTiming.optional(),
    effectiveDate: Timestamp.optional(),
    isUpgrade: z.boolean().optional(),
    percentThroughBillingPeriod: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({ description: 'The elapsed part of the billing period at the effective date.' }),
    billingPeriodEnd: Timestamp.optional(),
    paymentMethod: z
      .object({ id: z.string(), type: PaymentMethodType, last4: z.string().optional(), brand: z.string().optional() })
      .optional()
      .meta({ description: 'The payment method that would be charged.' }),
    currentSubscriptionItems: z.array(PreviewItem).optional(),
    newSubscriptionItems: z.array(PreviewItem).optional(),
  })
  .meta({ id: 'AdjustmentPreview' });
export type AdjustmentPreview = z.infer<typeof AdjustmentPreview>;

/**
 * The result that `adjustSubscription` would have now. Both use the same decision, so they cannot differ; a refusal
 * becomes the reason.
 */
export async function previewAdjustment(work: Work, id: string, requested: NewAdjustment): Promise<AdjustmentPreview> {
  try {
    return await requirePreview(work, id, requested);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { canAdjust: false, previewGeneratedAt: work.now, reason: error.message };
  }
}

/** The preview of a change that is possible. Refuses what `adjustSubscription` refuses. */
export async function requirePreview(work: Work, id: string, requested: NewAdjustment): Promise<AdjustmentPreview> {
  const { subscription } = await lockCurrent(work, id);
  return previewOf(work, subscription, requested);
}

/** The same without a lock and without a write. Refuses with `subscriptionBehind` a subscription with overdue work. */
export async function readPreview(work: Work, id: string, requested: NewAdjustment): Promise<AdjustmentPreview> {
  return previewOf(work, await findUpToDate(work, id), requested);
}

async function previewOf(
  work: Work,
  subscription: SubscriptionRow,
  requested: NewAdjustment,
): Promise<AdjustmentPreview> {
  const plan = await planAdjustment(work, subscription, requested, { takesUsage: false });
  return { canAdjust: true, previewGeneratedAt: work.now, ...(await toPreview(work, plan)) };
}

async function toPreview(work: Work, plan: AdjustmentPlan): Promise<Partial<AdjustmentPreview>> {
  const { period, effectiveAt } = plan;
  return {
    ...amountsOf(plan),
    ...(plan.dueDate === null ? {} : { dueDate: plan.dueDate }),
    currentPlanTotal: plan.currentTotal,
    newPlanTotal: plan.newTotal,
    resolvedTiming: plan.timing,
    effectiveDate: effectiveAt,
    isUpgrade: plan.isUpgrade,
    percentThroughBillingPeriod: (effectiveAt - period.startAt) / (period.endAt - period.startAt),
    billingPeriodEnd: period.endAt,
    ...(await paymentMethodOf(work, plan)),
    currentSubscriptionItems: plan.current.map(toPreviewItem),
    newSubscriptionItems: plan.items.map(toPreviewItem),
  };
}

function amountsOf({ charge, draft }: AdjustmentPlan): Partial<MoveAmounts> {
  return {
    prorationAmount: charge.amount,
    carriedOverAmount: charge.carriedOver,
    ...(charge.begins === null
      ? {}
      : {
          takenOffAmount: charge.takenOff,
          keptAmount: charge.kept,
          newBillingPeriodEnd: charge.begins.period.end,
        }),
    discountAmount: draft?.discountAmount ?? 0n,
    taxAmount: draft?.taxAmount ?? 0n,
    totalDue: draft?.total ?? 0n,
  };
}

function toPreviewItem({ name, unitPrice, pricing, quantity, priceId }: SubscriptionItemRow | PlanItem) {
  return { name: name ?? '', unitPrice, pricing, quantity, priceId };
}

async function paymentMethodOf(
  work: Work,
  { paymentMethodId }: AdjustmentPlan,
): Promise<Pick<AdjustmentPreview, 'paymentMethod'>> {
  const method = paymentMethodId === null ? null : await findPaymentMethod(work, paymentMethodId);
  if (method === null) return {};
  const { id, type, paymentMethodData } = method;
  const known = (key: 'last4' | 'brand') =>
    typeof paymentMethodData[key] === 'string' ? { [key]: paymentMethodData[key] } : {};
  return { paymentMethod: { id, type, ...known('last4'), ...known('brand') } };
}

/**
 * Cancels a scheduled change and makes the claims that were to end with it permanent. Returns the number of items that
 * the change would have added or changed. Refuses with `noAdjustmentScheduled`.
 */
export async function cancelScheduledAdjustment(
  work: Work,
  id: string,
): Promise<{ subscription: SubscriptionRow; canceledItemCount: number }> {
  const { customer, subscription } = await lockCurrent(work, id);
  if (subscription.scheduledAdjustmentAt === null) throw new Problem('noAdjustmentScheduled', { id });
  const adjustment = await findPendingAdjustment(work, id);
  assert(adjustment, 'what is scheduled has its row');
  const items = await listActiveItems(work, [{ subscriptionId: id, at: work.now }]);
  const { added, changed } = decideItemChanges(
    items.filter((item) => !item.manuallyCreated),
    adjustment.items,
  );
  await cancelPendingAdjustments(work, [id]);
  await clearTemporaryClaims(work, id);
  const saved = await saveSubscription(work, id, { scheduledAdjustmentAt: null });
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return { subscription: saved, canceledItemCount: added.length + changed.length };
}
