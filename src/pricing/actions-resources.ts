import type { z } from 'zod';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { longPageQuery, maxLongPageLimit, page, pageRequest, textFilter } from '../kernel/pagination.ts';
import {
  only,
  refuseOtherId,
  required,
  requiredLocked,
  resolveLockedPricingModel,
  resolvePricingModel,
} from './actions.ts';
import type { Resource, ResourceChange, ResourceInput } from './resource.ts';
import * as store from './store-resources.ts';

export async function createResource(work: Work, requested: ResourceInput): Promise<Resource> {
  const pricingModelId = await resolveLockedPricingModel(work, requested.pricingModelId);
  const { slug, name, active } = requested;
  return only(await store.insertResources(work, [{ id: newId('resource'), pricingModelId, slug, name, active }]));
}

/** Returns a resource, active or not. */
export async function getResource(work: Work, id: string): Promise<Resource> {
  return required(work, store.findResource, id, 'resourceNotFound');
}

/** The query for a page of resources. */
export const ResourcesQuery = longPageQuery({ pricingModelId: textFilter });

/** Lists resources, inactive ones included: of the given pricing model, or of all that the key can see. */
export async function listResources(work: Work, query: z.output<typeof ResourcesQuery>) {
  const request = pageRequest({ ...query, limit: query.limit ?? maxLongPageLimit });
  const { pricingModelId } = query;
  const modelId = pricingModelId === undefined ? null : await resolvePricingModel(work, pricingModelId);
  const { data, hasMore, nextCursor } = page(request, await store.pageOfResources(work, modelId, request), 0);
  return { resources: data, hasMore, ...(nextCursor === undefined ? {} : { nextCursor }) };
}

/** Changes a resource. An inactive one can no longer be claimed; existing claims stay. */
export async function updateResource(work: Work, id: string, change: ResourceChange): Promise<Resource> {
  refuseOtherId(id, change.id);
  const resource = await requiredLocked(work, store.findResource, id, 'resourceNotFound');
  const { slug = resource.slug, name = resource.name, active = resource.active } = change;
  return only(await store.saveResources(work, [{ ...resource, slug, name, active }]));
}
