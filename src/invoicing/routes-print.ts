import { z } from 'zod';
import { route } from '../platform/route.ts';
import { getDocument } from './actions-explain.ts';
import { invoicePdf } from './actions-pdf.ts';
import { InvoiceId } from './invoice.ts';
import type { InvoiceDocument } from './invoice-document.ts';
import { invoicePage } from './invoice-page.ts';

const tag = 'Invoices';
const params = z.object({ id: InvoiceId });
const returns = z.custom<InvoiceDocument>();

export const printRoutes = [
  route({
    method: 'GET',
    path: '/invoices/{id}/html',
    summary: 'Show an invoice as a page to print',
    tag,
    params,
    returns,
    refuses: ['invoiceNotFound'],
    handle: (work, { params }) => getDocument(work, params.id),
    file: { contentType: 'text/html; charset=utf-8', render: invoicePage },
  }),
  route({
    method: 'GET',
    path: '/invoices/{id}/pdf',
    summary: 'Get an invoice as PDF',
    tag,
    params,
    returns,
    refuses: ['invoiceNotFound'],
    handle: (work, { params }) => getDocument(work, params.id),
    file: { contentType: 'application/pdf', render: invoicePdf },
  }),
];
