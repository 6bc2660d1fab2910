import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingHttpHeaders, maxHeaderSize } from 'node:http';
import { test } from 'node:test';
import { deleteOldAnswersOnce, idempotencyLifetimeMs } from '../../src/http/idempotency.ts';
import { listLimits, ordinaryLimits } from '../../src/kernel/json-weight.ts';
import { createApiKey, rotateApiKey } from '../../src/organizations/actions.ts';
import { type Body, startTestApp } from '../support/harness.ts';

const app = await startTestApp();

/** A request whose path and headers go out exactly as written. */
function rawRequest(
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  body?: Buffer,
): Promise<{ status: number; headers: IncomingHttpHeaders; body: Body }> {
  const { hostname, port } = new URL(app.url);
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: JSON.parse(Buffer.concat(chunks).toString()),
        }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

const newCustomer = (externalId: string) => ({ customer: { externalId, email: 'a@acme.test', name: 'Acme' } });

test('the key is sent bare or as Bearer, in any case; other schemes are refused', async () => {
  for (const authorization of [app.testKey, `Bearer ${app.testKey}`, `bearer ${app.testKey}`]) {
    assert.equal((await rawRequest('/api/v1/api-keys', { authorization })).status, 200, authorization);
  }
  for (const authorization of ['', 'Bearer', `Basic ${app.testKey}`, `${app.testKey} x`, 'x'.repeat(500)]) {
    const answer = await rawRequest('/api/v1/api-keys', { authorization });
    assert.equal(answer.status, 401);
    assert.equal(answer.body.code, 'UNAUTHORIZED');
    assert.equal(answer.body.error, answer.body.message);
  }
});

test('an unknown route is a 404 in JSON, and says what was asked', async () => {
  for (const path of ['/nope', '/api/v1/nope', '/api/v2/products', '/_stainless_unknown_path']) {
    const { status, body } = await rawRequest(path, { authorization: app.testKey });
    assert.equal(status, 404);
    assert.equal(body.code, 'NOT_FOUND');
    assert.match(body.message, new RegExp(path));
  }
  assert.equal((await app.request('DELETE', '/customers', undefined)).status, 404);
});

test('a path that cannot be decoded is a 400', async () => {
  assert.equal((await rawRequest('/api/v1/customers/%zz', { authorization: app.testKey })).status, 400);
});

test('what no route ever sees is refused in the same words and with a request id', async () => {
  const authorization = app.testKey;
  const refused = [
    { answer: await rawRequest(`/api/v1/webhooks/${'x'.repeat(4000)}`, { authorization }), code: 'BAD_REQUEST' },
    { answer: await rawRequest('/api/v1/webhooks/%zz', { authorization }), code: 'BAD_REQUEST' },
    { answer: await rawRequest('/api/v1/webhooks', { authorization }, 'NONSENSE'), code: 'BAD_REQUEST' },
    { answer: await rawRequest('/', { long: 'x'.repeat(maxHeaderSize) }), code: 'HEADERS_TOO_LARGE' },
  ];
  for (const { answer, code } of refused) {
    assert.equal(answer.status, code === 'BAD_REQUEST' ? 400 : 431);
    assert.equal(answer.body.code, code);
    assert.equal(answer.body.error, answer.body.message);
    assert.match(answer.body.request_id, /^[0-9a-f]{8}$/);
    assert.equal(answer.headers['x-request-id'], answer.body.request_id);
  }
});

test('an external id may hold what a path must encode', async () => {
  for (const externalId of ['a/b', 'a@b.example', 'ä ö', '100%', '日本', 'x'.repeat(255)]) {
    await app.post('/customers', newCustomer(externalId));
    const { customer } = await app.get(`/customers/${encodeURIComponent(externalId)}`);
    assert.equal(customer.externalId, externalId);
  }
  assert.equal((await app.request('POST', '/customers', newCustomer('x'.repeat(256)))).status, 400);
  assert.equal((await app.request('GET', '/customers/%00')).status, 400);
});

test('a body over 1 MiB is a 413, over 16 MiB where lists are long, and one just below is read', async () => {
  const authorization = app.testKey;
  const headers = { authorization, 'content-type': 'application/json' };
  const padded = (size: number) => Buffer.from('{"customer":{}}'.padEnd(size, ' '));
  for (const [path, { bytes }] of [
    ['customers', ordinaryLimits],
    ['usage-events/bulk', listLimits],
    ['pricing-models/setup', listLimits],
  ] as const) {
    const tooLarge = await rawRequest(`/api/v1/${path}`, headers, 'POST', padded(bytes + 1));
    assert.deepEqual([tooLarge.status, tooLarge.body.code], [413, 'PAYLOAD_TOO_LARGE']);
    assert.match(tooLarge.body.message, new RegExp(`larger than ${bytes} bytes`));
    assert.equal((await rawRequest(`/api/v1/${path}`, headers, 'POST', padded(bytes))).status, 400);
  }
});

test('a body far over the limit is a 413 that the client can read: the connection is not reset while it sends', async () => {
  const body = Buffer.alloc(20 * 2 ** 20, ' ');
  const headers = { authorization: app.testKey, 'content-type': 'application/json', 'content-length': body.length };
  const errors: Error[] = [];
  const statuses = await Promise.all(
    [1, 2, 3, 4].map(() => {
      const { promise, resolve } = Promise.withResolvers<number | undefined>();
      const sent = httpRequest(`${app.url}/api/v1/customers`, { method: 'POST', headers }, (response) => {
        response.resume();
        sent.on('close', () => resolve(response.statusCode));
      });
      sent.on('error', (error) => errors.push(error));
      sent.end(body);
      return promise;
    }),
  );
  assert.deepEqual([statuses, errors], [[413, 413, 413, 413], []]);
});

test('bytes that are not UTF-8 are a 400', async () => {
  const headers = { authorization: app.testKey, 'content-type': 'application/json' };
  const body = Buffer.concat([Buffer.from('{"customer":{"name":"'), Buffer.from([0xff]), Buffer.from('"}}')]);
  assert.equal((await rawRequest('/api/v1/customers', headers, 'POST', body)).status, 400);
});

test('a validation error names every field that is wrong', async () => {
  const { status, body } = await app.request('POST', '/customers', { customer: { email: 5, name: 'x' } });
  assert.equal(status, 400);
  assert.equal(body.code, 'BAD_REQUEST');
  assert.deepEqual(body.issues.map((issue: Body) => issue.path.join('.')).sort(), [
    'customer.email',
    'customer.externalId',
  ]);
});

test('dryRun is true or false, nothing else', async () => {
  assert.equal((await app.request('POST', '/customers?dryRun=1', newCustomer('dry'))).status, 400);
  assert.equal((await app.request('POST', '/customers?dryRun=false', newCustomer('dry'))).status, 200);
});

test('of parallel requests under one Idempotency-Key one runs; the others are refused or answered from it', async () => {
  const headers = { 'idempotency-key': 'parallel' };
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => app.request('POST', '/customers', newCustomer('once'), { headers })),
  );
  const succeeded = answers.filter(({ status }) => status === 200);
  assert(succeeded.length >= 1);
  for (const answer of answers) {
    if (answer.status === 200) assert.deepEqual(answer.body, succeeded[0]?.body);
    else assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [409, 'false']);
  }
  assert.equal((await app.get('/customers?externalId=once')).total, 1);
});

test('an Idempotency-Key belongs to one request for 24 hours', async () => {
  const headers = { 'idempotency-key': 'k'.repeat(255) };
  await app.post('/customers', newCustomer('first'), { headers });
  const other = await app.request('POST', '/customers', newCustomer('second'), { headers });
  assert.equal(other.status, 409);
  const yesterday = Date.now() - 24 * 60 * 60 * 1000 - 1;
  await app.owner.updateTable('idempotencyKeys').set({ createdAt: yesterday }).execute();
  assert.equal((await app.request('POST', '/customers', newCustomer('second'), { headers })).status, 200);
  for (const bad of ['', 'k'.repeat(256)]) {
    assert.equal(
      (await app.request('POST', '/customers', newCustomer('third'), { headers: { 'idempotency-key': bad } })).status,
      400,
    );
  }
});

test('answers that are too old to be replayed are forgotten, the others stay', async () => {
  await app.post('/customers', newCustomer('to forget'), { headers: { 'idempotency-key': 'to forget' } });
  await app.post('/customers', newCustomer('to keep'), { headers: { 'idempotency-key': 'to keep' } });
  const createdAt = Date.now() - idempotencyLifetimeMs - 1;
  await app.owner.updateTable('idempotencyKeys').set({ createdAt }).where('key', '=', 'to forget').execute();
  assert(await deleteOldAnswersOnce(app));
  const left = await app.owner.selectFrom('idempotencyKeys').select('key').where('key', 'like', 'to %').execute();
  assert.deepEqual(left, [{ key: 'to keep' }]);
});

test('a failed request stores no answer: the same key may be used for the corrected one', async () => {
  const headers = { 'idempotency-key': 'mended' };
  assert.equal((await app.request('POST', '/customers', { customer: {} }, { headers })).status, 400);
  assert.equal((await app.request('POST', '/customers', newCustomer('mended'), { headers })).status, 200);
});

test('one environment knows nothing of the keys of another', async () => {
  const headers = { 'idempotency-key': 'shared' };
  await app.post('/customers', newCustomer('shared'), { headers });
  const other = await app.newOrganization();
  const answer = await app.request('POST', '/customers', newCustomer('shared'), { headers, key: other.testKey });
  assert.equal(answer.headers.get('idempotent-replayed'), null);
  assert.equal(answer.status, 200);
});

test('paging visits each row once while rows are added', async () => {
  const organization = await app.newOrganization();
  const key = organization.testKey;
  const create = (name: string) => app.post('/customers', newCustomer(name), { key });
  for (let index = 0; index < 25; index++) await create(`before-${index}`);
  const seen: string[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const list = await app.get(`/customers?limit=4${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`, { key });
    seen.push(...list.data.map((row: Body) => row.externalId));
    cursor = list.nextCursor;
    assert.equal(cursor !== undefined, list.hasMore);
    assert.equal(typeof list.currentCursor, 'string');
    if (pages++ < 5) await create(`during-${pages}`);
  } while (cursor);
  assert.equal(new Set(seen).size, seen.length);
  assert.deepEqual(seen, [
    ...Array.from({ length: 25 }, (_, index) => `before-${index}`),
    ...Array.from({ length: 5 }, (_, index) => `during-${index + 1}`),
  ]);
});

test('a pinned key sees its pricing model only, and writes there only', async () => {
  const { pricingModel } = await app.post('/pricing-models', { pricingModel: { name: 'Second' } });
  const pinned = await createApiKey(
    app.owner,
    { environmentId: app.testEnvironmentId, livemode: false, name: 'pinned', pricingModelId: pricingModel.id },
    Date.now(),
  );
  const options = { key: pinned.token };
  assert.deepEqual(
    (await app.get('/pricing-models', options)).data.map((row: Body) => row.id),
    [pricingModel.id],
  );
  assert.equal((await app.get('/customers', options)).total, 0);
  await app.post('/customers', newCustomer('inside'), options);
  assert.equal((await app.get('/customers/inside')).customer.pricingModelId, pricingModel.id);
  const fallback = (await app.get('/pricing-models/default')).pricingModel.id;
  const outside = {
    product: { name: 'P', slug: 'p', pricingModelId: fallback },
    price: { type: 'subscription', intervalUnit: 'month', intervalCount: 1, unitPrice: 1, isDefault: true },
  };
  assert.equal((await app.request('POST', '/products', outside, options)).status, 404);
});

test('an answer is not replayed to a key that is pinned elsewhere', async () => {
  const { pricingModel } = await app.post('/pricing-models', { pricingModel: { name: 'Elsewhere' } });
  const pinned = await createApiKey(
    app.owner,
    { environmentId: app.testEnvironmentId, livemode: false, name: 'elsewhere', pricingModelId: pricingModel.id },
    Date.now(),
  );
  const webhook = { webhook: { name: 'W', url: 'https://example.com', filterTypes: [] } };
  const headers = { 'Idempotency-Key': 'one-for-two' };
  await app.post('/webhooks', webhook, { headers });
  const elsewhere = await app.request('POST', '/webhooks', webhook, { key: pinned.token, headers });
  assert.equal(elsewhere.status, 409);
});

test('a rotated key keeps its scope, and the old one is refused at once', async () => {
  const old = await createApiKey(
    app.owner,
    { environmentId: app.testEnvironmentId, livemode: false, name: 'to rotate' },
    Date.now(),
  );
  assert.equal((await app.request('GET', '/api-keys', undefined, { key: old.token })).status, 200);
  const fresh = await rotateApiKey(app.owner, old.id, Date.now());
  assert.equal((await app.request('GET', '/api-keys', undefined, { key: old.token })).status, 401);
  const { apiKey } = await app.get(`/api-keys/${fresh.id}`, { key: fresh.token });
  assert.deepEqual(
    [apiKey.name, apiKey.livemode, apiKey.token],
    ['to rotate', false, `sk_test_...${fresh.token.slice(-4)}`],
  );
});
