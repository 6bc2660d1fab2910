import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { CurrencyCode } from '../kernel/currency.ts';
import { Problem, type ProblemName } from '../kernel/problem.ts';
import { findDefaultPricingModel, findPricingModel, lockPricingModel } from './store-pricing-models.ts';

/**
 * The pricing model that a request is about: the given one, else the one that the key is pinned to, else the default
 * one. Refuses a given one that the key cannot see, and a request that names none where there is no default.
 */
export async function resolvePricingModel(work: Work, given?: string | null): Promise<string> {
  const wanted = given ?? work.pinnedPricingModelId;
  const model = wanted === null ? await findDefaultPricingModel(work) : await findPricingModel(work, wanted);
  if (model === null) {
    if (wanted === null) throw new Problem('defaultPricingModelNotFound');
    throw new Problem('pricingModelNotFound', { id: wanted });
  }
  return model.id;
}

/** `resolvePricingModel`, and the pricing model stays locked: for a request that adds something to it. */
export async function resolveLockedPricingModel(work: Work, given?: string | null): Promise<string> {
  const id = await resolvePricingModel(work, given);
  await lockPricingModel(work, id);
  return id;
}

/** A record that must exist. */
export async function required<Row>(
  work: Work,
  find: (work: Work, id: string) => Promise<Row | null>,
  id: string,
  refusal: ProblemName,
): Promise<Row> {
  const row = await find(work, id);
  if (row === null) throw new Problem(refusal, { id });
  return row;
}

/**
 * A record that must exist, as it is once its pricing model is locked: nobody else changes the catalog from here to
 * the end of the transaction.
 */
export async function requiredLocked<Row extends { pricingModelId: string }>(
  work: Work,
  find: (work: Work, id: string) => Promise<Row | null>,
  id: string,
  refusal: ProblemName,
): Promise<Row> {
  const { pricingModelId } = await required(work, find, id, refusal);
  await lockPricingModel(work, pricingModelId);
  // Read again: it may have changed while we waited for the lock.
  return required(work, find, id, refusal);
}

/** Refuses a body whose id is not that of the path. */
export function refuseOtherId(pathId: string, bodyId: string | undefined): void {
  if (bodyId !== undefined && bodyId !== pathId) throw new Problem('idMismatch', { bodyId, pathId });
}

/** The currency that new prices of the environment are in. */
export function currencyOf(work: Work): CurrencyCode {
  return CurrencyCode.parse(work.currency);
}

/** The one row of a statement about one row. */
export function only<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  assert(row !== undefined && rows.length === 1, 'one row was written');
  return row;
}
