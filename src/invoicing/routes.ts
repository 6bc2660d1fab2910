import { z } from 'zod';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { getInvoice, getInvoiceLineItem, listInvoiceLineItems, listInvoices } from './actions.ts';
import { getExplanation } from './actions-explain.ts';
import { Invoice, InvoiceId } from './invoice.ts';
import { InvoiceExplanation } from './invoice-explanation.ts';
import { InvoiceLineItem, InvoiceLineItemId } from './invoice-line-item.ts';

const tag = 'Invoices';

export const invoicingRoutes = [
  route({
    method: 'GET',
    path: '/invoices',
    summary: 'List invoices',
    tag,
    query: pageQuery({
      status: textFilter,
      type: textFilter,
      customerId: textFilter,
      subscriptionId: textFilter,
      purchaseId: textFilter,
      billingPeriodId: textFilter,
    }),
    returns: pageOf(Invoice),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listInvoices(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/invoices/{id}',
    summary: 'Get an invoice with its lines',
    tag,
    params: z.object({ id: InvoiceId }),
    returns: z.object({ invoice: Invoice, invoiceLineItems: z.array(InvoiceLineItem) }),
    refuses: ['invoiceNotFound'],
    handle: (work, { params }) => getInvoice(work, params.id),
  }),
  route({
    method: 'GET',
    path: '/invoices/{id}/explain',
    summary: 'Explain the amounts of an invoice',
    description:
      'What every line, the discount and the tax were reckoned from, with the exact value before each rounding: the answer alone is enough to reckon every amount again.',
    tag,
    params: z.object({ id: InvoiceId }),
    returns: InvoiceExplanation,
    refuses: ['invoiceNotFound'],
    handle: (work, { params }) => getExplanation(work, params.id),
  }),
  route({
    method: 'GET',
    path: '/invoice-line-items',
    summary: 'List the lines of invoices',
    tag,
    query: pageQuery({ invoiceId: textFilter, type: textFilter, priceId: textFilter }),
    returns: pageOf(InvoiceLineItem),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listInvoiceLineItems(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/invoice-line-items/{id}',
    summary: 'Get a line of an invoice',
    tag,
    params: z.object({ id: InvoiceLineItemId }),
    returns: InvoiceLineItem,
    refuses: ['invoiceLineItemNotFound'],
    handle: (work, { params }) => getInvoiceLineItem(work, params.id),
  }),
];
