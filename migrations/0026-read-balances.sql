-- Reads of balances, a batch of questions at a time. A read by an API key is one statement, which authenticates it too: to enter an
-- environment first takes three round trips more.

-- The credits of an account that can be used now. Of an account that lives no more, those that belong to the customer.
-- `p_pending` is the credit that has paid for `p_pending_units` beside those that its own row counts.
create function open_credits(p_environment bigint, p_account text, p_pending text, p_pending_units numeric, p_lives boolean, p_now bigint)
  returns table (rest numeric, whole numeric, is_paid boolean, end_at bigint)
  language sql stable as $$
  select * from (
    select c.issued - c.expired - c.taken_back - c.applied - case when c.id = p_pending then p_pending_units else 0 end as rest,
           c.issued - c.expired - c.taken_back, c.source = 'purchase', coalesce(c.expires_at, 9007199254740991)
      from usage_credits c
     where c.environment_id = p_environment and c.ledger_account_id = p_account and not c.spent
       and (c.expires_at is null or c.expires_at > p_now)
       and (p_lives or belongs_to_customer(c.source, c.transferred_from, c.feature_id, c.source_id))
    offset 0) c
   where c.rest > 0
$$;

-- The credits that a customer can use now, as text: an account in each part, with its numbers in the order of `readCredits`
-- (src/usage/store-granted.ts). An account lives if its subscription has not ended, or if it is in a credit pool. Its sums show
-- whether it has credits or holds at all.
create function credits_of_customer(p_environment bigint, p_customer text, p_now bigint) returns table (credits text)
  language sql stable as $$
  select string_agg(concat_ws(' ', a.usage_meter_id, case when a.lives then a.used - a.covered - a.settled - a.pooled else 0 end,
           case when a.lives and a.held > 0 then a.held - ended_holds(a.environment_id, a.id, p_now) else 0 end,
           coalesce(credit.granted, 0), coalesce(credit.paid, 0), coalesce(credit.begun, 0), nullif(credit.first_end, 9007199254740991),
           case when credit.first_end = 9007199254740991 then null
                when credit.first_end = credit.last_end then credit.granted + credit.paid
                when credit.first_end < credit.last_end then (
                  select sum(c.rest)
                    from open_credits(a.environment_id, a.id, a.pending_credit_id, a.covered - a.applied, a.lives, p_now) c
                   where c.end_at = credit.first_end) end), ',')
    from (
      select a.*, s.status not in ('canceled', 'incomplete_expired') or coalesce(s.canceled_at, s.updated_at) > p_now as lives
        from subscriptions s
        join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id
       where s.environment_id = p_environment and s.customer_id = p_customer
      union all
      select a.*, starts_with(a.usage_meter_id, 'credit_pool_')
        from ledger_accounts a
       where a.environment_id = p_environment and a.customer_id = p_customer) a
    left join lateral (
      select coalesce(sum(c.rest) filter (where not c.is_paid), 0) as granted, coalesce(sum(c.rest) filter (where c.is_paid), 0) as paid,
             sum(c.whole) as begun, min(c.end_at) as first_end, max(c.end_at) as last_end
        from open_credits(a.environment_id, a.id, a.pending_credit_id, a.covered - a.applied, a.lives, p_now) c
       where a.granted > a.covered + a.expired + a.taken_back) credit on true
   where a.lives or a.granted > a.covered + a.expired + a.taken_back
$$;

-- The credits of customers now, a row for each question. Archived customers are included: `customers` counts the others that match.
-- Where nobody matches, there is no pricing model.
create function credit_balances(p_environment bigint, p_now bigint, q_external_id text[], q_pricing_model text[])
  returns table ("position" bigint, customers bigint, pricing_model_id text, catalog_version bigint, credits text)
  language sql stable as $$
  select q.position, c.customers, c.pricing_model_id, m.catalog_version, present.credits
    from unnest(q_external_id, q_pricing_model) with ordinality as q (external_id, pricing_model, position)
    left join lateral (
      select c.id, c.pricing_model_id, count(*) filter (where not c.archived) over () as customers
        from customers c
       where c.environment_id = p_environment and c.external_id = q.external_id
         and (q.pricing_model is null or c.pricing_model_id = q.pricing_model)
       order by c.archived, c.updated_at desc, c.id desc limit 1) c on true
    left join pricing_models m on m.environment_id = p_environment and m.id = c.pricing_model_id
    left join lateral credits_of_customer(p_environment, c.id, p_now) present on true
$$;

-- The same for an API key: no row where it may not read them.
create function read_credit_balances(p_key bytea, p_sufficient text[], p_real_now bigint, q_external_id text[], q_pricing_model text[])
  returns table ("position" bigint, customers bigint, pricing_model_id text, catalog_version bigint, credits text)
  language plpgsql volatile set search_path from current set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  scope environment_scope := authenticate(p_key, p_real_now, p_sufficient);
begin
  if scope.environment_id is not null then
    return query select * from credit_balances(scope.environment_id, coalesce(scope.clock_now, p_real_now), q_external_id, q_pricing_model);
  end if;
end $$;

-- The balances of a subscription now: meter and balance of each account in turn. One column is faster to read than rows. Nothing is
-- read for an account whose row shows that no end is to be booked on it.
create function balances_of_subscription(p_environment bigint, p_subscription text, p_now bigint) returns table (balances text)
  language sql stable as $$
  select string_agg(a.usage_meter_id || ' ' || case when a.held = 0 and coalesce(a.credits_end_at > p_now, true) then a.available
                                                    else balance_of_account(row(a.*)::ledger_accounts, p_now) end, ' ')
    from ledger_accounts a
   where a.environment_id = p_environment and a.subscription_id = p_subscription
$$;

-- The balances of customers: a row for each subscription, or one without a subscription. They are of the one that a question names,
-- in whatever status, or of all current ones.
create function usage_balances(p_environment bigint, p_now bigint, q_external_id text[], q_pricing_model text[], q_subscription text[])
  returns table ("position" bigint, customers bigint, subscription_id text, pricing_model_id text, catalog_version bigint, balances text)
  language sql stable as $$
  select q.position, c.customers, s.id, s.pricing_model_id, m.catalog_version, present.balances
    from unnest(q_external_id, q_pricing_model, q_subscription) with ordinality
           as q (external_id, pricing_model, subscription, position)
   cross join lateral (
     select min(c.id) as id, count(*) as customers from customers c
      where c.environment_id = p_environment and c.external_id = q.external_id and not c.archived
        and (q.pricing_model is null or c.pricing_model_id = q.pricing_model)) c
    left join lateral (
      select s.id, s.pricing_model_id from subscriptions s
       where s.environment_id = p_environment and s.customer_id = c.id and q.subscription is null
         -- The first list is the condition of the index of subscriptions that have not ended.
         and s.status not in ('canceled', 'incomplete_expired')
         and s.status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled')
         and s.replaced_by_subscription_id is null
         and coalesce(s.current_billing_period_start < s.current_billing_period_end, true)
      union all
      select s.id, s.pricing_model_id from subscriptions s
       where s.environment_id = p_environment and s.id = q.subscription and s.customer_id = c.id
      -- A lookup for each customer, even without statistics.
      offset 0) s on true
    left join pricing_models m on m.environment_id = p_environment and m.id = s.pricing_model_id
    left join lateral balances_of_subscription(p_environment, s.id, p_now) present on true
$$;

-- The same for an API key: no row where it may not read them.
create function read_usage_balances(p_key bytea, p_sufficient text[], p_real_now bigint,
  q_external_id text[], q_pricing_model text[], q_subscription text[])
  returns table ("position" bigint, customers bigint, subscription_id text, pricing_model_id text, catalog_version bigint, balances text)
  language plpgsql volatile set search_path from current set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  scope environment_scope := authenticate(p_key, p_real_now, p_sufficient);
begin
  if scope.environment_id is not null then
    return query select * from usage_balances(scope.environment_id, coalesce(scope.clock_now, p_real_now),
                                              q_external_id, q_pricing_model, q_subscription);
  end if;
end $$;
