import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { slotOf } from '../../src/kernel/id.ts';
import { check } from '../../src/main-check.ts';
import type { Body } from '../support/harness.ts';
import { moveTogether } from '../support/moves.ts';
import { OverCells } from '../support/over-cells.ts';
import { until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';
import { startStripeServer, stripeEvent } from '../support/stripe-server.ts';

// Money, pages and erasure of customers in other cells.
const cells = await OverCells.start();
const ok = cells.ok.bind(cells);
const places = ['cell_a', 'cell_b'] as const;
const card = { cardNumber: '4242424242424242', cardExpiry: '12/34', cardCode: '123' };
const returns = { successUrl: 'https://app.test/paid', cancelUrl: 'https://app.test' };

before(async () => {
  const term = { intervalUnit: 'month', intervalCount: 1, isDefault: true };
  const price = { type: 'subscription', name: 'Monthly', slug: 'monthly', unitPrice: 1000, ...term };
  await ok('POST', '/products', { product: { name: 'Plan', slug: 'plan' }, price });
  const once = { type: 'single_payment', name: 'Book', slug: 'book', unitPrice: 900, isDefault: true };
  await ok('POST', '/products', { product: { name: 'Book', slug: 'book-product' }, price: once });
});

after(() => cells.stop());

function look(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(cells.service.address + path, { headers, redirect: 'manual' });
}

/** Sends a form as a browser does. */
function send(path: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
  const { address } = cells.service;
  const body = new URLSearchParams(form);
  return fetch(address + path, { method: 'POST', headers: { origin: address, ...headers }, body, redirect: 'manual' });
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

/** The cells with a customer of this name: the first is home. */
async function cellsOf(externalId: string): Promise<string[]> {
  const found: string[] = [];
  for (const [client, schema] of [
    [cells.admin, 'home'],
    [cells.admin, 'cell_a'],
    [cells.elsewhere, 'cell_b'],
  ] as const) {
    const { rowCount } = await client.query(`select from ${schema}.customers where external_id = $1`, [externalId]);
    if (rowCount) found.push(schema);
  }
  return found;
}

async function newInvoice(customerExternalId: string, unitAmount: number): Promise<Body> {
  const lines = [{ description: 'Workshop', unitAmount }];
  const { invoice } = await ok('POST', '/invoices', { invoice: { customerExternalId, lines } });
  return (await ok('POST', `/invoices/${invoice.id}/finalize`)).invoice;
}

test('a customer of another cell is charged, refunded and sold to on its payment methods', async () => {
  const terms = { amountType: 'percent', amount: 10, duration: 'once' };
  const { discount } = await ok('POST', '/discounts', { discount: { name: 'Ten', code: 'TEN', ...terms } });
  for (const cell of places) {
    const customerExternalId = await cells.newCustomer(cell);
    const attach = (token: string, more: object = {}) =>
      ok('POST', '/payment-methods', { paymentMethod: { customerExternalId, token, ...more } });
    const { paymentMethod } = await attach('pm_card_visa');
    const { subscription } = await ok('POST', '/subscriptions', { customerExternalId, priceSlug: 'monthly' });
    assert.equal(subscription.status, 'active');
    const { data } = await ok('GET', `/payments?subscriptionId=${subscription.id}`);
    assert.deepEqual(
      data.map(({ status, amount }: Body) => [status, amount]),
      [['succeeded', 1000]],
    );
    const headers = { 'idempotency-key': `refund of ${customerExternalId}` };
    const refund = () => ok('POST', `/payments/${data[0].id}/refund`, { partialAmount: 300 }, { headers });
    assert.deepEqual(await refund(), await refund());
    assert.equal((await ok('GET', `/payments/${data[0].id}`)).payment.refundedAmount, 300);
    const order = { customerExternalId, priceSlug: 'book', discountCode: 'TEN' };
    const { purchase } = await ok('POST', '/purchases', { purchase: order });
    assert.equal(purchase.status, 'paid');
    const invoice = await newInvoice(customerExternalId, 500);
    assert.equal((await ok('POST', `/invoices/${invoice.id}/pay`)).invoice.status, 'paid');
    const { paymentMethod: other } = await attach('pm_card_mastercard', { default: true });
    await ok('PUT', `/payment-methods/${paymentMethod.id}`, { paymentMethod: { default: true } });
    await ok('DELETE', `/payment-methods/${other.id}`);
    const declined = await cells.ask('POST', '/payment-methods', {
      paymentMethod: { customerExternalId, token: 'pm_card_chargeDeclined' },
    });
    assert.equal(declined.status, 402);
  }
  assert.equal((await ok('GET', `/discounts/${discount.id}`)).discount.redemptionCount, places.length);
  assert.equal((await ok('GET', '/discounts?code=TEN')).data[0].redemptionCount, places.length);
});

test('links to the portal and to invoices open in the cell of their customer', async () => {
  for (const cell of places) {
    const name = await cells.newCustomer(cell);
    const invoice = await newInvoice(name, 700);
    const { invoice: sent } = await ok('POST', `/invoices/${invoice.id}/send`);
    const link = pathOf(sent.hostedInvoiceUrl);
    const shown = await look(link);
    assert.equal(shown.status, 200);
    assert.match(await shown.text(), /Pay \$7\.00/);
    const [page, query] = link.split('?');
    const pdf = await look(`${page}/pdf?${query}`);
    assert.deepEqual([pdf.status, (await pdf.text()).slice(0, 5)], [200, '%PDF-']);
    assert.equal((await send(link, { ...card, shownDue: '700' })).status, 303);
    assert.equal((await ok('GET', `/invoices/${invoice.id}`)).invoice.status, 'paid');

    const { portalSession } = await ok('POST', `/customers/${name}/portal-sessions`, {});
    const entered = await look(pathOf(portalSession.url));
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
    const portal = await (await look('/portal', { cookie })).text();
    assert(portal.includes(invoice.invoiceNumber), `${cell}: ${portal}`);
    const formToken = /name="formToken" value="([^"]+)"/.exec(portal)?.[1] ?? '';
    assert.equal((await send('/portal/payment-methods', { ...card, formToken }, { cookie })).status, 303);
    assert.equal((await ok('GET', `/payment-methods?customerExternalId=${name}`)).total, 1);
    await ok('DELETE', `/customers/${name}/portal-sessions`);
    assert.equal((await look('/portal', { cookie })).status, 403);
  }
});

test('a checkout session sells in the cell of its customer, and an anonymous buyer becomes a customer at home', async () => {
  const details = { step: 'pay', shownDue: '900', country: 'US', ...card };
  const terms = { amountType: 'percent', amount: 10, duration: 'once', maximumRedemptions: places.length + 6 };
  await ok('POST', '/discounts', { discount: { name: 'First', code: 'FIRST', ...terms } });
  for (const cell of places) {
    const customerExternalId = await cells.newCustomer(cell);
    const session = { type: 'product', customerExternalId, priceSlug: 'book', ...returns };
    const { checkoutSession, url } = await ok('POST', '/checkout-sessions', { checkoutSession: session });
    const limited = { ...details, discountCode: 'FIRST' };
    assert.match(await (await send(pathOf(url), { ...limited, step: 'review' })).text(), /\$8\.10/);
    assert.equal((await send(pathOf(url), limited)).status, 303);
    const { status } = (await ok('GET', `/checkout-sessions/${checkoutSession.id}`)).checkoutSession;
    assert.equal(status, 'succeeded');
  }
  // Enough that by chance some would be of slots of other cells.
  for (let buyer = 1; buyer <= 6; buyer++) {
    const session = { type: 'product', anonymous: true, priceSlug: 'book', discountCode: 'FIRST', ...returns };
    const { checkoutSession, url } = await ok('POST', '/checkout-sessions', { checkoutSession: session });
    const paid = await send(pathOf(url), { ...details, name: 'Eve', email: 'eve@acme.test' });
    assert.equal(paid.status, 303);
    assert.deepEqual(await cellsOf(checkoutSession.id), ['home']);
    assert.equal((await ok('GET', `/customers/${checkoutSession.id}`)).customer.name, 'Eve');
    const { rows } = await cells.admin.query('select home.slot_of_customer(1, $1) as slot', [checkoutSession.id]);
    assert.equal(rows[0].slot, checkoutSession.id.slice(-2));
  }
});

/** Moves the slot of a record of the home cell to another cell. */
async function moveSlotOf(id: string): Promise<void> {
  const move = { codes: [slotOf(id)], source: null, target: 'cell_a' };
  assert.equal((await moveTogether(readConfig(cells.settings), move)).reason, null);
}

async function newIdAtHome(): Promise<{ readonly name: string; readonly id: string }> {
  const name = await cells.newCustomer(null);
  return { name, id: (await ok('GET', `/customers/${name}`)).customer.id };
}

test('the session of an anonymous buyer moves with its slot, and the buyer becomes a customer there', async () => {
  const terms = { amountType: 'percent', amount: 10, duration: 'once', maximumRedemptions: 1 };
  await ok('POST', '/discounts', { discount: { name: 'Only', code: 'ONLY', ...terms } });
  const session = { type: 'product', anonymous: true, priceSlug: 'book', discountCode: 'ONLY', ...returns };
  const { checkoutSession, url } = await ok('POST', '/checkout-sessions', { checkoutSession: session });
  await moveSlotOf(checkoutSession.id);
  assert.deepEqual((await ok('GET', `/checkout-sessions/${checkoutSession.id}`)).checkoutSession, checkoutSession);
  assert.match(await (await look(pathOf(url))).text(), /\$8\.10/);
  const buyer = { step: 'pay', shownDue: '810', country: 'US', ...card, name: 'Eve', email: 'eve@acme.test' };
  assert.equal((await send(pathOf(url), buyer)).status, 303);
  assert.deepEqual(await cellsOf(checkoutSession.id), ['cell_a']);
});

test('a job about customers of two cells is in both, and one that has only come to a customer stays', async () => {
  const [moved, stays] = [await newIdAtHome(), await newIdAtHome()];
  const idOf = (kind: string, { id }: typeof moved) => `${kind}_${'0'.repeat(19)}${slotOf(id)}`;
  const jobs = {
    of_one: { paymentIds: [idOf('pym', moved)] },
    of_two: { paymentIds: [idOf('pym', moved), idOf('pym', stays)] },
    of_cell: { pricingModelId: `pricing_model_${'0'.repeat(21)}`, after: idOf('sub', moved) },
  };
  const owner = { connectionString: cells.settings.TOLLKEEPER_MIGRATE_URL, options: '-c search_path=home' };
  const client = new pg.Client(owner);
  await client.connect();
  for (const [name, payload] of Object.entries(jobs))
    await client.query(`select enqueue_job('look_at_payment', $1::json, $2, now() + interval '1 day', 25)`, [
      payload,
      name,
    ]);
  await client.end();
  await moveSlotOf(moved.id);
  const keysIn = async (cell: string) => {
    const { rows } = await cells.admin.query(
      `select key from ${cell}_graphile_worker._private_jobs where key ~ '^of_' order by key`,
    );
    return rows.map(({ key }) => key);
  };
  assert.deepEqual(
    [await keysIn('home'), await keysIn('cell_a')],
    [
      ['of_cell', 'of_two'],
      ['of_one', 'of_two'],
    ],
  );
  for (const cell of ['home', 'cell_a'])
    await cells.admin.query(`delete from ${cell}_graphile_worker._private_jobs where key ~ '^of_'`);
});

test('the event of a draft that was deleted moves with its customer', async () => {
  const { name, id } = await newIdAtHome();
  const lines = [{ description: 'Workshop', unitAmount: 500 }];
  const { invoice } = await ok('POST', '/invoices', { invoice: { customerExternalId: name, lines } });
  await ok('DELETE', `/invoices/${invoice.id}`);
  const { data } = await ok('GET', '/events?type=invoice.created&order=desc&limit=1');
  await moveSlotOf(id);
  assert.deepEqual((await ok('GET', `/events/${data[0].id}`)).event, data[0]);
});

test('so does the event of a draft of a customer that was erased', async () => {
  const { name, id } = await newIdAtHome();
  const lines = [{ description: 'Workshop', unitAmount: 500 }];
  const { invoice } = await ok('POST', '/invoices', { invoice: { customerExternalId: name, lines } });
  await ok('DELETE', `/invoices/${invoice.id}`);
  await ok('POST', `/customers/${name}/erase`);
  await until('the copies are erased', async () => {
    return (await ok('POST', `/customers/${name}/erase`)).erasure.completedAt !== null;
  });
  const { data } = await ok('GET', '/events?type=invoice.created&order=desc&limit=1');
  assert.equal(data[0].payload?.data ?? null, null);
  await moveSlotOf(id);
  assert.deepEqual((await ok('GET', `/events/${data[0].id}`)).event, data[0]);
});

test('an answer moves to a cell in which another customer had its key a day ago', async () => {
  const [before, { name, id }] = [await cells.newCustomer('cell_a'), await newIdAtHome()];
  const add = (customerExternalId: string) =>
    ok(
      'POST',
      '/customer-balances/adjust',
      { adjustment: { customerExternalId, amount: 500 } },
      {
        headers: { 'idempotency-key': 'a key of each day' },
      },
    );
  await add(before);
  await cells.admin.query(
    `update cell_a.idempotency_keys set created_at = created_at - 86400001 where key = 'a key of each day'`,
  );
  const added = await add(name);
  await moveSlotOf(id);
  assert.deepEqual(await add(name), added);
  assert.equal((await ok('GET', `/customer-balances?customerExternalId=${name}`)).data[0].balance, 500);
});

test('the audit log moves with its customer, and an erasure leaves nothing in the cell of before', async () => {
  const { name, id } = await newIdAtHome();
  const lines = [{ description: `Workshop for ${name}`, unitAmount: 500 }];
  const { invoice } = await ok('POST', '/invoices', { invoice: { customerExternalId: name, lines } });
  await ok('DELETE', `/invoices/${invoice.id}`);
  const logOf = async () =>
    Promise.all([id, invoice.id].map(async (recordId) => (await ok('GET', `/audit-log?recordId=${recordId}`)).data));
  const before = await logOf();
  assert.deepEqual(
    before[1].map(({ operation }: Body) => operation),
    ['delete', 'insert'],
  );
  const tracesIn = async (cell: string) => {
    const { rows } = await cells.admin.query(
      `select count(*)::integer as traces from ${cell}.audit_log where to_jsonb(audit_log)::text like $1`,
      [`%${name}%`],
    );
    return rows[0].traces;
  };
  await moveSlotOf(id);
  assert.deepEqual(await logOf(), before);
  assert.equal(await tracesIn('home'), 0);
  assert.ok((await tracesIn('cell_a')) > 0);
  await ok('POST', `/customers/${name}/erase`);
  await until('the copies are erased', async () => {
    return (await ok('POST', `/customers/${name}/erase`)).erasure.completedAt !== null;
  });
  assert.deepEqual([await tracesIn('home'), await tracesIn('cell_a')], [0, 0]);
});

test('a customer of another cell is erased there', async () => {
  for (const cell of places) {
    const name = await cells.newCustomer(cell);
    const { customer } = await ok('GET', `/customers/${name}`);
    await ok('POST', `/customers/${name}/erase`);
    await until('the copies are erased', async () => {
      return (await ok('POST', `/customers/${name}/erase`)).erasure.completedAt !== null;
    });
    assert.deepEqual(await cellsOf(name), []);
    const { rows } = await (cell === 'cell_b' ? cells.elsewhere : cells.admin).query(
      `select count(*)::integer as traces from ${cell}.audit_log where to_jsonb(audit_log)::text like $1`,
      [`%${name}%`],
    );
    assert.deepEqual([rows[0].traces, customer.name], [0, name]);
  }
});

test('an event of a payment processor reaches the payment in its cell', async () => {
  const stripe = await startStripeServer();
  await cells.startAgain(stripe.settings);
  for (const cell of places) {
    const customerExternalId = await cells.newCustomer(cell);
    const token = 'pm_usBankAccount_success';
    await ok('POST', '/payment-methods', { paymentMethod: { customerExternalId, token } });
    const { subscription } = await ok('POST', '/subscriptions', { customerExternalId, priceSlug: 'monthly' });
    const payment = async () => (await ok('GET', `/payments?subscriptionId=${subscription.id}`)).data[0];
    const { id } = await payment();
    const intent = [...stripe.objects.intents.values()].find(({ metadata }) => metadata.payment_id === id);
    assert(intent);
    assert.equal((await payment()).status, 'processing');
    stripe.objects.succeed(intent.id);
    const event = stripeEvent('payment_intent.succeeded', stripe.objects.intent(intent.id));
    assert.equal(await stripe.send(cells.service.address, event), 200);
    await until('it is paid', async () => (await payment()).status === 'succeeded');
  }
  const report = await printed(async () => assert.equal(await check(readConfig(cells.settings), { json: true }), true));
  assert.deepEqual(report.broken, []);
});
