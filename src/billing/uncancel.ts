import type { Work } from '../database/work.ts';
import { clearTemporaryClaims } from '../entitlements/actions.ts';
import { defaultPaymentMethod } from '../payments/actions.ts';
import { publishSubscription } from '../subscriptions/actions.ts';
import { cancelDueAt, decideUncancel } from '../subscriptions/cancellation.ts';
import { saveSubscription } from '../subscriptions/store.ts';
import { markScheduledToCancel } from '../subscriptions/store-billing-periods.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { readArrears } from './arrears.ts';
import { holdCurrent } from './catch-up.ts';
import { endSubscription } from './end-subscription.ts';

/** Undoes a scheduled cancellation. Without one, nothing changes. */
export async function uncancelSubscription(work: Work, id: string): Promise<SubscriptionRow> {
  const held = await holdCurrent(work, id);
  const { customer, subscription } = held;
  // An overdue end has taken effect, even if processing it failed recently.
  const dueAt = cancelDueAt(subscription, work.now);
  if (dueAt !== null) return endSubscription(work, held, { at: dueAt });
  const status = decideUncancel(subscription, {
    hasPaymentMethod: await hasPaymentMethod(work, subscription),
    arrears: (await readArrears(work, [id]))(id),
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
