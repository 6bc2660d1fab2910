import { type Selectable, sql } from 'kysely';
import type { Prices } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import { requestEffect } from '../jobs/queue.ts';
import type { Interval, IntervalUnit } from '../kernel/calendar.ts';
import type { CurrencyCode } from '../kernel/currency.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import type { NewPrice, Price } from './price.ts';
import type { Pricing } from './pricing.ts';
import { namingTakenSlug, newRowStamps, statementsOf } from './store-rows.ts';
import type { Where } from './usage-meter.ts';

export const priceColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'productId',
  'usageMeterId',
  'type',
  'name',
  'slug',
  'unitPrice',
  'intervalUnit',
  'intervalCount',
  'trialPeriodDays',
  'usageEventsPerUnit',
  'overage',
  'pricing',
  'setupFeeAmount',
  'minimumCommitment',
  'billingTiming',
  'where',
  'hasOwnInterval',
  'currency',
  'isDefault',
  'active',
  'metadata',
] as const;
type PriceRow = Pick<Selectable<Prices>, (typeof priceColumns)[number]>;

export function toPrice(work: Work, { hasOwnInterval, ...row }: PriceRow): Price {
  const usageInterval = row.type !== 'usage' ? null : hasOwnInterval ? 'own' : 'subscription';
  const price = { ...row, usageInterval, livemode: work.livemode, currency: row.currency as CurrencyCode };
  // The constraint prices_shape holds each row to the variant of its type.
  return price as Price;
}

/** The task that computes what is next due within the billing periods of a pricing model's subscriptions. */
export const scheduleInterimsTask = 'schedule_interims';

/** Subscriptions of a pricing model are scheduled again where one of these prices has an interval that it lacked. */
async function scheduleNewIntervals(work: Work, prices: readonly NewPrice[]): Promise<void> {
  const own = prices.filter(({ usageInterval }) => usageInterval === 'own');
  if (own.length === 0) return;
  const { rows } = await sql<Pick<PriceRow, 'pricingModelId' | 'hasOwnInterval' | 'intervalUnit' | 'intervalCount'>>`
    select distinct pricing_model_id, has_own_interval, interval_unit, interval_count from prices
     where environment_id = ${work.environmentId}
       and pricing_model_id = any(${[...new Set(own.map(({ pricingModelId }) => pricingModelId))]}::text[])`.execute(
    work.db,
  );
  const known = Map.groupBy(rows, ({ pricingModelId }) => pricingModelId);
  const isKnown = ({ intervalUnit, intervalCount }: NewPrice, row: (typeof rows)[number]) =>
    row.hasOwnInterval && row.intervalUnit === intervalUnit && row.intervalCount === intervalCount;
  // A pricing model without prices has no subscriptions.
  const changed = own.filter((price) => known.get(price.pricingModelId)?.every((row) => !isKnown(price, row)));
  for (const pricingModelId of new Set(changed.map((price) => price.pricingModelId)))
    await requestEffect(work, {
      task: scheduleInterimsTask,
      payload: { pricingModelId, after: '' },
      key: `${scheduleInterimsTask}:${pricingModelId}`,
      assume: async () => undefined,
    });
}

/** The pricing models with subscriptions that wait to be scheduled again. */
export async function listModelsToSchedule(work: Work): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from pricing_models_to_schedule() as id order by id`.execute(
    work.db,
  );
  return rows.map(({ id }) => id);
}

/** The prices of these that are billed in arrears. */
export async function listArrearsPrices(work: Work, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await work.db
    .selectFrom('prices')
    .select('id')
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', sql<string>`any(${ids}::text[])`)
    .where('billingTiming', '=', 'in_arrears')
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Inserts prices and returns them in the given order. */
export async function insertPrices(work: Work, prices: readonly NewPrice[]): Promise<Price[]> {
  await scheduleNewIntervals(work, prices);
  const rows = prices.map((price) => ({
    id: price.id,
    pricingModelId: price.pricingModelId,
    productId: price.productId,
    usageMeterId: price.usageMeterId,
    type: price.type,
    name: price.name,
    slug: price.slug,
    unitPrice: price.unitPrice,
    intervalUnit: price.intervalUnit,
    intervalCount: price.intervalCount,
    trialPeriodDays: price.trialPeriodDays,
    usageEventsPerUnit: price.usageEventsPerUnit,
    overage: price.overage,
    pricing: price.pricing,
    setupFeeAmount: price.setupFeeAmount,
    minimumCommitment: price.minimumCommitment,
    billingTiming: price.billingTiming,
    where: price.where,
    hasOwnInterval: price.usageInterval === 'own',
    currency: price.currency,
    isDefault: price.isDefault,
    active: price.active,
    metadata: price.metadata,
    ...newRowStamps(work),
  }));
  for (const some of statementsOf(rows)) {
    const values = some.map((row) => ({
      ...row,
      pricing: jsonb(row.pricing),
      where: jsonb(row.where),
      metadata: jsonb(row.metadata),
    }));
    await namingTakenSlug('price', some, work.db.insertInto('prices').values(values).execute());
  }
  return rows.map(({ environmentId: _, ...row }) => toPrice(work, row));
}

/** Prices that give up a slug or the default flag are written before those that take it. */
const saveOrder: ((price: Price) => boolean)[] = [
  (price) => !price.active,
  (price) => price.active && !price.isDefault,
  (price) => price.active && price.isDefault,
];

/** Saves the changeable fields of prices: name, slug, `isDefault`, `active` and metadata. */
export async function savePrices(work: Work, prices: readonly Price[]): Promise<Price[]> {
  for (const isOfTurn of saveOrder) {
    const rows = prices.filter(isOfTurn).map(({ id, name, slug, isDefault, active, metadata }) => ({
      id,
      name,
      slug,
      is_default: isDefault,
      active,
      metadata,
    }));
    if (rows.length === 0) continue;
    const statement = sql`
      update prices
         set name = given.name, slug = given.slug, is_default = given.is_default, active = given.active,
             metadata = given.metadata, updated_at = ${work.now}
        from json_populate_recordset(null::prices, ${JSON.stringify(rows)}::json) as given
       where prices.environment_id = ${work.environmentId} and prices.id = given.id`;
    await namingTakenSlug('price', rows, statement.execute(work.db));
  }
  return prices.map((price) => ({ ...price, updatedAt: work.now }));
}

function selectPrices(work: Work) {
  return work.db
    .selectFrom('prices')
    .select(priceColumns)
    .where('environmentId', '=', work.environmentId)
    .orderBy('id');
}

/** The intervals by which usage of each pricing model is billed, beside those of its plans. */
export async function listOwnIntervals(
  work: Work,
  pricingModelIds: readonly string[],
): Promise<Map<string, Interval[]>> {
  const { rows } = await sql<Interval & { pricingModelId: string }>`
    select distinct pricing_model_id, interval_unit as unit, interval_count as count from prices
     where environment_id = ${work.environmentId} and pricing_model_id = any(${[...new Set(pricingModelIds)]}::text[])
       and has_own_interval`.execute(work.db);
  const intervals = Map.groupBy(rows, ({ pricingModelId }) => pricingModelId);
  return new Map([...intervals].map(([id, each]) => [id, each.map(({ unit, count }) => ({ unit, count }))]));
}

/**
 * The prices of usage for plans that may cost something, with the names of their meters: those with conditions, then
 * the own rates of the plan, else the defaults. At most `limit` for each.
 */
export async function listUsagePrices(work: Work, productIds: readonly string[], limit: number) {
  if (productIds.length === 0) return [];
  const { rows } = await sql<{
    productId: string;
    priceId: string;
    meterName: string;
    unitPrice: bigint;
    usageEventsPerUnit: number;
    pricing: Pricing | null;
    where: Where | null;
    ownUnit: IntervalUnit | null;
    ownCount: number | null;
    place: number;
  }>`
    select plan.id as product_id, usage.*
      from products plan
     cross join lateral (
       select p.id as price_id, m.name as meter_name, p.unit_price, p.usage_events_per_unit, p.pricing, p.where,
              case when p.has_own_interval then p.interval_unit end as own_unit,
              case when p.has_own_interval then p.interval_count end as own_count,
              row_number() over (order by m.id, p.where is null, p.id) as place
         from usage_meters m
         join prices p on p.environment_id = plan.environment_id and p.usage_meter_id = m.id
          and (case when plan.usage_prices ? m.id then p.id = plan.usage_prices ->> m.id else p.is_default end
               or p.active and p.where is not null)
        where m.environment_id = plan.environment_id and m.pricing_model_id = plan.pricing_model_id
          and (p.unit_price > 0 or p.pricing is not null)
        order by place limit ${limit}) usage
     where plan.environment_id = ${work.environmentId} and plan.id = any(${productIds}::text[])
     order by plan.id, usage.place`.execute(work.db);
  return rows.map(({ ownUnit, ownCount, place: _, ...row }) => {
    const ownInterval = ownUnit === null || ownCount === null ? null : { unit: ownUnit, count: ownCount };
    return { ...row, ownInterval };
  });
}

export async function findPrice(work: Work, id: string): Promise<Price | null> {
  const row = await selectPrices(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toPrice(work, row);
}

/** The active price of the pricing model with this slug; there is at most one. */
export async function findActivePriceBySlug(work: Work, pricingModelId: string, slug: string): Promise<Price | null> {
  const row = await selectPrices(work)
    .where('pricingModelId', '=', pricingModelId)
    .where('slug', '=', slug)
    .where('active', '=', true)
    .executeTakeFirst();
  return row === undefined ? null : toPrice(work, row);
}

/** The active prices of the pricing model with these slugs. */
export async function listActivePricesBySlug(
  work: Work,
  pricingModelId: string,
  slugs: readonly string[],
): Promise<Price[]> {
  if (slugs.length === 0) return [];
  const rows = await selectPrices(work)
    .where('pricingModelId', '=', pricingModelId)
    .where('slug', '=', sql<string>`any(${slugs}::text[])`)
    .where('active', '=', true)
    .execute();
  return rows.map((row) => toPrice(work, row));
}

export async function findDefaultPriceOfProduct(work: Work, productId: string): Promise<Price | null> {
  const row = await selectPrices(work)
    .where('productId', '=', productId)
    .where('isDefault', '=', true)
    .executeTakeFirst();
  return row === undefined ? null : toPrice(work, row);
}

/** The prices with these ids, active or not, in order of creation. */
export async function listPricesByIds(work: Work, ids: readonly string[]): Promise<Price[]> {
  if (ids.length === 0) return [];
  const rows = await selectPrices(work).where('id', '=', sql<string>`any(${ids}::text[])`).execute();
  return rows.map((row) => toPrice(work, row));
}

/** The names of these prices and their products, by price id. Metered prices have no product. */
export async function listPlanNames(
  work: Work,
  ids: readonly string[],
): Promise<Map<string, { productId: string; productName: string; priceName: string | null }>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: string; productId: string; productName: string; priceName: string | null }>`
    select r.id, p.id as product_id, p.name as product_name, r.name as price_name
      from prices r join products p on p.environment_id = r.environment_id and p.id = r.product_id
     where r.environment_id = ${work.environmentId} and r.id = any(${ids}::text[])`.execute(work.db);
  return new Map(rows.map(({ id, ...names }) => [id, names]));
}

/** The prices of add-ons among these. */
export async function findAddOnPrices(work: Work, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const { rows } = await sql<{ id: string }>`
    select r.id from prices r join products p on p.environment_id = r.environment_id and p.id = r.product_id
     where r.environment_id = ${work.environmentId} and r.id = any(${ids}::text[]) and p.add_on`.execute(work.db);
  return new Set(rows.map(({ id }) => id));
}

/** The prices for sale, paid once, of products of a pricing model that give credits: the oldest `limit`. */
export async function listTopUpPrices(work: Work, pricingModelId: string, limit: number) {
  const { rows } = await sql<{
    priceId: string;
    productId: string;
    product: string;
    description: string | null;
    name: string | null;
    slug: string | null;
    unitPrice: bigint;
  }>`
    select r.id as price_id, p.id as product_id, r.slug, p.name as product, p.description, r.name, r.unit_price
      from products p
      join prices r on r.environment_id = p.environment_id and r.product_id = p.id and r.active and r.type = 'single_payment'
     where p.environment_id = ${work.environmentId} and p.pricing_model_id = ${pricingModelId} and p.active
       and not p.is_default and not p.add_on
       and exists (
         select from product_features pf
           join features f on f.environment_id = pf.environment_id and f.id = pf.feature_id and f.active
          where pf.environment_id = p.environment_id and pf.product_id = p.id
            and (pf.expired_at is null or pf.expired_at > ${work.now})
            and f.usage_meter_id is not null)
     order by p.id, r.id limit ${limit}`.execute(work.db);
  return rows;
}

/** All prices of these products, active or not, in order of creation. */
export async function listPricesOfProducts(work: Work, productIds: readonly string[]): Promise<Price[]> {
  if (productIds.length === 0) return [];
  const rows = await selectPrices(work).where('productId', '=', sql<string>`any(${productIds})`).execute();
  return rows.map((row) => toPrice(work, row));
}

/** All prices of these usage meters, active or not, in order of creation. */
export async function listPricesOfUsageMeters(work: Work, usageMeterIds: readonly string[]): Promise<Price[]> {
  if (usageMeterIds.length === 0) return [];
  const rows = await selectPrices(work).where('usageMeterId', '=', sql<string>`any(${usageMeterIds})`).execute();
  return rows.map((row) => toPrice(work, row));
}

/** All prices of these pricing models, of products and meters, active or not, in order of creation. */
export async function listPrices(work: Work, pricingModelIds: readonly string[]): Promise<Price[]> {
  if (pricingModelIds.length === 0) return [];
  const rows = await selectPrices(work).where('pricingModelId', '=', sql<string>`any(${pricingModelIds})`).execute();
  return rows.map((row) => toPrice(work, row));
}

export async function pageOfPrices(work: Work, request: PageRequest): Promise<{ rows: Price[]; total: number }> {
  const filters = {
    pricingModelId: 'pricing_model_id',
    productId: 'product_id',
    usageMeterId: 'usage_meter_id',
    type: 'type',
    active: 'active',
    isDefault: 'is_default',
    slug: 'slug',
    billingTiming: 'billing_timing',
    usageInterval: (interval: string) => sql`type = 'usage' and has_own_interval = ${interval === 'own'}`,
  };
  const page = await selectPage<PriceRow>(work, 'prices', priceColumns, request, filters);
  return { rows: page.rows.map((row) => toPrice(work, row)), total: page.total };
}
