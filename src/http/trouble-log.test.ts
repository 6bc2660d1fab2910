import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../kernel/problem.ts';
import { TroubleLog } from './trouble-log.ts';

test('the end of an outage is logged once, with the number of refused requests', async () => {
  const said: string[] = [];
  const note = (_: object, message: string) => void said.push(message);
  let isUp = false;
  const trouble = new TroubleLog({ warn: note, error: note }, async () => isUp);
  const lost = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  for (let request = 0; request < 3; request++) trouble.note(new Problem('serviceUnavailable'), lost);
  isUp = true;
  await sleep(1_200);
  assert.equal(said.length, 2);
  assert.match(said[1] ?? '', /^The database is back after \d s\.$/);
});
