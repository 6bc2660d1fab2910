-- The cells of an installation: docs/decisions/0176-customers-live-in-cells.md. A cell is a whole schema, made by these migrations. The
-- home cell also has the list of the others.

-- One row: the installation that this schema belongs to. Another cell has that of its home cell.
create table cell (
  id boolean primary key default true constraint cell_one check (id),
  installation uuid not null default gen_random_uuid(),
  is_home boolean not null default true,
  -- The number of this cell: 0 is home.
  number integer not null default 0,
  -- Of the home cell: each change of slots is a new version.
  slots_version bigint not null default 0
);
insert into cell default values;
grant select on cell to tollkeeper_service, tollkeeper_worker;

-- The cells besides the home cell, in the home cell. Each is complete before it is here.
create table cells (
  -- The name of its schema.
  name text collate "C" primary key,
  -- The server and the database, without user and password. Null: those of the home cell.
  address text,
  -- It is a part of the numbers of documents, and no cell gets that of another.
  number integer not null generated always as identity constraint cells_number_unique unique,
  created_at bigint not null,
  constraint cells_name check (name ~ '^[a-z_][a-z0-9_]{0,39}$'),
  constraint cells_address check (char_length(address) <= 2000 and address ~ '^postgres(ql)?://[^@]+$')
);
grant select, insert, delete on cells to tollkeeper_worker;

-- Customers live in the cell of their slot, a number below 62^2 in base 62. In the home cell: the slots of other cells.
create table slots (
  code text collate "C" primary key,
  cell text collate "C" not null references cells,
  constraint slots_code check (code ~ '^[0-9A-Za-z]{2}$' and code <> '00')
);
create index slots_of_cell on slots (cell);
grant select on slots to tollkeeper_service, tollkeeper_worker;

-- In the home cell: the slots under way. Neither cell answers for them. Null is the home cell.
create table slots_moving (
  code text collate "C" primary key,
  source text collate "C" references cells,
  target text collate "C" references cells,
  -- The home cell was the source, and has the rows no more.
  has_left boolean not null default false,
  constraint slots_moving_code check (code ~ '^[0-9A-Za-z]{2}$' and code <> '00'),
  constraint slots_moving_elsewhere check (source is distinct from target)
);
grant select on slots_moving to tollkeeper_service, tollkeeper_worker;

-- In another cell: its slots.
create table slots_here (
  code text collate "C" primary key,
  -- About to leave: nobody enters it any more.
  is_closing boolean not null default false,
  constraint slots_here_code check (code ~ '^[0-9A-Za-z]{2}$' and code <> '00')
);
grant select, insert, update (is_closing) on slots_here to tollkeeper_worker;
grant select on slots_here to tollkeeper_service;

-- In the target of a move: its rows as text, stored before the source commits that it has them no more.
create table slots_arriving (
  place integer primary key,
  -- Of the source. If it has committed, these are the only rows, and all of them.
  source_transaction text not null,
  table_name text not null,
  packed text[] not null
);
grant select, insert, delete on slots_arriving to tollkeeper_worker;

-- Whether this cell has the customers of a slot.
create function holds_slot(wanted text) returns boolean language sql stable set search_path from current
  return case when (select is_home from cell)
    then not exists (select from slots where code = wanted) and not exists (select from slots_moving where code = wanted)
    else exists (select from slots_here where code = wanted and not is_closing) end;

create function slot_code(number bigint) returns text language sql immutable
  return substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', (number / 62)::integer + 1, 1)
    || substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', (number % 62)::integer + 1, 1);

-- The slot of a customer, as src/customers/actions-slots.ts computes it.
create function slot_of_customer(environment bigint, external_id text) returns text language sql immutable set search_path from current as $$
  select case when external_id collate "C" ~ '^(chckt_session|cust)_[0-9A-Za-z]{21}$' and right(external_id, 2) <> '00' then right(external_id, 2)
    else slot_code(1 + ((get_byte(h, 0)::bigint << 24) + (get_byte(h, 1) << 16) + (get_byte(h, 2) << 8) + get_byte(h, 3)) % 3843) end
    from sha256(convert_to(environment || E'\n' || external_id, 'UTF8')) h
$$;

-- Those with a name of another slot than their id has: both slots have to be in one cell.
create index customers_renamed on customers (environment_id)
  where erased_at is null and right(id, 2) <> slot_of_customer(environment_id, external_id);

-- No cell makes a customer whom another cell would be asked for, nor gives one such a name. An erased customer is asked for by id.
create function keep_customers_in_slots() returns trigger language plpgsql set search_path from current as $$
begin
  if new.erased_at is not null then return new; end if;
  perform pg_advisory_xact_lock_shared(hashtextextended(current_schema() || ' slots', 0));
  -- The usual installation has no other cell with slots.
  if (select is_home from cell) and not exists (select from slots) and not exists (select from slots_moving) then return new; end if;
  if not holds_slot(right(new.id, 2)) and not (select is_home from cell) then
    raise exception using errcode = 'TK177', message = 'the slot is not open in this cell';
  end if;
  if not (holds_slot(right(new.id, 2)) and holds_slot(slot_of_customer(new.environment_id, new.external_id))) then
    raise exception using errcode = 'TK176', message = 'another cell has the customers of this slot';
  end if;
  return new;
end $$;
create trigger customers_in_slots before insert or update of external_id on customers
  for each row execute function keep_customers_in_slots();

-- Redemptions of a discount with a maximum are counted over cells: docs/decisions/0189-cells-decide-together.md. A slot of another cell
-- is allowed a number of them, which its cell knows. The home cell knows as many or more, and counts them as its own.
create table slots_allowances (
  environment_id bigint not null,
  discount_id text collate "C" not null,
  slot text collate "C" not null,
  allowed bigint not null,
  -- In another cell: until then it is for the request that asked for it. Real time.
  kept_until bigint not null default 0,
  primary key (environment_id, discount_id, slot),
  foreign key (environment_id, discount_id) references discounts on delete cascade,
  constraint slots_allowances_allowed check (allowed >= 0)
);
grant select, insert, update, delete on slots_allowances to tollkeeper_worker;

-- Whether other cells have customers.
create function is_one_of_cells() returns boolean language sql stable set search_path from current
  return not (select is_home from cell) or exists (select from slots) or exists (select from slots_moving);

-- How often customers of a slot may still redeem a discount, as far as this cell knows. Null: as often as they like.
create function redemptions_left(of_environment bigint, discount text, of_slot text) returns bigint
  language sql stable security definer set search_path from current as $$
  select case
      when not d.is_counted then null
      when (select is_home from cell) then d.maximum_redemptions
        - (select count(*) from discount_redemptions r where r.environment_id = d.environment_id and r.discount_id = d.id)
        - (select coalesce(sum(a.allowed), 0)::bigint from slots_allowances a where a.environment_id = d.environment_id and a.discount_id = d.id)
      else (select coalesce(sum(a.allowed), 0)::bigint from slots_allowances a
             where a.environment_id = d.environment_id and a.discount_id = d.id and a.slot = of_slot)
        - (select count(*) from discount_redemptions r
            where r.environment_id = d.environment_id and r.discount_id = d.id and right(r.customer_id, 2) = of_slot) end
    from discounts d
   where d.environment_id = of_environment and d.id = discount
     and (of_environment = current_environment() or current_setting('role') <> 'tollkeeper_service')
$$;

-- Of the home cell: allows a slot of another cell as many redemptions as are wanted and left, and never fewer than its cell knows of.
create function give_allowance(of_environment bigint, discount text, of_slot text, known bigint, wanted bigint) returns bigint
  language plpgsql volatile security definer set search_path from current as $$
declare
  given bigint;
begin
  perform from discounts where environment_id = of_environment and id = discount for no key update;
  -- A slot of the home cell redeems without.
  if not found or holds_slot(of_slot) then return known; end if;
  given := greatest(known, least(wanted, redemptions_left(of_environment, discount, of_slot)
    + (select coalesce(sum(allowed), 0) from slots_allowances where environment_id = of_environment and discount_id = discount and slot = of_slot)));
  insert into slots_allowances (environment_id, discount_id, slot, allowed) values (of_environment, discount, of_slot, given)
  on conflict (environment_id, discount_id, slot) do update set allowed = excluded.allowed;
  return given;
end $$;

-- A cell begins to count when its copy of the discount says so.
create function begin_to_count() returns trigger language plpgsql set search_path from current as $$
begin
  if (select is_home from cell) then return null; end if;
  insert into slots_allowances (environment_id, discount_id, slot, allowed)
  select environment_id, discount_id, right(customer_id, 2), count(*) from discount_redemptions
   where environment_id = new.environment_id and discount_id = new.id group by 1, 2, 3;
  return null;
end $$;
create trigger discounts_begin_to_count after update of is_counted on discounts
  for each row when (new.is_counted and not old.is_counted) execute function begin_to_count();

-- Gives a cell as many slots as it has not yet of `wanted`, at home. Answers how many there are too few of: a slot with customers stays.
create function give_slots(receiver text, wanted integer) returns integer
  language plpgsql security definer set search_path from current as $$
declare
  given integer;
begin
  -- Nobody makes a customer meanwhile: each who does holds the lock with others.
  perform pg_advisory_xact_lock(hashtextextended(current_schema() || ' slots', 0));
  insert into slots (code, cell)
    select free.code, receiver
      from (select slot_code(n) as code from generate_series(1, 3843) n
             except select code from slots
             except select code from slots_moving
             except select right(id, 2) from customers
             except select slot_of_customer(environment_id, external_id) from customers
             except select right(id, 2) from checkout_sessions where customer_id is null) free
     order by free.code
     limit greatest(0, wanted - (select count(*) from slots where cell = receiver));
  get diagnostics given = row_count;
  if given > 0 then update cell set slots_version = slots_version + 1; end if;
  return wanted - (select count(*) from slots where cell = receiver);
end $$;

-- The tables with a copy in each cell, in the order of their references. Columns that a copy does not have are named.
create function copied_tables() returns table (name text, place integer, except_columns text[]) language sql immutable as $$
  values ('organizations', 1, array['made_by_environment_id', 'made_by_api_key_id', 'made_by_user_id']),
         -- A cell moves its clock itself, behind that of home.
         ('environments', 2, array['clock_target', 'clock_from', 'clock_moved_at']), ('pricing_models', 3, array['catalog_version']), ('api_keys', 4, array['last_used_at']),
         ('resources', 5, '{}'), ('usage_meters', 6, '{}'), ('products', 7, '{}'), ('prices', 8, '{}'), ('credit_pools', 9, '{}'),
         ('credit_pool_rates', 10, '{}'), ('features', 11, '{}'), ('product_features', 12, '{}'), ('discounts', 13, '{}'),
         ('tax_rates', 14, '{}'), ('webhooks', 15, array['wanted_since'])
$$;
create function copied_columns(table_name text) returns text[] language sql stable set search_path from current as $$
  select array_agg(a.attname::text order by a.attnum)
    from copied_tables() c join pg_attribute a on a.attrelid = c.name::regclass and a.attnum > 0
   where c.name = table_name and not a.attisdropped and a.attgenerated = '' and a.attname <> all(c.except_columns)
$$;

-- A change at home reaches the other cells by a job of its commit, whoever makes it. A request also does it itself, and waits.
create function request_copies() returns trigger language plpgsql set search_path from current as $$
begin
  if exists (select from slots) or exists (select from slots_moving) then
    perform enqueue_job('copy_catalog', json_build_object('environmentId', current_environment()),
      'copy_catalog ' || coalesce(current_environment()::text, ''), now(), 25);
  end if;
  return null;
end $$;
do $$
declare
  copied record;
begin
  for copied in select name from copied_tables() loop
    execute format('create trigger copies_follow after insert or delete or update of %s on %I for each statement execute function request_copies()',
      (select string_agg(quote_ident(c), ', ') from unnest(copied_columns(copied.name)) c
        where (copied.name, c) not in (('environments', 'clock_now'), ('api_keys', 'last_used_at'), ('webhooks', 'failing_since'), ('webhooks', 'updated_at'), ('api_keys', 'updated_at'))),
      copied.name);
  end loop;
end $$;

-- The catalog of an organization as of the statement that asks: the rows of each table that cells have copies of.
create function read_catalog(wanted text) returns jsonb language plpgsql stable security definer set search_path from current as $$
declare
  copied record;
  copied_rows jsonb;
  catalog jsonb := '{}';
  of_organization bigint[] := array(select id from environments where organization_id = wanted);
begin
  for copied in select name from copied_tables() loop
    execute format('select coalesce(jsonb_agg(to_jsonb(r)), ''[]'') from (select %s from %I t where %s) r',
      (select string_agg(quote_ident(c), ', ') from unnest(copied_columns(copied.name)) c), copied.name,
      case copied.name when 'organizations' then 't.id = $1' when 'environments' then 't.id = any($2)' else 't.environment_id = any($2)' end)
      into copied_rows using wanted, of_organization;
    catalog := catalog || jsonb_build_object(copied.name, copied_rows);
  end loop;
  return catalog;
end $$;

-- Series of numbers of an environment are series of a cell here, so that no number is given twice.
create function numbering_of_cell(numbering jsonb) returns jsonb language sql stable set search_path from current as $$
  select jsonb_object_agg(document, case when series ->> 'per' = 'environment'
           then series || jsonb_build_object('prefix', coalesce(series ->> 'prefix', case document when 'invoices' then 'INV' else 'CN' end)
             || '-C' || (select number from cell)) else series end)
    from jsonb_each(numbering) as each (document, series)
$$;

-- Deletes the rows of a copy that home has no more.
create function remove_from_copy(table_name text, of_organization bigint[], kept jsonb) returns void
  language plpgsql volatile set search_path from current as $$
begin
  execute format('delete from %1$I t where t.environment_id = any($1) and not exists (
      select from jsonb_populate_recordset(null::%1$I, $2) r where r.environment_id = t.environment_id and r.id = t.id)', table_name)
    using of_organization, kept;
end $$;

-- Schedules the subscriptions of a pricing model again, because it may have prices with an interval of their own that they do not follow.
create function schedule_intervals(of_environment bigint, pricing_model text) returns void language sql volatile set search_path from current
begin atomic
  select enqueue_job('schedule_interims', json_build_object('environmentId', of_environment, 'pricingModelId', pricing_model, 'after', ''),
    'schedule_interims:' || pricing_model, now(), 25);
end;

-- Does for the subscriptions of a cell what the actions at home do there when the catalog changes: those of these customers, or of all
-- with null. `lifted` are environments that allow several subscriptions.
create function follow_catalog(of_environments bigint[], lifted bigint[], customers text[]) returns void
  language plpgsql volatile set search_path from current as $$
begin
  perform set_config('tollkeeper.action', 'follow_catalog', true);
  -- A link that was made with its end is not detached from.
  update subscription_item_features s
     set product_feature_id = null, detached_at = f.expired_at, detached_reason = 'product_feature_expired', updated_at = f.expired_at
    from product_features f
   where f.environment_id = any(of_environments) and f.expired_at = f.updated_at
     and s.environment_id = f.environment_id and s.product_feature_id = f.id
     and (customers is null or s.subscription_id in (
       select u.id from subscriptions u where u.environment_id = any(of_environments) and u.customer_id = any(customers)));
  update subscriptions s set exclusive = false
    from (select environment_id, id from subscriptions u
           where environment_id = any(lifted) and exclusive and status not in ('canceled', 'incomplete_expired')
             and (customers is null or u.customer_id = any(customers))
           order by id for no key update) living
   where s.environment_id = living.environment_id and s.id = living.id;
end $$;

-- Takes out of a copy what is about to be deleted at home, unless customers of this cell use it. So nobody here begins to.
create function remove_leaving(of_environments bigint[]) returns void
  language plpgsql volatile set search_path from current as $$
declare
  leaving record;
  part text;
begin
  for leaving in
    select 'product_id' as link, environment_id, id from products
     where environment_id = any(of_environments) and removing_until is not null
    union all
    select 'pricing_model_id', environment_id, id from pricing_models
     where environment_id = any(of_environments) and removing_until is not null
  loop
    perform from prices where environment_id = leaving.environment_id and product_id = leaving.id for update;
    continue when exists (
      select from subscription_adjustments a cross join jsonb_array_elements(a.items) item
        join prices p on p.environment_id = a.environment_id and p.id = item ->> 'priceId'
       where a.environment_id = leaving.environment_id and p.product_id = leaving.id);
    begin
      for part in
        select c.name from copied_tables() c join pg_attribute a on a.attrelid = c.name::regclass and a.attname = leaving.link
         where c.name not in ('api_keys', 'webhooks') order by c.place desc
      loop
        execute format('delete from %I where environment_id = $1 and %I = $2', part, leaving.link) using leaving.environment_id, leaving.id;
      end loop;
      execute format('delete from %I where environment_id = $1 and id = $2',
        case leaving.link when 'product_id' then 'products' else 'pricing_models' end) using leaving.environment_id, leaving.id;
    exception when foreign_key_violation then
      null;
    end;
  end loop;
end $$;

-- Makes the catalog of a cell equal to that of the home cell. One who writes has locked the copy first and then read the catalog, so
-- that an older state never takes the place of a newer one.
create function write_catalog(wanted text, catalog jsonb) returns void language plpgsql security definer set search_path from current as $$
declare
  copied record;
  columns text;
  of_organization bigint[];
  lifted bigint[];
begin
  if (select is_home from cell) then
    raise object_not_in_prerequisite_state using message = 'the catalog of the home cell is no copy';
  end if;
  catalog := jsonb_set(catalog, '{environments}', (
    select coalesce(jsonb_agg(e || jsonb_build_object('numbering', numbering_of_cell(e -> 'numbering'))), '[]')
      from jsonb_array_elements(catalog -> 'environments') e));
  lifted := array(select e.id from environments e join jsonb_populate_recordset(null::environments, catalog -> 'environments') r using (id)
    where r.allow_multiple_subscriptions and not e.allow_multiple_subscriptions);
  perform announce_deliveries(t.environment_id, t.id || ' changed')
     from webhooks t join jsonb_populate_recordset(null::webhooks, catalog -> 'webhooks') r using (environment_id, id)
    where r.revision <> t.revision;
  perform schedule_intervals(added.environment_id, added.pricing_model_id)
     from (select distinct r.environment_id, r.pricing_model_id from jsonb_populate_recordset(null::prices, catalog -> 'prices') r
            where r.has_own_interval
              and not exists (select from prices t where t.environment_id = r.environment_id and t.id = r.id)) added;
  -- Nothing refers to these, and others take their places.
  of_organization := array(select id from environments where organization_id = wanted);
  perform remove_from_copy(name, of_organization, catalog -> name) from copied_tables() where name in ('credit_pool_rates', 'tax_rates');
  for copied in select name from copied_tables() order by place loop
    columns := (select string_agg(quote_ident(c), ', ') from unnest(copied_columns(copied.name)) c);
    -- A slug that another row gives up in the same change is free first, and so is the place of a default.
    if 'slug' = any(copied_columns(copied.name)) then
      execute format('update %1$I t set slug = t.id from jsonb_populate_recordset(null::%1$I, $1) r
        where t.environment_id = r.environment_id and t.id = r.id and t.slug <> r.slug', copied.name) using catalog -> copied.name;
    end if;
    -- A row that is the same is not locked, so that its users do not wait.
    execute format('insert into %1$I as t (%2$s) overriding system value
        select %2$s from jsonb_populate_recordset(null::%1$I, $1) r
         where not exists (select from %1$I t where t.id = r.id and not (%7$s) %8$s)
         order by (to_jsonb(r) ->> ''active'')::boolean nulls first, (to_jsonb(r) ->> ''is_default'')::boolean nulls first, id
        on conflict (%3$s) do update set %4$s where (%5$s) %6$s',
      copied.name, columns, case when copied.name in ('organizations', 'environments') then 'id' else 'environment_id, id' end,
      (select string_agg(format('%1$I = excluded.%1$I', c), ', ') from unnest(copied_columns(copied.name)) c
        where c not in ('environment_id', 'id', 'clock_now')),
      (select string_agg(format('t.%1$I is distinct from excluded.%1$I', c), ' or ') from unnest(copied_columns(copied.name)) c
        where c <> 'clock_now'),
      -- The sender of a cell switches its webhooks off, until a caller changes them.
      case copied.name when 'webhooks' then 'and excluded.revision <> t.revision' else '' end,
      (select string_agg(format('t.%1$I is distinct from r.%1$I', c), ' or ') from unnest(copied_columns(copied.name)) c
        where c <> 'clock_now'),
      case when copied.name in ('organizations', 'environments') then '' else 'and t.environment_id = r.environment_id' end)
      using catalog -> copied.name;
  end loop;
  -- A cell without customers takes the test clocks of home at once, because it has no work due on the way.
  if not exists (select from slots_here) then
    update environments e set clock_now = r.clock_now, clock_target = null, clock_from = null, clock_moved_at = null
      from jsonb_populate_recordset(null::environments, catalog -> 'environments') r
     where e.id = r.id and e.clock_now is distinct from r.clock_now;
  end if;
  for copied in select name from copied_tables() where name not in ('organizations', 'environments') order by place desc loop
    perform remove_from_copy(copied.name, of_organization, catalog -> copied.name);
  end loop;
  perform remove_leaving(of_organization);
  perform follow_catalog(of_organization, lifted, null);
end $$;

-- Gives this cell its number, and series of usage that no other cell has.
create function number_cell(given integer) returns void
  language plpgsql volatile security definer set search_path from current as $$
declare
  first_series bigint := given::bigint << 40;
  -- A schema on a node of Citus has a sequence in place of the identity.
  numbers regclass := coalesce(to_regclass('usage_series_id_numbers'), pg_get_serial_sequence('usage_series', 'id')::regclass);
begin
  update cell set number = given where not is_home;
  execute format('select setval(%L, $1) from %s where last_value < $1', numbers, numbers) using first_series;
end $$;

revoke all on function give_slots(text, integer) from public;
revoke all on function redemptions_left(bigint, text, text) from public;
revoke all on function give_allowance(bigint, text, text, bigint, bigint) from public;
revoke all on function number_cell(integer) from public;
revoke all on function read_catalog(text) from public;
revoke all on function write_catalog(text, jsonb) from public;
revoke all on function remove_from_copy(text, bigint[], jsonb) from public;
revoke all on function remove_leaving(bigint[]) from public;
revoke all on function schedule_intervals(bigint, text) from public;
revoke all on function follow_catalog(bigint[], bigint[], text[]) from public;
grant execute on function give_slots(text, integer) to tollkeeper_worker;
grant execute on function redemptions_left(bigint, text, text) to tollkeeper_service, tollkeeper_worker;
grant execute on function give_allowance(bigint, text, text, bigint, bigint) to tollkeeper_worker;
grant execute on function number_cell(integer) to tollkeeper_worker;
grant execute on function read_catalog(text) to tollkeeper_worker;
grant execute on function write_catalog(text, jsonb) to tollkeeper_worker;
