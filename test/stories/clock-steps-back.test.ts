import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calls, spoils } from '../support/api-calls.ts';
import { type Answer, startTestApp } from '../support/harness.ts';
import { assertSound } from '../support/sound.ts';
import { buildWorld } from '../support/world.ts';

const app = await startTestApp();
const hourMs = 3_600_000;

test('a clock that steps back by an hour, as at a failover, breaks no invariant', async ({ mock }) => {
  const world = await buildWorld(app);
  const real = Date.now;
  // Back, not ahead: ids never go back, so those of later tests of this process would lie in the future.
  const clock = mock.method(Date, 'now', () => real() - hourMs);
  const failed: string[] = [];
  const note = (operation: string, { status, body }: Answer) => {
    if (status >= 500 && body.reason !== 'not_over_cells') failed.push(`${operation}: ${status}`);
  };
  for (const [operation, callOf] of Object.entries(calls)) {
    // Those that only one call can follow come last.
    if (operation.startsWith('GET ') || spoils.has(operation)) continue;
    const { path, body } = callOf(world, `back ${failed.length}`);
    const answer = await app.request(operation.split(' ')[0] ?? '', path, body);
    note(operation, answer);
  }
  for (const operation of spoils.keys()) {
    const { path, body } = calls[operation]?.(world, 'last') ?? { path: '/', body: {} };
    const answer = await app.request(operation.split(' ')[0] ?? '', path, body);
    note(operation, answer);
  }
  clock.mock.restore();
  assert.deepEqual(failed, []);
  // Jobs that were added with the time of before seem to wait for an hour.
  await app.runJobs({ all: true });
  await assertSound(app);
});
