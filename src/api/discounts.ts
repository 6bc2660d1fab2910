import { z } from 'zod';
import { gatheredRoute, route } from '../http/route.ts';
import { changeDiscount, getDiscount, listDiscounts } from '../invoicing/actions-discounts.ts';
import { booleanFilter, createdFilters, pageOf, pageQuery, pageRequest, textFilter } from '../kernel/pagination.ts';
import { createDiscount } from '../pricing/actions-discounts.ts';
import {
  addRedemptions,
  Discount,
  DiscountChange,
  DiscountId,
  DiscountInput,
  normalizeCode,
  RedeemedDiscount,
} from '../pricing/discount.ts';

const tag = 'Discounts';

export const discountRoutes = [
  route({
    method: 'POST',
    path: '/discounts',
    cell: 'home',
    needs: 'discounts:catalog',
    summary: 'Create a discount',
    description:
      'Creates a discount that customers redeem by its code when they subscribe or buy. A code that another ' +
      'discount of the pricing model has is refused with 409. It may expire, and be redeemed a number of times in all ' +
      'or by each customer. It may be for some products, for orders of a minimum amount, or for first purchases.',
    tag,
    body: z.object({ discount: DiscountInput }),
    returns: z.object({ discount: Discount }),
    refuses: ['pricingModelNotFound', 'defaultPricingModelNotFound', 'productNotFound', 'discountCodeTaken'],
    handle: async (work, { body }) => ({ discount: await createDiscount(work, body.discount) }),
  }),
  route({
    method: 'PUT',
    path: '/discounts/{id}',
    cell: 'home',
    needs: 'discounts:catalog',
    summary: 'Update a discount',
    description: 'Changes the fields that are sent. Customers that have redeemed the discount keep its old terms.',
    tag,
    params: z.object({ id: DiscountId }),
    body: z.object({ discount: DiscountChange }),
    returns: z.object({ discount: Discount }),
    refuses: ['discountNotFound', 'idMismatch', 'productNotFound', 'discountCodeTaken', 'discountMaximumTooLow'],
    handle: async (work, { params, body }) => ({ discount: await changeDiscount(work, params.id, body.discount) }),
  }),
  gatheredRoute({
    path: '/discounts',
    needs: 'discounts:read',
    summary: 'List discounts',
    description: 'Returns the discounts of the environment, active and inactive ones.',
    tag,
    query: pageQuery({
      pricingModelId: textFilter,
      code: z.string().min(1).max(255).transform(normalizeCode).optional(),
      duration: textFilter,
      amountType: textFilter,
      active: booleanFilter,
      productId: textFilter,
      firstPurchaseOnly: booleanFilter,
      hasExpiry: booleanFilter,
      hasMaximum: booleanFilter,
      ...createdFilters,
    }),
    returns: pageOf(RedeemedDiscount),
    refuses: ['invalidCursor'],
    read: (work, { query }) => listDiscounts(work, pageRequest(query)),
    join: ([page, ...others]) => {
      const elsewhere = others.flatMap(({ data }) => data);
      return { ...page, data: page.data.map((discount) => addRedemptions(discount, elsewhere)) };
    },
  }),
  gatheredRoute({
    path: '/discounts/{id}',
    needs: 'discounts:read',
    summary: 'Get a discount',
    description: 'Returns one discount with its terms and the number of its redemptions.',
    tag,
    params: z.object({ id: DiscountId }),
    returns: z.object({ discount: RedeemedDiscount }),
    refuses: ['discountNotFound'],
    read: (work, { params }) => getDiscount(work, params.id),
    join: ([discount, ...others]) => ({ discount: addRedemptions(discount, others) }),
  }),
];
