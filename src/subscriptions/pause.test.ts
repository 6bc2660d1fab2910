import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { calendarEnd, type Instant, instant, msPerDay, type Period, periodAt } from '../kernel/calendar.ts';
import type { Problem } from '../kernel/problem.ts';
import { fairValue, unusedPaidValue } from '../rating/proration.ts';
import { decidePause, pausedTimeTakenOff, resumedPeriod } from './pause.ts';
import { type SubscriptionRow, subscriptionStatuses } from './subscription.ts';

// April has 30 days, so 3000 a month is 100 a day.
const april = { start: instant('2026-04-01'), end: instant('2026-05-01') };
const day11 = instant('2026-04-11');
const day21 = instant('2026-04-21');
const subscription = {
  id: 'sub_1',
  status: 'active',
  arrears: 'none',
  renews: true,
  isDefaultPlan: false,
  trialEnd: null,
  billingCycleAnchorDate: april.start,
  intervalUnit: 'month',
  intervalCount: 1,
  currentBillingPeriodStart: april.start,
  currentBillingPeriodEnd: april.end,
  cancelScheduledAt: null,
  scheduledAdjustmentAt: null,
  pausedAt: null,
  resumesAt: null,
  // Nothing else in a row decides about pausing.
} as unknown as SubscriptionRow;

const decide = (change: Partial<SubscriptionRow> = {}, resumesAt?: Instant | null, owes = false) =>
  decidePause({ ...subscription, ...change }, { resumesAt }, { owes, now: day11 });
const refuses = (problem: string, act: () => unknown) =>
  assert.throws(act, (error: Problem) => error.problem === problem);

test('what is active and paid for can be paused, until a date or until it is resumed', () => {
  assert.deepEqual(decide(), { does: 'pause', resumesAt: null });
  assert.deepEqual(decide({}, null), { does: 'pause', resumesAt: null });
  assert.deepEqual(decide({}, day21), { does: 'pause', resumesAt: day21 });
});

test('nothing but an active subscription can be paused', () => {
  for (const status of subscriptionStatuses) {
    if (status === 'active' || status === 'paused') continue;
    const hasEnded = status === 'canceled' || status === 'incomplete_expired';
    refuses(hasEnded ? 'subscriptionTerminal' : 'subscriptionNotPausable', () => decide({ status }));
  }
});

test('pausing is refused for the default plan and for what does not renew, owes money, has not begun, is over, or is to change', () => {
  refuses('subscriptionNotPausable', () => decide({ isDefaultPlan: true }));
  refuses('subscriptionNotPausable', () => decide({ renews: false }));
  refuses('subscriptionNotPausable', () => decide({}, null, true));
  refuses('subscriptionNotPausable', () => decide({ currentBillingPeriodStart: day11 + 1 }));
  refuses('subscriptionNotPausable', () => decide({ currentBillingPeriodEnd: day11 }));
  refuses('subscriptionNotPausable', () => decide({ currentBillingPeriodStart: null, currentBillingPeriodEnd: null }));
  refuses('adjustmentScheduled', () => decide({ scheduledAdjustmentAt: april.end }));
});

test('the date lies ahead and in the calendar', () => {
  for (const resumesAt of [day11 - 1, day11, calendarEnd]) refuses('invalidRequest', () => decide({}, resumesAt));
  assert.deepEqual(decide({}, calendarEnd - 1), { does: 'pause', resumesAt: calendarEnd - 1 });
});

test('pausing what is paused sets its date, and what is left out stays', () => {
  const paused = { status: 'paused', pausedAt: april.start, resumesAt: day21 } as const;
  assert.deepEqual(decide(paused), { does: 'nothing' });
  assert.deepEqual(decide(paused, day21), { does: 'nothing' });
  assert.deepEqual(decide(paused, null), { does: 'reschedule', resumesAt: null });
  assert.deepEqual(decide(paused, april.end), { does: 'reschedule', resumesAt: april.end });
  refuses('invalidRequest', () => decide(paused, day11));
});

test('what is kept is taken off the next invoices, never more than they ask for', () => {
  const takenOff = (kept: bigint, billed: bigint, step?: bigint) =>
    pausedTimeTakenOff({ kept, owed: 0n }, { billed, ofPlan: billed }, step);
  assert.equal(takenOff(2000n, 1000n), 1000n);
  assert.equal(takenOff(1000n, 3000n), 1000n);
  assert.equal(takenOff(1000n, 0n), 0n);
  assert.equal(takenOff(0n, 3000n), 0n);
  // In dinars 2.004 are kept: 2.000 are taken off, and 0.004 stay kept.
  assert.equal(takenOff(2004n, 3000n, 10n), 2000n);
});

test('the value of credits that are owed is taken off a plan, and off nothing else', () => {
  const takenOff = (owed: bigint, billed: bigint, ofPlan: bigint) =>
    pausedTimeTakenOff({ kept: 2000n, owed }, { billed, ofPlan });
  assert.equal(takenOff(2000n, 500n, 0n), 0n, 'usage of 5.00');
  assert.equal(takenOff(1800n, 500n, 0n), 200n);
  assert.equal(takenOff(2000n, 1500n, 1000n), 1000n, 'a plan of 10.00 with usage of 5.00');
  assert.equal(takenOff(2900n, 500n, -100n), 0n, 'a refund may have lowered what is kept');
});

/** The paused period, which began with April. */
const inApril = { startAt: april.start, wholeStartAt: null, wholeEndAt: april.end };

test('going on in the same interval: its rest, and its credits were granted before', () => {
  assert.deepEqual(resumedPeriod(subscription, inApril, day21), {
    start: day21,
    end: april.end,
    wholeStartAt: april.start,
    isRestOfPaused: true,
  });
});

test('going on in a later interval: its rest, counted from the same anchor; on a boundary: all of it', () => {
  const june = { start: instant('2026-06-01'), end: instant('2026-07-01') };
  assert.deepEqual(resumedPeriod(subscription, inApril, instant('2026-06-16')), {
    start: instant('2026-06-16'),
    end: june.end,
    wholeStartAt: june.start,
    isRestOfPaused: false,
  });
  assert.deepEqual(resumedPeriod(subscription, inApril, june.start), {
    ...june,
    wholeStartAt: null,
    isRestOfPaused: false,
  });
});

test('paused from 10 February to 10 March: the next boundary is 31 March, as the anchor of 31 January says', () => {
  const fromJanuary = { ...subscription, billingCycleAnchorDate: instant('2026-01-31') };
  const resumed = resumedPeriod(fromJanuary, { ...inApril, startAt: instant('2026-01-31') }, instant('2026-03-10'));
  assert.deepEqual([resumed.wholeStartAt, resumed.end], [instant('2026-02-28'), instant('2026-03-31')]);
});

test('a long first period that was paused goes on to its end, at the rate of the interval with which it ends', () => {
  const { end: may } = april;
  const long = { startAt: instant('2026-03-15'), wholeStartAt: april.start, wholeEndAt: may };
  const resumed = { end: may, wholeStartAt: april.start, isRestOfPaused: true };
  const at = instant('2026-03-20');
  assert.deepEqual(resumedPeriod(subscription, long, at), { start: at, ...resumed });
  assert.equal(resumedPeriod(subscription, long, may).isRestOfPaused, false);
});

/** Lives through pauses (pairs of instants) by the rules: what is charged for each piece, and the pieces. */
function live(price: bigint, moments: readonly Instant[], until: Instant) {
  const unit = { unit: 'month', count: 1 } as const;
  const pieces: Period[] = [];
  let [charged, kept, start] = [0n, 0n, april.start];
  const bill = (part: Period) => {
    const requested = fairValue([{ ...part, value: price }], periodAt(april.start, unit, part.start));
    const takenOff = pausedTimeTakenOff({ kept, owed: 0n }, { billed: requested, ofPlan: requested });
    [charged, kept] = [charged + requested - takenOff, kept - takenOff];
    return requested;
  };
  for (let index = 0; start < until; ) {
    const { end } = resumedPeriod(subscription, inApril, start);
    const paid = bill({ start, end });
    const whole = periodAt(april.start, unit, start);
    const [pausedAt, resumedAt] = [moments[index], moments[index + 1]];
    if (pausedAt !== undefined && resumedAt !== undefined && pausedAt < end) {
      pieces.push({ start, end: pausedAt });
      const worth = { segments: [{ start, end, value: price }], paid, billed: paid, listed: paid };
      kept += unusedPaidValue(worth, whole, pausedAt).unused;
      start = resumedAt;
      index += 2;
    } else {
      pieces.push({ start, end });
      start = end;
    }
  }
  return { pieces, charged, kept };
}

const history = fc
  .uniqueArray(fc.integer({ min: 1, max: 400 * msPerDay - 1 }), { maxLength: 12 })
  .map((offsets) => offsets.sort((one, other) => one - other).map((offset) => april.start + offset))
  .map((moments) => (moments.length % 2 === 0 ? moments : moments.slice(1)));

test('over any pauses, what is charged and not kept is the value of the active time, within one unit a piece', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 1_000_000n), history, (price, moments) => {
      const { pieces, charged, kept } = live(price, moments, april.start + 400 * msPerDay);
      const exact = pieces.map(({ start, end }) => {
        const whole = periodAt(april.start, { unit: 'month', count: 1 }, start);
        return (Number(price) * (end - start)) / (whole.end - whole.start);
      });
      const worth = exact.reduce((sum, each) => sum + each, 0);
      assert(Math.abs(Number(charged - kept) - worth) <= pieces.length, `${charged} - ${kept} is not ${worth}`);
    }),
  );
});

test('the active periods and the pauses between them tile time, and every boundary is one of the anchor', () => {
  fc.assert(
    fc.property(history, (moments) => {
      const { pieces } = live(3000n, moments, april.start + 400 * msPerDay);
      const pauses = new Map<Instant, Instant>();
      for (let index = 0; index + 1 < moments.length; index += 2) {
        pauses.set(moments[index] as Instant, moments[index + 1] as Instant);
      }
      let now = april.start;
      for (const { start, end } of pieces) {
        assert.equal(start, now);
        assert(start < end);
        const isBoundary = end === periodAt(april.start, { unit: 'month', count: 1 }, start).end;
        assert(isBoundary || pauses.has(end));
        now = pauses.get(end) ?? end;
      }
    }),
  );
});
