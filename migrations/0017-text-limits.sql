-- The longest texts. The service refuses a longer one by the name of its field; these constraints hold whoever writes.

-- The longest text of each use, in characters. src/kernel/text-limits.ts has the same numbers.
create function text_limits() returns table (use text, longest integer) language sql immutable
  begin atomic
    values
      ('name', 255),
      ('longName', 265),
      ('email', 320),
      ('phone', 50),
      ('addressLine', 200),
      ('description', 2000),
      ('url', 2048),
      ('properties', 16384),
      ('storedMetadata', 48000);
  end;

-- The columns with texts of callers, and their uses. An `address`, `seller` or `buyer` is an object of texts. A new column with
-- such texts belongs here.
create function text_columns() returns table (table_name text, column_name text, use text) language sql immutable
  begin atomic
    values
      ('organizations', 'name', 'name'),
      ('environments', 'seller', 'seller'),
      ('environments', 'payment_instructions', 'description'),
      ('api_keys', 'name', 'name'),
      ('pricing_models', 'name', 'name'),
      ('usage_meters', 'name', 'name'),
      ('usage_meters', 'slug', 'name'),
      ('usage_meters', 'event_name', 'name'),
      ('usage_meters', 'where', 'storedMetadata'),
      ('usage_meters', 'value_property', 'name'),
      ('credit_pools', 'name', 'name'),
      ('credit_pools', 'slug', 'name'),
      ('credit_pools', 'unit', 'name'),
      ('credit_pool_rates', 'where', 'storedMetadata'),
      ('resources', 'name', 'name'),
      ('resources', 'slug', 'name'),
      ('features', 'name', 'name'),
      ('features', 'slug', 'name'),
      ('features', 'description', 'description'),
      ('products', 'name', 'name'),
      ('products', 'slug', 'name'),
      ('products', 'description', 'description'),
      ('products', 'image_url', 'url'),
      ('products', 'singular_quantity_label', 'name'),
      ('products', 'plural_quantity_label', 'name'),
      ('products', 'metadata', 'storedMetadata'),
      ('prices', 'name', 'name'),
      ('prices', 'slug', 'longName'),
      ('prices', 'metadata', 'storedMetadata'),
      ('prices', 'where', 'storedMetadata'),
      ('discounts', 'name', 'name'),
      ('discount_redemptions', 'name', 'name'),
      ('discount_redemptions', 'code', 'name'),
      ('invoice_items', 'description', 'description'),
      ('tax_rates', 'name', 'name'),
      ('tax_rates', 'state', 'name'),
      ('tax_rates', 'percentage', 'name'),
      ('customers', 'external_id', 'name'),
      ('customers', 'name', 'name'),
      ('customers', 'email', 'email'),
      ('customers', 'logo_url', 'url'),
      ('customers', 'icon_url', 'url'),
      ('customers', 'domain', 'name'),
      ('customers', 'user_id', 'name'),
      ('customers', 'billing_address', 'address'),
      ('customers', 'metadata', 'storedMetadata'),
      ('customers', 'billing_terms', 'storedMetadata'),
      ('payment_methods', 'billing_details', 'address'),
      ('payment_methods', 'metadata', 'storedMetadata'),
      ('subscriptions', 'name', 'name'),
      ('subscriptions', 'metadata', 'storedMetadata'),
      ('subscriptions', 'cancellation_comment', 'description'),
      ('invoices', 'metadata', 'storedMetadata'),
      ('subscription_items', 'name', 'longName'),
      ('subscription_items', 'external_id', 'name'),
      ('subscription_items', 'metadata', 'storedMetadata'),
      ('subscription_item_features', 'detached_reason', 'name'),
      ('resource_claims', 'external_id', 'name'),
      ('resource_claims', 'metadata', 'storedMetadata'),
      ('usage_events', 'transaction_id', 'name'),
      ('usage_events', 'properties', 'properties'),
      ('usage_credits', 'reason', 'description'),
      ('invoices', 'seller', 'seller'),
      ('invoices', 'buyer', 'buyer'),
      ('invoices', 'tax_state', 'name'),
      ('invoices', 'tax_rate_percentage', 'name'),
      ('invoices', 'memo', 'description'),
      ('invoices', 'footer', 'description'),
      ('invoices', 'purchase_order_number', 'name'),
      ('invoice_line_items', 'description', 'description'),
      ('credit_notes', 'reason', 'description'),
      ('customer_balance_entries', 'description', 'description'),
      ('payments', 'description', 'description'),
      ('payments', 'tax_state', 'name'),
      ('payments', 'tax_rate_percentage', 'name'),
      ('purchases', 'name', 'name'),
      ('purchases', 'subscription_name', 'name'),
      ('purchases', 'billing_address', 'address'),
      ('purchases', 'metadata', 'storedMetadata'),
      ('checkout_sessions', 'customer_name', 'name'),
      ('checkout_sessions', 'customer_email', 'email'),
      ('checkout_sessions', 'billing_address', 'address'),
      ('checkout_sessions', 'output_name', 'name'),
      ('checkout_sessions', 'output_metadata', 'storedMetadata'),
      ('checkout_sessions', 'metadata', 'storedMetadata'),
      ('checkout_sessions', 'success_url', 'url'),
      ('checkout_sessions', 'cancel_url', 'url'),
      ('webhooks', 'name', 'name'),
      ('webhooks', 'url', 'url');
  end;

-- The texts in an object of texts.
create function text_parts() returns table (shape text, path text[], use text) language sql immutable
  begin atomic
    values
      ('address', '{name}'::text[], 'name'),
      ('address', '{firstName}', 'name'),
      ('address', '{lastName}', 'name'),
      ('address', '{email}', 'email'),
      ('address', '{phone}', 'phone'),
      ('address', '{address,name}', 'name'),
      ('address', '{address,line1}', 'addressLine'),
      ('address', '{address,line2}', 'addressLine'),
      ('address', '{address,city}', 'addressLine'),
      ('address', '{address,state}', 'addressLine'),
      ('address', '{address,postal_code}', 'addressLine'),
      ('address', '{address,country}', 'addressLine'),
      ('seller', '{name}', 'name'),
      ('seller', '{email}', 'email'),
      ('seller', '{taxId}', 'name'),
      ('buyer', '{name}', 'name'),
      ('buyer', '{email}', 'email');
  end;

-- The condition that a text, as SQL, is as long as its use allows. Null is: a check that is null holds.
create function text_fits(source text, type regtype, text_use text) returns text language plpgsql stable as $$
declare
  longest integer := (select l.longest from text_limits() l where l.use = text_use);
begin
  if longest is not null then
    return format('char_length(%s) <= %s', case type when 'text'::regtype then source else source || '::text' end, longest);
  end if;
  return (select string_agg(text_fits(format('(%s #>> %L)', source, p.path), 'text', p.use), ' and ' order by p.path)
            from text_parts() p where p.shape = text_use)
    || case text_use
         when 'seller' then format($sql$ and jsonb_array_length(%1$s -> 'addressLines') <= 10
             and not jsonb_path_exists(%1$s, '$.addressLines[*] ? (@ like_regex "^.{201}" flag "s")')$sql$, source)
         when 'buyer' then ' and ' || text_fits(format('(%s -> ''billingAddress'')', source), 'jsonb', 'address')
             || format(' and coalesce(char_length((%s -> ''terms'')::text), 0) <= 48000', source)
         else '' end;
end $$;

do $$
declare
  texts record;
begin
  for texts in
    select c.table_name, string_agg(text_fits(quote_ident(c.column_name), a.atttypid::regtype, c.use), ' and ') as condition, c.column_name
      from text_columns() c
      join pg_attribute a on a.attrelid = c.table_name::regclass and a.attname = c.column_name
     group by c.table_name, c.column_name
  loop
    execute format('alter table %I add constraint %I check (%s)', texts.table_name,
                   texts.table_name || '_' || texts.column_name || '_length', texts.condition);
  end loop;
end $$;
