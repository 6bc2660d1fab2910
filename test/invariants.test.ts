import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sql } from 'kysely';
import { checkInvariants, invariants } from '../src/lifecycle/check-invariants.ts';
import { findViolations } from '../src/lifecycle/store-invariants.ts';
import type { Database } from '../src/platform/database.ts';
import { type Corruption, moneyCorruptions } from './corruptions-money.ts';
import { startTestApp } from './harness.ts';
import { insertHealthyData } from './healthy-data.ts';

const app = await startTestApp();
await insertHealthyData(app);

class RollBack extends Error {}

/** Runs the SQL as the owner, with foreign keys off, lets `look` see the damage, and undoes it. */
async function whileCorrupted(statements: readonly string[], look: (db: Database) => Promise<void>): Promise<void> {
  const corrupted = app.owner.transaction().execute(async (db) => {
    await sql`set local session_replication_role = replica`.execute(db);
    for (const statement of statements) await sql.raw(statement).execute(db);
    await look(db);
    throw new RollBack();
  });
  await assert.rejects(corrupted, RollBack);
}

async function brokenIn(db: Database): Promise<string[]> {
  const broken: string[] = [];
  for (const invariant of invariants) {
    if ((await findViolations(db, invariant)).count > 0) broken.push(invariant.name);
  }
  return broken;
}

const corruptions: readonly Corruption[] = [
  {
    fault: 'a customer moves to another pricing model',
    statements: [`update customers set pricing_model_id = 'pricing_model_other'`],
    breaks: ['pricingModelsAgree'],
  },
  {
    fault: 'a usage event names another customer',
    statements: [`update usage_events set customer_id = 'cust_other' where amount = 60`],
    breaks: ['customersAgree', 'usageEventsPointAtRecords'],
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
      `insert into prices select (jsonb_populate_record(p, jsonb_build_object('id', id || 'x', 'is_default', false, 'slug', 'x'))).*
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
    breaks: ['currentBillingPeriodExists'],
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
    breaks: ['activeClaimsHaveOneHolder'],
  },
  {
    fault: 'a canceled subscription holds a seat',
    statements: [
      `update resource_claims set subscription_id = (select id from subscriptions where status = 'canceled')`,
    ],
    breaks: ['endedSubscriptionHoldsNoClaims'],
  },
  ...['granted', 'settled'].map((side) => ({
    fault: `an entry of what was ${side} was changed`,
    statements: [`update ledger_entries set amount = amount + 1 where debit_side = '${side}'`],
    breaks: ['ledgerSidesAreSumsOfEntries'],
  })),
  {
    fault: 'an entry of what has expired was deleted',
    statements: [`delete from ledger_entries where credit_side = 'expired'`],
    breaks: ['ledgerSidesAreSumsOfEntries'],
  },
  {
    fault: 'an entry of what was used was changed',
    statements: [`update ledger_entries set amount = amount + 1 where credit_side = 'used' and amount = 5`],
    breaks: ['ledgerSidesAreSumsOfEntries', 'usageIsCoveredOrWaitsForBilling'],
  },
  {
    fault: 'more is available than was left',
    statements: [
      'alter table ledger_accounts alter column available drop expression',
      'update ledger_accounts set available = available + 1 where used = 130',
    ],
    breaks: ['ledgerSidesLeaveAvailable'],
  },
  {
    fault: 'a credit grew after it was granted',
    statements: ['update usage_credits set issued = issued + 1'],
    breaks: ['ledgerSidesAreSumsOfCredits'],
  },
  {
    fault: 'a credit shrank below what was used of it',
    statements: [
      'alter table usage_credits drop constraint usage_credits_never_over_applied',
      'update usage_credits set issued = issued - 1',
    ],
    breaks: ['ledgerSidesAreSumsOfCredits', 'creditsAreNotOverApplied'],
  },
  {
    fault: 'an application of a credit was lost',
    statements: ['delete from usage_credit_applications'],
    breaks: ['creditsAreAppliedAsBooked', 'usageIsCoveredOrWaitsForBilling'],
  },
  {
    fault: 'a credit pays for what is not usage',
    statements: [
      `update usage_credit_applications set ledger_entry_id = (select id from ledger_entries where debit_side = 'granted')`,
    ],
    breaks: ['creditsPayTheirOwnAccount', 'usageIsCoveredOrWaitsForBilling'],
  },
  {
    fault: 'a credit pays 60 for 59',
    statements: [
      'update ledger_entries set amount = 71 where amount = 70',
      'update ledger_entries set amount = 59 where amount = 60',
    ],
    breaks: ['usageIsNotOverCovered'],
  },
  {
    fault: 'usage that no credit covered was forgotten',
    statements: ['delete from usage_overages where invoiced = 0'],
    breaks: ['usageIsCoveredOrWaitsForBilling'],
  },
  {
    fault: 'an invoice bills a unit that was not claimed for it',
    statements: ['update invoice_line_items set ledger_account_credit = ledger_account_credit + 1'],
    breaks: ['usageIsNotBilledTwice'],
  },
  {
    fault: 'more usage was claimed for invoices than there is',
    statements: [
      'alter table usage_overages drop constraint usage_overages_never_over_invoiced',
      'update usage_overages set invoiced = 71 where uncovered = 70',
    ],
    breaks: ['usageIsNotBilledTwice'],
  },
  {
    fault: 'more usage was settled than billed',
    statements: [
      'update ledger_accounts set settled = 51 where settled = 50',
      `update ledger_entries set amount = 51 where debit_side = 'settled'`,
    ],
    breaks: ['settledUsageWasBilled'],
  },
  ...['price_id', 'billing_period_id'].map((column) => ({
    fault: `a usage event has a ${column} of nothing`,
    statements: [`update usage_events set ${column} = 'gone' where amount = 5 and transaction_id = 'second'`],
    breaks: ['usageEventsPointAtRecords'],
  })),
  {
    fault: 'a transaction was counted twice',
    statements: [
      'alter table usage_events drop constraint usage_events_transaction_unique',
      `update usage_events set transaction_id = 'first'`,
    ],
    breaks: ['transactionCountsOnce'],
  },
  {
    fault: 'a usage event was deleted',
    statements: ['delete from usage_events where amount = 70'],
    breaks: ['usageIsSumOfEvents'],
  },
  {
    fault: 'all usage events of an account were deleted',
    statements: ['delete from usage_events where amount > 5'],
    breaks: ['usageIsSumOfEvents'],
  },
  {
    fault: 'a usage event was stored without being booked',
    statements: [
      'delete from usage_events where amount = 70',
      'update usage_events set amount = 131 where amount = 60',
    ],
    breaks: ['usageIsSumOfEvents'],
  },
  {
    fault: 'it is forgotten which properties were seen',
    statements: ['delete from usage_event_distinct_properties'],
    breaks: ['usageIsSumOfEvents'],
  },
  ...moneyCorruptions,
];

describe('the invariants', () => {
  test('hold in a database in which everything has happened once', async () => {
    const checked = await checkInvariants(app.owner);
    assert.deepEqual(
      checked.filter(({ violations }) => violations.count > 0),
      [],
    );
    assert.deepEqual(
      checked.map(({ name, sentence }) => ({ name, sentence })),
      invariants.map(({ name, sentence }) => ({ name, sentence })),
    );
  });

  test('hold in an empty database', async () => {
    await whileCorrupted(['truncate pricing_models, usage_events cascade'], async (db) =>
      assert.deepEqual(await brokenIn(db), []),
    );
  });

  test('have a name each, and a sentence', () => {
    assert.equal(new Set(invariants.map(({ name }) => name)).size, invariants.length);
    for (const { sentence } of invariants) assert.match(sentence, /^[A-Z].*\.$/);
  });

  for (const { fault, statements, breaks } of corruptions) {
    test(`tell it when ${fault}`, async () => {
      await whileCorrupted(statements, async (db) => assert.deepEqual(await brokenIn(db), breaks));
    });
  }

  test('are each shown to break', () => {
    const shown = new Set(corruptions.flatMap(({ breaks }) => breaks));
    assert.deepEqual([...shown].sort(), invariants.map(({ name }) => name).sort());
  });

  test('name the row and the values that contradict each other, in every environment', async () => {
    const statement = `insert into pricing_models values (${app.liveEnvironmentId}, 'pricing_model_bare', 'Bare', false, 0, 0)`;
    await whileCorrupted([statement], async (db) => {
      const invariant = invariants.find(({ name }) => name === 'oneDefaultProduct');
      assert(invariant);
      assert.deepEqual(await findViolations(db, invariant), {
        count: 1,
        rows: [{ environmentId: app.liveEnvironmentId, id: 'pricing_model_bare', defaultProducts: 0 }],
      });
    });
  });

  test('show twenty rows and count all', async () => {
    const statement = `insert into pricing_models
      select ${app.liveEnvironmentId}, 'pricing_model_' || n, 'Bare', false, 0, 0 from generate_series(1, 25) as n`;
    await whileCorrupted([statement], async (db) => {
      const invariant = invariants.find(({ name }) => name === 'oneDefaultProduct');
      assert(invariant);
      const { count, rows } = await findViolations(db, invariant);
      assert.equal(count, 25);
      assert.equal(rows.length, 20);
    });
  });
});
