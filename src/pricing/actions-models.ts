import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { IntervalUnit } from '../kernel/calendar.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { currencyOf, resolvePricingModel } from './actions.ts';
import { freePlan } from './free-plan.ts';
import type { PricingModel, PricingModelDetails } from './pricing-model.ts';
import { loadPricingModelDetails } from './store-details.ts';
import { insertPrices } from './store-prices.ts';
import * as store from './store-pricing-models.ts';
import { insertProducts } from './store-products.ts';

export interface PricingModelRequest {
  readonly name: string;
  readonly isDefault?: boolean | undefined;
  /** How often the free plan renews; undefined: never. */
  readonly defaultPlanIntervalUnit?: IntervalUnit | undefined;
}

/** Makes a pricing model that holds nothing but its default product, the free plan. */
export async function createPricingModel(work: Work, asked: PricingModelRequest): Promise<PricingModel> {
  const isDefault = asked.isDefault ?? false;
  if (isDefault) await takeDefault(work);
  const model = await store.insertPricingModel(work, { id: newId('pricingModel'), name: asked.name, isDefault });
  const { product, price } = freePlan({
    pricingModelId: model.id,
    productId: newId('product'),
    priceId: newId('price'),
    currency: currencyOf(work),
    intervalUnit: asked.defaultPlanIntervalUnit ?? null,
  });
  await insertProducts(work, [product]);
  await insertPrices(work, [price]);
  return model;
}

/**
 * Makes room for a new default pricing model: no other one is the default any more, and nobody else exchanges it until
 * the transaction ends. Before the lock of any pricing model.
 */
export async function takeDefault(work: Work, keepId: string | null = null): Promise<void> {
  // A key that sees one pricing model cannot take the flag away from another.
  if (work.pinnedPricingModelId !== null) throw new Problem('outsidePinnedPricingModel');
  await store.lockDefaultPricingModel(work);
  await store.clearDefaultPricingModel(work, keepId);
}

/** The pricing models, without what they hold. */
export async function listPricingModels(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfPricingModels(work, request);
  return page(request, rows, total);
}

/** A pricing model with what can be bought. */
export async function getPricingModel(work: Work, id: string): Promise<PricingModelDetails> {
  const [details] = await loadPricingModelDetails(work, [id]);
  if (details === undefined) throw new Problem('pricingModelNotFound', { id });
  return details;
}

/** The default pricing model with what can be bought; for a key that is pinned to one, that one. */
export async function getDefaultPricingModel(work: Work): Promise<PricingModelDetails> {
  return getPricingModel(work, await resolvePricingModel(work));
}
