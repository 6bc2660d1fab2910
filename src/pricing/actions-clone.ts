import { newId } from '../database/new-id.ts';
import { inOtherEnvironment } from '../database/switch-environment.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { getPricingModel } from './actions-models.ts';
import type { DestinationEnvironment } from './cloned-pricing-model.ts';
import type { PricingModelDetails } from './pricing-model.ts';
import { insertDiscounts, listDiscountsOfModel } from './store-discounts.ts';
import { insertPricingModel, lockPricingModel } from './store-pricing-models.ts';
import { applyChanges, readContents } from './store-structure.ts';
import { copyContents } from './structure-copy.ts';

export interface CloneRequest {
  readonly name: string;
  /** Undefined: the environment of the source. */
  readonly destinationEnvironment?: DestinationEnvironment | undefined;
}

/**
 * Copies a pricing model with all its contents, inactive records and discounts included, under a new name and with new
 * ids. The copy is not the default one.
 *
 * It may be copied into the other mode. No other operation reads in one environment and writes in another, so
 * everything is read first. Refuses with `otherCurrency` a destination with another currency. Customers, subscriptions
 * and discount redemptions stay with the source.
 */
export async function clonePricingModel(
  work: Work,
  id: string,
  { name, destinationEnvironment = work.livemode ? 'livemode' : 'testmode' }: CloneRequest,
): Promise<PricingModelDetails> {
  const source = await lockPricingModel(work, id);
  if (source === null) throw new Problem('pricingModelNotFound', { id });
  // A pinned key could not see the copy.
  if (work.pinnedPricingModelId !== null) throw new Problem('outsidePinnedPricingModel');
  const contents = await readContents(work, id);
  const discounts = await listDiscountsOfModel(work, id);
  const write = async (there: Work): Promise<PricingModelDetails> => {
    if (there.currency !== work.currency) {
      throw new Problem('otherCurrency', { currency: work.currency, otherCurrency: there.currency });
    }
    const copy = await insertPricingModel(there, { id: newId('pricingModel'), name, isDefault: false });
    // A link that expires in the future is copied, and "now" is the source's time.
    await applyChanges(there, copyContents(contents, { pricingModelId: copy.id, now: work.now, newId }));
    const stamps = { pricingModelId: copy.id, createdAt: there.now, updatedAt: there.now };
    await insertDiscounts(
      there,
      discounts.map((discount) => ({ ...discount, ...stamps, id: newId('discount') })),
    );
    return getPricingModel(there, copy.id);
  };
  const livemode = destinationEnvironment === 'livemode';
  return livemode === work.livemode ? write(work) : inOtherEnvironment(work, livemode, write);
}
