import { z } from 'zod';
import { booleanFilter, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/page.ts';
import { route } from '../platform/route.ts';
import { DiscountId, normalizeCode, RedeemedDiscount } from '../pricing/discount.ts';
import { getDiscount, listDiscounts } from './actions-discounts.ts';

const tag = 'Discounts';

/** Here and not where discounts are made, because how often one was redeemed is told with it. */
export const redeemedDiscountRoutes = [
  route({
    method: 'GET',
    path: '/discounts',
    summary: 'List the discounts',
    tag,
    query: pageQuery({
      pricingModelId: textFilter,
      code: z.string().min(1).max(255).transform(normalizeCode).optional(),
      duration: textFilter,
      amountType: textFilter,
      active: booleanFilter,
    }),
    returns: pageOf(RedeemedDiscount),
    refuses: ['invalidCursor'],
    handle: (work, { query }) => listDiscounts(work, pageRequest(query)),
  }),
  route({
    method: 'GET',
    path: '/discounts/{id}',
    summary: 'Get a discount',
    tag,
    params: z.object({ id: DiscountId }),
    returns: z.object({ discount: RedeemedDiscount }),
    refuses: ['discountNotFound'],
    handle: async (work, { params }) => ({ discount: await getDiscount(work, params.id) }),
  }),
];
