import { z } from 'zod';
import { route } from '../http/route.ts';
import { longPageFields } from '../kernel/pagination.ts';
import {
  createResource,
  getResource,
  listResources,
  ResourcesQuery,
  updateResource,
} from '../pricing/actions-features.ts';
import { Resource, ResourceChange, ResourceId, ResourceInput } from '../pricing/resource.ts';

const tag = 'Resources';

export const resourceRoutes = [
  route({
    method: 'POST',
    path: '/resources',
    cell: 'home',
    needs: 'resources:catalog',
    summary: 'Create a resource',
    description:
      'Creates a resource that customers can claim units of. A slug that another active resource has is refused ' +
      'with 409.',
    tag,
    body: z.object({ resource: ResourceInput }),
    returns: z.object({ resource: Resource }),
    refuses: ['tooManyRecords', 'pricingModelNotFound', 'defaultPricingModelNotFound', 'slugTaken'],
    handle: async (work, { body }) => ({ resource: await createResource(work, body.resource) }),
  }),
  route({
    method: 'GET',
    path: '/resources',
    cell: 'home',
    needs: 'resources:read',
    summary: 'List resources',
    description:
      'Returns the resources of the environment, or of one pricing model, active and inactive ones. The first ' +
      'page holds up to 1,000.',
    tag,
    query: ResourcesQuery,
    returns: z.object({ resources: z.array(Resource), ...longPageFields }),
    refuses: ['pricingModelNotFound', 'invalidCursor'],
    handle: (work, { query }) => listResources(work, query),
  }),
  route({
    method: 'GET',
    path: '/resources/{id}',
    cell: 'home',
    needs: 'resources:read',
    summary: 'Get a resource',
    description: 'Returns one resource and whether it is active.',
    tag,
    params: z.object({ id: ResourceId }),
    returns: z.object({ resource: Resource }),
    refuses: ['resourceNotFound'],
    handle: async (work, { params }) => ({ resource: await getResource(work, params.id) }),
  }),
  route({
    method: 'PUT',
    path: '/resources/{id}',
    cell: 'home',
    needs: 'resources:catalog',
    summary: 'Update a resource',
    description:
      'Changes the fields that are sent. An inactive resource takes no new claims and keeps those that it has.',
    tag,
    params: z.object({ id: ResourceId }),
    body: z.object({ resource: ResourceChange }),
    returns: z.object({ resource: Resource }),
    refuses: ['tooManyRecords', 'resourceNotFound', 'idMismatch', 'slugTaken'],
    handle: async (work, { params, body }) => ({ resource: await updateResource(work, params.id, body.resource) }),
  }),
];
