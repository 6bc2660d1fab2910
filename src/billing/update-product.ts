import type { Work } from '../database/work.ts';
import { detachItemFeatures } from '../entitlements/actions.ts';
import * as products from '../pricing/actions-products.ts';
import type { Product } from '../pricing/product.ts';

/** Changes a product. Existing subscriptions keep features that the product loses, detached from it. */
export async function updateProduct(work: Work, id: string, asked: products.ProductUpdate): Promise<Product> {
  const { product, expiredProductFeatureIds } = await products.updateProduct(work, id, asked);
  await detachItemFeatures(work, expiredProductFeatureIds);
  return product;
}
