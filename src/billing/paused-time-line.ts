import type { Work } from '../database/work.ts';
import { type NewLine, priceLine } from '../invoicing/invoice-line-item.ts';
import { listPausedTime } from '../invoicing/store-collecting.ts';
import { pausedTimeTakenOff } from '../subscriptions/pause.ts';
import { addPausedCredit } from '../subscriptions/store.ts';

/** The line that takes kept paused time off an invoice with these lines; null if there is none. */
export function pausedTimeLine(lines: readonly NewLine[], kept: bigint): NewLine | null {
  const billed = lines.reduce((sum, line) => sum + priceLine(line).amount, 0n);
  const takenOff = pausedTimeTakenOff(kept, billed);
  if (takenOff <= 0n) return null;
  return {
    type: 'static',
    explanation: { kind: 'paused_time', kept },
    quantity: 1,
    price: -takenOff,
    priceId: null,
    subscriptionItemId: null,
    description: 'Paid for paused time',
  };
}

/** The remaining kept value, in minor units, after billing these lines. */
export function pausedCreditLeft(lines: readonly NewLine[], kept: bigint): bigint {
  return lines.reduce(
    (left, line) => (line.type === 'static' && line.explanation.kind === 'paused_time' ? left + line.price : left),
    kept,
  );
}

/**
 * Restores the paused time taken off by these voided invoices, for the next invoice. The caller has locked the
 * subscriptions.
 */
export async function giveBackPausedTime(work: Work, voidedInvoiceIds: readonly string[]): Promise<void> {
  await addPausedCredit(work, await listPausedTime(work, voidedInvoiceIds));
}
