import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { roles } from '../../src/kernel/permission.ts';
import { createFirstLink } from '../../src/people/actions-links.ts';
import { startTestApp } from '../support/harness.ts';
import { Browser, linkFor, passwordOfAll, personWith } from '../support/people-fixture.ts';

const app = await startTestApp();
const tokenOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

describe('the link of the first start', () => {
  test('makes one owner: of five people who use it or another one at the same time, one is in', async () => {
    const links = [await createFirstLink(app.owner, Date.now()), await createFirstLink(app.owner, Date.now())];
    assert(links[0] && links[1]);
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map((each) =>
        new Browser(app).send('POST', '/auth/invitation/accept', {
          token: tokenOf(links[each % 2] ?? ''),
          email: `first${each}@people.test`,
          name: 'First',
          password: passwordOfAll,
        }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404, 404, 404]);
    const { rows } = await app.ownerPool.query('select role from people.memberships');
    assert.deepEqual(rows, [{ role: 'owner' }]);
    // Those who were too late are not known.
    const { rows: users } = await app.ownerPool.query('select from people.users');
    assert.equal(users.length, 1);
    assert.equal(await createFirstLink(app.owner, Date.now()), null);
  });
});

describe('somebody who is signed in', () => {
  test('is told who they are, and where they may do what', async () => {
    const { browser, email, id } = await personWith(app, 'support');
    const { body } = await browser.send('GET', '/api/v1/me');
    assert.deepEqual(body.me, {
      user: { id, name: 'The support', email },
      memberships: [
        {
          organization: { id: app.id, name: 'Acme' },
          role: 'support',
          permissions: roles.support,
          environments: [
            { id: String(app.testEnvironmentId), livemode: false },
            { id: String(app.liveEnvironmentId), livemode: true },
          ],
        },
      ],
    });
  });

  test('asks in an environment of their organization, and in no other', async () => {
    const { browser } = await personWith(app, 'viewer');
    const other = await app.newOrganization();
    const inEnvironment = async (id: number | string) =>
      (await browser.ask('GET', '/customers', undefined, { 'x-tollkeeper-environment': String(id) })).status;
    assert.deepEqual(
      [
        await inEnvironment(app.testEnvironmentId),
        await inEnvironment(app.liveEnvironmentId),
        await inEnvironment(other.testEnvironmentId),
        await inEnvironment(999_999_999),
        await inEnvironment('1 or 1=1'),
      ],
      [200, 200, 401, 401, 400],
    );
  });

  test('is named by the audit log', async () => {
    const { browser, id } = await personWith(app, 'owner');
    const { product } = await browser
      .expect('POST', '/pricing-models', { pricingModel: { name: 'By hand' } })
      .then(({ pricingModel }) => ({ product: pricingModel }));
    const { data } = await app.get(`/audit-log?recordId=${product.id}`);
    assert.deepEqual(data[0].actor, { type: 'user', apiKeyId: null, userId: id });
    const { data: found } = await app.get(`/audit-log?userId=${id}`);
    assert(found.length > 0);
  });

  test('changes something only from our own page', async () => {
    const { browser } = await personWith(app, 'owner');
    const change = async (headers: Record<string, string>) => {
      const { status, body } = await browser.ask('POST', '/pricing-models', { pricingModel: { name: 'F' } }, headers);
      return status === 200 ? 200 : body.reason;
    };
    const refused = 'change_from_elsewhere';
    assert.deepEqual(
      [
        await change({}),
        await change({ 'sec-fetch-site': 'same-origin' }),
        await change({ origin: 'https://evil.test' }),
        await change({ origin: 'null' }),
        await change({ 'sec-fetch-site': 'cross-site' }),
        await change({ 'x-tollkeeper-request': 'x' }),
      ],
      [200, 200, refused, refused, refused, refused],
    );
  });

  test('has a cookie that no script reads, and a new one at each sign-in', async () => {
    const { browser, email } = await personWith(app, 'viewer');
    const planted = browser.cookies.get('tollkeeper.session_token') ?? '';
    const again = new Browser(app);
    again.cookies.set('tollkeeper.session_token', planted);
    const answer = await again.signIn(email);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.notEqual(again.cookies.get('tollkeeper.session_token'), planted);
    const [cookie = ''] = answer.headers.getSetCookie();
    assert.match(cookie, /HttpOnly/i);
    assert.match(cookie, /SameSite=Lax/i);
    // A token without its signature is no cookie.
    again.cookies.set('tollkeeper.session_token', decodeURIComponent(planted).split('.')[0] ?? '');
    assert.equal((await again.ask('GET', '/customers')).status, 401);
  });

  test('is out with their next request after the session was revoked, the role changed or they were removed', async () => {
    const { browser, id } = await personWith(app, 'developer');
    const write = async () => (await browser.ask('POST', '/pricing-models', { pricingModel: { name: 'D' } })).status;
    assert.equal(await write(), 200);
    await app.ownerPool.query(`update people.memberships set role = 'viewer' where user_id = $1`, [id]);
    assert.equal(await write(), 403);
    await app.ownerPool.query('delete from people.memberships where user_id = $1', [id]);
    assert.equal(await write(), 401);
    assert.equal((await browser.send('POST', '/auth/sign-out')).status, 200);
    assert.equal((await browser.send('GET', '/api/v1/me')).status, 401);
  });
});

describe('an invitation', () => {
  test('is used once', async () => {
    const { token } = await linkFor(app, 'viewer', 'once@people.test');
    const accept = () => ({ token, name: 'Once', password: passwordOfAll });
    const statuses = await Promise.all(
      [1, 2, 3].map(async () => (await new Browser(app).send('POST', '/auth/invitation/accept', accept())).status),
    );
    assert.deepEqual(statuses.sort(), [200, 401, 401]);
    assert.equal((await new Browser(app).send('GET', `/auth/invitation?token=${token}`)).status, 404);
  });

  test('does not work after its expiry', async () => {
    const { token } = await linkFor(app, 'viewer', 'late@people.test', Date.now() - 1);
    const answer = await new Browser(app).send('POST', '/auth/invitation/accept', {
      token,
      name: 'Late',
      password: passwordOfAll,
    });
    assert.equal(answer.status, 404);
  });
});

test('nobody makes an account without a link', async () => {
  const answer = await new Browser(app).send('POST', '/auth/sign-up/email', {
    email: 'self@people.test',
    name: 'Self',
    password: passwordOfAll,
  });
  assert.equal(answer.status, 400, JSON.stringify(answer.body));
});

test('ten wrong passwords in a row lock out the eleventh try, also with the right one and from other addresses', async () => {
  const { email } = await personWith(app, 'viewer');
  const statuses: number[] = [];
  for (let each = 0; each < 12; each++) {
    // The address has a limit of its own, which the test takes away.
    await app.ownerPool.query(`delete from people.rate_limits where key like '%|/sign-in/email'`);
    statuses.push((await new Browser(app).signIn(email, each < 10 ? 'wrong password' : passwordOfAll)).status);
  }
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429, 429]);
});
