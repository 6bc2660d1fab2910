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
