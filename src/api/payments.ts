import { z } from 'zod';
import { refund } from '../billing/settle-payment.ts';
import { route } from '../http/route.ts';
import { createdFilters, customerFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { getPayment, listPayments } from '../payments/actions.ts';
import { getReceipt } from '../payments/actions-receipt.ts';
import { reportRefund } from '../payments/actions-refund.ts';
import { Payment, PaymentId, PaymentStatus } from '../payments/payment.ts';
import { RefundedCredit } from '../usage/actions-bought.ts';
import { documentRoutes } from './document-routes.ts';

const tag = 'Payments';

// Accepts any number, so that the refusal of a wrong one can state the refundable amount.
const PartialAmount = z
  .preprocess(
    (value) => (typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value),
    z.number().nullish(),
  )
  .meta({
    description:
      'The amount in the smallest unit of the currency, at most what remains of the payment. By default all that remains.',
    override: { type: ['integer', 'null'], minimum: 1 },
  });

export const paymentRoutes = [
  route({
    method: 'GET',
    path: '/payments',
    cell: 'all',
    merged: 'asc',
    needs: 'payments:read',
    summary: 'List payments',
    description:
      'Returns the payments of the environment, optionally of one customer, invoice, subscription or status.',
    tag,
    query: pageQuery({
      status: PaymentStatus.optional(),
      ...customerFilters,
      subscriptionId: textFilter,
      invoiceId: textFilter,
      purchaseId: textFilter,
      paymentMethodId: textFilter,
      ...createdFilters,
    }),
    returns: pageOf(Payment),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listPayments(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/payments/{id}',
    cell: 'id',
    needs: 'payments:read',
    summary: 'Get a payment',
    description: 'Returns one payment with its status and the amount refunded.',
    tag,
    params: z.object({ id: PaymentId }),
    returns: z.object({ payment: Payment }),
    refuses: ['paymentNotFound'],
    handle: async (work, { params }) => ({ payment: await getPayment(work, params.id) }),
  }),
  route({
    method: 'POST',
    path: '/payments/{id}/refund',
    cell: 'id',
    needs: 'payments:money',
    summary: 'Refund a payment',
    description:
      'Returns the money of a succeeded payment in full, or `partialAmount` of it. Refunds never exceed the ' +
      'payment, even if requested in parallel. A payment that is refunded already is refused with 400. Unused credits ' +
      'of a top-up are taken back in proportion to the refund, and `credits` says how many were used.',
    tag,
    params: z.object({ id: PaymentId }),
    body: z.object({ partialAmount: PartialAmount }),
    returns: z.object({
      payment: Payment,
      refundId: z.string(),
      credits: z
        .array(RefundedCredit)
        .meta({ description: 'The credits that the refunded payment bought, by usage meter.' }),
    }),
    refuses: [
      'paymentNotFound',
      'paymentAlreadyRefunded',
      'paymentNotRefundable',
      'refundInFlight',
      'refundFailed',
      'processorUnavailable',
    ],
    handle: (work, { params, body }) => refund(work, params.id, body.partialAmount ?? null),
    afterEffects: (work, answer) => reportRefund(work, answer),
  }),
  ...documentRoutes({
    path: '/payments',
    needs: 'payments:read',
    tag,
    named: 'a receipt',
    whole: 'the receipt of a payment',
    id: PaymentId,
    refuses: ['paymentNotFound', 'paymentHasNoReceipt'],
    print: getReceipt,
  }),
];
