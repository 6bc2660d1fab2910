-- Subscriptions through time: settings, tax, discounts, changes of plan, pauses, dunning, and a clock that can be moved.

alter table environments
  add column dunning_retry_days integer[] not null default '{3,5,5}',
  add column dunning_terminal_action text not null default 'unpaid',
  add column net_terms_days integer not null default 0,
  add column seller jsonb,
  add column tax_provider text not null default 'none',
  add column clock_target bigint,
  add column clock_from bigint,
  add column clock_moved_at bigint,
  add constraint environments_dunning check (dunning_terminal_action in ('unpaid', 'canceled', 'past_due')
    and cardinality(dunning_retry_days) <= 10 and 0 < all (dunning_retry_days)),
  add constraint environments_net_terms check (net_terms_days between 0 and 365),
  add constraint environments_tax_provider check (tax_provider in ('none', 'rates'));
comment on column environments.clock_target is 'Where the test clock is being moved to: set while the work until then is being done.';
comment on column environments.clock_from is 'Where the last move of the test clock began.';
comment on column environments.clock_moved_at is 'When the last move of the test clock began, in real time.';

-- Every price is in the currency of its environment. It follows when the currency changes, which it may while no price
-- is of more than nothing.
alter table environments add constraint environments_currency_unique unique (id, currency);
alter table prices add constraint prices_currency_of_environment
  foreign key (environment_id, currency) references environments (id, currency) on update cascade;

alter table customers add column tax_exempt boolean not null default false;

alter table subscriptions
  add column paused_at bigint,
  add column resumes_at bigint,
  add column paused_credit numeric(38, 0) not null default 0,
  add column work_retry_at bigint,
  add constraint subscriptions_paused_iff_since check ((status = 'paused') = (paused_at is not null)),
  add constraint subscriptions_resumes_while_paused check (resumes_at is null or status = 'paused'),
  add constraint subscriptions_paused_credit_not_negative check (paused_credit >= 0);
comment on column subscriptions.paused_credit is 'Paid for time in which the subscription was paused; taken off what its next invoices bill. In minor units.';
comment on column subscriptions.work_retry_at is 'Due work failed for this one: it is left alone until then. Real time.';

-- What is due, found by an index each.
drop index subscriptions_period_end;
create index subscriptions_renewal_due
  on subscriptions (environment_id, current_billing_period_end, (current_billing_period_start < current_billing_period_end), id)
  where renews and status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled');
create index subscriptions_interim_due on subscriptions (environment_id, interim_at)
  where interim_at is not null and status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled');
drop index subscriptions_cancel_due;
create index subscriptions_cancel_due on subscriptions (environment_id, cancel_scheduled_at) where status = 'cancellation_scheduled';
create index subscriptions_set_aside on subscriptions (environment_id) where work_retry_at is not null;
create index subscriptions_resume_due on subscriptions (environment_id, resumes_at) where resumes_at is not null;

-- A cached subscription holds as long as its revision is the same: whether it can be used and by whom, at which rates, which period its usage
-- is of, and when something is due for it. Its ledger accounts say the revision too (0004). Drawn from a
-- sequence, so that one which is undone with its transaction never comes again and means something else.
create sequence subscription_revisions;
create function revise_subscription() returns trigger language plpgsql set search_path from current as $$
begin
  new.revision := nextval('subscription_revisions');
  return new;
end $$;
create trigger subscriptions_revised before update on subscriptions for each row
  when ((old.status, old.pricing_model_id, old.customer_id, old.price_id, old.renews, old.current_billing_period_start,
         old.current_billing_period_end, old.interim_at, old.cancel_scheduled_at, old.resumes_at, old.billing_threshold_amount,
         old.has_spend_limits)
    is distinct from (new.status, new.pricing_model_id, new.customer_id, new.price_id, new.renews, new.current_billing_period_start,
         new.current_billing_period_end, new.interim_at, new.cancel_scheduled_at, new.resumes_at, new.billing_threshold_amount,
         new.has_spend_limits))
  execute function revise_subscription();

-- Usage that waits is looked at again when its threshold changes, when the subscription owes nothing more, and when the last
-- invoice at its threshold is settled.
create function look_at_threshold() returns trigger language plpgsql set search_path from current as $$
declare
  of_subscription text := case when table_of_trigger(tg_table_name) = 'invoices' then to_jsonb(new) ->> 'subscription_id' else new.id end;
begin
  insert into usage_threshold_checks (environment_id, subscription_id, due_at)
  select s.environment_id, s.id, new.updated_at
    from subscriptions s join environments e on e.id = s.environment_id
   where s.environment_id = new.environment_id
     and s.id = of_subscription
     and coalesce(s.billing_threshold_amount, e.billing_threshold_amount, 0) > 0
  on conflict do nothing;
  return null;
end $$;
create trigger subscriptions_threshold_changed after update on subscriptions for each row
  when (new.billing_threshold_amount is distinct from old.billing_threshold_amount or (old.arrears <> 'none' and new.arrears = 'none'))
  execute function look_at_threshold();
create trigger invoices_threshold_settled after update on invoices for each row
  when (old.is_open_threshold and not new.is_open_threshold) execute function look_at_threshold();

create function settle_threshold() returns trigger language plpgsql set search_path from current as $$
begin
  new.is_open_threshold := false;
  return new;
end $$;
create trigger invoices_threshold_closed before update on invoices for each row
  when (new.is_open_threshold and new.status not in ('open', 'awaiting_payment_confirmation')) execute function settle_threshold();

-- The threshold of the settings is cached with the catalog. All usage that waits is looked at.
create function change_threshold() returns trigger language plpgsql set search_path from current as $$
declare
  version bigint := nextval('catalog_versions');
begin
  update pricing_models m set catalog_version = version where m.environment_id = new.id;
  insert into usage_threshold_checks (environment_id, subscription_id, due_at)
  select distinct a.environment_id, a.subscription_id, coalesce(new.clock_now, new.updated_at)
    from (select o.ledger_account_id from usage_overages o
           where o.environment_id = new.id and (o.uncovered > o.invoiced or o.events > o.invoiced_events)
          union all
          select t.ledger_account_id from usage_measures t where t.environment_id = new.id) u
    join ledger_accounts a on a.environment_id = new.id and a.id = u.ledger_account_id
    join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
   where new.billing_threshold_amount is not null and s.billing_threshold_amount is null
     and s.status not in ('canceled', 'incomplete_expired')
   order by 1, 2
  on conflict do nothing;
  return null;
end $$;
create trigger environments_threshold_changed after update on environments for each row
  when (new.billing_threshold_amount is distinct from old.billing_threshold_amount) execute function change_threshold();

alter table subscription_items add column effective_from bigint;
update subscription_items set effective_from = added_date;
alter table subscription_items alter column effective_from set not null;
comment on column subscription_items.effective_from is 'Since when the present price and quantity hold; earlier ones are versions.';

-- What an item cost and how many it were before it was changed in place: what a period was worth is reckoned from it.
create table subscription_item_versions (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  subscription_id text collate "C" not null,
  subscription_item_id text collate "C" not null,
  price_id text collate "C",
  unit_price numeric(38, 0) not null,
  pricing jsonb,
  quantity bigint not null,
  start_at bigint not null,
  end_at bigint not null,
  created_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, subscription_item_id) references subscription_items,
  foreign key (environment_id, price_id) references prices,
  constraint subscription_item_versions_amounts check (unit_price >= 0 and quantity between 0 and 1000000),
  constraint subscription_item_versions_pricing check (pricing is null or (unit_price = 0 and price_id is not null)),
  constraint subscription_item_versions_run_forward check (start_at <= end_at)
);
create index subscription_item_versions_by_subscription on subscription_item_versions (environment_id, subscription_id);

-- Terms that a price has for one subscription, from `start_at` on. Ended rows stay, because bills follow them.
create table subscription_price_overrides (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  subscription_id text collate "C" not null,
  price_id text collate "C" not null,
  unit_price numeric(38, 0),
  pricing jsonb,
  start_at bigint not null,
  end_at bigint,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, price_id) references prices,
  constraint subscription_price_overrides_terms check ((unit_price is null) <> (pricing is null) and unit_price between 0 and 4503599627370495),
  constraint subscription_price_overrides_run_forward check (start_at <= end_at),
  constraint subscription_price_overrides_one_at_a_time exclude using gist
    (environment_id with =, subscription_id with =, price_id with =, int8range(start_at, end_at) with &&)
);
create index subscription_price_overrides_by_subscription on subscription_price_overrides (environment_id, subscription_id, price_id);
comment on column subscription_price_overrides.end_at is 'Null: the terms are in force.';

alter table billing_periods
  add column whole_start_at bigint,
  add column proration_waived numeric(38, 0) not null default 0,
  add column whole_end_at bigint,
  add column kept_value numeric(38, 0) not null default 0,
  add column paused_time_refunded numeric(38, 0) not null default 0,
  add column credits_await_payment boolean not null default false,
  add column discount_start_at bigint,
  add column discount_end_at bigint,
  add column rounding_carried numeric(38, 0) not null default 0,
  add constraint billing_periods_part_of_whole check (
    (whole_start_at <= start_at or whole_start_at < coalesce(whole_end_at, end_at) or status in ('completed', 'canceled'))
    and whole_end_at > end_at),
  add constraint billing_periods_kept check (kept_value >= 0 and (kept_value = 0 or whole_end_at is not null)),
  add constraint billing_periods_paused_time_refunded check (paused_time_refunded >= 0),
  add constraint billing_periods_discount_interval check ((discount_start_at is null) = (discount_end_at is null) and discount_start_at <= start_at and discount_end_at > discount_start_at),
  add constraint billing_periods_rounding_carried check (abs(rounding_carried) <= 500000000000),
  add constraint billing_periods_waived_not_negative check (proration_waived >= 0);
comment on column billing_periods.whole_start_at is 'The start of the interval that the period is the rest of. Later than its own start for a long first period, which is priced by the interval with which it ends. Null: the period is whole.';
comment on column billing_periods.whole_end_at is 'Where the interval ends whose rest was paused, so the next period begins later. Null: it was not paused.';
comment on column billing_periods.kept_value is 'What was really paid for its paused rest and not refunded since, whether or not a later invoice took it off. In minor units.';
comment on column billing_periods.paused_time_refunded is 'What its invoices took off for paused time and was refunded afterwards. In minor units.';
comment on column billing_periods.credits_await_payment is 'Its credits come with the money for it, which has not arrived.';
comment on column billing_periods.discount_start_at is 'The start of the interval, to discount_end_at, whose discount the period carries on as one use of it. Null: its own interval.';
comment on column billing_periods.rounding_carried is 'Value of earlier periods that their rounding left out: this one rounds it with its own. In trillionths of a minor unit.';
create index billing_periods_credits_await on billing_periods (environment_id, subscription_id) where credits_await_payment;
comment on column billing_periods.proration_waived is 'List value of changes that were made without proration: as good as paid.';

-- A change of plan that has been asked for: it waits for its money or for its time, and is carried out once.
create table subscription_adjustments (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  subscription_id text collate "C" not null,
  status text not null,
  effective_at bigint not null,
  items jsonb not null,
  price_overrides jsonb not null default '[]',
  capacities jsonb not null,
  invoice_id text collate "C",
  replaced_invoice_id text collate "C",
  replaced_next_attempt_at bigint,
  billing_anchor text,
  billing_cycle_anchor_date bigint,
  proration_waived numeric(38, 0) not null default 0,
  bill jsonb,
  failure_code text,
  failure_message text,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, invoice_id) references invoices,
  foreign key (environment_id, replaced_invoice_id) references invoices,
  constraint subscription_adjustments_status check (status in ('awaiting_payment', 'scheduled', 'applied', 'canceled', 'failed')),
  constraint subscription_adjustments_billing_anchor check (billing_anchor in ('now', 'unchanged')),
  constraint subscription_adjustments_one_anchor check (billing_anchor is null or billing_cycle_anchor_date is null),
  constraint subscription_adjustments_anchor_ahead check (billing_cycle_anchor_date > effective_at),
  constraint subscription_adjustments_paid_by_invoice check (status <> 'awaiting_payment' or invoice_id is not null or bill is not null),
  constraint subscription_adjustments_bill_until_invoice check (bill is null or (invoice_id is null and status in ('awaiting_payment', 'canceled')))
);
comment on column subscription_adjustments.items is 'The complete new set of items, resolved.';
comment on column subscription_adjustments.price_overrides is 'The changes of own prices that are made with it.';
comment on column subscription_adjustments.capacities is 'Capacity of each resource, by its id, once the change has been made.';
comment on column subscription_adjustments.billing_anchor is 'A change to another interval that begins a period at once: how later periods are counted. Null: it begins none.';
comment on column subscription_adjustments.billing_cycle_anchor_date is 'A move of the billing anchor, which begins a period at once: the new anchor, where that period ends. Null: the change is of items.';
comment on column subscription_adjustments.bill is 'The invoice that its first payment makes, with the amounts that were shown. Null once that is made, or no payment is in flight.';
comment on column subscription_adjustments.replaced_next_attempt_at is 'When the replaced invoice was to be tried again: nobody tries it while the change waits, and then again if that fails.';
-- One change at a time may be under way.
create unique index subscription_adjustments_one_pending on subscription_adjustments (environment_id, subscription_id)
  where status in ('awaiting_payment', 'scheduled');
create index subscription_adjustments_replacing on subscription_adjustments (environment_id, replaced_invoice_id)
  where replaced_invoice_id is not null;
-- A declined change is tried again, however often: the card is declined, and the change stays one.
create unique index subscription_adjustments_one_to_try_again on subscription_adjustments (environment_id, subscription_id)
  where status = 'failed' and invoice_id is null;
create index subscription_adjustments_by_subscription on subscription_adjustments (environment_id, subscription_id);
create index subscription_adjustments_by_invoice on subscription_adjustments (environment_id, invoice_id) where invoice_id is not null;

-- A foreign key for the prices in `items`: they cannot be deleted from under a change that is stored at the same moment.
create function lock_prices_of_adjustment() returns trigger language plpgsql set search_path from current as $$
begin
  perform from prices p
   where p.environment_id = new.environment_id
     and p.id in (select item ->> 'priceId' from jsonb_array_elements(new.items) item)
     for key share;
  if exists (select from jsonb_array_elements(new.items) item
              where item ->> 'priceId' is not null
                and not exists (select from prices p where p.environment_id = new.environment_id and p.id = item ->> 'priceId')) then
    raise foreign_key_violation using message = 'a price of the change does not exist', constraint = 'subscription_adjustments_prices';
  end if;
  return null;
end $$;
create trigger subscription_adjustments_prices after insert or update of items on subscription_adjustments
  for each row execute function lock_prices_of_adjustment();

-- The records outside of a pricing model that refer to records of it, by the foreign keys of the database: a new table is not
-- forgotten. Counts up to `at_most` of each table, and names the first ones.
create function uses_of(used text, used_ids text[], at_most integer, named integer)
  returns table (record text, total bigint, first_ids text[])
  language plpgsql stable set search_path from current as $$
declare
  source record;
begin
  for source in
    select c.conrelid::regclass::text as name, format('t.%I = any ($1)', a.attname) as refers
      from pg_constraint c
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[cardinality(c.conkey)]
      -- Series and overages of usage have no id of this kind. They belong to a subscription, which is found itself.
      join pg_attribute i on i.attrelid = c.conrelid and i.attname = 'id' and i.atttypid = 'text'::regtype
     where c.contype = 'f' and c.conparentid = 0 and c.confrelid = used::regclass
       and c.conrelid <> all (array['products', 'prices', 'features', 'product_features', 'usage_meters', 'credit_pools', 'credit_pool_rates', 'resources', 'discounts']::regclass[])
    union all
    select 'subscription_adjustments', $condition$exists (
        select from jsonb_array_elements(t.items) item where item ->> 'priceId' = any ($1))$condition$
     where used = 'prices'
    union all
    select 'discounts', 't.product_ids && $1' where used = 'products'
     order by 1
  loop
    return query execute format(
      'select %L, count(*), (array_agg(id order by id))[:$3]
         from (select id from %I t where environment_id = current_environment() and %s limit $2) found having count(*) > 0',
      replace(source.name, '_', ' '), source.name, source.refers) using used_ids, at_most, named;
  end loop;
end $$;

create table discounts (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  name text not null,
  code text not null,
  amount_type text not null,
  amount numeric(38, 0) not null,
  duration text not null,
  number_of_payments bigint,
  active boolean not null,
  expires_at bigint,
  maximum_redemptions bigint,
  maximum_redemptions_per_customer bigint,
  product_ids text[],
  minimum_amount numeric(38, 0),
  first_purchase_only boolean not null default false,
  is_counted boolean not null default false,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models,
  constraint discounts_code_unique unique (environment_id, pricing_model_id, code),
  constraint discounts_code check (char_length(code) between 3 and 20 and code = upper(code collate "C")),
  constraint discounts_amount check (amount > 0 and amount_type in ('percent', 'fixed')),
  constraint discounts_duration check (duration in ('once', 'forever', 'number_of_payments')
    and (duration = 'number_of_payments') = (number_of_payments is not null) and number_of_payments > 0),
  constraint discounts_limits check (maximum_redemptions > 0 and maximum_redemptions_per_customer > 0 and minimum_amount > 0
    and cardinality(product_ids) between 1 and 50)
);
comment on column discounts.product_ids is 'The products of whose prices it lowers the lines. Null: all lines. They are of its pricing model: deleting one is refused.';
comment on column discounts.is_counted is 'Whether it has had a maximum of redemptions. From then on they are counted.';

-- A discount as it was when a subscription redeemed it. It ends by invoices paid.
create table discount_redemptions (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  discount_id text collate "C" not null,
  customer_id text collate "C" not null,
  subscription_id text collate "C" not null,
  position integer not null default 1,
  removed_at bigint,
  use_of_customer bigint,
  uses_allowed bigint,
  product_ids text[],
  name text not null,
  code text not null,
  amount_type text not null,
  amount numeric(38, 0) not null,
  duration text not null,
  number_of_payments bigint,
  payments_made bigint not null default 0,
  fully_redeemed boolean not null generated always as (case duration when 'once' then payments_made >= 1
    when 'number_of_payments' then payments_made >= number_of_payments else false end) stored,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, discount_id) references discounts,
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, subscription_id) references subscriptions,
  constraint discount_redemptions_position check (position > 0),
  constraint discount_redemptions_use check (use_of_customer is null or (uses_allowed is not null and use_of_customer between 1 and uses_allowed))
);
comment on column discount_redemptions.position is 'Its place among the discounts of its subscription: each lowers what the ones before it have left.';
comment on column discount_redemptions.removed_at is 'Since when its subscription does not have it any more. Invoices before that keep it.';
comment on column discount_redemptions.use_of_customer is 'Its number among the redemptions of the customer, up to uses_allowed. Null without a limit, and of one that ended unused: it makes room for the next.';
comment on column discount_redemptions.uses_allowed is 'The redemptions that its customer might have, by the discount or the setting. Null: any number.';
comment on column discount_redemptions.product_ids is 'Those of the discount when it was redeemed.';
create index discount_redemptions_by_discount on discount_redemptions (environment_id, discount_id);
create index discount_redemptions_by_customer on discount_redemptions (environment_id, customer_id, discount_id);
create index discount_redemptions_by_subscription on discount_redemptions (environment_id, subscription_id) where subscription_id is not null;
create unique index discount_redemptions_ordered on discount_redemptions (environment_id, subscription_id, position)
  where subscription_id is not null and removed_at is null;
create unique index discount_redemptions_once_at_a_time on discount_redemptions (environment_id, subscription_id, discount_id)
  where subscription_id is not null and removed_at is null;
create unique index discount_redemptions_one_per_customer on discount_redemptions (environment_id, customer_id, discount_id, use_of_customer)
  where use_of_customer is not null;

-- A discount is redeemed at most as often as its maximum. The lock makes its redemptions wait for each other and for a change of
-- the maximum; one that never had a maximum makes them wait for the change only. Over cells, redemptions_left() counts
-- (migrations/0025-cells.sql), and another cell may have some to give back.
create function keep_redemptions_within_maximum() returns trigger
  language plpgsql volatile set search_path from current as $$
begin
  if is_moving() then return null; end if;
  perform from discounts where environment_id = new.environment_id and id = new.discount_id and not is_counted for share;
  if found then
    return null;
  end if;
  perform from discounts where environment_id = new.environment_id and id = new.discount_id for no key update;
  if redemptions_left(new.environment_id, new.discount_id, right(new.customer_id, 2)) < 0 then
    if is_one_of_cells() then
      raise exception using errcode = 'TK189', message = 'the slot has no allowance for another redemption';
    end if;
    raise check_violation using constraint = 'discount_redemptions_maximum', message = 'a discount is redeemed at most as often as its maximum';
  end if;
  return null;
end $$;
create trigger discount_redemptions_maximum after insert on discount_redemptions
  for each row execute function keep_redemptions_within_maximum();

create function count_from_first_maximum() returns trigger language plpgsql set search_path from current as $$
begin
  new.is_counted := true;
  return new;
end $$;
create trigger discounts_counted before insert or update of maximum_redemptions on discounts
  for each row when (new.maximum_redemptions is not null) execute function count_from_first_maximum();

create function keep_maximum_of_redemptions() returns trigger
  language plpgsql volatile set search_path from current as $$
begin
  -- Copies follow the home cell, which counts.
  if not (select is_home from cell) then return null; end if;
  if not old.is_counted and is_one_of_cells() then
    raise exception using errcode = 'TK189', message = 'the other cells have not begun to count';
  end if;
  if redemptions_left(new.environment_id, new.id, '00') < 0 then
    raise check_violation using constraint = 'discounts_maximum_redemptions', message = 'a maximum is not below the redemptions so far';
  end if;
  return null;
end $$;
create trigger discounts_maximum_redemptions after update of maximum_redemptions on discounts
  for each row when (new.maximum_redemptions is not null) execute function keep_maximum_of_redemptions();

-- What tax is owed where; the most exact row that is active counts: country and state before country alone.
create table tax_rates (
  environment_id bigint not null,
  id text collate "C" not null,
  country text not null,
  state text,
  type text not null,
  percentage text not null,
  inclusive boolean not null,
  active boolean not null,
  name text,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  constraint tax_rates_percentage check (percentage ~ '^(0|[1-9][0-9]{0,2})(\.[0-9]{1,6})?$' and percentage::numeric <= 100)
);
create unique index tax_rates_one_active on tax_rates (environment_id, country, coalesce(state, '')) where active;

alter table invoices
  add column discount_amount numeric(38, 0) not null default 0,
  add column discount_count integer not null default 0,
  add column tax_type text,
  add column tax_country text,
  add column tax_state text,
  add column tax_rate_percentage text,
  add column tax_inclusive boolean not null default false,
  add column seller jsonb,
  add column buyer jsonb,
  add column attempt_count integer not null default 0,
  add column next_attempt_at bigint,
  add constraint invoices_discount_not_negative check (discount_amount >= 0 and discount_count >= 0),
  add constraint invoices_attempted_while_open check (next_attempt_at is null or status in ('open', 'awaiting_payment_confirmation'));
comment on column invoices.discount_count is 'The number of its rows in invoice_discounts; discount_amount is their sum.';
comment on column invoices.attempt_count is 'Attempts to collect it that have ended without money.';
comment on column invoices.next_attempt_at is 'When to try to collect it again; in the environment''s time.';
create index invoices_attempt_due on invoices (environment_id, next_attempt_at) where next_attempt_at is not null;
create index invoices_owed on invoices (environment_id, subscription_id)
  include (status, due_date, invoice_date, attempt_count, consolidated_into, pricing_model_id) where status in ('open', 'awaiting_payment_confirmation');

-- The discounts of an invoice, in the order in which they lower it.
create table invoice_discounts (
  environment_id bigint not null,
  invoice_id text collate "C" not null,
  position integer not null,
  pricing_model_id text collate "C" not null,
  discount_redemption_id text collate "C" not null,
  amount numeric(38, 0) not null,
  of_invoice boolean not null,
  primary key (environment_id, invoice_id, position),
  foreign key (environment_id, invoice_id) references invoices,
  foreign key (environment_id, discount_redemption_id) references discount_redemptions,
  constraint invoice_discounts_once unique (environment_id, discount_redemption_id, invoice_id),
  constraint invoice_discounts_amount check (position > 0 and amount >= 0)
);
comment on column invoice_discounts.of_invoice is 'True where this invoice alone redeems it, and no subscription or purchase does.';
create unique index invoice_discounts_one_redeems on invoice_discounts (environment_id, discount_redemption_id) where of_invoice;

alter table invoice_line_items
  add column discount_amount numeric(38, 0) not null default 0,
  add column tax_amount numeric(38, 0) not null default 0,
  add column explanation jsonb not null default '{}',
  add constraint invoice_line_items_untaxed check (taxable or tax_amount = 0),
  -- Credit notes never take back more than a line, whoever writes.
  add constraint invoice_line_items_credited check (credited_amount between 0 and greatest(amount, 0)
    and credited_discount between 0 and discount_amount and credited_tax between 0 and tax_amount);
comment on column invoice_line_items.explanation is 'What the amount was reckoned from; see GET /invoices/{id}/explain.';

-- A consolidated invoice collects what its parts bill. They follow it: they have its status and their shares of its money, so
-- whoever asks about one subscription finds its own. Each amount fills the parts in order: an offset what is credited of them,
-- money what is left of them to pay, and a refund first what is credited. So the shares add up, whatever happens to the whole.
create function share_among_parts(of_environment bigint, of_invoice text) returns void
  language sql volatile set search_path from current as $$
  with part as (
    select p.id, p.total, whole.status, whole.attempt_count, whole.updated_at, whole.offset_amount, whole.balance_credited,
           whole.amount_refunded, whole.amount_paid + whole.balance_applied as given,
           coalesce((select sum(l.credited_amount - l.credited_discount + case when p.tax_inclusive then 0 else l.credited_tax end)
                       from invoice_line_items l where l.environment_id = p.environment_id and l.invoice_id = p.id), 0) as credited
      from invoices whole
      join invoices p on p.environment_id = whole.environment_id and p.consolidated_into = whole.id
     where whole.environment_id = of_environment and whole.id = of_invoice
  ), with_offset as (
    select *, least(greatest(offset_amount - (sum(credited) over w - credited), 0), credited) as off from part window w as (order by id)
  ), with_rooms as (
    select *, credited - off as creditable, total - off as payable from with_offset
  ), with_money as (
    select *, least(greatest(balance_credited - (sum(creditable) over w - creditable), 0), creditable) as back,
           least(greatest(given - (sum(payable) over w - payable), 0), payable) as paid
      from with_rooms window w as (order by id)
  ), with_refundable as (
    select *, least(creditable - back, paid) as refundable from with_money
  ), with_refund as (
    select *, least(greatest(amount_refunded - (sum(refundable) over w - refundable), 0), refundable) as refunded
      from with_refundable window w as (order by id)
  ), with_rest as (
    select *, paid - refunded as room, amount_refunded - sum(refunded) over () as rest from with_refund
  ), shared as (
    select *, refunded + least(greatest(rest - (sum(room) over w - room), 0), room) as refunded_in_all from with_rest window w as (order by id)
  )
  update invoices p
     set status = s.status, attempt_count = s.attempt_count, credited_amount = s.credited, offset_amount = s.off,
         balance_credited = s.back, amount_paid = s.paid, amount_refunded = s.refunded_in_all, updated_at = s.updated_at
    from shared s
   where p.environment_id = of_environment and p.id = s.id
$$;

create function follow_whole() returns trigger language plpgsql set search_path from current as $$
begin
  perform share_among_parts(new.environment_id, coalesce(new.consolidated_into, new.id));
  return null;
end $$;
create trigger invoices_shared after update on invoices for each row
  when (new.type = 'standalone' and new.reason = 'renewal'
    and (old.status, old.attempt_count, old.amount_paid, old.amount_refunded, old.credited_amount, old.offset_amount,
         old.balance_applied, old.balance_credited)
    is distinct from (new.status, new.attempt_count, new.amount_paid, new.amount_refunded, new.credited_amount, new.offset_amount,
         new.balance_applied, new.balance_credited))
  execute function follow_whole();
create trigger invoices_consolidated after update on invoices for each row
  when (old.consolidated_into is null and new.consolidated_into is not null)
  execute function follow_whole();

-- Part payments: several payments may pay one invoice, one after the other. Together they cannot exceed its total.
drop index payments_one_live_per_invoice;
create unique index payments_one_under_way_per_invoice on payments (environment_id, invoice_id)
  where status in ('processing', 'requires_confirmation', 'requires_action');
alter table payments
  drop constraint payments_checked_while_processing,
  add constraint payments_checked_while_under_way check (check_at is null or status in ('processing', 'requires_action')),
  add column tax_type text,
  add column tax_country text,
  add column tax_state text,
  add column tax_rate_percentage text,
  add column receipt_url text,
  add column next_action jsonb;
comment on column payments.next_action is 'What the customer has to do before the charge can go on, as the processor says it.';
create index payments_unsent on payments (environment_id, id) where status = 'processing' and processor_reference is null;
create index payments_by_reference on payments (environment_id, processor_reference) where processor_reference is not null;

-- Who a customer is at a payment processor.
create table processor_customers (
  environment_id bigint not null,
  customer_id text collate "C" not null,
  processor text not null,
  reference text not null,
  created_at bigint not null,
  primary key (environment_id, customer_id, processor),
  foreign key (environment_id, customer_id) references customers
);

-- What a processor told us of its own accord. It tells the same thing several times, and in any order.
create table processor_events (
  environment_id bigint not null references environments,
  processor text not null,
  id text collate "C" not null,
  received_at bigint not null,
  primary key (environment_id, processor, id)
);
create index processor_events_received_at on processor_events (received_at);
-- Which events were taken is needed for as long as they may be told again, and no longer.
create function forget_processor_events(before bigint, at_most integer) returns bigint
  language sql volatile security definer set search_path from current
  begin atomic
    with forgotten as (
      delete from processor_events where (environment_id, processor, id) in
        (select environment_id, processor, id from processor_events where received_at <= before order by received_at limit at_most)
      returning 1)
    select count(*) from forgotten;
  end;

-- A payment method that a processor outside is to be asked about. It is among the payment methods once it can be charged.
create table payment_method_attachments (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  processor text not null,
  request jsonb not null,
  status text not null,
  outcome jsonb,
  payment_method_id text collate "C",
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, payment_method_id) references payment_methods,
  constraint payment_method_attachments_status check (status in ('pending', 'attached', 'refused')),
  constraint payment_method_attachments_ended check ((status = 'pending') = (outcome is null))
);
comment on column payment_method_attachments.id is 'That of the payment method, if it comes to be a new one.';
comment on column payment_method_attachments.payment_method_id is 'The new payment method, or the same card that the customer had.';
create index payment_method_attachments_by_customer on payment_method_attachments (environment_id, customer_id);

-- Where something is due by the environment's own time. What that is, the service looks up inside of it.
drop function environments_with_endings_due;
create function environments_with_work_due(real_now bigint, incomplete_lifetime bigint) returns setof bigint
  language sql stable security definer set search_path from current
  begin atomic
    select e.id
      from environments e
     where least(
             (select s.cancel_scheduled_at from subscriptions s where s.environment_id = e.id and s.status = 'cancellation_scheduled'
               order by s.cancel_scheduled_at limit 1),
             (select s.current_billing_period_end from subscriptions s where s.environment_id = e.id and s.renews
                 and s.status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled')
               order by s.current_billing_period_end limit 1),
             (select s.interim_at from subscriptions s where s.environment_id = e.id and s.interim_at is not null
                 and s.status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled')
               order by s.interim_at limit 1),
             (select s.resumes_at from subscriptions s where s.environment_id = e.id and s.resumes_at is not null
               order by s.resumes_at limit 1),
             (select s.created_at from subscriptions s where s.environment_id = e.id and s.status = 'incomplete'
                 and s.current_billing_period_start is null
               order by s.created_at limit 1) + incomplete_lifetime,
             (select i.next_attempt_at from invoices i where i.environment_id = e.id and i.next_attempt_at is not null
               order by i.next_attempt_at limit 1),
             (select i.finalizes_at from invoices i where i.environment_id = e.id and i.finalizes_at is not null
               order by i.finalizes_at limit 1),
             (select t.due_at from usage_threshold_checks t where t.environment_id = e.id order by t.due_at limit 1),
             (select c.expires_at from usage_credits c where c.environment_id = e.id and not c.spent and c.expires_at is not null
                 and (c.source in ('purchase', 'rollover') or c.transferred_from is not null
                   or c.source = 'manual_adjustment' and c.feature_id is null)
               order by c.expires_at limit 1),
             (select t.due_at from auto_top_up_checks t where t.environment_id = e.id order by t.due_at limit 1),
             (select i.notice_at from invoices i where i.environment_id = e.id and i.notice_at is not null and i.status = 'open'
               order by i.notice_at limit 1),
             (select s.notice_at from subscriptions s where s.environment_id = e.id and s.notice_at is not null
                 and s.status = 'trialing' order by s.notice_at limit 1),
             (select m.notice_at from payment_methods m where m.environment_id = e.id and m.notice_at is not null
                 and m.detached_at is null order by m.notice_at limit 1),
             (select p.check_at from payments p where p.environment_id = e.id and p.check_at is not null
               order by p.check_at limit 1)) <= coalesce(e.clock_now, real_now);
  end;

-- Tables that have grown many times since the planner last looked at them. PostgreSQL looks by itself, up to a minute
-- later: long enough for a year of a new environment to be done with the plans of empty tables. A look at fewer rows than
-- usual tells what there is as well, and takes a fifth of the time of those who are at work meanwhile.
create function analyze_grown_tables() returns void
  language plpgsql volatile security definer set search_path from current set default_statistics_target = 20 as $$
declare
  grown text;
begin
  for grown in
    select c.relname from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
       and pg_relation_size(c.oid) / current_setting('block_size')::bigint > 4 * greatest(c.relpages, 2)
     order by c.relname
  loop
    execute format('analyze %I', grown);
  end loop;
end $$;
