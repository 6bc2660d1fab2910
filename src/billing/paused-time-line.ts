import type { Work } from '../database/work.ts';
import { type NewLine, priceLine } from '../invoicing/invoice-line-item.ts';
import { listPausedTime } from '../invoicing/store-collecting.ts';
import { pausedTimeTakenOff } from '../subscriptions/pause.ts';
import { addPausedCredit } from '../subscriptions/store.ts';

/** The line that takes off an invoice of `lines` what is kept of the value paid for paused time; null where nothing is. */
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

/** What is left of the kept value, in minor units, when these lines have been billed. */
export function pausedCreditLeft(lines: readonly NewLine[], kept: bigint): bigint {
  return lines.reduce(
    (left, line) => (line.type === 'static' && line.explanation.kind === 'paused_time' ? left + line.price : left),
    kept,
  );
}

/**
 * These invoices were just taken back: what they took off for paused time is kept again, for the next invoice. The
 * caller holds the subscriptions.
 */
export async function giveBackPausedTime(work: Work, voidedInvoiceIds: readonly string[]): Promise<void> {
  await addPausedCredit(work, await listPausedTime(work, voidedInvoiceIds));
}
