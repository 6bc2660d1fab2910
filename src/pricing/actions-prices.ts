import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { currencyOf, only, refuseOtherId, required, requiredLocked } from './actions.ts';
import type { Price } from './price.ts';
import {
  decidePriceChange,
  newProductPrice,
  newUsagePrice,
  type PriceChange,
  type PriceInput,
  type UsagePriceInput,
} from './price-input.ts';
import * as store from './store-prices.ts';
import { findProduct } from './store-products.ts';
import { findUsageMeter } from './store-usage-meters.ts';
import type { UsageMeter } from './usage-meter.ts';

/** Creates a price. It becomes its product's only active price, or an additional price of its usage meter. */
export async function createPrice(work: Work, requested: PriceInput): Promise<Price> {
  return requested.type === 'usage' ? createUsagePrice(work, requested) : createProductPrice(work, requested);
}

async function createProductPrice(work: Work, requested: Exclude<PriceInput, { type: 'usage' }>): Promise<Price> {
  const product = await requiredLocked(work, findProduct, requested.productId, 'productNotFound');
  refuseOtherModel(requested, product);
  if (product.default) {
    throw new Problem('defaultProductProtected', { id: product.id, rule: 'it cannot have another price' });
  }
  const prices = await store.listPricesOfProducts(work, [product.id]);
  const other = prices.find((price) => price.type !== requested.type);
  if (other !== undefined) throw new Problem('priceTypeFixed', { id: product.id, type: other.type });
  const outdated = prices
    .filter((price) => price.active || price.isDefault)
    .map((price) => ({ ...price, active: false, isDefault: false }));
  await store.savePrices(work, outdated);
  return only(await store.insertPrices(work, [newProductPrice(newId('price'), product, requested, currencyOf(work))]));
}

async function createUsagePrice(work: Work, requested: UsagePriceInput): Promise<Price> {
  const meter = await requiredLocked(work, findUsageMeter, requested.usageMeterId, 'usageMeterNotFound');
  refuseOtherModel(requested, meter);
  return addUsagePrice(work, meter, requested);
}

/** Adds a price to a usage meter. The caller has locked its pricing model. */
export async function addUsagePrice(work: Work, meter: UsageMeter, requested: UsagePriceInput): Promise<Price> {
  const price = newUsagePrice(newId('price'), meter, requested, currencyOf(work));
  if (price.isDefault) {
    if (!price.active) throw invalid(['price', 'active'], 'must be true for a default price');
    const prices = await store.listPricesOfUsageMeters(work, [meter.id]);
    const former = prices.filter((each) => each.isDefault).map((each) => ({ ...each, isDefault: false }));
    await store.savePrices(work, former);
  }
  return only(await store.insertPrices(work, [price]));
}

function refuseOtherModel(
  requested: { readonly pricingModelId?: string | null | undefined },
  parent: { readonly pricingModelId: string },
): void {
  if (requested.pricingModelId != null && requested.pricingModelId !== parent.pricingModelId) {
    throw invalid(['price', 'pricingModelId'], `must be ${parent.pricingModelId}, or absent`);
  }
}

/** Returns a price, active or not. */
export async function getPrice(work: Work, id: string): Promise<Price> {
  return required(work, store.findPrice, id, 'priceNotFound');
}

/** Lists the prices of products and usage meters, inactive ones included. */
export async function listPrices(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfPrices(work, request);
  return page(request, rows, total);
}

/** Changes a price's name, slug, default flag or activity; see `decidePriceChange`. */
export async function updatePrice(
  work: Work,
  id: string,
  { id: bodyId, ...change }: PriceChange & { readonly id?: string | undefined },
): Promise<Price> {
  refuseOtherId(id, bodyId);
  const price = await requiredLocked(work, store.findPrice, id, 'priceNotFound');
  const family =
    price.productId === null
      ? await store.listPricesOfUsageMeters(work, [price.usageMeterId])
      : await store.listPricesOfProducts(work, [price.productId]);
  const product = price.productId === null ? null : await findProduct(work, price.productId);
  const siblings = family.filter((each) => each.id !== id);
  const ofDefaultProduct = product?.default ?? false;
  const [changed = price] = await store.savePrices(
    work,
    decidePriceChange(price, siblings, change, { ofDefaultProduct }),
  );
  return changed;
}
