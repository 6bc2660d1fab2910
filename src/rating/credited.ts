import assert from 'node:assert/strict';
import { allocate, commonStep, mulDiv, smallerOf } from '../kernel/money.ts';

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

/** A line of an invoice, and the part of it that was credited. */
export interface CreditedLine {
  readonly whole: LineAmounts;
  readonly credited: LineAmounts;
  /** The line less its share of the lines that lowered its invoice: its tax is that of these amounts. */
  readonly lowered: LineAmounts;
}

/**
 * The lines of an invoice, each less its share of those that lowered it, as money that was paid before does. Tax was computed of
 * what is left, so they lower the lines that bear tax, in proportion to their net amounts. Worked example: lines of 1000
 * and -300 have 19 % of 700, 133, which is all on the first one. So its tax is that of an amount of 700.
 */
export function loweredLines(lines: readonly LineAmounts[], step = 1n): LineAmounts[] {
  const nets = lines.map(({ amount, discountAmount, taxAmount }) => (taxAmount > 0n ? amount - discountAmount : 0n));
  const lowering = sumOf(lines.map(({ amount }) => (amount < 0n ? -amount : 0n)));
  const shares = spread(smallerOf(lowering, sumOf(nets)), nets, step);
  return lines.map((line, index) => {
    const [net = 0n, share = 0n] = [nets[index], shares[index]];
    if (share === 0n) return line;
    const discountAmount = mulDiv(line.discountAmount, net - share, net, step);
    return { ...line, amount: net - share + discountAmount, discountAmount };
  });
}

/**
 * The credit of `amount` of a line, of which `before` was credited. Discount and tax go back in proportion: each share
 * is round(whole x credited so far / amount of the line), less what was credited before. The share of the tax is by the
 * lowered amount, and at most all of it. So any sequence of credits of the whole line adds up exactly to its discount and
 * tax. Credits that were voided in between leave other roundings behind: a share is then moved to the nearest one that
 * leaves no negative rest. Worked example: a line of 1000 with a discount of 100 and 171 of tax is credited by 333, 333
 * and 334. It gives back discounts of 33, 34 and 33, and taxes of 57 each. Shares are multiples of `step`, where the line's are.
 */
export function creditOf(
  { whole: line, credited: before, lowered }: CreditedLine,
  amount: bigint,
  inclusive: boolean,
  step = 1n,
): LineCredit {
  const left = line.amount - before.amount;
  assert(amount > 0n && amount <= left, 'a credit is at most what is left of its line');
  const soFar = before.amount + amount;

  const discountLeft = line.discountAmount - before.discountAmount;
  const netLeft = left - discountLeft;
  const discountAmount = within(
    mulDiv(line.discountAmount, soFar, line.amount, step) - before.discountAmount,
    largerOf(0n, amount - netLeft),
    smallerOf(amount, discountLeft),
  );

  const net = amount - discountAmount;
  const taxLeft = line.taxAmount - before.taxAmount;
  const wanted = mulDiv(line.taxAmount, soFar, largerOf(lowered.amount, 1n), step) - before.taxAmount;
  const taxAmount = inclusive
    ? within(wanted, largerOf(0n, net - (netLeft - taxLeft)), smallerOf(net, taxLeft))
    : within(wanted, amount === left ? taxLeft : 0n, taxLeft);

  const subtotal = inclusive ? net - taxAmount : net;
  return { amount, discountAmount, taxAmount, subtotal, total: subtotal + taxAmount };
}

/** A line whose money goes back by a refund. */
interface RefundableLine extends CreditedLine {
  readonly isUsage: boolean;
}

/**
 * Spreads a refund of `total`, tax included, over the lines of its invoice, in proportion to the money that is left of
 * them, lowered. Usage comes after all others. A line that gives nothing back is null, as one that lowered the invoice. Returns null if less is left of all lines. Worked example: of a plan of 1190 and
 * usage of 238, 714 go back from the plan; 1309 take all of the plan and 119 of the usage.
 */
export function creditsOfRefund(
  lines: readonly RefundableLine[],
  total: bigint,
  inclusive: boolean,
  step = 1n,
): (LineCredit | null)[] | null {
  const left = lines.map(({ whole, credited }) => moneyOf(restOf(whole, credited), inclusive));
  if (total > sumOf(left)) return null;
  const lowered = lines.map((line, index) =>
    smallerOf(moneyOf(restOf(line.lowered, line.credited), inclusive), left[index] ?? 0n),
  );
  // More than the lowered lines is left where credits by hand have taken more of one than its share.
  const steps = [lowered, left].flatMap((money) => [false, true].map((isUsage) => ({ money, isUsage })));
  const shares = lines.map(() => 0n);
  let open = total;
  for (const { money, isUsage } of steps) {
    const weights = lines.map((line, index) =>
      line.isUsage === isUsage ? largerOf(0n, (money[index] ?? 0n) - (shares[index] ?? 0n)) : 0n,
    );
    const part = smallerOf(open, sumOf(weights));
    for (const [index, share] of spread(part, weights, step).entries()) shares[index] = (shares[index] ?? 0n) + share;
    open -= part;
  }
  return lines.map((line, index) => {
    const share = shares[index] ?? 0n;
    return share === 0n ? null : creditOfTotal(line, share, inclusive, step);
  });
}

/**
 * The credit of a line that gives back exactly `total`, tax included. Tax and discount go back in proportion to the lowered
 * money, rounded once, so a whole line gives back its amounts. A share moves to the nearest
 * one with which the rest can still be credited: while money is left, so is a part of the amount. Worked example: of a
 * line of 1000 with 190 of tax, 595 are 500 and 95 of tax.
 */
export function creditOfTotal(
  { whole: line, credited: before, lowered }: CreditedLine,
  total: bigint,
  inclusive: boolean,
  step = 1n,
): LineCredit {
  const rest = restOf(line, before);
  const money = moneyOf(rest, inclusive);
  assert(total > 0n && total <= money, 'a credit is at most what is left of its line');
  const whole = largerOf(moneyOf(lowered, inclusive), 1n);
  const soFar = moneyOf(before, inclusive) + total;
  const unit = commonStep(step, [total, ...Object.values(rest), before.taxAmount, before.discountAmount]);
  const proportionOf = (share: bigint) => mulDiv(share, soFar, whole, unit);

  const netLeft = rest.amount - rest.discountAmount;
  const mostNet = total === money ? netLeft : largerOf(0n, netLeft - unit);
  const leastTax = inclusive ? total - (netLeft - rest.taxAmount) : total - mostNet;
  const taxAmount = within(
    proportionOf(line.taxAmount) - before.taxAmount,
    largerOf(0n, leastTax),
    smallerOf(total, rest.taxAmount),
  );
  const subtotal = total - taxAmount;
  const net = inclusive ? total : subtotal;
  const leastDiscount = total === money ? rest.discountAmount : 0n;
  const mostDiscount =
    total === money || net < netLeft ? rest.discountAmount : largerOf(0n, rest.discountAmount - unit);
  const discountAmount = within(
    proportionOf(lowered.discountAmount) - before.discountAmount,
    leastDiscount,
    mostDiscount,
  );
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

function spread(total: bigint, weights: readonly bigint[], step: bigint): bigint[] {
  return total === 0n ? weights.map(() => 0n) : allocate(total, weights, step);
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
