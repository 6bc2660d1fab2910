import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { auditDependencies, Lock, Manifest } from '../../scripts/dependency-rules.ts';

const integrity = `sha512-${'A'.repeat(86)}==`;

/** A project with one good dependency, and what a test changes. */
function audit(change: { locked?: object; more?: object; dependencies?: Record<string, string>; decisions?: string }) {
  const good = { version: '1.2.3', integrity, license: 'MIT' };
  return auditDependencies({
    manifest: Manifest.parse({ dependencies: change.dependencies ?? { good: '1.2.3' } }),
    lock: Lock.parse({
      lockfileVersion: 3,
      packages: { '': {}, 'node_modules/good': { ...good, ...change.locked }, ...change.more },
    }),
    licenceOf: () => null,
    decisions: change.decisions ?? '| Package | Does |\n|---|---|\n| `good` | good |\n',
  });
}

const entry = (change: object) => ({
  'node_modules/good/node_modules/bad': { version: '1.0.0', integrity, license: 'MIT', ...change },
});

test('a project that keeps the rules has no breaches', () => {
  assert.deepEqual(audit({}), []);
  assert.deepEqual(audit({ locked: { resolved: 'https://registry.example/good/-/good-1.2.3.tgz' } }), []);
  assert.deepEqual(
    audit({ more: { 'node_modules/own': { resolved: 'client', link: true }, client: { version: '1.0.0' } } }),
    [],
  );
  assert.deepEqual(audit({ more: entry({ license: '(GPL-3.0 OR MIT)' }) }), []);
  assert.deepEqual(audit({ more: entry({ license: 'GPL-3.0', dev: true }) }), [], 'tools are not handed on');
});

const bad = 'node_modules/good/node_modules/bad';
const breaches: readonly (readonly [string, Parameters<typeof audit>[0], RegExp])[] = [
  [
    'a git repository',
    { more: entry({ resolved: 'git+ssh://git@example.com/bad.git#abc' }) },
    /bad: comes from git\+ssh/,
  ],
  [
    'an archive by plain http',
    { more: entry({ resolved: 'http://registry.example/bad/-/bad-1.0.0.tgz' }) },
    /comes from http:/,
  ],
  [
    'an archive from anywhere',
    { more: entry({ resolved: 'https://example.com/bad.tgz' }) },
    /comes from https:\/\/example/,
  ],
  ['no integrity', { more: entry({ integrity: undefined }) }, /bad: has no sha512 integrity/],
  ['a weak integrity', { more: entry({ integrity: 'sha1-abc' }) }, /bad: has no sha512 integrity/],
  [
    'a link out of the project',
    { more: { [bad]: { resolved: '../elsewhere', link: true } } },
    /link to \.\.\/elsewhere/,
  ],
  ['an install script', { more: entry({ hasInstallScript: true }) }, /bad: runs a script when it is installed/],
  ['a licence that binds', { more: entry({ license: 'GPL-3.0' }) }, /bad: its licence is GPL-3\.0/],
  ['both licences', { more: entry({ license: 'MIT AND GPL-3.0' }) }, /bad: its licence is MIT AND GPL-3\.0/],
  ['no licence', { more: entry({ license: undefined }) }, /bad: its licence is not said/],
  ['a range', { dependencies: { good: '^1.2.3' } }, /good is \^1\.2\.3; it has to be one exact version/],
  ['another version', { dependencies: { good: '1.2.4' } }, /good is 1\.2\.4, and the lock has 1\.2\.3/],
  ['no decision', { decisions: '| `other` | good |' }, /good has no line in docs\/decisions/],
];

for (const [what, change, expected] of breaches) {
  test(`${what} is a breach`, () => {
    assert.ok(
      audit(change).some((breach) => expected.test(breach)),
      audit(change).join('\n'),
    );
  });
}

test('the script exits with 1 and names the breach, and says plainly when nobody could be asked', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tollkeeper-audit-'));
  try {
    mkdirSync(join(directory, 'docs/decisions'), { recursive: true });
    writeFileSync(join(directory, 'docs/decisions/0001-dependencies.md'), '');
    writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: 'bad', version: '1.0.0' }));
    const packages = {
      '': { name: 'bad', version: '1.0.0' },
      'node_modules/bad': { version: '1.0.0', license: 'MIT' },
    };
    writeFileSync(join(directory, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }));
    // A registry that nobody is at.
    const ran = runScript(directory, { npm_config_registry: 'http://127.0.0.1:9/', npm_config_fetch_retries: '0' });
    assert.match(ran.stdout, /^node_modules\/bad: has no sha512 integrity in the lock$/m);
    assert.match(ran.stdout, /^Advisories: NOT CHECKED, because the registry gave no answer: /m);
    assert.equal(ran.status, 1);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('this project keeps the rules', () => {
  const read = (path: string) => readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8');
  const found = auditDependencies({
    manifest: Manifest.parse(JSON.parse(read('package.json'))),
    lock: Lock.parse(JSON.parse(read('package-lock.json'))),
    licenceOf: () => null,
    decisions: read('docs/decisions/0001-dependencies.md'),
  });
  assert.deepEqual(found, []);
});

function runScript(directory: string, variables: Record<string, string>) {
  const script = resolve(import.meta.dirname, '../../scripts/audit-dependencies.ts');
  return spawnSync(process.execPath, [script, directory], { encoding: 'utf8', env: { ...process.env, ...variables } });
}
