import type { Hook } from '../http/hook.ts';
import { stripeOf } from '../payments/actions.ts';
import { takeStripeEvent } from '../payments/actions-processor-events.ts';

/** Endpoints for events of payment processors. */
export const processorEventHooks: readonly Hook[] = [
  {
    path: '/processor-events/stripe',
    async handle({ database, services }, { body, headers }) {
      const signature = headers['stripe-signature'];
      await takeStripeEvent(database, stripeOf(services), body, typeof signature === 'string' ? signature : undefined);
    },
  },
];
