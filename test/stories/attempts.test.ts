import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { performCheckout } from '../../src/checkout/jobs.ts';
import type { Work } from '../../src/database/work.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { slotOf } from '../../src/kernel/id.ts';
import type { Problem } from '../../src/kernel/problem.ts';
import { customerSubject, takeAttempt } from '../../src/payments/actions-attempts.ts';
import { type AttemptLimits, type AttemptReport, attemptLimits } from '../../src/payments/attempt.ts';
import { openCheckout } from '../support/checkout-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

// Attacks with stolen cards and guessed codes, over HTTP. The clock stands still, as in an attack.
const reports: AttemptReport[] = [];
const onLimitedAttempt = (report: AttemptReport) => void reports.push(report);
const app = await startTestApp({ services: { onLimitedAttempt } });
const checkout = await openCheckout(app);
const { plans } = checkout;

const other = await app.startOther();
after(other.close);
const addresses = [app.url, other.url];
const processes = addresses.length;

const details = { name: 'Eve', email: 'eve@example.com', country: 'US' };
const declining = { cardNumber: '4000000000000341', cardExpiry: '12/34', cardCode: '123' };

/** Sends a form of a page to one of the processes, as a browser does. */
async function send(path: string, form: Readonly<Record<string, string>>, process = 0): Promise<number> {
  const address = addresses[process] ?? '';
  const response = await fetch(`${address}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: address },
    body: new URLSearchParams(form),
  });
  await response.text();
  return response.status;
}

async function newLink(session: Body): Promise<{ id: string; path: string }> {
  const requested = { type: 'product', priceSlug: 'pro-monthly', ...session };
  const { checkoutSession, url } = await app.post('/checkout-sessions', {
    checkoutSession: { successUrl: 'https://app.test/paid', cancelUrl: 'https://app.test', ...requested },
  });
  const { pathname, search } = new URL(url);
  return { id: checkoutSession.id, path: `${pathname}${search}` };
}

const pay = (path: string, card: Readonly<Record<string, string>> = declining, process = 0) =>
  send(path, { ...details, step: 'pay', shownDue: '3000', ...card }, process);

async function failedPayments(customerId: string): Promise<number> {
  return (await app.get(`/payments?customerId=${customerId}&status=failed`)).total;
}

async function eventsAbout(objectId: string): Promise<Body[]> {
  const { data } = await app.get(`/events?type=attempts.limit_reached&objectId=${objectId}&limit=100`);
  return data.map(({ payload }: Body) => payload.attempts);
}

let clock = instant('2026-06-01');
async function wait(ms: number): Promise<void> {
  clock += ms;
  await app.setClock(clock);
}

test('50 declined cards on one link are four charges at once and ten in all; then the link is closed, and told once', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const { id, path } = await newLink({ customerExternalId: externalId });
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 50; attempt++) statuses.push(await pay(path, declining, attempt % processes));
  assert.deepEqual([...new Set(statuses)].sort(), [402, 429]);
  assert.equal(statuses.filter((status) => status === 402).length, 4);
  // The waits are 10, 20, 40, 80, 160 and 320 seconds.
  for (let round = 0, delay = 10_000; round < 6; round++, delay *= 2) {
    await wait(delay);
    assert.deepEqual([await pay(path), await pay(path)], round < 5 ? [402, 429] : [402, 303]);
  }
  assert.equal(await failedPayments(customerId), 10);
  // Each decline has left its payment, and all together one purchase.
  const { subscriptions, invoices, purchases } = await checkout.billing(externalId);
  assert.deepEqual([subscriptions.length, invoices, purchases], [1, [], []]);
  assert.equal((await app.get(`/purchases?customerId=${customerId}`)).total, 1);
  assert.equal((await checkout.session(id)).status, 'failed');
  assert.deepEqual(await eventsAbout(id), [{ kind: 'payment', scope: 'link' }]);
  await wait(86_400_000);
  assert.equal(await pay(path), 303);
  assert.equal(await failedPayments(customerId), 10);
});

test('100 parallel attempts are no more than the limit, and neither are 20 forms over two processes', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const { path } = await newLink({ customerExternalId: externalId });
  const statuses = await Promise.all(Array.from({ length: 20 }, (_, index) => pay(path, declining, index % processes)));
  const charged = statuses.filter((status) => status === 402).length;
  assert(charged >= 1 && charged <= 10, `${charged} of 20`);
  assert.equal(await failedPayments(customerId), charged);

  const attempt = { kind: 'payment', link: `${customerId} 0`, customerId: null } as const;
  const take = (work: Work) => takeAttempt(work, app.services, attempt, () => customerSubject(work, customerId));
  const taken = await Promise.allSettled(Array.from({ length: 100 }, () => app.inEnvironment(take)));
  assert.equal(taken.filter(({ status }) => status === 'fulfilled').length, 10);
});

test('a buyer who mistypes a card three times pays with the fourth at once', async () => {
  const { externalId, customerId } = await plans.newCustomer();
  const { id, path } = await newLink({ customerExternalId: externalId });
  for (let attempt = 0; attempt < 3; attempt++) assert.equal(await pay(path), 402);
  assert.equal(await pay(path, { ...declining, cardNumber: '4242424242424242' }), 303);
  assert.equal((await checkout.session(id)).status, 'succeeded');
  assert.deepEqual(await checkout.payments(customerId), [
    ['failed', 3000],
    ['failed', 3000],
    ['failed', 3000],
    ['succeeded', 3000],
  ]);
});

test('100 guesses do not find a code of three characters; the right one, after three mistakes, works', async () => {
  const { discount } = await app.post('/discounts', {
    discount: { name: 'Ten', code: 'K7Q', amountType: 'percent', amount: 10, duration: 'once' },
  });
  const { id, path } = await newLink({ anonymous: true });
  const guess = (code: string, process = 0) => send(path, { ...details, step: 'review', discountCode: code }, process);
  const statuses: number[] = [];
  const codes = Array.from({ length: 99 }, (_, number) => `X${number.toString(36).padStart(2, '0')}`);
  for (const [number, code] of [...codes, discount.code].entries())
    statuses.push(await guess(code, number % processes));
  assert.deepEqual([...new Set(statuses)].sort(), [422, 429]);
  assert.equal(statuses.filter((status) => status === 422).length, 4);
  for (let round = 0, delay = 10_000; round < 6; round++, delay *= 2) {
    await wait(delay);
    assert.equal(await guess(`Y${round}Y`), 422);
  }
  assert.equal((await checkout.session(id)).status, 'failed');
  assert.deepEqual(await eventsAbout(id), [{ kind: 'discount_code', scope: 'link' }]);

  const honest = await newLink({ anonymous: true });
  const enter = (code: string) => send(honest.path, { ...details, step: 'review', discountCode: code });
  assert.deepEqual([await enter('K7O'), await enter('K70'), await enter('KQ7')], [422, 422, 422]);
  assert.deepEqual([await enter('k7q'), await enter('k7q')], [200, 200]);
});

test('the limit of a customer holds over its links and over the API, where it is 429 with Retry-After', async () => {
  const { customerId } = await plans.newCustomer();
  const paymentMethod = { customerId, token: 'pm_card_chargeCustomerFail' };
  const { id: paymentMethodId } = (await app.post('/payment-methods', { paymentMethod })).paymentMethod;
  const subscribe = () =>
    app.request('POST', '/subscriptions', {
      customerId,
      priceSlug: 'pro-monthly',
      defaultPaymentMethodId: paymentMethodId,
    });
  for (let attempt = 0; attempt < 20; attempt++) assert.equal((await subscribe()).status, 402);
  await wait(3_600_000);
  const refused = await subscribe();
  assert.deepEqual([refused.status, refused.body.reason], [429, 'too_many_attempts']);
  const purchase = { customerId, priceSlug: 'pro-monthly', paymentMethodId };
  const last = await app.request('POST', '/purchases', { purchase });
  // The count began an hour ago.
  assert.deepEqual([last.status, last.headers.get('retry-after')], [429, String(23 * 3_600)]);
  assert.equal(await failedPayments(customerId), 20);
  assert.deepEqual(await eventsAbout(customerId), [{ kind: 'payment', scope: 'customer' }]);
  await wait(23 * 3_600_000);
  assert.equal((await subscribe()).status, 402);
});

test('cards that are declined when they are attached count too, and a good one beyond the limit tells nothing', async () => {
  const { customerId } = await plans.newCustomer();
  const key = { customerId };
  const attach = (token: string, headers = {}, query = '') =>
    app.request('POST', `/payment-methods${query}`, { paymentMethod: { ...key, token } }, { headers });
  const declined = 'pm_card_chargeDeclined';
  assert.equal((await attach(declined, {}, '?dryRun=true')).status, 402);
  const once = { 'idempotency-key': `card-${customerId}` };
  assert.deepEqual([(await attach(declined, once)).status, (await attach(declined, once)).status], [402, 402]);
  assert.equal((await attach('pm_card_visa')).status, 200);
  const answers = await Promise.all(Array.from({ length: 30 }, () => attach(declined)));
  assert.deepEqual(
    [402, 429].map((status) => answers.filter((each) => each.status === status).length),
    [18, 12],
  );
  assert.equal((await attach('pm_card_mastercard')).status, 429);
  assert.deepEqual(await eventsAbout(customerId), [{ kind: 'payment', scope: 'customer' }]);
  assert.equal((await app.get(`/payment-methods?customerId=${customerId}`)).total, 1);
});

test('the limits of an address and of an environment hold over all links', async () => {
  await wait(2 * 86_400_000);
  const outcomes: string[] = [];
  const attemptFrom = async (network: string, limits: Partial<AttemptLimits>) => {
    const sessionId = await checkout.open({ anonymous: true, priceSlug: 'pro-monthly' });
    const services = { ...app.services, attemptLimits: { ...attemptLimits, ...limits } };
    const place = { environmentId: app.testEnvironmentId, publicUrl: app.url, sessionId, network };
    const card = { name: 'Eve', email: 'eve@example.com', token: 'pm_card_chargeCustomerFail' };
    await performCheckout({ ...app, services, database: app.databaseOf(slotOf(sessionId)) }, place, card).then(
      ({ status }) => outcomes.push(status),
      (error: Problem) => outcomes.push(error.problem),
    );
  };
  for (let buyer = 0; buyer < 4; buyer++) await attemptFrom('203.0.113.7', { network: 3 });
  await attemptFrom('203.0.113.8', { network: 3 });
  assert.deepEqual(outcomes.splice(0), ['open', 'open', 'open', 'tooManyAttempts', 'open']);
  for (let buyer = 0; buyer < 3; buyer++) await attemptFrom(`203.0.113.1${buyer}`, { environment: 6 });
  assert.deepEqual(outcomes, ['open', 'open', 'tooManyAttempts']);
  assert.deepEqual(
    reports
      .filter(({ scope }) => scope === 'network' || scope === 'environment')
      .map((each) => [each.scope, each.result]),
    [
      ['network', 'limit_reached'],
      ['network', 'refused'],
      ['environment', 'limit_reached'],
      ['environment', 'refused'],
    ],
  );
});

test('a paid purchase takes one failure off, so the declines of a busy seller do not add up', async () => {
  await wait(2 * 86_400_000);
  const key = { customerId: (await plans.newCustomer()).customerId };
  const attach = async (token: string) =>
    (await app.post('/payment-methods', { paymentMethod: { ...key, token } })).paymentMethod.id as string;
  const [bad, good] = [await attach('pm_card_chargeCustomerFail'), await attach('pm_card_visa')];
  const buy = async (paymentMethodId: string) => {
    const purchase = { ...key, priceId: checkout.bookPriceId, paymentMethodId };
    return (await app.request('POST', '/purchases', { purchase })).status;
  };
  for (let round = 0; round < 6; round++) assert.deepEqual([await buy(bad), await buy(good)], [402, 200]);
});

test('a purchase that is sent several times at once under one key takes its attempt off once', async () => {
  const { customerId } = await plans.newCustomer();
  const attach = async (token: string) =>
    (await app.post('/payment-methods', { paymentMethod: { customerId, token } })).paymentMethod.id as string;
  const [bad, good] = [await attach('pm_card_chargeCustomerFail'), await attach('pm_card_visa')];
  const buy = (paymentMethodId: string, headers = {}) =>
    app.request(
      'POST',
      '/purchases',
      { purchase: { customerId, priceId: checkout.bookPriceId, paymentMethodId } },
      { headers },
    );
  for (let attempt = 0; attempt < 5; attempt++) assert.equal((await buy(bad)).status, 402);
  const once = { 'idempotency-key': `at-once-${customerId}` };
  const answers = await Promise.all(Array.from({ length: 6 }, () => buy(good, once)));
  for (const { status } of answers) assert([200, 409].includes(status), `${status}`);
  // Five have failed, and the one that is paid takes one of them with it.
  const counts = app.owner.selectFrom('attemptCounts').select('failures').where('scope', '=', 'customer');
  const { failures } = await counts.where('id', 'like', `% ${customerId}`).executeTakeFirstOrThrow();
  assert.equal(failures, 4);
});

test('the audit log tells of a limit that was reached, and of the session that it closed', async () => {
  const { data } = await app.get('/audit-log?record=attemptCount&limit=100');
  assert(data.length > 0);
  for (const entry of data) assert.equal(entry.operation, 'update');
});

test('the books are right after all of this', () => assertSound(app));
