import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hourMs } from './time-range.ts';
import { type Addition, addUp, type Draft, placeAdditions } from './usage-draft.ts';

const now = 15 * hourMs + 600_000;
const addition = (seriesId: number, hour: number, units = 1n): Addition => ({
  ledgerAccountId: 'account',
  seriesId,
  hour: hour * hourMs,
  units,
  events: 1,
});
const rollUp = (seriesId: number, hour: number, units = 1n, events = 1) => ({
  seriesId,
  hour: hour * hourMs,
  units,
  events,
});
const on = (open: ReturnType<typeof rollUp> | null) => ({ accounts: new Map([['account', { open }]]), now });

/** An event of a price that series of its number count. */
const draft = (seriesId: number, amount: number, usageDate = now) => {
  const ledgerAccountId = `account ${seriesId}`;
  return {
    seriesId,
    ledgerAccountId,
    event: { priceId: `price ${seriesId}`, billingPeriodId: null, amount, usageDate },
  };
};

test('events of one series are one usage, in the place of the first that counts, and one addition to each hour', () => {
  const drafts = [draft(1, 9), draft(2, 1), draft(1, 2), draft(1, 4, now - hourMs), draft(3, 5)] as Draft[];
  // Neither the first nor the last counts.
  const { usages, additions } = addUp(drafts, new Set(drafts.slice(1, -1)));
  const used = (seriesId: number, units: bigint) => ({
    ledgerAccountId: `account ${seriesId}`,
    priceId: `price ${seriesId}`,
    billingPeriodId: null,
    units,
  });
  const added = (seriesId: number, hour: number, units: bigint, events: number) => ({
    ledgerAccountId: `account ${seriesId}`,
    ...rollUp(seriesId, hour, units, events),
  });
  assert.deepEqual(usages, [used(2, 1n), used(1, 6n)]);
  assert.deepEqual(additions, [added(1, 15, 2n, 2), added(1, 14, 4n, 1), added(2, 15, 1n, 1), added(3, 15, 0n, 1)]);
  assert.deepEqual(addUp([], new Set()), { usages: [], additions: [] });
});

test('worked example, at ten past three: the hour since two is closed, three is open, yesterday is closed', () => {
  const { open, closed } = placeAdditions([addition(1, 15, 7n), addition(1, -9, 4n)], on(rollUp(1, 14, 5n, 3)));
  assert.deepEqual([...open], [['account', rollUp(1, 15, 7n)]]);
  assert.deepEqual(closed, [rollUp(1, 14, 5n, 3), rollUp(1, -9, 4n)]);
});

test('what comes to the hour that is open is added to it', () => {
  const { open, closed } = placeAdditions([addition(1, 15, 7n)], on(rollUp(1, 15, 5n, 3)));
  assert.deepEqual([[...open.values()], closed], [[rollUp(1, 15, 12n, 4)], []]);
});

test('of two series in the present hour the first is open', () => {
  const { open, closed } = placeAdditions([addition(1, 15), addition(2, 15)], on(null));
  assert.deepEqual([[...open.values()], closed], [[rollUp(1, 15)], [rollUp(2, 15)]]);
});

test('an account on which nothing is booked is not written', () => {
  const { open, closed } = placeAdditions([addition(1, 15)], { accounts: new Map(), now });
  assert.deepEqual([[...open.values()], closed], [[], [rollUp(1, 15)]]);
});

test('what is open and what is closed afterwards is what was open and what is added', () => {
  const series = fc.integer({ min: 1, max: 3 });
  const hour = fc.integer({ min: 13, max: 16 });
  const units = fc.bigInt({ min: 0n, max: 9n });
  fc.assert(
    fc.property(fc.array(fc.tuple(series, hour, units)), fc.option(fc.tuple(series, hour, units)), (added, before) => {
      const start = before === null ? null : rollUp(...before);
      const { open, closed } = placeAdditions(
        added.map((each) => addition(...each)),
        on(start),
      );
      const after = [...closed, open.get('account') ?? start];
      const told = [...added.map((each) => rollUp(...each)), start];
      assert.deepEqual(sums(after), sums(told));
    }),
  );
});

function sums(rollUps: readonly (ReturnType<typeof rollUp> | null)[]) {
  const sum = new Map<string, [units: bigint, events: number]>();
  for (const each of rollUps) {
    if (each === null) continue;
    const key = `${each.seriesId} ${each.hour}`;
    const [units, events] = sum.get(key) ?? [0n, 0];
    sum.set(key, [units + each.units, events + each.events]);
  }
  return new Map([...sum].sort());
}
