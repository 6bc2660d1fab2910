import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Role } from '../../src/kernel/permission.ts';
import { openBrowser, serveDashboard, signIn, visit } from '../support/dashboard-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { meter, newCustomer, plan } from '../support/shop.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const address = await serveDashboard(app);
const { page, errors } = await openBrowser();
const dialog = page.getByRole('dialog');
const percent = (code: string) => ({ name: '5 off', code, amount: 5, amountType: 'percent', duration: 'once' });

async function signInAs(role: Role) {
  await signIn(app, { page, errors, address }, role);
  errors.length = 0;
}

await signInAs('owner');

test('the address of the seller is written on several lines, and removed', async () => {
  await visit(page, '/settings');
  for (const [typed, stored] of [
    ['Ring 1\n\nWien\n', ['Ring 1', 'Wien']],
    ['', []],
  ] as const) {
    await page.getByRole('button', { name: 'Change seller' }).click();
    await dialog.getByLabel('Address', { exact: true }).fill(typed);
    await dialog.getByText('Address: ').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'hidden' });
    assert.deepEqual((await app.get('/settings')).settings.seller.addressLines, stored);
    await page
      .getByText(stored.join(', ') || 'Ring 1, Wien')
      .waitFor({ state: stored.length > 0 ? 'visible' : 'hidden' });
  }
});

test('each page of the discounts is shown', async () => {
  const { pricingModelId } = plans;
  for (let at = 0; at < 27; at++)
    await app.post('/discounts', {
      discount: { ...percent(`CODE${at}`), pricingModelId },
    });
  await visit(page, `/catalog?model=${pricingModelId}&tab=discounts`);
  const table = page.getByRole('table', { name: 'Discounts' });
  await table.getByText('CODE20', { exact: true }).waitFor();
  assert.equal(await table.getByText(/^CODE/).count(), 25);
  await page.getByRole('button', { name: 'Next page' }).click();
  await table.getByText('CODE26', { exact: true }).waitFor();
  assert.equal(await table.getByText(/^CODE/).count(), 2);
});

test('a change of the quantity keeps the other items at the price of the plan', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const { id } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  const priceId = plans.priceOf('pro-monthly').id;
  const [item] = (await app.get(`/subscriptions/${id}/details`)).subscription.subscriptionItems;
  await app.post(`/subscriptions/${id}/adjust`, {
    adjustment: {
      timing: 'immediately',
      newSubscriptionItems: [{ id: item.id }, { priceId, quantity: 3, externalId: 'team-b' }],
    },
  });
  await visit(page, `/subscriptions/${id}`);
  await page.getByRole('button', { name: 'Change plan' }).click();
  await dialog.getByLabel('Quantity').fill('2');
  await dialog.getByText('Each later period is $150.00.').waitFor();
  await dialog.getByRole('button', { name: 'Leave as it is' }).click();
});

test('a plan in arrears is said to be billed at the end of its first period', async () => {
  const { pricingModel } = await app.post('/pricing-models/setup', {
    name: 'Arrears',
    products: [plan('later', 3000, [], { product: { name: 'Later' }, billingTiming: 'in_arrears' })],
  });
  const { customerId } = await newCustomer(app, 'arrears', { token: 'pm_card_visa', pricingModelId: pricingModel.id });
  await visit(page, `/customers/${customerId}`);
  await page.getByRole('button', { name: 'Subscribe' }).click();
  await dialog.getByRole('combobox', { name: 'Plan' }).click();
  await page.getByRole('option', { name: /^Later/ }).click();
  await dialog.getByText(/^The first period is billed at its end, on /).waitFor();
  await dialog.getByRole('button', { name: 'Subscribe' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await app.get(`/invoices?customerId=${customerId}`)).total, 0);
});

test('a refund that follows another begins with what is left', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  const [payment] = (await app.get(`/payments?customerId=${customerId}`)).data;
  await visit(page, `/payments/${payment.id}`);
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  await dialog.getByLabel('Amount in USD').fill('20');
  await dialog.getByText('$10.00 of the payment is kept.').waitFor();
  await dialog.getByRole('button', { name: 'Refund', exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  assert.equal(await dialog.getByLabel('Amount in USD').inputValue(), '10');
  await dialog.getByRole('button', { name: 'Leave as it is' }).click();
});

test('an invoice is not written before the currency of its amounts is known', async () => {
  const { customerId } = await plans.newCustomer();
  await page.route('**/billing?*', (route) => route.fulfill({ status: 503, json: { message: 'x', code: 'X' } }));
  await visit(page, `/customers/${customerId}?tab=money`);
  await page.getByText('The service is busy').waitFor();
  await page.getByRole('heading', { name: 'Invoices' }).waitFor();
  assert.equal(await page.getByRole('button', { name: /Write an invoice|Change the balance/ }).count(), 0);
  await page.unroute('**/billing?*');
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await page.getByRole('button', { name: 'Write an invoice' }).waitFor();
  await page.getByRole('button', { name: 'Change the balance' }).waitFor();
  errors.length = 0;
});

test('a line of a draft keeps its time while another is changed', async () => {
  const { customerId } = await plans.newCustomer();
  const servicePeriod = { start: Date.UTC(2026, 0, 5, 10), end: Date.UTC(2026, 1, 5, 10) };
  const lines = [
    { description: 'Support', unitAmount: 1000, servicePeriod },
    { description: 'Training', unitAmount: 2000 },
  ];
  const { invoice } = await app.post('/invoices', { invoice: { customerId, lines } });
  await visit(page, `/invoices/${invoice.id}`);
  await page.getByRole('button', { name: 'Change', exact: true }).click();
  await dialog.getByLabel('Text of line 2').fill('Course');
  await dialog.getByRole('button', { name: 'Save the draft' }).click();
  await dialog.waitFor({ state: 'hidden' });
  const { invoiceLineItems } = await app.get(`/invoices/${invoice.id}`);
  assert.deepEqual(
    invoiceLineItems.map((line: Body) => [line.description, line.servicePeriod]),
    [
      ['Support', servicePeriod],
      ['Course', undefined],
    ],
  );
});

test('choices do not end with the first hundred', async () => {
  const numbers = Array.from({ length: 102 }, (_, at) => at + 1);
  const { pricingModel } = await app.post('/pricing-models/setup', {
    name: 'Wide',
    products: numbers.map((at) => plan(`plan-${at}`, 100 * at, [], { product: { name: `Plan ${at}` } })),
    usageMeters: numbers.map((at) => meter(`meter-${at}`, `Meter ${at}`, { slug: `use-${at}`, unitPrice: 1 })),
  });
  const { id: pricingModelId } = pricingModel;
  for (const at of numbers) await app.post('/discounts', { discount: { ...percent(`WIDE${at}`), pricingModelId } });
  const { customerId } = await newCustomer(app, 'wide', { token: 'pm_card_visa', pricingModelId });
  const { subscription } = await app.post('/subscriptions', { customerId, priceSlug: 'plan-1-monthly' });

  await visit(page, `/subscriptions/${subscription.id}`);
  await page.getByRole('button', { name: 'Put on a discount' }).click();
  await dialog.getByLabel('Code of the discount').fill('wide102');
  await dialog.getByText(/The next invoice, on .* with \$0\.05 off\./).waitFor();
  await dialog.getByRole('button', { name: 'Put it on' }).click();
  await page.getByText('WIDE102 5 off').waitFor();

  await visit(page, `/customers/${customerId}`);
  await page.getByRole('button', { name: 'Write an invoice' }).click();
  await dialog.getByRole('button', { name: 'Price, time and tax of line 1' }).click();
  await dialog.getByRole('combobox', { name: 'Price of line 1' }).fill('plan-102-monthly');
  await page.getByRole('option', { name: /plan-102-monthly/ }).click();
  await dialog.getByText('The draft comes to $102.00').waitFor();
  await dialog.getByRole('button', { name: 'Leave as it is' }).click();

  await visit(page, '/usage');
  await page.getByRole('combobox', { name: 'Usage meter' }).fill('Meter 102');
  await page.getByRole('option', { name: 'Meter 102' }).click();
  await page.getByText('"usageMeterSlug":"meter-102"').waitFor();
});

test('a part of a page that cannot be read says so', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const { id } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
  const failing = async (pattern: string, path: string, open?: () => Promise<void>) => {
    await page.route(pattern, (route) => route.fulfill({ status: 503, json: { message: 'x', code: 'X' } }));
    await page.goto(address + path);
    await open?.();
    await page.getByText('The service is busy').first().waitFor();
    await page.unroute(pattern);
  };
  await failing('**/entitlements?*', `/customers/${customerId}`);
  assert.equal(await page.getByRole('heading', { name: 'Features' }).count(), 0);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Features' }).waitFor();
  await failing('**/ledger?*asOf*', `/customers/${customerId}?tab=usage`);
  await failing('**/spend-controls?*', `/customers/${customerId}?tab=usage`);
  await failing('**/discounts', `/subscriptions/${id}`);
  await failing('**/pricing-models/*', `/subscriptions/${id}`, () =>
    page.getByRole('button', { name: 'Change plan' }).click(),
  );
  errors.length = 0;
});

test('whoever invites a developer or a supporter is told all that they may do', async () => {
  await visit(page, '/people');
  await page.getByRole('button', { name: 'Invite somebody' }).click();
  await dialog.getByLabel('E-mail address').fill('role@acme.test');
  for (const [role, words] of [
    ['Developer', /May then do: .*customers, subscriptions and usage.*keys, webhooks, the catalog/],
    ['Support', /May then do: .*cancels subscriptions, sends webhooks and emails again/],
  ] as const) {
    await dialog.getByRole('combobox', { name: 'Role' }).click();
    await page.getByRole('option', { name: role }).click();
    await dialog.getByText(words).waitFor();
  }
  await dialog.getByRole('button', { name: 'Leave as it is' }).click();
});

test('a viewer is not offered to put on or take off a discount', async () => {
  const { customerId } = await plans.newCustomer('pm_card_visa');
  const { id } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', discountCode: 'CODE1' });
  await visit(page, `/subscriptions/${id}`);
  await page.getByRole('button', { name: 'Take off CODE1' }).waitFor();
  await page.getByRole('button', { name: 'Put on a discount' }).waitFor();
  await signInAs('viewer');
  await visit(page, `/subscriptions/${id}`);
  await page.getByText('CODE1 5 off').waitFor();
  assert.equal(await page.getByRole('button', { name: /Take off|Put on/ }).count(), 0);
  assert.deepEqual(errors, []);
});

test('another catalog from an example leaves the one that came of it before as it is', async () => {
  await signInAs('owner');
  await visit(page, `/catalog?model=${plans.pricingModelId}`);
  const setUp = async () => {
    await page.getByRole('button', { name: 'Actions for the pricing model' }).click();
    await page.getByRole('menuitem', { name: 'Begin another from an example' }).click();
    await page.getByRole('button', { name: 'Set it up: Seats' }).click();
    await dialog.waitFor({ state: 'hidden' });
    return (await app.get('/pricing-models/default')).pricingModel;
  };
  const first = await setUp();
  const { pricingModel } = await app.get(`/pricing-models/${first.id}/export`);
  const team = pricingModel.products.find(({ product }: Body) => product.slug === 'team');
  team.price.unitPrice = 9900;
  await app.put(`/pricing-models/${first.id}`, { pricingModel });
  await page.reload();
  const second = await setUp();
  assert.notEqual(second.id, first.id);
  assert.deepEqual((await app.get(`/pricing-models/${first.id}/export`)).pricingModel.products, pricingModel.products);
});

test('a list that takes longer than half a minute is saved', async () => {
  await signInAs('owner');
  const { promise: waited, resolve: goOn } = Promise.withResolvers<void>();
  await page.route('**/exports/customers.csv', async (route) => {
    await waited;
    await route.fulfill({ contentType: 'text/csv', body: 'id\n' });
  });
  await page.clock.install();
  await page.goto(`${address}/customers`);
  const asked = page.waitForRequest('**/exports/customers.csv');
  await page.getByRole('button', { name: 'Save as CSV' }).click();
  await asked;
  for (let halfMinute = 0; halfMinute < 4; halfMinute++) {
    await page.clock.fastForward(31_000);
    await page.waitForTimeout(1000);
  }
  const saved = page.waitForEvent('download');
  goOn();
  assert.equal((await saved).suggestedFilename(), 'customers.csv');
  await page.unroute('**/exports/customers.csv');
  errors.length = 0;
});
