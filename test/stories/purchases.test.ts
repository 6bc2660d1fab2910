import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInEnvironment } from '../../src/database/work.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { buyNow } from '../support/buying.ts';
import { databaseDigest } from '../support/digest.ts';
import { startTestApp } from '../support/harness.ts';
import { setUpShop } from '../support/purchases-fixture.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const shop = await setUpShop(app);
const { plans, packId, bookId } = shop;

test('three packs of 1000 calls for 1000 each: 3000 are charged, and 3000 calls can be used at once', async () => {
  const { customerId, externalId, freeId } = await plans.newCustomer('pm_card_visa');
  assert.equal(await plans.calls(externalId, freeId), 500);
  const metadata = { campaign: 'june' };
  const { purchase } = await shop.buyOnly({ customerId, productId: packId, quantity: 3, metadata });
  assert.equal(purchase.status, 'pending');
  assert.equal(await plans.calls(externalId, freeId), 500, 'nothing is given before the money is there');

  await app.runJobs({ all: true });
  const bought = (await app.get(`/purchases/${purchase.id}`)).purchase;
  const { status, name, quantity, priceType, firstInvoiceValue, totalPurchaseValue, purchaseDate } = bought;
  assert.deepEqual(
    { status, name, quantity, priceType, firstInvoiceValue, totalPurchaseValue, purchaseDate },
    {
      status: 'paid',
      name: 'Pack of calls',
      quantity: 3,
      priceType: 'single_payment',
      firstInvoiceValue: 3000,
      totalPurchaseValue: 3000,
      purchaseDate: instant('2026-06-01'),
    },
  );
  assert.deepEqual([bought.metadata, bought.subscriptionId, bought.intervalUnit], [metadata, null, null]);

  const { invoice, invoiceLineItems } = await shop.invoice(bought.invoiceId);
  assert.deepEqual(
    [invoice.type, invoice.purchaseId, invoice.status, invoice.total],
    ['purchase', bought.id, 'paid', 3000],
  );
  assert.deepEqual([invoice.subscriptionId, invoice.billingPeriodId], [null, null]);
  assert.deepEqual(
    invoiceLineItems.map(({ type, quantity: of, price, amount }: typeof bought) => [type, of, price, amount]),
    [['static', 3, 1000, 3000]],
  );
  const [payment, ...others] = await shop.payments(invoice.id);
  assert.deepEqual([payment.amount, payment.status, payment.purchaseId, others], [3000, 'succeeded', bought.id, []]);

  assert.equal(await plans.calls(externalId, freeId), 3500);
  const usageEvent = { subscriptionId: freeId, priceSlug: 'call-overage', transactionId: 'all', amount: 3500 };
  await app.post('/usage-events/consume', { usageEvent });
  assert.equal(await plans.calls(externalId, freeId), 0);
  assert.deepEqual(await shop.events(bought.id), ['purchase.completed']);
  const { purchases } = await app.get(`/customers/${externalId}/billing`);
  assert.deepEqual(purchases, [bought]);
});

test('bought credits never expire, and say where they come from', async () => {
  const { customerId, freeId } = await plans.newCustomer('pm_card_visa');
  await shop.buy({ customerId, productId: packId });
  const { data } = await app.get(`/usage-credits?subscriptionId=${freeId}&source=purchase`);
  assert.deepEqual(
    data.map(({ issuedAmount, expiresAt }: { issuedAmount: number; expiresAt: null }) => [issuedAmount, expiresAt]),
    [[1000, null]],
  );
});

test('a declined card leaves its failed payment and no invoice; the same purchase is paid with another card', async () => {
  const { customerId, externalId, freeId } = await plans.newCustomer('pm_card_chargeCustomerFail');
  const checkoutSessionId = 'chckt_session_declined';
  const failed = await shop.buy({ customerId, productId: packId, checkoutSessionId });
  assert.deepEqual([failed.status, failed.purchaseDate], ['failed', null]);
  assert.deepEqual([failed.invoiceId, failed.totalPurchaseValue], [null, 1000]);
  assert.deepEqual(await shop.tries(failed.id), [['failed', 1000]]);
  assert.deepEqual(await shop.counts(customerId), { subscriptions: 1, invoices: 0, payments: 1, purchases: 1 });
  assert.equal(await plans.calls(externalId, freeId), 500);

  const paymentMethod = { customerId, token: 'pm_card_visa' };
  const { id: paymentMethodId } = (await app.post('/payment-methods', { paymentMethod })).paymentMethod;
  const bought = await shop.buy({ customerId, productId: packId, quantity: 2, checkoutSessionId, paymentMethodId });
  assert.deepEqual([bought.id, bought.status, bought.checkoutSessionId], [failed.id, 'paid', checkoutSessionId]);
  assert.deepEqual([bought.quantity, bought.totalPurchaseValue], [2, 2000]);
  assert.equal(await plans.calls(externalId, freeId), 2500);
  assert.deepEqual(await shop.events(bought.id), ['purchase.completed']);
  assert.deepEqual(await shop.counts(customerId), { subscriptions: 1, invoices: 1, payments: 2, purchases: 1 });
  const { purchases } = await app.get(`/customers/${externalId}/billing`);
  assert.deepEqual(
    purchases.map(({ id }: { id: string }) => id),
    [bought.id],
  );
});

test('30 declined cards leave 30 failed payments of one purchase; the bill does not grow, and the first invoice has number 1', async () => {
  const { customerId, externalId } = await plans.newCustomer('pm_card_chargeCustomerFail');
  const wish = { customerId, productId: shop.proId };
  const billing = async () => app.get(`/customers/${externalId}/billing`);
  const before = await billing();
  const declined: string[] = [];
  for (let attempt = 0; attempt < 30; attempt++) declined.push((await shop.buy(wish)).id);
  assert.equal(new Set(declined).size, 1);
  assert.deepEqual(await billing(), before);
  assert.deepEqual(await shop.counts(customerId), { subscriptions: 1, invoices: 0, payments: 30, purchases: 1 });
  const { data: told } = await app.get(`/events?objectId=${declined[0]}`);
  assert.deepEqual(told, []);

  const bought = await shop.buy({ ...wish, paymentMethodId: await shop.addCard(customerId) });
  assert.deepEqual([bought.id, bought.status], [declined[0], 'paid']);
  const { invoice } = await shop.invoice(bought.invoiceId);
  assert.match(invoice.invoiceNumber, /1$/);
  assert.deepEqual(await shop.counts(customerId), { subscriptions: 2, invoices: 1, payments: 31, purchases: 1 });
});

test('the terms of a purchase are those of its payment, whatever changes before the bank has said yes', async () => {
  await app.put('/settings', { settings: { taxProvider: 'rates' } });
  const { taxRate } = await app.post('/tax-rates', { taxRate: { country: 'FR', type: 'vat', percentage: '10' } });
  const { code } = await shop.discount({ amount: 50 });
  const { customerId, externalId, freeId } = await plans.newCustomer('pm_card_visa');
  const billingAddress = { address: { country: 'FR', city: 'Paris' } };
  const wish = { customerId, productId: shop.proId, quantity: 2, name: 'Ours', discountCode: code, billingAddress };
  const { purchase } = await shop.buyOnly(wish);
  assert.deepEqual([purchase.status, purchase.subscriptionId, purchase.firstInvoiceValue], ['pending', null, 3300n]);
  // Neither a second plan nor the code is free meanwhile, and nothing of the plan is there.
  await assert.rejects(shop.buyOnly(wish), { message: /already has a current subscription/ });
  const subscribing = await app.request('POST', '/subscriptions', { customerId, priceSlug: 'team-monthly' });
  assert.equal(subscribing.status, 409);
  await assert.rejects(shop.buyOnly({ customerId, productId: bookId, discountCode: code }), { message: /already/ });
  assert.equal((await shop.current(externalId)).id, freeId);

  await app.put(`/tax-rates/${taxRate.id}`, { taxRate: { percentage: '20' } });
  await app.put(`/customers/${externalId}`, { customer: { billingAddress: { address: { country: 'JP' } } } });
  await app.runJobs({ all: true });
  const bought = await shop.purchase(purchase.id);
  const { invoice } = await shop.invoice(bought.invoiceId);
  const { subtotal, discountAmount, taxAmount, total, status } = invoice;
  assert.deepEqual([subtotal, discountAmount, taxAmount, total, status], [3000, 3000, 300, 3300, 'paid']);
  const current = await shop.current(externalId);
  assert.deepEqual([current.id, current.name, current.status], [bought.subscriptionId, 'Ours', 'active']);
  const [redemption, ...others] = await app.owner
    .selectFrom('discountRedemptions')
    .select(['subscriptionId', 'purchaseId', 'paymentsMade'])
    .where('customerId', '=', customerId)
    .execute();
  assert.deepEqual([redemption, others], [{ subscriptionId: current.id, purchaseId: null, paymentsMade: 1 }, []]);
  await app.put('/settings', { settings: { taxProvider: 'none' } });
});

test('a code is free again after a declined card, for the same purchase or another one', async () => {
  const { id, code } = await shop.discount({ amount: 50 });
  const { customerId } = await plans.newCustomer('pm_card_chargeCustomerFail');
  assert.equal((await shop.buy({ customerId, productId: packId, discountCode: code })).status, 'failed');
  assert.equal((await app.get(`/discounts/${id}`)).discount.redemptionCount, 0);
  const paymentMethodId = await shop.addCard(customerId);
  const bought = await shop.buy({ customerId, productId: bookId, discountCode: code, paymentMethodId });
  assert.deepEqual([bought.status, bought.totalPurchaseValue], ['paid', 499]);
});

test('who has left before the bank says yes has paid for a plan that ended at once', async () => {
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const { purchase } = await shop.buyOnly({ customerId, productId: shop.proId });
  await app.post(`/customers/${externalId}/archive`, {});
  await app.runJobs({ all: true });
  const { status, subscriptionId, invoiceId } = await shop.purchase(purchase.id);
  assert.equal(status, 'paid');
  const subscription = await plans.subscription(subscriptionId);
  assert.deepEqual([subscription.status, subscription.cancellationReason], ['canceled', 'customer_archived']);
  assert.equal((await shop.invoice(invoiceId)).invoice.status, 'paid');
});

test('one session buys once, however many ask at once, and afterwards', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const wish = { customerId, productId: bookId, checkoutSessionId: 'chckt_session_parallel' };
  const bought = await Promise.all(Array.from({ length: 8 }, () => shop.buyOnly(wish)));
  await app.runJobs({ all: true });
  const again = await shop.buy(wish);
  assert.deepEqual([...new Set(bought.map(({ purchase }) => purchase.id))], [again.id]);
  const { data: payments } = await app.get(`/payments?customerId=${customerId}`);
  assert.deepEqual(
    payments.map(({ amount, status }: { amount: number; status: string }) => [amount, status]),
    [[999, 'succeeded']],
  );
});

test('the database refuses a second purchase of a session that has not failed, whoever writes it', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const first = await shop.buy({ customerId, productId: bookId, checkoutSessionId: 'chckt_session_twice' });
  const { id, ...row } = await app.owner
    .selectFrom('purchases')
    .selectAll()
    .where('id', '=', first.id)
    .executeTakeFirstOrThrow();
  const second = { ...row, id: `${id}2`, invoiceId: null };
  await assert.rejects(app.owner.insertInto('purchases').values(second).execute(), {
    constraint: 'purchases_one_per_session',
  });
});

test('a discount `once` is used up by a purchase: 50 % of 999 are 500, so 499 are due', async () => {
  const { id, code } = await shop.discount({ amount: 50 });
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const bought = await shop.buy({ customerId, productId: bookId, discountCode: code });
  const { invoice } = await shop.invoice(bought.invoiceId);
  assert.deepEqual([invoice.discountAmount, invoice.total, bought.totalPurchaseValue], [500, 499, 499]);
  assert.equal((await shop.payments(invoice.id))[0]?.amount, 499);
  const redemption = await app.owner
    .selectFrom('discountRedemptions')
    .selectAll()
    .where('purchaseId', '=', bought.id)
    .executeTakeFirstOrThrow();
  assert.deepEqual([redemption.subscriptionId, redemption.paymentsMade, redemption.fullyRedeemed], [null, 1, true]);
  assert.equal((await app.get(`/discounts/${id}`)).discount.redemptionCount, 1);
  const explained = await app.get(`/invoices/${invoice.id}/explain`);
  assert.deepEqual(
    [explained.reason, explained.discounts[0].code, explained.discounts[0].computed],
    ['purchase', code, 500],
  );
});

test('a discount that takes everything off buys without a card and without a payment', async () => {
  const { code } = await shop.discount({ amount: 100 });
  const { customerId, externalId, freeId } = await plans.newCustomer();
  const { purchase } = await shop.buyOnly({ customerId, productId: packId, discountCode: code });
  assert.equal(purchase.status, 'paid');
  assert.equal(await plans.calls(externalId, freeId), 1500);
  assert.deepEqual(await shop.events(purchase.id), ['purchase.completed']);
  const { invoice } = await shop.invoice(purchase.invoiceId ?? '');
  assert.deepEqual([invoice.status, invoice.total, await shop.payments(invoice.id)], ['paid', 0, []]);
});

test('the address that is given with the order decides about tax: 19 % on 999 are 190', async () => {
  await app.put('/settings', { settings: { taxProvider: 'rates' } });
  await app.post('/tax-rates', { taxRate: { country: 'DE', type: 'vat', percentage: '19' } });
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const billingAddress = { address: { country: 'DE', city: 'Köln' } };
  const wish = { customerId, productId: bookId, billingAddress };
  const quoted = await shop.quote(wish);
  const bought = await shop.buy(wish);
  const { invoice } = await shop.invoice(bought.invoiceId);
  assert.deepEqual([invoice.subtotal, invoice.taxAmount, invoice.total], [999, 190, 1189]);
  assert.deepEqual([quoted.subtotal, quoted.taxAmount, quoted.total, quoted.dueNow], [999n, 190n, 1189n, 1189n]);
  assert.deepEqual(bought.billingAddress, billingAddress);
  assert.deepEqual((await app.get(`/customers/${externalId}`)).customer.billingAddress, billingAddress);
  await app.put('/settings', { settings: { taxProvider: 'none' } });
});

test('a quote is what buying bills, needs no card, and leaves nothing behind', async () => {
  const { code } = await shop.discount({ amount: 15 });
  const { customerId } = await plans.newCustomer();
  const before = await databaseDigest(app);
  const quoted = await shop.quote({ customerId, productId: packId, quantity: 7, discountCode: code });
  assert.equal(await databaseDigest(app), before);
  const { lines, ...amounts } = quoted;
  const explanation = { kind: 'item', unitPrice: 1000n, quantity: 7, period: null, whole: null };
  const line = { description: 'Pack of calls x 7', quantity: 7, price: 1000n, amount: 7000n, explanation };
  assert.deepEqual(lines, [line]);
  assert.deepEqual(amounts, {
    subtotal: 5950n,
    discountAmount: 1050n,
    taxAmount: 0n,
    total: 5950n,
    dueNow: 5950n,
    trialEnd: null,
    nextChargeAt: null,
    currency: 'USD',
  });
});

test('a dry run takes the charge to succeed, shows what follows, and stores nothing', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const before = await databaseDigest(app);
  const outcome = await runInEnvironment(
    app.database,
    { environmentId: app.testEnvironmentId },
    (work) => buyNow(work, { customerId, productId: packId }),
    { dryRun: true },
  );
  assert.equal(outcome?.answer.purchase.status, 'paid');
  assert.equal(await databaseDigest(app), before);
});

test('what cannot be bought is refused, and says why', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const refuses = (wish: object, message: RegExp) =>
    assert.rejects(shop.buyOnly({ customerId, productId: bookId, ...wish }), { message });
  await refuses({ productId: plans.priceOf('free-monthly').productId }, /plan, on which every customer starts/);
  await refuses({ paymentMethodId: 'pm_of_nobody' }, /paymentMethodId: must be a payment method of customer/);
  const { customerId: cardless } = await plans.newCustomer();
  await refuses({ customerId: cardless }, /paymentMethodId: is required/);
  await refuses({ customerId: cardless, productId: shop.proId }, /paymentMethodId: is required/);
  const archived = await plans.newCustomer('pm_card_visa');
  await app.post(`/customers/${archived.externalId}/archive`, {});
  await refuses({ customerId: archived.customerId }, /is archived/);
});

test('a saved card pays in one call: 2 of 999 are 1998; declined is 402, and a repeat charges nothing more', async () => {
  const { externalId, customerId, freeId } = await plans.newCustomer('pm_card_visa');
  const sale = { customerExternalId: externalId, priceId: shop.bookPriceId, quantity: 2 };
  const send = (purchase: object, headers = {}, query = '') =>
    app.request('POST', `/purchases${query}`, { purchase: { ...sale, ...purchase } }, { headers });
  const dry = await send({}, {}, '?dryRun=true');
  assert.deepEqual([dry.status, dry.body.purchase.status, dry.body.purchase.totalPurchaseValue], [200, 'paid', 1998]);
  assert.equal((await app.get(`/purchases?customerId=${customerId}`)).total, 0);
  const once = { 'idempotency-key': `sale-${customerId}` };
  const [first, repeat] = [await send({}, once), await send({}, once)];
  assert.deepEqual([first.status, first.body.purchase.status], [200, 'paid']);
  assert.equal(repeat.body.purchase.id, first.body.purchase.id);
  const declining = await shop.addCard(customerId, 'pm_card_chargeCustomerFail');
  for (const what of [{}, { priceId: plans.priceOf('pro-monthly').id }]) {
    const refused = await send({ ...what, paymentMethodId: declining });
    assert.equal(refused.status, 402);
    assert.match(refused.body.error, /^The payment failed, so nothing was bought\. card_declined: /);
    assert.equal(refused.body.purchase.status, 'failed');
  }
  assert.equal((await shop.current(externalId)).id, freeId);
  const pro = await send({ priceId: plans.priceOf('pro-monthly').id, quantity: 1, discountCode: null });
  assert.deepEqual([pro.status, pro.body.purchase.firstInvoiceValue], [200, 3000]);
  assert.equal((await shop.current(externalId)).id, pro.body.purchase.subscriptionId);
  const paid = (await app.get(`/payments?customerId=${customerId}&status=succeeded`)).data;
  assert.deepEqual(
    paid.map((payment: { amount: number }) => payment.amount),
    [1998, 3000],
  );
});

test('lists are filtered, and an unknown purchase is not found', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const bought = await shop.buy({ customerId, productId: bookId });
  const path = `/purchases?customerId=${customerId}&priceId=${shop.bookPriceId}`;
  assert.deepEqual((await app.get(`${path}&status=paid`)).data, [bought]);
  assert.deepEqual((await app.get(`${path}&status=failed`)).data, []);
  const answer = await app.request('GET', '/purchases/prch_none');
  assert.deepEqual([answer.status, answer.body.code], [404, 'NOT_FOUND']);
});

test('all invariants hold', () => assertSound(app));
