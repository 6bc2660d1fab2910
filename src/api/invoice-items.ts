import { z } from 'zod';
import { route } from '../http/route.ts';
import { changeItem, createItem, getItem, listItems, removeItem } from '../invoicing/actions-items.ts';
import {
  InvoiceItem,
  InvoiceItemChange,
  InvoiceItemId,
  InvoiceItemStatus,
  NewInvoiceItem,
} from '../invoicing/invoice-item.ts';
import { createdFilters, customerFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';

const tag = 'Invoice items';
const params = z.object({ id: InvoiceItemId });
const returns = z.object({ invoiceItem: InvoiceItem });

export const invoiceItemRoutes = [
  route({
    method: 'POST',
    path: '/invoice-items',
    cell: 'customer',
    needs: 'invoice-items:money',
    summary: 'Add a line to the next invoice',
    description:
      'Stores a line that the next renewal of the customer, or of one subscription, takes onto its invoice. The last ' +
      'invoice of that subscription takes it too. An item is on one invoice at most; a void invoice gives it back.',
    tag,
    query: z.object({
      pricingModelId: textFilter.meta({
        description: 'Required only if several pricing models have this `customerExternalId`.',
      }),
    }),
    body: z.object({ invoiceItem: NewInvoiceItem }),
    returns,
    refuses: [
      'customerNotFound',
      'customerArchived',
      'externalIdAmbiguous',
      'subscriptionNotFound',
      'subscriptionTerminal',
      'priceNotFound',
      'priceInactive',
      'tooManyRecords',
    ],
    handle: async (work, { query, body }) => ({
      invoiceItem: await createItem(work, body.invoiceItem, query.pricingModelId),
    }),
  }),
  route({
    method: 'GET',
    path: '/invoice-items',
    cell: 'all',
    merged: 'asc',
    needs: 'invoice-items:read',
    summary: 'List invoice items',
    description: 'Returns pending and invoiced items of the environment, optionally of one customer or subscription.',
    tag,
    query: pageQuery({
      status: InvoiceItemStatus.optional(),
      ...customerFilters,
      subscriptionId: textFilter,
      invoiceId: textFilter,
      ...createdFilters,
    }),
    returns: pageOf(InvoiceItem),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listItems(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/invoice-items/{id}',
    cell: 'id',
    needs: 'invoice-items:read',
    summary: 'Get an invoice item',
    description: 'Returns one invoice item.',
    tag,
    params,
    returns,
    refuses: ['invoiceItemNotFound'],
    handle: async (work, input) => ({ invoiceItem: await getItem(work, input.params.id) }),
  }),
  route({
    method: 'PUT',
    path: '/invoice-items/{id}',
    cell: 'id',
    needs: 'invoice-items:money',
    summary: 'Change an invoice item',
    description: 'Writes the line of a pending item again, all of it. Its customer and subscription stay.',
    tag,
    params,
    body: z.object({ invoiceItem: InvoiceItemChange }),
    returns,
    refuses: ['invoiceItemNotFound', 'idMismatch', 'invoiceItemInvoiced', 'priceNotFound', 'priceInactive'],
    handle: async (work, input) => ({
      invoiceItem: await changeItem(work, input.params.id, input.body.invoiceItem),
    }),
  }),
  route({
    method: 'DELETE',
    path: '/invoice-items/{id}',
    cell: 'id',
    needs: 'invoice-items:money',
    summary: 'Delete an invoice item',
    description: 'Deletes a pending item, and returns its last values.',
    tag,
    params,
    returns,
    refuses: ['invoiceItemNotFound', 'invoiceItemInvoiced'],
    handle: async (work, input) => ({ invoiceItem: await removeItem(work, input.params.id) }),
  }),
];
