import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../kernel/calendar.ts';
import { checkCapacities, claimTerm } from './resource-claim.ts';

const july = instant('2026-07-01');
const now = instant('2026-06-10');
const stays = { cancelScheduledAt: null };
const term = (plannedCapacity: number | null, lasting: number, requested: number, plannedAt: number | null = july) =>
  claimTerm({ plannedCapacity, plannedAt, lasting }, stays, requested, now);
const end = { at: july, reason: 'scheduled_adjustment' };

test('worked example C1: 3 places from July on, 2 are claimed and 4 asked for: 1 is for good', () => {
  assert.deepEqual(term(3, 2, 4), { lasting: 1, end });
});

test('worked example C2: before a scheduled end every new claim ends with it', () => {
  const holding = { plannedCapacity: null, plannedAt: null, lasting: 2 };
  assert.deepEqual(claimTerm(holding, { cancelScheduledAt: july }, 2, now), {
    lasting: 0,
    end: { at: july, reason: 'scheduled_cancellation' },
  });
});

test('worked example C3: with more places from July on every new claim is for good', () => {
  assert.deepEqual(term(10, 0, 3), { lasting: 3, end: null });
});

test('what fits wholly or not at all, and what nothing is planned for', () => {
  assert.deepEqual(term(3, 0, 3), { lasting: 3, end: null });
  assert.deepEqual(term(0, 0, 2), { lasting: 0, end });
  assert.deepEqual(term(3, 5, 2), { lasting: 0, end }, 'more is held than fits: it was claimed before');
  assert.deepEqual(term(null, 2, 4, null), { lasting: 4, end: null });
  assert.deepEqual(term(3, 2, 1, now), { lasting: 1, end: null }, 'the change is due: nothing ends with it any more');
});

test('a change leaves room for what is claimed, of every resource', () => {
  const claimed = [
    { resourceId: 'seat', resourceSlug: 'seat', claimed: 3 },
    { resourceId: 'room', resourceSlug: 'room', claimed: 1 },
  ];
  assert.doesNotThrow(() => checkCapacities({ seat: 3, room: 1 }, claimed));
  assert.throws(
    () => checkCapacities({ seat: 3 }, claimed),
    /reduce the capacity of room to 0, but 1 are claimed: release 1 first/,
  );
  assert.throws(() => checkCapacities({ seat: 1, room: 1 }, claimed), /release 2 first/);
});
