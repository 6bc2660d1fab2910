import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from './new-id.ts';

test('a hundred thousand ids of one process are distinct and in order', () => {
  const ids = Array.from({ length: 100_000 }, () => newId('ledgerTransaction'));
  assert.deepEqual(ids.toSorted(), ids);
  assert.equal(new Set(ids).size, ids.length);
});
