import assert from 'node:assert/strict';
import type { Period } from '../kernel/calendar.ts';
import { allocate, divHalfAway, mulDiv, smallerOf } from '../kernel/money.ts';

/** A whole percentage of the base, or a fixed amount in minor units. Not negative. */
export type DiscountTerms = { kind: 'percent' | 'fixed'; amount: bigint };

/**
 * The discount on `base`, in minor units: between 0 and the base. Percentages above 100 count as 100 and are rounded
 * once, half away from zero (worked example I3: 50 % of 999 is 500). A fixed amount is at most the base (I4). A base of
 * zero or less gets no discount. A percentage gives a multiple of `step`, as the base and a fixed amount are.
 */
export function discountAmount(terms: DiscountTerms, base: bigint, step = 1n): bigint {
  assert(terms.amount >= 0n, 'a discount is not negative');
  if (base <= 0n) return 0n;
  switch (terms.kind) {
    case 'percent':
      return mulDiv(base, smallerOf(terms.amount, 100n), 100n, step);
    case 'fixed':
      return smallerOf(terms.amount, base);
    default:
      assert.fail(`unknown kind of discount: ${terms.kind satisfies never}`);
  }
}

/**
 * The discount for a part of an interval: a percentage stays. A fixed amount is prorated and rounded once, to a multiple
 * of `step`.
 */
export function discountOfPart<Terms extends DiscountTerms>(
  terms: Terms,
  part: Period,
  { start, end }: Period,
  step = 1n,
): Terms {
  if (terms.kind === 'percent') return terms;
  return { ...terms, amount: mulDiv(terms.amount, BigInt(part.end - part.start), BigInt(end - start), step) };
}

/** A discount on all lines of an invoice, or on those at some prices. */
export type LineDiscount = DiscountTerms & { readonly priceIds?: readonly string[] | null };

/** The part of a line that is for one of its prices, in minor units. */
export interface LinePart {
  readonly priceId: string | null;
  readonly value: bigint;
}

/** A line before discount, in minor units. */
export interface DiscountableLine {
  readonly amount: bigint;
  readonly priceId: string | null;
  /** Its parts, which add up to it, where it is for several prices. Absent: all of it is for its price. */
  readonly parts?: readonly LinePart[];
}

/** The discount on an invoice, in minor units. */
export interface LinesDiscounted {
  /** The sum of the positive lines that it is computed of. */
  readonly base: bigint;
  readonly amount: bigint;
  /** In the order of the lines. */
  readonly shares: readonly bigint[];
}

/**
 * The discount on the lines that it is for, and the share of each. Worked example: 20 % on the price A take 200 off its line
 * of 1000, and nothing off a line of 500 at the price B.
 */
export function discountLines(
  discount: LineDiscount | null,
  lines: readonly DiscountableLine[],
  step = 1n,
): LinesDiscounted {
  const amounts = lines.map((line) => amountFor(line, discount));
  const base = amounts.reduce((sum, amount) => (amount > 0n ? sum + amount : sum), 0n);
  const amount = discount === null ? 0n : discountAmount(discount, base, step);
  return { base, amount, shares: spreadDiscount(amount, amounts, step) };
}

/** The part of a line that a discount is for. */
function amountFor(line: DiscountableLine, discount: LineDiscount | null): bigint {
  if (line.parts === undefined) return isFor(discount, line) ? line.amount : 0n;
  return line.parts.reduce((sum, part) => (isFor(discount, part) ? sum + part.value : sum), 0n);
}

function isFor(discount: LineDiscount | null, { priceId }: Pick<LinePart, 'priceId'>): boolean {
  const priceIds = discount?.priceIds ?? null;
  return priceIds === null || (priceId !== null && priceIds.includes(priceId));
}

/** The rest of a line of which a discount takes `share`. */
export function leftAfter(line: DiscountableLine, share: bigint, discount: LineDiscount, step = 1n): DiscountableLine {
  const left = { ...line, amount: line.amount - share };
  if (line.parts === undefined || share === 0n) return left;
  const off = allocate(
    share,
    line.parts.map((part) => (isFor(discount, part) ? part.value : 0n)),
    step,
  );
  return { ...left, parts: line.parts.map((part, index) => ({ ...part, value: part.value - (off[index] ?? 0n) })) };
}

/**
 * The parts of a line for several prices, by what each is worth in any unit; a worth of 0 or less has none. Undefined if
 * all of it is for the price of the line. The parts are multiples of `step`, as the amount is. Worked example: 1000 for
 * prices worth 3 and 1 are 750 and 250.
 */
export function partsByWorth(
  { amount, priceId: own }: Pick<DiscountableLine, 'amount' | 'priceId'>,
  worths: ReadonlyMap<string | null, bigint>,
  step = 1n,
): readonly LinePart[] | undefined {
  const counted = [...worths].filter(([, worth]) => worth > 0n);
  if (counted.every(([priceId]) => priceId === own)) return undefined;
  const shares = allocate(
    amount / step,
    counted.map(([, worth]) => worth),
  );
  return counted.map(([priceId], index) => ({ priceId, value: (shares[index] ?? 0n) * step }));
}

/** Several discounts on the lines of an invoice, in minor units. */
interface DiscountedInTurn {
  /** The part of each discount, in their order. */
  readonly parts: readonly LinesDiscounted[];
  /** The sum of all of them. */
  readonly amount: bigint;
  /** The shares of all of them together, in the order of the lines. */
  readonly shares: readonly bigint[];
}

/**
 * The discounts on the lines, one after the other: each is computed on what the ones before it have left of each line, and
 * is rounded once. Worked example: 20 % and then 500 off a line of 3000 take 600 and 500, and 1900 are left. The other way round
 * they take 500 and 500, and 2000 are left.
 */
export function discountInTurn(
  discounts: readonly LineDiscount[],
  lines: readonly DiscountableLine[],
  step = 1n,
): DiscountedInTurn {
  const parts: LinesDiscounted[] = [];
  let left = lines;
  for (const discount of discounts) {
    const part = discountLines(discount, left, step);
    parts.push(part);
    left = left.map((line, index) => leftAfter(line, part.shares[index] ?? 0n, discount, step));
  }
  return {
    parts,
    amount: parts.reduce((sum, part) => sum + part.amount, 0n),
    shares: lines.map(({ amount }, index) => amount - (left[index]?.amount ?? 0n)),
  };
}

/**
 * Splits a discount over the lines it was computed on, in proportion to their amounts, in minor units. The shares add
 * up to the discount and none exceeds its line. A line of zero or less gets nothing. The discount is not negative and
 * at most the sum of the positive lines. The shares of multiples of `step` are such multiples.
 */
export function spreadDiscount(discount: bigint, lineAmounts: readonly bigint[], step = 1n): bigint[] {
  const discountable = lineAmounts.map((amount) => (amount > 0n ? amount : 0n));
  const sum = discountable.reduce((sumSoFar, amount) => sumSoFar + amount, 0n);
  assert(discount >= 0n && discount <= sum, 'a discount lies between nothing and the sum of its lines');
  // Without a discount there may be no positive line to weigh by.
  if (discount === 0n) return lineAmounts.map(() => 0n);
  return allocate(discount, discountable, step);
}

/** The invoices so far of a usage period that has become cheaper, in minor units. */
export interface BilledSoFar {
  /** Before discount. */
  readonly listed: bigint;
  /** The part of it that percentages took off. */
  readonly percentOff: bigint;
  /** The percentage, if all of it had the same one. */
  readonly percentage: bigint | null;
  /** After each discount and credit note. */
  readonly net: bigint;
}

/**
 * The money that goes back where all units of a usage period have become cheaper by `payback`, in minor units. So much
 * stays billed as one invoice of the lower price under the same percentage would bill, and no more goes back than was
 * billed. A fixed discount stays whole. Worked example: of 500 a percentage of 20 took 100 off. A price of 402 has 80
 * off, so 322 stay and 78 go back. The share of a line in a discount may be finer than `step`, of which the money is a
 * multiple: 781 in steps of 10 are 780.
 */
export function paidBack(payback: bigint, { listed, percentOff, percentage, net }: BilledSoFar, step = 1n): bigint {
  const billed = listed > 0n ? listed : 0n;
  const left = billed > payback ? billed - payback : 0n;
  if (left === billed || net <= 0n) return 0n;
  const off =
    percentage === null
      ? mulDiv(percentOff, left, billed, step)
      : discountAmount({ kind: 'percent', amount: percentage }, left, step);
  const back = divHalfAway(billed - percentOff - (left - off), 1n, step);
  return smallerOf(back > 0n ? back : 0n, net - (net % step));
}
