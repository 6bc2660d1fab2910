import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addDays, instant } from '../../src/kernel/calendar.ts';
import { setUpCredits } from '../support/credits-fixture.ts';
import { databaseDigest } from '../support/digest.ts';
import { type Answer, type Body, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';

const app = await startTestApp();
const [may, june] = ['2026-05-01', '2026-06-01'].map(instant) as [number, number];
await app.setClock(may);
// What comes with the plan is not in the way of what is granted here.
const plan = await setUpCredits(app, { grant: { renewalFrequency: 'once', amount: 1 } });

async function newCustomer() {
  const customer = await plan.subscribe();
  const [first] = await customer.credits();
  await customer.takeBack(first.id);
  return customer;
}

const post = (usageCredit: object, options = {}) => app.request('POST', '/usage-credits', { usageCredit }, options);
const refused = (answer: Answer, status: number, message: RegExp) => {
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert.match(answer.body.message, message);
};
const stateOf = ({ issuedAmount, appliedAmount, expiredAmount, takenBackAmount, remainingAmount, status }: Body) => [
  issuedAmount,
  appliedAmount,
  expiredAmount,
  takenBackAmount,
  remainingAmount,
  status,
];

describe('a grant', () => {
  test('a grant can be used at once, and is answered whole', async () => {
    await app.setClock(may);
    const { id: subscriptionId, ...customer } = await newCustomer();
    const credit = await customer.grant({ amount: 40, expiresAt: '2026-06-01', priority: 5, reason: 'An outage' });
    const { id, customerId, ...rest } = credit;
    assert.match(`${id} ${customerId}`, /^usage_credit_\w+ cust_\w+$/);
    assert.deepEqual(rest, {
      createdAt: may,
      updatedAt: may,
      livemode: false,
      pricingModelId: plan.pricingModelId,
      subscriptionId,
      usageMeterId: plan.meterId,
      creditPoolId: null,
      featureId: null,
      source: 'manual_adjustment',
      reason: 'An outage',
      priority: 5,
      issuedAmount: 40,
      appliedAmount: 0,
      expiredAmount: 0,
      takenBackAmount: 0,
      withheldAmount: 0,
      owedAmount: 0,
      transferredAmount: 0,
      transferredFrom: null,
      remainingAmount: 40,
      expiresAt: june,
      status: 'active',
    });
    assert.equal(await customer.balance(), 40);
    assert.deepEqual((await app.get(`/usage-credits/${id}`)).usageCredit, credit);
  });

  test('a grant of which nothing is said never ends, has priority 100 and no reason', async () => {
    const { grant } = await newCustomer();
    for (const none of [{}, { expiresAt: null, priority: null, reason: null, transactionId: null }]) {
      const { expiresAt, priority, reason } = await grant(none);
      assert.deepEqual([expiresAt, priority, reason], [null, 100, null]);
    }
  });

  test('a grant names its meter by id or by slug', async () => {
    const { id: subscriptionId } = await newCustomer();
    for (const meter of [{ usageMeterId: plan.meterId }, { usageMeterSlug: 'calls' }])
      assert.equal((await post({ subscriptionId, amount: 1, ...meter })).body.usageCredit.usageMeterId, plan.meterId);
  });

  test('a grant of a lower priority is used before one that ends sooner', async () => {
    await app.setClock(may);
    const customer = await newCustomer();
    await customer.grant({ amount: 10, expiresAt: june });
    await customer.grant({ amount: 10, priority: 99 });
    await customer.use(12);
    assert.deepEqual((await customer.credits()).slice(1).map(stateOf), [
      [10, 2, 0, 0, 8, 'active'],
      [10, 10, 0, 0, 0, 'used'],
    ]);
  });

  test('a grant does not cover what was used before', async () => {
    const customer = await newCustomer();
    await customer.use(30);
    const credit = await customer.grant({ amount: 100 });
    assert.equal(credit.remainingAmount, 100);
    assert.equal(await customer.balance(), 70);
  });

  test('a grant counts up to its end and no longer, in whatever order they are granted and end, before anything is booked', async () => {
    await app.setClock(may);
    const { grant, balance } = await newCustomer();
    const dayOf = (days: number) => addDays(may, days);
    for (const [amount, expiresAt] of [
      [1000, null],
      [1, dayOf(3)],
      [10, dayOf(1)],
      [100, dayOf(2)],
    ])
      await grant({ amount, expiresAt });
    const balances = [await balance()];
    for (const days of [1, 2, 3, 5]) {
      await app.setClock(dayOf(days) - 1);
      balances.push(await balance());
      await app.setClock(dayOf(days));
      balances.push(await balance());
      // By now a credit has ended that is not booked as ended: the next that ends is this one or an earlier.
      if (days === 2) await grant({ amount: 20, expiresAt: dayOf(5) });
    }
    assert.deepEqual(balances, [1111, 1111, 1101, 1101, 1001, 1021, 1020, 1020, 1000]);
  });

  test('a grant meets its subscription as it is: what is due is done first', async () => {
    await app.setClock(may);
    const monthly = await setUpCredits(app);
    const customer = await monthly.subscribe();
    await app.setClock(june);
    await customer.grant({ amount: 5 });
    assert.deepEqual(
      (await customer.credits()).map(({ issuedAmount, status }) => [issuedAmount, status]),
      [
        [100, 'expired'],
        [100, 'active'],
        [5, 'active'],
      ],
    );
  });

  test('a grant as a dry run answers as it would, and grants nothing', async () => {
    const { id: subscriptionId } = await newCustomer();
    const digest = await databaseDigest(app);
    const body = { usageCredit: { subscriptionId, usageMeterSlug: 'calls', amount: 3 } };
    const { usageCredit } = await app.post('/usage-credits?dryRun=true', body);
    assert.equal(usageCredit.remainingAmount, 3);
    assert.equal(await databaseDigest(app), digest);
  });
});

describe('a transactionId', () => {
  test('a transactionId grants once, and a repeat is answered with the first, also with other values and when it has ended', async () => {
    await app.setClock(may);
    const customer = await newCustomer();
    const first = await customer.grant({ amount: 10, transactionId: 'order 7', expiresAt: may + 1 });
    assert.deepEqual(await customer.grant({ amount: 10, transactionId: 'order 7', expiresAt: may + 1 }), first);
    assert.deepEqual(await customer.grant({ amount: 99, transactionId: 'order 7' }), first);
    await app.setClock(may + 1);
    const again = await customer.grant({ amount: 10, transactionId: 'order 7', expiresAt: may + 1 });
    assert.deepEqual([again.id, again.status], [first.id, 'expired']);
    await app.setClock(may);
  });

  test('a transactionId of another subscription is taken, on another meter it is free', async () => {
    const [one, other] = [await newCustomer(), await newCustomer()];
    await one.grant({ transactionId: 'order 8' });
    const taken = { subscriptionId: other.id, usageMeterSlug: 'calls', amount: 1, transactionId: 'order 8' };
    const answer = await post(taken);
    refused(answer, 409, /order 8/);
    assert.equal(answer.body.code, 'CONFLICT');
    const meter = { name: 'Other', slug: 'other', pricingModelId: plan.pricingModelId };
    await app.post('/usage-meters', { usageMeter: meter });
    assert.equal((await post({ ...taken, usageMeterSlug: 'other' })).status, 200);
  });

  test('sent twenty times at once grants once; by two subscriptions at once, to one of them', async () => {
    const [one, other] = [await newCustomer(), await newCustomer()];
    const grants = Array.from({ length: 20 }, () => one.grant({ amount: 3, transactionId: 'order 9' }));
    assert.equal(new Set((await Promise.all(grants)).map(({ id }) => id)).size, 1);
    assert.equal(await one.balance(), 3);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        post({
          subscriptionId: index % 2 === 0 ? one.id : other.id,
          usageMeterSlug: 'calls',
          amount: 1,
          transactionId: 'order 10',
        }),
      ),
    );
    const statuses = answers.map(({ status }) => status);
    assert.deepEqual([statuses.filter((s) => s === 200).length, statuses.filter((s) => s === 409).length], [10, 10]);
    assert.equal((await one.balance()) + (await other.balance()), 4);
  });
});

test('a grant is refused where a value is wrong, and the field is named', async () => {
  await app.setClock(may);
  const { id: subscriptionId } = await newCustomer();
  const valid = { subscriptionId, usageMeterSlug: 'calls', amount: 1 };
  const digest = await databaseDigest(app);
  const rows: [change: object, message: RegExp][] = [
    [{ amount: 0 }, /usageCredit\.amount/],
    [{ amount: 1.5 }, /usageCredit\.amount/],
    [{ amount: 9007199254740992 }, /usageCredit\.amount/],
    [{ amount: undefined }, /usageCredit\.amount/],
    [{ priority: -1 }, /usageCredit\.priority/],
    [{ priority: 1001 }, /usageCredit\.priority/],
    [{ expiresAt: may }, /usageCredit\.expiresAt: must be later/],
    [{ expiresAt: 'soon' }, /usageCredit\.expiresAt/],
    [{ usageMeterSlug: undefined }, /exactly one of usageMeterId, usageMeterSlug, creditPoolId, creditPoolSlug/],
    [{ amount: '0.5' }, /usageCredit\.amount: must be a whole number of units of a usage meter/],
    [{ usageMeterId: plan.meterId }, /exactly one of usageMeterId, usageMeterSlug, creditPoolId, creditPoolSlug/],
    [{ transactionId: '' }, /usageCredit\.transactionId/],
    [{ reason: 'x'.repeat(2001) }, /usageCredit\.reason/],
  ];
  for (const [change, message] of rows) refused(await post({ ...valid, ...change }), 400, message);
  assert.equal(await databaseDigest(app), digest);
  for (const change of [{ priority: 0 }, { priority: 1000 }, { amount: 9007199254740991 }, { expiresAt: may + 1 }])
    assert.equal((await post({ ...valid, ...change })).status, 200, JSON.stringify(change));
});

test('a grant is refused to who is unknown or gone, and on meters of another pricing model', async () => {
  const [customer, ended, archived] = [await newCustomer(), await newCustomer(), await newCustomer()];
  const other = await setUpCredits(app);
  const body = (subscriptionId: string, meter: object = { usageMeterSlug: 'calls' }) => ({
    subscriptionId,
    amount: 1,
    ...meter,
  });
  refused(await post(body('sub_absent')), 404, /No subscription with id sub_absent/);
  refused(await post(body(customer.id, { usageMeterSlug: 'absent' })), 404, /No usage meter/);
  refused(await post(body(customer.id, { usageMeterId: other.meterId })), 404, /No usage meter/);
  await app.post(`/subscriptions/${ended.id}/cancel`, { cancellation: { timing: 'immediately' } });
  refused(await post(body(ended.id)), 400, /has ended/);
  await app.post(`/customers/${archived.externalId}/archive`, {});
  refused(await post(body(archived.id)), 400, /is archived/);
  refused(await post(body(customer.id), { key: app.liveKey }), 404, /No subscription/);
});

describe('a take-back', () => {
  test('a take-back takes what is left: 100 granted, 30 used, 70 taken back', async () => {
    const customer = await newCustomer();
    const { id } = await customer.grant();
    await customer.use(30);
    const { status, body } = await customer.takeBack(id);
    assert.equal(status, 200);
    assert.deepEqual(stateOf(body.usageCredit), [100, 30, 0, 70, 0, 'taken_back']);
    assert.equal(await customer.balance(), 0);
    refused(await customer.takeBack(id), 400, /has nothing left/);
    refused(await customer.takeBack(id, { amount: 1 }), 400, /has nothing left/);
  });

  test('a take-back takes a part, as often as it is asked for, and the rest is used as before', async () => {
    const customer = await newCustomer();
    const { id } = await customer.grant();
    for (const amount of [10, 10]) assert.equal((await customer.takeBack(id, { amount })).status, 200);
    const { body } = await customer.takeBack(id, { amount: '30' });
    assert.deepEqual(stateOf(body.usageCredit), [100, 0, 0, 50, 50, 'active']);
    await customer.use(50);
    assert.deepEqual(stateOf((await app.get(`/usage-credits/${id}`)).usageCredit), [100, 50, 0, 50, 0, 'taken_back']);
  });

  test('a take-back of more than is left is refused, says how much that is, and takes nothing', async () => {
    const customer = await newCustomer();
    const { id } = await customer.grant({ amount: 10 });
    await customer.use(4);
    const digest = await databaseDigest(app);
    refused(await customer.takeBack(id, { amount: 7 }), 400, /has only 6 left/);
    for (const amount of [0, -1, 0.5]) refused(await customer.takeBack(id, { amount }), 400, /amount/);
    assert.equal(await databaseDigest(app), digest);
    assert.equal((await customer.takeBack(id, { amount: 6 })).status, 200);
  });

  test('a take-back of what has ended is refused, whether or not that was booked', async () => {
    await app.setClock(may);
    const customer = await newCustomer();
    const { id } = await customer.grant({ amount: 10, expiresAt: may + 5 });
    await app.setClock(may + 5);
    assert.deepEqual(stateOf((await app.get(`/usage-credits/${id}`)).usageCredit), [10, 0, 10, 0, 0, 'expired']);
    refused(await customer.takeBack(id), 400, /has nothing left/);
    await customer.liveUntil(june);
    assert.deepEqual(stateOf((await app.get(`/usage-credits/${id}`)).usageCredit), [10, 0, 10, 0, 0, 'expired']);
  });

  test('a take-back is of credits that came with a plan too, and after the subscription has ended', async () => {
    const customer = await (await setUpCredits(app)).subscribe();
    const [{ id }] = (await customer.credits()) as [Body];
    await app.post(`/subscriptions/${customer.id}/cancel`, { cancellation: { timing: 'immediately' } });
    assert.equal((await customer.takeBack(id, { amount: 1 })).body.usageCredit.takenBackAmount, 1);
  });

  test('a take-back leaves usage that no credit covered as it is: the balance goes below zero', async () => {
    const customer = await newCustomer();
    await customer.use(30);
    const { id } = await customer.grant();
    assert.equal((await customer.takeBack(id)).status, 200);
    assert.equal(await customer.balance(), -30);
  });

  test('a take-back leaves open holds what they were promised: of 100 with 30 held, 70', async () => {
    await app.setClock(may);
    const customer = await newCustomer();
    const { id } = await customer.grant();
    const hold = { subscriptionId: customer.id, usageMeterSlug: 'calls', amount: 30, expiresAt: may + 1000 };
    await app.post('/holds', { hold });
    refused(await customer.takeBack(id), 400, /Only 70 of credit/);
    refused(await customer.takeBack(id, { amount: 71 }), 400, /Only 70 of credit/);
    assert.equal((await customer.takeBack(id, { amount: 70 })).status, 200);
    assert.equal(await customer.balance(), 0);
    refused(await customer.takeBack(id, { amount: 1 }), 400, /^Only 0 of credit \w+ can be taken back now, not 1/);
    // A hold that has ended holds nothing.
    await app.setClock(may + 1000);
    assert.equal((await customer.takeBack(id)).status, 200);
    await app.setClock(may);
  });

  test('a take-back is booked as a move of its own, with what it leaves', async () => {
    const customer = await newCustomer();
    const { id } = await customer.grant();
    await customer.takeBack(id, { amount: 40 });
    const rows = await app.owner
      .selectFrom('ledgerEntries')
      .innerJoin('ledgerTransactions', 'ledgerTransactions.id', 'ledgerTransactionId')
      .select(['type', 'debitSide', 'creditSide', 'amount', 'availableAfter'])
      .where('usageCreditId', '=', id)
      .orderBy('sequence')
      .execute();
    assert.deepEqual(rows.map(Object.values), [
      ['credit_grant_recognized', 'granted', 'available', 100n, 100n],
      ['credit_taken_back_by_hand', 'available', 'taken_back', 40n, 60n],
    ]);
  });

  test('twenty of them and twenty uses at once leave no unit twice', async () => {
    const customer = await newCustomer();
    const { id } = await customer.grant({ amount: 100 });
    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, () => customer.takeBack(id, { amount: 4 }))),
      Promise.all(Array.from({ length: 20 }, () => customer.use(3))),
    ]);
    const takenBack = 4 * answers.filter(({ status }) => status === 200).length;
    const { usageCredit } = await app.get(`/usage-credits/${id}`);
    // 80 and 60 are more than 100: usage is taken in any case, so the take-backs that came too late were refused.
    assert.equal(usageCredit.takenBackAmount, takenBack);
    assert.equal(usageCredit.appliedAmount, Math.min(60, 100 - takenBack));
    assert.equal(await customer.balance(), 100 - takenBack - 60);
    assert(answers.every(({ status }) => status === 200 || status === 400));
  });
});

test('a list has the credits in order of creation, by subscription, meter and source, page by page', async () => {
  const monthly = await setUpCredits(app);
  const customer = await monthly.subscribe();
  const granted = [await customer.grant(), await customer.grant(), await customer.grant()];
  const ids = granted.map(({ id }) => id);
  const idsOf = (credits: Body[]) => credits.map((credit) => credit.id);
  const all = await customer.credits();
  assert.deepEqual(idsOf(all).slice(1), ids);
  assert.deepEqual(idsOf(await customer.credits('&source=manual_adjustment')), ids);
  assert.deepEqual(idsOf(await customer.credits('&source=billing_period_transition')), idsOf(all).slice(0, 1));
  const ofMeter = await app.get(`/usage-credits?usageMeterId=${monthly.meterId}&limit=3`);
  assert.deepEqual([idsOf(ofMeter.data), ofMeter.hasMore, ofMeter.total], [idsOf(all).slice(0, 3), true, 4]);
  const rest = await app.get(`/usage-credits?cursor=${ofMeter.nextCursor}&limit=3`);
  assert.deepEqual([idsOf(rest.data), rest.hasMore, rest.total], [idsOf(all).slice(3), false, 4]);
  assert.equal((await app.get('/usage-credits?subscriptionId=sub_absent')).total, 0);
});

test('a credit is there for its own environment only', async () => {
  const { id } = await (await newCustomer()).grant();
  refused(await app.request('GET', `/usage-credits/${id}`, undefined, { key: app.liveKey }), 404, /No usage credit/);
  refused(
    await app.request('POST', `/usage-credits/${id}/take-back`, {}, { key: app.liveKey }),
    404,
    /No usage credit/,
  );
  assert.equal((await app.get('/usage-credits', { key: app.liveKey })).total, 0);
});

test('all that holds of the data at any time does', () => assertSound(app));
