import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { minorUnitDigits } from '../kernel/money-text.ts';
import { priceOfUsage } from '../pricing/pricing.ts';
import { costOfMore, type DrawPrice, drawMore, isDrawable, noDraw, type PoolDraw } from '../rating/pool-draws.ts';
import type { Quantities } from '../rating/usage-parts.ts';
import { openPeriodStart } from '../subscriptions/interim.ts';
import { overrideAt } from '../subscriptions/price-override.ts';
import {
  type DrawKey,
  type DrawnPrice,
  type DrawPeriod,
  type DrawTerms,
  listDrawnPrices,
  listDraws,
  saveDraws,
} from './store.ts';

/** A price that a pool in money draws at, on one account. */
interface WantedDraw extends DrawKey {
  readonly creditPoolId: string;
}

/** A draw in memory. */
interface OpenDraw extends DrawPeriod {
  readonly creditPoolId: string;
  readonly terms: DrawTerms;
  readonly price: DrawPrice;
  draw: PoolDraw;
  isChanged: boolean;
}

/**
 * The draws of some prices in their present usage periods, whose accounts are locked. `costOf` and `add` decide in memory.
 * `save` stores the result.
 */
export class PriceDraws {
  readonly #draws: ReadonlyMap<string, OpenDraw>;

  constructor(draws: readonly OpenDraw[]) {
    this.#draws = new Map(draws.map((draw) => [keyOf(draw), draw]));
  }

  /** Whether a pool pays at the price at all: see `isDrawable`. */
  has(key: DrawKey): boolean {
    return this.#draws.has(keyOf(key));
  }

  /** The smallest units that more usage costs. */
  costOf(key: DrawKey, more: Quantities): bigint {
    const { price, draw } = this.#find(key);
    return costOfMore(price, draw, more);
  }

  /** Adds usage that the pool pays for, or takes such usage back. Returns its cost. */
  add(key: DrawKey, more: Quantities): bigint {
    const open = this.#find(key);
    const before = open.draw.amount;
    open.draw = drawMore(open.price, open.draw, more);
    open.isChanged = true;
    return open.draw.amount - before;
  }

  async save(work: Work): Promise<void> {
    await saveDraws(
      work,
      [...this.#draws.values()].filter(({ isChanged }) => isChanged),
    );
  }

  #find(key: DrawKey): OpenDraw {
    const found = this.#draws.get(keyOf(key));
    assert(found !== undefined, 'the draw was opened');
    return found;
  }
}

export const noPriceDraws = new PriceDraws([]);

/** Opens the draws of these prices. To save them, the caller has locked their accounts. Prices that no pool can draw at are left out. */
export async function openDraws(work: Work, wanted: readonly WantedDraw[]): Promise<PriceDraws> {
  const distinct = [...new Map(wanted.map((each) => [keyOf(each), each])).values()];
  if (distinct.length === 0) return noPriceDraws;
  const digits = minorUnitDigits(work.currency);
  const prices = (await listDrawnPrices(work, distinct)).map((price) => ({
    ...price,
    periodStart: periodStartOf(price),
  }));
  const stored = new Map((await listDraws(work, prices)).map((draw) => [keyOf(draw), draw]));
  const poolOf = new Map(distinct.map((each) => [keyOf(each), each.creditPoolId]));
  const draws = prices.flatMap(({ ledgerAccountId, priceId, periodStart, overrides, terms }): OpenDraw[] => {
    const period = { ledgerAccountId, priceId, periodStart };
    const key = keyOf(period);
    const before = stored.get(key);
    // A usage period keeps its terms, as its bills do.
    const present = before?.terms ?? { ...terms, ...overrideAt(overrides, periodStart) };
    const price = { ...priceOfUsage(present), digits };
    const creditPoolId = poolOf.get(key);
    assert(creditPoolId !== undefined, 'each price was asked for');
    if (!isDrawable(price)) return [];
    return [{ ...period, creditPoolId, terms: present, price, draw: before?.draw ?? noDraw, isChanged: false }];
  });
  return new PriceDraws(draws);
}

/** The start of the usage period that is open: that of the next bill. */
function periodStartOf({ own, schedule }: DrawnPrice): number {
  return own === null ? (schedule.currentBillingPeriodStart ?? 0) : openPeriodStart(schedule, own);
}

function keyOf({ ledgerAccountId, priceId }: Pick<DrawKey, 'ledgerAccountId' | 'priceId'>): string {
  return `${ledgerAccountId} ${priceId}`;
}
