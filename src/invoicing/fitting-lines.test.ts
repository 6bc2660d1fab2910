import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitPaybacks, fitUsage } from './fitting-lines.ts';
import { maxInvoiceTotal, type TaxQuote } from './invoice.ts';
import type { NewLine } from './invoice-line-item.ts';
import { draftInvoice, type NewInvoice } from './new-invoice.ts';

const usage = (units: bigint): NewLine => ({
  type: 'usage',
  explanation: { kind: 'usage', units, unitPrice: 3n, usageEventsPerUnit: 1 },
  units,
  amount: units * 3n,
  priceId: 'price',
  ledgerAccountId: 'account',
  description: `${(units).toLocaleString('en-US')} calls at EUR 0.03 each`,
});
const request = (lines: NewLine[], tax: TaxQuote | null = null): NewInvoice => ({
  customerId: 'customer',
  pricingModelId: 'model',
  subscriptionId: 'subscription',
  billingPeriod: null,
  reason: 'renewal',
  currency: 'USD',
  lines,
  invoiceDate: 0,
  dueDate: 0,
  discounts: [],
  tax,
  seller: null,
});

test('what a payment can carry is billed as it is', () => {
  const one = request([usage(100n), usage(maxInvoiceTotal / 3n - 100n)]);
  assert.deepEqual(fitUsage(one), { request: one, left: [] });
});

test('the last lines are cut first, to whole units, and what is cut is left', () => {
  const third = maxInvoiceTotal / 3n;
  const { request: fit, left } = fitUsage(request([usage(third - 2n), usage(5n), usage(7n)]));
  assert.deepEqual(
    fit.lines.map((line) => line.type === 'usage' && [line.units, line.amount, line.description]),
    [
      [third - 2n, (third - 2n) * 3n, `${(third - 2n).toLocaleString('en-US')} calls at EUR 0.03 each`],
      [2n, 6n, '2 calls at EUR 0.03 each'],
    ],
  );
  assert.deepEqual(
    left.map(({ units }) => units),
    [7n, 3n],
  );
});

test('with tax there is room for it', () => {
  const tax: TaxQuote = { type: 'vat', country: 'DE', state: null, percentage: '100', inclusive: false };
  const { request: fit } = fitUsage(request([usage(maxInvoiceTotal)], tax));
  const { total } = draftInvoice(fit);
  assert.ok(total <= maxInvoiceTotal && total > maxInvoiceTotal - 12n);
});

const ofTiers = (units: bigint, amount: bigint, billedBefore = 0n): NewLine => {
  const pricing = { model: 'per_unit', unitAmount: '3' } as const;
  const explanation = {
    kind: 'priced_usage',
    pricing,
    periodStart: 6,
    units,
    unitsSoFar: units,
    ...{ events: 0n, eventsSoFar: 0n, ownAmount: 0n, ownAmountSoFar: 0n },
    billedBefore,
  } as const;
  return { type: 'usage', explanation, units, amount, priceId: 'tiers', ledgerAccountId: 'account', description: null };
};

test('usage with a pricing is cut to the units that fit, and the rest is left to its usage period', () => {
  const third = maxInvoiceTotal / 3n;
  const { request: fit, left } = fitUsage(request([ofTiers(third + 4n, (third + 4n) * 3n)]));
  assert.deepEqual(
    fit.lines.map((line) => line.type === 'usage' && [line.units, line.amount]),
    [[third, third * 3n]],
  );
  const ofPeriod = { ledgerAccountId: 'account', priceId: 'tiers', periodStart: 6, events: 0n, ownAmount: 0n };
  assert.deepEqual(left, [{ ...ofPeriod, units: 4n, amount: 12n }]);
});

test('usage that pays back 98 waits for an invoice of at least that', () => {
  const payback = ofTiers(1n, -98n, 101n);
  const enough = request([usage(33n), payback]);
  assert.deepEqual(fitPaybacks(enough), { request: enough, left: [] });
  const { request: fit, left } = fitPaybacks(request([usage(32n), payback]));
  assert.deepEqual(fit.lines, [usage(32n)]);
  assert.deepEqual(
    left.map(({ units, amount }) => [units, amount]),
    [[1n, -98n]],
  );
});
