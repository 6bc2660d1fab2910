import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { CheckoutView } from '../../src/checkout/checkout-view.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { Problem } from '../../src/kernel/problem.ts';
import { openCheckout, returns, visa } from '../support/checkout-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newProduct } from '../support/pricing-fixture.ts';
import { newCard } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const checkout = await openCheckout(app);
const { plans } = checkout;
const declines = 'pm_card_chargeCustomerFail';

/** The message of the refusal about one field. */
async function refusalOf(field: string, act: Promise<unknown>): Promise<string> {
  const error = await act.then(
    () => assert.fail('nothing was refused'),
    (refused: unknown) => refused,
  );
  assert(error instanceof Problem, String(error));
  const issue = error.issues.find(({ path }) => path.join('.') === field);
  return issue?.message ?? assert.fail(error.message);
}

/** The session of a plan for a new customer. */
async function newOrder(terms: Body = {}, token?: string) {
  const customer = await plans.newCustomer(token);
  const session = { customerExternalId: customer.externalId, priceSlug: 'pro-monthly', ...terms };
  return { ...customer, id: await checkout.open(session) };
}

test('a quantity without limits is the seller’s; within limits it is the buyer’s', async () => {
  const fixed = await newOrder({ quantity: 2 });
  for (const quantity of [1, 3, 900_000_000]) {
    assert.equal(
      await refusalOf('quantity', checkout.view(fixed.id, { quantity })),
      'must be 2: the seller has set it',
    );
    await refusalOf('quantity', checkout.confirm(fixed.id, { ...visa, quantity }));
  }
  const limited = await newOrder({ minimumQuantity: 2, maximumQuantity: 10 });
  const view = await checkout.view(limited.id);
  assert.deepEqual([view.quantity, view.mayChangeQuantity, view.dueNow], [2, true, 6000n]);
  for (const quantity of [1, 11])
    assert.equal(
      await refusalOf('quantity', checkout.confirm(limited.id, { ...visa, quantity })),
      'must be from 2 to 10',
    );
  assert.equal((await checkout.confirm(limited.id, { ...visa, quantity: 10 })).dueNow, 30_000n);
  assert.deepEqual(await checkout.payments(limited.customerId), [['succeeded', 30_000]]);
});

test('a product’s limits hold where the session has no quantity, and a trial gives no more than the session’s', async () => {
  const { productId } = plans.priceOf('pro-monthly');
  const put = (product: Body) => app.request('PUT', `/products/${productId}`, { product });
  for (const wrong of [
    { minimumQuantity: 2 },
    { minimumQuantity: 3, maximumQuantity: 2 },
    { maximumQuantity: 1_000_001 },
  ])
    assert.equal((await put(wrong)).status, 400);
  assert.equal((await put({ minimumQuantity: 2, maximumQuantity: 10 })).body.product.maximumQuantity, 10);
  try {
    const silent = await newOrder();
    for (const quantity of [1, 11, 900_000_000])
      assert.equal(
        await refusalOf('quantity', checkout.confirm(silent.id, { ...visa, quantity })),
        'must be from 2 to 10',
      );
    assert.equal((await checkout.confirm(silent.id, { ...visa, quantity: 3 })).dueNow, 9000n);
    const fixed = await newOrder({ quantity: 1 });
    assert.equal(
      await refusalOf('quantity', checkout.view(fixed.id, { quantity: 2 })),
      'must be 1: the seller has set it',
    );
    const trial = await newOrder({ trialPeriodDays: 14, quantity: 4, maximumQuantity: 1_000_000 });
    assert.equal((await checkout.view(trial.id)).maximumQuantity, 4);
    for (const quantity of [5, 1_000_000])
      assert.equal(
        await refusalOf('quantity', checkout.confirm(trial.id, { ...visa, quantity })),
        'must be at most 4 in a free trial',
      );
    assert.equal((await checkout.confirm(trial.id, { ...visa, quantity: 4 })).dueNow, 0n);
  } finally {
    assert.equal((await put({ maximumQuantity: null })).body.product.minimumQuantity, null);
  }
});

test('limits, trial days, codes and addresses that contradict each other are refused by name', async () => {
  const { externalId } = await plans.newCustomer();
  const pro = { customerExternalId: externalId, priceSlug: 'pro-monthly' };
  const wrong: [string, Body][] = [
    ['maximumQuantity', { ...pro, minimumQuantity: 2 }],
    ['maximumQuantity', { ...pro, minimumQuantity: 3, maximumQuantity: 2 }],
    ['maximumQuantity', { ...pro, maximumQuantity: 1_000_001 }],
    ['quantity', { ...pro, quantity: 1_000_001 }],
    ['quantity', { ...pro, quantity: 5, maximumQuantity: 4 }],
    ['discountCode', { ...pro, discountCode: 'NOBODY' }],
    ['trialPeriodDays', { ...pro, trialPeriodDays: 731 }],
    ['trialPeriodDays', { customerExternalId: externalId, priceId: checkout.bookPriceId, trialPeriodDays: 7 }],
    ['customerEmail', { ...pro, customerEmail: 'other@acme.test' }],
    ['customerEmail', { anonymous: true, priceSlug: 'pro-monthly', customerEmail: 'nobody' }],
  ];
  for (const [field, session] of wrong) {
    const body = { checkoutSession: { ...returns, type: 'product', ...session } };
    const { status, body: refused } = await app.request('POST', '/checkout-sessions', body);
    assert.equal(status, 400, field);
    assert.match(JSON.stringify(refused), new RegExp(`"${field}"`));
  }
});

test('a session brings its code, trial, email address, notes, and its own id in the addresses', async () => {
  await checkout.discount('HALF', { amount: 50 });
  const half = await newOrder({ discountCode: 'half', metadata: { campaign: 'june' } });
  assert.equal((await checkout.view(half.id)).dueNow, 1500n);
  assert.deepEqual((await checkout.session(half.id)).metadata, { campaign: 'june' });
  const long = await newOrder({ trialPeriodDays: 30 });
  assert.deepEqual((await checkout.view(long.id)).trialEnd, instant('2026-07-01'));
  await checkout.confirm(long.id, visa);
  const { currentSubscription } = await checkout.billing(long.externalId);
  assert.deepEqual([currentSubscription.status, currentSubscription.trialEnd], ['trialing', instant('2026-07-01')]);
  // The price has a trial of 14 days.
  const none = await newOrder({ priceSlug: 'team-monthly', trialPeriodDays: 0 });
  const { trialEnd, dueNow } = await checkout.view(none.id);
  assert.deepEqual([trialEnd, dueNow], [null, 3000n]);
  const anonymous = await checkout.open({
    anonymous: true,
    priceSlug: 'pro-monthly',
    customerEmail: 'ada@acme.test',
    successUrl: 'https://app.test/paid?session={CHECKOUT_SESSION_ID}',
    cancelUrl: 'https://app.test/plans/%7BCHECKOUT_SESSION_ID%7D',
  });
  const view = await checkout.view(anonymous);
  assert.equal(view.customer.email, 'ada@acme.test');
  assert.deepEqual(
    [view.successUrl, view.cancelUrl],
    [`https://app.test/paid?session=${anonymous}`, `https://app.test/plans/${anonymous}`],
  );
});

test('a saved card is offered and charged; the card of somebody else is not', async () => {
  const { id, customerId, paymentMethodId } = await newOrder({}, 'pm_card_visa');
  const mastercard = await newCard(app, customerId, 'pm_card_mastercard');
  const { savedMethods } = await checkout.view(id);
  assert.deepEqual(
    savedMethods.map((method) => [method.id, method.data.last4]),
    [
      [paymentMethodId, '4242'],
      [mastercard, '4444'],
    ],
  );
  const stranger = await plans.newCustomer('pm_card_visa');
  const theirs = { token: null, paymentMethodId: stranger.paymentMethodId };
  await refusalOf('paymentMethodId', checkout.confirm(id, theirs));
  const after = await checkout.confirm(id, { token: null, paymentMethodId: mastercard });
  assert.equal(after.status, 'succeeded');
  const { data } = await app.get(`/payments?customerId=${customerId}`);
  assert.deepEqual(
    data.map((payment: Body) => [payment.status, payment.paymentMethodId]),
    [['succeeded', mastercard]],
  );
  const anonymous = await checkout.open({ anonymous: true, priceSlug: 'pro-monthly' });
  assert.deepEqual((await checkout.view(anonymous)).savedMethods, []);
});

test('the same card in two checkouts is one payment method', async () => {
  const { id, externalId } = await newOrder();
  await checkout.confirm(id, visa);
  const book = await checkout.open({ customerExternalId: externalId, priceId: checkout.bookPriceId });
  await checkout.confirm(book, visa);
  assert.equal((await checkout.billing(externalId)).paymentMethods.length, 1);
});

test('for a customer with a plan it is the change: on 11 June 20 of 30 days of 3000 more are 2000', async () => {
  const { externalId, customerId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const body = { customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId: paymentMethodId };
  const { id: subscriptionId } = await plans.subscribe(body);
  await app.setClock(instant('2026-06-11'));
  const pro = { customerExternalId: externalId, priceSlug: 'pro-monthly', quantity: 2 };
  const id = await checkout.open({ ...pro, discountCode: null });
  const view = await checkout.view(id);
  assert.deepEqual([view.refusal, view.dueNow, view.mayDiscount], [null, 2000n, false]);
  const { change } = view;
  assert(change !== null);
  assert.deepEqual([change.subscriptionId, change.isNow], [subscriptionId, true]);
  assert.deepEqual([change.currentTotal, change.newTotal], [3000n, 6000n]);

  // A page that showed a purchase does not make a change.
  const shown = { ...visa, dueNow: 3000n };
  await refusalOf('changedPlanId', checkout.confirm(id, { ...shown, changedPlanId: null }));
  const failed = await checkout.confirm(id, { token: declines });
  assert.equal(failed.status, 'open');
  assert.match(failed.failure ?? '', /declined/i);
  const declined = await checkout.billing(externalId);
  assert.deepEqual([declined.currentSubscription.subscriptionItems[0].quantity, declined.invoices.length], [1, 1]);
  // Another link to the same change takes its place.
  const other = await checkout.open({ ...pro, discountCode: null });
  assert.equal((await checkout.confirm(other, { token: declines })).status, 'open');
  const changes = await app.owner
    .selectFrom('subscriptionAdjustments')
    .select('id')
    .where('subscriptionId', '=', subscriptionId)
    .execute();
  assert.deepEqual([changes.length, (await checkout.session(id)).adjustmentId], [1, null]);
  await assertSound(app);

  const done = await checkout.confirm(id, { token: null, paymentMethodId, changedPlanId: subscriptionId });
  assert.deepEqual([done.status, done.total], ['succeeded', 2000n]);
  const { currentSubscription, subscriptions, invoices } = await checkout.billing(externalId);
  assert.deepEqual(invoices.map(({ invoice }: Body) => invoice.invoiceNumber.slice(-2)).sort(), ['01', '02']);
  assert.deepEqual([currentSubscription.id, currentSubscription.subscriptionItems[0].quantity], [subscriptionId, 2]);
  // The card that was declined is not what later periods are charged to.
  assert.equal(currentSubscription.defaultPaymentMethodId, paymentMethodId);
  assert.equal(subscriptions.length, 2);
  assert.deepEqual(await checkout.payments(customerId), [
    ['succeeded', 3000],
    ['failed', 2000],
    ['failed', 2000],
    ['succeeded', 2000],
  ]);
  const { status, purchaseId, adjustmentId } = await checkout.session(id);
  assert.deepEqual([status, purchaseId, typeof adjustmentId], ['succeeded', null, 'string']);
  await app.setClock(instant('2026-06-01'));
});

test('a cheaper plan waits for the period’s end and asks for no card; a code is not for a change', async () => {
  const { externalId, customerId } = await plans.newCustomer('pm_card_visa');
  await plans.subscribe({ customerId, priceSlug: 'pro-monthly', quantity: 2 });
  const pro = { customerExternalId: externalId, priceSlug: 'pro-monthly' };
  const coded = await checkout.open({ ...pro, discountCode: (await checkout.discount('EARLY', { amount: 10 })).code });
  assert.equal(
    (await checkout.view(coded)).refusal,
    'This code is for new subscriptions only, not for a change of plan.',
  );
  const id = await checkout.open(pro);
  const { dueNow, needsCard, change } = await checkout.view(id);
  assert.deepEqual([dueNow, needsCard, change?.isNow, change?.effectiveAt], [0n, false, false, instant('2026-07-01')]);
  assert.equal((await checkout.confirm(id, { token: null })).status, 'succeeded');
  const { currentSubscription } = await checkout.billing(externalId);
  assert.deepEqual(
    [currentSubscription.subscriptionItems[0].quantity, currentSubscription.scheduledAdjustmentAt],
    [2, instant('2026-07-01')],
  );
});

test('three declined tries in a row leave the free plan as it is: the same one, with its credits and seats', async () => {
  const { id, externalId, freeId } = await newOrder();
  await app.post(`/resource-claims/${freeId}/claim`, { resourceSlug: 'seat', quantity: 2 });
  const usageEvent = { subscriptionId: freeId, priceSlug: 'call-overage', transactionId: `try-${freeId}`, amount: 15 };
  await app.post('/usage-events', { usageEvent });
  const state = async () => {
    const { currentSubscription } = await checkout.billing(externalId);
    const { usage } = await app.get(`/resource-claims/${freeId}/usage?resourceSlug=seat`);
    return [currentSubscription.id, currentSubscription.status, await plans.calls(externalId, freeId), usage.claimed];
  };
  const before = await state();
  assert.deepEqual(before, [freeId, 'active', 485, 2]);
  for (let attempt = 1; attempt <= 3; attempt++) {
    const failed = await checkout.confirm(id, { token: declines });
    assert.equal(failed.status, 'open');
    assert.deepEqual(await state(), before);
  }
  assert.equal((await checkout.confirm(id, visa)).status, 'succeeded');
});

const june = instant('2026-06-01');
const dayMs = 24 * 3_600_000;
const places = { DE: '19', FR: '8.875' } as const;
const anyOrder = fc.record({
  buyer: fc.constantFrom('anonymous', 'free', 'carded', 'on a plan', 'in a trial', 'waiting'),
  price: fc.constantFrom('pro-monthly', 'pro-monthly', 'team-monthly', 'year', 'book', 'pack', 'community'),
  quantity: fc.integer({ min: 1, max: 7 }),
  had: fc.integer({ min: 1, max: 3 }),
  code: fc.constantFrom(null, null, 'TENTH', 'SEVEN', 'WHOLE'),
  trialPeriodDays: fc.constantFrom(null, null, 0, 10),
  preserveBillingCycleAnchor: fc.boolean(),
  day: fc.integer({ min: 0, max: 29 * 24 }).map((hours) => hours / 24),
  country: fc.constantFrom(null, 'DE', 'FR', 'JP'),
});
type AnyOrder = typeof anyOrder extends fc.Arbitrary<infer Order> ? Order : never;

/** The session of such an order, for a customer with such a past. */
async function openAny(order: AnyOrder, priceIds: Readonly<Record<string, string>>): Promise<string> {
  const { buyer, price, quantity, trialPeriodDays, had, preserveBillingCycleAnchor } = order;
  const hasPlan = buyer === 'on a plan' || buyer === 'in a trial';
  // A code is for new subscriptions only.
  const discountCode = hasPlan ? null : order.code;
  await app.setClock(june);
  const customer =
    buyer === 'anonymous' ? null : await plans.newCustomer(buyer === 'carded' ? 'pm_card_visa' : undefined);
  const { customerId, externalId: customerExternalId } = customer ?? {};
  const target =
    buyer === 'waiting' && (await plans.subscribe({ customerId, priceSlug: 'pro-monthly', quantity: had }));
  if (hasPlan) {
    const defaultPaymentMethodId = await newCard(app, customerId ?? '', 'pm_card_visa');
    const priceSlug = buyer === 'on a plan' ? 'pro-monthly' : 'team-monthly';
    await plans.subscribe({ customerId, priceSlug, quantity: had, defaultPaymentMethodId });
  }
  await app.setClock(june + order.day * dayMs);
  if (target) {
    const targetSubscriptionId = target.id;
    const type = 'activate_subscription';
    return checkout.open({ type, customerExternalId, targetSubscriptionId, preserveBillingCycleAnchor });
  }
  const priceId = priceIds[price] ?? plans.priceOf(price).id;
  const isPlan = price !== 'book' && price !== 'pack';
  return checkout.open({
    ...(customer === null ? { anonymous: true } : { customerExternalId }),
    ...{ priceId, quantity, preserveBillingCycleAnchor, ...(discountCode && { discountCode }) },
    ...(isPlan && trialPeriodDays !== null && { trialPeriodDays }),
  });
}

/** Sets up taxes, codes and more products. Returns the prices of the products by name. */
async function stock(): Promise<Readonly<Record<string, string>>> {
  await app.put('/settings', { settings: { taxProvider: 'rates' } });
  for (const [country, percentage] of Object.entries(places)) {
    const taxRate = { country, type: 'vat', percentage: Number(percentage), inclusive: country === 'DE' };
    await app.post('/tax-rates', { taxRate });
  }
  await checkout.discount('TENTH', { amount: 10 });
  await checkout.discount('SEVEN', { amountType: 'fixed', amount: 700 });
  await checkout.discount('WHOLE', { amount: 100 });
  const year = { type: 'subscription', unitPrice: 29_999, intervalUnit: 'year' };
  const { price: yearly } = await newProduct(app, plans.pricingModelId, { product: { name: 'Year' }, price: year });
  const { data } = await app.get('/features?limit=100');
  const featureIds = data.flatMap(({ id, slug }: Body) => (slug === 'monthly-calls' ? id : []));
  const pack = { product: { name: 'Pack' }, price: { type: 'single_payment', unitPrice: 1001 }, featureIds };
  const { price: packed } = await newProduct(app, plans.pricingModelId, pack);
  return { book: checkout.bookPriceId, year: yearly.id, pack: packed.id };
}

const alreadyHad: AnyOrder = {
  buyer: 'on a plan',
  price: 'pro-monthly',
  quantity: 2,
  had: 2,
  code: null,
  trialPeriodDays: null,
  preserveBillingCycleAnchor: false,
  day: 10,
  country: null,
};

const toYear: AnyOrder = { ...alreadyHad, price: 'year', quantity: 1, had: 1, day: 0 };

const renewing = 'Your plan is just being renewed. Please try again in a minute.';

test('a page shows no amounts of a plan whose renewal is overdue; a form renews it first, and then changes it', async () => {
  await app.setClock(june);
  const { externalId, customerId } = await plans.newCustomer('pm_card_visa');
  await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  await app.setClock(instant('2026-06-30T12:00'));
  const id = await checkout.open({ customerExternalId: externalId, priceSlug: 'pro-monthly', quantity: 2 });
  await app.setClock(instant('2026-07-01'));
  const { refusal, dueNow, change } = await checkout.view(id);
  assert.deepEqual([refusal, dueNow, change], [renewing, 0n, null]);
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 3000]]);
  assert.equal((await checkout.confirm(id, visa)).status, 'succeeded');
  await app.runJobs({ all: true });
  const { currentSubscription } = await checkout.billing(externalId);
  assert.equal(currentSubscription.subscriptionItems[0].quantity, 2);
  const paid = (await checkout.payments(customerId)).filter(([status]) => status === 'succeeded');
  assert.equal(
    paid.reduce((sum, [, amount]) => sum + amount, 0),
    9000,
    'June for one, and July for two',
  );
  await app.setClock(june);
});

test('whatever is bought, by whom and when: the page shows what the form then bills, to the cent', async () => {
  const priceIds = await stock();
  const outcomes = { bought: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(anyOrder, async (order) => {
      const id = await openAny(order, priceIds);
      const draft = order.country === null ? {} : { billingAddress: { address: { country: order.country } } };
      const shown = await checkout.view(id, draft);
      // The trial is over, and nobody has begun its first paid period.
      if (shown.refusal === renewing) return;
      const who = { name: 'Ada', email: 'ada@acme.test' };
      const payment = { token: 'pm_card_visa', dueNow: shown.dueNow };
      const changedPlanId = shown.change?.subscriptionId ?? null;
      const done = await checkout.confirm(id, { ...draft, ...who, ...payment, changedPlanId });
      if (shown.refusal !== null) {
        outcomes.refused += 1;
        assert.deepEqual([done.status, done.refusal], ['open', shown.refusal]);
        return;
      }
      outcomes.bought += 1;
      assert.equal(done.status, 'succeeded');
      assert.deepEqual(billOf(done), billOf(shown));
      assert.equal(done.trialEnd, shown.change === null ? shown.trialEnd : done.trialEnd);
      assert.equal(await paidFor(id), shown.dueNow);
    }),
    { numRuns: 30, examples: [[alreadyHad], [toYear]] },
  );
  assert(outcomes.bought >= 5 && outcomes.refused > 0, JSON.stringify(outcomes));
  await app.setClock(june);
});

function billOf({ lines, subtotal, discountAmount, taxAmount, taxIncluded, total, dueNow }: CheckoutView) {
  return { lines, subtotal, discountAmount, taxAmount, taxIncluded, total, dueNow };
}

/** The amount that was charged for the session's purchase or change. */
async function paidFor(sessionId: string): Promise<bigint> {
  const { rows } = await sql<{ paid: bigint }>`
    select coalesce(sum(y.amount), 0)::numeric as paid
      from checkout_sessions s
      left join purchases p on p.id = s.purchase_id
      left join subscription_adjustments a on a.id = s.adjustment_id
      join payments y on y.invoice_id = coalesce(p.invoice_id, a.invoice_id) and y.status = 'succeeded'
     where s.id = ${sessionId}`.execute(app.owner);
  return rows[0]?.paid ?? 0n;
}

/** Add-ons beside the plan of 30.00 a month: support for 5.00, seats for 8.00 each, and onboarding for 1.00 and 20.00 once. */
async function newAddOns() {
  const month = { type: 'subscription', intervalUnit: 'month', intervalCount: 1, isDefault: true, active: true };
  const make = async (slug: string, price: Body) => {
    const product = { name: slug, slug, addOn: true };
    const made = await newProduct(app, plans.pricingModelId, {
      product,
      price: { ...month, slug: `${slug}-monthly`, ...price },
    });
    return made.price.id as string;
  };
  return {
    support: await make('support', { unitPrice: 500 }),
    seats: await make('seats', { unitPrice: 800 }),
    onboarding: await make('onboarding', { unitPrice: 100, setupFeeAmount: 2000 }),
    yearly: await make('archive', { unitPrice: 900, intervalUnit: 'year' }),
  };
}
const addOns = await newAddOns();
const planOfThree = [
  { priceSlug: 'pro-monthly' },
  { priceSlug: 'seats-monthly', quantity: 2, minimumQuantity: 2, maximumQuantity: 5 },
];

/** The price and quantity of each running item. */
async function itemsOf(externalId: string): Promise<[string, number][]> {
  const { currentSubscription } = await checkout.billing(externalId);
  return currentSubscription.subscriptionItems.map(({ price, quantity }: Body) => [price.slug, quantity]);
}

test('a plan of 30.00, two seats of 8.00 and support that the buyer takes for 5.00 are one purchase of 51.00', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const optionalItems = [{ priceSlug: 'support-monthly' }, { priceId: addOns.onboarding, maximumQuantity: 3 }];
  const id = await checkout.open({ customerExternalId: externalId, items: planOfThree, optionalItems });
  const session = await checkout.session(id);
  assert.deepEqual(
    [session.priceId, session.quantity, session.addOns.map((addOn: Body) => [addOn.optional, addOn.quantity])],
    [plans.priceOf('pro-monthly').id, 1, [[false, 2], [true, 1], [true, 1]]], // biome-ignore format: a table
  );
  const view = await checkout.view(id);
  assert.deepEqual([view.dueNow, view.addOns.map(({ quantity }) => quantity)], [4600n, [2, 0, 0]]);
  const chosen = [{ priceId: addOns.support, quantity: 1 }];
  assert.equal((await checkout.view(id, { addOns: chosen })).dueNow, 5100n);
  const declined = await checkout.confirm(id, { token: declines, addOns: chosen, dueNow: 5100n });
  assert.equal(declined.status, 'open');
  // The buyer's choice stays until it chooses again.
  assert.equal((await checkout.view(id)).dueNow, 5100n);
  const bought = await checkout.confirm(id, { ...visa, addOns: chosen, dueNow: 5100n });
  assert.deepEqual([bought.status, bought.dueNow], ['succeeded', 5100n]);
  assert.deepEqual(await checkout.payments(customerId), [['failed', 5100], ['succeeded', 5100]]); // biome-ignore format: a table
  assert.deepEqual(await itemsOf(externalId), [['pro-monthly', 1], ['seats-monthly', 2], ['support-monthly', 1]]); // biome-ignore format: a table
  const { purchases, invoices } = await checkout.billing(externalId);
  assert.deepEqual(
    [invoices.length, purchases.length, purchases[0].pricePerBillingCycle, purchases[0].addOns],
    [
      1,
      1,
      5100,
      [
        { priceId: addOns.seats, quantity: 2 },
        { priceId: addOns.support, quantity: 1 },
      ],
    ],
  );
  const selected = (await checkout.session(id)).addOns.map((addOn: Body) => addOn.selectedQuantity);
  assert.deepEqual(selected, [2, 1, 0]);
});

test('a code of 50 % halves plan, add-on and its fee of 20.00: (30.00 + 1.00 + 20.00) / 2 is 25.50', async () => {
  await checkout.discount('ADDHALF', { amount: 50 });
  const { externalId, customerId } = await plans.newCustomer();
  const items = [{ priceSlug: 'onboarding-monthly' }, { priceSlug: 'pro-monthly' }];
  const id = await checkout.open({ customerExternalId: externalId, items, discountCode: 'addhalf' });
  assert.equal((await checkout.view(id)).dueNow, 2550n);
  assert.equal((await checkout.confirm(id, { ...visa, dueNow: 2550n })).status, 'succeeded');
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 2550]]);
});

test('a purchase on a saved card sells two of the plan and support at once: 65.00', async () => {
  const { externalId, customerId } = await plans.newCustomer('pm_card_visa');
  const items = [{ priceSlug: 'pro-monthly', quantity: 2 }, { priceId: addOns.support }];
  const sell = (purchase: Body) => app.request('POST', '/purchases', { purchase: { customerId, ...purchase } });
  for (const wrong of [{ items, quantity: 2 }, { items, priceSlug: 'pro-monthly' }, { items: items.slice(1) }, {}])
    assert.equal((await sell(wrong)).status, 400);
  const { body } = await sell({ items });
  assert.deepEqual(
    [body.purchase.status, body.purchase.firstInvoiceValue, body.purchase.addOns],
    ['paid', 6500, [{ priceId: addOns.support, quantity: 1 }]],
  );
  assert.deepEqual(await itemsOf(externalId), [['pro-monthly', 2], ['support-monthly', 1]]); // biome-ignore format: a table
});

test('a trial gives the add-ons that the buyer takes, at no more than the seller’s quantities', async () => {
  const optionalItems = [{ priceId: addOns.seats, quantity: 2, maximumQuantity: 1_000_000 }];
  const { externalId, customerId, id } = await newOrder({ trialPeriodDays: 14, optionalItems });
  const choose = (quantity: number) => ({ addOns: [{ priceId: addOns.seats, quantity }] });
  assert.equal(
    await refusalOf('addOn0', checkout.confirm(id, { ...visa, ...choose(3) })),
    'must be at most 2 in a free trial',
  );
  const view = await checkout.view(id, choose(2));
  assert.deepEqual([view.dueNow, view.addOns[0]?.maximumQuantity], [0n, 2]);
  assert.equal((await checkout.confirm(id, { ...visa, ...choose(2) })).status, 'succeeded');
  assert.deepEqual(await itemsOf(externalId), [['pro-monthly', 1], ['seats-monthly', 2]]); // biome-ignore format: a table
  assert.deepEqual(await checkout.payments(customerId), []);
});

test('a form made by hand takes no add-on beyond the seller’s limits, and none that is not offered', async () => {
  const optionalItems = [{ priceId: addOns.support }];
  const { externalId } = await plans.newCustomer();
  const id = await checkout.open({ customerExternalId: externalId, items: planOfThree, optionalItems });
  const wrong: [string, string, number, string][] = [
    ['addOn0', addOns.seats, 0, 'must be from 2 to 5'],
    ['addOn0', addOns.seats, 6, 'must be from 2 to 5'],
    ['addOn1', addOns.support, 900_000, 'must be 0 or 1'],
    ['addOns', addOns.onboarding, 1, `must not name ${addOns.onboarding}: the session does not offer it`],
  ];
  for (const [field, priceId, quantity, message] of wrong) {
    const draft = { addOns: [{ priceId, quantity }] };
    assert.equal(await refusalOf(field, checkout.view(id, draft)), message);
    assert.equal(await refusalOf(field, checkout.confirm(id, { ...visa, ...draft })), message);
  }
});

test('items of a session that cannot be sold together are refused by name, and nothing is stored', async () => {
  const { externalId } = await plans.newCustomer();
  const [pro, support] = [{ priceSlug: 'pro-monthly' }, { priceId: addOns.support }];
  const book = { priceId: checkout.bookPriceId };
  const wrong: [string, RegExp, Body][] = [
    ['checkoutSession.priceId', /exactly one of/, { items: [pro], ...pro }],
    ['checkoutSession.quantity', /absent beside items/, { items: [pro], quantity: 2 }],
    ['checkoutSession.items.0.priceId', /must be a plan/, { items: [support] }],
    ['checkoutSession.items.1', /must be an add-on/, { items: [pro, { priceSlug: 'team-monthly' }] }],
    ['checkoutSession.items.2', /no other item names/, { items: [pro, support, support] }],
    ['checkoutSession.optionalItems.0', /no other item names/, { items: [pro, support], optionalItems: [support] }],
    ['checkoutSession.optionalItems.0', /must be an add-on/, { ...pro, optionalItems: [book] }],
    ['checkoutSession', /must be a plan that renews/, { ...book, optionalItems: [support] }],
    ['checkoutSession.items', /same billing interval/, { ...pro, optionalItems: [{ priceId: addOns.yearly }] }],
    ['checkoutSession.optionalItems', /10/, { ...pro, optionalItems: Array.from({ length: 11 }, () => support) }],
    ['checkoutSession.items.1.quantity', /minimumQuantity to maximumQuantity/, { items: [pro, { ...support, quantity: 9, maximumQuantity: 2 }] }], // biome-ignore format: a table
  ];
  const { total } = await app.get(`/checkout-sessions?customerExternalId=${externalId}`);
  for (const [field, message, session] of wrong) {
    const body = { checkoutSession: { ...returns, type: 'product', customerExternalId: externalId, ...session } };
    const { status, body: refused } = await app.request('POST', '/checkout-sessions', body);
    assert.equal(status, 400, JSON.stringify(refused));
    const issue = (refused.issues ?? []).find(({ path }: Body) => path.join('.') === field);
    assert.match(issue?.message ?? JSON.stringify(refused), message);
  }
  assert.equal((await app.get(`/checkout-sessions?customerExternalId=${externalId}`)).total, total);
});

test('a customer with the plan takes an add-on by a link: on 11 June 20 of 30 days of 5.00 are 3.33, once', async () => {
  await app.setClock(instant('2026-06-01'));
  const { externalId, customerId } = await plans.newCustomer('pm_card_visa');
  await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  await app.setClock(instant('2026-06-11'));
  const order = {
    customerExternalId: externalId,
    priceSlug: 'pro-monthly',
    optionalItems: [{ priceId: addOns.support }],
  };
  const id = await checkout.open(order);
  const first = await checkout.view(id);
  assert.deepEqual([first.refusal, first.dueNow, first.mayDiscount], [null, 0n, false]);
  assert.equal((await checkout.view(id, { addOns: [] })).refusal, 'You already have a plan.');
  const chosen = { addOns: [{ priceId: addOns.support, quantity: 1 }] };
  const view = await checkout.view(id, chosen);
  assert.deepEqual([view.dueNow, view.change?.currentTotal, view.change?.newTotal], [333n, 3000n, 3500n]);
  assert.equal((await checkout.confirm(id, { ...visa, ...chosen, dueNow: 333n })).status, 'succeeded');
  assert.deepEqual(await itemsOf(externalId), [['pro-monthly', 1], ['support-monthly', 1]]); // biome-ignore format: a table
  assert.deepEqual(await checkout.payments(customerId), [['succeeded', 3000], ['succeeded', 333]]); // biome-ignore format: a table
});

test('the books are right after all of this', () => assertSound(app));
