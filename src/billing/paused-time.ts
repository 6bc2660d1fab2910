import type { Work } from '../database/work.ts';
import { type NewLine, priceLine } from '../invoicing/invoice-line-item.ts';
import { listPausedTime } from '../invoicing/store-collecting.ts';
import { listPeriodInvoices } from '../payments/store-period-invoices.ts';
import { listValuePaid } from '../rating/list-value.ts';
import { changeSegments } from '../subscriptions/adjustment.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { type PeriodWorth, pausedTimeTakenOff } from '../subscriptions/pause.ts';
import { addPausedCredit } from '../subscriptions/store.ts';
import { listItemSpans } from '../subscriptions/store-item-versions.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';

/** The line that takes kept paused time off an invoice with these lines; null if there is none. */
export function pausedTimeLine(lines: readonly NewLine[], kept: bigint, step: bigint): NewLine | null {
  const billed = lines.reduce((sum, line) => sum + priceLine(line).amount, 0n);
  const takenOff = pausedTimeTakenOff(kept, billed, step);
  if (takenOff <= 0n) return null;
  return {
    type: 'static',
    explanation: { kind: 'paused_time', kept },
    quantity: 1,
    price: -takenOff,
    priceId: null,
    subscriptionItemId: null,
    description: 'Credit for paused time',
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

/** The value of a period's plan until now and from now to its end, and the amount paid for it. */
export async function periodWorth(work: Work, period: BillingPeriodRow): Promise<PeriodWorth> {
  const { subscriptionId } = period;
  const history = await listItemSpans(work, subscriptionId, period.startAt);
  const items = await listActiveItems(work, [{ subscriptionId, at: work.now }]);
  const invoices = await listPeriodInvoices(work, [period]);
  return {
    segments: changeSegments(history, items, period, work.now),
    paid: invoices.reduce((sum, invoice) => sum + listValuePaid(invoice), period.prorationWaived),
  };
}
