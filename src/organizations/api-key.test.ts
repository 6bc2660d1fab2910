import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Permission } from '../kernel/permission.ts';
import { Problem, type ProblemName } from '../kernel/problem.ts';
import { decideKeyChange, endOfRotated, requireGrantable, type StoredApiKey } from './api-key.ts';

const now = Date.UTC(2026, 5, 1);
const hour = 3_600_000;
const all: Permission[] = ['read', 'write', 'money', 'catalog', 'admin'];

const refusalOf = (act: () => unknown): ProblemName | null => {
  try {
    act();
    return null;
  } catch (error) {
    assert(error instanceof Problem, String(error));
    return error.problem;
  }
};

describe('a grant', () => {
  const grant = (held: Permission[], heldUntil: number | null, given: Permission[], until: number | null) =>
    refusalOf(() =>
      requireGrantable({ permissions: held, expiresAt: heldUntil }, { permissions: given, expiresAt: until }),
    );

  test('has no more permissions than the key that asks', () => {
    assert.equal(grant(['write'], null, ['usage-events:write', 'write'], null), null);
    assert.equal(grant(['usage-events:write'], null, ['write'], null), 'permissionMissing');
    assert.equal(grant(['admin'], null, ['read'], null), 'permissionMissing');
  });

  test('ends no later than the key that asks', () => {
    assert.equal(grant(all, now, ['read'], now), null);
    assert.equal(grant(all, now, ['read'], now + 1), 'apiKeyOutlived');
    assert.equal(grant(all, now, ['read'], null), 'apiKeyOutlived');
    assert.equal(grant(all, null, ['read'], null), null);
  });
});

describe('a change of a key', () => {
  const key: StoredApiKey = {
    id: 'apikey_1',
    createdAt: 0,
    updatedAt: 0,
    pricingModelId: null,
    name: 'Key',
    token: 'sk_test_...abcd',
    active: true,
    type: 'secret',
    permissions: ['write'],
    expiresAt: now + hour,
    replacedById: null,
    lastUsedAt: null,
    hashText: null,
  };
  const clerk = { permissions: ['read', 'api-keys:admin'] as Permission[], expiresAt: null };
  const change = (given: object, of: Partial<StoredApiKey> = {}) =>
    refusalOf(() => decideKeyChange(clerk, { ...key, ...of }, given, now));

  test('that takes something away needs nothing that the key has', () => {
    assert.deepEqual(decideKeyChange(clerk, key, { permissions: ['usage-events:write'], expiresAt: now + 1 }, now), {
      ...key,
      permissions: ['usage-events:write'],
      expiresAt: now + 1,
    });
    assert.equal(change({ name: 'Other', permissions: ['write'] }), null);
  });

  test('that adds a permission needs it, and one that adds time needs all that the key may do', () => {
    assert.equal(change({ permissions: ['write', 'read'] }), null);
    assert.equal(change({ permissions: ['write', 'money'] }), 'permissionMissing');
    assert.equal(change({ expiresAt: now + 2 * hour }), 'permissionMissing');
    assert.equal(change({ expiresAt: null }), 'permissionMissing');
    assert.equal(change({ expiresAt: null }, { permissions: ['read'] }), null);
  });

  test('brings back no key that has ended, and makes no overlap longer', () => {
    assert.equal(change({ name: 'N' }, { active: false }), 'apiKeyEnded');
    assert.equal(change({ name: 'N' }, { expiresAt: now }), 'apiKeyEnded');
    assert.equal(change({ expiresAt: now }), 'invalidRequest');
    const replaced = { replacedById: 'apikey_2', permissions: ['read'] as Permission[] };
    assert.equal(change({ expiresAt: now + 2 * hour }, replaced), 'apiKeyReplaced');
    assert.equal(change({ expiresAt: now + 1 }, replaced), null);
  });
});

test('a rotated key ends after the overlap, or before that if it expires: at once without one', () => {
  assert.equal(endOfRotated({ expiresAt: null }, 3_600, now), now + hour);
  assert.equal(endOfRotated({ expiresAt: now + 1 }, 3_600, now), now + 1);
  assert.equal(endOfRotated({ expiresAt: null }, 0, now), null);
});
