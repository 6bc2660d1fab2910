import assert from 'node:assert/strict';
import { allocate, mulDiv, smallerOf } from '../kernel/money.ts';

/** A whole number of per cent of the base, or a fixed amount in minor units. Not negative. */
export type DiscountTerms = { kind: 'percent' | 'fixed'; amount: bigint };

/**
 * What the discount takes off `base`, in minor units: between 0 and the base. Per cent above 100 count as 100 and are
 * rounded once, half away from zero (worked example I3: 50 % of 999 is 500); a fixed amount is at most the base (I4).
 * A base of zero or less has nothing to take off.
 */
export function discountAmount(terms: DiscountTerms, base: bigint): bigint {
  assert(terms.amount >= 0n, 'a discount is not negative');
  if (base <= 0n) return 0n;
  switch (terms.kind) {
    case 'percent':
      return mulDiv(base, smallerOf(terms.amount, 100n), 100n);
    case 'fixed':
      return smallerOf(terms.amount, base);
    default:
      assert.fail(`unknown kind of discount: ${terms.kind satisfies never}`);
  }
}

/**
 * Shares a discount out to the lines it was computed on, in their order and in proportion to their amounts, all in
 * minor units. The shares add up to the discount and none exceeds its line. A line of zero or less gets nothing.
 * The discount is not negative and at most the sum of the lines above zero.
 */
export function spreadDiscount(discount: bigint, lineAmounts: readonly bigint[]): bigint[] {
  const discountable = lineAmounts.map((amount) => (amount > 0n ? amount : 0n));
  const sum = discountable.reduce((sumSoFar, amount) => sumSoFar + amount, 0n);
  assert(discount >= 0n && discount <= sum, 'a discount lies between nothing and the sum of its lines');
  // An invoice of nothing has no line to weigh by.
  if (discount === 0n) return lineAmounts.map(() => 0n);
  return allocate(discount, discountable);
}
