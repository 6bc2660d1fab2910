import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { instant } from '../kernel/calendar.ts';
import {
  applyCredits,
  creditsToTakeBack,
  givenBackOnResume,
  inOrderOfUse,
  lessTaken,
  shareOfInterval,
  shareOfRest,
  type UsableCredit,
  withheldOf,
} from './credits.ts';

const may = instant('2026-05-01');
const june = instant('2026-06-01');
const usual = { priority: 100, isPaid: false };
const sumOf = (list: readonly { amount: bigint }[]) => list.reduce((sum, { amount }) => sum + amount, 0n);

/** The credits as they stand after usage was applied to them. */
function after(credits: readonly UsableCredit[], applications: readonly { id: string; amount: bigint }[]) {
  return credits.map((credit) => {
    const used = sumOf(applications.filter(({ id }) => id === credit.id));
    return { ...credit, remaining: credit.remaining - used };
  });
}

test('worked example L1: the credit that expires is used before the one that lasts', () => {
  const granted = [
    { id: 'once', remaining: 30n, ...usual, expiresAt: null },
    { id: 'recurring', remaining: 100n, ...usual, expiresAt: may },
  ];

  const usage80 = applyCredits(granted, 80n);
  assert.deepEqual(usage80, { applications: [{ id: 'recurring', amount: 80n }], uncovered: 0n });

  const leftBy80 = after(granted, usage80.applications);
  const usage40 = applyCredits(leftBy80, 40n);
  assert.deepEqual(usage40, {
    applications: [
      { id: 'recurring', amount: 20n },
      { id: 'once', amount: 20n },
    ],
    uncovered: 0n,
  });

  const leftBy40 = after(leftBy80, usage40.applications);
  const usage25 = applyCredits(leftBy40, 25n);
  assert.deepEqual(usage25, { applications: [{ id: 'once', amount: 10n }], uncovered: 15n });
});

test('earliest expiry first, then never-expiring, then in the order given', () => {
  const credits = [
    { id: 'never, older', remaining: 1n, ...usual, expiresAt: null },
    { id: 'June', remaining: 1n, ...usual, expiresAt: june },
    { id: 'May, older', remaining: 1n, ...usual, expiresAt: may },
    { id: 'never, newer', remaining: 1n, ...usual, expiresAt: null },
    { id: 'May, newer', remaining: 1n, ...usual, expiresAt: may },
  ];
  const order = applyCredits(credits, 5n).applications.map(({ id }) => id);
  assert.deepEqual(order, ['May, older', 'May, newer', 'June', 'never, older', 'never, newer']);
});

test('the lowest priority first, whatever ends earlier; then expiry, then age', () => {
  const credits = [
    { id: 'last, ends in May', remaining: 1n, ...usual, priority: 101, expiresAt: may },
    { id: 'usual, never', remaining: 1n, ...usual, expiresAt: null },
    { id: 'usual, June, older', remaining: 1n, ...usual, expiresAt: june },
    { id: 'usual, June, newer', remaining: 1n, ...usual, expiresAt: june },
    { id: 'usual, May', remaining: 1n, ...usual, expiresAt: may },
    { id: 'first, never', remaining: 1n, ...usual, priority: 0, expiresAt: null },
  ];
  const order = applyCredits(credits, 6n).applications.map(({ id }) => id);
  assert.deepEqual(order, [
    'first, never',
    'usual, May',
    'usual, June, older',
    'usual, June, newer',
    'usual, never',
    'last, ends in May',
  ]);
  assert.deepEqual(
    inOrderOfUse(credits).map(({ id }) => id),
    order,
  );
});

test('of credits that end at once the granted ones pay before the bought ones, and the oldest first', () => {
  const credits = [
    { id: 'bought, older', remaining: 1n, ...usual, isPaid: true, expiresAt: null },
    { id: 'granted, older', remaining: 1n, ...usual, expiresAt: null },
    { id: 'bought, newer', remaining: 1n, ...usual, isPaid: true, expiresAt: null },
    { id: 'granted, newer', remaining: 1n, ...usual, expiresAt: null },
    { id: 'bought, June', remaining: 1n, ...usual, isPaid: true, expiresAt: june },
  ];
  const order = applyCredits(credits, 5n).applications.map(({ id }) => id);
  assert.deepEqual(order, ['bought, June', 'granted, older', 'granted, newer', 'bought, older', 'bought, newer']);
});

test('usage of nothing uses nothing, and without credits all usage is uncovered', () => {
  const credit = { id: 'credit', remaining: 10n, ...usual, expiresAt: null };
  assert.deepEqual(applyCredits([credit], 0n), { applications: [], uncovered: 0n });
  assert.deepEqual(applyCredits([], 7n), { applications: [], uncovered: 7n });
});

test('an empty credit is passed over', () => {
  const credits = [
    { id: 'empty', remaining: 0n, ...usual, expiresAt: may },
    { id: 'full', remaining: 10n, ...usual, expiresAt: null },
  ];
  assert.deepEqual(applyCredits(credits, 4n), { applications: [{ id: 'full', amount: 4n }], uncovered: 0n });
});

test('negative usage and a credit below zero are bugs', () => {
  assert.throws(() => applyCredits([], -1n), assert.AssertionError);
  assert.throws(
    () => applyCredits([{ id: 'credit', remaining: -1n, ...usual, expiresAt: null }], 1n),
    assert.AssertionError,
  );
});

const amounts = fc.bigInt({ min: 0n, max: 1000n });
const anyCredit = fc.record({
  remaining: amounts,
  priority: fc.integer({ min: 99, max: 101 }),
  expiresAt: fc.option(fc.integer({ min: may, max: may + 3 })),
  isPaid: fc.boolean(),
});
const anyCredits = fc
  .array(anyCredit, { maxLength: 8 })
  .map((list) => list.map((credit, index): UsableCredit => ({ ...credit, id: `credit ${index}` })));

test('usage is either covered or not: applications and the uncovered rest add up to it', () => {
  fc.assert(
    fc.property(anyCredits, amounts, (credits, units) => {
      const { applications, uncovered } = applyCredits(credits, units);
      assert.equal(sumOf(applications) + uncovered, units);
      assert(uncovered >= 0n);
    }),
  );
});

test('no credit is used twice or beyond what remains of it', () => {
  fc.assert(
    fc.property(anyCredits, amounts, (credits, units) => {
      const { applications } = applyCredits(credits, units);
      assert.equal(new Set(applications.map(({ id }) => id)).size, applications.length);
      assert(applications.every(({ amount }) => amount > 0n));
      assert(after(credits, applications).every(({ remaining }) => remaining >= 0n));
    }),
  );
});

/** The rule said once more, part by part. */
function comesBefore(credits: readonly UsableCredit[], one: UsableCredit, other: UsableCredit): boolean {
  const expiry = ({ expiresAt }: UsableCredit) => expiresAt ?? Number.MAX_SAFE_INTEGER;
  if (one.priority !== other.priority) return one.priority < other.priority;
  if (expiry(one) !== expiry(other)) return expiry(one) < expiry(other);
  if (one.isPaid !== other.isPaid) return other.isPaid;
  return credits.indexOf(one) < credits.indexOf(other);
}

test('a credit is touched only when all that come before it are used up, and usage is uncovered only when all are', () => {
  fc.assert(
    fc.property(anyCredits, amounts, (credits, units) => {
      const { applications, uncovered } = applyCredits(credits, units);
      const left = after(credits, applications);
      const touched = left.filter(({ id }) => applications.some((application) => application.id === id));
      for (const credit of touched) {
        const earlier = left.filter((other) => comesBefore(left, other, credit));
        assert(earlier.every(({ remaining }) => remaining === 0n));
      }
      if (uncovered > 0n) assert(left.every(({ remaining }) => remaining === 0n));
    }),
  );
});

test('usage in two parts is covered as usage in one', () => {
  fc.assert(
    fc.property(anyCredits, amounts, amounts, (credits, first, second) => {
      const whole = applyCredits(credits, first + second);
      const part = applyCredits(credits, first);
      const rest = applyCredits(after(credits, part.applications), second);
      assert.equal(part.uncovered + rest.uncovered, whole.uncovered);
      const leftByParts = after(after(credits, part.applications), rest.applications);
      assert.deepEqual(leftByParts, after(credits, whole.applications));
    }),
  );
});

test('refunds of 333 and 667 of 1000 take back 167 and 333 of 500 units, and at most what is free', () => {
  const takes = (takenBack: bigint, free: bigint, refunded: bigint) =>
    creditsToTakeBack({ bought: 500n, takenBack, free }, { refunded, price: 1000n });
  assert.equal(takes(0n, 500n, 333n), 167n);
  assert.equal(takes(167n, 333n, 1000n), 333n);
  assert.equal(takes(0n, 100n, 500n), 100n, '400 are used');
  assert.equal(takes(0n, 380n, 1000n), 380n, '120 are used');
  assert.equal(takes(300n, 200n, 500n), 0n, '300 were taken back by hand');
});

test('however a payment is refunded in parts, all unused units are taken back in the end', () => {
  const parts = fc.array(fc.bigInt(1n, 1000n), { minLength: 1, maxLength: 10 });
  fc.assert(
    fc.property(fc.bigInt(1n, 10_000n), parts, (bought, amounts) => {
      const price = amounts.reduce((sum, each) => sum + each, 0n);
      let [refunded, takenBack] = [0n, 0n];
      for (const amount of amounts) {
        refunded += amount;
        takenBack += creditsToTakeBack({ bought, takenBack, free: bought - takenBack }, { refunded, price });
      }
      assert.equal(takenBack, bought);
    }),
  );
});

test('a return gets what is left of an offer: of 20 with 15 taken 5, of 20 and 30 with 25 taken 0 and 25', () => {
  assert.deepEqual(lessTaken([20n], 15n), [5n]);
  assert.deepEqual(lessTaken([20n, 30n], 25n), [0n, 25n]);
  assert.deepEqual(lessTaken([20n], 50n), [0n]);
});

test('500 for 30 days, paused from day 10 to day 20: 333 are taken back, and 166 come again', () => {
  const credit = { offered: 500n, startAt: 0, expiresAt: 30, pausedOwed: 0n };
  const pause = { start: 10, end: 20 };
  assert.equal(shareOfRest(credit, 0), 500n);
  assert.equal(shareOfRest(credit, 10), 333n);
  assert.equal(givenBackOnResume({ ...credit, pausedBack: 333n }, pause), 166n);
  assert.equal(givenBackOnResume({ ...credit, pausedBack: 300n, pausedOwed: 33n }, pause), 166n, '33 are withheld');
  assert.equal(givenBackOnResume({ ...credit, pausedBack: 100n, pausedOwed: 233n }, pause), 166n, 'all are withheld');
  assert.equal(givenBackOnResume({ ...credit, pausedBack: 333n }, { start: 10, end: 10 }), 333n);
});

test('483 units used ahead: 250 of 250 are withheld, then 233 of 500, and nothing after that', () => {
  assert.deepEqual(withheldOf([250n, 500n], 483n), [250n, 233n]);
  assert.deepEqual(withheldOf([500n], 0n), [0n]);
  assert.deepEqual(withheldOf([500n], -1n), [0n]);
  const grants = fc.array(fc.bigInt(1n, 1000n));
  fc.assert(
    fc.property(grants, fc.bigInt(0n, 5000n), (issued, owed) => {
      const withheld = withheldOf(issued, owed);
      const [granted, paidBack] = [issued, withheld].map((each) => each.reduce((sum, amount) => sum + amount, 0n));
      assert.equal(paidBack, owed < (granted ?? 0n) ? owed : granted);
      assert(withheld.every((amount, index) => amount >= 0n && amount <= (issued[index] ?? 0n)));
    }),
  );
});

test('a week of 100 that is cut after 3 days has 43 and 57, and any parts of an interval add up to it', () => {
  const whole = { start: 0, end: 7 };
  assert.equal(shareOfInterval(100n, { start: 0, end: 3, whole }), 43n);
  assert.equal(shareOfInterval(100n, { start: 3, end: 7, whole }), 57n);
  assert.equal(shareOfInterval(100n, { ...whole, whole }), 100n);
  fc.assert(
    fc.property(fc.bigInt(0n, 10_000n), fc.nat(7), fc.nat(7), (amount, one, other) => {
      const cuts = [0, Math.min(one, other), Math.max(one, other), 7];
      const shares = cuts.slice(1).map((end, index) => {
        return shareOfInterval(amount, { start: cuts[index] ?? 0, end, whole });
      });
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0n),
        amount,
      );
      assert.ok(shares.every((share) => share >= 0n));
    }),
  );
});
