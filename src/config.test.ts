import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { readConfig, settingNames } from './config.ts';

const refused = (variables: Readonly<Record<string, string>>, message: RegExp) =>
  assert.throws(() => readConfig(variables), { message });

test('a number that is none, or is out of range, is refused by its name', () => {
  assert.equal(readConfig({ PORT: '8080' }).port, 8080);
  for (const PORT of ['abc', '-1', '65536', '3000.5', '0x10'])
    refused({ PORT }, /^PORT: must be a whole number from 0 to 65535$/);
  refused({ TOLLKEEPER_RATE_LIMIT: 'many' }, /^TOLLKEEPER_RATE_LIMIT: must be a whole number from 0 to 1000000$/);
});

test('a schema that PostgreSQL keeps for itself, or would have to quote, is refused', () => {
  assert.equal(readConfig({}).schema, 'public');
  assert.equal(readConfig({ DATABASE_SCHEMA: 'cell_1' }).schema, 'cell_1');
  for (const DATABASE_SCHEMA of ['Cell', '1cell', 'a-b', 'pg_cell', 'information_schema', 'a'.repeat(41)])
    refused({ DATABASE_SCHEMA }, /^DATABASE_SCHEMA: must be 1 to 40 lower-case letters/);
});

test('a misspelt setting is refused with the nearest one, and variables of others are not', () => {
  refused(
    { TOLLKEEPER_PUBLIC_ULR: 'https://billing.acme.test' },
    /^TOLLKEEPER_PUBLIC_ULR: is not a setting; did you mean TOLLKEEPER_PUBLIC_URL\?$/,
  );
  refused({ TOLLKEEPER_COLOUR: 'red' }, /^TOLLKEEPER_COLOUR: is not a setting$/);
  readConfig({ TOLLKEEPER_LAUNCHER: '1', STRIPE_CLI: 'x', PATH: '/bin' });
});

test('an address that is none, or that links cannot begin with, is refused with what would be right', () => {
  const address = (TOLLKEEPER_PUBLIC_URL: string) => readConfig({ TOLLKEEPER_PUBLIC_URL }).publicUrl;
  assert.equal(address('https://billing.acme.test'), 'https://billing.acme.test');
  assert.equal(address('https://acme.test/billing//'), 'https://acme.test/billing');
  for (const TOLLKEEPER_PUBLIC_URL of ['localhost:3000', 'billing.acme.test', 'ftp://billing.acme.test', 'http://'])
    refused({ TOLLKEEPER_PUBLIC_URL }, /^TOLLKEEPER_PUBLIC_URL: must be an http:\/\/ or https:\/\/ address$/);
  for (const TOLLKEEPER_PUBLIC_URL of ['https://acme.test/?a=1', 'https://acme.test/#billing'])
    refused({ TOLLKEEPER_PUBLIC_URL }, /^TOLLKEEPER_PUBLIC_URL: must have no query and no fragment/);
  for (const name of ['TOLLKEEPER_URL', 'STRIPE_API_BASE', 'AWS_ENDPOINT_URL_S3'])
    refused({ [name]: 'localhost:3000' }, new RegExp(`^${name}: must be an http:// or https:// address$`));
  refused({ TOLLKEEPER_MAIL_FROM: 'Acme' }, /^TOLLKEEPER_MAIL_FROM: must be an e-mail address/);
});

test('docker compose hands on every setting that a container can use', async () => {
  const compose = await readFile(new URL('../compose.yaml', import.meta.url), 'utf8');
  const service = compose.slice(compose.indexOf('\n  tollkeeper:\n'));
  // The container fixes its address and its data directory. An archive of WAL belongs to the embedded server, the
  // owner's address to the container that migrates, and the last two to commands that call a service.
  const fixed = [
    'PORT',
    'HOST',
    'TOLLKEEPER_DATA_DIR',
    'TOLLKEEPER_WAL_ARCHIVE',
    'TOLLKEEPER_MIGRATE_URL',
    'TOLLKEEPER_URL',
    'TOLLKEEPER_KEY',
  ];
  const missing = settingNames.filter((name) => !fixed.includes(name) && !service.includes(`\n      ${name}:`));
  assert.deepEqual(missing, []);
});
