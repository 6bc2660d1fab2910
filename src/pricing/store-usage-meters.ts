import { type Selectable, sql } from 'kysely';
import type { UsageMeters } from '../database/database-types.ts';
import { jsonb } from '../database/json-records.ts';
import { selectPage } from '../database/select-page.ts';
import type { Work } from '../database/work.ts';
import type { PageRequest } from '../kernel/pagination.ts';
import { namingTakenSlug, newRowStamps, statementsOf } from './store-rows.ts';
import type { NewUsageMeter, UsageMeter } from './usage-meter.ts';

const usageMeterColumns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'name',
  'slug',
  'aggregationType',
  'recurring',
  'proration',
  'lowBalanceThreshold',
  'eventName',
  'where',
  'valueProperty',
] as const;
type UsageMeterRow = Pick<Selectable<UsageMeters>, (typeof usageMeterColumns)[number]>;

function toUsageMeter(work: Work, row: UsageMeterRow): UsageMeter {
  return {
    ...row,
    // The constraints of the table allow no other values.
    aggregationType: row.aggregationType as UsageMeter['aggregationType'],
    proration: row.proration as UsageMeter['proration'],
    // Only what `Where` accepts is ever written.
    where: row.where as UsageMeter['where'],
    livemode: work.livemode,
    organizationId: work.organizationId,
  };
}

/** Inserts usage meters and returns them in the given order. Each needs its no-charge price: see `noChargePrice`. */
export async function insertUsageMeters(work: Work, meters: readonly NewUsageMeter[]): Promise<UsageMeter[]> {
  const rows = meters.map((meter) => ({
    id: meter.id,
    pricingModelId: meter.pricingModelId,
    name: meter.name,
    slug: meter.slug,
    aggregationType: meter.aggregationType,
    recurring: meter.recurring,
    proration: meter.proration,
    lowBalanceThreshold: meter.lowBalanceThreshold,
    eventName: meter.eventName,
    where: meter.where,
    valueProperty: meter.valueProperty,
    ...newRowStamps(work),
  }));
  for (const some of statementsOf(rows)) {
    const values = some.map((row) => ({ ...row, where: jsonb(row.where) }));
    await namingTakenSlug('usage meter', some, work.db.insertInto('usageMeters').values(values).execute());
  }
  return rows.map(({ environmentId: _, ...row }) => toUsageMeter(work, row));
}

/** Saves the changeable fields of usage meters. Whether a meter is recurring, and its proration, never change. */
export async function saveUsageMeters(work: Work, meters: readonly UsageMeter[]): Promise<UsageMeter[]> {
  if (meters.length === 0) return [];
  const rows = meters.map(({ id, name, slug, aggregationType, lowBalanceThreshold, ...events }) => ({
    id,
    name,
    slug,
    aggregation_type: aggregationType,
    low_balance_threshold: lowBalanceThreshold,
    event_name: events.eventName,
    where: events.where,
    value_property: events.valueProperty,
  }));
  const statement = sql`
    update usage_meters
       set name = given.name, slug = given.slug, aggregation_type = given.aggregation_type,
           low_balance_threshold = given.low_balance_threshold, event_name = given.event_name, "where" = given.where,
           value_property = given.value_property, updated_at = ${work.now}
      from json_populate_recordset(null::usage_meters, ${JSON.stringify(rows)}::json) as given
     where usage_meters.environment_id = ${work.environmentId} and usage_meters.id = given.id`;
  await namingTakenSlug('usage meter', rows, statement.execute(work.db));
  return meters.map((meter) => ({ ...meter, updatedAt: work.now }));
}

function selectUsageMeters(work: Work) {
  return work.db
    .selectFrom('usageMeters')
    .select(usageMeterColumns)
    .where('environmentId', '=', work.environmentId)
    .orderBy('id');
}

export async function findUsageMeter(work: Work, id: string): Promise<UsageMeter | null> {
  const row = await selectUsageMeters(work).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : toUsageMeter(work, row);
}

/** All usage meters of these pricing models, in order of creation. */
export async function listUsageMeters(work: Work, pricingModelIds: readonly string[]): Promise<UsageMeter[]> {
  if (pricingModelIds.length === 0) return [];
  const rows = await selectUsageMeters(work)
    .where('pricingModelId', '=', sql<string>`any(${pricingModelIds})`)
    .execute();
  return rows.map((row) => toUsageMeter(work, row));
}

export async function pageOfUsageMeters(
  work: Work,
  request: PageRequest,
): Promise<{ rows: UsageMeter[]; total: number }> {
  const filters = {
    pricingModelId: 'pricing_model_id',
    slug: 'slug',
    aggregationType: 'aggregation_type',
    eventName: 'event_name',
    recurring: 'recurring',
  };
  const page = await selectPage<UsageMeterRow>(work, 'usage_meters', usageMeterColumns, request, filters);
  return { rows: page.rows.map((row) => toUsageMeter(work, row)), total: page.total };
}
