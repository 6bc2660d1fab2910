import assert from 'node:assert/strict';
import { allocate, mulDiv, smallerOf } from '../kernel/money.ts';

/** The amounts of an invoice line, or the part of them that credit notes have taken back. In minor units. */
export interface LineAmounts {
  /** Before discount and tax. */
  readonly amount: bigint;
  readonly discountAmount: bigint;
  readonly taxAmount: bigint;
}

/** A credit of a line, with its effect on the totals of its credit note. */
export interface LineCredit extends LineAmounts {
  /** Net of discount and tax. */
  readonly subtotal: bigint;
  readonly total: bigint;
}

/**
 * The credit of `amount` of a line, of which `before` was credited. Discount and tax go back in proportion: each share
 * is round(whole x credited so far / amount of the line), less what was credited before. So any sequence of credits of
 * the whole line adds up exactly to its discount and tax. Credits that were voided in between leave other roundings
 * behind: a share is then moved to the nearest one that leaves no negative rest. Worked example: a line of 1000 with a
 * discount of 100 and 171 of tax is credited by 333, 333 and 334. It gives back discounts of 33, 34 and 33, and taxes of
 * 57 each.
 */
export function creditOf(line: LineAmounts, before: LineAmounts, amount: bigint, inclusive: boolean): LineCredit {
  const left = line.amount - before.amount;
  assert(amount > 0n && amount <= left, 'a credit is at most what is left of its line');
  const soFar = before.amount + amount;
  const proportionOf = (whole: bigint) => mulDiv(whole, soFar, line.amount);

  const discountLeft = line.discountAmount - before.discountAmount;
  const netLeft = left - discountLeft;
  const discountAmount = within(
    proportionOf(line.discountAmount) - before.discountAmount,
    largerOf(0n, amount - netLeft),
    smallerOf(amount, discountLeft),
  );

  const net = amount - discountAmount;
  const taxLeft = line.taxAmount - before.taxAmount;
  const wanted = proportionOf(line.taxAmount) - before.taxAmount;
  const taxAmount = inclusive
    ? within(wanted, largerOf(0n, net - (netLeft - taxLeft)), smallerOf(net, taxLeft))
    : within(wanted, amount === left ? taxLeft : 0n, taxLeft);

  const subtotal = inclusive ? net - taxAmount : net;
  return { amount, discountAmount, taxAmount, subtotal, total: subtotal + taxAmount };
}

/** A line whose money goes back by a refund, and the part of it that credit notes have taken back. */
interface RefundableLine {
  readonly whole: LineAmounts;
  readonly credited: LineAmounts;
  readonly isUsage: boolean;
}

/**
 * Spreads a refund of `total`, tax included, over the lines of its invoice, in proportion to the money that is left of
 * them. Usage comes after all others. A line that gives nothing back is null, as one that lowered the invoice. Returns null if less is left of all lines. Worked example: of a plan of 1190 and
 * usage of 238, 714 go back from the plan; 1309 take all of the plan and 119 of the usage.
 */
export function creditsOfRefund(
  lines: readonly RefundableLine[],
  total: bigint,
  inclusive: boolean,
): (LineCredit | null)[] | null {
  const left = lines.map(({ whole, credited }) => moneyOf(restOf(whole, credited), inclusive));
  const leftOf = (isUsage: boolean) => left.map((money, index) => (lines[index]?.isUsage === isUsage ? money : 0n));
  const first = sumOf(leftOf(false));
  if (total > sumOf(left)) return null;
  const ofFirst = smallerOf(total, first);
  const shares = [spread(ofFirst, leftOf(false)), spread(total - ofFirst, leftOf(true))];
  return lines.map(({ whole, credited }, index) => {
    const share = shares.reduce((sum, each) => sum + (each[index] ?? 0n), 0n);
    return share === 0n ? null : creditOfTotal(whole, credited, share, inclusive);
  });
}

/**
 * The credit of a line that gives back exactly `total`, tax included, of which `before` was credited. Tax and discount
 * go back in proportion to the money, rounded once, so a whole line gives back its amounts. A share moves to the nearest
 * one with which the rest can still be credited: while money is left, so is a part of the amount. Worked example: of a
 * line of 1000 with 190 of tax, 595 are 500 and 95 of tax.
 */
export function creditOfTotal(line: LineAmounts, before: LineAmounts, total: bigint, inclusive: boolean): LineCredit {
  const rest = restOf(line, before);
  const money = moneyOf(rest, inclusive);
  assert(total > 0n && total <= money, 'a credit is at most what is left of its line');
  const whole = moneyOf(line, inclusive);
  const soFar = moneyOf(before, inclusive) + total;
  const proportionOf = (share: bigint) => mulDiv(share, soFar, whole);

  const netLeft = rest.amount - rest.discountAmount;
  const mostNet = total === money ? netLeft : largerOf(0n, netLeft - 1n);
  const leastTax = inclusive ? total - (netLeft - rest.taxAmount) : total - mostNet;
  const taxAmount = within(
    proportionOf(line.taxAmount) - before.taxAmount,
    largerOf(0n, leastTax),
    smallerOf(total, rest.taxAmount),
  );
  const subtotal = total - taxAmount;
  const net = inclusive ? total : subtotal;
  const leastDiscount = total === money ? rest.discountAmount : 0n;
  const mostDiscount = total === money || net < netLeft ? rest.discountAmount : largerOf(0n, rest.discountAmount - 1n);
  const discountAmount = within(proportionOf(line.discountAmount) - before.discountAmount, leastDiscount, mostDiscount);
  return { amount: net + discountAmount, discountAmount, taxAmount, subtotal, total };
}

function restOf(line: LineAmounts, before: LineAmounts): LineAmounts {
  return {
    amount: line.amount - before.amount,
    discountAmount: line.discountAmount - before.discountAmount,
    taxAmount: line.taxAmount - before.taxAmount,
  };
}

/** The money of these amounts, tax included. A line that lowered its invoice has none. */
function moneyOf({ amount, discountAmount, taxAmount }: LineAmounts, inclusive: boolean): bigint {
  return largerOf(0n, amount - discountAmount + (inclusive ? 0n : taxAmount));
}

function spread(total: bigint, weights: readonly bigint[]): bigint[] {
  return total === 0n ? weights.map(() => 0n) : allocate(total, weights);
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}

function within(value: bigint, least: bigint, most: bigint): bigint {
  assert(least <= most, 'some share is possible');
  return largerOf(least, smallerOf(value, most));
}

function largerOf(a: bigint, b: bigint): bigint {
  return b > a ? b : a;
}
