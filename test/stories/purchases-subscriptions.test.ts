import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newProduct } from '../support/pricing-fixture.ts';
import { setUpShop } from '../support/purchases-fixture.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const shop = await setUpShop(app);
const { plans, proId, teamId } = shop;
const june1 = instant('2026-06-01');
const june11 = instant('2026-06-11');
const july1 = instant('2026-07-01');

test('buying a plan subscribes: its first invoice is paid, and the free plan is replaced', async () => {
  const { customerId, externalId, freeId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
  const metadata = { seats: 'many' };
  const bought = await shop.buy({ customerId, productId: proId, quantity: 2, name: 'Our plan', metadata });
  const { status, priceType, pricePerBillingCycle, intervalUnit, intervalCount, trialPeriodDays } = bought;
  assert.deepEqual(
    [status, priceType, pricePerBillingCycle, intervalUnit, intervalCount, trialPeriodDays],
    ['paid', 'subscription', 6000, 'month', 1, 0],
  );
  assert.deepEqual([bought.firstInvoiceValue, bought.totalPurchaseValue], [6000, null]);
  assert.deepEqual([bought.name, bought.metadata, bought.billingCycleAnchor], ['Our plan', metadata, june1]);
  const current = await shop.current(externalId);
  assert.deepEqual(
    [current.id, current.status, current.name, current.metadata, current.defaultPaymentMethodId],
    [bought.subscriptionId, 'active', 'Our plan', metadata, paymentMethodId],
  );
  const { invoice } = await shop.invoice(bought.invoiceId);
  assert.deepEqual([invoice.type, invoice.subscriptionId, invoice.status], ['subscription', current.id, 'paid']);
  const free = await plans.subscription(freeId);
  assert.deepEqual([free.status, free.replacedBySubscriptionId], ['canceled', current.id]);
  assert.equal(await plans.calls(externalId, current.id), 3000);
  assert.deepEqual(await shop.events(bought.id), ['purchase.completed']);
  const { purchases } = await app.get(`/customers/${externalId}/billing`);
  assert.deepEqual(purchases, [bought]);
});

test('a trial is bought at once: nothing is billed, and the quote says when it ends', async () => {
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const quoted = await shop.quote({ customerId, productId: teamId });
  assert.deepEqual([quoted.dueNow, quoted.trialEnd, quoted.lines], [0n, instant('2026-06-15'), []]);
  const { purchase } = await shop.buyOnly({ customerId, productId: teamId });
  assert.deepEqual([purchase.status, purchase.invoiceId, purchase.trialPeriodDays], ['paid', null, 14]);
  assert.equal((await shop.current(externalId)).status, 'trialing');
  assert.deepEqual(await shop.events(purchase.id), ['purchase.completed']);
});

test('a plan that costs nothing is bought at once, without a card', async () => {
  const several = await newProduct(app, plans.pricingModelId, {
    product: { name: 'Nothing' },
    price: { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 0 },
  });
  const { customerId } = await plans.newCustomer();
  // The customer has its free plan, and a second one is refused.
  await assert.rejects(shop.buyOnly({ customerId, productId: several.product.id }), {
    message: /already has a current subscription/,
  });
  const { code } = await shop.discount({ amount: 100 });
  const { purchase } = await shop.buyOnly({ customerId, productId: proId, discountCode: code });
  assert.deepEqual([purchase.status, purchase.firstInvoiceValue], ['paid', 0n]);
});

test('with a declined card the free plan goes on and no other was there; with another card the plan is there', async () => {
  const { customerId, externalId, freeId } = await plans.newCustomer('pm_card_chargeCustomerFail');
  const checkoutSessionId = 'chckt_session_plan';
  const failed = await shop.buy({ customerId, productId: proId, checkoutSessionId });
  assert.equal(failed.status, 'failed');
  assert.deepEqual([failed.invoiceId, failed.subscriptionId, failed.firstInvoiceValue], [null, null, 3000]);
  assert.deepEqual(await shop.tries(failed.id), [['failed', 3000]]);
  assert.equal((await shop.current(externalId)).id, freeId);
  const told = await app.get(`/events?customerId=${customerId}`);
  assert.deepEqual(
    told.data.filter(({ type }: Body) => type.startsWith('subscription.')).map(({ objectId }: Body) => objectId),
    [freeId],
  );

  const paymentMethodId = await shop.addCard(customerId);
  const bought = await shop.buy({ customerId, productId: proId, checkoutSessionId, paymentMethodId });
  assert.deepEqual([bought.status, (await shop.current(externalId)).id], ['paid', bought.subscriptionId]);
  assert.deepEqual([bought.id, await shop.events(bought.id)], [failed.id, ['purchase.completed']]);
});

test('with its anchor kept, 20 of 30 days of 3000 are 2000, and 3000 follow on 1 July (U1)', async () => {
  await app.setClock(june1);
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  await app.setClock(june11);
  const wish = { customerId, productId: proId, preserveBillingCycleAnchor: true };
  const quoted = await shop.quote(wish);
  assert.deepEqual([quoted.total, quoted.lines.map(({ amount }) => amount)], [2000n, [2000n]]);
  const bought = await shop.buy(wish);
  assert.deepEqual([bought.firstInvoiceValue, bought.billingCycleAnchor], [2000, june1]);
  const current = await shop.current(externalId);
  assert.deepEqual([current.currentBillingPeriodStart, current.currentBillingPeriodEnd], [june11, july1]);
  const {
    lines: [line],
  } = await app.get(`/invoices/${bought.invoiceId}/explain`);
  assert.deepEqual(line.fraction, {
    part: { startAt: june11, endAt: july1 },
    whole: { startAt: june1, endAt: july1 },
  });
  assert.deepEqual(line.rounding, {
    numerator: String(3000 * 20 * 86_400_000),
    denominator: String(30 * 86_400_000),
    rounded: 2000,
  });
  // Of 1000 monthly calls 667 are for 20 of 30 days; 500 came with the start.
  assert.equal(await plans.calls(externalId, current.id), 1167);
  const { invoice: next } = await app.get(`/invoices/upcoming?subscriptionId=${current.id}`);
  assert.deepEqual(
    [next.total, next.billingPeriodStartDate, next.billingPeriodEndDate],
    [3000, july1, instant('2026-08-01')],
  );
  await app.setClock(june1);
});

test('declined on 11 June and accepted on 12 June: the periods are still those of the free plan, so 19 days are 1900', async () => {
  const { customerId, externalId } = await plans.newCustomer('pm_card_chargeCustomerFail');
  await app.setClock(june11);
  const wish = { customerId, productId: proId, preserveBillingCycleAnchor: true };
  assert.equal((await shop.buy(wish)).status, 'failed');
  const free = await shop.current(externalId);
  assert.deepEqual(
    [free.isFreePlan, free.currentBillingPeriodStart, free.currentBillingPeriodEnd],
    [true, june1, july1],
  );
  await app.setClock(instant('2026-06-12'));
  const bought = await shop.buy({ ...wish, paymentMethodId: await shop.addCard(customerId) });
  assert.deepEqual([bought.status, bought.firstInvoiceValue], ['paid', 1900]);
  await app.setClock(june1);
});

test('a yearly plan that keeps a monthly anchor is billed the rest of a year', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const { product } = await newProduct(app, plans.pricingModelId, {
    product: { name: 'Year' },
    price: { type: 'subscription', intervalUnit: 'year', intervalCount: 1, unitPrice: 36_500 },
  });
  await app.setClock(june11);
  // 10 of 365 days are over, each worth 100.
  const bought = await shop.buy({ customerId, productId: product.id, preserveBillingCycleAnchor: true });
  assert.equal(bought.firstInvoiceValue, 35_500);
  await app.setClock(june1);
});

test('all invariants hold', () => assertSound(app));
