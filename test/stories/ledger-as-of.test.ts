import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { startTestApp } from '../support/harness.ts';
import { ledgerWorlds } from '../support/ledger-world.ts';

const app = await startTestApp();
const newWorld = await ledgerWorlds(app);

test('as of each instant between, the balance is what it was, and the entries are those until then', async () => {
  const world = await newWorld();
  await world.goTo(10);
  await world.grant(100n, 50);
  await world.goTo(20);
  await world.grant(50n);
  await world.goTo(30);
  await world.use(120);
  const expected = [
    [9, 0, 0],
    [10, 100, 1],
    [19, 100, 1],
    [20, 150, 2],
    [29, 150, 2],
    [30, 30, 3],
  ] as const;
  for (const [second, balance, entries] of expected) {
    const { balances, data, total } = await world.read({ asOf: new Date(world.at(second)).toISOString() });
    assert.deepEqual(
      [balances[0].availableBalance, data.length, total],
      [balance, entries, entries],
      `second ${second}`,
    );
  }
  const refused = await world.ask({ asOf: world.at(31) });
  assert.equal(refused.status, 400);
  assert.deepEqual(refused.body.issues[0].path, ['asOf']);
  assert.equal((await world.ask({ asOf: 'yesterday' })).status, 400);
});

test('credits that ended are no part of a balance from that instant on, also where it was booked late or not at all', async () => {
  const world = await newWorld();
  await world.goTo(10);
  await world.grant(100n, 20);
  await world.grant(50n);
  await world.goTo(15);
  await world.use(40);
  await world.goTo(30);
  await world.use(10);
  // 150 - 40 = 110, of which 60 end at 20; of the 50 that last 10 are used at 30.
  const expected = new Map([
    [10, 150],
    [15, 110],
    [19, 110],
    [20, 50],
    [29, 50],
    [30, 40],
  ]);
  const read = async () =>
    new Map(
      await Promise.all(
        Array.from(expected.keys(), async (second) => [second, await world.balanceAt(second)] as const),
      ),
    );
  assert.deepEqual(await read(), expected, 'not booked');
  await world.goTo(40);
  assert.equal(await world.bookExpiries(), 1);
  assert.deepEqual(await read(), expected, 'booked at 40');
  assert.deepEqual([await world.balanceAt(39), await world.balanceAt(40), await world.balanceNow()], [40, 40, 40]);
  const { data } = await world.read();
  const { type, amount, availableAfter, createdAt } = data.at(-1);
  assert.deepEqual(
    { type, amount, availableAfter, createdAt },
    { type: 'expiry', amount: -60, availableAfter: 40, createdAt: world.at(40) },
  );
});

test('a hold lowers the balance from when it is taken until it is released, settled or ends', async () => {
  const world = await newWorld();
  await world.goTo(1);
  await world.grant(100n);
  const hold = async (amount: number, endsAt: number): Promise<string> => {
    const { subscriptionId, meterId } = world;
    const expiresAt = world.at(endsAt);
    return (await app.post('/holds', { hold: { subscriptionId, usageMeterId: meterId, amount, expiresAt } })).hold.id;
  };
  await world.goTo(10);
  const released = await hold(1, 60);
  const settled = await hold(10, 60);
  await hold(20, 40);
  await world.goTo(20);
  await app.post(`/holds/${released}/release`);
  await world.goTo(30);
  await app.post(`/holds/${settled}/settle`, { amount: 7 });
  await world.goTo(50);
  const seconds = [9, 10, 20, 30, 39, 40, 50];
  const balances = await Promise.all(seconds.map((second) => world.balanceAt(second)));
  assert.deepEqual(balances, [100, 69, 70, 73, 73, 93, 93]);
  assert.equal(await world.balanceNow(), 93);
});

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('grant' as const),
      amount: fc.integer({ min: 1, max: 60 }),
      lasts: fc.option(fc.integer({ min: 1, max: 6 })),
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('use' as const), amount: fc.integer({ min: 1, max: 40 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('hold' as const),
      amount: fc.integer({ min: 1, max: 20 }),
      lasts: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('release' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('takeBack' as const), amount: fc.integer({ min: 1, max: 20 }) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('bookExpiries' as const) }) },
);

test('whatever happens, the balance as of a past instant is what the customer was told then', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      const world = await newWorld();
      const { subscriptionId, meterId } = world;
      const told = new Map<number, number>();
      const holds: string[] = [];
      const credits: string[] = [];
      for (const [index, each] of steps.entries()) {
        const second = index + 1;
        await world.goTo(second);
        if (each.does === 'grant')
          credits.push(await world.grant(BigInt(each.amount), each.lasts === null ? null : second + each.lasts));
        // Refused where less than that is left of it.
        if (each.does === 'takeBack')
          await app.request('POST', `/usage-credits/${credits.at(-1)}/take-back`, { amount: each.amount });
        if (each.does === 'use') await world.use(each.amount);
        if (each.does === 'bookExpiries') await world.bookExpiries();
        if (each.does === 'hold') {
          const hold = {
            subscriptionId,
            usageMeterId: meterId,
            amount: each.amount,
            expiresAt: world.at(second + each.lasts),
          };
          const answer = await app.request('POST', '/holds', { hold });
          if (answer.status === 200) holds.push(answer.body.hold.id);
        }
        const oldest = holds.shift();
        if (each.does === 'release' && oldest !== undefined) await app.post(`/holds/${oldest}/release`);
        else if (oldest !== undefined) holds.unshift(oldest);
        told.set(second, await world.balanceNow());
      }
      await world.goTo(steps.length + 8);
      for (const [second, balance] of told) {
        assert.equal((await world.balanceAt(second)) ?? 0, balance, `as of second ${second}`);
      }
    }),
    { numRuns: 25 },
  );
});
