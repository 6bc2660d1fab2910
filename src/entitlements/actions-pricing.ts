import type { Work } from '../database/work.ts';
import * as models from '../pricing/actions-models.ts';
import * as products from '../pricing/actions-products.ts';
import type { PricingModel } from '../pricing/pricing-model.ts';
import type { Product } from '../pricing/product.ts';
import type { SetupInput, UpdateInput } from '../pricing/structure.ts';
import type { PricingChange } from '../pricing/structure-copy.ts';
import { detachItemFeatures } from './actions.ts';
import { countCustomersOfRecords } from './store-item-features.ts';

/** Changes a product. Existing subscriptions keep features that the product loses, detached from it. */
export async function updateProduct(work: Work, id: string, requested: products.ProductUpdate): Promise<Product> {
  const { product, expiredProductFeatureIds } = await products.updateProduct(work, id, requested);
  await detachItemFeatures(work, expiredProductFeatureIds);
  return product;
}

/**
 * Changes a pricing model. Existing subscriptions keep features that their product loses, detached from the product,
 * and keep replaced prices.
 */
export async function updatePricingModel(work: Work, id: string, input: UpdateInput): Promise<PricingModel> {
  const { pricingModel, expiredProductFeatureIds } = await models.updatePricingModel(work, id, input);
  await detachItemFeatures(work, expiredProductFeatureIds);
  return pricingModel;
}

/** An apply as another cell sees it: the same changes, for the customers there. */
interface AppliedElsewhere {
  readonly changes: readonly PricingChange[];
}

/** Creates or updates the pricing model with this name; see `applyPricingModel` of pricing. */
export async function applyPricingModel(work: Work, input: SetupInput, others: readonly AppliedElsewhere[]) {
  const { isNew, ...applied } = await models.applyPricingModel(work, input);
  return { ...(await withCustomers(work, applied, others)), isNew };
}

/** Makes a pricing model as described; see `applyToPricingModel` of pricing. */
export async function applyToPricingModel(
  work: Work,
  id: string,
  body: { readonly pricingModel: SetupInput; readonly base?: SetupInput | undefined },
  others: readonly AppliedElsewhere[],
) {
  return withCustomers(work, await models.applyToPricingModel(work, id, body), others);
}

type Applied = Awaited<ReturnType<typeof models.applyToPricingModel>>;

/** The differences with the customers of all cells who have each record. */
async function withCustomers(
  work: Work,
  { pricingModel, changes, expiredProductFeatureIds }: Applied,
  others: readonly AppliedElsewhere[],
) {
  // Counted first: a feature that is detached from its product is not found by it.
  const counts = await countCustomersOfRecords(work, pricingModel.id, changes);
  await detachItemFeatures(work, expiredProductFeatureIds);
  const elsewhere = others.map((other) => new Map(other.changes.map((change) => [keyOf(change), change])));
  const counted = changes.map((change, index): PricingChange => {
    const parts = [counts[index], ...elsewhere.map((of) => of.get(keyOf(change)))];
    return {
      ...change,
      subscriptions: parts.reduce((sum, part) => sum + (part?.subscriptions ?? 0), 0),
      customers: parts.reduce((sum, part) => sum + (part?.customers ?? 0), 0),
    };
  });
  return { pricingModel, changes: counted };
}

/** The record of a difference. Records with the same key have the same customers. */
function keyOf({ record, slug, usageMeterSlug }: Pick<PricingChange, 'record' | 'slug' | 'usageMeterSlug'>): string {
  return JSON.stringify([record, usageMeterSlug, slug]);
}

/**
 * Ends a link between a product and a feature: new subscriptions do not get it. Existing subscriptions keep the
 * feature, detached from the product. Idempotent.
 */
export async function expireProductFeature(work: Work, id: string): Promise<void> {
  await products.expireProductFeature(work, id);
  await detachItemFeatures(work, [id]);
}
