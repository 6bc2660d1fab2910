import type pg from 'pg';
import { connected, readNumber } from './database.ts';

// Multiplies the customers of a company with everything that belongs to them, by one statement for each table. Triggers and
// foreign keys are left out, as when a dump is restored.

/** Records that all customers share, and tables that no page of the dashboard reads. */
const shared = [
  'api_keys',
  'attempt_counts',
  'discounts',
  'features',
  'idempotency_keys',
  'ledger_transactions',
  'money_days',
  'mrr_balances',
  'mrr_retention',
  'number_series',
  'prices',
  'pricing_models',
  'processor_events',
  'product_features',
  'products',
  'resources',
  'tax_rates',
  'usage_hours',
  'usage_meters',
  'webhooks',
];

/** Columns that name a record without a foreign key, and those that must differ. */
const alsoIds: Readonly<Record<string, readonly string[]>> = {
  audit_log: ['record_id'],
  events: ['object_id'],
  ledger_entries: ['ledger_transaction_id', 'ledger_account_id', 'billing_period_id', 'usage_credit_id'],
};
const varied: Readonly<Record<string, readonly string[]>> = {
  credit_notes: ['credit_note_number'],
  customers: ['external_id', 'email', 'name', 'invoice_number_base'],
  invoices: ['invoice_number'],
  payments: ['receipt_number', 'processor_reference'],
  usage_credits: ['source_id'],
  usage_events: ['transaction_id'],
};

interface Table {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string; readonly refersTo: string | null }[];
}

/** The tables of customers, with the table that each column refers to. */
async function tablesOfCustomers(client: pg.Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `
    select t.relname as name, json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null), 'refersTo', (
             select c.confrelid::regclass::text from pg_constraint c
              where c.contype = 'f' and c.conrelid = t.oid and a.attnum = c.conkey[2] limit 1)) order by a.attnum) as columns
      from pg_class t
      join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where t.relnamespace = current_schema()::regnamespace and not has_own_rights(t.relname) and t.relkind in ('r', 'p') and t.relname <> all($1)
     group by t.oid, t.relname
    having bool_or(a.attname = 'environment_id')
     order by t.relname`,
    [shared],
  );
  return rows;
}

/** The place in an id after its 8 characters of time: the copies of an id sort beside it. */
const numbered = (column: string) =>
  `overlay(t."${column}" placing lpad(n::text, 5, '0') from strpos(t."${column}", '_') + 9)`;

function copyOf({ name, columns }: Table): string {
  const copied = columns.map((column) => {
    const isId = column.name === 'id' || (column.refersTo !== null && !shared.includes(column.refersTo));
    if (varied[name]?.includes(column.name)) return `t."${column.name}" || '-' || n`;
    if (column.type === 'uuid') return 'gen_random_uuid()';
    // Series are numbered, and the copies follow on the last one.
    if (isId && column.type === 'bigint' && column.name !== 'environment_id')
      return `t."${column.name}" + n * (select max(id) from usage_series where environment_id = $1)`;
    if (column.type === 'text' && (isId || alsoIds[name]?.includes(column.name)))
      return column.name === 'id' ? (ids[name] ?? numbered('id')) : numbered(column.name);
    return `t."${column.name}"`;
  });
  return copied.join(', ');
}

/** Ids of another form: events are stored without their prefix, and the audit log has the numbers of a connection and a row. */
const ids: Readonly<Record<string, string>> = {
  usage_events: `overlay(t.id placing lpad(n::text, 5, '0') from 9)`,
  audit_log: `t.id || lpad(n::text, 6, '0')`,
};

export interface Population {
  readonly customers: number;
  readonly events: number;
}

/** Multiplies the customers of an environment until there are so many, and their usage events until there are so many. */
export async function multiplyCustomers(
  url: string,
  population: Population,
  tell: (text: string) => void = () => undefined,
): Promise<void> {
  await connected(url, async (client) => {
    const environmentId = await readNumber(client, 'select environment_id from customers limit 1');
    const copies = Math.ceil(population.customers / (await readNumber(client, 'select count(*) from customers'))) - 1;
    const events = Math.ceil(population.events / (await readNumber(client, 'select count(*) from usage_events'))) - 1;
    // The log of changes is long, and its answers count no further than 10,000.
    const copiesOf: Readonly<Record<string, number>> = { usage_events: events, audit_log: Math.ceil(copies / 10) };
    await client.query(`set session_replication_role = replica; set maintenance_work_mem = '512MB'`);
    for (const table of await tablesOfCustomers(client)) {
      const columns = table.columns.filter(({ name }) => table.name !== 'ledger_entries' || name !== 'sequence');
      const from = performance.now();
      const { rowCount } = await client.query(
        `insert into ${table.name} (${columns.map(({ name }) => `"${name}"`)}) overriding system value
         select ${copyOf({ ...table, columns })}
           from (select * from ${table.name} where environment_id = $1 offset 0) t
          cross join generate_series(1, ${copiesOf[table.name] ?? copies}) n`,
        [environmentId],
      );
      tell(`${table.name} ${rowCount} ${Math.round(performance.now() - from)} ms`);
    }
    await client.query('reset session_replication_role');
    // Each copy counts as its original does.
    const times = `* ${copies + 1}`;
    await client.query('select merge_daily_sums(1000000)');
    await closeRollups(client);
    await client.query(`update money_days set count = count ${times}, amount = amount ${times}, tax = tax ${times}`);
    await client.query(`update usage_hours set units = units ${times}, events = events ${times}`);
    await client.query(
      `update mrr_retention set amount = amount ${times}, lost = lost ${times}, customers = customers ${times}, made = made ${times}`,
    );
    // The balances of the copies come with those of the originals.
    await client.query('delete from mrr_balances');
    await client.query('select take_mrr_balances(1000)');
    await client.query('vacuum analyze');
  });
}

// At 50 events of a customer in two years, 100,000 customers send 300 events an hour, and the roll-ups of two hours are open. These are
// five times as many.
const openRollups = 3_000;

/**
 * Closes and sums roll-ups, as a job of the service does little by little. The demo ends in an hour in which most of its
 * customers used something; in a company of that size few did. So most are closed as if three hours had passed.
 */
async function closeRollups(client: pg.Client): Promise<void> {
  await client.query('select close_idle_rollups(1000000)');
  const open = await readNumber(client, 'select count(*) from ledger_accounts where open_series_id is not null');
  await client.query('update environments set clock_now = clock_now + 10800000');
  await client.query('select close_idle_rollups($1)', [Math.max(0, open - openRollups)]);
  await client.query('update environments set clock_now = clock_now - 10800000');
  await client.query('select sum_usage_months(10000000)');
}
