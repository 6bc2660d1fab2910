import assert from 'node:assert/strict';
import type { Work } from '../database/work.ts';
import type { InvoiceRow } from '../invoicing/store.ts';
import type { Instant } from '../kernel/calendar.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { findPaymentMethod } from '../payments/actions.ts';
import type { Price } from '../pricing/price.ts';
import type { Product } from '../pricing/product.ts';
import { findPrice } from '../pricing/store-prices.ts';
import { findProduct } from '../pricing/store-products.ts';
import { findPurchase, findPurchaseOfSession } from '../purchases/store.ts';
import { newBillingPeriod } from '../subscriptions/actions.ts';
import { lockLivingSubscriptions, saveSubscription } from '../subscriptions/store.ts';
import { insertBillingPeriod, reviveBillingPeriod } from '../subscriptions/store-billing-periods.ts';
import { listActiveItems } from '../subscriptions/store-items.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.ts';
import { decideActivation, decideReplaced } from '../subscriptions/subscription-start.ts';
import { issueBills } from './bill-subscription.ts';
import { type Bought, insertPlanPurchase } from './buy.ts';
import { chargeInvoice } from './charge-invoice.ts';
import { endSubscription, holdSubscription } from './end-subscription.ts';
import { anchorOfFreePlan } from './open-plan.ts';
import { firstLine } from './open-subscription.ts';
import { recordPaid } from './record-paid.ts';

/** The activation of a subscription that awaits its first payment, and the payment method to charge. */
export interface Activation {
  readonly subscriptionId: string;
  readonly paymentMethodId: string;
  readonly checkoutSessionId: string | null;
  /** Whether it keeps the periods of the free plan that it replaces. */
  readonly preserveBillingCycleAnchor?: boolean;
}

/**
 * Starts a subscription that awaits its first payment: its first period, its invoice, and the charge after the commit.
 * Success makes it active; after a failure it waits again, and another attempt may follow. A checkout session activates
 * once: a repeat returns its purchase that has not failed. Refuses with `subscriptionNotActivatable` a subscription
 * that is not waiting.
 */
export async function activateSubscription(work: Work, activation: Activation): Promise<Bought> {
  const { subscriptionId: id, paymentMethodId, checkoutSessionId } = activation;
  const { customer, subscription } = await holdSubscription(work, id);
  const earlier = checkoutSessionId && (await findPurchaseOfSession(work, checkoutSessionId));
  if (earlier) return { purchase: earlier, subscriptionId: id };
  refuseActivation(subscription);
  if ((await findPaymentMethod(work, paymentMethodId))?.customerId !== customer.id)
    throw invalid(['paymentMethodId'], `must be a payment method of customer ${customer.id}`);
  const living = await lockLivingSubscriptions(work, customer.id);
  const replaced = decideReplaced(living, { isFreePlan: false, allowMultiple: work.allowMultipleSubscriptions });
  const anchor = activation.preserveBillingCycleAnchor ? anchorOfFreePlan(living, work.now) : null;
  const begun = await beginNow(work, subscription, anchor);
  if (replaced !== null)
    await endSubscription(
      work,
      { customer, subscription: replaced },
      { at: work.now, reason: 'upgraded_to_paid', replacedBy: id },
    );
  if (begun.invoice.status === 'paid') await recordPaid(work, [{ invoice: begun.invoice, paymentMethodId }]);
  else await chargeInvoice(work, begun.invoice, paymentMethodId);
  const { price, product } = await findSold(work, subscription);
  const { id: purchaseId } = await insertPlanPurchase(
    work,
    {
      customer,
      price,
      product,
      quantity: begun.quantity,
      name: subscription.name,
      metadata: subscription.metadata,
      billingAddress: customer.billingAddress,
      checkoutSessionId,
      paymentMethodId,
    },
    begun,
  );
  const purchase = await findPurchase(work, purchaseId);
  assert(purchase, 'it has just been written');
  return { purchase, subscriptionId: id };
}

function refuseActivation({ id, status, currentBillingPeriodStart }: SubscriptionRow): void {
  if (status !== 'incomplete')
    throw new Problem('subscriptionNotActivatable', { id, reason: `its status is ${status}` });
  if (currentBillingPeriodStart !== null)
    throw new Problem('subscriptionNotActivatable', { id, reason: 'its first payment is in progress' });
}

interface Begun {
  readonly subscription: SubscriptionRow;
  readonly invoice: InvoiceRow;
  readonly quantity: number;
}

/** The subscription in its first period, and the invoice of that period. */
async function beginNow(work: Work, waiting: SubscriptionRow, keptAnchor: Instant | null): Promise<Begun> {
  const { period: span, anchor, wholeStartAt } = decideActivation(waiting, { anchor: keptAnchor, now: work.now });
  const fresh = newBillingPeriod(work, waiting, { ...span, wholeStartAt, creditsAwaitPayment: true });
  // An earlier attempt at the same instant may have failed: a period begins only once.
  const revived = await reviveBillingPeriod(work, fresh);
  if (revived === null) await insertBillingPeriod(work, fresh);
  const period = revived ?? fresh;
  const subscription = await saveSubscription(work, waiting.id, {
    billingCycleAnchorDate: anchor,
    currentBillingPeriodStart: period.startAt,
    currentBillingPeriodEnd: period.endAt,
  });
  const items = await listActiveItems(work, [{ subscriptionId: subscription.id, at: work.now }]);
  const sold = items.filter(({ priceId, quantity }) => priceId !== null && quantity > 0);
  const lines = sold.map((item) => firstLine(item, period));
  const bill = { subscription, period, reason: 'subscription_start', lines, at: work.now } as const;
  const [invoice] = await issueBills(work, [bill]);
  assert(invoice, 'what waits for money costs something');
  return { subscription, invoice, quantity: sold[0]?.quantity ?? 1 };
}

async function findSold(work: Work, { priceId }: SubscriptionRow): Promise<{ price: Price; product: Product }> {
  const price = await findPrice(work, priceId);
  const product = price === null || price.productId === null ? null : await findProduct(work, price.productId);
  assert(price && product, 'a subscription has its price and product');
  return { price, product };
}
