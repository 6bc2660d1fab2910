import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backlog, StuckLog, stuckWork } from './main-watch.ts';

const minute = 60_000;
const now = 100 * minute;
const calm: Backlog = {
  queue: { ready: 3, failed: 0, firstReadyAt: now - minute },
  dueLagMs: minute,
  deliveries: { due: 0, firstDueAt: null },
};
const stuckSince = (at: number): Backlog => ({ ...calm, queue: { ready: 12, failed: 0, firstReadyAt: at } });

test('work that waits for minutes is not stuck; a job after five and due work after fifteen is', () => {
  assert.equal(stuckWork(calm, now).size, 0);
  assert.deepEqual(
    [...stuckWork({ ...stuckSince(now - 7 * minute), dueLagMs: 20 * minute }, now).values()],
    [
      'The queue is stuck: 12 jobs wait, the first for 7 min.',
      'Due work is late: the first piece has been due for 20 min.',
    ],
  );
  assert.equal(stuckWork({ ...calm, queue: { ready: 0, failed: 1, firstReadyAt: null } }, now).size, 1);
});

test('the log says how many invariants the last check of a cell found broken', () => {
  assert.deepEqual(
    [...stuckWork({ ...calm, broken: 2 }, now).values()],
    ['The last check found 2 broken invariants. tollkeeper check prints their rows.'],
  );
});

test('stuck work is logged at once, every ten minutes, and when it is over', () => {
  const said: string[] = [];
  const log = new StuckLog({ warn: (message: unknown) => void said.push(String(message)) });
  for (let passed = 0; passed <= 12; passed++) log.note(stuckSince(now - 6 * minute), now + passed * minute);
  assert.equal(said.length, 2);
  const idle = { ...calm, queue: { ready: 0, failed: 0, firstReadyAt: null } };
  log.note(idle, now + 13 * minute);
  log.note(idle, now + 14 * minute);
  assert.deepEqual(said.slice(2), ['Nothing is stuck any more: queue.']);
});
