import assert from 'node:assert/strict';
import type pg from 'pg';

// Makes many rows of every kind, each a copy of one that the service has made.

interface Table {
  readonly name: string;
  /** The type of each column. */
  readonly columns: Readonly<Record<string, string>>;
  /** The columns that differ from copy to copy, so that no unique index refuses it. */
  readonly varied: readonly string[];
}

/** Values of the copies that would otherwise break a rule, or that no list would show. */
const values: Readonly<Record<string, string>> = {
  // A customer has few that run, and any number that have ended.
  subscriptions: `{"status": "canceled", "canceled_at": 1795000000000, "cancel_scheduled_at": null, "is_only_trial": false}`,
  invoices: `{"billing_period_id": null, "purchase_id": null, "status": "paid", "next_attempt_at": null, "reason": "adjustment"}`,
  payments: `{"status": "succeeded", "check_at": null, "processor_reference": null}`,
  payment_methods: `{"is_default": false, "fingerprint": null}`,
  purchases: `{"status": "paid", "invoice_id": null, "checkout_session_id": null}`,
  pricing_models: `{"is_default": false}`,
  products: `{"is_default": false, "active": false}`,
  prices: `{"is_default": false, "active": false}`,
  features: `{"active": false}`,
  product_features: `{"expired_at": 1}`,
  resources: `{"active": false}`,
  tax_rates: `{"active": false}`,
  invoice_items: `{"invoice_id": "inv"}`,
  usage_holds: `{"status": "released"}`,
  discount_redemptions: `{"is_only": false}`,
  spend_limits: `{"label": "team"}`,
  customer_balance_entries: `{"source": "invoice", "amount": -1, "invoice_id": "inv"}`,
  emails: `{"resent_from": "email"}`,
  webhook_deliveries: `{"status": "succeeded", "next_attempt_at": null}`,
};

/** Names under partial unique indexes. */
const alsoVaried: Readonly<Record<string, readonly string[]>> = {
  customers: ['external_id'],
  ledger_transactions: ['source_id'],
  resource_claims: ['external_id'],
};

/** Tables whose rows are few by their constraints, or that no list shows. */
const few = new Set([
  'attempt_counts',
  'billing_periods',
  'credit_pool_rates',
  'credit_pools',
  'credit_subjects',
  'discount_redemptions',
  'environments',
  'payment_method_attachments',
  'processor_events',
  'refunds',
  'subscription_adjustments',
  'subscription_item_features',
  'subscription_item_versions',
  'subscription_price_overrides',
  'usage_hours',
  'usage_meters',
  'usage_months',
  'webhooks',
]);

/** Every table with an environment and an id of text, and how its rows differ. */
async function tablesOf(owner: pg.Pool): Promise<Table[]> {
  const { rows } = await owner.query<Table>(`
    select c.relname as name, json_object_agg(a.attname, format_type(a.atttypid, null) order by a.attnum) as columns,
           (select coalesce(array_agg(distinct k.name), '{}') from (
              select (select x.attname::text from unnest(i.indkey::smallint[]) with ordinality as key (attnum, place)
                        join pg_attribute x on x.attrelid = i.indrelid and x.attnum = key.attnum
                       where format_type(x.atttypid, null) in ('text', 'bytea', 'bigint', 'uuid') and x.attname not in ('environment_id', 'type', 'status', 'reason', 'source', 'unit', 'period')
                       order by x.attname = 'id' desc, x.attname !~ '_id$' desc, key.place desc limit 1) as name
                from pg_index i where i.indrelid = c.oid and i.indisunique and i.indpred is null) k where k.name is not null) as varied
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where c.relnamespace = current_schema()::regnamespace and not has_own_rights(c.relname) and c.relkind = 'r'
     group by c.oid, c.relname
    having array['environment_id', 'id'] <@ array_agg(a.attname::text)
     order by 1`);
  return rows.filter(({ name }) => !few.has(name));
}

/** The most rows of tables that one parent has, where another rule than a limit bounds them. */
const mostOfParent: Readonly<Record<string, number>> = {
  // One for each price of the pricing model.
  invoice_line_items: 20_000,
  // As many as a request may name.
  credit_note_lines: 500,
  // One for each usage meter.
  ledger_accounts: 200,
  resource_claims: 100_000,
  // As many as a request may set in place of those before.
  spend_limits: 50,
};

/** The most rows of each table that one parent may have, which all copies share. */
async function limitsOf(client: pg.PoolClient): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ name: string; most: number }>(
    `select table_name as name, min(at_most) as most from row_limits() where counted = 'true' group by table_name`,
  );
  return new Map([...Object.entries(mostOfParent), ...rows.map(({ name, most }): [string, number] => [name, most])]);
}

/**
 * Makes `count` copies of a row of each table of the environment, or as many as one parent may have. Triggers and
 * foreign keys are left out, as when a dump is restored. Returns the number of copies by table.
 */
export async function copyRows(
  owner: pg.Pool,
  environmentId: number,
  count: number,
  chosen: Readonly<Record<string, string>> = {},
): Promise<Map<string, number>> {
  const made = new Map<string, number>();
  const client = await owner.connect();
  try {
    await client.query('set session_replication_role = replica; set statement_timeout = 0');
    const limits = await limitsOf(client);
    for (const { name, columns, varied } of await tablesOf(owner)) {
      const differing = new Set([...varied, ...(alsoVaried[name] ?? [])]);
      const copied = Object.entries(columns).map(([column, type]) =>
        differing.has(column) ? differentBy(column, type) : `original."${column}"`,
      );
      const wanted = Math.min(count, limits.get(name) ?? count);
      const { rowCount } = await client.query(
        `insert into ${name} (${Object.keys(columns).map((column) => `"${column}"`)}) overriding system value
         select ${copied}
           from (select (jsonb_populate_record(one, $4::jsonb)).* from ${name} as one
                  where one.environment_id = $1 and ($3::text is null or one.id::text = $3) order by one.id limit 1) as original
          cross join generate_series(1, $2::integer) as n
         on conflict do nothing`,
        [environmentId, wanted, chosen[name] ?? null, values[name] ?? '{}'],
      );
      assert.equal(rowCount, wanted, `copies of ${name}`);
      made.set(name, wanted);
    }
    await client.query('reset session_replication_role; analyze');
  } finally {
    client.release();
  }
  return made;
}

/** A value for the n-th copy that is of the column's own form, and sorts after the original. */
function differentBy(column: string, type: string): string {
  switch (type) {
    case 'uuid':
      return 'gen_random_uuid()';
    case 'bytea':
      return 'sha256(n::text::bytea)';
    case 'text':
      return `original."${column}" || '_' || lpad(n::text, 8, '0')`;
    default:
      // Beyond the rows that are there.
      return `original."${column}" + 1000 * n`;
  }
}
