import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import {
  countRedemptions,
  listActiveRedemptions,
  listDiscountsOfInvoices,
} from '../../src/invoicing/store-redemptions.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { databaseDigest } from '../support/digest.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { newModel, refused } from '../support/pricing-fixture.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
await app.setClock(instant('2026-04-01'));

let codes = 0;
/** Makes a discount with a code of its own. */
async function newDiscount(terms: object): Promise<Body> {
  codes += 1;
  const discount = { name: 'Deal', code: `deal-${codes}`, duration: 'once', amountType: 'percent', ...terms };
  return (await app.post('/discounts', { discount })).discount;
}

/** A price of a product of its own. */
async function newPrice(unitPrice: number, more: object = {}): Promise<string> {
  codes += 1;
  const slug = `plan-${codes}`;
  const price = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice, slug, ...more };
  const product = { name: 'Plan', slug, pricingModelId: plans.pricingModelId };
  return (await app.get(`/products/${(await app.post('/products', { product, price })).product.id}`)).defaultPrice.id;
}

/** Subscribes a new customer with a card on file, and answers what its first invoice asks for and what was charged. */
async function subscribe(discountCode: string, unitPrice: number, quantity = 1, named = true) {
  const { customerId, externalId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const subscription = await plans.subscribe({
    customerId,
    priceId: await newPrice(unitPrice),
    quantity,
    discountCode,
    ...(named ? { defaultPaymentMethodId: paymentMethodId } : {}),
  });
  const [{ invoice }] = (await app.get(`/customers/${externalId}/billing`)).invoices;
  const { data: payments } = await app.get(`/payments?customerId=${customerId}`);
  return { customerId, externalId, subscription, invoice, charged: payments.map(({ amount }: Body) => amount) };
}

const redemptionOf = (subscriptionId: string) =>
  app.owner
    .selectFrom('discountRedemptions')
    .selectAll()
    .where('subscriptionId', '=', subscriptionId)
    .executeTakeFirstOrThrow();
const redemptionCount = async (id: string) => (await app.get(`/discounts/${id}`)).discount.redemptionCount;
const next = async (subscriptionId: string) =>
  (await app.inEnvironment((work) => listActiveRedemptions(work, [subscriptionId]))).get(subscriptionId)?.[0] ?? null;

test('15 % of 7 x 500 are 525, so 2975 are due and charged (I2)', async () => {
  const { id, code } = await newDiscount({ amount: 15 });
  const { subscription, invoice, charged } = await subscribe(code.toLowerCase(), 500, 7);
  assert.equal(subscription.status, 'active');
  assert.deepEqual([invoice.discountAmount, invoice.total, invoice.status], [525, 2975, 'paid']);
  assert.deepEqual(charged, [2975]);
  assert.equal(await redemptionCount(id), 1);
});

test('50 % of 999 are rounded to 500, so 499 are due (I3)', async () => {
  const { code } = await newDiscount({ amount: 50 });
  const { invoice, charged } = await subscribe(code, 999);
  assert.deepEqual([invoice.discountAmount, invoice.total, charged], [500, 499, [499]]);
});

test('a fixed 500 takes all of 300: the invoice is paid without a payment (I4)', async () => {
  const { code } = await newDiscount({ amount: 500, amountType: 'fixed' });
  const { subscription, invoice, charged } = await subscribe(code, 300);
  assert.deepEqual([invoice.discountAmount, invoice.total, invoice.status, charged], [300, 0, 'paid', []]);
  assert.equal(subscription.status, 'active');
});

test('100 % of 1000 are paid without a payment, and so are 150 % (I8)', async () => {
  for (const amount of [100, 150]) {
    const { code } = await newDiscount({ amount });
    // The stored card would be charged, so the subscription would wait for the money.
    const { subscription, invoice, charged } = await subscribe(code, 1000, 1, false);
    assert.deepEqual([invoice.discountAmount, invoice.total, invoice.status, charged], [1000, 0, 'paid', []]);
    assert.equal(subscription.status, 'active');
    const { paymentsMade, fullyRedeemed } = await redemptionOf(subscription.id);
    assert.deepEqual([paymentsMade, fullyRedeemed], [1, true], 'an invoice of nothing counts, once');
  }
});

test('what is paid for by a discount is there at once: its credits too', async () => {
  const { code } = await newDiscount({ amount: 100 });
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const { id } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', discountCode: code });
  assert.equal(await plans.calls(externalId, id), 1500);
});

test('a redemption is a copy: changing the discount changes nothing for who has redeemed it', async () => {
  const discount = await newDiscount({ amount: 10, duration: 'number_of_payments', numberOfPayments: 3 });
  const { subscription } = await subscribe(discount.code, 1000);
  await app.put(`/discounts/${discount.id}`, { discount: { amount: 90, code: 'CHANGED', active: false } });
  const row = await redemptionOf(subscription.id);
  assert.deepEqual(
    [row.discountId, row.code, row.amount, row.duration, row.numberOfPayments, row.paymentsMade],
    [discount.id, discount.code, 10n, 'number_of_payments', 3, 1],
  );
  const { amount, code } = (await next(subscription.id)) ?? {};
  assert.deepEqual([amount, code], [10n, discount.code]);
});

test('a trial redeems the discount and uses it up later', async () => {
  const discount = await newDiscount({ amount: 20 });
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const { id, status } = await plans.subscribe({ customerId, priceSlug: 'team-monthly', discountCode: discount.code });
  assert.equal(status, 'trialing');
  assert.equal((await next(id))?.amount, 20n);
  assert.equal((await redemptionOf(id)).paymentsMade, 0);
});

test('a discount ends by invoices paid: once after one, for two payments after two, forever never', async () => {
  const durations = [
    { duration: 'once' },
    { duration: 'number_of_payments', numberOfPayments: 2 },
    { duration: 'forever' },
  ];
  const subscribed = await Promise.all(
    durations.map(async (terms) => subscribe((await newDiscount({ amount: 10, ...terms })).code, 1000)),
  );
  const ids = subscribed.map(({ subscription }) => subscription.id);
  await app.put('/test-clock', { testClock: { now: instant('2026-06-15') } });
  const discounts = async ({ subscription }: (typeof subscribed)[number]) => {
    const { data } = await app.get(`/invoices?subscriptionId=${subscription.id}`);
    return data.map(({ discountAmount }: Body) => discountAmount);
  };
  // April, May and June.
  assert.deepEqual(await Promise.all(subscribed.map(discounts)), [
    [100, 0, 0],
    [100, 100, 0],
    [100, 100, 100],
  ]);
  const redemptions = await Promise.all(ids.map(redemptionOf));
  const told = (rows: typeof redemptions) =>
    rows.map(({ paymentsMade, fullyRedeemed }) => [paymentsMade, fullyRedeemed]);
  const counts = [
    [1, true],
    [2, true],
    [3, false],
  ];
  assert.deepEqual(told(redemptions), counts);
  const invoiceIds = subscribed.map(({ invoice }) => invoice.id);
  await app.inEnvironment((work) => countRedemptions(work, [...invoiceIds, ...invoiceIds]));
  assert.deepEqual(told(await Promise.all(ids.map(redemptionOf))), counts, 'telling it again counts nothing twice');
  const active = await app.inEnvironment((work) => listActiveRedemptions(work, ids));
  assert.deepEqual([...active.keys()], ids.slice(2));
  const found = await app.inEnvironment((work) => listDiscountsOfInvoices(work, invoiceIds));
  assert.equal(found.size, 3, 'what is used up can still be looked up');
});

test('an open invoice holds its turn until it is void: the next one gets no discount that is for one', async () => {
  const { code } = await newDiscount({ amount: 10 });
  const { subscription, invoice } = await subscribe(code, 1000);
  const { id } = await redemptionOf(subscription.id);
  // As if the invoice had not been paid yet.
  await app.owner.updateTable('discountRedemptions').set({ paymentsMade: 0 }).where('id', '=', id).execute();
  const reopen = (status: string) =>
    app.owner.updateTable('invoices').set({ status, amountPaid: 0n }).where('id', '=', invoice.id).execute();
  await reopen('open');
  assert.equal(await next(subscription.id), null);
  await reopen('void');
  assert.equal((await next(subscription.id))?.redemptionId, id);
  await app.owner.updateTable('discountRedemptions').set({ paymentsMade: 1 }).where('id', '=', id).execute();
  await app.owner.transaction().execute(async (db) => {
    // What is void stays void: only in a test has it never been.
    await sql`set local session_replication_role = replica`.execute(db);
    const paid = { status: 'paid', amountPaid: invoice.total };
    await db.updateTable('invoices').set(paid).where('id', '=', invoice.id).execute();
    await db.deleteFrom('moneyDays').where('count', '<', 0).execute();
  });
});

test('a code that cannot be redeemed is refused by its field, and nothing is made', async () => {
  const inactive = await newDiscount({ amount: 10, active: false });
  const elsewhere = await newDiscount({ amount: 10, pricingModelId: await newModel(app) });
  const { testKey: key } = await app.newOrganization();
  const discount = { name: 'D', code: 'FOREIGN', amount: 10, amountType: 'percent', duration: 'once' };
  await app.post('/discounts', { discount }, { key });
  const { customerId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId: paymentMethodId };
  const digest = await databaseDigest(app);
  for (const discountCode of ['UNKNOWN', inactive.code, elsewhere.code, 'FOREIGN', '', 5]) {
    refused(await app.request('POST', '/subscriptions', { ...body, discountCode }), 400, /discountCode/);
  }
  assert.equal(await databaseDigest(app), digest);
  assert.equal((await plans.subscribe({ ...body, discountCode: null })).status, 'active');
});

test('a customer uses a code once, also after coming back, unless the setting allows more', async () => {
  const { id, code } = await newDiscount({ amount: 50 });
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceId: await newPrice(3000), discountCode: code };
  const first = await plans.subscribe(body);
  await app.post(`/subscriptions/${first.id}/cancel`, { cancellation: { timing: 'immediately' } });
  const again = () => app.request('POST', '/subscriptions', { ...body, discountCode: code.toLowerCase() });
  const second = await again();
  assert.deepEqual([second.status, second.body.reason], [409, 'discount_already_used']);
  await app.put(`/discounts/${id}`, { discount: { code: `${code}X` } });
  assert.equal((await app.request('POST', '/subscriptions', { ...body, discountCode: `${code}X` })).status, 409);
  await app.put(`/discounts/${id}`, { discount: { code } });
  await app.put('/settings', { settings: { allowRepeatedDiscounts: true } });
  const third = await again();
  await app.put('/settings', { settings: { allowRepeatedDiscounts: false } });
  assert.equal(third.status, 200);
  await app.post(`/subscriptions/${third.body.subscription.id}/cancel`, { cancellation: { timing: 'immediately' } });
  assert.equal((await again()).status, 409);
  assert.equal(await redemptionCount(id), 2);
});

test('a first payment that failed and a trial that was canceled do not use a code up', async () => {
  const { code } = await newDiscount({ amount: 50 });
  const declined = await plans.newCustomer('pm_card_chargeCustomerFail');
  const pro = { customerId: declined.customerId, priceSlug: 'pro-monthly', discountCode: code };
  for (let attempt = 0; attempt < 2; attempt++) {
    const { status, body } = await app.request('POST', '/subscriptions', pro);
    assert.deepEqual([status, body.reason], [402, 'subscription_not_paid']);
  }
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const trial = await plans.subscribe({ customerId, priceSlug: 'team-monthly', discountCode: code });
  const now = { cancellation: { timing: 'immediately' } };
  await app.post(`/subscriptions/${trial.id}/cancel`, now);
  const paid = await plans.subscribe({ ...pro, customerId });
  assert.equal(paid.status, 'active');
  await app.post(`/subscriptions/${paid.id}/cancel`, now);
  assert.equal((await app.request('POST', '/subscriptions', { ...pro, customerId })).status, 409);
});

test('two purchases with one code at once are one at the discount, and a session names the used code', async () => {
  const { code } = await newDiscount({ amount: 50 });
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const product = { name: 'Book', slug: code.toLowerCase(), pricingModelId: plans.pricingModelId };
  const price = { type: 'single_payment', unitPrice: 1000, slug: code.toLowerCase() };
  await app.post('/products', { product, price });
  const purchase = { customerId, priceSlug: code.toLowerCase(), discountCode: code };
  const answers = await Promise.all([1, 2].map(() => app.request('POST', '/purchases', { purchase })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  const urls = { successUrl: 'https://acme.test/done', cancelUrl: 'https://acme.test/' };
  const sold = { type: 'product', priceSlug: code.toLowerCase(), customerExternalId: externalId };
  const session = { ...sold, ...urls, discountCode: code };
  const refusedSession = await app.request('POST', '/checkout-sessions', { checkoutSession: session });
  assert.deepEqual([refusedSession.status, refusedSession.body.reason], [409, 'discount_already_used']);
});

test('a dry run shows the discounted subscription and redeems nothing', async () => {
  const { id, code } = await newDiscount({ amount: 100 });
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'pro-monthly', discountCode: code };
  const dry = await app.request('POST', '/subscriptions?dryRun=true', body);
  assert.deepEqual([dry.status, dry.body.subscription.status], [200, 'active']);
  assert.equal(await redemptionCount(id), 0);
});

test('a code of 100 % makes a subscription active without a card, and one of 99 % waits for a card', async () => {
  for (const [amount, status] of [
    [100, 'active'],
    [99, 'incomplete'],
  ] as const) {
    const { customerId, externalId, freeId } = await plans.newCustomer();
    const { code } = await newDiscount({ amount });
    const priceId = await newPrice(3000);
    const subscription = await plans.subscribe({ customerId, priceId, discountCode: code });
    assert.equal(subscription.status, status);
    const { invoices } = await app.get(`/customers/${externalId}/billing`);
    const paid = invoices.map(({ invoice }: Body) => [invoice.total, invoice.status]);
    assert.deepEqual(paid, status === 'active' ? [[0, 'paid']] : []);
    const replaced = (await plans.subscription(freeId)).replacedBySubscriptionId;
    assert.equal(replaced, status === 'active' ? subscription.id : null);
  }
});

const order = async (body: Body): Promise<Answer> => app.request('POST', '/subscriptions', body);

test('an expired code and one that was redeemed as often as it may be are refused, each with its reason', async () => {
  const soon = await newDiscount({ amount: 50 });
  await app.put(`/discounts/${soon.id}`, { discount: { expiresAt: await app.inEnvironment(async ({ now }) => now) } });
  const two = await newDiscount({ amount: 50, maximumRedemptions: 2 });
  const priceId = await newPrice(1000);
  const buyers = await Promise.all([1, 2, 3].map(() => plans.newCustomer('pm_card_visa')));
  const answers: Answer[] = [];
  for (const { customerId } of buyers) answers.push(await order({ customerId, priceId, discountCode: two.code }));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 409],
  );
  const [third] = answers.slice(2);
  assert.equal(third?.body.reason, 'discount_not_applicable');
  assert.match(JSON.stringify(third?.body), /"discountCode".*redeemed as often as it may be/);
  assert.equal(await redemptionCount(two.id), 2);
  const lower = await app.request('PUT', `/discounts/${two.id}`, { discount: { maximumRedemptions: 1 } });
  assert.deepEqual([lower.status, lower.body.reason], [409, 'discount_maximum_too_low']);
  await app.put(`/discounts/${two.id}`, { discount: { maximumRedemptions: 3 } });
  const last = { customerId: buyers[2]?.customerId, priceId };
  assert.equal((await order({ ...last, discountCode: two.code })).status, 200);
  await app.setClock((await app.inEnvironment(async ({ now }) => now)) + 1);
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const late = await order({ customerId, priceId, discountCode: soon.code });
  assert.equal(late.status, 409);
  assert.match(JSON.stringify(late.body), /"discountCode".*has expired/);
});

test('a customer may redeem a code as often as the code says, whatever the setting', async () => {
  const { code } = await newDiscount({ amount: 50, maximumRedemptionsPerCustomer: 2 });
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceId: await newPrice(3000), discountCode: code };
  const statuses: number[] = [];
  for (let time = 0; time < 3; time++) {
    const { status, body: answer } = await order(body);
    statuses.push(status);
    if (status === 200)
      await app.post(`/subscriptions/${answer.subscription.id}/cancel`, { cancellation: { timing: 'immediately' } });
    else assert.match(JSON.stringify(answer), /already been used 2 times/);
  }
  assert.deepEqual(statuses, [200, 200, 409]);
});

test('a code for a product takes off its lines alone, and is refused where no line is of it', async () => {
  const price = await newPrice(3000);
  const { productId } = (await app.get(`/prices/${price}`)).price;
  const product = { name: 'Support', slug: `support-${codes}`, addOn: true, pricingModelId: plans.pricingModelId };
  const monthly = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 1000 };
  const support = (await app.post('/products', { product, price: { ...monthly, slug: product.slug } })).product.id;
  const { code } = await newDiscount({ amount: 50, duration: 'forever', productIds: [support] });
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const alone = await order({ customerId, priceId: price, discountCode: code });
  assert.equal(alone.status, 409);
  assert.match(JSON.stringify(alone.body), /"discountCode".*is for other products/);
  const items = [{ priceId: price }, { priceSlug: product.slug }];
  const { subscription } = (await order({ customerId, items, discountCode: code })).body;
  const [{ invoice }] = (await app.get(`/customers/${externalId}/billing`)).invoices;
  // 3000 in full, and half of 1000.
  assert.deepEqual([invoice.discountAmount, invoice.total], [500, 3500]);
  const { lines, discounts } = await app.get(`/invoices/${invoice.id}/explain`);
  assert.deepEqual(lines.map(({ discountShare }: Body) => discountShare).sort(), [0, 500]);
  assert.deepEqual([discounts[0].base, discounts[0].computed], [1000, 500]);
  assert.equal((await app.get(`/invoices/upcoming?subscriptionId=${subscription.id}`)).invoice.total, 3500);
  const { mrr } = await app.owner
    .selectFrom('mrrAmounts')
    .select((of) => of.fn.sum<bigint>('amount').as('mrr'))
    .where('customerId', '=', customerId)
    .executeTakeFirstOrThrow();
  assert.equal(BigInt(mrr), 3500n * 10n ** 12n);
  assert.notEqual(productId, support);
});

test('a code with a minimum is for orders that come to it, and one for a first purchase for new customers', async () => {
  const minimum = await newDiscount({ amount: 10, minimumAmount: 5000 });
  const first = await newDiscount({ amount: 50, firstPurchaseOnly: true });
  const priceId = await newPrice(2500);
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const less = await order({ customerId, priceId, discountCode: minimum.code });
  assert.equal(less.status, 409);
  assert.match(JSON.stringify(less.body), /is for orders of at least USD 50\.00/);
  const enough = await order({ customerId, priceId, quantity: 2, discountCode: minimum.code });
  assert.equal(enough.status, 200);
  await app.post(`/subscriptions/${enough.body.subscription.id}/cancel`, { cancellation: { timing: 'immediately' } });
  const again = await order({ customerId, priceId, discountCode: first.code });
  assert.match(JSON.stringify(again.body), /is for a first purchase only/);
  const { customerId: other } = await plans.newCustomer('pm_card_visa');
  assert.equal((await order({ customerId: other, priceId, discountCode: first.code })).status, 200);
});

test('a draft redeems a code for the products of its lines', async () => {
  const price = await newPrice(2000);
  const { productId } = (await app.get(`/prices/${price}`)).price;
  const { code } = await newDiscount({ amount: 25, productIds: [productId] });
  const { customerId } = await plans.newCustomer();
  const work = { description: 'Work', quantity: 1, unitAmount: 1000 };
  const invoice = { customerId, lines: [work], discountCode: code };
  const bare = await app.request('POST', '/invoices', { invoice });
  assert.deepEqual([bare.status, bare.body.reason], [409, 'discount_not_applicable']);
  const both = await app.post('/invoices', { invoice: { ...invoice, lines: [work, { priceId: price, quantity: 1 }] } });
  // 25 % of 2000; the work of 1000 in full.
  assert.deepEqual([both.invoice.discountAmount, both.invoice.total], [500, 2500]);
  assert.equal((await app.request('DELETE', `/invoices/${both.invoice.id}`)).status, 200);
});

test('after all of this the books are in order', async () => {
  await assertSound(app);
});

const onto = (id: string, discount: object, query = '') =>
  app.request('POST', `/subscriptions/${id}/discounts${query}`, { discount });
const off = (id: string, redemptionId: string) =>
  app.request('DELETE', `/subscriptions/${id}/discounts/${redemptionId}`);
const codesOn = async (id: string) =>
  (await app.get(`/subscriptions/${id}/discounts`)).data.map(({ code }: Body) => code);
const discountsOf = async (subscriptionId: string): Promise<[discount: number, total: number][]> =>
  (await app.get(`/invoices?subscriptionId=${subscriptionId}`)).data.map(({ discountAmount, total }: Body) => [
    discountAmount,
    total,
  ]);

test('several discounts are put on a running subscription and taken off: each lowers what the ones before it left', async () => {
  await app.setClock(instant('2026-09-01'));
  const first = await newDiscount({ amount: 20, duration: 'forever' });
  const second = await newDiscount({
    amount: 500,
    amountType: 'fixed',
    duration: 'number_of_payments',
    numberOfPayments: 2,
  });
  const third = await newDiscount({ amount: 10, duration: 'once' });
  const { subscription } = await subscribe(first.code, 3000);
  const { id } = subscription;
  const before = await databaseDigest(app);
  const dry = await onto(id, { code: second.code.toLowerCase() }, '?dryRun=true');
  // 20 % of 3000 are 600, and 500 more.
  assert.deepEqual([dry.status, dry.body.upcomingInvoice.invoice.total], [200, 1900]);
  assert.equal(await databaseDigest(app), before, 'a dry run changes nothing');
  const put = await onto(id, { discountId: second.id });
  assert.deepEqual([put.status, put.body.subscriptionDiscount.position], [200, 2]);
  // 10 % of the 1900 that are left.
  assert.equal((await onto(id, { code: third.code })).body.upcomingInvoice.invoice.total, 1710);
  assert.deepEqual(await codesOn(id), [first.code, second.code, third.code]);
  assert.deepEqual(await discountsOf(id), [[600, 2400]], 'the invoice of September stays as it was');

  await app.put('/test-clock', { testClock: { now: instant('2026-10-15') } });
  assert.deepEqual((await discountsOf(id)).at(-1), [1290, 1710]);
  const [, { id: october }] = (await app.get(`/invoices?subscriptionId=${id}`)).data;
  const explained = await app.get(`/invoices/${october}/explain`);
  assert.deepEqual(
    explained.discounts.map(({ code, base, computed }: Body) => [code, base, computed]),
    [
      [first.code, 3000, 600],
      [second.code, 2400, 500],
      [third.code, 1900, 190],
    ],
  );
  const taken = await off(id, (await app.get(`/subscriptions/${id}/discounts`)).data[0].id);
  // The one for one invoice is used up, and 500 are off once more.
  assert.deepEqual([taken.status, taken.body.upcomingInvoice.invoice.total], [200, 2500]);
  assert.deepEqual(await codesOn(id), [second.code, third.code]);
  await app.put('/test-clock', { testClock: { now: instant('2026-12-15') } });
  assert.deepEqual((await discountsOf(id)).slice(2), [
    [500, 2500],
    [0, 3000],
  ]);
  const recurring = await app.owner
    .selectFrom('mrrAmounts')
    .select('amount')
    .where('subscriptionId', '=', id)
    .execute();
  assert.deepEqual(recurring, [{ amount: 3000n * 10n ** 12n }]);
  await assertSound(app);
});

test('a plan change in a period carries the percentages of its invoice in their order, and no fixed amount again', async () => {
  const [percent, fixed] = [
    await newDiscount({ amount: 50, duration: 'forever' }),
    await newDiscount({ amount: 100, amountType: 'fixed', duration: 'forever' }),
  ];
  const { subscription } = await subscribe(percent.code, 1000);
  const { id } = subscription;
  const another = await newDiscount({ amount: 10, duration: 'forever' });
  await onto(id, { code: fixed.code });
  await onto(id, { code: another.code });
  await app.put('/test-clock', { testClock: { now: instant('2027-02-01') } });
  // Half of 1000 are 500, less 100 and 10 % of 400.
  assert.deepEqual((await discountsOf(id)).at(-1), [640, 360]);
  const priceId = await newPrice(2000);
  await app.post(`/subscriptions/${id}/adjust`, {
    adjustment: { timing: 'immediately', newSubscriptionItems: [{ priceId, quantity: 1 }] },
  });
  // 1000 more for 14 of 31 days are 452: half of it is 226, and 10 % of the 226 that are left 23.
  assert.deepEqual((await discountsOf(id)).at(-1), [249, 203]);
  await assertSound(app);
});

test('a discount is refused that is on the subscription, for other products, used up, unknown or for nobody', async () => {
  const { code, id: discountId } = await newDiscount({ amount: 10, maximumRedemptions: 1 });
  const { subscription } = await subscribe(code, 1000);
  const { id } = subscription;
  const { productId } = (await app.get(`/prices/${await newPrice(100)}`)).price;
  const other = await newDiscount({ amount: 10, productIds: [productId] });
  const first = await newDiscount({ amount: 10, firstPurchaseOnly: true });
  const dear = await newDiscount({ amount: 10, minimumAmount: 1001 });
  const rows: [given: object, status: number, code: string, text: RegExp][] = [
    [{ code }, 409, 'discount_not_applicable', /on this subscription already/],
    [{ discountId: other.id }, 409, 'discount_not_applicable', /other products/],
    [{ code: first.code }, 409, 'discount_not_applicable', /first purchase/],
    [{ code: dear.code }, 409, 'discount_not_applicable', /at least/],
    [{ code: 'NOBODY' }, 400, 'invalid_request', /discount\.code/],
    [{ discountId: 'discount_of_nobody' }, 400, 'invalid_request', /discount\.discountId/],
    [{}, 400, 'invalid_request', /either/],
    [{ code, discountId }, 400, 'invalid_request', /either/],
  ];
  const before = await databaseDigest(app);
  for (const [given, status, name, text] of rows) {
    const answer = await onto(id, given);
    assert.deepEqual([answer.status, answer.body.reason], [status, name], JSON.stringify(answer.body));
    assert.match(JSON.stringify(answer.body), text);
  }
  assert.equal(await databaseDigest(app), before);
  assert.deepEqual([(await off(id, 'discount_redemption_none')).status], [404]);
  const [on] = (await app.get(`/subscriptions/${id}/discounts`)).data;
  assert.deepEqual([(await off(id, on.id)).status, (await off(id, on.id)).status], [200, 404]);
  // Its one redemption was used, so that nobody can have it.
  assert.equal((await onto(id, { code })).status, 409);
  await app.post(`/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
  assert.equal((await onto(id, { code: other.code })).body.reason, 'subscription_terminal');
});

test('a discount that was taken off before any invoice had it can be put on again, and 20 are the most', async () => {
  const { subscription } = await subscribe((await newDiscount({ amount: 1 })).code, 1000);
  const { id } = subscription;
  const { code } = await newDiscount({ amount: 50, duration: 'forever' });
  for (let time = 0; time < 2; time += 1) {
    const { body } = await onto(id, { code });
    assert.equal(body.upcomingInvoice?.invoice.total, 500);
    assert.equal((await off(id, body.subscriptionDiscount.id)).body.upcomingInvoice.invoice.total, 1000);
  }
  for (let number = 2; number <= 20; number += 1)
    assert.equal((await onto(id, { discountId: (await newDiscount({ amount: 1 })).id })).status, 200);
  assert.equal((await onto(id, { code })).body.reason, 'too_many_records');
  assert.equal((await codesOn(id)).length, 20);
});
