import assert from 'node:assert/strict';
import { allocate, mulDiv } from '../kernel/money.ts';
import { type DiscountableLine, discountInTurn, type LineDiscount, type LinesDiscounted } from './discount.ts';

/** An exact value and its rounded form, half away from zero. `denominator` is positive. */
export interface Rounding {
  readonly numerator: bigint;
  readonly denominator: bigint;
  readonly rounded: bigint;
}

/** A line's share of the invoice's discount and tax, in minor units. */
export interface LineShares {
  readonly discountAmount: bigint;
  readonly taxAmount: bigint;
}

/** The amounts of an invoice, in minor units. */
interface InvoiceAmounts {
  /** The sum of the lines. */
  readonly sum: bigint;
  /** Each discount, in their order. One with a base of 0 has nothing to apply to. */
  readonly discounts: readonly LinesDiscounted[];
  /** The sum of the discounts. */
  readonly discountAmount: bigint;
  /** The sum of the taxable lines minus their discount, zero or more. Tax included in the prices is still part of it. */
  readonly taxable: bigint;
  readonly taxAmount: bigint;
  /** Net of discount and tax. */
  readonly subtotal: bigint;
  readonly total: bigint;
  /** In the order of the lines. */
  readonly shares: readonly LineShares[];
}

/** The part of a quote that the arithmetic needs. */
export interface TaxTerms {
  /** Decimal text, at most six decimals: `19` or `8.875`. */
  readonly percentage: string;
  /** True when the prices contain the tax already. */
  readonly inclusive: boolean;
}

/**
 * Computes the amounts of an invoice. The first discount applies to the sum of the positive lines, each other one to what is left,
 * and tax to the remainder. Each is rounded once, half away from zero, and split over the lines so that the shares add up. Included tax is taken out of
 * the prices, so the total is unchanged; other tax is added. A negative line is money that was paid before: it lowers
 * the sum, not the discount, and has no share of discount or tax. A line that is `exempt` bears no tax. A discount may be for the `priced` lines at some prices only. Worked examples I1 to I4, I6 and I8; 1000 plus 19 % is
 * 1190, and 1190 including 19 % is 1000 and 190. The total and the shares of lines that are multiples of `step` are such multiples too.
 */
export function invoiceAmounts(
  lineAmounts: readonly bigint[],
  discounts: readonly LineDiscount[],
  tax: TaxTerms | null,
  step = 1n,
  exempt: readonly boolean[] = [],
  priced: readonly DiscountableLine[] = [],
): InvoiceAmounts {
  const sum = total(lineAmounts);
  const lines = lineAmounts.map((amount, index) => priced[index] ?? { amount, priceId: null });
  const { parts, amount: discounted, shares: discountShares } = discountInTurn(discounts, lines, step);
  const left = sum - discounted;
  assert(left >= 0n, 'an invoice never owes the customer');
  const taxed = lineAmounts.map((amount, index) => (exempt[index] ? 0n : amount - (discountShares[index] ?? 0n)));
  const taxable = taxableAmount(taxed);
  const taxAmount = tax === null ? 0n : taxRounding(tax, taxable, step).rounded;
  const taxShares = spreadTax(taxAmount, taxed, step);
  const subtotal = tax?.inclusive ? left - taxAmount : left;
  return {
    sum,
    discounts: parts,
    discountAmount: discounted,
    taxable,
    taxAmount,
    subtotal,
    total: subtotal + taxAmount,
    shares: lineAmounts.map((_, index) => ({
      discountAmount: discountShares[index] ?? 0n,
      taxAmount: taxShares[index] ?? 0n,
    })),
  };
}

/** The amount that tax is computed of: the taxable lines less their discount. Money that was paid before lowers it to 0. */
export function taxableAmount(taxed: readonly bigint[]): bigint {
  const sum = total(taxed);
  return sum > 0n ? sum : 0n;
}

// Six decimal places: a percentage is a whole number of millionths.
const percentageDecimals = 6;
const hundredPercent = 100n * 10n ** BigInt(percentageDecimals);

/**
 * The tax on `taxable` minor units: taxable x rate if added, taxable x rate / (100 % + rate) if included. 8.875 % of
 * 1000 is 88.75, rounded to 89; in steps of 10 it is 90.
 */
export function taxRounding({ percentage, inclusive }: TaxTerms, taxable: bigint, step = 1n): Rounding {
  const rate = millionthsOfPercent(percentage);
  const numerator = taxable * rate;
  const denominator = inclusive ? hundredPercent + rate : hundredPercent;
  return { numerator, denominator, rounded: mulDiv(taxable, rate, denominator, step) };
}

/** Converts `8.875` to 8875000. Anything but decimal text with at most six decimal places is a bug. */
function millionthsOfPercent(percentage: string): bigint {
  const [, whole, decimals = ''] = /^(\d{1,3})(?:\.(\d{1,6}))?$/.exec(percentage) ?? [];
  assert(whole !== undefined, `not a percentage: ${percentage}`);
  return BigInt(whole + decimals.padEnd(percentageDecimals, '0'));
}

function spreadTax(taxAmount: bigint, taxableAmounts: readonly bigint[], step: bigint): bigint[] {
  // Without tax there may be no positive line to weigh by.
  if (taxAmount === 0n) return taxableAmounts.map(() => 0n);
  return allocate(
    taxAmount,
    taxableAmounts.map((amount) => (amount > 0n ? amount : 0n)),
    step,
  );
}

function total(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}
