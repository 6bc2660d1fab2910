import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { creditsGivenUp, unusedAfterCredits } from './interval-change.ts';

const month = { start: 0, end: 30 };

test('credits of the time that is given up are taken back as far as they are unused', () => {
  const left = (rest: bigint, at: number) => creditsGivenUp({ entitled: 1000n, granted: 1000n, rest }, month, at);
  assert.deepEqual(left(100n, 15), { ahead: 500n, takenBack: 100n, usedAhead: 400n });
  assert.deepEqual(left(800n, 15), { ahead: 500n, takenBack: 500n, usedAhead: 0n }, '300 are left over');
  assert.deepEqual(left(0n, 0), { ahead: 1000n, takenBack: 0n, usedAhead: 1000n });
  assert.deepEqual(left(0n, 30), { ahead: 0n, takenBack: 0n, usedAhead: 0n });
});

test('a plan that was granted later gives up no more than it granted', () => {
  assert.equal(creditsGivenUp({ entitled: 1000n, granted: 200n, rest: 200n }, month, 15).ahead, 200n);
});

test('credits that were used ahead are taken back from the next grant, or else lower the value', () => {
  const used = { ahead: 500n, usedAhead: 400n };
  assert.equal(unusedAfterCredits(1500n, [{ ...used, nextGrant: 12_000n }]), 1500n);
  assert.equal(unusedAfterCredits(1500n, [{ ...used, nextGrant: 0n }]), 300n);
  assert.equal(unusedAfterCredits(1500n, [{ ...used, nextGrant: 150n }]), 750n, '250 of 500 are missing');
  assert.equal(unusedAfterCredits(1500n, []), 1500n);
});

test('the value stays between nothing and all of it', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 6n });
  fc.assert(
    fc.property(amount, amount, amount, amount, fc.nat(30), (unused, granted, used, nextGrant, at) => {
      const rest = granted - (used < granted ? used : granted);
      const given = creditsGivenUp({ entitled: granted, granted, rest }, month, at);
      assert.equal(given.takenBack + given.usedAhead, given.ahead);
      assert.ok(given.takenBack <= rest);
      const value = unusedAfterCredits(unused, [{ ...given, nextGrant }]);
      assert.ok(value >= 0n && value <= unused);
    }),
  );
});
