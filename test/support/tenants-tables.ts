import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { queueSchemaOf, serviceRole } from '../../src/database/database.ts';
import type { TestApp } from './harness.ts';

/** A table of tenants, as the catalog has it. */
export interface TenantTable {
  readonly name: string;
  /** The column that says whose a row is. */
  readonly environmentColumn: string;
  /** The column that names the pricing model, where there is one. */
  readonly modelColumn: string | null;
  /** The columns that a statement may write. */
  readonly columns: readonly string[];
  readonly isSecured: boolean;
}

/** Every table in which something belongs to an environment. */
export async function tenantTables(owner: pg.Client): Promise<TenantTable[]> {
  const { rows } = await owner.query<TenantTable>(`
    select c.relname as name, case c.relname when 'environments' then 'id' else 'environment_id' end as "environmentColumn",
           case when c.relname = 'pricing_models' then 'id'
                when 'pricing_model_id' = any (array_agg(a.attname)) then 'pricing_model_id' end as "modelColumn",
           array_agg(quote_ident(a.attname) order by a.attnum) filter (where a.attgenerated = '') as columns,
           c.relrowsecurity and exists (select from pg_policy p where p.polrelid = c.oid and p.polpermissive and p.polcmd = '*'
             and p.polroles = array['${serviceRole}'::regrole::oid]
             and pg_get_expr(p.polqual, p.polrelid) like '%current_environment()%') as "isSecured"
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = current_schema()::regnamespace and not has_own_rights(c.relname) and c.relkind in ('r', 'p')
     group by c.oid, c.relname, c.relrowsecurity
    having 'environment_id' = any (array_agg(a.attname)) or c.relname = 'environments'
     order by 1`);
  return rows;
}

/** Connections to the last cell of the app: the owner's, and one that has logged in as nothing but the service's role. */
export async function openConnections({
  databaseUrl,
  cells,
}: TestApp): Promise<{ owner: pg.Client; service: pg.Client; close: () => Promise<void> }> {
  const schema = cells.at(-1)?.name;
  const path = `-c search_path=${schema},${queueSchemaOf(String(schema))}`;
  const owner = new pg.Client({ connectionString: databaseUrl, options: path });
  await owner.connect();
  const role = `tenant_probe_${randomUUID().slice(0, 8)}`;
  const password = randomUUID();
  await owner.query(`create role ${role} login password '${password}' in role ${serviceRole}`);
  const url = new URL(databaseUrl);
  Object.assign(url, { username: role, password });
  const service = new pg.Client({ connectionString: url.href, options: `${path} -c role=${serviceRole}` });
  await service.connect();
  const close = async () => {
    await service.end();
    await owner.query(`drop role ${role}`);
    await owner.end();
  };
  return { owner, service, close };
}

export interface Setting {
  readonly environment?: string;
  readonly pricingModel?: string;
}

/** Runs `act` in a transaction that is undone, with the settings that say which environment it is in. */
export async function inSetting<Result>(
  client: pg.Client,
  { environment, pricingModel }: Setting,
  act: () => Promise<Result>,
): Promise<Result> {
  await client.query('begin');
  try {
    for (const [name, value] of Object.entries({ environment_id: environment, pricing_model_id: pricingModel })) {
      if (value !== undefined) await client.query('select set_config($1, $2, true)', [`tollkeeper.${name}`, value]);
    }
    return await act();
  } finally {
    await client.query('rollback');
  }
}

/** The SQLSTATE that a statement fails with, or the number of rows that it touched. What it did is undone. */
export async function outcomeOf(
  client: pg.Client,
  text: string,
  values: readonly unknown[] = [],
): Promise<string | number> {
  await client.query('savepoint attempt');
  try {
    return (await client.query(text, [...values])).rowCount ?? 0;
  } catch (error) {
    const { code } = error as { code?: string };
    assert(code, String(error));
    return code;
  } finally {
    await client.query('rollback to savepoint attempt');
  }
}

/** Writes a row like the one given, as it is. */
export function insertStatement({ name, columns }: Pick<TenantTable, 'name' | 'columns'>): string {
  const list = columns.join(', ');
  return `insert into ${name} (${list}) overriding system value select ${list} from jsonb_populate_record(null::${name}, $1)`;
}

/** One row of the environment in each table that has any. */
export async function sampleRows(
  owner: pg.Client,
  tables: readonly TenantTable[],
  environmentId: number,
): Promise<Map<string, Record<string, unknown>>> {
  const samples = new Map<string, Record<string, unknown>>();
  for (const { name, environmentColumn } of tables) {
    const text = `select to_jsonb(t) as row from ${name} t where ${environmentColumn} = $1 limit 1`;
    const { rows } = await owner.query(text, [environmentId]);
    if (rows[0] !== undefined) samples.set(name, rows[0].row);
  }
  return samples;
}

/** A row in each environment of what comes about by time, by a processor or by chance only, made of rows that are there. */
export async function fillTables(owner: pg.Client): Promise<void> {
  const one = (table: string) => `(select distinct on (environment_id) * from ${table})`;
  const model = 'o.environment_id, $1 || o.id, o.pricing_model_id';
  const statements: readonly string[] = [
    `insert into idempotency_keys select id, 'probe', '\\x00', '{}', null, 1 from environments`,
    `insert into processor_events select id, 'stripe', 'evt_probe', 1 from environments`,
    `insert into attempt_counts select id, 'payment environment probe', 'payment', 'environment', 1, null, null, 1, 1, 1 from environments`,
    `insert into processor_customers select environment_id, id, 'probe', 'cus_' || id, 1 from ${one('customers')} o`,
    `insert into usage_event_distinct_properties select environment_id, sha256(id::bytea), id from ${one('usage_events')} o`,
    `insert into usage_archive_sums select 0, environment_id, id, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 from ${one('usage_series')} o`,
    `insert into purchase_add_ons select p.environment_id, p.id, o.id, p.pricing_model_id, 0, 1
       from ${one('purchases')} p join ${one('prices')} o on o.environment_id = p.environment_id`,
    `insert into checkout_session_add_ons select s.environment_id, s.id, o.id, s.pricing_model_id, 0, true, 1
       from ${one('checkout_sessions')} s join ${one('prices')} o on o.environment_id = s.environment_id`,
    `insert into usage_months select o.environment_id, o.pricing_model_id, o.usage_meter_id, 0, o.customer_id, 1, 1
       from ${one('usage_series')} o on conflict do nothing`,
    `insert into usage_charges select a.environment_id, a.id, p.id, 1, 1, 0, 1 from ${one('ledger_accounts')} a
       join ${one('prices')} p on p.environment_id = a.environment_id`,
    `insert into pool_draws select a.environment_id, a.id, p.id, 1, c.id, 1, 1, null, 1, 0, 0, 1 from ${one('ledger_accounts')} a
       join ${one('prices')} p on p.environment_id = a.environment_id join ${one('credit_pools')} c on c.environment_id = a.environment_id`,
    `insert into usage_overages select a.environment_id, a.id, p.id, 1, 0 from ${one('ledger_accounts')} a
       join ${one('prices')} p on p.environment_id = a.environment_id on conflict do nothing`,
    `insert into usage_measures select environment_id, id, 1, 0, 0, 0, 1, null, null, 0, null from ${one('ledger_accounts')} o on conflict do nothing`,
    `insert into mrr_balances select environment_id, 1, pricing_model_id, 'USD', id, 'new', 0, 0 from ${one('prices')} o on conflict do nothing`,
    `insert into usage_levels select environment_id, id, 1, 1, 'probe', 0 from ${one('ledger_accounts')} o on conflict do nothing`,
    `insert into usage_threshold_checks select environment_id, id, 1 from ${one('subscriptions')} o on conflict do nothing`,
    `insert into auto_top_up_checks select environment_id, id, 1 from ${one('customers')} o on conflict do nothing`,
    `insert into auto_top_ups (environment_id, customer_id, pricing_model_id, price_id, usage_meter_id, below, quantity,
       maximum_amount_per_month, created_at, updated_at)
       select o.environment_id, o.id, o.pricing_model_id, p.id, m.id, 1, 1, 1, 1, 1
         from ${one('customers')} o join ${one('prices')} p on p.environment_id = o.environment_id
         join ${one('usage_meters')} m on m.environment_id = o.environment_id on conflict do nothing`,
    `insert into auto_top_up_purchases
       select o.environment_id, o.id, o.customer_id, o.pricing_model_id, m.id, 1, 1, 'failed', 1, 1
         from ${one('purchases')} o join ${one('usage_meters')} m on m.environment_id = o.environment_id on conflict do nothing`,
    `insert into webhook_attempts select environment_id, id, 99, pricing_model_id, 1, 1, 200, null, '' from ${one('webhook_deliveries')} o`,
  ];
  for (const statement of statements) await owner.query(statement);
  const stamps = 'created_at, updated_at';
  const more: readonly string[] = [
    `insert into refunds (environment_id, id, pricing_model_id, payment_id, amount, status, ${stamps})
       select ${model}, o.id, 1, 'failed', 1, 1 from ${one('payments')} o`,
    `insert into payment_method_attachments (environment_id, id, pricing_model_id, customer_id, processor, request, status, ${stamps})
       select ${model}, o.id, 'probe', '{}', 'pending', 1, 1 from ${one('customers')} o`,
    `insert into subscription_item_versions (environment_id, id, pricing_model_id, subscription_id, subscription_item_id, unit_price,
       quantity, start_at, end_at, created_at)
       select ${model}, o.subscription_id, o.id, 1, 1, 1, 2, 1 from ${one('subscription_items')} o`,
    `insert into subscription_price_overrides (environment_id, id, pricing_model_id, subscription_id, price_id, unit_price, start_at,
       end_at, ${stamps})
       select ${model}, o.subscription_id, o.price_id, 1, 1, 2, 1, 1 from ${one('subscription_items')} o`,
    `insert into discount_redemptions (environment_id, id, pricing_model_id, discount_id, customer_id, purchase_id, name, code, amount_type, amount,
       duration, ${stamps})
       select ${model}, o.id, p.customer_id, p.id, o.name, o.code, o.amount_type, o.amount, o.duration, 1, 1
         from ${one('discounts')} o join ${one('purchases')} p on p.environment_id = o.environment_id`,
    `insert into invoice_discounts (environment_id, invoice_id, position, pricing_model_id, discount_redemption_id, amount, of_invoice)
       select r.environment_id, i.id, 1, i.pricing_model_id, r.id, 0, false
         from ${one('discount_redemptions')} r join ${one('invoices')} i on i.environment_id = r.environment_id
        where $1 <> ''`,
  ];
  for (const statement of more) await owner.query(statement, ['probe_']);
}
