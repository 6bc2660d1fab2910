import { z } from 'zod';
import {
  creditInvoice,
  finalizeInvoice,
  payInvoice,
  type RecordedPayment,
  recordPayment,
  reportCreditNote,
  reportPaid,
  takeBackInvoice,
  writeOffInvoice,
} from '../billing/collect-by-hand.ts';
import { previewUpcomingInvoice } from '../billing/upcoming-invoice.ts';
import { CreditNoteInput, CreditNoteWithLines } from '../credit-notes/credit-note.ts';
import type { Work } from '../database/work.ts';
import { route } from '../http/route.ts';
import { getExplanation, getInvoice, listInvoices, renderInvoice } from '../invoicing/actions.ts';
import { getDocument } from '../invoicing/actions-document.ts';
import {
  addLines,
  changeDraft,
  createDraft,
  readInvoice,
  removeDraft,
  removeLine,
  sendInvoice,
} from '../invoicing/actions-drafts.ts';
import { Invoice, InvoiceId, InvoiceStatus, maxInvoiceTotal, UpcomingInvoice } from '../invoicing/invoice.ts';
import { InvoiceExplanation } from '../invoicing/invoice-explanation.ts';
import { InvoiceLineItem, InvoiceLineItemId, UpcomingInvoiceLineItem } from '../invoicing/invoice-line-item.ts';
import { DraftChange, OneOffInvoice, WrittenLines } from '../invoicing/one-off.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import { amountInput, freeText, SafeString, TimestampInput } from '../kernel/json.ts';
import {
  booleanFilter,
  createdFilters,
  customerFilters,
  metadataFilter,
  pageOf,
  pageQuery,
  pageRequest,
  textFilter,
} from '../kernel/pagination.ts';
import { renderPayment } from '../payments/actions.ts';
import { getReceiptOfInvoice } from '../payments/actions-receipt.ts';
import { Payment } from '../payments/payment.ts';
import { PaymentMethodType } from '../payments/payment-method.ts';
import { SubscriptionId } from '../subscriptions/subscription.ts';
import { documentRoutes } from './document-routes.ts';

const tag = 'Invoices';

const params = z.object({ id: InvoiceId });
const InvoiceWithLines = z.object({ invoice: Invoice, invoiceLineItems: z.array(InvoiceLineItem) });

const MoneyReceived = z
  .object({
    amount: amountInput(1, Number(maxInvoiceTotal)).nullish().meta({
      description:
        'The amount received, in the smallest unit of the currency. At most the amount due, which is the default.',
    }),
    paidAt: TimestampInput.nullish().meta({ description: 'The time at which the money arrived, by default now.' }),
    paymentMethodType: PaymentMethodType.nullish().meta({ description: 'By default a bank transfer.' }),
    description: freeText('description').nullish(),
    reference: SafeString.nullish().meta({ description: 'The reference of the payer or the bank.' }),
  })
  .meta({ id: 'MoneyReceived' });

function renderPaid(work: Work, { invoice, payment }: RecordedPayment) {
  return { invoice: renderInvoice(work, invoice), payment: renderPayment(work, payment) };
}

export const invoiceRoutes = [
  route({
    method: 'GET',
    path: '/invoices/upcoming',
    cell: 'customer',
    needs: 'invoices:read',
    summary: 'Preview the next invoice of a subscription',
    description:
      'Returns the next invoice as it would be now: that of usage by an interval of its own, of a scheduled end, or of a ' +
      'renewal with the items of the next period. It has no id, number or billing period. If none will follow, the ' +
      'request is refused with 400.',
    tag,
    query: z.object({ subscriptionId: SubscriptionId }),
    returns: z.object({ invoice: UpcomingInvoice, invoiceLineItems: z.array(UpcomingInvoiceLineItem) }),
    refuses: ['subscriptionNotFound', 'noUpcomingInvoice'],
    handle: (work, { query }) => previewUpcomingInvoice(work, query.subscriptionId),
  }),
  route({
    method: 'GET',
    path: '/invoices',
    cell: 'all',
    merged: 'asc',
    needs: 'invoices:read',
    summary: 'List invoices',
    description:
      'Returns the invoices of the environment, optionally of one customer, subscription, purchase, type, ' +
      'status or number, or those that are past due.',
    tag,
    query: pageQuery({
      status: InvoiceStatus.optional(),
      type: textFilter,
      ...customerFilters,
      subscriptionId: textFilter,
      purchaseId: textFilter,
      billingPeriodId: textFilter,
      consolidatedInvoiceId: textFilter.meta({
        description: 'The parts of this consolidated invoice, one for each subscription. No other list has them.',
      }),
      invoiceNumber: textFilter,
      pastDue: booleanFilter.meta({
        description:
          'Invoices that are owed, and whose due date is past or of which a charge has failed; or the others.',
      }),
      metadata: metadataFilter,
      ...createdFilters,
    }),
    returns: pageOf(Invoice),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listInvoices(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/invoices/{id}',
    cell: 'id',
    needs: 'invoices:read',
    summary: 'Get an invoice',
    description:
      'Returns one invoice with its lines and, once it is finalized, `hostedInvoiceUrl`: the page on which it is paid.',
    tag,
    params,
    returns: InvoiceWithLines,
    refuses: ['invoiceNotFound'],
    handle: (work, { params }, { services }) => readInvoice(work, encryptionOf(services), params.id),
  }),
  route({
    method: 'POST',
    path: '/invoices',
    cell: 'customer',
    needs: 'invoices:money',
    summary: 'Write an invoice',
    description:
      'Writes a one-off invoice as a draft, with lines at amounts of their own or at prices. A draft has no number, and ' +
      'the customer does not see it. Its amounts are those of now: tax, seller and buyer are taken again when it is finalized.',
    tag,
    query: z.object({
      pricingModelId: textFilter.meta({
        description: 'Required only if several pricing models have this `customerExternalId`.',
      }),
    }),
    body: z.object({ invoice: OneOffInvoice }),
    returns: InvoiceWithLines,
    refuses: [
      'customerNotFound',
      'customerArchived',
      'externalIdAmbiguous',
      'priceNotFound',
      'priceInactive',
      'discountAlreadyUsed',
      'invoiceTooLarge',
    ],
    handle: (work, { query, body }) => createDraft(work, body.invoice, query.pricingModelId),
  }),
  route({
    method: 'PUT',
    path: '/invoices/{id}',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Change a draft',
    description:
      'Changes a draft. Absent fields keep their value, null removes one, and `lines` replaces all lines. Of a finalized ' +
      'invoice only `metadata` changes, if it is sent alone.',
    tag,
    params,
    body: z.object({ invoice: DraftChange }),
    returns: InvoiceWithLines,
    refuses: [
      'invoiceNotFound',
      'idMismatch',
      'invoiceStatusForbids',
      'customerArchived',
      'priceNotFound',
      'priceInactive',
      'discountAlreadyUsed',
      'invoiceTooLarge',
    ],
    handle: (work, input) => changeDraft(work, input.params.id, input.body.invoice),
  }),
  route({
    method: 'DELETE',
    path: '/invoices/{id}',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Delete a draft',
    description: 'Deletes a draft with its lines, and returns its last values. A finalized invoice is voided instead.',
    tag,
    params,
    returns: z.object({ invoice: Invoice }),
    refuses: ['invoiceNotFound', 'invoiceStatusForbids'],
    handle: async (work, input) => ({ invoice: await removeDraft(work, input.params.id) }),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/lines',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Add lines to a draft',
    description: 'Adds lines to a draft. Discount and tax are computed again for all of it.',
    tag,
    params,
    body: z.object({ lines: WrittenLines.min(1) }),
    returns: InvoiceWithLines,
    refuses: ['invoiceNotFound', 'invoiceStatusForbids', 'priceNotFound', 'priceInactive', 'invoiceTooLarge'],
    handle: (work, input) => addLines(work, input.params.id, input.body.lines),
  }),
  route({
    method: 'DELETE',
    path: '/invoices/{id}/lines/{lineId}',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Take a line off a draft',
    description: 'Deletes a line of a draft. Discount and tax are computed again for the rest.',
    tag,
    params: params.extend({ lineId: InvoiceLineItemId }),
    returns: InvoiceWithLines,
    refuses: ['invoiceNotFound', 'invoiceLineItemNotFound', 'invoiceStatusForbids'],
    handle: (work, input) => removeLine(work, input.params.id, input.params.lineId),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/finalize',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Finalize a draft',
    description:
      'Gives a draft its number and its due date. The balance of its customer pays what it can, and `autoCollect` charges ' +
      'the rest before the answer; a declined charge leaves the invoice open. A repeat returns the invoice unchanged.',
    tag,
    params,
    returns: InvoiceWithLines,
    refuses: ['processorUnavailable', 'invoiceNotFound', 'draftHasNoLines', 'invoiceTooLarge'],
    handle: (work, input) => finalizeInvoice(work, input.params.id),
    afterEffects: (work, { invoice }) => getInvoice(work, invoice.id),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/send',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Send an invoice',
    description:
      'Marks an invoice as sent to its customer, publishes `invoice.sent`, and returns `hostedInvoiceUrl`, the page on ' +
      'which it is paid. Finalize a draft before.',
    tag,
    params,
    returns: z.object({ invoice: Invoice }),
    refuses: ['invoiceNotFound', 'invoiceIsPart', 'invoiceStatusForbids'],
    handle: async (work, input, { services }) => ({
      invoice: await sendInvoice(work, encryptionOf(services), input.params.id),
    }),
    // The link lets its holder pay, and the database is not to know it.
    sealedWith: ({ services }) => encryptionOf(services),
  }),
  route({
    method: 'GET',
    path: '/invoices/{id}/explain',
    cell: 'id',
    needs: 'invoices:read',
    summary: 'Explain an invoice',
    description:
      'Returns the inputs of each line, the discount and the tax, with the exact value before each rounding. ' +
      'Every amount can be computed again from the answer.',
    tag,
    params,
    returns: InvoiceExplanation,
    refuses: ['invoiceNotFound'],
    handle: (work, { params }) => getExplanation(work, params.id),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/void',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Void an invoice',
    description:
      'Takes back an open invoice, and its usage is billed with the next one. An invoice that is paid in part ' +
      'or has a payment in progress is refused.',
    tag,
    params,
    returns: z.object({ invoice: Invoice }),
    refuses: [
      'invoiceNotFound',
      'invoiceIsPart',
      'invoiceStatusForbids',
      'invoiceAlreadyBeingPaid',
      'invoicePartlyPaid',
    ],
    handle: async (work, input) => ({ invoice: renderInvoice(work, await takeBackInvoice(work, input.params.id)) }),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/mark-uncollectible',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Write off an invoice',
    description: 'Marks an open invoice as uncollectible, so that no payment is attempted. Its usage stays billed.',
    tag,
    params,
    returns: z.object({ invoice: Invoice }),
    refuses: ['invoiceNotFound', 'invoiceIsPart', 'invoiceStatusForbids', 'invoiceAlreadyBeingPaid'],
    handle: async (work, input) => ({ invoice: renderInvoice(work, await writeOffInvoice(work, input.params.id)) }),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/record-payment',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Record a payment from outside',
    description:
      'Records money that arrived by bank transfer or in cash for an open invoice, in part or in full. Returns ' +
      'the invoice and the payment. Send an `Idempotency-Key`, so that a repeat is not recorded twice.',
    tag,
    params,
    body: z.object({ payment: MoneyReceived.nullish() }),
    returns: z.object({ invoice: Invoice, payment: Payment }),
    refuses: ['invoiceNotFound', 'invoiceIsPart', 'invoiceNotOpen', 'invoiceAlreadyBeingPaid'],
    handle: async (work, input) =>
      renderPaid(work, await recordPayment(work, input.params.id, input.body.payment ?? {})),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/pay',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Pay an invoice',
    description:
      'Charges the amount due on an open invoice before the answer, also after its subscription has ended. A ' +
      'failed charge is answered with 402, and the invoice stays open. From the due date on it counts as an ' +
      'attempt. A charge that takes longer is returned in its present status.',
    tag,
    params,
    body: z.object({
      paymentMethodId: z
        .string()
        .min(1)
        .max(255)
        .nullish()
        .meta({ description: "The payment method to charge, by default the customer's." }),
    }),
    returns: z.object({ invoice: Invoice, payment: Payment }),
    refuses: [
      'processorUnavailable',
      'invoiceNotFound',
      'invoiceIsPart',
      'invoiceNotOpen',
      'invoiceAlreadyBeingPaid',
      'paymentFailed',
    ],
    handle: async (work, input) =>
      renderPaid(work, await payInvoice(work, input.params.id, input.body.paymentMethodId ?? null)),
    afterEffects: async (work, answer) => renderPaid(work, await reportPaid(work, answer)),
  }),
  route({
    method: 'POST',
    path: '/invoices/{id}/credit-notes',
    cell: 'id',
    needs: 'invoices:money',
    summary: 'Credit an invoice',
    description:
      'Takes back part of an invoice by a credit note: an amount or a quantity of each named line, with its shares of ' +
      'discount and tax. Credit notes never exceed a line, even if requested in parallel. `settle` decides: a `refund` ' +
      'returns money of one payment of the invoice, an `offset` lowers the amount due. A refund that fails voids its ' +
      'credit note. With `dryRun=true` this is the preview.',
    tag: 'Credit notes',
    params,
    body: z.object({ creditNote: CreditNoteInput }),
    returns: CreditNoteWithLines,
    refuses: [
      'invoiceNotFound',
      'invoiceIsPart',
      'invoiceNotCreditable',
      'invoiceAlreadyBeingPaid',
      'refundFailed',
      'processorUnavailable',
    ],
    handle: (work, input) => creditInvoice(work, input.params.id, input.body.creditNote),
    afterEffects: (work, answer) => reportCreditNote(work, answer),
  }),
  ...documentRoutes({
    path: '/invoices',
    needs: 'invoices:read',
    tag,
    named: 'an invoice',
    whole: 'the invoice',
    id: InvoiceId,
    refuses: ['invoiceNotFound'],
    print: getDocument,
  }),
  ...documentRoutes({
    path: '/invoices',
    part: '/receipt',
    needs: 'invoices:read',
    tag,
    named: 'the receipt of an invoice',
    whole: 'the receipt of the last payment of an invoice',
    id: InvoiceId,
    refuses: ['invoiceNotFound', 'invoiceHasNoReceipt'],
    print: getReceiptOfInvoice,
  }),
];
