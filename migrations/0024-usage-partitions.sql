-- Usage events in partitions by their arrival, so that old ones can be archived as a whole.

-- A partition has 2^40 numbers of `usage_bookings`. Events arrive in the newest one alone, whatever their date: an older one
-- gets no event any more. Without `deduplicationDays` there is one partition for ever.

-- All partitions that ever were. Instants are real time, because partitions hold the events of every environment.
create table usage_partitions (
  number integer primary key,
  state text not null,
  -- Its transactions count once since this booking. It does not change while the partition is open.
  unique_from bigint not null,
  opened_at bigint,
  closed_at bigint,
  -- The archive. A restored partition keeps it.
  file text,
  bytes bigint,
  sha256 text,
  events bigint,
  first_usage_date bigint,
  last_usage_date bigint,
  archived_at bigint,
  -- Customers have moved into or out of this restored partition, so the file has other events.
  file_is_old boolean not null default false,
  -- JavaScript knows whole numbers up to 2^53.
  constraint partitions_number check (number between 0 and 8190),
  constraint partitions_state check (state in ('ready', 'open', 'closed', 'archived', 'restored')),
  constraint partitions_times check ((opened_at is null) = (state = 'ready') and (closed_at is null) = (state in ('ready', 'open'))
    and closed_at >= opened_at),
  constraint partitions_archive check (num_nulls(file, bytes, sha256, events, archived_at) in (0, 5)
    and (file is null or state in ('archived', 'restored')) and (state not in ('archived', 'restored') or file is not null)
    and (first_usage_date is null) = (last_usage_date is null)),
  constraint partitions_file_is_old check (not file_is_old or state = 'restored'),
  constraint partitions_unique_from check (unique_from <= number::bigint << 40 and unique_from & ((1::bigint << 40) - 1) = 0)
);
create unique index partitions_one_open on usage_partitions (state) where state = 'open';
grant select on usage_partitions to tollkeeper_service;

-- Sums of the events of an archived partition by series. The invariants, and bills of late usage, count these in place of the events.
create table usage_archive_sums (
  number integer not null,
  environment_id bigint not null,
  series_id bigint not null,
  events bigint not null,
  amount numeric not null,
  -- Of the events that were the first with their properties.
  first_amount numeric not null,
  firsts bigint not null,
  own_price numeric not null,
  -- Used before the billing period of the series began.
  late_units numeric not null,
  late_events bigint not null,
  late_own_price numeric not null,
  -- Roll-ups up to this hour may count archived events.
  last_hour bigint not null,
  first_usage_date bigint not null,
  last_usage_date bigint not null,
  last_booking bigint not null,
  -- Events with properties or a label in the archive: an erasure has to look at it.
  with_properties bigint not null,
  primary key (environment_id, series_id, number),
  foreign key (environment_id, series_id) references usage_series
);
create index usage_archive_sums_by_number on usage_archive_sums (number, environment_id, last_usage_date);

-- The first partition is the table as it was, with its keys.
alter table usage_event_distinct_properties drop constraint usage_event_distinct_properti_environment_id_usage_event_i_fkey;
drop trigger usage_events_series on usage_events;
drop policy if exists tenant on usage_events;
drop policy if exists worker on usage_events;
alter table usage_events disable row level security;
revoke all on usage_events from tollkeeper_service, tollkeeper_worker;
alter table usage_events rename to usage_events_0;
alter index usage_events_by_series rename to usage_events_0_by_series;
alter index usage_events_by_label rename to usage_events_0_by_label;
alter index usage_events_by_date rename to usage_events_0_by_date;
alter index usage_events_by_booking rename to usage_events_0_by_booking;
create table usage_events (like usage_events_0 including comments including constraints including defaults including storage)
  partition by range (booking);
-- A key of the whole table would have to contain the booking. Each partition has its own, and the trigger below looks into older ones.
create index usage_events_by_series on usage_events (series_id, id);
create index usage_events_by_label on usage_events (environment_id, label, id) where label is not null;
create index usage_events_by_date on usage_events using brin (usage_date int8_minmax_multi_ops) with (pages_per_range = 32);
create index usage_events_by_booking on usage_events using brin (booking) with (pages_per_range = 32);
alter table usage_events_0 add constraint events_0_bookings check (booking < 1::bigint << 40);
alter table usage_events attach partition usage_events_0 for values from (minvalue) to (1099511627776);
alter table usage_events_0 drop constraint events_0_bookings;
grant select on usage_events_0 to tollkeeper_worker;
insert into usage_partitions (number, state, unique_from, opened_at)
values (0, 'open', 0, (extract(epoch from clock_timestamp()) * 1000)::bigint);

create function partition_of(booking bigint) returns integer language sql immutable return (booking >> 40)::integer;

-- The number under which a unit of work records usage. While it runs no other partition is opened, so whatever an older partition
-- holds has been committed before the first event of a newer one.
create function next_usage_booking() returns bigint language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(7007, hashtext(current_schema()));
  return nextval('usage_bookings');
end $$;

-- The first booking whose transactions count as repeats now.
create function usage_unique_from() returns bigint language sql stable set search_path from current
  return (select p.unique_from from usage_partitions p
           where p.number = (select partition_of(last_value) from usage_bookings));

create or replace function analyze_grown_tables() returns void
  language plpgsql volatile security definer set search_path from current set default_statistics_target = 20 as $$
declare
  grown text;
begin
  for grown in
    select quote_ident(c.relname) from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
       and pg_relation_size(c.oid) / current_setting('block_size')::bigint > 4 * greatest(c.relpages, 2)
     order by c.relname
  loop
    execute format('analyze %s', grown);
  end loop;
end $$;

-- In place of a foreign key and of a unique key over partitions. Both look at all that a statement adds.
create or replace function check_usage_event_series() returns trigger language plpgsql security definer
  set search_path from current as $$
declare
  environments bigint[];
  series bigint[];
  newest integer;
  since bigint;
  keys uuid[];
begin
  select array_agg(e.environment_id), array_agg(e.series_id) into environments, series
    from (select distinct environment_id, series_id from added) e;
  if exists (
    select from unnest(environments, series) as e (environment_id, series_id)
     where (select true from usage_series s where s.environment_id = e.environment_id and s.id = e.series_id) is null)
  then
    raise foreign_key_violation using message = 'a usage event points at a series that does not exist',
      table = 'usage_events', constraint = 'usage_events_series';
  end if;
  -- One unit of work has one booking. Most installations have one partition.
  select partition_of(max(booking)) into newest from added;
  if newest > 0 then
    select p.unique_from into strict since from usage_partitions p where p.number = newest;
    -- A move compares its events in both directions.
    keys := case when since < newest::bigint << 40 and not is_moving() then array(select a.transaction_key from added a) end;
    if exists (
      select from usage_events e where e.transaction_key = any(keys) and e.booking >= since and e.booking < newest::bigint << 40)
    then
      raise unique_violation using message = 'a usage event of this transaction is in an older partition',
        table = 'usage_events', constraint = 'usage_events_transaction_unique';
    end if;
  end if;
  return null;
end $$;
create trigger usage_events_series after insert on usage_events referencing new table as added
  for each statement execute function check_usage_event_series();

-- The functions below change tables, so they run as the owner. Only the worker may call them: those with usage_partition in their name.

-- An empty table of the shape of a partition, outside of usage_events.
create function make_usage_partition(n integer) returns void
  language plpgsql volatile security definer set search_path from current as $$
begin
  execute format('create table usage_events_%s (like usage_events including comments including constraints
    including defaults including storage)', n);
  execute format('grant select, insert, update on usage_events_%s to tollkeeper_worker', n);
end $$;

-- Its keys and indexes, and a constraint that spares the attachment a look at each row.
create function index_usage_partition(n integer) returns void
  language plpgsql volatile security definer set search_path from current as $$
begin
  -- Citus adds one constraint at a time.
  execute format('alter table usage_events_%s add primary key (environment_id, id)', n);
  execute format('alter table usage_events_%1$s add constraint events_%1$s_transaction_unique unique (transaction_key)', n);
  execute format('alter table usage_events_%1$s add constraint events_%1$s_bookings check (booking >= %2$s and booking < %3$s)',
    n, n::bigint << 40, (n + 1)::bigint << 40);
  -- Those of usage_events: the attachment would build one that is missing, under its lock.
  execute format('create index on usage_events_%s (series_id, id)', n);
  execute format('create index on usage_events_%s (environment_id, label, id) where label is not null', n);
  execute format('create index on usage_events_%s using brin (usage_date int8_minmax_multi_ops) with (pages_per_range = 32)', n);
  execute format('create index on usage_events_%s using brin (booking) with (pages_per_range = 32)', n);
  execute format('revoke insert, update on usage_events_%s from tollkeeper_worker', n);
end $$;

create function attach_usage_partition(n integer) returns void
  language plpgsql volatile security definer set search_path from current as $$
begin
  execute format('alter table usage_events attach partition usage_events_%s for values from (%s) to (%s)',
    n, case n when 0 then 'minvalue' else (n::bigint << 40)::text end, (n + 1)::bigint << 40);
  execute format('alter table usage_events_%1$s drop constraint events_%1$s_bookings', n);
end $$;

-- Makes the next partition ahead, unless there is one behind `beyond`. If the numbers reach it before it is opened, it is as strict as
-- the one before.
create function prepare_usage_partition(beyond integer default -1) returns void
  language plpgsql volatile security definer set search_path from current set lock_timeout = '200ms' as $$
declare
  newest usage_partitions;
begin
  select p.* into strict newest from usage_partitions p order by p.number desc limit 1 for update;
  if newest.state <> 'ready' or newest.number <= beyond then
    perform make_usage_partition(newest.number + 1);
    perform index_usage_partition(newest.number + 1);
    perform attach_usage_partition(newest.number + 1);
    insert into usage_partitions (number, state, unique_from)
    select newest.number + 1, 'ready', p.unique_from from usage_partitions p where p.state = 'open';
  end if;
end $$;

-- Opens the next partition for all events from now on, once no unit of work records usage. It waits only shortly, because those
-- that come later wait behind it. Transactions of partitions that were closed after `p_unique_since` go on to count once; with null, all do.
create function open_usage_partition(p_now bigint, p_unique_since bigint) returns integer
  language plpgsql volatile security definer set search_path from current set lock_timeout = '200ms' as $$
declare
  next_number integer;
begin
  perform from usage_partitions p where p.state = 'open' for update;
  select max(p.number) into next_number from usage_partitions p;
  if not exists (select from usage_partitions p where p.number = next_number and p.state = 'ready') then
    raise object_not_in_prerequisite_state using message = 'the next partition is not ready';
  end if;
  perform pg_advisory_xact_lock(7007, hashtext(current_schema()));
  if partition_of((select last_value from usage_bookings)) < next_number then
    perform setval('usage_bookings', next_number::bigint << 40);
  end if;
  -- Those of another cell may have come between the open one and the next.
  update usage_partitions set state = 'closed', opened_at = coalesce(opened_at, p_now), closed_at = greatest(p_now, opened_at)
   where state in ('open', 'ready') and number < next_number;
  update usage_partitions
     set state = 'open', opened_at = p_now,
         unique_from = case when p_unique_since is null then 0
           else (select min(p.number)::bigint << 40 from usage_partitions p where p.closed_at > p_unique_since or p.number = next_number) end
   where number = next_number;
  return next_number;
end $$;

-- Whether a closed partition is outside of the time in which transactions of the open one are compared.
create function usage_partition_may_leave(n integer) returns boolean language sql stable set search_path from current
  return (select (n + 1)::bigint << 40 <= p.unique_from from usage_partitions p where p.state = 'open');

-- Sums up a closed partition. Its events change no more, but for the properties of erased customers.
create function sum_up_usage_partition(n integer) returns void
  language plpgsql volatile security definer set search_path from current set work_mem = '256MB' as $$
begin
  delete from usage_archive_sums where number = n;
  execute format('
    insert into usage_archive_sums (number, environment_id, series_id, events, amount, first_amount, firsts, own_price,
           late_units, late_events, late_own_price, last_hour, first_usage_date, last_usage_date, last_booking, with_properties)
    select %1$s, e.environment_id, e.series_id, count(*), sum(e.amount),
           coalesce(sum(e.amount) filter (where d.usage_event_id is not null), 0), count(d.usage_event_id),
           coalesce(sum(e.own_price), 0), coalesce(sum(e.amount) filter (where e.usage_date < b.start_at), 0),
           count(*) filter (where e.usage_date < b.start_at), coalesce(sum(e.own_price) filter (where e.usage_date < b.start_at), 0),
           max(e.usage_date) - ((max(e.usage_date) %% 3600000) + 3600000) %% 3600000, min(e.usage_date), max(e.usage_date),
           max(e.booking), count(*) filter (where e.properties is not null or e.label is not null)
      from usage_events_%1$s e
      join usage_series s on s.environment_id = e.environment_id and s.id = e.series_id
      left join billing_periods b on b.environment_id = s.environment_id and b.id = s.billing_period_id
      left join usage_event_distinct_properties d on d.environment_id = e.environment_id and d.usage_event_id = e.id
     group by e.environment_id, e.series_id', n);
end $$;

-- Takes a partition out of usage_events, or puts one in. No check of the invariants runs meanwhile: it would count events twice, or not
-- at all. The lock on the table is short; the caller tries again where somebody reads for long.
create function lock_usage_partitions() returns void
  language plpgsql volatile security definer set search_path from current as $$
declare
  schema_hash integer := hashtext(current_schema());
  taken boolean;
begin
  -- The row is read on the node of Citus that has it, where the checks run.
  select pg_try_advisory_xact_lock(7004, schema_hash) into taken from one_row;
  if not taken then
    raise lock_not_available using message = 'the invariants are being checked';
  end if;
  lock table only usage_events in access exclusive mode;
end $$;

-- Refuses to take a partition out while events of another cell are under way, because some may be of it.
create function refuse_arriving_usage_partition() returns void
  language plpgsql stable security definer set search_path from current as $$
begin
  if exists (select from slots_arriving) then
    raise object_not_in_prerequisite_state using message = 'customers are moving to this cell';
  end if;
end $$;

-- Drops the events of a partition whose archive is stored. One transaction: they are in the table, or counted as archived.
create function archive_usage_partition(n integer, p_file text, p_bytes bigint, p_sha256 text, p_now bigint) returns void
  language plpgsql volatile security definer set search_path from current set lock_timeout = '200ms' as $$
declare
  sums record;
begin
  select sum(s.events) as events, min(s.first_usage_date) as first, max(s.last_usage_date) as last, max(s.last_booking) as booking into sums
    from usage_archive_sums s where s.number = n;
  perform lock_usage_partitions();
  perform refuse_arriving_usage_partition();
  update usage_partitions
     set state = 'archived', file = p_file, bytes = p_bytes, sha256 = p_sha256, events = coalesce(sums.events, 0),
         first_usage_date = sums.first, last_usage_date = sums.last, archived_at = p_now
   where number = n and state = 'closed' and usage_partition_may_leave(n);
  if not found then
    raise object_not_in_prerequisite_state using message = format('partition %s cannot be archived', n);
  end if;
  execute format('alter table usage_events detach partition usage_events_%s', n);
  execute format('drop table usage_events_%s', n);
  -- Sums up to a mark before or within the partition miss events that no check can read any more: the next one begins anew.
  update check_marks set seen_booking = greatest(seen_booking, sums.booking) where sums.booking is not null;
  update check_marks set entry_sequence = null, booking = null where booking < sums.booking;
  if found then
    truncate check_account_sums, check_price_sums, check_credit_sums, check_series_sums;
  end if;
end $$;

-- The events of an archive, loaded into a table outside of usage_events. One that was left behind by a crash is loaded anew.
create function begin_usage_partition_load(n integer) returns void
  language plpgsql volatile security definer set search_path from current as $$
begin
  perform from usage_partitions p where p.number = n and p.state = 'archived' for update;
  if not found then
    raise object_not_in_prerequisite_state using message = format('partition %s is not archived', n);
  end if;
  execute format('drop table if exists usage_events_%s', n);
  perform make_usage_partition(n);
end $$;

-- Drops what was loaded, by this process or by one that was killed.
create function drop_usage_partition_load(n integer) returns void
  language plpgsql volatile security definer set search_path from current as $$
begin
  perform from usage_partitions p where p.number = n and p.state = 'archived' for update;
  if found then
    execute format('drop table if exists usage_events_%s', n);
  end if;
end $$;

-- Compares loaded events with the sums of their partition, and indexes them.
create function finish_usage_partition_load(n integer) returns void
  language plpgsql volatile security definer set search_path from current set work_mem = '256MB' as $$
declare
  differing bigint;
begin
  execute format('
    select count(*) from (select environment_id, series_id, events, amount, own_price from usage_archive_sums where number = %1$s) s
      full join (select environment_id, series_id, count(*) as events, sum(amount) as amount, coalesce(sum(own_price), 0) as own_price
                   from usage_events_%1$s group by environment_id, series_id) e
        on e.environment_id = s.environment_id and e.series_id = s.series_id
     where (s.events, s.amount, s.own_price) is distinct from (e.events, e.amount, e.own_price)', n) into differing;
  if differing > 0 then
    raise data_corrupted using message = format('the events of the archive of partition %s differ from its sums in %s series', n, differing);
  end if;
  perform index_usage_partition(n);
end $$;

create function restore_usage_partition(n integer) returns void
  language plpgsql volatile security definer set search_path from current set lock_timeout = '200ms' as $$
begin
  perform lock_usage_partitions();
  update usage_partitions set state = 'restored' where number = n and state = 'archived';
  if not found then
    raise object_not_in_prerequisite_state using message = format('partition %s is not archived', n);
  end if;
  perform attach_usage_partition(n);
end $$;

-- Drops restored events again. Their archive is as it was.
create function release_usage_partition(n integer) returns void
  language plpgsql volatile security definer set search_path from current set lock_timeout = '200ms' as $$
begin
  perform lock_usage_partitions();
  perform refuse_arriving_usage_partition();
  update usage_partitions set state = 'archived' where number = n and state = 'restored' and not file_is_old;
  if not found then
    raise object_not_in_prerequisite_state using message = format('partition %s is not restored', n);
  end if;
  execute format('alter table usage_events detach partition usage_events_%s', n);
  execute format('drop table usage_events_%s', n);
end $$;

-- Names the file that takes the place of one with properties of an erased customer, or with other events than the partition has.
create function replace_usage_partition_file(n integer, p_file text, p_bytes bigint, p_sha256 text)
  returns void language plpgsql volatile security definer set search_path from current as $$
declare
  sums record;
begin
  select coalesce(sum(s.events), 0) as events, min(s.first_usage_date) as first, max(s.last_usage_date) as last into sums
    from usage_archive_sums s where s.number = n;
  update usage_partitions
     set file = p_file, bytes = p_bytes, sha256 = p_sha256, events = sums.events, first_usage_date = sums.first, last_usage_date = sums.last
   where number = n and file is not null;
end $$;

-- The older files of a partition are deleted, so nobody reads there about customers who have moved.
create function note_usage_partition_filed(n integer)
  returns void language plpgsql volatile security definer set search_path from current as $$
begin
  update usage_partitions set file_is_old = false where number = n;
end $$;

-- Erases properties and labels from restored events. An archive that was restored during an erasure brought them back.
create function erase_restored_usage_partition(n integer, p_environment bigint, p_series bigint[])
  returns void language plpgsql volatile security definer set search_path from current as $$
begin
  execute format('update usage_events_%s set properties = null, label = null
    where environment_id = $1 and series_id = any ($2) and (properties is not null or label is not null)', n)
    using p_environment, p_series;
end $$;

-- No file has the properties and labels of these series any more.
create function note_usage_partition_erased(n integer, p_environment bigint, p_series bigint[])
  returns void language plpgsql volatile security definer set search_path from current as $$
begin
  update usage_archive_sums set with_properties = 0
   where number = n and environment_id = p_environment and series_id = any (p_series);
end $$;

do $$
declare
  callable record;
begin
  for callable in select oid::regprocedure::text as name from pg_proc
     where pronamespace = current_schema()::regnamespace and proname like '%usage\_partition%'
  loop
    execute format('revoke all on function %s from public', callable.name);
    execute format('grant execute on function %s to tollkeeper_worker', callable.name);
  end loop;
end $$;
