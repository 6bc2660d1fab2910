import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { type Body, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { enterPortal, openPortalOf } from '../support/portal-fixture.ts';
import { newCard } from '../support/shop.ts';

// The portal as an attacker sees it: forms that no page shows, links that were kept, and words that JavaScript knows.

const app = await startTestApp();
const plans = await setUpPlans(app);
const proPrice = plans.priceOf('pro-monthly').id as string;
const month = { intervalUnit: 'month', intervalCount: 1, isDefault: true, active: true };
await app.post('/products', {
  product: { name: 'Support', slug: 'support', pricingModelId: plans.pricingModelId, active: true },
  price: { type: 'subscription', slug: 'support-monthly', name: 'Monthly', unitPrice: 500, ...month },
});

/** The portal of a new customer with a plan of 30.00 a month, by plain HTTP. */
async function openPortal(terms: Body = {}) {
  const customer = await plans.newCustomer('pm_card_visa');
  const subscription = await plans.subscribe({ customerId: customer.customerId, priceId: proPrice, ...terms });
  return { ...customer, ...(await openPortalOf(app, customer.externalId)), subscriptionId: subscription.id as string };
}

/** A portal whose renewal a bad card could not pay. */
async function openPastDuePortal() {
  await wait(0);
  const opened = await openPortal();
  const paymentMethod = { customerId: opened.customerId, token: 'pm_card_chargeCustomerFail', default: true };
  await app.post('/payment-methods', { paymentMethod: { ...paymentMethod, automaticallyUpdateSubscriptions: true } });
  clock += 32 * 86_400_000;
  await app.put('/test-clock', { testClock: { now: clock } });
  assert.equal((await plans.subscription(opened.subscriptionId)).status, 'past_due');
  return opened;
}

const enter = (link: string) => enterPortal(app, link);

test('a customer cannot undo the end that the seller has scheduled, and another cancel form keeps it', async () => {
  const { subscriptionId, look, send } = await openPortal();
  const end = Date.now() + 3 * 86_400_000;
  const cancellation = { timing: 'at_future_date', endDate: end };
  await app.post(`/subscriptions/${subscriptionId}/cancel`, { cancellation });
  const at = `/portal/subscriptions/${subscriptionId}`;
  assert.doesNotMatch(await (await look('/portal')).text(), /Keep subscription/);
  assert.equal((await send(`${at}/uncancel`)).status, 409);
  assert.equal((await send(`${at}/cancel`)).status, 303);
  const { status, cancelScheduledAt } = await plans.subscription(subscriptionId);
  assert.deepEqual([status, cancelScheduledAt], ['cancellation_scheduled', end]);
});

test('a customer undoes its own end, until the seller asks for the same end', async () => {
  const { subscriptionId, send } = await openPortal();
  const at = `/portal/subscriptions/${subscriptionId}`;
  assert.equal((await send(`${at}/cancel`)).headers.get('location'), '/portal?done=canceled');
  assert.equal((await send(`${at}/uncancel`)).headers.get('location'), '/portal?done=uncanceled');
  assert.equal((await send(`${at}/cancel`)).status, 303);
  await app.post(`/subscriptions/${subscriptionId}/cancel`, {
    cancellation: { timing: 'at_end_of_current_billing_period' },
  });
  assert.equal((await send(`${at}/uncancel`)).status, 409);
  assert.equal((await plans.subscription(subscriptionId)).status, 'cancellation_scheduled');
});

test('a customer drops no add-on: with two items the plan is changed by the seller only', async () => {
  const { subscriptionId, look, send } = await openPortal();
  const newSubscriptionItems = [
    { priceId: proPrice, quantity: 1 },
    { priceSlug: 'support-monthly', quantity: 1 },
  ];
  await app.post(`/subscriptions/${subscriptionId}/adjust`, {
    adjustment: { timing: 'immediately', newSubscriptionItems },
  });
  const form = { priceId: proPrice, quantity: '1', shownDue: '0' };
  const at = `/portal/subscriptions/${subscriptionId}`;
  assert.equal((await send(`${at}/change`, form)).status, 409);
  assert.equal((await look(`${at}/plans`)).status, 409);
  assert.equal((await look(`${at}/change?priceId=${proPrice}`)).status, 409);
  const items = await app.owner
    .selectFrom('subscriptionItems')
    .select('name')
    .where('subscriptionId', '=', subscriptionId)
    .where('expiredAt', 'is', null)
    .execute();
  assert.equal(items.length, 2);
});

test('a customer changes its billing details, whose next invoice bears them, and nothing that the seller decides', async () => {
  const { externalId, customerId, look, send } = await openPortal();
  const put = (customer: Body) => app.request('PUT', `/customers/${externalId}`, { customer });
  await put({
    billingTerms: { netTermsDays: 45, memo: 'Thanks.' },
    billingAddress: { phone: '1', address: { country: 'DE' } },
  });
  const form = {
    ...{
      name: 'Ann & Sons',
      taxId: ' ATU12345678 ',
      purchaseOrderNumber: 'PO-9',
      invoiceEmails: 'ap@ann.test; jo@ann.test',
    },
    ...{ country: 'AT', line1: 'Ring 1', line2: '', city: 'Wien', state: '', postal_code: '1010', netTermsDays: '365' },
  };
  const wrong = { ...form, country: 'XX', invoiceEmails: 'ap@ann.test, jo', taxId: 'x'.repeat(256) };
  const refused = await send('/portal/details', wrong);
  assert.equal(refused.status, 422);
  const page = await refused.text();
  for (const text of ['Choose your country.', 'Enter email addresses', 'Enter at most 255', 'value="Ann &amp; Sons"'])
    assert(page.includes(text), text);
  assert.equal((await app.get(`/customers/${externalId}`)).customer.billingAddress.address.country, 'DE');
  assert.equal((await send('/portal/details', form)).headers.get('location'), '/portal?done=details');
  const { customer } = await app.get(`/customers/${externalId}`);
  assert.deepEqual(customer.billingTerms, {
    ...{ netTermsDays: 45, memo: 'Thanks.', taxId: 'ATU12345678', purchaseOrderNumber: 'PO-9' },
    invoiceEmails: ['ap@ann.test', 'jo@ann.test'],
  });
  const { name, phone, address } = customer.billingAddress;
  assert.deepEqual([name, phone, address.country, address.postal_code], ['Ann & Sons', '1', 'AT', '1010']);
  const again = await (await look('/portal/details')).text();
  for (const text of ['ATU12345678', 'PO-9', 'ap@ann.test, jo@ann.test']) assert(again.includes(text), text);
  const { invoice: draft } = await app.post('/invoices', {
    invoice: { customerId, lines: [{ description: 'Workshop', unitAmount: 100 }] },
  });
  const { invoice } = await app.post(`/invoices/${draft.id}/finalize`, {});
  assert.equal(invoice.purchaseOrderNumber, 'PO-9');
  const document = String((await app.request('GET', `/invoices/${invoice.id}/html`)).body);
  for (const text of ['Ann &amp; Sons', 'VAT ID: ATU12345678', '1010 Wien']) assert(document.includes(text), text);
  assert.equal((await send('/portal/details', { ...form, formToken: 'guessed' })).status, 403);
  // A form without its fields removes what may be empty.
  assert.equal((await send('/portal/details', { country: 'AT' })).status, 303);
  assert.deepEqual((await app.get(`/customers/${externalId}`)).customer.billingTerms, {
    netTermsDays: 45,
    memo: 'Thanks.',
  });
});

/** The price and quantity of each running item. */
async function itemsOf(externalId: string): Promise<[string, number][]> {
  const { currentSubscription } = await app.get(`/customers/${externalId}/billing`);
  return currentSubscription.subscriptionItems.map(({ price, quantity }: Body) => [price.slug, quantity]);
}

test('a form made by hand changes no quantity: not in a trial, not under a code of 100 %, not when paid', async () => {
  const free = { name: 'Free', code: 'ALL-OFF', amount: 100, amountType: 'percent', duration: 'forever' };
  await app.post('/discounts', { discount: { ...free, pricingModelId: plans.pricingModelId } });
  const teamPrice = plans.priceOf('team-monthly').id as string;
  for (const terms of [{ trialEnd: Date.now() + 14 * 86_400_000 }, { discountCode: 'ALL-OFF' }, {}]) {
    const { externalId, subscriptionId, look, send } = await openPortal(terms);
    const calls = await plans.calls(externalId, subscriptionId);
    const at = `/portal/subscriptions/${subscriptionId}`;
    for (const quantity of ['900000000', '2', '0', '-1', '1.0', '']) {
      const answer = await send(`${at}/change`, { priceId: teamPrice, quantity, shownDue: '99999999999999' });
      assert.equal(answer.status, 400, quantity);
      assert.match(await answer.text(), /The quantity must be 1: the seller has set it/);
      const own = await send(`${at}/change`, { priceId: proPrice, quantity, shownDue: '99999999999999' });
      assert.equal(own.status, 409, quantity);
    }
    assert.equal((await look(`${at}/change?priceId=${proPrice}&quantity=900000000`)).status, 409);
    assert.deepEqual(await itemsOf(externalId), [['pro-monthly', 1]]);
    assert.equal(await plans.calls(externalId, subscriptionId), calls);
  }
});

test('a change of plan keeps the quantity of three, also when its form is sent twice', async () => {
  const { externalId, subscriptionId, look, send } = await openPortal({ quantity: 3 });
  const at = `/portal/subscriptions/${subscriptionId}`;
  assert.doesNotMatch(await (await look(`${at}/plans`)).text(), /Choose Pro|Change quantity/);
  const priceId = plans.priceOf('team-monthly').id as string;
  const shown = await (await look(`${at}/change?priceId=${priceId}&quantity=9`)).text();
  assert.match(shown, /3 × \$30\.00/);
  assert.match(shown, /Includes, for each unit.*: [\d,]+ each month/s);
  assert.match(shown, /name="quantity" value="3"/);
  const form = { priceId, quantity: '3', shownDue: '0' };
  for (const _time of [1, 2])
    assert.equal((await send(`${at}/change`, form)).headers.get('location'), '/portal?done=changed');
  assert.deepEqual(await itemsOf(externalId), [['team-monthly', 3]]);
});

test('a declined change of plan in the portal leaves its failed payment, and the next one is invoice number 2', async () => {
  await app.post('/products', {
    product: { name: 'Max', slug: 'max', pricingModelId: plans.pricingModelId, active: true },
    price: { type: 'subscription', slug: 'max-monthly', name: 'Monthly', unitPrice: 9000, ...month },
  });
  const priceId = (await app.get('/prices?slug=max-monthly')).data[0].id as string;
  const { customerId, externalId, subscriptionId, send, paymentMethodId } = await openPortal();
  const change = () => send(`/portal/subscriptions/${subscriptionId}/change`, { priceId, shownDue: '6000' });
  const chargeOn = (defaultPaymentMethodId: string | null) =>
    app.owner.updateTable('subscriptions').set({ defaultPaymentMethodId }).where('id', '=', subscriptionId).execute();
  await chargeOn(await newCard(app, customerId, 'pm_card_chargeCustomerFail', {}));
  for (const _time of [1, 2]) assert.equal((await change()).status, 402);
  const billing = await app.get(`/customers/${externalId}/billing`);
  assert.deepEqual([billing.invoices.length, await itemsOf(externalId)], [1, [['pro-monthly', 1]]]);
  assert.equal((await app.get(`/payments?customerId=${customerId}&status=failed`)).total, 2);
  await chargeOn(paymentMethodId);
  assert.equal((await change()).headers.get('location'), '/portal?done=changed');
  const { data } = await app.get(`/invoices?subscriptionId=${subscriptionId}`);
  assert.deepEqual([data.length, /2$/.test(data[1].invoiceNumber), data[1].status], [2, true, 'paid']);
});

test('a product with limits lets the customer choose from 2 to 10, and a trial no more than it has', async () => {
  const product = { name: 'Seats', slug: 'seats', pricingModelId: plans.pricingModelId };
  const price = { type: 'subscription', slug: 'seats-monthly', unitPrice: 2000, ...month };
  const limits = { minimumQuantity: 2, maximumQuantity: 10 };
  const made = await app.post('/products', { product: { ...product, ...limits }, price });
  const priceId: string = made.product.defaultPrice?.id ?? (await app.get('/prices?slug=seats-monthly')).data[0].id;
  const paid = await openPortal();
  const at = `/portal/subscriptions/${paid.subscriptionId}/change`;
  for (const quantity of ['1', '11', '900000000', '2.0', '']) {
    const refused = await paid.send(at, { priceId, quantity, shownDue: '99999999999999' });
    assert.equal(refused.status, 400, quantity);
    assert.match(await refused.text(), /The quantity must be from 2 to 10/);
  }
  assert.match(await (await paid.look(`${at}?priceId=${priceId}&quantity=5`)).text(), /5 × \$20\.00/);
  const sent = await paid.send(at, { priceId, quantity: '5', shownDue: '99999999' });
  assert.equal(sent.headers.get('location'), '/portal?done=changed');
  assert.match(await (await paid.look(at.replace('change', 'plans'))).text(), /Change quantity/);
  assert.equal((await paid.send(at, { priceId, quantity: '7', shownDue: '99999999' })).status, 303);
  assert.deepEqual(await itemsOf(paid.externalId), [['seats-monthly', 7]]);
  const free = await openPortal({ trialEnd: Date.now() + 14 * 86_400_000 });
  const trial = `/portal/subscriptions/${free.subscriptionId}/change`;
  assert.equal((await free.send(trial, { priceId, quantity: '3', shownDue: '99999999' })).status, 400);
  assert.equal((await free.send(trial, { priceId, quantity: '2', shownDue: '99999999' })).status, 303);
  assert.deepEqual(await itemsOf(free.externalId), [['seats-monthly', 2]]);
});

test('signing out ends the visit and the link; a link made afterwards opens the portal', async () => {
  const { externalId, link, look, send } = await openPortal();
  assert.equal((await look('/portal')).status, 200);
  assert.match((await send('/portal/leave')).headers.get('set-cookie') ?? '', /^tollkeeper_portal=; .*Max-Age=0/);
  assert.equal((await look('/portal')).status, 403);
  const again = await enter(link);
  assert.equal((await fetch(`${app.url}/portal`, { headers: { cookie: again } })).status, 403);
  const { portalSession } = await app.post(`/customers/${externalId}/portal-sessions`, {});
  const cookie = await enter(portalSession.url);
  assert.equal((await fetch(`${app.url}/portal`, { headers: { cookie } })).status, 200);
});

test('the seller revokes the links of a customer; a dry run revokes none, and the audit log has it', async () => {
  const { externalId, customerId, look } = await openPortal();
  const path = `/customers/${externalId}/portal-sessions`;
  assert.equal((await app.request('DELETE', `${path}?dryRun=true`)).status, 200);
  assert.equal((await look('/portal')).status, 200);
  assert.equal((await app.request('DELETE', path)).body.customer.id, customerId);
  assert.equal((await look('/portal')).status, 403);
  const { data } = await app.get(`/audit-log?recordId=${customerId}&limit=100`);
  const revoked = data.filter(({ action }: Body) => action === 'DELETE /customers/{externalId}/portal-sessions');
  assert.equal(revoked.length, 1);
});

test('a word that every object knows is no text of ours', async () => {
  const { look } = await openPortal();
  const usual = await (await look('/portal?done=nothing')).text();
  for (const word of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const answer = await look(`/portal?done=${word}`);
    assert.equal(answer.status, 200, word);
    assert.equal(await answer.text(), usual, word);
  }
});

test('a form with a guessed token or that of another visit does nothing, and no guessed cookie opens a portal', async () => {
  const [own, other] = [await openPortal(), await openPortal()];
  const path = `/portal/subscriptions/${own.subscriptionId}/cancel`;
  const altered = (text: string) => `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`;
  for (const formToken of ['', 'A'.repeat(43), '__proto__', other.formToken, altered(own.formToken)])
    assert.equal((await own.send(path, { formToken })).status, 403, formToken);
  for (const cookie of [altered(own.cookie), `${own.cookie}A`, own.cookie.replace(own.customerId, other.customerId)])
    if (cookie !== own.cookie)
      assert.equal((await fetch(`${app.url}/portal`, { headers: { cookie }, redirect: 'manual' })).status, 403, cookie);
  assert.equal((await plans.subscription(own.subscriptionId)).status, 'active');
});

test('no form of a portal reaches what another customer has', async () => {
  const [own, other] = [await openPortal(), await openPortal()];
  const before = await app.get(`/customers/${other.externalId}/billing`);
  const [{ invoice }] = before.invoices;
  const payments = await app.get(`/payments?customerId=${other.customerId}`);
  const at = `/portal/subscriptions/${other.subscriptionId}`;
  for (const path of [
    ...['cancel', 'uncancel', 'keep', 'pay', 'change'].map((word) => `${at}/${word}`),
    `/portal/invoices/${invoice.id}/pay`,
    `/portal/payments/${payments.data[0].id}/confirmed`,
    `/portal/payment-methods/${before.paymentMethods[0].id}/default`,
  ]) {
    const { status, headers } = await own.send(path, { priceId: proPrice, quantity: '1', shownDue: '0' });
    assert([303, 400, 404, 409].includes(status), `${path}: ${status}`);
    assert.doesNotMatch(headers.get('location') ?? '', /done=/, path);
  }
  assert.deepEqual(await app.get(`/customers/${other.externalId}/billing`), before);
});

/** The attempts of the customer that have failed, by the database. */
async function failuresOf(customerId: string): Promise<number> {
  const counts = app.owner.selectFrom('attemptCounts').select('failures');
  return (await counts.where('id', '=', `payment customer ${customerId}`).executeTakeFirst())?.failures ?? 0;
}

let clock = Date.now();
async function wait(ms: number): Promise<void> {
  clock += ms;
  await app.setClock(clock);
}

test('declined cards that are added in the portal, 20 at once, are ten at most; then its links are closed, and told once', async () => {
  await wait(0);
  const { customerId, externalId, link, look, send } = await openPortal();
  const before = await app.get(`/customers/${externalId}/billing`);
  const card = { cardNumber: '4000000000000002', cardExpiry: '12/34', cardCode: '123' };
  const add = async () => (await send('/portal/payment-methods', card)).status;
  const statuses = await Promise.all(Array.from({ length: 20 }, add));
  for (const status of statuses) assert([402, 403, 429, 503].includes(status), `${status}`);
  // Attempts in flight count until they have ended, so the first one that ends may be the last.
  for (let left = 10; left > 0 && (await look('/portal')).status === 200; left--) {
    await wait(3_600_000);
    // The one that finds no attempt left closes the links.
    assert([402, 403].includes(await add()));
  }
  const counted = await failuresOf(customerId);
  assert(counted >= 1 && counted <= 10, `${counted} counted`);
  assert.deepEqual([await add(), (await look('/portal')).status], [403, 403]);
  const cookie = await enter(link);
  assert.equal((await fetch(`${app.url}/portal`, { headers: { cookie } })).status, 403);
  const told = await app.get(`/events?type=attempts.limit_reached&objectId=${customerId}`);
  assert.deepEqual(
    told.data.map(({ payload }: Body) => payload.attempts),
    [{ kind: 'payment', scope: 'link' }],
  );
  const { customer: _, billingPortalUrl: _url, ...kept } = await app.get(`/customers/${externalId}/billing`);
  const { customer: _before, billingPortalUrl: _urlBefore, ...had } = before;
  assert.deepEqual(kept, had);
});

test('an owed invoice that is paid by 20 forms at once with a bad card is charged ten times at most, one at a time', async () => {
  const { customerId, subscriptionId, send } = await openPastDuePortal();
  const failed = async () => (await app.get(`/payments?customerId=${customerId}&status=failed`)).total as number;
  const renewing = await failed();
  const pay = async () => (await send(`/portal/subscriptions/${subscriptionId}/pay`)).status;
  const statuses = await Promise.all(Array.from({ length: 20 }, pay));
  for (const status of statuses) assert([303, 402, 403, 409, 429, 503].includes(status), `${status}`);
  // One that met a busy service stays counted, whether its card was charged or not.
  const [charged, counted] = [(await failed()) - renewing, await failuresOf(customerId)];
  assert(charged <= counted && counted <= 10, `${charged} charged, ${counted} counted: ${statuses}`);
  assert.equal((await app.get(`/invoices?customerId=${customerId}`)).total, 2);
});

test('the button of an invoice charges no more than it names: not 30.00 where 10.00 of it had been credited', async () => {
  const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
  const lines = [{ description: 'Workshop', unitAmount: 3000 }];
  const invoice = { customerExternalId: externalId, netTermsDays: 30, lines };
  const { id } = (await app.post('/invoices', { invoice })).invoice;
  const [line] = (await app.post(`/invoices/${id}/finalize`)).invoiceLineItems;
  const credited = { lines: [{ invoiceLineItemId: line.id, amount: 1000 }], settle: 'offset' };
  const { creditNote } = await app.post(`/invoices/${id}/credit-notes`, { creditNote: credited });
  const { read, send } = await openPortalOf(app, externalId);
  const shown = /name="shownDue" value="(\d+)">\s*<button[^>]*>Pay \$(\d+)\.00</;
  assert.deepEqual(shown.exec(await read('/portal'))?.slice(1), ['2000', '20']);
  await app.post(`/credit-notes/${creditNote.id}/void`);
  const refused = await send(`/portal/invoices/${id}/pay`, { shownDue: '2000' });
  assert.equal(refused.status, 409);
  const page = await refused.text();
  assert.match(page, /The amount has changed\. Please review it\./);
  assert.equal((await app.get(`/payments?customerId=${customerId}`)).total, 0);
  const [, shownDue = ''] = shown.exec(page) ?? [];
  assert.equal((await send(`/portal/invoices/${id}/pay`, { shownDue })).status, 303);
  const { data } = await app.get(`/payments?customerId=${customerId}`);
  assert.deepEqual([data.length, data[0].amount, data[0].status], [1, 3000, 'succeeded']);
});

test('a charge whose outcome is refused, because the links were closed meanwhile, stays counted', async () => {
  const { customerId, subscriptionId, send } = await openPastDuePortal();
  for (const { owner } of app.cells) {
    await sql`
      create function close_links() returns trigger language plpgsql as $$
      begin
        update customers set portal_version = portal_version + 1 where id = new.customer_id;
        return null;
      end $$`.execute(owner);
    await sql`create trigger close_links after insert on payments for each row execute function close_links()`.execute(
      owner,
    );
  }
  assert.equal((await send(`/portal/subscriptions/${subscriptionId}/pay`)).status, 403);
  for (const { owner } of app.cells) await sql`drop function close_links cascade`.execute(owner);
  assert.equal(await failuresOf(customerId), 1);
});

test('a customer adds an add-on, keeps it with another plan, and removes it; a trial and a plan of two give none', async () => {
  const product = { name: 'Backup', slug: 'backup', pricingModelId: plans.pricingModelId, active: true, addOn: true };
  const limits = { minimumQuantity: 1, maximumQuantity: 3 };
  const price = { type: 'subscription', slug: 'backup-monthly', name: 'Monthly', unitPrice: 700, ...month };
  await app.post('/products', { product: { ...product, ...limits }, price });
  const priceOf = async (slug: string): Promise<string> =>
    (await app.get(`/prices?slug=${slug}&active=true`)).data[0].id;
  const [backup, support] = [await priceOf('backup-monthly'), await priceOf('support-monthly')];
  const slugsOf = async (id: string): Promise<[string, number][]> => {
    const asOf = { timing: 'immediately', newSubscriptionItems: [{ priceId: proPrice }] };
    const { currentSubscriptionItems } = await app.post(`/subscriptions/${id}/preview-adjust`, { adjustment: asOf });
    return currentSubscriptionItems.map((item: Body) => [item.priceId, item.quantity]);
  };
  const { subscriptionId, look, send } = await openPortal();
  const at = `/portal/subscriptions/${subscriptionId}`;
  const offered = await (await look(`${at}/plans`)).text();
  assert.match(offered, /Add-ons[\s\S]*Backup[\s\S]*Add Backup/);
  const step = await (await look(`${at}/change?priceId=${backup}&quantity=2`)).text();
  assert.match(step, /with Backup/);
  const shownDue = /name="shownDue" value="(\d+)"/.exec(step)?.[1] ?? '';
  assert.equal((await send(`${at}/change`, { priceId: backup, quantity: '4', shownDue })).status, 400);
  const add = () => send(`${at}/change`, { priceId: backup, quantity: '2', shownDue });
  assert.equal((await add()).headers.get('location'), '/portal?done=changed');
  assert.deepEqual(await slugsOf(subscriptionId), [
    [proPrice, 1],
    [backup, 2],
  ]);
  // Sent again, it finds its work done.
  assert.equal((await add()).headers.get('location'), '/portal?done=changed');
  const asked = await (await look(`${at}/change?priceId=${support}`)).text();
  assert.match(asked, /to Support/);
  const plan = await send(`${at}/change`, { priceId: support, shownDue: '0' });
  assert.equal(plan.headers.get('location'), '/portal?done=scheduled');
  assert.equal((await send(`${at}/keep`)).headers.get('location'), '/portal?done=kept');
  const removal = { priceId: backup, remove: 'true', shownDue: '0' };
  assert.match(await (await look(`${at}/change?priceId=${backup}&remove=true`)).text(), /without Backup/);
  assert.equal((await send(`${at}/change`, removal)).headers.get('location'), '/portal?done=scheduled');
  // The removal of a plan is no change, and a trial gives no add-on that nobody pays for.
  const { now } = (await app.get('/test-clock')).testClock;
  const trial = await openPortal({ trialEnd: now + 86_400_000 });
  const inTrial = `/portal/subscriptions/${trial.subscriptionId}`;
  assert.doesNotMatch(await (await trial.look(`${inTrial}/plans`)).text(), /Backup/);
  assert.equal((await trial.send(`${inTrial}/change`, { priceId: backup, shownDue: '0' })).status, 404);
  assert.deepEqual(await slugsOf(trial.subscriptionId), [[proPrice, 1]]);
  const none = { priceId: proPrice, remove: 'true', shownDue: '0' };
  assert.equal((await trial.send(`${inTrial}/change`, none)).headers.get('location'), '/portal?done=changed');
  assert.deepEqual(await slugsOf(trial.subscriptionId), [[proPrice, 1]]);
});

test('a customer with prices of its own sees and pays them by a link and in the portal, and nobody else does', async () => {
  const { usageMeter } = await app.post('/usage-meters', {
    usageMeter: { name: 'Answers', slug: 'answers', pricingModelId: plans.pricingModelId },
    price: { unitPrice: 5 },
  });
  const [answers] = (await app.get(`/prices?usageMeterId=${usageMeter.id}`)).data.filter(
    ({ unitPrice }: Body) => unitPrice === 5,
  );
  const desk = await app.post('/products', {
    product: { name: 'Desk', slug: 'desk', pricingModelId: plans.pricingModelId, active: true, maximumQuantity: 9 },
    price: { type: 'subscription', slug: 'desk-monthly', unitPrice: 3000, ...month },
  });
  const [price] = (await app.get(`/prices?productId=${desk.product.id}`)).data;
  const priceOverrides = [
    { priceSlug: 'desk-monthly', unitPrice: 2000 },
    { priceId: answers.id, unitPrice: 3 },
  ];
  const { externalId, subscriptionId, look, send } = await openPortal({ priceId: price.id, priceOverrides });
  const session = { type: 'product', customerExternalId: externalId, priceSlug: 'desk-monthly', quantity: 2 };
  const urls = { successUrl: 'https://app.test/paid', cancelUrl: 'https://app.test/plans' };
  const { url } = await app.post('/checkout-sessions', { checkoutSession: { ...session, ...urls } });
  const link = await (await fetch(url.replace(/^https?:\/\/[^/]+/, app.url))).text();
  const at = `/portal/subscriptions/${subscriptionId}`;
  const change = `${at}/change?priceId=${price.id}&quantity=2`;
  for (const text of [link, await (await look(change)).text()]) {
    assert.match(text, /2 × \$20\.00 per month/);
    assert.match(text, /Answers: \$0\.03 each/);
    assert.doesNotMatch(text, /\$[36]0\.00/);
  }
  assert.match(await (await look(`${at}/plans`)).text(), /Desk<\/bdi><\/strong>\n<p class="terms">\$20\.00 per month/);
  const answer = await send(`${at}/change`, { priceId: price.id, quantity: '2', shownDue: '2000' });
  assert.equal(answer.headers.get('location'), '/portal?done=changed');
  const paid = (await app.get(`/payments?subscriptionId=${subscriptionId}`)).data.map(({ amount }: Body) => amount);
  assert.equal(
    paid.reduce((sum: number, amount: number) => sum + amount, 0),
    4000,
  );
  const other = await openPortal({ priceId: price.id });
  const elsewhere = await (await other.look(`/portal/subscriptions/${other.subscriptionId}/plans`)).text();
  assert.match(elsewhere, /Desk<\/bdi><\/strong>\n<p class="terms">\$30\.00 per month/);
});

test('the portal sells what gives credits and is paid once, by a checkout that charges once, to who can hold it', async () => {
  const { data } = await app.get(`/features?pricingModelId=${plans.pricingModelId}&limit=100`);
  const featureOf = (slug: string): string => data.find((feature: Body) => feature.slug === slug).id;
  const once = { type: 'single_payment', unitPrice: 1000, isDefault: true, active: true };
  const sell = async (name: string, more: Body = {}) => {
    const product = {
      name,
      slug: name.toLowerCase(),
      pricingModelId: plans.pricingModelId,
      active: true,
      ...more.product,
    };
    const price = { ...once, slug: `${name}-once`, name, ...more.price };
    const made = await app.post('/products', {
      product,
      price,
      featureIds: more.featureIds ?? [featureOf('monthly-calls')],
    });
    return (await app.get(`/prices?productId=${made.product.id}`)).data[0].id as string;
  };
  const packId = await sell('Pack', { product: { description: 'For a busy day' } });
  const setupId = await sell('Setup', { featureIds: [featureOf('sso')] });
  const oldId = await sell('Old');
  const { productId } = (await app.get(`/prices/${oldId}`)).price;
  await app.request('PUT', `/products/${productId}`, { product: { active: false } });
  const { customerId, externalId, subscriptionId, look, send } = await openPortal();
  const page = await (await look('/portal')).text();
  assert.match(page, /Pack<\/bdi><\/strong> \$10\.00 once[\s\S]*For a busy day[\s\S]*Calls of a month: 1,000/);
  for (const name of ['Buy Setup', 'Buy Old']) assert(!page.includes(name), page.slice(page.indexOf('<h1>')));
  for (const priceId of [setupId, oldId, proPrice, 'price_unknown'])
    assert.equal((await send('/portal/top-ups', { priceId })).status, 404, priceId);

  // The form is sent twice: two checkouts are open, and nothing is charged until one of them is paid.
  const [answer] = await Promise.all([1, 2].map(() => send('/portal/top-ups', { priceId: packId })));
  assert.equal((await app.get(`/payments?customerId=${customerId}`)).total, 1);
  const checkout = new URL(answer?.headers.get('location') ?? '');
  const paymentMethodId: string = (await app.get(`/customers/${externalId}/billing`)).paymentMethods[0].id;
  const pay = () =>
    fetch(app.url + checkout.pathname + checkout.search, {
      method: 'POST',
      headers: { origin: app.url },
      body: new URLSearchParams({
        step: 'pay',
        name: 'Acme',
        email: 'acme@acme.test',
        country: 'FR',
        shownDue: '1000',
        paymentMethodId,
      }),
      redirect: 'manual',
    });
  assert.equal(await plans.calls(externalId, subscriptionId), 1500);
  assert.deepEqual(
    (await Promise.all([pay(), pay()])).map(({ status }) => status),
    [303, 303],
  );
  const payments = (await app.get(`/payments?customerId=${customerId}&status=succeeded`)).data;
  assert.deepEqual(payments.map(({ amount }: Body) => amount).sort(), [1000, 3000]);
  assert.equal(await plans.calls(externalId, subscriptionId), 2500);

  await app.post(`/subscriptions/${subscriptionId}/cancel`, {
    cancellation: { timing: 'immediately', reason: 'other' },
  });
  assert.match(await (await look('/portal')).text(), /Buy Pack/, 'the free plan holds credits too');
});

test('the portal draws the usage of the last 30 days: 30 and 10 calls are a bar and one of a third, of no one else', async () => {
  const { subscriptionId, look } = await openPortal();
  const other = await openPortal();
  const { startDate } = await plans.subscription(subscriptionId);
  const today = Math.floor(startDate / 86_400_000) * 86_400_000;
  assert.doesNotMatch(await (await look('/portal')).text(), /class="chart"/);
  const use = (id: string, amount: number, daysAgo: number) =>
    app.post('/usage-events', {
      usageEvent: {
        subscriptionId: id,
        priceSlug: 'call-overage',
        transactionId: `${id}-${daysAgo}`,
        amount,
        usageDate: today - daysAgo * 86_400_000 + 3_600_000,
      },
    });
  for (const [amount, daysAgo] of [
    [10, 3],
    [30, 2],
    [700, 30],
    [4000, 45],
  ] as const)
    await use(subscriptionId, amount, daysAgo);
  await use(other.subscriptionId, 5, 45);
  const page = await (await look('/portal')).text();
  assert.match(page.slice(page.indexOf('<h1>')), /API calls: 40 in the last 30 days, most on [^<]+ with 30\./);
  const days = (page.match(/<ol class="chart">([\s\S]*?)<\/ol>/)?.[1] ?? '').split('</li>').slice(0, -1);
  const barOf = (text: string) => /^<li( tabindex="0")?.+ height="(\d+)".+ · (\d+)<\/span>$/.exec(text)?.slice(1);
  assert.equal(days.length, 30);
  assert.deepEqual(days.slice(-4).map(barOf), [
    [' tabindex="0"', '34', '10'],
    [' tabindex="0"', '100', '30'],
    [undefined, '3', '0'],
    [undefined, '3', '0'],
  ]);
  // Of the last 90 days the largest is 45 days ago.
  const longer = await (await look('/portal?days=90')).text();
  assert.match(longer, /API calls: 4,740 in the last 90 days, most on [^<]+ with 4,000\./);
  assert.match(await (await other.look('/portal')).text(), /API calls: no usage in the last 30 days\./);
});
