-- Automatic top-ups: a purchase of credits when the balance of a customer falls below a line.

create table auto_top_ups (
  environment_id bigint not null,
  customer_id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  price_id text collate "C" not null,
  -- The usage meter or credit pool whose credits the product of the price gives. Units are those of the ledger.
  usage_meter_id text collate "C" not null,
  below numeric(38, 0) not null,
  -- The balance that a purchase reaches, or the quantity that it buys.
  up_to numeric(38, 0),
  quantity bigint,
  maximum_amount_per_month numeric(38, 0) not null,
  -- Attempts that failed since the last one that brought money.
  failures smallint not null default 0,
  -- Null: it goes on.
  stopped_at bigint,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, customer_id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, price_id) references prices,
  foreign key (environment_id, usage_meter_id) references credit_subjects,
  constraint auto_top_ups_size check (num_nonnulls(up_to, quantity) = 1 and up_to >= below and quantity between 1 and 1000000),
  constraint auto_top_ups_amounts check (below > 0 and maximum_amount_per_month > 0),
  constraint auto_top_ups_failures check (failures between 0 and 3 and (failures < 3 or stopped_at is not null))
);
create index auto_top_ups_by_price on auto_top_ups (environment_id, price_id);

-- The purchases that top-ups made. Another attempt at a purchase that failed is the same row.
create table auto_top_up_purchases (
  environment_id bigint not null,
  purchase_id text collate "C" not null,
  customer_id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  usage_meter_id text collate "C" not null,
  amount numeric(38, 0) not null,
  month_start bigint not null,
  status text not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, purchase_id),
  foreign key (environment_id, purchase_id) references purchases,
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, usage_meter_id) references credit_subjects,
  constraint auto_top_up_purchases_status check (status in ('open', 'paid', 'failed')),
  constraint auto_top_up_purchases_amount check (amount >= 0)
);
-- However many consumers cross the line at once, and however many workers look: one purchase is under way.
create unique index auto_top_up_purchases_one_open on auto_top_up_purchases (environment_id, customer_id) where status = 'open';
create index auto_top_up_purchases_by_month on auto_top_up_purchases (environment_id, customer_id, month_start);

-- The line of the top-up that the account has. Null: none.
alter table ledger_accounts add column top_up_below numeric(38, 0);

create function set_top_up_line() returns trigger
  language plpgsql security definer set search_path from current as $$
begin
  if is_moving() then
    return new;
  end if;
  select t.below into new.top_up_below
    from auto_top_ups t
   where t.environment_id = new.environment_id and t.usage_meter_id = new.usage_meter_id and t.stopped_at is null
     and t.customer_id = coalesce(new.customer_id, (select s.customer_id from subscriptions s
                                                     where s.environment_id = new.environment_id and s.id = new.subscription_id));
  return new;
end $$;
create trigger ledger_accounts_top_up_line before insert on ledger_accounts
  for each row when (new.subscription_id is not null or starts_with(new.usage_meter_id, 'credit_pool_'))
  execute function set_top_up_line();

-- Notes, in the commit that crosses it, that a balance fell below its line. Credits that have ended, and whose end is not booked
-- yet, count with the first use after it. A take-back or a refund is no reason to buy again.
create function note_top_up() returns trigger
  language plpgsql security definer set search_path from current as $$
declare
  due_at bigint;
  balance numeric;
  account ledger_accounts := new;
begin
  select coalesce(e.clock_now, (extract(epoch from clock_timestamp()) * 1000)::bigint) into due_at
    from environments e where e.id = new.environment_id;
  balance := balance_of_account(account, due_at);
  if balance >= new.top_up_below
     or balance + ended_credits(account, due_at) + old.available - old.held - new.available + new.held < new.top_up_below then
    return null;
  end if;
  insert into auto_top_up_checks (environment_id, customer_id, due_at)
  values (new.environment_id,
          coalesce(new.customer_id, (select s.customer_id from subscriptions s
                                      where s.environment_id = new.environment_id and s.id = new.subscription_id)), due_at)
  on conflict do nothing;
  perform enqueue_job('do_due_work', json_build_object('environmentId', new.environment_id), 'do_due_work:' || new.environment_id, null, 5);
  return null;
end $$;
create trigger ledger_accounts_note_top_up after update on ledger_accounts for each row
  when (new.top_up_below is not null and new.taken_back = old.taken_back and new.available - new.held < old.available - old.held)
  execute function note_top_up();
