import { z } from 'zod';
import { route } from '../http/route.ts';
import { booleanFilter, createdFilters, pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';
import { getApiKey, listApiKeys } from '../organizations/actions.ts';
import { ApiKey, ApiKeyId } from '../organizations/api-key.ts';

const tag = 'API keys';

export const apiKeyRoutes = [
  route({
    method: 'GET',
    path: '/api-keys/{id}',
    summary: 'Get an API key',
    description: 'Returns one API key of the environment. Its token is masked.',
    tag,
    params: z.object({ id: ApiKeyId }),
    returns: z.object({ apiKey: ApiKey }),
    refuses: ['apiKeyNotFound'],
    handle: async (work, { params }) => ({ apiKey: await getApiKey(work, params.id) }),
  }),
  route({
    method: 'GET',
    path: '/api-keys',
    summary: 'List API keys',
    description: 'Returns the API keys of the environment, active and ended ones. Their tokens are masked.',
    tag,
    query: pageQuery({ active: booleanFilter, ...createdFilters }),
    returns: pageOf(ApiKey),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listApiKeys(work, pageRequest(query)),
  }),
];
