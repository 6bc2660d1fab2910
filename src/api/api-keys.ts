import { z } from 'zod';
import { route } from '../http/route.ts';
import { booleanFilter, createdFilters, pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';
import {
  endApiKey,
  getApiKey,
  giveApiKey,
  giveRotatedApiKey,
  listApiKeys,
  updateApiKey,
} from '../organizations/actions.ts';
import {
  ApiKey,
  ApiKeyChange,
  ApiKeyId,
  ApiKeyRotation,
  NewApiKey,
  NewApiKeyAnswer,
} from '../organizations/api-key.ts';
import { webhookServicesOf } from '../webhooks/actions.ts';

const tag = 'API keys';

const params = z.object({ id: ApiKeyId });

export const apiKeyRoutes = [
  route({
    method: 'GET',
    path: '/api-keys/{id}',
    cell: 'home',
    needs: 'api-keys:read',
    summary: 'Get an API key',
    description: 'Returns one API key of the environment. Its token is masked.',
    tag,
    params,
    returns: z.object({ apiKey: ApiKey }),
    refuses: ['apiKeyNotFound'],
    handle: async (work, { params }) => ({ apiKey: await getApiKey(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/api-keys',
    cell: 'home',
    needs: 'api-keys:read',
    summary: 'List API keys',
    description: 'Returns the API keys of the environment, active and ended ones. Their tokens are masked.',
    tag,
    query: pageQuery({ active: booleanFilter, ...createdFilters }),
    returns: pageOf(ApiKey),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listApiKeys(work, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/api-keys',
    cell: 'home',
    needs: 'api-keys:admin',
    summary: 'Create an API key',
    description:
      'Creates a key of the same environment, and returns it with its token, which is never shown again. The new key ' +
      'has no more than the key that asks: neither permissions, nor pricing models, nor time.',
    tag,
    body: z.object({ apiKey: NewApiKey }),
    returns: NewApiKeyAnswer,
    refuses: [
      'permissionMissing',
      'apiKeyOutlived',
      'outsidePinnedPricingModel',
      'pricingModelNotFound',
      'tooManyRecords',
    ],
    handle: (work, { body }) => giveApiKey(work, body.apiKey, Date.now()),
    sealedWith: ({ services }) => webhookServicesOf(services).encryption,
  }),
  route({
    method: 'PUT',
    path: '/api-keys/{id}',
    cell: 'home',
    needs: 'api-keys:admin',
    summary: 'Update an API key',
    description:
      'Changes the fields that are sent. What is added must be had by the key that asks. Takes effect with the next ' +
      'request of the changed key.',
    tag,
    params,
    body: z.object({ apiKey: ApiKeyChange }),
    returns: z.object({ apiKey: ApiKey }),
    refuses: ['apiKeyNotFound', 'idMismatch', 'permissionMissing', 'apiKeyOutlived', 'apiKeyEnded', 'apiKeyReplaced'],
    handle: async (work, { params, body }) => ({
      apiKey: await updateApiKey(work, params.id, body.apiKey, Date.now()),
    }),
  }),
  route({
    method: 'POST',
    path: '/api-keys/{id}/rotate',
    cell: 'home',
    needs: 'api-keys:admin',
    summary: 'Rotate an API key',
    description:
      'Creates a key with the name, permissions, pricing model and expiry of this one, and returns it with its token, ' +
      'which is never shown again. The old key ends after `overlapSeconds`, by default at once.',
    tag,
    params,
    body: ApiKeyRotation,
    returns: NewApiKeyAnswer,
    refuses: [
      'apiKeyNotFound',
      'permissionMissing',
      'apiKeyOutlived',
      'apiKeyEnded',
      'apiKeyReplaced',
      'tooManyRecords',
    ],
    handle: (work, { params, body }) => giveRotatedApiKey(work, params.id, body.overlapSeconds, Date.now()),
    sealedWith: ({ services }) => webhookServicesOf(services).encryption,
  }),
  route({
    method: 'POST',
    path: '/api-keys/{id}/revoke',
    cell: 'home',
    needs: 'api-keys:admin',
    summary: 'Revoke an API key',
    description: 'Ends a key: its next request is refused. A repeat changes nothing.',
    tag,
    params,
    returns: z.object({ apiKey: ApiKey }),
    refuses: ['apiKeyNotFound'],
    handle: async (work, { params }) => ({ apiKey: await endApiKey(work, params.id, Date.now()) }),
  }),
];
