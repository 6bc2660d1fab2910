import { type RawBuilder, sql } from 'kysely';
import { currencyCodes } from '../kernel/currency.ts';
import { minorUnitDigits } from '../kernel/money-text.ts';
import { smallestPerUnit } from '../rating/pool-units.ts';
import { belongsToCustomer } from '../usage/store-credits.ts';
import type { Invariant } from './store-invariants.ts';
import { entriesSince } from './store-invariants-sums.ts';

/**
 * Grants `c` of plans that are more than their feature offers less the units that the customer used before, of earlier
 * grants `o` on ended subscriptions `os`.
 */
function grantsBeyondOffer(grants: RawBuilder<unknown>, earlier: RawBuilder<unknown>) {
  return sql<Record<string, unknown>>`
    select c.environment_id, c.id, s.customer_id, c.feature_id, c.issued, e.used, f.amount
      from usage_credits c
      join ledger_accounts a on a.environment_id = c.environment_id and a.id = c.ledger_account_id
      join subscriptions s on s.environment_id = a.environment_id and s.id = coalesce(a.subscription_id, c.subscription_id)
     cross join lateral (
       select sum(o.applied + case when o.id = oa.pending_credit_id then oa.covered - oa.applied else 0 end) as used
         from subscriptions os
         join ledger_accounts oa on oa.environment_id = os.environment_id and (oa.subscription_id = os.id or oa.customer_id = os.customer_id)
         join usage_credits o on o.environment_id = oa.environment_id and o.ledger_account_id = oa.id
          and coalesce(oa.subscription_id, o.subscription_id) = os.id
        where os.environment_id = s.environment_id and os.customer_id = s.customer_id and os.id <> s.id
          and o.id < c.id and o.feature_id = c.feature_id and o.source = 'billing_period_transition' and ${earlier}) e
     cross join lateral (
       select coalesce(sum(f.amount), 0) * case when starts_with(a.usage_meter_id, 'credit_pool_') then ${sql.lit(smallestPerUnit)} else 1 end as amount, max(f.updated_at) as changed_at
         from subscription_item_features f
        where f.environment_id = c.environment_id and f.subscription_id = s.id and f.feature_id = c.feature_id) f
     where c.source = 'billing_period_transition' and c.feature_id is not null and ${grants}
       and e.used > 0 and c.issued + e.used > f.amount and coalesce(f.changed_at, 0) <= c.granted_at`;
}

const digitsOfCurrencies = JSON.stringify(
  Object.fromEntries(currencyCodes.map((code) => [code, minorUnitDigits(code)])),
);

/**
 * The price of what a draw `d` paid for, in smallest units of its pool `p`, rounded once: another way to the amounts of
 * `worthInPool`. It counts 10^-14 of a minor unit, so that only the last step rounds.
 */
const priceOfDraw = sql`(
  select div(2 * fine.amount * ${sql.lit(smallestPerUnit)} + fine.parts, 2 * fine.parts)
    from (
      select 1e14 * d.usage_events_per_unit * power(10::numeric, (${sql.lit(digitsOfCurrencies)}::jsonb ->> p.unit)::integer) as parts,
             trunc(1e14 * case coalesce(d.pricing ->> 'model', 'unit_price')
               when 'unit_price' then d.units * d.unit_price
               when 'per_unit' then d.units * (d.pricing ->> 'unitAmount')::numeric
               when 'package' then div(d.units + (d.pricing ->> 'packageSize')::numeric - 1, (d.pricing ->> 'packageSize')::numeric)
                                   * (d.pricing ->> 'packageAmount')::numeric
               when 'percentage' then d.units * (d.pricing ->> 'rate')::numeric * 0.01
                                      + d.events * coalesce((d.pricing ->> 'fixedAmountPerEvent')::numeric, 0)
               when 'dynamic' then d.own_amount * 1e-12
               else (
                 select sum(greatest(least(d.units, coalesce(tier.up_to, d.units)) - tier.below, 0)
                            * coalesce(tier.unit_amount, tier.rate * 0.01) + case when d.units > tier.below then tier.flat_amount else 0 end)
                   from (select t."upTo" as up_to, coalesce(lag(t."upTo") over (order by t."upTo" nulls last), 0) as below,
                                t."unitAmount" as unit_amount, t.rate, coalesce(t."flatAmount", 0) as flat_amount
                           from jsonb_to_recordset(d.pricing -> 'tiers')
                                  as t ("upTo" numeric, "unitAmount" numeric, rate numeric, "flatAmount" numeric)) tier) end) as amount) fine)`;

/** Invariants of credit pools. */
const poolInvariants: readonly Invariant[] = [
  {
    name: 'creditPoolsArePaidExactly',
    sentence:
      'What a transaction takes from a credit pool of a customer is what the units that the pool pays for cost at their rates or prices, to the smallest unit.',
    query: (since) => sql`
      with pooled as (
        select e.environment_id, e.ledger_transaction_id, s.customer_id, e.credit_pool_id, sum(coalesce(e.pool_amount, e.amount * e.pool_unit_cost)) as cost
          from ${entriesSince(since)} e
          join ledger_accounts a on a.environment_id = e.environment_id and a.id = e.ledger_account_id
          join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
         where e.debit_side = 'pooled' group by 1, 2, 3, 4
      ), taken as (
        select e.environment_id, e.ledger_transaction_id, a.customer_id, a.usage_meter_id as credit_pool_id, sum(e.amount) as amount
          from ledger_accounts a
          join ${entriesSince(since)} e on e.environment_id = a.environment_id and e.ledger_account_id = a.id and e.credit_side = 'used'
         where a.customer_id is not null and starts_with(a.usage_meter_id, 'credit_pool_') group by 1, 2, 3, 4
      )
      select environment_id, ledger_transaction_id as id, customer_id, credit_pool_id, pooled.cost, taken.amount
        from pooled full join taken using (environment_id, ledger_transaction_id, customer_id, credit_pool_id)
       where coalesce(pooled.cost, 0) is distinct from coalesce(taken.amount, 0)`,
  },
  {
    name: 'poolsDrawWhatPricesSay',
    sentence: 'A pool in money has drawn the price of the units that it paid for in a usage period, rounded once.',
    query: sql`
      select d.environment_id, d.ledger_account_id, d.price_id, d.period_start, d.units, d.amount, ${priceOfDraw} as price
        from pool_draws d
        left join credit_pools p on p.environment_id = d.environment_id and p.id = d.credit_pool_id
       where d.amount is distinct from ${priceOfDraw} or p.draw_at_price is not true`,
  },
  {
    name: 'poolDrawsAreTheirEntries',
    sentence:
      'The units and amounts that pools in money drew at the prices of an account are those of its ledger entries.',
    query: sql`
      with account as (
        select a.environment_id, a.id from ledger_accounts a
         where a.pooled > 0 and exists (select from credit_pools p where p.environment_id = a.environment_id
                                           and p.pricing_model_id = a.pricing_model_id and p.draw_at_price)
      ), entered as (
        select e.environment_id, e.ledger_account_id, e.price_id, e.credit_pool_id, sum(e.amount) as units, sum(e.pool_amount) as amount
          from account
          join ledger_entries e on e.environment_id = account.environment_id and e.ledger_account_id = account.id
         where e.pool_amount is not null group by 1, 2, 3, 4
      ), drawn as (
        select environment_id, ledger_account_id, price_id, credit_pool_id, sum(units) as units, sum(amount) as amount
          from pool_draws group by 1, 2, 3, 4
      )
      select environment_id, ledger_account_id, price_id, credit_pool_id, entered.units, drawn.units as drawn_units, entered.amount,
             drawn.amount as drawn_amount
        from entered full join drawn using (environment_id, ledger_account_id, price_id, credit_pool_id)
       where entered.units is distinct from drawn.units or entered.amount is distinct from drawn.amount`,
  },
  {
    name: 'creditPoolRatesAreOfTheirModel',
    sentence: 'A rate of a credit pool is of a usage meter of the same pricing model.',
    query: sql`
      select r.environment_id, r.credit_pool_id as id, r.position, r.pricing_model_id, p.pricing_model_id as pool_model_id,
             m.pricing_model_id as meter_model_id
        from credit_pool_rates r
        left join credit_pools p on p.environment_id = r.environment_id and p.id = r.credit_pool_id
        left join usage_meters m on m.environment_id = r.environment_id and m.id = r.usage_meter_id
       where p.pricing_model_id is distinct from r.pricing_model_id or m.pricing_model_id is distinct from r.pricing_model_id`,
  },
  {
    name: 'poolCreditsKnowTheirGranter',
    sentence:
      'A credit of a pool that a plan granted names its subscription, which is of the same customer. Once that has ended, nothing of it is left.',
    query: sql`
      select c.environment_id, c.id, c.subscription_id, a.customer_id, s.customer_id as granted_customer_id, s.status
        from usage_credits c
        join ledger_accounts a on a.environment_id = c.environment_id and a.id = c.ledger_account_id
        left join subscriptions s on s.environment_id = c.environment_id and s.id = c.subscription_id
       where (c.subscription_id is not null and (s.customer_id is distinct from a.customer_id or not starts_with(a.usage_meter_id, 'credit_pool_')))
          or (a.customer_id is not null and starts_with(a.usage_meter_id, 'credit_pool_') and not ${belongsToCustomer}
              and (c.subscription_id is null or not c.spent and s.status in ('canceled', 'incomplete_expired')))`,
  },
  {
    name: 'holdsOnPoolsAreOfTheirCustomer',
    sentence: 'What a hold sets aside in a credit pool is on the account of its own customer.',
    query: sql`
      select h.environment_id, h.id, h.pool_account_id, h.pooled, h.pool_amount
        from usage_holds h
        join ledger_accounts a on a.environment_id = h.environment_id and a.id = h.ledger_account_id
        join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
        left join ledger_accounts p on p.environment_id = h.environment_id and p.id = h.pool_account_id
        left join credit_pools pool on pool.environment_id = p.environment_id and pool.id = p.usage_meter_id
       where h.pool_account_id is not null
         and (p.customer_id is distinct from s.customer_id or not starts_with(p.usage_meter_id, 'credit_pool_')
              or h.pool_amount % h.pooled <> 0 and not pool.draw_at_price)`,
  },
];

/** Invariants of credits that are given once, and of those whose money went back. */
export const creditInvariants: readonly Invariant[] = [
  ...poolInvariants,
  {
    name: 'oneTimeCreditsComeOnce',
    // Amounts of a feature that was changed since are not stored, so such grants are skipped.
    sentence:
      'One-time credits are at most what the customer did not use of the same feature on ended subscriptions, unless it changed since.',
    query: grantsBeyondOffer(sql`c.expires_at is null`, sql`o.expires_at is null and os.canceled_at <= c.granted_at`),
  },
  {
    name: 'freePlansGrantOncePerPeriod',
    sentence:
      'A free plan that begins in a period of an earlier one grants at most what was not used of that, unless the feature changed since.',
    query: grantsBeyondOffer(
      sql`s.is_free_plan and c.expires_at is not null and not exists (
            select from billing_periods p
              join billing_periods earlier on earlier.environment_id = p.environment_id
               and earlier.subscription_id = p.subscription_id
               -- An anchor that moves at once leaves a period of no length. Ids are in the order of their time.
               and (earlier.start_at, earlier.id) < (p.start_at, p.id)
             where p.environment_id = c.environment_id and p.id = c.billing_period_id)`,
      sql`os.is_free_plan and os.canceled_at <= c.granted_at and o.expires_at > c.granted_at`,
    ),
  },
  {
    name: 'refundedCreditsAreTakenBack',
    // Units of a hold that was open then stay, also when the hold is released later.
    sentence:
      'A refunded purchase leaves at most the unrefunded share of its credits unused, unless a hold was open at the refund.',
    query: sql`
      with recursive refunded as (
        select i.environment_id, b.id as purchase_id, i.amount_refunded, i.amount_paid,
               greatest(r.refunded_at, b.purchase_date) as refunded_at
          from purchases b
          join invoices i on i.environment_id = b.environment_id and i.id = b.invoice_id
         cross join lateral (
           select max(f.updated_at) as refunded_at
             from payments p join refunds f on f.environment_id = p.environment_id and f.payment_id = p.id
            where p.environment_id = i.environment_id and p.invoice_id = i.id and f.status = 'succeeded') r
         where b.purchase_date is not null and i.status in ('refunded', 'partially_refunded')
      ), bought as (
        select r.*, c.id, c.id as root_id, c.issued as root_issued
          from refunded r
          join usage_credits c on c.environment_id = r.environment_id and c.source = 'purchase'
           and c.source_id > r.purchase_id || ':' and c.source_id < r.purchase_id || ';'
         union all
        select b.environment_id, b.purchase_id, b.amount_refunded, b.amount_paid, b.refunded_at, c.id, b.root_id, b.root_issued
          from bought b
          join usage_credits c on c.environment_id = b.environment_id and c.transferred_from = b.id
      )
      select b.environment_id, b.root_id as id, b.purchase_id, b.root_issued, b.amount_refunded, b.amount_paid,
             sum(c.issued - c.applied - c.expired - c.taken_back
                 - case when c.id = a.pending_credit_id then a.covered - a.applied else 0 end) as unused
        from bought b
        join usage_credits c on c.environment_id = b.environment_id and c.id = b.id
        join ledger_accounts a on a.environment_id = c.environment_id and a.id = c.ledger_account_id
       group by b.environment_id, b.root_id, b.purchase_id, b.root_issued, b.amount_refunded, b.amount_paid, b.refunded_at
      having sum(c.issued - c.applied - c.expired - c.taken_back
                 - case when c.id = a.pending_credit_id then a.covered - a.applied else 0 end)
             > b.root_issued - div(2 * b.root_issued * b.amount_refunded + b.amount_paid, 2 * b.amount_paid)
         and not bool_or(exists (
               select from usage_holds h
                where h.environment_id = a.environment_id and a.id in (h.ledger_account_id, h.pool_account_id) and h.created_at <= b.refunded_at
                  and (h.status = 'open' or h.updated_at >= b.refunded_at)))`,
  },
];
