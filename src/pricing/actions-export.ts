import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { lockPricingModel } from './store-pricing-models.ts';
import { readContents } from './store-structure.ts';
import { describeContents } from './structure-contents.ts';
import { exportStructure, type PricingModelExport } from './structure-export.ts';

/** The pricing model as a setup body, and the time of its last change. */
export async function exportPricingModel(work: Work, id: string): Promise<PricingModelExport> {
  const model = await lockPricingModel(work, id);
  if (model === null) throw new Problem('pricingModelNotFound', { id });
  const contents = await readContents(work, id);
  const updatedAt = Object.values(contents)
    .flat()
    .reduce((latest, record) => Math.max(latest, record.updatedAt), model.updatedAt);
  return { pricingModel: exportStructure(model, describeContents(contents, work.now)), updatedAt };
}
