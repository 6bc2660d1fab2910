import { z } from 'zod';
import { route } from '../platform/route.ts';
import { createDiscount, updateDiscount } from './actions-discounts.ts';
import { Discount, DiscountChange, DiscountId, DiscountInput } from './discount.ts';

const tag = 'Discounts';

export const discountRoutes = [
  route({
    method: 'POST',
    path: '/discounts',
    summary: 'Create a discount',
    description: 'A customer redeems it by its code when it subscribes.',
    tag,
    body: z.object({ discount: DiscountInput }),
    returns: z.object({ discount: Discount }),
    refuses: ['pricingModelNotFound', 'defaultPricingModelNotFound', 'discountCodeTaken'],
    handle: async (work, { body }) => ({ discount: await createDiscount(work, body.discount) }),
  }),
  route({
    method: 'PUT',
    path: '/discounts/{id}',
    summary: 'Update a discount',
    description: 'Fields that are absent stay as they are. Who has redeemed the discount keeps it as it was.',
    tag,
    params: z.object({ id: DiscountId }),
    body: z.object({ discount: DiscountChange }),
    returns: z.object({ discount: Discount }),
    refuses: ['discountNotFound', 'idMismatch', 'discountCodeTaken'],
    handle: async (work, { params, body }) => ({ discount: await updateDiscount(work, params.id, body.discount) }),
  }),
];
