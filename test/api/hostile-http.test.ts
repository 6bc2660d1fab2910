import assert from 'node:assert/strict';
import { test } from 'node:test';
import { databaseDigest } from '../support/digest.ts';
import { startTestApp } from '../support/harness.ts';
import { exchange, RawSocket, statusesIn } from '../support/raw-socket.ts';
import { seededRandom } from '../support/seed.ts';

const app = await startTestApp();
const lines = (...all: readonly string[]) => `${all.join('\r\n')}\r\n\r\n`;
const host = 'Host: localhost';
const key = `Authorization: Bearer ${app.testKey}`;
const close = 'Connection: close';
const json = 'Content-Type: application/json';
const customer = JSON.stringify({ customer: { externalId: 'smuggled', email: 's@acme.test', name: 'S' } });
const post = (...headers: readonly string[]) => lines('POST /api/v1/customers HTTP/1.1', host, key, json, ...headers);
const chunk = `${customer.length.toString(16)}\r\n${customer}\r\n`;

/** What no parser should guess about, and what is answered: nothing of it is a request. */
const malformed: Readonly<Record<string, string>> = {
  'a length and chunks': `${post(`Content-Length: ${customer.length}`, 'Transfer-Encoding: chunked')}${chunk}0\r\n\r\n`,
  'chunks and a length': `${post('Transfer-Encoding: chunked', `Content-Length: ${customer.length}`)}${chunk}0\r\n\r\n`,
  'two lengths': `${post('Content-Length: 5', `Content-Length: ${customer.length}`)}${customer}`,
  'the same length twice': `${post(`Content-Length: ${customer.length}`, `Content-Length: ${customer.length}`)}${customer}`,
  'two lengths in one line': `${post(`Content-Length: ${customer.length}, ${customer.length}`)}${customer}`,
  'a length with a sign': `${post(`Content-Length: +${customer.length}`)}${customer}`,
  'a negative length': `${post('Content-Length: -1')}${customer}`,
  'a length in hexadecimal': `${post('Content-Length: 0x10')}${customer}`,
  'a length beyond any': `${post('Content-Length: 99999999999999999999')}${customer}`,
  'an unknown coding last': `${post('Transfer-Encoding: chunked, identity')}${chunk}0\r\n\r\n`,
  'a blank before the colon': `${post('Transfer-Encoding : chunked')}${chunk}0\r\n\r\n`,
  'a tab before the name': `${post('\tTransfer-Encoding: chunked')}${chunk}0\r\n\r\n`,
  'a coding that only looks like chunked': `${post('Transfer-Encoding: \x0bchunked')}${chunk}0\r\n\r\n`,
  'a chunk size that is none': `${post('Transfer-Encoding: chunked')}zz\r\n${customer}\r\n0\r\n\r\n`,
  'a negative chunk size': `${post('Transfer-Encoding: chunked')}-1\r\n${customer}\r\n0\r\n\r\n`,
  'a chunk size beyond any': `${post('Transfer-Encoding: chunked')}ffffffffffffffffff\r\n${customer}\r\n0\r\n\r\n`,
  'a chunk longer than its size': `${post('Transfer-Encoding: chunked')}2\r\n${customer}\r\n0\r\n\r\n`,
  'a chunk size with endless extensions': `${post('Transfer-Encoding: chunked')}1;${'x'.repeat(20_000)}\r\n{\r\n0\r\n\r\n`,
  'a folded header': post('X-Folded: a\r\n b', 'Content-Length: 0'),
  'a NUL in a header': post('X-Nul: a\0b', 'Content-Length: 0'),
  'a carriage return in a header': post('X-Return: a\rContent-Length: 5', 'Content-Length: 0'),
  'a header without a name': post(': a', 'Content-Length: 0'),
  'a header without a colon': post('nonsense', 'Content-Length: 0'),
  'a name that is no token': post('X(Y): a', 'Content-Length: 0'),
  'line ends of another kind': 'GET /health HTTP/1.1\nHost: localhost\n\n',
  'no version': 'GET /health\r\n\r\n',
  'a version that does not exist': lines('GET /health HTTP/9.9', host),
  'HTTP/2 without asking': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a TLS handshake': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'a method that does not exist': lines('STEAL /health HTTP/1.1', host),
  'a blank in the target': lines('GET /hea lth HTTP/1.1', host),
  'another protocol': 'SSH-2.0-OpenSSH_9.6\r\n\r\n',
  'no host': lines('GET /health HTTP/1.1', close),
  'an empty host': lines('GET /health HTTP/1.1', 'Host:', close),
  'a host with a path': lines('GET /health HTTP/1.1', 'Host: localhost/x', close),
  'a host with a user': lines('GET /health HTTP/1.1', 'Host: a@b', close),
  'a port beyond any': lines('GET /health HTTP/1.1', 'Host: localhost:65536', close),
  'a port that is none': lines('GET /health HTTP/1.1', 'Host: localhost:x', close),
};

for (const [claim, bytes] of Object.entries(malformed)) {
  test(`${claim}: refused, and the connection is closed`, async () => {
    const digest = await databaseDigest(app);
    const { statuses, text } = await exchange(app.url, bytes);
    assert.equal(statuses.length, 1, text);
    assert([400, 413].includes(statuses[0] ?? 0), text);
    assert.match(text, /"code":"(BAD_REQUEST|PAYLOAD_TOO_LARGE)"/);
    assert.equal(await databaseDigest(app), digest);
  });
}

const manyHeaders = (count: number) => Array.from({ length: count }, (_, index) => `X-${index}: a`);

/** What is odd and clear, and how it is answered. */
const odd: readonly (readonly [claim: string, bytes: string, statuses: readonly number[]])[] = [
  ['the whole address as target', lines('GET http://localhost/health HTTP/1.1', host, close), [200]],
  ['an address elsewhere as target', lines('GET http://elsewhere.invalid/nope HTTP/1.1', host, close), [404]],
  ['* as target', lines('OPTIONS * HTTP/1.1', host, close), [404]],
  ['HEAD', lines('HEAD /health HTTP/1.1', host, close), [200]],
  ['OPTIONS', lines('OPTIONS /api/v1/customers HTTP/1.1', host, close), [404]],
  ['TRACE', lines('TRACE /health HTTP/1.1', host, close), [404]],
  ['CONNECT', lines('CONNECT localhost:5432 HTTP/1.1', 'Host: localhost:5432'), []],
  ['HTTP/1.0 without a host', lines('GET /health HTTP/1.0'), [200]],
  [
    'an upgrade to websocket',
    lines('GET /health HTTP/1.1', host, 'Connection: Upgrade, close', 'Upgrade: websocket'),
    [200],
  ],
  [
    'an upgrade to HTTP/2',
    lines(
      'GET /health HTTP/1.1',
      host,
      'Connection: Upgrade, HTTP2-Settings, close',
      'Upgrade: h2c',
      'HTTP2-Settings: AAAA',
    ),
    [200],
  ],
  ['an expectation that nobody knows', lines('GET /health HTTP/1.1', host, close, 'Expect: miracles'), [417]],
  ['a long path', lines(`GET /${'a'.repeat(12_000)} HTTP/1.1`, host, close), [404]],
  ['a long query', lines(`GET /health?${'a=b&'.repeat(3000)} HTTP/1.1`, host, close), [200]],
  ['a path that is too long', lines(`GET /${'a'.repeat(70_000)} HTTP/1.1`, host, close), [431]],
  ['a header that is too long', lines('GET /health HTTP/1.1', host, close, `X-Long: ${'a'.repeat(17_000)}`), [431]],
  ['many headers', lines('GET /health HTTP/1.1', host, close, ...manyHeaders(800)), [200]],
  ['too many headers', lines('GET /health HTTP/1.1', host, close, ...manyHeaders(10_000)), [431]],
  ['headers that never end', `GET /health HTTP/1.1\r\n${'X-A: a\r\n'.repeat(100_000)}`, [431]],
  ['a way up in the path', lines('GET /docs/../../../etc/hosts HTTP/1.1', host, close), [404]],
  ['an encoded way up in the path', lines('GET /docs/%2e%2e%2f%2e%2e%2fetc/hosts HTTP/1.1', host, close), [404]],
  ['an encoded NUL in the path', lines('GET /health%00 HTTP/1.1', host, close), [404]],
  ['bytes that are no UTF-8 in the path', lines('GET /api/v1/customers/%ff HTTP/1.1', host, key, close), [400]],
  [
    'prototype keys in the query',
    lines('GET /api/v1/customers?__proto__=a&constructor[prototype]=b HTTP/1.1', host, key, close),
    [400],
  ],
];

for (const [claim, bytes, expected] of odd) {
  test(`${claim}: ${expected.join(', ') || 'no answer'}`, async () => {
    const { statuses, text } = await exchange(app.url, bytes);
    assert.deepEqual(statuses, expected, text.slice(0, 500));
  });
}

test('a form of HTTP/1.0 without a host is refused as one from elsewhere', async () => {
  const form = ['Origin: http://a.invalid', 'Content-Type: application/x-www-form-urlencoded', 'Content-Length: 3'];
  const { statuses } = await exchange(app.url, `${lines('POST /checkout/none HTTP/1.0', ...form)}a=b`);
  assert.deepEqual(statuses, [403]);
});

test('the body is asked for with 100 Continue, and then taken', async () => {
  const socket = await RawSocket.open(app.url);
  socket.send(post(`Content-Length: ${customer.length}`, 'Expect: 100-continue', close));
  for (let left = 200; !socket.text.startsWith('HTTP/1.1 100 '); left--) {
    assert(left > 0, 'no 100 Continue');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  socket.send(customer);
  const { statuses } = await socket.untilClosed();
  assert.deepEqual(statuses, [100, 200]);
});

test('requests sent without waiting are answered in order, each by its own key', async () => {
  const requested = [key, 'X-Nothing: a', key, 'Authorization: Bearer sk_test_wrong', key];
  const requests = requested.map((each) => lines('GET /api/v1/customers?limit=1 HTTP/1.1', host, each));
  const { statuses } = await exchange(app.url, `${requests.join('')}${lines('GET /nope HTTP/1.1', host, close)}`);
  assert.deepEqual(statuses, [200, 401, 200, 401, 200, 404]);
});

test('what follows a body is a request of its own and needs its own key', async () => {
  const hidden = lines('DELETE /api/v1/webhooks/x HTTP/1.1', host, close);
  const { statuses } = await exchange(app.url, `${post('Content-Length: 2')}{}${hidden}`);
  assert.deepEqual(statuses, [400, 401]);
});

test('nonsense after a request closes the connection and nothing else', async () => {
  const { statuses } = await exchange(app.url, `${lines('GET /health HTTP/1.1', host)}nonsense\r\n\r\n`);
  assert(statuses.length <= 2);
  assert.equal((await fetch(`${app.url}/health`)).status, 200);
});

test('random bytes, thousands of them, are no request and no end of the service', async () => {
  const random = seededRandom();
  for (let time = 0; time < 60; time++) {
    const bytes = Uint8Array.from({ length: 4000 }, () => random() * 256);
    const socket = await RawSocket.open(app.url);
    socket.send(bytes);
    socket.end();
    const { text } = await socket.untilClosed();
    assert(
      statusesIn(text).every((status) => status === 400),
      Buffer.from(bytes).toString('hex'),
    );
  }
  assert.equal((await fetch(`${app.url}/health`)).status, 200);
});
