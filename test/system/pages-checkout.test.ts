import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { openWindow } from '../support/browser.ts';
import { assertGood, openShop, paidAmounts, payWith } from '../support/pages-fixture.ts';

const shop = await openShop();
const { app, plans } = shop;
const monthly = { intervalUnit: 'month', intervalCount: 1 };

/** Fills in the country. The rest of the order and the card are on the same page. */
async function continueFrom(page: Page, country = 'Germany'): Promise<void> {
  await page.getByLabel('Country').selectOption({ label: country });
}

/** A session of a customer for a plan, opened in a window. */
async function openCheckout(slug: string, rest: object = {}) {
  const customer = await plans.newCustomer();
  const { id, url } = await shop.newSession({
    type: 'product',
    customerExternalId: customer.externalId,
    priceId: plans.priceOf(slug).id,
    ...rest,
  });
  const page = await openWindow();
  await page.goto(url);
  return { ...customer, id, url, page };
}

test('somebody unknown buys a plan with 20 % off: 30.00 less 6.00 is 24.00', async () => {
  const { id, url } = await shop.newSession({
    type: 'product',
    anonymous: true,
    priceId: plans.priceOf('pro-monthly').id,
  });
  const page = await openWindow();
  await page.goto(url);
  await assertGood(page);
  await page.getByText('Add a discount code').click();
  await page.getByLabel('Discount code').fill('launch');
  await page.getByLabel('Name').fill('Ada <b>Lovelace</b>');
  await page.getByLabel('Email').fill('ada@example.com');
  await continueFrom(page);
  // The Enter key shows what the code changes, and pays nothing.
  await page.getByLabel('Discount code').press('Enter');
  assert.equal(await page.getByLabel('Email').inputValue(), 'ada@example.com');
  await assertGood(page);
  assert.match(await page.locator('main').innerText(), /Discount \(LAUNCH\)\s+-\$6.00/);
  await payWith(page, '4242 4242 4242 4242', /^Pay \$24.00$/);
  await page.waitForURL(`${shop.shop}/thanks`);

  const session = await shop.session(id);
  assert.equal(session.status, 'succeeded');
  assert.equal(session.customerName, 'Ada <b>Lovelace</b>');
  assert.deepEqual(await paidAmounts(app, session.customerId), [2400]);
});

test('a plan with a trial costs nothing today, and its card is kept for later', async () => {
  const { page, id, customerId, externalId } = await openCheckout('team-monthly');
  assert.match(await page.locator('main').innerText(), /Free until \w+ \d+, \d{4}\s+Then \$30\.00 per month/);
  await continueFrom(page);
  const text = await page.locator('main').innerText();
  assert.match(text, /Due today\s+\$0.00\s+Your first charge is on \w+ \d+, \d{4}, when your free trial ends\./);
  assert.match(text, /to charge you each month, starting on \w+ \d+, \d{4}, and for usage as described above, until/);
  await payWith(page, '5555 5555 5555 4444', /^Start free trial$/);
  await page.waitForURL(`${shop.shop}/thanks`);
  const { currentSubscription, paymentMethods } = await shop.billing(externalId);
  assert.equal((await shop.session(id)).status, 'succeeded');
  assert.equal(currentSubscription.status, 'trialing');
  assert.equal(paymentMethods[0].paymentMethodData.brand, 'mastercard');
  assert.deepEqual(await paidAmounts(app, customerId), []);
});

test('what is paid once is bought once, and says so', async () => {
  await app.post('/products', {
    product: { name: 'Poster', slug: 'poster', pricingModelId: plans.pricingModelId, active: true },
    price: { type: 'single_payment', slug: 'poster', name: 'Poster', unitPrice: 1000, isDefault: true, active: true },
  });
  const customer = await plans.newCustomer();
  const { id, url } = await shop.newSession({
    type: 'product',
    customerExternalId: customer.externalId,
    priceSlug: 'poster',
    quantity: 2,
  });
  const page = await openWindow();
  await page.goto(url);
  assert.match(await page.locator('main').innerText(), /\$10.00 once[\s\S]*Due today\s+\$20.00/);
  await continueFrom(page);
  assert.doesNotMatch(await page.locator('main').innerText(), /until you cancel/);
  await payWith(page, '4242424242424242', /^Pay \$20.00$/);
  await page.waitForURL(`${shop.shop}/thanks`);
  const { purchaseId } = await shop.session(id);
  assert.equal((await app.get(`/purchases/${purchaseId}`)).purchase.status, 'paid');
  assert.deepEqual(await paidAmounts(app, customer.customerId), [2000]);
});

for (const [number, what] of [
  ['4000000000000002', 'is declined when it is shown'],
  ['4000000000009995', 'has no money'],
  ['4000000000000341', 'is declined when it is charged'],
] as const) {
  test(`a card that ${what} costs nothing, and another one pays once`, async () => {
    const { page, id, customerId } = await openCheckout('pro-monthly');
    await continueFrom(page);
    await payWith(page, number, /^Pay \$30.00$/);
    const alert = await page.getByRole('alert').innerText();
    assert.match(alert, /payment failed and you were not charged/);
    assert.doesNotMatch(alert, /undefined|null|card_declined/);
    await assertGood(page);
    assert.equal((await shop.session(id)).status, 'open');
    assert.deepEqual(await paidAmounts(app, customerId), []);

    await payWith(page, '4242424242424242', /^Pay \$30.00$/);
    await page.waitForURL(`${shop.shop}/thanks`);
    assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  });
}

test('three of a plan are bought with the keyboard alone', async () => {
  const { page, customerId } = await openCheckout('pro-monthly', { maximumQuantity: 5 });
  const keys = page.keyboard;
  await page.getByLabel('Quantity').focus();
  await keys.press('ControlOrMeta+A');
  await keys.type('3');
  await keys.press('Enter');
  await page.getByRole('button', { name: 'Pay $90.00' }).waitFor();
  await page.getByLabel('Country').focus();
  await keys.type('Germ');
  // The address is folded away, and two wallets stand before the card.
  for (let field = 0; field < 4; field++) await keys.press('Tab');
  await keys.type('4242424242424242');
  await keys.press('Tab');
  await keys.type('1234');
  await keys.press('Tab');
  await keys.type('123');
  await keys.press('Enter');
  await page.waitForURL(`${shop.shop}/thanks`);
  assert.deepEqual(await paidAmounts(app, customerId), [9000]);
});

test('a saved card is offered first and pays with one click; the form of another one is there when it is chosen', async () => {
  const customer = await plans.newCustomer('pm_card_visa');
  const { url } = await shop.newSession({
    type: 'product',
    customerExternalId: customer.externalId,
    priceId: plans.priceOf('pro-monthly').id,
  });
  const page = await openWindow();
  await page.goto(url);
  await continueFrom(page);
  assert(await page.getByLabel('Visa ending in 4242, expires 12/2099').isChecked());
  assert.equal(await page.getByLabel('Card number').isVisible(), false);
  await page.getByLabel('Another card').check();
  await payWith(page, '4000000000000002', /^Pay/);
  await page.getByText('Try another payment method').waitFor();
  await assertGood(page);
  await page.getByLabel('Visa ending in 4242, expires 12/2099').check();
  await page.getByRole('button', { name: 'Pay $30.00' }).click();
  await page.waitForURL(`${shop.shop}/thanks`);
  assert.deepEqual(await paidAmounts(app, customer.customerId), [3000]);
});

test('what is filled in wrongly is said beside its field, and nothing of the rest is lost', async () => {
  const { url } = await shop.newSession({ type: 'product', anonymous: true, priceId: plans.priceOf('pro-monthly').id });
  const page = await openWindow();
  await page.goto(url);
  await page.getByLabel('Name').fill('Ada');
  await page.getByLabel('Email').fill('nobody');
  await page.getByRole('button', { name: 'Pay $30.00' }).click();
  assert.match(await page.title(), /^Error: /);
  const email = page.getByLabel('Email');
  assert.equal(await email.getAttribute('aria-invalid'), 'true');
  assert.equal(await email.getAttribute('aria-describedby'), 'email-error');
  assert.match(await page.locator('#email-error').innerText(), /name@example.com/);
  assert.match(await page.locator('#country-error').innerText(), /Choose your country/);
  assert.equal(await page.getByLabel('Name').inputValue(), 'Ada');
  await assertGood(page);

  await email.fill('ada@example.com');
  await page.getByText('Add a discount code').click();
  await page.getByLabel('Discount code').fill('NOPE');
  await continueFrom(page);
  await page.getByRole('button', { name: 'Apply' }).click();
  assert.match(await page.locator('#discountCode-error').innerText(), /This code /);
  await page.getByLabel('Discount code').fill('');
  await payWith(page, '4242 4242 4242 4241', /^Pay/);
  assert.match(await page.locator('#cardNumber-error').innerText(), /card number is not valid/);
  // A number that could be somebody's is neither taken nor shown again.
  await payWith(page, '6011 1111 1111 1117', /^Pay/);
  assert.match(await page.locator('#cardNumber-error').innerText(), /Real cards are not accepted/);
  assert.doesNotMatch(await page.content(), /6011/);
  assert.equal(await page.getByLabel('Email').inputValue(), 'ada@example.com');
});

test('a finished checkout says so, and leads back to the shop', async () => {
  const { page, url } = await openCheckout('pro-monthly');
  await continueFrom(page);
  await payWith(page, '4242424242424242', /^Pay/);
  await page.waitForURL(`${shop.shop}/thanks`);
  await page.goto(url);
  await assertGood(page);
  assert.match(await page.locator('main').innerText(), /This checkout is complete/);
  await page.getByRole('link', { name: 'Continue to Acme' }).click();
  await page.waitForURL(`${shop.shop}/thanks`);
});

test('who does not want to buy gets back to the shop', async () => {
  const { page, id } = await openCheckout('pro-monthly');
  await page.getByRole('link', { name: 'Cancel and go back to Acme' }).click();
  await page.waitForURL(`${shop.shop}/cart`);
  assert.equal((await shop.session(id)).status, 'open');
});

test('a card is added, and is what the customer is charged on', async () => {
  const customer = await plans.newCustomer('pm_card_visa');
  const { id, url } = await shop.newSession({
    type: 'add_payment_method',
    customerExternalId: customer.externalId,
    automaticallyUpdateSubscriptions: true,
  });
  assert.match(url, /\/add-payment-method\//);
  const page = await openWindow();
  await page.goto(url);
  await assertGood(page);
  await payWith(page, '5555555555554444', /^Save card$/);
  await page.waitForURL(`${shop.shop}/thanks`);
  assert.equal((await shop.session(id)).status, 'succeeded');
  const { paymentMethods } = await shop.billing(customer.externalId);
  assert.equal(paymentMethods[0].paymentMethodData.last4, '4444');
});

test('a subscription that waits for its first payment is activated, after a card that was declined', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const waiting = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', quantity: 2 });
  const { url } = await shop.newSession({
    type: 'activate_subscription',
    customerExternalId: externalId,
    targetSubscriptionId: waiting.id,
  });
  const page = await openWindow();
  await page.goto(url);
  await assertGood(page);
  assert.match(await page.locator('main').innerText(), /Due today\s+\$60.00/);
  await continueFrom(page);
  await payWith(page, '4000 0000 0000 0341', /^Pay \$60.00$/);
  await page.getByText('you were not charged').waitFor();
  assert.equal((await plans.subscription(waiting.id)).status, 'incomplete');
  await payWith(page, '4242 4242 4242 4242', /^Pay \$60.00$/);
  await page.waitForURL(`${shop.shop}/thanks`);
  assert.equal((await plans.subscription(waiting.id)).status, 'active');
  assert.deepEqual(await paidAmounts(app, customerId), [6000]);
});

test('seats in tiers and the price of usage read as words, in the checkout and in the portal', async () => {
  const { pricingModelId } = plans;
  const tiers = [
    { upTo: 10, unitAmount: '1000' },
    { upTo: null, unitAmount: '800' },
  ];
  const { usageMeter } = await app.post('/usage-meters', {
    usageMeter: { name: 'Questions', slug: 'questions', pricingModelId },
    price: { unitPrice: 5 },
  });
  const pricing = { model: 'per_unit', unitAmount: '2', freeUnits: 1000 };
  await app.post('/prices', { price: { type: 'usage', usageMeterId: usageMeter.id, slug: 'crew-questions', pricing } });
  // The plan's own rate is shown, and not that of the meter.
  const usagePrices = [{ usageMeterSlug: 'questions', priceSlug: 'crew-questions' }];
  await app.post('/products', {
    product: { name: 'Crew', slug: 'crew', pricingModelId, active: true, maximumQuantity: 20, usagePrices },
    price: { ...monthly, type: 'subscription', slug: 'crew', pricing: { model: 'volume', tiers } },
  });
  const customer = await plans.newCustomer();
  const session = { type: 'product', customerExternalId: customer.externalId, priceSlug: 'crew', quantity: 12 };
  const { url } = await shop.newSession({ ...session, minimumQuantity: 1, maximumQuantity: 20 });
  const page = await openWindow();
  await page.goto(url);
  await assertGood(page);
  const text = await page.locator('main').innerText();
  assert.match(text, /12 for \$96\.00 per month \(\$10\.00 each up to 10, \$8\.00 each above\)/);
  assert.match(text, /Questions: first 1,000 free, then \$0\.02 each/);
  await continueFrom(page);
  await payWith(page, '4242 4242 4242 4242', /^Pay \$96.00$/);
  await page.waitForURL(`${shop.shop}/thanks`);
  await page.goto(await shop.portal(customer.externalId));
  assert.match(await page.locator('main').innerText(), /12 for \$96\.00 per month/);
  await page.getByRole('link', { name: 'Change plan' }).click();
  await page.getByRole('button', { name: 'Change quantity' }).click();
  await page.getByLabel('Quantity').fill('20');
  await page.getByRole('button', { name: 'Update quantity' }).click();
  await assertGood(page);
  const change = await page.locator('main').innerText();
  assert.match(change, /20 for \$160\.00 per month/);
  assert.match(change, /Questions: first 1,000 free/);
  await page.getByRole('button', { name: /Pay \$64\.00/ }).click();
  await page.waitForURL(/done=changed/);
  assert.deepEqual(await paidAmounts(app, customer.customerId), [9600, 6400]);
});

test('support is taken by a box, seats by a number, and the customer removes support again in the portal', async () => {
  const { pricingModelId } = plans;
  const make = (name: string, unitPrice: number, terms: object = {}) =>
    app.post('/products', {
      product: { name, slug: name.toLowerCase(), pricingModelId, active: true, addOn: true, ...terms },
      price: { ...monthly, type: 'subscription', slug: name.toLowerCase(), unitPrice },
    });
  await make('Support', 500, { description: 'An answer within two hours' });
  await make('Seats', 800, { minimumQuantity: 2, maximumQuantity: 5 });
  const { page, externalId, customerId } = await openCheckout('pro-monthly', {
    optionalItems: [{ priceSlug: 'support' }, { priceSlug: 'seats' }],
  });
  await assertGood(page);
  await page.getByRole('checkbox', { name: /Support/ }).check();
  await page.getByLabel('Seats').fill('9');
  await continueFrom(page);
  const update = page.getByRole('button', { name: 'Update order' });
  await update.click();
  await assertGood(page);
  assert.match(await page.locator('main').innerText(), /Enter a quantity from 2 to 5, or 0 to leave it out/);
  await page.getByLabel('Seats').fill('2');
  await update.click();
  const text = await page.locator('main').innerText();
  assert.match(text, /Support: \$5\.00 per month/);
  assert.match(text, /Seats: 2 × \$8\.00 per month/);
  // A box that is unchecked again is left out.
  await page.getByRole('checkbox', { name: /Support/ }).uncheck();
  await update.click();
  assert.match(await page.locator('main').innerText(), /Due today\s+\$46\.00/);
  await page.getByRole('checkbox', { name: /Support/ }).check();
  await update.click();
  await assertGood(page);
  await payWith(page, '4242 4242 4242 4242', /^Pay \$51.00$/);
  await page.waitForURL(`${shop.shop}/thanks`);
  await page.goto(await shop.portal(externalId));
  await page.getByRole('link', { name: 'Change plan' }).click();
  await assertGood(page);
  await page.getByRole('button', { name: 'Remove Support' }).click();
  assert.match(await page.locator('main').innerText(), /New plan, full period\s+\$46\.00/);
  await page.getByRole('button', { name: 'Remove add-on' }).click();
  await page.waitForURL(/done=scheduled/);
  assert.deepEqual(await paidAmounts(app, customerId), [5100]);
});

test('a wallet pays with one button, and the bill names it', async () => {
  const { page, id, customerId, externalId } = await openCheckout('pro-monthly');
  await continueFrom(page);
  await page.getByRole('button', { name: 'Apple Pay' }).click();
  await page.waitForURL(`${shop.shop}/thanks`);
  assert.equal((await shop.session(id)).status, 'succeeded');
  assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  await page.goto(await shop.portal(externalId));
  assert.match(await page.locator('main').innerText(), /Visa ending in 4242 \(Apple Pay\)/);
});

test('a card that the bank asks about is charged when the buyer has confirmed it, and not when it has not', async () => {
  const { page, id, customerId } = await openCheckout('pro-monthly');
  await continueFrom(page);
  await payWith(page, '4000 0000 0000 3220', /^Pay/);
  await assertGood(page);
  assert.deepEqual([(await shop.session(id)).status, await paidAmounts(app, customerId)], ['pending', []]);
  await page.getByRole('button', { name: 'Do not confirm' }).click();
  assert.match(await page.getByRole('alert').innerText(), /not confirmed to the bank/);
  await payWith(page, '4000 0000 0000 3220', /^Pay/);
  await page.getByRole('button', { name: 'Confirm payment' }).click();
  await page.waitForURL(`${shop.shop}/thanks`);
  assert.deepEqual(await paidAmounts(app, customerId), [3000]);
});

test('a bank debit shows its mandate, is processing for an hour, and then pays or fails', async () => {
  await app.put('/settings', { settings: { bankDebits: true } });
  const pay = async (account: string) => {
    const opened = await openCheckout('pro-monthly');
    const { page } = opened;
    await continueFrom(page);
    await page.getByLabel('US bank account').check();
    assert.match(await page.locator('main').innerText(), /you authorize .* to debit this bank account/);
    await page.getByRole('button', { name: /^Pay \$/ }).click();
    assert.match(await page.getByRole('alert').innerText(), /Enter one of the test accounts/);
    await assertGood(page);
    await page.getByLabel('Routing number').fill('110000000');
    await page.getByLabel('Account number').fill(account);
    await page.getByRole('button', { name: /^Pay \$/ }).click();
    assert.match(await page.locator('main').innerText(), /Your payment is being processed/);
    await assertGood(page);
    return opened;
  };
  const [good, bad] = [await pay('000 123 456 789'), await pay('000111111116')];
  await app.put('/settings', { settings: { bankDebits: false } });
  const statuses = async () => [(await shop.session(good.id)).status, (await shop.session(bad.id)).status];
  assert.deepEqual(await statuses(), ['pending', 'pending']);
  await app.setClock(Date.now() + 2 * 60 * 60 * 1000);
  await app.tasks.find_due_work?.(app, {});
  await app.runJobs({ all: true });
  assert.deepEqual(await statuses(), ['succeeded', 'open']);
  assert.deepEqual([await paidAmounts(app, good.customerId), await paidAmounts(app, bad.customerId)], [[3000], []]);
  await bad.page.reload();
  assert.match(await bad.page.locator('main').innerText(), /insufficient funds/);
});
