import type { Work } from '../database/work.ts';
import { detachItemFeatures } from '../entitlements/actions.ts';
import * as pricing from '../pricing/actions-update.ts';
import type { PricingModel } from '../pricing/pricing-model.ts';
import type { UpdateInput } from '../pricing/structure.ts';

/**
 * Changes a pricing model. Existing subscriptions keep features that their product loses, detached from the product,
 * and keep replaced prices.
 */
export async function updatePricingModel(work: Work, id: string, input: UpdateInput): Promise<PricingModel> {
  const { pricingModel, expiredProductFeatureIds } = await pricing.updatePricingModel(work, id, input);
  await detachItemFeatures(work, expiredProductFeatureIds);
  return pricingModel;
}
