import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { attemptBegun } from '../invoicing/collection.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import { lockInvoices, saveCollections } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import { Problem } from '../kernel/problem.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import type { AdjustmentRow } from '../subscriptions/adjustment.ts';
import type { NewAdjustment, ResolvedTiming } from '../subscriptions/adjustment-input.ts';
import { saveSubscription } from '../subscriptions/store.ts';
import { findAdjustment, insertAdjustment } from '../subscriptions/store-adjustments.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import type { SubscriptionItemRow } from '../subscriptions/subscription-item.ts';
import { applyNow } from './apply-adjustment.ts';
import { issueBills } from './bill-subscription.ts';
import { holdCurrent } from './catch-up.ts';
import { chargeInvoice } from './charge-invoice.ts';
import type { Held } from './end-subscription.ts';
import { type AdjustmentPlan, planAdjustment } from './plan-adjustment.ts';
import { recordPaid } from './record-paid.ts';
import { reread } from './subscribe.ts';

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
 * after the commit, and the items change when the payment succeeds; `readAdjusted` returns the outcome.
 */
export async function adjustSubscription(work: Work, id: string, asked: NewAdjustment): Promise<Adjusted> {
  const held = await holdCurrent(work, id);
  const plan = await planAdjustment(work, held.subscription, asked);
  const adjustmentId = await (plan.timing === 'immediately' ? changeNow(work, plan) : schedule(work, held, plan));
  return read(work, adjustmentId, { resolvedTiming: plan.timing, isUpgrade: plan.isUpgrade });
}

async function schedule(work: Work, { customer, subscription }: Held, plan: AdjustmentPlan): Promise<string> {
  const adjustment = newAdjustment(work, plan, null);
  await insertAdjustment(work, adjustment);
  const saved = await saveSubscription(work, subscription.id, { scheduledAdjustmentAt: plan.effectiveAt });
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return adjustment.id;
}

async function changeNow(work: Work, plan: AdjustmentPlan): Promise<string> {
  const { subscription, effectiveAt: at, bill, paymentMethodId } = plan;
  const [invoice] = bill === null ? [] : await issueBills(work, [bill]);
  const nextAttemptAt = await restReplaced(work, plan);
  const adjustment = { ...newAdjustment(work, plan, invoice ?? null), replacedNextAttemptAt: nextAttemptAt };
  await insertAdjustment(work, adjustment);
  if (!invoice) await applyNow(work, [{ adjustment, subscription, at }]);
  else if (invoice.status === 'paid') await recordPaid(work, [{ invoice, paymentMethodId: null }]);
  else {
    assert(paymentMethodId !== null, 'a charge has something to charge');
    await chargeInvoice(work, invoice, paymentMethodId);
  }
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
  const { subscription, charge, timing } = plan;
  const statusNow = invoice === null ? 'applied' : 'awaiting_payment';
  return {
    id: newId('subscriptionAdjustment'),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: subscription.pricingModelId,
    subscriptionId: subscription.id,
    status: timing === 'immediately' ? statusNow : 'scheduled',
    effectiveAt: plan.effectiveAt,
    items: plan.items,
    capacities: plan.capacities,
    invoiceId: invoice?.id ?? null,
    replacedInvoiceId: charge.replacedInvoiceId,
    replacedNextAttemptAt: null,
    prorationWaived: charge.waived,
    failureCode: null,
    failureMessage: null,
  };
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
