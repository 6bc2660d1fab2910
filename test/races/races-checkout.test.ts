import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { adjustSubscription } from '../../src/billing/adjust.ts';
import { settlePayments, settleReported } from '../../src/billing/settle-payment.ts';
import { createProcessors } from '../../src/payments/actions.ts';
import { findChargedPayments, performCharges } from '../../src/payments/actions-settle.ts';
import { NewAdjustment } from '../../src/subscriptions/adjustment-input.ts';
import { buyNow } from '../support/buying.ts';
import type { Answer, Body } from '../support/harness.ts';
import { openShop, paidAmounts } from '../support/pages-fixture.ts';
import { monthly, newProduct, unique } from '../support/pricing-fixture.ts';
import { assertStatuses, countOf, meet, moneyMoved, rounds, untilWaiting } from '../support/race.ts';
import { assertSound } from '../support/sound.ts';
import { atOnce } from '../support/spending.ts';

const shop = await openShop();
const { app, plans } = shop;
const dayMs = 24 * 3_600_000;
// What the shop sells was made before, in real time.
const begun = Date.now() + dayMs;
await app.setClock(begun);

const card = { cardNumber: '4242424242424242', cardExpiry: '12/34', cardCode: '123' };
const order = { quantity: '1', discountCode: '', country: 'DE', ...card, step: 'pay', shownDue: '3000' };
// Only who confirms writes: who looks at a price reads.
const buying = { table: 'checkout_sessions', on: 'update', when: "new.status = 'pending'" } as const;

/** A form as a browser sends it from our own page. */
async function sendForm(url: string, form: Record<string, string>, cookie = ''): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(url).origin, cookie },
    body: new URLSearchParams(form).toString(),
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

const confirm = (url: string) => sendForm(url, order);

/** A customer with several links to the same plan. */
async function newBuyer(links = 1) {
  const customer = await plans.newCustomer();
  const requested = {
    type: 'product',
    customerExternalId: customer.externalId,
    priceId: plans.priceOf('pro-monthly').id,
  };
  const sessions: { id: string; url: string }[] = [];
  for (let link = 0; link < links; link++) sessions.push(await shop.newSession(requested));
  const [first = assert.fail('one link at least')] = sessions;
  return { ...customer, sessions, ...first };
}

/** Asserts that the customer has bought the plan once, and paid for it once. */
async function assertBoughtOnce({ customerId, externalId }: { customerId: string; externalId: string }): Promise<void> {
  assert.deepEqual(await paidAmounts(app, customerId), [3000]);
  const { charges, charged } = await moneyMoved(app, customerId);
  assert.deepEqual([charges, charged], [1, 3000n]);
  const { data } = await app.get(`/purchases?customerId=${customerId}`);
  assert.deepEqual(
    data.map(({ status }: Body) => status),
    ['paid'],
  );
  const { currentSubscriptions, invoices } = await shop.billing(externalId);
  assert.deepEqual(
    currentSubscriptions.map(({ status }: Body) => status),
    ['active'],
  );
  assert.equal(invoices.length, 1);
}

describe('race: duplicate checkout', () => {
  test('a form that is sent again while its purchase is being written, and another link, buy nothing more', async () => {
    const buyer = await newBuyer(2);
    const [one, other] = buyer.sessions.map(({ url }) => url);
    assert(one && other);
    const answers = await meet<Answer, Answer>(
      app,
      buying,
      () => confirm(one),
      () => confirm(one),
      () => confirm(other),
      () => confirm(other),
    );
    assertStatuses(answers, [200, 303, 409]);
    await assertBoughtOnce(buyer);
    assert.equal((await shop.billing(buyer.externalId)).paymentMethods.length, 1);
  });

  // One round of 16: each form reckons what it would cost several times and holds the customer meanwhile, so that more of
  // them on a busy machine are told to come again, for want of connections.
  test('16 forms of three links at once: one purchase, one charge, one subscription', async () => {
    const buyer = await newBuyer(3);
    const answers = await atOnce(16, (index) => confirm(buyer.sessions[index % 3]?.url ?? buyer.url));
    assertStatuses(answers, [200, 303, 409]);
    await assertBoughtOnce(buyer);
    await assertSound(app);
  });

  test('32 requests to subscribe, half of them under one Idempotency-Key: one subscription, charged once', async () => {
    for (let round = 0; round < rounds; round++) {
      const { customerId, externalId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
      const priceId = plans.priceOf('pro-monthly').id;
      const body = { customerId, priceId, defaultPaymentMethodId: paymentMethodId };
      const key = unique('key');
      const answers = await atOnce(32, (index) =>
        app.request('POST', '/subscriptions', body, index % 2 === 0 ? {} : { headers: { 'idempotency-key': key } }),
      );
      assertStatuses(answers, [200, 400, 409]);
      const ids = new Set(
        answers.flatMap(({ status, body: { subscription } }) => (status === 200 ? subscription.id : [])),
      );
      assert.equal(ids.size, 1);
      assert.deepEqual(await paidAmounts(app, customerId), [3000]);
      assert.equal((await shop.billing(externalId)).currentSubscriptions.length, 1);
    }
    await assertSound(app);
  });
});

describe('race: the first payment of a purchase', () => {
  const processors = () => createProcessors(app.database, app.services);
  const proId = plans.priceOf('pro-monthly').productId;

  /** A customer that has asked for the plan, and the first payment that is on its way. */
  async function newPayer() {
    const customer = await plans.newCustomer('pm_card_visa');
    const wish = { customerId: customer.customerId, productId: proId };
    await app.inEnvironment((work) => buyNow(work, wish));
    const { data } = await app.get(`/payments?customerId=${customer.customerId}`);
    const [{ id, invoiceId }] = data;
    assert.equal(invoiceId, null);
    return { ...customer, wish, paymentId: id as string };
  }

  test('reports that come again while the plan is being made, and another plan, make nothing more', async () => {
    const payer = await newPayer();
    const { customerId, paymentId, wish } = payer;
    const settle = () => settlePayments(app, processors(), app.testEnvironmentId, [paymentId]);
    const refused = async () => {
      await assert.rejects(
        app.inEnvironment((work) => buyNow(work, wish)),
        { message: /already has a current subscription/ },
      );
      const body = { customerId, priceId: plans.priceOf('team-monthly').id };
      assertStatuses([await app.request('POST', '/subscriptions', body)], [409]);
    };
    await meet(app, { table: 'subscriptions', on: 'insert' }, settle, settle, settle, refused);
    await settle();
    await app.runJobs({ all: true });
    await assertBoughtOnce(payer);
    await assertSound(app);
  });

  test('a decline that comes after the money is no decline, and money after a decline is not waited for', async () => {
    const declined = { result: 'failed', reference: null, code: 'card_declined', message: 'Declined.' } as const;
    const payer = await newPayer();
    const { paymentId, customerId, wish } = payer;
    await settlePayments(app, processors(), app.testEnvironmentId, [paymentId]);
    await settleReported(app, app.testEnvironmentId, [{ paymentId, outcome: declined }]);
    await assertBoughtOnce(payer);

    const other = await newPayer();
    const reports = [0, 1, 2].map(() =>
      settleReported(app, app.testEnvironmentId, [{ paymentId: other.paymentId, outcome: declined }]),
    );
    await Promise.all(reports);
    await settlePayments(app, processors(), app.testEnvironmentId, [other.paymentId]);
    const { invoices, subscriptions } = await shop.billing(other.externalId);
    assert.deepEqual([invoices, subscriptions.length], [[], 1]);
    await app.inEnvironment((work) => buyNow(work, { ...wish, customerId: other.customerId }));
    await app.runJobs({ all: true });
    await assertBoughtOnce(other);
    assert.equal((await app.get(`/payments?customerId=${customerId}`)).total, 1);
    await assertSound(app);
  });

  test('a process that dies when the bank has said yes leaves a payment that the next one finishes, charged once', async () => {
    const payer = await newPayer();
    const payments = await app.inEnvironment((work) => findChargedPayments(work, [payer.paymentId]));
    const dies = () => Promise.reject(new Error('the process is gone'));
    await assert.rejects(performCharges(processors(), payments, begun, dies), /the process is gone/);
    assert.equal((await shop.billing(payer.externalId)).subscriptions.length, 1);
    await Promise.all([app.runJobs({ all: true }), app.runJobs({ all: true })]);
    await assertBoughtOnce(payer);
  });

  test('a bad card and a good one on two links at once: one plan, and a record for each decline', async () => {
    for (let round = 0; round < rounds; round++) {
      const { customerId, externalId, sessions } = await newBuyer(2);
      const bad = { ...order, cardNumber: '4000000000000341' };
      const answers = await atOnce(6, (index) =>
        sendForm(sessions[index % 2]?.url ?? '', index % 2 === 0 ? bad : order),
      );
      assertStatuses(answers, [200, 303, 402, 409, 503]);
      await confirm(sessions[1]?.url ?? '');
      assert.deepEqual(await paidAmounts(app, customerId), [3000]);
      const { invoices, subscriptions } = await shop.billing(externalId);
      assert.deepEqual([invoices.length, subscriptions.length], [1, 2]);
      const declined = (await app.get(`/payments?customerId=${customerId}&status=failed`)).total;
      assert.equal(declined, countOf(answers, 402));
      assert((await app.get(`/purchases?customerId=${customerId}`)).total <= 2);
    }
    await assertSound(app);
  });
});

describe('race: the first payment of a change of plan', () => {
  const processors = () => createProcessors(app.database, app.services);
  const declined = { result: 'failed', reference: null, code: 'card_declined', message: 'Declined.' } as const;
  const settle = (paymentId: string) => settlePayments(app, processors(), app.testEnvironmentId, [paymentId]);
  const wish = NewAdjustment.parse({
    timing: 'immediately',
    newSubscriptionItems: [{ priceSlug: 'pro-monthly', quantity: 2 }],
  });

  /** A customer of the plan for 30.00 that has asked for two, and the first payment that is on its way. */
  async function newPayer() {
    const customer = await plans.newCustomer('pm_card_visa');
    const { customerId, paymentMethodId: defaultPaymentMethodId } = customer;
    const { id } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId });
    const again = () => app.inEnvironment((work) => adjustSubscription(work, id, wish));
    await again();
    const { data } = await app.get(`/payments?customerId=${customerId}&status=processing`);
    const [{ id: paymentId, invoiceId }] = data;
    assert.equal(invoiceId, null);
    return { ...customer, id, again, paymentId: paymentId as string };
  }

  /** Asserts that the change is made once, and paid for once. */
  async function assertChangedOnce({ customerId, externalId }: { customerId: string; externalId: string }) {
    assert.deepEqual(await paidAmounts(app, customerId), [3000, 3000]);
    const { charges, charged } = await moneyMoved(app, customerId);
    assert.deepEqual([charges, charged], [2, 6000n]);
    const { currentSubscription, invoices } = await shop.billing(externalId);
    assert.deepEqual([currentSubscription.subscriptionItems[0].quantity, invoices.length], [2, 2]);
  }

  test('reports that come again while the change is being made, and another change, make nothing more', async () => {
    const payer = await newPayer();
    const { id, paymentId } = payer;
    // Afterwards nothing is left to change, which costs nothing.
    const other = async () => {
      const answer = await app.request('POST', `/subscriptions/${id}/adjust`, { adjustment: wish });
      assertStatuses([answer], [200, 409]);
    };
    const report = () => settle(paymentId);
    await meet(app, { table: 'invoices', on: 'insert' }, report, report, report, other);
    await report();
    await app.runJobs({ all: true });
    await assertChangedOnce(payer);
    await assertSound(app);
  });

  test('a decline after the money is no decline, and a declined change is asked for again as the same one', async () => {
    const payer = await newPayer();
    await settle(payer.paymentId);
    await settleReported(app, app.testEnvironmentId, [{ paymentId: payer.paymentId, outcome: declined }]);
    await assertChangedOnce(payer);

    const other = await newPayer();
    const { paymentId } = other;
    const reports = [0, 1, 2].map(() => settleReported(app, app.testEnvironmentId, [{ paymentId, outcome: declined }]));
    await Promise.all(reports);
    await settle(paymentId);
    assert.equal((await shop.billing(other.externalId)).invoices.length, 1);
    await other.again();
    await app.runJobs({ all: true });
    await assertChangedOnce(other);
    await assertSound(app);
  });

  test('a process that dies when the bank has said yes leaves a change that the next one finishes, charged once', async () => {
    const payer = await newPayer();
    const payments = await app.inEnvironment((work) => findChargedPayments(work, [payer.paymentId]));
    const dies = () => Promise.reject(new Error('the process is gone'));
    await assert.rejects(performCharges(processors(), payments, begun, dies), /the process is gone/);
    assert.equal((await shop.billing(payer.externalId)).invoices.length, 1);
    await Promise.all([app.runJobs({ all: true }), app.runJobs({ all: true })]);
    await assertChangedOnce(payer);
  });

  test('a bad card and a good one on two links at once: one change, and a record for each decline', async () => {
    for (let round = 0; round < rounds; round++) {
      const customer = await plans.newCustomer('pm_card_visa');
      const { customerId, externalId, paymentMethodId: defaultPaymentMethodId } = customer;
      const { id } = await plans.subscribe({ customerId, priceSlug: 'pro-monthly', defaultPaymentMethodId });
      const requested = { type: 'product', customerExternalId: externalId, priceSlug: 'pro-monthly', quantity: 2 };
      const urls = [(await shop.newSession(requested)).url, (await shop.newSession(requested)).url];
      const good = { ...order, quantity: '2', shownPlan: id };
      const bad = { ...good, cardNumber: '4000000000000341' };
      const answers = await atOnce(6, (index) => sendForm(urls[index % 2] ?? '', index % 2 === 0 ? bad : good));
      assertStatuses(answers, [200, 303, 402, 409, 503]);
      await sendForm(urls[1] ?? '', good);
      await assertChangedOnce(customer);
      const failed = (await app.get(`/payments?customerId=${customerId}&status=failed`)).total;
      assert.equal(failed, countOf(answers, 402));
    }
    await assertSound(app);
  });
});

describe('race: checkout expiry against confirm', () => {
  test('a session whose day ends while it is being confirmed is confirmed, once', async () => {
    await app.setClock(begun);
    const buyer = await newBuyer();
    const late = async () => {
      await app.setClock(begun + dayMs);
      return confirm(buyer.url);
    };
    const [first, second] = await meet(app, buying, () => confirm(buyer.url), late);
    assert.equal(first.status, 303);
    assertStatuses([second ?? assert.fail()], [200, 303, 409]);
    assert.equal((await shop.session(buyer.id)).status, 'succeeded');
    await assertBoughtOnce(buyer);
    await app.setClock(begun);
  });

  test('a form that was looked at in time, and whose turn to confirm comes after the day, buys nothing', async () => {
    await app.setClock(begun);
    const buyer = await newBuyer();
    const client = await app.ownerPool.connect();
    try {
      await client.query('begin; lock table checkout_sessions in access exclusive mode');
      const answer = confirm(buyer.url);
      // Its time was read before it looks at the session.
      await untilWaiting(app);
      await app.setClock(begun + dayMs);
      await client.query('rollback');
      assertStatuses([await answer], [303]);
    } finally {
      client.release();
    }
    assert.equal((await shop.session(buyer.id)).status, 'expired');
    assert.deepEqual(await paidAmounts(app, buyer.customerId), []);
    assert.deepEqual((await app.get(`/purchases?customerId=${buyer.customerId}`)).data, []);
    await app.setClock(begun);
  });

  test('32 who confirm while the day ends: it is bought once, or expired and not paid', async () => {
    for (let round = 0; round < rounds * 2; round++) {
      await app.setClock(begun);
      const buyer = await newBuyer();
      const confirming = atOnce(32, () => confirm(buyer.url));
      await app.setClock(begun + dayMs);
      assertStatuses(await confirming, [200, 303, 409, 410]);
      const { status } = await shop.session(buyer.id);
      if (status === 'succeeded') await assertBoughtOnce(buyer);
      else assert.deepEqual([status, await paidAmounts(app, buyer.customerId)], ['expired', []]);
    }
    await app.setClock(begun);
    await assertSound(app);
  });
});

describe('race: archived price against subscribe', () => {
  test('32 who subscribe while the price is archived: each is billed for it, or told that it is not sold', async () => {
    for (let round = 0; round < rounds; round++) {
      const { product } = await newProduct(app, plans.pricingModelId, { price: { ...monthly, unitPrice: 700 } });
      const { id } = (await app.get(`/products/${product.id}`)).defaultPrice;
      const buyers: { customerId: string; paymentMethodId: string | null }[] = [];
      for (let index = 0; index < 8; index++) buyers.push(await plans.newCustomer('pm_card_visa'));
      const subscribe = (index: number) => {
        const { customerId, paymentMethodId } = buyers[index % 8] ?? assert.fail('eight buyers');
        return app.request('POST', '/subscriptions', {
          customerId,
          priceId: id,
          defaultPaymentMethodId: paymentMethodId,
        });
      };
      const archive = () => app.request('PUT', `/products/${product.id}`, { product: { active: false } });
      const archiving = { table: 'products', on: 'update', when: 'not new.active' } as const;
      const [archived, early] = await meet(app, archiving, archive, () => subscribe(0));
      assert.equal(archived.status, 200);
      assertStatuses([early ?? assert.fail()], [200, 400]);
      const answers = await atOnce(32, (index) => subscribe(index));
      // Once the answer says that it is archived, nobody gets it any more.
      assertStatuses(answers, [400, 409]);
      const paid = await Promise.all(buyers.map(({ customerId }) => paidAmounts(app, customerId)));
      assert.deepEqual(paid.flat(), early?.status === 200 ? [700] : []);
    }
    await assertSound(app);
  });
});

describe('race: archived customer against subscribe', () => {
  const archive = (externalId: string) => app.request('POST', `/customers/${externalId}/archive`);
  const subscribe = ({ customerId, paymentMethodId }: { customerId: string; paymentMethodId: string | null }) =>
    app.request('POST', '/subscriptions', {
      customerId,
      priceId: plans.priceOf('pro-monthly').id,
      defaultPaymentMethodId: paymentMethodId,
    });

  async function assertPutAway(customerId: string): Promise<void> {
    const living = app.owner.selectFrom('subscriptions').select(['id', 'status']).where('customerId', '=', customerId);
    const statuses = (await living.execute()).map(({ status }) => status);
    assert.deepEqual(new Set(statuses), new Set(['canceled']));
    assert.equal((await paidAmounts(app, customerId)).length, statuses.length - 1, 'the paid plan beside the free one');
  }

  test('who is being put away gets no subscription, and one that is being made is ended with the others', async () => {
    const first = await plans.newCustomer('pm_card_visa');
    const going = { table: 'customers', on: 'update', when: 'new.archived' } as const;
    const [gone, refused] = await meet(
      app,
      going,
      () => archive(first.externalId),
      () => subscribe(first),
    );
    assert.equal(gone.status, 200);
    assertStatuses([refused ?? assert.fail()], [400, 403, 404, 409]);
    await assertPutAway(first.customerId);
    const second = await plans.newCustomer('pm_card_visa');
    const making = { table: 'subscriptions', on: 'insert' } as const;
    const answers = await meet(
      app,
      making,
      () => subscribe(second),
      () => archive(second.externalId),
    );
    assertStatuses(answers, [200]);
    await assertPutAway(second.customerId);
  });

  test('32 who subscribe, and who archive, at once: nothing lives on', async () => {
    for (let round = 0; round < rounds; round++) {
      const customer = await plans.newCustomer('pm_card_visa');
      const answers = await atOnce(32, (index) =>
        index % 8 === 7 ? archive(customer.externalId) : subscribe(customer),
      );
      assertStatuses(answers, [200, 400, 403, 404, 409]);
      assert(countOf(answers, 200) >= 4);
      await assertPutAway(customer.customerId);
    }
    await assertSound(app);
  });
});

describe('race: two cancels in the portal', () => {
  const cancelByRequest = (id: string) =>
    app.request('POST', `/subscriptions/${id}/cancel`, {
      cancellation: { timing: 'at_end_of_current_billing_period' },
    });

  /** Who has a paid plan and has opened the form that cancels it. */
  async function leaver() {
    const { customerId, externalId, paymentMethodId } = await plans.newCustomer('pm_card_visa');
    const priceId = plans.priceOf('pro-monthly').id;
    const { id } = await plans.subscribe({ customerId, priceId, defaultPaymentMethodId: paymentMethodId });
    const entered = await fetch(await shop.portal(externalId), { redirect: 'manual' });
    const [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';');
    const url = `${app.url}/portal/subscriptions/${id}/cancel`;
    const form = await (await fetch(url, { headers: { cookie } })).text();
    const [, formToken = ''] = /name="formToken" value="([^"]+)"/.exec(form) ?? [];
    assert.notEqual(formToken, '');
    const before = await plans.events(id);
    return {
      id: id as string,
      cancelByForm: () => sendForm(url, { formToken }, cookie),
      async assertOneEnd() {
        assert.equal((await plans.subscription(id)).status, 'cancellation_scheduled');
        assert.deepEqual((await plans.events(id)).slice(before.length), ['subscription.updated']);
      },
    };
  }

  test('a form and a request that meet a form which is ending it plan and tell nothing more', async () => {
    const { id, cancelByForm, assertOneEnd } = await leaver();
    const place = { table: 'subscriptions', on: 'update', when: "new.status = 'cancellation_scheduled'" } as const;
    const byRequest = () => cancelByRequest(id);
    const answers = await meet<Answer, Answer>(app, place, cancelByForm, cancelByForm, byRequest);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [303, 303, 200],
    );
    await assertOneEnd();
  });

  test('16 forms and 16 requests that cancel at the end: one end is planned and told, and no form fails', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, cancelByForm, assertOneEnd } = await leaver();
      const answers = await atOnce(32, (index) => (index % 2 === 0 ? cancelByForm() : cancelByRequest(id)));
      assertStatuses(answers, [200, 303]);
      await assertOneEnd();
    }
    await assertSound(app);
  });
});
