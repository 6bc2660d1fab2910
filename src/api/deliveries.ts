import { z } from 'zod';
import { route } from '../http/route.ts';
import { idSchema } from '../kernel/id.ts';
import { getDelivery, retryDelivery } from '../webhooks/actions-deliveries.ts';
import { WebhookAttempt, WebhookDelivery } from '../webhooks/delivery.ts';

const tag = 'Webhooks';

const params = z.object({ id: idSchema('webhookDelivery') });

const returns = z.object({ delivery: WebhookDelivery });

export const deliveryRoutes = [
  route({
    method: 'GET',
    path: '/deliveries/{id}',
    summary: 'Get a webhook delivery',
    description: 'With its attempts of the last 30 days, the newest last, 100 at the most.',
    tag,
    params,
    returns: z.object({ delivery: WebhookDelivery, attempts: z.array(WebhookAttempt) }),
    refuses: ['deliveryNotFound'],
    handle: (work, { params }) => getDelivery(work, params.id),
  }),
  route({
    method: 'POST',
    path: '/deliveries/{id}/retry',
    summary: 'Send a webhook delivery once more',
    description: 'At once, also when it succeeded. If it fails, it is sent again as a new event is.',
    tag,
    params,
    returns,
    refuses: ['deliveryNotFound', 'webhookInactive'],
    handle: async (work, { params }) => ({ delivery: await retryDelivery(work, params.id) }),
  }),
];
