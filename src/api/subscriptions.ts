import { z } from 'zod';
import { addFeature } from '../billing/add-feature.ts';
import { type Adjusted, adjustSubscription, readAdjusted } from '../billing/adjust.ts';
import { cancelSubscription } from '../billing/cancel.ts';
import { cancelScheduledAdjustment } from '../billing/cancel-scheduled-adjustment.ts';
import { pauseSubscription } from '../billing/pause.ts';
import { AdjustmentPreview, previewAdjustment } from '../billing/preview-adjustment.ts';
import { resumeSubscription } from '../billing/resume.ts';
import { type RetriedPayment, reportRetry, retryPayment } from '../billing/retry-payment.ts';
import { reread, subscribe } from '../billing/subscribe.ts';
import { uncancelSubscription } from '../billing/uncancel.ts';
import type { Work } from '../database/work.ts';
import { SubscriptionItemFeature } from '../entitlements/subscription-item-feature.ts';
import { route } from '../http/route.ts';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { renderPayment } from '../payments/actions.ts';
import { Payment } from '../payments/payment.ts';
import { getSubscription, listSubscriptions } from '../subscriptions/actions.ts';
import { adjustmentStatuses } from '../subscriptions/adjustment.ts';
import { NewAdjustment, ResolvedTiming } from '../subscriptions/adjustment-input.ts';
import { Cancellation } from '../subscriptions/cancellation.ts';
import { Pause } from '../subscriptions/pause.ts';
import { Subscription, SubscriptionId, SubscriptionStatus, toSubscription } from '../subscriptions/subscription.ts';
import { SubscriptionItem } from '../subscriptions/subscription-item.ts';
import { NewSubscription } from '../subscriptions/subscription-start.ts';

const tag = 'Subscriptions';

const returns = z.object({ subscription: Subscription });

const params = z.object({ id: SubscriptionId });

const adjustmentBody = z.object({ adjustment: NewAdjustment });

const AdjustmentAnswer = z.object({
  subscription: Subscription,
  subscriptionItems: z.array(SubscriptionItem).meta({ description: 'The items of the plan that count now.' }),
  resolvedTiming: ResolvedTiming,
  isUpgrade: z.boolean().meta({ description: 'Whether a period costs more than before.' }),
  adjustment: z
    .object({ id: z.string(), status: z.enum(adjustmentStatuses), invoiceId: z.string().nullable() })
    .meta({ description: 'What became of the change: awaiting_payment while its charge takes its time.' }),
});

function renderAdjusted(work: Work, { subscription, subscriptionItems, adjustment, ...decided }: Adjusted) {
  return {
    subscription: toSubscription(work, subscription),
    subscriptionItems: subscriptionItems.map((item) => ({ ...item, livemode: work.livemode })),
    ...decided,
    adjustment: { id: adjustment.id, status: adjustment.status, invoiceId: adjustment.invoiceId },
  };
}

const AddFeature = z
  .object({
    featureId: z.string().min(1).max(255).nullable().optional(),
    featureSlug: z.string().min(1).max(255).nullable().optional(),
    grantCreditsImmediately: z
      .boolean()
      .optional()
      .meta({ description: 'Give the credits now, once for each billing period. Only for a usage_credit_grant.' }),
  })
  .refine(({ featureId, featureSlug }) => ((featureId ?? null) === null) !== ((featureSlug ?? null) === null), {
    message: 'send exactly one of featureId and featureSlug',
  })
  .meta({ id: 'AddFeature' });

function renderRetry(work: Work, { subscription, payment }: RetriedPayment) {
  return { subscription: toSubscription(work, subscription), payment: renderPayment(work, payment) };
}

export const subscriptionRoutes = [
  route({
    method: 'GET',
    path: '/subscriptions',
    summary: 'List the subscriptions',
    tag,
    query: pageQuery({
      status: SubscriptionStatus.optional(),
      customerId: textFilter,
      priceId: textFilter,
      pricingModelId: textFilter,
    }),
    returns: pageOf(Subscription),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listSubscriptions(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/subscriptions/{id}',
    summary: 'Get a subscription',
    tag,
    params,
    returns: z.object({ subscription: Subscription }),
    refuses: ['subscriptionNotFound'],
    handle: async (work, { params }) => ({ subscription: await getSubscription(work, params.id) }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions',
    summary: 'Subscribe a customer to a price',
    description:
      'A paid subscription takes the place of a free one. What is due now is charged before the answer, which shows how that ended: a subscription whose first payment fails is canceled.',
    tag,
    query: z.object({
      pricingModelId: textFilter.meta({
        description: 'Needed only when several pricing models have this customerExternalId.',
      }),
    }),
    body: NewSubscription,
    returns,
    refuses: [
      'processorUnavailable',
      'customerNotFound',
      'customerArchived',
      'externalIdAmbiguous',
      'priceNotFound',
      'priceInactive',
      'priceNotSubscribable',
      'currentSubscriptionExists',
      'conflictingRow',
    ],
    handle: async (work, { body, query }) => ({
      subscription: toSubscription(work, await subscribe(work, body, query.pricingModelId)),
    }),
    afterEffects: async (work, answer) => ({
      subscription: toSubscription(work, await reread(work, answer.subscription)),
    }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/cancel',
    summary: 'Cancel a subscription',
    description:
      'A subscription that has ended is answered as it is. With at_future_date it renews as ever until endDate: a period ' +
      'that begins before is billed whole, and nothing is given back. Another date takes the place of the one before.',
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
      'invoiceTooLarge',
    ],
    handle: async (work, input) => ({
      subscription: toSubscription(work, await cancelSubscription(work, input.params.id, input.body.cancellation)),
    }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/uncancel',
    summary: 'Take a scheduled cancel back',
    description: 'A subscription that is not to be canceled is answered as it is.',
    tag,
    params,
    returns,
    refuses: ['subscriptionNotFound', 'paymentMethodRequired'],
    handle: async (work, input) => ({
      subscription: toSubscription(work, await uncancelSubscription(work, input.params.id)),
    }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/adjust',
    summary: 'Change the plan of a subscription',
    description:
      'The items named become the complete set. A change that costs something now is charged before the answer, and the ' +
      'items change when the money has arrived: a failed charge changes nothing and is answered 402.',
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
    summary: 'Preview a change of plan',
    description:
      'What adjust would do with the same body now. A change that would be refused is answered with the reason.',
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
    summary: 'Take a scheduled change of plan back',
    description: 'Everything is as it was before the change was asked for.',
    tag,
    params,
    returns: z.object({
      subscription: Subscription,
      canceledItemCount: z.int().min(0).meta({ description: 'Items that the change would have added or changed.' }),
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
    summary: 'Pause a subscription',
    description:
      'It gives nothing and costs nothing until it goes on: at resumesAt, or when it is resumed. What was paid for the ' +
      'rest of its period is kept and taken off its next invoices. Claims stay and count again later; usage events are ' +
      'taken, and billed with the first invoice after the pause. One that is paused already gets the new resumesAt.',
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
    summary: 'Let a paused subscription go on',
    description:
      'Its next period begins now and ends where a period of it would have ended anyway; it is billed its share of the ' +
      'price, less what was kept for paused time. One that is not paused is answered as it is.',
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
    summary: 'Add a feature to a subscription',
    description:
      'By hand, beside what its plan gives. Again: a toggle stays as it is, credits and capacity of a resource add up.',
    tag,
    params,
    body: AddFeature,
    returns: z.object({ subscriptionItemFeature: SubscriptionItemFeature }),
    refuses: [
      'subscriptionNotFound',
      'subscriptionTerminal',
      'featureNotFound',
      'featureInactive',
      'creditsNotGrantable',
    ],
    handle: async (work, { params: { id }, body }) => ({ subscriptionItemFeature: await addFeature(work, id, body) }),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/retry-payment',
    summary: 'Try to collect what a subscription owes, now',
    description:
      'Charges the oldest invoice for a billing period that is not paid. What is due now is charged before the answer; a charge that fails is answered with 402 and counts as an attempt. One that takes its time is answered as it stands.',
    tag,
    params,
    body: z.object({
      paymentMethodId: z
        .string()
        .min(1)
        .max(255)
        .nullish()
        .meta({ description: 'What to charge this time; what the subscription is charged on when absent.' }),
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
