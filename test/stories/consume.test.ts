import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { databaseDigest } from '../support/digest.ts';
import { type Answer, type Body, send, startTestApp } from '../support/harness.ts';
import { assertBooksAreRight, atOnce, insertSpender, type Spender, statusCounts } from '../support/spending.ts';

const app = await startTestApp();

const left = ({ body }: Answer): number => body.usageBalance.availableBalance;

function countEvents({ subscriptionId }: Spender): Promise<number> {
  return app.get(`/usage-events?subscriptionId=${subscriptionId}`).then(({ total }) => total);
}

describe('one after the other', () => {
  test('of 100 credits 30 and 70 are consumed, and not one more', async () => {
    const spender = await insertSpender(app, { credits: 100 });
    const first = await spender.consume({ transactionId: 'first', amount: 30 });
    assert.equal(first.status, 200);
    const { subscriptionId, meterId } = spender;
    assert.deepEqual(first.body.usageBalance, { subscriptionId, usageMeterId: meterId, availableBalance: 70 });
    assert.deepEqual(
      first.body.usageEvent,
      (await app.get(`/usage-events/${first.body.usageEvent.id}`)).usageEvent,
      'the event is stored as it was answered',
    );
    const second = await spender.consume({ amount: 70 });
    assert.deepEqual([second.status, left(second)], [200, 0]);
    assert.deepEqual([(await spender.consume({ amount: 1 })).status, await spender.balance()], [402, 0]);
  });

  test('what is not covered is refused with the balance, and nothing is stored', async () => {
    const spender = await insertSpender(app, { credits: 100 });
    await spender.use({ amount: 60 });
    const digest = await databaseDigest(app);
    const refused = await spender.consume({ amount: 41 });
    assert.equal(refused.status, 402);
    const { request_id: _, ...body } = refused.body;
    assert.deepEqual(body, {
      message: 'The balance of 40 does not cover 41.',
      error: 'The balance of 40 does not cover 41.',
      code: 'PAYMENT_REQUIRED',
      reason: 'insufficient_balance',
      usageBalance: {
        subscriptionId: spender.subscriptionId,
        usageMeterId: spender.meterId,
        availableBalance: 40,
      },
    });
    assert.equal(await databaseDigest(app), digest);
    assert.deepEqual([(await spender.consume({ amount: 40 })).status, await countEvents(spender)], [200, 2]);
  });

  test('of a first use that is refused nothing is left, with and without credits; who asks beside it is not held up', async () => {
    const [poor, rich, other] = [
      await insertSpender(app),
      await insertSpender(app, { credits: 10 }),
      await insertSpender(app, { credits: 10 }),
    ];
    const digest = await databaseDigest(app);
    const refused = await Promise.all([poor.consume({ amount: 1 }), rich.consume({ amount: 11 })]);
    assert.deepEqual(
      refused.map((answer) => [answer.status, left(answer)]),
      [
        [402, 0],
        [402, 10],
      ],
    );
    assert.equal(await databaseDigest(app), digest);
    const answers = await Promise.all([poor.consume({ amount: 1 }), other.consume({ amount: 10 })]);
    assert.deepEqual(
      answers.map((answer) => [answer.status, left(answer)]),
      [
        [402, 0],
        [200, 0],
      ],
    );
  });

  test('a refused transaction can be sent again when there is credit', async () => {
    const spender = await insertSpender(app);
    assert.equal((await spender.consume({ transactionId: 'later', amount: 5 })).status, 402);
    await spender.grant(5);
    const answer = await spender.consume({ transactionId: 'later', amount: 5 });
    assert.deepEqual([answer.status, left(answer)], [200, 0]);
  });

  test('a repeat is answered with the first event and the present balance, whatever is left', async () => {
    const spender = await insertSpender(app, { credits: 10 });
    const first = await spender.consume({ transactionId: 'again', amount: 4 });
    await spender.consume({ amount: 6 });
    const again = await spender.consume({ transactionId: 'again', amount: 9 });
    assert.equal(again.status, 200);
    assert.deepEqual(again.body.usageEvent, first.body.usageEvent);
    assert.deepEqual([left(again), await countEvents(spender)], [0, 2]);
  });

  test('a transaction that was recorded without leave is answered, and counts once', async () => {
    const spender = await insertSpender(app, { credits: 10 });
    const recorded = await spender.use({ transactionId: 'recorded', amount: 4 });
    const answer = await spender.consume({ transactionId: 'recorded', amount: 4 });
    assert.deepEqual(answer.body.usageEvent, recorded.body.usageEvent);
    assert.equal(left(answer), 6);
    const consumed = await spender.consume({ transactionId: 'consumed', amount: 6 });
    const repeated = await spender.use({ transactionId: 'consumed', amount: 6 });
    assert.deepEqual(repeated.body.usageEvent, consumed.body.usageEvent);
    assert.equal(await spender.balance(), 0);
  });

  test('a transaction of another subscription is taken', async () => {
    const spender = await insertSpender(app, { credits: 10 });
    await spender.consume({ transactionId: 'mine' });
    const taken = await spender.consume({ transactionId: 'mine', subscriptionId: await spender.insertSibling() });
    assert.equal(taken.status, 409);
    assert.match(taken.body.message, /Another subscription or customer has already recorded transaction mine/);
    assert.deepEqual(taken.body.issues[0].path, ['usageEvent', 'transactionId']);
  });

  test('what a usage event is refused for, a consumption is refused for', async () => {
    const spender = await insertSpender(app, { credits: 10 });
    const refusals: [Body, number, RegExp][] = [
      [{ subscriptionId: 'sub_none' }, 404, /usageEvent\.subscriptionId/],
      [{ priceSlug: 'none' }, 404, /usageEvent\.priceSlug/],
      [{ amount: 0 }, 400, /usageEvent\.amount/],
      [{ usageMeterSlug: 'api-calls' }, 400, /exactly one of/],
      [{ priceSlug: null, priceId: spender.priceId }, 400, /must be a usage price/],
    ];
    for (const [change, status, message] of refusals) {
      const answer = await spender.consume(change);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.match(answer.body.message, message);
    }
    assert.deepEqual([await spender.balance(), await countEvents(spender)], [10, 0]);
  });

  test('usage without credit stands against what is granted later', async () => {
    const spender = await insertSpender(app);
    await spender.use({ amount: 10 });
    const below = await spender.consume();
    assert.deepEqual([below.status, left(below)], [402, -10]);
    await spender.grant(10);
    assert.deepEqual([(await spender.consume()).status, await spender.balance()], [402, 0]);
    await spender.grant(1);
    const covered = await spender.consume();
    assert.deepEqual([covered.status, left(covered)], [200, 0]);
  });

  test('at the very instant at which credits end they cover nothing more', async () => {
    const start = Date.now();
    const timed = await startTestApp();
    await timed.setClock(start);
    const spender = await insertSpender(timed, { credits: 3, now: start });
    await spender.grant(100, { expiresAt: start + 1000 });
    await timed.setClock(start + 999);
    assert.equal(left(await spender.consume({ amount: 40 })), 63);
    await timed.setClock(start + 1000);
    const refused = await spender.consume({ amount: 4 });
    assert.deepEqual([refused.status, left(refused)], [402, 3]);
    const covered = await spender.consume({ amount: 3 });
    assert.deepEqual([covered.status, left(covered)], [200, 0]);
    await assertBooksAreRight(timed);
  });

  test('a dry run answers both ways and stores nothing', async () => {
    const spender = await insertSpender(app, { credits: 10 });
    await spender.consume({ amount: 1 });
    const digest = await databaseDigest(app);
    const dry = (amount: number) =>
      app.request('POST', '/usage-events/consume?dryRun=true', { usageEvent: spender.usage({ amount }) });
    const [covered, refused] = [await dry(9), await dry(10)];
    assert.deepEqual([covered.status, left(covered)], [200, 0]);
    assert.deepEqual([refused.status, left(refused)], [402, 9]);
    assert.equal(await databaseDigest(app), digest);
  });
});

describe('on a meter that counts distinct properties', () => {
  const user = (name: string) => ({ priceSlug: 'user-overage', properties: { user: name } });

  test('the first event with its properties needs balance, and the others none', async () => {
    const spender = await insertSpender(app);
    await spender.grant(2, { usageMeterId: spender.distinctMeterId });
    const answers: Answer[] = [];
    for (const name of ['ada', 'ada', 'bob', 'carl', 'ada']) answers.push(await spender.consume(user(name)));
    assert.deepEqual(
      answers.map((answer) => [answer.status, left(answer)]),
      [
        [200, 1],
        [200, 1],
        [200, 0],
        [402, 0],
        [200, 0],
      ],
    );
  });

  test('what counts nothing is accepted also where the balance is negative', async () => {
    const spender = await insertSpender(app);
    await spender.use(user('ada'));
    const again = await spender.consume(user('ada'));
    assert.deepEqual([again.status, left(again)], [200, -1]);
    assert.equal((await spender.consume(user('bob'))).status, 402);
  });

  test('of many at once with the same properties one counts', async () => {
    const spender = await insertSpender(app);
    await spender.grant(1, { usageMeterId: spender.distinctMeterId });
    const answers = await atOnce(20, () => spender.consume(user('ada')));
    assert.deepEqual(statusCounts(answers), { 200: 20 });
    assert.deepEqual([await spender.balance(spender.distinctMeterId), await countEvents(spender)], [0, 20]);
    await assertBooksAreRight(app);
  });
});

describe('many at once', () => {
  test('of 64 on a balance for 40, 40 succeed, and each sees another balance', async () => {
    const spender = await insertSpender(app, { credits: 40 });
    const answers = await atOnce(64, () => spender.consume());
    assert.deepEqual(statusCounts(answers), { 200: 40, 402: 24 });
    const balances = answers.filter(({ status }) => status === 200).map(left);
    assert.deepEqual(
      balances.sort((a, b) => b - a),
      Array.from({ length: 40 }, (_, index) => 39 - index),
    );
    assert.deepEqual([await spender.balance(), await countEvents(spender)], [0, 40]);
    await assertBooksAreRight(app);
  });

  test('with events that need no leave among them, none is accepted that the balance does not cover', async () => {
    const spender = await insertSpender(app, { credits: 40 });
    const [consumed, recorded] = await Promise.all([
      atOnce(64, () => spender.consume()),
      atOnce(20, () => spender.use()),
    ]);
    assert.deepEqual(statusCounts(recorded), { 200: 20 });
    const accepted = consumed.filter(({ status }) => status === 200);
    // 40 were used before anyone was refused, at most 20 of them without leave.
    assert.ok(accepted.length >= 20 && accepted.length <= 40, `${accepted.length} accepted`);
    assert.ok(accepted.every((answer) => left(answer) >= 0));
    assert.equal(await spender.balance(), 40 - accepted.length - 20);
    await assertBooksAreRight(app);
  });

  test('one transaction, sent 30 times at once, counts once and is answered the same', async () => {
    const spender = await insertSpender(app, { credits: 10 });
    const send = (index: number) => (index % 2 === 0 ? spender.consume : spender.use)({ transactionId: 'same' });
    const answers = await atOnce(30, send);
    assert.deepEqual(statusCounts(answers), { 200: 30 });
    assert.equal(new Set(answers.map(({ body }) => body.usageEvent.id)).size, 1);
    assert.equal(await spender.balance(), 9);
  });

  test('whoever asks for what cannot be covered stands in nobody’s way', async () => {
    const spender = await insertSpender(app, { credits: 30 });
    const answers = await atOnce(60, (index) => spender.consume(index % 2 === 0 ? {} : { amount: 1000 }));
    assert.deepEqual(statusCounts(answers), { 200: 30, 402: 30 });
    assert.equal(await spender.balance(), 0);
  });
});

describe('through two services on one database', () => {
  const addresses = app.startOther().then(({ url, close }) => {
    after(close);
    return [app.url, url];
  });
  const ask = async (index: number, path: string, usageEvent: Body): Promise<Answer> =>
    send((await addresses)[index % 2] ?? '', 'POST', path, { usageEvent }, { key: app.testKey });

  test('of 64 on a balance for 40, 40 succeed', async () => {
    const spender = await insertSpender(app, { credits: 40 });
    const answers = await atOnce(64, (index) => ask(index, '/usage-events/consume', spender.usage({})));
    assert.deepEqual(statusCounts(answers), { 200: 40, 402: 24 });
    assert.deepEqual([await spender.balance(), await countEvents(spender)], [0, 40]);
    await assertBooksAreRight(app);
  });

  test('transactions that both are sent at once count once each', async () => {
    const spender = await insertSpender(app, { credits: 40 });
    const answers = await atOnce(80, (index) =>
      ask(
        index,
        index % 4 < 2 ? '/usage-events/consume' : '/usage-events',
        spender.usage({ transactionId: `both ${index >> 2}` }),
      ),
    );
    assert.deepEqual(statusCounts(answers), { 200: 80 });
    assert.deepEqual([await spender.balance(), await countEvents(spender)], [20, 20]);
    await assertBooksAreRight(app);
  });
});
