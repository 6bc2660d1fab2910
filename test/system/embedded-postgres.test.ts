import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { after, before, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { acquireServiceLock, birthOf } from '../../src/embedded-postgres/process-lock.ts';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  findEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/embedded-postgres/start.ts';

// Nothing here outlives the machine, and the small memory lets the servers start side by side with those of other tests.
const settings = { fsync: 'off', shared_buffers: '16MB', max_connections: '20' };

// What a first start leaves; most tests begin with a copy of it.
let template = '';

before(async () => {
  template = await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-postgres-'));
  await (await start(template)).stop();
});

after(() => remove(template, template));

test('the first start creates a database, the second finds what was written', async (t) => {
  const dataDirectory = join(await temporaryDirectory(t), 'linked');
  await symlink('.', dataDirectory);
  const first = await start(dataDirectory);
  assert.equal(first.startedHere, true);
  assert.equal((await findEmbeddedPostgres(dataDirectory))?.url, first.url);
  await query(first.url, 'create table toll (amount bigint)');
  await query(first.url, 'insert into toll values (42)');
  await first.stop();
  const second = await start(dataDirectory);
  assert.equal(second.url, first.url, 'password and port are remembered');
  assert.deepEqual(await query(second.url, 'select amount::text from toll'), [{ amount: '42' }]);
  await second.stop();
});

test('the server is a PostgreSQL 18 that is durable, speaks UTF-8, listens on this machine only and is not root', async (t) => {
  const dataDirectory = await temporaryDirectory(t);
  const postgres = await startEmbeddedPostgres({ dataDirectory, log: ignore });
  const [row] = await query(
    postgres.url,
    `select current_setting('server_version_num')::int / 10000 as version, current_database() as database,
      current_setting('fsync') || current_setting('synchronous_commit') || current_setting('full_page_writes') as durability,
      current_setting('server_encoding') as encoding, lower('ÄÖ') as lower, current_setting('listen_addresses') as address,
      current_setting('unix_socket_directories') as sockets, usesuper from pg_user where usename = current_user`,
  );
  assert.deepEqual(row, {
    version: 18,
    database: 'tollkeeper',
    durability: 'ononon',
    encoding: 'UTF8',
    lower: 'äö',
    address: '127.0.0.1',
    sockets: '',
    usesuper: true,
  });
  assert.notEqual((await stat(join(dataDirectory, 'postgres'))).uid, 0);
  assert.equal((await stat(join(dataDirectory, 'postgres.json'))).mode & 0o777, 0o600);
  assert.equal((await stat(join(dataDirectory, 'postgres.log'))).mode & 0o777, 0o600);
  await postgres.stop();
});

test('a directory on the way that is closed to PostgreSQL does not prevent the start', async (t) => {
  const parent = await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-postgres-'));
  t.after(() => remove(parent, dataDirectory));
  const [closed, sharedDirectory] = [join(parent, 'closed'), join(parent, 'shared')];
  await chmod(parent, 0o755);
  await mkdir(closed, { mode: 0o700 });
  const dataDirectory = join(closed, 'data');
  const first = await start(dataDirectory, { sharedDirectory });
  await query(first.url, 'create table kept ()');
  await first.stop();
  const second = await start(dataDirectory, { sharedDirectory });
  assert.deepEqual(await query(second.url, 'select from kept'), []);
  await second.stop();
});

test('a first start that was killed half way is begun anew', async (t) => {
  const dataDirectory = await temporaryDirectory(t);
  const child = spawnService(t, dataDirectory);
  while (!(await readdir(dataDirectory)).some((name) => name.startsWith('postgres.new.'))) await setImmediate();
  await kill(child, 'SIGKILL');
  assert.equal(await findEmbeddedPostgres(dataDirectory), null);
  const postgres = await start(dataDirectory);
  assert.deepEqual(await query(postgres.url, 'select 1 as one'), [{ one: 1 }]);
  await postgres.stop();
});

test('a server whose service was killed is taken over with its data, and stopped at the end', async (t) => {
  const dataDirectory = await usedDirectory(t);
  const service = await startService(t, dataDirectory);
  await query(service.url, 'create table kept ()');
  await kill(service.process, 'SIGKILL');
  const lock = await acquireServiceLock(dataDirectory);
  const postgres = await start(dataDirectory);
  assert.equal(postgres.startedHere, false);
  assert.equal(postgres.url, service.url);
  assert.deepEqual(await query(postgres.url, 'select from kept'), []);
  await postgres.stop();
  assert.equal(await findEmbeddedPostgres(dataDirectory), null);
  await lock.release();
});

test('after the server was killed the next start recovers what was committed', async (t) => {
  const dataDirectory = await usedDirectory(t);
  const killed = await start(dataDirectory);
  await query(killed.url, 'create table toll as select n from generate_series(1, 1000) as n');
  process.kill(await serverPid(dataDirectory), 'SIGKILL');
  const recovered = await start(dataDirectory);
  assert.equal(recovered.startedHere, true);
  assert.deepEqual(await query(recovered.url, 'select count(*)::int from toll'), [{ count: 1000 }]);
  await recovered.stop();
});

test('a number that a killed server left behind and another process got since does not block the start', async (t) => {
  const dataDirectory = await usedDirectory(t);
  const killed = await start(dataDirectory);
  const pid = await serverPid(dataDirectory);
  process.kill(pid, 'SIGKILL');
  // A server that is still ending would keep its port.
  while ((await birthOf(pid)) !== null) await setImmediate();
  // PostgreSQL respects the numbers of processes of its own account only.
  const { uid, gid } = await stat(join(dataDirectory, 'postgres'));
  const account = process.getuid?.() === 0 ? { uid, gid } : {};
  const stranger = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'], { ...account, cwd: '/' });
  t.after(() => stranger.kill('SIGKILL'));
  const note = await readFile(join(dataDirectory, 'postgres', 'postmaster.pid'), 'utf8');
  await writeFile(join(dataDirectory, 'postgres', 'postmaster.pid'), note.replace(String(pid), String(stranger.pid)));
  assert.equal(await findEmbeddedPostgres(dataDirectory), null);
  const recovered = await start(dataDirectory);
  assert.equal(recovered.url, killed.url);
  await recovered.stop();
  assert.equal(stranger.exitCode ?? stranger.signalCode, null, 'the stranger was left alone');
});

test('a second service on the same data is refused, and told which process serves', async (t) => {
  const dataDirectory = await usedDirectory(t);
  const service = await startService(t, dataDirectory);
  const refusal = {
    message: `Another Tollkeeper (process ${service.process.pid}) is already serving from ${dataDirectory}; stop it or set TOLLKEEPER_DATA_DIR.`,
  };
  await assert.rejects(acquireServiceLock(dataDirectory), refusal);
  await assert.rejects(start(dataDirectory), refusal);
  await kill(service.process, 'SIGTERM');
  const lock = await acquireServiceLock(dataDirectory);
  await assert.rejects(acquireServiceLock(dataDirectory), /process \d+/, 'nor may one process serve twice');
  await lock.release();
});

test('of many services that find the lock of a killed one, one gets it', async (t) => {
  // Who comes between the reading of a stale lock and its removal is a matter of luck, so it is tried many times.
  for (let round = 0; round < 50; round++) {
    const dataDirectory = await temporaryDirectory(t);
    // Our own number with another time of birth: what is left when a killed service's number is given away again.
    await writeFile(join(dataDirectory, 'service.lock'), JSON.stringify({ pid: process.pid, birth: 'long ago' }));
    const attempts = await Promise.allSettled(Array.from({ length: 8 }, () => acquireServiceLock(dataDirectory)));
    assert.equal(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
  }
});

test('the command line finds the server of a running service, and nothing when it has stopped', async (t) => {
  const dataDirectory = await usedDirectory(t);
  assert.equal(await findEmbeddedPostgres(dataDirectory), null);
  const service = await startService(t, dataDirectory);
  const found = await findEmbeddedPostgres(dataDirectory);
  assert.equal(found?.url, service.url);
  assert.deepEqual(await query(service.url, 'select 1 as one'), [{ one: 1 }]);
  await kill(service.process, 'SIGTERM');
  assert.equal(await findEmbeddedPostgres(dataDirectory), null);
});

test('Ctrl-C in the terminal of the service does not reach the server', async (t) => {
  const dataDirectory = await usedDirectory(t);
  const service = await startService(t, dataDirectory);
  // The service is the leader of its process group and ignores the signal; whatever else is in the group would end.
  process.kill(-service.pid, 'SIGINT');
  assert.deepEqual(await query(service.url, 'select pg_sleep(0.2)::text as slept'), [{ slept: '' }]);
});

test('a command that started the server leaves it to the service that came meanwhile', async (t) => {
  const dataDirectory = await usedDirectory(t);
  const command = await start(dataDirectory);
  const service = await startService(t, dataDirectory);
  assert.equal(service.startedHere, false);
  await command.stop();
  assert.deepEqual(await query(service.url, 'select 1 as one'), [{ one: 1 }]);
});

test('a port that was taken meanwhile is replaced by a free one', async (t) => {
  const dataDirectory = await usedDirectory(t);
  const first = await start(dataDirectory);
  await first.stop();
  const port = Number(new URL(first.url).port);
  const other = createServer().listen(port, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const second = await start(dataDirectory);
  assert.notEqual(Number(new URL(second.url).port), port);
  assert.deepEqual(await query(second.url, 'select 1 as one'), [{ one: 1 }]);
  await second.stop();
});

test('a setting that PostgreSQL refuses is shown with its own words', async (t) => {
  const dataDirectory = await usedDirectory(t);
  const attempt = start(dataDirectory, { settings: { ...settings, shared_buffers: 'plenty' } });
  await assert.rejects(attempt, /invalid value for parameter "shared_buffers": "plenty"/);
});

function start(dataDirectory: string, options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDirectory, settings, log: ignore, ...options });
}

type Service = { process: ChildProcess; pid: number; url: string; startedHere: boolean };

/** A process of its own that serves from the data directory until SIGTERM. */
async function startService(t: TestContext, dataDirectory: string): Promise<Service> {
  const child = spawnService(t, dataDirectory);
  assert(child.stdout !== null && child.pid !== undefined);
  const [line] = await once(createInterface(child.stdout), 'line');
  return { process: child, pid: child.pid, ...JSON.parse(String(line)) };
}

function spawnService(t: TestContext, dataDirectory: string): ChildProcess {
  const source = `
    import { startEmbeddedPostgres } from ${JSON.stringify(import.meta.resolve('../../src/embedded-postgres/start.ts'))};
    import { acquireServiceLock } from ${JSON.stringify(import.meta.resolve('../../src/embedded-postgres/process-lock.ts'))};
    const dataDirectory = ${JSON.stringify(dataDirectory)};
    const lock = await acquireServiceLock(dataDirectory);
    const postgres = await startEmbeddedPostgres({ dataDirectory, settings: ${JSON.stringify(settings)}, log: () => {} });
    process.on('SIGINT', () => {});
    process.once('SIGTERM', async () => {
      await postgres.stop();
      await lock.release();
      process.exit(0);
    });
    setInterval(() => {}, 1000);
    console.log(JSON.stringify(postgres));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(await realpath(tmpdir()), 'tollkeeper-postgres-'));
  t.after(() => remove(directory, directory));
  return directory;
}

/** A data directory whose first start lies behind it. */
async function usedDirectory(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  await promisify(execFile)('cp', ['-a', `${template}/.`, directory]);
  return directory;
}

/** A test that fails half way, or kills the service, may leave its server behind. */
async function remove(directory: string, dataDirectory: string): Promise<void> {
  if ((await findEmbeddedPostgres(dataDirectory)) !== null) process.kill(await serverPid(dataDirectory), 'SIGKILL');
  await rm(directory, { recursive: true, force: true });
}

async function serverPid(dataDirectory: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDirectory, 'postgres', 'postmaster.pid'), 'utf8'), 10);
}

function ignore(): void {
  // The messages are for the console.
}
