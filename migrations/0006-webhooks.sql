create table webhooks (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  name text not null,
  url text not null,
  active boolean not null,
  filter_types text[] not null,
  -- Encrypted by the service, with a key that the database does not know.
  sealed_secret text not null,
  -- The one before it, which messages are signed with too until it ends.
  sealed_previous_secret text,
  previous_secret_ends_at bigint,
  -- Since when every attempt has failed.
  failing_since bigint,
  -- Why the service switched it off, when it did.
  disabled_reason text,
  -- Grows with each change by a caller. Instants of a test clock may stand still and go back.
  revision bigint not null default 0,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, pricing_model_id) references pricing_models,
  constraint webhooks_previous_secret check ((sealed_previous_secret is null) = (previous_secret_ends_at is null)),
  constraint webhooks_disabled_is_inactive check (disabled_reason is null or not active)
) with (fillfactor = 80);

-- Whether an endpoint with this filter receives events of this type. An empty filter has the types that it had from the
-- beginning; what came later has to be named.
create function webhook_wants(filter_types text[], type text) returns boolean language sql immutable
  return case when filter_types = '{}' then type in ('customer.created', 'customer.updated', 'purchase.completed', 'payment.failed',
    'payment.succeeded', 'subscription.created', 'subscription.updated', 'subscription.canceled') else type = any(filter_types) end;

-- One event on its way to one endpoint, or a sample that has no event. Its instants are real time.
create table webhook_deliveries (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  webhook_id text collate "C" not null,
  event_id text collate "C",
  -- The body, where there is no event to have it from.
  sample jsonb,
  event_type text not null,
  object_id text collate "C" not null,
  -- The order in which an endpoint is told of an object: drawn in the commit of the change.
  sequence bigint generated always as identity,
  status text not null,
  -- Attempts ever made.
  attempts integer not null default 0,
  -- Attempts that failed since it was last begun: where it stands in the schedule.
  failures integer not null default 0,
  next_attempt_at bigint,
  last_attempt_at bigint,
  last_status_code integer,
  last_error text,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, webhook_id) references webhooks on delete cascade,
  foreign key (environment_id, event_id) references events,
  -- An event goes to an endpoint as one delivery, however often it is told.
  constraint webhook_deliveries_once unique (environment_id, event_id, webhook_id),
  constraint webhook_deliveries_body check ((event_id is null) = (sample is not null)),
  constraint webhook_deliveries_status check (status in ('pending', 'succeeded', 'failed')),
  constraint webhook_deliveries_pending_has_time check ((status = 'pending') = (next_attempt_at is not null)),
  constraint webhook_deliveries_counts check (failures >= 0 and failures <= attempts)
) with (fillfactor = 80);
create index webhook_deliveries_by_webhook on webhook_deliveries (environment_id, webhook_id, id);
create index webhook_deliveries_by_creation on webhook_deliveries (environment_id, webhook_id, created_at);
create index webhook_deliveries_due on webhook_deliveries (environment_id, webhook_id, next_attempt_at, sequence) where status = 'pending';
-- Those that later ones of the same object wait for.
create index webhook_deliveries_retried on webhook_deliveries (environment_id, webhook_id, object_id, sequence)
  where status = 'pending' and failures > 0;

create table webhook_attempts (
  environment_id bigint not null,
  delivery_id text collate "C" not null,
  -- 1 is the first.
  number integer not null,
  pricing_model_id text collate "C" not null,
  started_at bigint not null,
  duration_ms integer not null,
  status_code integer,
  error text,
  -- The first 2 KiB of the answer.
  answer text,
  primary key (environment_id, delivery_id, number),
  foreign key (environment_id, delivery_id) references webhook_deliveries on delete cascade,
  constraint webhook_attempts_number check (number >= 1),
  constraint webhook_attempts_answer check (octet_length(answer) <= 8192)
);
create index webhook_attempts_started_at on webhook_attempts (started_at);

-- Who sends is told of endpoints that have something to be sent, in the commit that makes it so.
create function announce_deliveries(environment_id bigint, webhook_id text) returns void language sql volatile
  begin atomic
    select pg_notify(current_schema() || '.webhook_deliveries', environment_id || ' ' || webhook_id);
  end;

-- An event is addressed in its own commit, whoever writes it: there is no moment at which it is known and could be lost.
-- An endpoint that is being deleted is waited for, and passed over when it is gone.
create function address_events() returns trigger language plpgsql volatile set search_path from current as $$
declare
  real_now bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint;
  published events[] := array(select row(a.*)::events from added a);
  addressed integer;
  endpoint record;
begin
  if is_moving() then
    return null;
  end if;
  insert into webhook_deliveries (environment_id, id, pricing_model_id, webhook_id, event_id, event_type, object_id, status,
         next_attempt_at, created_at, updated_at)
  select matched.environment_id, 'webhook_delivery_' || substr(matched.id, 7, 19) || substr(matched.webhook_id, 9) || right(matched.id, 2),
         matched.pricing_model_id, matched.webhook_id, matched.id, matched.type, matched.object_id, 'pending', real_now,
         real_now, real_now
    from (
      select e.environment_id, e.id, e.pricing_model_id, e.type, e.object_id, w.id as webhook_id
        from unnest(published) e
        join webhooks w on w.environment_id = e.environment_id and w.pricing_model_id = e.pricing_model_id
       where w.active and webhook_wants(w.filter_types, e.type)
       order by e.id
         for key share of w
    ) as matched;
  get diagnostics addressed = row_count;
  if addressed = 0 then
    return null;
  end if;
  for endpoint in
    select distinct w.environment_id, w.id as webhook_id
      from unnest(published) e
      join webhooks w on w.environment_id = e.environment_id and w.pricing_model_id = e.pricing_model_id
     where w.active and webhook_wants(w.filter_types, e.type)
  loop
    perform announce_deliveries(endpoint.environment_id, endpoint.webhook_id);
  end loop;
  return null;
end $$;
create trigger events_addressed after insert on events referencing new table as added
  for each statement execute function address_events();

-- Which keys have encrypted something here: a process that does not have them would read nothing.
create table encryption_keys (
  -- The first half of the SHA-256 of the key, in hexadecimal.
  id text primary key,
  created_at bigint not null
);

-- What was answered long ago goes, in every environment, a bounded number at a time.
create function forget_webhook_attempts(before bigint, at_most integer) returns bigint
  language sql volatile security definer set search_path from current
  begin atomic
    with forgotten as (
      delete from webhook_attempts where (environment_id, delivery_id, number) in
        (select environment_id, delivery_id, number from webhook_attempts where started_at <= before
          order by started_at limit at_most)
      returning 1)
    select count(*) from forgotten;
  end;

-- Emails to customers. The commit of an event queues its email, so none is lost and none is sent twice for one cause.

-- The email that an event causes, by its name in src/organizations/mail-setting.ts; null: customers get none.
create function email_of_event(event_type text, data jsonb) returns text language sql immutable set search_path from current
  return case event_type
    when 'invoice.sent' then 'invoice_issued'
    -- One that is due later, or that somebody wrote, is not charged by itself.
    when 'invoice.finalized' then case when data ->> 'status' = 'open' and data ->> 'autoCollect' is null
      and (data ->> 'type' = 'standalone' or (data ->> 'dueDate')::numeric > (data ->> 'invoiceDate')::numeric) then 'invoice_issued' end
    when 'payment.succeeded' then 'receipt'
    -- A buyer who is still on the page has seen a card refused there. An invoice that stays open has to be paid.
    -- A bank that wants the customer to confirm a charge (3-D Secure) declines one that nobody is there for.
    when 'payment.failed' then case when data ->> 'invoiceId' is null then null
      when data ->> 'failureCode' like '%authentication_required%' then 'payment_action_required' else 'payment_failed' end
    when 'payment.action_required' then 'payment_waiting'
    when 'subscription.canceled' then 'subscription_canceled'
    when 'credit_note.created' then 'credit_note_issued'
    when 'subscription.trial_will_end' then 'trial_ending'
    when 'payment_method.expiring' then 'card_expiring'
    when 'spend_limit.reached' then 'spend_limit_reached'
    when 'auto_top_up.action_required' then 'top_up_action_required' end;

-- An email to a customer. Its instants are real time.
create table emails (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  event_id text collate "C" not null,
  -- The email that it repeats on request.
  resent_from text collate "C",
  template text not null,
  status text not null default 'queued',
  attempts integer not null default 0,
  -- The addresses and the subject of the last attempt.
  recipients text[] not null default '{}',
  subject text,
  -- The addresses among them that the mail server refused for good.
  bounced_recipients text[] not null default '{}',
  last_error text,
  sent_at bigint,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, event_id) references events,
  foreign key (environment_id, resent_from) references emails deferrable,
  constraint emails_template check (template in ('invoice_issued', 'receipt', 'payment_failed', 'payment_action_required', 'payment_waiting', 'subscription_canceled', 'credit_note_issued', 'trial_ending', 'card_expiring', 'spend_limit_reached', 'top_up_action_required')),
  constraint emails_status check (status in ('queued', 'sent', 'bounced', 'failed', 'suppressed')),
  constraint emails_sent check ((status = 'sent') = (sent_at is not null)),
  constraint emails_attempts check (attempts >= 0 and (status <> 'sent' or attempts > 0)),
  constraint emails_recipients check (cardinality(recipients) <= 20 and char_length(array_to_string(recipients, ' ')) <= 6500),
  constraint emails_bounced check (bounced_recipients <@ recipients),
  constraint emails_texts check (char_length(subject) <= 255 and char_length(last_error) <= 500)
);
-- A cause has one email, however often it is told.
create unique index emails_once on emails (environment_id, event_id, template) where resent_from is null;
create index emails_by_event on emails (environment_id, event_id);
create index emails_by_customer on emails (environment_id, customer_id, id);
create index emails_by_status on emails (environment_id, status, id);
create index emails_by_template on emails (environment_id, template, id);
create index emails_by_creation on emails (environment_id, created_at);
create index emails_by_origin on emails (environment_id, resent_from) where resent_from is not null;

create function queue_emails() returns trigger language plpgsql volatile set search_path from current as $$
declare
  real_now bigint := (extract(epoch from clock_timestamp()) * 1000)::bigint;
  published events[] := array(select row(a.*)::events from added a where email_of_event(a.type, a.payload -> 'data') is not null);
  queued events[];
  caused events;
begin
  if cardinality(published) = 0 or is_moving() then
    return null;
  end if;
  queued := array(
    select row(a.*)::events
      from unnest(published) a
      join environments e on e.id = a.environment_id and (e.mail ->> 'enabled')::boolean
      join customers c on c.environment_id = a.environment_id and c.id = a.payload -> 'customer' ->> 'id'
     order by a.id);
  insert into emails (environment_id, id, pricing_model_id, customer_id, event_id, template, created_at, updated_at)
  select a.environment_id, 'email_' || substr(a.id, 7), a.pricing_model_id, a.payload -> 'customer' ->> 'id', a.id,
         email_of_event(a.type, a.payload -> 'data'), real_now, real_now
    from one_row, unnest(queued) a
   order by a.id;
  foreach caused in array queued loop
    perform enqueue_job('send_email', json_build_object('environmentId', caused.environment_id, 'emailId', 'email_' || substr(caused.id, 7)),
                        'email:email_' || substr(caused.id, 7), null, 25);
  end loop;
  return null;
end $$;
create trigger events_mailed after insert on events referencing new table as added
  for each statement execute function queue_emails();
