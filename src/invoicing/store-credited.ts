import { sql } from 'kysely';
import type { Work } from '../database/work.ts';
import { chargedStep } from '../kernel/currency.ts';
import { type LineAmounts, loweredLines } from '../rating/credited.ts';
import type { CreditableLine } from './invoice-line-item.ts';

/** The ids of an invoice and, if it is a consolidated one, of its parts, whose lines it has. */
const idsWithin = (work: Work, invoiceId: string) => sql<string>`(
  select ${invoiceId}::text union all
  select p.id from invoices p where p.environment_id = ${work.environmentId} and p.consolidated_into = ${invoiceId})`;

/**
 * All lines of the invoice by id, in order. Lines of a part of a consolidated invoice lower those of that part. The caller has
 * locked the invoice, or only reads.
 */
export async function findCreditableLines(work: Work, invoiceId: string): Promise<Map<string, CreditableLine>> {
  const rows = await work.db
    .selectFrom('invoiceLineItems')
    .select(['id', 'invoiceId', 'type', 'description', 'quantity', 'price', 'amount', 'discountAmount', 'taxAmount'])
    .select(['creditedAmount', 'creditedDiscount', 'creditedTax'])
    .where('environmentId', '=', work.environmentId)
    .where('invoiceId', 'in', idsWithin(work, invoiceId))
    .orderBy('id')
    .execute();
  const lowered = new Map<string, LineAmounts>();
  for (const ofInvoice of Map.groupBy(rows, (row) => row.invoiceId).values())
    for (const [index, line] of loweredLines(ofInvoice, chargedStep(work.currency)).entries()) {
      const { amount, discountAmount, taxAmount } = line;
      lowered.set(ofInvoice[index]?.id ?? '', { amount, discountAmount, taxAmount });
    }
  return new Map(
    rows.map(({ id, type, description, quantity, price, amount, discountAmount, taxAmount, ...before }) => {
      const whole = { amount, discountAmount, taxAmount };
      const credited = {
        amount: before.creditedAmount,
        discountAmount: before.creditedDiscount,
        taxAmount: before.creditedTax,
      };
      const known = { id, isUsage: type === 'usage', description, quantity, price };
      return [id, { ...known, whole, credited, lowered: lowered.get(id) ?? whole }];
    }),
  );
}

/**
 * Counts a credit of each of these lines of an invoice. Returns false if one of them has less left: the condition is
 * part of the update, so parallel credits never exceed a line.
 */
export async function creditLines(
  work: Work,
  invoiceId: string,
  credits: readonly (LineAmounts & { readonly invoiceLineItemId: string })[],
): Promise<boolean> {
  const all = <Key extends keyof LineAmounts>(key: Key) => credits.map((credit) => credit[key]);
  const result = await sql`
    update invoice_line_items l
       set credited_amount = l.credited_amount + new.amount, credited_discount = l.credited_discount + new.discount,
           credited_tax = l.credited_tax + new.tax, updated_at = ${work.now}
      from unnest(${credits.map((credit) => credit.invoiceLineItemId)}::text[], ${all('amount')}::numeric[],
                  ${all('discountAmount')}::numeric[], ${all('taxAmount')}::numeric[]) as new (id, amount, discount, tax)
     where l.environment_id = ${work.environmentId} and l.invoice_id in ${idsWithin(work, invoiceId)} and l.id = new.id
       and l.credited_amount + new.amount between 0 and greatest(l.amount, 0)
       and l.credited_discount + new.discount between 0 and l.discount_amount
       and l.credited_tax + new.tax between 0 and l.tax_amount`.execute(work.db);
  return result.numAffectedRows === BigInt(credits.length);
}
