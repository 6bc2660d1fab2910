import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasFallen } from './ledger.ts';

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
