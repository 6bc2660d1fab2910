-- Monthly recurring revenue (MRR). The database notes each change of it in the commit of the change, so no action can forget
-- to. Amounts are fine: they count 10^-12 of a minor unit, so that a twelfth of a price is not rounded to a cent.

-- The MRR of each customer now, and the number of its movements. Its row is the lock under which movements are made.
create table mrr_customers (
  environment_id bigint not null,
  customer_id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  position bigint not null default 0,
  amount numeric(38, 0) not null default 0,
  -- The first and the last movement; null before the first one.
  cohort_at bigint,
  moved_at bigint,
  primary key (environment_id, customer_id),
  foreign key (environment_id, customer_id) references customers,
  constraint mrr_customers_amount check (amount >= 0),
  constraint mrr_customers_moved check ((position = 0) = (cohort_at is null) and (position = 0) = (moved_at is null) and cohort_at <= moved_at)
);

-- The MRR of each price of each subscription now. Nothing without MRR has a row.
create table mrr_amounts (
  environment_id bigint not null,
  subscription_id text collate "C" not null,
  price_id text collate "C" not null,
  customer_id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  currency text not null,
  amount numeric(38, 0) not null,
  primary key (environment_id, subscription_id, price_id),
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, price_id) references prices,
  foreign key (environment_id, customer_id) references mrr_customers,
  constraint mrr_amounts_amount check (amount > 0)
);
create index mrr_amounts_by_customer on mrr_amounts (environment_id, customer_id);

-- A movement of a customer's MRR: a line for each price of each subscription whose MRR has changed in one commit.
create table mrr_movements (
  environment_id bigint not null,
  customer_id text collate "C" not null,
  position bigint not null,
  line integer not null,
  pricing_model_id text collate "C" not null,
  subscription_id text collate "C" not null,
  price_id text collate "C" not null,
  currency text not null,
  type text not null,
  amount numeric(38, 0) not null,
  -- The MRR of the customer after the movement.
  customer_amount numeric(38, 0) not null,
  -- 1 where the customer has MRR from here on, -1 where it has none; on the first line only.
  customers smallint not null,
  -- The customer's first movement.
  cohort_at bigint not null,
  occurred_at bigint not null,
  primary key (environment_id, customer_id, position, line),
  foreign key (environment_id, customer_id) references mrr_customers,
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, price_id) references prices,
  constraint mrr_movements_type check (type in ('new', 'reactivation', 'expansion', 'contraction', 'churn')),
  constraint mrr_movements_sign check (case when type in ('new', 'reactivation') then amount > 0 when type = 'churn' then amount < 0 else amount <> 0 end),
  constraint mrr_movements_customers check (customers = case when line > 1 then 0 when type in ('new', 'reactivation') then 1 when type = 'churn' then -1 else 0 end),
  constraint mrr_movements_after_cohort check (cohort_at <= occurred_at and position > 0 and line > 0 and customer_amount >= 0)
);
create index mrr_movements_by_time on mrr_movements (environment_id, occurred_at)
  include (type, currency, amount, customers, price_id, pricing_model_id, cohort_at);
create index mrr_movements_by_cohort on mrr_movements (environment_id, cohort_at)
  include (occurred_at, currency, amount, customers, pricing_model_id);
create index mrr_movements_by_subscription on mrr_movements (environment_id, subscription_id);

-- Sums of all movements before the end of a month, so that no report reads older ones. Months without a movement have none.
create table mrr_balances (
  environment_id bigint not null,
  until_at bigint not null,
  pricing_model_id text collate "C" not null,
  currency text not null,
  price_id text collate "C" not null,
  type text not null,
  amount numeric(38, 0) not null,
  customers bigint not null,
  primary key (environment_id, until_at, pricing_model_id, currency, price_id, type),
  foreign key (environment_id) references environments,
  foreign key (environment_id, price_id) references prices
);

-- Sums of movements for the report on retention, whose points are intervals in UTC. A row with a cohort counts the customers whose
-- first movement was in the interval that begins with `cohort_at`, in the interval that begins with `at`. A row without one counts,
-- on the day `at`, the customers who had MRR when the interval of that day began: `lost` is the part that makes them less than they
-- were then. Nobody updates a row, so no commit waits for another one. A job merges them (0021).
create table mrr_retention (
  environment_id bigint not null,
  id bigint generated always as identity,
  pricing_model_id text collate "C" not null,
  currency text not null,
  interval_unit text not null,
  cohort_at bigint,
  at bigint not null,
  amount numeric(38, 0) not null,
  lost numeric(38, 0) not null,
  customers bigint not null,
  -- The customers of the cohort, in its own interval.
  made bigint not null,
  is_merged boolean not null default false,
  primary key (environment_id, interval_unit, at, id),
  foreign key (environment_id) references environments,
  constraint mrr_retention_counts check (case when cohort_at is null then interval_unit in ('day', 'week', 'month', 'quarter', 'year') and customers = 0 and made = 0
    else interval_unit in ('week', 'month') and lost = 0 and cohort_at <= at and (made = 0 or cohort_at = at) end)
);
create index mrr_retention_to_merge on mrr_retention (environment_id, interval_unit, at) where not is_merged;

alter table subscriptions add column discounted boolean not null default false;
comment on column subscriptions.discounted is 'True once it has a discount, so its renewals may change its MRR.';

-- The number of minor units of which every billed amount is a multiple. src/kernel/currency.ts has the same list.
create function charged_step(currency text) returns numeric language sql immutable
  return case when currency in ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') then 10 when currency = 'MGA' then 100 else 1 end;

-- A month as a part of an interval, as numerator and denominator. A month has 30.4375 days, the mean of four years.
create function months_of(interval_unit text, interval_count bigint) returns table (numerator numeric, denominator numeric)
  language sql immutable as $$
  select m.numerator, m.denominator * interval_count
    from (values ('month', 1, 1), ('year', 1, 12), ('week', 487, 112), ('day', 487, 16)) m (unit, numerator, denominator)
   where m.unit = interval_unit
$$;

-- The amounts of the items of a subscription after its lasting discounts: those on the invoice of its period, or those that its
-- next one will have. Each lowers what the ones before it have left, and each of its items by the same part.
create function mrr_discounted(of_environment bigint, of_subscription text, period_start bigint, step numeric,
                               price_ids text[], product_ids text[], amounts numeric[])
  returns table (price_id text, amount numeric) language plpgsql stable set search_path from current as $$
declare
  d record;
  base numeric;
  off numeric;
  -- Of this scale, so that no digit that counts is lost by a division.
  left_of numeric[] := array(select round(a, 40) from unnest(amounts) with ordinality as given (a, n) order by n);
begin
  for d in
    select r.amount_type, r.amount, r.product_ids
      from discount_redemptions r
      left join billing_periods b on b.environment_id = of_environment and b.subscription_id = of_subscription
       and b.start_at = period_start and b.status <> 'canceled'
      left join lateral (
        select bool_or(v.carries) as discounted
          from (select i.reason, exists (select from invoice_discounts o
                                          where o.environment_id = i.environment_id and o.invoice_id = i.id
                                            and o.discount_redemption_id = r.id) as carries
                  from invoices i
                 where i.environment_id = of_environment and i.subscription_id = of_subscription and i.billing_period_id = b.id
                   and i.status <> 'void') v
         where v.carries or v.reason in ('subscription_start', 'renewal')
      ) billed on true
     where r.environment_id = of_environment and r.subscription_id = of_subscription
       and (r.duration = 'forever' or r.number_of_payments > 1) and coalesce(billed.discounted, not r.fully_redeemed and r.removed_at is null)
     order by r.position, r.id
  loop
    select sum(l) into base from unnest(left_of, product_ids) as item (l, product_id)
     where d.product_ids is null or item.product_id = any (d.product_ids);
    continue when coalesce(base, 0) <= 0;
    off := case d.amount_type when 'percent' then round(base * least(d.amount, 100) / (100 * step)) * step else least(d.amount, base) end;
    left_of := array(select case when d.product_ids is null or item.product_id = any (d.product_ids) then l * (base - off) / base else l end
                       from unnest(left_of, product_ids) with ordinality as item (l, product_id, n) order by n);
  end loop;
  return query select * from unnest(price_ids, left_of);
end $$;

-- The MRR of a customer by subscription and price, from the state of its subscriptions alone: docs/analytics.md has the rules.
create function mrr_of_customer(of_environment bigint, of_customer text)
  returns table (subscription_id text, price_id text, pricing_model_id text, currency text, amount numeric)
  language plpgsql stable set search_path from current as $$
#variable_conflict use_column
begin
  return query
  with item as (
    select s.id as subscription_id, i.price_id, p.product_id, s.pricing_model_id, e.currency, s.interval_unit, s.interval_count,
           s.discounted, s.current_billing_period_start, step.step, cost.amount
      -- Without statistics, PostgreSQL would look at all subscriptions of a status, or at all items of a price.
      from (select * from subscriptions where environment_id = of_environment and customer_id = of_customer offset 0) s
      join environments e on e.id = s.environment_id
     cross join lateral (select charged_step(e.currency) as step) step
     cross join lateral (select * from subscription_items
                          where environment_id = s.environment_id and subscription_id = s.id and expired_at is null offset 0) i
      join prices p on p.environment_id = i.environment_id and p.id = i.price_id and p.type = 'subscription'
     cross join lateral (select case when i.pricing is null then i.unit_price * i.quantity
                                else price_of_units(i.pricing, i.quantity, step.step) end as amount) cost
     where s.status in ('active', 'past_due', 'cancellation_scheduled') and s.arrears <> 'unpaid'
       and s.renews and not s.do_not_charge
       and s.current_billing_period_start < s.current_billing_period_end
       and (s.trial_end is null or s.current_billing_period_end > s.trial_end)
       and cost.amount > 0
  ), priced as (
    select subscription_id, price_id, pricing_model_id, currency, interval_unit, interval_count, amount from item where not discounted
     union all
    select of.subscription_id, off.price_id, of.pricing_model_id, of.currency, of.interval_unit, of.interval_count, off.amount
      from (select subscription_id, pricing_model_id, currency, interval_unit, interval_count, current_billing_period_start, step,
                   array_agg(price_id) as price_ids, array_agg(product_id) as product_ids, array_agg(amount) as amounts
              from item where discounted
             group by subscription_id, pricing_model_id, currency, interval_unit, interval_count, current_billing_period_start, step) of
     cross join lateral mrr_discounted(of_environment, of.subscription_id, of.current_billing_period_start, of.step,
                                       of.price_ids, of.product_ids, of.amounts) off
  ), monthly as (
    select p.subscription_id, p.price_id, p.pricing_model_id, p.currency,
           round(sum(p.amount) * m.numerator * 1000000000000 / m.denominator) as amount
      from priced p
     cross join lateral months_of(p.interval_unit, p.interval_count) m
     group by p.subscription_id, p.price_id, p.pricing_model_id, p.currency, m.numerator, m.denominator
  )
  select * from monthly where monthly.amount > 0;
end $$;

-- What differs between the noted MRR of a customer and that of its state.
create function mrr_changes(of_environment bigint, of_customer text)
  returns table (subscription_id text, price_id text, pricing_model_id text, currency text, before numeric, after numeric)
  language plpgsql stable set search_path from current as $$
#variable_conflict use_column
begin
  return query
  select subscription_id, price_id, coalesce(now.pricing_model_id, was.pricing_model_id), currency,
         coalesce(was.amount, 0), coalesce(now.amount, 0)
    from (select * from mrr_amounts where environment_id = of_environment and customer_id = of_customer) was
    full join mrr_of_customer(of_environment, of_customer) now using (subscription_id, price_id, currency)
   where now.amount is distinct from was.amount;
end $$;

create type mrr_change as (
  subscription_id text, price_id text, pricing_model_id text, currency text, before numeric, after numeric
);

-- The start of the interval of an instant, in UTC. Weeks begin on Mondays.
create function interval_start(interval_unit text, at bigint) returns bigint language sql immutable
  return (extract(epoch from date_trunc(interval_unit, timestamp 'epoch' + at * interval '1 millisecond')) * 1000)::bigint;

-- The MRR of a customer before an instant.
create function mrr_before(of_environment bigint, of_customer text, at bigint) returns numeric
  language sql stable set search_path from current as $$
  select coalesce((select m.customer_amount from mrr_movements m
                    where m.environment_id = of_environment and m.customer_id = of_customer and m.occurred_at < at
                    order by m.position desc limit 1), 0)
$$;

-- Writes a movement if the MRR of a customer is another one. It counts for the customer, so that a subscription that replaces
-- another one in the same commit is an expansion or a contraction. Time never runs back within a customer, and nothing
-- moves in a month whose balance was taken.
create function note_mrr(of_environment bigint, of_customer text, at bigint) returns void language plpgsql set search_path from current as $$
declare
  was mrr_customers;
  moved bigint;
  changes mrr_change[];
  change numeric;
  type text;
  gained integer;
  amounts numeric[];
begin
  if not exists (select from mrr_changes(of_environment, of_customer)) then
    return;
  end if;
  insert into mrr_customers (environment_id, customer_id, pricing_model_id)
  select environment_id, id, pricing_model_id from customers where environment_id = of_environment and id = of_customer
  on conflict do nothing;
  select * into was from mrr_customers where environment_id = of_environment and customer_id = of_customer for update;
  perform pg_advisory_xact_lock_shared(7006, hashtext(current_schema()) # of_environment::integer);
  moved := greatest(at, was.moved_at, (select max(until_at) from mrr_balances where environment_id = of_environment));
  changes := array(select row(d.*)::mrr_change from mrr_changes(of_environment, of_customer) d order by d.subscription_id, d.price_id);
  -- Nothing is left where another transaction has noted it while this one waited.
  if cardinality(changes) = 0 then
    return;
  end if;
  change := (select sum(c.after - c.before) from unnest(changes) c);
  type := case when was.position = 0 then 'new' when was.amount = 0 then 'reactivation' when was.amount + change = 0 then 'churn'
               when change < 0 then 'contraction' else 'expansion' end;
  gained := case when type in ('new', 'reactivation') then 1 when type = 'churn' then -1 else 0 end;
  -- The MRR at the beginning of each interval, before the movement counts.
  amounts := array(
    select case when was.moved_at < interval_start(u.interval_unit, moved) then was.amount
                else mrr_before(of_environment, of_customer, interval_start(u.interval_unit, moved)) end
      from unnest(array['day', 'week', 'month', 'quarter', 'year']) with ordinality u (interval_unit, n) order by u.n);
  insert into mrr_movements (environment_id, customer_id, position, line, pricing_model_id, subscription_id, price_id, currency, type,
         amount, customer_amount, customers, cohort_at, occurred_at)
  select of_environment, of_customer, was.position + 1, c.line, c.pricing_model_id, c.subscription_id, c.price_id, c.currency, type,
         c.after - c.before, was.amount + change, case c.line when 1 then gained else 0 end, coalesce(was.cohort_at, moved), moved
    from one_row, unnest(changes) with ordinality as c (subscription_id, price_id, pricing_model_id, currency, before, after, line);
  delete from mrr_amounts a using unnest(changes) c
   where c.after = 0 and a.environment_id = of_environment and a.subscription_id = c.subscription_id and a.price_id = c.price_id;
  insert into mrr_amounts as a (environment_id, subscription_id, price_id, customer_id, pricing_model_id, currency, amount)
  select of_environment, c.subscription_id, c.price_id, of_customer, c.pricing_model_id, c.currency, c.after
    from one_row, unnest(changes) c where c.after > 0
  on conflict (environment_id, subscription_id, price_id) do update set amount = excluded.amount;
  insert into mrr_retention (environment_id, pricing_model_id, currency, interval_unit, cohort_at, at, amount, lost, customers, made)
  select of_environment, was.pricing_model_id, changes[1].currency, part.*
    from one_row cross join lateral (
       select u.interval_unit, null::bigint as cohort_at, interval_start('day', moved) as at, change as amount,
              least(was.amount + change - u.amount, 0) - least(was.amount - u.amount, 0) as lost, 0 as customers, 0 as made
         from unnest(array['day', 'week', 'month', 'quarter', 'year'], amounts) u (interval_unit, amount)
        where u.amount > 0 and change <> 0
        union all
       select u.interval_unit, interval_start(u.interval_unit, coalesce(was.cohort_at, moved)), interval_start(u.interval_unit, moved), change, 0,
              gained, (was.position = 0)::integer
         from unnest(array['week', 'month']) u (interval_unit)
     ) part;
  update mrr_customers m
     set position = m.position + 1, amount = m.amount + change, cohort_at = coalesce(m.cohort_at, moved), moved_at = moved
   where m.environment_id = of_environment and m.customer_id = of_customer;
end $$;

-- The owner runs it at the commit, when all that the transaction does is done. The row says which customer. Work that is done
-- late moves at the instant at which it fell due, but never before its subscription was made.
create function note_mrr_of_row() returns trigger language plpgsql security definer set search_path from current as $$
declare
  of_subscription text;
  due bigint;
begin
  if is_moving() then
    return null;
  end if;
  if table_of_trigger(tg_table_name) = 'subscriptions' then
    of_subscription := new.id;
    due := case when new.status = 'canceled' and old.status <> 'canceled' then new.canceled_at
                when new.status <> 'paused' and old.status = 'paused' then old.resumes_at
                when new.current_billing_period_start is distinct from old.current_billing_period_start then new.current_billing_period_start end;
  else
    of_subscription := new.subscription_id;
    if table_of_trigger(tg_table_name) = 'subscription_items' then
      due := coalesce(new.expired_at, new.effective_from);
    elsif table_of_trigger(tg_table_name) = 'invoices' and tg_op = 'INSERT' then
      due := new.invoice_date;
    end if;
  end if;
  perform note_mrr(s.environment_id, s.customer_id, least(new.updated_at, greatest(coalesce(due, new.updated_at), s.created_at)))
     from subscriptions s where s.environment_id = new.environment_id and s.id = of_subscription;
  return null;
end $$;

-- A renewal alone changes nothing, and fires nothing: only the first period after a trial or a wait, and a discounted one.
create constraint trigger subscriptions_mrr after update on subscriptions deferrable initially deferred for each row
  when ((old.status, old.arrears, old.renews, old.do_not_charge, old.interval_unit, old.interval_count, old.customer_id,
         old.discounted, old.trial_end, old.current_billing_period_end <= old.trial_end,
         old.current_billing_period_start < old.current_billing_period_end)
    is distinct from (new.status, new.arrears, new.renews, new.do_not_charge, new.interval_unit, new.interval_count, new.customer_id,
         new.discounted, new.trial_end, new.current_billing_period_end <= new.trial_end,
         new.current_billing_period_start < new.current_billing_period_end)
    or (new.discounted and old.current_billing_period_start is distinct from new.current_billing_period_start))
  execute function note_mrr_of_row();
create constraint trigger subscription_items_mrr_made after insert on subscription_items deferrable initially deferred for each row
  when (new.expired_at is null and new.quantity > 0 and (new.unit_price > 0 or new.pricing is not null))
  execute function note_mrr_of_row();
create constraint trigger subscription_items_mrr after update on subscription_items deferrable initially deferred for each row
  when ((old.price_id, old.unit_price, old.pricing, old.quantity, old.expired_at is null)
    is distinct from (new.price_id, new.unit_price, new.pricing, new.quantity, new.expired_at is null))
  execute function note_mrr_of_row();
create constraint trigger invoices_mrr_made after insert on invoices deferrable initially deferred for each row
  when (new.discount_count > 0) execute function note_mrr_of_row();
create constraint trigger invoices_mrr after update on invoices deferrable initially deferred for each row
  when (new.discount_count > 0 and (old.status = 'void') <> (new.status = 'void'))
  execute function note_mrr_of_row();
create constraint trigger discount_redemptions_mrr after update on discount_redemptions deferrable initially deferred for each row
  when (old.fully_redeemed <> new.fully_redeemed or old.removed_at is distinct from new.removed_at) execute function note_mrr_of_row();
create constraint trigger discount_redemptions_mrr_made after insert on discount_redemptions deferrable initially deferred for each row
  when (new.subscription_id is not null) execute function note_mrr_of_row();

create function note_discount() returns trigger language plpgsql set search_path from current as $$
begin
  update subscriptions set discounted = true, updated_at = greatest(updated_at, new.updated_at)
   where environment_id = new.environment_id and id = new.subscription_id and not discounted;
  return null;
end $$;
create trigger discount_redemptions_noted after insert or update of subscription_id on discount_redemptions for each row
  when (new.subscription_id is not null) execute function note_discount();

-- The first instant of the next month, in UTC.
create function month_after(at bigint) returns bigint language sql immutable
  return (extract(epoch from date_trunc('month', timestamp 'epoch' + at * interval '1 millisecond') + interval '1 month') * 1000)::bigint;

-- Takes the balances of months that have been over for a day, which is left to work that is done late. They are those of one
-- environment at a time, at most `at_most`, and their number is returned. A transaction that is still open is waited for, and
-- a later one moves in the next month, so a balance stays as it is.
create function take_mrr_balances(at_most integer) returns integer
  language plpgsql volatile security definer set search_path from current as $$
declare
  due bigint;
  over record;
  taken integer := 0;
begin
  -- A move of slots waits for it (0027).
  perform pg_advisory_xact_lock_shared(7010, hashtext(current_schema()));
  select e.id into due
    from environments e
   where month_after((select m.occurred_at from mrr_movements m
                       where m.environment_id = e.id
                         and m.occurred_at >= coalesce((select max(b.until_at) from mrr_balances b where b.environment_id = e.id), m.occurred_at)
                       order by m.occurred_at limit 1))
         <= coalesce(e.clock_now, (extract(epoch from clock_timestamp()) * 1000)::bigint) - 86400000
   order by e.id limit 1;
  if due is null then
    return 0;
  end if;
  perform pg_advisory_xact_lock(7006, hashtext(current_schema()) # due::integer);
  while taken < at_most loop
    select last.until_at as last_at, month_after(first.occurred_at) as until_at into over
      from environments e
     cross join lateral (select max(b.until_at) as until_at from mrr_balances b where b.environment_id = due) last
     cross join lateral (select m.occurred_at from mrr_movements m
                          where m.environment_id = due and (last.until_at is null or m.occurred_at >= last.until_at)
                          order by m.occurred_at limit 1) first
     where e.id = due and month_after(first.occurred_at) <= coalesce(e.clock_now, (extract(epoch from clock_timestamp()) * 1000)::bigint) - 86400000;
    exit when not found;
    insert into mrr_balances (environment_id, until_at, pricing_model_id, currency, price_id, type, amount, customers)
    select due, over.until_at, pricing_model_id, currency, price_id, type, sum(amount), sum(customers)
      from (select pricing_model_id, currency, price_id, type, amount, customers from mrr_balances
             where environment_id = due and until_at = over.last_at
             union all
            select pricing_model_id, currency, price_id, type, amount, customers from mrr_movements
             where environment_id = due and (over.last_at is null or occurred_at >= over.last_at) and occurred_at < over.until_at) part
     group by pricing_model_id, currency, price_id, type;
    taken := taken + 1;
  end loop;
  return taken;
end $$;
