import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fallenBetween, hasFallen } from './low-balance.ts';
import type { LockedAccount } from './usage-booking.ts';

test('a balance falls below 20 from 20 or more to 19 or less; who was below before does not fall', () => {
  const rows: [before: bigint, after: bigint, fallen: boolean][] = [
    [20n, 19n, true],
    [100n, -5n, true],
    [21n, 20n, false],
    [19n, 18n, false],
    [19n, 20n, false],
  ];
  for (const [before, after, fallen] of rows) assert.equal(hasFallen(20n, before, after), fallen, `${before} ${after}`);
});

test('without a threshold nothing falls', () => {
  assert.equal(hasFallen(null, 100n, -100n), false);
});

const account = (available: bigint, change: Partial<LockedAccount> = {}): LockedAccount => ({
  id: 'la_1',
  pricingModelId: 'pricing_model_1',
  available,
  held: 0n,
  bookedAt: 0,
  credits: [],
  lapsed: 0n,
  drawn: null,
  open: null,
  ...change,
});
const watched = {
  ledgerAccountId: 'la_1',
  pricingModelId: 'pricing_model_1',
  customerId: 'cust_1',
  subscriptionId: 'sub_1',
  usageMeterId: 'usage_meter_1',
  lowBalanceThreshold: 20n,
};

test('an account that is named by many events has fallen once', () => {
  const before = new Map([['la_1', account(30n)]]);
  const after = new Map([['la_1', account(10n)]]);
  assert.deepEqual(fallenBetween([watched, watched], before, after), [watched]);
  assert.deepEqual(fallenBetween([watched], before, before), []);
});

test('what is held, and what has ended, is no part of the balance', () => {
  // 60 - 10 - 30 = 20 before, and a use of 1 leaves 19.
  const set = { held: 10n, lapsed: 30n };
  const fallen = fallenBetween(
    [watched],
    new Map([['la_1', account(60n, set)]]),
    new Map([['la_1', account(59n, set)]]),
  );
  assert.deepEqual(fallen, [watched]);
});
