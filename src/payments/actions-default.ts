import { lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { chargeSubscriptionsOn } from './actions-attach.ts';
import { clearDefault, findPaymentMethod, markDefault } from './store-payment-methods.ts';

/**
 * Makes a payment method what the customer is charged on from now on: by default, and by each of its subscriptions.
 * Refuses with `paymentMethodNotFound` one that is not the customer's.
 */
export async function makeDefaultPaymentMethod(work: Work, customerId: string, id: string): Promise<void> {
  // Who changes the default of one customer takes turns, so that there is one at any time.
  const customer = await lockCustomer(work, customerId);
  const method = await findPaymentMethod(work, id);
  if (customer === null || method?.customerId !== customerId) throw new Problem('paymentMethodNotFound', { id });
  if (!method.isDefault) {
    await clearDefault(work, customerId);
    await markDefault(work, id);
  }
  await chargeSubscriptionsOn(work, customer, id);
}
