import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type pg from 'pg';
import {
  fillTables,
  inSetting,
  insertStatement,
  openConnections,
  sampleRows,
  type TenantTable,
  tenantTables,
} from '../support/tenants-tables.ts';
import { buildTenants, type Tenant, type Tenants } from '../support/tenants-world.ts';

/** A foreign key between tables of tenants. */
interface Reference {
  readonly name: string;
  readonly table: string;
  readonly columns: readonly string[];
  readonly target: string;
  readonly targetColumns: readonly string[];
  readonly isDeferrable: boolean;
}

/** A reference that no foreign key holds, but a trigger. */
const heldByTriggers: readonly Omit<Reference, 'name' | 'isDeferrable' | 'targetColumns'>[] = [
  { table: 'ledger_entries', columns: ['ledger_account_id'], target: 'ledger_accounts' },
  { table: 'ledger_entries', columns: ['ledger_transaction_id'], target: 'ledger_transactions' },
  { table: 'ledger_entries', columns: ['price_id'], target: 'prices' },
  { table: 'ledger_entries', columns: ['billing_period_id'], target: 'billing_periods' },
  { table: 'ledger_entries', columns: ['usage_credit_id'], target: 'usage_credits' },
  { table: 'ledger_entries', columns: ['credit_pool_id'], target: 'credit_pools' },
  { table: 'usage_events', columns: ['series_id'], target: 'usage_series' },
];

/** Columns that end in `_id` and are held by nothing, and why. By name, or by table and name. */
const heldByNothing: Readonly<Record<string, string>> = {
  pricing_model_id: 'a copy of that of the record it belongs to, which no statement finds anything by but its own row',
  external_id: "the application's name of its own record",
  user_id: "the application's name of its own record",
  transaction_id: "the application's name of its own record",
  request_id: 'the name of a request',
  object_id: 'of any kind of record, also of one that is gone',
  record_id: 'of any kind of record, also of one that is gone',
  source_id: 'of any kind of record, or two in one: a text that makes the row the only one',
  api_key_id: 'history: it stays when the key is gone',
  usage_event_id: 'compared with the ids of events: one that is archived is not there',
  event_id: 'orders events of one instant: a text that is compared, and followed nowhere',
  'purchases.checkout_session_id': 'the session names the purchase, and each is read within its environment',
  'checkout_sessions.purchase_id': 'written by the trigger that follows the purchase, from the same environment',
  'checkout_sessions.payment_method_id': 'read within its environment only, by its id',
  'usage_hours.usage_meter_id':
    'a copy of that of its roll-ups, which have the key: batches of a meter would share its lock',
  'usage_credits.billing_period_id': 'compared with the periods of its subscription, and followed nowhere',
};

describe('references', () => {
  let tenants: Tenants;
  let owner: pg.Client;
  let close: () => Promise<void>;
  let tables: TenantTable[];
  let references: Reference[];
  let samples: Map<string, Record<string, unknown>>;
  let foreign: Map<string, Record<string, unknown>>;
  before(async () => {
    tenants = await buildTenants(['stranger'], { together: true });
    const { app, victim, intruders } = tenants;
    const [stranger] = intruders as [Tenant];
    ({ owner, close } = await openConnections(app));
    tables = await tenantTables(owner);
    references = await readReferences();
    await fillTables(owner);
    samples = await sampleRows(owner, tables, stranger.environmentId);
    foreign = await sampleRows(owner, tables, victim.environmentId);
  });

  after(() => close());

  async function readReferences(): Promise<Reference[]> {
    const columnsOf = (table: string, keys: string) =>
      `array(select a.attname::text from unnest(c.${keys}) with ordinality k (number, position)
       join pg_attribute a on a.attrelid = c.${table} and a.attnum = k.number order by k.position)`;
    const { rows } = await owner.query<Reference>(`
    select c.conname as name, c.conrelid::regclass::text as table, c.confrelid::regclass::text as target,
           ${columnsOf('conrelid', 'conkey')} as columns, ${columnsOf('confrelid', 'confkey')} as "targetColumns",
           c.condeferrable as "isDeferrable"
      from pg_constraint c where c.contype = 'f' and c.connamespace = current_schema()::regnamespace
         and not has_own_rights((select r.relname from pg_class r where r.oid = c.conrelid))
       -- Of a partitioned table one is enough: its parts have copies of it.
       and c.conparentid = 0 order by 1`);
    return rows;
  }

  describe('every foreign key of a table of tenants', () => {
    test('every foreign key of a table of tenants begins with the environment on both sides', () => {
      assert(references.length > 80);
      const wrong = references.filter(({ columns, target, targetColumns }) => {
        const environment = target === 'environments' ? 'id' : 'environment_id';
        return columns[0] !== 'environment_id' || targetColumns[0] !== environment;
      });
      // A new organization has no environment yet. No tenant sees which key of another created it.
      assert.deepEqual(
        wrong.map(({ name }) => name),
        ['environments_organization_id_fkey', 'organizations_made_by_fk'],
      );
    });

    test('every foreign key of a table of tenants refuses a row that points at what another tenant has', async () => {
      for (const reference of references.filter(({ table }) => !['environments', 'organizations'].includes(table))) {
        const { name, table, columns } = reference;
        const target = foreign.get(reference.target);
        assert(target, `${reference.target} has no row of the victim`);
        const change = Object.fromEntries(
          columns.slice(1).map((column, index) => [column, target[reference.targetColumns[index + 1] ?? '']]),
        );
        const isOfEnvironment = reference.target === 'environments';
        // Of an environment every row has one: another is one that is not there.
        const outcome = await linkOutcome(table, isOfEnvironment ? { environment_id: 999_999_999 } : change);
        if (isOfEnvironment) assert.match(outcome, /^23503 /, name);
        else assert.equal(outcome, `23503 ${name}`);
      }
    });
  });

  /** What comes of a row of the stranger's with these columns: the constraint that refuses it. */
  async function linkOutcome(table: string, linked: Record<string, unknown>): Promise<string> {
    const columns = tables.find(({ name }) => name === table)?.columns ?? [];
    const sample = samples.get(table);
    assert(sample, `${table} has no row of the stranger's`);
    const requested = await inSetting(owner, {}, async () => {
      try {
        // Nothing but the reference itself is asked about: not what else the row has to be.
        await dropOtherRules(table);
        const row = { ...sample, ...withNewId(sample), ...linked };
        await owner.query(insertStatement({ name: table, columns }), [row]);
        await owner.query('set constraints all immediate');
        return 'accepted';
      } catch (error) {
        const { code, constraint, message } = error as { code?: string; constraint?: string; message: string };
        return constraint === undefined ? message : `${code} ${constraint}`;
      }
    });
    return requested;
  }

  /** What makes a copy another row: its id, and what else only one row may have. */
  function withNewId({ id }: Record<string, unknown>): Record<string, unknown> {
    return typeof id === 'string' ? { id: `${id}x` } : typeof id === 'number' ? { id: id + 1_000_000 } : {};
  }

  /** Takes away, until the transaction is undone, what would refuse a copy of a row for another reason. */
  async function dropOtherRules(table: string): Promise<void> {
    const { rows } = await owner.query<{ statement: string }>(
      `select format('alter table %s drop constraint %I cascade', c.conrelid::regclass, c.conname) as statement
       from pg_constraint c
      where c.conrelid in (select $1::regclass::oid union all select inhrelid from pg_inherits where inhparent = $1::regclass) and c.contype in ('c', 'u', 'p', 'x') and c.coninhcount = 0
        and not exists (select from pg_constraint f where f.contype = 'f' and f.conrelid = c.conrelid and f.conindid = c.conindid)
     union all
     select format('drop index %s', i.indexrelid::regclass) from pg_index i
      where i.indrelid in (select $1::regclass::oid union all select inhrelid from pg_inherits where inhparent = $1::regclass) and i.indisunique
        and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
     union all
     select format('alter table %s disable trigger %I', t.tgrelid::regclass, t.tgname) from pg_trigger t
      where t.tgrelid = $1::regclass and t.tgname = 'customers_in_slots'`,
      [table],
    );
    for (const { statement } of rows) await owner.query(statement);
  }

  describe('a reference that a trigger holds', () => {
    for (const { table, columns, target } of heldByTriggers) {
      test(`${table}.${columns[0]} is refused where another tenant has it`, async () => {
        const id = foreign.get(target)?.id;
        assert(id, target);
        const outcome = await linkOutcome(table, { [columns[0] ?? '']: id });
        assert.match(outcome, /^23503 /);
      });
    }
  });

  test('nothing else that is called an id points anywhere, but for a reason', async () => {
    const held = new Set(references.flatMap(({ table, columns }) => columns.map((column) => `${table}.${column}`)));
    for (const { table, columns } of heldByTriggers) held.add(`${table}.${columns[0]}`);
    const loose = tables.flatMap(({ name, columns }) =>
      columns
        .filter((column) => column.endsWith('_id') && column !== 'environment_id')
        .map((column) => `${name}.${column}`)
        .filter((column) => !held.has(column)),
    );
    const reasonOf = (column: string) => heldByNothing[column] ?? heldByNothing[column.split('.')[1] ?? ''];
    assert.deepEqual(
      loose.filter((column) => reasonOf(column) === undefined),
      [],
    );
  });

  test('every unique rule is within one environment', async () => {
    const { rows } = await owner.query<{ name: string }>(`
    select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'environment_id'
     where c.relnamespace = current_schema()::regnamespace and not has_own_rights(c.relname) and i.indisunique and not a.attnum = any(i.indkey) and not c.relispartition`);
    assert.deepEqual(
      rows.map(({ name }) => name).sort(),
      // A key names its environment. The digest of a transaction has its environment within, and is a key of a partition.
      ['api_keys_hash_unique'],
    );
  });
});
