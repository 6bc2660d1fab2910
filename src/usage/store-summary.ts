import { type NotNull, type RawBuilder, sql } from 'kysely';
import { idArray } from '../database/array-literal.ts';
import type { Work } from '../database/work.ts';
import { type Instant, msPerDay } from '../kernel/calendar.ts';
import type { UsageMeter } from '../pricing/usage-meter.ts';
import { isMonth, type SeriesFilter, type SplitRange, splitAtHours } from './event-query.ts';
import { chooseSeries, eventsWithin, rollUpsWithin, type SeriesChoice, seriesConditions } from './store-read.ts';

/** The input of a summary: the events of a meter in a range, limited to some series. */
export interface Counted {
  readonly meter: Pick<UsageMeter, 'id' | 'aggregationType'>;
  /** The meter's series, or a subset. */
  readonly filter: SeriesFilter;
  /** The series that match the filter. */
  readonly series: SeriesChoice;
  readonly range: { readonly from: Instant; readonly to: Instant };
}

interface Sums {
  readonly units: bigint;
  readonly events: number;
}

/**
 * Sums by intervals that begin at `starts`, which are whole hours except the first; empty intervals are omitted. Whole hours
 * of a whole meter are read from their sums.
 */
export async function sumByTime(
  work: Work,
  counted: Counted,
  starts: readonly Instant[],
): Promise<(Sums & { readonly position: number })[]> {
  const positionOf = (column: string) =>
    sql`greatest(width_bucket(${sql.ref(column)}, ${idArray(starts)}::bigint[]), 1)`;
  const keys = { ofHour: positionOf('e.hour'), ofEvent: positionOf('e.usage_date') };
  const { customerId, subscriptionId } = counted.filter;
  const isWhole = customerId === undefined && subscriptionId === undefined;
  const { hours, edges } = splitAtHours(counted.range);
  const parts = countedParts(work, counted, { hours: isWhole ? null : hours, edges }, keys);
  if (isWhole && hours !== null) {
    const whole = { from: hours.from ?? counted.range.from, to: hours.to ?? counted.range.to };
    parts.push(sql`
      select ${keys.ofHour} as key, e.units, e.events from ${metersWithin(work, whole, counted.meter.id)}`);
  }
  const { rows } = await sql<Sums & { position: number }>`
    select key as position, sum(units) as units, sum(events)::bigint as events
      from (${sql.join(parts, sql` union all `)}) counted
     group by key`.execute(work.db);
  return rows;
}

/**
 * Sums by day for each meter that a customer has ever used: the oldest `mostMeters` that add up. A meter without usage in
 * the range, which is of whole days, has a row without a day.
 */
export async function sumDaysOfCustomer(
  work: Work,
  customerId: string,
  range: { readonly from: Instant; readonly to: Instant },
  mostMeters: number,
): Promise<
  { readonly meterId: string; readonly name: string; readonly day: Instant | null; readonly units: bigint }[]
> {
  const filter = { customerId };
  const series = await chooseSeries(work, filter);
  if (series.extent === 'none') return [];
  const ofCustomer = sql.join(
    [sql`s.environment_id = ${work.environmentId}`, ...seriesConditions(work, filter)],
    sql` and `,
  );
  const { rows } = await sql<{ meterId: string; name: string; day: Instant | null; units: bigint }>`
    with summed as (
      select s.usage_meter_id, e.hour / ${msPerDay}::bigint * ${msPerDay}::bigint as day, sum(e.units) as units
        from ${rollUpsWithin(work, series, range)} join usage_series s on s.id = e.series_id and ${ofCustomer}
       group by 1, 2
    ), used as (
      select m.id, m.name from usage_meters m
       where m.environment_id = ${work.environmentId} and not m.is_measured
         and m.id in (select s.usage_meter_id from usage_series s where ${ofCustomer})
       order by m.id limit ${mostMeters})
    select used.id as meter_id, used.name, summed.day, coalesce(summed.units, 0) as units
      from used left join summed on summed.usage_meter_id = used.id
     order by used.id, summed.day`.execute(work.db);
  return rows;
}

/** The accounts with these ids that are of subscriptions: the meter of each and its subscription. */
export async function listMetersOf(
  work: Work,
  accountIds: readonly string[],
): Promise<{ readonly usageMeterId: string; readonly subscriptionId: string }[]> {
  return work.db
    .selectFrom('ledgerAccounts')
    .select(['usageMeterId', 'subscriptionId'])
    .where('environmentId', '=', work.environmentId)
    .where('id', 'in', [...accountIds])
    .where('subscriptionId', 'is not', null)
    .$narrowType<{ subscriptionId: NotNull }>()
    .orderBy('id')
    .execute();
}

/** A customer or property value with its usage. The last row may be `other`: the sum beyond the limit. */
export interface RankedSums extends Sums {
  readonly key: string | null;
  readonly other: number | null;
}

/** Sums by customer: those with the most usage. A whole month of a whole meter is read from its sums. */
export function sumByCustomer(work: Work, counted: Counted, most: number): Promise<RankedSums[]> {
  const { customerId, subscriptionId } = counted.filter;
  if (customerId === undefined && subscriptionId === undefined && isMonth(counted.range))
    return rankMonth(work, counted, most);
  const key = sql`s.customer_id`;
  return ranked(work, countedParts(work, counted, splitAtHours(counted.range), { ofHour: key, ofEvent: key }), most);
}

/**
 * Ranks the customers of a month. `fresh` is the usage that the sums of the month do not have yet. A customer without any is
 * among the first only if it is among the first of the sums. The sums by hour have all usage that is not open on an account.
 */
async function rankMonth(work: Work, { meter, range }: Counted, most: number): Promise<RankedSums[]> {
  const { environmentId } = work;
  const ofMonth = sql`m.environment_id = ${environmentId} and m.usage_meter_id = ${meter.id} and m.month = ${range.from}::bigint`;
  const { rows } = await sql<RankedSums>`
    with fresh as materialized (
      select s.customer_id as key, sum(part.units) as units, sum(part.events)::bigint as events,
             sum(part.units) filter (where part.is_open) as open_units, sum(part.events) filter (where part.is_open) as open_events
        from (select r.series_id, r.hour, r.units - r.summed_units as units, r.events - r.summed_events as events, false as is_open
                from usage_rollups r
               where r.environment_id = ${environmentId} and not r.is_summed
               union all
              select a.open_series_id, a.open_hour, a.open_units, a.open_events, true from ledger_accounts a
               where a.environment_id = ${environmentId} and a.open_series_id is not null and a.usage_meter_id = ${meter.id} offset 0) part
        join usage_series s on s.environment_id = ${environmentId} and s.id = part.series_id and s.usage_meter_id = ${meter.id}
       where part.hour >= ${range.from}::bigint and part.hour < ${range.to}::bigint
       group by s.customer_id
    ), grown as materialized (
      select f.key, f.units + coalesce(m.units, 0) as units, f.events + coalesce(m.events, 0) as events, m.customer_id is null as is_new
        from fresh f left join usage_months m on ${ofMonth} and m.customer_id = f.key
    ), ranked as materialized (
      select *, row_number() over (${byUsage}) as place
        from (select * from (select key, units, events from grown
                              union all
                             select * from (select m.customer_id as key, m.units, m.events from usage_months m where ${ofMonth}
                                             order by m.units desc, m.events desc, m.customer_id limit ${most}) led
                              where key not in (select key from fresh)) candidate
               ${byUsage} limit ${most}) first
    )
    select place, key, units, events, null::bigint as other from ranked
    union all
    select ${most + 1}, null, summed.units - (select sum(units) from ranked), (summed.events - (select sum(events) from ranked))::bigint,
           counted.customers - ${most}
      from (select count(*) + (select count(*) from grown where is_new) as customers from usage_months m where ${ofMonth}) counted
     cross join (select sum(units) as units, sum(events) as events
                   from (select h.units, h.events from usage_hours h
                          where h.environment_id = ${environmentId} and h.usage_meter_id = ${meter.id}
                            and h.hour >= ${range.from}::bigint and h.hour < ${range.to}::bigint
                          union all
                         select open_units, open_events from fresh) part) summed
     where counted.customers > ${most}
     order by place`.execute(work.db);
  return rows;
}

/** Sums by a property, reading each event: the values with the most usage. */
export function sumByProperty(
  work: Work,
  counted: Counted,
  { property, length, most }: { readonly property: string; readonly length: number; readonly most: number },
): Promise<RankedSums[]> {
  const key = sql`left(e.properties ->> ${property}::text, ${length})`;
  const split = { hours: null, edges: [counted.range] };
  return ranked(work, countedParts(work, counted, split, { ofHour: key, ofEvent: key }), most);
}

const byUsage = sql`order by units desc, events desc, key collate "C"`;

async function ranked(work: Work, parts: readonly RawBuilder<unknown>[], most: number): Promise<RankedSums[]> {
  const { rows } = await sql<RankedSums>`
    with grouped as materialized (
      select key, sum(units) as units, sum(events)::bigint as events from (${sql.join(parts, sql` union all `)}) counted group by key
    ), ranked as materialized (
      select *, row_number() over (${byUsage}) as place from (select * from grouped ${byUsage} limit ${most}) first
    )
    select place, key, units, events, null::bigint as other from ranked
    union all
    select ${most + 1}, null, sum(g.units) - (select sum(units) from ranked), (sum(g.events) - (select sum(events) from ranked))::bigint,
           count(*) - ${most} from grouped g having count(*) > ${most}
     order by place`.execute(work.db);
  return rows;
}

/** The grouping keys of hours and events. */
interface Keys {
  readonly ofHour: RawBuilder<unknown>;
  readonly ofEvent: RawBuilder<unknown>;
}

/** Selects of (key, units, events): one row per whole hour of a series, and one per event of the partial hours. */
function countedParts(work: Work, counted: Counted, { hours, edges }: SplitRange, keys: Keys): RawBuilder<unknown>[] {
  const { aggregationType } = counted.meter;
  const conditions = sql.join(
    [sql`s.environment_id = ${work.environmentId}`, sql`s.id = e.series_id`, ...seriesConditions(work, counted.filter)],
    sql` and `,
  );
  const isDistinct = aggregationType === 'count_distinct_properties';
  const first = isDistinct
    ? sql` left join usage_event_distinct_properties d on d.environment_id = e.environment_id and d.usage_event_id = e.id`
    : sql``;
  const amount = isDistinct ? sql`case when d.usage_event_id is null then 0 else e.amount end` : sql`e.amount`;
  const parts = edges.map(
    (edge) => sql`
      select ${keys.ofEvent} as key, (${amount})::numeric as units, 1::bigint as events
        from ${eventsWithin(work, counted.series, edge)} join usage_series s on ${conditions}${first}`,
  );
  if (hours !== null)
    parts.push(sql`
      select ${keys.ofHour} as key, e.units, e.events
        from ${rollUpsWithin(work, counted.series, hours)} join usage_series s on ${conditions}`);
  return parts;
}

/** The usage of meters in a range of whole hours as a table `e`: sums by hour, and the roll-ups that are open on an account. */
export function metersWithin(
  { environmentId }: Work,
  { from, to }: { readonly from: Instant; readonly to: Instant },
  usageMeterId: string | null = null,
): RawBuilder<unknown> {
  const ofMeter = usageMeterId === null ? sql`` : sql`and m.id = ${usageMeterId}`;
  return sql`(
    select m.id as usage_meter_id, h.hour, h.units, h.events
      from usage_meters m
      join usage_hours h on h.environment_id = m.environment_id and h.usage_meter_id = m.id
       and h.hour >= ${from}::bigint and h.hour < ${to}::bigint
     where m.environment_id = ${environmentId} ${ofMeter}
     union all
    select m.id, a.open_hour, sum(a.open_units), sum(a.open_events)::bigint
      from ledger_accounts a
      join usage_meters m on m.environment_id = a.environment_id and m.id = a.usage_meter_id ${ofMeter}
     where a.environment_id = ${environmentId} and a.open_series_id is not null and a.open_hour >= ${from}::bigint
       and a.open_hour < ${to}::bigint
     group by 1, 2) e`;
}
