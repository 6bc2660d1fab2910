import assert from 'node:assert/strict';
import { allocate, mulDiv } from '../kernel/money.ts';
import { type DiscountTerms, discountAmount, spreadDiscount } from '../rating/discount.ts';
import type { TaxQuote } from './invoice.ts';

/** An exact value and what it was rounded to, half away from zero. `denominator` is positive. */
export interface Rounding {
  readonly numerator: bigint;
  readonly denominator: bigint;
  readonly rounded: bigint;
}

/** How much of an invoice's discount and of its tax falls to one line, in minor units. */
export interface LineShares {
  readonly discountAmount: bigint;
  readonly taxAmount: bigint;
}

/** The money of an invoice, in minor units. */
export interface InvoiceAmounts {
  /** What the lines add up to. */
  readonly sum: bigint;
  readonly discountAmount: bigint;
  /** What tax is reckoned on: the sum less the discount. Tax that the prices contain is still in it. */
  readonly taxable: bigint;
  readonly taxAmount: bigint;
  /** Net of discount and tax. */
  readonly subtotal: bigint;
  readonly total: bigint;
  /** In the order of the lines. */
  readonly shares: readonly LineShares[];
}

/** The part of a quote that the arithmetic needs. */
export type TaxTerms = Pick<TaxQuote, 'percentage' | 'inclusive'>;

/**
 * What lines of these amounts ask for. The discount is reckoned on their sum, tax on what is left; each is rounded once,
 * half away from zero, and shared out so that the shares add up to it again. Tax that the prices contain is taken out
 * of them, so the total stays what they say; other tax comes on top. A line below zero lowers the sum and bears neither
 * discount nor tax; the sum is zero or more. Worked examples I1 to I4, I6 and I8; 1000 with 19 % on top are 1190, and
 * 1190 with 19 % in it are 1000 and 190.
 */
export function invoiceAmounts(
  lineAmounts: readonly bigint[],
  discount: DiscountTerms | null,
  tax: TaxTerms | null,
): InvoiceAmounts {
  const sum = total(lineAmounts);
  assert(sum >= 0n, 'an invoice never owes the customer');
  const discounted = discount === null ? 0n : discountAmount(discount, sum);
  const discountShares = spreadDiscount(discounted, lineAmounts);
  const taxable = sum - discounted;
  const taxAmount = tax === null ? 0n : taxRounding(tax, taxable).rounded;
  const taxShares = spreadTax(
    taxAmount,
    lineAmounts.map((amount, index) => amount - (discountShares[index] ?? 0n)),
  );
  const subtotal = tax?.inclusive ? taxable - taxAmount : taxable;
  return {
    sum,
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

// Six decimals: a percentage is a whole number of millionths.
const percentageDecimals = 6;
const hundredPercent = 100n * 10n ** BigInt(percentageDecimals);

/**
 * The tax on `taxable` minor units: taxable x rate when it comes on top, taxable x rate / (100 % + rate) when it is in
 * there already. 8.875 % on 1000 are 88.75, so 89.
 */
export function taxRounding({ percentage, inclusive }: TaxTerms, taxable: bigint): Rounding {
  const rate = millionthsOfPercent(percentage);
  const numerator = taxable * rate;
  const denominator = inclusive ? hundredPercent + rate : hundredPercent;
  return { numerator, denominator, rounded: mulDiv(taxable, rate, denominator) };
}

/** `8.875` as 8875000. Anything but a decimal text of at most six decimals is a bug. */
function millionthsOfPercent(percentage: string): bigint {
  const [, whole, decimals = ''] = /^(\d{1,3})(?:\.(\d{1,6}))?$/.exec(percentage) ?? [];
  assert(whole !== undefined, `not a percentage: ${percentage}`);
  return BigInt(whole + decimals.padEnd(percentageDecimals, '0'));
}

function spreadTax(taxAmount: bigint, taxableAmounts: readonly bigint[]): bigint[] {
  // An invoice of nothing has no line to weigh by.
  if (taxAmount === 0n) return taxableAmounts.map(() => 0n);
  return allocate(
    taxAmount,
    taxableAmounts.map((amount) => (amount > 0n ? amount : 0n)),
  );
}

function total(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}
