import { z } from 'zod';
import { route } from '../platform/route.ts';
import { Pause } from '../subscriptions/pause.ts';
import { Subscription, SubscriptionId, toSubscription } from '../subscriptions/subscription.ts';
import { pauseSubscription } from './pause.ts';
import { resumeSubscription } from './resume-subscription.ts';
import { reread } from './subscribe.ts';

const tag = 'Subscriptions';
const returns = z.object({ subscription: Subscription });
const params = z.object({ id: SubscriptionId });

export const pauseRoutes = [
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
];
