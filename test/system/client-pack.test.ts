import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Webhook as Signer } from 'standardwebhooks';
import { version } from '../../src/http/version.ts';
import { startTestApp } from '../support/harness.ts';
import { buildWorld } from '../support/world.ts';

const root = join(import.meta.dirname, '../..');
const scratch = await mkdtemp(join(tmpdir(), 'tollkeeper-client-'));
const project = join(scratch, 'project');
after(() => rm(scratch, { recursive: true, force: true }));

const app = await startTestApp();
await buildWorld(app);

/** Runs a command without a way to any registry, and answers what it wrote. */
async function run(directory: string, command: string, ...parameters: string[]): Promise<string> {
  const PATH = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
  const npm = {
    npm_config_offline: 'true',
    npm_config_cache: join(scratch, 'cache'),
    npm_config_update_notifier: 'false',
  };
  const started = promisify(execFile)(command, parameters, { cwd: directory, env: { ...process.env, ...npm, PATH } });
  const { stdout } = await started.catch((error) =>
    assert.fail(`${command} failed:\n${error.stdout}\n${error.stderr}`),
  );
  return stdout;
}

before(async () => {
  const source = join(scratch, 'client');
  await cp(join(root, 'client'), source, { recursive: true, filter: (path) => !path.endsWith(join('client', 'dist')) });
  await run(source, 'npm', 'pack');
  const packed = (await readdir(source)).filter((file) => file.endsWith('.tgz'));
  assert.equal(packed.length, 1);
  await mkdir(project);
  await writeProject('package.json', JSON.stringify({ name: 'shop', private: true, type: 'module' }));
  await run(project, 'npm', 'install', `../client/${packed[0]}`, '--no-audit', '--no-fund');
});

async function writeProject(file: string, text: string): Promise<void> {
  await writeFile(join(project, file), text);
}

describe('the packed client', () => {
  test('the packed client holds JavaScript with its types, the README and the licence, and nothing else', async () => {
    const installed = await readdir(join(project, 'node_modules/@tollkeeper/client'), { recursive: true });
    const paths = installed.filter((path) => path !== 'dist').sort();
    const built = paths.filter((path) => path.startsWith('dist/'));
    assert.deepEqual(
      paths.filter((path) => !built.includes(path)),
      ['LICENSE', 'README.md', 'package.json'],
    );
    const scripts = built.filter((path) => path.endsWith('.js'));
    assert(scripts.includes('dist/client.js'));
    assert.deepEqual(built, [...scripts, ...scripts.map((path) => path.replace(/js$/, 'd.ts'))].sort());
  });

  test('the packed client is installed without a registry, for it needs no other package', async () => {
    const lock = JSON.parse(await readFile(join(project, 'package-lock.json'), 'utf8'));
    const { '': _, ...packages } = lock.packages;
    assert.deepEqual(Object.keys(packages), ['node_modules/@tollkeeper/client']);
    assert.equal(packages['node_modules/@tollkeeper/client'].version, version);
  });

  test('the packed client is used from plain JavaScript', async () => {
    await writeProject(
      'use.js',
      `import { NotFoundError, Tollkeeper } from '@tollkeeper/client';
      const [baseUrl, key] = process.argv.slice(2);
      const client = new Tollkeeper({ key, baseUrl });
      const slugs = [];
      for await (const { slug } of client.features.listAll({ limit: 1 })) slugs.push(slug);
      const missing = await client.customers.get({ externalId: 'nobody' }).catch((error) => error instanceof NotFoundError);
      console.log(JSON.stringify({ slugs: slugs.sort(), missing }));`,
    );
    const told = JSON.parse(await run(project, 'node', 'use.js', app.url, app.testKey));
    assert.deepEqual(told, { slugs: ['audit', 'calls', 'seats', 'sso'], missing: true });
  });
});

const compilerOptions = {
  target: 'es2022',
  lib: ['es2022', 'dom'],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
};
const resolutions = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
];

/** Type-checks one file of the project, and the declarations of the package with it. */
async function typeCheck(file: string): Promise<void> {
  for (const resolution of resolutions) {
    await writeProject(
      'tsconfig.json',
      JSON.stringify({ compilerOptions: { ...compilerOptions, ...resolution }, files: [file] }),
    );
    await run(project, 'tsc', '-p', '.');
  }
}

test('the types of the packed client let through what is right and nothing else', async () => {
  await writeProject(
    'types.ts',
    `import { Tollkeeper, verifyWebhook, type Customer, type Subscription, type WebhookPayload } from '@tollkeeper/client';
    const client = new Tollkeeper({ key: 'sk', baseUrl: 'http://localhost' });
    const customer: Promise<Customer> = client.customers.get({ externalId: 'a' }).then((answer) => answer.customer);
    const list: AsyncGenerator<Subscription> = client.subscriptions.listAll({ status: 'active', limit: 5 });
    const pdf: Promise<Uint8Array> = client.invoices.getPdf({ id: 'a' });
    const payload: Promise<WebhookPayload> = verifyWebhook('', new Headers(), '');
    // @ts-expect-error: a customer is named by its external id
    client.customers.get({ id: 'a' });
    // @ts-expect-error: an input is needed
    client.customers.get();
    // @ts-expect-error: there is no such status
    client.subscriptions.list({ status: 'asleep' });
    // @ts-expect-error: there is no such field
    customer.then(({ surname }) => surname);
    // @ts-expect-error: a read cannot be a dry run
    client.customers.get({ externalId: 'a' }, { dryRun: true });
    // @ts-expect-error: there is no such operation
    client.customers.rename({ externalId: 'a' });
    // @ts-expect-error: a key is needed
    new Tollkeeper({ baseUrl: 'http://localhost' });
    export { customer, list, payload, pdf };
    `,
  );
  await typeCheck('types.ts');
});

test('the README of the client does what it says, one snippet after the other', async () => {
  const readme = await readFile(join(root, 'client', 'README.md'), 'utf8');
  const snippets = [...readme.matchAll(/```(\w*)\n(.*?)```/gs)];
  assert.deepEqual(new Set(snippets.map(([, language]) => language)), new Set(['ts']));
  const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
  const given: [string, string][] = [
    ['sk_test_...', app.testKey],
    ['https://billing.example.com', app.url],
    ['whsec_...', secret],
  ];
  let text = snippets.map(([, , code]) => code).join('\n');
  for (const [example, real] of given) {
    assert(text.includes(`'${example}'`), `no snippet shows ${example}`);
    text = text.replaceAll(`'${example}'`, `'${real}'`);
  }
  await writeProject('readme.ts', text);
  await typeCheck('readme.ts');
  const message = JSON.stringify({ type: 'customer.created', customer: { id: 'cust_1', externalId: 'user-2' } });
  const at = new Date();
  const headers = {
    'webhook-id': 'event_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Signer(secret).sign('event_1', at, message),
  };
  await writeProject(
    'run-readme.ts',
    `import { POST } from './readme.ts';
    const send = (body: string) => POST(new Request('http://localhost', { method: 'POST', body, headers: ${JSON.stringify(headers)} }));
    const statuses = [await send(${JSON.stringify(message)}), await send('{}')].map(({ status }) => status);
    console.log(statuses.join());`,
  );
  const told = await run(project, 'node', 'run-readme.ts');
  assert.match(
    told,
    /^\S+ 2900\nit would be canceled\nThe balance of 9997 does not cover 1000000\.\nsingle sign-on: true\nexport as PDF: false\nprojects allowed: null\ncalls left: 9997\nwelcome user-2\n200,400\n$/,
  );
});
