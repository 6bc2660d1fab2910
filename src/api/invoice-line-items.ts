import { z } from 'zod';
import { route } from '../http/route.ts';
import { getInvoiceLineItem, listInvoiceLineItems } from '../invoicing/actions.ts';
import { InvoiceLineItem, InvoiceLineItemId } from '../invoicing/invoice-line-item.ts';
import { createdFilters, customerFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';

const tag = 'Invoices';

export const invoiceLineItemRoutes = [
  route({
    method: 'GET',
    path: '/invoice-line-items',
    cell: 'all',
    merged: 'asc',
    needs: 'invoice-line-items:read',
    summary: 'List invoice lines',
    description: 'Returns the lines of invoices, optionally those of one invoice or customer.',
    tag,
    query: pageQuery({
      ...customerFilters,
      invoiceId: textFilter,
      type: textFilter,
      priceId: textFilter,
      ...createdFilters,
    }),
    returns: pageOf(InvoiceLineItem),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listInvoiceLineItems(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/invoice-line-items/{id}',
    cell: 'id',
    needs: 'invoice-line-items:read',
    summary: 'Get an invoice line',
    description: 'Returns one line of an invoice with its quantity, price and amount.',
    tag,
    params: z.object({ id: InvoiceLineItemId }),
    returns: InvoiceLineItem,
    refuses: ['invoiceLineItemNotFound'],
    handle: (work, { params }) => getInvoiceLineItem(work, params.id),
  }),
];
