import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listValuePaid, listValueSettled, type PlanInvoice, planPaid } from './list-value.ts';

const paid: PlanInvoice = {
  status: 'paid',
  total: 3000n,
  amountPaid: 3000n,
  amountRefunded: 0n,
  offsetAmount: 0n,
  balanceApplied: 0n,
  balanceCredited: 0n,
  listAmount: 3000n,
  planDiscount: 0n,
  netAmount: 3000n,
  pausedTime: 0n,
  isBeingPaid: false,
  isWithdrawn: false,
};

const halfOff = { planDiscount: 1500n, netAmount: 1500n, total: 1500n, amountPaid: 1500n };
const allOff = { planDiscount: 3000n, netAmount: 0n, total: 0n, amountPaid: 0n };
const withUsage = { netAmount: 4000n, total: 4000n, amountPaid: 4000n };
const afterPause = { pausedTime: 1000n, total: 2000n, amountPaid: 2000n };

test('what was paid for the plan, at its list price', () => {
  const rows: [name: string, invoice: Partial<PlanInvoice>, value: bigint][] = [
    ['paid', {}, 3000n],
    ['A10: being paid', { status: 'open', amountPaid: 0n, isBeingPaid: true }, 3000n],
    ['A11: refunded', { status: 'refunded', amountRefunded: 3000n }, 0n],
    ['A11: a third refunded', { status: 'partially_refunded', amountRefunded: 1000n }, 2000n],
    ['half off', halfOff, 3000n],
    ['half off, half of it refunded', { ...halfOff, amountRefunded: 750n }, 1500n],
    ['all off', allOff, 3000n],
    ['usage beside it', { ...withUsage, amountRefunded: 1000n }, 2250n],
    ['1000 of it paid before, for paused time', afterPause, 3000n],
    ['the rest of that refunded', { ...afterPause, amountRefunded: 2000n }, 1000n],
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

test('what was really paid for the plan: after discounts and refunds, with the paused time that was paid before', () => {
  const rows: [name: string, invoice: Partial<PlanInvoice>, value: bigint][] = [
    ['paid', {}, 3000n],
    ['2900 refunded', { amountRefunded: 2900n }, 100n],
    ['half off', halfOff, 1500n],
    ['half off, half of it refunded', { ...halfOff, amountRefunded: 750n }, 750n],
    ['all off', allOff, 0n],
    ['usage beside it, a quarter refunded', { ...withUsage, amountRefunded: 1000n }, 2250n],
    ['19 % tax on it, half refunded', { total: 3570n, amountPaid: 3570n, amountRefunded: 1785n }, 1500n],
    ['1000 of it paid before', afterPause, 3000n],
    ['1000 of it paid before, and the rest refunded', { ...afterPause, amountRefunded: 2000n }, 1000n],
    ['void', { status: 'void', amountPaid: 0n }, 0n],
    ['written off after a part', { status: 'uncollectible', amountPaid: 1000n }, 1000n],
  ];
  for (const [name, invoice, value] of rows) assert.equal(planPaid({ ...paid, ...invoice }), value, name);
});
