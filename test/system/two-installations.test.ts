import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Answer, Body } from '../support/harness.ts';
import { OwnPostgres, PressedService, until } from '../support/pressed.ts';
import { setUpUsage } from '../support/pressing-usage.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

// Two services on one database, each in a schema of its own, with the same ids of environments and customers.
const operatorToken = 'operator-of-both-installations-0123456789';
let postgres: OwnPostgres;
const services: PressedService[] = [];

interface Installation {
  readonly call: (method: string, path: string, body?: unknown, key?: string, again?: string) => Promise<Answer>;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<Body>;
  readonly received: Awaited<ReturnType<typeof startReceiver>>;
  readonly subscriptionId: string;
}
let installations: readonly Installation[];
const [heardByA, heardByB] = [await startReceiver(), await startReceiver()];

async function install(schema: string, received: Installation['received']): Promise<Installation> {
  const key = `sk_test_${schema}`;
  const service = await PressedService.start({
    DATABASE_URL: postgres.url,
    DATABASE_SCHEMA: schema,
    TOLLKEEPER_TEST_KEY: key,
    TOLLKEEPER_OPERATOR_TOKEN: operatorToken,
    TOLLKEEPER_WEBHOOK_ALLOW: '127.0.0.0/8',
    TOLLKEEPER_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    LOG_LEVEL: 'error',
  });
  services.push(service);
  const call: Installation['call'] = (method, path, body, as = key, again) =>
    service.request(method, path, body, { key: as, ...(again && { headers: { 'idempotency-key': again } }) });
  const ask: Installation['ask'] = async (method, path, body) => {
    const answer = await call(method, path, body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const subscriptionId = await setUpUsage(service.request.bind(service), key);
  const filterTypes = ['customer.created'];
  await ask('POST', '/webhooks', { webhook: { name: 'Here', url: received.url, filterTypes } });
  return { call, ask, received, subscriptionId };
}

before(async () => {
  postgres = await OwnPostgres.start();
  // Both migrate at once.
  installations = await Promise.all([install('billing_a', heardByA), install('billing_b', heardByB)]);
});

after(async () => {
  await Promise.all(services.map((service) => service.remove()));
  await postgres.remove();
});

test('two installations in one database migrate at once, and public has none of their tables', async () => {
  const rows = await postgres.query(
    `select relnamespace::regnamespace::text as schema, count(*)::integer as tables from pg_class
      where relkind in ('r', 'p') and oid >= 16384 group by 1 order by 1`,
  );
  const [a, queueOfA, b, queueOfB, ...others] = rows;
  assert.deepEqual(others, []);
  assert.deepEqual(
    [a, queueOfA, b, queueOfB].map((row) => row?.schema),
    ['billing_a', 'billing_a_graphile_worker', 'billing_b', 'billing_b_graphile_worker'],
  );
  assert.deepEqual([a?.tables, queueOfA?.tables], [b?.tables, queueOfB?.tables]);
});

test('two installations in one database bill the same usage at once, and neither sees the other', async () => {
  await Promise.all(
    installations.map(async ({ ask, call, received, subscriptionId }) => {
      const usageEvent = { subscriptionId, priceSlug: 'calls-overage', transactionId: 't-1', amount: 250 };
      await ask('POST', '/usage-events', { usageEvent });
      // The same idempotency key of the same environment number, at the same time.
      const customer = { externalId: 'bob', email: 'bob@acme.test', name: 'Bob' };
      assert.equal((await call('POST', '/customers', { customer }, undefined, 'one')).status, 200);
      await until('the webhook is sent', () => received.types().includes('customer.created'));
      const { now } = (await ask('GET', '/test-clock')).testClock;
      await ask('PUT', '/test-clock', { testClock: { now: now + 40 * 86_400_000 } });
      const { invoices } = await ask('GET', '/customers/ann/billing');
      assert.deepEqual(
        invoices.map(({ invoiceLineItems }: Body) => invoiceLineItems.map((line: Body) => line.description)),
        [['250 calls, not billed']],
      );
      assert.equal((await ask('GET', '/customers')).data.length, 2);
    }),
  );
  // Bob of each, once.
  for (const { received } of installations) assert.deepEqual(received.types(), ['customer.created']);
});

test('the key of an installation opens no other in the same database', async () => {
  const [a, b] = installations;
  assert.equal((await a?.call('GET', '/customers', undefined, 'sk_test_billing_b'))?.status, 401);
  assert.equal((await b?.call('GET', '/customers', undefined, 'sk_test_billing_a'))?.status, 401);
});

test('the checks of two installations in one database run at once and find both right', async () => {
  const reports = await Promise.all(
    services.map(async ({ address }) => {
      const answer = await fetch(`${address}/invariants?fresh=true`, {
        headers: { authorization: `Bearer ${operatorToken}` },
      });
      return (await answer.json()) as Body;
    }),
  );
  for (const report of reports) assert.equal(report.healthy, true, JSON.stringify(report));
});
