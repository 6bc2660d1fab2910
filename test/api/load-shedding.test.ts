import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { createApp } from '../../src/app.ts';
import { createDatabase, createPool } from '../../src/database/database.ts';
import { PageShare } from '../../src/database/page-share.ts';
import { runInEnvironment, type Work } from '../../src/database/work.ts';
import { testSchema } from '../support/databases.ts';
import { startTestApp } from '../support/harness.ts';
import { setUpPlans } from '../support/plans.ts';
import { until } from '../support/pressed.ts';
import { RawSocket, statusesIn } from '../support/raw-socket.ts';

const app = await startTestApp();
const mebibyte = 1024 * 1024;
const server = await createApp({
  database: app.database,
  limits: { maxRequests: 100, maxBodiesBytes: 64 * mebibyte, rateLimit: 1000, pagesPerAddress: 0 },
  migrated: async () => true,
});
const { hostname, port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }));
after(() => server.close());

test('a large body that nobody reads does not hold up the next request on its connection', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (type: string, body: Buffer | null) =>
    new Promise<number | string>((resolve) => {
      const requested = httpRequest({
        agent,
        hostname,
        port,
        method: 'POST',
        path: '/api/v1/usage-events/bulk',
        headers: { authorization: `Bearer ${app.testKey}`, 'content-type': type, 'content-length': body?.length ?? 0 },
        signal: AbortSignal.timeout(10_000),
      });
      requested.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)));
      requested.on('error', (error) => resolve(error.message));
      requested.end(body ?? undefined);
    });
  const large = Buffer.alloc(4 * mebibyte, 'x');
  for (let round = 0; round < 3; round++) {
    assert.equal(await ask('text/plain', large), 415);
    assert.equal(await ask('application/json', Buffer.from('{}')), 400);
  }
  agent.destroy();
});

// A service whose pages may use 2 of 40 connections, while at most 50 requests wait for them.
const pool = createPool({ schema: testSchema, url: app.databaseUrl, size: 40, as: 'service' });
const share = new PageShare(pool, 40);
const [most, mostWaiting] = [2, 50];
const guarded = await createApp({
  database: createDatabase(pool),
  services: app.services,
  limits: { maxRequests: 5_000, maxBodiesBytes: 64 * mebibyte, rateLimit: 0, pagesPerAddress: 0 },
  pageShare: share,
  migrated: async () => true,
});
const guardedUrl = await guarded.listen({ host: '127.0.0.1', port: 0 });
after(async () => {
  await guarded.close();
  await pool.end();
});
const plans = await setUpPlans(app);

/** The requests for a new customer's checkout page and for its portal, as a browser sends them. */
async function newLinks() {
  const { externalId: customerExternalId } = await plans.newCustomer();
  const { url } = await app.post('/checkout-sessions', {
    checkoutSession: {
      type: 'product',
      customerExternalId,
      priceSlug: 'pro-monthly',
      successUrl: 'https://app.test/paid',
      cancelUrl: 'https://app.test/plans',
    },
  });
  const { portalSession } = await app.post(`/customers/${customerExternalId}/portal-sessions`, { portalSession: {} });
  const key = new URL(portalSession.url).searchParams.get('key') ?? '';
  const { pathname, search } = new URL(url);
  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${more}\r\n`;
  return { checkout: get(pathname + search), portal: get('/portal', `cookie: tollkeeper_portal=${key}\r\n`) };
}

/** Runs `act`, and answers the numbers of connections that it took, in all and at a time, and of requests that waited. */
async function countUse(act: () => Promise<void>) {
  const use = { taken: 0, atATime: 0, waiting: 0 };
  const count = () => {
    use.taken += 1;
    use.atATime = Math.max(use.atATime, pool.totalCount - pool.idleCount);
    use.waiting = Math.max(use.waiting, share.connections.waiting);
  };
  pool.on('acquire', count);
  await act();
  await until('all places to be free', () => share.connections.taken === 0);
  pool.off('acquire', count);
  return use;
}

async function sendAll(requests: readonly string[]): Promise<RawSocket[]> {
  return Promise.all(
    requests.map(async (request) => {
      const socket = await RawSocket.open(guardedUrl);
      socket.send(request);
      return socket;
    }),
  );
}

const settings = () =>
  fetch(`${guardedUrl}/api/v1/settings`, { headers: { authorization: `Bearer ${app.testKey}` } }).then(
    ({ status }) => status,
  );

test('980 requests of one link that are reset at once take as few connections as the link may', async () => {
  const { checkout } = await newLinks();
  const begunAt = performance.now();
  const use = await countUse(async () => {
    for (let round = 0; round < 10; round++) {
      const sockets = await sendAll(new Array(98).fill(checkout));
      await sleep(3);
      for (const socket of sockets) socket.destroy();
    }
  });
  const seconds = (performance.now() - begunAt) / 1000;
  // Ten at once, and five in each second.
  assert(use.taken <= 10 + 5 * seconds + 1, `${use.taken} in ${seconds} s`);
  assert(use.atATime <= most, String(use.atATime));
  assert.equal(await settings(), 200);
});

test('60 connections that ask for pages of twelve links have two connections of the database, and are answered', async () => {
  const links = await Promise.all(Array.from({ length: 6 }, newLinks));
  const requests = links.flatMap(({ checkout, portal }) => new Array(5).fill([checkout, portal]).flat());
  const statuses = new Set<number>();
  const use = await countUse(async () => {
    for (let round = 0; round < 2; round++) {
      const sockets = await sendAll(requests);
      assert.equal(await settings(), 200);
      await until('all to be answered', () => sockets.every(({ text }) => statusesIn(text).length === 1));
      for (const { text } of sockets) {
        for (const status of statusesIn(text)) statuses.add(status);
        if (!text.startsWith('HTTP/1.1 200')) assert.match(text, /^retry-after: 1\r$/m);
      }
      for (const socket of sockets) socket.destroy();
    }
  });
  // Two more are those of the settings and of the note that their key was used.
  assert(use.atATime <= most + 2, String(use.atATime));
  assert(use.waiting <= mostWaiting, String(use.waiting));
  assert(statuses.has(200));
  assert.deepEqual(statuses.difference(new Set([200, 429, 503])), new Set());
});

test('the queue of pages ends at fifty, and who has gone leaves it before anything is done', async () => {
  const links = await Promise.all(Array.from({ length: 8 }, newLinks));
  const client = await app.ownerPool.connect();
  try {
    await client.query('begin; lock table checkout_sessions in access exclusive mode');
    const use = await countUse(async () => {
      const sockets = await sendAll(links.flatMap(({ checkout }) => new Array(8).fill(checkout)));
      const refused = () => sockets.filter(({ text }) => text !== '');
      await until('the others to be refused', () => refused().length === sockets.length - most - mostWaiting);
      for (const { text } of refused()) assert.match(text, /^HTTP\/1.1 503 [\s\S]*^retry-after: 1\r$/m);
      assert.deepEqual([share.connections.taken, share.connections.waiting], [most, mostWaiting]);
      assert.equal(await settings(), 200);
      for (const socket of sockets) socket.destroy();
      await until('those who have gone to leave the queue', () => share.connections.waiting === 0);
      await client.query('rollback');
    });
    // Two pages, the settings, and once in a while the note that their key was used.
    assert([most + 1, most + 2].includes(use.taken), String(use.taken));
  } finally {
    client.release();
  }
});

test('a page is read in a transaction that cannot write, and takes no transaction id', async () => {
  const entry = { environmentId: app.testEnvironmentId };
  const look = (act: (work: Work) => Promise<unknown>) =>
    runInEnvironment(app.database, entry, act, { readOnly: true });
  const xact = await look(
    async ({ db }) =>
      (await sql<{ id: string | null }>`select pg_current_xact_id_if_assigned()::text as id`.execute(db)).rows,
  );
  assert.deepEqual(xact?.answer, [{ id: null }]);
  await assert.rejects(
    look(({ db }) => sql`update environments set clock_now = clock_now`.execute(db)),
    /read-only transaction/,
  );
});
