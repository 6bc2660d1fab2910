import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { loopback } from '../../src/jobs/address-guard.ts';
import { createOutbound, type OutboundAnswer, type OutboundPolicy } from '../../src/jobs/outbound.ts';

/** A server that speaks as the test says, byte by byte: what it writes when a request has arrived whole. */
async function startServer(answer: (socket: Socket, request: string) => void) {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let text = '';
    socket.setEncoding('utf8').on('error', () => undefined);
    socket.on('data', (chunk) => {
      text += chunk;
      if (!isWhole(text)) return;
      requests.push(text);
      answer(socket, text);
      text = '';
    });
  });
  await listen(server);
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: urlOf(server), requests, sockets };
}

async function listen(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

function isWhole(request: string): boolean {
  const [head = '', body] = request.split('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(head)?.[1] ?? '0';
  return body !== undefined && Buffer.byteLength(body) >= Number(length);
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()));
}

function open(policy: Partial<OutboundPolicy> = {}) {
  const outbound = createOutbound({ allow: loopback, allowInTestMode: [], timeoutMs: 5000, ...policy });
  after(() => outbound.close());
  return outbound;
}

const outbound = open();
// Long enough for a server that means to answer, and no longer than a test should wait for one that does not.
const impatient = open({ timeoutMs: 400 });
const late = 'No response within 0.4 seconds.';

const message = { livemode: false, headers: { 'content-type': 'application/json' }, body: '{"type":"a"}' };

/** What there is of an answer without the time it took. */
function told({ durationMs, ...answer }: OutboundAnswer) {
  assert.ok(Number.isSafeInteger(durationMs) && durationMs >= 0, `${durationMs} ms`);
  return answer;
}

async function answerTo(write: (socket: Socket) => void, through = outbound) {
  const server = await startServer(write);
  const answer = told(await through.post({ ...message, url: server.url }));
  return { answer, server };
}

const http = (status: string, headers = '', body = '') =>
  `HTTP/1.1 ${status}\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

test('a message arrives as it was given, with what HTTP needs and nothing more', async () => {
  const server = await startServer((socket) => socket.write(http('200 OK')));
  const headers = { 'content-type': 'application/json', 'webhook-id': 'event_1', 'user-agent': 'Tollkeeper/1' };
  await outbound.post({ livemode: false, url: `${server.url}/a%20b?c=d&e#part`, headers, body: '{"name":"Zoë"}' });
  const [head = '', body] = (server.requests[0] ?? '').split('\r\n\r\n');
  assert.equal(body, '{"name":"Zoë"}');
  const [line, ...sent] = head.split('\r\n');
  assert.equal(line, 'POST /hook/a%20b?c=d&e HTTP/1.1');
  assert.deepEqual(sent.sort(), [
    'connection: keep-alive',
    'content-length: 15',
    'content-type: application/json',
    `host: ${new URL(server.url).host}`,
    'user-agent: Tollkeeper/1',
    'webhook-id: event_1',
  ]);
});

describe('an answer is its status, the beginning of its body and when to come again', () => {
  const long = 'é'.repeat(2000);
  const table: readonly (readonly [
    claim: string,
    sent: string | Buffer,
    statusCode: number,
    body: string,
    retryAfter?: string,
  ])[] = [
    ['200', http('200 OK', '', 'thanks'), 200, 'thanks'],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', 204, ''],
    ['410', http('410 Gone', '', 'gone'), 410, 'gone'],
    ['429 with seconds', http('429 Too Many Requests', 'retry-after: 120\r\n'), 429, '', '120'],
    [
      '503 with a date',
      http('503 No', 'Retry-After: Sat, 21 Nov 2026 23:00:00 GMT\r\n'),
      503,
      '',
      'Sat, 21 Nov 2026 23:00:00 GMT',
    ],
    ['429 that says it twice', http('429 No', 'retry-after: 7\r\nretry-after: 9\r\n'), 429, '', '7'],
    ['500', http('500 Oh', '', '{"error":"no\\u0000"}'), 500, '{"error":"no\\u0000"}'],
    ['hints before it', `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${http('200 OK', '', 'ok')}`, 200, 'ok'],
    ['a body of 4,000 bytes', http('200 OK', '', long), 200, 'é'.repeat(1024)],
    ['a body that ends within a character', http('200 OK', '', `a${long}`), 200, `a${'é'.repeat(1023)}`],
    ['NUL in the body', http('200 OK', '', 'a\0b'), 200, 'ab'],
    ['no UTF-8 in the body', Buffer.from(http('200 OK', '', 'a?b').replace('?', '\xff'), 'latin1'), 200, 'a\ufffdb'],
    ['a compressed body, which stays so', http('200 OK', 'content-encoding: gzip\r\n', 'zipped'), 200, 'zipped'],
    [
      'a body without an announced end',
      'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nuntil I close',
      200,
      'until I close',
    ],
    [
      'a body in chunks',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n',
      200,
      'abcde',
    ],
    [
      'a body that is cut',
      'HTTP/1.1 200 OK\r\ncontent-length: 100\r\nconnection: close\r\n\r\nonly this',
      200,
      'only this',
    ],
  ];
  for (const [claim, sent, statusCode, body, retryAfter = null] of table)
    test(claim, async () => {
      const { answer } = await answerTo((socket) => {
        socket.write(sent);
        if (sent.includes('connection: close')) socket.end();
      });
      assert.deepEqual(answer, { statusCode, retryAfter, body });
    });

  for (const status of [301, 302, 303, 307, 308])
    test(`${status} is not followed`, async () => {
      const elsewhere = await startServer((socket) => socket.write(http('200 OK')));
      const location = `location: ${elsewhere.url}\r\n`;
      const { answer, server } = await answerTo((socket) => socket.write(http(`${status} Moved`, location)));
      assert.deepEqual(answer, { statusCode: status, retryAfter: null, body: '' });
      assert.deepEqual([server.requests.length, elsewhere.sockets.length], [1, 0]);
    });
});

describe('an answer without an end', () => {
  test('an answer without an end of 100 MB is not read on', async () => {
    const piece = Buffer.alloc(1_000_000, 'a');
    let taken = 0;
    const { answer, server } = await answerTo((socket) => {
      const pour = () => {
        while (taken < 100 && socket.writable) {
          taken += 1;
          if (!socket.write(piece)) return;
        }
      };
      socket.on('drain', pour).write('HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n');
      pour();
    });
    assert.deepEqual(answer, { statusCode: 200, retryAfter: null, body: 'a'.repeat(2048) });
    const [socket] = server.sockets;
    assert(socket);
    await closed(socket);
    // What the system holds between two sockets, and no more.
    assert.ok(taken < 30, `${taken} MB were taken`);
  });

  test('of this machine is not shown where only a default allows it, and its length is', async () => {
    const trial = open({ allow: [], allowInTestMode: loopback });
    const { answer, server } = await answerTo((socket) => socket.write(http('200 OK', '', 'a secret')), trial);
    const body = 'Not shown: 8 bytes from an address of this machine. With TOLLKEEPER_WEBHOOK_ALLOW they are.';
    assert.deepEqual(answer, { statusCode: 200, retryAfter: null, body });
    assert.equal(server.requests.length, 1);
    const byName = await trial.post({ ...message, url: server.url.replace('127.0.0.1', 'localhost') });
    assert.equal('body' in byName && byName.body, body);
  });

  test('that comes slowly is waited for until the time is up, and counts', async () => {
    const { answer } = await answerTo(
      (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nand'),
      impatient,
    );
    assert.deepEqual(answer, { statusCode: 200, retryAfter: null, body: 'and' });
  });

  const failures: readonly (readonly [claim: string, piece: string, failure: string])[] = [
    ['of headers', 'x-more: and more and more and more\r\n', 'The response headers are larger than 16 KiB.'],
    ['of one header', 'and more and more and more and more', 'The response headers are larger than 16 KiB.'],
    ['of hints', '\r\n\r\nHTTP/1.1 103 Early Hints\r\nx-first: ', late],
  ];
  for (const [claim, piece, failure] of failures)
    test(`${claim} is a failure`, async () => {
      const { answer } = await answerTo((socket) => {
        socket.write('HTTP/1.1 103 Early Hints\r\nx-first: ');
        const timer = setInterval(() => socket.write(piece.repeat(50)), 2);
        socket.on('close', () => clearInterval(timer));
      }, impatient);
      assert.deepEqual(answer, { failure });
    });
});

describe('no answer says why', () => {
  const table: readonly (readonly [claim: string, write: (socket: Socket) => void, failure: RegExp])[] = [
    ['silence', () => undefined, /^No response within 0\.4 seconds\.$/],
    [
      'half of an answer',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nserver: sl'),
      /^No response within 0\.4 seconds\.$/,
    ],
    ['a connection that is closed', (socket) => socket.end(), /^No response: the connection was closed\.$/],
    ['one that is cut', (socket) => socket.resetAndDestroy(), /^No response: ECONNRESET$/],
    [
      'one that is cut in the headers',
      (socket) => socket.end('HTTP/1.1 200 OK\r\nserver: sl'),
      /^No response: the connection was closed\.$/,
    ],
    ['another protocol', (socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'), /^The response is not HTTP\.$/],
    [
      'a protocol that was not asked for',
      (socket) => socket.write('HTTP/1.1 101 Yes\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      /^No response: the connection was closed\.$/,
    ],
  ];
  for (const [claim, write, failure] of table)
    test(claim, async () => {
      const { answer } = await answerTo(write, impatient);
      assert('failure' in answer, JSON.stringify(answer));
      assert.match(answer.failure, failure);
    });

  test('nobody listens', async () => {
    const server = createServer();
    await listen(server);
    const url = urlOf(server);
    await new Promise((resolve) => server.close(resolve));
    assert.deepEqual(told(await outbound.post({ ...message, url })), { failure: 'No response: ECONNREFUSED' });
  });

  test('a name that is not found, or not in time', async () => {
    const url = 'https://hooks.example.test/';
    const absent = open({
      lookup: async () => Promise.reject(Object.assign(new Error('not found'), { code: 'ENOTFOUND' })),
    });
    assert.deepEqual(told(await absent.post({ ...message, url })), {
      failure: 'The host name hooks.example.test has no address.',
    });
    const silent = open({ timeoutMs: 400, lookup: () => new Promise(() => undefined) });
    const answer = await silent.post({ ...message, url });
    assert.deepEqual(told(answer), { failure: late });
    assert.ok(answer.durationMs >= 390 && answer.durationMs < 3000, `${answer.durationMs} ms`);
  });

  test('a message that is none, in a text that can be stored', async () => {
    const { url } = await startServer((socket) => socket.write(http('200 OK')));
    const bad = await outbound.post({ ...message, url, headers: { 'x-name': 'a\r\nb' } });
    assert.match('failure' in bad ? bad.failure : '', /^No response: UND_ERR_INVALID_ARG$/);
    const odd = open({ lookup: async () => Promise.reject(new Error(`a\0${'\u{1f600}'.repeat(400)}`)) });
    const answer = await odd.post({ ...message, url: 'https://hooks.example.test/' });
    assert('failure' in answer);
    assert.ok(answer.failure.startsWith('No response: a\u{1f600}') && answer.failure.length <= 500);
    assert.ok(answer.failure.isWellFormed());
  });
});

describe('connections', () => {
  test('connections are used again, one request at a time', async () => {
    const server = await startServer((socket) => socket.write(http('200 OK', '', 'ok')));
    for (let number = 1; number <= 5; number += 1) await outbound.post({ ...message, url: server.url });
    // A connection rests for a moment after an answer, so that two take turns.
    assert.equal(server.requests.length, 5);
    assert.ok(server.sockets.length <= 2, `${server.sockets.length} connections`);
    const waiting: Socket[] = [];
    const slow = await startServer((socket) => {
      waiting.push(socket);
      if (waiting.length === 20) for (const each of waiting) each.write(http('200 OK'));
    });
    // None is answered before all twenty have arrived.
    const answers = await Promise.all(Array.from({ length: 20 }, () => outbound.post({ ...message, url: slow.url })));
    assert.ok(answers.every((answer) => 'statusCode' in answer && answer.statusCode === 200));
    assert.equal(slow.sockets.length, 20);
  });

  test('that were idle are closed with the way out, and those in use when they are done', async () => {
    const closing = createOutbound({ allow: [], allowInTestMode: loopback, timeoutMs: 400 });
    const server = await startServer((socket) => socket.write(http('200 OK')));
    await closing.post({ ...message, url: server.url });
    const silent = await startServer(() => undefined);
    const last = closing.post({ ...message, url: silent.url });
    await closing.close();
    assert.deepEqual(told(await last), { failure: late });
    await Promise.all([...server.sockets, ...silent.sockets].map(closed));
    assert.match(JSON.stringify(await closing.post({ ...message, url: server.url })), /"failure":"No response: /);
  });
});
