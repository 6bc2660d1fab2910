import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOf, mostRecent, typesOf, unseenOf } from './change-feed.ts';

const changes = [
  { id: 'audit_1', record: 'invoice' },
  { id: 'audit_2', record: 'customer' },
  { id: 'audit_3', record: 'invoice' },
];

test('a look tells the changes that none before has seen, also one that was written earlier and committed later', () => {
  const seen = new Set(['audit_1', 'audit_3']);
  assert.deepEqual(unseenOf(changes, { seen, sinceLookMs: 1_000 }), [changes[1]]);
});

test('a look does not say that nothing changed when the one before is too long ago, or there is too much', () => {
  assert.equal(unseenOf([], { seen: new Set(), sinceLookMs: 51_000 }), null);
  const many = Array.from({ length: mostRecent }, (_, index) => ({ id: `audit_${index}`, record: 'invoice' }));
  assert.equal(unseenOf(many, { seen: new Set(), sinceLookMs: 1_000 }), null);
  assert.equal(unseenOf(many, { seen: new Set(['audit_0']), sinceLookMs: 1_000 })?.length, mostRecent - 1);
});

test('a message names each type of record once', () => {
  assert.deepEqual(typesOf(changes), ['customer', 'invoice']);
  assert.equal(messageOf(7, ['invoice']), 'id: 7\nevent: changed\ndata: {"records":["invoice"]}\n\n');
  assert.equal(messageOf(7, null), 'id: 7\nevent: refresh\ndata: {}\n\n');
  assert.equal(messageOf(7), 'id: 7\n\n');
});
