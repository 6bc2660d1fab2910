import { connected } from './database.ts';

/** The amount of usage to check. */
export interface CheckedSize {
  readonly events: number;
  /** One account and one usage series each. */
  readonly subscriptions: number;
}

// Requests recorded in one batch share a booking, mostly with different subscriptions: one entry per event.
const eventsPerBooking = 20;
// One credit covers a fifth of the usage of each account.
const coveredShare = 5;
const portion = 1_000_000;
const monthMs = 30 * 24 * 3_600_000;
const hourMs = 3_600_000;

/**
 * Fills a migrated, empty database with one environment and the events of thirty days, booked, rolled up and partly
 * covered by credits, so that the usage invariants hold. Writes directly to the tables as their owner, with triggers
 * and foreign keys disabled.
 */
export async function storeCheckedUsage(url: string, { events, subscriptions }: CheckedSize): Promise<void> {
  const start = Math.floor((Date.now() - monthMs) / hourMs) * hourMs;
  const each = Math.floor(events / subscriptions);
  const covered = Math.floor(each / coveredShare);
  await connected(url, async (client) => {
    await client.query('set session_replication_role = replica');
    await client.query(`set maintenance_work_mem = '1GB'`);
    const indexes = await dropIndexes(client);
    await client.query(recordsOf(start, subscriptions, each, covered));
    for (let first = 0; first < events; first += portion)
      await client.query(
        usageOf({ first, last: Math.min(first + portion, events) - 1, events, subscriptions, start, each }),
      );
    await client.query(sumsOf(subscriptions, covered));
    for (const index of indexes) await client.query(index);
    await client.query('vacuum (analyze)');
  });
}

const filled = ['usage_events', 'ledger_entries', 'ledger_transactions'];

type Client = Parameters<Parameters<typeof connected>[1]>[0];

/**
 * Drops the indexes of the filled tables and returns the statements to recreate them: creating them at the end takes a
 * fraction of the time.
 */
async function dropIndexes(client: Client): Promise<string[]> {
  const constraints = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
      where conrelid::regclass::text = any($1) and contype in ('p', 'u')`,
    [filled],
  );
  const made = constraints.rows.map(
    ({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`,
  );
  for (const { table, name } of constraints.rows)
    await client.query(`alter table ${table} drop constraint ${name} cascade`);
  const rest = await client.query<{ name: string; definition: string }>(
    'select indexname as name, indexdef as definition from pg_indexes where tablename = any($1)',
    [filled],
  );
  for (const { name } of rest.rows) await client.query(`drop index ${name}`);
  return [...made, ...rest.rows.map(({ definition }) => definition)];
}

function recordsOf(start: number, subscriptions: number, each: number, covered: number): string {
  const stamps = `1 as environment_id, 'pricing_model_1' as pricing_model_id, ${start}::bigint as created_at, ${start}::bigint as updated_at`;
  return `
  insert into organizations (id, name, created_at, updated_at) values ('org_1', 'Checked', ${start}, ${start});
  insert into environments (id, organization_id, livemode, created_at, updated_at)
    overriding system value values (1, 'org_1', true, ${start}, ${start});
  insert into pricing_models (environment_id, id, name, is_default, created_at, updated_at)
    values (1, 'pricing_model_1', 'Checked', true, ${start}, ${start});
  insert into products (environment_id, id, pricing_model_id, slug, name, is_default, active, created_at, updated_at)
    values (1, 'prod_1', 'pricing_model_1', 'free', 'Free', true, true, ${start}, ${start});
  insert into usage_meters (environment_id, id, pricing_model_id, name, slug, aggregation_type, created_at, updated_at)
    values (1, 'usage_meter_1', 'pricing_model_1', 'Calls', 'calls', 'sum', ${start}, ${start});
  insert into prices (environment_id, id, pricing_model_id, product_id, usage_meter_id, type, unit_price, interval_unit, interval_count,
         usage_events_per_unit, currency, is_default, active, created_at, updated_at)
    values (1, 'price_1', 'pricing_model_1', 'prod_1', null, 'subscription', 0, 'year', 1, null, 'USD', true, true, ${start}, ${start}),
           (1, 'price_2', 'pricing_model_1', null, 'usage_meter_1', 'usage', 1, 'month', 1, 1, 'USD', true, true, ${start}, ${start});
  insert into customers (environment_id, pricing_model_id, created_at, updated_at, id, external_id, email, name, invoice_number_base)
    select made.*, 'cust_' || n, n, n || '@customer.test', n, n from (select ${stamps}) made, generate_series(0, ${subscriptions - 1}) n;
  insert into subscriptions (environment_id, pricing_model_id, created_at, updated_at, id, customer_id, price_id, status, renews,
         is_free_plan, is_default_plan, do_not_charge, run_billing_at_period_start, exclusive, start_date, interval_unit, interval_count,
         billing_cycle_anchor_date, current_billing_period_start, current_billing_period_end)
    select made.*, 'sub_' || n, 'cust_' || n, 'price_1', 'active', true, true, true, false, true, true, ${start}, 'year', 1, ${start},
           ${start}, ${start + 365 * 24 * hourMs} from (select ${stamps}) made, generate_series(0, ${subscriptions - 1}) n;
  insert into billing_periods (environment_id, pricing_model_id, created_at, updated_at, id, subscription_id, start_at, end_at, status, trial_period)
    select made.*, 'billing_period_' || n, 'sub_' || n, ${start}, ${start + 365 * 24 * hourMs}, 'active', false
      from (select ${stamps}) made, generate_series(0, ${subscriptions - 1}) n;
  insert into ledger_accounts (environment_id, pricing_model_id, created_at, updated_at, id, subscription_id, subscription_revision,
         usage_meter_id, granted, used, covered, applied)
    select made.*, 'la_' || n, 'sub_' || n, 0, 'usage_meter_1', ${covered}, ${each}, ${covered}, ${covered}
      from (select ${stamps}) made, generate_series(0, ${subscriptions - 1}) n;
  insert into usage_credits (environment_id, pricing_model_id, created_at, updated_at, id, ledger_account_id, source, source_id, issued, applied, granted_at)
    select made.*, 'usage_credit_' || n, 'la_' || n, 'admin', n, ${covered}, ${covered}, ${start}
      from (select ${stamps}) made, generate_series(0, ${subscriptions - 1}) n;
  insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
    values (1, 'ledger_transaction_grants', 'pricing_model_1', 'admin_credit_adjusted', 'all', ${start}, ${start});
  insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side, credit_side,
         amount, usage_credit_id, available_after, created_at)
    select 1, 'ledger_entry_grant_' || n, 'pricing_model_1', 'ledger_transaction_grants', 'la_' || n, 'granted', 'available',
           ${covered}, 'usage_credit_' || n, ${covered}, ${start} from generate_series(0, ${subscriptions - 1}) n;
  insert into usage_series (environment_id, id, pricing_model_id, customer_id, subscription_id, usage_meter_id, price_id, billing_period_id, ledger_account_id)
    overriding system value
    select 1, n + 1, 'pricing_model_1', 'cust_' || n, 'sub_' || n, 'usage_meter_1', 'price_2', 'billing_period_' || n, 'la_' || n
      from generate_series(0, ${subscriptions - 1}) n;`;
}

interface UsagePortion extends CheckedSize {
  readonly first: number;
  readonly last: number;
  readonly start: number;
  readonly each: number;
}

function usageOf({ first, last, events, subscriptions, start, each }: UsagePortion): string {
  const covered = Math.floor(each / coveredShare);
  const at = `(${start} + (n::numeric * ${monthMs} / ${events})::bigint)`;
  return `
  insert into usage_events (environment_id, series_id, booking, amount, usage_date, created_at, transaction_key, id, transaction_id)
    select 1, n % ${subscriptions} + 1, n / ${eventsPerBooking} + 1, 1, ${at}, ${at},
           left(encode(sha256(convert_to('1 usage_meter_1 ' || md5(n::text), 'UTF8')), 'hex'), 32)::uuid,
           '0VMv3kQ1' || lpad(n::text, 13, '0'), md5(n::text)
      from generate_series(${first}::bigint, ${last}) n;
  insert into ledger_transactions (environment_id, id, pricing_model_id, type, source_id, occurred_at, created_at)
    select 1, 'ledger_transaction_0VMv3kQ1' || lpad(n::text, 13, '0'), 'pricing_model_1', 'usage_event_processed',
           n / ${eventsPerBooking} + 1, ${at}, ${at}
      from generate_series(${first}::bigint, ${last}, ${eventsPerBooking}) n;
  insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side, credit_side,
         amount, price_id, billing_period_id, available_after, applied_credit_ids, applied_amounts, created_at)
    select 1, 'ledger_entry_0VMv3kQ1' || lpad(n::text, 13, '0'), 'pricing_model_1',
           'ledger_transaction_0VMv3kQ1' || lpad((n - n % ${eventsPerBooking})::text, 13, '0'), 'la_' || n % ${subscriptions},
           'available', 'used', 1, 'price_2', 'billing_period_' || n % ${subscriptions}, ${covered} - n / ${subscriptions} - 1,
           case when n / ${subscriptions} < ${covered} then array['usage_credit_' || n % ${subscriptions}] end,
           case when n / ${subscriptions} < ${covered} then array[1] end, ${at}
      from generate_series(${first}::bigint, ${last}) n order by n;`;
}

function sumsOf(subscriptions: number, covered: number): string {
  return `
  insert into usage_rollups (environment_id, series_id, hour, units, events)
    select environment_id, series_id, usage_date - usage_date % ${hourMs}, sum(amount), count(*) from usage_events group by 1, 2, 3;
  insert into usage_hours (environment_id, pricing_model_id, usage_meter_id, hour, units, events)
    select s.environment_id, s.pricing_model_id, s.usage_meter_id, r.hour, sum(r.units), sum(r.events)
      from usage_rollups r join usage_series s on s.environment_id = r.environment_id and s.id = r.series_id group by 1, 2, 3, 4;
  insert into usage_overages (environment_id, ledger_account_id, price_id, uncovered)
    select 1, 'la_' || n, 'price_2', (select used from ledger_accounts where id = 'la_' || n) - ${covered}
      from generate_series(0, ${subscriptions - 1}) n;
  select setval('usage_bookings', (select max(booking) from usage_events));`;
}
