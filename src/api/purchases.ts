import { z } from 'zod';
import { route } from '../http/route.ts';
import { pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { getPurchase, listPurchases } from '../purchases/actions.ts';
import { Purchase, PurchaseId } from '../purchases/purchase.ts';

const tag = 'Purchases';

export const purchaseRoutes = [
  route({
    method: 'GET',
    path: '/purchases',
    summary: 'List purchases',
    description: 'Returns each attempt to buy something, whatever its outcome.',
    tag,
    query: pageQuery({
      customerId: textFilter,
      status: textFilter,
      priceId: textFilter,
      subscriptionId: textFilter,
      checkoutSessionId: textFilter,
    }),
    returns: pageOf(Purchase),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listPurchases(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/purchases/{id}',
    summary: 'Get a purchase',
    description: 'Returns one purchase with its status and price.',
    tag,
    params: z.object({ id: PurchaseId }),
    returns: z.object({ purchase: Purchase }),
    refuses: ['purchaseNotFound'],
    handle: async (work, { params }) => ({ purchase: await getPurchase(work, params.id) }),
  }),
];
