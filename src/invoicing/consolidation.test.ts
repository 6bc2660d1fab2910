import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consolidate } from './consolidation.ts';
import { decideNewInvoice, maxInvoiceTotal } from './invoice.ts';

const day = 86_400_000;

const rowOf = (id: string, total: bigint, more: { dueDate?: number; memo?: string } = {}) => ({
  ...{ id, updatedAt: day, subtotal: total, taxAmount: 0n, discountAmount: 0n, dueDate: day, memo: null },
  ...{ footer: null, purchaseOrderNumber: null, subscriptionId: id },
  ...decideNewInvoice(total),
  ...more,
});

const finalsOf = (rows: readonly ReturnType<typeof rowOf>[], together: string | null = 'ada') =>
  rows.map((row) => ({ row, together }));

const totals = ({ invoices }: ReturnType<typeof consolidate<ReturnType<typeof rowOf>>>) =>
  invoices.map(({ id, total }) => [id, total]);

test('drafts of one key become one invoice of their sum, in the place of the first', () => {
  const [one, two] = [rowOf('a', 3000n, { dueDate: 3 * day }), rowOf('b', 6000n, { dueDate: 2 * day, memo: 'PO 7' })];
  const alone = { row: rowOf('c', 500n), together: null };
  const made = consolidate([...finalsOf([one, two]), alone], () => 'whole');
  assert.deepEqual(totals(made), [
    ['whole', 9000n],
    ['c', 500n],
  ]);
  const [whole] = made.invoices;
  assert.deepEqual([whole?.dueDate, whole?.memo, whole?.subscriptionId], [2 * day, 'PO 7', null]);
  assert.deepEqual([...made.wholeOf.keys()], ['a', 'b']);
});

test('a lone draft, one of nothing and drafts beyond the limit of a payment stay alone', () => {
  const never = () => assert.fail('nothing is consolidated');
  const alone = [
    [rowOf('a', 3000n)],
    [rowOf('a', 3000n), rowOf('b', 0n)],
    [rowOf('a', maxInvoiceTotal), rowOf('b', 1n)],
  ];
  for (const rows of alone)
    assert.deepEqual(
      totals(consolidate(finalsOf(rows), never)),
      rows.map(({ id, total }) => [id, total]),
    );
});
