import type { Corruption } from './corruptions-money.ts';
import { idOfAnHourAgo } from './healthy-records.ts';

const now = '(extract(epoch from now()) * 1000)::bigint';
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The clock of test mode was moved an hour ago, to where it stands. */
const movedLongAgo = `update environments set clock_moved_at = ${now} - ${hourMs} where not livemode`;
const clock = '(select clock_now from environments where not livemode)';

const job = (column: string, value: string) => `
  with task as (insert into _private_tasks (identifier) values ('a_task') returning id)
  insert into _private_jobs (task_id, ${column}) select id, ${value} from task`;

/** Of what is due, and nobody does. */
export const dueCorruptions: readonly Corruption[] = [
  {
    fault: 'the clock has passed the end of a period, and nobody renewed it',
    statements: [movedLongAgo, 'update environments set clock_now = clock_now + 2700000000 where not livemode'],
    breaks: ['renewalsAreMade'],
  },
  {
    fault: 'an interim has passed, and nobody did what was due',
    statements: [
      movedLongAgo,
      `update subscriptions set interim_at = ${clock} - 1 where status = 'active' and renews and current_billing_period_start < ${clock} - 1`,
    ],
    breaks: ['interimIsTheNextBoundary', 'interimsAreDone'],
  },
  {
    fault: 'the end of a subscription was scheduled for yesterday',
    statements: [
      movedLongAgo,
      `update subscriptions set status = 'cancellation_scheduled', cancel_scheduled_at = ${clock} - 60000 where status = 'active'`,
    ],
    breaks: ['scheduledCancelsLieAhead'],
  },
  {
    fault: 'a pause is over, and goes on',
    statements: [
      movedLongAgo,
      `update subscriptions set status = 'paused', paused_at = start_date, resumes_at = ${clock} - 1 where status = 'active'`,
    ],
    breaks: ['pausesEnd', 'recurringRevenueFollowsState'],
  },
  {
    fault: 'a card expires, and nobody was told when that came due',
    statements: [
      movedLongAgo,
      `insert into payment_methods (environment_id, id, pricing_model_id, customer_id, type, is_default, billing_details,
              payment_method_data, processor, processor_token, notice_at, created_at, updated_at)
       select environment_id, 'pm_' || repeat('1', 21), pricing_model_id, id, 'card', false, '{}', '{}', 'stripe', 'pm_1', ${clock} - 1, 0, 0
         from customers`,
    ],
    breaks: ['noticesAreTold'],
  },
  {
    fault: 'a credit that was granted by hand has ended, and nobody booked it',
    statements: [
      movedLongAgo,
      `update usage_credits set source = 'manual_adjustment', expires_at = ${clock} - 1 where not spent and expires_at is not null`,
      `update ledger_accounts a set credits_end_at = ${clock} - 1
        where exists (select from usage_credits c where c.ledger_account_id = a.id and c.expires_at = ${clock} - 1)`,
    ],
    breaks: ['endedCreditsAreBooked'],
  },
  {
    fault: 'a balance was to be looked at for its automatic top-up, and nobody did',
    statements: [
      movedLongAgo,
      `insert into auto_top_up_checks (environment_id, customer_id, due_at)
       select environment_id, id, ${clock} - 1 from customers limit 1`,
    ],
    breaks: ['topUpChecksAreMade'],
  },
  {
    fault: 'a subscription has waited two days for its first payment',
    statements: [
      movedLongAgo,
      `update subscriptions set status = 'incomplete', current_billing_period_start = null, current_billing_period_end = null,
              created_at = created_at - ${2 * dayMs} where status = 'active'`,
    ],
    breaks: ['incompleteSubscriptionsExpire', 'recurringRevenueFollowsState'],
  },
  {
    fault: 'a trial has ended, and its subscription is in it',
    statements: [
      movedLongAgo,
      `update billing_periods set trial_period = true where status = 'active'`,
      `update subscriptions set status = 'trialing', trial_end = ${clock} - 1, notice_at = 9000000000000 where status = 'active'`,
    ],
    breaks: ['trialIsATrialPeriod', 'periodsEndOnTheirAnchor', 'trialsEnd', 'recurringRevenueFollowsState'],
  },
  {
    fault: 'the date of a change has passed',
    statements: [
      movedLongAgo,
      `update subscription_adjustments set status = 'scheduled'`,
      'update subscriptions s set scheduled_adjustment_at = a.effective_at from subscription_adjustments a where a.subscription_id = s.id',
    ],
    breaks: ['scheduledChangesAreMade'],
  },
  {
    fault: 'nobody tried an invoice again',
    statements: [
      movedLongAgo,
      'alter table invoices drop constraint invoices_attempted_while_open',
      `update invoices set next_attempt_at = ${clock} - 1 where total = 0`,
    ],
    breaks: ['invoicesAreTriedAgain'],
  },
  {
    fault: 'nobody finalized a draft',
    statements: [
      movedLongAgo,
      'alter table invoices drop constraint invoices_draft_ends',
      `update invoices set finalizes_at = ${clock} - 1 where total = 0`,
    ],
    breaks: ['draftsAreFinalized'],
  },
  {
    fault: 'a declined payment on request has ended the collection of its invoice',
    statements: [
      `update payments set on_request = true where status = 'failed'`,
      `update invoices set status = 'open', attempt_count = 0, next_attempt_at = null, reason = 'renewal'
        where id = (select invoice_id from payments where status = 'failed')`,
    ],
    breaks: [
      'invoiceIsPaidWhenNothingIsDue',
      'redemptionCountsPaidInvoices',
      'purchaseTellsItsInvoice',
      'earlyDeclinesAreCollected',
    ],
  },
  {
    fault: 'nobody asked how a charge stands',
    statements: [
      movedLongAgo,
      'alter table payments drop constraint payments_checked_while_under_way',
      `update payments set check_at = ${clock} - 1 where status = 'failed'`,
    ],
    breaks: ['paymentsAreAskedAbout'],
  },
  {
    fault: 'a charge was lost on its way to the processor',
    statements: [
      `insert into payments select (jsonb_populate_record(p, jsonb_build_object(
         'id', '${idOfAnHourAgo('payment')}', 'status', 'processing', 'processor_reference', null,
         'invoice_id', (select id from invoices where total = 0), 'billing_period_id', null))).*
         from payments p where status = 'failed'`,
    ],
    breaks: ['invoiceIsNotChargedTwice', 'chargesAreSent'],
  },
  {
    fault: 'a refund was lost on its way to the processor',
    statements: [`update refunds set id = '${idOfAnHourAgo('refund')}' where status = 'pending'`],
    breaks: ['refundsAreTold', 'refundsAreSent'],
  },
  {
    fault: 'a test clock was left on its way',
    statements: [movedLongAgo, 'update environments set clock_target = clock_now + 1 where not livemode'],
    breaks: ['clockMovesEnd'],
  },
  {
    fault: 'nobody looks at usage that may have come to a threshold',
    statements: [
      movedLongAgo,
      `insert into usage_threshold_checks select environment_id, id, 1 from subscriptions where status = 'active'`,
    ],
    breaks: ['thresholdChecksAreMade'],
  },
  {
    fault: 'usage has come to a threshold, and nobody is to look at it',
    statements: [
      `update prices set unit_price = 1000000 where type = 'usage' and pricing is null`,
      `update subscriptions set billing_threshold_amount = 1 where status = 'active'`,
      'update usage_overages set invoiced = 0',
    ],
    breaks: ['usageIsNotBilledTwice', 'settledUsageWasBilled', 'usageAtThresholdIsInvoiced'],
  },
  {
    fault: 'an endpoint is sent nothing',
    statements: [
      `update webhook_deliveries set status = 'pending', next_attempt_at = ${now} - ${hourMs}, last_attempt_at = ${now} - ${hourMs}`,
    ],
    breaks: ['webhooksAreSent'],
  },
  ...[
    ['a job waits, and nobody takes it', job('run_at', "now() - interval '1 hour'")],
    ['a job has failed for good', job('attempts, max_attempts', '3, 3')],
    ['a dead worker keeps a job', job('locked_at, locked_by', "now() - interval '1 hour', 'worker-gone'")],
  ].map(([fault = '', statement = '']) => ({ fault, statements: [statement], breaks: ['jobsAreRun'] })),
  {
    fault: 'an answer is kept for two days',
    statements: [`update idempotency_keys set created_at = ${now} - ${2 * dayMs}`],
    breaks: ['answersAreForgotten'],
  },
  {
    fault: 'a message of a processor is remembered for half a year',
    statements: [`update processor_events set received_at = ${now} - ${180 * dayMs}`],
    breaks: ['processorMessagesAreForgotten'],
  },
  {
    fault: 'the attempts of a delivery are remembered for half a year',
    statements: [`update webhook_attempts set started_at = ${now} - ${180 * dayMs}`],
    breaks: ['attemptsAreForgotten'],
  },
  {
    fault: 'a subscription is dearer, and its recurring revenue is not',
    statements: ['update subscription_items set quantity = quantity + 1 where price_id is not null'],
    breaks: ['recurringRevenueFollowsState'],
  },
  {
    fault: 'a movement of recurring revenue is lost',
    statements: ['delete from mrr_movements where position = 1'],
    breaks: ['movementsAddUp', 'movementsFitTheirType', 'retentionAddsUp'],
  },
  {
    fault: 'a first movement is a return',
    statements: [`update mrr_movements set type = 'reactivation' where position = 1`],
    breaks: ['movementsFitTheirType'],
  },
  {
    fault: 'a movement was made before the one before it',
    statements: ['update mrr_movements set occurred_at = occurred_at + 1 where position = 1'],
    breaks: ['movementsFitTheirType'],
  },
  {
    fault: 'a balance of recurring revenue leaves out a movement',
    statements: [
      `insert into mrr_balances
       select environment_id, 9000000000000000, pricing_model_id, currency, price_id, type, sum(amount) - 1, sum(customers)
         from mrr_movements group by 1, 3, 4, 5, 6`,
    ],
    breaks: ['recurringBalancesAddUp'],
  },
  {
    fault: 'the revenue of a cohort leaves out a movement',
    statements: ['update mrr_retention set amount = amount - 1 where cohort_at is not null'],
    breaks: ['retentionAddsUp'],
  },
  {
    fault: 'money of a day came for another reason',
    statements: [
      `insert into money_days (environment_id, pricing_model_id, kind, day, currency, reason, processor, payment_method, count, amount, tax)
       select d.environment_id, d.pricing_model_id, 'succeeded', d.day, d.currency, moved.reason, 'test', 'card', moved.sign, moved.sign * 100, 0
         from (select * from money_days where kind = 'invoiced' limit 1) d
        cross join (values ('renewal', -1), ('one_off', 1)) moved (reason, sign)`,
    ],
    breaks: ['moneyOfDaysAddsUp'],
  },
  {
    fault: 'the sum of a day leaves out an invoice',
    statements: [`update money_days set count = count - 1 where kind = 'invoiced'`],
    breaks: ['moneyOfDaysAddsUp'],
  },
  {
    fault: 'the usage of an hour is of another hour',
    statements: ['update usage_hours set hour = hour + 3600000'],
    breaks: ['usageOfHoursAddsUp'],
  },
  {
    fault: 'the usage of a month lacks a unit',
    statements: ['update usage_months set units = units - 1'],
    breaks: ['usageOfMonthsAddsUp'],
  },
  {
    fault: 'a roll-up is summed that no month has',
    statements: [
      'update usage_rollups set summed_units = units, summed_events = events, is_summed = true where units = 60',
    ],
    breaks: ['usageOfMonthsAddsUp'],
  },
];
