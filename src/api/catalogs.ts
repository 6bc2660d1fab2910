import { z } from 'zod';
import { route } from '../http/route.ts';
import { SafeString } from '../kernel/json.ts';
import { booleanFilter, createdFilters, pageOf, pageQuery, pageRequest } from '../kernel/pagination.ts';
import {
  clonePricingModel,
  createPricingModel,
  getDefaultPricingModel,
  getPricingModel,
  listPricingModels,
  updatePricingModel,
} from '../pricing/actions-models.ts';
import { Catalog, CatalogRecord, toCatalog, toCatalogRecord } from '../pricing/cloned-pricing-model.ts';
import { PricingModelId } from '../pricing/pricing-model.ts';

const tag = 'Catalogs';

const params = z.object({ id: PricingModelId });

/** Pricing models under their name before August 2025. Each operation behaves like its successor. */
export const catalogRoutes = [
  route({
    method: 'POST',
    path: '/catalogs',
    cell: 'home',
    needs: 'catalogs:catalog',
    summary: 'Create a catalog',
    description:
      'Legacy: use `POST /pricing-models` instead. Creates a pricing model with a default product, the free ' +
      'plan, which never renews. Instants are ISO 8601 text.',
    tag,
    body: z.object({ catalog: z.object({ name: SafeString, isDefault: z.boolean().optional() }) }),
    returns: z.object({ catalog: CatalogRecord }),
    refuses: ['outsidePinnedPricingModel', 'conflictingRow'],
    handle: async (work, { body }) => ({ catalog: toCatalogRecord(await createPricingModel(work, body.catalog)) }),
  }),
  route({
    method: 'GET',
    path: '/catalogs',
    cell: 'home',
    needs: 'catalogs:read',
    summary: 'List catalogs',
    description:
      'Legacy: use `GET /pricing-models` instead. Returns the pricing models with instants as ISO 8601 text.',
    tag,
    query: pageQuery({ isDefault: booleanFilter, ...createdFilters }),
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
    cell: 'home',
    needs: 'catalogs:read',
    summary: 'Get the default catalog',
    description:
      'Legacy: use `GET /pricing-models/default` instead. Returns the default pricing model, or the one that ' +
      'the key is pinned to, with instants as ISO 8601 text.',
    tag,
    returns: z.object({ catalog: Catalog }),
    refuses: ['defaultPricingModelNotFound'],
    handle: async (work) => ({ catalog: toCatalog(await getDefaultPricingModel(work)) }),
  }),
  route({
    method: 'GET',
    path: '/catalogs/{id}',
    cell: 'home',
    needs: 'catalogs:read',
    summary: 'Get a catalog',
    description:
      'Legacy: use `GET /pricing-models/{id}` instead. Returns a pricing model with its active products and ' +
      'prices and its usage meters. Instants are ISO 8601 text.',
    tag,
    params,
    returns: z.object({ catalog: Catalog }),
    refuses: ['pricingModelNotFound'],
    handle: async (work, { params: { id } }) => ({ catalog: toCatalog(await getPricingModel(work, id)) }),
  }),
  route({
    method: 'PUT',
    path: '/catalogs/{id}',
    cell: 'home',
    needs: 'catalogs:catalog',
    summary: 'Update a catalog',
    description:
      'Legacy: use `PUT /pricing-models/{id}` instead. Changes the name of a pricing model, or makes it the ' +
      'default one.',
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
    cell: 'home',
    needs: 'catalogs:catalog',
    summary: 'Clone a catalog',
    description: 'Legacy: use `POST /pricing-models/{id}/clone` instead. Copies a pricing model within the same mode.',
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
