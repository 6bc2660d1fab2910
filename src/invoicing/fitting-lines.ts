import { chargedStep } from '../kernel/currency.ts';
import { invoiceAmounts } from '../rating/invoice-amounts.ts';
import { usageAmount } from '../rating/usage.ts';
import { maxInvoiceTotal } from './invoice.ts';
import { type NewLine, priceLine } from './invoice-line-item.ts';
import { describeFewer } from './line-text.ts';
import type { NewInvoice } from './new-invoice.ts';

/** Usage that an invoice leaves to the next one. */
interface LeftUsage {
  readonly ledgerAccountId: string;
  readonly priceId: string;
  readonly units: bigint;
}

type UsageLine = Extract<NewLine, { type: 'usage' }>;

/**
 * The invoice with at most the usage that one payment can carry, and the usage left to the next one. Nobody controls
 * the amount of usage, so it must not block the end of a period; anything else that is too large stays and is refused.
 */
export function fitUsage(request: NewInvoice): { readonly request: NewInvoice; readonly left: readonly LeftUsage[] } {
  const { lines, discount, tax } = request;
  const step = chargedStep(request.currency);
  const amounts = lines.map((line) => priceLine(line).amount);
  const { sum, total } = invoiceAmounts(amounts, discount, tax, step);
  if (total <= maxInvoiceTotal) return { request, left: [] };
  // Tax at most doubles the sum of the lines.
  let excess = sum - (tax === null ? maxInvoiceTotal : maxInvoiceTotal / 2n);
  const left: LeftUsage[] = [];
  const fitting = lines.toReversed().flatMap((line) => {
    if (line.type !== 'usage' || excess <= 0n) return line;
    const cut = cutTo(line, line.amount - excess, step);
    const units = line.units - (cut?.units ?? 0n);
    left.push({ ledgerAccountId: line.ledgerAccountId, priceId: line.priceId, units });
    excess -= line.amount - (cut?.amount ?? 0n);
    return cut ?? [];
  });
  return { request: { ...request, lines: fitting.reverse() }, left };
}

/** The units of the line that cost at most `room` minor units; null: none. */
function cutTo(line: UsageLine, room: bigint, step: bigint): UsageLine | null {
  if (line.explanation.kind !== 'usage' || room <= 0n) return null;
  const { unitPrice, usageEventsPerUnit } = line.explanation;
  const perUnit = BigInt(usageEventsPerUnit);
  const units = (room * perUnit) / unitPrice;
  if (units === 0n) return null;
  const amount = usageAmount({ units, unitPrice, usageEventsPerUnit: perUnit }, step);
  const description = line.description === null ? null : describeFewer(line.description, line.units, units);
  return { ...line, units, amount, description, explanation: { ...line.explanation, units } };
}
