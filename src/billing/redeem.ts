import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import type { InvoiceDiscount } from '../invoicing/invoice.ts';
import { insertRedemption } from '../invoicing/store-redemptions.ts';
import type { DiscountRow } from '../pricing/discount.ts';

/** The redeemer of a discount: a subscription or a single-payment purchase. */
export type Redeemer = { readonly subscriptionId: string } | { readonly purchaseId: string };

/** Copies the current discount for its redeemer, and returns the discount of the next invoice. */
export async function redeem(work: Work, discount: DiscountRow, redeemer: Redeemer): Promise<InvoiceDiscount> {
  const { id: discountId, pricingModelId, name, code, amountType, amount, duration, numberOfPayments } = discount;
  const id = newId('discountRedemption');
  await insertRedemption(work, {
    id,
    pricingModelId,
    discountId,
    subscriptionId: null,
    purchaseId: null,
    ...redeemer,
    ...{ name, code, amountType, amount, duration, numberOfPayments },
    createdAt: work.now,
    updatedAt: work.now,
  });
  return { redemptionId: id, code, kind: amountType, amount };
}
