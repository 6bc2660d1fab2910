-- The audit log: who changed which record, how and when. The database writes it, in the commit of each change, so no way
-- to change something can forget to.

create table audit_log (
  -- No foreign key: the row that was changed has one.
  environment_id bigint not null,
  -- In the order of the changes: microseconds, the connection, the row, all in hexadecimal.
  id text collate "C" not null,
  -- That of the record; null where all of the environment has it.
  pricing_model_id text collate "C",
  -- Real time, whatever the test clock says.
  occurred_at bigint not null,
  actor_type text not null,
  api_key_id text collate "C",
  -- The person who was signed in. No foreign key: the log outlives them.
  user_id text collate "C",
  -- The operation of the API, the page, the task or the command.
  action text,
  request_id text,
  record text not null,
  record_id text collate "C" not null,
  operation text not null,
  -- Of a change only what has changed; else all that is not null.
  before json,
  after json,
  primary key (environment_id, id),
  constraint audit_log_actor check (actor_type in ('api_key', 'user', 'customer', 'operator', 'system')
    and (actor_type = 'api_key') = (api_key_id is not null) and (actor_type = 'user') = (user_id is not null)),
  constraint audit_log_operation check ((before is not null, after is not null) = case operation
    when 'insert' then (false, true) when 'update' then (true, true) when 'delete' then (true, false) end)
);
create index audit_log_by_record_id on audit_log (environment_id, record_id, id);
create index audit_log_by_record on audit_log (environment_id, record, id);
create index audit_log_by_action on audit_log (environment_id, action, id) where action is not null;
create index audit_log_by_api_key on audit_log (environment_id, api_key_id, id) where api_key_id is not null;
create index audit_log_by_user on audit_log (environment_id, user_id, id) where user_id is not null;
-- A move takes the entries about the records of its slots.
create index audit_log_by_slot on audit_log (environment_id, (right(record_id, 2)));
create index audit_log_by_request on audit_log (environment_id, request_id, id) where request_id is not null;

-- Tables with an environment that are not audited: histories themselves, which nobody changes afterwards, what is reckoned
-- from those in the same commit, and notes of the machinery. Every other table is audited.
create function unaudited_tables() returns text[] language sql immutable
  return array[
    -- Usage. Who recorded it stands on its ledger transaction.
    'usage_events', 'usage_series', 'usage_rollups', 'usage_archive_sums', 'usage_event_distinct_properties',
    -- The ledger.
    'ledger_transactions', 'ledger_entries', 'ledger_accounts', 'usage_overages', 'usage_charges', 'pool_draws', 'usage_measures',
    'usage_levels', 'usage_threshold_checks', 'auto_top_up_checks', 'spend_counters', 'credit_subjects', 'customer_balances', 'number_series',
    -- What is told to others.
    'events', 'webhook_deliveries', 'webhook_attempts', 'emails',
    -- Recurring revenue, which follows from the subscriptions.
    'mrr_customers', 'mrr_amounts', 'mrr_movements', 'mrr_balances', 'mrr_retention',
    -- Sums by day and month, which follow from invoices, payments and roll-ups.
    'money_days', 'usage_hours', 'usage_months',
    -- Answers kept for repeats, messages of a processor that were seen.
    'idempotency_keys', 'processor_events',
    'audit_log'];

-- Tables of which only the making of a row is audited, because what comes later is reckoned from the ledger.
create function audited_when_made() returns text[] language sql immutable
  return array['usage_credits', 'processor_customers'];

-- Tables of which only changes are audited: what makes a row is audited by itself.
create function audited_when_changed() returns text[] language sql immutable
  return array['attempt_counts'];

-- What the log says of a column is its value, but for these:
--   secret   that it was changed, and never what it is: secrets, and images;
--   address  scheme, host and port: whoever knows the rest of such an address may have a right by it;
--   passing  nothing: it changes by itself, or says again what another record says.
create function audit_decisions() returns table (table_name text, column_name text, decision text) language sql immutable
  begin atomic
    values
      ('api_keys', 'hash', 'secret'),
      ('environments', 'branding', 'secret'),
      ('webhooks', 'sealed_secret', 'secret'),
      ('webhooks', 'sealed_previous_secret', 'secret'),
      ('payment_methods', 'processor_token', 'secret'),
      ('payment_methods', 'fingerprint', 'secret'),
      ('payments', 'processor_token', 'secret'),
      ('payments', 'next_action', 'secret'),
      ('payment_method_attachments', 'request', 'secret'),
      ('payment_method_attachments', 'outcome', 'secret'),
      ('checkout_sessions', 'payment_token', 'secret'),
      ('webhooks', 'url', 'address'),
      ('payments', 'receipt_url', 'address'),
      ('checkout_sessions', 'success_url', 'address'),
      ('checkout_sessions', 'cancel_url', 'address'),
      ('api_keys', 'last_used_at', 'passing'),
      ('pricing_models', 'catalog_version', 'passing'),
      ('discounts', 'is_counted', 'passing'),
      ('pricing_models', 'removing_until', 'passing'),
      ('products', 'removing_until', 'passing'),
      ('invoices', 'is_open_threshold', 'passing'),
      ('invoices', 'notice_at', 'passing'),
      ('subscriptions', 'notice_at', 'passing'),
      ('payment_methods', 'notice_at', 'passing'),
      ('customers', 'erased_external_id_mac', 'secret'),
      ('webhooks', 'failing_since', 'passing'),
      ('subscriptions', 'work_retry_at', 'passing'),
      ('subscriptions', 'revision', 'passing'),
      ('subscriptions', 'discounted', 'passing'),
      ('subscriptions', 'has_spend_limits', 'passing'),
      ('spend_limits', 'booked_before', 'passing'),
      ('attempt_counts', 'failures', 'passing'),
      ('attempt_counts', 'counted_from', 'passing'),
      ('attempt_counts', 'next_at', 'passing'),
      ('attempt_counts', 'kept_until', 'passing');
  end;

-- The text of a JSON object with the columns of row `source`, as SQL that makes it: those that are not null or, where `other`
-- names a row too, those that differ from it. Text, and not jsonb, because it takes a quarter of the time.
create function audited_columns(audited_table text, source text, other text) returns text language sql stable
  return (
    select format($$'{' || concat_ws(',', %s) || '}'$$, string_agg(
             format($$case when %s then %L || coalesce(%s, 'null') end$$,
               case when other is null then format('%s.%I is not null', source, a.attname)
                    else format('%s.%I is distinct from %s.%I', source, a.attname, other, a.attname) end,
               to_json(a.attname) || ':',
               case d.decision
                 when 'secret' then format($$case when %s.%I is not null then '"(secret)"' end$$, source, a.attname)
                 when 'address' then format($$to_json(substring(%s.%I from '^[^/?#]*//[^/?#]*'))::text$$, source, a.attname)
                 else format('to_json(%s.%I)::text', source, a.attname) end),
             ', ' order by a.attnum))
      from pg_attribute a
      left join audit_decisions() d on d.table_name = audited_table and d.column_name = a.attname
     where a.attrelid = audited_table::regclass and a.attnum > 0 and not a.attisdropped
       and a.attname not in ('environment_id', 'updated_at') and d.decision is distinct from 'passing');

-- The name of a table's record in the log: tax_rates is called taxRate.
create function audited_record(audited_table text) returns text language sql immutable
  return regexp_replace(lower(left(audited_table, 1))
    || substr(replace(initcap(replace(audited_table, '_', ' ')), ' ', ''), 2), 's$', '');

-- The entries of a table are written by a trigger of its own, by one statement for each that changes it, and into the
-- environment of the row, where the one who changed it was allowed to. Nobody but the owner may make another trigger of it.
create function audit_table(audited_table text) returns void language plpgsql as $audit$
declare
  trigger_function text := 'audit_changes_of_' || audited_table;
  record text := audited_record(audited_table);
  columns text[] := array(select attname from pg_attribute where attrelid = audited_table::regclass and attnum > 0 and not attisdropped);
  environment_column text := case audited_table when 'environments' then 'id' else 'environment_id' end;
  key_columns text[] := array(
    select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
     where i.indrelid = audited_table::regclass and i.indisprimary order by a.attnum);
  -- Without an id, that of the record it belongs to.
  id_column text := case when 'id' = any (columns) then 'id' else key_columns[2] end;
  same_row text := (select string_agg(format('row.%I = was.%I', k, k), ' and ') from unnest(key_columns) k);
  pricing_model text := case when audited_table = 'pricing_models' then 'row.id'
    when 'pricing_model_id' = any (columns) then 'row.pricing_model_id' else 'null' end;
  entry text := format($entry$
    select row(row.%I, first_id || to_hex(1048576 + row_number() over ()), %s, microseconds / 1000, actor, key_id, person_id, doing, request_name,
           %L, row.%I::text, lower(tg_op), $entry$, environment_column, pricing_model, record, id_column);
  change text;
begin
  execute format($function$
    create or replace function %I() returns trigger language plpgsql volatile security definer
      set search_path from current as $body$
    declare
      microseconds bigint := extract(epoch from clock_timestamp()) * 1000000;
      first_id text := 'audit_' || lpad(to_hex(microseconds), 14, '0') || lpad(to_hex(pg_backend_pid()), 6, '0');
      key_id text := nullif(current_setting('tollkeeper.api_key_id', true), '');
      person_id text := nullif(current_setting('tollkeeper.user_id', true), '');
      actor text := case when key_id is not null then 'api_key' when person_id is not null then 'user'
        -- The role stays that of the one who asks while a function of the owner runs.
        else coalesce(nullif(current_setting('tollkeeper.actor_type', true), ''),
          case current_setting('role') when 'tollkeeper_service' then 'system' else 'operator' end) end;
      doing text := nullif(current_setting('tollkeeper.action', true), '');
      request_name text := nullif(current_setting('tollkeeper.request_id', true), '');
      entries audit_log[];
    begin
      if is_moving() then
        return null;
      end if;
      if tg_op = 'INSERT' then
        entries := array(%s null, (%s)::json)::audit_log from added row);
      elsif tg_op = 'DELETE' then
        entries := array(%s (%s)::json, null)::audit_log from removed row);
      else
        -- A full join is never carried out row by row, however few rows the first statement had that its plan was made for.
        entries := array(%s changed.before::json, (%s)::json)::audit_log
          from added row full join removed was on %s
         cross join lateral (select %s) changed (before)
         where changed.before <> '{}');
      end if;
      if cardinality(entries) > 0 then
        insert into audit_log select entry.* from one_row, unnest(entries) entry;
      end if;
      return null;
    end $body$ $function$,
    trigger_function,
    entry, audited_columns(audited_table, 'row', null),
    entry, audited_columns(audited_table, 'row', null),
    entry, audited_columns(audited_table, 'row', 'was'), same_row,
    audited_columns(audited_table, 'was', 'row'));
  execute format('revoke all on function %I() from public', trigger_function);
  foreach change in array case when audited_table = any (audited_when_made()) then array['insert']
    when audited_table = any (audited_when_changed()) then array['update'] else array['insert', 'update', 'delete'] end
  loop
    execute format('create or replace trigger %I after %s on %I referencing %s for each statement execute function %I()',
      'audit_' || change, change, audited_table,
      case change when 'insert' then 'new table as added' when 'delete' then 'old table as removed'
        else 'old table as removed new table as added' end,
      trigger_function);
  end loop;
end $audit$;

-- Run after secure_tenant_tables, so that no table with an environment is forgotten. The service
-- adds to the log by what it changes, and reads it; nothing else. A migration that drops a column and then changes rows of
-- that table has to run it in between.
create function audit_tenant_tables() returns void language plpgsql as $$
declare
  audited_table text;
begin
  for audited_table in
    select c.relname
      from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and c.relname <> all (unaudited_tables())
       and not has_own_rights(c.relname)
       and (c.relname = 'environments'
            or exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'environment_id' and not a.attisdropped))
  loop
    perform audit_table(audited_table);
  end loop;
  revoke insert, update, delete on audit_log from tollkeeper_service;
end $$;

-- The API key, or the person who was signed in, whose request booked the transaction. Null for one of a job.
alter table ledger_transactions
  add column api_key_id text collate "C" default nullif(current_setting('tollkeeper.api_key_id', true), ''),
  add column user_id text collate "C" default nullif(current_setting('tollkeeper.user_id', true), '');

-- Entries that are too old go, where the operator wants that: in every environment, a bounded number at a time. Never the
-- last month's, whoever asks, so that nobody covers traces.
create function forget_audit_log(days integer, at_most integer) returns bigint
  language plpgsql volatile security definer set search_path from current as $$
declare
  last_id text := 'audit_' || lpad(to_hex((extract(epoch from clock_timestamp() - make_interval(days => greatest(days, 30))) * 1000000)::bigint), 14, '0');
  forgotten bigint;
begin
  with old as (
    select oldest.environment_id, oldest.id
      from environments e
     cross join lateral (select a.environment_id, a.id from audit_log a
                          where a.environment_id = e.id and a.id < last_id order by a.id limit at_most) oldest
     limit at_most
  ), deleted as (
    delete from audit_log a using old where a.environment_id = old.environment_id and a.id = old.id returning 1
  )
  select count(*) into forgotten from deleted;
  return forgotten;
end $$;
