import { anyId } from './any-id.ts';
import type { Corruption } from './corruptions-money.ts';

/** The price of the calls, in the database of everything that has happened once. */
export const callPrice = "(select id from prices where slug = 'call-overage')";
const userPrice = "(select id from prices where slug = 'user-overage')";

// Nothing is open on the account of the calls any more.
const closed = `update ledger_accounts set open_series_id = null, open_hour = null, open_units = null, open_events = null
  where used = 130`;

/** A measure of the calls from the beginning of time. */
const measureOfCalls = (value: number) =>
  `insert into usage_measures select environment_id, id, 0, 0, 0, ${value}, 0, null, null, 0, null from ledger_accounts where used = 130`;

/** Makes each entry say what is available with it as the entries now are. */
const restate = `update ledger_entries e set available_after = booked
  from (select id, sum(case 'available' when credit_side then amount when debit_side then -amount end)
                     over (partition by ledger_account_id order by created_at, sequence) as booked from ledger_entries) b
 where b.id = e.id`;

const waitingId = anyId('ledgerAccount');

/** Seven credits that wait on the customer of the users, which has a subscription. */
const waitingCredits = (source: string) => [
  `insert into ledger_accounts (environment_id, id, pricing_model_id, subscription_revision, usage_meter_id, granted, created_at,
          updated_at, customer_id)
   select a.environment_id, '${waitingId}', a.pricing_model_id, 0, a.usage_meter_id, 7, a.created_at, a.updated_at, s.customer_id
     from ledger_accounts a join subscriptions s on s.id = a.subscription_id where a.used = 5`,
  `insert into usage_credits (environment_id, id, pricing_model_id, ledger_account_id, source, source_id, issued, granted_at, created_at,
          updated_at)
   select environment_id, '${anyId('usageCredit')}', pricing_model_id, id, '${source}', 'waiting', 7, created_at, created_at, created_at
     from ledger_accounts where id = '${waitingId}'`,
  `insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side, credit_side,
          amount, usage_credit_id, available_after, created_at)
   select c.environment_id, '${anyId('ledgerEntry')}', c.pricing_model_id, (select min(id) from ledger_transactions), c.ledger_account_id, 'granted',
          'available', 7, c.id, 7, c.created_at
     from usage_credits c where c.ledger_account_id = '${waitingId}'`,
];

const poolId = anyId('creditPool');
const poolAccountId = anyId('ledgerAccount');

/** A credit pool from which the customer of the users has 7 of 10 smallest units left. `paid` is what its usage cost. */
const poolOfUsers = (paid: number, customer = 's.customer_id') => [
  `insert into credit_pools (environment_id, id, pricing_model_id, slug, name, unit, created_at, updated_at)
   select environment_id, '${poolId}', pricing_model_id, 'pool', 'Pool', 'credit', created_at, created_at from ledger_accounts where used = 5`,
  'insert into credit_subjects select environment_id, id, pricing_model_id from credit_pools',
  `insert into ledger_accounts (environment_id, id, pricing_model_id, subscription_revision, usage_meter_id, granted, used, covered, applied,
          created_at, updated_at, customer_id)
   select a.environment_id, '${poolAccountId}', a.pricing_model_id, 0, '${poolId}', 10, 3, 3, 3, a.created_at, a.created_at, ${customer}
     from ledger_accounts a join subscriptions s on s.id = a.subscription_id where a.used = 5`,
  `insert into usage_credits (environment_id, id, pricing_model_id, ledger_account_id, source, source_id, issued, applied, granted_at,
          created_at, updated_at)
   select environment_id, '${anyId('usageCredit')}', pricing_model_id, id, 'manual_adjustment', 'pool', 10, 3, created_at, created_at, created_at
     from ledger_accounts where id = '${poolAccountId}'`,
  ...[
    ['granted', 'available', 10, 10],
    ['available', 'used', 3, 7],
  ].map(
    ([from, to, moved, after]) => `
   insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side, credit_side,
          amount, usage_credit_id, applied_credit_ids, applied_amounts, available_after, created_at)
   select c.environment_id, '${anyId('ledgerEntry')}', c.pricing_model_id, (select min(id) from ledger_transactions), c.ledger_account_id,
          '${from}', '${to}', ${moved}, case '${from}' when 'granted' then c.id end, case '${to}' when 'used' then array[c.id] end,
          case '${to}' when 'used' then array[3::numeric] end, ${after}, c.created_at
     from usage_credits c where c.ledger_account_id = '${poolAccountId}'`,
  ),
  // One of the users is paid for by the pool, in the same transaction.
  'update usage_overages set uncovered = uncovered - 1 where uncovered = 5',
  'update ledger_accounts set pooled = 1 where used = 5',
  `update ledger_entries set amount = 4, available_after = -4 where credit_side = 'used' and amount = 5`,
  `update ledger_entries set available_after = available_after + 1 where debit_side = 'granted' and amount = 10 and available_after = 5`,
  `insert into ledger_entries (environment_id, id, pricing_model_id, ledger_transaction_id, ledger_account_id, debit_side, credit_side,
          amount, price_id, credit_pool_id, pool_unit_cost, available_after, created_at)
   select a.environment_id, '${anyId('ledgerEntry')}', a.pricing_model_id, (select min(id) from ledger_transactions), a.id, 'pooled', 'used',
          1, ${userPrice}, '${poolId}', ${paid}, 6, a.created_at from ledger_accounts a where a.used = 5`,
];
/** The same with a pool in dollars that draws at the price of a cent for so many units. Each of them costs 3 smallest units. */
const drawnPool = (per = 7_207_200_000_000_000n) => [
  ...poolOfUsers(3),
  `update credit_pools set unit = 'USD', draw_at_price = true`,
  `update ledger_entries set pool_unit_cost = null, pool_amount = 3 where debit_side = 'pooled'`,
  `insert into pool_draws (environment_id, ledger_account_id, price_id, period_start, credit_pool_id, unit_price, usage_events_per_unit,
          units, events, own_amount, amount)
   select e.environment_id, e.ledger_account_id, e.price_id, 0, '${poolId}', 1, ${per}, 1, 0, 0, 3
     from ledger_entries e where e.debit_side = 'pooled'`,
];
const holdOnPool = `update usage_holds set pooled = 1, pool_account_id = '${poolAccountId}', pool_amount = 3 where status = 'settled'`;

/** Of the ledger, its credits and holds. */
export const ledgerCorruptions: readonly Corruption[] = [
  { fault: 'a credit pool pays for a user', statements: poolOfUsers(3), breaks: [] },
  {
    fault: 'a credit pool pays more for a user than it costs',
    statements: poolOfUsers(2),
    breaks: ['creditPoolsArePaidExactly'],
  },
  { fault: 'a pool draws at the price', statements: drawnPool(), breaks: [] },
  {
    fault: 'a pool draws another amount than the price says',
    statements: drawnPool(10n ** 15n),
    breaks: ['poolsDrawWhatPricesSay'],
  },
  {
    fault: 'the draw of a pool is lost',
    statements: [...drawnPool(), 'delete from pool_draws'],
    breaks: ['poolDrawsAreTheirEntries'],
  },
  {
    fault: 'a hold sets aside what another customer has in a credit pool',
    statements: [...poolOfUsers(3, "'gone'"), holdOnPool],
    breaks: ['creditPoolsArePaidExactly', 'holdsOnPoolsAreOfTheirCustomer'],
  },
  {
    fault: 'a credit of a usage meter names a subscription as its granter',
    statements: [
      `update usage_credits c set subscription_id = a.subscription_id from ledger_accounts a
        where a.id = c.ledger_account_id and a.used = 130`,
    ],
    breaks: ['poolCreditsKnowTheirGranter'],
  },
  {
    fault: 'a plan has granted credits of a pool without a name',
    statements: [
      ...poolOfUsers(3),
      `update usage_credits set source = 'billing_period_transition' where ledger_account_id = '${poolAccountId}'`,
    ],
    breaks: ['poolCreditsKnowTheirGranter'],
  },
  {
    fault: 'a rate of a credit pool is of another pricing model',
    statements: [
      ...poolOfUsers(3),
      `insert into credit_pool_rates (environment_id, id, credit_pool_id, pricing_model_id, position, usage_meter_id, per, cost, created_at,
              updated_at)
       select environment_id, '${anyId('creditPoolRate')}', '${poolId}', 'gone', 0, usage_meter_id, 1, 1, created_at, created_at from ledger_accounts where used = 5`,
    ],
    breaks: ['creditPoolRatesAreOfTheirModel'],
  },
  ...['ledger_transaction_id', 'billing_period_id', 'usage_credit_id'].map((column) => ({
    fault: `an entry has a ${column} of nothing`,
    statements: [`update ledger_entries set ${column} = 'gone' where debit_side = 'settled'`],
    breaks: ['ledgerEntriesPointAtRecords'],
  })),
  {
    fault: 'an entry has the price of another meter',
    statements: [`update ledger_entries set price_id = ${userPrice} where debit_side = 'settled'`],
    breaks: ['ledgerEntriesPointAtRecords'],
  },
  {
    fault: 'an application is of a credit that is gone',
    statements: [`update ledger_entries set applied_credit_ids = '{gone}' where applied_credit_ids is not null`],
    breaks: ['creditsAreAppliedAsBooked', 'creditsPayTheirOwnAccount'],
  },
  ...['granted', 'settled'].map((side) => ({
    fault: `an entry of what was ${side} was changed`,
    statements: [`update ledger_entries set amount = amount + 1 where debit_side = '${side}' and amount > 20`, restate],
    breaks: ['ledgerSidesAreSumsOfEntries', ...(side === 'granted' ? ['creditsAreSumsOfEntries'] : [])],
  })),
  ...['expired', 'taken_back'].map((side) => ({
    fault: `an entry of what was ${side} was deleted`,
    statements: [`delete from ledger_entries where credit_side = '${side}'`, restate],
    breaks: ['ledgerSidesAreSumsOfEntries', 'creditsAreSumsOfEntries'],
  })),
  {
    fault: 'an entry of what was used was changed',
    statements: [`update ledger_entries set amount = amount + 1 where credit_side = 'used' and amount = 5`, restate],
    breaks: ['ledgerSidesAreSumsOfEntries', 'usageIsCoveredOrWaitsForBilling', 'usageIsSumOfRollUps'],
  },
  {
    fault: 'more is available than was left',
    statements: [
      // Tables of a cell of tests inherit it.
      `do $$ begin
         execute format('alter table %s alter column available drop expression',
           coalesce((select inhparent from pg_inherits where inhrelid = 'ledger_accounts'::regclass), 'ledger_accounts'::regclass)::regclass);
       end $$`,
      'update ledger_accounts set available = available + 1 where used = 130',
    ],
    breaks: ['ledgerSidesLeaveAvailable'],
  },
  {
    fault: 'a ledger account was not told that its subscription changed',
    statements: ['update ledger_accounts set subscription_revision = subscription_revision - 1 where used = 130'],
    breaks: ['accountsKnowTheirSubscription'],
  },
  {
    fault: 'an entry says that less is available than was',
    statements: ['update ledger_entries set available_after = available_after - 1 where amount = 60'],
    breaks: ['entriesKnowWhatIsAvailable'],
  },
  {
    fault: 'an entry carries the instant of a clock that was put back',
    statements: [`update ledger_entries set created_at = created_at - 1 where debit_side = 'settled'`, restate],
    breaks: ['entriesAreInOrderOfTime'],
  },
  {
    fault: 'a credit grew after it was granted',
    statements: ['update usage_credits set issued = issued + 1 where issued = 100'],
    breaks: ['ledgerSidesAreSumsOfCredits', 'creditsAreSumsOfEntries'],
  },
  {
    fault: 'a credit shrank below what was used of it',
    statements: [
      'alter table usage_credits drop constraint usage_credits_never_over_applied',
      'update usage_credits set issued = issued - 1 where issued = 100',
    ],
    breaks: ['ledgerSidesAreSumsOfCredits', 'creditsAreNotOverApplied', 'creditsAreSumsOfEntries'],
  },
  {
    fault: 'more can be drawn from a credit than is left of it',
    statements: [
      'update usage_credits set applied = 50 where issued = 100',
      `update ledger_accounts set applied = 50, pending_limit = 12,
              pending_credit_id = (select id from usage_credits where issued = 100) where used = 130`,
    ],
    breaks: ['creditsAreDrawnFromWithinTheirRest'],
  },
  {
    fault: 'a credit pays back units that no pause left owing',
    statements: ['update usage_credits set withheld = taken_back where issued = 20'],
    breaks: ['pausedCreditsArePaidBack'],
  },
  {
    fault: 'a pause took back too few units, and left too few owing',
    statements: [
      `update billing_periods set whole_end_at = end_at + 60 * 86400000::bigint where status = 'active'`,
      `update usage_credits c
          set source = 'billing_period_transition', source_id = p.id || ':calls', billing_period_id = p.id,
              expires_at = p.whole_end_at
         from billing_periods p where p.status = 'active' and c.issued = 10`,
    ],
    breaks: ['pausedCreditsArePaidBack'],
  },
  {
    fault: 'a pause took back more than the credits of the paused time',
    statements: [
      `update billing_periods set whole_end_at = end_at + 1 where status = 'active'`,
      `update usage_credits c
          set source = 'billing_period_transition', source_id = p.id || ':calls', billing_period_id = p.id,
              expires_at = p.whole_end_at, paused_back = taken_back
         from billing_periods p where p.status = 'active' and c.issued = 20`,
    ],
    breaks: ['pausedCreditsArePaidBack'],
  },
  {
    fault: 'a new credit pays nothing back of what a pause left owing',
    statements: [
      `update usage_credits c set paused_owed = 60, billing_period_id = p.id
         from billing_periods p where p.status = 'active' and c.issued = 100`,
      `update usage_credits c
          set source = 'billing_period_transition', granted_at = p.end_at + 1, expires_at = p.end_at + 86400000
         from billing_periods p where p.status = 'active' and c.issued = 20`,
    ],
    breaks: ['pausedCreditsArePaidBack'],
  },
  {
    fault: 'units that a change of plan took back are said to be taken back by hand',
    statements: ['update usage_credits set taken_by_hand = taken_back where issued = 20'],
    breaks: ['creditsTakenByHandAreBooked'],
  },
  {
    fault: 'a credit claims units that nobody moved off another',
    statements: [
      'update usage_credits set transferred_from = (select id from usage_credits where issued = 20) where issued = 100',
    ],
    breaks: ['transferredCreditsAreWhole', 'boughtCreditsAddUp'],
  },
  ...(['null', '1790000000000'] as const).map((expiresAt) => ({
    fault: `a plan that began again gave credits that end at ${expiresAt} again`,
    statements: [
      'update subscriptions set is_free_plan = true',
      `update usage_credits
          set source = 'billing_period_transition', feature_id = (select min(id) from features), expires_at = ${expiresAt},
              billing_period_id = (select id from billing_periods where status = 'active') where issued in (10, 100)`,
      `update ledger_accounts a
          set subscription_id = (select id from subscriptions where replaced_by_subscription_id = a.subscription_id)
        where used = 130`,
    ],
    breaks: [
      'subscriptionsAgree',
      expiresAt === 'null' ? 'oneTimeCreditsComeOnce' : 'freePlansGrantOncePerPeriod',
      'usageSeriesBelongTogether',
    ],
  })),
  {
    fault: 'a refund of a purchase left all of its credits',
    statements: [
      `update usage_credits set source = 'purchase', source_id = (select id from purchases) || ':pack' where issued = 10`,
    ],
    breaks: ['refundedCreditsAreTakenBack'],
  },
  {
    fault: 'a purchase that was completed after its refund was granted in full',
    statements: [
      'update purchases set purchase_date = purchase_date + 86400000',
      `update usage_credits set source = 'purchase', source_id = (select id from purchases) || ':pack' where issued = 10`,
    ],
    breaks: ['refundedCreditsAreTakenBack'],
  },
  {
    fault: 'credits that were granted by hand are left on a plan that has ended',
    statements: [
      `update usage_credits set source = 'manual_adjustment', feature_id = null, expires_at = null where issued = 10`,
      `update ledger_accounts a
          set subscription_id = (select id from subscriptions where replaced_by_subscription_id = a.subscription_id)
        where id = (select ledger_account_id from usage_credits where issued = 10)`,
    ],
    breaks: ['subscriptionsAgree', 'customersKeepTheirCredits', 'usageSeriesBelongTogether'],
  },
  {
    fault: 'credits wait on a customer that has a subscription',
    statements: waitingCredits('manual_adjustment'),
    breaks: ['customersKeepTheirCredits'],
  },
  {
    fault: 'credits of a plan are on the account of a customer',
    statements: waitingCredits('billing_period_transition'),
    breaks: ['waitingCreditsAreUnused'],
  },
  {
    fault: 'an account does not know that its credits end',
    statements: ['update ledger_accounts set credits_end_at = null'],
    breaks: ['accountsKnowWhenCreditsEnd'],
  },
  {
    fault: 'a credit has ended, and the ledger says that it was taken back',
    statements: ['update usage_credits set expired = taken_back, taken_back = 0 where issued = 20'],
    breaks: ['ledgerSidesAreSumsOfCredits', 'creditsAreSumsOfEntries'],
  },
  {
    fault: 'one credit has ended in the place of another',
    statements: [
      `update ledger_entries set usage_credit_id = (select id from usage_credits where issued = 20)
        where credit_side = 'expired'`,
    ],
    breaks: ['creditsAreSumsOfEntries'],
  },
  {
    fault: 'an application of a credit was lost',
    statements: ['update ledger_entries set applied_credit_ids = null, applied_amounts = null'],
    breaks: ['creditsAreAppliedAsBooked', 'usageIsCoveredOrWaitsForBilling'],
  },
  {
    fault: 'a credit pays for what is not usage',
    statements: [
      'alter table ledger_entries drop constraint ledger_entries_applications',
      `update ledger_entries e set applied_credit_ids = paid.applied_credit_ids, applied_amounts = paid.applied_amounts
         from ledger_entries paid
        where paid.applied_credit_ids is not null and e.debit_side = 'granted' and e.amount = 100`,
      `update ledger_entries set applied_credit_ids = null, applied_amounts = null where credit_side = 'used'`,
    ],
    breaks: ['creditsPayTheirOwnAccount', 'usageIsCoveredOrWaitsForBilling'],
  },
  {
    fault: 'a credit pays 60 for 59',
    statements: [
      'update ledger_entries set amount = 71 where amount = 70',
      'update ledger_entries set amount = 59 where amount = 60',
      restate,
    ],
    breaks: ['usageIsNotOverCovered'],
  },
  {
    fault: 'an event is to be billed that was never stored',
    statements: ['update usage_overages set events = 1'],
    breaks: ['eventsOfPricesAreCounted'],
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
      restate,
    ],
    breaks: ['settledUsageWasBilled'],
  },
  {
    fault: 'a hold was settled, and its units are still held',
    statements: [`update usage_holds set status = 'settled', settled_amount = 15 where status = 'open'`],
    breaks: ['heldIsSumOfOpenHolds'],
  },
  {
    fault: 'a counter of a spend limit has units that nobody used',
    statements: ['update spend_counters set units = 1, used = 1 where units = 0'],
    breaks: ['spendCountersAreRecounted'],
  },
  {
    fault: 'a counter of a spend limit has used more than its units',
    statements: ['update spend_counters set used = 1 where units = 0'],
    breaks: ['spendCountersAddUp'],
  },
  {
    fault: 'a limit of a credit pool has not counted what a user drew from it',
    statements: [
      ...poolOfUsers(3),
      "update ledger_transactions set type = 'usage_event_processed', source_id = '9000000000' where id = (select min(id) from ledger_transactions)",
      `insert into spend_limits (environment_id, id, pricing_model_id, customer_id, set_by, usage_meter_id, period, unit, amount, action,
              thresholds, booked_before, created_at, updated_at)
       select a.environment_id, '${anyId('spendLimit')}', a.pricing_model_id, s.customer_id, 'seller', '${poolId}', 'billing_period', 'units', 10,
              'notify', '{}', 0, a.created_at, a.created_at
         from ledger_accounts a join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id where a.used = 5`,
      `insert into spend_counters (environment_id, pricing_model_id, spend_limit_id, period_key)
       select l.environment_id, l.pricing_model_id, l.id, a.subscription_id
         from spend_limits l join ledger_accounts a on a.environment_id = l.environment_id and a.used = 5
        where l.usage_meter_id = '${poolId}'`,
    ],
    breaks: ['usageIsBookedWithItsEvents', 'poolLimitsCountWhatIsDrawn'],
  },
  {
    fault: 'a use that had to fit into a spend limit went beyond it',
    statements: [
      'alter table spend_counters drop constraint spend_counters_within_limit',
      'update spend_counters set checked_used = 11, checked_limit = 10',
    ],
    breaks: ['nothingIsConsumedBeyondALimit'],
  },
  {
    fault: 'a spend limit is reached, and nobody was told',
    statements: ['update spend_counters set units = 100, used = 100'],
    breaks: ['spendCountersAreRecounted', 'reachedLimitsArePublished'],
  },
  {
    fault: 'a feature gives a spend limit that nothing counts',
    statements: [
      `insert into features
       select (jsonb_populate_record(f, jsonb_build_object('id', overlay(f.id placing 'zzzz' from length(f.id) - 5), 'slug', 'most', 'type', 'spend_limit', 'amount', 10,
                 'resource_id', null, 'spend_limit', jsonb_build_object('usageMeterId', null, 'period', 'week', 'unit', 'units',
                   'action', 'block', 'thresholds', '[]'::jsonb)))).*
         from features f where f.type = 'resource' limit 1`,
      `insert into subscription_item_features
       select (jsonb_populate_record(s, jsonb_build_object('id', overlay(s.id placing 'zzzz' from length(s.id) - 5), 'feature_id', f.id, 'type', 'spend_limit', 'amount', 10,
                 'product_feature_id', null, 'resource_id', null))).*
         from subscription_item_features s
         join features f on f.environment_id = s.environment_id and f.pricing_model_id = s.pricing_model_id and f.slug = 'most'
        where s.type = 'resource' limit 1`,
    ],
    breaks: ['limitsOfPlansAreOpen'],
  },
  {
    fault: 'a subscription does not know of the spend limits of its customer',
    statements: ['update subscriptions set has_spend_limits = false where has_spend_limits'],
    breaks: ['subscriptionsKnowTheirLimits'],
  },
  {
    fault: 'a hold is open that nothing is held for',
    statements: [`update usage_holds set status = 'open', settled_amount = null where status = 'settled'`],
    breaks: ['heldIsSumOfOpenHolds'],
  },
  {
    fault: 'a hold on calls is at the price of users',
    statements: [`update usage_holds set price_id = ${userPrice} where status = 'settled'`],
    breaks: ['holdsNameTheirMeter'],
  },
];

/** Of usage events, their series and roll-ups. */
export const usageCorruptions: readonly Corruption[] = [
  ...[
    ['price', `price_id = 'gone'`, ['usageSeriesBelongTogether', 'usageIsBookedWithItsEvents', 'usageIsSumOfRollUps']],
    ['billing period', `billing_period_id = 'gone'`, ['usageSeriesBelongTogether']],
    ['subscription', `subscription_id = 'gone'`, ['subscriptionsAgree', 'usageSeriesBelongTogether']],
  ].map(([name, change, breaks]) => ({
    fault: `a series of calls has the ${name} of something else`,
    statements: [`update usage_series set ${change} where price_id = ${callPrice}`],
    breaks: breaks as string[],
  })),
  {
    fault: 'a series of calls is booked on the account of users',
    statements: [
      `update usage_series set ledger_account_id = (select id from ledger_accounts where used = 5)
        where price_id = ${callPrice}`,
    ],
    breaks: [
      'usageSeriesBelongTogether',
      'usageIsSumOfEvents',
      'usageIsBookedWithItsEvents',
      'openRollUpsAreOfTheirAccount',
      'usageIsSumOfRollUps',
    ],
  },
  {
    fault: 'a usage event is of a series that is gone',
    statements: ['update usage_events set series_id = 0 where amount = 70'],
    breaks: ['usageEventsAreOfSeries', 'usageIsSumOfEvents', 'usageIsBookedWithItsEvents', 'rollUpsAreSumsOfEvents'],
  },
  {
    fault: 'a transaction was counted twice',
    statements: [`update usage_events set transaction_id = 'first'`],
    breaks: ['transactionCountsOnce', 'transactionKeysAreDigests'],
  },
  {
    fault: 'the key of a transaction is that of another',
    statements: ['update usage_events set transaction_key = gen_random_uuid() where amount = 60'],
    breaks: ['transactionKeysAreDigests'],
  },
  {
    fault: 'an event takes a call away',
    statements: ['update usage_events set amount = -1 where amount = 70'],
    breaks: ['usageIsSumOfEvents', 'amountsFitTheirMeter', 'usageIsBookedWithItsEvents', 'rollUpsAreSumsOfEvents'],
  },
  ...[
    { kept: 'as they are', value: 70, breaks: [] },
    { kept: 'as fewer', value: 60, breaks: ['measuresFollowEvents'] },
  ].map(({ kept, value, breaks }) => ({
    fault: `calls that were booked as they came are measured as the largest amount, which is kept ${kept}`,
    statements: [
      `update usage_meters set aggregation_type = 'max' where id = (select usage_meter_id from ledger_accounts where used = 130)`,
      measureOfCalls(value),
    ],
    breaks: [
      'usageIsSumOfEvents',
      'measuredMetersHaveNoBalance',
      ...breaks,
      'usageIsBookedWithItsEvents',
      'rollUpsAreSumsOfEvents',
    ],
  })),
  {
    fault: 'calls are counted, and measured as well',
    statements: [measureOfCalls(70)],
    breaks: ['measuresFollowEvents'],
  },
  {
    fault: 'a usage event was deleted',
    statements: ['delete from usage_events where amount = 70'],
    breaks: ['usageIsSumOfEvents', 'usageIsBookedWithItsEvents', 'rollUpsAreSumsOfEvents'],
  },
  {
    fault: 'all usage events of an account were deleted, and what was kept of their sums',
    statements: ['delete from usage_events where amount > 5', 'delete from usage_rollups where units > 5', closed],
    breaks: ['usageIsSumOfEvents', 'usageIsBookedWithItsEvents', 'usageIsSumOfRollUps', 'usageOfHoursAddsUp'],
  },
  {
    fault: 'a usage event was stored without being booked',
    statements: [
      'update usage_events set amount = 61 where amount = 60',
      'update usage_rollups set units = 61 where units = 60',
    ],
    breaks: ['usageIsSumOfEvents', 'usageIsBookedWithItsEvents', 'usageIsSumOfRollUps', 'usageOfHoursAddsUp'],
  },
  {
    fault: 'it is forgotten which properties were seen',
    statements: ['delete from usage_event_distinct_properties'],
    breaks: ['usageIsSumOfEvents', 'usageIsBookedWithItsEvents', 'rollUpsAreSumsOfEvents'],
  },
  {
    fault: 'a usage event says that another transaction booked it',
    statements: ['update usage_events set booking = 2 where amount = 60'],
    breaks: ['usageIsBookedWithItsEvents'],
  },
  {
    fault: 'an event was told of another hour than it is kept in',
    statements: ['update usage_events set usage_date = usage_date + 3600000 where amount = 60'],
    breaks: ['rollUpsAreSumsOfEvents'],
  },
  {
    fault: 'what is open of a roll-up stands on another account',
    statements: [
      `update ledger_accounts users set open_series_id = calls.open_series_id, open_hour = calls.open_hour,
              open_units = calls.open_units, open_events = calls.open_events
         from ledger_accounts calls where users.used = 5 and calls.used = 130`,
      closed,
    ],
    breaks: ['openRollUpsAreOfTheirAccount'],
  },
  {
    fault: 'an hour counts an event that is not there',
    statements: ['update usage_rollups set events = events + 1 where units = 60'],
    breaks: ['rollUpsAreSumsOfEvents', 'usageOfHoursAddsUp'],
  },
  {
    fault: 'an hour counts users twice who were told twice',
    statements: ['update usage_rollups set units = 10, is_summed = false where events = 2'],
    breaks: ['usageIsSumOfRollUps', 'usageOfHoursAddsUp'],
  },
];
