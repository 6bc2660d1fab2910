-- Sums by day, and of usage by hour, so that a report over a year reads some thousands of rows, however many invoices, payments and
-- roll-ups there are. The statement that changes records adds a row here: what they count now, less what they counted before. Nobody
-- updates a row, so no commit waits for another one. A job merges the rows of a day or an hour into one. A sum over all rows is exact at any moment, merged
-- or not. What a record counts follows from its own columns alone, so no other record has to be looked at.

-- The first instant of a day, in UTC.
create function day_of(at bigint) returns bigint language sql immutable
  return at - ((at % 86400000) + 86400000) % 86400000;

-- Invoices and payments. Credit notes and refunds are few, and are read as they are.
create table money_days (
  environment_id bigint not null,
  id bigint generated always as identity,
  pricing_model_id text collate "C" not null,
  kind text not null,
  day bigint not null,
  currency text not null,
  -- Of invoices, and of money that came for one.
  reason text,
  -- Of payments only.
  processor text,
  payment_method text,
  count bigint not null,
  amount numeric(38, 0) not null,
  tax numeric(38, 0) not null,
  is_merged boolean not null default false,
  primary key (environment_id, kind, day, id),
  foreign key (environment_id) references environments,
  constraint money_days_kind check (case kind when 'invoiced' then reason is not null and processor is null and payment_method is null
    else (kind = 'succeeded' or kind in ('recovered', 'failed') and reason is null) and processor is not null and payment_method is not null end),
  constraint money_days_whole check (day = day_of(day))
);
create index money_days_to_merge on money_days (environment_id, kind, day) where not is_merged;

-- Roll-ups by meter and hour. The statement that writes roll-ups (0015) adds its row here: a trigger would join each with its
-- series. Those that are still open on an account are not in it. Without a foreign key, whose lock all batches of a meter would
-- share: the roll-ups have theirs.
create table usage_hours (
  environment_id bigint not null,
  id bigint generated always as identity,
  pricing_model_id text collate "C" not null,
  usage_meter_id text collate "C" not null,
  hour bigint not null,
  units numeric(38, 0) not null,
  events bigint not null,
  is_merged boolean not null default false,
  primary key (environment_id, usage_meter_id, hour, id),
  constraint usage_hours_whole check (hour % 3600000 = 0)
);
create index usage_hours_to_merge on usage_hours (environment_id, usage_meter_id, hour) where not is_merged;

create function month_of(at bigint) returns bigint language sql immutable
  return extract(epoch from date_trunc('month', timestamp 'epoch' + at * interval '1 millisecond') - timestamp 'epoch')::bigint * 1000;

-- The usage of customers by meter and month in UTC, for a ranking that adds up no history. Each row has the summed part of its
-- roll-ups. A reader adds the rest of these, and those that are open on an account.
create table usage_months (
  environment_id bigint not null,
  pricing_model_id text collate "C" not null,
  usage_meter_id text collate "C" not null,
  month bigint not null,
  customer_id text collate "C" not null,
  units numeric(38, 0) not null,
  events bigint not null,
  primary key (environment_id, usage_meter_id, month, customer_id),
  foreign key (environment_id, usage_meter_id) references usage_meters,
  foreign key (environment_id, customer_id) references customers,
  constraint usage_months_whole check (month = month_of(month)),
  constraint usage_months_amounts check (units >= 0 and events > 0)
);
create index usage_months_ranked on usage_months (environment_id, usage_meter_id, month, units desc, events desc, customer_id);
create index usage_months_of_customer on usage_months (environment_id, customer_id);

-- Adds roll-ups that grew to the months of their customers, at most `at_most`, and returns their number. It holds the roll-ups that it
-- adds, so that each unit is added once.
create function sum_usage_months(at_most integer) returns integer
  language plpgsql volatile security definer set search_path from current as $$
declare
  environments bigint[];
  series bigint[];
  hours bigint[];
  added numeric[];
  added_events bigint[];
begin
  -- A move of slots waits for it (0027).
  perform pg_advisory_xact_lock_shared(7010, hashtext(current_schema()));
  with grown as materialized (
    select environment_id, series_id, hour, units - summed_units as units, events - summed_events as events
      from usage_rollups where not is_summed limit at_most for no key update skip locked
  ), marked as (
    update usage_rollups r set summed_units = r.units, summed_events = r.events, is_summed = true
      from grown g where r.environment_id = g.environment_id and r.series_id = g.series_id and r.hour = g.hour
  )
  select array_agg(environment_id), array_agg(series_id), array_agg(hour), array_agg(units), array_agg(events)
    into environments, series, hours, added, added_events from grown;
  insert into usage_months (environment_id, pricing_model_id, usage_meter_id, month, customer_id, units, events)
  select s.environment_id, s.pricing_model_id, s.usage_meter_id, month_of(g.hour), s.customer_id, sum(g.units), sum(g.events)
    from unnest(environments, series, hours, added, added_events) as g (environment_id, series_id, hour, units, events)
    join usage_series s on s.environment_id = g.environment_id and s.id = g.series_id
   group by 1, 2, 3, 4, 5 order by 1, 3, 4, 5
  on conflict (environment_id, usage_meter_id, month, customer_id)
  do update set units = usage_months.units + excluded.units, events = usage_months.events + excluded.events;
  return coalesce(cardinality(series), 0);
end $$;

-- One trigger function for each table. `parts` selects what rows of `%s` count; each has a sign, 1 as it is and -1 as it was.
create function sum_by_day(of_table text, of_days text, keys text, sums text[], parts text) returns void language plpgsql as $sum$
declare
  summed text := (select string_agg(format('sum(sign * %s)', s), ', ') from unnest(sums) s);
  adding text := format('insert into %s (%s, %s) select %s, %s from one_row cross join (%s) part group by %s having (%s) <> (%s);', of_days, keys,
    array_to_string(sums, ', '), keys, summed, parts, keys, summed, (select string_agg('0', ', ') from unnest(sums)));
  way record;
begin
  execute format($make$
    create function %I() returns trigger language plpgsql set search_path from current as $trigger$
    declare
      present %I[] := '{}';
      former %I[] := '{}';
    begin
      if tg_op <> 'DELETE' then
        present := array(select row(a.*)::%I from added a);
      end if;
      if tg_op <> 'INSERT' then
        former := array(select row(r.*)::%I from removed r);
      end if;
      %s
      return null;
    end $trigger$$make$, of_table || '_by_day', of_table, of_table, of_table, of_table,
    format(adding, '(select 1 as sign, a.* from unnest(present) a union all select -1, r.* from unnest(former) r)'));
  for way in
    select * from (values ('insert', 'new table as added'), ('update', 'new table as added old table as removed'),
                          ('delete', 'old table as removed')) w (happening, tables)
  loop
    execute format('create trigger %I after %s on %I referencing %s for each statement execute function %I()',
      of_table || '_by_day_' || way.happening, way.happening, of_table, way.tables, of_table || '_by_day');
  end loop;
end $sum$;
select sum_by_day('invoices', 'money_days', 'environment_id, pricing_model_id, kind, day, currency, reason', array['count', 'amount', 'tax'], $$
  select sign, environment_id, pricing_model_id, 'invoiced' as kind, day_of(invoice_date) as day, currency, reason,
         1 as count, subtotal as amount, tax_amount as tax
    from %s i where status not in ('draft', 'void') and consolidated_into is null$$);
-- The reason of the invoice that a payment is for. The lock keeps it as it is read; whoever changes a payment has it in any case.
create function reason_of_invoice(of_environment bigint, of_invoice text) returns text
  language sql volatile set search_path from current as $$
  select reason from invoices where environment_id = of_environment and id = of_invoice for share
$$;
select sum_by_day('payments', 'money_days', 'environment_id, pricing_model_id, kind, day, currency, reason, processor, payment_method',
  array['count', 'amount', 'tax'], $$
  select p.sign, p.environment_id, p.pricing_model_id, k.kind, day_of(k.at) as day, p.currency,
         case k.kind when 'succeeded' then reason_of_invoice(p.environment_id, p.invoice_id) end as reason, p.processor, p.payment_method,
         1 as count, p.amount, 0 as tax
    from %s p
   cross join lateral (values ('succeeded', p.settlement_date, p.status in ('succeeded', 'refunded')),
                              ('recovered', p.settlement_date, p.status in ('succeeded', 'refunded') and p.attempt_number > 1),
                              ('failed', p.created_at, p.status = 'failed')) k (kind, at, counts)
   where k.counts and k.at is not null$$);
drop function sum_by_day;

-- An invoice with another reason takes the money that came for it along.
create function move_money_by_reason() returns trigger language plpgsql set search_path from current as $$
begin
  insert into money_days (environment_id, pricing_model_id, kind, day, currency, reason, processor, payment_method, count, amount, tax)
  select p.environment_id, p.pricing_model_id, 'succeeded', day_of(p.settlement_date), p.currency, moved.reason, p.processor, p.payment_method,
         sum(moved.sign), sum(moved.sign * p.amount), 0
    from payments p
   cross join (values (old.reason, -1), (new.reason, 1)) moved (reason, sign)
   where p.environment_id = new.environment_id and p.invoice_id = new.id
     and p.status in ('succeeded', 'refunded') and p.settlement_date is not null
   group by 1, 2, 4, 5, 6, 7, 8;
  return null;
end $$;
create trigger invoices_reason after update of reason on invoices for each row
  when (old.reason <> new.reason) execute function move_money_by_reason();

-- Merges the rows of days and hours that have new ones, at most `at_most` of these, and returns their number. The rows that it deletes are
-- those that it adds up, in one statement, so two that run at once add up different ones.
create function merge_daily_sums(at_most integer) returns integer
  language plpgsql volatile security definer set search_path from current as $$
declare
  money money_days[];
  usage usage_hours[];
  retention mrr_retention[];
begin
  with day as materialized (
    select distinct environment_id, kind, day
      from (select environment_id, kind, day from money_days where not is_merged limit at_most) added
  ), locked as materialized (
    select m.environment_id, m.kind, m.day, m.id from money_days m join day d using (environment_id, kind, day) for update of m skip locked
  ), gone as (
    delete from money_days m using locked l
     where m.environment_id = l.environment_id and m.kind = l.kind and m.day = l.day and m.id = l.id
    returning m.*
  )
  select array_agg(row(gone.*)::money_days) into money from gone;
  insert into money_days (environment_id, pricing_model_id, kind, day, currency, reason, processor, payment_method, count, amount, tax, is_merged)
  select environment_id, pricing_model_id, kind, day, currency, reason, processor, payment_method, sum(count), sum(amount), sum(tax), true
    from one_row, unnest(money) group by 1, 2, 3, 4, 5, 6, 7, 8
  having (sum(count), sum(amount), sum(tax)) <> (0, 0, 0);
  with hour as materialized (
    select distinct environment_id, usage_meter_id, hour
      from (select environment_id, usage_meter_id, hour from usage_hours where not is_merged limit at_most) added
  ), locked as materialized (
    select u.environment_id, u.usage_meter_id, u.hour, u.id from usage_hours u join hour h using (environment_id, usage_meter_id, hour)
       for update of u skip locked
  ), gone as (
    delete from usage_hours u using locked l
     where u.environment_id = l.environment_id and u.usage_meter_id = l.usage_meter_id and u.hour = l.hour and u.id = l.id
    returning u.*
  )
  select array_agg(row(gone.*)::usage_hours) into usage from gone;
  insert into usage_hours (environment_id, pricing_model_id, usage_meter_id, hour, units, events, is_merged)
  select environment_id, pricing_model_id, usage_meter_id, hour, sum(units), sum(events), true
    from one_row, unnest(usage) group by 1, 2, 3, 4
  having (sum(units), sum(events)) <> (0, 0);
  with day as materialized (
    select distinct environment_id, interval_unit, at
      from (select environment_id, interval_unit, at from mrr_retention where not is_merged limit at_most) added
  ), locked as materialized (
    select r.environment_id, r.interval_unit, r.at, r.id from mrr_retention r join day d using (environment_id, interval_unit, at)
       for update of r skip locked
  ), gone as (
    delete from mrr_retention r using locked l
     where r.environment_id = l.environment_id and r.interval_unit = l.interval_unit and r.at = l.at and r.id = l.id
    returning r.*
  )
  select array_agg(row(gone.*)::mrr_retention) into retention from gone;
  insert into mrr_retention (environment_id, pricing_model_id, currency, interval_unit, cohort_at, at, amount, lost, customers, made, is_merged)
  select environment_id, pricing_model_id, currency, interval_unit, cohort_at, at, sum(amount), sum(lost), sum(customers), sum(made), true
    from one_row, unnest(retention) group by 1, 2, 3, 4, 5, 6
  having (sum(amount), sum(lost), sum(customers), sum(made)) <> (0, 0, 0, 0);
  return (select count(*) from unnest(money) m where not m.is_merged) + (select count(*) from unnest(usage) u where not u.is_merged)
       + (select count(*) from unnest(retention) r where not r.is_merged);
end $$;

-- A roll-up stays open on its account until usage of a later hour comes. Only the accounts of those that are open are read.
create index ledger_accounts_open_rollups on ledger_accounts (environment_id, open_series_id) where open_series_id is not null;

-- Closes the open roll-ups of hours that ended more than an hour ago, at most `at_most` of one environment, and returns their number.
-- It does what the next usage of the account would do. An account with usage under way is left to that.
create function close_idle_rollups(at_most integer) returns integer
  language plpgsql volatile security definer set search_path from current as $$
declare
  idle ledger_accounts[];
begin
  -- A move of slots waits for it (0027).
  perform pg_advisory_xact_lock_shared(7010, hashtext(current_schema()));
  with found as materialized (
    select a.*
      from environments e
      join ledger_accounts a on a.environment_id = e.id and a.open_series_id is not null
       and a.open_hour < coalesce(e.clock_now, (extract(epoch from clock_timestamp()) * 1000)::bigint) - 7200000
     limit at_most for update of a skip locked
  ), shut as (
    update ledger_accounts a set open_series_id = null, open_hour = null, open_units = null, open_events = null
      from found f where a.environment_id = f.environment_id and a.id = f.id
  )
  select array_agg(row(found.*)::ledger_accounts) into idle from found;
  insert into usage_rollups (environment_id, series_id, hour, units, events)
  select environment_id, open_series_id, open_hour, sum(open_units), sum(open_events)
    from one_row, unnest(idle) group by 1, 2, 3 order by 1, 2, 3
  on conflict (environment_id, series_id, hour)
  do update set units = usage_rollups.units + excluded.units, events = usage_rollups.events + excluded.events, is_summed = false;
  insert into usage_hours (environment_id, pricing_model_id, usage_meter_id, hour, units, events)
  select environment_id, pricing_model_id, usage_meter_id, open_hour, sum(open_units), sum(open_events)
    from one_row, unnest(idle) group by 1, 2, 3, 4;
  return coalesce(cardinality(idle), 0);
end $$;
