import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CheckoutSession, readCheckoutKey } from '../../src/checkout/checkout.ts';
import { readPortalKey } from '../../src/customers/portal-link.ts';
import { encryptionOf } from '../../src/jobs/encryption.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { openCheckout, returns, visa } from '../support/checkout-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newProduct } from '../support/pricing-fixture.ts';

const app = await startTestApp();
const checkout = await openCheckout(app);
const { plans } = checkout;
const encryption = encryptionOf(app.services);
const product = { ...returns, type: 'product' };

/** The answer to a session that is refused. */
async function refusal(
  checkoutSession: Body,
  query = '',
): Promise<{ status: number; fields: string[]; message: string }> {
  const { status, body } = await app.request('POST', `/checkout-sessions${query}`, { checkoutSession });
  return { status, fields: (body.issues ?? []).map((issue: Body) => issue.path.join('.')), message: body.error };
}

/** An incomplete subscription: there is nothing to charge. */
async function newIncomplete() {
  const { externalId, customerId, freeId } = await plans.newCustomer();
  const waiting = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', quantity: 3 });
  assert.equal(waiting.status, 'incomplete');
  return { externalId, customerId, freeId, waiting };
}

test('a session for a product is open for 24 hours, and its link opens it', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const { id: priceId } = plans.priceOf('pro-monthly');
  const outputs = { outputName: 'Pro for Acme', outputMetadata: { deal: 7 } };
  const { checkoutSession, url } = await app.post('/checkout-sessions', {
    checkoutSession: { ...product, customerExternalId: externalId, priceSlug: 'pro-monthly', quantity: 2, ...outputs },
  });
  assert.deepEqual(checkoutSession, {
    id: checkoutSession.id,
    createdAt: instant('2026-06-01'),
    updatedAt: instant('2026-06-01'),
    livemode: false,
    organizationId: app.id,
    pricingModelId: plans.pricingModelId,
    type: 'product',
    status: 'open',
    billingAddress: null,
    priceId,
    purchaseId: null,
    invoiceId: null,
    quantity: 2,
    addOns: [],
    customerId,
    customerName: 'Acme',
    customerEmail: checkoutSession.customerEmail,
    paymentMethodType: null,
    discountId: null,
    ...returns,
    preserveBillingCycleAnchor: false,
    billingAnchor: null,
    firstPeriod: null,
    ...outputs,
    minimumQuantity: null,
    maximumQuantity: null,
    trialPeriodDays: null,
    metadata: null,
    adjustmentId: null,
    targetSubscriptionId: null,
    automaticallyUpdateSubscriptions: null,
    expires: instant('2026-06-02'),
  });
  assert.match(checkoutSession.id, /^chckt_session_/);
  const opened = new URL(url);
  assert.equal(opened.origin + opened.pathname, `${app.url}/checkout/${checkoutSession.id}`);
  const key = opened.searchParams.get('key') ?? '';
  assert.equal(readCheckoutKey(encryption, checkoutSession.id, key), app.testEnvironmentId);
  assert.deepEqual(await app.get(`/checkout-sessions/${checkoutSession.id}`), { checkoutSession, url });
});

test('an anonymous session names nobody; a slug is one of the default pricing model', async () => {
  const { checkoutSession } = await app.post('/checkout-sessions', {
    checkoutSession: { ...product, anonymous: true, customerExternalId: null, priceSlug: 'pro-monthly' },
  });
  const { customerId, customerName, customerEmail, quantity, pricingModelId } = checkoutSession;
  assert.deepEqual([customerId, customerName, customerEmail, quantity], [null, null, null, 1]);
  assert.equal(pricingModelId, plans.pricingModelId);
});

test('a session that activates takes price and quantity from its subscription', async () => {
  const { externalId, waiting } = await newIncomplete();
  const { checkoutSession, url } = await app.post('/checkout-sessions', {
    checkoutSession: {
      ...returns,
      type: 'activate_subscription',
      customerExternalId: externalId,
      targetSubscriptionId: waiting.id,
      preserveBillingCycleAnchor: true,
    },
  });
  const { priceId, quantity, targetSubscriptionId, preserveBillingCycleAnchor } = checkoutSession;
  assert.deepEqual([priceId, quantity, targetSubscriptionId], [waiting.priceId, 3, waiting.id]);
  assert.equal(preserveBillingCycleAnchor, true);
  assert.match(url, /\/checkout\//);
});

test('an activation lists the add-ons of its subscription: 30.00 for the plan and 16.00 for two seats', async () => {
  const { price: seat } = await newProduct(app, plans.pricingModelId, {
    product: { name: 'Seats', slug: 'seats', addOn: true },
    price: { type: 'subscription', slug: 'seats-monthly', unitPrice: 800, intervalUnit: 'month', isDefault: true },
  });
  const { externalId: customerExternalId, customerId } = await plans.newCustomer();
  const items = [
    { priceSlug: 'seats-monthly', quantity: 2 },
    { priceSlug: 'pro-monthly', quantity: 1 },
  ];
  const { subscription: waiting } = await app.post('/subscriptions', { customerId, items });
  assert.equal(waiting.status, 'incomplete');
  const type = 'activate_subscription';
  const id = await checkout.open({ type, customerExternalId, targetSubscriptionId: waiting.id });
  assert.equal((await checkout.confirm(id, { ...visa, dueNow: 4600n })).status, 'succeeded');
  const { purchases } = await checkout.billing(customerExternalId);
  assert.deepEqual(
    purchases.map((each: Body) => [each.quantity, each.pricePerBillingCycle, each.addOns]),
    [[1, 4600, [{ priceId: seat.id, quantity: 2 }]]],
  );
});

test('a session that adds a card has a page of its own; looked up again it is a checkout', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const made = await app.post('/checkout-sessions', {
    checkoutSession: { ...returns, type: 'add_payment_method', customerExternalId: externalId },
  });
  assert.match(made.url, new RegExp(`^${app.url}/add-payment-method/${made.checkoutSession.id}\\?key=`));
  assert.deepEqual([made.checkoutSession.customerId, made.checkoutSession.priceId], [customerId, null]);
  const { url } = await app.get(`/checkout-sessions/${made.checkoutSession.id}`);
  assert.match(url, new RegExp(`^${app.url}/checkout/${made.checkoutSession.id}\\?key=`));
});

test('every session that is listed has every key of its record, and the filters hold', async () => {
  const { data, total } = await app.get('/checkout-sessions?limit=100');
  assert.equal(data.length, total);
  const types = new Set(data.map((session: Body) => session.type));
  assert.deepEqual([...types].sort(), ['activate_subscription', 'add_payment_method', 'product']);
  for (const session of data) {
    CheckoutSession.parse(session);
    assert.equal(Object.keys(session).length, 34, session.type);
  }
  const { data: some } = await app.get(`/checkout-sessions?type=product&customerId=${data[0].customerId}`);
  assert.deepEqual(
    some.map((session: Body) => session.id),
    data
      .filter((session: Body) => session.type === 'product' && session.customerId === data[0].customerId)
      .map((session: Body) => session.id),
  );
});

test('what is expired by the clock is expired wherever it is asked for', async () => {
  const { externalId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  const idsOf = async (status: string): Promise<string[]> =>
    (await app.get(`/checkout-sessions?status=${status}&limit=100`)).data.map((session: Body) => session.id);
  await app.setClock(instant('2026-06-02') - 1);
  assert.equal((await checkout.session(id)).status, 'open');
  assert((await idsOf('open')).includes(id));
  await app.setClock(instant('2026-06-02'));
  assert.equal((await checkout.session(id)).status, 'expired');
  assert((await idsOf('expired')).includes(id));
  assert.deepEqual(await idsOf('open'), []);
  await app.setClock(instant('2026-06-01'));
});

test('a session is refused with the field that is wrong and what would be right', async () => {
  const { externalId: customerExternalId } = await plans.newCustomer();
  const priceSlug = 'pro-monthly';
  const identified = { ...product, customerExternalId };
  const { id: priceId } = plans.priceOf(priceSlug);
  const field = async (session: Body) => (await refusal(session)).fields;
  assert.deepEqual(await field({ ...identified }), ['checkoutSession.priceId']);
  assert.deepEqual(await field({ ...identified, priceSlug, priceId }), ['checkoutSession.priceId']);
  assert.deepEqual(await field({ ...identified, priceSlug, quantity: 0 }), ['checkoutSession.quantity']);
  assert.deepEqual(await field({ ...identified, priceSlug, anonymous: true }), ['checkoutSession.customerExternalId']);
  assert.deepEqual(await field({ ...product, priceSlug }), ['checkoutSession.customerExternalId']);
  assert.deepEqual(await field({ ...identified, priceSlug, type: 'purchase' }), ['checkoutSession.type']);
  assert.deepEqual(await field({ ...identified, priceSlug, successUrl: undefined }), ['checkoutSession.successUrl']);
  assert.deepEqual(await field({ ...identified, priceSlug: 'free-monthly' }), ['checkoutSession.priceSlug']);
  assert.deepEqual(await field({ ...identified, priceSlug: 'call-overage' }), ['checkoutSession.priceSlug']);
});

test('a buyer is sent to web pages and apps, and never to what a browser would run', async () => {
  const { externalId: customerExternalId } = await plans.newCustomer();
  const session = { ...product, customerExternalId, priceSlug: 'pro-monthly' };
  for (const successUrl of [
    'javascript:alert(1)',
    'JavaScript://a.test/%0aalert(1)',
    'data:text/html,x',
    'cancelUrl',
    '/paid',
    '',
  ])
    assert.deepEqual((await refusal({ ...session, successUrl })).fields, ['checkoutSession.successUrl'], successUrl);
  const made = await app.post('/checkout-sessions', { checkoutSession: { ...session, cancelUrl: 'acme-app://back' } });
  assert.equal(made.checkoutSession.cancelUrl, 'acme-app://back');
  // What goes into a header is written in its characters; what is in them already stays as it was sent.
  const spoken = { successUrl: 'https://acme.test/büro\n', cancelUrl: 'https://acme.test' };
  const { checkoutSession } = await app.post('/checkout-sessions', { checkoutSession: { ...session, ...spoken } });
  assert.deepEqual(
    [checkoutSession.successUrl, checkoutSession.cancelUrl],
    ['https://acme.test/b%C3%BCro', 'https://acme.test'],
  );
});

test('who and what is not there is not found; of another customer or environment it is not there', async () => {
  const [{ externalId }, { waiting }] = [await plans.newCustomer(), await newIncomplete()];
  const status = async (session: Body) => (await refusal({ ...returns, ...session })).status;
  assert.equal(await status({ ...product, customerExternalId: 'nobody', priceSlug: 'pro-monthly' }), 404);
  assert.equal(await status({ ...product, customerExternalId: externalId, priceSlug: 'nothing' }), 404);
  const activation = { type: 'activate_subscription', customerExternalId: externalId };
  assert.equal(await status({ ...activation, targetSubscriptionId: waiting.id }), 404);
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  const other = await app.request('GET', `/checkout-sessions/${id}`, undefined, { key: app.liveKey });
  assert.deepEqual([other.status, other.body.code], [404, 'NOT_FOUND']);
});

test('only a subscription that waits can be activated, and only one that is charged gets a card', async () => {
  const { externalId: customerExternalId, customerId, freeId } = await plans.newCustomer('pm_card_visa');
  const pro = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  const session = { ...returns, customerExternalId, targetSubscriptionId: pro.id };
  const active = await refusal({ ...session, type: 'activate_subscription' });
  assert.deepEqual([active.status, active.fields], [400, ['checkoutSession.targetSubscriptionId']]);
  const ended = await refusal({ ...session, type: 'add_payment_method', targetSubscriptionId: freeId });
  assert.deepEqual([ended.status, ended.fields], [400, ['checkoutSession.targetSubscriptionId']]);
});

test('what is no longer sold, or costs more than a payment carries, gets no link', async () => {
  const { externalId: customerExternalId } = await plans.newCustomer();
  const { product: gone, price } = await newProduct(app, plans.pricingModelId);
  await app.put(`/products/${gone.id}`, { product: { id: gone.id, active: false } });
  const inactive = await refusal({ ...product, customerExternalId, priceId: price.id });
  assert.deepEqual([inactive.status, /no longer for sale/.test(inactive.message)], [400, true]);
  const { price: dear } = await newProduct(app, plans.pricingModelId, {
    price: { type: 'single_payment', unitPrice: 4_503_599_627_370_495 },
  });
  const tooDear = await refusal({ ...product, customerExternalId, priceId: dear.id, quantity: 2 });
  assert.deepEqual(tooDear.fields, ['checkoutSession.quantity']);
});

test('a link that is kept for a repeat is kept sealed', async () => {
  const { externalId } = await plans.newCustomer();
  const checkoutSession = { ...product, customerExternalId: externalId, priceSlug: 'pro-monthly' };
  for (const [path, body] of [
    ['/checkout-sessions', { checkoutSession }],
    [`/customers/${externalId}/portal-sessions`, {}],
  ] as const) {
    const headers = { 'idempotency-key': `sealed ${path}` };
    const [first, second] = [await app.post(path, body, { headers }), await app.post(path, body, { headers })];
    assert.deepEqual(second, first);
  }
  const kept = JSON.stringify(await app.owner.selectFrom('idempotencyKeys').selectAll().execute());
  assert.match(kept, /sealed \/checkout-sessions/);
  assert.doesNotMatch(kept, /key=/);
});

test('a portal session is a link that expires by real time, where the test clock stands still', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const ask = async (portalSession?: Body): Promise<Body> =>
    (await app.post(`/customers/${externalId}/portal-sessions`, { portalSession })).portalSession;
  const passOf = (url: string) => readPortalKey(encryption, new URL(url).searchParams.get('key') ?? '', Date.now());
  const before = Date.now();
  const { url, expiresAt, returnUrl } = await ask();
  assert(expiresAt >= before + 3_600_000 && expiresAt <= Date.now() + 3_600_000);
  assert.equal(returnUrl, null);
  assert(url.startsWith(`${app.url}/portal?key=`));
  assert.deepEqual(passOf(url), {
    environmentId: app.testEnvironmentId,
    customerId,
    expiresAt,
    version: 0,
    returnUrl: null,
  });
  const given = await ask({ returnUrl: 'https://app.test/account', expiresInSeconds: 60 });
  assert.equal(passOf(given.url)?.returnUrl, 'https://app.test/account');
  assert(given.expiresAt <= Date.now() + 60_000);
  const path = `/customers/${externalId}/portal-sessions`;
  for (const portalSession of [{ expiresInSeconds: 604_801 }, { expiresInSeconds: 0 }, { returnUrl: 'javascript:1' }])
    assert.equal((await app.request('POST', path, { portalSession })).status, 400, JSON.stringify(portalSession));
  assert.equal((await app.request('POST', '/customers/nobody/portal-sessions', {})).status, 404);
});
