import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem, type ProblemName } from '../kernel/problem.ts';
import { poolAmount } from '../rating/pool-units.ts';
import { decideTakeBack, toCreditBalance, toUsageCredit, type UsageCreditRow } from './usage-credit.ts';

const refusal = (problem: ProblemName) => (error: unknown) => error instanceof Problem && error.problem === problem;
const calls = { id: 'usage_meter_1', slug: 'calls' };
const state = (remaining: bigint, balance: bigint, held = 0n) => ({
  id: 'usage_credit_1',
  usageMeterId: 'usage_meter_1',
  remaining,
  balance,
  held,
});

test('all that is left is taken back where nothing is said, or so much of it', () => {
  assert.equal(decideTakeBack(state(70n, 70n), null), 70n);
  assert.equal(decideTakeBack(state(70n, 70n), 10n), 10n);
  assert.equal(decideTakeBack(state(70n, 70n), 70n), 70n);
});

test('more than is left, and something of nothing, is refused', () => {
  assert.throws(() => decideTakeBack(state(70n, 200n), 71n), refusal('usageCreditTooSmall'));
  assert.throws(() => decideTakeBack(state(0n, 200n), null), refusal('usageCreditSpent'));
});

test('open holds keep what they set aside: of 100 with 30 held 70 can be taken back', () => {
  assert.equal(decideTakeBack(state(100n, 70n, 30n), 70n), 70n);
  assert.throws(() => decideTakeBack(state(100n, 70n, 30n), 71n), refusal('usageCreditHeld'));
  assert.throws(() => decideTakeBack(state(100n, 70n, 30n), null), refusal('usageCreditHeld'));
});

test('usage that no credit covered is no reason to refuse: of 100 granted after a use of 30, 100', () => {
  assert.equal(decideTakeBack(state(100n, 70n), null), 100n);
});

test('a credit is active, then expired, taken back or used, and its amounts are what it was issued with', () => {
  const row: UsageCreditRow = {
    id: 'usage_credit_1',
    createdAt: 0,
    updatedAt: 0,
    pricingModelId: 'pricing_model_1',
    ledgerAccountId: 'la_1',
    customerId: 'cust_1',
    subscriptionId: 'sub_1',
    usageMeterId: 'usage_meter_1',
    featureId: null,
    source: 'manual_adjustment',
    reason: null,
    priority: 100,
    issued: 100n,
    applied: 0n,
    expired: 0n,
    takenBack: 0n,
    pausedOwed: 0n,
    withheld: 0n,
    expiresAt: 10,
    transferredFrom: null,
    transferred: 0n,
  };
  const rows: [change: Partial<UsageCreditRow>, now: number, status: string, remaining: bigint, expired: bigint][] = [
    [{ applied: 30n, takenBack: 30n }, 9, 'active', 40n, 0n],
    // It has ended, and nobody has booked that yet.
    [{ applied: 30n, takenBack: 30n }, 10, 'expired', 0n, 40n],
    [{ applied: 30n, takenBack: 30n, expired: 40n }, 11, 'expired', 0n, 40n],
    [{ applied: 70n, takenBack: 30n }, 11, 'taken_back', 0n, 0n],
    [{ applied: 100n }, 11, 'used', 0n, 0n],
    [{ expiresAt: null }, 11, 'active', 100n, 0n],
  ];
  for (const [change, now, status, remaining, expired] of rows) {
    const credit = toUsageCredit({ ...row, ...change }, { livemode: false, now });
    assert.deepEqual([credit.status, credit.remainingAmount, credit.expiredAmount], [status, remaining, expired]);
    const { issuedAmount, appliedAmount, expiredAmount, takenBackAmount, remainingAmount } = credit;
    const parts = [appliedAmount, expiredAmount, takenBackAmount, remainingAmount].map(BigInt);
    assert.equal(
      parts.reduce((sum, part) => sum + part, 0n),
      issuedAmount,
    );
  }
});

test('100 granted, 50 bought, 30 held and 10 that nothing covered leave 110; 20 expire next', () => {
  const credits = { granted: 100n, paid: 50n, held: 30n, owed: 10n, expiresAt: 5, expiring: 20n };
  const { availableBalance, expiringNext } = toCreditBalance(calls, credits);
  assert.deepEqual([availableBalance, expiringNext], [110n, { amount: 20n, expiresAt: 5 }]);
  assert.equal(toCreditBalance(calls, undefined).expiringNext, null);
});

test('the balance of a credit pool is a decimal text in its unit', () => {
  const credits = { granted: poolAmount('100'), paid: poolAmount('0.5'), held: poolAmount('1') / 3n, owed: 0n };
  const { kind, unit, availableBalance } = toCreditBalance(
    { id: 'credit_pool_1', slug: 'ai', unit: 'USD' },
    { ...credits, expiresAt: null, expiring: 0n },
  );
  assert.deepEqual([kind, unit, availableBalance], ['pool', 'USD', '100.166666666666']);
});
