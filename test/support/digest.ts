import { hash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import type { Database } from '../../src/database/database.ts';
import { idPrefixes } from '../../src/kernel/id.ts';
import type { TestApp } from './harness.ts';

// What changes by being read, or holds what was answered rather than what is.
const left = new Set(['idempotency_keys', 'kysely_migration', 'kysely_migration_lock']);

/**
 * A digest of every row of every table of each cell: equal digests mean that nothing was stored in between, not even what was
 * there already.
 */
export async function databaseDigest({
  cells,
  copyCatalogs,
}: Pick<TestApp, 'cells' | 'copyCatalogs'>): Promise<string> {
  // Cells may follow a catalog that a test has changed at any moment.
  await copyCatalogs();
  const digests = await Promise.all(cells.map(({ ownerPool }) => digestOfCell(ownerPool)));
  return digests.join(' ');
}

async function digestOfCell(ownerPool: pg.Pool): Promise<string> {
  const text = digestTexts.get(ownerPool) ?? writeDigest(ownerPool);
  digestTexts.set(ownerPool, text);
  const { rows } = await ownerPool.query({ name: 'digest', text: await text });
  return String(rows[0].digest);
}

const digestTexts = new WeakMap<object, Promise<string>>();

/**
 * One statement over all tables that there are, which each connection plans once. A row that is written has another place
 * or another transaction from then on, which is less to read than its values. Of keys, which note when they were used, the
 * values are read.
 */
async function writeDigest(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ part: string }>(
    `select format('select %1$L || count(*) || '' '' || bit_xor(%2$s) as digest from %1$I t', c.relname,
                   case when used.attname is null then 'hashtidextended(t.ctid, t.xmin::text::bigint)'
                        else 'hashtextextended((to_jsonb(t) - ''last_used_at'')::text, 0)' end) as part
       from pg_class c
       left join pg_attribute used on used.attrelid = c.oid and used.attname = 'last_used_at'
      where c.relnamespace = current_schema()::regnamespace and not has_own_rights(c.relname) and c.relkind in ('r', 'p') and c.relname <> all($1)
      order by c.relname`,
    [[...left]],
  );
  const jobs = `select 'jobs' || count(*) from _private_jobs`;
  // A table that comes later is not read: that it came is seen.
  const tables = `select 'tables' || count(*) from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')`;
  const parts = [...rows.map(({ part }) => part), jobs, tables].join(' union all ');
  return `select md5(string_agg(digest, ';' order by digest)) as digest from (${parts}) as parts`;
}

// What belongs to nobody's business: keys, stored answers, and the environment's own row, which the next lines read.
// Who did it and how differs: what came of it must not.
const leftOfEnvironment = new Set([
  ...left,
  'audit_log',
  'api_keys',
  'environments',
  'processor_events',
  'webhook_deliveries',
  // Rows for each statement, which add up to the same.
  'money_days',
  'mrr_retention',
  'usage_hours',
  'usage_months',
]);
// Real time, numbers that a processor or a random number makes up, and who asked.
const leftColumns = [
  'work_retry_at',
  'wanted_since',
  'api_key_id',
  'receipt_number',
  'invoice_number_base',
  'stem',
  'hash',
  'digest',
  'transaction_key',
];
// Numbers of sequences, which all environments draw from.
const drawnColumns = ['catalog_version', 'revision', 'subscription_revision', 'sequence', 'booking', 'booked_before'];
const seriesOf = (column: string) => sql`
  (select jsonb_build_array(s.subscription_id, s.price_id, s.billing_period_id) from usage_series s
    where s.environment_id = t.environment_id and s.id = ${sql.ref(column)})`;
const series = seriesOf('t.series_id');
/** What stands in the place of numbers that rows are known by, and of ids without their prefix. */
const told: Readonly<Record<string, RawBuilder<unknown>>> = {
  ledger_transactions: sql`jsonb_build_object('source_id', case when t.type <> 'usage_event_processed' then t.source_id end)`,
  ledger_accounts: sql`jsonb_build_object('open_series_id', ${seriesOf('t.open_series_id')})`,
  usage_series: sql`jsonb_build_object('id', null)`,
  usage_events: sql`jsonb_build_object('id', ${idPrefixes.usageEvent} || '_' || t.id, 'series_id', ${series})`,
  usage_rollups: sql`jsonb_build_object('series_id', ${series})`,
  usage_levels: sql`jsonb_build_object('event_id', ${idPrefixes.usageEvent} || '_' || t.event_id)`,
  usage_measures: sql`jsonb_build_object('event_id', ${idPrefixes.usageEvent} || '_' || t.event_id)`,
  usage_event_distinct_properties: sql`jsonb_build_object('usage_event_id', ${idPrefixes.usageEvent} || '_' || t.usage_event_id)`,
};
const idPattern = new RegExp(`(?:${Object.values(idPrefixes).sort(longestFirst).join('|')})_[0-9A-Za-z]{21}`, 'g');
// An invoice's number begins with its customer's own random part.
const invoiceNumberPattern = /"invoice(?:_n|N)umber": "[^"]*-(\d+)"|Invoice [^" ]*-(\d+)/g;
// Fields of records in the payloads of events that differ as `leftColumns` do.
const madeUpPattern = /"(invoiceNumberBase|receiptNumber)": "[^"]*"/g;
// How far rows are told apart by what they refer to: a line, its invoice, its period, its subscription, its customer.
const rounds = 6;

function longestFirst(one: string, other: string): number {
  return other.length - one.length;
}

/**
 * Every row of an environment as text in which ids say nothing but what they refer to, in an order of its own: two
 * environments in which the same has happened have the same lines, whatever their ids are. `leaveOut` names columns
 * and tables that may differ. A row's name is made of its
 * values, then again and again of its values and the names of the rows that it refers to.
 */
export async function environmentLines(
  owner: Database,
  environmentId: number,
  leaveOut: readonly string[] = [],
): Promise<string[]> {
  const rows = await readRows(owner, environmentId, [...leftColumns, ...drawnColumns, ...leaveOut]);
  let names = new Map<string, string>();
  for (let round = 0; round < rounds; round++) {
    names = new Map(rows.map((row) => [row.id, shortHash(named(row, names))]));
  }
  const { rows: clocks } = await sql<{ line: string }>`
    select json_build_object('now', clock_now, 'target', clock_target)::text as line from environments
     where id = ${environmentId}`.execute(owner);
  return [...rows.map((row) => named(row, names)).sort(), ...clocks.map(({ line }) => line)];
}

/** A row as text, taken apart at the ids in it once: between two texts stands an id. */
interface TextRow {
  readonly id: string;
  readonly texts: readonly string[];
  readonly ids: readonly string[];
}

async function readRows(owner: Database, environmentId: number, leaveOut: readonly string[]): Promise<TextRow[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'environment_id'
     where pg_table_is_visible(c.oid) and not has_own_rights(c.relname) and c.relkind in ('r', 'p', 'v') order by 1`.execute(
    owner,
  );
  const all: TextRow[] = [];
  for (const { name } of tables.filter(
    (table) => !leftOfEnvironment.has(table.name) && !leaveOut.includes(table.name),
  )) {
    const { rows } = await sql<{ text: string; id: string | null }>`
      select (row - 'environment_id' - ${leaveOut}::text[])::text as text, row ->> 'id' as id
        from (select to_jsonb(t) || ${told[name] ?? sql`'{}'::jsonb`} as row
                from ${sql.table(name)} t where t.environment_id = ${environmentId}) as rows`.execute(owner);
    all.push(...rows.map(({ text, id }, index) => takeApart(`${name} ${text}`, id ?? `${name} ${index}`)));
  }
  return all;
}

function takeApart(text: string, id: string): TextRow {
  const numbered = text
    .replaceAll(madeUpPattern, '"$1"')
    .replaceAll(invoiceNumberPattern, (_, one, other) => `number ${one ?? other}`);
  return { id, texts: numbered.split(idPattern), ids: numbered.match(idPattern) ?? [] };
}

/** The row's text with each id replaced by the name of what it refers to; its own by a word. */
function named({ id, texts, ids }: TextRow, names: ReadonlyMap<string, string>): string {
  let text = texts[0] ?? '';
  for (const [index, each] of ids.entries())
    text += `${each === id ? 'own' : (names.get(each) ?? 'id')}${texts[index + 1]}`;
  return text;
}

function shortHash(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 16);
}
