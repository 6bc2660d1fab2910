import { type Selectable, sql } from 'kysely';
import type { ProductFeatures } from '../database/database-types.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { NewProductFeature, ProductFeature } from './product-feature.ts';
import { newRowStamps, statementsOf } from './store-rows.ts';

export const productFeatureColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'productId',
  'featureId',
  'expiredAt',
] as const;
export type ProductFeatureRow = Pick<Selectable<ProductFeatures>, (typeof productFeatureColumns)[number]>;

export function toProductFeature(work: Work, row: ProductFeatureRow): ProductFeature {
  return { ...row, livemode: work.livemode, organizationId: work.organizationId };
}

/**
 * Inserts links, or revives existing ones: such a link keeps its id, and its `expiredAt` becomes null. Pairs must be
 * unique. Returns the links in order of creation.
 */
export async function linkFeatures(work: Work, links: readonly NewProductFeature[]): Promise<ProductFeature[]> {
  const linked: ProductFeature[] = [];
  const values = links.map((link) => ({
    id: link.id,
    pricingModelId: link.pricingModelId,
    productId: link.productId,
    featureId: link.featureId,
    expiredAt: link.expiredAt,
    ...newRowStamps(work),
  }));
  for (const some of statementsOf(values)) {
    const rows = await work.db
      .insertInto('productFeatures')
      .values(some)
      .onConflict((conflict) =>
        conflict
          .columns(['environmentId', 'productId', 'featureId'])
          .doUpdateSet({ expiredAt: null, updatedAt: work.now }),
      )
      .returning(productFeatureColumns)
      .execute();
    linked.push(...rows.map((row) => toProductFeature(work, row)));
  }
  return linked.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Expires links now; an expired link keeps its date. */
export async function expireProductFeatures(work: Work, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await work.db
    .updateTable('productFeatures')
    .set({ expiredAt: work.now, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids})`)
    .where((where) => where.or([where('expiredAt', 'is', null), where('expiredAt', '>', work.now)]))
    .execute();
}

function selectProductFeatures(work: Work) {
  return work.db
    .selectFrom('productFeatures')
    .select(productFeatureColumns)
    .where('environmentId', '=', work.environmentId)
    .orderBy('id');
}

export async function findProductFeature(work: Work, id: string): Promise<ProductFeature | null> {
  const row = await selectProductFeatures(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toProductFeature(work, row);
}

/** All links of these products, expired or not, in order of creation. */
export async function listProductFeatures(work: Work, productIds: readonly string[]): Promise<ProductFeature[]> {
  if (productIds.length === 0) return [];
  const rows = await selectProductFeatures(work).where('productId', '=', sql<string>`any(${productIds})`).execute();
  return rows.map((row) => toProductFeature(work, row));
}

export async function pageOfProductFeatures(
  work: Work,
  request: PageRequest,
): Promise<{ rows: ProductFeature[]; total: number }> {
  const filters = { pricingModelId: 'pricing_model_id', productId: 'product_id', featureId: 'feature_id' };
  const page = await selectPage<ProductFeatureRow>(work, 'product_features', productFeatureColumns, request, filters);
  return { rows: page.rows.map((row) => toProductFeature(work, row)), total: page.total };
}
