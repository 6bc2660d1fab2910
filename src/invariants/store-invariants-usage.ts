import { type RawBuilder, sql } from 'kysely';
import type { Invariant } from './store-invariants.ts';
import {
  archivedSince,
  archivedUsage,
  entriesSince,
  eventsOfSeries,
  eventsSince,
  type Since,
  usageOfPrices,
} from './store-invariants-sums.ts';

// The aggregation of a meter may change, so events with repeated properties only give bounds.
const boundedWhereRepeated =
  'if some events repeat properties, it lies between the sum of the first ones and the sum of all';

// Rounds down, for times before 1970 too.
const hourOfEvent = sql`e.usage_date - ((e.usage_date % 3600000) + 3600000) % 3600000`;

/** The accounts with an event, in or before the checked ones, that is known as the first with its properties. */
function accountsThatRepeat(since: Since): RawBuilder<unknown> {
  const found = sql`
    select s.environment_id, s.ledger_account_id
      from usage_event_distinct_properties d
      join ${eventsSince(since)} e on e.environment_id = d.environment_id and e.id = d.usage_event_id
      join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
     union
    select s.environment_id, s.ledger_account_id
      from ${archivedSince(since)} a join usage_series s on s.environment_id = a.environment_id and s.id = a.series_id
     where a.firsts > 0`;
  if (since === null) return found;
  return sql`${found} union
    select s.environment_id, s.ledger_account_id
      from check_series_sums sums join usage_series s on s.environment_id = sums.environment_id and s.id = sums.series_id
     where sums.firsts > 0`;
}

/**
 * The number and sums of these events `e`, in total and for first occurrences, by account and by `columns` of the
 * events and their series `s`. Events of measured meters book nothing, so they count 0. The first event with its
 * properties may have another hour or price, so the account determines whether only first occurrences count.
 */
function sumsOfEvents(
  since: Since,
  events: RawBuilder<unknown>,
  columns: Readonly<Record<string, RawBuilder<unknown>>>,
): RawBuilder<unknown> {
  const named = Object.entries(columns).map(([name, column]) => sql`${column} as ${sql.ref(name)}, `);
  const grouped = Object.values(columns).map((column) => sql`, ${column}`);
  return sql`
    select s.environment_id, s.ledger_account_id, ${sql.join(named, sql``)} count(*) as events,
           sum(case when m.is_measured then 0 else e.amount end) as amount,
           case when bool_or(r.ledger_account_id is not null)
                then coalesce(sum(e.amount) filter (where d.usage_event_id is not null), 0)
                else sum(case when m.is_measured then 0 else e.amount end) end as first_amount
      from ${events} e
      join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
      join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id
      left join usage_event_distinct_properties d on d.environment_id = e.environment_id and d.usage_event_id = e.id
      left join (${accountsThatRepeat(since)}) r
        on r.environment_id = s.environment_id and r.ledger_account_id = s.ledger_account_id
     group by s.environment_id, s.ledger_account_id ${sql.join(grouped, sql``)}`;
}

/**
 * True for a transaction `t` whose events are checked: its entries may be numbered after the mark even if they are not.
 */
function isBookedSince(since: Since): RawBuilder<boolean> {
  if (since === null) return sql<boolean>`true`;
  return sql<boolean>`case when t.source_id ~ '^[0-9]{1,18}$' then t.source_id::bigint > ${sql.lit(since.booking)} else true end`;
}

/**
 * The last hour that archived events of a series may have. Roll-ups up to it are compared as one sum, because only the sum of
 * these events is kept.
 */
const archivedHours = sql`(
    select environment_id, series_id, max(last_hour) as last_hour from ${archivedUsage} a group by environment_id, series_id)`;

/** Whether the events of a usage transaction `t` are archived. They were compared with its entries before. */
const isArchived = sql<boolean>`case when t.source_id ~ '^[0-9]{1,18}$' then partition_of(t.source_id::bigint) in (
  select number from usage_partitions where state = 'archived') else false end`;

/** The hours of series with events to check, without those that archived events may have. */
function hoursSince(since: Since): RawBuilder<unknown> {
  return sql`
    select distinct e.environment_id, e.series_id, ${hourOfEvent} as hour from ${eventsSince(since)} e
     where not exists (select from ${archivedUsage} a
                        where a.environment_id = e.environment_id and a.series_id = e.series_id and a.last_hour >= ${hourOfEvent})`;
}

/** All events of series and hours with events to check: a roll-up covers a whole hour. */
function eventsOfHours(since: Since): RawBuilder<unknown> {
  if (since === null)
    return sql`(
    select e.*, a.last_hour as archived_hour
      from usage_events e left join ${archivedHours} a on a.environment_id = e.environment_id and a.series_id = e.series_id)`;
  return sql`(
    with hours as materialized (${hoursSince(since)})
    select e.*, null::bigint as archived_hour from usage_events e
      join hours h on h.environment_id = e.environment_id and h.series_id = e.series_id and h.hour = ${hourOfEvent}
     where e.usage_date >= (select min(hour) from hours) and e.usage_date < (select max(hour) from hours) + 3600000)`;
}

// The open roll-ups of ledger accounts `a`.
const openColumns = sql`a.environment_id, a.open_series_id as series_id, a.open_hour as hour, a.open_units as units, a.open_events as events`;

/** The closed and open parts of roll-ups. */
const rollUpParts = sql`
  select environment_id, series_id, hour, units, events from usage_rollups
  union all select ${openColumns} from ledger_accounts a where a.open_series_id is not null`;

/** The number and sums of the archived events of a series, at the last hour that these may have. */
function archivedAtLastHour(since: Since): RawBuilder<unknown> {
  if (since !== null)
    return sql`select null::bigint as environment_id, null::bigint as series_id, null::bigint as hour, 0::bigint as events,
      0::numeric as amount, 0::numeric as first_amount where false`;
  return sql`
    select a.environment_id, a.series_id, h.last_hour as hour, a.events, case when m.is_measured then 0 else a.amount end as amount,
           case when r.ledger_account_id is not null then a.first_amount when m.is_measured then 0 else a.amount end as first_amount
      from ${archivedUsage} a
      join ${archivedHours} h on h.environment_id = a.environment_id and h.series_id = a.series_id
      join usage_series s on s.environment_id = a.environment_id and s.id = a.series_id
      join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id
      left join (${accountsThatRepeat(since)}) r
        on r.environment_id = s.environment_id and r.ledger_account_id = s.ledger_account_id`;
}

/** The roll-ups to check. */
function rollUpsSince(since: Since): RawBuilder<unknown> {
  const parts =
    since === null
      ? sql`
    select r.environment_id, r.series_id, greatest(r.hour, a.last_hour) as hour, r.units, r.events
      from (${rollUpParts}) r left join ${archivedHours} a on a.environment_id = r.environment_id and a.series_id = r.series_id`
      : sql`
    select r.environment_id, r.series_id, r.hour, r.units, r.events from usage_rollups r join (${hoursSince(since)}) h
        on h.environment_id = r.environment_id and h.series_id = r.series_id and h.hour = r.hour
     union all
    select ${openColumns}
      from (${hoursSince(since)}) h
      join usage_series s on s.environment_id = h.environment_id and s.id = h.series_id
      join ledger_accounts a on a.environment_id = s.environment_id and a.id = s.ledger_account_id
       and a.open_series_id = h.series_id and a.open_hour = h.hour`;
  return sql`(select environment_id, series_id, hour, sum(units) as units, sum(events)::bigint as events
    from (${parts}) parts group by environment_id, series_id, hour)`;
}

/** Invariants of usage events, their series, and their stored sums. */
/** The time of a measured period until an instant: in days where these prorate its value, else in milliseconds. */
function timeUntil(at: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`case when d.proration = 'day' then floor((${at} - coalesce(t.days_from, t.period_start)) / 86400000.0) else ${at} end`;
}

export const usageInvariants: readonly Invariant[] = [
  {
    name: 'usageSeriesBelongTogether',
    sentence:
      'A usage series references a subscription of its customer, a price of its meter, their ledger account and a period of its subscription.',
    query: sql`
      select u.environment_id, u.id, u.customer_id, u.subscription_id, u.usage_meter_id, u.price_id, u.ledger_account_id, u.billing_period_id
        from usage_series u
        left join subscriptions s on s.environment_id = u.environment_id and s.id = u.subscription_id and s.customer_id = u.customer_id
        left join prices p on p.environment_id = u.environment_id and p.id = u.price_id and p.usage_meter_id = u.usage_meter_id
        left join ledger_accounts a
          on a.environment_id = u.environment_id and a.id = u.ledger_account_id
         and a.subscription_id = u.subscription_id and a.usage_meter_id = u.usage_meter_id
        left join billing_periods b
          on b.environment_id = u.environment_id and b.id = u.billing_period_id and b.subscription_id = u.subscription_id
       where s.id is null or p.id is null or a.id is null or b.id is distinct from u.billing_period_id`,
  },
  {
    name: 'usageEventsAreOfSeries',
    // There is no foreign key: a trigger checks new events only.
    sentence: 'A usage event belongs to a usage series.',
    query: (since) => sql`
      select e.environment_id, e.id, e.series_id
        from ${eventsSince(since)} e
       where not exists (select from usage_series s where s.environment_id = e.environment_id and s.id = e.series_id)`,
  },
  {
    name: 'transactionCountsOnce',
    sentence:
      'A transactionId belongs to one usage event of a usage meter, within the time for which transactions are compared.',
    query: (since) =>
      since === null
        ? sql`
      select environment_id, usage_meter_id, transaction_id, id, booking_before
        from (select e.environment_id, s.usage_meter_id, e.transaction_id, e.id, p.unique_from,
                     lag(e.booking) over (partition by e.environment_id, s.usage_meter_id, e.transaction_id order by e.booking) as booking_before
                from usage_events e
                join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
                join usage_partitions p on p.number = partition_of(greatest(e.booking, 0))) counted
       where booking_before >= unique_from`
        : sql`
      select e.environment_id, e.id, e.transaction_id, other.id as other_id
        from ${eventsSince(since)} e
        join usage_partitions p on p.number = partition_of(greatest(e.booking, 0))
        join usage_events other on other.transaction_key = e.transaction_key and other.booking >= p.unique_from
         and other.booking <= e.booking
       where (other.environment_id, other.id) <> (e.environment_id, e.id)`,
  },
  {
    name: 'transactionKeysAreDigests',
    sentence:
      'The key of a transaction is the first half of the SHA-256 of its environment, its usage meter and its transactionId.',
    query: (since) => sql`
      select environment_id, id, transaction_id, transaction_key, digest
        from (select e.environment_id, e.id, e.transaction_id, e.transaction_key,
                     left(encode(sha256(convert_to(
                       concat_ws(' ', e.environment_id, s.usage_meter_id, e.transaction_id), 'UTF8')), 'hex'), 32)::uuid as digest
                from ${eventsSince(since)} e
                join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id) event
       where transaction_key <> digest`,
  },
  {
    name: 'usageIsSumOfEvents',
    sentence: `Usage of an account is the sum of its usage events; ${boundedWhereRepeated}.`,
    query: (since) => sql`
      select coalesce(a.environment_id, e.environment_id) as environment_id,
             coalesce(a.id, e.ledger_account_id) as ledger_account_id, a.used, e.amount as events_amount, e.first_amount
        from ledger_accounts a
        full join (select s.environment_id, s.ledger_account_id, sum(sums.amount) as amount,
                          case when sum(sums.firsts) > 0 then sum(sums.first_amount) else sum(sums.amount) end as first_amount
                     from (${eventsOfSeries(since)}) sums
                     join usage_series s on s.environment_id = sums.environment_id and s.id = sums.series_id
                     join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id and not m.is_measured
                    group by s.environment_id, s.ledger_account_id) e
          on e.environment_id = a.environment_id and e.ledger_account_id = a.id
       where coalesce(a.used, 0) not between coalesce(e.first_amount, 0) and coalesce(e.amount, 0)
         and (a.customer_id is null or not starts_with(a.usage_meter_id, 'credit_pool_'))`,
  },
  {
    name: 'amountsFitTheirMeter',
    sentence: 'The amount of an event is 1 or more; on a measured meter it may be 0, and on a recurring one negative.',
    query: (since) => sql`
      select e.environment_id, e.id, e.amount, m.aggregation_type
        from ${eventsSince(since)} e
        join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
        join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id
       where e.amount < case when m.recurring then e.amount when m.is_measured then 0 else 1 end`,
  },
  {
    name: 'measuredMetersHaveNoBalance',
    sentence: 'An account of a measured meter has neither credits nor booked usage.',
    query: sql`
      select a.environment_id, a.id, a.granted, a.used, a.held
        from usage_meters m
        join ledger_accounts a on a.environment_id = m.environment_id and a.usage_meter_id = m.id
       where m.is_measured and (a.granted > 0 or a.used > 0 or a.held > 0)`,
  },
  {
    name: 'measuresFollowEvents',
    sentence:
      'The running totals of a measured meter are those of its stored events in the open usage period, counted again; other meters have none.',
    query: sql`
      with measured as (
        select a.environment_id, a.id as ledger_account_id, m.aggregation_type as kind, m.recurring, m.proration
          from usage_meters m
          join ledger_accounts a on a.environment_id = m.environment_id and a.usage_meter_id = m.id
         where m.is_measured
      ), event as (
        select d.environment_id, d.ledger_account_id, e.id, e.amount, e.booking > t.booked_before as is_present,
               least(e.usage_date, e.created_at) as date,
               greatest(t.period_start, least(e.usage_date, e.created_at, greatest(b.end_at, t.value_at))) as at
          from measured d
          join usage_series s on s.environment_id = d.environment_id and s.ledger_account_id = d.ledger_account_id
          join usage_events e on e.environment_id = s.environment_id and e.series_id = s.id
          left join billing_periods b on b.environment_id = s.environment_id and b.id = s.billing_period_id
          left join usage_measures t on t.environment_id = d.environment_id and t.ledger_account_id = d.ledger_account_id
      ), present as (
        select environment_id, ledger_account_id, amount, at, id, date, lead(at) over dated as next_at, row_number() over dated as place,
               count(*) over (partition by environment_id, ledger_account_id) as places
          from event where is_present
        window dated as (partition by environment_id, ledger_account_id order by date, id
          rows between unbounded preceding and unbounded following)
      ), found as (
        select t.environment_id, t.ledger_account_id, d.kind, d.recurring, count(p.at) as events, sum(p.amount) as total,
               greatest(max(p.amount), 0) as most, max(p.amount) filter (where p.place = p.places) as latest,
               max(p.date) filter (where p.place = p.places) as latest_date, max(p.id) filter (where p.place = p.places) as latest_id,
               coalesce(max(p.at), t.period_start) as last_at,
               t.opening_value * (coalesce(min(p.at), t.period_start) - t.period_start) + coalesce(sum(p.amount * (p.next_at - p.at)), 0) as set_time,
               t.opening_value * (${timeUntil(sql`t.value_at`)} - ${timeUntil(sql`t.period_start`)})
                 + coalesce(sum(p.amount * (${timeUntil(sql`t.value_at`)} - ${timeUntil(sql`p.at`)})), 0) as added_time
          from usage_measures t
          left join measured d on d.environment_id = t.environment_id and d.ledger_account_id = t.ledger_account_id
          left join present p on p.environment_id = t.environment_id and p.ledger_account_id = t.ledger_account_id
         group by t.environment_id, t.ledger_account_id, d.kind, d.recurring, d.proration
      ), archived as (
        select d.environment_id, d.ledger_account_id, sum(a.amount) as total, max(a.last_booking) as last_booking
          from measured d
          join usage_series s on s.environment_id = d.environment_id and s.ledger_account_id = d.ledger_account_id
          join ${archivedUsage} a on a.environment_id = s.environment_id and a.series_id = s.id
         group by d.environment_id, d.ledger_account_id
      ), earlier as (
        select environment_id, ledger_account_id, sum(amount) as total, array_agg(amount) as amounts
          from event where not is_present group by environment_id, ledger_account_id
      )
      select t.environment_id, t.ledger_account_id, f.kind, t.value, t.value_time, f.events, f.total, f.most, f.latest, f.set_time, f.added_time
        from usage_measures t
        join found f using (environment_id, ledger_account_id)
        left join earlier o using (environment_id, ledger_account_id)
        left join archived a using (environment_id, ledger_account_id)
        left join lateral (
          select count(*) as levels, sum(l.value) as total from usage_levels l
           where l.environment_id = t.environment_id and l.ledger_account_id = t.ledger_account_id
             and l.period_start = t.period_start) l on true
       where case
           when f.kind is null then true
           -- Events of the open period are archived, so they cannot be counted again.
           when a.last_booking > t.booked_before then false
           when f.kind = 'max' then (t.opening_value, t.value, t.value_time) <> (0, coalesce(f.most, 0), 0)
           when f.kind = 'latest' then (t.opening_value, t.value, t.value_time) <> (0, coalesce(f.latest, 0), 0)
             or (t.event_date, t.event_id) is distinct from (f.latest_date, f.latest_id)
           when f.kind = 'unit_hours' then (t.value, t.value_at, t.value_time) <> (coalesce(f.latest, t.opening_value), f.last_at, f.set_time)
             or (t.event_date, t.event_id) is distinct from (f.latest_date, f.latest_id)
             or (a.total is null and not t.opening_value = any(coalesce(o.amounts, '{}') || 0))
             or (l.levels, coalesce(l.total, 0)) <> (f.events, coalesce(f.total, 0))
           else (t.opening_value, t.value, t.value_at, t.value_time)
             <> (coalesce(o.total, 0) + coalesce(a.total, 0), t.opening_value + coalesce(f.total, 0), f.last_at, f.added_time) end
      union all
      select e.environment_id, e.ledger_account_id, null, null, null, count(*), sum(e.amount), null, null, null, null
        from event e where e.is_present is null group by e.environment_id, e.ledger_account_id`,
  },
  {
    name: 'usageIsBookedWithItsEvents',
    sentence: `A usage transaction of the ledger books the sum of its usage events for each account and price; ${boundedWhereRepeated}.`,
    query: (since) => sql`
      select coalesce(u.environment_id, e.environment_id) as environment_id,
             coalesce(u.ledger_account_id, e.ledger_account_id) as ledger_account_id,
             coalesce(u.price_id, e.price_id) as price_id, coalesce(u.booking, e.booking) as booking,
             u.used, e.amount as events_amount, e.first_amount
        from (select n.environment_id, n.ledger_account_id, n.price_id, t.source_id as booking, sum(n.amount) as used
                from ${entriesSince(since)} n
                join ledger_transactions t on t.environment_id = n.environment_id and t.id = n.ledger_transaction_id
               where n.credit_side = 'used' and n.price_id is not null and ${isBookedSince(since)} and not ${isArchived}
               group by n.environment_id, n.ledger_account_id, n.price_id, t.source_id) u
        full join (${sumsOfEvents(since, eventsSince(since), { price_id: sql`s.price_id`, booking: sql`e.booking::text collate "C"` })}) e
          on e.environment_id = u.environment_id and e.ledger_account_id = u.ledger_account_id
         and e.price_id = u.price_id and e.booking = u.booking
       where coalesce(u.used, 0) not between coalesce(e.first_amount, 0) and coalesce(e.amount, 0)`,
  },
  {
    name: 'openRollUpsAreOfTheirAccount',
    sentence: 'The open roll-up of a ledger account belongs to a series of that account.',
    query: sql`
      select a.environment_id, a.id, a.open_series_id, s.ledger_account_id
        from ledger_accounts a
        left join usage_series s on s.environment_id = a.environment_id and s.id = a.open_series_id
       where a.open_series_id is not null and s.ledger_account_id is distinct from a.id`,
  },
  {
    name: 'rollUpsAreSumsOfEvents',
    sentence: `A roll-up has the number and the sum of the usage events of its hour; ${boundedWhereRepeated}.`,
    query: (since) => sql`
      select coalesce(r.environment_id, e.environment_id) as environment_id, coalesce(r.series_id, e.series_id) as series_id,
             coalesce(r.hour, e.hour) as hour, r.events, e.events as events_counted, r.units, e.amount as events_amount, e.first_amount
        from ${rollUpsSince(since)} r
        full join (
          select environment_id, series_id, hour, sum(events)::bigint as events, sum(amount) as amount, sum(first_amount) as first_amount
            from (select environment_id, series_id, hour, events, amount, first_amount
                    from (${sumsOfEvents(since, eventsOfHours(since), { series_id: sql`s.id`, hour: sql`greatest(${hourOfEvent}, e.archived_hour)` })}) present
                   union all ${archivedAtLastHour(since)}) counted
           group by environment_id, series_id, hour) e
          on e.environment_id = r.environment_id and e.series_id = r.series_id and e.hour = r.hour
       where r.events is distinct from e.events or r.units not between e.first_amount and e.amount`,
  },
  {
    name: 'usageIsSumOfRollUps',
    sentence: 'Usage of an account at a price is the sum of the roll-ups of its series.',
    query: (since) => sql`
      select coalesce(u.environment_id, r.environment_id) as environment_id,
             coalesce(u.ledger_account_id, r.ledger_account_id) as ledger_account_id,
             coalesce(u.price_id, r.price_id) as price_id, u.used, r.units
        from (select environment_id, ledger_account_id, price_id, sum(used) as used
                from (${usageOfPrices(since)}) sums group by environment_id, ledger_account_id, price_id) u
        full join (
          select s.environment_id, s.ledger_account_id, s.price_id, sum(r.units) as units
            from (${rollUpParts}) r join usage_series s on s.environment_id = r.environment_id and s.id = r.series_id
           group by s.environment_id, s.ledger_account_id, s.price_id) r
          on r.environment_id = u.environment_id and r.ledger_account_id = u.ledger_account_id and r.price_id = u.price_id
       where coalesce(u.used, 0) <> coalesce(r.units, 0)`,
  },
  {
    name: 'eventsMatchTheirPrice',
    sentence: 'A usage event has the properties that the conditions of its price name, unless they were erased.',
    query: (since) => sql`
      select e.environment_id, e.id, p.id as price_id, p.where
        from prices p
        join usage_series s on s.environment_id = p.environment_id and s.usage_meter_id = p.usage_meter_id and s.price_id = p.id
        join ${eventsSince(since)} e on e.environment_id = s.environment_id and e.series_id = s.id
        join customers c on c.environment_id = s.environment_id and c.id = s.customer_id
       where p.where is not null and (e.properties is not null or c.erased_at is null)
         and exists (
           select from jsonb_each(p.where) as condition (property, accepted)
            where coalesce(json_typeof(e.properties -> condition.property) in ('string', 'number', 'boolean')
                           and condition.accepted ? (e.properties ->> condition.property), false) is not true)`,
  },
  {
    name: 'eventsOfPricesAreCounted',
    sentence:
      'At a price with an amount for each event, or with their own prices, the events to bill or that pools pay for and the sum of these are those of the stored events.',
    query: sql`
      select coalesce(o.environment_id, e.environment_id) as environment_id,
             coalesce(o.ledger_account_id, e.ledger_account_id) as ledger_account_id, coalesce(o.price_id, e.price_id) as price_id,
             o.events, e.events as stored_events, o.own_amount, e.own_amount as stored_own_amount
        from (select environment_id, ledger_account_id, price_id, sum(events) as events, sum(own_amount) as own_amount
                from (select environment_id, ledger_account_id, price_id, events, own_amount from usage_overages
                       union all
                      select environment_id, ledger_account_id, price_id, events, own_amount from pool_draws) part
               where events > 0 or own_amount > 0 group by environment_id, ledger_account_id, price_id) o
        full join (
          select s.environment_id, s.ledger_account_id, s.price_id, sum(e.events) as events,
                 sum(e.own_price) * 1000000000000 as own_amount
            from prices p
            join usage_meters m on m.environment_id = p.environment_id and m.id = p.usage_meter_id
             and m.aggregation_type <> 'count_distinct_properties' and not m.is_measured
            join usage_series s on s.environment_id = p.environment_id and s.price_id = p.id
           cross join lateral (
             select count(*) as events, coalesce(sum(e.own_price), 0) as own_price
               from usage_events e where e.environment_id = s.environment_id and e.series_id = s.id
             union all
             select a.events, a.own_price from ${archivedUsage} a where a.environment_id = s.environment_id and a.series_id = s.id) e
           where p.pricing ->> 'model' = 'dynamic' or p.pricing ? 'fixedAmountPerEvent'
           group by s.environment_id, s.ledger_account_id, s.price_id having sum(e.events) > 0) e
          on e.environment_id = o.environment_id and e.ledger_account_id = o.ledger_account_id and e.price_id = o.price_id
       where o.events is distinct from e.events or o.own_amount is distinct from e.own_amount`,
  },
];
