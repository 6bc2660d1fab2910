import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { findLastFailureOfInvoice } from '../payments/store.ts';
import { getPurchase } from '../purchases/actions.ts';
import { type NewPurchase, type Purchase, toPurchase } from '../purchases/purchase.ts';
import { buy } from './buy.ts';
import { findGivenDiscount, findOffer, lockSubscriber } from './subscribe.ts';

/**
 * Sells something to a customer on a saved payment method, as a checkout does. The amount due is charged after the
 * commit; `readSold` returns the outcome.
 */
export async function sell(work: Work, given: NewPurchase, pricingModelId: string | undefined): Promise<Purchase> {
  const customer = await lockSubscriber(work, given, pricingModelId);
  const { price, product } = await findOffer(work, customer, given);
  const { purchase } = await buy(work, {
    customer,
    price,
    product,
    quantity: given.quantity ?? 1,
    discount: await findGivenDiscount(work, customer, given),
    paymentMethodId: given.paymentMethodId ?? null,
    name: given.name ?? null,
    metadata: given.metadata ?? null,
    billingAddress: null,
    checkoutSessionId: null,
    preserveBillingCycleAnchor: false,
  });
  return toPurchase(work, purchase);
}

/** The purchase after its charge. Refuses with `purchaseNotPaid`, and the failed purchase, one that was declined. */
export async function readSold(work: Work, { id }: Pick<Purchase, 'id'>): Promise<Purchase> {
  const purchase = await getPurchase(work, id);
  if (purchase.status !== 'failed') return purchase;
  const { invoiceId } = purchase;
  const payment = invoiceId === null ? null : await findLastFailureOfInvoice(work, invoiceId);
  const details = { code: payment?.failureCode ?? 'declined', reason: payment?.failureMessage ?? '' };
  throw new Problem('purchaseNotPaid', details, [], { purchase });
}
