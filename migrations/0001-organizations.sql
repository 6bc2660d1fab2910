-- Who may ask, and in which environment. An environment is one organization in one mode: the tenant.
-- Every tenant-owned table begins its keys with environment_id, so a row cannot point at another tenant's row.
-- Instants are epoch milliseconds (bigint): the documented range, plus or minus 2^53-1, is wider than timestamptz.

-- One row. Citus carries out an `insert ... select` on the node of the schema only where the select reads a table of it.
create table one_row (
  is_one boolean primary key default true,
  constraint one_row_only check (is_one)
);
insert into one_row default values;
-- Without the row, these statements would insert nothing.
create function keep_one_row() returns trigger language plpgsql as $$
begin
  raise object_not_in_prerequisite_state using message = 'the row of one_row stays';
end $$;
create trigger one_row_stays before update or delete or truncate on one_row for each statement execute function keep_one_row();

-- The table of a trigger: Citus adds the number of a shard to its name.
create function table_of_trigger(tg_table_name name) returns text language sql immutable
  return regexp_replace(tg_table_name, '_[0-9]{6,}$', '');

create table organizations (
  id text collate "C" primary key,
  name text not null,
  created_at bigint not null,
  updated_at bigint not null
);

create table environments (
  id bigint generated always as identity primary key,
  organization_id text collate "C" not null references organizations,
  livemode boolean not null,
  currency text not null default 'USD',
  allow_multiple_subscriptions boolean not null default false,
  access_past_due text not null default 'full',
  access_unpaid text not null default 'none',
  allow_repeated_trials boolean not null default false,
  allow_repeated_discounts boolean not null default false,
  bank_debits boolean not null default false,
  billing_threshold_amount numeric(38, 0)
    constraint environments_billing_threshold check (billing_threshold_amount between 1 and 4503599627370495),
  unknown_fields text not null default 'refuse',
  billing_anchor jsonb not null default '"anniversary"',
  first_period text not null default 'short',
  -- The series of invoices and of credit notes: per customer or environment, a prefix, and whether each year has its own.
  numbering jsonb not null default '{"invoices": {"per": "customer", "prefix": null, "yearly": false}, "creditNotes": {"per": "customer", "prefix": null, "yearly": false}}',
  -- The time zone of the seller, which decides the year of a number.
  time_zone text not null default 'UTC',
  payment_instructions text,
  -- The hours for which invoices of periods wait as drafts.
  review_hours integer not null default 0 constraint environments_review_hours check (review_hours between 0 and 720),
  -- Emails to customers: whether they are sent, the address for answers, who may get them in test mode, and own texts.
  mail jsonb not null default '{"enabled": false, "replyTo": null, "testRecipients": [], "texts": {}}',
  -- The look of what buyers see: images as data URIs, a colour and a legal text. It is stored apart from the row, and read alone.
  branding jsonb not null default '{"logo": null, "icon": null, "primaryColor": null, "legalFooter": null}',
  clock_now bigint,
  created_at bigint not null,
  updated_at bigint not null,
  constraint environments_unknown_fields check (unknown_fields in ('refuse', 'ignore')),
  constraint environments_billing_anchor check (billing_anchor in ('"anniversary"', '"calendar"')
    or (jsonb_typeof(billing_anchor -> 'day') = 'number' and (billing_anchor ->> 'day')::numeric between 1 and 31)),
  constraint environments_numbering check (jsonb_typeof(numbering -> 'invoices') = 'object' and jsonb_typeof(numbering -> 'creditNotes') = 'object'),
  constraint environments_mail check (jsonb_typeof(mail -> 'enabled') = 'boolean' and char_length(mail::text) <= 100000),
  constraint environments_branding check (jsonb_typeof(branding) = 'object' and char_length(branding::text) <= 700000),
  constraint environments_first_period check (first_period in ('short', 'long')),
  constraint environments_one_per_mode unique (organization_id, livemode),
  constraint environments_live_time_is_real check (clock_now is null or not livemode),
  constraint environments_access check (access_past_due in ('full', 'none') and access_unpaid in ('full', 'none'))
);
comment on column environments.clock_now is 'The test clock: null means real time.';

create table api_keys (
  environment_id bigint not null references environments,
  id text collate "C" not null,
  name text not null,
  type text not null default 'secret',
  masked_token text not null,
  hash bytea not null,
  active boolean not null default true,
  pricing_model_id text collate "C",
  -- Kinds of access, or kinds in one group of routes: src/kernel/permission.ts.
  permissions text[] not null,
  expires_at bigint,
  -- The key that took its place when it was rotated.
  replaced_by_id text collate "C",
  last_used_at bigint,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  constraint api_keys_replaced_by_fk foreign key (environment_id, replaced_by_id) references api_keys,
  -- A key that took the place of another did so for one.
  constraint api_keys_replaces_one unique (environment_id, replaced_by_id),
  constraint api_keys_replaced_ends check (replaced_by_id is null or not active or expires_at is not null),
  constraint api_keys_permissions check (cardinality(permissions) between 1 and 100
    and array_to_string(permissions, ' ', '?') ~ '^([a-z-]+:)?(read|write|money|catalog|admin)( ([a-z-]+:)?(read|write|money|catalog|admin))*$'),
  -- The one unique key that does not begin with the environment: a key names its environment, not the other way round.
  constraint api_keys_hash_unique unique (hash),
  constraint api_keys_type check (type in ('secret')),
  constraint api_keys_hash_is_sha256 check (octet_length(hash) = 32)
);

-- The key or the person that had an organization made, if it was made over the API.
alter table organizations add column made_by_environment_id bigint,
  add column made_by_api_key_id text collate "C", add column made_by_user_id text collate "C",
  add constraint organizations_made_by_fk foreign key (made_by_environment_id, made_by_api_key_id) references api_keys,
  add constraint organizations_made_by_one check (
    num_nonnulls(made_by_api_key_id, made_by_user_id) = num_nonnulls(made_by_environment_id));
create index organizations_made_by on organizations (made_by_environment_id) where made_by_environment_id is not null;

-- A stored answer exists exactly when the request it belongs to was committed.
create table idempotency_keys (
  environment_id bigint not null references environments,
  key text not null,
  request_hash bytea not null,
  response text not null,
  -- Steps outside of the database that the answer still waits for. A repeat runs them and answers what came of them.
  effects json,
  created_at bigint not null,
  -- The first of the slots that the request names: the answer moves with it.
  slot text collate "C",
  primary key (environment_id, key),
  constraint idempotency_keys_length check (char_length(key) between 1 and 255)
);
create index idempotency_keys_created_at on idempotency_keys (created_at);

create table events (
  environment_id bigint not null references environments,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  type text not null,
  object text not null,
  object_id text collate "C" not null,
  payload jsonb not null,
  occurred_at bigint not null,
  created_at bigint not null,
  -- Told at most once for each cause: '' where a record has one in its life, or the payment, the refund or the date.
  cause text collate "C",
  primary key (environment_id, id)
);
create unique index events_once_per_cause on events (environment_id, object_id, type, cause) where cause is not null;
create index events_by_object on events (environment_id, object_id, id);
create index events_by_time on events (environment_id, occurred_at);
-- With the column that row-level security reads, so that a list counts its rows without visiting them.
create index events_by_type on events (environment_id, type, id) include (pricing_model_id);
-- A draft that is deleted leaves this event, and no record by which a move of its customer would find it.
create index events_of_drafts on events (environment_id, right(id, 2)) where type = 'invoice.created' and coalesce(payload -> 'data' ->> 'status', 'draft') = 'draft';

-- The scope of a transaction. Unset means no rows at all.
create function current_environment() returns bigint language sql stable
  return nullif(current_setting('tollkeeper.environment_id', true), '')::bigint;

create function current_pricing_model() returns text language sql stable
  return nullif(current_setting('tollkeeper.pricing_model_id', true), '');

-- Whether this transaction moves rows of slots between cells (0027). Nobody who makes requests can say so.
create function is_moving() returns boolean language sql stable
  return (current_setting('tollkeeper.moving', true) = 'on' and current_setting('role') <> 'tollkeeper_service') is true;

create type environment_scope as (
  environment_id bigint,
  organization_id text,
  livemode boolean,
  currency text,
  -- The settings that several folders need, by name.
  settings jsonb,
  clock_now bigint,
  api_key_id text,
  -- The pricing model to which the key is pinned.
  pinned_to text,
  -- The person who asks, instead of a key, and their role in the organization.
  user_id text,
  role text
);

-- The body is text: minor versions of PostgreSQL such as 15.20 refuse to alter a table whose row a parsed body takes.
create function shared_settings(environment environments) returns jsonb language sql stable as $$
  select jsonb_build_object('allowMultipleSubscriptions', environment.allow_multiple_subscriptions,
    'allowRepeatedTrials', environment.allow_repeated_trials,
    'allowRepeatedDiscounts', environment.allow_repeated_discounts, 'bankDebits', environment.bank_debits,
    'accessPastDue', environment.access_past_due, 'accessUnpaid', environment.access_unpaid,
    'unknownFields', environment.unknown_fields,
    'billingAnchor', environment.billing_anchor, 'firstPeriod', environment.first_period,
    'numbering', environment.numbering, 'timeZone', environment.time_zone)
$$;

-- Finds the key and puts the transaction into its environment, in one round trip. The service role cannot read
-- api_keys of an environment that it has not entered, so this function is the only way in. The key must have one of the
-- permissions in `sufficient`, unless that is null. Where it has none, the answer names the key and no environment.
create function authenticate(key_hash bytea, at bigint, sufficient text[]) returns environment_scope
  language plpgsql volatile security definer set search_path from current as $$
declare
  found_scope environment_scope;
  -- Of an expression no statement is made.
  said text;
begin
  select case when k.permissions && sufficient is not false then e.id end, e.organization_id, e.livemode, e.currency,
         shared_settings(row(e.*)::environments), e.clock_now, k.id, k.pricing_model_id, null, null
    into found_scope
    from api_keys k join environments e on e.id = k.environment_id
   where k.hash = key_hash and k.active and (k.expires_at is null or k.expires_at > at);
  -- The key, so that the audit log knows it.
  said := set_config('tollkeeper.environment_id', coalesce(found_scope.environment_id::text, ''), true);
  said := set_config('tollkeeper.pricing_model_id', coalesce(found_scope.pinned_to, ''), true);
  said := set_config('tollkeeper.api_key_id', coalesce(found_scope.api_key_id, ''), true);
  return found_scope;
end $$;

-- The same for work that no key asked for: jobs and the command line.
create function enter_environment(wanted bigint) returns environment_scope
  language plpgsql volatile security definer set search_path from current as $$
declare
  found_scope environment_scope;
begin
  -- A move of slots takes rows from under nobody who works (0027).
  perform pg_advisory_xact_lock_shared(7010, hashtext(current_schema()));
  select e.id, e.organization_id, e.livemode, e.currency, shared_settings(row(e.*)::environments), e.clock_now, null, null, null, null
    into found_scope
    from environments e where e.id = wanted;
  perform set_config('tollkeeper.environment_id', coalesce(found_scope.environment_id::text, ''), true),
          set_config('tollkeeper.pricing_model_id', '', true),
          set_config('tollkeeper.api_key_id', '', true),
          set_config('tollkeeper.user_id', '', true);
  return found_scope;
end $$;

-- Makes an organization and its two environments for the key or the person of the request, who becomes its owner: at most `at_most` of them for one organization,
-- and none for an organization that was made so itself, so that their number is bounded. The service role sees no organization,
-- so this function is the only way. The transaction then enters the new environments by `enter_environment`.
create function make_organization(new_id text, new_name text, at bigint, at_most integer)
  returns table (livemode boolean, environment_id bigint)
  language plpgsql volatile security definer set search_path from current as $$
declare
  maker organizations;
  asking_user text := nullif(current_setting('tollkeeper.user_id', true), '');
begin
  if current_pricing_model() is not null then
    raise insufficient_privilege using message = 'a key that is pinned to a pricing model makes no organization';
  end if;
  -- The lock makes counting and adding one step.
  select o.* into strict maker
    from environments e join organizations o on o.id = e.organization_id
   where e.id = current_environment() for no key update of o;
  if maker.made_by_environment_id is not null or at_most <= (
    select count(*) from environments e join organizations o on o.made_by_environment_id = e.id where e.organization_id = maker.id)
  then
    raise program_limit_exceeded using message = 'the organization may make no other organization', table = 'organizations',
      detail = (case when maker.made_by_environment_id is null then at_most else 0 end)::text;
  end if;
  insert into organizations (id, name, made_by_environment_id, made_by_api_key_id, made_by_user_id, created_at, updated_at)
    values (new_id, new_name, current_environment(), nullif(current_setting('tollkeeper.api_key_id'), ''), asking_user, at, at);
  if asking_user is not null then
    insert into people_memberships (organization_id, user_id, role, created_at, updated_at)
      values (new_id, asking_user, 'owner', at, at);
  end if;
  -- The audit log of the new organization does not name the key of another.
  perform set_config('tollkeeper.api_key_id', '', true);
  return query
    insert into environments as made (organization_id, livemode, created_at, updated_at)
      select new_id, mode, at, at from one_row, unnest(array[false, true]) mode
    returning made.livemode, made.id;
end $$;

-- Brings a transaction back from another environment into that of its request: the key or the person who asked.
create function return_to_environment(wanted bigint, key_id text, asking_user text) returns void
  language sql volatile set search_path from current
  begin atomic
    select set_config('tollkeeper.environment_id', wanted::text, true), set_config('tollkeeper.api_key_id', key_id, true),
           set_config('tollkeeper.user_id', asking_user, true);
  end;

-- Last use is written apart from the request, many keys at a time, so that a read stays a read.
create function touch_api_keys(hashes bytea[], at bigint) returns void
  language sql volatile security definer set search_path from current
  begin atomic
    update api_keys set last_used_at = greatest(last_used_at, at) where hash = any (hashes);
  end;

-- Tables whose rights their own migration gives, because they hold no rows of one environment, or rows that a request never touches.
create function has_own_rights(table_name name) returns boolean language sql immutable
  return table_name ~ '^(one_row$|people_|check_|usage_events_[0-9]+$|usage_partitions$|test_processor_|cells?$|slots(_[a-z]+)?$)';

grant select on one_row to tollkeeper_service;

-- A clock may step back between two writes of a row, and the clocks of two machines differ. Accounts and credits of the
-- ledger are left out, because their SQL takes the later time itself, in the statement of the ingest.
create function keep_updated_at() returns trigger language plpgsql set search_path from current as $$
begin
  new.updated_at := new.created_at;
  return new;
end $$;
create function order_stamps() returns void language plpgsql as $$
declare
  stamped text;
begin
  for stamped in
    select c.relname from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
       and c.relname not in ('ledger_accounts', 'usage_credits') and not has_own_rights(c.relname)
       and (select count(*) from pg_attribute a
             where a.attrelid = c.oid and a.attname in ('created_at', 'updated_at') and not a.attisdropped) = 2
  loop
    execute format('create or replace trigger a_stamps_in_order before insert or update on %I for each row
      when (new.updated_at < new.created_at) execute function keep_updated_at()', stamped);
  end loop;
end $$;

-- Row-level security on every table that has environment_id: run after the migrations, so that none is forgotten.
-- tollkeeper_worker is a member of tollkeeper_service, and passes in every environment. A key that is pinned to a pricing model sees the rows of that model only.
create function secure_tenant_tables() returns void language plpgsql as $$
declare
  tenant_table record;
  callable regprocedure;
begin
  for tenant_table in
    select c.relname as name,
           case when c.relname = 'pricing_models' then 'id'
                when exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'pricing_model_id' and not a.attisdropped)
                then 'pricing_model_id' end as model_column
      from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not has_own_rights(c.relname)
       and (c.relname in ('environments', 'organizations')
            or exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'environment_id' and not a.attisdropped))
  loop
    execute format('alter table %I enable row level security', tenant_table.name);
    execute format('drop policy if exists tenant on %I', tenant_table.name);
    execute format('drop policy if exists worker on %I', tenant_table.name);
    execute format('create policy worker on %I to tollkeeper_worker using (true)', tenant_table.name);
    if tenant_table.name = 'organizations' then
      continue;
    end if;
    execute format('create policy tenant on %I to tollkeeper_service using (%s = (select current_environment())%s)',
      tenant_table.name,
      case tenant_table.name when 'environments' then 'id' else 'environment_id' end,
      case when tenant_table.model_column is null then ''
           else format(' and ((select current_pricing_model()) is null or %I = (select current_pricing_model()))', tenant_table.model_column) end);
    -- What names a series of usage instead of a pricing model is seen by who sees the series.
    if exists (select from pg_attribute a where a.attrelid = tenant_table.name::regclass and a.attname = 'series_id' and not a.attisdropped) then
      execute format('alter policy tenant on %I using (environment_id = (select current_environment())
        and ((select current_pricing_model()) is null or sees_series(environment_id, series_id)))', tenant_table.name);
    end if;
  end loop;
  execute format('grant usage on schema %I to tollkeeper_service', current_schema());
  for tenant_table in
    select relname as name, case relkind when 'S' then 'usage, select on sequence' else 'select, insert, update, delete on' end as rights
      from pg_class
     where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'S') and not has_own_rights(relname)
  loop
    execute format('grant %s %I to tollkeeper_service', tenant_table.rights, tenant_table.name);
  end loop;
  -- A trigger calls its function without a right to it. Nobody else may make a trigger of a function that has the owner's rights.
  for callable in
    select oid from pg_proc
     where pronamespace = current_schema()::regnamespace and prosecdef and prorettype = 'trigger'::regtype
  loop
    execute format('revoke all on function %s from public', callable);
  end loop;
  -- What was booked stays. Other rows point at these without a foreign key that would say so.
  for tenant_table in
    select relname as name from pg_class
     where relnamespace = current_schema()::regnamespace and relname in ('ledger_accounts', 'ledger_transactions', 'ledger_entries',
           'usage_credits', 'usage_series', 'usage_events', 'usage_rollups', 'usage_archive_sums')
  loop
    execute format('revoke delete on %I from tollkeeper_service', tenant_table.name);
  end loop;
  -- Only the owner notes recurring revenue, at each commit.
  for tenant_table in
    select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname like 'mrr\_%'
  loop
    execute format('revoke insert, update, delete on %I from tollkeeper_service', tenant_table.name);
  end loop;
end $$;
