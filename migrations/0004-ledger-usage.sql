-- One account per (subscription, usage meter). Its sides are columns of one row, updated in the commit of their entries,
-- so a balance is read and never summed. available = what may still be used: negative is usage without credit.
create table ledger_accounts (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  subscription_id text collate "C" not null,
  usage_meter_id text collate "C" not null,
  granted numeric(38, 0) not null default 0,
  used numeric(38, 0) not null default 0,
  covered numeric(38, 0) not null default 0,
  expired numeric(38, 0) not null default 0,
  settled numeric(38, 0) not null default 0,
  available numeric(38, 0) not null generated always as (granted + settled - used - expired) stored,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, usage_meter_id) references usage_meters,
  constraint ledger_accounts_one_per_meter unique (environment_id, subscription_id, usage_meter_id),
  constraint ledger_accounts_sides check (granted >= 0 and used >= 0 and expired >= 0 and settled >= 0 and covered >= 0
    and covered + settled <= used and covered + expired <= granted)
) with (fillfactor = 70);
comment on column ledger_accounts.granted is 'Credits ever granted.';
comment on column ledger_accounts.used is 'Units ever used.';
comment on column ledger_accounts.covered is 'Used units that credits paid for.';
comment on column ledger_accounts.expired is 'Credits that ended unused.';
comment on column ledger_accounts.settled is 'Used units that a paid invoice paid for.';

create table ledger_transactions (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  type text not null,
  source_id text collate "C" not null,
  occurred_at bigint not null,
  created_at bigint not null,
  primary key (environment_id, id),
  -- The same business fact is booked once, however often it is told.
  constraint ledger_transactions_once unique (environment_id, type, source_id),
  constraint ledger_transactions_type check (type in ('usage_event_processed', 'credit_grant_recognized', 'billing_period_transition',
    'credit_grant_expired', 'settle_invoice_usage_costs', 'admin_credit_adjusted'))
);

create table usage_credits (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  ledger_account_id text collate "C" not null,
  feature_id text collate "C",
  billing_period_id text collate "C",
  source text not null,
  source_id text collate "C" not null,
  issued numeric(38, 0) not null,
  applied numeric(38, 0) not null default 0,
  expired numeric(38, 0) not null default 0,
  -- A column of its own, so that the index of open credits names nothing that each use changes: the row stays in its page.
  spent boolean not null generated always as (applied + expired = issued) stored,
  expires_at bigint,
  granted_at bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  foreign key (environment_id, feature_id) references features,
  constraint usage_credits_once unique (environment_id, source, source_id),
  constraint usage_credits_never_over_applied check (issued > 0 and applied >= 0 and expired >= 0 and applied + expired <= issued)
) with (fillfactor = 70);
create index usage_credits_open on usage_credits (environment_id, ledger_account_id, expires_at, id) where not spent;
create index usage_credits_by_account on usage_credits (environment_id, ledger_account_id);

-- An entry moves an amount from one side of its account to another: it names both, so it cannot fail to sum to zero.
create table ledger_entries (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  ledger_transaction_id text collate "C" not null,
  ledger_account_id text collate "C" not null,
  debit_side text not null,
  credit_side text not null,
  amount numeric(38, 0) not null,
  price_id text collate "C",
  billing_period_id text collate "C",
  usage_credit_id text collate "C",
  created_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, ledger_transaction_id) references ledger_transactions,
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  foreign key (environment_id, price_id) references prices,
  foreign key (environment_id, billing_period_id) references billing_periods,
  foreign key (environment_id, usage_credit_id) references usage_credits,
  constraint ledger_entries_amount_positive check (amount > 0),
  constraint ledger_entries_sides check ((debit_side, credit_side) in
    (('available', 'used'), ('granted', 'available'), ('available', 'expired'), ('settled', 'available')))
);
create index ledger_entries_by_account on ledger_entries (environment_id, ledger_account_id, id);
create index ledger_entries_by_transaction on ledger_entries (environment_id, ledger_transaction_id);

create table usage_credit_applications (
  environment_id bigint not null,
  ledger_entry_id text collate "C" not null,
  usage_credit_id text collate "C" not null,
  amount numeric(38, 0) not null,
  primary key (environment_id, ledger_entry_id, usage_credit_id),
  foreign key (environment_id, ledger_entry_id) references ledger_entries,
  foreign key (environment_id, usage_credit_id) references usage_credits,
  constraint usage_credit_applications_amount_positive check (amount > 0)
);

-- Usage that no credit covered, by the price it is billed at: what the next invoice bills is uncovered - invoiced.
create table usage_overages (
  environment_id bigint not null,
  ledger_account_id text collate "C" not null,
  price_id text collate "C" not null,
  uncovered numeric(38, 0) not null default 0,
  invoiced numeric(38, 0) not null default 0,
  primary key (environment_id, ledger_account_id, price_id),
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  foreign key (environment_id, price_id) references prices,
  constraint usage_overages_never_over_invoiced check (invoiced >= 0 and invoiced <= uncovered)
) with (fillfactor = 70);

create table usage_events (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  subscription_id text collate "C" not null,
  usage_meter_id text collate "C" not null,
  price_id text collate "C" not null,
  billing_period_id text collate "C",
  transaction_id text collate "C" not null,
  amount bigint not null,
  usage_date bigint not null,
  -- As sent, key order included: the answer to a repeat equals the first answer to the letter.
  properties json,
  created_at bigint not null,
  primary key (environment_id, id),
  -- Counting twice is impossible: the same transaction counts once on a meter, for ever.
  constraint usage_events_transaction_unique unique (environment_id, usage_meter_id, transaction_id),
  constraint usage_events_amount check (amount between 1 and 9007199254740991)
);
create index usage_events_by_subscription on usage_events (environment_id, subscription_id, id);

-- In place of foreign keys, which would look up the same few rows for each of ten thousand events and so take half the
-- time of an ingest: each combination is looked up once, and all of it must belong together. What an event points at
-- cannot be deleted either: its ledger account and entry have foreign keys to the same rows.
create function check_usage_event_references() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
  if exists (
    select from (select distinct environment_id, pricing_model_id, customer_id, subscription_id, usage_meter_id, price_id, billing_period_id
                   from added) e
     where not exists (select from subscriptions s where s.environment_id = e.environment_id and s.id = e.subscription_id
                          and s.customer_id = e.customer_id and s.pricing_model_id = e.pricing_model_id)
        or not exists (select from prices p where p.environment_id = e.environment_id and p.id = e.price_id
                          and p.usage_meter_id = e.usage_meter_id and p.pricing_model_id = e.pricing_model_id)
        or (e.billing_period_id is not null
            and not exists (select from billing_periods b where b.environment_id = e.environment_id and b.id = e.billing_period_id
                               and b.subscription_id = e.subscription_id)))
  then
    raise foreign_key_violation using message = 'a usage event points at records that do not exist or do not belong together',
      table = 'usage_events', constraint = 'usage_events_references';
  end if;
  return null;
end $$;
create trigger usage_events_references after insert on usage_events referencing new table as added
  for each statement execute function check_usage_event_references();

-- The first event with the same properties in a period counts: usage_event_id. The digest remembers which were seen.
create table usage_event_distinct_properties (
  environment_id bigint not null,
  subscription_id text collate "C" not null,
  usage_meter_id text collate "C" not null,
  billing_period_id text collate "C" not null,
  digest bytea not null,
  usage_event_id text collate "C" not null,
  primary key (environment_id, subscription_id, usage_meter_id, billing_period_id, digest),
  foreign key (environment_id, usage_event_id) references usage_events,
  constraint usage_event_distinct_properties_digest_is_sha256 check (octet_length(digest) = 32)
);
