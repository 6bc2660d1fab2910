import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinSummaries, maxSummaryGroups, type UsageMeterSummary } from './usage-summary.ts';

/** The summary of a cell. Each of its groups has a name and units, and two events. */
function summaryOf(
  groupBy: 'customer' | 'property',
  groups: readonly (readonly [string, bigint])[],
): UsageMeterSummary {
  return {
    usageMeterId: 'usage_meter_1',
    from: 0,
    to: 1,
    groupBy,
    units: groups.reduce((sum, [, units]) => sum + units, 0n),
    events: 2 * groups.length,
    groups: groups.map(([name, units]) => {
      const sums = { units, events: 2 };
      return groupBy === 'customer' ? { customerId: name, externalId: name, ...sums } : { value: name, ...sums };
    }),
    other: null,
  };
}

test('the customers of all cells are ranked together, and those beyond the maximum are one sum', () => {
  const here = summaryOf(
    'customer',
    Array.from({ length: maxSummaryGroups }, (_, n) => [`a${n}`, BigInt(5_000 - n)] as const),
  );
  const there = {
    ...summaryOf('customer', [
      ['b0', 9_000n],
      ['b1', 1n],
    ]),
    other: { groups: 3, units: 3n, events: 3 },
  };
  const { groups, other, units, events } = joinSummaries([here, { ...there, units: 9_004n, events: 7 }]);
  assert.deepEqual(
    [groups.length, groups[0]],
    [maxSummaryGroups, { customerId: 'b0', externalId: 'b0', units: 9_000n, events: 2 }],
  );
  // The last customer of the first cell, the last one of the second, and the three beyond.
  assert.deepEqual(other, { groups: 5, units: 4_001n + 1n + 3n, events: 7 });
  assert.equal(units, here.units + 9_004n);
  assert.equal(events, here.events + 7);
});

test('values of a property add up over cells, and more than one cell names are refused', () => {
  const [one, two] = [
    summaryOf('property', [
      ['a', 5n],
      ['b', 3n],
    ]),
    summaryOf('property', [['b', 4n]]),
  ];
  assert.deepEqual(joinSummaries([one, two]).groups, [
    { value: 'b', units: 7n, events: 4 },
    { value: 'a', units: 5n, events: 2 },
  ]);
  const many = { ...two, other: { groups: 1, units: 1n, events: 1 } };
  assert.throws(() => joinSummaries([one, many]), { problem: 'notOverCells' });
  assert.equal(joinSummaries([many]), many);
});
