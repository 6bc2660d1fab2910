import { sql } from 'kysely';
import type { Invariant } from './store-invariants.ts';

/** Usage, the ledger that it is booked in, and the credits that pay for it. */
export const usageInvariants: readonly Invariant[] = [
  {
    name: 'ledgerSidesAreSumsOfEntries',
    sentence: 'Each side of a ledger account is the sum of the entries that moved onto or off it.',
    query: sql`
      select a.environment_id, a.id, a.granted, a.used, a.expired, a.settled, e.granted as entries_granted,
             e.used as entries_used, e.expired as entries_expired, e.settled as entries_settled
        from ledger_accounts a
        left join (select environment_id, ledger_account_id,
                          sum(amount) filter (where debit_side = 'granted') as granted,
                          sum(amount) filter (where credit_side = 'used') as used,
                          sum(amount) filter (where credit_side = 'expired') as expired,
                          sum(case 'settled' when debit_side then amount when credit_side then -amount end) as settled
                     from ledger_entries group by environment_id, ledger_account_id) e
          on e.environment_id = a.environment_id and e.ledger_account_id = a.id
       where a.granted <> coalesce(e.granted, 0) or a.used <> coalesce(e.used, 0)
          or a.expired <> coalesce(e.expired, 0) or a.settled <> coalesce(e.settled, 0)`,
  },
  {
    name: 'ledgerSidesLeaveAvailable',
    sentence: 'What is available on a ledger account is granted + settled - used - expired.',
    query: sql`
      select environment_id, id, available, granted, settled, used, expired
        from ledger_accounts where available is distinct from granted + settled - used - expired`,
  },
  {
    name: 'ledgerSidesAreSumsOfCredits',
    sentence: 'What was granted, covered and expired on a ledger account is what its credits issued, applied and lost.',
    query: sql`
      select a.environment_id, a.id, a.granted, a.covered, a.expired, c.issued, c.applied, c.expired as credits_expired
        from ledger_accounts a
        left join (select environment_id, ledger_account_id, sum(issued) as issued, sum(applied) as applied, sum(expired) as expired
                     from usage_credits group by environment_id, ledger_account_id) c
          on c.environment_id = a.environment_id and c.ledger_account_id = a.id
       where a.granted <> coalesce(c.issued, 0) or a.covered <> coalesce(c.applied, 0) or a.expired <> coalesce(c.expired, 0)`,
  },
  {
    name: 'creditsAreNotOverApplied',
    sentence: 'A credit is applied and expires within what it issued.',
    query: sql`
      select environment_id, id, ledger_account_id, issued, applied, expired
        from usage_credits where applied < 0 or expired < 0 or applied + expired > issued`,
  },
  {
    name: 'creditsAreAppliedAsBooked',
    sentence: 'What a credit has applied is the sum of its applications.',
    query: sql`
      select c.environment_id, c.id, c.applied, a.amount as applications
        from usage_credits c
        left join (select environment_id, usage_credit_id, sum(amount) as amount
                     from usage_credit_applications group by environment_id, usage_credit_id) a
          on a.environment_id = c.environment_id and a.usage_credit_id = c.id
       where c.applied <> coalesce(a.amount, 0)`,
  },
  {
    name: 'creditsPayTheirOwnAccount',
    sentence: 'A credit is applied to usage of its own ledger account.',
    query: sql`
      select a.environment_id, a.usage_credit_id, a.ledger_entry_id, c.ledger_account_id, e.ledger_account_id as entry_account_id, e.credit_side
        from usage_credit_applications a
        join usage_credits c on c.environment_id = a.environment_id and c.id = a.usage_credit_id
        join ledger_entries e on e.environment_id = a.environment_id and e.id = a.ledger_entry_id
       where c.ledger_account_id <> e.ledger_account_id or e.credit_side <> 'used'`,
  },
  {
    name: 'usageIsNotOverCovered',
    sentence: 'Credits are applied to an entry of usage up to its amount.',
    query: sql`
      select e.environment_id, e.id, e.amount, a.amount as applications
        from ledger_entries e
        join (select environment_id, ledger_entry_id, sum(amount) as amount
                from usage_credit_applications group by environment_id, ledger_entry_id) a
          on a.environment_id = e.environment_id and a.ledger_entry_id = e.id
       where a.amount > e.amount`,
  },
  {
    name: 'usageIsCoveredOrWaitsForBilling',
    sentence: 'Usage of an account at a price is what credits covered and what is or was to be billed.',
    query: sql`
      select coalesce(u.environment_id, o.environment_id) as environment_id,
             coalesce(u.ledger_account_id, o.ledger_account_id) as ledger_account_id,
             coalesce(u.price_id, o.price_id) as price_id, u.used, u.covered, o.uncovered
        from (select e.environment_id, e.ledger_account_id, e.price_id, sum(e.amount) as used, sum(coalesce(a.amount, 0)) as covered
                from ledger_entries e
                left join (select environment_id, ledger_entry_id, sum(amount) as amount
                             from usage_credit_applications group by environment_id, ledger_entry_id) a
                  on a.environment_id = e.environment_id and a.ledger_entry_id = e.id
               where e.credit_side = 'used' group by e.environment_id, e.ledger_account_id, e.price_id) u
        full join usage_overages o
          on o.environment_id = u.environment_id and o.ledger_account_id = u.ledger_account_id and o.price_id = u.price_id
       where coalesce(u.used - u.covered, 0) <> coalesce(o.uncovered, 0)`,
  },
  {
    name: 'usageIsNotBilledTwice',
    sentence: 'The lines of invoices bill no more usage of an account at a price than no credit covered.',
    query: sql`
      select l.environment_id, l.ledger_account_id, l.price_id, l.billed, o.invoiced, o.uncovered
        from (select line.environment_id, line.ledger_account_id, line.price_id, sum(line.ledger_account_credit) as billed
                from invoice_line_items line
                join invoices i on i.environment_id = line.environment_id and i.id = line.invoice_id and i.status <> 'void'
               where line.type = 'usage'
                 -- While the invoice of a change is to take an unpaid one's place, both stand with the same usage.
                 and not exists (
                   select from subscription_adjustments a
                     join invoices taking on taking.environment_id = a.environment_id and taking.id = a.invoice_id
                    where a.environment_id = i.environment_id and a.replaced_invoice_id = i.id
                      and taking.status in ('open', 'awaiting_payment_confirmation'))
               group by line.environment_id, line.ledger_account_id, line.price_id) l
        left join usage_overages o
          on o.environment_id = l.environment_id and o.ledger_account_id = l.ledger_account_id and o.price_id = l.price_id
       where l.billed > coalesce(o.invoiced, 0) or o.invoiced > o.uncovered`,
  },
  {
    name: 'settledUsageWasBilled',
    sentence: 'Paid invoices settle no more usage of an account than was billed.',
    query: sql`
      select a.environment_id, a.id, a.settled, o.invoiced
        from ledger_accounts a
        left join (select environment_id, ledger_account_id, sum(invoiced) as invoiced
                     from usage_overages group by environment_id, ledger_account_id) o
          on o.environment_id = a.environment_id and o.ledger_account_id = a.id
       where a.settled > coalesce(o.invoiced, 0)`,
  },
  {
    name: 'usageEventsPointAtRecords',
    // No foreign key says so: a trigger looks when events are added, and nobody looks later.
    sentence:
      'A usage event points at a subscription of its customer, a price of its meter, and a period of its subscription.',
    query: sql`
      select e.environment_id, e.id, e.customer_id, e.subscription_id, e.usage_meter_id, e.price_id, e.billing_period_id
        from usage_events e
        left join subscriptions s on s.environment_id = e.environment_id and s.id = e.subscription_id and s.customer_id = e.customer_id
        left join prices p on p.environment_id = e.environment_id and p.id = e.price_id and p.usage_meter_id = e.usage_meter_id
        left join billing_periods b
          on b.environment_id = e.environment_id and b.id = e.billing_period_id and b.subscription_id = e.subscription_id
       where s.id is null or p.id is null or b.id is distinct from e.billing_period_id`,
  },
  {
    name: 'transactionCountsOnce',
    sentence: 'A transaction is one usage event of a usage meter.',
    query: sql`
      select environment_id, usage_meter_id, transaction_id, count(*) as usage_events
        from usage_events group by environment_id, usage_meter_id, transaction_id having count(*) > 1`,
  },
  {
    name: 'usageIsSumOfEvents',
    // A meter may count differently from one day to the next, so events that repeat properties are only bounded.
    sentence:
      'Usage is the sum of the usage events; where some repeat properties it is between the sum of the first ones and of all.',
    query: sql`
      select coalesce(a.environment_id, e.environment_id) as environment_id,
             coalesce(a.subscription_id, e.subscription_id) as subscription_id,
             coalesce(a.usage_meter_id, e.usage_meter_id) as usage_meter_id, a.used, e.amount as events_amount, e.first_amount
        from ledger_accounts a
        full join (
          select e.environment_id, e.subscription_id, e.usage_meter_id, sum(e.amount) as amount,
                 case when count(d.usage_event_id) = 0 then sum(e.amount)
                      else sum(e.amount) filter (where d.usage_event_id is not null) end as first_amount
            from usage_events e
            left join usage_event_distinct_properties d on d.environment_id = e.environment_id and d.usage_event_id = e.id
           group by e.environment_id, e.subscription_id, e.usage_meter_id) e
          on e.environment_id = a.environment_id and e.subscription_id = a.subscription_id and e.usage_meter_id = a.usage_meter_id
       where coalesce(a.used, 0) not between coalesce(e.first_amount, 0) and coalesce(e.amount, 0)`,
  },
];
