import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { creditsGivenUp, unusedAfterCredits, valueOfOwed } from './interval-change.ts';

const month = { start: 0, end: 30 };

test('credits of the time that is given up are taken back as far as they are unused', () => {
  const left = (rest: bigint, at: number) =>
    creditsGivenUp({ entitled: 1000n, granted: 1000n, rest, takenByHand: 0n }, month, at);
  assert.deepEqual(left(100n, 15), { ahead: 500n, takenBack: 100n, usedAhead: 400n, inRest: 500n });
  assert.deepEqual(left(800n, 15), { ahead: 500n, takenBack: 500n, usedAhead: 0n, inRest: 500n }, '300 are left over');
  assert.deepEqual(left(0n, 0), { ahead: 1000n, takenBack: 0n, usedAhead: 1000n, inRest: 1000n });
  assert.deepEqual(left(0n, 30), { ahead: 0n, takenBack: 0n, usedAhead: 0n, inRest: 0n });
});

test('a plan that was granted later gives up no more than it granted', () => {
  assert.equal(creditsGivenUp({ entitled: 1000n, granted: 200n, rest: 200n, takenByHand: 0n }, month, 15).ahead, 200n);
});

test('credits that the seller took back by hand were not used ahead', () => {
  const left = (rest: bigint, takenByHand: bigint) =>
    creditsGivenUp({ entitled: 360n, granted: 360n, rest, takenByHand }, month, 15);
  assert.deepEqual(
    left(0n, 260n),
    { ahead: 180n, takenBack: 0n, usedAhead: 0n, inRest: 180n },
    '100 were used in half the month',
  );
  assert.deepEqual(left(0n, 60n), { ahead: 180n, takenBack: 0n, usedAhead: 120n, inRest: 180n }, '300 were used');
  assert.deepEqual(left(160n, 100n), { ahead: 180n, takenBack: 160n, usedAhead: 0n, inRest: 180n });
});

test('credits that were used ahead are taken back from the next grant, or else lower the value', () => {
  const used = { inRest: 500n, usedAhead: 400n };
  assert.equal(unusedAfterCredits(1500n, [{ ...used, nextGrant: 12_000n }]), 1500n);
  assert.equal(unusedAfterCredits(1500n, [{ ...used, nextGrant: 0n }]), 300n);
  assert.equal(unusedAfterCredits(1500n, [{ ...used, nextGrant: 150n }]), 750n, '250 of 500 are missing');
  assert.equal(
    unusedAfterCredits(1500n, [{ ...used, inRest: 1500n, nextGrant: 0n }]),
    1100n,
    '400 of 1500 are missing',
  );
  assert.equal(unusedAfterCredits(1500n, []), 1500n);
});

test('the value of owed units falls as they are paid back', () => {
  const rest = { kept: 2000n, paused: 240n, used: 240n, owed: 240n };
  assert.equal(valueOfOwed([rest]), 2000n);
  assert.equal(valueOfOwed([{ ...rest, used: 120n, owed: 120n }]), 1000n, 'the other half was taken back');
  const paidBack = (units: bigint) => ({ kept: 0n, paused: 0n, used: 0n, owed: -units });
  assert.equal(valueOfOwed([rest, paidBack(120n)]), 1000n);
  assert.equal(valueOfOwed([rest, paidBack(240n)]), 0n);
  assert.equal(valueOfOwed([{ ...rest, owed: 180n }]), 1500n, '60 were held, and expired unused');
  assert.equal(valueOfOwed([]), 0n);
});

test('the value stays between nothing and all of it', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 6n });
  fc.assert(
    fc.property(fc.tuple(amount, amount, amount, amount, amount), fc.nat(30), (amounts, at) => {
      const [unused, granted, used, nextGrant, byHand] = amounts;
      const notUsed = granted - (used < granted ? used : granted);
      const takenByHand = byHand < notUsed ? byHand : notUsed;
      const rest = notUsed - takenByHand;
      const given = creditsGivenUp({ entitled: granted, granted, rest, takenByHand }, month, at);
      const without = creditsGivenUp({ entitled: granted, granted, rest: notUsed, takenByHand: 0n }, month, at);
      assert.equal(given.usedAhead, without.usedAhead, 'a take-back by hand changes nothing of what was used');
      assert.equal(without.takenBack + without.usedAhead, given.ahead);
      assert.ok(given.takenBack <= rest);
      const value = unusedAfterCredits(unused, [{ ...given, nextGrant }]);
      assert.ok(value >= 0n && value <= unused);
    }),
  );
});
