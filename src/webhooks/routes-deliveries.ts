import { z } from 'zod';
import { idSchema } from '../kernel/id.ts';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { getDelivery, listDeliveries, replayEvents, retryDelivery, sendSample } from './actions-deliveries.ts';
import { DeliveryStatus, WebhookAttempt, WebhookDelivery } from './delivery.ts';
import { EventType } from './event.ts';
import { ReplayRequest } from './replay.ts';
import { SampleRequest } from './sample.ts';
import { WebhookId } from './webhook.ts';

const tag = 'Webhooks';
const ofWebhook = z.object({ id: WebhookId });
const ofDelivery = z.object({ id: idSchema('webhookDelivery') });
const returns = z.object({ delivery: WebhookDelivery });

export const deliveryRoutes = [
  route({
    method: 'GET',
    path: '/webhooks/{id}/deliveries',
    summary: 'List the deliveries of a webhook',
    tag,
    params: ofWebhook,
    query: pageQuery({
      status: DeliveryStatus.optional(),
      eventId: textFilter,
      eventType: EventType.optional(),
      objectId: textFilter,
    }),
    returns: pageOf(WebhookDelivery),
    refuses: ['webhookNotFound', 'invalidCursor'],
    handle: (work, { params, query }) => listDeliveries(work, params.id, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/deliveries/{id}',
    summary: 'Get a webhook delivery',
    description: 'With its attempts of the last 30 days, the newest last, 100 at the most.',
    tag,
    params: ofDelivery,
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
    params: ofDelivery,
    returns,
    refuses: ['deliveryNotFound', 'webhookInactive'],
    handle: async (work, { params }) => ({ delivery: await retryDelivery(work, params.id) }),
  }),
  route({
    method: 'POST',
    path: '/webhooks/{id}/test',
    summary: 'Send a sample to a webhook',
    description:
      'A message that looks like an event of the type, with ids that end in `sample`: nothing happened, and there are no such ' +
      'records. It is sent once, whatever the filter says; how it went is in the delivery.',
    tag,
    params: ofWebhook,
    body: z.object({ test: SampleRequest.prefault({}) }),
    returns,
    refuses: ['webhookNotFound', 'webhookInactive'],
    handle: async (work, { params, body }) => ({ delivery: await sendSample(work, params.id, body.test.type) }),
  }),
  route({
    method: 'POST',
    path: '/webhooks/{id}/replay',
    summary: 'Send events to a webhook again',
    description:
      "Every event of the webhook's pricing model that happened from since until before until, in order, with the ids that it " +
      'had: also what was told before there was the webhook, or while it was not active. Deliveries that wait for their next attempt ' +
      'are left alone and do not count.',
    tag,
    params: ofWebhook,
    body: z.object({ replay: ReplayRequest }),
    returns: z.object({ replay: z.object({ deliveries: z.int().meta({ description: 'How many events are sent.' }) }) }),
    refuses: ['webhookNotFound', 'webhookInactive', 'replayTooLarge'],
    handle: async (work, { params, body }) => ({ replay: await replayEvents(work, params.id, body.replay) }),
  }),
];
