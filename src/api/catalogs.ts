import { z } from 'zod';
import { route } from '../http/route.ts';
import { SafeString } from '../kernel/json.ts';
import { booleanFilter, pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';
import { clonePricingModel } from '../pricing/actions-clone.ts';
import {
  createPricingModel,
  getDefaultPricingModel,
  getPricingModel,
  listPricingModels,
} from '../pricing/actions-models.ts';
import { updatePricingModel } from '../pricing/actions-update.ts';
import { Catalog, CatalogRecord, toCatalog, toCatalogRecord } from '../pricing/cloned-pricing-model.ts';
import { PricingModelId } from '../pricing/pricing-model.ts';

const tag = 'Catalogs';

const about = 'A catalog is a pricing model under its former name, with instants as texts.';

const params = z.object({ id: PricingModelId });

/** Pricing models under their name before August 2025. Each operation behaves like its successor. */
export const catalogRoutes = [
  route({
    method: 'POST',
    path: '/catalogs',
    summary: 'Create a catalog',
    description: `${about} It holds a default product, the free plan, which never renews, and nothing else.`,
    tag,
    body: z.object({ catalog: z.object({ name: SafeString, isDefault: z.boolean().optional() }) }),
    returns: z.object({ catalog: CatalogRecord }),
    refuses: ['outsidePinnedPricingModel', 'conflictingRow'],
    handle: async (work, { body }) => ({ catalog: toCatalogRecord(await createPricingModel(work, body.catalog)) }),
  }),
  route({
    method: 'GET',
    path: '/catalogs',
    summary: 'List the catalogs',
    description: about,
    tag,
    query: pageQuery({ isDefault: booleanFilter }),
    returns: pageOf(CatalogRecord),
    refuses: ['invalidCursor'],
    handle: async (work, { query }) => {
      const page = await listPricingModels(work, pageRequest(query));
      return { ...page, data: page.data.map(toCatalogRecord) };
    },
  }),
  route({
    method: 'GET',
    path: '/catalogs/default',
    summary: 'Get the default catalog',
    description: `${about} A key that is pinned to a pricing model gets that one.`,
    tag,
    returns: z.object({ catalog: Catalog }),
    refuses: ['defaultPricingModelNotFound'],
    handle: async (work) => ({ catalog: toCatalog(await getDefaultPricingModel(work)) }),
  }),
  route({
    method: 'GET',
    path: '/catalogs/{id}',
    summary: 'Get a catalog',
    description: `${about} With what can be bought: active products with active prices, and the usage meters.`,
    tag,
    params,
    returns: z.object({ catalog: Catalog }),
    refuses: ['pricingModelNotFound'],
    handle: async (work, { params: { id } }) => ({ catalog: toCatalog(await getPricingModel(work, id)) }),
  }),
  route({
    method: 'PUT',
    path: '/catalogs/{id}',
    summary: 'Update a catalog',
    description: `${about} Its name and whether it is the default one; what it holds stays.`,
    tag,
    params,
    body: z.object({
      catalog: z.object({
        id: z.string().max(255).optional(),
        name: SafeString.optional(),
        isDefault: z.boolean().optional(),
      }),
    }),
    returns: z.object({ catalog: CatalogRecord }),
    refuses: ['pricingModelNotFound', 'idMismatch', 'outsidePinnedPricingModel', 'conflictingRow'],
    handle: async (work, { params, body }) => {
      const { id, name, isDefault } = body.catalog;
      const update = await updatePricingModel(work, params.id, { id, name, isDefault, structure: null });
      return { catalog: toCatalogRecord(update.pricingModel) };
    },
  }),
  route({
    method: 'POST',
    path: '/catalogs/{id}/clone',
    summary: 'Clone a catalog',
    description: `${about} The copy is made in the same mode.`,
    tag,
    params,
    body: z.object({ name: SafeString }),
    returns: z.object({ catalog: Catalog }),
    refuses: ['pricingModelNotFound', 'outsidePinnedPricingModel'],
    handle: async (work, { params: { id }, body }) => ({
      catalog: toCatalog(await clonePricingModel(work, id, body)),
    }),
  }),
];
