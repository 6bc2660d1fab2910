import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startTestApp } from '../support/harness.ts';
import { program } from '../support/program.ts';

const app = await startTestApp();
const directory = await mkdtemp(join(tmpdir(), 'tollkeeper-encryption-'));
after(() => rm(directory, { recursive: true, force: true }));

/** Runs a command until it ends; one that serves is ended when it listens. */
function run(command: readonly string[], variables: Readonly<Record<string, string>>) {
  const env = { ...process.env, PORT: '0', DATABASE_URL: app.databaseUrl, TOLLKEEPER_ENCRYPTION_KEY: '', ...variables };
  const child = spawn(process.execPath, [program, ...command], { env });
  let output = '';
  const read = (chunk: Buffer) => {
    output += chunk;
    if (output.includes('listens on')) child.kill('SIGTERM');
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  return new Promise<{ code: number | null; output: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, output })),
  );
}

const first = { TOLLKEEPER_DATA_DIR: join(directory, 'first') };
const second = { TOLLKEEPER_DATA_DIR: join(directory, 'second') };

test('a service makes its key, and one that lacks it does not start until it has it', async () => {
  const started = await run(['serve'], first);
  assert.equal(started.code, 0, started.output);
  const key = (await readFile(join(first.TOLLKEEPER_DATA_DIR, 'encryption.key'), 'utf8')).trim();

  const [refused, worker] = await Promise.all([run(['serve'], second), run(['work'], second)]);
  for (const { code, output } of [refused, worker]) {
    assert.equal(code, 1, output);
    assert.match(
      output,
      /^This database contains secrets that only the encryption key [0-9a-f]{32} can decrypt, .+\n$/,
    );
    assert.equal(output.includes(key), false);
  }

  const fresh = randomBytes(32).toString('base64');
  const changed = await run(['serve'], { ...second, TOLLKEEPER_ENCRYPTION_KEY: `${fresh},${key}` });
  assert.equal(changed.code, 0, changed.output);
});

test('a command that only looks needs no key', async () => {
  const { code, output } = await run(['keys', 'list'], { TOLLKEEPER_DATA_DIR: join(directory, 'none') });
  assert.equal(code, 0, output);
  assert.match(output, /test/);
  assert.equal(existsSync(join(directory, 'none')), false);
});
