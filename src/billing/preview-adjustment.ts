import { z } from 'zod';
import type { Work } from '../database/work.ts';
import { Timestamp, WholeNumber } from '../kernel/json.ts';
import { Problem } from '../kernel/problem.ts';
import { findPaymentMethod } from '../payments/actions.ts';
import { PaymentMethodType } from '../payments/payment-method.ts';
import { type NewAdjustment, ResolvedTiming } from '../subscriptions/adjustment-input.ts';
import { holdCurrent } from './catch-up.ts';
import { type AdjustmentPlan, planAdjustment } from './plan-adjustment.ts';

const PreviewItem = z.object({
  name: z.string().nullable(),
  unitPrice: WholeNumber,
  quantity: z.int(),
  priceId: z.string().nullable(),
});

/** A preview of a plan change. All but the first two keys are present only if it is possible, `reason` only if not. */
export const AdjustmentPreview = z
  .object({
    canAdjust: z.boolean(),
    previewGeneratedAt: Timestamp,
    reason: z.string().optional().meta({ description: 'The reason why the change would be refused.' }),
    prorationAmount: WholeNumber.optional().meta({
      description: 'The amount for the change, before discount and tax.',
    }),
    carriedOverAmount: WholeNumber.optional().meta({
      description: 'Usage on an unpaid invoice of the period, which the invoice of the change replaces.',
    }),
    discountAmount: WholeNumber.optional(),
    taxAmount: WholeNumber.optional(),
    totalDue: WholeNumber.optional().meta({ description: 'The amount that would be charged now.' }),
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
export async function previewAdjustment(work: Work, id: string, asked: NewAdjustment): Promise<AdjustmentPreview> {
  const previewGeneratedAt = work.now;
  try {
    const { subscription } = await holdCurrent(work, id);
    const plan = await planAdjustment(work, subscription, asked);
    return { canAdjust: true, previewGeneratedAt, ...(await toPreview(work, plan)) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { canAdjust: false, previewGeneratedAt, reason: error.message };
  }
}

async function toPreview(work: Work, plan: AdjustmentPlan): Promise<Partial<AdjustmentPreview>> {
  const { period, charge, draft, effectiveAt } = plan;
  return {
    prorationAmount: charge.amount,
    carriedOverAmount: charge.carriedOver,
    discountAmount: draft?.discountAmount ?? 0n,
    taxAmount: draft?.taxAmount ?? 0n,
    totalDue: draft?.total ?? 0n,
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

function toPreviewItem({ name, unitPrice, quantity, priceId }: z.infer<typeof PreviewItem>) {
  return { name, unitPrice, quantity, priceId };
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
