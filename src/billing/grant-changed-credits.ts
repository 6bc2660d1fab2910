import type { Work } from '../database/work.ts';
import { creditsOfChange } from '../entitlements/plan-change.ts';
import { listItemFeatures } from '../entitlements/store-item-features.ts';
import { isOwed } from '../invoicing/collection.ts';
import { wholeOf } from '../subscriptions/adjustment.ts';
import type { BillingPeriodRow } from '../subscriptions/billing-period.ts';
import { findCurrentBillingPeriods, noteCreditsGranted } from '../subscriptions/store-billing-periods.ts';
import { grantCredits } from '../usage/actions-ledger.ts';
import { listGrantedCredits } from '../usage/store-granted-credits.ts';
import type { AppliedChange } from './apply-adjustment.ts';
import { grantPeriodCredits } from './grant-period-credits.ts';
import { listPeriodInvoices, type PeriodInvoice } from './store-period-invoices.ts';

/** A change with its period. */
interface InPeriod extends AppliedChange {
  readonly period: BillingPeriodRow;
}

/**
 * Grants the credits of plan changes within periods: those of new and changed items, for the rest of the period. If the
 * credits of a first period await its payment, they are all granted with that; they are granted now if the change was
 * paid instead.
 */
export async function grantChangedCredits(work: Work, changes: readonly AppliedChange[]): Promise<void> {
  const periods = new Map(
    (
      await findCurrentBillingPeriods(
        work,
        changes.map(({ subscription }) => subscription),
      )
    ).map((period) => [period.subscriptionId, period]),
  );
  const inPeriods = changes.flatMap((change): InPeriod[] => {
    const period = periods.get(change.subscription.id);
    return period === undefined ? [] : [{ ...change, period }];
  });
  const invoices = await listPeriodInvoices(work, [...periods.values()]);
  const startOf = (period: BillingPeriodRow) =>
    invoices.find(({ billingPeriodId, reason }) => billingPeriodId === period.id && reason === 'subscription_start');
  const begun = inPeriods.filter(
    ({ adjustment, period }) => period.creditsAwaitPayment && isReplaced(adjustment.replacedInvoiceId, startOf(period)),
  );
  await grantPeriodCredits(
    work,
    begun.map(({ subscription, period }) => ({ subscription, period, isFirst: true, at: work.now })),
  );
  await noteCreditsGranted(
    work,
    begun.map(({ period }) => period.id),
  );
  await grantRest(
    work,
    inPeriods.filter((change) => {
      const start = startOf(change.period);
      return !begun.includes(change) && !(change.period.creditsAwaitPayment && start && isOwed(start));
    }),
  );
}

function isReplaced(replacedInvoiceId: string | null, start: PeriodInvoice | undefined): boolean {
  return start !== undefined && start.id === replacedInvoiceId && start.status === 'void';
}

async function grantRest(work: Work, changes: readonly InPeriod[]): Promise<void> {
  if (changes.length === 0) return;
  const ids = changes.map(({ subscription }) => subscription.id);
  const features = Map.groupBy(await listItemFeatures(work, ids, work.now), (feature) => feature.subscriptionId);
  const asked = changes.map(({ subscription, period }) => ({
    subscriptionId: subscription.id,
    interval: wholeOf(period),
  }));
  const granted = Map.groupBy(await listGrantedCredits(work, asked), (row) => row.subscriptionId);
  const grants = changes.flatMap(({ adjustment, subscription, period, at, changedItemIds }) =>
    creditsOfChange(features.get(subscription.id) ?? [], changedItemIds, granted.get(subscription.id) ?? [], {
      at,
      whole: wholeOf(period),
    }).map(({ feature, usageMeterId, amount, expiresAt }) => ({
      subscriptionId: subscription.id,
      pricingModelId: subscription.pricingModelId,
      usageMeterId,
      featureId: feature.featureId,
      billingPeriodId: period.id,
      amount,
      expiresAt,
      source: 'manual_adjustment' as const,
      // Identifies the grant: this feature of this item, with this change.
      sourceId: `${adjustment.id}:${feature.id}`,
    })),
  );
  await grantCredits(work, grants);
}
