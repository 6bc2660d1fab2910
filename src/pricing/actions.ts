import assert from 'node:assert/strict';
import type { CellsTogether } from '../database/cells.ts';
import { AskCells, type Work } from '../database/work.ts';
import { CurrencyCode } from '../kernel/currency.ts';
import { Problem, type ProblemName } from '../kernel/problem.ts';
import { isOneOfCells } from '../organizations/store-cells.ts';
import { findDefaultPricingModel, findPricingModel, lockPricingModel } from './store-pricing-models.ts';
import {
  beginRemoval,
  endRemoval,
  hasCopy,
  isBeingRemoved,
  maxCounted,
  maxNamed,
  type Removal,
  type Use,
} from './store-structure.ts';

/**
 * The pricing model of a request: the given one, else the key's pinned one, else the default. Refuses one that the key
 * cannot see, and a missing one if there is no default.
 */
export async function resolvePricingModel(work: Work, given?: string | null): Promise<string> {
  const wanted = given ?? work.pinnedTo;
  const model = wanted === null ? await findDefaultPricingModel(work) : await findPricingModel(work, wanted);
  if (model === null) {
    if (wanted === null) throw new Problem('defaultPricingModelNotFound');
    throw new Problem('pricingModelNotFound', { id: wanted });
  }
  return model.id;
}

/** Like `resolvePricingModel`, and locks the pricing model: for requests that add to it. */
export async function resolveLockedPricingModel(work: Work, given?: string | null): Promise<string> {
  const id = await resolvePricingModel(work, given);
  await lockPricingModel(work, id);
  return id;
}

/** Returns a record that must exist. */
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
 * Returns a record that must exist, after locking its pricing model: the catalog does not change until the transaction
 * ends.
 */
export async function requiredLocked<Row extends { pricingModelId: string }>(
  work: Work,
  find: (work: Work, id: string) => Promise<Row | null>,
  id: string,
  refusal: ProblemName,
): Promise<Row> {
  const { pricingModelId } = await required(work, find, id, refusal);
  await lockPricingModel(work, pricingModelId);
  // Read again: it may have changed while this transaction waited for the lock.
  return required(work, find, id, refusal);
}

/** Refuses a body whose id differs from the path. */
export function refuseOtherId(pathId: string, bodyId: string | undefined): void {
  if (bodyId !== undefined && bodyId !== pathId) throw new Problem('idMismatch', { bodyId, pathId });
}

/** The currency of new prices in the environment. */
export function currencyOf(work: Work): CurrencyCode {
  return CurrencyCode.parse(work.currency);
}

/** The only row of a single-row statement. */
export function only<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  assert(row !== undefined && rows.length === 1, 'one row was written');
  return row;
}

/** The records of all cells that refer to something, each kind once. */
export function joinUses(parts: readonly (readonly Use[])[]): Use[] {
  const [first, ...others] = parts;
  if (others.length === 0) return [...(first ?? [])];
  const ordered = parts.flat().toSorted((a, b) => (a.record < b.record ? -1 : 1));
  const kinds = Map.groupBy(ordered, ({ record }) => record);
  return Array.from(kinds, ([record, uses]) => ({
    record,
    total: Math.min(
      maxCounted,
      uses.reduce((sum, { total }) => sum + total, 0),
    ),
    firstIds: uses
      .flatMap(({ firstIds }) => firstIds)
      .sort()
      .slice(0, maxNamed),
  }));
}

/** Names records that use something: `customers: 12 (cus_1, cus_2, cus_3 ...); purchases: 1 (purchase_1)`. */
export function describeUses(uses: readonly Use[]): string {
  return uses
    .map(({ record, total, firstIds }) => {
      const count = total === maxCounted ? `${total} or more` : total;
      return `${record}: ${count} (${firstIds.join(', ')}${total > firstIds.length ? ' ...' : ''})`;
    })
    .join('; ');
}

type Named = Pick<Removal, 'table' | 'id'>;

/**
 * Has the other cells take a record out of their copies of the catalog, before home deletes it. Refuses with `cellNotReady` where it
 * was put back meanwhile.
 */
export async function removeElsewhere(work: Work, { table, id }: Named): Promise<void> {
  if (work.dryRun || !(await isOneOfCells(work))) return;
  const removal = { environmentId: work.environmentId, table, id };
  const until = work.told.get(id);
  if (until === undefined) throw new AskCells(id, (cells) => removeCopies(cells, removal));
  if (!(await isBeingRemoved(work, removal, until))) throw new Problem('cellNotReady');
}

/** Has the other cells put a record back that home does not delete, in the commit of the refusal. */
export async function keepElsewhere(work: Work, { table, id }: Named): Promise<void> {
  const until = work.told.get(id);
  if (until !== undefined) await endRemoval(work.db, { environmentId: work.environmentId, table, id }, until);
}

/** Has the cells take out a record, which they do not where customers use it. Returns the instant until which nobody begins to. */
async function removeCopies(cells: CellsTogether, removal: Removal): Promise<number> {
  const { home, settled, copyCatalogs } = cells;
  // A customer that moves meanwhile might be seen in neither cell.
  const version = await settled();
  const until = await beginRemoval(home, removal);
  try {
    await copyCatalogs(removal.environmentId);
    const stay = await Promise.all(cells.others().map(async (cell) => hasCopy(await cells.open(cell), removal)));
    if (stay.includes(true) || (await settled()) !== version) throw new Problem('cellNotReady');
  } catch (error) {
    await endRemoval(home, removal, until);
    await copyCatalogs(removal.environmentId);
    throw error;
  }
  return until;
}
