import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashApiKey } from '../database/api-key.ts';
import { RateLimit } from './rate-limit.ts';

const key = (name: string) => hashApiKey(name);
const refuses = (problem: string) => (error: unknown) => (error as { problem: string }).problem === problem;

/** How many requests in a row are let in. */
function letIn(limit: RateLimit, hash: Buffer, address = '192.0.2.1'): number {
  for (let count = 0; ; count++) {
    try {
      limit.admit(hash, address);
    } catch {
      return count;
    }
  }
}

test('five a second: ten at once, then one each 200 ms, and never more than ten', () => {
  let now = 0;
  const limit = new RateLimit({ perKey: 5, now: () => now });
  limit.accept(limit.admit(key('good'), '192.0.2.1'));
  assert.equal(letIn(limit, key('good')), 10);
  assert.throws(() => limit.admit(key('good'), '192.0.2.1'), refuses('rateLimited'));
  now = 199;
  assert.equal(letIn(limit, key('good')), 0);
  now = 200;
  assert.equal(letIn(limit, key('good')), 1);
  now = 60_000;
  assert.equal(letIn(limit, key('good')), 10);
});

test('each key has a limit of its own, and 0 is none', () => {
  const limit = new RateLimit({ perKey: 5, now: () => 0 });
  for (const name of ['one', 'other']) limit.accept(limit.admit(key(name), '192.0.2.1'));
  assert.deepEqual([letIn(limit, key('one')), letIn(limit, key('other'))], [10, 10]);
  const none = new RateLimit({ perKey: 0, now: () => 0 });
  none.accept(none.admit(key('one'), '192.0.2.1'));
  for (let count = 0; count < 1_000; count++) none.admit(key('one'), '192.0.2.1');
});

test('200 wrong keys at once from one address, then 100 a second; who was known before is not held up by them', () => {
  let now = 0;
  const limit = new RateLimit({ perKey: 5, now: () => now });
  limit.accept(limit.admit(key('known'), '192.0.2.1'));
  const guess = (n: number, address: string) => limit.reject(limit.admit(key(`guess ${n}`), address));
  for (let n = 0; n < 200; n++) guess(n, '192.0.2.1');
  assert.throws(() => guess(200, '192.0.2.1'), refuses('tooManyWrongKeys'));
  guess(201, '192.0.2.2');
  assert.equal(letIn(limit, key('known')), 10);
  now = 10;
  guess(202, '192.0.2.1');
  assert.throws(() => guess(203, '192.0.2.1'), refuses('tooManyWrongKeys'));
});

test('who has a network of IPv6 addresses is one guesser, however they are written', () => {
  const limit = new RateLimit({ perKey: 5, now: () => 0 });
  const addresses = ['2001:db8::1', '2001:db8:0:0:5::9', '2001:db8::a:b:c:d'];
  for (let n = 0; n < 200; n++) limit.reject(limit.admit(key(`guess ${n}`), addresses[n % 3] ?? ''));
  for (const address of addresses) assert.throws(() => limit.admit(key('x'), address), refuses('tooManyWrongKeys'));
  limit.admit(key('x'), '2001:db8:0:1::1');
});

test('1,674 guesses at once are 200 that anybody looks at, and a key that proves valid gives its place back', () => {
  const limit = new RateLimit({ perKey: 5, now: () => 0 });
  // None is answered yet: they come over many connections.
  const admitted = Array.from({ length: 1_674 }, (_, n) => {
    try {
      return limit.admit(key(`guess ${n}`), '192.0.2.1');
    } catch {
      return null;
    }
  }).filter((caller) => caller !== null);
  assert.equal(admitted.length, 200);
  const [good, lost] = admitted;
  assert(good && lost);
  limit.accept(good);
  limit.forget(lost);
  assert.equal(letIn(limit, key('another')), 2);
});

test('a document without a key is read twenty times at once from one address, then ten times a second', () => {
  let now = 0;
  const limit = new RateLimit({ perKey: 5, now: () => now });
  const read = (address: string) => limit.admitReader(address);
  for (let n = 0; n < 20; n++) read('192.0.2.1');
  assert.throws(() => read('192.0.2.1'), refuses('tooManyReads'));
  read('192.0.2.2');
  now = 100;
  read('192.0.2.1');
  assert.throws(() => read('192.0.2.1'), refuses('tooManyReads'));
});

test('a key that is revoked counts as wrong from then on', () => {
  const limit = new RateLimit({ perKey: 5, now: () => 0 });
  limit.accept(limit.admit(key('old'), '192.0.2.1'));
  for (let n = 0; n < 200; n++) limit.reject(limit.admit(key('old'), '192.0.2.1'));
  assert.throws(() => limit.admit(key('old'), '192.0.2.1'), refuses('tooManyWrongKeys'));
});

test('pages: a link has five a second, a customer ten, an address as many as are set; ten seconds of pause do not add up', () => {
  let now = 0;
  const limit = new RateLimit({ perKey: 0, pagesPerAddress: 50, now: () => now });
  const pages = (of: 'address' | 'link' | 'visitor', name: string) => {
    for (let count = 0; ; count++) {
      try {
        limit.admitPage(of, name);
      } catch (error) {
        assert(refuses('tooManyPages')(error));
        return count;
      }
    }
  };
  const all = () => [pages('link', 'one'), pages('visitor', 'one'), pages('address', '192.0.2.1')];
  assert.deepEqual(all(), [10, 20, 100]);
  assert.deepEqual([pages('link', 'other'), pages('address', '192.0.2.2')], [10, 100]);
  now = 1_000;
  assert.deepEqual(all(), [5, 10, 50]);
  now = 11_000;
  assert.deepEqual(all(), [10, 20, 100]);
  const none = new RateLimit({ perKey: 0, now: () => 0 });
  for (let count = 0; count < 1_000; count++) none.admitPage('address', '192.0.2.1');
});
