import { z } from 'zod';
import { ExternalId } from '../customers/customer.ts';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { encryptionOf } from '../platform/encryption.ts';
import { route } from '../platform/route.ts';
import { createPortalSession } from './actions-portal.ts';
import { createCheckoutSession, getCheckoutSession, listCheckoutSessions } from './actions-sessions.ts';
import { CheckoutSession, CheckoutSessionId } from './checkout.ts';
import { NewCheckoutSession } from './checkout-input.ts';
import { NewPortalSession, PortalSession } from './portal-session.ts';

const tag = 'Checkout';
const returns = z.object({ checkoutSession: CheckoutSession, url: z.string().meta({ format: 'uri' }) });
const pricingModelQuery = z.object({
  pricingModelId: textFilter.meta({ description: 'Needed only when several pricing models have this external id.' }),
});

export const checkoutRoutes = [
  route({
    method: 'GET',
    path: '/checkout-sessions',
    summary: 'List checkout sessions',
    tag,
    query: pageQuery({
      customerId: textFilter,
      priceId: textFilter,
      pricingModelId: textFilter,
      type: textFilter,
      status: textFilter,
    }),
    returns: pageOf(CheckoutSession),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listCheckoutSessions(work, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/checkout-sessions',
    summary: 'Make a checkout session',
    description:
      'Send the buyer to `url`: a page on which it pays for a product, activates a subscription that waits for its first payment, or adds a payment method. From there it goes to successUrl or cancelUrl. Who has the link may pay; it is good for 24 hours.',
    tag,
    query: pricingModelQuery,
    body: z.object({ checkoutSession: NewCheckoutSession }),
    returns,
    refuses: [
      'customerNotFound',
      'externalIdAmbiguous',
      'priceNotFound',
      'priceInactive',
      'defaultPricingModelNotFound',
      'subscriptionNotFound',
    ],
    handle: (work, { body, query }, { outside }) =>
      createCheckoutSession(work, encryptionOf(outside), body.checkoutSession, query.pricingModelId),
    // The link opens what it leads to, and the database is not to know it.
    sealedWith: ({ outside }) => encryptionOf(outside),
  }),
  route({
    method: 'GET',
    path: '/checkout-sessions/{id}',
    summary: 'Get a checkout session',
    tag,
    params: z.object({ id: CheckoutSessionId }),
    returns,
    refuses: ['checkoutSessionNotFound'],
    handle: (work, { params }, { outside }) => getCheckoutSession(work, encryptionOf(outside), params.id),
  }),
  route({
    method: 'POST',
    path: '/customers/{externalId}/portal-sessions',
    summary: 'Make a link to the customer portal',
    description:
      'Behind `url` the customer sees its plan, invoices, usage and payment methods, and may change them. Make one when the customer asks for it: who has the link acts as the customer until it expires.',
    tag,
    params: z.object({ externalId: ExternalId }),
    query: pricingModelQuery,
    body: z.object({ portalSession: NewPortalSession.optional() }),
    returns: z.object({ portalSession: PortalSession }),
    refuses: ['customerNotFound', 'externalIdAmbiguous'],
    handle: async (work, { params, query, body }, { outside }) => ({
      portalSession: await createPortalSession(
        work,
        encryptionOf(outside),
        params.externalId,
        body.portalSession ?? {},
        query.pricingModelId,
      ),
    }),
    sealedWith: ({ outside }) => encryptionOf(outside),
  }),
];
