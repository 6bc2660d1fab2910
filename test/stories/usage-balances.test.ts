import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashApiKey } from '../../src/database/api-key.ts';
import type { BatchedOperation } from '../../src/jobs/batcher.ts';
import { Problem } from '../../src/kernel/problem.ts';
import { createApiKey, revokeApiKey } from '../../src/organizations/actions.ts';
import type { UsageMeter } from '../../src/pricing/usage-meter.ts';
import {
  balanceReads,
  creditReads,
  textOfBalances,
  textOfCredits,
  toUsageMeterBalance,
} from '../../src/usage/actions-balances.ts';
import { toCreditBalance } from '../../src/usage/usage-credit.ts';
import { anyId } from '../support/any-id.ts';
import { insertFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/harness.ts';

const app = await startTestApp();
const world = await insertFixture(app);
const path = '/customers/acme/usage-balances';

test('every meter of the subscription has a row, the older meter first, and 0 is shown as 0', async () => {
  const { usageMeterBalances } = await app.get(path);
  const meter = await app.owner
    .selectFrom('usageMeters')
    .select(['createdAt', 'updatedAt'])
    .where('id', '=', world.meterId)
    .executeTakeFirstOrThrow();
  const shared = {
    ...meter,
    livemode: false,
    organizationId: app.id,
    pricingModelId: world.pricingModelId,
    subscriptionId: world.subscriptionId,
    recurring: false,
    proration: 'none',
    lowBalanceThreshold: null,
    eventName: null,
    where: null,
    valueProperty: null,
    availableBalance: 0,
  };
  assert.deepEqual(usageMeterBalances, [
    { ...shared, id: world.meterId, name: 'API calls', slug: 'api-calls', aggregationType: 'sum' },
    {
      ...shared,
      id: world.distinctMeterId,
      name: 'Users',
      slug: 'users',
      aggregationType: 'count_distinct_properties',
    },
  ]);
});

/** A further subscription of the same customer: a copy of the first but for what is given. */
async function insertSubscription(change: object): Promise<string> {
  const first = await app.owner
    .selectFrom('subscriptions')
    .selectAll()
    .where('id', '=', world.subscriptionId)
    .executeTakeFirstOrThrow();
  const id = anyId('subscription');
  await app.owner
    .insertInto('subscriptions')
    .values({ ...first, id, exclusive: false, billingAnchor: JSON.stringify('anniversary'), ...change })
    .execute();
  return id;
}

test('without a subscription named, all current ones are read, the newest first; with one, that in any status', async () => {
  const pastDue = await insertSubscription({ status: 'past_due', arrears: 'past_due' });
  const canceled = await insertSubscription({ status: 'canceled', canceledAt: 1 });
  const incomplete = await insertSubscription({ status: 'incomplete' });
  const replaced = await insertSubscription({ replacedBySubscriptionId: pastDue });
  const read = async (query = '') => {
    const { usageMeterBalances } = await app.get(path + query);
    return usageMeterBalances.map((row: { subscriptionId: string; slug: string }) => [row.subscriptionId, row.slug]);
  };
  assert.deepEqual(await read(), [
    [pastDue, 'api-calls'],
    [pastDue, 'users'],
    [world.subscriptionId, 'api-calls'],
    [world.subscriptionId, 'users'],
  ]);
  for (const id of [canceled, incomplete, replaced]) {
    assert.deepEqual(await read(`?subscriptionId=${id}`), [
      [id, 'api-calls'],
      [id, 'users'],
    ]);
  }
});

for (const balances of ['usage-balances', 'credit-balances'] as const) {
  test(`a key reads ${balances} as long as it may, and sees a meter that was added since`, async () => {
    const asked = { environmentId: app.testEnvironmentId, livemode: false, name: 'reader', pricingModelId: null };
    const reader = await createApiKey(app.owner, asked, Date.now());
    const writer = await createApiKey(app.owner, { ...asked, permissions: ['customers:write'] }, Date.now());
    const read = ({ token: key }: { token: string }) =>
      app.request('GET', `/customers/acme/${balances}`, undefined, { key });
    const slugsOf = async () =>
      Object.values<{ slug: string }[]>((await read(reader)).body)
        .flat()
        .map(({ slug }) => slug);
    const before = await slugsOf();
    const slug = `added-for-${balances}`;
    await app.post('/usage-meters', { usageMeter: { name: 'Added', slug, pricingModelId: world.pricingModelId } });
    assert.deepEqual(new Set(await slugsOf()), new Set([...before, slug]));
    const missing = await read(writer);
    assert.deepEqual([missing.status, missing.body.code], [403, 'FORBIDDEN']);
    await revokeApiKey(app.owner, reader.id, Date.now());
    assert.equal((await read(reader)).status, 401);
  });
}

/** One statement answers a batch if the catalog of its customers is cached. The usual way refuses a key. */
async function answersAtOnce<Answer, Cache>(
  reads: BatchedOperation<{ externalId: string; pricingModelId: string | undefined }, Answer, Cache>,
) {
  const requests = ['acme', 'nobody'].map((externalId) => ({ externalId, pricingModelId: undefined }));
  const cache = reads.createCache();
  const askedBy = async (key: string) =>
    reads.answerAtOnce?.({
      database: app.database,
      entry: { apiKeyHash: hashApiKey(key), sufficient: null },
      requests,
      cache,
    });
  const uncached = await askedBy(app.testKey);
  const usual = await app.inEnvironment((work) => reads.answer(work, requests, cache));
  return { uncached, usual, cached: await askedBy(app.testKey), unknown: await askedBy('sk_test_unknown') };
}

test('one statement answers a batch whose catalog is cached as a transaction does, and answers no unknown key', async () => {
  for (const { uncached, usual, cached, unknown } of [
    await answersAtOnce(balanceReads),
    await answersAtOnce(creditReads),
  ]) {
    assert.deepEqual([uncached, unknown], [null, null]);
    const [acme, nobody] = usual;
    assert(Array.isArray(acme) && acme.length > 0 && nobody instanceof Problem);
    assert.deepEqual(cached, usual);
  }
});

test('an unknown customer, an archived one and one of another environment are not found', async () => {
  const other = await app.newOrganization();
  assert.equal((await app.request('GET', path, undefined, { key: other.testKey })).status, 404);
  assert.equal((await app.request('GET', path, undefined, { key: app.liveKey })).status, 404);
  const unknown = await app.request('GET', '/customers/nobody/usage-balances');
  assert.deepEqual([unknown.status, unknown.body.code], [404, 'NOT_FOUND']);

  await app.owner.updateTable('customers').set({ archived: true }).where('id', '=', world.customerId).execute();
  assert.equal((await app.request('GET', path)).status, 404);
  await app.owner.updateTable('customers').set({ archived: false }).where('id', '=', world.customerId).execute();
});

test("another customer's subscription is not found, and one external id in two pricing models must be told apart", async () => {
  const second = await insertFixture(app);
  const ambiguous = await app.request('GET', path);
  assert.equal(ambiguous.status, 400);
  const ours = `${path}?pricingModelId=${world.pricingModelId}`;
  assert.equal((await app.get(ours)).usageMeterBalances.length, 8);
  const theirs = await app.request('GET', `${ours}&subscriptionId=${second.subscriptionId}`);
  assert.deepEqual([theirs.status, theirs.body.code], [404, 'NOT_FOUND']);
  assert.equal((await app.request('GET', `${ours}&subscriptionId=sub_unknown`)).status, 404);
});

test('the text of balances is the JSON of what is told', () => {
  const meter: UsageMeter = {
    ...{ id: anyId('usageMeter'), createdAt: 1, updatedAt: 2, livemode: false, organizationId: app.id },
    ...{ pricingModelId: world.pricingModelId, slug: 'calls', aggregationType: 'sum' as const },
    ...{ recurring: false, proration: 'none' as const },
    ...{ name: 'Calls "per" day \u2028', lowBalanceThreshold: 2n ** 60n },
    ...{ eventName: 'call', where: { region: ['eu'] }, valueProperty: null },
  };
  const balances = [-5n, 0n, 10n ** 30n].map((availableBalance) => ({
    meter,
    subscriptionId: 'sub_1',
    availableBalance,
  }));
  for (const told of [[], balances])
    assert.equal(textOfBalances(told), JSON.stringify({ usageMeterBalances: told.map(toUsageMeterBalance) }));
});

test('the text of credits is the JSON of what is told', () => {
  const amounts = [-5n, 0n, 10n ** 30n];
  const subjects = [
    { id: anyId('usageMeter'), slug: 'calls "per" day \u2028' },
    { id: anyId('creditPool'), slug: 'prepaid', unit: 'USD' },
  ];
  const balances = subjects.flatMap((subject) => [
    toCreditBalance(subject),
    ...amounts.map((granted) =>
      toCreditBalance(subject, {
        granted,
        paid: 7n,
        held: 3n,
        owed: 1n,
        expiresAt: 1_767_225_600_000,
        expiring: granted,
      }),
    ),
  ]);
  for (const creditBalances of [[], balances])
    assert.equal(textOfCredits(creditBalances), JSON.stringify({ creditBalances }));
});
