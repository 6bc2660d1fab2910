import { usageAmount } from '../rating/usage.ts';
import { maxInvoiceTotal } from './invoice.ts';
import { invoiceAmounts } from './invoice-amounts.ts';
import { type NewLine, priceLine } from './invoice-line-item.ts';
import type { NewInvoice } from './new-invoice.ts';

/** Used units that an invoice leaves to the next one. */
export interface LeftUsage {
  readonly ledgerAccountId: string;
  readonly priceId: string;
  readonly units: bigint;
}

type UsageLine = Extract<NewLine, { type: 'usage' }>;

/**
 * The invoice with no more usage than one payment can carry, and what it leaves to the next one. Nobody decides how much
 * usage there is, so it must not keep a period from ending; anything else that is too large stays, to be refused.
 */
export function fitUsage(request: NewInvoice): { readonly request: NewInvoice; readonly left: readonly LeftUsage[] } {
  const { lines, discount, tax } = request;
  const amounts = lines.map((line) => priceLine(line).amount);
  const { sum, total } = invoiceAmounts(amounts, discount, tax);
  if (total <= maxInvoiceTotal) return { request, left: [] };
  // Tax at most doubles what the lines add up to.
  let excess = sum - (tax === null ? maxInvoiceTotal : maxInvoiceTotal / 2n);
  const left: LeftUsage[] = [];
  const fitting = lines.toReversed().flatMap((line) => {
    if (line.type !== 'usage' || excess <= 0n) return line;
    const cut = cutTo(line, line.amount - excess);
    const units = line.units - (cut?.units ?? 0n);
    left.push({ ledgerAccountId: line.ledgerAccountId, priceId: line.priceId, units });
    excess -= line.amount - (cut?.amount ?? 0n);
    return cut ?? [];
  });
  return { request: { ...request, lines: fitting.reverse() }, left };
}

/** As many units of the line as cost at most `room`, in minor units; null: none. */
function cutTo(line: UsageLine, room: bigint): UsageLine | null {
  if (line.explanation.kind !== 'usage' || room <= 0n) return null;
  const { unitPrice, usageEventsPerUnit } = line.explanation;
  const perUnit = BigInt(usageEventsPerUnit);
  const units = (room * perUnit) / unitPrice;
  if (units === 0n) return null;
  const amount = usageAmount({ units, unitPrice, usageEventsPerUnit: perUnit });
  const description = line.description?.replace(`${line.units} units`, `${units} units`) ?? null;
  return { ...line, units, amount, description, explanation: { ...line.explanation, units } };
}
