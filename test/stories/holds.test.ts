import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createApiKey } from '../../src/organizations/actions.ts';
import { databaseDigest } from '../support/digest.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { insertSpender } from '../support/spending.ts';

const app = await startTestApp();
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
let now = Date.now();

/** Moves the clock of the test environment. */
async function moveTo(at: number): Promise<void> {
  now = at;
  await app.setClock(at);
}
await moveTo(now);

const spenderWith = (credits: number) => insertSpender(app, { credits, now });
const left = ({ body }: Answer): number => body.usageBalance.availableBalance;

async function take(answer: Promise<Answer>): Promise<Body> {
  const { status, body } = await answer;
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const statusOf = (id: string): Promise<string> => app.get(`/holds/${id}`).then(({ hold }) => hold.status);

describe('a hold', () => {
  test('a hold of 60 of 100 leaves 40, and is as it was asked for', async () => {
    const spender = await spenderWith(100);
    const { hold, usageBalance } = await take(spender.hold(60));
    const { subscriptionId, meterId: usageMeterId } = spender;
    assert.deepEqual(usageBalance, { subscriptionId, usageMeterId, availableBalance: 40 });
    const { id, ...rest } = hold;
    assert.match(id, /^hold_[0-9A-Za-z]{21}$/);
    assert.deepEqual(rest, {
      createdAt: now,
      updatedAt: now,
      livemode: false,
      pricingModelId: spender.pricingModelId,
      subscriptionId,
      usageMeterId,
      priceId: spender.usagePriceId,
      amount: 60,
      pooledAmount: 0,
      status: 'open',
      settledAmount: null,
      expiresAt: now + hourMs,
    });
    assert.deepEqual((await app.get(`/holds/${id}`)).hold, hold);
    assert.equal(await spender.balance(), 40);
  });

  test('a hold lowers what can be consumed, and what was held is used by those who settle', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    const refused = await spender.consume({ amount: 41 });
    assert.deepEqual([refused.status, left(refused)], [402, 40]);
    assert.equal(left(await spender.consume({ amount: 40 })), 0);
    assert.equal(left(await spender.settle(hold.id, 60)), 0);
    assert.equal(await spender.balance(), 0);
  });

  test('a hold does not lower what may be recorded without leave: the balance goes below zero', async () => {
    const spender = await spenderWith(100);
    await take(spender.hold(60));
    assert.equal((await spender.use({ amount: 70 })).status, 200);
    assert.equal(await spender.balance(), -30);
  });

  test('more than the balance covers is refused with the balance, and nothing is stored', async () => {
    const spender = await spenderWith(100);
    await take(spender.hold(60));
    const digest = await databaseDigest(app);
    const refused = await spender.hold(41);
    assert.equal(refused.status, 402);
    assert.equal(refused.body.message, 'The balance of 40 does not cover 41.');
    const { subscriptionId, meterId: usageMeterId } = spender;
    assert.deepEqual(refused.body.usageBalance, { subscriptionId, usageMeterId, availableBalance: 40 });
    assert.equal(await databaseDigest(app), digest);
    assert.equal(left(await spender.hold(40)), 0);
  });

  test('a hold is of the meter by its id or slug, by either name of each, or of a price', async () => {
    const spender = await spenderWith(100);
    const ways = [
      { meter: 'api-calls' },
      { meter: spender.meterId },
      { usageMeterSlug: 'api-calls' },
      { usageMeterId: spender.meterId },
      { priceSlug: 'call-overage' },
      { priceId: spender.usagePriceId },
    ];
    for (const way of ways) {
      const { hold } = await take(spender.hold(1, { meter: null, ...way }));
      assert.deepEqual([hold.usageMeterId, hold.priceId], [spender.meterId, spender.usagePriceId]);
    }
    assert.equal(await spender.balance(), 94);
  });

  test('a dry run answers as the real one does, and holds nothing', async () => {
    const spender = await spenderWith(100);
    await spender.use();
    const digest = await databaseDigest(app);
    const { subscriptionId } = spender;
    const hold = { subscriptionId, meter: 'api-calls', amount: 99, expiresAt: now + 1 };
    assert.equal(left(await app.request('POST', '/holds?dryRun=true', { hold })), 0);
    assert.equal(await databaseDigest(app), digest);
  });

  test('a hold under one Idempotency-Key is taken once', async () => {
    const spender = await spenderWith(100);
    const hold = { subscriptionId: spender.subscriptionId, meter: 'api-calls', amount: 30, expiresAt: now + 1 };
    const options = { headers: { 'idempotency-key': spender.subscriptionId } };
    const [first, second] = [await app.post('/holds', { hold }, options), await app.post('/holds', { hold }, options)];
    assert.deepEqual(second, first);
    assert.equal(await spender.balance(), 70);
  });
});

describe('is refused', () => {
  test('a hold is refused where it is not well asked for, naming the field', async () => {
    const spender = await spenderWith(100);
    const refusals: [Body, number, RegExp][] = [
      [{ amount: 0 }, 400, /hold\.amount/],
      [{ amount: 1.5 }, 400, /hold\.amount/],
      [{ expiresAt: now }, 400, /hold\.expiresAt: must be in the future/],
      [{ expiresAt: now + 31 * dayMs + 1 }, 400, /hold\.expiresAt: must be at most 31 days in the future/],
      [{ expiresAt: undefined }, 400, /hold\.expiresAt/],
      [{ meter: null }, 400, /exactly one of priceId, priceSlug, usageMeterId, usageMeterSlug, meter/],
      [{ priceSlug: 'call-overage' }, 400, /exactly one of/],
      [{ meter: 'none' }, 404, /No usage meter with id or slug none \(hold\.meter\)/],
      [{ meter: null, usageMeterSlug: 'none' }, 404, /\(hold\.usageMeterSlug\)/],
      [{ meter: null, priceId: 'price_none' }, 404, /\(hold\.priceId\)/],
      [{ meter: null, priceId: spender.priceId }, 400, /hold\.priceId: must be a usage price/],
      [{ subscriptionId: 'sub_none' }, 404, /\(hold\.subscriptionId\)/],
      [{ meter: 'users' }, 400, /hold\.meter: must be of a usage meter that adds up amounts/],
    ];
    for (const [change, status, message] of refusals) {
      const answer = await spender.hold(1, change);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.match(answer.body.message, message);
    }
    assert.equal(left(await spender.hold(1, { expiresAt: now + 31 * dayMs })), 99);
    assert.equal(await spender.balance(), 99);
  });

  test('a hold is refused on a subscription that has ended', async () => {
    const spender = await spenderWith(100);
    await app.post(`/subscriptions/${spender.subscriptionId}/cancel`, { cancellation: { timing: 'immediately' } });
    const answer = await spender.hold(1);
    assert.equal(answer.status, 400);
    assert.match(answer.body.message, /has ended: its status is canceled/);
  });

  test('a hold is refused when 1,000 are open, and not when one of them has ended', async () => {
    const spender = await spenderWith(2000);
    await take(spender.hold(1, { expiresAt: now + 1 }));
    const { ledgerAccountId } = await app.owner
      .selectFrom('usageHolds')
      .select('ledgerAccountId')
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow();
    await insertHolds(ledgerAccountId, 999);
    const refused = await spender.hold(1);
    assert.equal(refused.status, 409);
    assert.match(refused.body.message, /1000 open holds/);
    await moveTo(now + 1);
    assert.equal(left(await spender.hold(1)), 1000);
  });
});

/** Open holds of 1 beside the first one of the account. */
async function insertHolds(ledgerAccountId: string, count: number): Promise<void> {
  const first = await app.owner
    .selectFrom('usageHolds')
    .selectAll()
    .where('ledgerAccountId', '=', ledgerAccountId)
    .executeTakeFirstOrThrow();
  const rows = Array.from({ length: count }, (_, index) => ({
    ...first,
    id: `${first.id}-${index}`,
    expiresAt: now + hourMs,
  }));
  await app.owner.insertInto('usageHolds').values(rows).execute();
  await app.owner
    .updateTable('ledgerAccounts')
    .set({ held: BigInt(count + 1) })
    .where('id', '=', ledgerAccountId)
    .execute();
}

describe('settled', () => {
  test('when a hold is settled with less, what was not used is free again, and the event has the id of the hold', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    await moveTo(now + 1000);
    const body = await take(spender.settle(hold.id, 45));
    assert.equal(body.usageBalance.availableBalance, 55);
    assert.deepEqual(body.hold, { ...hold, status: 'settled', settledAmount: 45, updatedAt: now });
    assert.deepEqual(await app.get(`/holds/${hold.id}`), { hold: body.hold });
    const { transactionId, amount, usageDate, priceId, id } = body.usageEvent;
    assert.deepEqual([transactionId, amount, usageDate, priceId], [hold.id, 45, now, hold.priceId]);
    assert.deepEqual((await app.get(`/usage-events/${id}`)).usageEvent, body.usageEvent);
    assert.equal(await spender.balance(), 55);
  });

  test('a hold is settled with more than was held, also beyond the balance', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    const { usageEvent, usageBalance } = await take(spender.settle(hold.id, 130));
    assert.deepEqual([usageEvent.amount, usageBalance.availableBalance], [130, -30]);
  });

  test('when a hold is settled with 0, nothing is recorded', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    const body = await take(spender.settle(hold.id, 0));
    assert.deepEqual([body.usageEvent, body.hold.settledAmount, body.usageBalance.availableBalance], [null, 0, 100]);
    const { total } = await app.get(`/usage-events?subscriptionId=${spender.subscriptionId}`);
    assert.equal(total, 0);
    assert.deepEqual(await take(spender.settle(hold.id, 0)), body);
  });

  test('a hold that is settled again with the same amount is answered the same, with another it is refused', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    const first = await take(spender.settle(hold.id, 45));
    assert.deepEqual(await take(spender.settle(hold.id, 45)), first);
    for (const refused of [await spender.settle(hold.id, 46), await spender.settle(hold.id, 0)]) {
      assert.equal(refused.status, 409);
      assert.equal(refused.body.message, `Hold ${hold.id} was already settled with 45.`);
    }
    assert.equal((await spender.release(hold.id)).status, 409);
    assert.equal(await spender.balance(), 55);
  });

  test('settling is refused for what is no amount, and for a hold that is not there', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    for (const amount of [-1, 0.5, 2 ** 53]) assert.equal((await spender.settle(hold.id, amount)).status, 400);
    assert.equal((await app.request('POST', `/holds/${hold.id}/settle`, {})).status, 400);
    assert.equal((await spender.settle('hold_none', 1)).status, 404);
    assert.equal((await spender.release('hold_none')).status, 404);
    assert.equal((await app.request('GET', '/holds/hold_none')).status, 404);
    assert.equal(await statusOf(hold.id), 'open');
  });

  test('settling is refused when an event has taken its transaction, and then the hold can be released', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    await spender.use({ transactionId: hold.id, amount: 5 });
    const refused = await spender.settle(hold.id, 5);
    assert.equal(refused.status, 409);
    assert.match(refused.body.message, /release the hold instead/);
    assert.equal(left(await spender.release(hold.id)), 95);
  });

  test('settling after the subscription has ended is refused, what was settled before is told, and the hold can be released', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    const { hold: other } = await take(spender.hold(10));
    const settled = await take(spender.settle(other.id, 10));
    await app.post(`/subscriptions/${spender.subscriptionId}/cancel`, { cancellation: { timing: 'immediately' } });
    for (const amount of [60, 0]) {
      const refused = await spender.settle(hold.id, amount);
      assert.equal(refused.status, 400);
      assert.match(refused.body.message, /has ended: its status is canceled/);
    }
    assert.equal(await statusOf(hold.id), 'expired');
    assert.deepEqual((await take(spender.settle(other.id, 10))).usageEvent, settled.usageEvent);
    assert.equal((await take(spender.release(hold.id))).hold.status, 'released');
  });
});

describe('released', () => {
  test('it holds nothing, a repeat is answered the same, and it is not settled any more', async () => {
    const spender = await spenderWith(100);
    const { hold } = await take(spender.hold(60));
    await moveTo(now + 1000);
    const body = await take(spender.release(hold.id));
    assert.deepEqual(body.hold, { ...hold, status: 'released', updatedAt: now });
    assert.equal(body.usageBalance.availableBalance, 100);
    await moveTo(now + 1000);
    assert.deepEqual(await take(spender.release(hold.id)), body);
    for (const amount of [0, 60]) {
      const refused = await spender.settle(hold.id, amount);
      assert.equal(refused.status, 409);
      assert.match(refused.body.message, /was already released: record the usage as a usage event/);
    }
    assert.equal(await spender.balance(), 100);
  });
});

describe('the list', () => {
  test('the list is in order of creation, by subscription, meter and the status as it is now', async () => {
    const spender = await spenderWith(100);
    const holds: Body[] = [];
    for (let index = 0; index < 5; index++)
      holds.push((await take(spender.hold(1, { expiresAt: now + 1000 + index }))).hold);
    const ids = holds.map(({ id }) => id);
    await spender.settle(ids[0], 1);
    await spender.release(ids[1]);
    await moveTo(now + 1002);
    const list = async (query = '') => {
      const page = await app.get(`/holds?subscriptionId=${spender.subscriptionId}&limit=3${query}`);
      return { ids: page.data.map((hold: Body) => hold.id), total: page.total, next: page.nextCursor };
    };
    const first = await list();
    assert.deepEqual([first.ids, first.total], [ids.slice(0, 3), 5]);
    assert.deepEqual((await list(`&cursor=${encodeURIComponent(first.next)}`)).ids, ids.slice(3));
    for (const [index, status] of ['settled', 'released', 'expired'].entries())
      assert.deepEqual((await list(`&status=${status}`)).ids, [ids[index]]);
    assert.deepEqual((await list('&status=open')).ids, ids.slice(3));
    assert.equal((await list(`&usageMeterId=${spender.meterId}`)).total, 5);
    assert.equal((await list(`&usageMeterId=${spender.distinctMeterId}`)).total, 0);
    assert.equal((await app.request('GET', '/holds?status=gone')).status, 400);
  });

  test('the list shows a key that is pinned to a pricing model the holds of that model only', async () => {
    const [mine, other] = [await spenderWith(100), await spenderWith(100)];
    const [{ hold }, { hold: hidden }] = [await take(mine.hold(1)), await take(other.hold(1))];
    const { token: key } = await createApiKey(
      app.owner,
      {
        environmentId: app.testEnvironmentId,
        livemode: false,
        name: 'pinned',
        pricingModelId: mine.pricingModelId,
      },
      Date.now(),
    );
    const { data } = await app.get('/holds', { key });
    assert.deepEqual(data, [hold]);
    for (const path of ['settle', 'release']) {
      const body = path === 'settle' ? { amount: 1 } : {};
      const answer = await app.request('POST', `/holds/${hidden.id}/${path}`, body, { key });
      assert.equal(answer.status, 404);
    }
  });
});
