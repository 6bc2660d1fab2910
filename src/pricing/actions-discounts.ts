import { randomInt } from 'node:crypto';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { refuseFineAmount } from '../kernel/currency.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { refuseOtherId, requiredLocked, resolveLockedPricingModel } from './actions.ts';
import {
  type Discount,
  type DiscountChange,
  type DiscountInput,
  type DiscountRow,
  decideDiscountChange,
  decideLimits,
  shownLimits,
} from './discount.ts';
import * as store from './store-discounts.ts';
import { findProducts } from './store-products.ts';

/** A discount as returned by the API. */
export function renderDiscount(work: Work, row: DiscountRow): Discount {
  // The row is valid for its variant and stays so with the environment's fields added.
  const { expiresAt: _, maximumRedemptions: __, maximumRedemptionsPerCustomer: ___, ...known } = row;
  const { productIds: ____, minimumAmount: _____, firstPurchaseOnly: ______, ...kept } = known;
  return { ...kept, livemode: work.livemode, organizationId: work.organizationId, ...shownLimits(row) } as Discount;
}

/**
 * Creates a discount. Refuses with `discountCodeTaken` a code that already exists in the pricing model, active or not.
 */
export async function createDiscount(work: Work, requested: DiscountInput): Promise<Discount> {
  const { pricingModelId: givenModel, ...terms } = requested;
  const pricingModelId = await resolveLockedPricingModel(work, givenModel);
  const limits = decideLimits(terms);
  if (limits.expiresAt !== null && limits.expiresAt <= work.now)
    throw invalid(['discount', 'expiresAt'], `must be later than now (${work.now})`);
  refuseFineDiscount(work, { ...terms, ...limits });
  await refuseForeignProducts(work, { pricingModelId, ...limits });
  const code = terms.code ?? generateCode();
  await refuseTakenCode(work, pricingModelId, code);
  const stamps = { id: newId('discount'), createdAt: work.now, updatedAt: work.now, pricingModelId, code, ...limits };
  const row: DiscountRow =
    terms.duration === 'number_of_payments' ? { ...terms, ...stamps } : { ...terms, ...stamps, numberOfPayments: null };
  await store.insertDiscounts(work, [row]);
  return renderDiscount(work, row);
}

// Crockford's alphabet: no letter is mistaken for a digit. 13 of 32 characters are 65 bits.
const codeAlphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const codeGroups = [5, 4, 4];

/** A code that cannot be guessed, such as `7K2QX-9M4T-W8PA`. */
function generateCode(): string {
  const group = (length: number) => Array.from({ length }, () => codeAlphabet[randomInt(codeAlphabet.length)]).join('');
  return codeGroups.map(group).join('-');
}

/** Changes a discount for future redemptions; existing redemptions keep the old terms. */
export async function updateDiscount(work: Work, id: string, change: DiscountChange): Promise<Discount> {
  refuseOtherId(id, change.id);
  const current = await requiredLocked(work, store.findDiscount, id, 'discountNotFound');
  const row = { ...decideDiscountChange(current, change), updatedAt: work.now };
  refuseFineDiscount(work, row);
  if (change.productIds) await refuseForeignProducts(work, row);
  if (row.code !== current.code) await refuseTakenCode(work, row.pricingModelId, row.code);
  await store.saveDiscount(work, row);
  return renderDiscount(work, row);
}

function refuseFineDiscount(
  work: Work,
  { amount, amountType, minimumAmount }: Pick<DiscountRow, 'amount' | 'amountType' | 'minimumAmount'>,
): void {
  if (amountType === 'fixed') refuseFineAmount(['discount', 'amount'], amount, work.currency);
  if (minimumAmount !== null) refuseFineAmount(['discount', 'minimumAmount'], minimumAmount, work.currency);
}

/** The pricing model is locked, so no concurrent request can delete the products. */
async function refuseForeignProducts(
  work: Work,
  { pricingModelId, productIds }: Pick<DiscountRow, 'pricingModelId' | 'productIds'>,
): Promise<void> {
  if (productIds === null) return;
  const products = await findProducts(work, productIds);
  const own = new Set(products.flatMap((product) => (product.pricingModelId === pricingModelId ? product.id : [])));
  const index = productIds.findIndex((id) => !own.has(id));
  if (index < 0) return;
  const message = 'must be the id of a product of the pricing model';
  const issue = { path: ['discount', 'productIds', index], message, code: 'custom' };
  throw new Problem('productNotFound', { id: productIds[index] ?? '' }, [issue]);
}

/** The pricing model is locked, so no concurrent request can take the code. */
async function refuseTakenCode(work: Work, pricingModelId: string, code: string): Promise<void> {
  const taken = await store.findDiscountByCode(work, pricingModelId, code);
  if (taken !== null) throw new Problem('discountCodeTaken', { code });
}
