import { sql } from 'kysely';
import type { Invariant } from './store-invariants.ts';

/** Invariants of recurring revenue and its movements. */
export const analyticsInvariants: readonly Invariant[] = [
  {
    name: 'recurringRevenueFollowsState',
    sentence: 'The noted recurring revenue of each subscription is that of a recount from its state.',
    query: sql`
      select c.environment_id, c.id, d.subscription_id, d.price_id, d.before as noted, d.after as recounted
        from customers c
       cross join lateral mrr_changes(c.environment_id, c.id) d`,
  },
  {
    name: 'movementsAddUp',
    sentence: 'The movements of a subscription add up to its recurring revenue, and those of a customer to its own.',
    query: sql`
      select environment_id, id, price_id, sum(moved) as moved, sum(noted) as noted
        from (select environment_id, subscription_id as id, price_id, amount as moved, 0 as noted from mrr_movements
               union all
              select environment_id, subscription_id, price_id, 0, amount from mrr_amounts
               union all
              select environment_id, customer_id, null, amount, 0 from mrr_movements
               union all
              select environment_id, customer_id, null, 0, amount from mrr_customers) part
       group by environment_id, id, price_id having sum(moved) <> sum(noted)`,
  },
  {
    name: 'movementsFitTheirType',
    sentence:
      'A movement leads from the recurring revenue before it to that after it, and has the type, the sign and the time that follow.',
    query: sql`
      with movement as (
        select environment_id, customer_id, position, min(type) as type, count(distinct type) as types, sum(amount) as amount,
               min(customer_amount) as after, max(customer_amount) as other_after, min(occurred_at) as occurred_at,
               min(cohort_at) as cohort_at
          from mrr_movements group by environment_id, customer_id, position
      ), ordered as (
        select m.*, coalesce(lag(m.after) over customer, 0) as before, lag(m.occurred_at) over customer as earlier_at,
               first_value(m.occurred_at) over customer as first_at, row_number() over customer as number
          from movement m window customer as (partition by m.environment_id, m.customer_id order by m.position)
      )
      select o.environment_id, o.customer_id as id, o.position, o.type, o.before, o.amount, o.after, o.occurred_at
        from ordered o
        left join mrr_customers c on c.environment_id = o.environment_id and c.customer_id = o.customer_id
       where o.types > 1 or o.after <> o.other_after or o.after <> o.before + o.amount or o.number <> o.position
          or o.occurred_at < o.earlier_at or o.cohort_at <> o.first_at or c.cohort_at is distinct from o.first_at
          or o.type <> case when o.number = 1 then 'new' when o.before = 0 then 'reactivation' when o.after = 0 then 'churn'
                            when o.amount < 0 then 'contraction' else 'expansion' end
          or (o.position = (select max(l.position) from movement l where l.environment_id = o.environment_id and l.customer_id = o.customer_id)
              and (c.position, c.moved_at) is distinct from (o.position, o.occurred_at))`,
  },
  {
    name: 'recurringBalancesAddUp',
    sentence: 'A balance of recurring revenue is the sum of all movements before its end.',
    query: sql`
      select environment_id, until_at, price_id, type, sum(amount) as amount, sum(customers) as customers
        from (select b.environment_id, b.until_at, b.pricing_model_id, b.currency, b.price_id, b.type, b.amount, b.customers
                from mrr_balances b
               union all
              select b.environment_id, b.until_at, m.pricing_model_id, m.currency, m.price_id, m.type, -m.amount, -m.customers
                from (select distinct environment_id, until_at from mrr_balances) b
                join mrr_movements m on m.environment_id = b.environment_id and m.occurred_at < b.until_at) part
       group by environment_id, until_at, pricing_model_id, currency, price_id, type
      having sum(amount) <> 0 or sum(customers) <> 0`,
  },
  {
    name: 'retentionAddsUp',
    sentence: 'The sums for retention are those of the movements, by cohorts and for the customers of each start.',
    query: sql`
      with movement as (
        select environment_id, customer_id, position, min(currency) as currency, min(occurred_at) as occurred_at, min(cohort_at) as cohort_at,
               sum(amount) as amount, min(customer_amount) as after, sum(customers) as customers
          from mrr_movements group by environment_id, customer_id, position
      ), started as (
        select m.*, c.pricing_model_id, u.interval_unit, interval_start(u.interval_unit, m.occurred_at) as start_at
          from movement m
          join mrr_customers c on c.environment_id = m.environment_id and c.customer_id = m.customer_id
         cross join unnest(array['day', 'week', 'month', 'quarter', 'year']) u (interval_unit)
      ), opened as (
        select s.*, first_value(s.after - s.amount) over (partition by s.environment_id, s.customer_id, s.interval_unit, s.start_at
                                                          order by s.position) as opening
          from started s
      )
      select environment_id, interval_unit, cohort_at, at, sum(amount) as amount, sum(lost) as lost, sum(customers) as customers, sum(made) as made
        from (select environment_id, pricing_model_id, currency, interval_unit, cohort_at, at, amount, lost, customers, made from mrr_retention
               union all
              select environment_id, pricing_model_id, currency, interval_unit, null, interval_start('day', occurred_at), -amount,
                     least(after - amount - opening, 0) - least(after - opening, 0), 0, 0
                from opened where opening > 0
               union all
              select environment_id, pricing_model_id, currency, interval_unit, interval_start(interval_unit, cohort_at), start_at, -amount, 0,
                     -customers, case when position = 1 then -1 else 0 end
                from opened where interval_unit in ('week', 'month')) part
       group by environment_id, pricing_model_id, currency, interval_unit, cohort_at, at
      having (sum(amount), sum(lost), sum(customers), sum(made)) <> (0, 0, 0, 0)`,
  },
  {
    name: 'moneyOfDaysAddsUp',
    sentence: 'The sums of a day are those of its invoices and payments.',
    query: sql`
      select environment_id, kind, day, currency, reason, processor, payment_method, sum(count) as count, sum(amount) as amount, sum(tax) as tax
        from (select environment_id, pricing_model_id, kind, day, currency, reason, processor, payment_method, count, amount, tax from money_days
               union all
              select environment_id, pricing_model_id, 'invoiced', day_of(invoice_date), currency, reason, null, null, -1, -subtotal, -tax_amount
                from invoices where status not in ('draft', 'void') and consolidated_into is null
               union all
              select environment_id, pricing_model_id, 'failed', day_of(created_at), currency, null, processor, payment_method, -1, -amount, 0
                from payments where status = 'failed'
               union all
              select environment_id, pricing_model_id, 'recovered', day_of(settlement_date), currency, null, processor, payment_method, -1, -amount, 0
                from payments where status in ('succeeded', 'refunded') and settlement_date is not null and attempt_number > 1
               union all
              select p.environment_id, p.pricing_model_id, 'succeeded', day_of(p.settlement_date), p.currency, i.reason, p.processor, p.payment_method,
                     -1, -p.amount, 0
                from payments p
                left join invoices i on i.environment_id = p.environment_id and i.id = p.invoice_id
               where p.status in ('succeeded', 'refunded') and p.settlement_date is not null) part
       group by environment_id, pricing_model_id, kind, day, currency, reason, processor, payment_method
      having (sum(count), sum(amount), sum(tax)) <> (0, 0, 0)`,
  },
  {
    name: 'usageOfHoursAddsUp',
    sentence: 'The usage of an hour is that of its roll-ups.',
    query: sql`
      select environment_id, usage_meter_id, pricing_model_id, hour, sum(units) as units, sum(events) as events
        from (select environment_id, usage_meter_id, pricing_model_id, hour, units, events from usage_hours
               union all
              select r.environment_id, s.usage_meter_id, s.pricing_model_id, r.hour, -r.units, -r.events
                from usage_rollups r
                join usage_series s on s.environment_id = r.environment_id and s.id = r.series_id) part
       group by environment_id, usage_meter_id, pricing_model_id, hour having sum(units) <> 0 or sum(events) <> 0`,
  },
  {
    name: 'usageOfMonthsAddsUp',
    sentence: "The usage of a customer's month is the summed part of its roll-ups.",
    query: sql`
      select environment_id, usage_meter_id, pricing_model_id, customer_id, month, sum(units) as units, sum(events) as events
        from (select environment_id, usage_meter_id, pricing_model_id, customer_id, month, units, events from usage_months
               union all
              select r.environment_id, s.usage_meter_id, s.pricing_model_id, s.customer_id, month_of(r.hour), -r.summed_units, -r.summed_events
                from usage_rollups r
                join usage_series s on s.environment_id = r.environment_id and s.id = r.series_id
               where r.summed_events > 0) part
       group by environment_id, usage_meter_id, pricing_model_id, customer_id, month having sum(units) <> 0 or sum(events) <> 0`,
  },
];
