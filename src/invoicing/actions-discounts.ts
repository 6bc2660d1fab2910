import type { Work } from '../database/work.ts';
import { type PageRequest, page } from '../kernel/pagination.ts';
import { Problem } from '../kernel/problem.ts';
import { only } from '../pricing/actions.ts';
import { renderDiscount } from '../pricing/actions-discounts.ts';
import type { DiscountRow, RedeemedDiscount } from '../pricing/discount.ts';
import { findDiscount, pageOfDiscounts } from '../pricing/store-discounts.ts';
import type { InvoiceRow } from './store.ts';
import { countRedemptions, countRedemptionsOfDiscounts } from './store-redemptions.ts';

/**
 * These invoices have just been paid: the discounts that they carry are used once more. That of a start or a renewal
 * counts, of nothing too; left-over usage gets its discount beside, and so does a change of plan, unless it takes the
 * place of one that counts. Safe to tell twice.
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

/** A discount, and how often it was redeemed. */
export async function getDiscount(work: Work, id: string): Promise<RedeemedDiscount> {
  const row = await findDiscount(work, id);
  if (row === null) throw new Problem('discountNotFound', { id });
  return only(await renderRedeemed(work, [row]));
}

/** The environment's discounts, active or not. */
export async function listDiscounts(work: Work, request: PageRequest) {
  const { rows, total } = await pageOfDiscounts(work, request);
  return page(request, await renderRedeemed(work, rows), total);
}

async function renderRedeemed(work: Work, rows: readonly DiscountRow[]): Promise<RedeemedDiscount[]> {
  const ids = rows.map(({ id }) => id);
  const counts = await countRedemptionsOfDiscounts(work, ids);
  return rows.map((row) => ({ ...renderDiscount(work, row), redemptionCount: counts.get(row.id) ?? 0 }));
}
