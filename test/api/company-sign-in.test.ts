import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createOutbound } from '../../src/jobs/outbound.ts';
import {
  answerSaml,
  clientSecret,
  dnsTexts,
  reachingServices,
  samlProvider,
  startOidcProvider,
} from '../support/company-fixture.ts';
import { type Answer, type Body, startTestApp, testWebhookServices } from '../support/harness.ts';
import { certificate } from '../support/outbound-certificate.ts';
import { Browser, linkFor, passwordOfAll, personWith } from '../support/people-fixture.ts';

const app = await startTestApp({ services: { webhooks: reachingServices() } });
const owner = await personWith(app, 'owner');
const { addresses } = await owner.browser.expect('GET', '/sign-in-provider');
const idp = await startOidcProvider([addresses.redirectUri]);
const oidcProvider = {
  protocol: 'oidc',
  domain: 'acme.test',
  issuer: idp.issuer,
  clientId: 'tollkeeper',
  clientSecret,
};

const register = (signInProvider: object) => owner.browser.expect('PUT', '/sign-in-provider', { signInProvider });

/** Begins a sign-in, and returns the address to which the page goes. */
async function start(browser: Browser, body: object = { organizationId: app.id }): Promise<Answer> {
  await app.ownerPool.query(`delete from people_rate_limits where key not like 'password %'`);
  return browser.send('POST', '/auth/company/start', body);
}

/** The reason with which the sign-in page opens; null if the home page does. */
function reasonOf({ status, headers }: Answer): string | null {
  assert.equal(status, 302);
  const { origin, pathname, searchParams } = new URL(headers.get('location') ?? '');
  assert.equal(origin, app.url);
  assert.equal(pathname, searchParams.has('error') ? '/sign-in' : '/');
  return searchParams.get('error');
}

/** Signs in at the page of the provider. Returns the address to which it leads the browser back. */
async function atProvider(url: string, subject: string): Promise<string> {
  const visitor = new Browser(app);
  visitor.origin = idp.issuer;
  const { headers } = await visitor.send('GET', url);
  const page = new URL(headers.get('location') ?? '', idp.issuer).href;
  const form = new URLSearchParams({ prompt: 'login', login: subject, password: 'x' });
  const submitted = await visitor.send('POST', page, form);
  const resumed = await visitor.send('GET', new URL(submitted.headers.get('location') ?? '', idp.issuer).href);
  return resumed.headers.get('location') ?? '';
}

/** A whole sign-in with OpenID Connect. */
async function signInAs(subject: string, browser = new Browser(app)) {
  const { body } = await start(browser);
  const reason = reasonOf(await browser.send('GET', await atProvider(body.url, subject)));
  return { browser, reason };
}

const idOfOther = async () => (await app.newOrganization()).id;

describe('a member whom the provider of their organization vouches for', () => {
  test('is signed in there, and in no other organization', async () => {
    await register(oidcProvider);
    const { email, browser: own } = await personWith(app, 'viewer');
    const other = await app.newOrganization();
    const { token } = await linkFor({ ...app, id: other.id }, 'owner', email);
    assert.equal((await own.send('POST', '/auth/invitation/accept', { token })).status, 200);
    idp.people.set('vera', { email, email_verified: true });
    const { browser, reason } = await signInAs('vera');
    assert.equal(reason, null);
    const { me } = (await browser.send('GET', '/api/v1/me')).body;
    assert.deepEqual([me.user.email, me.memberships.map((each: Body) => each.organization.id)], [email, [app.id]]);
    assert.equal((await browser.ask('GET', '/customers')).status, 200);
    const there = { 'x-tollkeeper-environment': String(other.testEnvironmentId) };
    assert.equal((await browser.ask('GET', '/customers', undefined, there)).status, 401);
    assert.equal((await own.ask('GET', '/customers', undefined, there)).status, 200);
  });

  test('does not change how they sign in, or join elsewhere: the owner of the provider would be in their place', async () => {
    const { email } = await personWith(app, 'viewer');
    const { token } = await linkFor({ ...app, id: await idOfOther() }, 'owner', email);
    idp.people.set('paul', { email, email_verified: true });
    const { browser } = await signInAs('paul');
    const attempts: readonly [method: string, path: string, body?: object][] = [
      ['GET', '/auth/passkey/generate-register-options'],
      ['POST', '/auth/passkey/verify-registration', { response: {} }],
      ['POST', '/auth/two-factor/enable', { password: passwordOfAll }],
      ['POST', '/auth/two-factor/disable', { password: passwordOfAll }],
      ['POST', '/auth/change-password', { currentPassword: passwordOfAll, newPassword: 'another sentence' }],
      ['POST', '/auth/update-user', { name: 'Another' }],
      ['GET', '/auth/list-sessions'],
      ['POST', '/auth/revoke-other-sessions', {}],
      ['POST', '/auth/invitation/accept', { token }],
    ];
    for (const [method, path, body] of attempts) {
      const answer = await browser.send(method, path, body);
      assert.deepEqual([answer.status, answer.body.code], [403, 'SIGNED_IN_BY_PROVIDER'], path);
    }
    assert.equal((await browser.signIn(email)).status, 200);
    assert.equal((await browser.send('GET', '/auth/list-sessions')).status, 200);
    assert.equal((await browser.send('POST', '/auth/sign-out')).status, 200);
  });

  test('is the same person at the next sign-in, also with another address; another subject is not', async () => {
    const { email, id } = await personWith(app, 'viewer');
    idp.people.set('sam', { email, email_verified: true });
    assert.equal((await signInAs('sam')).reason, null);
    idp.people.set('sam', { email: 'married@acme.test', email_verified: false });
    const { browser } = await signInAs('sam');
    assert.equal((await browser.send('GET', '/api/v1/me')).body.me.user.id, id);
    idp.people.set('sam2', { email, email_verified: true });
    assert.equal((await signInAs('sam2')).reason, 'known_by_another_name');
  });

  test('is out when the provider is changed or removed, or they are; the same provider again changes nothing', async () => {
    const { email, id } = await personWith(app, 'viewer');
    idp.people.set('rita', { email, email_verified: true });
    const status = async (browser: Browser) => (await browser.send('GET', '/api/v1/me')).status;
    const before = await signInAs('rita');
    const { signInProvider: same } = await register(oidcProvider);
    assert.equal(await status(before.browser), 200);
    const { signInProvider: changed } = await register({ ...oidcProvider, domain: 'acme2.test' });
    assert.notEqual(changed.id, same.id);
    assert.equal(await status(before.browser), 401);
    const after = await signInAs('rita');
    // Somebody is on the way to the provider while it is removed.
    const late = new Browser(app);
    const { body } = await start(late);
    const answer = await atProvider(body.url, 'rita');
    assert.equal((await owner.browser.expect('DELETE', '/sign-in-provider')).signInProvider, null);
    assert.equal(await status(after.browser), 401);
    assert.equal(reasonOf(await late.send('GET', answer)), 'sign_in_expired');
    assert.equal((await start(late)).status, 404);
    await register(oidcProvider);
    const again = await signInAs('rita');
    await app.ownerPool.query('delete from people_memberships where user_id = $1', [id]);
    assert.equal((await again.browser.ask('GET', '/customers')).status, 401);
    assert.equal((await signInAs('rita')).reason, 'not_a_member');
  });
});

describe('a provider vouches in vain', () => {
  const refusals: readonly [claim: string, reason: string, email: () => Promise<string>, isVerified?: boolean][] = [
    ['for an owner of another organization', 'not_a_member', async () => otherOwner()],
    [
      'for an owner of another organization whom it has invited',
      'accept_the_invitation_first',
      async () => {
        const email = await otherOwner();
        await linkFor(app, 'viewer', email);
        return email;
      },
    ],
    ['for somebody who was not invited', 'not_a_member', async () => 'nobody@acme.test'],
    ['for a member whose address it has not verified', 'email_not_verified', async () => owner.email, false],
  ];

  /** Somebody who belongs to another organization only. */
  async function otherOwner(): Promise<string> {
    const { email, id } = await personWith(app, 'viewer');
    const { token } = await linkFor({ ...app, id: await idOfOther() }, 'owner', email);
    const browser = new Browser(app);
    await browser.signIn(email);
    assert.equal((await browser.send('POST', '/auth/invitation/accept', { token })).status, 200);
    await app.ownerPool.query('delete from people_memberships where user_id = $1 and organization_id = $2', [
      id,
      app.id,
    ]);
    return email;
  }

  for (const [claim, expected, emailOf, isVerified = true] of refusals)
    test(claim, async () => {
      await register(oidcProvider);
      idp.people.set(claim, { email: await emailOf(), email_verified: isVerified });
      const { browser, reason } = await signInAs(claim);
      assert.equal(reason, expected);
      assert.equal((await browser.send('GET', '/api/v1/me')).status, 401);
    });
});

test('somebody new who was invited joins with the role of the invitation, and has no password', async () => {
  await register(oidcProvider);
  await linkFor(app, 'billing', 'new@acme.test');
  idp.people.set('new', { email: 'New@acme.test', email_verified: true, name: 'Nina New' });
  const { browser, reason } = await signInAs('new');
  assert.equal(reason, null);
  const { me } = (await browser.send('GET', '/api/v1/me')).body;
  assert.deepEqual([me.user.name, me.user.email, me.memberships[0].role], ['Nina New', 'new@acme.test', 'billing']);
  assert.equal((await new Browser(app).signIn('new@acme.test', '')).status, 401);
  const { data } = await app.get(`/audit-log?recordId=${me.user.id}`);
  assert.deepEqual(data[0].after.role, 'billing');
});

describe('the answer of a provider for OpenID Connect', () => {
  /** A browser that was led back, and the address to which it was. */
  async function answered(change: (attempt: Body) => object = (attempt) => attempt) {
    await register(oidcProvider);
    idp.people.set('olga', { email: owner.email, email_verified: true });
    const browser = new Browser(app);
    const { body } = await start(browser);
    const { rows } = await app.ownerPool.query(
      `select id, value from people_verifications where identifier like 'company-attempt %' order by created_at desc limit 1`,
    );
    await app.ownerPool.query('update people_verifications set value = $2 where id = $1', [
      rows[0].id,
      JSON.stringify(change(JSON.parse(rows[0].value))),
    ]);
    return { browser, answer: await atProvider(body.url, 'olga'), url: new URL(body.url) };
  }

  test('counts once', async () => {
    const { browser, answer, url } = await answered();
    assert.equal(url.searchParams.get('code_challenge_method'), 'S256');
    assert(url.searchParams.get('nonce') && url.searchParams.get('state'));
    const state = new Map(browser.cookies);
    assert.equal(reasonOf(await browser.send('GET', answer)), null);
    const again = new Browser(app);
    for (const [name, value] of state) again.cookies.set(name, value);
    assert.equal(reasonOf(await again.send('GET', answer)), 'sign_in_expired');
  });

  test('counts in the browser only that asked for it', async () => {
    const { answer } = await answered();
    assert.equal(reasonOf(await new Browser(app).send('GET', answer)), 'sign_in_expired');
    const { browser: other } = await answered();
    assert.equal(reasonOf(await other.send('GET', answer)), 'provider_failed');
  });

  test('is refused with another nonce, code verifier, organization or issuer', async () => {
    const reason = async (change?: (attempt: Body) => object, from = '', to = '') => {
      const { browser, answer } = await answered(change);
      return reasonOf(await browser.send('GET', answer.replace(from, to)));
    };
    assert.equal(await reason(), null);
    assert.equal(await reason((attempt) => ({ ...attempt, nonce: 'another' })), 'provider_failed');
    assert.equal(await reason((attempt) => ({ ...attempt, codeVerifier: 'x'.repeat(43) })), 'provider_failed');
    assert.equal(await reason(undefined, app.id, await idOfOther()), 'sign_in_expired');
    assert.equal(await reason(undefined, 'iss=', 'iss=x'), 'provider_failed');
    assert.equal(await reason(undefined, 'state=', 'state=x'), 'provider_failed');
  });
});

describe('a provider for SAML', () => {
  /** What the browser of the page of the provider posts, and what comes of it. */
  async function signInBy(
    answer: { wrong?: Readonly<Record<string, string>>; algorithm?: string } = {},
    change: (response: string) => string = (response) => response,
  ) {
    await register({ ...samlProvider, domain: 'acme.test' });
    const browser = new Browser(app);
    const { body } = await start(browser);
    const given = await answerSaml(body.url, addresses, { subject: 'S-1', email: owner.email, ...answer });
    const xml = change(Buffer.from(given.SAMLResponse, 'base64').toString());
    const fields = { ...given, SAMLResponse: Buffer.from(xml).toString('base64') };
    const posted = await post(fields);
    return { browser, fields, posted, led: posted.headers.get('location') ?? '' };
  }

  /** The post comes from the page of the provider, so it has no cookie. */
  const post = (fields: Record<string, string>) => {
    const page = new Browser(app);
    page.origin = 'https://idp.example.test';
    return page.send('POST', addresses.assertionConsumer, new URLSearchParams(fields), {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
    });
  };

  test('signs in a member, in the browser that asked', async () => {
    const { browser, led } = await signInBy();
    assert.equal(reasonOf(await new Browser(app).send('GET', led)), 'sign_in_expired');
    const next = await signInBy();
    assert.equal(reasonOf(await next.browser.send('GET', next.led)), null);
    const { me } = (await next.browser.send('GET', '/api/v1/me')).body;
    assert.deepEqual([me.user.email, me.memberships.length], [owner.email, 1]);
    assert.equal(reasonOf(await browser.send('GET', led)), 'sign_in_expired');
  });

  test('is not heard again with an assertion that was used', async () => {
    const { browser, fields, led } = await signInBy();
    assert.equal(reasonOf(await post(fields)), 'sign_in_expired');
    // Nor for another request, which was not answered yet.
    const { body } = await start(browser);
    const RelayState = new URL(body.url).searchParams.get('RelayState') ?? '';
    assert.equal(reasonOf(await post({ ...fields, RelayState })), 'provider_failed');
    assert(led.includes('/finish?ticket='));
  });

  const past = new Date(Date.now() - 3_600_000).toISOString();
  const wrongs: readonly [claim: string, wrong: Readonly<Record<string, string>>][] = [
    ['for another audience', { Audience: 'https://another.example.test' }],
    ['for another address', { SubjectRecipient: 'https://another.example.test/acs' }],
    ['for another request', { InResponseTo: '_another' }],
    ['of another issuer', { Issuer: 'https://another.example.test' }],
    ['that has expired', { ConditionsNotOnOrAfter: past, SubjectConfirmationDataNotOnOrAfter: past }],
    ['that is an hour old', { IssueInstant: past }],
    ['with a name that changes', { NameIDFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' }],
  ];
  for (const [claim, wrong] of wrongs)
    test(`is refused with an assertion ${claim}`, async () => {
      assert.equal(reasonOf((await signInBy({ wrong })).posted), 'provider_failed');
    });

  test('is refused with an assertion that was altered, is not signed, or is signed with another key', async () => {
    const reason = async (change: (response: string) => string) => reasonOf((await signInBy({}, change)).posted);
    assert.equal(await reason((xml) => xml.replaceAll(owner.email, 'eve@people.test')), 'provider_failed');
    assert.equal(await reason((xml) => xml.replace(/<ds:Signature.*<\/ds:Signature>/s, '')), 'provider_failed');
    const weak = await signInBy({ algorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' });
    assert.equal(reasonOf(weak.posted), 'provider_failed');
    // The signed assertion stands beside another one.
    const twice = (xml: string) =>
      xml.replace(/<saml:Assertion.*<\/saml:Assertion>/s, (signed) => {
        const forged = signed
          .replace(/<ds:Signature.*<\/ds:Signature>/s, '')
          .replaceAll(owner.email, 'eve@people.test');
        return forged.replace(/ID="_assertion\d+"/, 'ID="_forged"') + signed;
      });
    assert.equal(await reason(twice), 'provider_failed');
    await register({ ...samlProvider, domain: 'acme.test', certificate: certificate.cert });
    const { body } = await start(new Browser(app));
    const fields = await answerSaml(body.url, addresses, { subject: 'S-1', email: owner.email });
    assert.equal(reasonOf(await post(fields)), 'provider_failed');
  });
});

describe('the provider of an organization', () => {
  test('is set by an owner, shown to members without its secret, and noted in the audit log', async () => {
    const { signInProvider } = await register(oidcProvider);
    const { browser } = await personWith(app, 'developer');
    const seen = await browser.expect('GET', '/sign-in-provider');
    assert.deepEqual(seen.signInProvider, signInProvider);
    assert.equal((await browser.ask('PUT', '/sign-in-provider', { signInProvider: oidcProvider })).status, 403);
    const { rows } = await app.ownerPool.query('select * from people_sign_in_providers');
    const { data: log } = await app.get('/audit-log?record=signInProvider');
    assert.equal(log[0].actor.userId, owner.id);
    for (const text of [seen, rows, log]) assert(!JSON.stringify(text).includes(clientSecret));
    assert(!JSON.stringify([seen, log]).includes(rows[0].sealed_client_secret));
  });

  test('keeps its secret with the same issuer and client, and needs it with others', async () => {
    await register(oidcProvider);
    const { clientSecret: _, ...withoutSecret } = oidcProvider;
    await register({ ...withoutSecret, domain: 'other.acme.test' });
    const { email } = await personWith(app, 'viewer');
    idp.people.set('kept', { email, email_verified: true });
    assert.equal((await signInAs('kept')).reason, null);
    for (const change of [{ issuer: 'https://evil.example.com' }, { clientId: 'another' }]) {
      const signInProvider = { ...withoutSecret, ...change };
      const { status, body } = await owner.browser.ask('PUT', '/sign-in-provider', { signInProvider });
      assert.deepEqual([status, body.issues[0].path], [400, ['signInProvider', 'clientSecret']]);
    }
  });

  test('is refused with what cannot be right, by the name of the field', async () => {
    const saml = { ...samlProvider, domain: 'acme.test' };
    const wrongs: readonly [field: string, signInProvider: object][] = [
      ['issuer', { ...oidcProvider, issuer: 'http://10.0.0.1' }],
      ['issuer', { ...oidcProvider, issuer: 'https://169.254.169.254/latest' }],
      ['issuer', { ...oidcProvider, issuer: 'http://example.com' }],
      ['issuer', { ...oidcProvider, issuer: 'file:///etc/passwd' }],
      ['entryPoint', { ...saml, entryPoint: 'javascript:alert(1)' }],
      ['certificate', { ...saml, certificate: 'MIIB' }],
      ['domain', { ...oidcProvider, domain: 'localhost' }],
    ];
    for (const [field, signInProvider] of wrongs) {
      const { status, body } = await owner.browser.ask('PUT', '/sign-in-provider', { signInProvider });
      assert.deepEqual([status, body.issues?.[0]?.path], [400, ['signInProvider', field]], JSON.stringify(body));
    }
  });

  test('is found by the domain of an address once the DNS shows whose it is', async () => {
    const { domainRecord } = await register({ ...oidcProvider, domain: 'found.test' });
    const find = async () => (await start(new Browser(app), { email: 'Ann@Found.test' })).status;
    const verify = (browser: Browser, organizationId = app.id) =>
      browser.send('POST', '/auth/company/verify-domain', { organizationId });
    assert.equal(await find(), 404);
    assert.equal((await verify(owner.browser)).body.code, 'RECORD_NOT_FOUND');
    dnsTexts.set(domainRecord.name, domainRecord.value);
    const { browser } = await personWith(app, 'developer');
    assert.equal((await verify(browser)).status, 403);
    assert.equal((await verify(new Browser(app))).status, 403);
    assert.equal((await verify(owner.browser)).status, 200);
    assert.equal(await find(), 200);
    // The record of one organization says nothing about another.
    const other = await app.newOrganization();
    const { token } = await linkFor({ ...app, id: other.id }, 'owner', owner.email);
    await owner.browser.send('POST', '/auth/invitation/accept', { token });
    const there = { 'x-tollkeeper-environment': String(other.testEnvironmentId) };
    const body = { signInProvider: { ...oidcProvider, domain: 'found.test' } };
    const registered = await owner.browser.ask('PUT', '/sign-in-provider', body, there);
    assert.equal((await verify(owner.browser, other.id)).body.code, 'RECORD_NOT_FOUND');
    // It is theirs from now on.
    dnsTexts.set(domainRecord.name, registered.body.domainRecord.value);
    assert.equal((await verify(owner.browser, other.id)).status, 200);
    assert.equal((await owner.browser.expect('GET', '/sign-in-provider')).signInProvider.domainVerifiedAt, null);
  });

  test('is never asked in the network of the service', async () => {
    const { outbound } = testWebhookServices();
    await assert.rejects(outbound.fetch({ url: idp.issuer, method: 'GET', headers: {} }), /not public/);
    await assert.rejects(outbound.fetch({ url: 'http://example.com', method: 'GET', headers: {} }), /https/);
    const named = createOutbound({
      allow: [],
      allowInTestMode: [],
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    await assert.rejects(named.fetch({ url: 'https://idp.example.com', method: 'GET', headers: {} }), /not public/);
  });
});
