import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mulDiv } from '../kernel/money.ts';
import { creditsGivenUp, savedPercent, unusedAfterCredits, valueOfOwed } from './interval-change.ts';

const month = { start: 0, end: 30 };

/** A credit for the whole month. */
function ofMonth(offered: bigint, rest: bigint, takenByHand = 0n) {
  return { offered, rest, takenByHand, startAt: month.start, expiresAt: month.end };
}

/** The credits of a plan by the month that is left on a day. */
function left(entitled: bigint, credit: ReturnType<typeof ofMonth>, at: number) {
  const soon = mulDiv(entitled, BigInt(month.end - at), 30n);
  return creditsGivenUp({ soon, later: 0n }, [credit], { at, soonUntil: month.end });
}

test('credits of the time that is given up are taken back as far as they are unused', () => {
  const on = (rest: bigint, at: number) => left(1000n, ofMonth(1000n, rest), at);
  assert.deepEqual(on(100n, 15), { takenBack: 100n, usedAhead: 400n, inRest: 500n });
  assert.deepEqual(on(800n, 15), { takenBack: 500n, usedAhead: 0n, inRest: 500n }, '300 are left over');
  assert.deepEqual(on(0n, 0), { takenBack: 0n, usedAhead: 1000n, inRest: 1000n });
  assert.deepEqual(on(0n, 30), { takenBack: 0n, usedAhead: 0n, inRest: 0n });
});

test('a plan that was granted later gives up no more than it granted', () => {
  const granted = { ...ofMonth(200n, 200n), startAt: 15 };
  assert.equal(left(1000n, granted, 15).takenBack, 200n);
  assert.equal(left(1000n, granted, 24).takenBack, 80n, '6 of its 15 days are left');
});

test('credits that the seller took back by hand were not used ahead', () => {
  const on = (rest: bigint, takenByHand: bigint) => left(360n, ofMonth(360n, rest, takenByHand), 15);
  assert.deepEqual(on(0n, 260n), { takenBack: 0n, usedAhead: 0n, inRest: 180n }, '100 were used in half the month');
  assert.deepEqual(on(0n, 60n), { takenBack: 0n, usedAhead: 120n, inRest: 180n }, '300 were used');
  assert.deepEqual(on(160n, 100n), { takenBack: 160n, usedAhead: 0n, inRest: 180n });
});

test('an interval gives up what is left of it, and the intervals to come count for the value only', () => {
  // 70 a week: on day 11 three of seven days are left, and 16 days come after them.
  const week = { offered: 70n, rest: 10n, takenByHand: 0n, startAt: 7, expiresAt: 14 };
  const over = { ...week, rest: 0n, startAt: 0, expiresAt: 7 };
  const given = creditsGivenUp({ soon: 30n, later: 160n }, [over, week], { at: 11, soonUntil: 14 });
  assert.deepEqual(given, { takenBack: 10n, usedAhead: 20n, inRest: 190n });
});

test('credits of the month that a plan before gave count for the weeks to come', () => {
  // 300 of the month were used up. A plan of 70 a week has granted nothing beside them: 19 days are worth 190.
  const given = creditsGivenUp({ soon: 30n, later: 160n }, [ofMonth(300n, 0n)], { at: 11, soonUntil: 14 });
  assert.deepEqual(given, { takenBack: 0n, usedAhead: 190n, inRest: 190n });
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
      const given = left(granted, ofMonth(granted, rest, takenByHand), at);
      const without = left(granted, ofMonth(granted, notUsed), at);
      assert.equal(given.usedAhead, without.usedAhead, 'a take-back by hand changes nothing of what was used');
      assert.equal(without.takenBack + without.usedAhead, given.inRest);
      assert.ok(given.takenBack <= rest);
      const value = unusedAfterCredits(unused, [{ ...given, nextGrant }]);
      assert.ok(value >= 0n && value <= unused);
    }),
  );
});

const monthly = (amount: bigint) => ({ amount, months: 1n });
const yearly = (amount: bigint) => ({ amount, months: 12n });

test('a year at the price of ten months saves 16 %, which is 16.67 % rounded down', () => {
  assert.equal(savedPercent(monthly(3000n), yearly(30_000n)), 16n);
  assert.equal(savedPercent(monthly(3000n), yearly(18_000n)), 50n);
  assert.equal(savedPercent({ amount: 8000n, months: 3n }, yearly(24_000n)), 25n);
  assert.equal(savedPercent(monthly(1n), yearly(0n)), 100n);
});

test('an interval that is not a whole percent cheaper saves nothing', () => {
  assert.equal(savedPercent(monthly(3000n), yearly(36_000n)), null);
  assert.equal(savedPercent(monthly(3000n), yearly(40_000n)), null);
  assert.equal(savedPercent(monthly(3000n), yearly(35_999n)), null);
  assert.equal(savedPercent(monthly(0n), yearly(0n)), null);
});

test('nobody is promised more than is saved, and one percent more would be too much', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 15n });
  const months = fc.bigInt({ min: 1n, max: 60n });
  fc.assert(
    fc.property(amount, months, amount, months, (one, few, other, many) => {
      const percent = savedPercent({ amount: one, months: few }, { amount: other, months: many }) ?? 0n;
      const [before, after] = [one * many, other * few];
      assert.ok(percent === 0n || after * 100n <= before * (100n - percent));
      assert.ok(before === 0n || after * 100n > before * (99n - percent));
    }),
  );
});
