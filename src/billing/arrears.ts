import type { Work } from '../database/work.ts';
import { isDunned } from '../invoicing/collection.ts';
import { listOwedInvoices } from '../invoicing/store-owed.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { type Arrears, arrearsOf } from '../subscriptions/cancellation.ts';

/** The state of collecting period invoices for each of these subscriptions, by subscription id. */
export async function readArrears(work: Work, subscriptionIds: readonly string[]): Promise<(id: string) => Arrears> {
  const owed = (await listOwedInvoices(work, subscriptionIds)).filter(isDunned);
  if (owed.length === 0) return () => 'none';
  const open = Map.groupBy(owed, ({ subscriptionId }) => subscriptionId);
  const { retryDays, terminalAction } = (await readSettings(work)).dunning;
  return (id) => arrearsOf(open.get(id) ?? [], { retries: retryDays.length, terminalAction });
}
