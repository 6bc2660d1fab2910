import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  accesses,
  groupPermissions,
  missingFrom,
  type Permission,
  permissions,
  type Role,
  roles,
  sufficientFor,
} from './permission.ts';

describe('a permission', () => {
  test('of one group is also had by the holder of its kind of access', () => {
    assert.deepEqual(sufficientFor('usage-events:write'), ['usage-events:write', 'write']);
    assert.deepEqual(missingFrom(['write'], ['usage-events:write', 'holds:write']), []);
  });

  test('of one group opens no other group and no other kind of access', () => {
    assert.deepEqual(missingFrom(['usage-events:write'], ['usage-events:read', 'holds:write', 'write']), [
      'usage-events:read',
      'holds:write',
      'write',
    ]);
  });

  test('for all groups is not had by the holder of every group that there is now', () => {
    assert.deepEqual(missingFrom(groupPermissions, accesses), [...accesses]);
    assert.deepEqual(missingFrom(groupPermissions, groupPermissions), []);
  });

  test('of a name that is not there opens nothing', () => {
    assert.deepEqual(missingFrom(['owner', 'payments:*', '', ':read', 'payments'], ['payments:read', 'read']), [
      'payments:read',
      'read',
    ]);
  });

  test('is one of few, which a key can hold all together', () => {
    assert.equal(new Set(permissions).size, permissions.length);
    assert(permissions.length <= 100, 'the table takes no more');
    // The constraint of the table.
    for (const each of permissions) assert.match(each, /^([a-z-]+:)?(read|write|money|catalog|admin)$/);
  });
});

describe('a role', () => {
  const may = (role: Role, needed: Permission) => missingFrom(roles[role], [needed]).length === 0;
  /** The roles that may do each action, in the order owner, billing, support, developer, viewer. */
  const table: Readonly<Partial<Record<Permission, string>>> = {
    'customers:read': 'owner billing support developer viewer',
    'audit-log:read': 'owner billing support developer viewer',
    'api-keys:read': 'owner billing support developer viewer',
    'customers:write': 'owner developer',
    'subscriptions:write': 'owner developer',
    'usage-events:write': 'owner developer',
    'portal-sessions:write': 'owner developer',
    'cancellations:write': 'owner support developer',
    'deliveries:write': 'owner support developer',
    'payments:money': 'owner billing',
    'usage-credits:money': 'owner billing',
    'invoices:money': 'owner billing',
    'subscriptions:money': 'owner billing',
    'tax-rates:money': 'owner billing',
    'prices:catalog': 'owner developer',
    'discounts:catalog': 'owner developer',
    'api-keys:admin': 'owner developer',
    'webhooks:admin': 'owner developer',
    'test-clock:admin': 'owner developer',
    'settings:admin': 'owner',
    'customers:admin': 'owner',
  };
  for (const [needed, allowed] of Object.entries(table))
    test(`with ${needed} is ${allowed.replaceAll(' ', ', ')}, and no other`, () => {
      const found = Object.keys(roles).filter((role) => may(role as Role, needed as Permission));
      assert.deepEqual(found, allowed.split(' '));
    });

  test('of an owner may do everything, and of a viewer only read', () => {
    for (const needed of permissions) {
      assert(may('owner', needed), needed);
      assert.equal(may('viewer', needed), /^(.*:)?read$/.test(needed), needed);
    }
  });

  test('gives no permission that there is not', () => {
    for (const held of Object.values(roles)) assert.deepEqual(missingFrom(permissions, held), []);
  });
});
