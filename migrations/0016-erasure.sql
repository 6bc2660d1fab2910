-- The erasure of a customer: its personal data goes, and what law wants to be kept stays.

-- The columns that may hold personal data of a customer, and the value that takes its place. Null: the record is a document
-- that is kept as it was issued, and only its copies in the audit log go. A new column with such data belongs here.
create function personal_columns() returns table (table_name text, column_name text, erased text) language sql immutable
  begin atomic
    values
      ('customers', 'external_id', 'r.id'),
      ('customers', 'email', ''''''),
      ('customers', 'name', '''Erased customer'''),
      ('customers', 'logo_url', 'null'),
      ('customers', 'icon_url', 'null'),
      ('customers', 'domain', 'null'),
      ('customers', 'user_id', 'null'),
      ('customers', 'billing_address', 'null'),
      ('customers', 'metadata', 'null'),
      ('customers', 'billing_terms', 'null'),
      ('payment_methods', 'billing_details', '''{}'''),
      ('payment_methods', 'payment_method_data', '''{}'''),
      ('payment_methods', 'metadata', 'null'),
      ('payment_methods', 'processor_token', ''''''),
      ('payment_methods', 'fingerprint', 'null'),
      ('payment_method_attachments', 'request', '''{}'''),
      ('payment_method_attachments', 'outcome', '''{}'''),
      ('subscriptions', 'name', 'null'),
      ('subscriptions', 'metadata', 'null'),
      ('subscriptions', 'cancellation_comment', 'null'),
      ('invoices', 'metadata', 'null'),
      ('subscription_items', 'name', 'null'),
      ('subscription_items', 'external_id', 'null'),
      ('subscription_items', 'metadata', 'null'),
      -- The items of a change repeat names, external ids and metadata.
      ('subscription_adjustments', 'items', '''[]'''),
      ('resource_claims', 'external_id', 'null'),
      ('resource_claims', 'metadata', 'null'),
      ('usage_credits', 'reason', 'null'),
      ('usage_holds', 'label', 'null'),
      -- Limits of two labels stay two.
      ('spend_limits', 'label', 'case when r.label is not null then r.id end'),
      ('purchases', 'name', ''''''),
      ('purchases', 'subscription_name', 'null'),
      ('purchases', 'billing_address', 'null'),
      ('purchases', 'metadata', 'null'),
      ('checkout_sessions', 'customer_name', 'null'),
      ('checkout_sessions', 'customer_email', 'null'),
      ('checkout_sessions', 'billing_address', 'null'),
      ('checkout_sessions', 'output_name', 'null'),
      ('checkout_sessions', 'output_metadata', 'null'),
      ('checkout_sessions', 'metadata', 'null'),
      ('checkout_sessions', 'payment_token', 'null'),
      ('checkout_sessions', 'success_url', 'null'),
      ('checkout_sessions', 'cancel_url', 'null'),
      ('payments', 'processor_token', 'null'),
      ('payments', 'receipt_url', 'null'),
      ('payments', 'next_action', 'null'),
      ('processor_customers', 'reference', null),
      ('invoices', 'buyer', null),
      ('invoices', 'memo', null),
      ('invoices', 'footer', null),
      ('invoices', 'purchase_order_number', null),
      ('invoice_line_items', 'description', null),
      ('invoice_items', 'description', 'null'),
      ('credit_notes', 'reason', null),
      ('customer_balance_entries', 'description', 'null'),
      ('emails', 'recipients', '''{}'''),
      ('emails', 'bounced_recipients', '''{}'''),
      ('emails', 'subject', 'null'),
      ('emails', 'last_error', 'null');
  end;

-- The records of a customer that may hold personal data, or that events are about.
create function records_of_customer(p_environment bigint, p_customer text) returns table (table_name text, record_id text)
  language sql stable
  begin atomic
    select 'customers', p_customer
    union all
    select 'payment_methods', id from payment_methods where environment_id = p_environment and customer_id = p_customer
    union all
    select 'payment_method_attachments', id from payment_method_attachments
     where environment_id = p_environment and customer_id = p_customer
    union all
    select 'purchases', id from purchases where environment_id = p_environment and customer_id = p_customer
    union all
    select 'checkout_sessions', id from checkout_sessions where environment_id = p_environment and customer_id = p_customer
    union all
    select 'payments', id from payments where environment_id = p_environment and customer_id = p_customer
    union all
    select 'invoices', id from invoices where environment_id = p_environment and customer_id = p_customer
    union all
    select 'invoice_items', id from invoice_items where environment_id = p_environment and customer_id = p_customer
    union all
    select 'emails', id from emails where environment_id = p_environment and customer_id = p_customer
    union all
    select 'invoice_line_items', l.id
      from invoices i join invoice_line_items l on l.environment_id = i.environment_id and l.invoice_id = i.id
     where i.environment_id = p_environment and i.customer_id = p_customer
    union all
    select 'credit_notes', id from credit_notes where environment_id = p_environment and customer_id = p_customer
    union all
    select 'customer_balance_entries', id from customer_balance_entries
     where environment_id = p_environment and customer_id = p_customer
    union all
    select 'subscriptions', id from subscriptions where environment_id = p_environment and customer_id = p_customer
    union all
    select 'subscription_items', r.id
      from subscriptions s join subscription_items r on r.environment_id = s.environment_id and r.subscription_id = s.id
     where s.environment_id = p_environment and s.customer_id = p_customer
    union all
    select 'subscription_adjustments', r.id
      from subscriptions s join subscription_adjustments r on r.environment_id = s.environment_id and r.subscription_id = s.id
     where s.environment_id = p_environment and s.customer_id = p_customer
    union all
    select 'resource_claims', r.id
      from subscriptions s join resource_claims r on r.environment_id = s.environment_id and r.subscription_id = s.id
     where s.environment_id = p_environment and s.customer_id = p_customer
    union all
    select 'usage_credits', r.id
      from subscriptions s
      join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id
      join usage_credits r on r.environment_id = a.environment_id and r.ledger_account_id = a.id
     where s.environment_id = p_environment and s.customer_id = p_customer
    union all
    select 'usage_holds', r.id
      from subscriptions s
      join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id
      join usage_holds r on r.environment_id = a.environment_id and r.ledger_account_id = a.id
     where s.environment_id = p_environment and s.customer_id = p_customer
    union all
    select 'spend_limits', id from spend_limits where environment_id = p_environment and customer_id = p_customer
    union all
    select 'usage_credits', r.id
      from ledger_accounts a join usage_credits r on r.environment_id = a.environment_id and r.ledger_account_id = a.id
     where a.environment_id = p_environment and a.customer_id = p_customer;
  end;

-- Of records that were deleted only the log knows whose they were: drafts of invoices, invoice items and spend limits, and lines of drafts.
create index audit_log_deleted_of_customer on audit_log (environment_id, (before ->> 'customer_id')) where operation = 'delete';
create index audit_log_deleted_of_invoice on audit_log (environment_id, (before ->> 'invoice_id')) where operation = 'delete';

-- The records of a customer that the audit log and events may tell of: those that are there, and those that were deleted.
create function told_records_of_customer(p_environment bigint, p_customer text) returns table (table_name text, record_id text)
  language sql stable
  begin atomic
    with deleted as materialized (
      select t.table_name, a.record_id
        from audit_log a
        join unnest(array['invoices', 'invoice_items', 'spend_limits']) t (table_name) on a.record = audited_record(t.table_name)
       where a.environment_id = p_environment and a.operation = 'delete' and a.before ->> 'customer_id' = p_customer
    )
    select table_name, record_id from records_of_customer(p_environment, p_customer)
    union all
    select table_name, record_id from deleted
    union all
    select 'invoice_line_items', a.record_id
      from (select id from invoices where environment_id = p_environment and customer_id = p_customer
             union all
            select record_id from deleted where table_name = 'invoices') i
      join audit_log a on a.environment_id = p_environment and a.operation = 'delete' and a.before ->> 'invoice_id' = i.id
     where a.record = audited_record('invoice_line_items');
  end;

-- The functions below run as the owner, because the service can neither change the audit log nor see more than its own
-- environment. Each begins with this: the customer is one that the caller sees.
create function check_seen_customer(p_customer text) returns bigint
  language plpgsql stable security definer set search_path from current as $$
begin
  if not exists (select from customers where environment_id = current_environment() and id = p_customer
                    and (current_pricing_model() is null or pricing_model_id = current_pricing_model())) then
    raise insufficient_privilege using message = 'the customer is of another environment or pricing model';
  end if;
  return current_environment();
end $$;

-- Erases the records of a customer. The caller has locked it, and its subscriptions have ended.
create function erase_records(p_customer text, p_now bigint, p_external_id_mac text) returns void
  language plpgsql volatile security definer set search_path from current as $$
declare
  environment bigint := check_seen_customer(p_customer);
  erasing record;
begin
  update payment_methods set is_default = false, detached_at = p_now, updated_at = greatest(updated_at, p_now)
   where environment_id = environment and customer_id = p_customer and detached_at is null;
  -- A session that is open can be confirmed no more.
  update checkout_sessions set expires_at = greatest(created_at + 1, p_now), updated_at = greatest(updated_at, p_now)
   where environment_id = environment and customer_id = p_customer and status = 'open' and expires_at > p_now;
  for erasing in
    select p.table_name, string_agg(format('%I = %s', p.column_name, p.erased), ', ') as assignments
      from personal_columns() p where p.erased is not null and p.table_name <> 'customers'
     group by p.table_name order by p.table_name
  loop
    execute format('update %I r set %s where r.environment_id = $1 and r.id in (
      select owned.record_id from records_of_customer($1, $2) owned where owned.table_name = %L)',
      erasing.table_name, erasing.assignments, erasing.table_name) using environment, p_customer;
  end loop;
  execute format('update customers r set archived = true, erased_at = $3, updated_at = $3, erased_external_id_mac = $4, %s
     where r.environment_id = $1 and r.id = $2 and r.erased_at is null',
    (select string_agg(format('%I = %s', p.column_name, p.erased), ', ') from personal_columns() p where p.table_name = 'customers'))
    using environment, p_customer, p_now, p_external_id_mac;
end $$;

-- Whether an entry of the audit log tells a value of these columns.
create function tells_values(entry json, columns text[]) returns boolean language sql immutable
  return exists (select from json_each(entry) e
                  where e.key = any (columns) and e.value::text not in ('null', '"(erased)"', '"(secret)"'));

-- The entry without them: an auditor still sees that the column was changed.
create function without_values(entry json, columns text[]) returns json language sql immutable
  return (select json_object_agg(e.key, case when e.key = any (columns) and e.value::text not in ('null', '"(secret)"')
                   then '"(erased)"'::json else e.value end)
            from json_each(entry) e);

-- Erases an erased customer's data from the audit log and from events, for the next records in order of their ids. Answers
-- the last of them, or null after the end. Action, actor and time of an entry stay, so nobody covers traces by an erasure.
create function erase_history(p_customer text, after_record text, at_most integer) returns text
  language plpgsql volatile security definer set search_path from current as $$
declare
  environment bigint := check_seen_customer(p_customer);
  ids text[];
  told text[];
begin
  if not exists (select from customers where environment_id = environment and id = p_customer and erased_at is not null) then
    raise insufficient_privilege using message = 'the customer was not erased';
  end if;
  ids := array(select r.record_id from told_records_of_customer(environment, p_customer) r
                where r.record_id collate "C" > after_record collate "C"
                order by r.record_id collate "C" limit at_most);
  update audit_log a
     set before = without_values(a.before, p.columns), after = without_values(a.after, p.columns)
    from (select audited_record(c.table_name) as record, array_agg(c.column_name) as columns
            from personal_columns() c group by c.table_name) p
   where a.environment_id = environment and a.record_id = any (ids) and a.record = p.record
     and (tells_values(a.before, p.columns) or tells_values(a.after, p.columns));
  -- Events since the erasure name the customer by its new external id, and hold nothing of it.
  with erased as (
    update events e
       set payload = e.payload || jsonb_build_object('customer',
             jsonb_build_object('id', p_customer, 'externalId', p_customer), 'data', null)
     where e.environment_id = environment and e.object_id = any (ids)
       and e.payload -> 'customer' ->> 'externalId' is distinct from p_customer
    returning e.id
  )
  select array_agg(id) into told from erased;
  -- A receiver may have answered with what it was sent, also while the statement above waited.
  update webhook_attempts t set answer = null
    from webhook_deliveries d
   where d.environment_id = environment and d.event_id = any (told)
     and t.environment_id = environment and t.delivery_id = d.id and t.answer is not null;
  return ids[cardinality(ids)];
end $$;

-- Erases the properties of an erased customer's usage events, for the next events in order of their series and ids. Answers
-- where the next call goes on, or nothing after the end. Amounts, dates and transaction ids stay: a repeat counts once.
create function erase_usage_properties(p_customer text, from_series bigint, after_event text, at_most integer)
  returns table (next_series bigint, next_event text)
  language plpgsql volatile security definer set search_path from current as $$
declare
  environment bigint := check_seen_customer(p_customer);
  series bigint := (select s.id from usage_series s
                     where s.environment_id = environment and s.customer_id = p_customer and s.id >= from_series
                       and exists (select from customers c where c.environment_id = environment and c.id = p_customer
                                      and c.erased_at is not null)
                     order by s.id limit 1);
  ids text[];
begin
  if series is null then
    return;
  end if;
  ids := array(select e.id from usage_events e
                where e.series_id = series and (series > from_series or e.id > after_event collate "C")
                order by e.series_id, e.id limit at_most);
  update usage_events e set properties = null, label = null
   where e.environment_id = environment and e.id = any (ids) and (e.properties is not null or e.label is not null);
  return query select case when cardinality(ids) = at_most then series else series + 1 end,
    case when cardinality(ids) = at_most then ids[at_most] else '' end;
end $$;

-- Records in which a completed erasure has left personal data. There must be none.
create function personal_data_left() returns table (environment_id bigint, customer_id text, record text, id text)
  language plpgsql stable set search_path from current as $$
declare
  looked record;
begin
  -- Most databases have erased nobody, and the statements below take long to plan.
  if not exists (select from customers c where c.erasure_completed_at is not null) then
    return;
  end if;
  for looked in
    select p.table_name, string_agg(format('r.%I::text is distinct from (%s)::text', p.column_name, p.erased), ' or ') as left_over
      from personal_columns() p where p.erased is not null group by p.table_name
  loop
    return query execute format('select c.environment_id, c.id, audited_record(%L), r.id
      from customers c cross join lateral records_of_customer(c.environment_id, c.id) owned
      join %I r on r.environment_id = c.environment_id and r.id = owned.record_id
     where c.erasure_completed_at is not null and owned.table_name = %L and (%s)',
      looked.table_name, looked.table_name, looked.table_name, looked.left_over);
  end loop;
  return query
    select c.environment_id, c.id, 'auditLogEntry', a.id
      from customers c cross join lateral told_records_of_customer(c.environment_id, c.id) owned
      join (select t.table_name, array_agg(t.column_name) as columns from personal_columns() t group by t.table_name) p
        on p.table_name = owned.table_name or (p.table_name = 'processor_customers' and owned.table_name = 'customers')
      join audit_log a on a.environment_id = c.environment_id and a.record_id = owned.record_id
       and a.record = audited_record(p.table_name)
     where c.erasure_completed_at is not null and (tells_values(a.before, p.columns) or tells_values(a.after, p.columns))
    union all
    select c.environment_id, c.id, 'event', e.id
      from customers c cross join lateral told_records_of_customer(c.environment_id, c.id) owned
      join events e on e.environment_id = c.environment_id and e.object_id = owned.record_id
     where c.erasure_completed_at is not null and e.payload -> 'customer' ->> 'externalId' is distinct from c.id
    union all
    select c.environment_id, c.id, 'usageEvent', e.id
      from customers c
      join usage_series s on s.environment_id = c.environment_id and s.customer_id = c.id
      join usage_events e on e.series_id = s.id
     where c.erasure_completed_at is not null and (e.properties is not null or e.label is not null)
    union all
    select c.environment_id, c.id, 'processorCustomer', p.processor
      from customers c join processor_customers p on p.environment_id = c.environment_id and p.customer_id = c.id
     where c.erasure_completed_at is not null;
end $$;
