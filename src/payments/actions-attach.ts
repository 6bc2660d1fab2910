import assert from 'node:assert/strict';
import type { CustomerRow } from '../customers/customer.ts';
import { findCustomer, findCustomerByExternalId, lockCustomer } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { requestEffect } from '../jobs/queue.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { publishSubscriptions } from '../subscriptions/actions.ts';
import { lockLivingSubscriptions, saveSubscriptions } from '../subscriptions/store.ts';
import { renderPaymentMethod } from './actions.ts';
import { type AttachedOnPage, billingDetailsOf, type NewPaymentMethod, type PaymentMethod } from './payment-method.ts';
import type { AttachOutcome, AttachRequest, PaymentProcessor } from './processor.ts';
import {
  type Attachment,
  endAttachment,
  findAttachment,
  insertAttachment,
  lockAttachment,
} from './store-attachments.ts';
import * as store from './store-payment-methods.ts';
import { clearDefault, findPaymentMethod, markDefault, type PaymentMethodRow } from './store-payment-methods.ts';
import { findCustomerReference, insertCustomerReference } from './store-processors.ts';

/** The task that queries an external processor about a payment method. */
export const attachTask = 'attach_payment_method';

type Attached = Extract<AttachOutcome, { result: 'attached' }>;

/**
 * Attaches a payment method to a customer. The first one becomes the default, a later one on request. A card that the
 * customer has already is not added again: its payment method is renewed and returned. `pricingModelId`
 * resolves an external id that several pricing models have. Refuses a token that the processor does not know (400) or
 * declines (402); nothing is stored then.
 *
 * An external processor is called after the commit, and `reportAttachment` returns the result. A dry run does not call
 * it.
 */
export async function attachPaymentMethod(
  work: Work,
  processor: PaymentProcessor,
  request: AttachedOnPage,
  pricingModelId?: string,
): Promise<PaymentMethod> {
  // Serializes attachments to one customer, so that there is always one default.
  const customer = await lockPayer(work, request, pricingModelId);
  const id = newId('paymentMethod', customer.id);
  if (processor.identifyCustomer !== undefined) return requestAttachment(work, processor, customer, request, id);
  const outcome = await processor.attachPaymentMethod(attachRequest(work, customer, request, id, null));
  return keep(work, processor.name, customer, request, id, accepted(processor.name, request, outcome));
}

/** The customer to attach to, locked. Refuses with `customerNotFound` or `customerArchived`. */
export async function lockPayer(
  work: Work,
  { customerId, customerExternalId }: Pick<NewPaymentMethod, 'customerId' | 'customerExternalId'>,
  pricingModelId: string | undefined,
): Promise<CustomerRow> {
  if ((customerId === undefined) === (customerExternalId === undefined))
    throw invalid(['paymentMethod', 'customerId'], 'send customerId or customerExternalId');
  const named = customerId ?? customerExternalId ?? '';
  const id = customerId ?? (await findCustomerByExternalId(work, named, pricingModelId))?.id;
  const customer = id === undefined ? null : await lockCustomer(work, id);
  if (customer === null) throw new Problem('customerNotFound', { id: named });
  if (customer.archived) throw new Problem('customerArchived', { id: named });
  return customer;
}

function attachRequest(
  work: Work,
  { id, name, email }: CustomerRow,
  { token, type, acceptance, isOnPage = false }: AttachedOnPage,
  idempotencyKey: string,
  customerReference: string | null,
): AttachRequest {
  const { environmentId } = work;
  const customer = { id, name, email };
  return {
    token,
    type: type ?? null,
    acceptance: acceptance ?? null,
    isOnPage,
    idempotencyKey,
    environmentId,
    customer,
    customerReference,
  };
}

/** Returns a successful attachment; refuses a failed one. */
function accepted(processor: string, { token, type }: NewPaymentMethod, outcome: AttachOutcome): Attached {
  if (outcome.result === 'unknown') throw unknownToken(processor, outcome.known);
  if (outcome.result === 'declined')
    throw new Problem(
      'paymentMethodDeclined',
      { code: outcome.code, reason: outcome.message },
      [],
      outcome.nextAction === undefined ? {} : { nextAction: outcome.nextAction },
    );
  if (type !== undefined && type !== outcome.type)
    throw invalid(['paymentMethod', 'type'], `must be ${outcome.type}, the type of ${token}`);
  return outcome;
}

function unknownToken(processor: string, known: readonly string[] | null): Problem {
  if (known === null) return invalid(['paymentMethod', 'token'], `must be the id of a payment method at ${processor}`);
  if (known.length === 0) return new Problem('processorTakesNoPaymentMethods', { processor });
  return invalid(['paymentMethod', 'token'], `must be one of the processor's tokens: ${known.join(', ')}`);
}

/** Stores the payment method. The caller has locked the customer. */
async function keep(
  work: Work,
  processor: string,
  customer: CustomerRow,
  request: NewPaymentMethod,
  id: string,
  attached: Attached,
): Promise<PaymentMethod> {
  const isDefault = await becomesDefault(work, customer, request);
  const made = newMethod(work, processor, customer, request, id, attached, isDefault);
  const same = await store.findSamePaymentMethod(work, made);
  const method = same === null ? made : renewed(same, made, request);
  if (isDefault) await store.clearDefault(work, customer.id);
  await (same === null ? store.insertPaymentMethod : store.renewPaymentMethod)(work, method);
  if (request.automaticallyUpdateSubscriptions === true) await chargeSubscriptionsOn(work, customer, method.id);
  return renderPaymentMethod(work, method);
}

/** The card that the customer had already, with the newer token and expiry, and the details that were sent now. */
function renewed(
  same: PaymentMethodRow,
  made: PaymentMethodRow,
  { billingDetails, metadata }: NewPaymentMethod,
): PaymentMethodRow {
  return {
    ...made,
    id: same.id,
    createdAt: same.createdAt,
    isDefault: same.isDefault || made.isDefault,
    billingDetails: billingDetails === undefined ? same.billingDetails : made.billingDetails,
    metadata: metadata === undefined ? same.metadata : made.metadata,
  };
}

/** Makes it the payment method of the customer's running subscriptions. */
export async function chargeSubscriptionsOn(
  work: Work,
  { id: customerId }: Pick<CustomerRow, 'id'>,
  methodId: string,
): Promise<void> {
  const living = await lockLivingSubscriptions(work, customerId);
  const changing = living.filter((row) => !row.doNotCharge && row.defaultPaymentMethodId !== methodId);
  const changed = await saveSubscriptions(
    work,
    changing.map((row) => ({ ...row, defaultPaymentMethodId: methodId })),
  );
  await publishSubscriptions(work, 'subscription.updated', changed);
}

async function becomesDefault(work: Work, customer: CustomerRow, request: NewPaymentMethod): Promise<boolean> {
  const [first] = await store.listPaymentMethodsOfCustomer(work, customer.id, 1);
  return request.default === true || first === undefined;
}

function newMethod(
  work: Work,
  processor: string,
  customer: CustomerRow,
  request: NewPaymentMethod,
  id: string,
  { type, data, country, token = request.token, fingerprint = null }: Attached,
  isDefault: boolean,
): PaymentMethodRow {
  return {
    id,
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: customer.pricingModelId,
    customerId: customer.id,
    type,
    isDefault,
    billingDetails: request.billingDetails ?? billingDetailsOf(customer, country),
    paymentMethodData: data,
    metadata: request.metadata ?? null,
    processor,
    processorToken: token,
    fingerprint,
  };
}

/** Requests the attachment after the commit. Returns the fields of the payment method known so far. */
async function requestAttachment(
  work: Work,
  processor: PaymentProcessor,
  customer: CustomerRow,
  request: AttachedOnPage,
  id: string,
): Promise<PaymentMethod> {
  const attachment: Attachment = {
    id,
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: customer.pricingModelId,
    customerId: customer.id,
    processor: processor.name,
    request: work.attended ? { ...request, isOnPage: true } : request,
    status: 'pending',
    outcome: null,
    paymentMethodId: null,
  };
  await insertAttachment(work, attachment);
  await requestEffect(work, {
    task: attachTask,
    payload: { paymentMethodId: id },
    key: `${attachTask}:${id}`,
    // In a dry run nothing is known beyond the request.
    assume: async () => undefined,
  });
  const country = request.billingDetails?.address.country ?? 'US';
  const unknown: Attached = { result: 'attached', type: request.type ?? 'card', data: {}, country };
  const isDefault = await becomesDefault(work, customer, request);
  return renderPaymentMethod(work, newMethod(work, processor.name, customer, request, id, unknown, isDefault));
}

/** The pending request to the processor, or null if it has already responded. */
export async function findPendingAttachment(
  work: Work,
  id: string,
): Promise<{ processor: string; request: AttachRequest } | null> {
  const attachment = await findAttachment(work, id);
  if (attachment?.status !== 'pending') return null;
  const { customerId, processor, request } = attachment;
  const customer = await findCustomer(work, customerId);
  assert(customer, 'customers are never deleted');
  const reference = await findCustomerReference(work, customerId, processor);
  return { processor, request: attachRequest(work, customer, request, id, reference) };
}

/** Stores the customer's id at the processor. Returns the effective one: of two concurrent ones, the first. */
export async function recordCustomerReference(
  work: Work,
  customerId: string,
  processor: string,
  reference: string,
): Promise<string> {
  await insertCustomerReference(work, { customerId, processor, reference });
  return (await findCustomerReference(work, customerId, processor)) ?? reference;
}

/** Applies the processor's result: stores the payment method, or the reason for the refusal. Idempotent. */
export async function applyAttachOutcome(work: Work, id: string, outcome: AttachOutcome): Promise<void> {
  const found = await findAttachment(work, id);
  assert(found, 'attachments are never deleted');
  // The customer is locked first, as everywhere.
  const customer = await lockCustomer(work, found.customerId);
  const attachment = await lockAttachment(work, id);
  if (customer === null || attachment?.status !== 'pending') return;
  const { request, processor } = attachment;
  const isRefused = outcome.result !== 'attached' || (request.type ?? outcome.type) !== outcome.type;
  const kept = isRefused ? null : await keep(work, processor, customer, request, id, outcome);
  await endAttachment(work, id, { outcome, paymentMethodId: kept?.id ?? null });
}

/**
 * The payment method after the processor's response, for the original request. Refuses with the reason if there is
 * none.
 */
export async function reportAttachment(work: Work, { id }: Pick<PaymentMethod, 'id'>): Promise<PaymentMethod> {
  const attachment = await findAttachment(work, id);
  const method = await store.findPaymentMethod(work, attachment?.paymentMethodId ?? id);
  if (method !== null) return renderPaymentMethod(work, method);
  assert(attachment, 'what has no payment method yet has its attachment');
  const { outcome, processor, request } = attachment;
  assert(outcome, 'its effect has ended');
  if (outcome.result === 'unknown') throw unknownToken(processor, null);
  accepted(processor, request, outcome);
  assert.fail('what was accepted is kept');
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
