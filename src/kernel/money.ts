import assert from 'node:assert/strict';

/**
 * The largest amount, in minor units, that the API can carry: 2^53 - 1, the largest integer that every JSON reader
 * keeps exactly. Internal amounts may be larger; amounts that are returned or charged may not.
 */
export const maxSafeAmount = 9007199254740991n;

/**
 * The quotient `n / d` as a multiple of `step`, rounded half away from zero. Halves 2.5 and -2.5 become 3 and -3, so a
 * refund mirrors its charge; 1234 in steps of 10 becomes 1230. `d` and `step` are positive.
 */
export function divHalfAway(n: bigint, d: bigint, step = 1n): bigint {
  assert(d > 0n && step > 0n, 'the divisor is positive');
  const divisor = d * step;
  const magnitude = ((2n * absolute(n) + divisor) / (2n * divisor)) * step;
  return n < 0n ? -magnitude : magnitude;
}

/**
 * `amount * numerator / denominator` in the unit of `amount`: exact until one rounding at the end, half away from zero,
 * to a multiple of `step`. `denominator` is positive.
 */
export function mulDiv(amount: bigint, numerator: bigint, denominator: bigint, step = 1n): bigint {
  return divHalfAway(amount * numerator, denominator, step);
}

/**
 * Splits `total` in proportion to `weights` so that the parts add up to it: the largest remainder method (Hamilton).
 * Each part is its exact share rounded down or up; of equal remainders the earlier is rounded up. A zero weight gets
 * nothing. A negative total is split as the mirror image of the positive one. Weights are not negative and at least one
 * is positive: there is no fair way to split over nothing. The parts of multiples of `step` are such multiples:
 * 1000 over 10, 10 and 10 in steps of 10 is 340, 330 and 330.
 */
export function allocate(total: bigint, weights: readonly bigint[], step = 1n): bigint[] {
  assert(
    weights.every((weight) => weight >= 0n),
    'no weight is negative',
  );
  const sum = weights.reduce((sumSoFar, weight) => sumSoFar + weight, 0n);
  assert(sum > 0n, 'at least one weight is positive');

  const unit = commonStep(step, [total, ...weights]);
  const units = absolute(total) / unit;
  const shares = weights.map((weight) => {
    const product = units * weight;
    return { part: product / sum, remainder: product % sum };
  });
  const roundedDown = shares.reduce((sumSoFar, share) => sumSoFar + share.part, 0n);
  // Sorting is stable, so of equal remainders the earlier stays in front. Fewer units are left over than there are
  // remainders above zero, so an exact share (a zero weight too) never gets one.
  const byRemainder = [...shares].sort((a, b) => compareDescending(a.remainder, b.remainder));
  for (const share of byRemainder.slice(0, Number(units - roundedDown))) share.part += 1n;

  return shares.map(({ part }) => (total < 0n ? -part : part) * unit);
}

/** The step of these amounts: `step` if each is a multiple of it, else 1. */
export function commonStep(step: bigint, amounts: readonly bigint[]): bigint {
  return amounts.every((amount) => amount % step === 0n) ? step : 1n;
}

/** The smaller of two amounts; `Math.min` does not accept bigint. */
export function smallerOf(a: bigint, b: bigint): bigint {
  return b < a ? b : a;
}

/**
 * Saturates an amount at 2^53-1, the largest that the API can carry, instead of refusing it: such a grant means
 * "unlimited", and twice unlimited is the same.
 */
export function saturated(amount: bigint): bigint {
  return smallerOf(amount, maxSafeAmount);
}

function absolute(n: bigint): bigint {
  return n < 0n ? -n : n;
}

function compareDescending(a: bigint, b: bigint): number {
  if (a === b) return 0;
  return a > b ? -1 : 1;
}
