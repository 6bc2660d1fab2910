import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { Problem } from '../kernel/problem.ts';
import { refuseOtherId, requiredLocked, resolveLockedPricingModel } from './actions.ts';
import {
  type Discount,
  type DiscountChange,
  type DiscountInput,
  type DiscountRow,
  decideDiscountChange,
} from './discount.ts';
import * as store from './store-discounts.ts';

/** A discount as clients see it. */
export function renderDiscount(work: Work, row: DiscountRow): Discount {
  // A row that is held to its variant stays of it with the environment's fields added.
  return { ...row, livemode: work.livemode, organizationId: work.organizationId } as Discount;
}

/** Makes a discount. Refuses with `discountCodeTaken` a code that the pricing model has already, active or not. */
export async function createDiscount(work: Work, asked: DiscountInput): Promise<Discount> {
  const { pricingModelId: givenModel, ...terms } = asked;
  const pricingModelId = await resolveLockedPricingModel(work, givenModel);
  await refuseTakenCode(work, pricingModelId, terms.code);
  const stamps = { id: newId('discount'), createdAt: work.now, updatedAt: work.now, pricingModelId };
  const row: DiscountRow =
    terms.duration === 'number_of_payments' ? { ...stamps, ...terms } : { ...stamps, ...terms, numberOfPayments: null };
  await store.insertDiscounts(work, [row]);
  return renderDiscount(work, row);
}

/** Changes a discount for those who redeem it later; who has redeemed it keeps it as it was. */
export async function updateDiscount(work: Work, id: string, change: DiscountChange): Promise<Discount> {
  refuseOtherId(id, change.id);
  const current = await requiredLocked(work, store.findDiscount, id, 'discountNotFound');
  const row = { ...decideDiscountChange(current, change), updatedAt: work.now };
  if (row.code !== current.code) await refuseTakenCode(work, row.pricingModelId, row.code);
  await store.saveDiscount(work, row);
  return renderDiscount(work, row);
}

/** The pricing model is locked, so nobody takes the code in between. */
async function refuseTakenCode(work: Work, pricingModelId: string, code: string): Promise<void> {
  const taken = await store.findDiscountByCode(work, pricingModelId, code);
  if (taken !== null) throw new Problem('discountCodeTaken', { code });
}
