import { Problem } from '../kernel/problem.ts';
import { newId } from '../platform/new-id.ts';
import { inOtherEnvironment } from '../platform/switch-environment.ts';
import type { Work } from '../platform/work.ts';
import { getPricingModel } from './actions-models.ts';
import type { DestinationEnvironment } from './cloned-pricing-model.ts';
import type { PricingModelDetails } from './pricing-model.ts';
import { insertPricingModel, lockPricingModel } from './store-pricing-models.ts';
import { applyChanges, readContents } from './store-structure.ts';
import { copyContents } from './structure-copy.ts';

export interface CloneRequest {
  readonly name: string;
  /** Undefined: where the source is. */
  readonly destinationEnvironment?: DestinationEnvironment | undefined;
}

/**
 * Copies a pricing model with everything that it holds, inactive things included, under a new name and with new ids; the
 * copy is not the default one. Into the other mode, too: that is the one thing that reads in one environment and writes in
 * another, so everything is read first. Customers and subscriptions stay with the source.
 */
export async function clonePricingModel(
  work: Work,
  id: string,
  { name, destinationEnvironment = work.livemode ? 'livemode' : 'testmode' }: CloneRequest,
): Promise<PricingModelDetails> {
  const source = await lockPricingModel(work, id);
  if (source === null) throw new Problem('pricingModelNotFound', { id });
  // A pinned key could not see what it made.
  if (work.pinnedPricingModelId !== null) throw new Problem('outsidePinnedPricingModel');
  const contents = await readContents(work, id);
  const write = async (there: Work): Promise<PricingModelDetails> => {
    const copy = await insertPricingModel(there, { id: newId('pricingModel'), name, isDefault: false });
    // A link that is to expire later is copied, so "now" is the source's.
    await applyChanges(there, copyContents(contents, { pricingModelId: copy.id, now: work.now, newId }));
    return getPricingModel(there, copy.id);
  };
  const livemode = destinationEnvironment === 'livemode';
  return livemode === work.livemode ? write(work) : inOtherEnvironment(work, livemode, write);
}
