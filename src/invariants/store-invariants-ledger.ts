import { sql } from 'kysely';
import { heldUsageLines } from '../subscriptions/store-adjustments.ts';
import { holdParts } from '../usage/store-balances.ts';
import { belongsToCustomer, creditStart, offered, takenByHandBefore } from '../usage/store-credits.ts';
import type { Invariant } from './store-invariants.ts';
import {
  applicationsSince,
  appliedOfCredits,
  entriesOfCredits,
  entriesSince,
  lastOfAccounts,
  sidesOfAccounts,
  usageOfPrices,
} from './store-invariants-sums.ts';

/** The usage lines `line` of invoices that stand, and of those that changes of plan make when their money comes. */
export const standingUsageLines = sql`(
  select line.environment_id, line.ledger_account_id, line.price_id, line.ledger_account_credit, line.amount, line.explanation
    from invoice_line_items line
    join invoices i on i.environment_id = line.environment_id and i.id = line.invoice_id and i.status <> 'void'
   where line.type = 'usage'
     -- While the invoice of a change is to take an unpaid one's place, both stand with the same usage.
     and not exists (
       select from subscription_adjustments a
         join invoices taking on taking.environment_id = a.environment_id and taking.id = a.invoice_id
        where a.environment_id = i.environment_id and a.replaced_invoice_id = i.id
          and taking.status in ('open', 'awaiting_payment_confirmation'))
  union all
  select environment_id, ledger_account_id, price_id, units, amount, explanation from ${heldUsageLines}) line`;

/** The ledger of usage, the credits that cover it, and the holds that reserve balances. */
export const ledgerInvariants: readonly Invariant[] = [
  {
    name: 'ledgerEntriesPointAtRecords',
    // There is no foreign key: a trigger checks new entries only.
    sentence:
      'A ledger entry references an existing transaction and account, and a price, a billing period and a credit of that account.',
    // Many entries share few accounts, prices and periods: each combination is looked up once.
    query: (since) => sql`
      select e.environment_id, e.id, e.ledger_transaction_id, e.ledger_account_id, e.price_id, e.billing_period_id, e.usage_credit_id
        from ${entriesSince(since)} e
       where not exists (select from ledger_transactions t where t.environment_id = e.environment_id and t.id = e.ledger_transaction_id)
      union all
      select e.environment_id, e.id, null, e.ledger_account_id, e.price_id, e.billing_period_id, e.usage_credit_id
        from (select environment_id, ledger_account_id, price_id, billing_period_id, usage_credit_id, min(id) as id
                from ${entriesSince(since)} named group by 1, 2, 3, 4, 5) e
        left join ledger_accounts a on a.environment_id = e.environment_id and a.id = e.ledger_account_id
        left join prices p on p.environment_id = e.environment_id and p.id = e.price_id and p.usage_meter_id = a.usage_meter_id
        left join billing_periods b
          on b.environment_id = e.environment_id and b.id = e.billing_period_id
         and (b.subscription_id = a.subscription_id
              or a.customer_id = (select s.customer_id from subscriptions s
                                   where s.environment_id = b.environment_id and s.id = b.subscription_id))
        left join usage_credits c on c.environment_id = e.environment_id and c.id = e.usage_credit_id and c.ledger_account_id = a.id
       where a.id is null or p.id is distinct from e.price_id
          or b.id is distinct from e.billing_period_id or c.id is distinct from e.usage_credit_id`,
  },
  {
    name: 'ledgerSidesAreSumsOfEntries',
    sentence: 'Each side of a ledger account is the sum of the entries that moved onto or off it.',
    query: (since) => sql`
      select a.environment_id, a.id, a.granted, a.used, a.expired, a.taken_back, a.settled, a.pooled, e.granted as entries_granted,
             e.used as entries_used, e.expired as entries_expired, e.taken_back as entries_taken_back, e.settled as entries_settled,
             e.pooled as entries_pooled
        from ledger_accounts a
        left join (select environment_id, ledger_account_id, sum(granted) as granted, sum(used) as used, sum(expired) as expired,
                          sum(taken_back) as taken_back, sum(settled) as settled, sum(pooled) as pooled
                     from (${sidesOfAccounts(since)}) sides group by environment_id, ledger_account_id) e
          on e.environment_id = a.environment_id and e.ledger_account_id = a.id
       where a.granted <> coalesce(e.granted, 0) or a.used <> coalesce(e.used, 0)
          or a.expired <> coalesce(e.expired, 0) or a.taken_back <> coalesce(e.taken_back, 0)
          or a.settled <> coalesce(e.settled, 0) or a.pooled <> coalesce(e.pooled, 0)`,
  },
  {
    name: 'ledgerSidesLeaveAvailable',
    sentence: 'The available amount of a ledger account is granted + settled + pooled - used - expired - taken back.',
    query: sql`
      select environment_id, id, available, granted, settled, pooled, used, expired, taken_back
        from ledger_accounts where available is distinct from granted + settled + pooled - used - expired - taken_back`,
  },
  {
    name: 'accountsKnowTheirSubscription',
    sentence: 'A ledger account stores the current revision of its subscription.',
    query: sql`
      select a.environment_id, a.id, a.subscription_revision, s.revision
        from ledger_accounts a
        join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
       where a.subscription_revision <> s.revision`,
  },
  {
    name: 'entriesKnowWhatIsAvailable',
    sentence: 'An entry stores the available amount after it: the sum of all bookings on its account up to it.',
    query: (since) => sql`
      select environment_id, id, ledger_account_id, available_after, booked
        from (select e.environment_id, e.id, e.ledger_account_id, e.available_after,
                     coalesce(l.available, 0)
                       + sum(case 'available' when e.credit_side then e.amount when e.debit_side then -e.amount else 0 end) over account as booked
                from ${entriesSince(since)} e
                left join (${lastOfAccounts(since)}) l
                  on l.environment_id = e.environment_id and l.ledger_account_id = e.ledger_account_id
              window account as (partition by e.environment_id, e.ledger_account_id order by e.created_at, e.sequence
                                 rows unbounded preceding)) entry
       where available_after <> booked`,
  },
  {
    name: 'entriesAreInOrderOfTime',
    sentence: 'Entries of an account are booked in order of time.',
    query: (since) => sql`
      select environment_id, id, ledger_account_id, sequence, created_at, previous_created_at
        from (select e.environment_id, e.id, e.ledger_account_id, e.sequence, e.created_at,
                     coalesce(lag(e.created_at) over (partition by e.environment_id, e.ledger_account_id order by e.sequence),
                              l.last_created_at) as previous_created_at
                from ${entriesSince(since)} e
                left join (${lastOfAccounts(since)}) l
                  on l.environment_id = e.environment_id and l.ledger_account_id = e.ledger_account_id) entry
       where created_at < previous_created_at`,
  },
  {
    name: 'ledgerSidesAreSumsOfCredits',
    sentence:
      'The granted, applied, expired and taken back amounts of a ledger account equal the sums over its credits.',
    query: sql`
      select a.environment_id, a.id, a.granted, a.applied, a.expired, a.taken_back, c.issued, c.applied as credits_applied,
             c.expired as credits_expired, c.taken_back as credits_taken_back
        from ledger_accounts a
        left join (select environment_id, ledger_account_id, sum(issued) as issued, sum(applied) as applied,
                          sum(expired) as expired, sum(taken_back) as taken_back
                     from usage_credits group by environment_id, ledger_account_id) c
          on c.environment_id = a.environment_id and c.ledger_account_id = a.id
       where a.granted <> coalesce(c.issued, 0) or a.applied <> coalesce(c.applied, 0)
          or a.expired <> coalesce(c.expired, 0) or a.taken_back <> coalesce(c.taken_back, 0)`,
  },
  {
    name: 'creditsAreNotOverApplied',
    sentence: 'The applied, expired and taken back amounts of a credit do not exceed its issued amount.',
    query: sql`
      select environment_id, id, ledger_account_id, issued, applied, expired, taken_back
        from usage_credits
       where applied < 0 or expired < 0 or taken_back < 0 or applied + expired + taken_back > issued`,
  },
  {
    name: 'transferredCreditsAreWhole',
    sentence:
      'Transferred credits have the customer, meter, expiry and priority of the credit that they come from, and are what was moved off it. Those that roll over end later.',
    query: sql`
      with moved as (
        select e.environment_id, e.usage_credit_id as id, sum(e.amount) as amount
          from ledger_transactions t
          join ledger_entries e on e.environment_id = t.environment_id and e.ledger_transaction_id = t.id
         where t.type = 'credit_transferred' group by e.environment_id, e.usage_credit_id
      ), transferred as (
        select n.environment_id, n.transferred_from as id, sum(n.issued) as amount,
               bool_and(na.usage_meter_id = ca.usage_meter_id
                        and coalesce(ns.customer_id, na.customer_id) = coalesce(cs.customer_id, ca.customer_id)
                        and (n.expires_at is not distinct from c.expires_at
                             or n.ledger_account_id = c.ledger_account_id and n.expires_at > c.expires_at)
                        and n.priority = c.priority) as is_kept
          from usage_credits n
          join ledger_accounts na on na.environment_id = n.environment_id and na.id = n.ledger_account_id
          left join subscriptions ns on ns.environment_id = na.environment_id and ns.id = na.subscription_id
          join usage_credits c on c.environment_id = n.environment_id and c.id = n.transferred_from
          join ledger_accounts ca on ca.environment_id = c.environment_id and ca.id = c.ledger_account_id
          left join subscriptions cs on cs.environment_id = ca.environment_id and cs.id = ca.subscription_id
         where n.transferred_from is not null group by n.environment_id, n.transferred_from
      )
      select environment_id, id, moved.amount as moved, transferred.amount as transferred, is_kept
        from moved full join transferred using (environment_id, id)
       where moved.amount is distinct from transferred.amount or not is_kept`,
  },
  {
    name: 'boughtCreditsAddUp',
    sentence:
      'The credits that a customer bought or was granted by hand are the usable, applied, expired and taken back ones over all accounts.',
    query: sql`
      with moved as (
        select e.environment_id, e.usage_credit_id, sum(e.amount) as amount
          from ledger_transactions t
          join ledger_entries e on e.environment_id = t.environment_id and e.ledger_transaction_id = t.id
         where t.type = 'credit_transferred' group by e.environment_id, e.usage_credit_id
      ), owned as (
        select c.environment_id, coalesce(s.customer_id, a.customer_id) as customer_id, a.usage_meter_id,
               sum(c.issued) filter (where c.transferred_from is null) as given,
               sum(c.issued - coalesce(moved.amount, 0)) as kept
          from usage_credits c
          join ledger_accounts a on a.environment_id = c.environment_id and a.id = c.ledger_account_id
          left join subscriptions s on s.environment_id = a.environment_id and s.id = a.subscription_id
          left join moved on moved.environment_id = c.environment_id and moved.usage_credit_id = c.id
         where ${belongsToCustomer}
         group by 1, 2, 3
      )
      select environment_id, customer_id as id, usage_meter_id, given, kept from owned where given is distinct from kept`,
  },
  {
    name: 'customersKeepTheirCredits',
    sentence:
      'Credits that were bought or granted by hand do not wait on a customer or an ended subscription while the customer has another one.',
    query: sql`
      select c.environment_id, c.id, s.subscription_id, s.customer_id
        from (select a.environment_id, a.id as ledger_account_id, a.subscription_id, ended.customer_id
                from subscriptions ended
                join ledger_accounts a on a.environment_id = ended.environment_id and a.subscription_id = ended.id
               where ended.status in ('canceled', 'incomplete_expired')
              union all
              select environment_id, id, null, customer_id from ledger_accounts
               where customer_id is not null and not starts_with(usage_meter_id, 'credit_pool_')) s
        join environments e on e.id = s.environment_id
        join usage_credits c on c.environment_id = s.environment_id and c.ledger_account_id = s.ledger_account_id
       where not c.spent
         and ${belongsToCustomer}
         and (c.expires_at is null or c.expires_at > coalesce(e.clock_now, (extract(epoch from now()) * 1000)::bigint))
         and exists (select from subscriptions o
                      where o.environment_id = s.environment_id and o.customer_id = s.customer_id
                        and (o.status = 'paused'
                             or (o.status in ('trialing', 'active', 'past_due', 'unpaid', 'cancellation_scheduled')
                                 and (o.current_billing_period_start is null or o.current_billing_period_start <> o.current_billing_period_end))))`,
  },
  {
    name: 'waitingCreditsAreUnused',
    sentence: 'The account of a customer on a usage meter has only credits that belong to the customer, and no usage.',
    query: sql`
      select a.environment_id, a.id, a.customer_id, a.used, c.id as usage_credit_id
        from ledger_accounts a
        left join usage_credits c
          on c.environment_id = a.environment_id and c.ledger_account_id = a.id and (not ${belongsToCustomer} or c.applied > 0)
       where a.customer_id is not null and not starts_with(a.usage_meter_id, 'credit_pool_') and (a.used > 0 or a.held > 0 or a.settled > 0 or c.id is not null)`,
  },
  {
    name: 'creditsAreDrawnFromWithinTheirRest',
    sentence:
      'The pending amount of a ledger account comes from one of its own credits and is less than its remainder.',
    query: sql`
      select a.environment_id, a.id, a.pending_credit_id, a.covered - a.applied as pending, a.pending_limit, c.ledger_account_id,
             c.issued - c.applied - c.expired - c.taken_back as rest
        from ledger_accounts a
        left join usage_credits c on c.environment_id = a.environment_id and c.id = a.pending_credit_id
       where a.covered > a.applied
         and (c.ledger_account_id is distinct from a.id or a.pending_limit <> c.issued - c.applied - c.expired - c.taken_back
              or a.covered - a.applied >= a.pending_limit)`,
  },
  {
    name: 'accountsKnowWhenCreditsEnd',
    sentence: 'The next expiry stored on a ledger account is no later than the expiry of any unspent credit.',
    query: sql`
      select c.environment_id, c.id, c.expires_at, a.id as ledger_account_id, a.credits_end_at
        from usage_credits c
        join ledger_accounts a on a.environment_id = c.environment_id and a.id = c.ledger_account_id
       where not c.spent and c.expires_at < coalesce(a.credits_end_at, c.expires_at + 1)`,
  },
  {
    name: 'creditsAreSumsOfEntries',
    sentence: 'The issued, expired and taken back amounts of a credit equal the sums of its entries.',
    query: (since) => sql`
      select c.environment_id, c.id, c.issued, c.expired, c.taken_back, e.granted as entries_granted,
             e.expired as entries_expired, e.taken_back as entries_taken_back
        from usage_credits c
        left join (select environment_id, usage_credit_id, sum(granted) as granted, sum(expired) as expired,
                          sum(taken_back) as taken_back
                     from (${entriesOfCredits(since)}) sides group by environment_id, usage_credit_id) e
          on e.environment_id = c.environment_id and e.usage_credit_id = c.id
       where c.issued <> coalesce(e.granted, 0) or c.expired <> coalesce(e.expired, 0)
          or c.taken_back <> coalesce(e.taken_back, 0)`,
  },
  {
    name: 'creditsTakenByHandAreBooked',
    sentence: 'The units of a credit that the seller took back by hand are those of its entries that say so.',
    query: sql`
      with booked as (
        select e.environment_id, e.usage_credit_id as id, sum(e.amount) as amount
          from ledger_transactions t
          join ledger_entries e on e.environment_id = t.environment_id and e.ledger_transaction_id = t.id
         where t.type = 'credit_taken_back_by_hand' group by e.environment_id, e.usage_credit_id
      )
      select environment_id, id, c.taken_by_hand, booked.amount as booked
        from usage_credits c full join booked using (environment_id, id)
       where coalesce(c.taken_by_hand, 0) <> coalesce(booked.amount, 0)`,
  },
  {
    name: 'pausedCreditsArePaidBack',
    sentence:
      'Credits of paused time were taken back or are owed. New credits of the plan pay back no more, and no less.',
    query: sql`
      select c.environment_id, c.id, c.paused_back, c.paused_owed, c.withheld, c.issued
        from usage_credits c
        join billing_periods p on p.environment_id = c.environment_id and p.id = c.billing_period_id
       where p.whole_end_at is not null and c.expires_at = p.whole_end_at and c.granted_at <= p.end_at
         and c.source in ('billing_period_transition', 'manual_adjustment') and not ${belongsToCustomer}
         and ${creditStart} < c.expires_at
         and (c.paused_by_hand > c.taken_by_hand + ${takenByHandBefore()}
              or c.paused_back + c.paused_owed + c.paused_by_hand
                 <> round(${offered} * (c.expires_at - p.end_at) / (c.expires_at - ${creditStart})))
         -- After a pause of no time the period went on, and the credits that came back are those of its rest.
         and not exists (
           select from usage_credits again
            where again.environment_id = c.environment_id and again.source = 'billing_period_transition'
              and again.source_id = c.id || ':resumed' and again.billing_period_id = c.billing_period_id)
      union all
      select a.environment_id, a.id, null, a.owed, a.withheld, null
        from (select environment_id, ledger_account_id as id, sum(paused_owed) as owed, sum(withheld) as withheld
                from usage_credits where paused_owed > 0 or withheld > 0 group by environment_id, ledger_account_id, subscription_id) a
       where a.withheld > a.owed
      union all
      select c.environment_id, c.id, null, owing.owed, c.withheld, c.issued
        from (select o.environment_id, o.ledger_account_id, o.subscription_id, max(p.end_at) as paused_at,
                     sum(greatest(o.paused_owed - o.expired, 0) - o.withheld) as owed
                from usage_credits o
                left join billing_periods p on p.environment_id = o.environment_id and p.id = o.billing_period_id
                     and o.paused_owed > 0
               where o.paused_owed > 0 or o.withheld > 0
               group by o.environment_id, o.ledger_account_id, o.subscription_id) owing
        join usage_credits c on c.environment_id = owing.environment_id and c.ledger_account_id = owing.ledger_account_id
         and c.subscription_id is not distinct from owing.subscription_id
         and c.source = 'billing_period_transition' and c.expires_at is not null and c.granted_at > owing.paused_at
       where owing.owed > 0 and c.withheld < c.issued`,
  },
  {
    name: 'creditsAreAppliedAsBooked',
    sentence: 'The applied and pending amounts of a credit add up to its applications.',
    query: (since) => sql`
      select c.environment_id, c.id, c.applied, d.covered - d.applied as pending, a.applied as applications
        from usage_credits c
        left join ledger_accounts d on d.environment_id = c.environment_id and d.pending_credit_id = c.id
        left join (select environment_id, usage_credit_id, sum(applied) as applied
                     from (${appliedOfCredits(since)}) sums group by environment_id, usage_credit_id) a
          on a.environment_id = c.environment_id and a.usage_credit_id = c.id
       where c.applied + coalesce(d.covered - d.applied, 0) <> coalesce(a.applied, 0)`,
  },
  {
    name: 'creditsPayTheirOwnAccount',
    sentence: 'A credit is applied to usage of its own ledger account.',
    query: (since) => sql`
      select a.environment_id, a.usage_credit_id, a.ledger_entry_id, c.ledger_account_id, a.ledger_account_id as entry_account_id, a.credit_side
        from ${applicationsSince(since)} a
        left join usage_credits c on c.environment_id = a.environment_id and c.id = a.usage_credit_id
       where c.id is null or c.ledger_account_id <> a.ledger_account_id or a.credit_side <> 'used'`,
  },
  {
    name: 'usageIsNotOverCovered',
    sentence: 'Credits applied to a usage entry do not exceed its amount.',
    query: (since) => sql`
      select e.environment_id, e.id, e.amount, a.amount as applications
        from ${entriesSince(since)} e
        join (select environment_id, ledger_entry_id, sum(amount) as amount
                from ${applicationsSince(since)} applied group by environment_id, ledger_entry_id) a
          on a.environment_id = e.environment_id and a.ledger_entry_id = e.id
       where a.amount > e.amount`,
  },
  {
    name: 'usageIsCoveredOrWaitsForBilling',
    sentence: 'Usage of an account at a price equals the part covered by credits plus the overage.',
    query: (since) => sql`
      select coalesce(u.environment_id, o.environment_id) as environment_id,
             coalesce(u.ledger_account_id, o.ledger_account_id) as ledger_account_id,
             coalesce(u.price_id, o.price_id) as price_id, u.used, u.covered, o.uncovered
        from (select environment_id, ledger_account_id, price_id, sum(used) as used, sum(covered) as covered
                from (${usageOfPrices(since)}) sums group by environment_id, ledger_account_id, price_id) u
        full join usage_overages o
          on o.environment_id = u.environment_id and o.ledger_account_id = u.ledger_account_id and o.price_id = u.price_id
       where coalesce(u.used - u.covered, 0) <> coalesce(o.uncovered, 0)`,
  },
  {
    name: 'usageIsNotBilledTwice',
    sentence: 'Invoice lines bill no more usage of an account at a price than credits left uncovered.',
    query: sql`
      select l.environment_id, l.ledger_account_id, l.price_id, l.billed, o.invoiced, o.uncovered
        from (select line.environment_id, line.ledger_account_id, line.price_id, sum(line.ledger_account_credit) as billed
                from ${standingUsageLines}
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
    name: 'heldIsSumOfOpenHolds',
    sentence: 'The held amount of a ledger account is the sum of its open holds.',
    query: sql`
      select a.environment_id, a.id, a.held, h.amount as holds
        from ledger_accounts a
        left join (select environment_id, ledger_account_id, sum(amount) as amount
                     from ${holdParts} parts where status = 'open' group by environment_id, ledger_account_id) h
          on h.environment_id = a.environment_id and h.ledger_account_id = a.id
       where a.held <> coalesce(h.amount, 0)`,
  },
  {
    name: 'holdsNameTheirMeter',
    sentence: 'The price of a hold belongs to the usage meter of its ledger account.',
    query: sql`
      select h.environment_id, h.id, h.price_id, p.usage_meter_id, a.usage_meter_id as account_meter_id
        from usage_holds h
        left join ledger_accounts a on a.environment_id = h.environment_id and a.id = h.ledger_account_id
        left join prices p on p.environment_id = h.environment_id and p.id = h.price_id
       where a.usage_meter_id is null or p.usage_meter_id is distinct from a.usage_meter_id`,
  },
];
