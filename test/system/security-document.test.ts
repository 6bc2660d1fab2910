import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';

// A promise about security that nothing shows is worse than none.

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(resolve(root, path), 'utf8');
const settings = read('src/config.ts');

for (const document of ['SECURITY.md', 'docs/backup.md']) {
  const text = read(document);
  const named = (pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, found]) => found ?? ''))];

  describe(document, () => {
    test('names only tests, files and documents that are there', () => {
      const files = [
        ...named(/`((?:test|src|scripts|docs)\/[\w./-]+\.\w+)`/g),
        ...named(/\]\((docs\/[\w./-]+\.md)/g),
        ...named(/node scripts\/run\.js (scripts\/[\w-]+\.ts)/g),
      ];
      assert.deepEqual(
        files.filter((path) => !existsSync(resolve(root, path))),
        [],
      );
      assert.ok(document !== 'SECURITY.md' || files.length > 20);
    });

    test('names only settings that are read', () => {
      const names = named(/\b((?:TOLLKEEPER|STRIPE|DATABASE)_[A-Z_]+)/g).filter((name) => name !== 'NEW_DATABASE_URL');
      assert.deepEqual(
        names.filter((name) => !new RegExp(`^  ${name}:`, 'm').test(settings)),
        [],
      );
      assert.ok(names.length > 2);
    });
  });
}

test('every line about a boundary names what shows it', () => {
  const [, table = ''] = /^### Boundaries[^\n]*\n([\s\S]*?)^### /m.exec(read('SECURITY.md')) ?? [];
  const lines = table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2);
  assert.ok(lines.length > 20);
  assert.deepEqual(
    lines.filter((line) => !/\| `test\/[^|]+` \|$/.test(line)),
    [],
  );
});

test('compose.yaml has no default password: without one of its own nothing starts', () => {
  const lines = read('compose.yaml')
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'));
  const secret = /PASSWORD|postgres:\/\//;
  const given = lines.filter((line) => secret.test(line));
  assert.equal(given.length, 3, 'the two addresses, and the superuser');
  const required = /\$\{(SERVICE|POSTGRES)_PASSWORD:\?[^}]+\}/;
  assert.deepEqual(
    given.filter((line) => !required.test(line)),
    [],
  );
});
