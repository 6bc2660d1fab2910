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
  /** The billing interval of the free plan; undefined: it does not renew. */
  readonly defaultPlanIntervalUnit?: IntervalUnit | undefined;
}

/** Creates a pricing model with only its default product, the free plan. */
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
 * Clears the current default pricing model and serializes changes of the default until the transaction ends. Call it
 * before locking any pricing model.
 */
export async function takeDefault(work: Work, keepId: string | null = null): Promise<void> {
  // A pinned key cannot take the flag away from another pricing model.
  if (work.pinnedPricingModelId !== null) throw new Problem('outsidePinnedPricingModel');
  await store.lockDefaultPricingModel(work);
  await store.clearDefaultPricingModel(work, keepId);
}

/** Lists pricing models without their contents. */
export async function listPricingModels(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfPricingModels(work, request);
  return page(request, rows, total);
}

/** Returns a pricing model with everything that is for sale. */
export async function getPricingModel(work: Work, id: string): Promise<PricingModelDetails> {
  const [details] = await loadPricingModelDetails(work, [id]);
  if (details === undefined) throw new Problem('pricingModelNotFound', { id });
  return details;
}

/** Returns the default pricing model with everything that is for sale; for a pinned key, its pricing model. */
export async function getDefaultPricingModel(work: Work): Promise<PricingModelDetails> {
  return getPricingModel(work, await resolvePricingModel(work));
}
