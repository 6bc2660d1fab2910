import { createHash } from 'node:crypto';
import type { NamesOfRequest } from '../database/cells.ts';
import { idPrefixes, slotOf, slotOfNumber } from '../kernel/id.ts';

// The name of a customer that was the anonymous buyer of this session, or that of an erased customer, which is its id. Nothing of a
// customer has the slot 00.
const nameWithSlot = new RegExp(
  `^(${idPrefixes.checkoutSession}|${idPrefixes.customer})_[0-9A-Za-z]{19}(?!00)[0-9A-Za-z]{2}$`,
);

/** The slot of a customer. With all its records, a customer is in the cell to which its slot leads. */
export function slotOfCustomer(environmentId: number, externalId: string): string {
  if (nameWithSlot.test(externalId)) return slotOf(externalId);
  return slotOfNumber(createHash('sha256').update(`${environmentId}\n${externalId}`).digest().readUInt32BE());
}

// Fields that name a customer, or a record of one.
const idFields = new Set(['customerId', 'subscriptionId', 'subscriptionItemId', 'targetSubscriptionId']);
const externalIdField = 'customerExternalId';
// A caller chooses the keys of these.
const freeFields = new Set(['metadata', 'properties']);

interface Params {
  readonly externalId?: unknown;
  readonly id?: unknown;
  readonly subscriptionId?: unknown;
}

/** The slots of the customers and records that a request names. */
export function slotsOfRequest({ params, query, body }: NamesOfRequest, environmentId: number): readonly string[] {
  const slots = new Set<string>();
  const ofCustomer = (externalId: unknown) => {
    if (typeof externalId === 'string') slots.add(slotOfCustomer(environmentId, externalId));
  };
  const { externalId, id, subscriptionId } = (params ?? {}) as Params;
  ofCustomer(externalId);
  for (const text of [id, subscriptionId]) if (typeof text === 'string') slots.add(slotOf(text));
  // The body of a change repeats the record of the path, or has its new name.
  if (slots.size > 0) return [...slots];
  const { customer } = (body ?? {}) as { readonly customer?: { readonly externalId?: unknown } };
  ofCustomer(customer?.externalId);
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) walk(each);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, each] of Object.entries(value)) {
        if (name === externalIdField) ofCustomer(each);
        else if (idFields.has(name) && typeof each === 'string') slots.add(slotOf(each));
        else if (!freeFields.has(name)) walk(each);
      }
    }
  };
  walk(query);
  walk(body);
  return [...slots];
}
