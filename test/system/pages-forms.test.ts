import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openShop, paidAmounts } from '../support/pages-fixture.ts';

const shop = await openShop();
const { app, plans } = shop;

const card = { cardNumber: '4242424242424242', cardExpiry: '12/34', cardCode: '123' };
const order = { quantity: '1', discountCode: '', country: 'DE' };

/** A form as a browser sends it from our own page. */
function sendForm(url: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  return fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(url).origin, ...headers },
    body: new URLSearchParams(form).toString(),
  });
}

async function newCheckout(rest: object = {}) {
  const customer = await plans.newCustomer();
  const session = await shop.newSession({
    type: 'product',
    customerExternalId: customer.externalId,
    priceId: plans.priceOf('pro-monthly').id,
    ...rest,
  });
  return { ...customer, ...session };
}

test('a form that is sent eight times at once is paid once, and each is told that it was', async () => {
  const { url, customerId } = await newCheckout();
  const form = { ...order, ...card, step: 'pay', shownDue: '3000' };
  const answers = await Promise.all(Array.from({ length: 8 }, () => sendForm(url, form)));
  for (const answer of answers) {
    assert.equal(answer.status, 303);
    assert.match(answer.headers.get('location') ?? '', /^\/checkout\/.*&to=success$|^\/checkout\//);
  }
  assert.deepEqual(await paidAmounts(app, customerId), [3000]);
});

test('nobody is charged more than the page has shown', async () => {
  const { url, customerId } = await newCheckout({ maximumQuantity: 2 });
  const answer = await sendForm(url, { ...order, ...card, quantity: '2', step: 'pay', shownDue: '3000' });
  assert.equal(answer.status, 409);
  assert.match(await answer.text(), /The amount has changed.*\$60.00/s);
  assert.deepEqual(await paidAmounts(app, customerId), []);
});

test('a quantity that the seller has not allowed buys nothing more, whoever wrote the form', async () => {
  const fixed = await newCheckout({ quantity: 2 });
  const form = { ...order, ...card, step: 'pay' };
  const sent = await sendForm(fixed.url, { ...form, quantity: '900000000', shownDue: '6000' });
  assert.equal(sent.status, 303);
  assert.deepEqual(await paidAmounts(app, fixed.customerId), [6000]);
  const limited = await newCheckout({ minimumQuantity: 2, maximumQuantity: 10 });
  for (const quantity of ['1', '11', '900000000']) {
    const refused = await sendForm(limited.url, { ...form, quantity, shownDue: '99999999999999' });
    assert.equal(refused.status, 422, quantity);
    assert.match(await refused.text(), /Enter a quantity from 2 to 10\./);
  }
  assert.deepEqual(await paidAmounts(app, limited.customerId), []);
});

test('a line of an address is at most 200 letters, whoever wrote the form', async () => {
  const { url, customerId } = await newCheckout();
  const form = { ...order, ...card, step: 'pay', shownDue: '3000' };
  const refused = await sendForm(url, { ...form, line1: 'a'.repeat(10_000), city: 'b'.repeat(201) });
  assert.equal(refused.status, 422);
  // Each stands beside its field and in the list above the form.
  assert.equal((await refused.text()).match(/Enter at most 200 characters\./g)?.length, 4);
  assert.deepEqual(await paidAmounts(app, customerId), []);
  assert.equal((await sendForm(url, { ...form, line1: 'a'.repeat(200) })).status, 303);
});

test('the country decides about tax before the card is asked for: 30.00 and 19 % are 35.70', async () => {
  await app.put('/settings', { settings: { taxProvider: 'rates' } });
  await app.post('/tax-rates', { taxRate: { country: 'DE', type: 'vat', percentage: '19' } });
  const { url, customerId } = await newCheckout();
  const text = async (form: Record<string, string>) => (await sendForm(url, { ...order, ...form })).text();
  assert.match(await text({ step: 'review', country: 'FR' }), /Due today<\/dt><dd class="sum">\$30.00/);
  assert.match(await text({ step: 'review' }), /Tax<\/dt><dd>\$5.70[\s\S]*Due today<\/dt><dd class="sum">\$35.70/);
  assert.match(await text({ ...card, step: 'pay', shownDue: '3000' }), /The amount has changed/);
  assert.equal((await sendForm(url, { ...order, ...card, step: 'pay', shownDue: '3570' })).status, 303);
  assert.deepEqual(await paidAmounts(app, customerId), [3570]);
  await app.put('/settings', { settings: { taxProvider: 'none' } });
});

test('a form from elsewhere is refused', async () => {
  const { url, customerId } = await newCheckout();
  const form = { ...order, ...card, step: 'pay', shownDue: '3000' };
  const elsewhere: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
  ];
  for (const headers of elsewhere) {
    const answer = await sendForm(url, form, headers);
    assert.equal(answer.status, 403, JSON.stringify(headers));
    assert.match(await answer.text(), /not sent from our page/);
  }
  const silent = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
  assert.equal(silent.status, 403);
  assert.deepEqual(await paidAmounts(app, customerId), []);
});

test('a page loads its typeface alone, is shown in no other one, kept nowhere, and tells its address to nobody', async () => {
  const { url } = await newCheckout();
  const answer = await fetch(url);
  const policy = answer.headers.get('content-security-policy') ?? '';
  assert.match(
    policy,
    /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; img-src data:; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
  );
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('referrer-policy'), 'same-origin');
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  assert.doesNotMatch(await answer.text(), /<script/);
});

test('only the whole link opens a session', async () => {
  const one = await newCheckout();
  const other = await newCheckout();
  const key = new URL(one.url).searchParams.get('key') ?? '';
  const wrong = [
    one.url.replace(/\?.*/, ''),
    one.url.replace(/=.*/, '='),
    one.url.slice(0, -1),
    `${one.url}x`,
    other.url.replace(/=.*/, `=${key}`),
    one.url.replace(key, `zz${key.slice(key.indexOf('.'))}`),
    one.url.replace(key, "0'--"),
    one.url.replace(key, '%00'),
  ];
  for (const url of wrong) {
    const answer = await fetch(url);
    assert.ok(answer.status === 404 || answer.status === 400, `${url}: ${answer.status}`);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/);
    assert.doesNotMatch(await answer.text(), /Pro/);
  }
});

test('a checkout that has expired says so, and takes nothing', async () => {
  const { url, id, customerId } = await newCheckout();
  await app.setClock(Date.now() + 25 * 3_600_000);
  assert.equal((await shop.session(id)).status, 'expired');
  assert.match(await (await fetch(url)).text(), /This checkout has expired/);
  const answer = await sendForm(url, { ...order, ...card, step: 'pay', shownDue: '3000' });
  assert.equal(answer.status, 303);
  assert.deepEqual(await paidAmounts(app, customerId), []);
});

test('a body that no form of ours sends is refused without a fault of ours', async () => {
  const { url } = await newCheckout();
  const origin = new URL(url).origin;
  for (const [type, body, status] of [
    ['application/json', '{}', 415],
    ['application/x-www-form-urlencoded', `name=${'x'.repeat(70_000)}`, 413],
    ['application/x-www-form-urlencoded', 'name=%00', 400],
    ['application/x-www-form-urlencoded', '', 422],
    ['application/x-www-form-urlencoded', '__proto__=1&step=pay', 400],
    ['application/x-www-form-urlencoded', 'constructor=2&quantity=-1&step=pay', 422],
  ] as const) {
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': type, origin }, body });
    assert.equal(answer.status, status, `${type} ${body.slice(0, 40)}: ${await answer.text()}`);
  }
});

test('an address that would run as a script is no link', async () => {
  const { status } = await app.request('POST', '/checkout-sessions', {
    checkoutSession: {
      type: 'product',
      anonymous: true,
      priceId: plans.priceOf('pro-monthly').id,
      successUrl: 'javascript:alert(1)',
      cancelUrl: 'javascript:alert(1)',
    },
  });
  assert.equal(status, 400);
});
