import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ambiguousCustomers, askedOf, decideChecks, type Found, type FoundHolding } from './entitlement-check.ts';

const none: Found = { customers: [], features: [], grants: [], balances: [], holdings: [], claims: [] };
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
    pairOf: [0, 1, 0, 2],
  });
});

test('an external id of which two customers are found is ambiguous', () => {
  const customers = [
    [1, 'pm_1'],
    [2, 'pm_1'],
    [2, 'pm_2'],
  ] as const;
  assert.deepEqual(ambiguousCustomers({ ...none, customers }), new Set([2]));
});

/** Decides whether two more of a resource can be claimed, of which each of these holdings has 3 claimed. */
function decideSeats(...holdings: readonly FoundHolding[]) {
  const checks = [{ customerExternalId: 'acme', featureSlug: 'seats', amount: 2n }];
  const found: Found = {
    ...none,
    customers: [[1, 'pm_1']],
    features: [[1, 'feat_1', 'pm_1', 'resource', true]],
    grants: holdings.map(([subscriptionId]) => [1, subscriptionId, [['feat_1', 'res_1']]] as const),
    holdings,
    claims: holdings.map(([subscriptionId]) => [subscriptionId, 'res_1', 3] as const),
  };
  const [result] = decideChecks(checks, askedOf(checks), found, now);
  return [result?.allowed, result?.reason, result?.capacity, result?.claimed];
}

test('a change of plan whose instant has come must find room for what is claimed: what it leaves can be claimed', () => {
  assert.deepEqual(decideSeats(['sub_1', 'res_1', 5, true, null, null]), [true, null, 5, 3]);
  assert.deepEqual(decideSeats(['sub_1', 'res_1', 5, true, now, 4]), [false, 'insufficient_capacity', 4, 3]);
  assert.deepEqual(decideSeats(['sub_1', 'res_1', 5, true, now + 1, 4]), [true, null, 5, 3]);
});

test('capacity without limit in two subscriptions is capacity without limit', () => {
  const unlimited = Number.MAX_SAFE_INTEGER;
  assert.deepEqual(
    decideSeats(['sub_1', 'res_1', unlimited, true, null, null], ['sub_2', 'res_1', unlimited, true, null, null]),
    [true, null, unlimited, 6],
  );
});

test('a balance beyond 2^53 is exact', () => {
  const checks = [{ customerExternalId: 'acme', featureSlug: 'calls' }];
  const found: Found = {
    ...none,
    customers: [[1, 'pm_1']],
    features: [[1, 'feat_1', 'pm_1', 'usage_credit_grant', true]],
    grants: [
      [1, 'sub_1', [['feat_1', 'meter_1']]],
      [1, 'sub_2', [['feat_1', 'meter_1']]],
    ],
    balances: [
      ['sub_1', 'meter_1', '9007199254740993'],
      ['sub_2', 'meter_1', '-1'],
    ],
  };
  const [result] = decideChecks(checks, askedOf(checks), found, now);
  assert.deepEqual([result?.allowed, result?.availableBalance], [true, 9_007_199_254_740_992n]);
});
