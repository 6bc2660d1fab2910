import { hash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { idArray, idColumn, textArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import type { Instant } from '../kernel/calendar.ts';
import { idPrefixes } from '../kernel/id.ts';
import { currentBooking } from './store-subscriptions.ts';
import type { RollUp } from './usage-booking.ts';
import { canonicalJson, type ReferenceKind, type UsageEvent, type UsagePrice } from './usage-event.ts';

/** What to look for in a pricing model. */
export interface PriceReference {
  readonly pricingModelId: string;
  readonly kind: ReferenceKind;
  readonly value: string;
}

/** How each kind of reference finds its price. A slug is looked for among the prices that are in use, an id among all. */
function searchFor(kind: ReferenceKind, environmentId: number) {
  switch (kind) {
    case 'priceId':
      return sql`
        select asked.position, p.id as price_id, p.type as price_type, p.usage_meter_id
          from asked join prices p on p.environment_id = ${environmentId} and p.id = asked.value
           and p.pricing_model_id = asked.pricing_model_id
         where asked.kind = 'priceId'`;
    case 'priceSlug':
      return sql`
        select asked.position, p.id as price_id, p.type as price_type, p.usage_meter_id
          from asked join prices p on p.environment_id = ${environmentId} and p.pricing_model_id = asked.pricing_model_id
           and p.slug = asked.value and p.active and p.type = 'usage'
         where asked.kind = 'priceSlug'`;
    case 'usageMeterId':
    case 'usageMeterSlug':
      return sql`
        select asked.position, p.id as price_id, p.type as price_type, m.id as usage_meter_id
          from asked join usage_meters m on m.environment_id = ${environmentId} and m.pricing_model_id = asked.pricing_model_id
           and ${sql.ref(kind === 'usageMeterId' ? 'm.id' : 'm.slug')} = asked.value
          left join prices p on p.environment_id = ${environmentId} and p.usage_meter_id = m.id and p.is_default
         where asked.kind = ${kind}`;
    default:
      return kind satisfies never;
  }
}

/** What each reference leads to, in the order asked; undefined where it leads nowhere. */
export async function resolvePrices(work: Work, asked: readonly PriceReference[]): Promise<(UsagePrice | undefined)[]> {
  // Only the kinds that are asked for: nearly always one, and a statement of four takes twice as long to plan.
  const kinds = [...new Set(asked.map((each) => each.kind))].sort();
  const searches = kinds.map((kind) => searchFor(kind, work.environmentId));
  const { rows } = await sql<UsagePrice & { position: number }>`
    with asked as (
      select * from unnest(
        ${textArray(asked.map((each) => each.pricingModelId))}::text[],
        ${textArray(asked.map((each) => each.kind))}::text[],
        ${textArray(asked.map((each) => each.value))}::text[]
      ) with ordinality as asked (pricing_model_id, kind, value, position)
    ), found as (${sql.join(searches, sql` union all `)})
    select found.*, m.aggregation_type, m.low_balance_threshold
      from found left join usage_meters m on m.environment_id = ${work.environmentId} and m.id = found.usage_meter_id`.execute(
    work.db,
  );
  const byPosition = new Map(rows.map(({ position, ...price }) => [position, price]));
  return asked.map((_, index) => byPosition.get(index + 1));
}

const idPrefix = `${idPrefixes.usageEvent}_`;

/** The id of an event as it is stored: without the prefix of its kind, which would be the same for each. */
export function shortId(id: string): string {
  return id.startsWith(idPrefix) ? id.slice(idPrefix.length) : id;
}

/** What a transaction is known by for ever: the first half of the SHA-256 of its environment, meter and transactionId. */
export function transactionKeyOf(environmentId: number, usageMeterId: string, transactionId: string): string {
  return hash('sha256', `${environmentId} ${usageMeterId} ${transactionId}`, 'hex').slice(0, 32);
}

/** What properties are known by in a billing period, on a meter that counts distinct ones. */
export function propertiesDigest(
  ledgerAccountId: string,
  { billingPeriodId, properties }: Pick<UsageEvent, 'billingPeriodId' | 'properties'>,
): string {
  return hash('sha256', `${ledgerAccountId} ${billingPeriodId} ${canonicalJson(properties)}`, 'hex');
}

/** An event to be stored. */
export interface EventRow {
  /** Without the prefix of its kind, as it is stored. */
  readonly id: string;
  readonly seriesId: number;
  readonly transactionKey: string;
  readonly transactionId: string;
  readonly amount: number;
  readonly usageDate: Instant;
  /** JSON, or null when none were sent. */
  readonly propertiesText: string | null;
}

/**
 * Stores the events whose transaction no event has yet, the first of equal ones, under the booking of the unit
 * of work. Answers how many it stored. Equal requests that arrive at once wait here for one another, always in the same order.
 */
export async function insertNewEvents(work: Work, rows: readonly EventRow[]): Promise<number> {
  const insertion = sql`${eventInsertion(work, rows, currentBooking)} on conflict (transaction_key) do nothing`;
  const { numAffectedRows } = await insertion.execute(work.db);
  return Number(numAffectedRows);
}

/**
 * What stores events whose transactions no event has yet, in the order of their keys, under the number that `booking` selects.
 * It fails (23505) where one has.
 */
export function eventInsertion(
  work: Work,
  rows: readonly EventRow[],
  booking: RawBuilder<number>,
): RawBuilder<unknown> {
  return sql`
    insert into usage_events (environment_id, booking, id, series_id, transaction_key, transaction_id, amount, usage_date, properties, created_at)
    select ${work.environmentId}, (${booking}), new.id, new.series_id, new.transaction_key, new.transaction_id, new.amount, new.usage_date,
           new.properties, ${work.now}::bigint
      from unnest(
             ${idColumn(rows, (row) => row.id)}::text[],
             ${idColumn(rows, (row) => row.seriesId)}::bigint[],
             ${idColumn(rows, (row) => row.transactionKey)}::uuid[],
             ${textArray(rows.map((row) => row.transactionId))}::text[],
             ${idColumn(rows, (row) => row.amount)}::bigint[],
             ${idColumn(rows, (row) => row.usageDate)}::bigint[],
             ${textArray(rows.map((row) => row.propertiesText))}::json[]
           ) as new (id, series_id, transaction_key, transaction_id, amount, usage_date, properties)
     order by new.transaction_key, new.id collate "C"`;
}

/** An event without what the work itself tells. */
export type StoredEvent = Omit<UsageEvent, 'livemode' | 'updatedAt'>;

interface StoredRow extends Omit<StoredEvent, 'properties'> {
  readonly propertiesText: string | null;
}

/** The columns of an event `e` and its series `s`, as `toStoredEvent` reads them. */
export const eventColumns = sql`
  ${sql.lit(idPrefix)} || e.id as id, e.created_at, s.pricing_model_id, s.customer_id, s.subscription_id, s.usage_meter_id, s.price_id,
  s.billing_period_id, e.transaction_id, e.amount, e.usage_date, e.properties::text as properties_text`;

/** Runs a select of `eventColumns`. */
export async function selectEvents(work: Work, query: RawBuilder<unknown>): Promise<StoredEvent[]> {
  const { rows } = await sql<StoredRow>`${query}`.execute(work.db);
  return rows.map(({ propertiesText, ...row }) => ({
    ...row,
    // What was parsed as an object or null before it was stored.
    properties: propertiesText === null ? {} : (JSON.parse(propertiesText) as UsageEvent['properties']),
  }));
}

/** The id, without prefix, of the event that each of these transactions has, by its key. */
export async function listIdsByTransactionKey(
  work: Work,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ key: string; id: string }>`
    select replace(transaction_key::text, '-', '') as key, id from usage_events
     where environment_id = ${work.environmentId} and transaction_key = any(${idArray(keys)}::uuid[])`.execute(work.db);
  return new Map(rows.map((row) => [row.key, row.id]));
}

/** The stored events of these transactions. */
export async function listByTransactionKey(work: Work, keys: readonly string[]): Promise<StoredEvent[]> {
  // The events first: a plan that was made for any number of keys could begin with every series there is.
  return selectEvents(
    work,
    sql`
    with e as materialized (
      select * from usage_events
       where environment_id = ${work.environmentId} and transaction_key = any(${idArray(keys)}::uuid[])
    )
    select ${eventColumns} from e join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id`,
  );
}

/** Those of the digests that an event has counted with. */
export async function listSeenProperties(work: Work, digests: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ digest: string }>`
    select encode(p.digest, 'hex') as digest
      from unnest(${idArray(digests)}::text[]) as asked (digest)
      join usage_event_distinct_properties p on p.environment_id = ${work.environmentId} and p.digest = decode(asked.digest, 'hex')`.execute(
    work.db,
  );
  return rows.map((row) => row.digest);
}

/** The properties of an event, as a digest, on a meter that counts distinct ones. */
export interface DistinctRow {
  /** Without the prefix of its kind. */
  readonly eventId: string;
  /** SHA-256 of the account, the period and the canonical JSON, in hexadecimal. */
  readonly digest: string;
}

/** Remembers the properties seen in a period. Answers the ids of the events that were the first with theirs. */
export async function insertFirstWithProperties(
  work: Work,
  rows: readonly DistinctRow[],
): Promise<ReadonlySet<string>> {
  const first = await sql<{ usageEventId: string }>`
    insert into usage_event_distinct_properties (environment_id, digest, usage_event_id)
    select ${work.environmentId}, decode(new.digest, 'hex'), new.usage_event_id
      from unnest(${idArray(rows.map(({ digest }) => digest))}::text[], ${idArray(rows.map(({ eventId }) => eventId))}::text[])
             as new (digest, usage_event_id)
     order by new.digest collate "C", new.usage_event_id collate "C"
    on conflict do nothing
    returning usage_event_id`.execute(work.db);
  return new Set(first.rows.map((row) => row.usageEventId));
}

/** What adds to the roll-ups of series whose accounts are locked. One of a series and an hour may be there twice. */
export function rollUpsAddition(work: Work, additions: readonly RollUp[]): RawBuilder<unknown> {
  return sql`
    insert into usage_rollups (environment_id, series_id, hour, units, events)
    select ${work.environmentId}, new.series_id, new.hour, sum(new.units), sum(new.events)
      from unnest(
             ${idArray(additions.map((each) => each.seriesId))}::bigint[],
             ${idArray(additions.map((each) => each.hour))}::bigint[],
             ${idArray(additions.map((each) => each.units))}::numeric[],
             ${idArray(additions.map((each) => each.events))}::bigint[]) as new (series_id, hour, units, events)
     group by new.series_id, new.hour
    on conflict (environment_id, series_id, hour)
    do update set units = usage_rollups.units + excluded.units, events = usage_rollups.events + excluded.events`;
}
