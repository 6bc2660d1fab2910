import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { oldestPostgres, withScratchPostgres } from '../../scripts/scratch-postgres.ts';
import { findEmbeddedPostgres } from '../../src/embedded-postgres/start.ts';
import { type Body, send } from '../support/harness.ts';
import { program } from '../support/program.ts';
import { meter, newCustomer, plan } from '../support/shop.ts';

const dataDirectory = await mkdtemp(join(tmpdir(), 'tollkeeper-command-line-'));
const services = new Set<ChildProcess>();
after(async () => {
  for (const child of services) await stop({ child, address: '', output: () => '' }, 'SIGKILL');
  await run(['migrate']);
  await rm(dataDirectory, { recursive: true, force: true });
});

type Variables = Readonly<Record<string, string>>;
const variables = (more: Variables = {}) => ({
  ...process.env,
  PORT: '0',
  TOLLKEEPER_DATA_DIR: dataDirectory,
  DATABASE_URL: '',
  ...more,
});

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
function run(args: readonly string[], more?: Variables): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [program, ...args], { env: variables(more) });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

interface Service {
  readonly child: ChildProcess;
  readonly address: string;
  readonly output: () => string;
}

/** Starts the service and waits until it listens. */
const serve = (more?: Variables) => start('serve', /listens on (http\S+)/, more);

/** Starts a command that stays, and waits until it says that it is ready, perhaps with its address. */
function start(command: string, ready: RegExp, more?: Variables): Promise<Service> {
  const child = spawn(process.execPath, [program, command], { env: variables(more) });
  services.add(child);
  let output = '';
  return new Promise((resolve, reject) => {
    child.on('close', () => reject(new Error(output)));
    const read = (chunk: Buffer) => {
      output += chunk;
      const found = ready.exec(output);
      if (found) resolve({ child, address: found[1] ?? '', output: () => output });
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
  });
}

/** Ends a service and answers its exit code. */
function stop({ child }: Service, signal: NodeJS.Signals): Promise<number | null> {
  services.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    child.on('close', (code) => resolve(code));
    child.kill(signal);
  });
}

const get = (service: Service, path: string, key: string) => send(service.address, 'GET', path, undefined, { key });
const json = (ran: Ran): Body => {
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(ran.stdout.trim().split('\n').length, 1, ran.stdout);
  return JSON.parse(ran.stdout);
};

describe('a service with its own PostgreSQL', () => {
  const keys = { TOLLKEEPER_TEST_KEY: 'My API Key', TOLLKEEPER_LIVE_KEY: 'x'.repeat(200) };
  let id: string;
  // Begun by the second start, and what most tests look at.
  let service: Service;

  test('first start prints the keys and the next command, and stops cleanly', async () => {
    const first = await serve();
    const [, testKey = ''] = /"testKey":"([^"]+)"/.exec(first.output()) ?? [];
    const [, liveKey = ''] = /"liveKey":"([^"]+)"/.exec(first.output()) ?? [];
    assert.match(first.output(), /curl http:\S+\/api\/v1\/pricing-models/);
    const { body } = await get(first, '/pricing-models/default', testKey);
    id = body.pricingModel.id;
    assert.equal((await get(first, '/pricing-models/default', liveKey)).body.pricingModel.livemode, true);
    assert.equal(await stop(first, 'SIGTERM'), 0);
  });

  test('a second start finds the data, prints no keys, and accepts the keys that the operator chose', async () => {
    service = await serve(keys);
    assert.doesNotMatch(service.output(), /First start/);
    for (const key of [keys.TOLLKEEPER_TEST_KEY, keys.TOLLKEEPER_LIVE_KEY])
      assert.equal((await get(service, '/api-keys', key)).status, 200);
    assert.equal((await get(service, '/pricing-models/default', keys.TOLLKEEPER_TEST_KEY)).body.pricingModel.id, id);
  });

  test('the last link that a start printed makes the first owner; the operator invites others and helps the locked-out', async () => {
    const [, token] = /Become the owner, once and within a day: http:\S+\/join\/([\w-]+)/.exec(service.output()) ?? [];
    const origin = service.address;
    const post = (path: string, body: object) =>
      fetch(`${origin}/auth${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin },
        body: JSON.stringify(body),
      });
    const password = 'correct horse battery';
    const owner = { token, email: 'Owner@acme.test', name: 'Owner', password };
    assert.equal((await post('/invitation/accept', owner)).status, 200);
    const email = 'owner@acme.test';
    const last = await run(['users', 'role', email, 'viewer']);
    assert.deepEqual(
      [last.code, last.stderr.trim()],
      [1, 'This is the last owner. Make somebody else an owner first.'],
    );
    const invited = json(await run(['users', 'invite', 'two@acme.test', '--role', 'owner', '--json']));
    const second = { token: invited.url.slice(invited.url.lastIndexOf('/') + 1), name: 'Two', password };
    assert.equal((await post('/invitation/accept', second)).status, 200);
    const { url } = json(await run(['users', 'reset-link', email, '--json']));
    const reset = { token: new URL(url).searchParams.get('token'), newPassword: 'another sentence' };
    assert.equal((await post('/reset-password', reset)).status, 200);
    assert.equal((await post('/sign-in/email', { email, password: reset.newPassword })).status, 200);
    json(await run(['users', 'remove', email, '--json']));
    assert.deepEqual(
      json(await run(['users', 'list', '--json'])).map((person: Body) => [person.email, person.role]),
      [['two@acme.test', 'owner']],
    );
  });

  test('a start beside a running service is refused in one clear line', async () => {
    const { code, stderr } = await run(['serve']);
    assert.equal(code, 1);
    assert.match(stderr.trim(), /^Another Tollkeeper \(process \d+\) is already serving from .*TOLLKEEPER_DATA_DIR\.$/);
    assert.equal((await get(service, '/api-keys', keys.TOLLKEEPER_TEST_KEY)).status, 200);
  });

  test('commands work beside a running service, and a revoked key is refused by its next request', async () => {
    const made = json(await run(['organizations', 'create', '--name', 'Second', '--json']));
    assert.deepEqual(Object.keys(made), ['id', 'name', 'testKey', 'liveKey']);
    assert.equal((await get(service, '/pricing-models/default', made.testKey)).status, 200);
    const { data } = (await get(service, '/api-keys', made.testKey)).body;
    const narrow = json(
      await run(['keys', 'create', '--organization', made.id, '--permissions', 'read,holds:write', '--json']),
    );
    assert.equal((await send(service.address, 'POST', '/holds', {}, { key: narrow.token })).status, 400);
    assert.equal((await send(service.address, 'POST', '/customers', {}, { key: narrow.token })).status, 403);
    const beside = json(await run(['keys', 'rotate', narrow.id, '--overlap', '60', '--json']));
    for (const { token } of [narrow, beside]) assert.equal((await get(service, '/api-keys', token)).status, 200);
    const rotated = json(await run(['keys', 'rotate', data[0].id, '--json']));
    assert.equal((await get(service, '/api-keys', made.testKey)).status, 401);
    assert.equal((await get(service, '/api-keys', rotated.token)).status, 200);
    json(await run(['keys', 'revoke', rotated.id, '--json']));
    assert.equal((await get(service, '/api-keys', rotated.token)).status, 401);
  });

  test('a worker alone works beside a running service, and both as a login that is no superuser and owns nothing', async () => {
    const worker = await start('work', /is running jobs/);
    const superuser = new pg.Client({ connectionString: (await findEmbeddedPostgres(dataDirectory))?.url });
    await superuser.connect();
    const { rows } = await superuser.query(`
      select distinct a.usename as name, r.rolsuper, r.rolcreaterole, r.rolbypassrls,
             exists (select from pg_class where relowner = r.oid) as owns
        from pg_stat_activity a join pg_roles r on r.oid = a.usesysid where a.application_name like 'tollkeeper-%'`);
    await superuser.end();
    const nothing = { rolsuper: false, rolcreaterole: false, rolbypassrls: false, owns: false };
    assert.deepEqual(rows, [{ name: 'tollkeeper_login', ...nothing }]);
    assert.equal(await stop(worker, 'SIGTERM'), 0);
    assert.equal((await get(service, '/api-keys', keys.TOLLKEEPER_TEST_KEY)).status, 200);
  });

  test('after kill -9 the next start recovers what was answered, and Ctrl-C ends it as cleanly', async () => {
    const customer = { externalId: 'survivor', email: 's@acme.test', name: 'Survivor' };
    const { status } = await send(
      service.address,
      'POST',
      '/customers',
      { customer },
      { key: keys.TOLLKEEPER_TEST_KEY },
    );
    assert.equal(status, 200);
    await stop(service, 'SIGKILL');
    service = await serve();
    assert.equal((await get(service, '/customers/survivor', keys.TOLLKEEPER_TEST_KEY)).body.customer.name, 'Survivor');
    assert.equal(await stop(service, 'SIGINT'), 0);
  });

  test('commands work without a running service, and leave none behind', async () => {
    const organizations = json(await run(['organizations', 'list', '--json']));
    assert.deepEqual(
      organizations.map((row: Body) => row.name),
      ['My organization', 'Second'],
    );
    const renamed = json(await run(['organizations', 'rename', organizations[1].id, '--name', 'Third', '--json']));
    assert.deepEqual(renamed, { id: organizations[1].id, name: 'Third' });
    const expiring = json(
      await run([
        'keys',
        'create',
        '--organization',
        organizations[1].id,
        '--expires',
        '2120-01-01T00:00:00Z',
        '--json',
      ]),
    );
    const pinned = json(
      await run(['keys', 'create', '--organization', organizations[0].id, '--live', '--name', 'Ops', '--json']),
    );
    const listed = json(await run(['keys', 'list', '--json']));
    assert.equal(listed.find((row: Body) => row.id === pinned.id).livemode, true);
    assert.equal(listed.find((row: Body) => row.id === expiring.id).expiresAt, Date.UTC(2120, 0, 1));
    assert(!JSON.stringify(listed).includes(pinned.token));
    assert.deepEqual(json(await run(['migrate', '--json'])), { migrations: [] });
    assert.equal(json(await run(['check', '--json'])).broken.length, 0);
    const { warnings } = json(await run(['check-config', '--json']));
    assert.match(warnings[0], /^Invoices of My organization \(\w+\) name no seller in test mode: set seller/);
    assert.doesNotMatch(warnings.join(), /owns the tables/);
    assert.equal(existsSync(join(dataDirectory, 'service.lock')), false);
  });
});

test('what cannot be used is said in one line that names the setting', async () => {
  for (const [name, value] of [
    ['PORT', 'http'],
    ['DATABASE_URL', 'mysql://x'],
    ['TOLLKEEPER_TEST_KEY', 'short'],
    ['LOG_LEVEL', 'loud'],
  ] as const) {
    const { code, stderr } = await run(['serve'], { [name]: value });
    assert.equal(code, 1);
    assert.match(stderr.trim(), new RegExp(`^${name}: [^\\n]+$`));
  }
});

test('a command that reads creates no database', async () => {
  const empty = await mkdtemp(join(tmpdir(), 'tollkeeper-empty-'));
  const { code, stderr } = await run(['keys', 'list'], { TOLLKEEPER_DATA_DIR: empty });
  assert.deepEqual([code, await readdir(empty)], [1, []]);
  assert.match(stderr.trim(), /^There is no database of Tollkeeper in \S+ yet\. Start the service, or run: .+$/);
  await rm(empty, { recursive: true });
});

test('a key that does not exist is said so', async () => {
  const { code, stderr } = await run(['keys', 'revoke', 'apikey_none']);
  assert.equal(code, 1);
  assert.equal(stderr.trim(), 'No API key with id apikey_none.');
});

test('every command explains itself', async () => {
  const commands = [
    '',
    'serve',
    'work',
    'listen',
    'pricing apply',
    'migrate',
    'organizations',
    'organizations create',
    'organizations list',
    'organizations rename',
    'keys',
    'keys create',
    'keys list',
    'keys rotate',
    'keys revoke',
    'openapi',
    'check',
    'check-config',
    'cells add',
    'cells list',
    'cells assign',
  ];
  await Promise.all(
    commands.map(async (command) => {
      const { code, stdout } = await run([...command.split(' ').filter(Boolean), '--help']);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`^Usage: tollkeeper ?${command}`));
    }),
  );
});

test('openapi prints the document that the service serves', async () => {
  const { stdout } = await run(['openapi']);
  assert.equal(JSON.parse(stdout).openapi, '3.1.0');
});

/** A user without the right to make roles is told what to run; when it has been run, the same command succeeds. */
async function refuseAndGrant(url: string, keeperUrl: string): Promise<void> {
  const both = { DATABASE_URL: keeperUrl, TOLLKEEPER_MIGRATE_URL: keeperUrl };
  const superuser = new pg.Client({ connectionString: url });
  await superuser.connect();
  try {
    await superuser.query("create role keeper login password 'p'");
    await superuser.query('create database kept owner keeper');
    const refused = await run(['migrate'], both);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /grant tollkeeper_service, tollkeeper_worker to <user>/);
    await superuser.query('grant tollkeeper_service, tollkeeper_worker to keeper');
    const { code, stderr } = await run(['migrate'], both);
    assert.equal(code, 0, stderr);
    // What it takes to let in a login.
    await superuser.query('alter role keeper createrole');
    await superuser.query('grant tollkeeper_service, tollkeeper_worker to keeper with admin option');
  } finally {
    await superuser.end();
  }
}

/** A service whose login owns nothing records usage, bills, works its queue and is checked, and can drop nothing. */
async function serveWithoutOwning(url: string): Promise<void> {
  const key = 'sk_test_of_a_login';
  const addressOf = (username: string) =>
    Object.assign(new URL(url), { username, password: 'p', pathname: '/kept' }).href;
  const [ownerUrl, loginUrl] = [addressOf('keeper'), addressOf('meter-reader')];
  await refuseAndGrant(url, ownerUrl);

  assert.match((await run(['check-config'], { DATABASE_URL: url })).stdout, /owns the tables/);
  const both = { DATABASE_URL: loginUrl, TOLLKEEPER_MIGRATE_URL: ownerUrl };
  const early = await run(['check'], { DATABASE_URL: loginUrl });
  assert.match(early.stderr, /password authentication failed/);
  assert.deepEqual(json(await run(['migrate', '--json'], both)).migrations, []);

  const service = await serve({ DATABASE_URL: loginUrl, TOLLKEEPER_TEST_KEY: key });
  const request = (method: string, path: string, body?: unknown) => send(service.address, method, path, body, { key });
  const post = async (path: string, body: unknown): Promise<Body> => {
    const answer = await request('POST', path, body);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const calls = meter('calls', 'Calls', { slug: 'calls-used', unitPrice: 1, usageEventsPerUnit: 100 });
  const products = [plan('free', 0), plan('pro', 2000)];
  await post('/pricing-models/setup', { name: 'Shop', isDefault: true, usageMeters: [calls], features: [], products });
  await newCustomer({ post }, 'ann', { token: 'pm_card_visa' });
  const { subscription } = await post('/subscriptions', { customerExternalId: 'ann', priceSlug: 'pro-monthly' });
  const event = { subscriptionId: subscription.id, usageMeterSlug: 'calls', amount: 250, transactionId: 'one' };
  await post('/usage-events', { usageEvent: event });
  // The clock waits for the queue, whose jobs renew the month, and bill it with 250 calls at 1 for 100.
  const { body: clock } = await request('PUT', '/test-clock', { testClock: { now: Date.now() + 32 * 86_400_000 } });
  assert.deepEqual([clock.work.periodsRenewed, clock.work.paymentsSucceeded], [1, 1]);
  const { body: invoices } = await request('GET', '/invoices');
  assert.deepEqual(
    invoices.data.map(({ subtotal }: Body) => subtotal),
    [2000, 2003],
  );
  assert.equal(await stop(service, 'SIGTERM'), 0);
  assert.equal(json(await run(['check', '--full', '--json'], { DATABASE_URL: loginUrl })).broken.length, 0);

  const login = new pg.Client({ connectionString: loginUrl });
  await login.connect();
  for (const statement of [
    'drop table customers',
    'alter table customers add column note text',
    'truncate customers',
    'create table notes ()',
    'drop table check_runs',
    'delete from ledger_entries',
    'update audit_log set action = null',
    'set role keeper',
  ])
    await assert.rejects(login.query(statement), /must be owner|permission denied/, statement);
  await login.end();
}

// DATABASE_URL names the newest server always, and the oldest supported one where it is installed.
for (const directory of new Set([undefined, oldestPostgres])) {
  test(`DATABASE_URL is served from (${directory ?? 'packaged PostgreSQL'}), a user who may too little is told what is missing, and a login that owns nothing is enough`, async () => {
    await withScratchPostgres(
      async (url) => {
        const service = await serve({ DATABASE_URL: url, TOLLKEEPER_TEST_KEY: 'sk_test_database_url' });
        assert.equal((await get(service, '/pricing-models/default', 'sk_test_database_url')).status, 200);
        // The operator's key is not printed, and the one that we made is.
        assert.doesNotMatch(service.output(), /sk_test_database_url/);
        assert.match(service.output(), /"liveKey":"/);
        assert.equal(await stop(service, 'SIGTERM'), 0);

        await serveWithoutOwning(url);
      },
      directory === undefined ? {} : { binaries: directory },
    );
  });
}
