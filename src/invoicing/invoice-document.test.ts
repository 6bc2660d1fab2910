import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from '../jobs/turns.ts';
import { instant } from '../kernel/calendar.ts';
import { type DocumentLook, type InvoiceToPrint, invoiceDocument } from './invoice-document.ts';

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
  offsetAmount: 0n,
  balanceApplied: 0n,
  footer: null,
  purchaseOrderNumber: null,
  memo: null,
  seller: null,
  buyer: { name: 'Acme', email: 'a@acme.test', billingAddress: null },
};
const look: DocumentLook = {
  language: 'en',
  branding: { logo: null, primaryColor: null, legalFooter: null },
  company: 'Toll & Sons',
  payLink: 'https://billing.test/pay/inv_1?key=k',
  paymentInstructions: null,
};
const line = { description: 'Pro', quantity: 1, price: 3000n, amount: 3000n };
const sums = async (changes: Partial<InvoiceToPrint>) =>
  (await new Turns().run(invoiceDocument({ ...invoice, ...changes }, [line], look))).sums.map(
    ({ label, amount }) => `${label}: ${amount}`,
  );

test('the sums go from the lines to what is due', async () => {
  // 3000 - 300 = 2700; 19 % of it is 513.
  assert.deepEqual(await sums({}), [
    'Subtotal: €30.00',
    'Discount: -€3.00',
    'Net amount before tax: €27.00',
    'VAT 19% (DE): €5.13',
    'Total: €32.13',
    'Amount due: €32.13',
  ]);
});

test('what does not apply is not there, and what was paid and refunded is', async () => {
  const paid = {
    discountAmount: 0n,
    taxType: null,
    taxAmount: 0n,
    total: 3000n,
    status: 'partially_refunded',
  } as const;
  assert.deepEqual(await sums({ ...paid, amountPaid: 3000n, amountRefunded: 1000n }), [
    'Subtotal: €30.00',
    'Total: €30.00',
    'Paid: -€30.00',
    'Refunded: €10.00',
  ]);
});

test('tax that the prices contain leaves the net amount: 19 of 119 make 100', async () => {
  const included = { taxInclusive: true, taxAmount: 1900n, total: 11900n, discountAmount: 0n };
  assert.deepEqual((await sums(included)).slice(1, 4), [
    'Net amount before tax: €100.00',
    'VAT 19% (DE): €19.00',
    'Total: €119.00',
  ]);
});

test('a buyer without an address is named by name and e-mail', async () => {
  assert.deepEqual((await new Turns().run(invoiceDocument(invoice, [], look))).buyer.lines, ['Acme', 'a@acme.test']);
});

test('a tax without a name is on the paper too, so the sums add up; a name without a tax is not', async () => {
  assert.ok((await sums({ taxType: 'none' })).includes('Tax 19% (DE): €5.13'));
  const none = await sums({ taxType: 'none', taxRatePercentage: '0', taxAmount: 0n, total: 2700n });
  assert.deepEqual(none.slice(1, 3), ['Discount: -€3.00', 'Total: €27.00']);
});

test('an invoice without a seller says so, where the seller would stand', async () => {
  assert.deepEqual((await new Turns().run(invoiceDocument(invoice, [], look))).seller.lines, [
    'No seller is named yet, so this is not a tax invoice.',
  ]);
});
