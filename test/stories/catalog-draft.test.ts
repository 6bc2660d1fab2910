import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Catalog, CatalogFeature } from '../../dashboard/src/catalog/draft.ts';
import {
  changedSlugs,
  countChanges,
  isSame,
  putRecord,
  redraw,
  removeRecord,
  slugFrom,
} from '../../dashboard/src/catalog/draft.ts';
import { readCatalog } from '../../dashboard/src/catalog/import.ts';

const feature = (slug: string, name = slug) =>
  ({ type: 'toggle', slug, name, description: '', active: true }) as unknown as CatalogFeature;

const catalogOf = (features: readonly CatalogFeature[], name = 'Standard'): Catalog =>
  ({ name, isDefault: true, products: [], features: [...features], usageMeters: [], resources: [] }) as Catalog;

const base = catalogOf([feature('sso'), feature('audit')]);

test('a draft counts each record that differs, and the name of the model as one more', () => {
  const draft = putRecord(putRecord(base, 'features', feature('export')), 'features', feature('sso', 'Single sign-on'));
  assert.deepEqual(changedSlugs('features', base, draft), ['sso', 'export']);
  assert.equal(countChanges(base, { ...draft, name: 'Renamed' }), 3);
  assert.equal(countChanges(base, removeRecord(draft, 'features', 'export')), 1);
});

test('a record under another slug takes the place of the one that it replaces', () => {
  const { features } = putRecord(base, 'features', feature('sign-in'), 'sso');
  assert.deepEqual(
    features.map(({ slug }) => slug),
    ['sign-in', 'audit'],
  );
});

test('values are the same whatever the order of their keys, but not of their lists', () => {
  assert.equal(isSame({ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 }), true);
  assert.equal(isSame({ b: [1, 2] }, { b: [2, 1] }), false);
});

test('a draft on the present state keeps its own changes, and takes everything else as it is now', () => {
  const draft = removeRecord(putRecord(base, 'features', feature('sso', 'Mine')), 'features', 'audit');
  const theirs = putRecord(putRecord(base, 'features', feature('theirs')), 'features', feature('audit', 'Theirs'));
  const redrawn = redraw({ base, draft: putRecord(draft, 'features', feature('new')) }, { ...theirs, name: 'Renamed' });
  assert.deepEqual(
    redrawn.features.map(({ slug, name }) => [slug, name]),
    [
      ['sso', 'Mine'],
      ['theirs', 'theirs'],
      ['new', 'new'],
    ],
  );
  assert.equal(redrawn.name, 'Renamed');
  assert.deepEqual(redraw({ base, draft: base }, theirs), theirs, 'a draft without changes is the present state');
});

test('a file that lacks a record ends it, and one that is no export is refused by what it lacks', () => {
  const read = readCatalog(JSON.stringify({ pricingModel: { name: 'Standard', features: [feature('sso')] } }), base);
  assert('catalog' in read);
  const told = read.catalog.features.map((each) => [each.slug, (each as { active?: boolean }).active]);
  assert.deepEqual(told, [
    ['sso', true],
    ['audit', false],
  ]);
  for (const [text, problem] of [
    ['{', /^It is no JSON/],
    ['{"features": []}', /has no name/],
    ['{"name": "A", "features": {}}', /^features has to be a list/],
  ] as const) {
    const refused = readCatalog(text, base);
    assert.match('problem' in refused ? refused.problem : '', problem);
  }
});

test('a slug is made of the letters and digits of a name', () => {
  assert.deepEqual(['Pro, annual', ' 10 GB! '].map(slugFrom), ['pro-annual', '10-gb']);
});
