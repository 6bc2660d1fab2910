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
