import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { base62, formatId, idRandomRange, idsPerMillisecond } from './id.ts';

test('base 62 counts 0-9, A-Z, a-z', () => {
  assert.equal(base62(0, 3), '000');
  assert.equal(base62(61, 3), '00z');
  assert.equal(base62(62, 3), '010');
  assert.throws(() => base62(62, 1), /does not fit/);
});

test('an id is its prefix and 21 characters', () => {
  assert.match(formatId('subscription', 1_767_225_600_000, 5, 7), /^sub_[0-9A-Za-z]{21}$/);
});

test('the order of ids is the order of time, then of the counter', () => {
  const moment = fc.tuple(fc.nat({ max: 2 ** 47 }), fc.nat({ max: idsPerMillisecond - 1 }));
  fc.assert(
    fc.property(moment, moment, fc.nat({ max: idRandomRange - 1 }), (a, b, random) => {
      const [idA, idB] = [formatId('event', a[0], random, a[1]), formatId('event', b[0], random, b[1])];
      assert.equal(Math.sign(a[0] - b[0] || a[1] - b[1]), idA < idB ? -1 : idA > idB ? 1 : 0);
    }),
  );
});
