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

/** The bill of a subscription's next period, at list value. */
export interface RenewalBill extends Bill {
  /** The upcoming period, which already has its id. */
  readonly period: { readonly id: string; readonly startAt: Instant; readonly endAt: Instant };
}

/**
 * The bill of each subscription's next period (the first, if it awaits its start), in order: its items in advance,
 * unbilled usage without credits in arrears, minus paid paused time. A bill of nothing has no lines. `claim` marks the
 * usage as invoiced, so the caller must issue the bills in the same commit. Subscriptions without a next period are
 * omitted. The number of statements does not depend on the number of subscriptions.
 */
export async function draftRenewalBills(
  work: Work,
  subscriptions: readonly SubscriptionRow[],
  { claim }: { readonly claim: boolean },
): Promise<RenewalBill[]> {
  const renewing = subscriptions.flatMap((subscription) => withNextPeriod(subscription) ?? []);
  const charged = renewing.map(({ subscription }) => subscription).filter(({ doNotCharge }) => !doNotCharge);
  // Usage recorded before the start is also in arrears: it is billed with the second invoice.
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
  // A subscription with a future start begins with its trial.
  const isTrial = trialEnd !== null && start < trialEnd;
  return isTrial ? [] : periodLines(subscription, { start, end, wholeStartAt: null }, items, usage);
}

/**
 * The lines of a period at list value: items in advance, prorated if the period is the rest of an interval, and usage
 * in arrears, minus kept paused time. Subscriptions that are not charged have no lines.
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
