import assert from 'node:assert/strict';
import { bookUsage } from '../src/ledger/actions.ts';
import { type AccountKey, accountKeyText } from '../src/ledger/ledger.ts';
import { openAccounts } from '../src/ledger/store.ts';
import { lockAccountsForUsage } from '../src/ledger/store-usage.ts';
import type { AccountUsage } from '../src/ledger/usage-booking.ts';
import type { Work } from '../src/platform/work.ts';

/** Usage of one price on an account that may have to be opened. */
export type Posting = AccountKey & Omit<AccountUsage, 'ledgerAccountId'>;

/** Books usage that no event tells of, as the events of one request are booked: for tests of the ledger alone. */
export async function postUsage(work: Work, sourceId: string, postings: readonly Posting[]): Promise<void> {
  const ids = await openAccounts(work, postings);
  const accounts = await lockAccountsForUsage(work, [...ids.values()]);
  const usages = postings.map((posting): AccountUsage => {
    const { priceId, billingPeriodId, units } = posting;
    const ledgerAccountId = ids.get(accountKeyText(posting));
    assert(ledgerAccountId !== undefined);
    return { ledgerAccountId, priceId, billingPeriodId, units };
  });
  bookUsage(work, { sourceId, usages: merged(usages), open: new Map() }, accounts);
}

/** With those of one account and price added up. */
function merged(usages: readonly AccountUsage[]): AccountUsage[] {
  const groups = Map.groupBy(usages, ({ ledgerAccountId, priceId }) => `${ledgerAccountId} ${priceId}`);
  return Array.from(groups.values(), ([first, ...others]) => {
    assert(first !== undefined);
    return { ...first, units: others.reduce((sum, { units }) => sum + units, first.units) };
  });
}
