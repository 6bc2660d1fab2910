import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Work } from '../../src/database/work.ts';
import { createInvoices } from '../../src/invoicing/actions.ts';
import type { NewInvoice } from '../../src/invoicing/new-invoice.ts';
import { findInvoice, listExplainedLines } from '../../src/invoicing/store.ts';
import type { Seller } from '../../src/organizations/setting.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';
import { insertRedemption, standalone, staticLine } from '../support/invoice-fixture.ts';
import { countStatements } from '../support/statements.ts';

const app = await startTestApp();
const seller: Seller = { name: 'Tolls Ltd', email: 'b@tolls.test', addressLines: ['1 Gate', 'York'], taxId: 'GB1' };

const numberOf = ({ invoiceNumber }: { readonly invoiceNumber: string | null }) =>
  Number(invoiceNumber?.split('-').at(-1));
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const inOrder = (numbers: readonly number[]) => numbers.toSorted((one, other) => one - other);

test('a thousand invoices take as many statements as two', async () => {
  const payers = [await insertFixture(app), await insertFixture(app)];
  const requests = (work: Work, count: number): NewInvoice[] =>
    upTo(count).flatMap((price) => {
      const payer = payers[price % payers.length];
      assert(payer);
      return standalone(work, payer, [staticLine(1, BigInt(price)), staticLine(2, 5n)]);
    });
  const statements = async (count: number) => {
    const made = await app.inEnvironment((work) =>
      countStatements(work, (counted) => createInvoices(counted, requests(work, count))),
    );
    assert.equal(made.answer.length, count);
    return made.count;
  };
  // Numbers, invoices, lines, and the events of both.
  assert.equal(await statements(2), 5);
  assert.equal(await statements(1000), 5);
});

test('invoices of one batch are numbered customer by customer, in their order, and answered in it', async () => {
  const [one, other] = [await insertFixture(app), await insertFixture(app)];
  const invoices = await app.inEnvironment((work) =>
    createInvoices(
      work,
      [one, other, one, one, other].map((payer, index) => standalone(work, payer, [staticLine(1, BigInt(index + 1))])),
    ),
  );
  assert.deepEqual(
    invoices.map((invoice) => [invoice.customerId, numberOf(invoice), invoice.total]),
    [
      [one.customerId, 1, 1n],
      [other.customerId, 1, 2n],
      [one.customerId, 2, 3n],
      [one.customerId, 3, 4n],
      [other.customerId, 2, 5n],
    ],
  );
});

test('forty batches at once over the same customers, in any order, leave no gap and no double', async () => {
  const payers = [await insertFixture(app), await insertFixture(app), await insertFixture(app)];
  const batches = upTo(40).map((batch) =>
    app.inEnvironment((work) => {
      // Each batch names the customers in another order, and one of them twice.
      const turned = [...payers.slice(batch % 3), ...payers.slice(0, batch % 3)];
      const named = [...turned, ...turned.slice(0, 1)];
      return createInvoices(
        work,
        named.map((payer) => standalone(work, payer, [staticLine(1, 100n)])),
      );
    }),
  );
  const invoices = (await Promise.all(batches)).flat();
  assert.equal(invoices.length, 160);
  for (const { customerId } of payers) {
    const numbers = invoices.filter((invoice) => invoice.customerId === customerId).map(numberOf);
    assert.deepEqual(inOrder(numbers), upTo(numbers.length));
  }
});

test('an invoice keeps its discount, its tax, who sold and who was billed, and shares both out to its lines', async () => {
  const fixture = await insertFixture(app);
  const billingAddress = { name: 'Acme GmbH', address: { country: 'DE', city: 'Kiel' } };
  await app.owner
    .updateTable('customers')
    .set({ billingAddress: JSON.stringify(billingAddress) })
    .where('id', '=', fixture.customerId)
    .execute();
  const discount = await insertRedemption(app, fixture, { amountType: 'percent', amount: 10n });
  const tax = { type: 'vat', country: 'DE', state: null, percentage: '19', inclusive: false } as const;
  const [made] = await app.inEnvironment((work) =>
    createInvoices(work, [
      {
        ...standalone(work, fixture, [staticLine(1, 3000n), staticLine(1, 1000n)]),
        discounts: [discount],
        tax,
        seller,
      },
    ]),
  );
  assert(made);
  await app.owner.updateTable('customers').set({ name: 'Moved' }).where('id', '=', fixture.customerId).execute();

  const kept = await app.inEnvironment((work) => findInvoice(work, made.id));
  assert.deepEqual(kept, made);
  assert.deepEqual(made.buyer, { name: 'Acme', email: 'a@acme.test', billingAddress });
  assert.deepEqual(made.seller, seller);
  // 10 % of 4000 are 400; 19 % of 3600 are 684.
  const { invoice } = await app.get(`/invoices/${made.id}`);
  const { discountAmount, subtotal, taxAmount, total, taxType, taxCountry, taxState, taxRatePercentage } = invoice;
  assert.deepEqual(
    { discountAmount, subtotal, taxAmount, total, taxType, taxCountry, taxState, taxRatePercentage },
    {
      ...{ discountAmount: 400, subtotal: 3600, taxAmount: 684, total: 4284 },
      ...{ taxType: 'vat', taxCountry: 'DE', taxState: null, taxRatePercentage: '19' },
    },
  );
  assert.equal(invoice.pdfURL, `${app.url}/api/v1/invoices/${made.id}/pdf`);
  const lines = await app.inEnvironment((work) => listExplainedLines(work, [made.id]));
  assert.deepEqual(
    lines.map((line) => [line.amount, line.discountAmount, line.taxAmount]),
    [
      [3000n, 300n, 513n],
      [1000n, 100n, 171n],
    ],
  );
});

test('what a line was reckoned from is kept to the last digit, however large', async () => {
  const fixture = await insertFixture(app);
  const kept = 123_456_789_012_345_678_901n;
  const line = { ...staticLine(1, 0n), explanation: { kind: 'paused_time', kept } } as const;
  const [made] = await app.inEnvironment((work) => createInvoices(work, [standalone(work, fixture, [line])]));
  assert(made);
  const [stored] = await app.inEnvironment((work) => listExplainedLines(work, [made.id]));
  assert.deepEqual(stored?.explanation, { kind: 'paused_time', kept });
});

test('an invoice of 2,001 lines has each of them once and in order, though they are read page by page', async () => {
  const fixture = await insertFixture(app);
  const amounts = Array.from({ length: 2_001 }, (_, index) => BigInt(index));
  const lines = amounts.map((amount) => staticLine(1, amount));
  const [made] = await app.inEnvironment((work) => createInvoices(work, [standalone(work, fixture, lines)]));
  assert(made);
  const stored = await app.inEnvironment((work) => listExplainedLines(work, [made.id]));
  assert.deepEqual(
    stored.map(({ amount }) => amount),
    amounts,
  );
});
