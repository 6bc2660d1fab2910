import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addDays, instant, type Period } from '../kernel/calendar.ts';
import { fairValue, type PlanSegment, proratedCredit, prorationCharge, unusedPaidValue } from './proration.ts';

// April has 30 days, so 3000 a month is 100 a day.
const april = { start: instant('2026-04-01'), end: instant('2026-05-01') };
const day = (elapsed: number) => addDays(april.start, elapsed);

/** The segments of a period that begins with `value` and changes at the given instants. */
function plan(period: Period, value: bigint, ...changes: { at: number; value: bigint }[]): PlanSegment[] {
  return [{ at: period.start, value }, ...changes].map((change, index) => ({
    start: change.at,
    end: changes[index]?.at ?? period.end,
    value: change.value,
  }));
}

const aprilPlan = (value: bigint, ...changes: [days: number, value: bigint][]) =>
  plan(april, value, ...changes.map(([days, next]) => ({ at: day(days), value: next })));

type Row = { name: string; segments: PlanSegment[]; paid: bigint; fair: bigint; charge: bigint };

// A6 (proration off) and A7 (change at the period end) compute nothing in the middle of a period.
const workedExamples: Row[] = [
  { name: 'A1', segments: aprilPlan(3000n, [10, 6000n]), fair: 5000n, paid: 3000n, charge: 2000n },
  { name: 'A2', segments: aprilPlan(3000n, [25, 6000n]), fair: 3500n, paid: 3000n, charge: 500n },
  { name: 'A3', segments: aprilPlan(6000n, [10, 3000n]), fair: 4000n, paid: 6000n, charge: 0n },
  { name: 'A4', segments: aprilPlan(100n, [15, 200n]), fair: 150n, paid: 0n, charge: 150n },
  { name: 'A5', segments: aprilPlan(3000n, [10, 6000n], [20, 9000n]), fair: 6000n, paid: 5000n, charge: 1000n },
  // 333 + 1332.67 = 1665.67, rounded once.
  { name: 'A8', segments: aprilPlan(999n, [10, 1999n]), fair: 1666n, paid: 999n, charge: 667n },
  { name: 'A9', segments: aprilPlan(2000n, [15, 5000n]), fair: 3500n, paid: 2000n, charge: 1500n },
  { name: 'A10', segments: aprilPlan(3000n, [10, 6000n]), fair: 5000n, paid: 3000n, charge: 2000n },
  { name: 'A11, all refunded', segments: aprilPlan(3000n, [15, 6000n]), fair: 4500n, paid: 0n, charge: 4500n },
  { name: 'A11, 1000 refunded', segments: aprilPlan(3000n, [15, 6000n]), fair: 4500n, paid: 2000n, charge: 2500n },
];

test('a change of plan charges what the period is worth and was not yet paid', () => {
  for (const { name, segments, paid, fair, charge } of workedExamples) {
    assert.equal(fairValue(segments, april), fair, name);
    assert.equal(prorationCharge(segments, april, paid), charge, name);
  }
});

test('a change in dinars is charged in steps of ten fils', () => {
  // 9.990 for 10 days and 20.000 for 20 days: 16.66333, of which 9.990 is paid.
  const segments = aprilPlan(9990n, [10, 20000n]);
  assert.equal(fairValue(segments, april, 10n), 16660n);
  assert.equal(prorationCharge(segments, april, 9990n, 10n), 6670n);
});

test('halves of two segments make a whole: the sum is rounded, not its terms', () => {
  assert.equal(fairValue(aprilPlan(1n, [15, 1n]), april), 1n); // each rounded would be 1 + 1
  assert.equal(fairValue(aprilPlan(1n, [10, 1n], [20, 1n]), april), 1n); // each rounded would be 0 + 0 + 0
  assert.equal(fairValue(aprilPlan(1n, [15, 2n]), april), 2n); // 1.5
});

test('a change counts from its millisecond', () => {
  // One unit a millisecond until the change, two after it.
  const length = april.end - april.start;
  const segments = plan(april, BigInt(length), { at: april.start + 1, value: BigInt(2 * length) });
  assert.equal(fairValue(segments, april), BigInt(1 + 2 * (length - 1)));
});

test('changes at the first and last instant of the period count wholly and not at all', () => {
  assert.equal(fairValue(aprilPlan(3000n, [0, 6000n]), april), 6000n);
  assert.equal(fairValue(aprilPlan(3000n, [30, 6000n]), april), 3000n);
});

test('uncovered time is worth nothing, and overlapping items add up', () => {
  assert.equal(fairValue([], april), 0n);
  const wholeMonth = { ...april, value: 3000n };
  const lastTenDays = { start: day(20), end: april.end, value: 600n };
  assert.equal(fairValue([lastTenDays], april), 200n);
  assert.equal(fairValue([wholeMonth, lastTenDays], april), 3200n);
});

test('a long first period of 50 days is worth 50 days of the interval with which it ends', () => {
  // 30.00 for the 30 days of April, and 1.00 for each of the 20 days before it.
  const long = { start: april.start - 20 * 86_400_000, end: april.end };
  assert.equal(fairValue([{ ...long, value: 3000n }], april), 5000n);
  const paid = { segments: [{ ...long, value: 3000n }], paid: 5000n, billed: 5000n, listed: 5000n };
  assert.equal(unusedPaidValue(paid, april, april.start).unused, 3000n);
  assert.equal(unusedPaidValue(paid, april, april.start - 10 * 86_400_000).unused, 4000n);
});

test('an empty period, a segment that ends after its period or runs backwards, and a negative payment are bugs', () => {
  const refused: (() => bigint)[] = [
    () => fairValue([], { start: april.start, end: april.start }),
    () => fairValue([{ start: april.start, end: april.end + 1, value: 1n }], april),
    () => fairValue([{ start: day(20), end: day(10), value: 1n }], april),
    () => prorationCharge([], april, -1n),
  ];
  for (const compute of refused) assert.throws(compute, assert.AssertionError);
});

test('a change of plan grants the credits of the remaining time, less what the period already granted', () => {
  const rows: [name: string, amount: bigint, elapsedDays: number, alreadyGranted: bigint, extra: bigint][] = [
    ['360 -> 900 on day 15', 900n, 15, 360n, 90n],
    ['360 -> 900 on day 20', 900n, 20, 360n, 0n],
    ['new feature on day 10', 1000n, 10, 0n, 667n],
    ['new feature on day 25', 1000n, 25, 0n, 167n],
    ['900 -> 360 on day 15', 360n, 15, 900n, 0n],
    ['new feature on the last instant', 1000n, 30, 0n, 0n],
    ['new feature on the first instant', 1000n, 0, 0n, 1000n],
  ];
  for (const [name, amount, elapsedDays, alreadyGranted, extra] of rows) {
    const remaining = { start: day(elapsedDays), end: april.end };
    assert.equal(proratedCredit({ amount, remaining, period: april, alreadyGranted }), extra, name);
  }
});

test('a negative grant is a bug', () => {
  const whole = { remaining: april, period: april };
  assert.throws(() => proratedCredit({ ...whole, amount: -1n, alreadyGranted: 0n }), assert.AssertionError);
  assert.throws(() => proratedCredit({ ...whole, amount: 1n, alreadyGranted: -1n }), assert.AssertionError);
});

const values = fc.bigInt({ min: 0n, max: 10n ** 15n });
const instants = fc.integer({ min: april.start, max: april.end });
const changes = fc
  .array(fc.record({ at: instants, value: values }), { maxLength: 8 })
  .map((list) => list.sort((a, b) => a.at - b.at));

test('a plan that never changes is worth its price, wherever it is cut', () => {
  fc.assert(
    fc.property(values, changes, (value, cuts) => {
      const segments = plan(april, value, ...cuts.map(({ at }) => ({ at, value })));
      assert.equal(fairValue(segments, april), value);
    }),
  );
});

test('a period is worth no less than its cheapest plan and no more than its dearest', () => {
  fc.assert(
    fc.property(values, changes, (first, later) => {
      const all = [first, ...later.map(({ value }) => value)];
      const fair = fairValue(plan(april, first, ...later), april);
      assert(all.some((value) => value <= fair));
      assert(all.some((value) => value >= fair));
    }),
  );
});

test('upgrades charged one by one add up to the worth of the period', () => {
  fc.assert(
    fc.property(values, changes, (first, later) => {
      let dearest = first;
      const upgrades = later.map(({ at, value }) => {
        dearest = dearest + value;
        return { at, value: dearest };
      });
      let paid = first;
      for (const [index] of upgrades.entries()) {
        paid += prorationCharge(plan(april, first, ...upgrades.slice(0, index + 1)), april, paid);
      }
      assert.equal(paid, fairValue(plan(april, first, ...upgrades), april));
    }),
  );
});

test('whatever the changes, nothing is ever paid back and nothing is charged twice', () => {
  fc.assert(
    fc.property(values, changes, values, (first, later, paid) => {
      const segments = plan(april, first, ...later);
      const charge = prorationCharge(segments, april, paid);
      assert(charge >= 0n);
      assert.equal(prorationCharge(segments, april, paid + charge), 0n);
    }),
  );
});

test('toggling between plans gains no credits', () => {
  fc.assert(
    fc.property(values, instants, fc.integer({ min: 0, max: 1000 }), (amount, at, laterMs) => {
      const granted = proratedCredit({
        amount,
        remaining: { start: at, end: april.end },
        period: april,
        alreadyGranted: 0n,
      });
      const remaining = { start: Math.min(at + laterMs, april.end), end: april.end };
      assert(granted <= amount);
      assert.equal(proratedCredit({ amount, remaining, period: april, alreadyGranted: granted }), 0n);
    }),
  );
});

test('an interval that is cut short keeps what was really paid and not used', () => {
  const month = aprilPlan(3000n);
  const upgraded = aprilPlan(3000n, [10, 6000n]);
  const downgraded = aprilPlan(6000n, [10, 3000n]);
  type Kept = [
    name: string,
    segments: PlanSegment[],
    paid: bigint,
    billed: bigint,
    listed: bigint,
    on: number,
    kept: bigint,
  ];
  const rows: Kept[] = [
    ['on day 10', month, 3000n, 3000n, 3000n, 10, 2000n],
    ['at once', month, 3000n, 3000n, 3000n, 0, 3000n],
    ['at its end', month, 3000n, 3000n, 3000n, 30, 0n],
    ['500 refunded: out of the unused part first', month, 2500n, 3000n, 3000n, 10, 1500n],
    ['2900 refunded, on day 1', month, 100n, 3000n, 3000n, 1, 0n],
    ['written off', month, 0n, 3000n, 3000n, 10, 0n],
    ['a code of 100 %, at once', month, 0n, 0n, 3000n, 0, 0n],
    ['a code of 50 %, at once', month, 1500n, 1500n, 3000n, 0, 1500n],
    ['1000 off, on day 10: two thirds of 2000', month, 2000n, 2000n, 3000n, 10, 1333n],
    ['an upgrade, paid, on day 20', upgraded, 5000n, 5000n, 5000n, 20, 2000n],
    ['an upgrade whose 2000 were waived, on day 10', upgraded, 3000n, 3000n, 3000n, 10, 2000n],
    ['an upgrade whose 2000 were waived, on day 20', upgraded, 3000n, 3000n, 3000n, 20, 0n],
    ['a downgrade, on day 20: the rest is worth 1000', downgraded, 6000n, 6000n, 6000n, 20, 1000n],
    ['nothing billed', month, 0n, 0n, 0n, 10, 0n],
  ];
  for (const [name, segments, paid, billed, listed, on, kept] of rows)
    assert.equal(unusedPaidValue({ segments, paid, billed, listed }, april, day(on)).unused, kept, name);
});

test('of a month at 1.00, cut at each third into a month again, one third and two thirds are 0.33 and 0.67', () => {
  const third = 1000;
  const cut = (roundingCarried: bigint) => {
    const whole = { start: 0, end: 3 * third };
    const bill = { paid: 100n, billed: 100n, listed: 100n, roundingCarried };
    return unusedPaidValue({ segments: [{ ...whole, value: 100n }], ...bill }, whole, third);
  };
  const first = cut(0n);
  assert.deepEqual(first, { unused: 67n, roundingCarried: 333_333_333_333n });
  const second = cut(first.roundingCarried);
  assert.deepEqual(second, { unused: 66n, roundingCarried: -333_333_333_334n }, '0.34 more, so 0.67 in all');
  assert.deepEqual(cut(second.roundingCarried), { unused: 67n, roundingCarried: -1n }, 'and 1.00 in all');
});

test('over any series of cut periods, what is paid and not kept is the value of the time, rounded once', () => {
  const share = fc.double({ min: 0, max: 0.9, noNaN: true });
  const cuts = fc.array(fc.record({ days: fc.integer({ min: 28, max: 31 }), begins: share, used: share }), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(fc.bigInt(1000n, 100_000n), cuts, (value, series) => {
      let [net, worth, roundingCarried] = [0n, 0, 0n];
      for (const { days, begins, used } of series) {
        const whole = { start: april.start, end: addDays(april.start, days) };
        const start = whole.start + Math.floor(begins * (whole.end - whole.start));
        const at = start + Math.floor(used * (whole.end - start));
        const segments = [{ start, end: whole.end, value }];
        const paid = fairValue(segments, whole);
        const cut = unusedPaidValue({ segments, paid, billed: paid, listed: paid, roundingCarried }, whole, at);
        worth += (Number(value) * (at - start)) / (whole.end - whole.start);
        net += paid - cut.unused;
        roundingCarried = cut.roundingCarried;
      }
      assert.ok(Math.abs(Number(net) - worth) <= 0.5 + 1e-6, `${net} for ${worth}`);
    }),
  );
});

test('what is kept and what was used are together what was billed, and kept is never more than paid', () => {
  fc.assert(
    fc.property(
      fc.record({ list: fc.bigInt(1n, 100_000n), off: fc.bigInt(0n, 100n), back: fc.bigInt(0n, 100n), at: fc.nat(30) }),
      ({ list, off, back, at }) => {
        const billed = (list * (100n - off)) / 100n;
        const paid = (billed * (100n - back)) / 100n;
        const cut = { segments: aprilPlan(list), paid, billed, listed: list };
        const { unused: kept } = unusedPaidValue(cut, april, day(at));
        const used = (Number(billed) * at) / 30;
        assert(kept >= 0n && kept <= paid);
        assert(Math.abs(Number(kept) - Math.max(0, Number(paid) - used)) <= 0.5);
      },
    ),
  );
});
