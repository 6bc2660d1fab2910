import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { instant } from '../../src/kernel/calendar.ts';
import { dayOf } from '../support/debtor.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { eventTypes, meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { atOnce } from '../support/spending.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();
after(() => assertSound(app));
const workerFile = new URL('../support/due-work-worker.ts', import.meta.url);
// The advisory lock at which a worker is stopped.
const stop = 7118;

/**
 * A customer whose invoices are consolidated, with a plan of 30.00 a month from 1 April 10:00 on and one of 60.00 from
 * `second` on.
 */
async function newBuyer({
  second = '2026-04-01T15:00',
  settings = {},
  customer = {},
  discountCode,
}: {
  second?: string;
  settings?: Body;
  customer?: Body;
  discountCode?: string;
} = {}) {
  const seller = await app.newOrganization();
  const by = callerOf(app, seller);
  const moveTo = (at: string) => by.moveTo(instant(at));
  await moveTo('2026-04-01T10:00');
  await by.put('/settings', { settings: { allowMultipleSubscriptions: true, ...settings } });
  await by.post('/pricing-models/setup', {
    name: 'Office',
    isDefault: true,
    features: [],
    products: [plan('desk', 3000), plan('room', 6000)],
    usageMeters: [meter('prints', 'Prints', { slug: 'print', unitPrice: 10 })],
    resources: [],
  });
  await by.post('/discounts', {
    discount: { name: 'Half', code: 'HALF', amountType: 'percent', amount: 50, duration: 'forever', active: true },
  });
  const { customerId, paymentMethodId } = await newCustomer(by, 'ada', {
    token: 'pm_card_visa',
    consolidateInvoices: true,
    ...customer,
  });
  const desk = (await by.post('/subscriptions', { customerId, priceSlug: 'desk-monthly' })).subscription.id as string;
  await moveTo(second);
  const code = discountCode === undefined ? {} : { discountCode };
  const room = (await by.post('/subscriptions', { customerId, priceSlug: 'room-monthly', ...code })).subscription
    .id as string;
  /** The invoices since a day, oldest first. */
  const since = async (from: string, query = '') => {
    const { data } = await by.get(`/invoices?limit=100&createdAtFrom=${instant(from)}${query}`);
    return data as Body[];
  };
  const statuses = async () =>
    Promise.all([desk, room].map(async (id) => (await by.get(`/subscriptions/${id}`)).subscription.status));
  const refusal = async (path: string, body: Body = {}) => {
    const answer = await app.request('POST', path, body, { key: seller.testKey });
    return `${answer.status} ${answer.body.message}`;
  };
  return { by, seller, customerId, paymentMethodId, desk, room, moveTo, since, statuses, refusal };
}

const amounts = ({ invoiceLineItems }: Body) => invoiceLineItems.map(({ amount }: Body) => amount);

test('two subscriptions that renew on one day have one invoice, one number and one charge', async () => {
  const { by, desk, room, moveTo, since, statuses, refusal } = await newBuyer();
  const ahead = async (id: string) => (await by.get(`/invoices/upcoming?subscriptionId=${id}`)).invoice;
  const [first, second] = [await ahead(desk), await ahead(room)];
  assert.deepEqual([first.total, second.total, dayOf(second.finalizesAt)], [3000, 6000, '2026-05-02']);
  await moveTo('2026-05-01T16:00');
  const drafts = await since('2026-05-01');
  assert.deepEqual(
    drafts.map(({ status, total, finalizesAt }) => [status, total, dayOf(finalizesAt)]),
    [
      ['draft', 3000, '2026-05-02'],
      ['draft', 6000, '2026-05-02'],
    ],
  );
  await moveTo('2026-05-02');
  const [invoice, ...others] = await since('2026-05-01');
  assert(invoice);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [invoice.type, invoice.status, invoice.total, invoice.amountPaid, dayOf(invoice.invoiceDate)],
    ['standalone', 'paid', 9000, 9000, '2026-05-02'],
  );
  assert.match(invoice.invoiceNumber, /-00003$/);
  const found = await by.get(`/invoices/${invoice.id}`);
  assert.deepEqual(amounts(found), [3000, 6000]);
  for (const id of [desk, room])
    assert.deepEqual(
      (await since('2026-05-01', `&subscriptionId=${id}`)).map((each) => each.id),
      [invoice.id],
    );
  const { data: payments } = await by.get(`/payments?limit=100&createdAtFrom=${instant('2026-05-01')}`);
  assert.deepEqual(
    payments.map(({ amount, invoiceId }: Body) => [amount, invoiceId]),
    [[9000, invoice.id]],
  );
  for (const id of [desk, room])
    assert.deepEqual(
      (await by.get(`/payments?subscriptionId=${id}&createdAtFrom=${instant('2026-05-01')}`)).data,
      payments,
    );
  assert.deepEqual(await statuses(), ['active', 'active']);
  assert.deepEqual(await eventTypes(app, invoice.id), ['invoice.created', 'invoice.finalized', 'invoice.paid']);
  const parts = (await by.get(`/invoices?consolidatedInvoiceId=${invoice.id}`)).data;
  assert.deepEqual(
    parts.map((part: Body) => [part.subscriptionId, part.status, part.total, part.amountPaid, part.invoiceNumber]),
    [
      [desk, 'paid', 3000, 3000, null],
      [room, 'paid', 6000, 6000, null],
    ],
  );
  assert.match(await refusal(`/invoices/${parts[0].id}/void`), new RegExp(`^400 .*${invoice.id}`));
  assert.deepEqual(
    found.invoiceLineItems.map((line: Body) => [line.invoiceId, line.subscriptionId]),
    [
      [invoice.id, desk],
      [invoice.id, room],
    ],
  );
  const listed = await by.get(`/invoice-line-items?invoiceId=${invoice.id}`);
  assert.deepEqual(listed.data, found.invoiceLineItems);
  const explained = await by.get(`/invoices/${invoice.id}/explain`);
  assert.deepEqual([explained.total, explained.parts.length, explained.lines.length], [9000, 2, 2]);
  const off = await by.put('/customers/ada', { customer: { consolidateInvoices: false } });
  assert.equal(off.customer.consolidateInvoices, undefined);
});

test('a discount of one subscription lowers its own lines, and tax is rounded for each', async () => {
  const address = { address: { country: 'DE' } };
  const buyer = await newBuyer({
    discountCode: 'HALF',
    settings: { taxProvider: 'rates' },
    customer: { billingAddress: address },
  });
  const { by, moveTo, since } = buyer;
  // 9.985 % of 30.00 are 3.00, for each of them. Of 60.00 they would be 5.99.
  await by.post('/tax-rates', { taxRate: { country: 'DE', type: 'vat', percentage: '9.985' } });
  await moveTo('2026-05-02');
  const [invoice] = await since('2026-05-01');
  assert(invoice);
  assert.deepEqual(
    [invoice.subtotal, invoice.discountAmount, invoice.taxAmount, invoice.total],
    [6000, 3000, 600, 6600],
  );
  const explained = await by.get(`/invoices/${invoice.id}/explain`);
  assert.deepEqual(
    explained.parts.map(({ taxable, tax, total }: Body) => [taxable, tax.amount, total]),
    [
      [3000, 300, 3300],
      [3000, 300, 3300],
    ],
  );
  assert.deepEqual(
    explained.lines.map(({ amount, discountShare }: Body) => [amount, discountShare]),
    [
      [3000, 0],
      [6000, 3000],
    ],
  );
});

test('subscriptions that renew on different days have an invoice each', async () => {
  const { moveTo, since } = await newBuyer({ second: '2026-04-02T00:00' });
  await moveTo('2026-05-04');
  assert.deepEqual(
    (await since('2026-05-01')).map(({ total, status, type, invoiceDate }) => [
      total,
      status,
      type,
      dayOf(invoiceDate),
    ]),
    [
      [3000, 'paid', 'subscription', '2026-05-02'],
      [6000, 'paid', 'subscription', '2026-05-03'],
    ],
  );
});

test('a failed charge makes each subscription past due and is retried once, and a payment brings both back', async () => {
  const { by, customerId, desk, moveTo, since, statuses } = await newBuyer();
  await newCard(by, customerId, 'pm_card_chargeCustomerFail', { default: true });
  await moveTo('2026-05-02');
  const [invoice] = await since('2026-05-01');
  assert(invoice);
  assert.deepEqual([invoice.status, invoice.amountPaid, dayOf(invoice.nextAttemptAt)], ['open', 0, '2026-05-05']);
  assert.deepEqual(await statuses(), ['past_due', 'past_due']);
  const failures = await by.get('/payments?status=failed&limit=100');
  assert.deepEqual(
    failures.data.map(({ amount }: Body) => amount),
    [9000],
  );
  await moveTo('2026-05-05');
  assert.equal((await by.get('/payments?status=failed&limit=100')).data.length, 2);
  // Part payments fill the parts in order.
  await by.post(`/invoices/${invoice.id}/record-payment`, { payment: { amount: 4000 } });
  const parts = await by.get(`/invoices?consolidatedInvoiceId=${invoice.id}`);
  assert.deepEqual(
    parts.data.map(({ amountPaid, status }: Body) => [amountPaid, status]),
    [
      [3000, 'open'],
      [1000, 'open'],
    ],
  );
  assert.deepEqual(await statuses(), ['past_due', 'past_due']);
  await newCard(by, customerId, 'pm_card_visa', { default: true });
  assert.equal((await by.post(`/subscriptions/${desk}/retry-payment`, {})).payment.amount, 5000);
  assert.equal((await by.get(`/invoices/${invoice.id}`)).invoice.status, 'paid');
  assert.deepEqual(await statuses(), ['active', 'active']);
});

test('a voided consolidated invoice is owed by no subscription, and bills the usage of each again', async () => {
  const { by, seller, customerId, desk, moveTo, since, statuses } = await newBuyer();
  await by.post('/usage-events', {
    usageEvent: { subscriptionId: desk, priceSlug: 'print', amount: 20, transactionId: 'a' },
  });
  await newCard(by, customerId, 'pm_card_chargeCustomerFail', { default: true });
  await moveTo('2026-05-02');
  const [invoice] = await since('2026-05-01');
  assert(invoice);
  assert.equal(invoice.total, 9200);
  const page = await app.request('GET', `/invoices/${invoice.id}/html`, undefined, { key: seller.testKey });
  assert(String(page.body).includes('desk - Monthly: 20 prints at $0.10 each'));
  await by.post(`/invoices/${invoice.id}/void`, {});
  assert.deepEqual(await statuses(), ['active', 'active']);
  await newCard(by, customerId, 'pm_card_visa', { default: true });
  await moveTo('2026-06-02');
  const [, next] = await since('2026-05-01');
  assert(next);
  assert.deepEqual([next.total, next.status], [9200, 'paid']);
});

test('a credit note takes back a line of one part, and the other subscription keeps all that it paid', async () => {
  const { by, desk, room, moveTo, since } = await newBuyer();
  await moveTo('2026-05-02');
  const [invoice] = await since('2026-05-01');
  assert(invoice);
  const { invoiceLineItems } = await by.get(`/invoices/${invoice.id}`);
  const line = invoiceLineItems.find(({ amount }: Body) => amount === 6000);
  const creditNote = { lines: [{ invoiceLineItemId: line.id, amount: 2000 }], settle: 'refund' };
  assert.equal((await by.post(`/invoices/${invoice.id}/credit-notes`, { creditNote })).creditNote.total, 2000);
  const refunded = (await by.get(`/invoices/${invoice.id}`)).invoice;
  assert.deepEqual([refunded.status, refunded.amountRefunded], ['partially_refunded', 2000]);
  const parts = (await by.get(`/invoices?consolidatedInvoiceId=${invoice.id}`)).data;
  assert.deepEqual(
    parts.map(({ subscriptionId, amountPaid, amountRefunded }: Body) => [subscriptionId, amountPaid, amountRefunded]),
    [
      [desk, 3000, 0],
      [room, 6000, 2000],
    ],
  );
  // Half of May is left of 60.00 - 30.00.
  await moveTo('2026-05-16T22:00');
  const adjustment = { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'room-monthly', quantity: 1 }] };
  const { totalDue } = await by.post(`/subscriptions/${desk}/preview-adjust`, { adjustment });
  assert.equal(totalDue, 1500);
  await by.post(`/subscriptions/${desk}/adjust`, { adjustment });
});

test('a balance pays a consolidated invoice once, and the parts share what it paid', async () => {
  const { by, moveTo, since } = await newBuyer();
  await by.post('/customer-balances/adjust', {
    adjustment: { customerExternalId: 'ada', amount: 4000, description: 'Gift' },
  });
  await moveTo('2026-05-02');
  const [invoice] = await since('2026-05-01');
  assert(invoice);
  assert.deepEqual([invoice.balanceApplied, invoice.amountPaid, invoice.status], [4000, 5000, 'paid']);
});

test('a reviewed invoice gathers until its hours after the day are over, and what ends earlier is an invoice of its own', async () => {
  const { by, desk, room, moveTo, since, refusal } = await newBuyer({ settings: { reviewHours: 24 } });
  await moveTo('2026-05-02');
  await by.post('/usage-events', {
    usageEvent: {
      ...{ subscriptionId: room, priceSlug: 'print', amount: 50, transactionId: 'late' },
      usageDate: instant('2026-05-01T14:00'),
    },
  });
  await moveTo('2026-05-03');
  const [invoice, ...others] = await since('2026-05-01');
  assert(invoice);
  assert.deepEqual([invoice.total, invoice.status, dayOf(invoice.invoiceDate)], [9500, 'paid', '2026-05-03']);
  assert.deepEqual(others, []);
  assert.match(await refusal(`/invoices/${invoice.id}/lines`, { lines: [] }), /^400/);

  await moveTo('2026-06-01T16:00');
  await by.post(`/subscriptions/${desk}/cancel`, { cancellation: { timing: 'immediately' } });
  await moveTo('2026-06-03');
  assert.deepEqual(
    (await since('2026-06-01')).map(({ total, type, status }) => `${type} ${total} ${status}`),
    ['subscription 3000 paid', 'subscription 6000 paid'],
  );
});

test('a clock that jumps over months makes the same invoices as one that steps by hours', async () => {
  const jumping = await newBuyer();
  await jumping.moveTo('2026-07-03');
  const stepping = await newBuyer();
  for (const at of ['05-01T12:00', '05-01T23:00', '05-02', '06-01T10:00', '06-02T09:00', '07-01T16:00', '07-03'])
    await stepping.moveTo(`2026-${at}`);
  const told = async ({ since }: typeof jumping) =>
    (await since('2026-04-01')).map(({ total, status, type, invoiceDate }) => [total, status, type, invoiceDate]);
  const made = await told(jumping);
  assert.equal(made.length, 5);
  assert.deepEqual(await told(stepping), made);
});

test('workers and people who finalize at once make one invoice with one number and one charge', async () => {
  const { by, seller, moveTo, since } = await newBuyer();
  await moveTo('2026-05-01T16:00');
  const [draft] = await since('2026-05-01');
  assert(draft);
  await app.owner
    .updateTable('environments')
    .set({ clockNow: instant('2026-05-02') })
    .where('id', '=', seller.testEnvironmentId)
    .execute();
  await atOnce<unknown>(6, (place) =>
    place % 2 === 0
      ? app.doDueWork(seller.testEnvironmentId)
      : app.request('POST', `/invoices/${draft.id}/finalize`, {}, { key: seller.testKey }),
  );
  const invoices = await since('2026-05-01');
  assert.deepEqual(
    invoices.map(({ total, status }) => [total, status]),
    [[9000, 'paid']],
  );
  const { data } = await by.get('/payments?limit=100');
  assert.deepEqual(
    data.map(({ amount }: Body) => amount),
    [3000, 6000, 9000],
  );
});

// A worker writes these in order: the whole with its lines, its parts and its payment, and then the charge.
const writes = [
  ['insert', 'invoices'],
  ['update', 'invoices'],
  ['insert', 'payments'],
  ['insert', 'test_processor_operations'],
] as const;

/** Lets a worker get to a write of an environment, and kills it there. What it has not committed is gone. */
async function killAt([event, table]: (typeof writes)[number], environmentId: number): Promise<void> {
  await app.owner.connection().execute(async (holder) => {
    await sql`select pg_advisory_lock(${stop})`.execute(holder);
    for (const { owner } of app.cells)
      await sql`create trigger stop before ${sql.raw(event)} on ${sql.raw(table)} for each row execute function stop_here()`.execute(
        owner,
      );
    const worker = fork(workerFile, [app.databaseUrl, String(environmentId), ...app.cells.map(({ name }) => name)]);
    const ended = once(worker, 'exit');
    const waiting = sql`select from pg_locks where locktype = 'advisory' and objid = ${stop} and not granted`;
    while ((await waiting.execute(app.owner)).rows.length === 0) {
      assert.equal(worker.exitCode, null, `the worker ends before the ${event} of ${table}`);
      await sleep(10);
    }
    worker.kill('SIGKILL');
    await ended;
    await sql`select pg_advisory_unlock(${stop})`.execute(holder);
    while (
      (await sql`select from pg_locks where locktype = 'advisory' and objid = ${stop}`.execute(app.owner)).rows.length >
      0
    )
      await sleep(10);
    for (const { owner } of app.cells) await sql`drop trigger stop on ${sql.raw(table)}`.execute(owner);
  });
}

test('workers that are killed at each write of a finalization leave one whole invoice, one number and one charge', async () => {
  const { by, seller, moveTo, since } = await newBuyer();
  const { testEnvironmentId } = seller;
  await moveTo('2026-05-01T16:00');
  await app.owner
    .updateTable('environments')
    .set({ clockNow: instant('2026-05-02') })
    .where('id', '=', testEnvironmentId)
    .execute();
  for (const { owner } of app.cells)
    await sql`
      create function stop_here() returns trigger language plpgsql security definer as $$
      begin perform pg_advisory_lock_shared(${sql.lit(stop)}), pg_advisory_unlock_shared(${sql.lit(stop)}); return new; end $$`.execute(
      owner,
    );
  for (const write of writes) await killAt(write, testEnvironmentId);
  const charges = async () => {
    const { rows } = await sql<{ amount: bigint }>`
      select o.amount from test_processor_operations o join payments p on p.id = o.idempotency_key
       where p.environment_id = ${testEnvironmentId} order by o.amount`.execute(app.owner);
    return rows.map(({ amount }) => amount);
  };
  // The network has charged, and nobody has heard of it.
  assert.deepEqual(await charges(), [3000n, 6000n, 9000n]);
  await app.doDueWork(testEnvironmentId);
  await app.runJobs({ all: true });

  const [invoice, ...others] = await since('2026-05-01');
  assert(invoice);
  assert.deepEqual([others, invoice.total, invoice.status, invoice.amountPaid], [[], 9000, 'paid', 9000]);
  assert.match(invoice.invoiceNumber, /-00003$/);
  const parts = (await by.get(`/invoices?consolidatedInvoiceId=${invoice.id}`)).data;
  assert.deepEqual(
    parts.map(({ total, status }: Body) => [total, status]),
    [
      [3000, 'paid'],
      [6000, 'paid'],
    ],
  );
  assert.deepEqual(await charges(), [3000n, 6000n, 9000n]);
  assert.equal((await by.get('/payments?limit=100')).data.length, 3);
});

test('subscriptions that are unpaid owe two consolidated invoices, and a payment of one charges the other', async () => {
  const dunning = { retryDays: [1], terminalAction: 'unpaid' };
  const { by, customerId, desk, moveTo, since, statuses } = await newBuyer({ settings: { dunning } });
  await newCard(by, customerId, 'pm_card_chargeCustomerFail', { default: true });
  await moveTo('2026-06-03');
  assert.deepEqual(await statuses(), ['unpaid', 'unpaid']);
  const owed = await since('2026-05-01');
  assert.deepEqual(
    owed.map(({ status, total, nextAttemptAt }) => [status, total, nextAttemptAt]),
    [
      ['open', 9000, undefined],
      ['open', 9000, undefined],
    ],
  );
  await newCard(by, customerId, 'pm_card_visa', { default: true });
  await by.post(`/subscriptions/${desk}/retry-payment`, {});
  await moveTo('2026-06-04');
  assert.deepEqual(
    (await since('2026-05-01')).map(({ status }) => status),
    ['paid', 'paid'],
  );
  assert.deepEqual(await statuses(), ['active', 'active']);
});

test('after the last attempt each subscription of an invoice ends, and the invoice stays owed', async () => {
  const dunning = { retryDays: [1], terminalAction: 'canceled' };
  const { by, customerId, moveTo, since, statuses } = await newBuyer({ settings: { dunning } });
  await newCard(by, customerId, 'pm_card_chargeCustomerFail', { default: true });
  await moveTo('2026-05-05');
  assert.deepEqual(await statuses(), ['canceled', 'canceled']);
  const [invoice] = await since('2026-05-01');
  assert(invoice);
  assert.deepEqual([invoice.status, invoice.amountPaid], ['open', 0]);
  const { invoice: givenUp } = await by.post(`/invoices/${invoice.id}/mark-uncollectible`, {});
  assert.equal(givenUp.status, 'uncollectible');
});
