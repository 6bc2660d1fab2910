import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addDays, instant } from '../kernel/calendar.ts';
import { commitmentTrueUp, planTowardsCommitment } from './commitment.ts';

const april = { start: instant('2026-04-01'), end: instant('2026-05-01') };
const day = (elapsed: number) => addDays(april.start, elapsed);
const all = (value: bigint) => [{ ...april, value }];

test('a commitment of 100.00 is billed as far as plan and usage came to less', () => {
  const rows = [
    // The whole month; half of it; 10 days at 100.00 and 20 at 250.00: 33.33 + 166.67.
    { segments: all(10_000n), plan: 3000n, usage: 5000n, commitment: 10_000n, trueUp: 2000n },
    { segments: all(10_000n), plan: 3000n, usage: 7000n, commitment: 10_000n, trueUp: 0n },
    { segments: all(10_000n), plan: 3000n, usage: 9000n, commitment: 10_000n, trueUp: 0n },
    {
      segments: [{ start: april.start, end: day(15), value: 10_000n }],
      plan: 1500n,
      usage: 2000n,
      commitment: 5000n,
      trueUp: 1500n,
    },
    {
      segments: [
        { start: april.start, end: day(10), value: 10_000n },
        { start: day(10), end: april.end, value: 25_000n },
      ],
      ...{ plan: 5000n, usage: 0n, commitment: 20_000n, trueUp: 15_000n },
    },
    { segments: [], plan: 0n, usage: 0n, commitment: 0n, trueUp: 0n },
  ];
  for (const { segments, plan, usage, ...expected } of rows)
    assert.deepEqual(commitmentTrueUp({ segments, whole: april, plan, usage }, 1n), expected);
});

test('what the plan cost counts as billed, with what was waived, and without what is kept for later', () => {
  assert.equal(planTowardsCommitment({ listed: 3000n, waived: 0n, unused: 0n }), 3000n);
  assert.equal(planTowardsCommitment({ listed: 3000n, waived: 1500n, unused: 0n }), 4500n);
  assert.equal(planTowardsCommitment({ listed: 3000n, waived: 0n, unused: 1500n }), 1500n);
  assert.equal(planTowardsCommitment({ listed: 0n, waived: 0n, unused: 1n }), 0n);
});

test('plan, usage and true-up are the larger of the commitment and plan with usage, however the time is cut', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 15n });
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 29 }), { maxLength: 4 });
  fc.assert(
    fc.property(amount, amount, amount, cuts, fc.constantFrom(1n, 10n), (value, planned, used, days, step) => {
      const [committed, plan, usage] = [value * step, planned * step, used * step];
      const ends = [0, ...days.sort((a, b) => a - b), 30];
      const segments = ends
        .slice(1)
        .map((end, index) => ({ start: day(ends[index] ?? 0), end: day(end), value: committed }));
      const { commitment, trueUp } = commitmentTrueUp({ segments, whole: april, plan, usage }, step);
      assert.equal(commitment, committed);
      assert(trueUp >= 0n);
      assert.equal(plan + usage + trueUp, committed > plan + usage ? committed : plan + usage);
      assert.equal(trueUp % step, 0n);
    }),
  );
});
