import { type RawBuilder, sql } from 'kysely';
import { newId } from '../database/new-id.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import { isAscending, type PageRequest } from '../kernel/pagination.ts';
import { poolAmount, poolText } from '../rating/pool-units.ts';
import type { CreditPool, NewCreditPool } from './credit-pool.ts';
import { namingTakenSlug, newRowStamps, statementsOf } from './store-rows.ts';

interface PoolRow extends Omit<CreditPool, 'livemode' | 'organizationId' | 'lowBalanceThreshold'> {
  readonly lowBalanceThreshold: bigint | null;
}

const columns = sql`
  p.id, p.created_at, p.updated_at, p.pricing_model_id, p.slug, p.name, p.unit, p.draw_at_price, p.low_balance_threshold,
  (select coalesce(jsonb_agg(jsonb_build_object('usageMeterSlug', m.slug, 'where', r.where, 'per', r.per,
                     'cost', trim_scale(r.cost)::text) order by r.position), '[]')
     from credit_pool_rates r join usage_meters m on m.environment_id = r.environment_id and m.id = r.usage_meter_id
    where r.environment_id = p.environment_id and r.credit_pool_id = p.id) as rates`;

async function select(work: Work, matches: RawBuilder<unknown>, rest = sql`order by p.id`): Promise<CreditPool[]> {
  const { rows } = await sql<PoolRow>`
    select ${columns} from credit_pools p where p.environment_id = ${work.environmentId} and ${matches} ${rest}`.execute(
    work.db,
  );
  return rows.map((row) => ({
    ...row,
    lowBalanceThreshold: row.lowBalanceThreshold === null ? null : poolText(row.lowBalanceThreshold),
    livemode: work.livemode,
    organizationId: work.organizationId,
  }));
}

export async function findCreditPool(work: Work, id: string): Promise<CreditPool | null> {
  const [found] = await select(work, sql`p.id = ${id}`);
  return found ?? null;
}

/** All credit pools of these pricing models, in order of creation. */
export async function listCreditPools(work: Work, pricingModelIds: readonly string[]): Promise<CreditPool[]> {
  return pricingModelIds.length === 0 ? [] : select(work, sql`p.pricing_model_id = any(${pricingModelIds}::text[])`);
}

export async function pageOfCreditPools(
  work: Work,
  request: PageRequest,
): Promise<{ rows: CreditPool[]; total: number }> {
  const filters = { pricingModelId: 'pricing_model_id', slug: 'slug' };
  const { rows, total } = await selectPage<{ id: string }>(work, 'credit_pools', ['id'], request, filters);
  const ids = rows.map(({ id }) => id);
  const order = isAscending(request) ? sql`order by p.id` : sql`order by p.id desc`;
  return { rows: await select(work, sql`p.id = any(${ids}::text[])`, order), total };
}

/** Inserts credit pools with their rates. */
export async function insertCreditPools(work: Work, pools: readonly NewCreditPool[]): Promise<void> {
  const rows = pools.map(({ id, pricingModelId, slug, name, unit, drawAtPrice, lowBalanceThreshold }) => ({
    id,
    pricingModelId,
    slug,
    name,
    unit,
    lowBalanceThreshold: smallestUnits(lowBalanceThreshold),
    drawAtPrice,
    ...newRowStamps(work),
  }));
  for (const some of statementsOf(rows))
    await namingTakenSlug('credit pool', some, work.db.insertInto('creditPools').values(some).execute());
  await insertRates(work, pools);
}

/** Saves the changeable fields of credit pools. Their rates take the place of the present ones. */
export async function saveCreditPools(work: Work, pools: readonly NewCreditPool[]): Promise<void> {
  if (pools.length === 0) return;
  const rows = pools.map(({ id, slug, name, lowBalanceThreshold }) => {
    return { id, slug, name, low_balance_threshold: smallestUnits(lowBalanceThreshold)?.toString() ?? null };
  });
  const statement = sql`
    update credit_pools set slug = given.slug, name = given.name, low_balance_threshold = given.low_balance_threshold, updated_at = ${work.now}
      from json_populate_recordset(null::credit_pools, ${JSON.stringify(rows)}::json) as given
     where credit_pools.environment_id = ${work.environmentId} and credit_pools.id = given.id`;
  await namingTakenSlug('credit pool', rows, statement.execute(work.db));
  await sql`
    delete from credit_pool_rates
     where environment_id = ${work.environmentId} and credit_pool_id = any(${rows.map(({ id }) => id)}::text[])`.execute(
    work.db,
  );
  await insertRates(work, pools);
}

function smallestUnits(threshold: string | null): bigint | null {
  return threshold === null ? null : poolAmount(threshold);
}

async function insertRates(work: Work, pools: readonly NewCreditPool[]): Promise<void> {
  const rows = pools.flatMap(({ id, pricingModelId, rates }) =>
    rates.map(({ usageMeterId, where, per, cost }, position) => {
      return { id: newId('creditPoolRate'), poolId: id, pricingModelId, position, usageMeterId, where, per, cost };
    }),
  );
  if (rows.length === 0) return;
  await sql`
    insert into credit_pool_rates (environment_id, id, credit_pool_id, pricing_model_id, position, usage_meter_id, "where", per, cost,
           created_at, updated_at)
    select ${work.environmentId}, given.id, given."poolId", given."pricingModelId", given.position, given."usageMeterId", given."where",
           given.per, given.cost::numeric, ${work.now}, ${work.now}
      from one_row, json_to_recordset(${JSON.stringify(rows)}::json)
             as given (id text, "poolId" text, "pricingModelId" text, position integer, "usageMeterId" text, "where" jsonb, per bigint,
                       cost text)`.execute(work.db);
}

/** The rate at which usage of a meter draws from a credit pool. */
export interface MeterRate {
  readonly usageMeterId: string;
  readonly creditPoolId: string;
  readonly where: Readonly<Record<string, readonly string[]>> | null;
  /** In smallest units of the pool. Null: the pool draws at the price, where no rate is for the event. */
  readonly unitCost: bigint | null;
  readonly lowBalanceThreshold: bigint | null;
}

/** The rates of these usage meters, and the pools that draw at their prices. */
export async function listRatesOfMeters(work: Work, usageMeterIds: readonly string[]): Promise<MeterRate[]> {
  if (usageMeterIds.length === 0) return [];
  const { rows } = await sql<MeterRate>`
    select r.usage_meter_id, r.credit_pool_id, r.where, r.unit_cost, p.low_balance_threshold from credit_pool_rates r
      join credit_pools p on p.environment_id = r.environment_id and p.id = r.credit_pool_id
     where r.environment_id = ${work.environmentId} and r.usage_meter_id = any(${usageMeterIds}::text[])
     union all
    select m.id, p.id, null, null, p.low_balance_threshold from usage_meters m
      join credit_pools p on p.environment_id = m.environment_id and p.pricing_model_id = m.pricing_model_id and p.draw_at_price
       and p.unit = ${work.currency}
     where m.environment_id = ${work.environmentId} and m.id = any(${usageMeterIds}::text[]) and not m.is_measured`.execute(
    work.db,
  );
  return rows;
}
