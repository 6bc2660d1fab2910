import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideOverrides, overrideAt, overrideStart, overridesAfter } from './price-override.ts';

const [june, july, august] = [100, 200, 300];
const five = { unitPrice: 5n, pricing: null };
const none = { unitPrice: null, pricing: null };

test('a usage period has the terms in force at its start, however long they last', () => {
  const spans = [
    { ...five, startAt: june, endAt: july },
    { ...five, unitPrice: 4n, startAt: july, endAt: null },
  ];
  const at = (start: number) => overrideAt(spans, start)?.unitPrice ?? null;
  assert.deepEqual([june - 1, june, july - 1, july, august].map(at), [null, 5n, 5n, 4n, 4n]);
});

test('terms that begin and end at one instant are for no period', () => {
  assert.equal(overrideAt([{ ...five, startAt: june, endAt: june }], june), null);
});

test('a change at the start of a usage period leaves that period, and an item changes at once', () => {
  const made = { at: july, periodStart: july };
  assert.deepEqual([overrideStart({ isUsage: true }, made), overrideStart({ isUsage: false }, made)], [july + 1, july]);
  assert.equal(overrideStart({ isUsage: true }, { ...made, periodStart: june }), july);
});

test('a change says only what changes, and ends the terms of items that are left out', () => {
  const inForce = [
    { priceId: 'seat', isUsage: false, startsAt: june, ...five },
    { priceId: 'call', isUsage: true, startsAt: june, ...five },
  ];
  const same = { priceId: 'call', isUsage: true, ...five };
  assert.deepEqual(decideOverrides([same], inForce, new Set(['seat'])), []);
  assert.deepEqual(decideOverrides([], inForce, new Set(['other'])), [{ priceId: 'seat', isUsage: false, ...none }]);
  const removed = [{ priceId: 'call', isUsage: true, ...none }];
  assert.deepEqual(decideOverrides(removed, inForce, new Set(['seat'])), removed);
  assert.deepEqual(decideOverrides([{ ...same, ...none, priceId: 'job' }], inForce, new Set(['seat'])), []);
  const after = overridesAfter(inForce, [{ ...same, unitPrice: 4n }], { at: july, periodStart: june });
  assert.deepEqual(
    after.map(({ priceId, unitPrice, startsAt }) => [priceId, unitPrice, startsAt]),
    [
      ['seat', 5n, june],
      ['call', 4n, july],
    ],
  );
});
