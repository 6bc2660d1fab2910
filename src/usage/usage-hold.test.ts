import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideClosing, type HoldRow, holdEndIssue } from './usage-hold.ts';

const open: HoldRow = {
  id: 'hold_1',
  createdAt: 0,
  updatedAt: 0,
  pricingModelId: 'pricing_model_1',
  subscriptionId: 'sub_1',
  usageMeterId: 'usage_meter_1',
  priceId: 'price_1',
  ledgerAccountId: 'la_1',
  amount: 100,
  pooledAmount: 0,
  poolAccountId: null,
  poolAmount: null,
  status: 'open',
  settledAmount: null,
  expiresAt: 1000,
  counted: true,
  label: null,
};
const expired: HoldRow = { ...open, status: 'expired' };
const settled: HoldRow = { ...open, status: 'settled', settledAmount: 70, counted: false };
const released: HoldRow = { ...open, status: 'released', counted: false };
const settle = (settledAmount: number) => ({ status: 'settled', settledAmount }) as const;
const release = { status: 'released', settledAmount: null } as const;

test('an open hold, and one whose end has come, can be settled with any amount, and released', () => {
  for (const hold of [open, expired]) {
    for (const closing of [settle(0), settle(70), settle(1_000), release])
      assert.equal(decideClosing(hold, closing), 'close');
  }
});

test('what was settled is told again for the same amount, and neither changed nor released', () => {
  assert.equal(decideClosing(settled, settle(70)), 'repeat');
  for (const closing of [settle(71), settle(0), release])
    assert.throws(() => decideClosing(settled, closing), { problem: 'holdSettled', status: 409, message: /with 70/ });
});

test('what was released is told again, and not settled, not even with 0', () => {
  assert.equal(decideClosing(released, release), 'repeat');
  for (const closing of [settle(0), settle(100)])
    assert.throws(() => decideClosing(released, closing), { problem: 'holdReleased', status: 409 });
});

test('a hold ends after now and at most 31 days later', () => {
  const days31 = 2_678_400_000;
  assert.deepEqual(
    [999, 1000, 1001, 1000 + days31, 1001 + days31].map((at) => holdEndIssue(at, 1000)),
    [
      'must be in the future: it is now 1000',
      'must be in the future: it is now 1000',
      null,
      null,
      'must be at most 31 days in the future: 2678401000',
    ],
  );
});
