import type { Work } from '../database/work.ts';
import { listValuePaid } from '../invoicing/list-value.ts';
import { changeSegments } from '../subscriptions/adjustment.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import type { PeriodWorth } from '../subscriptions/pause.ts';
import { listItemSpans } from '../subscriptions/store-item-versions.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { listPeriodInvoices } from './store-period-invoices.ts';

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
