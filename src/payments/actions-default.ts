import { lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { chargeSubscriptionsOn } from './actions-attach.ts';
import { clearDefault, findPaymentMethod, markDefault } from './store-payment-methods.ts';

/**
 * Makes a payment method the customer's default and that of each of its subscriptions. Refuses with
 * `paymentMethodNotFound` a payment method of another customer.
 */
export async function makeDefaultPaymentMethod(work: Work, customerId: string, id: string): Promise<void> {
  // Serializes changes of the customer's default, so that there is always one.
  const customer = await lockCustomer(work, customerId);
  const method = await findPaymentMethod(work, id);
  if (customer === null || method?.customerId !== customerId) throw new Problem('paymentMethodNotFound', { id });
  if (!method.isDefault) {
    await clearDefault(work, customerId);
    await markDefault(work, id);
  }
  await chargeSubscriptionsOn(work, customer, id);
}
