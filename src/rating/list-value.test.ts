import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listValuePaid, listValueSettled, type PlanInvoice } from './list-value.ts';

const paid: PlanInvoice = {
  status: 'paid',
  total: 3000n,
  amountPaid: 3000n,
  amountRefunded: 0n,
  listAmount: 3000n,
  isBeingPaid: false,
  isWithdrawn: false,
};

test('what was paid for the plan, at its list price', () => {
  const rows: [name: string, invoice: Partial<PlanInvoice>, value: bigint][] = [
    ['paid', {}, 3000n],
    ['A10: being paid', { status: 'open', amountPaid: 0n, isBeingPaid: true }, 3000n],
    ['A11: refunded', { status: 'refunded', amountRefunded: 3000n }, 0n],
    ['A11: a third refunded', { status: 'partially_refunded', amountRefunded: 1000n }, 2000n],
    ['half off', { total: 1500n, amountPaid: 1500n }, 3000n],
    ['half off, half of it refunded', { total: 1500n, amountPaid: 1500n, amountRefunded: 750n }, 1500n],
    ['all off', { total: 0n, amountPaid: 0n }, 3000n],
    ['usage beside it', { total: 4000n, amountPaid: 4000n, amountRefunded: 1000n }, 2250n],
    ['open', { status: 'open', amountPaid: 0n }, 0n],
    ['paid in part', { status: 'open', amountPaid: 1000n }, 1000n],
    ['void', { status: 'void', amountPaid: 0n }, 0n],
    ['written off', { status: 'uncollectible', amountPaid: 0n }, 0n],
  ];
  for (const [name, invoice, value] of rows) assert.equal(listValuePaid({ ...paid, ...invoice }), value, name);
});

test('what nothing collects again: all of it, unless the invoice was withdrawn', () => {
  const rows: [name: string, invoice: Partial<PlanInvoice>, value: bigint][] = [
    ['paid', {}, 3000n],
    ['half of it refunded', { status: 'partially_refunded', amountRefunded: 1500n }, 3000n],
    ['refunded', { status: 'refunded', amountRefunded: 3000n }, 3000n],
    ['void', { status: 'void', amountPaid: 0n }, 3000n],
    ['void, because another invoice replaced it', { status: 'void', amountPaid: 0n, isWithdrawn: true }, 0n],
    ['open', { status: 'open', amountPaid: 0n }, 3000n],
    ['written off', { status: 'uncollectible', amountPaid: 0n }, 3000n],
  ];
  for (const [name, invoice, value] of rows) assert.equal(listValueSettled({ ...paid, ...invoice }), value, name);
});
