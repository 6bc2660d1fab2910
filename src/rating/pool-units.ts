import { smallerOf } from '../kernel/money.ts';
import { decimalText } from '../kernel/money-text.ts';

// Every text with so many decimals is whole in smallest units.
const decimals = 12;
const divisions = 2_162_160n;

/**
 * The smallest units in a unit of a credit pool. All amounts of pools are whole numbers of them, so nothing is rounded.
 * The divisions are 2^4 x 3^3 x 5 x 7 x 11 x 13: a price for each 3600, 86400 or 7 units of a meter is whole too.
 */
export const smallestPerUnit = divisions * 10n ** BigInt(decimals);

/** A decimal text with up to 12 decimals in smallest units. Worked example: "0.5" is 1,081,080 x 10^12. */
export function poolAmount(text: string): bigint {
  const [whole = '', rest = ''] = text.split('.');
  return BigInt(whole + rest.padEnd(decimals, '0')) * divisions;
}

/**
 * An amount in smallest units as a decimal text without trailing zeros. A third, which has no last decimal, is cut off
 * after the twelfth: a balance that is shown is there.
 */
export function poolText(amount: bigint): string {
  const below = amount < 0n && amount % divisions !== 0n ? 1n : 0n;
  return decimalText(amount / divisions - below, decimals).replace(/\.?0+$/, '');
}

/** The rate of a usage meter in a credit pool: `per` units cost `cost` units of the pool. */
interface PoolRate {
  readonly cost: string;
  readonly per: number;
}

/** The smallest units that a unit of the meter costs. Null: that is not a whole number of them. */
export function unitCostOf({ cost, per }: PoolRate): bigint | null {
  const amount = poolAmount(cost);
  const unitCost = amount / BigInt(per);
  return unitCost > 0n && unitCost * BigInt(per) === amount ? unitCost : null;
}

/**
 * The units of a meter that a pool pays for, of those that no credit of the meter covers: whole units, as many as its
 * balance covers. Worked example: at 2 for each unit, a balance of 7 pays for 3 of 5.
 */
export function unitsPaidBy(pool: PoolState | null, units: bigint): bigint {
  if (pool === null || units === 0n) return 0n;
  const { costOf, isWhole } = pool;
  const balance = pool.balance < 0n ? 0n : pool.balance;
  if (costOf(units) <= balance) return units;
  if (isWhole) return 0n;
  // More units never cost less.
  let [paid, tooMany] = [0n, units];
  while (tooMany - paid > 1n) {
    const middle = (paid + tooMany) / 2n;
    if (costOf(middle) <= balance) paid = middle;
    else tooMany = middle;
  }
  return paid;
}

/** The balance of a pool, and what units of the meter cost there: both in smallest units. */
export interface PoolState {
  readonly balance: bigint;
  readonly costOf: (units: bigint) => bigint;
  /** Whether it pays for all of the units or for none. */
  readonly isWhole: boolean;
}

/** The state of the account of a meter: its balance, and what is left of its credits beside open holds. */
interface MeterState {
  readonly balance: bigint;
  readonly free: bigint;
}

/**
 * The units of a meter that a pool pays for, where its balance and the pool together cover all of them: the credits of
 * the meter come first. Null: they do not. Worked example: of 5 units, 2 are left on the meter. A pool with 7 pays for
 * the other 3 at 2 each, and not at 3 each.
 */
export function pooledShare(units: bigint, { balance, free }: MeterState, pool: PoolState | null): bigint | null {
  if (units <= balance) return 0n;
  // A pool that cannot pay for one unit is the same as none.
  if (unitsPaidBy(pool, 1n) === 0n) return null;
  const uncovered = units - smallerOf(free, units);
  return unitsPaidBy(pool, uncovered) === uncovered ? uncovered : null;
}
