import { type RawBuilder, sql } from 'kysely';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { calendarEnd } from '../kernel/calendar.ts';
import { idPrefixes } from '../kernel/id.ts';
import { currentStatuses } from '../subscriptions/subscription.ts';
import { endsByItself } from '../usage/store-balances.ts';
import type { Invariant } from './store-invariants.ts';
import { stepOf } from './store-invariants-money.ts';

// Due work is done within a minute; after an outage, or with a slow processor, within a few. After this time nothing is
// working on it.
const graceMs = 15 * 60_000;
const incompleteLifetimeMs = 23 * 60 * 60_000;
// Expired rows are deleted in batches of ten thousand every ten minutes, so a busy day may take a while.
const forgettingGraceMs = 6 * 60 * 60_000;

const realNow = sql<number>`(extract(epoch from now()) * 1000)::bigint`;
const late = sql<number>`(${realNow} - ${sql.lit(graceMs)})`;

/**
 * The limit for overdue work by the time of its environment; never if the test clock was moved recently. With a frozen
 * clock, everything due was done on the way.
 */
const environments = sql`
  (select e.id as environment_id,
          case when e.clock_now is null then ${late}
               when coalesce(e.clock_moved_at, e.updated_at) < ${late} then e.clock_now - 1 end as late_at
     from environments e)`;

const renewing = sql.join(currentStatuses.map((status) => sql.lit(status)));

/** Rows `r` of a table that are overdue. */
function overdue(table: string, column: string, where: RawBuilder<unknown>): RawBuilder<Record<string, unknown>> {
  return sql`
    select r.environment_id, r.id, r.status, r.${sql.ref(column)} as due_at, n.late_at
      from ${sql.table(table)} r join ${environments} n on n.environment_id = r.environment_id
     where r.${sql.ref(column)} <= n.late_at and ${where}`;
}

/** True for records `r` whose ids are this old in real time. */
function isOlder(prefix: string): RawBuilder<boolean> {
  return sql<boolean>`r.id < ${sql.lit(`${prefix}_`)} || id_time(${late})`;
}

/** True if the queue has a job of this task whose payload names the record `r`. */
function hasJob(task: string): RawBuilder<boolean> {
  return sql<boolean>`has_job(${sql.lit(task)}, r.id)`;
}

/** Due work is done in time. */
export const dueInvariants: readonly Invariant[] = [
  {
    name: 'renewalsAreMade',
    sentence: 'A subscription is renewed within 15 minutes of the end of its period.',
    query: overdue(
      'subscriptions',
      'current_billing_period_end',
      sql`r.renews and r.status in (${renewing}) and r.current_billing_period_end < ${sql.lit(calendarEnd)}
          and (r.cancel_scheduled_at is null or r.cancel_scheduled_at > r.current_billing_period_end)`,
    ),
  },
  {
    name: 'interimsAreDone',
    sentence: 'Usage whose own interval ends within a billing period is billed within 15 minutes of that.',
    query: overdue(
      'subscriptions',
      'interim_at',
      sql`r.status in (${renewing}) and (r.cancel_scheduled_at is null or r.cancel_scheduled_at > r.interim_at)`,
    ),
  },
  {
    name: 'scheduledCancelsLieAhead',
    sentence: 'A scheduled cancellation is carried out within 15 minutes of its date.',
    query: overdue('subscriptions', 'cancel_scheduled_at', sql`r.status = 'cancellation_scheduled'`),
  },
  {
    name: 'pausesEnd',
    sentence: 'A paused subscription resumes within 15 minutes of its resume date.',
    query: overdue('subscriptions', 'resumes_at', sql`r.status = 'paused'`),
  },
  {
    name: 'incompleteSubscriptionsExpire',
    sentence: 'An incomplete subscription expires after 23 hours, at most 15 minutes late.',
    query: sql`
      select r.environment_id, r.id, r.status, r.created_at, n.late_at
        from subscriptions r join ${environments} n on n.environment_id = r.environment_id
       where r.status = 'incomplete' and r.current_billing_period_start is null
         and r.created_at + ${sql.lit(incompleteLifetimeMs)} <= n.late_at`,
  },
  {
    name: 'trialsEnd',
    sentence: 'A trial has an end date and ends within 15 minutes of it.',
    query: sql`
      select r.environment_id, r.id, r.status, r.trial_end, n.late_at
        from subscriptions r join ${environments} n on n.environment_id = r.environment_id
       where r.status = 'trialing' and (r.trial_end is null or r.trial_end <= n.late_at)`,
  },
  {
    name: 'scheduledChangesAreMade',
    sentence: 'A scheduled plan change is applied within 15 minutes of its date.',
    query: overdue('subscription_adjustments', 'effective_at', sql`r.status = 'scheduled'`),
  },
  {
    name: 'invoicesAreTriedAgain',
    sentence: 'Payment of an invoice is retried within 15 minutes of the scheduled date.',
    query: overdue('invoices', 'next_attempt_at', sql`(r.subscription_id is not null or r.reason = 'renewal')`),
  },
  {
    name: 'draftsAreFinalized',
    sentence: 'The draft of a renewal is finalized within 15 minutes of the end of its review.',
    query: overdue('invoices', 'finalizes_at', sql`true`),
  },
  {
    name: 'noticesAreTold',
    sentence:
      'An event of an overdue invoice, of a trial that will end or of a card that expires is published within 15 minutes of its date.',
    query: sql`
      select r.environment_id, r.id, r.due_at, n.late_at
        from (select environment_id, id, greatest(notice_at, created_at) as due_at from invoices i
               where status = 'open' and notice_at is not null and (next_attempt_at is null or next_attempt_at > notice_at) and not exists (
                 select from payments p where p.environment_id = i.environment_id and p.invoice_id = i.id
                    and p.status in ('processing', 'requires_confirmation', 'requires_action'))
              union all
              select environment_id, id, greatest(notice_at, created_at) from subscriptions where status = 'trialing' and notice_at is not null
              union all
              select environment_id, id, greatest(notice_at, created_at) from payment_methods where detached_at is null and notice_at is not null) r
        join ${environments} n on n.environment_id = r.environment_id
       where r.due_at <= n.late_at`,
  },
  {
    name: 'endedCreditsAreBooked',
    sentence: 'The end of a credit that was bought, granted by hand or rolled over is booked within 15 minutes.',
    query: sql`
      select c.environment_id, c.id, c.ledger_account_id, c.expires_at as due_at, n.late_at
        from usage_credits c join ${environments} n on n.environment_id = c.environment_id
       where ${endsByItself} and c.expires_at <= n.late_at`,
  },
  {
    name: 'topUpChecksAreMade',
    sentence: 'A balance that may be below the line of its automatic top-up is looked at within 15 minutes.',
    query: sql`
      select t.environment_id, t.customer_id as id, t.due_at, n.late_at
        from auto_top_up_checks t join ${environments} n on n.environment_id = t.environment_id
       where t.due_at <= n.late_at`,
  },
  {
    name: 'thresholdChecksAreMade',
    sentence: 'Usage that may have come to a billing threshold is looked at within 15 minutes.',
    query: sql`
      select r.environment_id, r.subscription_id, r.due_at, n.late_at
        from usage_threshold_checks r join ${environments} n on n.environment_id = r.environment_id
       where r.due_at <= n.late_at`,
  },
  {
    name: 'usageAtThresholdIsInvoiced',
    // Tests prove it for usage of other periods, which is released or has an interval of its own, and for own prices.
    sentence:
      'Unbilled usage of a subscription that may be invoiced is worth less than its billing threshold, unless it is about to be looked at.',
    query: sql`
      select s.environment_id, s.id, s.threshold, unbilled.amount
        from (select s.*, coalesce(s.billing_threshold_amount, e.billing_threshold_amount, 0) as threshold
                from subscriptions s join environments e on e.id = s.environment_id) s
        join prices plan on plan.environment_id = s.environment_id and plan.id = s.price_id and plan.overage = 'bill'
       cross join lateral (
         select sum(case when p.pricing is null then round(o.units * p.unit_price / p.usage_events_per_unit / step.of) * step.of
                         else price_of_units(p.pricing, coalesce(c.units, 0) + o.units, step.of, coalesce(c.events, 0) + o.events,
                                             coalesce(c.own_amount, 0) + o.own_amount) - coalesce(c.amount, 0) end) as amount
           from ledger_accounts a
           join lateral (
             select o.ledger_account_id, o.price_id, o.uncovered - o.invoiced as units, o.events - o.invoiced_events as events,
                    o.own_amount - o.invoiced_own_amount as own_amount
               from usage_overages o where o.environment_id = a.environment_id and o.ledger_account_id = a.id) o
             on o.units > 0 or o.events > 0
           join prices p on p.environment_id = a.environment_id and p.id = o.price_id
          cross join lateral (select ${stepOf(sql`p.currency`)} as of) step
           left join usage_charges c on c.environment_id = a.environment_id and c.ledger_account_id = o.ledger_account_id
            and c.price_id = o.price_id and c.period_start = s.current_billing_period_start
          where a.environment_id = s.environment_id and a.subscription_id = s.id and not (p.has_own_interval and p.pricing is not null)) unbilled
       where s.threshold > 0 and unbilled.amount >= s.threshold
         and s.status in ('active', 'cancellation_scheduled') and s.arrears = 'none' and not s.do_not_charge
         and not exists (select from usage_threshold_checks t where t.environment_id = s.environment_id and t.subscription_id = s.id)
         and not exists (select from invoices i where i.environment_id = s.environment_id and i.subscription_id = s.id and i.is_open_threshold)
         and not exists (select from billing_periods b where b.environment_id = s.environment_id and b.subscription_id = s.id
                           and b.start_at = s.current_billing_period_start and b.trial_period)
         and not exists (select from subscription_price_overrides o where o.environment_id = s.environment_id and o.subscription_id = s.id)
         and not exists (select from ledger_accounts a join usage_charges c on c.environment_id = a.environment_id
                           and c.ledger_account_id = a.id and (c.released > 0 or c.released_events > 0)
                          where a.environment_id = s.environment_id and a.subscription_id = s.id)`,
  },
  {
    name: 'earlyDeclinesAreCollected',
    // The retry date is unset while a payment or a change that replaces the invoice is in progress.
    sentence:
      'An open invoice that a payment on request failed to pay before its due date has a date on which it is collected.',
    query: sql`
      select i.environment_id, i.id, i.subscription_id, i.reason, i.due_date
        from invoices i
        join subscriptions s on s.environment_id = i.environment_id and s.id = i.subscription_id
       where i.status = 'open' and i.attempt_count = 0 and i.next_attempt_at is null
         and (i.reason in ('subscription_start', 'renewal', 'usage', 'usage_threshold') or i.reason = 'adjustment' and i.due_date > i.invoice_date)
         and s.status in (${renewing}) and s.arrears <> 'unpaid'
         and exists (
           select from payments p
            where p.environment_id = i.environment_id and p.invoice_id = i.id and p.on_request and p.status = 'failed')
         and not exists (
           select from payments p
            where p.environment_id = i.environment_id and p.invoice_id = i.id
              and p.status not in ('succeeded', 'refunded', 'failed', 'canceled'))
         and not exists (
           select from subscription_adjustments a
            where a.environment_id = i.environment_id and a.replaced_invoice_id = i.id and a.status = 'awaiting_payment')`,
  },
  {
    name: 'paymentsAreAskedAbout',
    sentence: 'The status of a pending payment is requested within 15 minutes of the scheduled date.',
    query: overdue('payments', 'check_at', sql`true`),
  },
  {
    name: 'chargesAreSent',
    sentence: 'A charge is sent to its processor within 15 minutes, or a job exists that sends it.',
    query: sql`
      select r.environment_id, r.id, r.status, r.created_at from payments r
       where r.status = 'processing' and r.processor_reference is null and ${isOlder(idPrefixes.payment)}
         and not ${hasJob('charge_payments')}`,
  },
  {
    name: 'refundsAreSent',
    sentence: 'A refund is sent to its processor within 15 minutes, or a job exists that sends it.',
    query: sql`
      select r.environment_id, r.id, r.status, r.created_at from refunds r
       where r.status = 'pending' and ${isOlder(idPrefixes.refund)} and not ${hasJob('refund_payment')}`,
  },
  {
    name: 'clockMovesEnd',
    sentence: 'A moving test clock arrives within 15 minutes, or a job exists that moves it.',
    query: sql`
      select e.id as environment_id, e.clock_now, e.clock_target, e.clock_moved_at from environments e
       where e.clock_target is not null and coalesce(e.clock_moved_at, e.updated_at) < ${late}
         and not has_job_with_key('move_clock:' || e.id)`,
  },
  {
    name: 'webhooksAreSent',
    // A slow or failing endpoint may have a long queue; it shrinks, or the endpoint is deactivated.
    sentence: 'No active webhook has deliveries that have been due for 15 minutes without any attempt.',
    query: sql`
      select w.environment_id, w.id, d.due, d.first_due_at, d.last_attempt_at
        from webhooks w
        join lateral (
          select count(*) as due, min(r.next_attempt_at) as first_due_at,
                 (select max(a.last_attempt_at) from webhook_deliveries a
                   where a.environment_id = w.environment_id and a.webhook_id = w.id) as last_attempt_at
            from webhook_deliveries r
           where r.environment_id = w.environment_id and r.webhook_id = w.id and r.status = 'pending'
             and r.next_attempt_at <= ${late}) d on d.due > 0
       where w.active and coalesce(d.last_attempt_at, 0) <= ${late}`,
  },
  {
    name: 'jobsAreRun',
    sentence: 'A job runs within 15 minutes of its scheduled time and succeeds before its attempts run out.',
    query: sql`
      select j.payload ->> 'environmentId' as environment_id, j.id, t.identifier as task, j.attempts, j.max_attempts,
             j.run_at, j.locked_at, j.last_error
        from _private_jobs j join _private_tasks t on t.id = j.task_id
       where j.attempts >= j.max_attempts and j.locked_at is null
          or j.attempts < j.max_attempts and j.locked_at is null and j.run_at < now() - ${sql.lit(`${graceMs} milliseconds`)}::interval
          -- Who works on a job is alive while somebody holds the lock of its name.
          or j.locked_at < now() - ${sql.lit(`${graceMs} milliseconds`)}::interval
             and not exists (select from pg_locks l
                              where l.locktype = 'advisory' and l.database = (select oid from pg_database where datname = current_database())
                                and l.objsubid = 2 and l.classid = ${sql.lit(advisoryLocks.workers)} and l.objid = (hashtext(j.locked_by)::bigint & 4294967295)::oid)`,
  },
  {
    name: 'answersAreForgotten',
    sentence: 'A response is stored for its Idempotency-Key for a day and not much longer.',
    query: sql`
      select environment_id, key, created_at from idempotency_keys
       where created_at <= ${realNow} - ${sql.lit(24 * 60 * 60_000 + forgettingGraceMs)}`,
  },
  {
    name: 'processorMessagesAreForgotten',
    sentence: 'A processed message of a payment processor is stored for 31 days and not much longer.',
    query: sql`
      select environment_id, processor, id, received_at from processor_events
       where received_at <= ${realNow} - ${sql.lit(31 * 24 * 60 * 60_000 + forgettingGraceMs)}`,
  },
  {
    name: 'attemptsAreForgotten',
    sentence: 'A webhook delivery attempt is stored for 30 days and not much longer.',
    query: sql`
      select environment_id, delivery_id, number, started_at from webhook_attempts
       where started_at <= ${realNow} - ${sql.lit(30 * 24 * 60 * 60_000 + forgettingGraceMs)}`,
  },
];
