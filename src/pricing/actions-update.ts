import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { currencyOf, refuseOtherId } from './actions.ts';
import type { PricingModel } from './pricing-model.ts';
import * as store from './store-pricing-models.ts';
import { applyChanges, readContents } from './store-structure.ts';
import type { Structure, UpdateInput } from './structure.ts';
import { countChanges, type StructureChanges } from './structure-changes.ts';
import { planStructure } from './structure-plan.ts';
import { prepareUpdate } from './structure-update.ts';

export interface UpdatedPricingModel {
  readonly pricingModel: PricingModel;
  /** The product feature links that the update expired. */
  readonly expiredProductFeatureIds: readonly string[];
}

/**
 * Changes a pricing model: its name, its default flag and, if a structure is given, all its contents. Absent parts stay
 * unchanged. An update without changes writes nothing.
 */
export async function updatePricingModel(work: Work, id: string, input: UpdateInput): Promise<UpdatedPricingModel> {
  refuseOtherId(id, input.id);
  const isPinned = work.pinnedPricingModelId !== null;
  if (input.isDefault !== undefined && !isPinned) await store.lockDefaultPricingModel(work);
  const model = await store.lockPricingModel(work, id);
  if (model === null) throw new Problem('pricingModelNotFound', { id });
  const { name = model.name, isDefault = model.isDefault, structure } = input;
  const changesDefault = isDefault !== model.isDefault;
  // A pinned key cannot change other pricing models, one of which would lose or get the flag.
  if (changesDefault && isPinned) throw new Problem('outsidePinnedPricingModel');
  const changes = structure === null ? null : await planUpdate(work, id, structure);
  const isSame = name === model.name && !changesDefault && (changes === null || countChanges(changes) === 0);
  if (isSame) return { pricingModel: model, expiredProductFeatureIds: [] };
  if (changesDefault && isDefault) await store.clearDefaultPricingModel(work, id);
  if (changes !== null) await applyChanges(work, changes);
  return {
    pricingModel: await store.savePricingModel(work, { ...model, name, isDefault }),
    expiredProductFeatureIds: changes?.productFeatures.expired ?? [],
  };
}

async function planUpdate(work: Work, id: string, structure: Structure): Promise<StructureChanges> {
  const contents = await readContents(work, id);
  const wanted = prepareUpdate(contents, structure, ['pricingModel'], work.now);
  return planStructure(contents, wanted, { pricingModelId: id, currency: currencyOf(work), now: work.now, newId });
}
