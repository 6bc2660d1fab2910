import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { type endings, OwnPostgres, PressedService, until } from '../support/pressed.ts';
import { PressingUsage, setUpUsage, storedEvents } from '../support/pressing-usage.ts';

// PostgreSQL is a server of its own, as with DATABASE_URL, and ends while requests, jobs and webhooks are under way.
const key = 'sk_test_pressed';
const encryptionKey = Buffer.alloc(32, 1).toString('base64');
const clients = 8;
let postgres: OwnPostgres;
let service: PressedService;
let usage: PressingUsage;

const heard = new Set<string>();
const receiver = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    heard.add(JSON.parse(body).id);
    response.writeHead(204).end();
  });
});

before(async () => {
  await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
  postgres = await OwnPostgres.start();
  service = await PressedService.start({
    DATABASE_URL: postgres.url,
    TOLLKEEPER_TEST_KEY: key,
    TOLLKEEPER_WEBHOOK_ALLOW: '127.0.0.0/8',
    TOLLKEEPER_ENCRYPTION_KEY: encryptionKey,
    LOG_LEVEL: 'error',
  });
  const request = service.request.bind(service);
  usage = new PressingUsage({ request, key, subscriptionId: await setUpUsage(request, key) });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const webhook = { name: 'Here', url, filterTypes: ['customer.created'] };
  assert.equal((await service.request('POST', '/webhooks', { webhook }, { key })).status, 200);
});

after(async () => {
  await service.remove();
  await postgres.remove();
  receiver.close();
  receiver.closeAllConnections();
});

for (const how of ['fast', 'immediate', 'killed'] as const satisfies readonly (keyof typeof endings)[]) {
  test(`PostgreSQL that is stopped under load (${how}) is missed with 503, and the service goes on by itself when it is back`, async () => {
    usage.statuses.clear();
    usage.start(clients);
    await until('events are answered', () => usage.count(200) > 20);
    // Some of these jobs are done and not written down when their database is gone.
    await postgres.query(`select add_job('forget_old_answers') from generate_series(1, 100)`);
    await postgres.end(how);

    await until('the service has noticed', () => usage.count(503) > 20);
    assert.deepEqual([await service.status('/health'), await service.status('/ready')], [200, 503]);
    const refused = await service.request('GET', '/customers/ann', undefined, { key });
    assert.deepEqual([refused.status, refused.body.code], [503, 'SERVICE_UNAVAILABLE']);
    assert.equal(refused.headers.get('retry-after'), '1');

    await postgres.startAgain();
    const before = usage.count(200);
    await until('events are answered again', () => usage.count(200) > before + 20);
    await usage.stop();
    assert.equal(await service.status('/ready'), 200);
    assert.deepEqual(
      [...usage.statuses.keys()].filter((status) => status !== 200 && status !== 503),
      [],
    );
    usage.assertStored(await postgres.query(storedEvents));
    assert(service.isRunning, 'it is the same process');
  });

  test(`after that (${how}) jobs are done again, their locks are held, and webhooks are sent`, async () => {
    const jobs =
      "select from _private_jobs where key = 'after' or task_id in (select id from _private_tasks where identifier = 'forget_old_answers')";
    await postgres.query(`select add_job('forget_old_answers', job_key => 'after')`);
    await until('the queue is worked', async () => (await postgres.query(jobs)).length === 0);
    const locks = "select from pg_locks where locktype = 'advisory' and classid = 7002 and granted";
    await until('the pool of workers says that it lives', async () => (await postgres.query(locks)).length === 1);
    const customer = { externalId: how, email: 'new@acme.test', name: how };
    const made = await service.request('POST', '/customers', { customer }, { key });
    assert.equal(made.status, 200);
    await until('the webhook is told', () => heard.has(made.body.data.customer.id));
  });
}

test('a service that starts before PostgreSQL waits for it and says so; when it does not come it ends with 1', async () => {
  await postgres.end('fast');
  const early = await PressedService.spawn({
    DATABASE_URL: postgres.url,
    TOLLKEEPER_START_WAIT_S: '60',
    TOLLKEEPER_ENCRYPTION_KEY: encryptionKey,
  });
  const hasty = await PressedService.spawn({ DATABASE_URL: postgres.url, TOLLKEEPER_START_WAIT_S: '0' });
  try {
    assert.equal(await hasty.ended(), 1);
    assert.match(hasty.output, /ECONNREFUSED/);
    await until('it says that it waits', () => early.output.includes('PostgreSQL is not responding yet'));
    await postgres.startAgain();
    await early.untilListening();
    assert.equal(await early.status('/ready'), 200);
    await early.stop();
  } finally {
    await Promise.all([early.remove(), hasty.remove()]);
  }
});
