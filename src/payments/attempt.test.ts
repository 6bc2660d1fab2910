import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptDelays, secondsUntil } from './attempt.ts';

test('three failures cost no wait; the fourth costs 10 s, and each further one twice as much, up to an hour', () => {
  const seconds = attemptDelays.map((delay) => delay / 1000);
  assert.deepEqual(seconds, [0, 0, 0, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600]);
});

test('a wait is told in whole seconds, rounded up, and is at least one', () => {
  assert.deepEqual([secondsUntil(10_001, 0), secondsUntil(10_000, 0), secondsUntil(5, 5)], [11, 10, 1]);
});
