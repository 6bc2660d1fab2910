-- Usage is recorded by one statement for a whole batch of requests: it stores the events, covers them with credits, and books
-- ledger entries, overages and roll-ups. `record_usage` is called outside of a transaction and is one by itself; `book_usage` is
-- called in a transaction that has stored the events.
--
-- Usages are passed as parallel arrays, one element for each (account, price), in the order in which accounts are locked:
--   u_account   the ledger account
--   u_revision  the revision of its subscription that the caller knows
--   u_price, u_period, u_series   the price, the billing period (or null) and the series of the events
--   u_entry     the id of the ledger entry to write
--   u_units     the units to book, 1 or more
--   u_hour_units, u_hour_events   the part of them whose usage date is in the present hour
--   u_upto      the units of the account in the batch, up to and with these
--   u_of_account   at the first usage of an account all its units in the batch; null at the others
--   u_threshold the low-balance threshold of the usage meter, or null
--   u_events, u_own_amount   at a price with an amount for each event: how many they are, and the sum of their own prices; else 0
-- Usage that a credit pool may pay for is also passed in parts, in the order in which its events came. Each is of one rate:
--   d_usage   the position of its usage
--   d_units   its units
--   d_pool, d_cost   the credit pool that may pay, and the smallest units of it that a unit costs; or null. A pool without d_cost
--                    draws at the price
--   d_threshold   the low-balance threshold of the pool, in smallest units, or null
--   d_entry, d_pool_entry   the ids of the ledger entries to write, on the account and on that of the pool
-- All usage of an account with such a part is in parts. Without them, no credit pool is looked at. Where a pool draws at the price,
-- the caller has locked all accounts, and decided for each part:
--   d_pooled, d_amount   the units that its pool pays for, and at a price the smallest units that they cost
-- Else these arrays are null.
-- Additions to closed hours are r_series, r_hour, r_units and r_events. Subscriptions with a billing threshold are t_subscription.
--
-- `record_usage` and `book_usage` set how everything in them is planned: once, and by indexes. An array may hold one element or ten
-- thousand, and a plan that was made while a table was empty is used after it has grown.

-- A usage that is booked on its account, and what the rows about it need.
create type moved_usage as (
  "position" bigint, account text, pricing_model_id text, usage_meter_id text, credit text, at bigint, available_after numeric,
  price text, period text, series bigint, entry text, units numeric, hour_units numeric, hour_events bigint, events numeric,
  own_amount numeric, has_rollup boolean
);

-- Books the usages whose accounts are as usual: same subscription revision, a roll-up of this hour open, and either one credit that
-- covers all of it or no credit at all. An account is written once. What the first usage of an account does not add to the open
-- roll-up is a row of its own. The row itself decides, and PostgreSQL looks at it again after a wait for its lock.
-- Returns the positions of the usages that it booked.
create function book_simple_usage(p_environment bigint, p_now bigint, p_hour bigint, p_transaction text,
  u_account text[], u_revision bigint[], u_price text[], u_period text[], u_series bigint[], u_entry text[], u_units numeric[],
  u_hour_units numeric[], u_hour_events bigint[], u_upto numeric[], u_of_account numeric[],
  u_threshold numeric[], u_events numeric[], u_own_amount numeric[]) returns bigint[]
  language plpgsql volatile as $$
declare
  moved moved_usage[];
  has_rollups boolean;
  has_overages boolean;
begin
  with usage as materialized (
    select * from unnest(u_account, u_revision, u_price, u_period, u_series, u_entry, u_units, u_hour_units, u_hour_events, u_upto,
                         u_of_account, u_threshold, u_events, u_own_amount)
                    with ordinality as u (account, revision, price, period, series, entry, units, hour_units, hour_events, upto,
                                          of_account, threshold, events, own_amount, position)
  ), account as (
    update ledger_accounts a
       set used = a.used + u.of_account,
           covered = a.covered + case when a.pending_credit_id is null then 0 else u.of_account end,
           open_units = a.open_units + case when a.open_series_id = u.series then u.hour_units else 0 end,
           open_events = a.open_events + case when a.open_series_id = u.series then u.hour_events else 0 end,
           updated_at = greatest(a.updated_at, p_now)
      from usage u
     where a.environment_id = p_environment and a.id = u.account and u.of_account is not null
       and a.subscription_revision = u.revision
       and (u.hour_events = 0 or a.open_hour = p_hour)
       and case when a.pending_credit_id is null
                -- No credit has a rest, so none covers anything.
                then a.granted = a.covered + a.expired + a.taken_back
                -- The credit that was used last is the first in order as long as no credit was granted or has ended since.
                else a.covered - a.applied + u.of_account < a.pending_limit and (a.credits_end_at is null or a.credits_end_at > p_now) end
       -- The balance stays at or above the threshold, or was below it before.
       and (u.threshold is null or a.available - a.held - u.of_account >= u.threshold or (a.held = 0 and a.available < u.threshold))
    returning a.id, a.pricing_model_id, a.usage_meter_id, a.pending_credit_id, a.updated_at, a.available + u.of_account as available_before,
              case when a.open_series_id = u.series then u.position end as opened_by
  )
  select array_agg(row(u.position, a.id, a.pricing_model_id, a.usage_meter_id, a.pending_credit_id, a.updated_at, a.available_before - u.upto,
                       u.price, u.period, u.series, u.entry, u.units, u.hour_units, u.hour_events, u.events, u.own_amount,
                       u.hour_events > 0 and a.opened_by is distinct from u.position)::moved_usage),
         bool_or(u.hour_events > 0 and a.opened_by is distinct from u.position), bool_or(a.pending_credit_id is null or u.events > 0)
    into moved, has_rollups, has_overages
    from account a join usage u on u.account = a.id;
  if moved is null then
    return null;
  end if;
  if has_rollups then
    insert into usage_rollups (environment_id, series_id, hour, units, events)
    select p_environment, m.series, p_hour, m.hour_units, m.hour_events
      from one_row, unnest(moved) m where m.has_rollup
     order by m.series
    on conflict (environment_id, series_id, hour)
    do update set units = usage_rollups.units + excluded.units, events = usage_rollups.events + excluded.events, is_summed = false;
    insert into usage_hours (environment_id, pricing_model_id, usage_meter_id, hour, units, events)
    select p_environment, m.pricing_model_id, m.usage_meter_id, p_hour, sum(m.hour_units), sum(m.hour_events)
      from one_row, unnest(moved) m where m.has_rollup
     group by m.pricing_model_id, m.usage_meter_id;
  end if;
  insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side, credit_side,
         amount, price_id, billing_period_id, applied_credit_ids, applied_amounts, available_after, created_at)
  select p_environment, m.entry, m.pricing_model_id, p_transaction, m.account, 'available', 'used', m.units, m.price, m.period,
         case when m.credit is not null then array[m.credit] end, case when m.credit is not null then array[m.units] end,
         m.available_after, m.at
    from one_row, unnest(moved) m;
  if has_overages then
    insert into usage_overages (environment_id, ledger_account_id, price_id, uncovered, events, own_amount)
    select p_environment, m.account, m.price, case when m.credit is null then m.units else 0 end, m.events, m.own_amount
      from one_row, unnest(moved) m where m.credit is null or m.events > 0
    on conflict (environment_id, ledger_account_id, price_id)
    do update set uncovered = usage_overages.uncovered + excluded.uncovered, events = usage_overages.events + excluded.events,
                  own_amount = usage_overages.own_amount + excluded.own_amount;
  end if;
  return array(select m.position from unnest(moved) m);
end $$;

-- The usages that `is_booked` does not name, with their accounts, which are locked, and the credits that cover them. Credits
-- cover usage as `applyCredits` in src/rating/credits.ts says. Laid end to end in their order, the credits of an account are a
-- line and so are its usages: a credit covers a usage as far as the two overlap.
create function cover_usage(p_environment bigint, p_now bigint, is_booked boolean[],
  u_account text[], u_price text[], u_period text[], u_series bigint[], u_entry text[], u_units numeric[],
  u_hour_units numeric[], u_hour_events bigint[],
  u_threshold numeric[], u_events numeric[], u_own_amount numeric[])
  returns table (account ledger_accounts, price text, period text, series bigint, entry text, units numeric, hour_units numeric,
    hour_events bigint, threshold numeric, events numeric, own_amount numeric, "position" bigint, upto numeric, credits text[], amounts numeric[], covered numeric,
    first_rest numeric)
  language plpgsql volatile as $$
begin
  return query
  with usage as (
    select row(a.*)::ledger_accounts as account, u.*, sum(u.units) over (partition by u.account_id order by u.position) as upto
      from unnest(u_account, u_price, u_period, u_series, u_entry, u_units, u_hour_units, u_hour_events, u_threshold,
                  u_events, u_own_amount, is_booked)
             with ordinality
             as u (account_id, price, period, series, entry, units, hour_units, hour_events, threshold, events, own_amount, is_booked,
                   position)
      join ledger_accounts a on a.environment_id = p_environment and a.id = u.account_id
     where not u.is_booked
  )
  select usage.account, usage.price, usage.period, usage.series, usage.entry, usage.units, usage.hour_units, usage.hour_events,
         usage.threshold, usage.events, usage.own_amount, usage.position, usage.upto, cover.credits, cover.amounts, coalesce(cover.covered, 0), cover.first_rest
    from usage cross join lateral (
      select array_agg(part.id order by part.upto) as credits, array_agg(part.amount order by part.upto) as amounts,
             sum(part.amount) as covered, (array_agg(part.rest order by part.upto))[1] as first_rest
        from (
          select line.id, line.rest, line.upto,
                 least(usage.upto, line.upto) - greatest(usage.upto - usage.units, line.upto - line.rest) as amount
            from (
              select credit.id, credit.rest,
                     sum(credit.rest) over (order by credit.priority, credit.expires_at nulls last, credit.is_paid, credit.id) as upto
                from (
                  select c.id, c.priority, c.expires_at, c.source = 'purchase' as is_paid,
                         c.issued - c.applied - c.expired - c.taken_back
                           - case when c.id = (usage.account).pending_credit_id
                                  then (usage.account).covered - (usage.account).applied else 0 end as rest
                    from usage_credits c
                   where c.environment_id = p_environment and c.ledger_account_id = (usage.account).id
                     and not c.spent and (c.expires_at is null or c.expires_at > p_now)) credit
            ) line
           where line.rest > 0 and line.upto > usage.upto - usage.units and line.upto - line.rest < usage.upto
        ) part
    ) cover;
end $$;

-- What is left of the credits of a locked account that have ended, and whose end is not booked.
create function ended_credits(account ledger_accounts, p_now bigint) returns numeric
  language plpgsql stable as $$
begin
  return coalesce((select sum(c.issued - c.applied - c.expired - c.taken_back
                            - case when c.id = account.pending_credit_id then account.covered - account.applied else 0 end)
                     from usage_credits c
                    where c.environment_id = account.environment_id and c.ledger_account_id = account.id
                      and not c.spent and c.expires_at <= p_now), 0);
end $$;

-- What open holds of an account set aside whose end has come, and is not booked.
create function ended_holds(p_environment bigint, p_account text, p_now bigint) returns numeric
  language plpgsql stable as $$
begin
  return coalesce((select sum(h.amount - h.pooled) from usage_holds h
                    where h.environment_id = p_environment and h.ledger_account_id = p_account
                      and h.status = 'open' and h.expires_at <= p_now), 0)
       + coalesce((select sum(h.pool_amount) from usage_holds h
                    where h.environment_id = p_environment and h.pool_account_id = p_account
                      and h.status = 'open' and h.expires_at <= p_now), 0);
end $$;

-- The balance of a locked account: credits that have ended count no more, and neither do holds that have ended.
create function balance_of_account(account ledger_accounts, p_now bigint) returns numeric
  language plpgsql stable as $$
begin
  return account.available - account.held
    + case when account.held = 0 then 0 else ended_holds(account.environment_id, account.id, p_now) end
    - ended_credits(account, p_now);
end $$;

-- A usage beside the credits that cover it, and what becomes of its account.
create type placed_usage as (
  account ledger_accounts, price text, period text, series bigint, entry text, units numeric, hour_units numeric, hour_events bigint,
  threshold numeric, events numeric, own_amount numeric, "position" bigint, upto numeric, credits text[], amounts numeric[],
  covered numeric, account_id text, is_first boolean, account_units numeric, account_covered numeric, one_credit text, one_rest numeric,
  opens_hour boolean, keeps_drawing boolean, is_open boolean, open_units numeric, open_events numeric, open_series bigint
);

-- What is added to a roll-up that is not open on its account.
create type closed_rollup as (
  pricing_model_id text, usage_meter_id text, series bigint, hour bigint, units numeric, events numeric
);

-- Books any usage that `is_booked` does not name, on accounts that it locks first: what is read after the locks is final.
-- Accounts that come earlier in the order may be locked already, so two batches may wait for each other: a wait is short, and
-- fails before PostgreSQL looks for deadlocks.
-- Returns the accounts whose balance fell below their threshold.
create function book_other_usage(p_environment bigint, p_now bigint, p_hour bigint, p_transaction text, is_booked boolean[],
  u_account text[], u_revision bigint[], u_price text[], u_period text[], u_series bigint[], u_entry text[], u_units numeric[],
  u_hour_units numeric[], u_hour_events bigint[],
  u_threshold numeric[], u_events numeric[], u_own_amount numeric[]) returns text[]
  language plpgsql volatile set lock_timeout = '100ms' as $$
declare
  placed placed_usage[];
  closed closed_rollup[];
  fallen text[];
begin
  perform from ledger_accounts a
    where a.environment_id = p_environment
      and a.id = any (select u.account from unnest(u_account, is_booked) as u (account, is_booked) where not u.is_booked)
    order by a.subscription_id, a.usage_meter_id for no key update;
  if exists (
    select from unnest(u_account, u_revision, is_booked) as u (account, revision, is_booked)
      left join ledger_accounts a on a.environment_id = p_environment and a.id = u.account
     where not u.is_booked and a.subscription_revision is distinct from u.revision)
  then
    raise serialization_failure using message = 'a subscription has changed';
  end if;

  with covered as materialized (
    select * from cover_usage(p_environment, p_now, is_booked, u_account, u_price, u_period, u_series, u_entry, u_units,
                              u_hour_units, u_hour_events, u_threshold, u_events, u_own_amount)
  ), seen as (
    select c.*, (c.account).id as account_id,
           row_number() over of_account = 1 as is_first,
           sum(c.units) over of_account_whole as account_units,
           sum(c.covered) over of_account_whole as account_covered,
           -- One credit covers all that is covered on the account.
           max(cardinality(c.credits)) over of_account_whole = 1
             and min(c.credits[1]) over of_account_whole = max(c.credits[1]) over of_account_whole as has_one_credit,
           min(c.credits[1]) over of_account_whole as one_credit,
           max(c.first_rest) over of_account_whole as one_rest,
           coalesce((c.account).open_hour < p_hour, true) as opens_hour,
           min(c.position) filter (where c.hour_events > 0) over of_account_whole as opener
      from covered c
    window of_account as (partition by (c.account).id order by c.position),
           of_account_whole as (partition by (c.account).id)
  ), decided as (
    select s.*,
           -- As long as one credit pays and some of it is left, the account alone is written.
           s.has_one_credit and s.one_rest > s.account_covered
             and coalesce((s.account).pending_credit_id = s.one_credit, true) as keeps_drawing,
           case when s.opens_hour then s.position = s.opener
                else (s.account).open_hour = p_hour and (s.account).open_series_id = s.series and s.hour_events > 0 end as is_open
      from seen s
  ), placed as (
    select d.*, sum(d.hour_units) filter (where d.is_open) over of_account as open_units,
           sum(d.hour_events) filter (where d.is_open) over of_account as open_events,
           max(d.series) filter (where d.is_open) over of_account as open_series
      from decided d window of_account as (partition by d.account_id)
  )
  select array_agg(row(p.account, p.price, p.period, p.series, p.entry, p.units, p.hour_units, p.hour_events, p.threshold, p.events,
                       p.own_amount, p.position, p.upto, p.credits, p.amounts, p.covered, p.account_id, p.is_first, p.account_units,
                       p.account_covered, p.one_credit, p.one_rest, p.opens_hour, p.keeps_drawing, p.is_open, p.open_units, p.open_events,
                       p.open_series)::placed_usage order by p.position)
    into placed from placed p;
  -- From the accounts and their credits as they are before the usage.
  select array_agg(p.account_id) into fallen
    from (select p.account_id, p.threshold, p.account_units, balance_of_account(p.account, p_now) as balance
            from unnest(placed) p where p.is_first and p.threshold is not null) p
   where p.balance >= p.threshold and p.balance - p.account_units < p.threshold;
  insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side, credit_side,
         amount, price_id, billing_period_id, applied_credit_ids, applied_amounts, available_after, created_at)
  select p_environment, p.entry, (p.account).pricing_model_id, p_transaction, p.account_id, 'available', 'used', p.units, p.price, p.period,
         p.credits, p.amounts, (p.account).available - p.upto, greatest((p.account).updated_at, p_now)
    from one_row, unnest(placed) p order by p.position;
  insert into usage_overages (environment_id, ledger_account_id, price_id, uncovered, events, own_amount)
  select p_environment, p.account_id, p.price, p.units - p.covered, p.events, p.own_amount
    from one_row, unnest(placed) p where p.units > p.covered or p.events > 0
  on conflict (environment_id, ledger_account_id, price_id)
  do update set uncovered = usage_overages.uncovered + excluded.uncovered, events = usage_overages.events + excluded.events,
                own_amount = usage_overages.own_amount + excluded.own_amount;
  update usage_credits c set applied = c.applied + used.amount, updated_at = greatest(c.updated_at, p_now)
    from (
      select part.id, sum(part.amount) as amount
        from (
          select used.id, used.amount
            from unnest(placed) p, unnest(p.credits, p.amounts) as used (id, amount) where not p.keeps_drawing
          union all
          select (p.account).pending_credit_id, (p.account).covered - (p.account).applied
            from unnest(placed) p where p.is_first and p.account_covered > 0 and not p.keeps_drawing and (p.account).pending_credit_id is not null
        ) part
       group by part.id) used
   where c.environment_id = p_environment and c.id = used.id;
  update ledger_accounts a
     set used = a.used + p.account_units,
         covered = a.covered + p.account_covered,
         applied = case when p.account_covered > 0 and not p.keeps_drawing then a.covered + p.account_covered else a.applied end,
         pending_credit_id = case when p.account_covered = 0 then a.pending_credit_id when p.keeps_drawing then p.one_credit end,
         pending_limit = case when p.account_covered = 0 then a.pending_limit
                         when not p.keeps_drawing then 0
                         when a.pending_credit_id is null then p.one_rest else a.pending_limit end,
         open_series_id = coalesce(p.open_series, a.open_series_id),
         open_hour = case when p.open_series is null then a.open_hour else p_hour end,
         open_units = case when p.open_series is null then a.open_units when p.opens_hour then p.open_units else a.open_units + p.open_units end,
         open_events = case when p.open_series is null then a.open_events when p.opens_hour then p.open_events else a.open_events + p.open_events end,
         updated_at = greatest(a.updated_at, p_now)
    from unnest(placed) p
   where p.is_first and a.environment_id = p_environment and a.id = p.account_id;
  select array_agg(row((c.account).pricing_model_id, (c.account).usage_meter_id, c.series, c.hour, c.units, c.events)::closed_rollup) into closed
    from (
      select p.account, p.series, p_hour as hour, p.hour_units as units, p.hour_events as events
        from unnest(placed) p where p.hour_events > 0 and not p.is_open
      union all
      -- The roll-up that the present hour takes the place of.
      select p.account, (p.account).open_series_id, (p.account).open_hour, (p.account).open_units, (p.account).open_events
        from unnest(placed) p where p.is_first and p.opens_hour and p.open_series is not null and (p.account).open_series_id is not null
    ) c;
  if closed is not null then
    insert into usage_rollups (environment_id, series_id, hour, units, events)
    select p_environment, c.series, c.hour, sum(c.units), sum(c.events)
      from one_row, unnest(closed) c group by c.series, c.hour order by c.series, c.hour
    on conflict (environment_id, series_id, hour)
    do update set units = usage_rollups.units + excluded.units, events = usage_rollups.events + excluded.events, is_summed = false;
    insert into usage_hours (environment_id, pricing_model_id, usage_meter_id, hour, units, events)
    select p_environment, c.pricing_model_id, c.usage_meter_id, c.hour, sum(c.units), sum(c.events)
      from one_row, unnest(closed) c group by c.pricing_model_id, c.usage_meter_id, c.hour;
  end if;
  return fallen;
end $$;

-- Draws usage that the credits of its meter leave uncovered from the credit pools of its customers, in the order in which it came. A
-- pool pays for whole units, from its credits in the order of use. Units of open holds stay set aside, on meters and on pools.
-- Locks all accounts in their order: credit pools belong to customers, so they come last. Returns the units of each usage that a pool
-- paid for, or null where no customer has a pool, and the accounts of pools whose balance fell below their threshold.
create function draw_from_pools(p_environment bigint, p_now bigint, p_transaction text,
  u_account text[], u_revision bigint[], u_price text[], u_period text[],
  d_usage integer[], d_units numeric[], d_pool text[], d_cost numeric[], d_threshold numeric[], d_entry text[], d_pool_entry text[],
  d_pooled numeric[], d_amount numeric[], out pooled numeric[], out fallen text[])
  language plpgsql volatile as $$
declare
  -- The pool of each part, on the account of its customer.
  pool_accounts text[];
  -- By the first usage of each account: what is left of the credits of its meter beside open holds.
  free numeric[] := array_fill(null::numeric, array[cardinality(u_account)]);
  -- The accounts of pools that have a threshold, and their balances before.
  watched text[];
  thresholds numeric[];
  balances numeric[];
  part integer;
  usage integer;
  first_usage integer;
  rest numeric;
  units numeric;
  drawn numeric;
  payer ledger_accounts;
begin
  select array_agg(pool.id order by d.position) into pool_accounts
    from unnest(d_usage, d_pool) with ordinality as d (usage, pool, position)
    left join lateral (
      select p.id
        from ledger_accounts a
        join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
        join ledger_accounts p on p.environment_id = s.environment_id and p.customer_id = s.customer_id and p.usage_meter_id = d.pool
       where a.environment_id = p_environment and a.id = u_account[d.usage]) pool on d.pool is not null;
  if array_remove(pool_accounts, null) = '{}' then
    return;
  end if;
  -- The caller ends it first, unless that failed a moment ago.
  if exists (
    select from usage_credits c
      join subscriptions s on s.environment_id = p_environment and s.id = c.subscription_id
     where c.environment_id = p_environment and c.ledger_account_id = any (pool_accounts) and not c.spent
       and s.status = 'cancellation_scheduled' and s.cancel_scheduled_at <= p_now
       and (s.work_retry_at is null or s.work_retry_at <= (extract(epoch from clock_timestamp()) * 1000)::bigint))
  then
    raise serialization_failure using message = 'a plan that granted credits of the pool has ended';
  end if;
  pooled := array_fill(0::numeric, array[cardinality(u_account)]);
  if d_pooled is null and exists (select from unnest(pool_accounts, d_cost) as d (account, cost) where d.account is not null and d.cost is null)
  then
    raise serialization_failure using message = 'a pool draws at the price, which the caller decides';
  end if;
  perform from ledger_accounts a
    where a.environment_id = p_environment and a.id = any (u_account || array_remove(pool_accounts, null))
    order by a.subscription_id, a.usage_meter_id, a.customer_id for no key update;
  if exists (
    select from unnest(u_account, u_revision) as u (account, revision)
      left join ledger_accounts a on a.environment_id = p_environment and a.id = u.account
     where a.subscription_revision is distinct from u.revision)
  then
    raise serialization_failure using message = 'a subscription has changed';
  end if;
  if array_remove(d_threshold, null) <> '{}' then
    select array_agg(w.id), array_agg(w.threshold), array_agg(balance_of_account(row(a.*)::ledger_accounts, p_now)) into watched, thresholds, balances
      from (select distinct d.id, d.threshold from unnest(pool_accounts, d_threshold) as d (id, threshold)
             where d.id is not null and d.threshold is not null) w
      join ledger_accounts a on a.environment_id = p_environment and a.id = w.id;
  end if;
  for part in 1 .. cardinality(d_usage) loop
    usage := d_usage[part];
    if d_pooled is not null then
      drawn := d_pooled[part];
      continue when drawn = 0;
      perform draw_from_pool(p_environment, p_now, p_transaction, pool_accounts[part], coalesce(d_amount[part], drawn * d_cost[part]),
                             d_pool_entry[part]);
      pooled[usage] := pooled[usage] + drawn;
      perform book_pooled(p_environment, p_now, p_transaction, u_account[usage], u_price[usage], u_period[usage], drawn, d_pool[part],
                          d_cost[part], d_amount[part], d_entry[part]);
      continue;
    end if;
    first_usage := array_position(u_account, u_account[usage]);
    if free[first_usage] is null then
      -- The balance, without the usage that is owed.
      select greatest(balance_of_account(row(a.*)::ledger_accounts, p_now) + a.used - a.covered - a.settled - a.pooled, 0) into rest
        from ledger_accounts a where a.environment_id = p_environment and a.id = u_account[usage];
      free[first_usage] := rest;
    end if;
    units := d_units[part] - least(d_units[part], free[first_usage]);
    free[first_usage] := free[first_usage] - (d_units[part] - units);
    continue when units = 0 or pool_accounts[part] is null;
    select * into payer from ledger_accounts a where a.environment_id = p_environment and a.id = pool_accounts[part];
    drawn := least(units, div(greatest(balance_of_account(payer, p_now), 0), d_cost[part]));
    continue when drawn = 0;
    perform draw_from_pool(p_environment, p_now, p_transaction, pool_accounts[part], drawn * d_cost[part], d_pool_entry[part]);
    pooled[usage] := pooled[usage] + drawn;
    perform book_pooled(p_environment, p_now, p_transaction, u_account[usage], u_price[usage], u_period[usage], drawn, d_pool[part],
                        d_cost[part], null, d_entry[part]);
  end loop;
  if watched is not null then
    select array_agg(a.id) into fallen
      from unnest(watched, thresholds, balances) as w (id, threshold, balance)
      join ledger_accounts a on a.environment_id = p_environment and a.id = w.id
     where w.balance >= w.threshold and balance_of_account(row(a.*)::ledger_accounts, p_now) < w.threshold;
  end if;
end $$;

-- Books units of a meter that a credit pool pays for, on the locked account of the meter.
create function book_pooled(p_environment bigint, p_now bigint, p_transaction text, p_account text, p_price text, p_period text,
  p_units numeric, p_pool text, p_cost numeric, p_amount numeric, p_entry text) returns void language plpgsql volatile as $$
begin
  insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side, credit_side,
         amount, price_id, billing_period_id, credit_pool_id, pool_unit_cost, pool_amount, available_after, created_at)
  select p_environment, p_entry, a.pricing_model_id, p_transaction, a.id, 'pooled', 'used', p_units, p_price, p_period,
         p_pool, p_cost, p_amount, a.available, greatest(a.updated_at, p_now)
    from ledger_accounts a where a.environment_id = p_environment and a.id = p_account;
  update ledger_accounts a set used = a.used + p_units, pooled = a.pooled + p_units, updated_at = greatest(a.updated_at, p_now)
   where a.environment_id = p_environment and a.id = p_account;
end $$;

-- Draws an amount from a locked account of a credit pool whose balance covers it. An amount of a pool is a whole number of its
-- smallest units, so nothing is rounded.
create function draw_from_pool(p_environment bigint, p_now bigint, p_transaction text, p_account text, p_amount numeric,
  p_entry text) returns void language plpgsql volatile as $$
declare
  account ledger_accounts;
  cost numeric := p_amount;
  ids text[];
  amounts numeric[];
begin
  -- The rest of a package is paid for already.
  if cost = 0 then
    return;
  end if;
  select * into account from ledger_accounts a where a.environment_id = p_environment and a.id = p_account;
  with line as (
    select c.id, c.rest, sum(c.rest) over (order by c.priority, c.expires_at nulls last, c.is_paid, c.id) as upto
      from (select c.id, c.priority, c.expires_at, c.source = 'purchase' as is_paid, c.issued - c.applied - c.expired - c.taken_back as rest
              from usage_credits c
             where c.environment_id = p_environment and c.ledger_account_id = p_account
               and not c.spent and (c.expires_at is null or c.expires_at > p_now)) c
  ), part as (
    select line.id, line.upto, least(line.rest, cost - (line.upto - line.rest)) as amount
      from line where line.upto - line.rest < cost
  ), applied as (
    update usage_credits c set applied = c.applied + part.amount, updated_at = greatest(c.updated_at, p_now)
      from part where c.environment_id = p_environment and c.id = part.id
  )
  select array_agg(part.id order by part.upto), array_agg(part.amount order by part.upto) into ids, amounts from part;
  insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side, credit_side,
         amount, applied_credit_ids, applied_amounts, available_after, created_at)
  values (p_environment, p_entry, account.pricing_model_id, p_transaction, p_account, 'available', 'used', cost, ids, amounts,
          account.available - cost, greatest(account.updated_at, p_now));
  update ledger_accounts a set used = a.used + cost, covered = a.covered + cost, applied = a.applied + cost,
         updated_at = greatest(a.updated_at, p_now)
   where a.environment_id = p_environment and a.id = p_account;
end $$;

-- Books usage whose events are stored. With p_locks_first all accounts are locked in their order before any is booked on. Returns the accounts whose balance fell below their threshold, or null where none did.
-- Fails with serialization_failure where a subscription is at another revision than the caller knows.
create function book_usage(p_environment bigint, p_now bigint, p_hour bigint, p_booking bigint, p_transaction text, p_model text,
  p_locks_first boolean,
  u_account text[], u_revision bigint[], u_price text[], u_period text[], u_series bigint[], u_entry text[], u_units numeric[],
  u_hour_units numeric[], u_hour_events bigint[], u_upto numeric[], u_of_account numeric[],
  u_threshold numeric[], u_events numeric[], u_own_amount numeric[],
  r_series bigint[], r_hour bigint[], r_units numeric[], r_events bigint[], t_subscription text[],
  d_usage integer[], d_units numeric[], d_pool text[], d_cost numeric[], d_threshold numeric[], d_entry text[], d_pool_entry text[],
  d_pooled numeric[], d_amount numeric[]) returns text[]
  language plpgsql volatile set search_path from current set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  booked bigint[];
  is_booked boolean[];
  fallen text[];
  booked_at bigint;
  pooled numeric[];
  fallen_pools text[];
begin
  if cardinality(u_account) > 0 then
    insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
    values (p_environment, p_transaction, p_model, 'usage_event_processed', p_booking::text, p_now, p_now);
  end if;
  if cardinality(d_usage) > 0 then
    select drawn.pooled, drawn.fallen into pooled, fallen_pools
      from draw_from_pools(p_environment, p_now, p_transaction, u_account, u_revision, u_price, u_period,
                           d_usage, d_units, d_pool, d_cost, d_threshold, d_entry, d_pool_entry, d_pooled, d_amount) drawn;
  end if;
  if pooled is not null then
    -- What is left is booked on the accounts of meters. Usage that pools paid for in full has its events counted here.
    insert into usage_overages (environment_id, ledger_account_id, price_id, events, own_amount)
    select p_environment, u.account, u.price, u.events, u.own_amount
      from one_row, unnest(u_account, u_price, u_units, u_events, u_own_amount, pooled) as u (account, price, units, events, own_amount, pooled)
     where u.units = u.pooled and u.events > 0
    on conflict (environment_id, ledger_account_id, price_id)
    do update set events = usage_overages.events + excluded.events, own_amount = usage_overages.own_amount + excluded.own_amount;
    select r_series || coalesce(array_agg(u.series), '{}'), r_hour || coalesce(array_agg(p_hour), '{}'),
           r_units || coalesce(array_agg(u.hour_units), '{}'), r_events || coalesce(array_agg(u.hour_events), '{}')
      into r_series, r_hour, r_units, r_events
      from unnest(u_series, u_units, u_hour_units, u_hour_events, pooled) as u (series, units, hour_units, hour_events, pooled)
     where u.units = u.pooled and u.hour_events > 0;
    select coalesce(array_agg(u.account), '{}'), array_agg(u.revision), array_agg(u.price), array_agg(u.period), array_agg(u.series),
           array_agg(u.entry), array_agg(u.units), array_agg(u.hour_units), array_agg(u.hour_events), array_agg(u.upto),
           array_agg(case when u.upto = u.units then u.of_account end), array_agg(u.threshold), array_agg(u.events), array_agg(u.own_amount)
      into u_account, u_revision, u_price, u_period, u_series, u_entry, u_units, u_hour_units, u_hour_events, u_upto, u_of_account,
           u_threshold, u_events, u_own_amount
      from (select u.*, sum(u.units) over (partition by u.account order by u.position) as upto, sum(u.units) over (partition by u.account) as of_account
              from (select account, revision, price, period, series, entry, units - drawn as units, hour_units, hour_events, threshold, events,
                           own_amount, position
                      from unnest(u_account, u_revision, u_price, u_period, u_series, u_entry, u_units, u_hour_units, u_hour_events,
                                  u_threshold, u_events, u_own_amount, pooled)
                             with ordinality as u (account, revision, price, period, series, entry, units, hour_units, hour_events, threshold,
                                                   events, own_amount, drawn, position)) u
             where u.units > 0
             order by u.position) u;
  end if;
  if cardinality(u_account) > 0 then
    if p_locks_first and pooled is null then
      perform from ledger_accounts a where a.environment_id = p_environment and a.id = any (u_account)
        order by a.subscription_id, a.usage_meter_id for no key update;
    end if;
    booked := book_simple_usage(p_environment, p_now, p_hour, p_transaction, u_account, u_revision, u_price, u_period, u_series,
                                u_entry, u_units, u_hour_units, u_hour_events, u_upto, u_of_account, u_threshold, u_events, u_own_amount);
    if cardinality(booked) is distinct from cardinality(u_account) then
      is_booked := array_fill(false, array[cardinality(u_account)]);
      foreach booked_at in array coalesce(booked, '{}') loop
        is_booked[booked_at] := true;
      end loop;
      begin
        fallen := book_other_usage(p_environment, p_now, p_hour, p_transaction, is_booked, u_account, u_revision, u_price, u_period,
                                   u_series, u_entry, u_units, u_hour_units, u_hour_events, u_threshold, u_events, u_own_amount);
      exception when lock_not_available then
        if p_locks_first then
          raise;
        end if;
        raise exception using errcode = 'TK002', message = 'an account out of the lock order is locked';
      end;
    end if;
  end if;
  if cardinality(r_series) > 0 then
    insert into usage_rollups (environment_id, series_id, hour, units, events)
    select p_environment, r.series, r.hour, sum(r.units), sum(r.events)
      from one_row, unnest(r_series, r_hour, r_units, r_events) as r (series, hour, units, events)
     group by r.series, r.hour order by r.series, r.hour
    on conflict (environment_id, series_id, hour)
    do update set units = usage_rollups.units + excluded.units, events = usage_rollups.events + excluded.events, is_summed = false;
    insert into usage_hours (environment_id, pricing_model_id, usage_meter_id, hour, units, events)
    select p_environment, s.pricing_model_id, s.usage_meter_id, r.hour, sum(r.units), sum(r.events)
      from unnest(r_series, r_hour, r_units, r_events) as r (series, hour, units, events)
      join usage_series s on s.environment_id = p_environment and s.id = r.series
     group by s.pricing_model_id, s.usage_meter_id, r.hour;
  end if;
  -- After the accounts, which whoever deletes these rows has locked too, and in one order.
  if cardinality(t_subscription) > 0 then
    insert into usage_threshold_checks (environment_id, subscription_id, due_at)
    select p_environment, t.id, p_now from one_row, unnest(t_subscription) as t (id) order by t.id
    on conflict do nothing;
  end if;
  -- Null where neither has fallen.
  return fallen || fallen_pools;
end $$;

-- All that decides which subscription the usage of a customer is on, as JSON: the customer that an event names, its
-- subscriptions that have not ended, and where several are current the usage meters that they grant credits of or have a rate for. A process
-- keeps the text, and whatever changes the answer changes the text. `customers` is 0, 1, or the number of pricing models that
-- have a customer with this external id.
create function usage_state_of_customer(p_environment bigint, p_now bigint, p_kind text, p_value text) returns text
  language plpgsql stable as $$
declare
  ids text[];
  is_archived boolean := false;
  living jsonb;
begin
  if p_kind = 'customerId' then
    select array_agg(c.id), bool_or(c.archived) into ids, is_archived
      from customers c where c.environment_id = p_environment and c.id = p_value;
  else
    select array_agg(c.id) into ids
      from customers c where c.environment_id = p_environment and c.external_id = p_value and not c.archived;
    if ids is null then
      select array[max(c.id)], true into ids, is_archived
        from customers c where c.environment_id = p_environment and c.external_id = p_value having count(*) > 0;
    end if;
  end if;
  if cardinality(ids) = 1 then
    select jsonb_agg(jsonb_build_object('id', s.id, 'status', s.status, 'revision', s.revision, 'isCurrent', s.is_current,
             'usageMeterIds', coalesce(case when s.is_current and s.current_count > 1 then
               (select jsonb_agg(distinct own.usage_meter_id)
                  from (select f.usage_meter_id from subscription_item_features f
                         where f.environment_id = p_environment and f.subscription_id = s.id and f.usage_meter_id is not null
                           and (f.expired_at is null or f.expired_at > p_now)
                        union all
                        select rate.usage_meter_id
                          from prices p join products r on r.environment_id = p.environment_id and r.id = p.product_id
                         cross join lateral jsonb_object_keys(r.usage_prices) as rate (usage_meter_id)
                         where p.environment_id = p_environment and p.id = s.price_id) own) end, '[]')) order by s.id) into living
      from (select s.id, s.status, s.revision, s.price_id, present.is_current, count(*) filter (where present.is_current) over () as current_count
              from subscriptions s
             cross join lateral (
               select s.status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled') and s.replaced_by_subscription_id is null
                        and coalesce(s.current_billing_period_start < s.current_billing_period_end, true) as is_current) present
             where s.environment_id = p_environment and s.customer_id = ids[1] and s.status not in ('canceled', 'incomplete_expired')) s;
  end if;
  return jsonb_build_object('customers', coalesce(cardinality(ids), 0), 'id', ids[1], 'archived', coalesce(is_archived, false),
                            'subscriptions', coalesce(living, '[]'))::text;
end $$;

-- Records a batch of usage events of one API key: authenticates, stores and books them. All of it or nothing. Events are e_series
-- to e_label, in any order. The caller has resolved them from what it knows, and everything that it knows is compared:
--   p_sufficient           permissions of which the key must have one
--   p_environment, p_now   the environment of the key and its time
--   p_models, p_versions   pricing models and their catalog versions
--   u_revision             revisions of subscriptions
--   c_kind, c_value, c_state   the customers that events name, and their states
-- Fails with
--   serialization_failure  where one of these is different now
--   unique_violation       where an event is stored already (usage_events_transaction_unique)
--   TK001                  where a balance falls below its threshold: the event that tells it is written by the caller
--   TK002                  where it would have to wait for an account out of their order
--   TK003                  where p_consumes, and a balance does not cover all its usage
-- and then the caller records the batch in a transaction of its own. A wait in their order that takes too long is lock_not_available.
-- Where p_consumes, returns the balance that each usage leaves on its account, all usages of the batch counted. Else null.
create function record_usage(p_key bytea, p_sufficient text[], p_real_now bigint, p_environment bigint, p_now bigint, p_hour bigint,
  p_models text[], p_versions bigint[], p_transaction text, p_model text, c_kind text[], c_value text[], c_state text[],
  e_series bigint[], e_key uuid[], e_id text[], e_transaction text[], e_amount bigint[], e_date bigint[], e_properties json[],
  e_own_price numeric[], e_label text[],
  u_account text[], u_revision bigint[], u_price text[], u_period text[], u_series bigint[], u_entry text[], u_units numeric[],
  u_hour_units numeric[], u_hour_events bigint[], u_upto numeric[], u_of_account numeric[],
  u_threshold numeric[], u_events numeric[], u_own_amount numeric[],
  r_series bigint[], r_hour bigint[], r_units numeric[], r_events bigint[], t_subscription text[],
  d_usage integer[], d_units numeric[], d_pool text[], d_cost numeric[], d_threshold numeric[], d_entry text[], d_pool_entry text[],
  p_consumes boolean) returns numeric[]
  language plpgsql volatile set search_path from current set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  scope environment_scope := authenticate(p_key, p_real_now, p_sufficient);
  booking bigint := next_usage_booking();
  balances numeric[];
begin
  if scope.environment_id is distinct from p_environment or coalesce(scope.clock_now, p_real_now) <> p_now
    or (select count(*) from unnest(p_models, p_versions) as known (id, version)
          join pricing_models m on m.environment_id = p_environment and m.id = known.id and m.catalog_version = known.version)
       <> cardinality(p_models)
  then
    raise serialization_failure using message = 'the key, the clock or a pricing model has changed';
  end if;
  -- Before the accounts: their revisions tell whether one of these subscriptions has ended since.
  if cardinality(c_kind) > 0 and exists (
    select from unnest(c_kind, c_value, c_state) as known (kind, value, state)
     where usage_state_of_customer(p_environment, p_now, known.kind, known.value) <> known.state)
  then
    raise serialization_failure using message = 'the subscriptions of a customer have changed';
  end if;
  -- Events of a balance that is used up are not written first: whoever consumes in a loop would leave their remains.
  if p_consumes and exists (
    select from unnest(u_account, u_of_account) as u (account, units)
      join ledger_accounts a on a.environment_id = p_environment and a.id = u.account
     where balance_of_account(row(a.*)::ledger_accounts, p_now) < u.units)
  then
    raise exception using errcode = 'TK003', message = 'a balance does not cover the usage';
  end if;
  -- In the order of their keys: batches that store the same events wait for one another in one direction.
  insert into usage_events (environment_id, booking, series_id, transaction_key, id, transaction_id, amount, usage_date, properties,
         own_price, label, created_at)
  select p_environment, booking, new.series, new.key, new.id, new.transaction, new.amount, new.date, new.properties, new.own_price,
         new.label, p_now
    from one_row, unnest(e_series, e_key, e_id, e_transaction, e_amount, e_date, e_properties, e_own_price, e_label)
           as new (series, key, id, transaction, amount, date, properties, own_price, label)
   order by new.key;
  if book_usage(p_environment, p_now, p_hour, booking, p_transaction, p_model, false, u_account, u_revision, u_price, u_period, u_series,
                u_entry, u_units, u_hour_units, u_hour_events, u_upto, u_of_account, u_threshold, u_events, u_own_amount, r_series, r_hour, r_units, r_events,
                t_subscription, d_usage, d_units, d_pool, d_cost, d_threshold, d_entry, d_pool_entry, null, null) is not null
  then
    raise exception using errcode = 'TK001', message = 'a balance falls below its threshold';
  end if;
  -- The accounts are locked now, so another batch may have used the balance in between.
  if p_consumes then
    select array_agg(balance_of_account(row(a.*)::ledger_accounts, p_now) order by u.position) into balances
      from unnest(u_account) with ordinality as u (account, position)
      join ledger_accounts a on a.environment_id = p_environment and a.id = u.account;
    if 0 > any (balances) then
      raise exception using errcode = 'TK003', message = 'a balance does not cover the usage';
    end if;
  end if;
  return balances;
end $$;
