import { setTimeout as sleep } from 'node:timers/promises';
import type { CellsTogether } from '../database/cells.ts';
import { AskCells } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { beginToCount } from '../pricing/store-discounts.ts';
import { type AllowanceNeed, countRedemptionsLeft, raiseAllowance, takeBackAllowances } from './store-allowances.ts';

// A request that was given the last one redeems it within a moment, or leaves it to others.
const patienceMs = 5_000;
const lookAgainMs = 50;

/** Has the unit of work run again with an allowance, or with the answer that there is none. */
export function askForAllowance(need: AllowanceNeed): AskCells {
  return new AskCells(need.discountId, async (cells) => ((await findAllowance(cells, need)) ? null : 0));
}

/**
 * Finds another redemption of a discount for a slot: from home, or from what the slots of all cells have left over. Without a slot, the
 * cells only count.
 */
async function findAllowance(cells: CellsTogether, { slot, ...counted }: AllowanceNeed): Promise<boolean> {
  const { home, open, settled } = cells;
  const raise = async (): Promise<boolean> => {
    if (slot === null) return false;
    const wanted = { ...counted, slot };
    const cell = cells.cellOf(slot);
    if (cell !== null) return raiseAllowance(home, await open(cell), wanted);
    const left = await countRedemptionsLeft(home, wanted);
    return left === null || left > 0;
  };
  for (const endsAt = performance.now() + patienceMs; ; await sleep(lookAgainMs)) {
    const version = await settled();
    if (await raise()) return true;
    if (slot === null) {
      await beginToCount(home, counted);
      await cells.copyCatalogs(counted.environmentId);
    }
    const kept = await Promise.all(
      cells.others().map(async (cell) => takeBackAllowances(home, await open(cell), counted)),
    );
    if (await raise()) return true;
    // While a slot moves, neither of its cells may have counted it.
    if (!kept.includes(true) && (await settled()) === version) return false;
    if (performance.now() > endsAt) throw new Problem('cellNotReady');
  }
}
