import { z } from 'zod';
import { booleanFilter, pageOf, pageQuery, pageRequest } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { getApiKey, listApiKeys } from './actions.ts';
import { ApiKey, ApiKeyId } from './api-key.ts';

const tag = 'API keys';

export const organizationRoutes = [
  route({
    method: 'GET',
    path: '/utils/ping',
    summary: 'See that the service answers and takes the key',
    tag: 'Utilities',
    returns: z.object({ message: z.literal('pong') }),
    refuses: [],
    handle: async () => ({ message: 'pong' as const }),
  }),
  route({
    method: 'GET',
    path: '/api-keys/{id}',
    summary: 'Get an API key',
    tag,
    params: z.object({ id: ApiKeyId }),
    returns: z.object({ apiKey: ApiKey }),
    refuses: ['apiKeyNotFound'],
    handle: async (work, { params }) => ({ apiKey: await getApiKey(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/api-keys',
    summary: 'List the API keys',
    tag,
    query: pageQuery({ active: booleanFilter }),
    returns: pageOf(ApiKey),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listApiKeys(work, pageRequest(query)),
  }),
];
