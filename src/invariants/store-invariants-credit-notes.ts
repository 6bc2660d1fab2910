import { sql } from 'kysely';
import type { Invariant } from './store-invariants.ts';

/** Credit notes, and what they take back of invoices. */
export const creditNoteInvariants: readonly Invariant[] = [
  {
    name: 'creditNotesAreSumsOfLines',
    sentence:
      'The discount and tax of a credit note are sums over its lines; its total is the sum of their amounts less the discount, plus tax unless the prices include it.',
    query: sql`
      select n.environment_id, n.id, n.total, n.discount_amount, n.tax_amount, l.amount, l.discount, l.tax
        from credit_notes n
        join invoices i on i.environment_id = n.environment_id and i.id = n.invoice_id
        left join (select environment_id, credit_note_id, sum(amount) as amount, sum(discount_amount) as discount, sum(tax_amount) as tax
                     from credit_note_lines group by environment_id, credit_note_id) l
          on l.environment_id = n.environment_id and l.credit_note_id = n.id
       where n.discount_amount is distinct from l.discount or n.tax_amount is distinct from l.tax
          or n.total is distinct from l.amount - l.discount + case when i.tax_inclusive then 0 else l.tax end`,
  },
  {
    name: 'creditedLinesAreSumsOfCreditNotes',
    sentence:
      'The credited amount, discount and tax of an invoice line are the sums over its credit notes that are not void, and at most its own.',
    query: sql`
      select l.environment_id, l.id, l.invoice_id, l.amount, l.credited_amount, l.credited_discount, l.credited_tax,
             n.amount as notes_amount, n.discount as notes_discount, n.tax as notes_tax
        from invoice_line_items l
        left join (select c.environment_id, c.invoice_line_item_id, sum(c.amount) as amount, sum(c.discount_amount) as discount, sum(c.tax_amount) as tax
                     from credit_note_lines c
                     join credit_notes n on n.environment_id = c.environment_id and n.id = c.credit_note_id and n.status <> 'void'
                    group by c.environment_id, c.invoice_line_item_id) n
          on n.environment_id = l.environment_id and n.invoice_line_item_id = l.id
       where (l.credited_amount, l.credited_discount, l.credited_tax)
               <> (coalesce(n.amount, 0), coalesce(n.discount, 0), coalesce(n.tax, 0))
          or l.credited_amount not between 0 and greatest(l.amount, 0)
          or l.credited_discount not between 0 and l.discount_amount or l.credited_tax not between 0 and l.tax_amount`,
  },
  {
    name: 'creditedInvoicesAreSumsOfCreditNotes',
    sentence:
      'The credited and the offset amount of an invoice are the sums over its credit notes that are not void, refunds of reversed payments as offsets; a credit note takes back lines of its own invoice.',
    query: sql`
      select i.environment_id, i.id, i.total, i.credited_amount, i.offset_amount, n.total as notes_total, n.offset_total
        from invoices i
        left join (select c.environment_id, c.invoice_id, sum(c.total) as total,
                          coalesce(sum(c.total) filter (where c.settle = 'offset' or p.status = 'failed'), 0) as offset_total
                     from credit_notes c
                     left join payments p on p.environment_id = c.environment_id and p.id = c.payment_id
                    where c.status <> 'void' group by c.environment_id, c.invoice_id) n
          on n.environment_id = i.environment_id and n.invoice_id = i.id
       where (i.consolidated_into is null and (i.credited_amount <> coalesce(n.total, 0) or i.offset_amount <> coalesce(n.offset_total, 0)))
          or i.credited_amount not between 0 and i.total or i.amount_paid + i.offset_amount + i.balance_applied > i.total
      union all
      select n.environment_id, n.id, null, null, null, null, null
        from credit_note_lines c
        join credit_notes n on n.environment_id = c.environment_id and n.id = c.credit_note_id
        join invoice_line_items l on l.environment_id = c.environment_id and l.id = c.invoice_line_item_id
        join invoices i on i.environment_id = l.environment_id and i.id = l.invoice_id
       where coalesce(i.consolidated_into, i.id) <> n.invoice_id`,
  },
  {
    name: 'creditNotesFollowTheirMoney',
    sentence:
      'A credit note is issued, settled or void as its refund is pending, succeeded or failed, and for the same amount; an offset is issued exactly while its invoice is not paid, and one to a balance is settled at once.',
    query: sql`
      select n.environment_id, n.id, n.settle, n.status, n.total, r.status as refund_status, r.amount as refund_amount, i.status as invoice_status
        from credit_notes n
        join invoices i on i.environment_id = n.environment_id and i.id = n.invoice_id
        left join refunds r on r.environment_id = n.environment_id and r.credit_note_id = n.id
       where case n.settle
               when 'refund' then r.id is null or r.amount <> n.total or r.payment_id <> n.payment_id
                 or n.status <> case r.status when 'pending' then 'issued' when 'succeeded' then 'settled' else 'void' end
               when 'balance' then r.id is not null or n.status = 'issued'
               else r.id is not null or (n.status = 'issued' and i.status in ('paid', 'partially_refunded', 'void'))
             end`,
  },
  {
    name: 'refundsHaveCreditNotes',
    sentence:
      'A refund that has not failed has a credit note of its payment, unless its invoice is void or its credit notes left less than the refund.',
    query: sql`
      select r.environment_id, r.id, r.payment_id, r.status, r.amount, i.id as invoice_id, i.total, n.total as notes_total
        from refunds r
        join payments p on p.environment_id = r.environment_id and p.id = r.payment_id
        join invoices i on i.environment_id = p.environment_id and i.id = p.invoice_id
       cross join lateral (
          select coalesce(sum(c.total), 0) as total from credit_notes c
           where c.environment_id = i.environment_id and c.invoice_id = i.id and c.created_at <= r.created_at) n
       where r.credit_note_id is null and r.status <> 'failed' and i.status <> 'void' and i.total - n.total >= r.amount`,
  },
  {
    name: 'balancesAreSumsOfEntries',
    sentence:
      'Each side of the balance of a customer is the sum over its entries, and the balance is never below zero.',
    query: sql`
      select b.environment_id, b.id, b.credited, b.debited, e.credited as entries_credited, e.debited as entries_debited
        from customer_balances b
        left join (select environment_id, customer_balance_id, coalesce(sum(amount) filter (where amount > 0), 0) as credited,
                          coalesce(-sum(amount) filter (where amount < 0), 0) as debited
                     from customer_balance_entries group by environment_id, customer_balance_id) e
          on e.environment_id = b.environment_id and e.customer_balance_id = b.id
       where b.credited <> coalesce(e.credited, 0) or b.debited <> coalesce(e.debited, 0) or b.credited < b.debited`,
  },
  {
    name: 'creditNotesToBalancesAreBooked',
    sentence:
      'A credit note to a balance has one entry of its total, and another that takes it off again exactly if it is void; the invoice counts those that are not void.',
    query: sql`
      select n.environment_id, n.id, n.settle, n.status, n.total, e.added, e.taken
        from credit_notes n
        left join (select environment_id, credit_note_id, coalesce(sum(amount) filter (where source = 'credit_note'), 0) as added,
                          coalesce(-sum(amount) filter (where source = 'voided_credit_note'), 0) as taken
                     from customer_balance_entries where credit_note_id is not null group by environment_id, credit_note_id) e
          on e.environment_id = n.environment_id and e.credit_note_id = n.id
       where coalesce(e.added, 0) <> case when n.settle = 'balance' then n.total else 0 end
          or coalesce(e.taken, 0) <> case when n.settle = 'balance' and n.status = 'void' then n.total else 0 end
      union all
      select i.environment_id, i.id, null, i.status, i.balance_credited, n.total, null
        from invoices i
        left join (select environment_id, invoice_id, sum(total) as total from credit_notes
                    where settle = 'balance' and status <> 'void' group by environment_id, invoice_id) n
          on n.environment_id = i.environment_id and n.invoice_id = i.id
       where i.consolidated_into is null and i.balance_credited <> coalesce(n.total, 0)`,
  },
  {
    name: 'balanceAppliedIsBooked',
    sentence: 'What a balance paid of an invoice is what its entries took for it less what they gave back.',
    query: sql`
      select i.environment_id, i.id, i.status, i.balance_applied, e.amount as entries_amount
        from invoices i
        left join (select environment_id, invoice_id, -sum(amount) as amount from customer_balance_entries
                    where invoice_id is not null group by environment_id, invoice_id) e
          on e.environment_id = i.environment_id and e.invoice_id = i.id
       where i.balance_applied <> coalesce(e.amount, 0)`,
  },
];
