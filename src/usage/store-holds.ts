import assert from 'node:assert/strict';
import { type RawBuilder, sql } from 'kysely';
import { textArray } from '../database/array-literal.ts';
import { within } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { instantRange, isAscending, type PageRequest } from '../kernel/pagination.ts';
import type { HeldUnits } from '../spend-controls/actions-count.ts';
import { ofSubscriptionsOf } from '../subscriptions/store.ts';
import type { HoldClosing, HoldRow, HoldStatus } from './usage-hold.ts';

/*
 * Every change of holds locks their account, so reads after the lock are final. A hold expires by time alone; the next
 * change of the account's holds records expired ones, as of their expiry. The end of a subscription ends its holds.
 */

/** The current status of a hold `h`, whether or not its expiry was recorded. */
function statusNow(now: Instant): RawBuilder<HoldStatus> {
  return sql<HoldStatus>`case when h.status = 'open' and h.expires_at <= ${now}::bigint then 'expired' else h.status end`;
}

/** The columns of a hold `h` on its account `a`. */
function holdColumns(now: Instant) {
  return sql`
    h.id, h.created_at, case when h.status <> ${statusNow(now)} then h.expires_at else h.updated_at end as updated_at,
    h.pricing_model_id, a.subscription_id, a.usage_meter_id, h.price_id, h.ledger_account_id, h.amount,
    h.pooled as pooled_amount, h.pool_account_id, h.pool_amount,
    ${statusNow(now)} as status, h.settled_amount, h.expires_at, h.label, h.status = 'open' as counted`;
}

// Each hold has its account. PostgreSQL leaves a left join out where it counts without a condition on accounts.
const holdsAndAccounts = sql`
  usage_holds h left join ledger_accounts a on a.environment_id = h.environment_id and a.id = h.ledger_account_id`;

export async function findHold(work: Work, id: string): Promise<HoldRow | null> {
  const { rows } = await sql<HoldRow>`
    select ${holdColumns(work.now)} from ${holdsAndAccounts}
     where h.environment_id = ${work.environmentId} and h.id = ${id}`.execute(work.db);
  return rows[0] ?? null;
}

/** A page of holds in order of creation, and how many match in all. */
export async function pageOfHolds(work: Work, request: PageRequest): Promise<{ rows: HoldRow[]; total: number }> {
  const columns = {
    subscriptionId: sql`a.subscription_id`,
    usageMeterId: sql`a.usage_meter_id`,
    status: statusNow(work.now),
  };
  const conditions: RawBuilder<unknown>[] = [sql`h.environment_id = ${work.environmentId}`];
  for (const [filter, column] of Object.entries(columns)) {
    const value = request.filters[filter];
    if (value !== undefined) conditions.push(sql`${column} = ${value}`);
  }
  const created = instantRange(request.filters, 'createdAtFrom', 'createdAtTo');
  if (created !== null) conditions.push(within(sql.ref('h.created_at'), created));
  const { customerId, customerExternalId } = request.filters;
  if (customerId !== undefined || customerExternalId !== undefined)
    conditions.push(ofSubscriptionsOf(work, sql.ref('a.subscription_id'), { customerId, customerExternalId }));
  const matches = sql.join(conditions, sql` and `);
  const upwards = isAscending(request);
  const beyond = request.after === null ? sql`` : sql` and h.id ${upwards ? sql`>` : sql`<`} ${request.after}`;
  const { rows } = await sql<HoldRow>`
    select ${holdColumns(work.now)} from ${holdsAndAccounts} where ${matches}${beyond}
     order by h.id ${upwards ? sql`asc` : sql`desc`} limit ${request.limit + 1}`.execute(work.db);
  const counted = await sql<{ total: number }>`
    select count(*) as total from ${holdsAndAccounts} where ${matches}`.execute(work.db);
  return { rows, total: counted.rows[0]?.total ?? 0 };
}

/** The open holds of a locked account: those that go on, and those whose end is not recorded. */
export async function countOpenHolds(
  work: Work,
  ledgerAccountId: string,
): Promise<{ readonly running: number; readonly ended: number }> {
  const { rows } = await sql<{ running: number; ended: number }>`
    select count(*) filter (where expires_at > ${work.now}::bigint) as running,
           count(*) filter (where expires_at <= ${work.now}::bigint) as ended
      from usage_holds
     where environment_id = ${work.environmentId} and ledger_account_id = ${ledgerAccountId} and status = 'open'`.execute(
    work.db,
  );
  return rows[0] ?? { running: 0, ended: 0 };
}

/** The units that open holds of these customers set aside. They stay the same while the counters of limits are locked. */
export async function listHeldUnits(work: Work, customerIds: readonly string[]): Promise<HeldUnits[]> {
  const { rows } = await sql<Omit<HeldUnits, 'pool'> & { poolId: string | null; drawn: bigint | null }>`
    select s.customer_id, a.subscription_id, a.usage_meter_id, h.label, h.price_id, sum(h.amount) as units, count(*)::numeric as events,
           p.usage_meter_id as pool_id, sum(h.pool_amount) as drawn
      from subscriptions s
      join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id
      join usage_holds h on h.environment_id = a.environment_id and h.ledger_account_id = a.id
       and h.status = 'open' and h.expires_at > ${work.now}::bigint
      left join ledger_accounts p on p.environment_id = h.environment_id and p.id = h.pool_account_id
     where s.environment_id = ${work.environmentId} and s.customer_id = any(${textArray(customerIds)}::text[])
     group by 1, 2, 3, 4, 5, p.usage_meter_id`.execute(work.db);
  return rows.map(({ poolId, drawn, ...row }) => ({
    ...row,
    pool: poolId === null ? null : { id: poolId, drawn: drawn ?? 0n },
  }));
}

/** Records expired holds of an account, but for one of them, and returns what they set aside. */
function endHolds({ environmentId, now }: Work, ledgerAccountId: string, exceptId: string | null) {
  return sql`
      update usage_holds set status = 'expired', updated_at = expires_at
       where environment_id = ${environmentId} and ledger_account_id = ${ledgerAccountId} and status = 'open'
         and expires_at <= ${now}::bigint and id is distinct from ${exceptId}
      returning ${setAside}`;
}

// The parts of a hold: on the account of its meter, and on that of a credit pool.
const setAside = sql`ledger_account_id, amount - pooled as units, pool_account_id, pool_amount`;

/** Adds to the held amounts of accounts, `sign` times what the rows of each of these queries set aside. */
function moveHeld(work: Work, moved: Readonly<Record<string, 1 | -1>>) {
  const parts = Object.entries(moved).flatMap(([rows, sign]) => [
    sql`select ledger_account_id as id, ${sql.lit(sign)} * units as amount from ${sql.ref(rows)}`,
    sql`select pool_account_id, ${sql.lit(sign)} * pool_amount from ${sql.ref(rows)} where pool_account_id is not null`,
  ]);
  return sql`
    update ledger_accounts a set held = a.held + moved.amount, updated_at = greatest(a.updated_at, ${work.now}::bigint)
      from (select id, sum(amount) as amount from (${sql.join(parts, sql` union all `)}) parts group by id) moved
     where a.environment_id = ${work.environmentId} and a.id = moved.id`;
}

/** Records the expired holds of a locked account, and gives back what they set aside. */
export async function endExpiredHolds(work: Work, ledgerAccountId: string): Promise<void> {
  await sql`with ended as (${endHolds(work, ledgerAccountId, null)}) ${moveHeld(work, { ended: -1 })}`.execute(work.db);
}

/**
 * Ends the open holds of a subscription that ends, because nobody can settle them, and gives back what they set aside: its
 * customer uses credit pools and spend limits further. The accounts are locked.
 */
export async function endHoldsOf(work: Work, subscriptionId: string, at: Instant): Promise<void> {
  const { environmentId } = work;
  await sql`
    with ended as (
      update usage_holds set status = 'expired', updated_at = least(expires_at, greatest(created_at, ${at}::bigint))
       where environment_id = ${environmentId} and status = 'open' and ledger_account_id in (
         select id from ledger_accounts where environment_id = ${environmentId} and subscription_id = ${subscriptionId})
      returning ${setAside}
    ) ${moveHeld(work, { ended: -1 })}`.execute(work.db);
}

/**
 * Inserts an open hold and adds it to the held amounts of its locked accounts. Their expired holds are recorded before, in a statement
 * of their own: the trigger of automatic top-ups compares the balances around one change.
 */
export async function insertHold(work: Work, hold: HoldRow): Promise<void> {
  const { environmentId } = work;
  await sql`
    with added as (
      insert into usage_holds (environment_id, id, pricing_model_id, ledger_account_id, price_id, amount, pooled, pool_account_id,
             pool_amount, status, expires_at, label, created_at, updated_at)
      values (${environmentId}, ${hold.id}, ${hold.pricingModelId}, ${hold.ledgerAccountId}, ${hold.priceId}, ${hold.amount},
              ${hold.pooledAmount}, ${hold.poolAccountId}, ${hold.poolAmount}::numeric,
              ${hold.status}, ${hold.expiresAt}, ${hold.label}, ${hold.createdAt}, ${hold.updatedAt})
      returning ${setAside}
    ) ${moveHeld(work, { added: 1 })}`.execute(work.db);
}

/** Closes a hold read after its account was locked, and removes it from the held amounts of its accounts. */
export async function closeHold(work: Work, hold: HoldRow, closing: HoldClosing): Promise<HoldRow> {
  const { environmentId, now } = work;
  const stored: HoldStatus = hold.counted ? 'open' : hold.status;
  const { numAffectedRows } = await sql`
    with ended as (${endHolds(work, hold.ledgerAccountId, hold.id)}
    ), closed as (
      update usage_holds set status = ${closing.status}, settled_amount = ${closing.settledAmount}::bigint, updated_at = ${now}::bigint
       where environment_id = ${environmentId} and id = ${hold.id} and status = ${stored}
      returning ledger_account_id, case when ${hold.counted} then amount - pooled else 0 end as units,
                case when ${hold.counted} then pool_account_id end as pool_account_id, pool_amount
    ) ${moveHeld(work, { closed: -1, ended: -1 })} and exists (select from closed)`.execute(work.db);
  assert(numAffectedRows !== undefined && numAffectedRows > 0n, 'nobody changes a hold whose account is locked');
  return { ...hold, ...closing, updatedAt: now, counted: false };
}
