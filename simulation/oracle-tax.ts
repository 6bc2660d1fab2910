import { type Place, type TaxRate, taxRates } from './catalogue.ts';
import { rounded } from './oracle-arithmetic.ts';
import type { Invoice } from './oracle-records.ts';

/** Tax, and the split of an invoice's amounts over its lines. */

export interface Taxed {
  readonly tax: number;
  /** The total: plus the tax, unless prices include it. */
  readonly total: number;
}

/** The rate of the state takes precedence over that of the country. */
export function rateOf({ place, isExempt }: { readonly place: Place | null; readonly isExempt: boolean }) {
  if (isExempt || place === null) return null;
  const ofCountry = taxRates.filter(({ country }) => country === place.country);
  const ofState = ofCountry.find(({ state }) => state !== null && state === place.state);
  return ofState ?? ofCountry.find(({ state }) => state === null) ?? null;
}

/** The tax on the amount after the discount: added to it, or included. */
export function taxed(amount: number, rate: TaxRate | null): Taxed {
  if (rate === null) return { tax: 0, total: amount };
  const [percent, hundred] = [BigInt(Math.round(rate.percentage * 1000)), 100_000n];
  const tax = rounded(BigInt(amount) * percent, rate.isInclusive ? hundred + percent : hundred);
  return { tax, total: rate.isInclusive ? amount : amount + tax };
}

/** Splits an amount by weight so that the shares add up: rounded down, plus one for the largest remainders. */
export function spread(amount: number, weights: readonly number[]): number[] {
  const bearing = weights.map((weight) => BigInt(Math.max(0, weight)));
  const sum = bearing.reduce((total, weight) => total + weight, 0n);
  if (amount === 0 || sum === 0n) return weights.map(() => 0);
  const parts = bearing.map((weight) => (BigInt(amount) * weight) / sum);
  const left = BigInt(amount) - parts.reduce((total, part) => total + part, 0n);
  const remainderOf = (index: number) => (BigInt(amount) * (bearing[index] ?? 0n)) % sum;
  const byRemainder = weights
    .map((_, index) => index)
    .sort((one, other) => Number(remainderOf(other) - remainderOf(one)));
  const favoured = new Set(byRemainder.slice(0, Number(left)));
  return parts.map((part, index) => Number(part) + (favoured.has(index) ? 1 : 0));
}

/** The discount of each line: the shares of each discount in what the ones before it leave. */
export function discountsOfLines({ lines, discounts }: Pick<Invoice, 'lines' | 'discounts'>): number[] {
  return discounts.reduce<number[]>(
    (off, { amount }) => {
      const left = lines.map((line, index) => line.amount - (off[index] ?? 0));
      return spread(amount, left).map((part, index) => part + (off[index] ?? 0));
    },
    lines.map(() => 0),
  );
}

/** The tax of each line. A line that bears none has no share. */
export function spreadTax({ lines, discounts: taken, tax }: Pick<Invoice, 'lines' | 'discounts' | 'tax'>): number[] {
  const discounts = discountsOfLines({ lines, discounts: taken });
  const bearing = lines.map(({ amount, isUntaxed = false }, index) =>
    isUntaxed ? 0 : amount - (discounts[index] ?? 0),
  );
  return spread(tax, bearing);
}

/** The money of each line of an invoice, and the tax in it. */
function moneyOf(invoice: Invoice) {
  const { lines, tax, total } = invoice;
  const discounts = discountsOfLines(invoice);
  const net = lines.map(({ amount }, index) => amount - (discounts[index] ?? 0));
  const taxes = spreadTax(invoice);
  const isIncluded = tax > 0 && net.reduce((sum, each) => sum + each, 0) === total;
  const money = net.map((each, index) => Math.max(0, each) + (isIncluded ? 0 : (taxes[index] ?? 0)));
  return { money, taxes, isIncluded };
}

/** Takes the money of a refund back from the lines of its invoice: from usage only what the others do not cover. */
export function takeBackLines(invoice: Invoice, amount: number): void {
  const left = moneyOf(invoice).money.map((money, index) => money - (invoice.moneyBack[index] ?? 0));
  const leftOf = (isUsage: boolean) =>
    left.map((money, index) => ((invoice.lines[index]?.usage !== undefined) === isUsage ? money : 0));
  const ofOthers = Math.min(
    amount,
    leftOf(false).reduce((sum, each) => sum + each, 0),
  );
  const shares = [spread(ofOthers, leftOf(false)), spread(amount - ofOthers, leftOf(true))];
  invoice.moneyBack = left.map(
    (_, index) => (invoice.moneyBack[index] ?? 0) + shares.reduce((sum, each) => sum + (each[index] ?? 0), 0),
  );
}

/** The part of a line that refunds and credit notes took back, without the tax that was added to it. */
export function netTakenBack(invoice: Invoice, index: number): number {
  const { money, taxes, isIncluded } = moneyOf(invoice);
  const back = invoice.moneyBack[index] ?? 0;
  const noted = invoice.notes.reduce((sum, { line, status, amount, discount }) => {
    return sum + (line === index && status !== 'void' ? amount - discount : 0);
  }, 0);
  if (isIncluded || back === 0) return back + noted;
  return back + noted - rounded(BigInt(taxes[index] ?? 0) * BigInt(back), BigInt(money[index] ?? 1));
}
