import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PNG } from 'pngjs';
import type { Role } from '../../src/kernel/permission.ts';
import { calls, spoils } from '../support/api-calls.ts';
import { assertGoodPage, openBrowser, serveDashboard, visit } from '../support/dashboard-fixture.ts';
import { resolved } from '../support/document.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { lengthened } from '../support/longest-texts.ts';
import { personWith } from '../support/people-fixture.ts';
import { buildWorld } from '../support/world.ts';

const app = await startTestApp();
const document: Body = await (await fetch(`${app.url}/openapi.json`)).json();
const world = await buildWorld(app);
const address = await serveDashboard(app);

const { page, errors } = await openBrowser();

/** The one window, from here on that of somebody with a role. */
async function signInAs(role: Role) {
  const { browser } = await personWith(app, role);
  await page.context().clearCookies();
  await page
    .context()
    .addCookies([...browser.cookies].map(([name, value]) => ({ name, value, url: address, httpOnly: true })));
  errors.length = 0;
  await page.goto(`${address}/api-keys`);
  await page.getByRole('button', { name: /^Signed in as/ }).waitFor();
  return browser;
}

interface Action {
  readonly path: string;
  readonly button: string;
  readonly roles: readonly Role[];
  readonly call: readonly [method: string, path: string, body?: unknown];
}

/** The valid call of an operation. */
function callOf(operation: string): Action['call'] {
  const { path, body } = calls[operation]?.(world, 'role') ?? assert.fail(operation);
  return [operation.slice(0, operation.indexOf(' ')), path, body];
}

const adjustment = { timing: 'immediately', newSubscriptionItems: [{ priceId: world.priceId, quantity: 1 }] };
const actions: readonly Action[] = [
  {
    path: '/api-keys',
    button: 'Create a key',
    roles: ['owner', 'developer'],
    call: ['POST', '/api-keys', { apiKey: { name: 'Mine', permissions: ['read'] } }],
  },
  {
    path: '/webhooks',
    button: 'Add a webhook',
    roles: ['owner', 'developer'],
    call: ['POST', '/webhooks', { webhook: { name: 'Mine', url: 'https://hooks.example.com/' } }],
  },
  {
    path: '/people',
    button: 'Invite somebody',
    roles: ['owner'],
    call: ['POST', '/invitations', { invitation: { role: 'owner', email: 'more@acme.test' } }],
  },
  {
    path: '/settings',
    button: 'Change failed payments',
    roles: ['owner'],
    call: ['PUT', '/settings', { settings: { allowMultipleSubscriptions: true } }],
  },
  {
    path: '/time-machine',
    button: 'A year',
    roles: ['owner', 'developer'],
    call: ['PUT', '/test-clock', { testClock: { now: Date.now() + 60_000 } }],
  },
  {
    path: `/customers/${world.customerId}`,
    button: 'Change plan',
    roles: ['owner', 'developer'],
    call: ['POST', `/subscriptions/${world.subscriptionId}/adjust`, { adjustment }],
  },
  {
    path: `/customers/${world.customerId}`,
    button: 'Cancel',
    roles: ['owner', 'support', 'developer'],
    call: ['POST', `/subscriptions/${world.subscriptionId}/cancel`, { cancellation: { timing: 'immediately' } }],
  },
  {
    path: `/customers/${world.customerId}`,
    button: 'Portal',
    roles: ['owner', 'developer'],
    call: callOf('POST /customers/{externalId}/portal-sessions'),
  },
  {
    path: `/customers/${world.customerId}`,
    button: 'Grant credits',
    roles: ['owner', 'billing'],
    call: callOf('POST /usage-credits'),
  },
  {
    path: `/payments/${world.paymentId}`,
    button: 'Refund',
    roles: ['owner', 'billing'],
    call: callOf('POST /payments/{id}/refund'),
  },
  {
    path: `/invoices/${world.openInvoiceId}`,
    button: 'Record a payment',
    roles: ['owner', 'billing'],
    call: callOf('POST /invoices/{id}/void'),
  },
  {
    path: '/customers',
    button: 'Add a customer',
    roles: ['owner', 'developer'],
    call: callOf('POST /customers'),
  },
  {
    path: '/emails',
    button: 'Change receipt',
    roles: ['owner'],
    call: ['PUT', '/settings', { settings: { mail: { texts: { receipt: { subject: 'Thanks' } } } } }],
  },
  {
    path: '/emails',
    button: 'Send again',
    roles: ['owner', 'support', 'developer'],
    call: callOf('POST /emails/{id}/resend'),
  },
  {
    path: '/people',
    button: 'Register a provider',
    roles: ['owner'],
    call: ['DELETE', '/members/nobody'],
  },
];

for (const role of ['owner', 'billing', 'support', 'developer', 'viewer'] as const)
  test(`the pages show the role ${role} what it may do, and the API refuses the rest`, async () => {
    const browser = await signInAs(role);
    for (const [path, ofPath] of Map.groupBy(actions, ({ path }) => path)) {
      await visit(page, path);
      for (const { button, roles, call } of ofPath) {
        const mayAct = roles.includes(role);
        const shown = page.getByRole('button', { name: button, exact: true });
        if (mayAct) await shown.first().waitFor();
        assert.equal((await shown.count()) > 0, mayAct, `${button} is ${mayAct ? 'hidden from' : 'shown to'} ${role}`);
        const [method, target, body] = call;
        const { status } = await browser.ask(method, `${target}?dryRun=true`, body);
        assert.equal(status === 403, !mayAct, `${method} ${target} answers ${role} with ${status}`);
      }
    }
    assert.deepEqual(errors, []);
  });

test('no page may stand in a frame of another site', async () => {
  const checkout = await app.post('/checkout-sessions', calls['POST /checkout-sessions']?.(world, 'framed').body);
  const { portalSession } = await app.post(`/customers/${world.externalId}/portal-sessions`, {});
  const hosted = [checkout.url, portalSession.url].map((url) => new URL(url).pathname + new URL(url).search);
  for (const path of ['/', '/sign-in', '/join/token', '/customers/any', '/docs/', ...hosted]) {
    const answer = await fetch(address + path, { headers: { accept: 'text/html' } });
    assert.match(answer.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, path);
  }
});

const markup = `'"><img src=x onerror=hit()><script>hit()</script>`;

/** A text that would run if a page took it for markup, or for an address to follow. */
function hostile(name: string, longest: number): string {
  if (['url', 'successUrl', 'cancelUrl', 'returnUrl'].includes(name))
    return 'https://a.example.com/?%22><script>hit()</script>';
  if (/url$|domain/i.test(name)) return 'javascript:hit()';
  return longest >= markup.length ? markup : '<script>hit()</script>'.slice(0, longest);
}

async function fillWithMarkup(): Promise<number> {
  await app.put('/settings', { settings: { allowMultipleSubscriptions: true } });
  let stored = 0;
  for (const [at, [operation, callOf]] of Object.entries(calls).entries()) {
    const [method = '', route = ''] = operation.split(' ');
    const { path, body } = callOf(world, `x${at}`);
    if (method === 'GET' || body === undefined || spoils.has(operation) || route.includes('/cancel')) continue;
    const described = document.paths[`/api/v1${route}`][method.toLowerCase()];
    const schema = resolved(document, described.requestBody)?.content?.['application/json']?.schema;
    if (schema === undefined) continue;
    const filled = lengthened(document, schema, body, hostile);
    if (filled.texts.length === 0) continue;
    const { status } = await app.request(method, path, filled.body);
    if (status < 300) stored += filled.texts.length;
  }
  return stored;
}

/** Fills the texts that a request names by its own rules: slugs, a code, and those of an invoice. */
async function fillNamesWithMarkup(): Promise<string> {
  const { pricingModelId, draftInvoiceId, externalId } = world;
  const price = { type: 'single_payment', unitPrice: 100, slug: `${markup} price`, name: markup };
  await app.post('/products', { product: { name: markup, slug: markup, pricingModelId }, price });
  await app.post('/discounts', {
    discount: {
      name: markup,
      code: '<img src=x onerror=hit()>'.slice(0, 20),
      amount: 5,
      amountType: 'percent',
      duration: 'once',
      pricingModelId,
    },
  });
  await app.put(`/invoices/${draftInvoiceId}`, { invoice: { memo: markup, footer: markup } });
  const { invoice } = await app.post('/invoices', {
    invoice: {
      customerExternalId: externalId,
      memo: markup,
      footer: markup,
      lines: [{ description: markup, unitAmount: 100 }],
    },
  });
  await app.post(`/invoices/${invoice.id}/finalize`, {});
  return invoice.id;
}

test('the branding is looked at on an invoice and an email before it is stored, within the policy of the page', async () => {
  await signInAs('owner');
  await visit(page, '/settings');
  await page.getByRole('button', { name: 'Change branding' }).click();
  const branding = page.getByRole('dialog', { name: 'Branding' });
  const logo = {
    name: 'logo.png',
    mimeType: 'image/png',
    buffer: PNG.sync.write(new PNG({ width: 600, height: 200 })),
  };
  await branding.locator('input[type=file]').first().setInputFiles(logo);
  await branding.getByRole('textbox', { name: 'Colour', exact: true }).fill('#1f5aa0');
  const invoice = page.frameLocator('iframe[title="The invoice with this branding"]');
  await invoice.locator('img').waitFor();
  await branding.getByText(/^Logo: None → 480 × 160/).waitFor();
  await branding.getByRole('button', { name: 'Email' }).click();
  const action = page
    .frameLocator('iframe[title="The email with this branding"]')
    .getByText('View and pay the invoice');
  assert.match((await action.getAttribute('style')) ?? '', /rgb\(31, 90, 160\)/);
  await assertGoodPage(page, 'branding');
  await branding.getByRole('button', { name: 'Save' }).click();
  await branding.waitFor({ state: 'hidden' });
  assert.deepEqual(errors, []);
});

test('texts with markup and scripts in every field are shown as texts on every page, and nothing runs', async () => {
  const stored = await fillWithMarkup();
  assert(stored > 60, `${stored} texts are stored`);
  const written = await fillNamesWithMarkup();
  // The logo is an image of the service's own.
  for (const kind of ['invoices', 'credit-notes'])
    for (const id of kind === 'invoices' ? [written, world.draftInvoiceId] : [world.creditNoteId])
      assert.doesNotMatch(
        (await app.request('GET', `/${kind}/${id}/html`)).body,
        /<script\b|<img(?! src="data:image\/png;base64,)/i,
      );
  const ran: string[] = [];
  await page.exposeFunction('noteHit', (what: string) => ran.push(what));
  await page.addInitScript(`
    globalThis.hit = () => noteHit('a script ran at ' + location.href);
    document.addEventListener('securitypolicyviolation', (event) =>
      noteHit(event.violatedDirective + ' at ' + location.href + ': ' + event.blockedURI));`);
  await signInAs('owner');
  const { data: newest } = await app.get('/customers?limit=2&order=desc&search=hit()');
  const { data: invoices } = await app.get('/invoices?limit=2&order=desc');
  const { data: webhooks } = await app.get('/webhooks?limit=1&order=desc');
  const customers = [world.customerId, ...newest.map(({ id }: Body) => id)];
  const lists = [
    '',
    'customers',
    'subscriptions',
    'invoices',
    'payments',
    'credit-notes',
    'catalog',
    'usage',
    'events',
  ];
  const paths = [
    ...[...lists, 'webhooks', 'api-keys', 'audit-log', 'people', 'settings', 'time-machine'].map((name) => `/${name}`),
    ...customers.flatMap((id) => ['', 'money', 'usage', 'history'].map((tab) => `/customers/${id}?tab=${tab}`)),
    ...[world.draftInvoiceId, ...invoices.map(({ id }: Body) => id)].map((id) => `/invoices/${id}`),
    ...['features', 'discounts', 'calculator'].map((tab) => `/catalog?tab=${tab}`),
    '/emails',
    ...webhooks.map(({ id }: Body) => `/webhooks/${id}`),
  ];
  for (const path of paths) {
    await visit(page, path);
    const made = page.locator('img[src="x"], iframe, a[href^="javascript:" i]');
    assert.equal(await made.count(), 0, `${path} has made markup of a text`);
  }
  await visit(page, '/customers');
  await page.getByText('<script>hit()').first().waitFor();
  const { portalSession } = await app.post(`/customers/${newest[0].externalId}/portal-sessions`, {});
  const { pathname, search } = new URL(portalSession.url);
  await page.goto(address + pathname + search);
  assert.deepEqual(ran, []);
});
