import type { Hook } from '../http/hook.ts';
import { takeStripeEvent } from '../payments/actions-processor-events.ts';

/** Endpoints for events of payment processors. */
export const processorEventHooks: readonly Hook[] = [
  {
    path: '/processor-events/stripe',
    async handle(context, { body, headers }) {
      const signature = headers['stripe-signature'];
      await takeStripeEvent(context, body, typeof signature === 'string' ? signature : undefined);
    },
  },
];
