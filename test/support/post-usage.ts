import assert from 'node:assert/strict';
import type { Work } from '../../src/database/work.ts';
import { bookUsage } from '../../src/usage/actions-ledger.ts';
import { type AccountKey, accountKeyText } from '../../src/usage/ledger.ts';
import { openAccounts } from '../../src/usage/store-accounts.ts';
import { lockAccountsForUsage } from '../../src/usage/store-usage.ts';
import type { AccountUsage } from '../../src/usage/usage-booking.ts';

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
