import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { lockLivingSubscriptionsOf } from '../subscriptions/store.ts';
import { isCurrent, isWaitingForStart, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { grantCredits } from './actions-ledger.ts';
import { lockAccounts } from './store-accounts.ts';
import { listStrandedCredits, moveOffCredits, writePendingApplication } from './store-credits.ts';

/**
 * Transfers the credits that belong to these customers, and are on subscriptions that have ended, to the subscription
 * that holds their credits now. They keep expiry, priority and reason. Without such a subscription they stay, and the
 * next one gets them. Holds do not keep them, because those of an ended subscription cannot be settled. Safe to repeat.
 * The caller has locked the customers.
 *
 * Worked example: 500 calls that were bought on the free plan are on the paid plan after the upgrade, beside its 1000.
 */
export async function carryCredits(work: Work, customerIds: readonly string[]): Promise<void> {
  if ((await listStrandedCredits(work, customerIds)).length === 0) return;
  const holders = await listCreditHolders(work, customerIds);
  const accountIds = (await listStrandedCredits(work, [...holders.keys()])).map((credit) => credit.ledgerAccountId);
  if (accountIds.length === 0) return;
  await lockAccounts(work, [...new Set(accountIds)]);
  await writePendingApplication(work, [...new Set(accountIds)]);
  // As they are now that nothing else can use them.
  const credits = await listStrandedCredits(work, [...holders.keys()]);
  await moveOffCredits(
    work,
    credits.map(({ id, pricingModelId, rest }) => ({ id, pricingModelId, amount: rest })),
  );
  await grantCredits(
    work,
    credits.map(({ id: transferredFrom, customerId, ledgerAccountId: _, rest, ...kept }) => {
      const holder = holders.get(customerId);
      assert(holder, 'credits are transferred to a holder');
      const id = newId('usageCredit', holder.id);
      const { id: subscriptionId, pricingModelId } = holder;
      return {
        ...kept,
        id,
        sourceId: id,
        subscriptionId,
        pricingModelId,
        amount: rest,
        billingPeriodId: null,
        transferredFrom,
      };
    }),
  );
}

/** The subscription of each customer that gets its credits: the newest current one; else the newest paused one. */
export async function listCreditHolders(
  work: Work,
  customerIds: readonly string[],
): Promise<Map<string, SubscriptionRow>> {
  const living = await lockLivingSubscriptionsOf(work, customerIds);
  const holding = living.filter(holdsCredits);
  const current = holding.filter(({ status }) => status !== 'paused');
  const paused = holding.filter(({ status }) => status === 'paused');
  // For each customer the last entry wins.
  return new Map([...current, ...paused].toReversed().map((each) => [each.customerId, each]));
}

/** Whether a subscription can hold bought credits. */
export function holdsCredits(each: SubscriptionRow): boolean {
  return each.status === 'paused' || (isCurrent(each.status) && !isWaitingForStart(each));
}
