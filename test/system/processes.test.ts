import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { killAndWait } from '../support/kill.ts';
import { Killable } from '../support/killable.ts';

const service = await Killable.create({ TOLLKEEPER_PROCESSES: '2' });
after(() => service.remove());
await service.start();

const headers = { authorization: service.key, 'content-type': 'application/json' };

/** Creates a customer by a connection of its own, and tries again until it is answered. */
async function createCustomer(number: number): Promise<number> {
  const request = {
    method: 'POST',
    headers: { ...headers, connection: 'close', 'idempotency-key': `customer ${number}` },
    body: JSON.stringify({
      customer: { externalId: `c${number}`, name: `Customer ${number}`, email: 'c@example.com' },
    }),
  };
  for (let attempt = 1; attempt <= 50; attempt++) {
    const response = await fetch(`${service.address}/api/v1/customers`, request).catch(() => null);
    await response?.arrayBuffer();
    if (response !== null && response.status < 500) return response.status;
    await sleep(100);
  }
  return 0;
}

async function countCustomers(): Promise<number> {
  const response = await fetch(`${service.address}/api/v1/customers?limit=1`, { headers });
  const { total } = (await response.json()) as { total: number };
  return total;
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

test('two processes answer requests and a third runs jobs; /metrics counts the requests of both', async () => {
  const commands = (await service.processes()).map(({ command }) => command).sort();
  assert.deepEqual(commands, ['serve', 'serve', 'work']);
  assert.deepEqual(new Set(await Promise.all(numbers(0, 40).map(createCustomer))), new Set([200]));
  const metrics = await (await fetch(`${service.address}/metrics`)).text();
  assert.match(
    metrics,
    /http_request_duration_seconds_count\{method="POST",route="\/api\/v1\/customers",status="200"\} 40\n/,
  );
  // One job queue in one database, however many processes read its length.
  assert.match(metrics, /tollkeeper_queue_jobs\{state="failed"\} 0\n/);
});

test('a process that is killed under load is replaced, and each repeated request is done once', async () => {
  const before = await countCustomers();
  const [killed] = (await service.processes()).filter(({ command }) => command === 'serve');
  assert(killed);
  const asked = Promise.all(numbers(40, 140).map(createCustomer));
  await killAndWait([killed.pid]);
  assert.deepEqual(new Set(await asked), new Set([200]));
  assert.equal(await countCustomers(), before + 100);
  for (let waited = 0; (await service.processes()).length < 3; waited++) {
    assert(waited < 300, 'a killed process is replaced within 30 seconds');
    await sleep(100);
  }
});

test('a service of several processes does not share the port of another one', async (t) => {
  const { port } = new URL(service.address);
  const second = await Killable.create({ TOLLKEEPER_PROCESSES: '2', PORT: port });
  t.after(() => second.remove());
  await assert.rejects(second.start(), new RegExp(`PORT: ${port} is in use`));
});

test('all processes end with the first one', async () => {
  const pids = (await service.processes()).map(({ pid }) => pid);
  await service.stop();
  const left = pids.filter((pid) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  });
  assert.deepEqual(left, []);
});
