import { z } from 'zod';
import { booleanFilter, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import {
  createWebhook,
  deleteWebhook,
  getEvent,
  getWebhook,
  listDeliveries,
  listEvents,
  listWebhooks,
  updateWebhook,
} from './actions.ts';
import { DeliveryStatus, WebhookDelivery } from './delivery.ts';
import { Event, EventId, EventType } from './event.ts';
import { NewWebhook, Webhook, WebhookChange, WebhookId } from './webhook.ts';

const tag = 'Webhooks';
const params = z.object({ id: WebhookId });
const returns = z.object({ webhook: Webhook });

export const webhookRoutes = [
  route({
    method: 'POST',
    path: '/webhooks',
    summary: 'Register a webhook',
    description: 'The secret that its messages are signed with is answered here and never again.',
    tag,
    body: z.object({ webhook: NewWebhook }),
    returns: z.object({
      webhook: Webhook,
      secret: z.string().meta({ description: '`whsec_` and the key of the signatures in base64.' }),
    }),
    refuses: ['pricingModelNotFound', 'defaultPricingModelNotFound'],
    handle: (work, { body }) => createWebhook(work, body.webhook),
  }),
  route({
    method: 'PUT',
    path: '/webhooks/{id}',
    summary: 'Update a webhook',
    tag,
    params,
    body: z.object({ webhook: WebhookChange }),
    returns,
    refuses: ['webhookNotFound', 'idMismatch'],
    handle: async (work, { params, body }) => ({ webhook: await updateWebhook(work, params.id, body.webhook) }),
  }),
  route({
    method: 'GET',
    path: '/webhooks/{id}',
    summary: 'Get a webhook',
    tag,
    params,
    returns,
    refuses: ['webhookNotFound'],
    handle: async (work, { params }) => ({ webhook: await getWebhook(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/webhooks',
    summary: 'List the webhooks',
    tag,
    query: pageQuery({ active: booleanFilter, pricingModelId: textFilter }),
    returns: pageOf(Webhook),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listWebhooks(work, pageRequest(query)),
  }),
  route({
    method: 'DELETE',
    path: '/webhooks/{id}',
    summary: 'Delete a webhook',
    description: 'Its deliveries go with it: what was not sent yet is not sent. Answers the webhook as it was.',
    tag,
    params,
    returns,
    refuses: ['webhookNotFound'],
    handle: async (work, { params }) => ({ webhook: await deleteWebhook(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/webhooks/{id}/deliveries',
    summary: 'List the deliveries of a webhook',
    tag,
    params,
    query: pageQuery({ status: DeliveryStatus.optional(), eventId: textFilter }),
    returns: pageOf(WebhookDelivery),
    refuses: ['webhookNotFound', 'invalidCursor'],
    handle: (work, { params, query }) => listDeliveries(work, params.id, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/events',
    summary: 'List the events',
    tag,
    query: pageQuery({ type: EventType.optional(), objectId: textFilter }),
    returns: pageOf(Event),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listEvents(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/events/{id}',
    summary: 'Get an event',
    tag,
    params: z.object({ id: EventId }),
    returns: z.object({ event: Event }),
    refuses: ['eventNotFound'],
    handle: async (work, { params }) => ({ event: await getEvent(work, params.id) }),
  }),
];
