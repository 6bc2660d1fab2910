import { z } from 'zod';
import { route } from '../http/route.ts';
import { textFilter } from '../kernel/pagination.ts';
import { createResource, getResource, listResources, updateResource } from '../pricing/actions-resources.ts';
import { Resource, ResourceId } from '../pricing/resource.ts';
import { ResourceChange, ResourceInput } from '../pricing/resource-input.ts';

const tag = 'Resources';

export const resourceRoutes = [
  route({
    method: 'POST',
    path: '/resources',
    summary: 'Create a resource',
    tag,
    body: z.object({ resource: ResourceInput }),
    returns: z.object({ resource: Resource }),
    refuses: ['pricingModelNotFound', 'defaultPricingModelNotFound', 'slugTaken'],
    handle: async (work, { body }) => ({ resource: await createResource(work, body.resource) }),
  }),
  route({
    method: 'GET',
    path: '/resources',
    summary: 'List the resources',
    description: 'All of them, active and inactive: this list has no pages.',
    tag,
    query: z.object({ pricingModelId: textFilter }),
    returns: z.object({ resources: z.array(Resource) }),
    refuses: ['pricingModelNotFound'],
    handle: async (work, { query }) => ({ resources: await listResources(work, query.pricingModelId) }),
  }),
  route({
    method: 'GET',
    path: '/resources/{id}',
    summary: 'Get a resource',
    tag,
    params: z.object({ id: ResourceId }),
    returns: z.object({ resource: Resource }),
    refuses: ['resourceNotFound'],
    handle: async (work, { params }) => ({ resource: await getResource(work, params.id) }),
  }),
  route({
    method: 'PUT',
    path: '/resources/{id}',
    summary: 'Update a resource',
    description: 'One that is inactive can no longer be claimed; what is claimed stays claimed.',
    tag,
    params: z.object({ id: ResourceId }),
    body: z.object({ resource: ResourceChange }),
    returns: z.object({ resource: Resource }),
    refuses: ['resourceNotFound', 'idMismatch', 'slugTaken'],
    handle: async (work, { params, body }) => ({ resource: await updateResource(work, params.id, body.resource) }),
  }),
];
