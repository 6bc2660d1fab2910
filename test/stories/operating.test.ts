import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '../../src/app.ts';
import { createLog } from '../../src/http/log.ts';
import { enqueue } from '../../src/jobs/queue.ts';
import { Watch } from '../../src/main-watch.ts';
import { webhookServicesOf } from '../../src/webhooks/actions.ts';
import { Dispatcher } from '../../src/webhooks/jobs-sending.ts';
import { type Body, send, startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { startEndpoint } from '../support/webhook-endpoint.ts';

const app = await startTestApp();
const plans = await setUpPlans(app);
const lines: Body[] = [];
const { log } = createLog('info', { write: (text: string) => lines.push(JSON.parse(text)) });
const watch = new Watch(log, app.owner, new Map([['owner', app.ownerPool]]));
const server = await createApp({
  database: app.database,
  log,
  metrics: { ofProcess: watch.registry },
  services: { ...app.services, onCharge: watch.onCharge },
  migrated: async () => true,
  ...(app.services.cells && { cells: app.services.cells }),
});
after(() => server.close());
const address = await server.listen({ host: '127.0.0.1', port: 0 });
const request = (method: string, path: string, body?: unknown) =>
  send(address, method, path, body, { key: app.testKey });

/** The lines with this message. */
const told = (message: string) => lines.filter(({ msg }) => msg === message);

test('a line of a request names the organization and the key, for usage events too', async () => {
  const { body } = await request('GET', '/api-keys');
  await request('POST', '/usage-events', {});
  await send(address, 'GET', '/products', undefined, { key: 'sk_test_nobody' });
  // A line follows its answer, and may follow that of the next request.
  while (told('request').length < 3) await new Promise(setImmediate);
  const [read, write, refused] = [200, 400, 401].map((status) =>
    told('request').find((line) => line.status === status),
  );
  const key = body.data.find(({ livemode }: Body) => !livemode);
  assert.deepEqual([read?.level, read?.organizationId, read?.apiKeyId], ['info', app.id, key.id]);
  assert.deepEqual([write?.organizationId, write?.apiKeyId], [app.id, key.id]);
  assert(refused !== undefined && refused.organizationId === undefined);
});

test('requests without a key fill no log: each kind is told once in ten seconds, and hang-ups too', async () => {
  const before = lines.length;
  const port = Number(new URL(address).port);
  for (let connection = 0; connection < 3; connection++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET /api/v1/customers HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(100));
    await once(socket, 'data');
    socket.resetAndDestroy();
  }
  await Promise.all(Array.from({ length: 20 }, (_, n) => fetch(`${address}/no/such/${n}`)));
  await sleep(300);
  const added = lines.slice(before);
  const kinds = new Set(
    added.map(({ msg, url, status }) => `${msg} ${url?.startsWith('/no') ? '/no' : url} ${status}`),
  );
  assert.equal(added.length, kinds.size, JSON.stringify(added));
});

test('a declined charge is a warning and a count, and so is a webhook endpoint that fails', async () => {
  const { customerId } = await plans.newCustomer('pm_card_chargeCustomerFail');
  assert.equal((await request('POST', '/subscriptions', { customerId, priceSlug: 'pro-monthly' })).status, 402);
  const [charge] = lines.filter(({ msg }) => msg.startsWith('A charge has failed'));
  assert.deepEqual([charge?.level, charge?.organizationId, charge?.customerId], ['warn', app.id, customerId]);

  const endpoint = await startEndpoint(() => ({ status: 500 }));
  const webhook = { name: 'Ours', url: endpoint.url, filterTypes: ['customer.created'], active: true };
  const { webhook: made } = await app.post('/webhooks', { webhook });
  await plans.newCustomer();
  const onError = (error: unknown) => {
    throw error;
  };
  const dispatcher = {
    database: app.owner,
    services: webhookServicesOf(app.services),
    onError,
    onAttempt: watch.onAttempt,
  };
  await new Dispatcher(dispatcher).drain();
  const [failing] = told('A webhook endpoint fails.');
  assert.deepEqual(
    [failing?.level, failing?.organizationId, failing?.webhookId, failing?.error],
    ['warn', app.id, made.id, 'The endpoint responded with 500.'],
  );
  assert(!JSON.stringify(failing).includes(new URL(endpoint.url).pathname));
});

test('metrics show what waits', async () => {
  await app.inEnvironment((work) => enqueue(work, 'note', {}));
  const text = await (await fetch(`${address}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^tollkeeper_${name} (\\S+)$`, 'm').exec(text)?.[1]);
  assert(value('queue_jobs\\{state="ready"\\}') >= 1, text);
  assert.equal(value('queue_jobs\\{state="failed"\\}'), 0);
  assert(value('due_work_lag_seconds') >= 0);
  assert(value('webhook_deliveries_due') >= 0);
  assert.equal(value('webhook_attempts_total\\{result="retried"\\}'), 1);
  assert(value('charges_total\\{processor="test",result="failed"\\}') >= 1);
  assert(value('pool_connections\\{pool="owner",state="idle"\\}') >= 0);
});

test('/metrics is read once a second, however many ask', async () => {
  const [one, other] = await Promise.all([1, 2].map(async () => (await fetch(`${address}/metrics`)).text()));
  assert.equal(one, other);
});
