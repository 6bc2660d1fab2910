import { type RawBuilder, sql } from 'kysely';
import { listAmountOf } from '../invoicing/store-collecting.ts';
import { paidUses } from '../invoicing/store-redemptions.ts';
import type { Invariant } from './store-invariants.ts';
import { standingUsageLines } from './store-invariants-ledger.ts';
import { isWhole } from './store-invariants-records.ts';
import { incompleteSeries } from './store-series.ts';

/** Invoices, and the payments and refunds that settle them. */
export const moneyInvariants: readonly Invariant[] = [
  {
    name: 'numberSeriesHaveNoGap',
    sentence:
      'The invoices and credit notes of a series are numbered from 1 without gaps up to the last number taken, and each belongs to a series.',
    query: sql`
      select * from (${incompleteSeries}) broken
       -- The documents of a series of the environment move with their customers, and all cells together are checked for it.
       where (select is_home and slots_version = 0 from cell)
          or exists (select from customers c where c.environment_id = broken.environment_id and strpos(broken.id, c.invoice_number_base) > 0)`,
  },
  {
    name: 'draftsMoveNoMoney',
    sentence:
      'An invoice has its number from the end of its draft on. Before, it has no payment and no balance pays for it.',
    query: sql`
      select i.environment_id, i.id, i.status, i.invoice_number, i.amount_paid, i.balance_applied, i.credited_amount
        from invoices i
       where i.invoice_number is null and i.status not in ('draft', 'void') and i.consolidated_into is null
          or i.invoice_number is not null and i.status = 'draft'
          or i.invoice_number is null and i.consolidated_into is null
             and (i.amount_paid <> 0 or i.balance_applied <> 0 or i.credited_amount <> 0
                  or exists (select from payments p where p.environment_id = i.environment_id and p.invoice_id = i.id)
                  or exists (select from customer_balance_entries e where e.environment_id = i.environment_id and e.invoice_id = i.id))`,
  },
  {
    name: 'draftsOfRenewalsWait',
    sentence:
      'The draft of a subscription is the one invoice of its present period, which goes on, and has a time at which it is finalized.',
    query: sql`
      select i.environment_id, i.id, i.subscription_id, i.reason, s.status, i.finalizes_at
        from invoices i
        join subscriptions s on s.environment_id = i.environment_id and s.id = i.subscription_id
       where i.status = 'draft'
         and (i.reason <> 'renewal' or i.finalizes_at is null or s.status in ('canceled', 'incomplete_expired', 'paused')
              or i.billing_period_start_date is distinct from s.current_billing_period_start)`,
  },
  {
    name: 'itemsAreOnTheirInvoice',
    sentence:
      'An invoice item that is invoiced is one line of its invoice, at its price, and a line of an invoice that stands names the item whose invoice it is on.',
    query: sql`
      with line as materialized (
        select l.environment_id, l.id, l.invoice_id, l.amount, l.explanation ->> 'invoiceItemId' as item_id, i.status
          from invoice_line_items l
          join invoices i on i.environment_id = l.environment_id and i.id = l.invoice_id
         where l.explanation ? 'invoiceItemId' and i.status <> 'void'
      )
      select coalesce(t.environment_id, l.environment_id) as environment_id, coalesce(t.id, l.item_id) as id, t.invoice_id,
             t.quantity, t.price, l.id as line_id, l.invoice_id as line_invoice_id, l.amount
        from (select * from invoice_items where invoice_id is not null) t
        full join line l on l.environment_id = t.environment_id and l.item_id = t.id
       where t.invoice_id is distinct from l.invoice_id or t.price * t.quantity <> l.amount`,
  },
  {
    name: 'redemptionsHaveTheirRedeemer',
    sentence: 'A discount redemption is that of a subscription, of a purchase or of the one invoice that names it.',
    query: sql`
      select r.environment_id, r.id, r.subscription_id, r.purchase_id
        from discount_redemptions r
       where r.subscription_id is null and r.purchase_id is null
         and (select count(*) from invoices i
               join invoice_discounts o on o.environment_id = i.environment_id and o.invoice_id = i.id
               where i.environment_id = r.environment_id and i.customer_id = r.customer_id and o.discount_redemption_id = r.id) <> 1`,
  },
  {
    name: 'periodIsBilledOnce',
    sentence:
      'A billing period has at most one invoice for each reason, except adjustments, thresholds and void invoices.',
    query: sql`
      select environment_id, billing_period_id, reason, count(*) as invoices
        from invoices where billing_period_id is not null and reason not in ('adjustment', 'usage_threshold') and status <> 'void'
       group by environment_id, billing_period_id, reason having count(*) > 1`,
  },
  {
    name: 'unbilledOverageCostsNothing',
    // Usage from before a change of the plan had the terms of another price, and those are not stored.
    sentence: 'Usage of a subscription whose price does not bill overage costs nothing, unless its plan was changed.',
    query: sql`
      select l.environment_id, l.id, l.invoice_id, i.subscription_id, l.amount
        from invoice_line_items l
        join invoices i on i.environment_id = l.environment_id and i.id = l.invoice_id
        join subscriptions s on s.environment_id = i.environment_id and s.id = i.subscription_id
        join prices p on p.environment_id = s.environment_id and p.id = s.price_id
       where l.type = 'usage' and l.amount <> 0 and p.overage is distinct from 'bill'
         and not exists (
           select from subscription_adjustments a
            where a.environment_id = s.environment_id and a.subscription_id = s.id and a.status = 'applied')`,
  },
  {
    name: 'invoiceSubtotalIsSumOfLines',
    sentence: 'The subtotal of an invoice is the sum of its lines minus its discount and any included tax.',
    query: sql`
      select i.environment_id, i.id, i.subtotal, i.discount_amount, i.tax_inclusive, i.tax_amount, l.amount as lines_amount
        from invoices i
        left join (select environment_id, invoice_id, sum(amount) as amount
                     from invoice_line_items group by environment_id, invoice_id) l
          on l.environment_id = i.environment_id and l.invoice_id = i.id
       where i.subtotal <> coalesce(l.amount, 0) - i.discount_amount - case when i.tax_inclusive then i.tax_amount else 0 end
         and not ${isWhole}`,
  },
  {
    name: 'invoiceSharesAddUp',
    sentence:
      'The discount and tax shares of the lines add up to those of their invoice; no share is negative or exceeds its line.',
    query: sql`
      select i.environment_id, i.id, i.discount_amount, i.tax_amount, l.discount_shares, l.tax_shares, l.wrong_shares
        from invoices i
        left join (select environment_id, invoice_id, sum(discount_amount) as discount_shares, sum(tax_amount) as tax_shares,
                          count(*) filter (where tax_amount < 0 or discount_amount not between 0 and greatest(amount, 0)) as wrong_shares
                     from invoice_line_items group by environment_id, invoice_id) l
          on l.environment_id = i.environment_id and l.invoice_id = i.id
       where (i.discount_amount <> coalesce(l.discount_shares, 0) or i.tax_amount <> coalesce(l.tax_shares, 0)
              or l.wrong_shares > 0) and not ${isWhole}`,
  },
  {
    name: 'invoiceTotalIsSubtotalAndTax',
    sentence: 'The total of an invoice is its subtotal and its tax.',
    query: sql`
      select environment_id, id, subtotal, tax_amount, total from invoices where total <> subtotal + tax_amount`,
  },
  {
    name: 'invoiceMoneyStaysWithinTotal',
    sentence:
      'The amount paid of an invoice does not exceed its total, and the amount refunded does not exceed the amount paid.',
    query: sql`
      select environment_id, id, total, amount_paid, amount_refunded
        from invoices
       where amount_paid not between 0 and total or amount_refunded not between 0 and amount_paid`,
  },
  {
    name: 'invoiceIsPaidWhenNothingIsDue',
    // A void or uncollectible invoice keeps its status when a payment arrives; a draft requests none.
    sentence: 'An invoice is paid, with or without refunds, if and only if no part of its total is due.',
    query: sql`
      select environment_id, id, status, total, amount_paid, offset_amount, balance_applied
        from invoices
       where status not in ('draft', 'void', 'uncollectible') and consolidated_into is null
         and (status in ('paid', 'partially_refunded', 'refunded')) <> (amount_paid + offset_amount + balance_applied = total)`,
  },
  {
    name: 'invoiceStatusTellsRefund',
    sentence:
      'A paid invoice is refunded or partially refunded if and only if all or part of the payment was refunded.',
    query: sql`
      select environment_id, id, status, amount_paid, amount_refunded
        from invoices
       where status in ('paid', 'partially_refunded', 'refunded') and consolidated_into is null
         and status <> case when amount_refunded = 0 then 'paid'
                            when amount_refunded = amount_paid then 'refunded'
                            else 'partially_refunded' end`,
  },
  {
    name: 'invoiceIsPaidByItsPayments',
    sentence: 'The amounts paid and refunded of an invoice are the sums over its payments.',
    query: sql`
      select i.environment_id, i.id, i.amount_paid, i.amount_refunded, p.amount as payments_amount, p.refunded_amount as payments_refunded
        from invoices i
        left join (select environment_id, invoice_id, sum(amount) as amount, sum(refunded_amount) as refunded_amount
                     from payments where status in ('succeeded', 'refunded') group by environment_id, invoice_id) p
          on p.environment_id = i.environment_id and p.invoice_id = i.id
       where i.consolidated_into is null
         and (i.amount_paid <> coalesce(p.amount, 0) or i.amount_refunded <> coalesce(p.refunded_amount, 0))`,
  },
  {
    name: 'invoiceIsNotChargedTwice',
    sentence:
      'An invoice has at most one pending payment, which together with succeeded payments does not exceed its total.',
    query: sql`
      select i.environment_id, i.id, i.total, p.under_way, p.amount as payments_amount
        from invoices i
        join (select environment_id, invoice_id, sum(amount) as amount,
                     count(*) filter (where status in ('processing', 'requires_confirmation', 'requires_action')) as under_way
                from payments
               where status in ('processing', 'requires_confirmation', 'requires_action', 'succeeded', 'refunded')
               group by environment_id, invoice_id) p
          on p.environment_id = i.environment_id and p.invoice_id = i.id
       where p.under_way > 1 or p.amount > i.total`,
  },
  {
    name: 'redemptionCountsPaidInvoices',
    sentence:
      'A discount redemption counts the paid invoices with the discount for a start, a renewal (or its replacement), a purchase or an invoice of its own, those of one interval once.',
    query: sql`
      select environment_id, id, payments_made, uses
        from (select r.environment_id, r.id, r.payments_made,
                     case when r.subscription_id is not null then ${paidUses}
                          else (select count(*) from invoice_discounts o
                                  join invoices i on i.environment_id = o.environment_id and i.id = o.invoice_id
                                 where o.environment_id = r.environment_id and o.discount_redemption_id = r.id
                                   and i.status in ('paid', 'partially_refunded', 'refunded') and i.reason in ('purchase', 'one_off')) end as uses
                from discount_redemptions r) redemption
       where payments_made <> uses`,
  },
  {
    name: 'keptValueWasReallyPaid',
    sentence: 'A paused period keeps at most what was paid and not refunded of its invoices.',
    query: sql`
      select p.environment_id, p.id, p.kept_value, paid.amount as paid
        from billing_periods p
        left join lateral (
          select sum(case when i.status in ('open', 'awaiting_payment_confirmation') then i.total - i.offset_amount else i.amount_paid + i.balance_applied end
                     - i.amount_refunded + lines.paused_time) as amount
            from invoices i
           cross join lateral (
             select coalesce(-sum(l.amount) filter (where l.explanation ->> 'kind' = 'paused_time'), 0) as paused_time
               from invoice_line_items l where l.environment_id = i.environment_id and l.invoice_id = i.id) lines
           where i.environment_id = p.environment_id and i.subscription_id = p.subscription_id and i.billing_period_id = p.id
             and i.status <> 'void') paid on true
       where p.kept_value > 0 and p.kept_value > coalesce(paid.amount, 0) - p.paused_time_refunded`,
  },
  {
    name: 'pausedCreditWasKept',
    sentence: 'A subscription keeps no more for paused time than its paused periods do, and nothing once it has ended.',
    query: sql`
      select s.environment_id, s.id, s.status, s.paused_credit, kept.amount as kept
        from subscriptions s
        left join lateral (select sum(p.kept_value) as amount from billing_periods p
                            where p.environment_id = s.environment_id and p.subscription_id = s.id) kept on true
       where s.paused_credit > 0
         and (s.status in ('canceled', 'incomplete_expired') or s.paused_credit > coalesce(kept.amount, 0))`,
  },
  {
    name: 'purchaseTellsItsInvoice',
    // A void or written-off invoice proves nothing: the payment may have come with another one.
    sentence:
      'A purchase is paid, partially refunded or refunded if and only if its invoice is; the invoice of a single payment names its purchase.',
    query: sql`
      select p.environment_id, p.id, p.status, p.price_type, i.id as invoice_id, i.status as invoice_status, i.purchase_id
        from purchases p join invoices i on i.environment_id = p.environment_id and i.id = p.invoice_id
       where (i.status not in ('void', 'uncollectible') and p.status is distinct from 'fraudulent'
              and coalesce(case p.status when 'paid' then 'paid' when 'partial_refund' then 'partially_refunded'
                                         when 'refunded' then 'refunded' end, 'owed')
                  <> case when i.status in ('paid', 'partially_refunded', 'refunded') then i.status else 'owed' end)
          or (p.price_type = 'single_payment' and i.purchase_id is distinct from p.id)
          or (p.price_type = 'subscription' and i.subscription_id is distinct from p.subscription_id)`,
  },
  {
    name: 'purchaseAwaitsOnePayment',
    sentence:
      'A purchase without an invoice is pending if and only if one payment of it is in progress, in the amount of its first invoice.',
    query: sql`
      select p.environment_id, p.id, p.status, p.first_invoice_value, paying.under_way, paying.amount
        from purchases p
       cross join lateral (
         select count(*) as under_way, sum(y.amount) as amount
           from payments y
          where y.environment_id = p.environment_id and y.purchase_id = p.id and y.invoice_id is null
            and y.status in ('processing', 'requires_confirmation', 'requires_action')) paying
       where p.invoice_id is null
         and (paying.under_way <> case when p.status = 'pending' then 1 else 0 end or paying.amount <> p.first_invoice_value)`,
  },
  {
    name: 'unpaidPurchasesRedeemNothing',
    sentence: 'A purchase that failed before it had an invoice has redeemed no discount.',
    query: sql`
      select r.environment_id, r.id, p.id as purchase_id, p.status
        from discount_redemptions r join purchases p on p.environment_id = r.environment_id and p.id = r.purchase_id
       where p.invoice_id is null and p.status <> 'pending'`,
  },
  {
    name: 'purchaseGivesItsCreditsOnce',
    sentence: 'Credits granted by a purchase belong to a paid purchase.',
    query: sql`
      select c.environment_id, c.id, c.source_id, p.id as purchase_id, p.purchase_date
        from usage_credits c
        left join purchases p on p.environment_id = c.environment_id and p.id = split_part(c.source_id, ':', 1)
       where c.source = 'purchase' and c.transferred_from is null and p.purchase_date is null`,
  },
  {
    name: 'paymentIsSubtotalAndTax',
    sentence: 'The amount of a payment is its subtotal and its tax.',
    query: sql`
      select environment_id, id, amount, subtotal, tax_amount from payments where amount <> subtotal + tax_amount`,
  },
  {
    name: 'paymentRefundsStayWithinAmount',
    sentence:
      'Refunds of a payment, pending ones included, do not exceed its amount; it is refunded if and only if all of it is.',
    query: sql`
      select environment_id, id, status, amount, refunded_amount, refunding_amount
        from payments
       where refunded_amount < 0 or refunding_amount < 0 or refunded_amount + refunding_amount > amount
          or (status = 'refunded') <> (refunded_amount = amount)`,
  },
  {
    name: 'paymentRefundsAreSumsOfRefunds',
    sentence: 'The refunded and refunding amounts of a payment are the sums of its succeeded and its pending refunds.',
    query: sql`
      select p.environment_id, p.id, p.refunded_amount, p.refunding_amount, r.succeeded, r.pending
        from payments p
        left join (select environment_id, payment_id, sum(amount) filter (where status = 'succeeded') as succeeded,
                          sum(amount) filter (where status = 'pending') as pending
                     from refunds group by environment_id, payment_id) r
          on r.environment_id = p.environment_id and r.payment_id = p.id
       where p.refunded_amount <> coalesce(r.succeeded, 0) or p.refunding_amount <> coalesce(r.pending, 0)`,
  },
  {
    name: 'setupFeeIsBilledOnce',
    sentence:
      'A subscription pays its setup fee at most once. After an invoice with it none is left to bill, unless the first payment is awaited.',
    query: sql`
      select s.environment_id, s.id, s.status, s.setup_fee, billed.times_paid
        from subscriptions s
        join (select i.environment_id, i.subscription_id,
                     count(*) filter (where i.status in ('paid', 'partially_refunded', 'refunded')) as times_paid
                from invoice_line_items l
                join invoices i on i.environment_id = l.environment_id and i.id = l.invoice_id
               where l.explanation ->> 'kind' = 'setup_fee' and i.status <> 'void'
               group by i.environment_id, i.subscription_id) billed
          on billed.environment_id = s.environment_id and billed.subscription_id = s.id
       where billed.times_paid > 1 or (s.setup_fee > 0 and s.status not in ('incomplete', 'canceled'))`,
  },
  {
    name: 'thresholdInvoicesBillUsage',
    sentence: 'An invoice at a billing threshold has lines of usage, and otherwise only paused time that it takes off.',
    query: sql`
      select i.environment_id, i.id, i.subscription_id, l.id as line_id
        from invoices i
        left join invoice_line_items l on l.environment_id = i.environment_id and l.invoice_id = i.id
       where i.reason = 'usage_threshold'
         and (l.id is null or (l.type = 'static' and l.explanation ->> 'kind' is distinct from 'paused_time'))`,
  },
  {
    name: 'commitmentsAddUp',
    // Multiplied out, because a division has a limited number of digits.
    sentence:
      'A line of a minimum commitment is the commitment for its share of the time, less plan and usage. A period has one.',
    query: sql`
      select l.environment_id, l.id, l.invoice_id, l.amount, l.explanation
        from (select l.*, row_number() over (partition by i.environment_id, i.subscription_id, l.explanation #>> '{period,start}'
                                             order by l.id) as place
                from invoice_line_items l
                join invoices i on i.environment_id = l.environment_id and i.id = l.invoice_id
               where l.explanation ->> 'kind' = 'minimum_commitment' and i.status <> 'void') l
        left join prices p on p.environment_id = l.environment_id and p.id = l.price_id
       cross join lateral (
         select (l.explanation ->> 'commitment')::numeric as commitment,
                (l.explanation #>> '{whole,end}')::numeric - (l.explanation #>> '{whole,start}')::numeric as whole,
                (select sum((s.value ->> 'value')::numeric * ((s.value ->> 'end')::numeric - (s.value ->> 'start')::numeric))
                   from jsonb_array_elements(l.explanation -> 'segments') s) as value_by_time) e
       where l.place > 1 or p.minimum_commitment is null or l.amount <= 0
          or l.amount <> e.commitment - (l.explanation ->> 'plan')::numeric - (l.explanation ->> 'usage')::numeric
          or abs(e.commitment * e.whole - e.value_by_time) * 2 > ${stepOf(sql`p.currency`)} * e.whole`,
  },
  {
    name: 'arrearsAddUp',
    // Multiplied out, because a division has a limited number of digits.
    sentence:
      'A line of a plan in arrears is the price of its segments for their share of the time. A period has one, and no line at its start.',
    query: sql`
      select l.environment_id, l.id, l.invoice_id, l.amount, l.explanation
        from (select l.*, l.explanation ->> 'kind' as kind,
                     row_number() over (partition by i.environment_id, i.subscription_id, l.explanation ->> 'kind',
                                                     l.explanation #>> '{period,start}' order by l.id) as place
                from invoice_line_items l
                join invoices i on i.environment_id = l.environment_id and i.id = l.invoice_id
               where l.explanation ->> 'kind' in ('arrears', 'item', 'priced_item') and i.status <> 'void') l
        left join prices p on p.environment_id = l.environment_id and p.id = l.price_id
       cross join lateral (
         select (l.explanation #>> '{whole,end}')::numeric - (l.explanation #>> '{whole,start}')::numeric as whole,
                (select sum((s.value ->> 'value')::numeric * ((s.value ->> 'end')::numeric - (s.value ->> 'start')::numeric))
                   from jsonb_array_elements(l.explanation -> 'segments') s) as value_by_time) e
       where case when l.kind = 'arrears'
                  then l.place > 1 or p.billing_timing is distinct from 'in_arrears' or l.amount <= 0
                       or abs(l.amount * e.whole - e.value_by_time) * 2 > ${stepOf(sql`p.currency`)} * e.whole
                  else p.billing_timing = 'in_arrears' end`,
  },
  {
    name: 'commitmentsAreReached',
    // Void lines count: the seller gave them up. Periods that a change, a pause or the end cut are proved by tests.
    sentence:
      'A whole period of one price that another period follows cost its minimum commitment, plan, usage and true-up together.',
    query: sql`
      select p.environment_id, p.id, p.subscription_id, price.minimum_commitment, billed.amount
        from prices price
        join subscription_items i on i.environment_id = price.environment_id and i.price_id = price.id and i.quantity > 0
        join subscriptions s on s.environment_id = i.environment_id and s.id = i.subscription_id and not s.do_not_charge
        join billing_periods p on p.environment_id = s.environment_id and p.subscription_id = s.id
         and p.start_at < p.end_at and p.status in ('completed', 'past_due') and not p.trial_period
         and p.whole_start_at is null and p.whole_end_at is null
         and i.effective_from <= p.start_at and (i.expired_at is null or i.expired_at >= p.end_at)
        join billing_periods next on next.environment_id = p.environment_id and next.subscription_id = p.subscription_id
         and next.start_at = p.end_at and next.status <> 'upcoming'
       cross join lateral (
         select coalesce(sum(${listAmountOf('l')}), 0) as amount
           from invoices v
           join invoice_line_items l on l.environment_id = v.environment_id and l.invoice_id = v.id
          where v.environment_id = p.environment_id and v.subscription_id = p.subscription_id
            -- A renewal that was reviewed has a later date than the end of the period whose usage it bills.
            and case when l.type = 'usage' then case v.reason when 'renewal' then coalesce(v.billing_period_start_date, v.invoice_date) else v.invoice_date end between p.start_at and p.end_at
                     when l.explanation ->> 'kind' in ('minimum_commitment', 'arrears')
                       then (l.explanation #>> '{period,start}')::bigint = p.start_at
                     else v.billing_period_id = p.id
                       and l.explanation ->> 'kind' is distinct from 'paused_time' and l.explanation ->> 'kind' is distinct from 'setup_fee' end) billed
       where price.minimum_commitment > 0 and billed.amount + p.proration_waived < price.minimum_commitment`,
  },
  {
    name: 'pricedUsageFollowsPricing',
    sentence:
      'A line of usage at a pricing, of its price or of the customer when its period began, is the price of the units so far, less the amount that was billed before.',
    query: sql`
      select l.environment_id, l.id, l.invoice_id, l.amount, l.explanation
        from invoice_line_items l
        join prices p on p.environment_id = l.environment_id and p.id = l.price_id
        left join ledger_accounts a on a.environment_id = l.environment_id and a.id = l.ledger_account_id
        left join subscription_price_overrides o on o.environment_id = l.environment_id and o.subscription_id = a.subscription_id
         and o.price_id = l.price_id and o.start_at <= (l.explanation ->> 'periodStart')::bigint
         and (o.end_at is null or o.end_at > (l.explanation ->> 'periodStart')::bigint)
       cross join lateral (select case when o.id is null then p.pricing else o.pricing end as pricing) terms
       where l.explanation ->> 'kind' = 'priced_usage'
         and (l.explanation -> 'pricing' is distinct from terms.pricing or ${listAmountOf('l')} + (l.explanation ->> 'billedBefore')::numeric
              is distinct from price_of_units(terms.pricing, (l.explanation ->> 'unitsSoFar')::numeric, ${stepOf(sql`p.currency`)},
                   coalesce((l.explanation ->> 'eventsSoFar')::numeric, 0), coalesce((l.explanation ->> 'ownAmountSoFar')::numeric, 0)))`,
  },
  {
    name: 'usageHasKnownTerms',
    sentence: 'A line of usage at a unit price has that of its price, or one that its customer has had.',
    query: sql`
      select l.environment_id, l.id, l.invoice_id, l.price_id, l.explanation
        from invoice_line_items l
        join prices p on p.environment_id = l.environment_id and p.id = l.price_id
        left join ledger_accounts a on a.environment_id = l.environment_id and a.id = l.ledger_account_id
       where l.explanation ->> 'kind' = 'usage' and (l.explanation ->> 'unitPrice')::numeric not in (0, p.unit_price)
         and not exists (
           select from subscription_price_overrides o
            where o.environment_id = l.environment_id and o.subscription_id = a.subscription_id and o.price_id = l.price_id
              and o.unit_price = (l.explanation ->> 'unitPrice')::numeric)`,
  },
  {
    name: 'measuredUsageFollowsPrice',
    // The division has more digits than a unit price has decimals, but not all: half a step is what it may be off.
    sentence:
      'A line of measured usage is the price of the units of its period so far, at the terms of its start, less what was billed or waived before.',
    query: sql`
      select l.environment_id, l.id, l.invoice_id, l.amount, l.explanation
        from invoice_line_items l
        join prices p on p.environment_id = l.environment_id and p.id = l.price_id
        left join ledger_accounts a on a.environment_id = l.environment_id and a.id = l.ledger_account_id
        left join subscription_price_overrides o on o.environment_id = l.environment_id and o.subscription_id = a.subscription_id
         and o.price_id = l.price_id and o.start_at <= (l.explanation ->> 'periodStart')::bigint
         and (o.end_at is null or o.end_at > (l.explanation ->> 'periodStart')::bigint)
       cross join lateral (
         select case when o.id is null then p.pricing else o.pricing end as pricing,
                case when o.id is null then p.unit_price else coalesce(o.unit_price, 0) end as unit_price) terms
       cross join lateral (
         select (l.explanation ->> 'units')::numeric as units, (l.explanation ->> 'per')::numeric as per, ${stepOf(sql`p.currency`)} as step,
                ${listAmountOf('l')} + (l.explanation ->> 'billedBefore')::numeric as amount) e
       where l.explanation ->> 'kind' = 'measured_usage'
         and case when terms.pricing is null
             then abs(e.units * terms.unit_price - e.amount * e.per * p.usage_events_per_unit) * 2 > e.step * e.per * p.usage_events_per_unit
             else l.explanation -> 'pricing' <> terms.pricing
                  or abs(e.amount - price_of_units(terms.pricing, e.units / e.per, e.step)) > case when e.per = 1 then 0 else e.step end end`,
  },
  {
    name: 'measuredUsageIsBilledOnce',
    sentence:
      'The amount that is known to be billed for a measured usage period is the sum of the lines that bill it, at one price.',
    query: sql`
      select environment_id, ledger_account_id, price_id, period_start, c.amount as known_amount, l.amount
        from (select * from usage_charges where per is not null) c
        full join (
          select line.environment_id, line.ledger_account_id, line.price_id, (line.explanation ->> 'periodStart')::bigint as period_start,
                 sum(${listAmountOf('line')}) as amount
            from ${standingUsageLines} where line.explanation ->> 'kind' = 'measured_usage'
           group by line.environment_id, line.ledger_account_id, line.price_id, line.explanation ->> 'periodStart') l
       using (environment_id, ledger_account_id, price_id, period_start)
       where coalesce(c.amount, 0) <> coalesce(l.amount, 0)
      union all
      select environment_id, ledger_account_id, min(price_id), period_start, sum(amount), null
        from usage_charges where per is not null
       group by environment_id, ledger_account_id, period_start having count(*) > 1`,
  },
  {
    name: 'pricedItemsFollowPricing',
    // Both sides are multiplied out, because a division has a limited number of digits.
    sentence:
      'A line of a quantity at a price with a pricing is the price of the quantity for its share of the time; so are the segments of a change.',
    query: sql`
      select l.environment_id, l.id, l.invoice_id, l.amount, l.explanation
        from invoice_line_items l
        join invoices i on i.environment_id = l.environment_id and i.id = l.invoice_id
        join prices p on p.environment_id = l.environment_id and p.id = l.price_id
       cross join lateral (
         select (l.explanation ->> 'value')::numeric as value,
                coalesce((l.explanation #>> '{period,end}')::numeric - (l.explanation #>> '{period,start}')::numeric, 1) as part,
                coalesce((l.explanation #>> '{whole,end}')::numeric - (l.explanation #>> '{whole,start}')::numeric, 1) as whole,
                ${stepOf(sql`p.currency`)} as step) e
       where l.explanation ->> 'kind' = 'priced_item'
         and ((l.explanation -> 'pricing' is distinct from p.pricing
               and not ${hadOverride(sql`l.environment_id`, sql`i.subscription_id`, sql`l.price_id`, sql`o.pricing = l.explanation -> 'pricing'`)})
              or e.value is distinct from price_of_units(l.explanation -> 'pricing', (l.explanation ->> 'quantity')::numeric, e.step)
              or abs(e.value * e.part - l.amount * e.whole) * 2 > e.step * e.whole)
      union all
      select l.environment_id, l.id, l.invoice_id, l.amount, segment.value
        from invoice_line_items l
        join invoices i on i.environment_id = l.environment_id and i.id = l.invoice_id
       cross join lateral jsonb_array_elements(l.explanation -> 'segments') as segment
       cross join lateral (
         select sum((item.value ->> 'value')::numeric) as value,
                bool_or((item.value ->> 'value')::numeric is distinct from case (item.value ->> 'unitPrice')::numeric
                  when 0 then price_of_units(p.pricing, (item.value ->> 'quantity')::numeric, ${stepOf(sql`p.currency`)})
                  else (item.value ->> 'unitPrice')::numeric * (item.value ->> 'quantity')::numeric end
                  and not ${hadOverride(
                    sql`l.environment_id`,
                    sql`i.subscription_id`,
                    sql`p.id`,
                    sql`(item.value ->> 'value')::numeric
                      = price_of_units(o.pricing, (item.value ->> 'quantity')::numeric, ${stepOf(sql`p.currency`)})`,
                  )}) as is_wrong
           from jsonb_array_elements(segment.value -> 'items') as item
           left join prices p on p.environment_id = l.environment_id and p.id = item.value ->> 'priceId') items
       where l.explanation ->> 'kind' = 'proration' and segment.value ? 'items'
         and (items.is_wrong or items.value is distinct from (segment.value ->> 'value')::numeric)`,
  },
  {
    name: 'itemsKeepTheirPricing',
    sentence:
      'A subscription item with a pricing, and each of its earlier versions, has that of its price, or one that its customer has had.',
    query: sql`
      select i.environment_id, i.id, i.price_id, i.pricing
        from (select environment_id, id, subscription_id, price_id, pricing from subscription_items where pricing is not null
              union all
              select environment_id, subscription_item_id, subscription_id, price_id, pricing from subscription_item_versions
               where pricing is not null) i
        left join prices p on p.environment_id = i.environment_id and p.id = i.price_id
       where i.pricing is distinct from p.pricing
         and not ${hadOverride(sql`i.environment_id`, sql`i.subscription_id`, sql`i.price_id`, sql`o.pricing = i.pricing`)}`,
  },
  {
    name: 'itemsHaveOwnPrices',
    sentence: 'An item at a price for which its customer has terms of its own in force has those terms.',
    query: sql`
      select i.environment_id, i.id, i.price_id, i.unit_price, i.pricing, o.id as override_id
        from subscription_price_overrides o
        join subscription_items i on i.environment_id = o.environment_id and i.subscription_id = o.subscription_id
         and i.price_id = o.price_id
       where o.end_at is null and i.expired_at is null
         and (i.unit_price, i.pricing) is distinct from (coalesce(o.unit_price, 0), o.pricing)`,
  },
  {
    name: 'usageChargesFollowInvoices',
    sentence: 'The amount that is known to be billed for a usage period is the sum of the lines that bill it.',
    query: sql`
      select l.environment_id, l.ledger_account_id, l.price_id, l.period_start, l.units, l.amount, c.units as known_units,
             c.released, c.amount as known_amount, l.events, c.events as known_events, c.released_events
        from (select line.environment_id, line.ledger_account_id, line.price_id,
                     (line.explanation ->> 'periodStart')::bigint as period_start,
                     sum(line.ledger_account_credit) as units, sum(${listAmountOf('line')}) as amount,
                     coalesce(sum((line.explanation ->> 'events')::numeric), 0) as events
                from ${standingUsageLines}
               where line.explanation ->> 'kind' = 'priced_usage'
               group by line.environment_id, line.ledger_account_id, line.price_id, line.explanation ->> 'periodStart') l
        left join usage_charges c
          on c.environment_id = l.environment_id and c.ledger_account_id = l.ledger_account_id and c.price_id = l.price_id
         and c.period_start = l.period_start
       where l.units > coalesce(c.units - c.released, 0) or l.events > coalesce(c.events - c.released_events, 0)
          or (l.units = c.units - c.released and l.events = c.events - c.released_events and l.amount <> c.amount)`,
  },
];

/** Whether the customer has ever had terms `o` of a price for which the condition holds. */
function hadOverride(
  environmentId: RawBuilder<unknown>,
  subscriptionId: RawBuilder<unknown>,
  priceId: RawBuilder<unknown>,
  condition: RawBuilder<unknown>,
) {
  return sql`exists (
    select from subscription_price_overrides o
     where o.environment_id = ${environmentId} and o.subscription_id = ${subscriptionId} and o.price_id = ${priceId}
       and ${condition})`;
}

/** The step in which a currency is charged: see chargedSteps in src/kernel/currency.ts. */
export function stepOf(currency: RawBuilder<unknown>) {
  return sql`case when ${currency} in ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') then 10 when ${currency} = 'MGA' then 100 else 1 end`;
}
