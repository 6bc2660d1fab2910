import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ambiguousCustomers, askedOf, decideChecks, type Found, type FoundSubscription } from './entitlement-check.ts';

const none: Found = {
  customers: [],
  subscriptionsRead: 0,
  features: [],
  subscriptions: [],
  inactiveResources: [],
  pools: [],
  pooled: [],
};
const now = 1_000;

const asking = (...pairs: readonly (readonly [string, string])[]) =>
  pairs.map(([customerExternalId, featureSlug]) => ({ customerExternalId, featureSlug }));

test('each customer, slug and pair is asked about once', () => {
  assert.deepEqual(askedOf(asking(['acme', 'sso'], ['acme', 'seats'], ['acme', 'sso'], ['other', 'sso'])), {
    externalIds: ['acme', 'other'],
    slugs: ['sso', 'seats'],
    pairs: [
      [1, 1],
      [1, 2],
      [2, 1],
    ],
    pairOf: [1, 2, 1, 3],
    groups: [[1, 2], [1]],
    groupOf: [1, 2],
  });
});

test('customers who are asked about the same slugs are a group', () => {
  const customers = ['acme', 'other', 'third'];
  const checks = asking(...customers.flatMap((name) => [[name, 'sso'] as const, [name, 'seats'] as const]), [
    'last',
    'sso',
  ]);
  const { groups, groupOf } = askedOf(checks);
  assert.deepEqual(
    [groups, groupOf],
    [
      [[1, 2], [1]],
      [1, 1, 1, 2],
    ],
  );
});

test('an external id of which two customers are found is ambiguous', () => {
  const customers = [
    [1, 'pm_1'],
    [2, 'pm_1'],
    [2, 'pm_2'],
  ] as const;
  assert.deepEqual(ambiguousCustomers({ ...none, customers }), new Set([2]));
});

/** Whether two more of a resource can be claimed, of which each of these subscriptions has 3 claimed. */
function decideSeats(...has: readonly { capacity: number; plannedAt?: number; planned?: Record<string, number> }[]) {
  const checks = [{ customerExternalId: 'acme', featureSlug: 'seats', amount: 2n }];
  const subscriptions = has.map(({ capacity, plannedAt, planned }, index): FoundSubscription => {
    const places = [[['res_1', capacity]], [['res_1', 3]], plannedAt ?? null, planned ?? null, true] as const;
    return [1, `sub_${index}`, [['feat_1', 'res_1', null]], [], ...places];
  });
  const found: Found = {
    ...none,
    customers: [[1, 'pm_1']],
    features: [[1, 'feat_1', 'pm_1', 'resource', true]],
    subscriptions,
  };
  const [result] = decideChecks(checks, askedOf(checks), found, now);
  return [result?.allowed, result?.reason, result?.capacity, result?.claimed];
}

test('a change of plan whose instant has come must find room for what is claimed: what it leaves can be claimed', () => {
  const planned = { res_1: 4 };
  assert.deepEqual(decideSeats({ capacity: 5 }), [true, null, 5, 3]);
  assert.deepEqual(decideSeats({ capacity: 5, plannedAt: now + 1, planned }), [true, null, 5, 3]);
  assert.deepEqual(decideSeats({ capacity: 5, plannedAt: now, planned }), [false, 'insufficient_capacity', 4, 3]);
  assert.deepEqual(decideSeats({ capacity: 5, plannedAt: now, planned: {} }), [false, 'insufficient_capacity', 0, 3]);
});

test('capacity without limit in two subscriptions is capacity without limit', () => {
  const unlimited = Number.MAX_SAFE_INTEGER;
  assert.deepEqual(decideSeats({ capacity: unlimited }, { capacity: unlimited }), [true, null, unlimited, 6]);
});

test('a balance beyond 2^53 is exact', () => {
  const checks = [{ customerExternalId: 'acme', featureSlug: 'calls' }];
  const gives = (id: string, available: string): FoundSubscription => [
    ...([1, id, [['feat_1', 'meter_1', null]], [['meter_1', available, '0']]] as const),
    ...([[], [], null, null, true] as const),
  ];
  const found: Found = {
    ...none,
    customers: [[1, 'pm_1']],
    features: [[1, 'feat_1', 'pm_1', 'usage_credit_grant', true]],
    subscriptions: [gives('sub_1', '9007199254740993'), gives('sub_2', '-1')],
  };
  const [result] = decideChecks(checks, askedOf(checks), found, now);
  assert.deepEqual([result?.allowed, result?.availableBalance], [true, 9_007_199_254_740_992n]);
});
