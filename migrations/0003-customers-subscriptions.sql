create table customers (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  external_id text not null,
  email text not null,
  name text not null,
  archived boolean not null default false,
  logo_url text,
  icon_url text,
  domain text,
  user_id text,
  billing_address jsonb,
  invoice_number_base text not null,
  portal_version bigint not null default 0,
  metadata jsonb,
  -- The hours for which its invoices of periods wait as drafts. Null: those of the settings.
  review_hours integer constraint customers_review_hours check (review_hours between 0 and 720),
  -- The terms on which it is billed, where they are not those of the settings: src/customers/billing-terms.ts.
  billing_terms jsonb constraint customers_billing_terms check (jsonb_typeof(billing_terms) = 'object' and billing_terms <> '{}'),
  -- Whether what falls due on one day for several of its subscriptions is one invoice.
  consolidate_invoices boolean not null default false,
  -- Personal data goes at this instant, and its copies until the other one: see 0016.
  erased_at bigint,
  erasure_completed_at bigint,
  -- A MAC of the former external id, by which a repeat of the erasure finds the customer.
  erased_external_id_mac text,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models,
  constraint customers_invoice_number_base_unique unique (environment_id, invoice_number_base),
  constraint customers_erased check (erased_at is null or (archived and external_id = id and email = '' and name = 'Erased customer'
    and num_nonnulls(logo_url, icon_url, domain, user_id, billing_address, metadata, billing_terms) = 0)),
  constraint customers_erasure check ((erased_at is null) = (erased_external_id_mac is null)
    and (erased_at is not null or erasure_completed_at is null))
);
comment on column customers.portal_version is 'Links to the portal are of a version, and open nothing once this one is another.';
create unique index customers_external_id_unique on customers (environment_id, external_id, pricing_model_id) where not archived;
create index customers_by_pricing_model on customers (environment_id, pricing_model_id);
create index customers_by_external_id on customers (environment_id, external_id);
create index customers_by_metadata on customers using gin (metadata jsonb_path_ops) where metadata is not null;

-- The rows of a table in this environment whose metadata contains one of these objects. Row-level security keeps a query of
-- the service from using an index on jsonb, because the operator is not leakproof; so the owner searches. The caller
-- selects from the table by these ids, under row-level security.
create function ids_by_metadata(searched text, wanted jsonb[]) returns setof text
  language plpgsql stable rows 100 security definer set search_path from current as $$
begin
  return query execute format(
    'select id from %I where environment_id = current_environment() and metadata is not null and metadata @> any ($1)', searched)
    using wanted;
end $$;

-- A trigram index finds a part of a text. pg_trgm is a trusted extension, so the owner of a database may create it.
-- Extensions are of the whole database, and outlive the schema of an installation.
create extension if not exists pg_trgm schema public;
-- btree_gist, trusted too, compares ids in an exclusion constraint.
create extension if not exists btree_gist schema public;
select set_config('tollkeeper.schema', current_setting('search_path'), true),
       set_config('search_path', current_setting('search_path') || ', ' || extnamespace::regnamespace, true) from pg_extension where extname = 'pg_trgm';
create index customers_search on customers using gin (name gin_trgm_ops, email gin_trgm_ops, external_id gin_trgm_ops);
create index products_search on products using gin (name gin_trgm_ops, slug gin_trgm_ops);
create index prices_search on prices using gin (name gin_trgm_ops, slug gin_trgm_ops);
select set_config('search_path', current_setting('tollkeeper.schema'), true);
create index customers_by_email on customers (environment_id, email);
create index customers_erased_by_external_id on customers (environment_id, erased_external_id_mac) where erased_at is not null;
create index customers_by_creation on customers (environment_id, created_at);

-- The customers whose name, e-mail address or external id contains a text. The owner searches, as above.
create function customers_by_search(wanted text) returns setof text
  language plpgsql stable rows 100 security definer set search_path from current as $$
declare
  pattern text := '%' || regexp_replace(wanted, '([\\%_])', '\\\1', 'g') || '%';
begin
  return query select id from customers
    where environment_id = current_environment()
      and (name ilike pattern or email ilike pattern or external_id ilike pattern);
end $$;

-- The records that a text names, at most `at_most` of each type, the newest first: by a part of a name, address or external id,
-- by the beginning of an invoice's number, by the customer, or by the whole id. The owner searches, as above.
create function records_by_search(wanted text, at_most integer) returns table (type text, id text)
  language plpgsql stable rows 30 security definer set search_path from current as $$
begin
  -- Planned for the text of this call: a rare text is found by its trigrams.
  return query execute $query$
    with found_customers as materialized (
      select c.id from customers c where c.environment_id = current_environment()
         and (c.name ilike $1 or c.email ilike $1 or c.external_id ilike $1) limit 200),
    newest_customers as materialized (select id from found_customers order by id desc limit $2),
    found_products as materialized (
      select p.id from products p where p.environment_id = current_environment()
         and (p.name ilike $1 or p.slug ilike $1) limit 200),
    found_prices as materialized (
      select p.id from prices p where p.environment_id = current_environment()
         and (p.name ilike $1 or p.slug ilike $1) limit 200)
    (select 'customer', id from newest_customers)
    union (select 'subscription', s.id from newest_customers c
             join subscriptions s on s.environment_id = current_environment() and s.customer_id = c.id order by s.id desc limit $2)
    union (select 'invoice', i.id from (select distinct beginning from unnest(array[$3, upper($3)]) beginning) b
            cross join lateral (select id from invoices
                                 where environment_id = current_environment() and invoice_number >= b.beginning
                                   and invoice_number < b.beginning || chr(1114111)
                                 order by invoice_number desc limit $2) i limit $2)
    union (select 'product', id from found_products order by id desc limit $2)
    union (select 'price', id from found_prices order by id desc limit $2)
    union select 'customer', id from customers where environment_id = current_environment() and id = $3
    union select 'subscription', id from subscriptions where environment_id = current_environment() and id = $3
    union select 'invoice', id from invoices where environment_id = current_environment() and id = $3
    union select 'product', id from products where environment_id = current_environment() and id = $3
    union select 'price', id from prices where environment_id = current_environment() and id = $3
    union select 'payment', id from payments where environment_id = current_environment() and id = $3
    union select 'creditNote', id from credit_notes where environment_id = current_environment() and id = $3
  $query$ using '%' || regexp_replace(wanted, '([\\%_])', '\\\1', 'g') || '%', at_most, wanted;
end $$;

create table payment_methods (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  type text not null,
  is_default boolean not null,
  billing_details jsonb not null,
  payment_method_data jsonb not null,
  metadata jsonb,
  processor text not null,
  processor_token text not null,
  -- The same for each token of one card or account; null where the processor cannot tell.
  fingerprint text,
  -- A deleted one stays for the payments that were made with it.
  detached_at bigint,
  -- When payment_method.expiring comes due for a card. Null once it was published for this expiry.
  notice_at bigint,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  constraint payment_methods_type check (type in ('card', 'link', 'us_bank_account', 'sepa_debit', 'bacs_debit')),
  constraint payment_methods_default_is_attached check (detached_at is null or not is_default)
);
create unique index payment_methods_one_default on payment_methods (environment_id, customer_id) where is_default;
create unique index payment_methods_one_card_once on payment_methods (environment_id, customer_id, processor, fingerprint)
  where fingerprint is not null and detached_at is null;
create index payment_methods_by_customer on payment_methods (environment_id, customer_id);
create index payment_methods_by_creation on payment_methods (environment_id, created_at);
create index payment_methods_notice_due on payment_methods (environment_id, notice_at) where notice_at is not null and detached_at is null;

create table subscriptions (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  price_id text collate "C" not null,
  name text,
  status text not null,
  arrears text not null default 'none',
  renews boolean not null,
  is_free_plan boolean not null,
  is_default_plan boolean not null,
  do_not_charge boolean not null,
  run_billing_at_period_start boolean not null,
  exclusive boolean not null,
  is_only_trial boolean not null default false,
  start_date bigint not null,
  trial_end bigint,
  -- When subscription.trial_will_end comes due. Null once it was published for this end.
  notice_at bigint,
  interval_unit text,
  interval_count bigint,
  billing_cycle_anchor_date bigint,
  -- The way in which the anchor was found: "anniversary", "calendar" or {"day": 15}.
  billing_anchor jsonb not null default '"anniversary"',
  first_period text not null default 'short',
  current_billing_period_start bigint,
  current_billing_period_end bigint,
  interim_at bigint,
  default_payment_method_id text collate "C",
  backup_payment_method_id text collate "C",
  canceled_at bigint,
  cancel_scheduled_at bigint,
  cancellation_reason text,
  cancellation_comment text,
  replaced_by_subscription_id text collate "C",
  scheduled_adjustment_at bigint,
  scheduled_by_customer boolean not null default false,
  -- The setup fee that its first invoice will bill; 0 once it has.
  setup_fee numeric(38, 0) not null default 0 constraint subscriptions_setup_fee check (setup_fee >= 0),
  -- 0: unbilled usage waits for the end of the period, whatever the settings say. Null: as they say.
  billing_threshold_amount numeric(38, 0)
    constraint subscriptions_billing_threshold check (billing_threshold_amount between 0 and 4503599627370495),
  metadata jsonb,
  -- Another one with each change that decides about usage: see revise_subscription() (0010).
  revision bigint not null default 0,
  -- Whether spend limits may count its usage.
  has_spend_limits boolean not null default false,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, price_id) references prices,
  foreign key (environment_id, default_payment_method_id) references payment_methods,
  foreign key (environment_id, backup_payment_method_id) references payment_methods,
  foreign key (environment_id, replaced_by_subscription_id) references subscriptions deferrable initially deferred,
  constraint subscriptions_status check (status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled',
    'incomplete', 'incomplete_expired', 'canceled', 'paused')),
  constraint subscriptions_arrears check (arrears in ('none', 'past_due', 'unpaid')
    and (status = 'cancellation_scheduled' or arrears = case when status in ('past_due', 'unpaid') then status else 'none' end)),
  constraint subscriptions_canceled_at_iff_canceled check ((status = 'canceled') = (canceled_at is not null)),
  constraint subscriptions_scheduled_iff_date check ((status in ('cancellation_scheduled', 'canceled')) or cancel_scheduled_at is null),
  constraint subscriptions_scheduled_has_date check (status <> 'cancellation_scheduled' or cancel_scheduled_at is not null),
  constraint subscriptions_renewing_has_interval check (renews = (interval_unit is not null) and renews = (interval_count is not null)
    and renews = (billing_cycle_anchor_date is not null)),
  constraint subscriptions_billing_anchor check (billing_anchor in ('"anniversary"', '"calendar"')
    or (interval_unit in ('month', 'year') and jsonb_typeof(billing_anchor -> 'day') = 'number'
      and (billing_anchor ->> 'day')::numeric between 1 and 31)),
  constraint subscriptions_first_period check (first_period in ('short', 'long')),
  constraint subscriptions_period_whole check ((current_billing_period_start is null) = (current_billing_period_end is null)),
  constraint subscriptions_period_runs_forward check (current_billing_period_start <= current_billing_period_end),
  constraint subscriptions_interim_within_period check (interim_at is null or coalesce(renews
    and interim_at > current_billing_period_start and (interim_at < current_billing_period_end or status = 'paused'), false))
);
comment on column subscriptions.interim_at is 'The next instant within its period at which usage is billed or credits are granted. While paused: the end of the usage periods that are open.';
comment on column subscriptions.arrears is 'Whether it owes after a failed attempt or after the last one; a scheduled cancellation does not hide it.';
comment on column subscriptions.is_only_trial is 'True where it began with the trial of its price, and its customer may have no other such trial.';
comment on column subscriptions.scheduled_by_customer is 'True where the customer itself scheduled the last end or change: it may undo that, and nothing of the seller.';
comment on column subscriptions.exclusive is 'True where the environment allowed one subscription only when this one was made.';
-- One paid and one free subscription per customer at any time, refused here and not by a read. A subscription lasts from
-- its start, which counts only while it waits for it, until its scheduled end. So the next one can be booked for that
-- end, and the end stays while it is booked. One whose first payment is under way counts, else two could be charged and
-- only one become active.
alter table subscriptions add constraint subscriptions_one_at_a_time exclude using gist (
  environment_id with =, customer_id with =, (is_free_plan::integer) with =,
  int8range(
    case when status not in ('paused', 'incomplete') and current_billing_period_start = current_billing_period_end
      then current_billing_period_start end,
    cancel_scheduled_at) with &&)
  where (exclusive and (status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled', 'paused')
    or (status = 'incomplete' and current_billing_period_start is not null)));
create unique index subscriptions_one_trial_per_customer on subscriptions (environment_id, customer_id) where is_only_trial;
create index subscriptions_trials on subscriptions (environment_id, customer_id) where trial_end is not null;
create index subscriptions_waiting on subscriptions (environment_id, created_at)
  where status = 'incomplete' and current_billing_period_start is null;
create index subscriptions_by_customer on subscriptions (environment_id, customer_id);
create index subscriptions_by_status on subscriptions (environment_id, status, id) include (pricing_model_id);
create index subscriptions_by_creation on subscriptions (environment_id, created_at);
create index subscriptions_by_other_anchor on subscriptions (environment_id, id) where billing_anchor <> '"anniversary"';
create index subscriptions_notice_due on subscriptions (environment_id, notice_at) where notice_at is not null and status = 'trialing';
create index subscriptions_by_price on subscriptions (environment_id, price_id);
create index subscriptions_by_metadata on subscriptions using gin (metadata jsonb_path_ops) where metadata is not null;
create index subscriptions_period_end on subscriptions (environment_id, current_billing_period_end)
  where renews and status not in ('canceled', 'incomplete_expired');

create table subscription_items (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  subscription_id text collate "C" not null,
  price_id text collate "C",
  name text,
  type text not null default 'static',
  unit_price numeric(38, 0) not null,
  pricing jsonb,
  quantity bigint not null,
  added_date bigint not null,
  expired_at bigint,
  external_id text,
  metadata jsonb,
  manually_created boolean not null default false,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, price_id) references prices,
  constraint subscription_items_amounts check (unit_price >= 0 and quantity between 0 and 1000000),
  constraint subscription_items_pricing check (pricing is null or (unit_price = 0 and price_id is not null)),
  constraint subscription_items_manual_is_free check (not manually_created or (price_id is null and unit_price = 0 and quantity = 0))
);
comment on column subscription_items.pricing is 'The pricing of its price, in place of unit_price: the customer agreed to it.';
-- Items that have ended stay, and may be many.
create index subscription_items_by_subscription on subscription_items (environment_id, subscription_id, expired_at);
create index subscription_items_by_price on subscription_items (environment_id, price_id) where price_id is not null;
create unique index subscription_items_one_manual on subscription_items (environment_id, subscription_id)
  where manually_created and expired_at is null;

create table billing_periods (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  subscription_id text collate "C" not null,
  start_at bigint not null,
  end_at bigint not null,
  status text not null,
  trial_period boolean not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, subscription_id) references subscriptions,
  constraint billing_periods_run_forward check (start_at <= end_at),
  constraint billing_periods_status check (status in ('upcoming', 'active', 'completed', 'canceled', 'past_due', 'scheduled_to_cancel'))
);
-- Nothing begins twice. A period that was left at its own start makes room for the one that begins there.
create unique index billing_periods_one_per_start on billing_periods (environment_id, subscription_id, start_at)
  where not (status = 'canceled' and end_at = start_at);

create table subscription_item_features (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  subscription_id text collate "C" not null,
  subscription_item_id text collate "C" not null,
  feature_id text collate "C" not null,
  product_feature_id text collate "C",
  type text not null,
  amount numeric(38, 0),
  usage_meter_id text collate "C",
  renewal_frequency text,
  grant_interval jsonb,
  resource_id text collate "C",
  value jsonb,
  expired_at bigint,
  detached_at bigint,
  detached_reason text,
  manually_created boolean not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, subscription_item_id) references subscription_items,
  foreign key (environment_id, feature_id) references features,
  foreign key (environment_id, product_feature_id) references product_features,
  constraint subscription_item_features_subject foreign key (environment_id, usage_meter_id) references credit_subjects,
  foreign key (environment_id, resource_id) references resources,
  constraint subscription_item_features_shape check (
    case type
      when 'toggle' then amount is null and usage_meter_id is null and renewal_frequency is null and resource_id is null
      when 'usage_credit_grant' then amount is not null and usage_meter_id is not null
        and renewal_frequency in ('once', 'every_billing_period', 'every_interval') and resource_id is null
      when 'resource' then amount is not null and usage_meter_id is null and renewal_frequency is null and resource_id is not null
      when 'value' then amount is null and usage_meter_id is null and renewal_frequency is null and resource_id is null
      when 'spend_limit' then amount is not null and usage_meter_id is null and renewal_frequency is null and resource_id is null
      else false
    end),
  constraint subscription_item_features_value check (
    case type when 'value' then feature_value_kind(value) is not null else value is null end),
  constraint subscription_item_features_grant_interval check (case when renewal_frequency = 'every_interval'
    then coalesce(grant_interval ->> 'unit' in ('day', 'week', 'month', 'year') and (grant_interval ->> 'count')::bigint between 1 and 1200, false)
    else grant_interval is null end)
);
create unique index subscription_item_features_pair_unique on subscription_item_features (environment_id, subscription_item_id, feature_id)
  where expired_at is null;
create index subscription_item_features_by_subscription on subscription_item_features (environment_id, subscription_id, feature_id);
-- Most subscriptions grant no credits within their billing periods, and each renewal looks.
create index subscription_item_features_of_intervals on subscription_item_features (environment_id, subscription_id)
  where grant_interval is not null;
create index subscription_item_features_of_resources on subscription_item_features (environment_id, subscription_id, resource_id)
  where resource_id is not null;
create index subscription_item_features_by_product_feature on subscription_item_features (environment_id, product_feature_id)
  where product_feature_id is not null;

create table resource_claims (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  subscription_id text collate "C" not null,
  resource_id text collate "C" not null,
  external_id text,
  claimed_at bigint not null,
  released_at bigint,
  release_reason text,
  expired_at bigint,
  metadata jsonb,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, resource_id) references resources,
  constraint resource_claims_released_has_reason check ((released_at is null) = (release_reason is null))
);
create unique index resource_claims_external_id_unique on resource_claims (environment_id, subscription_id, resource_id, external_id)
  where released_at is null and external_id is not null;
create index resource_claims_by_subscription on resource_claims (environment_id, subscription_id);
create index resource_claims_active on resource_claims (environment_id, subscription_id, resource_id, id) where released_at is null;
create index resource_claims_held on resource_claims (environment_id, subscription_id, id) where released_at is null;
