import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser, serveDashboard, visit } from '../support/dashboard-fixture.ts';
import { startTestApp } from '../support/harness.ts';
import { personWith } from '../support/people-fixture.ts';
import { setUpPlans } from '../support/plans.ts';

// A currency with two decimals, which browsers show without any.
const app = await startTestApp();
await app.put('/settings', { settings: { currency: 'HUF' } });
const plans = await setUpPlans(app);
const { customerId } = await plans.newCustomer('pm_card_visa');
await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
const [payment] = (await app.get(`/payments?customerId=${customerId}`)).data;
const address = await serveDashboard(app);
const { page, errors } = await openBrowser();
const { browser } = await personWith(app, 'owner');
await page
  .context()
  .addCookies([...browser.cookies].map(([name, value]) => ({ name, value, url: address, httpOnly: true })));
await page.goto(`${address}/api-keys`);

test('amounts are shown and taken with the decimals by which the service counts them', async () => {
  assert.deepEqual([payment.amount, payment.currency], [3000, 'HUF']);
  await visit(page, `/payments/${payment.id}`);
  await page.getByRole('heading', { name: /^Payment of HUF\s30\.00$/ }).waitFor();
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  const dialog = page.getByRole('dialog');
  assert.equal(await dialog.getByLabel('Amount in HUF').inputValue(), '30');
  await dialog.getByLabel('Amount in HUF').fill('12');
  await dialog.getByText(/^HUF\s18\.00 of the payment is kept\.$/).waitFor();
  await dialog.getByRole('button', { name: 'Leave as it is' }).click();
  assert.deepEqual(errors, []);
});

test('an amount with decimals is taken as somebody types it', async () => {
  await visit(page, `/payments/${payment.id}`);
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  const dialog = page.getByRole('dialog');
  const field = dialog.getByLabel('Amount in HUF');
  for (const [typed, read, kept] of [
    ['12.50', '12.50', '17.50'],
    ['0.05', '0.05', '29.95'],
    ['7.00', '7.00', '23.00'],
  ] as const) {
    await field.fill('');
    await field.pressSequentially(typed);
    assert.equal(await field.inputValue(), read);
    await dialog.getByText(new RegExp(`^HUF\\s${kept} of the payment is kept\\.$`)).waitFor();
  }
  await dialog.getByRole('button', { name: 'Refund', exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await app.get(`/payments/${payment.id}`)).payment.refundedAmount, 700);
  assert.deepEqual(errors, []);
});
