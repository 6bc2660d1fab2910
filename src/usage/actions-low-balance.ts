import assert from 'node:assert/strict';
import { renderCustomer } from '../customers/actions.ts';
import { listCustomersById } from '../customers/store.ts';
import { type DomainEvent, publish } from '../customers/store-events.ts';
import type { Work } from '../database/work.ts';
import { poolText } from '../rating/pool-units.ts';
import { findSubscriptions } from '../subscriptions/store.ts';
import { toSubscription } from '../subscriptions/subscription.ts';
import { hasFallen } from './ledger.ts';
import { lockAccountsOfSubscriptions } from './store-accounts.ts';
import {
  listEndedCredits,
  listLowBalances,
  listWatchedBalances,
  type WatchedAccounts,
  type WatchedBalance,
} from './store-balances.ts';
import { bookEnds } from './store-credits.ts';

/**
 * Publishes, in the commit that reduced them, the balances of accounts that fell below their thresholds. The event of a
 * usage meter is about its subscription, and that of a credit pool about its customer.
 */
export async function publishLowBalances(work: Work, accountIds: readonly string[]): Promise<void> {
  if (accountIds.length === 0) return;
  // Else their end, which is booked later, would publish the same fall again.
  await bookEnds(work, await listEndedCredits(work, accountIds));
  const low = await listLowBalances(work, accountIds);
  const customerIds = [...new Set(low.map(({ customerId }) => customerId))];
  const customers = new Map((await listCustomersById(work, customerIds)).map((row) => [row.id, row]));
  const subscriptionIds = [...new Set(low.flatMap(({ subscriptionId }) => subscriptionId ?? []))];
  const rows = await findSubscriptions(work, subscriptionIds);
  const subscriptions = new Map(rows.map((row) => [row.id, row]));
  await publish(
    work,
    low.map(({ pricingModelId, customerId, subscriptionId, usageMeterId, availableBalance }): DomainEvent => {
      const owner = customers.get(customerId);
      assert(owner !== undefined, 'an account has a customer');
      const customer = { id: customerId, externalId: owner.externalId };
      const of = { type: 'usage_balance.low', pricingModelId, customer };
      if (subscriptionId === null) {
        const creditPool = { id: usageMeterId, availableBalance: poolText(availableBalance) };
        return { ...of, object: 'customer', objectId: customerId, creditPool, data: renderCustomer(work, owner) };
      }
      const row = subscriptions.get(subscriptionId);
      assert(row !== undefined, 'the account of a meter has a subscription');
      return { ...of, object: 'subscription', objectId: subscriptionId, usageMeterId, data: toSubscription(work, row) };
    }),
  );
}

/**
 * Runs `act`, which expires and grants credits, and publishes `usage_balance.low` for each meter and credit pool whose
 * balance it moved below the threshold. Expired credits count until their expiry is booked. Locks the accounts of the
 * subscriptions, and those of their customers in credit pools. Takes two more reads if a balance is still above its
 * threshold; else one.
 */
export async function tellingLowBalances<Answer>(
  work: Work,
  subscriptionIds: readonly string[],
  act: () => Promise<Answer>,
): Promise<Answer> {
  return telling(work, { accountIds: await lockAccountsOfSubscriptions(work, subscriptionIds), isBooked: true }, act);
}

/**
 * Books the end of the credits of locked accounts that have ended by themselves, and publishes the balances that it moved below
 * their thresholds.
 */
export async function endCreditsOf(work: Work, accountIds: readonly string[]): Promise<void> {
  const ended = await listEndedCredits(work, accountIds);
  if (ended.length > 0) await telling(work, { accountIds, isBooked: true }, () => bookEnds(work, ended));
}

/**
 * The same as `tellingLowBalances` of accounts that are locked, for an `act` that takes credits back. Credits that ended before do
 * so first: the fall by their end is not that of the take-back.
 */
export async function tellingLowAccounts<Answer>(
  work: Work,
  accountIds: readonly string[],
  act: () => Promise<Answer>,
): Promise<Answer> {
  await endCreditsOf(work, accountIds);
  return telling(work, { accountIds, isBooked: false }, act);
}

/** Usage waits for the locks of the accounts, so the balances before and after are comparable. */
async function telling<Answer>(work: Work, of: WatchedAccounts, act: () => Promise<Answer>): Promise<Answer> {
  const before = await listWatchedBalances(work, of);
  const answer = await act();
  const watched = before.filter(({ lowBalanceThreshold, balance }) => balance >= lowBalanceThreshold);
  if (watched.length > 0) await publishLowBalances(work, fallen(watched, await listWatchedBalances(work, of)));
  return answer;
}

function fallen(before: readonly WatchedBalance[], after: readonly WatchedBalance[]): string[] {
  const balances = new Map(after.map((account) => [account.ledgerAccountId, account.balance]));
  return before.flatMap(({ ledgerAccountId, lowBalanceThreshold, balance }) =>
    hasFallen(lowBalanceThreshold, balance, balances.get(ledgerAccountId) ?? balance) ? [ledgerAccountId] : [],
  );
}
