import { z } from 'zod';
import { route } from '../platform/route.ts';
import type { Work } from '../platform/work.ts';
import { adjustmentStatuses } from '../subscriptions/adjustment.ts';
import { NewAdjustment, ResolvedTiming } from '../subscriptions/adjustment-input.ts';
import { Subscription, SubscriptionId, toSubscription } from '../subscriptions/subscription.ts';
import { SubscriptionItem } from '../subscriptions/subscription-item.ts';
import { type Adjusted, adjustSubscription, readAdjusted } from './adjust.ts';
import { cancelScheduledAdjustment } from './cancel-scheduled-adjustment.ts';
import { AdjustmentPreview, previewAdjustment } from './preview-adjust.ts';

const tag = 'Subscriptions';
const params = z.object({ id: SubscriptionId });
const body = z.object({ adjustment: NewAdjustment });

const Answer = z.object({
  subscription: Subscription,
  subscriptionItems: z.array(SubscriptionItem).meta({ description: 'The items of the plan that count now.' }),
  resolvedTiming: ResolvedTiming,
  isUpgrade: z.boolean().meta({ description: 'Whether a period costs more than before.' }),
  adjustment: z
    .object({ id: z.string(), status: z.enum(adjustmentStatuses), invoiceId: z.string().nullable() })
    .meta({ description: 'What became of the change: awaiting_payment while its charge takes its time.' }),
});

function render(work: Work, { subscription, subscriptionItems, adjustment, ...decided }: Adjusted) {
  return {
    subscription: toSubscription(work, subscription),
    subscriptionItems: subscriptionItems.map((item) => ({ ...item, livemode: work.livemode })),
    ...decided,
    adjustment: { id: adjustment.id, status: adjustment.status, invoiceId: adjustment.invoiceId },
  };
}

export const adjustRoutes = [
  route({
    method: 'POST',
    path: '/subscriptions/{id}/adjust',
    summary: 'Change the plan of a subscription',
    description:
      'The items named become the complete set. A change that costs something now is charged before the answer, and the ' +
      'items change when the money has arrived: a failed charge changes nothing and is answered 402.',
    tag,
    params,
    body,
    returns: Answer,
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
    handle: async (work, input) => render(work, await adjustSubscription(work, input.params.id, input.body.adjustment)),
    afterEffects: async (work, answer) => render(work, await readAdjusted(work, answer)),
  }),
  route({
    method: 'POST',
    path: '/subscriptions/{id}/preview-adjust',
    summary: 'Preview a change of plan',
    description:
      'What adjust would do with the same body now. A change that would be refused is answered with the reason.',
    tag,
    params,
    body,
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
];
