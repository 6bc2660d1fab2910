import { type Selectable, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Discounts } from '../database/database-types.ts';
import { hasValue, selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { DiscountRow } from './discount.ts';
import { statementsOf } from './store-rows.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'name',
  'code',
  'amount',
  'amountType',
  'active',
  'duration',
  'numberOfPayments',
  'expiresAt',
  'maximumRedemptions',
  'maximumRedemptionsPerCustomer',
  'productIds',
  'minimumAmount',
  'firstPurchaseOnly',
] as const;

function toDiscount(row: Pick<Selectable<Discounts>, (typeof columns)[number]>): DiscountRow {
  // Table constraints hold each row to the variant of its duration.
  return row as DiscountRow;
}

/** Inserts discounts. The database refuses a duplicate code within the pricing model. */
export async function insertDiscounts(work: Work, discounts: readonly DiscountRow[]): Promise<void> {
  const rows = discounts.map((discount) => ({ ...discount, environmentId: work.environmentId }));
  for (const some of statementsOf(rows)) await work.db.insertInto('discounts').values(some).execute();
}

/** Saves the changeable fields of a discount. */
export async function saveDiscount(
  work: Work,
  { id, createdAt: _, pricingModelId: __, ...discount }: DiscountRow,
): Promise<void> {
  await work.db
    .updateTable('discounts')
    .set(discount)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}

/** Has the redemptions of a discount counted from now on. Its copies in other cells follow. */
export async function beginToCount(
  home: Database,
  { environmentId, discountId }: { readonly environmentId: number; readonly discountId: string },
): Promise<void> {
  await home
    .updateTable('discounts')
    .set({ isCounted: true })
    .where('environmentId', '=', environmentId)
    .where('id', '=', discountId)
    .where('isCounted', '=', false)
    .execute();
}

function select(work: Work) {
  return work.db.selectFrom('discounts').select(columns).where('environmentId', '=', work.environmentId);
}

export async function findDiscount(work: Work, id: string): Promise<DiscountRow | null> {
  const row = await select(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toDiscount(row);
}

/** The discount of the pricing model with this code, in upper case; active or not. */
export async function findDiscountByCode(
  work: Work,
  pricingModelId: string,
  code: string,
): Promise<DiscountRow | null> {
  const row = await select(work)
    .where('pricingModelId', '=', pricingModelId)
    .where('code', '=', code)
    .executeTakeFirst();
  return row === undefined ? null : toDiscount(row);
}

/** All discounts of the pricing model, active or not, in order of creation. */
export async function listDiscountsOfModel(work: Work, pricingModelId: string): Promise<DiscountRow[]> {
  const rows = await select(work).where('pricingModelId', '=', pricingModelId).orderBy('id').execute();
  return rows.map(toDiscount);
}

export async function pageOfDiscounts(
  work: Work,
  request: PageRequest,
): Promise<{ rows: DiscountRow[]; total: number }> {
  return selectPage<DiscountRow>(work, 'discounts', columns, request, {
    pricingModelId: 'pricing_model_id',
    code: 'code',
    duration: 'duration',
    amountType: 'amount_type',
    active: 'active',
    productId: (id) => sql`product_ids @> array[${id}::text]`,
    firstPurchaseOnly: 'first_purchase_only',
    hasExpiry: hasValue('expires_at'),
    hasMaximum: hasValue('maximum_redemptions'),
  });
}
