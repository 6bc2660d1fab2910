import { lockNamedCustomer } from '../customers/actions.ts';
import { lockCustomer } from '../customers/store.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { findSubscription } from '../subscriptions/store.ts';
import { isTerminal } from '../subscriptions/subscription.ts';
import { writeLines } from './actions-drafts.ts';
import {
  fieldsOf,
  type InvoiceItem,
  type InvoiceItemChange,
  type InvoiceItemRow,
  itemsOfBills,
  lineOfItem,
  type NewInvoiceItem,
  type TakingBill,
} from './invoice-item.ts';
import { itemOf, type NewLine } from './invoice-line-item.ts';
import type { InvoiceRow } from './store.ts';
import * as store from './store-items.ts';

/** Stores a line for the next invoice of a customer or of one subscription. */
export async function createItem(
  work: Work,
  { customerId, customerExternalId, subscriptionId, ...line }: NewInvoiceItem,
  pricingModelId: string | undefined,
): Promise<InvoiceItem> {
  const customer = await lockNamedCustomer(
    work,
    await ownerOf(work, { customerId, customerExternalId, subscriptionId }),
    pricingModelId,
  );
  const [written] = await writeLines(work, customer, [line]);
  if (written === undefined) throw new Error('a line was written');
  const item: InvoiceItemRow = {
    id: newId('invoiceItem', customer.id),
    createdAt: work.now,
    updatedAt: work.now,
    pricingModelId: customer.pricingModelId,
    customerId: customer.id,
    subscriptionId: subscriptionId ?? null,
    invoiceId: null,
    ...fieldsOf(written),
  };
  // It may have ended while this waited for the lock.
  if (subscriptionId !== undefined) await requireGoing(work, subscriptionId);
  await store.insertItem(work, item);
  return render(work, item);
}

async function ownerOf(
  work: Work,
  { subscriptionId, ...named }: Pick<NewInvoiceItem, 'customerId' | 'customerExternalId' | 'subscriptionId'>,
): Promise<Pick<NewInvoiceItem, 'customerId' | 'customerExternalId'>> {
  return subscriptionId === undefined ? named : { customerId: (await requireGoing(work, subscriptionId)).customerId };
}

async function requireGoing(work: Work, id: string) {
  const subscription = await findSubscription(work, id);
  if (subscription === null) throw new Problem('subscriptionNotFound', { id });
  const { status } = subscription;
  if (isTerminal(status)) throw new Problem('subscriptionTerminal', { id, status });
  return subscription;
}

export async function getItem(work: Work, id: string): Promise<InvoiceItem> {
  const item = await store.findItem(work, id);
  if (item === null) throw new Problem('invoiceItemNotFound', { id });
  return render(work, item);
}

export async function listItems(work: Work, request: PageRequest) {
  const { rows, total } = await store.pageOfItems(work, request);
  return page(
    request,
    rows.map((row) => render(work, row)),
    total,
  );
}

/** Writes the line of a pending item again. Refuses with `invoiceItemInvoiced` one that is on an invoice. */
export async function changeItem(
  work: Work,
  id: string,
  { id: bodyId, ...line }: InvoiceItemChange,
): Promise<InvoiceItem> {
  if (bodyId !== undefined && bodyId !== id) throw new Problem('idMismatch', { bodyId, pathId: id });
  const item = await lockPending(work, id);
  const [written] = await writeLines(work, item, [line]);
  if (written === undefined) throw new Error('a line was written');
  const changed = { ...item, ...fieldsOf(written), updatedAt: work.now };
  await store.saveItem(work, changed);
  return render(work, changed);
}

/** Deletes a pending item, and returns it as it was. */
export async function removeItem(work: Work, id: string): Promise<InvoiceItem> {
  const item = await lockPending(work, id);
  await store.deleteItem(work, id);
  return render(work, item);
}

/** The customer is locked first, so an invoice that is made meanwhile has taken the item or sees the change. */
async function lockPending(work: Work, id: string) {
  const found = await store.findItem(work, id);
  if (found === null) throw new Problem('invoiceItemNotFound', { id });
  await lockCustomer(work, found.customerId);
  const item = await store.lockItem(work, id);
  if (item === null) throw new Problem('invoiceItemNotFound', { id });
  const { invoiceId } = item;
  if (invoiceId !== null) throw new Problem('invoiceItemInvoiced', { id, invoiceId });
  return item;
}

/** The lines of pending items that each of these bills takes now. Without pending items this is one statement. */
export async function linesOfItems(work: Work, bills: readonly TakingBill[]): Promise<NewLine[][]> {
  if (bills.length === 0) return [];
  const pending = await store.listPendingItems(work, [...new Set(bills.map(({ customerId }) => customerId))]);
  return itemsOfBills(bills, pending).map((items) => items.map(lineOfItem));
}

/** Notes on which invoices items went. */
export async function noteTaken(
  work: Work,
  made: readonly { readonly invoice: InvoiceRow; readonly lines: readonly NewLine[] }[],
): Promise<void> {
  await store.takeItems(
    work,
    made.flatMap(({ invoice, lines }) =>
      lines.flatMap(({ explanation }) => {
        const itemId = itemOf(explanation);
        return itemId === null ? [] : { itemId, invoiceId: invoice.id };
      }),
    ),
  );
}

function render(work: Work, row: store.ListedItem): InvoiceItem {
  const { id, createdAt, updatedAt, pricingModelId, customerId, subscriptionId, invoiceId, priceId } = row;
  const { description, quantity, price, taxable, serviceStartAt: start, serviceEndAt: end } = row;
  return {
    ...{ id, createdAt, updatedAt, pricingModelId, customerId, subscriptionId, invoiceId, priceId },
    ...{ description, quantity, price, taxable },
    livemode: work.livemode,
    status: row.invoiceId === null ? 'pending' : 'invoiced',
    amount: row.price * BigInt(row.quantity),
    servicePeriod: start === null || end === null ? null : { start, end },
  };
}
