import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, mock, suite, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { readConfig } from '../../src/config.ts';
import { freePort } from '../../src/embedded-postgres/server.ts';
import { check, createOrganization } from '../../src/main-admin.ts';
import { placeCell } from '../../src/main-placing.ts';
import type { Body } from '../support/harness.ts';
import { until } from '../support/pressed.ts';
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

/** The JSON that a command prints. */
async function printed(act: () => Promise<unknown>): Promise<Body> {
  const log = mock.method(console, 'log', () => undefined);
  try {
    await act();
    return JSON.parse(String(log.mock.calls.at(-1)?.arguments[0]));
  } finally {
    log.mock.restore();
  }
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
      message: /^--node: 127\.0\.0\.1:1 is none/,
    });
    assert.deepEqual((await placeOn(1)).jobs.left, 0);
  });
});
