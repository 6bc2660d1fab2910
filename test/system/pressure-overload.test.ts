import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import pg from 'pg';
import { type Answer, type RequestOptions, send, startTestApp } from '../support/harness.ts';
import { PressedService, queryAsOwner, until } from '../support/pressed.ts';
import { PressingUsage, setUpUsage, storedEvents } from '../support/pressing-usage.ts';

// A real service with small limits, on a database of its own.
const app = await startTestApp();
const key = app.testKey;
const [connections, maxRequests, statementTimeoutMs] = [2, 20, 6_000];
const service = await PressedService.start({
  DATABASE_URL: app.databaseUrl,
  TOLLKEEPER_CONNECTIONS: String(connections),
  TOLLKEEPER_MAX_REQUESTS: String(maxRequests),
  TOLLKEEPER_MAX_BODIES_MIB: '16',
  TOLLKEEPER_STATEMENT_TIMEOUT_MS: String(statementTimeoutMs),
  TOLLKEEPER_WORK: 'off',
  LOG_LEVEL: 'error',
});
after(() => service.remove());
const request = (method: string, path: string, body?: unknown, options: RequestOptions = { key }): Promise<Answer> =>
  send(service.address, method, path, body, options);
const subscriptionId = await setUpUsage(request, key);

const newCustomer = (externalId: string) => ({
  customer: { externalId, email: `${externalId}@acme.test`, name: externalId },
});

/** Holds up whoever writes customers until `release`. */
async function lockCustomers(): Promise<{ release: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: app.databaseUrl });
  await client.connect();
  await client.query('begin');
  await client.query('lock table customers in exclusive mode');
  return { release: () => client.end() };
}

test('what is more than fits is refused at once, while all that fits waits, and health is answered', async () => {
  const held = await lockCustomers();
  const answered: number[] = [];
  const requested = Array.from({ length: maxRequests * 10 }, async (_, n) => {
    const answer = await request('POST', '/customers', newCustomer(`over-${n}`));
    answered.push(answer.status);
    return answer;
  });
  try {
    // Nobody who waits is answered yet: whoever is refused did not wait in line.
    await until('all others are refused', () => answered.length === maxRequests * 9);
    assert.deepEqual(new Set(answered), new Set([503]));
    assert.equal(await service.status('/health'), 200);
    assert.equal(await service.status('/metrics'), 200);
  } finally {
    await held.release();
  }
  const answers = await Promise.all(requested);
  const refused = answers.filter(({ status }) => status === 503);
  // On a slow machine some of those who wait for a connection have waited for as long as they may by now.
  const done = answers.length - refused.length;
  assert.deepEqual(new Set(answers.map(({ status }) => status)).difference(new Set([200, 503])).size, 0);
  assert.deepEqual([refused[0]?.body.code, refused[0]?.headers.get('retry-after')], ['SERVICE_UNAVAILABLE', '1']);
  const made = await queryAsOwner(app.databaseUrl, "select from customers where external_id like 'over-%'");
  assert.equal(made.length, done, 'who was refused has made nothing');
  assert.equal((await request('POST', '/customers', newCustomer('after'))).status, 200);
});

test('a statement that waits too long is stopped: 503 that says so, and nothing is stored', async () => {
  const held = await lockCustomers();
  const late = await request('POST', '/customers', newCustomer('late'));
  await held.release();
  assert.deepEqual([late.status, late.body.code], [503, 'SERVICE_UNAVAILABLE']);
  assert.match(late.body.message, /did not finish in time/);
  assert.equal((await request('GET', '/customers/late')).status, 404);
  assert.match(service.output, /pg_stat_activity/);
});

test('ten times as many clients as fit: each is answered 200, 429 or 503, what was acknowledged is there once, and then all is as before', async () => {
  const usage = new PressingUsage({ request, key, subscriptionId });
  usage.start(maxRequests * 10);
  await until('many are answered and many refused', () => usage.count(200) > 200 && usage.count(503) > 200);
  await usage.stop();
  assert.deepEqual(
    [...usage.statuses.keys()].filter((status) => ![200, 429, 503].includes(status)),
    [],
  );
  assert.equal((await request('GET', '/customers/ann')).status, 200);
  usage.assertStored(await queryAsOwner(app.databaseUrl, storedEvents));
});

const mebibyte = 2 ** 20;
const headers = `POST /api/v1/usage-events/bulk HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;

/** A request of which `sent` bytes of its body are sent, for now. */
async function half(framing: string, sent: number): Promise<{ socket: Socket; text: () => string }> {
  const { hostname, port } = new URL(service.address);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  socket.write(`${headers}${framing}\r\n\r\n`);
  const isChunked = framing.startsWith('Transfer');
  const chunk = Buffer.alloc(mebibyte, ' ');
  for (let left = sent; left > 0; left -= mebibyte) {
    if (isChunked) socket.write(`${mebibyte.toString(16)}\r\n`);
    socket.write(chunk);
    if (isChunked) socket.write('\r\n');
  }
  return { socket, text: () => text };
}

test('bodies take no more memory than they may: what is too much is refused, known length or not, and small ones go on', async () => {
  const first = await half(`Content-Length: ${15 * mebibyte}`, 10 * mebibyte);
  try {
    let second: Awaited<ReturnType<typeof half>> | null = null;
    // Until the first one has arrived, a second one fits.
    await until('one of known length is refused before it is sent', async () => {
      second?.socket.destroy();
      const tried = await half(`Content-Length: ${12 * mebibyte}`, 0);
      second = tried;
      const { promise, resolve } = Promise.withResolvers<void>();
      tried.socket.once('data', () => resolve());
      setTimeout(resolve, 200);
      await promise;
      return /^HTTP\/1.1 503 .*"SERVICE_UNAVAILABLE"/s.test(tried.text());
    });
    const chunked = await half('Transfer-Encoding: chunked', 12 * mebibyte);
    await until('one of unknown length is refused on the way', () => chunked.text().startsWith('HTTP/1.1 503 '));
    chunked.socket.destroy();
    assert.equal((await request('POST', '/customers', newCustomer('small'))).status, 200);
  } finally {
    first.socket.destroy();
  }
  const usageEvents = Array.from({ length: 1_000 }, (_, n) => ({
    subscriptionId,
    usageMeterSlug: 'calls',
    amount: 1,
    transactionId: `large ${n}`,
    properties: { note: 'x'.repeat(500) },
  }));
  await until('what was taken is given back', async () => {
    return (await request('POST', '/usage-events/bulk', { usageEvents })).status === 200;
  });
});
