-- A series of numbers of documents: the text before the counter, which ends in a hyphen, and the last number taken. A
-- number is that text and digits, so a number belongs to one series. Whoever takes from a series gets its next number.
create table number_series (
  environment_id bigint not null,
  stem text collate "C" not null,
  counted bigint not null,
  primary key (environment_id, stem),
  constraint number_series_stem check (stem like '_%-'),
  constraint number_series_counted check (counted > 0)
);
comment on column number_series.counted is 'The last number taken, by an update in the commit of the document, so numbers have no gap.';

create table invoices (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  subscription_id text collate "C",
  billing_period_id text collate "C",
  type text not null,
  reason text not null,
  status text not null,
  -- Compared byte by byte, so that its index finds the numbers that begin with a text.
  invoice_number text collate "C",
  invoice_date bigint not null,
  due_date bigint,
  billing_period_start_date bigint,
  billing_period_end_date bigint,
  currency text not null,
  subtotal numeric(38, 0) not null,
  tax_amount numeric(38, 0) not null default 0,
  total numeric(38, 0) not null,
  amount_paid numeric(38, 0) not null default 0,
  amount_refunded numeric(38, 0) not null default 0,
  credited_amount numeric(38, 0) not null default 0,
  offset_amount numeric(38, 0) not null default 0,
  balance_applied numeric(38, 0) not null default 0,
  balance_credited numeric(38, 0) not null default 0,
  memo text,
  footer text,
  purchase_order_number text,
  metadata jsonb,
  -- The terms of an invoice that somebody wrote, for the time at which it is finalized.
  net_terms_days integer,
  auto_collect boolean not null default false,
  sent_at bigint,
  -- The consolidated invoice that this one is a part of, which has its number and is paid in its place.
  consolidated_into text collate "C",
  -- When the draft of a period is finalized by itself; in the environment's time.
  finalizes_at bigint,
  -- When invoice.overdue comes due if it is open then. Null once it was published.
  notice_at bigint,
  -- An invoice at a threshold until it is first settled. One whose payment is reversed afterwards is a debt like any other.
  is_open_threshold boolean not null default false constraint invoices_open_threshold
    check (not is_open_threshold or (reason = 'usage_threshold' and status in ('open', 'awaiting_payment_confirmation'))),
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, billing_period_id) references billing_periods,
  foreign key (environment_id, consolidated_into) references invoices deferrable,
  constraint invoices_number_unique unique (environment_id, invoice_number),
  constraint invoices_type check (type in ('subscription', 'purchase', 'standalone')),
  constraint invoices_status check (status in ('draft', 'open', 'paid', 'uncollectible', 'void', 'refunded', 'partially_refunded',
    'awaiting_payment_confirmation')),
  -- A number is taken when a draft is finalized. A draft that is voided has none.
  constraint invoices_numbered_when_finalized check (case status when 'draft' then invoice_number is null
    when 'void' then true else (invoice_number is null) = (consolidated_into is not null) end),
  -- Only the whole is numbered, charged, retried and overdue. A part is of one subscription.
  constraint invoices_part_follows check (consolidated_into is null or (subscription_id is not null and status <> 'draft'
    and invoice_number is null and balance_applied = 0 and notice_at is null)),
  -- Nothing was paid of a draft.
  constraint invoices_draft_is_unpaid check (status <> 'draft' or (amount_paid = 0 and credited_amount = 0 and balance_applied = 0 and sent_at is null)),
  -- The draft of a subscription has an end, and every other one waits for somebody.
  constraint invoices_draft_ends check ((finalizes_at is not null) = (status = 'draft' and subscription_id is not null)),
  constraint invoices_net_terms check (net_terms_days between 0 and 365),
  constraint invoices_total check (total = subtotal + tax_amount and subtotal >= 0 and tax_amount >= 0),
  constraint invoices_money_within_bounds check (amount_paid between 0 and total and amount_refunded between 0 and amount_paid),
  constraint invoices_credited_within_total check (credited_amount between 0 and total and offset_amount between 0 and credited_amount
    and balance_credited between 0 and credited_amount - offset_amount and balance_applied >= 0 and amount_paid + offset_amount + balance_applied <= total)
);
create index invoices_by_metadata on invoices using gin (metadata jsonb_path_ops) where metadata is not null;
comment on column invoices.sent_at is 'When the seller sent it last; in the environment''s time.';
comment on column invoices.balance_applied is 'The amount that the balance of the customer paid of it when it was made. 0 once it is void.';
comment on column invoices.balance_credited is 'The part of the credited amount that went to the balance of the customer.';
comment on column invoices.credited_amount is 'The total of its credit notes that are not void.';
comment on column invoices.offset_amount is 'The part of it that lowers the amount due.';
-- Billing a period twice for the same reason is impossible.
create unique index invoices_one_per_period on invoices (environment_id, billing_period_id, reason) where reason not in ('adjustment', 'usage_threshold');
create unique index invoices_one_of_usage on invoices (environment_id, subscription_id, invoice_date) where reason = 'usage';
-- A subscription has one open invoice of usage that came to its threshold.
create unique index invoices_one_open_threshold on invoices (environment_id, subscription_id) where is_open_threshold;
-- What bills or changes a subscription next finalizes its draft first.
create unique index invoices_one_draft on invoices (environment_id, subscription_id) where status = 'draft';
create index invoices_finalization_due on invoices (environment_id, finalizes_at) where finalizes_at is not null;
create index invoices_by_customer on invoices (environment_id, customer_id);
create index invoices_by_subscription on invoices (environment_id, subscription_id);
create index invoices_parts on invoices (environment_id, consolidated_into) where consolidated_into is not null;
-- With the columns that row-level security and each list read, so that a list counts its rows without visiting them.
create index invoices_by_status on invoices (environment_id, status, id) include (pricing_model_id, consolidated_into);
create index invoices_by_date on invoices (environment_id, invoice_date);
create index invoices_by_creation on invoices (environment_id, created_at);
create index invoices_notice_due on invoices (environment_id, notice_at) where notice_at is not null and status = 'open';

create table invoice_line_items (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  invoice_id text collate "C" not null,
  type text not null,
  quantity bigint not null,
  price numeric(38, 0) not null,
  amount numeric(38, 0) not null,
  price_id text collate "C",
  subscription_item_id text collate "C",
  description text,
  ledger_account_id text collate "C",
  ledger_account_credit numeric(38, 0),
  taxable boolean not null default true,
  -- The time that a line of the seller's own is for.
  service_start_at bigint,
  service_end_at bigint,
  credited_amount numeric(38, 0) not null default 0,
  credited_discount numeric(38, 0) not null default 0,
  credited_tax numeric(38, 0) not null default 0,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, invoice_id) references invoices,
  foreign key (environment_id, price_id) references prices,
  foreign key (environment_id, subscription_item_id) references subscription_items,
  foreign key (environment_id, ledger_account_id) references ledger_accounts,
  constraint invoice_line_items_type check (type in ('static', 'usage')),
  constraint invoice_line_items_amount check (amount = price * quantity),
  constraint invoice_line_items_service check ((service_start_at is null) = (service_end_at is null) and service_start_at < service_end_at),
  constraint invoice_line_items_usage_has_account check ((type = 'usage') = (ledger_account_id is not null)
    and (type = 'usage') = (ledger_account_credit is not null))
);
comment on column invoice_line_items.credited_amount is 'The part of the amount that credit notes take back, void ones left out; credited_discount and credited_tax likewise.';
create index invoice_line_items_by_invoice on invoice_line_items (environment_id, invoice_id, id);
create index invoice_line_items_by_price on invoice_line_items (environment_id, price_id) where price_id is not null;
create index invoice_line_items_by_creation on invoice_line_items (environment_id, created_at);

-- A line that waits for the next invoice of its customer, or of one subscription. An item is on one invoice at most, because
-- it names it: null while it is pending.
create table invoice_items (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  subscription_id text collate "C",
  invoice_id text collate "C",
  price_id text collate "C",
  description text,
  quantity bigint not null,
  price numeric(38, 0) not null,
  taxable boolean not null,
  service_start_at bigint,
  service_end_at bigint,
  explanation jsonb not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, invoice_id) references invoices,
  foreign key (environment_id, price_id) references prices,
  constraint invoice_items_amount check (quantity > 0 and price >= 0),
  constraint invoice_items_service check ((service_start_at is null) = (service_end_at is null) and service_start_at < service_end_at)
);
create index invoice_items_pending on invoice_items (environment_id, customer_id, id) where invoice_id is null;
create index invoice_items_by_customer on invoice_items (environment_id, customer_id);
create index invoice_items_by_subscription on invoice_items (environment_id, subscription_id) where subscription_id is not null;
create index invoice_items_by_invoice on invoice_items (environment_id, invoice_id) where invoice_id is not null;
create index invoice_items_by_price on invoice_items (environment_id, price_id) where price_id is not null;
create index invoice_items_by_creation on invoice_items (environment_id, created_at);

create table payments (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  invoice_id text collate "C",
  subscription_id text collate "C",
  billing_period_id text collate "C",
  payment_method_id text collate "C",
  payment_method text not null,
  processor text not null,
  processor_token text,
  processor_reference text,
  check_at bigint,
  amount numeric(38, 0) not null,
  subtotal numeric(38, 0) not null,
  tax_amount numeric(38, 0) not null default 0,
  currency text not null,
  status text not null,
  attempt_number integer not null default 1,
  customer_present boolean not null default false,
  on_request boolean not null default false,
  charge_date bigint not null,
  settlement_date bigint,
  description text,
  receipt_number text,
  failure_code text,
  failure_message text,
  refunded_amount numeric(38, 0) not null default 0,
  refunding_amount numeric(38, 0) not null default 0,
  refunded_at bigint,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, invoice_id) references invoices,
  foreign key (environment_id, subscription_id) references subscriptions,
  foreign key (environment_id, billing_period_id) references billing_periods,
  foreign key (environment_id, payment_method_id) references payment_methods,
  constraint payments_status check (status in ('canceled', 'failed', 'refunded', 'processing', 'succeeded', 'requires_confirmation', 'requires_action')),
  constraint payments_refunds_within_amount check (amount > 0 and refunded_amount >= 0 and refunding_amount >= 0
    and refunded_amount + refunding_amount <= amount),
  constraint payments_refunded_iff_whole check ((status = 'refunded') = (refunded_amount = amount)),
  constraint payments_checked_while_processing check (check_at is null or status = 'processing')
);
comment on column payments.customer_present is 'The customer asked for the charge in a browser: its bank may have it confirmed there.';
comment on column payments.on_request is 'Somebody asked to pay this invoice: a decline does not take the invoice back.';
comment on column payments.check_at is 'When to ask the processor how a charge ended that takes its time; in the environment''s time.';
comment on column payments.refunding_amount is 'Reserved by refunds that the processor has not confirmed yet.';
-- One payment of an invoice may be alive at a time: charging twice is impossible.
create unique index payments_one_live_per_invoice on payments (environment_id, invoice_id)
  where status in ('processing', 'requires_confirmation', 'requires_action', 'succeeded');
create index payments_by_invoice on payments (environment_id, invoice_id);
create index payments_by_status on payments (environment_id, status, id) include (pricing_model_id);
create index payments_by_settlement on payments (environment_id, settlement_date) where settlement_date is not null;
-- Those that a lost dispute or a returned debit took back.
create index payments_reversed on payments (environment_id, updated_at) where status = 'failed' and settlement_date is not null;
create index payments_by_creation on payments (environment_id, created_at);
create index payments_by_customer on payments (environment_id, customer_id);
create index payments_by_payment_method on payments (environment_id, payment_method_id) where payment_method_id is not null;
create index payments_by_subscription on payments (environment_id, subscription_id);
create index payments_to_check on payments (environment_id, check_at) where check_at is not null;

-- A document that takes back part of an invoice.
create table credit_notes (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  invoice_id text collate "C" not null,
  credit_note_number text not null,
  status text not null,
  settle text not null,
  reason text,
  currency text not null,
  discount_amount numeric(38, 0) not null,
  subtotal numeric(38, 0) not null,
  tax_amount numeric(38, 0) not null,
  total numeric(38, 0) not null,
  payment_id text collate "C",
  settled_at bigint,
  voided_at bigint,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, invoice_id) references invoices,
  foreign key (environment_id, payment_id) references payments,
  constraint credit_notes_number_unique unique (environment_id, credit_note_number),
  constraint credit_notes_status check (status in ('issued', 'settled', 'void')
    and (settled_at is not null) = (status = 'settled') and (voided_at is not null) = (status = 'void')),
  constraint credit_notes_settle check (settle in ('refund', 'offset', 'balance') and (payment_id is not null) = (settle = 'refund')),
  constraint credit_notes_total check (total = subtotal + tax_amount and total > 0 and subtotal >= 0 and tax_amount >= 0 and discount_amount >= 0)
);
create index credit_notes_by_invoice on credit_notes (environment_id, invoice_id, id);
create index credit_notes_by_customer on credit_notes (environment_id, customer_id);
create index credit_notes_by_status on credit_notes (environment_id, status, id);
create index credit_notes_by_payment on credit_notes (environment_id, payment_id) where payment_id is not null;
create index credit_notes_by_creation on credit_notes (environment_id, created_at);

create table credit_note_lines (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  credit_note_id text collate "C" not null,
  invoice_line_item_id text collate "C" not null,
  quantity bigint,
  amount numeric(38, 0) not null,
  discount_amount numeric(38, 0) not null,
  tax_amount numeric(38, 0) not null,
  amount_before numeric(38, 0) not null,
  discount_before numeric(38, 0) not null,
  tax_before numeric(38, 0) not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, credit_note_id) references credit_notes,
  foreign key (environment_id, invoice_line_item_id) references invoice_line_items,
  constraint credit_note_lines_once unique (environment_id, credit_note_id, invoice_line_item_id),
  constraint credit_note_lines_amounts check (amount >= 0 and amount + tax_amount > 0 and discount_amount between 0 and amount and tax_amount >= 0
    and amount_before >= 0 and discount_before >= 0 and tax_before >= 0 and quantity > 0)
);
comment on column credit_note_lines.amount_before is 'The amount of the invoice line that was credited before; discount_before and tax_before likewise.';
create index credit_note_lines_by_invoice_line on credit_note_lines (environment_id, invoice_line_item_id);

-- The money that a customer has with the seller in one currency: an account whose columns are the totals of its sides.
create table customer_balances (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  currency text not null,
  credited numeric(38, 0) not null default 0,
  debited numeric(38, 0) not null default 0,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, customer_id) references customers,
  constraint customer_balances_one_per_currency unique (environment_id, customer_id, currency),
  constraint customer_balances_not_negative check (debited >= 0 and credited >= debited)
);
create index customer_balances_by_creation on customer_balances (environment_id, created_at);

-- An entry names both sides: the balance, and by its source the other one.
create table customer_balance_entries (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  customer_id text collate "C" not null,
  customer_balance_id text collate "C" not null,
  source text not null,
  amount numeric(38, 0) not null,
  balance_after numeric(38, 0) not null,
  invoice_id text collate "C",
  credit_note_id text collate "C",
  description text,
  created_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, credit_note_id) references credit_notes,
  foreign key (environment_id, customer_id) references customers,
  foreign key (environment_id, customer_balance_id) references customer_balances,
  foreign key (environment_id, invoice_id) references invoices,
  -- A balance pays for an invoice once, and gets that back once.
  constraint customer_balance_entries_once unique (environment_id, invoice_id, source),
  -- A credit note is added to it once, and taken off it once.
  constraint customer_balance_entries_credited_once unique (environment_id, credit_note_id, source),
  constraint customer_balance_entries_source check (case source
    when 'manual' then num_nonnulls(invoice_id, credit_note_id) = 0
    when 'invoice' then invoice_id is not null and credit_note_id is null and amount < 0
    when 'voided_invoice' then invoice_id is not null and credit_note_id is null and amount > 0
    when 'credit_note' then credit_note_id is not null and invoice_id is null and amount > 0
    when 'voided_credit_note' then credit_note_id is not null and invoice_id is null and amount < 0 else false end),
  constraint customer_balance_entries_amount check (amount <> 0 and balance_after >= 0)
);
create index customer_balance_entries_by_balance on customer_balance_entries (environment_id, customer_balance_id, id);
create index customer_balance_entries_by_customer on customer_balance_entries (environment_id, customer_id);
create index customer_balance_entries_by_creation on customer_balance_entries (environment_id, created_at);

create table refunds (
  environment_id bigint not null,
  id text collate "C" not null,
  pricing_model_id text collate "C" not null,
  payment_id text collate "C" not null,
  credit_note_id text collate "C",
  amount numeric(38, 0) not null,
  status text not null,
  processor_reference text,
  failure_message text,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (environment_id, id),
  foreign key (environment_id, payment_id) references payments,
  foreign key (environment_id, credit_note_id) references credit_notes,
  constraint refunds_one_per_credit_note unique (environment_id, credit_note_id),
  constraint refunds_amount_positive check (amount > 0),
  constraint refunds_status check (status in ('pending', 'succeeded', 'failed'))
);
create index refunds_by_creation on refunds (environment_id, created_at);
create index refunds_by_payment on refunds (environment_id, payment_id);

-- What the stand-in payment network remembers. It is outside our transactions, as a real one is, and belongs to no tenant.
create table test_processor_operations (
  idempotency_key text collate "C" primary key,
  kind text not null,
  reference text collate "C" not null,
  amount numeric(38, 0) not null,
  token text,
  outcome jsonb not null,
  created_at bigint not null
);
create index operations_by_reference on test_processor_operations (reference);
-- A network does not forget: what it answered under a key stays its answer.
grant select, insert on test_processor_operations to tollkeeper_service;
