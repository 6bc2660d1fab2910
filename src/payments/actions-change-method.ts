import { lockCustomer } from '../customers/store.ts';
import type { Work } from '../database/work.ts';
import { enqueue } from '../jobs/queue.ts';
import { isSameJson } from '../kernel/json.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { listSubscriptionsChargedOn } from '../subscriptions/store.ts';
import { renderPaymentMethod } from './actions.ts';
import { chargeSubscriptionsOn } from './actions-attach.ts';
import type { PaymentMethod, PaymentMethodChange } from './payment-method.ts';
import { findUnderWayOn } from './store.ts';
import type { PaymentMethodRow } from './store-payment-methods.ts';
import * as store from './store-payment-methods.ts';

/** The task that removes a payment method from the customer at an external processor. */
export const detachTask = 'detach_payment_method';

// A refusal names some of the subscriptions.
const maxNamed = 3;

/** Locks the customer of the payment method, so that there is always one default, and returns the payment method. */
async function lockMethod(work: Work, id: string): Promise<PaymentMethodRow> {
  const found = await store.findPaymentMethod(work, id);
  if (found !== null) await lockCustomer(work, found.customerId);
  const method = await store.findPaymentMethod(work, id);
  if (method === null) throw new Problem('paymentMethodNotFound', { id });
  return method;
}

/** Changes the details of a payment method, or makes it the default of its customer. */
export async function updatePaymentMethod(
  work: Work,
  id: string,
  { id: bodyId, ...change }: PaymentMethodChange,
): Promise<PaymentMethod> {
  if (bodyId !== undefined && bodyId !== id) throw new Problem('idMismatch', { pathId: id, bodyId });
  const method = await lockMethod(work, id);
  if (change.default === false && method.isDefault)
    throw invalid(['paymentMethod', 'default'], 'must be true: make another payment method the default instead');
  const changed: PaymentMethodRow = {
    ...method,
    isDefault: change.default ?? method.isDefault,
    billingDetails: change.billingDetails ?? method.billingDetails,
    metadata: change.metadata === undefined ? method.metadata : change.metadata,
  };
  const isSame = isSameJson(changed, method);
  const saved = isSame ? method : { ...changed, updatedAt: work.now };
  if (changed.isDefault && !method.isDefault) await store.clearDefault(work, method.customerId);
  if (!isSame) await store.renewPaymentMethod(work, saved);
  if (change.automaticallyUpdateSubscriptions === true) {
    await chargeSubscriptionsOn(work, { id: method.customerId }, id);
  }
  return renderPaymentMethod(work, saved);
}

interface DeletedPaymentMethod {
  readonly paymentMethod: PaymentMethod;
  /** The payment method that is the default of the customer now; null if it has none left. */
  readonly defaultPaymentMethodId: string | null;
}

/**
 * Deletes a payment method, here and at its processor. The oldest other one becomes the default if it was that. Refuses
 * with `paymentMethodInUse` one that a running subscription names: the next renewal would fail without a word. Refuses
 * with `paymentMethodBeingCharged` one with a payment in flight, which a subscription names when its money has arrived.
 */
export async function deletePaymentMethod(work: Work, id: string): Promise<DeletedPaymentMethod> {
  const method = await lockMethod(work, id);
  const used = await listSubscriptionsChargedOn(work, method, maxNamed);
  if (used.length > 0) throw new Problem('paymentMethodInUse', { id, subscriptions: used.join(', ') });
  const paymentId = await findUnderWayOn(work, id);
  if (paymentId !== null) throw new Problem('paymentMethodBeingCharged', { id, paymentId });
  await detach(work, [method]);
  const [heir] = await store.listPaymentMethodsOfCustomer(work, method.customerId, 1);
  if (heir !== undefined && !heir.isDefault) await store.markDefault(work, heir.id);
  const paymentMethod = renderPaymentMethod(work, { ...method, isDefault: false, updatedAt: work.now });
  return { paymentMethod, defaultPaymentMethodId: heir?.id ?? null };
}

/** Detaches payment methods here, and at their processors after the commit. The customer is locked. */
async function detach(work: Work, methods: readonly PaymentMethodRow[]): Promise<void> {
  await store.detachPaymentMethods(
    work,
    methods.map(({ id }) => id),
  );
  for (const { id, processor } of methods) {
    if (processor !== 'test') await enqueue(work, detachTask, { paymentMethodId: id }, { key: `${detachTask}:${id}` });
  }
}
