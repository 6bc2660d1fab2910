import { type Selectable, sql } from 'kysely';
import type { Products } from '../database/database-types.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { Price } from './price.ts';
import type { NewProduct, Product } from './product.ts';
import { findDefaultPriceOfProduct } from './store-prices.ts';
import { namingTakenSlug, newRowStamps, statementsOf } from './store-rows.ts';

export const productColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'name',
  'slug',
  'description',
  'imageUrl',
  'singularQuantityLabel',
  'pluralQuantityLabel',
  'isDefault',
  'active',
] as const;
export type ProductRow = Pick<Selectable<Products>, (typeof productColumns)[number]>;

export function toProduct(work: Work, { imageUrl, isDefault, ...row }: ProductRow): Product {
  return {
    ...row,
    imageURL: imageUrl,
    default: isDefault,
    livemode: work.livemode,
    organizationId: work.organizationId,
  };
}

/** Inserts products and returns them in the given order. */
export async function insertProducts(work: Work, products: readonly NewProduct[]): Promise<Product[]> {
  const rows = products.map((product) => ({
    id: product.id,
    pricingModelId: product.pricingModelId,
    name: product.name,
    slug: product.slug,
    description: product.description,
    imageUrl: product.imageURL,
    singularQuantityLabel: product.singularQuantityLabel,
    pluralQuantityLabel: product.pluralQuantityLabel,
    isDefault: product.default,
    active: product.active,
    ...newRowStamps(work),
  }));
  for (const some of statementsOf(rows)) {
    await namingTakenSlug('product', some, work.db.insertInto('products').values(some).execute());
  }
  return rows.map(({ environmentId: _, ...row }) => toProduct(work, row));
}

/**
 * Saves the changeable fields of products: everything but id, pricing model and `default`. Inactive ones are written
 * first to free their slugs for the others.
 */
export async function saveProducts(work: Work, products: readonly Product[]): Promise<Product[]> {
  for (const active of [false, true]) {
    const rows = products
      .filter((product) => product.active === active)
      .map((product) => ({
        id: product.id,
        name: product.name,
        slug: product.slug,
        description: product.description,
        image_url: product.imageURL,
        singular_quantity_label: product.singularQuantityLabel,
        plural_quantity_label: product.pluralQuantityLabel,
        active: product.active,
      }));
    if (rows.length === 0) continue;
    const statement = sql`
      update products
         set name = given.name, slug = given.slug, description = given.description, image_url = given.image_url,
             singular_quantity_label = given.singular_quantity_label,
             plural_quantity_label = given.plural_quantity_label, active = given.active, updated_at = ${work.now}
        from json_populate_recordset(null::products, ${JSON.stringify(rows)}::json) as given
       where products.environment_id = ${work.environmentId} and products.id = given.id`;
    await namingTakenSlug('product', rows, statement.execute(work.db));
  }
  return products.map((product) => ({ ...product, updatedAt: work.now }));
}

function selectProducts(work: Work) {
  return work.db
    .selectFrom('products')
    .select(productColumns)
    .where('environmentId', '=', work.environmentId)
    .orderBy('id');
}

export async function findProduct(work: Work, id: string): Promise<Product | null> {
  const row = await selectProducts(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toProduct(work, row);
}

/** The default product of the pricing model and its default price; null if there is none. */
export async function findDefaultProduct(
  work: Work,
  pricingModelId: string,
): Promise<{ product: Product; price: Price } | null> {
  const row = await selectProducts(work)
    .where('pricingModelId', '=', pricingModelId)
    .where('isDefault', '=', true)
    .where('active', '=', true)
    .executeTakeFirst();
  if (row === undefined) return null;
  const price = await findDefaultPriceOfProduct(work, row.id);
  return price === null ? null : { product: toProduct(work, row), price };
}

/** All products of these pricing models, active or not, in order of creation. */
export async function listProducts(work: Work, pricingModelIds: readonly string[]): Promise<Product[]> {
  if (pricingModelIds.length === 0) return [];
  const rows = await selectProducts(work).where('pricingModelId', '=', sql<string>`any(${pricingModelIds})`).execute();
  return rows.map((row) => toProduct(work, row));
}

export async function pageOfProducts(work: Work, request: PageRequest): Promise<{ rows: Product[]; total: number }> {
  const filters = { pricingModelId: 'pricing_model_id', active: 'active', default: 'is_default', slug: 'slug' };
  const page = await selectPage<ProductRow>(work, 'products', productColumns, request, filters);
  return { rows: page.rows.map((row) => toProduct(work, row)), total: page.total };
}
