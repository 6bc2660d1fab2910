import { clearTemporaryClaims } from '../entitlements/actions.ts';
import { isDunned } from '../invoicing/collection.ts';
import { listOwedInvoices } from '../invoicing/store-owed.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { defaultPaymentMethod } from '../payments/actions.ts';
import type { Work } from '../platform/work.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { type Arrears, arrearsOf, cancelDueAt, decideUncancel } from '../subscriptions/cancellation.ts';
import { saveSubscription } from '../subscriptions/store.ts';
import { markScheduledToCancel } from '../subscriptions/store-billing-periods.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { endSubscription } from './cancel.ts';
import { holdCurrent } from './catch-up.ts';

/** Takes a scheduled cancel back: everything is as it was before. Where none is scheduled, nothing changes. */
export async function uncancelSubscription(work: Work, id: string): Promise<SubscriptionRow> {
  const held = await holdCurrent(work, id);
  const { customer, subscription } = held;
  // What was to end by now has ended, even where carrying it out failed lately.
  const dueAt = cancelDueAt(subscription, work.now);
  if (dueAt !== null) return endSubscription(work, held, { at: dueAt });
  const status = decideUncancel(subscription, {
    hasPaymentMethod: await hasPaymentMethod(work, subscription),
    arrears: await readArrears(work, id),
    now: work.now,
  });
  if (status === null) return subscription;
  const saved = await saveSubscription(work, id, { status, cancelScheduledAt: null });
  await markScheduledToCancel(work, id, false);
  await clearTemporaryClaims(work, id);
  await publishSubscription(work, 'subscription.updated', saved, customer);
  return saved;
}

async function hasPaymentMethod(work: Work, subscription: SubscriptionRow): Promise<boolean> {
  if (subscription.defaultPaymentMethodId !== null || subscription.backupPaymentMethodId !== null) return true;
  return (await defaultPaymentMethod(work, subscription.customerId)) !== null;
}

/** Where the attempts to collect the invoices of the subscription's periods stand. */
async function readArrears(work: Work, id: string): Promise<Arrears> {
  const open = (await listOwedInvoices(work, id)).filter(isDunned);
  const { retryDays, terminalAction } = (await readSettings(work)).dunning;
  return arrearsOf(open, { retries: retryDays.length, terminalAction });
}
