import assert from 'node:assert/strict';
import { listExternalIds } from '../customers/store.ts';
import { publish } from '../customers/store-events.ts';
import type { Work } from '../database/work.ts';
import { findSubscriptions } from '../subscriptions/store.ts';
import { toSubscription } from '../subscriptions/subscription.ts';
import { hasFallen, type LowBalance } from './ledger.ts';
import { lockAccountsOfSubscriptions } from './store-accounts.ts';
import { type BookedBalance, listBookedBalances } from './store-balances.ts';

/** Publishes, in the commit that reduced them, the balances that fell below their thresholds. */
export async function publishLowBalances(work: Work, low: readonly LowBalance[]): Promise<void> {
  if (low.length === 0) return;
  const externalIds = await listExternalIds(work, [...new Set(low.map(({ customerId }) => customerId))]);
  const ids = [...new Set(low.map(({ subscriptionId }) => subscriptionId))];
  const rows = new Map((await findSubscriptions(work, ids)).map((row) => [row.id, row]));
  await publish(
    work,
    low.map(({ pricingModelId, customerId, subscriptionId, usageMeterId }) => {
      const externalId = externalIds.get(customerId);
      const row = rows.get(subscriptionId);
      assert(externalId !== undefined && row !== undefined, 'a subscription has a customer');
      const customer = { id: customerId, externalId };
      const of = { object: 'subscription', objectId: subscriptionId, pricingModelId, usageMeterId, customer };
      return { type: 'usage_balance.low', ...of, data: toSubscription(work, row) };
    }),
  );
}

/**
 * Runs `act`, which expires and grants credits, and publishes `usage_balance.low` for each meter whose balance it moved
 * below the threshold. Expired credits count until their expiry is booked. Locks the accounts of the subscriptions.
 * Takes two more reads if a meter's balance is still above its threshold; else one.
 */
export async function tellingLowBalances<Answer>(
  work: Work,
  subscriptionIds: readonly string[],
  act: () => Promise<Answer>,
): Promise<Answer> {
  // Usage waits for these locks, so the balances before and after are comparable.
  await lockAccountsOfSubscriptions(work, subscriptionIds);
  const before = await listBookedBalances(work, subscriptionIds);
  const answer = await act();
  const watched = before.filter(({ lowBalanceThreshold, balance }) => balance >= lowBalanceThreshold);
  if (watched.length > 0)
    await publishLowBalances(work, fallen(watched, await listBookedBalances(work, subscriptionIds)));
  return answer;
}

function fallen(before: readonly BookedBalance[], after: readonly BookedBalance[]): BookedBalance[] {
  const balances = new Map(after.map((account) => [account.ledgerAccountId, account.balance]));
  return before.filter(({ ledgerAccountId, lowBalanceThreshold, balance }) =>
    hasFallen(lowBalanceThreshold, balance, balances.get(ledgerAccountId) ?? balance),
  );
}
