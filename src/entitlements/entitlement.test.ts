import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Grant, grantsMeant, type NamedGrant, subscriptionsOf, toEntitledFeatures } from './entitlement.ts';

const grant = (values: Partial<Grant>): Grant => ({
  subscriptionId: 'sub_1',
  featureId: 'feat_1',
  type: 'toggle',
  active: true,
  about: null,
  ...values,
});

test('the active feature leads, though an older one with the same slug is newer among the inactive ones', () => {
  const old = grant({ featureId: 'feat_9', active: false });
  const active = grant({ featureId: 'feat_2' });
  assert.deepEqual(grantsMeant([old, active]), [active, old]);
  assert.deepEqual(grantsMeant([]), []);
});

test('without an active one the newest leads', () => {
  const [older, newer] = ['feat_1', 'feat_2'].map((featureId) => grant({ featureId, active: false }));
  assert.deepEqual(grantsMeant([older, newer] as Grant[]), [newer, older]);
});

test('what is about something else, or of another type, is not what the slug stands for', () => {
  const credits = { type: 'usage_credit_grant', featureId: 'feat_2' } as const;
  const calls = grant({ ...credits, about: 'meter_calls' });
  const same = grant({ ...credits, about: 'meter_calls', subscriptionId: 'sub_0' });
  const tokens = grant({ ...credits, featureId: 'feat_1', about: 'meter_tokens' });
  assert.deepEqual(grantsMeant([tokens, same, grant({}), calls]), [calls, same]);
});

test('a subscription that gives a feature through two items is there once, the newest first', () => {
  const grants = ['sub_1', 'sub_2', 'sub_1'].map((subscriptionId) => ({ subscriptionId }));
  assert.deepEqual(subscriptionsOf(grants), ['sub_2', 'sub_1']);
});

test('amounts add up by slug, and stop at 2^53-1', () => {
  const seats = (subscriptionId: string, amount: bigint): NamedGrant => ({
    ...grant({ subscriptionId, type: 'resource', about: 'res_1' }),
    ...{ slug: 'seats', name: 'Seats', amount, given: null, spendLimit: null },
  });
  const amountOf = (...grants: NamedGrant[]) => toEntitledFeatures(grants).map(({ slug, amount }) => [slug, amount]);
  assert.deepEqual(amountOf(seats('sub_1', 5n), seats('sub_2', 3n)), [['seats', 8n]]);
  const unlimited = 9_007_199_254_740_991n;
  assert.deepEqual(amountOf(seats('sub_1', unlimited), seats('sub_2', unlimited)), [['seats', unlimited]]);
});
