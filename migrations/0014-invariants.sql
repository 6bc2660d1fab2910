-- What is checked of all data, again and again, and what can be refused before it happens.

-- What has ended stays as it ended. The service knows it; a hand-written update, or a mistake of ours, is refused here.
create function refuse_revival() returns trigger language plpgsql set search_path from current as $$
begin
  raise check_violation using message = format('%s %s is %s for good', table_of_trigger(tg_table_name), old.id, old.status),
    table = table_of_trigger(tg_table_name), constraint = table_of_trigger(tg_table_name) || '_end_for_good';
end $$;

create trigger subscriptions_end_for_good before update of status on subscriptions for each row
  when (old.status in ('canceled', 'incomplete_expired') and new.status <> old.status) execute function refuse_revival();
create trigger invoices_end_for_good before update of status on invoices for each row
  when (old.status in ('refunded', 'void', 'uncollectible') and new.status <> old.status) execute function refuse_revival();
-- A payment that succeeded may fail after all: a bank takes money back.
create trigger payments_end_for_good before update of status on payments for each row
  when (old.status in ('failed', 'canceled', 'refunded') and new.status <> old.status) execute function refuse_revival();
-- What went to a balance is taken off it again while the balance holds it.
create trigger credit_notes_end_for_good before update of status on credit_notes for each row
  when (old.status in ('settled', 'void') and new.status <> old.status
    and (old.status, old.settle, new.status) <> ('settled', 'balance', 'void')) execute function refuse_revival();
create trigger refunds_end_for_good before update of status on refunds for each row
  when (old.status in ('succeeded', 'failed') and new.status <> old.status) execute function refuse_revival();
-- One that failed may be paid after all.
create trigger purchases_end_for_good before update of status on purchases for each row
  when (old.status in ('refunded', 'fraudulent') and new.status <> old.status) execute function refuse_revival();
create trigger checkout_sessions_end_for_good before update of status on checkout_sessions for each row
  when (old.status = 'succeeded' and new.status <> old.status) execute function refuse_revival();
-- One that has expired can still be settled.
create trigger usage_holds_end_for_good before update of status on usage_holds for each row
  when (old.status in ('settled', 'released') and new.status <> old.status) execute function refuse_revival();
create trigger payment_method_attachments_end_for_good before update of status on payment_method_attachments for each row
  when (old.status in ('attached', 'refused') and new.status <> old.status) execute function refuse_revival();

-- What was given back is not taken back: a refund that was counted stays counted.
create function refuse_fewer_refunds() returns trigger language plpgsql set search_path from current as $$
begin
  raise check_violation using message = format('payments %s: %s was refunded, not %s', old.id, old.refunded_amount, new.refunded_amount),
    table = table_of_trigger(tg_table_name), constraint = 'payments_refunds_only_grow';
end $$;
create trigger payments_refunds_only_grow before update of refunded_amount on payments for each row
  when (new.refunded_amount < old.refunded_amount) execute function refuse_fewer_refunds();

-- A claim that was released is another one when it is made again.
create function refuse_claims_back() returns trigger language plpgsql set search_path from current as $$
begin
  raise check_violation using message = format('resource_claims %s was released', old.id),
    table = table_of_trigger(tg_table_name), constraint = 'resource_claims_end_for_good';
end $$;
create trigger resource_claims_end_for_good before update of released_at on resource_claims for each row
  when (old.released_at is not null and new.released_at is distinct from old.released_at) execute function refuse_claims_back();

-- Since when an endpoint has been told of what it is told of now, in real time: from a minute later on each event that it
-- wants has its delivery. Events know real time by their ids.
alter table webhooks add column wanted_since bigint not null default (extract(epoch from clock_timestamp()) * 1000)::bigint;
comment on column webhooks.wanted_since is 'When it last changed which events it is told of. Real time.';
create function note_what_is_wanted() returns trigger language plpgsql set search_path from current as $$
begin
  new.wanted_since := (extract(epoch from clock_timestamp()) * 1000)::bigint;
  return new;
end $$;
create trigger webhooks_wanted_since before update of active, filter_types, pricing_model_id on webhooks for each row
  when ((new.active, new.filter_types, new.pricing_model_id) is distinct from (old.active, old.filter_types, old.pricing_model_id))
  execute function note_what_is_wanted();

-- The first eight characters of the ids that are made at an instant: milliseconds in base 62, in byte order.
create function id_time(at bigint) returns text language sql immutable
  return (select string_agg(substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
            ((greatest(at, 0) / (62::numeric ^ n)::bigint) % 62)::integer + 1, 1), '' order by n desc)
            from generate_series(0, 7) as n);

-- Entries and events are found by when they were written: numbers that only grow, in tables that are only added to.
create index ledger_entries_by_sequence on ledger_entries using brin (sequence) with (pages_per_range = 32);
create index usage_events_by_booking on usage_events using brin (booking) with (pages_per_range = 32);

-- What the checks keep. It is of every environment, so only the worker may read it.
create table check_runs (
  id bigint generated always as identity primary key,
  started_at bigint not null,
  duration_ms bigint not null,
  -- Whether all was read, or what was checked before was counted as it was found.
  is_full boolean not null,
  -- [{name, violations: {count, rows}}]
  result jsonb not null
);

-- Up to where the sums below go, and where the tables ended when they were last looked at.
create table check_marks (
  id boolean primary key default true check (id),
  entry_sequence bigint,
  booking bigint,
  seen_entry_sequence bigint not null,
  seen_booking bigint not null,
  seen_transaction xid8 not null,
  seen_at bigint not null,
  constraint marks_both check ((entry_sequence is null) = (booking is null))
);

-- Sums of the entries and events up to the mark, which were all found right.
create table check_account_sums (
  environment_id bigint not null,
  ledger_account_id text collate "C" not null,
  granted numeric not null,
  used numeric not null,
  expired numeric not null,
  taken_back numeric not null,
  settled numeric not null,
  pooled numeric not null,
  last_created_at bigint not null,
  primary key (environment_id, ledger_account_id)
);
create table check_price_sums (
  environment_id bigint not null,
  ledger_account_id text collate "C" not null,
  price_id text collate "C" not null,
  used numeric not null,
  covered numeric not null,
  primary key (environment_id, ledger_account_id, price_id)
);
create table check_credit_sums (
  environment_id bigint not null,
  usage_credit_id text collate "C" not null,
  granted numeric not null,
  expired numeric not null,
  taken_back numeric not null,
  applied numeric not null,
  primary key (environment_id, usage_credit_id)
);
create table check_series_sums (
  environment_id bigint not null,
  series_id bigint not null,
  events bigint not null,
  amount numeric not null,
  -- Of the events that were the first with their properties: their amounts, and how many there are.
  first_amount numeric not null,
  firsts bigint not null,
  primary key (environment_id, series_id)
);

grant select, insert, update, delete on check_runs, check_marks, check_account_sums, check_price_sums, check_credit_sums, check_series_sums
  to tollkeeper_worker;

-- How the last check went, without anything of any tenant: for the gauges.
create function invariant_counts() returns table (name text, violations bigint, checked_at bigint, duration_ms bigint)
  language sql stable security definer set search_path from current
  begin atomic
    select checked.value ->> 'name', (checked.value -> 'violations' ->> 'count')::bigint, last.started_at, last.duration_ms
      from (select * from check_runs order by id desc limit 1) as last
      cross join lateral jsonb_array_elements(last.result) as checked;
  end;

-- The first boundary after an instant of an interval that is counted from an anchor, in UTC: the 31st, then the last of February,
-- then the 31st again. A second implementation of src/kernel/calendar.ts.
create function next_boundary(anchor bigint, unit text, count bigint, after bigint) returns bigint language sql immutable
  set search_path from current
  return case
    when unit in ('day', 'week') then
      anchor + (floor((after - anchor)::numeric / (count * case unit when 'day' then 1 else 7 end * 86400000))::bigint + 1)
        * count * case unit when 'day' then 1 else 7 end * 86400000
    when count > 1200 then 4102444800000
    else (
      select min((extract(epoch from b.at) * 1000)::bigint)
        from (select to_timestamp(anchor / 1000.0) at time zone 'UTC' as start, to_timestamp(after / 1000.0) at time zone 'UTC' as later,
                     count * case unit when 'month' then 1 else 12 end as months) i
       cross join lateral (select floor(((extract(year from i.later) - extract(year from i.start)) * 12
                                         + extract(month from i.later) - extract(month from i.start)) / i.months) as whole) k
       cross join lateral generate_series(k.whole - 1, k.whole + 1) as n
       cross join lateral (select (i.start + make_interval(months => (n * i.months)::integer)) at time zone 'UTC' as at) b
       where b.at > to_timestamp(after / 1000.0))
  end;
