import assert from 'node:assert/strict';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { itemLine, type NewLine } from '../invoicing/invoice-line-item.ts';
import type { Instant, Period } from '../kernel/calendar.ts';
import { type BillingPeriodRow, nextPeriod } from '../subscriptions/billing-period.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import { isWaitingForStart, type SubscriptionRow } from '../subscriptions/subscription.ts';
import type { SubscriptionItemRow } from '../subscriptions/subscription-item.ts';
import type { Bill } from './bill-subscription.ts';
import { draftUsageLines, takeUsageLines } from './bill-usage.ts';
import { pausedTimeLine } from './paused-time-line.ts';

/** What the next period of a subscription is billed, by the list. */
export interface RenewalBill extends Bill {
  /** The period that is to begin; it has its id already. */
  readonly period: { readonly id: string; readonly startAt: Instant; readonly endAt: Instant };
}

/**
 * What the next period of each subscription (the first of one that waits for its start) is billed, in their order: its
 * items in advance, the usage until now that no credit covered in arrears, less what was paid for paused time. A bill of
 * nothing has no lines. With `claim` the usage is taken, so the caller issues the bills in the same commit; without it
 * nothing changes. What has no next period is left out. As many statements for a thousand subscriptions as for one.
 */
export async function draftRenewalBills(
  work: Work,
  subscriptions: readonly SubscriptionRow[],
  { claim }: { readonly claim: boolean },
): Promise<RenewalBill[]> {
  const renewing = subscriptions.flatMap((subscription) => withNextPeriod(subscription) ?? []);
  const charged = renewing.map(({ subscription }) => subscription).filter(({ doNotCharge }) => !doNotCharge);
  // What is told before the start is in arrears too: it comes with the second invoice.
  const begun = charged.filter((subscription) => !isWaitingForStart(subscription));
  const usage = await (claim ? takeUsageLines : draftUsageLines)(work, begun);
  const items = Map.groupBy(await listActiveItems(work, charged.map(atItsEnd)), (item) => item.subscriptionId);
  return renewing.map(({ subscription, period }) => ({
    subscription,
    period,
    reason: 'renewal',
    lines: linesOf(subscription, period, items.get(subscription.id) ?? [], usage.get(subscription.id) ?? []),
    at: period.startAt,
  }));
}

function withNextPeriod(subscription: SubscriptionRow) {
  const next = nextPeriod(subscription);
  if (next === null) return null;
  return { subscription, period: { id: newId('billingPeriod'), startAt: next.start, endAt: next.end } };
}

function atItsEnd({ id, currentBillingPeriodEnd }: SubscriptionRow) {
  assert(currentBillingPeriodEnd !== null, 'what has a next period has one now');
  return { subscriptionId: id, at: currentBillingPeriodEnd };
}

function linesOf(
  subscription: SubscriptionRow,
  { startAt: start, endAt: end }: RenewalBill['period'],
  items: readonly SubscriptionItemRow[],
  usage: readonly NewLine[],
): NewLine[] {
  const { trialEnd } = subscription;
  // What waits for its start begins with its trial.
  const isTrial = trialEnd !== null && start < trialEnd;
  return isTrial ? [] : periodLines(subscription, { start, end, wholeStartAt: null }, items, usage);
}

/**
 * What a period is billed, by the list: the items in advance, for their share where it is the rest of an interval, and
 * usage in arrears, less what was kept for paused time. Who is not charged is billed nothing.
 */
export function periodLines(
  { pausedCredit, doNotCharge }: Pick<SubscriptionRow, 'pausedCredit' | 'doNotCharge'>,
  { start, end, wholeStartAt }: Period & Pick<BillingPeriodRow, 'wholeStartAt'>,
  items: readonly SubscriptionItemRow[],
  usage: readonly NewLine[],
): NewLine[] {
  if (doNotCharge) return [];
  const priced = items.filter(({ quantity, unitPrice }) => quantity > 0 && unitPrice > 0n);
  const whole = { start: wholeStartAt ?? start, end };
  const owed = [...priced.map((item) => itemLine(item, { start, end }, whole)), ...usage];
  const pausedTime = pausedTimeLine(owed, pausedCredit);
  return pausedTime === null ? owed : [...owed, pausedTime];
}
