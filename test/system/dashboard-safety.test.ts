import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PNG } from 'pngjs';
import { createEncryption, keyBytes } from '../../src/jobs/encryption.ts';
import type { Role } from '../../src/kernel/permission.ts';
import { createSignIn } from '../../src/people/actions-sign-in.ts';
import { addressesOf } from '../../src/people/provider.ts';
import { calls, spoils } from '../support/api-calls.ts';
import {
  answerSaml,
  clientSecret,
  reachingServices,
  samlProvider,
  startOidcProvider,
} from '../support/company-fixture.ts';
import { assertGoodPage, openBrowser, serveDashboard, signIn, visit } from '../support/dashboard-fixture.ts';
import { resolved } from '../support/document.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { lengthened } from '../support/longest-texts.ts';
import { Browser, codeOf, passwordOfAll, personWith } from '../support/people-fixture.ts';
import { meter } from '../support/shop.ts';
import { buildWorld } from '../support/world.ts';

const app = await startTestApp({ services: { webhooks: reachingServices() } });
const document: Body = await (await fetch(`${app.url}/openapi.json`)).json();
const world = await buildWorld(app);
const address = await serveDashboard(app);

const { page, errors } = await openBrowser();

/** The one window, from here on that of somebody with a role. */
const signInAs = (role: Role) => signIn(app, { page, errors, address }, role);

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

/** The address by its name, because a passkey belongs to a name and not to a number. */
const named = address.replace('127.0.0.1', 'localhost');

/** Somebody with a password, in the window by the form. All tests have one address of the network, which has a limit. */
async function signInByForm(email: string, password = passwordOfAll) {
  await app.ownerPool.query('delete from people_rate_limits');
  await page.context().clearCookies();
  await page.goto(`${named}/sign-in?next=/account`);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByRole('textbox', { name: 'Password' }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function signOut() {
  await page.getByRole('button', { name: /^Signed in as/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(`${named}/sign-in`);
}

/** The errors of the page. A browser notes each answer that refuses as one, and those of a sign-in are meant. */
function assertNoErrors() {
  assert.deepEqual(
    errors.filter((error) => !/status of 40[013]/.test(error)),
    [],
  );
  errors.length = 0;
}

test('a member adds a passkey, signs in by it without a password, and removes it', async () => {
  const { email, id } = await personWith(app, 'viewer');
  const devices = await page.context().newCDPSession(page);
  await devices.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
  } as const;
  const { authenticatorId } = await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, isUserVerified: true, automaticPresenceSimulation: true },
  });
  await signInByForm(email);
  await page.getByText('No passkeys yet').waitFor();
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Laptop');
  await dialog.getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('button', { name: 'Remove Laptop' }).waitFor();
  await assertGoodPage(page, 'account');
  await signOut();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByRole('button', { name: 'Signed in as The viewer' }).waitFor();

  await visit(page, '/account');
  await page.getByRole('button', { name: 'Remove Laptop' }).click();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page.getByText('No passkeys yet').waitFor();
  await signOut();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.getByText('This passkey is not known here').waitFor();
  await assertGoodPage(page, 'sign-in-passkey');
  // A device that does not ask who is there takes the place of no password.
  await devices.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
  await devices.detach();
  const { data } = await app.get(`/audit-log?recordId=${id}&record=member&order=desc`);
  assert.deepEqual(
    data.slice(0, 2).map(({ after, actor }: Body) => [after, actor.userId]),
    [
      [{ passkeys: 0 }, id],
      [{ passkeys: 1 }, id],
    ],
  );
  assertNoErrors();
});

test('a member turns on the codes of an authenticator, and signs in with one, or once with a backup code', async () => {
  const { email } = await personWith(app, 'viewer');
  await signInByForm(email);
  await page.getByRole('button', { name: 'Turn on' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Your password' }).fill(passwordOfAll);
  await dialog.getByRole('button', { name: 'Go on' }).click();
  await dialog.getByRole('img', { name: 'QR code for the authenticator' }).waitFor();
  await assertGoodPage(page, 'codes');
  const secret = (await dialog.locator('code').innerText()).replaceAll(' ', '');
  await dialog.getByLabel('The six digits').fill('000000');
  await dialog.getByRole('button', { name: 'Turn them on' }).click();
  await dialog.getByText('The code is wrong').waitFor();
  await dialog.getByLabel('The six digits').fill(await codeOf(secret));
  await dialog.getByRole('button', { name: 'Turn them on' }).click();
  await dialog.getByText('Each signs you in once').waitFor();
  await assertGoodPage(page, 'backup-codes');
  const [backupCode = ''] = (await dialog.locator('pre').innerText()).split('\n');
  await dialog.getByRole('button', { name: 'I have stored them' }).click();
  await page.getByText('They are on.').waitFor();

  await signInByForm(email);
  await page.getByRole('heading', { name: 'Enter your code' }).waitFor();
  await assertGoodPage(page, 'sign-in-code');
  await page.getByLabel('The six digits of your authenticator').fill(await codeOf(secret));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('They are on.').waitFor();
  const signInByBackupCode = async () => {
    await signInByForm(email);
    await page.getByRole('button', { name: 'Use a backup code' }).click();
    await page.getByLabel('Backup code').fill(backupCode);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  await signInByBackupCode();
  await page.getByText('They are on.').waitFor();
  await signInByBackupCode();
  await page.getByText('This backup code is wrong').waitFor();
  assertNoErrors();
});

test('a member sees where they are signed in, and signs out a browser that was left open', async () => {
  const { browser, email } = await personWith(app, 'viewer');
  await signInByForm(email);
  const table = page.getByRole('table', { name: 'Sessions' });
  await table.getByText(/^Chrome on .* \(this one\)$/).waitFor();
  await table.getByText('Another program').waitFor();
  await table.getByRole('button', { name: 'Sign out' }).last().click();
  await page.getByRole('button', { name: 'Sign it out' }).click();
  await table.getByText('Another program').waitFor({ state: 'detached' });
  assert.equal((await browser.ask('GET', '/customers')).status, 401);

  const again = new Browser(app);
  await again.signIn(email);
  await page.getByRole('button', { name: 'Change your password' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'The present password' }).fill('not this one at all');
  await dialog.getByRole('textbox', { name: 'New password' }).fill('staple battery horse');
  await dialog.getByRole('button', { name: 'Change it' }).click();
  await dialog.getByText('The password is wrong').waitFor();
  await assertGoodPage(page, 'change-password');
  await dialog.getByRole('textbox', { name: 'The present password' }).fill(passwordOfAll);
  await dialog.getByRole('button', { name: 'Change it' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.equal((await again.ask('GET', '/customers')).status, 401);
  await page.getByRole('button', { name: 'Change your name' }).click();
  await dialog.getByLabel('Name').fill('Grace');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Signed in as Grace' }).waitFor();

  // The session ends while a page is open, and the next request leads to the sign-in, and back.
  await app.ownerPool.query('delete from people_sessions');
  await page.evaluate(`history.pushState({}, '', '/customers')`);
  await page.waitForURL(`${named}/sign-in?next=${encodeURIComponent('/customers')}`);
  assertNoErrors();
});

test('a link of the operator leads to a new password', async () => {
  const { email } = await personWith(app, 'viewer');
  const encryption = createEncryption([Buffer.alloc(keyBytes, 2)]);
  const operator = createSignIn({ worker: app.owner, encryption, log: () => undefined });
  await page.goto(`${named}/reset-password?token=${await operator.resetToken(named, email)}`);
  await page.getByRole('textbox', { name: 'New password' }).fill('another sentence');
  await assertGoodPage(page, 'reset-password');
  await page.getByRole('button', { name: 'Save the password' }).click();
  await page.getByRole('link', { name: 'Sign in with the new password' }).waitFor();
  await signInByForm(email, 'another sentence');
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  assertNoErrors();
});

test('an owner registers the provider of the company, and signs in by OpenID Connect', async () => {
  const idp = await startOidcProvider([`${named}/auth/company/${app.id}/oidc`]);
  const { email } = await personWith(app, 'owner');
  idp.people.set('ada', { email, email_verified: true });
  await signInByForm(email);
  await page.getByRole('heading', { name: 'Your account' }).waitFor();
  await visit(page, '/people');
  await page.getByRole('button', { name: 'Register a provider' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('E-mail domain').fill('acme.test');
  await dialog.getByLabel('Issuer').fill(idp.issuer);
  await dialog.getByLabel('Client id').fill('tollkeeper');
  await dialog.getByLabel('Client secret').fill(clientSecret);
  await dialog.getByText('Members sign in by it at').waitFor();
  await assertGoodPage(page, 'sign-in-provider');
  await dialog.getByRole('button', { name: 'Register it' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.getByText('_tollkeeper.acme.test').waitFor();
  await assertGoodPage(page, 'people');
  await signOut();

  await page.goto(`${named}/sign-in?company=${app.id}&error=not_a_member`);
  await page.getByText('You are no member of this organization.').waitFor();
  await assertGoodPage(page, 'sign-in-refused');
  await page.getByRole('button', { name: 'Use the sign-in of your company' }).click();
  await page.waitForURL(`${idp.issuer}/**`);
  await page.locator('input[name=login]').fill('ada');
  await page.locator('input[name=password]').fill('x');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.waitForURL(`${named}/`);
  await page.getByRole('button', { name: 'Signed in as The owner' }).waitFor();
  await visit(page, '/account');
  await page.getByText('Your company signed you in').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Add a passkey' }).count(), 0, 'the company decides');
  await assertGoodPage(page, 'account-of-company');
  const { rows } = await app.ownerPool.query(
    'select count(sign_in_provider_id)::integer as count from people_sessions',
  );
  assert.equal(rows[0].count, 1);
  errors.length = 0;
});

test('a member signs in by SAML, with the form that the page of the provider posts', async () => {
  const { email } = await personWith(app, 'support');
  const { browser: owner } = await personWith(app, 'owner');
  await owner.expect('PUT', '/sign-in-provider', { signInProvider: { ...samlProvider, domain: 'acme.test' } });
  const addresses = addressesOf(named, app.id);
  await page.route('https://idp.example.test/**', async (route) => {
    const fields = await answerSaml(route.request().url(), addresses, { subject: 'S-1', email });
    const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
    const body = `<form method="post" action="${addresses.assertionConsumer}">${inputs.join('')}<button>Confirm</button></form>`;
    await route.fulfill({ contentType: 'text/html', body });
  });
  await app.ownerPool.query('delete from people_rate_limits');
  await page.context().clearCookies();
  await page.goto(addresses.signIn);
  await page.getByRole('button', { name: 'Use the sign-in of your company' }).click();
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('button', { name: 'Signed in as The support' }).waitFor();
  assert.equal(new URL(page.url()).origin, named);
  await owner.expect('DELETE', '/sign-in-provider');
  errors.length = 0;
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

test('a credit pool with its rates goes through the draft, and a changed rate is shown before it is applied', async () => {
  await signInAs('owner');
  const { pricingModel } = await app.post('/pricing-models/setup', {
    name: 'AI',
    usageMeters: [meter('tokens', 'Tokens', { slug: 'token', unitPrice: 5 })],
  });
  const { id: model } = pricingModel;
  const readRates = async () => (await app.get(`/credit-pools?pricingModelId=${model}`)).data[0].rates;
  const apply = async (text: RegExp) => {
    await page.getByRole('button', { name: 'Review and apply' }).click();
    await page.locator('.difference').getByText(text).first().waitFor();
    await assertGoodPage(page, 'catalog-pool-review');
    await page.getByRole('button', { name: 'Apply it' }).click();
    await page.getByText('1 change in your draft').waitFor({ state: 'hidden' });
  };
  await visit(page, `/catalog?model=${model}`);
  await page.getByRole('button', { name: 'Add a pool' }).click();
  const form = page.getByRole('dialog', { name: 'New credit pool' });
  await form.getByLabel('Name').fill('AI credits');
  await form.getByRole('button', { name: 'Add a rate' }).click();
  const rate = form.getByRole('group', { name: 'Rate of Tokens' });
  await rate.getByLabel('Units').fill('1000');
  await rate.getByLabel('cost').fill('0.5');
  await assertGoodPage(page, 'catalog-pool');
  await form.getByRole('button', { name: 'Keep in the draft' }).click();
  await page.getByText('1,000 units of Tokens cost 0.5').waitFor();
  await apply(/New credit pool/);
  assert.deepEqual(await readRates(), [{ usageMeterSlug: 'tokens', where: null, per: 1000, cost: '0.5' }]);

  await page.getByRole('button', { name: 'Change AI credits' }).click();
  const change = page.getByRole('dialog', { name: 'Change the credit pool' });
  await change.getByLabel('cost').fill('2');
  await change.getByRole('button', { name: 'Add a condition' }).click();
  await change.getByLabel('Property', { exact: true }).fill('model');
  await change.getByLabel('Values of model').fill('large');
  await change.getByLabel('Values of model').press('Enter');
  await change.getByRole('button', { name: 'Keep in the draft' }).click();
  await apply(/1,000 units of Tokens cost 2, where model is large/);
  const changed = { usageMeterSlug: 'tokens', where: { model: ['large'] }, per: 1000, cost: '2' };
  assert.deepEqual(await readRates(), [changed]);
  assert.deepEqual(errors, []);
});
