import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NewLine } from '../../src/invoicing/invoice-line-item.ts';
import type { NewInvoice } from '../../src/invoicing/new-invoice.ts';
import type { InvoiceRow } from '../../src/invoicing/store.ts';
import { charge, eventsOf, newPayer, operationsOf, type Payer, tell } from '../support/charge.ts';
import { type Debtor, newDebtor } from '../support/debtor.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { createInvoice, insertRedemption, standalone, staticLine } from '../support/invoice-fixture.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();

const vat = { type: 'vat', country: 'DE', state: null, percentage: '19', inclusive: false } as const;

/** An open invoice of the payer, and the ids of its lines in order. */
async function invoiceOf(payer: Payer, lines: readonly NewLine[], more: Partial<NewInvoice> = {}) {
  const made = await app.inEnvironment((work) => createInvoice(work, { ...standalone(work, payer, lines), ...more }));
  return { invoice: made, lineIds: await lineIdsOf(made.id) };
}
async function lineIdsOf(invoiceId: string): Promise<string[]> {
  const { invoiceLineItems } = await app.get(`/invoices/${invoiceId}`);
  return invoiceLineItems.map(({ id }: Body) => id);
}

async function paid(invoice: InvoiceRow, { paymentMethodId }: Payer): Promise<string> {
  const { payment } = await charge(app, invoice, paymentMethodId);
  assert.equal(payment.status, 'succeeded');
  return payment.id;
}

const credit = (invoiceId: string, settle: string, lines: readonly Body[], query = '') =>
  app.request('POST', `/invoices/${invoiceId}/credit-notes${query}`, { creditNote: { lines, settle, reason: 'Late' } });
async function credited(invoiceId: string, settle: string, lines: readonly Body[], query = ''): Promise<Body> {
  const { status, body } = await credit(invoiceId, settle, lines, query);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}
/** Every invariant holds. The fixtures have one product each, and none of it is the default. */
async function sound(): Promise<void> {
  const products = app.owner.updateTable('products').set({ isDefault: true });
  await products.where('environmentId', '=', app.testEnvironmentId).execute();
  await app.copyCatalogs();
  await assertSound(app);
}
const amountsOf = ({ discountAmount, subtotal, taxAmount, total }: Body) => [
  discountAmount,
  subtotal,
  taxAmount,
  total,
];
const invoiceNow = async (id: string): Promise<Body> => (await app.get(`/invoices/${id}`)).invoice;

test('one of three seats is credited with its share of the discount and the tax, and its money goes back', async () => {
  const { pricingModelId, customerId } = await insertFixture(app);
  const discount = await insertRedemption(
    app,
    { pricingModelId, customerId, subscriptionId: null },
    { amountType: 'percent', amount: 10n },
  );
  const { paymentMethod } = await app.post('/payment-methods', {
    paymentMethod: { customerId, token: 'pm_card_visa' },
  });
  const payer = { pricingModelId, customerId, paymentMethodId: paymentMethod.id };
  // 3000 - 300 = 2700 and 500 - 50 = 450; 19 % of 3150 is 598.50, so 599: 513 and 86 of it.
  const { invoice, lineIds } = await invoiceOf(payer, [staticLine(3, 1000n, 'Seats'), staticLine(1, 500n, 'Setup')], {
    discounts: [discount],
    tax: vat,
  });
  assert.equal(invoice.total, 3749n);
  const paymentId = await paid(invoice, payer);
  const [seats, setup] = lineIds;

  const lines = [{ invoiceLineItemId: seats, quantity: 1 }];
  const preview = await credited(invoice.id, 'refund', lines, '?dryRun=true');
  assert.deepEqual(amountsOf(preview.creditNote), [100, 900, 171, 1071]);
  assert.equal((await app.get(`/credit-notes?invoiceId=${invoice.id}`)).total, 0);

  const { creditNote, creditNoteLines } = await credited(invoice.id, 'refund', lines);
  assert.deepEqual(amountsOf(creditNote), [100, 900, 171, 1071]);
  assert.deepEqual([creditNote.status, creditNote.paymentId, creditNote.reason], ['settled', paymentId, 'Late']);
  assert.match(creditNote.creditNoteNumber, /-CN-00001$/);
  assert.equal(creditNote.pdfURL, `${app.url}/api/v1/credit-notes/${creditNote.id}/pdf`);
  const [{ quantity, amount, description }] = creditNoteLines;
  assert.deepEqual([creditNoteLines.length, quantity, amount, description], [1, 1, 1000, 'Seats']);
  assert.deepEqual(await operationsOf(app, paymentId), ['charge', 'refund']);
  const { status, creditedAmount, offsetAmount, amountRefunded } = await invoiceNow(invoice.id);
  assert.deepEqual(
    [status, creditedAmount, offsetAmount, amountRefunded],
    ['partially_refunded', 1071, undefined, 1071],
  );
  assert.deepEqual(await eventsOf(app, creditNote.id), ['credit_note.created', 'credit_note.settled']);

  const { invoiceLineItems } = await app.get(`/invoices/${invoice.id}`);
  const creditedOf = new Map(invoiceLineItems.map((line: Body) => [line.id, line.creditedAmount]));
  assert.deepEqual([creditedOf.get(seats), creditedOf.get(setup)], [1000, undefined]);

  // All that is left of both lines is the rest of the invoice, to the cent.
  const rest = await credited(invoice.id, 'refund', [{ invoiceLineItemId: setup }, { invoiceLineItemId: seats }]);
  assert.deepEqual(amountsOf(rest.creditNote), [250, 2250, 428, 2678]);
  assert.match(rest.creditNote.creditNoteNumber, /-CN-00002$/);
  assert.equal((await invoiceNow(invoice.id)).status, 'refunded');
  const none = await credit(invoice.id, 'refund', [{ invoiceLineItemId: seats, amount: 1 }]);
  assert.equal(none.status, 400);
  assert.match(none.body.message, /something is left/);
  await sound();
});

test('a credit note over two of three lines takes back those with their discount and tax, and leaves the third', async () => {
  const { pricingModelId, customerId } = await insertFixture(app);
  const redemption = { pricingModelId, customerId, subscriptionId: null };
  const discount = await insertRedemption(app, redemption, { amountType: 'fixed', amount: 100n });
  // 1.00 off 10.00 is 0.33, 0.33 and 0.34, and 19 % of 9.00 are 1.71.
  const { invoice, lineIds } = await invoiceOf(
    { pricingModelId, customerId, paymentMethodId: '' },
    [staticLine(1, 333n, 'One'), staticLine(1, 333n, 'Two'), staticLine(1, 334n, 'Three')],
    { discounts: [discount], tax: vat },
  );
  const [one, two, three] = lineIds;
  const { creditNote, creditNoteLines } = await credited(invoice.id, 'offset', [
    { invoiceLineItemId: three },
    { invoiceLineItemId: one, amount: 100 },
  ]);
  assert.deepEqual(
    creditNoteLines.map(({ amount, discountAmount, taxAmount }: Body) => [amount, discountAmount, taxAmount]),
    [
      [334, 34, 57],
      [100, 10, 17],
    ],
  );
  assert.deepEqual(amountsOf(creditNote), [44, 390, 74, 464]);
  const { total, offsetAmount } = await invoiceNow(invoice.id);
  assert.deepEqual([total, offsetAmount], [1071, 464]);
  const left = [{ invoiceLineItemId: one }, { invoiceLineItemId: two }];
  const rest = await credited(invoice.id, 'offset', left, '?dryRun=true');
  assert.equal(rest.creditNote.total, 1071 - 464);
  await sound();
});

test('a credit note has an explanation, a page and a PDF', async () => {
  const payer = await newPayer(app);
  const tax = { ...vat, inclusive: true };
  const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 1190n, 'Year <1>')], { tax });
  const { creditNote } = await credited(invoice.id, 'offset', [{ invoiceLineItemId: lineIds[0], amount: 595 }]);
  assert.deepEqual(amountsOf(creditNote), [0, 500, 95, 595]);
  const explained = await app.get(`/credit-notes/${creditNote.id}/explain`);
  const share = { whole: 190, creditedBefore: 0, numerator: String(190 * 595), denominator: '1190', share: 95 };
  assert.deepEqual(explained.lines[0].tax, share);
  assert.deepEqual([explained.sumOfLines, explained.total], [595, 595]);
  const page = await app.request('GET', `/credit-notes/${creditNote.id}/html`);
  const text = String(page.body);
  for (const part of [
    `Credit note ${creditNote.creditNoteNumber}`,
    invoice.invoiceNumber ?? '',
    'Year &lt;1&gt;',
    '5.95',
    'Late',
  ])
    assert.ok(text.includes(part), part);
  const pdf = await app.request('GET', `/credit-notes/${creditNote.id}/pdf`);
  assert.equal(pdf.status, 200);
  assert.equal((await app.get(`/credit-notes/${creditNote.id}`)).creditNote.id, creditNote.id);
});

test('an offset lowers what is due, and one of all that is due pays the invoice', async () => {
  const payer = await newPayer(app);
  const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 5000n)]);
  const [line] = lineIds;
  await app.post(`/invoices/${invoice.id}/record-payment`, { payment: { amount: 2000 } });
  const first = await credited(invoice.id, 'offset', [{ invoiceLineItemId: line, amount: 1000 }]);
  assert.equal(first.creditNote.status, 'issued');
  const tooMuch = await credit(invoice.id, 'offset', [{ invoiceLineItemId: line, amount: 2001 }]);
  assert.equal(tooMuch.status, 400);
  assert.match(tooMuch.body.message, /at most 2000, the amount due/);
  const { body } = await app.request('POST', `/invoices/${invoice.id}/record-payment`, { payment: { amount: 2001 } });
  assert.match(body.message, /at most 2000/);

  const second = await credited(invoice.id, 'offset', [{ invoiceLineItemId: line, amount: 2000 }]);
  assert.equal(second.creditNote.status, 'settled');
  assert.equal((await app.get(`/credit-notes/${first.creditNote.id}`)).creditNote.status, 'settled');
  const { status, amountPaid, offsetAmount, creditedAmount } = await invoiceNow(invoice.id);
  assert.deepEqual([status, amountPaid, offsetAmount, creditedAmount], ['paid', 2000, 3000, 3000]);
  const { data } = await app.get(`/credit-notes?customerId=${payer.customerId}&status=settled&settle=offset`);
  assert.equal(data.length, 2);
  await sound();
});

test('an offset is voided while its invoice is open, and its amount is due and creditable again', async () => {
  const payer = await newPayer(app);
  const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 300n)], { tax: vat });
  const lines = [{ invoiceLineItemId: lineIds[0], amount: 100 }];
  const { creditNote } = await credited(invoice.id, 'offset', lines);
  const { creditNote: voided } = await app.post(`/credit-notes/${creditNote.id}/void`);
  assert.deepEqual([voided.status, typeof voided.voidedAt], ['void', 'number']);
  assert.equal((await app.request('POST', `/credit-notes/${creditNote.id}/void`)).status, 400);
  assert.equal((await invoiceNow(invoice.id)).creditedAmount, undefined);
  const again = await credited(invoice.id, 'offset', [{ invoiceLineItemId: lineIds[0] }]);
  assert.deepEqual([again.creditNote.total, again.creditNote.status], [357, 'settled']);
  assert.match(again.creditNote.creditNoteNumber, /-CN-00002$/);
  assert.deepEqual(await eventsOf(app, creditNote.id), ['credit_note.created', 'credit_note.voided']);
  await sound();
});

test('an invoice that is voided takes its offsets with it', async () => {
  const payer = await newPayer(app);
  const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 300n)]);
  const { creditNote } = await credited(invoice.id, 'offset', [{ invoiceLineItemId: lineIds[0], amount: 100 }]);
  await app.post(`/invoices/${invoice.id}/void`);
  assert.equal((await app.get(`/credit-notes/${creditNote.id}`)).creditNote.status, 'void');
  const { status, body } = await credit(invoice.id, 'offset', [{ invoiceLineItemId: lineIds[0] }]);
  assert.deepEqual([status, body.reason], [400, 'invoice_not_creditable']);
  await sound();
});

test('a refund that the processor refuses voids its credit note', async () => {
  const payer = await newPayer(app, 'pm_card_refundFail');
  const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 300n)]);
  await paid(invoice, payer);
  const { status, body } = await credit(invoice.id, 'refund', [{ invoiceLineItemId: lineIds[0] }]);
  assert.deepEqual([status, body.reason], [400, 'refund_failed']);
  const { data } = await app.get(`/credit-notes?invoiceId=${invoice.id}`);
  assert.deepEqual(
    data.map((note: Body) => note.status),
    ['void'],
  );
  assert.equal((await invoiceNow(invoice.id)).creditedAmount, undefined);
  await sound();
});

describe('a refund makes its credit note by itself', () => {
  const refund = (paymentId: string, body: Body = {}, query = '') =>
    app.request('POST', `/payments/${paymentId}/refund${query}`, body);
  const notesOf = async (invoiceId: string): Promise<Body[]> =>
    (await app.get(`/credit-notes?invoiceId=${invoiceId}`)).data;

  test('11.90 of 41.65 with 19 % tax are 10.00 and 1.90 of tax of both lines, and the rest is the rest', async () => {
    const payer = await newPayer(app);
    const { invoice } = await invoiceOf(payer, [staticLine(3, 1000n, 'Seats'), staticLine(1, 500n, 'Setup')], {
      tax: vat,
    });
    const paymentId = await paid(invoice, payer);
    assert.equal((await refund(paymentId, { partialAmount: 1190 }, '?dryRun=true')).status, 200);
    assert.deepEqual(await notesOf(invoice.id), []);
    assert.equal((await refund(paymentId, { partialAmount: 1190 })).status, 200);
    const [note] = await notesOf(invoice.id);
    assert.deepEqual(amountsOf(note ?? {}), [0, 1000, 190, 1190]);
    assert.deepEqual([note?.status, note?.settle, note?.paymentId], ['settled', 'refund', paymentId]);
    assert.match(note?.creditNoteNumber, /-CN-00001$/);
    const { creditNoteLines } = await app.get(`/credit-notes/${note?.id}`);
    // 10.20 of the 35.70 for seats, and 1.70 of the 5.95 for the setup.
    const shares = creditNoteLines.map(({ amount, taxAmount }: Body) => [amount, taxAmount]);
    assert.deepEqual(shares, [
      [857, 163],
      [143, 27],
    ]);
    assert.deepEqual(await eventsOf(app, note?.id), ['credit_note.created', 'credit_note.settled']);
    assert.equal((await refund(paymentId)).status, 200);
    assert.deepEqual((await notesOf(invoice.id)).map(amountsOf), [
      [0, 1000, 190, 1190],
      [0, 2500, 475, 2975],
    ]);
    await sound();
  });

  test('a refund after a credit note that refunds takes back only what is left, and makes one of its own', async () => {
    const payer = await newPayer(app);
    const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 1000n), staticLine(1, 500n)]);
    const paymentId = await paid(invoice, payer);
    await credited(invoice.id, 'refund', [{ invoiceLineItemId: lineIds[0] }]);
    assert.equal((await notesOf(invoice.id)).length, 1);
    assert.equal((await refund(paymentId)).status, 200);
    assert.deepEqual(
      (await notesOf(invoice.id)).map(({ total }) => total),
      [1000, 500],
    );
    assert.deepEqual(await operationsOf(app, paymentId), ['charge', 'refund', 'refund']);
    await sound();
  });

  test('one that the processor refuses is void again, and its lines may be credited', async () => {
    const payer = await newPayer(app, 'pm_card_refundFail');
    const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 1000n)]);
    const paymentId = await paid(invoice, payer);
    assert.equal((await refund(paymentId)).status, 400);
    assert.deepEqual(
      (await notesOf(invoice.id)).map(({ status, total }) => [status, total]),
      [['void', 1000]],
    );
    await credited(invoice.id, 'balance', [{ invoiceLineItemId: lineIds[0] }]);
    await sound();
  });
});

test('after a reversed payment the invoice is owed less what its credit note gave back', async () => {
  const payer = await newPayer(app);
  const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 1000n)]);
  const paymentId = await paid(invoice, payer);
  await credited(invoice.id, 'refund', [{ invoiceLineItemId: lineIds[0], amount: 300 }]);
  await tell(app, { id: paymentId }, { result: 'reversed', code: 'dispute', message: 'The bank took it back.' });
  const { status, amountPaid, offsetAmount } = await invoiceNow(invoice.id);
  assert.deepEqual([status, amountPaid, offsetAmount], ['open', 0, 300]);
  const { invoice: again } = await app.post(`/invoices/${invoice.id}/record-payment`, { payment: {} });
  assert.deepEqual([again.status, again.amountPaid], ['paid', 700]);
  await sound();
});

test('a wrong line, amount or settlement is refused with the field, and nothing is stored', async () => {
  const payer = await newPayer(app);
  const { invoice, lineIds } = await invoiceOf(payer, [staticLine(2, 100n), staticLine(1, -50n, 'Paid before')]);
  const other = await invoiceOf(payer, [staticLine(1, 100n)]);
  const [line, lowered] = lineIds;
  const rows: [lines: Body[], settle: string, message: RegExp][] = [
    [[], 'offset', /creditNote\.lines/],
    [[{ invoiceLineItemId: line, amount: 0 }], 'offset', /creditNote\.lines\.0\.amount/],
    [[{ invoiceLineItemId: line, amount: 201 }], 'offset', /lines\.0\.amount: must be at most 200/],
    [[{ invoiceLineItemId: line, quantity: 3 }], 'offset', /lines\.0\.quantity: must be at most 2/],
    [[{ invoiceLineItemId: line, quantity: 1, amount: 1 }], 'offset', /lines\.0\.quantity/],
    [[{ invoiceLineItemId: line }, { invoiceLineItemId: line }], 'offset', /lines\.1\.invoiceLineItemId.*once/],
    [[{ invoiceLineItemId: other.lineIds[0] }], 'offset', /lines\.0\.invoiceLineItemId.*of the invoice/],
    [[{ invoiceLineItemId: lowered }], 'offset', /something is left/],
    // 200 less 50 that were paid before: the invoice never asked for more.
    [[{ invoiceLineItemId: line }], 'offset', /at most 150, what is left of the invoice/],
    [[{ invoiceLineItemId: line, amount: 1 }], 'refund', /has 1 left to refund/],
    [[{ invoiceLineItemId: line, amount: 1 }], 'gift', /creditNote\.settle/],
  ];
  for (const [lines, settle, message] of rows) {
    const { status, body } = await credit(invoice.id, settle, lines);
    assert.equal(status, 400, JSON.stringify(body));
    assert.match(body.message, message);
  }
  assert.equal((await credit('inv_none', 'offset', [{ invoiceLineItemId: line }])).status, 404);
  assert.equal((await app.get(`/credit-notes?invoiceId=${invoice.id}`)).total, 0);
});

test('fifty credit notes at once never take back more than the line', async () => {
  const payer = await newPayer(app);
  const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 1000n), staticLine(1, 5000n)], { tax: vat });
  // 30 of 1000 fit 33 times, and leave 10.
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => credit(invoice.id, 'offset', [{ invoiceLineItemId: lineIds[0], amount: 30 }])),
  );
  const made = answers.filter(({ status }) => status === 200);
  assert.equal(made.length, 33);
  assert.ok(answers.every(({ status }) => status === 200 || status === 400));
  const numbers = made.map(({ body }) => Number(body.creditNote.creditNoteNumber.slice(-5))).sort((a, b) => a - b);
  assert.deepEqual(
    numbers,
    Array.from({ length: 33 }, (_, index) => index + 1),
  );
  const { creditNote } = await credited(invoice.id, 'offset', [{ invoiceLineItemId: lineIds[0] }]);
  // All of them together are the line with its tax.
  assert.equal(
    made.reduce((sum, { body }) => sum + body.creditNote.total, creditNote.total),
    1190,
  );
  await sound();
});

test('a repeated request with its key credits once', async () => {
  const payer = await newPayer(app);
  const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 1000n)]);
  const body = { creditNote: { lines: [{ invoiceLineItemId: lineIds[0], amount: 10 }], settle: 'offset' } };
  const headers = { 'Idempotency-Key': `credit-${invoice.id}` };
  const send = () => app.request('POST', `/invoices/${invoice.id}/credit-notes`, body, { headers });
  const [first, second] = [await send(), await send()];
  assert.deepEqual(second.body, first.body);
  assert.equal((await invoiceNow(invoice.id)).creditedAmount, 10);
});

test('an offset of a renewal that could not be collected makes its subscription active again', async () => {
  const debtor = await newDebtor(app);
  await debtor.swapCard('pm_card_chargeCustomerFail');
  await debtor.moveTo('2026-02-01');
  assert.equal((await debtor.subscription()).status, 'past_due');
  const { data } = await debtor.caller.get(`/invoices?status=open&subscriptionId=${debtor.subscriptionId}`);
  const { invoiceLineItems } = await debtor.caller.get(`/invoices/${data[0].id}`);
  const lines = invoiceLineItems.map(({ id }: Body) => ({ invoiceLineItemId: id }));
  const { status, body } = await debtor.send(`/invoices/${data[0].id}/credit-notes`, {
    creditNote: { lines, settle: 'offset' },
  });
  assert.deepEqual([status, body.creditNote?.status], [200, 'settled'], JSON.stringify(body));
  assert.equal((await debtor.subscription()).status, 'active');
  await sound();
});

describe('the balance of a customer', () => {
  const balanceOf = async ({ caller, customerId }: Debtor): Promise<Body> =>
    (await caller.get(`/customer-balances?customerId=${customerId}`)).data[0];
  const give = (debtor: Debtor, amount: number) =>
    debtor.send('/customer-balances/adjust', {
      adjustment: { customerExternalId: 'ada', amount, description: 'Sorry' },
    });

  test('a balance of 80.75 pays renewals of 30.75 and 30.00 and 20.00 of a third, whose card pays 10.00', async () => {
    const debtor = await newDebtor(app);
    const given = await give(debtor, 8075);
    assert.equal(given.status, 200, JSON.stringify(given.body));
    const upcoming = async () =>
      (await debtor.caller.get(`/invoices/upcoming?subscriptionId=${debtor.subscriptionId}`)).invoice;
    // The usage so far raises it by 0.75.
    assert.deepEqual([(await upcoming()).total, (await upcoming()).balanceApplied], [3075, 3075]);
    await debtor.moveTo('2026-04-01');
    assert.equal((await upcoming()).balanceApplied, undefined);
    const { data } = await debtor.caller.get(`/invoices?subscriptionId=${debtor.subscriptionId}`);
    assert.deepEqual(
      data.map(({ status, total, amountPaid, balanceApplied }: Body) => [status, total, amountPaid, balanceApplied]),
      [
        ['paid', 3000, 3000, undefined],
        ['paid', 3075, 0, 3075],
        ['paid', 3000, 0, 3000],
        ['paid', 3000, 1000, 2000],
      ],
    );
    const { id, balance, credited: added, debited } = await balanceOf(debtor);
    assert.deepEqual([balance, added, debited], [0, 8075, 8075]);
    const entries = await debtor.caller.get(`/customer-balances/${id}/entries`);
    assert.deepEqual(
      entries.data.map(({ source, amount, balanceAfter }: Body) => [source, amount, balanceAfter]),
      [
        ['manual', 8075, 8075],
        ['invoice', -3075, 5000],
        ['invoice', -3000, 2000],
        ['invoice', -2000, 0],
      ],
    );
    assert.equal((await debtor.subscription()).status, 'active');
    await sound();
  });

  test('a voided invoice gives back what the balance paid of it', async () => {
    const debtor = await newDebtor(app);
    await give(debtor, 1000);
    await debtor.swapCard('pm_card_chargeCustomerFail');
    await debtor.moveTo('2026-02-01');
    const { data } = await debtor.caller.get(`/invoices?status=open&subscriptionId=${debtor.subscriptionId}`);
    assert.deepEqual([data[0].balanceApplied, (await balanceOf(debtor)).balance], [1000, 0]);
    const { invoice } = await debtor.caller.post(`/invoices/${data[0].id}/void`);
    assert.equal(invoice.balanceApplied, undefined);
    assert.equal((await balanceOf(debtor)).balance, 1000);
    await sound();
  });

  /** Credits part of the paid first invoice to the balance. */
  async function creditToBalance(debtor: Debtor, amount: number) {
    const { data } = await debtor.caller.get(`/invoices?subscriptionId=${debtor.subscriptionId}`);
    const [line] = (await debtor.caller.get(`/invoices/${data[0].id}`)).invoiceLineItems;
    const path = `/invoices/${data[0].id}/credit-notes`;
    return debtor.send(path, { creditNote: { lines: [{ invoiceLineItemId: line.id, amount }], settle: 'balance' } });
  }

  test('a credit note of 10.00 to the balance pays 10.00 of the next renewal, and the card the other 20.75', async () => {
    const debtor = await newDebtor(app);
    const { status, body } = await creditToBalance(debtor, 1000);
    assert.deepEqual([status, body.creditNote?.status], [200, 'settled'], JSON.stringify(body));
    const { id, balance } = await balanceOf(debtor);
    assert.equal(balance, 1000);
    const [entry] = (await debtor.caller.get(`/customer-balances/${id}/entries`)).data;
    assert.deepEqual(
      [entry.source, entry.amount, entry.creditNoteId, entry.invoiceId],
      ['credit_note', 1000, body.creditNote.id, null],
    );
    await debtor.moveTo('2026-02-01');
    const { data } = await debtor.caller.get(`/invoices?subscriptionId=${debtor.subscriptionId}`);
    assert.deepEqual(
      data.map(({ status: of, amountPaid, balanceApplied, creditedAmount, balanceCredited }: Body) => [
        of,
        amountPaid,
        balanceApplied,
        creditedAmount,
        balanceCredited,
      ]),
      [
        ['paid', 3000, undefined, 1000, 1000],
        ['paid', 2075, 1000, undefined, undefined],
      ],
    );
    // The balance has nothing left to take back.
    const voided = await debtor.send(`/credit-notes/${body.creditNote.id}/void`);
    assert.deepEqual([voided.status, voided.body.reason], [400, 'credit_note_not_voidable']);
    assert.match(voided.body.message, /which has 0 left/);
    await sound();
  });

  test('what went to the balance is not refunded too, and can be once its credit note is voided', async () => {
    const debtor = await newDebtor(app);
    const { body } = await creditToBalance(debtor, 2000);
    const [payment] = (await debtor.caller.get('/payments')).data;
    const refund = (partialAmount?: number) =>
      debtor.send(`/payments/${payment.id}/refund`, partialAmount === undefined ? {} : { partialAmount });
    for (const answer of [await refund(), await refund(1001)]) {
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /partialAmount: must be at most 1000: 2000 went to the balance/);
    }
    assert.equal((await refund(400)).status, 200);
    const more = await creditToBalance(debtor, 601);
    assert.match(more.body.message, /at most 600/);
    const { creditNote } = await debtor.caller.post(`/credit-notes/${body.creditNote.id}/void`);
    assert.deepEqual([creditNote.status, creditNote.settledAt], ['void', null]);
    assert.equal((await balanceOf(debtor)).balance, 0);
    assert.equal((await debtor.send(`/credit-notes/${creditNote.id}/void`)).status, 400);
    assert.equal((await refund()).status, 200);
    await sound();
  });

  test('fifty credit notes to a balance at once, half with a refund of their own, never give back more than was paid', async () => {
    const debtor = await newDebtor(app);
    const [payment] = (await debtor.caller.get('/payments')).data;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        n % 2 === 0
          ? creditToBalance(debtor, 170)
          : debtor.send(`/payments/${payment.id}/refund`, { partialAmount: 170 }),
      ),
    );
    // 170 of 3000 fit 17 times.
    assert.equal(answers.filter(({ status }) => status === 200).length, 17);
    const { balance } = (await balanceOf(debtor)) ?? { balance: 0 };
    const { refundedAmount } = (await debtor.caller.get(`/payments/${payment.id}`)).payment;
    assert.equal(balance + (refundedAmount ?? 0), 17 * 170);
    await sound();
  });

  test('an invoice of which a balance was credited is not voided after its payment was reversed', async () => {
    const payer = await newPayer(app);
    const { invoice, lineIds } = await invoiceOf(payer, [staticLine(1, 1000n)]);
    const paymentId = await paid(invoice, payer);
    await credited(invoice.id, 'balance', [{ invoiceLineItemId: lineIds[0], amount: 300 }]);
    await tell(app, { id: paymentId }, { result: 'reversed', code: 'dispute', message: 'The bank took it back.' });
    const { status, body } = await app.request('POST', `/invoices/${invoice.id}/void`);
    assert.deepEqual([status, body.reason], [400, 'invoice_partly_paid'], JSON.stringify(body));
    const { status: now, amountPaid, balanceCredited } = await invoiceNow(invoice.id);
    assert.deepEqual([now, amountPaid, balanceCredited], ['open', 0, 300]);
    const { invoice: again } = await app.post(`/invoices/${invoice.id}/record-payment`, { payment: {} });
    assert.deepEqual([again.status, again.amountPaid], ['paid', 1000]);
    await sound();
  });

  test('a balance is taken off by hand down to nothing, and fifty at once never take more', async () => {
    const debtor = await newDebtor(app);
    await give(debtor, 100);
    const answers = await Promise.all(Array.from({ length: 50 }, () => give(debtor, -3)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 33);
    const refused = await give(debtor, -2);
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /adjustment\.amount: must take off at most 1/);
    assert.equal((await give(debtor, 0)).status, 400);
    assert.equal((await balanceOf(debtor)).balance, 1);
    await sound();
  });
});

test('a refund of an invoice that paused time lowered takes back the tax of the invoice, as its explanation shows', async () => {
  const payer = await newPayer(app);
  const { invoice } = await invoiceOf(payer, [staticLine(1, 1000n), staticLine(1, -300n)], { tax: vat });
  assert.deepEqual([invoice.subtotal, invoice.taxAmount], [700n, 133n]);
  const paymentId = await paid(invoice, payer);
  await app.post(`/payments/${paymentId}/refund`, { partialAmount: 417 });
  await app.post(`/payments/${paymentId}/refund`, {});
  const notes = (await app.get(`/credit-notes?invoiceId=${invoice.id}`)).data as Body[];
  assert.deepEqual(notes.map(amountsOf), [
    [0, 350, 67, 417],
    [0, 350, 66, 416],
  ]);
  const { lines } = await app.get(`/credit-notes/${notes[1]?.id}/explain`);
  const tax = { whole: 133, creditedBefore: 67, share: 66, numerator: '93100', denominator: '700' };
  assert.deepEqual([lines[0].amount, lines[0].tax], [350, tax]);
  await sound();
});
