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
    tag,
    query: pageQuery({ customerId: textFilter, type: textFilter, default: booleanFilter }),
    returns: pageOf(PaymentMethod),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listPaymentMethods(work, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/payment-methods',
    summary: 'Attach a payment method to a customer',
    description:
      "With the built-in test processor, `token` is one of Stripe's test tokens, such as `pm_card_visa` or `pm_card_chargeCustomerFail`. With Stripe it is the id of a payment method that Stripe's script made, or that was set up for the customer there.",
    tag,
    query: z.object({
      pricingModelId: textFilter.meta({
        description: 'Needed only when several pricing models have this customerExternalId.',
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
    tag,
    params: z.object({ id: PaymentMethodId }),
    returns: z.object({ paymentMethod: PaymentMethod }),
    refuses: ['paymentMethodNotFound'],
    handle: async (work, { params }) => ({ paymentMethod: await getPaymentMethod(work, params.id) }),
  }),
];
