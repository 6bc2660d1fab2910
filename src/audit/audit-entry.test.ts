import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuditLogRow, firstIdAt, toEntry, toIdRange } from './audit-entry.ts';

const row: AuditLogRow = {
  id: 'audit_1',
  pricingModelId: null,
  occurredAt: 0,
  actorType: 'system',
  apiKeyId: null,
  userId: null,
  action: null,
  requestId: null,
  record: 'price',
  recordId: 'price_1',
  operation: 'update',
  before: null,
  after: null,
};

test('columns are answered in camelCase; what a JSON column holds keeps its keys', () => {
  const { before, after } = toEntry({
    ...row,
    before: '{"unit_price":100,"metadata":null}',
    after: '{"unit_price":200,"metadata":{"their_key":[{"is_set":null}]}}',
  });
  assert.deepEqual(before, { unitPrice: 100, metadata: null });
  assert.deepEqual(after, { unitPrice: 200, metadata: { their_key: [{ is_set: null }] } });
});

test('a whole number is exact: 2^53-1 is a number, 2^53 and beyond are text', () => {
  const { after } = toEntry({
    ...row,
    after: '{"total":9007199254740991,"amount":9007199254740992,"owed":-12345678901234567890,"rate":0.5}',
  });
  assert.deepEqual(after, {
    total: 9_007_199_254_740_991,
    amount: '9007199254740992',
    owed: '-12345678901234567890',
    rate: 0.5,
  });
});

test('ids begin with the microseconds of their change, so a range of time is a range of ids', () => {
  assert.equal(firstIdAt(0), 'audit_00000000000000');
  assert.equal(firstIdAt(1), 'audit_000000000003e8');
  assert.equal(firstIdAt(-1), 'audit_00000000000000');
  assert.equal(firstIdAt(9_007_199_254_740_991), 'audit_ffffffffffffff');
  assert.deepEqual(toIdRange({ since: '1970-01-01T00:00:00.001Z' }), { from: 'audit_000000000003e8', to: null });
  assert.deepEqual(toIdRange({}), { from: null, to: null });
});

test('a range that is empty is refused by its field', () => {
  const empty = { since: '2026-01-02T00:00:00Z', until: '2026-01-02T00:00:00Z' };
  assert.throws(() => toIdRange(empty), /until/);
});
