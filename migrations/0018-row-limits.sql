-- How many records another record may have, where one answer or transaction has to hold all of them. Other lists have pages.

-- `counted` is the condition on the rows that count. A setup of a whole pricing model fits into its limits.
create function row_limits() returns table (table_name text, parent_column text, parent_table text, counted text, at_most integer)
  language sql immutable
  begin atomic
    values
      ('products', 'pricing_model_id', 'pricing_models', 'active', 1000),
      ('products', 'pricing_model_id', 'pricing_models', 'true', 10000),
      ('features', 'pricing_model_id', 'pricing_models', 'active', 1000),
      ('features', 'pricing_model_id', 'pricing_models', 'true', 10000),
      ('resources', 'pricing_model_id', 'pricing_models', 'active', 1000),
      ('resources', 'pricing_model_id', 'pricing_models', 'true', 10000),
      ('usage_meters', 'pricing_model_id', 'pricing_models', 'true', 200),
      ('credit_pools', 'pricing_model_id', 'pricing_models', 'true', 100),
      ('prices', 'pricing_model_id', 'pricing_models', 'active', 5000),
      ('prices', 'pricing_model_id', 'pricing_models', 'true', 20000),
      ('prices', 'usage_meter_id', 'usage_meters', 'active and "where" is not null', 100),
      ('product_features', 'pricing_model_id', 'pricing_models', 'expired_at is null', 20000),
      ('product_features', 'pricing_model_id', 'pricing_models', 'true', 50000),
      ('subscriptions', 'customer_id', 'customers', $$status not in ('canceled', 'incomplete_expired')$$, 500),
      -- The next invoice takes all of them.
      ('invoice_items', 'customer_id', 'customers', 'invoice_id is null', 1000),
      -- An invoice is lowered by each of them in turn.
      ('discount_redemptions', 'subscription_id', 'subscriptions', 'subscription_id is not null and removed_at is null', 20),
      -- Units that are used at once may take from each of them. Credits of plans and purchases are never refused.
      ('usage_credits', 'ledger_account_id', 'ledger_accounts', 
       $$source = 'manual_adjustment' and feature_id is null and transferred_from is null and not spent$$, 10000),
      ('subscription_item_features', 'subscription_id', 'subscriptions', 'manually_created and expired_at is null', 1000);
  end;

-- The lock of the parent makes counting and adding one step. The count stops at the limit.
create function keep_row_limit() returns trigger language plpgsql set search_path from current as $$
declare
  parent record;
  counted bigint;
begin
  for parent in
    execute format('select distinct environment_id, %I as id from added where %s order by 1, 2', tg_argv[0], tg_argv[2])
  loop
    execute format('select from %I where environment_id = $1 and id = $2 for no key update', tg_argv[1])
      using parent.environment_id, parent.id;
    execute format('select count(*) from (select from %I where environment_id = $1 and %I = $2 and %s limit $3 + 1) found',
      table_of_trigger(tg_table_name), tg_argv[0], tg_argv[2]) into counted using parent.environment_id, parent.id, tg_argv[3]::integer;
    if counted > tg_argv[3]::integer then
      raise program_limit_exceeded using message = format('%s %s has more than %s %s', tg_argv[1], parent.id, tg_argv[3], table_of_trigger(tg_table_name)),
        table = table_of_trigger(tg_table_name), constraint = table_of_trigger(tg_table_name) || '_at_most', detail = tg_argv[3];
    end if;
  end loop;
  return null;
end $$;

create index product_features_by_pricing_model on product_features (environment_id, pricing_model_id);
create index subscriptions_living on subscriptions (environment_id, customer_id, id) where status not in ('canceled', 'incomplete_expired');
create index subscription_item_features_manual on subscription_item_features (environment_id, subscription_id)
  where manually_created and expired_at is null;

do $$
declare
  row_limit record;
begin
  for row_limit in select l.*, row_number() over () as number from row_limits() l loop
    execute format('create trigger row_limit_%s_inserted after insert on %I referencing new table as added
      for each statement execute function keep_row_limit(%L, %L, %L, %L)', row_limit.number, row_limit.table_name,
      row_limit.parent_column, row_limit.parent_table, row_limit.counted, row_limit.at_most);
    -- A void invoice gives back its items. A discount that was taken off does not come back. A subscription that has ended does not come back, and a credit is seldom unspent again. Rows that always count are counted
    -- when they are made.
    continue when row_limit.counted = 'true' or row_limit.table_name in ('subscriptions', 'usage_credits', 'invoice_items', 'discount_redemptions');
    execute format('create trigger row_limit_%s_updated after update on %I referencing new table as added
      for each statement execute function keep_row_limit(%L, %L, %L, %L)', row_limit.number, row_limit.table_name,
      row_limit.parent_column, row_limit.parent_table, row_limit.counted, row_limit.at_most);
  end loop;
end $$;
