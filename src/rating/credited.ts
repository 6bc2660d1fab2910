import assert from 'node:assert/strict';
import { mulDiv, smallerOf } from '../kernel/money.ts';

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

function within(value: bigint, least: bigint, most: bigint): bigint {
  assert(least <= most, 'some share is possible');
  return largerOf(least, smallerOf(value, most));
}

function largerOf(a: bigint, b: bigint): bigint {
  return b > a ? b : a;
}
