import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, refusal } from '../kernel/problem.ts';
import { refuseOtherId, required, requiredLocked, resolveLockedPricingModel } from './actions.ts';
import {
  type CreditPool,
  type CreditPoolChange,
  type CreditPoolInput,
  drawIssue,
  type PoolRateInput,
  rateIssue,
  type StoredRate,
} from './credit-pool.ts';
import * as store from './store-credit-pools.ts';
import { listUsageMeters } from './store-usage-meters.ts';
import { isMeasured, noCreditsOfMeasured } from './usage-meter.ts';

/** Creates a credit pool with its rates. */
export async function createCreditPool(work: Work, requested: CreditPoolInput): Promise<CreditPool> {
  const pricingModelId = await resolveLockedPricingModel(work, requested.pricingModelId);
  const { slug, name, unit, drawAtPrice, lowBalanceThreshold } = requested;
  const issue = drawIssue(requested, work.currency, await store.listCreditPools(work, [pricingModelId]));
  if (issue !== null) throw invalid(['creditPool', 'drawAtPrice'], issue);
  const id = newId('creditPool');
  const rates = await findMeters(work, { id, pricingModelId }, requested.rates);
  const pool = { id, pricingModelId, slug, name, unit, drawAtPrice, lowBalanceThreshold, rates };
  await store.insertCreditPools(work, [pool]);
  return getCreditPool(work, id);
}

export async function getCreditPool(work: Work, id: string): Promise<CreditPool> {
  return required(work, store.findCreditPool, id, 'creditPoolNotFound');
}

export async function listCreditPools(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfCreditPools(work, request);
  return page(request, rows, total);
}

/** Changes a credit pool. New rates are for usage from now on. */
export async function updateCreditPool(work: Work, id: string, change: CreditPoolChange): Promise<CreditPool> {
  refuseOtherId(id, change.id);
  const pool = await requiredLocked(work, store.findCreditPool, id, 'creditPoolNotFound');
  const { slug = pool.slug, name = pool.name, lowBalanceThreshold = pool.lowBalanceThreshold } = change;
  const rates = await findMeters(work, pool, change.rates ?? pool.rates);
  await store.saveCreditPools(work, [{ ...pool, slug, name, lowBalanceThreshold, rates }]);
  return getCreditPool(work, id);
}

/** The rates with their usage meters. The pricing model is locked. */
async function findMeters(
  work: Work,
  { id, pricingModelId }: Pick<CreditPool, 'id' | 'pricingModelId'>,
  rates: readonly PoolRateInput[],
): Promise<StoredRate[]> {
  const meters = new Map((await listUsageMeters(work, [pricingModelId])).map((meter) => [meter.slug, meter]));
  const others = (await store.listCreditPools(work, [pricingModelId])).filter((other) => other.id !== id);
  const placed = rates.map((rate, index) => ({ ...rate, path: ['creditPool', 'rates', index] }));
  const issue = rateIssue([
    ...others.flatMap((other) => other.rates.map((rate) => ({ ...rate, path: [] }))),
    ...placed,
  ]);
  if (issue !== null) {
    assert(issue.path.length > 1, 'the rates of other pools do not tie');
    throw invalid(issue.path, issue.message);
  }
  return rates.map((rate, index) => {
    const meter = meters.get(rate.usageMeterSlug);
    const path = ['creditPool', 'rates', index, 'usageMeterSlug'];
    if (meter === undefined) throw refusal('usageMeterNotFound', path, rate.usageMeterSlug);
    if (isMeasured(meter)) throw invalid(path, noCreditsOfMeasured);
    return { ...rate, usageMeterId: meter.id };
  });
}
