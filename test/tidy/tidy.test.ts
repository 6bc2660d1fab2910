import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { breaches, cleanFiles, cleanLimits, cleanOwners, rulesOfLargeTrees } from './breaches.ts';
import { type Owners, owners } from './owners.ts';
import { type ProseLimits, proseLimits } from './prose.ts';
import { check, exceptions, type Finding, findAll, isExcepted, rules } from './rules.ts';
import { shortFiles } from './short-files.ts';
import { openParser } from './syntax.ts';
import { readTree } from './tree.ts';

const parser = openParser();
after(() => parser.close());

function treeOf(
  files: ReadonlyMap<string, string>,
  tableOwners: Owners,
  limits: ProseLimits,
  shortFiles: Readonly<Record<string, string>> = {},
) {
  return { files, sources: parser.parse(files), owners: tableOwners, proseLimits: limits, shortFiles };
}

function withChanges(changes: Readonly<Record<string, string | null>>): Map<string, string> {
  const files = new Map(Object.entries(cleanFiles));
  for (const [path, text] of Object.entries(changes)) {
    if (text === null) files.delete(path);
    else files.set(path, text);
  }
  return files;
}

const short = ({ rule, path, line }: Finding) => `${rule} ${path}:${line}`;
const long = (finding: Finding) => `${short(finding)}  ${finding.message}`;

describe('the rules', () => {
  test('a tree that keeps them has no findings', () => {
    const found = check(treeOf(withChanges({}), cleanOwners, cleanLimits));
    assert.deepEqual(found.filter(({ rule }) => !rulesOfLargeTrees.has(rule)).map(long), []);
  });

  for (const { claim, files, owners: tableOwners, finding } of breaches) {
    test(claim, () => {
      const isMeant = ({ rule, path }: Finding) =>
        rulesOfLargeTrees.has(rule) ? finding.startsWith(rule) && files[path] !== undefined : true;
      const found = check(treeOf(withChanges(files), tableOwners ?? cleanOwners, cleanLimits)).filter(isMeant);
      assert.deepEqual(found.map(short), [finding]);
    });
  }

  test('each has a breach that shows it at work', () => {
    const shown = new Set(breaches.map(({ finding }) => finding.split(' ')[0]));
    assert.deepEqual([...shown].sort(), Object.keys(rules).sort());
  });
});

describe('this project', () => {
  const tree = treeOf(readTree(resolve(import.meta.dirname, '../..')), owners, proseLimits, shortFiles);

  test('this project keeps the rules', () => {
    assert.deepEqual(check(tree).map(long), []);
  });

  test('this project needs each of its exceptions', () => {
    const findings = findAll(tree);
    const unneeded = exceptions.filter((exception) => !findings.some((finding) => isExcepted(finding, exception)));
    assert.deepEqual(unneeded, []);
  });

  test('this project has no more exceptions than it had', () => {
    // When an exception goes, the number goes down with it.
    assert.ok(exceptions.length === 0);
  });
});
