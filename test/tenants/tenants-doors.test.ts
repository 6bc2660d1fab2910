import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { databaseDigest } from '../support/digest.ts';
import type { Answer, Body } from '../support/harness.ts';
import { stripeEvent } from '../support/stripe-server.ts';
import { marksOf, markTexts, shownMarks, shownText } from '../support/tenants-attack.ts';
import { buildTenants, type Tenant, type Tenants } from '../support/tenants-world.ts';

let tenants: Tenants;
const marks = new Map<Tenant, readonly string[]>();
before(async () => {
  tenants = await buildTenants();
  const { app, victim, intruders } = tenants;
  await markTexts(app, victim);
  for (const intruder of intruders) marks.set(intruder, await marksOf(app, victim, intruder));
});

function assertShowsNothing(intruder: Tenant, answer: Answer, requested = '?'): void {
  assert.deepEqual(shownMarks(shownText(answer), marks.get(intruder) ?? [], requested), [], intruder.name);
}

/** Acts, and finds that it has changed nothing. */
async function unchanged(act: () => Promise<void>): Promise<void> {
  const digest = await databaseDigest(tenants.app);
  await act();
  assert.equal(await databaseDigest(tenants.app), digest);
}

const event = (subscriptionId: string, priceId: string, transactionId: string) => ({
  subscriptionId,
  priceId,
  transactionId,
  amount: 1,
});

test('of many, one that belongs to another tenant lets none be taken, as JSON and as lines', async () => {
  const { app, victim, intruders } = tenants;
  await unchanged(async () => {
    for (const { key, world, name } of intruders) {
      for (const place of [0, 49, 99]) {
        const usageEvents = Array.from({ length: 100 }, (_, index) => {
          const foreign = index === place;
          return event(
            foreign ? victim.world.subscriptionId : world.subscriptionId,
            world.callsPriceId,
            `${name}-${index}`,
          );
        });
        const asJson = await app.request('POST', '/usage-events/bulk', { usageEvents }, { key });
        assert.equal(asJson.status, 404, JSON.stringify(asJson.body));
        const lines = usageEvents.map((each) => JSON.stringify(each)).join('\n');
        const headers = { 'content-type': 'application/x-ndjson' };
        const asLines = await app.request('POST', '/usage-events/bulk', lines, { key, headers });
        assert.equal(asLines.status, 404, JSON.stringify(asLines.body));
      }
    }
  });
});

test('what is answered together is answered to each tenant apart', async () => {
  const { app, victim, intruders } = tenants;
  const all = [victim, ...intruders];
  const answers = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const tenant = all[index % all.length] as Tenant;
      const checks = [
        { customerExternalId: tenant.world.externalId, featureSlug: tenant.world.toggleSlug },
        { customerExternalId: victim.world.externalId, featureSlug: victim.world.toggleSlug },
      ];
      return { tenant, answer: await app.request('POST', '/entitlements/check', { checks }, { key: tenant.key }) };
    }),
  );
  for (const { tenant, answer } of answers) {
    const allowed = answer.body.results.map((result: Body) => result.allowed);
    assert.deepEqual(allowed, [true, tenant === victim], tenant.name);
  }
});

test('a cursor of one tenant shows another nothing but its own', async () => {
  const { app, victim, intruders } = tenants;
  const lists = ['/customers', '/prices', '/features', '/invoices', '/usage-events', '/events', '/subscriptions'];
  for (const list of lists) {
    const { nextCursor } = await app.get(`${list}?limit=1`, { key: victim.key });
    assert(nextCursor, list);
    for (const intruder of intruders) {
      for (const direction of ['forward', 'backward']) {
        const { check: _, ...cursor } = JSON.parse(Buffer.from(nextCursor, 'base64').toString());
        const forged = Buffer.from(JSON.stringify({ ...cursor, direction })).toString('base64');
        const answer = await app.request(
          'GET',
          `${list}?limit=100&cursor=${encodeURIComponent(forged)}`,
          undefined,
          intruder,
        );
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        assertShowsNothing(intruder, { ...answer, body: answer.body.data });
      }
    }
  }
});

test('an Idempotency-Key of one tenant replays nothing to another', async () => {
  const { app, victim, intruders } = tenants;
  const headers = { 'idempotency-key': 'the same for all' };
  const body = { discount: { name: 'Same', code: 'SAME', amount: 10, amountType: 'percent', duration: 'once' } };
  const ask = ({ key }: Tenant) => app.request('POST', '/discounts', body, { key, headers });
  const first = await ask(victim);
  assert.equal(first.status, 200);
  const made = new Set([first.body.discount.id]);
  for (const intruder of intruders) {
    const answer = await ask(intruder);
    assertShowsNothing(intruder, answer);
    assert.equal(answer.headers.get('idempotent-replayed'), null);
    // In the same environment the key is taken, by a request that is another one to a pinned key.
    if (intruder.environmentId === victim.environmentId) assert.equal(answer.status, 409);
    else made.add(answer.body.discount.id);
    assert.equal(JSON.stringify(answer.body).includes(first.body.discount.id), false);
  }
  assert.equal(made.size, 4);
  assert.equal((await ask(victim)).headers.get('idempotent-replayed'), 'true');
});

test('an ETag of one tenant tells another nothing', async () => {
  const { app, victim, intruders } = tenants;
  const path = `/customers/${victim.world.externalId}/entitlements`;
  const { headers } = await app.request('GET', path, undefined, { key: victim.key });
  const etag = headers.get('etag') ?? '';
  assert.match(etag, /^"/);
  assert.equal(
    (await app.request('GET', path, undefined, { key: victim.key, headers: { 'if-none-match': etag } })).status,
    304,
  );
  for (const { key, world } of intruders) {
    for (const ifNoneMatch of [etag, '*']) {
      const options = { key, headers: { 'if-none-match': ifNoneMatch } };
      assert.equal((await app.request('GET', path, undefined, options)).status, 404);
    }
    const options = { key, headers: { 'if-none-match': etag } };
    assert.equal(
      (await app.request('GET', `/customers/${world.externalId}/entitlements`, undefined, options)).status,
      200,
    );
  }
});

test('what two tenants call the same is to each its own', async () => {
  const { app, victim, intruders } = tenants;
  const all = [victim, ...intruders];
  const customer = { externalId: 'the-same', email: 'same@acme.test', name: 'Same' };
  const ids = new Map<Tenant, string>();
  for (const tenant of all) {
    const { data } = await app.post('/customers', { customer: { ...customer, name: `Of ${tenant.name}` } }, tenant);
    ids.set(tenant, data.customer.id);
  }
  assert.equal(new Set(ids.values()).size, all.length);
  for (const tenant of all) {
    // Two pricing models of one environment have the name: a key for both of them says which it means.
    const which = tenant === victim ? `?pricingModelId=${tenant.world.pricingModelId}` : '';
    const { customer: found } = await app.get(`/customers/the-same${which}`, tenant);
    assert.deepEqual([found.id, found.name], [ids.get(tenant), `Of ${tenant.name}`]);
    await app.put(`/customers/the-same${which}`, { customer: { email: `${tenant.name}@same.test` } }, tenant);
  }
  for (const tenant of all) {
    const { data } = await app.get('/customers?externalId=the-same&limit=100', tenant);
    const mails = data.map((row: Body) => row.email).sort();
    const expected = tenant === victim ? ['pinned@same.test', 'victim@same.test'] : [`${tenant.name}@same.test`];
    assert.deepEqual(mails, expected);
  }
  // One transaction of each tenant, under the same name, is counted for each.
  const counted = all.map(({ world, key }) =>
    app.post('/usage-events', { usageEvent: event(world.subscriptionId, world.callsPriceId, 'the-same') }, { key }),
  );
  const events = new Set((await Promise.all(counted)).map(({ usageEvent }) => usageEvent.id));
  assert.equal(events.size, all.length);
});

describe('by a link', () => {
  const open = async (url: string, options: RequestInit = {}) => {
    const answer = await fetch(url, { redirect: 'manual', ...options });
    return {
      status: answer.status,
      text: await answer.text(),
      cookie: answer.headers.getSetCookie()[0]?.split(';')[0],
    };
  };
  const keyOf = (url: string) => new URL(url).searchParams.get('key') ?? '';
  const returns = { successUrl: 'https://app.example.com/paid', cancelUrl: 'https://app.example.com/plans' };
  const linkOf = async ({ key, world }: Tenant): Promise<{ id: string; url: string }> => {
    const session = {
      ...returns,
      type: 'product',
      customerExternalId: world.newcomerExternalId,
      priceId: world.priceId,
    };
    const { checkoutSession, url } = await tenants.app.post(
      '/checkout-sessions',
      { checkoutSession: session },
      { key },
    );
    return { id: checkoutSession.id, url };
  };
  const portalOf = async ({ key, world }: Tenant): Promise<string> =>
    (await tenants.app.post(`/customers/${world.externalId}/portal-sessions`, {}, { key })).portalSession.url;

  test('a link of one tenant opens no checkout of another', async () => {
    const { app, victim, intruders } = tenants;
    const theirs = await linkOf(victim);
    const links = await Promise.all(intruders.map(linkOf));
    assert.equal((await open(theirs.url)).status, 200);
    await unchanged(async () => {
      for (const own of links) {
        const key = keyOf(own.url);
        // The own key; the mac of the one with the environment of the other; the other way round.
        const [environment, mac] = key.split('.');
        const [otherEnvironment, otherMac] = keyOf(theirs.url).split('.');
        const mixed = [key, `${otherEnvironment}.${mac}`, `${environment}.${otherMac}`];
        const body = new URLSearchParams({ step: 'pay', shownDue: '99999999' });
        const options = { method: 'POST', body, headers: { origin: app.url } };
        for (const wrong of mixed.filter((each) => each !== keyOf(theirs.url))) {
          for (const page of ['checkout', 'add-payment-method']) {
            const url = `${app.url}/${page}/${theirs.id}?key=${wrong}`;
            for (const { status, text } of [await open(url), await open(url, options)]) {
              assert([403, 404].includes(status), `${page}: ${status}`);
              assert.doesNotMatch(text, /zerzura|victim-/i);
            }
          }
        }
      }
    });
  });

  test('a link of one customer makes the portal of another show and do nothing', async () => {
    const { app, victim, intruders } = tenants;
    const { world } = victim;
    for (const intruder of intruders) {
      const { cookie } = await open(await portalOf(intruder));
      assert(cookie);
      const home = await open(`${app.url}/portal`, { headers: { cookie } });
      assert.equal(home.status, 200);
      assert.doesNotMatch(home.text, /zerzura|victim/i);
      const token = /name="(\w+)" value="([^"]+)"/.exec(home.text);
      assert(token, 'a form of the visit has a token');
      await unchanged(async () => {
        for (const path of [
          `invoices/${world.invoiceId}`,
          `invoices/${world.invoiceId}/pdf`,
          `subscriptions/${world.subscriptionId}/cancel`,
        ]) {
          const { status, text } = await open(`${app.url}/portal/${path}`, { headers: { cookie } });
          assert.equal(status, 404, path);
          assert.doesNotMatch(text, /zerzura/i);
        }
        const acts = ['cancel', 'uncancel', 'keep', 'pay'].map(
          (verb) => `subscriptions/${world.subscriptionId}/${verb}`,
        );
        for (const path of [
          ...acts,
          `invoices/${world.openInvoiceId}/pay`,
          `payment-methods/${world.paymentMethodId}/default`,
        ]) {
          const body = new URLSearchParams({ [token[1] ?? '']: token[2] ?? '' });
          const options = { method: 'POST', body, headers: { cookie, origin: app.url } };
          const { status, text } = await open(`${app.url}/portal/${path}`, options);
          assert([403, 404, 409].includes(status), `${path}: ${status}`);
          assert.doesNotMatch(text, /zerzura/i);
        }
      });
    }
  });
});

test('what the processor tells of one environment changes nothing in another', async () => {
  const { app, stripe, victim, intruders } = tenants;
  const live = intruders.find(({ name }) => name === 'live');
  assert(live);
  const intent = {
    id: 'pi_forged',
    object: 'payment_intent',
    status: 'succeeded',
    amount: 1,
    metadata: { environment_id: String(live.environmentId), payment_id: victim.world.paymentId },
  };
  await app.runJobs({ all: true });
  await unchanged(async () => {
    for (const environmentId of [live.environmentId, victim.environmentId, 999_999_999]) {
      const metadata = { ...intent.metadata, environment_id: String(environmentId) };
      // The account of live mode signs: what it says of a payment of the test network is not its business.
      const told = { ...stripeEvent('payment_intent.succeeded', { ...intent, metadata } as never), livemode: true };
      assert.equal(await stripe.send(app.url, told), 200);
      const unsigned = await stripe.send(app.url, told, { secret: 'whsec_of_somebody_else' });
      assert.equal(unsigned, 400);
    }
    assert.equal(await app.runJobs(), 0);
  });
});
