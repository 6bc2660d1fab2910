import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { createApp, crontab, tasks } from '../../src/app.ts';
import { createPool, queueSchemaOf } from '../../src/database/database.ts';
import { enqueue, type Task } from '../../src/jobs/queue.ts';
import { startWorker } from '../../src/jobs/worker.ts';
import { startSender } from '../../src/webhooks/jobs-sender.ts';
import { testSchema } from '../support/databases.ts';
import { startTestApp } from '../support/harness.ts';
import { startReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp();

// Not a measure of speed: what has not come by then will not come.
const longestWaitMs = 30_000;

test('/health and /ready answer without a key', async () => {
  for (const path of ['/health', '/ready']) {
    const response = await fetch(app.url + path);
    assert.equal(response.status, 200);
    assert.equal(typeof ((await response.json()) as { version: string }).version, 'string');
  }
});

test('/ready is 503 until every migration has run', async () => {
  const server = await createApp({ database: app.database, migrated: async () => false });
  assert.equal((await server.inject('/ready')).statusCode, 503);
  assert.equal((await server.inject('/health')).statusCode, 200);
});

test('/metrics counts requests by route, without the ids in their paths', async () => {
  await app.request('GET', '/customers/nobody-in-particular');
  const text = await (await fetch(`${app.url}/metrics`)).text();
  assert.match(
    text,
    /tollkeeper_http_request_duration_seconds_count\{[^}]*route="\/api\/v1\/customers\/:externalId"[^}]*status="404"[^}]*\} 1/,
  );
  assert(!text.includes('nobody-in-particular'));
});

test('/ says what this is, and leads to /docs', async () => {
  const answer = await fetch(`${app.url}/`);
  assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.match(await answer.text(), /billing and entitlement service[\s\S]*href="\/docs\/"/);
});

test('/docs loads its script from us, and the browser is told to load nothing from elsewhere', async () => {
  const response = await fetch(`${app.url}/docs/`);
  const html = await response.text();
  assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'self';/);
  assert.doesNotMatch(html, /https?:\/\//);
  const [, script = ''] = /<script src="([^"]+)"/.exec(html) ?? [];
  assert.equal((await fetch(new URL(script, `${app.url}/docs/`))).status, 200);
});

/** Waits until the condition holds. */
async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition() && waited < longestWaitMs; waited += 50) await sleep(50);
  assert(condition(), 'it did not come about');
}

test('a worker does what a commit asked for', async () => {
  const ownerPool = createPool({ schema: testSchema, url: app.databaseUrl, size: 12, as: 'owner' });
  const done: unknown[] = [];
  const note: Task = async (_, payload) => {
    done.push(payload);
  };
  const worker = await startWorker({
    queueSchema: queueSchemaOf(testSchema),
    queuePool: ownerPool,
    context: { database: app.database, tasks: { ...tasks, note }, services: app.services },
    crontab,
    log: () => undefined,
  });
  try {
    await app.inEnvironment((work) => enqueue(work, 'note', { about: 'this' }));
    await until(() => done.length > 0);
    assert.deepEqual(done, [{ environmentId: app.testEnvironmentId, about: 'this' }]);
  } finally {
    await worker.stop();
    await ownerPool.end();
  }
});

test('a worker that has stopped has nothing to do with connections that break afterwards', async () => {
  const ownerPool = createPool({ schema: testSchema, url: app.databaseUrl, size: 12, as: 'owner' });
  const context = { database: app.database, tasks, services: app.services };
  const worker = await startWorker({
    queueSchema: queueSchemaOf(testSchema),
    queuePool: ownerPool,
    context,
    crontab,
    log: () => undefined,
  });
  await worker.stop();
  const broken: unknown[] = [];
  ownerPool.on('error', (error) => broken.push(error));
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and application_name = 'tollkeeper-owner' and pid <> pg_backend_pid()`.execute(
    app.owner,
  );
  // Another release of the connection that it had would end the process here.
  await until(() => broken.length > 0);
  await ownerPool.end();
});

test('a sender delivers what a request caused', async () => {
  const receiver = await startReceiver();
  const pool = createPool({ schema: testSchema, url: app.databaseUrl, size: 12, as: 'owner' });
  const errors: unknown[] = [];
  assert(app.services.webhooks);
  const sender = startSender({
    pool,
    schema: testSchema,
    services: app.services.webhooks,
    onError: (error) => errors.push(error),
  });
  try {
    await app.post('/webhooks', { webhook: { url: receiver.url, name: 'Hook', filterTypes: ['customer.created'] } });
    const { data } = await app.post('/customers', {
      customer: { externalId: 'told', email: 'a@acme.test', name: 'Told' },
    });
    await until(() => receiver.received.length > 0);
    assert.equal(JSON.parse(receiver.only().body.toString()).id, data.customer.id);
    assert.deepEqual(errors, []);
  } finally {
    await sender.stop();
    await pool.end();
  }
});
