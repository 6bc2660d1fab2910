import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hourMs } from './event-query.ts';
import { type Draft, type FoundSeries, sumUp } from './usage-draft.ts';

const now = 15 * hourMs + 600_000;

/** An event of a series. Drafts have more, which sums do not look at. */
function draft(found: FoundSeries, amount: number, usageDate = now): Draft {
  return { found, event: { amount, usageDate } } as Draft;
}

const series = (id: number): FoundSeries => ({ billingPeriodId: null, series: { id, ledgerAccountId: `la_${id}` } });

test('the events of a series are one sum, apart from the hours that are not the present one', () => {
  const [one, two] = [series(1), series(2)];
  const drafts = [
    draft(one, 9),
    draft(two, 1),
    draft(one, 2),
    draft(one, 4, now - hourMs),
    draft(one, 3, now - hourMs),
  ];
  assert.deepEqual(
    sumUp(drafts, () => true, now),
    [
      {
        draft: drafts[0],
        units: 18n,
        hourUnits: 11n,
        hourEvents: 2,
        otherHours: new Map([[14 * hourMs, { units: 7n, events: 2 }]]),
      },
      { draft: drafts[1], units: 1n, hourUnits: 1n, hourEvents: 1, otherHours: new Map() },
    ],
  );
});

test('an event that does not count adds nothing to the units, and is an event of its hour', () => {
  const [first, second] = [draft(series(1), 9), draft(series(2), 5)];
  const sums = sumUp([first, second], (each) => each === second, now);
  assert.deepEqual(
    sums.map(({ units, hourUnits, hourEvents }) => [units, hourUnits, hourEvents]),
    [
      [0n, 0n, 1],
      [5n, 5n, 1],
    ],
  );
});

test('no events have no sums', () => {
  assert.deepEqual(
    sumUp([], () => true, now),
    [],
  );
});
