import { z } from 'zod';
import {
  type Adjusted,
  AdjustmentPreview,
  adjustSubscription,
  cancelScheduledAdjustment,
  changeSubscription,
  MoveAmounts,
  previewAdjustment,
  readAdjusted,
  type UpdatedSubscription,
} from '../billing/adjust.ts';
import { cancelSubscription, uncancelSubscription } from '../billing/cancel.ts';
import { lockCurrent } from '../billing/catch-up.ts';
import { type RetriedPayment, reportRetry, retryPayment } from '../billing/collect-by-hand.ts';
import { getSubscriptionDetails, SubscriptionDetails } from '../billing/customer-billing.ts';
import { addFeature } from '../billing/grant-by-hand.ts';
import { pauseSubscription, resumeSubscription } from '../billing/pause.ts';
import { readSubscribed, reread, subscribe } from '../billing/subscribe.ts';
import { findUpcomingInvoice } from '../billing/upcoming-invoice.ts';
import type { Work } from '../database/work.ts';
import { SubscriptionItemFeature } from '../entitlements/subscription-item-feature.ts';
import { route } from '../http/route.ts';
import { listSubscriptionDiscounts, putOnDiscount, takeOffDiscount } from '../invoicing/actions-discounts.ts';
import { UpcomingInvoice } from '../invoicing/invoice.ts';
import { UpcomingInvoiceLineItem } from '../invoicing/invoice-line-item.ts';
import {
  createdFilters,
  customerFilters,
  metadataFilter,
  pageOf,
  pageQuery,
  pageRequest,
  textFilter,
} from '../kernel/pagination.ts';
import { renderPayment } from '../payments/actions.ts';
import { endProgramAttempt, takeProgramAttempt } from '../payments/actions-attempts.ts';
import { Payment } from '../payments/payment.ts';
import { GivenDiscount, SubscriptionDiscount, SubscriptionDiscountId } from '../pricing/discount.ts';
import { FeatureValueInput } from '../pricing/feature.ts';
import { getSubscription, listSubscriptions } from '../subscriptions/actions.ts';
import { adjustmentStatuses } from '../subscriptions/adjustment.ts';
import { NewAdjustment, ResolvedTiming } from '../subscriptions/adjustment-input.ts';
import { Cancellation } from '../subscriptions/cancellation.ts';
import { Pause } from '../subscriptions/pause.ts';
import { Subscription, SubscriptionId, SubscriptionStatus, toSubscription } from '../subscriptions/subscription.ts';
import { SubscriptionItem } from '../subscriptions/subscription-item.ts';
import { NewSubscription, SubscriptionUpdate } from '../subscriptions/subscription-start.ts';

const tag = 'Subscriptions';

const returns = z.object({ subscription: Subscription });

const params = z.object({ id: SubscriptionId });

const adjustmentBody = z.object({ adjustment: NewAdjustment });

const AdjustmentAnswer = z.object({
  subscription: Subscription,
  subscriptionItems: z.array(SubscriptionItem).meta({ description: 'The present items of the plan.' }),
  resolvedTiming: ResolvedTiming,
  isUpgrade: z.boolean().meta({ description: 'True if a period costs more than before.' }),
  adjustment: z
    .object({ id: z.string(), status: z.enum(adjustmentStatuses), invoiceId: z.string().nullable() })
    .meta({ description: 'The state of the change: `awaiting_payment` while its charge is in progress.' }),
});

function renderAdjusted(work: Work, { subscription, subscriptionItems, adjustment, ...decided }: Adjusted) {
  return {
    subscription: toSubscription(work, subscription),
    subscriptionItems: subscriptionItems.map((item) => ({ ...item, livemode: work.livemode })),
    ...decided,
    adjustment: { id: adjustment.id, status: adjustment.status, invoiceId: adjustment.invoiceId },
  };
}

const UpdateAnswer = z.object({
  subscription: Subscription,
  adjustment: MoveAmounts.extend(AdjustmentAnswer.shape.adjustment.shape)
    .optional()
    .meta({ description: 'The move of the billing anchor, and what it costs. Absent when no period begins with it.' }),
});

function renderUpdated(work: Work, { subscription, move }: UpdatedSubscription): z.infer<typeof UpdateAnswer> {
  const rendered = toSubscription(work, subscription);
  if (move === null) return { subscription: rendered };
  const { id, status, invoiceId } = move.adjustment;
  return { subscription: rendered, adjustment: { ...move.amounts, id, status, invoiceId } };
}

const AddFeature = z
  .object({
    featureId: z.string().min(1).max(255).nullable().optional(),
    featureSlug: z.string().min(1).max(255).nullable().optional(),
    grantCreditsImmediately: z.boolean().optional().meta({
      description:
        'If true, the credits are granted now, once in each billing period. Only for a feature of type `usage_credit_grant`.',
    }),
    value: FeatureValueInput.nullish().meta({
      description:
        'For a feature of type `value`: the value that this subscription has in place of that of its plan. Null or ' +
        'absent: that of the feature.',
    }),
  })
  .refine(({ featureId, featureSlug }) => ((featureId ?? null) === null) !== ((featureSlug ?? null) === null), {
    message: 'send exactly one of featureId and featureSlug',
  })
  .meta({ id: 'AddFeature' });

function renderRetry(work: Work, { subscription, payment }: RetriedPayment) {
  return { subscription: toSubscription(work, subscription), payment: renderPayment(work, payment) };
}

const ChangedDiscount = z.object({
  subscriptionDiscount: SubscriptionDiscount,
  upcomingInvoice: z
    .object({ invoice: UpcomingInvoice, invoiceLineItems: z.array(UpcomingInvoiceLineItem) })
    .nullable()
    .meta({ description: 'The next invoice after the change; null if none follows.' }),
});

async function withNextInvoice(work: Work, subscriptionDiscount: SubscriptionDiscount) {
  const upcomingInvoice = await findUpcomingInvoice(work, subscriptionDiscount.subscriptionId);
  return { subscriptionDiscount, upcomingInvoice };
}

export const subscriptionRoutes = [
  route({
    method: 'GET',
    path: '/subscriptions',
    cell: 'all',
    merged: 'asc',
    needs: 'subscriptions:read',
    summary: 'List subscriptions',
    description: 'Returns the subscriptions of the environment, optionally those of a customer, price or status.',
    tag,
    query: pageQuery({
      status: SubscriptionStatus.optional(),
      ...customerFilters,
      priceId: textFilter,
      pricingModelId: textFilter,
      billingAnchor: z.enum(['anniversary', 'calendar', 'day']).optional(),
      metadata: metadataFilter,
      ...createdFilters,
    }),
    returns: pageOf(Subscription),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listSubscriptions(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/subscriptions/{id}',
    cell: 'id',
    needs: 'subscriptions:read',
    summary: 'Get a subscription',
    description: 'Returns one subscription with its status, billing period and plan.',
    tag,
    params,
    returns: z.object({ subscription: Subscription }),
    refuses: ['subscriptionNotFound'],
    handle: async (work, { params }) => ({ subscription: await getSubscription(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/subscriptions/{id}/details',
    cell: 'id',
    needs: 'subscriptions:read',
    summary: 'Get a subscription with its contents',
    description: 'Returns one subscription with its items and their prices, its features and its balances.',
    tag,
    params,
    returns: z.object({ subscription: SubscriptionDetails }),
    refuses: ['subscriptionNotFound'],
    handle: async (work, { params: { id } }) => ({ subscription: await getSubscriptionDetails(work, id) }),
  }),
  route({
    method: 'PUT',
    path: '/subscriptions/{id}',
    cell: 'id',
    needs: 'subscriptions:write',
    summary: 'Update a subscription',
    description:
      'Changes the name, the metadata, the payment methods and the end of a running trial, as far as they are sent. The ' +
      'first payment is due at the new end, and no credits are granted before. `billingCycleAnchorDate` moves the billing ' +
      'anchor: a period begins now and ends there. What it costs is charged before the answer, and `adjustment` says ' +
      'it; a dry run answers the same amounts. If the charge fails, nothing changes and the answer is 402. The plan ' +
      'changes with `POST /subscriptions/{id}/adjust`.',
    tag,
    params,
    body: z.object({ subscription: SubscriptionUpdate }),
    returns: UpdateAnswer,
    refuses: [
      'subscriptionNotFound',
      'subscriptionTerminal',
      'trialEndFixed',
      'billingAnchorFixed',
      'idMismatch',
      'customerArchived',
      'paymentMethodRequired',
      'adjustmentNotPaid',
      'processorUnavailable',
      'invoiceTooLarge',
    ],
    handle: async (work, input) =>
      renderUpdated(work, await changeSubscription(work, input.params.id, input.body.subscription)),
    afterEffects: async (work, answer) => {
      if (answer.adjustment === undefined) return answer;
      const { subscription, adjustment } = await readAdjusted(work, {
        adjustment: answer.adjustment,
        resolvedTiming: 'immediately',
        isUpgrade: false,
      });
      const { status } = adjustment;
      return { subscription: toSubscription(work, subscription), adjustment: { ...answer.adjustment, status } };
    },
  }),
  route({
    method: 'POST',
    path: '/subscriptions',
    cell: 'customer',
    needs: 'subscriptions:write',
    summary: 'Create a subscription',
    description:
      'Subscribes a customer to a price and charges what is due now before the answer. A paid subscription ' +
      'replaces the free one when its first payment has arrived. If that fails, the answer is 402 with the reason ' +
      'and the canceled `subscription`, and the free plan goes on. A customer with another paid subscription is ' +
      'refused with 409, unless the settings allow several.',
    tag,
    query: z.object({
      pricingModelId: textFilter.meta({
        description: 'Required only if several pricing models have this `customerExternalId`.',
      }),
    }),
    body: NewSubscription,
    returns,
    refuses: [
      'tooManyRecords',
      'processorUnavailable',
      'customerNotFound',
      'customerArchived',
      'externalIdAmbiguous',
      'priceNotFound',
      'priceInactive',
      'priceNotSubscribable',
      'currentSubscriptionExists',
      'nextSubscriptionTooEarly',
      'nextSubscriptionBooked',
      'discountAlreadyUsed',
      'conflictingRow',
      'subscriptionNotPaid',
      'tooManyAttempts',
    ],
    handle: async (work, { body, query }, { services }) => {
      const subscription = await subscribe(work, body, query.pricingModelId);
      await takeProgramAttempt(work, services, subscription.customerId);
      return { subscription: toSubscription(work, subscription) };
    },
    afterEffects: async (work, answer, { services }) => {
      const subscription = await readSubscribed(work, answer.subscription);
      const { customerId, status } = subscription;
      await endProgramAttempt(work, services, { customerId, isPaid: status === 'active' });
      return { subscription: toSubscription(work, subscription) };
    },
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/cancel',
    cell: 'id',
    needs: 'cancellations:write',
    summary: 'Cancel a subscription',
    description:
      'Ends a subscription now, with its billing period, or at `endDate`, and returns it. Until `endDate` it ' +
      'renews as usual: a period that has begun is billed whole and nothing is refunded. A later request ' +
      'replaces the date. A subscription that has ended is returned unchanged. The default plan is refused with ' +
      '400. `reason` is that of the customer.',
    tag,
    params,
    body: z.object({ cancellation: Cancellation }),
    returns,
    refuses: [
      'processorUnavailable',
      'subscriptionNotFound',
      'defaultPlanCannotBeCanceled',
      'adjustmentScheduled',
      'subscriptionDoesNotRenew',
      'currentBillingPeriodNotFound',
      'nextSubscriptionBooked',
      'invoiceTooLarge',
    ],
    handle: async (work, input) => ({
      subscription: toSubscription(work, await cancelSubscription(work, input.params.id, input.body.cancellation)),
    }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/uncancel',
    cell: 'id',
    needs: 'cancellations:write',
    summary: 'Undo a scheduled cancellation',
    description:
      'Keeps a subscription that was scheduled to end. A subscription without a scheduled cancellation is ' +
      'returned unchanged. A paid subscription needs a payment method, or the request is refused with 400. ' +
      'While the next subscription is booked, it is refused with 409.',
    tag,
    params,
    returns,
    refuses: ['subscriptionNotFound', 'paymentMethodRequired', 'nextSubscriptionBooked'],
    handle: async (work, input) => ({
      subscription: toSubscription(work, await uncancelSubscription(work, input.params.id)),
    }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/adjust',
    cell: 'id',
    needs: 'subscriptions:write',
    summary: 'Change the plan of a subscription',
    description:
      'Replaces the items of a subscription by the complete set in `newSubscriptionItems`, now or with the end ' +
      'of the billing period. A change that costs something now is charged before the answer, and takes effect ' +
      'once it is paid. If the charge fails, nothing changes and the answer is 402. Under net terms and ' +
      'without a payment method the change is made now, and its invoice is due later. A change that would leave ' +
      'fewer places of a resource than are claimed is refused with 409.',
    tag,
    params,
    body: adjustmentBody,
    returns: AdjustmentAnswer,
    refuses: [
      'processorUnavailable',
      'subscriptionNotFound',
      'subscriptionTerminal',
      'subscriptionNotAdjustable',
      'adjustmentScheduled',
      'adjustmentAwaitsPayment',
      'subscriptionPaused',
      'adjustmentNeedsPeriod',
      'subscriptionItemNotFound',
      'activePriceNotFound',
      'priceNotSubscribable',
      'capacityBelowClaims',
      'paymentMethodRequired',
      'adjustmentNotPaid',
      'invoiceTooLarge',
      'currentSubscriptionExists',
    ],
    handle: async (work, input) =>
      renderAdjusted(work, await adjustSubscription(work, input.params.id, input.body.adjustment)),
    afterEffects: async (work, answer) => renderAdjusted(work, await readAdjusted(work, answer)),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/preview-adjust',
    cell: 'id',
    needs: 'subscriptions:read',
    summary: 'Preview a change of plan',
    description:
      'Returns the amounts that `adjust` would charge or invoice for the same body now, and changes nothing. If the change ' +
      'would be refused, `canAdjust` is `false` and `reason` says why.',
    tag,
    params,
    body: adjustmentBody,
    returns: AdjustmentPreview,
    refuses: [],
    handle: (work, input) => previewAdjustment(work, input.params.id, input.body.adjustment),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/cancel-scheduled-adjustment',
    cell: 'id',
    needs: 'subscriptions:write',
    summary: 'Undo a scheduled change of plan',
    description:
      'Removes the change that is scheduled for the end of the billing period and restores the plan before it. ' +
      'Without a scheduled change the request is refused with 400.',
    tag,
    params,
    returns: z.object({
      subscription: Subscription,
      canceledItemCount: z
        .int()
        .min(0)
        .meta({ description: 'The number of items that the change would have added or changed.' }),
    }),
    refuses: ['subscriptionNotFound', 'noAdjustmentScheduled'],
    handle: async (work, input) => {
      const { subscription, canceledItemCount } = await cancelScheduledAdjustment(work, input.params.id);
      return { subscription: toSubscription(work, subscription), canceledItemCount };
    },
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/pause',
    cell: 'id',
    needs: 'subscriptions:write',
    summary: 'Pause a subscription',
    description:
      'Stops a subscription until `resumesAt` or a resume: it grants nothing and costs nothing. The unused part ' +
      'of the paid period is credited to the next invoices. Claims are kept, and usage is recorded and billed ' +
      'after the pause. If the subscription is already paused, `resumesAt` is replaced.',
    tag,
    params,
    body: z.object({ pause: Pause.prefault({}) }),
    returns,
    refuses: ['subscriptionNotFound', 'subscriptionTerminal', 'adjustmentScheduled', 'subscriptionNotPausable'],
    handle: async (work, input) => ({
      subscription: toSubscription(work, await pauseSubscription(work, input.params.id, input.body.pause)),
    }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/resume',
    cell: 'id',
    needs: 'subscriptions:write',
    summary: 'Resume a paused subscription',
    description:
      'Begins a billing period now that ends at the usual boundary. Its share of the price is billed, less the ' +
      'credit for the time paused. A subscription that is not paused is returned unchanged.',
    tag,
    params,
    returns,
    refuses: ['subscriptionNotFound', 'invoiceTooLarge', 'processorUnavailable'],
    handle: async (work, input) => ({
      subscription: toSubscription(work, await resumeSubscription(work, input.params.id)),
    }),
    afterEffects: async (work, answer) => ({
      subscription: toSubscription(work, await reread(work, answer.subscription)),
    }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/add-feature',
    cell: 'id',
    needs: 'subscriptions:write',
    summary: 'Add a feature to a subscription',
    description:
      'Grants a feature to one subscription, in addition to its plan. If it has the feature already, a toggle ' +
      'stays as it is, credits or capacity add up, and a value is replaced. `grantCreditsImmediately` is refused with 400 for a ' +
      'feature without credits.',
    tag,
    params,
    body: AddFeature,
    returns: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    refuses: [
      'tooManyRecords',
      'subscriptionNotFound',
      'subscriptionTerminal',
      'featureNotFound',
      'featureInactive',
      'creditsNotGrantable',
    ],
    handle: async (work, { params: { id }, body }) => ({ subscriptionItemFeature: await addFeature(work, id, body) }),
  }),
  route({
    method: 'GET',
    path: '/subscriptions/{id}/discounts',
    cell: 'id',
    needs: 'subscriptions:read',
    summary: 'List the discounts of a subscription',
    description:
      'Returns the discounts that a subscription has, at most 20, in the order in which they lower its invoices: each is ' +
      'computed on what the ones before it leave.',
    tag,
    params,
    returns: z.object({ data: z.array(SubscriptionDiscount) }),
    refuses: ['subscriptionNotFound'],
    handle: async (work, { params: { id } }) => ({ data: await listSubscriptionDiscounts(work, id) }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/discounts',
    cell: 'id',
    needs: 'subscriptions:write',
    summary: 'Put a discount on a subscription',
    description:
      'Puts a discount on a subscription, behind those that it has, by its id or its code. The invoices from now on carry ' +
      'it as long as its duration says; those that are there stay as they are. The limits of the discount count, and the ' +
      'items of the subscription are the order. The answer shows the next invoice, and a dry run previews it.',
    tag,
    params,
    body: z.object({ discount: GivenDiscount }),
    returns: ChangedDiscount,
    refuses: [
      'subscriptionNotFound',
      'subscriptionTerminal',
      'subscriptionNotAdjustable',
      'subscriptionNotCharged',
      'discountAlreadyUsed',
      'discountNotApplicable',
      'tooManyRecords',
      'processorUnavailable',
      'invoiceTooLarge',
    ],
    handle: async (work, { params: { id }, body }) =>
      withNextInvoice(work, await putOnDiscount(work, await lockCurrent(work, id), body.discount)),
  }),
  route({
    method: 'DELETE',
    path: '/subscriptions/{id}/discounts/{discountId}',
    cell: 'id',
    needs: 'subscriptions:write',
    summary: 'Take a discount off a subscription',
    description:
      'Takes a discount off a subscription. Invoices that are there keep it, and so does a change within a period whose ' +
      'invoice has it. The customer may redeem it again if no invoice ever had it. The answer shows the next invoice.',
    tag,
    params: params.extend({ discountId: SubscriptionDiscountId }),
    returns: ChangedDiscount,
    refuses: [
      'subscriptionNotFound',
      'subscriptionTerminal',
      'subscriptionNotAdjustable',
      'subscriptionDiscountNotFound',
      'processorUnavailable',
      'invoiceTooLarge',
    ],
    handle: async (work, { params: { id, discountId } }) =>
      withNextInvoice(work, await takeOffDiscount(work, await lockCurrent(work, id), discountId)),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/retry-payment',
    cell: 'id',
    needs: 'subscriptions:money',
    summary: 'Retry a failed payment',
    description:
      'Charges the oldest unpaid invoice for a billing period of the subscription before the answer. It counts ' +
      'as an attempt, and a failed charge is answered with 402. A charge that takes longer is returned in its ' +
      'present status. If nothing is owed, the request is refused with 400.',
    tag,
    params,
    body: z.object({
      paymentMethodId: z
        .string()
        .min(1)
        .max(255)
        .nullish()
        .meta({ description: 'The payment method for this attempt, by default that of the subscription.' }),
    }),
    returns: z.object({ subscription: Subscription, payment: Payment }),
    refuses: [
      'processorUnavailable',
      'subscriptionNotFound',
      'subscriptionTerminal',
      'subscriptionNotCharged',
      'nothingOwed',
      'invoiceAlreadyBeingPaid',
      'paymentMethodRequired',
      'paymentFailed',
    ],
    handle: async (work, input) =>
      renderRetry(work, await retryPayment(work, input.params.id, input.body.paymentMethodId ?? null)),
    afterEffects: async (work, answer) => renderRetry(work, await reportRetry(work, answer)),
  }),
];
