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
create function follow_adjustment() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  update checkout_sessions s
     set status = case when new.status = 'applied' then 'succeeded' else 'open' end,
         updated_at = greatest(s.updated_at, new.updated_at)
   where s.environment_id = new.environment_id and s.adjustment_id = new.id and s.status = 'pending';
  return null;
end $$;
create trigger adjustments_told_to_session after update of status on subscription_adjustments
  for each row when (old.status = 'awaiting_payment' and new.status <> old.status) execute function follow_adjustment();

-- Who sells in the environment of the work: by the name that stands on its invoices, else by the organization's.
create function seller_name() returns text
  language sql stable security definer set search_path = public, pg_temp
  begin atomic
    select coalesce(e.seller ->> 'name', o.name)
      from environments e join organizations o on o.id = e.organization_id
     where e.id = current_environment();
  end;

select secure_tenant_tables();
