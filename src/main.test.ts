import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expiryOf, permissionsOf } from './main-admin.ts';
import { listenProblem } from './main-serve.ts';

test('an address that cannot be listened on is told with its setting', () => {
  const at = { host: '127.0.0.1', port: 3000 };
  const told = (code: string) => String(listenProblem(Object.assign(new Error(code), { code }), at));
  assert.match(told('EADDRINUSE'), /PORT: 3000 is in use on 127\.0\.0\.1/);
  assert.match(told('EADDRNOTAVAIL'), /HOST: 127\.0\.0\.1 is not an address of this machine/);
});

test('an expiry of a key lies in the future', () => {
  const now = Date.UTC(2026, 0, 1);
  assert.equal(expiryOf('2027-01-01T00:00:00Z', now), Date.UTC(2027, 0, 1));
  assert.throws(() => expiryOf('2020-01-01T00:00:00Z', now), /--expires: 2020-01-01T00:00:00Z has passed/);
  assert.throws(() => expiryOf('1', now), /not an ISO 8601 date-time/);
});

test('permissions of a key are those that there are, in their order', () => {
  assert.deepEqual(permissionsOf('holds:write, read'), ['read', 'holds:write']);
  assert.throws(() => permissionsOf('read,payroll'), /--permissions: there is no payroll\. Choose from read, write/);
});
