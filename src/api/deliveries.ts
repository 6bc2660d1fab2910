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
    cell: 'id',
    needs: 'deliveries:read',
    summary: 'Get a delivery',
    description: 'Returns one delivery with its attempts of the last 30 days, newest last, at most 100.',
    tag,
    params,
    returns: z.object({ delivery: WebhookDelivery, attempts: z.array(WebhookAttempt) }),
    refuses: ['deliveryNotFound'],
    handle: (work, { params }) => getDelivery(work, params.id),
  }),
  route({
    method: 'POST',
    path: '/deliveries/{id}/retry',
    cell: 'id',
    needs: 'deliveries:write',
    summary: 'Retry a delivery',
    description:
      'Sends the message again now, even if it was delivered before. If the attempt fails, the message is ' +
      'retried like a new one.',
    tag,
    params,
    returns,
    refuses: ['deliveryNotFound', 'webhookInactive'],
    handle: async (work, { params }) => ({ delivery: await retryDelivery(work, params.id) }),
  }),
];
