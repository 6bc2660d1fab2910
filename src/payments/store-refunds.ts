import { type Selectable, sql } from 'kysely';
import type { Refunds } from '../database/database-types.ts';
import type { Work } from '../database/work.ts';
import type { Refund } from './payment.ts';

const columns = [
  'id',
  'createdAt',
  'updatedAt',
  'pricingModelId',
  'paymentId',
  'creditNoteId',
  'amount',
  'status',
  'processorReference',
  'failureMessage',
] as const satisfies readonly (keyof Selectable<Refunds>)[];

export async function insertRefund(work: Work, refund: Refund): Promise<void> {
  await work.db
    .insertInto('refunds')
    .values({ environmentId: work.environmentId, ...refund })
    .execute();
}

/** Each of several transactions that settle a refund locks its payment first, so all but the first find it settled. */
export async function findRefund(work: Work, id: string): Promise<Refund | null> {
  const row = await work.db
    .selectFrom('refunds')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    // The table's check constraint guarantees the type of the status.
    .$castTo<Refund>()
    .executeTakeFirst();
  return row ?? null;
}

export async function findRefundOfCreditNote(work: Work, creditNoteId: string): Promise<Refund | null> {
  const row = await work.db
    .selectFrom('refunds')
    .select(columns)
    .where('environmentId', '=', work.environmentId)
    .where('creditNoteId', '=', creditNoteId)
    .$castTo<Refund>()
    .executeTakeFirst();
  return row ?? null;
}

/** The processor's references of the payment's known refunds. */
export async function listRefundReferences(work: Work, paymentId: string): Promise<string[]> {
  const rows = await work.db
    .selectFrom('refunds')
    .select('processorReference')
    .where('environmentId', '=', work.environmentId)
    .where('paymentId', '=', paymentId)
    .execute();
  return rows.flatMap((row) => row.processorReference ?? []);
}

/** The succeeded refunds that credit notes asked for, by payment. In minor units. */
export async function sumCreditNoteRefunds(work: Work, paymentIds: readonly string[]): Promise<Map<string, bigint>> {
  const rows = await work.db
    .selectFrom('refunds')
    .select(['paymentId', (select) => select.fn.sum<bigint>('amount').as('amount')])
    .where('environmentId', '=', work.environmentId)
    .where('paymentId', '=', sql<string>`any(${paymentIds}::text[])`)
    .where('creditNoteId', 'is not', null)
    .where('status', '=', 'succeeded')
    .groupBy('paymentId')
    .execute();
  return new Map(rows.map(({ paymentId, amount }) => [paymentId, amount]));
}

/** The succeeded refunds of the counted payments of a purchase's invoice, oldest first. */
export async function listRefundsOfPurchase(
  work: Work,
  invoiceId: string,
): Promise<{ readonly id: string; readonly purchaseId: string; readonly amount: bigint }[]> {
  return (
    work.db
      .selectFrom('payments as p')
      .innerJoin('refunds as r', (join) =>
        join.onRef('r.environmentId', '=', 'p.environmentId').onRef('r.paymentId', '=', 'p.id'),
      )
      .select(['r.id', 'p.purchaseId', 'r.amount'])
      .where('p.environmentId', '=', work.environmentId)
      .where('p.invoiceId', '=', invoiceId)
      .where('p.purchaseId', 'is not', null)
      // A payment that was reversed counts no more, and neither do its refunds.
      .where('p.status', 'in', ['succeeded', 'refunded'])
      .where('r.status', '=', 'succeeded')
      .orderBy('r.updatedAt')
      .orderBy('r.id')
      .$narrowType<{ purchaseId: string }>()
      .execute()
  );
}

export async function updateRefund(
  work: Work,
  id: string,
  change: Pick<Refund, 'status' | 'processorReference' | 'failureMessage'>,
): Promise<void> {
  await work.db
    .updateTable('refunds')
    .set({ ...change, updatedAt: work.now })
    .where('environmentId', '=', work.environmentId)
    .where('id', '=', id)
    .execute();
}
