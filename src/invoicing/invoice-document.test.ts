import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../kernel/calendar.ts';
import { type InvoiceToPrint, invoiceDocument } from './invoice-document.ts';

const invoice: InvoiceToPrint = {
  invoiceNumber: '9F3A0C1-00001',
  invoiceDate: instant('2026-01-31'),
  dueDate: instant('2026-02-14'),
  billingPeriodStartDate: instant('2026-01-31'),
  billingPeriodEndDate: instant('2026-02-28'),
  status: 'open',
  currency: 'EUR',
  discountAmount: 300n,
  taxAmount: 513n,
  taxType: 'vat',
  taxCountry: 'DE',
  taxState: null,
  taxRatePercentage: '19',
  taxInclusive: false,
  total: 3213n,
  amountPaid: 0n,
  amountRefunded: 0n,
  memo: null,
  seller: null,
  buyer: { name: 'Acme', email: 'a@acme.test', billingAddress: null },
};
const line = { description: 'Pro', quantity: 1, price: 3000n, amount: 3000n, explanation: null };
const sums = (changes: Partial<InvoiceToPrint>) =>
  invoiceDocument({ ...invoice, ...changes }, [line]).sums.map(({ label, amount }) => `${label}: ${amount}`);

test('the sums go from the lines to what is due', () => {
  // 3000 - 300 = 2700; 19 % of it is 513.
  assert.deepEqual(sums({}), [
    'Sum of line items: EUR 30.00',
    'Discount: -EUR 3.00',
    'VAT 19 % (DE): EUR 5.13',
    'Total: EUR 32.13',
    'Amount due: EUR 32.13',
  ]);
});

test('what does not apply is not there, and what was paid and refunded is', () => {
  const paid = {
    discountAmount: 0n,
    taxType: null,
    taxAmount: 0n,
    total: 3000n,
    status: 'partially_refunded',
  } as const;
  assert.deepEqual(sums({ ...paid, amountPaid: 3000n, amountRefunded: 1000n }), [
    'Sum of line items: EUR 30.00',
    'Total: EUR 30.00',
    'Paid: -EUR 30.00',
    'Refunded: EUR 10.00',
  ]);
});

test('tax that the prices contain says so', () => {
  assert.ok(sums({ taxInclusive: true }).includes('VAT 19 % (DE), included: EUR 5.13'));
});

test('a buyer without an address is named by name and e-mail', () => {
  assert.deepEqual(invoiceDocument(invoice, []).buyer, ['Acme', 'a@acme.test']);
});

test('a tax without a name is on the paper too, so the sums add up; a name without a tax is not', () => {
  assert.ok(sums({ taxType: 'none' }).includes('TAX 19 % (DE): EUR 5.13'));
  const none = sums({ taxType: 'none', taxRatePercentage: '0', taxAmount: 0n, total: 2700n });
  assert.deepEqual(none.slice(1, 3), ['Discount: -EUR 3.00', 'Total: EUR 27.00']);
});
