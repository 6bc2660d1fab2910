import type { Instant } from '../kernel/calendar.ts';
import { chargedStep } from '../kernel/currency.ts';
import { priceModelOf } from '../pricing/pricing.ts';
import { discountInTurn } from '../rating/discount.ts';
import { invoiceAmounts } from '../rating/invoice-amounts.ts';
import { usageAmount } from '../rating/usage.ts';
import { partWithin, type Quantities } from '../rating/usage-parts.ts';
import { maxInvoiceTotal } from './invoice.ts';
import {
  discountableOf,
  isPartOfUsage,
  type LineExplanation,
  listAmount,
  type NewLine,
  priceLine,
} from './invoice-line-item.ts';
import { describeFewer } from './line-text.ts';
import type { NewInvoice } from './new-invoice.ts';

/** Usage that an invoice leaves to the next one, with its usage period if its price has a pricing. */
export interface LeftUsage extends Quantities {
  readonly ledgerAccountId: string;
  readonly priceId: string;
  readonly periodStart: Instant | null;
  readonly amount: bigint;
}

type UsageLine = Extract<NewLine, { type: 'usage' }>;

/**
 * The invoice with at most the usage that one payment can carry, and the usage left to the next one. Nobody controls
 * the amount of usage, so it must not block the end of a period; anything else that is too large stays and is refused.
 */
export function fitUsage(request: NewInvoice): { readonly request: NewInvoice; readonly left: readonly LeftUsage[] } {
  const { lines, discounts, tax } = request;
  const step = chargedStep(request.currency);
  const amounts = lines.map((line) => priceLine(line).amount);
  const { sum, total } = invoiceAmounts(amounts, discounts, tax, step, [], lines.map(discountableOf));
  if (total <= maxInvoiceTotal) return { request, left: [] };
  // Tax at most doubles the sum of the lines.
  let excess = sum - (tax === null ? maxInvoiceTotal : maxInvoiceTotal / 2n);
  const left: LeftUsage[] = [];
  const fitting = lines.toReversed().flatMap((line) => {
    if (line.type !== 'usage' || line.amount <= 0n || excess <= 0n) return line;
    const cut = cutTo(line, line.amount - excess, step);
    const units = line.units - (cut?.units ?? 0n);
    const amount = line.amount - (cut?.amount ?? 0n);
    // All events of a line that is cut stay on it.
    left.push({ ...leftOf(line), ...(cut === null ? {} : noEvents), units, amount });
    excess -= amount;
    return cut ?? [];
  });
  return { request: { ...request, lines: fitting.reverse() }, left };
}

/**
 * The invoice without usage that pays back more than the rest of it costs: the next one takes that. A later unit can
 * make all units of its usage period cheaper.
 */
export function fitPaybacks(request: NewInvoice): {
  readonly request: NewInvoice;
  readonly left: readonly LeftUsage[];
} {
  const { lines, discounts } = request;
  const amounts = lines.map((line) => priceLine(line).amount);
  const discounted = discountInTurn(discounts, lines.map(discountableOf), chargedStep(request.currency)).amount;
  let rest = amounts.reduce((sum, amount) => sum + amount, -discounted);
  const left: LeftUsage[] = [];
  const kept = lines.filter((line) => {
    if (rest >= 0n || line.type !== 'usage' || line.amount >= 0n) return true;
    left.push({ ...leftOf(line), units: line.units, amount: listAmount(line) });
    rest -= line.amount;
    return false;
  });
  return { request: { ...request, lines: kept }, left };
}

/** The invoice with what it can carry, and the usage left to the next one. */
export function fitRequest(given: NewInvoice): { readonly request: NewInvoice; readonly left: readonly LeftUsage[] } {
  const paying = fitPaybacks(given);
  const { request, left } = fitUsage(paying.request);
  return { request, left: [...paying.left, ...left] };
}

/**
 * A line after late usage of its period. The true-up of a commitment is less by that, and null where nothing is missing
 * any more. Worked example: a true-up of 20.00 and late usage of 5.00 leave 15.00.
 */
export function trueUpAfter(line: NewLine, late: readonly NewLine[]): NewLine | null {
  const { explanation } = line;
  if (line.type !== 'static' || explanation.kind !== 'minimum_commitment') return line;
  const usage = late.reduce((sum, each) => sum + listAmount(each), explanation.usage);
  const price = explanation.commitment - explanation.plan - usage;
  return price > 0n ? { ...line, price, explanation: { ...explanation, usage } } : null;
}

/** The usage on a request for an invoice that is not made. */
export function usageOf({ lines }: Pick<NewInvoice, 'lines'>): LeftUsage[] {
  return lines.flatMap((line) =>
    line.type === 'usage' ? { ...leftOf(line), units: line.units, amount: listAmount(line) } : [],
  );
}

const noEvents = { events: 0n, ownAmount: 0n };

function leftOf({ ledgerAccountId, priceId, explanation }: UsageLine) {
  const isPriced = explanation.kind === 'priced_usage';
  const { events, ownAmount } = isPriced ? explanation : noEvents;
  const isOfPeriod = isPartOfUsage(explanation) || explanation.kind === 'usage';
  const periodStart = isOfPeriod ? (explanation.periodStart ?? null) : null;
  return { ledgerAccountId, priceId, periodStart, events, ownAmount };
}

/** The units of the line that cost at most `room` minor units; null: none. */
function cutTo(line: UsageLine, room: bigint, step: bigint): UsageLine | null {
  if (room <= 0n) return null;
  if (line.explanation.kind === 'priced_usage') return cutPart(line, line.explanation, room, step);
  if (line.explanation.kind !== 'usage') return null;
  const { unitPrice, usageEventsPerUnit } = line.explanation;
  const perUnit = BigInt(usageEventsPerUnit);
  const units = (room * perUnit) / unitPrice;
  if (units === 0n) return null;
  const amount = usageAmount({ units, unitPrice, usageEventsPerUnit: perUnit }, step);
  const description = line.description === null ? null : describeFewer(line.description, line.units, units);
  return { ...line, units, amount, description, explanation: { ...line.explanation, units } };
}

type PartExplanation = Extract<LineExplanation, { kind: 'priced_usage' }>;

function cutPart(line: UsageLine, explanation: PartExplanation, room: bigint, step: bigint): UsageLine | null {
  const whole = { ...explanation, amount: line.amount };
  const part = partWithin(whole, room, priceModelOf(explanation.pricing), step);
  if (part === null) return null;
  const { units, unitsSoFar, amount } = part;
  const description = line.description === null ? null : describeFewer(line.description, line.units, units);
  return { ...line, units, amount, description, explanation: { ...explanation, units, unitsSoFar } };
}
