import { type Selectable, sql } from 'kysely';
import type { ProductFeatures, Products } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { Metadata } from '../kernel/json.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { FeatureValue } from './feature.ts';
import type { Price } from './price.ts';
import {
  byMeter,
  type NewProduct,
  type NewProductFeature,
  type Product,
  type ProductFeature,
  type ProductUsagePrice,
} from './product.ts';
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
  'minimumQuantity',
  'maximumQuantity',
  'usagePrices',
  'addOn',
  'isDefault',
  'active',
  'metadata',
] as const;
type ProductRow = Pick<Selectable<Products>, (typeof productColumns)[number]>;

/** The products of these rows. Rates take one statement, for their slugs. */
export async function toProducts(work: Work, rows: readonly ProductRow[]): Promise<Product[]> {
  // Only ids by ids are ever written.
  const ratesOf = (row: ProductRow) => Object.values(row.usagePrices as Readonly<Record<string, string>>);
  const ids = [...new Set(rows.flatMap(ratesOf))];
  const named = new Map(ids.length === 0 ? [] : (await listRates(work, ids)).map((rate) => [rate.priceId, rate]));
  return rows.map((row) =>
    toProduct(
      work,
      row,
      ratesOf(row)
        .flatMap((id) => named.get(id) ?? [])
        .sort(byMeter),
    ),
  );
}

async function listRates(work: Work, priceIds: readonly string[]): Promise<ProductUsagePrice[]> {
  const { rows } = await sql<ProductUsagePrice>`
    select m.slug as usage_meter_slug, p.slug as price_slug, m.id as usage_meter_id, p.id as price_id
      from prices p join usage_meters m on m.environment_id = p.environment_id and m.id = p.usage_meter_id
     where p.environment_id = ${work.environmentId} and p.id = any(${priceIds}::text[])`.execute(work.db);
  return rows;
}

/** The rates as they are stored: the id of the price by that of its usage meter. */
function storedRates(usagePrices: readonly ProductUsagePrice[]): Record<string, string> {
  return Object.fromEntries(usagePrices.map(({ usageMeterId, priceId }) => [usageMeterId, priceId]));
}

/** A product that rates usage by this price, or an active one only; null: none. */
export async function findProductRating(
  work: Work,
  { id, usageMeterId, pricingModelId }: { id: string; usageMeterId: string; pricingModelId: string },
  { isActive = false }: { isActive?: boolean } = {},
): Promise<{ slug: string } | null> {
  const row = await work.db
    .selectFrom('products')
    .select('slug')
    .where('environmentId', '=', work.environmentId)
    .where('pricingModelId', '=', pricingModelId)
    .where(sql<boolean>`usage_prices ->> ${usageMeterId} = ${id}`)
    .$if(isActive, (query) => query.where('active', '=', true))
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

function toProduct(
  work: Work,
  { imageUrl, isDefault, metadata, ...row }: Omit<ProductRow, 'usagePrices'>,
  usagePrices: ProductUsagePrice[],
): Product {
  return {
    ...row,
    usagePrices,
    // Only parsed metadata is ever written.
    metadata: metadata as Metadata | null,
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
    minimumQuantity: product.minimumQuantity,
    maximumQuantity: product.maximumQuantity,
    usagePrices: product.usagePrices,
    addOn: product.addOn,
    isDefault: product.default,
    active: product.active,
    metadata: product.metadata,
    ...newRowStamps(work),
  }));
  for (const some of statementsOf(rows)) {
    const values = some.map((row) => ({
      ...row,
      usagePrices: jsonb(storedRates(row.usagePrices)),
      metadata: jsonb(row.metadata),
    }));
    await namingTakenSlug('product', some, work.db.insertInto('products').values(values).execute());
  }
  return rows.map(({ environmentId: _, usagePrices, ...row }) => toProduct(work, row, usagePrices));
}

/**
 * Saves the changeable fields of products: everything but id, pricing model, `addOn` and `default`. Inactive ones are
 * written first to free their slugs for the others.
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
        minimum_quantity: product.minimumQuantity,
        maximum_quantity: product.maximumQuantity,
        usage_prices: storedRates(product.usagePrices),
        active: product.active,
        metadata: product.metadata,
      }));
    if (rows.length === 0) continue;
    const statement = sql`
      update products
         set name = given.name, slug = given.slug, description = given.description, image_url = given.image_url,
             singular_quantity_label = given.singular_quantity_label,
             plural_quantity_label = given.plural_quantity_label, minimum_quantity = given.minimum_quantity,
             maximum_quantity = given.maximum_quantity, usage_prices = given.usage_prices, active = given.active,
             metadata = given.metadata, updated_at = ${work.now}
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
  const [product] = await toProducts(work, await selectProducts(work).where('id', '=', id).execute());
  return product ?? null;
}

/** The products with these ids, in order of creation. */
export async function findProducts(work: Work, ids: readonly string[]): Promise<Product[]> {
  if (ids.length === 0) return [];
  const named = selectProducts(work).where('id', '=', sql<string>`any(${ids}::text[])`);
  return toProducts(work, await named.execute());
}

/** The default product of the pricing model and its default price; null if there is none. */
export async function findDefaultProduct(
  work: Work,
  pricingModelId: string,
): Promise<{ product: Product; price: Price } | null> {
  const rows = await selectProducts(work)
    .where('pricingModelId', '=', pricingModelId)
    .where('isDefault', '=', true)
    .where('active', '=', true)
    .execute();
  const [product] = await toProducts(work, rows);
  if (product === undefined) return null;
  const price = await findDefaultPriceOfProduct(work, product.id);
  return price === null ? null : { product, price };
}

/** All products of these pricing models, active or not, in order of creation. */
export async function listProducts(work: Work, pricingModelIds: readonly string[]): Promise<Product[]> {
  if (pricingModelIds.length === 0) return [];
  const rows = await selectProducts(work).where('pricingModelId', '=', sql<string>`any(${pricingModelIds})`).execute();
  return toProducts(work, rows);
}

export async function pageOfProducts(work: Work, request: PageRequest): Promise<{ rows: Product[]; total: number }> {
  const filters = {
    pricingModelId: 'pricing_model_id',
    active: 'active',
    default: 'is_default',
    slug: 'slug',
    addOn: 'add_on',
  };
  const page = await selectPage<ProductRow>(work, 'products', productColumns, request, filters);
  return { rows: await toProducts(work, page.rows), total: page.total };
}

const productFeatureColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'productId',
  'featureId',
  'expiredAt',
  'value',
] as const;
type ProductFeatureRow = Pick<Selectable<ProductFeatures>, (typeof productFeatureColumns)[number]>;

function toProductFeature(work: Work, { value, ...row }: ProductFeatureRow): ProductFeature {
  // Only parsed values are ever written.
  const own = value === null ? {} : { value: value as FeatureValue };
  return { ...row, ...own, livemode: work.livemode, organizationId: work.organizationId };
}

/**
 * Inserts links, or revives existing ones: such a link keeps its id, gets the value, and its `expiredAt` becomes null.
 * Pairs must be unique. Returns the links in order of creation.
 */
export async function linkFeatures(work: Work, links: readonly NewProductFeature[]): Promise<ProductFeature[]> {
  const linked: ProductFeature[] = [];
  const values = links.map((link) => ({
    id: link.id,
    pricingModelId: link.pricingModelId,
    productId: link.productId,
    featureId: link.featureId,
    expiredAt: link.expiredAt,
    value: link.value ?? null,
    ...newRowStamps(work),
  }));
  for (const some of statementsOf(values)) {
    const rows = await work.db
      .insertInto('productFeatures')
      .values(some.map((row) => ({ ...row, value: jsonb(row.value) })))
      .onConflict((conflict) =>
        conflict
          .columns(['environmentId', 'productId', 'featureId'])
          .doUpdateSet((row) => ({ expiredAt: null, value: row.ref('excluded.value'), updatedAt: work.now })),
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
