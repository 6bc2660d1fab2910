import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp } from '../../src/app.ts';
import { type ConnectionLimits, connectionLimits } from '../../src/http/connections.ts';
import { databaseDigest } from '../support/digest.ts';
import { startTestApp } from '../support/harness.ts';
import { RawSocket } from '../support/raw-socket.ts';

const app = await startTestApp();
const limits: ConnectionLimits = {
  ...connectionLimits,
  headersMs: 1_000,
  requestMs: 2_000,
  silentMs: 3_000,
  checkMs: 100,
  connections: 250,
  perAddress: 0,
  reserved: 20,
};
const server = await createApp({
  database: app.database,
  migrated: async () => true,
  connections: limits,
});
const address = await server.listen({ host: '127.0.0.1', port: 0 });
let requestsRead = 0;
server.server.on('request', () => requestsRead++);
after(() => server.close());

const attackers = 150;
const customers = '/api/v1/customers';
const head = (method: string, path: string, headers: readonly string[] = []) =>
  [`${method} ${path} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${app.testKey}`, ...headers, '', ''].join(
    '\r\n',
  );

/** Sends a byte again and again, until the connection is closed. */
async function drip(socket: RawSocket, byte: string): Promise<void> {
  while (!socket.isClosed) {
    socket.send(byte);
    await sleep(50);
  }
}

/** Holds many connections at a time with `begin` and a dripping `byte`; others are answered, and all of them end. */
async function hold(begin: string, byte: string): Promise<string[]> {
  const digest = await databaseDigest(app);
  const sockets = await Promise.all(Array.from({ length: attackers }, () => RawSocket.open(address)));
  const dripping = sockets.map((socket) => {
    socket.send(begin);
    return drip(socket, byte);
  });
  const others = await Promise.all(
    Array.from({ length: 20 }, () =>
      fetch(`${address}${customers}`, { headers: { authorization: app.testKey }, signal: AbortSignal.timeout(10_000) }),
    ),
  );
  assert.deepEqual(
    others.map(({ status }) => status),
    others.map(() => 200),
  );
  const answers = await Promise.all(sockets.map((socket) => socket.untilClosed(20_000)));
  await Promise.all(dripping);
  assert.equal(await databaseDigest(app), digest);
  return answers.map(({ text }) => text);
}

test('headers that are dripped hold nobody up, and end in a 408', async () => {
  for (const text of await hold('GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', 'a')) {
    assert.match(text, /^HTTP\/1\.1 408 /);
    assert.match(text, /"code":"TIMEOUT"/);
  }
});

test('a body that is dripped holds nobody up, and ends in a 408', async () => {
  const begin = head('POST', customers, ['Content-Type: application/json', 'Content-Length: 100000']);
  for (const text of await hold(`${begin}{"customer":`, ' ')) assert.match(text, /^HTTP\/1\.1 408 /);
});

test('a chunked body that is dripped ends in a 408 too', async () => {
  const begin = head('POST', customers, ['Content-Type: application/json', 'Transfer-Encoding: chunked']);
  for (const text of await hold(begin, '1\r\n \r\n')) assert.match(text, /^HTTP\/1\.1 408 /);
});

test('a connection on which nothing is said is closed', async () => {
  const sockets = await Promise.all(Array.from({ length: attackers }, () => RawSocket.open(address)));
  await Promise.all(sockets.map((socket) => socket.untilClosed(20_000)));
});

test('a body that breaks off leaves nothing behind', async () => {
  const digest = await databaseDigest(app);
  const body = JSON.stringify({ customer: { externalId: 'broken off', email: 'b@acme.test', name: 'B' } });
  const begin = head('POST', customers, ['Content-Type: application/json', `Content-Length: ${body.length + 1}`]);
  for (const leave of [(socket: RawSocket) => socket.end(), (socket: RawSocket) => socket.destroy()]) {
    const socket = await RawSocket.open(address, { allowHalfOpen: true });
    socket.send(begin + body);
    leave(socket);
    await socket.untilClosed();
  }
  assert.equal((await fetch(`${address}/health`)).status, 200);
  assert.equal(await databaseDigest(app), digest);
});

test('whoever closes its side before the answer is let go', async () => {
  const socket = await RawSocket.open(address, { allowHalfOpen: true });
  socket.send(head('GET', customers));
  socket.end();
  await socket.untilClosed();
});

test('who asks and does not read is not answered without end, and is let go', async () => {
  const before = requestsRead;
  const [[held], socket] = await Promise.all([once(server.server, 'connection'), RawSocket.open(address)]);
  socket.stopReading();
  const [packets, requested] = [40, 200];
  // What one packet asks for is begun, and further packets wait unread while the answers of a megabyte do.
  for (let packet = 0; packet < packets; packet++) {
    socket.send(head('GET', '/openapi.json').repeat(requested));
    await sleep(10);
  }
  const begun = Date.now();
  while (!held.destroyed) {
    assert(Date.now() - begun < 20_000, 'the connection is still held');
    await sleep(100);
  }
  assert(
    requestsRead - before < (packets * requested) / 2,
    `${requestsRead - before} of ${packets * requested} were read`,
  );
  socket.destroy();
});

test('beyond the limit connections are closed at once, and taken again when others have gone', async () => {
  const sockets = await Promise.all(Array.from({ length: limits.connections + 50 }, () => RawSocket.open(address)));
  const isRefused = async () => sockets.filter(({ isClosed }) => isClosed).length >= 50;
  const begun = Date.now();
  while (!(await isRefused())) {
    assert(Date.now() - begun < 10_000, 'none was closed');
    await sleep(20);
  }
  for (const socket of sockets) socket.destroy();
  for (let left = 100; ; left--) {
    const answered = await fetch(`${address}/health`).catch(() => null);
    if (answered?.status === 200) break;
    assert(left > 0, 'nobody is taken any more');
    await sleep(50);
  }
});

test('an address with 30 idle connections shuts out nobody else, and health is answered while all are taken', async () => {
  const guarded = await createApp({
    database: app.database,
    migrated: async () => true,
    connections: {
      ...connectionLimits,
      connections: 60,
      perAddress: 30,
      reserved: 20,
      reservedPerAddress: 4,
      reservedMs: 500,
    },
  });
  const at = await guarded.listen({ host: '127.0.0.1', port: 0 });
  after(() => guarded.close());
  const idle = (count: number, from: string) =>
    Promise.all(Array.from({ length: count }, () => RawSocket.open(at, { from })));
  const ask = async (path: string, from: string) => {
    const socket = await RawSocket.open(at, { from });
    socket.send(head('GET', path, ['Connection: close']));
    return (await socket.untilClosed()).statuses.join();
  };
  const [attacker, customer, monitor] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const;

  const held = await idle(40, attacker);
  assert.equal(await ask(customers, customer), '200');
  // Six are closed at once, and the four in the reserve half a second later.
  const isOpen = ({ isClosed }: RawSocket) => !isClosed;
  for (let left = 100; held.filter(isOpen).length > 30; left--) {
    assert(left > 0, `${held.filter(isOpen).length} are open`);
    await sleep(50);
  }
  assert.equal(await ask('/health', attacker), '200');
  assert.equal(await ask(customers, attacker), '503');

  held.push(...(await idle(10, customer)));
  // A connection of the reserve answers once, though the client would keep it.
  const reserved = await RawSocket.open(at, { from: monitor });
  reserved.send(head('GET', '/health').repeat(2));
  assert.deepEqual((await reserved.untilClosed()).statuses, [200]);
  assert.equal(await ask('/ready', monitor), '200');
  assert.equal(await ask(customers, monitor), '503');
  assert.equal(held.filter(isOpen).length, 40);

  for (const socket of held) socket.destroy();
  for (let left = 100; (await ask(customers, attacker)) !== '200'; left--) assert(left > 0, 'nobody is taken any more');
});

test('idle connections are kept for 5 s instead of 72 s while more than half of all are taken', async () => {
  const isKept = async (seconds: number) => {
    for (let left = 100; ; left--) {
      const kept = (await fetch(`${address}/health`)).headers.get('keep-alive');
      if (kept === `timeout=${seconds}`) return;
      assert(left > 0, `kept for ${kept}`);
      await sleep(20);
    }
  };
  await isKept(72);
  const sockets = await Promise.all(Array.from({ length: 130 }, () => RawSocket.open(address)));
  await isKept(5);
  for (const socket of sockets) socket.destroy();
  await isKept(72);
});
