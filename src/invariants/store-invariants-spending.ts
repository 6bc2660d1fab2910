import { sql } from 'kysely';
import type { Invariant } from './store-invariants.ts';
import { archivedUsage } from './store-invariants-sums.ts';

/** Whether the period of a counter `c` in environment `v` has not ended. */
const isPresent = sql`coalesce(c.period_end, ${sql.lit(Number.MAX_SAFE_INTEGER)}) > coalesce(v.clock_now, (extract(epoch from now()) * 1000)::bigint)`;

/** Whether a limit `l` counts the use of a credit pool. */
const isOfPool = sql`coalesce(starts_with(l.usage_meter_id, 'credit_pool_'), false)`;

/** The counters of spend limits. */
export const spendingInvariants: readonly Invariant[] = [
  {
    name: 'spendCountersAreRecounted',
    sentence:
      'A counter of a spend limit has the units of the events that its limit counts in its period; if some events repeat ' +
      'properties, it lies between the sum of the first ones and the sum of all. Archived events may count.',
    query: sql`
      select c.environment_id, c.spend_limit_id, c.period_key, c.units, counted.least, counted.most
        from spend_counters c
        join environments v on v.id = c.environment_id
        join spend_limits l on l.environment_id = c.environment_id and l.id = c.spend_limit_id
        join customers u on u.environment_id = l.environment_id and u.id = l.customer_id and u.erased_at is null
       cross join lateral (
         select coalesce(sum(a.least), 0) as least, coalesce(sum(a.most), 0) as most
           from (
             select case when bool_or(d.usage_event_id is not null) or exists (
                           select from ${archivedUsage} x
                             join usage_series r on r.environment_id = x.environment_id and r.id = x.series_id
                            where r.environment_id = l.environment_id and r.ledger_account_id = s.ledger_account_id and x.firsts > 0)
                         then coalesce(sum(e.amount) filter (where d.usage_event_id is not null), 0) else sum(e.amount) end as least,
                    sum(e.amount) as most
               from usage_series s
               join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id and not m.is_measured
               join usage_events e on e.environment_id = s.environment_id and e.series_id = s.id
               left join usage_event_distinct_properties d on d.environment_id = e.environment_id and d.usage_event_id = e.id
              where s.environment_id = l.environment_id and s.customer_id = l.customer_id
                and s.subscription_id = coalesce(l.subscription_id, s.subscription_id)
                and s.usage_meter_id = coalesce(l.usage_meter_id, s.usage_meter_id)
                and e.label is not distinct from coalesce(l.label, e.label) and e.booking > l.booked_before
                and case l.period when 'billing_period' then coalesce(s.billing_period_id, s.subscription_id) = c.period_key
                    else e.created_at >= c.period_start and e.created_at < c.period_end end
              group by s.ledger_account_id
              union all
             -- Their labels and dates are not kept, so archived events may count, all of them at the most.
             select 0, x.amount
               from ${archivedUsage} x
               join usage_series s on s.environment_id = x.environment_id and s.id = x.series_id
               join usage_meters m on m.environment_id = s.environment_id and m.id = s.usage_meter_id and not m.is_measured
              where s.environment_id = l.environment_id and s.customer_id = l.customer_id and x.last_booking > l.booked_before) a) counted
       where ${isPresent} and not ${isOfPool} and c.units not between counted.least and counted.most`,
  },
  {
    name: 'poolLimitsCountWhatIsDrawn',
    sentence:
      'A counter of a spend limit by credit pool has what the usage of its customer drew from the pool in its period; with a ' +
      'label, at most that.',
    query: sql`
      select c.environment_id, c.spend_limit_id, c.period_key, c.units, drawn.amount
        from spend_counters c
        join environments v on v.id = c.environment_id
        join spend_limits l on l.environment_id = c.environment_id and l.id = c.spend_limit_id
       cross join lateral (
         select coalesce(sum(coalesce(e.pool_amount, e.amount * e.pool_unit_cost)), 0) as amount
           from subscriptions s
           join ledger_accounts a on a.environment_id = s.environment_id and a.subscription_id = s.id
           join ledger_entries e on e.environment_id = a.environment_id and e.ledger_account_id = a.id and e.debit_side = 'pooled'
            and e.credit_pool_id = l.usage_meter_id
           join ledger_transactions t on t.environment_id = e.environment_id and t.id = e.ledger_transaction_id
            and t.type = 'usage_event_processed' and t.source_id::bigint > l.booked_before
          where s.environment_id = l.environment_id and s.customer_id = l.customer_id
            and s.id = coalesce(l.subscription_id, s.id)
            and case l.period when 'billing_period' then coalesce(e.billing_period_id, s.id) = c.period_key
                else t.created_at >= c.period_start and t.created_at < c.period_end end) drawn
       where ${isPresent} and ${isOfPool} and (c.units > drawn.amount or (l.label is null and c.units < drawn.amount))`,
  },
  {
    name: 'spendCountersAddUp',
    sentence: 'A counter of units has used its units; one of money has the units of its prices.',
    query: sql`
      select c.environment_id, c.spend_limit_id, c.period_key, c.units, c.used, c.by_price
        from spend_counters c join spend_limits l on l.environment_id = c.environment_id and l.id = c.spend_limit_id
       where case l.unit when 'units' then c.used <> c.units
             else c.units <> (select coalesce(sum((p.value ->> 0)::numeric), 0) from jsonb_each(c.by_price) p) end`,
  },
  {
    name: 'nothingIsConsumedBeyondALimit',
    sentence: 'No use that had to fit into a blocking spend limit went beyond it.',
    query: sql`
      select environment_id, spend_limit_id, period_key, checked_used, checked_limit
        from spend_counters where checked_used > checked_limit`,
  },
  {
    name: 'reachedLimitsArePublished',
    sentence: 'A spend limit whose amount is used in the present period was published as an event.',
    query: sql`
      select c.environment_id, c.spend_limit_id, c.period_key, c.used, n.amount
        from spend_counters c
        join environments v on v.id = c.environment_id
        join spend_limits l on l.environment_id = c.environment_id and l.id = c.spend_limit_id
      cross join lateral (select coalesce(l.amount, c.published_amount) as amount) n
       -- A refused use opens a counter, and uses nothing.
       where ${isPresent} and c.used >= n.amount and c.used > 0
         and not exists (
           select from events e
            where e.environment_id = l.environment_id and e.object_id = l.customer_id and e.type = 'spend_limit.reached'
              and e.cause = concat_ws(' ', l.id, c.period_key, n.amount, 100))`,
  },
  {
    name: 'limitsOfPlansAreOpen',
    sentence: 'A spend limit that a feature gives a subscription is there to count its use.',
    query: sql`
      select s.environment_id, s.id, s.subscription_id
        from subscription_item_features s
        join features f on f.environment_id = s.environment_id and f.id = s.feature_id
       where s.type = 'spend_limit'
         and not exists (
           select from spend_limits l
            where l.environment_id = s.environment_id and l.subscription_id = s.subscription_id and l.set_by = 'plan'
              and l.usage_meter_id is not distinct from coalesce(f.spend_limit ->> 'creditPoolId', f.spend_limit ->> 'usageMeterId')
              and l.period = f.spend_limit ->> 'period' and l.unit = f.spend_limit ->> 'unit')`,
  },
  {
    name: 'subscriptionsKnowTheirLimits',
    sentence: 'A subscription says whether its plan or its customer has spend limits.',
    query: sql`
      select s.environment_id, s.id, s.has_spend_limits
        from subscriptions s
       where s.has_spend_limits <> exists (
         select from spend_limits l
          where l.environment_id = s.environment_id and l.customer_id = s.customer_id
            and coalesce(l.subscription_id, s.id) = s.id)`,
  },
];
