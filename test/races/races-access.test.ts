import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { catchUpAll } from '../../src/billing/catch-up.ts';
import { runInEnvironment, type Work } from '../../src/database/work.ts';
import { answerAlone } from '../../src/jobs/batcher.ts';
import { createApiKey, revokeApiKey, rotateApiKey } from '../../src/organizations/actions.ts';
import { makeDefaultPaymentMethod } from '../../src/payments/actions-attach.ts';
import { recordUsage } from '../../src/usage/actions-record.ts';
import { setUpCredits } from '../support/credits-fixture.ts';
import { newDebtor } from '../support/debtor.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { assertStatuses, beginAt, countOf, meet, rounds, workTogether } from '../support/race.ts';
import { newCard } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';
import { assertBooksAreRight, atOnce } from '../support/spending.ts';

const app = await startTestApp();
const begun = Date.UTC(2026, 0, 1);
const february = Date.UTC(2026, 1, 1);
const environmentId = app.testEnvironmentId;
await beginAt(app, begun);
const plan = await setUpCredits(app);

let uses = 0;
const consume = (subscriptionId: string, amount: number): Promise<Answer> => {
  uses += 1;
  const usageEvent = { subscriptionId, usageMeterSlug: 'calls', transactionId: `consume ${uses}`, amount };
  return app.request('POST', '/usage-events/consume', { usageEvent });
};

describe('race: consume against the end of credits', () => {
  /** 100 calls of January. */
  async function subscribed() {
    await app.setClock(begun);
    return plan.subscribe();
  }

  test('what was being used when the month ended is of the old month, and the new one is whole', async () => {
    const { id, balance } = await subscribed();
    await app.setClock(february - 1);
    const overtake = async () => {
      await app.setClock(february);
      return workTogether(app, environmentId, 1);
    };
    const place = { table: 'usage_events', on: 'insert' } as const;
    const [used] = await meet<Answer, unknown>(app, place, () => consume(id, 60), overtake);
    assert.equal(used.status, 200);
    await workTogether(app, environmentId, 1);
    assert.equal(await balance(), 100);
    const accounts = app.owner.selectFrom('ledgerAccounts').select(['granted', 'used', 'expired']);
    // Of January 60 were used and 40 are over.
    assert.deepEqual(await accounts.where('subscriptionId', '=', id).execute(), [
      { granted: 200n, used: 60n, expired: 40n },
    ]);
  });

  test('32 who use 10 each as the month ends: those of the new month are 10, and none uses what is over', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, balance } = await subscribed();
      await app.setClock(february);
      const [answers] = await Promise.all([atOnce(32, () => consume(id, 10)), workTogether(app, environmentId)]);
      assertStatuses(answers, [200, 402]);
      assert.equal(countOf(answers, 200), 10);
      assert.equal(await balance(), 0);
    }
    await assertBooksAreRight(app);
    await assertSound(app);
  });
});

describe('race: hold settled against its end', () => {
  const hold = async (subscriptionId: string, amount: number): Promise<string> => {
    const requested = { subscriptionId, meter: 'calls', amount, expiresAt: begun + 3_600_000 };
    return (await app.post('/holds', { hold: requested })).hold.id;
  };
  const settle = (id: string, amount: number): Promise<Answer> =>
    app.request('POST', `/holds/${id}/settle`, { amount });

  test('a hold that is being settled when its end comes frees nothing for others', async () => {
    await app.setClock(begun);
    const { id, balance } = await plan.subscribe();
    const holdId = await hold(id, 60);
    const late = async () => {
      await app.setClock(begun + 3_600_000);
      return consume(id, 100);
    };
    const place = { table: 'usage_holds', on: 'update', when: "new.status = 'settled'" } as const;
    const [settled, used] = await meet(app, place, () => settle(holdId, 60), late);
    assert.deepEqual([settled.status, used?.status], [200, 402]);
    assert.equal(await balance(), 40);
  });

  test('a hold that is settled by 8, and used up by 24, as its end comes is counted once each, and nothing is used twice', async () => {
    for (let round = 0; round < rounds; round++) {
      await app.setClock(begun);
      const { id, balance } = await plan.subscribe();
      const holdId = await hold(id, 60);
      await app.setClock(begun + 3_600_000);
      const answers = await atOnce(32, (index) => (index % 4 === 0 ? settle(holdId, 60) : consume(id, 10)));
      assertStatuses(answers, [200, 402]);
      const consumed = answers.filter(({ status }, index) => status === 200 && index % 4 !== 0).length;
      assert.equal(countOf(answers, 200) - consumed, 8, 'a settlement is told again to who repeats it');
      // It was used, so it is owed where others were first.
      assert.equal(await balance(), 100 - 60 - 10 * consumed);
      assert(consumed <= 10);
    }
    await assertBooksAreRight(app);
    await assertSound(app);
  });
});

describe('race: usage whose customer has something due against a change of the customer', () => {
  test('the usage locks the customer before its subscriptions, and neither has to begin again', async () => {
    await app.setClock(begun);
    await app.put('/settings', { settings: { allowMultipleSubscriptions: true } });
    const { id, customerId } = await plan.subscribe();
    for (const token of ['pm_card_visa', 'pm_card_mastercard']) await newCard(app, customerId, token);
    await app.setClock(begun + 86_400_000);
    const { subscription } = await app.post('/subscriptions', {
      customerId,
      priceSlug: 'plan',
      doNotCharge: true,
    });
    // The first one has to be renewed, the second one not yet.
    await app.setClock(february);
    const { data } = await app.get(`/payment-methods?customerId=${customerId}`);
    const spare = data.find((method: Body) => !method.default) ?? assert.fail('two cards');
    let begins = 0;
    const inOne = (act: (work: Work) => Promise<unknown>) =>
      runInEnvironment(app.database, { environmentId }, (work) => {
        begins += 1;
        return act(work);
      });
    const events = [id, subscription.id].map((subscriptionId) => {
      return { subscriptionId, usageMeterSlug: 'calls', transactionId: `due ${subscriptionId}`, amount: 1 };
    });
    const use = (work: Work) =>
      answerAlone(recordUsage(catchUpAll), work, { kind: 'record', events, pathOf: (index) => ['usageEvents', index] });
    await meet<unknown, unknown>(
      app,
      { table: 'payment_methods', on: 'update' },
      () => inOne((work) => makeDefaultPaymentMethod(work, customerId, spare.id)),
      () => inOne(use),
    );
    assert.equal(begins, 2);
    await assertSound(app);
  });
});

describe('race: new spend limit against usage', () => {
  const place = { table: 'spend_limits', on: 'insert' } as const;
  async function limitable() {
    await app.setClock(begun);
    const customer = await plan.subscribe();
    const path = `/customers/${customer.externalId}/spend-controls`;
    return {
      ...customer,
      limit: () => app.put(path, { spendControls: { limits: [{ period: 'month', amount: 50, unit: 'units' }] } }),
      usedOfLimit: async () => (await app.get(path)).spendControls.limits[0].counters[0].usedAmount as number,
    };
  }

  test('usage that overtakes a limit that is being set is before it, and the limit counts what comes after', async () => {
    const { limit, use, usedOfLimit } = await limitable();
    // The process knows the subscription then, and books its usage by one statement.
    for (const amount of [1, 1]) await use(amount);
    await meet<unknown, unknown>(app, place, limit, () => use(20));
    await use(5);
    assert.equal(await usedOfLimit(), 5);
    await assertSound(app);
  });

  test('usage that waits for a limit that is being set is counted, and so is all that comes after', async () => {
    const { id, limit, use, usedOfLimit } = await limitable();
    await meet<unknown, unknown>(
      app,
      place,
      limit,
      () => consume(id, 20),
      () => use(10),
    );
    await use(5);
    assert.equal((await consume(id, 20)).status, 402);
    assert.equal(await usedOfLimit(), 35);
    await assertSound(app);
  });
});

describe('race: key revoked during a request', () => {
  const newKey = () => createApiKey(app.owner, { environmentId, livemode: false, name: 'Short-lived' }, Date.now());
  const make = (key: string, externalId: string): Promise<Answer> => {
    const customer = { externalId, email: 'k@acme.test', name: 'Acme', pricingModelId: plan.pricingModelId };
    return app.request('POST', '/customers', { customer }, { key });
  };

  test('a request that was let in ends as it began, and the next one is not let in', async () => {
    const { id, token } = await newKey();
    const [made] = await meet<Answer, unknown>(
      app,
      { table: 'customers', on: 'insert' },
      () => make(token, 'let in'),
      () => revokeApiKey(app.owner, id, Date.now()),
    );
    assert.equal(made.status, 200);
    assert.equal((await make(token, 'too late')).status, 401);
  });

  test('of 32 requests beside a revocation each is whole or refused, and all after it are refused', async () => {
    for (let round = 0; round < rounds; round++) {
      const { id, token } = await newKey();
      const name = (index: number) => `revoked ${round} ${index}`;
      const asking = atOnce(32, (index) => make(token, name(index)));
      await revokeApiKey(app.owner, id, Date.now());
      const after = await atOnce(8, (index) => make(token, name(100 + index)));
      const answers = await asking;
      assertStatuses(answers, [200, 401]);
      assertStatuses(after, [401]);
      const made = app.owner.selectFrom('customers').select('id').where('externalId', 'like', `revoked ${round} %`);
      assert.equal((await made.execute()).length, countOf(answers, 200));
    }
  });

  test('of 8 who rotate one key at once, one gets the new one', async () => {
    const { id } = await newKey();
    const rotated = await Promise.allSettled(Array.from({ length: 8 }, () => rotateApiKey(app.owner, id, Date.now())));
    assert.equal(rotated.filter(({ status }) => status === 'fulfilled').length, 1);
    await assertSound(app);
  });
});

describe('race: the clock moved by two', () => {
  const months = { february, march: Date.UTC(2026, 2, 1), april: Date.UTC(2026, 3, 1), may: Date.UTC(2026, 4, 1) };

  /** Who has paid for January, and whose clock is moved by a key of its own. */
  async function mover() {
    const debtor = await newDebtor(app);
    const key = { environmentId: debtor.environmentId, livemode: false, name: 'Clock' };
    const { token } = await createApiKey(app.owner, key, Date.now());
    const move = async (to: number): Promise<Answer & { readonly to: number }> => {
      const answer = await app.request('PUT', '/test-clock', { testClock: { now: to } }, { key: token });
      return { ...answer, to };
    };
    /** Asserts that the clock stands where the last of those who were told that it moved has moved it. */
    async function assertNeverBack(answers: readonly (Answer & { readonly to: number })[]): Promise<void> {
      const moved = answers.filter(({ status }) => status === 200);
      for (const { body, to } of moved) assert(body.testClock.now >= to, 'who is answered finds it there');
      const clock = app.owner.selectFrom('environments').select(['clockNow', 'clockTarget']);
      assert.deepEqual(await clock.where('id', '=', debtor.environmentId).execute(), [
        { clockNow: Math.max(...moved.map(({ to }) => to)), clockTarget: null },
      ]);
    }
    return { ...debtor, move, assertNeverBack };
  }

  test('who moves it while another one begins to goes on from where that one moves it, and not back', async () => {
    const { move, payments, assertNeverBack } = await mover();
    const place = { table: 'environments', on: 'update', when: 'new.clock_target is not null' } as const;
    const answers = await meet(
      app,
      place,
      () => move(months.march),
      () => move(months.february),
      () => move(months.april),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 400, 200],
    );
    await assertNeverBack(answers);
    assert.deepEqual(await payments(), [
      '2026-01-01 3000 succeeded',
      '2026-02-01 3075 succeeded',
      '2026-03-01 3000 succeeded',
      '2026-04-01 3000 succeeded',
    ]);
  });

  test('8 who move the clock to the same and to other instants at once: everything due is done once, in order', async () => {
    const instants = Object.values(months);
    for (let round = 0; round < rounds; round++) {
      const { move, moveTo, payments, assertNeverBack } = await mover();
      const answers = await atOnce(8, (index) => move(instants[index % 4] ?? february));
      assertStatuses(answers, [200, 400]);
      await assertNeverBack(answers);
      await moveTo('2026-05-01');
      assert.deepEqual(await payments(), [
        '2026-01-01 3000 succeeded',
        '2026-02-01 3075 succeeded',
        '2026-03-01 3000 succeeded',
        '2026-04-01 3000 succeeded',
        '2026-05-01 3000 succeeded',
      ]);
    }
    await assertSound(app);
  });
});
