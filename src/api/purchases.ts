import { z } from 'zod';
import { readSold, sell } from '../billing/buy.ts';
import { route } from '../http/route.ts';
import { createdFilters, customerFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { endProgramAttempt, takeProgramAttempt } from '../payments/actions-attempts.ts';
import { getPurchase, listPurchases } from '../purchases/actions.ts';
import { NewPurchase, Purchase, PurchaseId, PurchaseStatus } from '../purchases/purchase.ts';

const tag = 'Purchases';

export const purchaseRoutes = [
  route({
    method: 'GET',
    path: '/purchases',
    cell: 'all',
    merged: 'asc',
    needs: 'purchases:read',
    summary: 'List purchases',
    description: 'Returns each purchase, whatever its outcome.',
    tag,
    query: pageQuery({
      ...customerFilters,
      status: PurchaseStatus.optional(),
      priceId: textFilter,
      subscriptionId: textFilter,
      checkoutSessionId: textFilter,
      ...createdFilters,
    }),
    returns: pageOf(Purchase),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listPurchases(work, pageRequest(query)),
  }),
  route({
    method: 'POST',
    path: '/purchases',
    cell: 'customer',
    needs: 'purchases:write',
    summary: 'Create a purchase',
    description:
      'Sells a product to a customer on a saved payment method, in one call and without a page. What is due is ' +
      'charged before the answer. A declined charge is 402 with the reason and the failed `purchase`: nothing is ' +
      'bought, and a free plan goes on. Another request for the same price tries that purchase again. A purchase whose ' +
      'payment takes time is `pending`. With net terms a customer ' +
      'without a payment method is sent an invoice, and the purchase is `open` until it is paid.',
    tag,
    query: z.object({
      pricingModelId: textFilter.meta({
        description: 'Required only if several pricing models have this `customerExternalId`.',
      }),
    }),
    body: z.object({ purchase: NewPurchase }),
    returns: z.object({ purchase: Purchase }),
    refuses: [
      'processorUnavailable',
      'customerNotFound',
      'customerArchived',
      'externalIdAmbiguous',
      'priceNotFound',
      'priceInactive',
      'priceNotSold',
      'priceNotSubscribable',
      'currentSubscriptionExists',
      'nextSubscriptionTooEarly',
      'nextSubscriptionBooked',
      'discountAlreadyUsed',
      'nothingHoldsCredits',
      'purchaseNotPaid',
      'tooManyAttempts',
    ],
    handle: async (work, { body, query }, { services }) => {
      const purchase = await sell(work, body.purchase, query.pricingModelId);
      await takeProgramAttempt(work, services, purchase.customerId);
      return { purchase };
    },
    afterEffects: async (work, answer, { services }) => {
      const purchase = await readSold(work, answer.purchase);
      const { customerId, status } = purchase;
      await endProgramAttempt(work, services, { customerId, isPaid: status === 'paid' });
      return { purchase };
    },
  }),
  route({
    method: 'GET',
    path: '/purchases/{id}',
    cell: 'id',
    needs: 'purchases:read',
    summary: 'Get a purchase',
    description: 'Returns one purchase with its status and price.',
    tag,
    params: z.object({ id: PurchaseId }),
    returns: z.object({ purchase: Purchase }),
    refuses: ['purchaseNotFound'],
    handle: async (work, { params }) => ({ purchase: await getPurchase(work, params.id) }),
  }),
];
