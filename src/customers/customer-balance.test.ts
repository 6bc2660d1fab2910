import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decideApplied } from './customer-balance.ts';

test('a balance of 50 pays 30 of 30 and 20 of 40, and nothing of 10', () => {
  assert.deepEqual(decideApplied(50n, [30n, 40n, 10n]), [30n, 20n, 0n]);
  assert.deepEqual(decideApplied(0n, [30n]), [0n]);
  assert.throws(() => decideApplied(-1n, [30n]), assert.AssertionError);
});

test('a balance never pays more than it has or than is due, and leaves no invoice before another unpaid', () => {
  const due = fc.bigInt({ min: 0n, max: 1000n });
  fc.assert(
    fc.property(due, fc.array(due), (balance, dues) => {
      const applied = decideApplied(balance, dues);
      const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
      assert.equal(sum(applied), sum(dues) < balance ? sum(dues) : balance);
      applied.forEach((amount, index) => {
        assert.ok(amount >= 0n && amount <= (dues[index] ?? 0n));
        if (amount > 0n) assert.deepEqual(applied.slice(0, index), dues.slice(0, index));
      });
    }),
  );
});
