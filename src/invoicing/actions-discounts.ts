import type { CustomerRow } from '../customers/customer.ts';
import { newId } from '../database/new-id.ts';
import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { invalid, Problem } from '../kernel/problem.ts';
import { allowsRepeatedDiscounts } from '../organizations/setting.ts';
import { only } from '../pricing/actions.ts';
import { renderDiscount } from '../pricing/actions-discounts.ts';
import { type DiscountRow, normalizeCode, type RedeemedDiscount } from '../pricing/discount.ts';
import { findDiscount, findDiscountByCode, pageOfDiscounts } from '../pricing/store-discounts.ts';
import type { InvoiceDiscount } from './invoice.ts';
import type { InvoiceRow } from './store.ts';
import {
  countRedemptions,
  countRedemptionsOfDiscounts,
  freeUnusedRedemption,
  hasUsedDiscount,
  insertRedemption,
} from './store-redemptions.ts';

/**
 * Counts one more use of the discounts on invoices that have just been paid. Invoices of a start or a renewal count,
 * even with a total of 0. Leftover usage does not count, nor does a plan change, unless it replaces an invoice that
 * does. Idempotent.
 */
export async function countDiscounts(
  work: Work,
  paid: readonly Pick<InvoiceRow, 'discountRedemptionId'>[],
): Promise<void> {
  await countRedemptions(
    work,
    paid.flatMap(({ discountRedemptionId }) => discountRedemptionId ?? []),
  );
}

/** Returns a discount with the number of its redemptions. */
export async function getDiscount(work: Work, id: string): Promise<RedeemedDiscount> {
  const row = await findDiscount(work, id);
  if (row === null) throw new Problem('discountNotFound', { id });
  return only(await renderRedeemed(work, [row]));
}

/** Lists discounts, inactive ones included. */
export async function listDiscounts(work: Work, request: PageRequest) {
  const { rows, total } = await pageOfDiscounts(work, request);
  return page(request, await renderRedeemed(work, rows), total);
}

async function renderRedeemed(work: Work, rows: readonly DiscountRow[]): Promise<RedeemedDiscount[]> {
  const ids = rows.map(({ id }) => id);
  const counts = await countRedemptionsOfDiscounts(work, ids);
  return rows.map((row) => ({ ...renderDiscount(work, row), redemptionCount: counts.get(row.id) ?? 0 }));
}

/** The discount to redeem, from the customer's pricing model. */
export async function findGivenDiscount(
  work: Work,
  { pricingModelId }: Pick<CustomerRow, 'pricingModelId'>,
  { discountCode }: { readonly discountCode?: string | null | undefined },
): Promise<DiscountRow | null> {
  if (discountCode === null || discountCode === undefined) return null;
  const discount = await findDiscountByCode(work, pricingModelId, normalizeCode(discountCode));
  if (!discount?.active) throw invalid(['discountCode'], 'must be the code of an active discount of the pricing model');
  return discount;
}

/** The redeemer of a discount: a subscription, a single-payment purchase or, with neither, an invoice that names it. */
type Redeemer = { readonly subscriptionId: string } | { readonly purchaseId: string } | { readonly invoice: 'own' };

/**
 * Copies the current discount for its redeemer, and returns the discount of the next invoice. Refuses with
 * `discountAlreadyUsed` one that the customer has used. The caller has locked the customer.
 */
export async function redeem(
  work: Work,
  discount: DiscountRow,
  { id: customerId }: Pick<CustomerRow, 'id'>,
  redeemer: Redeemer,
): Promise<InvoiceDiscount> {
  const { id: discountId, pricingModelId, name, code, amountType, amount, duration, numberOfPayments } = discount;
  const redeemed = await quoteRedemption(work, discount, { id: customerId });
  const isOnlyUse = !allowsRepeatedDiscounts(work);
  if (isOnlyUse) await freeUnusedRedemption(work, { customerId, discountId });
  const id = redeemed.redemptionId;
  await insertRedemption(work, {
    id,
    pricingModelId,
    discountId,
    customerId,
    isOnlyUse,
    subscriptionId: null,
    purchaseId: null,
    ...('invoice' in redeemer ? {} : redeemer),
    ...{ name, code, amountType, amount, duration, numberOfPayments },
    createdAt: work.now,
    updatedAt: work.now,
  });
  return redeemed;
}

/** The discount of the next invoice, as `redeem` returns it. Refuses what that refuses, and stores nothing. */
export async function quoteRedemption(
  work: Work,
  { id: discountId, code, amountType: kind, amount }: DiscountRow,
  { id: customerId }: Pick<CustomerRow, 'id'>,
): Promise<InvoiceDiscount> {
  if (await hasUsedDiscount(work, { customerId, discountId })) throw discountUsed(code, ['discountCode']);
  return { redemptionId: newId('discountRedemption'), code, kind, amount };
}

/** The refusal of a code that the customer has used, in the field `path`. */
export function discountUsed(code: string, path: readonly string[]): Problem {
  return new Problem('discountAlreadyUsed', { code }, [{ path, message: 'has already been used', code: 'custom' }]);
}
