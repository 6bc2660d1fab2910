import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { giveUpInvoice, listInvoicesOfCustomer, voidInvoice } from '../../src/invoicing/actions.ts';
import { attemptFailed, attemptInFlight } from '../../src/invoicing/collection.ts';
import {
  amountDue,
  decidePaid,
  decideRefunded,
  type InvoiceDiscount,
  InvoiceStatus,
  invoiceTransitions,
  maxInvoiceTotal,
} from '../../src/invoicing/invoice.ts';
import { itemLine, type NewLine } from '../../src/invoicing/invoice-line-item.ts';
import { describeUsage } from '../../src/invoicing/line-text.ts';
import { draftInvoice, type NewInvoice } from '../../src/invoicing/new-invoice.ts';
import { lockInvoices, saveCollections } from '../../src/invoicing/store-collecting.ts';
import { Problem } from '../../src/kernel/problem.ts';
import { usageAmount } from '../../src/rating/usage.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';
import { createInvoice, newInvoice, newLedgerAccount, standalone, staticLine } from '../support/invoice-fixture.ts';

const app = await startTestApp();

/** What lines come to, and the status that their invoice begins in. */
function begin(lines: NewLine[], discount: InvoiceDiscount | null = null) {
  const draft = draftInvoice({
    ...{ customerId: 'cust', pricingModelId: 'model', subscriptionId: null, billingPeriod: null, seller: null },
    ...{ reason: 'renewal', currency: 'USD', invoiceDate: 0, dueDate: 0, tax: null, lines },
    discounts: discount === null ? [] : [discount],
  });
  return { total: draft.total, status: draft.status, carries: draft.discounts[0]?.code ?? null };
}
const off = (kind: InvoiceDiscount['kind'], amount: bigint): InvoiceDiscount => ({
  redemptionId: 'redemption',
  code: 'LESS',
  kind,
  amount,
});

test('I1: one item at 3000 is 3000', () => {
  assert.deepEqual(begin([staticLine(1, 3000n)]), { total: 3000n, status: 'open', carries: null });
});

test('I4: a fixed 500 off 300 leaves nothing, and nothing is paid at once', () => {
  assert.deepEqual(begin([staticLine(1, 300n)], off('fixed', 500n)), { total: 0n, status: 'paid', carries: 'LESS' });
});

test('I8: all of it off is paid at once as well', () => {
  const lines = [staticLine(1, 1000n)];
  assert.deepEqual(begin(lines, off('percent', 100n)), { total: 0n, status: 'paid', carries: 'LESS' });
});

test('a discount that has nothing to be taken off is not carried, so it is not used up', () => {
  assert.deepEqual(begin([staticLine(1, 0n)], off('percent', 50n)), { total: 0n, status: 'paid', carries: null });
});

for (const [name, units, due] of [
  ['I5: 200 units at 50 per 100 beside 2000 are 2100', 200n, 2100n],
  ['I6: 250 units at 50 per 100 are exactly 125, not 100 or 150', 250n, 2125n],
] as const) {
  test(name, () => {
    const amount = usageAmount({ units, unitPrice: 50n, usageEventsPerUnit: 100n });
    const explanation = { kind: 'usage', units, unitPrice: 50n, usageEventsPerUnit: 100 } as const;
    const usage = { explanation, priceId: 'price', ledgerAccountId: 'account', description: null };
    assert.equal(begin([staticLine(1, 2000n), { type: 'usage', units, amount, ...usage }]).total, due);
  });
}

test('I7: of 5000, 2000 are paid already, so 3000 are due', () => {
  assert.equal(amountDue({ total: 5000n, offsetAmount: 0n, balanceApplied: 0n, amountPaid: 2000n }), 3000n);
});

test('an invoice is the sum of its lines, each of them price x quantity', () => {
  const line = fc.record({ quantity: fc.nat(1000), price: fc.bigInt(0n, 10n ** 9n) });
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const sum = lines.reduce((total, { quantity, price }) => total + price * BigInt(quantity), 0n);
      assert.equal(begin(lines.map(({ quantity, price }) => staticLine(quantity, price))).total, sum);
    }),
  );
});

test('an invoice above what one payment can carry is refused, the bound itself is not', () => {
  assert.equal(begin([staticLine(1, maxInvoiceTotal)]).total, 4503599627370495n);
  assert.throws(() => begin([staticLine(1, maxInvoiceTotal), staticLine(1, 1n)]), { problem: 'invoiceTooLarge' });
});

test('no way leads out of void, uncollectible and refunded; out of paid lead refunds and a payment taken back', () => {
  const exits = (status: InvoiceStatus) => Object.keys(invoiceTransitions[status]).sort();
  for (const status of ['void', 'uncollectible', 'refunded'] as const) assert.deepEqual(exits(status), []);
  assert.deepEqual(exits('paid'), ['payment_reversed', 'refunded', 'refunded_in_part']);
  assert.deepEqual(Object.keys(invoiceTransitions).sort(), [...InvoiceStatus.options].sort());
});

test('paying 100 in two parts and refunding it in two parts passes every status on the way', () => {
  const nothing = {
    amountPaid: 0n,
    amountRefunded: 0n,
    creditedAmount: 0n,
    offsetAmount: 0n,
    balanceApplied: 0n,
    balanceCredited: 0n,
  };
  const open = { status: 'open', total: 100n, ...nothing } as const;
  const part = { ...open, ...decidePaid(open, 40n) };
  const paid = { ...part, ...decidePaid(part, 60n) };
  const partRefunded = { ...paid, ...decideRefunded(paid, 30n) };
  const refunded = { ...partRefunded, ...decideRefunded(partRefunded, 70n) };
  assert.deepEqual(
    [part.status, paid.status, partRefunded.status, refunded.status],
    ['open', 'paid', 'partially_refunded', 'refunded'],
  );
  assert.deepEqual([refunded.amountPaid, refunded.amountRefunded], [100n, 100n]);
});

async function subscriptionInvoice(changes: Partial<NewInvoice> = {}) {
  const fixture = await insertFixture(app);
  const { pricingModelId, customerId, subscriptionId, billingPeriodId, itemId, priceId, usagePriceId } = fixture;
  const ledgerAccountId = await newLedgerAccount(app, fixture);
  const calls = { meterName: 'API calls', units: 250n, unitPrice: 50n, usageEventsPerUnit: 100 };
  const description = describeUsage({ ...calls, currency: 'USD' });
  const explanation = { kind: 'usage', units: 250n, unitPrice: 50n, usageEventsPerUnit: 100 } as const;
  const request: NewInvoice = {
    customerId,
    pricingModelId,
    subscriptionId,
    billingPeriod: { id: billingPeriodId, startAt: 1_000, endAt: 2_000 },
    reason: 'renewal',
    currency: 'USD',
    lines: [
      itemLine({ id: itemId, priceId, name: 'Pro monthly', unitPrice: 3000n, pricing: null, quantity: 2 }, null),
      { type: 'usage', explanation, units: 250n, amount: 125n, priceId: usagePriceId, ledgerAccountId, description },
    ],
    invoiceDate: 1_000,
    dueDate: 1_000,
    discounts: [],
    tax: null,
    seller: null,
    ...changes,
  };
  const create = () => app.inEnvironment((work) => createInvoice(work, request));
  return { fixture, ledgerAccountId, create, invoice: await create() };
}

test('an invoice of a subscription names its period, and a usage line the units it bills', async () => {
  const { fixture, ledgerAccountId, invoice } = await subscriptionInvoice();
  const answer = await app.get(`/invoices/${invoice.id}`);
  assert.deepEqual(Object.keys(answer), ['invoice', 'invoiceLineItems']);
  const { type, status, subtotal, taxAmount, total, amountPaid, amountRefunded, reason } = answer.invoice;
  assert.deepEqual(
    { type, status, subtotal, taxAmount, total, amountPaid, amountRefunded, reason },
    {
      type: 'subscription',
      status: 'open',
      subtotal: 6125,
      taxAmount: 0,
      total: 6125,
      amountPaid: 0,
      amountRefunded: 0,
      reason: undefined,
    },
  );
  assert.equal(answer.invoice.subscriptionId, fixture.subscriptionId);
  assert.equal(answer.invoice.billingPeriodId, fixture.billingPeriodId);
  assert.deepEqual([answer.invoice.billingPeriodStartDate, answer.invoice.billingPeriodEndDate], [1_000, 2_000]);
  assert.equal(answer.invoice.dueDate, answer.invoice.invoiceDate);
  assert.equal(answer.invoice.livemode, false);
  assert.deepEqual([answer.invoice.applicationFee, answer.invoice.purchaseId], [null, null]);
  assert.equal(answer.invoice.pdfURL, `${app.url}/api/v1/invoices/${invoice.id}/pdf`);

  const [items, usage] = answer.invoiceLineItems;
  assert.deepEqual([items.type, items.quantity, items.price, items.amount], ['static', 2, 3000, 6000]);
  assert.deepEqual([items.ledgerAccountId, items.ledgerAccountCredit], [null, null]);
  assert.deepEqual([usage.type, usage.quantity, usage.price, usage.amount], ['usage', 1, 125, 125]);
  assert.deepEqual([usage.ledgerAccountId, usage.ledgerAccountCredit], [ledgerAccountId, 250]);
  assert.equal(usage.description, '250 API calls at USD 0.50 per 100');
});

test('a line is found by its id, bare, and lines are listed by invoice', async () => {
  const { invoice } = await subscriptionInvoice();
  const { data, total } = await app.get(`/invoice-line-items?invoiceId=${invoice.id}`);
  assert.equal(total, 2);
  assert.deepEqual(await app.get(`/invoice-line-items/${data[1].id}`), data[1]);
  assert.equal((await app.request('GET', '/invoice-line-items/inv_li_none')).status, 404);
});

test('invoices are listed by status, customer and subscription', async () => {
  const { fixture, invoice } = await subscriptionInvoice();
  const alone = await newInvoice(app, fixture, 0n);
  const ids = async (query: string) =>
    (await app.get(`/invoices?${query}`)).data.map((each: { id: string }) => each.id);
  assert.deepEqual(await ids(`customerId=${fixture.customerId}`), [invoice.id, alone.id]);
  assert.deepEqual(await ids(`customerId=${fixture.customerId}&status=paid`), [alone.id]);
  assert.deepEqual(await ids(`subscriptionId=${fixture.subscriptionId}`), [invoice.id]);
  assert.deepEqual(await ids('status=draft'), []);
});

test('an invoice without a subscription stands alone', async () => {
  const invoice = await newInvoice(app, await insertFixture(app), 500n);
  const { invoice: shown } = await app.get(`/invoices/${invoice.id}`);
  assert.deepEqual([shown.type, shown.subscriptionId, shown.billingPeriodId], ['standalone', null, null]);
  assert.equal(shown.stripePaymentIntentId, null);
});

test('the invoice of another environment or organization is not there', async () => {
  const { invoice } = await subscriptionInvoice();
  const other = await app.newOrganization();
  for (const key of [app.liveKey, other.testKey]) {
    assert.equal((await app.request('GET', `/invoices/${invoice.id}`, undefined, { key })).status, 404);
    assert.equal((await app.get('/invoices', { key })).total, 0);
  }
});

test('the invoices of a customer come with their lines, the newest first', async () => {
  const { fixture, invoice } = await subscriptionInvoice();
  const newer = await newInvoice(app, fixture, 500n);
  const listed = await app.inEnvironment((work) => listInvoicesOfCustomer(work, fixture.customerId, 2));
  assert.deepEqual(
    listed.map((each) => [each.invoice.id, each.invoiceLineItems.length]),
    [
      [newer.id, 1],
      [invoice.id, 2],
    ],
  );
});

test('twenty invoices at once and one that is rolled back are numbered 1 to 20, without a gap', async () => {
  const fixture = await insertFixture(app);
  const attempts = Array.from({ length: 20 }, () => newInvoice(app, fixture, 100n));
  const rolledBack = app.inEnvironment(async (work) => {
    await createInvoice(work, standalone(work, fixture, [staticLine(1, 100n)]));
    throw new Problem('serviceUnavailable');
  });
  await assert.rejects(rolledBack);
  const numbers = (await Promise.all(attempts)).map(({ invoiceNumber }) => Number(invoiceNumber?.split('-').at(-1)));
  assert.deepEqual(
    numbers.sort((a, b) => a - b),
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
});

test('a period is invoiced once for a reason, but adjusted as often as needed', async () => {
  const renewal = await subscriptionInvoice();
  await assert.rejects(renewal.create(), { constraint: 'invoices_one_per_period' });
  const adjustment = await subscriptionInvoice({ reason: 'adjustment' });
  assert.equal((await adjustment.create()).status, 'open');
});

test('an open invoice can be voided or given up, and then nothing more can happen to it', async () => {
  const fixture = await insertFixture(app);
  const [taken, lost] = [await newInvoice(app, fixture, 100n), await newInvoice(app, fixture, 100n)];
  assert.equal((await app.inEnvironment((work) => voidInvoice(work, taken.id))).status, 'void');
  assert.equal((await app.inEnvironment((work) => giveUpInvoice(work, lost.id))).status, 'uncollectible');
  for (const { id } of [taken, lost]) {
    const again = app.inEnvironment((work) => voidInvoice(work, id));
    await assert.rejects(again, { problem: 'invoiceStatusForbids', status: 400 });
  }
});

test('an invoice whose payment is under way cannot be voided until the payment has failed', async () => {
  const { id } = await newInvoice(app, await insertFixture(app), 100n);
  const move = (change: typeof attemptFailed) =>
    app.inEnvironment(async (work) => saveCollections(work, (await lockInvoices(work, [id])).map(change)));
  await move(attemptInFlight);
  await assert.rejects(
    app.inEnvironment((work) => voidInvoice(work, id)),
    { problem: 'invoiceStatusForbids' },
  );
  await move(attemptFailed);
  assert.equal((await app.inEnvironment((work) => voidInvoice(work, id))).status, 'void');
});
