import { z } from 'zod';
import { route } from '../http/route.ts';
import { booleanFilter, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { createProcessors } from '../payments/actions.ts';
import {
  attachPaymentMethod,
  getPaymentMethod,
  listPaymentMethods,
  reportAttachment,
} from '../payments/actions-attach.ts';
import { NewPaymentMethod, PaymentMethod, PaymentMethodId } from '../payments/payment-method.ts';

const tag = 'Payment methods';

export const paymentMethodRoutes = [
  route({
    method: 'GET',
    path: '/payment-methods',
    summary: 'List payment methods',
    description: 'Returns the payment methods of customers, optionally of one customer.',
    tag,
    query: pageQuery({ customerId: textFilter, type: textFilter, default: booleanFilter }),
    returns: pageOf(PaymentMethod),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listPaymentMethods(work, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/payment-methods',
    summary: 'Attach a payment method',
    description:
      'Attaches a payment method to a customer, whose first one becomes the default. A method that is declined ' +
      'is refused with 402. In test mode, `token` is a test token of Stripe, such as `pm_card_visa` or ' +
      '`pm_card_chargeCustomerFail`. With Stripe, it is the id of a payment method there.',
    tag,
    query: z.object({
      pricingModelId: textFilter.meta({
        description: 'Required only if several pricing models have this `customerExternalId`.',
      }),
    }),
    body: z.object({ paymentMethod: NewPaymentMethod }),
    returns: z.object({ paymentMethod: PaymentMethod }),
    refuses: [
      'customerNotFound',
      'customerArchived',
      'externalIdAmbiguous',
      'paymentMethodDeclined',
      'processorTakesNoPaymentMethods',
      'processorUnavailable',
    ],
    handle: async (work, { body, query }, { services }) => ({
      paymentMethod: await attachPaymentMethod(
        work,
        createProcessors(work.db, services).defaultIn(work),
        body.paymentMethod,
        query.pricingModelId,
      ),
    }),
    afterEffects: async (work, { paymentMethod }) => ({ paymentMethod: await reportAttachment(work, paymentMethod) }),
  }),
  route({
    method: 'GET',
    path: '/payment-methods/{id}',
    summary: 'Get a payment method',
    description: 'Returns one payment method with its type and the details of the card or account.',
    tag,
    params: z.object({ id: PaymentMethodId }),
    returns: z.object({ paymentMethod: PaymentMethod }),
    refuses: ['paymentMethodNotFound'],
    handle: async (work, { params }) => ({ paymentMethod: await getPaymentMethod(work, params.id) }),
  }),
];
