import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { Problem } from '../../src/kernel/problem.ts';
import { openCheckout, visa } from '../support/checkout-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { monthly, newProduct } from '../support/pricing-fixture.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const checkout = await openCheckout(app);
const { plans } = checkout;

/** The fields that a refusal names. */
function issuesOf(...fields: string[]) {
  return (error: unknown) => {
    assert(error instanceof Problem, String(error));
    assert.deepEqual(
      error.issues.map(({ path }) => path.join('.')),
      fields,
    );
    return true;
  };
}

test('a plan is shown with what confirming would bill, and bought for just that', async () => {
  const { externalId, customerId, freeId } = await plans.newCustomer();
  const outputs = { outputName: 'Pro for Acme', outputMetadata: { deal: 7 } };
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly', quantity: 2, ...outputs });
  const view = await checkout.view(id);
  assert.deepEqual(
    [view.status, view.seller, view.productName, view.unitPrice, view.quantity, view.intervalUnit, view.intervalCount],
    ['open', 'Acme', 'Pro for Acme', 3000n, 2, 'month', 1],
  );
  assert.deepEqual([view.subtotal, view.total, view.dueNow, view.currency], [6000n, 6000n, 6000n, 'USD']);
  assert.equal(view.nextChargeAt, instant('2026-07-01'));
  assert.deepEqual(
    view.lines.map(({ quantity, amount }) => [quantity, amount]),
    [[2, 6000n]],
  );
  assert.deepEqual(
    [view.needsCard, view.isAnonymous, view.mayChangeQuantity, view.mayDiscount],
    [true, false, false, true],
  );
  assert.deepEqual([view.processor.name, view.failure, view.refusal], ['test', null, null]);
  assert.equal(view.customer.name, 'Acme');

  const after = await checkout.confirm(id, visa);
  assert.deepEqual([after.status, after.total, after.failure], ['succeeded', 6000n, null]);
  const session = await checkout.session(id);
  assert.deepEqual([session.status, session.paymentMethodType], ['succeeded', 'card']);
  const { purchase } = await app.get(`/purchases/${session.purchaseId}`);
  assert.deepEqual([purchase.status, purchase.name, purchase.metadata], ['paid', 'Pro for Acme', { deal: 7 }]);
  const { currentSubscription, subscriptions } = await checkout.billing(externalId);
  assert.deepEqual(
    [currentSubscription.status, currentSubscription.name, currentSubscription.metadata],
    ['active', 'Pro for Acme', { deal: 7 }],
  );
  const free = subscriptions.find((row: Body) => row.id === freeId);
  assert.deepEqual([free.status, free.cancellationReason], ['canceled', 'upgraded_to_paid']);
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 6000]]);
});

test('looking at a session leaves nothing behind', async () => {
  const { externalId } = await plans.newCustomer();
  const anonymous = await checkout.open({ anonymous: true, priceSlug: 'pro-monthly', maximumQuantity: 5 });
  const known = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  const counts = () =>
    Promise.all(
      (['customers', 'subscriptions', 'invoices', 'payments', 'paymentMethods', 'purchases', 'events'] as const).map(
        async (table) => (await app.owner.selectFrom(table).select('id').execute()).length,
      ),
    );
  const before = [await counts(), await checkout.session(anonymous), await checkout.session(known)];
  await checkout.view(anonymous, { quantity: 3 });
  await checkout.view(known, { billingAddress: { address: { country: 'DE' } } });
  assert.deepEqual([await counts(), await checkout.session(anonymous), await checkout.session(known)], before);
});

test('a trial is free today and asks for a card', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'team-monthly' });
  const view = await checkout.view(id);
  assert.deepEqual([view.dueNow, view.lines, view.trialEnd, view.needsCard], [0n, [], instant('2026-06-15'), true]);
  await assert.rejects(checkout.confirm(id, { token: null }), issuesOf('token'));
  assert.equal((await checkout.confirm(id, visa)).status, 'succeeded');
  const { currentSubscription } = await checkout.billing(externalId);
  assert.deepEqual([currentSubscription.status, currentSubscription.trialEnd], ['trialing', instant('2026-06-15')]);
  assert.notEqual(currentSubscription.defaultPaymentMethodId, null);
  assert.deepEqual(await checkout.payments(customerId), []);
});

test('what is paid once is paid once', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const book = { customerExternalId: externalId, priceId: checkout.bookPriceId };
  const id = await checkout.open({ ...book, maximumQuantity: 5 });
  const view = await checkout.view(id, { quantity: 3 });
  assert.deepEqual([view.intervalUnit, view.total, view.description], [null, 2997n, 'How to bill']);
  const after = await checkout.confirm(id, { ...visa, quantity: 3 });
  assert.deepEqual([after.status, after.quantity, after.total], ['succeeded', 3, 2997n]);
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 2997]]);
  const { purchases } = await checkout.billing(externalId);
  assert.deepEqual(
    purchases.map((row: Body) => [row.priceType, row.quantity]),
    [['single_payment', 3]],
  );
});

test('a discount code counts in the quote and in the charge, in any case; a wrong one is named', async () => {
  await checkout.discount('LAUNCH', { amount: 20 });
  const { externalId, customerId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  await assert.rejects(checkout.view(id, { discountCode: 'LUNCH' }), issuesOf('discountCode'));
  await assert.rejects(checkout.confirm(id, { ...visa, discountCode: 'LUNCH' }), issuesOf('discountCode'));
  const view = await checkout.view(id, { discountCode: ' launch ' });
  assert.deepEqual([view.discountCode, view.subtotal, view.discountAmount, view.total], ['LAUNCH', 3000n, 600n, 2400n]);
  const after = await checkout.confirm(id, { ...visa, discountCode: 'launch' });
  assert.deepEqual([after.discountCode, after.discountAmount], ['LAUNCH', 600n]);
  assert.notEqual((await checkout.session(id)).discountId, null);
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 2400]]);
});

test('a page says why an order cannot have a code; one that is over reads as one that never was', async () => {
  const least = await checkout.discount('LEAST', { amount: 50, minimumAmount: 6000 });
  const over = await checkout.discount('OVER', { amount: 50 });
  await app.put(`/discounts/${over.id}`, { discount: { expiresAt: instant('2026-01-01') } });
  const newOrder = async (terms: Body) => {
    const customer = await plans.newCustomer();
    const session = { customerExternalId: customer.externalId, priceSlug: 'pro-monthly', ...terms };
    return { id: await checkout.open(session) };
  };
  const whyNot = async (act: Promise<unknown>) => {
    const error = await act.catch((refused: unknown) => refused);
    assert(error instanceof Problem, 'it is refused');
    return error.issues.find(({ path }) => path.join('.') === 'discountCode')?.message;
  };
  const { id } = await newOrder({ minimumQuantity: 1, maximumQuantity: 3 });
  const view = (discountCode: string, quantity: number) => checkout.view(id, { discountCode, quantity });
  assert.equal(await whyNot(view(least.code, 1)), 'is for orders of at least USD 60.00');
  // Two of 30.00 at half price.
  assert.equal((await view(least.code, 2)).dueNow, 3000n);
  assert.equal(await whyNot(view(over.code, 1)), 'is not valid');
  assert.equal(await whyNot(view('NEVER', 1)), 'is not valid');
  const last = await checkout.discount('LAST', { amount: 50, maximumRedemptions: 1 });
  const [one, two] = [await newOrder({ discountCode: last.code }), await newOrder({ discountCode: last.code })];
  assert.equal((await checkout.view(two.id)).dueNow, 1500n);
  await checkout.confirm(one.id, visa);
  // The session goes on without it.
  const { dueNow, discountCode } = await checkout.view(two.id);
  assert.deepEqual([dueNow, discountCode], [3000n, null]);
});

test('the code of a session counts once the order that is entered on its page allows it, and not when it is taken out', async () => {
  await checkout.discount('BULK', { amount: 50, minimumAmount: 6000 });
  const newOrder = async (terms: Body) => {
    const { externalId, customerId } = await plans.newCustomer();
    const order = { customerExternalId: externalId, priceSlug: 'pro-monthly', maximumQuantity: 3, ...terms };
    const { url } = await app.get(`/checkout-sessions/${await checkout.open({ discountCode: 'BULK', ...order })}`);
    const send = async (form: Record<string, string>) => {
      const body = new URLSearchParams({ country: 'DE', ...form });
      const headers = { origin: new URL(url).origin };
      const page = await (await fetch(url, { method: 'POST', redirect: 'manual', headers, body })).text();
      const field = (name: string) => new RegExp(`name="${name}"[^>]* value="([^"]*)"`).exec(page)?.[1] ?? '';
      return { shownDue: field('shownDue'), discountCode: field('discountCode') };
    };
    return { send, payments: () => checkout.payments(customerId) };
  };
  const card = { cardNumber: '4242424242424242', cardExpiry: '12/34', cardCode: '123', step: 'pay' };
  const small = await newOrder({});
  const one = await small.send({ step: 'review', quantity: '1', discountCode: '' });
  assert.deepEqual(one, { shownDue: '3000', discountCode: '' });
  // Two of 30.00 at half price.
  const two = await small.send({ step: 'review', quantity: '2', discountCode: '' });
  assert.deepEqual(two, { shownDue: '3000', discountCode: 'BULK' });
  await small.send({ ...card, ...two, quantity: '2' });
  assert.deepEqual(await small.payments(), [['succeeded', 3000]]);
  const large = await newOrder({ quantity: 2 });
  const without = await large.send({ step: 'review', quantity: '2', discountCode: '' });
  assert.deepEqual(without, { shownDue: '6000', discountCode: '' });
  await large.send({ ...card, ...without, quantity: '2' });
  assert.deepEqual(await large.payments(), [['succeeded', 6000]]);
});

test('what a discount takes everything off needs no card when it is paid once, and one when it renews', async () => {
  await checkout.discount('GIFT', { amount: 100 });
  const { externalId, customerId } = await plans.newCustomer();
  const book = await checkout.open({ customerExternalId: externalId, priceId: checkout.bookPriceId });
  assert.equal((await checkout.view(book)).needsCard, true);
  assert.equal((await checkout.view(book, { discountCode: 'GIFT' })).needsCard, false);
  const after = await checkout.confirm(book, { token: null, discountCode: 'GIFT' });
  assert.deepEqual([after.status, after.discountAmount, after.total], ['succeeded', 999n, 0n]);
  const plan = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  await assert.rejects(checkout.view(plan, { discountCode: 'GIFT' }), issuesOf('discountCode'), 'it has been used');
  await checkout.discount('PRESENT', { amount: 100 });
  assert.equal((await checkout.view(plan, { discountCode: 'PRESENT' })).needsCard, true);
  assert.deepEqual(await checkout.payments(customerId), []);
});

test('a plan whose first two seats are free needs no card for one, and one where a setup fee is due', async () => {
  const tiers = [
    { upTo: 2, unitAmount: '0' },
    { upTo: null, unitAmount: '1000' },
  ];
  for (const [slug, setupFeeAmount] of [
    ['seats', 0],
    ['seats-with-fee', 500],
  ] as const) {
    await app.post('/products', {
      product: { name: 'Seats', slug },
      price: {
        type: 'subscription',
        slug,
        intervalUnit: 'month',
        pricing: { model: 'graduated', tiers },
        setupFeeAmount,
      },
    });
    const { externalId, customerId } = await plans.newCustomer();
    const id = await checkout.open({ customerExternalId: externalId, priceSlug: slug });
    assert.equal((await checkout.view(id)).needsCard, setupFeeAmount > 0);
    const after = await checkout.confirm(id, setupFeeAmount > 0 ? visa : { token: null });
    assert.deepEqual([after.status, after.total], ['succeeded', BigInt(setupFeeAmount)]);
    assert.deepEqual(await checkout.payments(customerId), setupFeeAmount > 0 ? [['succeeded', 500]] : []);
  }
});

test('a change of plan names no setup fee, because it bills none: neither of the plan nor of an add-on', async () => {
  const sell = (name: string, unitPrice: number, more: Body = {}) =>
    newProduct(app, plans.pricingModelId, {
      product: { name, addOn: false, ...more },
      price: { ...monthly, slug: name.toLowerCase(), unitPrice, setupFeeAmount: 2000 },
    });
  await sell('Onboarded', 4000);
  await sell('Guided', 500, { addOn: true });
  const { externalId, customerId } = await plans.newCustomer('pm_card_visa');
  const order = { customerExternalId: externalId, priceSlug: 'onboarded', optionalItems: [{ priceSlug: 'guided' }] };
  const first = await checkout.open(order);
  const bought = await checkout.view(first);
  assert.deepEqual([bought.setupFee, bought.addOns[0]?.setupFee, bought.dueNow], [2000n, 2000n, 6000n]);
  assert.equal((await checkout.confirm(first, visa)).status, 'succeeded');
  const second = await checkout.open(order);
  const priceId = bought.addOns[0]?.priceId ?? '';
  const addOns = [{ priceId, quantity: 1 }];
  const shown = [await checkout.view(second), await checkout.view(second, { addOns })];
  const after = await checkout.confirm(second, { ...visa, addOns });
  for (const { setupFee, addOns: offered } of [...shown, after]) {
    assert.deepEqual([setupFee, offered[0]?.setupFee], [null, null]);
  }
  assert.deepEqual([shown[1]?.dueNow, after.status, after.total], [500n, 'succeeded', 500n]);
  assert.deepEqual(await checkout.payments(customerId), [
    ['succeeded', 6000],
    ['succeeded', 500],
  ]);
});

test('tax goes by the address that is entered, which becomes the customer’s', async () => {
  await app.put('/settings', { settings: { taxProvider: 'rates' } });
  await app.post('/tax-rates', { taxRate: { country: 'DE', type: 'vat', percentage: '19' } });
  const { externalId, customerId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  const billingAddress = { address: { country: 'DE', city: 'Berlin' } };
  const view = await checkout.view(id, { billingAddress });
  assert.deepEqual(
    [view.subtotal, view.taxAmount, view.taxIncluded, view.total, view.customer.billingAddress],
    [3000n, 570n, false, 3570n, billingAddress],
  );
  assert.equal((await checkout.view(id)).total, 3000n);
  await checkout.confirm(id, { ...visa, billingAddress });
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 3570]]);
  assert.equal((await app.get(`/customers/${externalId}`)).customer.billingAddress.address.country, 'DE');
  assert.deepEqual((await checkout.session(id)).billingAddress, billingAddress);
});

test('a declined card leaves the session open with the reason, and the next one pays', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  const refused = await checkout.confirm(id, { token: 'pm_card_chargeDeclined' });
  assert.equal(refused.status, 'open');
  assert.match(refused.failure ?? '', /declined/i);
  assert.doesNotMatch(refused.failure ?? '', /card_declined/);
  assert.deepEqual(await checkout.payments(customerId), []);
  // This one is taken, and then every charge fails.
  const failed = await checkout.confirm(id, { token: 'pm_card_chargeCustomerFail' });
  assert.deepEqual([failed.status, (await checkout.session(id)).status], ['open', 'open']);
  assert.match(failed.failure ?? '', /declined/i);
  assert.equal((await checkout.view(id)).failure, failed.failure);
  const paid = await checkout.confirm(id, visa);
  assert.deepEqual([paid.status, paid.failure], ['succeeded', null]);
  assert.deepEqual(await checkout.payments(customerId), [
    ['failed', 3000],
    ['succeeded', 3000],
  ]);
  const { data } = await app.get(`/purchases?customerId=${customerId}`);
  assert.deepEqual(
    data.map((purchase: Body) => purchase.status),
    ['paid'],
  );
  assert.equal((await checkout.session(id)).purchaseId, data[0].id);
  const { currentSubscription } = await checkout.billing(externalId);
  assert.deepEqual([currentSubscription.status, currentSubscription.isFreePlan], ['active', false]);
});

test('a token that nobody knows is an issue of the token', async () => {
  const { externalId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  await assert.rejects(checkout.confirm(id, { token: 'pm_nonsense' }), issuesOf('token'));
});

test('an anonymous buyer becomes a customer when it confirms, and one only', async () => {
  const id = await checkout.open({ anonymous: true, priceSlug: 'pro-monthly' });
  assert.equal((await checkout.view(id)).isAnonymous, true);
  const ada = { name: 'Ada', email: 'ada@acme.test' };
  await assert.rejects(checkout.confirm(id, { ...visa }), issuesOf('name', 'email'));
  await assert.rejects(checkout.confirm(id, { ...visa, ...ada, email: 'ada' }), issuesOf('email'));
  const failed = await checkout.confirm(id, { token: 'pm_card_chargeCustomerFail', ...ada });
  assert.equal(failed.status, 'open');
  const { customerId } = await checkout.session(id);
  assert.notEqual(customerId, null);
  const grace = { name: 'Grace', email: 'grace@acme.test' };
  assert.equal((await checkout.confirm(id, { ...visa, ...grace })).status, 'succeeded');
  const session = await checkout.session(id);
  assert.deepEqual(
    [session.customerId, session.customerName, session.customerEmail],
    [customerId, 'Grace', 'grace@acme.test'],
  );
  // The application knows it by the session.
  const { customer } = await app.get(`/customers/${id}`);
  assert.deepEqual([customer.id, customer.name], [customerId, 'Grace']);
  assert.equal((await checkout.billing(id)).currentSubscription.status, 'active');
});

test('who is known to the application is not renamed by whoever has the link', async () => {
  const { externalId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  await checkout.confirm(id, { ...visa, name: 'Mallory', email: 'mallory@evil.test' });
  assert.equal((await app.get(`/customers/${externalId}`)).customer.name, 'Acme');
});

test('nobody pays more than was shown, and less is fine', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const pro = { customerExternalId: externalId, priceSlug: 'pro-monthly' };
  const id = await checkout.open({ ...pro, maximumQuantity: 2 });
  await assert.rejects(checkout.confirm(id, { ...visa, quantity: 2, dueNow: 3000n }), issuesOf('dueNow'));
  assert.deepEqual(await checkout.payments(customerId), []);
  assert.equal((await checkout.confirm(id, { ...visa, dueNow: 3001n })).status, 'succeeded');
});

test('the free plan’s periods can be kept: 20 of 30 days cost 2000 of 3000', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  await app.setClock(instant('2026-06-11'));
  const sold = { customerExternalId: externalId, priceSlug: 'pro-monthly', preserveBillingCycleAnchor: true };
  const id = await checkout.open(sold);
  assert.equal((await checkout.view(id)).dueNow, 2000n);
  await checkout.confirm(id, visa);
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 2000]]);
  const { currentSubscription } = await checkout.billing(externalId);
  assert.equal(currentSubscription.currentBillingPeriodEnd, instant('2026-07-01'));
  await app.setClock(instant('2026-06-01'));
});

test('a subscription that waits is activated; a failure leaves it waiting', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const waiting = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', quantity: 2 });
  const session = { type: 'activate_subscription', customerExternalId: externalId, targetSubscriptionId: waiting.id };
  const id = await checkout.open(session);
  const view = await checkout.view(id);
  assert.deepEqual([view.total, view.quantity, view.mayChangeQuantity, view.mayDiscount], [6000n, 2, false, false]);
  const failed = await checkout.confirm(id, { token: 'pm_card_chargeCustomerFail' });
  assert.equal(failed.status, 'open');
  assert.match(failed.failure ?? '', /declined/i);
  assert.equal((await plans.subscription(waiting.id)).status, 'incomplete');
  // What a form makes up of a quantity counts for nothing here.
  const paid = await checkout.confirm(id, { ...visa, quantity: 9 });
  assert.deepEqual([paid.status, paid.total], ['succeeded', 6000n]);
  assert.equal((await plans.subscription(waiting.id)).status, 'active');
  assert.deepEqual(await checkout.payments(customerId), [
    ['failed', 6000],
    ['succeeded', 6000],
  ]);
  const answered = await checkout.session(id);
  assert.deepEqual([answered.status, answered.purchaseId, answered.quantity], ['succeeded', null, 2]);
});

test('a session whose subscription went on without it says so and does nothing', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const waiting = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  const id = await checkout.open({
    type: 'activate_subscription',
    customerExternalId: externalId,
    targetSubscriptionId: waiting.id,
  });
  await plans.cancel(waiting.id, 'immediately');
  const view = await checkout.confirm(id, visa);
  assert.equal(view.status, 'open');
  assert.match(view.refusal ?? '', /already active, or its payment/);
  assert.deepEqual((await checkout.billing(externalId)).paymentMethods, []);
  assert.deepEqual(await checkout.payments(customerId), []);
});

test('a card is added: for one subscription, or for all that there are', async () => {
  const { externalId, customerId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const pro = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId: paymentMethodId });
  const charged = async () => (await plans.subscription(pro.id)).defaultPaymentMethodId;
  const session = { type: 'add_payment_method', customerExternalId: externalId };
  const add = async (token: string, more: Body) => {
    const id = await checkout.open({ ...session, ...more });
    const view = await checkout.view(id);
    assert.deepEqual([view.needsCard, view.productName, view.dueNow, view.refusal], [true, null, 0n, null]);
    assert.equal((await checkout.confirm(id, { token })).status, 'succeeded');
    const { paymentMethods } = await checkout.billing(externalId);
    return paymentMethods as Body[];
  };
  const alone = await add('pm_card_mastercard', {});
  assert.deepEqual([alone.length, await charged()], [2, paymentMethodId]);
  assert.equal(alone.find((method) => method.default)?.id, paymentMethodId);
  const ids = (methods: Body[]) => methods.map((method) => method.id);
  const targeted = await add('pm_card_amex', { targetSubscriptionId: pro.id });
  assert.deepEqual(
    ids(targeted).filter((id) => !ids(alone).includes(id)),
    [await charged()],
  );
  const all = await add('pm_card_refundFail', { automaticallyUpdateSubscriptions: true });
  assert.deepEqual(
    ids(all).filter((id) => !ids(targeted).includes(id)),
    [await charged()],
  );
  assert.equal(all.find((method) => method.default)?.id, await charged());
});

test('an expired session is confirmed by nobody', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly' });
  await app.setClock(instant('2026-06-02'));
  assert.equal((await checkout.confirm(id, visa)).status, 'expired');
  assert.deepEqual(await checkout.payments(customerId), []);
  await app.setClock(instant('2026-06-01'));
});

test('money that is under way keeps the session pending until it has arrived', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, priceId: checkout.bookPriceId });
  assert.equal((await checkout.confirm(id, { token: 'pm_card_processing' })).status, 'pending');
  assert.equal((await checkout.confirm(id, visa)).status, 'pending', 'it is paid already, as far as the buyer can');
  await app.put('/test-clock', { testClock: { now: instant('2026-06-01') + 2 * 3_600_000 } });
  assert.equal((await checkout.session(id)).status, 'succeeded');
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 999]]);
});

for (const [what, session] of [
  ['a plan', { priceSlug: 'pro-monthly' }],
  ['a book', {}],
] as const) {
  test(`${what} that is confirmed eight times at once is charged once`, async () => {
    const { externalId, customerId } = await plans.newCustomer();
    const sold = 'priceSlug' in session ? session : { priceId: checkout.bookPriceId };
    const id = await checkout.open({ customerExternalId: externalId, ...sold });
    const views = await Promise.all(Array.from({ length: 8 }, () => checkout.confirm(id, visa)));
    for (const { status } of views) assert(['pending', 'succeeded'].includes(status), status);
    assert.equal((await checkout.session(id)).status, 'succeeded');
    assert.equal((await checkout.payments(customerId)).length, 1);
    assert.equal((await app.get(`/purchases?customerId=${customerId}`)).total, 1);
    assert.equal((await checkout.billing(externalId)).paymentMethods.length, 1);
  });
}

test('an anonymous session that is confirmed eight times at once makes one customer, who pays once', async () => {
  const id = await checkout.open({ anonymous: true, priceSlug: 'pro-monthly' });
  const ada = { name: 'Ada', email: 'ada@acme.test', ...visa };
  const before = (await app.get('/customers')).total;
  // Some only look meanwhile.
  const views = await Promise.all(
    Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? checkout.confirm(id, ada) : checkout.view(id))),
  );
  assert.deepEqual(new Set(views.map((view) => view.refusal)), new Set([null]));
  assert.equal((await app.get('/customers')).total, before + 1);
  const { customerId, status } = await checkout.session(id);
  assert.equal(status, 'succeeded');
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 3000]]);
});

test('two sessions for one plan, confirmed at once, sell one', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const open = (priceSlug: string) => checkout.open({ customerExternalId: externalId, priceSlug });
  const ids = [await open('pro-monthly'), await open('pro-monthly')];
  const views = await Promise.all(ids.map((id) => checkout.confirm(id, visa)));
  assert.deepEqual(views.map((view) => view.status).sort(), ['open', 'succeeded']);
  assert.match(views.find((view) => view.status === 'open')?.refusal ?? '', /^You already have a plan\.$/);
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 3000]]);
});

test('the books are right after all of this', async () => {
  await assertSound(app);
});
