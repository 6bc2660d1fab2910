import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { sql } from 'kysely';
import { routes } from '../../src/api/routes.ts';
import { firstIdAt } from '../../src/audit/audit-entry.ts';
import { calls } from '../support/api-calls.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { buildWorld } from '../support/world.ts';

// Each cell has the same columns.
const app = await startTestApp({ cells: 1 });

interface Column {
  readonly tableName: string;
  readonly columnName: string;
  readonly type: string;
  readonly decision: string | null;
}

/** Every column of every table with an environment that is audited, and what was decided about it. */
async function auditedColumns(): Promise<Column[]> {
  const { rows } = await sql<Column>`
    select c.table_name, c.column_name, c.data_type as type, d.decision
      from information_schema.columns c
      left join audit_decisions() d on d.table_name = c.table_name and d.column_name = c.column_name
     where c.table_schema = current_schema() and c.table_name <> all (unaudited_tables()) and not has_own_rights(c.table_name::name)
       and (c.table_name = 'environments' or exists (
             select from information_schema.columns e
              where e.table_schema = current_schema() and e.table_name = c.table_name and e.column_name = 'environment_id'))
     order by c.table_name, c.ordinal_position`.execute(app.owner);
  return rows;
}

describe('the decisions', () => {
  // Looked at one by one: none of them opens anything to whoever reads it.
  const shown = new Set([
    'api_keys.masked_token', // the beginning of every key, and four characters
    'checkout_sessions.billing_address',
    'checkout_sessions.billing_anchor',
    'checkout_sessions.metadata',
    'checkout_sessions.output_metadata',
    'customers.billing_address',
    'customers.billing_terms',
    'customers.icon_url',
    'customers.logo_url',
    'customers.metadata',
    'environments.billing_anchor',
    'environments.mail',
    'environments.numbering',
    'environments.seller',
    'features.grant_interval',
    'features.value',
    'features.spend_limit',
    'invoice_items.explanation',
    'invoice_line_items.explanation',
    'invoices.buyer',
    'invoices.metadata',
    'invoices.seller',
    'payment_methods.billing_details',
    'payment_methods.metadata',
    'payment_methods.payment_method_data', // brand and last four digits
    'prices.metadata',
    'prices.pricing',
    'prices.where',
    'product_features.value',
    'products.image_url',
    'products.metadata',
    'products.usage_prices',
    'purchases.billing_address',
    'purchases.billing_anchor',
    'purchases.metadata',
    'resource_claims.metadata',
    'subscription_adjustments.bill',
    'subscription_adjustments.capacities',
    'subscription_adjustments.items',
    'subscription_adjustments.price_overrides',
    'subscription_item_features.grant_interval',
    'subscription_item_features.value',
    'subscription_items.metadata',
    'subscription_item_versions.pricing',
    'subscription_items.pricing',
    'subscription_price_overrides.pricing',
    'subscriptions.billing_anchor',
    'subscriptions.metadata',
    'usage_meters.where',
    'credit_pool_rates.where',
    'webhooks.previous_secret_ends_at', // when, and not what
  ]);

  test('every column that may hold a secret, by its name or because it holds anything, was decided', async () => {
    const mayHoldSecrets =
      /secret|token|hash|password|credential|sealed|signature|nonce|url|link|(^|_)(key|mac|code_hash)(_|$)/;
    const columns = await auditedColumns();
    assert(columns.length > 300);
    const suspicious = columns.filter(
      ({ columnName, type }) => mayHoldSecrets.test(columnName) || ['json', 'jsonb', 'bytea'].includes(type),
    );
    const name = ({ tableName, columnName }: Column) => `${tableName}.${columnName}`;
    const undecided = suspicious.filter((column) => column.decision === null && !shown.has(name(column))).map(name);
    assert.deepEqual(undecided, [], 'decide in audit_decisions(), or here that it may be shown');
    const known = new Set(suspicious.map(name));
    assert.deepEqual(
      [...shown].filter((column) => !known.has(column)),
      [],
    );
  });

  test('each is about a column that there is', async () => {
    const { rows } = await sql<{ name: string }>`
      select d.table_name || '.' || d.column_name as name from audit_decisions() d
       where not exists (select from information_schema.columns c
                          where c.table_schema = current_schema() and c.table_name = d.table_name and c.column_name = d.column_name)`.execute(
      app.owner,
    );
    assert.deepEqual(rows, []);
  });

  test('every table with an environment writes to the log, or is named as one that does not', async () => {
    const { rows: all } = await sql<{ name: string; triggers: string[] }>`
      select c.relname as name, array_agg(t.tgname::text order by t.tgname) as triggers
        from pg_trigger t join pg_class c on c.oid = t.tgrelid
       where t.tgname like 'audit\\_%' and c.relnamespace = current_schema()::regnamespace group by 1 order by 1`.execute(
      app.owner,
    );
    const { true: ofPeople = [], false: triggers = [] } = Object.groupBy(all, ({ name }) =>
      name.startsWith('people_') ? 'true' : 'false',
    );
    assert.deepEqual(
      ofPeople.map(({ name }) => name),
      ['accounts', 'invitations', 'memberships', 'passkeys', 'sign_in_providers', 'users'].map(
        (name) => `people_${name}`,
      ),
    );
    const audited = new Set((await auditedColumns()).map(({ tableName }) => tableName));
    assert.deepEqual(new Set(triggers.map(({ name }) => name)), audited);
    const partly: ReadonlyMap<string, string> = new Map([
      ['usage_credits', 'audit_insert'],
      ['processor_customers', 'audit_insert'],
      ['attempt_counts', 'audit_update'],
    ]);
    for (const { name, triggers: of } of triggers) {
      const only = partly.get(name);
      const expected = only === undefined ? ['audit_delete', 'audit_insert', 'audit_update'] : [only];
      assert.deepEqual(of, expected, name);
    }
    const { rows: named } = await sql<{ name: string }>`
      select unnest(unaudited_tables() || audited_when_made() || audited_when_changed()) as name except
      select tablename from pg_tables where schemaname = current_schema()`.execute(app.owner);
    assert.deepEqual(named, []);
  });
});

// What only Stripe has, a discount, and a change in the middle of a period.
const rare = new Set([
  'processor_customers',
  'payment_method_attachments',
  'invoice_discounts',
  'subscription_item_versions',
  'subscription_price_overrides',
  // The one of the world is deleted.
  'invoice_items',
  'purchase_add_ons',
  'auto_top_ups',
  'auto_top_up_purchases',
  'checkout_session_add_ons',
]);

describe('the log', () => {
  test('the log tells of every record how it came to be as it is', async () => {
    const world = await buildWorld(app, app, 'world');
    const failed: string[] = [];
    for (const route of routes.filter(({ method }) => method !== 'GET')) {
      const call = calls[`${route.method} ${route.path}`]?.(world, 'audit');
      assert(call, route.path);
      // An erasure takes values out of the log: see erase.test.ts.
      if (['/test-clock', '/customers/{externalId}/erase'].includes(route.path)) continue;
      const { status } = await app.request(route.method, call.path, call.body);
      if (status >= 500) failed.push(`${route.method} ${route.path}: ${status}`);
    }
    assert.deepEqual(failed, []);
    await app.runJobs({ all: true });
    const columns = await auditedColumns();
    const empty: string[] = [];
    for (const table of new Set(columns.map(({ tableName }) => tableName))) {
      // The ledger tells what happens to a credit after it was made. An attempt is told only if it reaches a limit.
      if (table === 'usage_credits' || table === 'attempt_counts') continue;
      const left = new Set(
        columns
          .filter(({ tableName, decision }) => tableName === table && decision !== null)
          .map(({ columnName }) => columnName),
      );
      const rows = await assertRetold(table, new Set([...left, 'environment_id', 'updated_at']));
      if (rows === 0) empty.push(table);
    }
    assert.deepEqual(
      empty.filter((table) => !rare.has(table)),
      [],
    );
  });

  /** The entries, from the first to the last, lead to the rows of a table as they are. Answers how many there are. */
  async function assertRetold(table: string, leftOut: ReadonlySet<string>): Promise<number> {
    const strip = (row: Body): Body =>
      Object.fromEntries(Object.entries(row).filter(([key, value]) => value !== null && !leftOut.has(key)));
    const { rows } = await sql<{ row: Body }>`select to_json(t) as row from ${sql.table(table)} t`.execute(app.owner);
    const entries = await sql<{ recordId: string; before: Body | null; after: Body | null }>`
      select record_id, before, after from audit_log
       where record = regexp_replace(lower(left(${table}::text, 1))
         || substr(replace(initcap(replace(${table}::text, '_', ' ')), ' ', ''), 2), 's$', '') order by id`.execute(
      app.owner,
    );
    const told = new Map<string, Body>();
    for (const { recordId, before, after } of entries.rows) {
      const known = told.get(recordId);
      for (const [key, value] of Object.entries(before ?? {})) {
        if (!leftOut.has(key)) assert.deepEqual(known?.[key] ?? null, value, `${table} ${recordId} ${key}`);
      }
      if (after === null) told.delete(recordId);
      else told.set(recordId, { ...known, ...after });
    }
    const retold = Object.fromEntries([...told].map(([id, row]) => [id, strip(row)]));
    const actual = Object.fromEntries(rows.map(({ row }) => [String(row.id ?? row.customer_id), strip(row)]));
    assert.deepEqual(retold, actual, table);
    return rows.length;
  }

  test('the log holds no secret that ever came in or went out', async () => {
    const plans = await setUpPlans(app);
    const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
    await plans.subscribe({ customerId, priceId: plans.priceOf('pro-monthly').id });
    const url = 'https://hooks.example.com/services/PATHSECRET?auth=QUERYSECRET';
    const { webhook, secret } = await app.post('/webhooks', { webhook: { name: 'Hook', url, filterTypes: [] } });
    const moved = 'https://elsewhere.example.com/services/PATHSECRET2';
    await app.put(`/webhooks/${webhook.id}`, { webhook: { id: webhook.id, url: moved } });
    const rotated = await app.post(
      `/webhooks/${webhook.id}/rotate-secret`,
      {},
      { headers: { 'idempotency-key': 'IDEMPOTENCYSECRET' } },
    );
    const { portalSession } = await app.post(`/customers/${externalId}/portal-sessions`, { portalSession: {} });
    const returns = {
      successUrl: 'https://app.example.com/RETURNSECRET',
      cancelUrl: 'https://app.example.com/?RETURNSECRET',
    };
    const { url: checkoutUrl } = await app.post('/checkout-sessions', {
      checkoutSession: { type: 'add_payment_method', customerExternalId: externalId, ...returns },
    });
    const keyOf = (link: string) => new URL(link).searchParams.get('key') ?? '';
    const secrets = {
      testKey: app.testKey,
      liveKey: app.liveKey,
      hash: createHash('sha256').update(app.testKey).digest('hex'),
      card: 'pm_card_visa',
      webhookSecret: secret.replace('whsec_', ''),
      rotatedSecret: JSON.stringify(rotated).match(/whsec_([^"]+)/)?.[1] ?? '',
      portal: keyOf(portalSession.url),
      checkout: keyOf(checkoutUrl),
      path: 'PATHSECRET',
      query: 'QUERYSECRET',
      returns: 'RETURNSECRET',
      idempotency: 'IDEMPOTENCYSECRET',
    };
    const { rows } = await sql<{ text: string }>`select a::text as text from audit_log a`.execute(app.owner);
    const whole = rows.map(({ text }) => text).join('\n');
    for (const [name, value] of Object.entries(secrets)) {
      assert(value.length >= 8, `${name} is known`);
      assert(!whole.includes(value), name);
    }
    const { rows: sealed } = await sql<{ value: string }>`
      select sealed_secret as value from webhooks union all select encode(hash, 'hex') from api_keys
       union all select processor_token from payment_methods`.execute(app.owner);
    for (const { value } of sealed) assert(!whole.includes(value));
    // That they were changed, and where to, is told all the same.
    const [rotation, move] = (await app.get(`/audit-log?recordId=${webhook.id}`)).data;
    assert.deepEqual([rotation.action, rotation.after.sealedSecret], ['POST /webhooks/{id}/rotate-secret', '(secret)']);
    assert.deepEqual([move.before.url, move.after.url], ['https://hooks.example.com', 'https://elsewhere.example.com']);
  });

  test('the log can be read and added to by changes, and otherwise not touched by the service', async () => {
    const attempts = {
      insert: sql`insert into audit_log select * from audit_log limit 1`,
      update: sql`update audit_log set after = '{}'`,
      delete: sql`delete from audit_log`,
      truncate: sql`truncate audit_log`,
      disable: sql`alter table customers disable trigger audit_update`,
      replica: sql`set session_replication_role = replica`,
      call: sql`select audit_changes_of_customers()`,
      // The trigger's function on a table of one's own would write into any environment.
      forge: sql`do $$ begin
        create temp table forged (environment_id bigint, id text, pricing_model_id text);
        create trigger forged after insert on forged referencing new table as added
          for each statement execute function audit_changes_of_customers();
      end $$`,
    };
    for (const [name, attempt] of Object.entries(attempts)) {
      const failure = await app.inEnvironment((work) => attempt.execute(work.db)).catch((error: unknown) => error);
      assert(failure instanceof Error, name);
      assert.match(failure.message, /permission denied|must be owner/, name);
    }
    const hidden = await app.database.selectFrom('auditLog').selectAll().execute();
    assert.deepEqual(hidden, []);
    const { rows } = await app.inEnvironment((work) =>
      sql<{ environmentId: number }>`select distinct environment_id from audit_log`.execute(work.db),
    );
    assert.deepEqual(rows, [{ environmentId: app.testEnvironmentId }]);
  });

  test('the log loses entries that are too old when that is wished, and never those of the last month', async () => {
    const days = (count: number) => Date.now() - count * 86_400_000;
    const old = (age: number, n: number) => `${firstIdAt(days(age))}${'0'.repeat(6)}${100000 + n}`;
    const ages = [400, 91, 89, 31, 29];
    for (const [n, age] of ages.entries()) {
      await sql`
        insert into audit_log (environment_id, id, occurred_at, actor_type, record, record_id, operation, after)
        values (${app.testEnvironmentId}, ${old(age, n)}, ${days(age)}, 'system', 'old', ${String(age)}, 'insert', '{}')`.execute(
        app.owner,
      );
    }
    const left = async () =>
      (await app.get('/audit-log?record=old')).data.map(({ record }: Body) => Number(record.id)).reverse();
    const context = { database: app.database, tasks: app.tasks, services: app.services };
    const newest = (await app.get('/audit-log')).total;
    await app.tasks.forget_audit_log?.(context, { days: 90 });
    assert.deepEqual(await left(), [89, 31, 29]);
    await app.tasks.forget_audit_log?.(context, { days: 1 });
    assert.deepEqual(await left(), [29]);
    assert.equal((await app.get('/audit-log')).total, newest - 4);
  });
});
