import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from '../jobs/turns.ts';
import { instant } from '../kernel/calendar.ts';
import type { Buyer } from './invoice.ts';
import { addressed, type DocumentLook, type InvoiceToPrint, invoiceDocument } from './invoice-document.ts';

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

const written = (changes: Partial<InvoiceToPrint>, language: DocumentLook['language']) =>
  new Turns().run(invoiceDocument({ ...invoice, ...changes }, [line], { ...look, language }));

test('an invoice without tax says in each language that its buyer accounts for the VAT, and one with tax does not', async () => {
  const words = {
    ...{ en: 'Reverse charge', de: 'Steuerschuldnerschaft des Leistungsempfängers', es: 'Inversión del sujeto pasivo' },
    ...{ fr: 'Autoliquidation', it: 'Inversione contabile', nl: 'Btw verlegd', pt: 'IVA – autoliquidação' },
    ja: 'リバースチャージ',
  };
  const terms = { taxId: 'FR12345678901', reverseCharge: true };
  const buyer = { name: 'Acme', email: 'a@acme.test', billingAddress: null, terms };
  const untaxed = { taxAmount: 0n, taxType: null, taxRatePercentage: null, taxCountry: null, total: 2700n };
  for (const language of Object.keys(words) as (keyof typeof words)[]) {
    const { notes, taxes } = await written({ ...untaxed, buyer }, language);
    assert.ok(notes[0]?.lines[0]?.includes(words[language]), language);
    assert.equal(taxes, null);
    assert.deepEqual((await written({ buyer }, language)).notes, []);
    assert.deepEqual(
      (await written({ ...untaxed, buyer: { ...buyer, terms: { reverseCharge: true } } }, language)).notes,
      [],
    );
  }
});

test('a Japanese document gives a company and a person their titles, and others give none', () => {
  const named = (name: string, more: Partial<Buyer> = {}, language: DocumentLook['language'] = 'ja') =>
    addressed({ name, email: '', billingAddress: null, ...more }, language);
  assert.equal(named('株式会社山田商店'), '株式会社山田商店 御中');
  assert.equal(named('Acme, Inc.'), 'Acme, Inc. 御中');
  assert.equal(named('山田 花子'), '山田 花子 様');
  assert.equal(named('Inca Garcilaso'), 'Inca Garcilaso 様');
  assert.equal(named('山田 花子 様'), '山田 花子 様');
  assert.equal(named('Yamada', { terms: { taxId: 'T1234567890123' } }), 'Yamada 御中');
  const address = { country: 'JP' } as const;
  assert.equal(named('山田 花子', { billingAddress: { name: '山田製作所', address } }), '山田製作所 御中');
  assert.equal(named('Acme, Inc.', {}, 'en'), 'Acme, Inc.');
});

test('a Japanese document writes an address in Japan from its postal code to its street', async () => {
  const place = { line1: '丸の内1-2-3', city: '千代田区', state: '東京都', postal_code: '100-0005', country: 'JP' };
  const buyer = { name: '山田 花子', email: 'y@acme.test', billingAddress: { address: place } };
  const { buyer: printed } = await written({ buyer }, 'ja');
  assert.deepEqual(printed.lines, [
    '山田 花子 様',
    '〒100-0005',
    '東京都千代田区',
    '丸の内1-2-3',
    '日本',
    'y@acme.test',
  ]);
});

test('a Japanese document calls the tax of Japan by its name, and writes a period with its days', async () => {
  const { sums: rows, facts } = await written({}, 'ja');
  assert.ok(rows.some(({ label }) => label === '付加価値税 19% (DE)'));
  assert.ok(facts.some(({ value }) => value === '2026年1月31日～2026年2月28日'));
  const { sums: ofJapan } = await written({ taxCountry: 'JP', taxRatePercentage: '10' }, 'ja');
  assert.ok(ofJapan.some(({ label }) => label === '消費税 10% (JP)'));
});
