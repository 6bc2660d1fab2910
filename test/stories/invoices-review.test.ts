import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { dayOf } from '../support/debtor.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { doDueWorkOfCells } from '../support/renewing.ts';
import { meter, newCard, newCustomer, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { atOnce } from '../support/spending.ts';
import { callerOf } from '../support/years.ts';

const app = await startTestApp();
after(() => assertSound(app));

// The first 1,000 calls of a month cost 0.10 each, and more of them 0.05.
const pricing = {
  model: 'graduated',
  tiers: [
    { upTo: 1000, unitAmount: '10' },
    { upTo: null, unitAmount: '5' },
  ],
};

/** A customer of a plan of 30.00 a month from 1 April on, whose renewals are reviewed for two days. */
async function newReviewed(settings: Body = { reviewHours: 48 }, price = 'pro', token: string | null = 'pm_card_visa') {
  const seller = await app.newOrganization();
  const by = callerOf(app, seller);
  await by.moveTo(instant('2026-04-01'));
  await by.put('/settings', { settings });
  await by.post('/pricing-models/setup', {
    name: 'Calls',
    isDefault: true,
    features: [],
    products: [
      plan('pro', 3000),
      plan('team', 6000),
      plan('zero', 0),
      plan('year', 30_000, [], { intervalUnit: 'year', slug: 'year-price' }),
      plan('least', 3000, [], { minimumCommitment: 20_000 }),
    ],
    usageMeters: [
      meter('calls', 'Calls', { slug: 'calls', unitPrice: 0, pricing }),
      meter('bytes', 'Bytes', { slug: 'bytes', unitPrice: 0, pricing: { ...pricing, model: 'volume' } }),
    ],
    resources: [],
  });
  const { customerId } = await newCustomer(by, 'ada', { token });
  const { subscription } = await by.post('/subscriptions', { customerId, priceSlug: `${price}-monthly` });
  const id = subscription.id as string;
  let count = 0;
  const use = (amount: number, usageDate?: string) => {
    count += 1;
    const date = usageDate === undefined ? {} : { usageDate: instant(usageDate) };
    const usageEvent = { subscriptionId: id, priceSlug: 'calls', amount, transactionId: `use ${count}`, ...date };
    return by.post('/usage-events', { usageEvent });
  };
  /** The newest invoice of the subscription with its lines. */
  const newest = async () => {
    const { data } = await by.get(`/invoices?subscriptionId=${id}&limit=100`);
    const [last] = data.toSorted((one: Body, other: Body) => (one.id < other.id ? 1 : -1));
    return by.get(`/invoices/${last.id}`);
  };
  const send = (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: Body) =>
    app.request(method, path, body, { key: seller.testKey });
  const refusal = async (...asked: Parameters<typeof send>) => {
    const { status, body } = await send(...asked);
    return `${status} ${body.message}`;
  };
  const moveTo = (at: string) => by.moveTo(instant(at));
  return { by, seller, customerId, id, use, newest, send, refusal, moveTo };
}

const amounts = ({ invoiceLineItems }: Body) => invoiceLineItems.map(({ amount }: Body) => amount);

test('the draft of a renewal gets late usage of its month and a line by hand, and is finalized by itself after 48 hours', async () => {
  const { by, use, newest, moveTo, refusal } = await newReviewed();
  await use(800);
  await moveTo('2026-05-01');
  const draft = await newest();
  const { id, status, invoiceNumber, finalizesAt, dueDate } = draft.invoice;
  assert.deepEqual(
    [status, invoiceNumber, dayOf(finalizesAt), dueDate, draft.invoice.total],
    ['draft', null, '2026-05-03', null, 11_000],
  );
  // 200 of the 400 late calls are the last of the first tier of April: 20.00 and 10.00.
  await use(400, '2026-04-30');
  await use(100);
  const path = `/invoices/${id}`;
  const added = await by.post(`${path}/lines`, {
    lines: [
      { description: 'Workshop', unitAmount: 2500 },
      { description: 'Typo', unitAmount: 1 },
    ],
  });
  assert.deepEqual(amounts(added).toSorted(), [1, 2500, 3000, 8000]);
  const lineOf = (amount: number) => added.invoiceLineItems.find((line: Body) => line.amount === amount).id;
  await by.delete(`${path}/lines/${lineOf(1)}`);
  assert.match(await refusal('DELETE', `${path}/lines/${lineOf(3000)}`), /^400 .*was not added by hand/);
  assert.match(await refusal('DELETE', path), /^400 .*void it/);
  assert.match(await refusal('PUT', path, { invoice: { lines: [] } }), /^400 .*its subscription decides lines/);
  await by.put(path, { invoice: { memo: 'Thank you', purchaseOrderNumber: 'PO-7' } });
  assert.deepEqual((await by.get('/customers/ada/billing')).invoices.length, 1);
  assert.equal((await by.post(`${path}/finalize?dryRun=true`, {})).invoice.total, 16_500);

  await moveTo('2026-05-02T23:59');
  assert.equal((await newest()).invoice.status, 'draft');
  await moveTo('2026-05-03');
  const { invoice, invoiceLineItems } = await newest();
  assert.deepEqual(
    [invoice.id, invoice.status, invoice.total, dayOf(invoice.invoiceDate), dayOf(invoice.dueDate), invoice.memo],
    [id, 'paid', 16_500, '2026-05-03', '2026-05-03', 'Thank you'],
  );
  assert.match(invoice.invoiceNumber, /-00002$/);
  assert.equal(invoice.finalizesAt, undefined);
  assert.deepEqual(amounts({ invoiceLineItems }).toSorted(), [2500, 3000, 3000, 8000]);
  const explained = await by.get(`${path}/explain`);
  assert.equal(explained.total, 16_500);
  // The 100 calls of May are billed with June, and the line by hand is not.
  await moveTo('2026-06-04');
  assert.deepEqual(amounts(await newest()), [3000, 1000]);
});

test('late usage lowers the true-up of a commitment on the draft by its price', async () => {
  const { use, newest, moveTo } = await newReviewed({ reviewHours: 1 }, 'least');
  await use(1000);
  await moveTo('2026-05-01');
  // 200.00 are committed: 30.00 for the plan, 100.00 of usage, and 70.00 are missing.
  assert.deepEqual(amounts(await newest()), [3000, 10_000, 7000]);
  await use(200, '2026-04-30');
  await moveTo('2026-05-01T01:00');
  const { invoice, invoiceLineItems } = await newest();
  assert.deepEqual([invoice.status, amounts({ invoiceLineItems })], ['paid', [3000, 10_000, 6000, 1000]]);
});

test('the next invoice, an upgrade, a threshold and an end each finalize a draft first', async () => {
  const month = { reviewHours: 720 };
  const renewed = await newReviewed(month);
  await renewed.by.moveTo(instant('2026-05-01'));
  const { id } = (await renewed.newest()).invoice;
  // Thirty days are over before May is.
  await renewed.moveTo('2026-05-31');
  assert.equal((await renewed.by.get(`/invoices/${id}`)).invoice.status, 'paid');

  const upgraded = await newReviewed(month);
  await upgraded.moveTo('2026-05-16T12:00');
  const adjustment = { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'team-monthly', quantity: 1 }] };
  const preview = await upgraded.by.post(`/subscriptions/${upgraded.id}/preview-adjust`, { adjustment });
  await upgraded.by.post(`/subscriptions/${upgraded.id}/adjust`, { adjustment });
  const { data } = await upgraded.by.get(`/invoices?subscriptionId=${upgraded.id}&limit=100`);
  const paid = data.map(({ status, total }: Body) => `${status} ${total}`).toSorted();
  // Half of May is left of 60.00 - 30.00.
  assert.deepEqual(paid, ['paid 1500', 'paid 3000', 'paid 3000']);
  assert.equal(preview.totalDue, 1500);

  const ended = await newReviewed(month);
  await ended.moveTo('2026-05-02');
  await ended.use(100);
  await ended.by.post(`/subscriptions/${ended.id}/cancel`, { cancellation: { timing: 'immediately' } });
  const last = await ended.by.get(`/invoices?subscriptionId=${ended.id}&limit=100`);
  assert.deepEqual(last.data.map(({ status, total }: Body) => `${status} ${total}`).toSorted(), [
    'paid 1000',
    'paid 3000',
    'paid 3000',
  ]);

  const limited = await newReviewed({ ...month, billingThresholdAmount: 5000 });
  await limited.moveTo('2026-05-02');
  await limited.use(100, '2026-04-30');
  await limited.use(500);
  await doDueWorkOfCells(app, limited.seller.testEnvironmentId, { forMs: 20_000 });
  const both = await limited.by.get(`/invoices?subscriptionId=${limited.id}&limit=100`);
  assert.deepEqual(both.data.map(({ status, total }: Body) => `${status} ${total}`).toSorted(), [
    'paid 3000',
    'paid 4000',
    'paid 5000',
  ]);
});

test('a change that decides by itself to wait leaves the draft to its review, and one that is made at once ends that', async () => {
  const { by, id, newest, moveTo, refusal } = await newReviewed({ reviewHours: 720 }, 'team');
  await moveTo('2026-05-02');
  const draft = await newest();
  const change = (priceSlug: string, quantity: number) =>
    by.post(`/subscriptions/${id}/adjust`, {
      adjustment: { timing: 'auto', newSubscriptionItems: [{ priceSlug, quantity }] },
    });
  assert.equal((await change('pro-monthly', 1)).resolvedTiming, 'at_end_of_current_billing_period');
  assert.deepEqual((await newest()).invoice, draft.invoice);
  await by.post(`/subscriptions/${id}/cancel-scheduled-adjustment`, {});
  // Another interval or anchor gives up what only the draft pays for.
  const yearly = { timing: 'immediately', newSubscriptionItems: [{ priceSlug: 'year-price', quantity: 1 }] };
  const preview = await by.post(`/subscriptions/${id}/preview-adjust`, { adjustment: yearly });
  assert.match(preview.reason, /an invoice that is owed or under review must be paid before the interval changes/);
  assert.match(
    await refusal('POST', `/subscriptions/${id}/adjust`, { adjustment: yearly }),
    /^400 .*owed or under review/,
  );
  const anchor = { subscription: { billingCycleAnchorDate: instant('2026-05-20') } };
  assert.match(await refusal('PUT', `/subscriptions/${id}`, anchor), /^409 .*owed or under review/);
  assert.deepEqual((await newest()).invoice, draft.invoice);
  assert.equal((await change('team-monthly', 2)).resolvedTiming, 'immediately');
  assert.equal((await by.get(`/invoices/${draft.invoice.id}`)).invoice.status, 'paid');
});

test('late usage that a draft takes at a threshold is billed once, and leaves nothing to invoice there', async () => {
  const { by, seller, id, use, moveTo } = await newReviewed({ reviewHours: 720, billingThresholdAmount: 5000 });
  await moveTo('2026-05-02');
  await use(600, '2026-04-30');
  await doDueWorkOfCells(app, seller.testEnvironmentId, { forMs: 20_000 });
  const { data } = await by.get(`/invoices?subscriptionId=${id}&limit=100`);
  assert.deepEqual(data.map(({ status, total }: Body) => `${status} ${total}`).toSorted(), ['paid 3000', 'paid 9000']);
});

test('a subscription that is past due by the end of a review stays so, whatever ended it', async () => {
  const statusOf = async ({ by, id }: Awaited<ReturnType<typeof newReviewed>>) =>
    (await by.get(`/subscriptions/${id}`)).subscription.status;
  // Without a payment method and without terms the draft fails as soon as it is finalized.
  const unpaid = async (settings: Body) => {
    const reviewed = await newReviewed({ reviewHours: 720, netTermsDays: 10, ...settings }, 'pro', null);
    await reviewed.by.post(`/invoices/${(await reviewed.newest()).invoice.id}/record-payment`, {});
    await reviewed.by.put('/settings', { settings: { netTermsDays: 0 } });
    await reviewed.moveTo('2026-05-02');
    return reviewed;
  };
  const limited = await unpaid({ billingThresholdAmount: 5000 });
  await limited.use(500);
  await doDueWorkOfCells(app, limited.seller.testEnvironmentId, { forMs: 20_000 });
  assert.deepEqual([await statusOf(limited), (await limited.newest()).invoice.total], ['past_due', 3000]);

  const priced = await unpaid({});
  const priceOverrides = [{ priceSlug: 'calls', pricing: { model: 'per_unit', unitAmount: '1' } }];
  const adjustment = { timing: 'immediately', priceOverrides };
  await priced.send('POST', `/subscriptions/${priced.id}/adjust`, { adjustment });
  const { status, total, nextAttemptAt } = (await priced.newest()).invoice;
  const failed = [await statusOf(priced), status, total, dayOf(nextAttemptAt)];
  assert.deepEqual(failed, ['past_due', 'open', 3000, '2026-05-05']);
});

test('a draft is voided like an invoice that never was, and a pause waits until it is paid for', async () => {
  const { by, id, use, newest, moveTo, refusal } = await newReviewed();
  await use(100);
  await moveTo('2026-05-01');
  assert.match(await refusal('POST', `/subscriptions/${id}/pause`, {}), /^400 .*it must be paid for first/);
  const draft = (await newest()).invoice;
  const { invoice } = await by.post(`/invoices/${draft.id}/void`, {});
  assert.deepEqual([invoice.status, invoice.invoiceNumber, invoice.finalizesAt], ['void', null, undefined]);
  await moveTo('2026-06-03');
  const next = await newest();
  assert.deepEqual([amounts(next).toSorted(), next.invoice.status], [[1000, 3000], 'paid']);
  assert.match(next.invoice.invoiceNumber, /-00002$/);
});

test('a customer has hours of its own, and a draft that somebody finalizes earlier is charged at once', async () => {
  const { by, newest, moveTo } = await newReviewed({ reviewHours: 24 });
  await by.put('/customers/ada', { customer: { reviewHours: 0 } });
  await moveTo('2026-05-01');
  assert.equal((await newest()).invoice.status, 'paid');
  assert.equal((await by.put('/customers/ada', { customer: { reviewHours: 72 } })).customer.reviewHours, 72);
  await moveTo('2026-06-01');
  const { invoice } = await newest();
  assert.deepEqual([invoice.status, dayOf(invoice.finalizesAt)], ['draft', '2026-06-04']);
  const finalized = await by.post(`/invoices/${invoice.id}/finalize`, {});
  assert.deepEqual([finalized.invoice.status, dayOf(finalized.invoice.invoiceDate)], ['paid', '2026-06-01']);
  await by.put('/customers/ada', { customer: { reviewHours: null } });
  await moveTo('2026-07-01');
  assert.equal(dayOf((await newest()).invoice.finalizesAt), '2026-07-02');
});

test('two workers and two people finalize a draft at once: one number, one charge', async () => {
  const { by, seller, newest, moveTo, send } = await newReviewed({ reviewHours: 24 });
  await moveTo('2026-05-01');
  const { id } = (await newest()).invoice;
  await app.setClock(instant('2026-05-02'), seller.testEnvironmentId);
  await atOnce<unknown>(4, (place) =>
    place % 2 === 0
      ? doDueWorkOfCells(app, seller.testEnvironmentId, { forMs: 20_000 })
      : send('POST', `/invoices/${id}/finalize`, {}),
  );
  const { invoice } = await newest();
  assert.deepEqual([invoice.status, dayOf(invoice.invoiceDate)], ['paid', '2026-05-02']);
  assert.match(invoice.invoiceNumber, /-00002$/);
  const { data } = await by.get('/payments?limit=100');
  assert.deepEqual(
    data.map(({ amount }: Body) => amount),
    [3000, 3000],
  );
});

test('without a payment method a draft is due after its terms, and is dunned from then on', async () => {
  const { by, newest, moveTo } = await newReviewed({ reviewHours: 24, netTermsDays: 10 }, 'pro', null);
  await by.post(`/invoices/${(await newest()).invoice.id}/record-payment`, {});
  await moveTo('2026-05-03');
  const { invoice } = await newest();
  assert.deepEqual([invoice.status, dayOf(invoice.dueDate)], ['open', '2026-05-12']);
  await newCard(by, invoice.customerId, 'pm_card_visa');
  await moveTo('2026-05-12');
  assert.equal((await newest()).invoice.status, 'paid');
});

test('pending lines go onto the next renewal once: those of the customer, and those of the subscription', async () => {
  const { by, id, customerId, newest, moveTo, refusal } = await newReviewed({});
  const add = async (item: Body) =>
    (await by.post('/invoice-items', { invoiceItem: { description: 'Set-up', unitAmount: 1500, ...item } }))
      .invoiceItem;
  const service = { start: '2026-04-02', end: '2026-04-03' };
  const first = await add({ customerExternalId: 'ada', quantity: 2, taxable: false, servicePeriod: service });
  assert.deepEqual(
    [first.status, first.amount, first.taxable, first.subscriptionId, first.invoiceId],
    ['pending', 3000, false, null, null],
  );
  const second = await add({ subscriptionId: id });
  const changed = await by.put(`/invoice-items/${second.id}`, {
    invoiceItem: { description: 'Set-up, less', unitAmount: 700 },
  });
  assert.deepEqual([changed.invoiceItem.amount, changed.invoiceItem.subscriptionId], [700, id]);
  const gone = await add({ customerId });
  await by.delete(`/invoice-items/${gone.id}`);
  assert.match(await refusal('POST', '/invoice-items', { invoiceItem: { customerId } }), /^400/);
  assert.match(
    await refusal('POST', '/invoice-items', { invoiceItem: { customerId, description: 'Less', unitAmount: -1 } }),
    /^400 .*unitAmount/,
  );
  const upcoming = await by.get(`/invoices/upcoming?subscriptionId=${id}`);
  assert.deepEqual(amounts(upcoming), [3000, 3000, 700]);

  await moveTo('2026-05-01');
  const { invoice, invoiceLineItems } = await newest();
  assert.deepEqual([invoice.status, invoice.total, amounts({ invoiceLineItems })], ['paid', 6700, [3000, 3000, 700]]);
  assert.deepEqual([invoiceLineItems[1].taxable, invoiceLineItems[1].description], [false, 'Set-up']);
  const items = await by.get(`/invoice-items?invoiceId=${invoice.id}&status=invoiced`);
  assert.deepEqual(items.data.map((item: Body) => item.id).toSorted(), [first.id, second.id].toSorted());
  assert.match(await refusal('DELETE', `/invoice-items/${first.id}`), /^400 .*it is on invoice/);
  assert.equal((await by.get(`/invoices/${invoice.id}/explain`)).total, 6700);
  await moveTo('2026-06-01');
  assert.deepEqual(amounts(await newest()), [3000]);
});

test('a void invoice gives its items back, a draft gives back one that is taken off, and an end takes those of its subscription', async () => {
  const { by, id, customerId, newest, moveTo } = await newReviewed();
  const add = (item: Body) =>
    by.post('/invoice-items', { invoiceItem: { description: 'Set-up', unitAmount: 1500, ...item } });
  const pending = async () => (await by.get('/invoice-items?status=pending')).data.length;
  await add({ subscriptionId: id });
  await add({ customerId });
  await moveTo('2026-05-01');
  const draft = await newest();
  assert.deepEqual([amounts(draft), await pending()], [[3000, 1500, 1500], 0]);
  await by.delete(`/invoices/${draft.invoice.id}/lines/${draft.invoiceLineItems[1].id}`);
  assert.equal(await pending(), 1);
  await by.post(`/invoices/${draft.invoice.id}/void`, {});
  assert.equal(await pending(), 2);
  await by.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  const last = await newest();
  assert.deepEqual([last.invoice.status, amounts(last), await pending()], ['paid', [1500], 1]);
});

test('the last line of a draft stays, because an invoice has one, and due work goes on', async () => {
  const { by, id, customerId, moveTo, refusal } = await newReviewed({ reviewHours: 24 });
  // The default plan costs nothing, so its renewal has the item only.
  await by.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  await by.post('/invoice-items', { invoiceItem: { customerId, description: 'Set-up', unitAmount: 1500 } });
  await moveTo('2026-05-01');
  const [draft] = (await by.get('/invoices?status=draft&limit=100')).data;
  const { invoiceLineItems } = await by.get(`/invoices/${draft.id}`);
  assert.deepEqual(amounts({ invoiceLineItems }), [1500]);
  const path = `/invoices/${draft.id}/lines/${invoiceLineItems[0].id}`;
  assert.match(await refusal('DELETE', path), /^400 .*void the draft instead/);
  await moveTo('2026-05-02');
  assert.equal((await by.get(`/invoices/${draft.id}`)).invoice.status, 'paid');
});

test('an item stays on a draft whose usage pays back more than the other lines cost', async () => {
  const { by, id, customerId, newest, moveTo, refusal } = await newReviewed({
    reviewHours: 48,
    billingThresholdAmount: 5000,
  });
  const use = (amount: number) => {
    const usageEvent = { subscriptionId: id, priceSlug: 'bytes', amount, transactionId: `bytes ${amount}` };
    return by.post('/usage-events', { usageEvent });
  };
  // 1,000 are 100.00, which the threshold bills; 1,200 are 60.00.
  await use(1000);
  await moveTo('2026-04-10');
  await use(200);
  await by.post('/invoice-items', { invoiceItem: { customerId, description: 'Set-up', unitAmount: 1500 } });
  await moveTo('2026-05-01');
  const { invoice, invoiceLineItems } = await newest();
  assert.deepEqual([invoice.status, amounts({ invoiceLineItems })], ['draft', [3000, -4000, 1500]]);
  const path = `/invoices/${invoice.id}/lines/${invoiceLineItems[2].id}`;
  assert.match(await refusal('DELETE', path), /^400 .*pays back more than the other lines cost/);
  await moveTo('2026-05-03');
  assert.deepEqual([(await newest()).invoice.total, (await newest()).invoice.status], [500, 'paid']);
});

test('while a renewal takes an item, it is not changed, and of many that are added at once none is lost', async () => {
  const { by, seller, customerId, moveTo, send } = await newReviewed({});
  const add = () =>
    send('POST', '/invoice-items', { invoiceItem: { customerId, description: 'Set-up', unitAmount: 100 } });
  const { body } = await add();
  await app.setClock(instant('2026-05-01'), seller.testEnvironmentId);
  const change = { invoiceItem: { description: 'Changed', unitAmount: 700 } };
  await atOnce<unknown>(9, (place) => {
    if (place < 2) return doDueWorkOfCells(app, seller.testEnvironmentId, { forMs: 20_000 });
    return place === 2 ? send('PUT', `/invoice-items/${body.invoiceItem.id}`, change) : add();
  });
  await moveTo('2026-06-01');
  const { data } = await by.get('/invoice-items?limit=100');
  assert.deepEqual([data.length, data.filter(({ status }: Body) => status === 'pending').length], [7, 0]);
  const lines = (await by.get('/invoice-line-items?limit=100')).data;
  assert.equal(lines.length, 3 + 7);
});
