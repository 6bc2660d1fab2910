import type pg from 'pg';

// Makes many rows of every kind, each a copy of one that the service has made.

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
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
  usage_holds: `{"status": "released"}`,
  discount_redemptions: `{"is_only": false}`,
  webhook_deliveries: `{"status": "succeeded", "next_attempt_at": null}`,
};

/** Names under partial unique indexes. */
const alsoVaried: Readonly<Record<string, readonly string[]>> = {
  customers: ['external_id'],
  resource_claims: ['external_id'],
};

/** Tables whose rows are few by their constraints, or that no list shows. */
const few = new Set([
  'attempt_counts',
  'billing_periods',
  'discount_redemptions',
  'environments',
  'payment_method_attachments',
  'processor_events',
  'refunds',
  'subscription_adjustments',
  'subscription_item_features',
  'subscription_item_versions',
  'subscription_price_overrides',
  'usage_meters',
  'webhooks',
]);

/** Every table with an environment and an id of text, and how its rows differ. */
async function tablesOf(owner: pg.Pool): Promise<Table[]> {
  const { rows } = await owner.query<Table>(`
    select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns,
           (select coalesce(array_agg(distinct k.name), '{}') from (
              select (select x.attname::text from unnest(i.indkey::smallint[]) with ordinality as key (attnum, place)
                        join pg_attribute x on x.attrelid = i.indrelid and x.attnum = key.attnum
                       where format_type(x.atttypid, null) in ('text', 'bytea', 'bigint', 'uuid') and x.attname not in ('environment_id', 'type', 'status', 'reason')
                       order by x.attname = 'id' desc, x.attname !~ '_id$' desc, key.place desc limit 1) as name
                from pg_index i where i.indrelid = c.oid and i.indisunique and i.indpred is null) k where k.name is not null) as varied
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
     group by c.oid, c.relname
    having array['environment_id', 'id'] <@ array_agg(a.attname::text)
     order by 1`);
  return rows.filter(({ name }) => !few.has(name));
}

/**
 * Makes `count` copies of a row of each table of the environment. Triggers and foreign keys are left out, as when a dump
 * is restored. Returns the number of copies by table.
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
    for (const { name, columns, varied } of await tablesOf(owner)) {
      const kept = columns.map((column) => `"${column}"`);
      const differing = [...varied, ...(alsoVaried[name] ?? [])]
        .map((column) => `${quoted(column)}, ${differentBy(column)}`)
        .join(', ');
      const { rowCount } = await client.query(
        `insert into ${name} (${kept}) overriding system value
         select ${kept.map((column) => `copy.${column}`)} from (select * from ${name} where environment_id = $1 and ($3::text is null or id::text = $3)
                              order by id limit 1) as original
          cross join generate_series(1, $2::integer) as n
          cross join lateral jsonb_populate_record(null::${name},
            to_jsonb(original) || coalesce($4::jsonb, '{}') || jsonb_build_object(${differing})) as copy
         on conflict do nothing`,
        [environmentId, count, chosen[name] ?? null, values[name] ?? null],
      );
      made.set(name, rowCount ?? 0);
    }
    await client.query('reset session_replication_role; analyze');
  } finally {
    client.release();
  }
  return made;
}

const quoted = (text: string) => `'${text}'`;

/** A value for the n-th copy that is of the column's own form, and sorts after the original. */
function differentBy(column: string): string {
  const text = `to_jsonb(original) -> '${column}'`;
  if (column === 'transaction_key') return 'gen_random_uuid()';
  return `case jsonb_typeof(${text}) when 'number' then to_jsonb((to_jsonb(original) ->> '${column}')::bigint + n)
    else to_jsonb(case when to_jsonb(original) ->> '${column}' like '\\\\x%' then '\\x' || encode(sha256(n::text::bytea), 'hex')
      else (to_jsonb(original) ->> '${column}') || '_' || lpad(n::text, 8, '0') end) end`;
}
