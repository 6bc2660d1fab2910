import { findCustomerByExternalId, lockCustomer } from '../customers/store.ts';
import { type PageRequest, page } from '../kernel/page.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { newId } from '../platform/new-id.ts';
import type { Work } from '../platform/work.ts';
import { renderPaymentMethod } from './actions.ts';
import { billingDetailsOf, type NewPaymentMethod, type PaymentMethod } from './payment-method.ts';
import type { PaymentProcessor } from './processor.ts';
import type { PaymentMethodRow } from './store-payment-methods.ts';
import * as store from './store-payment-methods.ts';

/**
 * Attaches a payment method to a customer. The first one becomes the default, a later one when it says so. Where
 * several pricing models have the external id, `pricingModelId` says which one's is meant. Refuses a token that the
 * processor does not know (400) or declines (402); nothing is kept then.
 */
export async function attachPaymentMethod(
  work: Work,
  processor: PaymentProcessor,
  request: NewPaymentMethod,
  pricingModelId?: string,
): Promise<PaymentMethod> {
  // Who attaches to one customer takes turns, so that there is one default at any time.
  const customer = await lockPayer(work, request, pricingModelId);
  const { type, data, country } = await attachToken(processor, request);
  const [first] = await store.listPaymentMethodsOfCustomer(work, customer.id, 1);
  const isDefault = request.default === true || first === undefined;
  if (isDefault) await store.clearDefault(work, customer.id);
  const method: PaymentMethodRow = {
    id: newId('paymentMethod'),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: customer.pricingModelId,
    customerId: customer.id,
    type,
    isDefault,
    billingDetails: request.billingDetails ?? billingDetailsOf(customer, country),
    paymentMethodData: data,
    metadata: request.metadata ?? null,
    processor: processor.name,
    processorToken: request.token,
  };
  await store.insertPaymentMethod(work, method);
  return renderPaymentMethod(work, method);
}

async function lockPayer(
  work: Work,
  { customerId, customerExternalId }: NewPaymentMethod,
  pricingModelId: string | undefined,
) {
  if ((customerId === undefined) === (customerExternalId === undefined))
    throw invalid(['paymentMethod', 'customerId'], 'name the customer by customerId or by customerExternalId');
  const named = customerId ?? customerExternalId ?? '';
  const id = customerId ?? (await findCustomerByExternalId(work, named, pricingModelId))?.id;
  const customer = id === undefined ? null : await lockCustomer(work, id);
  if (customer === null) throw new Problem('customerNotFound', { id: named });
  if (customer.archived) throw new Problem('customerArchived', { id: named });
  return customer;
}

async function attachToken(processor: PaymentProcessor, { token, type }: NewPaymentMethod) {
  const outcome = await processor.attachPaymentMethod(token);
  if (outcome.result === 'unknown') {
    const { known } = outcome;
    if (known.length === 0) throw new Problem('processorTakesNoPaymentMethods', { processor: processor.name });
    throw invalid(['paymentMethod', 'token'], `must be one that the processor knows: ${known.join(', ')}`);
  }
  if (outcome.result === 'declined')
    throw new Problem('paymentMethodDeclined', { code: outcome.code, reason: outcome.message });
  if (type !== undefined && type !== outcome.type)
    throw invalid(['paymentMethod', 'type'], `must be ${outcome.type}, which is what ${token} stands for`);
  return outcome;
}

export async function getPaymentMethod(work: Work, id: string): Promise<PaymentMethod> {
  const method = await store.findPaymentMethod(work, id);
  if (method === null) throw new Problem('paymentMethodNotFound', { id });
  return renderPaymentMethod(work, method);
}

export async function listPaymentMethods(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfPaymentMethods(work, request);
  const paymentMethods = rows.map((row) => renderPaymentMethod(work, row));
  return page(request, paymentMethods, total);
}
