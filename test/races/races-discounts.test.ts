import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renewHandler } from '../../src/billing/renew.ts';
import { settleReported } from '../../src/billing/settle-payment.ts';
import { runInEnvironment } from '../../src/database/work.ts';
import { runEffects } from '../../src/jobs/queue.ts';
import { april, day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { applied } from '../support/applied.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { assertStatuses, beginAt, meet, paidInAll, rounds, workTogether } from '../support/race.ts';
import { newCustomer } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { atOnce } from '../support/spending.ts';

const app = await startTestApp();
await beginAt(app, april);
const changes = await setUpChanges(app);
const environmentId = app.testEnvironmentId;
const june = Date.UTC(2026, 5, 1);
const resumesAt = Date.UTC(2026, 5, 11);
const work = () => workTogether(app, environmentId, 1);

let made = 0;
async function newCode(terms: Body): Promise<string> {
  made += 1;
  const discount = { name: 'Deal', code: `RACE${made}`, amountType: 'percent', amount: 50, ...terms };
  return (await app.post('/discounts', { discount })).discount.code;
}

const post = (id: string, verb: string, body: Body = {}): Promise<Answer> =>
  app.request('POST', `/subscriptions/${id}/${verb}`, body);
const cancel = (id: string) => post(id, 'cancel', { cancellation: { timing: 'immediately' } });
const grant = (subscriptionId: string, amount: number): Promise<Answer> =>
  app.request('POST', '/usage-credits', { usageCredit: { subscriptionId, usageMeterSlug: 'api-calls', amount } });
const adding = { table: 'invoices', on: 'insert' } as const;

describe('race: discount against credit', () => {
  /** Half price for ever: 1500 for April. Paused on its day 25, so 250 of these are kept, until 11 June. */
  async function paused() {
    const discountCode = await newCode({ duration: 'forever' });
    const subscribed = await changes.subscribe('p3000', { discountCode });
    await app.setClock(day(25));
    await app.post(`/subscriptions/${subscribed.id}/pause`, { pause: { resumesAt } });
    await app.setClock(resumesAt);
    return subscribed;
  }

  test('kept credit and discount are taken off the invoice after a pause once, whoever ends the pause', async () => {
    for (const first of ['worker', 'request']) {
      const { id, customerId } = await paused();
      const resume = () => post(id, 'resume');
      const both: (() => Promise<unknown>)[] = first === 'worker' ? [work, resume] : [resume, work];
      await meet<unknown, unknown>(app, adding, both[0] ?? work, both[1] ?? work, resume, resume);
      // 20 of 30 days of June are 2000, half of which is 1000, less 250 that were paid for the pause.
      assert.deepEqual(await changes.invoices(id), [
        ['paid', 1500],
        ['paid', 750],
      ]);
      assert.equal(await paidInAll(app, customerId), 2250n);
    }
  });

  test('32 who end a pause, and four workers: one invoice, one credit, one discount', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, customerId } = await paused();
      const [answers] = await Promise.all([
        atOnce(32, (index) => post(id, index % 2 === 0 ? 'resume' : 'uncancel')),
        workTogether(app, environmentId),
      ]);
      assertStatuses(answers, [200, 400, 409]);
      assert.equal(await paidInAll(app, customerId), 2250n);
      const kept = app.owner.selectFrom('subscriptions').select('pausedCredit').where('id', '=', id);
      assert.deepEqual(await kept.execute(), [{ pausedCredit: 0n }]);
    }
    await assertSound(app);
  });

  /** Has used 200 calls at half price: 100, less 50. */
  async function user() {
    const discountCode = await newCode({ duration: 'forever' });
    const subscribed = await changes.subscribe('p3000', { discountCode });
    await changes.use(subscribed.id, 200);
    return subscribed;
  }

  test('credits that come while the last invoice is being made are refused or left, and pay for nothing twice', async () => {
    const { id, customerId } = await user();
    const [canceled, granted] = await meet(
      app,
      adding,
      () => cancel(id),
      () => grant(id, 200),
    );
    assert.equal(canceled.status, 200);
    assertStatuses([granted ?? assert.fail()], [400, 409]);
    assert.equal(await paidInAll(app, customerId), 1500n + 50n);
  });

  test('a cancel that meets credits being granted bills all that was used before them', async () => {
    const { id, customerId } = await user();
    const [granted, canceled] = await meet(
      app,
      { table: 'usage_credits', on: 'insert' },
      () => grant(id, 100),
      () => cancel(id),
    );
    assert.deepEqual([granted.status, canceled?.status], [200, 200]);
    assert.equal(await paidInAll(app, customerId), 1500n + 50n);
  });

  test('grants, uses and a cancel at once: the last invoice bills what no credit covered, at half price', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, customerId } = await user();
      const use = (index: number): Promise<Answer> => {
        const usageEvent = {
          subscriptionId: id,
          priceSlug: 'call-overage',
          transactionId: `${id} ${index}`,
          amount: 4,
        };
        return app.request('POST', '/usage-events', { usageEvent });
      };
      const answers = await atOnce(32, (index) => {
        if (index === 20) return cancel(id);
        return index % 2 === 0 ? grant(id, 4) : use(index);
      });
      assertStatuses(answers, [200, 400, 409]);
      const accounts = app.owner.selectFrom('ledgerAccounts').select(['id', 'used']);
      const [account = assert.fail()] = await accounts.where('subscriptionId', '=', id).execute();
      const credits = app.owner.selectFrom('usageCredits').select(applied);
      const covered = (await credits.where('ledgerAccountId', '=', account.id).execute()).reduce(
        (sum, credit) => sum + credit.applied,
        0n,
      );
      // 4 calls cost 2, and half of that is 1.
      assert.equal(await paidInAll(app, customerId), 1500n + (account.used - covered) / 4n);
    }
    await assertSound(app);
  });
});

describe('race: the last use of a discount', () => {
  /** Half price for two payments: April is paid, May is under way. Now it is June. */
  async function lastTurn() {
    const discountCode = await newCode({ duration: 'number_of_payments', numberOfPayments: 2 });
    const { id, customerId } = await changes.subscribe('p3000', { discountCode });
    const visa = (await changes.subscription(id)).defaultPaymentMethodId;
    await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
    await app.setClock(may);
    await work();
    await changes.chargeOn(id, visa);
    const { data } = await app.get(`/payments?customerId=${customerId}&status=processing`);
    assert.deepEqual([data.length, data[0].amount], [1, 1500]);
    await app.setClock(june);
    const outcome = { result: 'succeeded', reference: `test_charge_${data[0].id}`, settledAt: may } as const;
    const told = [{ paymentId: data[0].id as string, outcome: { ...outcome, receiptNumber: null } }];
    const renew = async () => {
      const done = await runInEnvironment(app.database, { environmentId }, async (begun) =>
        renewHandler.perform(begun, await renewHandler.take(begun, 1, [id])),
      );
      await runEffects(app, done?.effects ?? []);
    };
    return { id, customerId, renew, tell: () => settleReported(app, environmentId, told) };
  }

  test('the invoice that comes while the last one is being paid gets nothing of it, in either order', async () => {
    const paying = { table: 'payments', on: 'update', when: "new.status = 'succeeded'" } as const;
    for (const renewsFirst of [true, false]) {
      const { customerId, renew, tell } = await lastTurn();
      await (renewsFirst ? meet(app, adding, renew, tell, tell) : meet(app, paying, tell, renew, tell));
      assert.equal(await paidInAll(app, customerId), 1500n + 1500n + 3000n);
    }
  });

  test('renewals, tellings and workers at once: two invoices at half price, and the third in full', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, customerId, renew, tell } = await lastTurn();
      const acts = [renew, tell];
      await Promise.all([atOnce(32, (index) => (acts[index % 2] ?? tell)()), workTogether(app, environmentId)]);
      await work();
      assert.deepEqual(await changes.invoices(id), [
        ['paid', 1500],
        ['paid', 1500],
        ['paid', 3000],
      ]);
      assert.equal(await paidInAll(app, customerId), 6000n);
    }
    await assertSound(app);
  });
});

describe('race: a code that is redeemed a number of times', () => {
  const order = (customerId: string, discountCode: string) =>
    app.request('POST', '/subscriptions', { customerId, priceId: changes.priceIdOf('p3000'), discountCode });
  let buyers = 0;
  const buyer = () => {
    buyers += 1;
    return newCustomer(app, `buyer-${buyers}`, { token: 'pm_card_visa' });
  };
  const redemptions = async (id: string) => (await app.get(`/discounts/${id}`)).discount.redemptionCount;

  test('50 customers who redeem a code for 10 at once: exactly 10 do', async () => {
    const terms = { duration: 'forever', maximumRedemptions: 10 };
    const code = await newCode(terms);
    const [{ id }] = (await app.get(`/discounts?code=${code}`)).data;
    const customers: Body[] = [];
    for (let index = 0; index < 50; index++) customers.push(await buyer());
    const answers = await atOnce(50, (index) => order(customers[index]?.customerId, code));
    const made = answers.filter(({ status }) => status === 200);
    const reasons = new Set(answers.flatMap(({ status, body }) => (status === 200 ? [] : [body.reason])));
    assert.deepEqual([made.length, await redemptions(id), [...reasons]], [10, 10, ['discount_not_applicable']]);
    await assertSound(app);
  });

  test('50 who put a code for 10 on running subscriptions at once, two on each: exactly 10 have it, each once', async () => {
    const code = await newCode({ duration: 'forever', maximumRedemptions: 10, maximumRedemptionsPerCustomer: 5 });
    const [{ id }] = (await app.get(`/discounts?code=${code}`)).data;
    const ids: string[] = [];
    for (let index = 0; index < 25; index++) {
      const { customerId } = await buyer();
      ids.push((await app.post('/subscriptions', { customerId, priceId: changes.priceIdOf('p3000') })).subscription.id);
    }
    const answers = await atOnce(50, (index) => post(ids[index % 25] ?? '', 'discounts', { discount: { code } }));
    const made = answers.filter(({ status }) => status === 200);
    const reasons = new Set(answers.flatMap(({ status, body }) => (status === 200 ? [] : [body.reason])));
    assert.deepEqual([made.length, await redemptions(id), [...reasons]], [10, 10, ['discount_not_applicable']]);
    assert.equal(new Set(made.map(({ body }) => body.subscriptionDiscount.subscriptionId)).size, 10);
    await assertSound(app);
  });

  test('discounts that are put on and taken off at once stand in an order without two at one place', async () => {
    const { id } = await changes.subscribe('p3000');
    const codes = await Promise.all([0, 1, 2, 3, 4].map(() => newCode({ duration: 'forever' })));
    const put = await atOnce(5, (index) => post(id, 'discounts', { discount: { code: codes[index] } }));
    const on = (await app.get(`/subscriptions/${id}/discounts`)).data;
    assert.deepEqual(
      [put.map(({ status }) => status), on.map(({ position }: Body) => position)],
      [
        [200, 200, 200, 200, 200],
        [1, 2, 3, 4, 5],
      ],
    );
    const off = await atOnce(6, () => app.request('DELETE', `/subscriptions/${id}/discounts/${on[0].id}`));
    assert.deepEqual(off.map(({ status }) => status).sort(), [200, 404, 404, 404, 404, 404]);
    await assertSound(app);
  });

  test('a maximum that comes while a code is being redeemed counts that redemption, in either order', async () => {
    for (const sets of [true, false]) {
      const code = await newCode({ duration: 'forever' });
      const [{ id }] = (await app.get(`/discounts?code=${code}`)).data;
      const [one, two] = [await buyer(), await buyer()];
      const redeems = () => order(one.customerId, code);
      const limits = () => app.request('PUT', `/discounts/${id}`, { discount: { maximumRedemptions: 1 } });
      const redeeming = { table: 'discount_redemptions', on: 'insert' } as const;
      await (sets
        ? meet(app, redeeming, redeems, limits)
        : meet(app, { table: 'discounts', on: 'update' }, limits, redeems));
      assert.equal((await order(two.customerId, code)).status, 409);
      assert.equal(await redemptions(id), 1);
    }
  });
});
