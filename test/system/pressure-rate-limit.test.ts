import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { send, startTestApp } from '../support/harness.ts';
import { PressedService } from '../support/pressed.ts';

const app = await startTestApp();
const service = await PressedService.start({
  DATABASE_URL: app.databaseUrl,
  TOLLKEEPER_RATE_LIMIT: '5',
  TOLLKEEPER_WORK: 'off',
});
after(() => service.remove());
const ask = (key: string) => send(service.address, 'GET', '/settings', undefined, { key });

test('over HTTP: a key that asks too often is answered 429 and when to come again, and another key is answered', async () => {
  assert.equal((await ask(app.testKey)).status, 200);
  const answers = await Promise.all(Array.from({ length: 300 }, () => ask(app.testKey)));
  const refused = answers.filter(({ status }) => status === 429);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 429]));
  const [first] = refused;
  assert.deepEqual(
    ['retry-after', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'].map((name) =>
      first?.headers.get(name),
    ),
    ['1', '5', '0', '1'],
  );
  assert.deepEqual(
    [first?.body.code, first?.body.message],
    ['TOO_MANY_REQUESTS', 'This API key exceeded its limit of 5 requests per second. Try again shortly.'],
  );
  assert.equal((await ask(app.liveKey)).status, 200);
});

test('over HTTP: who goes on guessing keys is answered 429, and a key that was good before is answered', async () => {
  const statuses = new Set<number>();
  for (let round = 0; round < 40 && !statuses.has(429); round++) {
    const answers = await Promise.all(Array.from({ length: 400 }, (_, n) => ask(`sk_test_guess_${round}_${n}`)));
    for (const { status } of answers) statuses.add(status);
  }
  assert.deepEqual(statuses, new Set([401, 429]));
  assert.equal((await ask(app.liveKey)).status, 200);
});
