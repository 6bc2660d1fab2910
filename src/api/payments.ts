import { z } from 'zod';
import { route } from '../http/route.ts';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { getPayment, listPayments } from '../payments/actions.ts';
import { refundPayment, reportRefund } from '../payments/actions-refund.ts';
import { Payment, PaymentId } from '../payments/payment.ts';

const tag = 'Payments';

// Accepts any number, so that the refusal of a wrong one can state the refundable amount.
const PartialAmount = z
  .preprocess(
    (value) => (typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value),
    z.number().nullish(),
  )
  .meta({
    description: 'In the smallest unit of the currency, at most what remains of the payment; all of it when absent.',
    override: { type: ['integer', 'null'], minimum: 1 },
  });

export const paymentRoutes = [
  route({
    method: 'GET',
    path: '/payments',
    summary: 'List payments',
    tag,
    query: pageQuery({
      status: textFilter,
      customerId: textFilter,
      subscriptionId: textFilter,
      invoiceId: textFilter,
      paymentMethodId: textFilter,
    }),
    returns: pageOf(Payment),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listPayments(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/payments/{id}',
    summary: 'Get a payment',
    tag,
    params: z.object({ id: PaymentId }),
    returns: z.object({ payment: Payment }),
    refuses: ['paymentNotFound'],
    handle: async (work, { params }) => ({ payment: await getPayment(work, params.id) }),
  }),
  route({
    method: 'POST',
    path: '/payments/{id}/refund',
    summary: 'Refund a payment, in part or whole',
    description: 'Refunds of one payment never exceed it, however many are asked for at once.',
    tag,
    params: z.object({ id: PaymentId }),
    body: z.object({ partialAmount: PartialAmount }),
    returns: z.object({ payment: Payment }),
    refuses: [
      'paymentNotFound',
      'paymentAlreadyRefunded',
      'paymentNotRefundable',
      'refundUnderWay',
      'refundFailed',
      'processorUnavailable',
    ],
    handle: (work, { params, body }) => refundPayment(work, params.id, body.partialAmount ?? null),
    afterEffects: (work, answer) => reportRefund(work, answer),
  }),
];
