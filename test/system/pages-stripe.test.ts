import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openWindow } from '../support/browser.ts';
import { assertGood, openShop, paidAmounts } from '../support/pages-fixture.ts';
import { startStripeServer, stripeEvent } from '../support/stripe-server.ts';

const stripe = await startStripeServer();
const shop = await openShop({ services: stripe.services });
const { app, plans } = shop;

/**
 * A stand-in for Stripe's script, as far as our own uses it. The payment method is the token that stands in its only
 * field, and the bank asks by a dialog.
 */
const stripeScript = `
window.Stripe = (key) => ({
  elements: ({ mode, currency, paymentMethodTypes: kinds }) => ({
    create: () => {
      let failed;
      return {
        on(event, call) { failed = call; },
        destroy() {},
        mount(place) {
          if (window.hasNoDebits && kinds.length > 1) { failed({ error: { message: 'Not activated.' } }); return; }
          place.innerHTML = '<label>' + [key, mode, currency].join(' ') + ' <input id="card"></label><p>' + kinds.join(', ') + '</p>';
        },
      };
    },
    submit: async () => (document.getElementById('card').value === '' ? { error: { message: 'Your card number is incomplete.' } } : {}),
  }),
  createPaymentMethod: async () => {
    const [id, type = 'card'] = document.getElementById('card').value.split(' ');
    return { paymentMethod: { id, type } };
  },
  handleNextAction: async ({ clientSecret }) => {
    const answer = await fetch('https://api.stripe.com/answer', {
      method: 'POST', body: JSON.stringify({ clientSecret, confirms: window.confirm('Is this you?') }),
    });
    const { message } = await answer.json();
    return message === null ? {} : { error: { message } };
  },
});`;

/** The next answers to the bank's questions; after them it is confirmed. */
type Answers = boolean[];

async function openWithScript(url: string, answers: Answers = [], script = ''): Promise<Page> {
  const page = await openWindow({ javaScript: true });
  await page.addInitScript(script);
  await page.route('https://js.stripe.com/**', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: stripeScript }),
  );
  await page.route('https://api.stripe.com/answer', (route) => {
    const { clientSecret, confirms } = route.request().postDataJSON();
    const message = stripe.objects.answerBank(clientSecret, confirms);
    return route.fulfill({ json: { message }, headers: { 'access-control-allow-origin': '*' } });
  });
  page.on('dialog', (dialog) => ((answers.shift() ?? true) ? dialog.accept() : dialog.dismiss()));
  await page.goto(url);
  return page;
}

const payButton = (page: Page) => page.getByRole('button', { name: /^Pay / });
const cardField = (page: Page) => page.getByLabel('pk_test_standin setup usd');

/** Opens a checkout of the monthly plan, 30.00, up to the card. */
async function openPayment(answers: Answers = []) {
  const { externalId, customerId } = await plans.newCustomer();
  const priceId = plans.priceOf('pro-monthly').id;
  const { id, url } = await shop.newSession({ type: 'product', customerExternalId: externalId, priceId });
  const page = await openWithScript(url, answers);
  await page.getByLabel('Country').selectOption({ label: 'Germany' });
  const pay = async (token: string) => {
    await cardField(page).fill(token);
    await payButton(page).click();
  };
  return { page, pay, id, url, customerId };
}

test("Stripe's own form takes the card: the number never comes here, and a declined one can be tried again", async () => {
  const { page, pay, id, customerId } = await openPayment();
  await pay('');
  await page.getByText('Your card number is incomplete.').waitFor();
  await pay('pm_card_chargeDeclined');
  await page.getByText('you were not charged').waitFor();
  assert.equal((await shop.session(id)).status, 'open');
  await pay('pm_card_visa');
  await page.waitForURL(`${shop.shop}/thanks`);
  assert.equal((await shop.session(id)).status, 'succeeded');
  assert.deepEqual(await paidAmounts(app, customerId), [3000]);
});

test('the button waits for the form of Stripe, and says so when that cannot be loaded', async () => {
  const { externalId } = await plans.newCustomer();
  const { url } = await shop.newSession({ type: 'add_payment_method', customerExternalId: externalId });
  const page = await openWindow({ javaScript: true });
  const { promise: loading, resolve: load } = Promise.withResolvers<void>();
  await page.route('https://js.stripe.com/**', async (route) => {
    await loading;
    await route.abort();
  });
  await page.goto(url, { waitUntil: 'commit' });
  const button = page.getByRole('button', { name: 'Save card' });
  await button.waitFor();
  assert.equal(await button.isDisabled(), true);
  load();
  await page.getByText('could not be loaded').waitFor();
  assert.equal(await button.isDisabled(), true);
});

describe('a card that its holder has to confirm to the bank', () => {
  test('a card that its holder has to confirm to the bank is kept and charged once that is done', async () => {
    const { page, pay, id, customerId } = await openPayment();
    await pay('pm_card_threeDSecure2Required');
    await page.waitForURL(`${shop.shop}/thanks`);
    assert.equal((await shop.session(id)).status, 'succeeded');
    assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  });

  test('a card that its holder has to confirm to the bank is not charged while it is not, and can be tried again', async () => {
    const { page, pay, id, customerId } = await openPayment([false]);
    await pay('pm_card_threeDSecure2Required');
    await page.getByText('You did not confirm it to your bank.').waitFor();
    await assertGood(page);
    assert.equal((await shop.session(id)).status, 'open');
    await pay('pm_card_threeDSecure2Required');
    await page.waitForURL(`${shop.shop}/thanks`);
    assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  });

  test('a card that its holder has to confirm to the bank may be declined all the same, and another one pays', async () => {
    const { page, pay, customerId } = await openPayment();
    await pay('pm_card_threeDSecureRequiredChargeDeclined');
    await page.getByText('Your card was declined.').waitFor();
    await pay('pm_card_visa');
    await page.waitForURL(`${shop.shop}/thanks`);
    assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  });

  test('a card that its holder has to confirm to the bank is confirmed by a buyer whom nobody knew before, too', async () => {
    const priceId = plans.priceOf('pro-monthly').id;
    const { id, url } = await shop.newSession({ type: 'product', anonymous: true, priceId });
    const page = await openWithScript(url);
    await page.getByLabel('Name').fill('Ada');
    await page.getByLabel('Email').fill('ada@acme.test');
    await page.getByLabel('Country').selectOption({ label: 'Germany' });
    await cardField(page).fill('pm_card_threeDSecure2Required');
    await payButton(page).click();
    await page.waitForURL(`${shop.shop}/thanks`);
    const { customerId } = await shop.session(id);
    assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  });

  test('a card that its holder has to confirm to the bank is added in the portal', async () => {
    const { externalId } = await plans.newCustomer();
    const page = await openWithScript(await shop.portal(externalId), [false]);
    await page.getByRole('link', { name: 'Add a card' }).click();
    for (const end of [page.getByText('You did not confirm it to your bank.'), page.getByText('Visa ending in 4242')]) {
      await cardField(page).fill('pm_card_threeDSecure2Required');
      await page.getByRole('button', { name: 'Save card' }).click();
      await end.waitFor();
    }
    assert.equal((await shop.billing(externalId)).paymentMethods.length, 1);
  });
});

describe('a charge that the bank asks to confirm', () => {
  const confirm = (page: Page) => page.getByRole('button', { name: 'Confirm payment' });

  test('a charge that the bank asks to confirm is made when the buyer has confirmed it', async () => {
    const { page, pay, id, customerId } = await openPayment();
    await pay('pm_card_authenticationRequired');
    await confirm(page).waitFor();
    await assertGood(page);
    assert.equal((await shop.session(id)).status, 'pending');
    assert.deepEqual(await paidAmounts(app, customerId), []);
    await confirm(page).click();
    await page.waitForURL(`${shop.shop}/thanks`);
    assert.equal((await shop.session(id)).status, 'succeeded');
    assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  });

  test('a charge that the bank asks to confirm is not made when the buyer does not confirm it, and another card pays', async () => {
    const { page, pay, id, customerId, url } = await openPayment([false]);
    await pay('pm_card_authenticationRequired');
    await confirm(page).click();
    await page.getByText('You did not confirm it to your bank.').waitFor();
    assert.equal((await shop.session(id)).status, 'open');
    await page.goto(url);
    await cardField(page).fill('pm_card_visa');
    await payButton(page).click();
    await page.waitForURL(`${shop.shop}/thanks`);
    assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  });

  test('a charge that the bank asks to confirm waits for whoever left and comes back', async () => {
    const { page, pay, id, url, customerId } = await openPayment();
    await pay('pm_card_authenticationRequired');
    await confirm(page).waitFor();
    await page.close();
    const later = await openWithScript(url);
    await confirm(later).click();
    await later.waitForURL(/thanks|checkout/);
    await later.getByText(/complete|Shop/).waitFor();
    assert.equal((await shop.session(id)).status, 'succeeded');
    assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  });

  test('a charge that the bank asks to confirm of a subscription that waits for its first payment activates it', async () => {
    const { externalId, customerId } = await plans.newCustomer();
    const waiting = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
    const { url } = await shop.newSession({
      type: 'activate_subscription',
      customerExternalId: externalId,
      targetSubscriptionId: waiting.id,
    });
    const page = await openWithScript(url);
    await page.getByLabel('Country').selectOption({ label: 'Germany' });
    await cardField(page).fill('pm_card_authenticationRequired');
    await payButton(page).click();
    await confirm(page).click();
    await page.waitForURL(`${shop.shop}/thanks`);
    assert.equal((await plans.subscription(waiting.id)).status, 'active');
    assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  });

  test('a charge that the bank asks to confirm of a change of plan is confirmed in the portal', async () => {
    const { externalId, customerId } = await plans.newCustomer('pm_card_visa');
    await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
    const month = { intervalUnit: 'month', intervalCount: 1, isDefault: true, active: true };
    await app.post('/products', {
      product: { name: 'Max', slug: 'max', pricingModelId: plans.pricingModelId, active: true },
      price: { type: 'subscription', slug: 'max-monthly', name: 'Monthly', unitPrice: 6000, ...month },
    });
    const before = await paidAmounts(app, customerId);
    const page = await openWithScript(await shop.portal(externalId));
    await page.getByRole('link', { name: 'Add a card' }).click();
    await cardField(page).fill('pm_card_authenticationRequired');
    await page.getByRole('button', { name: 'Save card' }).click();
    await page.getByText('Your payment method has been saved.').waitFor();
    await page.getByRole('link', { name: 'Change plan' }).click();
    await page.getByRole('button', { name: 'Choose Max' }).click();
    await page.getByRole('button', { name: /^Pay .* and change plan$/ }).click();
    await assertGood(page);
    await confirm(page).click();
    await page.getByText('Your payment was successful').waitFor();
    const paid = await paidAmounts(app, customerId);
    assert.equal(paid.length, before.length + 1);
    const { currentSubscription } = await shop.billing(externalId);
    assert.equal(currentSubscription.subscriptionItems[0].price.slug, 'max-monthly');
  });
});

describe('bank debits, where the seller takes them', () => {
  const takeDebits = (bankDebits: boolean) => app.put('/settings', { settings: { bankDebits } });
  before(() => takeDebits(true));
  after(() => takeDebits(false));

  test('a bank debit is agreed to on the page, is processing at first, and starts the plan when its money comes', async () => {
    const { page, pay, id, customerId } = await openPayment();
    await page.getByText('card, us_bank_account').waitFor();
    // Stripe's form makes the payment method, which has an id of its own.
    const { id: token } = stripe.objects.createMethod('pm_usBankAccount_success');
    await pay(`${token} us_bank_account`);
    await page.getByText('Your payment is being processed').first().waitFor();
    assert.equal((await shop.session(id)).status, 'pending');
    const { mandate_data: mandate, payment_method_options: options } = stripe.objects.setupParams.at(-1) as never;
    const { customer_acceptance: acceptance } = mandate as {
      customer_acceptance: Record<string, Record<string, string>>;
    };
    assert.equal(acceptance.type, 'online');
    assert.deepEqual(
      [acceptance.online?.ip_address, options],
      ['127.0.0.1', { us_bank_account: { verification_method: 'instant' } }],
    );
    assert.match(acceptance.online?.user_agent ?? '', /Chrome/);
    const { data } = await app.get(`/payments?customerId=${customerId}`);
    assert.deepEqual([data[0].status, data[0].paymentMethod], ['processing', 'us_bank_account']);
    const [intent] = [...stripe.objects.intents.values()].filter(({ metadata }) => metadata.payment_id === data[0].id);
    assert(intent);
    stripe.objects.succeed(intent.id);
    await stripe.send(app.url, stripeEvent('payment_intent.succeeded', intent));
    await app.runJobs();
    assert.equal((await shop.session(id)).status, 'succeeded');
    assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  });

  test('an account of Stripe without bank debits still takes cards, and of a card buyer no address is kept', async () => {
    const { externalId, customerId } = await plans.newCustomer();
    const { url } = await shop.newSession({ type: 'add_payment_method', customerExternalId: externalId });
    const page = await openWithScript(url, [], 'window.hasNoDebits = true');
    await page.getByRole('button', { name: 'Save payment method' }).waitFor();
    await cardField(page).fill('pm_card_visa');
    await page.getByRole('button', { name: 'Save payment method' }).click();
    await page.waitForURL(`${shop.shop}/thanks`);
    const attachments = await app.owner
      .selectFrom('paymentMethodAttachments')
      .select('request')
      .where('customerId', '=', customerId)
      .execute();
    assert.equal(JSON.stringify(attachments).includes('ipAddress'), false);
  });
});

test('only the page with the card loads from Stripe, and from nobody else', async () => {
  const { externalId } = await plans.newCustomer();
  const { url } = await shop.newSession({ type: 'add_payment_method', customerExternalId: externalId });
  const policy = (await fetch(url)).headers.get('content-security-policy') ?? '';
  assert.match(
    policy,
    /default-src 'none';.*script-src https:\/\/js\.stripe\.com 'self' https:\/\/\*\.js\.stripe\.com;/,
  );
  // A plan of nothing asks for no card.
  const priceId = plans.priceOf('community').id;
  const free = await shop.newSession({ type: 'product', anonymous: true, priceId });
  assert.doesNotMatch((await fetch(free.url)).headers.get('content-security-policy') ?? '', /stripe|script-src/);
});

test('a card is added in the portal by the same form', async () => {
  const { externalId } = await plans.newCustomer();
  const page = await openWithScript(await shop.portal(externalId));
  await page.getByRole('link', { name: 'Add a card' }).click();
  await cardField(page).fill('pm_card_visa');
  await page.getByRole('button', { name: 'Save card' }).click();
  await page.waitForURL(`${app.url}/portal?done=added`);
  assert.match(await page.locator('main').innerText(), /Visa ending in 4242/);
});
