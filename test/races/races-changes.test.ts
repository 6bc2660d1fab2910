import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renewHandler } from '../../src/billing/renew.ts';
import { settleReported } from '../../src/billing/settle-payment.ts';
import { runInEnvironment } from '../../src/database/work.ts';
import { runEffects } from '../../src/jobs/queue.ts';
import { april, day, may, setUpChanges } from '../support/adjust-fixture.ts';
import { type Answer, startTestApp } from '../support/harness.ts';
import { assertStatuses, beginAt, countOf, meet, paidInAll, rounds, workTogether } from '../support/race.ts';
import { assertSound } from '../support/sound.ts';
import { atOnce } from '../support/spending.ts';

const app = await startTestApp();
await beginAt(app, april);
const changes = await setUpChanges(app);
const environmentId = app.testEnvironmentId;
const work = () => workTogether(app, environmentId, 1);
const renewal = { table: 'invoices', on: 'insert', when: "new.reason = 'renewal'" } as const;

const adjust = (id: string, plan: string): Promise<Answer> =>
  app.request('POST', `/subscriptions/${id}/adjust`, changes.adjustmentOf(plan));
const adjustLater = (id: string, plan: string): Promise<Answer> =>
  app.request(
    'POST',
    `/subscriptions/${id}/adjust`,
    changes.adjustmentOf(plan, { timing: 'at_end_of_current_billing_period' }),
  );

/** Renews this one and nothing else, and does what that asks for. */
async function renew(id: string): Promise<void> {
  const done = await runInEnvironment(app.database, { environmentId }, async (begun) =>
    renewHandler.perform(begun, await renewHandler.take(begun, 1, [id])),
  );
  await runEffects(app, done?.effects ?? []);
}

describe('race: stale snapshot after a backdated change', () => {
  /** On 3000 a month since 1 April; asked for 6000 on day 25, for 5 days of 100 more. The money comes in May. */
  async function changing() {
    const { id, customerId } = await changes.subscribe('p3000');
    const visa = (await changes.subscription(id)).defaultPaymentMethodId;
    await changes.chargeOn(id, await changes.attach(customerId, 'pm_card_processing'));
    await app.setClock(day(25));
    assert.equal((await adjust(id, 'p6000')).status, 200);
    await changes.chargeOn(id, visa);
    const { data } = await app.get(`/payments?customerId=${customerId}&status=processing`);
    assert.deepEqual([data.length, data[0].amount], [1, 500]);
    await app.setClock(may);
    const outcome = { result: 'succeeded', reference: `test_charge_${data[0].id}`, settledAt: day(26) } as const;
    const told = [{ paymentId: data[0].id as string, outcome: { ...outcome, receiptNumber: null } }];
    return { id, customerId, tell: () => settleReported(app, environmentId, told) };
  }

  async function assertWholePrice(id: string, customerId: string): Promise<void> {
    await work();
    // 3000 of April, 500 for the change, and 6000 of May, in one invoice or in two.
    assert.equal(await paidInAll(app, customerId), 3000n + 500n + 6000n);
    const items = app.owner.selectFrom('subscriptionItems').select('unitPrice').where('subscriptionId', '=', id);
    assert.deepEqual(await items.where('expiredAt', 'is', null).execute(), [{ unitPrice: 6000n }]);
  }

  test('money for a change of April that comes while May is being billed at the old price: May costs the new one', async () => {
    const { id, customerId, tell } = await changing();
    await meet(app, renewal, () => renew(id), tell, tell);
    assert.deepEqual((await changes.invoices(id)).slice(2)[0], ['paid', 3000]);
    await assertWholePrice(id, customerId);
  });

  test('a renewal that comes while a change of April is being made bills May at the new price, at once', async () => {
    const { id, customerId, tell } = await changing();
    const place = { table: 'payments', on: 'update', when: "new.status = 'succeeded'" } as const;
    await meet(app, place, tell, () => renew(id), tell);
    assert.deepEqual((await changes.invoices(id)).slice(2), [['paid', 6000]]);
    await assertWholePrice(id, customerId);
  });

  test('tellings, renewals, requests and workers at once: April and May cost the same in any order', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, customerId, tell } = await changing();
      const touch = () => app.post(`/subscriptions/${id}/uncancel`);
      const acts: (() => Promise<unknown>)[] = [tell, touch, () => renew(id)];
      await Promise.all([atOnce(32, (index) => (acts[index % 3] ?? tell)()), workTogether(app, environmentId)]);
      await assertWholePrice(id, customerId);
    }
    await assertSound(app);
  });
});

describe('race: credit stacking by toggling plans', () => {
  /** On pro (360 calls, 3000) since 1 April; now it is the middle of the month. Mega is 900 calls and 9000. */
  async function toggler() {
    const subscribed = await changes.subscribe('pro');
    await app.setClock(day(15));
    return subscribed;
  }

  test('a change to and fro that meets itself grants once', async () => {
    const { id, externalId, customerId } = await toggler();
    const answers = await meet<Answer, Answer>(
      app,
      { table: 'usage_credits', on: 'insert' },
      () => adjust(id, 'mega'),
      () => adjust(id, 'pro'),
      () => adjust(id, 'mega'),
    );
    assertStatuses(answers, [200, 400, 409]);
    assert.equal((await adjust(id, 'mega')).status, 200);
    // Half of 900 are 450, of which 360 are there; 15 days of 200 more are 3000.
    assert.equal(await changes.calls(externalId, id), 360 + 90);
    assert.equal(await paidInAll(app, customerId), 3000n + 3000n);
  });

  test('32 changes to and fro at once, and again: no credit more than one change brings, and no money', async () => {
    const { id, externalId, customerId } = await toggler();
    for (let round = 0; round < rounds; round++) {
      const answers = await atOnce(32, (index) => adjust(id, index % 2 === 0 ? 'mega' : 'pro'));
      assertStatuses(answers, [200, 400, 409]);
      assert(countOf(answers, 200) > 0);
    }
    assert.equal((await adjust(id, 'mega')).status, 200);
    assert.equal(await changes.calls(externalId, id), 360 + 90);
    assert.equal(await paidInAll(app, customerId), 3000n + 3000n);
    await assertSound(app);
  });
});

describe('race: adjust against renewal', () => {
  test('a change that meets the renewal is priced in the new period', async () => {
    const { id, customerId } = await changes.subscribe('p3000');
    await app.setClock(may);
    const [, answer] = await meet<unknown, Answer>(
      app,
      renewal,
      () => renew(id),
      () => adjust(id, 'p6000'),
    );
    assert.equal(answer?.status, 200);
    assert.deepEqual(await changes.invoices(id), [
      ['paid', 3000],
      ['paid', 3000],
      ['paid', 3000],
    ]);
    assert.equal(await paidInAll(app, customerId), 9000n);
  });

  test('a change that the end of its period overtakes costs what is left of April, and all of May', async () => {
    const { id, customerId } = await changes.subscribe('p3000');
    await app.setClock(day(15));
    const overtake = async () => {
      await app.setClock(may);
      return work();
    };
    await meet<unknown, unknown>(app, { table: 'payments', on: 'insert' }, () => adjust(id, 'p6000'), overtake);
    await work();
    assert.equal(await paidInAll(app, customerId), 3000n + 1500n + 6000n);
  });

  test('32 changes and four workers at the end of a period: each period is billed for what it had', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, customerId, externalId } = await changes.subscribe('p3000');
      await app.setClock(may);
      const [answers] = await Promise.all([
        atOnce(32, (index) => (index % 2 === 0 ? adjust(id, 'p6000') : adjustLater(id, 'p9000'))),
        workTogether(app, environmentId),
      ]);
      assertStatuses(answers, [200, 400, 409]);
      await work();
      const [[price] = [0]] = await changes.items(externalId);
      // Either the one was made in May, or the other waits for June, and May stays as it was.
      assert.equal(await paidInAll(app, customerId), 3000n + BigInt(price));
    }
    await assertSound(app);
  });
});

describe('race: change of interval', () => {
  test('two changes to a year at once: one is made, and the other is refused or changes nothing', async () => {
    const { id, customerId } = await changes.subscribe('p3000');
    await app.setClock(day(15));
    const answers = await meet<Answer, Answer>(
      app,
      { table: 'subscription_adjustments', on: 'insert' },
      () => adjust(id, 'yearly'),
      () => adjust(id, 'yearly'),
      () => adjust(id, 'yearly'),
    );
    assertStatuses(answers, [200, 400, 409]);
    assert.equal(await paidInAll(app, customerId), 3000n + 28_500n);
    const { interval, currentBillingPeriodStart } = await changes.subscription(id);
    assert.deepEqual([interval, currentBillingPeriodStart], ['year', day(15)]);
  });

  test('a change to a year that meets the renewal is priced in the new month, all of which is taken off', async () => {
    const { id, customerId } = await changes.subscribe('p3000');
    await app.setClock(may);
    const [, answer] = await meet<unknown, Answer>(
      app,
      renewal,
      () => renew(id),
      () => adjust(id, 'yearly'),
    );
    await work();
    // May may still be unpaid when the change is asked for.
    assertStatuses([answer ?? assert.fail()], [200, 400]);
    const asked = answer?.status === 200 ? answer : await adjust(id, 'yearly');
    assert.equal(asked.status, 200);
    assert.equal(await paidInAll(app, customerId), 3000n + 3000n + 27_000n);
    await assertSound(app);
  });
});

describe('race: move of a billing anchor', () => {
  const insert = { table: 'subscription_adjustments', on: 'insert' } as const;
  const move = (id: string, to: number): Promise<Answer> => changes.moveAnchor(id, to);
  const keptBy = async (id: string) => {
    const kept = app.owner.selectFrom('subscriptions').select('pausedCredit').where('id', '=', id);
    return (await kept.executeTakeFirstOrThrow()).pausedCredit;
  };
  /** On 30.00 for 30 days since 1 April, at day 20. */
  async function at20() {
    const subscribed = await changes.subscribe('thirty');
    await app.setClock(day(20));
    return subscribed;
  }

  test('two anchors at once: whichever is made, the time until it is paid once', async () => {
    const { id, customerId } = await at20();
    const answers = await meet<Answer, Answer>(
      app,
      insert,
      () => move(id, day(45)),
      () => move(id, day(45)),
      () => move(id, day(40)),
    );
    assertStatuses(answers, [200, 409]);
    // 45 days are 45.00. If day 40 came last, 5.00 of them are kept.
    const { currentBillingPeriodEnd: end } = await changes.subscription(id);
    assert.equal(await paidInAll(app, customerId), 4500n);
    assert.equal(await keptBy(id), end === day(40) ? 500n : 0n);
  });

  test('an anchor that meets the renewal is priced in the new period, whose unused rest is kept', async () => {
    const { id, customerId } = await changes.subscribe('thirty');
    await app.setClock(day(30));
    const [, answer] = await meet<unknown, Answer>(
      app,
      renewal,
      () => renew(id),
      () => move(id, day(45)),
    );
    await work();
    // The renewal may still be unpaid when the anchor is asked for.
    assertStatuses([answer ?? assert.fail()], [200, 409]);
    if (answer?.status === 409) assert.equal((await move(id, day(45))).status, 200);
    assert.equal(await paidInAll(app, customerId), 6000n);
    assert.equal(await keptBy(id), 1500n);
  });

  test('a renewal that comes while an anchor is being moved begins its period at one of the two ends', async () => {
    const { id, customerId } = await changes.subscribe('thirty');
    await app.setClock(day(30) - 1);
    const overtake = async () => {
      await app.setClock(day(30));
      return work();
    };
    await meet<unknown, unknown>(app, { table: 'payments', on: 'insert' }, () => move(id, day(45)), overtake);
    await work();
    const { currentBillingPeriodEnd: end } = await changes.subscription(id);
    assert([day(45), day(60)].includes(end), `${end}`);
    assert.equal(await paidInAll(app, customerId), end === day(45) ? 4500n : 6000n);
  });

  test('an anchor and a change of the quantity at once cost the same in either order', async () => {
    const { id, customerId } = await at20();
    const answers = await meet<Answer, Answer>(
      app,
      insert,
      () => move(id, day(45)),
      () => adjust(id, 'thirty x 2'),
    );
    assertStatuses(answers, [200, 400, 409]);
    if (answers[1]?.status !== 200) assert.equal((await adjust(id, 'thirty x 2')).status, 200);
    // 20 days of 1.00 and 25 of 2.00.
    assert.equal(await paidInAll(app, customerId), 7000n);
  });

  test('a cancel that meets the charge of an anchor ends the plan, and money for no time is given back', async () => {
    const { id, customerId } = await at20();
    const cancel = () =>
      app.request('POST', `/subscriptions/${id}/cancel`, { cancellation: { timing: 'immediately' } });
    const place = { table: 'payments', on: 'update', when: "new.status = 'succeeded'" } as const;
    const [, canceled] = await meet<Answer, Answer>(app, place, () => move(id, day(45)), cancel);
    assert.equal(canceled?.status, 200);
    await work();
    const change = app.owner.selectFrom('subscriptionAdjustments').select('status').where('subscriptionId', '=', id);
    const { status } = await change.executeTakeFirstOrThrow();
    assert.equal(await paidInAll(app, customerId), status === 'applied' ? 4500n : 3000n);
    assert.equal((await changes.subscription(id)).status, 'canceled');
  });

  test('32 anchors and four workers at the end of a period: all of the money is for time or kept', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, customerId } = await changes.subscribe('thirty');
      await app.setClock(day(30));
      const [answers] = await Promise.all([
        atOnce(32, (index) => move(id, day(31 + (index % 29)))),
        workTogether(app, environmentId),
      ]);
      assertStatuses(answers, [200, 409]);
      await work();
      const { currentBillingPeriodEnd: end } = await changes.subscription(id);
      const days = BigInt((end - april) / 86_400_000);
      assert.equal((await paidInAll(app, customerId)) - (await keptBy(id)), days * 100n);
    }
    await assertSound(app);
  });
});

describe('race: end of a trial', () => {
  const extend = (id: string): Promise<Answer> =>
    app.request('PUT', `/subscriptions/${id}`, { subscription: { trialEnd: day(20) } });

  test('another end of a trial that meets its renewal is refused, and the first period is paid', async () => {
    const { id, customerId } = await changes.subscribe('trial');
    await app.setClock(day(14));
    const [, answer] = await meet<unknown, Answer>(
      app,
      renewal,
      () => renew(id),
      () => extend(id),
    );
    assert.deepEqual([answer?.status, answer?.body.reason], [409, 'trial_end_fixed']);
    await work();
    assert.equal(await paidInAll(app, customerId), 3000n);
  });

  test('a renewal that comes while a trial is being extended begins at the new end, and nothing is charged before', async () => {
    const { id, customerId } = await changes.subscribe('trial');
    await app.setClock(day(14) - 1);
    const overtake = async () => {
      await app.setClock(day(14));
      return work();
    };
    const place = { table: 'subscriptions', on: 'update', when: 'new.trial_end <> old.trial_end' } as const;
    const [answer] = await meet<Answer, unknown>(app, place, () => extend(id), overtake);
    assert.equal(answer.status, 200);
    await work();
    const { status, currentBillingPeriodEnd } = await changes.subscription(id);
    assert.deepEqual([status, currentBillingPeriodEnd], ['trialing', day(20)]);
    assert.equal(await paidInAll(app, customerId), 0n);
    await app.setClock(day(20));
    await work();
    assert.equal(await paidInAll(app, customerId), 3000n);
    await assertSound(app);
  });
});

describe('race: claim against downgrade', () => {
  const claim = (id: string, quantity: number): Promise<Answer> =>
    app.request('POST', `/resource-claims/${id}/claim`, { resourceSlug: 'seat', quantity });
  const usageOf = async (id: string) => (await app.get(`/resource-claims/${id}/usage?resourceSlug=seat`)).usage;

  test('seats that are being claimed are counted by the change to a smaller plan', async () => {
    const { id } = await changes.subscribe('pro');
    const place = { table: 'resource_claims', on: 'insert' } as const;
    const [claimed, changed] = await meet(
      app,
      place,
      () => claim(id, 4),
      () => adjust(id, 'small'),
    );
    assert.equal(claimed.status, 200);
    assertStatuses([changed ?? assert.fail()], [400, 409]);
    assert.deepEqual([(await usageOf(id)).capacity, (await usageOf(id)).claimed], [10, 4]);
  });

  test('seats of a plan that is being left are not given any more', async () => {
    const { id } = await changes.subscribe('pro');
    const place = { table: 'subscription_items', on: 'insert' } as const;
    const [changed, claimed] = await meet(
      app,
      place,
      () => adjust(id, 'small'),
      () => claim(id, 4),
    );
    assert.equal(changed.status, 200);
    assertStatuses([claimed ?? assert.fail()], [400, 409]);
    assert.deepEqual([(await usageOf(id)).capacity, (await usageOf(id)).claimed], [3, 0]);
  });

  test('24 claims and 8 changes at once: never more is claimed than there is', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id } = await changes.subscribe('pro');
      const answers = await atOnce(32, (index) =>
        index % 4 === 3 ? adjust(id, index % 8 === 3 ? 'small' : 'pro') : claim(id, 1),
      );
      assertStatuses(answers, [200, 400, 409]);
      const { capacity, claimed } = await usageOf(id);
      assert(claimed <= capacity, `${claimed} of ${capacity}`);
    }
    await assertSound(app);
  });
});
