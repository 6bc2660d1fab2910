import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { only, required, requiredLocked } from './actions.ts';
import { refuseUnfitFeatures } from './product-change.ts';
import type { ProductFeature } from './product-feature.ts';
import { findFeature } from './store-features.ts';
import { findDefaultPriceOfProduct } from './store-prices.ts';
import * as store from './store-product-features.ts';
import { findProduct } from './store-products.ts';

export interface ProductFeatureRequest {
  readonly productId: string;
  readonly featureId: string;
  readonly expiredAt?: Instant | null | undefined;
}

/**
 * Adds a feature to a product. An expired link is revived, whatever `expiredAt` says. Existing subscriptions do not get
 * the feature.
 */
export async function createProductFeature(work: Work, asked: ProductFeatureRequest): Promise<ProductFeature> {
  const product = await requiredLocked(work, findProduct, asked.productId, 'productNotFound');
  const feature = await required(work, findFeature, asked.featureId, 'featureNotFound');
  const price = await findDefaultPriceOfProduct(work, product.id);
  refuseUnfitFeatures(product, price?.type, [feature]);
  return only(
    await store.linkFeatures(work, [
      {
        id: newId('productFeature'),
        pricingModelId: product.pricingModelId,
        productId: product.id,
        featureId: feature.id,
        expiredAt: asked.expiredAt ?? null,
      },
    ]),
  );
}

/** Returns the link between a product and a feature. */
export async function getProductFeature(work: Work, id: string): Promise<ProductFeature> {
  return required(work, store.findProductFeature, id, 'productFeatureNotFound');
}

/** Lists the links between products and features, expired ones included. */
export async function listProductFeatures(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfProductFeatures(work, request);
  return page(request, rows, total);
}

/** Expires a link now: later subscriptions do not get the feature. An expired link keeps its date. */
export async function expireProductFeature(work: Work, id: string): Promise<void> {
  await requiredLocked(work, store.findProductFeature, id, 'productFeatureNotFound');
  await store.expireProductFeatures(work, [id]);
}
