import { z } from 'zod';
import { route } from '../http/route.ts';
import {
  booleanFilter,
  createdFilters,
  customerFilters,
  pageOf,
  pageQuery,
  pageRequest,
  textFilter,
} from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { createProcessors } from '../payments/actions.ts';
import {
  attachPaymentMethod,
  getPaymentMethod,
  listPaymentMethods,
  lockPayer,
  reportAttachment,
} from '../payments/actions-attach.ts';
import { attachAsAttempt, reportAsAttempt } from '../payments/actions-attempts.ts';
import { deletePaymentMethod, updatePaymentMethod } from '../payments/actions-change-method.ts';
import { NewPaymentMethod, PaymentMethod, PaymentMethodChange, PaymentMethodId } from '../payments/payment-method.ts';

const tag = 'Payment methods';

export const paymentMethodRoutes = [
  route({
    method: 'GET',
    path: '/payment-methods',
    cell: 'all',
    merged: 'asc',
    needs: 'payment-methods:read',
    summary: 'List payment methods',
    description: 'Returns the payment methods of customers, optionally of one customer.',
    tag,
    query: pageQuery({ ...customerFilters, type: textFilter, default: booleanFilter, ...createdFilters }),
    returns: pageOf(PaymentMethod),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listPaymentMethods(work, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/payment-methods',
    cell: 'customer',
    needs: 'payment-methods:write',
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
      'tooManyAttempts',
    ],
    handle: async (work, { body, query }, { services }) => {
      const processor = createProcessors(work.db, services).defaultIn(work);
      const { id } = await lockPayer(work, body.paymentMethod, query.pricingModelId);
      const paymentMethod = await attachAsAttempt(work, services, id, () =>
        attachPaymentMethod(work, processor, body.paymentMethod, query.pricingModelId),
      );
      return paymentMethod instanceof Problem ? paymentMethod : { paymentMethod };
    },
    afterEffects: async (work, answer, { services }) => {
      const { customerId } = answer.paymentMethod;
      const paymentMethod = await reportAsAttempt(work, services, customerId, () =>
        reportAttachment(work, answer.paymentMethod),
      );
      return paymentMethod instanceof Problem ? paymentMethod : { paymentMethod };
    },
  }),
  route({
    method: 'GET',
    path: '/payment-methods/{id}',
    cell: 'id',
    needs: 'payment-methods:read',
    summary: 'Get a payment method',
    description: 'Returns one payment method with its type and the details of the card or account.',
    tag,
    params: z.object({ id: PaymentMethodId }),
    returns: z.object({ paymentMethod: PaymentMethod }),
    refuses: ['paymentMethodNotFound'],
    handle: async (work, { params }) => ({ paymentMethod: await getPaymentMethod(work, params.id) }),
  }),
  route({
    method: 'PUT',
    path: '/payment-methods/{id}',
    cell: 'id',
    needs: 'payment-methods:write',
    summary: 'Update a payment method',
    description:
      'Changes the billing details or metadata of a payment method, or makes it the default of its customer. Number ' +
      'and expiry are known to the processor: attach the card again to renew them.',
    tag,
    params: z.object({ id: PaymentMethodId }),
    body: z.object({ paymentMethod: PaymentMethodChange }),
    returns: z.object({ paymentMethod: PaymentMethod }),
    refuses: ['paymentMethodNotFound', 'idMismatch'],
    handle: async (work, { params, body }) => ({
      paymentMethod: await updatePaymentMethod(work, params.id, body.paymentMethod),
    }),
  }),
  route({
    method: 'DELETE',
    path: '/payment-methods/{id}',
    cell: 'id',
    needs: 'payment-methods:write',
    summary: 'Delete a payment method',
    description:
      'Deletes a payment method, here and at the processor. The oldest other one becomes the default if it was that. ' +
      'One that a running subscription names is refused with 409: name another one there first. So is one with a payment ' +
      'in flight.',
    tag,
    params: z.object({ id: PaymentMethodId }),
    returns: z.object({
      paymentMethod: PaymentMethod,
      defaultPaymentMethodId: z
        .string()
        .nullable()
        .meta({ description: 'The default payment method of the customer now; null if none is left.' }),
    }),
    refuses: ['paymentMethodNotFound', 'paymentMethodInUse', 'paymentMethodBeingCharged'],
    handle: (work, { params }) => deletePaymentMethod(work, params.id),
  }),
];
