import { z } from 'zod';
import { route } from '../http/route.ts';
import { booleanFilter, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateSecret,
  updateWebhook,
  webhookServicesOf,
} from '../webhooks/actions.ts';
import { listDeliveries, replayEvents, sendSample } from '../webhooks/actions-deliveries.ts';
import { DeliveryStatus, WebhookDelivery } from '../webhooks/delivery.ts';
import { EventType } from '../webhooks/event.ts';
import { ReplayRequest } from '../webhooks/replay.ts';
import { SampleRequest } from '../webhooks/sample.ts';
import { NewWebhook, Webhook, WebhookChange, WebhookId } from '../webhooks/webhook.ts';

const tag = 'Webhooks';

const params = z.object({ id: WebhookId });

const returns = z.object({ webhook: Webhook });

const withSecret = z.object({
  webhook: Webhook,
  secret: z.string().meta({ description: '`whsec_` and the key of the signatures in base64.' }),
});

const withDelivery = z.object({ delivery: WebhookDelivery });

export const webhookRoutes = [
  route({
    method: 'POST',
    path: '/webhooks',
    summary: 'Register a webhook',
    description: 'The secret that its messages are signed with is answered here and never again.',
    tag,
    body: z.object({ webhook: NewWebhook }),
    returns: withSecret,
    refuses: ['pricingModelNotFound', 'defaultPricingModelNotFound', 'tooManyWebhooks'],
    handle: (work, { body }, { services }) => createWebhook(work, body.webhook, webhookServicesOf(services)),
    sealedWith: ({ services }) => webhookServicesOf(services).encryption,
  }),
  route({
    method: 'PUT',
    path: '/webhooks/{id}',
    summary: 'Update a webhook',
    description:
      'To switch on one that the service has switched off, set active to true. What was not sent meanwhile is not sent by ' +
      'itself: ask for it with POST /webhooks/{id}/replay.',
    tag,
    params,
    body: z.object({ webhook: WebhookChange }),
    returns,
    refuses: ['webhookNotFound', 'idMismatch'],
    handle: async (work, { params, body }, { services }) => ({
      webhook: await updateWebhook(work, params.id, body.webhook, webhookServicesOf(services)),
    }),
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
    method: 'POST',
    path: '/webhooks/{id}/rotate-secret',
    summary: "Change a webhook's secret",
    description:
      'The new secret is answered here and never again. For 24 hours each message is signed with the old one too, so that a ' +
      'receiver that knows either accepts it. Another rotation within that time ends the oldest of the three at once.',
    tag,
    params,
    returns: withSecret,
    refuses: ['webhookNotFound'],
    handle: (work, { params }, { services }) => rotateSecret(work, params.id, webhookServicesOf(services)),
    sealedWith: ({ services }) => webhookServicesOf(services).encryption,
  }),
  route({
    method: 'GET',
    path: '/webhooks/{id}/deliveries',
    summary: 'List the deliveries of a webhook',
    tag,
    params,
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
    method: 'POST',
    path: '/webhooks/{id}/test',
    summary: 'Send a sample to a webhook',
    description:
      'A message that looks like an event of the type, with ids that end in `sample`: nothing happened, and there are no such ' +
      'records. It is sent once, whatever the filter says; how it went is in the delivery.',
    tag,
    params,
    body: z.object({ test: SampleRequest.prefault({}) }),
    returns: withDelivery,
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
    params,
    body: z.object({ replay: ReplayRequest }),
    returns: z.object({ replay: z.object({ deliveries: z.int().meta({ description: 'How many events are sent.' }) }) }),
    refuses: ['webhookNotFound', 'webhookInactive', 'replayTooLarge'],
    handle: async (work, { params, body }) => ({ replay: await replayEvents(work, params.id, body.replay) }),
  }),
];
