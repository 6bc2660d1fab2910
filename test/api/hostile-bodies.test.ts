import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { listLimits } from '../../src/kernel/json-weight.ts';
import { databaseDigest } from '../support/digest.ts';
import { type Answer, startTestApp } from '../support/harness.ts';
import { exchange } from '../support/raw-socket.ts';

const app = await startTestApp();
const maxBodyBytes = listLimits.bytes;
let digest = '';
before(async () => {
  digest = await databaseDigest(app);
});

const ask = (body: string | Buffer, headers: Readonly<Record<string, string>> = {}, path = '/usage-events/bulk') =>
  app.request('POST', path, body, { headers: { 'content-type': 'application/json', ...headers } });

function assertRefused({ status, body }: Answer, expected: number, message: RegExp): void {
  assert.equal(status, expected, JSON.stringify(body).slice(0, 300));
  assert.match(body.message, message);
  assert.equal(body.error, body.message);
}

const unpacked = Buffer.alloc(50_000_000, ' ');
const packed: Readonly<Record<string, () => Buffer>> = {
  gzip: () => gzipSync(unpacked),
  deflate: () => deflateSync(unpacked),
  br: () => brotliCompressSync(unpacked, { params: { 1: 1 } }),
  'gzip, gzip': () => gzipSync(gzipSync(unpacked)),
};
for (const [encoding, pack] of Object.entries(packed)) {
  test(`a body of 50 MB in ${encoding} is refused unseen`, async () => {
    const held = process.memoryUsage().rss;
    const body = pack();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => ask(body, { 'content-encoding': encoding, 'idempotency-key': 'bomb' })),
    );
    for (const answer of answers) assertRefused(answer, 415, /without Content-Encoding/);
    // Ten of them unpacked would be 500 MB.
    assert(process.memoryUsage().rss - held < 400_000_000);
  });
}

test('identity is no compression', async () => {
  assertRefused(await ask('{}', { 'content-encoding': 'identity' }), 400, /usageEvents/);
});

/** Bodies of up to 16 MiB that would be heavy to read, and why they are not read. */
const heavy: readonly (readonly [claim: string, body: () => Buffer | string, message: RegExp])[] = [
  ['brackets that never close', () => Buffer.alloc(maxBodyBytes, '['), /nested deeper than 64/],
  ['lists in lists', () => '['.repeat(8_000_000) + ']'.repeat(8_000_000), /nested deeper than 64/],
  ['records in records', () => `${'{"a":'.repeat(2_500_000)}1${'}'.repeat(2_500_000)}`, /nested deeper than 64/],
  ['a little list in lists', () => '['.repeat(65) + ']'.repeat(65), /nested deeper than 64/],
  ['millions of zeros', () => `{"usageEvents":[${'0,'.repeat(8_000_000)}0]}`, /more than 500000 values/],
  ['millions of empty events', () => `{"usageEvents":[${'{},'.repeat(5_000_000)}{}]}`, /more than 500000 values/],
  ['a million keys', () => `{${keys(1_000_000)}}`, /more than 500000 values/],
  [
    'an event of many properties',
    () => `{"usageEvents":[{"properties":{${keys(400_000)}}}]}`,
    /usageEvents\.0: is longer than/,
  ],
  [
    'an event that nearly fits',
    () => `{"usageEvents":[{"properties":{${keys(20_000)}}}]}`,
    /usageEvents\.0\.transactionId/,
  ],
  ['many keys', () => `{${keys(80_000)}}`, /more than 20000 values beside/],
  ['as many keys as are read', () => `{${keys(19_000)}}`, /usageEvents/],
  ['keys that are numbers', () => `{${keys(19_000, (index) => String(2 ** 31 + index))}}`, /usageEvents/],
  [
    'keys that differ in their last letter',
    () => `{${keys(14_000, (index) => `${'k'.repeat(60)}${index}`)}}`,
    /usageEvents/,
  ],
  ['one key again and again', () => `{${'"usageEvents":[],'.repeat(19_000)}"usageEvents":0}`, /usageEvents/],
  [
    'a list before the one that counts',
    () => `{"usageEvents":[${'{},'.repeat(9_000)}{}],"usageEvents":0}`,
    /must be a list/,
  ],
  ['an element that is missing', () => `{"usageEvents":[${'{},'.repeat(20_000)}]}`, /JSON/],
  ['a number of 16 million digits', () => `[${'9'.repeat(maxBodyBytes - 2)}]`, /more than 1048576 bytes beside/],
  ['a number of a million digits', () => `[${'9'.repeat(1_000_000)}]`, /too large for a number/],
  ['a long fraction', () => `[0.${'3'.repeat(1_000_000)}]`, /must be an object/],
  ['a text of NUL characters', () => `["${'\\u0000'.repeat(100_000)}"]`, /NUL/],
  ['a text of halves of pairs', () => `{"a":"${'\\ud800'.repeat(100_000)}"}`, /surrogate/],
  ['10,001 events', () => `{"usageEvents":[${'{},'.repeat(10_000)}{}]}`, /10000/],
  ['blanks', () => Buffer.alloc(1_000_000, ' '), /JSON/],
];
for (const [claim, body, message] of heavy) {
  test(`${claim}: refused`, async () => assertRefused(await ask(body()), 400, message));
}

const lines = { 'content-type': 'application/x-ndjson' };
const heavyLines: readonly (readonly [claim: string, body: () => Buffer | string, message: RegExp])[] = [
  ['16 million empty lines', () => Buffer.alloc(maxBodyBytes, '\n'), /more than 500000 values/],
  ['8 million zeros in lines', () => Buffer.alloc(maxBodyBytes, '0\n'), /more than 500000 values/],
  ['10,001 lines', () => '{}\n'.repeat(10_001), /10000/],
  ['one line that never ends', () => `{"a":"${'a'.repeat(maxBodyBytes - 10)}`, /line 1/],
  ['a line that nests', () => `{}\n${'['.repeat(100_000)}`, /nested deeper than 64/],
];
for (const [claim, body, message] of heavyLines) {
  test(`${claim}: refused`, async () => assertRefused(await ask(body(), lines), 400, message));
}

test('a body one byte beyond 16 MiB is refused, with and without its length', async () => {
  const body = Buffer.alloc(maxBodyBytes + 1, ' ');
  for (const headers of [{}, lines]) assertRefused(await ask(body, headers), 413, /larger than 16777216 bytes/);
  assertRefused(await ask(body.subarray(0, 2 ** 20 + 1), {}, '/customers'), 413, /larger than 1048576 bytes/);
  const head = ['POST /api/v1/customers HTTP/1.1', 'Host: localhost', `Authorization: ${app.testKey}`];
  const chunk = Buffer.from(`${(1024 * 1024).toString(16)}\r\n${' '.repeat(1024 * 1024)}\r\n`);
  const chunks = Array.from({ length: 17 }, () => chunk);
  const begin = [...head, 'Content-Type: application/json', 'Transfer-Encoding: chunked', 'Connection: close', '', ''];
  const { statuses } = await exchange(app.url, Buffer.concat([Buffer.from(begin.join('\r\n')), ...chunks]));
  assert.deepEqual(statuses, [413]);
});

test('after all of them nothing is stored, and the service answers as before', async () => {
  assert.equal(await databaseDigest(app), digest);
  assert.equal((await app.request('GET', '/customers')).status, 200);
});

function keys(count: number, name = (index: number) => `k${index}`): string {
  return Array.from({ length: count }, (_, index) => `"${name(index)}":0`).join();
}
