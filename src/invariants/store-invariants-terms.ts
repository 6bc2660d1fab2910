import { sql } from 'kysely';
import { currentStatuses, terminalStatuses } from '../subscriptions/subscription.ts';
import type { Invariant } from './store-invariants.ts';

const current = sql.join(currentStatuses.map((status) => sql.lit(status)));
const terminal = sql.join(terminalStatuses.map((status) => sql.lit(status)));

/** Two overlapping transactions may write their instants in the opposite order; no request takes longer than this. */
const overlapMs = sql.lit(60_000);

/** The anchor that the boundaries of a subscription `s` count from. */
const anchor = sql`case when s.billing_anchor = '"anniversary"' then greatest(s.billing_cycle_anchor_date, s.trial_end)
  else s.billing_cycle_anchor_date end`;

/** Invariants of subscription terms: their periods, changes, ends and claims. */
export const termInvariants: readonly Invariant[] = [
  {
    name: 'activationsEnd',
    sentence: 'An incomplete subscription has the span of a period only while its first payment is in progress.',
    query: sql`
      select s.environment_id, s.id, s.current_billing_period_start
        from subscriptions s
       where s.status = 'incomplete' and s.current_billing_period_start is not null
         and not exists (
           select from purchases p
            where p.environment_id = s.environment_id and p.subscription_id = s.id and p.status = 'pending'
              and p.invoice_id is null)
         and not exists (
           select from invoices i
            where i.environment_id = s.environment_id and i.subscription_id = s.id
              and i.status in ('open', 'awaiting_payment_confirmation'))`,
  },
  {
    name: 'claimsAreWithinCapacity',
    // Capacity may sink below the claims later: a feature ends or is changed, and existing claims stay. Old values of a
    // feature are not stored, so subscriptions with a change are skipped. A change that began before the claim may be
    // written after it with the earlier time.
    sentence:
      'At the time of the last active claim on a resource, its claims were within the capacity of the subscription, unless a feature changed since.',
    query: sql`
      select c.environment_id, c.subscription_id as id, c.resource_id, c.claims, c.last_claimed_at, coalesce(f.capacity, 0) as capacity
        from (select c.environment_id, c.subscription_id, c.resource_id, count(*) as claims, max(c.claimed_at) as last_claimed_at
                from resource_claims c
                join environments e on e.id = c.environment_id
               where c.released_at is null
                 and (c.expired_at is null or c.expired_at > coalesce(e.clock_now, (extract(epoch from now()) * 1000)::bigint))
               group by c.environment_id, c.subscription_id, c.resource_id) c
       cross join lateral (
         select sum(s.amount) as capacity
           from subscription_item_features s
           join subscription_items i on i.environment_id = s.environment_id and i.id = s.subscription_item_id
          where s.environment_id = c.environment_id and s.subscription_id = c.subscription_id and s.resource_id = c.resource_id
            and i.added_date <= c.last_claimed_at
            and (i.expired_at is null or i.expired_at >= c.last_claimed_at - ${overlapMs})
            and (s.expired_at is null or s.expired_at >= c.last_claimed_at - ${overlapMs})) f
       where c.claims > coalesce(f.capacity, 0)
         and not exists (
           select from subscription_item_features s
            where s.environment_id = c.environment_id and s.subscription_id = c.subscription_id
              and s.updated_at > c.last_claimed_at - ${overlapMs})`,
  },
  {
    name: 'endedSubscriptionIsAtRest',
    sentence: 'An ended subscription has no current or upcoming billing period and no pending plan change.',
    query: sql`
      select s.environment_id, s.id, s.status, p.id as billing_period_id, a.id as adjustment_id
        from subscriptions s
        left join billing_periods p on p.environment_id = s.environment_id and p.subscription_id = s.id
         and p.status in ('upcoming', 'active', 'scheduled_to_cancel')
        left join subscription_adjustments a on a.environment_id = s.environment_id and a.subscription_id = s.id
         and a.status in ('scheduled', 'awaiting_payment')
       where s.status in (${terminal}) and (p.id is not null or a.id is not null)`,
  },
  {
    name: 'trialIsATrialPeriod',
    sentence: 'A trialing subscription is in a trial billing period that ends with the trial.',
    query: sql`
      select s.environment_id, s.id, s.status, s.trial_end, s.current_billing_period_end, p.trial_period
        from subscriptions s
        left join billing_periods p on p.environment_id = s.environment_id and p.subscription_id = s.id
         and p.start_at = s.current_billing_period_start and p.status <> 'canceled'
       where s.status = 'trialing' and s.current_billing_period_start < s.current_billing_period_end
         and (s.trial_end is distinct from s.current_billing_period_end or p.trial_period is not true)`,
  },
  {
    name: 'periodsEndOnTheirAnchor',
    // In UTC, counted from the anchor: the 31st, then the last of February, then the 31st again.
    sentence: 'The current billing period of a subscription ends a whole number of intervals from its anchor.',
    query: sql`
      select environment_id, id, status, billing_cycle_anchor_date, trial_end, interval_unit, interval_count, current_billing_period_end
        from (select s.*, to_timestamp(s.anchor_at / 1000.0) at time zone 'UTC' as anchor,
                     to_timestamp(s.current_billing_period_end / 1000.0) at time zone 'UTC' as ends,
                     case s.interval_unit when 'month' then s.interval_count when 'year' then 12 * s.interval_count end as months,
                     case s.interval_unit when 'day' then s.interval_count when 'week' then 7 * s.interval_count end * 86400000 as ms
                -- A trial that ends later is what the periods after it count from.
                from (select *, case when billing_anchor = '"anniversary"' then greatest(billing_cycle_anchor_date, trial_end)
                                       else billing_cycle_anchor_date end as anchor_at from subscriptions) s
               where s.status in (${current}) and s.renews and s.current_billing_period_start < s.current_billing_period_end
                 -- A trial that is counted in the calendar ends between two boundaries.
                 and not (s.billing_anchor <> '"anniversary"' and s.current_billing_period_end = s.trial_end)
                 and s.current_billing_period_end < 4102444800000 and s.interval_count <= 1200) s
       cross join lateral (
         select (extract(year from ends) - extract(year from anchor)) * 12 + extract(month from ends) - extract(month from anchor) as whole) m
       where case when ms is not null then (current_billing_period_end - anchor_at) % ms <> 0
                  else whole::bigint % months <> 0 or anchor + make_interval(months => whole::integer) <> ends end`,
  },
  {
    name: 'calendarAnchorsLieInTheCalendar',
    sentence:
      'The anchor of a subscription that is billed by the calendar is the first instant of a day, week, month or year, or of the chosen day of a month.',
    query: sql`
      select environment_id, id, billing_anchor, billing_cycle_anchor_date, interval_unit
        from (select s.*, to_timestamp(billing_cycle_anchor_date / 1000.0) at time zone 'UTC' as anchor from subscriptions s
               where s.renews and s.billing_anchor <> '"anniversary"'
                 and s.billing_cycle_anchor_date between -62135596800000 and 4102444800000) s
       where billing_cycle_anchor_date % 86400000 <> 0
          or case when billing_anchor <> '"calendar"'
                  then extract(day from anchor) <> least((billing_anchor ->> 'day')::integer,
                         extract(day from date_trunc('month', anchor) + interval '1 month' - interval '1 day'))
                  else date_trunc(interval_unit, anchor) <> anchor end`,
  },
  {
    name: 'interimIsTheNextBoundary',
    // A clock may step back after the interim was computed. A feature that has ended meanwhile may have its last interim.
    sentence:
      'The interim of a subscription is the next instant within its period at which an interval of a usage price or of its credits ends, counted from its anchor.',
    query: sql`
      select s.environment_id, s.id, s.status, s.interim_at, next.at
        from subscriptions s join environments e on e.id = s.environment_id
       cross join lateral (select greatest(coalesce(e.clock_now, (extract(epoch from now()) * 1000)::bigint), s.updated_at) as at) clock
       cross join lateral (
         select min(i.at) filter (where not i.has_ended) as at, min(i.at) filter (where i.at = s.interim_at) as known_at
           from (
             select next_boundary(${anchor}, i.unit, i.count,
                      greatest(s.current_billing_period_start, least(clock.at, s.interim_at - 1))) as at, i.has_ended
               from (
                 select p.interval_unit as unit, p.interval_count as count, false as has_ended from prices p
                  where p.environment_id = s.environment_id and p.pricing_model_id = s.pricing_model_id and p.has_own_interval
                    and (p.interval_unit, p.interval_count) <> (s.interval_unit, s.interval_count)
                 union all
                 select f.grant_interval ->> 'unit', (f.grant_interval ->> 'count')::bigint, f.expired_at is not null
                   from subscription_item_features f
                  where f.environment_id = s.environment_id and f.subscription_id = s.id and f.grant_interval is not null) i) i) next
       where s.status in (${current}) and s.renews and s.current_billing_period_start < s.current_billing_period_end
         and s.current_billing_period_end < 4102444800000 and s.current_billing_period_end > clock.at
         and s.interim_at is distinct from
             case when least(next.known_at, next.at) < s.current_billing_period_end
                   and s.current_billing_period_start >= coalesce(s.trial_end, s.current_billing_period_start)
               then least(next.known_at, next.at) end`,
  },
  {
    name: 'intervalCreditsEndWithTheirInterval',
    sentence:
      'Credits of an interval that the plan granted within the current billing period of a subscription end with the interval, or with the period where that is sooner.',
    query: sql`
      select p.environment_id, p.id, p.subscription_id, c.id as usage_credit_id, c.interval_start_at, c.expires_at
        from subscriptions s
        join billing_periods p on p.environment_id = s.environment_id and p.subscription_id = s.id
         and p.start_at = s.current_billing_period_start and p.end_at = s.current_billing_period_end and p.status = 'active'
        join usage_credits c on c.environment_id = p.environment_id and c.billing_period_id = p.id
         and c.source = 'billing_period_transition' and c.interval_start_at is not null and starts_with(c.source_id, p.id || ':')
        join subscription_item_features f on f.environment_id = c.environment_id and f.id = split_part(c.source_id, ':', 2)
         and f.grant_interval is not null and f.updated_at <= c.created_at
       where s.status in (${current}) and p.whole_end_at is null and p.end_at < 4102444800000
         and c.expires_at <> least(p.end_at, case when p.start_at >= coalesce(s.trial_end, p.start_at)
               then next_boundary(${anchor}, f.grant_interval ->> 'unit', (f.grant_interval ->> 'count')::bigint, c.interval_start_at) end)`,
  },
  {
    name: 'intervalsAreGrantedOnce',
    sentence:
      'The times of credits that a feature of a plan granted by the interval within one billing period do not overlap.',
    query: sql`
      select c.environment_id, c.id, c.billing_period_id, o.id as other_id, c.interval_start_at, c.expires_at
        from usage_credits c
        join usage_credits o on o.environment_id = c.environment_id and o.source = c.source and o.ledger_account_id = c.ledger_account_id
         and o.interval_start_at < c.interval_start_at and o.expires_at > c.interval_start_at
         and split_part(o.source_id, ':', 1) = c.billing_period_id
         and split_part(o.source_id, ':', 2) = split_part(c.source_id, ':', 2)
        -- An item may have got another interval.
        join subscription_item_features f on f.environment_id = c.environment_id and f.id = split_part(c.source_id, ':', 2)
         and f.updated_at <= o.created_at
       where c.source = 'billing_period_transition' and c.interval_start_at is not null
         and starts_with(c.source_id, c.billing_period_id || ':')`,
  },
  {
    name: 'planCreditsEndWithTheirPeriod',
    sentence: 'Credits that the plan granted for the current billing period of a subscription end with it.',
    query: sql`
      select p.environment_id, p.id, p.subscription_id, p.end_at, c.id as usage_credit_id, c.expires_at
        from subscriptions s
        join billing_periods p on p.environment_id = s.environment_id and p.subscription_id = s.id
         and p.start_at = s.current_billing_period_start and p.end_at = s.current_billing_period_end and p.status = 'active'
        join usage_credits c on c.environment_id = p.environment_id and c.billing_period_id = p.id
         and c.source = 'billing_period_transition' and starts_with(c.source_id, p.id || ':')
         and c.interval_start_at is null
       where s.status in (${current}) and p.whole_end_at is null and c.expires_at <> p.end_at`,
  },
  {
    name: 'noGrantsWhileUnpaid',
    sentence: 'A billing period whose credits await its payment has granted none.',
    query: sql`
      select p.environment_id, p.id, p.subscription_id, c.id as usage_credit_id
        from billing_periods p
        join usage_credits c on c.environment_id = p.environment_id and c.source = 'billing_period_transition'
         and split_part(c.source_id, ':', 1) = p.id
       where p.credits_await_payment`,
  },
  {
    name: 'paidPeriodsGrantTheirCredits',
    sentence: 'While a subscription is active, only a billing period that is owed keeps its credits waiting.',
    query: sql`
      select p.environment_id, p.id, p.subscription_id
        from billing_periods p
        join subscriptions s on s.environment_id = p.environment_id and s.id = p.subscription_id
       where p.credits_await_payment and p.status <> 'canceled' and s.status = 'active'
         and not exists (
           select from invoices i
            where i.environment_id = p.environment_id and i.billing_period_id = p.id
              and i.status in ('open', 'awaiting_payment_confirmation'))`,
  },
  {
    name: 'subscriptionsDoNotOverlap',
    sentence:
      'A customer has one paid and one free subscription at a time, unless several are allowed, and the next one starts when the one before it has ended.',
    query: sql`
      with lasting as (
        select environment_id, customer_id, is_free_plan, id,
               case when status in (${current}) and current_billing_period_start = current_billing_period_end then start_date
                    else 0 end as start_at, coalesce(cancel_scheduled_at, 9000000000000000) as end_at
          from subscriptions
         where exclusive and (status in (${current}, 'paused') or (status = 'incomplete' and current_billing_period_start is not null)))
      select s.environment_id, s.id, other.id as other_id, s.start_at, s.end_at, other.start_at as other_start_at
        from lasting s
        join lasting other on other.environment_id = s.environment_id and other.customer_id = s.customer_id
         and other.is_free_plan = s.is_free_plan and other.id > s.id
       where s.start_at < other.end_at and other.start_at < s.end_at`,
  },
  {
    name: 'scheduledChangeIsTold',
    sentence: 'A subscription has the date of its scheduled plan change if and only if there is one.',
    query: sql`
      select s.environment_id, s.id, s.scheduled_adjustment_at, a.effective_at
        from subscriptions s
        left join subscription_adjustments a on a.environment_id = s.environment_id and a.subscription_id = s.id and a.status = 'scheduled'
       where s.scheduled_adjustment_at is distinct from a.effective_at`,
  },
  {
    name: 'changeWaitsForOwedMoney',
    sentence:
      'A plan change that awaits payment has an unpaid invoice, or a bill; it has a bill if and only if one payment is in progress before its invoice.',
    query: sql`
      select a.environment_id, a.id, a.invoice_id, i.status, paying.under_way
        from subscription_adjustments a
        left join invoices i on i.environment_id = a.environment_id and i.id = a.invoice_id
       cross join lateral (
         select count(*) as under_way
           from payments y
          where y.environment_id = a.environment_id and y.adjustment_id = a.id and y.invoice_id is null
            and y.status in ('processing', 'requires_confirmation', 'requires_action')) paying
       where (a.status = 'awaiting_payment' and a.bill is null and (i.id is null or i.status not in ('open', 'awaiting_payment_confirmation')))
          or paying.under_way <> case when a.bill is null then 0 else 1 end`,
  },
  {
    name: 'intervalChangeBeginsItsPeriod',
    sentence:
      'An applied change to another interval or billing anchor begins a billing period, which ends at that anchor at the latest. Its invoice belongs to that period.',
    query: sql`
      select a.environment_id, a.id, a.subscription_id, a.effective_at, i.billing_period_id as invoice_billing_period_id
        from subscription_adjustments a
        left join invoices i on i.environment_id = a.environment_id and i.id = a.invoice_id
       where (a.billing_anchor is not null or a.billing_cycle_anchor_date is not null) and a.status = 'applied'
         and not exists (
           select from billing_periods p
            where p.environment_id = a.environment_id and p.subscription_id = a.subscription_id
              and p.start_at = a.effective_at and (i.id is null or p.id = i.billing_period_id)
              and (a.billing_cycle_anchor_date is null
                   or (coalesce(p.whole_end_at, p.end_at) <= a.billing_cycle_anchor_date
                       and (p.status in ('completed', 'canceled') or p.end_at = a.billing_cycle_anchor_date))))`,
  },
  {
    name: 'carriedDiscountIsOfItsInterval',
    sentence:
      'A billing period carries on the discount of an interval that an earlier period of its subscription began.',
    query: sql`
      select p.environment_id, p.id, p.subscription_id, p.discount_start_at, p.discount_end_at
        from billing_periods p
       where p.discount_start_at is not null
         and not exists (
           select from billing_periods earlier
            where earlier.environment_id = p.environment_id and earlier.subscription_id = p.subscription_id
              and earlier.start_at <= p.start_at and earlier.id <> p.id
              and p.discount_start_at = coalesce(earlier.discount_start_at, least(earlier.whole_start_at, earlier.start_at))
              and p.discount_end_at = coalesce(earlier.discount_end_at, earlier.whole_end_at, earlier.end_at))`,
  },
  {
    name: 'itemVersionsDoNotOverlap',
    sentence: 'Versions of a subscription item do not overlap, and the current one starts when the last one ended.',
    query: sql`
      select v.environment_id, v.id, v.subscription_item_id, v.start_at, v.end_at, v.next_start_at
        from (select v.*, coalesce(lead(v.start_at) over item, i.effective_from) as next_start_at
                from subscription_item_versions v
                join subscription_items i on i.environment_id = v.environment_id and i.id = v.subscription_item_id
              window item as (partition by v.environment_id, v.subscription_item_id order by v.start_at, v.end_at, v.id)) v
       where v.end_at > v.next_start_at`,
  },
  {
    name: 'overridesFitTheirPrice',
    sentence:
      'Own terms are for the price of a subscription or of usage, and count the events of usage as the price itself does.',
    query: sql`
      select o.environment_id, o.id, o.price_id, p.type, o.pricing
        from subscription_price_overrides o
        join prices p on p.environment_id = o.environment_id and p.id = o.price_id
       where p.type = 'single_payment'
          or (p.type = 'usage' and (coalesce(o.pricing ->> 'model' = 'dynamic', false), coalesce(o.pricing ? 'fixedAmountPerEvent', false))
               <> (coalesce(p.pricing ->> 'model' = 'dynamic', false), coalesce(p.pricing ? 'fixedAmountPerEvent', false)))`,
  },
  {
    name: 'archivedCustomerHasNothing',
    sentence: 'An archived customer has no running subscription.',
    query: sql`
      select c.environment_id, c.id, s.id as subscription_id, s.status
        from customers c join subscriptions s on s.environment_id = c.environment_id and s.customer_id = c.id
       where c.archived and s.status not in (${terminal})`,
  },
  {
    name: 'erasedCustomersLeaveNothing',
    sentence: 'A completed erasure has left no personal data in records, events, usage events and the audit log.',
    query: sql`select * from personal_data_left()`,
  },
  {
    name: 'paymentMethodsAreApart',
    sentence: 'A payment method reference of a processor belongs to one payment method of a customer.',
    query: sql`
      select environment_id, customer_id, processor, processor_token, count(*) as payment_methods
        from payment_methods where processor <> 'test' and detached_at is null
       group by environment_id, customer_id, processor, processor_token having count(*) > 1`,
  },
];
