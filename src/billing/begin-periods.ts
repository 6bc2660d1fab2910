import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import type { NewLine } from '../invoicing/invoice-line-item.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { saveSubscriptions } from '../subscriptions/store.ts';
import { insertBillingPeriods } from '../subscriptions/store-billing-periods.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { issueBills } from './bill-subscription.ts';
import { collectInvoices } from './collect-invoices.ts';
import { grantPeriodCredits } from './grant-period-credits.ts';
import { pausedCreditLeft } from './paused-time-line.ts';

/** A period that begins, and its lines. */
export interface Beginning {
  /** Its new state, except the current period and the remaining value of paused time. */
  readonly subscription: SubscriptionRow;
  readonly period: BillingPeriodRow;
  readonly lines: readonly NewLine[];
  /** True for the first period of its subscription. */
  readonly isFirst: boolean;
  /** False if the credits of the period were granted before. */
  readonly grantsCredits: boolean;
}

/**
 * Begins due periods: writes them and their subscriptions, bills them as of their start, requests the charges after the
 * commit, and grants their credits. Returns the subscriptions. The number of statements does not depend on the number
 * of periods.
 */
export async function beginPeriods(work: Work, beginnings: readonly Beginning[]): Promise<SubscriptionRow[]> {
  if (beginnings.length === 0) return [];
  await insertBillingPeriods(
    work,
    beginnings.map(({ period }) => period),
  );
  const subscriptions = await saveSubscriptions(
    work,
    beginnings.map(({ subscription, period, lines }) => ({
      ...subscription,
      currentBillingPeriodStart: period.startAt,
      currentBillingPeriodEnd: period.endAt,
      pausedCredit: pausedCreditLeft(lines, subscription.pausedCredit),
    })),
  );
  const begun = beginnings.map((beginning, index) => {
    const subscription = subscriptions[index];
    assert(subscription !== undefined, 'each period has its subscription');
    return { ...beginning, subscription };
  });
  await bill(work, begun);
  await grantPeriodCredits(
    work,
    begun
      .filter(({ grantsCredits, period }) => grantsCredits && !period.creditsAwaitPayment)
      .map(({ subscription, period, isFirst }) => ({ subscription, period, isFirst, at: period.startAt })),
  );
  return subscriptions;
}

async function bill(work: Work, begun: readonly Beginning[]): Promise<void> {
  const invoices = await issueBills(
    work,
    begun.map(({ subscription, period, lines, isFirst }) => {
      return { subscription, period, reason: isFirst ? 'subscription_start' : 'renewal', lines, at: period.startAt };
    }),
  );
  await collectInvoices(
    work,
    begun.flatMap(({ subscription }, index) => {
      const invoice = invoices[index];
      return invoice ? { invoice, subscription } : [];
    }),
  );
}
