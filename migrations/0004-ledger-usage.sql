-- Only primary keys begin with the environment here. While a table is new, PostgreSQL takes any other index that begins so for
-- as good a way to (environment_id, id), finds all rows of the environment by it for each that is asked for, and keeps that
-- plan until the table is analysed: seconds for the first load of a few thousand accounts.

-- One account per (subscription, usage meter). A customer has an account of its own per usage meter, on which credits wait for a
-- subscription. The sides of an account are columns of one row, updated in the commit of their entries,
-- so a balance is read and never summed. available = what may still be used: negative is usage without credit. `held` is
-- set aside from it by holds and on no side: a hold is a promise, not a booking.
create table ledger_accounts (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  -- Null: the account of a customer.
  subscription_id text collate "C",
  -- That of its subscription; 0 without one. Usage compares it with the revision that its process has cached, on the row that it locks anyway.
  subscription_revision bigint not null,
  usage_meter_id text collate "C" not null,
  granted numeric(38, 0) not null default 0,
  used numeric(38, 0) not null default 0,
  covered numeric(38, 0) not null default 0,
  expired numeric(38, 0) not null default 0,
  settled numeric(38, 0) not null default 0,
  taken_back numeric(38, 0) not null default 0,
  pooled numeric(38, 0) not null default 0,
  available numeric(38, 0) not null generated always as (granted + settled + pooled - used - expired - taken_back) stored,
  held numeric(38, 0) not null default 0,
  -- Of `covered`, what stands in the rows of credits. The rest is drawn from one credit, `pending_credit_id`, whose own row is not
  -- written each time that it pays, but once it is used up or something else is to change it: until then `pending_limit` is left there.
  applied numeric(38, 0) not null default 0,
  pending_credit_id text collate "C",
  pending_limit numeric(38, 0) not null default 0,
  -- No credit with a rest ends before; null: none ends. It is said anew where credits are granted, so it may have passed.
  credits_end_at bigint,
  -- A roll-up that is still added to: what the events of one series with a date in one hour add up to. It becomes, or becomes a
  -- part of, a row of usage_rollups when that of a later hour takes its place.
  open_series_id bigint,
  open_hour bigint,
  open_units numeric(38, 0),
  open_events bigint,
  created_at bigint not null,
  updated_at bigint not null,
  -- Null: the account of a subscription, which names the customer.
  customer_id text collate "C",
  primary key (environment_id, id),
  foreign key (environment_id, subscription_id) references subscriptions,
  constraint ledger_accounts_subject foreign key (environment_id, usage_meter_id) references credit_subjects,
  foreign key (environment_id, customer_id) references customers,
  constraint ledger_accounts_one_per_meter unique (subscription_id, usage_meter_id, environment_id),
  constraint ledger_accounts_owner check (num_nulls(subscription_id, customer_id) = 1),
  -- Only a subscription uses a meter. A credit pool of a customer is drawn from for such use.
  constraint ledger_accounts_waiting check (customer_id is null or settled = 0 and pooled = 0 and subscription_revision = 0
    and (starts_with(usage_meter_id, 'credit_pool_') or used = 0 and held = 0)),
  -- No more than it has is drawn from a credit pool.
  constraint ledger_accounts_pool check (not starts_with(usage_meter_id, 'credit_pool_')
    or customer_id is not null and used = covered and covered = applied and open_series_id is null),
  constraint ledger_accounts_sides check (least(granted, used, expired, settled, covered, taken_back, held, pooled) >= 0
    and covered + settled + pooled <= used and covered + expired + taken_back <= granted),
  constraint ledger_accounts_pending check (applied >= 0 and case when pending_credit_id is null
    then covered = applied else covered > applied and covered - applied < pending_limit end),
  constraint ledger_accounts_open_rollup check (num_nulls(open_series_id, open_hour, open_units, open_events) in (0, 4)
    and open_hour % 3600000 = 0 and open_units >= 0 and open_events > 0)
-- Two batches in flight can write every account of a page. Room for their versions keeps each update in its page (HOT).
) with (fillfactor = 25);
create unique index ledger_accounts_one_waiting on ledger_accounts (customer_id, usage_meter_id, environment_id)
  where customer_id is not null;
comment on column ledger_accounts.granted is 'Credits ever granted.';
comment on column ledger_accounts.used is 'Units ever used.';
comment on column ledger_accounts.covered is 'Used units that credits paid for.';
comment on column ledger_accounts.expired is 'Credits that ended unused.';
comment on column ledger_accounts.settled is 'Used units that a paid invoice paid for.';
comment on column ledger_accounts.taken_back is 'Unused credits that were taken back.';
comment on column ledger_accounts.pooled is 'Used units that credit pools paid for.';
comment on column ledger_accounts.usage_meter_id is 'A usage meter, or the credit pool that has credits in its smallest units.';
comment on column ledger_accounts.held is 'Units of open holds, those that have ended and were not looked at since included.';

-- Whoever changes a subscription in a way that decides about usage waits for the usage that is under way on its accounts, and
-- usage that comes later meets another revision there. In the order in which all accounts are locked.
create function tell_subscription_revisions() returns trigger language plpgsql security definer
  set search_path from current as $$
declare
  environments bigint[];
  ids text[];
  revisions bigint[];
begin
  select array_agg(environment_id), array_agg(id), array_agg(revision) into environments, ids, revisions from changed;
  with revised as (
    select a.environment_id, a.id, s.revision
      from unnest(environments, ids, revisions) as s (environment_id, id, revision)
      join ledger_accounts a on a.subscription_id = s.id and a.environment_id = s.environment_id
       and a.subscription_revision <> s.revision
     order by a.subscription_id, a.usage_meter_id for no key update of a
  )
  update ledger_accounts a set subscription_revision = revised.revision from revised
   where a.environment_id = revised.environment_id and a.id = revised.id;
  return null;
end $$;
create trigger subscriptions_revisions_told after update on subscriptions referencing new table as changed
  for each statement execute function tell_subscription_revisions();

create table ledger_transactions (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  type text not null,
  source_id text collate "C" not null,
  occurred_at bigint not null,
  created_at bigint not null,
  primary key (environment_id, id),
  constraint ledger_transactions_type check (type in ('usage_event_processed', 'credit_grant_recognized', 'billing_period_transition',
    'credit_grant_expired', 'credit_taken_back', 'credit_taken_back_by_hand', 'credit_transferred', 'settle_invoice_usage_costs',
    'settlement_undone', 'admin_credit_adjusted'))
);
-- The same business fact is booked once, however often it is told. Numbers of units of usage are those of a cell, and a customer
-- takes them along into another one.
create unique index ledger_transactions_once on ledger_transactions (type, source_id, environment_id) where type <> 'usage_event_processed';
create index ledger_transactions_of_usage on ledger_transactions (source_id, environment_id) where type = 'usage_event_processed';

create table usage_credits (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  ledger_account_id text collate "C" not null,
  feature_id text collate "C",
  billing_period_id text collate "C",
  -- On the account of a credit pool: the subscription whose plan or feature granted it. Null: it belongs to the customer.
  subscription_id text collate "C",
  source text not null,
  source_id text collate "C" not null,
  -- Credits with a lower number are used first.
  priority integer not null default 100,
  reason text,
  issued numeric(38, 0) not null,
  applied numeric(38, 0) not null default 0,
  expired numeric(38, 0) not null default 0,
  taken_back numeric(38, 0) not null default 0,
  -- The part of it that a pause took back.
  paused_back numeric(38, 0) not null default 0,
  -- Units of paused time that a pause could not take back, because they were used or held. The next credits pay them back.
  paused_owed numeric(38, 0) not null default 0,
  -- Units of paused time that the seller had taken back by hand before. Nobody used them, so they are not owed.
  paused_by_hand numeric(38, 0) not null default 0,
  -- The part of taken_back that paid back what a pause left owing on the account.
  withheld numeric(38, 0) not null default 0,
  -- The part of taken_back that the seller took back by hand: nobody has used these units.
  taken_by_hand numeric(38, 0) not null default 0,
  -- A column of its own, so that the index of open credits names nothing that each use changes: the row stays in its page.
  spent boolean not null generated always as (applied + expired + taken_back = issued) stored,
  expires_at bigint,
  -- For credits that come each interval: the start of the time that they are for. Null: they are for a billing period, or forever.
  interval_start_at bigint,
  -- The credit of an ended subscription whose units these are.
  transferred_from text collate "C",
  granted_at bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  foreign key (environment_id, feature_id) references features,
  foreign key (environment_id, billing_period_id) references billing_periods,
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, transferred_from) references usage_credits deferrable,
  constraint usage_credits_once unique (source, source_id, environment_id),
  constraint usage_credits_never_over_applied check (issued > 0 and least(applied, expired, taken_back) >= 0
    and applied + expired + taken_back <= issued),
  constraint usage_credits_paused_back check (least(paused_back, withheld, taken_by_hand) >= 0
    and paused_back + withheld + taken_by_hand <= taken_back),
  constraint usage_credits_paused_owed check (least(paused_owed, paused_by_hand) >= 0 and paused_back + paused_owed <= issued),
  constraint usage_credits_priority check (priority between 0 and 1000),
  -- One that is given up in the instant in which its interval began has no time left.
  constraint usage_credits_interval check (interval_start_at is null or expires_at is null or interval_start_at <= expires_at)
) with (fillfactor = 70);
-- Whether a credit belongs to its customer, and not to the plan of its subscription. It was bought, or granted by hand, also with a
-- feature that was added by hand. Transferred credits are such credits.
create function belongs_to_customer(source text, transferred_from text, feature_id text, source_id text) returns boolean language sql immutable
  return source = 'purchase' or transferred_from is not null
    or source = 'manual_adjustment' and (feature_id is null or starts_with(source_id, feature_id || ':'));

alter table ledger_accounts add foreign key (environment_id, pending_credit_id) references usage_credits deferrable;
create index usage_credits_open on usage_credits (ledger_account_id, priority, expires_at, id) where not spent;
create index usage_credits_by_origin on usage_credits (environment_id, transferred_from) where transferred_from is not null;
create index usage_credits_by_creation on usage_credits (environment_id, created_at);
create index usage_credits_owing on usage_credits (ledger_account_id) where paused_owed > 0 or withheld > 0;
create index usage_credits_by_account on usage_credits (ledger_account_id, expires_at);
-- Credits whose end comes by itself. Those of a plan end with its period or interval.
create index usage_credits_ending on usage_credits (environment_id, expires_at)
  where not spent and expires_at is not null and (source in ('purchase', 'rollover') or transferred_from is not null
    or source = 'manual_adjustment' and feature_id is null);

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
  -- The credits that paid for usage, and how much each. In the row of the entry, because that is made with them and never
  -- changes: a table of their own would cost as much again as the entry does.
  applied_credit_ids text[] collate "C",
  applied_amounts numeric(38, 0)[],
  -- For usage that a credit pool paid for: the pool, and the smallest units of it that a unit of the meter cost then, or that all
  -- of the units cost at their price.
  credit_pool_id text collate "C",
  pool_unit_cost numeric(38, 0),
  pool_amount numeric(38, 0),
  -- What is available on the account with this entry, so that the balance of any past instant is one look.
  available_after numeric(38, 0) not null,
  -- Drawn while the account is locked: the order in which entries were booked on it. created_at never goes against it.
  sequence bigint generated always as identity,
  created_at bigint not null,
  -- In the order of their account, in which they are read: an index on the id would be looked at by nobody.
  primary key (environment_id, ledger_account_id, created_at, sequence),
  constraint ledger_entries_amount_positive check (amount > 0),
  constraint ledger_entries_sides check (debit_side || ' to ' || credit_side in
    ('available to used', 'granted to available', 'available to expired', 'available to taken_back',
     'settled to available', 'available to settled', 'pooled to used')),
  constraint ledger_entries_pooled check (num_nonnulls(credit_pool_id) + num_nonnulls(pool_unit_cost, pool_amount) = case debit_side when 'pooled' then 2 else 0 end
    and (debit_side <> 'pooled' or credit_pool_id is not null) and pool_unit_cost > 0 and pool_amount >= 0 and (debit_side <> 'pooled' or applied_credit_ids is null)),
  constraint ledger_entries_applications check ((applied_credit_ids is null) = (applied_amounts is null) and (applied_credit_ids is null
    or credit_side = 'used' and coalesce(array_ndims(applied_credit_ids), 0) = 1 and coalesce(array_ndims(applied_amounts), 0) = 1
      and cardinality(applied_credit_ids) = cardinality(applied_amounts) and array_position(applied_credit_ids, null) is null
      and array_position(applied_amounts, null) is null and 0 < all (applied_amounts)))
);

-- In place of foreign keys, which would look up and lock one row after the other: a look at all that a statement adds. As the
-- owner, whom no row-level security slows down, and by subqueries that only an index can answer, whatever the first call
-- looked like that the plan was made for. Nobody may delete what is pointed at.
create function check_ledger_entry_references() returns trigger language plpgsql security definer
  set search_path from current as $$
declare
  is_broken boolean;
  is_special boolean;
  entries ledger_entries[] := array(select row(a.*)::ledger_entries from added a);
begin
  -- The entries of a statement share their transaction and a few prices: each is looked up once. Most are usage that one
  -- credit paid for. It points at its account itself, and mostly at the same period. By itself, as the plan for what else there
  -- may be takes longer to set up than this to carry out.
  select exists (
           select from (select distinct environment_id, ledger_transaction_id as id from unnest(entries)) e
            where (select true from ledger_transactions t where t.environment_id = e.environment_id and t.id = e.id) is null)
      or exists (
           select from (select distinct environment_id, price_id as id from unnest(entries) where price_id is not null) e
            where (select true from prices p where p.environment_id = e.environment_id and p.id = e.id) is null),
         exists (
           select from unnest(entries) e
            where e.usage_credit_id is not null or e.credit_pool_id is not null or cardinality(e.applied_credit_ids) is distinct from 1
               or (select c.ledger_account_id = e.ledger_account_id
                          and (e.billing_period_id is null or e.billing_period_id = c.billing_period_id)
                     from usage_credits c where c.environment_id = e.environment_id and c.id = e.applied_credit_ids[1]) is not true)
    into is_broken, is_special;
  if is_special and not is_broken then
    is_broken := exists (
      select from unnest(entries) e
       where (select true from ledger_accounts a where a.environment_id = e.environment_id and a.id = e.ledger_account_id) is null
          or (e.billing_period_id is not null
              and (select true from billing_periods b where b.environment_id = e.environment_id and b.id = e.billing_period_id) is null)
          or exists (select from unnest(e.applied_credit_ids) as applied (id)
                      where (select c.ledger_account_id = e.ledger_account_id from usage_credits c
                              where c.environment_id = e.environment_id and c.id = applied.id) is not true)
          or (e.credit_pool_id is not null
              and (select true from credit_pools p where p.environment_id = e.environment_id and p.id = e.credit_pool_id) is null)
          or (e.usage_credit_id is not null
              and (select true from usage_credits c where c.environment_id = e.environment_id and c.id = e.usage_credit_id) is null));
  end if;
  if is_broken then
    raise foreign_key_violation using message = 'a ledger entry points at records that do not exist',
      table = 'ledger_entries', constraint = 'ledger_entries_references';
  end if;
  if is_special and exists (
    select from unnest(entries) e
     where (select count(distinct applied.id) from unnest(e.applied_credit_ids) as applied (id)) < cardinality(e.applied_credit_ids))
  then
    raise check_violation using message = 'a ledger entry names a credit twice',
      table = 'ledger_entries', constraint = 'ledger_entries_applications';
  end if;
  return null;
end $$;
create trigger ledger_entries_references after insert on ledger_entries referencing new table as added
  for each statement execute function check_ledger_entry_references();

-- Usage that no credit covered, by the price it is billed at: what the next invoice bills is uncovered - invoiced. At a price with
-- an amount for each event, or with events that bring their own price, all events count, also those that credits cover. Own prices
-- are added up in 10^-12 of a minor unit.
create table usage_overages (
  environment_id bigint not null,
  ledger_account_id text collate "C" not null,
  price_id text collate "C" not null,
  uncovered numeric(38, 0) not null default 0,
  invoiced numeric(38, 0) not null default 0,
  events numeric(38, 0) not null default 0,
  invoiced_events numeric(38, 0) not null default 0,
  own_amount numeric(38, 0) not null default 0,
  invoiced_own_amount numeric(38, 0) not null default 0,
  primary key (environment_id, ledger_account_id, price_id),
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  foreign key (environment_id, price_id) references prices,
  constraint usage_overages_never_over_invoiced check (invoiced >= 0 and invoiced <= uncovered),
  constraint usage_overages_events check (invoiced_events between 0 and events and invoiced_own_amount between 0 and own_amount)
) with (fillfactor = 70);

-- The amounts that invoices bill for the usage of a usage period at a price with a `pricing`. A later part of the period is worth
-- the price of all its units less `amount`. Units of an invoice that nobody is to pay are `released`, for the next invoice.
create table usage_charges (
  environment_id bigint not null,
  ledger_account_id text collate "C" not null,
  price_id text collate "C" not null,
  period_start bigint not null,
  units numeric(38, 0) not null,
  released numeric(38, 0) not null,
  amount numeric(38, 0) not null,
  events numeric(38, 0) not null default 0,
  released_events numeric(38, 0) not null default 0,
  own_amount numeric(38, 0) not null default 0,
  released_own_amount numeric(38, 0) not null default 0,
  -- On a meter whose units are measured, they are units / per; else null. What its plan did not bill is waived. Where an invoice
  -- is not to be paid any more, the period is reopened for the next bill.
  per numeric(38, 0),
  waived numeric(38, 0) not null default 0,
  reopened boolean not null default false,
  primary key (environment_id, ledger_account_id, price_id, period_start),
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  foreign key (environment_id, price_id) references prices,
  constraint usage_charges_measured check (per > 0 and released = 0 and events = 0 or per is null and waived = 0 and not reopened),
  constraint usage_charges_units check (released >= 0 and released <= units),
  constraint usage_charges_events check (released_events between 0 and events and released_own_amount between 0 and own_amount)
) with (fillfactor = 70);

-- What a pool in money has drawn at a price in one usage period: the price of the units that it paid for, rounded once to a smallest
-- unit of the pool. A later part of the period costs the price of all of them less `amount`. A period keeps its terms.
create table pool_draws (
  environment_id bigint not null,
  ledger_account_id text collate "C" not null,
  price_id text collate "C" not null,
  period_start bigint not null,
  credit_pool_id text collate "C" not null,
  unit_price numeric(38, 0) not null,
  usage_events_per_unit bigint not null,
  pricing jsonb,
  units numeric(38, 0) not null,
  events numeric(38, 0) not null,
  own_amount numeric(38, 0) not null,
  amount numeric(38, 0) not null,
  primary key (environment_id, ledger_account_id, price_id, period_start),
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  foreign key (environment_id, price_id) references prices,
  foreign key (environment_id, credit_pool_id) references credit_pools,
  constraint pool_draws_amounts check (units > 0 and usage_events_per_unit > 0 and least(events, own_amount, amount, unit_price) >= 0)
) with (fillfactor = 70);

-- The running totals of a measured meter in the usage period that is open, kept in the commit that stores its events. So a bill
-- reads one row, however many events there were. Who changes it has locked the account.
create table usage_measures (
  environment_id bigint not null,
  ledger_account_id text collate "C" not null,
  period_start bigint not null,
  -- Bookings up to this number are of earlier periods.
  booked_before bigint not null,
  -- The value at the start, where it is held over periods. Else 0.
  opening_value numeric(38, 0) not null,
  -- The largest amount, that of the latest event, or the sum of all.
  value numeric(38, 0) not null,
  -- The latest instant from which an event counts; without events the start.
  value_at bigint not null,
  -- The latest event by its date, where an event sets the value. No foreign key: events are dropped by time.
  event_date bigint,
  event_id text collate "C",
  -- The sum of value x time from the start until value_at. In days, counted from days_from, where they prorate it; else in ms.
  value_time numeric(38, 0) not null,
  days_from bigint,
  primary key (environment_id, ledger_account_id),
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  constraint usage_measures_runs_forward check (value_at >= period_start),
  constraint usage_measures_latest_event check (num_nulls(event_date, event_id) in (0, 2))
) with (fillfactor = 70);

-- The values that events of unit_hours set in the usage period that is open, by date: an event that arrives late finds the
-- values around it. Those of earlier periods are deleted little by little.
create table usage_levels (
  environment_id bigint not null,
  ledger_account_id text collate "C" not null,
  period_start bigint not null,
  event_date bigint not null,
  event_id text collate "C" not null,
  value numeric(38, 0) not null,
  primary key (environment_id, ledger_account_id, period_start, event_date, event_id),
  foreign key (environment_id, ledger_account_id) references ledger_accounts
);

-- Subscriptions whose unbilled usage may have come to their threshold since it was looked at last: written in the commit that
-- books the usage, and deleted by who looks, after it has locked the accounts.
create table usage_threshold_checks (
  environment_id bigint not null,
  subscription_id text collate "C" not null,
  due_at bigint not null,
  primary key (environment_id, subscription_id),
  foreign key (environment_id, subscription_id) references subscriptions
);
create index usage_threshold_checks_due on usage_threshold_checks (environment_id, due_at);

-- A balance that is to be looked at: it crossed the line, a back-off is over, or a new month has a new maximum.
create table auto_top_up_checks (
  environment_id bigint not null,
  customer_id text collate "C" not null,
  due_at bigint not null,
  primary key (environment_id, customer_id),
  foreign key (environment_id, customer_id) references customers
);
create index auto_top_up_checks_due on auto_top_up_checks (environment_id, due_at);

-- Units set aside for a job that is under way. An open hold whose end has come holds nothing any more.
create table usage_holds (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  ledger_account_id text collate "C" not null,
  price_id text collate "C" not null,
  amount bigint not null,
  status text not null default 'open',
  settled_amount bigint,
  expires_at bigint not null,
  label text,
  created_at bigint not null,
  updated_at bigint not null,
  -- The part of the units that a credit pool is to pay for: on its account, in its smallest units.
  pooled bigint not null default 0,
  pool_account_id text collate "C",
  pool_amount numeric(38, 0),
  primary key (environment_id, id),
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  foreign key (environment_id, pool_account_id) references ledger_accounts,
  foreign key (environment_id, price_id) references prices,
  constraint usage_holds_label_length check (char_length(label) <= 255),
  constraint usage_holds_pooled check (pooled between 0 and amount and num_nonnulls(pool_account_id, pool_amount) = case when pooled = 0 then 0 else 2 end
    and pool_amount >= 0),
  constraint usage_holds_status check (status in ('open', 'settled', 'released', 'expired')),
  constraint usage_holds_amounts check (amount between 1 and 9007199254740991 and settled_amount between 0 and 9007199254740991
    and (status = 'settled') = (settled_amount is not null))
) with (fillfactor = 70);
create index usage_holds_open on usage_holds (ledger_account_id, expires_at) where status = 'open';
create index usage_holds_open_of_pools on usage_holds (pool_account_id, expires_at) where status = 'open' and pool_account_id is not null;
create index usage_holds_by_creation on usage_holds (environment_id, created_at);
create index usage_holds_by_account on usage_holds (ledger_account_id, id);

-- What all events of a subscription at one price in one billing period have in common. An event names it by a number, and
-- is a third as long as it would be with seven ids. A series never changes.
create table usage_series (
  environment_id bigint not null,
  id bigint generated always as identity,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  subscription_id text collate "C" not null,
  usage_meter_id text collate "C" not null,
  price_id text collate "C" not null,
  billing_period_id text collate "C",
  ledger_account_id text collate "C" not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, usage_meter_id) references usage_meters,
  foreign key (environment_id, price_id) references prices,
  foreign key (environment_id, billing_period_id) references billing_periods,
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  constraint usage_series_once unique nulls not distinct (subscription_id, billing_period_id, price_id, environment_id)
);
alter table ledger_accounts add foreign key (environment_id, open_series_id) references usage_series deferrable;
-- For row-level security on what names a series: whether the one who asks sees it. A function, because the planner takes
-- a condition with a subquery for so expensive that it avoids to read many rows.
create function sees_series(wanted_environment bigint, wanted_series bigint) returns boolean
  language plpgsql stable cost 10 set search_path from current as $$
begin
  return exists (select from usage_series s where s.environment_id = wanted_environment and s.id = wanted_series);
end $$;
create index usage_series_by_customer on usage_series (customer_id);
create index usage_series_by_meter on usage_series (usage_meter_id);

-- One number for each unit of work that records usage.
create sequence usage_bookings;

create table usage_events (
  environment_id bigint not null,
  series_id bigint not null,
  -- Which ledger transaction booked it: the source_id of that of type usage_event_processed. Its entry is the one of the
  -- series' account and price.
  booking bigint not null,
  amount bigint not null,
  usage_date bigint not null,
  created_at bigint not null,
  -- The first half of the SHA-256 of (environment, usage meter, transaction): short and of one length, so that an index of
  -- hundreds of millions stays small.
  transaction_key uuid not null,
  id text collate "C" not null,
  transaction_id text collate "C" not null,
  -- As sent, key order included: the answer to a repeat equals the first answer to the letter. SQL's null where none were
  -- sent, which is answered as {}.
  properties json,
  -- In minor units, at a price with the model `dynamic`.
  own_price numeric(28, 12),
  -- The part of the customer that used it, such as a team.
  label text,
  -- True: it was stored although a blocking spend limit was reached.
  beyond_limit boolean,
  primary key (environment_id, id),
  -- Counting twice is impossible: the same transaction counts once on a meter, for ever.
  constraint usage_events_transaction_unique unique (transaction_key),
  constraint usage_events_amount check (amount between -9007199254740991 and 9007199254740991),
  constraint usage_events_own_price check (own_price >= 0),
  constraint usage_events_label_length check (char_length(label) <= 255),
  constraint usage_events_beyond_limit check (beyond_limit)
);
comment on column usage_events.amount is 'Below 1 only on a meter whose units are measured.';
comment on column usage_events.id is 'Without the prefix of its kind, which would be the same for each.';
create index usage_events_by_series on usage_events (series_id, id);
create index usage_events_by_label on usage_events (environment_id, label, id) where label is not null;
-- Events come nearly in the order of their dates, so the range of each block says where a stretch of time is.
create index usage_events_by_date on usage_events using brin (usage_date int8_minmax_multi_ops) with (pages_per_range = 32);

-- In place of a foreign key, which would look up and lock the same few series for each of ten thousand events: each is
-- looked up once.
create function check_usage_event_series() returns trigger language plpgsql security definer
  set search_path from current as $$
begin
  if exists (
    select from (select distinct environment_id, series_id from added) e
     where (select true from usage_series s where s.environment_id = e.environment_id and s.id = e.series_id) is null)
  then
    raise foreign_key_violation using message = 'a usage event points at a series that does not exist',
      table = 'usage_events', constraint = 'usage_events_series';
  end if;
  return null;
end $$;
create trigger usage_events_series after insert on usage_events referencing new table as added
  for each statement execute function check_usage_event_series();

-- What the events of a series with a date in one hour add up to, kept in the commit of the events: together with what is open
-- of it on its ledger account, if there is.
create table usage_rollups (
  environment_id bigint not null,
  series_id bigint not null,
  -- The instant at which the hour begins.
  hour bigint not null,
  units numeric(38, 0) not null,
  events bigint not null,
  -- The part that usage_months has, and whether that is all.
  summed_units numeric(38, 0) not null default 0,
  summed_events bigint not null default 0,
  is_summed boolean not null default false,
  primary key (environment_id, series_id, hour),
  foreign key (environment_id, series_id) references usage_series,
  constraint usage_rollups_whole_hours check (hour % 3600000 = 0),
  constraint usage_rollups_amounts check (units >= 0 and events > 0),
  constraint usage_rollups_summed check (summed_units between 0 and units and summed_events between 0 and events
    and (not is_summed or summed_units = units and summed_events = events))
) with (fillfactor = 70);
create index usage_rollups_by_hour on usage_rollups using brin (hour int8_minmax_multi_ops) with (pages_per_range = 16);
create index usage_rollups_to_sum on usage_rollups (environment_id, series_id, hour) where not is_summed;
comment on column usage_rollups.units is 'As booked: on a meter that counts distinct properties, of the first event with each.';

-- The first event with the same properties in a period counts: usage_event_id. The digest, of the account, the period and
-- the properties, remembers which were seen.
create table usage_event_distinct_properties (
  environment_id bigint not null,
  digest bytea not null,
  usage_event_id text collate "C" not null,
  primary key (environment_id, digest),
  foreign key (environment_id, usage_event_id) references usage_events,
  constraint usage_event_distinct_properties_digest_is_sha256 check (octet_length(digest) = 32)
);
create index usage_event_distinct_properties_by_event on usage_event_distinct_properties (usage_event_id);

-- A limit counts what is used from its start on: in all, on one usage meter, or with one label. It counts units, or the money that
-- they cost at their prices. The seller sets limits for a customer, and the customer may set stricter ones for itself. A plan has
-- limits of the use of its subscription: their amount and terms are those of its features while it has them.
create table spend_limits (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  set_by text not null,
  -- Of a limit of a plan: its subscription.
  subscription_id text collate "C",
  -- A usage meter, or the credit pool whose drawn amount is counted in its smallest units. Null: all meters.
  usage_meter_id text collate "C",
  -- Null: with any label or none.
  label text,
  period text not null,
  unit text not null,
  amount numeric(38, 0),
  action text,
  -- Percent of the amount, ascending.
  thresholds smallint[],
  -- Bookings up to this number were made before there was the limit.
  booked_before bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, usage_meter_id) references credit_subjects,
  constraint spend_limits_once unique nulls not distinct (customer_id, set_by, subscription_id, usage_meter_id, label, period, unit, environment_id),
  constraint spend_limits_set_by check (set_by in ('seller', 'customer', 'plan')),
  constraint spend_limits_of_plan check (case set_by when 'plan' then subscription_id is not null and label is null
    and num_nonnulls(amount, action, thresholds) = 0 else subscription_id is null and num_nulls(amount, action, thresholds) = 0 end),
  constraint spend_limits_period check (period in ('day', 'week', 'month', 'billing_period')),
  constraint spend_limits_unit check (unit in ('units', 'money')),
  constraint spend_limits_action check (action in ('block', 'notify')),
  constraint spend_limits_amount check (amount between 1 and case when starts_with(usage_meter_id, 'credit_pool_') then 1e37 else 9007199254740991 end),
  constraint spend_limits_of_pool check (unit = 'units' or not starts_with(usage_meter_id, 'credit_pool_')),
  constraint spend_limits_thresholds check (cardinality(thresholds) <= 10 and 1 <= all (thresholds) and 100 >= all (thresholds)
    and array_position(thresholds, null) is null),
  constraint spend_limits_label_length check (char_length(label) <= 255)
);
create index spend_limits_by_subscription on spend_limits (environment_id, subscription_id) where subscription_id is not null;
create index spend_limits_by_meter on spend_limits (environment_id, usage_meter_id) where usage_meter_id is not null;

-- What a limit of a plan is at an instant: the sum of the features of its subscription that count the same use, and the terms of
-- the newest one. No row: there are none, or the seller has set a limit of the same use for the customer. Features count whole
-- units of a credit pool, and the limit counts its smallest units. The body is text for the reason of `shared_settings` (0001).
create function spend_limit_of_plan(l spend_limits, at bigint) returns table (amount numeric, action text, thresholds jsonb)
  language plpgsql stable set search_path from current as $$
begin
  return query
    select least(greatest(sum(s.amount), 0), 9007199254740991)
             * case when starts_with(l.usage_meter_id, 'credit_pool_') then 2162160000000000000 else 1 end,
           min(f.spend_limit ->> 'action'),
           (array_agg(f.spend_limit -> 'thresholds' order by s.id desc))[1]
      from subscription_item_features s
      join subscription_items i on i.environment_id = s.environment_id and i.id = s.subscription_item_id
       and i.added_date <= at and (i.expired_at is null or i.expired_at > at)
      join features f on f.environment_id = s.environment_id and f.id = s.feature_id
     where s.environment_id = l.environment_id and s.subscription_id = l.subscription_id and s.type = 'spend_limit'
       and (s.expired_at is null or s.expired_at > at)
       and coalesce(f.spend_limit ->> 'creditPoolId', f.spend_limit ->> 'usageMeterId') is not distinct from l.usage_meter_id
       and f.spend_limit ->> 'period' = l.period and f.spend_limit ->> 'unit' = l.unit
       and not exists (
         select from spend_limits o
          where o.environment_id = l.environment_id and o.customer_id = l.customer_id and o.set_by = 'seller' and o.label is null
            and o.usage_meter_id is not distinct from l.usage_meter_id and o.period = l.period and o.unit = l.unit)
    having count(*) > 0;
end $$;

-- What was used of a limit in one period, written in the commit of the usage by who has locked the row. A limit by day, week or
-- month has one row for each; a limit by billing period has one for each billing period of each subscription.
create table spend_counters (
  environment_id bigint not null,
  pricing_model_id text collate "C" not null,
  spend_limit_id text collate "C" not null,
  -- The start of the day, week or month; else the billing period or, without one, the subscription.
  period_key text collate "C" not null,
  period_start bigint,
  period_end bigint,
  -- The units of all prices, and what of the limit they use: themselves, or minor units of money.
  units numeric(38, 0) not null default 0,
  used numeric(38, 0) not null default 0,
  -- For money: units, events and own prices of each price, as decimal texts.
  by_price jsonb not null default '{}',
  -- What was used after the last use that had to fit into the limit, and the limit then. So no such use is beyond it.
  checked_used numeric(38, 0) not null default 0,
  checked_limit numeric(38, 0) not null default 0,
  -- The amount of the limit whose reached thresholds are published. That of a plan may change with its features.
  published_amount numeric(38, 0) not null default 0,
  primary key (environment_id, spend_limit_id, period_key),
  foreign key (environment_id, spend_limit_id) references spend_limits on delete cascade,
  constraint spend_counters_sums check (least(units, used, checked_used) >= 0),
  constraint spend_counters_within_limit check (checked_used <= checked_limit)
) with (fillfactor = 50);

-- Usage of a subscription without limits looks for none: the subscription says whether its customer has any.
create function find_spend_limits() returns trigger language plpgsql set search_path from current as $$
begin
  if is_moving() then
    return new;
  end if;
  new.has_spend_limits := exists (
    select from spend_limits l
     where l.environment_id = new.environment_id and l.customer_id = new.customer_id and l.subscription_id is null);
  return new;
end $$;
create trigger subscriptions_limited before insert on subscriptions for each row execute function find_spend_limits();

create function tell_spend_limits() returns trigger language plpgsql set search_path from current as $$
declare
  environments bigint[];
  customers text[];
begin
  if is_moving() then
    return null;
  end if;
  select array_agg(d.environment_id), array_agg(d.customer_id) into environments, customers
    from (select distinct environment_id, customer_id from changed) d;
  update subscriptions s set has_spend_limits = limited.has
    from (select c.environment_id, c.id, exists (
            select from spend_limits l where l.environment_id = c.environment_id and l.customer_id = c.customer_id
               and coalesce(l.subscription_id, c.id) = c.id) as has
            from unnest(environments, customers) as d (environment_id, customer_id)
            join subscriptions c on c.environment_id = d.environment_id and c.customer_id = d.customer_id) limited
   where s.environment_id = limited.environment_id and s.id = limited.id and s.has_spend_limits <> limited.has;
  return null;
end $$;
create trigger spend_limits_told_of_new after insert on spend_limits referencing new table as changed
  for each statement execute function tell_spend_limits();
create trigger spend_limits_told_of_gone after delete on spend_limits referencing old table as changed
  for each statement execute function tell_spend_limits();
