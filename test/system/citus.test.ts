import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { freePort } from '../../src/embedded-postgres/server.ts';
import { check, createOrganization } from '../../src/main-admin.ts';
import { placeCell } from '../../src/main-placing.ts';
import type { Answer, Body } from '../support/harness.ts';
import { plans } from '../support/plans.ts';
import { PressedService, until } from '../support/pressed.ts';
import { printed } from '../support/printed.ts';
import { program } from '../support/program.ts';

// A real cluster: a coordinator and two nodes. No package of this project has Citus, so a variable names the folder of a script
// `cluster.sh` that starts one: `start <directory> <nodes> <port>`, `database <directory> <name>`, `stop <directory>`.
const place = process.env.TOLLKEEPER_TEST_CITUS;
const skip = place ? false : 'TOLLKEEPER_TEST_CITUS names no folder with a cluster of Citus';

const run = promisify(execFile);
const key = 'sk_test_of_the_placed_schema';
const schema = 'home';
let directory = '';
let firstPort = 0;

const cluster = (action: string, ...more: readonly string[]) =>
  run('bash', [join(String(place), 'cluster.sh'), action, directory, ...more]);
const urlOf = (node: number) => `postgres://postgres@127.0.0.1:${firstPort + node}/tollkeeper`;
const settingsAt = (node: number) => ({
  DATABASE_URL: urlOf(node),
  DATABASE_SCHEMA: schema,
  TOLLKEEPER_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  TOLLKEEPER_TEST_KEY: key,
  LOG_LEVEL: 'error',
});
const configAt = (node: number) => readConfig(settingsAt(node));
const json = { json: true };

/** Stops or starts the second node. */
function nodeControl(action: string): string {
  const data = join(directory, 'data', String(firstPort + 2));
  const command = `${directory}/usr/lib/postgresql/15/bin/pg_ctl -D ${data} -m fast -l ${data}.log -w ${action} >/dev/null`;
  return process.getuid?.() === 0 ? `su postgres -s /bin/bash -c "${command}"` : command;
}

async function query(node: number, text: string): Promise<Body[]> {
  const client = new pg.Client({ connectionString: urlOf(node) });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Places the schema, by the address of any node. */
const placeOn = (node: number, at = 0) =>
  printed(() => placeCell(configAt(at), schema, { node: `127.0.0.1:${firstPort + node}`, ...json }));

async function assertSound(node: number): Promise<void> {
  const { broken } = await printed(() => check(configAt(node), { full: true, ...json }));
  assert.deepEqual(broken, []);
}

const ask = (service: PressedService, method: string, path: string, body?: unknown): Promise<Answer> =>
  service.request(method, path, body, { key });

interface Buyer {
  readonly externalId: string;
  readonly subscriptionId: string;
}

/** Stores events until the end, each until it is answered. Answers how many there are, and how often one was refused. */
async function load(buyers: readonly Buyer[], service: () => PressedService, end: AbortSignal) {
  const sum = { stored: 0, refused: 0 };
  const givesUp = AbortSignal.timeout(120_000);
  const callers = buyers.map(async ({ subscriptionId }, caller) => {
    for (let sent = 0; !end.aborted; sent++) {
      const usageEvent = { subscriptionId, priceSlug: 'call-overage', transactionId: `${caller} ${sent}`, amount: 1 };
      for (let status = 0; status !== 200; ) {
        const answer = await ask(service(), 'POST', '/usage-events', { usageEvent }).catch(() => null);
        status = answer?.status ?? 503;
        if (status === 200) break;
        sum.refused += 1;
        assert.equal(status, 503, JSON.stringify(answer?.body));
        assert(!givesUp.aborted, 'an event was refused for two minutes');
        await sleep(50);
      }
      sum.stored += 1;
    }
  });
  await Promise.all(callers);
  return sum;
}

suite('on a cluster of Citus', { skip }, () => {
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tollkeeper-citus-'));
    firstPort = await freePort(0);
    await cluster('start', '2', String(firstPort));
    for (const node of [0, 1, 2]) {
      const quickly = ['fsync', 'synchronous_commit', 'full_page_writes'];
      for (const setting of quickly) await query(node, `alter system set ${setting} = off`).catch(() => undefined);
    }
    await cluster('database', 'tollkeeper');
    for (const node of [0, 1, 2]) await query(node, 'select pg_reload_conf()');
    await printed(() => createOrganization(configAt(0), { name: 'Acme', ...json }));
  });
  after(async () => {
    await cluster('stop');
    await rm(directory, { recursive: true, force: true });
  });

  test('a command that was killed while it placed the schema is repeated, and the other nodes refuse', async () => {
    const child = spawn(process.execPath, [program, 'cells', 'place', schema], {
      env: { ...process.env, ...settingsAt(0) },
    });
    await until('the tables are on a node', async () => (await query(0, 'select from pg_dist_schema')).length > 0);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const placed = await printed(() => placeCell(configAt(0), schema, json));
    const node = Number(new URL(placed.address).port) - firstPort;
    assert([1, 2].includes(node));
    assert.deepEqual(placed, {
      name: schema,
      address: urlOf(node).replace('postgres@', ''),
      jobs: { moved: 0, left: 0 },
    });
    await assertSound(node);
    for (const other of [0, 3 - node]) {
      await assert.rejects(check(configAt(other), json), {
        message: `The schema home is on the node 127.0.0.1:${firstPort + node} of Citus. Set DATABASE_URL to it.`,
      });
      await assert.rejects(query(other, `set search_path = home; select authenticate('', 0, null)`), {
        message: 'the schema is on another node',
      });
    }
    await assert.rejects(placeCell(configAt(0), schema, { node: '127.0.0.1:1' }), {
      message: /^--node: 127\.0\.0\.1:1 is no node of the cluster\./,
    });
    await assert.rejects(
      printed(() => placeCell(configAt(node), 'other', json)),
      {
        message: 'There is no cell other. List them with: tollkeeper cells list',
      },
    );
  });

  test("a customer's first month is the same on a node", async () => {
    assert.equal((await placeOn(1)).jobs.left, 0);
    const worker = new URL('../../scripts/test-worker.ts', import.meta.url).pathname;
    const env = { ...process.env, ...settingsAt(1), TOLLKEEPER_TEST_DATABASE: urlOf(1), NODE_TEST_CONTEXT: undefined };
    const story = 'test/stories/first-month.test.ts';
    const { stdout } = await run(process.execPath, [...process.execArgv, worker, story], { env, timeout: 120_000 });
    assert.match(stdout, /^. fail 0$/m);
  });

  test('a schema that moves under load loses and doubles nothing, and a node that is down is waited for', async () => {
    let service = await PressedService.start(settingsAt(1));
    const tour = new URL('../../examples/tour.ts', import.meta.url).pathname;
    await run(process.execPath, [tour], {
      env: { ...process.env, TOLLKEEPER_URL: service.address, TOLLKEEPER_TEST_KEY: key },
    });
    await ask(service, 'POST', '/pricing-models/setup', plans);
    const buyers = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map(async (externalId): Promise<Buyer> => {
        const customer = { externalId, email: `${externalId}@acme.test`, name: externalId };
        const { body } = await ask(service, 'POST', '/customers', { customer });
        return { externalId, subscriptionId: body.data.subscription.id };
      }),
    );
    const end = new AbortController();
    const loading = load(buyers, () => service, end.signal);
    try {
      await placeOn(2);
      const former = service;
      await until('the former node refuses', async () => (await ask(former, 'GET', '/customers/a')).status === 503);
      service = await PressedService.start(settingsAt(2));
      await former.stop();
      assert.equal((await placeOn(2, 2)).jobs.left, 0);
      await sleep(500);
    } finally {
      end.abort();
      await loading.catch(() => undefined);
    }
    const { stored, refused } = await loading;
    assert(refused > 0);
    const ids = buyers.map(({ subscriptionId }) => `'${subscriptionId}'`).join(', ');
    const [{ events, used }] = await query(
      2,
      `select (select sum(amount)::integer from home.usage_events e join home.usage_series s on s.id = e.series_id
                where s.subscription_id in (${ids})) as events,
              (select sum(used)::integer from home.ledger_accounts where subscription_id in (${ids})) as used`,
    );
    assert.deepEqual({ events, used }, { events: stored, used: stored });
    await assertSound(2);

    const control = (action: string) => run('bash', ['-c', nodeControl(action)]);
    await control('stop');
    assert.equal((await ask(service, 'GET', '/customers/a')).status, 503);
    assert.equal(await service.status('/ready'), 503);
    await control('start');
    await until('the service is back', async () => (await ask(service, 'GET', '/customers/a')).status === 200);
    await until('the service is ready', async () => (await service.status('/ready')) === 200);
    await service.stop();
  });
});
