import type { Work } from '../database/work.ts';
import { detachItemFeatures } from '../entitlements/actions.ts';
import * as productFeatures from '../pricing/actions-product-features.ts';

/**
 * Ends a link between a product and a feature: new subscriptions do not get it. Existing subscriptions keep the
 * feature, detached from the product. Idempotent.
 */
export async function expireProductFeature(work: Work, id: string): Promise<void> {
  await productFeatures.expireProductFeature(work, id);
  await detachItemFeatures(work, [id]);
}
