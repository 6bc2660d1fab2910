import type { Work } from '../database/work.ts';
import { detachItemFeatures } from '../entitlements/actions.ts';
import * as productFeatures from '../pricing/actions-product-features.ts';

/**
 * Ends a link between a product and a feature: new subscriptions are not given it. What subscriptions got from it stays
 * theirs, detached from the product. Safe to repeat.
 */
export async function expireProductFeature(work: Work, id: string): Promise<void> {
  await productFeatures.expireProductFeature(work, id);
  await detachItemFeatures(work, [id]);
}
