import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFirstLink } from '../../src/people/actions.ts';
import { assertGoodPage, openBrowser, serveDashboard, visit } from '../support/dashboard-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const { customerId } = await plans.newCustomer('pm_card_visa');
await plans.subscribe({ customerId, priceSlug: 'pro-monthly' });
const address = await serveDashboard(app);

test('the page allows no script and no style but its own', async () => {
  const answer = await fetch(address, { headers: { accept: 'text/html' } });
  const policy = answer.headers.get('content-security-policy') ?? '';
  const nonce = /'nonce-([\w-]+)'/.exec(policy)?.[1] ?? '';
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self' 'nonce-/);
  assert.doesNotMatch(policy, /unsafe/);
  const html = await answer.text();
  assert.ok(html.includes(`nonce="${nonce}"`) && !html.includes('NONCE'));
  assert.ok(!(await fetch(address)).headers.get('content-security-policy')?.includes(nonce), 'each nonce is new');
});

test('assets are compressed, and kept for a year', async () => {
  const html = await (await fetch(address)).text();
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1];
  for (const encoding of ['br', 'gzip']) {
    const answer = await fetch(address + script, { headers: { 'accept-encoding': encoding } });
    assert.equal(answer.headers.get('content-encoding'), encoding);
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.match(await answer.text(), /createRoot|import/);
  }
  assert.equal((await fetch(`${address}/assets/nothing.js`, { headers: { accept: 'text/html' } })).status, 404);
});

test('a deep link is answered with the page, and an unknown path of the API is not', async () => {
  const browser = { headers: { accept: 'text/html,*/*' } };
  assert.match(await (await fetch(`${address}/customers/cus_1`, browser)).text(), /id="root"/);
  for (const path of ['/api/v1/nothing', '/api/nothing', '/checkout/nothing/else/here', '/docs/nothing']) {
    const answer = await fetch(address + path, browser);
    assert.equal(answer.status, 404, path);
    assert.doesNotMatch(await answer.text(), /id="root"/, path);
  }
  assert.equal((await fetch(`${address}/customers/cus_1`)).status, 404, 'a program is told that there is nothing');
});

const password = 'correct horse battery';
const { page, errors } = await openBrowser();

test('the first link makes an owner, who signs out, and is asked for a password by a link', async () => {
  const path = await createFirstLink(app.owner, Date.now());
  await page.goto(`${address}${path}`);
  await page.getByLabel('Name').fill('Ada');
  await page.getByLabel('E-mail address').fill('ada@acme.test');
  await page.getByRole('textbox', { name: 'Password' }).fill(password);
  await assertGoodPage(page, 'join');
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByRole('button', { name: 'Signed in as Ada' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(`${address}/sign-in`);

  await page.goto(`${address}/?day=today`);
  await page.waitForURL(`${address}/sign-in?next=${encodeURIComponent('/?day=today')}`);
  await page.getByLabel('E-mail address').fill('ada@acme.test');
  await page.getByRole('textbox', { name: 'Password' }).fill(password);
  await assertGoodPage(page, 'sign-in');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${address}/?day=today`);
  // A browser notes each 401 as an error.
  assert.deepEqual(
    errors.filter((error) => !error.includes('401')),
    [],
  );
  errors.length = 0;
});

test('the frame shows test mode, and the keyboard finds a page', async () => {
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  assert.equal(await page.locator('.mode').innerText(), 'Test');
  await assertGoodPage(page, 'home');
  await page.keyboard.press('Control+k');
  await page.getByPlaceholder('Search customers').fill('hom');
  await page.getByRole('button', { name: /Home/ }).waitFor();
  const [invoice] = (await app.get(`/invoices?customerId=${customerId}`)).data;
  await page.getByPlaceholder('Search customers').fill(invoice.invoiceNumber.toLowerCase());
  await page.getByRole('button', { name: new RegExp(invoice.invoiceNumber) }).waitFor();
  await page.getByPlaceholder('Search customers').fill('customer-1');
  await page.getByText('Customers', { exact: true }).last().waitFor();
  await assertGoodPage(page, 'search');
  await page.getByRole('dialog', { name: 'Search' }).getByRole('button', { name: /Acme/ }).first().click();
  await page.waitForURL(`${address}/customers/${customerId}`);
});

test('a change of somebody else is shown without a reload, until the person signs out', async () => {
  const { page: other, errors: otherErrors } = await openBrowser({ isLive: true });
  await other.context().addCookies(await page.context().cookies());
  const begun = other.waitForResponse((response) => response.url().includes('/api/v1/changes?'));
  await other.goto(`${address}/customers/${customerId}`);
  assert.equal((await begun).status(), 200);
  await app.put('/customers/customer-1', { customer: { externalId: 'customer-1', name: 'Acme of Berlin' } });
  await other.getByRole('heading', { name: 'Acme of Berlin' }).waitFor();
  await app.put('/customers/customer-1', { customer: { externalId: 'customer-1', name: 'Acme' } });
  await other.getByRole('heading', { name: 'Acme', exact: true }).waitFor();

  await other.getByRole('link', { name: 'Usage', exact: true }).click();
  await other.getByRole('switch', { name: 'Live' }).press(' ');
  await other.getByText('Live. New events appear here').waitFor();
  const usage = { customerExternalId: 'customer-1', usageMeterSlug: 'api-calls', transactionId: 'live', amount: 1234 };
  await app.post('/usage-events', { usageEvent: usage });
  await other.getByRole('table', { name: 'Usage events' }).getByText('1,234').waitFor();
  await other.getByText('Customer', { exact: true }).first().click();
  await other.getByRole('table', { name: 'Usage', exact: true }).getByText('customer-1').waitFor();
  assert.deepEqual(otherErrors, []);
  await other.context().close();
});

test('30.00 are explained, and 10.00 of them refunded after a look at the effects', async () => {
  await visit(page, '/customers');
  await page.getByRole('cell', { name: 'customer-1' }).waitFor();
  await assertGoodPage(page, 'customers');
  await page.getByRole('link', { name: 'Acme' }).click();
  await page.getByRole('heading', { name: 'Pro' }).waitFor();
  await assertGoodPage(page, 'customer');
  await page.getByRole('tab', { name: 'Usage' }).click();
  await page.getByRole('heading', { name: 'Ledger of credits' }).waitFor();
  await assertGoodPage(page, 'customer-usage');
  await page.getByRole('tab', { name: 'Money' }).click();
  await page.getByRole('table', { name: 'Invoices' }).getByRole('link').first().click();
  await page.getByRole('button', { name: /\$30\.00/ }).click();
  const drawer = page.getByRole('dialog');
  await drawer.getByText('$30.00 for each').waitFor();
  await assertGoodPage(page, 'explain');
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'hidden' });

  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Amount in USD').fill('10');
  await dialog.getByText('$20.00 of the payment is kept.').waitFor();
  await assertGoodPage(page, 'refund');
  const [payment] = (await app.get(`/payments?customerId=${customerId}`)).data;
  assert.equal(payment.refundedAmount, null, 'a look refunds nothing');
  await dialog.getByRole('button', { name: 'Refund', exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await app.get(`/payments/${payment.id}`)).payment.refundedAmount, 1000);
  assert.deepEqual(errors, []);
});

test('a subscription shows its next invoice, is paused after a look at what is lost, and goes on', async () => {
  await visit(page, '/subscriptions');
  await page.getByRole('link', { name: 'Pro' }).first().click();
  await page.getByRole('heading', { name: /Next invoice, on/ }).waitFor();
  await page.getByRole('table', { name: 'Lines of the next invoice' }).getByText('$30.00').waitFor();
  await assertGoodPage(page, 'subscription');
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('dialog').getByText('Nothing is billed until somebody resumes it.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  await page.getByRole('button', { name: 'Change plan' }).click();
  await page.getByRole('dialog').getByLabel('Quantity').fill('2');
  await page.getByText('is invoiced and collected for this period').waitFor();
  await assertGoodPage(page, 'change-plan');
  await page.getByRole('button', { name: 'Leave as it is' }).click();
  await page.getByRole('table', { name: 'Payments' }).getByRole('link').first().click();
  await page.getByRole('heading', { name: /^Payment of/ }).waitFor();
  await assertGoodPage(page, 'payment');
  // While it is paused there is no next invoice, which a browser notes as an error.
  assert.deepEqual(
    errors.filter((error) => !error.includes('400')),
    [],
  );
  errors.length = 0;
});

test('5.00 of a line are credited to the balance, with a look at the line before', async () => {
  await visit(page, '/invoices');
  await page.getByRole('link', { name: /-/ }).first().click();
  await page.getByRole('button', { name: 'Credit', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Balance', { exact: true }).click();
  await dialog.getByRole('checkbox').first().check();
  await dialog.getByLabel(/Amount of/).fill('5');
  await dialog.getByText("$5.00 is added to the customer's balance").waitFor();
  await assertGoodPage(page, 'credit');
  await dialog.getByRole('button', { name: 'Make the credit note' }).click();
  await page.getByRole('heading', { name: /^Credit note/ }).waitFor();
  await page.getByRole('button', { name: /\$5\.00/ }).click();
  await page.getByText('Credited here').waitFor();
  await assertGoodPage(page, 'credit-note');
  await page.keyboard.press('Escape');
  const [balance] = (await app.get(`/customer-balances?customerId=${customerId}`)).data;
  assert.equal(balance.balance, 500);
  // The whole line is more than what was not refunded: its dry run is refused, unless the 5.00 are typed before it is sent.
  assert.deepEqual(
    errors.filter((error) => !error.includes('400')),
    [],
  );
  errors.length = 0;
});

test('an invoice is written as a draft, finalized with a number, and paid by the balance first', async () => {
  await visit(page, `/customers/${customerId}?tab=money`);
  await page.getByRole('button', { name: 'Write an invoice' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Text of line 1').fill('Training');
  await dialog.getByLabel('Quantity of line 1').fill('2');
  await dialog.getByLabel('Amount of one of line 1').fill('40');
  await dialog.getByText('The draft comes to $80.00').waitFor();
  await assertGoodPage(page, 'draft');
  await dialog.getByRole('button', { name: 'Save the draft' }).click();
  await page.getByRole('button', { name: 'Finalize' }).click();
  await dialog.getByText("The customer's balance pays $5.00 of it.").waitFor();
  await dialog.getByRole('button', { name: 'Finalize' }).click();
  await page.getByRole('button', { name: 'Record a payment' }).waitFor();
  await assertGoodPage(page, 'invoice');
  await visit(page, `/customers/${customerId}?tab=money`);
  await page.getByRole('heading', { name: 'Balance' }).waitFor();
  await page.getByRole('button', { name: 'Portal' }).click();
  await page.getByRole('button', { name: 'Make the link' }).click();
  await page.getByRole('link', { name: 'View as the customer' }).waitFor();
  await page.keyboard.press('Escape');
  assert.deepEqual(errors, []);
});

test('a draft gets a line without tax, keeps it while its terms change, and gives it back', async () => {
  const lines = [{ description: 'Deposit', unitAmount: 2000, taxable: false }];
  const { invoice } = await app.post('/invoices', { invoice: { customerId, lines, netTermsDays: 9 } });
  await visit(page, '/drafts');
  await page.getByRole('heading', { name: 'Drafts to review' }).waitFor();
  await assertGoodPage(page, 'drafts');
  await page.getByRole('button', { name: 'Add lines' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Price, time and tax of line 1' }).click();
  await dialog.getByLabel('Text of line 1').fill('Stamp duty');
  await dialog.getByLabel('Amount of one of line 1').fill('5');
  await dialog.getByLabel('Bears tax').uncheck();
  await dialog.getByText('The draft comes to $25.00').waitFor();
  await assertGoodPage(page, 'draft-lines');
  await dialog.getByRole('button', { name: 'Add to the draft' }).click();
  await visit(page, `/invoices/${invoice.id}`);
  await page.getByRole('button', { name: 'Change' }).click();
  await dialog.getByLabel('Text of line 2').fill('Stamp');
  await dialog.getByLabel('Memo').fill('Thank you.');
  await dialog.getByText('The draft comes to $25.00').waitFor();
  await dialog.getByRole('button', { name: 'Save the draft' }).click();
  await page.getByText('Stamp, without tax').waitFor();
  await assertGoodPage(page, 'invoice-draft');
  await page.getByRole('button', { name: 'Take off Stamp' }).click();
  await dialog.getByText('The draft comes to $20.00').waitFor();
  await dialog.getByRole('button', { name: 'Take it off' }).click();
  await page.getByText('Stamp, without tax').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Metadata' }).click();
  await dialog.getByRole('button', { name: 'Add entry' }).click();
  await dialog.getByLabel('Name of entry 1').fill('deal');
  await dialog.getByLabel('Value of entry 1').fill('d-1');
  await dialog.getByText('deal: none → d-1').waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The metadata is saved').waitFor();
  const { invoice: changed, invoiceLineItems } = await app.get(`/invoices/${invoice.id}`);
  assert.deepEqual([changed.memo, changed.netTermsDays, changed.metadata], ['Thank you.', 9, { deal: 'd-1' }]);
  assert.deepEqual(
    invoiceLineItems.map(({ description, taxable }: Body) => [description, taxable]),
    [['Deposit', false]],
  );
  // A page that still showed it would ask for what is gone.
  await visit(page, '/drafts');
  await app.request('DELETE', `/invoices/${invoice.id}`);
  assert.deepEqual(errors, []);
});

test('the billing terms of a customer are changed after a look at each of them', async () => {
  await visit(page, `/customers/${customerId}`);
  await page.getByRole('button', { name: 'Change the billing terms' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Days to pay').fill('45');
  await dialog.getByLabel('Tax id', { exact: true }).fill('ATU1');
  await dialog.getByLabel('Order number').fill('PO-7');
  await dialog.getByText('Days to pay: As the settings say → 45 days').waitFor();
  await assertGoodPage(page, 'terms');
  await dialog.getByRole('button', { name: 'Save the terms' }).click();
  await page.getByText('The terms are saved').waitFor();
  await assertGoodPage(page, 'customer-terms');
  const [customer] = (await app.get(`/customers?ids=${customerId}`)).data;
  assert.deepEqual(customer.billingTerms, { netTermsDays: 45, taxId: 'ATU1', purchaseOrderNumber: 'PO-7' });
  assert.deepEqual(errors, []);
});

test('a customer gets a spend limit, and is shown how much of it is used', async () => {
  await visit(page, `/customers/${customerId}?tab=usage`);
  await page.getByRole('button', { name: 'Change the spend limits' }).click();
  await page.getByRole('button', { name: 'Add a limit' }).click();
  await page.getByLabel('Most').fill('1500');
  await assertGoodPage(page, 'limits');
  await page.getByRole('button', { name: 'Set the limits' }).click();
  await page.getByText('0 of 1,500, set by you').waitFor();
  await assertGoodPage(page, 'spend-controls');
  assert.deepEqual(errors, []);
});

test('a page that cannot be shown says why, and what to do next', async () => {
  await visit(page, '/payments/pym_nothing');
  await page.getByRole('heading', { name: 'There is no such record' }).waitFor();
  await assertGoodPage(page, 'not-found');
  await page.getByRole('link', { name: 'Go to Payments' }).click();
  await page.getByRole('heading', { name: 'Payments' }).waitFor();

  const failing = '**/api/v1/invoices/*';
  const answer = (status: number, code: string) =>
    page.route(failing, (route) =>
      route.fulfill({ status, json: { message: 'x', code }, headers: { 'x-request-id': 'req_1' } }),
    );
  for (const [status, code, title] of [
    [403, 'FORBIDDEN', 'Your role does not allow this'],
    [500, 'INTERNAL_SERVER_ERROR', 'The service has failed'],
    [503, 'SERVICE_UNAVAILABLE', 'The service is busy'],
  ] as const) {
    await answer(status, code);
    await visit(page, `/invoices/of-${status}`);
    await page.getByRole('heading', { name: title }).waitFor();
    await assertGoodPage(page, `error-${status}`);
    await page.unroute(failing);
  }
  await page.context().setOffline(true);
  await visit(page, '/invoices/offline');
  await page.getByRole('heading', { name: 'You are offline' }).waitFor();
  await page.context().setOffline(false);
  await page.getByRole('heading', { name: 'There is no such record' }).waitFor();
  errors.length = 0;
});

test('every list and the catalog are good to everybody', async () => {
  const lists = ['Invoices', 'Payments', 'Subscriptions', 'Credit notes', 'Purchases', 'Dunning', 'Health', 'Usage'];
  for (const heading of [...lists, 'Catalog']) {
    const path = heading === 'Health' ? 'service-health' : heading.toLowerCase().replace(' ', '-');
    await visit(page, `/${path}`);
    await page.getByRole('heading', { name: heading, exact: true }).waitFor();
    await assertGoodPage(page, path);
  }
  await page.getByRole('tab', { name: 'Calculator' }).click();
  await page.getByRole('textbox', { name: 'Units' }).fill('2000');
  await page.getByText('for 2,000 units a period').waitFor();
  assert.deepEqual(errors, []);
});

test('a dearer plan and a tiered price wait in a draft, show whom they reach, and are applied together', async () => {
  await visit(page, `/catalog?model=${plans.pricingModelId}`);
  await page.getByRole('button', { name: 'Change Pro', exact: true }).click();
  const form = page.getByRole('dialog', { name: 'Change the product' });
  await form.getByLabel('Amount').fill('35');
  await assertGoodPage(page, 'catalog-product');
  await form.getByRole('button', { name: 'Keep in the draft' }).click();
  await page.getByRole('button', { name: 'Add a meter' }).click();
  const meter = page.getByRole('dialog', { name: 'New usage meter' });
  await meter.getByLabel('Name', { exact: true }).fill('Exports');
  await meter.getByRole('button', { name: 'Add a price' }).click();
  await meter.getByRole('combobox', { name: 'How it is priced' }).click();
  await page.getByRole('option', { name: 'Volume tiers' }).click();
  await meter.getByLabel('Tier 1, each').fill('0.005');
  await meter.getByText('for 1,000 units a period').waitFor();
  await assertGoodPage(page, 'catalog-meter');
  await meter.getByRole('button', { name: 'Keep in the draft' }).click();
  await page.reload();
  await page.getByText('2 changes in your draft').waitFor();
  await assertGoodPage(page, 'catalog-draft');
  await page.getByRole('button', { name: 'Review and apply' }).click();
  const dialog = page.getByRole('dialog', { name: 'Apply 2 changes' });
  await dialog.getByText('1 subscription of 1 customer keeps its price.').waitFor();
  assert.match(await dialog.innerText(), /Pro\n\$30\.00 per month → \$35\.00 per month/);
  await assertGoodPage(page, 'catalog-review');
  const exported = () => app.get(`/pricing-models/${plans.pricingModelId}/export`);
  const before = await exported();
  await dialog.getByRole('button', { name: 'Apply all of them' }).click();
  await page.getByText('The catalog is changed.').waitFor();
  await page.getByText('2 changes in your draft').waitFor({ state: 'hidden' });
  const { products, usageMeters } = (await exported()).pricingModel;
  assert.equal(usageMeters.length, before.pricingModel.usageMeters.length + 1);
  assert.deepEqual(usageMeters.at(-1).prices[0].pricing.tiers, [
    { upTo: 10, unitAmount: '0.5' },
    { upTo: null, unitAmount: '100' },
  ]);
  assert.equal(products.find(({ product }: Body) => product.name === 'Pro').price.unitPrice, 3500);

  const { id } = (await app.get('/usage-meters?limit=100')).data.find(({ slug }: Body) => slug === 'exports');
  await visit(page, `/usage?meter=${id}`);
  await page.getByText('"usageMeterSlug":"exports"').waitFor();
  await page.getByRole('button', { name: 'Copy the command' }).waitFor();
  await assertGoodPage(page, 'usage-empty');
  assert.deepEqual(errors, []);
});

test('a customer is added by a form, and starts on the default plan', async () => {
  await visit(page, '/customers');
  await page.getByRole('button', { name: 'Add a customer' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Wile');
  await dialog.getByLabel('E-mail address').fill('wile@acme.test');
  await dialog.getByLabel('Your id').fill('wile');
  await dialog.getByText('starts now.').waitFor();
  await dialog.getByRole('button', { name: 'Add the customer' }).click();
  await page.getByRole('heading', { name: 'Wile' }).waitFor();
  assert.equal((await app.get('/customers/wile')).customer.name, 'Wile');
  assert.deepEqual(errors, []);
});

test('a draft that somebody else overtook is built on the present state', async () => {
  const path = `/pricing-models/${plans.pricingModelId}`;
  await visit(page, `/catalog?model=${plans.pricingModelId}&tab=features`);
  await page.getByRole('button', { name: 'Add a feature' }).click();
  const form = page.getByRole('dialog', { name: 'New feature' });
  await form.getByLabel('Name').fill('Audit log');
  await form.getByRole('button', { name: 'Keep in the draft' }).click();
  await page.getByText('1 change in your draft').waitFor();
  const { pricingModel } = await app.get(`${path}/export`);
  await app.put(path, {
    pricingModel: { ...pricingModel, resources: [...pricingModel.resources, { slug: 'desk', name: 'Desk' }] },
  });
  await page.reload();
  await page.getByText('Somebody has changed desk since.').waitFor();
  await page.getByRole('button', { name: 'Build on the present state' }).click();
  await page.getByRole('button', { name: 'Review and apply' }).click();
  await page.getByRole('button', { name: 'Apply it' }).click();
  await page.getByText('The catalog is changed.').waitFor();
  const after = (await app.get(`${path}/export`)).pricingModel;
  assert.ok(after.features.some(({ slug }: Body) => slug === 'audit-log'));
  assert.ok(after.resources.some(({ slug }: Body) => slug === 'desk'));
  assert.deepEqual(errors, []);
});

test('a developer adds a webhook, sends a sample, and finds both in the audit log', async () => {
  await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
  await page.getByRole('button', { name: 'Add a webhook' }).click();
  await page.getByLabel('Name').fill('Warehouse');
  await page.getByLabel('Address').fill('https://warehouse.test/events');
  await page.getByText('Events from now on are sent to https://warehouse.test/events').waitFor();
  await page.getByRole('button', { name: 'Add the webhook' }).click();
  await page.getByText('whsec_').waitFor();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('link', { name: 'Warehouse' }).click();
  await page.getByRole('button', { name: 'Send a sample' }).click();
  await page.getByRole('button', { name: 'Send it' }).click();
  await page.getByRole('link', { name: 'customer.created (sample)' }).click();
  await page.getByRole('heading', { name: 'Attempts' }).waitFor();
  await assertGoodPage(page, 'webhook');
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Replay events' }).click();
  const replay = page.getByRole('dialog', { name: 'Replay events' });
  await replay.getByLabel('From, in UTC').fill(new Date(Date.now() - 3_600_000).toISOString().slice(0, 16));
  await replay.getByRole('switch', { name: /Only those whose delivery/ }).click();
  await replay.getByText(/^[\d,]+ events are sent again, in order\.$/).waitFor();
  await replay.getByRole('button', { name: 'Replay them' }).click();
  await page.getByText('The events are on their way.').waitFor();
  await visit(page, '/audit-log');
  await page.getByRole('button', { name: 'Created webhook' }).first().click();
  await page.getByText('https://warehouse.test').first().waitFor();
  await assertGoodPage(page, 'audit-log');
  await page.keyboard.press('Escape');
  assert.deepEqual(errors, []);
});

test('a developer creates a key with the permissions that were chosen, and ends it', async () => {
  await page.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name').fill('Meter');
  await page.getByRole('button', { name: 'Create the key' }).click();
  const token = await page.getByRole('dialog').locator('pre').innerText();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  const ask = (key = token) => fetch(`${address}/api/v1/customers`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal((await ask()).status, 200);
  await assertGoodPage(page, 'api-keys');
  await page.getByRole('button', { name: 'Actions for Meter' }).click();
  await page.getByRole('menuitem', { name: 'Rotate' }).click();
  const rotation = page.getByRole('dialog', { name: 'Rotate Meter' });
  await rotation.getByText('A new key with the same permissions: read, write').waitFor();
  await rotation.getByRole('button', { name: 'Rotate the key' }).click();
  const next = await page.getByRole('dialog', { name: 'The new key' }).locator('pre').innerText();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  assert.deepEqual([(await ask()).status, (await ask(next)).status], [200, 200], 'both work for a day');
  await page.getByRole('button', { name: 'Actions for Meter' }).last().click();
  await page.getByRole('menuitem', { name: 'Revoke' }).click();
  await page.getByRole('button', { name: 'Revoke the key' }).click();
  await page.getByText('The key is revoked.').waitFor();
  assert.equal((await ask()).status, 401);
  assert.deepEqual(errors, []);
});

test('a year of test mode is tried out, and then passes', async () => {
  await page.getByRole('link', { name: 'Time machine' }).click();
  await page.getByRole('button', { name: 'A year' }).click();
  await page.getByRole('button', { name: 'Move the time' }).click();
  await page.getByText('Stands still until you move it').waitFor();
  await assertGoodPage(page, 'time-machine');
  await page.getByRole('link', { name: 'Events', exact: true }).click();
  await page.getByRole('heading', { name: 'Events' }).waitFor();
  await assertGoodPage(page, 'events');
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Change failed payments' }).click();
  await page.getByRole('combobox', { name: 'After the last attempt' }).click();
  await page.getByRole('option', { name: 'Canceled' }).click();
  await page.getByText('After the last attempt: Unpaid → Canceled').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The settings are saved.').waitFor();
  await page.getByRole('button', { name: 'Change emails' }).click();
  await page.getByRole('switch', { name: /Customers get emails about/ }).click();
  await page.getByLabel('Addresses that get emails in test mode').first().fill('@acme.test');
  await page.keyboard.press('Enter');
  await page.getByText('In test mode only to: Nobody → @acme.test').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await assertGoodPage(page, 'settings');
  await page.getByRole('link', { name: 'Emails', exact: true }).click();
  await page.getByRole('button', { name: 'Change receipt' }).click();
  const texts = page.getByRole('dialog', { name: 'Receipt' });
  await texts.getByLabel('Subject').fill('{customer}, thank you');
  await texts.getByText('Your text is sent to every customer').waitFor();
  await texts.getByRole('button', { name: 'Save' }).click();
  await texts.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Preview receipt' }).click();
  await page.getByText(/\w+, thank you/).waitFor();
  await assertGoodPage(page, 'emails');
  assert.equal((await app.get('/settings')).settings.mail.texts.receipt.subject, '{customer}, thank you');
  assert.deepEqual(errors, []);
});

test('an owner invites somebody, who joins by the link with the role that was given', async () => {
  await visit(page, '/people');
  await page.getByRole('button', { name: 'Invite somebody' }).click();
  await page.getByLabel('E-mail address').fill('grace@acme.test');
  await page.getByText('grace@acme.test may join by a link').waitFor();
  await page.getByRole('button', { name: 'Make the link' }).click();
  const link = await page.getByRole('dialog').locator('pre').innerText();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await assertGoodPage(page, 'people');
  const { page: other } = await openBrowser();
  await other.goto(new URL(link).pathname.replace(/^/, address));
  await other.getByLabel('Name').fill('Grace');
  await other.getByRole('textbox', { name: 'Password' }).fill(password);
  await other.getByRole('button', { name: 'Join' }).click();
  await other.getByRole('button', { name: 'Signed in as Grace' }).waitFor();
  await visit(other, '/people');
  await other.getByText('Grace (you)').waitFor();
  assert.equal(await other.getByRole('button', { name: 'Invite somebody' }).count(), 0, 'a viewer invites nobody');
  assert.deepEqual(errors, []);
});

test('an empty catalog begins with an example in one click', async () => {
  const { pricingModel } = await app.post('/pricing-models', { pricingModel: { name: 'Empty' } });
  await visit(page, `/catalog?model=${pricingModel.id}`);
  await page.getByRole('heading', { name: 'Begin with an example' }).waitFor();
  await assertGoodPage(page, 'catalog-empty');
  await page.getByRole('button', { name: 'Set it up: Seats' }).click();
  await page.getByText('Per seat is the catalog for new customers.').waitFor();
  await page.getByText('$12.00 per month').waitFor();
  assert.equal((await app.get('/pricing-models/default')).pricingModel.name, 'Per seat');
  assert.deepEqual(errors, []);
});

test('the first catalog leads to the first paid invoice without a terminal, and to a cancellation with its preview', async () => {
  await app.put('/settings', { settings: { netTermsDays: 14 } });
  await visit(page, '/customers');
  await page.getByRole('button', { name: 'Add a customer' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Road Runner');
  await dialog.getByLabel('E-mail address').fill('road@acme.test');
  await dialog.getByLabel('Your id').fill('road');
  await dialog.getByRole('button', { name: 'Add the customer' }).click();
  await page.getByRole('heading', { name: 'Road Runner' }).waitFor();
  await page.getByRole('button', { name: 'Subscribe' }).click();
  await dialog.getByRole('combobox', { name: 'Plan' }).click();
  await page.getByRole('option', { name: /Team/ }).first().click();
  await dialog.getByLabel('Quantity').fill('3');
  await dialog.getByText(/^Team.* starts on/).waitFor();
  await assertGoodPage(page, 'subscribe');
  await dialog.getByRole('button', { name: 'Subscribe' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByRole('tab', { name: 'Money' }).click();
  await page.getByRole('table', { name: 'Invoices' }).getByRole('link').first().click();
  await page.getByRole('button', { name: 'Record a payment' }).click();
  await dialog.getByLabel('Reference').fill('Transfer 7');
  await dialog.getByRole('button', { name: 'Record it' }).click();
  await dialog.waitFor({ state: 'hidden' });
  const [invoice] = (await app.get('/invoices?customerExternalId=road')).data;
  assert.deepEqual([invoice.status, invoice.total], ['paid', 3600]);

  await visit(page, `/customers/${invoice.customerId}`);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await dialog.getByRole('combobox', { name: 'When' }).click();
  await page.getByRole('option', { name: 'Now' }).click();
  await dialog.getByText(/The plan ends on/).waitFor();
  await assertGoodPage(page, 'cancel');
  assert.notEqual((await app.get(`/subscriptions/${invoice.subscriptionId}`)).subscription.status, 'canceled');
  await dialog.getByRole('button', { name: 'Cancel the subscription' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await app.get(`/subscriptions/${invoice.subscriptionId}`)).subscription.status, 'canceled');
  assert.deepEqual(errors, []);
});
