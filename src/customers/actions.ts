import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { numberOfSlot, slotOf, slots } from '../kernel/id.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { readSettings } from '../organizations/store-settings.ts';
import { slotOfCustomer } from './actions-slots.ts';
import { readBillingTerms } from './billing-terms.ts';
import {
  type BillingDetails,
  type Customer,
  type CustomerChange,
  type CustomerRow,
  decideChange,
  type NewCustomer,
  withDetails,
} from './customer.ts';
import * as store from './store.ts';
import { publish } from './store-events.ts';

/** A customer as returned by the API. */
export function renderCustomer(work: Work, { portalVersion: _, ...customer }: CustomerRow): Customer {
  const { reviewHours, consolidateInvoices, billingTerms, ...row } = customer;
  const ownReview = reviewHours === null ? {} : { reviewHours };
  const consolidates = consolidateInvoices ? { consolidateInvoices } : {};
  const ownTerms = billingTerms === null ? {} : { billingTerms };
  return {
    ...row,
    ...ownReview,
    ...consolidates,
    ...ownTerms,
    livemode: work.livemode,
    organizationId: work.organizationId,
  };
}

/** The active customer with this external id. Refuses with `customerNotFound`. */
export async function requireCustomerByExternalId(
  work: Work,
  externalId: string,
  pricingModelId?: string,
): Promise<CustomerRow> {
  const customer = await store.findCustomerByExternalId(work, externalId, pricingModelId);
  if (customer === null) throw new Problem('customerNotFound', { id: externalId });
  return customer;
}

/** A customer by its id or its external id. */
interface CustomerReference {
  readonly customerId?: string | undefined;
  readonly customerExternalId?: string | undefined;
}

/** The named customer, locked. Refuses with `customerNotFound` or `customerArchived`. */
export async function lockNamedCustomer(
  work: Work,
  { customerId, customerExternalId }: CustomerReference,
  pricingModelId: string | undefined,
): Promise<CustomerRow> {
  const found =
    customerId === undefined
      ? await store.findCustomerEvenArchived(work, customerExternalId ?? '', pricingModelId)
      : await store.findCustomer(work, customerId);
  const customer = found === null ? null : await store.lockCustomer(work, found.id);
  if (customer === null) throw new Problem('customerNotFound', { id: customerId ?? customerExternalId ?? '' });
  if (customer.archived) throw new Problem('customerArchived', { id: customer.id });
  return customer;
}

/** The days that a customer has to pay an invoice that is not charged: its own, else those of the settings. */
export async function readNetTerms(work: Work, customerId: string): Promise<number> {
  const own = (await store.listOwnTerms(work, [customerId])).get(customerId)?.netTermsDays ?? null;
  return own ?? (await readSettings(work)).netTermsDays;
}

export async function listCustomers(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfCustomers(work, request);
  return page(
    request,
    rows.map((row) => renderCustomer(work, row)),
    total,
  );
}

// Seven hexadecimal digits: short enough to read out.
const baseDigits = 7;
// One collision is unlikely; five in a row mean that the bases of the environment are used up.
const maxBases = 5;

/** Creates a customer and publishes the event, without its plan. Returns the customer that has the external id, if any. */
export async function insertOrFindCustomer(
  work: Work,
  pricingModelId: string,
  given: NewCustomer,
): Promise<{ customer: CustomerRow; isNew: boolean }> {
  const customer = newCustomer(work, pricingModelId, given);
  for (let tried = 0; tried < maxBases; tried++) {
    const row = { ...customer, invoiceNumberBase: newNumberBase(customer.id) };
    if (await store.insertCustomer(work, row)) {
      await publishCustomer(work, 'customer.created', row);
      return { customer: row, isNew: true };
    }
    const { externalId } = customer;
    const taken = given.archived ? null : await store.findCustomerByExternalId(work, externalId, pricingModelId);
    if (taken !== null) return { customer: taken, isNew: false };
  }
  assert.fail('no free base for invoice numbers');
}

/** A base that no customer of another slot gets, so that no other cell has it. */
function newNumberBase(customerId: string): string {
  const place = randomInt(Math.floor(16 ** baseDigits / slots));
  return (place * slots + numberOfSlot(slotOf(customerId))).toString(16).toUpperCase().padStart(baseDigits, '0');
}

/** A customer that is not stored yet, and has no base for its invoice numbers. */
export function newCustomer(work: Work, pricingModelId: string, given: NewCustomer): CustomerRow {
  return {
    id: newId('customer', slotOfCustomer(work.environmentId, given.externalId)),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId,
    externalId: given.externalId,
    email: given.email,
    name: given.name,
    archived: given.archived ?? false,
    erasedAt: null,
    logoURL: given.logoURL ?? null,
    iconURL: given.iconURL ?? null,
    domain: given.domain ?? null,
    userId: given.userId ?? null,
    billingAddress: given.billingAddress ?? null,
    taxExempt: given.taxExempt ?? false,
    portalVersion: 0,
    reviewHours: given.reviewHours ?? null,
    consolidateInvoices: given.consolidateInvoices ?? false,
    billingTerms: readBillingTerms(given.billingTerms ?? null),
    invoiceNumberBase: '',
    metadata: given.metadata ?? null,
  };
}

/** Updates the changeable fields of a customer. Publishes the event if anything changed. */
export async function updateCustomer(
  work: Work,
  externalId: string,
  pricingModelId: string | undefined,
  change: CustomerChange,
): Promise<CustomerRow> {
  const found = await requireCustomerByExternalId(work, externalId, pricingModelId);
  const changed = await changeCustomer(work, found, change);
  if (changed === null) throw new Problem('customerNotFound', { id: externalId });
  return changed;
}

/** The same for a customer that was found; null if it was archived or got another external id in the meantime. */
export async function changeCustomer(
  work: Work,
  { id, externalId }: CustomerRow,
  change: CustomerChange,
): Promise<CustomerRow | null> {
  const current = await store.lockCustomer(work, id);
  if (current === null || current.archived || current.externalId !== externalId) return null;
  const changed = decideChange(current, change);
  if (changed === null) return current;
  if (changed.externalId !== current.externalId) await refuseTaken(work, changed);
  return saveChangedCustomer(work, changed);
}

/** Saves the details that a customer gives of itself, and publishes the event if anything changed. */
export async function changeDetails(work: Work, id: string, details: BillingDetails): Promise<void> {
  const current = await store.lockCustomer(work, id);
  if (current === null || current.archived) throw new Problem('customerNotFound', { id });
  const changed = decideChange(current, withDetails(current, details));
  if (changed !== null) await saveChangedCustomer(work, changed);
}

/** Refuses an external id that another customer has. A unique index refuses those that come at the same time. */
async function refuseTaken(work: Work, { externalId, pricingModelId }: CustomerRow): Promise<void> {
  const taken = await store.findCustomerByExternalId(work, externalId, pricingModelId);
  if (taken !== null) throw new Problem('externalIdTaken', { externalId });
}

/** Revokes all links to the portal of the customer with this external id, and ends the visits that began with them. */
export async function revokePortalLinks(work: Work, externalId: string, pricingModelId?: string): Promise<CustomerRow> {
  const customer = await requireCustomerByExternalId(work, externalId, pricingModelId);
  await store.advancePortalVersion(work, customer.id);
  return customer;
}

/** Saves a changed customer and publishes the event. The caller has locked it. */
export async function saveChangedCustomer(work: Work, changed: CustomerRow): Promise<CustomerRow> {
  const row = { ...changed, updatedAt: work.now };
  await store.saveCustomer(work, row);
  await publishCustomer(work, 'customer.updated', row);
  return row;
}

/** Publishes that a customer was erased, with nothing of what it was. */
export async function publishErasure(work: Work, row: CustomerRow): Promise<void> {
  await publishCustomer(work, 'customer.updated', row);
  await publishCustomer(work, 'customer.erased', row);
}

type CustomerEvent = 'customer.created' | 'customer.updated' | 'customer.erased';

async function publishCustomer(work: Work, type: CustomerEvent, row: CustomerRow) {
  const { id, externalId, pricingModelId } = row;
  const customer = { id, externalId };
  const data = renderCustomer(work, row);
  await publish(work, [{ type, object: 'customer', objectId: id, pricingModelId, customer, data }]);
}
