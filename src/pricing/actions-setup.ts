import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { currencyOf } from './actions.ts';
import { getPricingModel, takeDefault } from './actions-models.ts';
import type { PricingModelDetails } from './pricing-model.ts';
import { insertPricingModel } from './store-pricing-models.ts';
import { applyChanges } from './store-structure.ts';
import type { SetupInput } from './structure.ts';
import { completeStructure } from './structure-check.ts';
import { noContents } from './structure-contents.ts';
import { planStructure } from './structure-plan.ts';

/**
 * Creates a whole pricing model from its structure, or nothing. Adds the Free Plan if no product is the default, and
 * the no-charge price of each usage meter. Returns it with everything that is for sale.
 */
export async function setUpPricingModel(
  work: Work,
  { name, isDefault, structure }: SetupInput,
): Promise<PricingModelDetails> {
  // A pinned key could not see the new pricing model.
  if (work.pinnedPricingModelId !== null) throw new Problem('outsidePinnedPricingModel');
  const wanted = completeStructure(structure, []);
  if (isDefault) await takeDefault(work);
  const { id } = await insertPricingModel(work, { id: newId('pricingModel'), name, isDefault });
  const context = { pricingModelId: id, currency: currencyOf(work), now: work.now, newId };
  await applyChanges(work, planStructure(noContents, wanted, context));
  return getPricingModel(work, id);
}

/** Creates the default pricing model of a new environment, which contains the Free Plan. */
export async function provisionPricingModel(work: Work): Promise<PricingModelDetails> {
  const structure = { features: [], products: [], usageMeters: [], resources: [] };
  return setUpPricingModel(work, { name: 'Default', isDefault: true, structure });
}
