import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Debtor, dayOf, newDebtor } from '../support/debtor.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';
import { subscribeFor } from '../support/years.ts';

const app = await startTestApp();
after(() => assertSound(app));

const germany = { name: 'Ada', address: { line1: 'Gasse 1', city: 'Berlin', postal_code: '10115', country: 'DE' } };

/** A customer of Germany, whose invoices bear 19 % on top, on 1 January. */
async function newBuyer(settings: Body = {}, token: string | undefined = 'pm_card_visa') {
  const debtor = await newDebtor(app, { token }, { netTermsDays: 30, taxProvider: 'rates', ...settings });
  const { caller, customerId } = debtor;
  await caller.post('/tax-rates', { taxRate: { country: 'DE', type: 'vat', percentage: '19' } });
  const { customer } = await caller.put('/customers/ada', { customer: { billingAddress: germany } });
  assert.equal(customer.id, customerId);
  const write = (invoice: Body) => caller.post('/invoices', { invoice: { customerExternalId: 'ada', ...invoice } });
  const finalize = (id: string) => caller.post(`/invoices/${id}/finalize`, {});
  const refusal = async (path: string, body: Body = {}) => {
    const answer = await debtor.send(path, body);
    assert.notEqual(answer.status, 200);
    return `${answer.status} ${answer.body.message}`;
  };
  return { ...debtor, write, finalize, refusal };
}

const workshop = { description: 'Workshop', quantity: 2, unitAmount: 45000 };
const travel = { description: 'Travel', unitAmount: 12000, taxable: false };
const amountsOf = ({ discountAmount, subtotal, taxAmount, total }: Body) => [
  discountAmount,
  subtotal,
  taxAmount,
  total,
];

test('a one-off invoice is written, discounted, taxed but for its untaxed line, numbered when finalized, and explained', async () => {
  const { caller, write, finalize } = await newBuyer();
  await caller.post('/discounts', {
    discount: { name: 'Friend', code: 'FRIEND', amount: 10, amountType: 'percent', duration: 'once' },
  });
  const service = { start: '2026-01-12', end: '2026-01-14' };
  const written = await write({
    lines: [{ ...workshop, servicePeriod: service }, travel],
    discountCode: 'friend',
    netTermsDays: 14,
    memo: 'Thank you',
    footer: 'Registered in Berlin',
    purchaseOrderNumber: 'PO-7',
  });
  // 900 and 120 less 10 % are 810 and 108; 19 % of 810 are 153.90.
  assert.deepEqual(amountsOf(written.invoice), [10200, 91800, 15390, 107190]);
  const { status, invoiceNumber, dueDate, type, netTermsDays } = written.invoice;
  assert.deepEqual([status, invoiceNumber, dueDate, type, netTermsDays], ['draft', null, null, 'standalone', 14]);
  const [first, second] = written.invoiceLineItems;
  assert.deepEqual(first.servicePeriod, { start: Date.UTC(2026, 0, 12), end: Date.UTC(2026, 0, 14) });
  assert.deepEqual([first.amount, second.amount, first.taxable, second.taxable], [90000, 12000, undefined, false]);
  assert.equal((await caller.get('/discounts?code=FRIEND')).data[0].redemptionCount, 1);

  const { invoice } = await finalize(written.invoice.id);
  assert.deepEqual(amountsOf(invoice), [10200, 91800, 15390, 107190]);
  assert.equal(invoice.status, 'open');
  assert.match(invoice.invoiceNumber, /-00002$/);
  assert.equal(dayOf(invoice.dueDate), '2026-01-15');
  assert.deepEqual(await finalize(invoice.id), {
    invoice,
    invoiceLineItems: written.invoiceLineItems.map(unstamped(invoice)),
  });
  const explained = await caller.get(`/invoices/${invoice.id}/explain`);
  assert.deepEqual([explained.reason, explained.taxable, explained.tax.amount], ['one_off', 81000, 15390]);
  assert.deepEqual(
    explained.lines.map(({ kind, discountShare, taxShare }: Body) => [kind, discountShare, taxShare]),
    [
      ['item', 9000, 15390],
      ['item', 1200, 0],
    ],
  );
  await caller.post(`/invoices/${invoice.id}/record-payment`, { payment: { amount: 100000 } });
  const part = (await caller.get(`/invoices/${invoice.id}`)).invoice;
  assert.deepEqual([part.status, part.amountPaid], ['open', 100000]);
  await caller.post(`/invoices/${invoice.id}/record-payment`, {});
  assert.equal((await caller.get(`/invoices/${invoice.id}`)).invoice.status, 'paid');
});

/** A line as it was when its invoice was finalized. */
function unstamped({ updatedAt }: Body) {
  return (line: Body) => ({ ...line, updatedAt });
}

test('a draft is changed, its lines are added and taken off, and it is deleted without a trace in the numbers', async () => {
  const { caller, write, finalize, refusal } = await newBuyer();
  const { product } = await caller.post('/products', {
    product: { name: 'Audit', slug: 'audit' },
    price: { type: 'single_payment', slug: 'audit', unitPrice: 30000 },
  });
  assert.ok(product);
  const { invoice } = await write({ lines: [workshop] });
  const path = `/invoices/${invoice.id}`;
  const added = await caller.post(`${path}/lines`, { lines: [travel, { priceSlug: 'audit', quantity: 3 }] });
  assert.deepEqual(
    added.invoiceLineItems.map(({ description, amount }: Body) => [description, amount]),
    [
      ['Workshop', 90000],
      ['Travel', 12000],
      ['Audit', 90000],
    ],
  );
  // 19 % of 1,800.00 are 342.00.
  assert.deepEqual(amountsOf(added.invoice), [0, 192000, 34200, 226200]);
  const [, , audit] = added.invoiceLineItems;
  const fewer = await caller.delete(`${path}/lines/${audit.id}`);
  assert.deepEqual(amountsOf(fewer.invoice), [0, 102000, 17100, 119100]);
  const dated = await caller.put(path, { invoice: { dueDate: '2026-02-20', memo: 'Soon' } });
  assert.deepEqual([dayOf(dated.invoice.dueDate), dated.invoice.memo], ['2026-02-20', 'Soon']);
  const terms = await caller.put(path, { invoice: { netTermsDays: 7, lines: [travel] } });
  assert.deepEqual([terms.invoice.dueDate, terms.invoice.netTermsDays, terms.invoice.memo], [null, 7, 'Soon']);
  assert.deepEqual(amountsOf(terms.invoice), [0, 12000, 0, 12000]);
  assert.equal((await caller.get('/customers/ada/billing')).invoices.length, 1);
  assert.equal((await caller.get('/invoices?status=draft')).total, 1);
  const tried = await caller.post(`${path}/finalize?dryRun=true`, {});
  assert.match(tried.invoice.invoiceNumber, /-00002$/);
  const gone = await caller.delete(path);
  assert.equal(gone.invoice.id, invoice.id);
  assert.match(await refusal(`${path}/finalize`), /^404/);
  const empty = await write({});
  assert.match(await refusal(`/invoices/${empty.invoice.id}/finalize`), /^400 Invoice \S+ has no lines/);
  const next = await write({ lines: [workshop] });
  assert.match((await finalize(next.invoice.id)).invoice.invoiceNumber, /-00002$/);
  for (const refused of ['lines', 'void', 'send'])
    assert.match(
      await refusal(
        `/invoices/${refused === 'lines' ? next.invoice.id : empty.invoice.id}/${refused === 'void' ? 'pay' : refused}`,
        {
          lines: [travel],
        },
      ),
      /^400/,
    );
});

test('finalization takes the tax and the buyer of then, lets the balance pay first, and charges the rest on request', async () => {
  const { caller, write, finalize } = await newBuyer();
  await caller.post('/customer-balances/adjust', { adjustment: { customerExternalId: 'ada', amount: 20000 } });
  const { invoice: draft } = await write({ lines: [workshop], autoCollect: true });
  assert.equal(draft.total, 107100);
  await caller.put('/customers/ada', { customer: { name: 'Ada Ltd', taxExempt: true } });
  const { invoice } = await finalize(draft.id);
  assert.deepEqual([invoice.total, invoice.balanceApplied, invoice.amountPaid], [90000, 20000, 70000]);
  assert.deepEqual([invoice.status, invoice.dueDate], ['paid', invoice.invoiceDate]);
  const { data } = await caller.get(`/payments?invoiceId=${invoice.id}`);
  assert.deepEqual(
    data.map(({ amount, status }: Body) => [amount, status]),
    [[70000, 'succeeded']],
  );
});

test('a declined charge of a finalized invoice leaves it open and the subscription alone, and another card pays it', async () => {
  const { caller, write, finalize, attach, subscription, send } = await newBuyer();
  await caller.post('/payment-methods', {
    paymentMethod: { customerExternalId: 'ada', token: 'pm_card_chargeCustomerFail', default: true },
  });
  const { invoice: draft } = await write({ lines: [travel], autoCollect: true });
  const { invoice } = await finalize(draft.id);
  assert.equal(invoice.status, 'open');
  assert.equal((await subscription()).status, 'active');
  const sent = await send(`/invoices/${invoice.id}/send`);
  assert.equal(sent.body.invoice.sentAt, Date.UTC(2026, 0, 1));
  assert.equal((await caller.get('/events?type=invoice.sent')).total, 1);
  const paymentMethodId = await attach('pm_card_visa');
  assert.equal((await caller.post(`/invoices/${invoice.id}/pay`, { paymentMethodId })).invoice.status, 'paid');
  const { data: told } = await caller.get(`/events?objectId=${invoice.id}&limit=100`);
  const types = told.map(({ type }: Body) => type.split('.')[1]);
  assert.deepEqual(types, ['created', 'finalized', 'payment_failed', 'sent', 'paid']);
});

test('an invoice is told of as it is made, finalized and paid, and once as overdue at its due date', async () => {
  const { caller, write, finalize, moveTo } = await newBuyer({}, undefined);
  const told = async (id: string) => {
    const { data } = await caller.get(`/events?objectId=${id}&limit=100`);
    return data.map(({ type, occurredAt, payload }: Body) => `${dayOf(occurredAt)} ${type} ${payload.data.status}`);
  };
  const [late, atOnce, paid] = [
    (await write({ lines: [travel] })).invoice.id,
    (await write({ lines: [travel], netTermsDays: 0 })).invoice.id,
    (await write({ lines: [travel] })).invoice.id,
  ];
  assert.deepEqual(await told(late), ['2026-01-01 invoice.created draft']);
  for (const id of [late, atOnce, paid]) await finalize(id);
  await caller.post(`/invoices/${paid}/record-payment`, { payment: {} });
  await moveTo('2026-03-01');
  const made = ['2026-01-01 invoice.created draft', '2026-01-01 invoice.finalized open'];
  assert.deepEqual(await told(late), [...made, '2026-01-31 invoice.overdue open']);
  assert.deepEqual(await told(atOnce), [...made, '2026-01-02 invoice.overdue open']);
  assert.deepEqual(await told(paid), [...made, '2026-01-01 invoice.paid paid']);
  await caller.post(`/invoices/${late}/void`, {});
  await caller.post(`/invoices/${atOnce}/mark-uncollectible`, {});
  assert.deepEqual((await told(late)).at(-1), '2026-03-01 invoice.voided void');
  assert.deepEqual((await told(atOnce)).at(-1), '2026-03-01 invoice.uncollectible uncollectible');
});

/** The page of an invoice, as a browser without script uses it. */
function openPage(link: string) {
  const address = (more: string) => app.url + link.replace(/^https?:\/\/[^/]+/, '').replace('?', `${more}?`);
  const look = async (more = '') => {
    const answer = await fetch(address(more), { redirect: 'manual' });
    return { status: answer.status, type: answer.headers.get('content-type') ?? '', text: await answer.text() };
  };
  const send = async (form: Record<string, string>) => {
    const body = new URLSearchParams({ step: 'pay', cardExpiry: '12/40', cardCode: '123', ...form });
    const answer = await fetch(address(''), { method: 'POST', headers: { origin: app.url }, body, redirect: 'manual' });
    return { status: answer.status, to: answer.headers.get('location') ?? '', text: await answer.text() };
  };
  return { look, send };
}

test('the page of an invoice shows what is due after a part payment, and takes the rest by card once', async () => {
  const { caller, write, finalize, customerId } = await newBuyer({ paymentInstructions: 'IBAN DE00 1234\n<Bank>' });
  const { invoice: draft } = await write({ lines: [workshop] });
  assert.equal((await caller.get(`/invoices/${draft.id}`)).invoice.hostedInvoiceUrl, undefined);
  const { invoice } = await finalize(draft.id);
  await caller.post(`/invoices/${invoice.id}/record-payment`, { payment: { amount: 7100 } });
  const sent = (await caller.post(`/invoices/${invoice.id}/send`, {})).invoice;
  const link: string = (await caller.get(`/invoices/${invoice.id}`)).invoice.hostedInvoiceUrl;
  assert.equal(sent.hostedInvoiceUrl, link);
  const { look, send } = openPage(link);
  const page = await look();
  assert.equal(page.status, 200);
  for (const part of [
    invoice.invoiceNumber,
    '$1,071.00',
    '$1,000.00',
    '<bdi>Workshop</bdi>',
    'Paid</bdi></dt><dd class="line">-$71.00</dd>',
    '<bdi>IBAN DE00 1234</bdi><br><bdi>&lt;Bank&gt;</bdi>',
    'Pay $1,000.00',
  ])
    assert.ok(page.text.includes(part), part);
  const pdf = await look('/pdf');
  assert.deepEqual([pdf.status, pdf.type, pdf.text.slice(0, 5)], [200, 'application/pdf', '%PDF-']);

  const [good, declined] = ['4242424242424242', '4000000000000341'];
  assert.equal((await send({ cardNumber: good, shownDue: '99999' })).status, 409);
  const refused = await send({ cardNumber: declined, shownDue: '100000' });
  assert.equal(refused.status, 402);
  assert.match(refused.text, /The payment failed and you were not charged/);
  const [paid, again] = await Promise.all([1, 2].map(() => send({ cardNumber: good, shownDue: '100000' })));
  assert.deepEqual([paid?.status, again?.status].filter((status) => status === 303).length >= 1, true);
  const after = (await caller.get(`/invoices/${invoice.id}`)).invoice;
  assert.deepEqual([after.status, after.amountPaid], ['paid', 107100]);
  const { data } = await caller.get(`/payments?invoiceId=${invoice.id}&status=succeeded`);
  assert.deepEqual(
    data.map(({ amount }: Body) => amount),
    [7100, 100000],
  );
  assert.equal(
    (await caller.get(`/payment-methods?customerId=${customerId}`)).data.filter((each: Body) => each.default).length,
    1,
  );
  const done = await look();
  assert.match(done.text, /Paid/);
  assert.doesNotMatch(done.text, /Pay by card|IBAN/);
});

test('the link of an invoice opens that invoice only, and ends with the portal links of its customer', async () => {
  const { caller, write, finalize } = await newBuyer();
  const [one, other] = [await write({ lines: [travel] }), await write({ lines: [travel] })];
  await finalize(one.invoice.id);
  const link: string = (await caller.get(`/invoices/${one.invoice.id}`)).invoice.hostedInvoiceUrl;
  assert.equal((await openPage(link).look()).status, 200);
  const wrong = [
    link.replace(one.invoice.id, other.invoice.id),
    link.replace('key=', 'key=x'),
    link.replace(/(key=\w+)\.0\./, '$1.1.'),
    link.split('?')[0] ?? '',
  ];
  for (const each of wrong) assert.equal((await openPage(each).look()).status, 404, each);
  await caller.delete('/customers/ada/portal-sessions');
  assert.equal((await openPage(link).look()).status, 404);
  const fresh: string = (await caller.get(`/invoices/${one.invoice.id}`)).invoice.hostedInvoiceUrl;
  assert.equal((await openPage(fresh).look()).status, 200);
});

test('a discount that a draft gives up may be redeemed again, by another draft too', async () => {
  const { caller, write, refusal } = await newBuyer();
  await caller.post('/discounts', {
    discount: { name: 'Five', code: 'FIVE', amount: 500, amountType: 'fixed', duration: 'once' },
  });
  const { invoice } = await write({ lines: [travel], discountCode: 'FIVE' });
  assert.equal(invoice.total, 11500);
  const same = { invoice: { customerExternalId: 'ada', lines: [travel], discountCode: 'FIVE' } };
  assert.match(await refusal('/invoices', same), /^409 The customer has already used the code FIVE/);
  const kept = await caller.put(`/invoices/${invoice.id}`, { invoice: { discountCode: 'five' } });
  assert.equal(kept.invoice.total, 11500);
  const without = await caller.put(`/invoices/${invoice.id}`, { invoice: { discountCode: null } });
  assert.equal(without.invoice.total, 12000);
  const other = await caller.post('/invoices', same);
  assert.equal(other.invoice.total, 11500);
  await caller.delete(`/invoices/${other.invoice.id}`);
  const again = await caller.put(`/invoices/${invoice.id}`, { invoice: { discountCode: 'FIVE' } });
  assert.equal(again.invoice.total, 11500);
});

test('each line that cannot be billed is refused with the field and what would be right', async () => {
  const { refusal } = await newBuyer();
  const refused = (line: Body, more: Body = {}) =>
    refusal('/invoices', { invoice: { customerExternalId: 'ada', lines: [line], ...more } });
  assert.match(await refused({ unitAmount: 1 }), /lines\.0\.description.*is required with unitAmount/);
  assert.match(await refused({ description: 'x' }), /send exactly one of unitAmount, priceId and priceSlug/);
  assert.match(await refused({ ...travel, priceSlug: 'month' }), /send exactly one of unitAmount/);
  assert.match(await refused({ ...travel, unitAmount: -1 }), /unitAmount/);
  assert.match(await refused({ ...travel, quantity: 0 }), /quantity/);
  assert.match(await refused({ priceSlug: 'nothing' }), /^404 No price with id or slug nothing/);
  assert.match(
    await refused({ ...travel, servicePeriod: { start: 2, end: 1 } }),
    /servicePeriod\.end.*must be after start/,
  );
  assert.match(await refused(travel, { dueDate: '2025-12-31' }), /dueDate.*must not be in the past/);
  assert.match(await refused(travel, { dueDate: '2026-12-31', netTermsDays: 1 }), /dueDate or netTermsDays, not both/);
  assert.match(await refused({ ...workshop, unitAmount: 4503599627370495 }), /^400 An invoice total of/);
  assert.match(await refused(travel, { customerExternalId: 'nobody' }), /^404/);
});

describe('the series of numbers', () => {
  const perYear = { per: 'environment', yearly: true } as const;
  const numbersOf = async ({ caller }: Debtor): Promise<string[]> =>
    (await caller.get('/invoices?limit=100')).data.map(({ invoiceNumber }: Body) => invoiceNumber);

  test('two customers share the series of the environment, which begins anew with the year of the seller', async () => {
    const debtor = await newDebtor(app, {}, { numbering: { invoices: perYear }, timeZone: 'Europe/Vienna' });
    const { caller } = debtor;
    await subscribeFor(caller, 'bob', { plan: 'month', token: 'pm_card_visa' });
    await debtor.moveTo('2026-02-01');
    // 23:30 in UTC on New Year's Eve is next year in Vienna.
    await debtor.moveTo('2026-12-31T23:30');
    const before = (await numbersOf(debtor)).filter((number) => number.startsWith('INV-2026-'));
    assert.deepEqual(before, numbered('INV-2026-', 24));
    await subscribeFor(caller, 'eve', { plan: 'month', token: 'pm_card_visa' });
    assert.equal((await numbersOf(debtor)).at(-1), 'INV-2027-00001');
    await debtor.moveTo('2027-01-01');
    assert.deepEqual((await numbersOf(debtor)).slice(-2), ['INV-2027-00002', 'INV-2027-00003']);
    await assertSound(app);
  });

  test('a change in the middle of a year begins a series, and a change back continues the former one', async () => {
    const debtor = await newDebtor(app);
    const change = async (invoices: Body) =>
      debtor.caller.put('/settings', { settings: { numbering: { invoices: { yearly: false, ...invoices } } } });
    const base = (await debtor.caller.get('/customers/ada')).customer.invoiceNumberBase;
    for (const [month, series] of [
      ['02', { per: 'environment', prefix: 'A' }],
      ['03', { per: 'environment', prefix: 'B' }],
      ['04', { per: 'customer', prefix: null }],
      ['05', { per: 'environment', prefix: 'A' }],
    ] as const) {
      await change(series);
      await debtor.moveTo(`2026-${month}-01`);
    }
    const numbers = [`${base}-00001`, 'A-00001', 'B-00001', `${base}-00002`, 'A-00002'];
    assert.deepEqual(await numbersOf(debtor), numbers);
    await assertSound(app);
  });

  test('a number of another document is never given again: a series that credit notes used goes on', async () => {
    const debtor = await newDebtor(app, {}, { numbering: { creditNotes: { per: 'environment', prefix: 'A' } } });
    const { data } = await debtor.caller.get('/invoices');
    const { invoiceLineItems } = await debtor.caller.get(`/invoices/${data[0].id}`);
    const { body } = await debtor.send(`/invoices/${data[0].id}/credit-notes`, {
      creditNote: { lines: [{ invoiceLineItemId: invoiceLineItems[0].id, amount: 100 }], settle: 'refund' },
    });
    assert.equal(body.creditNote.creditNoteNumber, 'A-00001');
    const numbering = { invoices: { per: 'environment', prefix: 'A' }, creditNotes: { prefix: 'B' } };
    await debtor.caller.put('/settings', { settings: { numbering } });
    await debtor.moveTo('2026-02-01');
    assert.equal((await numbersOf(debtor)).at(-1), 'A-00002');
    await assertSound(app);
  });

  test('forty who subscribe at once, some with a declined card, get numbers without a gap', async () => {
    const debtor = await newDebtor(app, {}, { numbering: { invoices: { per: 'environment' } } });
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const token = n % 4 === 0 ? 'pm_card_chargeCustomerFail' : 'pm_card_visa';
        return subscribeFor(debtor.caller, `c${n}`, { plan: 'month', token }).then(
          () => true,
          () => false,
        );
      }),
    );
    assert.equal(answers.filter(Boolean).length, 30);
    const numbers = await numbersOf(debtor);
    assert.deepEqual(numbers.toSorted(), numbered('INV-', numbers.length));
    await debtor.moveTo('2026-02-01');
    const later = await numbersOf(debtor);
    assert.deepEqual(later.toSorted(), numbered('INV-', later.length));
    await assertSound(app);
  });
});

function numbered(stem: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${stem}${String(index + 1).padStart(5, '0')}`);
}
