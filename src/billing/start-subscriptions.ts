import assert from 'node:assert/strict';
import { lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import type { NewLine } from '../invoicing/invoice-line-item.ts';
import { newBillingPeriod, publishSubscriptions } from '../subscriptions/actions.ts';
import { nextPeriod } from '../subscriptions/billing-period.ts';
import { lockLivingSubscriptions } from '../subscriptions/store.ts';
import { isInTheWay, type SubscriptionRow } from '../subscriptions/subscription.ts';
import { type Beginning, beginPeriods } from './begin-periods.ts';
import { draftRenewalBills } from './draft-renewal.ts';
import { endSubscription } from './end-subscription.ts';

/**
 * Starts subscriptions whose start has come, each as of its start: a paid one replaces its customer's free one, and its
 * first period (or trial) begins and is billed. A free one gets its credits immediately, a paid one with its payment; a
 * failed first payment ends the subscription as usual.
 */
export async function startSubscriptions(work: Work, waiting: readonly SubscriptionRow[]): Promise<void> {
  if (waiting.length === 0) return;
  for (const subscription of waiting) if (!subscription.isFreePlan) await replaceFreePlan(work, subscription);
  const bills = await draftRenewalBills(work, waiting, { claim: true });
  const lines = new Map(bills.map((bill) => [bill.subscription.id, bill.lines]));
  const started = await beginPeriods(
    work,
    waiting.map((subscription) => toBeginning(work, subscription, lines.get(subscription.id) ?? [])),
  );
  await publishSubscriptions(work, 'subscription.updated', started);
}

async function replaceFreePlan(work: Work, { id, customerId, startDate }: SubscriptionRow): Promise<void> {
  const living = await lockLivingSubscriptions(work, customerId);
  const free = living.find((each) => each.isFreePlan && each.id !== id && isInTheWay(each));
  const customer = free === undefined ? null : await lockCustomer(work, customerId);
  if (free === undefined || customer === null) return;
  const ending = { at: startDate, reason: 'upgraded_to_paid', replacedBy: id } as const;
  await endSubscription(work, { customer, subscription: free }, ending);
}

function toBeginning(work: Work, subscription: SubscriptionRow, lines: readonly NewLine[]): Beginning {
  const first = nextPeriod(subscription);
  assert(first, 'what starts has a first period');
  const known = { trialPeriod: subscription.trialEnd !== null, creditsAwaitPayment: lines.length > 0 };
  return {
    subscription,
    period: newBillingPeriod(work, subscription, { ...first, ...known }),
    lines,
    isFirst: true,
    grantsCredits: true,
  };
}
