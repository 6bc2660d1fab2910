import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { sql } from 'kysely';
import pg from 'pg';
import { queueSchemaOf } from '../../src/database/database.ts';
import { checkInvariants, invariants } from '../../src/invariants/check-invariants.ts';
import { findViolations, type Violations } from '../../src/invariants/store-invariants.ts';
import { dueCorruptions } from '../support/corruptions-due.ts';
import { type Corruption, moneyCorruptions } from '../support/corruptions-money.ts';
import { recordCorruptions, termCorruptions, toldCorruptions } from '../support/corruptions-records.ts';
import { callPrice, ledgerCorruptions, usageCorruptions } from '../support/corruptions-usage.ts';
import { startTestApp } from '../support/harness.ts';
import { insertHealthyData } from '../support/healthy-data.ts';
import { giveAllSlots } from '../support/many-cells.ts';
import { brokenInvariants } from '../support/sound.ts';

// A cell is checked by itself, and what is broken here is in one: the last of several, which has all customers then.
const app = await startTestApp();
const cell = app.cells.at(-1) ?? app.cell;
if (app.cells.length > 1) await giveAllSlots(app, cell.name);
// The rows are written into the cell, its copy of the catalog too.
await insertHealthyData({ ...app, ...cell, cell, copyCatalogs: async () => undefined });

// Foreign keys and triggers are off from its beginning: to turn them off makes PostgreSQL forget what it has planned.
const options = `-c session_replication_role=replica -c search_path=${cell.name},${queueSchemaOf(cell.name)}`;
const pool = new pg.Pool({ connectionString: app.databaseUrl, max: 1, options });
after(() => pool.end());

/** The invariants that the statements break. They are undone. */
async function brokenAfter(statements: readonly string[]): Promise<string[]> {
  const client = await pool.connect();
  try {
    await client.query(['begin', ...statements].join(';\n'));
    return await brokenInvariants(client, cell.owner);
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** What breaks that invariant after a statement, which is undone. */
async function violationsAfter(statement: string, name: string): Promise<Violations> {
  const invariant = invariants.find((each) => each.name === name);
  assert(invariant);
  const db = await cell.owner.startTransaction().execute();
  try {
    await sql.raw(statement).execute(db);
    return await findViolations(db, invariant);
  } finally {
    await db.rollback().execute();
  }
}

const corruptions: readonly Corruption[] = [
  {
    fault: 'a customer moves to another pricing model',
    statements: [`update customers set pricing_model_id = 'pricing_model_other'`],
    breaks: ['pricingModelsAgree'],
  },
  {
    fault: 'a series of usage names another customer',
    statements: [`update usage_series set customer_id = 'cust_other' where price_id = ${callPrice}`],
    breaks: ['customersAgree', 'usageSeriesBelongTogether'],
  },
  {
    fault: 'a payment forgets the subscription of its invoice',
    statements: [`update payments set subscription_id = null where status = 'failed'`],
    breaks: ['subscriptionsAgree'],
  },
  {
    fault: 'two pricing models are the default one',
    statements: ['drop index pricing_models_one_default', 'update pricing_models set is_default = true'],
    breaks: ['oneDefaultPricingModel'],
  },
  {
    fault: 'no product is the default one',
    statements: ['update products set is_default = false'],
    breaks: ['oneDefaultProduct'],
  },
  {
    fault: 'a product has no default price',
    statements: [`update prices set is_default = false where type = 'subscription'`],
    breaks: ['oneDefaultPricePerProduct'],
  },
  {
    fault: 'a price of a product is active, and its default price is not',
    statements: [
      `insert into prices select (jsonb_populate_record(p, jsonb_build_object('id', 'price_' || reverse(substr(id, 7)), 'is_default', false, 'slug', 'x'))).*
         from prices p where type = 'subscription'`,
      `update prices set active = false where type = 'subscription' and is_default`,
    ],
    breaks: ['oneDefaultPricePerProduct'],
  },
  {
    fault: 'the default price of a usage meter is not active',
    statements: [`update prices set active = false where slug = 'call-overage'`],
    breaks: ['oneDefaultPricePerUsageMeter'],
  },
  {
    fault: 'the next period begins a millisecond late',
    statements: [`update billing_periods set start_at = start_at + 1 where status = 'upcoming'`],
    breaks: ['billingPeriodsTile'],
  },
  {
    fault: 'the current period of a subscription is none of its periods',
    statements: [
      `update subscriptions set current_billing_period_end = current_billing_period_end + 1 where status = 'active'`,
    ],
    breaks: ['currentBillingPeriodExists', 'periodsEndOnTheirAnchor'],
  },
  {
    fault: 'the current period of a subscription was canceled',
    statements: [`update billing_periods set status = 'canceled' where status = 'active'`],
    breaks: ['currentBillingPeriodExists'],
  },
  {
    fault: 'a canceled subscription does not know since when',
    statements: [
      'alter table subscriptions drop constraint subscriptions_canceled_at_iff_canceled',
      'update subscriptions set canceled_at = null',
    ],
    breaks: ['canceledAtTellsCanceled'],
  },
  {
    fault: 'a scheduled cancel has no date',
    statements: [
      'alter table subscriptions drop constraint subscriptions_scheduled_has_date',
      `update subscriptions set status = 'cancellation_scheduled' where status = 'active'`,
    ],
    breaks: ['scheduledCancelHasDate'],
  },
  {
    fault: 'an active subscription kept the date of a cancel',
    statements: [
      'alter table subscriptions drop constraint subscriptions_scheduled_iff_date',
      `update subscriptions set cancel_scheduled_at = 1 where status = 'active'`,
    ],
    breaks: ['scheduledCancelHasDate'],
  },
  {
    fault: 'a replaced subscription lives again',
    statements: [`update subscriptions set status = 'active', canceled_at = null where status = 'canceled'`],
    breaks: ['replacedSubscriptionIsCanceled'],
  },
  {
    fault: 'Ada holds two seats under one name',
    statements: [
      'drop index resource_claims_external_id_unique',
      'update resource_claims set released_at = null, release_reason = null',
    ],
    breaks: ['activeClaimsHaveOneHolder', 'claimsAreWithinCapacity'],
  },
  {
    fault: 'a canceled subscription holds a seat',
    statements: [
      `update resource_claims set subscription_id = (select id from subscriptions where status = 'canceled')`,
    ],
    breaks: ['endedSubscriptionHoldsNoClaims', 'claimsAreWithinCapacity'],
  },
  ...ledgerCorruptions,
  ...usageCorruptions,
  ...moneyCorruptions,
  ...termCorruptions,
  ...recordCorruptions,
  ...toldCorruptions,
  ...dueCorruptions,
];

describe('the invariants', () => {
  test('the invariants hold in a database in which everything has happened once', async () => {
    const checked = await checkInvariants(cell.owner);
    assert.deepEqual(
      checked.filter(({ violations }) => violations.count > 0),
      [],
    );
    assert.deepEqual(
      checked.map(({ name, sentence }) => ({ name, sentence })),
      invariants.map(({ name, sentence }) => ({ name, sentence })),
    );
  });

  test('the invariants hold in an empty database', async () => {
    const everything =
      'truncate pricing_models, events, ledger_transactions, usage_events, ledger_entries, number_series, usage_hours, usage_months cascade';
    assert.deepEqual(await brokenAfter([everything]), []);
  });

  test('the invariants have a name each, and a sentence', () => {
    assert.equal(new Set(invariants.map(({ name }) => name)).size, invariants.length);
    for (const { sentence } of invariants) assert.match(sentence, /^[A-Z].*\.$/);
  });

  // A change of a table makes PostgreSQL plan the statement of all invariants again, and so does undoing it: these come
  // after one another.
  const changesTable = ({ statements }: Corruption) => Number(statements.some((each) => /^(alter|drop) /.test(each)));
  const inTurn = corruptions.toSorted((one, other) => changesTable(one) - changesTable(other));
  for (const { fault, statements, breaks } of inTurn) {
    test(`the invariants tell it when ${fault}`, async () => {
      assert.deepEqual(await brokenAfter(statements), breaks);
    });
  }

  test('the invariants are each shown to break', () => {
    const shown = new Set(corruptions.flatMap(({ breaks }) => breaks));
    assert.deepEqual([...shown].sort(), invariants.map(({ name }) => name).sort());
  });

  test('the invariants name the row and the values that contradict each other, in every environment', async () => {
    const statement = `insert into pricing_models (environment_id, id, name, is_default, created_at, updated_at)
      values (${app.liveEnvironmentId}, 'pricing_model_bare', 'Bare', false, 0, 0)`;
    assert.deepEqual(await violationsAfter(statement, 'oneDefaultProduct'), {
      count: 1,
      rows: [{ environmentId: app.liveEnvironmentId, id: 'pricing_model_bare', defaultProducts: 0 }],
    });
  });

  test('the invariants show twenty rows and count all', async () => {
    const statement = `insert into pricing_models (environment_id, id, name, is_default, created_at, updated_at)
      select ${app.liveEnvironmentId}, 'pricing_model_' || n, 'Bare', false, 0, 0 from generate_series(1, 25) as n`;
    const { count, rows } = await violationsAfter(statement, 'oneDefaultProduct');
    assert.equal(count, 25);
    assert.equal(rows.length, 20);
  });
});
