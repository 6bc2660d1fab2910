create table pricing_models (
  environment_id bigint not null references environments,
  id text collate "C" not null,
  name text not null,
  is_default boolean not null,
  -- Changes with each change of its prices and usage meters: a cached price holds as long as the version is the same.
  catalog_version bigint not null default 0,
  -- About to be deleted: other cells take it out of their copies. Real time, after which it stays after all.
  removing_until bigint,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id)
);
create unique index pricing_models_one_default on pricing_models (environment_id) where is_default;

alter table api_keys add constraint api_keys_pricing_model_fk
  foreign key (environment_id, pricing_model_id) references pricing_models;

create table usage_meters (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  name text not null,
  slug text not null,
  aggregation_type text not null,
  -- A sum that keeps its value over periods, and how its units are prorated.
  recurring boolean not null default false,
  proration text not null default 'none',
  -- Its units are measured from the events of a period when they are billed, in place of being counted as they come.
  is_measured boolean not null generated always as (aggregation_type in ('max', 'latest', 'unit_hours') or recurring) stored,
  -- A balance that falls below it is told.
  low_balance_threshold numeric(38, 0),
  -- Events that name it count on the meter where they match its conditions. Their units are in a property, or their amount.
  event_name text,
  "where" jsonb,
  value_property text,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models,
  constraint usage_meters_slug_unique unique (environment_id, pricing_model_id, slug),
  constraint usage_meters_aggregation_type check (aggregation_type in ('sum', 'count', 'count_distinct_properties', 'max', 'latest',
    'unit_hours')),
  constraint usage_meters_recurring check (case when recurring then aggregation_type = 'sum' else proration = 'none' end),
  constraint usage_meters_proration check (proration in ('none', 'day', 'second')),
  constraint usage_meters_measured_has_no_threshold check (low_balance_threshold is null
    or (aggregation_type not in ('max', 'latest', 'unit_hours') and not recurring)),
  constraint usage_meters_event_name check (event_name is not null or num_nonnulls("where", value_property) = 0),
  constraint usage_meters_where check (jsonb_typeof("where") = 'object' and "where" <> '{}'),
  constraint usage_meters_low_balance_threshold check (low_balance_threshold between 1 and 9007199254740991)
);

create table resources (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  slug text not null,
  name text not null,
  active boolean not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models
);
create unique index resources_active_slug_unique on resources (environment_id, pricing_model_id, slug) where active;
create index resources_by_slug on resources (environment_id, pricing_model_id, slug);

create table products (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  slug text not null,
  name text not null,
  description text,
  image_url text,
  singular_quantity_label text,
  plural_quantity_label text,
  -- The quantities that buyers may choose. Null: the seller sets the quantity.
  minimum_quantity integer,
  maximum_quantity integer,
  -- The price of each usage meter that has a rate of its own here, by the ids of both.
  usage_prices jsonb not null default '{}',
  -- Sold beside a plan only.
  add_on boolean not null default false,
  is_default boolean not null,
  active boolean not null,
  metadata jsonb,
  -- About to be deleted, as for pricing models.
  removing_until bigint,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models,
  constraint products_default_is_plan check (not (is_default and add_on)),
  constraint products_usage_prices check (jsonb_typeof(usage_prices) = 'object'),
  constraint products_default_is_active check (active or not is_default),
  constraint products_quantities check (
    (minimum_quantity is null and maximum_quantity is null)
    or (num_nulls(minimum_quantity, maximum_quantity) = 0 and minimum_quantity between 1 and maximum_quantity
        and maximum_quantity <= 1000000 and not is_default))
);
create unique index products_active_slug_unique on products (environment_id, pricing_model_id, slug) where active;
create index products_by_slug on products (environment_id, pricing_model_id, slug);
create unique index products_one_default on products (environment_id, pricing_model_id) where is_default;
create index products_by_metadata on products using gin (metadata jsonb_path_ops) where metadata is not null;

create table prices (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  product_id text collate "C",
  usage_meter_id text collate "C",
  type text not null,
  name text,
  slug text,
  unit_price numeric(38, 0) not null,
  interval_unit text,
  interval_count bigint,
  trial_period_days bigint,
  usage_events_per_unit bigint,
  overage text,
  pricing jsonb,
  setup_fee_amount numeric(38, 0),
  minimum_commitment numeric(38, 0),
  billing_timing text,
  "where" jsonb,
  has_own_interval boolean not null default false,
  currency text not null,
  is_default boolean not null,
  active boolean not null,
  metadata jsonb,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models,
  foreign key (environment_id, product_id) references products,
  foreign key (environment_id, usage_meter_id) references usage_meters,
  constraint prices_unit_price_range check (unit_price between 0 and 4503599627370495),
  -- The networks take no smaller part of these currencies: see chargedSteps in src/kernel/currency.ts.
  constraint prices_unit_price_chargeable check (type = 'usage' or unit_price % case
    when currency in ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') then 10 when currency = 'MGA' then 100 else 1 end = 0),
  constraint prices_setup_fee_chargeable check (setup_fee_amount % case
    when currency in ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') then 10 when currency = 'MGA' then 100 else 1 end = 0),
  constraint prices_setup_fee check (setup_fee_amount is null or coalesce(type = 'subscription'
    and setup_fee_amount between 0 and 4503599627370495 and (setup_fee_amount = 0 or unit_price > 0 or pricing is not null), false)),
  constraint prices_minimum_commitment_chargeable check (minimum_commitment % case
    when currency in ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') then 10 when currency = 'MGA' then 100 else 1 end = 0),
  constraint prices_minimum_commitment check (minimum_commitment is null or coalesce(type = 'subscription'
    and minimum_commitment between 0 and 4503599627370495 and (minimum_commitment = 0 or unit_price > 0 or pricing is not null), false)),
  constraint prices_own_interval check (not has_own_interval or type = 'usage'),
  constraint prices_trial_range check (trial_period_days between 0 and 4503599627370495),
  constraint prices_billing_timing check ((type = 'subscription') = (billing_timing is not null) and billing_timing in ('in_advance', 'in_arrears')),
  constraint prices_overage check ((type = 'subscription') = (overage is not null) and overage in ('bill', 'none')),
  constraint prices_pricing check (pricing is null or coalesce(
    unit_price = 0 and coalesce(usage_events_per_unit, 1) = 1 and pricing ->> 'model' is not null and case type
      when 'subscription' then pricing ->> 'model' in ('per_unit', 'package', 'graduated', 'volume', 'stairstep')
      when 'usage' then pricing ->> 'model' in ('per_unit', 'package', 'graduated', 'volume', 'stairstep', 'percentage',
        'graduated_percentage', 'dynamic')
      else false end, false)),
  constraint prices_where check ("where" is null or coalesce(
    type = 'usage' and not is_default and jsonb_typeof("where") = 'object' and "where" <> '{}', false)),
  constraint prices_shape check (
    case type
      when 'subscription' then product_id is not null and usage_meter_id is null and usage_events_per_unit is null
        and interval_unit in ('day', 'week', 'month', 'year') and interval_count > 0
      when 'single_payment' then product_id is not null and usage_meter_id is null and usage_events_per_unit is null
        and interval_unit is null and interval_count is null and trial_period_days is null
      when 'usage' then product_id is null and usage_meter_id is not null and usage_events_per_unit > 0
        and interval_unit in ('day', 'week', 'month', 'year') and interval_count > 0 and trial_period_days is null
      else false
    end)
);
comment on column prices.pricing is 'How units become money, in place of unit_price: see src/pricing/pricing.ts.';
comment on column prices."where" is 'The values of properties of the events that the price rates; null: what no other price rates.';
comment on column prices.setup_fee_amount is 'Billed once, with the first invoice of a subscription to the price.';
comment on column prices.minimum_commitment is 'The least that plan and usage of a billing period cost; the rest is billed at its end.';
comment on column prices.has_own_interval is 'Whether usage is billed by the interval of the price itself, and not by that of the subscription.';
comment on column prices.overage is 'Whether usage that no credit covers is billed to the subscribers of the price.';
create unique index prices_active_slug_unique on prices (environment_id, pricing_model_id, slug) where active and slug is not null;
create unique index prices_one_default_per_product on prices (environment_id, product_id) where is_default and product_id is not null;
create unique index prices_one_default_per_usage_meter on prices (environment_id, usage_meter_id) where is_default and usage_meter_id is not null;
comment on column prices.billing_timing is 'Whether the price of a period is billed at its start or at its end.';
-- Few prices have such terms. A renewal asks for those first.
create index prices_by_period_end on prices (environment_id, id) include (minimum_commitment, billing_timing)
  where minimum_commitment > 0 or billing_timing = 'in_arrears';
create index prices_by_product on prices (environment_id, product_id);
create index prices_by_usage_meter on prices (environment_id, usage_meter_id);
create index prices_by_pricing_model on prices (environment_id, pricing_model_id);
-- The intervals at which the usage of a pricing model is billed, beside those of its plans.
create index prices_own_intervals on prices (environment_id, pricing_model_id, interval_unit, interval_count) where has_own_interval;
create index prices_by_metadata on prices using gin (metadata jsonb_path_ops) where metadata is not null;

-- A rate is a price of its meter, in the pricing model of the product. Looked at when the transaction ends, because a product and
-- the price that it names may be made together.
create function check_usage_prices() returns trigger language plpgsql security definer set search_path from current as $$
begin
  if exists (
    select from jsonb_each_text(new.usage_prices) as rate (usage_meter_id, price_id)
      left join prices p on p.environment_id = new.environment_id and p.id = rate.price_id
       and p.usage_meter_id = rate.usage_meter_id and p.pricing_model_id = new.pricing_model_id and p.where is null
     where p.id is null)
  then
    raise foreign_key_violation using message = 'a usage price of a product is not an unconditional price of its usage meter',
      constraint = 'products_usage_prices_of_meters', table = 'products';
  end if;
  return null;
end $$;
create constraint trigger products_usage_prices_of_meters after insert or update of usage_prices on products
  deferrable initially deferred for each row when (new.usage_prices <> '{}') execute function check_usage_prices();

-- Whether some event meets the conditions of two prices, which have as many: the values of each property that both name overlap.
-- It is written apart from `findTie` in src/rating/conditions.ts.
create function conditions_tie(one jsonb, other jsonb) returns boolean language sql immutable as $$
  select (select count(*) from jsonb_object_keys(one)) = (select count(*) from jsonb_object_keys(other))
     and not exists (
       select from jsonb_each(one) as a (property, accepted) join jsonb_each(other) as b (property, accepted) using (property)
        where not a.accepted ?| array(select jsonb_array_elements_text(b.accepted)))
$$;

-- An event has one best price: two active prices of a meter that could tie are refused, whoever writes them. The lock of the pricing
-- model, which every change of its prices takes, makes looking and adding one step.
create function keep_prices_apart() returns trigger language plpgsql set search_path from current as $$
declare
  conditional prices[] := array(select row(c.*)::prices from changed c where c.active and c.where is not null);
  others prices[];
begin
  if cardinality(conditional) = 0 then
    return null;
  end if;
  others := array(select row(c.*)::prices from changed c where not (c.active and c.where is not null));
  if exists (
    select from unnest(conditional || others) c join usage_meters m on m.environment_id = c.environment_id and m.id = c.usage_meter_id
     where c.where is not null and m.is_measured)
  then
    raise check_violation using message = 'all units of a measured period have one price', constraint = 'prices_where_of_counted',
      table = 'prices';
  end if;
  perform from pricing_models m
    where (m.environment_id, m.id) in (select c.environment_id, c.pricing_model_id from unnest(conditional || others) c)
    order by m.environment_id, m.id for no key update;
  -- As `conditions_tie` says, for all pairs at once: a function call for each pair of a large setup would take seconds.
  if exists (
    with member as materialized (
      select p.environment_id, p.usage_meter_id, p.id, p.where, (select count(*) from jsonb_object_keys(p.where)) as conditions
        from prices p
       where p.active and p.where is not null
         and (p.environment_id, p.usage_meter_id) in (
               select c.environment_id, c.usage_meter_id from unnest(conditional) c)
    ), property as materialized (
      select m.usage_meter_id, m.conditions, m.id, w.key, array(select jsonb_array_elements_text(w.value)) as accepted
        from member m cross join lateral jsonb_each(m.where) w
    ), told_apart as materialized (
      select distinct a.id, b.id as other_id
        from property a join property b on b.usage_meter_id = a.usage_meter_id and b.conditions = a.conditions and b.key = a.key and b.id > a.id
       where not a.accepted && b.accepted
    )
    select a.id, b.id
      from member a join member b on b.usage_meter_id = a.usage_meter_id and b.conditions = a.conditions and b.id > a.id
    except
    select id, other_id from told_apart)
  then
    raise unique_violation using message = 'some event meets the conditions of two prices alike',
      constraint = 'prices_conditions_apart', table = 'prices';
  end if;
  return null;
end $$;

-- The price of whole units, as `events` whose own prices add up to `own_amount` (in 10^-12 of a minor unit), by a `pricing`. In minor
-- units: a multiple of `step`. Checks and recurring revenue call it. It is written apart from
-- `priceUsage` in src/rating/price-model.ts, which bills, so that each can tell of a mistake in the other.
create function price_of_units(pricing jsonb, units numeric, step numeric, events numeric default 0, own_amount numeric default 0)
  returns numeric language sql immutable as $$
  with charged as (
    select greatest(units - coalesce((pricing ->> 'freeUnits')::numeric, 0), 0) as units
  ), tier as (
    select (t.value ->> 'upTo')::numeric as up_to, coalesce((t.value ->> 'unitAmount')::numeric, 0) as unit_amount,
           coalesce((t.value ->> 'rate')::numeric, 0) * 0.01 as rate, coalesce((t.value ->> 'flatAmount')::numeric, 0) as flat_amount,
           coalesce(lag((t.value ->> 'upTo')::numeric) over (order by t.position), 0) as above
      from jsonb_array_elements(pricing -> 'tiers') with ordinality as t (value, position)
  ), exact as (
    select case pricing ->> 'model'
             when 'per_unit' then c.units * (pricing ->> 'unitAmount')::numeric
             when 'percentage' then c.units * (pricing ->> 'rate')::numeric * 0.01
                                    + events * coalesce((pricing ->> 'fixedAmountPerEvent')::numeric, 0)
             when 'dynamic' then own_amount * 0.000000000001
             when 'package' then ceil(c.units / (pricing ->> 'packageSize')::numeric) * (pricing ->> 'packageAmount')::numeric
             when 'graduated' then coalesce((select sum((least(c.units, coalesce(t.up_to, c.units)) - t.above) * t.unit_amount + t.flat_amount)
                                               from tier t where t.above < c.units), 0)
             when 'graduated_percentage' then coalesce((select sum((least(c.units, coalesce(t.up_to, c.units)) - t.above) * t.rate + t.flat_amount)
                                                          from tier t where t.above < c.units), 0)
             when 'volume' then coalesce((select c.units * t.unit_amount + t.flat_amount
                                            from tier t where t.above < c.units and c.units <= coalesce(t.up_to, c.units)), 0)
             when 'stairstep' then coalesce((select t.flat_amount from tier t where t.above < c.units and c.units <= coalesce(t.up_to, c.units)), 0)
           end as amount
      from charged c
  )
  -- Tenths and hundredths are exact, where a division has a limited number of digits. A minimum is owed from the first unit on.
  select round(least(greatest(amount, case when units > 0 or events > 0 then (pricing ->> 'minimumAmount')::numeric end),
                     (pricing ->> 'maximumAmount')::numeric)
               * case step when 10 then 0.1 when 100 then 0.01 else 1 end) * step
    from exact
$$;

-- The kind of the value of a feature, or null for what is none: a number that JSON carries exactly, a text of a name's length,
-- or a list of at most a hundred such texts.
create function feature_value_kind(value jsonb) returns text language sql immutable
  begin atomic
    select case jsonb_typeof(value)
        when 'number' then case when abs(value::numeric) <= 9007199254740991 then 'number' end
        when 'string' then case when char_length(value #>> '{}') between 1 and 255 then 'text' end
        when 'array' then case when jsonb_array_length(value) <= 100
            and not jsonb_path_exists(value, '$[*] ? (@.type() != "string" || @ like_regex "^.{255}." flag "s")') then 'list' end
      end;
  end;

create table features (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  type text not null,
  slug text not null,
  name text not null,
  description text not null,
  amount numeric(38, 0),
  usage_meter_id text collate "C",
  renewal_frequency text,
  -- How often credits come, where they have an interval of their own.
  grant_interval jsonb,
  resource_id text collate "C",
  -- How much of what a period leaves unused goes over into the next ones, and how many periods long it can be used there.
  rollover_maximum numeric(38, 0),
  rollover_periods integer,
  -- What a feature of type value gives where its product has no value of its own.
  value jsonb,
  -- Of type spend_limit: the use that it counts, its period and unit, whether it blocks, and its thresholds.
  spend_limit jsonb,
  active boolean not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models,
  foreign key (environment_id, resource_id) references resources,
  constraint features_shape check (
    case type
      when 'toggle' then amount is null and usage_meter_id is null and renewal_frequency is null and resource_id is null
      when 'usage_credit_grant' then amount > 0 and usage_meter_id is not null
        and (amount < 1e12 or not starts_with(usage_meter_id, 'credit_pool_'))
        and renewal_frequency in ('once', 'every_billing_period', 'every_interval') and resource_id is null
      when 'resource' then amount > 0 and usage_meter_id is null and renewal_frequency is null and resource_id is not null
      when 'value' then amount is null and usage_meter_id is null and renewal_frequency is null and resource_id is null
      when 'spend_limit' then amount > 0 and usage_meter_id is null and renewal_frequency is null and resource_id is null
      else false
    end),
  constraint features_value check (
    case type when 'value' then feature_value_kind(value) is not null else value is null end),
  constraint features_spend_limit check (case type when 'spend_limit'
    then coalesce(spend_limit ->> 'period' in ('day', 'week', 'month', 'billing_period') and spend_limit ->> 'unit' in ('units', 'money')
      and spend_limit ->> 'action' in ('block', 'notify') and jsonb_array_length(spend_limit -> 'thresholds') <= 10
      and (spend_limit ->> 'creditPoolId' is null
        or spend_limit ->> 'usageMeterId' is null and spend_limit ->> 'unit' = 'units' and amount < 1e12), false)
    else spend_limit is null end),
  constraint features_grant_interval check (case when renewal_frequency = 'every_interval'
    then coalesce(grant_interval ->> 'unit' in ('day', 'week', 'month', 'year') and (grant_interval ->> 'count')::bigint between 1 and 1200, false)
    else grant_interval is null end),
  constraint features_rollover check (
    (rollover_maximum is null and rollover_periods is null)
    or (renewal_frequency in ('every_billing_period', 'every_interval') and rollover_maximum > 0 and rollover_periods between 1 and 100))
);
create unique index features_active_slug_unique on features (environment_id, pricing_model_id, slug) where active;
create index features_by_slug on features (environment_id, pricing_model_id, slug);

create table product_features (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  product_id text collate "C" not null,
  feature_id text collate "C" not null,
  expired_at bigint,
  -- The value that the product gives in place of that of the feature.
  value jsonb,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models,
  foreign key (environment_id, product_id) references products,
  foreign key (environment_id, feature_id) references features,
  constraint product_features_value check (value is null or feature_value_kind(value) is not null),
  constraint product_features_pair_unique unique (environment_id, product_id, feature_id)
);
create index product_features_by_feature on product_features (environment_id, feature_id);

-- Prices and rates are cached by the version of their pricing model, so a change is a new version, in its commit.
-- A number of a sequence is never given twice, also not after a transaction that drew it was undone.
create sequence catalog_versions;
create function new_catalog_version() returns trigger language plpgsql set search_path from current as $$
declare
  environments bigint[];
  models text[];
  versions bigint[];
begin
  select array_agg(c.environment_id), array_agg(c.pricing_model_id), array_agg(nextval('catalog_versions')) into environments, models, versions
    from (select distinct environment_id, pricing_model_id from changed) c;
  update pricing_models m set catalog_version = c.version
    from unnest(environments, models, versions) as c (environment_id, id, version)
   where m.environment_id = c.environment_id and m.id = c.id;
  return null;
end $$;
create trigger prices_inserted after insert on prices referencing new table as changed
  for each statement execute function new_catalog_version();
create trigger prices_updated after update on prices referencing new table as changed
  for each statement execute function new_catalog_version();
create trigger prices_kept_apart_inserted after insert on prices referencing new table as changed
  for each statement execute function keep_prices_apart();
create trigger prices_kept_apart_updated after update on prices referencing new table as changed
  for each statement execute function keep_prices_apart();
create trigger prices_deleted after delete on prices referencing old table as changed
  for each statement execute function new_catalog_version();
create trigger products_updated after update on products referencing new table as changed
  for each statement execute function new_catalog_version();
create trigger usage_meters_inserted after insert on usage_meters referencing new table as changed
  for each statement execute function new_catalog_version();
create trigger usage_meters_updated after update on usage_meters referencing new table as changed
  for each statement execute function new_catalog_version();
create trigger usage_meters_deleted after delete on usage_meters referencing old table as changed
  for each statement execute function new_catalog_version();

-- Credit pools: credits of a customer that the usage of several meters draws from. A rate says how much a unit of a meter costs.
-- All amounts of a pool on the ledger are whole numbers of its smallest unit, so that no fraction is lost: 1 unit of a pool is
-- 2,162,160 x 10^12 of them. So any amount with 12 decimals is whole, and so is its part for each 1/3600, 1/86400 or 1/7.

create table credit_pools (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  slug text not null,
  name text not null,
  -- 'credit', or a currency.
  unit text not null,
  -- In smallest units.
  low_balance_threshold numeric(38, 0),
  -- Use of a meter without a rate costs the amount of its price.
  draw_at_price boolean not null default false,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models,
  constraint credit_pools_low_balance_threshold check (low_balance_threshold > 0),
  constraint credit_pools_slug_unique unique (environment_id, pricing_model_id, slug),
  constraint credit_pools_unit check (unit = 'credit' or unit ~ '^[A-Z]{3}$'),
  constraint credit_pools_money_at_price check (not draw_at_price or unit <> 'credit')
);
-- A use costs the amount of its price once.
create unique index credit_pools_one_at_price on credit_pools (pricing_model_id, unit, environment_id) where draw_at_price;
create trigger credit_pools_inserted after insert on credit_pools referencing new table as changed
  for each statement execute function new_catalog_version();
create trigger credit_pools_updated after update on credit_pools referencing new table as changed
  for each statement execute function new_catalog_version();
create trigger credit_pools_deleted after delete on credit_pools referencing old table as changed
  for each statement execute function new_catalog_version();

create table credit_pool_rates (
  environment_id bigint not null,
  id text collate "C" not null,
  credit_pool_id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  -- In the order in which they were sent.
  position integer not null,
  usage_meter_id text collate "C" not null,
  -- The events that it is for; null: the rest.
  "where" jsonb,
  per bigint not null,
  cost numeric(38, 12) not null,
  -- The smallest units that a unit of the meter costs.
  unit_cost numeric(38, 0) not null generated always as (div(cost * 2162160000000000000, per)) stored,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  constraint credit_pool_rates_in_order unique (environment_id, credit_pool_id, position),
  foreign key (environment_id, credit_pool_id) references credit_pools on delete cascade,
  foreign key (environment_id, pricing_model_id) references pricing_models,
  foreign key (environment_id, usage_meter_id) references usage_meters,
  constraint credit_pool_rates_exact check (cost > 0 and per > 0 and unit_cost > 0 and unit_cost * per = cost * 2162160000000000000),
  constraint credit_pool_rates_where check (jsonb_typeof("where") = 'object' and "where" <> '{}'),
  constraint credit_pool_rates_once unique nulls not distinct (usage_meter_id, "where", environment_id)
);
create index credit_pool_rates_by_model on credit_pool_rates (environment_id, pricing_model_id);

-- An event has one best rate, as it has one best price. Whoever changes rates has locked the pricing model.
create function keep_rates_apart() returns trigger language plpgsql set search_path from current as $$
declare
  rates credit_pool_rates[] := array(select row(r.*)::credit_pool_rates from changed r);
begin
  if exists (select from unnest(rates) r join usage_meters m on m.environment_id = r.environment_id and m.id = r.usage_meter_id where m.is_measured) then
    raise check_violation using message = 'no credit covers the units of a measured meter', constraint = 'credit_pool_rates_of_counted',
      table = 'credit_pool_rates';
  end if;
  if exists (
    select from unnest(rates) a
      join credit_pool_rates b on b.environment_id = a.environment_id and b.usage_meter_id = a.usage_meter_id
       and b.id <> a.id
     where conditions_tie(a.where, b.where))
  then
    raise unique_violation using message = 'some event meets the conditions of two rates alike',
      constraint = 'credit_pool_rates_apart', table = 'credit_pool_rates';
  end if;
  return null;
end $$;
create trigger credit_pool_rates_kept_apart after insert on credit_pool_rates referencing new table as changed
  for each statement execute function keep_rates_apart();
create trigger credit_pool_rates_inserted after insert on credit_pool_rates referencing new table as changed
  for each statement execute function new_catalog_version();
create trigger credit_pool_rates_deleted after delete on credit_pool_rates referencing old table as changed
  for each statement execute function new_catalog_version();

-- The usage meters and the credit pools: an account has credits of one of these.
create table credit_subjects (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  primary key (environment_id, id)
);
create function add_credit_subjects() returns trigger language plpgsql set search_path from current as $$
declare
  subjects credit_subjects[] := array(select row(a.environment_id, a.id, a.pricing_model_id)::credit_subjects from added a);
begin
  insert into credit_subjects select s.* from one_row, unnest(subjects) s;
  return null;
end $$;
create function remove_credit_subjects() returns trigger language plpgsql set search_path from current as $$
declare
  subjects credit_subjects[] := array(select row(r.environment_id, r.id, r.pricing_model_id)::credit_subjects from removed r);
begin
  delete from credit_subjects s using unnest(subjects) removed where s.environment_id = removed.environment_id and s.id = removed.id;
  return null;
end $$;
create trigger usage_meters_are_subjects after insert on usage_meters referencing new table as added
  for each statement execute function add_credit_subjects();
create trigger usage_meters_were_subjects after delete on usage_meters referencing old table as removed
  for each statement execute function remove_credit_subjects();
create trigger credit_pools_are_subjects after insert on credit_pools referencing new table as added
  for each statement execute function add_credit_subjects();
create trigger credit_pools_were_subjects after delete on credit_pools referencing old table as removed
  for each statement execute function remove_credit_subjects();
-- A feature grants credits of one of them.
alter table features add constraint features_subject foreign key (environment_id, usage_meter_id) references credit_subjects;
comment on column features.usage_meter_id is 'The usage meter or credit pool that it grants credits of.';
comment on column features.amount is 'Credits in units of the meter or pool, or places of the resource.';
