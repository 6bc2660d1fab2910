-- A slot moves whole, with all rows of its customers: docs/decisions/0181-a-slot-moves-whole.md.

-- The tables whose rows follow their customers, each after those that it refers to. A row belongs to a customer when `link` names a
-- moved row of `parent`. Without a parent, take_slots() knows them.
create function moved_tables() returns table (name text, place integer, parent text, link text) language sql immutable as $$
  select name, row_number() over ()::integer, parent, link
    from (values
      ('customers', null, null),
      ('payment_methods', 'customers', 'customer_id'),
      ('payment_method_attachments', 'customers', 'customer_id'),
      ('processor_customers', 'customers', 'customer_id'),
      ('customer_balances', 'customers', 'customer_id'),
      ('subscriptions', 'customers', 'customer_id'),
      ('subscription_items', 'subscriptions', 'subscription_id'),
      ('subscription_item_features', 'subscriptions', 'subscription_id'),
      ('subscription_item_versions', 'subscriptions', 'subscription_id'),
      ('subscription_price_overrides', 'subscriptions', 'subscription_id'),
      ('billing_periods', 'subscriptions', 'subscription_id'),
      ('resource_claims', 'subscriptions', 'subscription_id'),
      ('usage_threshold_checks', 'subscriptions', 'subscription_id'),
      ('spend_limits', 'customers', 'customer_id'),
      ('spend_counters', 'spend_limits', 'spend_limit_id'),
      ('auto_top_ups', 'customers', 'customer_id'),
      ('auto_top_up_checks', 'customers', 'customer_id'),
      ('ledger_accounts', 'subscriptions', 'subscription_id'),
      ('ledger_accounts', 'customers', 'customer_id'),
      ('usage_credits', 'ledger_accounts', 'ledger_account_id'),
      ('usage_series', 'customers', 'customer_id'),
      ('usage_rollups', 'usage_series', 'series_id'),
      ('usage_events', 'usage_series', 'series_id'),
      ('usage_event_distinct_properties', 'usage_events', 'usage_event_id'),
      ('usage_months', 'customers', 'customer_id'),
      ('usage_holds', 'ledger_accounts', 'ledger_account_id'),
      ('usage_charges', 'ledger_accounts', 'ledger_account_id'),
      ('usage_levels', 'ledger_accounts', 'ledger_account_id'),
      ('usage_measures', 'ledger_accounts', 'ledger_account_id'),
      ('usage_overages', 'ledger_accounts', 'ledger_account_id'),
      ('pool_draws', 'ledger_accounts', 'ledger_account_id'),
      -- A batch of usage has one for several customers, so each cell of theirs has it.
      ('ledger_transactions', null, null),
      ('ledger_entries', 'ledger_accounts', 'ledger_account_id'),
      ('number_series', null, null),
      ('purchases', 'customers', 'customer_id'),
      ('purchase_add_ons', 'purchases', 'purchase_id'),
      ('auto_top_up_purchases', 'customers', 'customer_id'),
      ('invoices', 'customers', 'customer_id'),
      ('invoice_line_items', 'invoices', 'invoice_id'),
      ('invoice_items', 'customers', 'customer_id'),
      ('discount_redemptions', 'customers', 'customer_id'),
      ('invoice_discounts', 'invoices', 'invoice_id'),
      ('subscription_adjustments', 'subscriptions', 'subscription_id'),
      ('payments', 'customers', 'customer_id'),
      ('credit_notes', 'customers', 'customer_id'),
      ('credit_note_lines', 'credit_notes', 'credit_note_id'),
      ('refunds', 'payments', 'payment_id'),
      ('test_processor_operations', 'payments', 'idempotency_key'),
      ('test_processor_operations', 'refunds', 'idempotency_key'),
      ('customer_balance_entries', 'customers', 'customer_id'),
      ('checkout_sessions', 'customers', 'customer_id'),
      -- Sessions of anonymous buyers, who become customers of their slots.
      ('checkout_sessions', null, null),
      ('checkout_session_add_ons', 'checkout_sessions', 'checkout_session_id'),
      ('mrr_customers', 'customers', 'customer_id'),
      ('mrr_amounts', 'customers', 'customer_id'),
      ('mrr_movements', 'customers', 'customer_id'),
      ('events', 'customers', 'object_id'),
      ('events', 'subscriptions', 'object_id'),
      ('events', 'payment_methods', 'object_id'),
      ('events', 'purchases', 'object_id'),
      ('events', 'invoices', 'object_id'),
      ('events', 'payments', 'object_id'),
      ('events', 'credit_notes', 'object_id'),
      ('events', 'checkout_sessions', 'object_id'),
      ('webhook_deliveries', 'events', 'event_id'),
      ('webhook_attempts', 'webhook_deliveries', 'delivery_id'),
      ('emails', 'customers', 'customer_id'),
      -- The entries about all of these records, also those that were deleted.
      ('audit_log', null, null),
      ('idempotency_keys', null, null)) rule (name, parent, link)
$$;

-- The tables of tenants whose rows stay where they are, and why.
create function tables_that_stay() returns table (name text, reason text) language sql immutable as $$
  values ('attempt_counts', 'they count failures of some minutes'),
         ('processor_events', 'a second processing of an event changes nothing'),
         ('credit_subjects', 'they follow the catalog'),
         ('money_days', 'triggers take the rows out of the sums, and add them'),
         ('usage_hours', 'move_sums() does so'), ('mrr_retention', 'move_sums() does so'), ('mrr_balances', 'move_sums() does so'),
         ('usage_archive_sums', 'they are those of a file, from which events are restored before they move'),
         ('check_account_sums', 'the next check reads everything'), ('check_credit_sums', 'the next check reads everything'),
         ('check_price_sums', 'the next check reads everything'), ('check_series_sums', 'the next check reads everything'),
         ('slots_allowances', 'allow_redeemed() counts the redemptions that move')
$$;

create function linked_slots(codes text[]) returns setof text language sql stable set search_path from current as $$
  with renamed as materialized (
    select right(id, 2) as of_id, slot_of_customer(environment_id, external_id) as of_name from customers
     where erased_at is null and right(id, 2) <> slot_of_customer(environment_id, external_id)
  )
  select of_name from renamed where of_id = any(codes) union select of_id from renamed where of_name = any(codes)
  except select unnest(codes)
$$;

create function has_customers() returns boolean language sql stable set search_path from current
  return exists (select from customers);

-- Refuses a transaction about slots that this cell does not have. A mover that has closed a slot then waits for those who hold the
-- lock. It is taken first, so that nobody else can have seen the slot open.
create function enter_slots(codes text[]) returns void language plpgsql volatile set search_path from current as $$
declare
  missing text;
begin
  perform pg_advisory_xact_lock_shared(7011, hashtext(current_schema()));
  select string_agg(code, ',') into missing from unnest(codes) code where not holds_slot(code);
  if missing is not null then
    raise exception using errcode = 'TK177', message = 'a slot is not open in this cell', detail = missing;
  end if;
end $$;

-- The transactions that have entered slots of this cell, and run.
create function transactions_in_slots() returns setof text language sql volatile set search_path from current as $$
  select virtualtransaction from pg_locks
   where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database()) and granted
     and classid = 7011 and objid = (hashtext(current_schema())::bigint & 4294967295)::oid and objsubid = 2
     and pid <> pg_backend_pid()
$$;

-- Closes slots of the home cell, or notes that another cell closes them. From here to the end of the move nobody makes a customer
-- in them. Refuses slots that `from_cell` has not.
create function begin_slot_move(codes text[], from_cell text, to_cell text) returns void
  language plpgsql volatile security definer set search_path from current as $$
begin
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || ' slots', 0));
  if exists (select from unnest(codes) code left join slots s using (code) where s.cell is distinct from from_cell) then
    raise object_not_in_prerequisite_state using message = 'another cell has a slot that is to be moved';
  end if;
  insert into slots_moving (code, source, target) select code, from_cell, to_cell from one_row, unnest(codes) code;
  update cell set slots_version = slots_version + 1;
end $$;

-- Ends a move: the slots lead to `holder`, which has all of their rows. Null is home. A move that has ended, ends no more.
create function end_slot_move(codes text[], holder text) returns void
  language plpgsql volatile security definer set search_path from current as $$
declare
  ended text[];
begin
  if holder is null and exists (select from slots_moving where code = any(codes) and has_left) then
    raise object_not_in_prerequisite_state using message = 'the rows of a slot have left the home cell';
  end if;
  with gone as (
    delete from slots_moving m where m.code = any(codes) and (holder is not distinct from m.source or holder is not distinct from m.target)
    returning m.code
  )
  select array_agg(code) into ended from gone;
  delete from slots where code = any(ended) and cell is distinct from holder;
  insert into slots (code, cell) select code, holder from one_row, unnest(ended) code where holder is not null on conflict do nothing;
  update cell set slots_version = slots_version + 1;
end $$;

-- Sums over customers without rows of their own: takes these customers out (-1), or adds them (1).
create function move_sums(of_environment bigint, moved text[], sign integer) returns void
  language plpgsql volatile set search_path from current as $$
begin
  insert into usage_hours (environment_id, pricing_model_id, usage_meter_id, hour, units, events)
  select of_environment, s.pricing_model_id, s.usage_meter_id, r.hour, sign * sum(r.units), sign * sum(r.events)
    from usage_series s join usage_rollups r on r.environment_id = s.environment_id and r.series_id = s.id
   where s.environment_id = of_environment and s.customer_id = any(moved) group by 2, 3, 4;
  if not exists (select from mrr_movements where environment_id = of_environment and customer_id = any(moved)) then return; end if;
  perform pg_advisory_xact_lock_shared(7006, hashtext(current_schema()) # of_environment::integer);
  insert into mrr_balances as b (environment_id, until_at, pricing_model_id, currency, price_id, type, amount, customers)
  select of_environment, taken.until_at, m.pricing_model_id, m.currency, m.price_id, m.type, sign * sum(m.amount), sign * sum(m.customers)
    from (select distinct until_at from mrr_balances where environment_id = of_environment) taken
    join mrr_movements m on m.environment_id = of_environment and m.customer_id = any(moved) and m.occurred_at < taken.until_at
   group by 2, 3, 4, 5, 6 order by 2, 3, 4, 5, 6
  on conflict (environment_id, until_at, pricing_model_id, currency, price_id, type)
  do update set amount = b.amount + excluded.amount, customers = b.customers + excluded.customers;
  -- As note_mrr() adds them, movement by movement.
  with movement as (
    select m.customer_id, m.position, c.pricing_model_id, min(m.currency) as currency, min(m.occurred_at) as occurred_at,
           min(m.cohort_at) as cohort_at, sum(m.amount) as amount, min(m.customer_amount) as after, sum(m.customers) as customers
      from mrr_movements m join mrr_customers c on c.environment_id = m.environment_id and c.customer_id = m.customer_id
     where m.environment_id = of_environment and m.customer_id = any(moved) group by 1, 2, 3
  ), started as (
    select m.*, u.interval_unit, interval_start(u.interval_unit, m.occurred_at) as start_at
      from movement m cross join unnest(array['day', 'week', 'month', 'quarter', 'year']) u (interval_unit)
  ), opened as (
    select s.*, first_value(s.after - s.amount) over (partition by s.customer_id, s.interval_unit, s.start_at order by s.position) as opening
      from started s
  ), part as (
    select pricing_model_id, currency, interval_unit, null::bigint as cohort_at, interval_start('day', occurred_at) as at, amount,
           least(after - opening, 0) - least(after - amount - opening, 0) as lost, 0 as customers, 0 as made
      from opened where opening > 0 and amount <> 0
     union all
    select pricing_model_id, currency, interval_unit, interval_start(interval_unit, cohort_at), start_at, amount, 0, customers,
           (position = 1)::integer
      from opened where interval_unit in ('week', 'month')
  )
  insert into mrr_retention (environment_id, pricing_model_id, currency, interval_unit, cohort_at, at, amount, lost, customers, made)
  select of_environment, pricing_model_id, currency, interval_unit, cohort_at, at, sign * sum(amount), sign * sum(lost),
         sign * sum(customers), sign * sum(made)
    from one_row, part group by 2, 3, 4, 5, 6;
end $$;

-- Moved customers have redeemed as much as the slots that they are in are allowed. What these have left over returns to the home cell.
create function allow_redeemed(of_environment bigint, moved text[]) returns void
  language plpgsql volatile set search_path from current as $$
begin
  insert into slots_allowances (environment_id, discount_id, slot, allowed)
  select r.environment_id, r.discount_id, right(r.customer_id, 2), count(*)
    from discount_redemptions r join discounts d on d.environment_id = r.environment_id and d.id = r.discount_id
   where r.environment_id = of_environment and r.customer_id = any(moved) and d.is_counted group by 1, 2, 3;
end $$;

-- Begins to take or to add rows of slots: no job of this cell works meanwhile, and nothing is noted, told or recounted because of it.
create function lock_for_move() returns void language plpgsql volatile set search_path from current as $$
begin
  -- Whoever archives events has summed them up.
  perform pg_advisory_xact_lock(7008, hashtext(current_schema()));
  perform pg_advisory_xact_lock(7004, hashtext(current_schema()));
  perform pg_advisory_xact_lock(7010, hashtext(current_schema()));
  perform set_config('tollkeeper.moving', 'on', true);
  set constraints all deferred;
  -- Sums of rows that leave or arrive behind the mark would be wrong.
  update check_marks set entry_sequence = null, booking = null;
end $$;

-- The rows of a rule, as a condition on `t`. The environment is $1, and the ids of the parents are $2.
create function condition_of_rule(table_name text, link text) returns text language sql immutable
  return case table_name when 'test_processor_operations' then '' else 't.environment_id = $1 and ' end
    || format('t.%I = any($2%s)', link, case link when 'series_id' then '::bigint[]' else '' end);

-- The slots of the records that a job is about. Its `after` and `progress` are cursors of its cell, and do not count.
create function slots_of_job(payload jsonb) returns text[] language sql immutable
  return array(select distinct right(v #>> '{}', 2) from jsonb_path_query(payload - 'after' - 'progress', 'strict $.**') v
                where jsonb_typeof(v) = 'string' and v #>> '{}' ~ '^[a-z_]+_[0-9A-Za-z]{21}$' and right(v #>> '{}', 2) <> '00');

-- Takes all rows of closed slots out of this cell, and answers them in parts. The caller stores them before it commits.
create function take_slots(codes text[]) returns table (place integer, table_name text, packed text[])
  language plpgsql volatile security definer set search_path from current as $$
#variable_conflict use_column
declare
  of_environment bigint;
  rule record;
  -- The moved rows of each table that others refer to.
  ids jsonb;
  parents text[];
  found_rows text[];
  taken integer;
begin
  perform lock_for_move();
  -- Another mover that took this one for dead may have opened them again, or taken them.
  if (select is_home from cell) then
    update slots_moving set has_left = true where code = any(codes) and source is null and not has_left;
  else
    delete from slots_here where code = any(codes) and is_closing;
  end if;
  get diagnostics taken = row_count;
  if taken < cardinality(codes) then
    raise object_not_in_prerequisite_state using message = 'a slot is not closed in this cell';
  end if;
  place := 0;
  table_name := 'slots';
  packed := codes;
  return next;
  delete from slots_allowances where slot = any(codes);
  for of_environment in
    select environment_id from customers where right(id, 2) = any(codes)
     union select environment_id from idempotency_keys where slot = any(codes)
     union select environment_id from checkout_sessions where customer_id is null and right(id, 2) = any(codes) order by 1
  loop
    ids := jsonb_build_object(
      'customers', to_jsonb(array(select id from customers where environment_id = of_environment and right(id, 2) = any(codes))),
      'checkout_sessions', to_jsonb(array(
        select id from checkout_sessions where environment_id = of_environment and customer_id is null and right(id, 2) = any(codes))),
      -- Deleted drafts have left their events. The event of an erased customer has no status any more.
      'invoices', to_jsonb(array(
        select object_id from events where environment_id = of_environment and right(id, 2) = any(codes)
           and type = 'invoice.created' and coalesce(payload -> 'data' ->> 'status', 'draft') = 'draft')));
    -- Sums of events that are here: of a restored archive, or of one that is still to be stored.
    update usage_partitions p set file_is_old = true
     where p.state = 'restored' and exists (
       select from usage_archive_sums a join usage_series s on s.environment_id = a.environment_id and s.id = a.series_id
        where a.number = p.number and s.environment_id = of_environment
          and s.customer_id = any(array(select jsonb_array_elements_text(ids -> 'customers'))));
    delete from usage_archive_sums a using usage_series s
     where s.environment_id = of_environment and s.customer_id = any(array(select jsonb_array_elements_text(ids -> 'customers')))
       and a.environment_id = s.environment_id and a.series_id = s.id
       and a.number in (select number from usage_partitions where state in ('closed', 'restored'));
    perform refuse_archived_events(array(
      select distinct a.number from usage_archive_sums a join usage_series s on s.environment_id = a.environment_id and s.id = a.series_id
       where s.environment_id = of_environment and s.customer_id = any(array(select jsonb_array_elements_text(ids -> 'customers')))
       order by a.number));
    perform move_sums(of_environment, array(select jsonb_array_elements_text(ids -> 'customers')), -1);
    if (select is_home from cell) then
      perform allow_redeemed(of_environment, array(select jsonb_array_elements_text(ids -> 'customers')));
    end if;
    for rule in select * from moved_tables() t where t.parent is not null and t.name in (select m.parent from moved_tables() m) order by t.place loop
      -- Only they are many, and few environments count distinct properties.
      continue when rule.name = 'usage_events'
        and not exists (select from usage_event_distinct_properties where environment_id = of_environment);
      parents := array(select jsonb_array_elements_text(ids -> rule.parent));
      execute format('select array_agg(t.id::text) from %I t where %s', rule.name, condition_of_rule(rule.name, rule.link))
        into found_rows using of_environment, parents;
      ids := jsonb_set(ids, array[rule.name], coalesce(ids -> rule.name, '[]') || to_jsonb(coalesce(found_rows, '{}')));
    end loop;
    ids := ids || jsonb_build_object('ledger_transactions', to_jsonb(array(
      select distinct ledger_transaction_id from ledger_entries
       where environment_id = of_environment and ledger_account_id = any(array(select jsonb_array_elements_text(ids -> 'ledger_accounts'))))));
    ids := ids || jsonb_build_object('number_series', to_jsonb(array(
      select distinct stem
        from (select c.invoice_number_base as base, substring(d.number from '^(.*-)[0-9]+$') as stem
                from (select customer_id, invoice_number as number from invoices where environment_id = of_environment
                         and customer_id = any(array(select jsonb_array_elements_text(ids -> 'customers')))
                       union all
                      select customer_id, credit_note_number from credit_notes where environment_id = of_environment
                         and customer_id = any(array(select jsonb_array_elements_text(ids -> 'customers')))) d
                join customers c on c.environment_id = of_environment and c.id = d.customer_id) numbered
       where strpos(stem, base) > 0)));
    for rule in select * from moved_tables() order by place desc loop
      parents := array(select jsonb_array_elements_text(ids -> coalesce(rule.parent, rule.name)));
      execute format(case rule.name
          when 'ledger_transactions' then 'select array_agg(t::text) from %I t where t.environment_id = $1 and t.id = any($2)'
          else 'with gone as (delete from %I t where %s returning t.*) select array_agg(gone::text%s) from gone' end,
          rule.name,
          case rule.name when 'customers' then 't.environment_id = $1 and t.id = any($2)'
            when 'number_series' then 't.environment_id = $1 and t.stem = any($2)'
            when 'idempotency_keys' then 't.environment_id = $1 and t.slot = any($3)'
            when 'audit_log' then
              't.environment_id = $1 and right(t.record_id, 2) = any($3) and t.record_id ~ ''^[a-z_]+_[0-9A-Za-z]{21}$'''
            when 'ledger_transactions' then ''
            else case when rule.parent is null then 't.environment_id = $1 and t.customer_id is null and t.id = any($2)'
              else condition_of_rule(rule.name, rule.link) end end,
          case when rule.name in ('ledger_entries', 'webhook_deliveries') then ' order by gone.sequence' else '' end)
        into found_rows using of_environment, parents, codes;
      place := rule.place;
      table_name := rule.name;
      for n in 0 .. coalesce(cardinality(found_rows) - 1, -1) / 1000 loop
        packed := found_rows[n * 1000 + 1 : (n + 1) * 1000];
        if cardinality(packed) > 0 then return next; end if;
      end loop;
    end loop;
  end loop;
  -- Jobs about their records. A job that is running finds no records any more. A job that is also about records that stay is copied.
  with about as materialized (
    select j.id, t.identifier, j.payload, j.key, j.run_at, j.max_attempts, slots_of_job(j.payload::jsonb) as slots
      from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
  ), gone as (
    delete from graphile_worker._private_jobs j using about a where a.id = j.id and a.slots && codes and a.slots <@ codes
  )
  select array_agg(json_build_object('task', identifier, 'payload', payload, 'key', key, 'runAt', run_at, 'attempts', max_attempts)::text
           order by id) into found_rows from about where slots && codes;
  if found_rows is not null then
    place := 1000;
    table_name := 'jobs';
    packed := found_rows;
    return next;
  end if;
  set constraints all immediate;
end $$;

-- Refuses a move for events in archives.
create function refuse_archived_events(numbers integer[]) returns void language plpgsql volatile set search_path from current as $$
begin
  if numbers <> '{}' then
    raise exception using errcode = 'TK178', message = format('archive %s of %s has to be restored first',
      array_to_string(numbers, ', '), current_schema());
  end if;
end $$;

-- Refuses events of another cell whose partition is archived here, or whose transaction counts once with one that is here.
create function compare_arriving_events(packed text[]) returns void language plpgsql volatile set search_path from current as $$
declare
  numbers integer[];
begin
  -- The usual cell has one partition, with a key of its own.
  if not exists (select from usage_partitions where state not in ('open', 'ready')) then return; end if;
  numbers := array(select distinct partition_of(greatest(e.booking, 0)) from unnest(packed::usage_events[]) e);
  perform refuse_archived_events(array(
    select p.number from usage_partitions p where p.state = 'archived' and p.number = any(numbers) order by p.number));
  update usage_partitions set file_is_old = true where state = 'restored' and number = any(numbers);
  -- An older one may come to a newer one.
  if exists (
    select from one_row, unnest(packed::usage_events[]) e
      join usage_events other on other.transaction_key = e.transaction_key
      join usage_partitions later on later.number = partition_of(greatest(e.booking, other.booking, 0))
     where least(e.booking, other.booking) >= later.unique_from)
  then
    raise unique_violation using message = 'a usage event of this transaction is in another partition',
      table = 'usage_events', constraint = 'usage_events_transaction_unique';
  end if;
end $$;

-- Adds the rows that have arrived, unless another mover has, and opens their slots, which are those of the home cell without a move, and
-- of another cell with an entry in slots_here.
create function add_arriving_slots() returns void
  language plpgsql volatile security definer set search_path from current as $$
#variable_conflict use_column
declare
  part record;
  columns text;
  moved record;
  codes text[];
begin
  perform lock_for_move();
  select packed into codes from slots_arriving where table_name = 'slots';
  if codes is null then return; end if;
  if (select is_home from cell) then
    -- Rows may come back to it.
    update slots_moving set has_left = false where code = any(codes);
    perform end_slot_move(codes, null);
    delete from slots_allowances where slot = any(codes);
  else
    insert into slots_here (code) select code from one_row, unnest(codes) code
    on conflict (code) do update set is_closing = false;
  end if;
  for part in select * from slots_arriving where table_name <> 'slots' order by place loop
    if part.table_name = 'jobs' then
      perform enqueue_job(j ->> 'task', (j -> 'payload')::json, j ->> 'key', (j ->> 'runAt')::timestamptz, (j ->> 'attempts')::integer)
         from unnest(part.packed) with ordinality as job (packed_job, n) cross join lateral (select packed_job::json as j) parsed order by n;
      continue;
    end if;
    -- Orders of a cell go on: its own numbers, in the order of those before.
    columns := (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
      where attrelid = part.table_name::regclass and attnum > 0 and not attisdropped and attgenerated = ''
        and (part.table_name, attname) not in (('ledger_entries', 'sequence'), ('webhook_deliveries', 'sequence')));
    if part.table_name = 'usage_events' then perform compare_arriving_events(part.packed); end if;
    if part.table_name = 'idempotency_keys' then
      -- Expired answers that are still to be deleted make room for answers that arrive.
      delete from idempotency_keys
       where created_at <= (extract(epoch from clock_timestamp()) * 1000)::bigint - 86400000
         and (environment_id, key) in (select a.environment_id, a.key from one_row, unnest(part.packed::idempotency_keys[]) a);
    end if;
    execute format('insert into %1$I (%2$s) overriding system value select %2$s from unnest($1::%1$I[]) %3$s', part.table_name, columns,
      -- Another slot may have brought them along, and a key belongs to one request.
      case when part.table_name in ('ledger_transactions', 'idempotency_keys', 'test_processor_operations') then 'on conflict do nothing' else '' end)
      using part.packed;
  end loop;
  delete from slots_arriving;
  for moved in select environment_id, array_agg(id) as ids from customers where right(id, 2) = any(codes) group by environment_id loop
    perform move_sums(moved.environment_id, moved.ids, 1);
    if not (select is_home from cell) then perform allow_redeemed(moved.environment_id, moved.ids); end if;
  end loop;
  perform announce_deliveries(environment_id, webhook_id)
     from (select distinct environment_id, webhook_id from webhook_deliveries
            where status = 'pending' and right(id, 2) = any(codes)) due;
  set constraints all immediate;
  -- This cell may have copied a change of the catalog that the source had not, while their rows were in neither.
  perform set_config('tollkeeper.moving', '', true);
  for moved in select environment_id, array_agg(id) as ids from customers where right(id, 2) = any(codes) group by environment_id loop
    perform follow_catalog(array[moved.environment_id],
      array(select e.id from environments e where e.id = moved.environment_id and e.allow_multiple_subscriptions), moved.ids);
    perform schedule_intervals(moved.environment_id, p.pricing_model_id)
       from (select distinct c.pricing_model_id from customers c
               join prices on prices.environment_id = c.environment_id and prices.pricing_model_id = c.pricing_model_id and prices.has_own_interval
              where c.environment_id = moved.environment_id and c.id = any(moved.ids)) p;
  end loop;
end $$;

-- The partitions of another cell that have events, as `source`: number, unique_from, opened_at and closed_at. Its numbers have reached
-- `reached`, and nobody draws one for events that move.

-- Lets these events arrive, and answers true: each has its partition here, new ones follow on them, and transactions count once for as
-- long as there. Otherwise this cell lacks partitions.
create function follow_usage_partitions(source jsonb, reached bigint, p_now bigint, p_unique_since bigint) returns boolean
  language plpgsql volatile security definer set search_path from current as $$
declare
  here integer;
  follows boolean;
  theirs record;
  ours usage_partitions;
  compared_from integer;
begin
  select partition_of(last_value) into here from usage_bookings;
  follows := here >= partition_of(reached);
  for theirs in select * from jsonb_to_recordset(source) s (number integer, unique_from bigint, closed_at bigint) loop
    select * into ours from usage_partitions p where p.number = theirs.number;
    continue when ours.state = 'archived';
    if ours.state in ('closed', 'restored') then
      update usage_partitions p
         set closed_at = greatest(p.closed_at, coalesce(theirs.closed_at, p_now)), unique_from = greatest(p.unique_from, theirs.unique_from)
       where p.number = theirs.number;
    elsif ours.number is null or ours.unique_from < theirs.unique_from then
      follows := false;
    end if;
    if p_unique_since is null or theirs.closed_at is null or theirs.closed_at > p_unique_since then
      compared_from := least(compared_from, theirs.number);
    end if;
  end loop;
  if not follows or (select p.unique_from from usage_partitions p where p.number = here) > compared_from::bigint << 40 then
    return false;
  end if;
  if (select last_value from usage_bookings) < reached then
    perform pg_advisory_xact_lock(7007, hashtext(current_schema()));
    perform setval('usage_bookings', greatest(last_value, reached)) from usage_bookings;
  end if;
  return true;
end $$;

-- Makes the partitions that this cell lacks, closed, and one behind them.
create function add_usage_partitions(source jsonb, p_now bigint) returns void
  language plpgsql volatile security definer set search_path from current set lock_timeout = '200ms' as $$
declare
  theirs record;
  newest integer;
begin
  perform from usage_partitions p where p.state = 'open' for update;
  for theirs in select * from jsonb_to_recordset(source) s (number integer, unique_from bigint, opened_at bigint, closed_at bigint)
    order by number
  loop
    newest := theirs.number;
    continue when exists (select from usage_partitions p where p.number = theirs.number);
    perform make_usage_partition(theirs.number);
    perform index_usage_partition(theirs.number);
    perform attach_usage_partition(theirs.number);
    insert into usage_partitions (number, state, unique_from, opened_at, closed_at)
    values (theirs.number, 'closed', theirs.unique_from, coalesce(theirs.opened_at, p_now),
            coalesce(theirs.closed_at, greatest(theirs.opened_at, p_now)));
  end loop;
  perform prepare_usage_partition(newest);
end $$;

do $$
declare
  callable text;
begin
  foreach callable in array array['begin_slot_move(text[], text, text)', 'end_slot_move(text[], text)', 'take_slots(text[])',
    'add_arriving_slots()', 'follow_usage_partitions(jsonb, bigint, bigint, bigint)', 'add_usage_partitions(jsonb, bigint)']
  loop
    execute format('revoke all on function %s from public', callable);
    execute format('grant execute on function %s to tollkeeper_worker', callable);
  end loop;
end $$;
