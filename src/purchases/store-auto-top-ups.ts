import { sql } from 'kysely';
import { textArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import type { AutoTopUpRow } from './auto-top-up.ts';

const columns = [
  'customerId',
  'pricingModelId',
  'priceId',
  'usageMeterId',
  'below',
  'upTo',
  'quantity',
  'maximumAmountPerMonth',
  'failures',
  'stoppedAt',
] as const;

export async function findAutoTopUp(work: Work, customerId: string): Promise<AutoTopUpRow | null> {
  const row = await work.db
    .selectFrom('autoTopUps')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .where('customerId', '=', customerId)
    .executeTakeFirst();
  return row ?? null;
}

/** Writes the top-up of a customer in place of the one before. The caller has locked the customer. */
export async function putRow(work: Work, row: AutoTopUpRow): Promise<void> {
  const { environmentId, now } = work;
  const { customerId: _, ...changed } = row;
  await work.db
    .insertInto('autoTopUps')
    .values({ ...row, environmentId, createdAt: now, updatedAt: now })
    .onConflict((conflict) =>
      conflict.columns(['environmentId', 'customerId']).doUpdateSet({ ...changed, updatedAt: now }),
    )
    .execute();
}

/** Removes the top-up of a customer. Its purchases stay. */
export async function deleteRow(work: Work, customerId: string): Promise<void> {
  for (const table of ['autoTopUpChecks', 'autoTopUps'] as const)
    await work.db
      .deleteFrom(table)
      .where('environmentId', '=', work.environmentId)
      .where('customerId', '=', customerId)
      .execute();
}

/** Has the balance of a customer looked at, at this instant in place of the one that was noted. */
export async function putCheck(work: Work, customerId: string, dueAt: Instant): Promise<void> {
  await work.db
    .insertInto('autoTopUpChecks')
    .values({ environmentId: work.environmentId, customerId, dueAt })
    .onConflict((conflict) => conflict.columns(['environmentId', 'customerId']).doUpdateSet({ dueAt }))
    .execute();
}

/**
 * Has the balances of these customers looked at that have a top-up of a usage meter. A note that waits stays: its back-off goes on.
 * Returns whether there are any.
 */
export async function putChecksOfMeters(work: Work, customerIds: readonly string[]): Promise<boolean> {
  const { rows } = await sql`
    insert into auto_top_up_checks (environment_id, customer_id, due_at)
    select t.environment_id, t.customer_id, ${work.now}::bigint from auto_top_ups t
     where t.environment_id = ${work.environmentId} and t.customer_id = any(${textArray(customerIds)}::text[])
       and t.stopped_at is null and not starts_with(t.usage_meter_id, 'credit_pool_')
     order by t.customer_id
    on conflict do nothing returning customer_id`.execute(work.db);
  return rows.length > 0;
}

/** Ends the note, before the balance is read that is decided about. The caller has locked the accounts. */
export async function endCheck(work: Work, customerId: string): Promise<void> {
  await work.db
    .deleteFrom('autoTopUpChecks')
    .where('environmentId', '=', work.environmentId)
    .where('customerId', '=', customerId)
    .execute();
}

/**
 * Locks up to `limit` customers whose balance is to be looked at by now, skipping locked ones; with `only`, just these,
 * waiting for their locks. Returns their ids.
 */
export async function takeChecks(work: Work, limit: number, only?: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select c.id from auto_top_up_checks t
      join customers c on c.environment_id = t.environment_id and c.id = t.customer_id
     where t.environment_id = ${work.environmentId} and c.environment_id = ${work.environmentId}
       and t.due_at <= ${work.now}::bigint
       ${only === undefined ? sql`` : sql`and c.id = any(${only}::text[])`}
     order by ${only === undefined ? sql`t.due_at, c.id` : sql`c.id`} limit ${limit}
       for no key update of c ${only === undefined ? sql`skip locked` : sql``}`.execute(work.db);
  return rows.map(({ id }) => id);
}

/** The cost of the purchases of a month, and the purchase whose payment is in progress. */
interface MonthOfTopUps {
  readonly amount: bigint;
  readonly openPurchaseId: string | null;
}

export async function readMonth(work: Work, customerId: string, monthStart: Instant): Promise<MonthOfTopUps> {
  const { rows } = await sql<MonthOfTopUps>`
    select coalesce(sum(amount) filter (where month_start = ${monthStart}::bigint), 0)::numeric as amount,
           max(purchase_id) filter (where status = 'open') as open_purchase_id
      from auto_top_up_purchases
     where environment_id = ${work.environmentId} and customer_id = ${customerId}
       and status in ('open', 'paid') and (month_start = ${monthStart}::bigint or status = 'open')`.execute(work.db);
  return rows[0] ?? { amount: 0n, openPurchaseId: null };
}

/** A purchase that a top-up made. */
interface TopUpPurchase {
  readonly purchaseId: string;
  readonly customerId: string;
  readonly pricingModelId: string;
  readonly usageMeterId: string;
  readonly amount: bigint;
  readonly monthStart: Instant;
  readonly status: 'open' | 'paid';
}

/** Notes a purchase. Another attempt at one that failed is the same row. */
export async function putPurchase(work: Work, purchase: TopUpPurchase): Promise<void> {
  const { environmentId, now } = work;
  const { amount, monthStart, status } = purchase;
  await work.db
    .insertInto('autoTopUpPurchases')
    .values({ ...purchase, environmentId, createdAt: now, updatedAt: now })
    .onConflict((conflict) =>
      conflict.columns(['environmentId', 'purchaseId']).doUpdateSet({ amount, monthStart, status, updatedAt: now }),
    )
    .execute();
}

/** Ends open purchases of top-ups, and returns those that were. */
export async function endPurchases(
  work: Work,
  purchaseIds: readonly string[],
  status: 'paid' | 'failed',
): Promise<Pick<TopUpPurchase, 'customerId' | 'purchaseId'>[]> {
  if (purchaseIds.length === 0) return [];
  const { rows } = await sql<Pick<TopUpPurchase, 'customerId' | 'purchaseId'>>`
    update auto_top_up_purchases set status = ${status}, updated_at = ${work.now}
     where environment_id = ${work.environmentId} and purchase_id = any(${purchaseIds}::text[]) and status = 'open'
    returning customer_id, purchase_id`.execute(work.db);
  return rows;
}

/** Saves the failures in a row of a customer's top-up, and whether they stop it. */
export async function saveFailures(
  work: Work,
  customerId: string,
  { failures, stoppedAt }: Pick<AutoTopUpRow, 'failures' | 'stoppedAt'>,
): Promise<void> {
  await work.db
    .updateTable('autoTopUps')
    .set({ failures, stoppedAt, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('customerId', '=', customerId)
    .execute();
}
