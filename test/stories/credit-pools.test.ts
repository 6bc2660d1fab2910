import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Tollkeeper } from '../../client/src/client.ts';
import { instant } from '../../src/kernel/calendar.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { newPoolUser } from '../support/pool-user.ts';
import { credits, meter, plan } from '../support/shop.ts';
import { assertSound } from '../support/sound.ts';

// One pool of credits that several meters draw from. It belongs to the customer, and outlives every plan.

const app = await startTestApp();
after(() => assertSound(app));
const start = instant('2026-06-01');
await app.setClock(start);
const price = (slug: string) => ({ slug, unitPrice: 5, usageEventsPerUnit: 1 });
const { pricingModel } = await app.post('/pricing-models/setup', {
  name: 'AI',
  isDefault: true,
  features: [credits('tokens-a-month', 10, 'tokens')],
  products: [plan('free', 0, []), plan('pro', 2900, ['tokens-a-month'])],
  usageMeters: [
    meter('tokens', 'Tokens', price('token')),
    meter('seconds', 'Seconds of audio', price('second')),
    meter('images', 'Images', price('image')),
  ],
  creditPools: [
    {
      slug: 'ai',
      name: 'AI credits',
      unit: 'credit',
      rates: [
        { usageMeterSlug: 'tokens', per: 1000, cost: '0.5' },
        { usageMeterSlug: 'tokens', where: { model: ['large'] }, per: 1000, cost: '2.5' },
        { usageMeterSlug: 'seconds', per: 60, cost: '1' },
        { usageMeterSlug: 'images', where: { size: ['large'] }, per: 1, cost: '1' },
      ],
    },
  ],
});
const pricingModelId: string = pricingModel.id;
const pool = (await app.get('/credit-pools?slug=ai')).data[0];

const newUser = () => newPoolUser(app, 'ai');

test('a pool has an exact rate for each meter, and keeps its unit', async () => {
  assert.deepEqual(pool.rates[0], { usageMeterSlug: 'tokens', where: null, per: 1000, cost: '0.5' });
  const refused = async (creditPool: object) =>
    (
      await app.request('POST', '/credit-pools', {
        creditPool: { slug: 'other', name: 'Other', unit: 'USD', ...creditPool },
      })
    ).body;
  const rate = { usageMeterSlug: 'images', cost: '1' };
  assert.match(JSON.stringify(await refused({ rates: [{ ...rate, per: 17 }] })), /must be exact for one unit/);
  for (const per of [0, -1, 0.5]) {
    const { issues } = await refused({ rates: [{ ...rate, per }] });
    assert.deepEqual(
      issues.map((issue: Body) => issue.path.join('.')),
      ['creditPool.rates.0.per'],
    );
  }
  assert.match(JSON.stringify(await refused({ rates: [{ ...rate, cost: '0' }] })), /above 0/);
  assert.equal((await refused({ rates: [{ ...rate, usageMeterSlug: 'nothing' }] })).reason, 'usage_meter_not_found');
  assert.match(
    JSON.stringify(await refused({ rates: [{ ...rate, usageMeterSlug: 'seconds' }] })),
    /has a rate without/,
  );
  assert.match(JSON.stringify(await refused({ unit: 'points' })), /unit/);
  assert.match(JSON.stringify(await refused({ slug: 'ai', rates: [] })), /already used/);
  const tie = { usageMeterSlug: 'tokens', cost: '1', where: { tier: ['fast'] } };
  assert.match(JSON.stringify(await refused({ rates: [tie] })), /must tell its events/);
});

test('credits of a meter come before the pool, and what neither covers is overage', async () => {
  const user = await newUser();
  await app.post('/subscriptions', { customerId: user.customerId, priceSlug: 'pro-monthly' });
  await user.grant('1.5');
  // 10 tokens are of the plan; 2,000 cost 1 credit, and 0.5 pays for 1,000 more.
  await user.record(user.event('tokens', 2010));
  assert.deepEqual([await user.meter('tokens'), await user.balance()], [0, '0.5']);
  await user.record(user.event('tokens', 1003));
  assert.deepEqual([await user.meter('tokens'), await user.balance()], [-3, '0']);
  assert.equal((await user.consume('tokens', 1)).status, 402);
});

test('no fraction is lost: 60 seconds one by one cost what a minute costs', async () => {
  const user = await newUser();
  await user.grant(2);
  for (let second = 0; second < 60; second += 1) assert.equal((await user.consume('seconds', 1)).status, 200);
  assert.equal(await user.balance(), '1');
  await user.record(...Array.from({ length: 59 }, () => user.event('seconds', 1)));
  assert.equal(await user.balance(), '0.016666666666');
  const short = await user.consume('seconds', 2);
  assert.equal(short.status, 402);
  assert.equal(short.body.message, 'The balance of 0, with 1 more from the credit pool, does not cover 2.');
  assert.equal((await user.consume('seconds', 1)).status, 200);
  assert.equal(await user.balance(), '0');
  // A meter without a rate draws from no pool.
  await user.grant(10);
  assert.equal((await user.consume('images', 1)).status, 402);
});

test('an event finds its rate by its properties, in the order in which it came', async () => {
  const user = await newUser();
  await user.grant(10);
  const large = { properties: { model: 'large' } };
  assert.equal((await user.consume('tokens', 1000, large)).status, 200);
  assert.equal((await user.consume('tokens', 1000, { properties: { model: 'small' } })).status, 200);
  assert.equal(await user.balance(), '7');
  // 2.5 + 0.5 + 2.5; then 1.5 is left, which covers 600 large ones of the last event.
  const events = [user.event('tokens', 1000, large), user.event('tokens', 1000), user.event('tokens', 1600, large)];
  await user.record(...events);
  assert.deepEqual([await user.balance(), await user.meter('tokens')], ['0', 0]);
  await user.record(user.event('tokens', 7));
  assert.equal(await user.meter('tokens'), -7);
});

test('each event names the entry that booked it, beside others of its request', async () => {
  const user = await newUser();
  await app.post('/subscriptions', { customerId: user.customerId, priceSlug: 'pro-monthly' });
  // 10 tokens are of the plan. The pool pays 0.5 + 12.5 + 0.2 for others, and 2,000 of the last event.
  await user.grant('18.2');
  const large = { properties: { model: 'large' } };
  const sent = [
    user.event('tokens', 10),
    user.event('tokens', 1000),
    user.event('tokens', 3000, large),
    user.event('tokens', 2000, large),
    user.event('tokens', 400),
    user.event('seconds', 60),
    user.event('tokens', 1600, large),
    user.event('tokens', 7, large),
    user.event('tokens', 2),
  ];
  const { usageEvents } = await user.record(...sent);
  const entries: unknown[] = [];
  for (const { id } of usageEvents) {
    const { ledgerEntry } = await app.get(`/usage-events/${id}/ledger-entry`);
    entries.push([ledgerEntry.amount, ledgerEntry.creditPoolId === pool.id]);
  }
  assert.deepEqual(await user.balance(), '0');
  assert.deepEqual(entries, [
    [-19, false],
    [-1000, true],
    [-5000, true],
    [-5000, true],
    [-400, true],
    [-60, true],
    [-1600, true],
    [-19, false],
    [-19, false],
  ]);
});

test('the credits of a pool are used by priority, expiry, granted before paid, and age', async () => {
  const user = await newUser();
  const soon = start + 1000;
  const last = await user.grant(1, { priority: 200 });
  const old = await user.grant(1);
  const young = await user.grant(1);
  const expiring = await user.grant(1, { expiresAt: soon });
  const first = await user.grant(1, { priority: 1 });
  const order = [first, expiring, old, young, last];
  for (const [used] of order.entries()) {
    assert.equal((await user.consume('tokens', 2000)).status, 200);
    const rest = await Promise.all(order.map(async ({ id }) => (await app.get(`/usage-credits/${id}`)).usageCredit));
    assert.deepEqual(
      rest.map(({ remainingAmount }) => remainingAmount),
      order.map((_, index) => (index <= used ? '0' : '1')),
    );
  }
  const { data } = await app.get(`/customers/${user.externalId}/ledger?order=asc&limit=100`);
  const taken = data.filter(({ creditPoolId, type }: Body) => creditPoolId === pool.id && type === 'usage');
  assert.deepEqual(
    taken.map(({ amount, usageCreditApplications: [paid] }: Body) => [amount, paid.usageCreditId]),
    order.map(({ id }) => ['-1', id]),
  );
});

test('bought credits outlive a plan: upgrade, cancel and return keep them', async () => {
  const user = await newUser();
  await user.grant(5);
  await user.consume('seconds', 60);
  const { subscription } = await app.post('/subscriptions', { customerId: user.customerId, priceSlug: 'pro-monthly' });
  await user.consume('seconds', 60);
  assert.equal(await user.balance(), '3');
  await app.post(`/subscriptions/${subscription.id}/cancel`, { cancellation: { timing: 'immediately' } });
  await user.consume('seconds', 60);
  await app.post('/subscriptions', { customerId: user.customerId, priceSlug: 'pro-monthly' });
  await user.consume('seconds', 60);
  assert.equal(await user.balance(), '1');
});

test('a hold sets aside what its meter does not cover, and nothing else takes it', async () => {
  const user = await newUser();
  await app.post('/subscriptions', { customerId: user.customerId, priceSlug: 'pro-monthly' });
  await user.grant(1);
  const hold = {
    customerExternalId: user.externalId,
    usageMeterSlug: 'tokens',
    amount: 1010,
    expiresAt: start + 60_000,
  };
  const taken = (await app.post('/holds', { hold })).hold;
  assert.equal(taken.pooledAmount, 1000);
  const { availableBalance, held, granted } = await user.balances();
  assert.deepEqual([availableBalance, held, granted], ['0.5', '0.5', '1']);
  // Plain usage of another meter takes what is free, and no more.
  await user.record(user.event('seconds', 60));
  assert.deepEqual([await user.balance(), await user.meter('seconds')], ['0', -30]);
  await user.record(user.event('tokens', 5));
  assert.equal((await app.request('POST', '/holds', { hold })).status, 402);
  const settled = await app.post(`/holds/${taken.id}/settle`, { amount: 1000 });
  assert.equal(settled.hold.status, 'settled');
  // 5 of the plan's tokens were free again, so the pool paid for 995.
  assert.deepEqual([await user.balance(), await user.meter('tokens')], ['0.0025', 0]);
});

test('a grant is taken back beside open holds, and ends when it expires', async () => {
  const user = await newUser();
  const credit = await user.grant('2.5', { expiresAt: start + 3_600_000, transactionId: 'order 1' });
  assert.equal((await user.grant('9', { transactionId: 'order 1' })).id, credit.id);
  const back = await app.post(`/usage-credits/${credit.id}/take-back`, { amount: '0.5' });
  assert.deepEqual([back.usageCredit.remainingAmount, back.usageCredit.takenBackAmount], ['2', '0.5']);
  await app.post('/holds', {
    hold: { customerExternalId: user.externalId, usageMeterSlug: 'seconds', amount: 60, expiresAt: start + 60_000 },
  });
  assert.equal((await app.request('POST', `/usage-credits/${credit.id}/take-back`, { amount: 2 })).status, 400);
  await app.setClock(start + 3_600_000);
  assert.equal(await user.balance(), '0');
  assert.equal(await user.balance(`?asOf=${start}`), '1');
  assert.equal((await user.consume('seconds', 1)).status, 402);
  await user.grant(1);
  const { usageCredit } = await app.get(`/usage-credits/${credit.id}`);
  assert.deepEqual([usageCredit.status, usageCredit.expiredAmount], ['expired', '2']);
  assert.equal(await user.balance(), '1');
});

test('a balance of a pool that falls below its threshold is published with its amount, once for each time', async () => {
  await app.put(`/credit-pools/${pool.id}`, { creditPool: { lowBalanceThreshold: '0.50' } });
  assert.equal((await app.get(`/credit-pools/${pool.id}`)).creditPool.lowBalanceThreshold, '0.5');
  const user = await newUser();
  const low = async (): Promise<string[]> => {
    const { data } = await app.get(`/events?type=usage_balance.low&objectId=${user.customerId}&limit=100&order=asc`);
    for (const { object, payload } of data) {
      assert.deepEqual([object, payload.creditPool.id, payload.data.id], ['customer', pool.id, user.customerId]);
      assert.equal(payload.customer.externalId, user.externalId);
    }
    return data.map(({ payload }: Body) => payload.creditPool.availableBalance);
  };
  const credit = await user.grant(2);
  await user.record(user.event('seconds', 90));
  assert.deepEqual(await low(), [], 'a balance at the threshold is not below it');
  // Of several meters in one request, the last brings it below.
  await user.grant(1);
  await user.record(user.event('seconds', 60), user.event('tokens', 100), user.event('seconds', 6));
  assert.deepEqual(await low(), ['0.35']);
  await user.consume('seconds', 1);
  assert.equal((await low()).length, 1, 'a balance that is low already is not published again');
  await user.grant(1);
  assert.equal((await user.consume('seconds', 60)).status, 200);
  assert.deepEqual((await low()).slice(1), ['0.333333333333']);
  const hold = { customerExternalId: user.externalId, usageMeterSlug: 'seconds', expiresAt: start + 86_400_000 };
  await user.grant(1);
  const taken = (await app.post('/holds', { hold: { ...hold, amount: 60 } })).hold;
  assert.deepEqual((await low()).slice(2), ['0.333333333333']);
  await app.post(`/holds/${taken.id}/settle`, { amount: 55 });
  assert.equal((await low()).length, 3, 'a balance that was low with the hold is not published again');
  const open = (await app.post('/holds', { hold: { ...hold, amount: 1 } })).hold;
  await user.grant(1);
  // More than was held: the settlement itself brings it below.
  await app.post(`/holds/${open.id}/settle`, { amount: 60 });
  assert.deepEqual((await low()).slice(3), ['0.416666666666']);
  const other = await user.grant(1);
  await app.post(`/usage-credits/${other.id}/take-back`, {});
  assert.deepEqual((await low()).slice(4), ['0.416666666666']);
  assert.equal(credit.creditPoolId, pool.id);
  const { pricingModel: exported } = await app.get(`/pricing-models/${pricingModelId}/export`);
  assert.equal(exported.creditPools[0].lowBalanceThreshold, '0.5');
  const clone = await app.post(`/pricing-models/${pricingModelId}/clone`, { name: 'With a threshold' });
  const [cloned] = (await app.get(`/credit-pools?pricingModelId=${clone.pricingModel.id}`)).data;
  assert.equal(cloned.lowBalanceThreshold, '0.5');
  const { lowBalanceThreshold: _, ...without } = exported.creditPools[0];
  await app.put(`/pricing-models/${pricingModelId}`, { pricingModel: { ...exported, creditPools: [without] } });
  assert.equal((await app.get(`/credit-pools/${pool.id}`)).creditPool.lowBalanceThreshold, null);
  await user.grant(1);
  await user.consume('seconds', 60);
  assert.equal((await low()).length, 5, 'a pool without a threshold tells nothing');
  for (const wrong of ['0', '-1', 'much', 1]) {
    const { body } = await app.request('PUT', `/credit-pools/${pool.id}`, {
      creditPool: { lowBalanceThreshold: wrong },
    });
    assert.deepEqual(body.issues[0].path, ['creditPool', 'lowBalanceThreshold']);
  }
});

test('a check counts what the pool pays for', async () => {
  const user = await newUser();
  await app.post('/subscriptions', { customerId: user.customerId, priceSlug: 'pro-monthly' });
  await user.grant(1);
  const check = { customerExternalId: user.externalId, featureSlug: 'tokens-a-month', amount: 2010 };
  const { results } = await app.post('/entitlements/check', { checks: [check, { ...check, amount: 2011 }] });
  assert.deepEqual(
    results.map(({ allowed, availableBalance }: Body) => [allowed, availableBalance]),
    [
      [true, 2010],
      [false, 2010],
    ],
  );
  const reader = new Tollkeeper({ key: app.testKey, baseUrl: app.url }).entitlementReader();
  const may = (amount: number) => reader.may(user.externalId, 'tokens-a-month', amount);
  assert.deepEqual([await may(2010), await may(2011)], [true, false]);
});

test('64 consumers of two meters against a pool that pays for 32 uses: 32 pass', async () => {
  const user = await newUser();
  await user.grant(32);
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      index % 2 === 0 ? user.consume('tokens', 2000) : user.consume('seconds', 60),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 32);
  assert.equal(await user.balance(), '0');
  assert.deepEqual([await user.meter('tokens'), await user.meter('seconds')], [0, 0]);
});

/** Sets limits of the pool for a user, and answers what the controls say of them. */
async function limit(user: Body, limits: object[], field = 'limits'): Promise<Body[]> {
  const { spendControls } = await app.put(`/customers/${user.externalId}/spend-controls`, {
    spendControls: { [field]: limits.map((each) => ({ creditPoolSlug: 'ai', period: 'day', ...each })) },
  });
  return spendControls.limits;
}
const readLimits = async (user: Body): Promise<Body[]> =>
  (await app.get(`/customers/${user.externalId}/spend-controls`)).spendControls.limits;

test('64 consumers of two meters against a limit of a pool that fits 16 uses: 16 pass', async () => {
  const user = await newUser();
  await user.grant(100);
  await limit(user, [{ amount: '16' }]);
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      index % 2 === 0 ? user.consume('tokens', 2000) : user.consume('seconds', 60),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 16);
  const refused = answers.find(({ status }) => status === 402)?.body;
  assert.equal(refused?.reason, 'spend_limit_reached');
  assert.match(String(refused?.message), /spend limit of 16 units of credit pool ai in a day: 0 of it remains/);
  const { spendLimit } = refused as Body;
  assert.deepEqual(
    [spendLimit.usageMeterId, spendLimit.creditPoolId, spendLimit.usedAmount, spendLimit.remainingAmount],
    [null, pool.id, '16', '0'],
  );
  assert.equal(await user.balance(), '84');
});

test('a limit of a pool counts what is drawn, to the smallest unit, with labels, and flags plain events', async () => {
  const user = await newUser();
  await app.post('/subscriptions', { customerId: user.customerId, priceSlug: 'pro-monthly' });
  await user.grant('3.5');
  const [inAll, ofAgent] = await limit(user, [
    { amount: 2, thresholds: [50] },
    { amount: '0.5', label: 'agent', period: 'week', thresholds: [] },
  ]);
  assert.deepEqual(
    [inAll?.amount, inAll?.creditPoolSlug, inAll?.usageMeterId, ofAgent?.amount],
    ['2', 'ai', null, '0.5'],
  );
  // The 10 tokens of the plan are not drawn from the pool.
  assert.equal((await user.consume('tokens', 10)).status, 200);
  assert.equal((await user.consume('seconds', 31, { label: 'agent' })).status, 402);
  assert.equal((await user.consume('seconds', 20, { label: 'agent' })).status, 200);
  const used = async () => (await readLimits(user)).map(({ counters }) => counters[0]?.usedAmount ?? null);
  assert.deepEqual(await used(), ['0.333333333333', '0.333333333333']);
  // 10, 10 and 10 seconds: the first fills the limit of the agent, and the others go beyond it.
  const bulk = await user.record(
    ...[1, 2, 3].map(() => user.event('seconds', 10, { label: 'agent' })),
    user.event('tokens', 2000),
  );
  assert.deepEqual(
    bulk.usageEvents.map(({ beyondLimit }: Body) => beyondLimit ?? false),
    [false, true, true, false],
  );
  assert.deepEqual(await used(), ['1.833333333333', '0.833333333333']);
  const events = async (type: string) =>
    (await app.get(`/events?type=${type}&objectId=${user.customerId}&order=asc`)).data.map(({ payload }: Body) => [
      payload.spendLimit.amount,
      payload.spendLimit.usedAmount,
      payload.spendLimit.creditPoolId,
    ]);
  assert.deepEqual(await events('usage_threshold.reached'), [['2', '1.833333333333', pool.id]]);
  assert.deepEqual((await events('spend_limit.reached')).length, 1);
  // A hold sets aside, and is refused beyond the limit: 10 seconds are left.
  const expiresAt = (await app.get('/test-clock')).testClock.now + 60_000;
  const hold = { customerExternalId: user.externalId, usageMeterSlug: 'seconds', expiresAt };
  assert.equal((await app.request('POST', '/holds', { hold: { ...hold, amount: 11 } })).status, 402);
  const { hold: taken } = await app.post('/holds', { hold: { ...hold, amount: 10 } });
  assert.equal((await user.consume('seconds', 1)).status, 402);
  await app.post(`/holds/${taken.id}/settle`, { amount: 4 });
  assert.equal((await user.consume('seconds', 6)).status, 200);
  assert.equal((await user.consume('seconds', 1)).status, 402);
  assert.deepEqual((await used())[0], '2');
  // What the pool does not pay for is overage, and no use of the pool.
  await user.record(user.event('seconds', 120));
  assert.deepEqual([await user.balance(), (await used())[0]], ['0', '3.5']);
});

test('a limit of a pool counts what some events of a price draw beside others that draw nothing', async () => {
  const user = await newUser();
  await user.grant(100);
  await limit(user, [{ amount: 5 }]);
  const large = { properties: { size: 'large' } };
  const used = async () => (await readLimits(user))[0]?.counters[0]?.usedAmount;
  const { usageEvents } = await user.record(
    user.event('images', 3, large),
    user.event('images', 3, large),
    user.event('images', 1),
  );
  assert.deepEqual(
    usageEvents.map(({ beyondLimit }: Body) => beyondLimit ?? false),
    [false, true, false],
  );
  assert.deepEqual([await used(), await user.balance()], ['6', '94']);
  const other = await newUser();
  await other.grant(100);
  await limit(other, [{ amount: 5 }]);
  assert.equal((await other.consume('images', 4, large)).status, 200);
  // They share batches, and the last event draws nothing.
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => other.consume('images', 4, index % 2 === 0 ? large : {})),
  );
  assert(answers.every(({ status }) => status === 402));
  assert.equal(await other.balance(), '96');
});

test('a limit of a pool begins again, may be lowered by the customer, and is refused by its field', async () => {
  const user = await newUser();
  await user.grant(10);
  await limit(user, [{ amount: '1.5' }]);
  const set = (field: string, change: object) =>
    app.request('PUT', `/customers/${user.externalId}/spend-controls`, {
      spendControls: { [field]: [{ creditPoolSlug: 'ai', period: 'day', amount: 1, ...change }] },
    });
  const wrong = async (field: string, change: object) => (await set(field, change)).body.issues[0].message;
  assert.match(await wrong('limits', { usageMeterSlug: 'tokens' }), /must be absent or null where usageMeterSlug is/);
  assert.match(await wrong('limits', { unit: 'money' }), /must be units: a limit of a credit pool/);
  assert.match(await wrong('limits', { amount: '0' }), /must be a whole number of units, or for a pool/);
  assert.match(
    await wrong('limits', { creditPoolSlug: null, amount: '1.5' }),
    /must be a whole number of units of a usage meter/,
  );
  assert.equal((await set('limits', { creditPoolSlug: 'none' })).body.reason, 'credit_pool_not_found');
  assert.match(await wrong('ownLimits', { amount: '1.6' }), /must be at most 1.5, which the seller allows/);
  await limit(user, [{ amount: '0.5' }], 'ownLimits');
  assert.equal((await user.consume('seconds', 31)).status, 402);
  assert.equal((await user.consume('seconds', 30)).status, 200);
  await limit(user, [], 'ownLimits');
  assert.equal((await user.consume('seconds', 61)).status, 402);
  assert.equal((await user.consume('seconds', 60)).status, 200);
  const [present] = await readLimits(user);
  const { resetsAt } = present?.counters[0] ?? {};
  const before = (await app.get('/test-clock')).testClock.now;
  await app.setClock(resetsAt);
  assert.equal((await user.consume('seconds', 90)).status, 200);
  assert(resetsAt > before);
});

test('a new rate is for later usage, and an update without pools leaves them', async () => {
  const user = await newUser();
  await user.grant(10);
  await user.consume('seconds', 60);
  const rates = pool.rates.map((rate: Body) => (rate.usageMeterSlug === 'seconds' ? { ...rate, cost: '2' } : rate));
  await app.put(`/credit-pools/${pool.id}`, { creditPool: { rates } });
  await user.consume('seconds', 60);
  await user.record(user.event('seconds', 60));
  assert.equal(await user.balance(), '5');
  const { pricingModel: exported } = await app.get(`/pricing-models/${pricingModelId}/export`);
  assert.equal(exported.creditPools[0].rates[2].cost, '2');
  const { creditPools, ...others } = exported;
  const changed = await app.put(`/pricing-models/${pricingModelId}`, { pricingModel: others });
  assert.equal(changed.pricingModel.id, pricingModelId);
  assert.deepEqual((await app.get(`/credit-pools/${pool.id}`)).creditPool.rates, rates);
  const removed = await app.request('PUT', `/pricing-models/${pricingModelId}`, {
    pricingModel: { ...others, creditPools: [] },
  });
  assert.match(JSON.stringify(removed.body), /a credit pool cannot be removed/);
  await app.put(`/pricing-models/${pricingModelId}`, {
    pricingModel: { ...others, creditPools: [{ ...creditPools[0], rates: [] }] },
  });
  assert.equal((await user.consume('seconds', 1)).status, 402);
  await app.put(`/credit-pools/${pool.id}`, { creditPool: { rates: pool.rates } });
  const clone = await app.post(`/pricing-models/${pricingModelId}/clone`, { name: 'Copy' });
  const { data } = await app.get(`/credit-pools?pricingModelId=${clone.pricingModel.id}`);
  assert.deepEqual([data[0].slug, data[0].rates], ['ai', pool.rates]);
});
