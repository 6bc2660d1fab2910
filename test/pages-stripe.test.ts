import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { openWindow } from './browser.ts';
import { openShop, paidAmounts } from './pages-fixture.ts';
import { startStripeServer } from './stripe-server.ts';

const stripe = await startStripeServer();
const shop = await openShop({ outside: stripe.outside });
const { app, plans } = shop;

/** A stand-in for Stripe's script, as far as our own uses it. It gives the token that stands in its only field. */
const stripeScript = `
window.Stripe = (key) => ({
  elements: ({ mode, currency }) => ({
    create: () => ({ mount(place) { place.innerHTML = '<label>' + [key, mode, currency].join(' ') + ' <input id="card"></label>'; } }),
    submit: async () => (document.getElementById('card').value === '' ? { error: { message: 'Your card number is incomplete.' } } : {}),
  }),
  createPaymentMethod: async () => ({ paymentMethod: { id: document.getElementById('card').value } }),
});`;

async function openWithScript(url: string): Promise<Page> {
  const page = await openWindow({ javaScript: true });
  await page.route('https://js.stripe.com/**', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: stripeScript }),
  );
  await page.goto(url);
  return page;
}

test("Stripe's own form takes the card: the number never comes here, and a declined one can be tried again", async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const priceId = plans.priceOf('pro-monthly').id;
  const { id, url } = await shop.newSession({ type: 'product', customerExternalId: externalId, priceId });
  const page = await openWithScript(url);
  await page.getByLabel('Country').selectOption({ label: 'Germany' });
  await page.getByRole('button', { name: 'Continue to payment' }).click();
  const card = page.getByLabel('pk_test_standin setup usd');
  const pay = page.getByRole('button', { name: 'Pay USD 30.00' });
  await pay.click();
  await page.getByText('Your card number is incomplete.').waitFor();
  await card.fill('pm_card_chargeDeclined');
  await pay.click();
  await page.getByText('nothing was charged').waitFor();
  assert.equal((await shop.session(id)).status, 'open');
  await card.fill('pm_card_visa');
  await pay.click();
  await page.waitForURL(`${shop.shop}/thanks`);
  assert.equal((await shop.session(id)).status, 'succeeded');
  assert.deepEqual(await paidAmounts(app, customerId), [3000]);
});

test('only the page with the card loads from Stripe, and from nobody else', async () => {
  const { externalId } = await plans.newCustomer();
  const { url } = await shop.newSession({ type: 'add_payment_method', customerExternalId: externalId });
  const policy = (await fetch(url)).headers.get('content-security-policy') ?? '';
  assert.match(policy, /default-src 'none';.*script-src https:\/\/js\.stripe\.com 'self';/);
  const priceId = plans.priceOf('pro-monthly').id;
  const first = await shop.newSession({ type: 'product', customerExternalId: externalId, priceId });
  assert.doesNotMatch((await fetch(first.url)).headers.get('content-security-policy') ?? '', /stripe|script-src/);
});

test('a card is added in the portal by the same form', async () => {
  const { externalId } = await plans.newCustomer();
  const page = await openWithScript(await shop.portal(externalId));
  await page.getByRole('link', { name: 'Add a card' }).click();
  await page.getByLabel('pk_test_standin setup usd').fill('pm_card_visa');
  await page.getByRole('button', { name: 'Save card' }).click();
  await page.waitForURL(`${app.url}/portal?done=added`);
  assert.match(await page.locator('main').innerText(), /Visa ending in 4242/);
});
