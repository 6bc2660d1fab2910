import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { startTestApp } from '../support/harness.ts';

// The copies of other cells need the table.
const app = await startTestApp({ cells: 1 });

test('a fault of ours is a 500 that gives away nothing but the id to find its reason by', async () => {
  // What no caller can do: the table is gone.
  await sql`alter table tax_rates rename to hidden_reason`.execute(app.owner);
  const { status, body, headers } = await app.request('GET', '/tax-rates');
  assert.equal(status, 500);
  assert.deepEqual(body, {
    message: 'Internal server error',
    code: 'INTERNAL_SERVER_ERROR',
    reason: 'internal_server_error',
    error: 'Internal server error',
    request_id: headers.get('x-request-id'),
  });
  assert.match(String(body.request_id), /^\S{8,}$/);
});
