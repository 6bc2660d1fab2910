import { z } from 'zod';
import { createCheckoutSession, getCheckoutSession, listCheckoutSessions } from '../checkout/actions-sessions.ts';
import { CheckoutSession, CheckoutSessionId, CheckoutStatus, CheckoutType } from '../checkout/checkout.ts';
import { NewCheckoutSession } from '../checkout/checkout-input.ts';
import { route } from '../http/route.ts';
import { encryptionOf } from '../jobs/encryption.ts';
import { createdFilters, customerFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';

const tag = 'Checkout';

const returns = z.object({ checkoutSession: CheckoutSession, url: z.string().meta({ format: 'uri' }) });

const pricingModelQuery = z.object({
  pricingModelId: textFilter.meta({ description: 'Required only if several pricing models have this external id.' }),
});

export const checkoutSessionRoutes = [
  route({
    method: 'GET',
    path: '/checkout-sessions',
    cell: 'all',
    merged: 'asc',
    needs: 'checkout-sessions:read',
    summary: 'List checkout sessions',
    description: 'Returns the checkout sessions of the environment, optionally of one customer, price, type or status.',
    tag,
    query: pageQuery({
      ...customerFilters,
      priceId: textFilter,
      pricingModelId: textFilter,
      type: CheckoutType.optional(),
      status: CheckoutStatus.optional(),
      ...createdFilters,
    }),
    returns: pageOf(CheckoutSession),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listCheckoutSessions(work, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/checkout-sessions',
    cell: 'customer',
    needs: 'checkout-sessions:write',
    summary: 'Create a checkout session',
    description:
      'Returns a `url` to send the buyer to: a page to pay for a product, activate a subscription, or add a ' +
      'payment method. The page leads on to `successUrl` or `cancelUrl`. The link is valid for 24 hours, and ' +
      'anyone who has it may pay.',
    tag,
    query: pricingModelQuery,
    body: z.object({ checkoutSession: NewCheckoutSession }),
    returns,
    refuses: [
      'customerNotFound',
      'customerArchived',
      'externalIdAmbiguous',
      'priceNotFound',
      'priceInactive',
      'discountAlreadyUsed',
      'defaultPricingModelNotFound',
      'subscriptionNotFound',
    ],
    handle: (work, { body, query }, { services }) =>
      createCheckoutSession(work, encryptionOf(services), body.checkoutSession, query.pricingModelId),
    // The link opens what it leads to, and the database is not to know it.
    sealedWith: ({ services }) => encryptionOf(services),
  }),
  route({
    method: 'GET',
    path: '/checkout-sessions/{id}',
    cell: 'id',
    needs: 'checkout-sessions:read',
    summary: 'Get a checkout session',
    description: 'Returns one checkout session and its link.',
    tag,
    params: z.object({ id: CheckoutSessionId }),
    returns,
    refuses: ['checkoutSessionNotFound'],
    handle: (work, { params }, { services }) => getCheckoutSession(work, encryptionOf(services), params.id),
  }),
];
