import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hourMs } from './event-query.ts';
import { type Draft, type FoundSeries, sumUp } from './usage-draft.ts';

const now = 15 * hourMs + 600_000;

/** An event of a series. Drafts have more, which sums do not look at. */
function draft(found: FoundSeries, amount: number, usageDate = now): Draft {
  return { found, event: { amount, usageDate }, price: { ofEvents: 'none', poolRates: null } } as unknown as Draft;
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
        ...{ units: 18n, events: 0n, ownAmount: 0n },
        hourUnits: 11n,
        hourEvents: 2,
        otherHours: new Map([[14 * hourMs, { units: 7n, events: 2 }]]),
        parts: [],
      },
      {
        draft: drafts[1],
        units: 1n,
        events: 0n,
        ownAmount: 0n,
        hourUnits: 1n,
        hourEvents: 1,
        otherHours: new Map(),
        parts: [],
      },
    ],
  );
});

test('the uses of an account are in parts, one for each stretch of events of one rate', () => {
  const [found, other] = [series(1), series(2)];
  const [small, large] = [
    { creditPoolId: 'pool', unitCost: 1n },
    { creditPoolId: 'pool', unitCost: 5n },
  ];
  const rated = (of: FoundSeries, poolRate: unknown, amount: number) =>
    ({
      ...draft(of, amount),
      price: { ofEvents: 'none', poolRates: {} },
      subscription: {},
      poolRate,
    }) as unknown as Draft;
  const drafts = [rated(found, small, 1), rated(found, small, 2), rated(found, large, 4), rated(other, small, 8)];
  for (const [index, each] of drafts.entries()) each.event.id = `usage_event_${index}`;
  const plain = { events: 0n, ownAmount: 0n, paid: null, isLimited: false };
  assert.deepEqual(
    sumUp(drafts, () => true, now).map(({ parts }) => parts),
    [
      [
        { position: 0, entryId: 'ledger_entry_0', rate: small, units: 3n, ...plain },
        { position: 2, entryId: 'ledger_entry_2', rate: large, units: 4n, ...plain },
      ],
      [{ position: 3, entryId: 'ledger_entry_3', rate: small, units: 8n, ...plain }],
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

test('events at a price for each of them are counted, and their own prices are added up exactly', () => {
  const found = series(1);
  const priced = (ofEvents: string, price?: string) => {
    const { event, ...rest } = draft(found, 2);
    return { ...rest, event: { ...event, price }, price: { ofEvents, poolRates: null } } as unknown as Draft;
  };
  const totals = (drafts: Draft[], counts = () => true) =>
    sumUp(drafts, counts, now).map(({ units, events, ownAmount }) => [units, events, ownAmount]);
  assert.deepEqual(totals([priced('counted'), priced('counted')]), [[4n, 2n, 0n]]);
  assert.deepEqual(totals([priced('own', '0.1'), priced('own', '0.2'), priced('own', '3')]), [
    [6n, 3n, 3_300_000_000_000n],
  ]);
  assert.deepEqual(
    totals([priced('counted')], () => false),
    [[0n, 0n, 0n]],
  );
});

test('no events have no sums', () => {
  assert.deepEqual(
    sumUp([], () => true, now),
    [],
  );
});
