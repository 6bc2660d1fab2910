-- One attempt of a customer to buy something: a subscription, or what is paid once.
create table purchases (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  price_id text collate "C" not null,
  price_type text not null,
  quantity bigint not null,
  subscription_id text collate "C",
  invoice_id text collate "C",
  checkout_session_id text collate "C",
  name text not null,
  status text not null,
  trial_period_days bigint,
  price_per_billing_cycle numeric(38, 0),
  interval_unit text,
  interval_count bigint,
  billing_cycle_anchor bigint,
  billing_anchor jsonb,
  first_period text,
  first_invoice_value numeric(38, 0) not null default 0,
  subscription_name text,
  exclusive boolean not null default false,
  tax_inclusive boolean not null default false,
  total_purchase_value numeric(38, 0),
  purchase_date bigint,
  billing_address jsonb,
  metadata jsonb,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, price_id) references prices,
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, invoice_id) references invoices deferrable,
  constraint purchases_status check (status in ('open', 'pending', 'failed', 'paid', 'refunded', 'partial_refund', 'fraudulent')),
  constraint purchases_price_type check (price_type in ('subscription', 'single_payment')),
  constraint purchases_variant check ((subscription_id is null or price_type = 'subscription')
    and (subscription_id is not null or price_type = 'single_payment' or (invoice_id is null and status in ('pending', 'failed')))
    and (price_type = 'subscription') = (interval_unit is not null) and (price_type = 'subscription') = (interval_count is not null)
    and (price_type = 'subscription') = (trial_period_days is not null)
    and (price_type = 'subscription') = (billing_anchor is not null) and (price_type = 'subscription') = (first_period is not null)
    and (price_type = 'subscription') = (price_per_billing_cycle is not null)
    and (price_type = 'single_payment') = (total_purchase_value is not null)),
  constraint purchases_billing_anchor check (billing_anchor in ('"anniversary"', '"calendar"')
    or (jsonb_typeof(billing_anchor -> 'day') = 'number' and (billing_anchor ->> 'day')::numeric between 1 and 31)),
  constraint purchases_first_period check (first_period in ('short', 'long')),
  constraint purchases_quantity check (quantity between 1 and 1000000),
  constraint purchases_amounts check (first_invoice_value >= 0 and total_purchase_value >= 0),
  constraint purchases_completed_when_paid check (status not in ('paid', 'refunded', 'partial_refund') or purchase_date is not null)
);
comment on column purchases.subscription_name is 'The name that its subscription gets, which is made with the first payment.';
comment on column purchases.billing_anchor is 'With first_period: how the periods of its subscription are counted. Null: it is paid once.';
comment on column purchases.exclusive is 'True where it is to be the only paid plan of its customer.';
comment on column purchases.tax_inclusive is 'Whether the tax of its first payment, whose terms that payment has, is a part of the price.';
comment on column purchases.purchase_date is 'When it was paid for first; from then on it has been told, and what it gives has been given.';
create index purchases_by_customer on purchases (environment_id, customer_id);
create index purchases_by_price on purchases (environment_id, price_id);
create index purchases_by_status on purchases (environment_id, status, id);
create index purchases_by_creation on purchases (environment_id, created_at);
create index purchases_by_subscription on purchases (environment_id, subscription_id) where subscription_id is not null;
create unique index purchases_one_per_invoice on purchases (environment_id, invoice_id) where invoice_id is not null;
-- However often a form is sent, its session buys once. An attempt that failed may be followed by another.
create unique index purchases_one_per_session on purchases (environment_id, checkout_session_id)
  where checkout_session_id is not null and status <> 'failed';
-- Two plans cannot be paid for at once if the customer may have one.
create unique index purchases_one_plan_awaited on purchases (environment_id, customer_id)
  where exclusive and status = 'pending' and invoice_id is null;
create index purchases_to_try_again on purchases (environment_id, customer_id, price_id) where status = 'failed' and invoice_id is null;

-- The add-ons that are bought together with a plan. They hold from the first payment on, like the other terms of the purchase.
create table purchase_add_ons (
  environment_id bigint not null,
  purchase_id text collate "C" not null,
  price_id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  position smallint not null,
  quantity bigint not null,
  primary key (environment_id, purchase_id, price_id),
  foreign key (environment_id, purchase_id) references purchases,
  foreign key (environment_id, price_id) references prices,
  constraint purchase_add_ons_one_at_a_position unique (environment_id, purchase_id, position),
  constraint purchase_add_ons_are_few check (position between 0 and 98),
  constraint purchase_add_ons_quantity check (quantity between 1 and 1000000)
);
create index purchase_add_ons_by_price on purchase_add_ons (environment_id, price_id);

-- The invoice of what is paid once, and its payments. (That of a subscription is named by the purchase.)
alter table invoices
  add column purchase_id text collate "C",
  add foreign key (environment_id, purchase_id) references purchases,
  add constraint invoices_of_purchases check ((type = 'purchase') = (purchase_id is not null)
    and (purchase_id is null or subscription_id is null));
create unique index invoices_one_per_purchase on invoices (environment_id, purchase_id) where purchase_id is not null;
alter table payments
  add column purchase_id text collate "C",
  add column adjustment_id text collate "C",
  add foreign key (environment_id, purchase_id) references purchases,
  add foreign key (environment_id, adjustment_id) references subscription_adjustments,
  -- The first payment of a purchase or of a change of plan comes before its invoice. Without money there is none.
  add constraint payments_with_money_have_invoices check (invoice_id is not null
    or ((purchase_id is null) <> (adjustment_id is null) and status not in ('succeeded', 'refunded')));
comment on column payments.adjustment_id is 'The change of plan that it was to pay before the invoice of that was made.';
create index payments_by_purchase on payments (environment_id, purchase_id, id) where purchase_id is not null;
create unique index payments_one_under_way_per_purchase on payments (environment_id, purchase_id)
  where invoice_id is null and status in ('processing', 'requires_confirmation', 'requires_action');
create index payments_by_adjustment on payments (environment_id, adjustment_id, id) where adjustment_id is not null;
create unique index payments_one_under_way_per_adjustment on payments (environment_id, adjustment_id)
  where invoice_id is null and status in ('processing', 'requires_confirmation', 'requires_action');

-- A period whose first payment failed may begin again, at the same instant too. What is void bills nothing.
drop index invoices_one_per_period;
create unique index invoices_one_per_period on invoices (environment_id, billing_period_id, reason)
  where reason not in ('adjustment', 'usage_threshold') and status <> 'void';

-- A discount is redeemed by a subscription, or by what is paid once.
alter table discount_redemptions
  alter column subscription_id drop not null,
  add column purchase_id text collate "C",
  add foreign key (environment_id, purchase_id) references purchases,
  -- That of an invoice which somebody wrote has neither: the invoice names it.
  add constraint discount_redemptions_one_redeemer check (num_nonnulls(subscription_id, purchase_id) <= 1),
  add constraint discount_redemptions_one_per_purchase unique (environment_id, purchase_id);
