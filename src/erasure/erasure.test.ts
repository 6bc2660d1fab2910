import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeErasure } from './erasure.ts';

const records = [
  { record: 'customer', count: 1, columns: ['email', 'billing_address', 'logo_url'], isDocument: false },
  { record: 'purchase', count: 0, columns: ['name'], isDocument: false },
  { record: 'invoice', count: 2, columns: ['buyer'], isDocument: true },
];
const copies = { events: 5, auditLogEntries: 0, usageEvents: 3, processorCustomers: 0 };
const erased = [{ record: 'customer', count: 1, fields: ['email', 'billingAddress', 'logoURL'] }];
const copied = [
  { record: 'event', count: 5, fields: ['payload.customer.externalId', 'payload.data'] },
  { record: 'usageEvent', count: 3, fields: ['properties'] },
];

test('copies are pending until the erasure is complete, and then erased; invoices and usage are kept', () => {
  const begun = describeErasure({ customerId: 'cust_1', erasedAt: 7, completedAt: null }, records, copies);
  assert.deepEqual([begun.erased, begun.pending], [erased, copied]);
  const done = describeErasure({ customerId: 'cust_1', erasedAt: 7, completedAt: 8 }, records, copies);
  assert.deepEqual([done.erased, done.pending], [[...erased, ...copied], []]);
  assert.deepEqual(
    done.kept.map(({ record, count }) => [record, count]),
    [
      ['invoice', 2],
      ['usageEvent', 3],
    ],
  );
});
