import { z } from 'zod';
import { takeBackInvoice, writeOffInvoice } from '../billing/close-invoice.ts';
import { recordPayment } from '../billing/record-payment.ts';
import { previewUpcomingInvoice } from '../billing/upcoming-invoice.ts';
import { route } from '../http/route.ts';
import { getInvoice, listInvoices, renderInvoice } from '../invoicing/actions.ts';
import { getDocument, getExplanation } from '../invoicing/actions-explain.ts';
import { invoicePdf } from '../invoicing/actions-pdf.ts';
import { Invoice, InvoiceId, maxInvoiceTotal, UpcomingInvoice } from '../invoicing/invoice.ts';
import type { InvoiceDocument } from '../invoicing/invoice-document.ts';
import { InvoiceExplanation } from '../invoicing/invoice-explanation.ts';
import { InvoiceLineItem, UpcomingInvoiceLineItem } from '../invoicing/invoice-line-item.ts';
import { invoicePage } from '../invoicing/invoice-page.ts';
import { amountInput, FreeText, SafeString, TimestampInput } from '../kernel/json.ts';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { renderPayment } from '../payments/actions.ts';
import { Payment } from '../payments/payment.ts';
import { PaymentMethodType } from '../payments/payment-method.ts';
import { SubscriptionId } from '../subscriptions/subscription.ts';

const tag = 'Invoices';

const params = z.object({ id: InvoiceId });

const MoneyReceived = z
  .object({
    amount: amountInput(1, Number(maxInvoiceTotal))
      .nullish()
      .meta({ description: 'In the smallest unit of the currency, at most what is due; all of it when absent.' }),
    paidAt: TimestampInput.nullish().meta({ description: 'When the money arrived; now when absent.' }),
    paymentMethodType: PaymentMethodType.nullish().meta({ description: 'A bank transfer when absent.' }),
    description: FreeText.nullish(),
    reference: SafeString.nullish().meta({ description: 'What the payer or the bank calls the payment.' }),
  })
  .meta({ id: 'MoneyReceived' });

const printed = z.custom<InvoiceDocument>();

export const invoiceRoutes = [
  route({
    method: 'GET',
    path: '/invoices/upcoming',
    summary: 'Show the next invoice of a subscription',
    description:
      "What the subscription's next renewal would ask for if it came now: the items of the next period and the usage until now. It has no id, number and billing period yet, and one without lines is never made. Where no renewal follows, it is refused.",
    tag,
    query: z.object({ subscriptionId: SubscriptionId }),
    returns: z.object({ invoice: UpcomingInvoice, invoiceLineItems: z.array(UpcomingInvoiceLineItem) }),
    refuses: ['subscriptionNotFound', 'noUpcomingInvoice'],
    handle: (work, { query }) => previewUpcomingInvoice(work, query.subscriptionId),
  }),
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
    params,
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
    params,
    returns: InvoiceExplanation,
    refuses: ['invoiceNotFound'],
    handle: (work, { params }) => getExplanation(work, params.id),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/void',
    summary: 'Make an open invoice void',
    description: 'As though it had never been made: the usage on it is billed again with the next invoice.',
    tag,
    params,
    returns: z.object({ invoice: Invoice }),
    refuses: ['invoiceNotFound', 'invoiceStatusForbids', 'invoiceAlreadyBeingPaid', 'invoicePartlyPaid'],
    handle: async (work, input) => ({ invoice: renderInvoice(work, await takeBackInvoice(work, input.params.id)) }),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/mark-uncollectible',
    summary: 'Write an open invoice off',
    description: 'Nobody expects the money any more; what the invoice bills stays billed.',
    tag,
    params,
    returns: z.object({ invoice: Invoice }),
    refuses: ['invoiceNotFound', 'invoiceStatusForbids', 'invoiceAlreadyBeingPaid'],
    handle: async (work, input) => ({ invoice: renderInvoice(work, await writeOffInvoice(work, input.params.id)) }),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/record-payment',
    summary: 'Record money that arrived outside of every processor',
    description:
      'Of an open invoice, a part of what is due or all of it. Send an Idempotency-Key, so that a repeat records nothing twice.',
    tag,
    params,
    body: z.object({ payment: MoneyReceived.nullish() }),
    returns: z.object({ invoice: Invoice, payment: Payment }),
    refuses: ['invoiceNotFound', 'invoiceNotOpen', 'invoiceAlreadyBeingPaid'],
    handle: async (work, input) => {
      const { invoice, payment } = await recordPayment(work, input.params.id, input.body.payment ?? {});
      return { invoice: renderInvoice(work, invoice), payment: renderPayment(work, payment) };
    },
  }),
  route({
    method: 'GET',
    path: '/invoices/{id}/html',
    summary: 'Show an invoice as a page to print',
    tag,
    params,
    returns: printed,
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
    returns: printed,
    refuses: ['invoiceNotFound'],
    handle: (work, { params }) => getDocument(work, params.id),
    file: { contentType: 'application/pdf', render: invoicePdf },
  }),
];
