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
 * Makes a whole pricing model from its structure: all of it, or nothing. What the structure leaves out is added: the Free
 * Plan where no product is the default, and the no-charge price of each usage meter. Answers it with what can be bought.
 */
export async function setUpPricingModel(
  work: Work,
  { name, isDefault, structure }: SetupInput,
): Promise<PricingModelDetails> {
  // A pinned key could not see what it made.
  if (work.pinnedPricingModelId !== null) throw new Problem('outsidePinnedPricingModel');
  const wanted = completeStructure(structure, []);
  if (isDefault) await takeDefault(work);
  const { id } = await insertPricingModel(work, { id: newId('pricingModel'), name, isDefault });
  const context = { pricingModelId: id, currency: currencyOf(work), now: work.now, newId };
  await applyChanges(work, planStructure(noContents, wanted, context));
  return getPricingModel(work, id);
}

/** Makes the pricing model that a new environment starts with: the default one, which holds the Free Plan. */
export async function provisionPricingModel(work: Work): Promise<PricingModelDetails> {
  const structure = { features: [], products: [], usageMeters: [], resources: [] };
  return setUpPricingModel(work, { name: 'Default', isDefault: true, structure });
}
