import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catchUp } from '../../src/billing/catch-up.ts';
import { openSmtp } from '../../src/jobs/smtp.ts';
import { openWindow } from '../support/browser.ts';
import type { Body } from '../support/harness.ts';
import { Inbox } from '../support/inbox.ts';
import { assertGood, openShop, paidAmounts, payWith } from '../support/pages-fixture.ts';
import { passwordOfAll, personWith } from '../support/people-fixture.ts';
import { atFileEnd } from '../support/process-end.ts';

const inbox = new Inbox();
const smtp = openSmtp({ url: await inbox.open(), from: 'billing@acme.test' });
atFileEnd(async () => smtp.close());
const mail = { smtp, publicUrl: '' };
const shop = await openShop({ services: { mail } });
const { app, plans } = shop;
// Emails link to where this service listens.
mail.publicUrl = app.url;
const day = (text: string) => Date.parse(`${text}T00:00:00Z`);
await app.setClock(day('2026-04-01'));

await app.post('/products', {
  product: { name: 'Max', slug: 'max', pricingModelId: plans.pricingModelId, active: true },
  price: {
    type: 'subscription',
    slug: 'max-monthly',
    name: 'Monthly',
    unitPrice: 6000,
    intervalUnit: 'month',
    intervalCount: 1,
    isDefault: true,
    active: true,
  },
});

/** A customer with a card and a plan of 30.00 a month, in its portal. */
async function openPortal(token = 'pm_card_visa') {
  await app.setClock(day('2026-04-01'));
  const customer = await plans.newCustomer(token);
  const subscription = await plans.subscribe({
    customerId: customer.customerId,
    priceId: plans.priceOf('pro-monthly').id,
  });
  const page = await openWindow();
  await page.goto(await shop.portal(customer.externalId, { returnUrl: `${shop.shop}/account` }));
  return { ...customer, subscriptionId: subscription.id as string, page };
}

test('the portal shows plan, balances, payment methods and invoices, and its address opens nothing to others', async () => {
  const { page, externalId } = await openPortal();
  assert.equal(page.url(), `${app.url}/portal`);
  const text = await page.locator('main').innerText();
  assert.match(text, /Pro - Monthly Active/);
  assert.match(
    text,
    /\$30.00 per month\s+Renews on May 1, 2026\. Your next charge is on that day\.\s+Usage beyond what is included is billed at the end of each month\.\s+API calls: \$0\.50 per 100/,
  );
  assert.match(text, /API calls\s+1,500 of 1,500 left/);
  assert.match(text, /Seats\s+0 of 5 in use/);
  assert.match(text, /Visa ending in 4242, expires 12\/2099\s+Default/);
  assert.match(text, /April 1, 2026\s+\S+\s+Paid PDF\s+\$30.00/);
  await assertGood(page);

  const stranger = await openWindow();
  await stranger.goto(page.url());
  assert.match(await stranger.locator('main').innerText(), /Your access has ended/);

  const { invoices } = await shop.billing(externalId);
  const { id, invoiceNumber } = invoices[0].invoice;
  await page.getByRole('link', { name: `Invoice ${invoiceNumber}`, exact: true }).click();
  assert.match(await page.locator('body').innerText(), new RegExp(invoiceNumber));
  const pdf = await page.request.get(`${app.url}/portal/invoices/${id}/pdf`);
  assert.equal((await pdf.body()).subarray(0, 5).toString(), '%PDF-');
  const refused = await stranger.request.get(`${app.url}/portal/invoices/${id}/pdf`);
  assert.equal(refused.status(), 403);
});

test('a change of plan on 11 April costs what its preview says: 20 of 30 days of 30.00 more, 20.00', async () => {
  const { page, customerId, externalId } = await openPortal();
  await app.setClock(day('2026-04-11'));
  await page.getByRole('link', { name: 'Change plan' }).click();
  await assertGood(page);
  await page.getByRole('button', { name: 'Choose Max' }).click();
  await assertGood(page);
  assert.match(await page.locator('#preview').locator('..').innerText(), /\$60.00[\s\S]*Due today\s+\$20.00/);
  await page.getByRole('button', { name: 'Pay $20.00 and change' }).click();
  await page.waitForURL(`${app.url}/portal?done=changed`);
  assert.match(await page.getByRole('status').innerText(), /Your plan has been changed/);
  const { currentSubscription } = await shop.billing(externalId);
  assert.equal(currentSubscription.subscriptionItems[0].price.slug, 'max-monthly');
  assert.deepEqual((await paidAmounts(app, customerId)).sort(), [2000, 3000]);

  // Back to the cheaper one: nothing is given back, so it waits for the end of the period.
  await page.getByRole('link', { name: 'Change plan' }).click();
  await page.getByRole('button', { name: 'Choose Pro' }).click();
  assert.match(await page.locator('main').innerText(), /Your plan changes on May 1, 2026/);
  await page.getByRole('button', { name: 'Change plan', exact: true }).click();
  await page.waitForURL(`${app.url}/portal?done=scheduled`);
  assert.match(await page.locator('main').innerText(), /Your plan changes on May 1, 2026/);
  await page.getByRole('button', { name: 'Keep current plan' }).click();
  await page.waitForURL(`${app.url}/portal?done=kept`);
  assert.equal((await shop.billing(externalId)).currentSubscription.scheduledAdjustmentAt, null);
});

test('a change whose charge is declined changes nothing, and says why', async () => {
  const { page, customerId, externalId } = await openPortal();
  await app.post('/payment-methods', {
    paymentMethod: {
      customerId,
      token: 'pm_card_chargeCustomerFail',
      default: true,
      automaticallyUpdateSubscriptions: true,
    },
  });
  await page.getByRole('link', { name: 'Change plan' }).click();
  await page.getByRole('button', { name: 'Choose Max' }).click();
  await page.getByRole('button', { name: 'Pay $30.00 and change' }).click();
  const alert = await page.getByRole('alert').innerText();
  assert.match(alert, /Nothing was changed because the charge for the change failed. Your card was declined/);
  await assertGood(page);
  const { currentSubscription } = await shop.billing(externalId);
  assert.equal(currentSubscription.subscriptionItems[0].price.slug, 'pro-monthly');
});

test('a dearer plan costs what is missing for the rest of the period, once', async () => {
  const { page, externalId, customerId } = await openPortal();
  await app.setClock(day('2026-04-16'));
  await page.getByRole('link', { name: 'Change plan' }).click();
  await page.getByRole('button', { name: 'Choose Max' }).click();
  // Half of April is left, and Max costs 30.00 more.
  await page.getByRole('button', { name: 'Pay $15.00 and change' }).dblclick();
  // The second click aborts the navigation of the first, which waitForURL would fail on.
  await page.waitForFunction('/done=(changed|waiting)$/.test(location.href)');
  assert.equal((await shop.billing(externalId)).currentSubscription.subscriptionItems[0].price.slug, 'max-monthly');
  assert.deepEqual((await paidAmounts(app, customerId)).sort(), [1500, 3000]);
});

test('the switch of intervals names what a year saves, rounded down', async () => {
  const { product } = await app.post('/products', {
    product: { name: 'Max, annual', slug: 'max-annual', pricingModelId: plans.pricingModelId, active: true },
    price: {
      type: 'subscription',
      slug: 'max-yearly',
      unitPrice: 60_000,
      intervalUnit: 'year',
      isDefault: true,
      active: true,
    },
  });
  const { page } = await openPortal();
  await page.getByRole('link', { name: 'Change plan' }).click();
  // 600.00 in place of 12 times 60.00: 16.67 %.
  assert.match(await page.getByRole('navigation').innerText(), /^Monthly\s+Yearly\s+Save 16%$/);
  await page.getByRole('link', { name: 'Yearly' }).click();
  assert.match(await page.locator('.plans').innerText(), /\$600\.00 per year/);
  await assertGood(page);
  await app.put(`/products/${product.id}`, { product: { active: false } });
});

test('who owes an invoice pays it with another card', async () => {
  const { page, customerId, subscriptionId } = await openPortal('pm_card_visa');
  await app.post('/payment-methods', {
    paymentMethod: {
      customerId,
      token: 'pm_card_chargeCustomerFail',
      default: true,
      automaticallyUpdateSubscriptions: true,
    },
  });
  await app.setClock(day('2026-05-02'));
  await app.runJobs({ all: true });
  await app.inEnvironment((work) => catchUp(work, subscriptionId));
  await app.runJobs({ all: true });
  await page.reload();
  assert.match(await page.locator('main').innerText(), /Payment failed/);
  await page.getByRole('button', { name: 'Pay now' }).click();
  assert.match(await page.getByRole('alert').innerText(), /Your card was declined/);
  await page.getByRole('button', { name: 'Make default: Visa ending in 4242' }).click();
  await page.getByRole('button', { name: 'Pay now' }).click();
  await page.waitForURL(`${app.url}/portal?done=paid`);
  assert.equal((await plans.subscription(subscriptionId)).status, 'active');
  assert.deepEqual(await paidAmounts(app, customerId), [3000, 3000]);
});

test('a subscription is canceled at the end of its period, and that is taken back', async () => {
  const { page, subscriptionId } = await openPortal();
  await page.getByRole('link', { name: 'Cancel subscription' }).click();
  assert.match(await page.locator('main').innerText(), /It stays active until May 1, 2026/);
  await assertGood(page);
  await page.getByLabel('It is too expensive').check();
  await page.getByLabel('Anything else').fill('  Too many seats.\nWe are two. ');
  await page.getByRole('button', { name: 'Cancel subscription' }).click();
  await page.waitForURL(`${app.url}/portal?done=canceled`);
  const { status, cancellationReason, cancellationComment } = await plans.subscription(subscriptionId);
  assert.deepEqual([status, cancellationReason], ['cancellation_scheduled', 'too_expensive']);
  assert.equal(cancellationComment, 'Too many seats.\nWe are two.');
  assert.match(await page.locator('main').innerText(), /Ends on May 1, 2026/);
  await page.getByRole('button', { name: 'Keep subscription' }).click();
  await page.waitForURL(`${app.url}/portal?done=uncanceled`);
  const kept = await plans.subscription(subscriptionId);
  assert.deepEqual([kept.status, kept.cancellationReason, kept.cancellationComment], ['active', null, undefined]);
});

test('a card is added, declined ones are not, and the one before can be used again', async () => {
  const { page, externalId, subscriptionId, paymentMethodId } = await openPortal();
  await page.getByRole('link', { name: 'Add a card' }).click();
  await assertGood(page);
  await page.getByRole('button', { name: 'Save card' }).click();
  assert.match(await page.locator('#cardNumber-error').innerText(), /Enter the card number/);
  await payWith(page, '4000000000000002', /^Save card$/);
  assert.match(await page.getByRole('alert').innerText(), /Your card was declined/);
  await payWith(page, '5555555555554444', /^Save card$/);
  await page.waitForURL(`${app.url}/portal?done=added`);
  await assertGood(page);
  const { paymentMethods } = await shop.billing(externalId);
  assert.deepEqual(
    paymentMethods.map((method: Body) => method.paymentMethodData.last4),
    ['4444', '4242'],
  );
  assert.equal((await plans.subscription(subscriptionId)).defaultPaymentMethodId, paymentMethods[0].id);
  await page.getByRole('button', { name: 'Make default: Visa ending in 4242' }).click();
  await page.waitForURL(`${app.url}/portal?done=default`);
  assert.equal((await plans.subscription(subscriptionId)).defaultPaymentMethodId, paymentMethodId);
  assert.equal((await shop.billing(externalId)).paymentMethods[0].id, paymentMethodId);
  // The card that the subscription is charged on stays, and the other one is removed.
  await page.getByRole('button', { name: 'Remove: Visa ending in 4242' }).click();
  assert.match(await page.getByRole('alert').innerText(), /A subscription is paid with this payment method/);
  await page.getByRole('button', { name: 'Remove: Mastercard ending in 4444' }).click();
  await page.waitForURL(`${app.url}/portal?done=removed`);
  assert.equal((await shop.billing(externalId)).paymentMethods.length, 1);
  await app.post(`/resource-claims/${subscriptionId}/claim`, { resourceSlug: 'seat', externalId: 'ada' });
  await page.reload();
  assert.match(await page.locator('main').innerText(), /Seats\s+1 of 5 in use\s+ada/);
  await assertGood(page);
  await page.getByRole('button', { name: 'Release ada' }).click();
  await page.waitForURL(`${app.url}/portal?done=released`);
  assert.match(await page.locator('main').innerText(), /Seats\s+0 of 5 in use/);
});

test('an open invoice is paid by its button in the list, once', async () => {
  await app.setClock(day('2026-04-01'));
  await app.put('/settings', { settings: { netTermsDays: 14 } });
  const { customerId, externalId } = await plans.newCustomer();
  await plans.subscribe({ customerId, priceId: plans.priceOf('pro-monthly').id });
  await app.put('/settings', { settings: { netTermsDays: 0 } });
  await app.post('/payment-methods', { paymentMethod: { customerId, token: 'pm_card_visa', default: true } });
  const page = await openWindow();
  await page.goto(await shop.portal(externalId));
  const button = page.getByRole('button', { name: /^Pay \$30\.00 of invoice / });
  await assertGood(page);
  await button.click();
  await page.waitForURL(/\/portal\?done=/);
  assert.match(
    await page.getByRole('region', { name: 'Invoices' }).innerText(),
    /April 1, 2026\s+\S+\s+Paid PDF\s+\$30\.00/,
  );
  assert.equal(await button.count(), 0);
  assert.deepEqual(await paidAmounts(app, customerId), [3000]);
});

test('who is on the free plan chooses one in the portal, pays in the checkout, and comes back', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const page = await openWindow();
  await page.goto(await shop.portal(externalId));
  await page.getByRole('link', { name: 'Choose a plan' }).click();
  await page.getByRole('button', { name: 'Choose Max' }).click();
  await page.getByLabel('Country').selectOption({ label: 'France' });
  await payWith(page, '4242424242424242', /^Pay \$60.00$/);
  await page.waitForURL(`${app.url}/portal`);
  assert.match(await page.locator('main').innerText(), /Max - Monthly Active/);
  assert.deepEqual(await paidAmounts(app, customerId), [6000]);
});

test('usage is drawn and unfolds to its days, and a top-up is bought with the saved card', async () => {
  const { page, subscriptionId, customerId } = await openPortal();
  await app.post('/products', {
    product: { name: 'Pack', slug: 'pack', pricingModelId: plans.pricingModelId, active: true },
    price: { type: 'single_payment', slug: 'pack-once', unitPrice: 1000, isDefault: true, active: true },
    featureIds: [await idOfFeature('monthly-calls')],
  });
  await app.setClock(day('2026-04-20'));
  const use = (amount: number, usageDate: number) =>
    app.post('/usage-events', {
      usageEvent: { subscriptionId, priceSlug: 'call-overage', transactionId: `${usageDate}`, amount, usageDate },
    });
  for (let date = 1; date <= 20; date += 3) await use(date * 10, day('2026-04-01') + (date - 1) * 86_400_000);
  await page.reload();
  const usage = page.getByRole('region', { name: 'Usage of the last 30 days' });
  const bar = usage.getByText('April 19, 2026 · 190');
  await usage.locator('li[tabindex]').last().focus();
  assert.ok(((await bar.boundingBox())?.width ?? 0) > 50, 'the focus shows the value of its day');
  await usage.getByText('API calls: 700 in the last 30 days, most on April 19, 2026 with 190.').click();
  assert.match(await usage.innerText(), /April 19, 2026\s+190\s+April 16, 2026\s+160/);
  await usage.getByRole('link', { name: '7 days' }).click();
  assert.match(
    await page.getByRole('region', { name: 'Usage of the last 7 days' }).innerText(),
    /API calls: 350 in the last 7 days, most on April 19, 2026 with 190\./,
  );
  await assertGood(page);
  await page.getByRole('button', { name: 'Buy Pack' }).click();
  await page.getByLabel('Country').selectOption({ label: 'France' });
  await page.getByRole('button', { name: 'Pay $10.00' }).click();
  await page.waitForURL(`${app.url}/portal`);
  assert.match(await page.locator('main').innerText(), /API calls\s+1,800 of 2,500 left/);
  assert.deepEqual((await paidAmounts(app, customerId)).sort(), [1000, 3000]);
});

test('a visit ends when the customer says so, and at the latest when its link does', async () => {
  const { page, externalId } = await openPortal();
  assert.equal(await page.getByRole('link', { name: 'Back to Acme' }).getAttribute('href'), `${shop.shop}/account`);
  const [cookie] = await page.context().cookies();
  assert(cookie);
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, 'Lax');
  assert.equal(cookie.path, '/portal');
  assert.ok(cookie.expires * 1000 <= Date.now() + 3_600_000);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await assertGood(page);
  await page.goto(`${app.url}/portal`);
  assert.match(await page.locator('main').innerText(), /Your access has ended/);

  const link = await shop.portal(externalId, { expiresInSeconds: 1 });
  const ended = await openWindow();
  for (const until = Date.now() + 5000; Date.now() < until; ) {
    await ended.goto(link);
    if ((await ended.locator('main').innerText()).includes('Your access has ended')) return;
  }
  assert.fail('the link is open for longer than it was to be');
});

test('nothing of another customer can be reached, and no form from another visit is taken', async () => {
  const one = await openPortal();
  const other = await openPortal();
  const token = await other.page.locator('[name=formToken]').first().inputValue();
  const send = (path: string, formToken: string) =>
    one.page.request.post(`${app.url}${path}`, { form: { formToken }, headers: { origin: app.url }, maxRedirects: 0 });
  const cancel = `/portal/subscriptions/${one.subscriptionId}/cancel`;
  assert.equal((await send(cancel, token)).status(), 403);
  assert.equal((await send(cancel, '')).status(), 403);
  assert.equal((await plans.subscription(one.subscriptionId)).status, 'active');

  const own = await one.page.locator('[name=formToken]').first().inputValue();
  const { invoices } = await shop.billing(other.externalId);
  assert.equal((await send(`/portal/subscriptions/${other.subscriptionId}/cancel`, own)).status(), 404);
  assert.equal((await send(`/portal/subscriptions/${other.subscriptionId}/uncancel`, own)).status(), 404);
  assert.equal((await send(`/portal/subscriptions/${other.subscriptionId}/keep`, own)).status(), 404);
  assert.equal((await send(`/portal/subscriptions/${other.subscriptionId}/change`, own)).status(), 404);
  assert.equal((await send(`/portal/payment-methods/${other.paymentMethodId}/default`, own)).status(), 404);
  assert.equal((await send(`/portal/payment-methods/${other.paymentMethodId}/remove`, own)).status(), 404);
  assert.equal((await send(`/portal/subscriptions/${other.subscriptionId}/release`, own)).status(), 404);
  for (const path of [
    `/portal/subscriptions/${other.subscriptionId}/plans`,
    `/portal/subscriptions/${other.subscriptionId}/cancel`,
    `/portal/invoices/${invoices[0].invoice.id}`,
  ])
    assert.equal((await one.page.request.get(`${app.url}${path}`)).status(), 404, path);
  assert.equal((await plans.subscription(other.subscriptionId)).status, 'active');
});

test('somebody adds a passkey and signs in with it, and not with one that does not ask who is there', async () => {
  const { email } = await personWith(app, 'viewer');
  const page = await openWindow({ javaScript: true });
  // A passkey belongs to a name, and 127.0.0.1 is none.
  const { port } = new URL(app.url);
  await page.goto(`http://localhost:${port}/`);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const device = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const;
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...device, isUserVerified: true, automaticPresenceSimulation: true },
  });
  await page.evaluate(`
    window.ask = async (path, body) => {
      const init = body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      const answer = await fetch('/auth' + path, init);
      return { status: answer.status, body: await answer.json() };
    };
    window.signIn = async (userVerification) => {
      const { body: options } = await ask('/passkey/generate-authenticate-options');
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON({ ...options, userVerification });
      const response = (await navigator.credentials.get({ publicKey })).toJSON();
      return (await ask('/passkey/verify-authentication', { response })).status;
    };`);
  const made = await page.evaluate(`(async () => {
    await ask('/sign-in/email', ${JSON.stringify({ email, password: passwordOfAll })});
    const { body: options } = await ask('/passkey/generate-register-options');
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    const response = (await navigator.credentials.create({ publicKey })).toJSON();
    return (await ask('/passkey/verify-registration', { response, name: 'Laptop' })).status;
  })()`);
  assert.equal(made, 200);
  const whoIsIn = `fetch('/api/v1/me').then(async (answer) => (await answer.json()).me?.user.email ?? null)`;
  await page.context().clearCookies();
  assert.equal(await page.evaluate(whoIsIn), null);
  await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
  assert.equal(await page.evaluate(`signIn('discouraged')`), 401);
  assert.equal(await page.evaluate(whoIsIn), null);
  await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
  assert.equal(await page.evaluate(`signIn('required')`), 200);
  assert.equal(await page.evaluate(whoIsIn), email);
  await page.context().close();
});

test('a customer sets a limit and an automatic top-up by forms whose errors stand beside their fields', async () => {
  const { page, externalId } = await openPortal();
  await page.getByRole('link', { name: 'Manage limits' }).click();
  await assertGood(page);
  await page.getByLabel('Limit', { exact: true }).fill('ten');
  await page.getByRole('button', { name: 'Save limit' }).click();
  assert.match(await page.title(), /^Error: /);
  assert.match(await page.locator('#amount-error').innerText(), /Enter an amount, such as 50\.00/);
  await assertGood(page);
  await page.getByLabel('Limit', { exact: true }).fill('25');
  await page.getByLabel('Only notify me').check();
  await page.getByRole('button', { name: 'Save limit' }).click();
  await page.waitForURL(`${app.url}/portal?done=limit`);
  assert.match(await page.locator('main').innerText(), /All usage · each month\s+\$0\.00 of \$25\.00 used/);
  await assertGood(page);

  await page.getByRole('link', { name: 'Set up' }).click();
  await assertGood(page);
  await page.getByRole('button', { name: 'Turn on' }).click();
  assert.equal(await page.locator('.error').count(), 3);
  await assertGood(page);
  await page.getByLabel('When the balance falls below').fill('500');
  await page.getByLabel('Top up to a balance of').fill('3000');
  await page.getByLabel('Maximum per month (USD)').fill('40');
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.waitForURL(`${app.url}/portal?done=topUp`);
  assert.match(
    await page.locator('main').innerText(),
    /Automatic top-up On\s+When the balance of API calls falls below 500, Pack is bought/,
  );
  await assertGood(page);
  const { spendControls } = await app.get(`/customers/${externalId}/spend-controls`);
  assert.deepEqual([spendControls.limits[0].amount, spendControls.autoTopUp.maximumAmountPerMonth], [2500, 4000]);
  await page.getByRole('link', { name: 'Manage limits' }).click();
  await page.getByRole('button', { name: 'Remove: All usage · each month' }).click();
  await page.waitForURL(`${app.url}/portal?done=limitRemoved`);
});

test('the link of each kind of email opens its page: to pay, to confirm, to read, or the portal', async () => {
  await app.put('/settings', { settings: { mail: { enabled: true, testRecipients: ['@acme.test'] } } });
  const issued = await plans.newCustomer();
  const lines = [{ description: 'Workshop', unitAmount: 45_000 }];
  const { invoice } = await app.post('/invoices', { invoice: { customerExternalId: issued.externalId, lines } });
  await app.post(`/invoices/${invoice.id}/finalize`, {});
  const failed = await newDebtor('pm_card_chargeCustomerFail');
  const asked = await newDebtor('pm_card_authenticationRequired');
  const limited = await newSpender('pm_card_visa', { limits: [{ period: 'month', amount: 20, action: 'notify' }] });
  await app.post('/products', {
    product: { name: 'Refill', slug: 'refill', pricingModelId: plans.pricingModelId, active: true },
    price: { type: 'single_payment', slug: 'refill', unitPrice: 1000, isDefault: true, active: true },
    featureIds: [await idOfFeature('monthly-calls')],
  });
  const refill = { priceSlug: 'refill', below: 490, upTo: 600, maximumAmountPerMonth: 100_000 };
  const toppedUp = await newSpender('pm_card_authenticationRequired', { autoTopUp: refill });
  const waiting = await newWaiting();
  await app.runJobs({ all: true });

  for (const [{ customerId }, template, card, amounts] of [
    [issued, 'invoice_issued', '4242 4242 4242 4242', [45_000]],
    [failed, 'payment_failed', '4242 4242 4242 4242', [3000, 3000]],
    [asked, 'payment_action_required', '4000 0000 0000 3220', [3000, 3000]],
  ] as const) {
    const page = await openLinkOf(customerId, template);
    await payWith(page, card, /^Pay \$/);
    if (template === 'payment_action_required') await page.getByRole('button', { name: 'Confirm payment' }).click();
    await page.getByText('Your payment has been received').waitFor();
    assert.deepEqual(await paidAmounts(app, customerId), amounts, template);
  }
  const unconfirmed = await openLinkOf(waiting.customerId, 'payment_waiting');
  await unconfirmed.getByRole('button', { name: 'Confirm payment' }).click();
  await unconfirmed.waitForURL(`${shop.shop}/thanks`);
  assert.deepEqual(await paidAmounts(app, waiting.customerId), [3000]);
  await assertOpensPortal(limited, 'spend_limit_reached');
  await assertOpensPortal(toppedUp, 'top_up_action_required');

  const { invoiceLineItems } = await app.get(`/invoices/${invoice.id}`);
  const creditNote = { lines: [{ invoiceLineItemId: invoiceLineItems[0].id, amount: 5000 }], settle: 'balance' };
  await app.post(`/invoices/${invoice.id}/credit-notes`, { creditNote });
  await app.runJobs({ all: true });
  for (const template of ['receipt', 'credit_note_issued']) {
    const page = await openLinkOf(issued.customerId, template);
    assert.match(await page.locator('main').innerText(), /Workshop\s+\$450\.00/, template);
  }
});

async function idOfFeature(slug: string): Promise<string> {
  const { data } = await app.get(`/features?pricingModelId=${plans.pricingModelId}&limit=100`);
  return data.find((feature: Body) => feature.slug === slug).id;
}

/** Opens the link of an email that the customer has received. */
async function openLinkOf(customerId: string, template: string) {
  const { data } = await app.get(`/emails?customerId=${customerId}&template=${template}`);
  const received = inbox.received.find(({ messageId }) => messageId === `<${data[0]?.id}@acme.test>`);
  const [, link] = /href="([^"]+\?key=[^"]+)"/.exec(String(received?.html)) ?? [];
  assert(link, `${template} has a link`);
  const page = await openWindow();
  await page.goto(link.replaceAll('&amp;', '&'));
  return page;
}

async function assertOpensPortal({ customerId }: Body, template: string): Promise<void> {
  const page = await openLinkOf(customerId, template);
  assert.equal(page.url(), `${app.url}/portal`, template);
  assert(await page.getByRole('heading', { level: 1, name: 'Billing for Acme' }).isVisible(), template);
}

/** A customer on the free plan who uses more than its spend controls let pass. */
async function newSpender(token: string, spendControls: Body) {
  await app.setClock(day('2026-05-02'));
  const customer = await plans.newCustomer(token);
  await app.put(`/customers/${customer.externalId}/spend-controls`, { spendControls });
  const { data } = await app.get(`/subscriptions?customerId=${customer.customerId}`);
  const usage = { subscriptionId: data[0].id, priceSlug: 'call-overage', transactionId: data[0].id, amount: 25 };
  await app.post('/usage-events', { usageEvent: usage });
  return customer;
}

/** A buyer who left the page on which its bank asks. */
async function newWaiting() {
  const customer = await plans.newCustomer();
  const session = { type: 'product', customerExternalId: customer.externalId, priceSlug: 'pro-monthly' };
  const page = await openWindow();
  await page.goto((await shop.newSession(session)).url);
  await page.getByLabel('Country').selectOption({ label: 'France' });
  await payWith(page, '4000 0000 0000 3220', /^Pay \$/);
  await page.getByRole('button', { name: 'Confirm payment' }).waitFor();
  for (const hour of ['03', '06'])
    await app.put('/test-clock', { testClock: { now: Date.parse(`2026-05-02T${hour}:00:00Z`) } });
  return customer;
}

/** A customer whose renewal on 1 May could not be charged, by a card of this token. */
async function newDebtor(token: string) {
  await app.setClock(day('2026-04-01'));
  const customer = await plans.newCustomer('pm_card_visa');
  const { customerId } = customer;
  const { id } = await plans.subscribe({ customerId, priceId: plans.priceOf('pro-monthly').id });
  await app.post('/payment-methods', {
    paymentMethod: { customerId, token, default: true, automaticallyUpdateSubscriptions: true },
  });
  await app.setClock(day('2026-05-02'));
  await app.inEnvironment((work) => catchUp(work, id));
  await app.runJobs({ all: true });
  return customer;
}
