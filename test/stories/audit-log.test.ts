import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { mostOfOneCaller } from '../../src/http/event-stream.ts';
import { createApiKey, rotateApiKey } from '../../src/organizations/actions.ts';
import { testSchema } from '../support/databases.ts';
import { type Body, startTestApp } from '../support/harness.ts';
import { personWith } from '../support/people-fixture.ts';
import { setUpPlans } from '../support/plans.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const log = async (query: string, key = app.testKey): Promise<Body[]> =>
  (await app.get(`/audit-log?limit=100&${query}`, { key })).data;
const records = (entries: readonly Body[]) => entries.map(({ operation, record }) => `${operation} ${record.type}`);
const [ownKey] = (await app.get('/api-keys')).data;

/** An answer of a request that has to go well, with its request id. */
async function ask(method: string, path: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await app.request(method, path, body, { headers });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return { body: answer.body, requestId: answer.headers.get('x-request-id') ?? '' };
}

describe('an entry', () => {
  test('an entry says who changed what, by which request, and what it was before and is after', async () => {
    const { customerId, externalId } = await plans.newCustomer();
    const { requestId } = await ask('PUT', `/customers/${externalId}`, {
      customer: { externalId, name: 'Ada', billingAddress: { address: { country: 'DE', postal_code: '10115' } } },
    });
    const [entry, ...others] = await log(`requestId=${requestId}`);
    assert.deepEqual(others, []);
    const { id, occurredAt, before, after, ...rest } = entry;
    assert.match(id, /^audit_[0-9a-f]{26}$/);
    assert(Math.abs(occurredAt - Date.now()) < 60_000);
    assert.deepEqual(rest, {
      pricingModelId: plans.pricingModelId,
      actor: { type: 'api_key', apiKeyId: ownKey.id, userId: null },
      action: 'PUT /customers/{externalId}',
      requestId,
      record: { type: 'customer', id: customerId },
      operation: 'update',
    });
    assert.equal(after.name, 'Ada');
    assert.notEqual(before.name, 'Ada');
    assert.deepEqual([before.billingAddress, after.billingAddress.address.country], [null, 'DE']);
    // What has not changed is not said, nor when it changed, which is said already.
    assert.deepEqual(Object.keys(after).sort(), ['billingAddress', 'name']);
  });

  test('an entry of what is made has all that is known, one of what is deleted all that was', async () => {
    const url = 'https://hooks.example.com/in';
    const { webhook } = await app.post('/webhooks', { webhook: { name: 'Ours', url, filterTypes: [] } });
    await ask('DELETE', `/webhooks/${webhook.id}`, undefined);
    const [deleted, made] = await log(`recordId=${webhook.id}`);
    assert.deepEqual([made.operation, made.before, made.after.name], ['insert', null, 'Ours']);
    assert.deepEqual([deleted.operation, deleted.before.name, deleted.after], ['delete', 'Ours', null]);
  });

  test('an entry is one for each record, however many a statement changes: ten features are ten entries', async () => {
    const features = Array.from({ length: 10 }, (_, n) => ({
      type: 'toggle',
      slug: `f${n}`,
      name: `Feature ${n}`,
      description: '',
    }));
    const body = { name: 'Ten', features, products: [], usageMeters: [] };
    const { requestId } = await ask('POST', '/pricing-models/setup', body);
    const made = await log(`requestId=${requestId}&record=feature`);
    assert.deepEqual(
      made.map(({ after }) => after.slug),
      features.map(({ slug }) => slug).reverse(),
    );
    assert.equal(new Set(made.map(({ id }) => id)).size, 10);
  });

  test('an entry is left by nothing that did not happen: a dry run, a refusal, a repeat, a change to the same', async () => {
    const { customerId } = await plans.newCustomer();
    const before = (await app.get('/audit-log')).total;
    const customer = { externalId: 'never', email: 'never@acme.test', name: 'Never' };
    await ask('POST', '/customers?dryRun=true', { customer });
    const refused = await app.request('POST', '/subscriptions', { customerId, priceId: 'price_none' });
    assert.equal(refused.status, 404);
    assert.equal((await app.get('/audit-log')).total, before);
    const headers = { 'idempotency-key': 'once' };
    await ask('POST', '/customers', { customer }, headers);
    const after = (await app.get('/audit-log')).total;
    assert(after > before);
    await ask('POST', '/customers', { customer }, headers);
    await ask('PUT', '/customers/never', { customer: { externalId: 'never', name: 'Never' } });
    assert.equal((await app.get('/audit-log')).total, after);
  });
});

describe('who', () => {
  test('a charge that a request has caused is the work of the service, and names the request', async () => {
    const { customerId } = await plans.newCustomer('pm_card_visa');
    const priceId = plans.priceOf('pro-monthly').id;
    const { requestId } = await ask('POST', '/subscriptions', { customerId, priceId });
    const [settled, ...others] = await log(`requestId=${requestId}&record=payment`);
    assert.deepEqual(records(others), ['insert payment']);
    assert.deepEqual(others[0].actor, { type: 'api_key', apiKeyId: ownKey.id, userId: null });
    assert.deepEqual([settled.before.status, settled.after.status], ['processing', 'succeeded']);
    assert.deepEqual(
      [settled.actor, settled.action],
      [{ type: 'system', apiKeyId: null, userId: null }, 'charge_payments'],
    );
  });

  test('what a customer does in the portal is the doing of the customer', async () => {
    const { customerId, externalId } = await plans.newCustomer('pm_card_visa');
    const { id } = await plans.subscribe({ customerId, priceId: plans.priceOf('pro-monthly').id });
    const { portalSession } = await app.post(`/customers/${externalId}/portal-sessions`, { portalSession: {} });
    const opened = await fetch(portalSession.url, { redirect: 'manual' });
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
    const page = await (await fetch(`${app.url}/portal/subscriptions/${id}/cancel`, { headers: { cookie } })).text();
    const formToken = /name="formToken" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const answer = await fetch(`${app.url}/portal/subscriptions/${id}/cancel`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, origin: app.url },
      body: new URLSearchParams({ formToken }),
    });
    assert.equal(answer.status, 303, await answer.text());
    const [entry] = await log(`recordId=${id}`);
    assert.deepEqual(entry.actor, { type: 'customer', apiKeyId: null, userId: null });
    assert.equal(entry.action, 'POST /portal/subscriptions/{id}/cancel');
    assert.equal(entry.requestId, answer.headers.get('x-request-id'));
    assert.equal(entry.after.status, 'cancellation_scheduled');
  });

  test('what the command line does is an operator, who names the command', async () => {
    const made = await createApiKey(
      app.owner,
      { environmentId: app.testEnvironmentId, livemode: false, name: 'To go' },
      Date.now(),
    );
    const main = new URL('../../src/main.ts', import.meta.url).pathname;
    await promisify(execFile)(process.execPath, [main, 'keys', 'revoke', made.id], {
      env: { ...process.env, DATABASE_URL: app.databaseUrl },
    });
    const [ended] = await log(`recordId=${made.id}`);
    assert.deepEqual([ended.actor.type, ended.action], ['operator', 'keys revoke']);
    assert.deepEqual([ended.before, ended.after], [{ active: true }, { active: false }]);
  });

  test('what nobody asked for, of the owner of a service, is the work of the service', async () => {
    const request = { environmentId: app.testEnvironmentId, livemode: false, name: 'Rotated' };
    const made = await createApiKey(app.owner, request, Date.now());
    const auditContext = { actor: 'system', action: 'serve' } as const;
    const pool = createPool({ schema: testSchema, url: app.databaseUrl, size: 1, as: 'owner', auditContext });
    const { id } = await rotateApiKey(createDatabase(pool), made.id, Date.now());
    await pool.end();
    for (const key of [made.id, id]) {
      const [entry] = await log(`recordId=${key}`);
      assert.deepEqual([entry.actor.type, entry.action], ['system', 'serve']);
    }
  });

  test('usage is a log itself: its booking says which key', async () => {
    const { customerId } = await plans.newCustomer('pm_card_visa');
    const { id: subscriptionId } = await plans.subscribe({ customerId, priceId: plans.priceOf('pro-monthly').id });
    const usageEvent = { subscriptionId, priceSlug: 'call-overage', transactionId: 't', amount: 3 };
    const before = (await app.get('/audit-log')).total;
    const { usageEvent: made } = await app.post('/usage-events', { usageEvent });
    assert.equal((await app.get('/audit-log')).total, before);
    const { rows } = await sql<{ apiKeyId: string | null }>`
      select t.api_key_id from usage_events e
        join ledger_transactions t on t.environment_id = e.environment_id and t.type = 'usage_event_processed'
                                  and t.source_id = e.booking::text
       where 'usage_event_' || e.id = ${made.id}`.execute(app.owner);
    assert.deepEqual(rows, [{ apiKeyId: ownKey.id }]);
  });

  test('a renewal is the work of the task that does it', async () => {
    const { customerId } = await plans.newCustomer('pm_card_visa');
    const { id } = await plans.subscribe({ customerId, priceId: plans.priceOf('pro-monthly').id });
    await app.setClock(Date.now() + 32 * 86_400_000);
    await app.tasks.find_due_work?.({ database: app.database, tasks: app.tasks, services: app.services }, {});
    await app.runJobs();
    const [renewed] = await log(`record=subscription&recordId=${id}&action=do_due_work`);
    assert.deepEqual([renewed?.actor.type, renewed?.requestId], ['system', null]);
    assert(renewed.after.currentBillingPeriodEnd > renewed.before.currentBillingPeriodEnd);
    // The clock was set by a statement of the owner. The log does not go by it.
    const [moved] = await log('record=environment');
    assert.deepEqual([moved.actor.type, moved.action, moved.before], ['operator', null, { clockNow: null }]);
    assert(renewed.occurredAt < moved.after.clockNow);
    // The credits of the new period, and those that have ended, were booked for nobody.
    const booked = await bookings();
    assert.deepEqual(new Set(booked), new Set([ownKey.id, null]));
  });
});

/** Which key each ledger transaction was booked for. */
async function bookings(): Promise<(string | null)[]> {
  const rows = await app.owner.selectFrom('ledgerTransactions').select('apiKeyId').execute();
  return rows.map(({ apiKeyId }) => apiKeyId);
}

describe('the list', () => {
  test('the list is newest first, and its pages tile it in both ways of asking', async () => {
    const all = await log(`apiKeyId=${ownKey.id}`);
    assert.deepEqual(
      all.map(({ id }) => id),
      all
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
    const seen: Body[] = [];
    let page = await app.get(`/audit-log?limit=7&apiKeyId=${ownKey.id}`);
    for (
      ;
      seen.length < 100;
      page = await app.get(`/audit-log?limit=7&cursor=${encodeURIComponent(page.nextCursor)}`)
    ) {
      seen.push(...page.data);
      if (!page.hasMore) break;
    }
    assert.deepEqual(seen.slice(0, 100), all.slice(0, seen.length));
  });

  test('each filter finds what has it and nothing else', async () => {
    const { data } = await app.get('/audit-log?limit=100');
    const of = (read: (entry: Body) => unknown, value: unknown) => data.filter((entry: Body) => read(entry) === value);
    const some = data.find(({ actor }: Body) => actor.apiKeyId !== null);
    const filters: [string, (entry: Body) => unknown][] = [
      ['recordId', ({ record }) => record.id],
      ['record', ({ record }) => record.type],
      ['action', ({ action }) => action],
      ['requestId', ({ requestId }) => requestId],
      ['apiKeyId', ({ actor }) => actor.apiKeyId],
    ];
    for (const [filter, read] of filters) {
      const found = await log(`${filter}=${encodeURIComponent(String(read(some)))}`);
      const expected = of(read, read(some));
      assert(expected.length > 0);
      assert.deepEqual(found.slice(0, expected.length), expected, filter);
      assert(found.every((entry) => read(entry) === read(some)));
    }
  });

  test('the instant of since is in the range and that of until is not', async () => {
    const { data } = await app.get('/audit-log?limit=100');
    const [newest, oldest] = [data.at(0).occurredAt, data.at(-1).occurredAt];
    assert(oldest < newest);
    const ids = async (query: string) => (await log(query)).map(({ id }) => id);
    const between = (from: number, to: number) =>
      data.filter(({ occurredAt }: Body) => occurredAt >= from && occurredAt < to).map(({ id }: Body) => id);
    assert.deepEqual(await ids(`since=${newest}`), between(newest, newest + 1));
    assert.deepEqual(await ids(`since=${oldest + 1}&until=${newest}`), between(oldest + 1, newest));
    const refused = await app.request('GET', `/audit-log?since=${newest}&until=${newest}`);
    assert.deepEqual([refused.status, refused.body.issues[0].path], [400, ['until']]);
  });

  test('a key sees the log of its environment; a pinned one that of its pricing model', async () => {
    const stranger = await app.newOrganization();
    const theirs = await log('', stranger.testKey);
    assert(theirs.every(({ actor }) => actor.type === 'operator'));
    assert.deepEqual(await log(`apiKeyId=${ownKey.id}`, stranger.testKey), []);
    assert.deepEqual(await log(`apiKeyId=${ownKey.id}`, app.liveKey), []);
    const pinned = await createApiKey(
      app.owner,
      { environmentId: app.testEnvironmentId, livemode: false, name: 'Pinned', pricingModelId: plans.pricingModelId },
      Date.now(),
    );
    const seen = await log('', pinned.token);
    assert(seen.length > 0);
    assert.deepEqual(new Set(seen.map(({ pricingModelId }) => pricingModelId)), new Set([plans.pricingModelId]));
  });
});

describe('a stream of changes', () => {
  interface Message {
    readonly id: number;
    readonly event: string;
    readonly records: readonly string[];
    /** Of a tail. */
    readonly usageEvents?: readonly Body[];
  }

  /** The message in a part of the stream; null for one that only moves the position. */
  function messageIn(part: string): Message | null {
    const fields = Object.fromEntries(part.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)));
    return fields.event ? { ...JSON.parse(fields.data), id: Number(fields.id), event: fields.event } : null;
  }

  /** Reads a stream until it ends or is left. */
  async function follow(
    headers: Record<string, string>,
    { url = app.url, path = '/changes', query = 'seconds=60' } = {},
  ) {
    const left = new AbortController();
    const response = await fetch(`${url}/api/v1${path}?${query}`, { headers, signal: left.signal });
    assert.equal(response.status, 200, response.ok ? '' : await response.text());
    const messages: Message[] = [];
    const wake = new Set<() => void>();
    const ended = (async () => {
      let unread = '';
      for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const parts = (unread + text).split('\n\n');
        unread = parts.pop() ?? '';
        messages.push(...parts.flatMap((part) => messageIn(part) ?? []));
        for (const each of wake) each();
      }
    })().catch(() => undefined);
    const wait = (what: string, isIt: (message: Message) => boolean | undefined) =>
      new Promise<Message>((resolve, reject) => {
        void ended.then(() => reject(new Error(`the stream ended without ${what}`)));
        const look = () => {
          const found = messages.find(isIt);
          if (found === undefined) return;
          wake.delete(look);
          resolve(found);
        };
        wake.add(look);
        look();
      });
    /** Waits until it was told of this type of record. */
    const until = (record: string) => wait(record, ({ records }) => records?.includes(record));
    const untilUsed = (amount: number) =>
      wait(`${amount} units`, ({ usageEvents }) => usageEvents?.some((event) => event.amount === amount));
    return { response, messages, ended, until, untilUsed, leave: () => left.abort() };
  }

  const byKey = (key = app.testKey) => ({ authorization: `Bearer ${key}` });
  const bySession = (cookie: string) => ({ cookie, 'x-tollkeeper-environment': String(app.testEnvironmentId) });

  test('a stream tells a person and a key what another process changed, and nothing of another tenant', async () => {
    const other = await app.startOther();
    const { url } = other;
    const stranger = await app.newOrganization();
    const { browser } = await personWith(app, 'viewer');
    const streams = await Promise.all([
      follow(bySession(browser.cookie)),
      follow(byKey(), { url }),
      follow(byKey(stranger.testKey), { url }),
      follow(byKey(app.liveKey)),
    ]);
    const [person, key, strangers, live] = streams;
    assert.equal(person.response.headers.get('content-type'), 'text/event-stream');
    assert.equal(person.response.headers.get('cache-control'), 'no-store');
    const { externalId } = await plans.newCustomer();
    assert.deepEqual((await person.until('customer')).event, 'changed');
    await key.until('customer');
    await app.put(`/customers/${externalId}`, { customer: { externalId, name: 'Ada' } });
    await app.post('/products', {
      product: { name: 'Mug', slug: 'mug', pricingModelId: plans.pricingModelId },
      price: { type: 'single_payment', unitPrice: 900, slug: 'mug' },
    });
    await Promise.all([person.until('product'), key.until('product')]);
    // Both have looked as often as the others.
    assert.deepEqual([...strangers.messages, ...live.messages], []);
    // A process that stops ends its streams at once, and no other one.
    await other.close();
    await Promise.all([key.ended, strangers.ended]);
    await app.post('/tax-rates', { taxRate: { country: 'CH', type: 'vat', percentage: '8.1' } });
    await person.until('taxRate');
    person.leave();
    live.leave();
  });

  test('a stream goes on after the last id that its reader has', async () => {
    const first = await follow(byKey());
    await plans.newCustomer();
    const { id } = await first.until('customer');
    first.leave();
    await app.post('/tax-rates', { taxRate: { country: 'AT', type: 'vat', percentage: '20' } });
    const again = await follow({ ...byKey(), 'last-event-id': String(id) }, { query: '' });
    await again.ended;
    const [{ event, records } = assert.fail('nothing was told'), ...others] = again.messages;
    assert.deepEqual([event, records.includes('taxRate'), others], ['changed', true, []]);
    // A reader who was away for long reads everything again, and one who begins has just read it.
    const texts = [`after=${id - 3_600_000}`, ''].map((query) => app.get(`/changes?${query}`));
    const [late, fresh] = await Promise.all(texts);
    assert.match(late, /^id: \d+\nevent: refresh\ndata: {}\n\n$/);
    assert.match(fresh, /^id: \d+\n\n$/);
    const wrong = await app.request('GET', '/changes', undefined, { headers: { 'last-event-id': 'x' } });
    assert.deepEqual([wrong.status, wrong.body.issues[0].path], [400, ['after']]);
  });

  test('a stream ends before it tells anything to somebody who was signed out, or whose key was revoked', async () => {
    const { browser } = await personWith(app, 'support');
    const { body } = await app.request('POST', '/api-keys', {
      apiKey: { name: 'Follower', permissions: ['changes:read'] },
    });
    const streams = await Promise.all([follow(bySession(browser.cookie)), follow(byKey(body.token))]);
    await browser.send('POST', '/auth/sign-out', {});
    await app.post(`/api-keys/${body.apiKey.id}/revoke`, {});
    await plans.newCustomer();
    await Promise.all(streams.map(({ ended }) => ended));
    assert.deepEqual(
      streams.flatMap(({ messages }) => messages),
      [],
    );
  });

  test('a key that is pinned to a pricing model is told of its records only', async () => {
    const { pricingModel } = await app.post('/pricing-models', { pricingModel: { name: 'Other' } });
    const pinned = await createApiKey(
      app.owner,
      { environmentId: app.testEnvironmentId, livemode: false, name: 'Pinned', pricingModelId: pricingModel.id },
      Date.now(),
    );
    await app.copyCatalogs();
    const stream = await follow(byKey(pinned.token));
    await plans.newCustomer();
    await app.post('/usage-meters', { usageMeter: { name: 'Calls', slug: 'calls', pricingModelId: pricingModel.id } });
    await stream.until('usageMeter');
    assert.deepEqual(
      stream.messages.flatMap(({ records }) => records),
      ['price', 'usageMeter'],
    );
    stream.leave();
  });

  test('a tail tells the events of one meter that another process records, until its reader is signed out', async () => {
    const { externalId } = await plans.newCustomer();
    const use = (amount: number) =>
      app.post('/usage-events', {
        usageEvent: {
          customerExternalId: externalId,
          usageMeterSlug: 'api-calls',
          amount,
          transactionId: `tail ${amount}`,
        },
      });
    const { usageEvent } = await use(31);
    const other = await app.startOther();
    const { url } = other;
    const { browser } = await personWith(app, 'viewer');
    const tail = { url, path: '/usage-events/tail', query: `usageMeterId=${usageEvent.usageMeterId}&seconds=60` };
    const [person, key] = await Promise.all([follow(bySession(browser.cookie), tail), follow(byKey(), tail)]);
    const { usageEvents } = await person.untilUsed(31);
    // Other tests of this file have used the meter a moment ago.
    const isOurs = ({ customerId }: Body) => customerId === usageEvent.customerId;
    assert.deepEqual(usageEvents?.filter(isOurs), [usageEvent], 'a tail begins with the last seconds');
    await use(41);
    await Promise.all([person.untilUsed(41), key.untilUsed(41)]);
    await browser.send('POST', '/auth/sign-out', {});
    await person.ended;
    await use(51);
    await key.untilUsed(51);
    const amounts = ({ messages }: { readonly messages: readonly Message[] }) =>
      messages.flatMap(({ usageEvents = [] }) => usageEvents.filter(isOurs).map(({ amount }) => amount));
    assert.deepEqual(
      [amounts(person), amounts(key)],
      [
        [31, 41],
        [31, 41, 51],
      ],
    );
    const stranger = await app.newOrganization();
    const path = `${tail.path}?${tail.query}`;
    assert.equal((await app.request('GET', path, undefined, { key: stranger.testKey })).status, 404);
    await other.close();
    await key.ended;
  });

  test('one caller has a limited number of streams', async () => {
    const { token } = await createApiKey(
      app.owner,
      { environmentId: app.testEnvironmentId, livemode: false, name: 'Greedy' },
      Date.now(),
    );
    await app.copyCatalogs();
    const streams = await Promise.all(Array.from({ length: mostOfOneCaller }, () => follow(byKey(token))));
    const refused = await app.request('GET', '/changes?seconds=60', undefined, { key: token });
    assert.deepEqual([refused.status, refused.body.reason], [429, 'too_many_streams']);
    for (const each of streams) each.leave();
  });
});
