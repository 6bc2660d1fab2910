import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { sql } from 'kysely';
import { routes, routesOfPeople } from '../../src/api/routes.ts';
import { hashApiKey } from '../../src/database/api-key.ts';
import type { Route } from '../../src/http/route.ts';
import {
  accesses,
  groupPermissions,
  missingFrom,
  type Permission,
  type Role,
  roleNames,
  roles,
  routeGroups,
} from '../../src/kernel/permission.ts';
import { createApiKey } from '../../src/organizations/actions.ts';
import { setUpCredits } from '../support/credits-fixture.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { personWith } from '../support/people-fixture.ts';
import { inTurns } from '../support/tenants-attack.ts';

const app = await startTestApp({ isSound: false });
const environmentId = app.testEnvironmentId;
const dayMs = 86_400_000;

/** The token of a key with these permissions. */
async function keyWith(permissions: readonly Permission[], rest: { expiresAt?: number; pricingModelId?: string } = {}) {
  const request = { environmentId, livemode: false, name: permissions.join(' ').slice(0, 200), permissions, ...rest };
  return createApiKey(app.owner, request, Date.now());
}

const nameOf = ({ method, path }: Route) => `${method} ${path}`;

describe('what a route needs', () => {
  test('is a permission that a key can have, and each permission of a group is needed by a route', () => {
    assert.deepEqual(
      [...new Set([...routes, ...routesOfPeople].flatMap(({ needs }) => needs ?? []))].sort(),
      [...groupPermissions].sort(),
    );
  });

  test('is of the group that its path begins with, except where somebody may need it without the rest', () => {
    const others = routes.filter(({ path, needs }) => needs !== null && !needs.startsWith(`${path.split('/')[1]}:`));
    assert.deepEqual(Object.fromEntries(others.map((route) => [nameOf(route), route.needs])), {
      'GET /customers/{externalId}/entitlements': 'entitlements:read',
      'POST /customers/{externalId}/portal-sessions': 'portal-sessions:write',
      'DELETE /customers/{externalId}/portal-sessions': 'portal-sessions:write',
      'POST /subscriptions/{id}/cancel': 'cancellations:write',
      'POST /subscriptions/{id}/uncancel': 'cancellations:write',
      'GET /webhooks/{id}/deliveries': 'deliveries:read',
      'POST /webhooks/{id}/replay': 'deliveries:write',
      'GET /email-templates/{name}/preview': 'emails:read',
    });
  });

  test('is to read exactly where the route reads: every GET, and POSTs that store nothing', () => {
    const reads = routes.filter(({ method, needs }) => method !== 'GET' && (needs === null || needs.endsWith(':read')));
    assert.deepEqual(reads.map(nameOf).sort(), [
      'POST /entitlements/check',
      'POST /prices/quote',
      'POST /subscriptions/{id}/preview-adjust',
    ]);
    for (const { method, path, needs } of routes)
      if (method === 'GET') assert(needs === null ? path === '/utils/ping' : needs.endsWith(':read'), path);
  });

  const sets: Readonly<Record<string, readonly Permission[]>> = {
    ...Object.fromEntries(accesses.map((each) => [each, [each]])),
    'every group': groupPermissions,
    'usage alone': ['usage-events:write'],
  };
  for (const [name, permissions] of Object.entries(sets))
    test(`is refused to a key with the permissions of "${name}" that lacks it, before anything else of the request`, async () => {
      const { token: key } = await keyWith(permissions);
      const ask = async ({ method, path, needs }: Route) => {
        // The path is of nothing, and the body is empty: a request that is allowed is refused for that.
        const filled = path.replaceAll(/\{\w+\}/g, 'nothing') + (method === 'GET' ? '' : '?dryRun=true');
        const { status, body } = await app.request(method, filled, method === 'GET' ? undefined : {}, { key });
        const isMissing = needs !== null && missingFrom(permissions, [needs]).length > 0;
        assert.equal(status === 403, isMissing, `${method} ${path}: ${status} ${JSON.stringify(body)}`);
        if (!isMissing) return;
        assert.deepEqual([body.reason, body.permission], ['permission_missing', needs]);
        assert(body.message.includes(`The permission ${needs} is missing`));
      };
      await inTurns(routes, ask);
    });

  for (const role of roleNames)
    test(`is refused to a person with the role "${role}" that lacks it, before anything else of the request`, async () => {
      const { browser } = await personWith(app, role);
      await inTurns([...routes, ...routesOfPeople], async ({ method, path, needs }) => {
        const filled = path.replaceAll(/\{\w+\}/g, 'nothing') + (method === 'GET' ? '' : '?dryRun=true');
        const { status, body } = await browser.ask(method, filled, method === 'GET' ? undefined : {});
        const isMissing = needs !== null && missingFrom(roles[role], [needs]).length > 0;
        assert.equal(status === 403, isMissing, `${method} ${path}: ${status} ${JSON.stringify(body)}`);
        assert(status !== 401 && status < 500, `${method} ${path}: ${status}`);
        if (isMissing) assert.deepEqual([body.reason, body.permission], ['permission_missing', needs]);
      });
    });

  test('is had by each role as its name says', () => {
    const kindOf = (needs: string) => needs.split(':')[1] ?? '';
    const mayDo: Readonly<Record<Role, (needs: string) => boolean>> = {
      owner: () => true,
      billing: (needs) => ['read', 'money'].includes(kindOf(needs)),
      support: (needs) =>
        kindOf(needs) === 'read' || ['cancellations:write', 'deliveries:write', 'emails:write'].includes(needs),
      developer: (needs) =>
        kindOf(needs) !== 'money' &&
        ![
          'settings:admin',
          'customers:admin',
          'organizations:admin',
          'members:admin',
          'invitations:admin',
          'sign-in-provider:admin',
        ].includes(needs),
      viewer: (needs) => kindOf(needs) === 'read',
    };
    for (const [role, may] of Object.entries(mayDo))
      for (const { method, path, needs } of [...routes, ...routesOfPeople])
        if (needs !== null)
          assert.equal(
            missingFrom(roles[role as Role], [needs]).length === 0,
            may(needs),
            `${role}: ${method} ${path}`,
          );
  });

  test('is in the documentation with its group, and the permissions of each role are too', async () => {
    const pages = [
      ['permissions.md', routeGroups],
      ['people.md', roles],
    ] as const;
    for (const [page, table] of pages) {
      const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
      const rows = Object.entries<readonly string[]>(table).map(
        ([name, list]) => `| \`${name}\` | ${list.map((each) => `\`${each}\``).join(', ')} |`,
      );
      assert(text.includes(rows.join('\n')), rows.join('\n'));
    }
  });

  test('is in openapi.json with each operation', async () => {
    const document: Body = await (await fetch(`${app.url}/openapi.json`)).json();
    for (const { method, path, needs } of routes) {
      const roles = needs === null ? [] : [needs];
      const { security } = document.paths[`/api/v1${path}`][method.toLowerCase()];
      assert.deepEqual(security, [{ bearer: roles }, { apiKey: roles }], path);
    }
  });
});

describe('usage that is recorded in batches', async () => {
  const plan = await setUpCredits(app);
  let events = 0;
  const record = (subscriptionId: string, key: string) => {
    const usageEvent = { subscriptionId, usageMeterSlug: 'calls', transactionId: `event ${++events}`, amount: 1 };
    return app.request('POST', '/usage-events', { usageEvent }, { key });
  };

  test('needs only the permission for it, and ends with the request after the permission was taken', async () => {
    const { id } = await plan.subscribe();
    const key = await keyWith(['usage-events:write']);
    // Once the references are cached, a batch is one statement.
    for (let count = 0; count < 3; count++) assert.equal((await record(id, key.token)).status, 200);
    await app.put(`/api-keys/${key.id}`, { apiKey: { permissions: ['usage-events:read'] } });
    const answers = await Promise.all([record(id, key.token), record(id, key.token)]);
    for (const { status, body } of answers)
      assert.deepEqual([status, body.permission], [403, 'usage-events:write'], JSON.stringify(body));
    const { data } = await app.get(`/usage-events?subscriptionId=${id}`, { key: key.token });
    assert.equal(data.length, 3);
  });

  test('is recorded for a key with the permission while another without it is refused', async () => {
    const { id } = await plan.subscribe();
    const [writer, reader] = [await keyWith(['write']), await keyWith(['read', 'money', 'catalog', 'admin'])];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => record(id, index % 2 === 0 ? writer.token : reader.token)),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      answers.map((_, index) => (index % 2 === 0 ? 200 : 403)),
    );
  });
});

describe('an API key over the API', () => {
  const create = (apiKey: object, key?: string) =>
    app.request(
      'POST',
      '/api-keys',
      { apiKey: { name: 'Made', permissions: ['read'], ...apiKey } },
      key ? { key } : {},
    );
  const isRefused = async (token: string) =>
    (await app.request('GET', '/utils/ping', undefined, { key: token })).status;

  test('is shown once with its token, and then masked', async () => {
    const { body } = await create({ permissions: ['usage-events:write', 'read', 'read'] });
    assert.match(body.token, /^sk_test_[\w-]{32}$/);
    const { apiKey } = await app.get(`/api-keys/${body.apiKey.id}`);
    assert.deepEqual(apiKey, body.apiKey);
    assert.equal(apiKey.token, `sk_test_...${body.token.slice(-4)}`);
    assert.deepEqual(apiKey.permissions, ['read', 'usage-events:write']);
    assert.deepEqual([apiKey.expiresAt, apiKey.pricingModelId, apiKey.active], [null, null, true]);
    // A hash is no secret of a random key, but may be of one that an operator chose.
    assert.equal(apiKey.hashText, null);
    const own = await app.get(`/api-keys/${body.apiKey.id}`, { key: body.token });
    assert.equal(own.apiKey.hashText, hashApiKey(body.token).toString('hex'));
    assert.equal(await isRefused(body.token), 200);
  });

  test('must have permissions, of those that there are, and a future expiry', async () => {
    const refusals: [object, string][] = [
      [{ permissions: [] }, 'apiKey.permissions'],
      [{ permissions: ['payments:*'] }, 'apiKey.permissions.0'],
      [{ permissions: undefined }, 'apiKey.permissions'],
      [{ name: ' ' }, 'apiKey.name'],
      [{ expiresAt: Date.now() - 1 }, 'apiKey.expiresAt'],
    ];
    for (const [apiKey, path] of refusals) {
      const { status, body } = await create(apiKey);
      assert.equal(status, 400, JSON.stringify(body));
      assert(
        body.issues.some((issue: Body) => issue.path.join('.') === path),
        JSON.stringify(body.issues),
      );
    }
  });

  test('gives another key no permission that it lacks, and none through a key that it rotates or changes', async () => {
    const clerk = await keyWith(['read', 'api-keys:admin', 'usage-events:write']);
    const given = await create({ permissions: ['usage-events:write', 'invoices:read'] }, clerk.token);
    assert.equal(given.status, 200, JSON.stringify(given.body));
    const whole = await keyWith(accesses);
    const { id } = given.body.apiKey;
    const attempts: [string, string, object, Permission][] = [
      ['POST', '/api-keys', { apiKey: { name: 'N', permissions: ['read', 'write'] } }, 'write'],
      ['POST', '/api-keys', { apiKey: { name: 'N', permissions: ['payments:money'] } }, 'payments:money'],
      ['PUT', `/api-keys/${id}`, { apiKey: { permissions: ['holds:write'] } }, 'holds:write'],
      ['PUT', `/api-keys/${clerk.id}`, { apiKey: { permissions: ['admin'] } }, 'admin'],
      ['POST', `/api-keys/${whole.id}/rotate`, {}, 'write'],
    ];
    for (const [method, path, body, missing] of attempts) {
      const answer = await app.request(method, path, body, { key: clerk.token });
      assert.deepEqual([answer.status, answer.body.permission], [403, missing], `${method} ${path}`);
    }
    // To take permissions away needs none of them.
    const { apiKey } = await app.put(
      `/api-keys/${whole.id}`,
      { apiKey: { permissions: ['money'] } },
      { key: clerk.token },
    );
    assert.deepEqual(apiKey.permissions, ['money']);
  });

  test('that expires gives no other key more time than it has', async () => {
    const expiresAt = Date.now() + dayMs;
    const brief = await keyWith(accesses, { expiresAt });
    const given = await create({}, brief.token);
    assert.equal(given.body.apiKey.expiresAt, expiresAt);
    const { id } = given.body.apiKey;
    const lasting = await keyWith(['read']);
    const attempts: [string, string, object][] = [
      ['POST', '/api-keys', { apiKey: { name: 'N', permissions: ['read'], expiresAt: null } }],
      ['POST', '/api-keys', { apiKey: { name: 'N', permissions: ['read'], expiresAt: expiresAt + 1 } }],
      ['PUT', `/api-keys/${id}`, { apiKey: { expiresAt: expiresAt + 1 } }],
      ['PUT', `/api-keys/${brief.id}`, { apiKey: { expiresAt: null } }],
      ['POST', `/api-keys/${lasting.id}/rotate`, {}],
    ];
    for (const [method, path, body] of attempts) {
      const answer = await app.request(method, path, body, { key: brief.token });
      assert.deepEqual([answer.status, answer.body.reason], [403, 'api_key_outlived'], `${method} ${path}`);
    }
  });

  test('that lacks permissions of a key does not give that key more time', async () => {
    const clerk = await keyWith(['read', 'api-keys:admin']);
    const ending = await keyWith(accesses, { expiresAt: Date.now() + dayMs });
    const change = (expiresAt: number | null) =>
      app.request('PUT', `/api-keys/${ending.id}`, { apiKey: { expiresAt } }, { key: clerk.token });
    assert.equal((await change(null)).body.permission, 'write');
    assert.equal((await change(Date.now() + 1_000)).status, 200);
  });

  test('that is pinned to a pricing model makes keys of that model only, and sees no others', async () => {
    const { pricingModel } = await app.post('/pricing-models', { pricingModel: { name: 'Pinned' } });
    const { pricingModel: other } = await app.post('/pricing-models', { pricingModel: { name: 'Other' } });
    const pinned = await keyWith(accesses, { pricingModelId: pricingModel.id });
    const { body } = await create({}, pinned.token);
    assert.equal(body.apiKey.pricingModelId, pricingModel.id);
    assert.equal((await create({ pricingModelId: other.id }, pinned.token)).status, 404);
    assert.equal((await create({ pricingModelId: null }, pinned.token)).status, 403);
    const whole = await keyWith(accesses);
    for (const verb of ['rotate', 'revoke']) {
      const answer = await app.request('POST', `/api-keys/${whole.id}/${verb}`, {}, { key: pinned.token });
      assert.equal(answer.status, 404);
    }
  });

  test('is rotated with an overlap in which both keys work; afterwards the old one does not', async () => {
    const expiresAt = Date.now() + 30 * dayMs;
    const old = await keyWith(['read', 'holds:write'], { expiresAt });
    const before = Date.now();
    const { apiKey, token } = await app.post(`/api-keys/${old.id}/rotate`, { overlapSeconds: 3600 });
    assert.deepEqual([apiKey.permissions, apiKey.expiresAt], [['read', 'holds:write'], expiresAt]);
    const { apiKey: replaced } = await app.get(`/api-keys/${old.id}`);
    assert.equal(replaced.replacedById, apiKey.id);
    assert(replaced.expiresAt >= before + 3_600_000 && replaced.expiresAt <= Date.now() + 3_600_000);
    assert.deepEqual([await isRefused(old.token), await isRefused(token)], [200, 200]);
    await app.owner
      .updateTable('apiKeys')
      .set({ expiresAt: Date.now() - 1 })
      .where('id', '=', old.id)
      .execute();
    assert.deepEqual([await isRefused(old.token), await isRefused(token)], [401, 200]);
  });

  test('is rotated once: of ten rotations at the same time one makes a key', async () => {
    const old = await keyWith(['read']);
    const rotations = await Promise.all(
      Array.from({ length: 10 }, () => app.request('POST', `/api-keys/${old.id}/rotate`, { overlapSeconds: 60 })),
    );
    const made = rotations.filter(({ status }) => status === 200);
    assert.equal(made.length, 1);
    for (const { status, body } of rotations)
      if (status !== 200) assert.deepEqual([status, body.reason], [409, 'api_key_replaced']);
    // The overlap does not last longer than was said.
    const longer = await app.request('PUT', `/api-keys/${old.id}`, { apiKey: { expiresAt: null } });
    assert.equal(longer.body.reason, 'api_key_replaced');
    assert(rotations.some(({ body }) => body.message?.includes(made[0]?.body.apiKey.id)));
  });

  test('that was rotated without an overlap, or revoked, is refused by its next request and never comes back', async () => {
    const [rotated, revoked] = [await keyWith(['read']), await keyWith(['read'])];
    assert.deepEqual([await isRefused(rotated.token), await isRefused(revoked.token)], [200, 200]);
    await app.post(`/api-keys/${rotated.id}/rotate`, {});
    await app.post(`/api-keys/${revoked.id}/revoke`);
    assert.deepEqual([await isRefused(rotated.token), await isRefused(revoked.token)], [401, 401]);
    const { apiKey } = await app.post(`/api-keys/${revoked.id}/revoke`);
    assert.equal(apiKey.active, false);
    for (const { id } of [rotated, revoked]) {
      const change = await app.request('PUT', `/api-keys/${id}`, { apiKey: { expiresAt: null } });
      const again = await app.request('POST', `/api-keys/${id}/rotate`, {});
      assert.deepEqual([change.body.reason, again.body.reason], ['api_key_ended', 'api_key_ended']);
    }
  });

  test('that revokes itself makes no key with a request that waited meanwhile', async () => {
    const clerk = await keyWith(accesses);
    const answers = await Promise.all([
      app.request('POST', `/api-keys/${clerk.id}/revoke`, {}, { key: clerk.token }),
      ...Array.from({ length: 10 }, () => create({ name: 'late' }, clerk.token)),
    ]);
    const { data } = await app.get(`/audit-log?apiKeyId=${clerk.id}&record=apiKey&limit=100`);
    const ended = data.findIndex(({ operation }: Body) => operation === 'update');
    // Newest first: nothing was made after the end.
    assert.equal(ended, 0, JSON.stringify(data));
    assert.equal(data.length, answers.filter(({ status }) => status === 200).length);
  });

  test('shows its token again only to a repeat by the same key, and it is stored encrypted', async () => {
    const headers = { 'Idempotency-Key': 'a key once' };
    const apiKey = { apiKey: { name: 'Once', permissions: ['read'] } };
    const first = await app.post('/api-keys', apiKey, { headers });
    assert.deepEqual(await app.post('/api-keys', apiKey, { headers }), first);
    const clerk = await keyWith(['api-keys:admin', 'read']);
    assert.equal((await app.request('POST', '/api-keys', apiKey, { headers, key: clerk.token })).status, 409);
    const { response } = await app.owner
      .selectFrom('idempotencyKeys')
      .select('response')
      .where('key', '=', headers['Idempotency-Key'])
      .executeTakeFirstOrThrow();
    assert(!response.includes(first.token.slice(8)));
  });

  test('is in the audit log with what it may do and who made it, and without its hash', async () => {
    const { body } = await create({ name: 'Logged', permissions: ['catalog'] });
    const { data } = await app.get(`/audit-log?recordId=${body.apiKey.id}`);
    const [entry] = data;
    assert.deepEqual([data.length, entry.actor.type, entry.action], [1, 'api_key', 'POST /api-keys']);
    assert.deepEqual([entry.after.permissions, entry.after.hash], [['catalog'], '(secret)']);
    assert(!JSON.stringify(data).includes(body.token));
  });
});

describe('an organization over the API', () => {
  const create = (key: string, options: object = {}) =>
    app.request('POST', '/organizations', { organization: { name: 'Daughter' } }, { key, ...options });

  test('has both environments with a default pricing model, and keys that see only them', async () => {
    const { status, body } = await create(app.liveKey);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.organization.name, 'Daughter');
    assert.deepEqual(
      body.apiKeys.map(({ apiKey }: Body) => [apiKey.livemode, apiKey.organizationId, apiKey.permissions]),
      [false, true].map((livemode) => [livemode, body.organization.id, [...accesses]]),
    );
    for (const { token: key, apiKey } of body.apiKeys) {
      const { pricingModel } = await app.get('/pricing-models/default', { key });
      assert.deepEqual([pricingModel.name, pricingModel.livemode], ['Default', apiKey.livemode]);
      const { data: found } = await app.get('/api-keys', { key });
      assert.deepEqual(found, [{ ...apiKey, hashText: hashApiKey(key).toString('hex') }]);
      const customer = { externalId: 'first', email: 'f@acme.test', name: 'First' };
      assert.equal((await app.request('POST', '/customers', { customer }, { key })).status, 200);
      // The log of the new organization does not show the key of the other one.
      const { data } = await app.get('/audit-log?action=POST /organizations', { key });
      assert.deepEqual([...new Set(data.map(({ actor }: Body) => actor.type))], ['system']);
    }
    const { total } = await app.get('/customers?externalId=first', { key: app.liveKey });
    assert.equal(total, 0);
    // The request went on in its own environment.
    const { data: own } = await app.get('/api-keys', { key: app.liveKey });
    assert.equal(own.length, 1);
  });

  test('that a test key asks for has no live key, and its keys expire with the key that asked', async () => {
    const expiresAt = Date.now() + dayMs;
    const brief = await keyWith(['organizations:admin'], { expiresAt });
    const { body } = await create(brief.token);
    assert.deepEqual(
      body.apiKeys.map(({ apiKey }: Body) => [apiKey.livemode, apiKey.expiresAt]),
      [[false, expiresAt]],
    );
  });

  test('creates no other one, and the number for one organization is limited, also at the same time', async () => {
    const { body } = await create(app.testKey);
    const refused = await create(body.apiKeys[0].token);
    assert.deepEqual([refused.status, refused.body.reason], [409, 'too_many_records']);
    const { rows } = await sql<{ made: number }>`
      select count(*)::integer as made from organizations where made_by_api_key_id is not null`.execute(app.owner);
    // All but three of those that are left, made by an operator's hand.
    await sql`
      insert into organizations (id, name, created_at, updated_at, made_by_environment_id, made_by_api_key_id)
      select 'org_' || lpad(n::text, 21, '0'), 'Filler', 0, 0, o.made_by_environment_id, o.made_by_api_key_id
        from organizations o, generate_series(1, ${97 - (rows[0]?.made ?? 0)}) n
       where o.id = ${body.organization.id}`.execute(app.owner);
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(app.testKey)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 3);
    assert.equal(answers.filter(({ status }) => status === 409).length, 5);
  });

  test('is not made by a dry run, and a repeat shows its tokens again to the same key only', async () => {
    const { organization, key } = await freshOrganization();
    const dry = await app.request('POST', '/organizations?dryRun=true', { organization: { name: 'D' } }, { key });
    assert.equal(await pingStatus(dry.body.apiKeys[0].token), 401);
    const headers = { 'Idempotency-Key': 'a daughter' };
    const first = await create(key, { headers });
    const again = await create(key, { headers });
    assert.deepEqual([again.status, again.body], [200, first.body]);
    const { rows } = await sql<{ count: number }>`
      select count(*)::integer as count from organizations o join environments e on e.id = o.made_by_environment_id
       where e.organization_id = ${organization}`.execute(app.owner);
    assert.equal(rows[0]?.count, 1);
  });

  const pingStatus = async (key: string) => (await app.request('GET', '/utils/ping', undefined, { key })).status;
  async function freshOrganization() {
    const { id, testKey } = await app.newOrganization();
    return { organization: id, key: testKey };
  }
});
