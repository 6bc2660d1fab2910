import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import { priceLine } from '../invoicing/invoice-line-item.ts';
import { listOpenThresholds } from '../invoicing/store-collecting.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { findSubscriptions, saveSubscriptions } from '../subscriptions/store.ts';
import { findCurrentBillingPeriods } from '../subscriptions/store-billing-periods.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { lockAccountsOfSubscriptions } from '../usage/store-accounts.ts';
import { endThresholdChecks, takeThresholdChecks } from '../usage/store-subscriptions.ts';
import { type Bill, draftUsageLines, issueBills, takeUsageLines } from './bill-subscription.ts';
import { collectInvoices, endReviews } from './collect-invoices.ts';
import type { DueWorkHandler } from './due-work-runner.ts';
import { pausedCreditLeft, takeOffPausedTime } from './paused-time.ts';

/** Invoices the unbilled usage of subscriptions where it has reached their threshold. */
export const thresholdHandler: DueWorkHandler = {
  name: 'threshold',
  take: takeThresholdChecks,
  perform: billThresholds,
};

/** A subscription to look at, as of the instant at which its usage was booked. */
interface Watched {
  readonly subscription: SubscriptionRow;
  readonly period: BillingPeriodRow;
  readonly threshold: bigint;
  readonly at: Instant;
}

/**
 * Usage that is booked meanwhile waits for the locks of the accounts, and writes another check. So each unit is looked
 * at after it was booked, and the statements read what is final. Their number does not depend on that of the
 * subscriptions.
 */
async function billThresholds(work: Work, ids: readonly string[]): Promise<void> {
  await lockAccountsOfSubscriptions(work, ids);
  const reached = await listReached(work, await listWatched(work, ids));
  if (reached.length === 0) return;
  const hadDrafts = await endReviews(
    work,
    reached.map(({ subscription, at }) => ({ subscriptionId: subscription.id, at })),
  );
  await billReached(work, hadDrafts ? await listStillReached(work, reached) : reached);
}

/** The subscriptions whose unbilled usage is worth their threshold. */
async function listReached(work: Work, watched: readonly Watched[]): Promise<Watched[]> {
  const drafts = await draftUsageLines(
    work,
    watched.map(({ subscription }) => subscription),
  );
  return watched.filter(({ subscription, threshold }) => {
    const lines = drafts.get(subscription.id) ?? [];
    return lines.reduce((sum, line) => sum + priceLine(line).amount, 0n) >= threshold;
  });
}

/** The same after their drafts took late usage, and may have made them past due. */
async function listStillReached(work: Work, reached: readonly Watched[]): Promise<Watched[]> {
  const ids = reached.map(({ subscription }) => subscription.id);
  const known = new Map((await findSubscriptions(work, ids)).map((subscription) => [subscription.id, subscription]));
  const present = reached.flatMap((watched) => {
    const subscription = known.get(watched.subscription.id);
    return subscription && mayBeBilled(subscription) ? { ...watched, subscription } : [];
  });
  return listReached(work, present);
}

async function billReached(work: Work, reached: readonly Watched[]): Promise<void> {
  if (reached.length === 0) return;
  const usage = await takeUsageLines(
    work,
    reached.map(({ subscription }) => subscription),
  );
  const bills = reached.map(({ subscription, period, at }): Bill => {
    const lines = usage.get(subscription.id) ?? [];
    return { subscription, period, reason: 'usage_threshold', lines, at: Math.max(at, period.startAt) };
  });
  await issueAndCollect(work, await takeOffPausedTime(work, bills));
}

/**
 * The subscriptions whose usage may be invoiced now. An open invoice is settled first, and so is what is owed: neither
 * grows while nobody pays. A trial, a pause, and what waits for its start or its first payment bill all of it later.
 */
async function listWatched(work: Work, ids: readonly string[]): Promise<Watched[]> {
  const subscriptions = (await findSubscriptions(work, ids)).filter(mayBeBilled);
  const periods = new Map(
    (await findCurrentBillingPeriods(work, subscriptions)).map((period) => [period.subscriptionId, period]),
  );
  const open = await listOpenThresholds(work, ids);
  const known = new Map(subscriptions.map((subscription) => [subscription.id, subscription]));
  return (await endThresholdChecks(work, ids)).flatMap(({ subscriptionId, dueAt: at, threshold }) => {
    const [subscription, period] = [known.get(subscriptionId), periods.get(subscriptionId)];
    if (threshold === 0n || open.has(subscriptionId) || subscription === undefined || period === undefined) return [];
    return period.trialPeriod ? [] : { subscription, period, threshold, at };
  });
}

function mayBeBilled({ status, arrears, doNotCharge }: SubscriptionRow): boolean {
  return (status === 'active' || status === 'cancellation_scheduled') && arrears === 'none' && !doNotCharge;
}

async function issueAndCollect(work: Work, bills: readonly Bill[]): Promise<void> {
  const invoices = await issueBills(work, bills);
  const saved = await saveSubscriptions(
    work,
    bills.map(({ subscription, lines }) => ({
      ...subscription,
      pausedCredit: pausedCreditLeft(lines, subscription.pausedCredit),
    })),
  );
  await collectInvoices(
    work,
    saved.map((subscription, index) => {
      const invoice = invoices[index];
      assert(invoice, 'usage that reached a threshold has its invoice');
      return { invoice, subscription };
    }),
  );
}
