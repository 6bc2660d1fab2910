import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { routesOfPeople } from '../../src/api/routes.ts';
import { createApp } from '../../src/app.ts';
import { createEncryption, keyBytes } from '../../src/jobs/encryption.ts';
import { runTask } from '../../src/jobs/queue.ts';
import type { Smtp } from '../../src/jobs/smtp.ts';
import { roles } from '../../src/kernel/permission.ts';
import { createFirstLink } from '../../src/people/actions.ts';
import { createSignIn } from '../../src/people/actions-sign-in.ts';
import { disableCodes } from '../../src/people/store.ts';
import { insertFixture } from '../support/fixtures.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { Browser, codeOf, fromBase32, linkFor, passwordOfAll, personWith } from '../support/people-fixture.ts';

const app = await startTestApp();
type SmtpMessage = Parameters<Smtp['send']>[0];
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
    const { rows } = await app.ownerPool.query('select role from people_memberships');
    assert.deepEqual(rows, [{ role: 'owner' }]);
    // Those who were too late are not known.
    const { rows: users } = await app.ownerPool.query('select from people_users');
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

  test('is named by what the ledger books for them, which the audit log does not repeat', async () => {
    const { browser, id } = await personWith(app, 'owner');
    const { subscriptionId, meterId: usageMeterId } = await insertFixture(app);
    const grant = { subscriptionId, usageMeterId, amount: 7, transactionId: 'by hand' };
    const { usageCredit } = await browser.expect('POST', '/usage-credits', { usageCredit: grant });
    await browser.expect('POST', `/usage-credits/${usageCredit.id}/take-back`, {});
    const usageEvent = { subscriptionId, usageMeterId, amount: 7, transactionId: 'by hand' };
    await browser.expect('POST', '/usage-events', { usageEvent });
    const { rows } = await app.ownerPool.query(
      'select type from ledger_transactions where user_id = $1 group by type order by type collate "C"',
      [id],
    );
    assert.deepEqual(
      rows.map(({ type }) => type),
      ['credit_grant_recognized', 'credit_taken_back_by_hand', 'usage_event_processed'],
    );
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
    await app.ownerPool.query(`update people_memberships set role = 'viewer' where user_id = $1`, [id]);
    assert.equal(await write(), 403);
    await app.ownerPool.query('delete from people_memberships where user_id = $1', [id]);
    assert.equal(await write(), 401);
    assert.equal((await browser.send('POST', '/auth/sign-out')).status, 200);
    assert.equal((await browser.send('GET', '/api/v1/me')).body.reason, 'signed_out');
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

describe('members', () => {
  test('are listed, get roles and leave; a key does none of it', async () => {
    const owner = await personWith(app, 'owner');
    const { id, email, browser } = await personWith(app, 'viewer');
    const { members } = await browser.expect('GET', '/members');
    const found = members.find((member: Body) => member.userId === id);
    assert.deepEqual([found.email, found.role, found.twoFactorEnabled], [email, 'viewer', false]);
    assert.equal((await browser.ask('PUT', `/members/${id}`, { member: { role: 'owner' } })).status, 403);
    const { member } = await owner.browser.expect('PUT', `/members/${id}`, { member: { role: 'billing' } });
    assert.equal(member.role, 'billing');
    await owner.browser.expect('DELETE', `/members/${id}`);
    assert.equal((await browser.ask('GET', '/members')).status, 401);
    const { data } = await app.get(`/audit-log?recordId=${id}`);
    assert.deepEqual(
      data.map(({ operation, before, after, actor, action }: Body) => [
        operation,
        before?.role,
        after?.role,
        actor.userId,
        action,
      ]),
      [
        ['delete', 'billing', undefined, owner.id, 'DELETE /members/{userId}'],
        ['update', 'viewer', 'billing', owner.id, 'PUT /members/{userId}'],
        ['insert', undefined, 'viewer', id, 'POST /auth/invitation/accept'],
      ],
    );
    const bodies: Readonly<Record<string, object>> = {
      'PUT /members/{userId}': { member: { role: 'owner' } },
      'POST /invitations': { invitation: { email: 'k@people.test', role: 'owner' } },
      'PUT /sign-in-provider': {
        signInProvider: {
          protocol: 'oidc',
          domain: 'k.test',
          issuer: 'https://idp.example.com',
          clientId: 'k',
          clientSecret: 'k',
        },
      },
    };
    for (const { method, path } of routesOfPeople) {
      const filled = path.replace('{userId}', id).replace('{id}', id.replace('user', 'invitation'));
      const answer = await app.request(method, filled, bodies[`${method} ${path}`]);
      assert.deepEqual([answer.status, answer.body.reason], [403, 'person_needed'], `${method} ${path}`);
    }
  });

  test('keep an owner: of two owners who step down or leave at the same time, one stays', async () => {
    for (const step of ['PUT', 'DELETE']) {
      await app.ownerPool.query(`delete from people_memberships where role <> 'owner'`);
      const pair = [await personWith(app, 'owner'), await personWith(app, 'owner')];
      await app.ownerPool.query(`update people_memberships set role = 'viewer' where user_id <> all ($1)`, [
        pair.map(({ id }) => id),
      ]);
      const answers = await Promise.all(
        pair.map(({ browser, id }) =>
          browser.ask(step, `/members/${id}`, step === 'PUT' ? { member: { role: 'viewer' } } : undefined),
        ),
      );
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
      assert(answers.some(({ body }) => body.reason === 'last_owner'));
    }
  });

  test('are invited by an owner with a link, which a later one for the same address replaces', async () => {
    const { browser } = await personWith(app, 'owner');
    const ask = () =>
      browser.expect('POST', '/invitations', { invitation: { email: 'New@People.test', role: 'support' } });
    const [first, second] = [await ask(), await ask()];
    assert.match(second.url, new RegExp(`^${app.url}/join/[\\w-]{32}$`));
    const { invitations } = await browser.expect('GET', '/invitations');
    assert.deepEqual(
      invitations.filter(({ email }: Body) => email === 'new@people.test'),
      [second.invitation],
    );
    const about = (url: string) => new Browser(app).send('GET', `/auth/invitation?token=${tokenOf(url)}`);
    assert.equal((await about(first.url)).status, 404);
    const { body } = await about(second.url);
    assert.deepEqual(body.invitation, {
      organization: { name: 'Acme' },
      role: 'support',
      email: 'new@people.test',
      expiresAt: second.invitation.expiresAt,
      isKnown: false,
    });
    await browser.expect('DELETE', `/invitations/${second.invitation.id}`);
    assert.equal((await about(second.url)).status, 404);
  });

  test('are invited by six requests at the same time, of which one link works', async () => {
    const { browser } = await personWith(app, 'owner');
    const invitation = { email: 'rush@people.test', role: 'viewer' };
    const made = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(() => browser.expect('POST', '/invitations', { invitation })),
    );
    const about = ({ url }: Body) => new Browser(app).send('GET', `/auth/invitation?token=${tokenOf(url)}`);
    const statuses = (await Promise.all(made.map(about))).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [200, 404, 404, 404, 404, 404]);
  });

  test('who join with a link while it is replaced are members, and nobody waits in a circle', async () => {
    const { browser } = await personWith(app, 'owner');
    const { token } = await linkFor(app, 'viewer', 'late@people.test');
    const other = await app.ownerPool.connect();
    await other.query('begin');
    await other.query('select from organizations where id = $1 for no key update', [app.id]);
    const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    const untilBlocked = async (asked: Promise<unknown>, count: number) => {
      let isDone = false;
      void asked.then(() => {
        isDone = true;
      });
      while (!isDone && (await app.ownerPool.query(waits)).rows.length < count) await sleep(10);
    };
    const person = { token, name: 'Late', password: passwordOfAll };
    const accepted = new Browser(app).send('POST', '/auth/invitation/accept', person);
    await untilBlocked(accepted, 1);
    const invitation = { email: 'late@people.test', role: 'viewer' };
    const invited = browser.ask('POST', '/invitations', { invitation });
    await untilBlocked(invited, 2);
    // After a second PostgreSQL looks for a deadlock, and finds none yet.
    await sleep(1100);
    await other.query('commit');
    other.release();
    assert.deepEqual([(await accepted).status, (await invited).status], [200, 409]);
  });

  test('of another organization join with the account that they have, and nobody else in their place', async () => {
    const { browser, email, id } = await personWith(app, 'viewer');
    const other = await app.newOrganization();
    const { token } = await linkFor({ ...app, id: other.id }, 'owner', email);
    const stranger = await personWith(app, 'viewer');
    const accept = (who: Browser) =>
      who.send('POST', '/auth/invitation/accept', { token, name: 'Mallory', password: 'mallory mallory' });
    assert.deepEqual(
      [(await accept(stranger.browser)).body.code, (await accept(new Browser(app))).body.code],
      ['SIGN_IN_FIRST', 'SIGN_IN_FIRST'],
    );
    assert.equal((await accept(browser)).body.user.id, id);
    const { body } = await browser.send('GET', '/api/v1/me');
    assert.deepEqual(body.me.memberships.map(({ role }: Body) => role).sort(), ['owner', 'viewer']);
    assert.equal((await browser.signIn(email)).status, 200);
  });
});

test('somebody with an authenticator signs in with a code, and without one has no session', async () => {
  const { browser, email, id } = await personWith(app, 'viewer');
  const enabled = await browser.send('POST', '/auth/two-factor/enable', { password: passwordOfAll });
  assert.equal(enabled.status, 200, JSON.stringify(enabled.body));
  const secret = new URL(enabled.body.totpURI).searchParams.get('secret') ?? '';
  const code = () => codeOf(secret);
  assert.equal((await browser.send('POST', '/auth/two-factor/verify-totp', { code: await code() })).status, 200);
  const again = new Browser(app);
  const first = await again.signIn(email);
  assert.equal(first.body.twoFactorRedirect, true, JSON.stringify(first.body));
  assert.equal((await again.send('GET', '/api/v1/me')).status, 401);
  assert.equal((await again.send('POST', '/auth/two-factor/verify-totp', { code: '000000' })).status, 401);
  assert.equal((await again.send('POST', '/auth/two-factor/verify-totp', { code: await code() })).status, 200);
  assert.equal((await again.send('GET', '/api/v1/me')).body.me.user.email, email);
  // The database does not have the secret in clear text.
  const { rows } = await app.ownerPool.query('select secret from people_two_factors');
  assert(!JSON.stringify(rows).includes(fromBase32(secret)));
  // Whoever has lost the authenticator is helped by the operator.
  assert.deepEqual(
    [await disableCodes(app.owner, email), await disableCodes(app.owner, 'x@people.test')],
    [true, false],
  );
  const without = new Browser(app);
  await without.signIn(email);
  assert.equal((await without.send('GET', '/api/v1/me')).body.me.user.email, email);
  assert.deepEqual(await changesOf(id), [
    { before: { twoFactorEnabled: true }, after: { twoFactorEnabled: false } },
    { before: { twoFactorEnabled: false }, after: { twoFactorEnabled: true } },
  ]);
});

/** The changes of how a member signs in, which the person made, as the audit log has them. */
async function changesOf(userId: string): Promise<Body[]> {
  const { data } = await app.get(`/audit-log?recordId=${userId}&record=member&order=desc`);
  const changes = data.filter(({ operation }: Body) => operation === 'update');
  for (const { actor } of changes) assert.deepEqual(actor, { type: 'user', apiKeyId: null, userId });
  return changes.map(({ before, after }: Body) => ({ before, after }));
}

test('sessions are listed, and one that is revoked elsewhere ends at once', async () => {
  const { browser, email } = await personWith(app, 'viewer');
  const lost = new Browser(app);
  await lost.signIn(email);
  const { body: sessions } = await browser.send('GET', '/auth/list-sessions');
  assert.equal(sessions.length, 2);
  const { body: theirs } = await lost.send('GET', '/auth/get-session');
  assert.equal((await browser.send('POST', '/auth/revoke-session', { token: theirs.session.token })).status, 200);
  assert.equal((await lost.ask('GET', '/customers')).status, 401);
  assert.equal((await browser.ask('GET', '/customers')).status, 200);
});

test('a link of the operator sets a new password once, and ends all sessions', async () => {
  const { browser, email, id } = await personWith(app, 'viewer');
  const encryption = createEncryption([Buffer.alloc(keyBytes, 2)]);
  const operator = createSignIn({ worker: app.owner, encryption, log: () => undefined });
  const token = await operator.resetToken(app.url, email);
  assert(token);
  assert.equal(await operator.resetToken(app.url, 'nobody@people.test'), null);
  const reset = (newPassword: string) => new Browser(app).send('POST', '/auth/reset-password', { token, newPassword });
  assert.equal((await reset('another sentence')).status, 200);
  assert.equal((await reset('one more sentence')).status, 400);
  assert.equal((await browser.send('GET', '/api/v1/me')).status, 401);
  assert.equal((await browser.signIn(email)).status, 401);
  assert.equal((await browser.signIn(email, 'another sentence')).status, 200);
  const unseen = { password: '(secret)' };
  assert.deepEqual(await changesOf(id), [{ before: unseen, after: unseen }]);
  // Nobody else can ask for such a link.
  assert.equal((await browser.send('POST', '/auth/request-password-reset', { email })).status, 400);
});

test('nobody makes an account without a link', async () => {
  const answer = await new Browser(app).send('POST', '/auth/sign-up/email', {
    email: 'self@people.test',
    name: 'Self',
    password: passwordOfAll,
  });
  assert.equal(answer.status, 400, JSON.stringify(answer.body));
});

test('a text that cannot be stored is the mistake of whoever sends it', async () => {
  const { browser } = await personWith(app, 'viewer');
  const { token } = await linkFor(app, 'viewer', 'nul@people.test');
  const status = async (path: string, body?: unknown) =>
    (await browser.send(body === undefined ? 'GET' : 'POST', path, body)).status;
  assert.deepEqual(
    [
      await status('/auth/invitation/accept', { token, name: 'a\0b', password: passwordOfAll }),
      await status('/auth/company/start', { organizationId: 'a\0b' }),
      await status('/auth/company/verify-domain', { organizationId: 'a\0b' }),
      await status('/auth/reset-password', { token: 'a\0b', newPassword: passwordOfAll }),
      await status('/auth/reset-password/a%00b?callbackURL=/'),
      await status('/auth/revoke-session', { token: 'a\0b' }),
      await status('/auth/update-user', { name: 'a\0b' }),
      await status('/auth/update-user', { name: 'a'.repeat(256) }),
      await status('/auth/update-user', { name: ' ' }),
      await status('/auth/update-user', { name: 5 }),
      await status('/auth/update-user', { image: 'a'.repeat(2049) }),
      await status('/auth/update-user', { name: 'A new name' }),
    ],
    [400, 400, 400, 400, 400, 400, 400, 400, 400, 400, 400, 200],
  );
});

test('ten wrong passwords in a row lock out the eleventh try, also with the right one and from other addresses', async () => {
  const { email } = await personWith(app, 'viewer');
  const statuses: number[] = [];
  for (let each = 0; each < 12; each++) {
    // The address has a limit of its own, which the test takes away.
    await app.ownerPool.query(`delete from people_rate_limits where key like '%|/sign-in/email'`);
    statuses.push((await new Browser(app).signIn(email, each < 10 ? 'wrong password' : passwordOfAll)).status);
  }
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429, 429]);
});

test('tries of a password are counted by all processes together', async () => {
  const { email } = await personWith(app, 'viewer');
  const { database, owner, services } = app;
  const second = await createApp({ database, people: owner, services, migrated: async () => true });
  const address = await second.listen({ host: '127.0.0.1', port: 0 });
  const statuses: number[] = [];
  for (let each = 0; each < 11; each++) {
    await app.ownerPool.query(`delete from people_rate_limits where key like '%|/sign-in/email'`);
    const browser = new Browser({ ...app, url: each % 2 === 0 ? app.url : address });
    statuses.push((await browser.signIn(email, each < 10 ? 'wrong password' : passwordOfAll)).status);
  }
  // The address of the network has three tries in ten seconds, wherever it asks.
  const codes = await Promise.all(
    [app.url, address, app.url, address].map(async (url) => {
      const answer = await new Browser({ ...app, url }).signIn('nobody@people.test', 'wrong password');
      return answer.status;
    }),
  );
  await second.close();
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 401), 429]);
  assert(codes.includes(429), String(codes));
});

test('no other page signs somebody in or out, or changes how they sign in', async () => {
  const { browser, email } = await personWith(app, 'viewer');
  const elsewhere: readonly Record<string, string>[] = [
    { origin: 'https://evil.test' },
    { origin: 'null' },
    { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
  ];
  const changes: readonly [path: string, body: object][] = [
    ['/auth/sign-out', {}],
    ['/auth/sign-in/email', { email, password: passwordOfAll }],
    ['/auth/change-password', { currentPassword: passwordOfAll, newPassword: 'another sentence' }],
    ['/auth/revoke-sessions', {}],
    ['/auth/two-factor/enable', { password: passwordOfAll }],
    ['/auth/company/start', { organizationId: app.id }],
    ['/auth/company/verify-domain', { organizationId: app.id }],
  ];
  for (const headers of elsewhere)
    for (const [path, body] of changes)
      assert.equal((await browser.send('POST', path, body, headers)).status, 403, `${path} ${JSON.stringify(headers)}`);
  await app.ownerPool.query(`delete from people_rate_limits where key like '%|/sign-in/email'`);
  // Without a cookie a form would sign the visitor in as somebody else.
  const stranger = await new Browser(app).send(
    'POST',
    '/auth/sign-in/email',
    { email, password: passwordOfAll },
    elsewhere[2],
  );
  assert.equal(stranger.status, 403);
  assert.equal((await browser.send('GET', '/api/v1/me')).status, 200);
  assert.equal((await browser.signIn(email)).status, 200);
});

test('no answer is shown in the frame of another page', async () => {
  for (const path of ['/auth/get-session', '/auth/nothing', '/docs']) {
    const { headers } = await new Browser(app).send('GET', path);
    assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, path);
  }
});

test('an invitation is sent by email, with a link that no job shows, while it is open', async () => {
  const { browser } = await personWith(app, 'owner');
  const sent: SmtpMessage[] = [];
  const smtp = {
    send: async (message: SmtpMessage) => {
      sent.push(message);
      return { kind: 'sent' as const };
    },
    close: () => undefined,
  };
  const services = { ...app.services, mail: { smtp, publicUrl: app.url } };
  const invite = async (email: string) => {
    const { url, mailed, invitation } = await browser.expect('POST', '/invitations', {
      invitation: { email, role: 'billing' },
    });
    const { rows } = await app.ownerPool.query(
      `select payload from _private_jobs where payload->>'invitationId' = $1`,
      [invitation.id],
    );
    assert.deepEqual([mailed, rows.length, JSON.stringify(rows).includes(tokenOf(url))], [true, 1, false]);
    const run = () =>
      runTask({ database: app.database, tasks: app.tasks, services }, 'send_invitation', rows[0].payload);
    return { url, invitation, run };
  };
  const first = await invite('mailed@people.test');
  await first.run();
  const [message] = sent;
  assert.deepEqual([message?.recipients, message?.subject], [['mailed@people.test'], 'Join Acme']);
  assert.equal(message?.text.includes(first.url), true);
  assert.match(message?.text ?? '', /with the role billing/);
  // Another one takes its place, and a withdrawn one is not sent.
  const second = await invite('mailed@people.test');
  await first.run();
  await browser.expect('DELETE', `/invitations/${second.invitation.id}`);
  await second.run();
  assert.equal(sent.length, 1);
});

test('sessions, states of sign-ins and invitations that have ended are deleted, and others stay', async () => {
  const { browser, email } = await personWith(app, 'viewer');
  const ended = new Browser(app);
  await ended.signIn(email);
  const { session } = (await ended.send('GET', '/auth/get-session')).body;
  await app.ownerPool.query(`update people_sessions set expires_at = now() - interval '1 minute' where id = $1`, [
    session.id,
  ]);
  const { token } = await linkFor(app, 'viewer', 'stays@people.test');
  await linkFor(app, 'viewer', 'ended@people.test', Date.now() - 1);
  await app.ownerPool.query(
    `insert into people_verifications (id, identifier, value, expires_at)
     values ('ended', 'x', 'x', now() - interval '1 second'), ('open', 'x', 'x', now() + interval '1 hour')`,
  );
  await app.ownerPool.query(
    `insert into people_rate_limits (id, key, count, last_request) values ('old', 'old', 1, 0)`,
  );
  await runTask({ database: app.database, tasks: app.tasks, services: app.services }, 'forget_sign_ins', {});
  const { rows } = await app.ownerPool.query(
    `select id from people_sessions where id = $1
     union all select id from people_verifications where id in ('ended', 'open')
     union all select email from people_invitations where email in ('stays@people.test', 'ended@people.test')
     union all select id from people_rate_limits where id = 'old'`,
    [session.id],
  );
  assert.deepEqual(rows.map(({ id }) => id).sort(), ['open', 'stays@people.test']);
  assert.equal((await browser.ask('GET', '/customers')).status, 200);
  assert.equal((await new Browser(app).send('GET', `/auth/invitation?token=${token}`)).status, 200);
});
