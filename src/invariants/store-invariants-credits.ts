import { sql } from 'kysely';
import type { Invariant } from './store-invariants.ts';

/** Invariants of credits that are given once, and of those whose money went back. */
export const creditInvariants: readonly Invariant[] = [
  {
    name: 'refundedCreditsAreTakenBack',
    // Units of a hold that was open then stay, also when the hold is released later.
    sentence:
      'A refunded purchase leaves at most the unrefunded share of its credits unused, unless a hold was open at the refund.',
    query: sql`
      with recursive refunded as (
        select i.environment_id, b.id as purchase_id, i.amount_refunded, i.amount_paid, r.refunded_at
          from purchases b
          join invoices i on i.environment_id = b.environment_id and i.id = b.invoice_id
         cross join lateral (
           select max(f.updated_at) as refunded_at, min(f.created_at) as requested_at
             from payments p join refunds f on f.environment_id = p.environment_id and f.payment_id = p.id
            where p.environment_id = i.environment_id and p.invoice_id = i.id and f.status = 'succeeded') r
         where b.purchase_date <= r.requested_at and i.status in ('refunded', 'partially_refunded')
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
                where h.environment_id = a.environment_id and h.ledger_account_id = a.id and h.created_at <= b.refunded_at
                  and (h.status = 'open' or h.updated_at >= b.refunded_at)))`,
  },
];
