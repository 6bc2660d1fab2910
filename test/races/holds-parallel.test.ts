import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, startTestApp } from '../support/harness.ts';
import { assertBooksAreRight, atOnce, insertSpender, type Spender, statusCounts } from '../support/spending.ts';

const app = await startTestApp();

async function holdIds(spender: Spender, count: number, amount: number): Promise<string[]> {
  const answers = await atOnce(count, () => spender.hold(amount));
  assert.deepEqual(statusCounts(answers), { 200: count });
  return answers.map(({ body }) => body.hold.id);
}

test('of 64 holds at once on a balance for 40, 40 succeed, and each sees another balance', async () => {
  const spender = await insertSpender(app, { credits: 81 });
  const answers = await atOnce(64, () => spender.hold(2));
  assert.deepEqual(statusCounts(answers), { 200: 40, 402: 24 });
  const balances = answers.filter(({ status }) => status === 200).map(({ body }) => body.usageBalance.availableBalance);
  assert.deepEqual(
    balances.sort((a, b) => b - a),
    Array.from({ length: 40 }, (_, index) => 79 - 2 * index),
  );
  assert.equal(await spender.balance(), 1);
  await assertBooksAreRight(app);
});

test('holds and consumptions at once share the balance: what is accepted adds up to it', async () => {
  const spender = await insertSpender(app, { credits: 40 });
  const [held, consumed] = await Promise.all([atOnce(32, () => spender.hold(1)), atOnce(32, () => spender.consume())]);
  const accepted = [...held, ...consumed].filter(({ status }) => status === 200);
  assert.equal(accepted.length, 40);
  assert.deepEqual(statusCounts([...held, ...consumed]), { 200: 40, 402: 24 });
  assert.equal(await spender.balance(), 0);
  await assertBooksAreRight(app);
});

for (const unit of ['units', 'money'] as const)
  test(`of 64 consumptions and holds at once against one budget for 40 in ${unit}, 40 succeed`, async () => {
    const spender = await insertSpender(app, { credits: 1000 });
    // 100 units cost 50.
    const [amount, limit] = unit === 'units' ? [1, 40] : [100, 40 * 50];
    await spender.limit([{ usageMeterSlug: 'api-calls', period: 'month', amount: limit, unit }]);
    if (unit === 'money') await spender.grant(64 * 100);
    const [held, consumed] = await Promise.all([
      atOnce(24, () => spender.hold(amount)),
      atOnce(40, () => spender.consume({ amount })),
    ]);
    assert.deepEqual(statusCounts([...held, ...consumed]), { 200: 40, 402: 24 });
    const refused = [...held, ...consumed].filter(({ status }) => status === 402);
    assert.ok(refused.every(({ body }) => body.reason === 'spend_limit_reached'));
    for (const { body } of held.filter(({ status }) => status === 200)) await spender.release(body.hold.id);
    const free = held.filter(({ status }) => status === 200).length;
    const again = await atOnce(64, () => spender.consume({ amount }));
    assert.deepEqual(statusCounts(again), free === 0 ? { 402: 64 } : { 200: free, 402: 64 - free });
    await assertBooksAreRight(app);
  });

test('a settlement and a release at once: one of them wins, and the other is refused', async () => {
  const spender = await insertSpender(app, { credits: 100 });
  const ids = await holdIds(spender, 20, 5);
  const pairs = await Promise.all(ids.map((id) => Promise.all([spender.settle(id, 3), spender.release(id)])));
  for (const pair of pairs) assert.deepEqual(statusCounts(pair), { 200: 1, 409: 1 });
  const settled = pairs.filter(([settlement]) => settlement.status === 200).length;
  assert.equal(await spender.balance(), 100 - 3 * settled);
  await assertBooksAreRight(app);
});

test('settlements with two amounts at once: those of one amount are all answered alike, the others refused', async () => {
  const spender = await insertSpender(app, { credits: 100 });
  const [id = ''] = await holdIds(spender, 1, 10);
  const answers = await atOnce(20, (index) => spender.settle(id, index % 2 === 0 ? 4 : 7));
  assert.deepEqual(statusCounts(answers), { 200: 10, 409: 10 });
  const bodies = answers.filter(({ status }) => status === 200).map(({ body }) => body);
  assert.deepEqual(new Set(bodies.map((body) => JSON.stringify(body))).size, 1);
  assert.equal(await spender.balance(), 100 - bodies[0].usageEvent.amount);
  await assertBooksAreRight(app);
});

test('releases at once are all answered, and give back once', async () => {
  const spender = await insertSpender(app, { credits: 100 });
  const [id = ''] = await holdIds(spender, 1, 10);
  const answers = await atOnce(20, () => spender.release(id));
  assert.deepEqual(statusCounts(answers), { 200: 20 });
  assert.equal(await spender.balance(), 100);
});

test('holds, settlements, releases, consumptions and events at once leave what was granted, less what was used', async () => {
  const spender = await insertSpender(app, { credits: 500 });
  const ids = await holdIds(spender, 40, 5);
  const act = (index: number): Promise<Answer> => {
    const id = ids[index % ids.length] ?? '';
    // Each of the 40 holds is settled once and, of every other, released at the same time.
    if (index < 40) return spender.settle(id, index % 8);
    if (index < 80) return index % 2 === 0 ? spender.release(id) : spender.hold(2);
    return index % 2 === 0 ? spender.consume({ amount: 3 }) : spender.use({ amount: 2 });
  };
  const answers = await atOnce(120, act);
  assert.ok(answers.every(({ status }) => [200, 402, 409].includes(status)));
  const done = answers.filter(({ status }) => status === 200).map(({ body }) => body);
  const used = done.reduce((sum, { usageEvent }) => sum + (usageEvent?.amount ?? 0), 0);
  const held = done.reduce((sum, { hold }) => sum + (hold?.status === 'open' ? hold.amount : 0), 0);
  const settledIds = new Set(done.filter(({ hold }) => hold?.status === 'settled').map(({ hold }) => hold.id));
  const releasedIds = new Set(done.filter(({ hold }) => hold?.status === 'released').map(({ hold }) => hold.id));
  assert.ok(settledIds.isDisjointFrom(releasedIds));
  assert.deepEqual(settledIds.union(releasedIds), new Set(ids));
  assert.equal(await spender.balance(), 500 - used - held);
  await assertBooksAreRight(app);
});

test('holds that end while others are taken are written off once', async () => {
  const start = Date.now();
  const timed = await startTestApp();
  await timed.setClock(start);
  const spender = await insertSpender(timed, { credits: 40, now: start });
  await atOnce(20, () => spender.hold(2, { expiresAt: start + 1000 }));
  assert.equal(await spender.balance(), 0);
  await timed.setClock(start + 1000);
  const answers = await atOnce(64, () => spender.hold(1));
  assert.deepEqual(statusCounts(answers), { 200: 40, 402: 24 });
  assert.equal(await spender.balance(), 0);
  await assertBooksAreRight(timed);
});
