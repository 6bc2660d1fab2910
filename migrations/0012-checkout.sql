-- Checkout sessions: what a buyer is sent to a page with, and what came of it.

create table checkout_sessions (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  type text not null,
  status text not null,
  -- Null in an anonymous session until its buyer has said who it is.
  customer_id text collate "C",
  anonymous boolean not null,
  customer_name text,
  customer_email text,
  billing_address jsonb,
  price_id text collate "C",
  quantity bigint not null,
  -- The limits within which the buyer may change the quantity; null: it stays as it is.
  minimum_quantity bigint,
  maximum_quantity bigint,
  -- Null: the trial of the price.
  trial_period_days bigint,
  discount_id text collate "C",
  -- The last attempt to buy.
  purchase_id text collate "C",
  -- The last change of the plan that the customer had already.
  adjustment_id text collate "C",
  payment_method_id text collate "C",
  payment_method_type text,
  -- What the processor calls the payment method: sent again, it is the same one.
  payment_token text,
  preserve_billing_cycle_anchor boolean not null,
  -- Null: the settings.
  billing_anchor jsonb,
  first_period text,
  target_subscription_id text collate "C",
  automatically_update_subscriptions boolean,
  output_name text,
  output_metadata jsonb,
  metadata jsonb,
  success_url text,
  cancel_url text,
  expires_at bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models,
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, price_id) references prices,
  foreign key (environment_id, discount_id) references discounts,
  foreign key (environment_id, target_subscription_id) references subscriptions,
  foreign key (environment_id, adjustment_id) references subscription_adjustments,
  constraint checkout_sessions_type check (type in ('product', 'purchase', 'activate_subscription', 'add_payment_method')),
  -- That an open one has expired follows from the clock.
  constraint checkout_sessions_status check (status in ('open', 'pending', 'succeeded', 'failed')),
  constraint checkout_sessions_quantity check (quantity between 1 and 1000000 and maximum_quantity <= 1000000),
  constraint checkout_sessions_within_limits check (
    (minimum_quantity is null and maximum_quantity is null)
    or (minimum_quantity > 0 and maximum_quantity is not null and quantity between minimum_quantity and maximum_quantity)),
  constraint checkout_sessions_billing_anchor check (billing_anchor in ('"anniversary"', '"calendar"')
    or (jsonb_typeof(billing_anchor -> 'day') = 'number' and (billing_anchor ->> 'day')::numeric between 1 and 31)),
  constraint checkout_sessions_first_period check (first_period in ('short', 'long')),
  constraint checkout_sessions_trial check (trial_period_days >= 0),
  constraint checkout_sessions_sells_something check (type not in ('product', 'purchase') or price_id is not null),
  constraint checkout_sessions_activates_something
    check (type <> 'activate_subscription' or (target_subscription_id is not null and customer_id is not null)),
  constraint checkout_sessions_somebody_adds check (type <> 'add_payment_method' or customer_id is not null),
  constraint checkout_sessions_expires_later check (expires_at > created_at)
);
create index checkout_sessions_by_status on checkout_sessions (environment_id, status, id);
create index checkout_sessions_by_creation on checkout_sessions (environment_id, created_at);
create index checkout_sessions_by_pricing_model on checkout_sessions (environment_id, pricing_model_id);
create index checkout_sessions_by_price on checkout_sessions (environment_id, price_id) where price_id is not null;
create index checkout_sessions_by_customer on checkout_sessions (environment_id, customer_id) where customer_id is not null;
create index checkout_sessions_anonymous on checkout_sessions (right(id, 2)) where customer_id is null;

-- The add-ons that a session sells with its plan, or offers beside it.
create table checkout_session_add_ons (
  environment_id bigint not null,
  checkout_session_id text collate "C" not null,
  price_id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  position smallint not null,
  -- Whether the buyer may leave it out.
  optional boolean not null,
  -- The quantity of the seller. The buyer may choose another one within the limits, if there are any.
  quantity bigint not null,
  minimum_quantity bigint,
  maximum_quantity bigint,
  -- The quantity of the buyer. Null: nothing was confirmed yet. 0: it was left out.
  selected_quantity bigint,
  primary key (environment_id, checkout_session_id, price_id),
  foreign key (environment_id, checkout_session_id) references checkout_sessions,
  foreign key (environment_id, price_id) references prices,
  constraint checkout_session_add_ons_one_at_a_position unique (environment_id, checkout_session_id, position),
  constraint checkout_session_add_ons_are_few check (position between 0 and 98),
  constraint checkout_session_add_ons_quantity check (quantity between 1 and 1000000 and maximum_quantity <= 1000000),
  constraint checkout_session_add_ons_within_limits check (
    (minimum_quantity is null and maximum_quantity is null)
    or (minimum_quantity > 0 and maximum_quantity is not null and quantity between minimum_quantity and maximum_quantity)),
  constraint checkout_session_add_ons_selected check (selected_quantity is null or selected_quantity = quantity
    or (selected_quantity = 0 and optional)
    or coalesce(selected_quantity between minimum_quantity and maximum_quantity, false))
);
create index checkout_session_add_ons_by_price on checkout_session_add_ons (environment_id, price_id);

-- A session goes as the attempts to buy that come from it: done with the one that is paid, open again after one that failed.
-- Money that is taken back later opens nothing again: what was bought has been given by then, and is owed.
create function follow_purchase() returns trigger language plpgsql as $$
begin
  update checkout_sessions s
     set purchase_id = new.id,
         status = case when new.status = 'paid' then 'succeeded'
                       when new.status = 'failed' and s.status = 'pending' then 'open'
                       else s.status end,
         updated_at = greatest(s.updated_at, new.updated_at)
   where s.environment_id = new.environment_id and s.id = new.checkout_session_id;
  return null;
end $$;
create trigger purchases_told_to_session_at_first after insert on purchases
  for each row when (new.checkout_session_id is not null) execute function follow_purchase();
create trigger purchases_told_to_session after update of status on purchases
  for each row when (new.checkout_session_id is not null and new.status is distinct from old.status)
  execute function follow_purchase();

-- A change of plan likewise: done when it is paid, open again when its payment failed.
create index checkout_sessions_by_adjustment on checkout_sessions (environment_id, adjustment_id) where adjustment_id is not null;
create function follow_adjustment() returns trigger language plpgsql set search_path from current as $$
begin
  update checkout_sessions s
     set status = case when new.status = 'applied' then 'succeeded' else 'open' end,
         updated_at = greatest(s.updated_at, new.updated_at)
   where s.environment_id = new.environment_id and s.adjustment_id = new.id and s.status = 'pending';
  return null;
end $$;
create trigger adjustments_told_to_session after update of status on subscription_adjustments
  for each row when (old.status = 'awaiting_payment' and new.status <> old.status) execute function follow_adjustment();
-- A change that is tried again is that of the last attempt, and no longer of a session before.
create function leave_adjustment() returns trigger language plpgsql set search_path from current as $$
begin
  update checkout_sessions s set adjustment_id = null, updated_at = greatest(s.updated_at, new.updated_at)
   where s.environment_id = new.environment_id and s.adjustment_id = new.id;
  return null;
end $$;
create trigger adjustments_leave_sessions after update of status on subscription_adjustments
  for each row when (old.status = 'failed' and new.status = 'awaiting_payment') execute function leave_adjustment();

-- Failed attempts to pay with a card or to guess a discount code: of a link, of a customer, of a network and of the environment.
-- An attempt is counted before it is made, and taken off again unless it failed, so any number at once are no more than allowed.
create table attempt_counts (
  environment_id bigint not null references environments,
  -- Kind, scope and subject. A network is a MAC of it, because an address is personal.
  id text collate "C" not null,
  kind text not null,
  scope text not null,
  failures integer not null,
  -- The limit that was reached last, and when it was; null: none since the count began.
  reached_limit integer,
  reached_at bigint,
  counted_from bigint not null,
  -- When the next attempt may be made.
  next_at bigint not null,
  -- Real time, from which nobody needs the row.
  kept_until bigint not null,
  primary key (environment_id, id),
  constraint attempt_counts_kind check (kind in ('payment', 'discount_code')),
  constraint attempt_counts_scope check (scope in ('link', 'customer', 'network', 'environment')),
  constraint attempt_counts_named check (starts_with(id, kind || ' ' || scope || ' ')),
  constraint attempt_counts_not_negative check (failures >= 0),
  -- There are never more failures than were allowed.
  constraint attempt_counts_within_limit check ((reached_limit is null) = (reached_at is null) and failures <= reached_limit)
);
comment on column attempt_counts.counted_from is 'A day later the count begins anew; in the environment''s time.';
comment on column attempt_counts.reached_at is 'When the last attempt that is allowed was made; in the environment''s time.';
create index attempt_counts_kept_until on attempt_counts (kept_until);

-- Takes one attempt of each scope, or of none. Answers each scope: whether it refuses, until when, and whether this attempt is
-- the first to reach its limit. All callers name the scopes in one order, so they wait for each other and never in a circle.
create function take_attempt(p_kind text, p_scopes text[], p_subjects text[], p_limits integer[], p_day bigint, p_now bigint)
  returns table (scope text, is_refused boolean, until bigint, is_last boolean)
  language plpgsql set search_path from current as $$
declare
  environment bigint := current_environment();
  counted attempt_counts;
  -- Whether the limit was reached before.
  reached boolean[] := '{}';
  forget_at bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint + 2 * p_day;
begin
  for i in 1 .. cardinality(p_scopes) loop
    insert into attempt_counts as c (environment_id, id, kind, scope, failures, counted_from, next_at, kept_until)
    values (environment, concat_ws(' ', p_kind, p_scopes[i], p_subjects[i]), p_kind, p_scopes[i], 0, p_now, p_now, forget_at)
    on conflict (environment_id, id) do update
       set kept_until = forget_at,
           failures = case when c.counted_from not between p_now - p_day + 1 and p_now then 0 else c.failures end,
           next_at = case when c.counted_from not between p_now - p_day + 1 and p_now then p_now else c.next_at end,
           reached_limit = case when c.counted_from between p_now - p_day + 1 and p_now then c.reached_limit end,
           reached_at = case when c.counted_from between p_now - p_day + 1 and p_now then c.reached_at end,
           counted_from = case when c.counted_from not between p_now - p_day + 1 and p_now then p_now else c.counted_from end
    returning c.* into counted;
    if counted.failures >= p_limits[i] or counted.next_at > p_now then
      return query select p_scopes[i], true,
        case when counted.failures >= p_limits[i] then counted.counted_from + p_day else counted.next_at end, false;
      return;
    end if;
    reached := reached || (counted.reached_at is not null);
  end loop;
  for i in 1 .. cardinality(p_scopes) loop
    return query
      update attempt_counts c
         set failures = c.failures + 1,
             reached_limit = case when c.failures + 1 >= p_limits[i] or c.reached_at is not null then p_limits[i] end,
             reached_at = case when c.failures + 1 >= p_limits[i] then coalesce(c.reached_at, p_now) else c.reached_at end
       where c.environment_id = environment and c.id = concat_ws(' ', p_kind, p_scopes[i], p_subjects[i])
      returning c.scope, false, c.next_at, c.reached_at is not null and not reached[i];
  end loop;
end $$;

-- Counts that nobody needs any more go, in every environment, a bounded number at a time.
create function forget_attempts(before bigint, at_most integer) returns bigint
  language sql volatile security definer set search_path from current
  begin atomic
    with forgotten as (
      delete from attempt_counts where (environment_id, id) in
        (select environment_id, id from attempt_counts where kept_until <= before order by kept_until limit at_most)
      returning 1)
    select count(*) from forgotten;
  end;

-- Who sells in the environment of the work: by the name that stands on its invoices, else by the organization's.
create function seller_name() returns text
  language sql stable security definer set search_path from current
  begin atomic
    select coalesce(e.seller ->> 'name', o.name)
      from environments e join organizations o on o.id = e.organization_id
     where e.id = current_environment();
  end;

select secure_tenant_tables();
