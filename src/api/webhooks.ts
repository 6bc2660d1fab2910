import { z } from 'zod';
import { gatheredRoute, route } from '../http/route.ts';
import {
  booleanFilter,
  createdFilters,
  customerFilters,
  pageOf,
  pageQuery,
  pageRequest,
  textFilter,
} from '../kernel/pagination.ts';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateSecret,
  updateWebhook,
  webhookServicesOf,
} from '../webhooks/actions.ts';
import { listDeliveries, replayEvents, replayHere, sendSample } from '../webhooks/actions-deliveries.ts';
import { DeliveryStatus, ReplayRequest, WebhookDelivery } from '../webhooks/delivery.ts';
import { EventType } from '../webhooks/event.ts';
import { SampleRequest } from '../webhooks/sample.ts';
import { joinCopies, NewWebhook, Webhook, WebhookChange, WebhookId } from '../webhooks/webhook.ts';

const tag = 'Webhooks';

const params = z.object({ id: WebhookId });

const returns = z.object({ webhook: Webhook });

const withSecret = z.object({
  webhook: Webhook,
  secret: z.string().meta({ description: 'The signing secret: `whsec_` and the key in base64.' }),
});

const withDelivery = z.object({ delivery: WebhookDelivery });

export const webhookRoutes = [
  route({
    method: 'POST',
    path: '/webhooks',
    cell: 'home',
    needs: 'webhooks:admin',
    summary: 'Create a webhook',
    description:
      'Registers an address that receives the events of a pricing model. Returns the webhook and the secret ' +
      'that signs its messages, which is never shown again. An empty `filterTypes` stands for all event types ' +
      'but `usage_balance.low`, `customer.erased`, `attempts.limit_reached` and those of credit notes.',
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
    cell: 'home',
    needs: 'webhooks:admin',
    summary: 'Update a webhook',
    description:
      'Changes the fields that are sent. To enable a webhook that the service has disabled, set `active` to ' +
      '`true`. Events that it missed meanwhile are not sent by themselves: replay them.',
    tag,
    params,
    body: z.object({ webhook: WebhookChange }),
    returns,
    refuses: ['webhookNotFound', 'idMismatch'],
    handle: async (work, { params, body }, { services }) => ({
      webhook: await updateWebhook(work, params.id, body.webhook, webhookServicesOf(services)),
    }),
  }),
  gatheredRoute({
    path: '/webhooks/{id}',
    needs: 'webhooks:read',
    summary: 'Get a webhook',
    description: 'Returns one webhook, without its secret.',
    tag,
    params,
    returns,
    refuses: ['webhookNotFound'],
    read: (work, { params }) => getWebhook(work, params.id),
    join: ([webhook, ...copies]) => ({ webhook: joinCopies(webhook, copies) }),
  }),
  gatheredRoute({
    path: '/webhooks',
    needs: 'webhooks:read',
    summary: 'List webhooks',
    description: 'Returns the webhooks of the environment, without their secrets.',
    tag,
    query: pageQuery({ active: booleanFilter, pricingModelId: textFilter, ...createdFilters }),
    returns: pageOf(Webhook),
    refuses: ['invalidCursor'],
    read: (work, { query }) => listWebhooks(work, pageRequest(query)),
    join: ([page, ...others]) => {
      const copies = others.flatMap(({ data }) => data);
      return { ...page, data: page.data.map((webhook) => joinCopies(webhook, copies)) };
    },
  }),
  route({
    method: 'DELETE',
    path: '/webhooks/{id}',
    cell: 'home',
    needs: 'webhooks:admin',
    summary: 'Delete a webhook',
    description:
      'Deletes a webhook with its deliveries, and returns it as it was. Messages that are waiting are not sent.',
    tag,
    params,
    returns,
    refuses: ['webhookNotFound'],
    handle: async (work, { params }) => ({ webhook: await deleteWebhook(work, params.id) }),
  }),
  route({
    method: 'POST',
    path: '/webhooks/{id}/rotate-secret',
    cell: 'home',
    needs: 'webhooks:admin',
    summary: 'Rotate the secret of a webhook',
    description:
      'Returns a new secret, which is never shown again. For 24 hours, messages are signed with the old and the ' +
      'new secret. Another rotation within that time ends the older of the two at once.',
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
    cell: 'all',
    merged: 'asc',
    needs: 'deliveries:read',
    summary: 'List the deliveries of a webhook',
    description:
      'Returns the deliveries of a webhook, optionally of one event, event type, object, customer or status.',
    tag,
    params,
    query: pageQuery({
      ...customerFilters,
      status: DeliveryStatus.optional(),
      eventId: textFilter,
      eventType: EventType.optional(),
      objectId: textFilter,
      ...createdFilters,
    }),
    returns: pageOf(WebhookDelivery),
    refuses: ['webhookNotFound', 'invalidCursor'],
    handle: (work, { params, query }) => listDeliveries(work, params.id, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/webhooks/{id}/test',
    cell: 'home',
    needs: 'webhooks:admin',
    summary: 'Send a sample message',
    description:
      'Sends one message that looks like an event of the type, whatever the filter of the webhook. Its ids end ' +
      'in `sample` and name no records. Returns the delivery, which shows the outcome later.',
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
    cell: 'home',
    needs: 'deliveries:write',
    summary: 'Replay events',
    description:
      'Sends the events of the pricing model from `since` to `until` again, in order and with their ids. Events ' +
      'from before the webhook or while it was inactive are included. Deliveries that wait for their next ' +
      'attempt are left alone and not counted.',
    tag,
    params,
    body: z.object({ replay: ReplayRequest }),
    returns: z.object({
      replay: z.object({ deliveries: z.int().meta({ description: 'The number of events that are sent.' }) }),
    }),
    refuses: ['webhookNotFound', 'webhookInactive', 'replayTooLarge'],
    asks: (work, { params, body }) => replayHere(work, params.id, body.replay),
    handle: async (work, { params, body }, _, others) => ({
      replay: await replayEvents(work, params.id, body.replay, others),
    }),
  }),
];
