import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import type pg from 'pg';
import { queueSchemaOf, serviceRole } from '../../src/database/database.ts';
import { testSchema } from '../support/databases.ts';
import { databaseDigest } from '../support/digest.ts';
import {
  fillTables,
  inSetting,
  insertStatement,
  openConnections,
  outcomeOf,
  sampleRows,
  type TenantTable,
  tenantTables,
} from '../support/tenants-tables.ts';
import { buildTenants, type Tenant, type Tenants } from '../support/tenants-world.ts';

/** What the environment has and no pricing model, so that a pinned key's statements see all of it, and why that is right. */
const ofWholeEnvironment: Readonly<Record<string, string>> = {
  environments: 'the settings and the clock',
  idempotency_keys: 'the stored answer of a pinned key is kept under what it was pinned to',
  processor_customers: 'who a customer is at the processor: found by the id of a customer, which is of a pricing model',
  attempt_counts: 'numbers of failed attempts',
  processor_events: 'ids of events of the processor',
  number_series: 'the number of the last document of a series',
  tax_rates: 'taxes are those of the seller',
  usage_event_distinct_properties: 'digests, compared within one usage meter',
  usage_charges: 'found by a ledger account, which is of a pricing model',
  pool_draws: 'found by a ledger account, which is of a pricing model',
  usage_levels: 'found by a ledger account, which is of a pricing model',
  usage_measures: 'found by a ledger account, which is of a pricing model',
  usage_overages: 'found by a ledger account, which is of a pricing model',
  usage_threshold_checks: 'found by a subscription, which is of a pricing model',
  auto_top_up_checks: 'found by a customer, which is of a pricing model',
};

/** Tables of people that the service reads: those of the organization of its environment. */
const ofPeople = ['people_users', 'people_memberships', 'people_invitations', 'people_sign_in_providers'];

/** Tables of no tenant, and what the service does there. */
const ofNobody: Readonly<Record<string, string>> = {
  encryption_keys: 'fingerprints of the keys that secrets are sealed with, so that a wrong one is noticed at the start',
  kysely_migration: 'which migrations have run',
  kysely_migration_lock: 'the lock of those who migrate',
  usage_partitions: 'when partitions of usage events were opened, closed and archived, over all tenants',
  one_row: 'one row with nothing to know, which inserts select from',
  cell: 'the number of this cell, and the installation',
  slots: 'the cells of slots, which say nothing about customers',
  slots_here: 'the slots of this cell',
  slots_moving: 'the slots under way, which say nothing about customers',
};

describe('row-level security', () => {
  let tenants: Tenants;
  let owner: pg.Client;
  let service: pg.Client;
  let close: () => Promise<void>;
  let tables: TenantTable[];
  let samples: Map<string, Record<string, unknown>>;
  let stranger: Tenant;
  let pinned: Tenant;
  before(async () => {
    tenants = await buildTenants(['pinned', 'stranger'], { together: true });
    const { app, victim } = tenants;
    [pinned, stranger] = tenants.intruders as [Tenant, Tenant];
    ({ owner, service, close } = await openConnections(app));
    tables = await tenantTables(owner);
    await fillTables(owner);
    samples = await sampleRows(owner, tables, victim.environmentId);
  });

  after(() => close());

  const countOf = async (name: string, condition = 'true'): Promise<number> =>
    Number((await service.query(`select count(*) as count from ${name} where ${condition}`)).rows[0].count);

  describe('the walls stand', () => {
    test('around every table that has an environment', () => {
      assert(tables.length > 40);
      assert.deepEqual(
        tables.filter(({ isSecured }) => !isSecured).map(({ name }) => name),
        [],
      );
    });

    test('nothing else that holds data can be read, but for what is nobody’s', async () => {
      const { rows } = await owner.query<{ name: string; kind: string }>(`
      select c.relname as name, c.relkind as kind from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname !~ '^pg_|^information_schema$' and c.relkind in ('r', 'p', 'v', 'm', 'f')
         and has_schema_privilege('${serviceRole}', n.oid, 'usage')
         and has_any_column_privilege('${serviceRole}', c.oid, 'select')`);
      const walled = new Set([
        ...tables.map(({ name }) => name),
        ...ofPeople,
        'organizations',
        'test_processor_operations',
      ]);
      const open = rows.filter(({ name }) => !walled.has(name)).map(({ name }) => name);
      // Each cell has the same tables.
      assert.deepEqual([...new Set(open)].sort(), Object.keys(ofNobody).sort());
      // A view looks with the eyes of its owner.
      assert.deepEqual(
        rows.filter(({ kind }) => kind !== 'r' && kind !== 'p'),
        [],
      );
      assert.equal(await countOf('organizations'), 0);
      // The memory of the test network: what it was asked for, by keys that name no tenant.
      const { rows: columns } = await owner.query(
        `select attname from pg_attribute where attrelid = 'test_processor_operations'::regclass and attnum > 0 order by attnum`,
      );
      assert.deepEqual(
        columns.map(({ attname }) => attname),
        ['idempotency_key', 'kind', 'reference', 'amount', 'token', 'outcome', 'created_at'],
      );
    });

    test('the service is nobody who may step over the walls', async () => {
      const { rows } = await owner.query(
        'select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolcanlogin from pg_roles where rolname = $1',
        [serviceRole],
      );
      assert.deepEqual(Object.values(rows[0]), [false, false, false, false, false, false]);
      const { rows: memberships } = await owner.query(
        'select roleid::regrole::text from pg_auth_members where member = $1::regrole',
        [serviceRole],
      );
      assert.deepEqual(memberships, []);
      const { rows: owned } = await owner.query('select relname from pg_class where relowner = $1::regrole', [
        serviceRole,
      ]);
      assert.deepEqual(owned, []);
    });

    test('every table has a row of the victim to hide', () => {
      const empty = tables.filter(({ name }) => !samples.has(name)).map(({ name }) => name);
      assert.deepEqual(empty, []);
    });
  });

  /** What cannot be written, whatever the environment is set to: refused, or no row is found. */
  async function assertUntouchable({ name, environmentColumn, columns }: TenantTable): Promise<void> {
    const where = `${environmentColumn} = ${tenants.victim.environmentId}`;
    const refusals = {
      insert: await outcomeOf(service, insertStatement({ name, columns }), [samples.get(name)]),
      update: await outcomeOf(service, `update ${name} set ${environmentColumn} = ${environmentColumn} where ${where}`),
      delete: await outcomeOf(service, `delete from ${name} where ${where}`),
    };
    // 42501: not allowed. 428C9: the number of an environment is never written.
    assert(['42501', '428C9'].includes(String(refusals.insert)), `insert into ${name}: ${refusals.insert}`);
    for (const verb of ['update', 'delete'] as const)
      assert([0, '42501', '428C9'].includes(refusals[verb]), `${verb} ${name}: ${refusals[verb]}`);
  }

  describe('with the environment', () => {
    for (const environment of [undefined, '']) {
      test(`${environment === undefined ? 'unset' : 'set to nothing'}, there is nothing`, async () => {
        await inSetting(service, environment === undefined ? {} : { environment }, async () => {
          for (const table of tables) {
            assert.equal(await countOf(table.name), 0, table.name);
            await assertUntouchable(table);
          }
        });
      });
    }

    test('with the environment of another there is nothing of the victim', async () => {
      const { victim } = tenants;
      await inSetting(service, { environment: String(stranger.environmentId) }, async () => {
        for (const table of tables) {
          assert.equal(
            await countOf(table.name, `${table.environmentColumn} <> ${stranger.environmentId}`),
            0,
            table.name,
          );
          await assertUntouchable(table);
          const give = `update ${table.name} set ${table.environmentColumn} = ${victim.environmentId}`;
          assert(['42501', '428C9', 0].includes(await outcomeOf(service, give)), `${table.name} is given away`);
        }
      });
    });

    test('that is not there, or that is no number, there is nothing', async () => {
      const { environmentId } = tenants.victim;
      const wrong = [
        '0',
        '-1',
        '999999999',
        '9223372036854775807',
        `${environmentId} or true`,
        'x',
        '1e0',
        'null',
        '*',
        `${environmentId}.5`,
      ];
      for (const environment of wrong) {
        await inSetting(service, { environment }, async () => {
          for (const { name } of tables) {
            const seen = await outcomeOf(service, `select from ${name}`);
            assert([0, '22P02', '22003'].includes(seen), `${environment}: ${name} shows ${seen}`);
          }
        });
      }
    });

    test('with the environment of the victim a key that is pinned elsewhere sees nothing of its pricing models', async () => {
      const setting = {
        environment: String(tenants.victim.environmentId),
        pricingModel: pinned.pinnedPricingModelId ?? '',
      };
      const unbound = new Set<string>();
      await inSetting(service, setting, async () => {
        for (const table of tables) {
          const { name, modelColumn, columns } = table;
          if (modelColumn !== null) {
            assert.equal(await countOf(name, `${modelColumn} is distinct from '${setting.pricingModel}'`), 0, name);
            const row = { ...samples.get(name), [modelColumn]: tenants.victim.world.pricingModelId };
            assert.equal(await outcomeOf(service, insertStatement({ name, columns }), [row]), '42501', name);
          } else if (columns.includes('series_id')) {
            const foreign = `not exists (select from usage_series s where s.id = series_id and s.pricing_model_id = '${setting.pricingModel}')`;
            assert.equal(await countOf(name, foreign), 0, name);
            assert.equal(await outcomeOf(service, insertStatement(table), [samples.get(name)]), '42501', name);
          } else unbound.add(name);
        }
      });
      assert.deepEqual([...unbound].sort(), Object.keys(ofWholeEnvironment).sort());
    });

    test('with the environment of the victim and a pricing model that is not there, there is nothing either', async () => {
      const environment = String(tenants.victim.environmentId);
      for (const pricingModel of ['x', stranger.world.pricingModelId, `' or true or '`]) {
        await inSetting(service, { environment, pricingModel }, async () => {
          for (const { name } of tables.filter((table) => !(table.name in ofWholeEnvironment)))
            assert.equal(await countOf(name), 0, name);
        });
      }
    });

    test('set in one transaction, it is forgotten in the next', async () => {
      await service.query('begin');
      await service.query('select enter_environment($1)', [tenants.victim.environmentId]);
      assert((await countOf('customers')) > 0);
      await service.query('commit');
      assert.equal(await countOf('customers'), 0);
    });
  });

  const forbidden: readonly [claim: string, statement: string, refusals?: readonly string[]][] = [
    ['become the owner', `set role "%owner"`],
    ['become the owner for good', `set session authorization "%owner"`],
    ['look past the walls', 'set local row_security = off; select from customers'],
    ['take down a wall', 'alter table customers disable row level security', ['42501']],
    ['drop a policy', 'drop policy tenant on customers'],
    ['make a policy', 'create policy everything on customers using (true)'],
    ['switch triggers off', 'alter table ledger_entries disable trigger all'],
    ['switch foreign keys off', 'set session_replication_role = replica'],
    ['make a table', 'create table mine (a int)'],
    ['make a schema', 'create schema mine'],
    ['make a function', `create function mine() returns int language sql as 'select 1'`],
    ['change a function', 'alter function current_environment() volatile'],
    ['make a role', 'create role mine'],
    ['read passwords', 'select from pg_authid'],
    ['read files', `select pg_read_file('/etc/passwd')`],
    ['write files', `copy (select 1) to '/tmp/tenants-probe'`],
    ['run programs', `copy (select 1) to program 'true'`],
    ['load code', `load 'plpgsql'`, ['42501', '00000']],
    ['read the queue', `select from ${queueSchemaOf(testSchema)}._private_jobs`],
    ['fill the queue by itself', `select ${queueSchemaOf(testSchema)}.add_job('x')`],
    ['empty a table', 'truncate customers cascade'],
    ['secure tables anew', 'select secure_tenant_tables()'],
    ['change what the test network said', 'delete from test_processor_operations'],
    ['change the log of changes', 'delete from audit_log'],
    ...[
      'ledger_accounts',
      'ledger_transactions',
      'ledger_entries',
      'usage_credits',
      'usage_series',
      'usage_events',
      'usage_rollups',
      'usage_archive_sums',
    ].map((table): [string, string] => [`delete from ${table}`, `delete from ${table}`]),
  ];

  describe('the service cannot', () => {
    for (const [claim, statement, refusals = ['42501']] of forbidden) {
      test(claim, async () => {
        const { rows } = await owner.query('select current_user as name');
        await inSetting(service, { environment: String(tenants.victim.environmentId) }, async () => {
          const outcome = await outcomeOf(service, statement.replace('%owner', rows[0].name));
          assert(refusals.includes(String(outcome)), `${statement}: ${outcome}`);
        });
      });
    }

    test('read the hash of a key where it has not entered', async () => {
      assert.equal(await outcomeOfAlone('select hash from api_keys'), 0);
    });

    test('leave its role by what cleans a connection up', async () => {
      await sql`reset role`.execute(tenants.app.database);
      await sql`reset all`.execute(tenants.app.database);
      const { rows } = await sql<{ role: string }>`select current_user as role`.execute(tenants.app.database);
      assert.equal(rows[0]?.role, serviceRole);
    });
  });

  async function outcomeOfAlone(statement: string): Promise<string | number> {
    return inSetting(service, {}, () => outcomeOf(service, statement));
  }

  /** A function about a customer is refused in another environment, and to a key of another pricing model. */
  async function refusesCustomer(call: string): Promise<void> {
    const { environmentId, world } = tenants.victim;
    const statement = `select ${call.replace('$1', `'${world.customerId}'`)}`;
    const settings = [
      { environment: String(stranger.environmentId) },
      { environment: String(environmentId), pricingModel: 'another' },
    ];
    for (const setting of settings)
      await inSetting(service, setting, async () => assert.equal(await outcomeOf(service, statement), '42501'));
  }

  test('the people of an organization are seen in its environments only, and their secrets nowhere', async () => {
    const count = () => Promise.all(ofPeople.map((table) => countOf(table)));
    for (const { environmentId } of [tenants.victim, stranger])
      await owner.query(
        `with org as (select organization_id as id from environments where id = $1),
              who as (insert into people_users (id, name, email) values ('user_' || $1, 'N', $1 || '@people.test') returning id),
              member as (insert into people_memberships select org.id, who.id, 'owner', 0, 0 from org, who),
              provider as (insert into people_sign_in_providers (id, organization_id, protocol, domain, issuer, client_id,
                             sealed_client_secret, created_at) select 'provider_' || $1, id, 'oidc', 'acme.test', 'i', 'c', 's', 0 from org)
         insert into people_invitations (id, organization_id, role, token_hash, expires_at, created_at)
           select 'invitation_' || $1, org.id, 'viewer', sha256($1::text::bytea), 0, 0 from org`,
        [String(environmentId)],
      );
    await inSetting(service, {}, async () => assert.deepEqual(await count(), [0, 0, 0, 0]));
    await inSetting(service, { environment: String(stranger.environmentId) }, async () => {
      assert.deepEqual(await count(), [1, 1, 1, 1]);
      for (const table of [
        'sessions',
        'accounts',
        'verifications',
        'two_factors',
        'passkeys',
        'rate_limits',
        'provider_subjects',
      ])
        assert.equal(await outcomeOf(service, `select from people_${table}`), '42501', table);
      assert.equal(
        await outcomeOf(service, `update people_memberships set organization_id = organization_id || 'x'`),
        '42501',
      );
      assert.equal(
        await outcomeOf(service, `insert into people_memberships values ('o', 'u', 'owner', 0, 0)`),
        '42501',
      );
      assert.equal(await outcomeOf(service, `update people_users set email = 'me@people.test'`), '42501');
    });
  });

  /** What each function that runs as the owner does for whom it should not: nothing, or nothing but its purpose. */
  const proofs: Readonly<Record<string, () => Promise<void>>> = {
    async authenticate() {
      await inSetting(service, { environment: String(tenants.victim.environmentId) }, async () => {
        const { rows } = await service.query(`select * from authenticate(sha256('nobody has this key'), $1, null)`, [
          Date.now(),
        ]);
        assert.deepEqual(new Set(Object.values(rows[0])), new Set([null]));
        // Whoever fails to enter is thrown out of where it was.
        assert.equal(await countOf('customers'), 0);
      });
    },
    async authenticate_session() {
      const { environmentId } = tenants.victim;
      await inSetting(service, { environment: String(environmentId) }, async () => {
        const { rows } = await service.query(`select * from authenticate_session('no session', $1, $2, null)`, [
          environmentId,
          Date.now(),
        ]);
        assert.deepEqual(new Set(Object.values(rows[0])), new Set([null]));
        assert.equal(await countOf('customers'), 0);
      });
    },
    async enter_environment() {
      await inSetting(service, { environment: String(tenants.victim.environmentId) }, async () => {
        const { rows } = await service.query('select * from enter_environment(999999999)');
        assert.deepEqual(new Set(Object.values(rows[0])), new Set([null]));
        assert.equal(await countOf('customers'), 0);
      });
    },
    async make_organization() {
      const call = `select make_organization('org_of_nobody', 'Nobody', 1, 0)`;
      assert.equal(await outcomeOfAlone(call), 'P0002');
      const { environmentId } = tenants.victim;
      const setting = { environment: String(environmentId), pricingModel: pinned.pinnedPricingModelId ?? '' };
      await inSetting(service, setting, async () => assert.equal(await outcomeOf(service, call), '42501'));
      // One that may make none.
      await inSetting(service, { environment: String(environmentId) }, async () =>
        assert.equal(await outcomeOf(service, call), '54000'),
      );
    },
    async switch_environment() {
      assert.equal(await outcomeOfAlone('select switch_environment(true)'), 'P0002');
      const { environmentId } = tenants.victim;
      const setting = { environment: String(environmentId), pricingModel: pinned.pinnedPricingModelId ?? '' };
      await inSetting(service, setting, async () => {
        assert.equal(await outcomeOf(service, 'select switch_environment(true)'), '42501');
      });
      await inSetting(service, { environment: String(stranger.environmentId) }, async () => {
        for (const livemode of [true, false]) {
          const { rows } = await service.query('select * from switch_environment($1)', [livemode]);
          assert.notEqual(rows[0].organization_id, tenants.app.id);
          assert.equal(await countOf('customers', `environment_id = ${environmentId}`), 0);
        }
      });
    },
    check_seen_customer: () => refusesCustomer('check_seen_customer($1)'),
    erase_records: () => refusesCustomer(`erase_records($1, 1, 'mac')`),
    async erase_history() {
      await refusesCustomer(`erase_history($1, '', 10)`);
      // Nobody takes anything out of the log but what is of an erased customer.
      const statement = `select erase_history('${tenants.victim.world.customerId}', '', 10)`;
      await inSetting(service, { environment: String(tenants.victim.environmentId) }, async () => {
        assert.equal(await outcomeOf(service, statement), '42501');
      });
    },
    erase_usage_properties: () => refusesCustomer(`erase_usage_properties($1, 0, '', 10)`),
    async touch_api_keys() {
      const digest = await databaseDigest(tenants.app);
      assert.equal(
        (await service.query(`select touch_api_keys(array[sha256('a')], 1) as answer`)).rows[0].answer,
        null,
      );
      assert.equal(await databaseDigest(tenants.app), digest);
    },
    async enqueue_job() {
      await inSetting(service, {}, async () => {
        const { rows } = await service.query(`select enqueue_job('x', '{}', null, now(), 1) as answer`);
        assert.equal(rows[0].answer, '');
      });
    },
    async pricing_models_to_schedule() {
      const environment = String(tenants.victim.environmentId);
      const payload = JSON.stringify({ environmentId: environment, pricingModelId: 'pm' });
      await inSetting(service, { environment }, async () => {
        await service.query(`select enqueue_job('schedule_interims', $1, null, now(), 1)`, [payload]);
        const isTold = async () => {
          const { rows } = await service.query('select pricing_models_to_schedule() as id');
          return rows.some(({ id }) => id === 'pm');
        };
        assert(await isTold());
        await service.query(`select set_config('tollkeeper.environment_id', $1, true)`, [stranger.environmentId]);
        assert(!(await isTold()));
      });
    },
    async environments_with_work_due() {
      // Numbers of environments, which open nothing by themselves, and nothing else.
      const { fields } = await service.query('select * from environments_with_work_due($1, 1)', [Date.now()]);
      assert.equal(fields.length, 1);
      assert.equal(fields[0]?.dataTypeID, 20);
    },
    async redemptions_left() {
      await owner.query('update discounts set maximum_redemptions = 1000');
      const { environmentId } = tenants.victim;
      const call = `select redemptions_left(environment_id, id, '00') as answer from discounts where environment_id = ${environmentId}`;
      const { rows } = await owner.query(call);
      assert.notEqual(rows[0].answer, null);
      const { rows: named } = await owner.query(`select id from discounts where environment_id = ${environmentId}`);
      await inSetting(service, { environment: String(stranger.environmentId) }, async () => {
        const text = 'select redemptions_left($1, $2, $3) as answer';
        const { rows: seen } = await service.query(text, [environmentId, named[0].id, '00']);
        assert.equal(seen[0].answer, null);
      });
    },
    async seller_name() {
      await inSetting(service, {}, async () => {
        assert.equal((await service.query('select seller_name() as name')).rows[0].name, null);
      });
      await owner.query(`update organizations set name = 'Zerzura' where id = $1`, [tenants.app.id]);
      await inSetting(service, { environment: String(stranger.environmentId) }, async () => {
        assert.equal((await service.query('select seller_name() as name')).rows[0].name, 'Acme');
      });
    },
    async ids_by_metadata() {
      await owner.query(`update customers set metadata = '{"tier": "gold"}'`);
      const searched = `select ids_by_metadata('customers', array['{"tier": "gold"}'::jsonb]) as id`;
      await findsOwnCustomers(searched);
    },
    customers_by_search: () => findsOwnCustomers(`select customers_by_search('e') as id`),
    records_by_search: () => findsOwnCustomers(`select id from records_by_search('e', 100) where type = 'customer'`),
    forget_old_answers: () => forgetsByTheHour('forget_old_answers(0, 10)'),
    forget_processor_events: () => forgetsByTheHour('forget_processor_events(0, 10)'),
    forget_attempts: () => forgetsByTheHour('forget_attempts(0, 10)'),
    forget_webhook_attempts: () => forgetsByTheHour('forget_webhook_attempts(0, 10)'),
    forget_sign_ins: () => forgetsByTheHour('forget_sign_ins(-1, 10)'),
    forget_audit_log: () => forgetsByTheHour('forget_audit_log(0, 10)'),
    async take_mrr_balances() {
      // It adds up what there is, for each tenant by itself, and answers a number.
      const { rows } = await service.query('select take_mrr_balances(0) as count');
      assert.equal(Number(rows[0].count), 0);
    },
    async close_idle_rollups() {
      const { rows } = await service.query('select close_idle_rollups(0) as count');
      assert.equal(Number(rows[0].count), 0);
    },
    async merge_daily_sums() {
      // It adds up rows of one tenant and day, and answers a number.
      const { rows } = await service.query('select merge_daily_sums(0) as count');
      assert.equal(Number(rows[0].count), 0);
    },
    async sum_usage_months() {
      // It adds roll-ups of one tenant to its months, and answers a number.
      const { rows } = await service.query('select sum_usage_months(0) as count');
      assert.equal(Number(rows[0].count), 0);
    },
    async invariant_counts() {
      // Of all tenants together, numbers only.
      const { fields } = await service.query('select * from invariant_counts()');
      const names = fields.map(({ name }) => name);
      assert.deepEqual(names, ['name', 'violations', 'checked_at', 'duration_ms']);
    },
    async analyze_grown_tables() {
      assert.equal((await service.query('select analyze_grown_tables() as answer')).rows[0].answer, '');
    },
  };

  /** Finds nothing outside an environment, and in one no more than its customers. */
  async function findsOwnCustomers(search: string): Promise<void> {
    await inSetting(service, {}, async () => assert.deepEqual((await service.query(search)).rows, []));
    await inSetting(service, { environment: String(stranger.environmentId) }, async () => {
      const { rows } = await service.query<{ id: string }>(search);
      assert(rows.length > 0);
      assert.equal(await countOf('customers', `id = any('{${rows.map(({ id }) => id).join()}}')`), rows.length);
    });
  }

  /** Answers how many rows were too old, and takes nothing that is not. */
  async function forgetsByTheHour(call: string): Promise<void> {
    const digest = await databaseDigest(tenants.app);
    const { rows } = await service.query(`select ${call} as count`);
    assert.equal(Number(rows[0].count), 0);
    assert.equal(await databaseDigest(tenants.app), digest);
  }

  describe('a function that runs as the owner', () => {
    test('a function that runs as the owner belongs to the owner, looks in one place, and is proven here or called by the database alone', async () => {
      const schemas = tenants.app.cells.map(({ name }) => name);
      const { rows } = await owner.query<{ name: string; isTrigger: boolean; isCareful: boolean; mayCall: boolean }>(
        `
      select p.oid::regproc::text as name, has_function_privilege('${serviceRole}', p.oid, 'execute') as "mayCall", p.prorettype = 'trigger'::regtype as "isTrigger",
             p.proconfig @> array['search_path=' || current_schema() || ', pg_temp'] and p.proowner = c.relowner as "isCareful"
        from pg_proc p, pg_class c
       where p.prosecdef and c.oid = 'customers'::regclass
         and p.pronamespace in (select oid from pg_namespace where nspname !~ '^pg_|^information_schema$|graphile_worker$'
           and (nspname = current_schema() or nspname <> all($1)))`,
        [schemas],
      );
      assert(rows.length > 10);
      assert.deepEqual(
        rows.filter(({ isCareful }) => isCareful !== true).map(({ name }) => name),
        [],
      );
      const called = rows.filter(({ isTrigger, mayCall }) => !isTrigger && mayCall).map(({ name }) => name);
      assert.deepEqual(called.sort(), Object.keys(proofs).sort());
      for (const { name } of rows.filter(({ isTrigger }) => isTrigger))
        assert(['0A000', '42501'].includes(String(await outcomeOfAlone(`select ${name}()`))), `${name} can be called`);
    });

    for (const [name, prove] of Object.entries(proofs)) test(`${name} gives nothing away`, prove);
  });
});
